/* writer.c - writing a relation: creating it, several processes, the commit. What differs between
 * kinds is in their rows (tra_file_kind). */
#include "../h5/scales.h"
#include "store_int.h"
#include "../h5/zfilter.h"
#include "store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ----------------------------------------------------------------------------------------------------- */

static bool good_name(const char *name) {
    for (const char *p = name;; p++) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n <= 2 && strncmp(p, "..", n) == 0) || (p == name && n == 4 && strncmp(p, ".tra", 4) == 0))
            return false;
        p += n;
        if (!*p) return true;
    }
}

/* *path becomes the file that a relation written there would replace, with symbolic links followed; in the arena.
 * TRA_INPUT: what is there is no regular file. */
static tra_status target_of(tra_arena *a, const char **path, tra_err *e) {
    struct stat st;
    if (!**path) return tra_fail(e, TRA_INPUT, "a relation cannot be written to a file without a name");
    bool there = stat(*path, &st) == 0;
    if (!there && errno != ENOENT) return tra_fail_errno(e, TRA_INPUT, "cannot write %s", *path);
    if (there && !S_ISREG(st.st_mode))
        return tra_fail(e, TRA_INPUT, "cannot write a relation to %s: it is not a regular file", *path);
    char *real = tra_resolve_links(*path);
    *path = tra_arena_strndup(a, real, strlen(real));
    free(real);
    return TRA_OK;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* Are chunks stored as they are? Then all of them are allocated before anything is written. */
static bool plain(const tra_writer *w) { return !w->codec.zstd && !w->gzip; }

static tra_writer *writer_new(const tra_type *type) {
    tra_arena *a = tra_arena_new();
    tra_writer *w = tra_new(a, tra_writer);
    w->arena = a;
    w->type = *type;
    w->size = tra_dtype_size(type->dtype);
    w->fd = w->direct_fd = w->data_fd = w->raw.fd = -1;
    w->file = w->dset = -1;
    return w;
}

static void writer_free(tra_writer *w) {
    if (w->creator && w->path) tra_lock_drop(w->path);
    if (w->kind && w->kind->free) w->kind->free(w);
    if (w->data_fd >= 0 && w->data_fd != w->fd && !w->raw.path) close(w->data_fd);
    tra_temp_abort(&w->raw);
    free(w->addr);
    free(w->sums);
    if (w->fd >= 0 && !w->creator) close(w->fd);
    if (w->direct_fd >= 0) close(w->direct_fd);
    tra_arena_free(w->arena);
}

static const tra_file_kind *kind_of(const tra_type *type, const tra_write_options *o) {
    if (type->columns) return &tra_kind_table;
    if (o->mapped) return &tra_kind_components;
    return o->levels || o->mapping ? &tra_kind_levels : &tra_kind_chunks;
}

static tra_status prepare(tra_writer *w, const tra_write_options *o, tra_err *e) {
    const tra_catalog *c = w->type.cat;
    for (int a = 0; a < c->bound.n && c->n > 0 && !w->type.columns; a++) {
        if (c->bound.v[a] == 0)
            return tra_fail(e, TRA_INPUT, "cannot store %s:%s: its arrays have extent 0 along dimension %d", w->path,
                            w->name, a);
    }
    TRA_TRY(tra_geom_of(&w->type, &w->geom, e));
    return w->kind->prepare(w, o, e);
}

/* The new files that writers of this process share. Used under the HDF5 lock. */
static tra_new_file *new_files;

static void new_file_free(tra_new_file *f) {
    tra_new_file **p = &new_files;
    while (*p != f) p = &(*p)->next;
    *p = f->next;
    for (int i = 0; i < f->nnames; i++) free(f->names[i]);
    free(f->names);
    free(f->path);
    free(f->tag);
    free(f);
}

static tra_status create_file(tra_new_file *f, const tra_writer *w, tra_err *e) {
    TRA_TRY(tra_temp_create(w->path, f->tag, w->reuse, &f->made, e));
    hid_t fapl = tra_h5_fapl(plain(w));
    /* encoded chunks have their addresses only when all are known, so nothing of an earlier process is of use */
    tra_vfd_new = (struct tra_vfd_new){.fd = f->made.fd, .keep = f->made.reused && plain(w)};
    f->file = H5Fcreate(f->made.path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    int err = tra_vfd_new.err;
    tra_vfd_new = (struct tra_vfd_new){.fd = -1};
    H5Pclose(fapl);
    if (f->file < 0) {
        errno = err;
        tra_status s = err ? tra_fail_errno(e, TRA_RESOURCE, "cannot create %s", f->made.path)
                           : tra_h5_fail(e, TRA_RESOURCE, NULL, "cannot create %s", f->made.path);
        (w->reuse ? tra_temp_keep : tra_temp_abort)(&f->made);
        return s;
    }
    f->vfd = tra_vfd_of(f->file);
    return TRA_OK;
}

/* The new file of the writer's target, which another writer of this process may have made. */
static tra_status open_file(tra_writer *w, tra_err *e) {
    char *real = tra_resolve_folder(w->path);
    tra_new_file *f = new_files;
    tra_status s = TRA_OK;
    while (f && strcmp(f->path, real) != 0) f = f->next;
    if (!f) {
        f = tra_calloc(1, sizeof *f);
        *f = (tra_new_file){
            .next = new_files, .path = tra_strdup(real), .tag = w->tag ? tra_strdup(w->tag) : NULL, .file = -1};
        new_files = f;
        s = create_file(f, w, e);
    }
    free(real);
    if (s != TRA_OK) {
        new_file_free(f);
        return s;
    }
    f->writers++;
    f->replaces |= w->whole;
    f->names = tra_realloc(f->names, (size_t)f->nnames + 1, sizeof *f->names);
    f->names[f->nnames++] = tra_strdup(w->name);
    w->shared = f;
    w->temp = tra_arena_strndup(w->arena, f->made.path, strlen(f->made.path));
    w->fd = w->data_fd = f->made.fd;
    w->file = f->file;
    w->vfd = f->vfd;
    w->reused = f->made.reused;
    return TRA_OK;
}

static tra_status create(tra_writer *w, tra_err *e) {
    if (!w->whole) TRA_TRY(tra_writer_check_target(w, e));
    TRA_TRY(open_file(w, e));
    return w->kind->create(w, e);
}

tra_status tra_writer_create(const char *spec, const tra_type *type, const tra_write_options *o, tra_writer **out,
                             tra_err *e) {
    tra_writer *w = writer_new(type);
    const char *path;
    bool first;
    *out = NULL;
    tra_relspec(w->arena, spec, &path, &w->name);
    w->whole = !w->name;
    if (!w->name) w->name = "data";
    w->codec = o->gzip ? (tra_codec){.zstd = false} : o->codec;
    w->gzip = o->gzip;
    w->mapped = o->mapped;
    w->kind = kind_of(type, o);
    if (w->gzip) tra_return_large_blocks();
    w->tag = o->tag ? tra_arena_strndup(w->arena, o->tag, strlen(o->tag)) : NULL;
    w->reuse = o->tag && o->reuse;
    w->history = o->history ? tra_arena_strndup(w->arena, o->history, strlen(o->history)) : NULL;
    w->units = o->units ? tra_arena_strndup(w->arena, o->units, strlen(o->units)) : NULL;
    tra_status s = TRA_OK;
    if (!good_name(w->name)) s = tra_fail(e, TRA_INPUT, "\"%s\" cannot name a relation (in %s)", w->name, spec);
    if (s == TRA_OK && (o->levels || o->mapped || o->mapping) && w->gzip)
        s = tra_fail(e, TRA_USAGE, "cannot write %s by deflate: arrays that are stored by levels or a mapping are not",
                     spec);
    if (s == TRA_OK) s = target_of(w->arena, &path, e);
    if (s == TRA_OK) s = tra_lock_take(path, path, &first, e);
    if (s != TRA_OK) {
        writer_free(w);
        return s;
    }
    w->path = path;
    w->creator = true;
    if (first) s = tra_commit_settle(path, e);
    if (s != TRA_OK) {
        writer_free(w);
        return s;
    }
    if (first) {
        tra_commit_end(path); /* its outputs will be replaced */
        tra_temp_reclaim(path, w->reuse ? w->tag : NULL);
    }
    s = prepare(w, o, e);
    if (s == TRA_OK) s = tra_scales_plan(w, o->labels, e);
    if (s == TRA_OK) {
        tra_h5_enter();
        s = create(w, e);
        tra_h5_leave();
    }
    if (s == TRA_OK)
        *out = w;
    else if (w->reuse)
        tra_writer_leave(w);
    else
        tra_writer_abort(w);
    return s;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

size_t tra_writer_scratch_bytes(const tra_writer *w) { return w->kind->put_scratch ? w->kind->put_scratch(w) : 0; }

tra_status tra_writer_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e) {
    return w->kind->put(w, ordinal, data, scratch, e);
}

uint64_t *tra_writer_sums(tra_writer *w) { return w->sums; }

int64_t tra_writer_nsums(const tra_writer *w) {
    return w->kind->facts ? w->type.cat->n * w->kind->facts(w)
                          : 0; /* of tables the commit reads all that was written */
}

int64_t tra_writer_stored(const tra_writer *w) { return w->stored; }

int tra_writer_fd(const tra_writer *w) { return w->fd; }

bool tra_writer_reused(const tra_writer *w) { return w->reused; }

/* ---- several processes ----------------------------------------------------------------------------------------- */

/* The kinds that several processes write, each with its number in a blob. */
static const tra_file_kind *const kinds[] = {&tra_kind_chunks, &tra_kind_levels, &tra_kind_table};
enum { NKINDS = sizeof kinds / sizeof *kinds };

/* The blob: this head, texts with their NULs, then what the kind adds. */
typedef struct blob_head {
    int64_t bytes;                                            /* of the blob */
    int64_t tuples, zstd, level, kind, path, temp, name, raw; /* the last four: bytes of the texts */
} blob_head;

void tra_writer_describe(const tra_writer *w, tra_str *blob) {
    blob_head h = {.tuples = w->type.cat->n,
                   .zstd = w->codec.zstd,
                   .level = w->codec.level,
                   .path = (int64_t)strlen(w->path) + 1,
                   .temp = (int64_t)strlen(w->temp) + 1,
                   .name = (int64_t)strlen(w->name) + 1,
                   .raw = w->raw.path ? (int64_t)strlen(w->raw.path) + 1 : 0};
    size_t begin = blob->n;
    while (h.kind < NKINDS && kinds[h.kind] != w->kind) h.kind++;
    assert(h.kind < NKINDS); /* components are written by one process alone */
    tra_str_addn(blob, (const char *)&h, sizeof h);
    tra_str_addn(blob, w->path, (size_t)h.path);
    tra_str_addn(blob, w->temp, (size_t)h.temp);
    tra_str_addn(blob, w->name, (size_t)h.name);
    if (h.raw) tra_str_addn(blob, w->raw.path, (size_t)h.raw);
    w->kind->blob(w, blob);
    h.bytes = (int64_t)(blob->n - begin);
    memcpy(blob->s + begin, &h, sizeof h);
}

static tra_status open_shared(const char *path, int *fd, tra_err *e) {
    *fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return *fd >= 0 ? TRA_OK
                    : tra_fail_errno(e, TRA_RESOURCE,
                                     "cannot open %s, which rank 0 made; do all ranks see this directory?", path);
}

tra_status tra_writer_attach(const void *blob, size_t n, const tra_type *type, tra_writer **out, tra_err *e) {
    blob_head h = {0};
    const char *p = blob;
    tra_writer *w = writer_new(type);
    *out = NULL;
    if (n >= sizeof h) memcpy(&h, p, sizeof h);
    size_t texts = (size_t)(h.path + h.temp + h.name + h.raw);
    if (n < sizeof h + texts || h.bytes != (int64_t)n || h.tuples != type->cat->n || h.kind >= NKINDS) {
        writer_free(w);
        return tra_fail(e, TRA_INTERNAL, "the description of an output does not fit its type");
    }
    p += sizeof h;
    w->kind = kinds[h.kind];
    w->path = tra_arena_strndup(w->arena, p, (size_t)h.path - 1);
    w->temp = tra_arena_strndup(w->arena, p + h.path, (size_t)h.temp - 1);
    w->name = tra_arena_strndup(w->arena, p + h.path + h.temp, (size_t)h.name - 1);
    w->codec = (tra_codec){.zstd = h.zstd, .level = (int)h.level};
    tra_status s = tra_geom_of(type, &w->geom, e);
    if (s == TRA_OK) s = open_shared(w->temp, &w->fd, e);
    w->data_fd = w->fd;
    if (s == TRA_OK && h.raw) s = open_shared(p + h.path + h.temp + h.name, &w->data_fd, e);
    if (s == TRA_OK) s = w->kind->attach(w, p + texts, n - sizeof h - texts, e);
    if (s == TRA_OK && plain(w) && !tra_is_intermediate(w->path))
        w->direct_fd = open(w->temp, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    if (s != TRA_OK)
        writer_free(w);
    else
        *out = w;
    return s;
}

tra_status tra_writer_sync(tra_writer *w, tra_err *e) {
    if (fsync(w->fd) != 0 || (w->data_fd != w->fd && fsync(w->data_fd) != 0))
        return tra_fail_errno(e, TRA_RESOURCE, "cannot write %s to disk", w->temp);
    return TRA_OK;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

static tra_status missing_tuple(tra_writer *w, tra_err *e) {
    int64_t each = w->kind->facts ? w->kind->facts(w) : 0;
    for (int64_t i = 0; i < w->type.cat->n && each; i++) {
        char buf[TRA_DIMTEXT];
        tra_dims key;
        if (w->sums[i * each]) continue;
        tra_catalog_key(w->type.cat, i, &key);
        return tra_fail(e, TRA_INTERNAL, "tuple %s of %s:%s was never written", tra_key_text(&key, buf), w->path,
                        w->name);
    }
    return TRA_OK;
}

/* Completes the relation in the new file. */
static tra_status finish_dataset(tra_writer *w, const char *digest, tra_err *e) {
    if (w->kind->finish) TRA_TRY(w->kind->finish(w, e));
    TRA_TRY(missing_tuple(w, e));
    TRA_TRY(tra_writer_pack(w, 1, e));
    tra_status s = TRA_OK;
    tra_h5_enter();
    if (!w->kind->describe(w, digest))
        s = tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot write the attributes of %s", w->temp);
    if (s == TRA_OK) {
        hid_t dset = w->dset;
        w->dset = -1;
        if (H5Oclose(dset) < 0) s = tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot write %s", w->temp);
    }
    tra_h5_leave();
    return s;
}

/* Completes the new file with all of its relations. */
static tra_status finish_file(tra_new_file *f, tra_err *e) {
    tra_status s = TRA_OK;
    tra_h5_enter();
    if (!f->replaces) s = tra_new_file_copy_others(f, e);
    if (s == TRA_OK && (H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0 || f->vfd->lost))
        s = tra_h5_fail(e, TRA_RESOURCE, f->vfd, "cannot write %s", f->made.path);
    if (s == TRA_OK) {
        hid_t file = f->file;
        f->file = -1;
        f->vfd = NULL;
        if (H5Fclose(file) < 0) s = tra_h5_fail(e, TRA_RESOURCE, NULL, "cannot close %s", f->made.path);
    }
    tra_h5_leave();
    return s;
}

/* Lets go of the new file; the last writer that does closes it and ends the temporary file. */
static void release_file(tra_writer *w, void (*end)(tra_temp *)) {
    tra_new_file *f = w->shared;
    if (!f) return;
    w->shared = NULL;
    tra_h5_enter();
    if (f->vfd) f->vfd->discard = true;
    if (w->dset >= 0) H5Oclose(w->dset);
    if (--f->writers == 0) {
        if (f->file >= 0) H5Fclose(f->file);
        end(&f->made);
        new_file_free(f);
    }
    tra_h5_leave();
}

/* Completes the files of which these are the last writers: *n files that are to be put in place. */
static tra_status finish_files(tra_writer *const *w, int count, tra_temp **v, int *n, tra_err *e) {
    for (int i = 0; i < count; i++) {
        tra_new_file *f = w[i]->shared;
        if (f->writers > 1) {
            f->writers--;
            w[i]->shared = NULL;
            continue;
        }
        TRA_TRY(finish_file(f, e));
        v[(*n)++] = &f->made;
    }
    return TRA_OK;
}

tra_status tra_writers_commit(tra_writer *const *w, const char *const *digests, int n, const tra_commit_note *note,
                              bool keep, tra_err *e) {
    tra_temp **v = tra_calloc((size_t)n, sizeof *v);
    int files = 0;
    tra_status s = TRA_OK;
    for (int i = 0; i < n && s == TRA_OK; i++) s = finish_dataset(w[i], digests[i], e);
    if (s == TRA_OK) s = finish_files(w, n, v, &files, e);
    if (s == TRA_OK) keep = true, s = tra_temps_commit(v, files, note, e); /* a record may name the files */
    for (int i = 0; i < n; i++) {
        release_file(w[i], keep ? tra_temp_keep : tra_temp_abort);
        writer_free(w[i]);
    }
    free(v);
    return s;
}

tra_status tra_writer_commit(tra_writer *w, const char *digest, tra_err *e) {
    return tra_writers_commit(&w, &digest, 1, NULL, true, e);
}

void tra_writer_abort(tra_writer *w) {
    if (!w) return;
    release_file(w, tra_temp_abort);
    writer_free(w);
}

void tra_writer_leave(tra_writer *w) {
    if (!w) return;
    release_file(w, tra_temp_keep);
    writer_free(w);
}
