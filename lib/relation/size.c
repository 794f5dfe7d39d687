/* size.c - what tuples take. */
#include "relation.h"

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

tra_size tra_type_bytes_of(const tra_type *t, int64_t elements) {
    return tra_size_exactly(tra_mul_most(elements, (int64_t)tra_dtype_size(t->dtype)));
}

tra_size tra_type_bytes(const tra_type *t, int64_t ordinal) {
    return tra_type_bytes_of(t, tra_catalog_floats1(t->cat, ordinal));
}

tra_size tra_type_bytes_all(const tra_type *t) { return tra_type_bytes_of(t, tra_catalog_floats(t->cat)); }

tra_size tra_type_bytes_largest(const tra_type *t) { return tra_type_bytes_of(t, tra_catalog_maxfloats(t->cat)); }

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
