/* mapped.h - writing relations with a storage that is no levels: a mapping computes the arrays from components. They
 * are read as any other relation (stored_mapping.c).
 *
 * There are two ways. Either the relation is one block whose components are all given (tra_mapped); import writes such
 * files. Or it has any number of blocks, written by several processes, where the position of each element in a
 * component follows from coordinates and sizes alone. Then the sizes of components are known before anything is
 * computed, and an array is packed, that is, the mapping is run backwards:
 *
 * tra_mapping_holds tells whether results can be stored so. Then tra_writer_create is called with options.mapping, and
 * all goes on as with levels (stored.h), but in place of counts of positions there is tra_mapping_sizes: how many
 * elements each component has for a tuple. tra_mapping_pack turns an array into its elements, component after
 * component; tra_mapping_put writes these.
 */
#ifndef TRA_MAPPED_H
#define TRA_MAPPED_H

#include "storage.h"
#include "../model/cell.h"
#include "../h5/h5.h"

/* For tra_write_options.mapped. The writer's type has one tuple. tra_writer_create writes all of it; there is no
 * put. */
typedef struct tra_mapped {
    const tra_storage *storage;
    /* storage->ncomponents of them, which fit the block (tra_component_check). Keys, and components that are not real,
     * are i64; real ones are of an element type of relations. */
    const tra_component_data *component;
} tra_mapped;

/* The element type of the calculus for the elements of a relation. */
tra_element tra_element_of(tra_dtype t);

/* Stores a number that a mapping computed as an element. TRA_INPUT: it does not fit. */
TRA_MUSTUSE tra_status tra_mapped_element(tra_dtype t, tra_calc_number v, void *to, tra_err *e);
/* Does the storage promise that every coordinate comes once (@unique)? Then its entries are the tensor's elements. */
bool tra_storage_says_unique(const tra_storage *s);

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* TRA_PROGRAM, saying why, where the storage cannot hold relations of the type: a position depends on what a component
 * holds, a value is computed, or it asks where blocks begin and these are no blocks of a tensor. Blocks that are too
 * large to be tried out now, and those of which only the run tells the extents, may still be refused when they are
 * packed. */
TRA_MUSTUSE tra_status tra_mapping_holds(const tra_storage *s, const tra_type *t, tra_err *e);
/* A storage in which the arrays of a relation are packed, and its bytes. */
typedef struct tra_mapping_use {
    const tra_storage *storage;
    const char *name;     /* with its arguments */
    int64_t all, largest; /* bytes of all tuples, and of the largest */
} tra_mapping_use;
/* Sets the bytes. TRA_INPUT: they cannot be computed. */
TRA_MUSTUSE tra_status tra_mapping_measure(const tra_type *t, tra_mapping_use *use, tra_err *e);
/* Does the mapping emit every element, so that the relation is dense by type? */
bool tra_mapping_is_total(const tra_storage *s, const tra_type *t);
/* Sets the number of elements of each of s->ncomponents components for a tuple. TRA_INPUT: they cannot be computed. */
TRA_MUSTUSE tra_status tra_mapping_sizes(const tra_storage *s, const tra_type *t, int64_t ordinal, int64_t *sizes,
                                         tra_err *e);
/* Bytes of a tuple's elements in all components; INT64_MAX: more, or they cannot be computed. And of the room in which
 * an array of so many entries is packed to so many bytes. */
int64_t tra_mapping_bytes(const tra_storage *s, const tra_type *t, int64_t ordinal);
int64_t tra_mapping_room(int64_t bytes, int64_t entries);
/* Packs the array in a cell, dense or tra_rows, into room (tra_mapping_room bytes, aligned to 64): the elements come
 * first. *entries: how many entries the mapping emits. Then evaluates the mapping on the packed elements and compares.
 * TRA_INPUT, naming an element by its position in the tensor, where the result is not what the cell holds. */
TRA_MUSTUSE tra_status tra_mapping_pack(const tra_storage *s, const tra_type *t, int64_t ordinal, const tra_cell *cell,
                                        void *room, int64_t *entries, tra_err *e);

/* Writes the n bytes that were packed of a tuple into a writer that has been placed. Threads may write different tuples
 * at the same time. */
TRA_MUSTUSE tra_status tra_mapping_put(tra_writer *w, int64_t ordinal, const void *bytes, int64_t n, int64_t entries,
                                       tra_err *e);

#endif
