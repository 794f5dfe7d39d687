/* aggregate.c - aggregations that are several statements: mean, argmin and argmax; and the positions along a label. */
#include "lower.h"
#include "table_build.h"

#include <string.h>

static const struct aggregation {
    const char *name;
    tra_scalar_op fold; /* of the values */
    bool position;      /* its result is where the extreme is */
    bool mean;
} aggregations[] = {{"sum", TRA_S_ADD, false, false},  {"prod", TRA_S_MUL, false, false},
                    {"max", TRA_S_MAX, false, false},  {"min", TRA_S_MIN, false, false},
                    {"mean", TRA_S_ADD, false, true},  {"argmin", TRA_S_MIN, true, false},
                    {"argmax", TRA_S_MAX, true, false}};

static const struct aggregation *find(const char *name) {
    for (size_t i = 0; i < sizeof aggregations / sizeof *aggregations; i++)
        if (strcmp(aggregations[i].name, name) == 0) return &aggregations[i];
    return NULL;
}

bool tra_is_aggregation(const char *name) { return find(name) != NULL; }

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

/* mean as two statements: the sum, and that divided by the number of terms. */
static tra_node *mean(tra_build *b, tra_span span, tra_einsum *s) {
    int label[TRA_MAXLABELS], n = aggregated(s, label);
    double known = 1;
    tra_node *sum = tra_statement(b, span, s);
    if (!sum) return NULL;
    tra_einsum *t = over_result(b, s, 1 + n);
    const tra_scalar *x = add_ref(b, t, sum, t->nout, t->out), *terms = NULL;
    for (int i = 0; i < n; i++) {
        const tra_node *rows = rows_of(s, label[i]);
        const tra_scalar *count = rows ? add_count(b, span, t, rows, sum->type.dtype) : NULL;
        if (rows && !count) return NULL;
        if (rows)
            terms = times(b, terms, count);
        else
            known *= (double)s->extent[label[i]];
    }
    if (!terms || known != 1) terms = times(b, terms, tra_scalar_number(b->arena, known));
    t->expr = tra_scalar_of(b->arena, TRA_S_DIV, x, terms);
    return tra_statement(b, span, t);
}

/* argmin and argmax as three statements: the values; their extreme; the least position at which a value equals it, or
 * is NaN (then the extreme is NaN too). */
static tra_node *position(tra_build *b, tra_span span, tra_einsum *s, const struct aggregation *how) {
    int along[TRA_MAXLABELS], n = aggregated(s, along);
    if (n != 1) {
        tra_diag_error(b->d, span, "aggregate the others before, by max or min",
                       "%s gives the position along one label, but %d are aggregated here", how->name, n);
        return NULL;
    }
    if (s->nout + 1 > TRA_MAXDIM / 2) {
        tra_diag_error(b->d, span, NULL, "%s needs a tensor of %d dimensions, more than %d", how->name, s->nout + 1,
                       TRA_MAXDIM / 2);
        return NULL;
    }
    if (rows_of(s, along[0])) {
        tra_diag_error(
            b->d, span, "number the rows of the table, project(T, *, i = row()), and order it by the values",
            "%s gives the position along label '%s', which the rows before tell, and only the run counts these",
            how->name, s->name[along[0]]);
        return NULL;
    }
    tra_einsum *all = same_labels(b, s, 0);
    all->nrefs = s->nrefs;
    all->ref = s->ref;
    all->out[all->nout++] = along[0];
    all->expr = s->expr;
    tra_node *values = tra_statement(b, span, all);
    if (!values) return NULL;
    tra_einsum *folded = same_labels(b, s, 1);
    folded->fold = how->fold;
    folded->expr = add_ref(b, folded, values, all->nout, all->out);
    tra_node *extreme = tra_statement(b, span, folded);
    if (!extreme) return NULL;
    tra_einsum *t = same_labels(b, s, 3);
    t->fold = TRA_S_MIN;
    const tra_scalar *x = add_ref(b, t, values, all->nout, all->out), *m = add_ref(b, t, extreme, s->nout, s->out);
    const tra_scalar *here = tra_scalar_of(b->arena, TRA_S_OR, tra_scalar_of(b->arena, TRA_S_EQ, x, m),
                                           tra_scalar_of(b->arena, TRA_S_ISNAN, x, NULL));
    const tra_scalar *i = add_ref(b, t, NULL, 1, along);
    t->expr = tra_scalar_of3(b->arena, TRA_S_IF, here, i, tra_scalar_number(b->arena, (double)s->extent[along[0]]));
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

tra_node *tra_aggregation(tra_build *b, tra_span span, tra_einsum *s, const char *name) {
    const struct aggregation *how = find(name);
    if (!how) {
        tra_diag_error(b->d, span, "aggregations are sum mean max min prod argmin argmax",
                       "there is no aggregation '%s'", name);
        return NULL;
    }
    s->fold = how->fold;
    if (how->mean) return mean(b, span, s);
    if (how->position) return position(b, span, s, how);
    return how->fold == TRA_S_MAX || how->fold == TRA_S_MIN ? extreme(b, span, s) : tra_statement(b, span, s);
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
    n->path = tra_rel_positions(b->arena, extent, block);
    if (tra_rel_open(n->path, NULL, &n->rel, &e) != TRA_OK) {
        tra_diag_error(b->d, span, NULL, "%s", e.msg);
        return NULL;
    }
    n->type = *tra_rel_type(n->rel);
    return n;
}
