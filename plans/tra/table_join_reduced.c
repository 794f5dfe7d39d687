/* table_join_reduced.c - of the right table of a join the rows alone that left rows can meet, where these are few.
 *
 * Their keys are in a table that has the keys of all left rows. The left table is one. Others follow, since equal keys
 * make classes of columns: after join(lineitem, green, l_partkey == p_partkey) each l_partkey is a key of green, so a
 * join by l_partkey == ps_partkey meets no other rows of partsupp. The semi join with such a table is made before the
 * right table is brought together, indexed or divided. The left table is taken where the right one would be divided;
 * elsewhere that is rule Q-15, by cost. */
#include "cardinality.h"
#include "table_derived.h"
#include "table_parts.h"

#include <math.h>

enum {
    MOST_STEPS = 64,  /* operators that are looked into */
    MOST_TABLES = 16, /* tables that are compared */
    LEAST_BLOCKS = 4, /* of a right table that is worth it */
    FEWER = 4         /* how many times fewer rows the table of keys has, and are left of the right one */
};

/* By which operators a row of the left table was made of a row of another one, which is that of operand `side` of `op`.
 * `up` is the way from the result of `op`; way 0 is the left table itself. A table that was joined twice has two ways,
 * and its two rows may differ. */
typedef struct way {
    int up;
    const tra_table_op *op;
    int side;
} way;

/* A table that has the keys of all left rows: which columns of the right table meet which columns of one of its rows.
 */
typedef struct source {
    const tra_node *table;
    int way;
    int n, *own, *other;
} source;

typedef struct reduction {
    tra_table_builder *w;
    const tra_lookup_spec *join;
    const tra_node *left, *right;
    bool divided;
    int steps, n, ways;
    source v[MOST_TABLES];
    way way[2 * MOST_STEPS + 1];
} reduction;

static int find_way(reduction *r, int up, const tra_table_op *op, int side) {
    int i = 1;
    while (i <= r->ways && (r->way[i].up != up || r->way[i].op != op || r->way[i].side != side)) i++;
    if (i > r->ways) r->way[++r->ways] = (way){up, op, side}; /* a step has two at most */
    return i;
}

static void add_source(reduction *r, const tra_node *table, int by, int column, int key) {
    tra_arena *a = r->w->b->arena;
    int i = 0, at = 0, own = r->join->rkey[key], most = r->join->nkeys;
    while (i < r->n && (r->v[i].table != table || r->v[i].way != by)) i++;
    if (i == MOST_TABLES) return;
    if (i == r->n) r->v[r->n++] = (source){table, by, 0, tra_news(a, int, most), tra_news(a, int, most)};
    source *x = &r->v[i];
    while (at < x->n && x->own[at] != own) at++;
    if (at == x->n) x->own[x->n] = own, x->other[x->n++] = column;
}

/* Did this operator make the table, below selections and projections? */
static bool made_by(const tra_node *n, tra_table_opcode what) {
    const tra_table_op *op = tra_table_op_below_passes(n);
    return op && op->op == what;
}

/* Adds the tables that have all values of a column of n, which is a key of the join: operands that the values come
 * from and, where a join asks that these are equal, the other operand. Left rows came of rows of n by that way. */
static void find_sources(reduction *r, const tra_node *n, int by, int column, int key) {
    const tra_table_op *op = n->table;
    int side;
    if (!op || !n->type.columns || tra_coltype_is_float(n->type.columns->v[column].type) || --r->steps < 0) return;
    if (!tra_table_passed(op, &column, &side)) return;
    const tra_lookup_spec *s = &op->lookup;
    bool joins = op->op == TRA_TABLE_JOIN, meets = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_SEMI;
    if (joins && (s->how == TRA_LOOKUP_RIGHT || s->how == TRA_LOOKUP_OUTER)) return;
    if (side == 1 && !meets) return; /* rows without partner have NULL there */
    for (int k = 0; joins && meets && !s->asof && k < s->nkeys; k++) {
        const int *own = side ? s->rkey : s->lkey, *other = side ? s->lkey : s->rkey;
        if (own[k] != column) continue;
        add_source(r, op->in[!side], find_way(r, by, op, !side), other[k], key);
        find_sources(r, op->in[!side], find_way(r, by, op, !side), other[k], key);
    }
    by = find_way(r, by, op, side);
    if (joins && !made_by(op->in[side], TRA_TABLE_JOIN)) add_source(r, op->in[side], by, column, key);
    find_sources(r, op->in[side], by, column, key);
}

/* Is it one of the tables that were found? */
static bool is_among(const reduction *r, const tra_node *table) {
    for (int i = 0; i < r->n; i++)
        if (r->v[i].table == table) return true;
    return false;
}

/* The different values that these columns of a table are expected to have. *known: files say how many they have. */
static double keys_expected(const reduction *r, const tra_node *table, int n, const int *column, bool *known) {
    const tra_schema *s = tra_table_subschema(r->w->b->arena, table->type.columns, n, column, false);
    tra_column_facts f;
    *known = true;
    for (int k = 0; k < n; k++) *known = *known && tra_table_facts(s->v[k].file, s->v[k].number, &f);
    return tra_table_groups_expected(s, n, NULL, NULL, NULL, (double)tra_type_entries(&table->type).expected);
}

/* The share of right rows that are expected to meet a source; 1: nothing is known, or a key may fail. */
static double share_met(const reduction *r, const source *x) {
    bool known, few_known;
    for (int k = 0; k < x->n; k++) {
        const tra_column *own = &r->right->type.columns->v[x->own[k]], *other = &x->table->type.columns->v[x->other[k]];
        bool is_float = tra_coltype_is_float(own->type) || tra_coltype_is_float(other->type);
        if (own->fails || other->fails || (is_float && x->table != r->left)) return 1;
    }
    double all = keys_expected(r, r->right, x->n, x->own, &known),
           few = keys_expected(r, x->table, x->n, x->other, &few_known);
    if (!few_known) few = (double)tra_type_entries(&x->table->type).expected;
    return known || r->divided ? fmin(1, few / fmax(1, all)) : 1;
}

/* The right rows that meet a source, that share of all. All, where the keys of the source have no room as a whole. */
static tra_node *rows_met(const reduction *r, const source *x, tra_node *right, double share) {
    tra_arena *a = r->w->b->arena;
    const tra_deriving d = {.b = r->w->b, .call = r->w->call};
    int n, *column, *rkey = tra_table_different(a, x->n, x->other, &n, &column);
    tra_ast **key = tra_news(a, tra_ast *, n);
    for (int k = 0; k < n; k++) key[k] = tra_derive_name(&d, x->table->type.columns->v[column[k]].name);
    tra_node *keys = tra_derive_op(&d, TRA_TABLE_PROJECT, (tra_node *)x->table, NULL, n, key);
    if (!keys) return NULL;
    tra_table_builder w = {.b = d.b, .call = d.call, .in = right, .right = keys, .op.op = TRA_TABLE_JOIN};
    w.op.lookup = (tra_lookup_spec){.left = right->type.columns, .right = keys->type.columns, .how = TRA_LOOKUP_SEMI};
    w.op.lookup.nkeys = x->n, w.op.lookup.lkey = x->own, w.op.lookup.rkey = rkey;
    w.op.lookup.nulls_match = r->join->nulls_match;
    tra_lookup *l = tra_join_lookup(&w, &w.op.lookup, d.call);
    tra_division unused;
    if (!l) return NULL;
    if (tra_join_divide(&w, l, right, keys, true, &unused)) return right;
    w.op.pair = tra_lookup_pair(l);
    tra_rows_kernel k = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    k.counts = true, k.share = share, k.flops = TRA_LOOKUP_FLOPS;
    keys = tra_join_whole(&w, l, keys);
    return keys ? tra_table_record(&w, tra_table_kernel(&w, right, keys, -1, -1, &k)) : NULL;
}

tra_node *tra_join_reduced(tra_table_builder *w, const tra_lookup_spec *s, tra_node *left, tra_node *right,
                           bool divided) {
    reduction r = {.w = w, .join = s, .left = left, .right = right, .divided = divided, .steps = MOST_STEPS}, had = r;
    double rows = (double)tra_type_entries(&right->type).expected, best = 1.0 / FEWER;
    const source *from = NULL;
    if (s->asof || right->type.cat->n < LEAST_BLOCKS) return right;
    bool groups = made_by(right, TRA_TABLE_GROUP); /* whose rows are selected before */
    for (int k = 0; k < s->nkeys; k++) {
        if (divided) add_source(&r, left, 0, s->lkey[k], k);
        if (!groups) find_sources(&r, left, 0, s->lkey[k], k), find_sources(&had, right, 0, s->rkey[k], k);
    }
    for (int i = 0; i < r.n; i++) {
        const tra_node *t = r.v[i].table;
        if (t == right || (double)tra_type_entries(&t->type).expected * FEWER > rows || is_among(&had, t)) continue;
        double share = share_met(&r, &r.v[i]);
        if (share < best) best = share, from = &r.v[i];
    }
    return from ? rows_met(&r, from, right, best) : right;
}
