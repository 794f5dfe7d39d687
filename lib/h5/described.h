/* described.h - what a relation in a file says of itself by its attributes and tables, for those that open it. All of
 * it under the HDF5 lock; TRA_INPUT: what is said is missing, malformed, damaged, or of a later format. */
#ifndef TRA_DESCRIBED_H
#define TRA_DESCRIBED_H

#include "../model/block.h"
#include "relation_file.h"

/* What a dataset, or the group of a relation, says of itself. */
typedef struct tra_described {
    tra_dims shape, chunk; /* chunk: when it is chunked */
    bool native;           /* elements have the same bytes in the file and in memory */
    bool empty;            /* it stands for an array without elements, of this shape */
    size_t size;           /* bytes of an element in the file */
    H5D_layout_t layout;
    bool reachable; /* tra can decode its chunks without HDF5 */
} tra_described;

/* Did tra write it? Sets r->ours. */
TRA_MUSTUSE tra_status tra_described_owner(tra_rel *r, tra_err *e);
/* The owner and, where that is tra, the layout and the rank of arrays. sealed: gives the numbers that the seal is of.
 */
TRA_MUSTUSE tra_status tra_described_attributes(tra_rel *r, const tra_described *h, int (*sealed)(hid_t, int64_t *),
                                                bool *tuple, int *rank, tra_err *e);
/* The error that the numbers under the seal are not those that were written. */
tra_status tra_described_changed(const tra_rel *r, tra_err *e);
/* Sets r->geom, from r->cat and from the extents and chunks that the file really has. */
TRA_MUSTUSE tra_status tra_described_geometry(tra_rel *r, const tra_described *h, bool tuple, tra_err *e);
/* Sets r->info. */
void tra_described_info(tra_rel *r, const tra_described *h, bool tuple);
/* From the attributes of a relation in tensor or tuple layout: the grid of all keys that it could have. */
TRA_MUSTUSE tra_status tra_described_tensor_layout(tra_rel *r, const tra_described *h, int rank, tra_catalog *grid,
                                                   tra_err *e);
TRA_MUSTUSE tra_status tra_described_tuple_layout(tra_rel *r, const tra_described *h, int rank, tra_catalog *grid,
                                                  tra_err *e);
/* Makes r->cat: of the keys of the grid those n that exist, which is found in the tables; find_tuples counts first. */
TRA_MUSTUSE tra_status tra_described_list_tuples(tra_rel *r, const tra_catalog *grid, int64_t n, tra_err *e);
TRA_MUSTUSE tra_status tra_described_find_tuples(tra_rel *r, const tra_catalog *grid, tra_err *e);

#endif
