/* group_strips.h - strips of rows whose groups are known, and these groups in order. Private to group_add.c and
 * group_place.c. */
#ifndef TRA_GROUP_STRIPS_H
#define TRA_GROUP_STRIPS_H

#include "../base/simd.h"
#include "group_direct.h"

enum { TRA_GROUP_STRIP = 1024 };

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* A strip of rows, and the groups from .. from + groups - 1. */
typedef struct tra_group_strip {
    int n;
    uint32_t from, groups;
    const int32_t *of;
    const uint8_t *state[2]; /* of its columns; NULL: each row has a value */
} tra_group_strip;

static inline tra_group_strip tra_group_strip_of(const tra_group_direct *d, const uint8_t *const state[2],
                                                 uint32_t group, uint32_t groups, int64_t from) {
    tra_group_strip r = {(int)tra_min64(TRA_GROUP_STRIP, d->n - from), group, groups, d->of + from, {NULL, NULL}};
    for (int i = 0; i < 2; i++) r.state[i] = state[i] ? state[i] + from : NULL;
    return r;
}

/* Runs the statements for each row i of strip r that has a value and is of one of its groups. k: that group's number,
 * less the number of the first. */
#define EACH_ROW(...)                                                                                                  \
    for (int i = 0; i < r.n; i++) {                                                                                    \
        uint32_t k = (uint32_t)r.of[i] - r.from;                                                                       \
        if (k >= r.groups || (r.state[0] && r.state[0][i]) || (r.state[1] && r.state[1][i])) continue;                 \
        __VA_ARGS__;                                                                                                   \
    }

/* Fills a column with `what` of groups from .. from + n - 1 of `a`, in the order of keys. k: the group's number, less
 * the number of the first. */
#define EACH_GROUP(a, T, column, what)                                                                                 \
    do {                                                                                                               \
        T *made = (column);                                                                                            \
        for (int64_t i = 0; i < (a)->d->groups; i++) {                                                                 \
            uint32_t k = (uint32_t)(a)->d->order[i] - (a)->from;                                                       \
            if (k < (a)->n) made[i] = what;                                                                            \
        }                                                                                                              \
    } while (0)

/* Rows from .. from + n - 1 of a column of numbers, n at most TRA_GROUP_STRIP, as f64, and as i64: as they lie, or in
 * room. */
const double *tra_group_reals(const tra_column *c, const tra_vector *v, int64_t from, int n, double *room);
const int64_t *tra_group_wholes(const tra_column *c, const tra_vector *v, int64_t from, int n, int64_t *room);

#endif
