/* reduce.h - what the files share that move and fold the entries of one operand. */
#ifndef TRA_SPARSE_REDUCE_H
#define TRA_SPARSE_REDUCE_H

#include "project.h"

/* The labels of a step: of its operand, and of its result. */
typedef struct tra_fold_labels {
    int rank, nout;
    int8_t in[TRA_MAXDIM], out[TRA_MAXDIM];
} tra_fold_labels;
/* false: the step is no move or fold of operand `of`, of that rank. */
bool tra_fold_labels_of(const tra_kernel *step, int of, int rank, tra_fold_labels *l);
/* Does the step bring each element to a place of its own? */
bool tra_rows_moves(const tra_kernel *step);
/* Are two dimensions of the same label? */
bool tra_is_diagonal(const tra_fold_labels *l);
/* How many elements are folded into one of the result. */
int64_t tra_folded(const tra_fold_labels *l, const tra_dims *in);
void tra_fold_route(const tra_fold_labels *l, const tra_dims *out, tra_route *route);
/* Where the entries of a row come to: the first coordinates in the result, as a place, and the step of the last one. */
int64_t tra_fold_place(const tra_route *route, const tra_dims *ext, int64_t width, int64_t row);
int64_t tra_fold_step(const tra_route *route, const tra_dims *ext, int64_t width);

/* A function of the elements at one place of one operand or two, then others of its result, folded into a dense
 * array. */
enum { TRA_TOTAL_MORE = 2 };
typedef struct tra_total {
    const tra_kernel *step; /* its labels and its fold */
    int of;                 /* the operand that has all labels, and is rows */
    int nargs;
    const tra_code *code; /* NULL: the elements as they are */
    bool wide;            /* integers are computed as i64 */
    int nmore;
    tra_unary more[TRA_TOTAL_MORE]; /* functions of the result of code */
    tra_unary after;                /* and one of what was folded */
    bool by_place; /* what is no entry differs from place to place: by the other operand, whose labels the result has */
} tra_total;
/* Bytes of scratch. ext: of operand `of`, which has at most so many entries, or larger. */
int64_t tra_rows_total_scratch(const tra_total *t, tra_dtype a, const tra_dims *ext, int64_t entries);
/* Only entries are computed: where there are none, elements are the function of 0, however many. as: extents of the
 * other operand as those of an array with the same labels. */
void tra_rows_total(const tra_total *t, const tra_cell *const *in, const tra_dims *as, tra_array *out, void *scratch);

/* ---- the values of a function at entries (elementwise.c) ------------------------------------------------------- */

/* At most TRA_STRIP values in ascending rows, and ascending columns of these: of row[i] those from begin[i] to before
 * begin[i + 1], of which there may be none. */
typedef struct tra_rows_some {
    int nrows;
    const int64_t *row;
    const int *begin; /* [nrows + 1], from 0 */
    const uint32_t *column;
    const void *value;
} tra_rows_some;
/* What takes them: values of that type; in each piece rows ascend, and pieces have different rows. */
typedef struct tra_rows_sink {
    tra_dtype type;
    int most; /* pieces at most */
    void *ctx;
    void (*put)(void *ctx, int piece, const tra_rows_some *some);
} tra_rows_sink;
/* Values are computed where an operand of `where` (bits) has an entry; 0: where the function may be other than 0.
 * Returns the number of pieces. */
int tra_rows_visit(const tra_code *code, const tra_dtype *types, int nargs, bool wide, const tra_cell *const *in,
                   const tra_dims *ext, unsigned where, const tra_rows_sink *sink);

#endif
