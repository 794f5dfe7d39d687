/* stored_pack.c - compressing a relation that is stored by levels.
 *
 * The slices of tuples meet in the chunks of a dataset, so that no process has a whole chunk. All write them as they
 * are to a file beside the new one; when all have, the creator makes chunks of it, in their order, so that the bytes
 * depend neither on ranks nor on threads.
 */
#include "../base/crew.h"
#include "stored_int.h"
#include "zfilter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tra_stored_filters(hid_t dcpl, const tra_codec *codec) {
    unsigned level = (unsigned)codec->level;
    return H5Pset_shuffle(dcpl) >= 0 && H5Pset_filter(dcpl, TRA_ZSTD_FILTER, H5Z_FLAG_MANDATORY, 1, &level) >= 0;
}

/* ---- the file of the slices ------------------------------------------------------------------------------------- */

tra_status tra_raw_create(tra_writer *w, int64_t bytes, tra_err *e) {
    struct tra_placing *p = w->placing;
    TRA_TRY(tra_temp_create(w->path, NULL, false, &p->raw, e));
    p->fd = p->raw.fd;
    if (bytes > 0 && fallocate(p->fd, 0, 0, (off_t)bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS &&
        errno != EINVAL)
        return tra_fail_errno(e, TRA_RESOURCE, "cannot reserve %" PRId64 " bytes for what is compressed of %s", bytes,
                              w->path);
    return TRA_OK;
}

tra_status tra_raw_open(tra_writer *w, const char *path, tra_err *e) {
    w->placing->fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return w->placing->fd >= 0
               ? TRA_OK
               : tra_fail_errno(e, TRA_RESOURCE, "cannot open %s, which rank 0 made; do all ranks see this directory?",
                                path);
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

enum { CHUNK = TRA_VECTOR_CHUNK * 8, BATCH = 16 }; /* bytes of a chunk at most; chunks that are encoded at once */

typedef struct packing {
    tra_writer *w;
    int fd;
    const tra_dataset *of;
    int64_t addr, count, first; /* bytes in the file; elements; the first chunk of the batch */
    char *encoded, *scratch;    /* of each chunk of the batch; of each worker: a chunk and what encoding takes */
    tra_encoded enc[BATCH];
} packing;

static size_t room_of_worker(void) { return CHUNK + tra_encode_room(CHUNK, 1) + tra_encode_room(CHUNK, 8); }

int64_t tra_pack_bytes(int level, int workers) {
    int64_t each = tra_add_most((int64_t)room_of_worker(), tra_codec_context(level, CHUNK));
    return (int64_t)BATCH * CHUNK + workers * each;
}

static tra_status encode(void *ctx, int worker, int64_t i, tra_err *e) {
    packing *x = ctx;
    int64_t size = tra_vector_chunk(x->count), from = (x->first + i) * TRA_VECTOR_CHUNK;
    size_t bytes = (size_t)size * x->of->each, n = (size_t)tra_min64(size, x->count - from) * x->of->each;
    char *chunk = x->scratch + (size_t)worker * room_of_worker();
    TRA_TRY(tra_pread(x->fd, chunk, n, x->addr + from * (int64_t)x->of->each, x->w->path, e));
    memset(chunk + n, 0, bytes - n);
    return tra_chunk_encode(chunk, bytes, x->of->each, x->w->codec.level, chunk + CHUNK, tra_encoded_keep,
                            x->encoded + i * CHUNK, &x->enc[i], e);
}

/* HDF5 allocates and indexes the chunk, whose bytes go there. */
static tra_status put_chunk(packing *x, hid_t dset, int64_t i, tra_err *e) {
    static const char nothing;
    const tra_encoded *enc = &x->enc[i];
    tra_vfd *vfd = x->w->vfd;
    hsize_t at = (hsize_t)((x->first + i) * TRA_VECTOR_CHUNK);
    tra_h5_enter();
    vfd->noted = 0;
    vfd->capture = true;
    herr_t r = H5Dwrite_chunk(dset, H5P_DEFAULT, enc->mask, &at, (size_t)enc->len, &nothing);
    vfd->capture = false;
    tra_status s = TRA_OK;
    if (r < 0 || vfd->noted != 1 || vfd->len != (size_t)enc->len)
        s = tra_h5_fail(e, TRA_INTERNAL, vfd, "cannot allocate a chunk of %s", x->w->temp);
    int64_t addr = (int64_t)vfd->addr;
    tra_h5_leave();
    TRA_TRY(s);
    x->w->stored += enc->len;
    return tra_writer_write_at(x->w, addr, x->encoded + i * CHUNK, enc->len, e);
}

static tra_status pack_dataset(packing *x, hid_t dset, tra_crew *crew, tra_err *e) {
    int64_t chunks = tra_ceil_div(x->count, TRA_VECTOR_CHUNK);
    for (x->first = 0; x->first < chunks; x->first += BATCH) {
        int64_t n = tra_min64(BATCH, chunks - x->first);
        tra_crew_begin(crew, encode, x, 0, n);
        TRA_TRY(tra_crew_wait(crew, e));
        for (int64_t i = 0; i < n; i++) TRA_TRY(put_chunk(x, dset, i, e));
    }
    return TRA_OK;
}

static tra_status pack_component(packing *x, int i, tra_crew *crew, tra_err *e) {
    tra_writer *w = x->w;
    const tra_form *f = &w->placing->form;
    const tra_dataset *c = x->of = &f->c[i];
    bool first = c->kind == TRA_POINTERS;
    x->count = w->placing->begin[w->type.cat->n * f->n + i] + first;
    x->addr = w->placing->addr[i] - (first ? (int64_t)c->each : 0);
    if (x->count == 0) return TRA_OK;
    tra_h5_enter();
    hid_t group = c->kind == TRA_COLUMNS ? tra_tables_group(w) : w->dset;
    hid_t dset = group < 0 ? -1 : H5Dopen2(group, c->name, H5P_DEFAULT);
    tra_h5_leave();
    tra_status s = dset < 0 ? tra_fail(e, TRA_INTERNAL, "a dataset of %s is gone", w->temp) : TRA_OK;
    if (s == TRA_OK) s = pack_dataset(x, dset, crew, e);
    tra_h5_enter();
    if (dset >= 0 && H5Dclose(dset) < 0 && s == TRA_OK)
        s = tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot write %s", w->temp);
    if (group >= 0 && group != w->dset) H5Gclose(group);
    tra_h5_leave();
    return s;
}

tra_status tra_writer_pack(tra_writer *w, int workers, tra_err *e) {
    struct tra_placing *p = w->placing;
    if (!p || !w->codec.zstd || p->packed) return TRA_OK;
    packing x = {.w = w,
                 .fd = open(p->raw.path, O_RDONLY | O_CLOEXEC)}; /* anew: it sees what other hosts have synced */
    if (x.fd < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot open %s", p->raw.path);
    x.encoded = tra_malloc((size_t)BATCH * CHUNK);
    x.scratch = tra_malloc((size_t)workers * room_of_worker());
    tra_crew *crew = tra_crew_new(workers);
    tra_status s = TRA_OK;
    for (int i = 0; i < p->form.n && s == TRA_OK; i++) s = pack_component(&x, i, crew, e);
    tra_crew_free(crew);
    free(x.scratch);
    free(x.encoded);
    close(x.fd);
    p->packed = s == TRA_OK;
    tra_temp_abort(&p->raw);
    p->fd = -1;
    return s;
}
