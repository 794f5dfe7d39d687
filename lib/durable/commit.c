/* commit.c - the commit record: it makes the outputs of one run appear together, whenever the run is killed. See
 * durable.h for the contract. */
#include "durable_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* The text of a record has one line for each fact. In paths, blanks, control characters and % are written as %XX.
 *   tra-commit 1
 *   step DIGEST              of program and definitions: what --resume asks for
 *   progress PATH LOCK       entry of the scratch directory, which is of no use once the outputs are in place
 *   rename DEVICE INODE TEMPORARY TARGET
 *   seal CHECKSUM
 * The file beside each other target has one line `see PATH`, which leads to the record, in place of these facts. */
enum { MAX_RECORD = 64 << 20 };

typedef struct renaming {
    int64_t id[2]; /* device and inode of temp */
    const char *temp, *target;
} renaming;

typedef struct record {
    tra_arena *arena;
    const char *path; /* of the record itself */
    uint64_t step;
    const char *progress, *lock;
    int n;
    renaming *v;
    bool foreign; /* written by another user */
} record;

/* The path of the commit record of a target. */
static const char *record_path(tra_arena *a, const char *path) {
    char *file = tra_resolve_links(path), *name = tra_name_beside(file, "commit");
    const char *out = tra_arena_strndup(a, name, strlen(name));
    free(file);
    free(name);
    return out;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static void put_word(tra_str *out, const char *s) {
    for (tra_str_add(out, " "); *s; s++) {
        if ((unsigned char)*s <= ' ' || *s == '%')
            tra_str_printf(out, "%%%02x", (unsigned char)*s);
        else
            tra_str_addn(out, s, 1);
    }
}

/* The next word of a line, or "" at its end. */
static const char *take_word(tra_arena *a, const char **at) {
    const char *from = *at + strspn(*at, " ");
    size_t n = strcspn(from, " \n"), m = 0;
    char *out = tra_arena_strndup(a, from, n);
    for (size_t i = 0; i < n; i++) {
        unsigned c = 0;
        if (from[i] == '%' && i + 2 < n && sscanf(from + i + 1, "%2x", &c) == 1)
            out[m++] = (char)c, i += 2;
        else
            out[m++] = from[i];
    }
    out[m] = 0;
    *at = from + n;
    return out;
}

static void put_seal(tra_str *text) {
    tra_str_printf(text, "seal %016" PRIx64 "\n", (uint64_t)XXH64(text->s, text->n, 0));
}

static bool is_sealed(const char *text, size_t n) {
    size_t last = n;
    uint64_t sum;
    while (last > 1 && text[last - 2] != '\n') last--;
    last = last > 0 ? last - 1 : 0;
    return sscanf(text + last, "seal %16" SCNx64, &sum) == 1 && sum == XXH64(text, last, 0);
}

/* Reads the text of a record into r. If it refers to another record, returns that path, else NULL. */
static const char *parse(record *r, const char *text) {
    const char *see = NULL;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0) {
        const char *at = line, *kind = take_word(r->arena, &at);
        if (strcmp(kind, "see") == 0) see = take_word(r->arena, &at);
        if (strcmp(kind, "step") == 0) r->step = strtoull(take_word(r->arena, &at), NULL, 16);
        if (strcmp(kind, "progress") == 0) {
            r->progress = take_word(r->arena, &at);
            r->lock = take_word(r->arena, &at);
        }
        if (strcmp(kind, "rename") != 0) continue;
        if ((r->n & (r->n - 1)) == 0) {
            renaming *v = tra_news(r->arena, renaming, r->n ? 2 * r->n : 1);
            if (r->n) memcpy(v, r->v, (size_t)r->n * sizeof *v);
            r->v = v;
        }
        renaming *x = &r->v[r->n++];
        x->id[0] = strtoll(take_word(r->arena, &at), NULL, 10);
        x->id[1] = strtoll(take_word(r->arena, &at), NULL, 10);
        x->temp = take_word(r->arena, &at);
        x->target = take_word(r->arena, &at);
    }
    return see;
}

/* Loads the record at path `first`, following one reference. *there: it has renames. A reference to a record that is
 * gone is removed. */
static tra_status load(const char *first, record *r, bool *there, tra_err *e) {
    const char *path = first;
    *there = false;
    for (int hops = 0; path && hops < 2; hops++) {
        struct stat st;
        char *text;
        size_t n;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 && errno == ENOENT) {
            if (hops > 0) unlink(first);
            return TRA_OK;
        }
        if (fd >= 0) close(fd);
        if (fd < 0 || lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
            return tra_fail_errno(e, TRA_INPUT, "cannot read the commit record %s", path);
        TRA_TRY(tra_slurp(path, MAX_RECORD, &text, &n, e));
        bool whole = strncmp(text, "tra-commit 1\n", 13) == 0 && is_sealed(text, n);
        r->path = path;
        r->foreign = st.st_uid != geteuid();
        path = whole ? parse(r, text) : NULL;
        free(text);
        if (!whole)
            return tra_fail(e, TRA_INPUT,
                            "the commit record %s, which says which files a run was putting in place, is damaged or of "
                            "a newer tra; remove it to go on with the files as they are",
                            r->path);
    }
    *there = r->n > 0;
    return TRA_OK;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Writes a file whole or not at all. Its temporary file is named after the target, so that whoever writes that next
 * removes what is left of it. first: it must be in its folder before anything that comes later is. */
static tra_status put_file(const char *target, const char *path, tra_str *text, bool first, tra_err *e) {
    tra_temp t;
    put_seal(text);
    TRA_TRY(tra_temp_create(target, NULL, false, &t, e));
    free(t.target);
    t.target = tra_strdup(path);
    tra_status s = tra_pwrite(t.fd, text->s, text->n, 0, path, e);
    if (s == TRA_OK && !first) s = tra_temp_sync(&t, e);
    if (s == TRA_OK) return tra_temp_commit(&t, first, e);
    tra_temp_abort(&t);
    return s;
}

/* References first, then the record itself: with it, all is decided. */
static tra_status write_record(const record *r, tra_err *e) {
    tra_status s = TRA_OK;
    for (int i = 1; i < r->n && s == TRA_OK; i++) {
        tra_str line = {0};
        tra_str_add(&line, "tra-commit 1\nsee");
        put_word(&line, r->path);
        tra_str_add(&line, "\n");
        s = put_file(r->v[i].target, record_path(r->arena, r->v[i].target), &line, true, e);
        tra_str_free(&line);
    }
    if (s != TRA_OK) return s;
    tra_str text = {0};
    tra_str_printf(&text, "tra-commit 1\nstep %016" PRIx64 "\nprogress", r->step);
    put_word(&text, r->progress);
    put_word(&text, r->lock);
    for (int i = 0; i < r->n; i++) {
        tra_str_printf(&text, "\nrename %" PRId64 " %" PRId64, r->v[i].id[0], r->v[i].id[1]);
        put_word(&text, r->v[i].temp);
        put_word(&text, r->v[i].target);
    }
    tra_str_add(&text, "\n");
    s = put_file(r->v[0].target, r->path, &text, r->n > 1, e); /* one output is there, or not, with or without it */
    tra_str_free(&text);
    return s;
}

/* ---- renaming -------------------------------------------------------------------------------------------------- */

static bool is_file(const char *path, const int64_t id[2]) {
    struct stat st;
    return lstat(path, &st) == 0 && (int64_t)st.st_dev == id[0] && (int64_t)st.st_ino == id[1];
}

static bool is_pending(const record *r) {
    for (int i = 0; i < r->n; i++) {
        if (is_file(r->v[i].temp, r->v[i].id)) return true;
    }
    return false;
}

static tra_status rename_all(const renaming *v, int n, tra_err *e) {
    for (int i = 0; i < n; i++) { /* files that are in place already are skipped */
        if (is_file(v[i].temp, v[i].id))
            TRA_TRY(tra_put_in_place(v[i].temp, v[i].target, !tra_is_intermediate(v[i].target), e));
    }
    return TRA_OK;
}

static int by_target(const void *a, const void *b) {
    return strcmp(((const renaming *)a)->target, ((const renaming *)b)->target);
}

/* A path that another process, which may finish this in another working directory, understands. */
static const char *full_path(tra_arena *a, const char *path) {
    char *full = tra_resolve_folder(path);
    const char *out = tra_arena_strndup(a, full, strlen(full));
    free(full);
    return out;
}

static tra_status add_renaming(record *r, tra_temp *t, tra_err *e) {
    struct stat st;
    if (!tra_is_intermediate(t->target)) TRA_TRY(tra_temp_sync(t, e));
    if (fstat(t->fd, &st) != 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", t->path);
    r->v[r->n++] = (renaming){.id = {(int64_t)st.st_dev, (int64_t)st.st_ino},
                              .temp = full_path(r->arena, t->path),
                              .target = full_path(r->arena, t->target)};
    return TRA_OK;
}

tra_status tra_temps_commit(tra_temp *const *t, int n, const tra_commit_note *note, tra_err *e) {
    if (n == 0) return TRA_OK;
    record r = {.arena = tra_arena_new(), .progress = "", .lock = ""};
    bool decided = false;
    tra_status s = TRA_OK;
    r.v = tra_news(r.arena, renaming, n);
    for (int i = 0; i < n && s == TRA_OK; i++) s = add_renaming(&r, t[i], e);
    qsort(r.v, (size_t)r.n, sizeof *r.v, by_target);
    if (note) r.step = note->step;
    if (note && note->progress) r.progress = note->progress;
    if (note && note->lock) r.lock = note->lock;
    if (s == TRA_OK && (note || n > 1)) {
        r.path = record_path(r.arena, r.v[0].target);
        s = write_record(&r, e);
        decided = s == TRA_OK;
    }
    if (s == TRA_OK) s = rename_all(r.v, n, e);
    if (decided && s != TRA_OK && e) {
        size_t n_said = strlen(e->msg);
        snprintf(e->msg + n_said, sizeof e->msg - n_said,
                 "; all outputs are complete, and whoever reads or writes one next puts in place what is not yet");
    }
    for (int i = 0; i < n; i++) (decided || s == TRA_OK ? tra_temp_forget : tra_temp_keep)(t[i]);
    tra_arena_free(r.arena);
    return s;
}

/* ---- finishing what another process began ------------------------------------------------------------------------ */

/* Takes the locks of all targets, whose holder alone may rename. TRA_RESOURCE: a live process has one. */
static tra_status take_locks(const record *r, int *taken, tra_err *e) {
    bool first;
    for (*taken = 0; *taken < r->n; ++*taken) {
        tra_status s = tra_lock_take(r->v[*taken].target, r->v[*taken].target, &first, e);
        if (s == TRA_OK) continue;
        while (*taken > 0) tra_lock_drop(r->v[--*taken].target);
        return s;
    }
    return TRA_OK;
}

static void drop_locks(const record *r, int taken) {
    while (taken > 0) tra_lock_drop(r->v[--taken].target);
}

/* Removes what a run leaves when its outputs are in place: locks, progress, references, the record. */
static void remove_record(const record *r) {
    if (r->foreign) return;
    for (int i = 0; i < r->n; i++) tra_lock_clear(r->v[i].target);
    if (*r->progress) tra_remove_files_of(r->progress);
    if (*r->lock) tra_lock_clear(r->lock);
    for (int i = 1; i < r->n; i++) unlink(record_path(r->arena, r->v[i].target));
    unlink(r->path);
}

static tra_status finish(const char *path, const record *seen, tra_err *e) {
    int taken;
    bool there;
    TRA_TRY(take_locks(seen, &taken, e));
    record r = {.arena = seen->arena, .progress = "", .lock = ""};
    tra_status s = load(path, &r, &there, e); /* another process may have finished it meanwhile */
    if (s == TRA_OK && there && is_pending(&r)) {
        s = rename_all(r.v, r.n, e);
        if (s == TRA_OK)
            tra_info(0, "put %d file%s in place, which a run had completed before it was killed: %s%s", r.n,
                     r.n == 1 ? "" : "s", r.v[0].target, r.n == 1 ? "" : " and others");
    }
    drop_locks(seen, taken);
    return s;
}

tra_status tra_commit_settle(const char *path, tra_err *e) {
    enum { TRIES = 50 }; /* one every tenth of a second, while a live process holds a lock and renames */
    record r = {.arena = tra_arena_new(), .progress = "", .lock = ""};
    const char *own = record_path(r.arena, path);
    bool there = false;
    tra_status s = access(own, F_OK) == 0 ? load(own, &r, &there, e) : TRA_OK;
    for (int i = 0; s == TRA_OK && there && is_pending(&r); i++) {
        if (r.foreign)
            s = tra_fail(e, TRA_INPUT,
                         "%s is to be replaced by the output of a run that another user started and that was killed: "
                         "that user must "
                         "run it again first",
                         path);
        else
            s = finish(own, &r, e);
        if (s != TRA_RESOURCE || i == TRIES || tra_stop_asked()) break;
        if (i == 0) tra_info(0, "waiting: %s", e->msg); /* the message names the process */
        *e = (tra_err){0};
        s = TRA_OK;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    tra_arena_free(r.arena);
    return s;
}

bool tra_commit_done(const char *path, uint64_t step) {
    record r = {.arena = tra_arena_new(), .progress = "", .lock = ""};
    tra_err none = {0};
    bool there, done = load(record_path(r.arena, path), &r, &there, &none) == TRA_OK && there && r.step == step;
    for (int i = 0; done && i < r.n; i++) done = is_file(r.v[i].target, r.v[i].id);
    tra_arena_free(r.arena);
    return done;
}

void tra_commit_end(const char *path) {
    record r = {.arena = tra_arena_new(), .progress = "", .lock = ""};
    tra_err none = {0};
    bool there;
    if (load(record_path(r.arena, path), &r, &there, &none) == TRA_OK && there && !is_pending(&r)) remove_record(&r);
    tra_arena_free(r.arena);
}
