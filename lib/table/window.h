/* window.h - functions of each row and of the rows around it: its place in its group, values of other rows, aggregates
 * over a frame.
 *
 * Rows of equal keys are a group, which an order sorts; rows of one group that are equal in the order are ties. A frame
 * is a range of the sorted rows of a group, and for the rows of a group, in their order, both of its ends only go up.
 * So ends are found by two pointers. Counts and sums of integers are differences of running totals, which are exact.
 * Sums of floats, moments, least and greatest values are folded over a tree of totals, so that nothing is ever taken
 * away from a float. Quantiles count the values of the frame by their ranks in the group.
 *
 * Semantics: man tra-table.5.
 */
#ifndef TRA_WINDOW_H
#define TRA_WINDOW_H

#include "group.h"

/* How a function is found: by the place of the row in its group; as the value of a row so many places away; as the
 * value at an end of the frame; as an aggregate of the frame that folds; by all values of the frame in their order. */
typedef enum tra_window_way {
    TRA_WINDOW_PLACE,
    TRA_WINDOW_MOVE,
    TRA_WINDOW_END,
    TRA_WINDOW_FOLD,
    TRA_WINDOW_RANKED
} tra_window_way;

/* Functions: name in C, name in the language, least and most arguments, what the first one is, what the result is
 * (group.h), way. Only END, FOLD and RANKED have frames. */
#define TRA_WINDOWS(X)                                                                                                 \
    X(ROW_NUMBER, "row_number", 0, 0, ANY, NUMBER, PLACE) /* from 1 */                                                 \
    X(RANK, "rank", 0, 0, ANY, NUMBER, PLACE)             /* of the first of its ties */                               \
    X(DENSE_RANK, "dense_rank", 0, 0, ANY, NUMBER, PLACE) /* ties count as one */                                      \
    X(NTILE, "ntile", 1, 1, ANY, NUMBER, PLACE)           /* n: parts of equal size, of which the first are larger */  \
    X(LAG, "lag", 1, 3, ANY, VALUE, MOVE)                 /* n: rows before */                                         \
    X(LEAD, "lead", 1, 3, ANY, VALUE, MOVE)                                                                            \
    X(FIRST, "first", 1, 1, ANY, VALUE, END) /* of the frame, NULL or not */                                           \
    X(LAST, "last", 1, 1, ANY, VALUE, END)                                                                             \
    X(NTH, "nth", 2, 2, ANY, VALUE, END) /* n: from 1 */                                                               \
    X(COUNT, "count", 0, 1, ANY, NUMBER, FOLD)                                                                         \
    X(SUM, "sum", 1, 1, NUMBERS, TOTAL, FOLD)                                                                          \
    X(MEAN, "mean", 1, 1, NUMBERS, REAL, FOLD)                                                                         \
    X(MIN, "min", 1, 1, ANY, VALUE, FOLD)                                                                              \
    X(MAX, "max", 1, 1, ANY, VALUE, FOLD)                                                                              \
    X(VAR, "var", 1, 1, NUMBERS, REAL, FOLD)                                                                           \
    X(STD, "std", 1, 1, NUMBERS, REAL, FOLD)                                                                           \
    X(SHARE, "share", 1, 1, NUMBERS, TOTAL, FOLD) /* the total, by which the compiler divides the value */             \
    X(MEDIAN, "median", 1, 1, NUMBERS, REAL, RANKED)                                                                   \
    X(QUANTILE, "quantile", 2, 2, NUMBERS, REAL, RANKED) /* q */
typedef enum tra_window_function {
#define X(name, ...) TRA_WINDOW_##name,
    TRA_WINDOWS(X)
#undef X
} tra_window_function;
const char *tra_window_text(tra_window_function f);
const char *tra_window_name(int i);    /* of function i; NULL after the last */
int tra_window_find(const char *name); /* -1: none */
tra_window_way tra_window_way_of(tra_window_function f);
bool tra_window_takes(tra_window_function f, tra_coltype t); /* values of that type? */
void tra_window_arguments(tra_window_function f, int *least, int *most);

/* From its first row to its last: an end is open, or so many rows after the row, or where the order is so much more
 * than at the row (`range`): whole of an order by whole numbers, dates and timestamps, real of one by floats. 0 stands
 * for the row and, of `range`, its ties. What descends is counted downwards. */
typedef struct tra_window_frame {
    bool range, open[2];
    int64_t whole[2];
    double real[2];
} tra_window_frame;

typedef struct tra_window_column {
    const char *name; /* of the result */
    tra_window_function f;
    int column; /* of `in`; -1: count() and functions of the place. LAG, LEAD: is there such a row? as a bool */
    int64_t n;  /* LAG, LEAD, NTH: rows; NTILE: parts */
    double q;   /* QUANTILE */
    tra_window_frame frame;
} tra_window_column;

/* Of rows whose first columns are nkeys keys, then norder columns of the order. The result has the number of the row,
 * then a column for each function, in the order of `in`, or where that is sorted (`context`) for its own rows. */
typedef struct tra_window {
    const tra_schema *in, *out;
    int nkeys, norder;
    const int *column; /* 0, 1, .. */
    const bool *desc;  /* of keys, which ascend, and of the order */
    int number;        /* the column of `in` that has the number of the row; -1: rows count from 0 */
    int n;
    const tra_window_column *v;
    int64_t top;                              /* not 0: only rows whose rank is at most this have results, */
    tra_window_function by;                   /* by row_number, rank or dense_rank */
    const struct tra_window_context *context; /* NULL: `in` has all rows of its groups, in their order in the table */
} tra_window;
/* Fills what follows from the rest: out, column, desc (of the order: as given; NULL: all ascend). */
const tra_window *tra_window_new(tra_arena *a, const tra_window *fields);
/* Are the rows that have results selected, so that only these are sorted? */
bool tra_window_selects(const tra_window *x);
extern const tra_rows_ops tra_window_ops; /* data: a tra_window */

#endif
