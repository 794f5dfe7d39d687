/* program.c - tensor statements that are no sums of products: nodes that run them as programs on blocks.
 *
 * The loops at the outside of a value are those of the sums that it begins with, through let, if and factors. What it
 * adds up there it may add up block by block, if each relation that is cut is cut only along dimensions that these
 * loops run over, and is read nowhere else but at their positions. Each use of a relation with other loops is an
 * operand of its own. The result is cut along the dimensions whose keys are names of such loops; other loops' blocks
 * add up. */
#include "../../lib/kernel/program.h"
#include "lower.h"
#include "program.h"

#include <math.h>
#include <string.h>

enum { WHOLE = -1, UNSET = -2 }; /* of a dimension that is not known to be looped over; that was not looked at */

/* A loop at the outside. */
typedef struct outer {
    int level; /* of its binder */
    int64_t extent;
    bool looped;   /* by a generator over a relation that stays cut along it */
    int64_t block; /* 0: none is cut along it */
    double bytes;  /* of the relation whose blocks it has */
    int number;    /* among the program's labels, or -1 */
} outer;

/* One use of a relation, or several that read it by the same loops. */
typedef struct use {
    int relation; /* in the scope */
    tra_calc *x;  /* where it stands */
    int label[TRA_MAXDIM];
    uint32_t looked_up; /* dimensions of which positions are given, which some loop must run over in blocks */
    int same;           /* the use that this one is the same as, or its own number */
} use;

/* A part of a relation: some of its dimensions are given. */
typedef struct part {
    int use, n;          /* use -1: none */
    double times, share; /* see count */
} part;

typedef enum bound_kind { IS_OTHER, IS_LOOP, IS_PART } bound_kind;
typedef struct bound {
    bound_kind kind;
    int loop;       /* LOOP: at the outside, or -1 */
    int64_t extent; /* LOOP: of its domain, or -1 */
    part part;
    bool sparse; /* a dictionary, all of which is made in loops over what is sparse */
    double n;    /* what it has, about */
} bound;

typedef struct analysis {
    tra_build *b;
    const tra_tensor_scope *scope;
    int nouter;
    outer outer[TRA_PROGRAM_MOST];
    int nuses;
    use use[TRA_PROGRAM_MOST];
    bound *bound; /* by level */
    int nout;
    int key[TRA_MAXDIM];        /* of the result: loop at the outside, or -1 where it is none, or not everywhere that */
    int64_t domain[TRA_MAXDIM]; /* or -1: not known */
    bool any_key;
    const tra_calc *many; /* where there is more than a program can have */
} analysis;

/* What is around an expression. */
typedef struct around {
    bool outside; /* nothing but loops at the outside, if, let and factors */
    bool sparse;  /* a loop over a relation of sparse type */
    double times; /* how often it is evaluated, about */
    int nkeys;    /* of the result that it is below */
    bool result;  /* it is a part of the result, not of a value that a name stands for */
} around;

/* What an expression contributes. */
typedef struct given {
    bool sparse; /* all of it is made in loops over what is sparse, or is 0 */
    double n;    /* contributions */
} given;

static tra_span span_of(const tra_calc *x) { return (tra_span){x->at, x->len > 0 ? x->len : 1}; }

static tra_calc *copy_tree(tra_arena *a, const tra_calc *x) {
    tra_calc *y = tra_new(a, tra_calc);
    *y = *x;
    y->kids = tra_news(a, tra_calc *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = copy_tree(a, x->kids[i]);
    if (x->nbinders) {
        y->binders = tra_news(a, tra_calc_binder, x->nbinders);
        memcpy(y->binders, x->binders, (size_t)x->nbinders * sizeof *x->binders);
    }
    return y;
}

static int levels_in(const tra_calc *x) {
    int n = x->nbinders;
    for (int i = 0; i < x->nkids; i++) n += levels_in(x->kids[i]);
    return n;
}

static const tra_calc_operand *operand_of(const analysis *s, int use) {
    return s->scope->free[s->use[use].relation].operand;
}

static const tra_node *node_of(const analysis *s, int use) { return s->scope->node[s->use[use].relation]; }

/* Has the relation no elements? Then it has no tuples to meet either: the program knows its extents alone. */
static bool is_empty(const analysis *s, int use) {
    const tra_calc_operand *o = operand_of(s, use);
    for (int d = 0; d < o->rank; d++)
        if (o->extent[d] == 0) return true;
    return false;
}

/* ---- loops and parts -------------------------------------------------------------------------------------------- */

static part new_use(analysis *s, tra_calc *x) {
    if (s->nuses == TRA_PROGRAM_MOST) {
        if (!s->many) s->many = x;
        return (part){.use = -1};
    }
    use *u = &s->use[s->nuses];
    *u = (use){.relation = x->index, .x = x, .same = s->nuses};
    for (int d = 0; d < TRA_MAXDIM; d++) u->label[d] = UNSET;
    return (part){.use = s->nuses++, .times = 1, .share = 1};
}

static given walk(analysis *s, tra_calc *x, around in);

/* The part of a relation that x is; its keys that are no loops at the outside are looked at too. */
static part part_of(analysis *s, tra_calc *x, const around *in) {
    if (x->kind == TRA_CALC_NAME && x->level < 0)
        return s->scope->free[x->index].operand ? new_use(s, x) : (part){.use = -1};
    if (x->kind == TRA_CALC_NAME)
        return s->bound[x->level].kind == IS_PART ? s->bound[x->level].part : (part){.use = -1};
    if (x->kind != TRA_CALC_APPLY) return (part){.use = -1};
    part p = part_of(s, x->kids[0], in);
    around inside = {.times = in->times};
    for (int i = 1; i < x->nkids; i++) {
        tra_calc *k = x->kids[i];
        const bound *b = k->kind == TRA_CALC_NAME && k->level >= 0 ? &s->bound[k->level] : NULL;
        if (!b) (void)walk(s, k, inside);
        if (p.use < 0) continue;
        s->use[p.use].looked_up |= 1u << p.n;
        s->use[p.use].label[p.n++] = b && b->kind == IS_LOOP ? b->loop : WHOLE;
    }
    return p;
}

/* All of a part is read. */
static void read_part(analysis *s, const part *p) {
    use *u = &s->use[p->use];
    for (int d = p->n; d < operand_of(s, p->use)->rank; d++) u->label[d] = WHOLE;
}

/* How many keys of its next n dimensions a part has, about: of what is sparse no more than entries. */
static double count(const analysis *s, part *p, int n) {
    const tra_calc_operand *o = operand_of(s, p->use);
    double all = (double)tra_type_entries(&node_of(s, p->use)->type).bound, before = p->share;
    for (int d = p->n; d < p->n + n; d++) p->share *= (double)o->extent[d];
    if (o->sparse && p->share > all) p->share = all;
    return before > 0 ? p->share / before : 0;
}

static int new_outer(analysis *s, const tra_calc *x, int level, int64_t extent) {
    if (s->nouter == TRA_PROGRAM_MOST) {
        if (!s->many) s->many = x;
        return -1;
    }
    s->outer[s->nouter] = (outer){.level = level, .extent = extent, .number = -1};
    return s->nouter++;
}

/* The loop that a name of a pattern is, over a domain of so many keys (-1: not known). */
static int bind_loop(analysis *s, const tra_calc *x, const tra_calc_binder *k, int64_t extent, bool outside) {
    if (k->again) return s->bound[k->level].kind == IS_LOOP ? s->bound[k->level].loop : -1;
    int loop = outside ? new_outer(s, x, k->level, extent) : -1;
    if (k->level >= 0) s->bound[k->level] = (bound){.kind = IS_LOOP, .loop = loop, .extent = extent};
    return loop;
}

static void bind_other(analysis *s, const tra_calc_binder *b, bool sparse) {
    if (b->level >= 0 && !b->again) s->bound[b->level] = (bound){.kind = IS_OTHER, .sparse = sparse};
}

/* The keys from lo to hi, where hi is known without data. */
static int64_t range_end(analysis *s, const tra_calc *x) {
    int64_t v;
    return tra_tensor_whole(s->b, s->scope, copy_tree(s->b->arena, x->kids[1]), &v) ? v : -1;
}

static void walk_kids(analysis *s, tra_calc *x, int n, const around *in) {
    around inside = {.times = in->times};
    for (int i = 0; i < n; i++) (void)walk(s, x->kids[i], inside);
}

static void generator(analysis *s, tra_calc *x, int g, const tra_calc_binder *b, around *in) {
    tra_calc *e = x->kids[g];
    int n = x->nnames[g];
    if (e->kind == TRA_CALC_RANGE) {
        walk_kids(s, e, 2, in);
        int64_t end = range_end(s, e);
        int loop = bind_loop(s, x, &b[0], end, in->outside);
        if (b[1].level >= 0 && !b[1].again)
            s->bound[b[1].level] = (bound){.kind = IS_LOOP, .loop = loop, .extent = end};
        in->times *= end > 0 ? (double)end : 1;
        return;
    }
    part p = part_of(s, e, in);
    if (p.use < 0) {
        given v = e->kind == TRA_CALC_NAME && e->level >= 0 ? (given){s->bound[e->level].sparse, s->bound[e->level].n}
                                                            : walk(s, e, (around){.times = 1});
        for (int i = 0; i <= n; i++) bind_other(s, &b[i], v.sparse);
        in->sparse = in->sparse || v.sparse;
        in->times *= tra_max64(1, (int64_t)fmin(v.n, 1e15));
        return;
    }
    const tra_calc_operand *o = operand_of(s, p.use);
    if (in->outside) s->use[p.use].looked_up = 0; /* where the block has not these positions it runs over nothing */
    in->times *= count(s, &p, n);
    in->sparse = in->sparse || o->sparse;
    for (int i = 0; i < n; i++) {
        int loop = bind_loop(s, x, &b[i], o->extent[p.n], in->outside);
        s->use[p.use].label[p.n++] = loop < 0 ? WHOLE : loop;
    }
    if (p.n == o->rank)
        bind_other(s, &b[n], false);
    else if (b[n].level >= 0 && !b[n].again)
        s->bound[b[n].level] = (bound){.kind = IS_PART, .part = p};
}

/* ---- expressions ------------------------------------------------------------------------------------------------ */

static given walk_sum(analysis *s, tra_calc *x, around in) {
    const tra_calc_binder *b = x->binders;
    for (int g = 0; g + 1 < x->nkids; b += x->nnames[g++] + 1) generator(s, x, g, b, &in);
    return walk(s, x->kids[x->nkids - 1], in);
}

static given walk_let(analysis *s, tra_calc *x, around in) {
    for (int i = 0; i < x->nbinders; i++) {
        part p = part_of(s, x->kids[i], &in);
        int level = x->binders[i].level;
        bool whole = p.use >= 0 && p.n == operand_of(s, p.use)->rank;
        if (whole) read_part(s, &p);
        given v = p.use < 0 ? walk(s, x->kids[i], (around){.times = in.times}) : (given){.sparse = false};
        if (level < 0 && p.use >= 0 && !whole) read_part(s, &p);
        if (level >= 0) s->bound[level] = (bound){.kind = IS_OTHER, .sparse = v.sparse, .n = v.n};
        if (level >= 0 && p.use >= 0 && !whole) s->bound[level] = (bound){.kind = IS_PART, .part = p};
    }
    return walk(s, x->kids[x->nkids - 1], in);
}

/* What a dimension of the result has as its key: the same loop everywhere, or none. */
static void note_key(analysis *s, int d, const tra_calc *k) {
    const bound *b = k && k->kind == TRA_CALC_NAME && k->level >= 0 ? &s->bound[k->level] : NULL;
    int loop = b && b->kind == IS_LOOP ? b->loop : -1;
    int64_t domain = b && b->kind == IS_LOOP ? b->extent : -1;
    bool first = s->key[d] == UNSET;
    if (first || s->key[d] != loop) s->key[d] = first ? loop : -1;
    s->domain[d] = first ? domain : domain < 0 || s->domain[d] < 0 ? -1 : tra_max64(domain, s->domain[d]);
}

static void no_keys(analysis *s, const around *in) {
    for (int d = in->nkeys; in->result && d < s->nout; d++) note_key(s, d, NULL);
}

static given walk_dict(analysis *s, tra_calc *x, around in) {
    int n = x->nkids - 1;
    walk_kids(s, x, n, &in);
    for (int i = 0; i < n && in.result; i++) note_key(s, in.nkeys + i, x->kids[i]);
    in.nkeys += n;
    in.outside = in.outside && n == 0;
    return walk(s, x->kids[n], in);
}

/* A factor of a sum at the outside goes into it. */
static given walk_factors(analysis *s, tra_calc *x, around in) {
    tra_calc *l = x->kids[0], *r = x->kids[1];
    bool left = x->kind == TRA_CALC_DIV || (l->type.depth > 0 ? r->type.depth == 0 : l->kind == TRA_CALC_SUM);
    bool one = (l->type.depth == 0 || r->type.depth == 0) && (x->kind == TRA_CALC_MUL || r->type.depth == 0);
    tra_calc *main = left ? l : r, *other = left ? r : l;
    around inside = {.times = in.times, .sparse = in.sparse};
    if (x->type.depth > 0 && !one) no_keys(s, &in);
    given b = walk(s, other, inside), a = walk(s, main, one ? in : inside);
    a.sparse = a.sparse || (b.sparse && x->kind == TRA_CALC_MUL);
    return a;
}

static given walk_terms(analysis *s, tra_calc *x, around in) {
    in.outside = false;
    given a = walk(s, x->kids[0], in), b = walk(s, x->kids[1], in);
    return (given){a.sparse && b.sparse, x->type.depth ? a.n + b.n : in.times};
}

static given walk(analysis *s, tra_calc *x, around in) {
    switch ((int)x->kind) {
    case TRA_CALC_SUM: return walk_sum(s, x, in);
    case TRA_CALC_LET: return walk_let(s, x, in);
    case TRA_CALC_IF: (void)walk(s, x->kids[0], (around){.times = in.times}); return walk(s, x->kids[1], in);
    case TRA_CALC_NEG: return walk(s, x->kids[0], in);
    case TRA_CALC_DICT: return walk_dict(s, x, in);
    case TRA_CALC_MUL:
    case TRA_CALC_DIV: return walk_factors(s, x, in);
    case TRA_CALC_ADD:
    case TRA_CALC_SUB: return walk_terms(s, x, in);
    }
    given r = {.sparse = in.sparse, .n = in.times};
    if (x->kind == TRA_CALC_NUMBER && !x->is_real && x->whole == 0) r.sparse = true;
    if (x->type.depth > 0) no_keys(s, &in);
    part p = part_of(s, x, &in);
    if (p.use >= 0) {
        const tra_calc_operand *o = operand_of(s, p.use);
        r.sparse = r.sparse || (o->sparse && x->type.depth > 0);
        r.n *= count(s, &p, o->rank - p.n);
        read_part(s, &p);
    } else if (x->kind == TRA_CALC_NAME && x->level >= 0) {
        r.sparse = r.sparse || s->bound[x->level].sparse;
    } else if (x->kind != TRA_CALC_APPLY || x->kids[0]->kind != TRA_CALC_NAME) {
        walk_kids(s, x, x->nkids, &in);
    }
    return r;
}

/* ---- which blocks ------------------------------------------------------------------------------------------------ */

static bool is_cut(const tra_node *n, int d) { return n->type.cat->frontier.v[d] > 1 || !n->type.cat->grid; }

/* The reblock that would do, with the dimensions whole that must be. */
static const char *reblock_advice(const analysis *s, int use) {
    tra_arena *a = s->b->arena;
    const tra_node *n = node_of(s, use);
    const char *name = s->scope->name[s->use[use].relation].name, *list = "";
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        int64_t v = s->use[use].label[d] >= 0 ? n->type.cat->bound.v[d] : operand_of(s, use)->extent[d];
        list = tra_arena_printf(a, "%s%s%" PRId64, list, d ? ", " : "", v);
    }
    return tra_arena_printf(a, "use reblock(%s, [%s]), in which it is cut only where the outer loops run over it", name,
                            list);
}

/* Of each use, the dimensions along which it is cut, which must be those of loops at the outside. */
static bool check_cuts(analysis *s, int i) {
    use *u = &s->use[i];
    const tra_node *n = node_of(s, i);
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        for (int j = 0; j < d; j++)
            if (u->label[d] >= 0 && u->label[d] == u->label[j]) u->label[d] = WHOLE; /* a diagonal */
        if (u->label[d] == UNSET) u->label[d] = WHOLE;
        if ((u->looked_up >> d & 1) && u->label[d] >= 0 && !s->outer[u->label[d]].looped) u->label[d] = WHOLE;
    }
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        if (u->label[d] >= 0 || !is_cut(n, d)) continue;
        tra_diag_error(s->b->d, span_of(u->x), reblock_advice(s, i),
                       "dimension %d of %s is cut in blocks of %" PRId64
                       ", but it is not only looped over at the outside of the statement",
                       d, s->scope->name[u->relation].name, n->type.cat->bound.v[d]);
        return false;
    }
    return true;
}

static double bytes_of(const tra_node *n) { return (double)tra_type_bytes_all(&n->type).expected; }

/* Blocks of loops: those of the largest relation that is cut along them. What is whole there stays whole. */
static bool choose_blocks(analysis *s) {
    for (int i = 0; i < s->nuses; i++)
        for (int d = 0; d < operand_of(s, i)->rank && is_empty(s, i); d++) s->use[i].label[d] = WHOLE;
    for (int i = 0; i < s->nuses; i++)
        for (int d = 0; d < operand_of(s, i)->rank; d++)
            if (!(s->use[i].looked_up >> d & 1) && s->use[i].label[d] >= 0 && is_cut(node_of(s, i), d))
                s->outer[s->use[i].label[d]].looped = true;
    for (int i = 0; i < s->nuses; i++)
        if (!is_empty(s, i) && !check_cuts(s, i)) return false;
    for (int i = 0; i < s->nuses; i++) {
        const tra_catalog *c = node_of(s, i)->type.cat;
        for (int d = 0; d < c->bound.n; d++) {
            outer *o = s->use[i].label[d] >= 0 ? &s->outer[s->use[i].label[d]] : NULL;
            if (o && !is_cut(node_of(s, i), d)) s->use[i].label[d] = WHOLE;
            if (!o || s->use[i].label[d] < 0 || (o->block && o->bytes >= bytes_of(node_of(s, i)))) continue;
            if (o->extent >= 0 && o->extent != operand_of(s, i)->extent[d]) o->extent = -1;
            o->block = c->bound.v[d];
            o->bytes = bytes_of(node_of(s, i));
        }
    }
    /* a loop over relations of unlike extents visits what all have; its blocks are those of the longest */
    for (int i = 0; i < s->nuses; i++)
        for (int d = 0; d < operand_of(s, i)->rank; d++)
            if (s->use[i].label[d] >= 0) {
                outer *o = &s->outer[s->use[i].label[d]];
                o->extent = tra_max64(o->extent, operand_of(s, i)->extent[d]);
            }
    return true;
}

static void join_uses(analysis *s) {
    for (int i = 0; i < s->nuses; i++)
        for (int j = 0; j < i && s->use[i].same == i; j++)
            if (s->use[j].relation == s->use[i].relation &&
                memcmp(s->use[j].label, s->use[i].label, sizeof(int) * (size_t)operand_of(s, i)->rank) == 0)
                s->use[i].same = j;
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

/* The program with the node of each operand, and of each operand's key dimensions the key of the program. */
typedef struct making {
    analysis *s;
    tra_program *p;
    tra_lowering w;
    tra_node *node[TRA_PROGRAM_MOST];
} making;

static bool too_many(analysis *s, const tra_calc *x) {
    tra_diag_error(s->b->d, span_of(x), "take it apart into several statements",
                   "a tensor statement reads at most %d relations along %d loops at the outside", TRA_PROGRAM_MOST,
                   TRA_PROGRAM_MOST);
    return false;
}

/* The numbers of blocks along a loop, or one number 0: an operand that shows a key. */
static bool add_number(making *m, int label, int64_t blocks) {
    tra_program *p = m->p;
    tra_program_operand *o = &p->operand[p->noperands];
    if (p->noperands == TRA_PROGRAM_MOST || p->nkeys == TRA_PROGRAM_MOST) return false;
    *o = (tra_program_operand){.dtype = TRA_I64, .name = -1, .number = label};
    o->shape = (tra_dims){.n = 1, .v = {blocks}};
    o->block = (tra_dims){.n = 1, .v = {1}};
    o->label[0] = -1;
    m->node[p->noperands] = tra_positions(m->w.b, m->w.span, blocks, 1);
    p->key[p->nkeys++] = (tra_program_key){label, p->noperands, 0};
    return m->node[p->noperands++] != NULL;
}

static bool add_labels(making *m, const tra_dims *shape) {
    analysis *s = m->s;
    tra_program *p = m->p;
    for (int l = 0; l < s->nouter; l++) {
        if (!s->outer[l].block) continue;
        p->label[p->nlabels] = (tra_program_label){.extent = s->outer[l].extent, .block = s->outer[l].block};
        s->outer[l].number = p->nlabels++;
        if (!add_number(m, s->outer[l].number, tra_ceil_div(s->outer[l].extent, s->outer[l].block))) return false;
    }
    int empty[TRA_MAXDIM];
    for (int d = 0; d < s->nout; d++) { /* of an extent of 0 there are no blocks */
        if (shape->v[d] > 0) continue;
        p->label[p->nlabels] = (tra_program_label){.block = 1};
        empty[d] = p->nlabels++;
        if (!add_number(m, empty[d], 0)) return false;
    }
    uint32_t taken = 0;
    for (int d = 0; d < s->nout; d++) { /* a loop that is two keys of the result cuts the first */
        int l = shape->v[d] == 0 ? empty[d] : s->key[d] >= 0 ? s->outer[s->key[d]].number : -1;
        bool cuts = l >= 0 && !(taken >> l & 1) && shape->v[d] == p->label[l].extent;
        p->out[d] = (int8_t)(cuts ? l : p->nkeys);
        if (cuts) taken |= 1u << l;
        if (!cuts && !add_number(m, -1, 1)) return false;
    }
    return true;
}

/* The relation of a use, a grid in the blocks of its loops. */
static tra_node *in_blocks(making *m, const use *u, tra_dims *block) {
    const tra_node *n = m->s->scope->node[u->relation];
    const tra_catalog *c = n->type.cat;
    bool fits = c->grid;
    *block = c->bound;
    for (int d = 0; d < block->n; d++) {
        if (u->label[d] >= 0) block->v[d] = m->s->outer[u->label[d]].block;
        fits = fits && block->v[d] == c->bound.v[d];
    }
    tra_node *x = m->w.b->g->v[n->id];
    return fits ? x : tra_lower_node(&m->w, TRA_OP_REPART, &(tra_node){.in = {x}, .block = *block});
}

static bool add_use(making *m, int i, int *name) {
    analysis *s = m->s;
    tra_program *p = m->p;
    const use *u = &s->use[i];
    const tra_calc_operand *from = operand_of(s, i);
    tra_program_operand *o = &p->operand[p->noperands];
    if (p->noperands == TRA_PROGRAM_MOST) return false;
    *o = (tra_program_operand){.name = *name, .number = -1};
    tra_node *n = m->node[p->noperands] = in_blocks(m, u, &o->block);
    if (!n) return false;
    o->dtype = n->type.dtype;
    o->sparse = n->type.sparse;
    o->shape.n = from->rank;
    for (int d = 0; d < from->rank; d++) {
        o->shape.v[d] = from->extent[d];
        o->label[d] = (int8_t)(u->label[d] < 0 ? -1 : s->outer[u->label[d]].number);
    }
    tra_calc_free *scope = (tra_calc_free *)p->scope;
    scope[*name] = s->scope->free[u->relation];
    for (int j = i; j < s->nuses; j++)
        if (s->use[j].same == i) s->use[j].x->index = *name;
    ++*name;
    p->noperands++;
    return true;
}

/* The largest last: it need not be packed. */
static bool add_uses(making *m) {
    analysis *s = m->s;
    tra_program *p = m->p;
    int name = s->scope->n, n = 0, order[TRA_PROGRAM_MOST];
    tra_calc_free *scope = tra_news(s->b->arena, tra_calc_free, s->scope->n + s->nuses + 1);
    memcpy(scope, s->scope->free, (size_t)s->scope->n * sizeof *scope);
    p->scope = scope;
    for (int i = 0; i < s->nuses; i++) {
        if (s->use[i].same != i || is_empty(s, i)) continue;
        int at = n++;
        for (; at > 0 && bytes_of(node_of(s, order[at - 1])) > bytes_of(node_of(s, i)); at--) order[at] = order[at - 1];
        order[at] = i;
    }
    while (p->noperands + n < 2)
        if (!add_number(m, -1, 1)) return false;
    for (int i = 0; i < n; i++)
        if (!add_use(m, order[i], &name)) return false;
    p->nscope = name;
    return true;
}

/* The key dimensions of what was joined so far: keys of the program by number, or -1. */
typedef struct joined {
    tra_node *node;
    int n, key[TRA_MAXDIM];
} joined;

static int key_of_dim(const tra_program *p, int o, int d) {
    if (p->operand[o].label[d] >= 0) return p->operand[o].label[d]; /* keys of labels come first */
    for (int k = 0; k < p->nkeys; k++)
        if (p->key[k].operand == o && p->operand[o].name < 0) return k;
    return -1;
}

static bool join_next(making *m, joined *at, int o, const tra_kernel *k) {
    const tra_program *p = m->p;
    tra_node j = {.in = {at->node, m->node[o]}, .kernel = k};
    int n = at->n;
    for (int d = 0; d < p->operand[o].block.n; d++) {
        int key = key_of_dim(p, o, d), with = -1;
        for (int i = 0; i < n && key >= 0; i++)
            if (at->key[i] == key) with = i;
        if (with >= 0) {
            j.joinl.v[j.joinl.n++] = with;
            j.joinr.v[j.joinr.n++] = d;
        } else if (at->n < TRA_MAXDIM) {
            at->key[at->n++] = key;
        }
    }
    at->node = tra_lower_node(&m->w, TRA_OP_JOIN, &j);
    return at->node != NULL;
}

/* Keys of the result alone, in its order: sums over the blocks of other loops, or none. */
static tra_node *finish(making *m, const joined *at) {
    const tra_program *p = m->p;
    tra_arena *a = m->w.b->arena;
    tra_keyfn *f = tra_new(a, tra_keyfn);
    tra_dims group = {.n = p->shape.n};
    bool sums = false;
    f->arity = at->n;
    f->n = p->shape.n;
    for (int i = 0; i < at->n; i++) {
        f->names[i] = tra_arena_printf(a, "k%d", i);
        bool kept = false;
        for (int d = 0; d < p->shape.n; d++) kept = kept || p->out[d] == at->key[i];
        sums = sums || (!kept && at->key[i] >= 0 && p->key[at->key[i]].label >= 0);
    }
    for (int d = 0; d < p->shape.n; d++)
        for (int i = 0; i < at->n; i++) {
            if (at->key[i] != p->out[d]) continue;
            tra_keyexpr *var = tra_new(a, tra_keyexpr);
            *var = (tra_keyexpr){.op = TRA_KEY_VAR, .var = i};
            f->expr[d] = var;
            group.v[d] = i;
        }
    if (sums)
        return tra_lower_node(&m->w, TRA_OP_AGG,
                              &(tra_node){.in = {at->node}, .kernel = tra_kernel_sum(a), .group = group});
    return tra_lower_node(&m->w, TRA_OP_REKEY, &(tra_node){.in = {at->node}, .keyfn = f});
}

static tra_node *make_nodes(making *m) {
    const tra_program *p = m->p;
    tra_arena *a = m->w.b->arena;
    joined at = {.node = m->node[0], .n = p->operand[0].block.n};
    for (int d = 0; d < at.n; d++) at.key[d] = key_of_dim(p, 0, d);
    for (int o = 1; o < p->noperands; o++)
        if (!join_next(m, &at, o, o + 1 < p->noperands ? tra_kernel_pack(a, p, o) : tra_kernel_program(a, p)))
            return NULL;
    return finish(m, &at);
}

/* The text of the value, and what names in it stand for that have no relation. */
static const char *text_of(const analysis *s, const tra_calc *value) {
    tra_str text = {0};
    tra_calc_print(value, &text);
    for (int i = 0; i < s->scope->n; i++) {
        const tra_calc_free *f = &s->scope->free[i];
        char buf[32];
        if (f->operand || !tra_tensor_reads(value, i)) continue;
        if (f->number.real)
            tra_str_printf(&text, ", %s = %s", s->scope->name[i].name, tra_exactly(f->number.r, buf));
        else
            tra_str_printf(&text, ", %s = %" PRId64, s->scope->name[i].name, f->number.i);
    }
    const char *out = tra_arena_strndup(s->b->arena, tra_str_get(&text), text.n);
    tra_str_free(&text);
    return out;
}

static tra_dtype dtype_of(const analysis *s, const tra_calc *value) {
    bool single = false;
    if (!value->type.real) return TRA_I64;
    for (int i = 0; i < s->nuses; i++) {
        if (node_of(s, i)->type.dtype == TRA_F64) return TRA_F64;
        single = single || node_of(s, i)->type.dtype == TRA_F32;
    }
    return single ? TRA_F32 : TRA_F64;
}

/* Extents of the result: as they are said, else of the domains of its keys. */
static bool find_shape(analysis *s, const tra_tensor_decl *d, const tra_calc *value, tra_dims *shape) {
    shape->n = s->nout;
    for (int i = 0; i < s->nout; i++) {
        if (d->nextents >= 0) {
            if (!tra_tensor_extent(s->b, s->scope, d->extents[i], &shape->v[i])) return false;
        } else if (s->domain[i] < 0) {
            tra_diag_error(s->b->d, span_of(value),
                           tra_arena_printf(s->b->arena, "say them: tensor %s[..] = ", d->name),
                           "the extent of dimension %d of %s does not follow from its keys", i, d->name);
            return false;
        } else {
            shape->v[i] = s->domain[i];
        }
    }
    return true;
}

static bool all_blocked(analysis *s) {
    for (int i = 0; i < s->nuses; i++) {
        const char *why;
        if (tra_type_is_blocked(&node_of(s, i)->type, &why)) continue;
        tra_diag_error(s->b->d, span_of(s->use[i].x), "tra check prints the type of each relation",
                       "a tensor statement needs a tensor in blocks; of %s %s", s->scope->name[s->use[i].relation].name,
                       why);
        return false;
    }
    return true;
}

static int64_t most_of(const tra_dims *shape, double n) {
    int64_t all;
    if (!tra_dims_product(shape, &all)) all = INT64_MAX;
    return n < 9e18 ? tra_min64(all, (int64_t)n + 1) : all;
}

tra_node *tra_build_program(tra_build *b, const tra_tensor_scope *scope, const tra_stmt *st) {
    const tra_tensor_decl *d = st->tensor;
    analysis *s = tra_new(b->arena, analysis);
    *s = (analysis){.b = b, .scope = scope, .nout = d->value->type.depth};
    s->bound = tra_news(b->arena, bound, levels_in(d->value) + 1);
    for (int i = 0; i < s->nout; i++) s->key[i] = UNSET;
    tra_calc *value = copy_tree(b->arena, d->value);
    given all = walk(s, value, (around){.outside = true, .times = 1, .result = true});
    tra_dims shape;
    if (s->many) return too_many(s, s->many), NULL;
    if (!all_blocked(s) || !find_shape(s, d, value, &shape) || !choose_blocks(s)) return NULL;
    join_uses(s);
    tra_program *p = tra_new(b->arena, tra_program);
    making m = {.s = s, .p = p, .w = {.b = b, .span = st->span}};
    *p = (tra_program){.text = text_of(s, d->value), .value = value, .dtype = dtype_of(s, value), .sparse = all.sparse};
    p->shape = shape;
    p->expected = all.n;
    p->bound = most_of(&shape, all.n * 1.001 + 1);
    if (!add_labels(&m, &shape) || !add_uses(&m)) return too_many(s, value), NULL;
    return make_nodes(&m);
}
