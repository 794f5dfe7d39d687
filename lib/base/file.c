/* file.c - reading and writing to the end, whole files, scratch, and temporary files to remove. */
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 30 }; /* one call transfers at most 2 GiB */

tra_status tra_pread(int fd, void *buf, size_t n, int64_t off, const char *name, tra_err *e) {
    char *p = buf;
    while (n) {
        ssize_t got = pread(fd, p, n < PIECE ? n : PIECE, off);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tra_fail_errno(e, TRA_INPUT, "cannot read %s at byte %" PRId64, name, off);
        if (got == 0) {
            return tra_fail(e, TRA_INPUT, "%s ends at byte %" PRId64 ", where %zu more bytes should follow", name, off,
                            n);
        }
        p += got;
        off += got;
        n -= (size_t)got;
    }
    return TRA_OK;
}

tra_status tra_pwrite(int fd, const void *buf, size_t n, int64_t off, const char *name, tra_err *e) {
    const char *p = buf;
    while (n) {
        ssize_t put = pwrite(fd, p, n < PIECE ? n : PIECE, off);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot write %s at byte %" PRId64, name, off);
        p += put;
        off += put;
        n -= (size_t)put;
    }
    return TRA_OK;
}

static tra_status slurp_fd(int fd, const char *name, size_t max, char **text, size_t *n, tra_err *e) {
    size_t cap = 4096, have = 0;
    char *s = tra_malloc(cap);
    for (;;) {
        ssize_t got = read(fd, s + have, cap - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            tra_status failed = tra_fail_errno(e, TRA_INPUT, "cannot read %s", name);
            free(s);
            return failed;
        }
        if (got == 0) break;
        have += (size_t)got;
        if (have > max) {
            free(s);
            return tra_fail(e, TRA_INPUT, "%s is larger than %zu bytes", name, max);
        }
        if (have == cap) s = tra_realloc(s, cap *= 2, 1);
    }
    s[have] = 0; /* have < cap */
    *text = s;
    *n = have;
    return TRA_OK;
}

char *tra_folder_of(const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash) return tra_strdup(".");
    return tra_asprintf("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

char *tra_resolve_folder(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *dir = slash ? tra_asprintf("%.*s/", (int)(slash - path), path) : tra_strdup("."), *real = realpath(dir, NULL);
    char *out = real ? tra_asprintf("%s/%s", strcmp(real, "/") == 0 ? "" : real, base) : tra_strdup(path);
    free(dir);
    free(real);
    return out;
}

char *tra_resolve_links(const char *path) {
    enum { MOST = 40 }; /* links that Linux follows; opening a circle of links fails with its own message */
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)) return tra_strdup(path);
    char *at = realpath(path, NULL), to[PATH_MAX];
    if (at) return at;
    at = tra_strdup(path);
    if (stat(path, &st) == 0) return at; /* a link of /proc, whose text is no path */
    for (int i = 0; i < MOST; i++) {
        ssize_t n = readlink(at, to, sizeof to - 1);
        if (n < 0) break;
        to[n] = 0;
        const char *slash = to[0] == '/' ? NULL : strrchr(at, '/'); /* a link is relative to its folder */
        char *next = slash ? tra_asprintf("%.*s%s", (int)(slash - at + 1), at, to) : tra_strdup(to);
        free(at);
        at = next;
    }
    return at;
}

tra_status tra_slurp(const char *path, size_t max, char **text, size_t *n, tra_err *e) {
    if (strcmp(path, "-") == 0) return slurp_fd(STDIN_FILENO, "standard input", max, text, n, e);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", path);
    tra_status s = slurp_fd(fd, path, max, text, n, e);
    close(fd);
    return s;
}

double tra_cached_share(const char *path) {
    enum { SAMPLES = 32 };
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), there = 0;
    /* of a file that the process neither owns nor may write, the kernel reports all pages as cached */
    bool told = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
                (st.st_uid == geteuid() || access(path, W_OK) == 0);
    char *at = told ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (at == MAP_FAILED) return 0;
    int64_t page = sysconf(_SC_PAGESIZE), pages = tra_ceil_div(st.st_size, page), n = tra_min64(pages, SAMPLES);
    for (int64_t i = 0; i < n; i++) {
        unsigned char one = 0;
        there += mincore(at + pages * i / n * page, 1, &one) == 0 && (one & 1);
    }
    munmap(at, (size_t)st.st_size);
    return (double)there / (double)n;
}

int tra_unnamed_file(const char *dir) {
    int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
    char *path = tra_asprintf("%s/.tra-scratch-XXXXXX", dir); /* NFS, for one, has no O_TMPFILE */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    free(path);
    return fd;
}

void tra_make_directory(const char *dir) {
    if (access(dir, F_OK) != 0 && errno == ENOENT && mkdir(dir, 0777) == 0) tra_info(1, "made %s", dir);
}

bool tra_remove_files_of(const char *dir) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !d) close(fd);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0) unlinkat(dirfd(d), f->d_name, 0);
    }
    if (d) closedir(d);
    return d && rmdir(dir) == 0;
}

/* ---- temporary files to remove ------------------------------------------------------------------------------ */

/* A list that only grows, so that a signal handler may walk it at any moment. A name that is added again takes its old
 * place. */
typedef struct temp {
    struct temp *next;
    atomic_bool live;
    char path[];
} temp;

static _Atomic(temp *) temps;
static pthread_mutex_t temps_lock = PTHREAD_MUTEX_INITIALIZER;

static temp *temp_find(const char *path) {
    temp *t = temps;
    while (t && strcmp(t->path, path) != 0) t = t->next;
    return t;
}

void tra_cleanup_add(const char *path) {
    pthread_mutex_lock(&temps_lock);
    temp *t = temp_find(path);
    if (!t) {
        size_t n = strlen(path) + 1;
        t = tra_malloc(sizeof *t + n);
        memcpy(t->path, path, n);
        t->next = temps;
        atomic_init(&t->live, false);
        temps = t;
    }
    t->live = true;
    pthread_mutex_unlock(&temps_lock);
}

void tra_cleanup_drop(const char *path) {
    pthread_mutex_lock(&temps_lock);
    temp *t = temp_find(path);
    if (t) t->live = false;
    pthread_mutex_unlock(&temps_lock);
}

void tra_cleanup_all(void) {
    for (temp *t = temps; t; t = t->next) {
        if (atomic_exchange(&t->live, false)) unlink(t->path);
    }
}
