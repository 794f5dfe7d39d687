/* fused.c - sums of products in one kernel: shapes of what is joined, and what is known of it. */
#include "program_int.h"

#include <string.h>

/* ---- where labels are ------------------------------------------------------------------------------------------- */

static int dim_of(const tra_program_operand *o, int label) {
    for (int d = 0; d < o->block.n; d++)
        if (o->label[d] == label) return d;
    return -1;
}

static bool clips(const tra_program_label *l) { return l->extent % l->block != 0; }

/* Must the array that packs operands say whether it has a whole block of the key's label? The last operand says so
 * itself. */
static bool is_told(const tra_calc_program *p, const tra_program_key *key) {
    return clips(&p->label[key->label]) && dim_of(&p->operand[p->noperands - 1], key->label) < 0;
}

bool tra_fused_has_rows(const tra_calc_program *p, int o, int held) {
    const tra_program_operand *op = &p->operand[o];
    return op->sparse && op->block.n > 0 && held & (o + 1 == p->noperands ? TRA_FUSED_LAST : TRA_FUSED_FIRST);
}

bool tra_fused_packs_rows(const tra_calc_program *p) {
    for (int o = 0; o + 1 < p->noperands && p->noperands > 2; o++)
        if (tra_fused_has_rows(p, o, TRA_FUSED_FIRST)) return true;
    return false;
}

int64_t tra_fused_length(const tra_kernel *k, int label, const tra_dims *a, const tra_dims *b) {
    const tra_calc_program *p = k->program;
    const tra_program_label *l = &p->label[label];
    int d = dim_of(&p->operand[k->packed], label);
    if (d >= 0) return b->v[d];
    if (k->packed == 1) return (d = dim_of(&p->operand[0], label)) < 0 ? l->block : a->v[d];
    for (int i = 0; i < p->nkeys; i++)
        if (p->key[i].label == label && is_told(p, &p->key[i])) return a->v[i] == 2 ? l->block : l->extent % l->block;
    return l->block;
}

/* ---- shapes --------------------------------------------------------------------------------------------------- */

/* The dimension that shows a key, as tra_dimsrc has it. */
static int8_t source_of(const tra_kernel *k, int key) {
    const tra_program_key *x = &k->program->key[key];
    if (x->operand > k->packed) return -1; /* not packed yet */
    if (x->operand == k->packed) return (int8_t)(32 + x->dim);
    return (int8_t)(k->packed == 1 ? x->dim : key);
}

/* Does one of the first n operands have the label? */
static bool is_among(const tra_calc_program *p, int n, int label) {
    for (int o = 0; o < n; o++)
        if (dim_of(&p->operand[o], label) >= 0) return true;
    return false;
}

void tra_fused_shape(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_dims *out, tra_dimsrc *src) {
    const tra_calc_program *p = k->program;
    if (k->cls == TRA_K_PROGRAM) {
        *out = p->shape;
        for (int d = 0; d < out->n; d++) {
            out->v[d] = tra_fused_length(k, p->key[p->out[d]].label, a, b);
            if (src) src->from[d] = source_of(k, p->out[d]);
        }
        return;
    }
    tra_fused_pack_shape(k, out);
    for (int d = p->nkeys; d < out->n && src; d++) src->from[d] = -1;
    for (int i = 0; i < p->nkeys; i++) {
        int label = p->key[i].label;
        bool told = is_told(p, &p->key[i]) && is_among(p, k->packed + 1, label);
        out->v[i] = told && tra_fused_length(k, label, a, b) == p->label[label].block ? 2 : 1;
        if (src) src->from[i] = source_of(k, i);
    }
}

/* Has the last operand all labels of the result, so that each of its entries is one of the result at most? */
static bool masks(const tra_calc_program *p) {
    for (int d = 0; d < p->shape.n; d++)
        if (dim_of(&p->operand[p->noperands - 1], p->key[p->out[d]].label) < 0) return false;
    return true;
}

tra_filled tra_fused_filled(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *in) {
    const tra_calc_program *p = k->program;
    tra_filled r = {.share = 1, .bound = INT64_MAX, .work = 1};
    if (k->cls == TRA_K_PACK) return tra_fused_pack_filled(k, a, b, in);
    if (!p->sparse) return r;
    r.sparse = true;
    if (in[1].sparse && masks(p)) r.bound = in[1].bound;
    r.bound = tra_min64(r.bound, p->fused->most);
    if (!p->fused->plan[p->fused->expected].ascends) return r; /* held densely */
    tra_dims out;
    double all = 1, entries = p->fused->plan[p->fused->expected].entries;
    tra_fused_shape(k, a, b, &out, NULL);
    for (int d = 0; d < out.n; d++) all *= (double)out.v[d];
    if (entries < all) r.share = entries / all;
    return r;
}

double tra_fused_flops(const tra_kernel *k, const tra_dims *a, const tra_dims *b) {
    const tra_calc_program *p = k->program;
    double share = 1, n = 1;
    if (k->cls == TRA_K_PACK) {
        for (int d = 0; d < b->n; d++) n *= (double)b->v[d];
        return n;
    }
    (void)a;
    const tra_dims *block = &p->operand[k->packed].block;
    for (int d = 0; d < b->n; d++) share *= block->v[d] ? (double)b->v[d] / (double)block->v[d] : 0;
    return p->fused->plan[p->fused->expected].operations * share;
}

double tra_fused_most(const tra_kernel *k) {
    const tra_calc_program *p = k->program;
    double n = p->noperands;
    for (int l = 0; l < p->nlabels; l++) n *= (double)p->label[l].block;
    double more = n / p->fused->plan[p->fused->expected].operations;
    return more > 1 ? more : 1;
}

bool tra_program_runs(const tra_kernel *k, const tra_layout *a, const tra_layout *b, const tra_layout *out) {
    const tra_calc_program *p = k->program;
    if (!p->fused) return true;
    if (k->cls == TRA_K_PACK) return tra_fused_packs_rows(p) || !(a || b || out);
    const tra_fused_plan *x = &p->fused->plan[(a ? TRA_FUSED_FIRST : 0) | (b ? TRA_FUSED_LAST : 0)];
    if (x->masked && x->masked->fold != TRA_S_ADD && !out) return false; /* zeros of the sum so far would be missed */
    return (x->tree || x->masked) && (!out || x->ascends);
}

int64_t tra_fused_interpreted(const tra_kernel *k, const tra_fused_plan *x, const tra_dims *ext_a,
                              const tra_dims *ext_b, bool rows) {
    enum { KEY = 192, MOST = 4 << 20 };
    tra_dims ext;
    int64_t keys;
    tra_fused_shape(k, ext_a, ext_b, &ext, NULL);
    if (!rows || !tra_dims_product(&ext, &keys)) keys = rows ? MOST : 0;
    /* a doubling may come before it stops */
    return tra_min64(tra_mul_most(2, tra_add_most(x->interpreted, tra_mul_most(KEY, keys))), MOST);
}

bool tra_fused_builds(const tra_kernel *k) {
    for (int held = 0; held < 4; held++)
        if (k->program->fused->plan[held].interpreted > 0) return true;
    return k->program->sparse;
}

double tra_kernel_pace(const tra_kernel *k) {
    if (k->cls != TRA_K_PROGRAM || !k->program->fused) return 0;
    const tra_fused_plan *x = &k->program->fused->plan[k->program->fused->expected];
    return x->operations > 0 ? x->nanoseconds / x->operations / k->program->fused->shared : 0;
}
