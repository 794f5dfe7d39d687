/* table_join_reduced.c - joins whose left rows have keys of a small table: of the right table only the rows with such a
 * key are joined.
 *
 * Equal keys make classes of columns: after join(lineitem, green, l_partkey == p_partkey) each l_partkey is a key of
 * green, so a join by l_partkey == ps_partkey meets no other rows of partsupp. Where green has far fewer keys than
 * partsupp, its semi join with partsupp is made before partsupp is brought together, indexed or divided. Rules
 * do the same by the rows of the left table itself, but see only joins of one node. */
#include "cardinality.h"
#include "table_build.h"

#include <math.h>

enum {
    MOST_STEPS = 64,  /* operators that are looked into */
    MOST_TABLES = 16, /* small tables that are compared */
    LEAST_BLOCKS = 4, /* of a right table that is worth it */
    FEWER = 4         /* how many times fewer rows the small table has, and are left of the right one */
};

/* A table that has the keys of all left rows: of each key of the join its column, or -1. */
typedef struct source {
    const tra_node *table;
    int *column;
} source;

typedef struct reduction {
    tra_table_builder *w;
    const tra_lookup_spec *join;
    int steps, n;
    source v[MOST_TABLES];
} reduction;

static void add_source(reduction *r, const tra_node *table, int column, int key) {
    int i = 0;
    while (i < r->n && r->v[i].table != table) i++;
    if (i == MOST_TABLES) return;
    if (i == r->n) {
        r->v[r->n++] = (source){table, tra_news(r->w->b->arena, int, r->join->nkeys + 1)};
        for (int k = 0; k < r->join->nkeys; k++) r->v[i].column[k] = -1;
    }
    if (r->v[i].column[key] < 0) r->v[i].column[key] = column;
}

/* Did this operator make the table, below selections and projections? */
static bool made_by(const tra_build *b, const tra_node *n, tra_table_opcode what) {
    const tra_table_op *op = tra_table_op_of(b->g, n);
    while (op && (op->op == TRA_TABLE_SELECT || op->op == TRA_TABLE_PROJECT)) op = tra_table_op_of(b->g, op->in[0]);
    return op && op->op == what;
}

static void find_sources(reduction *r, const tra_node *n, int column, int key);

/* The same where a join made the table: its other operand is such a table, if the column is a key, and its own one, of
 * which more is told where a join made that too. */
static void find_in_join(reduction *r, const tra_table_op *op, int column, int key) {
    const tra_lookup_spec *s = &op->lookup;
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT, meets = s->how == TRA_LOOKUP_INNER;
    int side = 0;
    if (s->how == TRA_LOOKUP_RIGHT || s->how == TRA_LOOKUP_OUTER) return;
    if (!pairs && column >= op->in[0]->type.columns->n) return;
    if (pairs && (column = tra_join_operand_column(op, column, &side)) < 0) return;
    if (side == 1 && !meets) return; /* rows without partner have NULL there */
    if (s->how == TRA_LOOKUP_SEMI) meets = true;
    for (int k = 0; meets && !s->asof && k < s->nkeys; k++) {
        const int *own = side ? s->rkey : s->lkey, *other = side ? s->lkey : s->rkey;
        if (own[k] != column) continue;
        add_source(r, op->in[!side], other[k], key);
        find_sources(r, op->in[!side], other[k], key);
    }
    if (!made_by(r->w->b, op->in[side], TRA_TABLE_JOIN)) add_source(r, op->in[side], column, key);
    find_sources(r, op->in[side], column, key);
}

/* Adds the tables that have all values of a column of n, which is a key of the join. */
static void find_sources(reduction *r, const tra_node *n, int column, int key) {
    const tra_table_op *op = tra_table_op_of(r->w->b->g, n);
    if (!op || !n->type.columns || tra_coltype_is_float(n->type.columns->v[column].type) || --r->steps < 0) return;
    switch (op->op) {
    case TRA_TABLE_SELECT:
    case TRA_TABLE_ORDER:
    case TRA_TABLE_DISTINCT:
    case TRA_TABLE_LIMIT: find_sources(r, op->in[0], column, key); break;
    case TRA_TABLE_WINDOW:
        if (column < op->in[0]->type.columns->n) find_sources(r, op->in[0], column, key);
        break;
    case TRA_TABLE_PROJECT:
    case TRA_TABLE_GROUP: {
        const tra_colexpr *x = column < op->nterms ? op->term[column].x : NULL;
        if (x && x->op == TRA_C_COLUMN) find_sources(r, op->in[0], x->column, key);
        break;
    }
    case TRA_TABLE_JOIN: find_in_join(r, op, column, key); break;
    default: break;
    }
}

/* Is it one of the tables that were found? */
static bool is_among(const reduction *r, const tra_node *table) {
    for (int i = 0; i < r->n; i++)
        if (r->v[i].table == table) return true;
    return false;
}

/* The join of the right table with a source, by the keys that this has. */
static tra_lookup *semi_join(const reduction *r, const tra_node *right, const source *x) {
    tra_arena *a = r->w->b->arena;
    int *own = tra_news(a, int, r->join->nkeys + 1), *other = tra_news(a, int, r->join->nkeys + 1);
    tra_lookup_spec s = {.left = right->type.columns, .right = x->table->type.columns, .how = TRA_LOOKUP_SEMI};
    tra_lookup *l;
    tra_err e = {0};
    s.lkey = own, s.rkey = other, s.nulls_match = r->join->nulls_match;
    for (int k = 0; k < r->join->nkeys; k++) {
        if (x->column[k] < 0) continue;
        own[s.nkeys] = r->join->rkey[k], other[s.nkeys++] = x->column[k];
        const tra_column *both[] = {&s.left->v[own[s.nkeys - 1]], &s.right->v[other[s.nkeys - 1]]};
        for (int i = 0; i < 2; i++)
            if (both[i]->fails || tra_coltype_is_float(both[i]->type)) return NULL;
    }
    return tra_lookup_new(a, &s, &l, &e) == TRA_OK ? l : NULL;
}

/* The rows of the right table that are expected to have a key of the other one; all, if nothing is known of its keys.
 */
static double rows_left(tra_arena *a, const tra_lookup *l, const tra_node *right, const tra_node *table) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    double rows = (double)tra_type_entries(&right->type).expected,
           few = (double)tra_type_entries(&table->type).expected;
    tra_column_facts f;
    for (int k = 0; k < s->nkeys; k++)
        if (!tra_table_facts(s->left->v[s->lkey[k]].file, s->left->v[s->lkey[k]].number, &f)) return rows;
    double all =
        tra_table_groups_expected(tra_table_subschema(a, s->left, s->nkeys, s->lkey, false), s->nkeys, NULL, rows);
    bool known = tra_table_facts(s->right->v[s->rkey[0]].file, s->right->v[s->rkey[0]].number, &f);
    double own =
        tra_table_groups_expected(tra_table_subschema(a, s->right, s->nkeys, s->rkey, false), s->nkeys, NULL, few);
    return rows * fmin(1, (known ? own : few) / fmax(1, all));
}

tra_node *tra_join_reduced(tra_table_builder *w, const tra_lookup_spec *s, const tra_node *left, tra_node *right) {
    reduction r = {.w = w, .join = s, .steps = MOST_STEPS}, had = r;
    double rows = (double)tra_type_entries(&right->type).expected, best = rows / FEWER;
    const source *from = NULL;
    tra_lookup *by = NULL;
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    if (!pairs && s->how != TRA_LOOKUP_SEMI && s->how != TRA_LOOKUP_ANTI) return right;
    if (made_by(w->b, right, TRA_TABLE_GROUP)) return right; /* its rows are selected before it */
    if (s->asof || s->unique || s->number || right->type.cat->n < LEAST_BLOCKS) return right;
    for (int k = 0; k < s->nkeys; k++) find_sources(&r, left, s->lkey[k], k), find_sources(&had, right, s->rkey[k], k);
    for (int i = 0; i < r.n; i++) {
        const tra_node *t = r.v[i].table;
        if (t == right || (double)tra_type_entries(&t->type).expected * FEWER > rows || is_among(&had, t)) continue;
        tra_lookup *l = semi_join(&r, right, &r.v[i]);
        double few = l ? rows_left(w->b->arena, l, right, t) : rows;
        if (few < best) best = few, from = &r.v[i], by = l;
    }
    if (!from) return right;
    tra_table_builder semi = {.b = w->b, .call = w->call, .in = right, .right = (tra_node *)from->table};
    semi.op.op = TRA_TABLE_JOIN;
    semi.op.lookup = *tra_lookup_spec_of(by);
    semi.op.pair = tra_lookup_pair(by);
    return tra_table_record(&semi, tra_join_node(&semi, &semi.op.lookup, by, semi.in, semi.right));
}
