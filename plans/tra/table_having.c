/* table_having.c - what predicates on aggregates of groups are expected to leave.
 *
 * Groups are taken to have rows by chance, as many on average as there are for each, and rows of the values that the
 * statistics of the file tell: so a sum or mean of many rows is distributed normally, and a greatest value is below a
 * bound where all of its rows are. */
#include "cardinality.h"

#include <math.h>

/* How the values of a column lie, NULLs left out. */
typedef struct spread {
    double mean, variance;
} spread;

static bool spread_of(const tra_column *c, spread *out) {
    tra_column_facts f;
    double n = 0, sum = 0, squares = 0;
    if (tra_coltype_is_coded(c->type) || !tra_table_facts(c->file, c->number, &f) || f.rows <= f.nulls) return false;
    if (f.whole || !f.histogram) {
        for (int64_t i = 0; i < f.n; i++) {
            double x = tra_table_number(c->type, f.frequency[i][0]), rows = (double)f.frequency[i][1];
            n += rows, sum += rows * x, squares += rows * x * x;
        }
    } else {
        for (int i = 0; i < TRA_BUCKETS; i++) { /* values are spread evenly between the bounds of a bucket */
            double a = tra_table_number(c->type, f.histogram[i]), b = tra_table_number(c->type, f.histogram[i + 1]);
            n += 1, sum += (a + b) / 2, squares += (a * a + a * b + b * b) / 3;
        }
    }
    if (!(n > 0) || !isfinite(sum) || !isfinite(squares)) return false;
    out->mean = sum / n;
    out->variance = fmax(0, squares / n - out->mean * out->mean);
    return true;
}

/* The share of numbers that are at most y, of a normal distribution. */
static double share_to(double y, double mean, double variance) {
    if (variance <= 0) return y >= mean;
    return 0.5 * erfc((mean - y) / sqrt(2 * variance));
}

/* The share of groups of which all rows are of those that are such a share of all: groups have a row, and further ones
 * by chance. */
static double of_all_rows(double share, double k) { return share * exp((k - 1) * (share - 1)); }

/* The share of groups whose aggregate is at most y; NAN: it is not known. k: rows of a group. */
static double share_at_most(tra_aggregate f, const tra_column *c, double k, double y) {
    spread s;
    tra_column_facts facts;
    if (f == TRA_AGGREGATE_COUNT) return share_to(y + 0.5, k, k);
    if (!c || !spread_of(c, &s) || !tra_table_facts(c->file, c->number, &facts)) return NAN;
    switch ((int)f) {
    case TRA_AGGREGATE_SUM: return share_to(y, k * s.mean, k * (s.variance + s.mean * s.mean));
    case TRA_AGGREGATE_MEAN: return share_to(y, s.mean, s.variance / k);
    case TRA_AGGREGATE_MAX: return of_all_rows(tra_table_share_compared(&facts, c->type, TRA_C_LE, y), k);
    case TRA_AGGREGATE_MIN: return 1 - of_all_rows(tra_table_share_compared(&facts, c->type, TRA_C_GT, y), k);
    default: return NAN;
    }
}

static bool is_whole(const tra_column *c) { return !tra_coltype_is_float(c->type); }

/* The group of which column *c of n is an aggregate, and which it is; NULL: it is none. */
static const tra_table_op *group_of(const tra_node *n, int *c) {
    const tra_table_op *op;
    int side;
    while ((op = n->table) && !(op->op == TRA_TABLE_GROUP && *c >= op->nterms)) {
        if (!tra_table_passed(op, c, &side)) return NULL;
        n = op->in[side];
    }
    if (!op || *c - op->nterms >= op->naggs) return NULL;
    *c -= op->nterms;
    return op;
}

/* The share of rows of n in which column c, an aggregate, compares so with y; negative: it is not known. */
static double share_of(const tra_node *n, int c, tra_colop op, double y) {
    static const double LEAST = 1e-3; /* groups may differ more than chance makes them */
    const tra_table_op *group = group_of(n, &c);
    if (!group) return -1;
    const tra_table_agg *agg = &group->agg[c];
    const tra_schema *s = group->in[0]->type.columns;
    int at = agg->ast && agg->ast->kind == TRA_AST_NAME ? tra_schema_find(s, agg->ast->text) : -1;
    double rows = (double)tra_type_entries(&group->in[0]->type).expected;
    double groups = (double)tra_type_entries(&group->node->type).expected, k = fmax(1, rows / fmax(1, groups));
    double most = share_at_most(agg->f, at >= 0 ? &s->v[at] : NULL, k, y);
    if (isnan(most) || (agg->ast && at < 0)) return -1;
    bool whole = agg->f == TRA_AGGREGATE_COUNT || (at >= 0 && agg->f != TRA_AGGREGATE_MEAN && is_whole(&s->v[at]));
    double less = share_at_most(agg->f, at >= 0 ? &s->v[at] : NULL, k, whole ? y - 1 : nextafter(y, -INFINITY)), share;
    switch (op) {
    case TRA_C_LT: share = less; break;
    case TRA_C_LE: share = most; break;
    case TRA_C_GT: share = 1 - most; break;
    case TRA_C_GE: share = 1 - less; break;
    case TRA_C_EQ: share = most - less; break;
    default: share = 1 - (most - less); break;
    }
    return fmin(1, fmax(LEAST, share));
}

/* Is an aggregate of groups compared in it? */
static bool compares_aggregate(const tra_node *n, const tra_colexpr *x) {
    const tra_colexpr *l, *r;
    tra_colop op;
    bool any = tra_table_compares(x, &l, &op, &r) && group_of(n, &(int){l->column}) != NULL;
    for (int i = 0; x->op == TRA_C_AND && i < x->nkids; i++) any = any || compares_aggregate(n, x->kids[i]);
    return any;
}

double tra_table_selectivity_of(const tra_node *n, const tra_colexpr *x) {
    const tra_colexpr *l, *r;
    tra_colop op;
    double share = 1;
    if (!compares_aggregate(n, x)) return tra_table_selectivity(x);
    for (int i = 0; x->op == TRA_C_AND && i < x->nkids; i++) share *= tra_table_selectivity_of(n, x->kids[i]);
    if (x->op == TRA_C_AND || !tra_table_compares(x, &l, &op, &r)) return share;
    share = share_of(n, l->column, op, tra_coltype_is_float(r->type) ? r->value.f : (double)r->value.i);
    return share < 0 ? tra_table_selectivity(x) : share;
}
