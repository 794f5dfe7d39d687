/* leftover.c - finds and removes what processes that were killed have left, by the names of such files. */
#include "durable_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

typedef enum kind {
    NOTHING,
    UNFINISHED, /* a temporary file, by the name of its process */
    TAGGED,     /* one that --resume could go on from; that of a process that holds the target's lock */
    LOCK,
    COMMIT,   /* the record of outputs that were complete, which are put in place before it goes */
    PROGRESS, /* directory; its lock is beside it */
    EXCHANGE, /* the same */
    STAND_IN, /* of stand_in.h; who uses it holds a lock on it */
} kind;
static const char *const texts[] = {
    [NOTHING] = "",
    [UNFINISHED] = "unfinished file",
    [TAGGED] = "unfinished output, from which --resume can go on",
    [LOCK] = "lock",
    [COMMIT] = "record of outputs that are complete, by which --resume knows that the run is done",
    [PROGRESS] = "progress of a run, from which --resume can go on",
    [EXCHANGE] = "blocks of an exchange",
    [STAND_IN] = "what was made of a file of another format",
};

typedef struct find {
    kind kind;
    char *path;     /* from malloc, as the next */
    char *target;   /* what the lock is on */
    bool elsewhere; /* UNFINISHED: its process is of another pid namespace */
} find;

static bool is_hex(const char *s, size_t n) { return strspn(s, "0123456789abcdef") >= n; }

/* The kind of a file whose name goes on with the name of its process: an unfinished one, unless that process lives. */
static kind by_process(const char *name, find *f) {
    tra_process_state state = tra_process_of_name(name, NULL);
    f->elsewhere = state == TRA_PROCESS_ELSEWHERE;
    return f->elsewhere || state == TRA_PROCESS_GONE ? UNFINISHED : NOTHING;
}

/* Could a process that is not seen here be writing it? That is so for what was written to within the last hour, if its
 * process is of another container, or the file system one of several machines. */
static bool may_be_written(const find *f, const char *dir) {
    enum { NFS = 0x6969, SMB = 0x517B, P9 = 0x01021997, CEPH = 0x00c36400, FUSE = 0x65735546, LUSTRE = 0x0BD00BD0 };
    enum { GPFS = 0x47504653, BEEGFS = 0x19830326, HOUR = 3600 };
    static const uint32_t shared[] = {NFS, SMB, P9, CEPH, FUSE, LUSTRE, GPFS, BEEGFS, 0xFF534D42u, 0xFE534D42u};
    struct statfs fs;
    struct stat st;
    bool among = f->elsewhere;
    if (statfs(dir, &fs) != 0) return true;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) among |= (uint32_t)fs.f_type == shared[i];
    return among && (stat(f->path, &st) != 0 || time(NULL) - st.st_mtime < HOUR);
}

/* ".TARGET.tra-REST", where TARGET may itself be such a name. */
static kind beside_target(const char *dir, const char *name, find *f) {
    const char *mark = NULL, *rest;
    for (const char *p = name; (p = strstr(p, ".tra-")); p++) mark = p;
    if (*name != '.' || !mark || mark == name) return NOTHING;
    rest = mark + 5;
    size_t n = strlen(rest);
    f->target = tra_asprintf("%s/%.*s", dir, (int)(mark - name - 1), name + 1);
    if (strcmp(rest, "lock") == 0) return LOCK;
    if (strcmp(rest, "commit") == 0) return COMMIT;
    if (strncmp(rest, "lock.", 5) == 0) return by_process(rest + 5, f);
    if (n < 5 || strcmp(rest + n - 4, ".tmp") != 0) return NOTHING;
    char *record = tra_asprintf("%s/%.*s.tra-commit", dir, (int)(mark - name), name);
    bool needed = access(record, F_OK) == 0;
    free(record);
    if (needed) return NOTHING;
    if (strchr("123456789", *rest)) return by_process(rest, f);
    return TAGGED;
}

/* A name of stand_in.h. */
static bool is_stand_in(const char *name) {
    const char *dot = strrchr(name, '.');
    return tra_is_intermediate(name) && dot && strcmp(dot, ".h5") == 0 && dot - name > 16 && is_hex(dot - 16, 16);
}

static kind kind_of(const char *dir, const char *name, find *f) {
    if (is_stand_in(name)) return STAND_IN;
    static const char exchange[] = TRA_EXCHANGE_NAME, doctor[] = ".tra-doctor-";
    if (strncmp(name, exchange, sizeof exchange - 1) == 0) {
        f->target = tra_asprintf("%s/%s", dir, name);
        return EXCHANGE;
    }
    if (strncmp(name, doctor, sizeof doctor - 1) == 0) return by_process(name + sizeof doctor - 1, f);
    if (strncmp(name, "tra-", 4) == 0 && strlen(name) == 37 && is_hex(name + 4, 16) && name[20] == '-' &&
        is_hex(name + 21, 16)) {
        f->target = tra_asprintf("%s/%.20s", dir, name);
        return PROGRESS;
    }
    return beside_target(dir, name, f);
}

/* Is it ours, and of the kind that its name says? In a directory that all may write to, anybody can make such a name.
 */
static bool is_ours(const find *f, bool *is_dir) {
    struct stat st;
    if (lstat(f->path, &st) != 0 || st.st_uid != geteuid()) return false;
    *is_dir = S_ISDIR(st.st_mode);
    return *is_dir == (f->kind == PROGRESS || f->kind == EXCHANGE) && (*is_dir || S_ISREG(st.st_mode));
}

/* Bytes on disk of the directory's files, which has no directories below it. */
static int64_t bytes_of_dir(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    int64_t bytes = 0;
    struct stat st;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0) continue;
        if (fstatat(fd, f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) bytes += (int64_t)st.st_blocks * 512;
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return bytes;
}

static int64_t bytes_of(const char *path, bool is_dir) {
    struct stat st;
    if (is_dir) return bytes_of_dir(path);
    return lstat(path, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
}

static int remove_path(const char *path, bool is_dir) {
    bool removed = is_dir ? tra_remove_files_of(path) : unlink(path) == 0;
    return removed ? 0 : errno;
}

/* Puts in place what the record says, whose target is locked, and removes it. *error is 0 or errno. */
static void settle(const find *f, int *error) {
    tra_err e = {0};
    errno = 0;
    tra_status s = tra_commit_settle(f->target, &e);
    if (s == TRA_OK) tra_commit_end(f->target);
    if (access(f->path, F_OK) != 0) return;
    *error = s == TRA_INPUT ? EBADMSG : errno ? errno : EBUSY;
    if (*e.msg) tra_warn("%s", e.msg);
}

/* Under the lock of the target, where there is one: *error is 0 or errno. False when it is in use. */
static bool take_and_remove(const find *f, bool is_dir, int *error) {
    bool first;
    tra_err busy = {0};
    if (f->kind == UNFINISHED || f->kind == STAND_IN) {
        *error = remove_path(f->path, is_dir);
        return true;
    }
    errno = 0;
    if (tra_lock_take(f->target, f->target, &first, &busy) != TRA_OK) { /* which takes over that of a dead process */
        *error = errno ? errno : EBUSY;
        return !tra_lock_held(f->target);
    }
    if (f->kind == COMMIT)
        settle(f, error);
    else
        *error = f->kind == LOCK ? 0 : remove_path(f->path, is_dir);
    tra_lock_drop(f->target);
    return true;
}

/* Reports what was found, unless it is still in use, and removes it before if wanted. */
static void report(const char *dir, find *f, bool remove, void (*fn)(const tra_leftover *l, void *ctx), void *ctx) {
    bool is_dir, is_free = true;
    int error = 0, held = -1;
    if (!is_ours(f, &is_dir)) return;
    if (f->kind == STAND_IN)
        is_free = (held = open(f->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0;
    else if (f->kind == UNFINISHED)
        is_free = !may_be_written(f, dir);
    else
        is_free = !tra_lock_held(f->target);
    int64_t bytes = bytes_of(f->path, is_dir);
    if (is_free && (!remove || take_and_remove(f, is_dir, &error)))
        fn(&(tra_leftover){.path = f->path, .what = texts[f->kind], .bytes = bytes, .error = error}, ctx);
    if (held >= 0) close(held);
}

bool tra_leftovers(const char *dir, const char *prefix, bool remove, void (*fn)(const tra_leftover *l, void *ctx),
                   void *ctx) {
    DIR *d = opendir(dir);
    tra_str names = {0}; /* first all names: removing changes the directory */
    if (!d) return false;
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 && strstr(e->d_name, "tra-"))
            tra_str_addn(&names, e->d_name, strlen(e->d_name) + 1);
    closedir(d);
    /* First the commit records: what they need is not removed while they are there. */
    for (int records = 1; records >= 0; records--) {
        for (size_t at = 0; at < names.n; at += strlen(names.s + at) + 1) {
            find f = {.path = tra_asprintf("%s/%s", dir, names.s + at)};
            f.kind = kind_of(dir, names.s + at, &f);
            if (f.kind != NOTHING && (f.kind == COMMIT) == (records == 1)) report(dir, &f, remove, fn, ctx);
            free(f.path);
            free(f.target);
        }
    }
    tra_str_free(&names);
    return true;
}
