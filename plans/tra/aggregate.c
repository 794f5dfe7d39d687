/* aggregate.c - aggregations that are several statements: mean, argmin and argmax; and the positions along a label. */
#include "lower.h"
#include "table_build.h"

#include <string.h>

static const struct word {
    const char *name;
    tra_scalar_op fold;
    bool position, mean;
} words[] = {{"sum", TRA_S_ADD, false, false},  {"prod", TRA_S_MUL, false, false}, {"max", TRA_S_MAX, false, false},
             {"min", TRA_S_MIN, false, false},  {"mean", TRA_S_ADD, false, true},  {"argmin", TRA_S_MIN, true, false},
             {"argmax", TRA_S_MAX, true, false}};

static const struct word *find(const char *name) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, name) == 0) return &words[i];
    return NULL;
}

bool tra_aggregation_word(const char *word) { return find(word) != NULL; }

/* ---- statements over the labels of another one ------------------------------------------------------------------- */

static const tra_scalar *make(tra_build *b, tra_scalar_op op, const tra_scalar *x, const tra_scalar *y,
                              const tra_scalar *z) {
    tra_scalar *s = tra_new(b->arena, tra_scalar);
    *s = (tra_scalar){.op = op, .a = x, .b = y, .c = z};
    return s;
}

static const tra_scalar *argument(tra_build *b, int i) {
    tra_scalar *s = tra_new(b->arena, tra_scalar);
    *s = (tra_scalar){.op = TRA_S_ARG, .arg = i};
    return s;
}

static const tra_scalar *number(tra_build *b, double v) {
    tra_scalar *s = tra_new(b->arena, tra_scalar);
    *s = (tra_scalar){.op = TRA_S_CONST, .value = v};
    return s;
}

/* A statement with the same labels and result as s, without references, but with room for nrefs. */
static tra_einsum *like(tra_build *b, const tra_einsum *s, int nrefs) {
    tra_einsum *t = tra_new(b->arena, tra_einsum);
    *t = *s;
    t->node = NULL;
    t->nrefs = 0;
    t->ref = tra_news(b->arena, tra_einsum_ref, nrefs);
    t->fold = TRA_S_ADD;
    return t;
}

/* A reference to the tensor over these labels, as an argument; node NULL: to the positions along the one label. */
static const tra_scalar *refer(tra_build *b, tra_einsum *s, const tra_node *x, int n, const int *label) {
    tra_einsum_ref *r = &s->ref[s->nrefs];
    *r = (tra_einsum_ref){.node = x, .n = n};
    for (int d = 0; d < n; d++) r->label[d] = label[d];
    return argument(b, s->nrefs++);
}

static int aggregated(const tra_einsum *s, int *label) {
    int n = 0;
    for (int l = 0; l < s->nlabels; l++) {
        bool kept = false;
        for (int d = 0; d < s->nout; d++) kept = kept || s->out[d] == l;
        if (!kept) label[n++] = l;
    }
    return n;
}

/* A statement with the same result as s, of nrefs tensors over the labels of the result alone. */
static tra_einsum *after(tra_build *b, const tra_einsum *s, int nrefs) {
    tra_einsum *t = like(b, s, nrefs);
    t->nlabels = s->nout;
    for (int d = 0; d < s->nout; d++) {
        t->name[d] = s->name[s->out[d]];
        t->extent[d] = s->extent[s->out[d]];
        t->block[d] = s->block[s->out[d]];
        t->out[d] = d;
    }
    return t;
}

/* ---- the words --------------------------------------------------------------------------------------------------- */

static tra_node *mean(tra_build *b, tra_span span, tra_einsum *s) {
    int label[TRA_MAXLABELS], n = aggregated(s, label);
    double terms = 1;
    for (int i = 0; i < n; i++) terms *= (double)s->extent[label[i]];
    tra_node *sum = tra_statement(b, span, s);
    if (!sum) return NULL;
    tra_einsum *t = after(b, s, 1);
    t->expr = make(b, TRA_S_DIV, refer(b, t, sum, t->nout, t->out), number(b, terms), NULL);
    return tra_statement(b, span, t);
}

/* argmin and argmax as three statements: the values; their extreme; the least position at which a value equals it, or
 * is NaN (then the extreme is NaN too). */
static tra_node *position(tra_build *b, tra_span span, tra_einsum *s, const struct word *word) {
    int along[TRA_MAXLABELS], n = aggregated(s, along);
    if (n != 1) {
        tra_diag_error(b->d, span, "aggregate the others before, by max or min",
                       "%s gives the position along one label, but %d are aggregated here", word->name, n);
        return NULL;
    }
    if (s->nout + 1 > TRA_MAXDIM / 2) {
        tra_diag_error(b->d, span, NULL, "%s needs a tensor of %d dimensions, more than %d", word->name, s->nout + 1,
                       TRA_MAXDIM / 2);
        return NULL;
    }
    tra_einsum *all = like(b, s, 0);
    all->nrefs = s->nrefs;
    all->ref = s->ref;
    all->out[all->nout++] = along[0];
    all->expr = s->expr;
    tra_node *values = tra_statement(b, span, all);
    if (!values) return NULL;
    tra_einsum *most = like(b, s, 1);
    most->fold = word->fold;
    most->expr = refer(b, most, values, all->nout, all->out);
    tra_node *extreme = tra_statement(b, span, most);
    if (!extreme) return NULL;
    tra_einsum *t = like(b, s, 3);
    t->fold = TRA_S_MIN;
    const tra_scalar *x = refer(b, t, values, all->nout, all->out), *m = refer(b, t, extreme, s->nout, s->out);
    const tra_scalar *here =
        make(b, TRA_S_OR, make(b, TRA_S_EQ, x, m, NULL), make(b, TRA_S_ISNAN, x, NULL, NULL), NULL);
    const tra_scalar *i = refer(b, t, NULL, 1, along);
    t->expr = make(b, TRA_S_IF, here, i, number(b, (double)s->extent[along[0]]));
    return tra_statement(b, span, t);
}

/* Labels that are aggregated, of rows of which only the run tells how many there are, and the table that has them. */
static int counted_labels(const tra_einsum *s, int *label, const tra_node **table) {
    int all[TRA_MAXLABELS], n = 0, nall = aggregated(s, all);
    for (int l = 0; l < nall; l++)
        for (int i = 0, found = 0; i < s->nrefs && !found; i++)
            for (int d = 0; d < s->ref[i].n && !found; d++) {
                const tra_node *x = s->ref[i].node;
                if (s->ref[i].label[d] != all[l] || !x || !(x->type.bounded >> d & 1)) continue;
                label[n] = all[l];
                table[n++] = x->rows ? x->rows[d] : NULL;
                found = 1;
            }
    return n;
}

/* Wraps a maximum or minimum over rows of which only the run tells how many there are: without rows it is an error. */
static tra_node *of_some(tra_build *b, tra_span span, tra_einsum *s, int n, const tra_node *const *table) {
    tra_node *extreme = tra_statement(b, span, s);
    if (!extreme) return NULL;
    tra_einsum *t = after(b, s, 1 + n);
    const tra_scalar *x = refer(b, t, extreme, t->nout, t->out), *some = NULL;
    for (int i = 0; i < n; i++) {
        if (!table[i])
            tra_diag_error(b->d, span, "make the matrix of a table here", "no table says how many rows there are");
        const tra_node *count = table[i] ? tra_table_count_rows(b, span, table[i]) : NULL;
        if (!count) return NULL;
        const tra_scalar *one = make(b, TRA_S_SOME, refer(b, t, count, 0, NULL), NULL, NULL);
        some = some ? make(b, TRA_S_AND, some, one, NULL) : one;
    }
    t->expr = make(b, TRA_S_IF, some, x, x);
    return tra_statement(b, span, t);
}

tra_node *tra_aggregation(tra_build *b, tra_span span, tra_einsum *s, const char *name) {
    const struct word *word = find(name);
    if (!word) {
        tra_diag_error(b->d, span, "the words are sum mean max min prod argmin argmax", "there is no aggregation '%s'",
                       name);
        return NULL;
    }
    int label[TRA_MAXLABELS];
    const tra_node *table[TRA_MAXLABELS];
    int counted = counted_labels(s, label, table);
    s->fold = word->fold;
    if ((word->mean || word->position) && counted) {
        tra_diag_error(b->d, span,
                       "write a sum and divide it by rows(T), or aggregate the table: group(T, [], m = mean(x))",
                       "%s over label '%s' needs to know how many rows there are, which only the run tells", name,
                       s->name[label[0]]);
        return NULL;
    }
    if (word->mean) return mean(b, span, s);
    if (counted && (word->fold == TRA_S_MAX || word->fold == TRA_S_MIN)) return of_some(b, span, s, counted, table);
    return word->position ? position(b, span, s, word) : tra_statement(b, span, s);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

tra_node *tra_positions(tra_build *b, tra_span span, int64_t extent, int64_t block) {
    tra_err e = {0};
    const char *name = tra_arena_printf(b->arena, "index.%" PRId64 ".%" PRId64, extent, block); /* none of a program */
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
