/* factor_beside.c - arrays that lie beside the rows of joins, and are summed with them: what factor.h promises of them.
 */
#include <string.h>

#include "../../lib/table/weighted.h"
#include "factor.h"

const char *tra_factor_array_refused(const tra_type *t) {
    if (t->dtype != TRA_F64) return "what lies beside the rows is not f64: its products are exact to other digits";
    if (t->sparse) return "what lies beside the rows is of sparse type";
    if (t->cat->frontier.n != t->cat->bound.n || (t->cat->bound.n == 2 && t->cat->frontier.v[1] != 1))
        return "the columns of what lies beside the rows are in several blocks";
    return t->cat->bound.n == 2 && t->cat->bound.v[1] > TRA_FACTOR_COLUMNS ? "too many columns lie beside the rows"
                                                                           : NULL;
}

const char *tra_factor_beside_refused(const tra_memo *m, const opened *o) {
    const tra_expr *array = o->array ? o->array : o->weight;
    for (int j = 0; j < o->p[0]->njoins; j++)
        if (!tra_lookup_once(m, o->p[0]->join[j].x->in[1], o->p[0]->join[j].s))
            return "a key may be there twice in a joined table: rows of one group differ in what lies beside them";
    return tra_factor_array_refused(&array->node.type);
}

tra_expr *tra_factor_array(factoring *f, const tra_expr *array) {
    if (array->node.type.cat->frontier.n < 2) return (tra_expr *)array;
    tra_keyfn *to = tra_new(f->a, tra_keyfn);
    tra_keyexpr *x = tra_new(f->a, tra_keyexpr);
    *x = (tra_keyexpr){.op = TRA_KEY_VAR};
    *to = (tra_keyfn){.arity = 2, .n = 1, .names = {"i", "j"}, .expr = {x}};
    return tra_factor_below(
        f, (tra_node){.op = TRA_OP_REKEY, .in = {(tra_node *)&array->node}, .keyfn = to, .span = f->x->node.span});
}

/* Adds an array, unless it is there: its columns follow all columns of the pipeline. */
static factor_array *add_array(factoring *f, const tra_expr *x) {
    const tra_memo *m = f->w->m;
    for (int i = 0; i < f->narrays; i++)
        if (tra_memo_find(m, f->array[i].x->group) == tra_memo_find(m, x->group)) return &f->array[i];
    if (!f->rows) f->rows = tra_new(f->a, joining);
    const tra_schema *all = f->pipe->all;
    int width = x->node.type.cat->bound.n == 2 ? (int)x->node.type.cat->bound.v[1] : 1;
    tra_pipe *pipe = tra_new(f->a, tra_pipe);
    tra_schema *s = tra_new(f->a, tra_schema);
    tra_column *v = tra_news(f->a, tra_column, all->n + width);
    memcpy(v, all->v, (size_t)all->n * sizeof *v);
    for (int c = 0; c < width; c++)
        v[all->n + c] =
            (tra_column){.name = tra_arena_printf(f->a, "beside %d.%d", f->narrays, c), .type = TRA_COL_F64};
    *s = (tra_schema){all->n + width, v};
    *pipe = *f->pipe;
    pipe->all = s;
    f->pipe = pipe;
    f->array[f->narrays] = (factor_array){.x = x, .width = width, .first = all->n};
    return &f->array[f->narrays++];
}

int tra_factor_beside(factoring *f, const tra_expr *array, feature **out) {
    const factor_array *own = add_array(f, array);
    *out = tra_news(f->a, feature, own->width + 1);
    for (int c = 0; c < own->width; c++)
        (*out)[c] = (feature){.name = f->pipe->all->v[own->first + c].name,
                              .x = tra_colexpr_column(f->a, f->pipe->all, own->first + c),
                              .beside = true};
    return own->width;
}

/* Puts an array beside the rows of the joins. */
static bool put_beside(factoring *f, const factor_array *own) {
    joining *g = f->rows;
    const tra_expr *array = tra_factor_array(f, own->x);
    if (!array) return false;
    const tra_schema *s = g->x->node.type.columns;
    tra_column *v = tra_news(f->a, tra_column, s->n + own->width);
    tra_schema *all = tra_new(f->a, tra_schema);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    memcpy(v + s->n, f->pipe->all->v + own->first, (size_t)own->width * sizeof *v);
    *all = (tra_schema){s->n + own->width, v};
    tra_rows_kernel k = {.text = tra_arena_printf(f->a, "with %d columns beside them", own->width),
                         .use = TRA_USE_JOIN,
                         .columns = all,
                         .dtype = TRA_F64,
                         .rows = TRA_ROWS_SAME,
                         .share = 1,
                         .flops = TRA_COLUMN_FLOPS * all->n,
                         .ops = &tra_beside_ops,
                         .data = all};
    g->x = tra_factor_below(f, (tra_node){.op = TRA_OP_JOIN,
                                          .in = {&g->x->node, (tra_node *)&array->node},
                                          .joinl = {.n = 1},
                                          .joinr = {.n = 1},
                                          .kernel = tra_kernel_of_rows(f->a, &k),
                                          .span = f->x->node.span});
    if (!g->x) return false;
    for (int i = 0; i < own->first; i++)
        if (g->by[i]) g->by[i] = tra_colexpr_column(f->a, all, g->by[i]->column);
    for (int c = 0; c < own->width; c++) g->by[own->first + c] = tra_colexpr_column(f->a, all, s->n + c);
    return true;
}

bool tra_factor_rows_beside(factoring *f) {
    joining *g = f->rows;
    tra_expr *none[TRA_PIPE_JOINS] = {0};
    int *of[TRA_PIPE_JOINS] = {0};
    bool *used = tra_news(f->a, bool, f->pipe->all->n + 1);
    tra_factor_mark_selects(f, used);
    for (int i = 0; i < f->nsummands; i++) tra_factor_mark(f->summand[i], used);
    for (int i = 0; i < f->narrays; i++)
        for (int c = 0; c < f->array[i].width; c++) used[f->array[i].first + c] = false;
    if (!tra_factor_rows(f, g, used, none, of) || !tra_factor_select(f, g)) return false;
    for (int i = 0; i < f->narrays; i++)
        if (!put_beside(f, &f->array[i])) return false;
    return true;
}
