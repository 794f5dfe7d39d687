/* einsum_nodes.c - from a checked EinSum statement to nodes: which blocks each label has, operands as these want them,
 * and the statement lowered. */
#include "lower.h"

#include <math.h>
#include <string.h>

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* May the reference keep its blocks? It must be a grid whose dimensions of one label are cut alike; others are cut anew
 * in any case. */
static bool can_stay(const tra_einsum_ref *r) {
    if (!r->node) return false; /* positions can be made in any blocks */
    const tra_catalog *c = r->node->type.cat;
    for (int d = 0; d < r->n; d++)
        for (int j = 0; j < d; j++)
            if (r->label[j] == r->label[d] && c->bound.v[j] != c->bound.v[d]) return false;
    return c->grid;
}

/* Do the two have a label in common that they have in different blocks? */
static bool conflict(const tra_einsum_ref *x, const tra_einsum_ref *y) {
    for (int d = 0; d < x->n; d++)
        for (int j = 0; j < y->n; j++)
            if (x->label[d] == y->label[j] && x->node->type.cat->bound.v[d] != y->node->type.cat->bound.v[j])
                return true;
    return false;
}

static double bytes_of(const tra_einsum_ref *r) { return (double)tra_type_bytes_all(&r->node->type).expected; }

/* A search for the references that keep their blocks, so that as few bytes as possible are cut anew. */
typedef struct staying {
    const tra_einsum *s;
    int n, *ref; /* those that could, the largest first */
    bool *in, *best;
    double most;   /* bytes of the best choice */
    int64_t nodes; /* how many choices may still be looked at */
} staying;

/* Branch and bound over references i and later ones: each keeps its blocks or not. The first choice is the greedy one;
 * of equal choices the first is taken. */
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

/* How many blocks lie on the diagonal of a reference, for each value of its other labels. */
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

/* The blocks of a diagonal are a list of tuples: where that would be too long they are made larger. */
static void widen_diagonals(tra_einsum *s) {
    for (int i = 0; i < s->nrefs; i++) {
        int most;
        bool repeated;
        while (diagonal_blocks(s, &s->ref[i], &most, &repeated) > TRA_MAX_LIST && repeated)
            s->block[most] = tra_min64(2 * s->block[most], s->extent[most]);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static tra_keyexpr *key_var(tra_arena *a, int d) {
    tra_keyexpr *x = tra_new(a, tra_keyexpr);
    *x = (tra_keyexpr){.op = TRA_KEY_VAR, .var = d};
    return x;
}

/* Takes the diagonal of a reference in which a label stands twice: only blocks on the diagonal are read. */
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
    if (x.n < r->n) r->diagonal = x.node;
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

/* Has the expression a part whose type is not that of its operands: a comparison, or an `if` with numbers? */
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

/* The labels of positions (labels.h) along each label of the statement, which all references that have some share. */
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

/* The statement is kept in the graph, unless its result existed already. */
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
