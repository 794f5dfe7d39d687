/* wanted.c - which rows of a block a pass selects first, or are the first of an order, for who reads the block from a
 * file. */
#include "wanted.h"

#include "group.h"
#include "kernels.h"
#include "order.h"
#include "table_int.h"

#include <stdlib.h>

typedef struct wanted {
    tra_row_filter base;
    const tra_schema *in;
    const tra_colcode *code; /* the predicates, by which a row is wanted if all are true; or */
    const tra_sort *sort;    /* whose first rows are wanted */
} wanted;

/* Adds the numbers of rows of a strip, counted from `from`, for which all predicates are true; returns how many. */
static int add_rows(const tra_colrun *run, int64_t from, int n, int32_t *at) {
    uint8_t pass[TRA_COLSTRIP] = {0};
    int found = 0;
    memcpy(pass, tra_colrun_result(run, 0).values, (size_t)n); /* a NULL is 0 */
    for (int k = 1; k < run->code->nroots; k++) {
        const uint8_t *v = tra_colrun_result(run, k).values;
        for (int i = 0; i < n; i++) pass[i] &= v[i];
    }
    for (int i = 0; i < n; i += 8) {
        uint64_t eight;
        memcpy(&eight, pass + i, sizeof eight);
        for (; eight; eight &= eight - 1) at[found++] = (int32_t)(from + i + __builtin_ctzll(eight) / 8);
    }
    return found;
}

/* Has a predicate a value of the strip that is an error, or NULL for a cause that is noted? */
static bool tells(const tra_colrun *run, int n) {
    bool any = run->divided;
    for (int k = 0; k < run->code->nroots; k++) {
        const uint8_t *state = tra_colrun_result(run, k).state;
        any |= state && memchr(state, TRA_STATE_ERROR, (size_t)n);
    }
    return any;
}

static int64_t find_selected(const tra_row_filter *f, const tra_batch *b, int32_t *at, int64_t most) {
    enum { FEW = 16 };
    const wanted *w = (const void *)f;
    char *room = tra_malloc((size_t)tra_colcode_scratch(w->code) + 64);
    tra_vector *strip = tra_malloc((size_t)(w->in->n + 1) * sizeof *strip);
    tra_colrun run;
    int64_t found = 0;
    tra_colrun_begin(&run, w->code, room + (64 - (uintptr_t)room % 64) % 64);
    for (int64_t from = 0; from < b->rows && found >= 0; from += TRA_COLSTRIP) {
        int n = (int)tra_min64(TRA_COLSTRIP, b->rows - from);
        tra_strip_of(b, from, strip);
        tra_colrun_strip(&run, strip, 0, n);
        /* where many of the first rows pass, it is not worth the look at all */
        bool many = tells(&run, n) || found > most - n || found > TRA_COLSTRIP + from / FEW;
        found = many ? -1 : found + add_rows(&run, from, n, at + found);
    }
    free(strip);
    free(room);
    return found;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t find_first(const tra_row_filter *f, const tra_batch *b, int32_t *at, int64_t most) {
    const wanted *w = (const void *)f;
    const tra_sort *s = w->sort;
    const tra_batch own = {.schema = w->in, .rows = b->rows, .v = b->v}; /* whose dictionaries have strings */
    int64_t n = tra_add_most(s->from, s->count);
    if (n > most) return -1;
    int64_t *row = tra_malloc(3 * (size_t)b->rows * sizeof *row);
    for (int64_t i = 0; i < b->rows; i++) row[i] = i;
    tra_order_first(&own, s->n, s->column, s->desc, row, b->rows, n, row + b->rows);
    qsort(row, (size_t)n, sizeof *row, by_number);
    for (int64_t i = 0; i < n; i++) at[i] = (int32_t)row[i];
    free(row);
    return n;
}

/* The filter, unless the columns that it does not read are too narrow to be worth it. */
static const tra_row_filter *filter_of(tra_arena *a, const wanted *w) {
    enum { LEAST = 8 }; /* bytes of a row */
    int64_t others = 0;
    for (int i = 0; i < w->in->n; i++)
        others += w->base.reads[i] ? 0 : (int64_t)tra_coltype_size(w->in->v[i].type);
    wanted *x = tra_new(a, wanted);
    *x = *w;
    return others >= LEAST ? &x->base : NULL;
}

static const tra_row_filter *first_of_order(tra_arena *a, const tra_sort *s) {
    bool *reads = tra_news(a, bool, s->in->n + 1);
    if (s->distinct || s->n == 0) return NULL;
    for (int k = 0; k < s->n; k++) reads[s->column ? s->column[k] : k] = true;
    return filter_of(a, &(wanted){.base = {reads, find_first}, .in = s->in, .sort = s});
}

const tra_row_filter *tra_rows_wanted(tra_arena *a, const tra_rows_kernel *k) {
    const tra_rowwise_step *v;
    if (k && k->ops == &tra_sort_ops) return first_of_order(a, k->data);
    bool pass = k && k->ops == &tra_rowwise_ops, group = k && k->ops == &tra_group_of_pass_ops;
    const tra_rowwise *r = pass ? k->data : group ? ((const tra_group_of_pass *)k->data)->r : NULL;
    int n = r && !tra_rowwise_uses_row(r) && !tra_rowwise_is_matrix(r, NULL) ? tra_rowwise_steps(r, &v) : 0, first = 0;
    while (first < n && v[first].selects) first++;
    for (int i = first; i < n; i++) /* messages would name other rows */
        if (v[i].selects && v[i].x[0]->fails) return NULL;
    if (first == 0) return NULL;
    const tra_schema *in = tra_rowwise_in(r);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, first);
    bool *reads = tra_news(a, bool, in->n + 1);
    for (int i = 0; i < first; i++) tra_colexpr_columns(x[i] = v[i].x[0], reads);
    return filter_of(a, &(wanted){.base = {reads, find_selected}, .in = in, .code = tra_colcode_new(a, first, x)});
}
