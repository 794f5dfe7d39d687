/* einsum_nodes.c - from a checked EinSum statement to nodes: which blocks each label has, operands as these want them,
 * and the statement lowered. */
#include "lower.h"
#include "build.h"

#include <math.h>
#include <string.h>

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* May the reference keep its blocks? It must be a grid in which dimensions of one label are cut alike; any other is
 * reblocked whatever blocks are chosen. */
static bool can_keep(const tra_einsum_ref *r) {
    if (!r->node) return false; /* positions can be made in any blocks */
    const tra_catalog *c = r->node->type.cat;
    for (int d = 0; d < r->n; d++)
        for (int j = 0; j < d; j++)
            if (r->label[j] == r->label[d] && c->bound.v[j] != c->bound.v[d]) return false;
    return c->grid;
}

/* Do the two have a label in common along which their blocks differ? */
static bool conflict(const tra_einsum_ref *x, const tra_einsum_ref *y) {
    for (int d = 0; d < x->n; d++)
        for (int j = 0; j < y->n; j++)
            if (x->label[d] == y->label[j] && x->node->type.cat->bound.v[d] != y->node->type.cat->bound.v[j])
                return true;
    return false;
}

static double bytes_of(const tra_einsum_ref *r) { return (double)tra_type_bytes_all(&r->node->type).expected; }

/* Bytes of a block of x, which is dense, if it is cut along labels in common as y is. */
static double bytes_cut_as(const tra_einsum_ref *x, const tra_einsum_ref *y) {
    tra_dims ext = x->node->type.cat->bound;
    for (int d = 0; d < x->n; d++) {
        for (int j = 0; j < y->n; j++)
            if (y->label[j] == x->label[d]) ext.v[d] = y->node->type.cat->bound.v[j];
    }
    return (double)tra_dense_bytes(x->node->type.dtype, &ext);
}

/* What it costs to reblock a reference, in the time that a byte of a dense one takes. An entry moves by itself, and the
 * rows of sparse blocks are short when they are cut; so its bytes count several times, but where that would make blocks
 * of a dense reference too large for a small memory. Rows that only the run counts stay in their blocks.
 * What is sampled at the entries of another reference is not made: it costs nothing. */
static double cost_of(const tra_einsum *s, const bool *sampled, int ref) {
    enum { TIMES = 16, MOST = 1 << 30 };
    const tra_einsum_ref *r = &s->ref[ref];
    double bytes = sampled[ref] ? 0 : bytes_of(r);
    if (r->node->type.bounded) return bytes + 0x1p63;
    if (!r->node->type.layout || !r->node->type.sparse) return bytes;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_einsum_ref *o = &s->ref[i];
        bool moves = o->node && !sampled[i] && !o->node->type.layout && conflict(o, r);
        if (moves && bytes_cut_as(o, r) > MOST) return bytes;
    }
    return TIMES * bytes;
}

/* A search for the references that keep their blocks, so that reblocking the others costs least. */
typedef struct block_search {
    const tra_einsum *s;
    int n, *ref;       /* the references that can keep them, the largest first */
    bool *kept, *best; /* by reference: in the choice that is looked at, and in the best one so far */
    double *cost;      /* of each reference */
    double best_cost;  /* of what keeps its blocks in the best choice; -1: there is none yet */
    int64_t budget;    /* how many choices may still be looked at */
} block_search;

/* Branch and bound over references i and later ones, each of which keeps its blocks or not. cost: of those before i
 * that keep theirs; rest: of i and all later ones. The first choice is the greedy one; of equal choices the first is
 * taken. */
static void search_blocks(block_search *w, int i, double cost, double rest) {
    if (cost + rest <= w->best_cost || (w->best_cost >= 0 && --w->budget < 0)) return;
    if (i == w->n) {
        w->best_cost = cost;
        memcpy(w->best, w->kept, (size_t)w->s->nrefs * sizeof *w->kept);
        return;
    }
    const tra_einsum_ref *r = &w->s->ref[w->ref[i]];
    bool fits = true;
    double own = w->cost[w->ref[i]];
    for (int j = 0; j < i && fits; j++) fits = !w->kept[w->ref[j]] || !conflict(r, &w->s->ref[w->ref[j]]);
    if (fits) {
        w->kept[w->ref[i]] = true;
        search_blocks(w, i + 1, cost + own, rest - own);
        w->kept[w->ref[i]] = false;
    }
    search_blocks(w, i + 1, cost, rest - own);
}

enum { MOST_CHOICES = 20000 };

void tra_choose_blocks(tra_build *b, tra_einsum *s) {
    block_search w = {.s = s, .best_cost = -1, .budget = MOST_CHOICES};
    double all = 0, size[TRA_MAXLABELS];
    w.ref = tra_news(b->arena, int, s->nrefs);
    w.kept = tra_news(b->arena, bool, s->nrefs);
    w.best = tra_news(b->arena, bool, s->nrefs);
    w.cost = tra_news(b->arena, double, s->nrefs);
    bool *sampled = tra_news(b->arena, bool, s->nrefs);
    for (int i = 0; i < s->nrefs; i++) sampled[i] = tra_lower_is_sampled(s, i);
    for (int i = 0; i < s->nrefs; i++) w.cost[i] = s->ref[i].node ? cost_of(s, sampled, i) : 0;
    for (int i = 0; i < s->nrefs; i++) {
        if (!can_keep(&s->ref[i])) continue;
        int at = w.n++;
        for (; at > 0 && w.cost[w.ref[at - 1]] < w.cost[i]; at--) w.ref[at] = w.ref[at - 1];
        w.ref[at] = i;
        all += w.cost[i];
    }
    search_blocks(&w, 0, 0, all);
    for (int l = 0; l < s->nlabels; l++) size[l] = -1;
    for (int i = 0; i < s->nrefs; i++)
        for (int d = 0; d < s->ref[i].n && s->ref[i].node; d++) {
            int l = s->ref[i].label[d];
            double own = w.best[i] ? INFINITY : w.cost[i];
            if (own <= size[l]) continue;
            size[l] = own;
            s->block[l] = s->ref[i].node->type.cat->bound.v[d];
        }
}

static int64_t blocks_along(const tra_einsum *s, int l) { return tra_ceil_div(s->extent[l], s->block[l]); }

/* How many blocks of a reference have equal keys along the dimensions that share a label. *longest: the label with most
 * blocks; *repeated: whether any label stands twice. */
static double diagonal_blocks(const tra_einsum *s, const tra_einsum_ref *r, int *longest, bool *repeated) {
    double n = 1;
    uint64_t seen = 0;
    *longest = -1;
    *repeated = false;
    for (int d = 0; d < r->n; d++) {
        int l = r->label[d];
        *repeated |= seen >> l & 1;
        if (seen >> l & 1) continue;
        seen |= (uint64_t)1 << l;
        n *= (double)blocks_along(s, l);
        if (*longest < 0 || blocks_along(s, l) > blocks_along(s, *longest)) *longest = l;
    }
    return n;
}

/* Enlarges blocks until those of each diagonal, which are a list of tuples, are few enough for a list. */
static void widen_diagonals(tra_einsum *s) {
    for (int i = 0; i < s->nrefs; i++) {
        int longest;
        bool repeated;
        while (diagonal_blocks(s, &s->ref[i], &longest, &repeated) > TRA_MAX_LIST && repeated)
            s->block[longest] = tra_min64(2 * s->block[longest], s->extent[longest]);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

/* Takes the diagonal of a reference in which a label stands twice: filters the blocks whose keys there are equal, drops
 * the repeated key dimensions, and takes the diagonals of arrays. Adds the labels to *x; false after a diagnostic. */
static bool take_diagonal(tra_lowering *w, const tra_einsum_ref *r, tra_operand *x) {
    tra_arena *a = w->b->arena;
    tra_keyfn *on_diagonal = tra_new(a, tra_keyfn), *distinct = tra_new(a, tra_keyfn);
    char text[2 * TRA_MAXDIM + 4], *to = text; /* of the kernel: "iji->ij" */
    for (int d = 0; d < r->n; d++) {
        int first = 0;
        while (r->label[first] != r->label[d]) first++;
        on_diagonal->names[d] = distinct->names[d] = tra_arena_printf(a, "k%d", d);
        *to++ = (char)('a' + first);
        if (first == d) {
            distinct->expr[distinct->n++] = tra_keyexpr_component(a, d);
            x->label[x->n++] = r->label[d];
            continue;
        }
        const tra_keyexpr *equal =
            tra_keyexpr_of(a, TRA_KEY_EQ, tra_keyexpr_component(a, first), tra_keyexpr_component(a, d));
        on_diagonal->expr[0] = on_diagonal->n ? tra_keyexpr_of(a, TRA_KEY_AND, on_diagonal->expr[0], equal) : equal;
        on_diagonal->n = 1;
    }
    on_diagonal->arity = distinct->arity = r->n;
    if (x->n == r->n) return true;
    *to++ = '-', *to++ = '>';
    for (int d = 0; d < x->n; d++) *to++ = (char)('a' + distinct->expr[d]->var);
    *to = 0;
    const tra_kernel *diagonal;
    if (tra_kernel_einsum(a, text, &diagonal, NULL) != TRA_OK) return false;
    tra_node filter = {.in = {x->node}, .keyfn = on_diagonal};
    x->node = tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_FILTER, &filter), r->label);
    if (x->node) x->node = tra_lower_node(w, TRA_OP_REKEY, &(tra_node){.in = {x->node}, .keyfn = distinct});
    if (tra_lower_set_labels(w, x->node, x->label))
        x->node = tra_lower_node(w, TRA_OP_TRANSFORM, &(tra_node){.in = {x->node}, .kernel = diagonal});
    return tra_lower_set_labels(w, x->node, x->label) != NULL;
}

/* Adds a reference as an operand: a full grid (holes become zeros) in the blocks of its labels. False after a
 * diagnostic. */
static bool add_operand(tra_lowering *w, const tra_einsum *s, tra_einsum_ref *r) {
    tra_operand x = {.node = w->b->g->v[r->node->id]};
    const tra_catalog *c = x.node->type.cat;
    tra_dims block = {.n = r->n};
    bool fits = c->grid;
    for (int d = 0; d < r->n; d++) {
        block.v[d] = s->block[r->label[d]];
        fits = fits && block.v[d] == c->bound.v[d];
    }
    r->reblocked = !fits;
    if (!fits) x.node = tra_lower_node(w, TRA_OP_REPART, &(tra_node){.in = {x.node}, .block = block});
    if (!x.node || !take_diagonal(w, r, &x)) return false;
    if (x.n < r->n) r->diagonal = x.node;
    tra_lower_operand(w, &x);
    return true;
}

/* Is the result a relation of the program that was there before this statement made nodes, of which the first would
 * have had the number `before`? An unnamed node that another statement needed on the way is none, unless this one reads
 * what comes after it. */
static bool is_known(const tra_einsum *s, int before) {
    if (s->node->id >= before) return false;
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node->id >= s->node->id) return true;
    return tra_statement_of(s->node) || s->node->name != NULL;
}

/* Has the expression a part whose type is not that of its operands, such as a comparison, an `if` or a cast? */
static bool has_comparison(const tra_scalar *e) {
    bool compares = tra_scalar_has_own_type(e->op) || tra_scalar_class_of(e->op) == TRA_SC_IF;
    return compares || (e->a && has_comparison(e->a)) || (e->b && has_comparison(e->b)) ||
           (e->c && has_comparison(e->c));
}

/* Checks that a label which stands for rows that only the run counts stands for those of one table. Sets rows[l] to
 * what has the rows of label l; NULL: it stands for none such. */
static bool check_rows(tra_build *b, tra_span span, const tra_einsum *s, const tra_node **rows) {
    bool seen[TRA_MAXLABELS] = {false};
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *x = s->ref[i].node;
        for (int d = 0; d < s->ref[i].n; d++) {
            int l = s->ref[i].label[d];
            const tra_node *own = x && (x->type.bounded >> d & 1) ? (x->rows && x->rows[d] ? x->rows[d] : x) : NULL;
            if (!seen[l] || rows[l] == own) {
                seen[l] = true;
                rows[l] = own;
                continue;
            }
            return tra_diag_error(
                b->d, span, "make both matrices of one table; join brings the rows of two together",
                "label '%s' stands for rows of different tables, and only the run tells how many there are",
                s->name[l]);
        }
    }
    return true;
}

/* Sets m[l] to what the positions along label l of the statement stand for, on which all references must agree. False
 * after a diagnostic. */
static bool read_position_labels(tra_build *b, tra_span span, const tra_einsum *s, tra_meeting *m) {
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *x = s->ref[i].node;
        for (int d = 0; x && d < s->ref[i].n; d++) {
            int l = s->ref[i].label[d];
            const char *what = tra_arena_printf(b->arena, "label '%s'", s->name[l]);
            if (!tra_meeting_add(b, span, &m[l], what, x, d)) return false;
        }
    }
    return true;
}

/* Gives the result what read_position_labels found. */
static void set_position_labels(tra_build *b, const tra_einsum *s, const tra_meeting *m) {
    for (int d = 0; d < s->nout; d++) {
        const tra_meeting *own = &m[s->out[d]];
        const tra_dim_order *order = tra_meeting_order(own);
        if (own->labels || order)
            tra_set_dim(b, s->node, d, own->labels ? own->labels : tra_labels_of_dim(s->node, d), order);
    }
}

/* The result x as a node that is sparse by type if the expression is 0 wherever its operands of sparse type are. An
 * expression that was lowered to several kernels, such as an if of three operands, may have lost that. */
static tra_node *sparse_by_expression(tra_lowering *w, const tra_einsum *s, tra_node *x) {
    bool *sparse = tra_news(w->b->arena, bool, s->nrefs);
    tra_node fields = {.in = {x}};
    for (int i = 0; i < s->nrefs; i++) sparse[i] = s->ref[i].node->type.sparse;
    if (!x || x->type.sparse || !tra_scalar_sparse(s->expr, sparse)) return x;
    fields.kernel = tra_build_kernel_named(w->b, w->span, "sparsify", TRA_USE_MAP, 0, 0);
    return tra_lower_node(w, TRA_OP_TRANSFORM, &fields);
}

/* Sets what decides in which types the statement is computed. */
static void set_types(tra_lowering *w, const tra_einsum *s) {
    w->sums = s->nlabels > s->nout && (s->fold == TRA_S_ADD || s->fold == TRA_S_MUL);
    w->compares = has_comparison(s->expr);
    for (int i = 0; i < s->nrefs; i++) {
        tra_dtype t = s->ref[i].node->type.dtype;
        w->integers = w->integers || !tra_dtype_is_float(t);
        w->f32 = w->f32 || (tra_dtype_is_float(t) && tra_dtype_rows[t].sum != t);
        w->type = i ? tra_dtype_join(w->type, t) : t;
    }
}

/* The expression with numbers as their values say: which is a float does not matter where all operands are. */
static const tra_scalar *plain_numbers(tra_arena *a, const tra_scalar *e) {
    if (e->op == TRA_S_ARG || tra_scalar_is_plain(e)) return e;
    if (e->op == TRA_S_CONST) return tra_scalar_number(a, e->value);
    return tra_scalar_of3(a, e->op, plain_numbers(a, e->a), e->b ? plain_numbers(a, e->b) : NULL,
                          e->c ? plain_numbers(a, e->c) : NULL);
}

/* Keeps the statement in the graph, unless its result is a relation that existed already. */
tra_node *tra_statement(tra_build *b, tra_span span, tra_einsum *s) {
    tra_meeting of[TRA_MAXLABELS] = {{0}};
    const tra_node *rows[TRA_MAXLABELS] = {NULL};
    if (!check_rows(b, span, s, rows) || !read_position_labels(b, span, s, of)) return NULL;
    tra_graph *g = b->g;
    int before = g->n;
    const char *units = tra_units_of_statement(s);
    tra_choose_blocks(b, s);
    widen_diagonals(s);
    tra_lowering w = {.b = b, .span = span, .nlabels = s->nlabels, .name = s->name, .extent = s->extent, .rows = rows};
    for (int i = 0; i < s->nrefs; i++) {
        int l = s->ref[i].label[0];
        if (!s->ref[i].node) s->ref[i].node = tra_positions(b, span, s->extent[l], s->block[l]);
        if (!s->ref[i].node) return NULL;
    }
    set_types(&w, s);
    if (!w.integers && !w.compares) s->expr = plain_numbers(b->arena, s->expr);
    for (int i = 0; i < s->nrefs; i++)
        if (!add_operand(&w, s, &s->ref[i])) return NULL;
    s->expr = tra_lower_conjunctions(&w, s);
    s->is_one_sum = tra_lower_is_one_sum(s);
    s->node = sparse_by_expression(&w, s, tra_lower(&w, tra_lower_masked(&w, s), s->fold, s->nout, s->out));
    if (s->node) set_position_labels(b, s, of);
    if (s->node && !s->node->units) s->node->units = units;
    if (!s->node || is_known(s, before)) return s->node;
    TRA_ARENA_DOUBLE(b->arena, g->einsums, g->neinsums);
    g->einsums[g->neinsums++] = s->node->einsum = s;
    return s->node;
}
