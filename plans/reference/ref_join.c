/* ref_join.c - joins by their definitions: every row of the left table meets every one of the right. */
#include "ref_table.h"

#include <math.h>
#include <string.h>

static ref_item item_at(const ref_table *t, int64_t row, int column) {
    return (ref_item){.type = t->column[column].type, .c = *ref_at(t, row, column)};
}

/* A value as it is compared with one of another type, of which one is a float if `real`: then both are f64. */
static ref_num as_compared(const ref_item *x, bool real) {
    return real ? (ref_num)(double)ref_number(x) : ref_number(x);
}

static bool is_real(const ref_item *l, const ref_item *r) {
    return tra_coltype_is_float(l->type) || tra_coltype_is_float(r->type);
}

/* Do the keys of both rows agree? */
static bool meets(const tra_lookup_spec *s, const ref_table *x, const ref_table *y, int64_t i, int64_t j) {
    for (int k = 0; k < s->nkeys; k++) {
        ref_item l = item_at(x, i, s->lkey[k]), r = item_at(y, j, s->rkey[k]);
        if (l.c.state != REF_VALUE || r.c.state != REF_VALUE) {
            if (!s->nulls_match || l.c.state != r.c.state) return false;
            continue;
        }
        if (tra_coltype_is_number(l.type) && l.type != r.type) {
            ref_num p = as_compared(&l, is_real(&l, &r)), q = as_compared(&r, is_real(&l, &r));
            if (!(p == q || (isnan((double)p) && isnan((double)q)))) return false;
        } else if (ref_key_order(l.type, &l.c, &r.c, false) != 0) {
            return false;
        }
    }
    return true;
}

/* Does the condition have this column of the right table as the key that the left one has under its name? */
static bool is_shared(const tra_table_op *op, const ref_table *x, const ref_table *y, int left, int right) {
    for (int k = 0; k < op->lookup.nkeys; k++)
        if (op->lookup.lkey[k] == left && op->lookup.rkey[k] == right)
            return strcmp(x->column[left].name, y->column[right].name) == 0;
    return false;
}

/* Copies the columns of a pair of rows to those of the result that have their names: only of row i where j is negative;
 * only of row j, with its keys, where i is negative. */
static void put_pair(const tra_table_op *op, const ref_table *x, const ref_table *y, int64_t i, int64_t j,
                     ref_table *out) {
    const char *prefix = op->lookup.prefix ? op->lookup.prefix : "";
    size_t n = strlen(prefix);
    for (int c = 0; c < out->n; c++) {
        ref_cell *to = ref_at(out, out->rows, c);
        const char *name = out->column[c].name;
        tra_coltype was = out->column[c].type;
        *to = (ref_cell){.state = REF_NULL};
        if (c < x->n && i >= 0) *to = *ref_at(x, i, c), was = x->column[c].type;
        for (int r = 0; r < y->n && j >= 0; r++) {
            bool own = c >= x->n && strncmp(name, prefix, n) == 0 && strcmp(name + n, y->column[r].name) == 0;
            if (own || (i < 0 && c < x->n && is_shared(op, x, y, c, r)))
                *to = *ref_at(y, j, r), was = y->column[r].type;
        }
        if (was <= TRA_COL_I64 && tra_coltype_is_float(out->column[c].type)) to->f = (double)to->i;
    }
    out->rows++;
}

/* Is the further condition true of the pair? Fails where it cannot be computed. */
static tra_status passes(const tra_table_op *op, const ref_table *x, const ref_table *y, int64_t i, int64_t j,
                         tra_arena *a, bool *yes, tra_err *e) {
    *yes = true;
    if (!op->where) return TRA_OK;
    ref_table one = {.n = op->pair->n, .rows = 1, .v = tra_news(a, ref_cell, op->pair->n)};
    ref_column *c = tra_news(a, ref_column, one.n);
    for (int k = 0; k < one.n; k++) {
        c[k] = (ref_column){op->pair->v[k].name, op->pair->v[k].type};
        one.v[k] = k < x->n ? *ref_at(x, i, k) : *ref_at(y, j, k - x->n);
    }
    one.column = c;
    ref_item v = ref_column_value(op->where, &one, 0, a);
    *yes = v.c.state == REF_VALUE && v.c.i;
    if (v.c.state != REF_ERROR) return TRA_OK;
    return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW,
                         "row %" PRId64 ": the condition of the join could not be computed", i);
}

/* Fails, naming the first two, if two rows of a table have one key though none may. */
static tra_status unique(const tra_lookup_spec *s, const ref_table *x, const int *key, tra_err *e) {
    tra_lookup_spec own = {.nkeys = s->nkeys, .lkey = key, .rkey = key, .nulls_match = s->nulls_match};
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < i; j++)
            if (meets(&own, x, x, i, j))
                return tra_fail(e, TRA_INPUT, "row %" PRId64 " has a key that is there already", i);
    return TRA_OK;
}

/* The rows of x, and the number of the row of y that each meets. */
static void number_rows(const ref_table *x, const ref_table *y, const bool *met, ref_table *out) {
    for (int64_t i = 0; i < x->rows; i++, out->rows++) {
        memcpy(ref_at(out, i, 0), ref_at(x, i, 0), (size_t)x->n * sizeof(ref_cell));
        for (int64_t j = 0; j < y->rows; j++)
            if (met[i * y->rows + j]) *ref_at(out, i, x->n) = (ref_cell){.i = j};
    }
}

/* ---- as-of joins --------------------------------------------------------------------------------------------- */

/* How much later row j is than row i, and its time; false: one of them has no time, or asof does not allow this. */
static bool apart(const tra_lookup_spec *s, const ref_table *x, const ref_table *y, int64_t i, int64_t j, ref_num *d,
                  ref_num *time) {
    const tra_asof *a = s->asof;
    ref_item l = item_at(x, i, s->lkey[s->nkeys]), r = item_at(y, j, s->rkey[s->nkeys]);
    bool real = is_real(&l, &r);
    if (l.c.state != REF_VALUE || r.c.state != REF_VALUE) return false;
    ref_num p = real ? as_compared(&l, true) : (ref_num)l.c.i, q = real ? as_compared(&r, true) : (ref_num)r.c.i;
    if (isnan((double)p) || isnan((double)q)) return false;
    *d = p == q ? 0 : real ? (ref_num)((double)q - (double)p) : q - p;
    *time = q;
    if (a->limited && fabs((double)*d) > (real ? a->real : (double)a->whole)) return false;
    if (a->strict && *d == 0) return false;
    return a->way == TRA_ASOF_NEAREST || (a->way == TRA_ASOF_BEFORE ? *d <= 0 : *d >= 0);
}

/* Leaves of the partners of row i the one that an as-of join takes: the last of the latest that are not after it, or
 * the first of the earliest that are; of both the nearer. */
static void choose_one(const tra_lookup_spec *s, const ref_table *x, const ref_table *y, int64_t i, bool *met) {
    int64_t best[2] = {-1, -1};
    ref_num time[2] = {0, 0}, by[2] = {0, 0}, d, t;
    for (int64_t j = 0; j < y->rows; j++) {
        bool meets = met[j] && apart(s, x, y, i, j, &d, &t);
        met[j] = false;
        if (!meets) continue;
        int after = d > 0 || s->asof->way == TRA_ASOF_AFTER;
        if (best[after] >= 0 && (after ? t >= time[1] : t < time[0])) continue;
        best[after] = j, time[after] = t, by[after] = d < 0 ? -d : d;
    }
    int after = best[0] < 0 || (best[1] >= 0 && by[1] < by[0]);
    if (best[after] >= 0) met[best[after]] = true;
}

tra_status ref_table_join(const tra_table_op *op, const ref_table *x, const ref_table *y, tra_arena *a, ref_table *out,
                          tra_err *e) {
    const tra_lookup_spec *s = &op->lookup;
    bool left = s->how == TRA_LOOKUP_LEFT || s->how == TRA_LOOKUP_OUTER;
    bool right = s->how == TRA_LOOKUP_RIGHT || s->how == TRA_LOOKUP_OUTER;
    bool pairs = left || right || s->how == TRA_LOOKUP_INNER;
    bool *met = tra_news(a, bool, x->rows * y->rows + 1), *partner = tra_news(a, bool, y->rows + 1);
    int64_t room = x->rows + y->rows;
    if (s->unique) TRA_TRY(unique(s, y, s->rkey, e));
    if (s->unique_left) TRA_TRY(unique(s, x, s->lkey, e));
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) {
            bool *to = &met[i * y->rows + j];
            if (meets(s, x, y, i, j)) TRA_TRY(passes(op, x, y, i, j, a, to, e));
        }
    for (int64_t i = 0; s->asof && i < x->rows; i++) choose_one(s, x, y, i, met + i * y->rows);
    for (int64_t i = 0; i < x->rows * y->rows; i++) room += met[i];
    out->v = tra_news(a, ref_cell, room * out->n + 1);
    if (s->number) return number_rows(x, y, met, out), TRA_OK;
    for (int64_t i = 0; i < x->rows; i++) {
        bool any = false;
        for (int64_t j = 0; j < y->rows; j++) {
            if (!met[i * y->rows + j]) continue;
            any = partner[j] = true;
            if (pairs) put_pair(op, x, y, i, j, out);
        }
        if (!any && s->matched) return tra_fail(e, TRA_INPUT, "row %" PRId64 " has no partner", i);
        if (any ? s->how == TRA_LOOKUP_SEMI : left || s->how == TRA_LOOKUP_ANTI) put_pair(op, x, y, i, -1, out);
    }
    for (int64_t j = 0; j < y->rows; j++) {
        if (!partner[j] && s->matched_right) return tra_fail(e, TRA_INPUT, "row %" PRId64 " has no partner", j);
        if (!partner[j] && right) put_pair(op, x, y, -1, j, out);
    }
    return TRA_OK;
}
