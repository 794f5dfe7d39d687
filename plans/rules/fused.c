/* fused.c - fused statements: which operands they have, their plans by how these are held, and the joins that bring
 * arrays together. */
#include "fused.h"

#include "../../lib/kernel/program.h"
#include "../storel/compose.h"

#include <math.h>
#include <string.h>

const tra_rule tra_rule_fused = {
    .name = "S-1",
    .equivalence = "a sum of products, computed at once on each combination of arrays that meet",
    .condition = "a factor is of sparse type; of more than two operands one alone is",
};

typedef struct fusing {
    tra_memo *m;
    const tra_einsum *s;
    tra_program *p;
    const tra_expr *operand[TRA_PROGRAM_MOST]; /* in blocks of the labels */
    int of_ref[TRA_MAXLABELS];                 /* operand of each reference */
    uint64_t without;                          /* rules of the optimizer */
    const tra_storel_costs *costs;             /* of one thread */
    int threads;                               /* that combinations of arrays are shared by */
} fusing;

/* ---- statements ------------------------------------------------------------------------------------------------- */

static bool is_product(const tra_scalar *x) {
    switch ((int)x->op) {
    case TRA_S_ARG:
    case TRA_S_CONST: return true;
    case TRA_S_NEG: return is_product(x->a);
    case TRA_S_MUL: return is_product(x->a) && is_product(x->b);
    }
    return false;
}

static bool has_twice(int n, const int *v) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (v[i] == v[j]) return true;
    return false;
}

static bool can_be_fused(const tra_memo *m, const tra_einsum *s) {
    bool sparse = false;
    if (m->of_node[s->node->id] < 0 || s->fold != TRA_S_ADD || !is_product(s->expr)) return false;
    if (s->nrefs < 2 || s->nrefs > TRA_MAXLABELS || s->nlabels > TRA_PROGRAM_MOST) return false;
    if (!tra_dtype_is_float(s->node->type.dtype) || has_twice(s->nout, s->out)) return false;
    for (int l = 0; l < s->nlabels; l++)
        if (s->extent[l] < 1 || s->extent[l] >= INT32_MAX) return false;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *n = s->ref[i].node;
        if (n->type.columns || n->type.bounded || m->of_node[n->id] < 0 || has_twice(s->ref[i].n, s->ref[i].label))
            return false;
        sparse = sparse || n->type.sparse;
    }
    return sparse;
}

static int64_t block_of(const tra_einsum *s, int label) {
    return tra_max64(1, tra_min64(s->block[label] > 0 ? s->block[label] : s->extent[label], s->extent[label]));
}

/* Do two references have the same array in each combination? */
static bool same_array(const tra_einsum *s, const tra_einsum_ref *x, const tra_einsum_ref *y) {
    if (x->node != y->node || x->n != y->n) return false;
    for (int d = 0; d < x->n; d++) {
        int l = x->label[d], m = y->label[d];
        bool whole = block_of(s, l) >= s->extent[l] && block_of(s, m) >= s->extent[m];
        if (l != m && !whole) return false;
    }
    return true;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

/* The relation of a reference, in the blocks of its labels; NULL: it has none in the memo. */
static const tra_expr *in_blocks(fusing *f, const tra_einsum_ref *r) {
    const tra_expr *x = f->m->v[f->m->of_node[r->node->id]];
    const tra_catalog *c = x->node.type.cat;
    tra_node cut = {.op = TRA_OP_REPART, .in = {(tra_node *)&x->node}, .span = x->node.span, .block = {.n = r->n}};
    bool fits = c->grid && !r->moved;
    for (int d = 0; d < r->n; d++) {
        cut.block.v[d] = block_of(f->s, r->label[d]);
        fits = fits && tra_min64(c->bound.v[d], f->s->extent[r->label[d]]) == cut.block.v[d];
    }
    if (fits) return x;
    int i = tra_memo_add(f->m, &cut, -1, NULL);
    return i < 0 ? NULL : f->m->v[i];
}

static double bytes_of(const tra_expr *x) { return (double)tra_type_bytes_all(&x->node.type).expected; }

static bool goes_before(const tra_expr *x, const tra_expr *y) {
    bool sx = x->node.type.sparse, sy = y->node.type.sparse;
    return sx != sy ? sy : bytes_of(x) < bytes_of(y);
}

static void add_operand(fusing *f, int at, int ref, const tra_expr *x) {
    const tra_einsum_ref *r = &f->s->ref[ref];
    tra_program_operand *o = &f->p->operand[at];
    *o = (tra_program_operand){.dtype = x->node.type.dtype, .sparse = x->node.type.sparse, .name = -1, .number = -1};
    o->shape.n = o->block.n = r->n;
    for (int d = 0; d < r->n; d++) {
        o->shape.v[d] = f->s->extent[r->label[d]];
        o->block.v[d] = block_of(f->s, r->label[d]);
        o->label[d] = (int8_t)r->label[d];
    }
    f->operand[at] = x;
}

/* One operand for references that have the same array: those of sparse type last, the larger last. What has one alone
 * meets itself. */
static bool find_operands(fusing *f) {
    const tra_einsum *s = f->s;
    int n = 0, ref[TRA_MAXLABELS], sparse = 0;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_expr *x = in_blocks(f, &s->ref[i]);
        bool again = false;
        if (!x) return false;
        for (int j = 0; j < n; j++) again = again || same_array(s, &s->ref[ref[j]], &s->ref[i]);
        if (again) continue;
        int at = n++;
        if (n > TRA_PROGRAM_MOST) return false;
        for (; at > 0 && goes_before(x, in_blocks(f, &s->ref[ref[at - 1]])); at--) ref[at] = ref[at - 1];
        ref[at] = i;
        sparse += x->node.type.sparse;
    }
    if (n == 1) ref[n++] = ref[0];
    if (n > 2 && sparse > 1) return false; /* operands that are packed are dense */
    for (int o = 0; o < n; o++) add_operand(f, o, ref[o], in_blocks(f, &s->ref[ref[o]]));
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

/* References that have the same array are one operand, with the labels of the first. */
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
    tra_program *p = f->p;
    tra_program_key *k = &p->key[p->nkeys];
    *k = (tra_program_key){.label = label, .operand = p->noperands - 1};
    if (!has_label(&p->operand[k->operand], label, &k->dim))
        for (k->operand = 0; !has_label(&p->operand[k->operand], label, &k->dim);) k->operand++;
    p->nkeys++;
}

/* Labels of the result, and those of which the last operand does not tell how long their last block is. */
static void find_labels(fusing *f) {
    const tra_einsum *s = f->s;
    tra_program *p = f->p;
    p->nlabels = s->nlabels;
    for (int l = 0; l < s->nlabels; l++)
        p->label[l] = (tra_program_label){.extent = s->extent[l], .block = block_of(s, l), .same = l};
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

/* ---- plans ------------------------------------------------------------------------------------------------------ */

static const char *list_of(tra_arena *a, int n, const char *prefix) {
    const char *s = "";
    for (int d = 0; d < n; d++) s = tra_arena_printf(a, "%s%s%s%d", s, d ? ", " : "", prefix, d);
    return s;
}

/* Arrays that are held as rows (lib/relation/rows.h), as a storage: of rank 2 and more with the coordinates of each
 * row. */
static tra_storage *rows_storage(tra_arena *a, int rank, bool whole, tra_err *e) {
    const char *last = "v(p)";
    tra_str s = {0};
    tra_str_printf(&s, "storage rows[%s] { ", list_of(a, rank, "n"));
    if (rank > 1) tra_str_add(&s, "int scalar rows; ");
    tra_str_add(&s, "int scalar entries; ");
    for (int d = 0; d + 1 < rank; d++) tra_str_printf(&s, "int array c%d(rows); ", d);
    if (rank > 1) tra_str_add(&s, "int array begin(rows + 1); ");
    tra_str_add(&s, "int array column(entries); real array v(entries); ");
    if (rank == 1) {
        tra_str_printf(&s, "sum(<p, i0> in column) {@unique i0 -> %s} }", last);
    } else {
        tra_str_add(&s, "sum(<q, i0> in c0) ");
        for (int d = 1; d + 1 < rank; d++) tra_str_printf(&s, "let i%d = c%d(q) in ", d, d);
        tra_str_printf(&s, "sum(<p, i%d> in column(begin(q):begin(q + 1))) {@unique (%s) -> %s} }", rank - 1,
                       list_of(a, rank, "i"), last);
    }
    const char *text = tra_arena_strndup(a, tra_str_get(&s), s.n);
    tra_str_free(&s);
    tra_calc_error err = {0};
    int end;
    tra_storage *out = NULL;
    const tra_storage_decl *d = tra_storage_parse(text, (int)strlen(text), 0, a, &end, &err);
    if (!d) return (void)tra_fail(e, TRA_INTERNAL, "%s in %s", err.msg, text), NULL;
    return tra_storage_make(d, rank, 0, NULL, whole, a, &out, e) == TRA_OK ? out : NULL;
}

/* What is known of the entries of an average array of an operand. */
typedef struct spread {
    double entries, rows, squares;
} spread;

static spread spread_of(const fusing *f, int o) {
    enum { MOST_TUPLES = 256 };
    const tra_type *t = &f->operand[o]->node.type;
    const tra_node *n = &f->operand[o]->node;
    double box = 1, parents = 0, squares = 0;
    int64_t tuples = tra_max64(1, t->cat->n), looked = tra_min64(tuples, MOST_TUPLES);
    for (int d = 0; d + 1 < t->cat->bound.n; d++) box *= (double)t->cat->bound.v[d];
    spread s = {(double)tra_type_entries(t).expected / (double)tuples, 0, NAN};
    s.rows = -box * expm1(-s.entries / fmax(box, 1));
    for (int64_t i = 0; n->rel && i < looked; i++) {
        tra_statistics st;
        tra_err none = {0};
        if (tra_rel_statistics(n->rel, i, &st, &none) != TRA_OK) return s;
        parents += (double)st.rows.parents / (double)looked;
        squares += (double)st.rows.squares / (double)looked;
    }
    if (parents > 0) s.rows = parents, s.squares = squares;
    return s;
}

static bool is_rows(const fusing *f, int o, int held) {
    if (o == f->p->noperands - 1) return held & TRA_FUSED_LAST;
    return o == 0 && f->p->noperands == 2 && (held & TRA_FUSED_FIRST);
}

/* Component k of an operand that is held as rows, and what is known of it. */
static void about_rows(fusing *f, int o, int k, const tra_storel_composed *c, tra_fused_name *source,
                       tra_storel_about *about) {
    int rank = f->p->operand[o].block.n, first = rank > 1 ? 2 : 1, label = -1;
    spread s = spread_of(f, o);
    *source = (tra_fused_name){.of = o};
    if (k < first) {
        source->part = rank > 1 && k == 0 ? TRA_FUSED_ROWS : TRA_FUSED_ENTRIES;
        about->value = source->part == TRA_FUSED_ROWS ? s.rows : s.entries;
        return;
    }
    int coordinates = rank - 1;
    about->n[0] = s.entries;
    if (k - first < coordinates) {
        *source = (tra_fused_name){TRA_FUSED_COORDINATE, o, k - first};
        label = f->p->operand[o].label[k - first];
        about->n[0] = about->part = s.rows;
        about->ascending = rank == 2;
    } else if (rank > 1 && k - first == coordinates) {
        source->part = TRA_FUSED_BEGIN;
        about->n[0] = s.rows + 1;
    } else if (k - first == coordinates + (rank > 1)) {
        source->part = TRA_FUSED_COLUMN;
        label = f->p->operand[o].label[rank - 1];
        about->part = rank > 1 ? s.entries / fmax(s.rows, 1e-9) : s.entries;
        about->squares = rank > 1 && !isnan(s.squares) ? s.squares / fmax(s.entries, 1) : NAN;
        about->ascending = true;
    } else {
        source->part = TRA_FUSED_VALUE;
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
        else if (is_rows(f, o, held))
            about_rows(f, o, from->which, c, &source[i], &about[i]);
        else
            source[i] = (tra_fused_name){TRA_FUSED_VALUE, o, 0};
    }
    c->problem.about = about;
    x->n = c->problem.n;
    x->scope = c->problem.scope;
    x->source = source;
}

/* Bytes of the dictionaries that a plan builds: as many keys as the longest labels have. */
static int64_t workspace_of(const fusing *f, const tra_calc *x, bool in_let) {
    enum { DENSE = 16, HASHED = 192 }; /* bytes of a key */
    int64_t bytes = 0;
    if (x->kind == TRA_CALC_DICT && in_let) {
        int64_t most = 1, keys = 1;
        for (int l = 0; l < f->p->nlabels; l++) most = tra_max64(most, f->p->label[l].block);
        for (int d = 0; d < x->type.depth; d++) keys = tra_mul_most(keys, most);
        bytes = tra_add_most(tra_mul_most(keys, x->notes & TRA_CALC_DENSE ? DENSE : HASHED), 4096);
    }
    for (int i = 0; i < x->nkids; i++)
        bytes =
            tra_add_most(bytes, workspace_of(f, x->kids[i], in_let || (x->kind == TRA_CALC_LET && i + 1 < x->nkids)));
    return bytes;
}

/* The best plan, in the memo's arena, which gets nothing else: so what planning takes is the same whether the plan was
 * found now or kept by another run. */
static bool find_plan(fusing *f, const tra_storel_problem *problem, tra_fused_plan *x) {
    tra_arena *a = f->m->arena, *work = tra_arena_new();
    tra_storel_result r;
    tra_calc_error err;
    tra_str text = {0};
    bool found = tra_storel_optimize(problem, work, &r, NULL) == TRA_OK && r.n > 0;
    if (found) {
        tra_calc_print(r.plan[0].tree, &text);
        const tra_calc *tree = tra_calc_parse(tra_arena_strndup(a, tra_str_get(&text), text.n), (int)text.n, a, &err);
        found = tree && tra_calc_check(tree, problem->n, problem->scope, a, &err);
        x->tree = tree;
        x->nanoseconds = r.plan[0].cost;
        x->operations = fmax(r.plan[0].operations, 1);
        x->entries = r.plan[0].entries;
    }
    tra_str_free(&text);
    tra_arena_free(work);
    return found;
}

static bool make_plan(fusing *f, int held, tra_fused_plan *x) {
    tra_arena *a = f->m->arena;
    const tra_einsum *s = f->s;
    double extent[TRA_MAXLABELS];
    tra_storel_operand *refs = tra_news(a, tra_storel_operand, s->nrefs + 1);
    tra_storel_composed c;
    tra_err e = {0};
    for (int l = 0; l < s->nlabels; l++)
        extent[l] = (double)s->extent[l] / (double)tra_ceil_div(s->extent[l], block_of(s, l));
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
        if (!is_rows(f, o, held)) continue;
        refs[i].entries = spread_of(f, o).entries;
        refs[i].storage = rows_storage(a, s->ref[i].n, !real, &e);
        if (!refs[i].storage) return false;
    }
    if (tra_storel_compose(s, extent, refs, a, &c, &e) != TRA_OK) return false;
    find_sources(f, held, &c, x);
    c.problem.dense = s->node->type.layout == NULL;
    c.problem.keep = true;
    c.problem.without = f->without;
    c.problem.costs = f->costs;
    if (!find_plan(f, &c.problem, x)) return false;
    x->workspace = workspace_of(f, x->tree, false);
    return true;
}

/* Does the plan make the rows of its result upwards: is what it loops over at its outside the first key? Of a vector
 * there is one row. */
static bool ascends(const fusing *f, const tra_fused_plan *x) {
    const tra_calc *t = x->tree;
    int level = -1;
    if (f->p->shape.n <= 1) return f->p->shape.n == 1;
    for (;; t = t->kids[t->nkids - 1]) {
        if (t->kind == TRA_CALC_SUM && level < 0) {
            const tra_calc *in = t->kids[0];
            bool coordinate = in->kind == TRA_CALC_NAME && in->level < 0 &&
                              x->source[in->index].part == TRA_FUSED_COORDINATE && x->source[in->index].dim == 0;
            if (t->nnames[0] != 1 || (!coordinate && in->kind != TRA_CALC_RANGE)) return false;
            level = t->binders[coordinate ? 1 : 0].level;
        } else if (t->kind == TRA_CALC_DICT) {
            const tra_calc *key = t->kids[0];
            return f->p->shape.n == 2 && level >= 0 && key->kind == TRA_CALC_NAME && key->level == level;
        } else if (t->kind != TRA_CALC_SUM && t->kind != TRA_CALC_LET && t->kind != TRA_CALC_IF) {
            return false;
        }
    }
}

static const char *text_of(fusing *f, const tra_fused_plan *x) {
    tra_str s = {0};
    tra_calc_print(x->tree, &s);
    const char *text = tra_arena_strndup(f->m->arena, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return text;
}

static bool make_plans(fusing *f) {
    tra_fused *x = tra_new(f->m->arena, tra_fused);
    int last = f->p->noperands - 1;
    bool first_sparse = f->p->noperands == 2 && f->p->operand[0].sparse && f->p->operand[0].block.n > 0;
    bool last_sparse = f->p->operand[last].sparse && f->p->operand[last].block.n > 0;
    enum { LONG_ROWS = 1 << 23 }; /* with more columns entries would be listed */
    int n = f->p->shape.n;
    x->ascends = n > 0 && f->p->label[f->s->out[n - 1]].block <= LONG_ROWS;
    for (int held = 0; held < 4; held++) {
        if (((held & TRA_FUSED_FIRST) && !first_sparse) || ((held & TRA_FUSED_LAST) && !last_sparse)) continue;
        if (!make_plan(f, held, &x->plan[held])) return false;
        x->ascends = x->ascends && ascends(f, &x->plan[held]);
    }
    if (first_sparse && f->operand[0]->node.type.layout) x->expected |= TRA_FUSED_FIRST;
    if (last_sparse && f->operand[last]->node.type.layout) x->expected |= TRA_FUSED_LAST;
    x->shared = 1;
    for (int o = 0; o < f->p->noperands; o++)
        x->shared = fmax(x->shared, fmin(f->threads, (double)f->operand[o]->node.type.cat->n));
    f->p->fused = x;
    f->p->text = text_of(f, &x->plan[x->expected]);
    return true;
}

/* ---- expressions --------------------------------------------------------------------------------------------------
 */

static const tra_expr *add(fusing *f, const tra_node *proto, int group) {
    const char *why = NULL;
    int before = f->m->n;
    int i = tra_memo_add(f->m, proto, group, &why);
    if (i < 0) return NULL;
    if (f->m->n > before) f->m->v[i]->rule = &tra_rule_fused;
    return f->m->v[i];
}

/* Labels of the key dimensions of what was joined so far. */
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
        j.joinl.v[j.joinl.n++] = with;
        j.joinr.v[j.joinr.n++] = d;
    }
    return j;
}

/* The keys of the result: sums over the blocks of other labels, or none. */
static tra_node finish_of(const fusing *f, const joined *at) {
    const tra_einsum *s = f->s;
    tra_arena *a = f->m->arena;
    tra_node n = {.op = at->n > s->nout ? TRA_OP_AGG : TRA_OP_REKEY, .in = {(tra_node *)&at->x->node}};
    tra_keyfn *k = tra_new(a, tra_keyfn);
    k->arity = at->n;
    k->n = n.group.n = s->nout;
    for (int i = 0; i < at->n; i++) k->names[i] = s->name[at->label[i]];
    for (int d = 0; d < s->nout; d++)
        for (int i = 0; i < at->n; i++) {
            if (at->label[i] != s->out[d]) continue;
            tra_keyexpr *var = tra_new(a, tra_keyexpr);
            *var = (tra_keyexpr){.op = TRA_KEY_VAR, .var = i};
            k->expr[d] = var;
            n.group.v[d] = i;
        }
    n.span = s->node->span;
    if (n.op == TRA_OP_AGG)
        n.kernel = tra_kernel_sum(a);
    else
        n.keyfn = k, n.group.n = 0;
    return n;
}

/* Has what was joined a key for each dimension of the result? */
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
    return keys <= TRA_MAXDIM && f->p->nkeys + 1 <= TRA_MAXDIM && f->p->nkeys <= TRA_PROGRAM_MOST;
}

static void fuse(tra_memo *m, const tra_einsum *s, uint64_t without, const tra_storel_costs *costs, int threads) {
    fusing *f = tra_new(m->arena, fusing);
    *f = (fusing){.m = m, .s = s, .p = tra_new(m->arena, tra_program), .without = without};
    f->costs = costs;
    f->threads = threads;
    const tra_expr *whole = m->v[m->of_node[s->node->id]];
    int group = tra_memo_find(m, whole->group);
    if (!find_operands(f) || !has_result_labels(f)) return;
    find_labels(f);
    if (!fits(f) || !make_plans(f)) return;
    f->p->dtype = s->node->type.dtype;
    f->p->sparse = s->node->type.sparse;
    joined at = {.x = f->operand[0], .n = f->p->operand[0].block.n};
    for (int d = 0; d < at.n; d++) at.label[d] = f->p->operand[0].label[d];
    for (int o = 1; o < f->p->noperands; o++) {
        tra_node j = join_of(f, &at, o);
        bool all = o + 1 == f->p->noperands && in_order(f, &at);
        if (all) j.name = s->node->name;
        at.x = add(f, &j, all ? group : -1);
        if (!at.x) return;
    }
    if (!covers(f, &at)) return;
    tra_node last = finish_of(f, &at);
    last.name = s->node->name;
    const tra_expr *made = in_order(f, &at) ? at.x : add(f, &last, group);
    if (!made || made == whole) return;
    TRA_ARENA_ROOM(m->arena, m->equal, m->nequal, m->capequal);
    m->equal[m->nequal++] = (tra_equality){whole->node.id, made->node.id, -1, {-1, -1}, &tra_rule_fused};
    tra_expr *z = m->v[made->node.id];
    z->from = whole->node.id;
    if (z != at.x) z->made[0] = at.x->node.id;
}

void tra_fused_apply(tra_memo *m, uint64_t without, const tra_storel_costs *costs, int threads) {
    for (int i = 0; i < m->g->neinsums; i++)
        if (can_be_fused(m, m->g->einsums[i])) fuse(m, m->g->einsums[i], without, costs, threads);
    tra_memo_rebuild(m);
}
