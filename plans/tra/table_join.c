/* table_join.c - join and cross. The rows of each left block find their partners in the whole right table, or in its
 * parts. */
#include "cardinality.h"
#include "table_build.h"
#include "table_parts.h"

#include "../../lib/table/band_parts.h"

#include <math.h>
#include <string.h>

/* ---- arguments ---------------------------------------------------------------------------------------------- */

/* What `expect` says, by a set of two bits: 1: keys are unique in the right table; 2: in the left one. */
static const char *const expectations[] = {NULL, "m:1", "1:m", "1:1"};
/* What `matched` says, by a set of two bits: 1: each left row has a partner; 2: each right row. */
static const char *const matches[] = {NULL, "left", "right", "all"};

/* Finds the word that an argument is among n words. */
static bool find_word(tra_table_builder *w, const tra_ast *x, int n, const char *const *words, int *at) {
    bool word = x->kind == TRA_AST_NAME || x->kind == TRA_AST_STRING;
    tra_str all = {0};
    for (*at = 0; *at < n; ++*at) {
        if (word && strcmp(words[*at], x->text) == 0) return tra_str_free(&all), true;
        tra_str_printf(&all, "%s%s", *at ? ", " : "", words[*at]);
    }
    tra_diag_error(w->b->d, x->span, NULL, "one of %s is expected here", tra_str_get(&all));
    tra_str_free(&all);
    return false;
}

/* The named arguments of a join; of a cross those before EXPECT. */
enum { HOW, PREFIX, EXPECT, MATCHED, NULLS, ASOF, WITHIN, OPTIONS };

/* Reads the named arguments, which begin with argument `from`, into the join and v. */
static bool join_options(tra_table_builder *w, int from, const tra_ast **v) {
    static const char *const names[] = {"how", "prefix", "expect", "matched", "nulls", "asof", "within"};
    static const char *const how[] = {"inner", "left", "semi", "anti", "right", "outer"};
    static const tra_lookup_how hows[] = {TRA_LOOKUP_INNER, TRA_LOOKUP_LEFT,  TRA_LOOKUP_SEMI,
                                          TRA_LOOKUP_ANTI,  TRA_LOOKUP_RIGHT, TRA_LOOKUP_OUTER};
    static const char *const nulls[] = {"match"};
    tra_lookup_spec *s = &w->op.lookup;
    int at, expected = 0, matched = 0;
    bool cross = w->op.op == TRA_TABLE_CROSS;
    if (!tra_table_named_args(w, from, cross ? EXPECT : OPTIONS, names, v)) return false;
    if (v[HOW] && cross) return tra_table_refuse(w, v[HOW], "cross has no argument 'how'");
    if (v[HOW]) {
        if (!find_word(w, v[HOW], 6, how, &at)) return false;
        s->how = hows[at];
    }
    if (v[PREFIX] && v[PREFIX]->kind != TRA_AST_STRING)
        return tra_table_refuse(w, v[PREFIX], "a prefix is a string: \"p_\"");
    if (v[PREFIX]) s->prefix = v[PREFIX]->text;
    if (v[EXPECT] && !find_word(w, v[EXPECT], 3, expectations + 1, &expected)) return false;
    if (v[MATCHED] && !find_word(w, v[MATCHED], 3, matches + 1, &matched)) return false;
    if (v[NULLS] && !find_word(w, v[NULLS], 1, nulls, &at)) return false;
    expected += v[EXPECT] != NULL; /* the number among all, the first being none */
    matched += v[MATCHED] != NULL;
    s->unique = expected & 1;
    s->unique_left = expected & 2;
    s->matched = matched & 1;
    s->matched_right = matched & 2;
    s->nulls_match = v[NULLS] != NULL;
    return true;
}

/* ---- how large a join is ------------------------------------------------------------------------------------ */

/* So many right rows with their index. */
static int64_t whole_bytes(const tra_lookup *l, const tra_node *right, int64_t rows) {
    int64_t index = rows < INT32_MAX / 8 ? tra_lookup_keep(l, rows) : INT64_MAX;
    return tra_add_most(tra_mul_most(rows, tra_schema_row_bytes(right->type.columns)), index);
}

/* The rows for which a right table that stays whole has room; 0: it is divided. Where there is none for all that are
 * possible, several times as many as are expected do. */
static int64_t whole_rows(const tra_table_builder *w, const tra_lookup *l, const tra_node *right) {
    enum { LEAST = 1 << 18, TIMES = 4 };
    tra_size all = tra_type_entries(&right->type);
    int64_t rows = tra_rows_together(w->b->g, &right->type), whole = w->b->whole;
    if (rows == 0) rows = all.bound;
    if (whole_bytes(l, right, rows) <= whole) return rows;
    int64_t n = tra_max64(LEAST, tra_mul_most(all.expected, TIMES));
    if (w->b->g->expected_room == 0 || n >= rows || whole_bytes(l, right, n) > whole) return 0;
    while (2 * n < rows && whole_bytes(l, right, 2 * n) <= whole / 2) n *= 2;
    return n;
}

bool tra_join_divide(const tra_table_builder *w, const tra_lookup *l, const tra_node *left, const tra_node *right,
                     bool one_partner, tra_division *d) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    int keys = tra_lookup_compared(s), column[2];
    for (int side = 0; side < 2 && keys == 0; side++) { /* by what a join on ranges compares */
        column[side] = tra_band_column(l, side);
        if (column[side] < 0 || (side ? s->right : s->left)->v[column[side]].fails) return false;
    }
    enum { FEW = 1 << 22 }; /* pairs of a block for which there is room; of more the bound is hardly ever reached */
    int64_t pairs = tra_mul_most(left->type.cat->bound.v[0], tra_catalog_elements(right->type.cat));
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI; /* a row comes once of each part */
    if (keys == 0 && w->b->g->expected_room == 0 && !filters && pairs > FEW) return false;
    if (whole_rows(w, l, right) > 0) return false;
    tra_division_input x = {.columns = right->type.columns, .other_blocks = left->type.cat->n, .whole_share = 4};
    x.key_bytes = tra_max64(1, keys) * ((int64_t)sizeof(int64_t) + 1);
    x.numbered = !one_partner;
    x.index = l;
    x.may_run = true;
    return tra_table_divide(right->type.cat, &x, d);
}

tra_node *tra_join_whole(tra_table_builder *w, const tra_lookup *l, tra_node *right) {
    int64_t rows = right ? whole_rows(w, l, right) : 0, most = right ? tra_rows_together(w->b->g, &right->type) : 0;
    bool fewer = rows > 0 && rows < (most ? most : tra_type_entries(&right->type).bound);
    return fewer ? tra_table_concat(w, right, 0, rows) : tra_table_one_block(w, right, 0);
}

/* The expected share of left rows that are in the result, where each is there once at most. */
static double share_of_left(const tra_lookup_spec *s) {
    tra_join_selectivity p;
    if (s->nkeys == 0 || s->how == TRA_LOOKUP_LEFT || !tra_table_join_selectivity(s, &p)) return 1;
    return s->how == TRA_LOOKUP_ANTI ? 1 - p.matched : p.matched;
}

int tra_join_key_column(const tra_colexpr *x) {
    bool keeps = x->op == TRA_C_RECODE || (x->op == TRA_C_CONVERT && !tra_coltype_is_float(x->type));
    if (keeps) x = x->kids[0];
    return x->op == TRA_C_COLUMN ? x->column : -1;
}

/* A bound of how many rows of one operand have the same key; INT64_MAX: nothing is known. */
static int64_t rows_per_key(const tra_table_builder *w, const tra_lookup_spec *s, const tra_colexpr *const *key,
                            const tra_node *n) {
    int64_t most = INT64_MAX;
    int ncolumns = 0, *column = tra_news(w->b->arena, int, s->nkeys + 1);
    for (int k = 0; k < s->nkeys; k++) {
        int c = tra_join_key_column(key[k]);
        if (c >= 0) column[ncolumns++] = c;
        if (c >= 0) most = tra_min64(most, tra_table_rows_per_value(n, c, s->nulls_match));
    }
    if (most > 1 && ncolumns > 1 && tra_table_keys_differ(n, ncolumns, column)) most = 1;
    return most;
}

/* A bound of the pairs of rows that are equal in each key. */
static int64_t pairs_most(const tra_lookup_spec *s, const tra_lookup *l, const tra_node *left, const tra_node *right) {
    int64_t most = INT64_MAX;
    for (int k = 0; k < s->nkeys; k++) {
        int x = tra_join_key_column(tra_lookup_left_keys(l)[k]), y = tra_join_key_column(tra_lookup_right_keys(l)[k]);
        if (x >= 0 && y >= 0) most = tra_min64(most, tra_table_pairs_most(left, x, right, y, s->nulls_match));
    }
    return most;
}

static tra_join_size size_of(const tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l,
                             const tra_node *left, const tra_node *right) {
    tra_size x = tra_type_entries(&left->type), y = tra_type_entries(&right->type);
    tra_join_size m = {.partners_most = rows_per_key(w, s, tra_lookup_right_keys(l), right)};
    int64_t left_most = rows_per_key(w, s, tra_lookup_left_keys(l), left);
    tra_join_selectivity p = {1, 1};
    bool known = s->nkeys == 0 || tra_table_join_selectivity(s, &p);
    m.rows_most = tra_min64(tra_mul_most(x.bound, m.partners_most), tra_mul_most(y.bound, left_most));
    m.rows_most = tra_min64(m.rows_most, pairs_most(s, l, left, right));
    m.rows_expected = known ? p.pairs * (double)x.expected * (double)y.expected : (double)x.expected;
    double there = (double)y.expected / (double)tra_max64(1, y.bound); /* of the rows that keys were counted of */
    m.matched = known && s->nkeys > 0 ? p.matched * fmin(1, there) : TRA_SHARE_ASSUMED;
    m.rows_expected *= tra_table_band_selectivity(l, known ? p.pairs * (double)y.expected : 1);
    if (s->how == TRA_LOOKUP_LEFT) m.rows_most = tra_add_most(m.rows_most, x.bound);
    if (s->how == TRA_LOOKUP_LEFT && known) m.rows_expected += (1 - m.matched) * (double)x.expected;
    if (s->asof) m.partners_most = 1, m.rows_most = x.bound;
    return m;
}

double tra_table_join_share(const tra_join_size *m, const tra_type *left, const tra_type *right) {
    double rows = (double)tra_catalog_elements(left->cat);
    rows *= (double)tra_max64(1, tra_min64(right->cat->bound.v[0], m->partners_most));
    if (m->block_most) rows = fmin(rows, (double)left->cat->n * (double)m->block_most);
    for (int i = 0; i < 2; i++) {
        const tra_type *t = i ? right : left;
        rows *= (double)tra_max64(1, tra_type_entries(t).expected) / (double)tra_max64(1, tra_catalog_elements(t->cat));
    }
    double share = rows > 0 ? m->rows_expected / rows : 1;
    return share < 1 || m->block_most || m->met_alone ? share : 1;
}

/* ---- joins as nodes ----------------------------------------------------------------------------------------- */

/* The kernel of a join of each left block with the whole right table. once: each left row comes out once at most. */
static tra_rows_kernel lookup_kernel(const tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l,
                                     const tra_join_size *size, double share, bool once) {
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI;
    bool loses = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_SEMI; /* left rows without partner */
    tra_rows_kept kept = loses && !s->matched ? TRA_KEPT_MET : s->how == TRA_LOOKUP_ANTI ? TRA_KEPT_UNMET : 0;
    bool has_all = s->how == TRA_LOOKUP_LEFT || (s->matched && !w->op.where);
    bool exact = s->how == TRA_LOOKUP_KEEP || (once && has_all && !filters);
    tra_rows_kernel op = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    op.extent = once ? TRA_ROWS_SAME : s->how == TRA_LOOKUP_INNER ? TRA_ROWS_PRODUCT : TRA_ROWS_OUTER;
    op.each = once || size->partners_most == INT64_MAX ? 0 : size->partners_most, op.all = once ? 0 : size->rows_most;
    op.counts = !exact, op.share = share, op.kept = s->nkeys > 0 ? kept : 0, op.flops = TRA_LOOKUP_FLOPS;
    return op;
}

/* Operations of an as-of join for each left row: its time is looked for among those of its key, which are sorted
 * before, each look in memory that is far away. */
static double times_flops(const tra_join_size *m, const tra_type *left, const tra_type *right) {
    enum { LOOK = 40 };
    double l = fmax(1, (double)tra_type_entries(left).expected), r = (double)tra_type_entries(right).expected;
    return LOOK * log2(1 + m->rows_expected / l) * (1 + r / l);
}

/* Operations for each left row where strings of two large dictionaries are compared: each row of both tables asks for
 * its place in the union of these (tra_recoded). */
static double recoded_flops(const tra_lookup *l, int nkeys, const tra_type *left, const tra_type *right) {
    enum { RECODED = 150 };
    double r = (double)tra_type_entries(right).expected / fmax(1, (double)tra_type_entries(left).expected), flops = 0;
    for (int k = 0; k < nkeys; k++) {
        flops += tra_lookup_left_keys(l)[k]->recoding ? RECODED : 0;
        flops += tra_lookup_right_keys(l)[k]->recoding ? RECODED * r : 0;
    }
    return flops;
}

void tra_rows_meet_as_many(tra_rows_kernel *k, double times) {
    if (k->kept == TRA_KEPT_MET)
        k->share *= times;
    else if (k->kept == TRA_KEPT_UNMET)
        k->share = fmax(0, 1 - (1 - k->share) * times);
}

tra_lookup *tra_join_lookup(tra_table_builder *w, const tra_lookup_spec *s, const tra_ast *at) {
    tra_lookup *l;
    tra_err e = {0};
    if (tra_lookup_new(w->b->arena, s, &l, &e) == TRA_OK) return l;
    return tra_diag_error(w->b->d, at->span, NULL, "%s", e.msg);
}

/* The left table, after a test that each of its rows has a partner in this join. */
static tra_node *all_matched(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right) {
    tra_lookup_spec s = *tra_lookup_spec_of(l);
    s.how = TRA_LOOKUP_KEEP;
    tra_lookup *keeps = tra_join_lookup(w, &s, w->call);
    if (keeps && tra_lookup_condition(l)) tra_lookup_where(keeps, tra_lookup_condition(l));
    return keeps ? tra_join_node(w, &s, keeps, left, right) : NULL;
}

tra_node *tra_join_node(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                        tra_node *all) {
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI, keeps = s->how == TRA_LOOKUP_KEEP;
    tra_join_size size = size_of(w, s, l, left, all);
    bool unique = !s->asof && (s->unique || size.partners_most == 1), once = unique || s->asof || filters || keeps;
    bool one_partner = once && !s->asof && (unique || !tra_lookup_condition(l)); /* else one of several is chosen */
    tra_division d;
    bool parts = !s->number && tra_join_divide(w, l, left, all, one_partner, &d);
    bool tests = s->unique && size.partners_most > 1; /* all right rows, also those without partner */
    tra_node *right = s->number || tests ? all : tra_join_reduced(w, s, left, all, parts);
    double had = tra_share_expected(&all->type);
    if (!right) return NULL;
    size.met_alone = right != all;
    if (size.met_alone) parts = tra_join_divide(w, l, left, right, one_partner, &d);
    tra_join_slices slices;
    bool joins = s->nkeys > 0 || tra_lookup_condition(l);
    bool cut = parts && !once && tra_table_slice_parts(l, left, right, &size, &slices);
    w->op.divided = w->op.divided || parts;
    if (!once && !cut && joins && tra_table_slice_join(w, l, left, right, &size, parts, &slices)) {
        w->op.divided = true;
        if (s->matched && !(left = all_matched(w, l, left, right))) return NULL;
        return tra_table_join_slices(w, l, left, right, &size, &slices);
    }
    if (cut) {
        if (s->matched && !(left = all_matched(w, l, left, right))) return NULL;
        if (!(left = tra_table_left_slices(w, l, left, right, &slices))) return NULL;
        size.block_most = slices.most;
        tra_join_divide(w, l, left, right, one_partner, &d);
    }
    if (parts && tra_lookup_compared(s) == 0 && !(left = tra_table_cut_for_ranges(w, s, left, &size))) return NULL;
    if (parts) {
        tra_lookup_spec known = *s;
        known.unique = unique;
        return tra_table_join_parts(w, &known, l, left, right, &d, &size);
    }
    tra_cross_division x;
    if (tra_lookup_compared(s) == 0 && !once && s->how == TRA_LOOKUP_INNER && tra_table_divide_cross(left, right, &x))
        return tra_table_cross_parts(w, l, left, right, &x);
    right = tra_join_whole(w, l, right);
    if (!right) return NULL;
    double share = once ? share_of_left(s) : tra_table_join_share(&size, &left->type, &right->type);
    tra_rows_kernel k = lookup_kernel(w, s, l, &size, share, once);
    k.flops += recoded_flops(l, s->nkeys, &left->type, &right->type);
    if (size.met_alone && once) tra_rows_meet_as_many(&k, had / fmax(1e-12, tra_share_expected(&right->type)));
    if (s->asof) k.flops += times_flops(&size, &left->type, &right->type);
    tra_node *n = tra_table_kernel(w, left, right, -1, -1, &k);
    if (n && keeps) n->rows = left->rows;
    return n;
}

/* ---- right and outer joins, and what the program expects ---------------------------------------------------- */

/* The join of w with its tables interchanged: right rows, by whether they have partners in the left table (ANTI), or
 * all of them after a test that they have (KEEP). where: the further condition of w, or NULL. */
static tra_node *right_rows(tra_table_builder *w, const tra_colexpr *where, tra_lookup_how how, tra_node *left,
                            tra_node *right) {
    const tra_lookup_spec *own = &w->op.lookup;
    const tra_schema *x = own->left, *y = own->right;
    tra_lookup_spec s = {y, x, how, own->nkeys, own->rkey, own->lkey, .nulls_match = own->nulls_match};
    s.matched = how == TRA_LOOKUP_KEEP;
    s.name[0] = "right";
    s.name[1] = "left";
    tra_lookup *l = tra_join_lookup(w, &s, w->call);
    if (!l) return NULL;
    const tra_colexpr **by = tra_news(w->b->arena, const tra_colexpr *, x->n + y->n);
    for (int i = 0; i < x->n + y->n; i++) /* in pairs the columns of the right table come first now */
        by[i] = tra_colexpr_column(w->b->arena, tra_lookup_pair(l), i < x->n ? y->n + i : i - x->n);
    if (where) tra_lookup_where(l, tra_colexpr_substitute(w->b->arena, where, by));
    return tra_join_node(w, &s, l, right, left);
}

/* The left table, after a test that no two of its rows have the same key: it is looked up in itself. */
static tra_node *unique_left(tra_table_builder *w, tra_node *left) {
    const tra_lookup_spec *own = &w->op.lookup;
    tra_lookup_spec s = {own->left, own->left, TRA_LOOKUP_KEEP, own->nkeys, own->lkey, own->lkey, .prefix = NULL};
    s.nulls_match = own->nulls_match;
    s.unique = true;
    s.name[0] = s.name[1] = "left";
    tra_lookup *l = tra_join_lookup(w, &s, w->call);
    return l ? tra_join_node(w, &s, l, left, left) : NULL;
}

tra_node *tra_table_join_by(tra_table_builder *w, tra_node *right, int nkeys, const int *lkey, const int *rkey) {
    tra_lookup_spec s = {w->in->type.columns, right->type.columns, TRA_LOOKUP_INNER, nkeys, lkey, rkey, .prefix = NULL};
    s.nulls_match = s.unique = s.matched = true;
    tra_lookup *l = tra_join_lookup(w, &s, w->call);
    tra_node *n = l ? tra_join_node(w, &s, l, w->in, right) : NULL;
    if (n) n->rows = w->in->rows;
    return n;
}

tra_node *tra_table_join_by_keys(tra_table_builder *w, int n) {
    const int *key = tra_table_counting(w->b->arena, n, 0);
    return tra_table_join_by(w, w->right, n, key, key);
}

tra_node *tra_table_join_row_number(tra_table_builder *w, int nkeys, const int *lkey, const int *rkey,
                                    const char *name) {
    tra_lookup_spec *s = &w->op.lookup;
    *s = (tra_lookup_spec){w->in->type.columns, w->right->type.columns, TRA_LOOKUP_KEEP, nkeys, lkey, rkey,
                           .nulls_match = true, .matched = true,        .number = name};
    tra_lookup *l = tra_join_lookup(w, s, w->call);
    tra_division d;
    if (!l) return NULL;
    if (!tra_join_divide(w, l, w->in, w->right, true, &d))
        return tra_table_record(w, tra_join_node(w, s, l, w->in, w->right));
    tra_node *numbered = tra_table_number_rows(w, w->right, name);
    return tra_table_record(w, numbered ? tra_table_join_by(w, numbered, nkeys, lkey, rkey) : NULL);
}

/* All rows of `pairs`, then right rows that have no partner, with NULL in the columns of the left table. */
static tra_node *append_unmatched(tra_table_builder *w, tra_node *pairs, tra_node *rest) {
    const tra_lookup_spec *s = &w->op.lookup;
    const tra_schema *out = pairs->type.columns;
    tra_arena *a = w->b->arena;
    const char **names = tra_news(a, const char *, out->n);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, out->n), **y = tra_news(a, const tra_colexpr *, out->n);
    int n = s->left->n, at;
    for (int i = 0; i < out->n; i++) {
        names[i] = out->v[i].name;
        x[i] = tra_colexpr_column(a, out, i);
        y[i] = tra_colexpr_null(a);
    }
    for (int r = 0; r < s->right->n; r++)
        y[tra_lookup_shares_key(s, r, &at) ? at : n++] = tra_colexpr_column(a, s->right, r);
    return tra_table_append(w, (tra_node *const[]){pairs, rest}, out->n, names, x, y);
}

/* The join of w, of which s and l are what kernels know. where: its further condition, or NULL. */
static tra_node *join_nodes(tra_table_builder *w, const tra_lookup_spec *s, tra_lookup *l, const tra_colexpr *where) {
    tra_lookup_how how = w->op.lookup.how;
    tra_node *left = w->in, *right = w->right;
    if (w->op.lookup.unique_left && !(left = unique_left(w, left))) return NULL;
    if (w->op.lookup.matched_right && !(right = right_rows(w, where, TRA_LOOKUP_KEEP, left, right))) return NULL;
    tra_node *pairs = tra_join_node(w, s, l, left, right);
    if (!pairs || (how != TRA_LOOKUP_RIGHT && how != TRA_LOOKUP_OUTER)) return pairs;
    tra_node *rest = right_rows(w, where, TRA_LOOKUP_ANTI, left, right);
    return rest ? append_unmatched(w, pairs, rest) : NULL;
}

tra_node *tra_join_again(tra_build *b, const tra_ast *call, const tra_table_op *op, tra_node *left, tra_node *right) {
    tra_table_builder w = {.b = b, .call = call, .in = left, .right = right, .op = *op};
    tra_lookup_spec *s = &w.op.lookup;
    s->left = left->type.columns, s->right = right->type.columns;
    tra_lookup *l = tra_join_lookup(&w, s, call);
    if (!l) return NULL;
    w.op.pair = tra_lookup_pair(l);
    tra_table_scope sc = {b, w.op.pair, "the pair of rows", .row_allowed = false};
    tra_table_term where = {0};
    if (op->where && !tra_table_build_predicate(&sc, op->where, &where)) return NULL;
    if (op->where) tra_lookup_where(l, where.x);
    return tra_table_record(&w, tra_join_node(&w, s, l, left, right));
}

/* Does a condition say of a column whose it is? */
static bool says_table(const tra_ast *x) {
    bool says = x->kind == TRA_AST_COMPOSE;
    for (int i = 0; i < x->nkids && !says; i++) says = says_table(x->kids[i]);
    return says;
}

/* Refuses a condition that says nothing of which rows meet. */
static void refuse_condition(const tra_table_builder *w, const tra_ast *cond) {
    const tra_lookup_spec *s = &w->op.lookup;
    const char *of_one_name = tra_join_of_one_name(w);
    tra_diag_error(w->b->d, cond->span,
                   of_one_name
                       ? of_one_name
                       : tra_arena_printf(w->b->arena,
                                          "the left table has %s; the right one has %s; for all pairs write "
                                          "select(cross(L, R), ..)",
                                          tra_join_column_names(w, s->left), tra_join_column_names(w, s->right)),
                   "no part of this condition is an equality, or another comparison, of a column of the left table and "
                   "one of the right");
}

bool tra_join_is_of_both(const tra_table_builder *w, const tra_colexpr *x) {
    int n = w->op.pair->n, left = w->op.lookup.left->n;
    bool *read = tra_news(w->b->arena, bool, n + 1), reads[2] = {false, false};
    if (x->op == TRA_C_AND) return tra_join_is_of_both(w, x->kids[0]) || tra_join_is_of_both(w, x->kids[1]);
    tra_colexpr_columns(x, read);
    for (int c = 0; c < n; c++) reads[c >= left] |= read[c];
    return reads[0] && reads[1];
}

tra_node *tra_table_join(tra_table_builder *w) {
    bool cross = w->op.op == TRA_TABLE_CROSS;
    const tra_ast *rest = NULL, *option[OPTIONS] = {NULL},
                  *cond = !cross && w->call->nkids > 2 ? w->call->kids[2] : NULL;
    if (cond && cond->kind == TRA_AST_NAMED) cond = NULL;
    int most = cond ? tra_join_count_conditions(cond) : 0;
    int *lkey = tra_news(w->b->arena, int, most + 1), *rkey = tra_news(w->b->arena, int, most + 1);
    tra_lookup_spec *s = &w->op.lookup;
    *s = (tra_lookup_spec){.left = w->in->type.columns, .right = w->right->type.columns, .lkey = lkey, .rkey = rkey};
    if (!join_options(w, cond ? 3 : 2, option)) return NULL;
    if (!cross && !cond && !option[ASOF]) return tra_table_refuse(w, w->call, "join has two tables and a condition");
    if (option[WITHIN] && !option[ASOF]) return tra_table_refuse(w, option[WITHIN], "within stands beside asof");
    if (cond) tra_join_split_conditions(w, cond, lkey, rkey, &rest);
    if (option[ASOF] && rest)
        return tra_diag_error(w->b->d, rest->span, "select(R, ..) before, or select(join(..), ..) after",
                              "the condition of an as-of join is equalities of columns, and this is none");
    if (option[ASOF] && !tra_join_asof(w, option[ASOF], option[WITHIN], lkey, rkey)) return NULL;
    if (s->nkeys == 0 && option[EXPECT] && !option[ASOF])
        return tra_table_refuse(w, option[EXPECT],
                                "expect says how often keys occur, and this condition has no equality");
    if (!cross && tra_lookup_compared(s) == 0 && tra_join_of_one_name(w) && says_table(cond))
        return refuse_condition(w, cond), NULL;
    const tra_schema *right = s->right;
    if (!s->prefix && !tra_join_rename_clashes(w)) return NULL;
    tra_lookup_spec pairs = *s;
    if (s->how == TRA_LOOKUP_RIGHT) pairs.how = TRA_LOOKUP_INNER;
    if (s->how == TRA_LOOKUP_OUTER) pairs.how = TRA_LOOKUP_LEFT;
    pairs.unique_left = pairs.matched_right = false;
    tra_lookup *l = tra_join_lookup(w, &pairs, option[ASOF] ? option[ASOF] : cond ? cond : w->call);
    if (!l) return NULL;
    w->op.pair = tra_lookup_pair(l);
    tra_table_term where = {0};
    if (rest && !(rest = tra_join_without_tables(w, right, rest))) return NULL;
    if (rest) {
        tra_table_scope sc = {w->b, w->op.pair, "the pair of rows", .row_allowed = false};
        if (!tra_table_build_predicate(&sc, rest, &where)) return NULL;
        tra_lookup_where(l, where.x);
        w->op.where = where.ast;
        if (s->nkeys == 0 && !tra_join_is_of_both(w, where.x)) return refuse_condition(w, cond), NULL;
        if (s->nkeys == 0 && !tra_lookup_is_banded(l))
            tra_diag_warn(w->b->d, cond->span, "a == b, a < b or abs(a - b) < c, beside it, says which rows can meet",
                          "this join looks at every pair of rows");
    }
    return tra_table_record(w, join_nodes(w, &pairs, l, where.x));
}
