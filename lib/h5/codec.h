/* codec.h - what happens to a chunk between memory and file: byte shuffle and zstd, as HDF5's filters do it.
 *
 * Our pipeline is always shuffle, then zstd. Which of the two a chunk really went through is told by its filter mask
 * (bit i set: filter i was skipped). That is decided for each chunk from its own bytes alone, so that the bytes of a
 * file depend neither on the order of writing nor on the number of ranks. Shuffling helps random and smoothly varying
 * numbers and hurts sparse ones and short decimals; a chunk that hardly shrinks is stored as it is. At level 1, byte
 * planes in which a search for repetitions would find next to nothing are not searched: any reader decodes such frames
 * at twice the speed.
 */
#ifndef TRA_CODEC_H
#define TRA_CODEC_H

#include "h5.h"

/* Positions of the filters in a dataset's pipeline; -1: absent. */
typedef struct tra_pipeline {
    int shuffle, zstd;
} tra_pipeline;
#define TRA_PIPELINE_NONE ((tra_pipeline){-1, -1})

/* Encodes the n bytes of a chunk of elements of `size` bytes for our pipeline. put gets the result piece by piece, in
 * order, and from position 0 again when it turns out not to shrink. chunk is overwritten; scratch has tra_encode_room
 * bytes. Sets len, mask and sum of enc. Errors: put's; TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_chunk_encode(void *chunk, size_t n, size_t size, int level, void *scratch,
                                        tra_encoded_fn *put, void *ctx, tra_encoded *enc, tra_err *e);
size_t tra_encode_room(size_t n, size_t size);

/* Decoding, first the zstd part: the stored bytes come in pieces (more) and become the n bytes of a chunk in dst. One
 * thread does all of it from begin to end, one chunk at a time. end returns NULL, or why the bytes are damaged, or,
 * where `starved` is set, why they could not be decoded. */
typedef struct tra_inflate {
    void *dst;
    size_t n, done;
    bool open;    /* the frame has not ended yet */
    bool starved; /* of memory */
    const char *why;
} tra_inflate;
void tra_inflate_begin(tra_inflate *x, void *dst, size_t n);
void tra_inflate_more(tra_inflate *x, const void *src, size_t len);
const char *tra_inflate_end(tra_inflate *x);
/* HDF5's shuffle of n elements, in place: byte b of element i goes to place b * n + i; and its reverse, the second part
 * of decoding. scratch has tra_shuffle_room bytes. */
void tra_chunk_shuffle(void *chunk, size_t n, size_t size, void *scratch);
void tra_chunk_unshuffle(void *chunk, size_t n, size_t size, void *scratch);
size_t tra_shuffle_room(size_t n, size_t size);

/* Other bytes as one frame of zstd, at its fastest level. encode returns the length of the frame, at most
 * tra_frame_bound(n); 0: out of memory. decode returns false unless it is a frame of just n bytes. */
size_t tra_frame_bound(size_t n);
size_t tra_frame_encode(void *to, size_t room, const void *bytes, size_t n);
bool tra_frame_decode(void *to, size_t n, const void *frame, size_t len);

uint64_t tra_chunk_sum(const void *p, size_t n); /* XXH64; never 0, which means "none" in tables (0 becomes 1) */
static inline uint64_t tra_chunk_sum_end(uint64_t xxh64) { return xxh64 ? xxh64 : 1; } /* from the XXH64 */

#endif
