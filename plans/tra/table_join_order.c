/* table_join_order.c - the order of joins whose rows are aggregated, where nobody sees the order of these rows.
 *
 * Selections, columns and inner joins below a group are taken apart: tables, which columns of them are equal, and
 * predicates. What reads one table is selected of it. Of all ways to join the tables two by two, also such that join
 * two tables before a third one, the cheapest is found by the sizes of the parts (dynamic programming over sets of
 * tables). It replaces the joins as they are written where it is far cheaper. A left, semi or anti join is one step
 * with its whole right table, after the tables that its keys are of.
 *
 * Source: Selinger et al., Access path selection in a relational database management system, SIGMOD 1979; bushy trees:
 * Moerkotte and Neumann, VLDB 2006. */
#include "cardinality.h"
#include "table_derived.h"
#include "table_join_order.h"

#include <math.h>
#include <string.h>

enum { MOST_TABLES = 10, MOST_STEPS = 64 };

/* A table that is joined with others as a whole. */
typedef struct leaf {
    tra_node *n;
    tra_lookup_how how; /* INNER, or the step that it is the right table of, */
    uint32_t after;     /* which comes after these tables */
    bool nulls_match;
    tra_ast *predicate; /* over its own columns; NULL: none */
    double rows;        /* expected, of those that are selected */
} leaf;

/* The tables of a set, as the program joins them: one, or the pairs of two sets. */
typedef struct step {
    uint32_t set;
    const struct step *in[2];
} step;

/* Equal columns of two tables. */
typedef struct edge {
    int leaf[2], column[2];
} edge;

typedef struct tree {
    tra_table_builder *w;
    tra_arena *a;
    tra_deriving d;
    int nleaves, nedges, npredicates, steps;
    leaf leaf[MOST_TABLES];
    edge edge[2 * MOST_STEPS];
    tra_ast *predicate[MOST_STEPS];         /* of columns of the tables, by names that column_name makes */
    double pairs[MOST_TABLES][MOST_TABLES]; /* the share of pairs of rows that have equal columns */
    bool once[MOST_TABLES][MOST_TABLES];    /* a row of the first table meets one row of the second at most */
    double *rows, *cost; /* of each set of tables; cost INFINITY: they are not joined by themselves */
    uint32_t *left;      /* the set whose rows look up those of the others */
} tree;

/* What the operators so far make: its columns, over those of the tables, and how these are joined. */
typedef struct part {
    tra_ast **column;
    const step *s;
} part;

/* ---- taking joins apart ------------------------------------------------------------------------------------------ */

static tra_ast *column_name(const tree *t, int leaf, int column) {
    return tra_derive_name(&t->d, tra_arena_printf(t->a, "%d.%d", leaf, column));
}

/* The table, and in *column its column, that such a name stands for; -1: it is something else. */
static int table_of_name(const tra_ast *x, int *column) {
    int leaf;
    return x->kind == TRA_AST_NAME && sscanf(x->text, "%d.%d", &leaf, column) == 2 ? leaf : -1;
}

/* The expression over a table, with the names of its columns replaced by what these are. */
static tra_ast *replaced(const tree *t, const tra_ast *x, const tra_schema *s, tra_ast *const *by) {
    if (x->kind == TRA_AST_NAME && x->quoted) {
        int c = tra_schema_find(s, x->text);
        return c >= 0 ? by[c] : (tra_ast *)x;
    }
    tra_ast *y = tra_table_ast_copy(t->a, x);
    if (x->nkids > 0) y->kids = tra_news(t->a, tra_ast *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = replaced(t, x->kids[i], s, by);
    return y;
}

/* Adds the parts of a predicate; false: there are too many. */
static bool add_predicate(tree *t, tra_ast *x) {
    if (x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0)
        return add_predicate(t, x->kids[0]) && add_predicate(t, x->kids[1]);
    if (t->npredicates == MOST_STEPS) return false;
    t->predicate[t->npredicates++] = x;
    return true;
}

static bool take_leaf(tree *t, tra_node *n, leaf l, part *out) {
    const tra_schema *s = n->type.columns;
    if (t->nleaves == MOST_TABLES) return false;
    l.n = n;
    out->column = tra_news(t->a, tra_ast *, s->n + 1);
    for (int c = 0; c < s->n; c++) out->column[c] = column_name(t, t->nleaves, c);
    step *own = tra_new(t->a, step);
    *own = (step){.set = 1u << t->nleaves};
    out->s = own;
    t->leaf[t->nleaves++] = l;
    return true;
}

/* May the join be one of several that are made in another order? */
static bool is_plain_join(const tra_table_op *op) {
    const tra_lookup_spec *s = &op->lookup;
    bool known = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT || s->how == TRA_LOOKUP_SEMI ||
                 s->how == TRA_LOOKUP_ANTI;
    bool checks = s->unique || s->unique_left || s->matched || s->matched_right;
    bool nulls = s->nulls_match && s->how == TRA_LOOKUP_INNER; /* which the other keys of a joined set do not */
    if (op->op != TRA_TABLE_JOIN || !known || checks || nulls || s->asof || s->number || op->where || s->nkeys == 0)
        return false;
    for (int k = 0; k < s->nkeys; k++) {
        const tra_column *l = &s->left->v[s->lkey[k]], *r = &s->right->v[s->rkey[k]];
        bool alike = l->type == r->type || (tra_coltype_is_integer(l->type) && tra_coltype_is_integer(r->type));
        if (l->fails || r->fails || !alike || tra_coltype_is_float(l->type)) return false;
    }
    return true;
}

static bool is_plain_project(const tra_table_op *op, bool joined) {
    for (int i = 0; i < op->nterms; i++)
        if (op->term[i].x->op != TRA_C_COLUMN && (joined || tra_table_may_fail(op->term[i].x))) return false;
    return true;
}

static bool take(tree *t, tra_node *n, bool joined, part *out);

/* The right columns of a join, in the order in which it has them. */
static void take_columns(tree *t, const tra_table_op *op, const part *l, const part *r, part *out) {
    const tra_lookup_spec *s = &op->lookup;
    int n = s->left->n, shared;
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    out->column = tra_news(t->a, tra_ast *, n + s->right->n + 1);
    memcpy(out->column, l->column, (size_t)n * sizeof *out->column);
    for (int c = 0; pairs && c < s->right->n; c++)
        if (!tra_lookup_shares_key(s, c, &shared)) out->column[n++] = r->column[c];
}

static bool take_join(tree *t, const tra_table_op *op, part *out) {
    const tra_lookup_spec *s = &op->lookup;
    part l, r;
    bool inner = s->how == TRA_LOOKUP_INNER;
    int first = t->nleaves;
    if (!take(t, (tra_node *)op->in[0], true, &l)) return false;
    int begin = t->nleaves;
    if (inner ? !take(t, (tra_node *)op->in[1], true, &r)
              : !take_leaf(t, (tra_node *)op->in[1], (leaf){.how = s->how, .nulls_match = s->nulls_match}, &r))
        return false;
    for (int k = 0; k < s->nkeys; k++) {
        edge e;
        e.leaf[0] = table_of_name(l.column[s->lkey[k]], &e.column[0]);
        e.leaf[1] = table_of_name(r.column[s->rkey[k]], &e.column[1]);
        if (e.leaf[0] < first || e.leaf[1] < begin || t->nedges == 2 * MOST_STEPS) return false;
        bool later = t->leaf[e.leaf[0]].how != TRA_LOOKUP_INNER || t->leaf[e.leaf[1]].how != TRA_LOOKUP_INNER;
        if (inner && later) return false; /* rows without partner would be lost before, or found after */
        if (!inner) t->leaf[begin].after |= 1u << e.leaf[0];
        t->edge[t->nedges++] = e;
    }
    take_columns(t, op, &l, &r, out);
    step *both = tra_new(t->a, step);
    *both = (step){l.s->set | r.s->set, {l.s, r.s}};
    out->s = both;
    return true;
}

/* Takes the operators apart that made n, from the last one on. joined: a join is above it. */
static bool take(tree *t, tra_node *n, bool joined, part *out) {
    const tra_table_op *op = n->table;
    part in;
    if (--t->steps < 0) return false;
    bool opens = op && !tra_table_is_shared(t->w->b, n) && op->columns;
    if (opens && op->op == TRA_TABLE_SELECT && !tra_table_may_fail(op->term[0].x)) {
        if (!take(t, (tra_node *)op->in[0], joined, out)) return false;
        return add_predicate(t, replaced(t, op->term[0].ast, op->in[0]->type.columns, out->column));
    }
    if (opens && op->op == TRA_TABLE_PROJECT && is_plain_project(op, joined)) {
        if (!take(t, (tra_node *)op->in[0], joined, &in)) return false;
        out->s = in.s;
        out->column = tra_news(t->a, tra_ast *, op->nterms + 1);
        for (int i = 0; i < op->nterms; i++)
            out->column[i] = replaced(t, op->term[i].ast, op->in[0]->type.columns, in.column);
        return true;
    }
    if (opens && is_plain_join(op)) return take_join(t, op, out);
    return take_leaf(t, n, (leaf){.how = TRA_LOOKUP_INNER}, out);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* The tables that an expression reads. */
static uint32_t tables_of(const tra_ast *x) {
    int column, leaf = table_of_name(x, &column);
    uint32_t set = leaf < 0 ? 0 : 1u << leaf;
    for (int i = 0; i < x->nkids; i++) set |= tables_of(x->kids[i]);
    return set;
}

/* The expression with the columns of tables replaced: column c of table l by by[l][c]. */
static tra_ast *over(const tree *t, const tra_ast *x, tra_ast *const *const *by) {
    int column, leaf = table_of_name(x, &column);
    if (leaf >= 0) return by[leaf][column];
    tra_ast *y = tra_table_ast_copy(t->a, x);
    if (x->nkids > 0) y->kids = tra_news(t->a, tra_ast *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = over(t, x->kids[i], by);
    return y;
}

static tra_ast *both(const tree *t, tra_ast *x, tra_ast *y) { return x ? tra_derive_binary(&t->d, "&&", x, y) : y; }

/* Gives each table that is joined with others the predicates on it alone, and selects. Those that remain stay. */
static bool select_of_tables(tree *t) {
    tra_ast ***by = tra_news(t->a, tra_ast **, t->nleaves);
    int kept = 0;
    for (int l = 0; l < t->nleaves; l++) {
        const tra_schema *s = t->leaf[l].n->type.columns;
        by[l] = tra_news(t->a, tra_ast *, s->n + 1);
        for (int c = 0; c < s->n; c++) by[l][c] = tra_derive_name(&t->d, s->v[c].name);
    }
    for (int i = 0; i < t->npredicates; i++) {
        uint32_t set = tables_of(t->predicate[i]);
        int l = set ? __builtin_ctz(set) : 0;
        if (set && !(set & (set - 1)) && t->leaf[l].how == TRA_LOOKUP_INNER)
            t->leaf[l].predicate = both(t, t->leaf[l].predicate, over(t, t->predicate[i], (tra_ast *const *const *)by));
        else
            t->predicate[kept++] = t->predicate[i];
    }
    t->npredicates = kept;
    for (int l = 0; l < t->nleaves; l++) {
        leaf *x = &t->leaf[l];
        if (x->predicate && !(x->n = tra_derive_op(&t->d, TRA_TABLE_SELECT, x->n, NULL, 1, &x->predicate)))
            return false;
        x->rows = fmax(1, (double)tra_type_entries(&x->n->type).expected);
    }
    return true;
}

/* The keys that two tables are joined by; returns how many. */
static int keys_of(const tree *t, int l, int r, int *lkey, int *rkey) {
    int n = 0;
    for (int i = 0; i < t->nedges; i++) {
        const edge *e = &t->edge[i];
        bool same = e->leaf[0] == l && e->leaf[1] == r, turned = e->leaf[0] == r && e->leaf[1] == l;
        if (same || turned) lkey[n] = e->column[turned], rkey[n++] = e->column[same];
    }
    return n;
}

/* Finds t->pairs and t->once. Of keys of which no file tells, the larger table is taken to have each one once. */
static void find_pairs(tree *t) {
    int *key[2];
    for (int i = 0; i < 2; i++) key[i] = tra_news(t->a, int, t->nedges + 1);
    for (int l = 0; l < t->nleaves; l++)
        for (int r = 0; r < t->nleaves; r++) {
            tra_lookup_spec s = {.left = t->leaf[l].n->type.columns, .right = t->leaf[r].n->type.columns};
            tra_join_selectivity p = {1, 1};
            s.nkeys = l == r ? 0 : keys_of(t, l, r, key[0], key[1]);
            s.lkey = key[0], s.rkey = key[1];
            if (s.nkeys > 0 && !tra_table_join_selectivity(&s, &p))
                p = (tra_join_selectivity){TRA_SHARE_ASSUMED, 1 / fmax(t->leaf[l].rows, t->leaf[r].rows)};
            t->pairs[l][r] = p.pairs;
            t->once[l][r] = s.nkeys > 0 && tra_table_keys_differ(t->leaf[r].n, s.nkeys, key[1]);
            for (int k = 0; k < s.nkeys; k++)
                t->once[l][r] |= tra_table_rows_per_value(t->leaf[r].n, key[1][k], false) == 1;
            if (t->leaf[r].how == TRA_LOOKUP_SEMI) t->pairs[l][r] = p.matched / t->leaf[r].rows;
            if (t->leaf[r].how == TRA_LOOKUP_ANTI) t->pairs[l][r] = (1 - p.matched) / t->leaf[r].rows;
        }
}

/* The rows that come of the tables of a set. */
static double rows_of(const tree *t, uint32_t set) {
    double rows = 1;
    for (int r = 0; r < t->nleaves; r++) {
        double met = t->leaf[r].rows;
        if (!(set >> r & 1)) continue;
        for (int l = 0; l < r; l++)
            if (set >> l & 1) met *= t->pairs[l][r];
        rows *= t->leaf[r].how == TRA_LOOKUP_LEFT ? fmax(1, met) : met;
    }
    return fmax(1, rows);
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

static bool meet(const tree *t, uint32_t x, uint32_t y) {
    for (int i = 0; i < t->nedges; i++) {
        uint32_t l = 1u << t->edge[i].leaf[0], r = 1u << t->edge[i].leaf[1];
        if ((x & l && y & r) || (x & r && y & l)) return true;
    }
    return false;
}

/* May rows of the set x look up those of y? A table that is not joined as others are is looked up by itself. */
static bool can_look_up(const tree *t, uint32_t x, uint32_t y) {
    for (int l = 0; l < t->nleaves; l++) {
        const leaf *k = &t->leaf[l];
        if (k->how == TRA_LOOKUP_INNER) continue;
        if (y == 1u << l) return (k->after & ~x) == 0;
        if (y >> l & 1 || x == 1u << l) return false;
    }
    return meet(t, x, y);
}

/* Does a row of the set x meet one of y at most? */
static bool meet_once(const tree *t, uint32_t x, uint32_t y) {
    for (int r = 0; r < t->nleaves; r++) {
        if (!(y >> r & 1) || t->rows[y] > t->leaf[r].rows) continue;
        for (int l = 0; l < t->nleaves; l++)
            if (x >> l & 1 && t->once[l][r]) return true;
        if (y == 1u << r && t->leaf[r].how > TRA_LOOKUP_LEFT) return true;
    }
    return false;
}

/* Rows of y are copied and put in an index, where those of x look them up; twice, where pairs are counted before. */
static double cost_of(const tree *t, uint32_t x, uint32_t y) {
    enum { INDEXED = 3, COUNTED = 4 };
    return t->rows[x] * (meet_once(t, x, y) ? 1 : COUNTED) + INDEXED * t->rows[y] + t->rows[x | y];
}

static void find_order(tree *t) {
    uint32_t all = (1u << t->nleaves) - 1;
    t->rows = tra_news(t->a, double, all + 1);
    t->cost = tra_news(t->a, double, all + 1);
    t->left = tra_news(t->a, uint32_t, all + 1);
    for (uint32_t set = 1; set <= all; set++) {
        t->rows[set] = rows_of(t, set);
        t->cost[set] = set & (set - 1) ? INFINITY : 0;
        for (uint32_t x = (set - 1) & set; x; x = (x - 1) & set) {
            uint32_t y = set & ~x;
            double cost = t->cost[x] + t->cost[y] + cost_of(t, x, y);
            if (cost >= t->cost[set] || !can_look_up(t, x, y)) continue;
            t->cost[set] = cost, t->left[set] = x;
        }
    }
}

/* The cost of the joins as they are written. */
static double written_cost(const tree *t, const step *s) {
    if (!s->in[0]) return 0;
    return written_cost(t, s->in[0]) + written_cost(t, s->in[1]) + cost_of(t, s->in[0]->set, s->in[1]->set);
}

/* ---- the joins --------------------------------------------------------------------------------------------------- */

/* Rows of joined tables, and where in them the columns of each table are; -1: they are not there. */
typedef struct joined {
    tra_node *n;
    int *at[MOST_TABLES];
} joined;

/* Has the right table a column, other than a shared key, of a name that the left one has? */
static bool clash(const tra_lookup_spec *s) {
    int shared;
    for (int c = 0; c < s->right->n; c++)
        if (tra_schema_find(s->left, s->right->v[c].name) >= 0 && !tra_lookup_shares_key(s, c, &shared)) return true;
    return false;
}

static const char *new_prefix(const tree *t, const tra_lookup_spec *s) {
    for (int i = 1;; i++) {
        const char *prefix = tra_arena_printf(t->a, "%d'", i);
        bool taken = false;
        for (int c = 0; c < s->right->n && !taken; c++)
            taken = tra_schema_find(s->left, tra_arena_printf(t->a, "%s%s", prefix, s->right->v[c].name)) >= 0;
        if (!taken) return prefix;
    }
}

static tra_node *join(const tree *t, tra_lookup_spec *s, joined *x, const joined *y) {
    tra_table_builder w = {.b = t->w->b, .call = t->w->call, .in = x->n, .right = y->n, .op.op = TRA_TABLE_JOIN};
    int nleft = s->left->n, shared;
    if (clash(s)) s->prefix = new_prefix(t, s);
    w.op.lookup = *s;
    tra_lookup *l = tra_join_lookup(&w, s, t->w->call);
    if (!l) return NULL;
    w.op.pair = tra_lookup_pair(l);
    int *place = tra_news(t->a, int, nleft + s->right->n + 1);
    for (int i = 0; i < nleft + s->right->n; i++) place[i] = -1;
    for (int i = 0; i < tra_lookup_out(l)->n; i++) place[tra_lookup_from(l)[i]] = i;
    for (int c = 0; c < s->right->n; c++)
        if (place[nleft + c] < 0 && tra_lookup_shares_key(s, c, &shared)) place[nleft + c] = place[shared];
    for (int i = 0; i < t->nleaves; i++) {
        const int *from = x->at[i] ? x->at[i] : y->at[i];
        if (!from) continue;
        int n = t->leaf[i].n->type.columns->n, first = x->at[i] ? 0 : nleft;
        int *to = tra_news(t->a, int, n + 1);
        for (int c = 0; c < n; c++) to[c] = from[c] < 0 ? -1 : place[first + from[c]];
        x->at[i] = to;
    }
    return tra_table_record(&w, tra_join_node(&w, s, l, x->n, y->n));
}

/* The rows of a set of tables. */
static bool make(const tree *t, uint32_t set, joined *out) {
    *out = (joined){0};
    if (!(set & (set - 1))) {
        int l = __builtin_ctz(set), n = t->leaf[l].n->type.columns->n;
        out->n = t->leaf[l].n;
        out->at[l] = tra_table_counting(t->a, n, 0);
        return true;
    }
    joined y;
    uint32_t right = set & ~t->left[set];
    if (!make(t, t->left[set], out) || !make(t, right, &y)) return false;
    int *lkey = tra_news(t->a, int, t->nedges + 1), *rkey = tra_news(t->a, int, t->nedges + 1);
    tra_lookup_spec s = {.left = out->n->type.columns, .right = y.n->type.columns, .lkey = lkey, .rkey = rkey};
    for (int i = 0; i < t->nedges; i++) {
        const edge *e = &t->edge[i];
        bool turned = !out->at[e->leaf[0]];
        const int *l = out->at[e->leaf[turned]], *r = y.at[e->leaf[!turned]];
        if (l && r) lkey[s.nkeys] = l[e->column[turned]], rkey[s.nkeys++] = r[e->column[!turned]];
    }
    const leaf *one = right & (right - 1) ? NULL : &t->leaf[__builtin_ctz(right)];
    if (one) s.how = one->how, s.nulls_match = one->nulls_match;
    return (out->n = join(t, &s, out, &y)) != NULL;
}

/* The columns of the group's table, in their order, of all joined rows that the remaining predicates select. */
static tra_node *as_written(const tree *t, const joined *rows, tra_ast *const *column) {
    const tra_schema *s = t->w->in->type.columns, *now = rows->n->type.columns;
    tra_ast ***by = tra_news(t->a, tra_ast **, t->nleaves), **term = tra_news(t->a, tra_ast *, s->n + 1), *x = NULL;
    for (int l = 0; l < t->nleaves; l++) {
        int n = t->leaf[l].n->type.columns->n;
        by[l] = tra_news(t->a, tra_ast *, n + 1);
        for (int c = 0; c < n; c++)
            by[l][c] = rows->at[l][c] < 0 ? NULL : tra_derive_name(&t->d, now->v[rows->at[l][c]].name);
    }
    for (int i = 0; i < t->npredicates; i++) x = both(t, x, over(t, t->predicate[i], (tra_ast *const *const *)by));
    for (int c = 0; c < s->n; c++)
        term[c] = tra_derive_named(&t->d, s->v[c].name, over(t, column[c], (tra_ast *const *const *)by));
    tra_node *n = x ? tra_derive_op(&t->d, TRA_TABLE_SELECT, rows->n, NULL, 1, &x) : rows->n;
    return tra_derive_op(&t->d, TRA_TABLE_PROJECT, n, NULL, s->n, term);
}

/* Are these the columns x, for expressions over them? All values of keys are computed: groups lack those that fail. */
static bool same_columns(const tra_schema *x, const tra_schema *y) {
    bool same = x->n == y->n;
    for (int c = 0; c < x->n && same; c++)
        same = strcmp(x->v[c].name, y->v[c].name) == 0 && x->v[c].type == y->v[c].type &&
               x->v[c].dict == y->v[c].dict && x->v[c].nullable == y->v[c].nullable &&
               (x->v[c].fails || !y->v[c].fails);
    return same;
}

/* The bytes of the largest table that node n is made of may have, of those that are computed; looks at so many nodes.
 */
static double largest(const tra_node *n, int *steps) {
    double most = n->in[0] ? (double)tra_type_bytes_all(&n->type).bound : 0;
    for (int i = 0; i < 2 && n->in[i] && --*steps > 0; i++) most = fmax(most, largest(n->in[i], steps));
    return most;
}

/* May the tables become larger than they are as written, and than there is room for? Bounds tell of memory. The rows of
 * two tables are the same in both orders, but the one that is put in an index is to stay whole. */
static bool takes_more(const tree *t, const tra_node *n) {
    const tra_table_op *op = tra_table_op_below_passes(n);
    double now = largest(n, &(int){1000}), written = largest(t->w->in, &(int){1000});
    if (t->nleaves == 2) return op && op->divided;
    return t->w->b->g->expected_room > 0 && now > written && now > (double)t->w->b->g->expected_room;
}

static tra_node *joined_in_order(tra_table_builder *w) {
    tree *t = tra_new(w->b->arena, tree);
    joined rows;
    part p;
    *t = (tree){.w = w, .a = w->b->arena, .d = {.b = w->b, .call = w->call}, .steps = MOST_STEPS};
    if (!take(t, w->in, false, &p) || t->nleaves < 2) return NULL;
    if (!select_of_tables(t)) return NULL;
    find_pairs(t);
    find_order(t);
    uint32_t all = (1u << t->nleaves) - 1;
    if (!(TRA_JOIN_ORDER_TIMES * t->cost[all] <= written_cost(t, p.s))) return NULL;
    if (!make(t, all, &rows) || takes_more(t, rows.n)) return NULL;
    return as_written(t, &rows, p.column);
}

tra_node *tra_table_in_any_order(tra_table_builder *w) {
    if (w->nadded > 0 || w->b->loop >= 0) return NULL;
    tra_node *n = tra_table_different_rows(w);
    if (!n) n = joined_in_order(w);
    return n && same_columns(w->in->type.columns, n->type.columns) ? n : NULL;
}
