/* Every plan that the optimizer offers gives what the naive plan gives, by the interpreter: random statements and
 * random programs of the calculus over random storages, of small integers, for which sums are exact in any order. */
#include "../../plans/storel/compose.h"
#include "storage_fill.h"

#include <math.h>

enum { MOSTREFS = 4, MOSTDATA = 64, MOSTRESULTS = 1 << 14 };

static unsigned seed;
static int below(int n) {
    seed = seed * 1103515245 + 12345;
    return (int)((seed >> 8) % (unsigned)n);
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

typedef struct array {
    tra_storage *storage; /* NULL: dense */
    int rank;
    int64_t extent[4];
    tra_component_data data[16];
    bool by_trace;
} array;

static void put(tra_component_data *c, int64_t n, bool real, const double *v) {
    c->value.type = real ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64;
    c->value.n = n;
    double *r = tra_calloc((size_t)n + 1, 8);
    for (int64_t i = 0; i < n; i++) {
        if (real)
            r[i] = v[i];
        else
            ((int64_t *)r)[i] = (int64_t)v[i];
    }
    c->value.data = r;
}

static int component(const tra_storage *s, const char *name) {
    for (int k = 0; k < s->ncomponents; k++)
        if (strcmp(s->components[k].name, name) == 0) return k;
    check_report("no %s", name);
    return 0;
}

/* Rows of ell with a free place each, in the middle. */
static void fill_ell(array *a, const tensor *t) {
    int64_t m = a->extent[0], n = a->extent[1], width = n + 1;
    double size = (double)width, *idx = tra_calloc((size_t)(m * width) + 1, 8),
           *v = tra_calloc((size_t)(m * width) + 1, 8);
    for (int64_t i = 0; i < m * width; i++) idx[i] = -1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0, p = i * width; j < n; j++)
            if (t->entry[i * n + j]) idx[p + 1] = (double)j, v[p++ + 1] = t->v[i * n + j];
    put(&a->data[component(a->storage, "width")], 1, false, &size);
    put(&a->data[component(a->storage, "idx")], m * width, false, idx);
    put(&a->data[component(a->storage, "v")], m * width, true, v);
    free(idx);
    free(v);
}

static void fill_trie(array *a, const tensor *t) {
    tra_component_data *d = &a->data[component(a->storage, "t")];
    double *v = tra_calloc((size_t)t->n + 1, 8);
    int64_t n = 0, *key[4];
    for (int r = 0; r < t->rank; r++) key[r] = tra_calloc((size_t)t->n + 1, 8);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t at[4];
        if (!t->entry[i]) continue;
        coordinates(t, i, at);
        for (int r = 0; r < t->rank; r++) key[r][n] = at[r];
        v[n++] = t->v[i];
    }
    put(d, n, true, v);
    for (int r = 0; r < t->rank; r++) d->key[r] = (tra_elements){TRA_ELEMENT_I64, n, key[r]};
    free(v);
}

/* By running the mapping backwards. */
static void fill_places(array *a, const tensor *t) {
    tra_storage_block b = {.extent = a->extent, .component = a->data};
    tra_storage_places places;
    tra_err e = {0};
    CHECK_OK(tra_storage_trace(a->storage, &b, 0, &places, &e), e);
    for (int k = 0; k < a->storage->ncomponents; k++) {
        double *v = tra_calloc((size_t)a->data[k].value.n + 1, 8);
        for (int64_t i = 0; i < places.n; i++)
            if (places.v[i].component == k) v[places.v[i].element] = t->v[places.v[i].at];
        put(&a->data[k], a->data[k].value.n, true, v);
        free(v);
    }
    tra_storage_places_free(&places);
}

static const char *const of_rank[4][12] = {
    {NULL},
    {"dense", "coo", "csf", "dok", "trie", NULL},
    {"dense", "csr", "csc", "dcsr", "dcsc", "coo", "dok", "trie", "ell", "lower", "band", NULL},
    {"dense", "csf", "coo", "dok", "trie", "colmajor", NULL},
};

static bool infinite; /* elements are not negative, and those of dense arrays may be infinite */

static double element(bool dense) {
    if (!infinite) return (double)(below(9) - 4);
    return dense && below(3) == 0 ? INFINITY : (double)below(3);
}

static void new_array(array *a, tra_arena *arena, int rank, const int64_t *extent) {
    unsigned s = seed;
    tensor *t = tra_calloc(1, sizeof *t);
    *t = new_tensor(rank, extent, below(4) * 30 + 10, &s);
    seed = s;
    *a = (array){.rank = rank};
    memcpy(a->extent, extent, sizeof a->extent);
    int n = 0;
    while (of_rank[rank][n]) n++;
    const char *name = of_rank[rank][below(n)];
    for (int64_t i = 0; i < t->n; i++) t->v[i] = t->entry[i] ? element(strcmp(name, "dense") == 0) : 0;
    int64_t width = 1;
    if (strcmp(name, "dense") != 0) a->storage = find(arena, name, rank, strcmp(name, "band") == 0, &width);
    if (!a->storage) {
        put(&a->data[0], t->n, true, t->v);
    } else if (strcmp(name, "ell") == 0) {
        fill_ell(a, t);
    } else if (strcmp(name, "trie") == 0) {
        fill_trie(a, t);
    } else if (!a->storage->by_levels) {
        fill_places(a, t);
    } else {
        filled *f = tra_calloc(1, sizeof *f);
        fill(f, a->storage, t);
        memcpy(a->data, f->data, sizeof f->data);
        free(f);
    }
    free(t);
}

/* ---- running ------------------------------------------------------------------------------------------------------
 */

typedef struct results {
    int n, rank;
    int64_t key[MOSTRESULTS][4];
    double v[MOSTRESULTS];
} results;

static tra_status keep(void *ctx, const tra_calc_entry *x, tra_err *e) {
    results *r = ctx;
    if (r->n == MOSTRESULTS) return tra_fail(e, TRA_RESOURCE, "too many results");
    for (int d = 0; d < r->rank; d++) r->key[r->n][d] = x->key[d];
    r->v[r->n++] = tra_calc_as_real(x->value);
    return TRA_OK;
}

static tra_status run(const tra_calc *x, int n, const tra_calc_free *scope, results *r, tra_err *e) {
    r->n = 0;
    r->rank = x->type.depth;
    return tra_calc_run_summed(x, n, scope, 5000000, keep, r, e);
}

static bool same_results(const results *a, const results *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        for (int d = 0; d < a->rank; d++)
            if (a->key[i][d] != b->key[i][d]) return false;
        if (a->v[i] != b->v[i] && !(isnan(a->v[i]) && isnan(b->v[i]))) return false;
    }
    return true;
}

static int64_t programs, plans, skipped;

static void print_tree(const char *what, const tra_calc *x) {
    tra_str s = {0};
    tra_calc_print(x, &s);
    printf("# %s %s\n", what, tra_str_get(&s));
    tra_str_free(&s);
}

static void check_plans(tra_storel_problem *p, tra_arena *arena, const tra_calc_free *scope) {
    static results want, got;
    tra_storel_result r;
    tra_err e = {0};
    if (run(p->tree, p->n, scope, &want, &e) != TRA_OK) {
        skipped++;
        return;
    }
    tra_storel_result *out = &r;
    CHECK_OK(tra_storel_optimize(p, arena, out, &e), e);
    programs++;
    for (int i = 0; i < r.n; i++) {
        tra_status s = run(r.plan[i].tree, p->n, scope, &got, &e);
        plans++;
        bool types =
            r.plan[i].tree->type.depth == p->tree->type.depth && r.plan[i].tree->type.real == p->tree->type.real;
        if (s == TRA_OK && types && same_results(&want, &got)) continue;
        check_report("seed %u: plan %d: %s", seed, i, s == TRA_OK ? types ? "other results" : "another type" : e.msg);
        print_tree("of", p->tree);
        print_tree("is", r.plan[i].tree);
        for (int k = 0; s == TRA_OK && k < want.n + got.n && k < 8; k++)
            printf("# %d: %g, %g\n", k, k < want.n ? want.v[k] : NAN, k < got.n ? got.v[k] : NAN);
        return;
    }
}

/* ---- statements ---------------------------------------------------------------------------------------------------
 */

typedef struct statement {
    tra_arena *arena;
    tra_einsum s;
    tra_storel_operand operand[MOSTREFS];
    array array[MOSTREFS];
    double extent[TRA_MAXLABELS];
    tra_storel_composed c;
    tra_calc_free *scope;
} statement;

static const tra_scalar *node_of(tra_arena *a, tra_scalar_op op, int arg, const tra_scalar *l, const tra_scalar *r) {
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = (tra_scalar){.op = op, .arg = arg, .a = l, .b = r, .value = 3};
    return y;
}

static void random_statement(statement *k, bool mixed) {
    static const char *const names[] = {"A", "B", "C", "D"}, *const labels[] = {"i", "j", "k", "l"};
    int64_t extent[4];
    bool used[4] = {0};
    k->s.fold = TRA_S_ADD;
    k->s.nrefs = 1 + below(3);
    k->s.ref = tra_news(k->arena, tra_einsum_ref, MOSTREFS);
    k->s.nlabels = 2 + below(3);
    for (int l = 0; l < k->s.nlabels; l++) {
        k->s.name[l] = labels[l];
        k->extent[l] = (double)(extent[l] = 1 + below(5));
    }
    for (int i = 0; i < k->s.nrefs; i++) {
        tra_einsum_ref *r = &k->s.ref[i];
        array *a = &k->array[i];
        int64_t of[4] = {0};
        r->n = 1 + below(3);
        for (int d = 0; d < r->n; d++) {
            r->label[d] = below(k->s.nlabels);
            of[d] = extent[r->label[d]];
            used[r->label[d]] = true;
        }
        new_array(a, k->arena, r->n, of);
        k->operand[i] = (tra_storel_operand){.name = names[i],
                                             .storage = a->storage,
                                             .real = true,
                                             .sparse = a->storage != NULL,
                                             .same = -1,
                                             .entries = NAN};
        const tra_scalar *arg = node_of(k->arena, TRA_S_ARG, i, NULL, NULL);
        tra_scalar_op op = mixed ? (tra_scalar_op[]){TRA_S_ADD, TRA_S_SUB, TRA_S_MAX, TRA_S_MUL}[below(4)] : TRA_S_MUL;
        k->s.expr = k->s.expr ? node_of(k->arena, op, 0, k->s.expr, arg) : arg;
        if (below(6) == 0)
            k->s.expr = node_of(k->arena, TRA_S_MUL, 0, k->s.expr, node_of(k->arena, TRA_S_CONST, 0, NULL, NULL));
    }
    for (int l = 0; l < k->s.nlabels; l++)
        if (used[l] && below(2)) k->s.out[k->s.nout++] = l;
    for (int i = 0; i + 1 < k->s.nout; i++)
        if (below(2)) {
            int other = k->s.out[i];
            k->s.out[i] = k->s.out[i + 1];
            k->s.out[i + 1] = other;
        }
}

static void fill_scope(statement *k) {
    k->scope = tra_news(k->arena, tra_calc_free, k->c.problem.n);
    for (int i = 0; i < k->c.problem.n; i++) {
        const tra_storel_source *from = &k->c.source[i];
        switch (from->kind) {
        case TRA_STOREL_EXTENT: k->scope[i].number = tra_calc_int((int64_t)k->extent[from->which]); break;
        case TRA_STOREL_ORIGIN: k->scope[i].number = tra_calc_int(0); break;
        case TRA_STOREL_COMPONENT:
            k->scope[i].component = &k->array[from->operand].data[from->which];
            k->scope[i].kind = from->component;
        }
    }
}

static void free_statement(statement *k) {
    for (int i = 0; i < k->s.nrefs; i++)
        for (int c = 0; c < 16; c++) {
            free((void *)k->array[i].data[c].value.data);
            for (int d = 0; d < TRA_CALC_MAXRANK; d++) free((void *)k->array[i].data[c].key[d].data);
        }
    tra_arena_free(k->arena);
}

static void check_statement(bool mixed, uint64_t without) {
    static statement k;
    tra_err e = {0};
    memset(&k, 0, sizeof k);
    k.arena = tra_arena_new();
    random_statement(&k, mixed);
    CHECK_OK(tra_storel_compose(&k.s, k.extent, k.operand, k.arena, &k.c, &e), e);
    fill_scope(&k);
    k.c.problem.without = without;
    k.c.problem.plans = 6;
    k.c.problem.dense = below(2);
    int dense = 0;
    for (int i = 0; i < k.s.nrefs; i++) dense += !k.operand[i].storage;
    if (infinite && (dense != 1 || k.s.nrefs == 1)) {
        free_statement(&k);
        return;
    }
    if (e.status == TRA_OK) check_plans(&k.c.problem, k.arena, k.scope);
    free_statement(&k);
}

TEST(plans_of_random_products) {
    programs = plans = skipped = 0;
    for (seed = 1; programs < 900 && !check_failures;) check_statement(false, 0);
    printf("# %" PRId64 " programs, %" PRId64 " plans, %" PRId64 " skipped\n", programs, plans, skipped);
}

/* Entries that are 0 annihilate, also infinity: of statements with one dense operand, since what it is multiplied with
 * is of sparse type then. */
TEST(stored_zeros_annihilate) {
    programs = plans = skipped = 0;
    infinite = true;
    for (seed = 5; programs < 400 && !check_failures;) check_statement(false, 0);
    infinite = false;
    printf("# %" PRId64 " programs, %" PRId64 " plans, %" PRId64 " skipped\n", programs, plans, skipped);
}

TEST(plans_of_random_functions) {
    programs = plans = skipped = 0;
    for (seed = 2; programs < 400 && !check_failures;) check_statement(true, 0);
    printf("# %" PRId64 " programs, %" PRId64 " plans, %" PRId64 " skipped\n", programs, plans, skipped);
}

/* ---- programs of the calculus ----------------------------------------------------------------------------------- */

/* Writes a random expression. Names that are bound are numbered, by what they stand for. */
typedef struct writer {
    tra_str out;
    int next, nints, nreals, nrows, ints[64], reals[64], rows[64];
} writer;

static void expression(writer *w, int depth, int left);

static void add(writer *w, const char *text) { tra_str_add(&w->out, text); }

static void whole(writer *w, int left) {
    static const char *const extents[] = {"n_i", "n_j", "n_k"};
    int what = below(left > 0 ? 8 : 3);
    if (what < 3 && w->nints && below(4)) {
        tra_str_printf(&w->out, "i%d", w->ints[below(w->nints)]);
    } else if (what < 2) {
        tra_str_printf(&w->out, "%d", below(5));
    } else if (what == 2) {
        add(w, extents[below(3)]);
    } else if (what == 7) {
        add(w, "max(");
        whole(w, left - 1);
        tra_str_printf(&w->out, ", %d)", below(4));
    } else {
        static const char *const ops[] = {" + 1)", " - 1)", " / 2)", " % 3)"};
        add(w, "(");
        whole(w, left - 1);
        add(w, ops[what - 3]);
    }
}

static void condition(writer *w, int left) {
    static const char *const ops[] = {" == ", " < ", " >= ", " != "};
    int what = below(5);
    if (what == 0 && left > 0) {
        condition(w, left - 1);
        add(w, below(2) ? " && " : " || ");
        condition(w, left - 1);
    } else if (what == 1 && left > 0) {
        expression(w, 0, left - 1);
        add(w, " > 0");
    } else {
        whole(w, left - 1);
        add(w, ops[below(4)]);
        whole(w, left - 1);
    }
}

/* One generator, whose names are bound from then on. */
static void generator(writer *w, int left) {
    int what = below(4), i = w->next++, v = w->next++, j = w->next++;
    if (what == 0) {
        tra_str_printf(&w->out, "<i%d, _> in 0:", i);
        whole(w, 0);
    } else if (what == 1) {
        tra_str_printf(&w->out, "<i%d, r%d> in ", i, v);
        expression(w, 1, left - 1);
        w->reals[w->nreals++] = v;
    } else if (what == 2) {
        tra_str_printf(&w->out, "<i%d, d%d> in ", i, v);
        expression(w, 2, left - 1);
        w->rows[w->nrows++] = v;
    } else {
        /* a name that stands again asks for equality */
        if (below(3) == 0) j = i;
        tra_str_printf(&w->out, "<(i%d, i%d), r%d> in ", i, j, v);
        expression(w, 2, left - 1);
        w->reals[w->nreals++] = v;
        w->ints[w->nints++] = j;
    }
    w->ints[w->nints++] = i;
}

static void sum(writer *w, int depth, int left) {
    writer before = *w;
    add(w, "(sum(");
    generator(w, left);
    if (below(3) == 0) {
        add(w, ", ");
        generator(w, left);
    }
    add(w, ") ");
    expression(w, depth, left - 1);
    add(w, ")");
    w->nints = before.nints, w->nreals = before.nreals, w->nrows = before.nrows;
}

static void let(writer *w, int depth, int left) {
    int v = w->next++, what = below(2);
    writer before = *w;
    tra_str_printf(&w->out, "(let %c%d = ", what ? 'd' : 'r', v);
    expression(w, what, left - 1);
    add(w, " in ");
    if (what)
        w->rows[w->nrows++] = v;
    else
        w->reals[w->nreals++] = v;
    expression(w, depth, left - 1);
    add(w, ")");
    w->nints = before.nints, w->nreals = before.nreals, w->nrows = before.nrows;
}

static void two(writer *w, int a, const char *op, int b, int left) {
    add(w, "(");
    expression(w, a, left - 1);
    add(w, op);
    expression(w, b, left - 1);
    add(w, ")");
}

static void number(writer *w, int left) {
    int what = below(8);
    if (what < 3 && w->nreals) {
        tra_str_printf(&w->out, "r%d", w->reals[below(w->nreals)]);
    } else if (what < 3) {
        add(w, below(2) ? "2.0" : "3.0");
    } else if (what == 3 && w->nrows) {
        tra_str_printf(&w->out, "d%d(", w->rows[below(w->nrows)]);
        whole(w, 1);
        add(w, ")");
    } else if (what == 4) {
        add(w, below(2) ? "A(" : "B(");
        whole(w, 1);
        add(w, ", ");
        whole(w, 1);
        add(w, ")");
    } else if (what == 5 && left > 0) {
        add(w, "max(");
        expression(w, 0, left - 1);
        add(w, ", 1.0)");
    } else {
        add(w, below(2) ? "C(" : "D(");
        whole(w, 1);
        add(w, ")");
    }
}

/* A dictionary of that depth, or a number. */
static void leaf(writer *w, int depth) {
    if (depth == 2) {
        add(w, below(2) ? "A" : "B");
    } else if (depth == 1 && w->nrows && below(2)) {
        tra_str_printf(&w->out, "d%d", w->rows[below(w->nrows)]);
    } else if (depth == 1 && below(3) == 0) {
        add(w, below(2) ? "A(" : "B(");
        whole(w, 1);
        add(w, ")");
    } else if (depth == 1) {
        add(w, below(2) ? "C" : "D");
    } else {
        number(w, 0);
    }
}

static void expression(writer *w, int depth, int left) {
    if (left <= 0 || w->next > 40) {
        leaf(w, depth);
        return;
    }
    switch (below(12)) {
    case 0:
    case 1:
    case 2: sum(w, depth, left); return;
    case 3: let(w, depth, left); return;
    case 4: two(w, depth, below(3) ? " + " : " - ", depth, left); return;
    case 5: two(w, depth, " * ", 0, left); return;
    case 6: two(w, below(2) ? depth : 0, " * ", depth, left); return;
    case 7:
        add(w, "(if (");
        condition(w, left);
        add(w, ") ");
        expression(w, depth, left - 1);
        add(w, ")");
        return;
    case 8:
        if (depth == 0) break;
        add(w, below(2) ? "(-" : "(0.5 * ");
        expression(w, depth, left - 1);
        add(w, ")");
        return;
    case 9:
        if (depth == 0) break;
        expression(w, depth, 0);
        add(w, "(");
        whole(w, 1);
        add(w, ":");
        whole(w, 1);
        add(w, ")");
        return;
    default:
        if (depth == 0) break;
        add(w, "{");
        whole(w, 1);
        add(w, " -> ");
        expression(w, depth - 1, left - 1);
        add(w, "}");
        return;
    }
    if (depth)
        leaf(w, depth);
    else
        number(w, left);
}

/* The lets of the mappings, and a random program for body. */
static void check_program(uint64_t without) {
    static statement k;
    static const int labels[4][2] = {{0, 1}, {1, 2}, {0, 0}, {2, 2}};
    static const char *const label_names[] = {"i", "j", "k"}, *const tensor_names[] = {"A", "B", "C", "D"};
    tra_err e = {0};
    tra_calc_error err;
    memset(&k, 0, sizeof k);
    k.arena = tra_arena_new();
    k.s.fold = TRA_S_ADD;
    k.s.nrefs = 4;
    k.s.nlabels = 3;
    k.s.ref = tra_news(k.arena, tra_einsum_ref, MOSTREFS);
    for (int l = 0; l < 3; l++) k.s.name[l] = label_names[l], k.extent[l] = 1 + below(4);
    for (int i = 0; i < 4; i++) {
        int64_t of[4] = {0};
        k.s.ref[i].n = i < 2 ? 2 : 1;
        for (int d = 0; d < k.s.ref[i].n; d++) of[d] = (int64_t)k.extent[k.s.ref[i].label[d] = labels[i][d]];
        new_array(&k.array[i], k.arena, k.s.ref[i].n, of);
        bool dense = !k.array[i].storage;
        /* with a mapping all the same, which programs name */
        if (dense) k.array[i].storage = find(k.arena, "dense", k.s.ref[i].n, 0, NULL);
        k.operand[i] =
            (tra_storel_operand){.name = tensor_names[i], .storage = k.array[i].storage, .real = true, .same = -1};
        k.operand[i].sparse = !dense;
        k.operand[i].entries = NAN;
        const tra_scalar *arg = node_of(k.arena, TRA_S_ARG, i, NULL, NULL);
        k.s.expr = k.s.expr ? node_of(k.arena, TRA_S_MUL, 0, k.s.expr, arg) : arg;
    }
    CHECK_OK(tra_storel_compose(&k.s, k.extent, k.operand, k.arena, &k.c, &e), e);
    fill_scope(&k);
    writer w = {0};
    for (const tra_calc *x = k.c.problem.tree; x->kind == TRA_CALC_LET; x = x->kids[1]) {
        tra_str_printf(&w.out, "let %s = ", x->binders[0].name);
        tra_calc_print(x->kids[0], &w.out);
        add(&w, " in ");
    }
    expression(&w, below(3), 4);
    char *text = tra_arena_strndup(k.arena, tra_str_get(&w.out), w.out.n);
    tra_str_free(&w.out);
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), k.arena, &err);
    if (!x || !tra_calc_check(x, k.c.problem.n, k.c.problem.scope, k.arena, &err)) {
        skipped++;
    } else {
        k.c.problem.tree = x;
        memset(k.c.problem.extent, 0, sizeof k.c.problem.extent);
        k.c.problem.without = without;
        k.c.problem.plans = 6;
        check_plans(&k.c.problem, k.arena, k.scope);
    }
    free_statement(&k);
}

TEST(plans_of_random_programs) {
    programs = plans = skipped = 0;
    for (seed = 4; programs < 2000 && !check_failures;) check_program(0);
    printf("# %" PRId64 " programs, %" PRId64 " plans, %" PRId64 " skipped\n", programs, plans, skipped);
}

static void check_any(int k, uint64_t without) {
    if (k % 2)
        check_program(without);
    else
        check_statement(k % 4 == 0, without);
}

TEST(plans_without_each_rule) {
    int n;
    const tra_storel_rule *rules = tra_storel_rules(&n);
    programs = plans = skipped = 0;
    seed = 3;
    for (int i = 0; i < n; i++) {
        if (rules[i].built_in) continue;
        for (int k = 0; k < 60 && !check_failures; k++) check_any(k, (uint64_t)1 << i);
        if (check_failures) check_report("without %s", rules[i].name);
    }
    for (int k = 0; k < 120 && !check_failures; k++) check_any(k, (uint64_t)below(1 << 30) << below(20));
    printf("# %" PRId64 " programs, %" PRId64 " plans, %" PRId64 " skipped\n", programs, plans, skipped);
}
