/* table_window_chain.c - windows over windows by the same keys and order: rows are sorted once, and once brought back.
 *
 * Rows that are sorted in parts stay so while functions are put beside them, so the next window takes its rows from
 * there. What windows further up need is carried along: as lag(x, 0), the value of the row itself. Between the windows
 * only projections may stand. A window may have more keys than the first one, such as a count of the rows up to each:
 * what only goes up, or only down, in the order of its group leaves rows of one group beside each other.
 */
#include "cardinality.h"
#include "table_parts.h"

#include <string.h>

enum { MOST = 32 }; /* windows of a chain */

/* A window, whose expressions are over the flat columns: those of the table, then functions of all windows. */
typedef struct link {
    const tra_table_op *op;
    const tra_colexpr **term, **operand;
    int first;           /* the flat number of its first function */
    const bool *carried; /* flat columns that it passes on from windows below or from the table */
    tra_projection in;   /* terms, operands, and what is carried, */
    int *at;             /* which of these a flat column is */
    tra_window x;
    int functions; /* of x; after them stands what it passes on */
} link;

typedef struct chain {
    tra_table_builder *w;
    tra_arena *a;
    tra_node *in;
    int nflat, own; /* columns; those of the table */
    tra_schema flat;
    bool *monotone;
    int nkeys, norder; /* of the first window */
    int n, ncolumns;
    link v[MOST];
    const tra_colexpr **column; /* what the columns of the rows so far are */
} chain;

static bool is_plain(const tra_table_op *op) {
    for (int i = 0; i < op->narounds; i++) {
        const tra_table_around *f = &op->around[i];
        if (tra_window_is_of_group(f) || f->f == TRA_WINDOW_SHARE || f->other) return false;
    }
    return true;
}

/* Does the function only go up, or only down, in the order of a group? */
static bool is_monotone(const tra_table_around *f) {
    const tra_window_frame *r = &f->frame;
    bool counts = f->f == TRA_WINDOW_COUNT && r->open[0] != r->open[1];
    return counts || (tra_window_way_of(f->f) == TRA_WINDOW_PLACE);
}

static const tra_colexpr **over_flat(chain *c, int n, const tra_colexpr *const *x) {
    const tra_colexpr **v = tra_news(c->a, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) v[i] = x[i] ? tra_colexpr_substitute(c->a, x[i], c->column) : NULL;
    return v;
}

static bool is_same(const chain *c, const tra_colexpr *x, const tra_colexpr *y) {
    tra_str a = {0}, b = {0};
    tra_colexpr_print(x, &c->flat, &a);
    tra_colexpr_print(y, &c->flat, &b);
    bool same = x->type == y->type && strcmp(tra_str_get(&a), tra_str_get(&b)) == 0;
    tra_str_free(&a);
    tra_str_free(&b);
    return same;
}

/* Are rows of the window beside each other, and in its order, where the first window has sorted them? */
static bool follows(const chain *c, const link *l) {
    const tra_table_op *op = l->op, *base = c->v[0].op;
    if (op->nkeys < c->nkeys || op->nterms - op->nkeys != c->norder) return false;
    for (int k = 0; k < op->nterms; k++) {
        int at = k < c->nkeys ? k : k - op->nkeys + c->nkeys;
        if (k < c->nkeys || k >= op->nkeys) {
            if (op->term[k].desc != base->term[at].desc || !is_same(c, l->term[k], c->v[0].term[at])) return false;
            continue;
        }
        int column = l->term[k]->op == TRA_C_COLUMN ? l->term[k]->column : -1;
        if (column < c->own || !c->monotone[column - c->own]) return false;
    }
    return true;
}

/* Puts the window on top. False: it takes a sort of its own. */
static bool add_window(chain *c, const tra_table_op *op) {
    const tra_colexpr **term = tra_news(c->a, const tra_colexpr *, op->nterms + op->narounds + 1);
    if (c->n == MOST) return false;
    link *l = &c->v[c->n++];
    for (int k = 0; k < op->nterms; k++) term[k] = op->term[k].x;
    for (int i = 0; i < op->narounds; i++) term[op->nterms + i] = op->around[i].x;
    *l = (link){.op = op, .term = over_flat(c, op->nterms + op->narounds, term), .first = c->nflat};
    l->operand = l->term + op->nterms;
    if (!follows(c, l)) return false;
    for (int i = 0; i < op->narounds && op->node; i++) {
        tra_column *v = (tra_column *)c->flat.v;
        v[c->nflat] = op->columns->v[op->in[0]->type.columns->n + i];
        v[c->nflat].name = tra_arena_printf(c->a, "%d", c->nflat);
        c->flat.n = ++c->nflat;
        c->monotone[l->first - c->own + i] = op->nkeys == c->nkeys && is_monotone(&op->around[i]);
        c->column[c->ncolumns++] = tra_colexpr_column(c->a, &c->flat, l->first + i);
    }
    return true;
}

static bool add_projection(chain *c, const tra_table_op *op) {
    const tra_colexpr **x = tra_news(c->a, const tra_colexpr *, op->nterms + 1);
    for (int k = 0; k < op->nterms; k++) {
        x[k] = op->term[k].x;
        if (tra_colexpr_uses_row(x[k])) return false;
    }
    const tra_colexpr **over = over_flat(c, op->nterms, x);
    memcpy(c->column, over, (size_t)op->nterms * sizeof *over);
    c->ncolumns = op->nterms;
    return true;
}

/* Is the window, over these operators (v[0] the topmost, a window the last), a chain? */
static bool make_chain(chain *c, tra_table_builder *w, int n, const tra_table_op *const *v) {
    const tra_table_op *base = v[n - 1];
    int all = base->in[0]->type.columns->n, most = 0;
    *c = (chain){.w = w, .a = w->b->arena, .nkeys = base->nkeys, .norder = base->nterms - base->nkeys};
    c->in = w->b->g->v[base->in[0]->id];
    for (int i = 0; i < n; i++) all += v[i]->narounds, most = tra_max64(most, v[i]->columns->n);
    tra_column *flat = tra_news(c->a, tra_column, all + 1);
    c->own = c->nflat = c->ncolumns = base->in[0]->type.columns->n;
    c->flat = (tra_schema){c->own, flat};
    c->monotone = tra_news(c->a, bool, all + 1);
    c->column = tra_news(c->a, const tra_colexpr *, all + most + 1);
    for (int k = 0; k < c->own; k++) {
        flat[k] = base->in[0]->type.columns->v[k];
        flat[k].name = tra_arena_printf(c->a, "%d", k);
        c->column[k] = tra_colexpr_column(c->a, &c->flat, k);
    }
    for (int i = n - 1; i >= 0; i--)
        if (!(v[i]->op == TRA_TABLE_WINDOW ? add_window(c, v[i]) : add_projection(c, v[i]))) return false;
    return add_window(c, &w->op);
}

/* ---- what each window takes and passes on ------------------------------------------------------------------------ */

/* The term of the first window that a flat column is; -1: none. */
static int term_of(const chain *c, int column) {
    for (int k = 0; k < c->nkeys + c->norder; k++) {
        const tra_colexpr *x = c->v[0].term[k];
        if (x->op == TRA_C_COLUMN && x->column == column) return k;
    }
    return -1;
}

/* Sets what each window carries: what the columns of the result, or windows above it, need of those below it. */
static void find_carried(chain *c) {
    const link *top = &c->v[c->n - 1];
    bool *needed = tra_news(c->a, bool, c->nflat + 1);
    for (int k = 0; k < c->ncolumns; k++) tra_colexpr_columns(c->column[k], needed);
    memset(needed, 0, (size_t)c->own * sizeof *needed); /* the table itself is there */
    for (int s = c->n - 1; s >= 0; s--) {
        link *l = &c->v[s];
        bool *carried = memcpy(tra_news(c->a, bool, c->nflat + 1), needed, (size_t)c->nflat * sizeof *needed);
        for (int k = l->first; k < l->first + l->op->narounds && l != top; k++) carried[k] = false;
        l->carried = carried;
        memcpy(needed, carried, (size_t)c->nflat * sizeof *needed);
        for (int k = c->nkeys; k < l->op->nkeys; k++) tra_colexpr_columns(l->term[k], needed);
        for (int i = 0; i < l->op->narounds; i++)
            if (l->operand[i]) tra_colexpr_columns(l->operand[i], needed);
        for (int k = 0; k < c->own; k++) needed[k] = needed[k] && term_of(c, k) < 0;
    }
}

static void make_inputs(chain *c, const char **found) {
    const link *top = &c->v[c->n - 1];
    for (int s = 0; s < c->n; s++) {
        link *l = &c->v[s];
        l->in = (tra_projection){.arena = c->a};
        for (int k = 0; k < l->op->nterms; k++) tra_projection_add(&l->in, tra_arena_printf(c->a, "%d", k), l->term[k]);
        int room = c->nflat + c->nkeys + c->norder + 1; /* of what it passes on */
        l->x = tra_window_of(&l->in, l->op, l->operand, room, l == top ? found : NULL);
        l->at = tra_news(c->a, int, c->nflat + 1);
        for (int k = 0; k < c->nflat; k++)
            if (l->carried[k]) l->at[k] = tra_window_add_operand(&l->in, tra_colexpr_column(c->a, &c->flat, k));
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* The value of the row itself in that column of what the window takes. Returns its number in the result. */
static int pass_on(chain *c, link *l, int column) {
    tra_window_column *v = (tra_window_column *)l->x.v;
    v[l->x.n++] =
        (tra_window_column){.name = tra_arena_printf(c->a, "passed %d", column), .f = TRA_WINDOW_LAG, .column = column};
    return l->x.n;
}

/* The rows of window s, with what the ones above need in by: flat columns as columns of the result. */
static tra_node *run_window(chain *c, int s, tra_node *parts, const tra_division *d, const tra_colexpr **by,
                            int *term) {
    link *l = &c->v[s];
    int nby = c->nkeys + c->norder, *at = tra_news(c->a, int, c->nflat + 1);
    l->functions = l->x.n;
    for (int k = 0; k < l->functions && s < c->n - 1; k++) at[l->first + k] = 1 + k;
    for (int k = 0; k < nby && s < c->n - 1; k++)
        term[k] = pass_on(c, l, k < c->nkeys ? k : k - c->nkeys + l->op->nkeys);
    for (int k = 0; k < c->nflat; k++)
        if (l->carried[k]) at[k] = pass_on(c, l, l->at[k]);
    term[nby] = s < c->n - 1 ? pass_on(c, l, parts->type.columns->n - 1) : -1;
    tra_node *n = tra_table_window_of_parts(c->w, parts, &l->x, d);
    if (!n) return NULL;
    for (int k = 0; k < c->nflat; k++) by[k] = at[k] > 0 ? tra_colexpr_column(c->a, n->type.columns, at[k]) : NULL;
    for (int k = 0, is; k < c->own && s < c->n - 1; k++)
        if ((is = term_of(c, k)) >= 0) by[k] = tra_colexpr_column(c->a, n->type.columns, term[is]);
    return n;
}

/* What window s takes, of the rows of the one below. */
static tra_node *next_parts(chain *c, int s, tra_node *n, const tra_colexpr *const *by, const int *term) {
    const link *l = &c->v[s];
    const tra_schema *columns = n->type.columns;
    tra_projection p = {.arena = c->a};
    for (int k = 0; k < l->in.n; k++) {
        int at = k < c->nkeys ? k : k >= l->op->nkeys && k < l->op->nterms ? k - l->op->nkeys + c->nkeys : -1;
        tra_projection_add(&p, tra_arena_printf(c->a, "%d", k),
                           at >= 0 ? tra_colexpr_column(c->a, columns, term[at])
                                   : tra_colexpr_substitute(c->a, l->in.x[k], by));
    }
    tra_projection_add(&p, "row", tra_colexpr_column(c->a, columns, 0));
    tra_projection_add(&p, "place", tra_colexpr_column(c->a, columns, term[c->nkeys + c->norder]));
    return tra_table_columns(c->w, n, &p);
}

/* The columns of w->in and the functions, of the rows of the table with the results beside them. by: where these have
 * flat columns. */
static tra_node *own_columns(chain *c, tra_node *n, const tra_colexpr *const *by) {
    const link *top = &c->v[c->n - 1];
    tra_projection p = {.arena = c->a};
    const tra_colexpr **to = tra_news(c->a, const tra_colexpr *, c->nflat + 1);
    for (int k = 0; k < c->nflat; k++) {
        int at = k < c->own ? k : by[k] ? c->own + by[k]->column - 1 : -1;
        to[k] = at < 0 ? NULL : tra_colexpr_column(c->a, n->type.columns, at);
    }
    const tra_schema *s = c->w->in->type.columns;
    for (int k = 0; k < s->n; k++) tra_projection_add(&p, s->v[k].name, tra_colexpr_substitute(c->a, c->column[k], to));
    for (int i = 0; i < top->functions; i++) tra_projection_keep(&p, n->type.columns, c->own + i);
    return tra_table_columns(c->w, n, &p);
}

static bool make_nodes(chain *c, tra_node **out) {
    tra_table_builder *w = c->w, below = *w;
    int *term = tra_news(c->a, int, c->nkeys + c->norder + 1);
    const tra_colexpr **by = tra_news(c->a, const tra_colexpr *, c->nflat + 1);
    const tra_window *fields[MOST];
    const tra_schema *columns[MOST];
    for (int s = 0; s < c->n; s++) {
        tra_column *v = tra_news(c->a, tra_column, c->v[s].in.n + 1);
        tra_schema *of = tra_new(c->a, tra_schema);
        for (int k = 0; k < c->v[s].in.n; k++) v[k] = tra_colexpr_result(c->v[s].in.x[k], c->v[s].in.names[k]);
        *of = (tra_schema){c->v[s].in.n, v};
        columns[s] = of;
        fields[s] = &c->v[s].x;
    }
    tra_division d;
    below.in = c->in;
    if (!tra_table_divides_window(&below, c->n, fields, columns, &d)) return false;
    c->w = &below;
    tra_node *n = tra_table_columns(&below, c->in, &c->v[0].in);
    n = n ? tra_table_window_sorted(&below, n, &c->v[0].x, &d) : NULL;
    for (int s = 0; s < c->n && n; s++) {
        if (s > 0) n = next_parts(c, s, n, by, term);
        if (n) n = run_window(c, s, n, &d, by, term);
    }
    n = n ? tra_table_window_beside(&below, tra_table_window_by_rows(&below, n)) : NULL;
    c->w = w;
    *out = n ? own_columns(c, n, by) : NULL;
    return true;
}

bool tra_table_window_chain(tra_table_builder *w, const char **found, tra_node **out) {
    const tra_table_op *v[2 * MOST], *op = w->in->table;
    int n = 0, windows = 0;
    for (; op && n < 2 * MOST && windows < MOST - 1; op = op->in[0]->table) {
        bool projects = op->op == TRA_TABLE_PROJECT && op->columns && op->columns->n == op->nterms;
        if (!projects && !(op->op == TRA_TABLE_WINDOW && is_plain(op))) break;
        windows += !projects;
        v[n++] = op;
    }
    for (; n > 0; n--) {
        chain *c = tra_new(w->b->arena, chain);
        if (v[n - 1]->op != TRA_TABLE_WINDOW || v[n - 1]->nterms == 0 || !make_chain(c, w, n, v)) continue;
        find_carried(c);
        make_inputs(c, found);
        return make_nodes(c, out);
    }
    return false;
}
