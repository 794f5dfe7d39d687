/* lock.c - the advisory lock on writing a file. */
#include "store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct held {
    struct held *next;
    char *file;
    int count;
} held;

static held *all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

typedef struct owner {
    char host[256];
    long pid;
    long long start;
} owner;

/* However the directory is spelled, one file has one lock. */
static char *lock_name(const char *path) {
    char *real = tra_in_real_folder(path);
    const char *slash = strrchr(real, '/'), *base = slash ? slash + 1 : real;
    char *name = tra_asprintf("%.*s.%s.tra-lock", (int)(base - real), real, base);
    free(real);
    return name;
}

/* The second in which a process began: start in ticks since boot plus the time of boot, so that it still tells two
 * processes of one pid apart after a reboot. -1 if there is no such process, 0 if it has ended and nobody has asked
 * how. */
static long long started(long pid) {
    char name[64], *text, *p;
    size_t n;
    tra_err e = {0};
    long long ticks = -1, boot = -1;
    char state = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    if (tra_slurp(name, 1 << 16, &text, &n, &e) != TRA_OK) return -1;
    if ((p = strrchr(text, ')'))) /* the name in parentheses may hold anything; field 22 is the 20th after it */
        sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld", &state,
               &ticks);
    free(text);
    if (state == 'Z' || state == 'X') return 0;
    if (tra_slurp("/proc/stat", 1 << 24, &text, &n, &e) != TRA_OK) return -1;
    if ((p = strstr(text, "\nbtime "))) sscanf(p, " btime %lld", &boot);
    free(text);
    return ticks < 0 || boot < 0 ? -1 : boot + ticks / sysconf(_SC_CLK_TCK);
}

static void this_process(owner *o) {
    memset(o, 0, sizeof *o);
    if (gethostname(o->host, sizeof o->host - 1) != 0 || !o->host[0]) snprintf(o->host, sizeof o->host, "localhost");
    o->pid = getpid();
    o->start = started(o->pid);
}

static bool parse(const char *text, owner *o) {
    memset(o, 0, sizeof *o);
    return sscanf(text, "%255s %ld %lld", o->host, &o->pid, &o->start) == 3;
}

bool tra_process_gone(long pid) { return (kill((pid_t)pid, 0) != 0 && errno == ESRCH) || started(pid) == 0; }

static bool provably_dead(const owner *o) {
    owner me;
    this_process(&me);
    if (strcmp(o->host, me.host) != 0) return false;
    if (tra_process_gone(o->pid)) return true;
    long long start = started(o->pid);
    return start > 0 && o->start >= 0 && llabs(start - o->start) > 2; /* the pid was given to another; 2: rounding */
}

/* Puts a whole lock file in place, or fails with EEXIST: link is atomic on NFS too. */
static tra_status place(const char *file, const owner *me, bool *placed, tra_err *e) {
    tra_status s = TRA_OK;
    char text[400], *temp = tra_asprintf("%s.%ld", file, me->pid);
    int n = snprintf(text, sizeof text, "%s %ld %lld\n", me->host, me->pid, me->start);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    *placed = false;
    if (fd < 0 || write(fd, text, (size_t)n) != n) {
        s = tra_fail_errno(e, TRA_INPUT, "cannot create %s", temp);
    } else if (link(temp, file) == 0) {
        *placed = true;
    } else if (errno != EEXIST) { /* a file system without hard links */
        int direct = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        *placed = direct >= 0 && write(direct, text, (size_t)n) == n;
        if (!*placed && errno != EEXIST) s = tra_fail_errno(e, TRA_INPUT, "cannot create %s", file);
        if (direct >= 0) close(direct);
        if (direct >= 0 && !*placed) unlink(file); /* half a lock would be in everybody's way */
    }
    if (fd >= 0) close(fd);
    unlink(temp);
    free(temp);
    return s;
}

/* Removes the lock of a dead owner, but not one that a third process has put there meanwhile. */
static void remove_stale(const char *file, const owner *dead) {
    char *aside = tra_asprintf("%s.%ld.stale", file, (long)getpid()), *text = NULL;
    size_t n;
    owner o;
    tra_err e = {0};
    tra_cleanup_add(aside);
    if (rename(file, aside) == 0) {
        if (tra_slurp(aside, 4096, &text, &n, &e) == TRA_OK && parse(text, &o) &&
            (o.pid != dead->pid || o.start != dead->start || strcmp(o.host, dead->host) != 0) && link(aside, file) != 0)
            tra_warn("the lock %s of process %ld on %s was disturbed", file, o.pid, o.host);
        unlink(aside);
        free(text);
    }
    tra_cleanup_drop(aside);
    free(aside);
}

static tra_status take(const char *path, const char *file, tra_err *e) {
    owner me, o;
    bool placed;
    this_process(&me);
    for (int tries = 0; tries < 20; tries++) {
        char *text = NULL;
        size_t n;
        tra_err unread = {0};
        TRA_TRY(place(file, &me, &placed, e));
        if (placed) return TRA_OK;
        if (tra_slurp(file, 4096, &text, &n, &unread) != TRA_OK) continue; /* just removed by its owner */
        bool known = parse(text, &o);
        free(text);
        if (!known)
            return tra_fail(e, TRA_RESOURCE,
                            "%s is being written, but its lock %s does not say by whom; if no process "
                            "is writing it, remove the lock",
                            path, file);
        if (!provably_dead(&o))
            return tra_fail(e, TRA_RESOURCE,
                            "%s is being written by process %ld on %s; if that process is gone, remove "
                            "the lock %s",
                            path, o.pid, o.host, file);
        tra_info(1, "taking over the lock of process %ld on %s, which is gone: %s", o.pid, o.host, path);
        remove_stale(file, &o);
    }
    return tra_fail(e, TRA_RESOURCE, "cannot get the lock %s: other processes keep taking it", file);
}

tra_status tra_lock_take(const char *path, bool *first, tra_err *e) {
    tra_status s = TRA_OK;
    char *file = lock_name(path);
    pthread_mutex_lock(&mutex);
    held *h = all;
    while (h && strcmp(h->file, file) != 0) h = h->next;
    *first = !h;
    if (h) {
        h->count++;
    } else if ((s = take(path, file, e)) == TRA_OK) {
        h = tra_calloc(1, sizeof *h);
        *h = (held){.next = all, .file = tra_strdup(file), .count = 1};
        all = h;
        tra_cleanup_add(file);
    }
    pthread_mutex_unlock(&mutex);
    free(file);
    return s;
}

void tra_lock_drop(const char *path) {
    char *file = lock_name(path);
    pthread_mutex_lock(&mutex);
    for (held **p = &all; *p; p = &(*p)->next) {
        held *h = *p;
        if (strcmp(h->file, file) != 0) continue;
        if (--h->count == 0) {
            unlink(file);
            tra_cleanup_drop(file);
            *p = h->next;
            free(h->file);
            free(h);
        }
        break;
    }
    pthread_mutex_unlock(&mutex);
    free(file);
}
