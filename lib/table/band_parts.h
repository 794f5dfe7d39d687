/* band_parts.h - joins on ranges whose right table is in parts: which rows of a left block a part can meet.
 *
 * The right table is in the order of a column, so that the rows of a part have values near each other. The box of a
 * part is the least and the greatest of each value that the condition bounds (band.h). A left block is sorted too, and
 * so its strips ask for little: beside its rows stands the least and the greatest that each strip asks for. So only
 * those strips are looked at that a part may meet.
 */
#ifndef TRA_TABLE_BAND_PARTS_H
#define TRA_TABLE_BAND_PARTS_H

#include "join.h"

/* The column in whose order the rows of the left (0) or right (1) table of a join on ranges are; -1: there is none. */
int tra_band_column(const tra_lookup *l, int side);

typedef struct tra_band_parts {
    const tra_lookup *join; /* of left rows with a part, with this condition */
    /* strips: left, and a column of 64-bit words. The first rows of a strip have the least and the greatest that the
     * strip asks for of the first value, of the second, and so on; a last strip of fewer rows has none. */
    const tra_schema *left, *strips, *right, *box;
} tra_band_parts;
const tra_band_parts *tra_band_parts_of(tra_arena *a, const tra_lookup *join, const char *name);

extern const tra_rows_ops tra_band_box_ops; /* a map of a part: its box, a row; none where no left row can meet it */
extern const tra_rows_ops
    tra_band_strips_ops; /* a join of a left block with an array: its rows, and what strips ask for */
extern const tra_rows_ops tra_band_slice_ops; /* a join of that with a box: the left rows that may meet the part */

#endif
