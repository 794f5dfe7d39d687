/* dtype.c - element types, and single elements of them. */
#include "relation.h"

#include <string.h>

const tra_dtype_row tra_dtype_rows[] = {
#define X(id, text, ctype, class, sum, blas, numpy, binsparse, ...)                                                    \
    [TRA_##id] = {text, sizeof(ctype), TRA_CLASS_##class, TRA_##sum, blas, numpy, binsparse},
    TRA_DTYPES(X)
#undef X
};

bool tra_dtype_parse(const char *s, tra_dtype *t) {
    for (size_t i = 0; i < sizeof tra_dtype_rows / sizeof tra_dtype_rows[0]; i++) {
        if (strcmp(s, tra_dtype_rows[i].name) == 0) return *t = (tra_dtype)i, true;
    }
    return false;
}

const char *tra_dtype_choices(void) {
#define X(id, text, ...) ", " text
    return &TRA_DTYPES(X)[2];
#undef X
}

bool tra_dtype_holds(tra_dtype t, int64_t v) { return v >= tra_dtype_least(t) && v <= tra_dtype_most(t); }

int64_t tra_dtype_least(tra_dtype t) {
    switch (tra_dtype_rows[t].class) {
    case TRA_CLASS_FLOAT: break;
    case TRA_CLASS_INT: return INT64_MIN >> (64 - 8 * tra_dtype_size(t));
    case TRA_CLASS_BOOL: return 0;
    }
    return INT64_MIN;
}

int64_t tra_dtype_most(tra_dtype t) {
    switch (tra_dtype_rows[t].class) {
    case TRA_CLASS_FLOAT: break;
    case TRA_CLASS_INT: return INT64_MAX >> (64 - 8 * tra_dtype_size(t));
    case TRA_CLASS_BOOL: return 1;
    }
    return INT64_MAX;
}

tra_dtype tra_dtype_of_bits(size_t bits) {
    tra_dtype best = TRA_I64;
    for (int t = 0; t < TRA_NDTYPES; t++) {
        bool fits = tra_dtype_rows[t].class == TRA_CLASS_INT && 8 * tra_dtype_size((tra_dtype)t) - 1 >= bits;
        if (fits && tra_dtype_size((tra_dtype)t) < tra_dtype_size(best)) best = (tra_dtype)t;
    }
    return best;
}

tra_dtype tra_dtype_join(tra_dtype a, tra_dtype b) {
    if (a == b || b == TRA_BOOL) return a;
    if (a == TRA_BOOL) return b;
    return tra_dtype_is_float(a) || tra_dtype_is_float(b) ? TRA_F64 : TRA_I64;
}

bool tra_element_is_zero(tra_dtype t, const void *v) {
    static const char zero[8];
    return tra_dtype_is_float(t) ? tra_element_real(t, v, 0) == 0 : memcmp(v, zero, tra_dtype_size(t)) == 0;
}

bool tra_element_add(tra_dtype t, void *to, const void *v) {
#define ADD_FLOAT(T) (*(T *)to += *(const T *)v, true)
#define ADD_INT(T)   !__builtin_add_overflow(*(T *)to, *(const T *)v, (T *)to)
#define ADD_BOOL(T)  (*(T *)to |= *(const T *)v, true)
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: return ADD_##class(ctype);
    switch (t) { TRA_DTYPES(X) }
#undef X
    return false;
}

bool tra_element_negate(tra_dtype t, void *v) {
#define NEGATE_FLOAT(T) (*(T *)v = -*(T *)v, true)
#define NEGATE_INT(T)   !__builtin_sub_overflow((T)0, *(T *)v, (T *)v)
#define NEGATE_BOOL(T)  (*(T *)v == 0)
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: return NEGATE_##class(ctype);
    switch (t) { TRA_DTYPES(X) }
#undef X
    return false;
}
