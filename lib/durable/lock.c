/* lock.c - the lock on writing a file. See durable.h for the contract. */
#include "durable_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct held {
    struct held *next;
    char *file;
    int fd, count;
} held;

static held *all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* What the text of a lock says. */
typedef struct owner {
    char host[256];
    long pid;
    char how[32];             /* "ofd": the owner has locked the file */
    char boot[40];            /* of the kernel; "-": not known */
    unsigned long long space; /* inode of the pid namespace; 0: not known */
    char command[128];        /* "": not known */
} owner;

/* ---- whose it is ------------------------------------------------------------------------------------------------- */

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
    *o = (owner){.pid = getpid(), .boot = "-", .space = tra_process_space()};
    if (gethostname(o->host, sizeof o->host - 1) != 0 || !o->host[0]) snprintf(o->host, sizeof o->host, "localhost");
    if (tra_slurp("/proc/sys/kernel/random/boot_id", 4096, &boot, &n, NULL) == TRA_OK) {
        (void)sscanf(boot, "%39s", o->boot);
        free(boot);
    }
    own_command(o->command, sizeof o->command);
}

static bool parse(const char *text, owner *o) {
    *o = (owner){.boot = "-"};
    return sscanf(text, "%255s %ld %31s %39s %llu %127[^\n]", o->host, &o->pid, o->how, o->boot, &o->space,
                  o->command) >= 3;
}

/* Is the owner gone? is_free: no process that this kernel knows has locked the file. Else this can be known only if its
 * number means the same here: two containers may have the same host name, even on different hosts. A process outside of
 * containers that belongs to an earlier boot of this machine is gone. */
static bool is_gone(const owner *o, bool is_free) {
    enum { INITIAL = 0xEFFFFFFC }; /* the namespace that is no container's: PROC_PID_INIT_INO of the kernel */
    owner me;
    this_process(&me);
    bool now = strcmp(o->boot, "-") != 0 && strcmp(o->boot, me.boot) == 0;
    if (now && strcmp(o->how, "ofd") == 0) return is_free;
    if (o->space == 0 || o->space != me.space || strcmp(o->boot, "-") == 0 || strcmp(o->host, me.host) != 0)
        return false;
    return now ? tra_process_gone(o->pid) : o->space == (unsigned)INITIAL;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef enum answer { LOCKED, BUSY, NO_LOCKS } answer;

static answer lock_file(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0) return LOCKED;
    return errno == EAGAIN || errno == EACCES ? BUSY : NO_LOCKS;
}

/* The same without locking it: LOCKED: it could be. */
static answer ask_file(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_GETLK, &whole) != 0) return NO_LOCKS;
    return whole.l_type == F_UNLCK ? LOCKED : BUSY;
}

/* Is the open file the one that has this name? */
static bool is_at(int fd, const char *file) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(file, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Reads the text of a lock file; "" when it has none. */
static void read_text(int fd, char *to, size_t n) {
    ssize_t got = pread(fd, to, n - 1, 0);
    to[got > 0 ? got : 0] = 0;
}

static tra_status write_text(int fd, const char *file, bool locked, tra_err *e) {
    owner me;
    this_process(&me);
    char *text =
        tra_asprintf("%s %ld %s %s %llu %s\n", me.host, me.pid, locked ? "ofd" : "-", me.boot, me.space, me.command);
    tra_status s = ftruncate(fd, 0) == 0 ? tra_pwrite(fd, text, strlen(text), 0, file, e)
                                         : tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", file);
    if (s != TRA_OK) unlink(file); /* an incomplete lock would stop everybody */
    free(text);
    return s;
}

/* Removes the lock of a dead owner where the file system has no locks, but not one that a third process has put there
 * meanwhile: it is renamed first, and put back if it is not the one that was seen. */
static void remove_stale(const char *file, const char *seen) {
    char *me = tra_process_name(), *moved = tra_asprintf("%s.%s.stale", file, me), *text = NULL;
    size_t n;
    tra_cleanup_add(moved);
    if (rename(file, moved) == 0) {
        if (tra_slurp(moved, 4096, &text, &n, NULL) == TRA_OK && strcmp(text, seen) != 0 && link(moved, file) != 0)
            tra_warn("the lock %s was disturbed", file);
        unlink(moved);
        free(text);
    }
    tra_cleanup_drop(moved);
    free(moved);
    free(me);
}

static tra_status refuse(const char *what, const char *file, const char *text, tra_err *e) {
    owner o;
    if (parse(text, &o))
        return tra_fail_kind(
            e, TRA_RESOURCE, TRA_KIND_LOCKED,
            "%s is being written by process %ld on %s%s%s%s; if that process is gone, remove the lock %s", what, o.pid,
            o.host, *o.command ? " (" : "", o.command, *o.command ? ")" : "", file);
    return tra_fail_kind(
        e, TRA_RESOURCE, TRA_KIND_LOCKED,
        "%s is being written, but its lock %s does not say by whom; if no process is writing it, remove "
        "the lock",
        what, file);
}

/* One attempt, with the file open. *again: it is not the file of that name any more, or its owner is about to write to
 * it who it is. */
static tra_status attempt(const char *what, const char *file, int fd, bool made, bool *again, tra_err *e) {
    char text[4096];
    owner o;
    bool mine = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR; /* else it is another user's */
    answer is = mine ? lock_file(fd) : ask_file(fd);
    read_text(fd, text, sizeof text);
    *again = is == BUSY ? !*text : !is_at(fd, file);
    if (*again) return TRA_OK;
    bool known = parse(text, &o), takes = made || (is == LOCKED && !*text) || (known && is_gone(&o, is == LOCKED));
    if (is == BUSY || !takes) return refuse(what, file, text, e);
    if (known) tra_info(1, "taking over the lock of process %ld on %s, which is gone: %s", o.pid, o.host, what);
    if (made || (is == LOCKED && mine)) return write_text(fd, file, is == LOCKED, e);
    remove_stale(file, text);
    *again = true;
    return TRA_OK;
}

static tra_status take(const char *what, const char *file, int *fd, tra_err *e) {
    enum { MODE = O_NOFOLLOW | O_CLOEXEC, TRIES = 20 };
    for (int tries = 0; tries < TRIES; tries++) {
        *fd = open(file, O_RDWR | O_CREAT | O_EXCL | MODE, 0644);
        bool made = *fd >= 0, again;
        if (!made && errno != EEXIST) return tra_cannot_create(file, file, e);
        if (!made) *fd = open(file, O_RDWR | MODE);
        if (*fd < 0 && errno == EACCES) *fd = open(file, O_RDONLY | MODE);
        if (*fd < 0 && errno == ENOENT) continue; /* just removed by its owner */
        if (*fd < 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", file);
        tra_status s = attempt(what, file, *fd, made, &again, e);
        if (s == TRA_OK && !again) return TRA_OK;
        close(*fd);
        if (s != TRA_OK) return s;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_LOCKED, "cannot get the lock %s: other processes keep taking it",
                         file);
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

bool tra_lock_held(const char *path) {
    char *file = tra_name_beside(path, "lock"), text[4096];
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    owner o;
    free(file);
    if (fd < 0) return errno != ENOENT;
    answer is = ask_file(fd);
    read_text(fd, text, sizeof text);
    close(fd);
    return is == BUSY || !((is == LOCKED && !*text) || (parse(text, &o) && is_gone(&o, is == LOCKED)));
}

tra_status tra_lock_take(const char *what, const char *path, bool *first, tra_err *e) {
    tra_status s = TRA_OK;
    int fd;
    char *file = tra_name_beside(path, "lock");
    pthread_mutex_lock(&mutex);
    held *h = all;
    while (h && strcmp(h->file, file) != 0) h = h->next;
    *first = !h;
    if (h) {
        h->count++;
    } else if ((s = take(what, file, &fd, e)) == TRA_OK) {
        h = tra_calloc(1, sizeof *h);
        *h = (held){.next = all, .file = tra_strdup(file), .fd = fd, .count = 1};
        all = h;
        tra_cleanup_add(file);
    }
    pthread_mutex_unlock(&mutex);
    free(file);
    return s;
}

void tra_lock_drop(const char *path) {
    char *file = tra_name_beside(path, "lock");
    pthread_mutex_lock(&mutex);
    held **at = &all, *h;
    while (*at && strcmp((*at)->file, file) != 0) at = &(*at)->next;
    if ((h = *at) && --h->count == 0) {
        if (is_at(h->fd, file)) unlink(file);
        tra_cleanup_drop(file);
        *at = h->next;
        close(h->fd);
        free(h->file);
        free(h);
    }
    pthread_mutex_unlock(&mutex);
    free(file);
}

void tra_lock_clear(const char *path) {
    char *file = tra_name_beside(path, "lock");
    tra_err none = {0};
    bool first;
    if (access(file, F_OK) == 0 && tra_lock_take(path, path, &first, &none) == TRA_OK) tra_lock_drop(path);
    free(file);
}
