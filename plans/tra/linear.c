/* linear.c - solve, inverse and the decompositions of matrices, as kernels on single blocks. */
#include "linear.h"

#include <string.h>

static const struct linear {
    const char *name, *text;
    int nin, nout;
    const char *kernel[3]; /* of each result */
    int rank[3];
    /* Where the labels of its dimensions come from: rows or columns of A ('r', 'c'), columns of B ('b'), nowhere ('-').
     */
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
    for (int i = 0; i < NLINEARS; i++)
        if (strcmp(linears[i].name, name) == 0) return &linears[i];
    return NULL;
}

bool tra_is_linear(const char *name) { return find(name) != NULL; }

static const tra_kernel *kernel(tra_build *b, const char *name, tra_kernel_use use, tra_span span) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    if (tra_kernel_named(b->arena, name, use, 0, NULL, &k, &e) != TRA_OK) tra_diag_error(b->d, span, NULL, "%s", e.msg);
    return k;
}

/* Is the operand a tensor of rank least to most? */
static bool fits(tra_build *b, const tra_ast *x, const char *name, const tra_node *n, int least, int most) {
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(&n->type, &why)) {
        tra_diag_error(b->d, x->span, NULL, "%s takes tensors in blocks; of this relation %s", name, why);
        return false;
    }
    tra_type_shape(&n->type, &shape);
    if (shape.n < least || shape.n > most) {
        tra_diag_error(b->d, x->span, NULL, "%s takes a %s here, not a tensor of rank %d", name,
                       least == most ? "matrix" : "vector or a matrix", shape.n);
        return false;
    }
    return true;
}

/* The operand as one dense block. */
static tra_node *one_block(tra_build *b, const tra_ast *x, const char *name, tra_node *n) {
    tra_dims shape;
    if (n->type.bounded) {
        tra_diag_error(b->d, x->span, "make a matrix of known extents of it first: C[i,j] = sum X[n,i] * X[n,j]",
                       "%s takes a matrix of known extents, and of this one only the run tells how many rows it has",
                       name);
        return NULL;
    }
    tra_type_shape(&n->type, &shape);
    if (n->type.sparse) {
        tra_node fields = {.in = {n}, .kernel = kernel(b, "densify", TRA_USE_MAP, x->span)};
        n = tra_build_made(b, TRA_OP_TRANSFORM, x->span, &fields);
    }
    if (!n || n->type.cat->n == 1) return n;
    tra_node fields = {.in = {n}, .block = shape};
    for (int d = 0; d < shape.n; d++) fields.block.v[d] = tra_max64(1, shape.v[d]);
    return tra_build_made(b, TRA_OP_REPART, x->span, &fields);
}

/* Gives the result, whose key has two dimensions or none, as many key dimensions as it has array dimensions. */
static tra_node *drop_keys(tra_build *b, tra_node *n, int rank, tra_span span) {
    int k = n->type.cat->frontier.n;
    if (k == rank) return n;
    static const char *const names[] = {"i", "j"};
    tra_keyfn *f = tra_new(b->arena, tra_keyfn);
    f->arity = k;
    f->n = rank;
    for (int i = 0; i < k; i++) f->names[i] = names[i];
    for (int i = 0; i < rank; i++) {
        tra_keyexpr *v = tra_new(b->arena, tra_keyexpr);
        *v = (tra_keyexpr){.op = TRA_KEY_VAR, .var = i};
        f->expr[i] = v;
    }
    tra_node fields = {.in = {n}, .keyfn = f};
    return tra_build_made(b, TRA_OP_REKEY, span, &fields);
}

static const tra_dim_labels *label_of(char from, tra_node *const *in) {
    const tra_node *n = from == 'b' ? in[1] : in[0];
    return from == '-' || !n || !n->labels ? NULL : n->labels[from == 'r' ? 0 : 1];
}

static void set_labels(tra_build *b, tra_node *n, const char *from, tra_node *const *in) {
    const tra_dim_labels **labels = tra_news(b->arena, const tra_dim_labels *, TRA_MAXDIM);
    for (int d = 0; from[d] && d < n->type.cat->bound.n; d++) labels[d] = label_of(from[d], in);
    n->labels = labels;
}

/* The operands of a solve that has more rows than unknowns, or rows that only the run counts: are both of the same
 * rows?
 */
static bool same_rows(tra_build *b, const tra_ast *call, tra_node *const *in) {
    const tra_node *rows[2] = {NULL};
    tra_dims shape[2];
    for (int i = 0; i < 2; i++) {
        const tra_node *x = in[i];
        tra_type_shape(&x->type, &shape[i]);
        if (x->type.bounded) rows[i] = x->rows ? x->rows[0] : x;
        if (!x->type.bounded || (x->type.bounded == 1 && (shape[i].n == 1 || x->type.cat->frontier.v[1] == 1)))
            continue;
        tra_diag_error(b->d, call->kids[i]->span, NULL,
                       "of this matrix only the run tells how many rows it has, and it has several blocks of columns");
        return false;
    }
    if (rows[0] != rows[1]) {
        tra_diag_error(b->d, call->span, "make both of one table; join brings the rows of two together",
                       "the matrix and its right side have rows of different tables, and only the run tells how many "
                       "there are");
        return false;
    }
    if (shape[0].v[0] == shape[1].v[0]) return true;
    tra_diag_error(b->d, call->span, NULL, "the right side has %" PRId64 " rows, and the matrix %" PRId64,
                   shape[1].v[0], shape[0].v[0]);
    return false;
}

static bool is_least_squares(const struct linear *f, const tra_node *a) {
    tra_dims shape;
    if (strcmp(f->name, "solve") != 0) return false;
    tra_type_shape(&a->type, &shape);
    return a->type.bounded || shape.v[0] > shape.v[1];
}

tra_node *tra_build_linear(tra_build *b, const tra_ast *call, int nin, tra_node *const *in, int part, int nparts) {
    const struct linear *f = find(call->text);
    const char *advice = tra_arena_printf(b->arena, "write %s", f->text);
    if (nin != f->nin) {
        tra_diag_error(b->d, call->span, advice, "%s has %d argument%s, not %d", f->name, f->nin,
                       f->nin == 1 ? "" : "s", nin);
        return NULL;
    }
    if (nparts != f->nout) {
        tra_diag_error(b->d, call->span, advice, "%s has %d result%s, not %d", f->name, f->nout,
                       f->nout == 1 ? "" : "s", nparts);
        return NULL;
    }
    for (int i = 0; i < nin; i++)
        if (!fits(b, call->kids[i], f->name, in[i], i ? 1 : 2, 2)) return NULL;
    tra_dims shape;
    tra_type_shape(&in[0]->type, &shape);
    if (strcmp(f->name, "eigh") == 0 && !in[0]->type.bounded && shape.v[0] != shape.v[1]) {
        char text[TRA_DIMTEXT];
        tra_diag_error(b->d, call->kids[0]->span, NULL, "eigh takes a symmetric matrix, and this one is %s",
                       tra_shape_text(&shape, text));
        return NULL;
    }
    if (is_least_squares(f, in[0])) {
        tra_node *n = same_rows(b, call, in) ? tra_build_least(&(tra_tall){b, call->span}, in[0], in[1]) : NULL;
        if (n) n = drop_keys(b, n, n->type.cat->bound.n, call->span);
        if (n) set_labels(b, n, f->labels[part], in);
        return n;
    }
    if (f->nout > 1 && strcmp(f->name, "eigh") != 0 && tra_is_tall(in[0])) {
        tra_node *n = tra_build_tall(&(tra_tall){b, call->span}, in[0], f->kernel[part]);
        if (n) n = drop_keys(b, n, f->rank[part], call->span);
        if (n) set_labels(b, n, f->labels[part], in);
        return n;
    }
    tra_node *a = one_block(b, call->kids[0], f->name, in[0]);
    tra_node *right = nin == 2 ? one_block(b, call->kids[1], f->name, in[1]) : NULL;
    if (!a || (nin == 2 && !right)) return NULL;
    tra_node fields = {.in = {a, right}};
    fields.kernel = kernel(b, f->kernel[part], nin == 2 ? TRA_USE_JOIN : TRA_USE_MAP, call->span);
    if (!fields.kernel) return NULL;
    int rank = right ? right->type.cat->bound.n : f->rank[part];
    if (right) fields.joinl = fields.joinr = (tra_dims){.n = rank, .v = {0, 1}};
    tra_node *n = tra_build_made(b, right ? TRA_OP_JOIN : TRA_OP_TRANSFORM, call->span, &fields);
    if (n) n = drop_keys(b, n, rank, call->span);
    if (n) set_labels(b, n, f->labels[part], in);
    return n;
}
