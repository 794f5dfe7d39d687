/* impl.h - the implementations of kernels: how arrays of given layouts, types and extents are computed with. */
#ifndef TRA_IMPL_H
#define TRA_IMPL_H

#include "../model/cell.h"

/* Name in C, and in texts. The first are of operators of tables and of programs (program.h), then of dense arrays, then
 * of those where an operand or the result is rows of entries. */
#define TRA_IMPLS(X)                                                                                                   \
    X(TABLE, "rows of tables")                                                                                         \
    X(PACK, "operands in one array, for the last join")                                                                \
    X(CALLS, "program of the calculus")                                                                                \
    X(FUSED, "fused statement")                                                                                        \
    X(MASKED, "matrix product under a mask")                                                                           \
    X(SAMPLED, "strips of elements under a mask")                                                                      \
    X(STRIPS, "strips of elements")                                                                                    \
    X(TILES, "tiles in registers")                                                                                     \
    X(PLANES, "strips of columns, for many rows")                                                                      \
    X(FOLDED, "strips of elements, folded")                                                                            \
    X(PLACES, "strips of elements, with their places")                                                                 \
    X(BLAS, "matrix products of BLAS")                                                                                 \
    X(NARROW, "narrow matrix products in registers")                                                                   \
    X(WHOLES, "matrix products of whole numbers")                                                                      \
    X(VECTOR, "matrix-vector products of BLAS")                                                                        \
    X(DOTS, "strips of products")                                                                                      \
    X(STRIDED, "strided copies and folds")                                                                             \
    X(SOFTMAX, "softmax of rows")                                                                                      \
    X(TOP, "first places of rows")                                                                                     \
    X(LAPACK, "LAPACK")                                                                                                \
    X(ENTRIES, "entry by entry")                                                                                       \
    X(REDUCE, "entries moved and folded")                                                                              \
    X(MERGE, "entries of both merged, and folded")                                                                     \
    X(TOTAL, "entries folded into a dense array")                                                                      \
    X(WIDE, "rows of entries times dense rows")                                                                        \
    X(MATMUL, "matrix product of entries")                                                                             \
    X(SUMS, "products of entries, added up row by row")                                                                \
    X(PAIRS, "pairs of entries, into a dense array")                                                                   \
    X(SPREAD, "entries times a dense array, into a dense array")                                                       \
    X(SLOW, "entries made dense")
typedef enum tra_impl {
#define X(name, text) TRA_IMPL_##name,
    TRA_IMPLS(X)
#undef X
} tra_impl;
enum { TRA_MOST_IMPLS = 8 }; /* of a kernel's steps that tra_choose tells */
const char *tra_impl_text(tra_impl w);

typedef struct tra_kernel tra_kernel;
/* Which implementations compute the steps of a map or join (b NULL: a map) on cells of these layouts, types, extents,
 * whatever they hold. The kernels ask the same functions. accumulates: as tra_cell_fma. Returns how many. */
int tra_choose(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out, bool accumulates,
               tra_impl impl[TRA_MOST_IMPLS]);

#endif
