/* fused_masked.c - fused statements that are a product of two matrices under a mask: C[i,k] = sum M[i,k] * A[i,j] *
 * B[j,k], its max and min, and sums whose result has fewer labels, as triangles that are counted. One kernel of entries
 * (lib/kernel/masked.h) computes them, so that no product is made of which the mask takes little. */
#include "../tra/cardinality.h"
#include "fused_int.h"

#include <math.h>
#include <string.h>

/* How the three references of a statement are a product under a mask. */
typedef struct roles {
    int mask, outer, inner;
    int row, place, shared;  /* labels */
    bool by_place, in_order; /* in_order: the result's labels are in the order of the mask's */
} roles;

/* How many times the expression has a reference. */
static int uses(const tra_scalar *x, int ref) {
    if (x->op == TRA_S_ARG) return x->arg == ref;
    int n = 0;
    const tra_scalar *kid[] = {x->a, x->b, x->c};
    for (int i = 0; i < 3; i++) n += kid[i] ? uses(kid[i], ref) : 0;
    return n;
}

/* Are they three matrices of three labels, of which each two have another one? */
static bool is_triangle(const tra_einsum *s) {
    int seen[TRA_MAXLABELS] = {0};
    if (s->nrefs != 3 || s->nlabels != 3) return false;
    for (int i = 0; i < 3; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        if (r->n != 2 || r->label[0] == r->label[1] || uses(s->expr, i) != 1) return false;
        for (int d = 0; d < 2; d++) seen[r->label[d]]++;
    }
    return seen[0] == 2 && seen[1] == 2 && seen[2] == 2;
}

/* Takes reference `mask` as the mask; false: its rows do not meet rows of the outer matrix, or the result has another
 * label. */
static bool roles_of(const tra_einsum *s, int mask, roles *x) {
    const tra_einsum_ref *m = &s->ref[mask];
    *x = (roles){.mask = mask, .row = m->label[0], .place = m->label[1]};
    x->shared = 3 - x->row - x->place;
    for (int d = 0; d < s->nout; d++)
        if (s->out[d] == x->shared) return false;
    for (int i = 0; i < 3; i++) {
        const int *l = s->ref[i].label;
        if (i == mask) continue;
        if (l[0] == x->row || l[1] == x->row)
            x->outer = i;
        else
            x->inner = i;
    }
    x->by_place = s->ref[x->inner].label[0] == x->place;
    x->in_order = s->nout < 2 || s->out[0] == x->row;
    return s->ref[x->outer].label[0] == x->row;
}

/* Entries of the whole relation of a reference. */
static double entries_of(const tra_einsum *s, int ref) {
    return (double)tra_type_entries(&s->ref[ref].node->type).expected;
}

/* The relation in a file that a node has the places of; NULL: unknown. */
static tra_rel *file_of(const tra_node *n) {
    int from[TRA_MAXDIM];
    while (n->op == TRA_OP_TRANSFORM && !tra_kernel_permutes(n->kernel, 2, from)) n = n->in[0];
    return n->op == TRA_OP_INPUT ? n->input.rel : NULL;
}

/* How many entries of the inner matrix are looked at: rows of it, for each entry of the mask or of the outer matrix. */
static double steps_of(const tra_einsum *s, const roles *x) {
    int left = x->by_place ? x->mask : x->outer;
    tra_rel *a = file_of(s->ref[left].node), *b = file_of(s->ref[x->inner].node);
    double pairs = 0;
    tra_err none = {0};
    if (a && b && tra_rel_meeting_pairs(a, 1, b, 0, &pairs, &none) == TRA_OK) return pairs;
    return entries_of(s, left) * entries_of(s, x->inner) /
           fmax(1, (double)s->extent[x->by_place ? x->place : x->shared]);
}

/* The roles that cost least. rows: the result is to be made row by row. */
static bool find_roles(const tra_einsum *s, bool rows, roles *best) {
    double least = INFINITY;
    roles x;
    for (int m = 0; m < 3; m++) {
        if (!roles_of(s, m, &x) || (rows && !x.in_order)) continue;
        double steps = steps_of(s, &x);
        if (steps < least) least = steps, *best = x;
    }
    return least < INFINITY;
}

bool fused_is_masked(const tra_einsum *s) {
    if (!is_triangle(s)) return false;
    for (int i = 0; i < 3; i++) {
        const tra_node *n = s->ref[i].node;
        if (!n->type.sparse || !n->type.layout) return false;
    }
    return true;
}

bool fused_transpose(tra_memo *m, const tra_einsum_ref *r, tra_einsum_ref *out) {
    tra_arena *a = m->arena;
    tra_node map = {.op = TRA_OP_TRANSFORM, .in = {(tra_node *)&fused_expr(m, r->node)->node}, .span = r->node->span};
    tra_err none = {0};
    if (tra_kernel_einsum(a, "ab->ba", &map.kernel, &none) != TRA_OK) return false;
    int i = tra_memo_add(m, &map, -1, NULL);
    if (i < 0) return false;
    const tra_keyexpr *turned[] = {tra_keyexpr_component(a, 1), tra_keyexpr_component(a, 0)};
    const tra_keyfn *k = tra_keyfn_new(a, 2, (const char *const[]){"a", "b"}, 2, turned);
    tra_node keys = {.op = TRA_OP_REKEY, .in = {(tra_node *)&m->v[i]->node}, .span = r->node->span, .keyfn = k};
    keys.name = r->node->name;
    i = tra_memo_add(m, &keys, -1, NULL);
    if (i < 0) return false;
    *out = (tra_einsum_ref){.node = &m->v[i]->node, .n = 2, .label = {r->label[1], r->label[0]}};
    return true;
}

const tra_einsum *fused_transposed(fusing *f) {
    roles x;
    const tra_einsum *s = f->s, *best = s;
    bool rows = s->nout == 2;
    double least = INFINITY;
    if (!fused_is_masked(f->s) || find_roles(s, rows, &x)) return s;
    for (unsigned set = 1; set < 8; set++) { /* the references that are transposed */
        tra_einsum *t = tra_new(f->m->arena, tra_einsum);
        double cost = 0;
        *t = *s;
        t->ref = tra_news(f->m->arena, tra_einsum_ref, 3);
        for (int i = 0; i < 3; i++) {
            t->ref[i] = s->ref[i];
            if (!(set >> i & 1)) continue;
            t->ref[i].label[0] = s->ref[i].label[1], t->ref[i].label[1] = s->ref[i].label[0];
            cost += 8 * entries_of(s, i);
        }
        if (!find_roles(t, rows, &x) || (cost += steps_of(t, &x)) >= least) continue;
        least = cost;
        best = t;
    }
    for (int i = 0; i < 3 && best != s; i++)
        if (best->ref[i].label[0] != s->ref[i].label[0] && !fused_transpose(f->m, &s->ref[i], &best->ref[i])) return s;
    return best;
}

/* Sets the plan for operands that are held as they are expected to be; false: the statement is none of these, or its
 * operands are held otherwise. */
bool fused_masked_plan(fusing *f, int held, tra_fused_plan *x) {
    const tra_einsum *s = f->s;
    tra_fused_masked *k = tra_new(f->m->arena, tra_fused_masked);
    double blocks = 1, one[3] = {1, 1, 1}, elements = 1;
    roles r;
    if (!fused_is_masked(f->s) || !find_roles(s, s->nout == 2 && s->node->type.sparse, &r)) return false;
    *k = (tra_fused_masked){
        f->of_ref[r.mask], f->of_ref[r.outer], f->of_ref[r.inner], r.by_place, tra_scalar_eval(s->expr, one), s->fold,
        {-1, -1}};
    for (int o = 0; o < f->p->noperands; o++)
        if (!tra_fused_has_rows(f->p, o, held)) return false;
    bool whole = tra_dtype_is_float(s->node->type.dtype) || fabs(k->factor) < 0x1p53;
    if (!whole) return false;
    for (int d = 0; d < s->nout; d++) k->by[s->out[d] == r.row ? 0 : 1] = d;
    for (int l = 0; l < s->nlabels; l++) blocks *= (double)tra_ceil_div(s->extent[l], fused_block_of(s, l));
    const tra_storel_costs *c = f->o->costs ? f->o->costs : &tra_storel_default_costs;
    double steps = steps_of(s, &r) / blocks, mask = entries_of(s, r.mask), inner = entries_of(s, r.inner) / blocks;
    /* rows of the inner matrix are sought where no cache has them */
    double far = 1 + c->far * fmax(0, log2(12 * inner / (1 << 20))),
           visits = entries_of(s, r.by_place ? r.mask : r.outer);
    elements = (double)s->extent[r.row] * (double)s->extent[r.place];
    /* of the mask's entries those on which a product is expected to fall */
    double found = mask * tra_any_of(1 / fmax(elements, 1), steps * blocks);
    *x = (tra_fused_plan){.masked = k, .operations = fmax(1, 2 * steps), .entries = found / blocks};
    x->ascends = r.in_order;
    x->nanoseconds = 2 * (c->row * steps + (2 * c->lookup * far * visits + c->hash * mask) / blocks);
    return true;
}
