/* file_int.h - what the files that open a relation share: file.c, file_dataset.c and file_tuples.c. */
#ifndef TRA_FILE_INT_H
#define TRA_FILE_INT_H

#include "block.h"
#include "stored_int.h"
#include "table_hook.h"
#include "zfilter.h"

#define BAD(r, e, fmt, ...) tra_fail(e, TRA_INPUT, "%s:%s: " fmt, (r)->path, (r)->name, __VA_ARGS__)

typedef struct header {
    tra_dims shape, chunk; /* chunk: of the file, when chunked */
    bool native;           /* elements are stored as they are in memory */
    size_t size;           /* of an element in the file */
    H5D_layout_t layout;
    bool reachable; /* chunks can be decoded here */
} header;

/* *elsewhere: the file in which the dataset is, when a link leads to another one, where it is r->name. */
TRA_MUSTUSE tra_status tra_file_open_dataset(tra_rel *r, const char **elsewhere, tra_err *e);
TRA_MUSTUSE tra_status tra_file_read_type(tra_rel *r, header *h, tra_err *e);
TRA_MUSTUSE tra_status tra_file_read_space(tra_rel *r, header *h, tra_err *e);
TRA_MUSTUSE tra_status tra_file_read_layout(tra_rel *r, header *h, tra_err *e);
TRA_MUSTUSE tra_status tra_file_foreign(tra_rel *r, const header *h, const tra_dims *block, tra_err *e);
TRA_MUSTUSE tra_status tra_file_tensor_layout(tra_rel *r, const header *h, int rank, tra_catalog *grid, tra_err *e);
TRA_MUSTUSE tra_status tra_file_tuple_layout(tra_rel *r, const header *h, int rank, tra_catalog *grid, tra_err *e);
/* From the grid of all possible keys to the catalog of those n that exist. */
TRA_MUSTUSE tra_status tra_file_list_tuples(tra_rel *r, const tra_catalog *grid, int64_t n, tra_err *e);
TRA_MUSTUSE tra_status tra_file_find_tuples(tra_rel *r, const tra_catalog *grid, tra_err *e);

#endif
