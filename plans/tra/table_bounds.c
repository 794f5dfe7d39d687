/* table_bounds.c - bounds by the statistics of files: how many rows have one value, how many groups there are. */
#include "cardinality.h"

#include <stdlib.h>
#include <string.h>

/* The statistics of a column; false if there are none. */
static bool facts_of(const tra_column *c, tra_column_facts *f) { return tra_table_facts(c->file, c->number, f); }

/* ---- rows with one value ------------------------------------------------------------------------------------ */

/* How often a value that is not listed occurs, at most: no more often than the last listed one, or, as it may not have
 * been a candidate for the list, than by how much the count that finds candidates is too low, which is a 2^15th of the
 * rows at most (lib/tablefile/table_facts.c). */
static int64_t most_unlisted(const tra_column_facts *f) {
    int64_t last = f->n == TRA_TOP_FREQUENCIES ? f->frequency[f->n - 1][1] : 0;
    return tra_add_most(last, f->rows / (1 << 15) + 1);
}

/* How often any value occurs, at most. */
static int64_t most_frequent(const tra_column_facts *f) {
    int64_t most = 1;
    if (f->exact && f->distinct == f->rows - f->nulls) return 1;
    if (!f->whole) { /* the most frequent values are listed, the most frequent first */
        return tra_max64(f->n > 0 ? f->frequency[0][1] : 1, most_unlisted(f));
    }
    for (int64_t i = 0; i < f->n; i++) most = tra_max64(most, f->frequency[i][1]);
    return most;
}

const tra_table_op *tra_table_op_below_passes(const tra_node *n) {
    const tra_table_op *op = n->table;
    while (op && (op->op == TRA_TABLE_SELECT || op->op == TRA_TABLE_PROJECT)) op = op->in[0]->table;
    return op;
}

int tra_join_operand_column(const tra_table_op *op, int c, int *side) {
    tra_lookup_how how = op->lookup.how;
    int left = op->in[0]->type.columns->n, at = left, shared;
    bool pairs = how != TRA_LOOKUP_SEMI && how != TRA_LOOKUP_ANTI && how != TRA_LOOKUP_KEEP,
         mixed = how == TRA_LOOKUP_RIGHT || how == TRA_LOOKUP_OUTER; /* a key of both has the values of either */
    *side = c >= left;
    for (int r = 0; pairs && r < op->in[1]->type.columns->n; r++)
        if (!tra_lookup_shares_key(&op->lookup, r, &shared)) {
            if (at++ == c) return r;
        } else if (mixed && shared == c) {
            return -1;
        }
    return *side ? -1 : c;
}

bool tra_table_passed(const tra_table_op *op, int *column, int *side) {
    const tra_colexpr *x;
    *side = 0;
    switch (op->op) {
    case TRA_TABLE_SELECT:
    case TRA_TABLE_ORDER:
    case TRA_TABLE_DISTINCT:
    case TRA_TABLE_LIMIT: return true;
    case TRA_TABLE_WINDOW: return *column < op->in[0]->type.columns->n;
    case TRA_TABLE_PROJECT:
    case TRA_TABLE_GROUP:
        x = *column < op->nterms ? op->term[*column].x : NULL;
        *column = x && x->op == TRA_C_COLUMN ? x->column : -1;
        return *column >= 0;
    case TRA_TABLE_CROSS:
    case TRA_TABLE_JOIN: return (*column = tra_join_operand_column(op, *column, side)) >= 0;
    case TRA_TABLE_UNION:
    case TRA_TABLE_MATRIX:
    case TRA_TABLE_ROWS:
    case TRA_TABLE_PIVOT:
    case TRA_TABLE_ENTRIES:
    case TRA_TABLE_TABLE:
    case TRA_TABLE_LABEL:
    case TRA_TABLE_UNLABEL:
    case TRA_TABLE_ALIGN: break;
    }
    return false;
}

/* A column of an input whose values a column of a computed table has. NULL: there is none. times: a bound of how many
 * rows of the table are made of a row of the input. */
typedef struct origin {
    const tra_column *column;
    int64_t times;
} origin;

/* How far operators are looked into, which is a graph whose paths can be many more than its nodes. */
enum { MOST_STEPS = 256 };
typedef struct search {
    int steps;
    bool nulls; /* of values NULL is one, too */
} search;

static int64_t rows_per_value(search *s, const tra_node *n, int column);

/* Do equal keys mean that columns of these types have equal values? */
static bool keeps_values(tra_coltype x, tra_coltype y) {
    return x == y || !(tra_coltype_is_float(x) || tra_coltype_is_float(y));
}

/* A bound of the rows of operand `side` that one row of the other one meets. */
static int64_t partners_most(search *s, const tra_table_op *op, int side) {
    const tra_lookup_spec *l = &op->lookup;
    int64_t most = tra_type_entries(&op->in[side]->type).bound;
    search keys = {s->steps, l->nulls_match};
    if (side ? l->unique : l->unique_left) return 1;
    for (int k = 0; k < l->nkeys; k++)
        if (keeps_values(l->left->v[l->lkey[k]].type, l->right->v[l->rkey[k]].type))
            most = tra_min64(most, rows_per_value(&keys, op->in[side], (side ? l->rkey : l->lkey)[k]));
    s->steps = keys.steps;
    return most;
}

/* The operand, and in *column its column, that a column of the result has the values of; in *times how many rows one
 * row of it makes. NULL: it is computed otherwise. */
static const tra_node *operand_of(search *s, const tra_table_op *op, int *column, int64_t *times) {
    tra_lookup_how how = op->lookup.how;
    bool once = how == TRA_LOOKUP_SEMI || how == TRA_LOOKUP_ANTI || how == TRA_LOOKUP_KEEP;
    int side;
    *times = 1;
    if (op->op == TRA_TABLE_GROUP || !tra_table_passed(op, column, &side)) return NULL;
    if (op->op != TRA_TABLE_JOIN && op->op != TRA_TABLE_CROSS) return op->in[0];
    if (!once && how != TRA_LOOKUP_INNER && (how != TRA_LOOKUP_LEFT || (side && s->nulls))) return NULL;
    if (!once && (side || !op->lookup.asof)) *times = tra_max64(1, partners_most(s, op, !side));
    return op->in[side];
}

/* Goes from a column of a table to where its values come from: to the first operator that is no more told of, which is
 * *at, or to the input that the result names. */
static origin origin_of(search *s, const tra_node *n, int *column, const tra_table_op **at) {
    origin o = {.times = 1};
    int64_t times;
    for (*at = n->table; *at; *at = n->table) {
        int c = *column;
        const tra_node *of = --s->steps > 0 ? operand_of(s, *at, &c, &times) : NULL;
        if (!of) return o;
        o.times = tra_mul_most(o.times, times);
        *column = c;
        n = of;
    }
    if (n->op == TRA_OP_INPUT) o.column = &n->type.columns->v[*column];
    return o;
}

/* Rows of a group, or of tables that are put together, which have one value in a column, at most. */
static int64_t rows_made(search *s, const tra_table_op *op, int column) {
    int64_t most = 1;
    if (op && op->op == TRA_TABLE_GROUP && column < op->nterms) {
        for (int k = 0; k < op->nterms; k++)
            if (k != column) most = tra_mul_most(most, tra_table_values_most(&op->columns->v[k], op->term[k].x));
        return most;
    }
    if (!op || op->op != TRA_TABLE_UNION || s->steps <= 0) return INT64_MAX;
    most = 0;
    for (int i = 0; i < 2 && op->in[i]; i++) {
        int c = tra_schema_find(op->in[i]->type.columns, op->columns->v[column].name);
        most = c < 0 ? INT64_MAX : tra_add_most(most, rows_per_value(s, op->in[i], c));
    }
    return most;
}

static int64_t rows_per_value(search *s, const tra_node *n, int column) {
    tra_column_facts f;
    const tra_table_op *at;
    origin o = origin_of(s, n, &column, &at);
    if (!o.column) return tra_mul_most(o.times, rows_made(s, at, column));
    int64_t most = INT64_MAX;
    if (facts_of(o.column, &f)) most = tra_max64(most_frequent(&f), s->nulls ? f.nulls : 1);
    return tra_mul_most(o.times, most);
}

int64_t tra_table_rows_per_value(const tra_node *n, int column, bool nulls) {
    search s = {MOST_STEPS, nulls};
    return rows_per_value(&s, n, column);
}

/* Are the columns that make the rows of a group, or of distinct rows, different all among these? */
static bool covers(const tra_table_op *op, int n, const int *column) {
    for (int k = 0; k < op->nterms; k++) {
        const tra_colexpr *x = op->term[k].x;
        int key = op->op == TRA_TABLE_GROUP ? k : x && x->op == TRA_C_COLUMN ? x->column : -1;
        bool there = false;
        for (int i = 0; i < n; i++) there = there || column[i] == key;
        if (!there) return false;
    }
    return op->nterms > 0;
}

bool tra_table_keys_differ(const tra_node *t, int n, const int *column) {
    search s = {MOST_STEPS, true};
    tra_arena *a = tra_arena_new();
    int *c = tra_news(a, int, n + 1);
    const tra_table_op *op;
    bool differ = false;
    memcpy(c, column, (size_t)n * sizeof *c);
    while (t && !differ && (op = t->table) && --s.steps > 0) {
        const tra_node *next = NULL;
        int64_t times = 1;
        differ = (op->op == TRA_TABLE_GROUP || op->op == TRA_TABLE_DISTINCT) && covers(op, n, c);
        int kept = 0;
        if (op->in[0] == op->in[1]) break; /* columns of one row, or of two */
        for (int i = 0; i < n && !differ; i++) {
            int at = c[i]; /* of the first operand, each row of which is there once at most */
            const tra_node *of = operand_of(&s, op, &at, &times);
            if (of != op->in[0] || times != 1) continue;
            next = of;
            c[kept++] = at;
        }
        n = kept;
        t = next;
    }
    tra_arena_free(a);
    return differ;
}

static bool is_whole(const tra_column *c) {
    return c->type == TRA_COL_BOOL || c->type == TRA_COL_I32 || c->type == TRA_COL_I64;
}

/* How often the most frequent values of a column occur, at most, each other one, and the others together. */
typedef struct often {
    int64_t v[TRA_TOP_FREQUENCIES], other, rest;
} often;

/* The largest of a column's frequencies, falling: a further one takes the place of the least of them. */
static int largest_frequencies(const tra_column_facts *f, int64_t v[TRA_TOP_FREQUENCIES + 1]) {
    int n = 0;
    for (int64_t i = 0; i < f->n; i++) {
        int64_t x = f->frequency[i][1];
        if (n > TRA_TOP_FREQUENCIES && x <= v[n - 1]) continue;
        int at = n > TRA_TOP_FREQUENCIES ? n - 1 : n++;
        for (; at > 0 && v[at - 1] < x; at--) v[at] = v[at - 1];
        v[at] = x;
    }
    return n;
}

static often often_of(const tra_column_facts *f) {
    often o = {.rest = f->rows - f->nulls};
    int64_t v[TRA_TOP_FREQUENCIES + 1];
    int n = largest_frequencies(f, v), top = n < TRA_TOP_FREQUENCIES ? n : TRA_TOP_FREQUENCIES;
    o.other = f->whole ? (n > top ? v[top] : 0) : tra_min64(most_unlisted(f), most_frequent(f));
    for (int i = 0; i < TRA_TOP_FREQUENCIES; i++) o.v[i] = tra_max64(i < top ? v[i] : 0, o.other);
    for (int i = 0; i < top; i++) o.rest -= v[i];
    return o;
}

/* How many pairs of rows have equal values, whichever values occur how often: most where the most frequent ones of both
 * columns are the same (the rearrangement inequality). */
static int64_t pairs_by_frequency(const tra_column_facts *x, const tra_column_facts *y) {
    often l = often_of(x), r = often_of(y);
    int64_t most = tra_min64(tra_mul_most(l.other, r.rest), tra_mul_most(r.other, l.rest));
    for (int i = 0; i < TRA_TOP_FREQUENCIES; i++) most = tra_add_most(most, tra_mul_most(l.v[i], r.v[i]));
    return most;
}

int64_t tra_table_pairs_most(const tra_node *left, int lcolumn, const tra_node *right, int rcolumn, bool nulls) {
    search s = {MOST_STEPS, nulls};
    const tra_table_op *at;
    origin lo = origin_of(&s, left, &lcolumn, &at), ro = origin_of(&s, right, &rcolumn, &at);
    const tra_column *l = lo.column, *r = ro.column;
    tra_column_facts x, y;
    int64_t most = INT64_MAX;
    if (!l || !r || tra_coltype_is_float(l->type) || !(l->type == r->type || (is_whole(l) && is_whole(r))))
        return INT64_MAX;
    if (tra_coltype_is_coded(l->type) && (!l->dict || !r->dict)) return INT64_MAX;
    tra_arena *a = tra_arena_new();
    if (facts_of(l, &x) && facts_of(r, &y)) {
        most = x.whole && y.whole ? tra_table_count_pairs(l, r, &x, &y, a) : pairs_by_frequency(&x, &y);
        if (nulls) most = tra_add_most(most, tra_mul_most(x.nulls, y.nulls));
        most = tra_mul_most(most, tra_mul_most(lo.times, ro.times));
    }
    tra_arena_free(a);
    return most;
}

/* ---- columns of one table ------------------------------------------------------------------------------------ */

/* The operand that all of these columns come from, whose numbers become those in it; NULL: there is none. Columns of
 * both sides of a join of a table with itself are not of one row of it. */
static const tra_node *operand_of_all(search *s, const tra_table_op *op, int n, int *column) {
    const tra_node *of = NULL;
    if (op->in[0] == op->in[1]) return NULL;
    for (int i = 0; i < n; i++) {
        int64_t times;
        const tra_node *own = --s->steps > 0 ? operand_of(s, op, &column[i], &times) : NULL;
        if (!own || (of && own != of)) return NULL;
        of = own;
    }
    return of;
}

int64_t tra_table_combinations_most(const tra_node *n, int nx, const tra_colexpr *const *x) {
    search s = {MOST_STEPS, true};
    const tra_schema *all = n->type.columns;
    tra_arena *a = tra_arena_new();
    bool *used = tra_news(a, bool, all->n + 1);
    int *column = tra_news(a, int, all->n + 1), ncolumns = 0;
    for (int i = 0; i < nx; i++)
        if (x[i]) tra_colexpr_columns(x[i], used);
    for (int c = 0; c < all->n; c++)
        if (used[c]) column[ncolumns++] = c;
    int64_t most = tra_type_entries(&n->type).bound;
    for (const tra_table_op *op; ncolumns > 0 && (op = n->table);) {
        if (!(n = operand_of_all(&s, op, ncolumns, column))) break;
        most = tra_min64(most, tra_type_entries(&n->type).bound);
    }
    tra_arena_free(a);
    return most;
}

/* ---- groups ------------------------------------------------------------------------------------------------- */

#define MICROS_OF_DAY INT64_C(86400000000)

static int64_t year_of(tra_coltype t, int64_t v) {
    int64_t year, day = t == TRA_COL_TIMESTAMP ? v / MICROS_OF_DAY - (v % MICROS_OF_DAY < 0) : v;
    int month, of_month;
    tra_civil_of(day, &year, &month, &of_month);
    return year;
}

/* The range that an expression has by its operators, and by the least and greatest values of columns of files. */
static void range_of(const tra_colexpr *x, int64_t *least, int64_t *most) {
    const tra_colexpr *k = x->nkids ? x->kids[0] : NULL;
    tra_column_facts f;
    *least = x->least, *most = x->most;
    if (x->op == TRA_C_COLUMN && x->file && tra_table_facts(x->file, x->number, &f) && f.rows > f.nulls) {
        *least = tra_max64(*least, f.min), *most = tra_min64(*most, f.max);
    } else if ((x->op == TRA_C_CONVERT || x->op == TRA_C_YEAR) && !tra_coltype_is_float(k->type) &&
               !tra_coltype_is_coded(k->type)) {
        range_of(k, least, most);
        if (x->op == TRA_C_YEAR) *least = year_of(k->type, *least), *most = year_of(k->type, *most);
        *least = tra_max64(x->least, *least), *most = tra_min64(x->most, *most);
    } else if ((x->op == TRA_C_ADD || x->op == TRA_C_SUB) && x->kids[1]->op == TRA_C_CONST &&
               !tra_coltype_is_float(x->type)) {
        int64_t by = x->kids[1]->least, low, high;
        range_of(k, &low, &high);
        bool adds = x->op == TRA_C_ADD,
             over = adds ? __builtin_add_overflow(low, by, &low) | __builtin_add_overflow(high, by, &high)
                         : __builtin_sub_overflow(low, by, &low) | __builtin_sub_overflow(high, by, &high);
        if (!over) *least = tra_max64(x->least, low), *most = tra_min64(x->most, high);
    }
}

/* The least distance of two different results of a function of a moment or number, in units of its operand *of; 0: it
 * is no such function. */
static int64_t step_of(const tra_colexpr *x, const tra_colexpr **of) {
    static const struct {
        const char *name;
        int64_t micros;
    } unit[] = {{"second", 1000000},
                {"minute", 60 * INT64_C(1000000)},
                {"hour", 3600 * INT64_C(1000000)},
                {"day", MICROS_OF_DAY},
                {"week", 7 * MICROS_OF_DAY},
                {"month", 28 * MICROS_OF_DAY},
                {"quarter", 90 * MICROS_OF_DAY},
                {"year", 365 * MICROS_OF_DAY}};
    const tra_colexpr *first = x->nkids ? x->kids[0] : NULL, *second = x->nkids == 2 ? x->kids[1] : NULL;
    *of = first;
    if (x->op == TRA_C_DATE && x->nkids == 1) return first->type == TRA_COL_TIMESTAMP ? MICROS_OF_DAY : 0;
    if (x->op == TRA_C_IDIV && !tra_coltype_is_float(x->type)) return second->op == TRA_C_CONST ? second->least : 0;
    if (x->op != (tra_colop)TRA_C_DATE_TRUNC || first->op != TRA_C_CONST || !first->dict) return 0;
    int64_t n, micros = 0;
    const char *text = tra_dictionary_at(first->dict, 0, &n);
    for (int k = 0; k < (int)(sizeof unit / sizeof *unit); k++)
        if (n == (int64_t)strlen(unit[k].name) && !memcmp(text, unit[k].name, (size_t)n)) micros = unit[k].micros;
    *of = second;
    return second->type == TRA_COL_DATE ? micros / MICROS_OF_DAY : micros;
}

/* How many different whole numbers lie in that range. */
static int64_t values_in_range(const tra_colexpr *x) {
    int64_t least, most, step;
    if (!x || tra_coltype_is_float(x->type) || tra_coltype_is_coded(x->type)) return INT64_MAX;
    range_of(x, &least, &most);
    __int128 n = (__int128)most - least + 1;
    const tra_colexpr *of;
    if ((step = step_of(x, &of)) > 0) {
        range_of(of, &least, &most);
        __int128 steps = ((__int128)most - least) / step + 2;
        n = steps < n ? steps : n;
    }
    return n < 0 ? 0 : n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* How many results an expression has at most, NULL included, since it has how many combinations of values of the
 * columns that it reads. */
static int64_t combinations(const tra_colexpr *x) {
    tra_column_facts f;
    int64_t n = 1, own = values_in_range(x);
    if (x->op == TRA_C_CONST) return 1;
    own = x->nullable ? tra_add_most(own, 1) : own;
    if (x->op == TRA_C_COLUMN) {
        bool exact = x->file && tra_table_facts(x->file, x->number, &f) && f.exact;
        return exact ? tra_min64(own, tra_add_most(f.distinct, 1)) : own;
    }
    if (x->nkids == 0) return INT64_MAX; /* the number of the row */
    for (int i = 0; i < x->nkids; i++) n = tra_mul_most(n, combinations(x->kids[i]));
    return tra_min64(n, own);
}

int64_t tra_table_values_most(const tra_column *c, const tra_colexpr *x) {
    tra_column_facts f;
    int64_t most = c->type == TRA_COL_BOOL                    ? 2
                   : tra_coltype_is_coded(c->type) && c->dict ? c->dict->n
                                                              : values_in_range(x);
    if (facts_of(c, &f) && f.exact) most = tra_min64(most, f.distinct);
    most = c->nullable ? tra_add_most(most, 1) : most;
    if (x) most = tra_min64(most, combinations(x));
    return most;
}

/* The same of a column that an operator before has computed. */
static int64_t values_made(const tra_node *n, int column) {
    search s = {MOST_STEPS, true};
    const tra_table_op *at;
    bool null = n->type.columns->v[column].nullable;
    if (origin_of(&s, n, &column, &at).column || !at || column >= at->nterms) return INT64_MAX;
    if (at->op != TRA_TABLE_PROJECT && at->op != TRA_TABLE_GROUP) return INT64_MAX;
    return tra_add_most(tra_table_values_most(&at->columns->v[column], at->term[column].x), null);
}

int64_t tra_table_groups_most(const tra_node *n, const tra_schema *s, int nkeys, const tra_colexpr *const *x) {
    int64_t most = 1;
    for (int k = 0; k < nkeys; k++) {
        int64_t own = tra_table_values_most(&s->v[k], x[k]);
        if (x[k] && x[k]->op == TRA_C_COLUMN) own = tra_min64(own, values_made(n, x[k]->column));
        most = tra_mul_most(most, own);
    }
    return most;
}
