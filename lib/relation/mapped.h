/* mapped.h - writing a relation of one block whose array a storage that is no levels makes of components. It is read as
 * any other relation (stored_mapping.c). */
#ifndef TRA_MAPPED_H
#define TRA_MAPPED_H

#include "../calculus/calculus.h"
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

#endif
