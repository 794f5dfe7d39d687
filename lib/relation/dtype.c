/* dtype.c - element types, and single elements of them. */
#include "relation.h"

#include <string.h>

const tra_dtype_row tra_dtype_rows[] = {
#define X(id, text, ctype, class, sum, blas, numpy, binsparse)                                                         \
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

bool tra_dtype_holds(tra_dtype t, int64_t v) {
    switch (tra_dtype_rows[t].class) {
    case TRA_CLASS_FLOAT: return true;
    case TRA_CLASS_INT: return v >> (8 * tra_dtype_size(t) - 1) == 0 || v >> (8 * tra_dtype_size(t) - 1) == -1;
    case TRA_CLASS_BOOL: return v == 0 || v == 1;
    }
    return false;
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
    switch (t) {
    case TRA_F64: *(double *)to += *(const double *)v; return true;
    case TRA_F32: *(float *)to += *(const float *)v; return true;
    case TRA_I64: return !__builtin_add_overflow(*(int64_t *)to, *(const int64_t *)v, (int64_t *)to);
    case TRA_I32: return !__builtin_add_overflow(*(int32_t *)to, *(const int32_t *)v, (int32_t *)to);
    case TRA_BOOL: *(uint8_t *)to |= *(const uint8_t *)v; return true;
    }
    return false;
}

bool tra_element_negate(tra_dtype t, void *v) {
    switch (t) {
    case TRA_F64: *(double *)v = -*(double *)v; return true;
    case TRA_F32: *(float *)v = -*(float *)v; return true;
    case TRA_I64: return !__builtin_sub_overflow((int64_t)0, *(int64_t *)v, (int64_t *)v);
    case TRA_I32: return !__builtin_sub_overflow((int32_t)0, *(int32_t *)v, (int32_t *)v);
    case TRA_BOOL: return *(uint8_t *)v == 0;
    }
    return false;
}
