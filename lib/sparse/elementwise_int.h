/* elementwise_int.h - what elementwise.c and elementwise_rows.c share: a function of elements of one operand or two,
 * which is computed row by row. */
#ifndef TRA_ELEMENTWISE_INT_H
#define TRA_ELEMENTWISE_INT_H

#include "reduce.h"

/* An operand as the result's rows see it. */
typedef struct operand {
    tra_reader in;
    int64_t stride[TRA_MAXDIM]; /* of the result's leading dimensions, in rows of the operand */
    bool leads;                 /* its rows are the result's */
    bool wide;                  /* its one column stands for all */
    int64_t r;                  /* its rows before this one come before the row at hand */
    /* of the row at hand: */
    const uint32_t *column;
    int64_t count, first, at;
    int64_t inside; /* columns that it has, where it is a part of the result (job.part) */
} operand;

/* Places of several rows, whose values are computed at once: of row[i] those from begin[i] on. If the result is rows,
 * `column` points into it, behind the columns of earlier rows. */
typedef struct batch {
    int64_t n;
    int nrows;
    uint32_t *column;
    double in[2][TRA_STRIP] __attribute__((aligned(64)));
    void *raw[2]; /* values of operands that are read side by side, before they are converted: in `in` or `spare` */
    double spare[2][TRA_STRIP];
    int64_t row[TRA_STRIP];
    int begin[TRA_STRIP + 1];
    uint32_t own[TRA_STRIP];
} batch;

/* Reads the next places of two rows (elementwise_merge.c). */
typedef int64_t read_fn(operand *x, operand *y, int64_t most, uint32_t *column, void *to_x, void *to_y);

typedef struct job {
    const tra_code *code; /* NULL: converts */
    int nargs;
    operand arg[2];
    bool sparse[2], candidate[2], all;
    bool both; /* it is 0 wherever one of the operands is */
    tra_typed typed;
    tra_cell *out;             /* or */
    const tra_rows_sink *sink; /* what takes the values */
    int piece;
    tra_dtype type; /* of the values */
    tra_dims ext;
    int64_t first, rows, columns; /* rows from the first to before `rows` are made */
    /* The last operand is an array of other extents, whose elements are those of the result with the same coordinates:
     * where it has none stands this value, of the type in which it is computed. */
    bool part;
    int64_t beyond;
    double (*regs)[TRA_STRIP];
    bool meets;    /* rows that are read side by side have columns in common, as far as is known */
    read_fn *read; /* of two operands that are rows, read side by side; else NULL */
    batch *batch;  /* of a result that is rows */
} job;

/* The value of an operand at that column, or what stands for it, as number i of a strip. Columns ascend from call to
 * call. */
void tra_job_take(job *j, int arg, int64_t column, void *strip, int64_t i);
/* The program on n elements, to elements of the result's type. */
void tra_job_compute(const job *j, double (*in)[TRA_STRIP], int64_t n, void *to);

/* ---- results that are rows (elementwise_rows.c) ------------------------------------------------------------------ */

/* Appends the row to the batch; to NULL: counts where it may be other than 0, or more than that. */
int64_t tra_job_row(job *j, int64_t number, tra_rows_maker *to);
/* Takes the rows from `row` on that one operand alone has, where they are several: appends them all at once, or to NULL
 * counts their rows and entries. Returns the row after them; `row`: there are none such. */
int64_t tra_job_stretch(job *j, int64_t row, tra_rows_maker *to, int64_t *nrows, int64_t *n);
/* How many more places of the row the batch has room for: at least one. */
int64_t tra_job_room(job *j, int64_t row, tra_rows_maker *to);
/* Computes what the batch has, and hands it to a result that is rows or to who takes it. */
void tra_job_flush(job *j, tra_rows_maker *to);

/* Does the operand have entries alone that a sink takes as they come, row after row? Then all of the piece are. */
bool tra_job_streams(const job *j);
void tra_job_stream(job *j);

/* ---- two operands that are rows (elementwise_merge.c) -------------------------------------------------------------
 */

/* Sets how they are read side by side, if they are. */
void tra_job_merges(job *j);
/* The row of operands that are: as tra_job_row. */
int64_t tra_job_merged(job *j, int64_t number, tra_rows_maker *to);
/* Are their rows the result's? Then all rows of the piece are appended, or to NULL counted, with their entries. */
bool tra_job_walks(const job *j);
void tra_job_walk(job *j, tra_rows_maker *to, int64_t *nrows, int64_t *n);

#endif
