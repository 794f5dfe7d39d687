/* mapped.h - writing relations whose arrays a storage that is no levels makes of components. They are read as any other
 * relation (stored_mapping.c).
 *
 * Of one block, whose components are all there (tra_mapped): so import writes them. Or of any number of blocks, by
 * several processes, where the position of each element follows from coordinates and sizes alone: then what a block's
 * components have is known before anything is computed, and an array is packed, which is to run the mapping backwards:
 *
 *   tra_mapping_holds    can results be stored so?
 *   tra_writer_create    with options.mapping; then as of levels (stored.h), in the place of whose counts are
 *   tra_mapping_sizes    how many elements each component has for a tuple
 *   tra_mapping_pack     an array to its elements, those of all components one after the other
 *   tra_packing_begin, tra_packing_put, tra_packing_end   these to their places, in pieces
 */
#ifndef TRA_MAPPED_H
#define TRA_MAPPED_H

#include "../calculus/calculus.h"
#include "cell.h"
#include "store.h"

/* For tra_write_options.mapped. The writer's type has one tuple; the relation is whole when the writer has been
 * created, and needs no put. */
typedef struct tra_mapped {
    const tra_storage *storage;
    /* storage->ncomponents, which fit the block (tra_component_check): i64 those that are not real, and all keys; of an
     * element type of relations those that are. */
    const tra_component_data *component;
} tra_mapped;

/* The element type of the calculus that has the elements of a relation's. */
tra_element tra_element_of(tra_dtype t);

/* What a mapping gives, as an element of a relation (TRA_INPUT where it does not fit). */
TRA_MUSTUSE tra_status tra_mapped_element(tra_dtype t, tra_calc_number v, void *to, tra_err *e);
/* Does the storage say of every coordinate that it comes once (@unique)? Then its entries are the tensor's elements. */
bool tra_storage_says_unique(const tra_storage *s);

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* TRA_PROGRAM, saying why, where the storage cannot hold relations of the type: a position needs what a component
 * holds, a value is computed, or it asks for origins, which the blocks do not have. What one is too large to be tried
 * out for is found when it is packed. */
TRA_MUSTUSE tra_status tra_mapping_holds(const tra_storage *s, const tra_type *t, tra_err *e);
/* How the arrays of a relation are packed. */
typedef struct tra_mapping_use {
    const tra_storage *storage;
    const char *name;     /* with its arguments */
    int64_t all, largest; /* bytes that tuples are packed to: all together, and one at most */
} tra_mapping_use;
/* Fills in the bytes; TRA_INPUT where they cannot be told. */
TRA_MUSTUSE tra_status tra_mapping_measure(const tra_type *t, tra_mapping_use *use, tra_err *e);
/* Is every element an entry, so that what is stored so is dense by type? */
bool tra_mapping_is_total(const tra_storage *s, const tra_type *t);
/* Elements of each component for a tuple, s->ncomponents of them. TRA_INPUT where they cannot be told. */
TRA_MUSTUSE tra_status tra_mapping_sizes(const tra_storage *s, const tra_type *t, int64_t ordinal, int64_t *sizes,
                                         tra_err *e);
/* Bytes of a tuple's elements in all components; INT64_MAX where they cannot be told, or are more. And of the room in
 * which an array of so many entries is packed to so many bytes. */
int64_t tra_mapping_bytes(const tra_storage *s, const tra_type *t, int64_t ordinal);
int64_t tra_mapping_room(int64_t bytes, int64_t entries);
/* Packs the array in a cell, dense or tra_rows, into room aligned to 64, of which what is in front stays: *entries is
 * how many the mapping gives. Evaluates the mapping on what was packed and compares. TRA_INPUT, which names the element
 * by its position in the tensor, where that is not what the cell holds. */
TRA_MUSTUSE tra_status tra_mapping_pack(const tra_storage *s, const tra_type *t, int64_t ordinal, const tra_cell *cell,
                                        void *room, int64_t *entries, tra_err *e);

/* Of a writer that is placed: bytes of what was packed, in order and in pieces of whole elements. end: when all have
 * come. Several tuples at a time by threads of their own. */
typedef struct tra_packing tra_packing;
tra_packing *tra_packing_begin(tra_writer *w, int64_t ordinal, int64_t entries);
TRA_MUSTUSE tra_status tra_packing_put(tra_packing *p, const void *bytes, int64_t n, tra_err *e);
TRA_MUSTUSE tra_status tra_packing_end(tra_packing *p, tra_status s, tra_err *e); /* frees; s: the status so far */

#endif
