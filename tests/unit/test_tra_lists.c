/* test_tra_lists.c - types of grids, which are computed in closed form, against those of the same keys in a list. */
#include "check.h"

#include "../../plans/tra/tra.h"

static int rnd(int n) { return (int)check_draw(n); }

/* A random grid: frontiers 0..3, extents of 2 or 4, some clipped to 1 by some key. */
static tra_catalog *random_grid(tra_arena *a) {
    tra_catalog *c = tra_new(a, tra_catalog);
    tra_dims frontier = {.n = rnd(4)}, bound = {.n = rnd(3)};
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    tra_err e = {0};
    for (int d = 0; d < frontier.n; d++) frontier.v[d] = rnd(12) ? 1 + rnd(3) : 0;
    for (int d = 0; d < bound.n; d++) {
        bound.v[d] = 2 + 2 * (rnd(4) == 0);
        by[d] = (int8_t)(frontier.n ? rnd(2 * frontier.n) : 0);
        if (by[d] >= frontier.n) by[d] = -1;
        last[d] = 1;
    }
    CHECK_OK(tra_catalog_grid(&frontier, &bound, by, last, c, &e), e);
    return c;
}

/* The same catalog as a list. */
static tra_catalog *as_list(tra_arena *a, const tra_catalog *c) {
    tra_catalog *l = tra_new(a, tra_catalog);
    *l = (tra_catalog){.frontier = c->frontier, .bound = c->bound, .n = c->n, .nclasses = c->n};
    int64_t *pos = tra_news(a, int64_t, c->n), *ext = tra_news(a, int64_t, c->n * c->bound.n);
    uint32_t *cls = tra_news(a, uint32_t, c->n);
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims x;
        tra_catalog_ext(c, t, &x);
        pos[t] = t;
        cls[t] = (uint32_t)t;
        for (int d = 0; d < x.n; d++) ext[t * x.n + d] = x.v[d];
    }
    l->pos = pos;
    l->cls = cls;
    l->ext = ext;
    return l;
}

static void random_list(tra_dims *l, int n, int k) {
    l->n = 0;
    while (l->n < n) {
        int64_t v = rnd(k);
        bool there = false;
        for (int i = 0; i < l->n; i++) there |= l->v[i] == v;
        if (!there) l->v[l->n++] = v;
    }
}

static const tra_keyexpr *var(tra_arena *a, int d, int64_t frontier) {
    tra_keyexpr *x = tra_new(a, tra_keyexpr), *y, *z;
    x->op = TRA_KEY_VAR;
    x->var = d;
    if (rnd(3)) return x;
    y = tra_new(a, tra_keyexpr); /* frontier - 1 - x, or (x + 1) % frontier */
    z = tra_new(a, tra_keyexpr);
    if (rnd(2)) {
        *y = (tra_keyexpr){.op = TRA_KEY_INT, .value = frontier - 1};
        *z = (tra_keyexpr){.op = TRA_KEY_SUB, .a = y, .b = x};
        return z;
    }
    tra_keyexpr *one = tra_new(a, tra_keyexpr), *n = tra_new(a, tra_keyexpr);
    *one = (tra_keyexpr){.op = TRA_KEY_INT, .value = 1};
    *n = (tra_keyexpr){.op = TRA_KEY_INT, .value = tra_max64(frontier, 1)};
    *y = (tra_keyexpr){.op = TRA_KEY_ADD, .a = x, .b = one};
    *z = (tra_keyexpr){.op = TRA_KEY_MOD, .a = y, .b = n};
    return z;
}

static const tra_keyexpr *compare(tra_arena *a, int k) {
    tra_keyexpr *x = tra_new(a, tra_keyexpr), *l = tra_new(a, tra_keyexpr), *r = tra_new(a, tra_keyexpr);
    *l = (tra_keyexpr){.op = TRA_KEY_VAR, .var = rnd(k)};
    *r = (tra_keyexpr){.op = TRA_KEY_INT, .value = rnd(3)};
    if (rnd(3) == 0) *r = (tra_keyexpr){.op = TRA_KEY_VAR, .var = rnd(k)};
    *x = (tra_keyexpr){.op = rnd(3) ? TRA_KEY_LE : TRA_KEY_NE, .a = l, .b = r};
    return x;
}

/* A random operator over inputs of those catalogs; false when there is none of the sort drawn. */
static bool random_op(tra_arena *a, tra_node *n, const tra_catalog *x, const tra_catalog *y) {
    static const char *const joins[] = {"matmul", "matadd", "matvecsub", "outer", "elemmul"};
    static const char *const maps[] = {"transpose", "rowsum", "colsum", "neg", "diag"};
    static const char *const aggs[] = {"matadd", "elemmax"};
    int k = x->frontier.n, r = x->bound.n;
    tra_err e = {0};
    tra_keyfn *f = tra_new(a, tra_keyfn);
    f->arity = k;
    n->op = (tra_opcode)(1 + rnd(7));
    switch (n->op) {
    case TRA_OP_JOIN: {
        int most = k < y->frontier.n ? k : y->frontier.n;
        random_list(&n->join.l, rnd(most + 1), k);
        random_list(&n->join.r, n->join.l.n, y->frontier.n);
        return tra_kernel_named(a, joins[rnd(5)], TRA_USE_JOIN, 0, NULL, &n->kernel, &e) == TRA_OK;
    }
    case TRA_OP_AGG:
        random_list(&n->group, rnd(k + 1), k);
        return tra_kernel_named(a, aggs[rnd(2)], TRA_USE_AGG, 0, NULL, &n->kernel, &e) == TRA_OK;
    case TRA_OP_TRANSFORM: return tra_kernel_named(a, maps[rnd(5)], TRA_USE_MAP, 0, NULL, &n->kernel, &e) == TRA_OK;
    case TRA_OP_REKEY: {
        tra_dims order;
        random_list(&order, k, k);
        for (int i = 0; i < k; i++)
            if (rnd(8)) f->expr[f->n++] = var(a, (int)order.v[i], x->frontier.v[order.v[i]]);
        if (rnd(4) == 0) {
            tra_keyexpr *c = tra_new(a, tra_keyexpr);
            c->value = rnd(2);
            f->expr[f->n++] = c;
        }
        n->keyfn = f;
        return true;
    }
    case TRA_OP_FILTER: {
        if (k == 0) return false;
        tra_keyexpr *both = tra_new(a, tra_keyexpr);
        *both = (tra_keyexpr){.op = TRA_KEY_AND, .a = compare(a, k), .b = compare(a, k)};
        f->n = 1;
        f->expr[0] = both;
        n->keyfn = f;
        return true;
    }
    case TRA_OP_TILE:
        n->size = 1 + rnd(3);
        n->dim = r ? rnd(r) : 0;
        return r > 0;
    case TRA_OP_CONCAT:
        n->keydim = k ? rnd(k) : 0;
        n->dim = r ? rnd(r) : 0;
        return k > 0 && r > 0;
    default: return false;
    }
}

static bool same(const tra_type *x, const tra_type *y) {
    if (x->cat->n != y->cat->n || x->cat->frontier.n != y->cat->frontier.n || x->cat->bound.n != y->cat->bound.n)
        return false;
    if (x->cat->n && !tra_dims_eq(&x->cat->frontier, &y->cat->frontier)) return false;
    for (int64_t t = 0; t < x->cat->n; t++) {
        tra_dims a, b;
        tra_catalog_key(x->cat, t, &a);
        tra_catalog_key(y->cat, t, &b);
        if (!tra_dims_eq(&a, &b)) return false;
        tra_catalog_ext(x->cat, t, &a);
        tra_catalog_ext(y->cat, t, &b);
        if (!tra_dims_eq(&a, &b)) return false;
    }
    return memcmp(x->cut, y->cut, sizeof x->cut) == 0;
}

/* What is found without looking at tuples is what walking them finds. */
TEST(grids_against_lists) {
    int typed[16] = {0}, refused = 0;
    for (int i = 0; i < 30000; i++) {
        tra_arena *a = tra_arena_new();
        check_seed = (uint64_t)i * 7919 + 1;
        tra_node in[2][2] = {0}, n[2] = {0};
        for (int side = 0; side < 2; side++) {
            tra_catalog *c = random_grid(a);
            in[0][side].type.cat = c;
            in[1][side].type.cat = as_list(a, c);
            for (int d = 0; d < c->bound.n; d++)
                in[0][side].type.cut[d] = in[1][side].type.cut[d] = (uint32_t)rnd(1 << c->frontier.n);
        }
        bool ok = random_op(a, &n[0], in[0][0].type.cat, in[0][1].type.cat);
        tra_err e[2] = {0};
        tra_status s[2];
        n[1] = n[0];
        for (int form = 0; ok && form < 2; form++) {
            n[form].in[0] = &in[form][0];
            n[form].in[1] = n[0].op == TRA_OP_JOIN ? &in[i % 3 ? form : 0][1] : NULL; /* also a list with a grid */
            s[form] = tra_node_type(a, &n[form], NULL, &e[form]);
        }
        if (ok && (s[0] != s[1] || (s[0] == TRA_OK && !same(&n[0].type, &n[1].type)))) {
            tra_str text[2] = {0};
            for (int form = 0; form < 2; form++) {
                if (s[form] == TRA_OK)
                    tra_node_describe(&n[form], &text[form]);
                else
                    tra_str_add(&text[form], e[form].msg);
            }
            check_report("case %d, %s:\n#   %s\n#   %s", i, tra_opcode_text(n[0].op), tra_str_get(&text[0]),
                         tra_str_get(&text[1]));
            for (int form = 0; form < 2; form++) tra_str_free(&text[form]);
        }
        if (ok && s[0] == TRA_OK) typed[n[0].op]++;
        refused += ok && s[0] != TRA_OK;
        tra_arena_free(a);
        if (check_failures > 5) break;
    }
    for (int op = TRA_OP_JOIN; op <= TRA_OP_CONCAT; op++)
        if (typed[op] < 100) check_report("only %d of %s were typed", typed[op], tra_opcode_text((tra_opcode)op));
    CHECK(refused > 500);
}
