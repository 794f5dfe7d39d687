/* part.h - the part of a placed relation that one site holds.
 *
 * STORED parts have a block per tuple. VIEWs give other keys to (or leave out) tuples of another part; MAP and TILE
 * compute each array from one of another part when it is read, and store nothing.
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

/* A stored part with a slot (block NULL) for each tuple that site holds under place, times summands. */
tra_part *tra_part_empty(const tra_type *type, const tra_placement *place, int site, int summands);
int64_t tra_part_find(const tra_part *p, int64_t ordinal, int summand); /* -1 */

/* Where the data of tuple i is: the stored part and index below views; and, when it is computed, the one MAP or TILE in
 * between (else *via NULL) with its index. There is but one: a MAP of a MAP is built as the MAP of their composition,
 * and of a TILE and another MAP or TILE one is stored (the planner's fused flags, memory.h). */
void tra_part_resolve(tra_part *p, int64_t i, tra_part **stored, int64_t *at, tra_part **via, int64_t *via_at);
/* Bytes of tuple i of p; where its type does not tell and it has no block yet, the most that it may have. */
int64_t tra_part_bytes(const tra_part *p, int64_t i);
/* Computes tuple i of a MAP or TILE from the array of its base. scratch: tra_part_scratch bytes. TRA_INPUT when an
 * integer does not fit. */
TRA_MUSTUSE tra_status tra_part_derive(const tra_part *via, int64_t i, const tra_cell *base, tra_cell *out,
                                       void *scratch, tra_err *e);
/* Bytes that the result takes, where its layout is not dense; out has no block yet. */
int64_t tra_part_derive_bytes(const tra_part *via, int64_t i, const tra_cell *base, tra_cell *out, void *scratch);
size_t tra_part_scratch(const tra_part *via);

#endif
