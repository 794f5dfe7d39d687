/* h5.c - the HDF5 library behind one lock: its start, its errors, small attributes. */
#include "relation_file.h"
#include "zfilter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static hid_t driver = -1;

/* ---- crashes ---------------------------------------------------------------------------------------------------- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
enum { CRASHES = sizeof crashes / sizeof *crashes };
static struct sigaction before[CRASHES];
static volatile sig_atomic_t depth;  /* of tra_h5_enter */
static _Atomic pthread_t holder;     /* while depth > 0 */
static volatile sig_atomic_t is_our; /* an assertion of this program has failed, so no file is to blame */

/* What assert() calls, in place of the C library's: the message says that the program is wrong. */
void __assert_fail(const char *what, const char *file, unsigned line, const char *function) {
    fprintf(stderr, "tra: internal error: %s:%u: %s: %s does not hold; please report it\n", file, line, function, what);
    is_our = 1;
    abort();
}

/* HDF5 1.10 crashes on some damaged files. Nothing can be continued then, but the message can name the file. */
static void on_crash(int sig) {
    if (!is_our && depth > 0 && pthread_equal(holder, pthread_self())) {
        char link[40], name[4096], text[5000];
        snprintf(link, sizeof link, "/proc/self/fd/%d", tra_vfd_last);
        ssize_t n = readlink(link, name, sizeof name);
        int len = snprintf(text, sizeof text, "tra: %.*s: the HDF5 library crashed on it; the file is damaged\n",
                           n > 0 ? (int)n : 1, n > 0 ? name : "?");
        if (write(STDERR_FILENO, text, (size_t)len) < 0) { /* nothing can be done about it */
        }
        tra_cleanup_all();
        _exit(tra_status_exit(TRA_INPUT));
    }
    for (int i = 0; i < CRASHES; i++) { /* not in HDF5: the signal comes again, to the earlier handler */
        if (crashes[i] == sig) sigaction(sig, &before[i], NULL);
    }
}

/* The handler has a stack of its own in each thread: what a damaged file makes HDF5 do may fill the thread's. */
static void give_stack(void) {
    static _Thread_local char room[1 << 16];
    static _Thread_local bool given;
    stack_t s = {.ss_sp = room, .ss_size = sizeof room}, has;
    if (!given && sigaltstack(NULL, &has) == 0 && has.ss_flags & SS_DISABLE) (void)sigaltstack(&s, NULL);
    given = true;
}

static void catch_crashes(void) {
    struct sigaction a = {.sa_handler = on_crash, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigemptyset(&a.sa_mask);
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &a, &before[i]);
}

/* ---- start ------------------------------------------------------------------------------------------------------ */

static void start(void) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1); /* NFS and Lustre often refuse locks */
    H5dont_atexit(); /* exit() must not write the index of a file that is being thrown away */
    H5open();
    H5Zregister(&tra_zstd_class);
    driver = tra_vfd_register();
    catch_crashes();
}

void tra_h5_enter(void) {
    pthread_once(&once, start);
    give_stack();
    pthread_mutex_lock(&lock);
    holder = pthread_self();
    depth++;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* this setting is per thread */
}

void tra_h5_leave(void) {
    depth--;
    pthread_mutex_unlock(&lock);
}

/* By default the library keeps up to 32 MiB of each file's index, in a form that takes ten times that. */
static bool small_index_cache(hid_t fapl) {
    H5AC_cache_config_t c = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (H5Pget_mdc_config(fapl, &c) < 0) return false;
    c.set_initial_size = true;
    c.initial_size = c.min_size = c.max_size = 256 << 10;
    return H5Pset_mdc_config(fapl, &c) >= 0;
}

hid_t tra_h5_fapl(bool align) {
    hid_t p = H5Pcreate(H5P_FILE_ACCESS);
    if (p < 0) return -1;
    if (H5Pset_driver(p, driver, NULL) < 0 || H5Pset_fclose_degree(p, H5F_CLOSE_STRONG) < 0 ||
        H5Pset_libver_bounds(p, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) < 0 ||
        (align && H5Pset_alignment(p, 4096, 4096) < 0) || !small_index_cache(p) ||
        H5Pset_cache(p, 0, 1, 0, 0) < 0) { /* chunks are read and written as a whole, so a cache is of no use */
        H5Pclose(p);
        return -1;
    }
    return p;
}

static herr_t innermost(unsigned n, const H5E_error2_t *err, void *out) {
    if (n == 0) snprintf(out, 256, "%s", err->desc ? err->desc : "");
    return 0;
}

tra_status tra_h5_fail_at(const char *file, int line, tra_err *e, tra_status s, const tra_vfd *f, const char *fmt,
                          ...) {
    char what[1024], why[256] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (f && f->err) {
        errno = f->err;
        return tra_fail_errno_at(file, line, e, s, "%s", what);
    }
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, why);
    return tra_fail_at(file, line, e, s, why[0] ? "%s: HDF5 says: %s" : "%s%s", what, why);
}

/* The type of a bool as h5py writes it: an enumeration of one byte. It is made once and never closed. */
static hid_t bool_type(void) {
    static hid_t type = -1;
    if (type < 0) {
        int8_t no = 0, yes = 1;
        type = H5Tenum_create(H5T_NATIVE_INT8);
        H5Tenum_insert(type, "FALSE", &no);
        H5Tenum_insert(type, "TRUE", &yes);
    }
    return type;
}

hid_t tra_h5_type(tra_dtype t) {
    return tra_dtype_rows[t].class == TRA_CLASS_BOOL ? bool_type() : tra_h5_plain_type(t);
}

hid_t tra_h5_plain_type(tra_dtype t) {
#define X(name, text, ctype, class, sum, blas, numpy, binsparse, h5)                                                   \
    case TRA_##name: return H5T_NATIVE_##h5;
    switch (t) { TRA_DTYPES(X) }
#undef X
    return -1;
}

/* Is it an enumeration of one byte with FALSE = 0 and TRUE = 1, in any order? */
static bool is_bool(hid_t type) {
    static const char *const names[] = {"FALSE", "TRUE"};
    bool ok = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;
    for (unsigned i = 0; ok && i < 2; i++) {
        unsigned char v = 2;
        char *name = H5Tget_member_name(type, i);
        ok = name && H5Tget_member_value(type, i, &v) >= 0 && v < 2 && strcmp(name, names[v]) == 0;
        H5free_memory(name);
    }
    return ok;
}

bool tra_h5_dtype(hid_t type, tra_dtype *t, bool *u64) {
    H5T_class_t class = H5Tget_class(type);
    size_t digits = class == H5T_INTEGER ? H5Tget_precision(type) - (H5Tget_sign(type) == H5T_SGN_2) : 0;
    *u64 = digits == 64;
    if (class == H5T_ENUM && is_bool(type)) return *t = TRA_BOOL, true;
    if (class == H5T_ENUM) { /* the numbers that stand for its names */
        hid_t of = H5Tget_super(type);
        bool readable = tra_h5_dtype(of, t, u64);
        H5Tclose(of);
        return readable;
    }
    if (class == H5T_FLOAT) return *t = H5Tget_size(type) <= sizeof(float) ? TRA_F32 : TRA_F64, true;
    return *t = tra_dtype_of_bits(digits), class == H5T_INTEGER && digits <= 64;
}

bool tra_h5_exists(hid_t loc, const char *path) {
    char part[4096];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part) return false;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && path[i] != '/') continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (H5Lexists(loc, part, H5P_DEFAULT) <= 0) return false;
    }
    return H5Oexists_by_name(loc, path, H5P_DEFAULT) > 0;
}

/* ---- attributes ---------------------------------------------------------------------------------------------- */

int64_t tra_h5_get_ints(hid_t obj, const char *name, int64_t *v, int64_t max) {
    if (H5Aexists(obj, name) <= 0) return -1;
    int64_t n = -1;
    hid_t attr = H5Aopen(obj, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    hssize_t points = H5Sget_simple_extent_npoints(space);
    if (attr >= 0 && H5Tget_class(type) == H5T_INTEGER && points >= 0 && points <= max &&
        (points == 0 || H5Aread(attr, H5T_NATIVE_INT64, v) >= 0))
        n = points;
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return n;
}

const char *tra_h5_get_text(hid_t obj, const char *name, tra_arena *a) {
    if (H5Aexists(obj, name) <= 0) return NULL;
    const char *text = NULL;
    hid_t attr = H5Aopen(obj, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    if (attr >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1) {
        if (H5Tis_variable_str(type) > 0) {
            char *s = NULL;
            if (H5Aread(attr, type, &s) >= 0 && s) text = tra_arena_strndup(a, s, strlen(s));
            H5free_memory(s);
        } else {
            size_t n = H5Tget_size(type);
            char *s = tra_arena_alloc(a, n + 1);
            if (H5Aread(attr, type, s) >= 0) text = s;
        }
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return text;
}

static bool put(hid_t obj, const char *name, hid_t space, hid_t filetype, hid_t memtype, const void *v) {
    hid_t attr = H5Acreate2(obj, name, filetype, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attr >= 0 && (H5Sget_simple_extent_npoints(space) == 0 || H5Awrite(attr, memtype, v) >= 0);
    return (attr < 0 || H5Aclose(attr) >= 0) && ok;
}

bool tra_h5_put_ints(hid_t obj, const char *name, int n, const hsize_t *dims, const int64_t *v) {
    hid_t space = n ? H5Screate_simple(n, dims, NULL) : H5Screate(H5S_SCALAR);
    bool ok = put(obj, name, space, H5T_STD_I64LE, H5T_NATIVE_INT64, v);
    H5Sclose(space);
    return ok;
}

bool tra_h5_put_text(hid_t obj, const char *name, const char *text) {
    size_t n = strlen(text);
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    bool ok = H5Tset_size(type, n ? n : 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
              H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 && put(obj, name, space, type, type, text);
    H5Tclose(type);
    H5Sclose(space);
    return ok;
}

/* ---- seals ------------------------------------------------------------------------------------------------------ */

uint64_t tra_h5_seal_more(uint64_t h, const int64_t *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)v[i]) * 0x9e3779b97f4a7c15;
        h ^= h >> 32;
    }
    return h;
}

static int64_t seal_of(const int64_t *v, int64_t n) { return (int64_t)tra_h5_seal_more((uint64_t)n, v, n); }

bool tra_h5_put_seal(hid_t obj, const int64_t *v, int64_t n) {
    int64_t seal = seal_of(v, n);
    return tra_h5_put_ints(obj, "tra_seal", 0, NULL, &seal);
}

bool tra_h5_sealed(hid_t obj, const int64_t *v, int64_t n) {
    int64_t seal;
    if (H5Aexists(obj, "tra_seal") <= 0) return true;
    return tra_h5_get_ints(obj, "tra_seal", &seal, 1) == 1 && seal == seal_of(v, n);
}

int tra_h5_header(hid_t dset, int64_t *v) {
    static const char *const attrs[] = {"tra_format", "tra_rank", "tra_keys", "tra_cuts", "tra_extents"};
    const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_IEEE_F32BE, H5T_STD_I64LE,
                           H5T_STD_I32LE,  H5T_STD_I64BE,  H5T_STD_I32BE,  bool_type()};
    tra_arena *a = tra_arena_new();
    const char *layout = tra_h5_get_text(dset, "tra_layout", a);
    hid_t type = H5Dget_type(dset), space = H5Dget_space(dset);
    hsize_t dims[H5S_MAX_RANK];
    int n = 0, ndims = H5Sget_simple_extent_dims(space, dims, NULL);
    v[n++] = layout ? layout[0] : 0;
    v[n] = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) v[n] += (H5Tequal(type, types[i]) > 0) << i;
    v[++n] = ndims;
    n++;
    for (int i = 0; i < ndims; i++) v[n++] = (int64_t)dims[i];
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        int64_t count = v[n] = tra_h5_get_ints(dset, attrs[i], v + n + 1, 3 * TRA_MAXDIM);
        if (count < 0 && tra_h5_get_text(dset, attrs[i], a)) v[n] = -2;
        n += 1 + (int)tra_max64(0, count);
    }
    const char *labels = tra_h5_get_text(dset, "tra_labels", a);
    if (labels)
        v[n++] = (int64_t)XXH64(labels, strlen(labels), 0); /* so without labels the seal is that of earlier versions */
    H5Sclose(space);
    H5Tclose(type);
    tra_arena_free(a);
    return n;
}

uint64_t tra_mask_sum(int64_t ordinal, uint32_t mask) {
    int64_t v[] = {ordinal, mask};
    return mask == 0 ? 0 : (uint64_t)seal_of(v, 2);
}

const char *tra_h5_pipeline(hid_t dset, tra_arena *a) {
    tra_str t = {0};
    hid_t type = H5Dget_type(dset), dcpl = H5Dget_create_plist(dset);
    hsize_t chunk[H5S_MAX_RANK];
    int n = H5Pget_layout(dcpl) == H5D_CHUNKED ? H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) : 0;
    tra_str_printf(&t, "%s%zu", H5Tget_order(type) == H5T_ORDER_BE ? "be" : "le", H5Tget_size(type));
    for (int i = 0; i < n; i++) tra_str_printf(&t, "%s%" PRIu64, i ? "x" : " ", (uint64_t)chunk[i]);
    int filters = n ? H5Pget_nfilters(dcpl) : 0;
    for (int i = 0; i < filters; i++) {
        unsigned flags, cd[8] = {0};
        size_t ncd = 8;
        H5Z_filter_t id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &ncd, cd, 0, NULL, NULL);
        tra_str_printf(&t, " %d", (int)id);
        for (size_t j = 0; j < ncd && j < 8; j++) tra_str_printf(&t, "%c%u", j ? ',' : ':', cd[j]);
    }
    H5Pclose(dcpl);
    H5Tclose(type);
    return tra_arena_take(a, &t);
}

/* ---- filters ---------------------------------------------------------------------------------------------------- */

static const char *filter_name(tra_arena *a, H5Z_filter_t id, const char *name) {
    switch (id) {
    case H5Z_FILTER_DEFLATE: return "gzip";
    case H5Z_FILTER_SHUFFLE: return "shuffle";
    case H5Z_FILTER_FLETCHER32: return "fletcher32";
    case H5Z_FILTER_SZIP: return "szip";
    case H5Z_FILTER_NBIT: return "nbit";
    case H5Z_FILTER_SCALEOFFSET: return "scaleoffset";
    case TRA_ZSTD_FILTER: return "zstd";
    }
    return name[0] ? tra_arena_printf(a, "%d (%s)", (int)id, name) : tra_arena_printf(a, "%d", (int)id);
}

const char *tra_h5_filter_at(hid_t dcpl, int i, tra_arena *a, H5Z_filter_t *id) {
    char name[128] = "";
    unsigned flags;
    size_t ncd = 0;
    *id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &ncd, NULL, sizeof name, name, NULL);
    return filter_name(a, *id, name);
}

const char *tra_h5_missing_filter(hid_t dset, tra_arena *a) {
    hid_t dcpl = H5Dget_create_plist(dset);
    const char *missing = NULL;
    for (int i = 0, n = H5Pget_nfilters(dcpl); i < n && !missing; i++) {
        H5Z_filter_t id;
        const char *text = tra_h5_filter_at(dcpl, i, a, &id);
        if (H5Zfilter_avail(id) <= 0) missing = text;
    }
    H5Pclose(dcpl);
    return missing;
}
