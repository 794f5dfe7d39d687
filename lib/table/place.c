/* place.c - joins of sorted parts, and what has been found put beside the rows for which it was. */
#include "parts.h"

#include "order.h"

#include <string.h>

#include "table_int.h"

enum { STRIP = TRA_COLSTRIP };

static int64_t up64(int64_t n) { return (n + 63) / 64 * 64; }
static int64_t vectors(int columns) { return up64(columns * (int64_t)sizeof(tra_vector)); }

/* n: of so many columns the values are compared. */
static bool open_rows(const tra_cell *c, const tra_schema *s, int n, tra_vector *v, tra_batch *b) {
    tra_err e = {0};
    *b = (tra_batch){.v = v};
    tra_status status = tra_order_looks_up(s, n, NULL) ? tra_columns_of(c, s, b, &e) : tra_columns_view(c, s, b, &e);
    b->schema = s;
    if (status != TRA_OK) tra_kernel_fail("%s", e.msg);
    return status == TRA_OK;
}

/* ---- two sorted parts ---------------------------------------------------------------------------------------- */

/* Pairs wait until there is a strip of them. */
typedef struct pairs {
    const tra_merging *x;
    tra_batch left, right, *out; /* out NULL: only counts */
    int64_t rows, at[2][STRIP];
    int n;
} pairs;

static void write_pairs(pairs *p) {
    const tra_merging *x = p->x;
    int64_t begin = p->rows - p->n;
    int last = x->left->n - 1;
    if (p->out && p->n > 0) {
        tra_gather_rows(&p->out->v[0], begin, &p->left.v[last], x->left->v[last].type, p->at[0], p->n);
        for (int c = x->from; c < x->right->n; c++)
            tra_gather_rows(&p->out->v[1 + c - x->from], begin, &p->right.v[c], x->right->v[c].type, p->at[1], p->n);
    }
    p->n = 0;
}

static void add_pair(pairs *p, int64_t l, int64_t r) {
    p->at[0][p->n] = l;
    p->at[1][p->n++] = r;
    p->rows++;
    if (p->n == STRIP) write_pairs(p);
}

/* The first right row from `at` on that is not below left row l, in steps that double and then by halves: the next one
 * is near. */
static int64_t advance(const pairs *p, int64_t l, int64_t at) {
    const tra_row_view left = {&p->left, NULL}, right = {&p->right, NULL};
    int64_t step = 1, low = at, n = p->right.rows;
    while (low < n && tra_rows_compare(&right, tra_min64(low + step, n) - 1, &left, l, p->x->n, NULL) < 0) {
        low = tra_min64(low + step, n);
        step *= 2;
    }
    int64_t high = tra_min64(low + step, n);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (tra_rows_compare(&right, middle, &left, l, p->x->n, NULL) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_pairs(pairs *p) {
    const tra_row_view left = {&p->left, NULL}, right = {&p->right, NULL};
    int64_t at = 0;
    for (int64_t l = 0; l < p->left.rows; l++) {
        at = advance(p, l, at);
        for (int64_t r = at; r < p->right.rows && tra_rows_compare(&right, r, &left, l, p->x->n, NULL) == 0; r++) {
            add_pair(p, l, r);
            if (p->x->one) break;
        }
    }
    write_pairs(p);
}

static int64_t merge_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_merging *x = data;
    (void)ext_a, (void)ext_b;
    return vectors(x->left->n + x->right->n + x->out->n) + up64(sizeof(pairs));
}

static bool open_pairs(const tra_merging *x, const tra_cell *a, const tra_cell *b, void *scratch, pairs **p) {
    tra_vector *v = scratch;
    *p = (pairs *)((char *)scratch + vectors(x->left->n + x->right->n + x->out->n));
    (*p)->x = x;
    (*p)->out = NULL;
    (*p)->rows = (*p)->n = 0;
    return open_rows(a, x->left, x->n, v, &(*p)->left) && open_rows(b, x->right, x->n, v + x->left->n, &(*p)->right);
}

static int64_t count_pairs(pairs *p, tra_cell *out) {
    if (out->counted[0]) return out->counted[0] - 1;
    find_pairs(p);
    out->counted[0] = p->rows + 1;
    return p->rows;
}

static int64_t merge_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_merging *x = data;
    pairs *p;
    return tra_columns_room(x->out, open_pairs(x, a, b, scratch, &p) ? count_pairs(p, out) : 0);
}

static void merge_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_merging *x = data;
    tra_batch made = {.v = (tra_vector *)scratch + x->left->n + x->right->n};
    pairs *p;
    if (!open_pairs(x, a, b, scratch, &p)) return tra_columns_begin(out, x->out, 0, &made);
    tra_columns_begin(out, x->out, count_pairs(p, out), &made);
    p->rows = p->n = 0;
    p->out = &made;
    find_pairs(p);
}

const tra_rows_ops tra_merge_join_ops = {.scratch = merge_scratch, .bytes = merge_bytes, .run = merge_run};

/* ---- back to the rows ---------------------------------------------------------------------------------------- */

/* Of the rows of a block what was found: numbers list[begin[i]] .. list[begin[i + 1]] of row i, in their order. */
typedef struct placing {
    const tra_placing *x;
    tra_batch left, found;
    int64_t *begin, *list, rows; /* rows: of the result */
} placing;

static int64_t place_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_placing *x = data;
    int64_t lists = tra_mul_most(tra_add_most(ext_a->v[0] + 2, ext_b->v[0]), (int64_t)sizeof(int64_t));
    return tra_add_most(vectors(x->left->n + x->right->n + x->out->n) + 2 * STRIP * (int64_t)sizeof(int64_t), lists);
}

static int64_t rows_of(const placing *p, int64_t i) {
    int64_t n = p->begin[i + 1] - p->begin[i];
    switch (p->x->how) {
    case TRA_PLACE_INNER: return n;
    case TRA_PLACE_LEFT: return tra_max64(1, n);
    case TRA_PLACE_SEMI: return n > 0;
    case TRA_PLACE_ANTI: return n == 0;
    case TRA_PLACE_KEEP: return 1;
    }
    return 0;
}

static bool open_placing(const tra_placing *x, const tra_cell *a, const tra_cell *b, void *scratch, placing *p) {
    tra_vector *v = scratch;
    *p = (placing){.x = x};
    if (!open_rows(a, x->left, 0, v, &p->left) || !open_rows(b, x->right, 0, v + x->left->n, &p->found)) return false;
    const int64_t *number = p->found.v[0].values;
    int64_t n = p->left.rows, all = p->found.rows,
            *lists = (int64_t *)((char *)scratch + vectors(x->left->n + x->right->n + x->out->n));
    p->begin = lists + 2 * STRIP;
    p->list = p->begin + n + 2;
    memset(p->begin, 0, (size_t)(n + 2) * sizeof *p->begin);
    for (int64_t i = 0; i < all; i++) {
        int64_t row = number[i] < 0 ? n : number[i] % x->rows;
        if (row >= n) return tra_kernel_fail("a row was found that is not in the block"), false;
        p->begin[row + 2]++;
    }
    for (int64_t i = 0; i < n; i++) p->begin[i + 2] += p->begin[i + 1];
    for (int64_t i = 0; i < all; i++) p->list[p->begin[number[i] % x->rows + 1]++] = i;
    for (int64_t i = 0; i < n; i++) {
        p->rows += rows_of(p, i);
        if (!x->matched || p->begin[i] < p->begin[i + 1]) continue;
        tra_kernel_fail("row %" PRId64 " of the %s table has no partner, but each is expected to (matched)",
                        tra_max64(0, a->first) + i, x->name);
        return false;
    }
    return true;
}

static int64_t place_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_placing *x = data;
    placing p;
    (void)out;
    return tra_columns_room(x->out, open_placing(x, a, b, scratch, &p) ? p.rows : 0);
}

static void write_rows(const placing *p, const int64_t *l, const int64_t *f, int n, int64_t begin, tra_batch *made) {
    const tra_placing *x = p->x;
    for (int c = 0; c < x->out->n; c++) {
        bool left = c < x->left->n;
        const tra_vector *from = left ? &p->left.v[c] : &p->found.v[1 + c - x->left->n];
        tra_gather_rows(&made->v[c], begin, from, x->out->v[c].type, left ? l : f, n);
    }
}

static void place_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_placing *x = data;
    tra_batch made = {.v = (tra_vector *)scratch + x->left->n + x->right->n};
    placing p;
    if (!open_placing(x, a, b, scratch, &p)) return tra_columns_begin(out, x->out, 0, &made);
    tra_columns_begin(out, x->out, p.rows, &made);
    int64_t *l = p.begin - 2 * STRIP, *f = l + STRIP, written = 0;
    int n = 0;
    for (int64_t i = 0; i < p.left.rows; i++) {
        int64_t rows = rows_of(&p, i), found = p.begin[i + 1] - p.begin[i];
        for (int64_t k = 0; k < rows; k++) {
            l[n] = i;
            f[n++] = k < found ? p.list[p.begin[i] + k] : -1;
            if (n < STRIP) continue;
            write_rows(&p, l, f, n, written, &made);
            written += n;
            n = 0;
        }
    }
    write_rows(&p, l, f, n, written, &made);
}

const tra_rows_ops tra_place_ops = {.scratch = place_scratch, .bytes = place_bytes, .run = place_run};
