/* draw_tensor.c - random tensor statements, and relations in other storages, on what a program has so far. */
#include "generate.h"

#include <string.h>

const char *const drawn_storages = "storage own1[m] = levels(sparse)\n"
                                   "storage own2[m, n] = levels(sparse, dense) order [1, 0]\n"
                                   "storage own3[m, n, o] = levels(sparse, singleton, dense) order [2, 0, 1]\n"
                                   "storage own4[m] {\n    real array v(m)\n"
                                   "    sum(<i, _> in 0:m) {@unique i -> v(m - 1 - i)}\n}\n"
                                   "storage own5[m, n] at [r, c] {\n    real array v(m*n)\n    real array w(m*n)\n"
                                   "    sum(<i, _> in 0:m, <j, _> in 0:n)\n"
                                   "        (if ((r + i) % 2 == c % 2) {(i, j) -> v(j*m + i)}) +\n"
                                   "        if ((r + i) % 2 != c % 2) {(i, j) -> w(i*n + j)}\n}\n";

static int rank_of(const relation *r) { return r->type->cat->bound.n; }

static bool has_shape(const relation *r, tra_dims *shape) {
    if (!tra_type_is_blocked(r->type, NULL)) return false;
    tra_type_shape(r->type, shape);
    for (int d = 0; d < shape->n; d++)
        if (shape->v[d] == 0) return shape->n <= 2;
    return true;
}

bool draw_store(gen *g, relation *r) {
    enum {
        LEVELS = 5,
        ALL = 10
    }; /* the first LEVELS have a level that is not dense; tensors in the others are of dense type */
    static const char *const names[4][ALL] = {
        {NULL},
        {"coo", "csf", "own1", "coo", "csf", "dense", "own4", "colmajor", "own4", "dense"},
        {"csr", "csc", "dcsr", "coo", "own2", "dense", "zorder", "colmajor", "own5", "own5"},
        {"coo", "csf", "own3", "coo", "csf", "dense", "colmajor", "colmajor", "dense", "dense"}};
    const relation *x = &g->v[r->in[0] = (int)rng_below(&g->g, g->n)];
    int rank = rank_of(x);
    tra_dims shape;
    if (rank < 1 || rank > 3 || !has_shape(x, &shape)) return false;
    int drawn = (int)rng_below(&g->g, ALL);
    const char *name = names[rank][drawn];
    g->stores = g->stores || strncmp(name, "own", 3) == 0;
    r->fn = "store";
    r->tail = tra_arena_printf(g->a, ", %s", name);
    r->json = tra_arena_printf(g->a, ",\"sparse\":%s", drawn < LEVELS ? "true" : "false");
    return true;
}

/* A function of the element a at position i, j, and of another one, as the calculus writes it. */
static const char *function(gen *g, bool second) {
    return second ? PICK(g, "a * b", "a + b", "a * b + a", "min(a, b)", "a * b * (i + 1)")
                  : PICK(g, "a", "2 * a", "a * a", "a + 1", "abs(a)", "max(a, 1)", "a * (i + 1)", "a - j");
}

static const char *condition(gen *g) {
    return PICK(g, "a > 0", "a != 2", "a <= 1", "(i + j) % 2 == 0", "i <= j", "a > 0 && i != j", "a == a");
}

typedef struct form {
    const char *text; /* X, Y, F, C: relations, function, condition; M, N: extents of X; K: a small number */
    int refs;
    bool second;
} form;

static const form forms[] = {
    {"[M, N] = sum(<i, r> in X, <j, a> in r) if (C) { (i, j) -> F }", 1, false},
    {"[N, M] = sum(<i, r> in X, <j, a> in r) if (C) { (j, i) -> F }", 1, false},
    {"[N] = sum(<(i, j), a> in X) if (C) { j -> F }", 1, false},
    {" = sum(<i, r> in X, <j, a> in r) if (C) F", 1, false},
    {"[K] = sum(<i, r> in X, <j, a> in r) if (C) { (i + 2 * j) % K -> F }", 1, false},
    {"[M] = sum(<i, r> in X) let s = sum(<j, a> in r) a in { i -> s * s + 1 }", 1, false},
    {"[M, N] = sum(<i, r> in X) let t = r + r in sum(<j, a> in t) if (C) { (i, j) -> F }", 1, false},
    {"[M, N] = sum(<i, r> in X, <i, s> in Y, <j, a> in r) let b = s(j) in if (C) { (i, j) -> F }", 2, true},
    {"[M] = sum(<i, r> in X, <j, a> in r, <j, b> in Y(i)) { i -> F }", 2, true},
    {"[M, N] = sum(<i, r> in X, <j, a> in r) { (i, j) -> 3 * a }", 1, false},
};

static void write_form(const char *text, const char *const *word, tra_str *out) {
    for (const char *c = text; *c; c++) {
        const char *at = strchr("XYFCMNK", *c);
        if (at && *c)
            tra_str_add(out, word[at - "XYFCMNK"]);
        else
            tra_str_printf(out, "%c", *c);
    }
}

bool draw_tensor(gen *g, relation *r) {
    int from[2] = {(int)rng_below(&g->g, g->n), (int)rng_below(&g->g, g->n)};
    tra_dims x, y;
    for (int tries = 0; tries < 6 && rank_of(&g->v[from[0]]) != 2; tries++) from[0] = (int)rng_below(&g->g, g->n);
    if (rank_of(&g->v[from[0]]) != 2 || !has_shape(&g->v[from[0]], &x) || g->large) return false;
    int n = (int)rng_below(&g->g, sizeof forms / sizeof *forms);
    const form *f = &forms[n];
    for (int tries = 0; f->refs == 2; tries++) {
        if (has_shape(&g->v[from[1]], &y) && tra_dims_eq(&x, &y)) break;
        if (tries == 6) from[1] = from[0], y = x;
        if (tries < 6) from[1] = (int)rng_below(&g->g, g->n);
    }
    const char *fn = function(g, f->second), *c = condition(g);
    const char *k = tra_arena_printf(g->a, "%" PRId64, rng_range(&g->g, 2, 5));
    const char *xn = g->v[from[0]].name, *yn = g->v[from[1]].name;
    const char *word[] = {
        xn, yn, fn, c, tra_arena_printf(g->a, "extent(%s, 0)", xn), tra_arena_printf(g->a, "extent(%s, 1)", xn), k};
    tra_str text = {0}, json = {0};
    write_form(f->text, word, &text);
    tra_str_printf(&json, ",\"form\":%d,\"f\":\"%s\",\"c\":\"%s\",\"k\":%s,\"shape\":[%" PRId64 ",%" PRId64 "]", n, fn,
                   c, k, x.v[0], x.v[1]);
    r->fn = "tensor";
    r->nrefs = f->refs;
    for (int i = 0; i < f->refs; i++) r->refs[i] = from[i];
    r->tail = keep_text(g, &text);
    r->json = keep_text(g, &json);
    return true;
}
