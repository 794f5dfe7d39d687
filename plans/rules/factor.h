/* factor.h - sums of products of matrices whose rows are those of joins, taken apart by the tables that the columns
 * are of: what the parts of rule Q-10 share (q10.c, factor*.c), and Q-13. Private to plans/rules.
 */
#ifndef TRA_FACTOR_H
#define TRA_FACTOR_H

#include "../../lib/table/sums.h"
#include "pipeline.h"

enum { TRA_FACTOR_KEYS = 8, TRA_FACTOR_COLUMNS = 64, TRA_FACTOR_PRODUCTS = 16 };

/* A column of one of the matrices: x; where it is a product of a summand and a function of the group, the two
 * (tra_factor_slots). */
typedef struct feature {
    const char *name;
    const tra_colexpr *x;        /* f64, never NULL; the summand */
    const tra_colexpr *of_group; /* the function of the group; NULL: 1 */
    bool beside;                 /* of an array that lies beside the rows of the joins, which no table has */
    bool summed;                 /* is there a summand? */
    int at;                      /* its number */
} feature;

/* A product of two matrices, in which each row may have a weight; or the sum of one matrix over its rows, which is its
 * product with a single column of ones. */
typedef struct product {
    int n[2]; /* columns of the matrices; the same: those of the first count */
    feature *f[2];
    bool same;
    feature *weight; /* a column beside the rows, by which each row counts; NULL: 1 */
} product;

/* What is added up over the rows of a group: the product of up to three summands (ascending; -1: fewer), or its sign.
 */
typedef struct factor_sum {
    int v[3];
    bool sign;
} factor_sum;

/* An array whose rows are those of the joins, as a relation of the memo: no table has its values. */
typedef struct factor_array {
    const tra_expr *x;
    int width, first; /* its columns come after all of the pipeline */
} factor_array;

/* What expressions over all columns of a pipeline are over a table that is made of it step by step. */
typedef struct joining {
    tra_expr *x;
    const tra_colexpr **by;    /* column i of all, over the columns of x; NULL: not there */
    int nadded;                /* columns that its right tables have besides theirs: */
    const tra_colexpr **added; /* over the columns of x */
} joining;

typedef struct factoring {
    tra_rewriting *w;
    tra_arena *a;
    tra_expr *x, *join; /* the sum, and what is summed */
    tra_pipe *pipe;
    bool quiet;       /* what is refused is tried otherwise */
    const int *order; /* of the joins (tra_factor_rows); NULL: theirs */
    joining *rows;    /* the rows that are summed; NULL: those of the source */
    product *own; /* of these matrices; among all that are summed over the same rows, for which one pass is enough: */
    int nproducts;
    product product[TRA_FACTOR_PRODUCTS];
    int group[TRA_FACTOR_PRODUCTS]; /* of the memo, of each sum */
    int nkeys, njoinkeys;           /* group columns, over the source; the first: keys of joins */
    const tra_colexpr *key[TRA_FACTOR_KEYS];
    tra_slots *slots;
    int nsummands, nsums;
    const tra_colexpr *summand[2 * TRA_FACTOR_COLUMNS];
    factor_sum *sum;
    int narrays;
    factor_array array[2 * TRA_FACTOR_PRODUCTS];
} factoring;

/* A sum of products of two matrices of joined rows; of a matrix and an array that lies beside its rows; or of the
 * columns of one (single). */
typedef struct opened {
    int of[2]; /* groups */
    const tra_expr *matrix[2];
    tra_pipe *p[2];
    bool single, same;
    const tra_expr *array;  /* in place of the second matrix */
    const tra_expr *weight; /* of rank 1: of each row; NULL: 1 */
} opened;

/* Which sums of the program are made of one pass over the same rows: those of matrices, those of arrays and weights
 * beside the rows, or both. */
typedef enum tra_factor_which { TRA_FACTOR_PLAIN, TRA_FACTOR_BESIDE, TRA_FACTOR_ALL } tra_factor_which;

/* Why the columns of a matrix are not read, where no more is said. */
#define TRA_FACTOR_UNREAD "there are too many columns, or some are not f64, may be NULL, or may not be computed"

#define REFUSE(f, ...) ((f)->quiet ? (void)0 : tra_refuse((f)->w, (f)->x, __VA_ARGS__))

/* ---- which matrices (factor.c) ----------------------------------------------------------------------------------- */

/* Is it sum X[n,a] * Y[n,b], the result <a,b>; or, Y being of rank 1, sum X[n,a] * Y[n]? (q10.c) */
bool tra_factor_is_product(const tra_expr *x, const tra_expr *y);
/* The pass that makes the matrix of a group, maybe under other keys; of the narrowest table. NULL: there is none. */
const tra_expr *tra_factor_matrix(const tra_memo *m, int group);
/* Its columns, as features of one side of a product; false after a refusal. */
bool tra_factor_read(factoring *f, product *p, int side, const tra_expr *matrix, const tra_pipe *pipe);
/* Can each value of the expression be computed? Else what could not be is an error that names a row of the join. */
bool tra_factor_total(factoring *f, const tra_colexpr *x, const char *what, const char *name);
/* The group columns: keys of the joins; and what else features and predicates read of the source together with
 * others. False after a refusal, of what may not be computed too. */
bool tra_factor_join_keys(factoring *f);
bool tra_factor_map_keys(factoring *f);
/* Splits columns that are products of what the source has and of what it has not alone. */
void tra_factor_split(factoring *f);
/* Is it a constant, or read nothing of the source but group columns? */
bool tra_factor_of_group(const factoring *f, const tra_colexpr *x);
bool tra_factor_multiply(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out);

/* ---- joins, over something else than rows (factor_join.c) -------------------------------------------------------- */

tra_expr *tra_factor_below(factoring *f, tra_node n);
tra_expr *tra_factor_pass(factoring *f, const tra_expr *in, const tra_rows_kernel *k);
/* A pass that makes these columns. */
tra_expr *tra_factor_project(factoring *f, const tra_expr *in, const tra_rowwise *r);
/* Join `number` of the pipeline, of g, whose first columns are the group columns. right: in place of the right table,
 * of whose columns it has of[i] at place i, -1: one that was added; NULL: the right table itself. */
bool tra_factor_join(factoring *f, joining *g, int number, const tra_expr *right, const int *of);
/* The rows of the joins, with the group columns and these columns of all that `used` marks. What is of source and
 * right tables is not selected yet (tra_factor_select). right[j], of[j]: as above; NULL: a right table is made narrow
 * here. */
bool tra_factor_rows(factoring *f, joining *g, const bool *used, tra_expr *const *right, int *const *of);
/* Selects what predicates on both tables let through. */
bool tra_factor_select(factoring *f, joining *g);
/* Marks the columns of all that the expression reads. */
void tra_factor_mark(const tra_colexpr *x, bool *used);
/* The same of what predicates on both tables read. */
void tra_factor_mark_selects(const factoring *f, bool *used);
/* Columns of join number j's right table: its keys, and those that `used` marks. *of as above, with room for `more`. */
tra_rowwise *tra_factor_right(factoring *f, int j, const bool *used, int more, const char *const *names,
                              const tra_colexpr *const *x, int **of);

/* ---- sums by groups (factor_groups.c) ---------------------------------------------------------------------------- */

/* The group columns' values, summands and sums; false after a refusal. */
bool tra_factor_slots(factoring *f);
/* The table of the groups that have rows, in one block or in several: the group columns, how many rows, and sums. */
tra_expr *tra_factor_groups(factoring *f);
/* What is summed for the product of these two columns; v[0] < 0: the rows are counted. */
factor_sum tra_factor_sum_of(const product *p, const feature *x, const feature *y);
/* The number of a sum, -1: it is none. */
int tra_factor_find(const factoring *f, const factor_sum *s);
/* Is the expression never infinite, as far as is known? It may be NaN. Where it is infinite, its product with a sum is
 * not the sum of its products, which is NaN unless all summands have one sign (factor_finite.c). */
bool tra_factor_finite(const factoring *f, const tra_colexpr *x);

/* ---- which sums (q10.c) ------------------------------------------------------------------------------------------ */

/* False: it is no such sum, or not of joins. */
bool tra_factor_open(tra_rewriting *w, const tra_expr *x, const tra_expr *y, opened *o);
/* Adds the product of an opened sum; false after a refusal. */
bool tra_factor_add(factoring *f, const opened *o);

/* ---- arrays beside the rows of joins (factor_beside.c) ----------------------------------------------------------- */

/* Why an array cannot be multiplied with the rows; NULL: it can. And that array, cut in blocks of rows by one key. */
const char *tra_factor_array_refused(const tra_type *t);
tra_expr *tra_factor_array(factoring *f, const tra_expr *array);
/* The same for the rows of joins. Each row must have one partner at most, since rows of the join are then rows of the
 * array. */
const char *tra_factor_beside_refused(const tra_memo *m, const opened *o);
/* The columns of an array as features; their number. */
int tra_factor_beside(factoring *f, const tra_expr *array, feature **out);
/* The rows of the joins with the arrays beside them, to be summed in place of the source's. */
bool tra_factor_rows_beside(factoring *f);

/* ---- results (q10.c) --------------------------------------------------------------------------------------------- */

/* What is in columns as rank 2 becomes what x of f is: without its second dimension, of extent 1, where that is of rank
 * 1, and under keys of which only the first `keys` are not 0. */
void tra_factor_claim(factoring *f, const tra_expr *made, int keys);
/* Is it a sum of the elements of one matrix in which dimensions `kept` are left, "ab->a" for example? */
bool tra_factor_is_sum(const tra_expr *x, const tra_expr *y, const char *kept);
/* X W, of which w is the right factor, and row sums (q10_rows.c). */
void tra_factor_weigh(tra_rewriting *w, tra_expr *x, tra_expr *y);
/* X W of the columns of a table that is no join. */
void tra_factor_weigh_columns(tra_rewriting *w, tra_expr *x, tra_expr *y);

#endif
