/* text_column.c - strings of rows that workers collect: sets, sorted runs on disk, and the numbers of rows, which
 * become codes.
 */
#include "text_column.h"

#include "../lib/base/crew.h"
#include "io.h"
#include "text_runs.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The strings that a worker has found, and that are in no run yet. */
typedef struct collector {
    tra_string_set words;
    int64_t *seen; /* where each came first */
    int64_t cap, longest;
    int32_t run;   /* the number of the one that they will be; -1: there are none */
    int64_t first; /* from this row on, rows have numbers of it; -1: no rows but those of stretches */
} collector;

/* Rows that have numbers of the same run. */
typedef struct stretch {
    int64_t first, end;
    int32_t run;
} stretch;

struct tra_text_column {
    tra_text_column_options o;
    int64_t at; /* of the rows' numbers in the scratch file */
    pthread_mutex_t lock;
    collector *worker;
    tra_text_runs runs;
    stretch *v;
    int64_t n, cap;
    int32_t began; /* runs */
};

tra_text_column *tra_text_column_new(const tra_text_column_options *o) {
    tra_text_column *t = tra_calloc(1, sizeof *t);
    t->o = *o;
    t->runs = (tra_text_runs){.fd = o->fd, .where = o->where, .output = o->output, .end = o->end, .rows = o->rows};
    t->at = atomic_fetch_add(o->end, (4 * o->rows + 7) / 8 * 8);
    t->worker = tra_calloc((size_t)o->workers, sizeof *t->worker);
    for (int i = 0; i < o->workers; i++) t->worker[i].run = -1, t->worker[i].first = -1;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

static void clear(collector *x) {
    tra_string_set_free(&x->words);
    free(x->seen);
    *x = (collector){.run = -1, .first = -1};
}

void tra_text_column_free(tra_text_column *t) {
    if (!t) return;
    for (int i = 0; i < t->o.workers; i++) clear(&t->worker[i]);
    free(t->worker);
    free(t->runs.v);
    free(t->v);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

const tra_string_set *tra_text_column_words(const tra_text_column *t, int worker) { return &t->worker[worker].words; }

/* ---- collecting ------------------------------------------------------------------------------------------------- */

/* Rows before `end` have numbers of the run that is collected. */
static void end_stretch(tra_text_column *t, collector *x, int64_t end) {
    if (x->first < 0) return;
    pthread_mutex_lock(&t->lock);
    TRA_ROOM(t->v, t->n, t->cap);
    t->v[t->n++] = (stretch){x->first, end, x->run};
    pthread_mutex_unlock(&t->lock);
    x->first = -1;
}

/* What is collected becomes a run, which ends before row `end`. */
static tra_status put_run(tra_text_column *t, collector *x, int64_t end, tra_err *e) {
    tra_text_run run;
    if (x->run < 0) return TRA_OK;
    end_stretch(t, x, end);
    TRA_TRY(tra_text_run_write(&t->runs, &x->words, x->seen, &run, e));
    run.number = x->run;
    pthread_mutex_lock(&t->lock);
    TRA_ROOM(t->runs.v, t->runs.n, t->runs.cap);
    t->runs.v[t->runs.n++] = run;
    t->runs.longest = tra_max64(t->runs.longest, x->longest);
    pthread_mutex_unlock(&t->lock);
    clear(x);
    return TRA_OK;
}

tra_status tra_text_column_add(tra_text_column *t, int worker, int64_t row, const char *s, int64_t n, uint64_t hash,
                         int32_t *number, tra_err *e) {
    collector *x = &t->worker[worker];
    bool fresh, full = tra_string_set_bytes(&x->words) + 8 * x->cap + 2 * n > t->o.memory && x->words.n > 0;
    if (full && tra_string_set_find(&x->words, s, (size_t)n, hash) < 0) TRA_TRY(put_run(t, x, row, e));
    if (x->run < 0) {
        pthread_mutex_lock(&t->lock);
        x->run = t->began++;
        pthread_mutex_unlock(&t->lock);
    }
    if (x->first < 0) x->first = row;
    *number = (int32_t)tra_string_set_add(&x->words, s, (size_t)n, hash, &fresh);
    if (!fresh) return TRA_OK;
    TRA_ROOM(x->seen, x->words.n, x->cap);
    x->seen[*number] = row;
    x->longest = tra_max64(x->longest, n);
    return TRA_OK;
}

tra_status tra_text_column_put(tra_text_column *t, int worker, int64_t first, int64_t n, const int32_t *numbers,
                               tra_err *e) {
    end_stretch(t, &t->worker[worker], first + n);
    return tra_pwrite(t->o.fd, numbers, (size_t)n * 4, t->at + 4 * first, t->o.where, e);
}

/* ---- codes ------------------------------------------------------------------------------------------------------ */

static tra_status translate_rows(const tra_text_column *t, const stretch *x, const int32_t *code, tra_err *e) {
    int32_t v[4096];
    for (int64_t row = x->first, n; row < x->end; row += n) {
        n = tra_min64(4096, x->end - row);
        TRA_TRY(tra_text_column_codes(t, row, n, v, e));
        for (int64_t i = 0; i < n; i++) v[i] = v[i] < 0 ? v[i] : code[v[i]];
        TRA_TRY(tra_pwrite(t->o.fd, v, (size_t)n * 4, t->at + 4 * row, t->o.where, e));
    }
    return TRA_OK;
}

/* The numbers that rows have of a run become codes. */
static tra_status translate(void *ctx, int worker, int64_t item, tra_err *e) {
    const tra_text_column *t = ctx;
    const tra_text_run *run = &t->runs.v[item];
    (void)worker;
    if (run->number < 0) return TRA_OK;
    size_t bytes = (size_t)run->n * 4;
    int32_t *order = tra_malloc(3 * bytes + 1), *map = order + run->n, *code = map + run->n;
    tra_status s = tra_pread(t->o.fd, order, bytes, run->order_at, t->o.where, e);
    if (s == TRA_OK) s = tra_pread(t->o.fd, map, bytes, run->map_at, t->o.where, e);
    for (int64_t j = 0; j < run->n && s == TRA_OK; j++) code[order[j]] = map[j];
    for (int64_t j = 0; j < t->n && s == TRA_OK; j++)
        if (t->v[j].run == run->number) s = translate_rows(t, &t->v[j], code, e);
    free(order);
    return s == TRA_OK ? tra_stop_check(e) : s;
}

static tra_status put_last(void *ctx, int worker, int64_t item, tra_err *e) {
    tra_text_column *t = ctx;
    (void)worker;
    return put_run(t, &t->worker[item], 0, e);
}

tra_status tra_text_column_end(tra_text_column *t, bool text, int64_t memory, tra_spooled *out, tra_err *e) {
    TRA_TRY(tra_crew_run(t->o.workers, t->o.workers, put_last, t, e));
    TRA_TRY(tra_text_runs_merge(&t->runs, text, memory, out, e));
    return tra_crew_run(t->o.workers, t->runs.n, translate, t, e);
}

tra_status tra_text_column_codes(const tra_text_column *t, int64_t first, int64_t n, int32_t *to, tra_err *e) {
    return tra_pread(t->o.fd, to, (size_t)n * 4, t->at + 4 * first, t->o.where, e);
}
