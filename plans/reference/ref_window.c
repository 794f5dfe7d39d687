/* ref_window.c - windows by their definition: for each row its group is sorted, and its frame is looked at row by row.
 */
#include "ref_table.h"

#include <math.h>
#include <string.h>

typedef struct windows {
    const tra_table_op *op;
    ref_item *by;    /* of each row its keys and order */
    ref_item *value; /* of each row the operands of functions */
    int64_t rows;
    int64_t *group; /* the rows of the group of a row, in their order; */
    int64_t n, at;  /* how many, and which of them the row is */
} windows;

static int compare(const windows *w, int64_t i, int64_t j, int from, int to) {
    const ref_item *x = &w->by[i * w->op->nterms], *y = &w->by[j * w->op->nterms];
    for (int k = from; k < to; k++) {
        int c = ref_key_order(x[k].type, &x[k].c, &y[k].c, w->op->term[k].desc);
        if (c) return c;
    }
    return 0;
}

static void find_group(windows *w, int64_t row) {
    w->n = 0;
    for (int64_t i = 0; i < w->rows; i++) {
        if (compare(w, i, row, 0, w->op->nkeys) != 0) continue;
        int64_t j = w->n++;
        for (; j > 0 && compare(w, w->group[j - 1], i, w->op->nkeys, w->op->nterms) > 0; j--)
            w->group[j] = w->group[j - 1];
        w->group[j] = i;
    }
    for (w->at = 0; w->group[w->at] != row;) w->at++;
}

static bool is_tie(const windows *w, int64_t k) {
    return compare(w, w->group[k], w->group[w->at], w->op->nkeys, w->op->nterms) == 0;
}

/* By how much row k of the group is after this row in the order: -1, 0 and 1 by whether that is less than the end of
 * the frame. */
static int beyond(const windows *w, const tra_window_frame *f, int e, int64_t k) {
    int by = w->op->nkeys;
    const ref_item *x = &w->by[w->group[k] * w->op->nterms + by], *y = &w->by[w->group[w->at] * w->op->nterms + by];
    ref_cell moved = y->c;
    bool desc = w->op->term[by].desc;
    if (y->c.state != REF_VALUE || x->c.state != REF_VALUE) return ref_key_order(x->type, &x->c, &y->c, desc);
    if (tra_coltype_is_float(x->type)) {
        moved.f += desc ? -f->real[e] : f->real[e];
        return ref_key_order(x->type, &x->c, &moved, desc);
    }
    ref_num apart = desc ? (ref_num)y->c.i - x->c.i : (ref_num)x->c.i - y->c.i;
    return (apart > f->whole[e]) - (apart < f->whole[e]);
}

static bool in_frame(const windows *w, const tra_window_frame *f, int64_t k) {
    for (int e = 0; e < 2; e++) {
        if (f->open[e]) continue;
        int c;
        if (!f->range) {
            ref_num apart = (ref_num)(k - w->at);
            c = (apart > f->whole[e]) - (apart < f->whole[e]);
        } else if (f->whole[e] == 0 && f->real[e] == 0) {
            c = is_tie(w, k) ? 0 : k < w->at ? -1 : 1;
        } else {
            c = beyond(w, f, e, k);
        }
        if (e ? c > 0 : c < 0) return false;
    }
    return true;
}

static int64_t count_ties(const windows *w) {
    int64_t n = 1;
    for (int64_t k = 1; k <= w->at; k++)
        n += compare(w, w->group[k - 1], w->group[k], w->op->nkeys, w->op->nterms) != 0;
    return n;
}

/* The parts are filled from the first to the last, each with n / parts rows or one more. */
static int64_t ntile(int64_t at, int64_t n, int64_t parts) {
    int64_t tile = 1, left = n / parts + (n % parts > 0);
    for (int64_t k = 0; k < at; k++)
        if (--left == 0) left = n / parts + (n % parts > tile++);
    return tile;
}

static tra_aggregate aggregate_of(tra_window_function f) {
    switch (f) {
    case TRA_WINDOW_COUNT: return TRA_AGGREGATE_COUNT;
    case TRA_WINDOW_MEAN: return TRA_AGGREGATE_MEAN;
    case TRA_WINDOW_MIN: return TRA_AGGREGATE_MIN;
    case TRA_WINDOW_MAX: return TRA_AGGREGATE_MAX;
    case TRA_WINDOW_VAR: return TRA_AGGREGATE_VAR;
    case TRA_WINDOW_STD: return TRA_AGGREGATE_STD;
    case TRA_WINDOW_MEDIAN: return TRA_AGGREGATE_MEDIAN;
    case TRA_WINDOW_QUANTILE: return TRA_AGGREGATE_QUANTILE;
    default: return TRA_AGGREGATE_SUM;
    }
}

/* The value of function i in row k of the group; k -1: none. */
static const ref_item *value_in(const windows *w, int i, int64_t k) {
    return k < 0 ? NULL : &w->value[w->group[k] * w->op->narounds + i];
}

/* Writes the result of function i of the row that w is at. */
static tra_status put(const windows *w, int i, const ref_table *x, tra_arena *a, ref_table *out, tra_err *e) {
    const tra_table_around *f = &w->op->around[i];
    int64_t row = w->group[w->at], first = -1, last = -1, rows = 0, from = w->at;
    ref_cell *to = ref_at(out, row, x->n + i);
    tra_coltype type = out->column[x->n + i].type;
    ref_values v = {.v = tra_news(a, const ref_item *, w->n + 1)};
    const ref_item *found = NULL;
    for (int64_t k = 0; k < w->n; k++) {
        if (!in_frame(w, &f->frame, k)) continue;
        rows++;
        first = first < 0 ? k : first;
        last = k;
        const ref_item *one = value_in(w, i, k);
        if (f->ast && one->c.state == REF_VALUE) v.v[v.n++] = one;
    }
    switch (f->f) {
    case TRA_WINDOW_ROW_NUMBER: *to = (ref_cell){.i = w->at + 1}; return TRA_OK;
    case TRA_WINDOW_RANK:
        while (from > 0 && is_tie(w, from - 1)) from--;
        *to = (ref_cell){.i = from + 1};
        return TRA_OK;
    case TRA_WINDOW_DENSE_RANK: *to = (ref_cell){.i = count_ties(w)}; return TRA_OK;
    case TRA_WINDOW_NTILE: *to = (ref_cell){.i = ntile(w->at, w->n, f->n)}; return TRA_OK;
    case TRA_WINDOW_LAG:
    case TRA_WINDOW_LEAD: {
        ref_num k = (ref_num)w->at + (f->f == TRA_WINDOW_LAG ? -(ref_num)f->n : (ref_num)f->n);
        if (k >= 0 && k < w->n) {
            found = value_in(w, i, (int64_t)k);
        } else if (f->otherwise) {
            ref_item other = ref_column_value(f->otherwise, x, row, a);
            *to = ref_stored(&other, type);
            return TRA_OK;
        }
        break;
    }
    case TRA_WINDOW_FIRST: found = value_in(w, i, first); break;
    case TRA_WINDOW_LAST: found = value_in(w, i, last); break;
    case TRA_WINDOW_NTH: found = value_in(w, i, rows >= f->n ? first + f->n - 1 : -1); break;
    case TRA_WINDOW_SHARE: {
        const ref_item *own = value_in(w, i, w->at);
        ref_num sum = 0;
        for (int64_t k = 0; k < v.n; k++) sum += ref_number(v.v[k]);
        bool any = v.n > 0 && own->c.state == REF_VALUE;
        *to = (ref_cell){.state = any ? REF_VALUE : REF_NULL, .f = any ? (double)ref_number(own) / (double)sum : 0};
        return TRA_OK;
    }
    case TRA_WINDOW_COUNT:
    case TRA_WINDOW_SUM:
    case TRA_WINDOW_MEAN:
    case TRA_WINDOW_MIN:
    case TRA_WINDOW_MAX:
    case TRA_WINDOW_VAR:
    case TRA_WINDOW_STD:
    case TRA_WINDOW_MEDIAN:
    case TRA_WINDOW_QUANTILE: {
        tra_table_agg g = {.name = f->name, .f = aggregate_of(f->f), .ast = f->ast, .q = f->q};
        if (f->f == TRA_WINDOW_SUM && v.n == 0) return *to = (ref_cell){.state = REF_NULL}, TRA_OK;
        return ref_aggregate(&g, &v, rows, to, e);
    }
    }
    *to = found ? ref_stored(found, type) : (ref_cell){.state = REF_NULL};
    return TRA_OK;
}

tra_status ref_table_window(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out, tra_err *e) {
    windows w = {.op = op, .rows = x->rows};
    w.by = tra_news(a, ref_item, x->rows * op->nterms + 1);
    w.value = tra_news(a, ref_item, x->rows * op->narounds + 1);
    w.group = tra_news(a, int64_t, x->rows + 1);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int k = 0; k < op->nterms; k++) {
            w.by[i * op->nterms + k] = ref_column_value(op->term[k].ast, x, i, a);
            if (w.by[i * op->nterms + k].c.state == REF_ERROR)
                return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW, "row %" PRId64 ": a key", i);
        }
        for (int k = 0; k < op->narounds; k++) {
            const tra_table_around *f = &op->around[k];
            if (!f->ast) continue;
            ref_item *v = &w.value[i * op->narounds + k];
            *v = ref_column_value(f->ast, x, i, a);
            if (v->c.state == REF_ERROR && tra_window_way_of(f->f) >= TRA_WINDOW_FOLD)
                return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW, "row %" PRId64 ": a value", i);
        }
    }
    for (int64_t i = 0; i < x->rows; i++, out->rows++) {
        memcpy(ref_at(out, i, 0), ref_at(x, i, 0), (size_t)x->n * sizeof(ref_cell));
        find_group(&w, i);
        for (int k = 0; k < op->narounds; k++) TRA_TRY(put(&w, k, x, a, out, e));
    }
    return TRA_OK;
}
