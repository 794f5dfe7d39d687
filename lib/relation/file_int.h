/* file_int.h - shared by the files that open a relation: file.c, file_dataset.c and file_tuples.c. */
#ifndef TRA_FILE_INT_H
#define TRA_FILE_INT_H

#include "block.h"
#include "stored_int.h"
#include "table_hook.h"
#include "zfilter.h"

/* What a dataset says of itself. */
typedef struct header {
    tra_dims shape, chunk; /* chunk: when it is chunked */
    bool native;           /* elements have the same bytes in the file and in memory */
    bool empty;            /* it stands for an array without elements, of this shape */
    size_t size;           /* bytes of an element in the file */
    H5D_layout_t layout;
    bool reachable; /* tra can decode its chunks without HDF5 */
} header;

/* Finds and opens the dataset. If a link leads to another file, *elsewhere is that file and r->name the path in it. */
TRA_MUSTUSE tra_status tra_file_open_dataset(tra_rel *r, const char **elsewhere, tra_err *e);
TRA_MUSTUSE tra_status tra_file_read_type(tra_rel *r, header *h, tra_err *e);
TRA_MUSTUSE tra_status tra_file_read_space(tra_rel *r, header *h, tra_err *e);
TRA_MUSTUSE tra_status tra_file_read_layout(tra_rel *r, header *h, tra_err *e);
/* The type of a dataset of another program; block may be NULL (store.h). */
TRA_MUSTUSE tra_status tra_file_foreign(tra_rel *r, const header *h, const tra_dims *block, tra_err *e);
/* From the attributes of a relation in tensor or tuple layout: the grid of all keys that it could have. */
TRA_MUSTUSE tra_status tra_file_tensor_layout(tra_rel *r, const header *h, int rank, tra_catalog *grid, tra_err *e);
TRA_MUSTUSE tra_status tra_file_tuple_layout(tra_rel *r, const header *h, int rank, tra_catalog *grid, tra_err *e);
/* Makes r->cat: of the keys of the grid those n that exist, which is found in the tables; find_tuples counts first. */
TRA_MUSTUSE tra_status tra_file_list_tuples(tra_rel *r, const tra_catalog *grid, int64_t n, tra_err *e);
TRA_MUSTUSE tra_status tra_file_find_tuples(tra_rel *r, const tra_catalog *grid, tra_err *e);

#endif
