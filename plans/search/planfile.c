/* planfile.c - writing, reading and checking plan files. */
#include "planfile.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "../../lib/relation/stand_in.h"
#include "../ia/ia.h"
#include "cost.h"

enum { FORMAT = 1 };
static const char magic[] = "tra plan ";

bool tra_planfile_sniff(const char *text, size_t n) {
    return n >= strlen(magic) && memcmp(text, magic, strlen(magic)) == 0;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

static void put_text(tra_str *out, const char *key, const char *text, size_t n) {
    tra_str_printf(out, "%s %zu\n", key, n);
    tra_str_addn(out, text, n);
    tra_str_add(out, "\n");
}

/* The absolute path; a ":name" after it is kept. */
static char *absolute(tra_arena *a, const char *path) {
    char cwd[PATH_MAX];
    if (*path == '/' || strstr(path, "://") || !getcwd(cwd, sizeof cwd)) return tra_arena_printf(a, "%s", path);
    if (strcmp(path, ".") == 0) return tra_arena_printf(a, "%s", cwd);
    return tra_arena_printf(a, "%s/%s", strcmp(cwd, "/") ? cwd : "", path);
}

/* A definition that rebinds an input or an output names a file relative to the working directory. */
static const char *absolute_define(tra_arena *a, const tra_graph *g, const char *define) {
    const char *eq = strchr(define, '=');
    for (int i = 0; eq && i < g->noutputs; i++) {
        const char *name = g->outputs[i].name;
        if (strlen(name) == (size_t)(eq - define) && memcmp(name, define, strlen(name)) == 0)
            return tra_arena_printf(a, "%s=%s", name, absolute(a, eq + 1));
    }
    for (int i = 0; eq && i < g->n; i++) {
        const tra_node *n = g->v[i];
        if (n->op != TRA_OP_INPUT || !n->name || strlen(n->name) != (size_t)(eq - define)) continue;
        if (memcmp(n->name, define, (size_t)(eq - define)) != 0) continue;
        return tra_arena_printf(a, "%s=%s", n->name, absolute(a, eq + 1));
    }
    return define;
}

void tra_planfile_print(const char *path, const tra_job *job, const tra_request *r, const char *tree, tra_str *out) {
    const tra_graph *g = job->program.graph;
    const tra_plan_options *o = &job->options;
    tra_arena *a = job->program.arena;
    size_t from = out->n;
    const char *dir = absolute(a, tra_program_dir(a, path));
    tra_str_printf(out, "%s%d\nversion %s\n", magic, FORMAT, TRA_VERSION);
    tra_str_printf(out, "sites %d\nmemory %" PRId64 "\ncost %s\noptimizer %s\nthreads %d\n", o->sites, o->memory,
                   tra_cost_model_text(o->cost), tra_optimizer_text(o->optimizer), o->threads);
    if (o->compress) tra_str_printf(out, "compress %d\n", o->compress);
    if (o->reproducible) tra_str_add(out, "reproducible 1\n");
    if (o->without || o->without_rules) tra_str_printf(out, "without %s\n", tra_plan_without_text(o, a));
    tra_str_add(out, "rates");
#define X(member, name) tra_str_printf(out, " %.17g", o->rates.member);
    TRA_RATES(X)
    TRA_UNHIDDEN(X)
#undef X
    tra_str_printf(out, "\nrank %d\ndigest %016" PRIx64 "\n", job->plan->rank, tra_plan_digest(job->plan));
    put_text(out, "strategy", job->plan->strategy, strlen(job->plan->strategy));
    for (int i = 0; i < r->ndefines; i++) {
        const char *d = absolute_define(a, g, r->defines[i]);
        put_text(out, "define", d, strlen(d));
    }
    for (int i = 0; i < g->n; i++) {
        if (g->v[i]->op != TRA_OP_INPUT || !g->v[i]->rel || tra_is_intermediate(g->v[i]->path)) continue;
        const char *file = absolute(a, g->v[i]->path), *id = tra_rel_identity(g->v[i]->rel, a);
        put_text(out, "input", g->v[i]->name, strlen(g->v[i]->name));
        put_text(out, "path", file, strlen(file));
        put_text(out, "identity", id, strlen(id));
    }
    put_text(out, "directory", dir, strlen(dir));
    put_text(out, "source", job->program.src.name, strlen(job->program.src.name));
    put_text(out, "program", job->program.src.text, (size_t)job->program.src.n);
    put_text(out, "tree", tree, strlen(tree));
    tra_str_printf(out, "checksum %016" PRIx64 "\n", (uint64_t)XXH64(tra_str_get(out) + from, out->n - from, 0));
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

typedef struct reader {
    const char *name, *text;
    size_t n, at;
    tra_arena *a;
    tra_planfile *f;
    unsigned seen; /* of the keys that stand once */
} reader;

static tra_status damaged(const reader *r, tra_err *e) {
    int line = 1;
    for (size_t i = 0; i < r->at && i < r->n; i++) line += r->text[i] == '\n';
    return tra_fail(e, TRA_INPUT, "%s is damaged at line %d: compile the program again", r->name, line);
}

static tra_status get_text(reader *r, const char *value, const char **out, size_t *size, tra_err *e) {
    int64_t n;
    if (!tra_parse_int(value, &n) || n < 0 || (uint64_t)n >= r->n - r->at || r->text[r->at + (size_t)n] != '\n' ||
        memchr(r->text + r->at, 0, (size_t)n))
        return damaged(r, e);
    *out = tra_arena_strndup(r->a, r->text + r->at, (size_t)n);
    if (size) *size = (size_t)n;
    r->at += (size_t)n + 1;
    return TRA_OK;
}

static bool get_int(const char *value, int64_t min, int64_t max, int64_t *v) {
    return tra_parse_int(value, v) && *v >= min && *v <= max;
}

static bool get_hex(const char *value, uint64_t *v) {
    char *end;
    if (strlen(value) != 16 || strspn(value, "0123456789abcdef") != 16) return false;
    *v = strtoull(value, &end, 16);
    return *end == 0;
}

/* The next of several numbers. */
static bool get_rate(const char **at, double *v) {
    char *end;
    *v = strtod(*at, &end);
    bool ok = end > *at && isfinite(*v) && *v >= 0;
    *at = end;
    return ok;
}

static bool get_rates(const char *value, tra_rates *rates) {
#define X(member, name)                                                                                                \
    if (!get_rate(&value, &rates->member)) return false;
    TRA_RATES(X)
#undef X
#define X(member, name)                                                                                                \
    if (!get_rate(&value, &rates->member) || rates->member > 1) return false;
    TRA_UNHIDDEN(X)
#undef X
    return !*value && tra_rates_known(rates) && rates->network > 0;
}

/* Room for one more in an array of the arena. */
#define grow(r, type, v, n)                                                                                            \
    do {                                                                                                               \
        type *new_ = tra_news((r)->a, type, (n) + 1);                                                                  \
        if (n) memcpy(new_, v, (size_t)(n) * sizeof *new_);                                                            \
        v = new_;                                                                                                      \
    } while (0)

/* Keys that stand once; all are required. */
#define KEYS(X)                                                                                                        \
    X(version)                                                                                                         \
    X(sites)                                                                                                           \
    X(memory)                                                                                                          \
    X(cost) X(optimizer) X(threads) X(rates) X(rank) X(digest) X(strategy) X(directory) X(source) X(program) X(tree)
enum {
#define X(name) KEY_##name,
    KEYS(X)
#undef X
        NKEYS
};
static const char *const keys[] = {
#define X(name) #name,
    KEYS(X)
#undef X
};

/* Keys that need not be there, or may stand more than once. */
static tra_status get_other(reader *r, const char *key, const char *value, tra_err *e) {
    tra_planfile *f = r->f;
    tra_planinput *last = f->ninputs ? &f->inputs[f->ninputs - 1] : NULL;
    enum { MANY = 100000 };
    if (strcmp(key, "reproducible") == 0 && strcmp(value, "1") == 0 && !f->options.reproducible)
        return f->options.reproducible = true, TRA_OK;
    tra_err ignored = {0};
    int64_t level;
    if (strcmp(key, "compress") == 0 && !f->options.compress && get_int(value, 1, 19, &level))
        return f->options.compress = (int)level, TRA_OK;
    if (strcmp(key, "without") == 0 && !f->options.without && !f->options.without_rules)
        return tra_plan_without(value, &f->options, &ignored) == TRA_OK ? TRA_OK : damaged(r, e);
    if (strcmp(key, "define") == 0 && f->ndefines < MANY) {
        grow(r, const char *, f->defines, f->ndefines);
        return get_text(r, value, &f->defines[f->ndefines++], NULL, e);
    }
    if (strcmp(key, "input") == 0 && f->ninputs < MANY) {
        grow(r, tra_planinput, f->inputs, f->ninputs);
        return get_text(r, value, &f->inputs[f->ninputs++].name, NULL, e);
    }
    if (strcmp(key, "path") == 0 && last && !last->path) return get_text(r, value, &last->path, NULL, e);
    if (strcmp(key, "identity") == 0 && last && !last->identity) return get_text(r, value, &last->identity, NULL, e);
    return damaged(r, e);
}

static tra_status get_line(reader *r, const char *key, const char *value, tra_err *e) {
    tra_planfile *f = r->f;
    const char *tree;
    int64_t v;
    int k = 0;
    while (k < NKEYS && strcmp(keys[k], key) != 0) k++;
    if (k == NKEYS) return get_other(r, key, value, e);
    if (r->seen >> k & 1) return damaged(r, e);
    r->seen |= 1u << k;
    switch (k) {
    case KEY_version: f->version = tra_arena_printf(r->a, "%s", value); return TRA_OK;
    case KEY_sites:
        if (!get_int(value, 1, TRA_MAXSITES, &v)) return damaged(r, e);
        f->options.sites = (int)v;
        return TRA_OK;
    case KEY_memory: return get_int(value, 0, INT64_MAX, &f->options.memory) ? TRA_OK : damaged(r, e);
    case KEY_cost:
        if (!tra_cost_model_parse(value, &f->options.cost)) return damaged(r, e);
        return TRA_OK;
    case KEY_optimizer: return tra_optimizer_parse(value, &f->options.optimizer) ? TRA_OK : damaged(r, e);
    case KEY_threads:
        if (!get_int(value, 1, 1 << 16, &v)) return damaged(r, e);
        f->options.threads = (int)v;
        return TRA_OK;
    case KEY_rates: return get_rates(value, &f->options.rates) ? TRA_OK : damaged(r, e);
    case KEY_rank:
        if (!get_int(value, 1, TRA_MAXPLANS, &v)) return damaged(r, e);
        f->rank = (int)v;
        return TRA_OK;
    case KEY_digest: return get_hex(value, &f->digest) ? TRA_OK : damaged(r, e);
    case KEY_strategy: return get_text(r, value, &f->strategy, NULL, e);
    case KEY_directory: return get_text(r, value, &f->dir, NULL, e);
    case KEY_source: return get_text(r, value, &f->source, NULL, e);
    case KEY_program: return get_text(r, value, &f->program, &f->size, e);
    case KEY_tree: return get_text(r, value, &tree, NULL, e);
    }
    return TRA_OK;
}

tra_status tra_planfile_parse(const char *name, const char *text, size_t n, tra_arena *a, tra_planfile *out,
                              tra_err *e) {
    reader r = {.name = name, .text = text, .n = n, .a = a, .f = out};
    *out = (tra_planfile){0};
    for (int line = 0;; line++) {
        const char *end = memchr(text + r.at, '\n', n - r.at);
        size_t from = r.at, len = end ? (size_t)(end - text) - from : 0;
        if (!end || len > 4096) return damaged(&r, e);
        char *key = tra_arena_strndup(a, text + from, len), *value;
        if (line == 0) {
            int64_t format;
            if (!tra_planfile_sniff(text, n) || !tra_parse_int(key + strlen(magic), &format)) return damaged(&r, e);
            if (format != FORMAT)
                return tra_fail(e, TRA_INPUT,
                                "%s has plan format %" PRId64 ", this version of tra reads format %d: "
                                "compile the program again",
                                name, format, FORMAT);
            r.at += len + 1;
            continue;
        }
        value = strchr(key, ' ');
        if (!value || strlen(key) != len) return damaged(&r, e);
        *value++ = 0;
        if (strcmp(key, "checksum") == 0) {
            uint64_t sum;
            if (!get_hex(value, &sum) || sum != XXH64(text, from, 0)) return damaged(&r, e);
            r.at += len + 1;
            break;
        }
        r.at += len + 1;
        TRA_TRY(get_line(&r, key, value, e));
    }
    bool whole = r.at == n && r.seen == (1u << NKEYS) - 1;
    for (int i = 0; i < out->ninputs; i++) whole &= out->inputs[i].path && out->inputs[i].identity;
    return whole ? TRA_OK : damaged(&r, e);
}

/* ---- checking ----------------------------------------------------------------------------------------------- */

tra_status tra_planfile_check(const tra_planfile *f, tra_err *e) {
    for (int i = 0; i < f->ninputs; i++) {
        const tra_planinput *in = &f->inputs[i];
        tra_rel *rel;
        TRA_TRY(tra_rel_open(in->path, NULL, &rel, e));
        tra_arena *a = tra_arena_new();
        bool same = strcmp(tra_rel_identity(rel, a), in->identity) == 0;
        tra_arena_free(a);
        tra_rel_close(rel);
        if (!same)
            return tra_fail(e, TRA_INPUT, "input %s (%s) changed since the plan was made: compile the program again",
                            in->name, in->path);
    }
    return TRA_OK;
}
