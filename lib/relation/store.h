/* store.h - relations in HDF5 files: opening, reading arrays, writing atomically, checksums, digests.
 *
 * A relation is one chunked dataset, and a tuple is one chunk (man tra-relation.5). HDF5 is used only for metadata and
 * for allocating chunks. The store reads and writes the bytes of chunks itself, in any thread, at addresses that a
 * small file driver captures from the library (vfd.c), since the library's own queries for chunks walk the whole index.
 * All calls into HDF5 go through one lock inside this room; callers need none.
 *
 * What a relation NAME is in the file (integers have 64 bits, texts are fixed-length UTF-8; written in this order):
 * NAME            the dataset: shape and chunks by tra_store_layout; no filters, or shuffle and zstd, of which a
 *                 chunk may have skipped one or both (its filter mask tells)
 *   tra_format    1
 *   tra_rank      r
 *   tra_layout    "tensor" or "tuple"
 *   tra_keys      tensor: for each key dimension the array dimension that it cuts, or -1 (empty when k = 0)
 *   tra_cuts      tuple: for each array dimension the set of key dimensions that cut it, as bits
 *   tra_extents   tuple, when arrays are clipped: for a grid [r][3], for each array dimension the key dimension that
 *                 clips it or -1, its extent, and its extent at the last value of that key; for a list the path of
 *                 the table below
 *   tra_seal      a hash of element type, shape and the attributes above, by which damage is found
 *   tra_digest, tra_history
 *   tra_labels    which dimensions have labels; these are dimension scales in the same file (scales.h)
 * .tra/NAME/      tables, each with a tra_seal of its elements, and a copy of the dataset's tra_seal. The attribute
 *                 tra_pipeline tells for which form of the dataset they were made (element order and size, chunk,
 *                 filters): when another program has rewritten it, they are ignored with a warning
 *   xxh64         uint64 over the grid of chunks: XXH64 of each chunk as stored (1 in place of 0); 0 where
 *                 there is none. When more than 7 of 8 would be holes: [n], in key order. Codec zstd: with the
 *                 attribute tra_masks, a sum over the chunks' filter masks
 *   keys          [n], when there are holes: row-major positions of the existing keys within the frontier
 *   extents       [n][r], tuple layout of a list with clipped arrays: extents of each array
 */
#ifndef TRA_STORE_H
#define TRA_STORE_H

#include "../durable/durable.h"
#include "relation.h"

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
/* Bytes of memory that each thread takes to compress chunks of so many bytes: inside libzstd; and as scratch of
 * tra_writer_encode. */
int64_t tra_codec_context(int level, int64_t chunk_bytes);
int64_t tra_codec_scratch(const tra_type *t);

/* ---- reading ------------------------------------------------------------------------------------------------ */

typedef struct tra_rel tra_rel;

/* Splits "file.h5:name" at the first "::", else at the last ':', unless a file has all of it as its name. name is NULL
 * when there is none. Both are in the arena. */
void tra_relspec(tra_arena *a, const char *spec, const char **path, const char **name);
/* Bytes of the prefix "raw:" of a spec, which asks for the numbers as they are stored; 0: it has none, or a file of
 * that name is there. */
size_t tra_relspec_raw(const char *spec);

/* The relations that a file holds (at most 65536), in alphabetical order, in the arena. TRA_INPUT. */
typedef struct tra_relation_names {
    int n;
    const char **name;
} tra_relation_names;
TRA_MUSTUSE tra_status tra_store_names(const char *path, tra_arena *a, tra_relation_names *out, tra_err *e);

/* Opens spec ("file.h5" or "file.h5:name"; without a name its only relation, or "data"). Type and catalog live as long
 * as the relation is open. Datasets of other programs (h5py, MATLAB, Octave: floats, integers and h5py's booleans,
 * chunked or contiguous, any filter that the HDF5 library knows) become relations with k = r, of the narrowest element
 * type that holds the file's (u64 becomes i64, and reading a larger element fails). Of contiguous ones `block` gives
 * the extents of blocks; NULL: they are chosen. Chunks that are not allocated are holes only in files that tra wrote;
 * in others they hold the fill value. Errors: TRA_INPUT, naming file and dataset. */
TRA_MUSTUSE tra_status tra_rel_open(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e);
/* The same, without the strings of a table that tra wrote: until tra_rel_read_strings its dictionaries have only their
 * numbers of strings. */
TRA_MUSTUSE tra_status tra_rel_open_bare(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e);
void tra_rel_close(tra_rel *r); /* NULL allowed */
/* The spec of a relation that is in no file: its elements are made whenever they are read. In the arena. shape and
 * block have the same rank. tra_rel_positions: the tensor 0, 1, ..., extent - 1 of i64. */
struct gen_values;
const char *tra_rel_made(tra_arena *a, const struct gen_values *v, int64_t seed, tra_dtype t, const tra_dims *shape,
                         const tra_dims *block);
const char *tra_rel_positions(tra_arena *a, int64_t extent, int64_t block);
bool tra_rel_is_made(const char *spec);
const tra_type *tra_rel_type(const tra_rel *r);
/* Does the file hold u64? Then elements are from now on read as they are, as u64 although the type says i64. */
bool tra_rel_keep_u64(tra_rel *r);

/* Bytes of memory that a relation takes while it is open or written: its keys, the places of their chunks, and HDF5's
 * index of them. */
int64_t tra_store_index_bytes(const tra_catalog *c);

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
const tra_relinfo *tra_rel_info(const tra_rel *r);

/* What identifies the contents for plans and resume, without reading the data: "size:mtime_ns:inode:XXH64 of its
 * checksum table". In the arena. */
const char *tra_rel_identity(const tra_rel *r, tra_arena *a);

/* Bytes of memory that HDF5 takes where it reads arrays itself (elements that must be converted, filters other than
 * ours): for all such reads of a process, since they are done one at a time. 0 where tra reads the chunks. */
int64_t tra_rel_library_bytes(const tra_rel *r);
/* Bytes of memory that an open relation takes besides the buffers of its readers: tra_store_index_bytes,
 * tra_rel_library_bytes, labels, and so on. */
int64_t tra_rel_held_bytes(const tra_rel *r);

/* The labels of a tensor's dimensions: *out has an entry for each dimension, NULL where there are none, and is NULL
 * when no dimension has labels. They live as long as the relation is open. Dimension scales of other programs count as
 * labels if they are of strings or integers. TRA_INPUT: labels that tra wrote are damaged. Not thread-safe. */
TRA_MUSTUSE tra_status tra_rel_labels(tra_rel *r, const struct tra_dim_labels *const **out, tra_err *e);

/* Bytes of scratch that each concurrent tra_rel_read needs; may be 0. */
size_t tra_rel_scratch_bytes(const tra_rel *r);
/* Bytes that the buffer of tra_rel_read must have at least, whatever the tuple: those of a chunk where it is decoded in
 * the buffer, 0 elsewhere. And bytes that are enough for any tuple. */
size_t tra_rel_unpack_bytes(const tra_rel *r);
size_t tra_rel_buffer_bytes(const tra_rel *r);
/* Reads the array of a tuple into buf: clipped, row-major, contiguous, in the relation's dtype; of a relation with a
 * layout, its block. Verifies the checksum, if there is one, when a tuple is read for the first time. Thread-safe, with
 * scratch of one's own. Errors: TRA_INPUT, naming file, dataset and key ("chunk <1,2> of a.h5:data is damaged"). */
TRA_MUSTUSE tra_status tra_rel_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);

/* Checks what no read looks at: of a relation stored by levels the keys as other programs see them, the zeros with
 * which pointers begin, and the counts of columns; of a table its statistics; labels. TRA_INPUT, with what is
 * damaged. */
TRA_MUSTUSE tra_status tra_rel_check(tra_rel *r, tra_err *e);

/* Can the array be read past the page cache? Only when the relation has been read from before, and the chunk is stored
 * as it is, is large, begins at a whole page, and is not in the page cache. Then read_direct, into a buffer aligned to
 * 4096 bytes, takes next to no processor time, but the full time of the disk. */
bool tra_rel_can_read_direct(const tra_rel *r, int64_t ordinal);
TRA_MUSTUSE tra_status tra_rel_read_direct(tra_rel *r, int64_t ordinal, void *buf, tra_err *e);

/* ---- writing ------------------------------------------------------------------------------------------------ */

typedef struct tra_writer tra_writer;
typedef struct tra_write_options {
    tra_codec codec;
    const char *history; /* text for tra_history, or NULL to leave it out */
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

/* Begins the relation `spec` of the given type in a temporary file in the folder of its target, and takes the advisory
 * lock on the target. Nothing appears under the target's name before commit. "file.h5" replaces the whole file;
 * "file.h5:name" replaces one relation and keeps the others of the file.
 *
 * Removes temporary files that dead processes left for this target, even those that could be continued, except one with
 * the tag that is reused. Chunks get the same addresses in every file of one type and one set of options, so that what
 * is in a reused file is where it belongs; the caller knows which of it is complete. The layout (tensor or tuple)
 * follows from the type. With codec none all chunks are allocated now, in key order, so that any thread, and any
 * process that knows the addresses, can write them.
 *
 * Errors: TRA_INPUT (target, name), TRA_RESOURCE (disk full, locked), TRA_USAGE (options that exclude each other).
 */
TRA_MUSTUSE tra_status tra_writer_create(const char *spec, const tra_type *type, const tra_write_options *o,
                                         tra_writer **out, tra_err *e);
size_t tra_writer_scratch_bytes(const tra_writer *w); /* bytes of scratch that each concurrent put needs */
/* Codec none. pad makes a chunk of an array (clipped, row-major, contiguous) in place, in a buffer that has room for a
 * chunk, and records its checksum; store writes a chunk, past the page cache where address and memory are aligned to
 * 4096 and it is large. Thread-safe. */
void tra_writer_pad(tra_writer *w, int64_t ordinal, void *data);
TRA_MUSTUSE tra_status tra_writer_store(tra_writer *w, int64_t ordinal, const void *chunk, tra_err *e);
/* Writes the array or block of a tuple, whatever the codec; data are not changed. Thread-safe for codec none. */
TRA_MUSTUSE tra_status tra_writer_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);

/* Codec zstd: encode (thread-safe), then allocate (one at a time, in an order that does not depend on timing, since it
 * decides the bytes of the file), then write_at. tra_writer_put does all three when one process owns the writer; its
 * callers keep the order. encode takes an array in a buffer that has room for a chunk (tra_store_chunk_bytes) and
 * overwrites it. put receives what is encoded: len bytes for position `at`, in order, and from position 0 again when
 * the chunk turns out not to shrink, never beyond the room of a chunk. scratch: tra_codec_scratch bytes. */
typedef struct tra_encoded {
    int64_t len;
    uint32_t mask; /* HDF5 filter mask: bits of filters that were skipped */
    uint64_t sum;  /* XXH64 of the stored bytes */
} tra_encoded;
typedef tra_status tra_encoded_fn(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e);
tra_encoded_fn tra_encoded_keep; /* a put that copies to ctx, which has room for a chunk */
TRA_MUSTUSE tra_status tra_writer_encode(const tra_writer *w, int64_t ordinal, void *data, void *scratch,
                                         tra_encoded_fn *put, void *ctx, tra_encoded *enc, tra_err *e);
/* Allocates and indexes an encoded chunk without writing it. *addr: where tra_writer_write_at is to put its bytes. */
TRA_MUSTUSE tra_status tra_writer_allocate(tra_writer *w, int64_t ordinal, const tra_encoded *enc, int64_t *addr,
                                           tra_err *e);

/* Several processes: the creator describes itself in a blob (describe); the others attach to it, and may then encode,
 * put (codec none) and write_at. Before the commit the creator needs the checksums that the others recorded: sums has
 * nsums entries, one or more for each tuple, 0 where this process did not write it, so that the arrays of all processes
 * can be added up. */
void tra_writer_describe(const tra_writer *w, tra_str *blob);
TRA_MUSTUSE tra_status tra_writer_attach(const void *blob, size_t n, const tra_type *type, tra_writer **out,
                                         tra_err *e);
TRA_MUSTUSE tra_status tra_writer_write_at(tra_writer *w, int64_t addr, const void *bytes, int64_t len, tra_err *e);
uint64_t *tra_writer_sums(tra_writer *w);
int64_t tra_writer_nsums(const tra_writer *w);
int64_t tra_writer_address(const tra_writer *w, int64_t ordinal);  /* codec none: address of its chunk in the file */
int tra_writer_fd(const tra_writer *w);                            /* open for reading and writing */
bool tra_writer_reused(const tra_writer *w);                       /* creator: an earlier temporary file is continued */
int64_t tra_writer_stored(const tra_writer *w);                    /* creator: bytes of all chunks allocated so far */
TRA_MUSTUSE tra_status tra_writer_sync(tra_writer *w, tra_err *e); /* fsync, by attached processes */

/* Of a writer with levels, or of a table, and codec zstd, by its creator, when all has been put and synced
 * (tra_writer_sync by the other processes): makes the chunks, by so many threads. The bytes of the file depend neither
 * on these nor on who put what. Of other writers nothing. The commit does it where nobody has, by one thread. And the
 * bytes that it takes for a relation of that type. */
TRA_MUSTUSE tra_status tra_writer_pack(tra_writer *w, int workers, tra_err *e);
/* The same by so many threads at most, and as many as fit that memory, but one. */
TRA_MUSTUSE tra_status tra_writer_pack_within(tra_writer *w, int workers, int64_t memory, tra_err *e);
int64_t tra_pack_bytes(const tra_type *t, int level, int workers);

/* Writes attributes and tables, closes, syncs, renames, syncs the directory. By the creator only. digest may be NULL.
 * Frees w, also on failure (then the temporary file is removed, unless it has a tag). Relations that one process writes
 * to one target at the same time are in one new file, which appears with the commit of the last of them, or not at all
 * when one of them is aborted. */
TRA_MUSTUSE tra_status tra_writer_commit(tra_writer *w, const char *digest, tra_err *e);
/* The same for n writers whose relations appear together (tra_temps_commit): each file is renamed once, with
 * all of its relations. note may be NULL; then there is no record if there is only one file. */
TRA_MUSTUSE tra_status tra_writers_commit(tra_writer *const *w, const char *const *digests, int n,
                                          const tra_commit_note *note, tra_err *e);
void tra_writer_abort(tra_writer *w); /* frees; the creator removes the temporary file */
void tra_writer_leave(tra_writer *w); /* the same, but a temporary file with a tag stays for a later process */

/* ---- digest ------------------------------------------------------------------------------------------------- */

/* The digest of a tensor's values (man tra-relation.5): a 128-bit sum, over elements that are not zero, of a mix of
 * row-major index and bits; so parts can be added in any order and on any rank. A relation in tuple layout is digested
 * as the dataset that it would be stored as. */
typedef struct tra_digest {
    uint64_t lo, hi;
} tra_digest;
/* Adds arrays to a digest. new finds out what all tuples of a type have in common (for a list by a walk over its
 * tuples); the type's catalog must outlive it. Several threads may add at once, each to a digest of its own. */
typedef struct tra_digester tra_digester;
tra_digester *tra_digester_new(const tra_type *type);
void tra_digester_add(const tra_digester *w, tra_digest *d, int64_t ordinal, const void *data);
void tra_digester_free(tra_digester *w);
/* The same for a single array; for many arrays of a list it is slow. */
void tra_digest_array(tra_digest *d, const tra_type *type, int64_t ordinal, const void *data);
/* Adds one element of a tensor, at this row-major index. */
void tra_digest_element(tra_digest *d, tra_dtype type, const void *element, uint64_t index);
void tra_digest_add(tra_digest *d, const tra_digest *part);
/* Mixes in shape and type; gives 32 hexadecimal digits and NUL. */
void tra_digest_text(const tra_digest *d, const tra_type *type, char text[33]);

/* The dataset that a type is stored as (man tra-relation.5): its extents and its chunk; key dimensions that cut nothing
 * come first. *tuple: it is in tuple layout. */
void tra_store_layout(const tra_type *t, tra_dims *dims, tra_dims *chunk, bool *tuple);
int64_t tra_store_chunk_bytes(const tra_type *t); /* bytes of one of its chunks before encoding */

#endif
