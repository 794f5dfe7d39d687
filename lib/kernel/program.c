/* program.c - kernels that are programs of the calculus: their shapes, what is known of them, and packing. */
#include "../model/rows.h"
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
    return k->program->fused->plan[tra_program_held(a, b)].masked ? TRA_IMPL_MASKED : TRA_IMPL_FUSED;
}

/* ---- where an operand is -------------------------------------------------------------------------------------- */

static int64_t last_of(const tra_dims *ext) { return ext->n ? ext->v[ext->n - 1] : 1; }

static bool clips(const tra_program_label *l) { return l->extent % l->block != 0; }

/* Does one of the first n operands have the label as a dimension? */
static bool has_label(const tra_calc_program *p, int n, int label) {
    for (int o = 0; o < n; o++)
        for (int d = 0; d < p->operand[o].block.n; d++)
            if (p->operand[o].label[d] == label) return true;
    return false;
}

int64_t tra_program_row(const tra_calc_program *p, int o) {
    int64_t at = 0;
    for (int i = 0; i < o; i++) at = tra_add_most(at, tra_rows_box(&p->operand[i].block));
    return at;
}

int64_t tra_program_row_in(const tra_dims *ext, const tra_dims *block, int64_t row) {
    int64_t at = 0, stride = 1;
    for (int d = ext->n - 2; d >= 0; d--) {
        at += row % ext->v[d] * stride;
        row /= ext->v[d];
        stride *= block->v[d];
    }
    return at;
}

/* Extents of an array that packs the first n operands, but for the labels. */
static void packed_extents(const tra_calc_program *p, int n, tra_dims *out) {
    out->n = p->nkeys + 2;
    for (int k = 0; k < p->nkeys; k++) out->v[k] = 1;
    out->v[p->nkeys] = tra_program_row(p, n);
    out->v[p->nkeys + 1] = 1;
    for (int o = 0; o < n; o++) out->v[p->nkeys + 1] = tra_max64(out->v[p->nkeys + 1], last_of(&p->operand[o].block));
}

/* The length of the label's block in an array of one operand, or of the first n packed; -1: it does not tell. */
static int64_t length_in(const tra_calc_program *p, int label, int n, const tra_dims *ext) {
    const tra_program_label *l = &p->label[label];
    if (n == 1) return -1; /* told by the caller */
    for (int k = 0; k < p->nkeys && has_label(p, n, label); k++)
        if (p->key[k].label == label) return !clips(l) || ext->v[k] == 2 ? l->block : l->extent % l->block;
    return -1;
}

static int64_t length_of(const tra_calc_program *p, int label, int o, const tra_dims *ext) {
    for (int d = 0; d < p->operand[o].block.n; d++)
        if (p->operand[o].label[d] == label) return ext->v[d];
    return -1;
}

int64_t tra_program_length(const tra_kernel *k, int label, const tra_dims *a, const tra_dims *b) {
    const tra_calc_program *p = k->program;
    int64_t n = length_of(p, label, k->packed, b);
    if (n < 0) n = k->packed == 1 ? length_of(p, label, 0, a) : length_in(p, label, k->packed, a);
    return n < 0 ? p->label[label].block : n;
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
    if (p->fused) {
        tra_fused_shape(k, a, b, out, src);
        return;
    }
    if (k->cls == TRA_K_PROGRAM) {
        *out = p->shape;
        for (int d = 0; d < out->n; d++) {
            int label = p->key[p->out[d]].label;
            if (label >= 0) out->v[d] = tra_program_length(k, label, a, b);
            if (src) src->from[d] = source_of(k, p->out[d]);
        }
        return;
    }
    packed_extents(p, k->packed + 1, out);
    for (int i = 0; i < p->nkeys; i++) {
        int label = p->key[i].label;
        bool known = label >= 0 && clips(&p->label[label]) && has_label(p, k->packed + 1, label);
        if (known && tra_program_length(k, label, a, b) == p->label[label].block) out->v[i] = 2;
        if (src) src->from[i] = source_of(k, i);
    }
    if (src) src->from[p->nkeys] = src->from[p->nkeys + 1] = -1;
}

tra_filled tra_program_filled(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *in) {
    const tra_calc_program *p = k->program;
    const tra_dims *ext[2] = {a, b};
    tra_filled r = {.sparse = true, .work = 1};
    double all = 1, entries = 0;
    if (p->fused) return tra_fused_filled(k, a, b, in);
    if (k->cls == TRA_K_PROGRAM) {
        for (int d = 0; d < p->shape.n; d++) all *= (double)p->shape.v[d];
        return (tra_filled){
            .sparse = p->sparse, .share = all > p->expected ? p->expected / all : 1, .bound = p->bound, .work = 1};
    }
    tra_dims out;
    tra_program_shape(k, a, b, &out, NULL);
    for (int d = 0; d < out.n; d++) all *= (double)out.v[d];
    for (int o = 0; o < 2; o++) {
        int64_t n;
        if (!tra_dims_product(ext[o], &n)) n = INT64_MAX;
        r.bound = tra_add_most(r.bound, in[o].bound);
        entries += (in[o].sparse ? in[o].share : 1) * (double)n;
    }
    r.share = all > 0 && entries < all ? entries / all : 1;
    return r;
}

double tra_program_flops(const tra_kernel *k, const tra_dims *a, const tra_dims *b) {
    enum { STEPS = 50 }; /* of the interpreter for an element, in units of a multiplication */
    double n[2] = {1, 1};
    if (k->program->fused) return tra_fused_flops(k, a, b);
    for (int d = 0; d < a->n; d++) n[0] *= (double)a->v[d];
    for (int d = 0; d < b->n; d++) n[1] *= (double)b->v[d];
    return (n[0] + n[1]) * (k->cls == TRA_K_PROGRAM ? STEPS : 1);
}

/* ---- packing -------------------------------------------------------------------------------------------------- */

/* What takes the entries of a packed array, in their order: a dense one, or rows that are made or only counted. */
typedef struct packer {
    const tra_cell *out;
    int64_t width;        /* of its rows */
    tra_rows_maker *made; /* NULL: counted */
    int64_t nrows, n;
} packer;

static void put_row(packer *x, int64_t row) {
    if (x->made) tra_rows_open(x->made, row);
}

static void put(packer *x, int64_t row, int64_t column, int64_t bits) {
    if (!x->out->layout) ((int64_t *)x->out->array.data)[row * x->width + column] = bits;
    x->n++;
    if (x->made) *(int64_t *)tra_rows_next(x->made, (uint32_t)column) = bits;
}

static void put_end(packer *x, int64_t before) {
    x->nrows += x->n > before;
    if (x->made) tra_rows_close(x->made);
}

/* The rows of a cell, from row `to` of the packed array on. ext, block: of an operand, whose rows lie apart as in
 * arrays of the extents `block`; of an array that is packed already they are its own. */
static void pack_cell(packer *x, const tra_cell *c, const tra_dims *block, int64_t to) {
    const tra_dims *ext = &c->array.ext;
    int64_t width = last_of(ext), box = tra_rows_box(ext);
    if (c->layout) {
        tra_rows_view v = tra_rows_of(c);
        for (int64_t r = 0; r < v.nrows; r++) {
            int64_t row = to + tra_program_row_in(ext, block, v.row[r]), before = x->n;
            put_row(x, row);
            for (int64_t i = v.begin[r]; i < v.begin[r + 1]; i++) {
                int64_t bits = tra_element_bits(c->array.dtype, v.value, i);
                if (bits) put(x, row, v.column[i], bits);
            }
            put_end(x, before);
        }
        return;
    }
    for (int64_t r = 0; r < box && !tra_cancelled(); r++) {
        int64_t row = to + tra_program_row_in(ext, block, r), before = x->n;
        put_row(x, row);
        for (int64_t i = 0; i < width; i++) {
            int64_t bits = tra_element_bits(c->array.dtype, c->array.data, r * width + i);
            if (bits) put(x, row, i, bits);
        }
        put_end(x, before);
    }
}

static void pack_both(const tra_kernel *k, const tra_cell *a, const tra_cell *b, packer *x) {
    const tra_calc_program *p = k->program;
    tra_dims block = k->packed == 1 ? p->operand[0].block : a->array.ext;
    pack_cell(x, a, &block, 0);
    pack_cell(x, b, &p->operand[k->packed].block, tra_program_row(p, k->packed));
}

int64_t tra_pack_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, bool count) {
    packer x = {.out = out, .width = last_of(&out->array.ext)};
    if (!out->layout) {
        memset(out->array.data, 0, tra_array_bytes(&out->array));
        pack_both(k, a, b, &x);
        return 0;
    }
    if (out->counted[1] == 0 || count) {
        pack_both(k, a, b, &x);
        out->counted[0] = x.nrows + 1; /* 0 is: not counted */
        out->counted[1] = x.n + 1;
    }
    int64_t nrows = out->counted[0] - 1, n = out->counted[1] - 1;
    if (count) return tra_rows_room(TRA_I64, nrows + 1, n);
    tra_rows_maker m = tra_rows_make(out, nrows + 1, n); /* one more for a row that turns out to be empty */
    x = (packer){.out = out, .width = x.width, .made = &m};
    pack_both(k, a, b, &x);
    tra_rows_made(&m);
    return 0;
}
