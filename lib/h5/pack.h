/* pack.h - datasets whose chunks are compressed when all of their elements have been written (pack.c). */
#ifndef TRA_PACK_H
#define TRA_PACK_H

#include "relation_file.h"

/* Sets the filters of such a dataset; false: HDF5 refuses. Under the HDF5 lock, as the next. */
bool tra_pack_filters(hid_t dcpl, const tra_codec *codec);
/* Are all filters of a dataset ones that tra decodes: shuffle, if it is there, then zstd? */
bool tra_pack_known(hid_t dcpl, tra_pipeline *p);

/* Datasets that are compressed have chunks of so many elements, or of all where they have fewer. */
enum { TRA_DATASET_CHUNK = 8192 };
static inline int64_t tra_dataset_chunk(int64_t count) { return tra_min64(count, TRA_DATASET_CHUNK); }

/* Creates w->raw, the file of uncompressed elements, with room for so many bytes. TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_raw_create(tra_writer *w, int64_t bytes, tra_err *e);

/* A dataset whose elements are in that file. */
typedef struct tra_raw_array {
    int64_t addr, count, chunk; /* where it begins in the file; its elements; elements of a chunk */
    size_t each;
    uint64_t *sums, *masks; /* NULL, or where the checksum of each chunk goes, and the sum of tra_mask_sum of all, */
    int64_t ordinal;        /* for which the first chunk has this number */
} tra_raw_array;
/* Makes the chunks of dataset `name` of the group, in order. */
TRA_MUSTUSE tra_status tra_pack_dataset(tra_packer *x, hid_t group, const char *name, const tra_raw_array *of,
                                        tra_err *e);

#endif
