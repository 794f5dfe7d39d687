/* facts.c - what facts.h promises. */
#include "facts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/group.h"
#include "../../lib/table/kernels.h"
#include "../../lib/table/key_ranges.h"
#include "../tra/cardinality.h"
#include "pipeline.h"

/* ---- ranges of expressions --------------------------------------------------------------------------------------- */

/* All values that are not NaN lie from lo to hi. */
typedef struct range {
    double lo, hi;
} range;

static const double most = 1e300;  /* well below the end of f64 */
static const double slack = 1e-12; /* of functions: more than their rounding errors */

static bool range_of(const tra_facts *f, const tra_colexpr *x, range *out);

static double greatest_of(range r) { return fmax(fabs(r.lo), fabs(r.hi)); }

static range both_signs(double greatest) { return (range){-greatest, greatest}; }

static range united(range x, range y) { return (range){fmin(x.lo, y.lo), fmax(x.hi, y.hi)}; }

/* The range of a column by the statistics of its file. With a NaN it is not known: NaN counts as greatest. */
static bool of_column(const tra_facts *f, const tra_colexpr *x, range *out) {
    tra_column_facts c;
    bool is_float = tra_coltype_is_float(x->type);
    if (f) {
        *out = (range){f->column[x->column].lo, f->column[x->column].hi};
        return out->lo <= out->hi;
    }
    if (!x->file || !tra_rel_column_facts(x->file, x->number, &c) || c.nan) return false;
    *out = (range){is_float ? 0 : (double)c.min, is_float ? 0 : (double)c.max};
    if (is_float && c.rows > c.nulls) {
        memcpy(&out->lo, &c.min, sizeof out->lo);
        memcpy(&out->hi, &c.max, sizeof out->hi);
    }
    return true;
}

static bool of_quotient(range x, range y, range *out) {
    if (y.lo <= 0 && y.hi >= 0) return false;
    *out = both_signs(greatest_of(x) / fmin(fabs(y.lo), fabs(y.hi)));
    return true;
}

static range of_product(range x, range y) {
    double v[4] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
    range r = {v[0], v[0]};
    for (int i = 1; i < 4; i++) r = united(r, (range){v[i], v[i]});
    return r;
}

static bool of_two(tra_colop op, range x, range y, range *out) {
    switch (op) {
    case TRA_C_ADD: *out = (range){x.lo + y.lo, x.hi + y.hi}; return true;
    case TRA_C_SUB: *out = (range){x.lo - y.hi, x.hi - y.lo}; return true;
    case TRA_C_MUL: *out = of_product(x, y); return true;
    case TRA_C_DIV: return of_quotient(x, y, out);
    case TRA_C_MIN: *out = (range){fmin(x.lo, y.lo), fmin(x.hi, y.hi)}; return true;
    case TRA_C_MAX: *out = (range){fmax(x.lo, y.lo), fmax(x.hi, y.hi)}; return true;
    case TRA_C_IFNULL: *out = united(x, y); return true;
    case TRA_C_HYPOT: *out = (range){0, hypot(greatest_of(x), greatest_of(y)) * (1 + slack)}; return true;
    case TRA_C_POW:
        if (y.lo < 0) return false;
        *out = both_signs(pow(fmax(1, greatest_of(x)), y.hi) * (1 + slack));
        return true;
    default: return false;
    }
}

static bool of_one(const tra_colexpr *f, range x, range *out) {
    switch (f->op) {
    case TRA_C_CONVERT: *out = x; return f->type != TRA_COL_F32 || greatest_of(x) < FLT_MAX;
    case TRA_C_NEG: *out = (range){-x.hi, -x.lo}; return true;
    case TRA_C_ABS: *out = (range){x.lo > 0 ? x.lo : x.hi < 0 ? -x.hi : 0, greatest_of(x)}; return true;
    case TRA_C_FLOOR:
    case TRA_C_CEIL:
    case TRA_C_ROUND: *out = (range){x.lo - 1, x.hi + 1}; return true;
    case TRA_C_SQRT: *out = (range){0, sqrt(fmax(0, x.hi)) * (1 + slack)}; return true;
    case TRA_C_EXP: *out = (range){exp(x.lo) * (1 - slack), exp(x.hi) * (1 + slack)}; return true;
    case TRA_C_LOG:
        if (x.lo <= 0) return false;
        *out = (range){log(x.lo) - slack * fabs(log(x.lo)) - slack, log(x.hi) + slack * fabs(log(x.hi)) + slack};
        return true;
    case TRA_C_RADIANS: *out = both_signs(greatest_of(x)); return true;
    default: return false;
    }
}

static bool of_function(const tra_facts *f, const tra_colexpr *x, range *out) {
    range v[2];
    switch (x->op) {
    case TRA_C_SIN:
    case TRA_C_COS: *out = both_signs(1 + slack); return true;
    case TRA_C_ASIN:
    case TRA_C_ACOS:
    case TRA_C_ATAN:
    case TRA_C_ATAN2: *out = both_signs(4); return true;
    case TRA_C_TAN: *out = both_signs(1e17); return true; /* no f64 is that near a pole */
    case TRA_C_IF:
        if (!range_of(f, x->kids[1], &v[0]) || !range_of(f, x->kids[2], &v[1])) return false;
        *out = united(v[0], v[1]);
        return true;
    default: break;
    }
    if (x->nkids < 1 || x->nkids > 2) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!range_of(f, x->kids[i], &v[i])) return false;
    return x->nkids == 1 ? of_one(x, v[0], out) : of_two(x->op, v[0], v[1], out);
}

static bool range_of(const tra_facts *f, const tra_colexpr *x, range *out) {
    bool known = true;
    if (tra_coltype_is_coded(x->type)) return false;
    if (x->op == TRA_C_COLUMN)
        known = of_column(f, x, out);
    else if (!tra_coltype_is_float(x->type))
        known = false;
    else if (x->op == TRA_C_CONST)
        *out = x->null ? (range){0, 0} : (range){x->value.f, x->value.f};
    else
        known = of_function(f, x, out);
    if (!known && !tra_coltype_is_float(x->type)) {
        known = true;
        *out = x->type == TRA_COL_BOOL ? (range){0, 1} : (range){(double)x->least, (double)x->most};
    }
    return known && greatest_of(*out) < most; /* NaN: not known */
}

bool tra_is_finite(const tra_facts *f, const tra_colexpr *x) {
    range r;
    return range_of(f, x, &r);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* How many values the type, the dictionary and the statistics of the file leave. */
static double values_most(const tra_colexpr *x) {
    tra_column_facts f;
    double n = x->type == TRA_COL_BOOL ? 2 : INFINITY;
    if (tra_coltype_is_coded(x->type) && x->dict) n = (double)x->dict->n;
    if (x->op == TRA_C_COLUMN && x->file && tra_rel_column_facts(x->file, x->number, &f))
        n = fmin(n, (double)f.distinct);
    if (!tra_coltype_is_float(x->type) && !tra_coltype_is_coded(x->type) && x->type != TRA_COL_BOOL)
        n = fmin(n, (double)x->most - (double)x->least + 1);
    return n;
}

static tra_column_known known_of(const tra_facts *f, const tra_colexpr *x) {
    range r;
    tra_column_known k = {.lo = 1, .hi = 0, .distinct = values_most(x), .by = -1};
    if (f && x->op == TRA_C_COLUMN) k = f->column[x->column];
    if (range_of(f, x, &r)) k.lo = r.lo, k.hi = r.hi;
    return k;
}

double tra_values_expected(const tra_facts *f, const tra_colexpr *x, double rows) {
    double n = f && x->op == TRA_C_COLUMN ? f->column[x->column].distinct : values_most(x);
    return fmin(rows, n) + x->nullable;
}

double tra_share_of_groups(const tra_facts *f, int n, const tra_colexpr *const *x, double rows) {
    double values = 1;
    for (int k = 0; k < n; k++) {
        bool follows = false; /* from another one */
        for (int i = 0; i < n && f && x[k]->op == TRA_C_COLUMN; i++)
            follows |= x[i]->op == TRA_C_COLUMN && x[i]->column == f->column[x[k]->column].by;
        if (!follows) values *= tra_values_expected(f, x[k], rows);
    }
    return fmax(1, tra_distinct_after(values, rows)) / fmax(1, rows);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static bool has_all(const tra_key_known *k, int n, const int *column) {
    for (int i = 0, c = 0; i < k->n; i++) {
        for (c = 0; c < n && column[c] != k->column[i];) c++;
        if (c == n) return false;
    }
    return true;
}

/* Adds a key, unless one that has no more columns says it. */
static void add_key(tra_facts *f, tra_key_known k) {
    for (int i = 0; i < f->nkeys; i++)
        if (has_all(&f->key[i], k.n, k.column) && (f->key[i].nulls || !k.nulls)) return;
    if (f->nkeys < TRA_KEYS_KNOWN) f->key[f->nkeys++] = k;
}

/* Adds the keys of `in`, of which column c is column to[c] of the result; -1: it is not there. */
static void take_keys(tra_arena *a, tra_facts *f, const tra_facts *in, const int *to) {
    for (int i = 0; i < in->nkeys; i++) {
        tra_key_known k = in->key[i];
        int *column = tra_news(a, int, k.n + 1), n = 0;
        while (n < k.n && (column[n] = to[k.column[n]]) >= 0) n++;
        k.column = column;
        if (n == k.n) add_key(f, k);
    }
}

/* Do no two rows agree in these n columns; nulls: where NULL equals NULL? */
static bool differ(const tra_facts *f, int n, const int *column, bool nulls) {
    for (int i = 0; i < f->nkeys; i++)
        if (has_all(&f->key[i], n, column) && (f->key[i].nulls || !nulls)) return true;
    return false;
}

bool tra_lookup_once(const tra_memo *m, int right, const tra_lookup_spec *s) {
    if (s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI || s->unique || s->asof) return true;
    return differ(tra_memo_facts(m, right), s->nkeys, s->rkey, s->nulls_match);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Of every table: what the files say that its columns come from. */
static tra_facts *facts_of_columns(const tra_memo *m, const tra_node *n) {
    const tra_schema *s = n->type.columns;
    tra_facts *f = tra_new(m->arena, tra_facts);
    *f = (tra_facts){.rows = tra_rows_expected(n), .most = (double)tra_catalog_elements(n->type.cat), .n = s->n};
    f->column = tra_news(m->arena, tra_column_known, s->n + 1);
    for (int c = 0; c < s->n; c++) f->column[c] = known_of(NULL, tra_colexpr_column(m->arena, s, c));
    return f;
}

static void read_file(const tra_memo *m, const tra_node *n, tra_facts *f) {
    for (int c = 0; c < f->n; c++) {
        tra_column_facts x;
        const tra_column *v = &n->type.columns->v[c];
        if (!v->file || v->file != n->input.rel || !tra_rel_column_facts(v->file, v->number, &x)) continue;
        int *column = tra_new(m->arena, int);
        *column = c;
        if (x.exact && x.distinct == x.rows - x.nulls) add_key(f, (tra_key_known){1, column, x.nulls <= 1});
    }
}

/* Sharpens what is known of a column by what is known of one with all or more of its values. */
static void sharpen(tra_column_known *to, tra_column_known x) {
    if (x.lo <= x.hi && to->lo > to->hi) to->lo = x.lo, to->hi = x.hi;
    if (x.lo <= x.hi) to->lo = fmax(to->lo, x.lo), to->hi = fmin(to->hi, x.hi);
    to->distinct = fmin(to->distinct, x.distinct);
}

static void take_pass(const tra_memo *m, const tra_rowwise *r, const tra_facts *in, tra_facts *f) {
    int *to = tra_news(m->arena, int, in->n + 1);
    const tra_colexpr *const *x = tra_pass_columns(m->arena, r);
    for (int c = 0; c < in->n; c++) to[c] = x ? -1 : c;
    for (int c = 0; c < f->n; c++) {
        if (x && x[c]->op == TRA_C_COLUMN && to[x[c]->column] < 0) to[x[c]->column] = c;
        sharpen(&f->column[c], x ? known_of(in, x[c]) : in->column[c]);
    }
    for (int c = 0; c < f->n; c++) {
        int by = !x ? in->column[c].by : x[c]->op == TRA_C_COLUMN ? in->column[x[c]->column].by : -1;
        if (by >= 0 && to[by] >= 0) f->column[c].by = to[by];
    }
    take_keys(m->arena, f, in, to);
}

const tra_lookup *tra_join_of(const tra_memo *m, const tra_expr *x, const tra_node **right) {
    const tra_rows_kernel *k = x->node.op == TRA_OP_JOIN ? tra_kernel_rows(x->node.kernel) : NULL;
    const tra_lookup *l = tra_lookup_of_expr(x);
    *right = x->node.in[1];
    if (l || !k || k->ops != &tra_place_ops || !x->node.join.partners) return l;
    int i = m->of_node[x->node.join.partners->id];
    *right = i < 0 ? NULL : &m->v[i]->node;
    return i < 0 ? NULL : ((const tra_placing *)k->data)->join;
}

static void take_join(const tra_memo *m, const tra_expr *x, const tra_lookup *l, const tra_node *right_table,
                      tra_facts *f) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    int group = tra_memo_expr(right_table)->group;
    const tra_facts *in[2] = {tra_memo_facts(m, x->in[0]), tra_memo_facts(m, group)};
    bool once = tra_lookup_once(m, group, s);
    int *to[2] = {tra_news(m->arena, int, s->left->n + 1), tra_news(m->arena, int, s->right->n + 1)};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < in[d]->n; i++) to[d][i] = -1;
    for (int c = 0; c < f->n; c++) {
        int from = tra_lookup_from(l)[c], d = from >= s->left->n;
        if (from < 0) continue;
        from -= d ? s->left->n : 0;
        to[d][from] = c;
        sharpen(&f->column[c], in[d]->column[from]);
    }
    for (int c = 0; c < f->n; c++) { /* the key of a row with one partner determines that */
        int from = tra_lookup_from(l)[c], by = from >= 0 && from < s->left->n ? in[0]->column[from].by : -1;
        if (from >= s->left->n && once && s->nkeys == 1 && !s->asof) by = s->lkey[0];
        if (by >= 0) f->column[c].by = to[0][by];
    }
    if (once) take_keys(m->arena, f, in[0], to[0]);
    if (s->how == TRA_LOOKUP_INNER && differ(in[0], s->nkeys, s->lkey, s->nulls_match)) /* rows with one left row */
        take_keys(m->arena, f, in[1], to[1]);
}

/* The groups of all rows. */
static void take_groups(const tra_memo *m, const tra_group *g, const tra_facts *in, tra_facts *f) {
    int keys = tra_group_keys(g), *column = tra_news(m->arena, int, keys + 1);
    for (int k = 0; k < keys; k++) {
        column[k] = k;
        sharpen(&f->column[k], in->column[k]);
    }
    add_key(f, (tra_key_known){keys, column, true});
}

static void take_operator(const tra_memo *m, const tra_expr *x, tra_facts *f) {
    const tra_node *n = &x->node;
    const tra_rows_kernel *k = n->kernel ? tra_kernel_rows(n->kernel) : NULL;
    const tra_rowwise *r = tra_rowwise_of_expr(x);
    const tra_node *right;
    const tra_lookup *l = tra_join_of(m, x, &right);
    if (n->op == TRA_OP_INPUT && n->input.rel) read_file(m, n, f);
    if (x->in[0] < 0 || !n->in[0]->type.columns) return;
    const tra_facts *in = tra_memo_facts(m, x->in[0]);
    bool slices =
             k && n->op == TRA_OP_JOIN &&
             (k->ops == &tra_pairs_before_ops || k->ops == &tra_number_slice_ops || k->ops == &tra_row_numbers_ops),
         same = n->op == TRA_OP_REKEY || n->op == TRA_OP_CONCAT || n->op == TRA_OP_TILE || slices;
    if (same) {
        int *to = tra_news(m->arena, int, in->n + 1);
        for (int c = 0; c < in->n; c++) {
            sharpen(&f->column[to[c] = c], in->column[c]);
            f->column[c].by = in->column[c].by;
        }
        take_keys(m->arena, f, in, to);
    } else if (r && !tra_rowwise_is_matrix(r, NULL)) {
        take_pass(m, r, in, f);
    } else if (l) {
        take_join(m, x, l, right, f);
    } else if (k && k->ops == &tra_group_ops && n->op == TRA_OP_TRANSFORM && n->in[0]->type.cat->n == 1) {
        take_groups(m, k->data, in, f);
    }
}

const tra_facts *tra_memo_facts(const tra_memo *m, int group) {
    tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    if (!g->facts) g->facts = facts_of_columns(m, &m->v[g->expr[0]]->node), g->nfacts = 0;
    tra_facts *f = g->facts;
    int from = g->nfacts < g->n ? g->nfacts : g->n;
    g->nfacts = g->n; /* before its inputs are asked, which may be this group itself */
    for (int i = from; i < g->nfacts; i++) take_operator(m, m->v[g->expr[i]], f);
    return f;
}
