/* columns.h - tables: their columns, their dictionaries, and how the rows of one block lie in memory.
 *
 * A table is a relation of key arity 1: the key counts blocks of rows, and the array of a tuple, of rank 1, is the
 * columns of its rows (tra_type.columns). Files read and write these blocks (table_file.h); lib/table computes on them.
 * The extents of the catalog are the rows of each block, or upper bounds of them where only the run tells how many rows
 * there are (tra_type.bounded).
 *
 * A cell of the layout tra_columns has two parts:
 * - directory, int64 [1 + 2 n]: the number of rows; then for each of the n columns where its values begin in the second
 *   part, and where its states begin, or -1
 * - bytes: those of the columns, each beginning at a multiple of TRA_CELL_ALIGN
 */
#ifndef TRA_COLUMNS_H
#define TRA_COLUMNS_H

#include "cell.h"

/* A row for each type of a column, numbers first: name in C, name in text, element type of its values in memory. A date
 * counts days since 1970, a timestamp microseconds UTC since 1970. A string is a code of its column's dictionary, which
 * is sorted by bytes, so that codes compare as the strings do. A text is a code too, but of a dictionary in the order
 * in which the texts first appeared. */
#define TRA_COLTYPES(X)                                                                                                \
    X(BOOL, "bool", BOOL)                                                                                              \
    X(I32, "i32", I32)                                                                                                 \
    X(I64, "i64", I64)                                                                                                 \
    X(F32, "f32", F32)                                                                                                 \
    X(F64, "f64", F64)                                                                                                 \
    X(DATE, "date", I32)                                                                                               \
    X(TIMESTAMP, "timestamp", I64)                                                                                     \
    X(STRING, "string", I32)                                                                                           \
    X(TEXT, "text", I32)
typedef enum tra_coltype {
#define X(name, ...) TRA_COL_##name,
    TRA_COLTYPES(X)
#undef X
} tra_coltype;

const char *tra_coltype_name(tra_coltype t);
bool tra_coltype_parse(const char *s, tra_coltype *t);
const char *tra_coltype_choices(void); /* "bool, i32, ..." for messages */
/* The element type of its values in memory. */
static inline tra_dtype tra_coltype_held(tra_coltype t) {
    static const tra_dtype held[] = {
#define X(name, text, held) [TRA_COL_##name] = TRA_##held,
        TRA_COLTYPES(X)
#undef X
    };
    return held[t];
}
tra_coltype tra_coltype_of(tra_dtype t); /* the column type of the same values */
static inline size_t tra_coltype_size(tra_coltype t) { return tra_dtype_size(tra_coltype_held(t)); }
static inline bool tra_coltype_is_coded(tra_coltype t) { return t == TRA_COL_STRING || t == TRA_COL_TEXT; }
#define TRA_COL_NUMBERS TRA_COL_BOOL... TRA_COL_F64 /* for switches: the types that are element types themselves */
static inline bool tra_coltype_is_number(tra_coltype t) { return t <= TRA_COL_F64; } /* bool counts as 0 and 1 */
static inline bool tra_coltype_is_integer(tra_coltype t) {
    return tra_coltype_is_number(t) && tra_dtype_rows[tra_coltype_held(t)].class == TRA_CLASS_INT;
}
static inline bool tra_coltype_is_float(tra_coltype t) { return tra_dtype_is_float(tra_coltype_held(t)); }

/* n strings: string i is bytes[begin[i]] .. bytes[begin[i + 1] - 1]. They are UTF-8 by intent, but may hold any byte.
 * Immutable; whoever makes a dictionary says in which arena it lives. */
typedef struct tra_dictionary {
    int64_t n;
    const int64_t *begin; /* n + 1, ascending from 0; NULL: its strings are not in memory (spooled.h) */
    const char *bytes;
    bool sorted;     /* by bytes, and none occurs twice */
    int64_t longest; /* bytes of its longest string; 0: not known */
    /* Of one that is not in memory, or was not: where its strings are, in a file or (NULL) in one or several sorted
     * dictionaries; most bytes of these; whence memory comes; what is equal of equal ones, and of others not. */
    const struct tra_spooled *file;
    int nparts;
    const struct tra_dictionary *const *part;
    const uint64_t *kept; /* of one part: which of its strings (bits) there are; NULL: all */
    int64_t bytes_most;
    tra_arena *arena;
    uint64_t mark[2];
} tra_dictionary;

enum { TRA_MAX_CODES = INT32_MAX }; /* entries of a dictionary */

static inline const char *tra_dictionary_at(const tra_dictionary *d, int64_t code, int64_t *len) {
    *len = d->begin[code + 1] - d->begin[code];
    return d->bytes + d->begin[code];
}
/* Orders two byte strings as unsigned bytes, the shorter of two that agree first: <0, 0, >0. */
int tra_bytes_cmp(const char *a, int64_t na, const char *b, int64_t nb);
/* The dictionary of these n strings, in their order, copied into the arena. Sets `sorted` by looking at them. */
const tra_dictionary *tra_dictionary_new(tra_arena *a, int64_t n, const char *const *s, const int64_t *len);
/* The code of a string, or -1. Bisection where sorted, else a scan of all strings. */
int64_t tra_dictionary_find(const tra_dictionary *d, const char *s, int64_t len);
/* The sorted union of n dictionaries. map[i][c] becomes the new code of code c of d[i]. All is in the arena. */
const tra_dictionary *tra_dictionary_union(tra_arena *a, int n, const tra_dictionary *const *d, int32_t **map);
/* Have they the same strings in the same order? */
bool tra_dictionary_eq(const tra_dictionary *a, const tra_dictionary *b);
/* The mark of a dictionary under way: strings are added in their order, n of them at a time, of which string k is
 * bytes[begin[k] - begin[0]] and so on, up to begin[k + 1] - begin[0]. end sets the mark, of which mark[0] is not 0,
 * and *sum (NULL allowed), the XXH64 of all bytes; it frees m. */
typedef struct tra_marking tra_marking;
tra_marking *tra_marking_new(void);
void tra_marking_add(tra_marking *m, int64_t n, const int64_t *begin, const char *bytes);
void tra_marking_end(tra_marking *m, uint64_t mark[2], uint64_t *sum);
/* TRA_INPUT, saying what is wrong, unless begin ascends from 0 and, if `sorted` says so, the strings are sorted. */
TRA_MUSTUSE tra_status tra_dictionary_check(const tra_dictionary *d, tra_err *e);

/* What is known of a column before the program runs. */
typedef struct tra_column {
    const char *name;
    tra_coltype type;
    bool nullable;              /* it may have NULLs */
    bool fails;                 /* it may have values that could not be computed (TRA_STATE_ERROR) */
    const tra_dictionary *dict; /* of coded types; NULL for others, and while a table is only declared */
    /* Where the values come from: all or some of those of a column of this open file, so that its statistics hold for
     * them; NULL: none. The file stays open for as long as the schema is used. */
    struct tra_rel *file;
    int number;
} tra_column;
/* Does every block of the column have bytes of states? This depends on the column alone, so that bytes follow from the
 * number of rows. */
static inline bool tra_column_has_states(const tra_column *c) { return c->nullable || c->fails; }

/* The columns of a table, in their order; names differ. Immutable. */
struct tra_schema {
    int n;
    const tra_column *v;
};
int tra_schema_find(const tra_schema *s, const char *name); /* the number of the column, or -1 */
/* Do they agree in names, types, whether there are states, and dictionaries? */
bool tra_schema_eq(const tra_schema *a, const tra_schema *b);
int64_t tra_schema_row_bytes(const tra_schema *s); /* bytes of one row: values and states */

/* The state of a value. A value that is NULL or could not be computed is held as 0. One that could not be computed (an
 * integer that does not fit) becomes an error only when a predicate, a key, an aggregate, a matrix or an output reads
 * it. */
enum { TRA_STATE_VALUE = 0, TRA_STATE_NULL = 1, TRA_STATE_ERROR = 2 };

typedef struct tra_vector {
    void *values;   /* of the element type tra_coltype_held */
    uint8_t *state; /* TRA_STATE_VALUE ... of each; NULL: all are values */
} tra_vector;
/* Bytes of the views of n columns as a piece of scratch memory. */
static inline int64_t tra_vectors_bytes(int64_t n) { return tra_round64(n * (int64_t)sizeof(tra_vector)); }

/* Rows, as kernels see them. It is a view: the block belongs to someone else. */
typedef struct tra_batch {
    const tra_schema *schema;
    int64_t rows;
    tra_vector *v; /* schema->n */
} tra_batch;

/* It is defined with its kernels (lib/table) and declared here for code that only stores and moves blocks. */
extern const tra_layout tra_columns;

/* Is this block skipped, because the plan has found that it needs no row of it? It then counts as having no rows. */
static inline bool tra_type_skips(const tra_type *t, int64_t ordinal) {
    return t->columns && t->bounded && t->entries && t->entries->of && t->entries->of[ordinal] == 0;
}
int64_t tra_type_skipped(const tra_type *t); /* how many blocks are skipped */
/* Bytes of a block of so many rows; TRA_SIZE_MOST: too many. */
int64_t tra_columns_room(const tra_schema *s, int64_t rows);
/* Lays out the block of a cell for so many rows and sets b to it; b->v must have room for the schema's columns. The
 * caller fills values and states. */
void tra_columns_begin(tra_cell *c, const tra_schema *s, int64_t rows, tra_batch *b);
/* For a cell that was laid out for more rows than were filled: keeps the first `rows` and moves the columns together.
 * Returns the bytes of the block that are used. b: NULL, or is set to it, as above. */
int64_t tra_columns_end(tra_cell *c, const tra_schema *s, int64_t rows, tra_batch *b);
/* Copies all rows of `from` to rows at, at + 1, ... of `to`, which has the same columns, of which more may have NULLs.
 */
void tra_append_rows(const tra_schema *s, const tra_batch *to, int64_t at, const tra_batch *from);
/* Copies the n values from row `begin` on to rows at, at + 1, ... */
void tra_copy_rows(tra_vector *to, int64_t at, const tra_vector *from, int64_t begin, int64_t n, tra_coltype t);
/* The rows of a cell that tra_cell_of has checked, in b. For blocks that come from elsewhere: TRA_INPUT, saying what is
 * wrong, unless each column lies where tra_columns_begin would put it, and all codes, states and bools are valid. */
TRA_MUSTUSE tra_status tra_columns_of(const tra_cell *c, const tra_schema *s, tra_batch *b, tra_err *e);
/* The same without looking at values, for code that only compares and copies them. Code that looks a code up in a
 * dictionary needs tra_columns_of. */
TRA_MUSTUSE tra_status tra_columns_view(const tra_cell *c, const tra_schema *s, tra_batch *b, tra_err *e);
/* The functions of the layout (cell.h). */
tra_size tra_columns_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows);
const char *tra_columns_adopt_extents(tra_cell *c);

/* The layout of a dense array whose extents only the run tells (a matrix of the rows that a predicate kept). Parts: the
 * extents, int64 [rank], no more than the catalog's; the array, dense, of these extents. tra_cell_of gives a cell its
 * true extents and sets array.data, so that dense kernels can use it as it is.
 */
extern const tra_layout tra_counted; /* lib/kernel */
tra_size tra_counted_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows);
const char *tra_counted_adopt_extents(tra_cell *c);
int64_t tra_counted_room(tra_dtype t, const tra_dims *ext);
bool tra_counted_take(tra_cell *c, const tra_dims *ext); /* tra_cell_take, with that room */
/* Lays out the block of a cell for an array of these extents, and sets array.data and array.ext. */
void tra_counted_begin(tra_cell *c, const tra_dims *ext);

/* Values of `size` bytes (1, 4 or 8) whose state is not 0 become 0. Returns the bits of all states. */
uint8_t tra_values_clear(void *restrict values, size_t size, const uint8_t *restrict state, int64_t n);

#endif
