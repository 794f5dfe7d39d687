/* pairs.c - listing and ordering what meets on a site. */
#include "pairs.h"

#include <stdlib.h>

/* ---- labels and local tuples ------------------------------------------------------------------------------------ */

static int arity(const tra_side *s) { return s->part ? s->part->type->cat->frontier.n : 0; }

/* Label values of a tuple of one side, where it has them. */
static void label_values(const tra_pairs *x, const tra_side *s, int64_t tuple, int64_t *value, bool *has) {
    tra_dims key;
    tra_catalog_key(s->part->type->cat, s->part->ordinal[tuple], &key);
    for (int d = 0; d < key.n; d++) {
        int label = s == &x->l ? d : tra_join_key(&x->op->spec.joinl, &x->op->spec.joinr, arity(&x->l), d);
        value[label] = key.v[d];
        if (has) has[label] = true;
    }
}

static void classify(tra_pairs *x) {
    const tra_op *op = x->op;
    int kl = arity(&x->l), kr = arity(&x->r);
    bool in_l[2 * TRA_MAXDIM] = {0}, in_r[2 * TRA_MAXDIM] = {0}, grouped[2 * TRA_MAXDIM] = {0};
    x->nlabels = kl + kr - (x->r.part ? op->spec.joinr.n : 0);
    for (int d = 0; d < kl; d++) {
        in_l[d] = true;
        x->radix[d] = x->l.part->type->cat->frontier.v[d];
    }
    for (int d = 0; d < kr; d++) {
        int label = tra_join_key(&op->spec.joinl, &op->spec.joinr, kl, d);
        int64_t f = x->r.part->type->cat->frontier.v[d];
        x->radix[label] = in_l[label] ? tra_min64(x->radix[label], f) : f; /* joined keys: the lesser frontier counts */
        in_r[label] = true;
    }
    for (int i = 0; i < x->nlabels; i++) grouped[i] = !op->spec.agg;
    for (int i = 0; op->spec.agg && i < op->spec.group.n; i++) grouped[op->spec.group.v[i]] = true;
    for (int i = 0; i < x->nlabels; i++) {
        if (in_l[i] && in_r[i])
            x->class[i] = grouped[i] ? TRA_PAIR_B : TRA_PAIR_K;
        else if (in_l[i])
            x->class[i] = grouped[i] ? TRA_PAIR_I : TRA_PAIR_KL;
        else
            x->class[i] = grouped[i] ? TRA_PAIR_J : TRA_PAIR_KR;
    }
}

/* By B and K: entries of equal ones meet. */
static int compare_meeting(const tra_pairs_entry *a, const tra_pairs_entry *b) {
    if (a->b != b->b) return a->b < b->b ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

static int compare(const void *x, const void *y) {
    const tra_pairs_entry *a = x, *b = y;
    int order = compare_meeting(a, b);
    if (order != 0) return order;
    if (a->contracted != b->contracted) return a->contracted < b->contracted ? -1 : 1;
    return a->own < b->own ? -1 : a->own > b->own;
}

static int compare_own(const void *x, const void *y) {
    const tra_pairs_entry *a = *(tra_pairs_entry *const *)x, *b = *(tra_pairs_entry *const *)y;
    if (a->b != b->b) return a->b < b->b ? -1 : 1;
    return a->own < b->own ? -1 : a->own > b->own;
}

/* Lists and sorts the local tuples of one side; those whose joined values the other side cannot have are left out. */
static void list_side(tra_pairs *x, tra_side *s, const bool *without) {
    if (!s->part) return;
    int64_t summands = 1;
    for (int64_t t = 0; s->part->summand && t < s->part->n; t++)
        summands = tra_max64(summands, s->part->summand[t] + 1);
    s->v = tra_calloc((size_t)s->part->n, sizeof *s->v);
    for (int64_t t = 0; t < s->part->n; t++) {
        int64_t value[2 * TRA_MAXDIM], sum[TRA_PAIR_CLASSES] = {0};
        bool has[2 * TRA_MAXDIM] = {0}, fits = true;
        label_values(x, s, t, value, has);
        int leaf = s->part->summand ? s->part->summand[t] : 0;
        for (int j = -1; j < x->nlabels; j++) { /* the label of the tree, if there is one, then the others */
            int i = j < 0 ? x->tree.label : j;
            if (i < 0 || !has[i] || (j >= 0 && i == x->tree.label)) continue;
            fits &= value[i] < x->radix[i];
            sum[x->class[i]] = sum[x->class[i]] * x->radix[i] + value[i];
            if (j < 0) leaf = tra_tree_leaf(&x->tree, value[i]);
        }
        int64_t contracted = sum[TRA_PAIR_KL] + sum[TRA_PAIR_KR]; /* a side has but one of the two, and of I and J */
        if (s->part->summand) contracted = contracted * summands + s->part->summand[t];
        if (fits && !(without && without[t]))
            s->v[s->n++] = (tra_pairs_entry){
                sum[TRA_PAIR_B], sum[TRA_PAIR_K], contracted, sum[TRA_PAIR_I] + sum[TRA_PAIR_J], t, 0, leaf, 0};
    }
    qsort(s->v, (size_t)s->n, sizeof *s->v, compare);
    tra_pairs_entry **p = tra_calloc((size_t)s->n, sizeof(tra_pairs_entry *));
    for (int64_t i = 0; i < s->n; i++) p[i] = &s->v[i];
    qsort(p, (size_t)s->n, sizeof *p, compare_own);
    for (int64_t i = 1; i < s->n; i++) {
        if (p[i]->b == p[i - 1]->b) p[i]->line = p[i - 1]->line + (p[i]->own != p[i - 1]->own);
    }
    free(p);
}

/* Summands are the leaves of the tree that completes them. */
static tra_tree tree_of(const tra_op *op, const tra_part *l, const tra_part *r, bool reproducible) {
    tra_tree t = {.label = -1, .n = 1, .leaves = 1};
    if (!reproducible || !op->spec.agg) return t;
    if (op->op != TRA_PLAN_MERGE)
        return tra_tree_of(op->spec.join, l->type->cat, r ? r->type->cat : NULL, &op->spec.joinl, &op->spec.joinr,
                           &op->spec.group);
    for (int64_t i = 0; l->summand && i < l->n; i++) {
        while (t.leaves <= l->summand[i]) t.leaves *= 2;
    }
    return t;
}

void tra_pairs_list(tra_pairs *x, const tra_op *op, tra_part *l, tra_part *r, bool reproducible,
                    const bool *const without[2]) {
    *x = (tra_pairs){.op = op, .l.part = l, .r.part = r, .tree = tree_of(op, l, r, reproducible)};
    classify(x);
    list_side(x, &x->l, without ? without[0] : NULL);
    list_side(x, &x->r, without ? without[1] : NULL);
}

void tra_pairs_free(tra_pairs *x) {
    free(x->l.v);
    free(x->r.v);
    free(x->l.shape);
    free(x->r.shape);
}

void tra_pairs_key(const tra_pairs *x, const tra_pairs_entry *l, const tra_pairs_entry *r, tra_dims *key) {
    int64_t value[2 * TRA_MAXDIM] = {0};
    label_values(x, &x->l, l->tuple, value, NULL);
    if (r) label_values(x, &x->r, r->tuple, value, NULL);
    key->n = x->op->spec.agg ? x->op->spec.group.n : x->nlabels;
    for (int d = 0; d < key->n; d++) key->v[d] = value[x->op->spec.agg ? x->op->spec.group.v[d] : d];
}

bool tra_pairs_next_match(const tra_pairs *x, tra_pairs_range *m) {
    const tra_side *l = &x->l, *r = &x->r;
    for (m->l0 = m->l1, m->r0 = m->r1; m->l0 < l->n && m->r0 < r->n;) {
        const tra_pairs_entry *a = &l->v[m->l0], *b = &r->v[m->r0];
        int order = compare_meeting(a, b);
        m->l0 += order < 0;
        m->r0 += order > 0;
        if (order != 0) continue;
        for (m->l1 = m->l0; m->l1 < l->n && compare_meeting(&l->v[m->l1], a) == 0;) m->l1++;
        for (m->r1 = m->r0; m->r1 < r->n && compare_meeting(&r->v[m->r1], b) == 0;) m->r1++;
        return true;
    }
    return false;
}

int64_t tra_pairs_count(const tra_pairs *x) {
    int64_t n = 0;
    if (!x->r.part) return x->l.n;
    for (tra_pairs_range m = {0}; tra_pairs_next_match(x, &m);) n += (m.l1 - m.l0) * (m.r1 - m.r0);
    return n;
}

static int compare_class(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void number_shapes(tra_side *s) {
    int64_t *class = tra_calloc((size_t)s->n + 1, sizeof *class), n = 0;
    const tra_catalog *c = s->part ? s->part->type->cat : NULL;
    for (int64_t i = 0; i < s->n; i++) class[i] = tra_catalog_class(c, s->part->ordinal[s->v[i].tuple]);
    qsort(class, (size_t)s->n, sizeof *class, compare_class);
    for (int64_t i = 0; i < s->n; i++) {
        if (n == 0 || class[i] != class[n - 1]) class[n++] = class[i];
    }
    s->nshapes = (int)n;
    s->shape = tra_calloc((size_t)n + 1, sizeof *s->shape);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t mine = tra_catalog_class(c, s->part->ordinal[s->v[i].tuple]);
        const int64_t *at = bsearch(&mine, class, (size_t)n, sizeof *class, compare_class);
        s->v[i].shape = (int)(at - class);
        s->shape[s->v[i].shape] = s->v[i].tuple;
    }
    free(class);
}

void tra_pairs_shapes(tra_pairs *x) {
    number_shapes(&x->l);
    number_shapes(&x->r);
}

/* ---- spans and steps -------------------------------------------------------------------------------------------- */

bool tra_pairs_next_span(const tra_pairs *x, tra_pairs_range *b) {
    const tra_side *l = &x->l, *r = &x->r;
    while (b->l1 < l->n) {
        int64_t at = l->v[b->l1].b;
        b->l0 = b->l1;
        while (b->l1 < l->n && l->v[b->l1].b == at) b->l1++;
        while (b->r1 < r->n && r->v[b->r1].b < at) b->r1++;
        b->r0 = b->r1;
        while (b->r1 < r->n && r->v[b->r1].b == at) b->r1++;
        if (!r->part || b->r0 < b->r1) return true;
    }
    return false;
}

int64_t tra_side_lines(const tra_side *s, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) n = tra_max64(n, s->v[i].line + 1);
    return n;
}

/* Where the entries with the (k, contracted) of entry `at` end: they lie side by side, since a span is sorted by these.
 * Steps double, then halve, since each superblock asks. */
static int64_t run_end(const tra_side *s, int64_t at, int64_t end) {
    const tra_pairs_entry *v = s->v, *of = &v[at];
    int64_t last = at, step = 1;
    for (; last + step < end && v[last + step].k == of->k && v[last + step].contracted == of->contracted; step *= 2)
        last += step;
    for (end = tra_min64(end, last + step); last + 1 < end;) {
        int64_t middle = last + (end - last) / 2;
        bool same = v[middle].k == of->k && v[middle].contracted == of->contracted;
        last = same ? middle : last;
        end = same ? end : middle;
    }
    return end;
}

tra_walk tra_walk_begin(const tra_pairs *x, const tra_pairs_range *b) {
    return (tra_walk){.x = x, .span = *b, .l0 = b->l0, .l1 = b->l0, .rk = b->r0};
}

bool tra_walk_next(tra_walk *w) {
    const tra_side *l = &w->x->l, *r = &w->x->r;
    if (!r->part) {
        w->l0 = w->l1;
        if (w->l0 >= w->span.l1) return false;
        w->l1 = run_end(l, w->l0, w->span.l1);
        return true;
    }
    if (w->l1 > w->l0 && w->r1 < w->span.r1 && r->v[w->r1].k == l->v[w->l0].k) { /* the next KR of the same (k, KL) */
        w->r0 = w->r1;
        w->r1 = run_end(r, w->r0, w->span.r1);
        return true;
    }
    int64_t li = w->l1, ri = w->rk;
    while (li < w->span.l1) {
        /* R's first entry of the same k; k ascends on both sides but L may stay on one k for several KL */
        while (ri < w->span.r1 && r->v[ri].k < l->v[li].k) ri++;
        if (ri < w->span.r1 && r->v[ri].k == l->v[li].k) break;
        li = run_end(l, li, w->span.l1);
    }
    if (li >= w->span.l1) return false;
    w->l0 = li;
    w->l1 = run_end(l, li, w->span.l1);
    w->r0 = w->rk = ri;
    w->r1 = run_end(r, ri, w->span.r1);
    return true;
}
