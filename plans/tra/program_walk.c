/* program_walk.c - which loops are at the outside of a tensor statement, and how it uses each relation within them. */
#include "program_int.h"

#include <math.h>
#include <string.h>

tra_span tra_calc_span(const tra_calc *x) { return (tra_span){x->at, x->len > 0 ? x->len : 1}; }

tra_calc *tra_program_copy_tree(tra_arena *a, const tra_calc *x) {
    tra_calc *y = tra_new(a, tra_calc);
    *y = *x;
    y->kids = tra_news(a, tra_calc *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = tra_program_copy_tree(a, x->kids[i]);
    if (x->nbinders) {
        y->binders = tra_news(a, tra_calc_binder, x->nbinders);
        memcpy(y->binders, x->binders, (size_t)x->nbinders * sizeof *x->binders);
    }
    return y;
}

int tra_program_levels_in(const tra_calc *x) {
    int n = x->nbinders;
    for (int i = 0; i < x->nkids; i++) n += tra_program_levels_in(x->kids[i]);
    return n;
}

/* ---- loops and parts ------------------------------------------------------------------------------------------- */

/* A use of the relation that the name x is, of which no dimension is given yet. */
static part new_use(analysis *s, tra_calc *x) {
    if (s->nuses == TRA_PROGRAM_MOST) {
        if (!s->excess) s->excess = x;
        return (part){.use = -1};
    }
    use *u = &s->use[s->nuses];
    *u = (use){.relation = x->index, .x = x, .same = s->nuses};
    for (int d = 0; d < TRA_MAXDIM; d++) u->loop[d] = UNSET;
    return (part){.use = s->nuses++, .keys = 1};
}

/* The part of a relation that x is (use -1: it is none). Expressions among its keys are walked, as they may read
 * relations. */
static part part_of(analysis *s, tra_calc *x, const context *in) {
    if (x->kind == TRA_CALC_NAME && x->level < 0)
        return s->scope->free[x->index].operand ? new_use(s, x) : (part){.use = -1};
    if (x->kind == TRA_CALC_NAME)
        return s->binding[x->level].kind == IS_PART ? s->binding[x->level].part : (part){.use = -1};
    if (x->kind != TRA_CALC_APPLY) return (part){.use = -1};
    part p = part_of(s, x->kids[0], in);
    context inside = {.times = in->times};
    for (int i = 1; i < x->nkids; i++) {
        tra_calc *k = x->kids[i];
        const binding *b = k->kind == TRA_CALC_NAME && k->level >= 0 ? &s->binding[k->level] : NULL;
        if (!b) (void)tra_program_walk(s, k, inside);
        if (p.use < 0) continue;
        s->use[p.use].looked_up |= 1u << p.n;
        s->use[p.use].loop[p.n++] = b && b->kind == IS_LOOP ? b->loop : WHOLE;
    }
    return p;
}

/* Notes that a part is read whole: no loop runs over the dimensions that are not given. */
static void read_part(analysis *s, const part *p) {
    use *u = &s->use[p->use];
    for (int d = p->n; d < tra_program_operand_of(s, p->use)->rank; d++) u->loop[d] = WHOLE;
}

/* About how many different keys the next n dimensions of a part have. Updates p->keys; the caller updates p->n. */
static double count_keys(const analysis *s, part *p, int n) {
    const tra_calc_operand *o = tra_program_operand_of(s, p->use);
    double all = (double)tra_type_entries(&tra_program_node_of(s, p->use)->type).bound, before = p->keys;
    for (int d = p->n; d < p->n + n; d++) p->keys *= (double)o->extent[d];
    if (o->sparse && p->keys > all) p->keys = all;
    return before > 0 ? p->keys / before : 0;
}

/* Adds an outer loop; its number, or -1 if there are too many. */
static int new_outer(analysis *s, const tra_calc *x, int level, int64_t extent) {
    if (s->nouter == TRA_PROGRAM_MOST) {
        if (!s->excess) s->excess = x;
        return -1;
    }
    s->outer[s->nouter] = (outer_loop){.level = level, .extent = extent, .number = -1};
    return s->nouter++;
}

/* Binds a name to a loop over `extent` values (-1: not known). Returns the number of the loop among the outer ones, or
 * -1. */
static int bind_loop(analysis *s, const tra_calc *x, const tra_calc_binder *k, int64_t extent, bool outside) {
    if (k->again) return s->binding[k->level].kind == IS_LOOP ? s->binding[k->level].loop : -1;
    int loop = outside ? new_outer(s, x, k->level, extent) : -1;
    if (k->level >= 0) s->binding[k->level] = (binding){.kind = IS_LOOP, .loop = loop, .extent = extent};
    return loop;
}

static void bind_other(analysis *s, const tra_calc_binder *b, bool sparse) {
    if (b->level >= 0 && !b->again) s->binding[b->level] = (binding){.kind = IS_OTHER, .sparse = sparse};
}

/* The end of a range lo:hi if it is known without data, else -1. */
static int64_t range_end(analysis *s, const tra_calc *x) {
    int64_t v;
    return tra_tensor_whole(s->b, s->scope, tra_program_copy_tree(s->b->arena, x->kids[1]), &v) ? v : -1;
}

static void walk_kids(analysis *s, tra_calc *x, int n, const context *in) {
    context inside = {.times = in->times};
    for (int i = 0; i < n; i++) (void)tra_program_walk(s, x->kids[i], inside);
}

/* Walks generator g of a sum, which binds the names b: a range, a part of a relation, or a dictionary. */
static void walk_generator(analysis *s, tra_calc *x, int g, const tra_calc_binder *b, context *in) {
    tra_calc *e = x->kids[g];
    int n = x->nnames[g];
    if (e->kind == TRA_CALC_RANGE) {
        walk_kids(s, e, 2, in);
        int64_t end = range_end(s, e);
        int loop = bind_loop(s, x, &b[0], end, in->outside);
        if (b[1].level >= 0 && !b[1].again)
            s->binding[b[1].level] = (binding){.kind = IS_LOOP, .loop = loop, .extent = end};
        in->times *= end > 0 ? (double)end : 1;
        return;
    }
    part p = part_of(s, e, in);
    if (p.use < 0) {
        contribution v = e->kind == TRA_CALC_NAME && e->level >= 0
                             ? (contribution){s->binding[e->level].sparse, s->binding[e->level].n}
                             : tra_program_walk(s, e, (context){.times = 1});
        for (int i = 0; i <= n; i++) bind_other(s, &b[i], v.sparse);
        in->sparse = in->sparse || v.sparse;
        in->times *= tra_max64(1, (int64_t)fmin(v.n, 1e15));
        return;
    }
    const tra_calc_operand *o = tra_program_operand_of(s, p.use);
    if (in->outside) s->use[p.use].looked_up = 0; /* in blocks that lack these positions the loop has no iterations */
    in->times *= count_keys(s, &p, n);
    in->sparse = in->sparse || o->sparse;
    for (int i = 0; i < n; i++) {
        int loop = bind_loop(s, x, &b[i], o->extent[p.n], in->outside);
        s->use[p.use].loop[p.n++] = loop < 0 ? WHOLE : loop;
    }
    if (p.n == o->rank)
        bind_other(s, &b[n], false);
    else if (b[n].level >= 0 && !b[n].again)
        s->binding[b[n].level] = (binding){.kind = IS_PART, .part = p};
}

/* ---- expressions ----------------------------------------------------------------------------------------------- */

static contribution walk_sum(analysis *s, tra_calc *x, context in) {
    const tra_calc_binder *b = x->binders;
    for (int g = 0; g + 1 < x->nkids; b += x->nnames[g++] + 1) walk_generator(s, x, g, b, &in);
    return tra_program_walk(s, x->kids[x->nkids - 1], in);
}

static contribution walk_let(analysis *s, tra_calc *x, context in) {
    for (int i = 0; i < x->nbinders; i++) {
        part p = part_of(s, x->kids[i], &in);
        int level = x->binders[i].level;
        bool whole = p.use >= 0 && p.n == tra_program_operand_of(s, p.use)->rank;
        if (whole) read_part(s, &p);
        contribution v =
            p.use < 0 ? tra_program_walk(s, x->kids[i], (context){.times = in.times}) : (contribution){.sparse = false};
        if (level < 0 && p.use >= 0 && !whole) read_part(s, &p);
        if (level >= 0) s->binding[level] = (binding){.kind = IS_OTHER, .sparse = v.sparse, .n = v.n};
        if (level >= 0 && p.use >= 0 && !whole) s->binding[level] = (binding){.kind = IS_PART, .part = p};
    }
    return tra_program_walk(s, x->kids[x->nkids - 1], in);
}

/* Notes what is the key of dimension d in a contribution to the result: a loop is its key only if it is in all of them.
 */
static void note_key(analysis *s, int d, const tra_calc *k) {
    const binding *b = k && k->kind == TRA_CALC_NAME && k->level >= 0 ? &s->binding[k->level] : NULL;
    int loop = b && b->kind == IS_LOOP ? b->loop : -1;
    int64_t domain = b && b->kind == IS_LOOP ? b->extent : -1;
    bool first = s->key[d] == UNSET;
    if (first || s->key[d] != loop) s->key[d] = first ? loop : -1;
    s->domain[d] = first ? domain : domain < 0 || s->domain[d] < 0 ? -1 : tra_max64(domain, s->domain[d]);
}

/* Notes that the dimensions of the result from here on have no loops as their keys. */
static void note_no_keys(analysis *s, const context *in) {
    for (int d = in->nkeys; in->result && d < s->nout; d++) note_key(s, d, NULL);
}

static contribution walk_dict(analysis *s, tra_calc *x, context in) {
    int n = x->nkids - 1;
    walk_kids(s, x, n, &in);
    for (int i = 0; i < n && in.result; i++) note_key(s, in.nkeys + i, x->kids[i]);
    in.nkeys += n;
    in.outside = in.outside && n == 0;
    return tra_program_walk(s, x->kids[n], in);
}

/* Walks the operands of a product or quotient. Loops of the one that may have sums are at the outside, if the other is
 * a number: that is evaluated inside of them. */
static contribution walk_factors(analysis *s, tra_calc *x, context in) {
    tra_calc *l = x->kids[0], *r = x->kids[1];
    bool left = x->kind == TRA_CALC_DIV || (l->type.depth > 0 ? r->type.depth == 0 : l->kind == TRA_CALC_SUM);
    bool one = (l->type.depth == 0 || r->type.depth == 0) && (x->kind == TRA_CALC_MUL || r->type.depth == 0);
    tra_calc *main = left ? l : r, *other = left ? r : l;
    context inside = {.times = in.times, .sparse = in.sparse};
    if (x->type.depth > 0 && !one) note_no_keys(s, &in);
    contribution b = tra_program_walk(s, other, inside), a = tra_program_walk(s, main, one ? in : inside);
    a.sparse = a.sparse || (b.sparse && x->kind == TRA_CALC_MUL);
    return a;
}

static contribution walk_terms(analysis *s, tra_calc *x, context in) {
    in.outside = false;
    contribution a = tra_program_walk(s, x->kids[0], in), b = tra_program_walk(s, x->kids[1], in);
    return (contribution){a.sparse && b.sparse, x->type.depth ? a.n + b.n : in.times};
}

contribution tra_program_walk(analysis *s, tra_calc *x, context in) {
    switch ((int)x->kind) {
    case TRA_CALC_SUM: return walk_sum(s, x, in);
    case TRA_CALC_LET: return walk_let(s, x, in);
    case TRA_CALC_IF:
        (void)tra_program_walk(s, x->kids[0], (context){.times = in.times});
        return tra_program_walk(s, x->kids[1], in);
    case TRA_CALC_NEG: return tra_program_walk(s, x->kids[0], in);
    case TRA_CALC_DICT: return walk_dict(s, x, in);
    case TRA_CALC_MUL:
    case TRA_CALC_DIV: return walk_factors(s, x, in);
    case TRA_CALC_ADD:
    case TRA_CALC_SUB: return walk_terms(s, x, in);
    }
    contribution r = {.sparse = in.sparse, .n = in.times};
    if (x->kind == TRA_CALC_NUMBER && !x->is_real && x->whole == 0) r.sparse = true;
    if (x->type.depth > 0) note_no_keys(s, &in);
    part p = part_of(s, x, &in);
    if (p.use >= 0) {
        const tra_calc_operand *o = tra_program_operand_of(s, p.use);
        r.sparse = r.sparse || (o->sparse && x->type.depth > 0);
        r.n *= count_keys(s, &p, o->rank - p.n);
        read_part(s, &p);
    } else if (x->kind == TRA_CALC_NAME && x->level >= 0) {
        r.sparse = r.sparse || s->binding[x->level].sparse;
    } else if (x->kind != TRA_CALC_APPLY || x->kids[0]->kind != TRA_CALC_NAME) {
        walk_kids(s, x, x->nkids, &in);
    }
    return r;
}
