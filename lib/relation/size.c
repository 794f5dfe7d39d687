/* size.c - what tuples take. */
#include "relation.h"

static tra_size exactly(int64_t bytes) {
    if (bytes >= TRA_SIZE_MOST) return (tra_size){TRA_SIZE_MOST, TRA_SIZE_MOST, false};
    return (tra_size){bytes, bytes, true};
}

tra_size tra_type_bytes_of(const tra_type *t, int64_t elements) {
    return exactly(tra_mul_most(elements, (int64_t)tra_dtype_size(t->dtype)));
}

tra_size tra_type_bytes(const tra_type *t, int64_t ordinal) {
    return tra_type_bytes_of(t, tra_catalog_floats1(t->cat, ordinal));
}

tra_size tra_type_bytes_all(const tra_type *t) { return tra_type_bytes_of(t, tra_catalog_floats(t->cat)); }

tra_size tra_type_bytes_largest(const tra_type *t) { return tra_type_bytes_of(t, tra_catalog_maxfloats(t->cat)); }

int64_t tra_dense_bytes(tra_dtype t, const tra_dims *ext) {
    int64_t n;
    return tra_dims_product(ext, &n) ? exactly(tra_mul_most(n, (int64_t)tra_dtype_size(t))).bound : TRA_SIZE_MOST;
}

char *tra_size_text(tra_size s, char buf[TRA_SIZETEXT]) {
    char expected[32], bound[32];
    if (s.bound >= TRA_SIZE_MOST)
        snprintf(buf, TRA_SIZETEXT, "more than %s", tra_human(TRA_SIZE_MOST, bound));
    else if (s.exact)
        snprintf(buf, TRA_SIZETEXT, "%s", tra_human(s.bound, bound));
    else
        snprintf(buf, TRA_SIZETEXT, "about %s (at most %s)", tra_human(s.expected, expected),
                 tra_human(s.bound, bound));
    return buf;
}
