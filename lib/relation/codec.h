/* codec.h - what happens to a chunk between memory and file: byte shuffle and zstd, as HDF5's filters do it.
 *
 * Our pipeline is always shuffle, zstd; which of the two a chunk really went through its filter mask tells (bit i set:
 * filter i skipped). The choice is made for each chunk from its own bytes alone, so that it depends neither on the
 * order of writing nor on the number of ranks: full-entropy and smooth numbers gain by shuffle, sparse and decimal
 * ones lose by it, and a chunk that hardly shrinks is stored as it is. At level 1, planes in which a search finds next
 * to nothing are not searched: their frames are decoded at twice the speed, by any reader.
 */
#ifndef TRA_CODEC_H
#define TRA_CODEC_H

#include "store.h"

/* Positions of the filters in a dataset's pipeline; -1: absent. */
typedef struct tra_pipeline {
    int shuffle, zstd;
} tra_pipeline;
#define TRA_PIPELINE_NONE ((tra_pipeline){-1, -1})

/* Encodes the n bytes of a chunk of elements of the given size for our pipeline: put gets it piece by piece, in order,
 * and from 0 anew when it turns out not to shrink. scratch: tra_encode_room bytes. chunk is lost. Sets len, mask and
 * sum. Errors: put's; TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_chunk_encode(void *chunk, size_t n, size_t size, int level, void *scratch,
                                        tra_encoded_fn *put, void *ctx, tra_encoded *enc, tra_err *e);
size_t tra_encode_room(size_t n, size_t size);

/* The zstd part of the reverse: the stored bytes, as they come, to the n bytes of a chunk in dst. By one thread from
 * begin to end, of one chunk at a time. The end returns NULL, or why the bytes are damaged; or, where `starved` is set,
 * why they could not be decoded. */
typedef struct tra_inflate {
    void *dst;
    size_t n, done;
    bool open;    /* a frame is not at its end */
    bool starved; /* of memory */
    const char *why;
} tra_inflate;
void tra_inflate_begin(tra_inflate *x, void *dst, size_t n);
void tra_inflate_more(tra_inflate *x, const void *src, size_t len);
const char *tra_inflate_end(tra_inflate *x);
/* HDF5's shuffle of n elements, where they are: byte b of element i goes to b * n + i; and undone, the other part of
 * the reverse. scratch: tra_shuffle_room bytes. */
void tra_chunk_shuffle(void *chunk, size_t n, size_t size, void *scratch);
void tra_chunk_unshuffle(void *chunk, size_t n, size_t size, void *scratch);
size_t tra_shuffle_room(size_t n, size_t size);

/* Bytes that are no chunk, as one frame of zstd, fast: at most tra_frame_bound bytes, whose number is returned; 0 when
 * there is no memory for it. And back: false unless it is a frame of n bytes. */
size_t tra_frame_bound(size_t n);
size_t tra_frame_encode(void *to, size_t room, const void *bytes, size_t n);
bool tra_frame_decode(void *to, size_t n, const void *frame, size_t len);

uint64_t tra_chunk_sum(const void *p, size_t n); /* XXH64; never 0, which means "none" in tables (0 becomes 1) */
static inline uint64_t tra_chunk_sum_end(uint64_t xxh64) { return xxh64 ? xxh64 : 1; } /* the same of a sum at hand */

#endif
