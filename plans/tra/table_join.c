/* table_join.c - join and cross: the rows of each block of the left table find their partners in all of the right
 * one. */
#include "table_known.h"
#include "table_parts.h"
#include "table_stats.h"

#include <string.h>

/* The number of the column that a side of an equality names, or -1. */
static int column_of(const tra_schema *s, const tra_ast *x) {
    return x->kind == TRA_AST_NAME ? tra_schema_find(s, x->text) : -1;
}

static int conditions(const tra_ast *x) {
    bool both = x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0;
    return both ? conditions(x->kids[0]) + conditions(x->kids[1]) : 1;
}

/* The conditions joined by &&: equalities of columns are keys, the others stay. */
static bool split(tra_table_builder *w, const tra_ast *x, int *lkey, int *rkey, const tra_ast **rest) {
    if (x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0)
        return split(w, x->kids[0], lkey, rkey, rest) && split(w, x->kids[1], lkey, rkey, rest);
    bool equal = x->kind == TRA_AST_BINARY && strcmp(x->text, "==") == 0;
    int l = equal ? column_of(w->in->type.columns, x->kids[0]) : -1;
    int r = equal ? column_of(w->right->type.columns, x->kids[1]) : -1;
    if (l >= 0 && r >= 0) {
        lkey[w->op.lookup.nkeys] = l;
        rkey[w->op.lookup.nkeys++] = r;
        return true;
    }
    tra_ast *both = tra_new(w->b->arena, tra_ast);
    *both = (tra_ast){.kind = TRA_AST_BINARY, .span = x->span, .name_span = x->span, .text = "&&", .nkids = 2};
    both->kids = tra_news(w->b->arena, tra_ast *, 2);
    both->kids[0] = (tra_ast *)*rest;
    both->kids[1] = (tra_ast *)x;
    *rest = *rest ? both : x;
    return true;
}

/* What expect and matched may be: bit 0 for the keys of the right table, or rows of the left one; bit 1 the others. */
static const char *const expectations[] = {NULL, "m:1", "1:m", "1:1"}, *const matches[] = {NULL, "left", "right",
                                                                                           "all"};

static bool one_of(tra_table_builder *w, const tra_ast *x, int n, const char *const *words, int *at) {
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

static bool join_options(tra_table_builder *w, int from) {
    static const char *const names[] = {"how", "prefix", "expect", "matched", "nulls"};
    static const char *const how[] = {"inner", "left", "semi", "anti", "right", "outer"};
    static const tra_lookup_how hows[] = {TRA_LOOKUP_INNER, TRA_LOOKUP_LEFT,  TRA_LOOKUP_SEMI,
                                          TRA_LOOKUP_ANTI,  TRA_LOOKUP_RIGHT, TRA_LOOKUP_OUTER};
    static const char *const nulls[] = {"match"};
    const tra_ast *v[5] = {NULL};
    tra_lookup_spec *s = &w->op.lookup;
    int at, expected = 0, matched = 0; /* of expectations[] and matches[] */
    bool cross = w->op.op == TRA_TABLE_CROSS;
    if (!tra_table_named(w, from, cross ? 2 : 5, names, v)) return false;
    if (v[0] && cross) return tra_table_refuse(w, v[0], "cross has no argument 'how'"), false;
    if (v[0]) {
        if (!one_of(w, v[0], 6, how, &at)) return false;
        s->how = hows[at];
    }
    if (v[1] && v[1]->kind != TRA_AST_STRING) return tra_table_refuse(w, v[1], "a prefix is a string: \"p_\""), false;
    if (v[1]) s->prefix = v[1]->text;
    if (v[2] && !one_of(w, v[2], 3, expectations + 1, &expected)) return false;
    if (v[3] && !one_of(w, v[3], 3, matches + 1, &matched)) return false;
    if (v[4] && !one_of(w, v[4], 1, nulls, &at)) return false;
    expected += v[2] != NULL;
    matched += v[3] != NULL;
    s->unique = expected & 1;
    s->unique_left = expected & 2;
    s->matched = matched & 1;
    s->matched_right = matched & 2;
    s->nulls_match = v[4] != NULL;
    return true;
}

static const char *how_text(tra_lookup_how how) {
    static const char *const texts[] = {
#define X(name, text) text,
        TRA_LOOKUPS(X)
#undef X
    };
    return texts[how];
}

static const char *join_text(const tra_table_builder *w, const tra_lookup_spec *s) {
    tra_str t = {0};
    tra_str_printf(&t, "%s(", tra_table_op_text(w->op.op));
    for (int i = 0; i < s->nkeys; i++) {
        if (i) tra_str_add(&t, " && ");
        tra_name_print(s->left->v[s->lkey[i]].name, &t);
        tra_str_add(&t, " == ");
        tra_name_print(s->right->v[s->rkey[i]].name, &t);
    }
    if (w->op.where) {
        if (s->nkeys) tra_str_add(&t, " && ");
        tra_ast_print(w->op.where, &t);
    }
    if (s->how) tra_str_printf(&t, ", how = %s", how_text(s->how));
    if (s->prefix) tra_str_printf(&t, ", prefix = \"%s\"", s->prefix);
    if (s->unique || s->unique_left)
        tra_str_printf(&t, ", expect = \"%s\"", expectations[s->unique + 2 * s->unique_left]);
    if (s->matched || s->matched_right)
        tra_str_printf(&t, ", matched = %s", matches[s->matched + 2 * s->matched_right]);
    if (s->nulls_match) tra_str_add(&t, ", nulls = match");
    if (s->number) tra_str_printf(&t, ", number as `%s`", s->number);
    tra_str_add(&t, ")");
    const char *text = tra_arena_strndup(w->b->arena, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

/* Is the right table to be cut in parts? one: a row of the left table has one partner at most, which matters. */
static bool divides(const tra_lookup_spec *s, const tra_node *left, const tra_node *right, bool one, tra_division *d) {
    tra_dividing x = {.columns = right->type.columns, .others = left->type.cat->n, .share = 4, .ties = !one};
    for (int k = 0; k < s->nkeys; k++) x.key_bytes += (int64_t)sizeof(int64_t) + 1;
    x.runs = true;
    return s->nkeys > 0 && tra_table_divide(right->type.cat, &x, d);
}

/* The expected share of the left rows in the result, if each has at most one partner. */
static double share_of_one(const tra_lookup_spec *s) {
    tra_partners p;
    if (s->nkeys == 0 || s->how == TRA_LOOKUP_LEFT || !tra_table_partners(s, &p)) return 1;
    return s->how == TRA_LOOKUP_ANTI ? 1 - p.has : p.has;
}

/* The column whose values decide the key: equal keys mean equal values; -1: there is none. */
static int column_alone(const tra_colexpr *x) {
    bool keeps = x->op == TRA_C_RECODE || (x->op == TRA_C_CONVERT && !tra_coltype_is_float(x->type));
    if (keeps) x = x->kids[0];
    return x->op == TRA_C_COLUMN ? x->column : -1;
}

/* A bound of how many rows of a side have the same key. */
static int64_t repeats(const tra_table_builder *w, const tra_lookup_spec *s, const tra_colexpr *const *key,
                       const tra_node *n) {
    int64_t most = INT64_MAX;
    for (int k = 0; k < s->nkeys; k++) {
        int c = column_alone(key[k]);
        if (c >= 0) most = tra_min64(most, tra_table_repeats(w->b->g, n, c, s->nulls_match));
    }
    return most;
}

/* A bound of the pairs that are equal in each key. */
static int64_t pairs_most(const tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l,
                          const tra_node *left, const tra_node *right) {
    int64_t most = INT64_MAX;
    for (int k = 0; k < s->nkeys; k++) {
        int x = column_alone(tra_lookup_left_keys(l)[k]), y = column_alone(tra_lookup_right_keys(l)[k]);
        if (x >= 0 && y >= 0) most = tra_min64(most, tra_table_pairs_most(w->b->g, left, x, right, y, s->nulls_match));
    }
    return most;
}

static tra_meeting meeting_of(const tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l,
                              const tra_node *left, const tra_node *right) {
    tra_size x = tra_type_entries(&left->type), y = tra_type_entries(&right->type);
    tra_meeting m = {.each = repeats(w, s, tra_lookup_right_keys(l), right)};
    int64_t other = repeats(w, s, tra_lookup_left_keys(l), left);
    tra_partners p = {1, 1};
    bool known = s->nkeys == 0 || tra_table_partners(s, &p);
    m.all = tra_min64(tra_mul_most(x.bound, m.each), tra_mul_most(y.bound, other));
    m.all = tra_min64(m.all, pairs_most(w, s, l, left, right));
    m.expected = known ? p.pairs * (double)x.expected * (double)y.expected : (double)x.expected;
    if (s->how == TRA_LOOKUP_LEFT) m.all = tra_add_most(m.all, x.bound);
    if (s->how == TRA_LOOKUP_LEFT && known) m.expected += (1 - p.has) * (double)x.expected;
    return m;
}

double tra_table_pairs_share(const tra_meeting *m, const tra_type *left, const tra_type *right) {
    double rows = 1;
    for (int i = 0; i < 2; i++) { /* of what is expected of the operands */
        const tra_type *t = i ? right : left;
        rows *= (double)tra_max64(1, tra_type_entries(t).expected) / (double)tra_max64(1, tra_catalog_elements(t->cat));
    }
    rows *= (double)tra_catalog_elements(left->cat) * (double)tra_max64(1, tra_min64(right->cat->bound.v[0], m->each));
    double share = rows > 0 ? m->expected / rows : 1;
    return share < 1 ? share : 1;
}

/* Each row of a block of the left table with its partners in all of the right one. */
static tra_node *lookup_node(tra_table_builder *w, const tra_lookup_spec *s, tra_lookup *l, tra_node *left,
                             tra_node *right) {
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI, keeps = s->how == TRA_LOOKUP_KEEP;
    tra_meeting meet = meeting_of(w, s, l, left, right);
    bool unique = s->unique || meet.each == 1;
    bool one = unique || filters || keeps; /* so many rows at most come of one on the left */
    tra_division d;
    bool first = one && (unique || !tra_lookup_condition(l)); /* one of several right rows with equal keys is enough */
    if (!s->number && divides(s, left, right, first, &d)) {
        tra_lookup_spec known = *s;
        known.unique = unique;
        return tra_table_join_parts(w, &known, l, left, right, join_text(w, s), &d, &meet);
    }
    tra_crossing x;
    if (s->nkeys == 0 && !one && s->how == TRA_LOOKUP_INNER && tra_table_cross_divides(left, right, &x))
        return tra_table_cross_parts(w, l, left, right, join_text(w, s), &x);
    bool loses = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_SEMI;
    bool all = s->how == TRA_LOOKUP_LEFT || (s->matched && !w->op.where);
    right = tra_table_whole(w, right, 0);
    if (!right) return NULL;
    tra_node fields = {.in = {left, right}};
    fields.kernel = tra_kernel_of_rows(
        w->b->arena,
        &(tra_rows_kernel){.text = join_text(w, s),
                           .use = TRA_USE_JOIN,
                           .columns = tra_lookup_out(l),
                           .dtype = TRA_F64,
                           .rows = one       ? TRA_ROWS_SAME
                                   : !s->how ? TRA_ROWS_PRODUCT
                                             : TRA_ROWS_OUTER,
                           .each = one || meet.each == INT64_MAX ? 0 : meet.each,
                           .all = one ? 0 : meet.all,
                           .counts = !keeps && !(one && all && !filters),
                           .share = one ? share_of_one(s) : tra_table_pairs_share(&meet, &left->type, &right->type),
                           .meets = s->nkeys > 0 && loses && !s->matched,
                           .flops = 20,
                           .ops = &tra_lookup_ops,
                           .data = l});
    tra_node *n = tra_build_made(w->b, TRA_OP_JOIN, w->call->span, &fields);
    if (n) n->rows = keeps ? left->rows : n->type.bounded ? tra_table_rows_of(w->b, n) : NULL;
    return n;
}

/* ---- right and outer joins, and what is expected ---------------------------------------------------------------- */

static tra_lookup *lookup_of(tra_table_builder *w, const tra_lookup_spec *s, const tra_ast *at) {
    tra_lookup *l;
    tra_err e = {0};
    if (tra_lookup_new(w->b->arena, s, &l, &e) == TRA_OK) return l;
    tra_diag_error(w->b->d, at->span, NULL, "%s", e.msg);
    return NULL;
}

/* Rows of the right table, by whether they have partners in the left one. */
static tra_node *exchanged(tra_table_builder *w, const tra_colexpr *where, tra_lookup_how how, tra_node *left,
                           tra_node *right) {
    tra_lookup_spec s = w->op.lookup;
    const tra_schema *x = s.left, *y = s.right;
    const int *key = s.lkey;
    s = (tra_lookup_spec){y, x, how, s.nkeys, s.rkey, key, .nulls_match = s.nulls_match};
    s.matched = how == TRA_LOOKUP_KEEP;
    s.name[0] = "right";
    s.name[1] = "left";
    tra_lookup *l = lookup_of(w, &s, w->call);
    if (!l) return NULL;
    const tra_colexpr **by = tra_news(w->b->arena, const tra_colexpr *, x->n + y->n);
    for (int i = 0; i < x->n + y->n; i++)
        by[i] = tra_colexpr_column(w->b->arena, tra_lookup_pair(l), i < x->n ? y->n + i : i - x->n);
    if (where) tra_lookup_where(l, tra_colexpr_substitute(w->b->arena, where, by));
    return lookup_node(w, &s, l, right, left);
}

/* The left table, once it is known that no two of its rows have one key. */
static tra_node *unique_left(tra_table_builder *w, tra_node *left) {
    tra_lookup_spec s = w->op.lookup;
    s = (tra_lookup_spec){s.left,          s.left,
                          TRA_LOOKUP_KEEP, s.nkeys,
                          s.lkey,          s.lkey,
                          .prefix = NULL,  .nulls_match = s.nulls_match,
                          .unique = true,  .name = {"left", "left"}};
    tra_lookup *l = lookup_of(w, &s, w->call);
    return l ? lookup_node(w, &s, l, left, left) : NULL;
}

/* Each row with the one row on the right that has its keys. */
static tra_node *join_by(tra_table_builder *w, tra_node *right, int nkeys, const int *lkey, const int *rkey) {
    tra_lookup_spec s = {w->in->type.columns, right->type.columns, TRA_LOOKUP_INNER, nkeys, lkey, rkey, .prefix = NULL};
    s.nulls_match = s.unique = s.matched = true;
    tra_lookup *l = lookup_of(w, &s, w->call);
    tra_node *n = l ? lookup_node(w, &s, l, w->in, right) : NULL;
    if (n) n->rows = w->in->rows;
    return n;
}

tra_node *tra_table_joined(tra_table_builder *w, int n, const int *key) { return join_by(w, w->right, n, key, key); }

/* A lookup in a table of which the rows of several blocks are numbered first. */
static tra_node *numbered_join(tra_table_builder *w) {
    const tra_lookup_spec *s = &w->op.lookup;
    tra_node *right = tra_table_row_numbers(w, w->right, s->number);
    return right ? join_by(w, right, s->nkeys, s->lkey, s->rkey) : NULL;
}

tra_node *tra_table_numbered(tra_table_builder *w, int nkeys, const int *lkey, const int *rkey, const char *name) {
    w->op.lookup = (tra_lookup_spec){w->in->type.columns, w->right->type.columns, TRA_LOOKUP_KEEP, nkeys, lkey, rkey,
                                     .nulls_match = true, .matched = true,        .number = name};
    tra_lookup *l = lookup_of(w, &w->op.lookup, w->call);
    if (!l) return NULL;
    tra_division d;
    bool parts = divides(&w->op.lookup, w->in, w->right, true, &d);
    return tra_table_note(w, parts ? numbered_join(w) : lookup_node(w, &w->op.lookup, l, w->in, w->right));
}

static bool is_shared_key(const tra_lookup_spec *s, int right, int *left) {
    for (int k = 0; k < s->nkeys; k++) {
        *left = s->lkey[k];
        if (s->rkey[k] == right && strcmp(s->left->v[*left].name, s->right->v[right].name) == 0) return true;
    }
    return false;
}

/* The pairs, and after them the rows of the right table without partner, the left one's columns being NULL. */
static tra_node *and_unmatched(tra_table_builder *w, tra_node *pairs, tra_node *rest) {
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
    for (int r = 0; r < s->right->n; r++) y[is_shared_key(s, r, &at) ? at : n++] = tra_colexpr_column(a, s->right, r);
    return tra_table_append(w, (tra_node *const[]){pairs, rest}, out->n, names, x, y);
}

static tra_node *join_nodes(tra_table_builder *w, const tra_lookup_spec *s, tra_lookup *l, const tra_colexpr *where) {
    tra_lookup_how how = w->op.lookup.how;
    tra_node *left = w->in, *right = w->right;
    if (w->op.lookup.unique_left && !(left = unique_left(w, left))) return NULL;
    if (w->op.lookup.matched_right && !(right = exchanged(w, where, TRA_LOOKUP_KEEP, left, right))) return NULL;
    tra_node *pairs = lookup_node(w, s, l, left, right);
    if (!pairs || (how != TRA_LOOKUP_RIGHT && how != TRA_LOOKUP_OUTER)) return pairs;
    tra_node *rest = exchanged(w, where, TRA_LOOKUP_ANTI, left, right);
    return rest ? and_unmatched(w, pairs, rest) : NULL;
}

tra_node *tra_table_join(tra_table_builder *w) {
    bool cross = w->op.op == TRA_TABLE_CROSS;
    const tra_ast *rest = NULL, *cond = !cross && w->call->nkids > 2 ? w->call->kids[2] : NULL;
    if (!cross && (!cond || cond->kind == TRA_AST_NAMED))
        return tra_table_refuse(w, w->call, "join has two tables and a condition"), NULL;
    int most = cond ? conditions(cond) : 0;
    int *lkey = tra_news(w->b->arena, int, most + 1), *rkey = tra_news(w->b->arena, int, most + 1);
    tra_lookup_spec *s = &w->op.lookup;
    *s = (tra_lookup_spec){.left = w->in->type.columns, .right = w->right->type.columns, .lkey = lkey, .rkey = rkey};
    if (!join_options(w, cross ? 2 : 3) || (cond && !split(w, cond, lkey, rkey, &rest))) return NULL;
    if (!cross && s->nkeys == 0) {
        tra_diag_error(w->b->d, cond->span, "write L's column == R's column, or cross(L, R) and select",
                       "no part of this condition is an equality of a column of the left table and one of the right");
        return NULL;
    }
    tra_lookup_spec pairs = *s;
    if (s->how == TRA_LOOKUP_RIGHT) pairs.how = TRA_LOOKUP_INNER;
    if (s->how == TRA_LOOKUP_OUTER) pairs.how = TRA_LOOKUP_LEFT;
    pairs.unique_left = pairs.matched_right = false;
    tra_lookup *l = lookup_of(w, &pairs, cond ? cond : w->call);
    if (!l) return NULL;
    w->op.pair = tra_lookup_pair(l);
    tra_table_term where = {0};
    if (rest) {
        tra_table_scope sc = {w->b, w->op.pair, "the pair of rows", false};
        if (!tra_table_predicate(&sc, rest, &where)) return NULL;
        tra_lookup_where(l, where.x);
        w->op.where = where.ast;
    }
    return tra_table_note(w, join_nodes(w, &pairs, l, where.x));
}
