/* q9_both.c - the part of rule Q-9 that aggregates the rows of both tables before they are joined.
 *
 * Where rows of either table have several partners, a key that many rows of both have makes as many pairs as the
 * product of their numbers. So both tables become groups, by the keys of the join and by what the keys of the whole
 * read; with each group stands how many rows it has, and what is known of the values of one table counts as often as
 * the group of the other table has rows (lib/table/pair_states.h).
 *
 * A join whose pairs are counted before (plans/tra/table_join_slices.c) gets the same operators over groups.
 *
 * Source: Yan and Larson, Eager aggregation and lazy aggregation, VLDB 1995 (double eager).
 */
#include <math.h>
#include <string.h>

#include "../../lib/table/group.h"
#include "../../lib/table/kernels.h"
#include "../../lib/table/pair_states.h"
#include "../../lib/table/parts.h"
#include "q9.h"

enum { LEFT, RIGHT, NEITHER = -1, BOTH = 2 };

/* One table, and its groups. */
typedef struct side {
    const tra_facts *facts;  /* of the columns of its rows, */
    const tra_schema *in;    /* which are these, */
    const tra_node *rows;    /* which are these, */
    tra_rowwise *pass;       /* after these selections; */
    const tra_colexpr **by;  /* what the columns of the join are, over them; NULL: columns of the other table */
    int nkeys, n;            /* how many keys; how many columns with what is aggregated */
    const tra_colexpr **key; /* over `in` */
    int *joined;             /* of each key of the join its number among these */
    int *column;             /* of each column of the pass its number among these columns */
    int *number;             /* of each aggregate its number here; -1: it is of the other table */
    const tra_group *first;
    const tra_schema *columns; /* its states, under names that differ, */
    int counted;               /* of which this one is how many rows there are */
} side;

typedef struct early {
    tra_rewriting *w;
    tra_arena *a;
    const tra_expr *group, *pass, *join;
    const tra_group *g;
    const tra_rowwise_step *step; /* the keys, then what is aggregated, over the columns of the join */
    const tra_lookup *l;
    const tra_lookup_spec *s;
    side of[2];
    const tra_node *before, *slices, *rekey; /* of a join whose pairs are counted before, else NULL */
} early;

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static const void *data_of(const tra_node *n, tra_opcode op, const tra_rows_ops *ops) {
    const tra_rows_kernel *k = n && n->op == op && n->kernel ? tra_kernel_rows(n->kernel) : NULL;
    return k && k->ops == ops ? k->data : NULL;
}

/* Finds the left table below the slices whose pairs were counted; false: the join has its rows as they are. The pass
 * over slices, which leaves out the number of pairs, is then one over the left table. */
static bool find_slices(early *p) {
    const tra_node *pass = p->join->node.in[0], *rekey = pass->in[0];
    const tra_rowwise *r = data_of(pass, TRA_OP_TRANSFORM, &tra_rowwise_ops);
    if (!r || !rekey || rekey->op != TRA_OP_REKEY) return false;
    if (!data_of(rekey->in[0], TRA_OP_JOIN, &tra_number_slice_ops)) return false;
    const tra_node *before = rekey->in[0]->in[0];
    const tra_pairs_before *b = data_of(before, TRA_OP_JOIN, &tra_pairs_before_ops);
    if (!b) return false;
    const tra_rowwise_step *v;
    side *x = &p->of[LEFT];
    int n = tra_rowwise_steps(r, &v);
    const tra_colexpr **by = tra_news(p->a, const tra_colexpr *, b->out->n + 1);
    for (int i = 0; i < b->left->n; i++) by[i] = tra_colexpr_column(p->a, b->left, i);
    x->pass = tra_rowwise_new(p->a, b->left);
    for (int i = 0; i < n; i++) { /* later steps are over what the first projection makes */
        int made = v[i].selects ? 1 : v[i].n;
        const tra_colexpr **y = tra_news(p->a, const tra_colexpr *, made + 1);
        for (int k = 0; k < made; k++) y[k] = by ? tra_colexpr_substitute(p->a, v[i].x[k], by) : v[i].x[k];
        if (v[i].selects)
            tra_rowwise_select(x->pass, y[0]);
        else
            tra_rowwise_project(x->pass, v[i].n, v[i].names, y);
        if (!v[i].selects) by = NULL;
    }
    x->rows = before->in[0];
    p->before = before, p->slices = rekey->in[0], p->rekey = rekey;
    return true;
}

static void find_tables(early *p) {
    int nleft = p->s->left->n;
    const tra_node *right = p->join->node.in[1];
    p->of[LEFT].in = p->s->left;
    p->of[RIGHT].in = p->s->right;
    for (int d = LEFT; d <= RIGHT; d++) p->of[d].facts = tra_memo_facts(p->w->m, p->join->in[d]);
    if (!find_slices(p)) p->of[LEFT].rows = p->join->node.in[0];
    p->of[RIGHT].rows = right->op == TRA_OP_CONCAT ? right->in[0] : right;
    for (int d = LEFT; d <= RIGHT; d++) p->of[d].by = tra_news(p->a, const tra_colexpr *, tra_lookup_out(p->l)->n + 1);
    for (int i = 0; i < tra_lookup_out(p->l)->n; i++) {
        int from = tra_lookup_from(p->l)[i];
        side *x = &p->of[from < nleft ? LEFT : RIGHT];
        if (from >= 0) x->by[i] = tra_colexpr_column(p->a, x->in, from < nleft ? from : from - nleft);
    }
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* The table that an expression over the join's columns reads. */
static int side_of(const early *p, const tra_colexpr *x) {
    int found = NEITHER;
    if (x->op == TRA_C_COLUMN) return p->of[LEFT].by[x->column] ? LEFT : RIGHT;
    for (int i = 0; i < x->nkids; i++) {
        int d = side_of(p, x->kids[i]);
        if (d != NEITHER) found = found == NEITHER || found == d ? d : BOTH;
    }
    return found;
}

static const char *keys_refused(const early *p) {
    bool floats = false;
    for (int k = 0; k < tra_group_keys(p->g); k++) {
        floats |= tra_coltype_is_float(p->step->x[k]->type);
        if (side_of(p, p->step->x[k]) == BOTH) return "a key is computed of columns of both tables";
    }
    for (int k = 0; k < p->s->nkeys; k++) {
        const tra_column *x = &p->s->left->v[p->s->lkey[k]], *y = &p->s->right->v[p->s->rkey[k]];
        floats |= tra_coltype_is_float(x->type) || tra_coltype_is_float(y->type);
        if (y->fails) return "a key of the join may not be computed";
    }
    return floats ? "a key of floats has the zero, or minus zero, of the first row" : NULL;
}

static const char *refused(const early *p) {
    tra_lookup_how how = p->s->how;
    if (how != TRA_LOOKUP_INNER && how != TRA_LOOKUP_LEFT) return "the join makes no pairs";
    if (p->s->unique) return "the join checks that no key is there twice on the right";
    for (int i = tra_group_keys(p->g); i < p->step->n; i++) {
        int d = side_of(p, p->step->x[i]);
        if (d == BOTH) return "what is aggregated is computed of columns of both tables";
        if (d == RIGHT && how == TRA_LOOKUP_LEFT && p->step->x[i]->op != TRA_C_COLUMN)
            return "what is aggregated is computed of columns that are NULL in rows without partner";
    }
    const tra_group_column *v;
    for (int i = 0, n = tra_group_columns(p->g, &v); i < n; i++)
        if (tra_aggregate_has_two(v[i].f) && side_of(p, p->step->x[v[i].column]) != side_of(p, p->step->x[v[i].second]))
            return "what is aggregated is computed of columns of both tables";
    return keys_refused(p);
}

/* ---- groups of a table ------------------------------------------------------------------------------------------- */

static int add_key(side *x, const tra_colexpr *key) {
    for (int k = 0; k < x->nkeys; k++)
        if (tra_colexpr_same(x->in, x->key[k], key)) return k;
    x->key[x->nkeys] = key;
    return x->nkeys++;
}

/* Adds the columns of a table that an expression over the join's columns reads. */
static void add_columns(side *x, const tra_colexpr *key) {
    if (key->op == TRA_C_COLUMN && x->by[key->column]) add_key(x, x->by[key->column]);
    for (int i = 0; i < key->nkids; i++) add_columns(x, key->kids[i]);
}

static void set_keys(early *p) {
    for (int d = LEFT; d <= RIGHT; d++) {
        side *x = &p->of[d];
        const int *key = d == LEFT ? p->s->lkey : p->s->rkey;
        x->key = tra_news(p->a, const tra_colexpr *, x->in->n + p->s->nkeys + 1);
        x->joined = tra_news(p->a, int, p->s->nkeys + 1);
        for (int k = 0; k < p->s->nkeys; k++) x->joined[k] = add_key(x, tra_colexpr_column(p->a, x->in, key[k]));
        for (int k = 0; k < tra_group_keys(p->g); k++) add_columns(x, p->step->x[k]);
    }
}

/* The keys of a table, and what is aggregated of it, of each of its rows. */
static const tra_node *make_columns(early *p, side *x, int own) {
    int n = x->nkeys + p->step->n;
    const char **names = tra_news(p->a, const char *, n + 1);
    const tra_colexpr **v = tra_news(p->a, const tra_colexpr *, n + 1);
    tra_rowwise *r = x->pass ? x->pass : tra_rowwise_new(p->a, x->in);
    x->column = tra_news(p->a, int, p->step->n + 1);
    for (x->n = 0; x->n < x->nkeys; x->n++) {
        names[x->n] = tra_arena_printf(p->a, "key %d", x->n);
        v[x->n] = x->key[x->n];
    }
    for (int i = tra_group_keys(p->g); i < p->step->n; i++) {
        int d = side_of(p, p->step->x[i]);
        x->column[i] = -1;
        if (d != own && !(d == NEITHER && own == LEFT)) continue;
        names[x->n] = tra_arena_printf(p->a, "of %d", i);
        x->column[i] = x->n;
        v[x->n++] = tra_colexpr_substitute(p->a, p->step->x[i], x->by);
    }
    tra_rowwise_project(r, x->n, names, v);
    tra_rows_kernel k = *tra_kernel_rows(p->pass->node.kernel);
    k.counts = x->pass != NULL;
    tra_node t = tra_proto_transform(tra_pass_kernel(p->w, &k, r), x->rows);
    return node_or_null(tra_make_below(p->w, p->group, &t));
}

/* The columns of the states, renamed so that no two of both tables have one name. */
static const tra_schema *named_states(const early *p, const side *x, int own) {
    const tra_schema *s = tra_group_out(x->first);
    tra_schema *out = tra_new(p->a, tra_schema);
    tra_column *v = tra_news(p->a, tra_column, s->n + 1);
    for (int i = 0; i < s->n; i++) {
        v[i] = s->v[i];
        v[i].name =
            tra_arena_printf(p->a, "%s %s %d", own == LEFT ? "left" : "right", i < x->nkeys ? "key" : "state", i);
    }
    *out = (tra_schema){s->n, v};
    return out;
}

static const tra_node *group_node(early *p, const side *x, const tra_node *in, tra_group_pass pass, double rows) {
    tra_rows_kernel k = *tra_kernel_rows(p->group->node.kernel);
    k.text = tra_arena_printf(p->a, "%s each before the join, by %d keys: %s",
                              pass == TRA_GROUP_MERGE ? "all of" : "of", x->nkeys, k.text);
    k.columns = x->columns;
    k.rows = TRA_ROWS_MOST;
    k.most = INT64_MAX; /* as many as there are rows, so that all bounds stay */
    k.all = 0;
    k.counts = true;
    k.share = tra_share_of_groups(x->facts, x->nkeys, x->key, rows);
    k.flops = 20.0 * (1 + x->columns->n);
    k.data = pass == TRA_GROUP_PARTIAL ? x->first : tra_group_as(p->a, x->first, pass);
    tra_node t = tra_proto_transform(tra_kernel_of_rows(p->a, &k), in);
    return node_or_null(tra_make_below(p->w, p->group, &t));
}

/* The groups of each block of a table. */
static const tra_node *make_groups(early *p, side *x, int own, const tra_node *columns) {
    const tra_group_column *old;
    int all = tra_group_columns(p->g, &old), n = 0;
    tra_group_column *v = tra_news(p->a, tra_group_column, all + 2);
    tra_group *g;
    x->number = tra_news(p->a, int, all + 1);
    for (int i = 0; i < all; i++) {
        bool is_own = old[i].column < 0 ? own == LEFT : x->column[old[i].column] >= 0;
        x->number[i] = is_own ? n : -1;
        if (!is_own) continue;
        v[n] = old[i];
        if (old[i].column >= 0) v[n].column = x->column[old[i].column];
        if (tra_aggregate_has_two(old[i].f)) v[n].second = x->column[old[i].second];
        n++;
    }
    v[n++] = (tra_group_column){.name = "rows", .f = TRA_AGGREGATE_COUNT, .column = -1};
    if (tra_group_new(p->a, columns->type.columns, x->nkeys, n, v, TRA_GROUP_PARTIAL, &g, NULL) != TRA_OK) return NULL;
    x->first = g;
    x->counted = tra_group_state(g, n - 1);
    x->columns = named_states(p, x, own);
    return group_node(p, x, columns, TRA_GROUP_PARTIAL, (double)columns->type.cat->bound.v[0]);
}

/* The groups of the right table in one block. */
static const tra_node *all_groups(early *p, side *x, const tra_node *groups) {
    const tra_node *right = p->join->node.in[1];
    if (right->op != TRA_OP_CONCAT) return groups;
    tra_node n = *right;
    n.name = NULL;
    n.in[0] = (tra_node *)groups;
    const tra_node *all = node_or_null(tra_make_below(p->w, p->group, &n));
    if (!all || groups->type.cat->n == 1) return all;
    return group_node(p, x, all, TRA_GROUP_MERGE, tra_rows_expected(all));
}

/* ---- the join of groups ------------------------------------------------------------------------------------------ */

static const tra_node *below(early *p, const tra_node *like, const tra_kernel *k, const tra_node *l,
                             const tra_node *r) {
    tra_node n = *like;
    n.name = NULL;
    n.in[0] = (tra_node *)l;
    n.in[1] = (tra_node *)r;
    if (k) n.kernel = k;
    return node_or_null(tra_make_below(p->w, p->group, &n));
}

/* The left groups in the slices that the left rows are in, which are cut by the pairs of groups. */
static const tra_node *slice_groups(early *p, const tra_lookup *l, const tra_node *left, const tra_node *right) {
    const tra_schema *s = p->of[LEFT].columns;
    tra_rows_kernel k = *tra_kernel_rows(p->before->kernel);
    const tra_pairs_before *old = k.data;
    tra_pairs_before *b = tra_new(p->a, tra_pairs_before);
    tra_column *v = tra_news(p->a, tra_column, s->n + 1);
    tra_schema *out = tra_new(p->a, tra_schema);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    v[s->n] = old->out->v[old->out->n - 1];
    *out = (tra_schema){s->n + 1, v};
    *b = (tra_pairs_before){l, s, p->of[RIGHT].columns, out, old->most};
    k.text = tra_arena_printf(p->a, "groups: %s", k.text);
    k.columns = out, k.data = b;
    const tra_node *before = below(p, p->before, tra_kernel_of_rows(p->a, &k), left, right);
    tra_number_slicing *cut = tra_new(p->a, tra_number_slicing);
    k = *tra_kernel_rows(p->slices->kernel);
    *cut = (tra_number_slicing){out, s->n, ((const tra_number_slicing *)k.data)->rows};
    k.columns = out, k.data = cut;
    const tra_node *n = before ? below(p, p->slices, tra_kernel_of_rows(p->a, &k), before, p->slices->in[1]) : NULL;
    n = n ? below(p, p->rekey, NULL, n, NULL) : NULL;
    if (!n) return NULL;
    tra_rowwise *r = tra_rowwise_new(p->a, out);
    const char **names = tra_news(p->a, const char *, s->n + 1);
    const tra_colexpr **x = tra_news(p->a, const tra_colexpr *, s->n + 1);
    for (int i = 0; i < s->n; i++) names[i] = s->v[i].name, x[i] = tra_colexpr_column(p->a, out, i);
    tra_rowwise_project(r, s->n, names, x);
    tra_node t = tra_proto_transform(tra_pass_kernel(p->w, tra_kernel_rows(p->pass->node.kernel), r), n);
    return node_or_null(tra_make_below(p->w, p->group, &t));
}

static const tra_node *make_join(early *p, const tra_node *left, const tra_node *right, tra_lookup **l) {
    const side *x = &p->of[LEFT], *y = &p->of[RIGHT];
    tra_lookup_spec s = *p->s;
    s.left = x->columns, s.right = y->columns;
    s.lkey = x->joined, s.rkey = y->joined;
    s.prefix = NULL;
    if (tra_lookup_new(p->a, &s, l, NULL) != TRA_OK) return NULL;
    const tra_node *old = &p->join->node;
    double fewer = tra_rows_expected(left) / fmax(1, tra_rows_expected(x->rows)), had = tra_rows_expected(old);
    double less = tra_rows_expected(right) / fmax(1, tra_rows_expected(y->rows)), pairs = tra_rows_expected(left);
    if (y->nkeys > p->s->nkeys) pairs = fmin(had, pairs * fmax(1, had / fmax(1, tra_rows_expected(x->rows))));
    if (p->before && !(left = slice_groups(p, *l, left, right))) return NULL;
    tra_rows_kernel k = *tra_kernel_rows(old->kernel);
    k.share = fmin(1, k.share * pairs / fmax(1, had * fewer * less));
    k.text = tra_lookup_text(p->a, tra_lookup_spec_of(*l), &k);
    k.columns = tra_lookup_out(*l);
    k.data = *l;
    if (y->nkeys == p->s->nkeys && p->group->node.type.cat->bound.v[0] <= left->type.cat->bound.v[0]) {
        k.rows = TRA_ROWS_SAME; /* one partner at most, and the result of the group is bounded by less than pairs */
        k.most = k.each = k.all = 0;
        k.share = fmin(1, pairs / fmax(1, tra_rows_expected(left)));
    }
    return below(p, old, tra_kernel_of_rows(p->a, &k), left, right);
}

/* What the columns of the join of rows are, in that of groups, where they are keys. */
static const tra_colexpr **keys_among(const early *p, const tra_lookup *l) {
    const tra_schema *out = tra_lookup_out(p->l), *now = tra_lookup_out(l);
    const tra_colexpr **by = tra_news(p->a, const tra_colexpr *, out->n + 1);
    for (int i = 0; i < out->n; i++) {
        for (int d = LEFT; d <= RIGHT; d++) {
            const side *x = &p->of[d];
            for (int k = 0; k < x->nkeys && x->by[i]; k++) {
                int from = k + (d == LEFT ? 0 : p->of[LEFT].columns->n);
                if (!tra_colexpr_same(x->in, x->key[k], x->by[i])) continue;
                for (int c = 0; c < now->n; c++)
                    if (tra_lookup_from(l)[c] == from) by[i] = tra_colexpr_column(p->a, now, c);
            }
        }
    }
    return by;
}

/* The keys of the whole, and all columns of the pairs. */
static const tra_node *keys_of_pairs(early *p, const tra_lookup *l, const tra_node *pairs) {
    const tra_schema *now = tra_lookup_out(l);
    const tra_colexpr **by = keys_among(p, l), **x;
    int keys = tra_group_keys(p->g), n = keys + now->n;
    const char **names = tra_news(p->a, const char *, n + 1);
    x = tra_news(p->a, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        names[i] = i < keys ? tra_arena_printf(p->a, "key %d", i) : now->v[i - keys].name;
        x[i] = i < keys ? tra_colexpr_substitute(p->a, p->step->x[i], by) : tra_colexpr_column(p->a, now, i - keys);
    }
    tra_rowwise *r = tra_rowwise_new(p->a, now);
    tra_rowwise_project(r, n, names, x);
    tra_node t = tra_proto_transform(tra_pass_kernel(p->w, tra_kernel_rows(p->pass->node.kernel), r), pairs);
    return node_or_null(tra_make_below(p->w, p->group, &t));
}

static int place_of(const tra_lookup *l, int from) {
    for (int c = 0; c < tra_lookup_out(l)->n; c++)
        if (tra_lookup_from(l)[c] == from) return c;
    return -1;
}

/* The states of the pairs of rows that each pair of groups stands for; NULL where they would not be held so. */
static const tra_node *states_of_pairs(early *p, const tra_lookup *l, const tra_node *pairs) {
    const tra_schema *states = tra_group_states(p->g), *in = pairs->type.columns;
    const tra_group_column *all;
    tra_pair_states *x = tra_new(p->a, tra_pair_states);
    int keys = tra_group_keys(p->g), n = tra_group_columns(p->g, &all), first[2] = {0, p->of[LEFT].columns->n};
    tra_pair_state *v = tra_news(p->a, tra_pair_state, n + 1);
    tra_str text = {0};
    *x = (tra_pair_states){in, states, keys, n, v};
    tra_str_printf(&text, "states of pairs, %d keys:", keys);
    for (int k = 0; k < keys; k++)
        if (in->v[k].type != states->v[k].type || in->v[k].nullable != states->v[k].nullable) return NULL;
    for (int i = 0; i < n; i++) {
        int d = p->of[LEFT].number[i] >= 0 ? LEFT : RIGHT;
        const side *own = &p->of[d], *other = &p->of[1 - d];
        v[i].way = tra_aggregate_way_of(all[i].f);
        v[i].from = keys + place_of(l, first[d] + tra_group_state(own->first, own->number[i]));
        v[i].to = tra_group_state(p->g, i);
        v[i].n = tra_group_nstates(p->g, i);
        v[i].times = keys + place_of(l, first[1 - d] + other->counted);
        tra_str_printf(&text, " %s %d x %d", tra_aggregate_text(all[i].f), v[i].from, v[i].times);
    }
    tra_rows_kernel k = *tra_kernel_rows(p->pass->node.kernel);
    k.text = tra_arena_strndup(p->a, tra_str_get(&text), text.n);
    tra_str_free(&text);
    k.columns = states;
    k.ops = &tra_pair_states_ops;
    k.data = x;
    tra_node t = tra_proto_transform(tra_kernel_of_rows(p->a, &k), pairs);
    return node_or_null(tra_make_below(p->w, p->group, &t));
}

static void put_together(early *p, const tra_node *states) {
    bool partial = tra_group_pass_of(p->g) == TRA_GROUP_PARTIAL;
    tra_rows_kernel k = *tra_kernel_rows(p->group->node.kernel);
    k.text = tra_arena_printf(p->a, "after the join of groups: %s", k.text);
    k.data = tra_group_as(p->a, p->g, partial ? TRA_GROUP_MERGE : TRA_GROUP_FINAL);
    double had = (double)tra_type_entries(&p->group->node.type).expected;
    k.share = fmin(1, had / fmax(1, (double)tra_catalog_elements(p->group->node.type.cat)));
    tra_node n = tra_proto_transform(tra_kernel_of_rows(p->a, &k), states);
    tra_claim(p->w, p->group, p->pass, 0, &n, tra_memo_expr(states), NULL);
}

void tra_aggregate_both(tra_rewriting *w, const tra_expr *group, const tra_expr *pass, const tra_expr *join) {
    early p = {.w = w, .a = w->m->arena, .group = group, .pass = pass, .join = join, .l = tra_lookup_of_expr(join)};
    const tra_node *groups[2];
    tra_lookup *l;
    p.g = tra_kernel_rows(group->node.kernel)->data;
    p.s = tra_lookup_spec_of(p.l);
    (void)tra_rowwise_steps(tra_rowwise_of_expr(pass), &p.step);
    find_tables(&p);
    const char *why = refused(&p);
    if (why) {
        tra_refuse(w, group, "%s", why);
        return;
    }
    set_keys(&p);
    for (int d = LEFT; d <= RIGHT; d++) {
        const tra_node *columns = make_columns(&p, &p.of[d], d);
        if (!columns || !(groups[d] = make_groups(&p, &p.of[d], d, columns))) return;
    }
    const tra_node *n = all_groups(&p, &p.of[RIGHT], groups[RIGHT]);
    if (!n || !(n = make_join(&p, groups[LEFT], n, &l))) return;
    if (!(n = keys_of_pairs(&p, l, n)) || !(n = states_of_pairs(&p, l, n))) return;
    put_together(&p, n);
}
