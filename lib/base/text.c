/* text.c - the growing string. */
#include "base.h"

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

void tra_str_printf(tra_str *b, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    reserve(b, 0);
    int n = vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
    va_end(ap);
    if (n > 0) {
        if ((size_t)n >= b->cap - b->n) {
            reserve(b, (size_t)n);
            vsnprintf(b->s + b->n, b->cap - b->n, fmt, again);
        }
        b->n += (size_t)n;
    }
    va_end(again);
}

const char *tra_str_get(const tra_str *b) { return b->s ? b->s : ""; }

void tra_str_free(tra_str *b) {
    free(b->s);
    *b = (tra_str){0};
}
