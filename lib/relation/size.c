/* size.c - what tuples take. */
#include "cell.h"

tra_size tra_size_upto(int64_t bytes) {
    bytes = tra_min64(bytes, TRA_SIZE_MOST);
    return (tra_size){bytes, bytes, false};
}

tra_size tra_size_exactly(int64_t bytes) {
    tra_size s = tra_size_upto(bytes);
    s.exact = bytes < TRA_SIZE_MOST;
    return s;
}

tra_size tra_size_add(tra_size a, tra_size b) {
    return (tra_size){.expected = tra_min64(a.expected + b.expected, TRA_SIZE_MOST),
                      .bound = tra_min64(a.bound + b.bound, TRA_SIZE_MOST),
                      .exact = tra_size_known(a) && tra_size_known(b) && a.bound + b.bound < TRA_SIZE_MOST};
}

tra_size tra_size_times(tra_size s, int64_t n) {
    tra_size all = {.expected = tra_min64(tra_mul_most(s.expected, n), TRA_SIZE_MOST),
                    .bound = tra_min64(tra_mul_most(s.bound, n), TRA_SIZE_MOST)};
    all.exact = n == 0 || (tra_size_known(s) && all.bound < TRA_SIZE_MOST);
    return all;
}

/* ---- layouts that are not dense -----------------------------------------------------------------------------------
 */

/* The extents that arrays have, each with how many have them: of a grid those at the last values of some dimensions of
 * its key and at others of the rest; of a list each tuple by itself. */
typedef struct kinds {
    const tra_catalog *c;
    tra_dims box, at;
    int64_t next;
    bool done;
} kinds;

static kinds kinds_of(const tra_catalog *c) {
    kinds k = {.c = c, .box.n = c->frontier.n, .at.n = c->frontier.n, .done = c->n == 0};
    for (int d = 0; d < k.box.n; d++) k.box.v[d] = tra_min64(2, c->frontier.v[d]);
    return k;
}

static bool next_kind(kinds *k, tra_dims *ext, int64_t *times) {
    if (k->done) return false;
    *times = 1;
    if (!k->c->grid) {
        tra_catalog_ext(k->c, k->next++, ext);
        k->done = k->next == k->c->n;
        return true;
    }
    tra_dims key = {.n = k->at.n};
    for (int d = 0; d < key.n; d++) {
        bool last = k->at.v[d] == k->box.v[d] - 1;
        key.v[d] = last ? k->c->frontier.v[d] - 1 : 0;
        if (!last) *times = tra_mul_most(*times, k->c->frontier.v[d] - 1);
    }
    tra_catalog_ext(k->c, tra_linear(&k->c->frontier, &key), ext);
    k->done = !tra_next(&k->box, &k->at);
    return true;
}

/* All; the largest; and, as no tuple takes more for an element than the one that takes most for each of its own, any
 * that have so many elements. */
typedef struct layout_bytes {
    tra_size all, largest, any;
} layout_bytes;

static layout_bytes by_layout(const tra_type *t, int64_t elements) {
    layout_bytes b = {.all.exact = true};
    double each = 0;
    tra_dims ext;
    int64_t times;
    for (kinds k = kinds_of(t->cat); next_kind(&k, &ext, &times);) {
        tra_size s = t->layout->bytes(t, &ext);
        int64_t n = 0;
        b.all = tra_size_add(b.all, tra_size_times(s, times));
        if (s.bound > b.largest.bound) b.largest = s;
        if (tra_dims_product(&ext, &n) && n > 0 && (double)s.bound / (double)n > each)
            each = (double)s.bound / (double)n;
    }
    double all = (double)tra_catalog_floats(t->cat), bound = each * (double)elements;
    b.any = tra_size_upto(bound < (double)TRA_SIZE_MOST ? (int64_t)bound + 1 : TRA_SIZE_MOST);
    if (all > 0) b.any.expected = tra_min64(b.any.bound, (int64_t)((double)b.all.expected / all * (double)elements));
    return b;
}

/* ---- of tuples --------------------------------------------------------------------------------------------------- */

static tra_size dense(const tra_type *t, int64_t elements) {
    return tra_size_exactly(tra_mul_most(elements, (int64_t)tra_dtype_size(t->dtype)));
}

tra_size tra_type_bytes_of(const tra_type *t, int64_t elements) {
    return t->layout ? by_layout(t, elements).any : dense(t, elements);
}

tra_size tra_type_bytes(const tra_type *t, int64_t ordinal) {
    tra_dims ext;
    if (!t->layout) return dense(t, tra_catalog_floats1(t->cat, ordinal));
    tra_catalog_ext(t->cat, ordinal, &ext);
    return t->layout->bytes(t, &ext);
}

tra_size tra_type_bytes_all(const tra_type *t) {
    return t->layout ? by_layout(t, 0).all : dense(t, tra_catalog_floats(t->cat));
}

tra_size tra_type_bytes_largest(const tra_type *t) {
    return t->layout ? by_layout(t, 0).largest : dense(t, tra_catalog_maxfloats(t->cat));
}

int64_t tra_dense_bytes(tra_dtype t, const tra_dims *ext) {
    int64_t n;
    return tra_dims_product(ext, &n) ? tra_size_exactly(tra_mul_most(n, (int64_t)tra_dtype_size(t))).bound
                                     : TRA_SIZE_MOST;
}

char *tra_size_text(tra_size s, char buf[TRA_SIZETEXT]) {
    char expected[32], bound[32];
    if (s.bound >= TRA_SIZE_MOST)
        snprintf(buf, TRA_SIZETEXT, "more than %s", tra_human(TRA_SIZE_MOST, bound));
    else if (tra_size_known(s))
        snprintf(buf, TRA_SIZETEXT, "%s", tra_human(s.bound, bound));
    else if (s.expected == s.bound)
        snprintf(buf, TRA_SIZETEXT, "up to %s", tra_human(s.bound, bound));
    else
        snprintf(buf, TRA_SIZETEXT, "about %s (at most %s)", tra_human(s.expected, expected),
                 tra_human(s.bound, bound));
    return buf;
}

char *tra_size_cell(tra_size s, char buf[TRA_SIZETEXT]) {
    char human[32];
    snprintf(buf, TRA_SIZETEXT, "%s%s", tra_size_known(s) ? "" : "~", tra_human(s.expected, human));
    return buf;
}
