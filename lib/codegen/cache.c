/* cache.c - the folder of compiled kernels, and loading from it.
 *
 * Objects are executed, so the folder must be the user's alone (mode 0700), and so must be the files in it: plain
 * files, complete (an object ends with a checksum, since mapping half of one would crash), and of the key that they are
 * named after, which they export. A file is written under a temporary name and renamed, so that no locks are needed.
 */
#include "codegen_int.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the folder ------------------------------------------------------------------------------------------------- */

/* NULL if the path is a folder of this user that nobody else can enter, else what is wrong with it. */
static const char *is_private(tra_arena *a, const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0) return tra_arena_printf(a, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode)) return tra_arena_printf(a, "%s is no folder (links to folders are not followed)", path);
    if (st.st_uid != geteuid()) return tra_arena_printf(a, "%s belongs to another user", path);
    if (st.st_mode & 077) return tra_arena_printf(a, "%s can be used by others: chmod 700 %s", path, path);
    return NULL;
}

static char *choose_folder(tra_arena *a) {
    const char *own = getenv("TRA_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own) return tra_arena_printf(a, "%s", own);
    if (xdg && *xdg == '/') return tra_arena_printf(a, "%s/tra", xdg);
    if (home && *home == '/') return tra_arena_printf(a, "%s/.cache/tra", home);
    return NULL;
}

/* Finds the folder; make: creates it if there is none. *folder: its absolute path. Returns NULL, or what is wrong. */
static const char *look_for_folder(tra_arena *a, bool make, char **folder) {
    char *path = choose_folder(a);
    if (!path) return "there is no folder for compiled kernels: set TRA_CACHE";
    if (path[0] != '/') {
        char *here = getcwd(NULL, 0);
        path = tra_arena_printf(a, "%s/%s", here ? here : "", path);
        free(here);
    }
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) path[n - 1] = 0;
    for (char *p = path + 1; make && (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0700); /* an error shows below */
    }
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return tra_arena_printf(a, "the folder of compiled kernels %s cannot be made: %s", path, strerror(errno));
    const char *why = is_private(a, path);
    *folder = path;
    return why ? tra_arena_printf(a, "the folder of compiled kernels: %s (TRA_CACHE sets another one)", why) : NULL;
}

/* ---- keys ----------------------------------------------------------------------------------------------------- */

static gen_key digits(XXH128_hash_t h) {
    gen_key k;
    snprintf(k.text, sizeof k.text, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64);
    return k;
}

gen_key gen_key_of(const tra_codegen *g, const char *source) {
    XXH3_state_t *s = XXH3_createState();
    XXH3_128bits_reset(s);
    const char *all[] = {TRA_VERSION, source, g->compiler_is ? g->compiler_is : "", g->processor ? g->processor : ""};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) XXH3_128bits_update(s, all[i], strlen(all[i]) + 1);
    gen_key k = digits(XXH3_128bits_digest(s));
    XXH3_freeState(s);
    return k;
}

/* ---- objects --------------------------------------------------------------------------------------------------- */

enum { MOST_OBJECT = 64 << 20, SEAL = 40 }; /* "tra-seal" and the hash of what is before it */

static bool read_all(int fd, int64_t n, char *to) {
    for (int64_t at = 0; at < n;) {
        ssize_t got = pread(fd, to + at, (size_t)(n - at), at);
        if (got <= 0) return false;
        at += got;
    }
    return true;
}

static void seal_of(const char *bytes, int64_t n, char seal[SEAL + 1]) {
    gen_key k = digits(XXH3_128bits(bytes, (size_t)n));
    snprintf(seal, SEAL + 1, "tra-seal%s", k.text);
}

bool gen_seal(const char *path) {
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size < MOST_OBJECT;
    if (ok) {
        char *bytes = tra_malloc((size_t)st.st_size), seal[SEAL + 1];
        ok = read_all(fd, st.st_size, bytes);
        seal_of(bytes, st.st_size, seal);
        ok = ok && pwrite(fd, seal, SEAL, st.st_size) == SEAL && fchmod(fd, 0700) == 0;
        free(bytes);
    }
    if (fd >= 0) close(fd);
    return ok;
}

/* Reads a file without its checksum, if it is a plain one of this user, and complete; from malloc. *absent: there is no
 * such file. */
static char *read_whole(const char *path, int64_t *n, bool *absent) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    *absent = fd < 0 && errno == ENOENT;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
              st.st_size > SEAL && st.st_size < MOST_OBJECT;
    char *bytes = NULL;
    if (ok) {
        char seal[SEAL + 1];
        *n = st.st_size - SEAL;
        bytes = tra_malloc((size_t)st.st_size);
        ok = read_all(fd, st.st_size, bytes);
        seal_of(bytes, *n, seal);
        ok = ok && memcmp(bytes + *n, seal, SEAL) == 0;
    }
    if (fd >= 0) close(fd);
    if (ok) return bytes;
    free(bytes);
    return NULL;
}

static bool is_whole(const char *path, bool *absent) {
    int64_t n;
    char *bytes = read_whole(path, &n, absent);
    free(bytes);
    return bytes != NULL;
}

void *gen_load(tra_codegen *g, const gen_key *key, const char **why) {
    char *path = tra_asprintf("%s/%s.so", g->folder, key->text);
    void *object = NULL;
    bool absent;
    *why = is_private(g->arena, g->folder); /* check again: it may have changed */
    if (!*why && is_whole(path, &absent)) {
        object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!object) *why = tra_arena_printf(g->arena, "%s", dlerror());
        const char *is = object ? dlsym(object, "tra_kernel_key") : NULL;
        if (object && (!is || strcmp(is, key->text) != 0)) {
            dlclose(object);
            object = NULL;
            unlink(path);
        }
    } else if (!*why && !absent) {
        tra_info(1, "%s is no kernel of ours as it was written: it is made again", path);
        unlink(path);
    }
    free(path);
    return object;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static bool only_reads;

void tra_plan_cache_only_read(void) { only_reads = true; }

static char *kept_path(const char *name, bool make, tra_arena *a) {
    char *folder;
    return look_for_folder(a, make, &folder) ? NULL : tra_arena_printf(a, "%s/%s", folder, name);
}

const char *tra_plan_cache_name(const char *text, size_t n, const char *suffix, tra_arena *a) {
    struct stat st;
    /* another build of tra, even of the same version, has another file */
    if (stat("/proc/self/exe", &st) != 0) st.st_size = 0, st.st_mtime = 0;
    XXH3_state_t *s = XXH3_createState();
    XXH3_128bits_reset(s);
    XXH3_128bits_update(s, TRA_VERSION, sizeof TRA_VERSION);
    XXH3_128bits_update(s, &st.st_size, sizeof st.st_size);
    XXH3_128bits_update(s, &st.st_mtime, sizeof st.st_mtime);
    XXH3_128bits_update(s, text, n);
    gen_key k = digits(XXH3_128bits_digest(s));
    XXH3_freeState(s);
    return tra_arena_printf(a, "%s.%s", k.text, suffix);
}

const char *tra_plan_cache_read(const char *name, tra_arena *a) {
    int64_t n;
    bool absent;
    char *path = kept_path(name, false, a), *bytes = path ? read_whole(path, &n, &absent) : NULL;
    if (path && !bytes && !absent) unlink(path);
    const char *text = bytes ? tra_arena_strndup(a, bytes, (size_t)n) : NULL;
    free(bytes);
    return text;
}

void tra_plan_cache_write(const char *name, const char *text, tra_arena *a) {
    char *path = only_reads ? NULL : kept_path(name, true, a);
    if (!path) return;
    char *now = tra_arena_printf(a, "%s.%ld", path, (long)getpid());
    int64_t n = (int64_t)strlen(text);
    tra_cleanup_add(now);
    int fd = open(now, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0) close(fd);
    if (ok && gen_seal(now)) ok = rename(now, path) == 0;
    if (fd >= 0 && !ok) unlink(now);
    tra_cleanup_drop(now);
}

/* ---- what there is ---------------------------------------------------------------------------------------------- */

#if defined __x86_64__
#include <cpuid.h>
static char *processor(tra_arena *a) {
    unsigned r[4] = {0}, s[4] = {0}, t[4] = {0}, u[4] = {0};
    __get_cpuid(1, &r[0], &r[1], &r[2], &r[3]);
    __get_cpuid_count(7, 0, &s[0], &s[1], &s[2], &s[3]);
    __get_cpuid_count(7, 1, &t[0], &t[1], &t[2], &t[3]);
    /* model and features, but not the number of the core */
    __get_cpuid(0x80000001, &u[0], &u[1], &u[2], &u[3]); /* LZCNT, FMA4 and others that -march=native turns on */
    return tra_arena_printf(a, "x86 %x %x %x %x %x %x %x %x %x", r[0], r[2] & ~(1u << 27), r[3], s[1], s[2], s[3], t[0],
                            u[2], u[3]);
}
#else
#include <sys/auxv.h>
static char *processor(tra_arena *a) {
    return tra_arena_printf(a, "hwcap %lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}
#endif

/* The path of a program that can be executed; NULL: there is none. */
static char *find_program(tra_arena *a, const char *name) {
    if (strchr(name, '/')) return access(name, X_OK) == 0 ? tra_arena_printf(a, "%s", name) : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        int n = (int)strcspn(p, ":");
        char *at = tra_arena_printf(a, "%.*s/%s", n, p, name);
        struct stat st;
        if (n > 0 && access(at, X_OK) == 0 && stat(at, &st) == 0 && S_ISREG(st.st_mode)) return at;
        p += n + (p[n] == ':');
    }
    return NULL;
}

#ifndef TRA_BUILT_WITH
#define TRA_BUILT_WITH "cc"
#endif

static const char *look_for_compiler(tra_codegen *g) {
    const char *own = getenv("TRA_CC"), *names[] = {TRA_BUILT_WITH, "cc", "gcc", "clang"};
    if (own && *own) {
        g->compiler = find_program(g->arena, own);
        if (!g->compiler) return tra_arena_printf(g->arena, "there is no compiler %s (TRA_CC)", own);
    }
    for (size_t i = 0; !g->compiler && i < sizeof names / sizeof *names; i++)
        g->compiler = find_program(g->arena, names[i]);
    if (!g->compiler) return "there is no compiler: cc, gcc or clang, or one that TRA_CC names";
    struct stat st;
    if (stat(g->compiler, &st) != 0) st.st_size = 0, st.st_mtime = 0;
    /* identifies the compiler without running it: another version is another file */
    g->compiler_is =
        tra_arena_printf(g->arena, "%s %lld %lld", g->compiler, (long long)st.st_size, (long long)st.st_mtime);
    static const char *const changes[] = {"CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) { /* what else a compiler's work depends on */
        const char *v = getenv(changes[i]);
        if (v) g->compiler_is = tra_arena_printf(g->arena, "%s %s=%s", g->compiler_is, changes[i], v);
    }
    return NULL;
}

bool tra_codegen_has_compiler(void) {
    tra_codegen *g = tra_codegen_open(TRA_CODEGEN_AUTO);
    bool has = look_for_compiler(g) == NULL;
    tra_codegen_close(g);
    return has;
}

void gen_look(tra_codegen *g) {
    if (g->looked) return;
    g->looked = true;
    g->processor = processor(g->arena);
    g->why = look_for_folder(g->arena, true, &g->folder);
    if (!g->why) g->why = look_for_compiler(g);
}
