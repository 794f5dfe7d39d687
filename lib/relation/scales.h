/* scales.h - where the store's files turn to labels of dimensions (scales.c). In a file with a relation NAME:
 *
 *   NAME.<dimension>  a dimension scale of the labels: strings (UTF-8, of any length), integers, or days and
 *                     microseconds since 1970 with `units`; attributes tra_type, tra_xxh64 (of all labels),
 *                     tra_labels_of (NAME). Of a dataset its other dimensions have scales too, by the conventions of
 *                     netCDF for dimensions that are no variables.
 *   NAME              DIMENSION_LIST, DIMENSION_LABELS; tra_labels: a line for each dimension, with its name where it
 * has labels. A relation by levels is a group, which has the last of these alone.
 */
#ifndef TRA_SCALES_H
#define TRA_SCALES_H

#include "store_int.h"

/* Which of these labels the writer's relation has in its file, and under which names: in w->labels and w->dimension.
 * Labels that do not fit the extents are left out. TRA_INPUT: one cannot be stored. */
TRA_MUSTUSE tra_status tra_scales_plan(tra_writer *w, const struct tra_dim_labels *const *labels, tra_err *e);
/* Refuses a target in which something else has the name of a scale. Under the lock, as all below. */
TRA_MUSTUSE tra_status tra_scales_check(const tra_writer *w, hid_t old, tra_err *e);
/* Writes them, before the seal of the relation's attributes. */
bool tra_scales_put(tra_writer *w);

bool tra_h5_is_scale(hid_t obj);
/* The relation of whose labels the object is a scale that tra wrote, in the arena; NULL: it is none. */
const char *tra_scale_owner(hid_t loc, const char *path, tra_arena *a);
/* What was copied from one file to another has references to scales that lead nowhere: makes them anew, but of the n
 * relations that are new. */
bool tra_scales_reattach(hid_t old, hid_t to, int n, const char *const *ours);

#endif
