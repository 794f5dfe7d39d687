/* space.c - free extents of a range of bytes, in two trees: by place, and by size and place. The trees are treaps: what
 * has the larger rank, a random number, is above. */
#include "space.h"

#include "../base/mix.h"

#include <stdlib.h>

enum { BY_PLACE, BY_SIZE };

static bool less(int tree, const tra_extent *a, const tra_extent *b) {
    return tree == BY_SIZE && a->n != b->n ? a->n < b->n : a->at < b->at;
}

static void insert(tra_space *s, int tree, tra_extent *x) {
    tra_extent **at = &s->tree[tree], **side[2] = {&x->kid[tree][0], &x->kid[tree][1]};
    for (; *at && (*at)->rank >= x->rank; s->steps++) at = &(*at)->kid[tree][less(tree, *at, x)];
    tra_extent *rest = *at; /* what x is put above: in parts before and after it */
    *at = x;
    for (; rest; s->steps++) {
        bool before = less(tree, rest, x);
        *side[!before] = rest;
        side[!before] = &rest->kid[tree][before];
        rest = *side[!before];
    }
    *side[0] = *side[1] = NULL;
}

static void take_out(tra_space *s, int tree, tra_extent *x) {
    tra_extent **at = &s->tree[tree], *l = x->kid[tree][0], *r = x->kid[tree][1];
    for (; *at != x; s->steps++) at = &(*at)->kid[tree][less(tree, *at, x)];
    for (; l && r; s->steps++) {
        bool left = l->rank > r->rank;
        *at = left ? l : r;
        at = &(*at)->kid[tree][left];
        *(left ? &l : &r) = *at;
    }
    *at = l ? l : r;
}

/* The last extent before the key (after: false), or the first that is not before it. */
static tra_extent *search(tra_space *s, int tree, int64_t at, int64_t n, bool after) {
    tra_extent key = {.at = at, .n = n}, *found = NULL;
    for (tra_extent *x = s->tree[tree]; x; s->steps++) {
        bool before = less(tree, x, &key);
        if (before != after) found = x;
        x = x->kid[tree][before];
    }
    return found;
}

/* Changes an extent, whose order by place stays as it is; frees it where nothing is left. */
static void set(tra_space *s, tra_extent *x, int64_t at, int64_t n) {
    take_out(s, BY_SIZE, x);
    if (n == 0) take_out(s, BY_PLACE, x);
    x->at = at;
    x->n = n;
    if (n > 0)
        insert(s, BY_SIZE, x);
    else
        free(x);
}

static void add(tra_space *s, int64_t at, int64_t n) {
    tra_extent *x = tra_calloc(1, sizeof *x);
    *x = (tra_extent){.at = at, .n = n, .rank = tra_mix((uint64_t)++s->made * 0x9e3779b97f4a7c15)};
    insert(s, BY_PLACE, x);
    insert(s, BY_SIZE, x);
}

int64_t tra_space_take(tra_space *s, int64_t n) {
    tra_extent *x = search(s, BY_SIZE, INT64_MIN, n, true);
    if (!x) return -1;
    int64_t at = x->at;
    set(s, x, at + n, x->n - n);
    return at;
}

void tra_space_give(tra_space *s, int64_t at, int64_t n) {
    tra_extent *l = search(s, BY_PLACE, at, 0, false), *r = search(s, BY_PLACE, at, 0, true);
    bool right = r && at + n == r->at;
    if (l && l->at + l->n == at) {
        int64_t more = right ? n + r->n : n;
        if (right) set(s, r, r->at, 0);
        set(s, l, l->at, l->n + more);
    } else if (right) {
        set(s, r, at, r->n + n);
    } else {
        add(s, at, n);
    }
}

void tra_space_cut(tra_space *s, int64_t at, int64_t n) {
    tra_extent *x = search(s, BY_PLACE, at + 1, 0, false);
    int64_t before = at - x->at, after = x->n - before - n;
    set(s, x, before > 0 ? x->at : at + n, before > 0 ? before : after);
    if (before > 0 && after > 0) add(s, at + n, after);
}

const tra_extent *tra_space_find(tra_space *s, int64_t at) {
    const tra_extent *x = search(s, BY_PLACE, at + 1, 0, false);
    return x && x->at + x->n > at ? x : search(s, BY_PLACE, at + 1, 0, true);
}

const tra_extent *tra_space_larger(tra_space *s, int64_t n, int64_t at) { return search(s, BY_SIZE, at + 1, n, true); }

const tra_extent *tra_space_smaller(tra_space *s, int64_t n, int64_t at) { return search(s, BY_SIZE, at, n, false); }

void tra_space_free(tra_space *s) {
    for (tra_extent *x; (x = s->tree[BY_PLACE]);) set(s, x, x->at, 0);
}
