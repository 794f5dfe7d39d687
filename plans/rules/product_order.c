/* product_order.c - rule D-2: the order in which the operands of a product are contracted.
 *
 * A product is read off the memo from its root: sums over keys (agg), joins whose kernel is a product, and maps that
 * permute keys or dimensions, down to operands that are something else. Key dimensions and array dimensions get labels;
 * those that the root lacks are summed. Every order is then a way to split sets of operands in two: a set is one group,
 * computed with the labels that the rest of the product needs, and each split of it one join with its aggregation.
 *
 * Sets are connected by labels. Of long products only sets of neighbours are taken, and of very long ones only the
 * operands nearest to the root.
 */
#include <stdlib.h>
#include <string.h>

#include "rules_int.h"

enum { MAXLEAVES = 10, MAXSETS = 1 << MAXLEAVES, MAXSPLITS = 320, MAXINNER = 4 * MAXLEAVES, MAXMOVES = 16 };

/* Labels in an order. */
typedef struct labels {
    int n, v[TRA_MAXDIM];
} labels;

/* A relation whose dimensions are labelled: an operand, or what the program itself computes on the way to the root. */
typedef struct part {
    uint32_t set; /* of operands */
    int group;
    labels key, dim;
} part;

typedef struct product {
    tra_rewriting *w;
    tra_expr *root;
    int most; /* operands */
    int n;
    part leaf[MAXLEAVES];
    int ninner;
    part inner[MAXINNER];
    int nkeys, ndims; /* labels in use */
    int joins, moves;
} product;

/* ---- reading ------------------------------------------------------------------------------------------------ */

static const tra_dims *bound_of(const tra_node *n) { return &n->type.cat->bound; }
static int arity_of(const tra_node *n) { return n->type.cat->frontier.n; }

/* A rekey that permutes the components: component i of the result is from[i]. */
static bool permutes_keys(const tra_expr *x, int *from) {
    const tra_keyfn *f = x->node.keyfn;
    uint32_t seen = 0;
    if (f->n != f->arity) return false;
    for (int i = 0; i < f->n; i++) {
        if (!tra_keyexpr_is_var(f->expr[i], &from[i]) || (seen >> from[i] & 1)) return false;
        seen |= 1u << from[i];
    }
    return true;
}

static bool is_sum(const tra_expr *x) { return x->node.op == TRA_OP_AGG && tra_kernel_is_sum(x->node.kernel); }

static bool is_product(const tra_expr *x, tra_product *p) {
    return x->node.op == TRA_OP_JOIN &&
           tra_kernel_is_product(x->node.kernel, bound_of(x->node.in[0]), bound_of(x->node.in[1]), p);
}

/* The first expression of the group that may be an inner operator of a product, whether the program or another rule
 * wrote it. */
static tra_expr *inner_of(const tra_memo *m, int group, bool below_agg) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    tra_product p;
    int from[TRA_MAXDIM];
    for (int i = 0; i < g->n; i++) {
        tra_expr *x = m->v[g->expr[i]];
        if (x->rule == &tra_rule_d_2) continue;
        if (is_product(x, &p)) return x;
        if (below_agg) continue;
        if (is_sum(x) && inner_of(m, x->in[0], true)) return x;
        if (x->node.op == TRA_OP_TRANSFORM && tra_kernel_permutes(x->node.kernel, bound_of(x->node.in[0])->n, from))
            return x;
        if (x->node.op == TRA_OP_REKEY && permutes_keys(x, from)) return x;
    }
    return NULL;
}

static bool read_group(product *p, int group, const labels *key, const labels *dim, int depth, uint32_t *set);

static bool read_join(product *p, const tra_expr *x, const labels *key, const labels *dim, int depth, uint32_t *set) {
    tra_product k;
    labels lkey = *key, rkey, in[2];
    int of[2 * TRA_MAXDIM], next;
    if (!is_product(x, &k)) return false;
    p->joins++;
    lkey.n = next = arity_of(x->node.in[0]);
    rkey.n = arity_of(x->node.in[1]);
    for (int d = 0; d < rkey.n; d++) {
        rkey.v[d] = -1;
        for (int i = 0; i < x->node.join.r.n; i++)
            if (x->node.join.r.v[i] == d) rkey.v[d] = lkey.v[x->node.join.l.v[i]];
        if (rkey.v[d] < 0) rkey.v[d] = key->v[next++];
    }
    for (int l = 0; l < k.nlabels; l++) of[l] = -1;
    for (int d = 0; d < k.nout; d++) of[k.out[d]] = dim->v[d];
    for (int l = 0; l < k.nlabels; l++)
        if (of[l] < 0) of[l] = p->ndims++;
    for (int o = 0; o < 2; o++) {
        in[o].n = k.rank[o];
        for (int d = 0; d < k.rank[o]; d++) in[o].v[d] = of[k.in[o][d]];
    }
    return read_group(p, x->in[0], &lkey, &in[0], depth, set) && read_group(p, x->in[1], &rkey, &in[1], depth, set);
}

static bool read_expr(product *p, const tra_expr *x, const labels *key, const labels *dim, int depth, uint32_t *set) {
    labels below = {0};
    int from[TRA_MAXDIM];
    switch (x->node.op) {
    case TRA_OP_JOIN: return read_join(p, x, key, dim, depth + 1, set);
    case TRA_OP_AGG: {
        const tra_expr *join = inner_of(p->w->m, x->in[0], true);
        if (!join) return false;
        below.n = arity_of(x->node.in[0]);
        for (int d = 0; d < below.n; d++) below.v[d] = -1;
        for (int i = 0; i < x->node.group.n; i++) below.v[x->node.group.v[i]] = key->v[i];
        for (int d = 0; d < below.n; d++)
            if (below.v[d] < 0) below.v[d] = p->nkeys++;
        return read_join(p, join, &below, dim, depth + 1, set);
    }
    case TRA_OP_TRANSFORM:
        if (p->moves++ == MAXMOVES) return false;
        below.n = dim->n;
        if (!tra_kernel_permutes(x->node.kernel, below.n, from)) return false;
        for (int d = 0; d < below.n; d++) below.v[from[d]] = dim->v[d];
        return read_group(p, x->in[0], key, &below, depth, set);
    case TRA_OP_REKEY:
        if (p->moves++ == MAXMOVES) return false;
        below.n = key->n;
        if (!permutes_keys(x, from)) return false;
        for (int d = 0; d < below.n; d++) below.v[from[d]] = key->v[d];
        return read_group(p, x->in[0], &below, dim, depth, set);
    default: return false;
    }
}

/* Adds the operands of the product that makes the group to p, and to *set. When there is no room for more, a group is
 * taken as an operand instead of being read further. */
static bool read_group(product *p, int group, const labels *key, const labels *dim, int depth, uint32_t *set) {
    group = tra_memo_find(p->w->m, group);
    const tra_expr *x = inner_of(p->w->m, group, false);
    if (x && p->n + depth < p->most && p->ninner < MAXINNER) {
        product saved = *p;
        uint32_t mine = 0;
        int at = p->ninner++;
        if (read_expr(p, x, key, dim, depth, &mine)) {
            p->inner[at] = (part){mine, group, *key, *dim};
            *set |= mine;
            return true;
        }
        *p = saved;
    }
    if (p->n == p->most) return false;
    unsigned leaf = 1u << p->n;
    *set |= leaf;
    p->leaf[p->n++] = (part){leaf, group, *key, *dim};
    return true;
}

/* ---- labels ------------------------------------------------------------------------------------------------- */

static bool has(const labels *l, int x) {
    for (int i = 0; i < l->n; i++)
        if (l->v[i] == x) return true;
    return false;
}

static int place_of(const labels *l, int x) {
    for (int i = 0; i < l->n; i++)
        if (l->v[i] == x) return i;
    return -1;
}

static const labels *labels_of(const part *x, bool dims) { return dims ? &x->dim : &x->key; }

static bool needed(const product *p, uint32_t set, const part *root, int label, bool dims) {
    if (has(labels_of(root, dims), label)) return true;
    for (int i = 0; i < p->n; i++)
        if (!(set >> i & 1) && has(labels_of(&p->leaf[i], dims), label)) return true;
    return false;
}

/* The labels that the rest of the product needs of a set of operands, in the order in which these have them. */
static labels wanted(const product *p, uint32_t set, const part *root, bool dims, bool *fits) {
    labels out = {0};
    for (int i = 0; i < p->n; i++) {
        const labels *l = labels_of(&p->leaf[i], dims);
        for (int d = 0; (set >> i & 1) && d < l->n; d++) {
            if (has(&out, l->v[d]) || !needed(p, set, root, l->v[d], dims)) continue;
            if (out.n == TRA_MAXDIM) return *fits = false, out;
            out.v[out.n++] = l->v[d];
        }
    }
    return out;
}

static bool same_set(const labels *a, const labels *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (!has(b, a->v[i])) return false;
    return true;
}

static bool linked(const part *a, const part *b) {
    for (int dims = 0; dims < 2; dims++)
        for (int i = 0; i < labels_of(a, dims)->n; i++)
            if (has(labels_of(b, dims), labels_of(a, dims)->v[i])) return true;
    return false;
}

static bool connected(const product *p, uint32_t set) {
    uint32_t seen = set & -set;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < p->n; i++) {
            if (!(set >> i & 1) || (seen >> i & 1)) continue;
            for (int j = 0; j < p->n; j++) {
                if (!(seen >> j & 1) || !linked(&p->leaf[i], &p->leaf[j])) continue;
                seen |= 1u << i;
                again = true;
                break;
            }
        }
    }
    return seen == set;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

static tra_node *any_of(const tra_memo *m, int group) { return &m->v[m->group[tra_memo_find(m, group)].expr[0]]->node; }

/* Does an aggregation of `in` by `group` bring arrays of different extents together, so that it pads the shorter ones?
 * Then one of two orders multiplies padded zeros and the other does not, which matters where a factor is infinite. */
static bool pads(const tra_node *in, const tra_dims *group) {
    const tra_catalog *c = in->type.cat;
    if (!c->grid && !(c->cls && c->nclasses > 1)) return false;        /* all arrays are alike */
    if (!c->grid && !tra_type_is_tensor(&in->type, NULL)) return true; /* nothing tells which of them meet */
    for (int a = 0; a < c->bound.n; a++) {
        int by = c->grid ? c->by[a] : in->type.cut[a] ? __builtin_ctz(in->type.cut[a]) : -1;
        bool grouped = by < 0 || (c->grid && c->last[a] == c->bound.v[a]);
        for (int i = 0; i < group->n; i++) grouped = grouped || group->v[i] == by;
        if (!grouped) return true;
    }
    return false;
}

/* The kernel: labels of the arrays, numbered as they occur. */
static const tra_kernel *kernel_of(tra_rewriting *w, const part *l, const part *r, const part *out) {
    tra_product k = {.rank = {l->dim.n, r->dim.n}, .nout = out->dim.n};
    const labels *v[3] = {&l->dim, &r->dim, &out->dim};
    int8_t *to[3] = {k.in[0], k.in[1], k.out};
    int number[2 * TRA_MAXDIM], n = 0;
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < v[i]->n; d++) {
            int at = 0;
            while (at < n && number[at] != v[i]->v[d]) at++;
            if (at == n) number[n++] = v[i]->v[d];
            to[i][d] = (int8_t)at;
        }
    k.nlabels = n;
    return tra_kernel_product(w->m->arena, &k);
}

/* Are both sparse, with the same labels in another order? One of them is transposed first, or else each entry would be
 * looked up. */
static bool meets_in_other_order(const tra_memo *m, const part *l, const part *r) {
    bool sparse = any_of(m, l->group)->type.sparse && any_of(m, r->group)->type.sparse;
    bool same = memcmp(l->dim.v, r->dim.v, (size_t)l->dim.n * sizeof *l->dim.v) == 0;
    return sparse && same_set(&l->dim, &r->dim) && !same;
}

/* Joins l and r, sums over the labels that `out` lacks, and claims that this computes out. If the group of out is -1,
 * it becomes the group of what was made. */
static void write_split(product *p, const part *l, const part *r, part *out, bool root) {
    tra_rewriting *w = p->w;
    tra_memo *m = w->m;
    if (out->dim.n && !has(&l->dim, out->dim.v[0])) {
        const part *t = l;
        l = r;
        r = t;
    }
    tra_node join = {.op = TRA_OP_JOIN, .in = {any_of(m, l->group), any_of(m, r->group)}, .span = p->root->node.span};
    labels key = l->key;
    for (int d = 0; d < r->key.n; d++) {
        int at = place_of(&l->key, r->key.v[d]);
        if (at >= 0) {
            join.join.l.v[join.join.l.n++] = at;
            join.join.r.v[join.join.r.n++] = d;
        } else {
            if (key.n == TRA_MAXDIM) return;
            key.v[key.n++] = r->key.v[d];
        }
    }
    if (meets_in_other_order(m, l, r)) {
        tra_refuse(w, p->root, "sparse operands that meet at one place are read side by side in one order alone");
        return;
    }
    join.kernel = kernel_of(w, l, r, out);
    if (!join.kernel) return;
    bool plain = key.n == out->key.n && memcmp(key.v, out->key.v, (size_t)key.n * sizeof *key.v) == 0;
    tra_expr *left = tra_memo_expr(any_of(m, l->group)), *right = tra_memo_expr(any_of(m, r->group)), *z = NULL;
    if (!plain) {
        z = tra_make_below(w, p->root, join);
        if (!z) return;
        tra_dims group = {.n = out->key.n};
        for (int i = 0; i < group.n; i++) group.v[i] = place_of(&key, out->key.v[i]);
        if (pads(&z->node, &group)) {
            tra_refuse(w, p->root, "the arrays of a group differ in extents, and what pads them would be multiplied");
            return;
        }
        join = tra_proto_agg(tra_kernel_sum(m->arena), &group, &z->node);
        left = z;
        right = NULL;
    }
    if (out->group < 0) {
        tra_expr *made = tra_make_below(w, p->root, join);
        if (made) out->group = tra_memo_find(m, made->group);
    } else if (root) {
        tra_claim(w, p->root, NULL, join, left, right);
    } else {
        tra_claim(w, tra_memo_expr(any_of(m, out->group)), NULL, join, left, right);
    }
}

/* ---- orders ------------------------------------------------------------------------------------------------- */

static bool neighbours(uint32_t set) { return ((set >> __builtin_ctz(set)) & ((set >> __builtin_ctz(set)) + 1)) == 0; }

static int count_splits(const product *p, const bool *use) {
    int n = 0;
    for (uint32_t s = 1; s < 1u << p->n; s++) {
        uint32_t low = s & -s;
        if (!use[s]) continue;
        for (uint32_t l = (s - 1) & s; l; l = (l - 1) & s) n += (l & low) && use[l] && use[s & ~l];
    }
    return n;
}

static void all_orders(product *p, const part *root) {
    uint32_t all = (1u << p->n) - 1;
    bool use[MAXSETS] = {false};
    part *of = tra_calloc((size_t)all + 1, sizeof *of);
    for (uint32_t s = 1; s <= all; s++) use[s] = connected(p, s);
    if (!use[all]) {
        tra_refuse(p->w, p->root, "operands of the product share no label with the others");
        free(of);
        return;
    }
    if (count_splits(p, use) > MAXSPLITS)
        for (uint32_t s = 1; s <= all; s++) use[s] = use[s] && (neighbours(s) || s == all);
    for (uint32_t s = 1; s <= all; s++) { /* subsets have smaller numbers */
        uint32_t low = s & -s;
        bool fits = true;
        if (!use[s]) continue;
        if (s == low) {
            of[s] = p->leaf[__builtin_ctz(s)];
            continue;
        }
        of[s] = s == all ? *root : (part){.set = s, .group = -1};
        if (s != all) {
            of[s].key = wanted(p, s, root, false, &fits);
            of[s].dim = wanted(p, s, root, true, &fits);
            for (int i = 0; i < p->ninner; i++) {
                const part *x = &p->inner[i];
                if (x->set == s && same_set(&x->key, &of[s].key) && same_set(&x->dim, &of[s].dim)) of[s] = *x;
            }
        }
        for (uint32_t l = (s - 1) & s; l && fits; l = (l - 1) & s) {
            if (!(l & low) || !use[l] || !use[s & ~l] || of[l].group < 0 || of[s & ~l].group < 0) continue;
            write_split(p, &of[l], &of[s & ~l], &of[s], s == all);
        }
        use[s] = fits && of[s].group >= 0;
    }
    free(of);
}

/* How many operands a product may have: fewer in a long program, since the search grows with their third power. */
static int most_operands(const tra_memo *m) {
    int nodes = 0;
    for (int i = 0; i < m->g->n; i++) nodes += m->of_node[i] >= 0;
    return nodes <= 40 ? MAXLEAVES : nodes <= 100 ? 5 : 3;
}

/* An aggregation of products in the group. */
static const tra_expr *aggregated(const tra_memo *m, int group) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    for (int i = 0; i < g->n; i++)
        if (m->v[g->expr[i]]->node.op == TRA_OP_AGG && inner_of(m, m->v[g->expr[i]]->in[0], true))
            return m->v[g->expr[i]];
    return NULL;
}

/* A join that goes into a sum is part of that product. */
static bool is_summed(const tra_memo *m, const tra_expr *join) {
    int n;
    const int *user = tra_memo_users(m, join->group, &n);
    for (int i = 0; i < n; i++)
        if (is_sum(m->v[user[i]])) return true;
    return false;
}

static void reorder_product(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    tra_product k;
    uint32_t set = 0;
    const tra_memo *m = w->m;
    (void)y;
    if (x->rule == &tra_rule_d_2) return;
    if (x->node.op == TRA_OP_AGG) {
        const tra_expr *join = inner_of(m, x->in[0], true);
        if (!join) return;
        for (int i = 0; i < 2; i++) {
            const tra_expr *z = aggregated(m, join->in[i]);
            if (z && (!is_sum(x) || !is_sum(z)))
                tra_refuse(w, x, "the products are aggregated by %s, not by a plain sum",
                           tra_kernel_name(w, is_sum(x) ? z->node.kernel : x->node.kernel));
        }
        if (!is_sum(x)) return;
    } else if (!is_product(x, &k) || is_summed(m, x)) {
        return;
    }
    product *p = tra_new(w->m->arena, product);
    *p = (product){.w = w, .root = x, .most = most_operands(w->m)};
    part root = {.group = tra_memo_find(w->m, x->group)};
    for (; root.key.n < arity_of(&x->node); root.key.n++) root.key.v[root.key.n] = p->nkeys++;
    for (; root.dim.n < bound_of(&x->node)->n; root.dim.n++) root.dim.v[root.dim.n] = p->ndims++;
    if (!read_expr(p, x, &root.key, &root.dim, 0, &set) || (p->n < 3 && !p->moves)) return;
    if (p->joins > 1 && !tra_dtype_is_float(x->node.type.dtype)) {
        tra_refuse(w, x, "products of integers in another order might overflow where these do not");
        return;
    }
    uint64_t seen = 14695981039346656037u; /* FNV-1a over what was read */
    for (int i = 0; i < p->n; i++) {
        const part *l = &p->leaf[i];
        seen = (seen ^ (uint64_t)l->group) * 1099511628211u;
        for (int d = 0; d < l->key.n; d++) seen = (seen ^ (uint64_t)l->key.v[d]) * 1099511628211u;
        for (int d = 0; d < l->dim.n; d++) seen = (seen ^ (uint64_t)(64 + l->dim.v[d])) * 1099511628211u;
    }
    if (tra_tried(w, (seen ^ (uint64_t)x->node.id) * 1099511628211u)) return;
    all_orders(p, &root);
}

const tra_rule tra_rule_d_2 = {
    .name = "D-2",
    .equivalence = "the order of contraction: sum(sum(A*B) * C) = sum(A * sum(B*C))",
    .condition = "products and sums alone; sets of operands that share labels; no padding is multiplied",
    .forth = reorder_product,
};
