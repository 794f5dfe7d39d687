/* kernel.c - kernels of a process: making them, and calling them from any thread. */
#include "codegen_int.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

tra_codegen *tra_codegen_open(tra_codegen_mode mode) {
    tra_codegen *g = tra_calloc(1, sizeof *g);
    g->mode = mode;
    g->arena = tra_arena_new();
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void tra_codegen_close(tra_codegen *g) {
    if (!g) return;
    if (g->seconds > 0) tra_info(1, "%.2f s spent in the compiler %s, for kernels", g->seconds, g->compiler);
    for (tra_codegen_kernel *k = g->kernels; k; k = k->next)
        if (k->object && !k->shared) dlclose(k->object);
    pthread_mutex_destroy(&g->lock);
    tra_arena_free(g->arena);
    free(g);
}

bool tra_codegen_compiled(const tra_codegen_kernel *k) { return k->object != NULL; }

/* Warns, once, that kernels are interpreted and why; an error if they must be compiled. */
TRA_PRINTF(3, 4) static tra_status cannot(tra_codegen *g, tra_err *e, const char *fmt, ...) {
    va_list ap;
    char *text;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) return TRA_OK;
    tra_status s = TRA_OK;
    if (g->mode == TRA_CODEGEN_REQUIRE)
        s = tra_fail(e, TRA_RESOURCE, "%s (--codegen require)", text);
    else if (!g->warned)
        tra_warn("kernels are not compiled, and are slower: %s (--codegen off does without them silently)", text);
    g->warned = true;
    free(text);
    return s;
}

/* Loads the kernel; compiles it first if it is not in the cache. */
static tra_status bring(tra_codegen *g, tra_codegen_kernel *k, const char *source, bool compile, tra_err *e) {
    const char *why = NULL;
    k->object = gen_load(g, &k->key, &why);
    if (!k->object && !why && compile) {
        if (gen_compile(g, &k->key, source, &why)) k->object = gen_load(g, &k->key, &why);
        if (!k->object && !why) why = "a compiled kernel is not what it was compiled of";
        if (!k->object) g->why = why; /* others would fail too */
    }
    if (!k->object) return why || compile ? cannot(g, e, "%s", why) : TRA_OK;
    *(void **)&k->run = dlsym(k->object, "tra_kernel");
    k->wrong = dlsym(k->object, "tra_kernel_wrong");
    if (k->run && k->wrong) return TRA_OK;
    dlclose(k->object);
    k->object = NULL;
    return cannot(g, e, "a compiled kernel has no function");
}

static tra_codegen_kernel *find(tra_codegen *g, const gen_key *key) {
    for (tra_codegen_kernel *k = g->kernels; k; k = k->next)
        if (strcmp(k->key.text, key->text) == 0 && k->object) return k;
    return NULL;
}

static tra_status make(tra_codegen *g, const tra_codegen_spec *s, bool compile, const tra_codegen_kernel **out,
                       tra_err *e) {
    tra_str source = {0};
    tra_codegen_kernel *k = tra_new(g->arena, tra_codegen_kernel);
    k->spec = s;
    tra_status status = TRA_OK;
    tra_err none = {0};
    if (g->mode != TRA_CODEGEN_OFF && !s->interpreted && tra_codegen_source(s, &source, &none) == TRA_OK) {
        gen_look(g);
        if (g->why) {
            status = cannot(g, e, "%s", g->why);
        } else {
            k->key = gen_key_of(g, tra_str_get(&source));
            const tra_codegen_kernel *same = find(g, &k->key);
            if (same)
                *k = (tra_codegen_kernel){.spec = s,
                                          .key = k->key,
                                          .object = same->object,
                                          .shared = true,
                                          .run = same->run,
                                          .wrong = same->wrong};
            else
                status = bring(g, k, tra_str_get(&source), compile, e);
        }
    }
    tra_str_free(&source);
    k->next = g->kernels;
    g->kernels = k;
    *out = k;
    return status;
}

tra_status tra_codegen_make(tra_codegen *g, const tra_codegen_spec *s, bool compile, const tra_codegen_kernel **out,
                            tra_err *e) {
    pthread_mutex_lock(&g->lock);
    tra_status status = make(g, s, compile, out, e);
    pthread_mutex_unlock(&g->lock);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Gives a kernel memory for dictionaries and accumulators from malloc, within what the caller allows. */
static void *grow(struct kernel_args *a, void *old, int64_t had, int64_t bytes) {
    if (bytes == 0) {
        free(old);
        a->taken -= had;
        return NULL;
    }
    if (bytes < 0 || (a->most && a->taken - had > a->most - bytes)) return NULL;
    void *more = realloc(old, (size_t)bytes);
    if (more) a->taken += bytes - had;
    return more;
}

/* The same from the caller's memory, used as a stack: only the last block can grow in place or be given back. */
static void *grow_in(struct kernel_args *a, void *old, int64_t had, int64_t bytes) {
    char *memory = a->memory, *last = old;
    int64_t old_bytes = (had + 63) / 64 * 64, more_bytes = bytes > INT64_MAX - 64 ? bytes : (bytes + 63) / 64 * 64;
    bool is_last = old && last + old_bytes == memory + a->taken;
    if (is_last) a->taken -= old_bytes;
    if (bytes == 0) return NULL;
    if (bytes < 0 || more_bytes > a->most - a->taken) return NULL;
    char *more = memory + a->taken;
    a->taken += more_bytes;
    if (old && more != last) memcpy(more, old, (size_t)had);
    return more;
}

typedef struct arguments {
    struct kernel_args a;
    struct kernel_array *array;
    int64_t *whole;
    double *real;
} arguments;

static void bring_arguments(const tra_codegen_spec *s, const tra_codegen_call *c, arguments *x) {
    int arrays = 0, n = 0;
    for (int i = 0; i < s->n; i++) arrays += 1 + s->scope[i].type.depth;
    *x = (arguments){.array = tra_calloc((size_t)arrays + 1, sizeof *x->array),
                     .whole = tra_calloc((size_t)s->n + 1, sizeof *x->whole),
                     .real = tra_calloc((size_t)s->n + 1, sizeof *x->real)};
    for (int i = 0; i < s->n; i++) {
        const tra_calc_free *f = &c->scope[i];
        const tra_codegen_name *how = &s->how[i];
        if (how->relation) continue;
        if (!how->component) {
            x->whole[i] = f->number.real ? 0 : f->number.i;
            x->real[i] = tra_calc_as_real(f->number);
            continue;
        }
        x->array[n++] = (struct kernel_array){f->component->value.data, f->component->value.n};
        bool keyed = how->kind == TRA_COMPONENT_HASHMAP || how->kind == TRA_COMPONENT_TRIE;
        for (int d = 0; keyed && d < s->scope[i].type.depth; d++)
            x->array[n++] = (struct kernel_array){f->component->key[d].data, f->component->key[d].n};
    }
    x->a = (struct kernel_args){.array = x->array,
                                .whole = x->whole,
                                .real = x->real,
                                .out = c->out,
                                .grow = c->memory ? grow_in : grow,
                                .memory = c->memory,
                                .most = c->most,
                                .stop = (const volatile _Bool *)c->stop};
    if (c->rows) {
        x->a.row = c->rows->row;
        x->a.begin = c->rows->begin;
        x->a.column = c->rows->column;
        x->a.value = c->rows->value;
        x->a.room_rows = c->rows->room_rows;
        x->a.room = c->rows->room;
    }
}

static void free_arguments(arguments *x) {
    free(x->array);
    free(x->whole);
    free(x->real);
}

static bool is_known(const tra_codegen_spec *s, const tra_calc_free *f, int i) {
    const tra_codegen_name *how = &s->how[i];
    if (how->relation) return f->operand != NULL;
    if (!how->component) return !f->component && !f->operand && (s->scope[i].type.real || !f->number.real);
    if (!f->component || f->kind != how->kind || f->component->value.type != how->value) return false;
    bool keyed = how->kind == TRA_COMPONENT_HASHMAP || how->kind == TRA_COMPONENT_TRIE;
    for (int d = 0; keyed && d < s->scope[i].type.depth; d++)
        if (f->component->key[d].type != how->key[d] || (!f->component->key[d].data && f->component->key[d].n))
            return false;
    return f->component->value.data || f->component->value.n == 0;
}

static tra_status check_call(const tra_codegen_spec *s, const tra_codegen_call *c, tra_err *e) {
    for (int i = 0; i < s->n; i++)
        if (!is_known(s, &c->scope[i], i))
            return tra_fail(e, TRA_INTERNAL, "%s: %s is not what its kernel was made for", s->name, s->scope[i].name);
    return TRA_OK;
}

static tra_status went_wrong(const tra_codegen_kernel *k, const struct kernel_args *a, int code, tra_err *e) {
    const char *name = k->spec->name ? k->spec->name : "a kernel";
    switch (code) {
    case 0: return TRA_OK;
    case GEN_TOO_LARGE:
        return tra_fail(e, TRA_RESOURCE,
                        "%s: a number of 2^31 or more, or an array of 2^40, for which its kernel was not made", name);
    case GEN_MISFIT: return tra_fail(e, TRA_INPUT, "%s: an array has another size than its storage says", name);
    case GEN_NO_MEMORY: /* the words of the interpreter */
        return tra_fail(e, TRA_RESOURCE, "%s%sdictionaries that are built take more memory than is set aside for them",
                        k->spec->name ? name : "", k->spec->name ? ": " : "");
    case GEN_STOPPED: return tra_fail(e, TRA_INTERNAL, "%s: stopped", name); /* the sink has set the error */
    case GEN_NO_ORDER: return tra_fail(e, TRA_INTERNAL, "%s: its kernel does not make rows in order", name);
    case GEN_NO_ROOM: return tra_fail(e, TRA_INTERNAL, "%s: its kernel makes more entries than were counted", name);
    }
    const struct kernel_error *wrong = &k->wrong[code - 1];
    tra_err_kind kind = tra_calc_wrong_kind((tra_calc_wrong)wrong->wrong);
    if (a->nkeys == 0) {
        bool named = k->spec->name != NULL;
        return tra_fail_kind(e, TRA_INPUT, kind, "%s%s%s", named ? name : "", named ? ": " : "", wrong->text);
    }
    tra_str key = {0};
    for (int d = 0; d < a->nkeys; d++) tra_str_printf(&key, "%s%" PRId64, d ? ", " : "", a->key[d]);
    tra_status s = tra_fail_kind(e, TRA_INPUT, kind, "%s: key (%s): %s", name, tra_str_get(&key), wrong->text);
    tra_str_free(&key);
    return s;
}

typedef struct giving {
    tra_calc_sink *sink;
    void *ctx;
    bool real;
    tra_err *e;
} giving;

static int give(void *ctx, const int64_t *key, int64_t whole, double real) {
    giving *to = ctx;
    tra_calc_entry x = {key, to->real ? tra_calc_real(real) : tra_calc_int(whole), -1, 0};
    return to->sink(to->ctx, &x, to->e) != TRA_OK;
}

_Static_assert(sizeof(struct kernel_operand) == sizeof(tra_codegen_operand), "one struct in two places");

/* Runs the kernel; or, with `counts`, counts the rows and entries that it would make. */
static tra_status run(const tra_codegen_kernel *k, const tra_codegen_call *c, bool counts, int64_t *rows, int64_t *n,
                      tra_err *e) {
    TRA_TRY(check_call(k->spec, c, e));
    if (!k->object) return gen_interpret(k->spec, c, counts, rows, n, e);
    arguments x;
    giving to = {c->sink, c->ctx, k->spec->plan->type.real, e};
    bring_arguments(k->spec, c, &x);
    x.a.exact = counts;
    x.a.operand = (const struct kernel_operand *)(const void *)c->operand;
    x.a.give = give;
    x.a.ctx = &to;
    tra_status s = went_wrong(k, &x.a, k->run(&x.a), e);
    *rows = tra_min64(x.a.nrows, x.a.n);
    *n = x.a.n;
    free_arguments(&x);
    return s;
}

tra_status tra_codegen_count(const tra_codegen_kernel *k, const tra_codegen_call *c, int64_t *rows, int64_t *entries,
                             tra_err *e) {
    return run(k, c, true, rows, entries, e);
}

tra_status tra_codegen_run(const tra_codegen_kernel *k, const tra_codegen_call *c, tra_err *e) {
    tra_codegen_rows none, *r = c->rows ? c->rows : &none;
    return run(k, c, false, &r->nrows, &r->n, e);
}
