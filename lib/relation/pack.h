/* pack.h - chunks that are compressed when all of their elements are there (pack.c). */
#ifndef TRA_PACK_H
#define TRA_PACK_H

#include "store_int.h"

/* The filters of such a dataset; false: HDF5 refuses. Under the lock, as the next. */
bool tra_pack_filters(hid_t dcpl, const tra_codec *codec);
/* Are its filters those that chunks are decoded by here: shuffle, if it is there, and zstd? */
bool tra_pack_known(hid_t dcpl, tra_pipeline *p);

/* Makes the file in which elements wait, of so many bytes; opens that of another process. */
TRA_MUSTUSE tra_status tra_raw_create(const tra_writer *w, int64_t bytes, tra_temp *raw, tra_err *e);
TRA_MUSTUSE tra_status tra_raw_open(const char *path, int *fd, tra_err *e);

/* A dataset whose elements wait there. */
typedef struct tra_raw_array {
    int64_t addr, count, chunk; /* bytes in the file; elements, and those of a chunk */
    size_t each;
    uint64_t *sums, *masks; /* NULL, or the checksum of each chunk, and the sum of their masks (tra_mask_sum), whose */
    int64_t ordinal;        /* first chunk has this number */
} tra_raw_array;
/* Makes its chunks, in order. */
typedef struct tra_packing tra_packing;
TRA_MUSTUSE tra_status tra_pack_dataset(tra_packing *x, hid_t group, const char *name, const tra_raw_array *of,
                                        tra_err *e);

/* Of what is stored by levels, and of tables (table_hook.h): the file, NULL where none waits, and whether all is packed
 * already; and packs each dataset. */
tra_temp *tra_stored_raw(tra_writer *w, bool **packed);
TRA_MUSTUSE tra_status tra_stored_pack(tra_writer *w, tra_packing *x, tra_err *e);
tra_temp *tra_table_raw(tra_writer *w, bool **packed);
TRA_MUSTUSE tra_status tra_table_pack(tra_writer *w, tra_packing *x, tra_err *e);

#endif
