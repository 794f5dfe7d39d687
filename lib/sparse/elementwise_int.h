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

/* Places of several rows, whose values are computed at once: of row[i] those from begin[i] on. */
typedef struct batch {
    int64_t n;
    int nrows;
    double in[2][TRA_STRIP] __attribute__((aligned(64)));
    int64_t row[TRA_STRIP];
    int begin[TRA_STRIP + 1];
    uint32_t column[TRA_STRIP];
} batch;

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
    batch *batch;  /* of a result that is rows */
    int64_t apart; /* rows before this one are taken one by one */
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
 * counts their rows and entries. Returns the row after them; `row`: there are none such, or a value would be 0. */
int64_t tra_job_stretch(job *j, int64_t row, tra_rows_maker *to, int64_t *nrows, int64_t *n);
/* Computes what the batch has, and hands it to a result that is rows or to who takes it. */
void tra_job_flush(job *j, tra_rows_maker *to);

#endif
