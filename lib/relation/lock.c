/* lock.c - the advisory lock on writing a file. */
#include "store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

/* A process, with what makes its number unique: the boot of the kernel, the pid namespace, and when it began.
 * The text of a lock is "HOST PID tSTART BOOT SPACE COMMAND". Locks of earlier versions have START without t, in
 * seconds of a clock that may have been set since: their owners are gone when no process has their number. */
typedef struct owner {
    char host[256];
    long pid;
    long long start;          /* tra_process_started; -1: not known */
    char boot[40];            /* "-": not known, as in locks of earlier versions */
    unsigned long long space; /* inode of the pid namespace; 0: not known */
    char command[128];        /* "": not known */
} owner;

/* The path of the lock: the same for each spelling of a file's folder. */
static char *lock_name(const char *path) {
    char *real = tra_resolve_folder(path);
    const char *slash = strrchr(real, '/'), *base = slash ? slash + 1 : real;
    char *name = tra_asprintf("%.*s.%s.tra-lock", (int)(base - real), real, base);
    free(real);
    return name;
}

/* The command line of this process: its program without the folder, and arguments with blanks between them. */
static void own_command(char *to, size_t n) {
    char *text;
    size_t len;
    if (tra_slurp("/proc/self/cmdline", 1 << 24, &text, &len, NULL) != TRA_OK) return;
    for (size_t i = 0; i + 1 < len; i++)
        if ((unsigned char)text[i] < ' ') text[i] = ' ';
    const char *program = text + strcspn(text, " ");
    while (program > text && program[-1] != '/') program--;
    snprintf(to, n, "%s", program);
    free(text);
}

static void this_process(owner *o) {
    char *boot;
    size_t n;
    *o = (owner){.pid = getpid(), .boot = "-"};
    if (gethostname(o->host, sizeof o->host - 1) != 0 || !o->host[0]) snprintf(o->host, sizeof o->host, "localhost");
    o->start = tra_process_started(o->pid);
    o->space = tra_process_space();
    if (tra_slurp("/proc/sys/kernel/random/boot_id", 4096, &boot, &n, NULL) == TRA_OK) {
        (void)sscanf(boot, "%39s", o->boot);
        free(boot);
    }
    own_command(o->command, sizeof o->command);
}

static bool parse(const char *text, owner *o) {
    char start[32] = "";
    *o = (owner){.start = -1, .boot = "-"};
    int n = sscanf(text, "%255s %ld %31s %39s %llu %127[^\n]", o->host, &o->pid, start, o->boot, &o->space, o->command);
    if (start[0] == 't') o->start = strtoll(start + 1, NULL, 10);
    return n >= 3;
}

/* Is the owner gone? This can be known only if its number means the same here: two containers may have the same host
 * name, even on different hosts. A process outside of containers that belongs to an earlier boot of this machine is
 * gone. */
static bool provably_dead(const owner *o) {
    enum { INITIAL = 0xEFFFFFFC }; /* the namespace that is no container's: PROC_PID_INIT_INO of the kernel */
    owner me;
    this_process(&me);
    if (o->space == 0 || strcmp(o->boot, "-") == 0 || strcmp(o->host, me.host) != 0 || o->space != me.space)
        return false;
    if (strcmp(o->boot, me.boot) != 0) return o->space == (unsigned)INITIAL;
    if (tra_process_gone(o->pid)) return true;
    long long start = tra_process_started(o->pid);
    /* the number was given to another process; ticks of two time namespaces may be rounded apart */
    return start > 0 && o->start > 0 && llabs(start - o->start) > 1;
}

/* Did link(), which returned this, make the link? NFS may repeat a call whose answer was lost, and then says EEXIST
 * of the link that it has made itself: the file has two names. */
static bool is_linked(const tra_temp *t, int result) {
    struct stat st;
    int why = errno;
    bool linked = result == 0 || (why == EEXIST && fstat(t->fd, &st) == 0 && st.st_nlink == 2);
    errno = why;
    return linked;
}

/* Puts a whole lock file in place, or fails with EEXIST: link is atomic on NFS too. */
static tra_status place(const char *file, const owner *me, bool *placed, tra_err *e) {
    char text[600];
    size_t n = (size_t)snprintf(text, sizeof text, "%s %ld t%lld %s %llu %s\n", me->host, me->pid, me->start, me->boot,
                                me->space, me->command);
    tra_temp temp;
    *placed = false;
    TRA_TRY(tra_temp_create(file, NULL, false, &temp, e));
    tra_status s = tra_pwrite(temp.fd, text, n, 0, temp.path, e);
    if (s == TRA_OK && is_linked(&temp, link(temp.path, file))) {
        *placed = true;
    } else if (s == TRA_OK && errno != EEXIST) { /* a file system without hard links */
        int direct = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        *placed = direct >= 0 && write(direct, text, n) == (ssize_t)n;
        if (!*placed && errno != EEXIST) s = tra_fail_errno(e, TRA_INPUT, "cannot create %s", file);
        if (direct >= 0) close(direct);
        if (direct >= 0 && !*placed) unlink(file); /* an incomplete lock would stop everybody */
    }
    if (*placed) tra_temp_reclaim(file, NULL); /* left by who was killed while placing a lock */
    tra_temp_abort(&temp);
    return s;
}

/* Removes the lock of a dead owner, but not a lock that a third process has put there meanwhile: it is renamed first,
 * and put back if it is not the one that was seen. */
static void remove_stale(const char *file, const owner *dead) {
    char *me = tra_process_name(), *moved = tra_asprintf("%s.%s.stale", file, me), *text = NULL;
    size_t n;
    owner o;
    tra_err e = {0};
    tra_cleanup_add(moved);
    if (rename(file, moved) == 0) {
        if (tra_slurp(moved, 4096, &text, &n, &e) == TRA_OK && parse(text, &o) &&
            (o.pid != dead->pid || o.start != dead->start || o.space != dead->space ||
             strcmp(o.host, dead->host) != 0) &&
            link(moved, file) != 0)
            tra_warn("the lock %s of process %ld on %s was disturbed", file, o.pid, o.host);
        unlink(moved);
        free(text);
    }
    tra_cleanup_drop(moved);
    free(moved);
    free(me);
}

static tra_status take(const char *what, const char *file, tra_err *e) {
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
                            what, file);
        if (!provably_dead(&o))
            return tra_fail(e, TRA_RESOURCE,
                            "%s is being written by process %ld on %s%s%s%s; if that process is gone, remove "
                            "the lock %s",
                            what, o.pid, o.host, *o.command ? " (" : "", o.command, *o.command ? ")" : "", file);
        tra_info(1, "taking over the lock of process %ld on %s, which is gone: %s", o.pid, o.host, what);
        remove_stale(file, &o);
    }
    return tra_fail(e, TRA_RESOURCE, "cannot get the lock %s: other processes keep taking it", file);
}

bool tra_lock_held(const char *path) {
    char *file = lock_name(path), *text;
    size_t n;
    owner o;
    bool is_there = tra_slurp(file, 4096, &text, &n, NULL) == TRA_OK, known = is_there && parse(text, &o);
    if (is_there) free(text);
    free(file);
    return is_there && !(known && provably_dead(&o));
}

tra_status tra_lock_take(const char *path, bool *first, tra_err *e) { return tra_lock_take_for(path, path, first, e); }

tra_status tra_lock_take_for(const char *what, const char *path, bool *first, tra_err *e) {
    tra_status s = TRA_OK;
    char *file = lock_name(path);
    pthread_mutex_lock(&mutex);
    held *h = all;
    while (h && strcmp(h->file, file) != 0) h = h->next;
    *first = !h;
    if (h) {
        h->count++;
    } else if ((s = take(what, file, e)) == TRA_OK) {
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

void tra_lock_clear(const char *path) {
    char *file = lock_name(path);
    tra_err none = {0};
    bool first;
    if (access(file, F_OK) == 0 && tra_lock_take(path, &first, &none) == TRA_OK) tra_lock_drop(path);
    free(file);
}
