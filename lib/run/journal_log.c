/* journal_log.c - logs: a record for each saved array, appended during a run, read when another run resumes. */
#include "journal_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* A record in a file, and the first 64 bytes of the file (a record whose ordinal is HEAD). */
typedef struct record {
    int64_t ordinal;
    int32_t summand;
    uint32_t mask;
    int64_t at, len;
    uint64_t sum, lo, hi;
    uint64_t check; /* XXH64 of what is before, seeded by run and value, so that records of other logs do not count */
} record;
_Static_assert(sizeof(record) == 64, "records have no padding");
enum { HEAD = -1 };

enum { WAITING = 64, SMALL = 64 << 10 }; /* records of arrays smaller than SMALL wait to be written together */

struct tra_log {
    tra_journal *j;
    uint64_t value;
    pthread_mutex_t lock;
    int fd;
    int64_t end; /* of this rank's data file */
    int nfds;    /* data files of ranks 0.., opened when asked for */
    int *fds;
    tra_saved *saved;
    int64_t n, cap;
    atomic_bool added;
    int waiting;
    double since; /* when the first of them came */
    record wait[WAITING];
};

static char *file_name(const tra_log *l, int rank, const char *what) {
    return tra_asprintf("%s/%016" PRIx64 ".%d.%s", l->j->dir, l->value, rank, what);
}

static uint64_t check_of(const tra_log *l, const record *r) {
    return XXH64(r, offsetof(record, check), l->j->run ^ l->value);
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

void tra_journal_give_up(tra_journal *j, const char *why) {
    if (!atomic_exchange(&j->broken, true)) tra_warn("%s: what is finished from now on is not saved", why);
}

static void give_up(tra_log *l, const char *what) {
    char *why = tra_asprintf("%s in %s: %s", what, l->j->dir, strerror(errno));
    tra_journal_give_up(l->j, why);
    free(why);
}

/* Under the lock. */
static void write_waiting(tra_log *l) {
    int n = l->waiting;
    l->waiting = 0;
    if (n == 0 || l->j->broken) return;
    /* nothing follows a record that was cut short: whoever goes on cuts it off first */
    ssize_t put = write(l->fd, l->wait, (size_t)n * sizeof *l->wait);
    if (put != (ssize_t)((size_t)n * sizeof *l->wait)) {
        if (put >= 0) errno = ENOSPC;
        give_up(l, "cannot write");
    }
}

void tra_log_add(tra_log *l, const tra_saved *s) {
    if (!l) return;
    record r = {s->ordinal, s->summand, s->mask, s->at, s->len, s->sum, s->digest.lo, s->digest.hi, 0};
    r.check = check_of(l, &r);
    pthread_mutex_lock(&l->lock);
    if (l->waiting == 0) l->since = tra_now();
    l->wait[l->waiting++] = r;
    if (s->len >= SMALL || l->waiting == WAITING || tra_now() > l->since + 0.05) write_waiting(l);
    pthread_mutex_unlock(&l->lock);
    atomic_store(&l->added, true);
}

void tra_log_flush(tra_log *l) {
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    write_waiting(l);
    pthread_mutex_unlock(&l->lock);
}

int64_t tra_log_reserve(tra_log *l, int64_t len) {
    pthread_mutex_lock(&l->lock);
    int64_t at = l->end;
    l->end += len;
    pthread_mutex_unlock(&l->lock);
    return at;
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

static void add_saved(tra_log *l, const record *r, int rank) {
    TRA_ROOM(l->saved, l->n, l->cap);
    l->saved[l->n++] = (tra_saved){r->ordinal, r->summand, r->mask, r->at, r->len, r->sum, {r->lo, r->hi}, rank};
}

/* Reads a rank's log; false when it is not of this run. */
static bool read_log(tra_log *l, int rank) {
    char *path = file_name(l, rank, "log"), *text = NULL;
    tra_err none = {0};
    size_t n = 0;
    record r;
    bool ok = tra_slurp(path, SIZE_MAX / 2, &text, &n, &none) == TRA_OK && n >= sizeof r;
    free(path);
    if (ok) memcpy(&r, text, sizeof r);
    ok = ok && r.ordinal == HEAD && r.check == check_of(l, &r);
    for (size_t at = sizeof r; ok && at + sizeof r <= n; at += sizeof r) {
        memcpy(&r, text + at, sizeof r);
        if (r.check != check_of(l, &r)) continue;
        if (r.ordinal >= 0) {
            int64_t end;
            if (r.at < 0 || r.len < 0 || !tra_add(r.at, r.len, &end) || end > INT64_MAX / 2) continue; /* of no file */
            add_saved(l, &r, rank);
            if (rank == l->j->comm.rank) l->end = tra_max64(l->end, end);
        }
    }
    free(text);
    return ok;
}

static void read_logs(tra_log *l) {
    DIR *d = opendir(l->j->dir);
    char *prefix = tra_asprintf("%016" PRIx64 ".", l->value);
    for (struct dirent *f; d && (f = readdir(d));) {
        char *end;
        if (strncmp(f->d_name, prefix, strlen(prefix)) != 0) continue;
        long rank = strtol(f->d_name + strlen(prefix), &end, 10);
        if (strcmp(end, ".log") == 0 && rank >= 0 && rank < INT32_MAX) read_log(l, (int)rank);
    }
    if (d) closedir(d);
    free(prefix);
}

/* ---- opening -------------------------------------------------------------------------------------------------- */

/* Locks this rank's log. If only rank 0 of an earlier run was killed, its other ranks may still be writing theirs for a
 * moment: waits for them, where the file system has locks. */
static bool lock_own(int fd) {
    enum { PAUSE = 50 * 1000 * 1000 };
    double until = tra_now() + 15;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (tra_now() > until || tra_stop_asked()) return false;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    return true;
}

static bool open_own(tra_log *l, bool data) {
    int me = l->j->comm.rank;
    bool fresh = !l->j->resumed;
    char *path = file_name(l, me, "log"), *dat = file_name(l, me, "dat");
    struct stat st;
    l->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0600);
    bool ok = l->fd >= 0 && lock_own(l->fd) && fstat(l->fd, &st) == 0;
    record head;
    if (ok && !fresh) { /* it may be of another run, if scratch is local to this machine, or be cut short */
        ok = pread(l->fd, &head, sizeof head, 0) == sizeof head && head.ordinal == HEAD &&
             head.check == check_of(l, &head);
        fresh = !ok;
        ok = ftruncate(l->fd, fresh ? 0 : st.st_size / (off_t)sizeof head * (off_t)sizeof head) == 0;
    }
    if (ok && fresh) {
        head = (record){.ordinal = HEAD};
        head.check = check_of(l, &head);
        ok = write(l->fd, &head, sizeof head) == sizeof head;
    }
    if (ok && data) {
        l->nfds = me + 1;
        l->fds = tra_malloc((size_t)l->nfds * sizeof *l->fds);
        for (int i = 0; i <= me; i++) l->fds[i] = -1;
        l->fds[me] = open(dat, O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0600);
        ok = l->fds[me] >= 0;
    }
    free(path);
    free(dat);
    return ok;
}

tra_log *tra_log_opened(const tra_journal *j, int op) {
    for (int i = 0; i < j->plan->nops;
         i++) { /* operators with equal values, as before and after an exchange, share a log */
        if (j->logs[i] && j->values[i] == j->values[op]) return j->logs[i];
    }
    return NULL;
}

bool tra_log_exists(const tra_journal *j, int op) {
    DIR *d = opendir(j->dir);
    char prefix[32];
    bool found = false;
    snprintf(prefix, sizeof prefix, "%016" PRIx64 ".", j->values[op]);
    for (struct dirent *f; d && !found && (f = readdir(d));) found = strncmp(f->d_name, prefix, strlen(prefix)) == 0;
    if (d) closedir(d);
    return found;
}

tra_log *tra_log_open(tra_journal *j, int op, bool data) {
    if (!j || j->broken) return NULL;
    tra_log *l = tra_log_opened(j, op);
    if (l) return l;
    l = tra_calloc(1, sizeof *l);
    *l = (tra_log){.j = j, .value = j->values[op], .fd = -1};
    pthread_mutex_init(&l->lock, NULL);
    if (!open_own(l, data)) {
        give_up(l, "cannot make a log");
        tra_log_close(l);
        return NULL;
    }
    if (j->resumed) read_logs(l);
    j->logs[op] = l;
    return l;
}

void tra_log_discard(tra_log *l) {
    if (!l) return;
    for (int i = 0; i < l->j->plan->nops; i++) {
        if (l->j->logs[i] == l) l->j->logs[i] = NULL;
    }
    char *path = file_name(l, l->j->comm.rank, "log"), *dat = file_name(l, l->j->comm.rank, "dat");
    unlink(path);
    unlink(dat);
    free(path);
    free(dat);
    tra_log_close(l);
}

void tra_log_close(tra_log *l) {
    if (!l) return;
    if (l->fd >= 0) close(l->fd);
    for (int i = 0; i < l->nfds; i++) {
        if (l->fds[i] >= 0) close(l->fds[i]);
    }
    pthread_mutex_destroy(&l->lock);
    free(l->fds);
    free(l->saved);
    free(l);
}

const tra_saved *tra_log_saved(const tra_log *l, int64_t *n) {
    *n = l ? l->n : 0;
    return l ? l->saved : NULL;
}

bool tra_log_any(const tra_log *l) { return l && (l->n > 0 || l->added); }

int tra_log_fd(tra_log *l, int file) {
    pthread_mutex_lock(&l->lock);
    if (file >= l->nfds) {
        l->fds = tra_realloc(l->fds, (size_t)file + 1, sizeof *l->fds);
        for (int i = l->nfds; i <= file; i++) l->fds[i] = -1;
        l->nfds = file + 1;
    }
    if (l->fds[file] < 0) {
        char *path = file_name(l, file, "dat");
        l->fds[file] = open(path, O_RDONLY | O_CLOEXEC);
        free(path);
    }
    int fd = l->fds[file];
    pthread_mutex_unlock(&l->lock);
    return fd;
}

tra_status tra_log_open_saved(tra_log *l, int file, int *fd, tra_err *e) {
    errno = 0;
    *fd = tra_log_fd(l, file);
    if (*fd >= 0 || (errno != EMFILE && errno != ENFILE)) return TRA_OK;
    return tra_fail_errno(e, TRA_RESOURCE, "cannot open what rank %d saved: raise the limit of open files (ulimit -n)",
                          file);
}

bool tra_file_matches(int fd, int64_t at, int64_t len, uint64_t sum) {
    enum { PIECE = 256 << 10 };
    char *buf = tra_malloc(PIECE);
    XXH64_state_t *h = XXH64_createState();
    bool ok = h && XXH64_reset(h, 0) == XXH_OK;
    for (int64_t done = 0; ok && done < len;) {
        ssize_t got = pread(fd, buf, (size_t)tra_min64(PIECE, len - done), at + done);
        if (got < 0 && errno == EINTR) continue;
        ok = got > 0 && XXH64_update(h, buf, (size_t)got) == XXH_OK;
        done += got;
    }
    uint64_t have = ok ? XXH64_digest(h) : 0;
    XXH64_freeState(h);
    free(buf);
    return ok && (have == sum || (have == 0 && sum == 1)); /* 1 stands for 0 in the tables of outputs */
}
