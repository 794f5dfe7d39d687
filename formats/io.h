/* io.h - what the formats share: buffered input and output, numbers as text, element types of other programs, boxes. */
#ifndef TRA_IO_H
#define TRA_IO_H

#include "../lib/durable/durable.h"
#include "../lib/model/cell.h"
#include "../lib/relation/store.h"

/* ---- input --------------------------------------------------------------------------------------------------- */

/* A file or stream that is read forward through a buffer. Between calls buf[pos..len) has been read from the file and
 * not yet been taken. A place in it is a number of bytes from base, after decompression. */
typedef struct tra_stream {
    int fd; /* -1: none */
    bool owned;
    bool seekable;      /* it is a regular file, so that tra_pread on fd works too */
    int64_t base, size; /* seekable: where the data begins in the file, of which a shell may have read something before;
                           bytes from there to the end */
    const char *name;
    unsigned char *buf;
    size_t pos, len, cap;
    bool eof;
    int64_t offset;            /* the place of buf[0] */
    struct tra_unpack *unpack; /* NULL, or what decompresses the file: buf has the result */
} tra_stream;

/* Opens a file, or standard input for "-", with a buffer of cap bytes, at least 8192. path must outlive it. */
TRA_MUSTUSE tra_status tra_stream_open(const char *path, size_t cap, tra_stream *in, tra_err *e);
void tra_stream_close(tra_stream *in); /* also one that was never opened: {.fd = -1} */
/* Brings at least `want` bytes (at most cap) into the buffer, unless the stream ends before, and sets *have to how many
 * are there. */
TRA_MUSTUSE tra_status tra_stream_need(tra_stream *in, size_t want, size_t *have, tra_err *e);
/* Makes the buffer larger: cap bytes. */
void tra_stream_grow(tra_stream *in, size_t cap);
/* Takes exactly n bytes. TRA_INPUT when the stream ends before that. */
TRA_MUSTUSE tra_status tra_stream_take(tra_stream *in, void *to, size_t n, tra_err *e);
/* Advice for messages about text in which a carriage return is not followed by a line feed: it would hide lines. */
#define TRA_LONE_RETURNS " (lines end in a carriage return alone: tr '\\r' '\\n' <FILE turns them into lines)"

/* Takes one line; *line[0..*n) is without its end (LF or CRLF), and valid until the next call; *line is NULL at the end
 * of the stream. TRA_INPUT when it is longer than 4096 bytes: the message names it by `number`. */
TRA_MUSTUSE tra_status tra_stream_line(tra_stream *in, int64_t number, const char **line, size_t *n, tra_err *e);
/* Takes as much as is there, at most n bytes and at least one; *got is 0 only at the end of the stream. */
TRA_MUSTUSE tra_status tra_stream_take_some(tra_stream *in, void *to, size_t n, size_t *got, tra_err *e);
/* Do these first bytes begin a file that gzip or zstd compressed? */
bool tra_is_compressed(const unsigned char *head, size_t n);
/* Makes the stream of a compressed file the stream of what it was compressed from; to be called before anything is
 * taken. *held: bytes that decompressing keeps, among them the window of zstd. TRA_RESOURCE when that is more than
 * `memory` and more than 32 MiB. */
TRA_MUSTUSE tra_status tra_stream_unpack(tra_stream *in, int64_t memory, int64_t *held, tra_err *e);
/* Can the stream go back to a place? Those of files can. tra_stream_rewind does so; a compressed file is decompressed
 * from its beginning again, up to that place. */
bool tra_stream_can_rewind(const tra_stream *in);
TRA_MUSTUSE tra_status tra_stream_rewind(tra_stream *in, int64_t to, tra_err *e);
/* Makes the stream that of another open file, from its beginning; it owns fd then. */
void tra_stream_replace(tra_stream *in, int fd);
/* Goes to a place of a seekable stream. */
void tra_stream_seek(tra_stream *in, int64_t to);
/* The place of the next byte that will be taken. */
static inline int64_t tra_stream_position(const tra_stream *in) { return in->offset + (int64_t)in->pos; }

/* ---- output -------------------------------------------------------------------------------------------------- */

/* A file that appears when it is complete, or a stream ("-", a device, a pipe) that is written to directly. */
typedef struct tra_newfile {
    int fd;
    const char *name; /* for messages */
    tra_temp made;    /* the temporary file; its path is NULL for a stream */
    char *buf;
    size_t len, cap;
    int64_t bytes; /* written so far, those in buf included */
    bool closed;   /* the reader of the pipe has gone away */
} tra_newfile;

/* Opens an output with a buffer of cap bytes, at least 4096. path must outlive it. TRA_USAGE when it is binary and
 * would go to a terminal. */
TRA_MUSTUSE tra_status tra_newfile_open(const char *path, bool binary, size_t cap, tra_newfile *out, tra_err *e);
TRA_MUSTUSE tra_status tra_newfile_write(tra_newfile *out, const void *p, size_t n, tra_err *e);
/* Makes room for n (at most 4096) bytes at out->buf + out->len, for callers who format in place and then add to
 * out->len and out->bytes themselves. */
TRA_MUSTUSE tra_status tra_newfile_room(tra_newfile *out, size_t n, tra_err *e);
/* Writes what is left, syncs and renames the file. Frees everything, also on failure; bytes and closed stay. */
TRA_MUSTUSE tra_status tra_newfile_commit(tra_newfile *out, tra_err *e);
/* Removes the file that is not complete, and frees everything. */
void tra_newfile_abort(tra_newfile *out);

/* ---- numbers as text ----------------------------------------------------------------------------------------- */

enum { TRA_NUMTEXT = 32 }; /* no number takes more bytes as text */

/* Reads all of s[0..n) as a number: decimal, or "inf" or "nan" with an optional sign; correctly rounded. s[n] must be
 * readable. False for anything else, hexadecimal numbers included. */
bool tra_scan_num(const char *s, size_t n, double *v);
/* Reads all of s[0..n) as decimal digits with an optional sign. */
bool tra_scan_int(const char *s, size_t n, int64_t *v);
/* Reads all of s[0..n) as a whole number, exactly; it may have a point and an exponent, as "3.0" and "1e3" have. */
bool tra_scan_whole(const char *s, size_t n, int64_t *v);
/* Is the text, which was read as v, a whole number of digits alone that a float of type t does not hold exactly? */
bool tra_rounds_whole(tra_dtype t, const char *s, size_t n, double v);
/* Counts such a one, and one that became infinite though its text is of a finite number. */
void tra_count_losses(tra_dtype t, const char *s, size_t n, double v, int64_t *inexact, int64_t *overflow);
/* A number that was read from text: `real` where the relation's type is a float, else `whole`. */
typedef union tra_number {
    double real;
    int64_t whole;
} tra_number;
/* Reads all of s[0..n) as a value of type t. False: it is no number, or one that the integer type t does not hold. A
 * number that is too large for f32 becomes infinite when it is put. */
bool tra_scan_value(tra_dtype t, const char *s, size_t n, tra_number *v);
/* Puts v as element i of data, whose type is t. True if that made a finite number infinite. */
bool tra_put_value(tra_dtype t, void *data, int64_t i, tra_number v);
/* Element i of data, and whether it is zero. */
tra_number tra_number_of(tra_dtype t, const void *data, int64_t i);
bool tra_value_is_zero(tra_dtype t, const void *data, int64_t i);
/* Write element i as text that reads back as the same value, with as few digits as do (f64: 15 to 17, f32: 6 to 9), and
 * return the length. There is no zero byte behind it. */
size_t tra_print_value(tra_dtype t, const void *data, int64_t i, char *to);

/* s[0..n) as messages show it: at most 40 bytes and then "...", and '?' for what cannot be printed. Returns buf. */
enum { TRA_SHOWN = 48 };
const char *tra_shown(const char *s, size_t n, char buf[TRA_SHOWN]);

/* ---- elements ------------------------------------------------------------------------------------------------ */

/* Element types of files of other programs: name, text, C type, kind of number. The types of relations are among them,
 * by the same names. */
#define TRA_ELEMS(X)                                                                                                   \
    X(F64, "f64", double, FLOAT)                                                                                       \
    X(F32, "f32", float, FLOAT)                                                                                        \
    X(F16, "f16", uint16_t, HALF)                                                                                      \
    X(F80, "f80", long double, FLOAT)                                                                                  \
    X(I8, "i8", int8_t, INT)                                                                                           \
    X(I16, "i16", int16_t, INT)                                                                                        \
    X(I32, "i32", int32_t, INT)                                                                                        \
    X(I64, "i64", int64_t, INT)                                                                                        \
    X(U8, "u8", uint8_t, INT)                                                                                          \
    X(U16, "u16", uint16_t, INT)                                                                                       \
    X(U32, "u32", uint32_t, INT)                                                                                       \
    X(U64, "u64", uint64_t, INT)                                                                                       \
    X(BOOL, "bool", uint8_t, BOOL)
typedef enum tra_elem {
#define X(name, ...) TRA_ELEM_##name,
    TRA_ELEMS(X)
#undef X
} tra_elem;
size_t tra_elem_size(tra_elem k);
const char *tra_elem_name(tra_elem k);
bool tra_elem_parse(const char *s, tra_elem *k);
/* The narrowest type of relations that holds its values, but that f80 is rounded to f64, and u64 becomes i64, which
 * does not hold all of its values. */
tra_dtype tra_elem_dtype(tra_elem k);
tra_elem tra_elem_of(tra_dtype t); /* the type of the same name */

typedef struct tra_losses {
    int64_t inexact, overflow; /* as in tra_source */
} tra_losses;
/* Converts n elements. swap: the source has the other byte order (its bytes are reversed in place). from and to may not
 * overlap, except that they may be the same address when both types have one size. An integer that a float does not
 * hold is rounded, and counted in loss. An integer type or bool takes only values that it holds: the result is the
 * index of the first element that does not fit, with which the conversion stops, or -1. */
TRA_MUSTUSE int64_t tra_elem_convert(tra_elem k, bool swap, void *from, tra_dtype t, void *to, int64_t n,
                                     tra_losses *loss);
/* The error of such an element: TRA_INPUT, with its coordinates in the tensor and its value, which is at p in this
 * machine's byte order. */
tra_status tra_elem_refuse(const char *spec, const tra_dims *place, tra_elem k, const void *p, tra_dtype t, tra_err *e);

/* A flat array of elements in a file: the data of an npy file, all of a raw file, or a scratch file. */
typedef struct tra_flat {
    tra_elem elem;
    bool swap;      /* elements have the other byte order */
    int64_t offset; /* of the first element, in bytes from the input's base */
    tra_dims dims;  /* extents in storage coordinates */
    bool fortran;   /* these are the tensor's coordinates reversed */
    int64_t left;   /* streams: elements not yet delivered */
    size_t cap;
    unsigned char *staging; /* cap bytes from the arena, in which elements wait to be converted */
} tra_flat;
/* Allocates the staging, and sets left to all elements. memory: bytes that the whole job has for buffers. */
void tra_flat_init(tra_flat *f, tra_arena *a, int64_t memory);
/* The functions box and next of formats.h, with elements converted to type t; `name` is for messages, and base is where
 * the data of the input begins in the file fd. */
TRA_MUSTUSE tra_status tra_flat_box(tra_flat *f, int fd, int64_t base, const char *name, const tra_dims *start,
                                    const tra_dims *count, tra_dtype t, void *buf, tra_losses *loss, tra_err *e);

/* ---- boxes --------------------------------------------------------------------------------------------------- */

tra_dims tra_reversed(const tra_dims *d);

/* A relation in tensor layout, read as the one tensor that it is stored as. Its dimensions are first the key dimensions
 * that cut no dimension of the arrays, then those of the arrays. */
typedef struct tra_view {
    tra_rel *rel;
    tra_dims shape, chunk;             /* extents of the tensor, and of a full chunk of it */
    int key[TRA_MAXDIM];               /* the key dimension that numbers the chunks along a dimension, or -1 */
    size_t array_bytes, scratch_bytes; /* bytes that reading needs: for one chunk's array, and to decode it */
    void *array, *scratch;
    void *own[2]; /* those of these two that are from malloc */
    int64_t held; /* ordinal of the chunk that is in array, or -1 */
} tra_view;
/* Opens rel, which stays the caller's and must outlive the view. TRA_INPUT when the relation has tuple layout: the
 * message says why, and what to do. */
TRA_MUSTUSE tra_status tra_view_open(tra_view *v, tra_rel *rel, const char *spec, tra_err *e);
/* To be called before anything is read. Lends the view memory of array_bytes and of scratch_bytes; NULL: it allocates
 * its own. Views that are not read at the same time may share a scratch. */
void tra_view_room(tra_view *v, void *array, void *scratch);
void tra_view_close(tra_view *v);
/* Are the relation's blocks entries? Then tra_view_box and tra_view_cell can read it, and tra_view_chunk cannot. */
bool tra_view_sparse(const tra_view *v);
/* Reads the block of an ordinal, unless it is there; then tra_view_cell is that block as a cell. */
TRA_MUSTUSE tra_status tra_view_load(tra_view *v, int64_t ordinal, tra_err *e);
tra_cell tra_view_cell(const tra_view *v);
/* The coordinates in the tensor at which the block of an ordinal begins. */
void tra_view_offset(const tra_view *v, int64_t ordinal, tra_dims *offset);
/* Brings the chunk of these chunk coordinates to v->array, unless it is there, and tells its extents. A chunk that the
 * relation does not have (a hole) is zeros. */
TRA_MUSTUSE tra_status tra_view_chunk(tra_view *v, const tra_dims *at, tra_dims *ext, tra_err *e);
/* Copies a box into buf, whose dimensions have the given strides in elements. Holes become zeros. */
TRA_MUSTUSE tra_status tra_view_box(tra_view *v, const tra_dims *start, const tra_dims *count, void *buf,
                                    const int64_t *stride, tra_err *e);

/* ---- scratch ------------------------------------------------------------------------------------------------- */

/* Opens a file without a name in TRA_SCRATCH, else TMPDIR, else the directory of the output. *where is that directory,
 * for messages; the caller frees it. TRA_RESOURCE where no file can be made. */
TRA_MUSTUSE tra_status tra_scratch_open(const char *output, int *fd, char **where, tra_err *e);

#endif
