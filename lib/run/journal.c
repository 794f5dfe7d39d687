/* journal.c - entries of the scratch directory: making, finding, refusing and removing them. */
#include "journal_int.h"

#include "../durable/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { MAX_ABOUT = 64 << 20 };

/* ---- names ---------------------------------------------------------------------------------------------------- */

/* Adds the path of an output, with its directory resolved, so that it is the same however the program spells it. */
static void put_place(const char *spec, tra_str *out) {
    tra_arena *a = tra_arena_new();
    const char *path, *name;
    tra_relspec(a, spec, &path, &name);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *dir = !slash ? tra_strdup(".") : tra_asprintf("%.*s", slash == path ? 1 : (int)(slash - path), path);
    char *real = realpath(dir, NULL);
    tra_str_printf(out, "output %s/%s:%s\n", real ? real : dir, base, name ? name : "");
    free(real);
    free(dir);
    tra_arena_free(a);
}

/* The digests that name the entry. */
static void digests(const tra_plan *p, const uint64_t *values, uint64_t *outputs, uint64_t *all) {
    tra_str places = {0}, v = {0};
    for (int i = 0; i < p->nops; i++) {
        if (p->ops[i].op != TRA_PLAN_OUTPUT) continue;
        put_place(p->ops[i].spec.path, &places);
        tra_str_addn(&v, (const char *)&values[i], sizeof values[i]);
    }
    *outputs = XXH64(tra_str_get(&places), places.n, 0);
    *all = XXH64(tra_str_get(&v), v.n, 0);
    tra_str_free(&places);
    tra_str_free(&v);
}

/* ---- removing ------------------------------------------------------------------------------------------------- */

/* Opens an entry's directory; NULL if it is none. A symbolic link is not followed. */
static DIR *open_dir(const char *entry) {
    int fd = open(entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !d) close(fd);
    return d;
}

/* Removes an entry; other ranks may be removing it at the same time. */
static void remove_entry(const char *dir) {
    if (tra_remove_files_of(dir)) tra_info(2, "removed %s", dir);
}

/* Calls fn on the entries of the scratch directory whose names begin so. */
static void each_entry(const char *scratch, const char *prefix, void (*fn)(const char *dir, void *ctx), void *ctx) {
    DIR *d = opendir(scratch);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strncmp(f->d_name, prefix, strlen(prefix)) != 0) continue;
        char *dir = tra_asprintf("%s/%s", scratch, f->d_name);
        fn(dir, ctx);
        free(dir);
    }
    if (d) closedir(d);
}

static void remove_other(const char *dir, void *ctx) {
    const char *ours = ctx;
    if (!ours || strcmp(dir, ours) != 0) remove_entry(dir);
}

/* ---- what an entry is about ------------------------------------------------------------------------------------ */

/* *text from malloc; NULL where there is none, or where it is damaged. */
static bool read_about(const char *dir, char **text, uint64_t *run) {
    char *path = tra_asprintf("%s/about", dir);
    tra_err none = {0};
    size_t n;
    *text = NULL;
    bool ok = tra_slurp(path, MAX_ABOUT, text, &n, &none) == TRA_OK;
    free(path);
    if (ok && sscanf(*text, "run %16" SCNx64, run) == 1 && strchr(*text, '\n')) return true;
    free(*text);
    *text = NULL;
    return false;
}

static bool write_about(const tra_journal *j, const char *about) {
    char *path = tra_asprintf("%s/about", j->dir), *text = tra_asprintf("run %016" PRIx64 "\n%s", j->run, about);
    bool ok = tra_replace_file(path, text, strlen(text), false, NULL) == TRA_OK;
    free(text);
    free(path);
    return ok;
}

/* Is the line (up to its end) one of the text? */
static bool has_line(const char *text, const char *line, size_t n) {
    for (const char *p = text; (p = strstr(p, "\n")) && *++p;) {
        if (strncmp(p, line, n) == 0 && (p[n] == '\n' || !p[n])) return true;
    }
    return false;
}

typedef struct other { /* an entry of the same outputs */
    char *dir, *text;
} other;

static void find_other(const char *dir, void *ctx) {
    other *o = ctx;
    uint64_t run;
    if (!o->dir && read_about(dir, &o->text, &run)) o->dir = tra_strdup(dir);
}

/* Does the line tell how a run makes its results, which is no part of what they are? Records are found by values, so
 * those that hold in the other way too are used. */
static bool is_of_way(const char *line) {
    static const char *const ways[] = {"--sites ", "--plan ",        "--memory ",        "--optimizer ",
                                       "--cost ",  "--reproducible", "no --reproducible"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strncmp(line, ways[i], strlen(ways[i])) == 0) return true;
    return false;
}

/* The first line of what is said now that the entry has not, and that tells what the results are; or NULL. */
static const char *first_added(const other *o, const char *about) {
    for (const char *line = about; *line; line += strcspn(line, "\n"), line += *line != 0)
        if (!is_of_way(line) && !has_line(o->text, line, strcspn(line, "\n"))) return line;
    return NULL;
}

/* Takes over the entry of a run of the same program and inputs that made its results in another way. False: it is of
 * something else, or cannot be had. */
static bool adopt(tra_journal *j, const other *o, const char *about) {
    char *now = tra_asprintf("\n%s", about), *text = NULL;
    tra_str differs = {0};
    bool ok = true;
    for (const char *line = strchr(o->text, '\n') + 1; *line && ok; line += strcspn(line, "\n"), line += *line != 0) {
        int n = (int)strcspn(line, "\n");
        if (has_line(now, line, (size_t)n)) continue;
        ok = is_of_way(line);
        if (strncmp(line, "--memory", 8) != 0) tra_str_printf(&differs, "%s%.*s", differs.n ? ", " : "", n, line);
    }
    ok = ok && !first_added(o, about) && rename(o->dir, j->dir) == 0 && read_about(j->dir, &text, &j->run) &&
         write_about(j, about);
    if (ok)
        tra_info(0, "--resume: the progress is of a run with %s: what this one makes in another way is computed again",
                 differs.n ? differs.s : "other options");
    tra_str_free(&differs);
    free(text);
    free(now);
    return ok;
}

/* ---- space ---------------------------------------------------------------------------------------------------- */

/* Refuses to resume: names the first thing that has changed since the entry was made. */
static tra_status refuse(const other *o, const char *about, tra_err *e) {
    static const char again[] = "run without --resume to begin anew";
    char *now = tra_asprintf("\n%s", about);
    tra_status s = TRA_OK;
    for (const char *line = strchr(o->text, '\n') + 1; *line && s == TRA_OK;
         line += strcspn(line, "\n"), line += *line != 0) {
        size_t n = strcspn(line, "\n"), kind = strcspn(line, " \n");
        if (has_line(now, line, n)) continue;
        if (kind == 5 && strncmp(line, "input", kind) == 0) {
            size_t name = kind + 1 + strcspn(line + kind + 1, " \n"), path = name + 1 + strcspn(line + name + 1, " \n");
            s = tra_fail(e, TRA_INPUT,
                         "--resume: input%.*s (%.*s) is not what it was when the run whose progress is in %s began; %s",
                         (int)(name - kind), line + kind, (int)(path - name - 1), line + name + 1, o->dir, again);
        } else if (kind == 7 && strncmp(line, "program", kind) == 0) {
            s = tra_fail(e, TRA_USAGE, "--resume: the program is not the one whose progress is in %s; %s", o->dir,
                         again);
        } else {
            s = tra_fail(e, TRA_USAGE,
                         "--resume: the progress in %s is of a run with %.*s, which makes its results in another "
                         "way; run with that, or without --resume to begin anew",
                         o->dir, (int)n, line);
        }
    }
    const char *added = first_added(o, about);
    if (s == TRA_OK && added)
        s = tra_fail(e, TRA_USAGE,
                     "--resume: the progress in %s is of a run without %.*s, which makes its results in another way; "
                     "run without that, or without --resume to begin anew",
                     o->dir, (int)strcspn(added, "\n"), added);
    if (s == TRA_OK)
        s = tra_fail(e, TRA_USAGE, "--resume: the progress in %s is of a run that makes its results in another way; %s",
                     o->dir, again);
    free(now);
    return s;
}

typedef struct holding {
    const tra_journal_request *r;
    const tra_plan *plan;
    int64_t bytes;
} holding;

/* Does the file hold arrays of an output? Others are saved besides what a plan may need. */
static bool is_of_output(const holding *h, const char *name) {
    uint64_t value;
    int rank, end = 0;
    if (sscanf(name, "%16" SCNx64 ".%d.dat%n", &value, &rank, &end) != 2 || end == 0) return false;
    for (int i = 0; i < h->plan->nops; i++)
        if (h->plan->ops[i].op == TRA_PLAN_OUTPUT && h->r->values[i] == value) return true;
    return false;
}

static void add_held(const char *dir, void *ctx) {
    holding *h = ctx;
    DIR *d = open_dir(dir);
    struct stat st;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (h->r->resume && !is_of_output(h, f->d_name)) continue;
        if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
        h->bytes += (int64_t)st.st_blocks * 512;
    }
    if (d) closedir(d);
}

int64_t tra_journal_bytes(const tra_journal_request *r, const tra_plan *plan) {
    holding h = {.r = r, .plan = plan};
    uint64_t outputs, all;
    char prefix[40];
    digests(plan, r->values, &outputs, &all);
    snprintf(prefix, sizeof prefix, "tra-%016" PRIx64, outputs);
    each_entry(r->dir, prefix, add_held, &h);
    return h.bytes;
}

/* ---- opening -------------------------------------------------------------------------------------------------- */

/* The entry's directory, made if need be and nobody else's. */
static bool make_dir(const char *dir) {
    struct stat st;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) return false;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* The outputs, for messages. From malloc. */
static char *outputs_text(const tra_plan *p) {
    tra_str s = {0};
    for (int i = 0; i < p->nops; i++)
        if (p->ops[i].op == TRA_PLAN_OUTPUT) tra_str_printf(&s, "%s%s", s.n ? ", " : "", p->ops[i].spec.path);
    return s.s ? s.s : tra_strdup("");
}

/* A run that was just killed may still be about to end; who goes on from it waits longer. */
static tra_status take_lock(const char *what, const char *path, bool resume, tra_err *e) {
    double until = tra_now() + (resume ? 15 : 3);
    for (;;) {
        bool first;
        tra_err why = {0};
        tra_status s = tra_lock_take(what, path, &first, &why);
        if (s != TRA_RESOURCE || tra_now() >= until || tra_stop_asked()) {
            *e = s == TRA_OK ? *e : why;
            return s;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

static void tell_nothing(const char *dir) {
    tra_info(0, "--resume: nothing is saved in %s of these outputs; this run starts from the beginning", dir);
}

/* Rank 0: finds the entry, or makes an empty one. *kept: there is a journal. */
static tra_status open_entry(tra_journal *j, const tra_journal_request *r, const char *prefix, bool *kept, tra_err *e) {
    char *text = NULL;
    *kept = false;
    char *inside = tra_asprintf("%s/.", r->dir); /* which a file has not */
    int denied = access(inside, W_OK | X_OK) == 0 ? 0 : errno;
    free(inside);
    if (denied) {
        tra_warn(
            "the scratch directory %s cannot be written (%s): should this run end early, it cannot be gone on with",
            r->dir, strerror(denied));
        if (r->resume) tell_nothing(r->dir);
        return TRA_OK;
    }
    char *lock = tra_asprintf("%s/%s", r->dir, prefix);
    char *what = outputs_text(j->plan);
    tra_status s = take_lock(what, lock, r->resume, e);
    free(what);
    if (s != TRA_OK) {
        free(lock);
        return s;
    }
    j->lock = lock;
    TRA_TRY(tra_stop_check(e)); /* the run may have been told to stop while it waited for the lock */
    if (r->resume) {
        other o = {0};
        j->resumed = make_dir(j->dir) && read_about(j->dir, &text, &j->run);
        free(text);
        if (!j->resumed) each_entry(r->dir, prefix, find_other, &o);
        if (o.dir) j->resumed = adopt(j, &o, r->about);
        if (o.dir && !j->resumed)
            s = refuse(&o, r->about, e);
        else if (!j->resumed)
            tell_nothing(r->dir);
        free(o.dir);
        free(o.text);
        if (s != TRA_OK) {
            remove_entry(j->dir);
            return s;
        }
    }
    *kept = j->resumed;
    if (j->resumed) return TRA_OK;
    each_entry(r->dir, prefix, remove_other, NULL);
    if (getrandom(&j->run, sizeof j->run, 0) != sizeof j->run)
        j->run = (uint64_t)(tra_now() * 1e9) ^ (uint64_t)getpid();
    *kept = make_dir(j->dir) && write_about(j, r->about);
    if (*kept) return TRA_OK;
    tra_warn("%s cannot be made (%s): should this run end early, it cannot be gone on with", j->dir, strerror(errno));
    remove_entry(j->dir);
    return TRA_OK;
}

static void journal_free(tra_journal *j) {
    for (int i = 0; i < j->plan->nops; i++) tra_log_close(j->logs[i]);
    if (j->lock) tra_lock_drop(j->lock);
    free(j->logs);
    free(j->lock);
    free(j->dir);
    free(j);
}

tra_status tra_journal_open(const tra_journal_request *r, const tra_plan *plan, const tra_comm *comm, tra_journal **out,
                            tra_err *e) {
    tra_journal *j = tra_calloc(1, sizeof *j);
    uint64_t all;
    char prefix[40];
    bool kept = false;
    tra_status s = TRA_OK;
    *out = NULL;
    *j = (tra_journal){.comm = *comm, .plan = plan, .values = r->values};
    j->logs = tra_calloc((size_t)plan->nops + 1, sizeof(tra_log *));
    digests(plan, r->values, &j->outputs, &all);
    snprintf(prefix, sizeof prefix, "tra-%016" PRIx64, j->outputs);
    j->dir = tra_asprintf("%s/%s-%016" PRIx64, r->dir, prefix, all);
    if (comm->rank == 0) s = open_entry(j, r, prefix, &kept, e);
    s = tra_comm_agree(comm, s, e);
    int64_t v[4] = {kept, j->resumed, (int64_t)j->run, (int64_t)j->outputs};
    tra_comm_bcast(comm, v, sizeof v);
    kept = v[0] && s == TRA_OK;
    j->resumed = v[1];
    j->run = (uint64_t)v[2];
    j->outputs = (uint64_t)v[3];
    if (kept && comm->rank != 0) { /* where every machine has a scratch directory of its own */
        if (!j->resumed) each_entry(r->dir, prefix, remove_other, j->dir);
        j->broken = !make_dir(j->dir);
        if (j->broken) tra_warn("rank %d cannot make %s: what it finishes is not saved", comm->rank, j->dir);
    }
    if (kept)
        *out = j;
    else
        journal_free(j);
    return s;
}

bool tra_journal_resumed(const tra_journal *j) { return j && j->resumed; }
bool tra_journal_broken(const tra_journal *j) { return j && j->broken; }
bool tra_journal_has_reported(const tra_journal *j) { return j && j->reported; }
const char *tra_journal_lock(const tra_journal *j) { return j ? j->lock : NULL; }
const char *tra_journal_path(const tra_journal *j) { return j ? j->dir : NULL; }

void tra_journal_report(tra_journal *j, int64_t there, int64_t all, const char *name) {
    j->reported = true;
    tra_info(0, "going on from %s: %" PRId64 " of %" PRId64 " blocks of %s are there", j->dir, there, all, name);
}

void tra_journal_report_turns(tra_journal *j, int64_t turns, int64_t most) {
    j->reported = true;
    tra_info(0, "going on from %s: %" PRId64 " of at most %" PRId64 " turns of a loop are done", j->dir, turns, most);
}

void tra_journal_report_if_nothing(tra_journal *j) {
    if (tra_journal_resumed(j) && !j->reported) tell_nothing(j->dir);
}

const char *tra_journal_tag(const tra_journal *j, char buf[64]) {
    if (!j) return NULL;
    snprintf(buf, 64, "r%016" PRIx64, j->run);
    return buf;
}

void tra_journal_flush(tra_journal *j) {
    for (int i = 0; j && i < j->plan->nops; i++) tra_log_flush(j->logs[i]);
}

bool tra_journal_has_any(const tra_journal *j) {
    if (j && j->resumed && j->broken) return true; /* perhaps in logs that could not be opened */
    for (int i = 0; j && i < j->plan->nops; i++) {
        if (tra_log_any(j->logs[i])) return true;
    }
    return false;
}

void tra_journal_close(tra_journal *j, bool keep) {
    if (!j) return;
    tra_journal_flush(j);
    tra_comm_barrier(&j->comm);
    if (!keep) remove_entry(j->dir);
    journal_free(j);
}
