/* store.h - relations in HDF5 files: opening, reading arrays, writing atomically, checksums, digests.
 *
 * One relation is one chunked dataset, one tuple one chunk (man tra-relation.5). HDF5 is used for metadata and for
 * allocating chunks only: the bytes of chunks are read and written here, by any thread, at addresses that a small
 * address-capturing file driver learns from the library (vfd.c), since the library's own chunk queries walk the whole
 * index. All calls into HDF5 go through one lock inside this room; callers need none.
 *
 * What a relation NAME is in the file (integers are 64 bits, texts fixed-length UTF-8; written in this order):
 *   NAME            the dataset: shape and chunks by tra_store_layout; filters none, or shuffle and zstd, of which a
 *                   chunk may have skipped one or both (its filter mask tells)
 *     tra_format    1
 *     tra_rank      r
 *     tra_layout    "tensor" or "tuple"
 *     tra_keys      tensor: for each key dimension the array dimension that it blocks, or -1 (empty when k = 0)
 *     tra_cuts      tuple: for each array dimension the set of key dimensions that cut it, as bits
 *     tra_extents   tuple, when arrays are clipped: of a grid [r][3], for each array dimension the key dimension that
 *                   clips it or -1, its extent, and its extent at the last value of that key; of a list the path of
 *                   the table below
 *     tra_seal      tells damage of element type, shape and the attributes above
 *     tra_digest, tra_history
 *     tra_labels    which dimensions have labels; these are dimension scales beside it (scales.h)
 *   .tra/NAME/      tables, each with a tra_seal of its elements, and the dataset's tra_seal once more; the attribute
 *                   tra_pipeline tells of which dataset (element order and size, chunk, filters): when another program
 *                   has rewritten it, they are ignored with a warning
 *     xxh64         uint64 over the grid of chunks: XXH64 of each chunk as stored, 1 standing for 0; 0 where
 *                   there is none. When more than 7 of 8 would be holes: [n], in key order. Codec zstd: with the
 *                   attribute tra_masks, a sum over the chunks' filter masks
 *     keys          [n], when there are holes: row-major positions of the existing keys within the frontier
 *     extents       [n][r], tuple layout of a list with clipped arrays: extents of each array
 */
#ifndef TRA_STORE_H
#define TRA_STORE_H

#include "relation.h"

struct tra_dim_labels; /* labels.h */

/* ---- HDF5 --------------------------------------------------------------------------------------------------- */

/* The library is used under one lock. Whoever calls HDF5 elsewhere (formats) does so between these two; they nest. The
 * first call prepares the library: no file locking, no messages of its own, the zstd filter known. */
void tra_h5_enter(void);
void tra_h5_leave(void);

/* ---- codec -------------------------------------------------------------------------------------------------- */

typedef struct tra_codec {
    bool zstd; /* filter 32015; false: chunks stored as they are */
    int level; /* 1..19, default 1 */
} tra_codec;
bool tra_codec_parse(const char *s, tra_codec *c); /* "none", "zstd", "zstd:3" */
/* Bytes that compressing chunks of so many takes of each thread: in libzstd; and as scratch of tra_writer_encode. */
int64_t tra_codec_context(int level, int64_t chunk_bytes);
int64_t tra_codec_scratch(const tra_type *t);

/* ---- reading ------------------------------------------------------------------------------------------------ */

typedef struct tra_rel tra_rel;

/* Splits "file.h5:name" at the first "::", else at the last ':', unless the whole is itself an existing file. name is
 * NULL when absent. Both from the arena. */
void tra_relspec(tra_arena *a, const char *spec, const char **path, const char **name);

/* The relations that a file holds (at most 65536), in the order of the alphabet; from the arena. TRA_INPUT. */
typedef struct tra_relation_names {
    int n;
    const char **name;
} tra_relation_names;
TRA_MUSTUSE tra_status tra_store_names(const char *path, tra_arena *a, tra_relation_names *out, tra_err *e);

/* Opens spec ("file.h5" or "file.h5:name"; without a name its only relation, or "data"). The type and catalog live
 * in rel. Foreign datasets (h5py, MATLAB, Octave: floats, integers and h5py's booleans, chunked or contiguous, any
 * filter that the HDF5 library knows) are relations with k = r, of the narrowest element type that holds the file's
 * (u64: i64, and reading a larger element fails); for contiguous ones `block` (may be NULL: chosen) gives the blocks.
 * Unallocated chunks are holes only in files that tra wrote, else they hold the fill value.
 * Errors: TRA_INPUT naming file and dataset. */
TRA_MUSTUSE tra_status tra_rel_open(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e);
void tra_rel_close(tra_rel *r); /* NULL allowed */
/* The spec of a relation that is in no file: the tensor 0, 1, ... of i64 with that extent, in blocks. */
const char *tra_rel_positions(tra_arena *a, int64_t extent, int64_t block);
const tra_type *tra_rel_type(const tra_rel *r);
/* Does the file hold u64? Then elements are read from now on as they are, u64 in the place of i64. */
bool tra_rel_keep_u64(tra_rel *r);

/* Bytes that an open relation, or one that is written, holds for its keys, their chunks and HDF5's index of them. */
int64_t tra_store_index_bytes(const tra_catalog *c);

typedef struct tra_relinfo {
    const char *path, *name;
    bool foreign;         /* not written by tra */
    const char *layout;   /* "tensor" or "tuple" */
    tra_dims dims, chunk; /* of the dataset */
    const char *codec;    /* "none", "zstd", or the names of foreign filters */
    int64_t stored_bytes; /* of the chunks, on disk */
    int64_t file_bytes;
    bool checksums, lost;         /* lost: tra wrote it with checksums, which are gone */
    const char *digest, *history; /* NULL when absent */
    const char *storage;          /* by levels (stored.h), or NULL: each tuple is an array */
} tra_relinfo;
const tra_relinfo *tra_rel_info(const tra_rel *r);

/* Identity of the input for plans and resume: "size:mtime_ns:inode:XXH64 of its checksum table", without reading the
 * data. From the arena. */
const char *tra_rel_identity(const tra_rel *r, tra_arena *a);

/* Bytes that HDF5 takes where it reads an array itself (what it has to convert, filters other than ours): of all such
 * reads of a process, one at a time. 0 where chunks are read here. */
int64_t tra_rel_library(const tra_rel *r);
/* Bytes that an open relation holds besides the buffers of its reader: tra_store_index_bytes and tra_rel_library. */
int64_t tra_rel_held(const tra_rel *r);

/* What the positions along each dimension of a tensor in blocks stand for, for as long as it is open: *out has an entry
 * for each dimension, NULL where there are no labels, and is NULL when there are none at all. Also of other programs'
 * dimension scales of strings and integers. TRA_INPUT: those that tra wrote are damaged. Not from several threads. */
TRA_MUSTUSE tra_status tra_rel_labels(tra_rel *r, const struct tra_dim_labels *const **out, tra_err *e);

/* Bytes of scratch that one concurrent tra_rel_read needs (0: none). */
size_t tra_rel_scratch(const tra_rel *r);
/* Bytes that the buffer of tra_rel_read must have at least: a chunk's where this is unpacked (decoded, unshuffled, cut)
 * in the buffer; 0 elsewhere. And those that do for any tuple. */
size_t tra_rel_unpacks(const tra_rel *r);
size_t tra_rel_room(const tra_rel *r);
/* Reads the array of a tuple, clipped, row-major, contiguous, in the relation's dtype, into buf (floats1 * size bytes).
 * Verifies the checksum, when there is one, at the first read of a tuple. Thread-safe with a scratch of one's own.
 * Errors: TRA_INPUT naming file, dataset, key ("chunk <1,2> of a.h5:data is damaged"). */
TRA_MUSTUSE tra_status tra_rel_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);

/* Looks at what no read needs: of a relation that tra stored by levels the keys as other programs see them, the zeros
 * that pointers begin with, and the counts of columns. TRA_INPUT with what is damaged. */
TRA_MUSTUSE tra_status tra_rel_check(tra_rel *r, tra_err *e);

/* Can the array be read past the page cache? Of a relation that has been read from before, when its chunk is stored as
 * it is, large, and in whole pages: then read_direct, into a buffer aligned to 4096, costs the processor next to
 * nothing, and the time of the disk also where the page cache has the chunk. */
bool tra_rel_direct(const tra_rel *r, int64_t ordinal);
TRA_MUSTUSE tra_status tra_rel_read_direct(tra_rel *r, int64_t ordinal, void *buf, tra_err *e);

/* ---- writing ------------------------------------------------------------------------------------------------ */

/* *path becomes the file that a relation written there replaces, behind any symbolic links: from the arena. TRA_INPUT:
 * what is there is no file. */
TRA_MUSTUSE tra_status tra_store_target(tra_arena *a, const char **path, tra_err *e);

typedef struct tra_writer tra_writer;
typedef struct tra_write_options {
    tra_codec codec;
    const char *history; /* text for tra_history, or NULL to leave it out */
    /* NULL, or what tells this output of this run from all others: the temporary file has it in its name and outlives a
     * process that ends early, so that another one may go on with it: reuse. */
    const char *tag;
    bool reuse;
    /* Not 0: instead of the codec, shuffle and deflate of this level (1 to 9), for programs without zstd. HDF5 filters
     * then, so put alone writes chunks, by one process; they have no checksums. */
    int gzip;
    /* NULL, or what the positions along each dimension of a tensor in blocks stand for (labels.h), NULL: nothing. They
     * must outlive the writer. Those that do not fit its extents are left out. */
    const struct tra_dim_labels *const *labels;
    /* NULL, or the levels by which arrays are stored (stored.h): then gzip is 0. */
    const struct tra_levels *levels;
    /* NULL, or the storage that is no levels, with its components (mapped.h): then gzip is 0 too. Both must outlive the
     * creation. */
    const struct tra_mapped *mapped;
    /* NULL, or the storage that is no levels, of whose mapping positions follow from coordinates alone (mapped.h):
     * arrays are packed, and gzip is 0. It must outlive the creation. */
    const struct tra_storage *mapping;
} tra_write_options;

/* Begins the relation `spec` of the given type in a temporary file beside its target, under an advisory lock with
 * owner. Nothing appears under the target's name before commit. "file.h5" replaces the file, "file.h5:name" the
 * relation: then the others that the file holds are kept.
 * Reclaims temporary files of dead processes, those that could be gone on with too, but for those of the tag it reuses.
 * Chunks get the same addresses in every file of one type and one set of options, so what is in a reused file is where
 * it belongs; the caller tells which of it is whole. The layout (tensor or tuple) follows from the type.
 * With codec none all chunks are allocated now, in key order, so that any thread, or any process that knows the
 * addresses, can write them (architecture variant: allocate by capture, pwrite by all). */
TRA_MUSTUSE tra_status tra_writer_create(const char *spec, const tra_type *type, const tra_write_options *o,
                                         tra_writer **out, tra_err *e);
size_t tra_writer_scratch(const tra_writer *w); /* bytes that one concurrent put needs */
/* Codec none: spreads an array (clipped, row-major, contiguous), which has the room of a chunk, over it and records the
 * checksum. store writes the chunk to its place, past the page cache where address and memory are aligned to 4096 and
 * the chunk is large. Thread-safe. */
void tra_writer_pad(tra_writer *w, int64_t ordinal, void *data);
TRA_MUSTUSE tra_status tra_writer_store(tra_writer *w, int64_t ordinal, const void *chunk, tra_err *e);
/* Both at once, of data that stay as they are. */
TRA_MUSTUSE tra_status tra_writer_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);

/* Codec zstd: encode (thread-safe) then append (one at a time, in an order that does not depend on timing: the order
 * of appends decides the bytes of the file). put does both when the writer is owned by one process; its callers
 * keep the order. encode takes an array that has the room of a chunk (tra_store_chunk_bytes), which is lost; put gets
 * the len bytes at `at` of what is encoded, in order, and from 0 anew when the chunk turns out not to shrink, never
 * beyond the room of a chunk. scratch: tra_codec_scratch. */
typedef struct tra_encoded {
    int64_t len;
    uint32_t mask; /* HDF5 filter mask: bits of filters that were skipped */
    uint64_t sum;  /* XXH64 of the stored bytes */
} tra_encoded;
typedef tra_status tra_encoded_fn(void *ctx, int64_t at, const void *bytes, int64_t len, tra_err *e);
tra_encoded_fn tra_encoded_keep; /* in ctx, which has the room of a chunk */
TRA_MUSTUSE tra_status tra_writer_encode(const tra_writer *w, int64_t ordinal, void *data, void *scratch,
                                         tra_encoded_fn *put, void *ctx, tra_encoded *enc, tra_err *e);
/* Allocates and indexes the chunk, without writing its bytes: *addr is where pwrite on tra_writer_path puts them. */
TRA_MUSTUSE tra_status tra_writer_allocate(tra_writer *w, int64_t ordinal, const tra_encoded *enc, int64_t *addr,
                                           tra_err *e);

/* Several processes: the creator describes itself in a blob; the others attach to it and may encode, put (codec none)
 * and write_at. Before commit the creator needs the checksums that the others recorded: sums has nsums entries, one for
 * each tuple (by levels: several, with its statistics), 0 where this process wrote none, so that they can be added
 * up. */
void tra_writer_describe(const tra_writer *w, tra_str *blob);
TRA_MUSTUSE tra_status tra_writer_attach(const void *blob, size_t n, const tra_type *type, tra_writer **out,
                                         tra_err *e);
TRA_MUSTUSE tra_status tra_writer_write_at(tra_writer *w, int64_t addr, const void *bytes, int64_t len, tra_err *e);
uint64_t *tra_writer_sums(tra_writer *w);
int64_t tra_writer_nsums(const tra_writer *w);
int64_t tra_writer_address(const tra_writer *w, int64_t ordinal);  /* codec none: where the chunk is */
int tra_writer_fd(const tra_writer *w);                            /* open for reading and writing */
bool tra_writer_reused(const tra_writer *w);                       /* creator: the temporary file was there */
int64_t tra_writer_stored(const tra_writer *w);                    /* bytes of all chunks allocated so far (creator) */
TRA_MUSTUSE tra_status tra_writer_sync(tra_writer *w, tra_err *e); /* attached processes: fsync what they wrote */

/* Writes attributes and checksum table, closes, syncs, renames, syncs the directory. Creator only. digest may be NULL.
 * Frees w also on failure (after removing the temporary file, unless it has a tag). Relations that one process writes
 * to one target at the same time are in one new file, which appears with the commit of the last of them, or not at all
 * when one is aborted. */
TRA_MUSTUSE tra_status tra_writer_commit(tra_writer *w, const char *digest, tra_err *e);
/* The same of n writers whose relations appear together, by a commit record (below), each file with all of its
 * relations by one rename. note may be NULL: then one file alone has no record. */
typedef struct tra_commit_note tra_commit_note;
TRA_MUSTUSE tra_status tra_writers_commit(tra_writer *const *w, const char *const *digests, int n,
                                          const tra_commit_note *note, tra_err *e);
void tra_writer_abort(tra_writer *w); /* removes the temporary file, frees; also ends an attached writer (keeps it) */
void tra_writer_leave(tra_writer *w); /* the same, but a temporary file with a tag stays */

/* ---- outputs that appear together ------------------------------------------------------------------------------ */

/* When all files of a run are complete, a commit record is written before the first rename: `.NAME.tra-commit` beside
 * the first target lists every rename, and the same name beside each other target leads to it. From then on the outputs
 * will appear, whoever does the renames: tra_rel_open and tra_writer_create settle what a process that is gone has
 * left. The record stays until the run has nothing left to do (tra_commit_end), so that a run that was killed after its
 * outputs appeared is known to be done. Renames that a
 * run of another user has left to be done are an error: only that user can finish them. */
struct tra_commit_note {
    uint64_t step; /* digest of the program and its definitions, which --resume compares */
    /* Directory of progress that is of no use once the outputs are there, and what its lock is on; or NULL. */
    const char *progress, *lock;
};
typedef struct tra_rename {
    int64_t id[2]; /* device and inode of the temporary file */
    const char *temp, *target;
} tra_rename;
/* Writes the record (unless one file alone has no note) and does the renames, which it sorts. *decided: the outputs
 * will appear; on failure the record and the temporary files that are left must stay then, and whoever comes next tries
 * again. */
TRA_MUSTUSE tra_status tra_commit_renames(tra_rename *v, int n, const tra_commit_note *note, bool *decided, tra_err *e);
/* Finishes the renames of a record beside path, if there is one; waits some seconds for a live process that is about
 * it. TRA_RESOURCE, or TRA_INPUT when the record is damaged. Without a record one system call. */
TRA_MUSTUSE tra_status tra_commit_settle(const char *path, tra_err *e);
/* Does the record beside path say that the outputs of that step are in place, as they are? */
bool tra_commit_done(const char *path, uint64_t step);
/* Removes the record beside path, when all of it is in place, with the progress that it names. */
void tra_commit_end(const char *path);

/* ---- lock --------------------------------------------------------------------------------------------------- */

/* Advisory lock on writing path: the file .NAME.tra-lock beside it holds "host pid start boot space command": the
 * second in which the process began, and the kernel's boot id and inode of the pid namespace in which its number is
 * one. A lock whose owner is provably dead is taken over: of this host and namespace, and gone. Counts: several holders
 * of one process share it. Errors: TRA_RESOURCE naming the owner. */
TRA_MUSTUSE tra_status tra_lock_take(const char *path, bool *first, tra_err *e);
/* The same, of what messages call `what`. */
TRA_MUSTUSE tra_status tra_lock_take_for(const char *what, const char *path, bool *first, tra_err *e);
void tra_lock_drop(const char *path);
/* Does another process hold it that is not known to be dead? Changes nothing. */
bool tra_lock_held(const char *path);
void tra_lock_clear(const char *path); /* removes the lock of an owner that is provably dead, if there is one */

/* ---- digest ------------------------------------------------------------------------------------------------- */

/* Digest of the tensor's values (man tra-relation.5): the 128-bit sum over elements that are not zero of a mix of
 * row-major index and bits, so that parts can be added in any order and place. A relation in tuple layout is digested
 * as the dataset it is stored as. */
typedef struct tra_digest {
    uint64_t lo, hi;
} tra_digest;
/* Adds arrays: what is common to the tuples of a type is found out once (for a list, by a walk over its tuples). The
 * type's catalog must outlive it. add is thread-safe on distinct d. */
typedef struct tra_digester tra_digester;
tra_digester *tra_digester_new(const tra_type *type);
void tra_digester_add(const tra_digester *w, tra_digest *d, int64_t ordinal, const void *data);
void tra_digester_free(tra_digester *w);
/* The same for one array alone; of many, slow for lists. */
void tra_digest_array(tra_digest *d, const tra_type *type, int64_t ordinal, const void *data);
/* One element of a tensor, at this row-major index. */
void tra_digest_element(tra_digest *d, tra_dtype type, const void *element, uint64_t index);
void tra_digest_add(tra_digest *d, const tra_digest *part);
/* Mixes in shape and type; 32 hexadecimal digits and NUL. */
void tra_digest_text(const tra_digest *d, const tra_type *type, char text[33]);

/* The dataset that a type is stored as (man tra-relation.5): extents and chunk, key dimensions that block nothing
 * first. *tuple tells the layout. */
void tra_store_layout(const tra_type *t, tra_dims *dims, tra_dims *chunk, bool *tuple);
int64_t tra_store_chunk_bytes(const tra_type *t); /* of one chunk of it, not encoded */

#endif
