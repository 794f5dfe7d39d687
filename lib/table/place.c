/* place.c - joins of sorted parts, and what has been found put beside the rows for which it was. */
#include "parts.h"

#include "asof.h"
#include "order.h"

#include <string.h>

#include "table_int.h"

enum { STRIP = TRA_COLSTRIP };

/* ---- two sorted parts ---------------------------------------------------------------------------------------- */

/* Pairs wait until there is a strip of them; then those for which the condition is true are written. */
typedef struct pairs {
    const tra_merging *x;
    tra_batch left, right, *out; /* out NULL: only counts */
    int64_t rows, at[2][STRIP];
    int n;
    int64_t met;       /* the last left row that came out */
    tra_colcode *code; /* of the condition; NULL: none */
    char *room; /* for it: columns, values, and what a run takes; of an as-of join for times, and where keys begin */
} pairs;

static int pair_columns(const tra_merging *x) { return x->left->n + x->right->n; }

/* The columns of a pair, gathered for a strip, are as wide as the widest, and have states. */
static int64_t condition_bytes(const tra_merging *x) {
    if (!x->where) return 0;
    tra_arena *a = tra_arena_new();
    int64_t code = tra_colcode_scratch(tra_colcode_new(a, 1, &x->where));
    tra_arena_free(a);
    return tra_vectors_bytes(pair_columns(x)) + tra_round64(pair_columns(x) * (int64_t)STRIP * 9) + tra_round64(code) +
           tra_round64(pair_columns(x));
}

/* Evaluates the condition for the pairs that wait: element i is 1 where pair i counts. */
static const uint8_t *evaluate_condition(pairs *p) {
    const tra_merging *x = p->x;
    int n = pair_columns(x);
    tra_vector *v = (tra_vector *)p->room;
    char *at = p->room + tra_vectors_bytes(n), *own = at + tra_round64(n * (int64_t)STRIP * 9) + tra_round64(n);
    bool *read = (bool *)(own - tra_round64(n));
    tra_colrun run;
    memset(read, 0, (size_t)n * sizeof *read);
    tra_colexpr_columns(x->where, read);
    for (int c = 0; c < n; c++, at += STRIP * 9) {
        bool left = c < x->left->n;
        int own_column = left ? c : c - x->left->n;
        v[c] = (tra_vector){at, (uint8_t *)at + STRIP * 8};
        if (read[c])
            tra_gather_rows(&v[c], 0, left ? &p->left.v[own_column] : &p->right.v[own_column],
                            left ? x->left->v[own_column].type : x->right->v[own_column].type, p->at[!left], p->n);
    }
    tra_colrun_begin(&run, p->code, own);
    tra_colrun_strip(&run, v, 0, p->n);
    tra_colvalue result = tra_colrun_result(&run, 0);
    if (!p->out) tra_table_note_pairs(&run, p->n);
    for (int i = 0; result.state && i < p->n; i++) {
        if (result.state[i] != TRA_STATE_ERROR) continue;
        const int64_t *number = p->left.v[x->left->n - 1].values;
        tra_kernel_fail("row %" PRId64 ": the condition of the join could not be computed", number[p->at[0][i]]);
        break;
    }
    return result.values; /* a NULL is 0 */
}

/* Those of the waiting pairs that come out. */
static void choose_pairs(pairs *p) {
    const uint8_t *pass = p->code && p->n > 0 ? evaluate_condition(p) : NULL;
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t l = p->at[0][i];
        if ((pass && !pass[i]) || (p->x->one && p->met == l)) continue;
        p->met = p->at[0][n] = l;
        p->at[1][n++] = p->at[1][i];
    }
    p->n = n;
    p->rows += n;
}

static void write_pairs(pairs *p) {
    const tra_merging *x = p->x;
    int last = x->left->n - 1;
    choose_pairs(p);
    int64_t begin = p->rows - p->n;
    if (p->out && p->n > 0) {
        tra_gather_rows(&p->out->v[0], begin, &p->left.v[last], x->left->v[last].type, p->at[0], p->n);
        for (int c = 1; c < x->out->n; c++)
            tra_gather_rows(&p->out->v[c], begin, &p->right.v[x->from + c - 1], x->out->v[c].type, p->at[1], p->n);
    }
    p->n = 0;
}

static void add_pair(pairs *p, int64_t l, int64_t r) {
    p->at[0][p->n] = l;
    p->at[1][p->n++] = r;
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

#define BEGINS(name, text, T, ...)                                                                                     \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 1; i < b->rows; i++) {                                                                        \
            T x = ((const T *)v->values)[i - 1], y = ((const T *)v->values)[i];                                        \
            begins[i] |= x != y && (x == x || y == y);                                                                 \
        }                                                                                                              \
        break;

/* Which of the sorted rows differ from the one before in the first n columns. NULLs have equal values. */
static void mark_begins(const tra_batch *b, int n, uint8_t *begins) {
    memset(begins, 0, (size_t)b->rows);
    if (b->rows > 0) begins[0] = 1;
    for (int k = 0; k < n; k++) {
        const tra_vector *v = &b->v[k];
        switch (tra_coltype_held(b->schema->v[k].type)) { TRA_DTYPES(BEGINS) }
        for (int64_t i = 1; v->state && i < b->rows; i++) begins[i] |= !v->state[i - 1] != !v->state[i];
    }
}

/* Of each left row the one partner that the as-of join chooses. */
static void find_nearest(pairs *p) {
    const tra_row_view left = {&p->left, NULL}, right = {&p->right, NULL};
    int n = p->x->n;
    int64_t begin = 0, end = 0, from = 0, rows = p->right.rows;
    tra_dtype type = tra_coltype_held(p->x->left->v[n].type);
    uint64_t *time = (uint64_t *)p->room, *at = time + rows;
    uint8_t *begins = (uint8_t *)(at + p->left.rows), *right_begins = begins + p->left.rows;
    tra_asof_words(type, p->right.v[n].values, rows, time);
    tra_asof_words(type, p->left.v[n].values, p->left.rows, at);
    mark_begins(&p->left, n, begins);
    mark_begins(&p->right, n, right_begins);
    for (int64_t l = 0; l < p->left.rows; l++) {
        if (begins[l]) {
            begin = end = from = advance(p, l, end);
            if (end < rows && tra_rows_compare(&right, end, &left, l, n, NULL) == 0)
                for (end++; end < rows && !right_begins[end];) end++;
        }
        int64_t r = tra_asof_find(p->x->asof, tra_dtype_is_float(type), time, begin, end, &from, at[l]);
        if (r >= 0) add_pair(p, l, r);
    }
}

static void find_pairs(pairs *p) {
    const tra_row_view left = {&p->left, NULL}, right = {&p->right, NULL};
    tra_arena *a = p->x->where ? tra_arena_new() : NULL;
    int64_t at = 0;
    p->rows = p->n = 0;
    p->met = -1;
    p->code = a ? tra_colcode_new(a, 1, &p->x->where) : NULL;
    if (p->x->asof) find_nearest(p);
    for (int64_t l = 0; !p->x->asof && l < p->left.rows; l++) {
        at = advance(p, l, at);
        for (int64_t r = at; r < p->right.rows && tra_rows_compare(&right, r, &left, l, p->x->n, NULL) == 0; r++) {
            add_pair(p, l, r);
            if (p->x->one && !p->code) break;
        }
    }
    write_pairs(p);
    tra_arena_free(a);
}

TRA_ROWS_FORM(merge_form, tra_merging, .in = {x->left, x->right}, .out = x->out,
              .viewed = {!tra_order_looks_up(x->left, x->n, NULL), !tra_order_looks_up(x->right, x->n, NULL)})

static int64_t merge_rest(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_merging *x = data;
    int64_t fixed = tra_round64(sizeof(pairs)) + condition_bytes(x);
    return x->asof ? tra_add_most(fixed, tra_mul_most(9, tra_add_most(ext_a->v[0], ext_b->v[0]))) : fixed;
}

static void merge_run(const void *data, tra_rows_io *io) {
    pairs *p = io->rest;
    p->x = data;
    p->left = io->in[0];
    p->right = io->in[1];
    p->out = NULL;
    p->room = (char *)p + tra_round64(sizeof(pairs));
    tra_table_note_keys(&p->left, p->x->n, NULL, 0, NULL, NULL);
    tra_table_note_keys(&p->right, p->x->n, NULL, 1, NULL, NULL);
    if (!p->x->asof) find_pairs(p);
    if (!tra_rows_result(io, p->x->asof ? p->left.rows : p->rows)) return; /* as of a time: one of each, at most */
    p->out = &io->made;
    find_pairs(p);
    if (p->x->asof) tra_rows_filled(io, p->rows);
}

const tra_rows_ops tra_merge_join_ops = {.form = merge_form, .rest = merge_rest, .run = merge_run};

/* ---- back to the rows ---------------------------------------------------------------------------------------- */

/* Of the rows of a block what was found: numbers list[begin[i]] .. list[begin[i + 1]] of row i, in their order. */
typedef struct placing {
    const tra_placing *x;
    tra_batch left, found;
    int64_t *begin, *list, rows; /* rows: of the result */
} placing;

TRA_ROWS_FORM(place_form, tra_placing, .in = {x->left, x->right}, .out = x->out, .viewed = {true, true})

TRA_ROWS_REST(place_rest, tra_placing,
              tra_add_most(2 * STRIP * 8, tra_mul_most(tra_add_most(a->v[0] + 2, b->v[0]), (int64_t)sizeof(int64_t))))

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

static bool open_placing(const tra_placing *x, const tra_rows_io *io, placing *p) {
    *p = (placing){.x = x, .left = io->in[0], .found = io->in[1]};
    const int64_t *number = p->found.v[0].values;
    int64_t n = p->left.rows, all = p->found.rows;
    p->begin = (int64_t *)io->rest + 2 * STRIP;
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
        char key[TRA_ROWTEXT];
        const tra_lookup_spec *s = tra_lookup_spec_of(x->join);
        tra_kernel_fail("row %" PRId64 " of the %s table has no partner for %s, but each is expected to (matched)",
                        tra_max64(0, io->a->first) + i, x->name, tra_row_text(&p->left, i, s->nkeys, s->lkey, key));
        return false;
    }
    return true;
}

static void write_rows(const placing *p, const int64_t *l, const int64_t *f, int n, int64_t begin, tra_batch *made) {
    const tra_placing *x = p->x;
    for (int c = 0; c < x->out->n; c++) {
        bool left = c < x->left->n;
        const tra_vector *from = left ? &p->left.v[c] : &p->found.v[1 + c - x->left->n];
        tra_gather_rows(&made->v[c], begin, from, x->out->v[c].type, left ? l : f, n);
    }
}

static void place_run(const void *data, tra_rows_io *io) {
    placing p;
    if (!open_placing(data, io, &p) || !tra_rows_result(io, p.rows)) return;
    int64_t *l = p.begin - 2 * STRIP, *f = l + STRIP, written = 0;
    int n = 0;
    for (int64_t i = 0; i < p.left.rows; i++) {
        int64_t rows = rows_of(&p, i), found = p.begin[i + 1] - p.begin[i];
        for (int64_t k = 0; k < rows; k++) {
            l[n] = i;
            f[n++] = k < found ? p.list[p.begin[i] + k] : -1;
            if (n < STRIP) continue;
            write_rows(&p, l, f, n, written, &io->made);
            written += n;
            n = 0;
        }
    }
    write_rows(&p, l, f, n, written, &io->made);
}

static void place_reads(const void *data, tra_rows_reads *r) {
    const tra_placing *x = data;
    const tra_lookup_spec *s = x->join ? tra_lookup_spec_of(x->join) : NULL;
    r->read[r->left] = true;
    if (x->matched) tra_rows_read(r, 0, s->nkeys, s->lkey);
    for (int c = 0; c < x->out->n; c++) r->from[c] = c < x->left->n ? c : r->left + 1 + c - x->left->n;
}

/* (Rules that take it for a join know all columns of that.) */
static const void *place_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_placing *old = data;
    tra_placing *x = tra_new(a, tra_placing);
    *x = *old;
    x->left = f->in[0], x->right = f->in[1], x->out = f->out;
    return old->join ? NULL : x;
}

const tra_rows_ops tra_place_ops = {
    .form = place_form, .rest = place_rest, .run = place_run, .reads = place_reads, .over = place_over};
