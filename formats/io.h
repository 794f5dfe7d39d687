/* io.h - what the formats share: buffered input and output, numbers as text, element types of other programs, boxes. */
#ifndef TRA_IO_H
#define TRA_IO_H

#include "../lib/base/newfile.h"
#include "../lib/relation/cell.h"
#include "../lib/relation/store.h"

/* ---- input --------------------------------------------------------------------------------------------------- */

/* A file or stream that is read forward through a buffer. Between calls buf[pos..len) is what has been read and not
 * taken. */
typedef struct tra_stream {
    int fd; /* -1: none */
    bool owned;
    bool seekable;      /* a regular file: tra_pread on fd works too */
    int64_t base, size; /* seekable: where the data begins in the file (a redirected file may have been read before),
                           bytes from there */
    const char *name;
    unsigned char *buf;
    size_t pos, len, cap;
    bool eof;
    int64_t offset;            /* bytes from base to buf[0] */
    struct tra_unpack *unpack; /* of a compressed file: what is read goes through it */
} tra_stream;

/* "-" is standard input. cap: bytes of buffer, at least 8192. */
TRA_MUSTUSE tra_status tra_stream_open(const char *path, size_t cap, tra_stream *in, tra_err *e);
void tra_stream_close(tra_stream *in);
/* Makes at least want (<= cap) bytes available unless the stream ends before; says how many are. */
TRA_MUSTUSE tra_status tra_stream_need(tra_stream *in, size_t want, size_t *have, tra_err *e);
/* Takes exactly n bytes. TRA_INPUT when the stream ends before. */
TRA_MUSTUSE tra_status tra_stream_take(tra_stream *in, void *to, size_t n, tra_err *e);
/* Advice about text in which a carriage return stands elsewhere than before a line feed: lines would get lost. */
#define TRA_LONE_RETURNS " (lines end in a carriage return alone: tr '\\r' '\\n' <FILE turns them into lines)"

/* One line without its end (LF or CRLF), valid until the next call; *line is NULL at the end of the stream. TRA_INPUT
 * naming `number`, the line's, when it is longer than 4096 bytes. */
TRA_MUSTUSE tra_status tra_stream_line(tra_stream *in, int64_t number, const char **line, size_t *n, tra_err *e);
/* What is there of up to n bytes, at least one; 0 at the end. */
TRA_MUSTUSE tra_status tra_stream_some(tra_stream *in, void *to, size_t n, size_t *got, tra_err *e);
/* What follows from the beginning is compressed by gzip or zstd, by its first bytes: from now on the stream is what it
 * unpacks to. Before anything is taken. *held: bytes that it takes. */
bool tra_packed(const unsigned char *head, size_t n);
TRA_MUSTUSE tra_status tra_stream_unpack(tra_stream *in, int64_t *held, tra_err *e);
/* Can it come back here later? Files can, compressed ones too. tra_stream_return goes to a place so told; unpacks anew
 * what was before it. */
bool tra_stream_returns(const tra_stream *in);
TRA_MUSTUSE tra_status tra_stream_return(tra_stream *in, int64_t to, tra_err *e);
/* From now on it reads this file, which it takes over, from its beginning. */
void tra_stream_instead(tra_stream *in, int fd);
/* Goes to a place, as tra_stream_told said it. Seekable inputs only. */
void tra_stream_seek(tra_stream *in, int64_t to);
static inline int64_t tra_stream_told(const tra_stream *in) { return in->offset + (int64_t)in->pos; }

/* ---- output -------------------------------------------------------------------------------------------------- */

/* A file that appears when it is complete, or a stream ("-", a device, a pipe) that is written to directly. */
typedef struct tra_newfile {
    int fd;
    const char *name;
    tra_temp made; /* path NULL: a stream */
    char *buf;
    size_t len, cap;
    int64_t bytes;
    bool closed; /* the reader of the pipe has gone */
} tra_newfile;

/* binary: refused on a terminal (TRA_USAGE). cap: bytes of buffer, at least 4096. */
TRA_MUSTUSE tra_status tra_newfile_open(const char *path, bool binary, size_t cap, tra_newfile *out, tra_err *e);
TRA_MUSTUSE tra_status tra_newfile_write(tra_newfile *out, const void *p, size_t n, tra_err *e);
/* Room for n (<= 4096) bytes at out->buf + out->len, for those who format in place. */
TRA_MUSTUSE tra_status tra_newfile_room(tra_newfile *out, size_t n, tra_err *e);
/* Writes what is left, syncs, renames. Frees also on failure. */
TRA_MUSTUSE tra_status tra_newfile_commit(tra_newfile *out, tra_err *e);
void tra_newfile_abort(tra_newfile *out);

/* ---- numbers as text ----------------------------------------------------------------------------------------- */

enum { TRA_NUMTEXT = 32 }; /* bytes that any number takes */

/* The whole of s[0..n) as a number: decimal, "inf", "nan" with an optional sign. Correctly rounded. s[n] must be
 * readable. False on junk, hexadecimal included. */
bool tra_scan_num(const char *s, size_t n, double *v);
/* m * 10^exponent, or less than 0, correctly rounded; false where that takes the C library's way. */
bool tra_decimal_num(bool negative, uint64_t m, int exponent, double *v);
bool tra_scan_int(const char *s, size_t n, int64_t *v);
/* The whole of s[0..n) as a whole number, exactly; it may have a point and an exponent, as in "3.0" and "1e3". */
bool tra_scan_whole(const char *s, size_t n, int64_t *v);
/* A number that was read as text: whole where the relation's type is no float. */
typedef union tra_number {
    double real;
    int64_t whole;
} tra_number;
/* False: it is no number, or none that t holds. A number that is too large for f32 is infinite in it. */
bool tra_scan_value(tra_dtype t, const char *s, size_t n, tra_number *v);
/* It as the element i; whether that made a finite number infinite. */
bool tra_put_value(tra_dtype t, void *data, int64_t i, tra_number v);
tra_number tra_number_of(tra_dtype t, const void *data, int64_t i);
bool tra_value_is_zero(tra_dtype t, const void *data, int64_t i);
/* Writes the element i so that it reads back as the same; the length. */
size_t tra_print_value(tra_dtype t, const void *data, int64_t i, char *to);
/* Writes the value with as few digits (15 to 17; f32: 6 to 9) as read back to the same value; the length. */
size_t tra_print_f64(char *to, double v);
size_t tra_print_f32(char *to, float v);

/* The text of a message for s[0..n): at most 40 bytes, what cannot be printed as '?', "..." when cut. */
enum { TRA_SHOWN = 48 };
const char *tra_shown(const char *s, size_t n, char buf[TRA_SHOWN]);

/* ---- elements ------------------------------------------------------------------------------------------------ */

/* Element types that flat files hold: name, C type, kind of number. They have those of relations by the same names. */
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
/* The narrowest type of relations that holds its values: f80 is rounded, and of u64 those above i64 do not fit. */
tra_dtype tra_elem_dtype(tra_elem k);
tra_elem tra_elem_of(tra_dtype t);

typedef struct tra_losses {
    int64_t inexact, overflow; /* as in tra_source */
} tra_losses;
/* Converts n elements. swap: the source is of the other byte order (its bytes are turned in place). from and to may not
 * overlap, except that both may be the same place when the types have one size. To a float integers are rounded and
 * counted; to an integer type or bool values go as they are or not at all: returns the index of the first that t does
 * not hold (it and what follows are left), or -1. */
TRA_MUSTUSE int64_t tra_elem_convert(tra_elem k, bool swap, void *from, tra_dtype t, void *to, int64_t n,
                                     tra_losses *loss);
/* That failure: names the element, at this place of the tensor, and its value, at p in the order of this machine. */
tra_status tra_elem_unfit(const char *spec, const tra_dims *place, tra_elem k, const void *p, tra_dtype t, tra_err *e);

/* A flat array of elements: what follows a header in npy, all of raw, the scratch file of a spill. */
typedef struct tra_flat {
    tra_elem elem;
    bool swap;
    int64_t offset; /* of the first element, from the input's base */
    tra_dims dims;  /* storage coordinates */
    bool fortran;   /* which are the tensor's reversed */
    int64_t left;   /* streams: elements not yet delivered */
    size_t cap;
    unsigned char *staging; /* for conversion: cap bytes, from the arena */
} tra_flat;
/* memory: of the whole job. */
void tra_flat_init(tra_flat *f, tra_arena *a, int64_t memory);
TRA_MUSTUSE tra_status tra_flat_box(tra_flat *f, int fd, int64_t base, const char *name, const tra_dims *start,
                                    const tra_dims *count, tra_dtype t, void *buf, tra_losses *loss, tra_err *e);
TRA_MUSTUSE tra_status tra_flat_next(tra_flat *f, tra_stream *in, tra_dtype t, void *buf, int64_t want, int64_t *got,
                                     tra_losses *loss, tra_err *e);

/* ---- boxes --------------------------------------------------------------------------------------------------- */

tra_dims tra_reversed(const tra_dims *d);

/* A relation in tensor layout seen as the one tensor it is stored as: key dimensions that cut nothing first, then the
 * array dimensions. */
typedef struct tra_view {
    tra_rel *rel;
    tra_dims shape, chunk;
    int key[TRA_MAXDIM];               /* the key dimension that counts chunks along it, or -1 */
    size_t array_bytes, scratch_bytes; /* what reading takes: the array of one chunk, and to decode it */
    void *array, *scratch;
    void *own[2]; /* of these two, those from malloc */
    int64_t held; /* ordinal of what is in array, or -1 */
} tra_view;
/* TRA_INPUT with the reason and what to do when the relation has tuple layout. */
TRA_MUSTUSE tra_status tra_view_open(tra_view *v, tra_rel *rel, const char *spec, tra_err *e);
/* Before anything is read: room of array_bytes and of scratch_bytes that the caller lends, or NULL for its own. Readers
 * that take turns may share a scratch. */
void tra_view_room(tra_view *v, void *array, void *scratch);
void tra_view_close(tra_view *v); /* not the relation */
/* Is the relation one of blocks of entries? Then boxes are read of it, and cells; not its chunks. */
bool tra_view_sparse(const tra_view *v);
/* The block that was read last (tra_view_load), as a cell. */
TRA_MUSTUSE tra_status tra_view_load(tra_view *v, int64_t ordinal, tra_err *e);
tra_cell tra_view_cell(const tra_view *v);
/* Where the block of an ordinal begins in the tensor. */
void tra_view_offset(const tra_view *v, int64_t ordinal, tra_dims *offset);
/* Brings the chunk of these coordinates (those of a hole: zeros) to v->array, unless it is there; its extents. */
TRA_MUSTUSE tra_status tra_view_chunk(tra_view *v, const tra_dims *at, tra_dims *ext, tra_err *e);
/* The box into buf with the given strides (elements, one for each dimension). Holes are zeros. */
TRA_MUSTUSE tra_status tra_view_box(tra_view *v, const tra_dims *start, const tra_dims *count, void *buf,
                                    const int64_t *stride, tra_err *e);

/* ---- scratch ------------------------------------------------------------------------------------------------- */

/* An open file without a name in TRA_SCRATCH, TMPDIR or the directory of the output, in this order. *where (from
 * malloc) is the directory, for messages. */
TRA_MUSTUSE tra_status tra_scratch_open(const char *output, int *fd, char **where, tra_err *e);

#endif
