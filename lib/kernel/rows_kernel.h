/* rows_kernel.h - kernels on the rows of tables, which another room runs. */
#ifndef TRA_ROWS_KERNEL_H
#define TRA_ROWS_KERNEL_H

#include "../model/columns.h"

typedef enum tra_kernel_use { TRA_USE_JOIN = 1, TRA_USE_AGG = 2, TRA_USE_MAP = 4 } tra_kernel_use;

/* Extents along dimension 0 of the result of a kernel on rows, at most. */
typedef enum tra_rows_extent {
    TRA_ROWS_SAME,     /* the rows of the (left) operand */
    TRA_ROWS_EITHER,   /* `most`: of one operand alone, the other has no rows */
    TRA_ROWS_RIGHT,    /* the same, of which those of the right operand are expected */
    TRA_ROWS_PAIRS,    /* `most`: for pairs of rows of both operands */
    TRA_ROWS_PRODUCT,  /* for each row of the left as many as the right has, or `each`; `most` at most, unless 0 */
    TRA_ROWS_OUTER,    /* the same, and all of both; with `each` one at least for each row of the left */
    TRA_ROWS_MOST,     /* `most`, or fewer rows of the operand */
    TRA_ROWS_ONE,      /* one */
    TRA_ROWS_ELEMENTS, /* the elements of the (left) operand, or `most` */
    TRA_ROWS_FIXED,    /* `most`, exactly */
    TRA_ROWS_NONE,     /* the result is a number, of rank 0 */
    TRA_ROWS_TAKEN,    /* of a tensor: the left operand's extents, but along dimension `width` the right one's
                          positions; an entry of the left one has at most `each` in the result */
} tra_rows_extent;

/* Which operands and results of a kernel are tables, and how it wants to see them. */
typedef struct tra_rows_form {
    const tra_schema *in[2], *out; /* NULL: an array */
    bool viewed[2];                /* codes of the operand are not looked up (tra_columns_view) */
    bool closed;                   /* the kernel opens the right operand itself */
    /* Where `over` is there and `reads` is not: the columns of the left operand that it reads, whoever reads its
     * result; it reads all of the right one; its first columns are those of the left one, the right one, or both. */
    int nkeys;
    const int *key;
    bool reads_right;
    enum { TRA_REPEATS_NONE, TRA_REPEATS_LEFT, TRA_REPEATS_RIGHT, TRA_REPEATS_BOTH } repeats;
} tra_rows_form;
/* The form function of data of that type, which are `x`. */
#define TRA_ROWS_FORM(name, type, ...)                                                                                 \
    static tra_rows_form name(const void *data) {                                                                      \
        const type *x = data;                                                                                          \
        return (tra_rows_form){__VA_ARGS__};                                                                           \
    }

/* The `rest` and `over` functions of such data (tra_rows_ops): an expression of the extents a and b; what changes in
 * `x`, which is a copy. */
#define TRA_ROWS_REST(name, type, bytes)                                                                               \
    static int64_t name(const void *data, const tra_dims *a, const tra_dims *b) {                                      \
        const type *x = data;                                                                                          \
        (void)x, (void)a, (void)b;                                                                                     \
        return bytes;                                                                                                  \
    }
#define TRA_ROWS_OVER(name, type, ...)                                                                                 \
    static const void *name(tra_arena *a, const void *data, const tra_rows_fewer *f) {                                 \
        type *x = tra_new(a, type);                                                                                    \
        *x = *(const type *)data;                                                                                      \
        __VA_ARGS__;                                                                                                   \
        return x;                                                                                                      \
    }

/* Which columns a kernel on rows reads, and what it is over fewer of them (rule Q-6). Columns of operands are numbered
 * together: those of the left one, then those of the right one. */
typedef struct tra_rows_reads {
    int left;   /* columns of the left operand */
    bool *read; /* the kernel reads this column, whoever reads its result; all are false before */
    int *from;  /* of each column of the result the one that it repeats; -1, as before: the kernel makes it */
    bool both;  /* and the one of that number of the right operand, too */
} tra_rows_reads;
/* It reads n columns of an operand, whose columns begin at `first`; column NULL: its first n. */
void tra_rows_read(tra_rows_reads *r, int first, int n, const int *column);
/* Its first n columns are those from `first` on. */
void tra_rows_repeat(tra_rows_reads *r, int first, int n);

/* Fewer columns: all that are read are there. The result has those that the kernel makes, and those that it repeats
 * where these are there. */
typedef struct tra_rows_fewer {
    int left;                      /* columns that the left operand had */
    const tra_schema *in[2], *out; /* what the operands (NULL: no table) and the result have */
    const int *place;              /* of each former column its number in its operand; -1: it is gone */
} tra_rows_fewer;
/* What n columns of an operand, whose columns began at `first`, are now. */
const int *tra_rows_places(tra_arena *a, const tra_rows_fewer *f, int first, int n, const int *column);

/* What a kernel on rows works on. */
typedef struct tra_rows_io {
    const tra_cell *a, *b; /* the operands; b: of a join, else NULL; */
    tra_batch in[2];       /* those that are tables, opened */
    tra_cell *out;
    tra_batch made; /* a result that is a table, once it is laid out */
    void *rest;     /* scratch of its own, aligned to 64 */
} tra_rows_io;
/* Lays out a result that is a table, for so many rows; false: there is no memory, and the kernel gives up. */
bool tra_rows_result(tra_rows_io *io, int64_t rows);
/* The kernel filled only the first so many rows. */
void tra_rows_filled(tra_rows_io *io, int64_t rows);
/* The first element of the right operand, an i64 array that says the number of a block, part or row; 0 of an empty one.
 */
int64_t tra_rows_position(const tra_rows_io *io);

/* What runs them, whose `data` that is. Failures are noted by tra_kernel_fail; then the result does not matter. ext_b:
 * of a join, else NULL. */
typedef struct tra_rows_ops {
    tra_rows_form (*form)(const void *data); /* missing: no tables */
    /* Bytes of scratch of its own; missing: none. */
    int64_t (*rest)(const void *data, const tra_dims *ext_a, const tra_dims *ext_b);
    /* Of a join: bytes of what is kept of the right operand (tra_kept). May be missing. */
    int64_t (*keep)(const void *data, const tra_dims *ext_b);
    void (*run)(const void *data, tra_rows_io *io);
    /* The data of two maps as one, in the arena; a NULL: only whether there are such. NULL: no. May be missing. */
    const void *(*then)(tra_arena *a, const void *first, const void *next);
    /* Of a map to TRA_ROWS_FIXED dense rows: adds the result to such an array, exactly in any order. May be missing. */
    void (*add)(const void *data, const tra_rows_io *io, tra_array *sum);
    /* Its data over fewer columns, in the arena (NULL: no); missing: it may read all. Which it reads; missing: what its
     * form says. */
    const void *(*over)(tra_arena *a, const void *data, const tra_rows_fewer *f);
    void (*reads)(const void *data, tra_rows_reads *r);
    /* Of a join: has the result no rows, whatever the left operand has, since the right one is this table? Missing: it
     * may have. And is that all that happens where the left one has none? Missing: no, the right one is tested. */
    bool (*none)(const void *data, const tra_cell *right);
    bool (*idle)(const void *data);
} tra_rows_ops;

/* Which rows of the left operand a result keeps, while the right one lacks rows that there is room for. */
typedef enum tra_rows_kept {
    TRA_KEPT_ALWAYS, /* as many as if the right one had all */
    TRA_KEPT_MET,    /* in the proportion in which rows of the right one are there */
    TRA_KEPT_UNMET   /* those that meet none of these */
} tra_rows_kept;

/* A kernel on the rows of tables, which another room runs: what typing, rules, costs and printing know of it. */
typedef struct tra_rows_kernel {
    const char *text, *label; /* for readers; and as the program writes it, NULL: it has no such operator */
    tra_kernel_use use;
    const tra_schema *columns; /* of the result; NULL: a tensor of elements of dtype */
    tra_dtype dtype;
    int64_t width; /* of a tensor: its extent along dimension 1 */
    tra_rows_extent extent;
    int64_t most;
    bool expected; /* `most` is an estimate: a run that makes more rows is planned again, and begins anew */
    int64_t each; /* of pairs: rows of the right operand that one of the left meets, at most; 0: no more is known */
    int64_t all;  /* rows of all results together, at most; 0: no more is known */
    bool sparse;  /* a tensor: by type, with an entry for each row of the operand, at most */
    bool counts;  /* there may be fewer rows than that: only the run tells how many */
    double share; /* of that bound, that are expected (EITHER: those of both operands are) */
    bool sorts;   /* its work does not become less where fewer rows are expected */
    tra_rows_kept kept; /* the left operand's rows */
    bool divides; /* no row of the left operand comes to more than one result: together they have no more than it */
    double flops; /* for each row of the (left) operand */
    const tra_rows_ops *ops;
    const void *data;
} tra_rows_kernel;
/* Which columns it reads; false: it may read all. */
bool tra_rows_reads_of(const tra_rows_kernel *k, tra_rows_reads *r);
/* tra_rows_ops.add, for an operand and scratch. */
void tra_rows_add(const tra_rows_kernel *k, const tra_cell *a, tra_array *sum, void *scratch);
/* Of the other functions, as tra_cell_scratch, and as what runs a kernel on cells. */
int64_t tra_rows_scratch(const tra_rows_kernel *k, const tra_dims *ext_a, const tra_dims *ext_b);
void tra_rows_run(const tra_rows_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch);

#endif
