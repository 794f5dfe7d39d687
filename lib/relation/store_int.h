/* store_int.h - what the files of this room share: the kinds of relations in a file, and what a new file keeps of the
 * old one. All under the HDF5 lock. */
#ifndef TRA_STORE_INT_H
#define TRA_STORE_INT_H

#include "../h5/relation_file.h"

/* The kind of an object of a file; NULL: it is no relation. */
const tra_file_kind *tra_kind_of(hid_t object);

/* The relations of a file in alphabetical order, the first `most` of them (names.c). */
void tra_h5_names(hid_t file, tra_arena *a, int most, tra_relation_names *out);

/* TRA_INPUT for a target that could not be completed: no HDF5 file, damaged, or with another kind of object where the
 * relation or its groups would be. Under the HDF5 lock. */
TRA_MUSTUSE tra_status tra_writer_check_target(tra_writer *w, tra_err *e);
/* Copies everything that the target of a new file holds besides its new relations (copy_others.c). Under the HDF5
 * lock. */
TRA_MUSTUSE tra_status tra_new_file_copy_others(tra_new_file *f, tra_err *e);

#endif
