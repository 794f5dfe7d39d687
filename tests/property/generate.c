/* generate.c - a random program: its inputs, its operators, its text.
 *
 * Operators are drawn one at a time on what the program has so far; what the type checker refuses is dropped. */
#include "generate.h"

#include "../../lib/storage/stored.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- inputs ------------------------------------------------------------------------------------------------- */

/* An integer of at most so many bits, many of fewer. */
static int64_t integer(gen *g, int bits) {
    int64_t v = (int64_t)(rng_next(&g->g) >> (64 - rng_range(&g->g, 1, bits)));
    return rng_chance(&g->g, 50) ? v : -v;
}

static double value(gen *g) {
    if (g->special && rng_chance(&g->g, 6)) {
        static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
        return odd[rng_below(&g->g, 4)];
    }
    return g->integers ? (double)rng_range(&g->g, -4, 4) : rng_normal(&g->g);
}

/* How many of an input's elements are entries, all others being 0. */
typedef struct density {
    double all;         /* the share of them */
    int empty;          /* per cent of the tuples, and of their rows, that have none */
    int64_t only, seen; /* only, if >= 0: the one element that is an entry; seen: elements so far */
    bool row;           /* the current row has none */
} density;

static density draw_density(gen *g, int64_t elements, bool stored) {
    density d = {.all = 1, .only = -1};
    if (rng_chance(&g->g, stored ? 15 : 70)) return d;
    static const double share[] = {0, 0.02, 0.1, 0.3, 0.7, 1};
    d.all = share[rng_below(&g->g, 6)];
    d.empty = rng_chance(&g->g, 50) ? 0 : (int)rng_range(&g->g, 10, 70);
    if (elements > 0 && rng_chance(&g->g, 15)) d.only = rng_below(&g->g, elements);
    return d;
}

static bool is_entry(gen *g, density *d, const tra_dims *ext, int64_t i) {
    if (i == 0 || (ext->n > 0 && i % ext->v[ext->n - 1] == 0)) d->row = rng_chance(&g->g, d->empty);
    if (d->only >= 0) return d->seen++ == d->only;
    return d->all == 1 ? !d->row : !d->row && (double)rng_below(&g->g, 10000) < d->all * 10000;
}

static ref_num element(gen *g, tra_dtype t, void *data, int64_t i, bool entry) {
    if (!entry) {
        memset((char *)data + (size_t)i * tra_dtype_size(t), 0, tra_dtype_size(t));
        return 0;
    }
    switch (t) {
    case TRA_F64: return ((double *)data)[i] = value(g);
    case TRA_F32: return ((float *)data)[i] = (float)value(g);
    case TRA_I64: return ((int64_t *)data)[i] = g->far ? integer(g, 62) : rng_range(&g->g, -4, 4);
    case TRA_I32: return ((int32_t *)data)[i] = (int32_t)(g->far ? integer(g, 31) : rng_range(&g->g, -4, 4));
    case TRA_BOOL: return ((uint8_t *)data)[i] = rng_chance(&g->g, 50);
    }
    return 0;
}

/* The catalog of a tensor in blocks of which some may be missing. */
static tra_status input_type(gen *g, const tra_dims *shape, const tra_dims *block, int holes, tra_type *t, tra_err *e) {
    tra_catalog *all = tra_new(g->a, tra_catalog), *some = tra_new(g->a, tra_catalog);
    TRA_TRY(tra_catalog_blocks(shape, block, all, e));
    for (int d = 0; d < shape->n; d++) t->cut[d] = 1u << d;
    t->cat = all;
    if (!holes || all->n < 2) return TRA_OK;
    tra_catbuilder *b = tra_catbuilder_new(shape->n, shape->n);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < all->n && s == TRA_OK; i++) {
        tra_dims key, ext;
        tra_catalog_key(all, i, &key);
        tra_catalog_ext(all, i, &ext);
        /* the last block is never missing: without it the file would have other extents */
        if (i < all->n - 1 && rng_chance(&g->g, holes)) continue;
        s = tra_catbuilder_add(b, &key, &ext, i, e);
    }
    if (s == TRA_OK)
        s = tra_catbuilder_finish(b, g->a, some, NULL, e);
    else
        tra_catbuilder_free(b);
    if (!some->grid) some->bound = all->bound; /* also when only clipped blocks are left */
    t->cat = some;
    return s;
}

/* Each tuple's array in a file as a whole. */
static tra_status write_dense(gen *g, const char *spec, const tra_type *t, const char *const *data, tra_err *e) {
    static const char *const codecs[] = {"none", "none", "zstd", "zstd:3"};
    tra_write_options o = {.history = rng_chance(&g->g, 50) ? "made by the property tests" : NULL};
    tra_writer *w;
    if (!tra_codec_parse(codecs[rng_below(&g->g, 4)], &o.codec)) return tra_fail(e, TRA_INTERNAL, "codec");
    TRA_TRY(tra_writer_create(spec, t, &o, &w, e));
    void *scratch = aligned_alloc(4096, (tra_writer_scratch_bytes(w) + 8191) / 4096 * 4096);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) s = tra_writer_put(w, i, data[i], scratch, e);
    free(scratch);
    if (s == TRA_OK) return tra_writer_commit(w, NULL, e);
    tra_writer_abort(w);
    return s;
}

/* Draws the elements, adds them to the JSON for the judge, and writes them. */
static tra_status write_input(gen *g, const char *file, const tra_type *t, bool stored, tra_str *json, tra_err *e) {
    const char *spec = tra_arena_printf(g->a, "%s/%s", g->dir, file);
    const char **data = tra_news(g->a, const char *, t->cat->n);
    const bool **entries = tra_news(g->a, const bool *, t->cat->n);
    density d = draw_density(g, tra_catalog_elements(t->cat), stored);
    tra_levels l;
    tra_str_add(json, "[");
    for (int64_t i = 0; i < t->cat->n; i++) {
        bool none = rng_chance(&g->g, d.empty);
        tra_dims key, ext;
        int64_t n = tra_catalog_elements_of(t->cat, i);
        double *v = tra_news(g->a, double, n);
        bool *entry = tra_news(g->a, bool, n);
        tra_catalog_key(t->cat, i, &key);
        tra_catalog_ext(t->cat, i, &ext);
        tra_str_add(json, i ? ",\n{\"key\":" : "{\"key\":");
        append_list(json, key.n, key.v);
        tra_str_add(json, ",\"ext\":");
        append_list(json, ext.n, ext.v);
        tra_str_add(json, ",\"data\":[");
        for (int64_t j = 0; j < n; j++) {
            entry[j] = is_entry(g, &d, &ext, j) && !none;
            if (j) tra_str_add(json, ",");
            json_number(json, t->dtype, element(g, t->dtype, v, j, entry[j]));
        }
        tra_str_add(json, "]}");
        data[i] = (const char *)v;
        entries[i] = entry;
    }
    tra_str_printf(json, "],\"sparse\":%s", stored ? "true" : "false");
    TRA_TRY(write_dense(g, tra_arena_printf(g->a, "%s/dense/%s", g->dir, file), t, data, e));
    if (!stored) return write_dense(g, spec, t, data, e);
    g->twin = true;
    int rank = t->cat->bound.n;
    bool one = t->cat->n == 1 && t->cat->grid && rank <= 3;
    for (int d = 0; d < rank; d++) one = one && t->cat->frontier.v[d] == 1;
    if (one && rng_chance(&g->g, 60)) return write_mapped(&g->g, spec, t, data[0], entries[0], g->a, e);
    if (!draw_levels(&g->g, t, &l)) return tra_fail(e, TRA_INTERNAL, "no levels for an input");
    return write_stored(spec, t, &l, data, entries, e);
}

static tra_status make_input(gen *g, int i, tra_dtype dtype, tra_err *e) {
    relation *r = &g->v[g->n];
    tra_dims shape = {0}, block = {0};
    static const int ranks[] = {0, 1, 1, 2, 2, 2, 2, 2, 3};
    shape.n = block.n = ranks[rng_below(&g->g, 9)];
    for (int d = 0; d < shape.n; d++) {
        int64_t k = rng_below(&g->g, 4);
        shape.v[d] = rng_chance(&g->g, 8) ? 1 : g->extent[k];
        if (shape.n == 3) shape.v[d] = tra_min64(shape.v[d], 32);
        block.v[d] = rng_chance(&g->g, 85) ? g->block[k] : rng_range(&g->g, 1, 6);
        block.v[d] = tra_max64(1, tra_min64(block.v[d], shape.v[d]));
    }
    for (int d = 0; d < shape.n; d++) /* not too many tuples */
        if (shape.n == 3 || g->large) block.v[d] = tra_max64(block.v[d], tra_ceil_div(shape.v[d], 5));
    bool whole = rng_chance(&g->g, 10); /* in one block, as mappings are */
    for (int d = 0; d < shape.n && whole; d++) block.v[d] = tra_max64(1, shape.v[d]);
    tra_type t = {.dtype = dtype};
    TRA_TRY(input_type(g, &shape, &block, rng_chance(&g->g, 12) ? 30 : 0, &t, e));
    snprintf(r->name, sizeof r->name, "%c", 'A' + i);
    r->in[0] = r->in[1] = -1;
    bool named = rng_chance(&g->g, 25);
    const char *file = tra_arena_printf(g->a, "%s.h5%s", r->name, named ? ":some" : "");
    tra_str at = {0};
    if (rng_chance(&g->g, 35)) {
        int64_t dims[TRA_MAXDIM], n = 0;
        for (int d = 0; d < shape.n; d++)
            if (rng_chance(&g->g, 60)) dims[n++] = d;
        if (n) {
            tra_str_add(&at, " at part(");
            for (int64_t d = 0; d < n; d++) tra_str_printf(&at, "%s%" PRId64, d ? ", " : "", dims[d]);
            tra_str_add(&at, ")");
        } else {
            tra_str_add(&at, rng_chance(&g->g, 50) ? " at all" : " at any");
        }
    }
    r->input = tra_arena_printf(g->a, "input %s from \"%s\"%s", r->name, file, tra_str_get(&at));
    tra_str_free(&at);
    tra_str_printf(g->judge,
                   "%s{\"name\":\"%s\",\"dtype\":\"%s\",\"keys\":%d,\"rank\":%d,\"bound\":", g->n ? ",\n" : "", r->name,
                   tra_dtype_name(dtype), shape.n, shape.n);
    append_list(g->judge, shape.n, t.cat->bound.v);
    tra_str_add(g->judge, ",\"tuples\":");
    tra_levels any;
    bool stored = rng_chance(&g->g, 40) && draw_levels(&g->g, &t, &any);
    TRA_TRY(write_input(g, file, &t, stored, g->judge, e));
    tra_str_add(g->judge, "}");
    g->n++;
    return TRA_OK;
}

/* ---- text --------------------------------------------------------------------------------------------------- */

static const char *gap(gen *g) {
    return rng_chance(&g->g, 90) ? "" : PICK(g, "\n    ", "  ", " # a remark, with \"quotes\" and (brackets\n", "\t");
}

static void write_expr(gen *g, int i, tra_str *out) {
    const relation *r = &g->v[i];
    tra_str_printf(out, "%s(%s", r->fn, gap(g));
    for (int p = 0; p < 2 && r->in[p] >= 0; p++) {
        const relation *x = &g->v[r->in[p]];
        if (p) tra_str_printf(out, ",%s", rng_chance(&g->g, 70) ? " " : gap(g));
        if (x->inlined)
            write_expr(g, r->in[p], out);
        else
            tra_str_add(out, x->name);
    }
    tra_str_printf(out, "%s%s)", r->tail, gap(g));
}

/* The program; plain: every relation has its name, and there are no outputs yet. */
static void write_program(gen *g, bool plain, tra_str *out) {
    if (!plain && rng_chance(&g->g, 30)) tra_str_add(out, "tra 1\n");
    if (g->stores) tra_str_add(out, drawn_storages);
    if (g->params) tra_str_printf(out, "param eta = %.17g\nparam most = %" PRId64 "\n", g->eta, g->most);
    for (int i = 0; i < g->n; i++) {
        const relation *r = &g->v[i];
        const char *end = plain || rng_chance(&g->g, 80) ? "\n" : PICK(g, "; ", "  # a remark\n", "\n\n", " ;\n");
        if (r->input) {
            tra_str_printf(out, "%s%s", r->input, end);
        } else if (r->nrefs) {
            tra_str_printf(out, "%s%s%s%s", strcmp(r->fn, "tensor") ? "" : "tensor ", r->name, r->tail, end);
        } else if (!r->inlined && !r->second) {
            bool two = i + 1 < g->n && g->v[i + 1].second;
            tra_str_printf(out, two ? "%s, %s = " : "%s = ", r->name, g->v[i + two].name);
            write_expr(g, i, out);
            tra_str_add(out, end);
        }
    }
    for (int i = 0; i < g->n && !plain; i++)
        if (g->v[i].output && g->v[i].input)
            tra_str_printf(out, "output %s to \"out_%s.h5\"\n", g->v[i].name, g->v[i].name);
        else if (g->v[i].output)
            tra_str_printf(out, "output %s\n", g->v[i].name);
}

static tra_status build(const char *dir, const char *text, tra_arena *a, tra_graph **out, tra_err *e) {
    tra_script *src = tra_new(a, tra_script);
    *src = (tra_script){.name = "prog.tra", .text = text, .n = (int)strlen(text)};
    tra_diags *d = tra_new(a, tra_diags);
    *d = (tra_diags){.arena = a, .src = src};
    *out = NULL;
    tra_status s = tra_graph_build(src, &(tra_building){.dir = dir}, a, d, out, e);
    if (s != TRA_OK && *out) {
        tra_graph_close(*out);
        *out = NULL;
    }
    if (s == TRA_OK || !d->errors) return s;
    tra_str msg = {0};
    tra_err mine = {0};
    tra_diags_print(d, false, &msg);
    *e = mine; /* the diagnostics, not their number alone */
    s = tra_fail(e, s, "%s", tra_str_get(&msg));
    tra_str_free(&msg);
    return s;
}

tra_status load(const char *dir, tra_arena *a, tra_graph **out, tra_err *e) {
    char *text, *path = tra_asprintf("%s/prog.tra", dir);
    size_t n;
    tra_status s = tra_slurp(path, 1 << 20, &text, &n, e);
    free(path);
    if (s != TRA_OK) return s;
    const char *mine = tra_arena_strndup(a, text, n);
    free(text);
    return build(dir, mine, a, out, e);
}

/* ---- programs ----------------------------------------------------------------------------------------------- */

/* The types of what there is so far, with v[n] as the newest. TRA_PROGRAM when refused. */
static tra_status retype(gen *g, tra_err *e) {
    tra_str text = {0};
    write_program(g, true, &text);
    tra_script src = {.name = "prog.tra", .text = text.s, .n = (int)text.n};
    tra_diags d = {.arena = g->a, .src = &src};
    tra_ast_program tree = {0};
    tra_parse(&src, g->a, &d, &tree);
    if (d.errors) {
        tra_str msg = {0};
        tra_diags_print(&d, false, &msg);
        tra_status s = tra_fail(e, TRA_INTERNAL, "a program that is right does not parse:\n%s", tra_str_get(&msg));
        tra_str_free(&msg);
        tra_str_free(&text);
        return s;
    }
    tra_graph *graph;
    const char *mine = keep_text(g, &text);
    TRA_TRY(build(g->dir, mine, g->a, &graph, e));
    tra_status s = TRA_OK;
    for (int i = 0; i < graph->n && s == TRA_OK; i++) { /* also intermediate results of EinSum statements */
        const tra_catalog *c = graph->v[i]->type.cat;
        bool named = graph->v[i]->name;
        int64_t most = g->large ? MANYFLOATS : MAXFLOATS;
        if (c->n > MAXTUPLES || tra_catalog_elements(c) > most) s = tra_fail(e, TRA_PROGRAM, "too large");
        if (c->frontier.n + c->bound.n > (named ? 7 : 9)) s = tra_fail(e, TRA_PROGRAM, "too many dimensions");
    }
    if (s != TRA_OK) {
        tra_graph_close(graph);
        return s;
    }
    if (g->graph) tra_graph_close(g->graph);
    g->graph = graph;
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < graph->nnames; j++)
            if (!strcmp(graph->names[j].name, g->v[i].name)) g->v[i].type = &graph->names[j].node->type;
    return TRA_OK;
}

static int operands(const relation *r) { return r->nrefs ? r->nrefs : (r->in[0] >= 0) + (r->in[1] >= 0); }
static int operand(const relation *r, int p) { return r->nrefs ? r->refs[p] : r->in[p]; }

static void judge_operators(gen *g) {
    tra_str_add(g->judge, "],\n\"operators\":[");
    bool first = true;
    for (int i = 0; i < g->n; i++) {
        const relation *r = &g->v[i];
        if (!r->fn) continue;
        tra_str_printf(g->judge, "%s{\"name\":\"%s\",\"op\":\"%s\",\"in\":[", first ? "" : ",\n", r->name, r->fn);
        for (int p = 0; p < operands(r); p++)
            tra_str_printf(g->judge, "%s\"%s\"", p ? "," : "", g->v[operand(r, p)].name);
        tra_str_printf(g->judge, "]%s,\"bound\":", r->json); /* the planner chooses the blocks of a statement */
        append_list(g->judge, r->type->cat->bound.n, r->type->cat->bound.v);
        tra_str_add(g->judge, "}");
        first = false;
    }
    tra_str_add(g->judge, "]");
}

/* Notes the kernels of a program that is kept. */
static void note_kernels(counts *c, const relation *r) {
    char name[64];
    for (const char *s = r->json ? strstr(r->json, "\"kernel\":") : NULL; s && (s = strchr(s, '"')); s++) {
        size_t n = strspn(s + 1, "abcdefghijklmnopqrstuvwxyz_");
        if (!n || n > 40 || s[1 + n] != '"') continue;
        snprintf(name, sizeof name, " %.*s ", (int)n, s + 1);
        if (!strstr(c->kernels, name) && strlen(c->kernels) + n + 3 < sizeof c->kernels) strcat(c->kernels, name);
    }
}

static tra_status make(gen *g, tra_err *e) {
    static const int64_t extents[] = {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13}, large[] = {37, 48, 50, 61};
    int inputs = (int)rng_range(&g->g, 1, 3), wanted = (int)rng_range(&g->g, 1, 8);
    static const char *const some[] = {"0",  "0", "0", "0", "0",  "1",  "1",     "01",
                                       "01", "2", "2", "3", "24", "02", "01234", "01234"};
    const char *types = some[rng_below(&g->g, 16)]; /* digits of tra_dtype */
    g->far = rng_chance(&g->g, 15);
    g->integers = rng_chance(&g->g, 60);
    g->special = rng_chance(&g->g, 10);
    g->einsum = rng_chance(&g->g, 40);
    g->params = rng_chance(&g->g, 25);
    g->eta = g->integers ? (double)rng_range(&g->g, -2, 3) : (double)rng_range(&g->g, -9, 9) / 4;
    g->most = rng_below(&g->g, 3);
    g->large = rng_chance(&g->g, 8);
    for (int d = 0; d < 4; d++) {
        int64_t extent = g->large ? large[rng_below(&g->g, 4)] : extents[rng_below(&g->g, 11)];
        g->extent[d] = rng_chance(&g->g, 2) ? 0 : rng_chance(&g->g, 8) ? 1 : extent;
        g->block[d] = g->large ? rng_range(&g->g, 9, 16) : rng_range(&g->g, 1, 5);
    }
    for (int i = 0; i < inputs; i++)
        TRA_TRY(make_input(g, i, (tra_dtype)(types[rng_below(&g->g, (int64_t)strlen(types))] - '0'), e));
    TRA_TRY(retype(g, e));
    for (int tries = 0; tries < 60 && g->n < inputs + wanted; tries++) {
        relation *r = &g->v[g->n];
        tra_err refused = {0};
        int op = draw(g, r);
        if (op < 0) continue;
        g->c->drawn[op]++;
        int results = !strcmp(r->fn, "topk") ? 2 : 1;
        g->n += results;
        tra_status s = retype(g, &refused);
        if (s == TRA_PROGRAM) {
            if (getenv("TRA_PROPERTY_REFUSED")) printf("# %s(...%s): %s\n", r->fn, r->tail, refused.msg);
            g->n -= results;
            continue;
        }
        if (s != TRA_OK) {
            *e = refused;
            return s;
        }
        g->c->kept[op]++;
        note_kernels(g->c, r);
    }
    for (int i = 0; i < g->n; i++)
        for (int p = 0; p < operands(&g->v[i]); p++) { /* what a statement refers to needs its name */
            relation *x = &g->v[operand(&g->v[i], p)];
            x->uses++;
            x->labelled |= g->v[i].nrefs > 0;
        }
    for (int i = 0; i < g->n; i++) {
        relation *r = &g->v[i];
        r->output = (r->fn && !r->uses) || i == g->n - 1 || rng_chance(&g->g, 10);
        bool two = r->fn && !strcmp(r->fn, "topk");
        r->inlined = r->fn && !r->nrefs && !two && !r->labelled && r->uses == 1 && !r->output && rng_chance(&g->g, 40);
    }
    return TRA_OK;
}

static tra_status put_text(gen *g, const char *name, const tra_str *text, tra_err *e) {
    const char *path = tra_arena_printf(g->a, "%s/%s", g->dir, name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(tra_str_get(text), 1, text->n, f) != text->n || fclose(f))
        return tra_fail_errno(e, TRA_RESOURCE, "%s", path);
    return TRA_OK;
}

tra_status generate(uint64_t seed, uint64_t index, const char *dir, tra_str *judge, counts *c, tra_err *e) {
    gen *g = tra_calloc(1, sizeof *g);
    g->g = rng_seed(seed, index);
    g->a = tra_arena_new();
    g->dir = dir;
    g->c = c;
    g->judge = judge;
    tra_str_printf(judge, "{\"seed\":%" PRIu64 ",\"index\":%" PRIu64 ",\"inputs\":[", seed, index);
    const char *dense = tra_arena_printf(g->a, "%s/dense", dir);
    tra_status s = mkdir(dense, 0777) && errno != EEXIST ? tra_fail_errno(e, TRA_RESOURCE, "%s", dense) : make(g, e);
    if (s == TRA_OK) {
        tra_str text = {0};
        write_program(g, false, &text);
        s = put_text(g, "prog.tra", &text, e);
        if (s == TRA_OK && g->twin) s = put_text(g, "dense/prog.tra", &text, e);
        tra_str_free(&text);
        judge_operators(g);
    }
    if (g->graph) tra_graph_close(g->graph);
    tra_arena_free(g->a);
    free(g);
    return s;
}
