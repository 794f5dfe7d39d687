/* prefetch.c - software prefetch in generated loops. A loop over the columns of a row looks into arrays at places in no
 * order; where such an array may be larger than a cache, the loop prefetches what it will read some iterations later.
 * Results do not depend on it. */
#include "gen_int.h"

#include <string.h>

enum {
    MOST = 2,        /* dependent loads at most that lead to an address that is prefetched */
    TURNS = 16,      /* iterations between prefetch and use, after MOST loads; twice as many for each load fewer */
    LARGE = 1 << 17, /* arrays with more elements than this are prefetched: the second cache does not hold them */
    NAMES = 8
};

/* An integer that is computed from the column by some loads, as an expression of C. */
typedef struct followed {
    const char *text; /* NULL: it does not follow */
    int loads;
} followed;

typedef struct looking {
    int loads; /* this pass prefetches the addresses that take so many loads to compute */
    const char *when;
    int n, level[NAMES]; /* the names that are computed from the column */
    followed name[NAMES];
    int nasked;
    const char *asked[NAMES];
} looking;

static void bind(looking *l, int level, followed v) {
    if (level < 0 || !v.text || l->n == NAMES) return;
    l->level[l->n] = level;
    l->name[l->n++] = v;
}

/* Is x an array with one key? Sets its name in C and that of its number of elements. */
static bool array_of(const gen *g, const tra_calc *x, const char **name, const char **n, char *buf, size_t room) {
    if (x->kind != TRA_CALC_NAME || x->type.depth != 1) return false;
    if (x->level < 0) {
        const tra_codegen_name *how = &g->s->how[x->index];
        if (!how->component || how->kind != TRA_COMPONENT_ARRAY) return false;
        *name = gen_component_name(g, x->index);
        snprintf(buf, room, "%s_n", *name);
        *n = buf;
        return true;
    }
    const gen_value *v = x->level < g->nenv ? &g->env[x->level] : NULL;
    if (!v || v->kind != GEN_PLAIN || v->level != 0 || v->depth != 1) return false;
    *name = v->temp->name;
    *n = v->temp->extent[0];
    return true;
}

static void ask(gen *g, looking *l, const char *array, const char *n, const char *at) {
    const char *place = gen_text(g, "&%s[%s]", array, at);
    for (int i = 0; i < l->nasked; i++)
        if (strcmp(l->asked[i], place) == 0) return;
    if (l->nasked == NAMES) return;
    l->asked[l->nasked++] = place;
    gen_line(g, "if (%s > %d && %s) __builtin_prefetch(%s);", n, LARGE, l->when, place);
}

static followed look(gen *g, looking *l, const tra_calc *x);

static followed look_up(gen *g, looking *l, const tra_calc *x, followed at) {
    const char *name, *n;
    char buf[256];
    if (!at.text || !array_of(g, x, &name, &n, buf, sizeof buf)) return (followed){NULL, 0};
    if (at.loads == l->loads) ask(g, l, name, n, at.text);
    if (at.loads >= l->loads || x->type.real) return (followed){NULL, 0};
    return (followed){gen_text(g, "((uint64_t)(%s) < (uint64_t)%s ? (int64_t)%s[%s] : 0)", at.text, n, name, at.text),
                      at.loads + 1};
}

/* The same for the generators of a sum. A loop over a part of an array first looks at the place where the part begins.
 */
static followed look_into_sum(gen *g, looking *l, const tra_calc *x) {
    for (int i = 0, b = 0; i + 1 < x->nkids; b += x->nnames[i] + 1, i++) {
        const tra_calc *in = x->kids[i];
        if (in->kind != TRA_CALC_SLICE || x->nnames[i] != 1) {
            look(g, l, in);
            continue;
        }
        followed from = look(g, l, in->kids[1]);
        look(g, l, in->kids[2]);
        look_up(g, l, in->kids[0], from);
        bind(l, x->binders[b].level, from);
    }
    return look(g, l, x->kids[x->nkids - 1]);
}

static followed look(gen *g, looking *l, const tra_calc *x) {
    followed none = {NULL, 0}, a;
    switch ((int)x->kind) {
    case TRA_CALC_NAME:
        for (int i = 0; i < l->n; i++)
            if (x->level >= 0 && l->level[i] == x->level) return l->name[i];
        return none;
    case TRA_CALC_APPLY:
        a = look(g, l, x->kids[1]);
        if (x->nkids == 2) return look_up(g, l, x->kids[0], a);
        break;
    case TRA_CALC_ADD:
    case TRA_CALC_SUB:
        a = look(g, l, x->kids[0]);
        look(g, l, x->kids[1]);
        if (x->type.real || x->type.depth > 0 || !a.text || x->kids[1]->kind != TRA_CALC_NUMBER) return none;
        return (followed){gen_text(g, "%s %c %" PRId64, a.text, x->kind == TRA_CALC_ADD ? '+' : '-', x->kids[1]->whole),
                          a.loads};
    case TRA_CALC_LET:
        for (int i = 0; i + 1 < x->nkids; i++) bind(l, x->binders[i].level, look(g, l, x->kids[i]));
        return look(g, l, x->kids[x->nkids - 1]);
    case TRA_CALC_SUM: return look_into_sum(g, l, x);
    }
    for (int i = 0; i < x->nkids; i++) look(g, l, x->kids[i]);
    return none;
}

void gen_ahead(gen *g, tra_calc *const *rest, int n, const gen_value *in, const tra_calc_binder *value, const char *at,
               const char *out) {
    const tra_codegen_name *how = &g->s->how[in->component];
    if (in->kind != GEN_ARRAY || how->value != TRA_ELEMENT_U32 || !how->below || value->level < 0) return;
    const char *columns = gen_component_name(g, in->component);
    for (int loads = 0, turns = TURNS << MOST; loads <= MOST; loads++, turns /= 2) {
        looking l = {.loads = loads, .when = gen_text(g, "%s + %d < %s_n", at, turns, columns)};
        followed column = {gen_text(g, "%s[%s + %d]", columns, at, turns), 0};
        bind(&l, value->level, column);
        if (loads == 0 && out) ask(g, &l, out, "extent0", column.text);
        for (int i = 0; i < n; i++) look(g, &l, rest[i]);
    }
}
