/* diff_int.h - the parts of tra diff. */
#ifndef TRA_DIFF_INT_H
#define TRA_DIFF_INT_H

#include "../formats/io.h"
#include "common.h"

/* Elements are compared as they are: whole numbers as i64, floats as f64, and where one is whole and the other is not,
 * both as long doubles, of which each holds either. */
typedef struct number {
    bool whole;
    int64_t i;
    double f;
} number;

typedef struct comparison {
    double tol_rel, tol_abs;
    bool shapes_differ;
    int64_t elements, different;
    double max_abs, max_rel; /* infinite where only one is NaN */
    int64_t index;           /* of max_abs, the first in the order of the elements */
    tra_dims at;             /* the same as coordinates */
    number a, b;             /* the values there */
} comparison;

/* Element i of data, as it is. */
static inline number tra_diff_number(tra_dtype t, const void *data, int64_t i) {
    if (tra_dtype_is_float(t)) return (number){.f = tra_element_real(t, data, i)};
    return (number){.whole = true, .i = tra_element_whole(t, data, i)};
}
/* 0 only where they are equal; infinite where one of them is NaN. *size: of y. */
double tra_diff_difference(number x, number y, double *size);
/* Is a difference from a value of this size within the tolerances? An infinity is within none. */
bool tra_diff_within(double difference, double size, double rtol, double atol);

/* Compares the elements x of A and y of B at this index; whether this is now the largest difference. */
bool tra_diff_element(comparison *c, int64_t index, number x, number y);

/* ---- by entries (diff_entries.c) ---------------------------------------------------------------------------- */

/* Two arrays of the same extents, of which at least one is held as rows, all of whose elements are counted: `start` is
 * where they begin in a tensor of this shape, in which elements have their indices from `first` on. NULL: a hole, all
 * zeros. *found where the largest difference is one of theirs. */
TRA_MUSTUSE tra_status tra_diff_cells(comparison *c, const tra_dims *shape, const tra_dims *start, int64_t first,
                                      const tra_type *ta, const tra_cell *a, const tra_type *tb, const tra_cell *b,
                                      bool *found, tra_err *e);

/* Can two views of one shape, with room, be compared by their entries: does this read less than all elements? */
bool tra_diff_by_entries(const tra_view *a, const tra_view *b);
/* The least memory that this takes besides the buffers of the views. */
int64_t tra_diff_entries_least(const tra_view *a, const tra_view *b);
/* Compares them so. memory: bytes, at least tra_diff_entries_least. TRA_RESOURCE when no scratch file can be written.
 */
TRA_MUSTUSE tra_status tra_diff_entries(tra_view *a, tra_view *b, int64_t memory, comparison *c, tra_err *e);

#endif
