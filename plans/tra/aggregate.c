/* aggregate.c - aggregations that are several statements: mean, argmin and argmax; and the positions along a label. */
#include "lower.h"
#include "build.h"
#include "table_build.h"

#include <math.h>
#include <string.h>

typedef struct aggregation aggregation;
typedef tra_node *aggregate(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how);
static aggregate plain, mean, position, spread, count, any_of, without_nan, ranked;

static const struct aggregation {
    const char *name;
    tra_scalar_op fold; /* of the values */
    aggregate *build;
    bool root; /* std, and not var; nanmean, and not nansum; all, and not any */
} aggregations[] = {{"sum", TRA_S_ADD, plain, false},          {"prod", TRA_S_MUL, plain, false},
                    {"max", TRA_S_MAX, plain, false},          {"min", TRA_S_MIN, plain, false},
                    {"mean", TRA_S_ADD, mean, false},          {"argmin", TRA_S_MIN, position, false},
                    {"argmax", TRA_S_MAX, position, false},    {"var", TRA_S_ADD, spread, false},
                    {"std", TRA_S_ADD, spread, true},          {"count", TRA_S_ADD, count, false},
                    {"any", TRA_S_MAX, any_of, false},         {"all", TRA_S_MIN, any_of, true},
                    {"nansum", TRA_S_ADD, without_nan, false}, {"nanmean", TRA_S_ADD, without_nan, true},
                    {"median", TRA_S_ADD, ranked, false},      {"quantile", TRA_S_ADD, ranked, true}};

static const struct aggregation *find(const char *name) {
    int i = TRA_FIND_ROW(aggregations, name);
    return i < 0 ? NULL : &aggregations[i];
}

bool tra_is_aggregation(const char *name) { return find(name) != NULL; }

const char *tra_aggregation_name(int i) {
    return i < (int)(sizeof aggregations / sizeof *aggregations) ? aggregations[i].name : NULL;
}

/* ---- statements over the labels of another one ------------------------------------------------------------------- */

/* A statement with the same labels and result as s, without references, but with room for nrefs of them. */
static tra_einsum *same_labels(tra_build *b, const tra_einsum *s, int nrefs) {
    tra_einsum *t = tra_new(b->arena, tra_einsum);
    *t = *s;
    t->node = NULL;
    t->nrefs = 0;
    t->ref = tra_news(b->arena, tra_einsum_ref, nrefs);
    t->fold = TRA_S_ADD;
    return t;
}

/* Adds a reference to the tensor x over n labels, or to the positions along the one label (x NULL), and returns it as
 * an argument. */
static const tra_scalar *add_ref(tra_build *b, tra_einsum *s, const tra_node *x, int n, const int *label) {
    tra_einsum_ref *r = &s->ref[s->nrefs];
    *r = (tra_einsum_ref){.node = x, .n = n};
    for (int d = 0; d < n; d++) r->label[d] = label[d];
    return tra_scalar_argument(b->arena, s->nrefs++);
}

/* Sets label to the labels that are not in the result; returns their number. */
static int aggregated(const tra_einsum *s, int *label) {
    int n = 0;
    for (int l = 0; l < s->nlabels; l++) {
        bool kept = false;
        for (int d = 0; d < s->nout; d++) kept = kept || s->out[d] == l;
        if (!kept) label[n++] = l;
    }
    return n;
}

/* A statement that has the result of s, and no labels but those of this result, with room for nrefs references. */
static tra_einsum *over_result(tra_build *b, const tra_einsum *s, int nrefs) {
    tra_einsum *t = same_labels(b, s, nrefs);
    t->nlabels = s->nout;
    for (int d = 0; d < s->nout; d++) {
        t->name[d] = s->name[s->out[d]];
        t->extent[d] = s->extent[s->out[d]];
        t->block[d] = s->block[s->out[d]];
        t->out[d] = d;
    }
    return t;
}

/* ---- aggregations of several statements -------------------------------------------------------------------------- */

/* What has the rows that label l stands for, if only the run counts these; else NULL. */
static const tra_node *rows_of(const tra_einsum *s, int l) {
    for (int i = 0; i < s->nrefs; i++)
        for (int d = 0; d < s->ref[i].n; d++) {
            const tra_node *x = s->ref[i].node;
            if (s->ref[i].label[d] == l && x && (x->type.bounded >> d & 1))
                return x->rows && x->rows[d] ? x->rows[d] : x;
        }
    return NULL;
}

/* The number of rows that x has, as an argument of t, for use beside elements of that type; NULL after a diagnostic. */
static const tra_scalar *add_count(tra_build *b, tra_span span, tra_einsum *t, const tra_node *x, tra_dtype type) {
    const tra_node *count = tra_table_count_rows(b, span, x, type);
    return count ? add_ref(b, t, count, 0, NULL) : NULL;
}

/* The product of the two; of one, if the other is NULL. */
static const tra_scalar *times(tra_build *b, const tra_scalar *x, const tra_scalar *y) {
    return x ? tra_scalar_of(b->arena, TRA_S_MUL, x, y) : y;
}

/* How many terms s aggregates, for use in t beside elements of that type; NULL after a diagnostic. */
static const tra_scalar *number_of_terms(tra_build *b, tra_span span, const tra_einsum *s, tra_einsum *t,
                                         tra_dtype type) {
    int label[TRA_MAXLABELS], n = aggregated(s, label);
    double known = 1;
    const tra_scalar *terms = NULL;
    for (int i = 0; i < n; i++) {
        const tra_node *rows = rows_of(s, label[i]);
        const tra_scalar *count = rows ? add_count(b, span, t, rows, type) : NULL;
        if (rows && !count) return NULL;
        if (rows)
            terms = times(b, terms, count);
        else
            known *= (double)s->extent[label[i]];
    }
    return !terms || known != 1 ? times(b, terms, tra_scalar_number(b->arena, known)) : terms;
}

/* The statement `sum`, which has the labels of s, divided by the number of terms of s less `less`; its square root if
 * `root`. */
static tra_node *over_terms(tra_build *b, tra_span span, tra_einsum *s, const tra_node *sum, int less, bool root) {
    tra_arena *a = b->arena;
    tra_einsum *t = over_result(b, s, 1 + s->nlabels);
    const tra_scalar *x = add_ref(b, t, sum, t->nout, t->out);
    const tra_scalar *terms = number_of_terms(b, span, s, t, sum->type.dtype);
    if (!terms) return NULL;
    if (less) terms = tra_scalar_of(a, TRA_S_SUB, terms, tra_scalar_number(a, less));
    t->expr = tra_scalar_of(a, TRA_S_DIV, x, terms);
    if (root) t->expr = tra_scalar_of(a, TRA_S_SQRT, t->expr, NULL);
    tra_node *n = tra_statement(b, span, t);
    if (n && !less) n->units = sum->units; /* of a mean */
    return n;
}

/* mean as two statements: the sum, and that divided by the number of terms. */
static tra_node *mean(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    (void)how;
    const tra_node *sum = tra_statement(b, span, s);
    return sum ? over_terms(b, span, s, sum, 0, false) : NULL;
}

/* The statement s with another expression, which may have one more reference. */
static tra_einsum *again(tra_build *b, const tra_einsum *s) {
    tra_einsum *t = same_labels(b, s, s->nrefs + 1);
    for (int i = 0; i < s->nrefs; i++) t->ref[i] = s->ref[i];
    t->nrefs = s->nrefs;
    return t;
}

/* var and std as the mean, the sum of squares of what differs from it, and that divided by the number of terms less
 * one: NaN of one term. */
static tra_node *spread(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    tra_arena *a = b->arena;
    tra_node *middle = mean(b, span, again(b, s), how);
    if (!middle) return NULL;
    tra_einsum *t = again(b, s);
    const tra_scalar *difference = tra_scalar_of(a, TRA_S_SUB, s->expr, add_ref(b, t, middle, s->nout, s->out));
    t->expr = tra_scalar_of(a, TRA_S_POW, difference, tra_scalar_number(a, 2));
    const tra_node *squares = tra_statement(b, span, t);
    return squares ? over_terms(b, span, s, squares, 1, how->root) : NULL;
}

/* The sum of s in which each value becomes 0 where it is NaN, else `present`; NULL: what it is. */
static tra_node *sum_of_present(tra_build *b, tra_span span, const tra_einsum *s, const tra_scalar *present) {
    tra_einsum *t = again(b, s);
    const tra_scalar *is_nan = tra_scalar_of(b->arena, TRA_S_ISNAN, s->expr, NULL);
    t->expr = tra_scalar_of3(b->arena, TRA_S_IF, is_nan, tra_scalar_number(b->arena, 0), present ? present : s->expr);
    return tra_statement(b, span, t);
}

/* How many values are not NaN. */
static tra_node *count(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    const tra_scalar *x = s->expr;
    const tra_node *alone = x && x->op == TRA_S_ARG && x->arg < s->nrefs ? s->ref[x->arg].node : NULL;
    bool condition = x && (alone ? alone->type.dtype == TRA_BOOL : tra_scalar_class_of(x->op) == TRA_SC_BOOL);
    if (how->build == count && condition)
        tra_diag_warn(b->d, span, "sum counts the elements of which it is true",
                      "count counts what is not NaN: every element, of a condition");
    return sum_of_present(b, span, s, tra_scalar_number(b->arena, 1));
}

/* any and all: is any value, are all values other than 0? */
static tra_node *any_of(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    tra_einsum *t = again(b, s);
    t->fold = how->fold;
    t->expr = tra_scalar_of(b->arena, TRA_S_NE, s->expr, tra_scalar_number(b->arena, 0));
    return tra_statement(b, span, t);
}

/* nansum, and nanmean as that divided by the number of values that are not NaN: NaN of none. */
static tra_node *without_nan(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    tra_node *sum = sum_of_present(b, span, s, NULL);
    if (!sum || !how->root) return sum;
    tra_node *present = count(b, span, s, how);
    if (!present) return NULL;
    tra_einsum *t = over_result(b, s, 2);
    const tra_scalar *x = add_ref(b, t, sum, t->nout, t->out), *n = add_ref(b, t, present, t->nout, t->out);
    t->expr = tra_scalar_of(b->arena, TRA_S_DIV, x, n);
    return tra_statement(b, span, t);
}

/* The one label that s aggregates; -1 after a diagnostic. */
static int only_label(tra_build *b, tra_span span, const tra_einsum *s, const aggregation *how) {
    int along[TRA_MAXLABELS], n = aggregated(s, along);
    bool positions = how->build == position;
    if (how->build == ranked && how->root && !s->shared) {
        tra_diag_error(b->d, span, NULL, "a quantile has its share: q[i] = quantile[j](X[i,j], 0.9)");
        return -1;
    }
    if (n != 1) {
        tra_diag_error(b->d, span,
                       positions ? "aggregate the others before, by max or min"
                                 : "group(entries(X), [], m = median(value)) takes all elements",
                       "%s gives the %s along one label, but %d are aggregated here", how->name,
                       positions ? "position" : "value", n);
        return -1;
    }
    if (s->nout + 1 > TRA_MAXDIM / 2) {
        tra_diag_error(b->d, span, NULL, "%s needs a tensor of %d dimensions, more than %d", how->name, s->nout + 1,
                       TRA_MAXDIM / 2);
        return -1;
    }
    if (rows_of(s, along[0])) {
        tra_diag_error(b->d, span,
                       positions ? "number the rows of the table, project(T, *, i = row()), and order it by the values"
                                 : "aggregate the column: group(T, [], m = median(x))",
                       "%s goes along label '%s', which the rows before tell, and only the run counts these", how->name,
                       s->name[along[0]]);
        return -1;
    }
    return along[0];
}

/* The values of s with label l kept, as the last one. */
static tra_node *values_along(tra_build *b, tra_span span, const tra_einsum *s, int l, tra_einsum **all) {
    *all = same_labels(b, s, 0);
    (*all)->nrefs = s->nrefs;
    (*all)->ref = s->ref;
    (*all)->out[(*all)->nout++] = l;
    (*all)->expr = s->expr;
    return tra_statement(b, span, *all);
}

static const tra_scalar *real(tra_build *b, double v) {
    tra_scalar *s = tra_new(b->arena, tra_scalar);
    *s = tra_scalar_of_real(v);
    return s;
}

/* median and quantile as the sorted values up to the place (the least or the greatest, as fewer do), and the sum of
 * the two around it by their shares, to which a NaN is added. */
static tra_node *ranked(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    tra_arena *a = b->arena;
    tra_einsum *all;
    int l = only_label(b, span, s, how);
    tra_node *values = l < 0 ? NULL : values_along(b, span, s, l, &all);
    if (!values) return NULL;
    int64_t n = s->extent[l], low = (int64_t)floor((how->root ? s->q : 0.5) * (double)(n - 1));
    double share = (how->root ? s->q : 0.5) * (double)(n - 1) - (double)low;
    bool least = 2 * low < n;
    int64_t k = least ? tra_min64(n, low + 2) : n - low, at = least ? low : k - 1, next = least ? at + 1 : at - 1;
    tra_node *top = tra_top_of(b, span, values, false, least, k);
    if (!top) return NULL;
    tra_einsum *t = over_result(b, s, 2);
    int rank = t->nlabels++, of[TRA_MAXDIM];
    t->name[rank] = s->name[l];
    t->extent[rank] = k;
    t->block[rank] = top->type.cat->bound.v[s->nout];
    for (int d = 0; d < s->nout; d++) of[d] = d;
    of[s->nout] = rank;
    const tra_scalar *x = add_ref(b, t, top, s->nout + 1, of), *i = add_ref(b, t, NULL, 1, &rank);
    const tra_scalar *nan = tra_scalar_of3(a, TRA_S_IF, tra_scalar_of(a, TRA_S_ISNAN, x, NULL), x, real(b, 0)),
                     *r = nan;
    const tra_scalar *here[2] = {tra_scalar_of(a, TRA_S_EQ, i, tra_scalar_number(a, (double)at)),
                                 tra_scalar_of(a, TRA_S_EQ, i, tra_scalar_number(a, (double)next))};
    if (share > 0) r = tra_scalar_of3(a, TRA_S_IF, here[1], tra_scalar_of(a, TRA_S_MUL, x, real(b, share)), r);
    t->expr = tra_scalar_of3(a, TRA_S_IF, here[0], tra_scalar_of(a, TRA_S_MUL, x, real(b, 1 - share)), r);
    return tra_statement(b, span, t);
}

/* argmin and argmax as three statements: the values; their extreme; the least position at which a value
 * equals it, or is NaN (then the extreme is NaN too). */
static tra_node *position_by_value(tra_build *b, tra_span span, tra_einsum *s, int along) {
    tra_einsum *all;
    tra_node *values = values_along(b, span, s, along, &all);
    if (!values) return NULL;
    tra_einsum *folded = same_labels(b, s, 1);
    folded->fold = s->fold;
    folded->expr = add_ref(b, folded, values, all->nout, all->out);
    tra_node *extreme = tra_statement(b, span, folded);
    if (!extreme) return NULL;
    tra_einsum *t = same_labels(b, s, 3);
    t->fold = TRA_S_MIN;
    const tra_scalar *x = add_ref(b, t, values, all->nout, all->out), *m = add_ref(b, t, extreme, s->nout, s->out);
    const tra_scalar *here = tra_scalar_of(b->arena, TRA_S_OR, tra_scalar_of(b->arena, TRA_S_EQ, x, m),
                                           tra_scalar_of(b->arena, TRA_S_ISNAN, x, NULL));
    const tra_scalar *i = add_ref(b, t, NULL, 1, &along);
    t->expr = tra_scalar_of3(b->arena, TRA_S_IF, here, i, tra_scalar_number(b->arena, (double)s->extent[along]));
    return tra_statement(b, span, t);
}

/* What the operands are: *sparse, one of them by its type; *keeps, so are the values; *counted, one has rows that only
 * the run counts. */
static void look_at_operands(const tra_einsum *s, bool *sparse, bool *keeps, bool *counted) {
    bool held[s->nrefs + 1];
    *sparse = *counted = false;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *x = s->ref[i].node;
        *sparse |= held[i] = x && x->type.sparse;
        *counted |= x && x->type.bounded;
    }
    *keeps = *sparse && tra_scalar_sparse(s->expr, held);
}

/* argmin and argmax as one fold where one block has all values; else the first place of the ordered values, of each
 * block and then of these. Other values than entries that sparse operands have are folded at once, and rows that only
 * the run counts stay in their blocks. */
static tra_node *position(tra_build *b, tra_span span, tra_einsum *s, const struct aggregation *how) {
    tra_einsum *all;
    int along = only_label(b, span, s, how);
    if (along < 0) return NULL;
    bool sparse, keeps, counted;
    look_at_operands(s, &sparse, &keeps, &counted);
    tra_choose_blocks(b, s);
    bool whole = s->block[along] >= s->extent[along];
    if (counted ? sparse || !whole : sparse && !keeps) return position_by_value(b, span, s, along);
    if (whole && !sparse) {
        s->fold = how->fold == TRA_S_MIN ? TRA_S_ARGMIN : TRA_S_ARGMAX;
        return tra_statement(b, span, s);
    }
    tra_node *values = values_along(b, span, s, along, &all);
    tra_node *top = values ? tra_top_of(b, span, values, true, how->fold == TRA_S_MIN, 1) : NULL;
    if (!top) return NULL;
    tra_einsum *t = over_result(b, s, 1);
    int rank = t->nlabels++, of[TRA_MAXDIM];
    t->name[rank] = s->name[along];
    t->extent[rank] = t->block[rank] = 1;
    for (int d = 0; d < s->nout; d++) of[d] = d;
    of[s->nout] = rank;
    t->expr = add_ref(b, t, top, s->nout + 1, of);
    return tra_statement(b, span, t);
}

/* A maximum or minimum, also over rows that only the run counts: an error of the run if there are none. */
static tra_node *extreme(tra_build *b, tra_span span, tra_einsum *s) {
    int label[TRA_MAXLABELS], n = aggregated(s, label);
    tra_node *found = tra_statement(b, span, s);
    if (!found) return NULL;
    tra_einsum *t = over_result(b, s, 1 + n);
    const tra_scalar *x = add_ref(b, t, found, t->nout, t->out), *has_rows = NULL;
    for (int i = 0; i < n; i++) {
        const tra_node *rows = rows_of(s, label[i]);
        if (!rows) continue;
        const tra_scalar *count = add_count(b, span, t, rows, TRA_I64);
        if (!count) return NULL;
        count = tra_scalar_of(b->arena, TRA_S_SOME, count, NULL);
        has_rows = has_rows ? tra_scalar_of(b->arena, TRA_S_AND, has_rows, count) : count;
    }
    if (!has_rows) return found;
    t->expr = tra_scalar_of3(b->arena, TRA_S_IF, has_rows, x, x); /* the condition is what fails */
    return tra_statement(b, span, t);
}

static tra_node *plain(tra_build *b, tra_span span, tra_einsum *s, const aggregation *how) {
    return how->fold == TRA_S_MAX || how->fold == TRA_S_MIN ? extreme(b, span, s) : tra_statement(b, span, s);
}

tra_node *tra_aggregation(tra_build *b, tra_span span, tra_einsum *s, const char *name) {
    const struct aggregation *how = find(name);
    size_t n = 0;
    if (!how) {
        tra_str all = {0};
        for (const char *one; (one = tra_aggregation_name((int)n)); n++) tra_str_printf(&all, " %s", one);
        tra_diag_error(b->d, span, tra_arena_printf(b->arena, "aggregations are%s", tra_str_get(&all)),
                       "there is no aggregation '%s'", name);
        tra_str_free(&all);
        return NULL;
    }
    s->fold = how->fold;
    return how->build(b, span, s, how);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

tra_node *tra_positions(tra_build *b, tra_span span, int64_t extent, int64_t block) {
    tra_err e = {0};
    const char *name =
        tra_arena_printf(b->arena, "index.%" PRId64 ".%" PRId64, extent, block); /* no name of a program has a point */
    for (int i = 0; i < b->g->n; i++)
        if (b->g->v[i]->op == TRA_OP_INPUT && b->g->v[i]->name && strcmp(b->g->v[i]->name, name) == 0)
            return b->g->v[i];
    tra_node *n = tra_build_node(b, TRA_OP_INPUT, span);
    n->name = name;
    n->input.path = tra_rel_positions(b->arena, extent, block);
    if (tra_rel_open(n->input.path, NULL, &n->input.rel, &e) != TRA_OK)
        return tra_diag_error(b->d, span, NULL, "%s", e.msg);
    n->type = *tra_rel_type(n->input.rel);
    return n;
}
