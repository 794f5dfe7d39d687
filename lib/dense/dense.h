/* dense.h - relations whose arrays are the chunks of a dataset: what callers may do with these chunks themselves, and
 * relations in no file. */
#ifndef TRA_DENSE_H
#define TRA_DENSE_H

#include "../h5/h5.h"

/* The spec of a relation that is in no file: its elements are made whenever they are read. In the arena. shape and
 * block have the same rank. tra_rel_positions: the tensor 0, 1, ..., extent - 1 of i64. */
struct gen_values;
const char *tra_rel_made(tra_arena *a, const struct gen_values *v, int64_t seed, tra_dtype t, const tra_dims *shape,
                         const tra_dims *block);
const char *tra_rel_positions(tra_arena *a, int64_t extent, int64_t block);
bool tra_rel_is_made(const char *spec);
/* Bytes that the buffer of tra_rel_read must have at least, whatever the tuple: those of a chunk where it is decoded in
 * the buffer, 0 elsewhere. */
size_t tra_rel_unpack_bytes(const tra_rel *r);
/* Can the array be read past the page cache? Only when the relation has been read from before, and the chunk is stored
 * as it is, is large, begins at a whole page, and is not in the page cache. Then read_direct, into a buffer aligned to
 * 4096 bytes, takes next to no processor time, but the full time of the disk. */
bool tra_rel_can_read_direct(const tra_rel *r, int64_t ordinal);
TRA_MUSTUSE tra_status tra_rel_read_direct(tra_rel *r, int64_t ordinal, void *buf, tra_err *e);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Codec none. pad makes a chunk of an array (clipped, row-major, contiguous) in place, in a buffer that has room for a
 * chunk, and records its checksum; store writes a chunk, past the page cache where address and memory are aligned to
 * 4096 and it is large. Thread-safe. */
void tra_writer_pad(tra_writer *w, int64_t ordinal, void *data);
TRA_MUSTUSE tra_status tra_writer_store(tra_writer *w, int64_t ordinal, const void *chunk, tra_err *e);
/* Bytes of scratch of tra_writer_encode. */
int64_t tra_codec_scratch(const tra_type *t);
/* Codec zstd: encode (thread-safe), then allocate (one at a time, in an order that does not depend on timing, since it
 * decides the bytes of the file), then write_at. tra_writer_put does all three when one process owns the writer; its
 * callers keep the order. encode takes an array in a buffer that has room for a chunk (tra_store_chunk_bytes) and
 * overwrites it. put receives what is encoded: len bytes for position `at`, in order, and from position 0 again when
 * the chunk turns out not to shrink, never beyond the room of a chunk. scratch: tra_codec_scratch bytes. */
TRA_MUSTUSE tra_status tra_writer_encode(const tra_writer *w, int64_t ordinal, void *data, void *scratch,
                                         tra_encoded_fn *put, void *ctx, tra_encoded *enc, tra_err *e);
/* Allocates and indexes an encoded chunk without writing it. *addr: where tra_writer_write_at is to put its bytes. */
TRA_MUSTUSE tra_status tra_writer_allocate(tra_writer *w, int64_t ordinal, const tra_encoded *enc, int64_t *addr,
                                           tra_err *e);

int64_t tra_writer_address(const tra_writer *w, int64_t ordinal); /* codec none: address of its chunk in the file */

#endif
