/* decode.h - what the attributes of another program's dataset say of its elements, by the CF conventions for climate
 * data: which of them are missing, how they are packed, which moments they stand for.
 *
 * Missing elements (_FillValue, missing_value, outside of valid_min, valid_max or valid_range, all compared as they are
 * stored) become NaN. Packed ones are times scale_factor plus add_offset. _Unsigned tells whether integers have a sign.
 * The type of decoded elements is that of scale_factor and add_offset where these are floats and hold the packed ones,
 * else f32 for integers of at most 16 bits that may be missing, f64 for wider ones, and that of the file for floats.
 */
#ifndef TRA_DECODE_H
#define TRA_DECODE_H

#include "../model/relation.h"

#include <hdf5.h>

/* As what elements are read from the file, before they are decoded. */
#define TRA_PACKED_TYPES(X)                                                                                            \
    X(I8, int8_t, INT8)                                                                                                \
    X(U8, uint8_t, UINT8)                                                                                              \
    X(I16, int16_t, INT16)                                                                                             \
    X(U16, uint16_t, UINT16)                                                                                           \
    X(I32, int32_t, INT32)                                                                                             \
    X(U32, uint32_t, UINT32)                                                                                           \
    X(I64, int64_t, INT64)                                                                                             \
    X(U64, uint64_t, UINT64)                                                                                           \
    X(F32, float, FLOAT)                                                                                               \
    X(F64, double, DOUBLE)
typedef enum tra_packed_type {
#define X(name, ...) TRA_PACKED_##name,
    TRA_PACKED_TYPES(X)
#undef X
} tra_packed_type;

/* One number as an attribute has it. */
typedef struct tra_attribute_number {
    double real;
    int64_t whole; /* real = false of the attribute: the same, exactly; of u64 its bits */
} tra_attribute_number;

enum { TRA_MAX_MISSING = 16 };
typedef struct tra_decode {
    tra_packed_type from; /* with the sign that _Unsigned gives */
    hid_t memory;         /* HDF5's type of elements as they are read; not to be closed */
    size_t size;          /* bytes of one of them; never more than one of `to` has */
    tra_dtype to;
    int nmissing;
    tra_attribute_number missing[TRA_MAX_MISSING], least, most;
    bool has_least, has_most, scaled;
    double scale, offset;
    const char *text; /* for people: what is done */
} tra_decode;

/* What applies to the elements of a dataset: *out is in the arena; NULL: they are read as they are. where: the dataset
 * in messages. TRA_INPUT: attributes contradict each other or the type. Under the HDF5 lock. */
TRA_MUSTUSE tra_status tra_decode_find(hid_t dset, const char *where, tra_arena *a, const tra_decode **out, tra_err *e);
/* Decodes n elements in place. Returns -1, or the number of one that `to` does not hold; *text (of TRA_DIMTEXT bytes)
 * then has it. Thread-safe. */
int64_t tra_decode_run(const tra_decode *d, int64_t n, void *buf, char *text);

/* ---- times (cftime.c) -------------------------------------------------------------------------------------------- */

/* "hours since 1900-01-01 00:00": moments are origin + value * unit microseconds. */
typedef struct tra_cf_time {
    int64_t origin, unit;
    bool mixed; /* moments before 15 October 1582 are of the Julian calendar, and have no timestamp */
} tra_cf_time;
/* Understands the attributes units and calendar (NULL: standard). TRA_NO: these are no units of time since a moment.
 * TRA_INPUT: they are, but of a calendar or unit without timestamps, or malformed. */
tra_status tra_cf_time_parse(const char *units, const char *calendar, tra_cf_time *t, tra_err *e);
/* The timestamp of a value; false: it has none. */
bool tra_cf_time_of_whole(const tra_cf_time *t, int64_t v, int64_t *micros);
bool tra_cf_time_of_real(const tra_cf_time *t, double v, int64_t *micros);

#endif
