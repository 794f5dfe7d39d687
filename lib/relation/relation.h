/* relation.h - what a tensor relation is: keys, shapes, element types, catalogs and types.
 *
 * A relation is a set of (key, array) pairs. Its catalog says, before anything is read, which keys exist and how large
 * each array is; its type adds the element type and which key dimension cuts which array dimension. Files are the
 * business of store.h.
 *
 * Source: Yuan et al., Tensor Relational Algebra, VLDB 2021, section 2 (keys, frontier, bound, continuity).
 */
#ifndef TRA_RELATION_H
#define TRA_RELATION_H

#include "../base/base.h"

enum { TRA_MAXDIM = 31 };     /* key arity + rank; HDF5 1.10 allows 32 dimensions */
enum { TRA_MAXAXISDIMS = 6 }; /* key dimensions by which a relation is partitioned together */

/* A key or a shape: n numbers. Passed by pointer, copied by assignment. */
typedef struct tra_dims {
    int n;
    int64_t v[TRA_MAXDIM];
} tra_dims;

bool tra_dims_eq(const tra_dims *a, const tra_dims *b);
bool tra_dims_product(const tra_dims *d, int64_t *out); /* 1 for n = 0; false on overflow */
/* Row-major linear index of key within box, and back. The product of box must not overflow. */
int64_t tra_linear(const tra_dims *box, const tra_dims *key);
void tra_unlinear(const tra_dims *box, int64_t pos, tra_dims *key);
void tra_strides(const tra_dims *ext, int64_t *stride); /* of a row-major array, in elements: ext->n numbers */
/* Where the key of a join has dimension d of the right key: joinl[i] if it is joined as joinr[i], else after the kl
 * dimensions of the left key, in order. */
int tra_join_key(const tra_dims *joinl, const tra_dims *joinr, int kl, int d);
bool tra_next(const tra_dims *box, tra_dims *key); /* row-major successor; false after the last (key is zeroed) */
/* dst[i . dstride] = src[i . sstride] for all i in ext; strides in elements, of 1, 2, 4 or 8 bytes. In tiles where the
 * two do not run along the same dimension. */
void tra_copy_strided(size_t size, const tra_dims *ext, void *dst, const int64_t *dstride, const void *src,
                      const int64_t *sstride);
/* "1000x1000" (also "1000,1000"; "" is rank 0); each >= min. False if malformed. */
bool tra_parse_dims(const char *s, int64_t min, tra_dims *d);
char *tra_dims_text(const tra_dims *d, const char *open, const char *sep, const char *close, char *buf, size_t n);
#define tra_key_text(d, buf)   tra_dims_text(d, "<", ",", ">", buf, sizeof(buf))
#define tra_shape_text(d, buf) tra_dims_text(d, "", " x ", "", buf, sizeof(buf))
enum { TRA_DIMTEXT = 512 }; /* large enough for any of these texts that a message wants */

/* ---- element types ------------------------------------------------------------------------------------------- */

/* A row for each element type. Columns: name in C, name in text, C type, class, type of the state of a sum (which is
 * also the type of sums over labels of integers), letter of its BLAS routines (0: none), type string of numpy without
 * the byte order, name in binsparse files. HDF5's types are looked up in the store. A bool is one byte, 0 or 1. */
#define TRA_DTYPES(X)                                                                                                  \
    X(F64, "f64", double, FLOAT, F64, 'd', "f8", "float64")                                                            \
    X(F32, "f32", float, FLOAT, F64, 's', "f4", "float32")                                                             \
    X(I64, "i64", int64_t, INT, I64, 0, "i8", "int64")                                                                 \
    X(I32, "i32", int32_t, INT, I64, 0, "i4", "int32")                                                                 \
    X(BOOL, "bool", uint8_t, BOOL, I64, 0, "b1", "bint8")
typedef enum tra_dtype {
#define X(name, ...) TRA_##name,
    TRA_DTYPES(X)
#undef X
} tra_dtype;
typedef enum tra_dtype_class { TRA_CLASS_FLOAT, TRA_CLASS_INT, TRA_CLASS_BOOL } tra_dtype_class;
typedef struct tra_dtype_row {
    const char *name;
    size_t size; /* of an element, bytes */
    tra_dtype_class class;
    tra_dtype sum;
    char blas;
    const char *numpy, *binsparse;
} tra_dtype_row;
extern const tra_dtype_row tra_dtype_rows[];

static inline size_t tra_dtype_size(tra_dtype t) { return tra_dtype_rows[t].size; }
static inline const char *tra_dtype_name(tra_dtype t) { return tra_dtype_rows[t].name; }
static inline bool tra_dtype_is_float(tra_dtype t) { return tra_dtype_rows[t].class == TRA_CLASS_FLOAT; }

/* Element i: of whole numbers and bools, 0 of others; of any type as a double; as 64 bits, those of a double or of a
 * whole number. */
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
bool tra_dtype_parse(const char *s, tra_dtype *t);
const char *tra_dtype_choices(void);          /* "f64, f32, ..." for messages */
bool tra_dtype_holds(tra_dtype t, int64_t v); /* of an integer type or bool; a float takes any, rounded */
/* The type that holds the values of both: a bool fits every type, integers beside floats give f64. */
tra_dtype tra_dtype_join(tra_dtype a, tra_dtype b);

/* ---- catalogs ----------------------------------------------------------------------------------------------- */

/* Which keys exist, and the extents of each array. Two forms:
 *   grid: every key in the box `frontier` exists. Along array dimension a the extent is bound[a], except in tuples
 *         whose key component by[a] has its last value: there it is last[a] (by[a] = -1: nowhere; then last[a] =
 *         bound[a]).
 *   list: the n keys whose row-major positions in the box `frontier` are pos[0] < pos[1] < ...; the extents of
 *         tuple t are ext[cls[t]*r ...] (cls NULL: class 0 for all).
 * A tuple's ordinal is its position in key order: the linear index for a grid, the index into pos for a list.
 * frontier[d] is one more than the largest existing key component (0 when empty); bound[a] no less than any extent: the
 * largest in a grid, in a list also that of holes (a tensor's block extent).
 * Immutable once made; arrays belong to the arena it was made in. */
typedef struct tra_catalog {
    tra_dims frontier; /* frontier.n = key arity k */
    tra_dims bound;    /* bound.n = rank r */
    bool grid;
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    int64_t n; /* tuples, both forms */
    const int64_t *pos;
    const uint32_t *cls;
    int64_t nclasses;
    const int64_t *ext;
} tra_catalog;

enum { TRA_MAX_LIST = 1 << 24 }; /* an explicit list of more tuples is refused */

/* The grid of a tensor cut in blocks: k = r, dimension d cut by key d. Extent 0 gives frontier 0 and bound 1. */
TRA_MUSTUSE tra_status tra_catalog_blocks(const tra_dims *shape, const tra_dims *block, tra_catalog *out, tra_err *e);
/* A grid from its parts (by, last as above). Refused when the number of keys overflows. */
TRA_MUSTUSE tra_status tra_catalog_grid(const tra_dims *frontier, const tra_dims *bound, const int8_t *by,
                                        const int64_t *last, tra_catalog *out, tra_err *e);

/* Builds a catalog from tuples in any order. Duplicate keys are refused: TRA_PROGRAM, and *dup (if not NULL) gets the
 * two payloads that collide (payload: the caller's number for a tuple, say its source's ordinal). finish gives a grid
 * when the tuples form one, else a list; *order (if not NULL, in arena) gets the payloads in key order. */
typedef struct tra_catbuilder tra_catbuilder;
tra_catbuilder *tra_catbuilder_new(int k, int r); /* malloc'ed; finish or free ends it */
TRA_MUSTUSE tra_status tra_catbuilder_add(tra_catbuilder *b, const tra_dims *key, const tra_dims *ext, int64_t payload,
                                          tra_err *e);
TRA_MUSTUSE tra_status tra_catbuilder_finish(tra_catbuilder *b, tra_arena *a, tra_catalog *out, int64_t **order,
                                             int64_t dup[2], tra_err *e);
void tra_catbuilder_free(tra_catbuilder *b);

int64_t tra_catalog_find(const tra_catalog *c, const tra_dims *key); /* ordinal, or -1 */
void tra_catalog_key(const tra_catalog *c, int64_t ordinal, tra_dims *key);
void tra_catalog_ext(const tra_catalog *c, int64_t ordinal, tra_dims *ext);
/* A number >= 0: arrays of the same number have the same extents. */
int64_t tra_catalog_class(const tra_catalog *c, int64_t ordinal);
/* Elements, INT64_MAX where there are more; what they take of memory and files is tra_type_bytes's to say. */
int64_t tra_catalog_floats1(const tra_catalog *c, int64_t ordinal); /* of one array */
int64_t tra_catalog_floats(const tra_catalog *c);                   /* of all arrays; closed form for grids */
int64_t tra_catalog_maxfloats(const tra_catalog *c);                /* of the largest array */
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
    /* Sparse by type (man tra-storage.5): where its elements are 0 as factors or dividends they annihilate, NaN and
     * infinity too, however its arrays are held. Follows from the program and its inputs alone. */
    bool sparse;
    const tra_layout *layout;   /* how its arrays are held; NULL: dense */
    const tra_entries *entries; /* sparse: what is known of them; NULL: nothing but the extents */
    const tra_schema *columns;  /* a table: its arrays are rows, of rank 1, in the layout tra_columns; NULL: a tensor */
    /* Array dimensions (bits) along which extents are bounds: only the run tells how many rows of a table there are,
     * and each cell says its own (columns.h). `entries` then are the elements (of a table, rows) that are there. */
    uint32_t bounded;
    uint32_t cut[TRA_MAXDIM]; /* for each array dimension the set of key dimensions (bits) that cut it */
} tra_type;

/* What something takes, in bytes: never more than bound. exact: just that; else expected is an estimate. firm: memory
 * is counted by the bound all the same (needs.h). Nothing is known of what takes TRA_SIZE_MOST or more, but that: sums
 * of a few such sizes still fit an int64_t. */
typedef struct tra_size {
    int64_t expected, bound;
    bool exact, firm;
} tra_size;
#define TRA_SIZE_MOST (INT64_MAX / 4)
static inline bool tra_size_known(tra_size s) { return s.exact || s.bound == 0; }
/* May it be so many? */
static inline bool tra_size_admits(tra_size s, int64_t bytes) {
    return bytes >= 0 && (s.exact ? bytes == s.bound : bytes <= s.bound);
}
tra_size tra_size_exactly(int64_t bytes);
tra_size tra_size_upto(int64_t bytes); /* a bound for want of an estimate */
tra_size tra_size_about(double expected, int64_t bound);
tra_size tra_size_add(tra_size a, tra_size b);
tra_size tra_size_times(tra_size s, int64_t n);

/* How many elements are entries: those that are stored, all others being 0. Counts of them are kept as sizes are: an
 * estimate with a bound, or exact. */
struct tra_entries {
    tra_size all;            /* of all arrays together */
    int64_t most;            /* of one array, at most */
    const int64_t *of;       /* of each tuple by ordinal, exactly; NULL: not known. Then the following are known too: */
    const int64_t *rows;     /* of each tuple: rows (all coordinates but the last) that have an entry */
    tra_size bytes, largest; /* what all arrays take in t->layout, and what the largest does */
    /* Of rows (all coordinates but the last) as a file counts them: entries of one row of an array, at most, and the
     * sum over all rows of all arrays of the square of their entries; 0: not known. */
    int64_t fullest;
    double squares;
};
/* Entries of t, in the arena: exact ones, of which t has the layout that is to be accounted for (rows may be NULL); or
 * what is estimated. */
const tra_entries *tra_entries_exactly(tra_arena *a, const tra_type *t, const int64_t *of, const int64_t *rows);
const tra_entries *tra_entries_about(tra_arena *a, const tra_type *t, double expected, int64_t all, int64_t most);
/* The same with what is known of rows. */
const tra_entries *tra_entries_with_rows(tra_arena *a, const tra_entries *e, int64_t fullest, double squares);
/* Of all arrays; of one. Without entries: as many as there may be. */
tra_size tra_type_entries(const tra_type *t);
tra_size tra_type_entries1(const tra_type *t, int64_t ordinal);
/* The most that an array of so many bytes may have. */
int64_t tra_type_entries_within(const tra_type *t, int64_t bytes);

/* The share of its elements that are held: the entries that are expected in a layout that is not dense, else 1. */
double tra_type_held(const tra_type *t);

/* The one place that knows what tuples take, stored, held or sent: one tuple; all; the largest; and any that have so
 * many elements together. */
tra_size tra_type_bytes(const tra_type *t, int64_t ordinal);
tra_size tra_type_bytes_all(const tra_type *t);
tra_size tra_type_bytes_largest(const tra_type *t);
tra_size tra_type_bytes_of(const tra_type *t, int64_t elements);
/* The same of so many pieces of tuples at most, which may hold all entries of theirs. */
tra_size tra_type_bytes_pieces(const tra_type *t, int64_t elements, int64_t pieces);
/* Of a dense array that is no tuple: a term, a state, scratch. */
int64_t tra_dense_bytes(tra_dtype t, const tra_dims *ext);
enum { TRA_SIZETEXT = 80 };
/* "16 MiB", "about 3 MiB (at most 16 MiB)", "up to 16 MiB", or that it is too much to count; in a column "16 MiB" or
 * "~3 MiB". Return buf. */
char *tra_size_text(tra_size s, char buf[TRA_SIZETEXT]);
char *tra_size_cell(tra_size s, char buf[TRA_SIZETEXT]);

/* Tensor layout (man tra-lang.5): every dimension cut by at most one key, no key cutting two dimensions, equal extents
 * along uncut dimensions, clipped only at the last value of the cutting key. *why (if not NULL) gets the reason when
 * not. Of an empty relation the answer is by the cut sets alone. */
bool tra_type_is_tensor(const tra_type *t, const char **why);
/* As above and k = r with dimension d cut by key d: what EinSum, repart and minindex need. */
bool tra_type_is_blocked(const tra_type *t, const char **why);
/* Extents of the tensor that a relation in tensor layout stands for, without the uncutting key dimensions: one extent
 * for each array dimension. In a list the last block along a dimension may be missing: then it ends at the frontier. */
void tra_type_shape(const tra_type *t, tra_dims *shape);
/* In tensor layout: where the array of a key begins in that tensor. */
void tra_type_offset(const tra_type *t, const tra_dims *key, tra_dims *offset);

#endif
