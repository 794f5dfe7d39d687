/* texts.h - strings in attributes and datasets of HDF5. Under the HDF5 lock. */
#ifndef TRA_TEXTS_H
#define TRA_TEXTS_H

#include "../model/columns.h"
#include "relation_file.h"

/* The strings of an attribute, in the arena; false: it has none, or is damaged. */
bool tra_h5_get_texts(hid_t obj, const char *name, tra_arena *a, const char ***out, int *n);
/* Is given string i, with len bytes at s until it returns; false: that is the end, and a failure. */
typedef bool tra_string_taker(void *to, int64_t i, const char *s, size_t len);
/* Gives all strings of a dataset of one dimension in their order, *n of them; false: it has none, is damaged, or take
 * failed. */
bool tra_h5_each_string(hid_t dset, int64_t *n, tra_string_taker *take, void *to);
/* All strings of a dataset of one dimension, in the relation's arena; NULL: it has none, or is damaged. */
const tra_dictionary *tra_h5_strings(tra_rel *r, hid_t dset);

#endif
