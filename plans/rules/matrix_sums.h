/* matrix_sums.h - sums of products of matrices whose rows are those of a table, or of joins, computed from the tables
 * that their columns come from (rules ). matrix_query.c reads them; matrix_sums.c, group_sums.c and
 * weighed_rows.c make the steps; joined_rows.c makes joins again, over something else than their rows. Private to
 * plans/rules.
 *
 * An array lies *beside* the rows of a table if it has one row for each of them, in their order, and no table has its
 * values. A *refusal* is recorded by tra_refuse; functions that say "false after a refusal" have done so.
 */
#ifndef TRA_MATRIX_SUMS_H
#define TRA_MATRIX_SUMS_H

#include "../../lib/table/sums.h"
#include "pipeline.h"

enum { TRA_FACTOR_KEYS = 8, TRA_FACTOR_COLUMNS = 64, TRA_FACTOR_PRODUCTS = 16 };

/* A column of one of the matrices: the expression x. tra_factor_slots makes a product of a summand and a function of
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
    const tra_facts *facts; /* of all its columns; NULL: nobody has asked */
    bool quiet;             /* refusals are not recorded, since another way is tried next */
    const int *order;       /* the order in which tra_factor_rows makes the joins; NULL: that of the pipeline */
    joining *rows;          /* the joined rows, if these are summed; NULL: the rows of the source are */
    product *own;           /* the product of x: one of the following, which one pass over the rows sums */
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

/* An aggregation as it is read, by its labels: the sum over rows of the products of two matrices of them, of a matrix
 * and an array beside its rows, or of one matrix; and, of each row, the sum of its elements, each by its weight. */
typedef enum sum_kind { SUM_PRODUCTS = 1, SUM_COLUMNS = 2, SUM_ROWS = 4, SUM_WEIGHED = 8 } sum_kind;
typedef struct opened {
    sum_kind kind;
    int of[2]; /* the groups of the operands */
    const tra_expr *matrix[2];
    tra_pipe *p[2];
    bool same;
    const tra_expr *array;   /* in place of the second matrix */
    const tra_expr *weight;  /* an array of rank 1: the weight of each row; NULL: 1 */
    const tra_node *weights; /* of the elements of a row; NULL: they are 1 */
} opened;

/* Why the columns of a matrix are not read, where no more is said. */
#define TRA_FACTOR_UNREAD "there are too many columns, or some are not f64, may be NULL, or may not be computed"
#define REFUSE(f, ...)    ((f)->quiet ? NULL : tra_refuse((f)->w, (f)->x, __VA_ARGS__))

/* ---- what is summed (matrix_query.c) ----------------------------------------------------------------------------- */

/* Reads the aggregation x of y, of a matrix whose rows are those of joins, or (not joined) of a table. False: it is no
 * such sum. */
bool tra_open_sum(tra_rewriting *w, const tra_expr *x, const tra_expr *y, bool joined, opened *o);
/* Why its parts cannot be used; NULL: they can. */
const char *tra_sum_refused(const tra_memo *m, const opened *o);
/* Adds the columns of a matrix to one side of a product; false after a refusal. */
bool tra_factor_read(factoring *f, product *p, int side, const tra_expr *matrix, const tra_pipe *pipe);
/* Adds the product of an opened sum; false after a refusal. */
bool tra_factor_add(factoring *f, const opened *o);
factoring *tra_factoring_new(tra_rewriting *w, tra_expr *x, tra_expr *y, tra_pipe *p);
/* *out becomes the expression in f64, or the product of x and y in f64; false: there is no such expression. */
bool tra_factor_real(tra_arena *a, const tra_colexpr *x, const tra_colexpr **out);
bool tra_factor_multiply(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out);

/* ---- joins, over something else than rows (joined_rows.c) -------------------------------------------------------- */

/* The kernel k on each array of `in`, below f->x; NULL after a refusal. */
tra_expr *tra_factor_pass(factoring *f, const tra_expr *in, const tra_rows_kernel *k);
/* The pass r over the table `in`. */
tra_expr *tra_factor_project(factoring *f, const tra_expr *in, const tra_rowwise *r);
/* The join of rows with an array that has one for each, or, `all`, with an array under no key. */
tra_expr *tra_factor_beside(factoring *f, const tra_expr *rows, const tra_node *array, bool all,
                            const tra_rows_kernel *k);
/* The relation under other keys: the first `keys` of it, as many as `n`, where those that it lacks are 0. */
tra_node tra_factor_rekeyed(factoring *f, const tra_expr *x, int keys, int n);
/* The sum of the arrays of x, if there are several. */
tra_expr *tra_factor_total(factoring *f, tra_expr *x);
/* Adds group columns, the keys of the joins; false after a refusal: there are too many, or a value may not be
 * computable. The second function adds one, the third says whether every value of the expression can be computed. */
bool tra_factor_join_keys(factoring *f);
bool tra_factor_add_key(factoring *f, const tra_colexpr *x);
bool tra_factor_is_total(factoring *f, const tra_colexpr *x, const char *what, const char *name);
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
/* Marks what predicates and keys of joins that read right tables read. */
void tra_factor_mark_selects(const factoring *f, bool *used);
/* A pass over the right table of join j that takes its keys and the columns that `used` marks, and adds `more` columns
 * x of these names. *of: as above. */
tra_rowwise *tra_factor_right(factoring *f, int j, const bool *used, int more, const char *const *names,
                              const tra_colexpr *const *x, int **of);

/* ---- sums by groups (group_sums.c) ------------------------------------------------------------------------------- */

/* Finds f->slots: the values that the group columns may have, the summands, and the sums; false after a refusal. */
bool tra_factor_slots(factoring *f);
/* The table of the groups that have rows, in one block or in several: the group columns, how many rows, and sums. */
tra_expr *tra_factor_groups(factoring *f);
/* The sum that the product of columns x and y needs; with v[0] < 0 it is the number of rows. */
factor_sum tra_factor_sum_of(const product *p, const feature *x, const feature *y);
/* The number of this sum in f->sum; -1: it is not there. */
int tra_factor_find(const factoring *f, const factor_sum *s);
/* The columns of an array beside the rows, as features, in *out. Returns their number. */
int tra_factor_array_columns(factoring *f, const tra_expr *array, feature **out);
static inline int tra_factor_width(const tra_expr *array) {
    return array->node.type.cat->bound.n == 2 ? (int)array->node.type.cat->bound.v[1] : 1;
}
/* The array in blocks of rows, under one key. */
tra_expr *tra_factor_array(factoring *f, const tra_expr *array);

/* ---- results (matrix_sums.c, weighed_rows.c) --------------------------------------------------------------------- */

/* Claims that `made`, of rank 2, is what f->x computes. If f->x has a lower rank, the dimensions that it lacks, of
 * extent 1, are taken off. Its first `keys` key dimensions are kept, and the others are 0. */
void tra_factor_claim(factoring *f, const tra_expr *made, int keys);
/* Sums of the elements of each row, weighed: those of joined tables are added up there. */
void tra_weigh_rows(factoring *f, const opened *o);

#endif
