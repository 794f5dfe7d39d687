/* err.c - statuses, the first cause of a failure, small memory that cannot fail. */
#include "base.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int code;
    const char *text;
} statuses[] = {
#define X(name, code, text) [TRA_##name] = {code, text},
    TRA_STATUSES(X)
#undef X
};

int tra_status_exit(tra_status s) { return statuses[s].code; }
const char *tra_status_text(tra_status s) { return statuses[s].text; }

tra_status tra_status_of_exit(int code) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i].code == code) return (tra_status)i;
    }
    return TRA_INTERNAL;
}

/* Fills e; a message that does not fit ends in "...". */
static void record(const char *file, int line, tra_err *e, tra_status s, tra_err_kind kind, const char *tail,
                   const char *fmt, va_list ap) {
    e->status = s;
    e->kind = kind;
    e->file = file;
    e->line = line;
    int n = vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    if (n >= 0 && tail && (size_t)n < sizeof e->msg) {
        n += snprintf(e->msg + n, sizeof e->msg - (size_t)n, ": %s", tail);
    }
    if (n < 0 || (size_t)n >= sizeof e->msg) strcpy(e->msg + sizeof e->msg - 4, "...");
}

tra_status tra_fail_at(const char *file, int line, tra_err *e, tra_status s, const char *fmt, ...) {
    assert(s != TRA_OK);
    if (!e) return s;
    if (e->status == TRA_OK) {
        va_list ap;
        va_start(ap, fmt);
        record(file, line, e, s, TRA_KIND_NONE, NULL, fmt, ap);
        va_end(ap);
    }
    return e->status;
}

tra_status tra_fail_kind_at(const char *file, int line, tra_err *e, tra_status s, tra_err_kind kind, const char *fmt,
                            ...) {
    assert(s != TRA_OK);
    if (!e) return s;
    if (e->status == TRA_OK) {
        va_list ap;
        va_start(ap, fmt);
        record(file, line, e, s, kind, NULL, fmt, ap);
        va_end(ap);
    }
    return e->status;
}

tra_status tra_fail_as(tra_err *e, const tra_err *cause) {
    assert(cause->status != TRA_OK);
    if (!e) return cause->status;
    if (e->status == TRA_OK) *e = *cause;
    return e->status;
}

tra_status tra_fail_errno_at(const char *file, int line, tra_err *e, tra_status s, const char *fmt, ...) {
    assert(s != TRA_OK);
    int err = errno;
    static const int scarce[] = {ENOSPC, EDQUOT, EFBIG, ENOMEM, EMFILE, ENFILE};
    for (size_t i = 0; i < sizeof scarce / sizeof *scarce; i++) s = err == scarce[i] ? TRA_RESOURCE : s;
    if (!e) return s;
    if (e->status == TRA_OK) {
        char text[256];
        va_list ap;
        va_start(ap, fmt);
        record(file, line, e, s, TRA_KIND_NONE, strerror_r(err, text, sizeof text), fmt, ap);
        va_end(ap);
    }
    return e->status;
}

/* ---- small memory ------------------------------------------------------------------------------------------- */

static void oom_default(size_t wanted) {
    fprintf(stderr, "tra: out of memory (%zu bytes wanted)\n", wanted);
    abort();
}

static tra_oom_fn *oom = oom_default;

void tra_oom_handler(tra_oom_fn *fn) { oom = fn ? fn : oom_default; }

static void *need(void *p, size_t wanted) {
    if (!p) {
        oom(wanted);
        abort(); /* the handler must not return */
    }
    return p;
}

void *tra_malloc(size_t n) { return need(malloc(n ? n : 1), n); }

void *tra_calloc(size_t n, size_t size) {
    void *p = n && size ? calloc(n, size) : calloc(1, 1); /* calloc itself refuses a product that overflows */
    return need(p, n > SIZE_MAX / (size ? size : 1) ? SIZE_MAX : n * size);
}

void *tra_realloc(void *p, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return need(NULL, SIZE_MAX);
    return need(realloc(p, bytes ? bytes : 1), bytes);
}

char *tra_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(tra_malloc(n), s, n);
}

char *tra_asprintf(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *s = NULL;
    if (vasprintf(&s, fmt, ap) < 0) s = NULL;
    va_end(ap);
    return need(s, strlen(fmt));
}
