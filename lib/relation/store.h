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

#include "../dense/dense.h"
#include "../model/digest.h"

/* ---- reading ------------------------------------------------------------------------------------------------ */

/* Splits "file.h5:name" at the first "::", else at the last ':', unless a file has all of it as its name. name is NULL
 * when there is none. Both are in the arena. */
void tra_relspec(tra_arena *a, const char *spec, const char **path, const char **name);
/* Bytes of the prefix "raw:" of a spec, which asks for the numbers as they are stored; 0: it has none, or a file of
 * that name is there. */
size_t tra_relspec_raw(const char *spec);

/* The relations that a file holds (at most 65536), in alphabetical order, in the arena. TRA_INPUT. */
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
const tra_type *tra_rel_type(const tra_rel *r);
/* Does the file hold u64? Then elements are from now on read as they are, as u64 although the type says i64. */
bool tra_rel_keep_u64(tra_rel *r);

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

/* Bytes of scratch that each concurrent tra_rel_read needs; may be 0. */
size_t tra_rel_scratch_bytes(const tra_rel *r);
/* Bytes of a buffer that are enough for any tuple. */
size_t tra_rel_buffer_bytes(const tra_rel *r);
/* Reads the array of a tuple into buf: clipped, row-major, contiguous, in the relation's dtype; of a relation with a
 * layout, its block. Verifies the checksum, if there is one, when a tuple is read for the first time. Thread-safe, with
 * scratch of one's own. Errors: TRA_INPUT, naming file, dataset and key ("chunk <1,2> of a.h5:data is damaged"). */
TRA_MUSTUSE tra_status tra_rel_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);

/* Checks what no read looks at: of a relation stored by levels the keys as other programs see them, the zeros with
 * which pointers begin, and the counts of columns; of a table its statistics; labels. TRA_INPUT, with what is
 * damaged. */
TRA_MUSTUSE tra_status tra_rel_check(tra_rel *r, tra_err *e);

/* ---- writing ------------------------------------------------------------------------------------------------ */

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
/* Writes the array or block of a tuple, whatever the codec; data are not changed. Thread-safe for codec none. */
TRA_MUSTUSE tra_status tra_writer_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);

/* Several processes: the creator describes itself in a blob (describe); the others attach to it, and may then encode,
 * put (codec none) and write_at. Before the commit the creator needs the checksums that the others recorded: sums has
 * nsums entries, one or more for each tuple, 0 where this process did not write it, so that the arrays of all processes
 * can be added up. */
void tra_writer_describe(const tra_writer *w, tra_str *blob);
TRA_MUSTUSE tra_status tra_writer_attach(const void *blob, size_t n, const tra_type *type, tra_writer **out,
                                         tra_err *e);
uint64_t *tra_writer_sums(tra_writer *w);
int64_t tra_writer_nsums(const tra_writer *w);
int tra_writer_fd(const tra_writer *w);                            /* open for reading and writing */
bool tra_writer_reused(const tra_writer *w);                       /* creator: an earlier temporary file is continued */
int64_t tra_writer_stored(const tra_writer *w);                    /* creator: bytes of all chunks allocated so far */
TRA_MUSTUSE tra_status tra_writer_sync(tra_writer *w, tra_err *e); /* fsync, by attached processes */

/* Writes attributes and tables, closes, syncs, renames, syncs the directory. By the creator only. digest may be NULL.
 * Frees w, also on failure (then the temporary file is removed, unless it has a tag). Relations that one process writes
 * to one target at the same time are in one new file, which appears with the commit of the last of them, or not at all
 * when one of them is aborted. */
TRA_MUSTUSE tra_status tra_writer_commit(tra_writer *w, const char *digest, tra_err *e);
/* The same for n writers whose relations appear together (tra_temps_commit): each file is renamed once, with all of its
 * relations. note may be NULL; then there is no record if there is only one file. keep: temporary files with a tag stay
 * after a failure; without it only where the renames had begun. */
TRA_MUSTUSE tra_status tra_writers_commit(tra_writer *const *w, const char *const *digests, int n,
                                          const tra_commit_note *note, bool keep, tra_err *e);
void tra_writer_abort(tra_writer *w); /* frees; the creator removes the temporary file */
void tra_writer_leave(tra_writer *w); /* the same, but a temporary file with a tag stays for a later process */

#endif
