/* stand_in.c - what stands in for files that are not HDF5: made in the scratch directory, or found there.
 *
 * Its name tells path, size, time, inode and options of the file by a hash; all of these are its history, which is
 * compared. Who uses it holds a shared lock on it; the last one removes it, unless it is kept. */
#include "stand_in.h"

#include "pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

tra_stand_in_options tra_stand_ins;

/* What was made or found so far, by its spec. */
typedef struct made {
    struct made *next;
    const char *spec;
    tra_stand_in is;
    int lock;      /* the file, with a shared lock; -1: nothing stands in */
    bool narrowed; /* it may lack columns, and can be made again */
} made;

/* What a program uses of a file that it names so. */
typedef struct used {
    struct used *next;
    const char *spec;
    int n, nonly; /* n -1: all */
    const char **words, **only;
} used;

static struct {
    tra_arena *arena;
    made *first;
    used *used;
    bool wide;        /* no file shall lack columns */
    const char *word; /* of pipes */
    bool reads_pipes;
} all;

const char *tra_pipe_word(void) {
    const char *given = getenv("TRA_PIPES");
    if (all.word) return all.word;
    all.reads_pipes = !given;
    all.word = given ? tra_strdup(given) : tra_asprintf("%ld-%.9f", (long)getpid(), tra_now());
    if (!given) setenv("TRA_PIPES", all.word, 1);
    return all.word;
}

void tra_pipe_word_take(const char *word) {
    if (all.word && strcmp(all.word, word) == 0) return;
    all.word = tra_strdup(word);
    all.reads_pipes = false;
}

/* ---- which file it is ------------------------------------------------------------------------------------------ */

typedef struct wanted {
    tra_arena *arena;
    tra_file_spec at;
    tra_reading reading;
    tra_pattern files;                     /* of a pattern */
    const char *identity, *kept, *passing; /* paths that it has in the scratch directory */
    bool pipe, told;                       /* a pipe; of a format that the spec names */
    tra_make_file *make;                   /* what is made of no file; else NULL */
    void *ctx;
} wanted;

static bool is_hdf5(const tra_format *f) { return f && f->opens_itself; }

/* Sets the options: those of the spec, which its format must have, and those for all files. */
static tra_status set_options(wanted *w, const char *spec, tra_err *e) {
    static const tra_reading none;
    w->reading = none;
    const tra_option *o;
    for (int i = 0; tra_stand_ins.reading && (o = tra_option_at(true, i)); i++)
        if (!w->at.format || tra_option_is_for(o, true, w->at.format->name))
            tra_option_copy(o, tra_stand_ins.reading, &w->reading);
    return tra_spec_options(&w->at, spec, &w->reading, w->arena, e);
}

/* Says which columns are wanted, if not all are. */
static void leave_out(wanted *w, const char *spec) {
    if (tra_stand_ins.keep || tra_stand_ins.whole || all.wide) return;
    for (const used *u = all.used; u; u = u->next) {
        if (strcmp(u->spec, spec) != 0) continue;
        if (u->n > 0) w->reading.wanted = (tra_strlist){.n = u->n, .v = u->words};
        if (w->pipe) w->reading.must = (tra_strlist){.n = u->nonly, .v = u->only};
    }
}

/* The paths of what a text tells of. */
static void name_files(wanted *w, const char *text) {
    w->identity = tra_arena_printf(w->arena, "%s %s", text, TRA_VERSION);
    uint64_t hash = XXH64(w->identity, strlen(w->identity), 0);
    w->kept = tra_arena_printf(w->arena, "%s/" TRA_KEPT_NAME "%016" PRIx64 ".h5", tra_stand_ins.scratch, hash);
    w->passing = tra_arena_printf(w->arena, "%s/" TRA_IMPORT_NAME "%016" PRIx64 ".h5", tra_stand_ins.scratch, hash);
}

/* All that decides what is made of the file. */
static tra_status identify(wanted *w, const char *spec, tra_err *e) {
    const char *path = w->at.path;
    tra_str text = {0};
    struct stat st;
    const char *real = realpath(path, NULL);
    bool is_stdin = strcmp(path, "-") == 0;
    for (int i = 0; i < w->files.n; i++) {
        if (stat(w->files.path[i], &st) != 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", w->files.path[i]);
        tra_str_printf(&text, "%s %lld %lld.%09ld %llu ", w->files.path[i], (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    }
    if (w->files.n)
        real = getcwd(NULL, 0);
    else if (!is_stdin && stat(path, &st) != 0)
        return tra_fail_errno(e, TRA_INPUT, "cannot open %s", path);
    w->pipe = is_stdin || (!w->files.n && !S_ISREG(st.st_mode));
    if (w->pipe)
        tra_str_printf(&text, "%s of %s", path, tra_pipe_word());
    else
        tra_str_printf(&text, "%s %lld %lld.%09ld %llu", real ? real : path, (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    tra_str_printf(&text, " %s", w->at.format ? w->at.format->name : "-");
    if (w->at.dataset) tra_str_printf(&text, ":%s", w->at.dataset);
    leave_out(w, spec);
    tra_reading_text(&w->reading, &text);
    const tra_strlist *only = &w->reading.wanted;
    for (int i = 0; i < only->n; i++) tra_str_printf(&text, "%s%s", i ? "," : " of ", only->v[i]);
    name_files(w, tra_str_get(&text));
    tra_str_free(&text);
    free((char *)real);
    return TRA_OK;
}

/* ---- finding --------------------------------------------------------------------------------------------------- */

/* Opens a file of this user with a shared lock; -1: there is none. */
static int take_shared(const char *path) {
    for (;;) {
        struct stat a, b;
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) return -1;
        bool ok = fstat(fd, &a) == 0 && S_ISREG(a.st_mode) && a.st_uid == geteuid() && flock(fd, LOCK_SH) == 0;
        if (ok && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) return fd;
        close(fd);
        if (!ok) return -1; /* else it was removed or replaced meanwhile */
    }
}

/* Is the file made of just what is wanted? */
static bool is_of(const wanted *w, const char *path) {
    tra_rel *rel;
    tra_err e = {0};
    const tra_file_hooks *hooks = tra_file_hooks_set;
    tra_file_hooks_set = NULL;
    bool is = tra_rel_open(path, NULL, &rel, &e) == TRA_OK;
    tra_file_hooks_set = hooks;
    if (!is) return false;
    const char *history = tra_rel_info(rel)->history;
    is = history && strcmp(history, w->identity) == 0;
    tra_rel_close(rel);
    return is;
}

static bool find(const wanted *w, made *m) {
    const char *paths[] = {w->kept, w->passing};
    for (int i = 0; i < 2; i++) {
        m->lock = take_shared(paths[i]);
        if (m->lock < 0) continue;
        m->is.path = paths[i];
        if (is_of(w, paths[i])) return true;
        close(m->lock);
        m->lock = -1;
    }
    return false;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* Where the elements lie in the file as they are in memory. */
static bool lies_in_place(const tra_source *s, int64_t *offset) {
    if (s->format->box != tra_flat_source_box || s->access != TRA_ACCESS_BOX || !s->in.seekable) return false;
    const tra_flat *f = s->state;
    *offset = s->in.base + f->offset;
    bool plain = tra_elem_of(tra_elem_dtype(f->elem)) == f->elem;
    return plain && (!f->swap || tra_elem_size(f->elem) == 1) && !s->fortran;
}

/* Makes a file that refers to the elements of this one, if they can be read where they are. */
static tra_status refer(const wanted *w, const tra_file_job *job, bool *done, tra_err *e) {
    tra_source *s;
    int64_t offset;
    const tra_reading *r = job->reading;
    *done = false;
    if (w->pipe || !job->format || job->format->box != tra_flat_source_box) return TRA_OK;
    bool typed = r->dtype && !job->format->typeless;
    if (typed || r->block || r->storage || r->components.n) return TRA_OK;
    tra_source_options o;
    TRA_TRY(tra_source_options_of(job, &o, e));
    TRA_TRY(tra_source_open(job->from, job->format, &o, &s, e));
    tra_status status = TRA_OK;
    int64_t elements = 0;
    if (lies_in_place(s, &offset) && s->shape.n <= TRA_MAXDIM / 2 && tra_dims_product(&s->shape, &elements) &&
        elements > 0) {
        char *real = realpath(w->at.path, NULL);
        *done = real != NULL;
        if (real) status = tra_store_external(job->to, real, offset, s->dtype, &s->shape, w->identity, e);
        free(real);
    }
    tra_source_close(s);
    return status;
}

static tra_status convert(const wanted *w, const tra_file_job *job, made *m, tra_err *e) {
    tra_file_receipt r;
    tra_arena *a = tra_arena_new();
    tra_status s = tra_import_file(job, a, &r, e);
    if (s == TRA_OK) {
        m->is.how = "converted";
        m->is.format = r.table ? "csv" : r.values.format;
        m->is.bytes_in = r.table ? r.rows.bytes_in : r.values.bytes_in;
        m->is.bytes_stored = r.table ? r.rows.bytes_stored : r.values.bytes_stored;
        if (r.rows.left) m->is.left = tra_arena_printf(all.arena, "%s", r.rows.left);
        tra_import_warn(w->at.path, &r, &w->reading);
        const tra_option *o;
        for (int i = 0; !w->at.format && w->at.options && (o = tra_option_at(true, i)) && s == TRA_OK; i++)
            if (tra_option_given(o, &w->reading) && !tra_option_is_for(o, true, m->is.format))
                s = tra_fail(e, TRA_USAGE, "%s: %s has no option %s", w->at.path, m->is.format, o->name);
    }
    tra_arena_free(a);
    return s;
}

/* Where it is made. */
static const char *target_of(const wanted *w) {
    return tra_stand_ins.keep && !w->pipe && !w->make ? w->kept : w->passing;
}

static tra_status take_made(const wanted *w, const char *to, made *m, tra_err *e) {
    if (to == w->passing) tra_cleanup_add(to);
    m->is.path = to;
    m->lock = take_shared(to);
    return m->lock >= 0 ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "%s: what was made of it is gone", w->at.path);
}

/* The first of the files that is not empty; the last one where all are. */
static int first_with_text(const tra_pattern *p) {
    struct stat st;
    int i = 0;
    while (i < p->n - 1 && stat(p->path[i], &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) i++;
    return i;
}

/* Makes it once; TRA_RESOURCE also where another process is making it. */
static tra_status make(const wanted *w, made *m, tra_err *e) {
    const char *to = target_of(w);
    if (w->make) {
        TRA_TRY(w->make(w->ctx, w->identity, to, e));
        return take_made(w, to, m, e);
    }
    const char *from = w->at.dataset ? tra_arena_printf(w->arena, "%s:%s", w->at.path, w->at.dataset) : w->at.path;
    tra_file_job job = {.from = from,
                        .to = to,
                        .format = w->at.format,
                        .reading = &w->reading,
                        .progress = tra_stand_ins.progress,
                        .memory = tra_ceiling,
                        .history = w->identity,
                        .alone = true};
    bool referred;
    tra_reading several = w->reading;
    tra_pattern files = w->files;
    if (files.tables) TRA_TRY(tra_pattern_export(&w->at, &files, to, tra_ceiling, w->arena, &several, e));
    if (files.n) {
        int first = first_with_text(&files);
        several.more = (tra_strlist){.n = files.n - first - 1, .v = files.path + first + 1};
        job.from = files.path[first];
        job.format = tra_format_find("csv");
        job.reading = &several;
    }
    if (!job.format && !w->pipe) job.format = tra_spec_sniff(w->at.path);
    m->is.format = job.format ? job.format->name : "";
    m->is.how = "in place";
    m->is.path = to;
    TRA_TRY(refer(w, &job, &referred, e));
    if (!w->told && !files.n) job.format = NULL; /* what a name or content tells, the import judges: it may be JSON */
    tra_status s = referred ? TRA_OK : convert(w, &job, m, e);
    if (files.tables) tra_pattern_remove(&files);
    return s == TRA_OK ? take_made(w, to, m, e) : s;
}

static tra_status find_or_make(const wanted *w, made *m, tra_err *e) {
    double begun = tra_now();
    mode_t mask;
    tra_make_directory(tra_stand_ins.scratch);
    for (;;) {
        m->is.how = "found";
        m->is.format = w->at.format ? w->at.format->name : "";
        if (find(w, m)) return TRA_OK;
        if (w->pipe && !all.reads_pipes)
            return tra_fail(e, TRA_INPUT,
                            "%s is a pipe, which one process alone can read: its scratch directory %s "
                            "must be the same for all ranks",
                            w->at.path, tra_stand_ins.scratch);
        mask = umask(077);
        tra_status s = make(w, m, e);
        umask(mask);
        m->is.seconds = tra_now() - begun;
        if (s == TRA_OK || e->kind != TRA_KIND_LOCKED) return s; /* else another process makes it */
        *e = (tra_err){0};
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

/* ---- the hooks ------------------------------------------------------------------------------------------------- */

/* Is it a file of another format, so that something has to stand in? Errors are those of the spec. */
static tra_status is_foreign(wanted *w, const char *spec, bool *is, tra_err *e) {
    tra_file_spec *at = &w->at;
    *is = false;
    tra_spec_parse(spec, w->arena, at);
    w->told = at->format != NULL;
    if (strcmp(at->path, "-") == 0) return *is = true, TRA_OK;
    TRA_TRY(tra_pattern_files(at->path, w->arena, &w->files, e));
    if (w->files.n == 1) at->path = w->files.path[0], w->files.n = 0;
    *is = w->files.n > 0;
    if (*is) return tra_pattern_check(at, &w->files, e);
    bool signed_ = tra_spec_is_hdf5(at->path), told = w->told;
    if (!told) at->format = tra_format_by_suffix(at->path);
    if (access(at->path, F_OK) != 0 && !is_hdf5(at->format) && (told || at->format || at->options))
        return tra_fail_errno(e, TRA_INPUT, "cannot open %s", at->path);
    if (at->format && !is_hdf5(at->format) && signed_ && !(told && at->format->typeless))
        return tra_fail(e, TRA_INPUT, "%s is an HDF5 file, and not %s as %s says: rename it, or write h5:%s", at->path,
                        at->format->name, told ? "the prefix" : "its name", at->path);
    if (signed_ || is_hdf5(at->format)) {
        if (at->options) return tra_fail(e, TRA_USAGE, "%s: an HDF5 file is read as it is, without options", at->path);
        return TRA_OK;
    }
    *is = at->format || tra_spec_sniff(at->path) || told;
    return TRA_OK;
}

/* Of an HDF5 file with a prefix: the path that is opened. */
static void without_prefix(const wanted *w, const char *spec, tra_stand_in *out) {
    if (!tra_spec_prefix(spec) || w->at.format->typeless) return; /* raw: tra_rel_open knows it */
    out->file = out->path = tra_arena_printf(all.arena, "%s", spec + tra_spec_prefix(spec));
}

double tra_stand_ins_seconds(void) {
    double seconds;
    const char *told = getenv("TRA_CONVERTED"); /* also by who launched this process */
    return told && tra_parse_num(told, &seconds) ? seconds : 0;
}

/* Finds or makes what is wanted, and notes that the spec stands for it. */
static tra_status obtain(const wanted *w, const char *spec, const char *file, tra_stand_in *out, tra_err *e) {
    made *m = tra_new(all.arena, made);
    char text[40];
    m->lock = -1;
    TRA_TRY(find_or_make(w, m, e));
    snprintf(text, sizeof text, "%.6f", tra_stand_ins_seconds() + m->is.seconds);
    if (m->is.seconds > 0 && !w->make) setenv("TRA_CONVERTED", text, 1); /* tables of the plan count as planning */
    m->spec = tra_arena_printf(all.arena, "%s", spec);
    m->narrowed = w->reading.wanted.n > 0 && !w->pipe;
    m->is.path = tra_arena_printf(all.arena, "%s", m->is.path);
    m->is.identity = tra_arena_printf(all.arena, "%s", w->identity);
    m->is.file = tra_arena_printf(all.arena, "%s", file);
    m->next = all.first, all.first = m, *out = m->is;
    return TRA_OK;
}

tra_status tra_stand_in_made(const char *identity, tra_make_file *make, void *ctx, const char **path, tra_err *e) {
    tra_stand_in is;
    for (made *m = all.first; m; m = m->next)
        if (strcmp(m->spec, identity) == 0) return *path = m->is.path, TRA_OK;
    wanted w = {.arena = tra_arena_new(), .make = make, .ctx = ctx};
    w.at.path = "a table";
    name_files(&w, identity);
    tra_status s = obtain(&w, identity, w.at.path, &is, e);
    if (s == TRA_OK) *path = is.path;
    tra_arena_free(w.arena);
    return s;
}

static tra_status input(const char *spec, tra_stand_in *out, tra_err *e) {
    *out = (tra_stand_in){0};
    for (made *m = all.first; m; m = m->next)
        if (strcmp(m->spec, spec) == 0) return *out = m->is, TRA_OK;
    wanted w = {.arena = tra_arena_new()};
    bool foreign;
    tra_status s = is_foreign(&w, spec, &foreign, e);
    if (s == TRA_OK && !foreign) without_prefix(&w, spec, out);
    if (s == TRA_OK && foreign) s = set_options(&w, spec, e);
    if (s == TRA_OK && foreign) s = identify(&w, spec, e);
    if (s == TRA_OK && foreign) s = obtain(&w, spec, w.at.path, out, e);
    tra_arena_free(w.arena);
    return s;
}

/* Has the last part of the path a suffix? */
static const char *suffix_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot > name && dot[1] ? dot : NULL;
}

tra_status tra_output_format(const char *spec, tra_arena *a, const tra_format **format, const char **path, tra_err *e) {
    tra_file_spec at;
    tra_spec_parse(spec, a, &at);
    *path = at.path;
    *format = at.format ? at.format : tra_format_by_suffix(at.path);
    if (at.options) return tra_fail(e, TRA_USAGE, "%s: options of a file are for reading it", spec);
    if (strcmp(at.path, "-") == 0 && !at.format) *format = tra_format_find("csv");
    if (!*format && suffix_of(at.path))
        return tra_fail(e, TRA_USAGE, "no format has the suffix %s: write h5:%s for HDF5, or another prefix of %s",
                        suffix_of(at.path), at.path, tra_format_choices());
    if (*format == tra_format_find("h5ad")) { /* which other programs read: a relation there would not do */
        if (at.dataset) *path = tra_arena_printf(a, "%s::%s", at.path, at.dataset);
    } else if (is_hdf5(*format)) {
        *format = NULL;
    }
    return TRA_OK;
}

static tra_status output(const char *spec, tra_arena *a, const char **to, bool *other, tra_err *e) {
    const tra_format *format;
    const char *path;
    TRA_TRY(tra_output_format(spec, a, &format, &path, e));
    *other = format != NULL;
    *to = spec + tra_spec_prefix(spec);
    if (!*other) return TRA_OK;
    char *real = tra_resolve_folder(path);
    uint64_t hash = XXH64(real, strlen(real), 0);
    if (strcmp(path, "-") == 0) hash = XXH64(tra_pipe_word(), strlen(tra_pipe_word()), hash);
    free(real);
    tra_make_directory(tra_stand_ins.scratch);
    *to = tra_arena_printf(a, "%s/" TRA_OUTPUT_NAME "%016" PRIx64 ".h5", tra_stand_ins.scratch, hash);
    return TRA_OK;
}

static void columns(const char *spec, int n, const char *const *words, const bool *only) {
    used *u = all.used;
    while (u && strcmp(u->spec, spec) != 0) u = u->next;
    if (u && n >= 0) return; /* the same program has the same words */
    if (!u) {
        u = tra_new(all.arena, used);
        *u = (used){.next = all.used, .spec = tra_arena_printf(all.arena, "%s", spec)};
        all.used = u;
    }
    u->n = n;
    u->words = tra_news(all.arena, const char *, n + 1);
    u->only = tra_news(all.arena, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        u->words[i] = tra_arena_printf(all.arena, "%s", words[i]);
        if (only[i]) u->only[u->nonly++] = u->words[i];
    }
}

static void let_go(made **at) {
    made *m = *at;
    *at = m->next;
    if (m->lock < 0) return;
    const char *slash = strrchr(m->is.path, '/');
    bool kept = strncmp(slash + 1, TRA_KEPT_NAME, strlen(TRA_KEPT_NAME)) == 0;
    if (!kept && flock(m->lock, LOCK_EX | LOCK_NB) == 0) (void)unlink(m->is.path);
    tra_cleanup_drop(m->is.path);
    close(m->lock);
}

static bool widen(void) {
    bool any = false;
    all.wide = true;
    for (made **m = &all.first; *m;) {
        any |= (*m)->narrowed;
        if ((*m)->narrowed)
            let_go(m);
        else
            m = &(*m)->next;
    }
    return any;
}

void tra_stand_ins_begin(void) {
    static const tra_file_hooks hooks = {
        .prefix = tra_spec_prefix, .input = input, .output = output, .columns = columns, .widen = widen};
    all.arena = tra_arena_new();
    tra_file_hooks_set = &hooks;
}

void tra_stand_ins_end(void) {
    while (all.first) let_go(&all.first);
    if (all.arena) tra_arena_free(all.arena);
    all.arena = NULL;
    tra_file_hooks_set = NULL;
}
