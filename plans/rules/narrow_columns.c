/* narrow_columns.c - rule Q-6: columns that nobody reads are not read, nor carried along.
 *
 * From the outputs down it is found which columns of each table are read by any of its consumers; then, from the inputs
 * up, each table that has others too gets a twin without them, and consumers that take twins are added to the groups
 * of those that do not. What a twin keeps is what all consumers need, so that what several share stays shared. Where a
 * pass has nothing left to do, its input is its twin.
 */
#include <string.h>

#include "../../lib/table/kernels.h"
#include "../../lib/table/key_ranges.h"
#include "pipeline.h"

/* A group of the memo whose relation is a table. */
typedef struct table {
    bool *need;           /* of each column: does any consumer read it? */
    const tra_expr *twin; /* the table without the columns that nobody reads; NULL: it has none */
    int *at;              /* of each column its number in the twin, -1: not there */
} table;

typedef struct narrowing {
    tra_rewriting *w;
    tra_memo *m;
    tra_arena *a;
    int n;        /* expressions of the program */
    table *group; /* by number */
} narrowing;

static const tra_schema *columns_of(const tra_expr *x) { return x->node.type.columns; }
static table *table_of(const narrowing *u, int group) { return &u->group[tra_memo_find(u->m, group)]; }

static const tra_rowwise *rowwise_of(const tra_expr *x) { return tra_rows_args(&x->node, &tra_rowwise_ops); }
static bool is_join(const tra_expr *x) { return tra_rows_args(&x->node, &tra_lookup_ops); }

static void set_all(bool *need, int n) {
    for (int i = 0; i < n; i++) need[i] = true;
}

/* ---- what is read ------------------------------------------------------------------------------------------------ */

/* Which columns are read later: live[k] those that there are before step k, live[n] those of the result. */
static bool **live_of(const narrowing *u, const tra_rowwise *r, const bool *need) {
    const tra_rowwise_step *v;
    int n = tra_rowwise_steps(r, &v), width = tra_rowwise_in(r)->n;
    bool **live = tra_news(u->a, bool *, n + 1);
    for (int k = 0; k < n; k++) {
        live[k] = tra_news(u->a, bool, width + 1);
        if (!v[k].selects) width = v[k].n;
    }
    live[n] = tra_news(u->a, bool, width + 1);
    for (int i = 0; i < width; i++) live[n][i] = !need || need[i];
    for (int k = n - 1; k >= 0; k--) {
        int out = v[k].selects ? 0 : v[k].n;
        for (int i = 0; i < out; i++)
            if (live[k + 1][i]) tra_colexpr_columns(v[k].x[i], live[k]);
        if (!v[k].selects) continue;
        int before = k;
        while (before > 0 && v[before - 1].selects) before--;
        int columns = before > 0 ? v[before - 1].n : tra_rowwise_in(r)->n;
        for (int i = 0; i < columns; i++) live[k][i] = live[k + 1][i];
        tra_colexpr_columns(v[k].x[0], live[k]);
    }
    return live;
}

/* Which columns of its operands the kernel of x reads, and which it repeats; false: it may read all. */
static bool reads_of(const narrowing *u, const tra_expr *x, tra_rows_reads *r) {
    const tra_rows_kernel *k = tra_rows_op_of(&x->node);
    const tra_schema *out = columns_of(x), *in[2] = {NULL, NULL};
    for (int i = 0; i < 2 && x->in[i] >= 0; i++) in[i] = x->node.in[i]->type.columns;
    int n = out ? out->n : 0, left = in[0] ? in[0]->n : 0;
    *r = (tra_rows_reads){.left = left,
                          .read = tra_news(u->a, bool, left + (in[1] ? in[1]->n : 0) + 1),
                          .from = tra_news(u->a, int, n + 1)};
    for (int i = 0; i < n; i++) r->from[i] = -1;
    if (k) return tra_rows_reads_of(k, r);
    if (!out || (x->node.op != TRA_OP_CONCAT && x->node.op != TRA_OP_REKEY)) return false;
    tra_rows_repeat(r, 0, n);
    return true;
}

static void read_by(narrowing *u, const tra_expr *x) {
    const tra_rowwise *r = rowwise_of(x);
    const bool *need = columns_of(x) ? table_of(u, x->group)->need : NULL;
    bool *in[2] = {NULL, NULL};
    tra_rows_reads reads;
    for (int i = 0; i < 2 && x->in[i] >= 0; i++) in[i] = table_of(u, x->in[i])->need;
    if (r) {
        bool *first = live_of(u, r, need)[0];
        for (int i = 0; i < tra_rowwise_in(r)->n; i++) in[0][i] |= first[i];
    } else if (reads_of(u, x, &reads)) {
        for (int i = 0; need && i < columns_of(x)->n; i++) {
            int from = reads.from[i];
            if (need[i] && from >= 0) reads.read[from] = true;
            if (need[i] && reads.both) reads.read[reads.left + from] = true;
        }
        for (int side = 0, first = 0; side < 2 && in[side]; first += side++ ? 0 : reads.left)
            for (int i = 0; x->node.in[side]->type.columns && i < x->node.in[side]->type.columns->n; i++)
                in[side][i] |= reads.read[first + i];
    } else {
        for (int i = 0; i < 2 && x->in[i] >= 0; i++) {
            if (!x->node.in[i]->type.columns) continue;
            set_all(in[i], x->node.in[i]->type.columns->n);
            tra_refuse(u->w, x, "%s may read all columns", tra_kernel_name(u->w, x->node.kernel));
        }
    }
}

/* A table of which no column is read, but whose rows count, keeps its narrowest column. */
static void keep_one(const narrowing *u, int group) {
    const tra_schema *s = columns_of(u->m->v[u->m->group[group].expr[0]]);
    table *t = &u->group[group];
    int least = 0;
    for (int i = 0; s && i < s->n; i++) {
        if (t->need[i]) return;
        if (tra_coltype_size(s->v[i].type) < tra_coltype_size(s->v[least].type)) least = i;
    }
    if (s && s->n) t->need[least] = true;
}

static void find_needs(narrowing *u) {
    const tra_graph *g = u->m->g;
    for (int i = 0; i < u->m->ngroups; i++) {
        const tra_schema *s = u->m->group[i].n ? columns_of(u->m->v[u->m->group[i].expr[0]]) : NULL;
        u->group[i].need = tra_news(u->a, bool, (s ? s->n : 0) + 1);
    }
    for (int i = 0; i < g->noutputs; i++) {
        const tra_node *n = g->outputs[i].node;
        if (n->type.columns) set_all(table_of(u, u->m->v[u->m->of_node[n->id]]->group)->need, n->type.columns->n);
    }
    for (int i = u->n - 1; i >= 0; i--) {
        keep_one(u, tra_memo_find(u->m, u->m->v[i]->group));
        read_by(u, u->m->v[i]);
    }
}

/* ---- twins ------------------------------------------------------------------------------------------------------- */

static bool is_whole(const narrowing *u, const tra_expr *x) {
    const tra_schema *s = columns_of(x);
    for (int i = 0; s && i < s->n; i++)
        if (!table_of(u, x->group)->need[i]) return false;
    return true;
}

static const tra_node *input_of(const narrowing *u, const tra_expr *x, int side) {
    const table *t = table_of(u, x->in[side]);
    return t->twin ? &t->twin->node : x->node.in[side];
}

static int place_of(const narrowing *u, const tra_expr *x, int side, int column) {
    const table *t = table_of(u, x->in[side]);
    return t->twin ? t->at[column] : column;
}

static bool is_changed(const narrowing *u, const tra_expr *x) {
    for (int i = 0; i < 2 && x->in[i] >= 0; i++)
        if (table_of(u, x->in[i])->twin) return true;
    return false;
}

/* Ends a pass with those of its n columns that are live; places: their numbers, which change. */
static void drop_columns(const narrowing *u, tra_rowwise *r, const bool *live, int n, int *places) {
    const tra_schema *s = tra_rowwise_out(r);
    tra_projection p = {.arena = u->a};
    for (int i = 0; i < n; i++) places[i] = live[i] && places[i] >= 0 ? tra_projection_keep(&p, s, places[i]) : -1;
    tra_rowwise_project(r, p.n, p.names, p.x);
}

/* The pass over the twin of its input, with those columns of its result that are read; at: their numbers there. */
static bool narrow_pass(narrowing *u, const tra_expr *x, const tra_rowwise *r, tra_node *n, int *at) {
    const bool *need = columns_of(x) ? table_of(u, x->group)->need : NULL;
    const tra_rowwise_step *v;
    int steps = tra_rowwise_steps(r, &v), width = tra_rowwise_in(r)->n;
    bool **live = live_of(u, r, need), matrix;
    tra_dtype dtype;
    matrix = tra_rowwise_is_matrix(r, &dtype);
    const tra_schema *in = input_of(u, x, 0)->type.columns;
    tra_rowwise *made = tra_rowwise_new(u->a, in);
    const tra_colexpr **by = tra_news(u->a, const tra_colexpr *, width + 1);
    int *places = tra_news(u->a, int, width + 1);
    for (int i = 0; i < width; i++) {
        places[i] = place_of(u, x, 0, i);
        if (places[i] >= 0) by[i] = tra_colexpr_column(u->a, in, places[i]);
    }
    for (int k = 0; k < steps; k++) {
        if (v[k].selects) {
            tra_rowwise_select(made, tra_colexpr_substitute(u->a, v[k].x[0], by));
            continue;
        }
        tra_projection p = {.arena = u->a};
        places = tra_news(u->a, int, v[k].n + 1);
        for (int i = 0; i < v[k].n; i++)
            places[i] = live[k + 1][i]
                            ? tra_projection_add(&p, v[k].names[i], tra_colexpr_substitute(u->a, v[k].x[i], by))
                            : -1;
        if (matrix && k == steps - 1) {
            if (tra_rowwise_matrix(made, p.n, p.names, p.x, dtype, tra_rowwise_fill(r), NULL) != TRA_OK) return false;
            break;
        }
        tra_rowwise_project(made, p.n, p.names, p.x);
        by = tra_news(u->a, const tra_colexpr *, v[k].n + 1);
        for (int i = 0; i < v[k].n; i++) {
            if (places[i] >= 0) by[i] = tra_colexpr_column(u->a, tra_rowwise_out(made), places[i]);
        }
    }
    bool selects = steps > 0 && v[steps - 1].selects,
         drops = false; /* what the last selections read alone is left out */
    for (int i = 0; at && selects && i < columns_of(x)->n; i++) drops |= !live[steps][i] && places[i] >= 0;
    if (drops) drop_columns(u, made, live[steps], columns_of(x)->n, places);
    for (int i = 0; at && i < columns_of(x)->n; i++) at[i] = places[i];
    tra_rows_kernel k = *tra_kernel_rows(x->node.kernel);
    bool fewer = drops; /* it makes fewer columns; else it is the same pass over another table */
    for (int i = 0; i < steps; i++)
        for (int c = 0; !v[i].selects && c < v[i].n; c++) fewer |= !live[i + 1][c];
    if (fewer) k.label = NULL;
    k.columns = matrix ? NULL : tra_rowwise_out(made);
    k.data = made;
    k.flops = tra_flops_of_columns(k.flops, tra_rowwise_in(r)->n - in->n);
    n->kernel = tra_rows_kernel_of(u->a, &k);
    return true;
}

/* A join that is made of pairs of rows has only columns that are read: its keys are done with. The numbers of the
 * others become those that they have then. */
static const tra_lookup *drop_of_join(const narrowing *u, const tra_expr *x, const tra_lookup *l, int *at) {
    const bool *need = table_of(u, x->group)->need;
    bool *keep = tra_news(u->a, bool, tra_lookup_out(l)->n + 1);
    int kept = 0;
    for (int i = 0; i < columns_of(x)->n; i++) {
        if (at[i] < 0) continue;
        keep[at[i]] = need[i];
        at[i] = need[i] ? kept++ : -1;
    }
    return tra_lookup_keeping(u->a, l, keep);
}

/* The kernel over the twins of its operands; its result has those columns that it repeats of these. */
static bool narrow_kernel(narrowing *u, const tra_expr *x, const tra_rows_reads *r, tra_node *n, int *at) {
    const tra_schema *s = columns_of(x), *in[2] = {NULL, NULL};
    tra_schema *out = s ? tra_new(u->a, tra_schema) : NULL;
    tra_column *v = tra_news(u->a, tra_column, (s ? s->n : 0) + 1);
    int columns = 0, made = 0;
    for (int i = 0; i < 2 && x->in[i] >= 0; i++) {
        in[i] = input_of(u, x, i)->type.columns;
        columns += x->node.in[i]->type.columns ? x->node.in[i]->type.columns->n : 0;
    }
    int *place = tra_news(u->a, int, columns + 1);
    for (int i = 0; i < columns; i++) place[i] = place_of(u, x, i >= r->left, i < r->left ? i : i - r->left);
    for (int i = 0; s && i < s->n; i++) {
        int from = r->from[i];
        bool there = from < 0 || (place[from] >= 0 && (!r->both || place[r->left + from] >= 0));
        at[i] = there ? made : -1;
        if (there) v[made++] = s->v[i];
    }
    if (out) *out = (tra_schema){made, v};
    if (x->node.op == TRA_OP_CONCAT || x->node.op == TRA_OP_REKEY) return true;
    tra_rows_kernel k = *tra_kernel_rows(x->node.kernel);
    const tra_rows_fewer f = {r->left, {in[0], in[1]}, out, place};
    if (!k.ops->over || !(k.data = k.ops->over(u->a, k.data, &f))) return false;
    if (is_join(x)) {
        k.data = drop_of_join(u, x, k.data, at);
        out = (tra_schema *)tra_lookup_out(k.data);
    }
    k.columns = out;
    k.flops = tra_flops_of_columns(k.flops, s ? s->n - made : 0);
    n->kernel = tra_rows_kernel_of(u->a, &k);
    return true;
}

static void narrow_input(narrowing *u, const tra_expr *x, tra_node *n, int *at) {
    const tra_schema *s = columns_of(x);
    tra_schema *chosen = tra_new(u->a, tra_schema);
    tra_column *v = tra_news(u->a, tra_column, s->n + 1);
    *chosen = (tra_schema){0, v};
    for (int i = 0; i < s->n; i++) {
        at[i] = table_of(u, x->group)->need[i] ? chosen->n : -1;
        if (at[i] >= 0) v[chosen->n++] = s->v[i];
    }
    n->type.columns = chosen;
}

/* Sets *n to the expression over twins, and with the columns that are read alone; false where nothing changes. */
static bool narrow(narrowing *u, const tra_expr *x, tra_node *n, int *at) {
    const tra_rowwise *r = rowwise_of(x);
    tra_rows_reads reads;
    *n = x->node;
    for (int i = 0; i < 2 && x->in[i] >= 0; i++) n->in[i] = (tra_node *)input_of(u, x, i);
    if (x->node.op == TRA_OP_INPUT) {
        if (is_whole(u, x) || x->node.input.leaf) return false;
        narrow_input(u, x, n, at);
    } else if (r) {
        return (is_changed(u, x) || !is_whole(u, x)) && narrow_pass(u, x, r, n, at);
    } else if (!is_changed(u, x) && (!is_join(x) || is_whole(u, x))) {
        return false;
    } else {
        return reads_of(u, x, &reads) && narrow_kernel(u, x, &reads, n, at);
    }
    return true;
}

static bool is_same(const tra_schema *s, const int *at) {
    for (int i = 0; s && i < s->n; i++)
        if (at[i] != i) return false;
    return true;
}

/* n: a pass over x's input, or over the twin of that. Returns this table, if n gives it back as it is; else NULL. */
static const tra_expr *given_back(const narrowing *u, const tra_expr *x, const tra_node *n) {
    const tra_rowwise *r = tra_rows_args(n, &tra_rowwise_ops);
    if (!r || !tra_rowwise_is_identity(r)) return NULL;
    const table *t = table_of(u, x->in[0]);
    return t->twin ? t->twin : tra_memo_expr(x->node.in[0]);
}

static void add_twin(narrowing *u, const tra_expr *x) {
    const tra_schema *s = columns_of(x);
    table *t = table_of(u, x->group);
    tra_node n;
    int *at = s ? tra_news(u->a, int, s->n + 1) : NULL;
    for (int i = 0; s && i < s->n; i++) at[i] = i;
    if (t->twin) return;
    bool changes = narrow(u, x, &n, at);
    const tra_expr *same = s ? given_back(u, x, &n) : NULL;
    bool stays = is_same(s, at) && n.type.columns && n.kernel && tra_schema_eq(tra_kernel_rows(n.kernel)->columns, s);
    if (changes && (!s || stays)) tra_claim(u->w, x, NULL, n, NULL, NULL);
    t->twin = same;
    t->at = at;
    if (same || !changes || !s || stays) return;
    n.name = NULL;
    if (x->node.op == TRA_OP_INPUT) n.name = x->node.name;
    t->twin = tra_make_below(u->w, x, n);
}

void tra_narrow_tables(tra_rewriting *w) {
    tra_memo *m = w->m;
    narrowing u = {.w = w, .m = m, .a = m->arena, .n = m->n};
    bool any = false;
    for (int i = 0; i < m->n; i++) any = any || m->v[i]->node.type.columns;
    if (!any) return;
    u.group = tra_news(m->arena, table, m->ngroups + 1);
    find_needs(&u);
    for (int i = 0; i < u.n; i++) add_twin(&u, m->v[i]);
    for (int i = 0, n = m->nmade; i < n; i++) {
        tra_made_rows twin = m->made[i];
        const tra_expr *made = table_of(&u, twin.group)->twin, *rows = table_of(&u, twin.rows)->twin;
        twin.rule = w->rule;
        if (made) twin.group = made->group;
        if (rows) twin.rows = rows->group;
        bool itself = tra_memo_find(m, twin.group) == tra_memo_find(m, twin.rows);
        if ((made || rows) && !itself) tra_memo_add_made(m, twin);
    }
}

const tra_rule tra_rule_q_6 = {
    .name = "Q-6",
    .equivalence = "an operator over a table = the same over the columns that anybody reads",
    .condition = "it is known which columns are read",
};
