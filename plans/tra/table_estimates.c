/* table_estimates.c - what predicates and joins are expected to leave, by the statistics of files.
 *
 * A column that selections and joins have passed on has the values of its file, or some of these. They are assumed to
 * be distributed as all values of the file are, and columns to be independent of each other. */
#include "cardinality.h"
#include "../../lib/model/spooled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a column ----------------------------------------------------------------------------------------------- */

bool tra_table_facts(struct tra_rel *file, int number, tra_column_facts *out) {
    return file && tra_rel_column_facts(file, number, out);
}

/* The statistics of a column that has rows. */
static bool facts_of(struct tra_rel *file, int number, tra_column_facts *out) {
    return tra_table_facts(file, number, out) && out->rows > 0;
}

double tra_table_number(tra_coltype t, int64_t bits) {
    double x;
    if (!tra_coltype_is_float(t)) return (double)bits;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool holds(tra_colop op, double x, double y) {
    switch (op) {
    case TRA_C_LT: return x < y;
    case TRA_C_LE: return x <= y;
    case TRA_C_GT: return x > y;
    case TRA_C_GE: return x >= y;
    case TRA_C_EQ: return x == y;
    default: return x != y;
    }
}

/* The share of values that are less than y, by the histogram, in whose buckets equally many values lie. */
static double share_below(const tra_column_facts *f, tra_coltype t, double y) {
    for (int i = 0; i < TRA_BUCKETS; i++) {
        double lo = tra_table_number(t, f->histogram[i]), hi = tra_table_number(t, f->histogram[i + 1]);
        if (!(hi < y)) return (i + (lo < y && hi > lo ? (y - lo) / (hi - lo) : 0)) / TRA_BUCKETS;
    }
    return 1;
}

double tra_table_share_compared(const tra_column_facts *f, tra_coltype t, tra_colop op, double y) {
    double rows = 0, all = (double)f->rows, values = (double)(f->rows - f->nulls);
    for (int64_t i = 0; i < f->n; i++)
        if (holds(op, tra_table_number(t, f->frequency[i][0]), y)) rows += (double)f->frequency[i][1];
    if (f->whole || !f->histogram) return rows / all;
    double below = share_below(f, t, y), equal = 1 / fmax(1, (double)f->distinct);
    for (int64_t i = 0; i < f->n; i++)
        if (tra_table_number(t, f->frequency[i][0]) == y) equal = (double)f->frequency[i][1] / fmax(1, values);
    double share = op == TRA_C_EQ   ? equal
                   : op == TRA_C_NE ? 1 - equal
                   : op == TRA_C_LT ? below
                   : op == TRA_C_LE ? fmin(1, below + equal)
                   : op == TRA_C_GT ? fmax(0, 1 - below - equal)
                                    : 1 - below;
    return share * values / all;
}

/* ---- predicates --------------------------------------------------------------------------------------------- */

/* The shares of rows for which a predicate is true and false; for the others it is NULL. */
typedef struct truth {
    double yes, no;
} truth;

static const tra_colexpr *without_conversion(const tra_colexpr *x) {
    while (x->op == TRA_C_CONVERT) x = x->kids[0];
    return x;
}

static tra_colop opposite(tra_colop op) {
    switch (op) {
    case TRA_C_LT: return TRA_C_GE;
    case TRA_C_LE: return TRA_C_GT;
    case TRA_C_GT: return TRA_C_LE;
    case TRA_C_GE: return TRA_C_LT;
    case TRA_C_EQ: return TRA_C_NE;
    default: return TRA_C_EQ;
    }
}

bool tra_table_compares(const tra_colexpr *x, const tra_colexpr **l, tra_colop *op, const tra_colexpr **r) {
    bool orders = x->op == TRA_C_LT || x->op == TRA_C_LE || x->op == TRA_C_GT || x->op == TRA_C_GE;
    if (!orders && x->op != TRA_C_EQ && x->op != TRA_C_NE) return false;
    *l = without_conversion(x->kids[0]), *r = without_conversion(x->kids[1]), *op = x->op;
    if ((*l)->op == TRA_C_CONST) {
        const tra_colexpr *t = *l;
        *l = *r, *r = t, *op = tra_colop_mirrored(*op);
    }
    return (*l)->op == TRA_C_COLUMN && (*r)->op == TRA_C_CONST && !(*r)->null && !tra_coltype_is_coded((*l)->type);
}

/* The same; false also if nothing is known of the column. */
static bool truth_of_comparison(const tra_colexpr *x, truth *out) {
    const tra_colexpr *l, *r;
    tra_colop op;
    tra_column_facts f;
    if (!tra_table_compares(x, &l, &op, &r) || !facts_of(l->file, l->number, &f)) return false;
    double y = tra_coltype_is_float(r->type) ? r->value.f : (double)r->value.i;
    *out =
        (truth){tra_table_share_compared(&f, l->type, op, y), tra_table_share_compared(&f, l->type, opposite(op), y)};
    return true;
}

/* A predicate on a column of strings, which has been evaluated for each entry of the dictionary. False if it is
 * something else. */
static bool truth_of_lookup(const tra_colexpr *x, truth *out) {
    const tra_colexpr *c = x->kids[0];
    const uint8_t *values = x->table;
    tra_column_facts f;
    if (x->type != TRA_COL_BOOL || c->op != TRA_C_COLUMN || !c->dict || !facts_of(c->file, c->number, &f)) return false;
    double rest = (double)(f.rows - f.nulls), left = (double)c->dict->n; /* rows and entries, but the most common */
    *out = (truth){0};
    for (int64_t i = 0; i < f.n; i++) {
        int64_t code = f.frequency[i][0], rows = f.frequency[i][1];
        if (code < 0 || code >= c->dict->n) return false;
        rest -= (double)rows, left--;
        if (x->tstate && x->tstate[code] != TRA_STATE_VALUE) continue;
        *(values[code] ? &out->yes : &out->no) += (double)rows / (double)f.rows;
    }
    if (f.whole || left < 1) return f.whole || c->dict->n > 0;
    double each = fmax(0, rest) / left / (double)f.rows; /* each of the others is as likely */
    truth others = {0};
    for (int64_t i = 0; i < c->dict->n; i++)
        if (!x->tstate || x->tstate[i] == TRA_STATE_VALUE) *(values[i] ? &others.yes : &others.no) += each;
    for (int64_t i = 0; i < f.n; i++) {
        int64_t code = f.frequency[i][0];
        if (!x->tstate || x->tstate[code] == TRA_STATE_VALUE) *(values[code] ? &others.yes : &others.no) -= each;
    }
    *out = (truth){out->yes + fmax(0, others.yes), out->no + fmax(0, others.no)};
    return true;
}

/* What is assumed of a predicate of which nothing is known. */
static truth guessed(tra_colop op) {
    if (op == TRA_C_EQ || op == TRA_C_SAME) return (truth){0.1, 0.9};
    if (op == TRA_C_NE) return (truth){0.9, 0.1};
    return (truth){1.0 / 3, 2.0 / 3};
}

static truth truth_of(const tra_colexpr *x);

/* Does a comparison say that a column is more (1) or less (-1) than a constant? */
static int bounds(const tra_colexpr *x, const tra_colexpr **column) {
    const tra_colexpr *r;
    tra_colop op;
    if (!tra_table_compares(x, column, &op, &r)) return 0;
    return op == TRA_C_GT || op == TRA_C_GE ? 1 : op == TRA_C_LT || op == TRA_C_LE ? -1 : 0;
}

enum { MOST_PARTS = 32 };

/* The parts that && joins; false: there are too many. */
static bool parts_of(const tra_colexpr *x, int *n, const tra_colexpr **v) {
    if (x->op != TRA_C_AND) return *n < MOST_PARTS && (v[(*n)++] = x);
    for (int i = 0; i < x->nkids; i++)
        if (!parts_of(x->kids[i], n, v)) return false;
    return true;
}

/* Parts are independent of each other, but two that bound one column from both sides. */
static truth truth_of_all(int n, const tra_colexpr **v) {
    truth all = {1, 0};
    for (int i = 0; i < n; i++) {
        const tra_colexpr *x, *y;
        int way = v[i] ? bounds(v[i], &x) : 0;
        if (!v[i]) continue; /* it was the other bound of one before */
        truth p = truth_of(v[i]);
        for (int j = i + 1; way && j < n; j++) {
            if (!v[j] || bounds(v[j], &y) != -way || x->column != y->column) continue;
            truth q = truth_of(v[j]);
            double both = p.yes + p.no; /* the others are NULL */
            p.yes = fmax(p.yes + q.yes - both, p.yes * q.yes / 64);
            p.no = fmax(0, both - p.yes);
            v[j] = NULL;
            break;
        }
        all = (truth){all.yes * p.yes, all.no + p.no - all.no * p.no};
    }
    return all;
}

static truth truth_of(const tra_colexpr *x) {
    const tra_colexpr *part[MOST_PARTS];
    int parts = 0;
    truth p, q;
    tra_column_facts f;
    switch (x->op) {
    case TRA_C_AND:
        if (parts_of(x, &parts, part)) return truth_of_all(parts, part);
        break;
    case TRA_C_OR:
        p = truth_of(x->kids[0]), q = truth_of(x->kids[1]);
        return (truth){p.yes + q.yes - p.yes * q.yes, p.no * q.no};
    case TRA_C_NOT: p = truth_of(x->kids[0]); return (truth){p.no, p.yes};
    case TRA_C_CONST: return (truth){!x->null && x->value.i, !x->null && !x->value.i};
    case TRA_C_ISNULL:
        if (!x->kids[0]->nullable) return (truth){0, 1};
        if (x->kids[0]->op != TRA_C_COLUMN || !facts_of(x->kids[0]->file, x->kids[0]->number, &f)) break;
        p.yes = (double)f.nulls / (double)f.rows;
        return (truth){p.yes, 1 - p.yes};
    case TRA_C_COLUMN:
        if (!facts_of(x->file, x->number, &f)) break;
        return (truth){tra_table_share_compared(&f, TRA_COL_BOOL, TRA_C_EQ, 1),
                       tra_table_share_compared(&f, TRA_COL_BOOL, TRA_C_EQ, 0)};
    case TRA_C_LOOKUP:
        if (truth_of_lookup(x, &p)) return p;
        break;
    case TRA_C_COMPARISONS:
        if (truth_of_comparison(x, &p)) return p;
        break;
    default: break;
    }
    return tra_table_drawn(x, &p.yes, &p.no) ? p : guessed(x->op);
}

double tra_table_selectivity(const tra_colexpr *x) {
    double share = truth_of(x).yes;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* ---- joins -------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef int64_t value_count[2];

/* The values of the right column with their frequencies, as values of the left one, ascending: of strings codes in the
 * left dictionary, -1 where it does not have them. NULL: they cannot be read. */
static const value_count *values_as_left(const tra_column *l, const tra_column *r, const tra_column_facts *y,
                                         tra_arena *a) {
    bool ascend = y->whole && !tra_coltype_is_float(r->type); /* bits of floats do not */
    if (ascend && (!tra_coltype_is_coded(l->type) || l->dict == r->dict)) return y->frequency;
    value_count *v = tra_arena_array(a, (size_t)y->n + 1, sizeof *v);
    memcpy(v, y->frequency, (size_t)y->n * sizeof *v);
    qsort(v, (size_t)y->n, sizeof *v, by_value);
    if (!tra_coltype_is_coded(l->type) || l->dict == r->dict) return v;
    if (tra_dictionary_find_all(l->dict, r->dict, y->n, v, NULL) != TRA_OK) return NULL;
    qsort(v, (size_t)y->n, sizeof *v, by_value);
    return v;
}

/* The one of n ascending values that equals this; NULL: none does. *at: the place from which to look, 0 at first; the
 * values that a caller asks for in turn ascend, or else he sets it to 0 again. */
static const value_count *find_value(const value_count *v, int64_t n, int64_t value, int64_t *at) {
    int64_t step = 1, from = *at;
    while (from + step < n && v[from + step][0] < value) from += step, step *= 2;
    int64_t to = tra_min64(n, from + step + 1);
    TRA_BISECT(from, to, mid, v[mid][0] < value);
    *at = from;
    return from < n && v[from][0] == value ? &v[from] : NULL;
}

/* Compares all values of both columns; returns how many pairs are equal. */
static int64_t compare_all_values(const tra_column *l, const tra_column *r, const tra_column_facts *x,
                                  const tra_column_facts *y, tra_arena *a, tra_join_selectivity *out) {
    const value_count *v = values_as_left(l, r, y, a);
    double rows = (double)x->rows;
    *out = (tra_join_selectivity){0};
    int64_t pairs = v ? 0 : INT64_MAX, from = 0;
    for (int64_t i = 0; v && i < x->n; i++) {
        if (tra_coltype_is_float(l->type)) from = 0;
        const value_count *at = find_value(v, y->n, x->frequency[i][0], &from);
        if (!at) continue;
        out->matched += (double)x->frequency[i][1] / rows;
        out->pairs += (double)x->frequency[i][1] / rows * ((double)(*at)[1] / (double)y->rows);
        pairs = tra_add_most(pairs, tra_mul_most(x->frequency[i][1], (*at)[1]));
    }
    return pairs;
}

int64_t tra_table_count_pairs(const tra_column *l, const tra_column *r, const tra_column_facts *x,
                              const tra_column_facts *y, tra_arena *a) {
    tra_join_selectivity p;
    return compare_all_values(l, r, x, y, a, &p);
}

/* What a column has besides the values whose frequencies are listed. */
typedef struct others {
    double rows, distinct; /* rows, and different values */
} others;

static others others_of(const tra_column_facts *f) {
    others o = {(double)(f->rows - f->nulls), fmax(1, (double)(f->distinct - f->n))};
    for (int64_t i = 0; i < f->n; i++) o.rows -= (double)f->frequency[i][1];
    if (o.rows <= 0 || f->whole) o = (others){0, 1};
    return o;
}

/* Estimates the pairs where not all frequencies are known. Values with known frequencies are compared by value. Of the
 * others, those of the column that has fewer different ones are assumed to be among those of the other column, and all
 * to be equally frequent. */
static void estimate_by_containment(const tra_column *l, const tra_column *r, const tra_column_facts *x,
                                    const tra_column_facts *y, tra_arena *a, tra_join_selectivity *out) {
    double xvalues = fmax(1, (double)x->distinct), yvalues = fmax(1, (double)y->distinct);
    double x_in_y = fmin(1, yvalues / xvalues),
           y_in_x = fmin(1, xvalues / yvalues); /* shares of values that are there */
    others p = others_of(x), q = others_of(y);  /* the values that are not listed */
    double pairs = p.rows * q.rows / fmax(p.distinct, q.distinct);
    double matched = y->n > 0 && q.rows <= 0 ? 0 : p.rows * fmin(1, q.distinct / p.distinct);
    const value_count *v = values_as_left(l, r, y, a);
    *out = (tra_join_selectivity){1, 1};
    if (!v) return;
    for (int64_t i = 0; i < x->n; i++) { /* listed values of x */
        int64_t from = 0;
        const value_count *at = find_value(v, y->n, x->frequency[i][0], &from);
        double rows = (double)x->frequency[i][1], partners = 0;
        if (at)
            partners = (double)(*at)[1];
        else if (q.rows > 0)
            partners = x_in_y * q.rows / q.distinct;
        pairs += rows * partners;
        matched += partners > 0 ? rows * (at ? 1 : x_in_y) : 0;
    }
    for (int64_t i = 0; i < y->n; i++) { /* listed values of y, with those of x that are not listed */
        bool listed = false;
        for (int64_t k = 0; k < x->n && !listed && !x->whole; k++) listed = x->frequency[k][0] == v[i][0];
        if (x->whole || listed || p.rows <= 0) continue;
        double rows = y_in_x * p.rows / p.distinct;
        pairs += rows * (double)v[i][1];
        if (q.rows <= 0) matched += rows;
    }
    out->matched = fmin(1, matched / (double)x->rows);
    out->pairs = fmin(1, pairs / ((double)x->rows * (double)y->rows));
}

/* The selectivity of one key. */
static bool selectivity_of_key(const tra_column *l, const tra_column *r, tra_arena *a, tra_join_selectivity *out) {
    tra_column_facts x, y;
    bool coded = tra_coltype_is_coded(l->type);
    if (coded != tra_coltype_is_coded(r->type) || tra_coltype_is_float(l->type) != tra_coltype_is_float(r->type))
        return false;
    if (coded && (!l->dict || !r->dict)) return false;
    if (!facts_of(l->file, l->number, &x) || !facts_of(r->file, r->number, &y)) return false;
    if (x.whole && y.whole)
        (void)compare_all_values(l, r, &x, &y, a, out);
    else
        estimate_by_containment(l, r, &x, &y, a, out);
    return true;
}

/* Several keys have no more combinations of values than the smaller file has rows, however many the values of each are:
 * rows that have partners by each key are taken to have one by all. */
bool tra_table_join_selectivity(const tra_lookup_spec *s, tra_join_selectivity *out) {
    tra_arena *a = tra_arena_new();
    tra_join_selectivity all = {1, 1}, one;
    bool known = s->nkeys > 0;
    double least = 1, rows = INFINITY;
    for (int k = 0; k < s->nkeys && known; k++) {
        const tra_column *c[2] = {&s->left->v[s->lkey[k]], &s->right->v[s->rkey[k]]};
        tra_column_facts f;
        known = selectivity_of_key(c[0], c[1], a, &one);
        if (known) all.matched *= one.matched, all.pairs *= one.pairs, least = fmin(least, one.pairs);
        for (int side = 0; side < 2; side++)
            if (facts_of(c[side]->file, c[side]->number, &f)) rows = fmin(rows, (double)f.rows);
    }
    if (s->nkeys > 1) all.pairs = fmax(all.pairs, fmin(least, all.matched / rows));
    tra_arena_free(a);
    *out = all;
    return known;
}
