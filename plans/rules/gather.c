/* gather.c - rows of a tensor at some positions, computed of the rows of its operands: what slice_products.h promises
 * of them.
 */
#include <string.h>

#include "slice_products.h"

enum { DEEP = 16 };

const tra_memo_group *tra_gather_group(const gathering *f, int group) {
    return &f->w->m->group[tra_memo_find(f->w->m, group)];
}

/* ---- how operands meet ------------------------------------------------------------------------------------------- */

/* Finds the labels of a join of two arrays. *fixed: the join is no product, but works on elements that labels align, or
 * that stand at the same places, counted from the last dimension; then it cannot be written with other labels. */
static bool labels_of(const tra_node *n, tra_product *p, bool *fixed) {
    const tra_dims *bound[2] = {&n->in[0]->type.cat->bound, &n->in[1]->type.cat->bound};
    *fixed = false;
    if (tra_kernel_rest(n->kernel) || tra_kernel_rows(n->kernel)) return false;
    if (tra_kernel_is_product(n->kernel, bound[0], bound[1], p)) return true;
    *fixed = true;
    *p = (tra_product){.rank = {bound[0]->n, bound[1]->n}, .nout = n->type.cat->bound.n};
    tra_kernel_desc d = tra_kernel_describe(n->kernel);
    if (d.einsum) {
        const char *s = d.einsum;
        if ((int)strlen(s) != p->rank[0] + p->rank[1] + p->nout + 3) return false;
        for (int i = 0; i < p->rank[0]; i++) p->in[0][i] = (int8_t)*s++;
        s++;
        for (int i = 0; i < p->rank[1]; i++) p->in[1][i] = (int8_t)*s++;
        s += 2;
        for (int i = 0; i < p->nout; i++) p->out[i] = (int8_t)*s++;
        return true;
    }
    bool same = tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE,
         stretched = d.scalar || strncmp(d.name, "matvec", 6) == 0;
    if (!same && !stretched) return false;
    for (int d = 0; d < p->nout; d++) p->out[d] = (int8_t)d;
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < p->rank[o]; d++) {
            int at = d + p->nout - p->rank[o];
            bool one = bound[o]->v[d] == 1 && n->type.cat->bound.v[at] != 1;
            p->in[o][d] = (int8_t)(one ? p->nout + 1 + o * TRA_MAXDIM / 2 + d : at); /* stretched: a label of its own */
        }
    return true;
}

static int place_of(const int8_t *v, int n, int8_t label) {
    for (int d = 0; d < n; d++)
        if (v[d] == label) return d;
    return -1;
}

/* Are keys joined exactly where operands share a label, and does each operand have a label once? A dimension that is
 * stretched has a single block, which is joined with all others. */
static bool keys_follow(const tra_node *n, const tra_product *p) {
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < p->rank[o]; d++)
            if (place_of(p->in[o], p->rank[o], p->in[o][d]) != d) return false;
    int shared = 0;
    for (int d = 0; d < p->rank[0]; d++) shared += place_of(p->in[1], p->rank[1], p->in[0][d]) >= 0;
    for (int i = 0; i < n->join.l.n; i++) {
        bool same = p->in[0][n->join.l.v[i]] == p->in[1][n->join.r.v[i]];
        shared -= same;
        if (!same && n->in[0]->type.cat->frontier.v[n->join.l.v[i]] != 1) return false;
        if (!same && n->in[1]->type.cat->frontier.v[n->join.r.v[i]] != 1) return false;
    }
    return shared == 0;
}

static bool is_known_tensor(const tra_type *t) { return !t->columns && !t->bounded && tra_type_is_blocked(t, NULL); }

/* Does a join, or the sum of its results if `sum` is not NULL, put each element at the place that the labels of the
 * result say? */
static bool is_aligned(const tra_node *sum, const tra_node *join, tra_product *p, bool *fixed) {
    int8_t label[2 * TRA_MAXDIM]; /* of the join's keys */
    int n = 0;
    if (join->op != TRA_OP_JOIN || !is_known_tensor(&join->in[0]->type) || !is_known_tensor(&join->in[1]->type))
        return false;
    if (!labels_of(join, p, fixed) || !keys_follow(join, p)) return false;
    if (!sum) return is_known_tensor(&join->type);
    if (*fixed || !tra_kernel_is_sum(sum->kernel) || sum->group.n != p->nout) return false;
    for (int d = 0; d < p->rank[0]; d++) label[n++] = p->in[0][d];
    for (int d = 0; d < p->rank[1]; d++) {
        bool joined = false;
        for (int i = 0; i < join->join.r.n; i++) joined = joined || join->join.r.v[i] == d;
        if (!joined) label[n++] = p->in[1][d];
    }
    for (int d = 0; d < p->nout; d++)
        if (label[sum->group.v[d]] != p->out[d]) return false;
    return true;
}

/* The first join that the expression is the sum of; NULL: there is none. */
static const tra_node *joined_below(const gathering *f, const tra_expr *x, tra_product *p, bool *fixed) {
    const tra_memo_group *g = x->node.op == TRA_OP_AGG ? tra_gather_group(f, x->in[0]) : NULL;
    for (int i = 0; g && i < g->n; i++) {
        const tra_node *j = &f->w->m->v[g->expr[i]]->node;
        if (is_aligned(&x->node, j, p, fixed)) return j;
    }
    return NULL;
}

/* ---- where there is a product ------------------------------------------------------------------------------------ */

static bool passes(const tra_node *n) {
    if (n->op == TRA_OP_REPART) return n->slice.origin.n == 0;
    return n->op == TRA_OP_TRANSFORM && !tra_kernel_rows(n->kernel) &&
           (tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE) && is_known_tensor(&n->in[0]->type);
}

/* The expression of the group that computes its rows from rows of its operands, and that is a product or has one
 * further down; NULL: there is none. */
static const tra_expr *way_down(const gathering *f, int group, int deep) {
    const tra_memo_group *g = tra_gather_group(f, group);
    tra_product p;
    bool fixed;
    for (int i = 0; i < g->n && deep < DEEP; i++) {
        const tra_expr *x = f->w->m->v[g->expr[i]];
        if (joined_below(f, x, &p, &fixed)) return x;
    }
    for (int i = 0; i < g->n && deep < DEEP; i++) {
        const tra_expr *x = f->w->m->v[g->expr[i]];
        if (passes(&x->node) && way_down(f, x->in[0], deep + 1)) return x;
        if (x->node.op != TRA_OP_JOIN || !is_aligned(NULL, &x->node, &p, &fixed) || p.nout == 0) continue;
        for (int o = 0; o < 2; o++)
            if (place_of(p.in[o], p.rank[o], p.out[0]) == 0 && way_down(f, x->in[o], deep + 1)) return x;
    }
    return NULL;
}

/* ---- rows of tensors --------------------------------------------------------------------------------------------- */

/* Under the key of dimension d alone; d < 0: under none. */
static tra_expr *rekeyed(const gathering *f, const tra_expr *in, int d) {
    if (in->node.type.cat->frontier.n == (d >= 0)) return (tra_expr *)in;
    const tra_keyexpr *key = tra_keyexpr_component(f->a, d);
    return tra_make_below(f->w, f->x, tra_proto_rekey(f->w, &in->node, NULL, d >= 0, &key));
}

/* Whole along all dimensions but d, along which it is in blocks of positions; d < 0: in one block. */
static tra_expr *in_blocks(const gathering *f, const tra_expr *in, int d) {
    tra_dims block;
    tra_type_shape(&in->node.type, &block);
    for (int i = 0; i < block.n; i++) block.v[i] = tra_max64(1, i == d ? tra_min64(f->block, block.v[i]) : block.v[i]);
    const tra_catalog *c = in->node.type.cat;
    if (!c->grid || !tra_dims_eq(&c->bound, &block))
        in = tra_make_below(f->w, f->x, (tra_node){.op = TRA_OP_REPART, .in = {(tra_node *)&in->node}, .block = block});
    return in ? rekeyed(f, in, d) : NULL;
}

/* The rows along dimension d that are left, gathered; of a matrix the other dimension comes second. */
static tra_expr *gathered(const gathering *f, const tra_expr *in, int d) {
    tra_dims shape;
    tra_type_shape(&in->node.type, &shape);
    if (shape.n > 2 || !(in = in_blocks(f, in, d)))
        return tra_refuse(f->w, f->x, "rows are taken of a tensor of more than two dimensions");
    tra_gather *g = tra_new(f->a, tra_gather);
    *g = (tra_gather){d, f->block};
    tra_rows_kernel k = tra_rows_op(&tra_gather_ops, g, NULL);
    k.dtype = in->node.type.dtype, k.width = shape.n == 2 ? shape.v[1 - d] : 1;
    k.flops = 1; /* for each element that is taken, since these are the share of all that rows are */
    tra_expr *made = tra_make_below(f->w, f->x, tra_proto_rows_by(f->w, &k, &f->positions->node, &in->node));
    const tra_kernel *first;
    if (!made || shape.n == 2) return made;
    if (tra_kernel_einsum(f->a, "ab->a", &first, NULL) != TRA_OK) return NULL;
    return tra_make_below(f->w, f->x, tra_proto_transform(first, &made->node));
}

static tra_expr *rows_of(const gathering *f, int group, int deep);

/* The join j of the gathered rows of its operands. */
static tra_expr *join_rows(const gathering *f, const tra_node *j, tra_product *p, bool fixed, int deep) {
    tra_node n = {.op = TRA_OP_JOIN, .kernel = j->kernel};
    bool keyed[2];
    for (int o = 0; o < 2; o++) {
        const tra_expr *in = tra_memo_expr(j->in[o]);
        int d = place_of(p->in[o], p->rank[o], p->out[0]);
        if (d > 0 && (fixed || p->rank[o] != 2))
            return tra_refuse(f->w, f->x, "rows of the result are no rows of an operand that is aligned with another");
        keyed[o] = d >= 0;
        tra_expr *part = d == 0 ? rows_of(f, in->group, deep + 1) : d < 0 ? in_blocks(f, in, -1) : gathered(f, in, d);
        if (!part) return NULL;
        if (d == 1) {
            int8_t first = p->in[o][0];
            p->in[o][0] = p->in[o][1], p->in[o][1] = first;
        }
        n.in[o] = &part->node;
    }
    if (keyed[0] && keyed[1]) n.join.l = n.join.r = (tra_dims){.n = 1};
    if (!fixed && !(n.kernel = tra_kernel_product(f->a, p))) return NULL;
    return tra_make_below(f->w, f->x, n);
}

static tra_expr *rows_of(const gathering *f, int group, int deep) {
    const tra_expr *x = way_down(f, group, deep);
    tra_product p;
    bool fixed;
    if (!x) return gathered(f, f->w->m->v[tra_gather_group(f, group)->expr[0]], 0);
    const tra_node *j = x->node.op == TRA_OP_JOIN ? &x->node : joined_below(f, x, &p, &fixed);
    if (j && is_aligned(j == &x->node ? NULL : &x->node, j, &p, &fixed)) return join_rows(f, j, &p, fixed, deep);
    tra_expr *in = rows_of(f, x->in[0], deep + 1);
    if (!in || x->node.op == TRA_OP_REPART) return in;
    return tra_make_below(f->w, f->x, tra_over(x, &in->node));
}

bool tra_gather_has_product(const gathering *f, int group) { return way_down(f, group, 0) != NULL; }

tra_expr *tra_gather_left(const gathering *f, int group) { return rows_of(f, group, 0); }
