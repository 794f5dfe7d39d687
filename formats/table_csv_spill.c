/* table_csv_spill.c - an import's columns of texts whose dictionaries do not fit in memory: sorted in runs on disk,
 * then merged, and each row's number in its run translated to its code. */
#include "table_csv_spill.h"

#include "../lib/base/meter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct collector {
    int32_t run; /* the number of the one that is collected */
    int64_t first, last;
    int64_t held;
    int32_t *codes; /* of the rows of a piece */
    uint64_t *hashes;
    uint8_t *state;
    int64_t cap;
} collector;

struct tra_csv_spill {
    tra_csv_import *m;
    int fd;
    char *where;
    _Atomic int64_t end;
    pthread_mutex_t lock;
    int n;       /* columns */
    int *column; /* of each: its number, */
    int *slot;   /* and the other way round; -1: it is not spilled */
    tra_csv_text_runs *runs;
    int64_t rows;
    int32_t *run_of; /* of each piece */
    int32_t nruns;
    collector *worker;
    tra_spooled *spooled; /* of each column of the table */
};

/* ---- which ------------------------------------------------------------------------------------------------------ */

static int64_t held_by(const tra_csv_worker *w, int c) {
    return tra_string_set_bytes(&w->words[c]) + 8 * w->seen_cap[c];
}

void tra_csv_drop_texts(tra_csv_worker *w, int c) {
    w->held -= held_by(w, c);
    tra_string_set_free(&w->words[c]);
    free(w->seen[c]);
    w->seen[c] = NULL;
    w->seen_cap[c] = 0;
}

void tra_csv_spill_largest(tra_csv_import *m, tra_csv_worker *w) {
    int64_t limit = w->held / 2;
    while (w->held > limit) {
        int64_t most = 0;
        for (int c = 0; c < m->ncolumns; c++) most = tra_max64(most, held_by(w, c));
        for (int c = 0; c < m->ncolumns; c++) {
            if (held_by(w, c) == 0 || 2 * held_by(w, c) < most) continue;
            m->spilled[c] = true;
            tra_csv_drop_texts(w, c);
        }
    }
}

/* ---- collecting ------------------------------------------------------------------------------------------------- */

/* What a worker has becomes a run of each column. */
static tra_status put_runs(struct tra_csv_spill *x, int worker, tra_err *e) {
    tra_csv_worker *w = &x->m->worker[worker];
    collector *k = &x->worker[worker];
    for (int i = 0; i < x->n; i++) {
        int c = x->column[i];
        tra_csv_text_runs *r = &x->runs[i];
        tra_csv_text_run run;
        if (w->words[c].n == 0) continue;
        TRA_TRY(tra_csv_write_text_run(r, &w->words[c], w->seen[c], &run, e));
        run.number = k->run;
        run.first = k->first;
        run.last = k->last;
        pthread_mutex_lock(&x->lock);
        TRA_ROOM(r->v, r->n, r->cap);
        r->v[r->n++] = run;
        pthread_mutex_unlock(&x->lock);
        tra_csv_drop_texts(w, c);
    }
    k->run = -1;
    return TRA_OK;
}

static void begin_piece(struct tra_csv_spill *x, collector *k, int64_t number, int64_t rows) {
    if (k->run < 0) {
        pthread_mutex_lock(&x->lock);
        k->run = x->nruns++;
        pthread_mutex_unlock(&x->lock);
        k->first = number;
    }
    k->last = number;
    x->run_of[number] = k->run;
    if (rows <= k->cap) return;
    k->cap = 2 * rows;
    k->codes = tra_realloc(k->codes, (size_t)k->cap, sizeof *k->codes);
    k->hashes = tra_realloc(k->hashes, (size_t)k->cap, sizeof *k->hashes);
    k->state = tra_realloc(k->state, (size_t)k->cap, 1);
}

static tra_status changed(const tra_csv_import *m, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s was changed while it was read", m->spec);
}

static tra_status collect(struct tra_csv_spill *x, int worker, const tra_csv_piece *p, int slot, int64_t first,
                          int64_t rows, tra_err *e) {
    tra_csv_import *m = x->m;
    tra_csv_worker *w = &m->worker[worker];
    collector *k = &x->worker[worker];
    int c = x->column[slot];
    tra_string_set *words = &w->words[c];
    int64_t i = 0, before = held_by(w, c), longest = 0;
    bool nulls = false;
    for (int64_t r = 0; r < w->rows.n; r++) {
        size_t n;
        bool null, fresh = false;
        if (w->bad[r]) continue;
        tra_csv_expect(m, w, p, r + TRA_STRINGS_AHEAD, c, words);
        const char *s = tra_csv_string(m, w, p, r, c, &n, &null);
        nulls |= null;
        k->state[i] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
        k->codes[i] = null ? -1 : (int32_t)tra_string_set_add(words, s, n, tra_string_set_hash(s, n), &fresh);
        k->hashes[i] = null ? 0 : tra_digest_string(s, n);
        longest = tra_max64(longest, (int64_t)n);
        if (fresh) {
            TRA_ROOM(w->seen[c], words->n, w->seen_cap[c]);
            w->seen[c][words->n - 1] = first + i;
        }
        i++;
    }
    w->held += held_by(w, c) - before;
    if (nulls && !m->column[c].nullable) return changed(m, e);
    pthread_mutex_lock(&x->lock);
    x->runs[slot].longest = tra_max64(x->runs[slot].longest, longest);
    pthread_mutex_unlock(&x->lock);
    tra_digest_strings(&w->digest, c, first, rows, k->hashes, m->column[c].nullable ? k->state : NULL);
    return tra_pwrite(x->fd, k->codes, (size_t)rows * 4, 4 * (slot * x->rows + first), x->where, e);
}

static tra_status collect_piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    struct tra_csv_spill *x = ctx;
    tra_csv_import *m = x->m;
    tra_csv_worker *w = &m->worker[worker];
    int64_t number = m->base + item, n = 0;
    TRA_TRY(tra_csv_read_piece(m, w, p, item, false, e));
    for (int64_t r = 0; r < w->rows.n; r++) n += !w->bad[r];
    if (number >= m->npieces || n != m->rows[number + 1] - m->rows[number]) return changed(m, e);
    begin_piece(x, &x->worker[worker], number, n);
    for (int i = 0; i < x->n; i++) TRA_TRY(collect(x, worker, p, i, m->rows[number], n, e));
    tra_meter_add(p->bytes);
    return w->held > m->memory / 8 / m->nworkers ? put_runs(x, worker, e) : TRA_OK;
}

static tra_status after_stretch(void *ctx, int64_t pieces, tra_err *e) {
    struct tra_csv_spill *x = ctx;
    (void)e;
    x->m->base += pieces;
    return TRA_OK;
}

static tra_status collect_all(struct tra_csv_spill *x, tra_err *e) {
    tra_csv_import *m = x->m;
    m->base = 0;
    tra_meter_begin(m->progress, "sorting its texts", tra_csv_bytes_again(m));
    tra_status s = tra_csv_pass_again(m, collect_piece, after_stretch, x, e);
    tra_meter_end();
    for (int k = 0; k < m->nworkers && s == TRA_OK; k++) s = put_runs(x, k, e);
    if (s == TRA_OK && m->base != m->npieces) s = changed(m, e);
    return s;
}

/* ---- translating ------------------------------------------------------------------------------------------------ */

typedef struct translation {
    struct tra_csv_spill *x;
    int slot;
} translation;

static tra_status translate_rows(const struct tra_csv_spill *x, int64_t at, int64_t rows, const int32_t *code,
                                 tra_err *e) {
    int32_t v[4096];
    for (int64_t n; rows > 0; rows -= n, at += 4 * n) {
        n = tra_min64(4096, rows);
        TRA_TRY(tra_pread(x->fd, v, (size_t)n * 4, at, x->where, e));
        for (int64_t i = 0; i < n; i++) v[i] = v[i] < 0 ? -1 : code[v[i]];
        TRA_TRY(tra_pwrite(x->fd, v, (size_t)n * 4, at, x->where, e));
    }
    return TRA_OK;
}

/* The numbers that rows have of a run become codes. */
static tra_status translate(void *ctx, int worker, int64_t item, tra_err *e) {
    const translation *t = ctx;
    const struct tra_csv_spill *x = t->x;
    const tra_csv_text_run *run = &x->runs[t->slot].v[item];
    const int64_t *rows = x->m->rows;
    (void)worker;
    if (run->number < 0) return TRA_OK;
    size_t bytes = (size_t)run->n * 4;
    int32_t *order = tra_malloc(3 * bytes + 1), *map = order + run->n, *code = map + run->n;
    tra_status s = tra_pread(x->fd, order, bytes, run->order_at, x->where, e);
    if (s == TRA_OK) s = tra_pread(x->fd, map, bytes, run->map_at, x->where, e);
    for (int64_t j = 0; j < run->n && s == TRA_OK; j++) code[order[j]] = map[j];
    for (int64_t p = run->first; p <= run->last && s == TRA_OK; p++)
        if (x->run_of[p] == run->number)
            s = translate_rows(x, 4 * (t->slot * x->rows + rows[p]), rows[p + 1] - rows[p], code, e);
    free(order);
    return s == TRA_OK ? tra_stop_check(e) : s;
}

static tra_status merge(struct tra_csv_spill *x, int slot, tra_column *columns, tra_err *e) {
    tra_csv_import *m = x->m;
    int c = x->column[slot];
    tra_csv_text_runs *r = &x->runs[slot];
    translation t = {x, slot};
    tra_err why = {0};
    tra_status s = tra_csv_merge_text_runs(r, m->column[c].type == TRA_COL_TEXT, m->memory / 4, &x->spooled[c], &why);
    if (s == TRA_INPUT && why.status == TRA_OK)
        return tra_fail(e, TRA_INPUT, "%s: column \"%s\" has more than 2^31 different texts", m->spec,
                        m->column[c].name);
    if (s != TRA_OK) return *e = why, s;
    TRA_TRY(tra_crew_run(m->nworkers, 0, r->n, translate, &t, e));
    tra_dictionary *d = tra_new(m->arena, tra_dictionary);
    *d = (tra_dictionary){.n = x->spooled[c].n, .sorted = m->column[c].type == TRA_COL_STRING};
    columns[c].dict = d;
    free(r->v);
    *r = (tra_csv_text_runs){0};
    return TRA_OK;
}

tra_status tra_csv_spill_columns(tra_csv_import *m, tra_column *columns, tra_err *e) {
    int n = 0;
    for (int c = 0; c < m->ncolumns; c++) {
        m->spilled[c] = m->spilled[c] && tra_coltype_is_coded(m->column[c].type);
        n += m->spilled[c];
    }
    if (n == 0) return TRA_OK;
    struct tra_csv_spill *x = m->spill = tra_new(m->arena, struct tra_csv_spill);
    x->m = m;
    x->fd = -1;
    pthread_mutex_init(&x->lock, NULL);
    x->rows = m->rows[m->npieces];
    x->column = tra_news(m->arena, int, n);
    x->slot = tra_news(m->arena, int, m->ncolumns);
    x->runs = tra_news(m->arena, tra_csv_text_runs, n);
    x->worker = tra_news(m->arena, collector, m->nworkers);
    x->spooled = tra_news(m->arena, tra_spooled, m->ncolumns + 1);
    x->run_of = tra_malloc((size_t)(m->npieces + 1) * sizeof *x->run_of);
    for (int k = 0; k < m->nworkers; k++) x->worker[k].run = -1;
    TRA_TRY(tra_scratch_open(m->to, &x->fd, &x->where, e));
    for (int c = 0; c < m->ncolumns; c++) {
        x->slot[c] = m->spilled[c] ? x->n : -1;
        if (!m->spilled[c]) continue;
        x->runs[x->n] =
            (tra_csv_text_runs){.fd = x->fd, .where = x->where, .output = m->to, .end = &x->end, .rows = x->rows};
        x->column[x->n++] = c;
    }
    x->end = (4 * n * x->rows + 7) / 8 * 8;
    TRA_TRY(collect_all(x, e));
    for (int i = 0; i < n; i++) TRA_TRY(merge(x, i, columns, e));
    return TRA_OK;
}

/* ---- afterwards ------------------------------------------------------------------------------------------------- */

const tra_spooled *tra_csv_spooled(const tra_csv_import *m) { return m->spill ? m->spill->spooled : NULL; }

tra_status tra_csv_spilled_codes(const tra_csv_import *m, int column, int64_t first, int64_t rows, int32_t *to,
                                 uint8_t *state, tra_err *e) {
    const struct tra_csv_spill *x = m->spill;
    TRA_TRY(tra_pread(x->fd, to, (size_t)rows * 4, 4 * (x->slot[column] * x->rows + first), x->where, e));
    for (int64_t i = 0; state && i < rows; i++) {
        state[i] = to[i] < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE;
        if (to[i] < 0) to[i] = 0;
    }
    return TRA_OK;
}

void tra_csv_spill_free(tra_csv_import *m) {
    struct tra_csv_spill *x = m->spill;
    if (!x) return;
    for (int i = 0; i < x->n; i++) free(x->runs[i].v);
    for (int k = 0; k < m->nworkers; k++) {
        free(x->worker[k].codes);
        free(x->worker[k].hashes);
        free(x->worker[k].state);
    }
    if (x->fd >= 0) close(x->fd);
    free(x->where);
    free(x->run_of);
    pthread_mutex_destroy(&x->lock);
}
