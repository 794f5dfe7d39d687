/* table_finish.c - the end of writing a table: what was written is read once more, column by column, for checksums and
 * statistics, which become tables under .tra/NAME. */
#include "../h5/pack.h"
#include "tablefile_int.h"

#include "../base/crew.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- values of a block ------------------------------------------------------------------------------------------ */

static int64_t bits_of(double x) {
    int64_t v;
    memcpy(&v, &x, sizeof v);
    return v;
}

#define WIDEN(T, bits)                                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        T x;                                                                                                           \
        memcpy(&x, raw + i * (int64_t)sizeof x, sizeof x);                                                             \
        v[i] = bits;                                                                                                   \
    }                                                                                                                  \
    break;

static void widen_codes(int size, const char *raw, int64_t n, int64_t *v) {
    switch (size) {
    case 1: WIDEN(int8_t, x)
    case 2: WIDEN(int16_t, x)
    default: WIDEN(int32_t, x)
    }
}

/* Turns elements of the file into 64 bits each. mask: bytes of the mask, or NULL. Returns which are NULL, in state; or
 * NULL where none can be. */
static const uint8_t *widen(const tra_column *c, const tra_table_part *p, const char *raw, const char *mask, int64_t n,
                            int64_t *v, uint8_t *state) {
    if (tra_coltype_is_coded(c->type)) {
        widen_codes(p->size, raw, n, v);
        for (int64_t i = 0; i < n; i++) state[i] = v[i] < 0;
        return state;
    }
#define WORD_FLOAT bits_of((double)x)
#define WORD_INT   x
#define WORD_BOOL  x
#define X(name, text, T, class, ...)                                                                                   \
    case TRA_##name: WIDEN(T, WORD_##class)
    switch (tra_coltype_held(c->type)) { TRA_DTYPES(X) }
#undef X
    for (int64_t i = 0; mask && i < n; i++) state[i] = mask[i] != 0;
    return mask ? state : NULL;
}

/* ---- columns ---------------------------------------------------------------------------------------------------- */

typedef struct finishing_worker {
    tra_facts_builder *counting;
    char *raw, *mask;
} finishing_worker;

typedef struct finishing {
    tra_writer *w;
    finishing_worker *worker;
    tra_arena **arenas;      /* of each worker */
    _Atomic int64_t spooled; /* bytes of frequencies in their file */
} finishing;

enum { STRIP = 4096, FREQUENCIES_HELD = 1 << 12 }; /* of a column; more are spooled */

static tra_status read_block(tra_writer *w, int part, int64_t b, char *to, tra_err *e) {
    const tra_table_form *f = &w->table->form;
    const tra_table_part *p = &f->part[part];
    bool waits = w->codec.zstd;
    TRA_TRY(tra_pread(w->data_fd, to, (size_t)(f->block * p->size), p->addr[b], w->temp, e));
    if (!waits) w->table->sums[(int64_t)part * f->nblocks + b] = tra_chunk_sum(to, (size_t)(f->block * p->size));
    return TRA_OK;
}

/* One pass over a column; `again`: one that counts the most common values again. */
static tra_status pass(tra_writer *w, finishing_worker *k, int c, bool again, tra_err *e) {
    const tra_table_form *f = &w->table->form;
    const tra_column *col = &f->schema->v[c];
    const tra_table_part *p = &f->part[f->values[c]];
    int64_t v[STRIP];
    uint8_t state[STRIP];
    for (int64_t b = 0; b < f->nblocks; b++) {
        int64_t rows = tra_table_block_rows(f, b), *out = &w->table->blocks[((int64_t)c * f->nblocks + b) * 4];
        bool mask = f->nulls[c] >= 0, begun = false;
        TRA_TRY(read_block(w, f->values[c], b, k->raw, e));
        if (mask) TRA_TRY(read_block(w, f->nulls[c], b, k->mask, e));
        for (int64_t at = 0, n; at < rows; at += n) {
            n = tra_min64(STRIP, rows - at);
            const uint8_t *none = widen(col, p, k->raw + at * p->size, mask ? k->mask + at : NULL, n, v, state);
            if (again)
                tra_facts_recount(k->counting, v, none, n);
            else
                tra_facts_add(k->counting, v, none, n, out, !begun);
            begun = true;
        }
    }
    return TRA_OK;
}

/* Keeps the frequencies that a builder has found: few in memory, many in a file, since each column may have many. */
static tra_status keep_frequencies(finishing *s, tra_arena *a, int64_t c, tra_column_facts *x, tra_err *e) {
    struct tra_table_placing *p = s->w->table;
    size_t bytes = (size_t)x->n * sizeof *x->frequency;
    const void *found = x->frequency;
    p->frequencies_at[c] = -1;
    if (x->n <= FREQUENCIES_HELD) {
        x->frequency = memcpy(tra_arena_alloc(a, bytes), found, bytes);
        return TRA_OK;
    }
    x->frequency = NULL;
    p->frequencies_at[c] = atomic_fetch_add(&s->spooled, (int64_t)bytes);
    return tra_pwrite(p->frequencies, found, bytes, p->frequencies_at[c], s->w->path, e);
}

static tra_status finish_column(void *ctx, int worker, int64_t c, tra_err *e) {
    finishing *s = ctx;
    tra_writer *w = s->w;
    const tra_table_form *f = &w->table->form;
    finishing_worker *k = &s->worker[worker];
    const tra_dictionary *d = f->schema->v[c].dict;
    TRA_TRY(tra_stop_check(e));
    tra_facts_begin(k->counting, f->schema->v[c].type, f->rows, d ? d->n : 0);
    TRA_TRY(pass(w, k, (int)c, false, e));
    while (tra_facts_begin_recount(k->counting)) TRA_TRY(pass(w, k, (int)c, true, e));
    tra_facts_end(k->counting, s->arenas[worker], &w->table->facts[c]);
    return keep_frequencies(s, s->arenas[worker], c, &w->table->facts[c], e);
}

enum { WORKERS = 2 };

int64_t tra_table_finish_bytes(const tra_type *t) {
    enum { KEPT = FREQUENCIES_HELD * 16 + TRA_REGISTERS * 8 }; /* at most, of a column */
    int64_t rows = tra_type_bytes_all(t).bound / tra_max64(1, tra_schema_row_bytes(t->columns));
    int64_t block = tra_mul_most(t->cat->bound.v[0], 9); /* 8 bytes a value, 1 of the mask */
    int64_t kept = tra_min64(KEPT, tra_mul_most(rows, 16));
    return t->columns->n * kept +
           tra_mul_most(tra_min64(WORKERS, t->columns->n), tra_add_most(tra_facts_bytes(rows), block));
}

static tra_status open_frequencies(const tra_writer *w, int *fd, tra_err *e) {
    const char *name;
    char *folder = tra_folder_of(w->path, &name);
    *fd = tra_unnamed_file(folder);
    tra_status s = *fd >= 0 ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "cannot make a scratch file in %s", folder);
    free(folder);
    return s;
}

tra_status tra_table_finish(tra_writer *w, tra_err *e) {
    struct tra_table_placing *p = w->table;
    const tra_table_form *f = &p->form;
    if (!f->part) return tra_fail(e, TRA_INTERNAL, "%s was never given its rows", w->path);
    int n = (int)tra_min64(tra_min64(tra_cores(), WORKERS), tra_max64(1, f->schema->n));
    tra_return_large_blocks(); /* what a worker frees others can take */
    p->blocks = tra_calloc((size_t)(f->schema->n * f->nblocks) * 4 + 1, sizeof *p->blocks);
    p->facts = tra_news(w->arena, tra_column_facts, f->schema->n + 1);
    p->frequencies_at = tra_news(w->arena, int64_t, f->schema->n + 1);
    if (f->rows > FREQUENCIES_HELD) TRA_TRY(open_frequencies(w, &p->frequencies, e));
    finishing s = {
        .w = w, .worker = tra_calloc((size_t)n, sizeof *s.worker), .arenas = tra_calloc((size_t)n, sizeof *s.arenas)};
    p->nkept = n;
    p->kept = s.arenas;
    for (int i = 0; i < n; i++) {
        s.worker[i] =
            (finishing_worker){tra_facts_new(), tra_malloc((size_t)f->block * 8), tra_malloc((size_t)f->block)};
        s.arenas[i] = tra_arena_new();
    }
    tra_status status = tra_crew_run(n, f->schema->n, finish_column, &s, e);
    for (int i = 0; i < n; i++) {
        tra_facts_free(s.worker[i].counting);
        free(s.worker[i].raw);
        free(s.worker[i].mask);
    }
    free(s.worker);
    return status;
}

void tra_table_drop_kept(struct tra_table_placing *t) {
    for (int i = 0; i < t->nkept; i++) tra_arena_free(t->kept[i]);
    free(t->kept);
    if (t->frequencies >= 0) close(t->frequencies);
    t->frequencies = -1;
    t->kept = NULL;
    t->nkept = 0;
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

tra_status tra_table_pack(tra_writer *w, tra_packer *x, tra_err *e) {
    struct tra_table_placing *t = w->table;
    const tra_table_form *f = &t->form;
    for (int i = 0; i < f->nparts && f->nblocks > 0; i++) {
        int64_t first = (int64_t)i * f->nblocks;
        tra_raw_array of = {.addr = f->part[i].addr[0],
                            .count = f->nblocks * f->block,
                            .chunk = f->block,
                            .each = (size_t)f->part[i].size,
                            .sums = t->sums + first,
                            .masks = &t->masks[i],
                            .ordinal = first};
        TRA_TRY(tra_pack_dataset(x, w->file, f->part[i].path, &of, e));
    }
    return TRA_OK;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

/* Adds the frequencies of a column that are in their file. */
static bool add_spooled(tra_writer *w, int c, tra_table_stream *s) {
    const struct tra_table_placing *p = w->table;
    char *buf = tra_malloc(TRA_STREAM_BYTES);
    bool ok = true;
    for (int64_t at = 0, n, all = p->facts[c].n * 16; at < all && ok; at += n) {
        n = tra_min64(TRA_STREAM_BYTES, all - at);
        ok = tra_pread(p->frequencies, buf, (size_t)n, p->frequencies_at[c] + at, w->path, NULL) == TRA_OK &&
             tra_stream_add(s, buf, n);
    }
    free(buf);
    return ok;
}

static bool put_statistics(tra_writer *w, hid_t group) {
    enum { WORDS = 10 };
    const tra_table_form *f = &w->table->form;
    int n = f->schema->n;
    int64_t pairs = 0, sketches = 0;
    int64_t *v = tra_calloc((size_t)n * WORDS + 1, sizeof *v);
    for (int c = 0; c < n; c++) {
        const tra_column_facts *x = &w->table->facts[c];
        int64_t flags = x->exact | x->sorted << 1 | x->nan << 2 | x->whole << 3;
        int64_t row[WORDS] = {
            x->rows, x->nulls, x->min, x->max, x->distinct, flags, pairs, x->n, x->sketch ? sketches : -1};
        memcpy(v + (int64_t)c * WORDS, row, sizeof row);
        pairs += x->n;
        sketches += x->sketch != NULL;
    }
    hsize_t dims[2] = {(hsize_t)n, WORDS};
    bool ok = tra_h5_put_table(group, "statistics", H5T_STD_I64LE, H5T_NATIVE_INT64, 2, dims, v);
    free(v);
    const struct {
        const char *name;
        hid_t type;
        int64_t rows, width;
    } tables[] = {{"frequencies", H5T_STD_I64LE, pairs, 2},
                  {"histograms", H5T_STD_I64LE, sketches, TRA_BUCKETS + 1},
                  {"sketches", H5T_STD_U8LE, sketches, TRA_REGISTERS}};
    for (int t = 0; t < 3; t++) {
        tra_table_stream s;
        ok = tra_stream_begin(&s, group, tables[t].name, tables[t].type, tables[t].rows, (int)tables[t].width) && ok;
        for (int c = 0; c < n && ok; c++) {
            const tra_column_facts *x = &w->table->facts[c];
            const void *of[] = {x->frequency, x->histogram, x->sketch};
            if (t == 0 && w->table->frequencies_at[c] >= 0)
                ok = add_spooled(w, c, &s);
            else
                ok = tra_stream_add(&s, of[t], (t == 0 ? x->n : x->sketch != NULL) * tables[t].width * 8);
        }
        ok = tra_stream_end(&s, ok);
    }
    return ok;
}

/* Which filters chunks went through, HDF5's index tells, and no checksum of their bytes: so there is a sum for each
 * array. */
static bool put_masks(const tra_writer *w, hid_t group) {
    hsize_t n = (hsize_t)w->table->form.nparts;
    if (!w->codec.zstd || n == 0) return true;
    hid_t dset = H5Dopen2(group, "xxh64", H5P_DEFAULT);
    bool ok = dset >= 0 && tra_h5_put_ints(dset, "tra_masks", 1, &n, (const int64_t *)w->table->masks);
    if (dset >= 0 && H5Dclose(dset) < 0) ok = false;
    return ok;
}

bool tra_table_describe(tra_writer *w, const char *digest) {
    const struct tra_table_placing *p = w->table;
    const tra_table_form *f = &p->form;
    int64_t header[4];
    hsize_t sums[2] = {(hsize_t)f->nparts, (hsize_t)f->nblocks};
    hsize_t blocks[3] = {(hsize_t)f->schema->n, (hsize_t)f->nblocks, 4};
    hid_t group = tra_tables_group(w);
    bool ok =
        group >= 0 && tra_writer_put_notes(w, digest) && tra_h5_put_seal(group, header, tra_table_header(f, header)) &&
        tra_h5_put_table(group, "xxh64", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, sums, p->sums) && put_masks(w, group) &&
        tra_h5_put_table(group, "blocks", H5T_STD_I64LE, H5T_NATIVE_INT64, 3, blocks, p->blocks) &&
        put_statistics(w, group) && tra_table_put_dictionaries(w, group);
    if (group >= 0 && H5Gclose(group) < 0) ok = false;
    tra_table_drop_kept(w->table); /* other tables follow, each with its own */
    return ok;
}
