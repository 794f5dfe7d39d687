/* program.c - tensor statements that are no sums of products: nodes that run them as programs on blocks.
 *
 * The outer loops of a value are those of the sums that it begins with, through let, if and factors. What they add up
 * may be added up block by block, if relations are cut only along dimensions that outer loops run over, and are read
 * only at the positions of these. A relation that is used twice by different loops is two operands. The result is cut
 * along the dimensions whose keys are outer loops; the blocks of other outer loops are summed. */
#include "program_int.h"

#include <math.h>
#include <string.h>

const tra_calc_operand *tra_program_operand_of(const analysis *s, int use) {
    return s->scope->free[s->use[use].relation].operand;
}

const tra_node *tra_program_node_of(const analysis *s, int use) { return s->scope->node[s->use[use].relation]; }

/* Has the relation no elements? Then it has no tuples, and is no operand: the program reads its extents alone. */
static bool is_empty(const analysis *s, int use) {
    const tra_calc_operand *o = tra_program_operand_of(s, use);
    for (int d = 0; d < o->rank; d++)
        if (o->extent[d] == 0) return true;
    return false;
}

/* ---- which blocks ---------------------------------------------------------------------------------------------- */

static bool is_cut(const tra_node *n, int d) { return n->type.cat->frontier.v[d] > 1 || !n->type.cat->grid; }

/* Advice: a reblock that does not cut the dimensions that must be whole. */
static const char *reblock_advice(const analysis *s, int use) {
    tra_arena *a = s->b->arena;
    const tra_node *n = tra_program_node_of(s, use);
    const char *name = s->scope->name[s->use[use].relation].name, *list = "";
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        int64_t v = s->use[use].loop[d] >= 0 ? n->type.cat->bound.v[d] : tra_program_operand_of(s, use)->extent[d];
        list = tra_arena_printf(a, "%s%s%" PRId64, list, d ? ", " : "", v);
    }
    return tra_arena_printf(a, "use reblock(%s, [%s]), in which it is cut only where the outer loops run over it", name,
                            list);
}

/* Makes dimensions of use i WHOLE that no outer loop runs over in blocks; false, after a diagnostic, if it is cut along
 * one of them. */
static bool check_cuts(analysis *s, int i) {
    use *u = &s->use[i];
    const tra_node *n = tra_program_node_of(s, i);
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        for (int j = 0; j < d; j++)
            if (u->loop[d] >= 0 && u->loop[d] == u->loop[j]) u->loop[d] = WHOLE; /* a diagonal */
        if (u->loop[d] == UNSET) u->loop[d] = WHOLE;
        if ((u->looked_up >> d & 1) && u->loop[d] >= 0 && !s->outer[u->loop[d]].looped) u->loop[d] = WHOLE;
    }
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        if (u->loop[d] >= 0 || !is_cut(n, d)) continue;
        return tra_diag_error(s->b->d, tra_calc_span(u->x), reblock_advice(s, i),
                              "dimension %d of %s is cut in blocks of %" PRId64
                              ", but it is not only looped over at the outside of the statement",
                              d, s->scope->name[u->relation].name, n->type.cat->bound.v[d]);
    }
    return true;
}

static double bytes_of(const tra_node *n) { return (double)tra_type_bytes_all(&n->type).expected; }

/* Finds which dimensions of uses outer loops run over in blocks; the others become WHOLE. False after a diagnostic. */
static bool settle_loops(analysis *s) {
    for (int i = 0; i < s->nuses; i++)
        for (int d = 0; d < tra_program_operand_of(s, i)->rank && is_empty(s, i); d++) s->use[i].loop[d] = WHOLE;
    for (int i = 0; i < s->nuses; i++)
        for (int d = 0; d < tra_program_operand_of(s, i)->rank; d++)
            if (!(s->use[i].looked_up >> d & 1) && s->use[i].loop[d] >= 0 && is_cut(tra_program_node_of(s, i), d))
                s->outer[s->use[i].loop[d]].looped = true;
    for (int i = 0; i < s->nuses; i++)
        if (!is_empty(s, i) && !check_cuts(s, i)) return false;
    return true;
}

/* Chooses the blocks of outer loops: those of the largest relation that is cut along them. */
static void choose_blocks(analysis *s) {
    for (int i = 0; i < s->nuses; i++) {
        const tra_catalog *c = tra_program_node_of(s, i)->type.cat;
        for (int d = 0; d < c->bound.n; d++) {
            outer_loop *o = s->use[i].loop[d] >= 0 ? &s->outer[s->use[i].loop[d]] : NULL;
            if (o && !is_cut(tra_program_node_of(s, i), d)) s->use[i].loop[d] = WHOLE;
            if (!o || s->use[i].loop[d] < 0 || (o->block && o->bytes >= bytes_of(tra_program_node_of(s, i)))) continue;
            if (o->extent >= 0 && o->extent != tra_program_operand_of(s, i)->extent[d]) o->extent = -1;
            o->block = c->bound.v[d];
            o->bytes = bytes_of(tra_program_node_of(s, i));
        }
    }
    /* a loop over relations of unlike extents visits what all have; its blocks are those of the longest */
    for (int i = 0; i < s->nuses; i++)
        for (int d = 0; d < tra_program_operand_of(s, i)->rank; d++)
            if (s->use[i].loop[d] >= 0) {
                outer_loop *o = &s->outer[s->use[i].loop[d]];
                o->extent = tra_max64(o->extent, tra_program_operand_of(s, i)->extent[d]);
            }
}

/* Finds uses of one relation by the same loops, which are one operand. */
static void merge_equal_uses(analysis *s) {
    for (int i = 0; i < s->nuses; i++)
        for (int j = 0; j < i && s->use[i].same == i; j++)
            if (s->use[j].relation == s->use[i].relation &&
                memcmp(s->use[j].loop, s->use[i].loop, sizeof(int) * (size_t)tra_program_operand_of(s, i)->rank) == 0)
                s->use[i].same = j;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

/* A program that is built, with the node of each operand. */
typedef struct program_builder {
    analysis *s;
    tra_calc_program *p;
    tra_lowering w;
    tra_node *node[TRA_PROGRAM_MOST];
} program_builder;

static bool too_many(analysis *s, const tra_calc *x) {
    return tra_diag_error(s->b->d, tra_calc_span(x), "take it apart into several statements",
                          "a tensor statement reads at most %d relations along %d loops at the outside",
                          TRA_PROGRAM_MOST, TRA_PROGRAM_MOST);
}

/* Adds an operand that tells the program a key: the numbers 0, 1, .. of the blocks along a label, or (label -1) one
 * number 0. False if there are too many operands. */
static bool add_position_operand(program_builder *m, int label, int64_t blocks) {
    tra_calc_program *p = m->p;
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

/* Adds the outer loops that run in blocks as labels, and the keys of a result of that shape. */
static bool add_labels(program_builder *m, const tra_dims *shape) {
    analysis *s = m->s;
    tra_calc_program *p = m->p;
    for (int l = 0; l < s->nouter; l++) {
        if (!s->outer[l].block) continue;
        p->label[p->nlabels] = (tra_program_label){.extent = s->outer[l].extent, .block = s->outer[l].block};
        s->outer[l].number = p->nlabels++;
        if (!add_position_operand(m, s->outer[l].number, tra_ceil_div(s->outer[l].extent, s->outer[l].block)))
            return false;
    }
    int empty[TRA_MAXDIM];
    for (int d = 0; d < s->nout; d++) { /* a dimension of extent 0 has no blocks: its label has none */
        if (shape->v[d] > 0) continue;
        p->label[p->nlabels] = (tra_program_label){.block = 1};
        empty[d] = p->nlabels++;
        if (!add_position_operand(m, empty[d], 0)) return false;
    }
    uint32_t taken = 0;
    for (int d = 0; d < s->nout; d++) { /* a loop that is the key of two dimensions cuts the first one */
        int l = shape->v[d] == 0 ? empty[d] : s->key[d] >= 0 ? s->outer[s->key[d]].number : -1;
        bool cuts = l >= 0 && !(taken >> l & 1) && shape->v[d] == p->label[l].extent;
        p->out[d] = (int8_t)(cuts ? l : p->nkeys);
        if (cuts) taken |= 1u << l;
        if (!cuts && !add_position_operand(m, -1, 1)) return false;
    }
    return true;
}

/* The relation of a use without holes, in the blocks of its loops: its block extents in *block. */
static tra_node *in_blocks(program_builder *m, const use *u, tra_dims *block) {
    const tra_node *n = m->s->scope->node[u->relation];
    const tra_catalog *c = n->type.cat;
    bool fits = c->grid;
    *block = c->bound;
    for (int d = 0; d < block->n; d++) {
        if (u->loop[d] >= 0) block->v[d] = m->s->outer[u->loop[d]].block;
        fits = fits && block->v[d] == c->bound.v[d];
    }
    tra_node *x = m->w.b->g->v[n->id];
    return fits ? x : tra_lower_node(&m->w, TRA_OP_REPART, &(tra_node){.in = {x}, .block = *block});
}

/* Adds use i as an operand that is name *name of the program. */
static bool add_use(program_builder *m, int i, int *name) {
    analysis *s = m->s;
    tra_calc_program *p = m->p;
    const use *u = &s->use[i];
    const tra_calc_operand *from = tra_program_operand_of(s, i);
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
        o->label[d] = (int8_t)(u->loop[d] < 0 ? -1 : s->outer[u->loop[d]].number);
    }
    tra_calc_free *scope = (tra_calc_free *)p->scope;
    scope[*name] = s->scope->free[u->relation];
    for (int j = i; j < s->nuses; j++)
        if (s->use[j].same == i) s->use[j].x->index = *name;
    ++*name;
    p->noperands++;
    return true;
}

/* Adds the uses as operands, the largest one last, since the last operand need not be packed. */
static bool add_uses(program_builder *m) {
    analysis *s = m->s;
    tra_calc_program *p = m->p;
    int name = s->scope->n, n = 0, order[TRA_PROGRAM_MOST];
    tra_calc_free *scope = tra_news(s->b->arena, tra_calc_free, s->scope->n + s->nuses + 1);
    memcpy(scope, s->scope->free, (size_t)s->scope->n * sizeof *scope);
    p->scope = scope;
    for (int i = 0; i < s->nuses; i++) {
        if (s->use[i].same != i || is_empty(s, i)) continue;
        int at = n++;
        for (; at > 0 && bytes_of(tra_program_node_of(s, order[at - 1])) > bytes_of(tra_program_node_of(s, i)); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    while (p->noperands + n < 2)
        if (!add_position_operand(m, -1, 1)) return false;
    for (int i = 0; i < n; i++)
        if (!add_use(m, order[i], &name)) return false;
    p->nscope = name;
    return true;
}

/* The operands that are joined so far; of each key dimension the key of the program, by number, or -1. */
typedef struct joined {
    tra_node *node;
    int n, key[TRA_MAXDIM];
} joined;

/* The key of the program that key dimension d of operand o is, or -1. */
static int key_of_dim(const tra_calc_program *p, int o, int d) {
    if (p->operand[o].label[d] >= 0) return p->operand[o].label[d]; /* keys of labels come first */
    for (int k = 0; k < p->nkeys; k++)
        if (p->key[k].operand == o && p->operand[o].name < 0) return k;
    return -1;
}

/* Joins operand o with those before by the kernel k. */
static bool join_next(program_builder *m, joined *at, int o, const tra_kernel *k) {
    const tra_calc_program *p = m->p;
    tra_node j = {.in = {at->node, m->node[o]}, .kernel = k};
    int n = at->n;
    for (int d = 0; d < p->operand[o].block.n; d++) {
        int key = key_of_dim(p, o, d), with = -1;
        for (int i = 0; i < n && key >= 0; i++)
            if (at->key[i] == key) with = i;
        if (with >= 0) {
            j.join.l.v[j.join.l.n++] = with;
            j.join.r.v[j.join.r.n++] = d;
        } else if (at->n < TRA_MAXDIM) {
            at->key[at->n++] = key;
        }
    }
    at->node = tra_lower_node(&m->w, TRA_OP_JOIN, &j);
    return at->node != NULL;
}

/* Brings the keys into the order of the result, and sums over the blocks of all other loops. */
static tra_node *finish(program_builder *m, const joined *at) {
    const tra_calc_program *p = m->p;
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
            f->expr[d] = tra_keyexpr_component(a, i);
            group.v[d] = i;
        }
    if (sums)
        return tra_lower_node(&m->w, TRA_OP_AGG,
                              &(tra_node){.in = {at->node}, .kernel = tra_kernel_sum(a), .group = group});
    return tra_lower_node(&m->w, TRA_OP_REKEY, &(tra_node){.in = {at->node}, .keyfn = f});
}

static tra_node *make_nodes(program_builder *m) {
    const tra_calc_program *p = m->p;
    tra_arena *a = m->w.b->arena;
    joined at = {.node = m->node[0], .n = p->operand[0].block.n};
    for (int d = 0; d < at.n; d++) at.key[d] = key_of_dim(p, 0, d);
    for (int o = 1; o < p->noperands; o++)
        if (!join_next(m, &at, o, o + 1 < p->noperands ? tra_kernel_pack(a, p, o) : tra_kernel_program(a, p)))
            return NULL;
    return finish(m, &at);
}

/* The text of the value, and the values of the params in it: programs with equal texts compute the same. */
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
    return tra_arena_take(s->b->arena, &text);
}

/* The element type of the result: i64 of integers; of reals f64, but f32 if all floats that are read are f32. */
static tra_dtype dtype_of(const analysis *s, const tra_calc *value) {
    bool single = false;
    if (!value->type.real) return TRA_I64;
    for (int i = 0; i < s->nuses; i++) {
        if (tra_program_node_of(s, i)->type.dtype == TRA_F64) return TRA_F64;
        single = single || tra_program_node_of(s, i)->type.dtype == TRA_F32;
    }
    return single ? TRA_F32 : TRA_F64;
}

/* Extents of the result: as the statement says, else how many values its keys have. */
static bool find_shape(analysis *s, const tra_tensor_decl *d, const tra_calc *value, tra_dims *shape) {
    shape->n = s->nout;
    for (int i = 0; i < s->nout; i++) {
        if (d->nextents >= 0) {
            if (!tra_tensor_extent(s->b, s->scope, d->extents[i], &shape->v[i])) return false;
        } else if (s->domain[i] < 0) {
            return tra_diag_error(s->b->d, tra_calc_span(value),
                                  tra_arena_printf(s->b->arena, "say them: tensor %s[..] = ", d->name),
                                  "the extent of dimension %d of %s does not follow from its keys", i, d->name);
        } else {
            shape->v[i] = s->domain[i];
        }
    }
    return true;
}

static bool all_blocked(analysis *s) {
    for (int i = 0; i < s->nuses; i++) {
        const char *why;
        if (tra_type_is_blocked(&tra_program_node_of(s, i)->type, &why)) continue;
        return tra_diag_error(s->b->d, tra_calc_span(s->use[i].x), "tra check prints the type of each relation",
                              "a tensor statement needs a tensor in blocks; of %s %s",
                              s->scope->name[s->use[i].relation].name, why);
    }
    return true;
}

/* A bound of the entries of a result that is expected to have n. */
static int64_t bound_of_entries(const tra_dims *shape, double n) {
    int64_t all;
    if (!tra_dims_product(shape, &all)) all = INT64_MAX;
    return n < 9e18 ? tra_min64(all, (int64_t)n + 1) : all;
}

tra_node *tra_build_program(tra_build *b, const tra_tensor_scope *scope, const tra_stmt *st) {
    const tra_tensor_decl *d = st->tensor;
    analysis *s = tra_new(b->arena, analysis);
    *s = (analysis){.b = b, .scope = scope, .nout = d->value->type.depth};
    s->binding = tra_news(b->arena, binding, tra_program_levels_in(d->value) + 1);
    for (int i = 0; i < s->nout; i++) s->key[i] = UNSET;
    tra_calc *value = tra_program_copy_tree(b->arena, d->value);
    contribution all = tra_program_walk(s, value, (context){.outside = true, .times = 1, .result = true});
    tra_dims shape;
    if (s->excess) return too_many(s, s->excess), NULL;
    if (!all_blocked(s) || !find_shape(s, d, value, &shape) || !settle_loops(s)) return NULL;
    choose_blocks(s);
    merge_equal_uses(s);
    tra_calc_program *p = tra_new(b->arena, tra_calc_program);
    program_builder m = {.s = s, .p = p, .w = {.b = b, .span = st->span}};
    *p = (tra_calc_program){
        .text = text_of(s, d->value), .value = value, .dtype = dtype_of(s, value), .sparse = all.sparse};
    p->shape = shape;
    p->expected = all.n;
    p->bound = bound_of_entries(&shape, all.n * 1.001 + 1);
    if (!add_labels(&m, &shape) || !add_uses(&m)) return too_many(s, value), NULL;
    return make_nodes(&m);
}
