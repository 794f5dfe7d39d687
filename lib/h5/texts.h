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
/* Do so many bytes more fit below the ceiling? If not, r->lack is why. */
bool tra_h5_fits(tra_rel *r, int64_t bytes);
/* Strings that are not sorted are copied for that: does the copy fit so? */
bool tra_h5_sorts(tra_rel *r, const tra_dictionary *d);
/* All strings of a dataset of one dimension, in the relation's arena; NULL: it has none, is damaged, or they do not fit
 * below the ceiling (r->lack). */
const tra_dictionary *tra_h5_strings(tra_rel *r, hid_t dset);
/* The same where each stands once, in the order in which they first appear, and codes of all: -1 of those for which
 * `null`, which is NULL or has as many, is set. */
const tra_dictionary *tra_h5_codes(tra_rel *r, hid_t dset, const uint8_t *null, int32_t **code);
/* A string that a dictionary has twice, in the arena; NULL: there is none. */
const char *tra_dictionary_twice(tra_arena *a, const tra_dictionary *d);

#endif
