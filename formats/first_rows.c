/* first_rows.c - the rows of a table that come first, by heaps of keys: bytes that compare as values do. */
#include "first_rows.h"

#include "../lib/base/crew.h"
#include "../lib/tablefile/table_file.h"
#include "io.h"
#include "made_rows.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = TRA_MADE_ROWS, MOST_ROWS = 1 << 16 };

/* A row, and its keys: bytes of which none begins those of another row with other keys. */
typedef struct row {
    int64_t number;
    tra_str key;
} row;

typedef struct worker {
    tra_made *x;
    tra_batch in;
    tra_vector *strip;
    row *heap; /* the last one is first, once there are as many as are wanted */
    int64_t n, bytes;
    tra_str key; /* of the row at hand, as far as it was needed */
} worker;

typedef struct finding {
    const tra_first_rows *m;
    tra_arena *arena;
    int64_t batch, rows, bytes; /* rows at a time, of the table; bytes of keys that a worker may keep */
    int64_t texts;              /* bytes that strings of the rows may still take */
    int nworkers;
    worker *worker;
    bool *by_code; /* of each key: its codes are in the order of its strings; */
    bool *pieces;  /* it is put together of pieces, of which the first may tell enough */
} finding;

static const tra_schema *schema_of(const finding *g) { return tra_rel_type(g->m->from)->columns; }

/* ---- keys as bytes ---------------------------------------------------------------------------------------------- */

static uint64_t word_of(const tra_call_value *v) {
    uint64_t u;
    if (!tra_coltype_is_float(v->type)) return (uint64_t)v->i ^ UINT64_C(1) << 63;
    if (v->f != v->f) return UINT64_MAX;
    double x = v->f + 0.0; /* -0 is 0 */
    memcpy(&u, &x, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

/* The bytes of a string, of which 0 becomes 0 255; what ends one is 0 0. */
static void add_bytes(tra_str *s, const char *v, int64_t n) {
    for (const char *zero; n > 0 && (zero = memchr(v, 0, (size_t)n));) {
        int64_t before = zero - v;
        tra_str_addn(s, v, (size_t)before);
        tra_str_addn(s, "\0\377", 2);
        v += before + 1;
        n -= before + 1;
    }
    tra_str_addn(s, v, (size_t)n);
}

static void turn(tra_str *s, size_t from) {
    for (size_t i = from; i < s->n; i++) s->s[i] = (char)~s->s[i];
}

/* NULLs come last, whether the key descends or not. True: the value is one. */
static bool add_null(tra_str *s, int state) {
    bool null = state != TRA_STATE_VALUE;
    tra_str_addn(s, null ? "\1" : "\0", 1);
    return null;
}

static void add_key(tra_str *s, const tra_call_value *v, bool word, bool desc) {
    if (add_null(s, v->state)) return;
    size_t from = s->n;
    if (word) {
        uint64_t big = __builtin_bswap64(word_of(v));
        tra_str_addn(s, (const char *)&big, sizeof big);
    } else {
        add_bytes(s, v->s, v->n);
        tra_str_addn(s, "\0\0", 2);
    }
    if (desc) turn(s, from);
}

static int compare_bytes(const tra_str *x, const tra_str *y, size_t from) {
    size_t n = x->n < y->n ? x->n : y->n;
    return from < n ? memcmp(x->s + from, y->s + from, n - from) : 0;
}

static bool is_after(const row *x, const row *y) {
    int r = compare_bytes(&x->key, &y->key, 0);
    return r ? r > 0 : x->number > y->number;
}

/* ---- heaps ------------------------------------------------------------------------------------------------------ */

static void sink(worker *w, int64_t at) {
    row x = w->heap[at];
    for (int64_t to; (to = 2 * at + 1) < w->n; at = to) {
        if (to + 1 < w->n && is_after(&w->heap[to + 1], &w->heap[to])) to++;
        if (!is_after(&w->heap[to], &x)) break;
        w->heap[at] = w->heap[to];
    }
    w->heap[at] = x;
}

/* The row of w->key comes among the first ones so far. */
static void take(const finding *g, worker *w, int64_t number) {
    bool full = w->n == g->m->most;
    row *r = full ? w->heap : &w->heap[w->n];
    w->bytes += (int64_t)w->key.n - (int64_t)r->key.n;
    r->number = number;
    r->key.n = 0;
    tra_str_addn(&r->key, w->key.s, w->key.n);
    if (full) {
        sink(w, 0);
    } else if (++w->n == g->m->most) {
        for (int64_t i = w->n / 2; i-- > 0;) sink(w, i);
    }
}

/* Where the row at hand stands beside the last one that is wanted, as far as its key has been computed: before it,
 * after it, or nothing is known yet. */
typedef enum side { BEFORE, UNKNOWN, AFTER } side;

static side side_of(const worker *w, side so_far, size_t from) {
    if (so_far != UNKNOWN) return so_far;
    int r = compare_bytes(&w->key, &w->heap[0].key, from);
    return r > 0 ? AFTER : r < 0 ? BEFORE : UNKNOWN;
}

/* Adds key k, piece by piece, unless the first of these tell that the row comes after. */
static side add_pieces(const finding *g, worker *w, int k, int at, int state, side s) {
    int n = tra_made_pieces(w->x, k);
    size_t from = w->key.n;
    bool null = add_null(&w->key, state);
    for (int i = 0; i <= n && !null && s != AFTER; i++) {
        const char *text = "\0\0";
        int64_t len = 2;
        size_t begin = w->key.n;
        if (i < n) tra_made_piece(w->x, k, i, at, &text, &len);
        if (i < n)
            add_bytes(&w->key, text, len);
        else
            tra_str_addn(&w->key, text, (size_t)len);
        if (g->m->desc[k]) turn(&w->key, begin);
        s = side_of(w, s, from);
        from = w->key.n;
    }
    return null ? side_of(w, s, from) : s;
}

/* Adds key k. TRA_NO: it could not be computed. */
static tra_status add_next(const finding *g, worker *w, int k, int at, side *s) {
    size_t from = w->key.n;
    if (g->pieces[k]) {
        int state = tra_made_pieces_state(w->x, k, at);
        if (state == TRA_STATE_ERROR) return TRA_NO;
        *s = add_pieces(g, w, k, at, state, *s);
        return TRA_OK;
    }
    tra_call_value v = tra_made_value(w->x, k, at);
    if (v.state == TRA_STATE_ERROR) return TRA_NO;
    add_key(&w->key, &v, g->by_code[k] || !tra_coltype_is_coded(v.type), g->m->desc[k]);
    *s = side_of(w, *s, from);
    return TRA_OK;
}

/* TRA_NO: a key could not be computed, or there are too many bytes of them. A key that may fail is computed of each
 * row: what comes of a program must not depend on which rows the worker has met before. */
static tra_status look_at(const finding *g, worker *w, int64_t number, int at) {
    side s = w->n == g->m->most ? UNKNOWN : BEFORE;
    for (int k = 0; k < g->m->nconditions; k++) {
        tra_call_value v = tra_made_value(w->x, g->m->nkeys + k, at);
        if (v.state == TRA_STATE_ERROR) return TRA_NO;
        if (v.state != TRA_STATE_VALUE || !v.i) return TRA_OK;
    }
    w->key.n = 0;
    for (int k = 0; k < g->m->nkeys; k++)
        if (s != AFTER || g->m->x[k]->fails) TRA_TRY(add_next(g, w, k, at, &s));
    if (s == AFTER || (s == UNKNOWN && number > w->heap[0].number)) return TRA_OK;
    take(g, w, number);
    return w->bytes > g->bytes ? TRA_NO : TRA_OK;
}

static tra_status take_batch(void *ctx, int worker_number, int64_t item, tra_err *e) {
    const finding *g = ctx;
    worker *w = &g->worker[worker_number];
    int64_t first = item * g->batch;
    w->in.rows = tra_min64(g->batch, g->rows - first);
    TRA_TRY(tra_stop_check(e));
    TRA_TRY(tra_rel_read_rows(g->m->from, first, &w->in, e));
    for (int64_t from = 0, n; from < w->in.rows; from += n) {
        n = tra_min64(TRA_MADE_ROWS, w->in.rows - from);
        tra_made_batch(w->x, &w->in, first, from, (int)n, w->strip);
        for (int64_t i = 0; i < n; i++)
            if (look_at(g, w, first + from + i, (int)i) == TRA_NO)
                return tra_fail(e, TRA_NO, "the first rows are not found by their keys alone");
    }
    return TRA_OK;
}

static int compare_numbers(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* The rows of all workers, of which the first ones remain; their numbers, ascending. */
static int64_t *end_finding(finding *g) {
    worker *all = &g->worker[0];
    for (int i = 1; i < g->nworkers; i++)
        for (int64_t k = 0; k < g->worker[i].n; k++) {
            row *r = &g->worker[i].heap[k];
            tra_str key = all->key;
            all->key = r->key;
            if (all->n < g->m->most || is_after(&all->heap[0], r)) take(g, all, r->number);
            all->key = key;
        }
    int64_t *at = tra_news(g->arena, int64_t, all->n + 1);
    for (int64_t k = 0; k < all->n; k++) at[k] = all->heap[k].number;
    qsort(at, (size_t)all->n, sizeof *at, compare_numbers);
    return at;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* The strings of d that these codes are, which get new codes, in the same order. TRA_NO: they take too much memory,
 * here and once more where they are written. */
static tra_status few_strings(finding *g, const tra_dictionary *d, int64_t n, int32_t *code, const uint8_t *state,
                              const tra_dictionary **out, tra_err *e) {
    int64_t *of = tra_news(g->arena, int64_t, n + 1), *len = tra_news(g->arena, int64_t, n + 1), m = 0, k = 0;
    const char **s = tra_news(g->arena, const char *, n + 1);
    for (int64_t i = 0; i < n; i++)
        if (!state || state[i] == TRA_STATE_VALUE) of[m++] = code[i];
    qsort(of, (size_t)m, sizeof *of, compare_numbers);
    for (int64_t i = 0; i < m; i++)
        if (i == 0 || of[i] != of[i - 1]) of[k++] = of[i];
    tra_strings all;
    tra_strings_begin(&all, d);
    tra_status status = TRA_OK;
    for (int64_t i = 0; i < k && status == TRA_OK;) {
        status = tra_strings_more(&all, e);
        if (status == TRA_OK && all.n == 0) status = tra_fail(e, TRA_INTERNAL, "a string is missing");
        for (; status == TRA_OK && i < k && of[i] < all.from + all.n; i++) {
            const char *text = tra_strings_at(&all, of[i] - all.from, &len[i]);
            if ((g->texts -= len[i] + 1) < 0) status = TRA_NO;
            if (status != TRA_OK) break;
            s[i] = memcpy(tra_arena_alloc(g->arena, (size_t)len[i] + 1), text, (size_t)len[i]);
        }
    }
    tra_strings_end(&all);
    for (int64_t i = 0; i < n; i++) {
        int64_t low = 0, high = k;
        while (high - low > 1) *(of[(low + high) / 2] <= code[i] ? &low : &high) = (low + high) / 2;
        code[i] = state && state[i] != TRA_STATE_VALUE ? 0 : (int32_t)low;
    }
    if (status == TRA_OK) *out = tra_dictionary_new(g->arena, k, s, len);
    return status;
}

/* Reads rows at[0..n) of the columns that stay, which out gets. */
static tra_status read_rows(const finding *g, int64_t n, const int64_t *at, const tra_batch *out, tra_err *e) {
    const tra_schema *s = schema_of(g);
    tra_batch in = {.schema = s, .v = tra_news(g->arena, tra_vector, s->n + 1)};
    for (int64_t i = 0; i < n; i += in.rows) {
        in.rows = 1;
        while (i + in.rows < n && at[i + in.rows] == at[i] + in.rows) in.rows++;
        for (int k = 0; k < g->m->nkept; k++) {
            const tra_vector *v = &out->v[k];
            tra_vector *to = &in.v[g->m->kept[k]];
            to->values = (char *)v->values + (size_t)i * tra_coltype_size(out->schema->v[k].type);
            to->state = v->state ? v->state + i : NULL;
        }
        TRA_TRY(tra_rel_read_rows(g->m->from, at[i], &in, e));
    }
    return TRA_OK;
}

static tra_status put_rows(const tra_type *type, const tra_batch *out, const char *to, const char *history,
                           tra_err *e) {
    tra_writer *w;
    TRA_TRY(tra_writer_create(to, type, &(tra_write_options){.history = history, .alone = true}, &w, e));
    tra_status s = tra_writer_place_rows(w, NULL, e);
    if (s == TRA_OK && out->rows > 0) s = tra_writer_put_rows(w, 0, out, e);
    if (s == TRA_OK) return tra_writer_commit(w, NULL, e);
    tra_writer_abort(w);
    return s;
}

static tra_status write_rows(finding *g, int64_t n, const int64_t *at, const char *to, const char *history,
                             tra_err *e) {
    const tra_first_rows *m = g->m;
    tra_column *columns = tra_news(g->arena, tra_column, m->nkept + 1);
    const tra_schema schema = {m->nkept, columns};
    tra_batch out = {.schema = &schema, .rows = n, .v = tra_news(g->arena, tra_vector, m->nkept + 1)};
    for (int k = 0; k < m->nkept; k++) {
        columns[k] = schema_of(g)->v[m->kept[k]];
        columns[k].file = NULL;
        columns[k].name = m->name[k];
        out.v[k] = tra_vector_room(g->arena, &columns[k], n);
    }
    TRA_TRY(read_rows(g, n, at, &out, e));
    for (int k = 0; k < m->nkept; k++)
        if (tra_coltype_is_coded(columns[k].type))
            TRA_TRY(few_strings(g, columns[k].dict, n, out.v[k].values, out.v[k].state, &columns[k].dict, e));
    tra_dims shape = {.n = 1, .v = {n}}, block = {.n = 1, .v = {tra_max64(1, n)}};
    tra_catalog cat;
    TRA_TRY(tra_catalog_blocks(&shape, &block, &cat, e));
    const tra_type type = {.dtype = TRA_F64, .cat = &cat, .layout = &tra_columns, .columns = &schema, .cut = {1}};
    return put_rows(&type, &out, to, history, e);
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static void begin_worker(finding *g, worker *w, const bool *reads, int64_t most) {
    const tra_schema *s = schema_of(g);
    w->in = (tra_batch){.schema = s, .v = tra_news(g->arena, tra_vector, s->n + 1)};
    w->strip = tra_news(g->arena, tra_vector, s->n + 1);
    for (int c = 0; c < s->n; c++)
        if (reads[c]) w->in.v[c] = tra_vector_room(g->arena, &s->v[c], g->batch);
    const tra_first_rows *m = g->m;
    const tra_colexpr **x = tra_news(g->arena, const tra_colexpr *, m->nkeys + m->nconditions + 1);
    for (int k = 0; k < m->nkeys; k++) x[k] = m->x[k];
    for (int k = 0; k < m->nconditions; k++) x[m->nkeys + k] = m->condition[k];
    w->x = tra_made_new(g->arena, m->nkeys + m->nconditions, x, most);
    w->heap = tra_news(g->arena, row, g->m->most + 1);
}

static void end_worker(const finding *g, worker *w) {
    tra_made_free(w->x);
    for (int64_t i = 0; i < g->m->most; i++) tra_str_free(&w->heap[i].key);
    tra_str_free(&w->key);
}

/* The first rows, where there is no order and no condition. */
static int64_t *first_numbers(finding *g, int64_t *n) {
    *n = tra_min64(g->rows, g->m->most);
    int64_t *at = tra_news(g->arena, int64_t, *n + 1);
    for (int64_t i = 0; i < *n; i++) at[i] = i;
    return at;
}

static tra_status find(finding *g, int64_t *n, int64_t **at, tra_err *e) {
    if (g->m->nkeys + g->m->nconditions == 0) return *at = first_numbers(g, n), TRA_OK;
    tra_status s = tra_crew_run(g->nworkers, tra_ceil_div(g->rows, g->batch), take_batch, g, e);
    if (s != TRA_OK) return s;
    *at = end_finding(g);
    *n = g->worker[0].n;
    return TRA_OK;
}

tra_status tra_first_rows_write(const tra_first_rows *m, const char *to, int64_t memory, int threads,
                                const char *history, tra_err *e) {
    enum { SHARE = 8 };
    const tra_schema *s = tra_rel_type(m->from)->columns;
    finding g = {.m = m, .rows = tra_rel_rows(m->from)};
    for (int k = 0; k < m->nkeys; k++) TRA_TRY(tra_colexpr_read(m->x[k], e));
    for (int k = 0; k < m->nconditions; k++) TRA_TRY(tra_colexpr_read(m->condition[k], e));
    int64_t held = tra_buffer_held(), row_bytes = tra_schema_row_bytes(s) + 16, n = 0, *at = NULL;
    int64_t share = (tra_buffer_bytes(memory) - held) / SHARE;
    if (share < m->most * (row_bytes + 2 * (int64_t)sizeof(row)) || share < 2 * LEAST_ROWS * row_bytes) return TRA_NO;
    g.arena = tra_arena_new();
    g.nworkers = (int)tra_max64(1, tra_min64(threads, share / (LEAST_ROWS * row_bytes)));
    g.batch = tra_max64(LEAST_ROWS, tra_min64(MOST_ROWS, share / g.nworkers / row_bytes));
    g.bytes = share / g.nworkers;
    g.texts = share;
    g.by_code = tra_news(g.arena, bool, m->nkeys + 1), g.pieces = tra_news(g.arena, bool, m->nkeys + 1);
    bool *reads = tra_news(g.arena, bool, s->n + 1);
    for (int k = 0; k < m->nkeys; k++) {
        g.by_code[k] = m->x[k]->dict && m->x[k]->dict->sorted;
        tra_colexpr_columns(m->x[k], reads);
    }
    for (int k = 0; k < m->nconditions; k++) tra_colexpr_columns(m->condition[k], reads);
    g.worker = tra_news(g.arena, worker, g.nworkers);
    for (int i = 0; i < g.nworkers; i++) begin_worker(&g, &g.worker[i], reads, share / g.nworkers);
    for (int k = 0; k < m->nkeys; k++) g.pieces[k] = tra_made_pieces(g.worker[0].x, k) > 0;
    tra_status status = find(&g, &n, &at, e);
    if (status == TRA_OK) status = write_rows(&g, n, at, to, history, e);
    for (int i = 0; i < g.nworkers; i++) end_worker(&g, &g.worker[i]);
    tra_arena_free(g.arena);
    return status;
}
