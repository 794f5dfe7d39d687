/* joined_rows.c - the joins of a pipeline, made over groups of rows, or over rows with other columns: what
 * matrix_sums.h promises of them. */
#include "matrix_sums.h"

static int key_of(const factoring *f, const tra_colexpr *x) {
    for (int k = 0; k < f->nkeys; k++)
        if (tra_colexpr_same(f->pipe->all, f->key[k], x)) return k;
    return -1;
}

tra_expr *tra_factor_pass(factoring *f, const tra_expr *in, const tra_rows_kernel *k) {
    return tra_make_below(f->w, f->x, tra_proto_transform(tra_rows_kernel_of(f->a, k), &in->node));
}

tra_expr *tra_factor_project(factoring *f, const tra_expr *in, const tra_rowwise *r) {
    return tra_make_below(f->w, f->x, tra_proto_pass(f->w, &in->node, r));
}

tra_expr *tra_factor_beside(factoring *f, const tra_expr *rows, const tra_node *array, bool all,
                            const tra_rows_kernel *k) {
    tra_dims first = {.n = !all};
    return tra_make_below(f->w, f->x,
                          (tra_node){.op = TRA_OP_JOIN,
                                     .in = {(tra_node *)&rows->node, (tra_node *)array},
                                     .join = {.l = first, .r = first},
                                     .kernel = tra_rows_kernel_of(f->a, k)});
}

tra_node tra_factor_rekeyed(factoring *f, const tra_expr *x, int keys, int n) {
    const tra_keyexpr *key[2];
    for (int i = 0; i < n; i++) key[i] = i < keys ? tra_keyexpr_component(f->a, i) : tra_keyexpr_int(f->a, 0);
    return tra_proto_rekey(f->w, &x->node, (const char *const[]){"i", "j"}, n, key);
}

tra_expr *tra_factor_total(factoring *f, tra_expr *x) {
    if (!x || x->node.type.cat->frontier.n == 0) return x;
    return tra_make_below(f->w, f->x, tra_proto_agg(tra_kernel_sum(f->a), &(tra_dims){.n = 0}, &x->node));
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

bool tra_factor_is_total(factoring *f, const tra_colexpr *x, const char *what, const char *name) {
    if (x->fails)
        return REFUSE(f, "%s %s may not fit its type, which is an error that names a row of the join", what, name);
    for (int i = 0; i < x->nkids; i++)
        if (!tra_factor_is_total(f, x->kids[i], what, name)) return false;
    return true;
}

bool tra_factor_add_key(factoring *f, const tra_colexpr *x) {
    if (key_of(f, x) >= 0) return true;
    if (f->nkeys == TRA_FACTOR_KEYS)
        return REFUSE(f, "joins and maps read more than %d columns of the table that is summed", TRA_FACTOR_KEYS);
    f->key[f->nkeys++] = x;
    return true;
}

bool tra_factor_join_keys(factoring *f) {
    const tra_pipe *p = f->pipe;
    for (int j = 0; j < p->njoins; j++)
        for (int k = 0; k < p->join[j].s->nkeys; k++) {
            const tra_colexpr *x = p->join[j].key[k];
            bool other = tra_pipe_reads(p, x, 1);
            if (!tra_factor_is_total(f, x, "a key of", "a join")) return false;
            if (other && x->op != TRA_C_COLUMN) return REFUSE(f, "a key of a join is computed of columns of another");
            if (!other && !tra_factor_add_key(f, x)) return false;
        }
    for (int i = 0; i < p->nselects; i++)
        if ((p->select[i].joins || tra_pipe_reads(p, p->select[i].x, 1)) &&
            !tra_factor_is_total(f, p->select[i].x, "a predicate above", "a join"))
            return false;
    return true;
}

/* ---- one join ---------------------------------------------------------------------------------------------------- */

/* Finds g->by and g->added again after a join, whose left side had `left` columns. of: as in tra_factor_join. */
static void take_columns(factoring *f, joining *g, const tra_lookup *l, const tra_pipe_join *j, int left,
                         const int *of) {
    const tra_schema *out = tra_lookup_out(l);
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    for (int i = 0; i < f->pipe->all->n; i++)
        if (g->by[i]) g->by[i] = tra_colexpr_column(f->a, out, g->by[i]->column);
    for (int i = 0; i < g->nadded; i++) g->added[i] = tra_colexpr_column(f->a, out, g->added[i]->column);
    for (int i = 0; i < out->n; i++) {
        int from = tra_lookup_from(l)[i] - left, column = of && from >= 0 ? of[from] : from;
        if (column >= 0)
            g->by[j->first + column] = tra_colexpr_column(f->a, out, i);
        else if (from >= 0)
            g->added[g->nadded++] = tra_colexpr_column(f->a, out, i);
    }
    for (int k = 0; k < s->nkeys; k++) { /* the result has one column for two keys of one name */
        const tra_colexpr **right = &g->by[j->first + (of ? of[s->rkey[k]] : s->rkey[k])];
        if (!*right && s->how == TRA_LOOKUP_INNER) *right = tra_colexpr_column(f->a, out, s->lkey[k]);
    }
}

bool tra_factor_join(factoring *f, joining *g, int number, const tra_expr *right, const int *of) {
    const tra_pipe_join *j = &f->pipe->join[number];
    const tra_schema *left = g->x->node.type.columns;
    tra_lookup_spec s = *j->s;
    tra_lookup *l;
    tra_err e = {0};
    int *lkey = tra_news(f->a, int, s.nkeys + 1), *rkey = tra_news(f->a, int, s.nkeys + 1);
    for (int k = 0; k < s.nkeys; k++) {
        int own = key_of(f, j->key[k]);
        const tra_colexpr *at = own < 0 ? g->by[j->key[k]->column] : NULL;
        if (own < 0 && !at) return false;
        lkey[k] = own >= 0 ? own : at->column;
        for (rkey[k] = of ? 0 : s.rkey[k]; of && of[rkey[k]] != s.rkey[k];) rkey[k]++;
    }
    s.left = left;
    s.lkey = lkey;
    s.rkey = rkey;
    if (right) s.right = right->node.type.columns;
    s.prefix = tra_arena_printf(f->a, "%d.", number + 1);
    if (tra_lookup_new(f->a, &s, &l, &e) != TRA_OK) return REFUSE(f, "%s", e.msg);
    tra_rows_kernel k = *tra_kernel_rows(j->x->node.kernel);
    k.flops = tra_flops_of_columns(k.flops, k.columns->n - tra_lookup_out(l)->n);
    k.columns = tra_lookup_out(l);
    k.data = l;
    g->x = tra_make_below(f->w, f->x,
                          (tra_node){.op = TRA_OP_JOIN,
                                     .in = {&g->x->node, right ? (tra_node *)&right->node : j->x->node.in[1]},
                                     .kernel = tra_rows_kernel_of(f->a, &k)});
    if (g->x) take_columns(f, g, l, j, left->n, of);
    return g->x != NULL;
}

/* ---- all joins, of rows ------------------------------------------------------------------------------------------ */

void tra_factor_mark_selects(const factoring *f, bool *used) {
    for (int i = 0; i < f->pipe->nselects; i++)
        if (tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1)) tra_colexpr_columns(f->pipe->select[i].x, used);
    for (int j = 0; j < f->pipe->njoins; j++)
        for (int k = 0; k < f->pipe->join[j].s->nkeys; k++)
            if (tra_pipe_reads(f->pipe, f->pipe->join[j].key[k], 1)) tra_colexpr_columns(f->pipe->join[j].key[k], used);
}

tra_rowwise *tra_factor_right(factoring *f, int j, const bool *used, int more, const char *const *names,
                              const tra_colexpr *const *x, int **of) {
    const tra_pipe_join *join = &f->pipe->join[j];
    const tra_schema *s = join->s->right;
    tra_projection p = {.arena = f->a};
    int *at = tra_news(f->a, int, s->n + more + 1);
    for (int i = 0; i < s->n; i++) {
        bool kept = used[join->first + i];
        for (int k = 0; k < join->s->nkeys; k++) kept = kept || join->s->rkey[k] == i;
        if (kept) at[tra_projection_keep(&p, s, i)] = i;
    }
    for (int i = 0; i < more; i++) at[tra_projection_add(&p, names[i], x[i])] = -1;
    *of = at;
    return tra_projection_pass(&p, s);
}

/* Begins g with the rows of the source that its own predicates let through: the group columns, then the used ones. */
static bool first_rows(factoring *f, joining *g, const bool *used) {
    const tra_schema *s = f->pipe->source->type.columns;
    tra_rowwise *r = tra_rowwise_new(f->a, s);
    tra_projection p = {.arena = f->a};
    int *at = tra_news(f->a, int, s->n + 1);
    for (int i = 0; i < f->pipe->nselects; i++)
        if (!tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1)) tra_rowwise_select(r, f->pipe->select[i].x);
    for (int k = 0; k < f->nkeys; k++) {
        bool own = f->key[k]->op == TRA_C_COLUMN;
        tra_projection_add(&p,
                           own ? tra_arena_printf(f->a, "0.%s", s->v[f->key[k]->column].name)
                               : tra_arena_printf(f->a, "key %d", k),
                           f->key[k]);
    }
    for (int i = 0; i < s->n; i++) {
        const tra_colexpr *own = tra_colexpr_column(f->a, s, i);
        at[i] = used[i] ? key_of(f, own) : -1;
        if (used[i] && at[i] < 0) at[i] = tra_projection_add(&p, tra_arena_printf(f->a, "0.%s", s->v[i].name), own);
    }
    tra_rowwise_project(r, p.n, p.names, p.x);
    if (!(g->x = tra_factor_project(f, tra_memo_expr(f->pipe->source), r))) return false;
    for (int i = 0; i < s->n; i++)
        if (at[i] >= 0) g->by[i] = tra_colexpr_column(f->a, tra_rowwise_out(r), at[i]);
    return true;
}

bool tra_factor_rows(factoring *f, joining *g, const bool *used, tra_expr *const *right, int *const *of) {
    *g = (joining){.by = tra_news(f->a, const tra_colexpr *, f->pipe->all->n + 1),
                   .added = tra_news(f->a, const tra_colexpr *, TRA_PIPE_JOINS *TRA_FACTOR_COLUMNS)};
    if (!first_rows(f, g, used)) return false;
    for (int i = 0; i < f->pipe->njoins; i++) {
        int j = f->order ? f->order[i] : i;
        const tra_expr *table = right[j];
        int *at = of[j];
        if (!table) {
            const tra_rowwise *r = tra_factor_right(f, j, used, 0, NULL, NULL, &at);
            table = tra_factor_project(f, tra_memo_expr(f->pipe->join[j].x->node.in[1]), r);
        }
        if (!table || !tra_factor_join(f, g, j, table, at)) return false;
    }
    return true;
}

bool tra_factor_select(factoring *f, joining *g) {
    tra_rowwise *r = tra_rowwise_new(f->a, g->x->node.type.columns);
    for (int i = 0; i < f->pipe->nselects; i++)
        if (tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1))
            tra_rowwise_select(r, tra_colexpr_substitute(f->a, f->pipe->select[i].x, g->by));
    if (tra_rowwise_selects(r)) g->x = tra_factor_project(f, g->x, r);
    return g->x != NULL;
}
