/* h5.h - HDF5, its codec, and what is said of relations in files by all that read and write them. */
#ifndef TRA_H5_H
#define TRA_H5_H

#include "../durable/durable.h"
#include "../model/geometry.h"

struct tra_dim_labels; /* labels.h */

/* ---- HDF5 --------------------------------------------------------------------------------------------------- */

/* The lock of the HDF5 library, for code elsewhere (formats) that calls it; calls nest. The first one prepares the
 * library: no file locking, no error messages of its own, the zstd filter known. */
void tra_h5_enter(void);
void tra_h5_leave(void);

/* ---- codec -------------------------------------------------------------------------------------------------- */

typedef struct tra_codec {
    bool zstd; /* filter 32015; false: chunks stored as they are */
    int level; /* 1..19, default 1 */
} tra_codec;
bool tra_codec_parse(const char *s, tra_codec *c); /* "none", "zstd", "zstd:3" */
/* Bytes of memory that each thread takes to compress chunks of so many bytes, inside libzstd. */
int64_t tra_codec_context(int level, int64_t chunk_bytes);

/* ---- relations in files ---------------------------------------------------------------------------------------- */

typedef struct tra_rel tra_rel;

typedef struct tra_relation_names {
    int n;
    const char **name;
} tra_relation_names;

typedef struct tra_relinfo {
    const char *path, *name;
    bool foreign;         /* not written by tra */
    const char *layout;   /* "tensor" or "tuple" */
    tra_dims dims, chunk; /* of the dataset */
    const char *codec;    /* "none", "zstd", or the names of foreign filters */
    int64_t stored_bytes; /* of the chunks, in the file */
    int64_t file_bytes;
    bool checksums, lost;         /* lost: tra wrote checksums, but they are gone */
    const char *digest, *history; /* NULL when absent */
    const char *units;            /* of the elements, as the attribute of the dataset says; or NULL */
    const char *decoding;         /* what the attributes of another program make of its numbers (decode.h); or NULL */
    const char *storage;          /* levels or mapping (stored.h, mapped.h); NULL: each tuple is stored as it is */
} tra_relinfo;
/* The labels of a tensor's dimensions: *out has an entry for each dimension, NULL where there are none, and is NULL
 * when no dimension has labels. They live as long as the relation is open. Dimension scales of other programs count as
 * labels if they are of strings or integers. TRA_INPUT: labels that tra wrote are damaged. Not thread-safe. */
TRA_MUSTUSE tra_status tra_rel_labels(tra_rel *r, const struct tra_dim_labels *const **out, tra_err *e);

typedef struct tra_writer tra_writer;
typedef struct tra_write_options {
    tra_codec codec;
    const char *history; /* text for tra_history, or NULL to leave it out */
    /* No other program reads the file: strings of tables are written once, as tra reads them, and not as categories. */
    bool alone;
    /* NULL, or a text that identifies this output of this run: the temporary file has it in its name and outlives a
     * process that ends early. reuse: continue with such a file of an earlier process. */
    const char *tag;
    bool reuse;
    /* Not 0: instead of the codec, shuffle and deflate of this level (1 to 9), for programs without zstd. HDF5 then
     * writes the chunks, so that one process writes all, by tra_writer_put; there are no checksums. */
    int gzip;
    /* NULL, or labels of a tensor's dimensions (labels.h), each of which may be NULL. They must outlive the writer.
     * Labels whose number is not the extent are left out. */
    const struct tra_dim_labels *const *labels;
    const char *units; /* of the elements: an attribute; NULL: none */
    /* NULL, or the levels by which arrays are stored (stored.h). gzip must be 0. */
    const struct tra_levels *levels;
    /* NULL, or the components of the relation's one block (mapped.h). They must outlive tra_writer_create; gzip must be
     * 0. */
    const struct tra_mapped *mapped;
    /* NULL, or a storage that is no levels, in which arrays are packed (mapped.h). It must outlive tra_writer_create;
     * gzip must be 0. */
    const struct tra_storage *mapping;
} tra_write_options;

/* What encoding a chunk gives. */
typedef struct tra_encoded {
    int64_t len;
    uint32_t mask; /* HDF5 filter mask: bits of filters that were skipped */
    uint64_t sum;  /* XXH64 of the stored bytes */
} tra_encoded;
typedef tra_status tra_encoded_fn(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e);
tra_encoded_fn tra_encoded_keep; /* a put that copies to ctx, which has room for a chunk */
TRA_MUSTUSE tra_status tra_writer_write_at(tra_writer *w, int64_t addr, const void *bytes, int64_t len, tra_err *e);

/* Of a writer with levels, or of a table, and codec zstd, by its creator, when all has been put and synced
 * (tra_writer_sync by the other processes): makes the chunks, by so many threads. The bytes of the file depend neither
 * on these nor on who put what. Of other writers nothing. The commit does it where nobody has, by one thread. And the
 * bytes that it takes for a relation of that type. */
TRA_MUSTUSE tra_status tra_writer_pack(tra_writer *w, int workers, tra_err *e);
/* The same by so many threads at most, and as many as fit that memory, but one. */
TRA_MUSTUSE tra_status tra_writer_pack_within(tra_writer *w, int workers, int64_t memory, tra_err *e);
int64_t tra_pack_bytes(const tra_type *t, int level, int workers);

#endif
