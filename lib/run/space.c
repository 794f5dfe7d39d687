/* space.c - free extents of a range of bytes. */
#include "space.h"

#include <stdlib.h>
#include <string.h>

int tra_space_find(const tra_space *s, int64_t at) {
    int64_t lo = 0;
    TRA_BISECT(lo, s->n, mid, s->v[mid].at + s->v[mid].n <= at);
    return (int)lo;
}

int64_t tra_space_take(tra_space *s, int64_t n) {
    int best = -1;
    for (int i = 0; i < s->n; i++) {
        if (s->v[i].n >= n && (best < 0 || s->v[i].n < s->v[best].n)) best = i;
    }
    if (best < 0) return -1;
    int64_t at = s->v[best].at;
    s->v[best].at += n;
    s->v[best].n -= n;
    if (s->v[best].n == 0) memmove(s->v + best, s->v + best + 1, (size_t)(--s->n - best) * sizeof *s->v);
    return at;
}

void tra_space_give(tra_space *s, int64_t at, int64_t n) {
    int i = tra_space_find(s, at);
    bool left = i > 0 && s->v[i - 1].at + s->v[i - 1].n == at;
    bool right = i < s->n && at + n == s->v[i].at;
    if (left && right) {
        s->v[i - 1].n += n + s->v[i].n;
        memmove(s->v + i, s->v + i + 1, (size_t)(--s->n - i) * sizeof *s->v);
    } else if (left) {
        s->v[i - 1].n += n;
    } else if (right) {
        s->v[i].at -= n;
        s->v[i].n += n;
    } else {
        TRA_ROOM(s->v, s->n, s->cap);
        memmove(s->v + i + 1, s->v + i, (size_t)(s->n++ - i) * sizeof *s->v);
        s->v[i] = (tra_extent){at, n};
    }
}

void tra_space_cut(tra_space *s, int64_t at, int64_t n) {
    int i = tra_space_find(s, at);
    int64_t before = at - s->v[i].at, after = s->v[i].n - before - n;
    memmove(s->v + i, s->v + i + 1, (size_t)(--s->n - i) * sizeof *s->v);
    if (before > 0) tra_space_give(s, at - before, before);
    if (after > 0) tra_space_give(s, at + n, after);
}
