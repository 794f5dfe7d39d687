/* program.c - kernels that are programs of the calculus: their shapes, and what is known of them. */
#include "program_int.h"

#include <string.h>

static const tra_kernel *make(tra_arena *a, const tra_calc_program *p, tra_class cls, int n) {
    tra_kernel *k = tra_new(a, tra_kernel);
    k->cls = cls;
    k->uses = TRA_USE_JOIN;
    k->program = p;
    k->packed = n;
    const char *what = p->fused ? "fused" : "tensor";
    k->text = cls == TRA_K_PROGRAM ? tra_arena_printf(a, "%s %s", what, p->text)
                                   : tra_arena_printf(a, "pack %d of %s %s", n + 1, what, p->text);
    return k;
}

const tra_kernel *tra_kernel_pack(tra_arena *a, const tra_calc_program *p, int n) { return make(a, p, TRA_K_PACK, n); }

const tra_kernel *tra_kernel_program(tra_arena *a, const tra_calc_program *p) {
    return make(a, p, TRA_K_PROGRAM, p->noperands - 1);
}

bool tra_kernel_is_fused(const tra_kernel *k) { return k->cls == TRA_K_PROGRAM && k->program->fused; }
bool tra_kernel_is_program(const tra_kernel *k) { return k->cls == TRA_K_PACK || k->cls == TRA_K_PROGRAM; }

tra_impl tra_program_way(const tra_kernel *k, const tra_layout *a, const tra_layout *b) {
    if (k->cls == TRA_K_PACK) return TRA_IMPL_PACK;
    if (!k->program->fused) return TRA_IMPL_CALLS;
    const tra_fused_plan *x = &k->program->fused->plan[tra_program_held(a, b)];
    return x->masked ? TRA_IMPL_MASKED : x->sampled ? TRA_IMPL_SAMPLED : TRA_IMPL_FUSED;
}

/* ---- where labels are ------------------------------------------------------------------------------------------- */

static int dim_of(const tra_program_operand *o, int label) {
    for (int d = 0; d < o->block.n; d++)
        if (o->label[d] == label) return d;
    return -1;
}

/* Does one of the first n operands have the label? */
static bool is_among(const tra_calc_program *p, int n, int label) {
    for (int o = 0; o < n; o++)
        if (dim_of(&p->operand[o], label) >= 0) return true;
    return false;
}

/* Must the array that packs operands say whether it has a whole block of the key's label? The last operand says so
 * itself. */
static bool is_told(const tra_calc_program *p, const tra_program_key *key) {
    if (key->label < 0 || dim_of(&p->operand[p->noperands - 1], key->label) >= 0) return false;
    return p->label[key->label].extent % p->label[key->label].block != 0;
}

bool tra_fused_has_rows(const tra_calc_program *p, int o, int held) {
    const tra_program_operand *op = &p->operand[o];
    return op->sparse && op->block.n > 0 && held & (o + 1 == p->noperands ? TRA_FUSED_LAST : TRA_FUSED_FIRST);
}

bool tra_program_packs_rows(const tra_calc_program *p) {
    for (int o = 0; o + 1 < p->noperands && p->noperands > 2; o++)
        if (!p->fused || tra_fused_has_rows(p, o, TRA_FUSED_FIRST)) return true;
    return false;
}

int64_t tra_program_length(const tra_kernel *k, int label, const tra_dims *a, const tra_dims *b) {
    const tra_calc_program *p = k->program;
    const tra_program_label *l = &p->label[label];
    int d = dim_of(&p->operand[k->packed], label);
    if (d >= 0) return b->v[d];
    if (k->packed == 1) return (d = dim_of(&p->operand[0], label)) < 0 ? l->block : a->v[d];
    for (int i = 0; i < p->nkeys; i++)
        if (p->key[i].label == label && is_told(p, &p->key[i])) return a->v[i] == 2 ? l->block : l->extent % l->block;
    return l->block;
}

/* ---- shapes ------------------------------------------------------------------------------------------------- */

/* The dimension that shows a key, as tra_dimsrc has it. */
static int8_t source_of(const tra_kernel *k, int key) {
    const tra_program_key *x = &k->program->key[key];
    if (x->operand > k->packed) return -1; /* not packed yet */
    if (x->operand == k->packed) return (int8_t)(32 + x->dim);
    return (int8_t)(k->packed == 1 ? x->dim : key);
}

void tra_program_shape(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_dims *out, tra_dimsrc *src) {
    const tra_calc_program *p = k->program;
    if (k->cls == TRA_K_PROGRAM) {
        *out = p->shape;
        for (int d = 0; d < out->n; d++) {
            int label = p->key[p->out[d]].label;
            if (label >= 0) out->v[d] = tra_program_length(k, label, a, b);
            if (src) src->from[d] = source_of(k, p->out[d]);
        }
        return;
    }
    tra_pack_extents(k, out);
    for (int d = p->nkeys; d < out->n && src; d++) src->from[d] = -1;
    for (int i = 0; i < p->nkeys; i++) {
        int label = p->key[i].label;
        bool told = is_told(p, &p->key[i]) && is_among(p, k->packed + 1, label);
        out->v[i] = told && tra_program_length(k, label, a, b) == p->label[label].block ? 2 : 1;
        if (src) src->from[i] = source_of(k, i);
    }
}

static double elements_of(const tra_dims *ext) {
    double n = 1;
    for (int d = 0; d < ext->n; d++) n *= (double)ext->v[d];
    return n;
}

/* Of an array that packs operands. */
static tra_filled packed_filled(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *in) {
    tra_filled r = {.sparse = true, .share = 1, .work = in[1].sparse ? in[1].share : 1};
    tra_dims out;
    tra_program_shape(k, a, b, &out, NULL);
    double all = elements_of(&out), entries = 0;
    for (int o = 0; o < 2; o++) {
        r.bound = tra_add_most(r.bound, in[o].bound);
        entries += (in[o].sparse ? in[o].share : 1) * elements_of(o ? b : a);
    }
    if (entries < all) r.share = entries / all;
    return r;
}

/* Has the last operand all labels of the result, so that each of its entries is one of the result at most? */
static bool masks(const tra_calc_program *p) {
    for (int d = 0; d < p->shape.n; d++)
        if (dim_of(&p->operand[p->noperands - 1], p->key[p->out[d]].label) < 0) return false;
    return true;
}

tra_filled tra_program_filled(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *in) {
    const tra_calc_program *p = k->program;
    const tra_fused_plan *x = p->fused ? &p->fused->plan[p->fused->expected] : NULL;
    tra_filled r = {.sparse = p->sparse, .share = 1, .bound = p->bound, .work = 1};
    tra_dims out;
    if (k->cls == TRA_K_PACK) return packed_filled(k, a, b, in);
    if (x) r.bound = p->sparse && in[1].sparse && masks(p) ? in[1].bound : INT64_MAX;
    if (x && p->sparse) r.bound = tra_min64(r.bound, p->fused->most);
    if (x && !(p->sparse && x->ascends)) return r; /* held densely */
    tra_program_shape(k, a, b, &out, NULL);
    double all = elements_of(x ? &out : &p->shape), entries = x ? x->entries : p->expected;
    if (entries < all) r.share = entries / all;
    return r;
}

double tra_program_flops(const tra_kernel *k, const tra_dims *a, const tra_dims *b) {
    enum { STEPS = 50 }; /* of the interpreter for an element, in units of a multiplication */
    const tra_calc_program *p = k->program;
    const tra_dims *block = &p->operand[k->packed].block;
    double share = 1;
    if (k->cls == TRA_K_PACK) return elements_of(b);
    if (!p->fused) return (elements_of(a) + elements_of(b)) * STEPS;
    for (int d = 0; d < b->n; d++) share *= block->v[d] ? (double)b->v[d] / (double)block->v[d] : 0;
    return p->fused->plan[p->fused->expected].operations * share;
}

/* ---- fused statements ------------------------------------------------------------------------------------------- */

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
    if (k->cls == TRA_K_PACK) return tra_program_packs_rows(p) || !(a || b || out);
    const tra_fused_plan *x = &p->fused->plan[tra_program_held(a, b)];
    if (x->masked && x->masked->fold != TRA_S_ADD && !out) return false; /* zeros of the sum so far would be missed */
    if (x->sampled) return out && x->ascends;
    return (x->tree || x->masked) && (!out || x->ascends);
}

int64_t tra_fused_interpreted(const tra_kernel *k, const tra_fused_plan *x, const tra_dims *ext_a,
                              const tra_dims *ext_b, bool rows) {
    enum { KEY = 192, MOST = 4 << 20 };
    tra_dims ext;
    int64_t keys;
    tra_program_shape(k, ext_a, ext_b, &ext, NULL);
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
