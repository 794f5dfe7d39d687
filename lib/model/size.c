/* size.c - how many bytes and entries tuples have. */
#include "columns.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tra_size tra_size_upto(int64_t bytes) {
    bytes = tra_min64(bytes, TRA_SIZE_MOST);
    return (tra_size){.expected = bytes, .bound = bytes};
}

tra_size tra_size_exactly(int64_t bytes) {
    tra_size s = tra_size_upto(bytes);
    s.exact = bytes < TRA_SIZE_MOST;
    return s;
}

tra_size tra_size_about(double expected, int64_t bound) {
    tra_size s = tra_size_upto(bound);
    if (expected < (double)s.bound) s.expected = expected > 0 ? (int64_t)expected : 0;
    return s;
}

tra_size tra_size_add(tra_size a, tra_size b) {
    return (tra_size){.expected = tra_min64(a.expected + b.expected, TRA_SIZE_MOST),
                      .bound = tra_min64(a.bound + b.bound, TRA_SIZE_MOST),
                      .exact = tra_size_known(a) && tra_size_known(b) && a.bound + b.bound < TRA_SIZE_MOST,
                      .firm = a.firm || b.firm};
}

tra_size tra_size_times(tra_size s, int64_t n) {
    tra_size all = {.expected = tra_min64(tra_mul_most(s.expected, n), TRA_SIZE_MOST),
                    .bound = tra_min64(tra_mul_most(s.bound, n), TRA_SIZE_MOST),
                    .firm = s.firm};
    all.exact = n == 0 || (tra_size_known(s) && all.bound < TRA_SIZE_MOST);
    return all;
}

/* ---- layouts that are not dense ---------------------------------------------------------------------------------- */

/* Goes through the different extents that arrays have, with how many arrays have each: in a grid every combination of
 * last or other values of the key dimensions; in a list its classes. */
typedef struct kinds {
    const tra_catalog *c;
    tra_dims box, at;
    int64_t next, *of_class; /* list: the next class, and how many tuples each has */
    bool done;
} kinds;

static kinds kinds_of(const tra_catalog *c) {
    kinds k = {.c = c, .box.n = c->frontier.n, .at.n = c->frontier.n, .done = c->n == 0};
    for (int d = 0; d < k.box.n; d++) k.box.v[d] = tra_min64(2, c->frontier.v[d]);
    if (c->grid || k.done) return k;
    k.of_class = tra_calloc((size_t)c->nclasses, sizeof *k.of_class);
    for (int64_t t = 0; t < c->n; t++) k.of_class[c->cls ? c->cls[t] : 0]++;
    return k;
}

static bool next_kind(kinds *k, tra_dims *ext, int64_t *times) {
    const tra_catalog *c = k->c;
    if (k->done) {
        free(k->of_class);
        return false;
    }
    if (!c->grid) {
        ext->n = c->bound.n;
        memcpy(ext->v, c->ext + k->next * ext->n, (size_t)ext->n * sizeof *ext->v);
        *times = k->of_class[k->next++];
        k->done = k->next == c->nclasses;
        return true;
    }
    *times = 1;
    tra_dims key = {.n = k->at.n};
    for (int d = 0; d < key.n; d++) {
        bool last = k->at.v[d] == k->box.v[d] - 1;
        key.v[d] = last ? c->frontier.v[d] - 1 : 0;
        if (!last) *times = tra_mul_most(*times, c->frontier.v[d] - 1);
    }
    tra_catalog_ext(c, tra_linear(&c->frontier, &key), ext);
    k->done = !tra_next(&k->box, &k->at);
    return true;
}

/* Entries of some of the elements of all arrays: `elements` of `all`. */
static tra_size entries_among(const tra_type *t, int64_t elements, int64_t all) {
    const tra_entries *n = t->entries;
    if (!n) return (tra_size){.bound = elements, .exact = elements == 0};
    double share = all > 0 ? (double)elements / (double)all : 0;
    return tra_size_about((double)n->all.expected * share, tra_min64(n->most, elements));
}

static tra_size bytes_of_kind(const tra_type *t, const tra_dims *ext, int64_t all, int64_t *elements) {
    if (!tra_dims_product(ext, elements)) *elements = INT64_MAX;
    return t->layout->bytes(t, ext, entries_among(t, *elements, all), -1);
}

/* The same of the fullest array with these extents. */
static tra_size bytes_of_fullest(const tra_type *t, const tra_dims *ext) {
    int64_t n;
    tra_size s = bytes_of_kind(t, ext, tra_catalog_elements(t->cat), &n);
    if (!t->entries || t->entries->crowd == 0) return s;
    tra_size entries = entries_among(t, n, tra_catalog_elements(t->cat));
    int64_t crowd = tra_max64(entries.expected, t->entries->crowd);
    return t->layout->bytes(t, ext, tra_size_about((double)crowd, entries.bound), -1);
}

/* Bytes of all tuples; of the largest; and of any tuples that have so many elements together. The last is bounded by
 * the tuple that takes the most bytes for each of its elements. */
typedef struct layout_bytes {
    tra_size all, largest, any;
} layout_bytes;

/* A bound of so many blocks with so many entries together: what they take without entries, padding between their parts,
 * and what all entries would take if each were in a row of its own, as far as the blocks have rows. */
static int64_t bound_of_blocks(const tra_type *t, int64_t blocks, int64_t entries) {
    tra_dims any = {.n = 2, .v = {TRA_SIZE_MOST, 1}};
    if (t->layout == &tra_rows) any.v[0] = tra_min64(TRA_SIZE_MOST, tra_mul_most(blocks, tra_rows_box(&t->cat->bound)));
    int64_t none = t->layout->bytes(t, &t->cat->bound, tra_size_exactly(0), 0).bound;
    int64_t parts = t->layout->nparts + (t->columns ? 2 * (int64_t)t->columns->n : 0); /* values and states */
    int64_t between = tra_add_most(none, parts * TRA_CELL_ALIGN);
    int64_t filled = t->layout->bytes(t, &any, tra_size_exactly(entries), -1).bound;
    return tra_add_most(tra_mul_most(blocks, between), filled);
}

/* Lowers the sum of the bounds of all tuples by what is known of all entries together. */
static tra_size bounded(const tra_type *t, tra_size all) {
    if (all.exact || !t->entries) return all;
    int64_t together = bound_of_blocks(t, t->cat->n, t->entries->all.bound);
    tra_size s = tra_size_about((double)all.expected, tra_min64(all.bound, together));
    s.firm = all.firm;
    return s;
}

static layout_bytes by_layout(const tra_type *t, int64_t elements) {
    layout_bytes b = {.all.exact = true};
    double each = 0;
    tra_dims ext;
    int64_t times, floats = tra_catalog_elements(t->cat);
    for (kinds k = kinds_of(t->cat); next_kind(&k, &ext, &times);) {
        int64_t n;
        if (times == 0) continue; /* a class without tuples */
        tra_size s = bytes_of_kind(t, &ext, floats, &n);
        b.all = tra_size_add(b.all, tra_size_times(s, times));
        if (s.bound > b.largest.bound) b.largest = s;
        if (n > 0 && (double)s.bound / (double)n > each) each = (double)s.bound / (double)n;
    }
    if (t->entries && t->entries->of) b.all = t->entries->bytes, b.largest = t->entries->largest;
    b.all = bounded(t, b.all);
    double all = (double)floats, bound = each * (double)elements;
    b.any = tra_size_upto(bound < (double)TRA_SIZE_MOST ? (int64_t)bound + 1 : TRA_SIZE_MOST);
    if (all > 0) b.any = tra_size_about((double)b.all.expected / all * (double)elements, b.any.bound);
    return b;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

const tra_entries *tra_entries_exactly(tra_arena *a, const tra_type *t, const int64_t *of, const int64_t *rows) {
    tra_entries *n = tra_new(a, tra_entries);
    *n = (tra_entries){.all = tra_size_exactly(0), .of = of, .rows = rows, .bytes = tra_size_exactly(0)};
    for (int64_t i = 0; i < t->cat->n; i++) {
        tra_dims ext;
        tra_catalog_ext(t->cat, i, &ext);
        n->all = tra_size_add(n->all, tra_size_exactly(of[i]));
        n->most = tra_max64(n->most, of[i]);
        tra_size s = tra_size_exactly(tra_dense_bytes(t->dtype, &ext));
        if (t->layout) s = t->layout->bytes(t, &ext, tra_size_exactly(of[i]), rows ? rows[i] : -1);
        n->bytes = tra_size_add(n->bytes, s);
        if (s.bound > n->largest.bound) n->largest = s;
    }
    return n;
}

const tra_entries *tra_entries_about(tra_arena *a, const tra_type *t, double expected, int64_t all, int64_t most) {
    tra_entries *n = tra_new(a, tra_entries);
    most = tra_min64(most, tra_catalog_elements_most(t->cat));
    all = tra_min64(tra_min64(all, tra_catalog_elements(t->cat)), tra_mul_most(most, t->cat->n));
    *n = (tra_entries){.all = tra_size_about(expected, all), .most = most};
    return n;
}

const tra_entries *tra_entries_with_rows(tra_arena *a, const tra_entries *e, int64_t fullest, double squares,
                                         int64_t span) {
    if (!e || fullest <= 0) return e;
    tra_entries *n = tra_new(a, tra_entries);
    *n = *e;
    n->fullest = fullest;
    n->squares = squares;
    n->span = span;
    return n;
}

double tra_type_places_used(const tra_type *t) {
    enum { WINDOWS = 2 }; /* places of this row, and of those that come next */
    const tra_entries *e = t->entries;
    const tra_dims *b = &t->cat->bound;
    if (!e || e->fullest <= 0 || e->all.expected <= 0 || b->n < 2) return 1;
    double rows = (double)t->cat->n, entries = (double)e->all.expected, share = 1;
    for (int d = 0; d + 1 < b->n; d++) rows *= (double)b->v[d];
    if (e->span > 0) share = fmin(1, WINDOWS * (double)e->span / (double)tra_max64(1, b->v[b->n - 1]));
    /* How many others an entry has in its row, in the mean, over how many it would have if they were spread evenly. The
     * square root is near the entropy of the places of R-MAT graphs. */
    double skew = (e->squares / entries - 1) / (entries / rows);
    return skew > 1 ? fmin(share, 1 / sqrt(skew)) : share;
}

int64_t tra_type_reach(const tra_type *t) {
    return t->entries && t->entries->span > 0 ? tra_min64(INT64_MAX / 2, t->entries->span) : INT64_MAX / 2;
}

bool tra_type_rows_stay_near(const tra_type *a, const tra_type *b) {
    enum { NEAR = 1 << 12 };
    return tra_type_reach(a) + tra_type_reach(b) <= NEAR;
}

tra_size tra_type_entries(const tra_type *t) {
    return t->entries ? t->entries->all : tra_size_upto(tra_catalog_elements(t->cat));
}

tra_size tra_type_entries1(const tra_type *t, int64_t ordinal) {
    if (t->entries && t->entries->of) return tra_size_exactly(t->entries->of[ordinal]);
    int64_t n = tra_catalog_elements_of(t->cat, ordinal);
    return t->entries ? entries_among(t, n, tra_catalog_elements(t->cat)) : tra_size_upto(n);
}

int64_t tra_type_entries_within(const tra_type *t, int64_t bytes) { return bytes / (int64_t)tra_dtype_size(t->dtype); }

double tra_type_held_share(const tra_type *t) {
    double all = (double)tra_catalog_elements(t->cat);
    return t->layout && t->entries && all > 0 ? (double)t->entries->all.expected / all : 1;
}

/* ---- bytes of tuples --------------------------------------------------------------------------------------------- */

static tra_size dense(const tra_type *t, int64_t elements) {
    return tra_size_exactly(tra_mul_most(elements, (int64_t)tra_dtype_size(t->dtype)));
}

tra_size tra_type_bytes_of(const tra_type *t, int64_t elements) {
    return t->layout ? by_layout(t, elements).any : dense(t, elements);
}

tra_size tra_type_bytes_pieces(const tra_type *t, int64_t elements, int64_t pieces) {
    if (!t->layout) return dense(t, elements);
    int64_t copies = tra_ceil_div(elements, tra_max64(1, tra_catalog_elements(t->cat)));
    int64_t entries = tra_min64(elements, tra_mul_most(copies, tra_type_entries(t).bound));
    double expected = (double)by_layout(t, elements).any.expected;
    return tra_size_about(expected, bound_of_blocks(t, tra_min64(pieces, elements), entries));
}

tra_size tra_type_bytes(const tra_type *t, int64_t ordinal) {
    tra_dims ext;
    if (!t->layout) return dense(t, tra_catalog_elements_of(t->cat, ordinal));
    tra_catalog_ext(t->cat, ordinal, &ext);
    int64_t n;
    if (!t->entries || !t->entries->of) return bytes_of_kind(t, &ext, tra_catalog_elements(t->cat), &n);
    return t->layout->bytes(t, &ext, tra_size_exactly(t->entries->of[ordinal]),
                            t->entries->rows ? t->entries->rows[ordinal] : -1);
}

tra_size tra_type_bytes_all(const tra_type *t) {
    if (t->layout && t->entries && t->entries->of) return bounded(t, t->entries->bytes);
    return t->layout ? by_layout(t, 0).all : dense(t, tra_catalog_elements(t->cat));
}

tra_size tra_type_bytes_largest(const tra_type *t) {
    tra_dims ext;
    if (!t->layout) return dense(t, tra_catalog_elements_most(t->cat));
    if (t->entries && t->entries->of) return t->entries->largest;
    if (t->cat->n == 0) return tra_size_exactly(0);
    tra_catalog_ext(t->cat, 0,
                    &ext); /* the first array mostly has the largest extents; then others need not be looked at */
    if (tra_dims_eq(&ext, &t->cat->bound)) return bytes_of_fullest(t, &ext);
    return by_layout(t, 0).largest;
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

char *tra_size_short_text(tra_size s, char buf[TRA_SIZETEXT]) {
    char human[32];
    snprintf(buf, TRA_SIZETEXT, "%s%s", tra_size_known(s) ? "" : "~", tra_human(s.expected, human));
    return buf;
}
