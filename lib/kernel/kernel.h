/* kernel.h - what can be done to arrays: the kernel table, scalar expressions, Einstein strings.
 *
 * A kernel is an immutable value in an arena, built by the compiler from names, strings and lambdas, and run by the
 * executor on arrays. The table (table.c) says of every named kernel what it is as an Einstein or scalar expression,
 * its algebraic properties, and which fast routine overrides the reference one; the rewrite rules read the properties
 * and test no kernel by name.
 */
#ifndef TRA_KERNEL_H
#define TRA_KERNEL_H

#include "../model/cell.h"
#include "rows_kernel.h"
#include "impl.h"
#include "scalar.h"

#include <stdatomic.h>

/* What the kernels of one run share. Each thread of the run says so with tra_kernel_enter. */
typedef struct tra_made tra_made;
typedef struct tra_kernel_run {
    atomic_bool stop; /* while set, what may take long returns early, without its result, which is dropped */
    int64_t granted;  /* bytes that each thread's dictionaries of programs may take beyond what is set aside for them */
    tra_made *made;   /* the programs of its plan, ready to be called (program.h) */
} tra_kernel_run;
/* The run of the kernels that this thread runs from now on, NULL: none, as at first. Returns the one before. */
tra_kernel_run *tra_kernel_enter(tra_kernel_run *run);
extern _Thread_local tra_kernel_run *tra_kernel_here;
static inline const atomic_bool *tra_kernel_stop(void) { return tra_kernel_here ? &tra_kernel_here->stop : NULL; }
static inline int64_t tra_kernel_granted(void) { return tra_kernel_here ? tra_kernel_here->granted : 0; }
static inline bool tra_cancelled(void) {
    return tra_kernel_here && atomic_load_explicit(&tra_kernel_here->stop, memory_order_relaxed);
}

size_t tra_array_bytes(const tra_array *a);

/* ---- kernels ------------------------------------------------------------------------------------------------ */

/* What the rules may ask of a kernel. */
typedef enum tra_property {
    TRA_P_COMMUTATIVE = 1,
    TRA_P_ASSOCIATIVE = 2,
    TRA_P_ELEMENTWISE = 4,  /* each output element depends on the input elements at its own place alone */
    TRA_P_LINEAR = 8,       /* map: distributes over matadd; join: in each operand (bilinear) */
    TRA_P_ZERO = 16,        /* map: f(0) = 0 */
    TRA_P_MONOTONE = 32,    /* map: distributes over elemmax and elemmin */
    TRA_P_CONTRACTION = 64, /* join: a sum of products that BLAS can take */
    TRA_P_MOVES = 128,      /* map: each element of the result is one of the operand's, chosen by its place alone */
} tra_property;

typedef struct tra_kernel tra_kernel;

/* Building. Each returns a kernel in the arena, or TRA_PROGRAM in terms of the language (the caller adds the place).
 * Names: tra_kernel_named("matmul", TRA_USE_JOIN, 0, NULL). scale(c) has one argument. matmul takes matrices alone;
 * vectors need an Einstein string, and the error of tra_kernel_shape2 says so. */
TRA_MUSTUSE tra_status tra_kernel_named(tra_arena *a, const char *name, tra_kernel_use use, int nargs,
                                        const double *args, const tra_kernel **out, tra_err *e);
struct tra_dim_labels;
/* Such a kernel of a matrix, whose messages call the columns of that matrix by these labels. NULL: by their numbers. */
const tra_kernel *tra_kernel_labelled(tra_arena *a, const tra_kernel *k, const struct tra_dim_labels *columns);
/* The name of the i-th named kernel, and its TRA_USE_ bits; NULL after the last. */
const char *tra_kernel_list(int i, unsigned *uses);
/* "ij,kj->ik": product and sum; one letter a label, one or two operands. Labels on the left must stand on the right;
 * a label twice in one operand takes the diagonal. */
TRA_MUSTUSE tra_status tra_kernel_einsum(tra_arena *a, const char *text, const tra_kernel **out, tra_err *e);
/* The general form, which EinSum statements are lowered to and no program names: `labels` ("ij,j->i") aligns the
 * elements of one or two operands; expr combines them; fold reduces over the labels that the result lacks. Nothing
 * between is stored. A product and ADD, or one operand and ADD, is the Einstein string itself. names as below. */
TRA_MUSTUSE tra_status tra_kernel_aligned(tra_arena *a, const char *labels, const tra_scalar *expr, tra_scalar_op fold,
                                          const char *const *names, const tra_kernel **out, tra_err *e);
/* A scalar function of one argument (map) or two (join, broadcast as matvec). names are kept for printing. */
const tra_kernel *tra_kernel_lambda(tra_arena *a, const tra_scalar *s, int nargs, const char *const *names);
/* next . first: next is a map, applied to the result of first (for an aggregation: to the group's result). */
const tra_kernel *tra_kernel_then(tra_arena *a, const tra_kernel *first, const tra_kernel *next);
/* Can it? A kernel on rows goes with others of its ops alone, and a program (program.h) with none. */
bool tra_kernel_composes(const tra_kernel *first, const tra_kernel *next);

/* ---- kernels on rows (rows_kernel.h) -------------------------------------------------------------------------- */

/* The struct is copied, what it leads to is not. */
const tra_kernel *tra_kernel_of_rows(tra_arena *a, const tra_rows_kernel *rows);
const tra_rows_kernel *tra_kernel_rows(const tra_kernel *k); /* NULL: it is none */
/* Fills columns and bounded of the type of a result, whose catalog is set, and its layout where these ask for one; b:
 * of a join, else NULL. Of dense kernels a dimension is bounded that comes from one. */
void tra_kernel_bounded(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_type *b, tra_type *out);

void tra_kernel_print(const tra_kernel *k, tra_str *out); /* as the language writes it */
/* TRA_P_ bits. Of a composed aggregation: it commutes and associates as its first kernel does. */
unsigned tra_kernel_props(const tra_kernel *k);
/* K(sum of x) = sum of K(x), in each operand of a join; false when that is not proven, or agg is composed. Where
 * padding leaves cells that no array covers the caller must know that K keeps the identity (TRA_P_ZERO for sums). */
bool tra_kernel_distributes(const tra_kernel *join_or_map, const tra_kernel *agg);
/* Is map(an array of agg's identity) such an array? What padding leaves uncovered has the identity. */
bool tra_kernel_keeps_identity(const tra_kernel *map, const tra_kernel *agg);
/* map(K(a, b)) = K(map(a), map(b)) for a join's kernel K and operands of these bounds; false when that is not proven.
 */
bool tra_kernel_enters(const tra_kernel *map, const tra_kernel *join, const tra_dims *a, const tra_dims *b);
/* f . g = g . f for two maps; false when that is not proven. */
bool tra_kernel_commutes(const tra_kernel *f, const tra_kernel *g);
/* Does each element of a result come from elements at its own place, along the dimensions that the result has of its
 * operands? */
bool tra_kernel_keeps_places(const tra_kernel *k);
/* A map that only permutes the dimensions of arrays of that rank: dimension d of its result is from[d] of them. */
bool tra_kernel_permutes(const tra_kernel *map, int rank, int *from);
/* A join's kernel that computes each element of its result of elements at the same place, for operands of these bounds,
 * by labels; itself if it goes by labels. NULL: it is none, or stretches an operand. */
const tra_kernel *tra_kernel_by_labels(tra_arena *a, const tra_kernel *join, const tra_dims *l, const tra_dims *r);
/* K' with K'(x, R) = K(map(x), R), where dimension d of map(x) is from[d] of x; side 1: of the right operand. NULL: K
 * is no function of elements by labels that folds nothing. */
const tra_kernel *tra_kernel_of_turned(tra_arena *a, const tra_kernel *join, int side, const int *from);

/* A product of the elements of two operands that labels align, summed over the labels that the result lacks. */
typedef struct tra_product {
    int rank[2], nout, nlabels;
    int8_t in[2][TRA_MAXDIM], out[TRA_MAXDIM];
} tra_product;
/* Is the kernel one, for operands of these bounds? */
bool tra_kernel_is_product(const tra_kernel *join, const tra_dims *a, const tra_dims *b, tra_product *out);
/* The same, or the largest or least of such products; over labels that have no values nothing is largest. */
bool tra_kernel_multiplies(const tra_kernel *join, const tra_dims *a, const tra_dims *b, tra_product *out);
/* A product that is the same for its operands exchanged, but that dimensions *p (of a label of the left operand) and *q
 * (of the right one) of the result change places, as in A[k,i] * A[k,j]; *own: the dimension of the operands that these
 * labels index. */
bool tra_kernel_mirrors(const tra_kernel *join, int *p, int *q, int *own);
bool tra_kernel_is_sum(const tra_kernel *agg); /* matadd, not composed */
/* Is it a sum, or does it fold as the join that it comes after, which finds the largest or least of its terms? */
bool tra_kernel_folds_as(const tra_kernel *agg, const tra_kernel *join);
const tra_kernel *tra_kernel_sum(tra_arena *a); /* that aggregation */
/* The kernel of a product, a row of the table where there is one for it; NULL when it has more labels than letters. */
const tra_kernel *tra_kernel_product(tra_arena *a, const tra_product *p);

const char *tra_kernel_nearest(const char *name, tra_kernel_use use); /* nearest spelling, or NULL */
/* The parts of a composition: the first kernel alone, and the map after it (NULL: none). */
const tra_kernel *tra_kernel_first(const tra_kernel *k);
const tra_kernel *tra_kernel_rest(const tra_kernel *k);
/* What a kernel that is no composition was built from, for readers with definitions of their own (the reference
 * evaluator): exactly one of name (a row of the table), einsum and scalar is not NULL, but einsum and scalar in a
 * general aligned one. Lives as long as the kernel. */
typedef struct tra_kernel_desc {
    const char *name;
    double arg; /* scale(c): c */
    const char *einsum;
    tra_scalar_op fold; /* einsum: over the labels that the result lacks */
    const tra_scalar *scalar;
    const tra_rows_kernel *rows; /* a kernel on rows: nothing else is set */
} tra_kernel_desc;
tra_kernel_desc tra_kernel_describe(const tra_kernel *k);

/* ---- shapes ------------------------------------------------------------------------------------------------- */

/* Where a result dimension comes from: operand*32 + dimension, or -1 (a dimension of its own: outer has none such;
 * minindex's pair has). In a matvec kernel it is L's, or R's where L lacks it or has *bound* 1 there. */
typedef struct tra_dimsrc {
    int8_t from[TRA_MAXDIM];
} tra_dimsrc;

/* Extents of the result for a pair. bound_a, bound_b are the relations' bounds: matvec kernels stretch a dimension of
 * bound 1, never a clipped one. src may be NULL. TRA_PROGRAM with a reason when the extents do not fit. */
TRA_MUSTUSE tra_status tra_kernel_shape2(const tra_kernel *k, const tra_dims *a, const tra_dims *b,
                                         const tra_dims *bound_a, const tra_dims *bound_b, tra_dims *out,
                                         tra_dimsrc *src, tra_err *e);
/* The largest arrays of two relations become extents that fit, which no pair that meets exceeds. */
void tra_kernel_meet(const tra_kernel *k, tra_dims *a, tra_dims *b);
TRA_MUSTUSE tra_status tra_kernel_shape1(const tra_kernel *k, const tra_dims *in, tra_dims *out, tra_dimsrc *src,
                                         tra_err *e);
/* Result of an aggregation whose largest extents in the group are `in`; also the type of its result. */
TRA_MUSTUSE tra_status tra_kernel_shape_agg(const tra_kernel *k, const tra_dims *in, tra_dims *out, tra_dimsrc *src,
                                            tra_err *e);
/* The element type of the result for operands of these types (b: of a join's right one), as tra-lang(5) has it. */
tra_dtype tra_kernel_dtype(const tra_kernel *k, tra_kernel_use use, tra_dtype a, tra_dtype b);
/* softmax is legal only where the last array dimension is whole in each array; the type checker asks this. */
bool tra_kernel_needs_whole_last(const tra_kernel *k);
bool tra_kernel_needs_tensor(const tra_kernel *k); /* minindex, maxindex */
/* How many workers may compute one result by routines that keep buffers of each thread for good (BLAS, LAPACK, programs
 * of the calculus): 0, 1, or as many as there are (INT_MAX). entries: an operand is held as rows of entries. */
int tra_kernel_packers(const tra_kernel *k, bool entries);
/* Is the result of sparse type (man tra-storage.5) for operands of which a (and b, of a join) are? Products with a
 * factor of sparse type and quotients with such a dividend are; so is any other function of nothing but operands of
 * sparse type that is 0 where all of them are, by parts; moves and folds of them are, minindex and maxindex are not. */
bool tra_kernel_sparse(const tra_kernel *k, tra_kernel_use use, bool a, bool b);
/* Are the first `rank` labels of a join's operand (0, 1) those of the result? */
bool tra_kernel_leads(const tra_kernel *k, int side, int rank);

/* ---- entries ------------------------------------------------------------------------------------------------- */

/* Is an element-wise expression sparse by type (man tra-storage.5), its arguments being so as `arg` says? */
bool tra_scalar_sparse(const tra_scalar *s, const bool *arg);

/* What is known of the entries of a kernel's operand, or of its result. */
typedef struct tra_filled {
    bool sparse;     /* by type */
    double share;    /* of the elements, that are entries: an estimate; 1 of what is dense */
    int64_t bound;   /* entries, at most; INT64_MAX: no more is known than the extents */
    int64_t fullest; /* of operands: entries of a row (all coordinates but the last), at most; 0: not known */
    bool squared;    /* of a result: if both operands are one, each row of it meets itself, as in A[i,j] * A[i,k] */
    double work;     /* of a result: the share of a dense kernel's operations that its entries take, */
    bool exact;      /* exactly so, where the shares of the operands are exact; else an estimate */
} tra_filled;
/* Of the results for operands of these extents, whose places are taken for independent of each other. The bound holds
 * for one array, or pair of arrays, and for several together where those of the operands count an array once for each
 * pair that it is in. */
tra_filled tra_kernel_filled1(const tra_kernel *k, const tra_dims *ext, const tra_filled *in);
tra_filled tra_kernel_filled2(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled in[2]);
/* Of an aggregation of so many arrays of these extents a group. covered: no cell of a result is left to the padding. */
tra_filled tra_kernel_filled_agg(const tra_kernel *k, const tra_dims *ext, double terms, bool covered,
                                 const tra_filled *in);

/* ---- execution ---------------------------------------------------------------------------------------------- */

/* All run on one thread, on arrays whose shapes were checked above and whose types are those of tra_kernel_dtype, write
 * every element of out, and need no scratch beyond `scratch` (tra_kernel_scratch bytes, aligned to 64). NaN and
 * infinity propagate as IEEE says. Integers that do not fit their type are noted for the thread, as the processor notes
 * exceptions of floating-point numbers, and what was computed is of no use then. */
void tra_kernel_join(const tra_kernel *k, const tra_array *a, const tra_array *b, tra_array *out, void *scratch);
/* Why a result on this thread has no meaning, of the first since the last call of clear: "solve: the matrix is
 * singular". NULL: none. */
const char *tra_kernel_failure(void);
tra_status tra_kernel_failure_status(void); /* TRA_INPUT, or what was noted with it */
void tra_kernel_fail_with(tra_status s, const char *fmt, ...) TRA_PRINTF(2, 3);
void tra_kernel_fail(const char *fmt, ...) TRA_PRINTF(1, 2); /* notes it, unless there is one */
void tra_kernel_failure_clear(void);
bool tra_kernel_overflowed(void); /* has an integer not fitted since the last call on this thread? */
/* ta, tb: element types of the operands whose extents are a and b. */
size_t tra_kernel_scratch(const tra_kernel *k, tra_kernel_use use, tra_dtype ta, tra_dtype tb, const tra_dims *a,
                          const tra_dims *b);
double tra_kernel_flops(const tra_kernel *k, tra_kernel_use use, const tra_dims *a, const tra_dims *b);
/* Nanoseconds that one operation of a fused statement is predicted to take a site (program.h); 0: it is none. */
double tra_kernel_pace(const tra_kernel *k);
/* Does one thread compute all of a result, however large the operand is? */
bool tra_kernel_takes_one_thread(const tra_kernel *k, const tra_dims *a);
/* The rate of LAPACK on arrays of such extents, as a share of that of products by BLAS; 0: it is none. */
double tra_kernel_lapack_share(const tra_kernel *k, const tra_dims *a);
/* An operation's time on operands of extents a and b (NULL: there is one). held: of rows. written: share of what is
 * read. */
typedef struct tra_passes {
    double moved;    /* at the memory's rate: 1 reads two elements of type t and writes one */
    double computed; /* beside it, at the rate of a core: 1 is 0.85 ns of one that does 1e11 flops a second by BLAS */
} tra_passes;
tra_passes tra_kernel_passes(const tra_kernel *k, bool held, tra_dtype t, const tra_dims *a, const tra_dims *b,
                             double written);

/* A join kernel fused with the aggregation matadd: acc += k(a, b), where k(a, b) may be smaller than acc (padding with
 * zero adds nothing). Possible when tra_kernel_fuses(k, agg) says so: a contraction under a plain sum; acc is of
 * the type of k(a, b). first: acc holds nothing yet, and becomes k(a, b) padded with zeros. The work is cut in tiles of
 * acc by the extents of acc alone (never those of a, b or of the result, which may differ from call to call: tile t is
 * the same region of acc in every call); distinct tiles may run at once on distinct threads, and the bits do not depend
 * on that. */
bool tra_kernel_fuses(const tra_kernel *join, const tra_kernel *agg);
int tra_kernel_tiles(const tra_kernel *join, const tra_dims *acc);
void tra_kernel_fma(const tra_kernel *join, const tra_array *a, const tra_array *b, tra_array *acc, int tile,
                    bool first);
/* The same for both operands a and a kernel that tra_kernel_mirrors: of acc only the elements whose index along p is
 * not beyond that along q need be computed; the others are anything until tra_kernel_mirror copies them. */
void tra_kernel_fma_triangle(const tra_kernel *join, const tra_array *a, bool sparse, tra_array *acc, int tile,
                             bool first);
/* The elements of acc beyond its diagonal, along dimensions p and q, become those before it. */
void tra_kernel_mirror(tra_array *acc, int p, int q);
/* to = from with dimensions p and q exchanged; of one type. */
void tra_kernel_turn(const tra_array *from, int p, int q, tra_array *to);
/* The tile of acc becomes zero, or with other (of acc's type and extents) the sum of both. */
void tra_kernel_tile_zero(const tra_kernel *join, tra_array *acc, int tile);
void tra_kernel_tile_add(const tra_kernel *join, tra_array *acc, const tra_array *other, int tile);

/* An aggregation: a state (an array: of what type and extents, these two tell), init to the identity, then fold arrays
 * of the group in ascending order of key (tra_cell_fold), or merge states that were folded apart, then finish into the
 * result (tra_cell_finish), the composed map included. Sums of f32 have an f64 state, those of integers and bools an
 * i64 one. An array smaller than the group's extents counts as padded with the identity; minindex and maxindex of
 * nothing are {infinity or -infinity, -1}, as rowmin and rowmax of rows of extent 0 are infinite. at: what index
 * kernels need to know (NULL: the array is the tensor), else NULL. */
typedef struct tra_agg_at {
    tra_dims offset, shape; /* of the array in the tensor, of the tensor */
} tra_agg_at;
tra_dtype tra_agg_state_dtype(const tra_kernel *agg, tra_dtype in);
void tra_agg_state_ext(const tra_kernel *agg, const tra_dims *group, tra_dims *state);
void tra_agg_init(const tra_kernel *agg, tra_array *state);
/* sparse: what was folded is of sparse type; of products a 0 annihilates. */
void tra_agg_merge(const tra_kernel *agg, tra_array *state, const tra_array *other, bool sparse);

/* Copies the box of extents `ext` that begins at `from` in src to `to` in dst (any rank >= 0, same dtype). */
void tra_array_copy(tra_array *dst, const tra_dims *to, const tra_array *src, const tra_dims *from,
                    const tra_dims *ext);

/* ---- cells --------------------------------------------------------------------------------------------------- */

/* What the executor calls: the same as above, for blocks of any layout (cell.h), which may differ between operands and
 * result, by the one rule of values (man tra-storage.5): tra_cell.sparse of the operands says which annihilate. A
 * result that is not dense may have no block yet: the kernel asks for it (tra_cell_take) when it knows what it takes,
 * or a bound that is near, and gives up where there is no memory. Then it lays it out (tra_cell_begin, tra_cell_trim),
 * and tra_cell_bytes tells what it took. No entry of it is 0.
 *
 * scratch: what tra_cell_scratch says, aligned to 64. */

/* A box of a cell, which becomes a part of another. */
typedef struct tra_cell_piece {
    const tra_cell *src;
    tra_dims from, to, ext; /* where it begins in src, where in the result, and its extents */
    int64_t at[4];          /* the kernel's own */
} tra_cell_piece;

typedef struct tra_layout_kernels {
    int64_t (*scratch)(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                       const tra_type *b, const tra_dims *ext_b, const tra_layout *out);
    tra_impl (*choose)(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out,
                       bool accumulates);
    /* Is there no other way? rows: to a result that is rows, else to a dense one. */
    bool (*by_dense)(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_type *b, bool rows);
    void (*map)(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch);
    void (*join)(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch);
    void (*fma)(const tra_kernel *join, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                void *scratch);
    void (*fold)(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at);
    void (*merge)(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out);
    void (*finish)(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch);
    void (*gather)(tra_cell_piece *p, int64_t n, tra_cell *out, int m);
    void (*copy)(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext);
    bool (*join_by_panels)(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out);
    int64_t (*sum_room)(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int n, const tra_cell *out);
    int64_t (*sum_use)(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const int64_t entries[2], int64_t n,
                       const tra_cell *out, int64_t *scratch);
    void (*sum)(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int n, const tra_cell *state, tra_cell *out,
                bool again, void *room, void *scratch);
} tra_layout_kernels;

/* Bytes of scratch for operands of these types and of extents that are at most these (b, ext_b: NULL but for a join),
 * and a result in the layout `out` (NULL: dense); of an aggregation for its finish, ext_a being those of the state. No
 * less than tra_kernel_scratch. TRA_SIZE_MOST where it is too much to count. */
int64_t tra_cell_scratch(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                         const tra_type *b, const tra_dims *ext_b, const tra_layout *out);
/* Bytes of what a join keeps of an operand of these extents (tra_kept). */
int64_t tra_cell_keep(const tra_kernel *k, const tra_dims *ext_b);
void tra_cell_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch);
void tra_cell_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch);
/* Can the join be made panel by panel (tra_cell.panel)? A sum of any terms can (tra_cell_merge). */
bool tra_cell_join_by_panels(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out);
void tra_cell_fma(const tra_kernel *join, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                  void *scratch);
/* Aggregations. A state is dense: then it is initialised, folded into and merged as above. Or it grows: then it is a
 * cell of the type tra_agg_state_dtype and of a layout that is not dense, whose elements that are no entries are 0, and
 * what adds a term, or another state, makes a new one of it. */
void tra_cell_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at);
/* out: state and term together, of the extents of the largest in the group; term is a term of the group or a state of
 * some of its terms, and counts as padded with the identity where it is smaller. state NULL: there is none yet. Not of
 * minindex and maxindex. */
void tra_cell_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out);
/* A sum of the joins of n pairs and a state (NULL: none yet), made at once: to the bits what adding the pairs one after
 * the other makes. tra_cell_sum_room: bytes of room that this takes, aligned to 64; -1: not of such a join, nor for
 * such cells. All have the extents of the state; each join is of its type. tra_cell_sum: room NULL:
 * of one pair, in scratch as large as tra_cell_scratch says; again: room is as a call with the same pairs left it, and
 * what is in the blocks of several pairs is not read. */
int64_t tra_cell_sum_room(const tra_kernel *join, const tra_kernel *agg, const tra_cell *a, const tra_cell *b, int n,
                          const tra_cell *out);
/* Bytes of that room that are touched for n pairs of these extents, whose operands have so many entries together: one
 * pair is mostly read as it is. *scratch: bytes of each worker's scratch that are touched. -1: tra_cell_sum does not.
 */
int64_t tra_cell_sum_use(const tra_kernel *join, const tra_cell *a, const tra_cell *b, const int64_t entries[2],
                         int64_t n, const tra_cell *out, int64_t *scratch);
void tra_cell_sum(const tra_kernel *join, const tra_cell *a, const tra_cell *b, int n, const tra_cell *state,
                  tra_cell *out, bool again, void *room, void *scratch);
/* in: the type of what was folded. A dense state may be the memory of a dense result when their extents agree, and the
 * result is f32 if their types do not. */
void tra_cell_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch);
/* Copies a box, as tra_array_copy does. A destination that is not dense becomes that box and is 0 elsewhere. */
void tra_cell_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext);
/* An array without entries; one that says its extents itself has none along these dimensions (bits). */
void tra_cell_empty(tra_cell *out, uint32_t dims);
/* The cells of these n pieces, in any order, of which no two overlap, and 0 elsewhere. Needs no scratch. There are m
 * cells beside each other along the last dimension, each but the last as wide as the first; pieces lie in all of them
 * together. Dense: m is 1. */
void tra_cell_gather(tra_cell_piece *p, int64_t n, tra_cell *out, int m);

/* ---- BLAS --------------------------------------------------------------------------------------------------- */

const char *tra_blas_kernel(void); /* the kernel that BLAS uses: Haswell, SkylakeX, ... */
/* Could this processor do better? Then says so in buf (a sentence without its end), with what to do about it. */
bool tra_blas_advice(char *buf, size_t n);
/* OpenBLAS takes its least kernel on processors that are newer than it, several times slower than what they could run.
 * It chooses before main, by OPENBLAS_CORETYPE. Where the user has not set that, this sets it to what the processor
 * has, and OpenBLAS chooses again. A build of OpenBLAS that cannot is loaded anew: the program starts again. To be
 * called before BLAS is, and before there are threads, locks or MPI. */
void tra_blas_fit(char **argv);

#endif
