/* table.h - what can be done to the rows of tables: expressions over columns, and kernels on batches.
 *
 * Expressions are typed trees, which the compiler builds over the columns of a schema and workers evaluate in strips of
 * rows. Functions of strings are computed when the tree is built, once for each entry of a dictionary, so that rows
 * have only codes to look up. Kernels take batches (lib/model/columns.h) and make new ones. Trees and kernels are in
 * arenas, never change once they are built, and may be used by any thread.
 *
 * Source: Wen, TensorTable, TBench 2024; NULLs, NaN and orders as man tra-lang.5 has them.
 */
#ifndef TRA_TABLE_H
#define TRA_TABLE_H

#include "../kernel/kernel.h"
#include "../model/columns.h"
#include "../model/dates.h"
#include "calls.h"

/* ---- expressions --------------------------------------------------------------------------------------------- */

/* Operators and functions (those of numbers: functions.h): name in C, text, least and most operands (-1: any number),
 * class (tra_colclass: what types they take and give, how they are computed; REAL: any numbers, as f64). Those whose
 * text is no word are operators of the language. Results for operands a, b, c (integer: bool, i32 or i64, in i64):
 *   + - *       integers i64, what does not fit is an error of the row; with a float f64; date + - integer: days;
 *               timestamp + - integer: microseconds; date - date and timestamp - timestamp: i64
 *   /  ^        f64
 *   div %       floor of the quotient, and what is left (of the sign of b); integers i64, NULL where b is 0
 *   comparisons bool, of operands of one kind (numbers; dates; timestamps; strings and texts, by bytes; bools)
 *   same        as ==, but NULL is the same as NULL, and NaN as NaN: never NULL
 *   && || !     three-valued
 *   if ifnull min max  the type that holds both; of strings a string of both dictionaries
 *   in          a == any of the others, as || of them
 *   abs, and the functions of TRA_PARTS  the type of the operand, of integers i64; isnan, isinf: bool
 *   the functions of TRA_REALS  f64
 *   year ... weekday      i64, of dates and timestamps; hour, minute and second of timestamps alone
 *   date        of a date, timestamp or string (NULL where that is no date), or of year, month, day (NULL where they
 *               are not one)
 *   timestamp   of a timestamp, date or string, or of year, month, day, hour, minute, second
 *   the functions of TRA_CALLS  as calls.h has them
 *   hash        i64 >= 0: XXH64 of the bytes of a, whose seed is 0, then of b, whose seed is that, ...; without the
 *               sign bit at the end. Bytes: integers, bools, dates, timestamps: 8, little-endian, as i64; floats: 8, as
 *               f64, -0 as 0 and any NaN as 0x7ff8000000000000; strings: theirs; NULL: none. Never NULL.
 *   row         i64: number of the row in its table, from 0
 * Unless this list says otherwise a result is NULL where an operand is NULL, and an error where an operand is one
 * (columns.h). */
#define TRA_COLOPERATOR(X, name, arity, text, in_tables, cls, in, def) X(name, in_tables, arity, arity, in)
#define TRA_COLREAL(X, name, arity, text, def, loop)                   X(name, text, arity, arity, REAL)
#define TRA_COLPART(X, name, text, cls, def)                           X(name, text, 1, 1, ROUNDING)
#define TRA_COLCALL(X, name, text, least, most, ...)                   X(name, text, least, most, CALL)
#define TRA_COLOPS(X)                                                                                                  \
    TRA_OPERATORS(TRA_COLOPERATOR, X)                                                                                  \
    X(ISNULL, "isnull", 1, 1, TEST)                                                                                    \
    X(IFNULL, "ifnull", 2, 2, CHOICE)                                                                                  \
    X(SAME, "same", 2, 2, COMPARISON)                                                                                  \
    X(IN, "in", 2, -1, LIST)                                                                                           \
    TRA_PARTS(TRA_COLPART, X)                                                                                          \
    TRA_REALS(TRA_COLREAL, X)                                                                                          \
    X(YEAR, "year", 1, 1, CALENDAR)                                                                                    \
    X(QUARTER, "quarter", 1, 1, CALENDAR)                                                                              \
    X(MONTH, "month", 1, 1, CALENDAR)                                                                                  \
    X(WEEK, "week", 1, 1, CALENDAR)                                                                                    \
    X(ISOYEAR, "isoyear", 1, 1, CALENDAR)                                                                              \
    X(YEARDAY, "yearday", 1, 1, CALENDAR)                                                                              \
    X(DAY, "day", 1, 1, CALENDAR)                                                                                      \
    X(WEEKDAY, "weekday", 1, 1, CALENDAR)                                                                              \
    X(HOUR, "hour", 1, 1, CALENDAR)                                                                                    \
    X(MINUTE, "minute", 1, 1, CALENDAR)                                                                                \
    X(SECOND, "second", 1, 1, CALENDAR)                                                                                \
    X(DATE, "date", 1, 3, MOMENT)                                                                                      \
    X(TIMESTAMP, "timestamp", 1, 6, MOMENT)                                                                            \
    TRA_CALLS(TRA_COLCALL, X)                                                                                          \
    X(HASH, "hash", 1, -1, HASH)                                                                                       \
    X(ROW, "row", 0, 0, ROW)
typedef enum tra_colclass {
    TRA_COLCLASS_SUM,
    TRA_COLCLASS_PRODUCT,
    TRA_COLCLASS_QUOTIENT,
    TRA_COLCLASS_COMPARISON,
    TRA_COLCLASS_LOGIC,
    TRA_COLCLASS_SIGN,
    TRA_COLCLASS_TEST,
    TRA_COLCLASS_CHOICE,
    TRA_COLCLASS_LIST,
    TRA_COLCLASS_ROUNDING,
    TRA_COLCLASS_REAL,
    TRA_COLCLASS_CALENDAR,
    TRA_COLCLASS_MOMENT,
    TRA_COLCLASS_CALL,
    TRA_COLCLASS_HASH,
    TRA_COLCLASS_ROW,
} tra_colclass;
typedef enum tra_colop {
#define X(name, ...) TRA_C_##name,
    TRA_COLOPS(X)
#undef X
    /* what else a tree consists of; made by the functions below, never by name */
    TRA_C_COLUMN,
    TRA_C_CONST,
    TRA_C_CONVERT, /* to the type of the node */
    TRA_C_RECODE,  /* code -> code of the node's dictionary */
    TRA_C_LOOKUP,  /* code -> value of the node's type, and its state */
    TRA_C_PICK,    /* the same of several operands: where each lies on its axis, the last one running fastest */
} tra_colop;
#define TRA_C_COMPARISONS TRA_C_LT ... TRA_C_NE /* for switches */

/* What a whole number counts, where that is a span of time: only the compiler of programs asks. */
typedef enum tra_time_unit { TRA_TIME_NONE, TRA_TIME_MICROS, TRA_TIME_DAYS } tra_time_unit;

/* The values for which a table has results: codes or whole numbers, count of them from `least` on, or of a list. */
typedef struct tra_colaxis {
    int64_t least, count;
    const int64_t *list; /* ascending; NULL: all from `least` on */
} tra_colaxis;

typedef struct tra_colexpr tra_colexpr;
struct tra_colexpr {
    tra_colop op;
    tra_coltype type;
    bool untyped;               /* the constant null, until an operator gives it a type */
    bool nullable, fails;       /* some value may be NULL; some value may be an error (as in tra_column) */
    const tra_dictionary *dict; /* of coded types */
    int nkids;
    const tra_colexpr *const *kids;
    int column;           /* COLUMN: its number in the schema */
    struct tra_rel *file; /* COLUMN: the file whose column `number` has all of these values; NULL: there is none */
    int number;
    int64_t least, most; /* whole numbers, dates and timestamps: every value lies in this range */
    union {              /* CONST: the value, unless it is NULL */
        int64_t i;       /* integers, bools, dates, timestamps, codes */
        double f;        /* floats */
    } value;
    bool null;         /* CONST: it is NULL */
    const void *table; /* RECODE, LOOKUP: the result for each code, in the type that tra_coltype_held says; */
    const struct tra_recoding *recoding; /* RECODE: or (table NULL) its place in a dictionary that is not in memory */
    const uint8_t *tstate;               /* LOOKUP: the state of each of these; NULL: all are values */
    tra_time_unit counts;
    bool calendar;           /* DATE, TIMESTAMP: made of year, month, day, ... */
    const tra_colaxis *axis; /* PICK: of each operand; `entries` results in the table */
    int64_t entries;
    const void *prepared;    /* a function of calls.h */
    int64_t tabulated[2];    /* what its table took: results that were computed, and different strings that were put in
                                order */
    _Atomic uint64_t digest; /* of the table and the dictionary, once the expression was printed; 0: not yet */
};

/* The operator of that text with so many operands; -1: none. "-" is SUB of two and NEG of one. */
int tra_colop_find(const char *text, int nargs);
const char *tra_colop_text(tra_colop op);
/* Of a comparison a < b the one that says the same of b and a, b > a; any other operator is its own. */
tra_colop tra_colop_mirrored(tra_colop op);
const char *tra_colop_function(int i); /* the name of function i (a word, also "div"); NULL after the last */
/* Does the tree ask for row()? */
bool tra_colexpr_uses_row(const tra_colexpr *x);
/* Reads into memory the strings of all of its dictionaries. TRA_RESOURCE: they do not fit below the ceiling. */
TRA_MUSTUSE tra_status tra_colexpr_read(const tra_colexpr *x, tra_err *e);
/* Marks the columns that the tree reads: used[number]. */
void tra_colexpr_columns(const tra_colexpr *x, bool *used);
/* The range in which all values of an expression lie, by what its file tells: count whole numbers (INT64_MAX: or more)
 * from least on, or count codes of strings. false: a float. */
bool tra_colexpr_axis(const tra_colexpr *x, tra_colaxis *v);

/* Building, in the arena. Strings are copied. */
const tra_colexpr *tra_colexpr_column(tra_arena *a, const tra_schema *s, int column);
const tra_colexpr *tra_colexpr_int(tra_arena *a, int64_t v); /* i64 */
const tra_colexpr *tra_colexpr_float(tra_arena *a, double v);
const tra_colexpr *tra_colexpr_bool(tra_arena *a, bool v);
const tra_colexpr *tra_colexpr_string(tra_arena *a, const char *s, int64_t len);
const tra_colexpr *tra_colexpr_null(tra_arena *a);
const tra_colexpr *tra_colexpr_days(tra_arena *a, int32_t days);     /* a date */
const tra_colexpr *tra_colexpr_micros(tra_arena *a, int64_t micros); /* a timestamp */
/* An operator on operands: finds the type, converts operands, computes what depends on dictionaries and constants
 * alone. TRA_PROGRAM, in the terms of the language, when the types do not fit; the caller adds the place. Where a
 * dictionary is not there (of a table that is only declared) the tree has its types, but cannot run. */
TRA_MUSTUSE static inline tra_status tra_colexpr_call(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                                      const tra_colexpr **out, tra_err *e);
/* Which strings of calls (calls.h) are computed beforehand, for all values that operands may have; others are made of
 * rows where a program asks for them (made.h). tra_colexpr_call: of TRA_COMBINATIONS_MOST values. */
enum { TRA_COMBINATIONS_MOST = 1 << 22 };
typedef struct tra_beforehand {
    int64_t most; /* of so many combinations of values of several columns: 2^16 at the least */
    bool few;     /* only strings of few rows are wanted: of 2^16 values, but all of a column of strings */
} tra_beforehand;
TRA_MUSTUSE tra_status tra_colexpr_call_with(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                             const tra_beforehand *beforehand, const tra_colexpr **out, tra_err *e);
static inline tra_status tra_colexpr_call(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                          const tra_colexpr **out, tra_err *e) {
    return tra_colexpr_call_with(a, op, n, kids, &(tra_beforehand){.most = TRA_COMBINATIONS_MOST}, out, e);
}
/* Converts to another type: numbers to numbers (as matrix(..., type = f32) needs), strings to another dictionary that
 * has all of theirs, null to any type. TRA_PROGRAM as above. */
TRA_MUSTUSE tra_status tra_colexpr_convert(tra_arena *a, const tra_colexpr *x, tra_coltype type,
                                           const tra_dictionary *dict, const tra_colexpr **out, tra_err *e);
/* The column that the expression makes. */
tra_column tra_colexpr_result(const tra_colexpr *x, const char *name);
/* The expression with column k replaced by the tree by[k]: what x, over the columns of a projection, is over the
 * columns that are projected. */
const tra_colexpr *tra_colexpr_substitute(tra_arena *a, const tra_colexpr *x, const tra_colexpr *const *by);

/* As the language writes it, with the names of these columns. */
void tra_colexpr_print(const tra_colexpr *x, const tra_schema *s, tra_str *out);

/* ---- rows, one by one ---------------------------------------------------------------------------------------- */

/* A row-wise kernel: steps that select rows or replace the columns, and at its end, maybe, a matrix. Neighbouring
 * select, project and matrix of a program become one. Built step by step, then immutable. */
typedef struct tra_rowwise tra_rowwise;
tra_rowwise *tra_rowwise_new(tra_arena *a, const tra_schema *in);
/* Columns that a projection is to have, as they are added: the room for them grows. */
typedef struct tra_projection {
    tra_arena *arena;
    int n;
    const char **names;
    const tra_colexpr **x;
} tra_projection;
/* Adds an expression, or column c of s as it is; returns its number. */
int tra_projection_add(tra_projection *p, const char *name, const tra_colexpr *x);
int tra_projection_keep(tra_projection *p, const tra_schema *s, int c);
/* A pass over rows with the columns `in` that projects them. */
tra_rowwise *tra_projection_pass(const tra_projection *p, const tra_schema *in);
/* Rows for which the predicate (a bool over the columns of the step before) is true. */
void tra_rowwise_select(tra_rowwise *r, const tra_colexpr *predicate);
/* These columns, in this order; names are copied. */
void tra_rowwise_project(tra_rowwise *r, int n, const char *const *names, const tra_colexpr *const *x);
/* Ends with a matrix of rows x n elements of type t. A NULL becomes *fill, or is an error where fill is NULL.
 * TRA_PROGRAM when an expression gives no numbers that such elements hold; names are for that message. */
TRA_MUSTUSE tra_status tra_rowwise_matrix(tra_rowwise *r, int n, const char *const *names, const tra_colexpr *const *x,
                                          tra_dtype t, const double *fill, tra_err *e);
const tra_schema *tra_rowwise_in(const tra_rowwise *r);
const tra_schema *
tra_rowwise_out(const tra_rowwise *r); /* the columns after the last step; of a matrix those it is of */
bool tra_rowwise_is_matrix(const tra_rowwise *r, tra_dtype *t); /* t may be NULL */
bool tra_rowwise_selects(const tra_rowwise *r);                 /* may rows be dropped? */
bool tra_rowwise_uses_row(const tra_rowwise *r); /* does it ask for row()? Only before the first step that selects */
/* Step i: the predicate of one that selects (names NULL), else its columns. */
typedef struct tra_rowwise_step {
    bool selects;
    int n;
    const char *const *names;
    const tra_colexpr *const *x; /* over the columns after the step before */
    const char *text;            /* its expressions, once somebody has printed them; NULL: nobody has */
} tra_rowwise_step;
int tra_rowwise_steps(const tra_rowwise *r, const tra_rowwise_step **v);
/* Does it give all rows back, with the columns that they have, in their order and under their names? */
bool tra_rowwise_is_identity(const tra_rowwise *r);
const double *tra_rowwise_fill(const tra_rowwise *r); /* of a matrix; NULL: none */
/* Both one after the other, in the arena; the first makes no matrix. */
const tra_rowwise *tra_rowwise_then(tra_arena *a, const tra_rowwise *first, const tra_rowwise *next);

/* What a kernel notes beside its result. */
enum { TRA_WHERE = 80 };
/* Why a value is NULL though no operand is: an integer was divided by zero; there is no such date or time; div or %
 * divided a float by zero. */
enum { TRA_NULL_DIVIDED = 1, TRA_NULL_NO_DATE = 2, TRA_NULL_DIVIDED_FLOAT = 4 };
typedef struct tra_table_notes {
    int64_t by_zero;       /* values that are NULL, of columns or conditions, for these causes: */
    unsigned causes;       /* TRA_NULL_ bits */
    char where[TRA_WHERE]; /* "column `k`", of the first of them */
} tra_table_notes;
/* What kernels on this thread noted since the last call; false, and *n is not set, if they did not. */
bool tra_table_noted(tra_table_notes *n);

/* Of the rows of an operand the key that most of them have, or that makes most pairs of rows, as a sample tells. */
enum { TRA_KEYTEXT = 88 };
typedef struct tra_heavy_key {
    int64_t all, rows;        /* rows that were looked at; about so many have the key; 0: no key stands out */
    int64_t all_pairs, pairs; /* with rows of the other operand, about; 0: they were not counted */
    int64_t different;        /* keys in the sample, at most in that of one block */
    char columns[TRA_KEYTEXT], values[TRA_KEYTEXT]; /* "k, day"; "7, 2024-01-01" */
} tra_heavy_key;
/* What kernels on this thread found since the last call, of the left and of the right operand; false: nothing. */
bool tra_table_noted_keys(tra_heavy_key v[2]);

/* Bytes of scratch, aligned to 64, that a run takes. */
int64_t tra_rowwise_scratch(const tra_rowwise *r);
/* Counts the rows that will come out; where no step selects rows that takes no look at them. scratch as for a run.
 * TRA_INPUT as below, for predicates. */
TRA_MUSTUSE tra_status tra_rowwise_count(const tra_rowwise *r, const tra_batch *in, int64_t first, int64_t *rows,
                                         void *scratch, tra_err *e);
/* Takes the rows of `in`, of which the first is row number `first` of its table, through all steps. The results go to
 * out, whose vectors have room for as many rows as come out, and whose number of rows is set; or, as a matrix, to data,
 * row by row, and *rows is set. TRA_INPUT, naming row and column, for a value that could not be computed, or is NULL
 * where that is an error. */
TRA_MUSTUSE tra_status tra_rowwise_run(const tra_rowwise *r, const tra_batch *in, int64_t first, tra_batch *out,
                                       void *scratch, tra_table_notes *notes, tra_err *e);
TRA_MUSTUSE tra_status tra_rowwise_run_matrix(const tra_rowwise *r, const tra_batch *in, int64_t first, void *data,
                                              int64_t *rows, void *scratch, tra_table_notes *notes, tra_err *e);

/* select(j > 0), project(k = j), ... `brief`: of a long step the beginning and a digest, which differ if it does. */
void tra_rowwise_print(const tra_rowwise *r, bool brief, tra_str *out);

#endif
