/* settle.c - makes a stored relation of blocks that come one by one. */
#include "settle.h"

#include "../lib/base/crew.h"
#include "../lib/model/rows.h"
#include "io.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct waiting {
    int64_t at, bytes, entries; /* of a block: where it begins in the scratch file, its bytes and entries */
} waiting;

typedef struct settler {
    tra_digest digest;
    tra_settled counts;
    void *scratch; /* `room` bytes, for counting a block and for writing it */
    int64_t room;
    void *block; /* the block that is being written */
} settler;

struct tra_settle {
    const tra_type *type;
    const tra_levels *levels;
    tra_codec codec;
    tra_writer *writer;
    tra_digester *digester;
    waiting *block;  /* of each ordinal */
    int64_t *counts; /* [blocks][levels]: what tra_stored_count says of each block */
    settler *worker;
    int workers;
    int fd;
    char *where;
    pthread_mutex_t lock;
    int64_t end; /* bytes in the scratch file */
};

int64_t tra_settle_held(int64_t blocks, const tra_levels *levels) {
    return tra_mul_most(blocks, (int64_t)sizeof(waiting) + levels->n * 8);
}

tra_status tra_settle_begin(const char *to, const tra_type *type, const tra_levels *levels, const tra_codec *codec,
                            const char *history, const struct tra_dim_labels *const *labels, int workers,
                            tra_settle **out, tra_err *e) {
    tra_settle *s = tra_calloc(1, sizeof *s);
    *s = (tra_settle){.type = type, .levels = levels, .workers = workers, .fd = -1};
    if (codec) s->codec = *codec;
    pthread_mutex_init(&s->lock, NULL);
    s->worker = tra_calloc((size_t)workers, sizeof *s->worker);
    s->block = tra_calloc((size_t)type->cat->n + 1, sizeof *s->block);
    s->counts = tra_calloc((size_t)type->cat->n * (size_t)levels->n + 1, sizeof *s->counts);
    tra_write_options o = {.codec = s->codec, .history = history, .levels = levels, .labels = labels};
    tra_status status = tra_writer_create(to, type, &o, &s->writer, e);
    if (status == TRA_OK) status = tra_scratch_open(to, &s->fd, &s->where, e);
    if (status != TRA_OK) {
        tra_settle_abort(s);
        return status;
    }
    s->digester = tra_digester_new(type);
    *out = s;
    return TRA_OK;
}

static void free_settle(tra_settle *s) {
    for (int i = 0; i < s->workers; i++) {
        free(s->worker[i].scratch);
        free(s->worker[i].block);
    }
    if (s->fd >= 0) close(s->fd);
    if (s->digester) tra_digester_free(s->digester);
    pthread_mutex_destroy(&s->lock);
    free(s->where);
    free(s->worker);
    free(s->block);
    free(s->counts);
    free(s);
}

void tra_settle_abort(tra_settle *s) {
    if (!s) return;
    if (s->writer) tra_writer_abort(s->writer);
    free_settle(s);
}

/* The worker's scratch, grown so that it does for a block of so many entries. */
static void *scratch_of(tra_settle *s, settler *w, int64_t entries) {
    int64_t need = tra_stored_rows_scratch(s->levels, entries, &s->type->cat->bound);
    if (need > w->room) {
        free(w->scratch);
        w->scratch = tra_malloc((size_t)need);
        w->room = need;
    }
    return w->scratch;
}

#define COUNT_SPECIAL(name, text, ctype, ...)                                                                          \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < v->n; i++) {                                                                           \
            w->counts.nan += isnan(((const ctype *)v->value)[i]) != 0;                                                 \
            w->counts.inf += isinf(((const ctype *)v->value)[i]) != 0;                                                 \
        }                                                                                                              \
        break;

static void count_special(settler *w, tra_dtype t, const tra_rows_view *v) {
    switch (t) {
        TRA_FLOAT_DTYPES(COUNT_SPECIAL)
    case TRA_WHOLES: break;
    }
}

tra_status tra_settle_add(tra_settle *s, int worker, int64_t ordinal, const tra_cell *cell, int64_t bytes, tra_err *e) {
    settler *w = &s->worker[worker];
    tra_rows_view v = tra_rows_of(cell);
    const tra_dims *bound = &s->type->cat->bound;
    TRA_TRY(tra_stored_count(s->levels, bound, cell, s->counts + ordinal * s->levels->n, scratch_of(s, w, v.n), e));
    tra_digester_add(s->digester, &w->digest, ordinal, tra_cell_block(cell));
    count_special(w, s->type->dtype, &v);
    w->counts.entries += v.n;
    pthread_mutex_lock(&s->lock);
    int64_t at = s->end;
    s->end += bytes;
    pthread_mutex_unlock(&s->lock);
    s->block[ordinal] = (waiting){at, bytes, v.n};
    return tra_pwrite(s->fd, tra_cell_block(cell), (size_t)bytes, at, s->where, e);
}

static tra_status put_one(void *ctx, int worker, int64_t ordinal, tra_err *e) {
    tra_settle *s = ctx;
    settler *w = &s->worker[worker];
    const waiting *b = &s->block[ordinal];
    TRA_TRY(tra_pread(s->fd, w->block, (size_t)b->bytes, b->at, s->where, e));
    return tra_writer_put(s->writer, ordinal, w->block, scratch_of(s, w, b->entries), e);
}

/* Compresses what has been written, by as many threads as the memory allows. */
static tra_status pack(tra_settle *s, int64_t memory, tra_err *e) {
    for (int i = 0; i < s->workers; i++) { /* blocks are not needed any more */
        free(s->worker[i].scratch);
        free(s->worker[i].block);
        s->worker[i].scratch = s->worker[i].block = NULL;
    }
    return tra_writer_pack_within(s->writer, s->workers, memory, e);
}

/* Writes all blocks to their places, by as many threads as the memory allows. */
static tra_status put_all(tra_settle *s, int64_t memory, tra_err *e) {
    int64_t n = s->type->cat->n, bytes = 0, entries = 0;
    for (int64_t i = 0; i < n; i++) {
        bytes = tra_max64(bytes, s->block[i].bytes);
        entries = tra_max64(entries, s->block[i].entries);
    }
    int64_t each = bytes + tra_stored_rows_scratch(s->levels, entries, &s->type->cat->bound);
    int workers = (int)tra_max64(1, tra_min64(tra_min64(s->workers, n), memory / tra_max64(1, each)));
    for (int i = 0; i < s->workers; i++) { /* the scratch of counting is given back: fewer threads may go on */
        free(s->worker[i].scratch);
        s->worker[i].scratch = NULL;
        s->worker[i].room = 0;
        if (i < workers) s->worker[i].block = aligned_alloc(64, (size_t)(bytes + 64) & ~(size_t)63);
        if (i < workers && !s->worker[i].block) return tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    }
    return tra_crew_run(workers, n, put_one, s, e);
}

tra_status tra_settle_commit(tra_settle *s, int64_t memory, tra_settled *counts, tra_err *e) {
    tra_status status = tra_writer_place(s->writer, s->counts, e);
    if (status == TRA_OK) status = put_all(s, memory, e);
    if (status == TRA_OK && s->codec.zstd) status = pack(s, memory, e);
    if (status != TRA_OK) {
        tra_settle_abort(s);
        return status;
    }
    char digest[33];
    tra_digest sum = {0};
    *counts = (tra_settled){.bytes = tra_writer_stored(s->writer), .scratch = s->end};
    for (int i = 0; i < s->workers; i++) {
        const settler *w = &s->worker[i];
        tra_digest_add(&sum, &w->digest);
        counts->entries += w->counts.entries;
        counts->nan += w->counts.nan;
        counts->inf += w->counts.inf;
    }
    tra_digest_text(&sum, s->type, digest);
    status = tra_writer_commit(s->writer, digest, e);
    s->writer = NULL;
    free_settle(s);
    return status;
}
