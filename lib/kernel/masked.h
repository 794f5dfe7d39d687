/* masked.h - a product of two matrices of entries where a third one, the mask, has entries: each is multiplied by that
 * of the mask. Only products that fall on the mask are added, or folded to the largest or least, so that nothing else
 * of the product is made. Rows of the mask are computed each by itself: pieces of them give the same bits. */
#ifndef TRA_MASKED_H
#define TRA_MASKED_H

#include "../model/rows.h"
#include "kernel_int.h"

/* Values are of type f64 or i64: f64 where `real`. Row numbers are those of the view. */
typedef struct tra_masked {
    bool real;
    tra_rows_view mask;  /* row, place */
    tra_rows_view outer; /* row, shared */
    tra_rows_view inner; /* shared, place; by_place: place, shared */
    bool by_place;
    tra_scalar_op fold;     /* ADD; MAX or MIN, where a shared coordinate without a product counts as 0 */
    int64_t shared;         /* coordinates */
    int64_t inner_rows;     /* of the inner one, with entries or without */
    double factor;          /* of each element */
    uint32_t *inner_number; /* of each row of the inner one its place, from 1; NULL: it is sought (tra_masked_begin) */
    bool all_there;
} tra_masked;

/* Where the result of a piece goes: rows, of the result's type; a dense array to whose element row*by[0] + place*by[1]
 * values are added; or neither: entries are counted alone. */
typedef struct tra_masked_result {
    tra_dtype type;
    tra_rows_view *rows;
    void *dense;
    int64_t by[2];
    int64_t nrows, n; /* that were put or counted */
} tra_masked_result;

/* Bytes of room for an inner matrix of so many rows and entries; of scratch of each piece, where a row of the mask has
 * at most `most` entries, and the inner matrix so many columns. */
int64_t tra_masked_room(int64_t inner_rows, int64_t entries);
int64_t tra_masked_scratch(int64_t most, int64_t columns);
void tra_masked_begin(tra_masked *m, void *room);
/* Rows `from` to `to` - 1 of the mask as they are stored. */
void tra_masked_run(const tra_masked *m, int64_t from, int64_t to, tra_masked_result *out, void *scratch);

#endif
