/* draw.c - random operators on what a program has so far. */
#include "generate.h"

#include <string.h>

const char *keep_text(gen *g, tra_str *s) {
    const char *r = tra_arena_strndup(g->a, tra_str_get(s), s->n);
    tra_str_free(s);
    return r;
}

void append_list(tra_str *s, int n, const int64_t *v) {
    tra_str_add(s, "[");
    for (int i = 0; i < n; i++) tra_str_printf(s, "%s%" PRId64, i ? ", " : "", v[i]);
    tra_str_add(s, "]");
}

const char *pick(gen *g, int n, const char *const *v) { return v[rng_below(&g->g, n)]; }
static int keys(const relation *r) { return r->type->cat->frontier.n; }
static int rank(const relation *r) { return r->type->cat->bound.n; }

/* One of the relations, the newest more often than others, so that programs grow deep. */
static int any(gen *g) { return rng_chance(&g->g, 50) ? g->n - 1 : (int)rng_below(&g->g, g->n); }

/* n of the numbers 0..of-1 in random order. */
static void choose(gen *g, int of, int n, int64_t *out) {
    int64_t all[TRA_MAXDIM];
    for (int i = 0; i < of; i++) all[i] = i;
    for (int i = 0; i < n; i++) {
        int64_t j = rng_range(&g->g, i, of - 1), t = all[i];
        out[i] = all[i] = all[j];
        all[j] = t;
    }
}

static void sort(int n, int64_t *v) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
            int64_t t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
}

/* Sets the text and the JSON of an operator that has a kernel; frees k. */
static void with_kernel(gen *g, relation *r, tra_str *tail, tra_str *json, kern *k) {
    tra_str_printf(tail, ", %s", tra_str_get(&k->text));
    tra_str_printf(json, ",\"kernel\":[%s]", tra_str_get(&k->json));
    tra_str_free(&k->text);
    tra_str_free(&k->json);
    r->tail = keep_text(g, tail);
    r->json = keep_text(g, json);
}

static int cutting_key(const relation *r, int dim) {
    for (int k = 0; k < keys(r); k++)
        if (r->type->cut[dim] & 1u << k) return k;
    return -1;
}

/* Can x and y be factors of a matrix product? */
static bool multiply(const relation *x, const relation *y) {
    if (rank(x) != 2 || rank(y) != 2 || cutting_key(x, 1) < 0 || cutting_key(y, 0) < 0) return false;
    const tra_catalog *p = x->type->cat, *q = y->type->cat;
    return p->bound.v[1] == q->bound.v[0] && p->frontier.v[cutting_key(x, 1)] == q->frontier.v[cutting_key(y, 0)];
}

static void draw_join(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)], *y = &g->v[r->in[1] = any(g)];
    int64_t l[TRA_MAXDIM], m[TRA_MAXDIM];
    int n = 0, kx = keys(x), ky = keys(y);
    int64_t how = rng_below(&g->g, 100);
    tra_str tail = {0}, json = {0};
    kern k = {0};
    for (int tries = 0; tries < 8 && how < 40 && !multiply(x, y); tries++) {
        x = &g->v[r->in[0] = any(g)];
        y = &g->v[r->in[1] = (int)rng_below(&g->g, g->n)];
        kx = keys(x);
        ky = keys(y);
    }
    if (how < 40 && multiply(x, y)) { /* a product */
        l[0] = cutting_key(x, 1);
        m[0] = cutting_key(y, 0);
        n = 1;
        kern_named(&k, "matmul");
    } else if (how < 75 && kx == ky) { /* key by key */
        n = kx;
        choose(g, n, n, l);
        if (rng_chance(&g->g, 70)) sort(n, l);
        for (int i = 0; i < n; i++) m[i] = l[i];
    } else if (how < 90) { /* the last keys of both, as arrays of different rank are stretched */
        n = kx < ky ? kx : ky;
        for (int i = 0; i < n; i++) {
            l[i] = kx - n + i;
            m[i] = ky - n + i;
        }
    } else {
        n = (int)rng_below(&g->g, (kx < ky ? kx : ky) + 1);
        choose(g, kx, n, l);
        choose(g, ky, n, m);
    }
    if (!k.text.n) draw_join_kernel(g, rank(x), rank(y), &k);
    tra_str_add(&tail, ", ");
    append_list(&tail, n, l);
    tra_str_add(&tail, ", ");
    append_list(&tail, n, m);
    tra_str_add(&json, ",\"l\":");
    append_list(&json, n, l);
    tra_str_add(&json, ",\"r\":");
    append_list(&json, n, m);
    r->fn = "join";
    with_kernel(g, r, &tail, &json, &k);
}

static void draw_agg(gen *g, relation *r, int from) {
    const relation *x = &g->v[r->in[0] = from];
    int64_t group[TRA_MAXDIM];
    int n = (int)rng_below(&g->g, keys(x) + 1);
    choose(g, keys(x), n, group);
    if (rng_chance(&g->g, 60)) sort(n, group);
    tra_str tail = {0}, json = {0};
    kern k = {0};
    tra_str_add(&tail, ", ");
    append_list(&tail, n, group);
    tra_str_add(&json, ",\"group\":");
    append_list(&json, n, group);
    draw_agg_kernel(g, rank(x), &k);
    r->fn = "agg";
    with_kernel(g, r, &tail, &json, &k);
}

/* After a product, the aggregation that completes it. */
static bool draw_sum(gen *g, relation *r) {
    relation *x = &g->v[g->n - 1];
    if (!x->fn || strcmp(x->fn, "join") || !strstr(x->tail, "matmul") || keys(x) < 2) return false;
    int64_t group[TRA_MAXDIM], n = 0;
    int64_t drop = g->v[x->in[0]].type->cat->frontier.n == keys(x) ? keys(x) - 1 : cutting_key(&g->v[x->in[0]], 1);
    for (int d = 0; d < keys(x); d++)
        if (d != drop) group[n++] = d;
    tra_str tail = {0};
    tra_str_add(&tail, ", ");
    append_list(&tail, (int)n, group);
    tra_str json = {0};
    tra_str_add(&json, ",\"group\":");
    append_list(&json, (int)n, group);
    kern k = {0};
    kern_named(&k, "matadd");
    r->in[0] = g->n - 1;
    r->fn = "agg";
    with_kernel(g, r, &tail, &json, &k);
    return true;
}

static void draw_rekey(gen *g, relation *r) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const relation *x = &g->v[r->in[0] = any(g)];
    int k = keys(x) < 8 ? keys(x) : 8;
    tra_str tail = {0}, json = {0}, expr[10] = {{0}}, jexpr[10] = {{0}};
    int n = 0;
    int64_t perm[TRA_MAXDIM];
    choose(g, k, k, perm);
    for (int i = 0; i < k; i++) {
        int v = (int)perm[i];
        int64_t f = x->type->cat->frontier.v[v], how = rng_below(&g->g, 100), c = rng_range(&g->g, 1, 3);
        if (how < 50) {
            tra_str_add(&expr[n], names[v]);
            tra_str_printf(&jexpr[n++], "[\"x\",%d]", v);
        } else if (how < 60) {
            tra_str_printf(&expr[n], "%s + %" PRId64, names[v], c);
            tra_str_printf(&jexpr[n++], "[\"+\",[\"x\",%d],%" PRId64 "]", v, c);
        } else if (how < 67) {
            tra_str_printf(&expr[n], "%" PRId64 "*%s", c, names[v]);
            tra_str_printf(&jexpr[n++], "[\"*\",%" PRId64 ",[\"x\",%d]]", c, v);
        } else if (how < 74) { /* backwards */
            tra_str_printf(&expr[n], "%" PRId64 " - %s", tra_max64(f - 1, 0), names[v]);
            tra_str_printf(&jexpr[n++], "[\"-\",%" PRId64 ",[\"x\",%d]]", tra_max64(f - 1, 0), v);
        } else if (how < 84 && n < 8) { /* split in two */
            tra_str_printf(&expr[n], "%s / %" PRId64, names[v], c);
            tra_str_printf(&jexpr[n++], "[\"/\",[\"x\",%d],%" PRId64 "]", v, c);
            tra_str_printf(&expr[n], "%s %% %" PRId64, names[v], c);
            tra_str_printf(&jexpr[n++], "[\"%%\",[\"x\",%d],%" PRId64 "]", v, c);
        } else if (how < 92 && i + 1 < k) { /* two in one */
            int w = (int)perm[++i];
            tra_str_printf(&expr[n], "%s*%" PRId64 "+%s", names[v], x->type->cat->frontier.v[w], names[w]);
            tra_str_printf(&jexpr[n++], "[\"+\",[\"*\",[\"x\",%d],%" PRId64 "],[\"x\",%d]]", v,
                           x->type->cat->frontier.v[w], w);
        } else if (how < 94) { /* often refused by the type checker */
            random_key_expr(&g->g, g->a, k, names, 2, false, &expr[n], &jexpr[n]);
            n++;
        } else if (f == 1) { /* dropped */
        } else {
            tra_str_add(&expr[n], names[v]);
            tra_str_printf(&jexpr[n++], "[\"x\",%d]", v);
        }
    }
    if (n < 8 && rng_chance(&g->g, k ? 5 : 60)) {
        tra_str_add(&expr[n], "0");
        tra_str_add(&jexpr[n++], "0");
    }
    tra_str_add(&tail, ", (");
    for (int i = 0; i < keys(x); i++) tra_str_printf(&tail, "%s%s", i ? "," : "", i < 8 ? names[i] : "z");
    tra_str_add(&tail, ") -> (");
    tra_str_add(&json, ",\"key\":[");
    for (int i = 0; i < n; i++) {
        tra_str_printf(&tail, "%s%s", i ? ", " : "", tra_str_get(&expr[i]));
        tra_str_printf(&json, "%s%s", i ? "," : "", tra_str_get(&jexpr[i]));
        tra_str_free(&expr[i]);
        tra_str_free(&jexpr[i]);
    }
    tra_str_add(&tail, ")");
    tra_str_add(&json, "]");
    r->fn = "rekey";
    r->tail = keep_text(g, &tail);
    r->json = keep_text(g, &json);
}

static void draw_filter(gen *g, relation *r, int from) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    const relation *x = &g->v[r->in[0] = from];
    int k = keys(x);
    tra_str tail = {0}, json = {0};
    tra_str_add(&tail, ", (");
    for (int i = 0; i < k; i++) tra_str_printf(&tail, "%s%s", i ? ", " : "", names[i % 8]);
    tra_str_add(&tail, ") -> ");
    tra_str_add(&json, ",\"keep\":");
    if (k >= 2 && rng_chance(&g->g, 15)) {
        tra_str_add(&tail, "i != j");
        tra_str_add(&json, "[\"!=\",[\"x\",0],[\"x\",1]]");
    } else if (k && rng_chance(&g->g, 50)) { /* a condition that keeps most of it */
        int64_t v = rng_below(&g->g, k < 8 ? k : 8), f = x->type->cat->frontier.v[v],
                c = rng_below(&g->g, tra_max64(f, 1));
        const char *op = PICK(g, "<=", "!=", ">=");
        bool param = g->params && rng_chance(&g->g, 50);
        if (param) c = g->most;
        if (param)
            tra_str_printf(&tail, "%s %s most", names[v], op);
        else
            tra_str_printf(&tail, "%s %s %" PRId64, names[v], op, c);
        tra_str_printf(&json, "[\"%s\",[\"x\",%" PRId64 "],%" PRId64 "]", op, v, c);
    } else {
        random_key_expr(&g->g, g->a, k < 8 ? k : 8, names, 2, true, &tail, &json);
    }
    r->fn = "filter";
    r->tail = keep_text(g, &tail);
    r->json = keep_text(g, &json);
}

/* Keeps, of a relation whose arrays are clipped along two dimensions, those that are clipped along one of them: when
 * they are aggregated, the result has elements that none of them covers. */
static bool draw_edges(gen *g, relation *r) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o"};
    int from = (int)rng_below(&g->g, g->n), at[2], n = 0;
    for (int t = 0; t < g->n && n < 2; t++, from = (from + 1) % g->n) {
        const tra_catalog *c = g->v[from].type->cat;
        n = 0;
        for (int d = 0; d < c->bound.n && n < 2 && c->grid; d++)
            if (c->by[d] >= 0 && c->last[d] < c->bound.v[d] && (!n || c->by[d] != at[0])) at[n++] = c->by[d];
        if (n == 2) r->in[0] = from;
    }
    if (n < 2) return false;
    const tra_catalog *c = g->v[r->in[0]].type->cat;
    tra_str tail = {0}, json = {0};
    tra_str_add(&tail, ", (");
    for (int d = 0; d < c->frontier.n; d++) tra_str_printf(&tail, "%s%s", d ? "," : "", names[d]);
    int64_t x = c->frontier.v[at[0]] - 1, y = c->frontier.v[at[1]] - 1;
    tra_str_printf(&tail, ") -> (%s == %" PRId64 ") != (%s == %" PRId64 ")", names[at[0]], x, names[at[1]], y);
    tra_str_printf(&json, ",\"keep\":[\"!=\",[\"==\",[\"x\",%d],%" PRId64 "],[\"==\",[\"x\",%d],%" PRId64 "]]", at[0],
                   x, at[1], y);
    r->fn = "filter";
    r->tail = keep_text(g, &tail);
    r->json = keep_text(g, &json);
    return true;
}

/* Then aggregates all of them. */
static void draw_whole(gen *g, relation *r) {
    tra_str tail = {0}, json = {0};
    kern k = {0};
    kern_named(&k, PICK(g, "elemmax", "elemmin", "elemmul", "matadd"));
    tra_str_add(&tail, ", []");
    tra_str_add(&json, ",\"group\":[]");
    r->in[0] = g->n - 1;
    r->fn = "agg";
    with_kernel(g, r, &tail, &json, &k);
}

static void draw_transform(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)];
    tra_str tail = {0}, json = {0};
    kern k = {0};
    draw_map(g, rank(x), NULL, &k);
    r->fn = "transform";
    with_kernel(g, r, &tail, &json, &k);
}

static bool draw_tile(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)];
    if (!rank(x)) return false;
    int64_t dim = rng_below(&g->g, rank(x)), size = rng_range(&g->g, 1, tra_max64(1, x->type->cat->bound.v[dim]));
    r->fn = "tile";
    r->tail = tra_arena_printf(g->a, ", %" PRId64 ", %" PRId64, dim, size);
    r->json = tra_arena_printf(g->a, ",\"dim\":%" PRId64 ",\"size\":%" PRId64, dim, size);
    return true;
}

static bool draw_concat(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)];
    if (!rank(x) || !keys(x)) return false;
    int64_t dim = rng_below(&g->g, rank(x)), keydim = rng_below(&g->g, keys(x));
    if (rng_chance(&g->g, 60) && cutting_key(x, (int)dim) >= 0) keydim = cutting_key(x, (int)dim);
    r->fn = "concat";
    r->tail = tra_arena_printf(g->a, ", %" PRId64 ", %" PRId64, keydim, dim);
    r->json = tra_arena_printf(g->a, ",\"keydim\":%" PRId64 ",\"dim\":%" PRId64, keydim, dim);
    return true;
}

static bool draw_repart(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)];
    if (!rank(x) || rank(x) != keys(x)) return false;
    int64_t v[TRA_MAXDIM];
    bool blocks = rng_chance(&g->g, 50);
    for (int d = 0; d < rank(x); d++)
        v[d] = blocks && rng_chance(&g->g, 40) ? g->block[rng_below(&g->g, 4)] : rng_range(&g->g, 1, 5);
    tra_str tail = {0}, json = {0};
    tra_str_add(&tail, ", ");
    append_list(&tail, rank(x), v);
    tra_str_printf(&json, ",\"%s\":", blocks ? "blocks" : "parts");
    append_list(&json, rank(x), v);
    r->fn = blocks ? "reblock" : "repart";
    r->tail = keep_text(g, &tail);
    r->json = keep_text(g, &json);
    return true;
}

const char *const drawn_names[DRAWN] = {"input",     "join",   "agg",    "rekey",   "filter", "transform",
                                        "tile",      "concat", "repart", "reblock", "einsum", "softmax",
                                        "transpose", "tensor", "store",  "slice",   "stack",  "topk"};

/* Ranges of a tensor, of which some are of one position, or go to its ends. */
static bool draw_slice(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)];
    tra_dims shape;
    if (!rank(x) || rank(x) != keys(x)) return false;
    tra_type_shape(x->type, &shape);
    tra_str tail = {0}, json = {0};
    for (int d = 0; d < shape.n; d++) {
        int64_t n = shape.v[d], from = n > 0 ? rng_below(&g->g, n) : 0, to = n > 0 ? rng_range(&g->g, from + 1, n) : 0;
        bool begin = rng_chance(&g->g, 30), end = rng_chance(&g->g, 30);
        if (begin) from = 0;
        if (end) to = n;
        tra_str_add(&tail, d ? ", " : ", [");
        if (!begin) tra_str_printf(&tail, "%" PRId64, from);
        tra_str_add(&tail, ":");
        if (!end) tra_str_printf(&tail, "%" PRId64, to);
        tra_str_printf(&json, "%s[%" PRId64 ",%" PRId64 "]", d ? "," : ",\"ranges\":[", from, to);
    }
    tra_str_add(&tail, "]");
    tra_str_add(&json, "]");
    r->fn = "slice";
    r->tail = keep_text(g, &tail);
    r->json = keep_text(g, &json);
    return true;
}

/* Two tensors, one after the other, of any types. */
static bool draw_stack(gen *g, relation *r) {
    for (int tries = 0; tries < 8; tries++) {
        const relation *x = &g->v[r->in[0] = any(g)], *y = &g->v[r->in[1] = (int)rng_below(&g->g, g->n)];
        tra_dims a, b;
        if (!rank(x) || rank(x) != keys(x) || rank(y) != rank(x) || keys(y) != rank(x)) continue;
        tra_type_shape(x->type, &a);
        tra_type_shape(y->type, &b);
        int64_t dim = rng_below(&g->g, a.n);
        bool fits = true;
        for (int d = 0; d < a.n; d++) fits &= d == dim || a.v[d] == b.v[d];
        if (!fits) continue;
        tra_str tail = {0}, json = {0};
        tra_str_printf(&tail, ", %" PRId64, dim);
        tra_str_printf(&json, ",\"dim\":%" PRId64, dim);
        r->fn = "stack";
        r->tail = keep_text(g, &tail);
        r->json = keep_text(g, &json);
        return true;
    }
    return false;
}

/* The k greatest or least elements of each row and their places, as two relations: r[0] and r[1]. */
static bool draw_top(gen *g, relation *r) {
    const relation *x = &g->v[r->in[0] = any(g)];
    tra_dims shape;
    if (g->n + 2 > MAXREL || !rank(x) || rank(x) != keys(x)) return false;
    tra_type_shape(x->type, &shape);
    int64_t m = shape.v[shape.n - 1], k = m > 0 ? rng_range(&g->g, 1, rng_chance(&g->g, 20) ? m : tra_min64(m, 4)) : 1;
    bool least = rng_chance(&g->g, 50);
    r->fn = "topk";
    r->tail = tra_arena_printf(g->a, ", %" PRId64 "%s", k, least ? ", least" : "");
    for (int positions = 1; positions >= 0; positions--) {
        r[positions] = *r;
        r[positions].json = tra_arena_printf(g->a, ",\"k\":%" PRId64 ",\"least\":%s,\"positions\":%s", k,
                                             least ? "true" : "false", positions ? "true" : "false");
    }
    snprintf(r[1].name, sizeof r->name, "R%d", g->n + 1);
    r[1].second = true;
    return true;
}

static void draw_macro(gen *g, relation *r) {
    r->in[0] = any(g);
    r->fn = PICK(g, "softmax", "transpose");
    r->tail = r->json = "";
}

int draw(gen *g, relation *r) {
    memset(r, 0, sizeof *r);
    r->in[0] = r->in[1] = -1;
    snprintf(r->name, sizeof r->name, "R%d", g->n);
    int64_t c = rng_below(&g->g, 100);
    if (g->integers && !g->far && rng_chance(&g->g, 8)) return draw_tensor(g, r) ? 13 : -1;
    if (rng_chance(&g->g, 3)) return draw_store(g, r) ? 14 : -1;
    bool einsum = g->einsum && rng_chance(&g->g, 60), macro = einsum && rng_chance(&g->g, 15);
    if (!g->far && rng_chance(&g->g, 6)) return draw_slice(g, r) ? 15 : -1;
    if (!g->far && rng_chance(&g->g, 4)) return draw_stack(g, r) ? 16 : -1;
    if (rng_chance(&g->g, 5)) return draw_top(g, r) ? 17 : -1;
    if (macro) draw_macro(g, r);
    if (einsum && !macro && !draw_einsum(g, r)) return -1;
    if (!einsum && rng_chance(&g->g, 60) && draw_sum(g, r)) return 2;
    const relation *last = &g->v[g->n - 1];
    bool filtered = !einsum && last->fn && !strcmp(last->fn, "filter"),
         edges = filtered && strstr(last->tail, ") != (");
    if (edges && rng_chance(&g->g, 70)) {
        draw_whole(g, r);
        return 2;
    }
    if (filtered && rng_chance(&g->g, 40)) { /* groups of which some arrays are missing */
        draw_agg(g, r, g->n - 1);
        return 2;
    }
    if (!einsum && last->fn && !strcmp(last->fn, "agg") && strstr(last->tail, "index") && rng_chance(&g->g, 40)) {
        draw_filter(g, r, g->n - 1); /* which must not go below */
        return 4;
    }
    if (!einsum && rng_chance(&g->g, 5) && draw_edges(g, r)) return 4;
    if (einsum)
        ;
    else if (c < 32)
        draw_join(g, r);
    else if (c < 50)
        draw_agg(g, r, any(g));
    else if (c < 60)
        draw_rekey(g, r);
    else if (c < 68)
        draw_filter(g, r, any(g));
    else if (c < 80)
        draw_transform(g, r);
    else if (c < 86 ? !draw_tile(g, r) : c < 93 ? !draw_concat(g, r) : !draw_repart(g, r))
        return -1;
    for (int i = 1; i < DRAWN; i++)
        if (!strcmp(drawn_names[i], r->fn)) return i;
    return -1;
}
