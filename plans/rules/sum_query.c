/* sum_query.c - reads aggregates of the rows of a join, and says why they cannot be summed so: what sum_query.h
 * promises.
 */
#include "matrix_sums.h"
#include "sum_query.h"

#include <string.h>

#include "../../lib/table/kernels.h"
#include "../../lib/table/key_ranges.h"

/* ---- the query --------------------------------------------------------------------------------------------------- */

int tra_sides_read(const query *q, const tra_colexpr *x) {
    int sides = 0;
    if (x->op == TRA_C_COLUMN) return q->of[LEFT].by[x->column] ? READS_LEFT : READS_RIGHT;
    for (int i = 0; i < x->nkids; i++) sides |= tra_sides_read(q, x->kids[i]);
    return sides;
}

/* Multiplies f, a product of what was read before, by x. A product of whole numbers might not fit. */
static bool times(query *q, const tra_colexpr *x, bool whole, const tra_colexpr **f) {
    if (whole && *f) return false;
    if (whole) *f = x;
    if (whole) return tra_coltype_is_number(x->type);
    return *f ? tra_factor_multiply(q->a, *f, x, f) : tra_factor_real(q->a, x, f);
}

/* Is x, in i64 or in f64, a product of factors that each read one table? Multiplies f by these. */
static bool split(query *q, const tra_colexpr *x, bool whole, const tra_colexpr *f[2]) {
    int sides = tra_sides_read(q, x);
    if (sides != READS_BOTH) return times(q, x, whole, &f[sides == READS_RIGHT ? RIGHT : LEFT]);
    return x->op == TRA_C_MUL && x->type == (whole ? TRA_COL_I64 : TRA_COL_F64) && split(q, x->kids[0], whole, f) &&
           split(q, x->kids[1], whole, f);
}

/* Are the values of a factor finite, and the product of two sums of them? They are where the cube of each value is. */
static bool is_finite(query *q, int d, const tra_colexpr *factor) {
    const tra_colexpr *x = tra_colexpr_substitute(q->a, factor, q->of[d].by), *cube = x;
    return tra_factor_multiply(q->a, x, cube, &cube) && tra_factor_multiply(q->a, x, cube, &cube) &&
           tra_is_finite(q->of[d].facts, cube);
}

/* Is x NULL where all columns that it reads are? */
static bool is_null_of_nulls(const tra_colexpr *x) {
    bool any = x->op == TRA_C_COLUMN;
    if (x->op == TRA_C_CONVERT || x->op == TRA_C_MUL || x->op == TRA_C_ADD || x->op == TRA_C_SUB)
        for (int i = 0; i < x->nkids; i++) any |= is_null_of_nulls(x->kids[i]);
    return any;
}

/* Sets the factors of column i. With infinite values, a sum of products may differ from the product of the sums. */
static void set_factors(query *q, int i) {
    const tra_colexpr *f[2] = {NULL, NULL};
    bool whole = !tra_coltype_is_float(q->x[i]->type);
    if (q->reads[i] != READS_BOTH || !split(q, q->x[i], whole, f)) return;
    for (int d = LEFT; d <= RIGHT && !whole; d++)
        if (!is_finite(q, d, f[d])) return;
    for (int d = LEFT; d <= RIGHT; d++) q->factor[d][i] = f[d];
}

bool tra_read_query(query *q, tra_rewriting *w, tra_expr *group, const tra_expr *pass, const tra_expr *join) {
    const tra_rowwise *r = tra_rowwise_of_expr(pass);
    *q = (query){.w = w, .a = w->m->arena, .group = group, .pass = pass, .join = join};
    if (!r || tra_rowwise_is_matrix(r, NULL) || !(q->l = tra_join_of(w->m, join, &q->right))) return false;
    if (tra_rowwise_selects(r) || !(q->x = tra_pass_columns(q->a, r))) return false;
    q->n = tra_rowwise_out(r)->n;
    q->s = tra_lookup_spec_of(q->l);
    q->g = tra_kernel_rows(group->node.kernel)->data;
    q->nkeys = tra_group_keys(q->g);
    q->naggregates = tra_group_columns(q->g, &q->aggregate);
    const tra_schema *out = tra_lookup_out(q->l);
    bool *used = tra_news(q->a, bool, out->n + 1);
    for (int i = 0; i < q->n; i++) tra_colexpr_columns(q->x[i], used);
    for (int d = LEFT; d <= RIGHT; d++) {
        side *x = &q->of[d];
        x->in = d == LEFT ? q->s->left : q->s->right;
        x->rows = d == LEFT ? join->node.in[0] : q->right;
        x->facts = tra_memo_facts(w->m, tra_memo_expr(x->rows)->group);
        x->by = tra_news(q->a, const tra_colexpr *, out->n + 1);
        for (int i = 0; i < out->n; i++) {
            int from = tra_lookup_from(q->l)[i], own = d == LEFT ? from : from - q->s->left->n;
            if (used[i] && own >= 0 && own < x->in->n) x->by[i] = tra_colexpr_column(q->a, x->in, own);
        }
    }
    q->reads = tra_news(q->a, int, q->n + 1);
    for (int i = 0; i < q->n; i++) q->reads[i] = tra_sides_read(q, q->x[i]);
    for (int d = LEFT; d <= RIGHT; d++) q->factor[d] = tra_news(q->a, const tra_colexpr *, q->n + 1);
    for (int i = q->nkeys; i < q->n; i++) set_factors(q, i);
    return true;
}

void tra_find_slices(query *q) {
    const tra_node *pass = q->join->node.in[0], *whole = pass->in[0];
    const tra_rowwise *r = pass->op == TRA_OP_TRANSFORM ? tra_rows_args(pass, &tra_rowwise_ops) : NULL;
    bool cut = r && whole && (whole->op == TRA_OP_REKEY || whole->op == TRA_OP_CONCAT) &&
               tra_rows_args(whole->in[0], &tra_number_slice_ops);
    const tra_node *before = cut ? whole->in[0]->in[0] : NULL;
    bool counted = before && tra_rows_args(before, &tra_pairs_before_ops),
         summed = before && tra_rows_args(before, &tra_row_numbers_ops);
    if (!counted && !summed) return;
    const tra_node *table = counted ? before->in[0] : before->in[0]->in[0];
    const tra_schema *s = table ? table->type.columns : NULL, *sliced = before->type.columns;
    if (!s) return;
    const tra_rowwise_step *v;
    side *x = &q->of[LEFT];
    int n = tra_rowwise_steps(r, &v);
    const tra_colexpr **by = tra_news(q->a, const tra_colexpr *, sliced->n + 1);
    for (int i = 0; i < s->n; i++) {
        int c = tra_schema_find(sliced, s->v[i].name);
        if (c >= 0) by[c] = tra_colexpr_column(q->a, s, i);
    }
    x->pass = tra_rowwise_new(q->a, s);
    for (int i = 0; i < n; i++) { /* later steps are over what the first projection makes */
        int made = v[i].selects ? 1 : v[i].n;
        const tra_colexpr **y = tra_news(q->a, const tra_colexpr *, made + 1);
        for (int k = 0; k < made; k++) y[k] = by ? tra_colexpr_substitute(q->a, v[i].x[k], by) : v[i].x[k];
        if (v[i].selects)
            tra_rowwise_select(x->pass, y[0]);
        else
            tra_rowwise_project(x->pass, v[i].n, v[i].names, y);
        if (!v[i].selects) by = NULL;
    }
    x->rows = table;
    if (counted) q->before = before, q->slices = whole->in[0], q->rekey = whole;
}

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

/* What speaks against a way to sum: of the join, each of its keys, each key of the groups, each column that is
 * aggregated, each aggregate. */
#define WHEN(name, condition)                                                                                          \
    static bool name(const query *q, int i) {                                                                          \
        (void)q, (void)i;                                                                                              \
        return condition;                                                                                              \
    }
WHEN(no_keys, q->s->nkeys == 0)
WHEN(makes_no_pairs, q->s->how != TRA_LOOKUP_INNER && q->s->how != TRA_LOOKUP_LEFT)
WHEN(is_not_inner, q->s->how != TRA_LOOKUP_INNER)
WHEN(checks_right, q->s->unique)
WHEN(left_key_fails, q->s->left->v[q->s->lkey[i]].fails)
WHEN(right_key_fails, q->s->right->v[q->s->rkey[i]].fails)
WHEN(joins_floats, tra_coltype_is_float(q->s->left->v[q->s->lkey[i]].type) ||
                       tra_coltype_is_float(q->s->right->v[q->s->rkey[i]].type))
WHEN(may_fail, tra_may_fail(q->x[i]))
WHEN(reads_both, q->reads[i] == READS_BOTH)
WHEN(mixes_both, q->reads[i] == READS_BOTH && !q->factor[LEFT][i])
WHEN(reads_right, (q->reads[i] & READS_RIGHT) && !(q->factor[LEFT][i] && tra_coltype_is_float(q->x[i]->type)))
WHEN(is_float, tra_coltype_is_float(q->x[i]->type))
WHEN(is_float_of_left, q->reads[i] != READS_RIGHT && tra_coltype_is_float(q->x[i]->type))
WHEN(is_of_nulls, q->s->how == TRA_LOOKUP_LEFT && ((q->reads[i] == READS_RIGHT && q->x[i]->op != TRA_C_COLUMN) ||
                                                   (q->factor[RIGHT][i] && !is_null_of_nulls(q->factor[RIGHT][i]))))
WHEN(has_no_states, !tra_aggregate_has_states(q->aggregate[i].f))
WHEN(goes_by_order,
     tra_aggregate_way_of(q->aggregate[i].f) == TRA_WAY_END || tra_aggregate_way_of(q->aggregate[i].f) == TRA_WAY_BY)
WHEN(is_of_two,
     tra_aggregate_has_two(q->aggregate[i].f) && q->reads[q->aggregate[i].column] != q->reads[q->aggregate[i].second])
WHEN(is_of_products, is_product(q, i) && tra_aggregate_way_of(q->aggregate[i].f) != TRA_WAY_SUM &&
                         tra_aggregate_way_of(q->aggregate[i].f) != TRA_WAY_COUNT)
WHEN(is_no_sum, q->aggregate[i].f != TRA_AGGREGATE_COUNT && q->aggregate[i].f != TRA_AGGREGATE_SUM &&
                    q->aggregate[i].f != TRA_AGGREGATE_MEAN)

static bool is_joined(const query *q, int i) {
    if (q->x[i]->op != TRA_C_COLUMN) return false;
    int from = tra_lookup_from(q->l)[q->x[i]->column];
    for (int k = 0; k < q->s->nkeys; k++)
        if (from == q->s->lkey[k] || from == q->s->left->n + q->s->rkey[k]) return true;
    return false;
}

static bool comes_back(const query *q, int i) {
    bool back = false;
    for (int k = 0; k + 1 < i; k++) back |= side_of_column(q, k) == side_of_column(q, i);
    return back && side_of_column(q, i - 1) != side_of_column(q, i);
}

typedef enum level { JOIN, JOIN_KEYS, KEYS, AGGREGATED, AGGREGATES } level;
static const struct {
    int ways;
    level of;
    bool (*when)(const query *q, int i);
    const char *why;
} reasons[] = {
    {AS_PRODUCT, JOIN, is_not_inner, "the join is no inner one"},
    {BEFORE | AS_PRODUCT, JOIN, no_keys, "the join has no keys"},
    {BOTH_FIRST, JOIN, makes_no_pairs, "the join makes no pairs"},
    {BOTH_FIRST, JOIN, checks_right, "the join checks that no key is there twice on the right"},
    {BEFORE, JOIN_KEYS, left_key_fails, "a key of the join may not be computed"},
    {BOTH_FIRST, JOIN_KEYS, right_key_fails, "a key of the join may not be computed"},
    {AS_PRODUCT, KEYS, may_fail, "a key of the groups may not be computed for every row"},
    {BEFORE, KEYS, may_fail, "a key, or what is aggregated, may fail in rows that the join drops"},
    {BEFORE, AGGREGATED, may_fail, "a key, or what is aggregated, may fail in rows that the join drops"},
    {BEFORE, AGGREGATES, has_no_states, "an aggregate has no partial results"},
    {BEFORE, AGGREGATES, goes_by_order, "first, last, arg_min and arg_max go by the order of the joined rows"},
    {BEFORE | AS_PRODUCT, KEYS, reads_both, "a key is computed of columns of both tables"},
    {AS_PRODUCT, KEYS, is_joined, "a key of the join is among those of the groups: nothing is summed over it"},
    {AS_PRODUCT, KEYS, comes_back, "the keys of the groups go from one table to the other and back"},
    {LEFT_FIRST, KEYS, is_float_of_left, "a key of floats has the zero, or minus zero, of the first row"},
    {BOTH_FIRST, KEYS, is_float, "a key of floats has the zero, or minus zero, of the first row"},
    {BOTH_FIRST, JOIN_KEYS, joins_floats, "a key of floats has the zero, or minus zero, of the first row"},
    {LEFT_FIRST, AGGREGATED, reads_right, "what is aggregated is of the right table"}, /* also where nobody wants it */
    {BOTH_FIRST, AGGREGATED, mixes_both,
     "what is aggregated is computed of columns of both tables, and no product of a finite factor of each"},
    {BEFORE, AGGREGATES, is_of_products, "a product of columns of both tables is neither summed nor counted"},
    {BOTH_FIRST, AGGREGATED, is_of_nulls,
     "what is aggregated is computed of columns that are NULL in rows without partner"},
    {BOTH_FIRST, AGGREGATES, is_of_two, "what is aggregated is computed of columns of both tables"},
    {AS_PRODUCT, AGGREGATES, is_no_sum, "an aggregate is no sum over pairs of rows"},
};

const char *tra_sums_refused(const query *q, int way) {
    const int from[] = {0, 0, 0, q->nkeys, 0}, to[] = {1, q->s->nkeys, q->nkeys, q->n, q->naggregates};
    const char *why = NULL;
    for (size_t r = 0; r < sizeof reasons / sizeof *reasons && !why; r++) { /* those of the join come first */
        level of = reasons[r].of;
        if (of != JOIN && reasons[r - 1].of == JOIN) why = tra_lookup_refused(q->l);
        for (int i = from[of]; (reasons[r].ways & way) && i < to[of] && !why; i++)
            if (reasons[r].when(q, i)) why = reasons[r].why;
    }
    return why;
}

/* ---- groups of a pass -------------------------------------------------------------------------------------------- */

const tra_group *tra_group_of_rows(const tra_expr *x) {
    const tra_group *g = x->node.op == TRA_OP_TRANSFORM ? tra_rows_args(&x->node, &tra_group_ops) : NULL;
    tra_group_pass pass = g ? tra_group_pass_of(g) : TRA_GROUP_FINAL;
    return pass == TRA_GROUP_PARTIAL || pass == TRA_GROUP_WHOLE ? g : NULL;
}

void tra_each_group(tra_rewriting *w, tra_expr *pass, tra_expr *join,
                    void (*f)(tra_rewriting *w, tra_expr *group, tra_expr *pass, tra_expr *join)) {
    int n;
    const int *user = tra_memo_users(w->m, pass->group, &n);
    for (int i = 0; i < n; i++)
        if (tra_group_of_rows(w->m->v[user[i]])) f(w, w->m->v[user[i]], pass, join);
}
