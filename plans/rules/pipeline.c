/* pipeline.c - what pipeline.h promises. */
#include "pipeline.h"

#include <string.h>

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/kernels.h"
#include "../tra/cardinality.h"

const tra_rowwise *tra_rowwise_of_expr(const tra_expr *x) {
    return x->node.op == TRA_OP_TRANSFORM ? tra_rows_args(&x->node, &tra_rowwise_ops) : NULL;
}

const tra_lookup *tra_lookup_of_expr(const tra_expr *x) {
    return x->node.op == TRA_OP_JOIN && x->node.join.l.n == 0 ? tra_rows_args(&x->node, &tra_lookup_ops) : NULL;
}

const char *tra_lookup_refused(const tra_lookup *l) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    if (s->asof) return "an as-of join chooses one of several partners";
    if (tra_lookup_condition(l)) return "a join has further conditions on the pair";
    if (s->matched) return "a join checks that all rows are matched, and names the first that is not";
    switch (s->how) {
    case TRA_LOOKUP_INNER:
    case TRA_LOOKUP_LEFT:
    case TRA_LOOKUP_SEMI:
    case TRA_LOOKUP_ANTI: return NULL;
    case TRA_LOOKUP_KEEP:
    case TRA_LOOKUP_RIGHT:
    case TRA_LOOKUP_OUTER: break;
    }
    return "a join numbers rows, or checks the left table";
}

bool tra_colexpr_same(const tra_schema *s, const tra_colexpr *x, const tra_colexpr *y) {
    tra_str a = {0}, b = {0};
    if (x == y) return true;
    tra_colexpr_print(x, s, &a);
    tra_colexpr_print(y, s, &b);
    bool same = x->type == y->type && strcmp(tra_str_get(&a), tra_str_get(&b)) == 0;
    tra_str_free(&a);
    tra_str_free(&b);
    return same;
}

/* ---- the operators, from the table down to its source ---------------------------------------------------------- */

enum { DEEPEST = 64 };
typedef struct chain {
    int n;
    const tra_expr *x[DEEPEST];
} chain;

/* Is it a pass that asks for row()? Such a pass is a join, with the numbers of the first rows of blocks. */
static bool numbers_rows(const tra_expr *x) {
    const tra_rowwise *r = x->node.op == TRA_OP_JOIN ? tra_rows_args(&x->node, &tra_rowwise_ops) : NULL;
    return r && !tra_rowwise_is_matrix(r, NULL);
}

/* The expression of a group that is an operator of a pipeline; the one with the fewest columns, if there are several.
 */
static const tra_expr *step_of(const tra_memo *m, int group) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    const tra_expr *found = NULL;
    for (int i = 0; i < g->n; i++) {
        const tra_expr *x = m->v[g->expr[i]];
        const tra_rowwise *r = tra_rowwise_of_expr(x);
        bool steps = (r && !tra_rowwise_is_matrix(r, NULL)) || tra_lookup_of_expr(x) || numbers_rows(x);
        if (steps && (!found || (x->rule == &tra_rule_q_6 && found->rule != &tra_rule_q_6))) found = x;
    }
    return found;
}

static chain chain_of(const tra_memo *m, int group) {
    chain c = {0};
    for (const tra_expr *x; c.n < DEEPEST && (x = step_of(m, group)); group = x->in[0]) c.x[c.n++] = x;
    return c;
}

/* ---- columns ---------------------------------------------------------------------------------------------------- */

/* Sets p->all: the source's columns and those of all right tables, renamed so that no two have one name. */
static void set_all(const tra_rewriting *w, tra_pipe *p, const chain *c) {
    tra_arena *a = w->m->arena;
    const tra_schema *s = p->source->type.columns;
    int n = s->n, joins = 0;
    for (int i = c->n - 1; i >= 0; i--) {
        const tra_lookup *l = tra_lookup_of_expr(c->x[i]);
        if (!l) continue;
        p->njoined++;
        if (joins == TRA_PIPE_JOINS) {
            p->refused = "there are too many joins";
            continue;
        }
        p->join[joins++] = (tra_pipe_join){.x = c->x[i], .l = l, .s = tra_lookup_spec_of(l), .first = n};
        n += tra_lookup_spec_of(l)->right->n;
    }
    tra_column *v = tra_news(a, tra_column, n + 1);
    tra_schema *all = tra_new(a, tra_schema);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    for (int j = 0; j < joins; j++) {
        const tra_lookup_spec *spec = p->join[j].s;
        for (int i = 0; i < spec->right->n; i++) {
            v[p->join[j].first + i] = spec->right->v[i];
            v[p->join[j].first + i].name = tra_arena_printf(a, "%d.%s", j + 1, spec->right->v[i].name);
            v[p->join[j].first + i].nullable |= spec->how == TRA_LOOKUP_LEFT;
        }
    }
    *all = (tra_schema){n, v};
    p->all = all;
}

static void take_join(tra_rewriting *w, tra_pipe *p) {
    tra_pipe_join *j = &p->join[p->njoins++];
    const char *why = j->s->nkeys == 0 ? "a join has no keys" : tra_lookup_refused(j->l);
    int nleft = j->s->left->n;
    if (why && !p->refused) p->refused = why;
    const tra_colexpr **key = tra_news(w->m->arena, const tra_colexpr *, j->s->nkeys + 1);
    for (int k = 0; k < j->s->nkeys; k++) key[k] = p->column[j->s->lkey[k]];
    j->key = key;
    const tra_schema *out = tra_lookup_out(j->l);
    const tra_colexpr **now = tra_news(w->m->arena, const tra_colexpr *, out->n + 1);
    for (int i = 0; i < out->n && !p->refused; i++) {
        int from = tra_lookup_from(j->l)[i];
        if (from < 0)
            p->refused = "a join numbers rows";
        else
            now[i] = from < nleft ? p->column[from] : tra_colexpr_column(w->m->arena, p->all, j->first + from - nleft);
    }
    p->column = now;
}

const tra_colexpr *tra_pipe_term(const tra_rewriting *w, const tra_pipe *p, const tra_colexpr *x) {
    return tra_colexpr_substitute(w->m->arena, x, p->column);
}

/* Adds the parts of a predicate that && joins to the pipeline's predicates. */
static void take_predicate(tra_pipe *p, const tra_colexpr *x) {
    if (x->op == TRA_C_AND && !x->fails) {
        for (int i = 0; i < x->nkids; i++) take_predicate(p, x->kids[i]);
    } else if (p->nselects == TRA_PIPE_SELECTS) {
        p->refused = "there are too many selects";
    } else {
        p->select[p->nselects++] = (tra_pipe_select){x, p->njoins};
    }
}

static void take_steps(tra_rewriting *w, tra_pipe *p, const tra_rowwise *r) {
    const tra_rowwise_step *v;
    int n = tra_rowwise_steps(r, &v);
    for (int i = 0; i < n && !p->refused; i++) {
        if (v[i].selects) {
            take_predicate(p, tra_pipe_term(w, p, v[i].x[0]));
        } else {
            const tra_colexpr **now = tra_news(w->m->arena, const tra_colexpr *, v[i].n + 1);
            for (int k = 0; k < v[i].n; k++) now[k] = tra_pipe_term(w, p, v[i].x[k]);
            p->column = now;
        }
    }
}

tra_pipe *tra_pipe_of(tra_rewriting *w, int group) {
    tra_memo *m = w->m;
    chain c = chain_of(m, group);
    tra_pipe *p = tra_new(m->arena, tra_pipe);
    int bottom = c.n ? c.x[c.n - 1]->in[0] : group;
    p->source = &m->v[m->group[tra_memo_find(m, bottom)].expr[0]]->node;
    if (!p->source->type.columns) {
        p->refused = "it is no table";
        return p;
    }
    set_all(w, p, &c);
    const tra_colexpr **now = tra_news(m->arena, const tra_colexpr *, p->all->n + 1);
    for (int i = 0; i < p->source->type.columns->n; i++) now[i] = tra_colexpr_column(m->arena, p->all, i);
    p->column = now;
    for (int i = c.n - 1; i >= 0 && !p->refused; i--) {
        const tra_rowwise *r = tra_rowwise_of_expr(c.x[i]);
        if (numbers_rows(c.x[i]))
            p->refused = "row() numbers the rows of a join";
        else if (r)
            take_steps(w, p, r);
        else
            take_join(w, p);
    }
    return p;
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

bool tra_pipe_same_rows(const tra_rewriting *w, const tra_pipe *x, const tra_pipe *y) {
    const tra_memo *m = w->m;
    int gx = tra_memo_find(m, tra_memo_expr(x->source)->group), gy = tra_memo_find(m, tra_memo_expr(y->source)->group);
    if (gx != gy || x->njoins != y->njoins || x->nselects != y->nselects) return false;
    for (int j = 0; j < x->njoins; j++) {
        const tra_pipe_join *a = &x->join[j], *b = &y->join[j];
        bool same = tra_memo_find(m, a->x->in[1]) == tra_memo_find(m, b->x->in[1]) && a->s->nkeys == b->s->nkeys &&
                    a->s->how == b->s->how && a->s->nulls_match == b->s->nulls_match;
        for (int k = 0; same && k < a->s->nkeys; k++)
            same = a->s->rkey[k] == b->s->rkey[k] && tra_colexpr_same(x->all, a->key[k], b->key[k]);
        if (!same) return false;
    }
    for (int i = 0; i < x->nselects; i++)
        if (x->select[i].joins != y->select[i].joins || !tra_colexpr_same(x->all, x->select[i].x, y->select[i].x))
            return false;
    return true;
}

bool tra_pipe_reads(const tra_pipe *p, const tra_colexpr *x, int which) {
    int own = p->source->type.columns->n;
    if (x->op == TRA_C_COLUMN) return (x->column >= own) == which;
    for (int i = 0; i < x->nkids; i++)
        if (tra_pipe_reads(p, x->kids[i], which)) return true;
    return false;
}

/* ---- passes over rows -------------------------------------------------------------------------------------------- */

double tra_rows_expected(const tra_node *n) {
    return n->type.bounded && n->type.entries ? (double)n->type.entries->all.expected
                                              : (double)tra_catalog_elements(n->type.cat);
}

int tra_lookup_place(const tra_lookup *l, int pair) {
    const int *from = tra_lookup_from(l); /* ascending, but for the number of the row, which is last, as -1 */
    int n = tra_lookup_out(l)->n, at = 0;
    TRA_BISECT(at, n, mid, from[mid] >= 0 && from[mid] < pair);
    return at < n && from[at] == pair ? at : -1;
}

double tra_flops_of_columns(double flops, int fewer) {
    double less = flops - TRA_COLUMN_FLOPS * fewer;
    return less > 0.5 * flops ? less : 0.5 * flops;
}

const tra_kernel *tra_pass_kernel(tra_rewriting *w, const tra_rows_kernel *k, const tra_rowwise *r) {
    tra_rows_kernel made = *k;
    made.label = NULL, made.ops = &tra_rowwise_ops, made.data = r;
    made.columns = tra_rowwise_is_matrix(r, NULL) ? NULL : tra_rowwise_out(r);
    return tra_rows_kernel_of(w->m->arena, &made);
}

tra_node tra_proto_pass(tra_rewriting *w, const tra_node *in, const tra_rowwise *r) {
    const tra_rowwise_step *v;
    tra_rows_kernel k = tra_rows_op(&tra_rowwise_ops, r, NULL);
    k.counts = tra_rowwise_selects(r), k.flops = TRA_COLUMN_FLOPS * tra_rowwise_out(r)->n;
    for (int i = tra_rowwise_steps(r, &v) - 1; i >= 0; i--)
        if (v[i].selects) k.share *= tra_table_selectivity(v[i].x[0]), k.flops += 2;
    return tra_proto_transform(tra_pass_kernel(w, &k, r), in);
}

const tra_colexpr *const *tra_pass_columns(tra_arena *a, const tra_rowwise *r) {
    const tra_rowwise_step *v;
    const tra_colexpr *const *by = NULL;
    int n = tra_rowwise_steps(r, &v);
    for (int i = 0; i < n; i++) {
        const tra_colexpr **now = tra_news(a, const tra_colexpr *, v[i].n + 1);
        for (int k = 0; k < v[i].n && !v[i].selects; k++)
            now[k] = by ? tra_colexpr_substitute(a, v[i].x[k], by) : v[i].x[k];
        if (!v[i].selects) by = now;
    }
    return by;
}

void tra_add_steps(tra_rowwise *to, int n, const tra_rowwise_step *v) {
    for (int i = 0; i < n; i++) {
        if (v[i].selects)
            tra_rowwise_select(to, v[i].x[0]);
        else
            tra_rowwise_project(to, v[i].n, v[i].names, v[i].x);
    }
}

bool tra_may_fail(const tra_colexpr *x) {
    bool fails = x->fails;
    for (int i = 0; i < x->nkids && !fails; i++) fails = tra_may_fail(x->kids[i]);
    return fails;
}

/* Puts the predicates that x joins by && at v[n], v[n + 1], ..., if v is not NULL; returns the number of all. */
static int add_parts(const tra_colexpr *x, int n, const tra_colexpr **v) {
    if (x->op == TRA_C_AND && !x->fails) {
        for (int i = 0; i < x->nkids; i++) n = add_parts(x->kids[i], n, v);
        return n;
    }
    if (v) v[n] = x;
    return n + 1;
}

const tra_colexpr *const *tra_first_predicates(tra_arena *a, const tra_rowwise *r, int *n) {
    const tra_rowwise_step *step;
    const tra_colexpr **v = NULL;
    int steps = r ? tra_rowwise_steps(r, &step) : 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) v = tra_news(a, const tra_colexpr *, *n + 1);
        *n = 0;
        for (int i = 0; i < steps && step[i].selects; i++) *n = add_parts(step[i].x[0], *n, v);
    }
    return v;
}
