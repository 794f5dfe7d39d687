/* planfile.c - writing, reading and checking plan files. */
#include "planfile.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "../../lib/h5/stand_in.h"
#include "../ia/ia.h"
#include "cost.h"

enum { FORMAT = 1, MANY = 100000 };
static const char magic[] = "tra plan ";

bool tra_planfile_sniff(const char *text, size_t n) {
    return n >= strlen(magic) && memcmp(text, magic, strlen(magic)) == 0;
}

/* ---- the lines of a file ------------------------------------------------------------------------------------- */

/* What a key's value is, and where it stands in a tra_planfile (of an input's in its tra_planinput). */
typedef enum kind { INT, LONG, NUMBER, HEX, WORD, TEXT, COST, OPTIMIZER, WITHOUT, RATES, FLAG, DEFINE, INPUT } kind;
typedef struct key {
    const char *name;
    kind kind;
    size_t at;
    int64_t least, most;        /* of whole numbers */
    enum { ONE, MAYBE, ALL } n; /* it stands once; once or not at all; as often as it likes */
} key;

#define OF(member) offsetof(tra_planfile, member)
static const key keys[] = {
    {"version", WORD, OF(version), 0, 0, ONE},
    {"sites", INT, OF(options.sites), 1, TRA_MAXSITES, ONE},
    {"memory", LONG, OF(options.memory), 0, INT64_MAX, ONE},
    {"cost", COST, OF(options.cost), 0, 0, ONE},
    {"optimizer", OPTIMIZER, OF(options.optimizer), 0, 0, ONE},
    {"threads", INT, OF(options.threads), 1, 1 << 16, ONE},
    {"compress", INT, OF(options.compress), 1, 19, MAYBE},
    {"reproducible", FLAG, OF(options.reproducible), 1, 1, MAYBE},
    {"without", WITHOUT, OF(options), 0, 0, MAYBE},
    {"rates", RATES, OF(options.rates), 0, 0, ONE},
    {"rank", INT, OF(rank), 1, TRA_MAXPLANS, ONE},
    {"plans", INT, OF(nplans), 1, TRA_MAXPLANS, MAYBE},
    {"whole", LONG, OF(room.whole), 0, INT64_MAX, MAYBE},
    {"expected", LONG, OF(room.expected), 0, INT64_MAX, MAYBE},
    {"planned", LONG, OF(options.planned), 0, INT64_MAX, MAYBE},
    {"interpreted", NUMBER, OF(options.rates.interpreted), 0, 0, MAYBE},
    {"bounded", FLAG, OF(bounded), 1, 1, MAYBE},
    {"cost_without", NUMBER, OF(free_cost), 0, 0, MAYBE},
    {"digest", HEX, OF(digest), 0, 0, ONE},
    {"strategy", TEXT, OF(strategy), 0, 0, ONE},
    {"define", DEFINE, 0, 0, 0, ALL},
    {"input", INPUT, offsetof(tra_planinput, name), 0, 0, ALL},
    {"path", INPUT, offsetof(tra_planinput, path), 0, 0, ALL},
    {"identity", INPUT, offsetof(tra_planinput, identity), 0, 0, ALL},
    {"directory", TEXT, OF(dir), 0, 0, ONE},
    {"source", TEXT, OF(source), 0, 0, ONE},
    {"program", TEXT, OF(program), 0, 0, ONE},
    {"choices", TEXT, OF(choices), 0, 0, MAYBE},
    {"tree", TEXT, OF(tree), 0, 0, ONE},
};
enum { NKEYS = sizeof keys / sizeof *keys };

#define AT(type, base, k) ((type *)(void *)((char *)(base) + (k)->at))

/* ---- writing ------------------------------------------------------------------------------------------------ */

static void put_text(tra_str *out, const char *key, const char *text) {
    tra_str_printf(out, "%s %zu\n%s\n", key, strlen(text), text);
}

/* Axes as kind and sites, of parts with dimensions and extents: "p4:0=10,2=20/c2"; "." no axes, "o" tuple by tuple, "-"
 * none.
 */
static void put_place(const tra_placement *p, tra_str *out) {
    tra_str_add(out, p->sites == 0 ? " -" : p->owner ? " o" : p->naxes == 0 ? " ." : " ");
    for (int x = 0; p->sites && !p->owner && x < p->naxes; x++) {
        const tra_axis *axis = &p->axis[x];
        tra_str_printf(out, "%s%c%d", x ? "/" : "", "pcs"[axis->kind], axis -> sites);
        for (int d = 0; axis->kind == TRA_AXIS_PART && d < axis->n; d++)
            tra_str_printf(out, "%c%d=%" PRId64, d ? ',' : ':', axis->dim[d], axis->ext[d]);
    }
}

/* A line for each choice: its expression, its join (-1: none), and where everything is. */
static const char *choices_text(const tra_choices *c, tra_arena *a) {
    tra_str out = {0};
    for (int i = 0; i < c->n; i++) {
        const tra_choice *x = &c->v[i];
        tra_str_printf(&out, "%d %d", x->expr, x->join);
        for (int j = 0; j < 2; j++) put_place(&x->in[j], &out);
        put_place(&x->between, &out);
        put_place(&x->out, &out);
        tra_str_add(&out, "\n");
    }
    return tra_arena_take(a, &out);
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
    bool file = false;
    if (!eq) return define;
    size_t n = (size_t)(eq - define);
    for (int i = 0; i < g->noutputs; i++)
        file |= strlen(g->outputs[i].name) == n && !memcmp(g->outputs[i].name, define, n);
    for (int i = 0; i < g->n; i++)
        file |= g->v[i]->op == TRA_OP_INPUT && g->v[i]->name && strlen(g->v[i]->name) == n &&
                !memcmp(g->v[i]->name, define, n);
    return file ? tra_arena_printf(a, "%.*s=%s", (int)n, define, absolute(a, eq + 1)) : define;
}

static tra_planfile planfile_of(const char *path, const tra_job *job, const tra_request *r, const char *tree) {
    const tra_graph *g = job->program.graph;
    tra_arena *a = job->program.arena;
    tra_planfile f = {.options = job->options,
                      .rank = job->plan->rank,
                      .nplans = job->plans.n,
                      .room = job->built.room,
                      .bounded = job->plans.bounded,
                      .free_cost = job->free_cost,
                      .digest = tra_plan_digest(job->plan),
                      .version = TRA_VERSION,
                      .strategy = job->plan->strategy,
                      .source = job->program.src.name,
                      .dir = absolute(a, tra_program_dir(a, path)),
                      .program = job->program.src.text,
                      .choices = choices_text(&job->plans.choices[job->plan->rank - 1], a),
                      .tree = tree,
                      .defines = tra_news(a, const char *, r->ndefines + 1),
                      .inputs = tra_news(a, tra_planinput, g->n + 1)};
    f.options.planned = job->plans.planned;
    for (int i = 0; i < r->ndefines; i++) f.defines[f.ndefines++] = absolute_define(a, g, r->defines[i]);
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        if (n->op != TRA_OP_INPUT || !n->input.rel || tra_is_intermediate(n->input.path)) continue;
        f.inputs[f.ninputs++] = (tra_planinput){n->name, absolute(a, n->input.path), tra_rel_identity(n->input.rel, a)};
    }
    return f;
}

static void put_key(const tra_planfile *f, const key *k, tra_arena *a, tra_str *out) {
    const tra_plan_options *o = &f->options;
    switch (k->kind) {
    case INT:
        if (k->n == ONE || *AT(int, f, k)) tra_str_printf(out, "%s %d\n", k->name, *AT(int, f, k));
        break;
    case LONG: tra_str_printf(out, "%s %" PRId64 "\n", k->name, *AT(int64_t, f, k)); break;
    case NUMBER:
        if (*AT(double, f, k) > 0) tra_str_printf(out, "%s %.17g\n", k->name, *AT(double, f, k));
        break;
    case HEX: tra_str_printf(out, "%s %016" PRIx64 "\n", k->name, *AT(uint64_t, f, k)); break;
    case WORD: tra_str_printf(out, "%s %s\n", k->name, *AT(const char *, f, k)); break;
    case TEXT: put_text(out, k->name, *AT(const char *, f, k)); break;
    case COST: tra_str_printf(out, "%s %s\n", k->name, tra_cost_model_text(o->cost)); break;
    case OPTIMIZER: tra_str_printf(out, "%s %s\n", k->name, tra_optimizer_text(o->optimizer)); break;
    case WITHOUT:
        if (o->without || o->without_rules) tra_str_printf(out, "%s %s\n", k->name, tra_plan_without_text(o, a));
        break;
    case RATES: tra_str_add(out, k->name);
#define X(member, name) tra_str_printf(out, " %.17g", o->rates.member);
        TRA_RATES(X)
        TRA_UNHIDDEN(X)
#undef X
        tra_str_add(out, "\n");
        break;
    case FLAG:
        if (*AT(bool, f, k)) tra_str_printf(out, "%s 1\n", k->name);
        break;
    case DEFINE:
        for (int i = 0; i < f->ndefines; i++) put_text(out, k->name, f->defines[i]);
        break;
    case INPUT: break;
    }
}

void tra_planfile_print(const char *path, const tra_job *job, const tra_request *r, const char *tree, tra_str *out) {
    const tra_planfile f = planfile_of(path, job, r, tree);
    size_t from = out->n;
    tra_str_printf(out, "%s%d\n", magic, FORMAT);
    for (int k = 0; k < NKEYS; k++) {
        put_key(&f, &keys[k], job->program.arena, out);
        for (int i = 0; keys[k].kind == DEFINE && i < f.ninputs; i++)
            for (int j = k + 1; j < NKEYS && keys[j].kind == INPUT; j++)
                put_text(out, keys[j].name, *AT(const char *, &f.inputs[i], &keys[j]));
    }
    tra_str_printf(out, "checksum %016" PRIx64 "\n", (uint64_t)XXH64(tra_str_get(out) + from, out->n - from, 0));
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

typedef struct reader {
    const char *name, *text;
    size_t n, at;
    tra_arena *a;
    tra_planfile *f;
    unsigned seen; /* of the keys */
} reader;

static tra_status damaged(const reader *r, tra_err *e) {
    int line = 1;
    for (size_t i = 0; i < r->at && i < r->n; i++) line += r->text[i] == '\n';
    return tra_fail(e, TRA_INPUT, "%s is damaged at line %d: compile the program again", r->name, line);
}

static bool get_text(reader *r, const char *value, const char **out) {
    int64_t n;
    if (!tra_parse_int(value, &n) || n < 0 || (uint64_t)n >= r->n - r->at || r->text[r->at + (size_t)n] != '\n' ||
        memchr(r->text + r->at, 0, (size_t)n))
        return false;
    *out = tra_arena_strndup(r->a, r->text + r->at, (size_t)n);
    r->at += (size_t)n + 1;
    return true;
}

static bool get_hex(const char *value, uint64_t *v) {
    if (strlen(value) != 16 || strspn(value, "0123456789abcdef") != 16) return false;
    *v = strtoull(value, NULL, 16);
    return true;
}

/* The next of several numbers, of at most `most`. */
static bool get_number(const char **at, double most, double *v) {
    char *end;
    *v = strtod(*at, &end);
    bool ok = end > *at && isfinite(*v) && *v >= 0 && *v <= most;
    *at = end;
    return ok;
}

static bool get_rates(const char *value, tra_rates *rates) {
    bool ok = true;
#define X(member, name) ok = ok && get_number(&value, INFINITY, &rates->member);
    TRA_RATES(X)
#undef X
#define X(member, name) ok = ok && get_number(&value, 1, &rates->member);
    TRA_UNHIDDEN(X)
#undef X
    return ok && !*value && tra_rates_known(rates) && rates->network > 0;
}

/* Reads the value of a key; of one that stands once, for the first time. */
static bool get_key(reader *r, const key *k, const char *value) {
    tra_planfile *f = r->f;
    tra_planinput *last = f->ninputs ? &f->inputs[f->ninputs - 1] : NULL;
    tra_err ignored = {0};
    int64_t v;
    switch (k->kind) {
    case INT:
    case FLAG:
        if (!tra_parse_int(value, &v) || v < k->least || v > k->most) return false;
        if (k->kind == FLAG) return *AT(bool, f, k) = true;
        return *AT(int, f, k) = (int)v, true;
    case LONG: return tra_parse_int(value, AT(int64_t, f, k)) && *AT(int64_t, f, k) >= k->least;
    case NUMBER: return get_number(&value, INFINITY, AT(double, f, k)) && !*value;
    case HEX: return get_hex(value, AT(uint64_t, f, k));
    case WORD: return *AT(const char *, f, k) = tra_arena_printf(r->a, "%s", value), true;
    case TEXT: return get_text(r, value, AT(const char *, f, k));
    case COST: return tra_cost_model_parse(value, &f->options.cost);
    case OPTIMIZER: return tra_optimizer_parse(value, &f->options.optimizer);
    case WITHOUT: return tra_plan_without(value, &f->options, &ignored) == TRA_OK;
    case RATES: return get_rates(value, &f->options.rates);
    case DEFINE:
        if (f->ndefines == MANY) return false;
        TRA_ARENA_DOUBLE(r->a, f->defines, f->ndefines);
        return get_text(r, value, &f->defines[f->ndefines++]);
    case INPUT: break;
    }
    if (k->at == offsetof(tra_planinput, name) && f->ninputs < MANY) { /* an input begins */
        TRA_ARENA_DOUBLE(r->a, f->inputs, f->ninputs);
        last = &f->inputs[f->ninputs++];
        *last = (tra_planinput){0};
    }
    return last && !*AT(const char *, last, k) && get_text(r, value, AT(const char *, last, k));
}

tra_status tra_planfile_parse(const char *name, const char *text, size_t n, tra_arena *a, tra_planfile *out,
                              tra_err *e) {
    reader r = {.name = name, .text = text, .n = n, .a = a, .f = out};
    *out = (tra_planfile){0};
    for (int line = 0;; line++) {
        const char *end = memchr(text + r.at, '\n', n - r.at);
        size_t from = r.at, len = end ? (size_t)(end - text) - from : 0;
        if (!end || len > 4096) return damaged(&r, e);
        char *word = tra_arena_strndup(a, text + from, len), *value = strchr(word, ' ');
        int64_t format;
        if (line == 0 && (!tra_planfile_sniff(text, n) || !tra_parse_int(word + strlen(magic), &format)))
            return damaged(&r, e);
        if (line == 0 && format != FORMAT)
            return tra_fail(e, TRA_INPUT,
                            "%s has plan format %" PRId64 ", this version of tra reads format %d: "
                            "compile the program again",
                            name, format, FORMAT);
        if (!value || strlen(word) != len) return damaged(&r, e);
        *value++ = 0;
        uint64_t sum;
        bool ends = strcmp(word, "checksum") == 0;
        if (ends && (!get_hex(value, &sum) || sum != XXH64(text, from, 0))) return damaged(&r, e);
        r.at += len + 1;
        if (ends) break;
        if (line == 0) continue;
        int k = 0;
        while (k < NKEYS && strcmp(keys[k].name, word) != 0) k++;
        if (k == NKEYS || (keys[k].n != ALL && r.seen >> k & 1) || !get_key(&r, &keys[k], value)) return damaged(&r, e);
        r.seen |= 1u << k;
    }
    bool whole = r.at == n;
    for (int k = 0; k < NKEYS; k++) whole &= keys[k].n != ONE || r.seen >> k & 1;
    for (int i = 0; i < out->ninputs; i++) whole &= out->inputs[i].path && out->inputs[i].identity;
    if (whole) out->size = strlen(out->program);
    return whole ? TRA_OK : damaged(&r, e);
}

/* ---- choices ------------------------------------------------------------------------------------------------ */

static bool get_whole(const char **at, int64_t least, int64_t most, int64_t *v) {
    char *end;
    *v = strtoll(*at, &end, 10);
    bool ok = end > *at && *v >= least && *v <= most;
    *at = end;
    return ok;
}

static bool get_axis(const char **at, tra_axis *x) {
    static const char kinds[] = "pcs";
    const char *kind = **at ? strchr(kinds, **at) : NULL;
    int64_t v, extent;
    if (!kind) return false;
    x->kind = (tra_axis_kind)(kind - kinds);
    ++*at;
    if (!get_whole(at, 1, TRA_MAXSITES, &v)) return false;
    x->sites = (int)v;
    while (x->kind == TRA_AXIS_PART && (**at == ':' || **at == ',')) {
        ++*at;
        if (x->n == TRA_MAXAXISDIMS || !get_whole(at, 0, TRA_MAXDIM - 1, &v) || *(*at)++ != '=' ||
            !get_whole(at, 1, INT64_MAX, &extent))
            return false;
        x->dim[x->n] = (int8_t)v;
        x->ext[x->n++] = extent;
    }
    return true;
}

/* The next placement of so many sites, behind a blank. */
static bool get_place(const char **at, int sites, tra_placement *p) {
    static const int32_t some_owner[1];
    char c = (*at)[0] == ' ' ? (*at)[1] : 0;
    int64_t product = 1;
    *p = (tra_placement){.sites = c == '-' ? 0 : sites, .owner = c == 'o' ? some_owner : NULL};
    if (!c) return false;
    *at += 2;
    if (c == '-' || c == 'o' || (c == '.' && sites == 1)) return true;
    --*at;
    do {
        if (p->naxes == TRA_MAXAXES || !get_axis(at, &p->axis[p->naxes])) return false;
        product = tra_mul_most(product, p->axis[p->naxes++].sites);
    } while (*(*at)++ == '/');
    --*at;
    return product == sites;
}

bool tra_planfile_choices(const tra_planfile *f, tra_arena *a, tra_choices *out) {
    int cap = 0;
    tra_choice *v = NULL;
    *out = (tra_choices){0};
    for (const char *at = f->choices; *at;) {
        TRA_ARENA_ROOM(a, v, out->n, cap);
        tra_choice *x = &v[out->n++];
        int64_t expr, join;
        *x = (tra_choice){0};
        if (!get_whole(&at, 0, INT_MAX, &expr) || !get_whole(&at, -1, INT_MAX, &join)) return false;
        x->expr = (int)expr;
        x->join = (int)join;
        tra_placement *const places[] = {&x->in[0], &x->in[1], &x->between, &x->out};
        for (int i = 0; i < 4; i++)
            if (!get_place(&at, f->options.sites, places[i])) return false;
        if (*at++ != '\n') return false;
    }
    out->v = v;
    return true;
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
