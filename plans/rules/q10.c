/* q10.c - rule Q-10: sums of products of the columns of a matrix, whose rows are those of a join, without the join.
 *
 * Let X be the matrix of select, project and joins of a table T with tables D. What a column of X takes of T, besides
 * what it takes of D, are *group columns*: so are the keys of the joins, and what predicates read of T that read D as
 * well. Columns of X that read nothing but T, and not group columns alone, are summands. Then T is summed by the group
 * columns: how many rows, the sum of each summand, and of each product of two summands. The slots that have rows are
 * joined with D in place of T, the maps are evaluated once for each of them, and with n the number of its rows, phi the
 * columns that are functions of the group, and s the sums,
 *
 *     X'X = sum of n phi phi' (functions of groups), s phi' (one of each), or the sums of products (summands).
 *
 * Keys of D may be there more than once, or not at all: the joins are the same, over fewer rows.
 *
 * Sources: Morpheus (Chen et al., VLDB 2017) for one and several foreign keys; F (Schleich et al., SIGMOD 2016) for
 * maps of several tables' columns, which the groups bring together.
 */
#include <math.h>
#include <string.h>

#include "../../lib/relation/table_file.h"
#include "../../lib/table/sums.h"
#include "pipeline.h"

enum { MOST_KEYS = 8, MOST_COLUMNS = 64, MOST_PRODUCTS = 16 };

/* A column of one of the matrices. */
typedef struct feature {
    const char *name;
    const tra_colexpr *x; /* f64, never NULL */
    bool summed;          /* a summand; else a function of the group */
    int at;               /* summand: its number */
} feature;

/* A product of two matrices. */
typedef struct product {
    int n[2]; /* columns of the matrices; the same: those of the first count */
    feature *f[2];
    bool same;
} product;

typedef struct factoring {
    tra_rewriting *w;
    tra_arena *a;
    tra_expr *x, *join; /* the sum, and the product of the matrices */
    tra_pipe *pipe;
    bool quiet;   /* what is refused is tried otherwise */
    product *own; /* of these matrices; among all that are summed over the same rows, for which one pass is enough: */
    int nproducts;
    product product[MOST_PRODUCTS];
    int nkeys; /* group columns, over the source */
    const tra_colexpr *key[MOST_KEYS];
    tra_slots *slots;
    int nsummands, nsums; /* sums: of summands, then of products of the pairs pair[] of them */
    const tra_colexpr *summand[2 * MOST_COLUMNS];
    int (*pair)[2];
} factoring;

#define REFUSE(f, ...) ((f)->quiet ? (void)0 : tra_refuse((f)->w, (f)->x, __VA_ARGS__))

/* ---- which matrices ---------------------------------------------------------------------------------------------- */

/* The pass that makes the matrix of a group, maybe under other keys; of the narrowest table. */
static const tra_expr *matrix_of(const tra_memo *m, int group, bool rekeyed) {
    const tra_group *g = &m->group[tra_memo_find(m, group)];
    const tra_expr *found = NULL;
    for (int i = 0; i < g->n; i++) {
        const tra_expr *x = m->v[g->expr[i]];
        const tra_rowwise *r = tra_rowwise_of_expr(x);
        if (!r || !tra_rowwise_is_matrix(r, NULL))
            x = !rekeyed && x->node.op == TRA_OP_REKEY ? matrix_of(m, x->in[0], true) : NULL;
        if (x && (!found || (x->rule == &tra_rule_q_6 && found->rule != &tra_rule_q_6))) found = x;
    }
    return found;
}

/* Is it sum X[n,a] * Y[n,b], the result <a,b>? */
static bool is_gram(const tra_expr *x, const tra_expr *y) {
    const tra_node *j = &y->node, *n = &x->node;
    tra_product p;
    if (n->op != TRA_OP_AGG || !tra_kernel_is_sum(n->kernel) || j->op != TRA_OP_JOIN) return false;
    if (j->joinl.n != 1 || j->joinl.v[0] != 0 || j->joinr.v[0] != 0) return false;
    if (n->group.n != 2 || n->group.v[0] != 1 || n->group.v[1] != 2) return false;
    if (!tra_kernel_is_product(j->kernel, &j->in[0]->type.cat->bound, &j->in[1]->type.cat->bound, &p)) return false;
    return p.rank[0] == 2 && p.rank[1] == 2 && p.nout == 2 && p.in[0][0] == p.in[1][0] && p.out[0] == p.in[0][1] &&
           p.out[1] == p.in[1][1] && p.out[0] != p.out[1] && p.out[0] != p.in[0][0] && p.out[1] != p.in[0][0];
}

/* What could not be computed, or has no value, is the same error as before. */
static bool is_total(factoring *f, const tra_colexpr *x, const char *what, const char *name) {
    if (x->fails) {
        REFUSE(f, "%s %s may not fit its type, which is an error that names a row of the join", what, name);
        return false;
    }
    for (int i = 0; i < x->nkids; i++)
        if (!is_total(f, x->kids[i], what, name)) return false;
    return true;
}

static bool add_feature(factoring *f, product *p, int side, const char *name, const tra_colexpr *x,
                        const double *fill) {
    const tra_colexpr *both[2] = {x, NULL};
    tra_err e = {0};
    if (!is_total(f, x, "column", name)) return false;
    if (x->nullable && !fill) {
        REFUSE(f,
               "column %s may be NULL, which is an error that names a row of the join; fill = .. "
               "gives it a value",
               name);
        return false;
    }
    if (fill) both[1] = tra_colexpr_float(f->a, *fill);
    if (fill && x->nullable && tra_colexpr_call(f->a, TRA_C_IFNULL, 2, both, &x, &e) != TRA_OK) return false;
    p->f[side][p->n[side]++] = (feature){.name = name, .x = x};
    return true;
}

static bool read_matrix(factoring *f, product *p, int side, const tra_expr *matrix, const tra_pipe *pipe) {
    const tra_rowwise *r = tra_rowwise_of_expr(matrix);
    const tra_rowwise_step *v;
    const double *fill = tra_rowwise_fill(r);
    tra_dtype t;
    int n = tra_rowwise_steps(r, &v);
    (void)tra_rowwise_is_matrix(r, &t);
    if (t != TRA_F64) {
        REFUSE(f, "the matrix is of %s: its products are exact to other digits", tra_dtype_name(t));
        return false;
    }
    if (n != 1 || v[0].n > MOST_COLUMNS) return false; /* the parts of a composition are matched by themselves */
    p->f[side] = tra_news(f->a, feature, v[0].n + 1);
    for (int i = 0; i < v[0].n; i++)
        if (!add_feature(f, p, side, v[0].names[i], tra_pipe_term(f->w, pipe, v[0].x[i]), fill)) return false;
    return true;
}

/* ---- group columns ----------------------------------------------------------------------------------------------- */

static bool add_key(factoring *f, const tra_colexpr *x) {
    for (int k = 0; k < f->nkeys; k++)
        if (tra_colexpr_eq(f->pipe, f->key[k], x)) return true;
    if (f->nkeys == MOST_KEYS) {
        REFUSE(f, "joins and maps read more than %d columns of the table that is summed", MOST_KEYS);
        return false;
    }
    f->key[f->nkeys++] = x;
    return true;
}

/* The source's columns in an expression that reads others as well. */
static bool add_columns(factoring *f, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) return x->column >= f->pipe->source->type.columns->n || add_key(f, x);
    for (int i = 0; i < x->nkids; i++)
        if (!add_columns(f, x->kids[i])) return false;
    return true;
}

static bool find_keys(factoring *f) {
    const tra_pipe *p = f->pipe;
    for (int j = 0; j < p->njoins; j++)
        for (int k = 0; k < p->join[j].s->nkeys; k++) {
            const tra_colexpr *x = p->join[j].key[k];
            bool other = tra_pipe_reads(p, x, 1);
            if (!is_total(f, x, "a key of", "a join")) return false;
            if (other && x->op != TRA_C_COLUMN) {
                REFUSE(f, "a key of a join is computed of columns of another");
                return false;
            }
            if (!other && !add_key(f, x)) return false;
        }
    for (int i = 0; i < p->nselects; i++) {
        if ((p->select[i].joins || tra_pipe_reads(p, p->select[i].x, 1)) &&
            !is_total(f, p->select[i].x, "a predicate above", "a join"))
            return false;
        if (tra_pipe_reads(p, p->select[i].x, 1) && !add_columns(f, p->select[i].x)) return false;
    }
    for (const product *m = f->product; m < f->product + f->nproducts; m++)
        for (int side = 0; side < 2 - m->same; side++)
            for (int i = 0; i < m->n[side]; i++)
                if (tra_pipe_reads(p, m->f[side][i].x, 1) && !add_columns(f, m->f[side][i].x)) return false;
    return true;
}

/* Does it read nothing of the source but group columns? */
static bool is_of_group(const factoring *f, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) {
        bool found = x->column >= f->pipe->source->type.columns->n;
        for (int k = 0; k < f->nkeys; k++)
            found = found || (f->key[k]->op == TRA_C_COLUMN && f->key[k]->column == x->column);
        return found;
    }
    for (int i = 0; i < x->nkids; i++)
        if (!is_of_group(f, x->kids[i])) return false;
    return true;
}

/* Of the range of values those that the column has are numbered, as its statistics list all of them. */
static void number_values(factoring *f, const tra_column_facts *facts, tra_slot_key *out) {
    int32_t *code = tra_news(f->a, int32_t, out->range + 1);
    int64_t *value = tra_news(f->a, int64_t, facts->n + 1);
    for (int64_t i = 0; i < out->range; i++) code[i] = -1;
    out->n = 0;
    for (int64_t i = 0; i < facts->n; i++) {
        int64_t at = facts->frequency[i][0] - out->least;
        if (at < 0 || at >= out->range || code[at] >= 0) continue;
        code[at] = (int32_t)out->n;
        value[out->n++] = facts->frequency[i][0];
    }
    out->code = code;
    out->value = value;
}

/* The values that a group column may have. */
static bool values_of(factoring *f, const tra_colexpr *x, tra_slot_key *out) {
    tra_column_facts facts;
    tra_str text = {0};
    *out = (tra_slot_key){.nullable = x->nullable};
    int64_t most = x->most;
    out->least = x->least;
    bool counted = false, known = !tra_coltype_is_float(x->type), coded = tra_coltype_is_coded(x->type);
    if (coded) {
        known = x->dict != NULL;
        out->least = 0;
        most = x->dict ? x->dict->n - 1 : 0;
    } else if (known && x->op == TRA_C_COLUMN && x->file &&
               tra_rel_column_facts(x->file, x->number, f->a, &facts, NULL) == TRA_OK) {
        bool none = facts.rows <= facts.nulls;
        counted = !none;
        out->least = none ? 0 : tra_max64(out->least, facts.min);
        most = none ? -1 : tra_min64(most, facts.max);
    }
    __int128 n = (__int128)most - out->least + 1;
    out->n = out->range = n < 0 ? 0 : n > TRA_MOST_SLOTS ? TRA_MOST_SLOTS + 1 : (int64_t)n;
    if (known && out->n <= TRA_MOST_SLOTS) {
        if (counted && facts.whole && facts.n < out->n) number_values(f, &facts, out);
        return true;
    }
    tra_colexpr_print(x, f->pipe->all, &text);
    REFUSE(f, "the values of %s, by which rows are to be summed, are %s", tra_str_get(&text),
           tra_coltype_is_float(x->type) ? "no whole numbers"
           : coded                       ? "not known before the run"
                                         : "not known to lie close together");
    tra_str_free(&text);
    return false;
}

/* ---- the sums of slots ------------------------------------------------------------------------------------------- */

/* False: they are too many. */
static bool set_summands(factoring *f) {
    for (product *p = f->product; p < f->product + f->nproducts; p++) {
        for (int side = 0; side < 2 - p->same; side++)
            for (int i = 0; i < p->n[side]; i++) {
                feature *c = &p->f[side][i];
                c->summed = !is_of_group(f, c->x);
                for (c->at = 0; c->summed && c->at < f->nsummands; c->at++)
                    if (tra_colexpr_eq(f->pipe, f->summand[c->at], c->x)) break;
                if (!c->summed || c->at < f->nsummands) continue;
                if (f->nsummands == 2 * MOST_COLUMNS) return false;
                f->summand[f->nsummands++] = c->x;
            }
        if (p->same) p->f[1] = p->f[0], p->n[1] = p->n[0];
    }
    f->pair = tra_arena_alloc(f->a, sizeof *f->pair * (size_t)(f->nsummands * (f->nsummands + 1) / 2 + 1));
    f->nsums = f->nsummands;
    return true;
}

/* The number of the sum of a product of two summands. */
static int pair_of(factoring *f, int i, int j) {
    int lo = i < j ? i : j, hi = i < j ? j : i, n = f->nsums - f->nsummands;
    for (int k = 0; k < n; k++)
        if (f->pair[k][0] == lo && f->pair[k][1] == hi) return f->nsummands + k;
    f->pair[n][0] = lo, f->pair[n][1] = hi;
    return f->nsums++;
}

static void set_pairs(factoring *f) {
    for (const product *p = f->product; p < f->product + f->nproducts; p++)
        for (int i = 0; i < p->n[0]; i++)
            for (int j = 0; j < p->n[1]; j++)
                if (p->f[0][i].summed && p->f[1][j].summed) (void)pair_of(f, p->f[0][i].at, p->f[1][j].at);
}

static bool multiply(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out) {
    const tra_colexpr *both[2] = {x, y};
    for (int i = 0; i < 2; i++)
        if (tra_colexpr_convert(a, both[i], TRA_COL_F64, NULL, &both[i], NULL) != TRA_OK) return false;
    return tra_colexpr_call(a, TRA_C_MUL, 2, both, out, NULL) == TRA_OK;
}

/* The predicates that read the source alone, then the group columns and what is added up. */
static bool rows_of_slots(factoring *f, tra_slots *s) {
    int n = f->nkeys + f->nsums;
    const char **names = tra_news(f->a, const char *, n + 1);
    const tra_colexpr **x = tra_news(f->a, const tra_colexpr *, n + 1);
    tra_rowwise *r = tra_rowwise_new(f->a, f->pipe->source->type.columns);
    for (int i = 0; i < f->pipe->nselects; i++)
        if (!tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1)) tra_rowwise_select(r, f->pipe->select[i].x);
    for (int k = 0; k < n; k++) names[k] = tra_arena_printf(f->a, k < f->nkeys ? "key %d" : "sum %d", k);
    for (int k = 0; k < f->nkeys; k++) x[k] = f->key[k];
    for (int i = 0; i < f->nsummands; i++)
        if (tra_colexpr_convert(f->a, f->summand[i], TRA_COL_F64, NULL, &x[f->nkeys + i], NULL) != TRA_OK) return false;
    for (int i = f->nsummands; i < f->nsums; i++) {
        const int *of = f->pair[i - f->nsummands];
        if (!multiply(f->a, f->summand[of[0]], f->summand[of[1]], &x[f->nkeys + i])) return false;
    }
    tra_rowwise_project(r, n, names, x);
    s->r = r;
    return true;
}

static const tra_schema *columns_of_slots(const factoring *f) {
    int n = f->nkeys + 1 + f->nsums;
    tra_column *v = tra_news(f->a, tra_column, n);
    tra_schema *s = tra_new(f->a, tra_schema);
    for (int i = 0; i < n; i++) {
        if (i < f->nkeys)
            v[i] = tra_colexpr_result(f->key[i], tra_arena_printf(f->a, "key %d", i));
        else
            v[i] = (tra_column){.name = tra_arena_printf(f->a, i == f->nkeys ? "rows" : "sum %d", i - f->nkeys),
                                .type = TRA_COL_F64};
        v[i].file = NULL;
    }
    *s = (tra_schema){n, v};
    return s;
}

static bool set_slots(factoring *f) {
    tra_slots *s = tra_new(f->a, tra_slots);
    tra_slot_key *key = tra_news(f->a, tra_slot_key, f->nkeys + 1);
    *s = (tra_slots){.nkeys = f->nkeys, .key = key, .n = 1};
    for (int k = 0; k < f->nkeys; k++) {
        if (!values_of(f, f->key[k], &key[k])) return false;
        s->n = tra_mul_most(s->n, key[k].n + key[k].nullable);
    }
    if (tra_mul_most(s->n, 1 + f->nsums) > TRA_MOST_SLOTS) {
        REFUSE(f, "there may be %" PRId64 " groups with %d sums each, more than %d numbers", s->n, 1 + f->nsums,
               TRA_MOST_SLOTS);
        return false;
    }
    if (s->n == 0) return false; /* no rows at all */
    s->out = columns_of_slots(f);
    f->slots = s;
    return rows_of_slots(f, s);
}

static const char *slots_text(const factoring *f) {
    const tra_slots *s = f->slots;
    tra_str t = {0};
    tra_str_add(&t, "sums of ");
    for (int k = 0; k < s->nkeys; k++)
        tra_str_printf(&t, "%s%" PRId64 "%s%s from %" PRId64, k ? " x " : "", s->key[k].n,
                       s->key[k].nullable ? " + NULL" : "", s->key[k].code ? " known" : "", s->key[k].least);
    tra_str_printf(&t, " groups: ");
    tra_rowwise_print(s->r, &t);
    const char *text = tra_arena_strndup(f->a, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

/* ---- expressions of the memo ------------------------------------------------------------------------------------- */

static tra_expr *below(factoring *f, tra_node n) { return tra_make_below(f->w, f->x, &n); }

static tra_expr *rows_transform(factoring *f, const tra_expr *in, const tra_rows_kernel *k) {
    return below(f, tra_proto_transform(tra_kernel_of_rows(f->a, k), &in->node));
}

/* The table of the slots that have rows. */
static tra_expr *make_groups(factoring *f) {
    const tra_slots *s = f->slots;
    const char *text = slots_text(f);
    tra_expr *source = tra_memo_expr(f->pipe->source);
    double rows = (double)tra_type_entries(&source->node.type).expected;
    if (!source->node.type.bounded) rows = (double)tra_catalog_floats(source->node.type.cat);
    tra_expr *sums = rows_transform(f, source,
                                    &(tra_rows_kernel){.text = text,
                                                       .use = TRA_USE_MAP,
                                                       .dtype = TRA_F64,
                                                       .width = 1 + f->nsums,
                                                       .rows = TRA_ROWS_FIXED,
                                                       .most = s->n,
                                                       .share = 1,
                                                       .flops = 4.0 * (1 + f->nkeys) + 3.0 * f->nsums,
                                                       .ops = &tra_slot_sums_ops,
                                                       .data = s});
    tra_expr *all = sums ? below(f, tra_proto_agg(tra_kernel_sum(f->a), &(tra_dims){.n = 0}, &sums->node)) : NULL;
    if (!all) return NULL;
    return rows_transform(f, all,
                          &(tra_rows_kernel){.text = tra_arena_printf(f->a, "groups that have rows, of %s", text),
                                             .use = TRA_USE_MAP,
                                             .columns = s->out,
                                             .dtype = TRA_F64,
                                             .rows = TRA_ROWS_SAME,
                                             .counts = true,
                                             .share = 1 - exp(-rows / (double)s->n),
                                             .flops = 2,
                                             .ops = &tra_slot_rows_ops,
                                             .data = s});
}

/* What an expression over all columns is over the groups, joined so far; by[i] NULL: not there. */
typedef struct joining {
    tra_expr *x;
    const tra_colexpr **by; /* column i of all, over the columns of x */
} joining;

static int key_of(const factoring *f, const tra_colexpr *x) {
    for (int k = 0; k < f->nkeys; k++)
        if (tra_colexpr_eq(f->pipe, f->key[k], x)) return k;
    return -1;
}

/* The columns of a join's result, of which `left` were there before, in terms of all. */
static void take_columns(factoring *f, joining *g, const tra_lookup *l, const tra_pipe_join *j, int left) {
    const tra_schema *out = tra_lookup_out(l);
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    for (int i = 0; i < f->pipe->all->n; i++)
        if (g->by[i]) g->by[i] = tra_colexpr_column(f->a, out, g->by[i]->column);
    for (int i = 0; i < out->n; i++) {
        int from = tra_lookup_from(l)[i];
        if (from >= left) g->by[j->first + from - left] = tra_colexpr_column(f->a, out, i);
    }
    for (int k = 0; k < s->nkeys; k++) { /* of keys of one name there is one column */
        const tra_colexpr **right = &g->by[j->first + s->rkey[k]];
        if (!*right && s->how == TRA_LOOKUP_INNER) *right = tra_colexpr_column(f->a, out, s->lkey[k]);
    }
}

/* The join of the pipeline over groups in place of rows. */
static bool join_groups(factoring *f, joining *g, int number) {
    const tra_pipe_join *j = &f->pipe->join[number];
    const tra_schema *left = g->x->node.type.columns;
    tra_lookup_spec s = *j->s;
    tra_lookup *l;
    tra_err e = {0};
    int *lkey = tra_news(f->a, int, s.nkeys + 1);
    for (int k = 0; k < s.nkeys; k++) {
        int own = key_of(f, j->key[k]);
        const tra_colexpr *at = own < 0 ? g->by[j->key[k]->column] : NULL;
        if (own < 0 && !at) return false;
        lkey[k] = own >= 0 ? own : at->column;
    }
    s.left = left;
    s.lkey = lkey;
    s.prefix = tra_arena_printf(f->a, "%d.", number + 1);
    if (tra_lookup_new(f->a, &s, &l, &e) != TRA_OK) return REFUSE(f, "%s", e.msg), false;
    tra_rows_kernel k = *tra_kernel_rows(j->x->node.kernel);
    k.text = tra_lookup_text(f->a, &s);
    k.columns = tra_lookup_out(l);
    k.data = l;
    g->x = below(f, (tra_node){.op = TRA_OP_JOIN,
                               .in = {&g->x->node, j->x->node.in[1]},
                               .kernel = tra_kernel_of_rows(f->a, &k),
                               .span = f->x->node.span});
    if (g->x) take_columns(f, g, l, j, left->n);
    return g->x != NULL;
}

static const tra_colexpr *rewritten(const factoring *f, const joining *g, const tra_colexpr *x) {
    return tra_colexpr_substitute(f->a, x, g->by);
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

typedef struct summing {
    int n;
    const char **names;
    const tra_colexpr **x;
    int *at;
} summing;

/* Element (i, j) of the result, as a sum over joined groups. */
static bool add_element(factoring *f, const joining *g, summing *u, int i, int j) {
    const feature *p = &f->own->f[0][i], *q = &f->own->f[1][j];
    const tra_schema *s = g->x->node.type.columns;
    const tra_colexpr *weight, *y = NULL;
    int sums = f->nkeys + 1;
    int column = p->summed && q->summed ? sums + pair_of(f, p->at, q->at)
                 : p->summed            ? sums + p->at
                 : q->summed            ? sums + q->at
                                        : f->nkeys;
    weight = tra_colexpr_column(f->a, s, column);
    if (!p->summed && !multiply(f->a, weight, rewritten(f, g, p->x), &weight)) return false;
    if (!q->summed && !multiply(f->a, weight, rewritten(f, g, q->x), &y)) return false;
    u->names[u->n] = tra_arena_printf(f->a, "%s, %s", p->name, q->name);
    u->x[u->n++] = y ? y : weight;
    return true;
}

static bool set_elements(factoring *f, const joining *g, summing *u) {
    int all = f->own->n[0] * f->own->n[1];
    u->names = tra_news(f->a, const char *, all + 1);
    u->x = tra_news(f->a, const tra_colexpr *, all + 1);
    u->at = tra_news(f->a, int, all + 1);
    for (int i = 0; i < f->own->n[0]; i++)
        for (int j = 0; j < f->own->n[1]; j++) {
            bool mirrored = f->own->same && j < i;
            u->at[i * f->own->n[1] + j] = mirrored ? u->at[j * f->own->n[1] + i] : u->n;
            if (!mirrored && !add_element(f, g, u, i, j)) return false;
        }
    return true;
}

static const char *sums_text(const factoring *f, const tra_rowwise *r) {
    tra_str t = {0};
    tra_str_printf(&t, "%s%d x %d sums over groups: ", f->own->same ? "symmetric " : "", f->own->n[0], f->own->n[1]);
    tra_rowwise_print(r, &t);
    const char *text = tra_arena_strndup(f->a, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

static tra_expr *make_sums(factoring *f, const joining *g) {
    summing u = {0};
    tra_rowwise *r = tra_rowwise_new(f->a, g->x->node.type.columns);
    for (int i = 0; i < f->pipe->nselects; i++)
        if (tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1))
            tra_rowwise_select(r, rewritten(f, g, f->pipe->select[i].x));
    if (!set_elements(f, g, &u)) return NULL;
    tra_rowwise_project(r, u.n, u.names, u.x);
    tra_row_sums *s = tra_new(f->a, tra_row_sums);
    *s = (tra_row_sums){r, f->own->n[0] * f->own->n[1], u.at};
    return rows_transform(f, g->x,
                          &(tra_rows_kernel){.text = sums_text(f, r),
                                             .use = TRA_USE_MAP,
                                             .dtype = TRA_F64,
                                             .width = f->own->n[1],
                                             .rows = TRA_ROWS_FIXED,
                                             .most = f->own->n[0],
                                             .share = 1,
                                             .flops = 4.0 * u.n,
                                             .ops = &tra_row_sums_ops,
                                             .data = s});
}

static tra_node under_zero_keys(factoring *f, const tra_expr *in) {
    tra_keyfn *k = tra_new(f->a, tra_keyfn);
    tra_keyexpr *zero = tra_new(f->a, tra_keyexpr);
    *zero = (tra_keyexpr){.op = TRA_KEY_INT, .value = 0};
    *k = (tra_keyfn){.arity = 0, .n = 2, .expr = {zero, zero}};
    return (tra_node){.op = TRA_OP_REKEY, .in = {(tra_node *)&in->node}, .keyfn = k, .span = f->x->node.span};
}

static void build(factoring *f) {
    joining g = {.x = make_groups(f), .by = tra_news(f->a, const tra_colexpr *, f->pipe->all->n + 1)};
    for (int k = 0; k < f->nkeys && g.x; k++)
        if (f->key[k]->op == TRA_C_COLUMN) g.by[f->key[k]->column] = tra_colexpr_column(f->a, f->slots->out, k);
    for (int j = 0; j < f->pipe->njoins && g.x; j++)
        if (!join_groups(f, &g, j)) return;
    tra_expr *sums = g.x ? make_sums(f, &g) : NULL;
    if (!sums) return;
    tra_node n = under_zero_keys(f, sums);
    tra_claim(f->w, f->x, f->join, 0, &n, sums, NULL);
}

/* The matrices of a sum of products, as pipelines; false: it is no such sum, or not of joins. */
static bool open_sum(tra_rewriting *w, const tra_expr *x, const tra_expr *y, const tra_expr *m[2], tra_pipe *p[2]) {
    if (!is_gram(x, y)) return false;
    for (int i = 0; i < 2; i++) m[i] = matrix_of(w->m, y->in[i], false);
    if (!m[0] || !m[1]) return false;
    for (int i = 0; i < 2; i++) p[i] = tra_pipe_of(w, m[i]->in[0]);
    return p[0]->njoined > 0 && p[1]->njoined > 0;
}

static bool add_product(factoring *f, const tra_expr *y, const tra_expr *const m[2], tra_pipe *const p[2]) {
    product *to = &f->product[f->nproducts];
    *to = (product){.same = tra_memo_find(f->w->m, y->in[0]) == tra_memo_find(f->w->m, y->in[1])};
    if (!read_matrix(f, to, 0, m[0], p[0]) || (!to->same && !read_matrix(f, to, 1, m[1], p[1]))) return false;
    f->nproducts++;
    return true;
}

/* The sum of the program that the group is, with its product; NULL: it is none. */
static const tra_expr *sum_of_group(const tra_memo *m, int group, const tra_expr **product) {
    const tra_group *g = &m->group[group];
    for (int i = 0; i < g->n; i++) {
        const tra_expr *x = m->v[g->expr[i]];
        if (x->rule || x->node.op != TRA_OP_AGG) continue;
        const tra_group *in = &m->group[tra_memo_find(m, x->in[0])];
        for (int k = 0; k < in->n; k++)
            if (is_gram(x, m->v[in->expr[k]])) return *product = m->v[in->expr[k]], x;
    }
    return NULL;
}

/* Adds the products of all sums of the program over the same rows, in the order of the memo: each of them finds the
 * same, so that their sums over groups are one table. False: they are not to be had together. */
static bool add_all(factoring *f) {
    const tra_memo *m = f->w->m;
    int group = tra_memo_find(m, f->x->group);
    for (int i = 0; i < m->ngroups; i++) {
        const tra_expr *y = f->join, *matrix[2], *x = i == group ? f->x : NULL;
        tra_pipe *p[2];
        if (tra_memo_find(m, i) != i || (!x && !(x = sum_of_group(m, i, &y)))) continue;
        if (!open_sum(f->w, x, y, matrix, p) || p[0]->refused || p[1]->refused) continue;
        if (!tra_pipe_same_rows(f->w, f->pipe, p[0]) || !tra_pipe_same_rows(f->w, f->pipe, p[1])) continue;
        if (f->nproducts == MOST_PRODUCTS || !add_product(f, y, matrix, p)) return false;
        if (i == group) f->own = &f->product[f->nproducts - 1];
    }
    return f->own != NULL;
}

static bool add_own(factoring *f) {
    const tra_expr *matrix[2];
    tra_pipe *p[2];
    f->own = &f->product[0];
    return open_sum(f->w, f->x, f->join, matrix, p) && add_product(f, f->join, matrix, p);
}

/* Factorises with the sums of others as well, or alone. */
static bool find_slots(factoring *f, bool alone) {
    if (!(alone ? add_own(f) : add_all(f)) || !find_keys(f) || !set_summands(f)) return false;
    set_pairs(f);
    return set_slots(f);
}

static void factorise(tra_rewriting *w, tra_expr *x, tra_expr *y, int side) {
    const tra_expr *m[2];
    tra_pipe *p[2];
    (void)side;
    if (!y || !open_sum(w, x, y, m, p)) return;
    const char *why = p[0]->refused ? p[0]->refused : p[1]->refused;
    if (!why && !tra_pipe_same_rows(w, p[0], p[1])) why = "the matrices are of rows of different tables";
    if (why) {
        tra_refuse(w, x, "%s", why);
        return;
    }
    for (int alone = 0; alone < 2; alone++) {
        factoring *f = tra_new(w->m->arena, factoring);
        *f = (factoring){.w = w, .a = w->m->arena, .x = x, .join = y, .pipe = p[0], .quiet = !alone};
        if (!find_slots(f, alone)) continue;
        f->quiet = false;
        build(f);
        return;
    }
}

#define GROUPED "G0 = project(trip, k = k % 8, j = j % 8, x, n)\n"
#define JOINED  "P = join(G0, shop, k == k)\n"
#define JOINED2 "P = join(join(G0, shop, k == k), zone, j == j)\n"
#define XX      "Z[a,b] = sum X[n,a] * X[n,b]\n"

const tra_rule tra_rule_q_10 = {
    .name = "Q-10",
    .equivalence = "X'Y of a matrix of joined rows = sums over groups of the joins' keys, joined",
    .condition = "columns of X and Y are f64 and never NULL; what they, predicates and keys read of the table together "
                 "with another are whole numbers or words of few values; the joins check nothing of rows",
    .forth = factorise,
    .cases = {
        {.program = GROUPED JOINED "X = matrix(P, [one = 1, v])\n" XX, .makes = "symmetric 2 x 2 sums over groups"},
        {.program = GROUPED JOINED "X = matrix(P, [one = 1, v, x])\n" XX, .makes = "sums of 8 from 0 groups"},
        {.program = GROUPED JOINED2 "X = matrix(P, [one = 1, m = hypot(v, u)])\n" XX,
         .makes = "8 from 0 x 8 from 0 groups"},
        {.program = GROUPED JOINED2 "Q = select(P, x > 0 && v < u)\nX = matrix(Q, [one = 1, v])\nY = matrix(Q, [x])\n"
                                    "Z[a,c] = sum X[n,a] * Y[n,c]\n",
         .makes = "2 x 1 sums over groups: select"},
        {.program = GROUPED "P = join(G0, shop, k == k, how = left)\nX = matrix(P, [one = 1, v], fill = 2)\n" XX,
         .makes = "symmetric 2 x 2 sums"},
        {.program = GROUPED JOINED "X = matrix(P, [one = 1, v, b], type = f32)\n" XX,
         .refused = "of f32",
         .tables = true},
        {.program = GROUPED "P = join(G0, shop, k == k, how = left)\nX = matrix(P, [one = 1, v])\n" XX,
         .refused = "column v may be NULL",
         .tables = true},
        {.program = GROUPED JOINED "X = matrix(P, [one = 1, v, q = n * n])\n" XX,
         .refused = "may not fit",
         .tables = true},
        {.program = GROUPED JOINED "X = matrix(P, [one = 1, q = v * x])\n" XX,
         .refused = "no whole numbers",
         .tables = true},
        {.program = "P = join(trip, shop, k == k)\nX = matrix(P, [one = 1, v])\n" XX,
         .refused = "values of k, by which rows are to be summed, are not known to lie close together",
         .tables = true},
        {.program =
             "G0 = project(trip, k = k % 4096, j = j % 4096, x, n)\n" JOINED2 "X = matrix(P, [one = 1, v, u])\n" XX,
         .refused = "there may be 16777216 groups with 1 sums",
         .tables = true},
        {.program = GROUPED "P = join(G0, shop, k == k && x < v)\nX = matrix(P, [one = 1, v])\n" XX,
         .refused = "further conditions",
         .tables = true},
        {.program = GROUPED "P = join(G0, shop, k == k, matched = left)\nX = matrix(P, [one = 1, v])\n" XX,
         .refused = "checks that all rows are matched",
         .tables = true},
        {.program =
             GROUPED JOINED "Q = select(P, v > 0)\nX = matrix(P, [v])\nY = matrix(P, [x])\nV2 = matrix(Q, [u = v])\n"
                            "Z[a,c] = sum X[n,a] * Y[n,c]\n",
         .makes = "1 x 1 sums"},
    }};
