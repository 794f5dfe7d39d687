/* wanted.c - which rows of a block that is read from a file are used: those that pass selections and have partners in
 * joins, or are the first of an order. */
#include "wanted.h"

#include "group.h"
#include "join_int.h"
#include "kernels.h"
#include "order.h"
#include "key_ranges.h"
#include "table_int.h"

#include <stdlib.h>

enum { FEW = 16 };

/* Left rows without a partner are not wanted. */
typedef struct partners {
    const tra_lookup *l; /* of the rows of the file, SEMI */
    double share;        /* of rows that are expected to have one */
    int op;
    tra_finder *right; /* NULL: it is not looked up */
} partners;

/* How rows are wanted: if all predicates are true of them, and they have partners; or by an order. */
struct tra_wanted {
    tra_row_filter base;
    tra_arena *arena;
    const tra_schema *in;
    bool *reads;
    int ncode, njoins;
    const tra_colexpr **predicate;
    const tra_colcode *code;
    partners join[TRA_WANTED_JOINS];
    int *column;              /* of each column of what reads the file so far its number in `in`; -1: it is computed */
    const tra_arrange *sort;  /* of what passes those that it keeps are wanted; its columns are those now */
    const tra_schema *sorted; /* with the dictionaries of `in` */
    bool joined;
    bool passes_more; /* a selection stands before what follows, and is not among the predicates */
};
typedef struct tra_wanted wanted;

/* Adds the numbers of rows of a strip that pass, counted from `from`; returns how many. */
static int add_rows(const uint8_t *pass, int64_t from, int n, int32_t *at) {
    int found = 0;
    for (int i = 0; i < n; i += 8) {
        uint64_t eight;
        memcpy(&eight, pass + i, sizeof eight);
        for (; eight; eight &= eight - 1) at[found++] = (int32_t)(from + i + __builtin_ctzll(eight) / 8);
    }
    return found;
}

/* Has a predicate a value of the strip that is an error, or NULL for a cause that is noted? */
static bool tells(const tra_colrun *run, int n) {
    bool any = run->divided;
    for (int k = 0; k < run->code->nroots; k++) {
        const uint8_t *state = tra_colrun_result(run, k).state;
        any |= state && memchr(state, TRA_STATE_ERROR, (size_t)n);
    }
    return any;
}

/* Of a strip of rows the predicates, and who has partners. False: all rows are read,
 * since a value could not be computed: its error is told when it is used. */
static bool pass_strip(const wanted *w, const tra_batch *b, tra_colrun *run, tra_vector *strip, int64_t from, int n,
                       int32_t *slot, void *scratch, uint8_t *pass) {
    tra_err e = {0};
    memset(pass, 1, (size_t)n);
    if (w->ncode > 0) {
        tra_strip_of(b, from, strip);
        tra_colrun_strip(run, strip, 0, n);
        if (tells(run, n)) return false;
    }
    for (int k = 0; k < w->ncode; k++) {
        const uint8_t *v = tra_colrun_result(run, k).values; /* a NULL is 0 */
        for (int i = 0; i < n; i++) pass[i] &= v[i];
    }
    for (int k = 0; k < w->njoins; k++) {
        const partners *p = &w->join[k];
        if (!p->right) continue;
        if (tra_finder_slots(p->l, p->right, b, from, n, 0, slot, scratch, &e) != TRA_OK) return false;
        for (int i = 0; i < n; i++) pass[i] &= slot[i] >= 0;
    }
    return true;
}

/* Who passes, up to so many; -1: they are more, or so many that they are not worth the look, or it cannot be told. */
static int64_t find_passing(const wanted *w, const tra_batch *b, int32_t *at, int64_t most) {
    const tra_batch own = {.schema = w->in, .rows = b->rows, .v = b->v}; /* its dictionaries have strings */
    int64_t code = w->code ? tra_colcode_scratch(w->code) : 0, key = 0;
    for (int k = 0; k < w->njoins; k++) key = tra_max64(key, tra_finder_scratch(w->join[k].l));
    char *room = tra_malloc((size_t)(code + key) + 128), *scratch = room + (64 - (uintptr_t)room % 64) % 64;
    tra_vector *strip = tra_malloc((size_t)(w->in->n + 1) * sizeof *strip);
    uint8_t pass[TRA_COLSTRIP] = {0};
    int32_t slot[TRA_COLSTRIP];
    tra_colrun run;
    int64_t found = 0;
    if (w->code) tra_colrun_begin(&run, w->code, scratch);
    for (int64_t from = 0; from < b->rows && found >= 0; from += TRA_COLSTRIP) {
        int n = (int)tra_min64(TRA_COLSTRIP, b->rows - from), more = 0;
        if (n < TRA_COLSTRIP) memset(pass, 0, sizeof pass);
        bool known = pass_strip(w, &own, &run, strip, from, n, slot, scratch + tra_round64(code), pass);
        for (int i = 0; i < n; i++) more += pass[i];
        bool many = !known || found + more > most || (!w->sort && found > TRA_COLSTRIP + from / FEW);
        found = many ? -1 : found + add_rows(pass, from, n, at + found);
    }
    free(strip);
    free(room);
    return found;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The rows that pass; of these those that the order keeps. */
static int64_t find_rows(const tra_row_filter *f, const tra_batch *b, int32_t *at, int64_t most) {
    const wanted *w = (const void *)f;
    if (!w->sort) return find_passing(w, b, at, most);
    tra_batch in = {.schema = w->sorted, .rows = b->rows, .v = tra_calloc((size_t)w->sorted->n + 1, sizeof *in.v)};
    int64_t *row = tra_malloc((3 * (size_t)b->rows + 1) * sizeof *row);
    int32_t *pass = (int32_t *)(row + b->rows);
    int64_t n = w->ncode > 0 ? find_passing(w, b, pass, b->rows) : b->rows;
    for (int c = 0; c < in.schema->n; c++)
        if (w->column[c] >= 0) in.v[c] = b->v[w->column[c]];
    for (int64_t i = 0; i < n; i++) row[i] = w->ncode > 0 ? pass[i] : i;
    if (n >= 0) n = tra_arrange_rows(w->sort, &in, row, n);
    if (n > most) n = -1;
    if (n > 0) qsort(row, (size_t)n, sizeof *row, by_number);
    for (int64_t i = 0; i < n; i++) at[i] = (int32_t)row[i];
    free(row);
    free(in.v);
    return n;
}

/* The filter, unless the columns that it does not read are too narrow to be worth it. */
static const tra_row_filter *filter_of(wanted *w) {
    enum { LEAST = 8 }; /* bytes of a row */
    int64_t others = 0;
    for (int i = 0; i < w->in->n; i++) others += w->reads[i] ? 0 : (int64_t)tra_coltype_size(w->in->v[i].type);
    w->base = (tra_row_filter){w->reads, find_rows};
    return others >= LEAST ? &w->base : NULL;
}

tra_wanted *tra_wanted_new(tra_arena *a, const tra_schema *in) {
    wanted *w = tra_new(a, wanted);
    *w = (wanted){.arena = a, .in = in, .reads = tra_news(a, bool, in->n + 1), .column = tra_news(a, int, in->n + 1)};
    for (int i = 0; i < in->n; i++) w->column[i] = i;
    return w;
}

/* Adds a predicate over the columns so far; false: some are computed. */
static bool add_predicate(wanted *w, const tra_colexpr *x, int ncolumns) {
    bool *reads = tra_news(w->arena, bool, ncolumns + 1);
    const tra_colexpr **by = tra_news(w->arena, const tra_colexpr *, ncolumns + 1),
                      **all = tra_news(w->arena, const tra_colexpr *, w->ncode + 1);
    tra_colexpr_columns(x, reads);
    for (int c = 0; c < ncolumns; c++) {
        if (reads[c] && w->column[c] < 0) return false;
        if (w->column[c] >= 0) by[c] = tra_colexpr_column(w->arena, w->in, w->column[c]);
    }
    for (int c = 0; c < ncolumns; c++)
        if (reads[c]) w->reads[w->column[c]] = true;
    for (int k = 0; k < w->ncode; k++) all[k] = w->predicate[k];
    all[w->ncode++] = tra_colexpr_substitute(w->arena, x, by);
    w->predicate = all;
    return true;
}

/* A pass, from its beginning; false: what follows it cannot be told of. */
static bool add_pass(wanted *w, const tra_rowwise *r) {
    const tra_rowwise_step *v;
    int n = tra_rowwise_steps(r, &v), ncolumns = tra_rowwise_in(r)->n;
    if (tra_rowwise_uses_row(r) || tra_rowwise_is_matrix(r, NULL)) return false;
    for (int i = 0; i < n; i++) {
        if (v[i].selects && !w->joined && add_predicate(w, v[i].x[0], ncolumns)) continue;
        if (v[i].selects && v[i].x[0]->fails) return w->ncode = 0, false; /* messages would name other rows */
        if (v[i].selects) {
            w->passes_more = true;
            continue;
        }
        int *column = tra_news(w->arena, int, v[i].n + 1);
        for (int c = 0; c < v[i].n; c++) column[c] = v[i].x[c]->op == TRA_C_COLUMN ? w->column[v[i].x[c]->column] : -1;
        w->column = column, ncolumns = v[i].n;
    }
    return true;
}

/* The same of a join. */
static bool add_join(wanted *w, const tra_lookup *l, double share, int op) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    const tra_schema *out = tra_lookup_out(l);
    const int *from = tra_lookup_from(l);
    bool meets = (s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_SEMI) && s->nkeys > 0, known = true;
    bool tells = s->matched || s->number || s->how == TRA_LOOKUP_KEEP ||
                 (tra_lookup_condition(l) && tra_lookup_condition(l)->fails);
    int *lkey = tra_news(w->arena, int, s->nkeys + 1), *column = tra_news(w->arena, int, out->n + 1);
    if (tells) return false;
    for (int k = 0; k < s->nkeys; k++) known = (lkey[k] = w->column[s->lkey[k]]) >= 0 && known;
    if (meets && known && w->njoins < TRA_WANTED_JOINS) {
        tra_lookup_spec semi = {.left = w->in, .right = s->right, .how = TRA_LOOKUP_SEMI, .nkeys = s->nkeys};
        tra_lookup *own;
        tra_err e = {0};
        semi.lkey = lkey, semi.rkey = s->rkey, semi.nulls_match = s->nulls_match;
        if (tra_lookup_new(w->arena, &semi, &own, &e) == TRA_OK)
            w->join[w->njoins++] = (partners){.l = own, .share = share, .op = op};
    }
    for (int c = 0; c < out->n; c++) column[c] = from[c] < s->left->n && from[c] >= 0 ? w->column[from[c]] : -1;
    w->column = column;
    w->joined = true;
    return true;
}

/* An order, which is the last: rows that are the same wherever others stand. */
static void add_order(wanted *w, const tra_arrange *s, double share) {
    bool keeps = s->cut || s->top > 0 || s->keep == TRA_ARRANGE_FIRST || s->keep == TRA_ARRANGE_DISTINCT;
    tra_schema *in = tra_new(w->arena, tra_schema);
    tra_arrange *first = tra_new(w->arena, tra_arrange);
    tra_column *v = tra_news(w->arena, tra_column, s->in->n + 1);
    if (!keeps || w->joined || w->passes_more || share * FEW > 1 || s->n == 0) return;
    for (int c = 0; c < s->out->n; c++)
        if (s->from[c] < 0) return;
    for (int k = 0; k < s->n; k++)
        if (w->column[s->column[k]] < 0) return;
    for (int k = 0; k < s->n; k++) w->reads[w->column[s->column[k]]] = true;
    for (int c = 0; c < s->in->n; c++) {
        v[c] = s->in->v[c];
        if (w->column[c] >= 0) v[c].dict = w->in->v[w->column[c]].dict;
    }
    *in = *s->in;
    in->v = v;
    *first = *s;
    first->skip = 0, first->most = tra_add_most(s->skip, s->most); /* the order itself skips the others */
    w->sort = first;
    w->sorted = in;
}

bool tra_wanted_then(tra_wanted *w, const tra_rows_kernel *k, double share, int op) {
    if (k && k->ops == &tra_rowwise_ops) return add_pass(w, k->data);
    if (k && k->ops == &tra_group_of_pass_ops) return (void)add_pass(w, ((const tra_group_of_pass *)k->data)->r), false;
    if (k && k->ops == &tra_arrange_ops) return add_order(w, k->data, share), false;
    return k && k->ops == &tra_lookup_ops && add_join(w, k->data, share, op);
}

int tra_wanted_join(tra_wanted *w, double least) {
    double left = 1;
    int best = -1;
    for (int k = 0; k < w->njoins; k++) {
        if (w->join[k].right)
            left *= w->join[k].share;
        else if (best < 0 || w->join[k].share < w->join[best].share)
            best = k;
    }
    return best >= 0 && left > least && w->join[best].share < 0.5 ? best : -1;
}

int tra_wanted_join_op(const tra_wanted *w, int join) { return w->join[join].op; }

int64_t tra_wanted_room(const tra_wanted *w, int join, const tra_cell *right) {
    const tra_lookup *l = w->join[join].l;
    return tra_finder_bytes(l, right->array.ext.v[0]) + tra_finder_scratch(l);
}

void tra_wanted_meet(tra_wanted *w, int join, const tra_cell *right, void *room) {
    partners *p = &w->join[join];
    const tra_lookup_spec *s = tra_lookup_spec_of(p->l);
    tra_batch b = {.schema = s->right, .v = tra_calloc((size_t)s->right->n + 1, sizeof *b.v)};
    tra_finder *x = tra_new(w->arena, tra_finder);
    tra_err e = {0};
    char *scratch = room ? (char *)room + tra_finder_bytes(p->l, right->array.ext.v[0]) : NULL;
    bool ok = room && tra_columns_of(right, s->right, &b, &e) == TRA_OK &&
              tra_finder_make(p->l, &b, false, x, &room, scratch, &e) == TRA_OK;
    free(b.v);
    for (int k = 0; ok && k < s->nkeys; k++) w->reads[s->lkey[k]] = true;
    p->share = ok ? p->share : 1;
    p->right = ok ? x : NULL;
}

const tra_row_filter *tra_wanted_filter(tra_wanted *w) {
    bool any = w->ncode > 0 || w->sort;
    for (int k = 0; k < w->njoins; k++) any |= w->join[k].right != NULL;
    w->code = w->ncode > 0 ? tra_colcode_new(w->arena, w->ncode, w->predicate) : NULL;
    return any ? filter_of(w) : NULL;
}
