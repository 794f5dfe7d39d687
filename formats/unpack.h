/* unpack.h - streams that are compressed by gzip or zstd, for input.c. */
#ifndef TRA_UNPACK_H
#define TRA_UNPACK_H

#include "io.h"

typedef struct tra_unpack tra_unpack;

/* Begins anew at the beginning of the file. */
TRA_MUSTUSE tra_status tra_unpack_rewind(tra_unpack *u, tra_stream *in, tra_err *e);
bool tra_unpack_can_rewind(const tra_unpack *u); /* can it? */
/* Up to n bytes of what it unpacks to; 0 at the end. TRA_INPUT when that is damaged or cut off. */
TRA_MUSTUSE tra_status tra_unpack_some(tra_unpack *u, tra_stream *in, void *to, size_t n, size_t *got, tra_err *e);
void tra_unpack_free(tra_unpack *u); /* NULL allowed */

/* A part of a file as a stream: its first byte, its bytes in the file, whether they are deflated (RFC 1951), and what
 * they unpack to: bytes and their CRC32, which are checked at the end. */
typedef struct tra_file_part {
    int64_t at, packed, size;
    bool deflated;
    uint32_t crc;
} tra_file_part;
TRA_MUSTUSE tra_status tra_stream_part(int fd, const tra_file_part *part, const char *name, size_t cap, tra_stream *in,
                                       tra_err *e);

#endif
