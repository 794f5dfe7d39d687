/* decode.c - elements of another program's dataset as its attributes say that they are meant (CF conventions). */
#include "decode.h"

#include "relation_file.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- attributes -------------------------------------------------------------------------------------------------- */

typedef struct numbers { /* an attribute */
    const char *name;
    int n; /* 0: there is none */
    bool real;
    size_t size; /* bytes of each, as they are stored */
    tra_attribute_number v[TRA_MAX_MISSING];
} numbers;

typedef struct finding {
    hid_t dset;
    const char *where;
    tra_arena *a;
    tra_err *e;
    bool integers;    /* the elements are */
    unsigned digits;  /* bits of them */
    bool is_unsigned; /* after _Unsigned */
    bool narrow;      /* the elements are floats of f32 */
    tra_str text;
} finding;

#define CONTRADICTS(f, fmt, ...)                                                                                       \
    tra_fail((f)->e, TRA_INPUT, "%s: " fmt " (raw:%s reads the numbers as they are stored)", (f)->where, __VA_ARGS__,  \
             (f)->where)

static tra_status get(finding *f, const char *name, int most, numbers *out) {
    *out = (numbers){.name = name};
    if (H5Aexists(f->dset, name) <= 0) return TRA_OK;
    hid_t attr = H5Aopen(f->dset, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    H5T_class_t class = H5Tget_class(type);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    double real[TRA_MAX_MISSING];
    int64_t whole[TRA_MAX_MISSING] = {0};
    bool number = class == H5T_INTEGER || class == H5T_FLOAT, few = n >= 1 && n <= most;
    out->real = class == H5T_FLOAT;
    out->size = H5Tget_size(type);
    bool ok = number && few && H5Aread(attr, H5T_NATIVE_DOUBLE, real) >= 0;
    if (ok && !out->real)
        ok = H5Aread(attr, H5Tget_sign(type) == H5T_SGN_2 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, whole) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    if (!number) return CONTRADICTS(f, "its attribute %s is not a number", name);
    if (!few)
        return CONTRADICTS(f, "its attribute %s has %lld values, not one%s", name, (long long)n,
                           most > 1 ? " or a few" : "");
    if (!ok) return CONTRADICTS(f, "its attribute %s cannot be read", name);
    out->n = (int)n;
    for (int i = 0; i < out->n; i++) {
        bool fits = out->real && real[i] == floor(real[i]) && fabs(real[i]) < 0x1p63;
        out->v[i] = (tra_attribute_number){real[i], fits ? (int64_t)real[i] : whole[i]};
    }
    return TRA_OK;
}

/* An attribute in the packed type: f32, or an integer with or without a sign, as _Unsigned says. */
static void as_packed(const finding *f, numbers *x) {
    for (int i = 0; i < x->n && f->narrow; i++) x->v[i].real = (float)x->v[i].real;
    uint64_t all = f->digits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << f->digits) - 1;
    for (int i = 0; i < x->n && f->integers; i++) {
        int64_t *v = &x->v[i].whole;
        if (x->real && x->v[i].real != floor(x->v[i].real)) continue; /* no integer is that: nothing equals it */
        if (f->is_unsigned && *v < 0 && f->digits < 64) *v = (int64_t)((uint64_t)*v & all);
        if (!f->is_unsigned && !x->real && x->size * 8 == f->digits && f->digits < 64 && *v >> (f->digits - 1) == 1)
            *v = (int64_t)((uint64_t)*v | ~all);
        x->v[i].real = f->is_unsigned ? (double)(uint64_t)*v : (double)*v;
    }
}

/* ---- what applies ------------------------------------------------------------------------------------------------ */

static void say(finding *f, const char *fmt, ...) TRA_PRINTF(2, 3);
static void say(finding *f, const char *fmt, ...) {
    char part[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(part, sizeof part, fmt, ap);
    va_end(ap);
    tra_str_printf(&f->text, "%s%s", f->text.n ? "; " : "", part);
}

/* Integers of the file as what they are read; floats likewise. */
static bool packed_type(hid_t type, finding *f, tra_packed_type *from) {
    static const tra_packed_type whole[] = {TRA_PACKED_I8, TRA_PACKED_I16, TRA_PACKED_I32, TRA_PACKED_I64};
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type), i = 0;
    f->integers = class == H5T_INTEGER;
    f->is_unsigned = f->integers && H5Tget_sign(type) == H5T_SGN_NONE;
    f->narrow = class == H5T_FLOAT && size <= sizeof(float);
    if (class == H5T_FLOAT) return *from = f->narrow ? TRA_PACKED_F32 : TRA_PACKED_F64, true;
    if (!f->integers || size > 8) return false;
    while ((size_t)1 << i < size) i++;
    f->digits = 8u << i;
    *from = whole[i];
    return true;
}

static tra_status take_sign(finding *f, bool *changes) {
    const char *text = tra_h5_get_text(f->dset, "_Unsigned", f->a);
    *changes = false;
    if (!text) return TRA_OK;
    bool yes = strcasecmp(text, "true") == 0;
    if (!yes && strcasecmp(text, "false") != 0)
        return CONTRADICTS(f, "its attribute _Unsigned is \"%.20s\", neither true nor false", text);
    if (!f->integers)
        return CONTRADICTS(f, "its attribute _Unsigned is \"%s\", but its elements are no integers", text);
    *changes = yes != f->is_unsigned;
    f->is_unsigned = yes;
    if (*changes) say(f, "integers %s a sign (_Unsigned)", yes ? "without" : "with");
    return TRA_OK;
}

static tra_status add_missing(finding *f, tra_decode *d, numbers *x) {
    as_packed(f, x);
    for (int i = 0; i < x->n; i++) {
        if (f->integers && x->real && (x->v[i].real != floor(x->v[i].real) || isinf(x->v[i].real))) continue;
        if (d->nmissing == TRA_MAX_MISSING)
            return CONTRADICTS(f, "its attributes _FillValue and %s have more than %d values", x->name,
                               TRA_MAX_MISSING);
        d->missing[d->nmissing++] = x->v[i];
    }
    if (x->n > 0) say(f, "%.9g%s (%s) is NaN", x->v[0].real, x->n > 1 ? ", ..." : "", x->name);
    return TRA_OK;
}

/* Elements outside of these are missing; the attributes are compared with the packed ones. */
static tra_status take_range(finding *f, tra_decode *d) {
    numbers least, most, range;
    TRA_TRY(get(f, "valid_min", 1, &least));
    TRA_TRY(get(f, "valid_max", 1, &most));
    TRA_TRY(get(f, "valid_range", 2, &range));
    if (range.n == 1) return CONTRADICTS(f, "its attribute %s has one value, not two", range.name);
    if (range.n && (least.n || most.n))
        return CONTRADICTS(f, "it has the attribute %s, and %s too: one of them is wrong", range.name,
                           least.n ? least.name : most.name);
    if (range.n) {
        least = most = range;
        least.n = most.n = 1;
        most.v[0] = range.v[1];
    }
    const numbers *both[] = {&least, &most};
    for (int i = 0; i < 2; i++)
        if (both[i]->n && f->integers && both[i]->real && isfinite(both[i]->v[0].real) &&
            both[i]->v[0].real != floor(both[i]->v[0].real))
            return CONTRADICTS(f,
                               "its attribute %s is %.9g, and its elements are stored as integers: whether it is of "
                               "these or of what they stand for is not known",
                               both[i]->name, both[i]->v[0].real);
    as_packed(f, &least);
    as_packed(f, &most);
    if (least.n && most.n && least.v[0].real > most.v[0].real)
        return CONTRADICTS(f, "its attributes %s and %s leave no value: %.9g and %.9g", least.name, most.name,
                           least.v[0].real, most.v[0].real);
    d->has_least = least.n > 0 && !(f->integers && least.real && isinf(least.v[0].real));
    d->has_most = most.n > 0 && !(f->integers && most.real && isinf(most.v[0].real));
    d->least = least.v[0];
    d->most = most.v[0];
    if (d->has_least) say(f, "below %.9g (%s) is NaN", d->least.real, least.name);
    if (d->has_most) say(f, "above %.9g (%s) is NaN", d->most.real, most.name);
    return TRA_OK;
}

/* scale_factor and add_offset. *f32: they are of that type. */
static tra_status take_scale(finding *f, tra_decode *d, bool *f32) {
    numbers scale, offset;
    TRA_TRY(get(f, "scale_factor", 1, &scale));
    TRA_TRY(get(f, "add_offset", 1, &offset));
    const numbers *both[] = {&scale, &offset};
    *f32 = true;
    for (int i = 0; i < 2; i++) {
        if (both[i]->n == 0) continue;
        d->scaled = true;
        *f32 = *f32 && both[i]->real && both[i]->size <= sizeof(float);
        if (!isfinite(both[i]->v[0].real) || (i == 0 && both[i]->v[0].real == 0))
            return CONTRADICTS(f, "its attribute %s is %g, with which no value can be told", both[i]->name,
                               both[i]->v[0].real);
    }
    d->scale = scale.n ? scale.v[0].real : 1;
    d->offset = offset.n ? offset.v[0].real : 0;
    if (scale.n) say(f, "times %.9g (scale_factor)", d->scale);
    if (offset.n) say(f, "plus %.9g (add_offset)", d->offset);
    return TRA_OK;
}

static hid_t memory_of(tra_packed_type t, size_t *size) {
#define X(name, ctype, h5)                                                                                             \
    case TRA_PACKED_##name: return *size = sizeof(ctype), H5T_NATIVE_##h5;
    switch (t) { TRA_PACKED_TYPES(X) }
#undef X
    return -1;
}

/* misses: some may be missing. f32: scale_factor and add_offset are of that type. */
static tra_dtype decoded_type(const finding *f, const tra_decode *d, bool misses, bool f32) {
    if (misses || d->scaled) {
        if (!f->integers) return d->from == TRA_PACKED_F32 && (!d->scaled || f32) ? TRA_F32 : TRA_F64;
        return f->digits <= 16 && (!d->scaled || f32) ? TRA_F32 : TRA_F64;
    }
    return tra_dtype_of_bits(f->digits - !f->is_unsigned);
}

/* Bools as xarray and MATLAB write them: bytes that are 0 or 1. The attribute that says so; NULL: they are none. */
static const char *bool_by(const finding *f) {
    static const char *const says[][2] = {{"dtype", "bool"}, {"MATLAB_class", "logical"}};
    for (int i = 0; i < 2 && f->integers && f->digits == 8; i++) {
        const char *text = tra_h5_get_text(f->dset, says[i][0], f->a);
        if (text && strcmp(text, says[i][1]) == 0) return says[i][0];
    }
    return NULL;
}

static tra_status find(finding *f, tra_decode *d, bool *any) {
    numbers fill, missing;
    bool sign, f32;
    TRA_TRY(get(f, "_FillValue", 1, &fill));
    TRA_TRY(get(f, "missing_value", TRA_MAX_MISSING - 1, &missing));
    d->memory = memory_of(d->from + f->is_unsigned, &d->size); /* bits are kept, so the sign is that of the file */
    TRA_TRY(take_sign(f, &sign));
    d->from += f->is_unsigned;
    TRA_TRY(add_missing(f, d, &fill));
    TRA_TRY(add_missing(f, d, &missing));
    TRA_TRY(take_range(f, d));
    TRA_TRY(take_scale(f, d, &f32));
    bool misses = fill.n || missing.n || d->has_least || d->has_most;
    *any = sign || misses || d->scaled;
    d->to = decoded_type(f, d, misses, f32);
    const char *by = *any ? NULL : bool_by(f);
    if (!by) return TRA_OK;
    *any = true;
    d->to = TRA_BOOL;
    say(f, "0 and 1 are booleans (%s)", by);
    return TRA_OK;
}

tra_status tra_decode_find(hid_t dset, const char *where, tra_arena *a, const tra_decode **out, tra_err *e) {
    finding f = {.dset = dset, .where = where, .a = a, .e = e};
    tra_decode *d = tra_new(a, tra_decode);
    hid_t type = H5Dget_type(dset);
    bool any = packed_type(type, &f, &d->from);
    H5Tclose(type);
    *out = NULL;
    tra_status s = any ? find(&f, d, &any) : TRA_OK;
    if (s == TRA_OK && any) {
        d->text = tra_arena_strndup(a, tra_str_get(&f.text), f.text.n);
        *out = d;
    }
    tra_str_free(&f.text);
    return s;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

enum { BATCH = 256 }; /* elements that are decoded at a time */

typedef struct batch {
    int n;
    double real[BATCH];
    int64_t whole[BATCH]; /* of integers; of u64 the bits */
    bool missing[BATCH];
} batch;

#define LOAD_REAL(ctype)  b->real[i] = (double)((const ctype *)from)[i]
#define LOAD_WHOLE(ctype) b->whole[i] = (int64_t)((const ctype *)from)[i], b->real[i] = (double)((const ctype *)from)[i]
#define LOAD(name, ctype, load)                                                                                        \
    case TRA_PACKED_##name:                                                                                            \
        for (int i = 0; i < b->n; i++) load(ctype);                                                                    \
        break;

static void load(tra_packed_type t, const void *from, batch *b) {
    switch (t) {
        LOAD(I8, int8_t, LOAD_WHOLE)
        LOAD(U8, uint8_t, LOAD_WHOLE)
        LOAD(I16, int16_t, LOAD_WHOLE)
        LOAD(U16, uint16_t, LOAD_WHOLE)
        LOAD(I32, int32_t, LOAD_WHOLE)
        LOAD(U32, uint32_t, LOAD_WHOLE)
        LOAD(I64, int64_t, LOAD_WHOLE)
        LOAD(U64, uint64_t, LOAD_WHOLE)
        LOAD(F32, float, LOAD_REAL)
        LOAD(F64, double, LOAD_REAL)
    }
}

static bool is_whole(const tra_decode *d) { return d->from < TRA_PACKED_F32; }

/* Is x below y, as the packed type has them? */
static bool below(const tra_decode *d, const tra_attribute_number *x, const tra_attribute_number *y) {
    if (!is_whole(d)) return x->real < y->real;
    return d->from == TRA_PACKED_U64 ? (uint64_t)x->whole < (uint64_t)y->whole : x->whole < y->whole;
}

static void find_missing(const tra_decode *d, batch *b) {
    memset(b->missing, 0, sizeof b->missing);
    for (int m = 0; m < d->nmissing; m++)
        for (int i = 0; i < b->n; i++)
            b->missing[i] |= is_whole(d) ? b->whole[i] == d->missing[m].whole : b->real[i] == d->missing[m].real;
    for (int i = 0; i < b->n && (d->has_least || d->has_most); i++) {
        tra_attribute_number x = {b->real[i], b->whole[i]};
        b->missing[i] |= (d->has_least && below(d, &x, &d->least)) || (d->has_most && below(d, &d->most, &x));
    }
}

/* Whole numbers beyond 2^53 may not be the f64 that they would become. The first such element, or -1. */
static int inexact(const tra_decode *d, const batch *b) {
    if (d->from == TRA_PACKED_U64 && !tra_dtype_is_float(d->to)) {
        for (int i = 0; i < b->n; i++)
            if (b->whole[i] < 0) return i;
        return -1;
    }
    if (d->size < 8 || !is_whole(d) || d->scaled || !tra_dtype_is_float(d->to)) return -1;
    for (int i = 0; i < b->n; i++) {
        bool large = d->from == TRA_PACKED_U64 && b->whole[i] < 0;
        if (!b->missing[i] && (large || b->whole[i] > INT64_C(1) << 53 || b->whole[i] < -(INT64_C(1) << 53))) return i;
    }
    return -1;
}

static void store(const tra_decode *d, const batch *b, void *to) {
    bool real = tra_dtype_is_float(d->to);
    double v[BATCH];
    for (int i = 0; i < b->n && real; i++) {
        v[i] = d->scaled ? b->real[i] * d->scale + d->offset : b->real[i];
        if (b->missing[i]) v[i] = NAN;
    }
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < b->n; i++) ((ctype *)to)[i] = (ctype)v[i];                                                 \
        break;
    switch (d->to) {
        TRA_FLOAT_DTYPES(X)
#undef X
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < b->n; i++) ((ctype *)to)[i] = (ctype)b->whole[i];                                          \
        break;
        TRA_WHOLE_DTYPES(X)
#undef X
    }
}

/* From the last batch to the first, since decoded elements take as many bytes or more. */
int64_t tra_decode_run(const tra_decode *d, int64_t n, void *buf, char *text) {
    size_t out = tra_dtype_size(d->to);
    batch b;
    for (int64_t at = n > 0 ? (n - 1) / BATCH * BATCH : -1; at >= 0; at -= BATCH) {
        b.n = (int)tra_min64(BATCH, n - at);
        load(d->from, (const char *)buf + (size_t)at * d->size, &b);
        find_missing(d, &b);
        int bad = inexact(d, &b);
        if (bad >= 0) {
            snprintf(text, TRA_DIMTEXT, d->from == TRA_PACKED_U64 ? "%" PRIu64 : "%" PRId64, b.whole[bad]);
            return at + bad;
        }
        store(d, &b, (char *)buf + (size_t)at * out);
    }
    return -1;
}
