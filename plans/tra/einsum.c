/* einsum.c - EinSum statements: what labels bind, which blocks a label has, and the lowering of both to operators. */
#include "lower.h"

#include <math.h>
#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------------------- */

/* References that may stay as they are: a grid whose dimensions of one label are cut alike. Others move in any case. */
static bool can_stay(const tra_einsum_ref *r) {
    if (!r->node) return false; /* positions, which are made in any blocks */
    const tra_catalog *c = r->node->type.cat;
    for (int d = 0; d < r->n; d++)
        for (int j = 0; j < d; j++)
            if (r->label[j] == r->label[d] && c->bound.v[j] != c->bound.v[d]) return false;
    return c->grid;
}

/* Is there a label that the two have in other blocks? */
static bool conflict(const tra_einsum_ref *x, const tra_einsum_ref *y) {
    for (int d = 0; d < x->n; d++)
        for (int j = 0; j < y->n; j++)
            if (x->label[d] == y->label[j] && x->node->type.cat->bound.v[d] != y->node->type.cat->bound.v[j])
                return true;
    return false;
}

static double bytes_of(const tra_einsum_ref *r) { return (double)tra_type_bytes_all(&r->node->type).expected; }

/* The choice of references that stay. */
typedef struct staying {
    const tra_einsum *s;
    int n, *ref; /* those that may, the largest first */
    bool *in, *best;
    double most;   /* bytes of the best choice */
    int64_t nodes; /* how many choices may still be looked at */
} staying;

/* Tries both for each from i on; the first choice is the greedy one. Of equal ones the first stays. */
static void choose_staying(staying *w, int i, double bytes, double left) {
    if (bytes + left <= w->most || (w->most >= 0 && --w->nodes < 0)) return;
    if (i == w->n) {
        w->most = bytes;
        memcpy(w->best, w->in, (size_t)w->s->nrefs * sizeof *w->in);
        return;
    }
    const tra_einsum_ref *r = &w->s->ref[w->ref[i]];
    bool fits = true;
    double own = bytes_of(r);
    for (int j = 0; j < i && fits; j++) fits = !w->in[w->ref[j]] || !conflict(r, &w->s->ref[w->ref[j]]);
    if (fits) {
        w->in[w->ref[i]] = true;
        choose_staying(w, i + 1, bytes + own, left - own);
        w->in[w->ref[i]] = false;
    }
    choose_staying(w, i + 1, bytes, left - own);
}

enum { CHOICES = 20000 };

/* The blocks for which the fewest bytes of references have to be cut anew: the largest set that agrees stays as it is.
 * A label that none of these has is cut as the largest of the others has it. */
static void choose_blocks(tra_build *b, tra_einsum *s) {
    staying w = {.s = s, .most = -1, .nodes = CHOICES};
    double all = 0, size[TRA_MAXLABELS];
    w.ref = tra_news(b->arena, int, s->nrefs);
    w.in = tra_news(b->arena, bool, s->nrefs);
    w.best = tra_news(b->arena, bool, s->nrefs);
    for (int i = 0; i < s->nrefs; i++) {
        if (!can_stay(&s->ref[i])) continue;
        int at = w.n++;
        for (; at > 0 && bytes_of(&s->ref[w.ref[at - 1]]) < bytes_of(&s->ref[i]); at--) w.ref[at] = w.ref[at - 1];
        w.ref[at] = i;
        all += bytes_of(&s->ref[i]);
    }
    choose_staying(&w, 0, 0, all);
    for (int l = 0; l < s->nlabels; l++) size[l] = -1;
    for (int i = 0; i < s->nrefs; i++)
        for (int d = 0; d < s->ref[i].n && s->ref[i].node; d++) {
            int l = s->ref[i].label[d];
            double own = w.best[i] ? INFINITY : bytes_of(&s->ref[i]);
            if (own <= size[l]) continue;
            size[l] = own;
            s->block[l] = s->ref[i].node->type.cat->bound.v[d];
        }
}

/* Blocks on the diagonal of a reference, for each value of its other labels. */
static double diagonal_blocks(const tra_einsum *s, const tra_einsum_ref *r, int *most, bool *repeated) {
    double n = 1;
    uint64_t seen = 0;
    *most = -1;
    *repeated = false;
    for (int d = 0; d < r->n; d++) {
        int l = r->label[d];
        *repeated |= seen >> l & 1;
        if (seen >> l & 1) continue;
        seen |= (uint64_t)1 << l;
        n *= (double)tra_ceil_div(s->extent[l], s->block[l]);
        if (*most < 0 || tra_ceil_div(s->extent[l], s->block[l]) > tra_ceil_div(s->extent[*most], s->block[*most]))
            *most = l;
    }
    return n;
}

/* The blocks of a diagonal are listed: larger ones where there would be too many. */
static void widen_diagonals(tra_einsum *s) {
    for (int i = 0; i < s->nrefs; i++) {
        int most;
        bool repeated;
        while (diagonal_blocks(s, &s->ref[i], &most, &repeated) > TRA_MAX_LIST && repeated)
            s->block[most] = tra_min64(2 * s->block[most], s->extent[most]);
    }
}

/* ---- from a checked statement to nodes ---------------------------------------------------------------------- */

static tra_keyexpr *key_var(tra_arena *a, int d) {
    tra_keyexpr *x = tra_new(a, tra_keyexpr);
    *x = (tra_keyexpr){.op = TRA_KEY_VAR, .var = d};
    return x;
}

/* The diagonal over the labels that stand twice: of the blocks only those on it are used. */
static bool take_diagonal(tra_lowering *w, const tra_einsum_ref *r, tra_operand *x) {
    tra_arena *a = w->b->arena;
    tra_keyfn *on = tra_new(a, tra_keyfn), *key = tra_new(a, tra_keyfn);
    char text[2 * TRA_MAXDIM + 4], *to = text;
    for (int d = 0; d < r->n; d++) {
        int at = 0;
        while (r->label[at] != r->label[d]) at++;
        on->names[d] = key->names[d] = tra_arena_printf(a, "k%d", d);
        *to++ = (char)('a' + at);
        if (at == d) {
            key->expr[key->n++] = key_var(a, d);
            x->label[x->n++] = r->label[d];
            continue;
        }
        tra_keyexpr *eq = tra_new(a, tra_keyexpr);
        *eq = (tra_keyexpr){.op = TRA_KEY_EQ, .a = key_var(a, at), .b = key_var(a, d)};
        if (on->n) {
            tra_keyexpr *both = tra_new(a, tra_keyexpr);
            *both = (tra_keyexpr){.op = TRA_KEY_AND, .a = on->expr[0], .b = eq};
            eq = both;
        }
        on->expr[0] = eq;
        on->n = 1;
    }
    on->arity = key->arity = r->n;
    if (x->n == r->n) return true;
    *to++ = '-', *to++ = '>';
    for (int d = 0; d < x->n; d++) *to++ = (char)('a' + key->expr[d]->var);
    *to = 0;
    const tra_kernel *diagonal;
    if (tra_kernel_einsum(a, text, &diagonal, NULL) != TRA_OK) return false;
    x->node =
        tra_lower_labels(w, tra_lower_node(w, TRA_OP_FILTER, &(tra_node){.in = {x->node}, .keyfn = on}), r->label);
    if (x->node) x->node = tra_lower_node(w, TRA_OP_REKEY, &(tra_node){.in = {x->node}, .keyfn = key});
    if (tra_lower_labels(w, x->node, x->label))
        x->node = tra_lower_node(w, TRA_OP_TRANSFORM, &(tra_node){.in = {x->node}, .kernel = diagonal});
    return tra_lower_labels(w, x->node, x->label) != NULL;
}

/* A reference as an operand: a full grid (holes become zeros) in the blocks of its labels. */
static bool add_operand(tra_lowering *w, const tra_einsum *s, tra_einsum_ref *r) {
    tra_operand x = {.node = w->b->g->v[r->node->id]};
    const tra_catalog *c = x.node->type.cat;
    tra_dims block = {.n = r->n};
    bool fits = c->grid;
    for (int d = 0; d < r->n; d++) {
        block.v[d] = s->block[r->label[d]];
        fits = fits && block.v[d] == c->bound.v[d];
    }
    r->moved = !fits;
    if (!fits) x.node = tra_lower_node(w, TRA_OP_REPART, &(tra_node){.in = {x.node}, .block = block});
    if (!x.node || !take_diagonal(w, r, &x)) return false;
    tra_lower_operand(w, &x);
    return true;
}

/* Is the result a relation that there is already? A node that was made to help with another statement is none, if it
 * comes after all that this one reads. */
static bool is_known(const tra_graph *g, const tra_einsum *s, int before) {
    if (s->node->id >= before) return false;
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node->id >= s->node->id) return true;
    for (int i = 0; i < g->neinsums; i++)
        if (g->einsums[i]->node == s->node) return true;
    return s->node->name != NULL;
}

/* Something whose type is not that of its operands: comparisons, and `if` with numbers. */
static bool has_comparison(const tra_scalar *e) {
    tra_scalar_class class = tra_scalar_class_of(e->op);
    bool compares = class == TRA_SC_BOOL || class == TRA_SC_IF;
    return compares || (e->a && has_comparison(e->a)) || (e->b && has_comparison(e->b)) ||
           (e->c && has_comparison(e->c));
}

/* A label that stands for rows of which only the run tells how many there are stands for those of one table. */
static bool check_rows(tra_build *b, tra_span span, const tra_einsum *s) {
    const tra_node *rows[TRA_MAXLABELS] = {NULL};
    bool seen[TRA_MAXLABELS] = {false};
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *x = s->ref[i].node;
        for (int d = 0; d < s->ref[i].n; d++) {
            int l = s->ref[i].label[d];
            const tra_node *own = x && (x->type.bounded >> d & 1) ? (x->rows ? x->rows[d] : x) : NULL;
            if (!seen[l] || rows[l] == own) {
                seen[l] = true;
                rows[l] = own;
                continue;
            }
            tra_diag_error(b->d, span, "make both matrices of one table; join brings the rows of two together",
                           "label '%s' stands for rows of different tables, and only the run tells how many there are",
                           s->name[l]);
            return false;
        }
    }
    return true;
}

/* The labels of each label of the statement: of all references that have some the same. */
static bool read_labels(tra_build *b, tra_span span, const tra_einsum *s, const tra_dim_labels **of) {
    int from[TRA_MAXLABELS];
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *x = s->ref[i].node;
        for (int d = 0; x && x->labels && d < s->ref[i].n; d++) {
            int l = s->ref[i].label[d];
            const tra_dim_labels *own = x->labels[d];
            int64_t at = own && of[l] ? tra_dim_labels_differ(of[l], own) : -1;
            if (own && !of[l]) of[l] = own, from[l] = i;
            if (at < 0) continue;
            const tra_node *y = s->ref[from[l]].node;
            tra_diag_error(b->d, span, "bring them into one order, or select the same columns of both",
                           "label '%s' stands for different things: position %" PRId64 " is '%s' in %s, '%s' in %s",
                           s->name[l], at, tra_dim_labels_text(b->arena, of[l], at),
                           y->name ? y->name : "one reference", tra_dim_labels_text(b->arena, own, at),
                           x->name ? x->name : "another");
            return false;
        }
    }
    return true;
}

static void set_labels(tra_build *b, const tra_einsum *s, const tra_dim_labels *const *of) {
    const tra_dim_labels **labels = tra_news(b->arena, const tra_dim_labels *, TRA_MAXDIM);
    bool any = false;
    for (int d = 0; d < s->nout; d++) any |= (labels[d] = of[s->out[d]]) != NULL;
    if (any && !s->node->labels) s->node->labels = labels;
}

/* What is lowered to several kernels, as an if of three operands, may have lost that the whole expression is 0 where
 * its operands of sparse type are: the type is that of the expression. */
static tra_node *sparse_as_a_whole(tra_lowering *w, const tra_einsum *s, tra_node *x) {
    bool *sparse = tra_news(w->b->arena, bool, s->nrefs);
    tra_node fields = {.in = {x}};
    tra_err e = {0};
    for (int i = 0; i < s->nrefs; i++) sparse[i] = s->ref[i].node->type.sparse;
    if (!x || x->type.sparse || !tra_scalar_sparse(s->expr, sparse)) return x;
    if (tra_kernel_named(w->b->arena, "sparsify", TRA_USE_MAP, 0, NULL, &fields.kernel, &e) != TRA_OK) return NULL;
    return tra_lower_node(w, TRA_OP_TRANSFORM, &fields);
}

/* It is kept in the graph unless its result is known. */
tra_node *tra_statement(tra_build *b, tra_span span, tra_einsum *s) {
    const tra_dim_labels *of[TRA_MAXLABELS] = {NULL};
    if (!check_rows(b, span, s) || !read_labels(b, span, s, of)) return NULL;
    tra_graph *g = b->g;
    int before = g->n;
    choose_blocks(b, s);
    widen_diagonals(s);
    tra_lowering w = {.b = b, .span = span, .nlabels = s->nlabels, .name = s->name, .extent = s->extent};
    w.sums = s->nlabels > s->nout && (s->fold == TRA_S_ADD || s->fold == TRA_S_MUL);
    w.compares = has_comparison(s->expr);
    for (int i = 0; i < s->nrefs; i++) {
        int l = s->ref[i].label[0];
        if (!s->ref[i].node) s->ref[i].node = tra_positions(b, span, s->extent[l], s->block[l]);
        if (!s->ref[i].node) return NULL;
    }
    for (int i = 0; i < s->nrefs; i++) {
        tra_dtype t = s->ref[i].node->type.dtype;
        w.integers = w.integers || !tra_dtype_is_float(t);
        w.single = w.single || (tra_dtype_is_float(t) && tra_dtype_rows[t].sum != t);
    }
    for (int i = 0; i < s->nrefs; i++)
        if (!add_operand(&w, s, &s->ref[i])) return NULL;
    s->node = sparse_as_a_whole(&w, s, tra_lower(&w, s->expr, s->fold, s->nout, s->out));
    if (s->node) set_labels(b, s, of);
    if (!s->node || is_known(g, s, before)) return s->node;
    if ((g->neinsums & (g->neinsums - 1)) == 0) {
        const tra_einsum **v = tra_news(b->arena, const tra_einsum *, g->neinsums ? 2 * g->neinsums : 1);
        if (g->neinsums) memcpy(v, g->einsums, (size_t)g->neinsums * sizeof *v);
        g->einsums = v;
    }
    g->einsums[g->neinsums++] = s;
    return s->node;
}

/* ---- statements --------------------------------------------------------------------------------------------- */

typedef struct reading {
    tra_build *b;
    tra_einsum *s;
    const tra_ast *whole;          /* the right side */
    tra_span first[TRA_MAXLABELS]; /* where each label was bound */
    int cap;
    bool ok;
} reading;

static int find_label(const tra_einsum *s, const char *name) {
    for (int l = 0; l < s->nlabels; l++)
        if (strcmp(s->name[l], name) == 0) return l;
    return -1;
}

/* The label of a dimension of the given extent; -1 after a diagnostic. */
static int bind_label(reading *r, const tra_ast *x, int64_t extent) {
    tra_einsum *s = r->s;
    int l = find_label(s, x->text);
    if (l >= 0 && s->extent[l] != extent) {
        tra_diag_error(r->b->d, x->span, "a label binds one extent everywhere",
                       "label '%s' has the extent %" PRId64 " here, but %" PRId64 " before", x->text, extent,
                       s->extent[l]);
        tra_diag_also(r->b->d, r->first[l], "bound here");
        return -1;
    }
    if (l >= 0) return l;
    if (s->nlabels == TRA_MAXLABELS) {
        tra_diag_error(r->b->d, x->span, NULL, "a statement has at most %d labels", TRA_MAXLABELS);
        return -1;
    }
    r->first[s->nlabels] = x->span;
    s->name[s->nlabels] = x->text;
    s->extent[s->nlabels] = extent;
    return s->nlabels++;
}

/* The number of the reference as an argument. */
static int add_ref(reading *r, const tra_einsum_ref *ref) {
    tra_einsum *s = r->s;
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node == ref->node && s->ref[i].n == ref->n &&
            memcmp(s->ref[i].label, ref->label, (size_t)ref->n * sizeof ref->label[0]) == 0)
            return i;
    TRA_ARENA_ROOM(r->b->arena, s->ref, s->nrefs, r->cap);
    s->ref[s->nrefs] = *ref;
    return s->nrefs++;
}

/* Are all relations that x refers to known? */
static bool all_known(const tra_build *b, const tra_ast *x) {
    int at = x->kind == TRA_AST_INDEX ? tra_names_find(&b->symbols, x->text) : -1;
    if (x->kind == TRA_AST_INDEX) return at >= 0 && ((const tra_symbol *)b->symbols.value[at])->node;
    for (int i = 0; i < x->nkids; i++)
        if (!all_known(b, x->kids[i])) return false;
    return true;
}

/* Extent and block of a label by the first reference X[.., label, ..] below x. */
static bool find_extent(const tra_build *b, const tra_ast *x, const char *label, int64_t *extent, int64_t *block) {
    int at = x->kind == TRA_AST_INDEX ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *symbol = at >= 0 ? b->symbols.value[at] : NULL;
    tra_dims shape;
    if (symbol && symbol->node && symbol->ok && tra_type_is_blocked(&symbol->node->type, NULL)) {
        tra_type_shape(&symbol->node->type, &shape);
        for (int d = 0; d < x->nkids && d < shape.n; d++) {
            if (strcmp(x->kids[d]->text, label) != 0) continue;
            *extent = shape.v[d];
            *block = tra_max64(1, symbol->node->type.cat->bound.v[d]);
            return true;
        }
    }
    for (int i = 0; i < x->nkids && x->kind != TRA_AST_INDEX; i++)
        if (find_extent(b, x->kids[i], label, extent, block)) return true;
    return false;
}

/* index(i) */
static int read_index(reading *r, const tra_ast *x) {
    tra_einsum_ref ref = {.n = 1};
    int64_t extent = 0, block = 1;
    r->ok = false;
    if (x->nkids != 1 || x->kids[0]->kind != TRA_AST_NAME) {
        tra_diag_error(r->b->d, x->span, "write index(i)", "index takes a label, whose positions it is");
        return -1;
    }
    if (!find_extent(r->b, r->whole, x->kids[0]->text, &extent, &block)) {
        if (!all_known(r->b, r->whole)) return -1; /* that is told */
        tra_diag_error(r->b->d, x->kids[0]->span, "its extent is that of a reference's dimension: X[i,j]",
                       "no reference of the statement has the label '%s'", x->kids[0]->text);
        return -1;
    }
    bool is_new = find_label(r->s, x->kids[0]->text) < 0;
    ref.label[0] = bind_label(r, x->kids[0], extent);
    if (ref.label[0] < 0) return -1;
    if (is_new) r->s->block[ref.label[0]] = block;
    r->ok = true;
    return add_ref(r, &ref);
}

static int read_aggregate(reading *r, const tra_ast *x);

/* X[i,j]: the number of its argument. Labels are bound also where other things are wrong, as far as they can be. */
static int read_ref(void *ctx, const tra_ast *x) {
    reading *r = ctx;
    tra_build *b = r->b;
    if (x->kind == TRA_AST_CALL) return read_index(r, x);
    if (x->kind == TRA_AST_AGGREGATE) return read_aggregate(r, x);
    r->ok = false;
    tra_symbol *symbol = tra_build_relation_symbol(b, x->text, x->name_span);
    if (!symbol) return -1;
    const tra_node *n = symbol->node;
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(&n->type, &why)) {
        tra_diag_error(b->d, x->span, "tra check prints the type of each relation",
                       "EinSum needs tensors in blocks; of '%s' %s", x->text, why);
        return -1;
    }
    tra_type_shape(&n->type, &shape);
    if (shape.n != x->nkids) {
        tra_diag_error(b->d, x->span, NULL, "%d label%s for '%s', a tensor of %d dimension%s", x->nkids,
                       x->nkids == 1 ? "" : "s", x->text, shape.n, shape.n == 1 ? "" : "s");
        return -1;
    }
    tra_einsum_ref ref = {.node = n, .n = x->nkids};
    bool ok = true;
    for (int d = 0; d < x->nkids; d++) {
        ref.label[d] = bind_label(r, x->kids[d], shape.v[d]);
        ok = ok && ref.label[d] >= 0;
    }
    if (!ok) return -1;
    r->ok = true;
    return add_ref(r, &ref);
}

/* Numbers that need no reference are computed now. */
static const tra_scalar *fold_numbers(tra_arena *a, const tra_scalar *e) {
    if (e->op == TRA_S_ARG || e->op == TRA_S_CONST) return e;
    tra_scalar *s = tra_new(a, tra_scalar);
    *s = (tra_scalar){.op = e->op, .a = fold_numbers(a, e->a), .b = e->b ? fold_numbers(a, e->b) : NULL};
    s->c = e->c ? fold_numbers(a, e->c) : NULL;
    if (s->a->op == TRA_S_CONST && (!s->b || s->b->op == TRA_S_CONST) && (!s->c || s->c->op == TRA_S_CONST))
        *s = (tra_scalar){.op = TRA_S_CONST, .value = tra_scalar_eval(s, NULL)};
    return s;
}

static bool check_left(reading *r, const tra_stmt *st, bool bound) {
    tra_einsum *s = r->s;
    bool ok = true;
    if (st->nlabels > TRA_MAXDIM / 2) {
        tra_diag_error(r->b->d, st->labels[TRA_MAXDIM / 2]->span, NULL,
                       "a result of %d dimensions: with a key for each at most %d", st->nlabels, TRA_MAXDIM / 2);
        return false;
    }
    for (int d = 0; d < st->nlabels; d++) {
        const tra_ast *x = st->labels[d];
        for (int j = 0; j < d; j++) {
            if (strcmp(x->text, st->labels[j]->text) != 0) continue;
            tra_diag_error(r->b->d, x->span, "a diagonal can only be read, not written",
                           "label '%s' stands twice on the left", x->text);
            ok = false;
        }
        s->out[d] = find_label(s, x->text);
        if (s->out[d] >= 0 || !bound) continue;
        tra_diag_error(r->b->d, x->span, "each label of the result needs a dimension that says how far it runs",
                       "label '%s' is nowhere on the right", x->text);
        ok = false;
    }
    s->nout = st->nlabels;
    return ok;
}

static bool on_left(const tra_einsum *s, int label) {
    for (int d = 0; d < s->nout; d++)
        if (s->out[d] == label) return true;
    return false;
}

static bool check_aggregation(reading *r, const tra_stmt *st) {
    tra_einsum *s = r->s;
    int aggregated = 0;
    for (int l = 0; l < s->nlabels; l++) {
        if (on_left(s, l)) continue;
        aggregated++;
        if (!st->agg) {
            tra_diag_error(
                r->b->d, r->first[l],
                tra_arena_printf(r->b->arena,
                                 "write sum, mean, max, min, prod, argmax or argmin after '=': %s[...] = sum ...",
                                 st->name),
                "label '%s' is not on the left, and nothing says how it is aggregated", s->name[l]);
            return false;
        }
        if (s->extent[l] == 0) {
            tra_diag_error(r->b->d, r->first[l], NULL, "label '%s' is aggregated, but has the extent 0", s->name[l]);
            return false;
        }
    }
    if (st->agg && !aggregated)
        tra_diag_warn(r->b->d, st->agg_span, NULL, "%s aggregates nothing: all labels are on the left", st->agg);
    return true;
}

/* Does it refer to anything but positions? */
static bool has_reference(const tra_einsum *s) {
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node) return true;
    return false;
}

/* sum[k](X[i,k]): a statement of its own, whose labels besides k are those of this one. */
static int read_aggregate(reading *r, const tra_ast *x) {
    tra_build *b = r->b;
    reading q = {.b = b, .s = tra_new(b->arena, tra_einsum), .whole = r->whole, .ok = true};
    tra_einsum *s = q.s;
    r->ok = false;
    const tra_scalar *e = tra_build_indexed(b, x->kids[x->nkids - 1], read_ref, &q);
    if (!e) return -1;
    uint64_t gone = 0;
    for (int i = 0; i < x->nkids - 1; i++) {
        int l = find_label(s, x->kids[i]->text);
        if (l < 0 || s->extent[l] == 0) {
            tra_diag_error(b->d, x->kids[i]->span, NULL,
                           l < 0 ? "label '%s' is nowhere in what is aggregated"
                                 : "label '%s' is aggregated, but has the extent 0",
                           x->kids[i]->text);
            return -1;
        }
        gone |= (uint64_t)1 << l;
    }
    if (!gone || !has_reference(s) || s->nlabels - __builtin_popcountll(gone) > TRA_MAXDIM / 2) {
        tra_diag_error(b->d, x->span, "write for instance sum[k](X[i,k])",
                       "an aggregation in an expression names labels of references in it, and keeps at most %d",
                       TRA_MAXDIM / 2);
        return -1;
    }
    for (int l = 0; l < s->nlabels; l++)
        if (!(gone >> l & 1)) s->out[s->nout++] = l;
    s->expr = fold_numbers(b->arena, e);
    tra_einsum_ref ref = {.n = s->nout, .node = tra_aggregation(b, x->span, s, x->text)};
    if (!ref.node) return -1;
    for (int d = 0; d < s->nout; d++) {
        const tra_ast label = {.kind = TRA_AST_NAME, .span = q.first[s->out[d]], .text = s->name[s->out[d]]};
        ref.label[d] = bind_label(r, &label, s->extent[s->out[d]]);
        if (ref.label[d] < 0) return -1;
    }
    r->ok = true;
    return add_ref(r, &ref);
}

/* sum (X[i,j]) + 1 */
static void warn_of_part(const reading *r, const tra_stmt *st) {
    if (st->agg_part.len == 0) return;
    const char *text = r->b->g->src->text;
    tra_span part = st->agg_part;
    int from = part.at + part.len, end = st->value->span.at + st->value->span.len;
    tra_str labels = {0};
    for (int l = 0; l < r->s->nlabels; l++)
        if (!on_left(r->s, l)) tra_str_printf(&labels, "%s%s", labels.n ? "," : "", r->s->name[l]);
    tra_diag_warn(r->b->d, part,
                  tra_arena_printf(r->b->arena, "for the %s of the parenthesis alone write %s[%s]%.*s%.*s", st->agg,
                                   st->agg, tra_str_get(&labels), part.len, text + part.at, end > from ? end - from : 0,
                                   text + from),
                  "%s covers all that follows '=', also what comes after this parenthesis", st->agg);
    tra_str_free(&labels);
}

tra_node *tra_build_einsum(tra_build *b, const tra_stmt *st) {
    reading r = {.b = b, .s = tra_new(b->arena, tra_einsum), .whole = st->value, .ok = true};
    tra_einsum *s = r.s;
    const tra_scalar *e = tra_build_indexed(b, st->value, read_ref, &r);
    bool left = check_left(&r, st, e != NULL);
    if (!e || !left || !check_aggregation(&r, st)) return NULL;
    if (!has_reference(s)) {
        tra_diag_error(b->d, st->value->span, "a number alone is a param",
                       "an EinSum statement needs a reference such as X[i,j]");
        return NULL;
    }
    warn_of_part(&r, st);
    s->expr = fold_numbers(b->arena, e);
    return tra_aggregation(b, st->span, s, st->agg ? st->agg : "sum");
}

/* ---- macros ------------------------------------------------------------------------------------------------- */

/* A statement about tensors over the first labels of x's dimensions. */
static tra_einsum *start(tra_build *b, const tra_node *x, int nrefs) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w"};
    tra_einsum *s = tra_new(b->arena, tra_einsum);
    tra_dims shape;
    tra_type_shape(&x->type, &shape);
    s->nlabels = s->nout = shape.n;
    s->fold = TRA_S_ADD;
    for (int d = 0; d < shape.n; d++) {
        s->name[d] = names[d];
        s->extent[d] = shape.v[d];
        s->out[d] = d;
    }
    s->nrefs = nrefs;
    s->ref = tra_news(b->arena, tra_einsum_ref, nrefs);
    return s;
}

static void refer(tra_einsum *s, int i, const tra_node *x) {
    s->ref[i] = (tra_einsum_ref){.node = x, .n = x->type.cat->bound.n};
    for (int d = 0; d < s->ref[i].n; d++) s->ref[i].label[d] = d;
}

static bool check_macro(tra_build *b, const tra_node *x, const char *name, tra_span span) {
    const char *why;
    if (tra_type_is_blocked(&x->type, &why)) return true;
    tra_diag_error(b->d, span, tra_arena_printf(b->arena, "transform(X, %s) works on each array by itself", name),
                   "%s needs a tensor in blocks; of this relation %s", name, why);
    return false;
}

static const tra_scalar *scalar(tra_build *b, tra_scalar_op op, int arg, const tra_scalar *x, const tra_scalar *y) {
    tra_scalar *s = tra_new(b->arena, tra_scalar);
    *s = (tra_scalar){.op = op, .arg = arg, .a = x, .b = y};
    return s;
}

static const tra_scalar *argument(tra_build *b, int i) { return scalar(b, TRA_S_ARG, i, NULL, NULL); }

tra_node *tra_build_transpose(tra_build *b, tra_node *x, tra_span span) {
    if (!check_macro(b, x, "transpose", span)) return NULL;
    tra_einsum *s = start(b, x, 1);
    refer(s, 0, x);
    for (int d = 0; d < s->nout; d++) s->out[d] = s->nout - 1 - d;
    s->expr = argument(b, 0);
    return tra_statement(b, span, s);
}

/* x reduced over its last dimension. */
static tra_node *reduce_last(tra_build *b, const tra_node *x, tra_scalar_op fold, tra_span span) {
    tra_einsum *s = start(b, x, 1);
    refer(s, 0, x);
    s->nout--;
    s->fold = fold;
    s->expr = argument(b, 0);
    return tra_statement(b, span, s);
}

/* From x and a tensor without its last dimension. */
static tra_node *with_last(tra_build *b, const tra_node *x, const tra_node *less, const tra_scalar *e, tra_span span) {
    tra_einsum *s = start(b, x, 2);
    refer(s, 0, x);
    refer(s, 1, less);
    s->expr = e;
    return tra_statement(b, span, s);
}

/* M[i] = max X[i,j]; E[i,j] = exp(X[i,j] - M[i]); S[i] = sum E[i,j]; E[i,j] / S[i]. Where the rows are whole in each
 * array that is a kernel. */
tra_node *tra_build_softmax(tra_build *b, tra_node *x, tra_span span) {
    if (!check_macro(b, x, "softmax", span)) return NULL;
    const tra_catalog *c = x->type.cat;
    if (c->bound.n == 0) {
        tra_diag_error(b->d, span, NULL, "softmax works along the last dimension, and this tensor has none");
        return NULL;
    }
    if ((c->grid || c->n == 0) && c->frontier.v[c->frontier.n - 1] <= 1) {
        tra_lowering w = {.b = b, .span = span};
        const tra_kernel *k = NULL;
        tra_err e = {0};
        if (tra_kernel_named(b->arena, "softmax", TRA_USE_MAP, 0, NULL, &k, &e) != TRA_OK) return NULL;
        return tra_lower_node(&w, TRA_OP_TRANSFORM, &(tra_node){.in = {x}, .kernel = k});
    }
    tra_node *most = reduce_last(b, x, TRA_S_MAX, span);
    if (!most) return NULL;
    const tra_scalar *less = scalar(b, TRA_S_SUB, 0, argument(b, 0), argument(b, 1));
    tra_node *power = with_last(b, x, most, scalar(b, TRA_S_EXP, 0, less, NULL), span);
    tra_node *sum = power ? reduce_last(b, power, TRA_S_ADD, span) : NULL;
    return sum ? with_last(b, power, sum, scalar(b, TRA_S_DIV, 0, argument(b, 0), argument(b, 1)), span) : NULL;
}
