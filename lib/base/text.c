/* text.c - the growing string, and the nearest spelling of a name. */
#include "base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void reserve(tra_str *b, size_t more) {
    if (more < b->cap - b->n) return; /* cap - n > more leaves room for the NUL; 0 - 0 when empty */
    size_t cap = b->cap ? b->cap * 2 : 64;
    while (cap - b->n <= more) cap *= 2;
    b->s = tra_realloc(b->s, cap, 1);
    b->cap = cap;
}

void tra_str_addn(tra_str *b, const char *s, size_t n) {
    reserve(b, n);
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

void tra_str_add(tra_str *b, const char *s) { tra_str_addn(b, s, strlen(s)); }

void tra_str_add_whole(tra_str *b, int64_t v) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0) *--at = '-';
    tra_str_addn(b, at, (size_t)(digits + sizeof digits - at));
}

/* What most formats have is written here: planning prints much, and in a process that has libquadmath, as OpenBLAS may
 * bring it, printf parses every format twice. */
void tra_str_vprintf(tra_str *b, const char *fmt, va_list ap) {
    va_list again;
    for (;;) {
        size_t plain = strcspn(fmt, "%");
        tra_str_addn(b, fmt, plain);
        fmt += plain;
        if (fmt[0] && fmt[1] == 's') {
            const char *s = va_arg(ap, const char *);
            tra_str_add(b, s ? s : "(null)");
            fmt += 2;
        } else if (fmt[0] && fmt[1] == 'd') {
            tra_str_add_whole(b, va_arg(ap, int));
            fmt += 2;
        } else if (fmt[0] && fmt[1] == 'l' && fmt[2] == 'd') {
            tra_str_add_whole(b, va_arg(ap, long));
            fmt += 3;
        } else {
            break;
        }
    }
    if (!fmt[0]) return;
    va_copy(again, ap);
    int n = vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
    if (n > 0 && (size_t)n >= b->cap - b->n) {
        reserve(b, (size_t)n);
        vsnprintf(b->s + b->n, b->cap - b->n, fmt, again);
    }
    if (n > 0) b->n += (size_t)n;
    va_end(again);
}

void tra_str_printf(tra_str *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tra_str_vprintf(b, fmt, ap);
    va_end(ap);
}

char *tra_arena_printf(tra_arena *a, const char *fmt, ...) {
    tra_str b = {0};
    va_list ap;
    va_start(ap, fmt);
    tra_str_vprintf(&b, fmt, ap);
    va_end(ap);
    char *s = tra_arena_alloc(a, b.n + 1);
    memcpy(s, b.s, b.n + 1);
    tra_str_free(&b);
    return s;
}

const char *tra_str_get(const tra_str *b) { return b->s ? b->s : ""; }

char *tra_arena_take(tra_arena *a, tra_str *b) {
    char *text = tra_arena_strndup(a, tra_str_get(b), b->n);
    tra_str_free(b);
    return text;
}

void tra_str_free(tra_str *b) {
    free(b->s);
    *b = (tra_str){0};
}

/* ---- spelling -------------------------------------------------------------------------------------------------- */

enum { MAXNAME = 64 }; /* longer names have no nearest */

/* Edits (insert, remove, change, swap of neighbours) between a and b, case ignored. */
static int distance(const char *a, int na, const char *b, int nb) {
    int row[3][MAXNAME + 1];
    int *before = row[0], *prev = row[1], *cur = row[2];
    for (int j = 0; j <= nb; j++) prev[j] = j;
    for (int i = 1; i <= na; i++) {
        cur[0] = i;
        for (int j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = prev[j - 1] + (ca != cb);
            if (prev[j] + 1 < best) best = prev[j] + 1;
            if (cur[j - 1] + 1 < best) best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && cb == tolower((unsigned char)a[i - 2]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            cur[j] = best;
        }
        int *t = before;
        before = prev;
        prev = cur;
        cur = t;
    }
    return prev[nb];
}

const char *tra_nearest(const char *name, int n, const char *const *names) {
    int len = (int)strlen(name);
    if (len == 0 || len > MAXNAME) return NULL;
    const char *best = NULL;
    int best_d = len / 3 > 1 ? len / 3 + 1 : 2; /* must be less than this */
    for (int i = 0; i < n; i++) {
        int m = (int)strlen(names[i]);
        if (m > MAXNAME || m - len >= best_d || len - m >= best_d) continue;
        int d = distance(name, len, names[i], m);
        if (d < best_d && d < (len > m ? len : m)) {
            best = names[i];
            best_d = d;
        }
    }
    return best;
}

char *tra_printable(char *s, bool lines) {
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        bool control = *p < ' ' ? !lines || (*p != '\n' && *p != '\t') : *p == 127;
        if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) *p++ = '?', control = true; /* those of ISO 8859-1 */
        bool turns = *p == 0xe2 &&
                     ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
        if (turns) *p++ = '?', *p++ = '?', control = true; /* end a line, or turn the direction of the text around */
        if (control) *p = '?';
    }
    return s;
}

const char *tra_printable_name(const char *s, char buf[TRA_NAMETEXT]) {
    size_t n = strlen(s), cut = n;
    if (n >= TRA_NAMETEXT) {
        cut = TRA_NAMETEXT - 4;
        while (cut > 0 && ((unsigned char)s[cut] & 0xc0) == 0x80) cut--;
    }
    memcpy(buf, s, cut);
    strcpy(buf + cut, cut < n ? "..." : "");
    return tra_printable(buf, false);
}
