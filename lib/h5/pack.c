/* pack.c - compressing datasets whose elements are written in any order by any process: slices of relations stored by
 * levels, columns of tables.
 *
 * A chunk of such a dataset holds slices, or rows, of several tuples, so that no process has a whole chunk. All
 * processes write them uncompressed to a file of their own. When that is complete, the creator makes the chunks, in
 * their order, so that the bytes depend neither on ranks nor on threads.
 */
#include "pack.h"
#include "../base/crew.h"
#include "zfilter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tra_pack_filters(hid_t dcpl, const tra_codec *codec) {
    unsigned level = (unsigned)codec->level;
    return H5Pset_shuffle(dcpl) >= 0 && H5Pset_filter(dcpl, TRA_ZSTD_FILTER, H5Z_FLAG_MANDATORY, 1, &level) >= 0;
}

bool tra_pack_known(hid_t dcpl, tra_pipeline *p) {
    unsigned opts = 0;
    *p = TRA_PIPELINE_NONE;
    H5Pget_chunk_opts(dcpl, &opts);
    for (int i = 0; i < H5Pget_nfilters(dcpl); i++) {
        unsigned flags;
        size_t ncd = 0;
        H5Z_filter_t id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &ncd, NULL, 0, NULL, NULL);
        if (id == H5Z_FILTER_SHUFFLE && p->shuffle < 0 && p->zstd < 0)
            p->shuffle = i;
        else if (id == TRA_ZSTD_FILTER && p->zstd < 0)
            p->zstd = i;
        else
            return false;
    }
    return p->zstd >= 0 && !(opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
}

/* ---- the file of uncompressed elements -------------------------------------------------------------------------- */

tra_status tra_raw_create(tra_writer *w, int64_t bytes, tra_err *e) {
    TRA_TRY(tra_temp_create(w->path, NULL, false, &w->raw, e));
    w->data_fd = w->raw.fd;
    return tra_writer_reserve(w, w->data_fd, bytes, e);
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

/* Chunks are encoded in batches: at least MOST small ones, of AT_ONCE bytes together, keep all workers busy. There are
 * only so many workers that their chunks take WORKERS bytes together. */
enum { AT_ONCE = 1 << 20, MOST = 16, WORKERS = 32 << 20 };

static int workers_of(int64_t chunk, int workers) {
    return (int)tra_max64(1, tra_min64(tra_min64(workers, TRA_MAXWORKERS), WORKERS / tra_max64(1, chunk)));
}

static int64_t batch_of(int64_t chunk, int workers) {
    return tra_max64(workers, tra_min64(MOST, AT_ONCE / tra_max64(1, chunk)));
}

/* The most bytes of a chunk. */
static int64_t chunk_of(const tra_type *t) {
    return t->columns ? tra_mul_most(tra_max64(1, t->cat->bound.v[0]), 8) : TRA_DATASET_CHUNK * 8;
}

static size_t room_of_worker(size_t chunk) {
    size_t one = tra_encode_room(chunk, 1), wide = tra_encode_room(chunk, 8);
    return chunk + (one > wide ? one : wide);
}

int64_t tra_pack_bytes(const tra_type *t, int level, int workers) {
    int64_t chunk = tra_min64(chunk_of(t), UINT32_MAX);
    workers = workers_of(chunk, workers);
    int64_t each = tra_add_most((int64_t)room_of_worker((size_t)chunk), tra_codec_context(level, chunk));
    return tra_add_most(tra_mul_most(batch_of(chunk, workers), chunk), tra_mul_most(workers, each));
}

struct tra_packer {
    tra_writer *w;
    int fd;
    tra_raw_array of;
    hid_t dset;
    int64_t first, batch;    /* the first chunk of the batch */
    size_t most;             /* bytes of a chunk at most */
    char *encoded, *scratch; /* room for each chunk of the batch; for each worker, a chunk and scratch */
    tra_encoded *enc;
    tra_crew *crew;
};

static tra_status encode(void *ctx, int worker, int64_t i, tra_err *e) {
    tra_packer *x = ctx;
    const tra_raw_array *a = &x->of;
    int64_t from = (x->first + i) * a->chunk;
    size_t bytes = (size_t)a->chunk * a->each, n = (size_t)tra_min64(a->chunk, a->count - from) * a->each;
    char *chunk = x->scratch + (size_t)worker * room_of_worker(x->most);
    TRA_TRY(tra_pread(x->fd, chunk, n, a->addr + from * (int64_t)a->each, x->w->path, e));
    memset(chunk + n, 0, bytes - n);
    return tra_chunk_encode(chunk, bytes, a->each, x->w->codec.level, chunk + x->most, tra_encoded_keep,
                            x->encoded + (size_t)i * x->most, &x->enc[i], e);
}

/* Writes an encoded chunk, which HDF5 allocates and indexes. */
static tra_status put_chunk(tra_packer *x, int64_t i, tra_err *e) {
    const tra_encoded *enc = &x->enc[i];
    tra_vfd *vfd = x->w->vfd;
    hsize_t at = (hsize_t)((x->first + i) * x->of.chunk);
    int64_t addr;
    tra_status s = TRA_OK;
    tra_h5_enter();
    if (!tra_vfd_allocate_chunk(vfd, x->dset, &at, enc->mask, enc->len, &addr))
        s = tra_h5_fail(e, TRA_INTERNAL, vfd, "cannot allocate a chunk of %s", x->w->temp);
    tra_h5_leave();
    TRA_TRY(s);
    x->w->stored += enc->len;
    if (x->of.sums) {
        x->of.sums[x->first + i] = enc->sum;
        *x->of.masks += tra_mask_sum(x->of.ordinal + x->first + i, enc->mask);
    }
    return tra_writer_write_at(x->w, addr, x->encoded + (size_t)i * x->most, enc->len, e);
}

static tra_status pack_array(tra_packer *x, tra_err *e) {
    int64_t chunks = tra_ceil_div(x->of.count, x->of.chunk);
    for (x->first = 0; x->first < chunks; x->first += x->batch) {
        int64_t n = tra_min64(x->batch, chunks - x->first);
        TRA_TRY(tra_stop_check(e));
        tra_crew_begin(x->crew, encode, x, 0, n);
        TRA_TRY(tra_crew_wait(x->crew, e));
        for (int64_t i = 0; i < n; i++) TRA_TRY(put_chunk(x, i, e));
    }
    return TRA_OK;
}

tra_status tra_pack_dataset(tra_packer *x, hid_t group, const char *name, const tra_raw_array *of, tra_err *e) {
    x->of = *of;
    if (of->count == 0) return TRA_OK;
    tra_h5_enter();
    hid_t dset = x->dset = group < 0 ? -1 : H5Dopen2(group, name, H5P_DEFAULT);
    tra_h5_leave();
    tra_status s = dset < 0 ? tra_fail(e, TRA_INTERNAL, "a dataset of %s is gone", x->w->temp) : TRA_OK;
    if (s == TRA_OK) s = pack_array(x, e);
    tra_h5_enter();
    if (dset >= 0 && H5Dclose(dset) < 0 && s == TRA_OK)
        s = tra_h5_fail(e, TRA_RESOURCE, x->w->vfd, "cannot write %s", x->w->temp);
    tra_h5_leave();
    return s;
}

tra_status tra_writer_pack(tra_writer *w, int workers, tra_err *e) {
    if (!w->raw.path || w->packed) return TRA_OK;
    int64_t most = chunk_of(&w->type);
    workers = workers_of(most, workers);
    tra_packer x = {.w = w, .most = (size_t)most, .batch = batch_of(most, workers)};
    x.fd = open(w->raw.path, O_RDONLY | O_CLOEXEC); /* opened again, so that it shows what other hosts have synced */
    if (x.fd < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot open %s", w->raw.path);
    x.encoded = malloc((size_t)x.batch * x.most);
    x.scratch = malloc((size_t)workers * room_of_worker(x.most));
    x.enc = tra_calloc((size_t)x.batch, sizeof *x.enc);
    x.crew = tra_crew_new(workers);
    tra_status s =
        x.encoded && x.scratch ? TRA_OK : tra_fail(e, TRA_RESOURCE, "out of memory for chunks of %s", w->path);
    if (s == TRA_OK) s = w->kind->pack(w, &x, e);
    tra_crew_free(x.crew);
    free(x.enc);
    free(x.scratch);
    free(x.encoded);
    close(x.fd);
    w->packed = s == TRA_OK;
    return s;
}

tra_status tra_writer_pack_within(tra_writer *w, int workers, int64_t memory, tra_err *e) {
    while (workers > 1 && tra_pack_bytes(&w->type, w->codec.level, workers) > memory) workers--;
    return tra_writer_pack(w, workers, e);
}
