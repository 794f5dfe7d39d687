/* part.h - the part of a placed relation that one site holds.
 *
 * A STORED part has a block for each tuple. The other kinds store nothing: a VIEW shows tuples of another part under
 * other keys, or some of them; MAP and TILE compute each array from an array of another part whenever it is read.
 */
#ifndef TRA_PART_H
#define TRA_PART_H

#include "../physical/plan.h"
#include "pool.h"

typedef enum tra_part_kind { TRA_PART_STORED, TRA_PART_VIEW, TRA_PART_MAP, TRA_PART_TILE } tra_part_kind;

typedef struct tra_part {
    tra_part_kind kind;
    const tra_type *type;
    int64_t n;         /* tuples */
    int64_t *ordinal;  /* of each tuple, ascending; summands of one tuple are beside each other, ascending in summand */
    int32_t *summand;  /* of each tuple, the number of the summand; NULL: the arrays are no summands */
    tra_block **block; /* STORED: of each tuple; NULL where it has not been made, or has not arrived */
    /* Of the other kinds: */
    struct tra_part *base; /* tuple i comes from tuple src[i] of base */
    int64_t *src;
    const tra_op *op;      /* whose result the part is; of a STORED part that of an input has one */
    const tra_kernel *map; /* MAP: what computes an array */
    int dim; /* TILE: the array dimension that is cut, in tiles of `size`; the last component of the key is
                the number of the tile */
    int64_t size;
    int refs;
} tra_part;

tra_part *tra_part_new(tra_part_kind kind, const tra_type *type, int64_t n); /* one reference; arrays zeroed */
void tra_part_retain(tra_part *p);
void tra_part_release(tra_part *p, tra_pool *pool); /* with the last reference releases blocks and base */

/* A stored part with an empty slot (block NULL) for each tuple that the site holds under `place`, and for each of so
 * many summands. */
tra_part *tra_part_empty(const tra_type *type, const tra_placement *place, int site, int summands);
int64_t tra_part_find(const tra_part *p, int64_t ordinal, int summand); /* -1 */

/* Where the data of a tuple are: in tuple `at` of the part `stored`; and if the array is computed on reading, the MAP
 * or TILE that computes it (else NULL), of which it is tuple via_at. */
typedef struct tra_part_source {
    tra_part *stored, *via;
    int64_t at, via_at;
} tra_part_source;
/* Goes from tuple i of p through views to the stored part. On the way there is at most one part that computes: maps of
 * maps are composed into one map, and of other combinations one part is stored (choose_fused in memory.c). */
tra_part_source tra_part_resolve(tra_part *p, int64_t i);
/* Bytes of tuple i of p: exact if its type tells or it has a block, else a bound. */
int64_t tra_part_bytes(const tra_part *p, int64_t i);
/* Computes tuple i of a MAP or TILE from the array `base` of the part below. scratch: orders.scratch_bytes of what
 * reads it. TRA_INPUT when an integer does not fit. */
TRA_MUSTUSE tra_status tra_part_derive(const tra_part *via, int64_t i, const tra_cell *base, tra_cell *out,
                                       void *scratch, tra_err *e);
/* The same of a MAP that adds what it makes to a sum (tra_op_adds). */
TRA_MUSTUSE tra_status tra_part_add(const tra_part *via, int64_t i, const tra_cell *base, tra_array *sum, void *scratch,
                                    tra_err *e);

#endif
