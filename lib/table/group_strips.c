/* group_strips.c - numbers of a strip of rows as f64 or i64. */
#include "group_strips.h"

#define X(name, T)                                                                                                     \
    VECTORS static void reals_of_##name(const T *restrict v, int n, double *restrict to) {                             \
        for (int i = 0; i < n; i++) to[i] = (double)v[i];                                                              \
    }                                                                                                                  \
    VECTORS static void wholes_of_##name(const T *restrict v, int n, int64_t *restrict to) {                           \
        for (int i = 0; i < n; i++) to[i] = (int64_t)v[i];                                                             \
    }
TRA_CTYPES(X)
#undef X

const double *tra_group_reals(const tra_column *c, const tra_vector *v, int64_t from, int n, double *room) {
    if (tra_coltype_held(c->type) == TRA_F64) return (const double *)v->values + from;
    switch (tra_coltype_held(c->type)) {
#define X(name, T)                                                                                                     \
    case TRA_##name: reals_of_##name((const T *)v->values + from, n, room); break;
        TRA_CTYPES(X)
#undef X
    }
    return room;
}

const int64_t *tra_group_wholes(const tra_column *c, const tra_vector *v, int64_t from, int n, int64_t *room) {
    if (tra_coltype_held(c->type) == TRA_I64) return (const int64_t *)v->values + from;
    switch (tra_coltype_held(c->type)) {
#define X(name, T)                                                                                                     \
    case TRA_##name: wholes_of_##name((const T *)v->values + from, n, room); break;
        TRA_CTYPES(X)
#undef X
    }
    return room;
}
