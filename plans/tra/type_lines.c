/* type_lines.c - how the entries of matrices are spread over rows and columns: by the statistics of files, and bounds
 * of what is computed of them. */
#include "type.h"

#include <math.h>
#include <string.h>

/* ---- what files say ---------------------------------------------------------------------------------------------- */

static bool is_matrix(const tra_node *n) { return n->type.sparse && n->type.cat->bound.n == 2; }

bool tra_type_is_alike(const tra_node *n, int side) {
    tra_dims in, out;
    if (!is_matrix(n->in[side]) || !tra_kernel_leads(n->kernel, side, 2)) return false;
    tra_type_shape(&n->in[side]->type, &in);
    tra_type_shape(&n->type, &out);
    return tra_dims_eq(&in, &out);
}

/* Is it a matrix whose arrays are transposed? The keys are too, or products of it are not looked at. */
static bool is_turned(const tra_node *n) {
    int from[TRA_MAXDIM];
    return n->op == TRA_OP_TRANSFORM && n->type.cat->bound.n == 2 && tra_kernel_permutes(n->kernel, 2, from) && from[0];
}

/* The operand whose entries alone those of the node are, at their places; NULL: there is none, or a turned one. */
static const tra_node *same_places(const tra_node *n) {
    if ((n->op == TRA_OP_REPART && n->slice.origin.n == 0) || n->op == TRA_OP_REKEY) return n->in[0];
    if (!is_matrix(n)) return NULL;
    if (n->op == TRA_OP_TRANSFORM && is_matrix(n->in[0]) && tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE)
        return n->in[0];
    for (int side = 0; side < 2 && n->op == TRA_OP_JOIN; side++)
        if (!is_matrix(n->in[!side]) && tra_type_is_alike(n, side)) return n->in[side];
    return NULL;
}

const tra_node *tra_pattern_of(const tra_node *n, bool *turned) {
    *turned = false;
    for (const tra_node *below; (below = is_turned(n) ? n->in[0] : same_places(n)); n = below) *turned ^= is_turned(n);
    if (n->op == TRA_OP_INPUT && n->input.transposed) *turned ^= true, n = n->input.transposed;
    return n;
}

const tra_node *tra_tensor_of(const tra_node *n, bool *turned) {
    n = tra_pattern_of(n, turned);
    return n->op == TRA_OP_INPUT && n->input.rel ? n : NULL;
}

double tra_type_band(const tra_node *n) {
    enum { MOST_TUPLES = 64, NARROW = 8 };
    bool turned; /* a band is as wide in both directions */
    const tra_node *in = tra_tensor_of(n, &turned);
    const tra_catalog *c = in ? in->type.cat : NULL;
    tra_statistics s;
    tra_err none = {0};
    int64_t span = 0;
    if (!c || c->bound.n != 2 || c->n > MOST_TUPLES || c->frontier.n != 2 || c->frontier.v[1] != 1) return 0;
    for (int64_t t = 0; t < c->n; t++) {
        if (tra_rel_statistics(in->input.rel, t, &s, &none) != TRA_OK) return 0;
        span = tra_max64(span, s.rows.span);
    }
    return NARROW * span <= c->bound.v[1] ? (double)span : 0;
}

/* Rows of an input by the statistics of its blocks; false if blocks have parts of rows, or are too many. */
static bool find_whole_rows(const tra_node *n, tra_line_counts *x) {
    enum { MOST_TUPLES = 64 };
    const tra_catalog *c = n->type.cat;
    tra_statistics s;
    tra_err none = {0};
    if (c->n > MOST_TUPLES || c->frontier.v[c->frontier.n - 1] != 1) return false;
    for (int64_t t = 0; t < c->n; t++) {
        if (tra_rel_statistics(n->input.rel, t, &s, &none) != TRA_OK) return false;
        for (int i = 0; i < TRA_LOGS; i++) {
            x->n[i] += (double)s.rows.logs[i];
            x->entries[i] += (double)s.rows.logs[i] * (i ? 1.5 : 1) * ldexp(1, i);
        }
    }
    return true;
}

tra_line_counts tra_type_lines(const tra_node *n, int d) {
    bool turned;
    const tra_node *in = tra_tensor_of(n, &turned);
    const tra_catalog *c = n->type.cat;
    tra_dims shape;
    tra_type_shape(&n->type, &shape);
    tra_line_counts x = {{0}, {0}}, even = {{(double)shape.v[d]}, {(double)tra_type_entries(&n->type).expected}};
    tra_err none = {0};
    if (turned) d = 1 - d;
    if (in && d == 0 && c->bound.n == 2 && find_whole_rows(in, &x)) return x;
    x = even;
    if (in) (void)tra_rel_line_histogram(in->input.rel, d, x.n, x.entries, &none);
    return x;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Is dimension d of a matrix of two keys cut by that key, and the other dimension by the other? The arrays of a
 * transposed matrix have the keys of the matrix. */
static bool is_cut_by(const tra_type *t, int d, int key) {
    return t->cut[d] == 1u << key && t->cut[1 - d] == 1u << (1 - key);
}

bool tra_type_is_product(const tra_node *n, int d[2], int of[2]) {
    const tra_type *x = &n->in[0]->type, *y = &n->in[1]->type;
    tra_product p;
    if (x->cat->frontier.n != 2 || y->cat->frontier.n != 2 || n->join.l.n != 1) return false;
    if (!tra_kernel_multiplies(n->kernel, &x->cat->bound, &y->cat->bound, &p) || p.nlabels != 3 || p.nout != 2 ||
        p.rank[0] != 2 || p.rank[1] != 2)
        return false;
    d[0] = memchr(p.out, p.in[0][0], 2) != NULL, d[1] = memchr(p.out, p.in[1][0], 2) != NULL;
    if (p.in[0][d[0]] != p.in[1][d[1]] || memchr(p.out, p.in[0][d[0]], 2)) return false;
    for (int i = 0; i < 2; i++) of[i] = p.out[i] == p.in[0][1 - d[0]] ? 0 : 1;
    return is_cut_by(x, d[0], n->join.l.v[0]) && is_cut_by(y, d[1], n->join.r.v[0]);
}

bool tra_type_adds_product(const tra_node *n) {
    const tra_node *x = n->in[0];
    if (x->op != TRA_OP_JOIN || !tra_kernel_folds_as(n->kernel, x->kernel)) return false;
    if (n->group.n != x->type.cat->frontier.n - x->join.l.n) return false;
    for (int i = 0; i < n->group.n; i++)
        for (int j = 0; j < x->join.l.n; j++)
            if (n->group.v[i] == x->join.l.v[j]) return false;
    return true;
}

/* ---- the fullest row or column ----------------------------------------------------------------------------------- */

/* Is each dimension of the matrix cut by one key at most, each by another, and nothing else by any? */
static bool is_in_blocks(const tra_type *t) {
    uint32_t x = t->cut[0], y = t->cut[1];
    for (int k = 0; k < t->cat->frontier.n; k++)
        if (t->cat->frontier.v[k] > 1 && !((x | y) >> k & 1)) return false;
    return !(x & (x - 1)) && !(y & (y - 1)) && !(x & y);
}

/* Are the rows and columns of the operand's matrix those of the node's, or parts of them? */
static bool keeps_lines(const tra_node *n) {
    const tra_type *in = &n->in[0]->type;
    if (!is_matrix(n->in[0]) || !is_in_blocks(in) || !is_in_blocks(&n->type)) return false;
    return n->op != TRA_OP_CONCAT || in->cat->frontier.v[n->keydim] == 1 || in->cut[n->dim] == 1u << n->keydim;
}

static int64_t of_input(const tra_node *n, int d) {
    tra_err none = {0};
    int64_t most;
    if (n->input.transposed) return of_input(n->input.transposed, 1 - d);
    if (n->input.rel && tra_rel_fullest_line(n->input.rel, d, &most, &none) == TRA_OK) return most;
    return tra_type_entries(&n->type).bound;
}

/* Of a join whose labels are those of an operand, or of both: of what is 0 wherever an operand is, at most as many as
 * that has; else as both have together. */
static int64_t of_join(const tra_node *n, int d, int depth) {
    int64_t all = 0, least = INT64_MAX;
    for (int side = 0; side < 2; side++) {
        bool leads = tra_type_is_alike(n, side);
        int64_t most = leads ? tra_type_fullest_line(n->in[side], d, depth) : INT64_MAX;
        all = tra_add_most(all, most);
        if (leads && tra_kernel_sparse(n->kernel, TRA_USE_JOIN, side == 0, side == 1)) least = tra_min64(least, most);
    }
    return tra_min64(all, least);
}

/* Of a product: each entry of a row meets a row of the other operand at most. */
static int64_t of_product(const tra_node *join, int d, int depth) {
    int sum[2], of[2];
    if (!tra_type_is_product(join, sum, of)) return INT64_MAX;
    int o = of[d];
    return tra_mul_most(tra_type_fullest_line(join->in[o], 1 - sum[o], depth),
                        tra_type_fullest_line(join->in[!o], sum[!o], depth));
}

int64_t tra_type_fullest_line(const tra_node *n, int d, int depth) {
    enum { DEEPEST = 12 }; /* of statements below each other: two operands each */
    int64_t all = tra_type_entries(&n->type).bound, most = INT64_MAX;
    if (!is_matrix(n)) return INT64_MAX;
    if (depth >= DEEPEST) return all;
    switch (n->op) {
    case TRA_OP_INPUT: most = of_input(n, d); break;
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT:
    case TRA_OP_REPART:
        if (keeps_lines(n)) most = tra_type_fullest_line(n->in[0], d, depth + 1);
        break;
    case TRA_OP_TRANSFORM:
        if (tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE) most = tra_type_fullest_line(n->in[0], d, depth + 1);
        if (is_turned(n)) most = tra_type_fullest_line(n->in[0], 1 - d, depth + 1);
        break;
    case TRA_OP_JOIN: most = of_join(n, d, depth + 1); break;
    case TRA_OP_AGG:
        if (tra_type_adds_product(n)) most = of_product(n->in[0], d, depth + 1);
        break;
    }
    return tra_min64(all, most);
}
