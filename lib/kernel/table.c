/* table.c - the named kernels: one row each.
 *
 * A row gives the definition, as a scalar expression or an Einstein string where there is one, and only those
 * properties that do not follow from it; build.c derives the rest. */
#include "kernel_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define ARG0           (&(const tra_scalar){.op = TRA_S_ARG, .arg = 0})
#define ARG1           (&(const tra_scalar){.op = TRA_S_ARG, .arg = 1})
#define F1(name)       (&(const tra_scalar){.op = TRA_S_##name, .a = ARG0})
#define F2(name, x, y) (&(const tra_scalar){.op = TRA_S_##name, .a = x, .b = y})

enum {
    JOIN = TRA_USE_JOIN,
    AGG = TRA_USE_AGG,
    MAP = TRA_USE_MAP,
    COMM = TRA_P_COMMUTATIVE,
    GROUP = TRA_P_COMMUTATIVE | TRA_P_ASSOCIATIVE, /* what an aggregation needs */
    MOVES = TRA_P_MOVES | TRA_P_ZERO,
};

static const tra_row rows[] = {
    /* contractions */
    {.name = "matmul", .uses = JOIN, .cls = TRA_K_EINSUM, .einsum = "ij,jk->ik", .props = TRA_P_ASSOCIATIVE},
    {.name = "outer", .uses = JOIN, .cls = TRA_K_OUTER, .props = TRA_P_ASSOCIATIVE, .over = TRA_OVER_SUM},

    /* element-wise, of equal extents; the operators of aggregations */
    {.name = "matadd", .uses = JOIN | AGG, .expr = F2(ADD, ARG0, ARG1), .props = GROUP, .identity = 0},
    {.name = "elemmul", .uses = JOIN | AGG, .expr = F2(MUL, ARG0, ARG1), .props = GROUP, .identity = 1},
    {.name = "elemmax", .uses = JOIN | AGG, .expr = F2(MAX, ARG0, ARG1), .props = GROUP, .identity = -INFINITY},
    {.name = "elemmin", .uses = JOIN | AGG, .expr = F2(MIN, ARG0, ARG1), .props = GROUP, .identity = INFINITY},
    {.name = "matsub", .uses = JOIN, .expr = F2(SUB, ARG0, ARG1)},
    {.name = "elemdiv", .uses = JOIN, .expr = F2(DIV, ARG0, ARG1)},

    /* element-wise, broadcast */
    {.name = "matvecadd", .uses = JOIN, .expr = F2(ADD, ARG0, ARG1), .stretch = true, .props = COMM},
    {.name = "matvecsub", .uses = JOIN, .expr = F2(SUB, ARG0, ARG1), .stretch = true},
    {.name = "matvecmul", .uses = JOIN, .expr = F2(MUL, ARG0, ARG1), .stretch = true, .props = COMM},
    {.name = "matvecdiv", .uses = JOIN, .expr = F2(DIV, ARG0, ARG1), .stretch = true},

    /* aggregations whose result is of another kind */
    {.name = "minindex", .uses = AGG, .cls = TRA_K_INDEX, .fold = TRA_S_MIN, .props = GROUP, .identity = INFINITY},
    {.name = "maxindex", .uses = AGG, .cls = TRA_K_INDEX, .fold = TRA_S_MAX, .props = GROUP, .identity = -INFINITY},

    /* maps that move or reduce */
    {.name = "transpose", .uses = MAP, .cls = TRA_K_TRANSPOSE, .props = MOVES, .over = TRA_OVER_ALL},
    {.name = "diag", .uses = MAP, .cls = TRA_K_DIAG, .props = MOVES, .over = TRA_OVER_ALL},
    {.name = "rowsum", .uses = MAP, .cls = TRA_K_ROW, .fold = TRA_S_ADD, .props = TRA_P_ZERO, .over = TRA_OVER_SUM},
    {.name = "rowmax", .uses = MAP, .cls = TRA_K_ROW, .fold = TRA_S_MAX, .over = TRA_OVER_MAX, .identity = -INFINITY},
    {.name = "rowmin", .uses = MAP, .cls = TRA_K_ROW, .fold = TRA_S_MIN, .over = TRA_OVER_MIN, .identity = INFINITY},
    {.name = "colsum", .uses = MAP, .cls = TRA_K_COL, .fold = TRA_S_ADD, .props = TRA_P_ZERO, .over = TRA_OVER_SUM},
    {.name = "softmax", .uses = MAP, .cls = TRA_K_SOFTMAX},

    {.name = "topk", .uses = MAP | JOIN, .cls = TRA_K_TOP, .nargs = 1, .fold = TRA_S_MAX, .type = -1},
    {.name = "leastk", .uses = MAP | JOIN, .cls = TRA_K_TOP, .nargs = 1, .fold = TRA_S_MIN, .type = -1},

    /* whole matrices, by LAPACK; of decompositions each result is a kernel */
    {.name = "solve", .uses = JOIN, .cls = TRA_K_LAPACK, .lapack = TRA_L_SOLVE},
    {.name = "inverse", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_INVERSE},
    {.name = "det", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_DET},
    {.name = "cholesky", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_CHOLESKY},
    {.name = "eigh_w", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_EIGH_W},
    {.name = "eigh_v", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_EIGH_V},
    {.name = "qr_q", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_QR_Q},
    {.name = "qr_r", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_QR_R},
    {.name = "svd_u", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_SVD_U},
    {.name = "svd_s", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_SVD_S},
    {.name = "svd_v", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_SVD_V},

    /* the same by blocks of rows: of each block, of several results of blocks together, of the last of these */
    {.name = "tall_r", .uses = MAP | JOIN, .cls = TRA_K_LAPACK, .lapack = TRA_L_TSQR_FIRST_R},
    {.name = "tall_q", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_TSQR_FIRST_Q},
    {.name = "tall_more_r", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_TSQR_NEXT_R},
    {.name = "tall_more_q", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_TSQR_NEXT_Q},
    {.name = "tall_end_r", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_TSQR_LAST_R},
    {.name = "tall_end_q", .uses = MAP, .cls = TRA_K_LAPACK, .lapack = TRA_L_TSQR_LAST_Q},
    {.name = "tall_end_x", .uses = MAP, .cls = TRA_K_LAPACK, .nargs = 1, .lapack = TRA_L_TSQR_LAST_X},
    {.name = "tall_end_x32", .uses = MAP, .cls = TRA_K_LAPACK, .nargs = 1, .lapack = TRA_L_TSQR_LAST_X, .narrow = true},

    /* maps of each element */
    {.name = "neg", .uses = MAP, .expr = F1(NEG)},
    {.name = "square", .uses = MAP, .expr = F2(MUL, ARG0, ARG0)},
    {.name = "relu_grad", .uses = MAP, .expr = F1(STEP)},
    {.name = "abs", .uses = MAP, .expr = F1(ABS)},
#define PART(X, id, text, ...) {.name = text, .uses = MAP, .expr = F1(id)},
#define REAL(X, id, arity, text, ...)                                                                                  \
    {.name = (arity) == 1 ? text : "", .uses = MAP, .expr = F1(id)}, /* of one operand */
#define CAST(X, id, type, text, ...) {.name = text, .uses = MAP, .expr = F1(id)},
    TRA_PARTS(PART, ) TRA_CASTS(CAST, ) TRA_REALS(REAL, )
#undef CAST
#undef PART
#undef REAL
        {.name = "densify", .uses = MAP, .expr = ARG0, .type = -1}, /* the same elements */
    {.name = "sparsify", .uses = MAP, .expr = ARG0, .type = 1},
    {.name = "scale", .uses = MAP, .expr = F2(MUL, ARG0, ARG1), .nargs = 1},
};
enum { NROWS = sizeof(rows) / sizeof(*rows) };

const tra_row *tra_row_find(const char *name) {
    for (int i = 0; i < NROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

const tra_kernel *tra_kernel_labelled(tra_arena *a, const tra_kernel *k, const tra_dim_labels *columns) {
    tra_kernel *labelled = tra_new(a, tra_kernel);
    *labelled = *k;
    labelled->columns = columns;
    return labelled;
}

const char *tra_kernel_list(int i, unsigned *uses) {
    if (i >= NROWS) return NULL;
    *uses = rows[i].uses;
    return rows[i].name;
}

const char *tra_kernel_nearest(const char *name, tra_kernel_use use) {
    const char *names[NROWS];
    int n = 0;
    for (int i = 0; i < NROWS; i++)
        if (rows[i].uses & use) names[n++] = rows[i].name;
    return tra_nearest(name, n, names);
}

/* What a kernel was built from, for readers that have definitions of their own. */
tra_kernel_desc tra_kernel_describe(const tra_kernel *k) {
    assert(k->cls != TRA_K_THEN);
    if (k->rows) return (tra_kernel_desc){.rows = k->rows};
    if (k->row) return (tra_kernel_desc){.name = k->row->name, .arg = k->args[0]};
    if (k->program) return (tra_kernel_desc){.name = k->text};
    if (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED)
        return (tra_kernel_desc){.einsum = k->text, .fold = k->fold, .scalar = k->expr};
    return (tra_kernel_desc){.scalar = k->expr};
}
