/* entries.c - the layout: the elements of an array that are not +0, with their places. Its kernels make the arrays
 * dense, and are slow and obvious. */
#include "entries.h"

#include <stdlib.h>
#include <string.h>

static int64_t count_of(const tra_dims *ext) {
    int64_t n = 0;
    (void)tra_dims_product(ext, &n);
    return n;
}

static tra_size bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows) {
    int64_t n = entries.bound, each[2] = {4, (int64_t)tra_dtype_size(t->dtype)}, none[2] = {0, 0}, all[2] = {n, n};
    (void)ext, (void)rows;
    return (tra_size){tra_cell_room(2, none, each), tra_cell_room(2, all, each), false};
}

/* The array of a cell; free its data. */
static tra_array dense_of(const tra_cell *c) {
    tra_array a = c->array;
    size_t size = tra_dtype_size(a.dtype), n = tra_array_bytes(&a);
    a.data = aligned_alloc(64, n / 64 * 64 + 64);
    if (!c->layout) return memcpy(a.data, c->array.data, n), a;
    memset(a.data, 0, n);
    const int32_t *at = tra_cell_data(c, 0);
    for (int64_t i = 0; i < tra_cell_count(c, 0); i++)
        memcpy((char *)a.data + (size_t)at[i] * size, (char *)tra_cell_data(c, 1) + (size_t)i * size, size);
    return a;
}

static tra_array empty_of(const tra_cell *c) {
    tra_array a = c->array;
    a.data = aligned_alloc(64, tra_array_bytes(&a) / 64 * 64 + 64);
    return a;
}

static bool is_entry(const tra_array *a, int64_t i) {
    size_t size = tra_dtype_size(a->dtype);
    static const char zero[16];
    return memcmp((const char *)a->data + (size_t)i * size, zero, size) != 0;
}

static int64_t entries_of(const tra_array *a) {
    int64_t n = 0;
    for (int64_t i = 0, all = count_of(&a->ext); i < all; i++) n += is_entry(a, i);
    return n;
}

/* Writes a cell, in the layout that it has, and frees the array. */
static void put(tra_cell *c, tra_array *a) {
    size_t size = tra_dtype_size(a->dtype);
    int64_t all = count_of(&a->ext), n = 0, each[2] = {4, (int64_t)size};
    if (!c->layout) {
        memcpy(c->array.data, a->data, tra_array_bytes(a));
        free(a->data);
        return;
    }
    tra_cell_begin(c, (int64_t[]){entries_of(a), entries_of(a)}, each);
    for (int64_t i = 0; i < all; i++) {
        if (!is_entry(a, i)) continue;
        ((int32_t *)tra_cell_data(c, 0))[n] = (int32_t)i;
        memcpy((char *)tra_cell_data(c, 1) + (size_t)n++ * size, (char *)a->data + (size_t)i * size, size);
    }
    free(a->data);
}

static void map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    tra_array x = dense_of(in), y = empty_of(out);
    tra_kernel_map(k, &x, &y, scratch);
    free(x.data);
    put(out, &y);
}

static int64_t map_bytes(const tra_kernel *k, const tra_cell *in, const tra_cell *out, void *scratch) {
    tra_array x = dense_of(in), y = empty_of(out);
    tra_kernel_map(k, &x, &y, scratch);
    int64_t n = entries_of(&y), count[2] = {n, n}, each[2] = {4, (int64_t)tra_dtype_size(y.dtype)};
    free(x.data);
    free(y.data);
    return tra_cell_room(2, count, each);
}

static void join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    tra_array x = dense_of(a), y = dense_of(b), z = empty_of(out);
    tra_kernel_join(k, &x, &y, &z, scratch);
    free(x.data);
    free(y.data);
    put(out, &z);
}

static void fma_(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                 void *scratch) {
    (void)scratch;
    tra_array x = dense_of(a), y = dense_of(b);
    tra_kernel_fma(k, &x, &y, acc, tile, first);
    free(x.data);
    free(y.data);
}

static void fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at) {
    tra_array x = dense_of(in);
    tra_agg_fold(agg, state, &x, at);
    free(x.data);
}

static void finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    tra_array x = empty_of(out);
    tra_agg_finish(agg, in, &state->array, &x, scratch);
    put(out, &x);
}

static void copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext) {
    tra_array x = dense_of(src), y = dst->layout ? empty_of(dst) : dst->array;
    tra_array_copy(&y, to, &x, from, ext);
    free(x.data);
    if (dst->layout) put(dst, &y);
}

static const tra_layout_kernels kernels = {
    .map_bytes = map_bytes, .map = map, .join = join, .fma = fma_, .fold = fold, .finish = finish, .copy = copy};
static const tra_layout entries = {.name = "entries", .id = 77, .nparts = 2, .bytes = bytes, .kernels = &kernels};

/* Shows or moves the arrays of its input as they are. */
static bool passes(const tra_op *op) { return tra_op_is(op->op, TRA_RENAMES | TRA_FORWARDS); }

/* Must the result of operator i be dense, or does something that shares its blocks? */
static bool stays_dense(const tra_plan *p, int i) {
    if (p->ops[i].what.partial) return true;
    for (int j = i + 1; j < p->nops; j++) {
        const tra_op *op = &p->ops[j];
        if (op->in[0] != i && op->in[1] != i) continue;
        if (op->op == TRA_PLAN_OUTPUT || op->op == TRA_PLAN_REPART || op->op == TRA_PLAN_MERGE) return true;
        if (passes(op) && stays_dense(p, j)) return true;
    }
    return false;
}

bool entries_in(tra_plan *p, rng *r) {
    bool any = false;
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        bool makes = tra_op_is(op->op, TRA_MAKES) && op->op != TRA_PLAN_CONCAT && op->op != TRA_PLAN_REPART;
        if (makes && !stays_dense(p, i) && rng_chance(r, 70)) op->type.layout = &entries;
        if (passes(op)) op->type.layout = p->ops[op->in[0]].type.layout;
        if (!op->type.layout) continue;
        any = true;
        tra_size *moved = &op->predicted.cost.network_bytes;
        *moved = tra_type_bytes_of(&op->type, moved->bound / (int64_t)tra_dtype_size(op->type.dtype));
    }
    p->cost.network_bytes = tra_size_exactly(0);
    for (int i = 0; i < p->nops; i++)
        p->cost.network_bytes = tra_size_add(p->cost.network_bytes, p->ops[i].predicted.cost.network_bytes);
    return any;
}
