/* scales.h - labels of dimensions in files, as HDF5 dimension scales (scales.c, scales_read.c). In a file with a
 * relation NAME:
 *
 * NAME.<dimension>  a dimension scale with the labels: strings (UTF-8, of any length), integers, or days and
 *                   microseconds since 1970 with `units`; attributes tra_type, tra_xxh64 (of all labels),
 *                   tra_labels_of (NAME), and tra_order, "keys", where pivot made the dimension. Dimensions of a
 *                   dataset that have no labels get empty scales, as netCDF has them for dimensions that are no
 *                   variables.
 * <dimension>       the same, beside NAME, where the dimension has the name that another program's file gave it and
 *                   nothing else has that name.
 * NAME              DIMENSION_LIST, DIMENSION_LABELS; tra_labels: a line for each dimension, with its name where it
 *                   has labels. A group (of a relation by levels) has only tra_labels.
 */
#ifndef TRA_SCALES_H
#define TRA_SCALES_H

#include "relation_file.h"

enum { TRA_SCALE_NAME = 200, TRA_SCALE_LABELS = 1 << 24 }; /* at most: bytes of a dimension's name; labels */
/* How the attribute NAME of a scale begins that only gives a dimension its name, by the convention of netCDF. */
extern const char tra_scale_without_labels[];

const char *tra_scale_path(tra_arena *a, const char *relation, const char *dimension); /* "RELATION.DIMENSION" */
/* The path of a dimension that a file has named (tra_dim_labels.of_file): DIMENSION, beside the relation. */
const char *tra_scale_plain_path(tra_arena *a, const char *relation, const char *dimension);
uint64_t tra_scale_sum(const struct tra_dim_labels *l); /* the checksum of all labels, tra_xxh64 */
/* Opens the first scale that is attached to dimension d of a dataset; -1: there is none. Under the HDF5 lock. */
hid_t tra_scale_attached(hid_t dset, int d, int rank);

/* Decides which of these labels the writer's relation gets and under which names, in w->labels and w->dimension. Labels
 * whose number is not the extent are left out. TRA_INPUT: a label cannot be stored. */
TRA_MUSTUSE tra_status tra_scales_plan(tra_writer *w, const struct tra_dim_labels *const *labels, tra_err *e);
/* TRA_INPUT if something else in the target has the name of a scale. Call this and all that follows under the HDF5
 * lock. */
TRA_MUSTUSE tra_status tra_scales_check(const tra_writer *w, hid_t old, tra_err *e);
/* Writes the scales. Call it before the seal of the relation's attributes is made. */
bool tra_scales_put(tra_writer *w);

/* Names of cells and genes, which AnnData, 10x and loom keep beside an array: sets the labels of dimensions that have
 * such (labels_foreign.c). */
void tra_labels_of_others(tra_rel *r, const tra_dims *shape, const struct tra_dim_labels **labels);

bool tra_h5_is_scale(hid_t obj);
/* The relations whose labels the object has, a line for each, if it is a scale that tra wrote, in the arena; else
 * NULL. Is a relation one of them (NULL: of none)? And writing whose they are. */
const char *tra_scale_owner(hid_t loc, const char *path, tra_arena *a);
bool tra_scale_is_of(const char *owners, const char *relation);
bool tra_scale_own(hid_t scale, const char *owners);
/* Objects that were copied from one file to another refer to scales by addresses that are no longer right: makes these
 * references anew, except in the n new relations `ours`. */
bool tra_scales_reattach(hid_t old, hid_t to, int n, const char *const *ours);

#endif
