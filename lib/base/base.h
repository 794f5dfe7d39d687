/* base.h - what every room uses: statuses and errors, arenas, text, numbers, files, processes, logging. It includes no
 * other room. Two rules hold everywhere:
 *   - a wrong input is an error (a status and a filled tra_err), a broken invariant an assert;
 *   - nothing below cmd/main.c ends the process. The one exception is running out of small memory,
 *     which calls the handler that main installed (see tra_oom_handler).
 */
#ifndef TRA_BASE_H
#define TRA_BASE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TRA_VERSION "0.1.0"

/* Every failure class: name, exit status of the process, text. One row is all there is to add. */
#define TRA_STATUSES(X)                                                                                                \
    X(OK, 0, "success")                                                                                                \
    X(NO, 1, "the answer is no")                                                                                       \
    X(USAGE, 2, "wrong usage")                                                                                         \
    X(PROGRAM, 2, "the program does not compile")                                                                      \
    X(INPUT, 3, "input missing, damaged or of the wrong type")                                                         \
    X(RESOURCE, 4, "out of a resource")                                                                                \
    X(INTERNAL, 5, "internal error")                                                                                   \
    X(LOST, 5, "a rank was lost")                                                                                      \
    X(STOPPED, 75, "stopped, progress saved")

typedef enum tra_status {
#define X(name, code, text) TRA_##name,
    TRA_STATUSES(X)
#undef X
} tra_status;

int tra_status_exit(tra_status s);       /* exit status of the process for s */
tra_status tra_status_of_exit(int code); /* the first status with that exit status; TRA_INTERNAL when none has it */
const char *tra_status_text(tra_status s);

/* What callers ask of an error beyond its status. Most errors are of no kind. */
typedef enum tra_err_kind {
    TRA_KIND_NONE,
    TRA_KIND_POOL,     /* the memory for blocks is used up, and the message does not name a statement yet */
    TRA_KIND_OVERFLOW, /* an integer that was computed does not fit i64 */
    TRA_KIND_OUTGROWN, /* there are more rows than the plan has room for by what it expected */
    TRA_KIND_LOCKED,   /* another process is writing it */
} tra_err_kind;

/* The first cause of a failure. The caller owns it, zero-initialised; later failures do not overwrite it. */
typedef struct tra_err {
    tra_status status;
    tra_err_kind kind;
    char msg[2048];   /* what, where, what to do: one line, or a block of diagnostics */
    const char *file; /* source place that raised it, for -vv */
    int line;
} tra_err;

#define TRA_MUSTUSE      __attribute__((warn_unused_result))
#define TRA_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* Records status s and a message in e unless e already holds a cause; returns the status that e holds.
 * e may be NULL (the message is dropped). */
#define tra_fail(e, s, ...) tra_fail_at(__FILE__, __LINE__, e, s, __VA_ARGS__)
tra_status tra_fail_at(const char *file, int line, tra_err *e, tra_status s, const char *fmt, ...) TRA_PRINTF(5, 6);
/* The same for an error of a kind. */
#define tra_fail_kind(e, s, kind, ...) tra_fail_kind_at(__FILE__, __LINE__, e, s, kind, __VA_ARGS__)
tra_status tra_fail_kind_at(const char *file, int line, tra_err *e, tra_status s, tra_err_kind kind, const char *fmt,
                            ...) TRA_PRINTF(6, 7);
/* Passes a failure on as it is, with its kind and its place: copies *cause to e, unless e already holds a cause. */
tra_status tra_fail_as(tra_err *e, const tra_err *cause);
/* As tra_fail, with ": strerror(errno)" appended; ENOSPC, EDQUOT, EFBIG, ENOMEM, EMFILE and
 * ENFILE become TRA_RESOURCE. */
#define tra_fail_errno(e, s, ...) tra_fail_errno_at(__FILE__, __LINE__, e, s, __VA_ARGS__)
tra_status tra_fail_errno_at(const char *file, int line, tra_err *e, tra_status s, const char *fmt, ...)
    TRA_PRINTF(5, 6);

#define TRA_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        tra_status try_status_ = (expr);                                                                               \
        if (try_status_ != TRA_OK) return try_status_;                                                                 \
    } while (0)

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* Called when small memory runs out; must not return. main installs one that reports and ends all ranks (status 4);
 * the default prints to stderr and aborts. */
typedef void tra_oom_fn(size_t wanted);
void tra_oom_handler(tra_oom_fn *fn);

/* Like malloc/calloc/realloc/strdup but never NULL: failure goes to the handler. Free with free(). For small, bounded
 * things only; block buffers come from the pool (lib/run/pool.h), which reports failure as TRA_RESOURCE. */
void *tra_malloc(size_t n) __attribute__((malloc));
void *tra_calloc(size_t n, size_t size) __attribute__((malloc)); /* n * size checked */
void *tra_realloc(void *p, size_t n, size_t size);               /* n * size checked */
/* Makes room for one more element in v, an array from tra_realloc that has n elements and room for cap. */
#define TRA_ROOM(v, n, cap)                                                                                            \
    ((n) < (cap) ? (void)0 : (void)((cap) = 2 * (cap) + 8, (v) = tra_realloc((v), (size_t)(cap), sizeof *(v))))
char *tra_strdup(const char *s);
char *tra_asprintf(const char *fmt, ...) TRA_PRINTF(1, 2);

/* An arena: allocations that die together. Not thread-safe. */
typedef struct tra_arena tra_arena;
tra_arena *tra_arena_new(void);
void tra_arena_free(tra_arena *a);                          /* NULL is allowed */
void *tra_arena_alloc(tra_arena *a, size_t n);              /* zeroed, aligned to 16, never NULL; n = 0 is allowed */
void *tra_arena_array(tra_arena *a, size_t n, size_t size); /* the same, n * size checked */
char *tra_arena_strndup(tra_arena *a, const char *s, size_t n);
char *tra_arena_printf(tra_arena *a, const char *fmt, ...) TRA_PRINTF(2, 3);
void tra_arena_keep(tra_arena *a, void *p, size_t n); /* n bytes from malloc are the arena's from now on */
void tra_arena_drop(tra_arena *a, const void *p);     /* frees what was given to it so; NULL is allowed */
/* Where the arena is; and what frees the large pieces that were allocated since then. Nothing that was allocated since
 * may be used any more. */
uint64_t tra_arena_mark(const tra_arena *a);
void tra_arena_release(tra_arena *a, uint64_t mark);
size_t tra_arena_bytes(const tra_arena *a); /* bytes that it has from the system */
/* Says that n bytes outside of the arena are held now by what is being made in it. And the most bytes that arena and
 * outside ever had together. */
void tra_arena_beside(tra_arena *a, size_t n);
size_t tra_arena_most(const tra_arena *a);
/* Returns all freed memory to the system, which else keeps counting as memory of this process. */
void tra_return_free_memory(void);
/* From now on memory of 128 KiB or more is returned to the system as soon as it is freed. By default malloc keeps ever
 * larger blocks, after libraries have used such. */
void tra_return_large_blocks(void);
void tra_expect_filled(void *p, size_t n); /* all of these bytes will be written: they may come in large pages */
/* A new array with room for cap elements, the first n of which are copied from v. */
void *tra_arena_grown(tra_arena *a, const void *v, size_t n, size_t cap, size_t size);
/* As TRA_ROOM, for an array in an arena. */
#define TRA_ARENA_ROOM(arena, v, n, cap)                                                                               \
    ((n) < (cap) ? (void)0                                                                                             \
                 : (void)((cap) = 2 * (cap) + 8,                                                                       \
                          (v) = tra_arena_grown((arena), (v), (size_t)(n), (size_t)(cap), sizeof *(v))))
/* The same for an array whose room is kept nowhere: it has room for n elements if n is 0 or a power of two, and for the
 * next power of two otherwise. */
#define TRA_ARENA_DOUBLE(arena, v, n)                                                                                  \
    (((n) & ((n)-1))                                                                                                   \
         ? (void)0                                                                                                     \
         : (void)((v) = tra_arena_grown((arena), (v), (size_t)(n), (n) ? 2 * (size_t)(n) : 1, sizeof *(v))))
#define tra_new(arena, type)     ((type *)tra_arena_alloc(arena, sizeof(type)))
#define tra_news(arena, type, n) ((type *)tra_arena_array(arena, (size_t)(n), sizeof(type)))

/* ---- text --------------------------------------------------------------------------------------------------- */

typedef struct tra_strlist {
    int n;
    const char **v; /* from malloc */
} tra_strlist;

/* Growing string. Zero-initialise; s is NUL-terminated and never NULL after the first append; tra_str_free at the
 * end. */
typedef struct tra_str {
    char *s;
    size_t n, cap;
} tra_str;
void tra_str_addn(tra_str *b, const char *s, size_t n);
void tra_str_add_whole(tra_str *b, int64_t v); /* in decimal */
void tra_str_add(tra_str *b, const char *s);
void tra_str_printf(tra_str *b, const char *fmt, ...) TRA_PRINTF(2, 3);
void tra_str_vprintf(tra_str *b, const char *fmt, va_list ap);
/* Puts '?' in place of control characters, which would disturb a terminal; `lines`: line ends and tabs stay. Returns s.
 * What people are shown goes through one of these: names and values of files may be anything. */
char *tra_printable(char *s, bool lines);
/* Length of the character of UTF-8 at s; 0: none stands there. Names of files may hold any bytes, JSON may not. */
int tra_utf8(const unsigned char *s);
enum { TRA_NAMETEXT = 1024 };
const char *tra_printable_name(const char *s,
                               char buf[TRA_NAMETEXT]); /* the same of a name, in buf; long ones are cut */
const char *tra_str_get(const tra_str *b);              /* "" when nothing was appended */
void tra_str_free(tra_str *b);
char *tra_arena_take(tra_arena *a, tra_str *b); /* its text, in the arena; *b is freed */

/* The closest of the names, if close enough to be a slip of the finger (a third of its letters, at least one, or
 * case alone); else NULL. */
const char *tra_nearest(const char *name, int n, const char *const *names);

/* Writing JSON: commas and escapes are handled, the caller keeps the nesting right. Doubles that are not finite are
 * written as null; %.17g otherwise. key is NULL inside arrays. */
typedef struct tra_json {
    tra_str out;
    int depth;
    bool first[64];
} tra_json;
void tra_json_begin(tra_json *j, const char *key, char bracket); /* bracket: '{' or '[' */
void tra_json_end(tra_json *j, char bracket);                    /* '}' or ']' */
void tra_json_str(tra_json *j, const char *key, const char *v);  /* v NULL: null */
void tra_json_int(tra_json *j, const char *key, int64_t v);
void tra_json_num(tra_json *j, const char *key, double v);
void tra_json_bool(tra_json *j, const char *key, bool v);
void tra_json_ints(tra_json *j, const char *key, int n, const int64_t *v);
void tra_json_free(tra_json *j);

/* Reading JSON, enough to look up what tra itself wrote: finds the value at a path such as "plans.0.cost" and
 * returns its text (a string with its quotes; points into s), or NULL: absent, malformed or nested deeper than 200. */
const char *tra_json_find(const char *s, const char *path, size_t *len);

/* ---- numbers ------------------------------------------------------------------------------------------------ */

/* *out = a*b and a+b; false on overflow of int64_t. */
bool tra_mul(int64_t a, int64_t b, int64_t *out);
bool tra_add(int64_t a, int64_t b, int64_t *out);
/* The same for numbers that are not negative; INT64_MAX on overflow. */
int64_t tra_mul_most(int64_t a, int64_t b);
int64_t tra_add_most(int64_t a, int64_t b);
static inline int64_t tra_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); } /* a >= 0, b > 0 */
/* Bytes of a piece of scratch memory, rounded up so that the next piece is aligned to a cache line, which vector
 * instructions want; n >= 0, sizes that are too large for any memory stay so. */
static inline int64_t tra_round64(int64_t n) { return n > INT64_MAX - 63 ? n : (n + 63) / 64 * 64; }
/* Binary search: moves `at` up to the first place at which `below` is false, or to `end`. `below` is an expression of
 * `mid`, the place that is looked at, and is true up to some place and false from there on. */
#define TRA_BISECT(at, end, mid, below)                                                                                \
    do {                                                                                                               \
        for (int64_t bisect_end_ = (end), mid; (at) < bisect_end_;) {                                                  \
            mid = (at) + (bisect_end_ - (at)) / 2;                                                                     \
            if (below)                                                                                                 \
                (at) = mid + 1;                                                                                        \
            else                                                                                                       \
                bisect_end_ = mid;                                                                                     \
        }                                                                                                              \
    } while (0)

static inline int64_t tra_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tra_max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* "64M", "1.5GiB", "4096": K M G T P are powers of 1024 (with optional B or iB). False if malformed, negative or too
 * large. */
bool tra_parse_size(const char *s, int64_t *bytes);
/* Whole decimal integer or number; false on junk. */
bool tra_parse_int(const char *s, int64_t *v);
bool tra_parse_num(const char *s, double *v);
/* decimal.c: sets *v to m * 10^exponent, negated if `negative`, correctly rounded. False where its fast ways are not
 * exact: then the C library has to read the text. */
bool tra_decimal_num(bool negative, uint64_t m, int exponent, double *v);
/* Write v with the fewest digits that read back as the same number, f64 at most 17 and f32 at most 9, of those the
 * nearest; whole numbers below 1e17 (f32: 1e9) without an exponent. Return the length, at most 31. */
size_t tra_print_f64(char *to, double v);
size_t tra_print_f32(char *to, float v);
char *tra_exactly(double v, char *buf); /* the first, with a zero byte behind it; returns buf */
/* Writes bytes as "1.5 KiB" into buf (at least 32 bytes). Returns buf. */
char *tra_human(int64_t bytes, char *buf);

/* Bytes that a command which only streams has for buffers under a ceiling of the process, or under the limit of its
 * cgroup or scheduler where that is lower: 24 MiB less, for code, libraries, stacks; negative where they do not fit. */
int64_t tra_buffer_bytes(int64_t ceiling);
/* "145.3 MiB WHAT (--memory 146M)": a size, and the option that gives so much; -v adds the exact number of bytes.
 * Returns buf. */
enum { TRA_CEILINGTEXT = 128 };
char *tra_ceiling_text(int64_t bytes, const char *what, char buf[TRA_CEILINGTEXT]);
/* TRA_RESOURCE, naming the least ceiling that would do, unless the ceiling leaves `need` bytes for buffers. */
TRA_MUSTUSE tra_status tra_buffer_check(int64_t ceiling, int64_t need, tra_err *e);
/* Notes the same need for tra_buffer_checked alone. No memory is taken, and a small ceiling is no error. */
void tra_buffer_note(int64_t need);
/* Bytes that the process holds now beyond what it has when it begins: a part of `need` for what comes in addition. */
int64_t tra_buffer_held(void);
/* The ceiling of this process, which its command sets; 0: it has none. No plan counts what is read before it is made:
 * such readers ask here before they take so many bytes more. TRA_RESOURCE: these do not fit. what: "the strings of
 * t.h5", with which the message begins. */
extern int64_t tra_ceiling;
TRA_MUSTUSE tra_status tra_ceiling_check(int64_t more, const char *what, tra_err *e);
/* The least ceiling under which all that was checked so far would do. */
int64_t tra_buffer_checked(void);

double tra_now(void); /* monotonic seconds */
/* Seconds of a span as people write them: 90, 90s, 4h, 1h30m, 1.5d, and 4:00:00 or 1-12:00:00 as schedulers do. */
bool tra_parse_span(const char *s, double *seconds);
/* The same seconds for people: "4 h 5 min". Returns buf. */
enum { TRA_SPANTEXT = 48 };
char *tra_span_text(double seconds, char buf[TRA_SPANTEXT]);

/* ---- files -------------------------------------------------------------------------------------------------- */

/* pread/pwrite until done; a short read is TRA_INPUT ("ends at byte ..."). name is for the message. */
TRA_MUSTUSE tra_status tra_pread(int fd, void *buf, size_t n, int64_t off, const char *name, tra_err *e);
TRA_MUSTUSE tra_status tra_pwrite(int fd, const void *buf, size_t n, int64_t off, const char *name, tra_err *e);
/* The path with its folder written from the root and without links; as it is given if there is no such folder. The last
 * name stays, even where it is a link. From malloc. */
char *tra_resolve_folder(const char *path);
/* The folder that a path is in, from malloc, and where the last name begins. */
char *tra_folder_of(const char *path, const char **name);
/* The path of the file that the symbolic link at `path` leads to, also over several links; that file need not exist. If
 * there is no link, the path itself. From malloc. */
char *tra_resolve_links(const char *path);
/* Reads a whole file ("-": standard input) of at most max bytes; *text is NUL-terminated, from malloc. */
TRA_MUSTUSE tra_status tra_slurp(const char *path, size_t max, char **text, size_t *n, tra_err *e);

/* Opens an unnamed scratch file in the directory: it vanishes however the process ends. Returns the descriptor, or -1
 * and errno. */
int tra_unnamed_file(const char *dir);
/* The share of a file that the page cache has, 0 to 1, by a sample of its pages; 0 where the kernel does not tell. */
double tra_cached_share(const char *path);
/* Makes the directory if it does not exist. Other problems are reported when it is used. */
void tra_make_directory(const char *dir);

/* Removes a directory and the plain files in it; not through a symbolic link. True if it is gone. */
bool tra_remove_files_of(const char *dir);

/* Names of temporary files to unlink if the process ends early (error exit, out of memory, signal). Thread-safe.
 * tra_cleanup_all is async-signal-safe in that it only calls unlink. */
void tra_cleanup_add(const char *path);
void tra_cleanup_drop(const char *path); /* the file was renamed or removed */
void tra_cleanup_all(void);

/* ---- processes ---------------------------------------------------------------------------------------------- */

/* Has a process of this host ended? Also one that nobody has waited for. */
bool tra_process_gone(long pid);
/* Bytes of memory that this process has now. */
int64_t tra_resident_bytes(void);
/* The pid namespace of this process, in which its numbers of processes mean something; 0: not known. */
unsigned long long tra_process_space(void);

/* A process in the names of its files: "PID", or "PID.SPACE" in the pid namespace of a container. */
char *tra_process_name(void); /* of this process, from malloc */
typedef enum tra_process_state {
    TRA_PROCESS_NONE, /* no process is named */
    TRA_PROCESS_LIVES,
    TRA_PROCESS_GONE,
    TRA_PROCESS_ELSEWHERE /* it is of another pid namespace: whether it lives is not known here */
} tra_process_state;
/* The process that a text begins with the name of, up to a '.' or '-', which *end (unless NULL) then points to. */
tra_process_state tra_process_of_name(const char *name, const char **end);

/* ---- threads ------------------------------------------------------------------------------------------------ */

/* pthread_create with a stack of 8 MiB, whatever `ulimit -s` says: kernels keep strips of values on it. */
int tra_thread_start(pthread_t *id, void *(*fn)(void *), void *ctx);

/* ---- hash tables -------------------------------------------------------------------------------------------- */

/* The seed of hash tables whose keys come from data: another one in each process, so that nobody can make data whose
 * keys all collide. No result may depend on it. */
uint64_t tra_hash_seed(void);

/* ---- stopping ----------------------------------------------------------------------------------------------- */

/* From now on SIGINT, SIGTERM, SIGUSR1 and (unless ignored) SIGHUP do not end the process but ask it to stop soon: long
 * loops call tra_stop_asked now and then. A second SIGINT ends the process at once. */
void tra_stop_catch(void);
void tra_stop_when_gone(long pid); /* the end of that process of this host also counts as being asked to stop */
void tra_stop_at(double when);     /* so does this moment (of tra_now) */
bool tra_stop_asked(void);
tra_status tra_stop_check(tra_err *e); /* TRA_STOPPED once asked */

/* ---- log ---------------------------------------------------------------------------------------------------- */

/* Level: -1 errors only; 0 also warnings and what was made; 1 what a run finds; 2 each operator; 3 super-blocks and
 * batches; 4 messages between ranks (ARCHITECTURE.md has more). Messages go to standard error as "tra: text", on rank 0
 * alone but for errors. */
extern int tra_log_level;
extern bool tra_log_mute; /* set on ranks other than 0 */
void tra_warn(const char *fmt, ...) TRA_PRINTF(1, 2);
void tra_warn_always(const char *fmt, ...) TRA_PRINTF(1, 2); /* also under -q: what may be a mistake in a result */
void tra_info(int level, const char *fmt, ...) TRA_PRINTF(2, 3);

#endif
