/* lower_masked.c - parts of an expression that are large and dense, but matter only where an operand of sparse type has
 * entries, as the sum in A[i,j] * exp(sum[k](U[i,k] * V[j,k])): the mask. They are computed at its entries alone, as
 * relations of sparse type, and so the whole is never made.
 *
 * Statements of which such a part is the result are computed again under the mask: sum (A[i,j] != 0) * U[i,k] * V[j,k].
 * Of other functions each step takes two operands: those that are not 0 where the mask has no entry are multiplied by
 * (A[i,j] != 0) first. */
#include "../../lib/kernel/strips.h"
#include "lower_int.h"

#include <math.h>
#include <string.h>

typedef struct masking {
    tra_lowering *w;
    const tra_einsum *s;
    int m; /* the mask, an operand */
    double entries;
} masking;

enum {
    WORTH = 16,   /* a part is large that has so many times the elements, */
    LEAST = 1024, /* and so many; */
    FEW = 4       /* one of sparse type if it has so many times the entries */
};

static double elements(const tra_lowering *w, uint64_t labels) {
    double n = 1;
    for (int l = 0; l < w->nlabels; l++)
        if (labels >> l & 1) n *= (double)w->extent[l];
    return n;
}

/* Has a part many more elements than those at the entries of the mask? */
static bool is_large(const masking *k, const tra_scalar *e) {
    const tra_operand *m = &k->w->operand[k->m];
    uint64_t labels = tra_lower_labels_of(k->w, e), own = tra_lower_set_of(m->n, m->label);
    double all = elements(k->w, labels);
    return all >= LEAST && all > WORTH * k->entries * elements(k->w, labels & ~own);
}

static const tra_type *type_of(const tra_lowering *w, int operand) { return &w->operand[operand].node->type; }

bool tra_lower_is_sparse(const tra_lowering *w, const tra_scalar *e, int only) {
    bool sparse[w->noperands + 1];
    for (int i = 0; i < w->noperands; i++) sparse[i] = type_of(w, i)->sparse && (only < 0 || i == only);
    return tra_scalar_sparse(e, sparse);
}

/* About the share of the elements of e that are entries, if operands have theirs at places of their own. */
static double share_of(const tra_lowering *w, const tra_scalar *e) {
    if (!tra_lower_is_sparse(w, e, -1)) return e->op != TRA_S_CONST || e->value != 0;
    double x = e->a ? share_of(w, e->a) : 0, y = e->b ? share_of(w, e->b) : 0;
    const tra_type *t = e->op == TRA_S_ARG ? type_of(w, e->arg) : NULL;
    if (t) return (double)tra_type_entries(t).expected / fmax(1, (double)tra_catalog_elements(t->cat));
    switch ((int)e->op) {
    case TRA_S_MUL:
    case TRA_S_AND: return x * y;
    case TRA_S_DIV: return x;
    case TRA_S_IF: return fmin(1, fmin(x, y) + share_of(w, e->c));
    default: return fmin(1, x + y);
    }
}

/* Is e of sparse type, and has about as few entries as the mask? A product of vectors is of sparse type where one is,
 * and may be full. */
static bool is_few(const masking *k, const tra_scalar *e) {
    const tra_operand *m = &k->w->operand[k->m];
    double places = elements(k->w, tra_lower_set_of(m->n, m->label));
    return tra_lower_is_sparse(k->w, e, -1) && share_of(k->w, e) * places <= FEW * fmax(1, k->entries);
}

/* Is it a function of dense references of floats that the calculus has? */
static bool is_dense_function(const tra_einsum *s, const tra_scalar *x) {
    const tra_scalar *kid[] = {x->a, x->b, x->c};
    const tra_type *t = x->op == TRA_S_ARG ? &s->ref[x->arg].node->type : NULL;
    switch ((int)x->op) {
    case TRA_S_CONST: return true;
    case TRA_S_ARG: return !t->sparse && tra_dtype_is_float(t->dtype);
    case TRA_S_POW: return x->b->op == TRA_S_CONST && x->b->value == 2 && is_dense_function(s, x->a);
    case TRA_S_ADD:
    case TRA_S_SUB:
    case TRA_S_MUL:
    case TRA_S_DIV:
    case TRA_S_MIN:
    case TRA_S_MAX:
    case TRA_S_NEG:
    case TRA_S_ABS:
    case TRA_S_EXP:
    case TRA_S_LOG:
    case TRA_S_SQRT: break;
    default: return false;
    }
    for (int i = 0; i < 3; i++)
        if (kid[i] && !is_dense_function(s, kid[i])) return false;
    return true;
}

bool tra_is_sampled(const tra_einsum *s, const tra_scalar *x) {
    int v[3];
    if (x->op == TRA_S_MUL) return tra_is_sampled(s, x->a) && tra_is_sampled(s, x->b);
    if (x->op == TRA_S_NEG) return tra_is_sampled(s, x->a);
    return x->op == TRA_S_CONST || tra_lower_arguments(x, 0, v) == 1 || is_dense_function(s, x);
}

/* Is it a function of each element, or a fold that rule S-1 computes well under a mask: a sum of products, or any
 * fold of dense operands? */
static bool is_masked_well(const tra_einsum *x) {
    bool cut = false, dense = x->nrefs < TRA_CODE_ARGS, once = x->fold == TRA_S_MUL || tra_fold_places(x->fold);
    for (int i = 0; i < x->nrefs; i++) dense = dense && !x->ref[i].node->type.sparse && !x->ref[i].diagonal;
    for (int l = 0; l < x->nlabels; l++) {
        bool out = false;
        for (int d = 0; d < x->nout; d++) out = out || x->out[d] == l;
        cut = cut || (!out && x->block[l] < x->extent[l]);
    }
    if (x->shared || x->node->type.bounded) return false;
    return x->nout == x->nlabels || (x->fold == TRA_S_ADD && tra_is_sampled(x, x->expr)) || (dense && !(once && cut));
}

/* The statement that computes what a reference reads, if it can be computed under a mask; else NULL. */
static const tra_einsum *statement_at(const tra_einsum_ref *r) {
    const tra_einsum *x = r->diagonal ? NULL : tra_statement_of(r->node);
    return x && is_masked_well(x) ? x : NULL;
}

static const tra_einsum *statement_of(const masking *k, int ref) {
    return ref < k->s->nrefs ? statement_at(&k->s->ref[ref]) : NULL;
}

static bool has_dense_with(const tra_lowering *w, const tra_scalar *e, uint64_t labels) {
    const tra_scalar *kid[] = {e->a, e->b, e->c};
    if (e->op == TRA_S_ARG) return !type_of(w, e->arg)->sparse && tra_lower_labels_of(w, e) == labels;
    for (int i = 0; i < 3; i++)
        if (kid[i] && has_dense_with(w, kid[i], labels)) return true;
    return false;
}

/* Would e, as it is written, make something large that nobody has? */
static bool expands(const masking *k, const tra_scalar *e) {
    const tra_scalar *kid[] = {e->a, e->b, e->c};
    int v[3];
    if (e->op == TRA_S_CONST) return false;
    if (e->op == TRA_S_ARG) {
        if (e->arg == k->m || !is_large(k, e) || !statement_of(k, e->arg)) return false;
        const tra_type *t = type_of(k->w, e->arg);
        return !t->sparse || (double)tra_type_entries(t).expected > FEW * k->entries;
    }
    for (int i = 0; i < 3; i++)
        if (kid[i] && expands(k, kid[i])) return true;
    return tra_lower_arguments(e, 0, v) > 1 && is_large(k, e) && !is_few(k, e) &&
           !has_dense_with(k->w, e, tra_lower_labels_of(k->w, e));
}

/* ---- at the entries of the mask --------------------------------------------------------------------------------- */

/* (mask != 0) * e */
static const tra_scalar *under(const masking *k, int mask, const tra_scalar *e) {
    tra_arena *a = k->w->b->arena;
    const tra_scalar *there = tra_scalar_of(a, TRA_S_NE, tra_scalar_argument(a, mask), tra_scalar_number(a, 0));
    return tra_scalar_of(a, TRA_S_MUL, there, e);
}

/* e with each argument i as argument i + 1. */
static const tra_scalar *moved(tra_arena *a, const tra_scalar *e) {
    if (e->op == TRA_S_ARG) return tra_scalar_argument(a, e->arg + 1);
    if (e->op == TRA_S_CONST) return e;
    return tra_scalar_of3(a, e->op, moved(a, e->a), e->b ? moved(a, e->b) : NULL, e->c ? moved(a, e->c) : NULL);
}

static bool sampled(const masking *k, const tra_einsum_ref *ref, const tra_einsum *x, tra_operand *y);

/* The mask as a reference. */
static tra_einsum_ref mask_ref(const masking *k) {
    const tra_operand *m = &k->w->operand[k->m];
    tra_einsum_ref r = {.node = m->node, .n = m->n};
    if (k->m < k->s->nrefs) return k->s->ref[k->m];
    memcpy(r.label, m->label, (size_t)m->n * sizeof *r.label);
    return r;
}

/* A reference of statement x that has labels of its result alone, as that of var to the mean: if it is large too, then
 * at the entries of the mask. of: of each label of x, the one here or -1. */
static bool sampled_within(const masking *k, tra_einsum_ref *r, const int *of) {
    tra_einsum_ref here = *r;
    double all = 1;
    bool within = true;
    for (int d = 0; d < r->n; d++) within = within && (here.label[d] = of[r->label[d]]) >= 0;
    if (!within || r->n != k->w->operand[k->m].n) return true;
    for (int d = 0; d < r->n; d++) all *= (double)k->w->extent[here.label[d]];
    const tra_einsum *x = r->node->type.sparse || all <= WORTH * k->entries ? NULL : statement_at(r);
    tra_operand y;
    if (!x) return true;
    if (!sampled(k, &here, x, &y)) return false;
    r->node = y.node;
    r->n = y.n;
    for (int d = 0; d < y.n; d++)
        for (int l = 0; l < TRA_MAXLABELS; l++)
            if (of[l] == y.label[d]) r->label[d] = l;
    return true;
}

/* What a reference reads, the result of statement x, at the entries of the mask: *y; false: that cannot be. */
static bool sampled(const masking *k, const tra_einsum_ref *ref, const tra_einsum *x, tra_operand *y) {
    tra_lowering *w = k->w;
    tra_arena *a = w->b->arena;
    const tra_operand *m = &w->operand[k->m];
    tra_einsum *t = tra_new(a, tra_einsum);
    int of[TRA_MAXLABELS], label[TRA_MAXLABELS], here[TRA_MAXLABELS]; /* by labels here, and of x: those of t, here */
    *t = (tra_einsum){.fold = x->fold, .nout = m->n, .nrefs = x->nrefs + 1};
    if (m->n + x->nlabels > TRA_MAXLABELS) return false;
    for (int l = 0; l < w->nlabels; l++) of[l] = -1;
    for (int l = 0; l < TRA_MAXLABELS; l++) label[l] = here[l] = -1;
    for (int d = 0; d < m->n; d++) {
        of[m->label[d]] = t->out[d] = t->nlabels;
        t->name[t->nlabels] = w->name[m->label[d]];
        t->extent[t->nlabels++] = w->extent[m->label[d]];
    }
    for (int d = 0; d < x->nout; d++)
        if ((label[x->out[d]] = of[here[x->out[d]] = ref->label[d]]) < 0) return false;
    for (int l = 0; l < x->nlabels; l++) {
        if (label[l] >= 0) continue;
        label[l] = t->nlabels;
        t->name[t->nlabels] = tra_arena_printf(a, "%s%d", x->name[l], t->nlabels);
        t->extent[t->nlabels++] = x->extent[l];
    }
    t->ref = tra_news(a, tra_einsum_ref, t->nrefs);
    for (int i = 0; i < t->nrefs; i++) {
        tra_einsum_ref r = i ? x->ref[i - 1] : mask_ref(k);
        if (i && !sampled_within(k, &r, here)) return false;
        t->ref[i] = (tra_einsum_ref){.node = r.node, .n = r.n};
        for (int d = 0; d < r.n; d++) t->ref[i].label[d] = (i ? label : of)[r.label[d]];
    }
    t->expr = under(k, 0, moved(a, x->expr));
    *y = (tra_operand){.node = tra_statement(w->b, w->span, t), .n = m->n};
    if (!y->node || y->node->type.dtype != x->node->type.dtype || !y->node->type.sparse) return false;
    memcpy(y->label, m->label, sizeof y->label);
    tra_dims block = {.n = m->n};
    for (int d = 0; d < m->n; d++) block.v[d] = k->s->block[m->label[d]];
    bool fits = y->node->type.cat->grid && tra_dims_eq(&y->node->type.cat->bound, &block);
    if (!fits) y->node = tra_lower_node(w, TRA_OP_REPART, &(tra_node){.in = {y->node}, .block = block});
    return y->node != NULL;
}

/* Can two operands of e be joined to something sparse, if it is multiplied by (mask != 0) where it has the mask? */
static bool joins(const masking *k, const tra_scalar *e) {
    int v[3], n = tra_lower_arguments(e, 0, v);
    return n < 2 || (n == 2 && (v[0] == k->m || v[1] == k->m || is_few(k, e)));
}

/* e, which joins, as an operand of sparse type. */
static const tra_scalar *held(const masking *k, const tra_scalar *e) {
    return tra_lower_materialise(k->w, is_few(k, e) ? e : under(k, k->m, e), TRA_S_ADD, UINT64_MAX);
}

/* A function of two parts that is not 0 where both are: by the entries of the second, and with 0 as the second at the
 * other entries of the mask. x: the first part as it is, which joins. */
static const tra_scalar *by_second(const masking *k, tra_scalar_op op, const tra_scalar *x, const tra_scalar *y) {
    tra_arena *a = k->w->b->arena;
    const tra_scalar *zero = tra_scalar_number(a, 0);
    const tra_scalar *absent = (y = held(k, y)) ? held(k, under(k, k->m, tra_scalar_of(a, op, x, zero))) : NULL;
    const tra_scalar *there = absent ? tra_scalar_of(a, TRA_S_NE, y, zero) : NULL;
    const tra_scalar *e = there ? tra_lower_split_if(k->w, there, tra_scalar_of(a, op, x, y), absent) : NULL;
    return e ? held(k, e) : NULL;
}

/* The function of parts that join, so that it joins; NULL: that cannot be. */
static const tra_scalar *function_of(const masking *k, tra_scalar_op op, const tra_scalar *kid[3]) {
    tra_arena *a = k->w->b->arena;
    int v[3];
    bool splits = op == TRA_S_DIV || op == TRA_S_IDIV || op == TRA_S_MOD; /* 0 / 0 is no 0 where the 0 is an entry */
    const tra_scalar *e = tra_scalar_of3(a, op, kid[0], kid[1], kid[2]);
    for (int pass = 0; pass < 2; pass++) /* first what has several operands, then what is not 0 everywhere else */
        for (int i = 0; i < 3 && kid[i]; i++) {
            if (joins(k, e)) return e;
            bool sparse = is_few(k, kid[i]);
            int n = tra_lower_arguments(kid[i], 0, v);
            if (splits && i == 0 && !sparse && n > 1) return NULL;
            bool makes = pass == 0 ? n > 1 : n == 1 && v[0] != k->m && !sparse && !(splits && i == 0);
            if (!makes) continue;
            kid[i] = held(k, kid[i]);
            if (!kid[i]) return NULL;
            e = tra_scalar_of3(a, op, kid[0], kid[1], kid[2]);
        }
    if (joins(k, e)) return e;
    if (op != TRA_S_IF) return kid[1] ? by_second(k, op, kid[0], kid[1]) : NULL;
    return tra_lower_is_sparse(k->w, e, -1) ? held(k, e) : NULL;
}

/* What has the values of e at the entries of the mask, and joins; NULL: that cannot be. */
static const tra_scalar *at_entries(const masking *k, const tra_scalar *e) {
    const tra_scalar *kid[3] = {e->a, e->b, e->c};
    if (e->op == TRA_S_ARG && expands(k, e)) {
        tra_operand y;
        bool is = sampled(k, &k->s->ref[e->arg], statement_of(k, e->arg), &y);
        return is ? tra_scalar_argument(k->w->b->arena, tra_lower_operand(k->w, &y)) : NULL;
    }
    if (e->op == TRA_S_ARG || e->op == TRA_S_CONST) return e;
    for (int i = 0; i < 3; i++)
        if (kid[i] && !(kid[i] = at_entries(k, kid[i]))) return NULL;
    return function_of(k, e->op, kid);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* The factors of a product. */
static void add_factors(tra_lowering *w, const tra_scalar *e, term_list *f) {
    if (e->op == TRA_S_MUL) {
        add_factors(w, e->a, f);
        add_factors(w, e->b, f);
        return;
    }
    TRA_ARENA_ROOM(w->b->arena, f->v, f->n, f->cap);
    f->v[f->n++] = (term){e, 1};
}

static const tra_scalar *times(tra_lowering *w, const tra_scalar *x, const tra_scalar *y) {
    return x ? tra_scalar_of(w->b->arena, TRA_S_MUL, x, y) : y;
}

/* The expression, which is 0 where the mask is, with what expands at the entries of the mask; NULL: that cannot be. Of
 * a product: of those factors that expand or have no labels but those of the mask; the others come after them. */
static const tra_scalar *masked(masking *k, const tra_scalar *e) {
    tra_lowering *w = k->w;
    const tra_operand *m = &w->operand[k->m];
    uint64_t own = tra_lower_set_of(m->n, m->label);
    const tra_scalar *in[2] = {NULL, NULL}, *out = NULL; /* in: what the mask annihilates, and other factors */
    term_list f = {0};
    if (e->op != TRA_S_MUL || !tra_lower_may_split(w, e)) return at_entries(k, e);
    add_factors(w, e, &f);
    for (int i = 0; i < f.n; i++) {
        const tra_scalar *x = f.v[i].e, **to = &in[!tra_lower_is_sparse(w, x, k->m)];
        if (tra_lower_labels_of(w, x) & ~own && !expands(k, x)) to = &out;
        *to = times(w, *to, x);
    }
    if (!in[0]) return at_entries(k, e);
    for (int i = 0; i < f.n && in[1]; i++) { /* each joins what is there already */
        const tra_scalar *x = f.v[i].e;
        bool other = !tra_lower_is_sparse(w, x, k->m) && !(tra_lower_labels_of(w, x) & ~own && !expands(k, x));
        if (other) in[0] = times(w, in[0], x);
    }
    const tra_scalar *x = at_entries(k, in[0]);
    if (x && out) x = held(k, x);
    return x && out ? times(w, x, out) : x;
}

/* The operand of sparse type with the fewest entries where e is 0 wherever that is, and under which e expands; -1. */
static int mask_of(masking *k, const tra_scalar *e) {
    int best = -1;
    double least = 0;
    for (k->m = 0; k->m < k->w->noperands; k->m++) {
        const tra_type *t = type_of(k->w, k->m);
        if (!t->sparse || t->bounded || !tra_lower_is_sparse(k->w, e, k->m)) continue;
        k->entries = (double)tra_type_entries(t).expected;
        if ((best < 0 || k->entries < least) && expands(k, e)) best = k->m, least = k->entries;
    }
    k->entries = least;
    return k->m = best;
}

static bool is_zero(const tra_scalar *e) { return e->op == TRA_S_CONST && e->value == 0; }

/* May part i of e be made as one operand? A factor, by whose 0 e is 0; of an `if` beside a 0 also its condition. */
static bool is_factor(const tra_scalar *e, int i) {
    const tra_scalar *kid[] = {e->a, e->b, e->c};
    const tra_scalar *other = i ? kid[3 - i] : NULL; /* of an `if`: the other branch */
    switch ((int)e->op) {
    case TRA_S_MUL:
    case TRA_S_AND: return i < 2;
    case TRA_S_DIV: return i == 0;
    case TRA_S_IF: return i == 0 || is_zero(other);
    default: return false;
    }
}

/* A part of e of sparse type that has several operands, as A[i,j] + B[i,j], and makes e 0 where it is 0, if another
 * part expands under it; -1. */
static int part_of(masking *k, const tra_scalar *e) {
    const tra_scalar *kid[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3 && kid[i]; i++) {
        int v[3], n = is_factor(e, i) ? tra_lower_arguments(kid[i], 0, v) : 0;
        if (n < 2 || !tra_lower_is_sparse(k->w, kid[i], -1)) continue;
        k->m = -1, k->entries = 0;
        for (int j = 0; j < n; j++) {
            bool masks = type_of(k->w, v[j])->sparse && !type_of(k->w, v[j])->bounded;
            if (!masks || tra_lower_labels_of(k->w, tra_scalar_argument(k->w->b->arena, v[j])) !=
                              tra_lower_labels_of(k->w, kid[i]))
                continue;
            k->m = v[j];
            k->entries += (double)tra_type_entries(type_of(k->w, v[j])).expected;
        }
        for (int o = 0; o < 3 && k->m >= 0; o++)
            if (o != i && kid[o] && expands(k, kid[o])) return i;
    }
    return -1;
}

/* e with that part as one operand. */
static const tra_scalar *with_mask(masking *k, const tra_scalar *e) {
    const tra_scalar *kid[] = {e->a, e->b, e->c};
    int i = part_of(k, e);
    if (i < 0 || !(kid[i] = tra_lower_materialise(k->w, kid[i], TRA_S_ADD, UINT64_MAX))) return e;
    return tra_scalar_of3(k->w->b->arena, e->op, kid[0], kid[1], kid[2]);
}

/* e, an `if` whose condition is 0 where an operand of sparse type is: its first branch matters at the entries of that
 * alone, whatever the other one is, as in max[j](if(A[i,j] != 0, X[i] + Y[j], -1)). */
static const tra_scalar *with_branch(masking *k, const tra_scalar *e) {
    int v[3];
    if (e->op != TRA_S_IF || tra_lower_arguments(e->a, 0, v) != 1) return e;
    const tra_type *t = type_of(k->w, k->m = v[0]);
    if (!t->sparse || t->bounded || !tra_lower_is_sparse(k->w, e->a, k->m)) return e;
    k->entries = (double)tra_type_entries(t).expected;
    const tra_scalar *x = expands(k, e->b) ? masked(k, under(k, k->m, e->b)) : NULL;
    if (x) x = held(k, x);
    return x ? tra_scalar_of3(k->w->b->arena, e->op, e->a, x, e->c) : e;
}

static const tra_scalar *walk(masking *k, const tra_scalar *e);

/* e, an `if` of sparse type whose branches have different masks, as two that have one each. */
static const tra_scalar *with_branches(masking *k, const tra_scalar *e) {
    const tra_scalar *branch[2] = {e->b, e->c};
    if (e->op != TRA_S_IF || is_zero(e->b) || is_zero(e->c) || !tra_lower_is_sparse(k->w, e, -1)) return e;
    tra_scalar_op together = tra_lower_branches(k->w, e->a, branch);
    bool masks = false;
    for (int i = 0; i < 2; i++) masks = masks || mask_of(k, branch[i]) >= 0 || part_of(k, branch[i]) >= 0;
    if (!masks) return e;
    const tra_scalar *x = walk(k, branch[0]), *y = walk(k, branch[1]);
    return tra_scalar_of(k->w->b->arena, together, x, y);
}

static const tra_scalar *walk(masking *k, const tra_scalar *e) {
    if (e->op == TRA_S_ARG || e->op == TRA_S_CONST) return e;
    const tra_scalar *x =
        tra_scalar_of3(k->w->b->arena, e->op, walk(k, e->a), e->b ? walk(k, e->b) : NULL, e->c ? walk(k, e->c) : NULL);
    if (mask_of(k, x) < 0 && mask_of(k, x = with_mask(k, x)) < 0) {
        const tra_scalar *y = with_branch(k, x);
        return y != x ? y : with_branches(k, x);
    }
    const tra_scalar *y = masked(k, x);
    return y ? y : x;
}

bool tra_lower_is_one_sum(const tra_einsum *s) {
    bool one = s->fold == TRA_S_ADD && tra_lower_is_product(s->expr);
    for (int i = 0; i < s->nrefs && one; i++) {
        const tra_einsum *x = statement_at(&s->ref[i]);
        one = !x || x->is_one_sum;
    }
    return one;
}

const tra_scalar *tra_lower_masked(tra_lowering *w, const tra_einsum *s) {
    masking k = {.w = w, .s = s};
    int sparse = 0;
    for (int i = 0; i < s->nrefs; i++) sparse += type_of(w, i)->sparse;
    bool fuses = s->is_one_sum && sparse == 1; /* rule S-1 computes it at once */
    return sparse > 0 && s->nrefs > 1 && !fuses ? walk(&k, s->expr) : s->expr;
}

bool tra_lower_is_sampled(const tra_einsum *s, int ref) {
    const tra_einsum_ref *r = &s->ref[ref];
    bool sparse[TRA_MAXLABELS] = {false};
    uint64_t own = r->node ? tra_lower_set_of(r->n, r->label) : 0;
    double all = 1;
    if (!r->node || r->node->type.sparse || s->nrefs > TRA_MAXLABELS) return false;
    for (int d = 0; d < r->n; d++) all *= (double)s->extent[r->label[d]];
    for (int i = 0; i < s->nrefs; i++) {
        const tra_einsum_ref *m = &s->ref[i];
        if (!m->node || !m->node->type.sparse || m->node->type.bounded) continue;
        if (tra_lower_set_of(m->n, m->label) != own) continue;
        sparse[i] = true;
        double entries = (double)tra_type_entries(&m->node->type).expected;
        bool samples = all >= LEAST && all > WORTH * entries && tra_scalar_sparse(s->expr, sparse);
        if (samples) return statement_at(r) != NULL;
        sparse[i] = false;
    }
    return false;
}
