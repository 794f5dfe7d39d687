/* factor.h - what the parts of rule Q-10 (q10.c, factor*.c) and Q-13 share: sums of products of matrices whose rows are
 * those of joins are computed from the joined tables, each column in the table that it comes from. Private to
 * plans/rules.
 *
 * An array lies *beside* the rows of the joins if it has one row for each of them, in their order, and no table has its
 * values. A *refusal* is recorded by tra_refuse; functions that say "false after a refusal" have done so.
 */
#ifndef TRA_FACTOR_H
#define TRA_FACTOR_H

#include "../../lib/table/sums.h"
#include "pipeline.h"

enum { TRA_FACTOR_KEYS = 8, TRA_FACTOR_COLUMNS = 64, TRA_FACTOR_PRODUCTS = 16 };

/* A column of one of the matrices: the expression x. tra_factor_split makes a product of a summand and a function of
 * the group two expressions: x and of_group. */
typedef struct feature {
    const char *name;
    const tra_colexpr *x;        /* f64, never NULL; after the split the summand alone */
    const tra_colexpr *of_group; /* the function of the group; NULL: 1 */
    bool beside;                 /* it is a column of an array beside the rows */
    bool summed;                 /* it has a summand: is not a function of the group alone */
    int at;                      /* number of the summand */
} feature;

/* A product of two matrices, in which each row may have a weight; or the sum of one matrix over its rows, which is its
 * product with a single column of ones. */
typedef struct product {
    int n[2]; /* columns of each matrix; if `same`, both sides are one, and the first is to be read */
    feature *f[2];
    bool same;       /* both are one matrix */
    feature *weight; /* a column beside the rows: the factor of each row; NULL: 1 */
} product;

/* What is added up over the rows of a group: the product of up to three summands, or the sign of that product. v: their
 * numbers, ascending; -1 where there are fewer. */
typedef struct factor_sum {
    int v[3];
    bool sign;
} factor_sum;

/* An array beside the rows of the joins, as a relation of the memo. */
typedef struct factor_array {
    const tra_expr *x;
    int width, first; /* its columns are first, first + 1, .. of all columns, after those of the pipeline's tables */
} factor_array;

/* A table x that is made step by step, join by join, and where in it all columns of the pipeline are. */
typedef struct joining {
    tra_expr *x;
    const tra_colexpr **by;    /* column i of all, as an expression over the columns of x; NULL: x has not got it */
    int nadded;                /* columns that were added to the right tables, */
    const tra_colexpr **added; /* as expressions over the columns of x */
} joining;

typedef struct factoring {
    tra_rewriting *w;
    tra_arena *a;
    tra_expr *x, *join; /* the aggregation that the rule matched, and its input */
    tra_pipe *pipe;
    bool quiet;       /* refusals are not recorded, since another way is tried next */
    const int *order; /* the order in which tra_factor_rows makes the joins; NULL: that of the pipeline */
    joining *rows;    /* the joined rows, if these are summed; NULL: the rows of the source are */
    product *own;     /* the product of x: one of the following, which one pass over the rows sums */
    int nproducts;
    product product[TRA_FACTOR_PRODUCTS];
    int group[TRA_FACTOR_PRODUCTS];          /* of each product the group of the memo that is its sum */
    int nkeys, njoinkeys;                    /* group columns; how many of them, the first ones, are keys of joins */
    const tra_colexpr *key[TRA_FACTOR_KEYS]; /* over the columns of the source */
    tra_slots *slots;
    int nsummands, nsums;
    const tra_colexpr *summand[2 * TRA_FACTOR_COLUMNS];
    factor_sum *sum;
    int narrays;
    factor_array array[2 * TRA_FACTOR_PRODUCTS];
} factoring;

/* An aggregation as Q-10 finds it: the sum of the products of two matrices of joined rows; of a matrix and an array
 * beside its rows; or the sums of the columns, or of all elements, of one matrix (single). */
typedef struct opened {
    int of[2]; /* the groups of the operands */
    const tra_expr *matrix[2];
    tra_pipe *p[2];
    bool single, same;
    const tra_expr *array;  /* in place of the second matrix */
    const tra_expr *weight; /* an array of rank 1: the weight of each row; NULL: 1 */
} opened;

/* Which sums of the program one pass over the same rows is to make: those of matrices alone (PLAIN), those in which an
 * array or weights lie beside the rows (BESIDE), or both. */
typedef enum tra_factor_which { TRA_FACTOR_PLAIN, TRA_FACTOR_BESIDE, TRA_FACTOR_ALL } tra_factor_which;

/* Why the columns of a matrix are not read, where no more is said. */
#define TRA_FACTOR_UNREAD "there are too many columns, or some are not f64, may be NULL, or may not be computed"

#define REFUSE(f, ...) ((f)->quiet ? (void)0 : tra_refuse((f)->w, (f)->x, __VA_ARGS__))

/* ---- which matrices (factor.c) ----------------------------------------------------------------------------------- */

/* Is the aggregation x of the join y the sum over n of X[n,a] * Y[n,b], with the result <a,b>; or, if Y has rank 1, the
 * sum of X[n,a] * Y[n]? (q10.c) */
bool tra_factor_is_product(const tra_expr *x, const tra_expr *y);
/* The expression of a group that makes a matrix of the rows of a table, of the narrowest table if there are several; a
 * rekey may stand above it. NULL: there is none. */
const tra_expr *tra_factor_matrix(const tra_memo *m, int group);
/* Adds the columns of that matrix to one side of a product; false after a refusal. */
bool tra_factor_read(factoring *f, product *p, int side, const tra_expr *matrix, const tra_pipe *pipe);
/* Add group columns: the first adds the keys of the joins; the second adds the columns of the source that features and
 * predicates read together with columns of other tables. False after a refusal: there are too many, or a value may not
 * be computable. */
bool tra_factor_join_keys(factoring *f);
bool tra_factor_map_keys(factoring *f);
/* Splits each feature that is a product of factors over the source alone and of other factors. */
void tra_factor_split(factoring *f);
/* Is the expression a function of the group: does it read no columns of the source but group columns? */
bool tra_factor_of_group(const factoring *f, const tra_colexpr *x);
/* *out becomes the product of x and y in f64; false: there is no such expression. */
bool tra_factor_multiply(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out);

/* ---- joins, over something else than rows (factor_join.c) -------------------------------------------------------- */

/* Expressions of the memo below f->x: the operator n; the kernel k on each array of `in`. NULL after a refusal. */
tra_expr *tra_factor_below(factoring *f, tra_node n);
tra_expr *tra_factor_pass(factoring *f, const tra_expr *in, const tra_rows_kernel *k);
/* The pass r over the table `in`. */
tra_expr *tra_factor_project(factoring *f, const tra_expr *in, const tra_rowwise *r);
/* Joins g, whose first columns are the group columns, as join `number` of the pipeline does; g becomes the result.
 * right: a table to be used in place of the join's right table; NULL: that table itself. of[i]: the column of the right
 * table that column i of `right` is; -1: an added one. */
bool tra_factor_join(factoring *f, joining *g, int number, const tra_expr *right, const int *of);
/* *g becomes the rows of all joins, with the group columns and those of all columns that `used` marks. Predicates on
 * the source alone are applied; those that read right tables are left to tra_factor_select. right[j], of[j]: as above,
 * for join j; NULL: the function takes the columns of its right table that are needed. */
bool tra_factor_rows(factoring *f, joining *g, const bool *used, tra_expr *const *right, int *const *of);
/* Applies the predicates that read columns of right tables to the rows of g. */
bool tra_factor_select(factoring *f, joining *g);
/* Marks those of all columns that the expression reads. */
void tra_factor_mark(const tra_colexpr *x, bool *used);
/* The same for what predicates and keys of joins that read right tables read. */
void tra_factor_mark_selects(const factoring *f, bool *used);
/* A pass over the right table of join j that takes its keys and the columns that `used` marks, and adds `more` columns
 * x of these names. *of: as above. */
tra_rowwise *tra_factor_right(factoring *f, int j, const bool *used, int more, const char *const *names,
                              const tra_colexpr *const *x, int **of);

/* ---- sums by groups (factor_groups.c) ---------------------------------------------------------------------------- */

/* Finds f->slots: the values that the group columns may have, the summands, and the sums; false after a refusal. */
bool tra_factor_slots(factoring *f);
/* The table of the groups that have rows, in one block or in several: the group columns, how many rows, and sums. */
tra_expr *tra_factor_groups(factoring *f);
/* The sum that the product of columns x and y needs; with v[0] < 0 it is the number of rows. */
factor_sum tra_factor_sum_of(const product *p, const feature *x, const feature *y);
/* The number of this sum in f->sum; -1: it is not there. */
int tra_factor_find(const factoring *f, const factor_sum *s);
/* ---- which sums (q10.c) ------------------------------------------------------------------------------------------ */

/* ---- arrays beside the rows of joins (factor_beside.c) ----------------------------------------------------------- */

/* Why an array of this type cannot be multiplied with rows beside it; NULL: it can. The second function gives the array
 * in blocks of rows, under one key. */
const char *tra_factor_array_refused(const tra_type *t);
tra_expr *tra_factor_array(factoring *f, const tra_expr *array);
/* The same for the rows of joins. A row of a joined table must not be there twice for one key: all rows of a group
 * count as one, though the array may differ in them. */
const char *tra_factor_beside_refused(const tra_memo *m, const opened *o);
/* *out: the columns of an array beside the rows, as features. Returns their number. */
int tra_factor_beside(factoring *f, const tra_expr *array, feature **out);
/* f->rows becomes the rows of the joins with the arrays beside them; these are then summed in place of the source. */
bool tra_factor_rows_beside(factoring *f);

/* ---- results (q10.c) --------------------------------------------------------------------------------------------- */

/* Claims that `made`, of rank 2, is what f->x computes. If f->x has a lower rank, the dimensions that it lacks, of
 * extent 1, are taken off. Its first `keys` key dimensions are kept, and the others are 0. */
void tra_factor_claim(factoring *f, const tra_expr *made, int keys);
/* Is the aggregation x of y the sum of the elements of one matrix that leaves the dimensions which `kept` names, for
 * example "ab->a"? */
bool tra_factor_is_sum(const tra_expr *x, const tra_expr *y, const char *kept);
/* Applies Q-10 to a product X W, and to row sums of X (q10_rows.c). x: the aggregation; y: its input. */
void tra_factor_weigh(tra_rewriting *w, tra_expr *x, tra_expr *y);
/* Applies Q-13 to a product X W in which the rows of X are those of a table, not of a join. */
void tra_factor_weigh_columns(tra_rewriting *w, tra_expr *x, tra_expr *y);

#endif
