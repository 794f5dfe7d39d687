/* tree.c - the tree of a reproducible sum, and which sums are added to which. */
#include "tree.h"

/* The key dimension with the most values among those in `of`; -1. */
static int widest(uint64_t of, const int64_t *n) {
    int best = -1;
    for (int d = 0; d < 2 * TRA_MAXDIM; d++) {
        if (of >> d & 1 && (best < 0 || n[d] > n[best])) best = d;
    }
    return best;
}

tra_tree tra_tree_of(bool join, const tra_catalog *l, const tra_catalog *r, const tra_dims *joinl,
                     const tra_dims *joinr, const tra_dims *group) {
    int64_t n[2 * TRA_MAXDIM] = {0};
    int kl = l->frontier.n, at = kl;
    uint64_t one = 1, of_l = (one << kl) - 1, both = 0, of_r = 0, joined = 0;
    for (int d = 0; d < kl; d++) n[d] = l->frontier.v[d];
    for (int i = 0; join && i < joinl->n; i++) {
        int d = (int)joinl->v[i];
        both |= one << d;
        joined |= one << joinr->v[i];
        n[d] = tra_min64(n[d], r->frontier.v[joinr->v[i]]);
    }
    for (int d = 0; join && d < r->frontier.n; d++) {
        if (joined >> d & 1) continue;
        of_r |= one << at;
        n[at++] = r->frontier.v[d];
    }
    uint64_t summed = of_l | of_r;
    for (int i = 0; i < group->n; i++) summed &= ~(one << group->v[i]);
    uint64_t first = summed & both ? summed & both : summed & of_l ? summed & of_l : summed;
    tra_tree t = {.label = widest(first, n), .n = 1, .leaves = 1};
    if (t.label >= 0) t.n = n[t.label];
    while (t.leaves < TRA_TREE_LEAVES && t.leaves < t.n) t.leaves *= 2;
    return t;
}

bool tra_tree_fits(const tra_tree *t, const tra_placement *pairs, const tra_dims *group) {
    int cut = 0;
    for (int i = 0; i < pairs->naxes; i++) {
        const tra_axis *x = &pairs->axis[i];
        bool grouped = true;
        if (x->sites == 1 || x->kind != TRA_AXIS_PART) continue;
        for (int d = 0; d < x->n; d++) {
            bool kept = false;
            for (int j = 0; j < group->n; j++) kept |= group->v[j] == x->dim[d];
            grouped &= kept;
        }
        if (grouped) continue; /* no summands along this axis */
        bool whole = x->n == 1 && x->dim[0] == t->label && x->ext[0] == t->n && t->leaves % x->sites == 0;
        if (!whole || cut++) return false;
    }
    return true;
}

int tra_tree_depth(int leaves) {
    int depth = 1;
    for (; leaves > 1; leaves /= 2) depth++;
    return depth;
}

/* Before a term of leaf `next` is added, may the sums at leaves a < b become one? When no term of their common branch
 * is yet to come. */
static bool is_closed(int a, int b, int next) {
    int level = 0;
    while (a >> level != b >> level) level++;
    return a >> level != next >> level;
}

tra_tree_step tra_tree_add(tra_tree_sums *s, int leaf) {
    tra_tree_step x = {.top = s->top};
    if (s->top < 0 || s->leaf[s->top] != leaf) {
        while (s->top > 0 && is_closed(s->leaf[s->top - 1], s->leaf[s->top], leaf)) s->top--, x.closed++;
        s->leaf[++s->top] = leaf;
    }
    x.sum = s->top;
    return x;
}
