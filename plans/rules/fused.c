/* fused.c - fused statements: which statements can be, what their operands are, and the joins that find matching
 * arrays. */
#include "fused_int.h"

#include <string.h>

const tra_rule tra_rule_fused = {
    .name = "S-1",
    .equivalence = "a sum of products, computed at once on each combination of arrays that meet",
    .condition = "a factor is of sparse type",
};

/* ---- statements ------------------------------------------------------------------------------------------------- */

/* Is it a statement of several factors, one of which is of sparse type? */
static bool is_candidate(const tra_memo *m, const tra_einsum *s) {
    bool sparse = false;
    if (m->of_node[s->node->id] < 0 || s->nrefs < 2) return false;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *n = s->ref[i].node;
        if (n->type.columns || n->type.bounded || !(fused_is_expr(m, n) || m->of_node[n->id] >= 0)) return false;
        sparse = sparse || n->type.sparse;
    }
    return sparse;
}

/* Is it a product of two operands whose kernel is as fast as any? Of two of sparse type at the same place, which adds
 * nothing up; or of one with rows of a dense one, into rows of the result in no order: C[j,k] = sum A[i,j] * X[i,k]. */
static bool has_kernel(const tra_einsum *s) {
    bool product = s->nrefs == 2 && s->expr->op == TRA_S_MUL && s->expr->a->op == TRA_S_ARG;
    if (!product || s->expr->b->op != TRA_S_ARG || s->nout < 1) return false;
    bool sparse[2] = {s->ref[0].node->type.sparse, s->ref[1].node->type.sparse};
    if (sparse[0] && sparse[1]) return s->nout == s->nlabels && s->ref[0].n == s->nout && s->ref[1].n == s->nout;
    const tra_einsum_ref *x = &s->ref[sparse[0]], *a = &s->ref[!sparse[0]];
    int last = s->out[s->nout - 1];
    bool rows = x->n > 1 && a->n > 0 && x->label[x->n - 1] == last && s->fold == TRA_S_ADD, spread = false;
    for (int d = 0; d < a->n; d++) rows = rows && a->label[d] != last;
    for (int d = 0; d < s->nout; d++) spread = spread || (a->n > 0 && a->label[a->n - 1] == s->out[d]);
    return rows && spread;
}

/* Why the statement cannot be fused; NULL: it can. */
static const char *why_not(const tra_einsum *s) {
    bool folds = s->fold == TRA_S_MAX || s->fold == TRA_S_MIN;
    if (s->fold != TRA_S_ADD && !folds) return "it is no sum, maximum or minimum";
    if (has_kernel(s)) return "its operands have a kernel that takes them as they are";
    if (!tra_is_sampled(s, s->expr)) return "it is not a product of its operands, numbers and functions of dense ones";
    if (folds && (s->nout != 2 || !fused_is_masked(s)))
        return "it does not add up, and is no product of two matrices under a mask";
    tra_dtype t = s->node->type.dtype;
    if (!tra_dtype_is_float(t) && t != TRA_I64) return "its integers are not of 64 bits";
    if (s->nrefs > TRA_MAXLABELS || s->nlabels > TRA_PROGRAM_MOST) return "it has too many factors or labels";
    for (int l = 0; l < s->nlabels; l++) {
        if (s->extent[l] < 1) return "a label has no values";
        if (s->extent[l] >= INT32_MAX) return "a label has 2^31 values or more";
    }
    return NULL;
}

int64_t fused_block_of(const tra_einsum *s, int label) {
    return tra_max64(1, tra_min64(s->block[label] > 0 ? s->block[label] : s->extent[label], s->extent[label]));
}

/* Do two references read the same array in each combination: one relation, cut nowhere or by the same labels? */
static bool same_array(const tra_einsum *s, const tra_einsum_ref *x, const tra_einsum_ref *y) {
    if (x->node != y->node || x->n != y->n) return false;
    for (int d = 0; d < x->n; d++) {
        int l = x->label[d], m = y->label[d];
        bool whole = fused_block_of(s, l) >= s->extent[l] && fused_block_of(s, m) >= s->extent[m];
        if (l != m && !whole) return false;
    }
    return true;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

const tra_expr *fused_in_blocks(const fusing *f, const tra_einsum_ref *r) {
    const tra_expr *x = fused_expr(f->m, r->node);
    const tra_catalog *c = x->node.type.cat;
    tra_node cut = {.op = TRA_OP_REPART, .in = {(tra_node *)&x->node}, .span = x->node.span, .block = {.n = r->n}};
    bool fits = c->grid && !r->reblocked;
    for (int d = 0; d < r->n; d++) {
        cut.block.v[d] = fused_block_of(f->s, r->label[d]);
        fits = fits && tra_min64(c->bound.v[d], f->s->extent[r->label[d]]) == cut.block.v[d];
    }
    if (fits) return x;
    int i = tra_memo_add(f->m, &cut, -1, NULL);
    return i < 0 ? NULL : f->m->v[i];
}

static double bytes_of(const tra_expr *x) { return (double)tra_type_bytes_all(&x->node.type).expected; }

/* Has a reference all labels of the result, so that the result has entries only where the reference has some? */
static bool masks(const tra_einsum *s, const tra_einsum_ref *r) {
    int found = 0;
    for (int i = 0; i < s->nout; i++)
        for (int d = 0; d < r->n; d++) found += r->label[d] == s->out[i];
    return found == s->nout;
}

/* The order of operands: dense ones, then sparse ones, of these last those that mask the result; then the smaller
 * first. (The last operand is the one whose rows a plan walks.) */
static bool goes_before(fusing *f, int a, int b) {
    const tra_einsum_ref *r = f->s->ref;
    const tra_expr *x = fused_in_blocks(f, &r[a]), *y = fused_in_blocks(f, &r[b]);
    bool sx = x->node.type.sparse, sy = y->node.type.sparse, mx = masks(f->s, &r[a]), my = masks(f->s, &r[b]);
    if (sx != sy) return sy;
    return sx && mx != my ? my : bytes_of(x) < bytes_of(y);
}

static void add_operand(fusing *f, int at, int ref, const tra_expr *x) {
    const tra_einsum_ref *r = &f->s->ref[ref];
    tra_program_operand *o = &f->p->operand[at];
    *o = (tra_program_operand){.dtype = x->node.type.dtype, .sparse = x->node.type.sparse, .name = -1, .number = -1};
    o->shape.n = o->block.n = r->n;
    for (int d = 0; d < r->n; d++) {
        o->shape.v[d] = f->s->extent[r->label[d]];
        o->block.v[d] = fused_block_of(f->s, r->label[d]);
        o->label[d] = (int8_t)r->label[d];
    }
    f->operand[at] = x;
}

/* Makes one operand of all references that read the same array, and orders operands by goes_before. A single operand is
 * joined with itself. */
static bool find_operands(fusing *f) {
    const tra_einsum *s = f->s;
    const tra_expr *of[TRA_MAXLABELS];
    int n = 0, ref[TRA_MAXLABELS];
    for (int i = 0; i < s->nrefs; i++) {
        const tra_expr *x = fused_in_blocks(f, &s->ref[i]);
        bool again = false;
        if (!x) return false;
        for (int j = 0; j < n; j++) again = again || same_array(s, &s->ref[ref[j]], &s->ref[i]);
        if (again) continue;
        int at = n++;
        if (n > TRA_PROGRAM_MOST) return false;
        for (; at > 0 && goes_before(f, i, ref[at - 1]); at--) ref[at] = ref[at - 1];
        ref[at] = i;
    }
    if (n == 1) ref[n++] = ref[0];
    for (int o = 0; o < n; o++) of[o] = fused_in_blocks(f, &s->ref[ref[o]]);
    fused_choose_last(s, ref, of, n);
    for (int o = 0; o < n; o++) add_operand(f, o, ref[o], of[o]);
    f->p->noperands = n;
    for (int i = 0; i < s->nrefs; i++)
        for (int o = 0; o < n; o++)
            if (same_array(s, &s->ref[ref[o]], &s->ref[i])) f->of_ref[i] = o;
    return true;
}

static bool has_label(const tra_program_operand *o, int label, int *dim) {
    for (*dim = 0; *dim < o->block.n; ++*dim)
        if (o->label[*dim] == label) return true;
    return false;
}

/* Has each label of the result an operand with it? (References that read the same array are one operand, which has the
 * labels of the first of them.) */
static bool has_result_labels(const fusing *f) {
    for (int d = 0; d < f->s->nout; d++) {
        bool any = false;
        int dim;
        for (int o = 0; o < f->p->noperands; o++) any = any || has_label(&f->p->operand[o], f->s->out[d], &dim);
        if (!any) return false;
    }
    return true;
}

static void add_key(fusing *f, int label) {
    tra_calc_program *p = f->p;
    tra_program_key *k = &p->key[p->nkeys];
    *k = (tra_program_key){.label = label, .operand = p->noperands - 1};
    if (!has_label(&p->operand[k->operand], label, &k->dim))
        for (k->operand = 0; !has_label(&p->operand[k->operand], label, &k->dim);) k->operand++;
    p->nkeys++;
}

/* The labels that the kernel has to be told of: those of the result, and those whose last block is shorter where the
 * last operand does not have them, so that its shape cannot tell. */
static void find_labels(fusing *f) {
    const tra_einsum *s = f->s;
    tra_calc_program *p = f->p;
    p->nlabels = s->nlabels;
    for (int l = 0; l < s->nlabels; l++)
        p->label[l] = (tra_program_label){.extent = s->extent[l], .block = fused_block_of(s, l), .same = l};
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < s->nrefs; i++)
            for (int j = 0; j < i; j++)
                for (int d = 0; f->of_ref[i] == f->of_ref[j] && d < s->ref[i].n; d++) {
                    int *x = &p->label[s->ref[i].label[d]].same, *y = &p->label[s->ref[j].label[d]].same;
                    again = again || *x != *y;
                    *x = *y = *x < *y ? *x : *y;
                }
    }
    p->shape.n = s->nout;
    for (int d = 0; d < s->nout; d++) {
        p->out[d] = (int8_t)p->nkeys;
        p->shape.v[d] = s->extent[s->out[d]];
        add_key(f, s->out[d]);
    }
    for (int l = 0; l < s->nlabels; l++) {
        int dim;
        bool out = false, read = false;
        for (int d = 0; d < s->nout; d++) out = out || s->out[d] == l;
        for (int o = 0; o < p->noperands; o++) read = read || has_label(&p->operand[o], l, &dim);
        bool told = has_label(&p->operand[p->noperands - 1], l, &dim) || p->noperands == 2;
        if (!out && read && !told && p->label[l].extent % p->label[l].block != 0) add_key(f, l);
    }
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static const tra_expr *add(const fusing *f, const tra_node *proto, int group) {
    const char *why = NULL;
    int before = f->m->n;
    int i = tra_memo_add(f->m, proto, group, &why);
    if (i < 0) return NULL;
    if (f->m->n > before) f->m->v[i]->rule = &tra_rule_fused;
    return f->m->v[i];
}

/* What was joined so far, and the labels of its key dimensions. */
typedef struct joined {
    const tra_expr *x;
    int n, label[TRA_MAXDIM];
} joined;

static tra_node join_of(const fusing *f, joined *at, int o) {
    const tra_program_operand *op = &f->p->operand[o];
    tra_arena *a = f->m->arena;
    bool last = o + 1 == f->p->noperands;
    tra_node j = {.op = TRA_OP_JOIN, .in = {(tra_node *)&at->x->node, (tra_node *)&f->operand[o]->node}};
    int n = at->n;
    j.span = f->s->node->span;
    j.kernel = last ? tra_kernel_program(a, f->p) : tra_kernel_pack(a, f->p, o);
    for (int d = 0; d < op->block.n; d++) {
        int with = -1;
        for (int i = 0; i < n; i++)
            if (at->label[i] == op->label[d]) with = i;
        if (with < 0) {
            at->label[at->n++] = op->label[d];
            continue;
        }
        j.join.l.v[j.join.l.n++] = with;
        j.join.r.v[j.join.r.n++] = d;
    }
    return j;
}

static const tra_kernel *fold_of(tra_arena *a, tra_scalar_op fold) {
    const tra_kernel *k = NULL;
    const char *name = fold == TRA_S_MAX ? "elemmax" : "elemmin"; /* what multiplies or gives places is not cut */
    return tra_kernel_named(a, name, TRA_USE_AGG, 0, NULL, &k, NULL) == TRA_OK ? k : NULL;
}

/* The operator that leaves the keys of the result: an aggregation over the blocks of other labels, or a rekey where
 * there are none. */
static tra_node finish_of(const fusing *f, const tra_einsum *s, const joined *at) {
    tra_arena *a = f->m->arena;
    tra_node n = {.op = at->n > s->nout ? TRA_OP_AGG : TRA_OP_REKEY, .in = {(tra_node *)&at->x->node}};
    tra_keyfn *k = tra_new(a, tra_keyfn);
    k->arity = at->n;
    k->n = n.group.n = s->nout;
    for (int i = 0; i < at->n; i++) k->names[i] = s->name[at->label[i]];
    for (int d = 0; d < s->nout; d++)
        for (int i = 0; i < at->n; i++) {
            if (at->label[i] != s->out[d]) continue;
            k->expr[d] = tra_keyexpr_component(a, i);
            n.group.v[d] = i;
        }
    n.span = s->node->span;
    if (n.op == TRA_OP_AGG)
        n.kernel = s->fold == TRA_S_ADD ? tra_kernel_sum(a) : fold_of(a, s->fold);
    else
        n.keyfn = k, n.group.n = 0;
    return n;
}

/* Does the join have a key dimension for each dimension of the result? */
static bool covers(const fusing *f, const joined *at) {
    for (int d = 0; d < f->s->nout; d++) {
        bool found = false;
        for (int i = 0; i < at->n; i++) found = found || at->label[i] == f->s->out[d];
        if (!found) return false;
    }
    return true;
}

static bool in_order(const fusing *f, const joined *at) {
    bool same = at->n == f->s->nout;
    for (int i = 0; i < at->n && same; i++) same = at->label[i] == f->s->out[i];
    return same;
}

static bool fits(const fusing *f) {
    int keys = 0;
    for (int o = 0; o < f->p->noperands; o++) keys += f->p->operand[o].block.n;
    return keys <= TRA_MAXDIM && f->p->nkeys + 2 <= TRA_MAXDIM && f->p->nkeys <= TRA_PROGRAM_MOST;
}

/* ---- results whose dimensions are permuted ----------------------------------------------------------------------- */

/* The statement with the dimensions of its result in the order in which the last operand has them, other ones after
 * these; of a matrix where that is the order already: transposed. NULL: there is no other order. */
static const tra_einsum *permuted(const fusing *f) {
    const tra_program_operand *o = &f->p->operand[f->p->noperands - 1];
    tra_einsum *s = tra_new(f->m->arena, tra_einsum);
    bool same = true;
    int dim;
    *s = *f->s;
    s->nout = 0;
    for (int d = 0; d < o->block.n; d++)
        for (int i = 0; i < f->s->nout; i++)
            if (f->s->out[i] == o->label[d]) s->out[s->nout++] = f->s->out[i];
    for (int i = 0; i < f->s->nout; i++)
        if (!has_label(o, f->s->out[i], &dim)) s->out[s->nout++] = f->s->out[i];
    for (int i = 0; i < s->nout; i++) same = same && s->out[i] == f->s->out[i];
    if (same && s->nout == 2) {
        s->out[0] = f->s->out[1];
        s->out[1] = f->s->out[0];
    }
    return same && s->nout != 2 ? NULL : s;
}

/* What has the dimensions of `from`, with those of `to`: each array, and their keys. */
static const tra_expr *permute_back(const fusing *f, const tra_expr *x, const tra_einsum *from, const tra_einsum *to,
                                    int group) {
    char text[2 * TRA_MAXDIM + 3];
    int n = 0;
    tra_node map = {.op = TRA_OP_TRANSFORM, .in = {(tra_node *)&x->node}, .span = x->node.span};
    joined at = {.n = from->nout};
    for (int i = 0; i < from->nout; i++) {
        at.label[i] = from->out[i];
        text[n++] = (char)('a' + i);
    }
    text[n++] = '-', text[n++] = '>';
    for (int d = 0; d < to->nout; d++)
        for (int i = 0; i < from->nout; i++)
            if (from->out[i] == to->out[d]) text[n++] = (char)('a' + i);
    text[n] = 0;
    if (tra_kernel_einsum(f->m->arena, text, &map.kernel, NULL) != TRA_OK) return NULL;
    at.x = add(f, &map, -1);
    if (!at.x) return NULL;
    tra_node keys = finish_of(f, to, &at);
    keys.name = to->node->name;
    return add(f, &keys, group);
}

/* ---- whole statements -------------------------------------------------------------------------------------------- */

/* Finds operands, packs all of them but the last (by joins, where there are more than two), and finds plans. */
static bool prepare(fusing *f, joined *at) {
    tra_calc_program *p = f->p = tra_new(f->m->arena, tra_calc_program);
    tra_arena *a = f->m->arena;
    const tra_node *result = f->s->node;
    if (!find_operands(f) || !has_result_labels(f)) return false;
    find_labels(f);
    if (!fits(f)) return false;
    p->dtype = result->type.dtype;
    p->sparse = result->type.sparse;
    p->fused = tra_new(a, tra_fused); /* its plans come last; packing asks only whether there are any */
    p->text = tra_arena_printf(a, "%s (%d)", result->name ? result->name : "", result->id);
    for (int d = 0; d < p->shape.n; d++) p->text = tra_arena_printf(a, "%s %s", p->text, f->s->name[f->s->out[d]]);
    *at = (joined){.x = f->operand[0], .n = p->operand[0].block.n};
    for (int d = 0; d < at->n; d++) at->label[d] = p->operand[0].label[d];
    for (int o = 1; o + 1 < p->noperands && at->x; o++) {
        tra_node j = join_of(f, at, o);
        at->x = add(f, &j, -1);
    }
    return at->x && fused_plan(f, at->x);
}

/* Can the last join make what is held of it and of `result`, which adds its arrays up or is the join itself? Its plan
 * may not make the rows that are wanted of it in ascending order. */
static bool can_be_held(const tra_expr *join, const tra_expr *result) {
    const tra_node *j = &join->node;
    const tra_layout *l = j->in[0]->type.layout, *r = j->in[1]->type.layout;
    const tra_layout *held = result->node.op == TRA_OP_AGG ? result->node.type.layout : NULL;
    return tra_program_runs(j->kernel, l, r, j->type.layout) && tra_program_runs(j->kernel, l, r, held);
}

/* Adds the last join, and what leaves the keys of the result, to the group (-1: to a new one, for the statement with
 * the dimensions of its result in another order). NULL: this is not possible, and *why says why. */
static const tra_expr *complete(const fusing *f, joined *at, int group, const char **why) {
    const char *name = group < 0 ? NULL : f->s->node->name;
    tra_node node = join_of(f, at, f->p->noperands - 1);
    bool all = in_order(f, at);
    *why = "its result would have other blocks";
    if (!covers(f, at)) return NULL;
    if (all) node.name = name;
    const tra_expr *join = at->x = add(f, &node, -1), *result = join;
    if (!join) return NULL;
    if (!all) {
        node = finish_of(f, f->s, at);
        node.name = name;
        result = add(f, &node, -1);
    }
    if (!result) return NULL;
    if (!can_be_held(join, result)) {
        *why = "its plan does not make the rows of its result in order";
        return NULL;
    }
    if (group >= 0) result = add(f, &node, group); /* nothing is in that group that cannot run */
    return result;
}

/* The product that the statement is, if the pairs of entries that meet in it are counted; else NULL. */
static const tra_node *counted_product(const tra_einsum *s, const tra_node *whole) {
    const tra_node *join = whole->op == TRA_OP_AGG ? whole->in[0] : NULL;
    return join && join->op == TRA_OP_JOIN && s->nrefs == 2 && join->join.meeting_pairs > 0 ? join : NULL;
}

static bool makes_rows(const fusing *f) { return f->p->fused->plan[f->p->fused->expected].ascends; }

/* Adds the fused statement to its group; returns why that is not possible, or NULL. */
static void claim(tra_memo *m, const tra_expr *whole, const tra_expr *made) {
    if (made == whole) return;
    TRA_ARENA_ROOM(m->arena, m->equal, m->nequal, m->capequal);
    m->equal[m->nequal++] = (tra_equality){whole->node.id, made->node.id, {-1, -1}, {-1, -1}, &tra_rule_fused};
    m->v[made->node.id]->equality = m->nequal - 1;
}

static const char *fuse(tra_memo *m, const tra_einsum *s, const tra_fused_options *o, bool sampled) {
    fusing *f = tra_new(m->arena, fusing), *g = tra_new(m->arena, fusing);
    *f = (fusing){.m = m, .s = s, .o = o, .sampled = sampled};
    const tra_expr *whole = m->v[m->of_node[s->node->id]], *made = NULL;
    const char *why = "its result would have other blocks";
    int group = tra_memo_find(m, whole->group);
    joined at, permuted_at;
    f->product = counted_product(s, &whole->node);
    if (!sampled && s->fold == TRA_S_ADD && fused_turned(f, group, &made)) claim(m, whole, made);
    made = NULL;
    if (!sampled) f->s = s = fused_transposed(f);
    if (!prepare(f, &at)) return "the optimizer finds no plan for it, or its operands have too many dimensions";
    *g = *f;
    bool permutes = s->node->type.sparse && s->nout > 1 && !makes_rows(f) && (g->s = permuted(f)) &&
                    prepare(g, &permuted_at) && makes_rows(g);
    if (permutes) {
        const tra_expr *x = complete(g, &permuted_at, -1, &why);
        made = x ? permute_back(g, x, g->s, s, group) : NULL;
    } else {
        made = complete(f, &at, group, &why);
    }
    if (!made) return why;
    claim(m, whole, made);
    return NULL;
}

static void note(tra_memo *m, const tra_einsum *s, const char *why, tra_refusals *to) {
    TRA_ARENA_ROOM(m->arena, to->v, to->n, to->cap);
    to->v[to->n++] = (tra_refusal){&tra_rule_fused, m->of_node[s->node->id], why};
}

/* Adds the statement, a candidate, as a fused one, if it can be. */
static void apply(tra_memo *m, const tra_einsum *s, const tra_fused_options *o, tra_refusals *refusals) {
    const char *why = why_not(s);
    bool sampled = why && fused_sampling_mask(s) >= 0;
    if (!why || sampled) why = fuse(m, s, o, sampled);
    if (why && refusals) note(m, s, why, refusals);
}

void tra_fused_apply(tra_memo *m, const tra_fused_options *o, tra_refusals *refusals) {
    for (int i = 0; i < m->g->neinsums; i++) {
        const tra_einsum *s = fused_of_diagonals(m, m->g->einsums[i]);
        if (!is_candidate(m, s)) continue;
        s = fused_of_maps(m, s);
        const tra_einsum *whole = fused_of_diagonals(m, fused_of_sums(m->arena, s));
        apply(m, s, o, refusals);
        if (whole != s && is_candidate(m, whole)) apply(m, whole, o, refusals);
    }
    tra_memo_rebuild(m);
}
