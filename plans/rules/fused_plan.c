/* fused_plan.c - plans of fused statements (by plans/storel), one for each way in which operands may be held, and
 * whether a plan makes its result row by row. */
#include "../tra/cardinality.h"
#include "fused_int.h"

#include <math.h>
#include <string.h>

/* ---- storages ---------------------------------------------------------------------------------------------------- */

static const char *list_of(tra_arena *a, int n, const char *prefix) {
    const char *s = "";
    for (int d = 0; d < n; d++) s = tra_arena_printf(a, "%s%s%s%d", s, d ? ", " : "", prefix, d);
    return s;
}

/* The storage mapping that describes arrays held as rows (lib/model/rows.h): of rank 2 and more with the coordinates
 * of each row. numbered: of rank 2, with the beginnings of all rows, empty ones too, which are found by their number.
 */
static tra_storage *rows_storage(tra_arena *a, int rank, bool numbered, bool whole, tra_err *e) {
    const char *last = "v(p)";
    int coordinates = numbered ? 0 : rank - 1;
    tra_str s = {0};
    tra_str_printf(&s, "storage rows[%s] { ", list_of(a, rank, "n"));
    if (coordinates) tra_str_add(&s, "int scalar rows; ");
    tra_str_add(&s, "int scalar entries; ");
    for (int d = 0; d < coordinates; d++) tra_str_printf(&s, "int array c%d(rows); ", d);
    if (rank > 1) tra_str_printf(&s, "int array begin(%s + 1); ", numbered ? "n0" : "rows");
    tra_str_add(&s, "int array column(entries); real array v(entries); ");
    if (rank == 1) {
        tra_str_printf(&s, "sum(<p, i0> in column) {@unique i0 -> %s} }", last);
    } else {
        tra_str_add(&s, numbered ? "sum(<i0, _> in 0:n0) " : "sum(<q, i0> in c0) ");
        for (int d = 1; d + 1 < rank; d++) tra_str_printf(&s, "let i%d = c%d(q) in ", d, d);
        const char *q = numbered ? "i0" : "q";
        tra_str_printf(&s, "sum(<p, i%d> in column(begin(%s):begin(%s + 1))) {@unique (%s) -> %s} }", rank - 1, q, q,
                       list_of(a, rank, "i"), last);
    }
    const char *text = tra_arena_take(a, &s);
    tra_calc_error err = {0};
    int end;
    tra_storage *out = NULL;
    const tra_storage_decl *d = tra_storage_parse(text, (int)strlen(text), 0, a, &end, &err);
    if (!d) return (void)tra_fail(e, TRA_INTERNAL, "%s in %s", err.msg, text), NULL;
    return tra_storage_make(d, rank, 0, NULL, whole, a, &out, e) == TRA_OK ? out : NULL;
}

/* What is known of the entries of an average array of an operand. */
typedef struct spread {
    double entries, rows;
    double squares; /* the sum over rows of the squares of their numbers of entries; NAN: unknown */
} spread;

static spread spread_of(const fusing *f, int o) {
    enum { MOST_TUPLES = 256 };
    const tra_type *t = &f->operand[o]->node.type;
    const tra_node *n = &f->operand[o]->node;
    double box = 1, parents = 0, squares = 0;
    int64_t tuples = tra_max64(1, t->cat->n), looked = tra_min64(tuples, MOST_TUPLES);
    for (int d = 0; d + 1 < t->cat->bound.n; d++) box *= (double)t->cat->bound.v[d];
    spread s = {(double)tra_type_entries(t).expected / (double)tuples, 0, NAN};
    s.rows = tra_boxes_with_any(box, (double)t->cat->bound.v[t->cat->bound.n - 1], s.entries);
    for (int64_t i = 0; n->input.rel && i < looked; i++) {
        tra_statistics st;
        tra_err none = {0};
        if (tra_rel_statistics(n->input.rel, i, &st, &none) != TRA_OK) return s;
        parents += (double)st.rows.parents / (double)looked;
        squares += (double)st.rows.squares / (double)looked;
    }
    if (parents > 0) s.rows = parents, s.squares = squares;
    return s;
}

/* Which part of an operand that is held as rows component k of its mapping is. */
static tra_fused_name part_of(int o, int rank, bool numbered, int k) {
    int coordinates = numbered ? 0 : rank - 1;
    if (coordinates && k-- == 0) return (tra_fused_name){TRA_FUSED_ROWS, o, 0};
    if (k-- == 0) return (tra_fused_name){TRA_FUSED_ENTRIES, o, 0};
    if (k < coordinates) return (tra_fused_name){TRA_FUSED_COORDINATE, o, k};
    k -= coordinates;
    if (rank > 1 && k-- == 0) return (tra_fused_name){TRA_FUSED_BEGIN, o, 0};
    return (tra_fused_name){k == 0 ? TRA_FUSED_COLUMN : TRA_FUSED_VALUE, o, 0};
}

/* Finds which part of an operand component k is, and what is known of that part. */
static void about_rows(fusing *f, int o, bool numbered, int k, const tra_storel_composed *c, tra_fused_name *source,
                       tra_storel_about *about) {
    int rank = f->p->operand[o].block.n, label = -1;
    spread s = spread_of(f, o);
    if (numbered) s.rows = (double)f->p->operand[o].block.v[0];
    *source = part_of(o, rank, numbered, k);
    about->n[0] = s.entries;
    switch (source->part) {
    case TRA_FUSED_ROWS: about->value = s.rows; return;
    case TRA_FUSED_ENTRIES: about->value = s.entries; return;
    case TRA_FUSED_COORDINATE:
        label = f->p->operand[o].label[source->dim];
        about->n[0] = about->part = s.rows;
        about->ascending = rank == 2;
        break;
    case TRA_FUSED_BEGIN: about->n[0] = s.rows + 1; return;
    case TRA_FUSED_COLUMN:
        label = f->p->operand[o].label[rank - 1];
        about->part = rank > 1 ? s.entries / fmax(s.rows, 1e-9) : s.entries;
        about->squares = rank > 1 && !isnan(s.squares) ? s.squares / fmax(s.entries, 1) : NAN;
        about->ascending = true;
        break;
    case TRA_FUSED_EXTENT:
    case TRA_FUSED_VALUE: return;
    }
    for (int i = 0; label >= 0 && i < c->problem.n; i++)
        if (c->source[i].kind == TRA_STOREL_EXTENT && c->source[i].which == f->p->label[label].same)
            about->below = i + 1;
}

static void find_sources(fusing *f, int held, tra_storel_composed *c, tra_fused_plan *x) {
    tra_arena *a = f->m->arena;
    tra_fused_name *source = tra_news(a, tra_fused_name, c->problem.n + 1);
    tra_storel_about *about = tra_news(a, tra_storel_about, c->problem.n + 1);
    for (int i = 0; i < c->problem.n; i++) {
        const tra_storel_source *from = &c->source[i];
        about[i] = c->problem.about[i];
        int o = from->operand >= 0 ? f->of_ref[from->operand] : -1;
        if (from->kind == TRA_STOREL_EXTENT)
            source[i] = (tra_fused_name){TRA_FUSED_EXTENT, from->which, 0};
        else if (tra_fused_has_rows(f->p, o, held))
            about_rows(f, o, x->numbered >> o & 1, from->which, c, &source[i], &about[i]);
        else
            source[i] = (tra_fused_name){TRA_FUSED_VALUE, o, 0};
    }
    c->problem.about = about;
    x->n = c->problem.n;
    x->scope = c->problem.scope;
    x->source = source;
}

/* ---- which operand is the last ----------------------------------------------------------------------------------- */

/* Bytes of the arrays that pack all of n operands but the last, one after the other: each for every combination of
 * blocks that meet. */
static double packed_bytes(const tra_einsum *s, const int *ref, const tra_expr *const *of, int n) {
    double all = 0, block = 0, tuples = 1;
    bool seen[TRA_MAXLABELS] = {false};
    for (int o = 0; o + 1 < n; o++) {
        const tra_einsum_ref *r = &s->ref[ref[o]];
        for (int d = 0; d < r->n; d++) {
            int l = r->label[d];
            if (!seen[l]) tuples *= (double)tra_ceil_div(s->extent[l], fused_block_of(s, l));
            seen[l] = true;
        }
        block += (double)tra_type_bytes_all(&of[o]->node.type).expected / fmax(1, (double)of[o]->node.type.cat->n);
        if (o > 0) all += tuples * block;
    }
    return all;
}

/* Leaves one of n operands to the last: what was the last comes first. */
static void leave(int last, const int *ref, const tra_expr *const *of, int n, int *ref_to, const tra_expr **of_to) {
    int k = 0;
    for (int o = n - 1; o >= 0; o--)
        if (o != last) of_to[k] = of[o], ref_to[k++] = ref[o];
    of_to[k] = of[last];
    ref_to[k] = ref[last];
}

void fused_choose_last(const tra_einsum *s, int *ref, const tra_expr **of, int n) {
    enum { WORTH = 4 };
    int best = n - 1, order[TRA_MAXLABELS];
    const tra_expr *x[TRA_MAXLABELS];
    double least = packed_bytes(s, ref, of, n) / WORTH, bytes;
    for (int last = 0; last + 1 < n && n > 2; last++) {
        leave(last, ref, of, n, order, x);
        if ((bytes = packed_bytes(s, order, x, n)) < least) least = bytes, best = last;
    }
    if (best == n - 1) return;
    leave(best, ref, of, n, order, x);
    memcpy(ref, order, (size_t)n * sizeof *ref);
    memcpy(of, x, (size_t)n * sizeof(tra_expr *));
}

/* Does the plan build a hash table that is looped over, so that keys come which have no bound? */
static bool builds_hashed(const tra_calc *x, bool in_let) {
    bool found = x->kind == TRA_CALC_DICT && in_let && !(x->notes & TRA_CALC_DENSE);
    for (int i = 0; i < x->nkids && !found; i++)
        found = builds_hashed(x->kids[i], in_let || (x->kind == TRA_CALC_LET && i + 1 < x->nkids));
    return found;
}

/* An upper bound of the bytes of the dictionaries that a plan builds, whose keys are at most as many as the longest
 * blocks have. hashed: all are hash tables, as in the interpreter, or may be, since their keys have no bound. */
static int64_t workspace_of(const fusing *f, const tra_calc *x, bool in_let, bool hashed) {
    enum { DENSE = 16, HASHED = 192, DIMENSION = 32 }; /* bytes of a key of up to two dimensions, of one more */
    int64_t bytes = 0;
    if (x->kind == TRA_CALC_DICT && in_let) {
        int64_t most = 1, keys = 1, hash = HASHED + DIMENSION * tra_max64(0, x->type.depth - 2);
        for (int l = 0; l < f->p->nlabels; l++) most = tra_max64(most, f->p->label[l].block);
        for (int d = 0; d < x->type.depth; d++) keys = tra_mul_most(keys, most);
        bool dense = x->notes & TRA_CALC_DENSE && !hashed;
        bytes = tra_add_most(tra_mul_most(keys, dense ? DENSE : hash), 4096);
    }
    for (int i = 0; i < x->nkids; i++) {
        bool let = in_let || (x->kind == TRA_CALC_LET && i + 1 < x->nkids);
        bytes = tra_add_most(bytes, workspace_of(f, x->kids[i], let, hashed));
    }
    return bytes;
}

/* ---- the order in which a plan makes its result ------------------------------------------------------------------ */

/* What is known on the way down a tree: the loops so far, and the lets. */
typedef struct descent {
    const tra_fused_plan *x;
    int nloops;
    int place, operand;  /* the first loop walks the rows of this operand: the level of the variable that has the
                            row's position; -1: it does not walk rows */
    int key[TRA_MAXDIM]; /* of each loop over a range the level of its variable; -1: it is another loop */
    int nlets;
    struct {
        int level;
        const tra_calc *value;
    } let[TRA_PROGRAM_MOST];
} descent;

/* The component of a mapping that a tree names; NULL: it is something else. */
static const tra_fused_name *component(const descent *d, const tra_calc *t) {
    return t->kind == TRA_CALC_NAME && t->level < 0 ? &d->x->source[t->index] : NULL;
}

/* Is the tree the coordinate, along dimension dim, of the row at which the first loop is? value: the level of the
 * variable that has its first coordinate. */
static bool is_coordinate(const descent *d, const tra_calc *t, int dim, int value) {
    if (t->kind == TRA_CALC_NAME && t->level >= 0) {
        if (t->level == value && dim == 0) return true;
        for (int i = 0; i < d->nlets; i++)
            if (d->let[i].level == t->level) return is_coordinate(d, d->let[i].value, dim, value);
        return false;
    }
    if (t->kind != TRA_CALC_APPLY || t->nkids != 2) return false;
    const tra_fused_name *c = component(d, t->kids[0]);
    bool here = t->kids[1]->kind == TRA_CALC_NAME && t->kids[1]->level >= 0 && t->kids[1]->level == d->place;
    return here && c && c->part == TRA_FUSED_COORDINATE && c->operand == d->operand && c->dim == dim;
}

static bool is_level(const tra_calc *t, int level) {
    return t->kind == TRA_CALC_NAME && level >= 0 && t->level == level;
}

/* Does the plan make the rows of its result in ascending order, each in one go? It does where all keys of a result but
 * the last are the variables of the outer loops, in their order, or together the coordinates of the rows of an operand.
 * A vector is one row. */
static bool ascends(const fusing *f, const tra_fused_plan *x, const tra_calc *t) {
    descent d = {.x = x, .place = -1};
    int n = f->p->shape.n, value = -1;
    enum { LONG_ROWS = 1 << 23 }; /* with more columns a result is held as a list of entries, not as rows */
    if (n == 0 || f->p->label[f->s->out[n - 1]].block > LONG_ROWS) return false;
    if (n == 1) return true;
    for (int i = 0; i < n; i++) d.key[i] = -1;
    for (;; t = t->kids[t->nkids - 1]) {
        if (t->kind == TRA_CALC_LET) {
            for (int i = 0; i < t->nbinders && d.nlets < TRA_PROGRAM_MOST; i++, d.nlets++) {
                d.let[d.nlets].level = t->binders[i].level;
                d.let[d.nlets].value = t->kids[i];
            }
        } else if (t->kind == TRA_CALC_SUM) {
            if (t->nkids != 2 || t->nnames[0] != 1) return false;
            const tra_fused_name *c = component(&d, t->kids[0]);
            bool rows = c && c->part == TRA_FUSED_COORDINATE && c->dim == 0 && d.nloops == 0;
            if (rows) d.place = t->binders[0].level, d.operand = c->operand, value = t->binders[1].level;
            if (d.nloops < n - 1) d.key[d.nloops] = t->kids[0]->kind == TRA_CALC_RANGE ? t->binders[0].level : -1;
            d.nloops++;
        } else if (t->kind == TRA_CALC_MERGE && n == 2 && d.nloops++ == 0) { /* of rows with the same number */
            const tra_fused_name *c = component(&d, t->kids[0]);
            if (c && c->part == TRA_FUSED_COORDINATE && c->dim == 0)
                d.operand = c->operand, value = t->binders[2].level;
        } else if (t->kind != TRA_CALC_IF) {
            break;
        }
    }
    bool rows = value >= 0 && f->p->operand[d.operand].block.n >= n, ranges = true;
    int i = 0;
    for (; i < n - 1 && t->kind == TRA_CALC_DICT; t = t->kids[t->nkids - 1])
        for (int k = 0; k + 1 < t->nkids && i < n - 1; k++, i++) {
            rows = rows && is_coordinate(&d, t->kids[k], i, value);
            ranges = ranges && is_level(t->kids[k], d.key[i]);
        }
    return i == n - 1 && (rows || ranges);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* Where it is known how many pairs meet: a kernel multiplies and adds each, where the optimizer, which knows how full
 * lines are but not which ones meet, expects fewer; and as many entries come of them as of the join. */
static void count_pairs(const fusing *f, tra_fused_plan *x) {
    double blocks = 1;
    for (int l = 0; l < f->s->nlabels; l++) blocks *= (double)tra_ceil_div(f->s->extent[l], fused_block_of(f->s, l));
    double more = fmax(1, 2 * f->product->join.meeting_pairs / blocks / x->operations);
    x->operations *= more;
    x->nanoseconds *= more;
    x->entries = (double)tra_type_entries(&f->product->type).expected / blocks;
}

/* Nanoseconds for rows of the result that are gathered in an array of all columns: memory that each combination clears
 * anew; a search for the next place in each row; and entries, which are read from there, put, and cleared. */
static double gathered(const fusing *f, const tra_fused_plan *x) {
    enum { ANEW = 25, ROW = 8, ENTRY = 2 }; /* times what a clear, a put into a hash map, adding into a row cost */
    const tra_storel_costs *c = f->o->costs ? f->o->costs : &tra_storel_default_costs;
    int n = f->p->shape.n;
    double columns = (double)f->p->label[f->s->out[n - 1]].block, rows = 1;
    for (int d = 0; d + 1 < n; d++) rows *= (double)f->p->label[f->s->out[d]].block;
    return ANEW * c->clear * columns + ROW * c->put * fmin(rows, x->entries) +
           ENTRY * c->row * tra_storel_far(c, columns) * x->entries;
}

/* Does operand o have all labels of the result? Then each entry of the result comes of one of its own. */
static bool has_result(const fusing *f, int o) {
    int found = 0;
    for (int d = 0; d < f->s->nout; d++)
        for (int i = 0; i < f->p->operand[o].block.n; i++) found += f->p->operand[o].label[i] == f->s->out[d];
    return found == f->s->nout;
}

/* Copies the plan that was found to the memo's arena. */
static bool take_plan(fusing *f, const tra_storel_problem *problem, const tra_storel_plan *best, tra_fused_plan *x) {
    tra_arena *a = f->m->arena;
    tra_calc_error err;
    tra_str text = {0};
    tra_calc_print(best->tree, &text);
    const tra_calc *tree = tra_calc_parse(tra_arena_strndup(a, tra_str_get(&text), text.n), (int)text.n, a, &err);
    tra_str_free(&text);
    if (!tree || !tra_calc_check(tree, problem->n, problem->scope, a, &err)) return false;
    x->tree = tree;
    x->nanoseconds = best->cost;
    x->operations = fmax(best->operations, 1);
    x->entries = best->entries;
    for (int o = 0; o < f->p->noperands; o++)
        if (f->operand[o]->node.type.sparse && has_result(f, o)) x->entries = fmin(x->entries, spread_of(f, o).entries);
    x->ascends = ascends(f, x, tree);
    if (f->product) count_pairs(f, x);
    if (x->ascends && f->s->node->type.layout) x->nanoseconds += gathered(f, x);
    return true;
}

typedef struct asking {
    const fusing *f;
    const tra_fused_plan *x;
} asking;

static bool asked(const void *ctx, const tra_calc *plan) {
    const asking *a = ctx;
    return ascends(a->f, a->x, plan);
}

/* Finds the plan that was asked for (tra_fused_options.from). Only it goes to the memo's arena, so planning takes the
 * same memory whether the plan was found now or taken from the cache. */
static bool find_plan(fusing *f, tra_storel_problem *problem, tra_fused_plan *x) {
    tra_arena *work = tra_arena_new();
    tra_storel_result r;
    problem->plans = f->o->from + 1;
    problem->ascends = asked;
    problem->ctx = &(asking){f, x};
    bool found = tra_storel_optimize(problem, work, &r, NULL) == TRA_OK && r.n > 0 &&
                 take_plan(f, problem, &r.plan[tra_min64(f->o->from, r.n - 1)], x);
    tra_arena_free(work);
    return found;
}

/* Costs of one thread. A walk over entries that mostly visits few places finds more of them in caches. */
static const tra_storel_costs *costs_of(const fusing *f, int held) {
    double used = 1;
    for (int o = 0; o < f->p->noperands; o++)
        if (tra_fused_has_rows(f->p, o, held)) used = fmin(used, tra_type_places_used(&f->operand[o]->node.type));
    if (used >= 1) return f->o->costs;
    tra_storel_costs *own = tra_new(f->m->arena, tra_storel_costs);
    *own = f->o->costs ? *f->o->costs : tra_storel_default_costs;
    own->near /= fmax(used, 1e-6);
    return own;
}

static bool make_plan(fusing *f, int held, unsigned numbered, tra_fused_plan *x) {
    tra_arena *a = f->m->arena;
    const tra_einsum *s = f->s;
    double extent[TRA_MAXLABELS];
    tra_storel_operand *refs = tra_news(a, tra_storel_operand, s->nrefs + 1);
    tra_storel_composed c;
    tra_err e = {0};
    *x = (tra_fused_plan){.numbered = numbered};
    for (int l = 0; l < s->nlabels; l++)
        extent[l] = (double)s->extent[l] / (double)tra_ceil_div(s->extent[l], fused_block_of(s, l));
    for (int i = 0; i < s->nrefs; i++) {
        int o = f->of_ref[i];
        const tra_node *n = &f->operand[o]->node;
        bool real = tra_dtype_is_float(n->type.dtype);
        refs[i] = (tra_storel_operand){.name = s->ref[i].node->name ? s->ref[i].node->name : "X", .same = -1};
        refs[i].entries = NAN;
        refs[i].real = real;
        refs[i].sparse = n->type.sparse;
        for (int j = 0; j < i && refs[i].same < 0; j++)
            if (f->of_ref[j] == o) refs[i].same = j;
        if (!tra_fused_has_rows(f->p, o, held)) continue;
        refs[i].entries = spread_of(f, o).entries;
        refs[i].storage = rows_storage(a, s->ref[i].n, x->numbered >> o & 1, !real, &e);
        if (!refs[i].storage) return false;
    }
    if (tra_storel_compose(s, extent, refs, a, &c, &e) != TRA_OK) return false;
    find_sources(f, held, &c, x);
    c.problem.dense = s->node->type.layout == NULL;
    c.problem.keep = true;
    c.problem.without = f->o->without;
    c.problem.costs = costs_of(f, held);
    if (!find_plan(f, &c.problem, x)) return false;
    x->workspace = workspace_of(f, x->tree, false, builds_hashed(x->tree, false));
    x->interpreted = workspace_of(f, x->tree, false, true);
    const tra_storel_costs *costs = f->o->costs ? f->o->costs : &tra_storel_default_costs;
    for (int o = 0; o < f->p->noperands; o++) /* their beginnings are written in each call */
        if (numbered >> o & 1) x->nanoseconds += costs->element * (double)f->p->operand[o].block.v[0];
    return true;
}

/* The matrices among the operands that are packed with their entries which have at most so many rows for each entry, as
 * bits. */
static unsigned with_rows(const fusing *f, int held, double most) {
    unsigned set = 0;
    for (int o = 0; o + 1 < f->p->noperands && f->p->noperands > 2; o++) {
        const tra_dims *block = &f->p->operand[o].block;
        bool fits = block->n == 2 && (double)block->v[0] <= most * spread_of(f, o).entries;
        if (fits && tra_fused_has_rows(f->p, o, held)) set |= 1u << o;
    }
    return set;
}

/* Of operands that are packed the rows can be found by their number, at the price of a pointer for each row. Where
 * these are about as many as entries, that is no worse than a list of those with entries; where they are more, the
 * cheaper of both is taken. */
static bool best_plan(fusing *f, int held, tra_fused_plan *x) {
    enum { FEW = 4, MANY = 1024 };
    unsigned few = with_rows(f, held, FEW), many = with_rows(f, held, MANY);
    tra_fused_plan other;
    if (!make_plan(f, held, few, x)) return false;
    if (many != few && make_plan(f, held, many, &other) && other.nanoseconds < x->nanoseconds) *x = other;
    return true;
}

static const char *text_of(fusing *f, const tra_fused_plan *x) {
    tra_str s = {0};
    tra_calc_print(x->tree, &s);
    return tra_arena_take(f->m->arena, &s);
}

/* What tells a product under a mask from others. */
static const char *masked_text(fusing *f, const tra_fused_masked *x) {
    const char *s = tra_arena_printf(f->m->arena, "masked%s %g",
                                     x->fold == TRA_S_MAX   ? " max"
                                     : x->fold == TRA_S_MIN ? " min"
                                                            : "",
                                     x->factor);
    const int role[] = {x->mask, x->outer, x->inner};
    for (int i = 0; i < 3; i++) {
        s = tra_arena_printf(f->m->arena, "%s%s%s", s, i == 0 ? " by " : ", ", f->operand[role[i]]->text);
        for (int d = 0; d < 2; d++)
            s = tra_arena_printf(f->m->arena, "%s %s", s, f->s->name[f->p->operand[role[i]].label[d]]);
    }
    return s;
}

bool fused_plan(fusing *f, const tra_expr *first) {
    tra_fused *x = tra_new(f->m->arena, tra_fused);
    int last = f->p->noperands - 1;
    bool packed = last > 1, first_sparse = !packed && tra_fused_has_rows(f->p, 0, TRA_FUSED_FIRST);
    bool last_sparse = tra_fused_has_rows(f->p, last, TRA_FUSED_LAST);
    if (first->node.type.layout && (packed || first_sparse)) x->expected |= TRA_FUSED_FIRST;
    if (last_sparse && f->operand[last]->node.type.layout) x->expected |= TRA_FUSED_LAST;
    bool masked = !f->sampled && fused_masked_plan(f, x->expected, &x->plan[x->expected]);
    if (f->sampled && !fused_sampled_plan(f, x->expected, &x->plan[x->expected])) return false;
    if (!masked && !f->sampled && f->s->fold != TRA_S_ADD) return false;
    for (int held = 0; held < 4 && !masked && !f->sampled; held++) {
        if (packed ? (held ^ x->expected) & TRA_FUSED_FIRST : held & TRA_FUSED_FIRST && !first_sparse) continue;
        if (held & TRA_FUSED_LAST && !last_sparse) continue;
        if (!best_plan(f, held, &x->plan[held])) return false;
    }
    x->shared = 1;
    x->most = f->product ? tra_type_entries(&f->product->type).bound : INT64_MAX;
    for (int o = 0; o < f->p->noperands; o++) {
        const tra_type *t = &f->operand[o]->node.type;
        if (t->sparse && has_result(f, o)) x->most = tra_min64(x->most, tra_type_entries(t).bound);
    }
    for (int o = 0; o < f->p->noperands; o++)
        x->shared = fmax(x->shared, fmin(f->o->threads, (double)f->operand[o]->node.type.cat->n));
    f->p->fused = x;
    if (!f->sampled) /* else it has one */
        f->p->text = masked ? masked_text(f, x->plan[x->expected].masked) : text_of(f, &x->plan[x->expected]);
    return true;
}
