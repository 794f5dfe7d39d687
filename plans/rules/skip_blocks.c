/* skip_blocks.c - rule Q-12: blocks of a file of which no row can be selected are not read.
 *
 * Files have the least and the greatest value of each column in each block, the number of its NULLs, and whether there
 * are NaN. These say which values a predicate can have for the rows of a block; where it cannot be true, the block is
 * taken to have no rows. A part of a predicate of which nothing is known can have any value.
 */
#include <math.h>
#include <string.h>

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/kernels.h"
#include "pipeline.h"

/* The values that a predicate may have, as bits: true, false, NULL. */
enum { YES = 1, NO = 2, NONE = 4, ANY = YES | NO | NONE };

/* The values that an expression may have in a block: from lo to hi. Whole numbers are exact in a long double. */
typedef struct range {
    bool null, nan, empty; /* may it be NULL; may it be NaN; is it always NULL */
    long double lo, hi;
} range;

typedef struct pruning {
    const tra_node *input;
    int64_t block;
} pruning;

static const range anything = {.null = true, .nan = true, .lo = -INFINITY, .hi = INFINITY};

/* ---- values ------------------------------------------------------------------------------------------------------ */

static long double value_of(tra_coltype t, int64_t bits) {
    double x;
    if (!tra_coltype_is_float(t)) return (long double)bits;
    memcpy(&x, &bits, sizeof x);
    return (long double)x;
}

static bool facts_of(const pruning *p, const tra_colexpr *x, tra_block_facts *f) {
    return x->op == TRA_C_COLUMN && x->file == p->input->input.rel &&
           tra_rel_block_facts(x->file, x->number, p->block, f, NULL) == TRA_OK;
}

static range range_of_column(const pruning *p, const tra_colexpr *x) {
    tra_block_facts f;
    if (!facts_of(p, x, &f)) return anything;
    range r = {.null = f.nulls > 0, .nan = f.nan, .empty = f.empty};
    r.lo = value_of(x->type, f.min);
    r.hi = value_of(x->type, f.max);
    if (isnan(r.lo)) r.lo = -INFINITY;
    if (isnan(r.hi)) r.hi = INFINITY; /* NaN counts as the greatest, so the greatest number is not known */
    return r;
}

static range range_of_constant(const tra_colexpr *x) {
    if (x->null) return (range){.null = true, .empty = true};
    long double v = tra_coltype_is_float(x->type) ? (long double)x->value.f : (long double)x->value.i;
    return isnan(v) ? anything : (range){.lo = v, .hi = v};
}

static long double rounded(tra_coltype t, long double v) {
    if (t == TRA_COL_F64) return (long double)(double)v;
    if (t == TRA_COL_F32) return (long double)(float)v;
    return v;
}

static long double year_of(tra_coltype t, long double v) {
    int64_t year, day = (int64_t)v;
    int month, of_month;
    if (t == TRA_COL_TIMESTAMP) day = day / INT64_C(86400000000) - (day % INT64_C(86400000000) < 0);
    tra_civil_of(day, &year, &month, &of_month);
    return (long double)year;
}

/* Of numbers, dates and timestamps. */
static range range_of(const pruning *p, const tra_colexpr *x) {
    range r = anything;
    if (tra_coltype_is_coded(x->type)) return anything;
    switch (x->op) {
    case TRA_C_COLUMN: return range_of_column(p, x);
    case TRA_C_CONST: return range_of_constant(x);
    case TRA_C_CONVERT:
        if (tra_coltype_is_coded(x->kids[0]->type)) return anything;
        r = range_of(p, x->kids[0]);
        r.lo = rounded(x->type, r.lo), r.hi = rounded(x->type, r.hi);
        return r;
    case TRA_C_YEAR:
        r = range_of(p, x->kids[0]);
        if (r.empty || isinf(r.lo) || isinf(r.hi)) return r.empty ? r : anything;
        r.lo = year_of(x->kids[0]->type, r.lo), r.hi = year_of(x->kids[0]->type, r.hi);
        return r;
    default: return anything;
    }
}

/* ---- predicates -------------------------------------------------------------------------------------------------- */

static int compared(tra_colop op, const range *x, const range *y) {
    bool nan = x->nan || y->nan, one = x->lo == x->hi && y->lo == y->hi && x->lo == y->lo;
    bool yes = false, no = false;
    int null = x->null || y->null ? NONE : 0;
    if (x->empty || y->empty) return NONE;
    switch (op) {
    case TRA_C_LT: yes = x->lo < y->hi, no = x->hi >= y->lo; break;
    case TRA_C_LE: yes = x->lo <= y->hi, no = x->hi > y->lo; break;
    case TRA_C_GT: yes = x->hi > y->lo, no = x->lo <= y->hi; break;
    case TRA_C_GE: yes = x->hi >= y->lo, no = x->lo < y->hi; break;
    case TRA_C_EQ: yes = x->lo <= y->hi && y->lo <= x->hi, no = !one; break;
    case TRA_C_NE: yes = !one || nan, no = x->lo <= y->hi && y->lo <= x->hi; break;
    default: return ANY;
    }
    return null | (yes ? YES : 0) | (no || (nan && op != TRA_C_NE) ? NO : 0);
}

/* A predicate that a table answers for each word: its values for the words between the least and the greatest one of
 * the block. */
static int looked_up(const pruning *p, const tra_colexpr *x) {
    enum { MOST_WORDS = 1 << 14 };
    const tra_colexpr *c = x->kids[0];
    const uint8_t *is = x->table;
    tra_block_facts f;
    if (x->type != TRA_COL_BOOL || !tra_coltype_is_coded(c->type) || !c->dict || !facts_of(p, c, &f)) return ANY;
    int found = f.nulls > 0 ? NONE : 0;
    if (f.empty) return NONE;
    if (f.min < 0 || f.max >= c->dict->n || f.max - f.min > MOST_WORDS) return ANY;
    for (int64_t i = f.min; i <= f.max; i++) {
        int state = x->tstate ? x->tstate[i] : TRA_STATE_VALUE;
        found |= state == TRA_STATE_VALUE ? (is[i] ? YES : NO) : state == TRA_STATE_NULL ? NONE : ANY;
    }
    return found;
}

static int negated(int x) { return (x & NONE) | (x & YES ? NO : 0) | (x & NO ? YES : 0); }

/* Kleene's and: NO where one is, YES where both are. */
static int both(int x, int y) {
    int all = ((x | y) & NO) | (x & y & YES);
    bool null = (x & NONE && y & (YES | NONE)) || (y & NONE && x & (YES | NONE));
    return all | (null ? NONE : 0);
}

static int possible(const pruning *p, const tra_colexpr *x) {
    range l, r;
    switch (x->op) {
    case TRA_C_AND: return both(possible(p, x->kids[0]), possible(p, x->kids[1]));
    case TRA_C_OR: return negated(both(negated(possible(p, x->kids[0])), negated(possible(p, x->kids[1]))));
    case TRA_C_NOT: return negated(possible(p, x->kids[0]));
    case TRA_C_CONST: return x->null ? NONE : x->value.i ? YES : NO;
    case TRA_C_LOOKUP: return looked_up(p, x);
    case TRA_C_ISNULL:
        if (!x->kids[0]->nullable) return NO;
        if (x->kids[0]->op != TRA_C_COLUMN) return YES | NO;
        {
            tra_block_facts f;
            if (!facts_of(p, x->kids[0], &f)) return YES | NO;
            return f.empty ? YES : f.nulls > 0 ? YES | NO : NO;
        }
    case TRA_C_COLUMN:
        l = range_of_column(p, x);
        if (l.empty) return NONE;
        return (l.null ? NONE : 0) | (l.hi >= 1 ? YES : 0) | (l.lo <= 0 ? NO : 0);
    case TRA_C_COMPARISONS:
        if (tra_coltype_is_coded(x->kids[0]->type) || tra_coltype_is_coded(x->kids[1]->type)) return ANY;
        l = range_of(p, x->kids[0]), r = range_of(p, x->kids[1]);
        return compared(x->op, &l, &r);
    default: return ANY;
    }
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

/* Is there a predicate, none of those before it failing, that is true of no row of the block? */
static bool is_out(const pruning *p, int n, const tra_rowwise_step *v) {
    for (int i = 0; i < n && v[i].selects && !tra_may_fail(v[i].x[0]); i++)
        if (!(possible(p, v[i].x[0]) & YES)) return true;
    return false;
}

/* Only the blocks that have rows in `of`. */
static tra_expr *some_blocks(tra_rewriting *w, const tra_expr *x, const tra_expr *y, const int64_t *of) {
    tra_node n = y->node;
    n.type.bounded = true;
    n.type.entries = tra_entries_exactly(w->m->arena, &n.type, of, NULL);
    return tra_make_below(w, x, n);
}

static void skip_blocks(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_rowwise *r = y && w->side == 0 && y->node.op == TRA_OP_INPUT ? tra_rowwise_of_expr(x) : NULL;
    const tra_rowwise_step *v;
    int n = r ? tra_rowwise_steps(r, &v) : 0;
    if (n == 0 || !v[0].selects || !y->node.input.rel || y->node.type.bounded || !y->node.type.columns) return;
    const tra_catalog *c = y->node.type.cat;
    int64_t *of = tra_news(w->m->arena, int64_t, c->n + 1), kept = 0;
    double all = (double)tra_catalog_elements(c), rows = 0;
    for (int64_t b = 0; b < c->n; b++) {
        bool out = is_out(&(pruning){&y->node, b}, n, v);
        of[b] = out ? 0 : tra_catalog_elements_of(c, b);
        rows += (double)of[b];
        kept += !out;
    }
    if (kept == c->n) {
        tra_refuse(w, x, "by the least and greatest values of blocks, each may have rows that are selected");
        return;
    }
    tra_expr *some = some_blocks(w, x, y, of);
    if (!some) return;
    tra_rows_kernel k = *tra_rows_op_of(&x->node);
    k.share = rows > 0 ? fmin(1, k.share * all / rows) : 0;
    tra_claim(w, x, y, tra_proto_rows(w, &k, &some->node, NULL), some, NULL);
}

const tra_rule tra_rule_q_12 = {
    .name = "Q-12",
    .equivalence = "select(p, T) = select(p, the blocks of T that may have rows for which p is true)",
    .condition = "T is a file that knows the least and greatest values of its blocks; p cannot fail",
    .forth = skip_blocks,
};
