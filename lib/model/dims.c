/* dims.c - keys and shapes. */
#include "relation.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool tra_dims_eq(const tra_dims *a, const tra_dims *b) {
    return a->n == b->n && memcmp(a->v, b->v, (size_t)a->n * sizeof a->v[0]) == 0;
}

bool tra_dims_product(const tra_dims *d, int64_t *out) {
    int64_t p = 1;
    for (int i = 0; i < d->n; i++) { /* a zero anywhere makes the product 0, whatever overflows before it */
        if (d->v[i] == 0) return *out = 0, true;
    }
    for (int i = 0; i < d->n; i++) {
        if (!tra_mul(p, d->v[i], &p)) return false;
    }
    *out = p;
    return true;
}

int64_t tra_linear(const tra_dims *box, const tra_dims *key) {
    int64_t pos = 0;
    for (int i = 0; i < box->n; i++) pos = pos * box->v[i] + key->v[i];
    return pos;
}

void tra_unlinear(const tra_dims *box, int64_t pos, tra_dims *key) {
    key->n = box->n;
    for (int i = box->n - 1; i >= 0; i--) {
        key->v[i] = pos % box->v[i];
        pos /= box->v[i];
    }
}

void tra_strides(const tra_dims *ext, int64_t *stride) {
    int64_t n = 1;
    for (int i = ext->n - 1; i >= 0; i--) {
        stride[i] = n;
        n *= ext->v[i];
    }
}

int tra_join_key(const tra_dims *joinl, const tra_dims *joinr, int kl, int d) {
    int before = 0;
    for (int i = 0; i < joinr->n; i++) {
        if (joinr->v[i] == d) return (int)joinl->v[i];
        before += joinr->v[i] < d;
    }
    return kl + d - before;
}

bool tra_next(const tra_dims *box, tra_dims *key) {
    for (int i = box->n - 1; i >= 0; i--) {
        if (++key->v[i] < box->v[i]) return true;
        key->v[i] = 0;
    }
    return false;
}

bool tra_parse_dims(const char *s, int64_t min, tra_dims *d) {
    d->n = 0;
    if (*s == '\0') return true;
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*s) || d->n == TRA_MAXDIM) return false;
        errno = 0;
        long long v = strtoll(s, &end, 10);
        if (errno || v < min) return false;
        d->v[d->n++] = v;
        if (*end == '\0') return true;
        if (*end != 'x' && *end != ',') return false;
        s = end + 1;
    }
}

char *tra_dims_text(const tra_dims *d, const char *open, const char *sep, const char *close, char *buf, size_t n) {
    size_t at = (size_t)snprintf(buf, n, "%s", open);
    for (int i = 0; i < d->n && at < n; i++) {
        at += (size_t)snprintf(buf + at, n - at, "%s%" PRId64, i ? sep : "", d->v[i]);
    }
    if (at < n) snprintf(buf + at, n - at, "%s", close);
    return buf;
}
