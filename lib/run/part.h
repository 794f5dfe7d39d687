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
    int64_t n;
    int64_t *ordinal;      /* ascending; equal ones (summands) ascending in summand */
    int32_t *summand;      /* NULL: none */
    tra_block **block;     /* STORED: may be NULL where nothing arrived yet */
    struct tra_part *base; /* others: tuple i comes from tuple src[i] of base (TILE: its tile number is in the key) */
    int64_t *src;
    const tra_op *op; /* others: whose result it is */
    const tra_kernel *map;
    int dim; /* TILE: array dimension and size */
    int64_t size;
    int refs;
} tra_part;

tra_part *tra_part_new(tra_part_kind kind, const tra_type *type, int64_t n); /* one reference; arrays zeroed */
void tra_part_keep(tra_part *p);
void tra_part_drop(tra_part *p, tra_pool *pool); /* at the last reference frees blocks and lets go of base */

/* A stored part with an empty slot (block NULL) for each tuple that the site holds under `place`, and for each of so
 * many summands. */
tra_part *tra_part_empty(const tra_type *type, const tra_placement *place, int site, int summands);
int64_t tra_part_find(const tra_part *p, int64_t ordinal, int summand); /* -1 */

/* Finds where the data of tuple i are: in tuple *at of the part *stored; and, if the array is computed on reading, the
 * MAP or TILE that does so (*via, else NULL) and its tuple *via_at. There is at most one of these between: maps of maps
 * are composed into one map, and of other combinations one part is stored (choose_fused in memory.c). */
void tra_part_resolve(tra_part *p, int64_t i, tra_part **stored, int64_t *at, tra_part **via, int64_t *via_at);
/* Bytes of tuple i of p: exact if its type tells or it has a block, else a bound. */
int64_t tra_part_bytes(const tra_part *p, int64_t i);
/* Computes tuple i of a MAP or TILE from the array `base` of the part below. scratch: tra_part_scratch bytes. TRA_INPUT
 * when an integer does not fit. */
TRA_MUSTUSE tra_status tra_part_derive(const tra_part *via, int64_t i, const tra_cell *base, tra_cell *out,
                                       void *scratch, tra_err *e);
/* Bytes of that result, where its layout is not dense; `out` has no block yet. */
int64_t tra_part_derive_bytes(const tra_part *via, int64_t i, const tra_cell *base, tra_cell *out, void *scratch);
size_t tra_part_scratch(const tra_part *via);

#endif
