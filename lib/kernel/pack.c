/* pack.c - operands of a program in one array, as a join has but two: made, and those of a fused statement found again
 * (program_operand.c finds those of others). */
#include "program_int.h"

#include <string.h>

/* ---- where operands are ------------------------------------------------------------------------------------------ */

static int64_t last_of(const tra_dims *ext) { return ext->n ? ext->v[ext->n - 1] : 1; }

static int64_t elements_of(const tra_program_operand *o) {
    return tra_mul_most(tra_rows_box(&o->block), last_of(&o->block));
}

/* Where operand o begins in the array that packs operands of dense type, in elements. */
static int64_t offset_of(const tra_calc_program *p, int o) {
    int64_t at = 0;
    for (int i = 0; i < o; i++) at = tra_add_most(at, elements_of(&p->operand[i]));
    return at;
}

static int64_t width_of(const tra_calc_program *p) {
    int64_t width = 1;
    for (int o = 0; o + 1 < p->noperands; o++) width = tra_max64(width, last_of(&p->operand[o].block));
    return width;
}

int64_t tra_program_row(const tra_calc_program *p, int o) {
    int64_t at = 0;
    for (int i = 0; i < o; i++) at = tra_add_most(at, tra_rows_box(&p->operand[i].block));
    return at;
}

/* The number that row `row` of an array of extents `ext` has in an array of whole blocks. */
static int64_t row_in(const tra_dims *ext, const tra_dims *block, int64_t row) {
    int64_t at = 0, stride = 1;
    for (int d = ext->n - 2; d >= 0; d--) {
        at += row % ext->v[d] * stride;
        row /= ext->v[d];
        stride *= block->v[d];
    }
    return at;
}

void tra_pack_extents(const tra_kernel *k, tra_dims *out) {
    const tra_calc_program *p = k->program;
    out->n = p->nkeys;
    if (!tra_program_packs_rows(p)) {
        out->v[out->n++] = offset_of(p, k->packed + 1);
        return;
    }
    out->v[out->n++] = tra_program_row(p, k->packed + 1);
    out->v[out->n++] = width_of(p);
}

/* ---- making --------------------------------------------------------------------------------------------------- */

/* Does a packed array of rows have all elements of operand o, not its entries alone? */
static bool has_all(const tra_calc_program *p, int o) { return p->fused && !tra_fused_has_rows(p, o, TRA_FUSED_FIRST); }

static void widen(const tra_array *from, int64_t *to) {
    int64_t n = tra_elements_of(&from->ext);
    for (int64_t i = 0; i < n; i++) to[i] = tra_element_bits(from->dtype, from->data, i);
}

/* What takes elements in their order: a dense array, or rows that are made or only counted. */
typedef struct packer {
    int64_t *dense; /* or NULL */
    int64_t width;
    tra_rows_maker *made; /* NULL: counted */
    int64_t nrows, n, row;
} packer;

static void put(packer *x, int64_t row, int64_t column, int64_t bits) {
    if (x->dense) x->dense[row * x->width + column] = bits;
    bool opens = x->n++ == 0 || row != x->row;
    x->nrows += opens;
    x->row = row;
    if (!x->made) return;
    if (opens) tra_rows_open(x->made, row);
    *(int64_t *)tra_rows_next(x->made, (uint32_t)column) = bits;
}

/* put_rows of a cell that is rows, which are to be rows: as they are. */
static void put_held(packer *x, const tra_cell *c, const tra_dims *block, int64_t to) {
    tra_rows_view v = tra_rows_of(c), *m = x->made ? &x->made->v : NULL;
    x->nrows += v.nrows;
    x->n += v.n;
    if (!m) return;
    memcpy(m->column + m->n, v.column, (size_t)v.n * sizeof *v.column);
    tra_convert(m->value + (size_t)m->n * m->size, tra_dtype_is_float(c->array.dtype) ? TRA_F64 : TRA_I64, v.value,
                c->array.dtype, v.n);
    for (int64_t r = 0; r < v.nrows; r++) {
        m->row[m->nrows] = to + row_in(&c->array.ext, block, v.row[r]);
        m->begin[m->nrows++] = m->n + v.begin[r];
    }
    m->n += v.n;
}

/* Puts the rows of a cell as rows `to` and the following ones. all: also elements that are 0. */
static void put_rows(packer *x, const tra_cell *c, const tra_dims *block, int64_t to, bool all) {
    const tra_dims *ext = &c->array.ext;
    tra_rows_view v = {0};
    if (c->layout && !x->dense) {
        put_held(x, c, block, to);
        return;
    }
    if (c->layout) v = tra_rows_of(c);
    int64_t width = last_of(ext), rows = c->layout ? v.nrows : tra_rows_box(ext);
    for (int64_t r = 0; r < rows && !tra_cancelled(); r++) {
        int64_t row = to + row_in(ext, block, c->layout ? v.row[r] : r);
        int64_t from = c->layout ? v.begin[r] : r * width, end = c->layout ? v.begin[r + 1] : from + width;
        for (int64_t i = from; i < end; i++) {
            int64_t bits = tra_element_bits(c->array.dtype, c->layout ? v.value : c->array.data, i);
            if (all || c->layout || bits) put(x, row, c->layout ? v.column[i] : i - from, bits);
        }
    }
}

/* Copies n operands out of a dense array that packs them already; those of dense type become whole blocks. */
static void put_packed(packer *x, const tra_calc_program *p, int n, const tra_cell *c) {
    for (int o = 0; o < n; o++) {
        int64_t from = tra_program_row(p, o), end = tra_program_row(p, o + 1), width = last_of(&p->operand[o].block);
        bool all = has_all(p, o);
        for (int64_t row = from; row < end && !tra_cancelled(); row++)
            for (int64_t i = 0; i < width; i++) {
                int64_t bits = ((const int64_t *)c->array.data)[row * x->width + i];
                if (all || bits) put(x, row, i, bits);
            }
    }
}

static void put_both(packer *x, const tra_kernel *k, const tra_cell *a, const tra_cell *b) {
    const tra_calc_program *p = k->program;
    bool again = k->packed > 1;
    if (again && !a->layout)
        put_packed(x, p, k->packed, a);
    else
        put_rows(x, a, again ? &a->array.ext : &p->operand[0].block, 0, has_all(p, 0));
    put_rows(x, b, &p->operand[k->packed].block, tra_program_row(p, k->packed), has_all(p, k->packed));
}

void tra_pack_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out) {
    const tra_calc_program *p = k->program;
    int64_t *to = out->array.data, at;
    packer x = {.width = width_of(p)};
    if (!out->layout) memset(to, 0, tra_array_bytes(&out->array));
    if (!tra_program_packs_rows(p)) {
        at = offset_of(p, k->packed);
        if (k->packed == 1)
            widen(&a->array, to);
        else
            memcpy(to, a->array.data, (size_t)at * sizeof *to);
        widen(&b->array, to + at);
        return;
    }
    if (!out->layout) x.dense = to;
    put_both(&x, k, a, b);
    if (!out->layout || !tra_rows_take(out, x.nrows, x.n)) return;
    tra_rows_maker m = tra_rows_make(out, x.nrows, x.n);
    x = (packer){.width = x.width, .made = &m};
    put_both(&x, k, a, b);
    tra_rows_made(&m);
}

/* ---- finding -------------------------------------------------------------------------------------------------- */

/* Elements that lie in rows of whole blocks, one after the other. */
static const void *together(const tra_program_operand *o, const int64_t *from, int64_t stride, const int64_t *length,
                            char **scratch) {
    int64_t *to = (int64_t *)(void *)*scratch;
    tra_dims ext = {.n = o->block.n};
    for (int d = 0; d < ext.n; d++) ext.v[d] = length[d];
    int64_t rows = tra_rows_box(&ext), width = last_of(&ext);
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * width, from + row_in(&ext, &o->block, r) * stride, (size_t)width * sizeof *to);
    *scratch += (size_t)(rows * width) * sizeof *to;
    return to;
}

/* Where the entries of each of n rows begin, and the end, from place `from` on, which has the number `first`. Each row
 * that has entries says where they end, and a row that has none ends where the row before it does: without branches,
 * since which rows have entries cannot be foreseen. */
static int64_t *number_rows(const tra_rows_view *v, int64_t from, int64_t end, int64_t first, int64_t n,
                            char **scratch) {
    int64_t *begin = (int64_t *)(void *)*scratch, at = v->begin[from], last = 0;
    memset(begin, 0, (size_t)(n + 1) * sizeof *begin);
    for (int64_t r = from; r < end && v->row[r] - first < n; r++) begin[v->row[r] - first + 1] = v->begin[r + 1] - at;
    for (int64_t i = 0; i <= n; i++) begin[i] = last = tra_max64(last, begin[i]);
    *scratch += (size_t)(n + 1) * sizeof *begin;
    return begin;
}

tra_fused_unpacked tra_fused_unpack(const tra_calc_program *p, int o, const tra_cell *a, const int64_t *length,
                                    bool numbered, char **scratch) {
    const tra_program_operand *op = &p->operand[o];
    tra_fused_unpacked u = {.n = 1, .first = tra_program_row(p, o)};
    for (int d = 0; d < op->block.n; d++) u.n *= length[d];
    if (!tra_program_packs_rows(p)) {
        u.value = (const int64_t *)a->array.data + offset_of(p, o);
        return u;
    }
    if (!a->layout) {
        const int64_t *from = (const int64_t *)a->array.data + u.first * width_of(p);
        u.value = together(op, from, width_of(p), length, scratch);
        return u;
    }
    tra_rows_view v = tra_rows_of(a);
    int64_t from = tra_rows_from(&v, u.first), end = tra_rows_from(&v, tra_program_row(p, o + 1)), at = v.begin[from];
    u.value = (const int64_t *)(void *)v.value + at;
    if (!tra_fused_has_rows(p, o, TRA_FUSED_FIRST)) {
        /* all of them are there; of what was packed densely first, with those of whole blocks */
        if (v.begin[end] - at > u.n) u.value = together(op, u.value, last_of(&op->block), length, scratch);
        return u;
    }
    u.n = v.begin[end] - at;
    if (numbered) {
        u.rows = (tra_rows_view){.nrows = length[0], .n = u.n, .column = v.column + at};
        u.rows.begin = number_rows(&v, from, end, u.first, length[0], scratch);
        return u;
    }
    u.rows = (tra_rows_view){.nrows = end - from, .n = u.n, .row = v.row + from, .column = v.column + at};
    u.rows.begin = (int64_t *)(void *)*scratch;
    for (int64_t r = from; r <= end; r++) u.rows.begin[r - from] = v.begin[r] - at;
    *scratch += (size_t)(end - from + 1) * sizeof(int64_t);
    return u;
}

int64_t tra_fused_unpack_scratch(const tra_calc_program *p, const tra_fused_plan *x, const tra_type *a) {
    int64_t bytes = 0, entries = tra_type_entries(a).bound;
    if (!tra_program_packs_rows(p)) return 0;
    for (int o = 0; o + 1 < p->noperands; o++) {
        const tra_program_operand *op = &p->operand[o];
        int64_t rows = tra_min64(tra_rows_box(&op->block), entries), numbers = elements_of(op);
        if (a->layout && tra_fused_has_rows(p, o, TRA_FUSED_FIRST)) /* begin, coordinates */
            numbers =
                tra_add_most(x->numbered >> o & 1 ? op->block.v[0] : tra_mul_most(rows, tra_max64(op->block.n, 1)), 1);
        bytes = tra_add_most(bytes, tra_mul_most(numbers, (int64_t)sizeof(int64_t)));
    }
    return bytes;
}
