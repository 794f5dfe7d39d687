/* segment.h - a file by which one site hands arrays to another: records of bytes, checksummed, compressed where that
 * pays.
 *
 * A record is cut in pieces of at most tra_tune.segment_piece bytes; before each stands a head with the bytes of the
 * record from there on, its length, its length as stored and the XXH64 of these and of the stored bytes. A record of no
 * bytes has a head too. Made by one site, then read once by another.
 */
#ifndef TRA_SEGMENT_H
#define TRA_SEGMENT_H

#include "../base/base.h"

typedef struct tra_segment {
    int fd; /* -1: none */
    char *path;
    int64_t at;  /* bytes written or read so far */
    int64_t raw; /* bytes of records so far */
    char *buf;   /* head and stored bytes of a piece */
    int untried; /* pieces that will not be compressed */
} tra_segment;

size_t tra_segment_room(void); /* bytes of buf, which segments that are used by one thread may share */

/* A new file. An existing one is an error. buf is the caller's, and lives longer. */
TRA_MUSTUSE tra_status tra_segment_create(tra_segment *s, const char *path, char *buf, tra_err *e);
TRA_MUSTUSE tra_status tra_segment_add(tra_segment *s, const void *data, int64_t bytes, tra_err *e);
/* Closes what was written, so that other machines see it. The file is removed when that fails. */
TRA_MUSTUSE tra_status tra_segment_finish(tra_segment *s, tra_err *e);

TRA_MUSTUSE tra_status tra_segment_open(tra_segment *s, const char *path, char *buf, tra_err *e);
/* Bytes of the next record, as its head says: whoever reads it knows whether that may be. */
TRA_MUSTUSE tra_status tra_segment_length(tra_segment *s, int64_t *bytes, tra_err *e);
/* The next record, of so many bytes. Another length, a wrong checksum or an early end is TRA_INPUT naming the file. */
TRA_MUSTUSE tra_status tra_segment_next(tra_segment *s, void *data, int64_t bytes, tra_err *e);
/* Closes and removes the file, whether it was written or read. Does nothing when there is none. */
void tra_segment_drop(tra_segment *s);

#endif
