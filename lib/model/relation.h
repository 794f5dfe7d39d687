/* relation.h - what a tensor relation is: keys, shapes, element types, catalogs and types.
 *
 * A relation is a set of tuples (key, array). Its catalog says which keys exist and how large each array is; it is
 * known before any data are read. Its type adds the element type and which key dimension cuts which array dimension.
 * Files are in store.h.
 *
 * Source: Yuan et al., Tensor Relational Algebra, VLDB 2021, section 2 (keys, frontier, bound, continuity).
 */
#ifndef TRA_RELATION_H
#define TRA_RELATION_H

#include "../base/base.h"

enum { TRA_MAXDIM = 31 };     /* key arity + rank; HDF5 1.10 allows 32 dimensions */
enum { TRA_MAXAXISDIMS = 6 }; /* key dimensions by which a relation is partitioned together */

/* A key or a shape: n numbers. It is passed by pointer and copied by assignment. */
typedef struct tra_dims {
    int n;
    int64_t v[TRA_MAXDIM];
} tra_dims;

bool tra_dims_eq(const tra_dims *a, const tra_dims *b);
bool tra_dims_product(const tra_dims *d, int64_t *out); /* *out is 1 for n = 0; false: it overflows */
/* The row-major position of key within box, and the key at a position. The product of box must not overflow. */
int64_t tra_linear(const tra_dims *box, const tra_dims *key);
void tra_unlinear(const tra_dims *box, int64_t pos, tra_dims *key);
void tra_strides(const tra_dims *ext, int64_t *stride); /* sets ext->n strides of a row-major array, in elements */
/* Which dimension of the key of a join holds dimension d of the right key: joinl[i] if d is joined as joinr[i];
 * otherwise the right key's own dimensions follow the kl dimensions of the left key, in order. */
int tra_join_key(const tra_dims *joinl, const tra_dims *joinr, int kl, int d);
/* Sets *key to its row-major successor in box. False after the last one; then all its components are 0. */
bool tra_next(const tra_dims *box, tra_dims *key);
/* Copies dst[i . dstride] = src[i . sstride] for all i in ext. Strides are in elements of `size` bytes: 1, 2, 4 or 8.
 * Works in tiles where the two arrays do not have the same innermost dimension, so that both stay in cache. */
void tra_copy_strided(size_t size, const tra_dims *ext, void *dst, const int64_t *dstride, const void *src,
                      const int64_t *sstride);
/* Parses "1000x1000" (also "1000,1000"; "" is rank 0). False if it is malformed or a number is below min. */
bool tra_parse_dims(const char *s, int64_t min, tra_dims *d);
/* "OPEN1SEP2CLOSE" into buf of n bytes, which is returned; what does not fit is cut off. */
char *tra_dims_text(const tra_dims *d, const char *open, const char *sep, const char *close, char *buf, size_t n);
#define tra_key_text(d, buf)   tra_dims_text(d, "<", ",", ">", buf, sizeof(buf))
#define tra_shape_text(d, buf) tra_dims_text(d, "", " x ", "", buf, sizeof(buf))
enum { TRA_DIMTEXT = 512 }; /* bytes of a buffer that holds any of these texts */

/* ---- element types ------------------------------------------------------------------------------------------- */

/* A row for each element type: floats, then whole numbers (integers and bools). Columns: name in C, name in text, C
 * type, class, type of the state of a sum (also the type of sums over labels of integers), letter of its BLAS routines
 * (0: none), type string of numpy without the byte order, name in binsparse files, HDF5's native type with the same
 * bytes. A bool is one byte, 0 or 1. */
#define TRA_FLOAT_DTYPES(X)                                                                                            \
    X(F64, "f64", double, FLOAT, F64, 'd', "f8", "float64", DOUBLE)                                                    \
    X(F32, "f32", float, FLOAT, F64, 's', "f4", "float32", FLOAT)
#define TRA_WHOLE_DTYPES(X)                                                                                            \
    X(I64, "i64", int64_t, INT, I64, 0, "i8", "int64", INT64)                                                          \
    X(I32, "i32", int32_t, INT, I64, 0, "i4", "int32", INT32)                                                          \
    X(BOOL, "bool", uint8_t, BOOL, I64, 0, "b1", "bint8", UINT8)
#define TRA_DTYPES(X) TRA_FLOAT_DTYPES(X) TRA_WHOLE_DTYPES(X)
/* Name and C type of each, for lists inside of a list, where the preprocessor expands no macro a second time. */
#define TRA_CTYPES(X) X(F64, double) X(F32, float) X(I64, int64_t) X(I32, int32_t) X(BOOL, uint8_t)
typedef enum tra_dtype {
#define X(name, ...) TRA_##name,
    TRA_DTYPES(X)
#undef X
} tra_dtype;
enum {
#define X(...) +1
    TRA_NFLOATS = TRA_FLOAT_DTYPES(X),
    TRA_NDTYPES = TRA_DTYPES(X)
#undef X
};
/* For switches: `case TRA_FLOATS:` and `case TRA_WHOLES:`. */
#define TRA_FLOATS 0 ... TRA_NFLOATS - 1
#define TRA_WHOLES TRA_NFLOATS... TRA_NDTYPES - 1
typedef enum tra_dtype_class { TRA_CLASS_FLOAT, TRA_CLASS_INT, TRA_CLASS_BOOL } tra_dtype_class;
typedef struct tra_dtype_row {
    const char *name;
    size_t size; /* bytes of an element */
    tra_dtype_class class;
    tra_dtype sum;
    char blas;
    const char *numpy, *binsparse;
} tra_dtype_row;
extern const tra_dtype_row tra_dtype_rows[];

static inline size_t tra_dtype_size(tra_dtype t) { return tra_dtype_rows[t].size; }
static inline const char *tra_dtype_name(tra_dtype t) { return tra_dtype_rows[t].name; }
static inline bool tra_dtype_is_float(tra_dtype t) { return tra_dtype_rows[t].class == TRA_CLASS_FLOAT; }

/* Element i of an array: _whole is the value of an integer or bool, 0 for floats; _real is the value as a double; _bits
 * are 64 bits, those of the double for floats, else those of the integer. */
static inline int64_t tra_element_whole(tra_dtype t, const void *data, int64_t i) {
#define TRA_WHOLE_FLOAT(x) 0
#define TRA_WHOLE_INT(x)   (x)
#define TRA_WHOLE_BOOL(x)  (x)
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: return TRA_WHOLE_##class(((const ctype *)data)[i]);
    switch (t) { TRA_DTYPES(X) }
#undef X
    return 0;
}
static inline double tra_element_real(tra_dtype t, const void *data, int64_t i) {
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name: return (double)((const ctype *)data)[i];
    switch (t) { TRA_DTYPES(X) }
#undef X
    return 0;
}
static inline int64_t tra_element_bits(tra_dtype t, const void *data, int64_t i) {
    union {
        double real;
        int64_t bits;
    } v = {.real = tra_element_real(t, data, i)};
    return tra_dtype_is_float(t) ? v.bits : tra_element_whole(t, data, i);
}
bool tra_element_is_zero(tra_dtype t, const void *v);       /* of either sign */
bool tra_element_add(tra_dtype t, void *to, const void *v); /* bools: or; false: the sum does not fit */
bool tra_element_negate(tra_dtype t, void *v);              /* false: its type has no negative of it */
bool tra_dtype_parse(const char *s, tra_dtype *t);
const char *tra_dtype_choices(void); /* "f64, f32, ..." for messages */
/* Does v fit an integer type or bool? Floats take any integer, rounded. */
bool tra_dtype_holds(tra_dtype t, int64_t v);
/* The least and the greatest whole number of the type; of floats those of i64. */
int64_t tra_dtype_least(tra_dtype t);
int64_t tra_dtype_most(tra_dtype t);
/* The narrowest integer type that has so many bits besides the sign; i64 if there is none. */
tra_dtype tra_dtype_of_bits(size_t bits);
/* The type that holds the values of both: a bool fits every type; an integer and a float give f64. */
tra_dtype tra_dtype_join(tra_dtype a, tra_dtype b);

/* ---- catalogs ----------------------------------------------------------------------------------------------- */

/* Which keys exist, and the extents of each array. There are two forms.
 *
 * grid: every key in the box `frontier` exists. Along array dimension a the extent is bound[a], except in tuples whose
 * key component by[a] has its last value: there it is last[a]. Where no key clips the dimension, by[a] is -1, and
 * last[a] is bound[a].
 *
 * list: the n keys whose row-major positions in the box `frontier` are pos[0] < pos[1] < ... exist. The extents of
 * tuple t are the r numbers from ext[cls[t] * r] on, with r the rank; cls is NULL where all tuples are of class 0.
 *
 * The ordinal of a tuple is its position in key order: the row-major position for a grid, the index into pos for a
 * list. frontier[d] is one more than the largest existing key component (0 when empty). bound[a] is no less than any
 * extent: in a grid it is the largest one, in a list it also covers holes (the block extent of a tensor). A catalog is
 * immutable once made; its arrays belong to the arena it was made in.
 */
typedef struct tra_catalog {
    tra_dims frontier; /* frontier.n is the key arity k */
    tra_dims bound;    /* bound.n is the rank r */
    bool grid;
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    int64_t n; /* number of tuples, in both forms */
    const int64_t *pos;
    const uint32_t *cls;
    int64_t nclasses;
    const int64_t *ext;
} tra_catalog;

enum { TRA_MAX_LIST = 1 << 24 }; /* a list of more tuples is refused */

/* The grid of a tensor cut in blocks: k = r, and key dimension d cuts array dimension d. An extent of 0 gives frontier
 * 0 and bound 1. TRA_INPUT: too many dimensions or keys. */
TRA_MUSTUSE tra_status tra_catalog_blocks(const tra_dims *shape, const tra_dims *block, tra_catalog *out, tra_err *e);
/* A grid from its parts (by and last as above; by NULL: nothing is clipped). TRA_PROGRAM when the number of keys
 * overflows. */
TRA_MUSTUSE tra_status tra_catalog_grid(const tra_dims *frontier, const tra_dims *bound, const int8_t *by,
                                        const int64_t *last, tra_catalog *out, tra_err *e);

/* Builds a catalog from tuples in any order. payload is the caller's number for a tuple, for example the ordinal of its
 * source. finish gives a grid when the tuples form one, else a list. Two tuples of one key are refused: TRA_PROGRAM,
 * and dup (if not NULL) gets their payloads. */
typedef struct tra_catbuilder tra_catbuilder;
tra_catbuilder *tra_catbuilder_new(int k, int r); /* finish frees it, also on failure */
TRA_MUSTUSE tra_status tra_catbuilder_add(tra_catbuilder *b, const tra_dims *key, const tra_dims *ext, int64_t payload,
                                          tra_err *e);
TRA_MUSTUSE tra_status tra_catbuilder_finish(tra_catbuilder *b, tra_arena *a, tra_catalog *out, int64_t dup[2],
                                             tra_err *e);
void tra_catbuilder_free(tra_catbuilder *b);

int64_t tra_catalog_find(const tra_catalog *c, const tra_dims *key); /* the ordinal, or -1 */
void tra_catalog_key(const tra_catalog *c, int64_t ordinal, tra_dims *key);
void tra_catalog_ext(const tra_catalog *c, int64_t ordinal, tra_dims *ext);
/* The class of a tuple: a number >= 0. Arrays of one class have the same extents. */
int64_t tra_catalog_class(const tra_catalog *c, int64_t ordinal);
/* Numbers of elements; INT64_MAX where there are more. Use tra_type_bytes for bytes. */
int64_t tra_catalog_elements_of(const tra_catalog *c, int64_t ordinal); /* of one array */
int64_t tra_catalog_elements(const tra_catalog *c);      /* of all arrays together; constant time for grids */
int64_t tra_catalog_elements_most(const tra_catalog *c); /* of the largest array */
/* Keys in the box of the frontier that the relation does not have. */
static inline int64_t tra_catalog_holes(const tra_catalog *c) {
    int64_t all = 0;
    return tra_dims_product(&c->frontier, &all) ? all - c->n : 0;
}

/* ---- types -------------------------------------------------------------------------------------------------- */

typedef struct tra_layout tra_layout;   /* how an array lies in its block (cell.h) */
typedef struct tra_schema tra_schema;   /* the columns of a table (columns.h) */
typedef struct tra_entries tra_entries; /* how many of its elements are entries (below) */

typedef struct tra_type {
    tra_dtype dtype;
    const tra_catalog *cat;
    /* Sparse by type (man tra-storage.5): as factors and dividends, elements that are 0 annihilate NaN and infinity
     * too, whatever layout holds the arrays. This follows from the program and its inputs alone. */
    bool sparse;
    const tra_layout *layout;   /* how its arrays lie in memory; NULL: dense */
    const tra_entries *entries; /* sparse: what is known of its entries; NULL: only the extents */
    const tra_schema *columns;  /* not NULL: a table, whose arrays are rows, of rank 1, in the layout tra_columns */
    /* Array dimensions (bits) along which the catalog's extents are upper bounds only: how many rows a table has may be
     * known only once it has been computed, and then each cell holds its own extents (columns.h). `entries` then count
     * the elements (of a table, rows) that exist. */
    uint32_t bounded;
    uint32_t cut[TRA_MAXDIM]; /* for each array dimension, the set (bits) of key dimensions that cut it */
} tra_type;

/* How many bytes something takes, before it is computed. It never takes more than `bound`. exact: it takes just that;
 * otherwise `expected` is an estimate. firm: memory is budgeted by the bound, although less is expected
 * (lib/physical/needs.h). A bound of TRA_SIZE_MOST means that no smaller bound is known; sums of a few such sizes still
 * fit an int64_t. */
typedef struct tra_size {
    int64_t expected, bound;
    bool exact, firm;
} tra_size;
#define TRA_SIZE_MOST (INT64_MAX / 4)
static inline bool tra_size_known(tra_size s) { return s.exact || s.bound == 0; }
/* Is it possible that it takes just so many bytes? */
static inline bool tra_size_admits(tra_size s, int64_t bytes) {
    return bytes >= 0 && (s.exact ? bytes == s.bound : bytes <= s.bound);
}
tra_size tra_size_exactly(int64_t bytes);
tra_size tra_size_upto(int64_t bytes); /* no estimate: the bound is expected */
tra_size tra_size_about(double expected, int64_t bound);
tra_size tra_size_add(tra_size a, tra_size b);
tra_size tra_size_times(tra_size s, int64_t n);

/* How many elements are entries, that is, are stored; all others are 0. Counts of entries are kept as a tra_size is:
 * exact, or an estimate with a bound. */
/* The relation in whose entries others lie, by the labels of its dimensions, which come first in theirs. */
typedef struct tra_within {
    const void *of; /* what tells it from others; NULL: none is known */
    int rank;
    double share; /* of its elements, that are expected to be entries */
} tra_within;
struct tra_entries {
    tra_size all;            /* of all arrays together */
    int64_t most;            /* the most that one array has */
    int64_t crowd;           /* estimated: as many as the fullest array is expected to have; 0: as the others */
    const int64_t *of;       /* exact counts by ordinal; NULL: not known. When they are, the following are known too: */
    const int64_t *rows;     /* by ordinal: rows (all coordinates but the last) that have an entry */
    tra_size bytes, largest; /* bytes of all arrays in the type's layout, and of the largest one */
    /* By the statistics of a file: how many entries the fullest row of an array has, the sum over all rows of the
     * square of how many entries they have, and the longest way from the first to the last entry of a row, in places.
     * 0: not known. */
    int64_t fullest;
    double squares;
    int64_t span;
    tra_within within; /* where entries are expected, as far as that is known */
};
/* The entries of t, in the arena. _exactly: tuple i has of[i] entries, in rows[i] rows (rows may be NULL). _about: all
 * arrays are expected to have `expected` entries, and have at most `all`; each array has at most `most`. Their bytes
 * are those in the layout of t. */
const tra_entries *tra_entries_exactly(tra_arena *a, const tra_type *t, const int64_t *of, const int64_t *rows);
const tra_entries *tra_entries_about(tra_arena *a, const tra_type *t, double expected, int64_t all, int64_t most);
/* A copy of e with what is known of rows (fullest, squares, span above); e itself when fullest is 0 or e is NULL. */
const tra_entries *tra_entries_with_rows(tra_arena *a, const tra_entries *e, int64_t fullest, double squares,
                                         int64_t span);
/* The share of the last dimension's places that a walk over the entries mostly visits, by statistics of rows. It is
 * small for bands, and where few rows, and so few columns, have many entries. 1: nothing is known. */
double tra_type_places_used(const tra_type *t);
/* Coordinates of the last dimension from the first to the last entry of a row, in the widest row of a block, as files
 * tell it; else INT64_MAX / 2. */
int64_t tra_type_reach(const tra_type *t);
/* In a product of matrices of these types: do the places of each row of the result stay in a near cache? */
bool tra_type_rows_stay_near(const tra_type *a, const tra_type *b);
/* Entries of all arrays, and of one. Where nothing is known of them: up to all elements. */
tra_size tra_type_entries(const tra_type *t);
tra_size tra_type_entries1(const tra_type *t, int64_t ordinal);
/* The most entries that an array of so many bytes may have. */
int64_t tra_type_entries_within(const tra_type *t, int64_t bytes);

/* The share of its elements that are in memory: expected entries per element in a layout that is not dense, else 1. */
double tra_type_held_share(const tra_type *t);

/* What arrays take, stored, in memory or sent; nothing else computes this. Of one tuple; of all; of the largest; of any
 * tuples that have so many elements together. */
tra_size tra_type_bytes(const tra_type *t, int64_t ordinal);
tra_size tra_type_bytes_all(const tra_type *t);
tra_size tra_type_bytes_largest(const tra_type *t);
tra_size tra_type_bytes_of(const tra_type *t, int64_t elements);
/* The same for at most so many pieces of arrays, each of which may hold all entries of its array. */
tra_size tra_type_bytes_pieces(const tra_type *t, int64_t elements, int64_t pieces);
/* Bytes of a dense array that is no tuple: a term, a state, scratch. TRA_SIZE_MOST: more. */
int64_t tra_dense_bytes(tra_dtype t, const tra_dims *ext);
enum { TRA_SIZETEXT = 80 };
/* A size as text, in buf, which is returned: "16 MiB", "about 3 MiB (at most 16 MiB)", "up to 16 MiB", or that it is
 * too much to count. The short text, for columns of tables, is "16 MiB" or "~3 MiB". */
char *tra_size_text(tra_size s, char buf[TRA_SIZETEXT]);
char *tra_size_short_text(tra_size s, char buf[TRA_SIZETEXT]);

/* Does the relation stand for a tensor (man tra-lang.5)? Every dimension is cut by at most one key, no key cuts two
 * dimensions, extents are equal along dimensions that no key cuts, and only the last value of the cutting key clips.
 * *why (if not NULL) gets the reason when it does not. For an empty relation only the cut sets decide. */
bool tra_type_is_tensor(const tra_type *t, const char **why);
/* As above, and k = r with array dimension d cut by key dimension d: what EinSum, repart and minindex need. */
bool tra_type_is_blocked(const tra_type *t, const char **why);
/* Extents of the tensor that a relation stands for (tra_type_is_tensor): one for each array dimension; key dimensions
 * that cut nothing are left out. In a list the last block along a dimension may be missing; then the tensor ends at the
 * frontier. */
void tra_type_shape(const tra_type *t, tra_dims *shape);
/* Where in that tensor the array of a key begins: one offset for each array dimension, in elements. */
void tra_type_offset(const tra_type *t, const tra_dims *key, tra_dims *offset);

#endif
