/* linear.c - solve, inverse and the decompositions of matrices, as kernels on single blocks. */
#include "build.h"

#include <string.h>

static const struct linear {
    const char *name, *text;
    int nin, nout;         /* operands and results */
    const char *kernel[3]; /* of each result */
    int rank[3];           /* of each result; -1: that of B */
    /* Of each result where the labels of its dimensions come from: rows or columns of A ('r', 'c'), columns of B ('b'),
     * nowhere ('-'). */
    const char *labels[3];
} linears[] = {
    {"solve", "X = solve(A, B)", 2, 1, {"solve"}, {-1}, {"cb"}},
    {"inverse", "B = inverse(A)", 1, 1, {"inverse"}, {2}, {"cr"}},
    {"det", "d = det(A)", 1, 1, {"det"}, {0}, {""}},
    {"cholesky", "L = cholesky(A)", 1, 1, {"cholesky"}, {2}, {"r-"}},
    {"eigh", "w, V = eigh(A)", 1, 2, {"eigh_w", "eigh_v"}, {1, 2}, {"-", "r-"}},
    {"qr", "Q, R = qr(A)", 1, 2, {"qr_q", "qr_r"}, {2, 2}, {"r-", "-c"}},
    {"svd", "U, s, V = svd(A)", 1, 3, {"svd_u", "svd_s", "svd_v"}, {2, 1, 2}, {"r-", "-", "c-"}},
};
enum { NLINEARS = sizeof linears / sizeof *linears };

const char *tra_linear_name(int i) { return i < NLINEARS ? linears[i].name : NULL; }

static const struct linear *find(const char *name) {
    int i = TRA_FIND_ROW(linears, name);
    return i < 0 ? NULL : &linears[i];
}

bool tra_is_linear(const char *name) { return find(name) != NULL; }

/* Checks that the operand, which stands at x, is a tensor in blocks of rank 2, or 1 where `least` is that. */
static bool check_operand(tra_build *b, const tra_ast *x, const char *name, const tra_node *n, int least) {
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(&n->type, &why))
        return tra_diag_error(b->d, x->span, NULL, "%s takes tensors in blocks; of this relation %s", name, why);
    tra_type_shape(&n->type, &shape);
    if (shape.n < least || shape.n > 2)
        return tra_diag_error(b->d, x->span, NULL, "%s takes a %s here, not a tensor of rank %d", name,
                              least == 2 ? "matrix" : "vector or a matrix", shape.n);
    return true;
}

/* The operand as one dense block; NULL after a diagnostic. */
static tra_node *one_block(tra_build *b, const tra_ast *x, const char *name, tra_node *n) {
    tra_dims shape;
    if (n->type.bounded)
        return tra_diag_error(
            b->d, x->span, "make a matrix of known extents of it first: C[i,j] = sum X[n,i] * X[n,j]",
            "%s takes a matrix of known extents, and of this one only the run tells how many rows it has", name);
    tra_type_shape(&n->type, &shape);
    n = tra_build_dense(b, n, x->span);
    if (!n || n->type.cat->n == 1) return n;
    tra_node fields = {.in = {n}, .block = shape};
    for (int d = 0; d < shape.n; d++) fields.block.v[d] = tra_max64(1, shape.v[d]);
    return tra_build_made(b, TRA_OP_REPART, x->span, &fields);
}

/* The result with the first `rank` of its key dimensions: as many as its arrays have dimensions. */
static tra_node *drop_keys(tra_build *b, tra_node *n, int rank, tra_span span) {
    int k = n->type.cat->frontier.n;
    if (k == rank) return n;
    const tra_keyexpr *key[TRA_MAXDIM];
    for (int i = 0; i < rank; i++) key[i] = tra_keyexpr_component(b->arena, i);
    return tra_build_rekey(b, span, n, (const char *const[]){"i", "j"}, rank, key);
}

/* Labels the dimensions of the result as `from` says (struct linear). */
static void set_labels(tra_build *b, tra_node *n, const char *from, tra_node *const *in) {
    n->labels = NULL;
    n->order = NULL;
    for (int d = 0; from[d] && d < n->type.cat->bound.n; d++) {
        const tra_node *x = from[d] == 'b' ? in[1] : in[0];
        int of = from[d] == 'r' ? 0 : 1;
        if (from[d] != '-') tra_set_dim(b, n, d, tra_labels_of_dim(x, of), tra_order_of_dim(x, of));
    }
}

/* Checks that both operands of a least squares problem have the same rows, also where only the run counts these. */
static bool check_same_rows(tra_build *b, const tra_ast *call, tra_node *const *in) {
    const tra_node *rows[2] = {NULL};
    tra_dims shape[2];
    for (int i = 0; i < 2; i++) {
        const tra_node *x = in[i];
        tra_type_shape(&x->type, &shape[i]);
        if (x->type.bounded) rows[i] = x->rows ? x->rows[0] : x;
        if (!x->type.bounded || (x->type.bounded == 1 && (shape[i].n == 1 || x->type.cat->frontier.v[1] == 1)))
            continue;
        return tra_diag_error(
            b->d, call->kids[i]->span, NULL,
            "of this matrix only the run tells how many rows it has, and it has several blocks of columns");
    }
    if (rows[0] != rows[1])
        return tra_diag_error(
            b->d, call->span, "make both of one table; join brings the rows of two together",
            "the matrix and its right side have rows of different tables, and only the run tells how many there are");
    if (shape[0].v[0] == shape[1].v[0]) return true;
    return tra_diag_error(b->d, call->span, NULL, "the right side has %" PRId64 " rows, and the matrix %" PRId64,
                          shape[1].v[0], shape[0].v[0]);
}

/* Is it a solve with more equations than unknowns, or one of which only the run tells how many equations it has? */
static bool is_least_squares(const struct linear *f, const tra_node *a) {
    tra_dims shape;
    if (strcmp(f->name, "solve") != 0) return false;
    tra_type_shape(&a->type, &shape);
    return a->type.bounded || shape.v[0] > shape.v[1];
}

/* Result `part` by a kernel on operands of one block each. */
static tra_node *of_one_block(tra_build *b, const struct linear *f, const tra_ast *call, tra_node *const *in,
                              int part) {
    tra_node *a = one_block(b, call->kids[0], f->name, in[0]);
    tra_node *right = f->nin == 2 ? one_block(b, call->kids[1], f->name, in[1]) : NULL;
    if (!a || (f->nin == 2 && !right)) return NULL;
    tra_node fields = {.in = {a, right}};
    fields.kernel = tra_build_kernel_named(b, call->span, f->kernel[part], right ? TRA_USE_JOIN : TRA_USE_MAP, 0, 0);
    if (fields.kernel) fields.kernel = tra_kernel_labelled(b->arena, fields.kernel, tra_labels_of_dim(in[0], 1));
    if (right) fields.join.l = fields.join.r = (tra_dims){.n = right->type.cat->bound.n, .v = {0, 1}};
    return fields.kernel ? tra_build_made(b, right ? TRA_OP_JOIN : TRA_OP_TRANSFORM, call->span, &fields) : NULL;
}

tra_node *tra_build_linear(tra_build *b, const tra_ast *call, int nin, tra_node *const *in, int part, int nparts) {
    const struct linear *f = find(call->text);
    const char *advice = tra_arena_printf(b->arena, "write %s", f->text);
    if (nin != f->nin)
        return tra_diag_error(b->d, call->span, advice, "%s has %d argument%s, not %d", f->name, f->nin,
                              f->nin == 1 ? "" : "s", nin);
    if (nparts != f->nout)
        return tra_diag_error(b->d, call->span, advice, "%s has %d result%s, not %d", f->name, f->nout,
                              f->nout == 1 ? "" : "s", nparts);
    for (int i = 0; i < nin; i++)
        if (!check_operand(b, call->kids[i], f->name, in[i], i ? 1 : 2)) return NULL;
    tra_meeting rows = {0}; /* of a matrix and its right side */
    for (int i = 0; i < nin && nin > 1; i++)
        if (!tra_meeting_add(b, call->span, &rows, "dimension 0", in[i], 0)) return NULL;
    tra_dims shape;
    tra_type_shape(&in[0]->type, &shape);
    if (strcmp(f->name, "eigh") == 0 && !in[0]->type.bounded && shape.v[0] != shape.v[1]) {
        char text[TRA_DIMTEXT];
        return tra_diag_error(b->d, call->kids[0]->span, NULL, "eigh takes a symmetric matrix, and this one is %s",
                              tra_shape_text(&shape, text));
    }
    tra_node *n;
    if (is_least_squares(f, in[0]))
        n = check_same_rows(b, call, in) ? tra_build_least(&(tra_tall){b, call->span}, in[0], in[1]) : NULL;
    else if (f->nout > 1 && strcmp(f->name, "eigh") != 0 && tra_is_tall(in[0]))
        n = tra_build_tall(&(tra_tall){b, call->span}, in[0], f->kernel[part]);
    else
        n = of_one_block(b, f, call, in, part);
    if (n) n = drop_keys(b, n, nin == 2 ? in[1]->type.cat->bound.n : f->rank[part], call->span);
    if (n) set_labels(b, n, f->labels[part], in);
    return n;
}
