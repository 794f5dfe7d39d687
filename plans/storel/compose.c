/* compose.c - the naive plan of a statement, as text that is parsed and checked. */
#include "compose.h"
#include "storel_int.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_NAMES = 256 };

typedef struct composer {
    const tra_einsum *s;
    const double *extent;
    const tra_storel_operand *operand;
    tra_arena *arena;
    tra_err *e;
    int n;
    tra_calc_name scope[MOST_NAMES];
    tra_storel_about about[MOST_NAMES];
    tra_storel_source source[MOST_NAMES];
    int extent_name[TRA_MAXLABELS];
    const char *label[TRA_MAXLABELS];   /* as they are bound */
    const char *tensor[TRA_MAXLABELS];  /* names of the lets */
    const char *element[TRA_MAXLABELS]; /* of references that are looped over, else NULL */
    int ntaken;
    const char *taken[4 * MOST_NAMES];
} composer;

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_taken(const composer *c, const char *name) {
    if (st_is_word(name)) return true;
    for (int i = 0; i < c->ntaken; i++)
        if (strcmp(c->taken[i], name) == 0) return true;
    return false;
}

static void take(composer *c, const char *name) {
    if (name && c->ntaken < 4 * MOST_NAMES) c->taken[c->ntaken++] = name;
}

/* A name that nothing else in the plan has. */
static const char *fresh(composer *c, const char *wish) {
    char *name = tra_arena_strndup(c->arena, wish, strlen(wish));
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_') *p = '_';
    if (!isalpha((unsigned char)*name)) name = tra_arena_printf(c->arena, "x%s", name);
    const char *base = name;
    for (int i = 2; is_taken(c, name); i++) name = tra_arena_printf(c->arena, "%s_%d", base, i);
    take(c, name);
    return name;
}

static void take_bound(composer *c, const tra_calc *x) {
    for (int i = 0; i < x->nbinders; i++) take(c, x->binders[i].name);
    for (int i = 0; i < x->nkids; i++) take_bound(c, x->kids[i]);
}

static int add_name(composer *c, const char *wish, tra_calc_type t, tra_storel_source from) {
    if (c->n == MOST_NAMES) return -1;
    c->scope[c->n] = (tra_calc_name){.name = fresh(c, wish), .type = t};
    c->source[c->n] = from;
    c->about[c->n].value = NAN;
    for (int i = 0; i < TRA_CALC_MAXRANK; i++) c->about[c->n].n[i] = NAN;
    c->about[c->n].part = c->about[c->n].squares = NAN;
    return c->n++;
}

static tra_status too_many(composer *c) {
    return tra_fail(c->e, TRA_NO, "a statement over more than %d components", MOST_NAMES);
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* The number of positions at each level of a storage by levels: as it is known, else as if entries were spread evenly.
 */
static void find_positions(const composer *c, int ref, double *out) {
    const tra_storel_operand *o = &c->operand[ref];
    const tra_storage *s = o->storage;
    double places = 1, all = 1;
    for (int d = 0; d < s->rank; d++) all *= c->extent[c->s->ref[ref].label[d]];
    double entries = isnan(o->entries) ? all : o->entries;
    for (int d = 0; d < s->rank; d++) {
        double n = c->extent[c->s->ref[ref].label[s->order[d]]], before = d ? out[d - 1] : 1;
        bool next_is_singleton = d + 1 < s->rank && s->level[d + 1] == TRA_CALC_LEVEL_SINGLETON;
        places *= n;
        switch (tra_calc_level_positions(s->level[d])) {
        case TRA_POSITIONS_EVERY: out[d] = before * n; break;
        case TRA_POSITIONS_ONE: out[d] = before; break;
        case TRA_POSITIONS_LISTED:
            out[d] = next_is_singleton ? entries : tra_boxes_with_any(places, all / places, entries);
            if (out[d] > entries || d == s->rank - 1) out[d] = entries;
        }
        if (o->positions[d] > 0) out[d] = o->positions[d];
    }
}

/* indices_d and the like, by the depth in their name. */
static int level_of(const char *name, const char *before) {
    size_t n = strlen(before);
    return strncmp(name, before, n) == 0 && isdigit((unsigned char)name[n]) ? name[n] - '0' + (name[n + 1] ? 10 : 0)
                                                                            : -1;
}

/* Statistics of a hash map, whose keys are the position in the level above (unless it is at the root) and the
 * coordinates of its levels. */
static void about_map(const composer *c, int ref, const tra_component *x, const double *positions,
                      tra_storel_about *about) {
    const tra_storage *s = c->operand[ref].storage;
    int depth = level_of(x->name, "positions_");
    if (depth < 0) depth = x->nsizes == s->rank && s->level[0] == TRA_CALC_LEVEL_HASH ? 0 : s->rank - x->nsizes + 1;
    double keys = 1;
    for (int d = 0; d < x->nsizes; d++) {
        int level = depth + d - (depth > 0);
        about->n[d] = positions[level] / fmax(keys, 1e-9);
        keys = positions[level];
        if (level >= depth) about->extent[d] = c->extent_name[c->s->ref[ref].label[s->order[level]]] + 1;
    }
}

static void about_level(composer *c, int ref, int k, int name) {
    const tra_storel_operand *o = &c->operand[ref];
    const tra_storage *s = o->storage;
    const tra_component *x = &s->components[k];
    tra_storel_about *about = &c->about[name];
    double positions[TRA_CALC_MAXRANK], last;
    find_positions(c, ref, positions);
    last = s->rank ? positions[s->rank - 1] : 1;
    int size = level_of(x->name, "size_"), pointers = level_of(x->name, "pointers_to_");
    int indices = level_of(x->name, "indices_");
    if (size >= 0) about->value = positions[size];
    if (x->kind == TRA_COMPONENT_ARRAY) about->n[0] = last;
    if (pointers > 0 && pointers < s->rank) about->n[0] = positions[pointers - 1] + 1;
    if (indices >= 0 && indices < s->rank) {
        double before = indices ? positions[indices - 1] : 1;
        bool repeated = indices + 1 < s->rank && s->level[indices + 1] == TRA_CALC_LEVEL_SINGLETON;
        about->n[0] = positions[indices];
        about->part = positions[indices] / fmax(before, 1e-9);
        about->squares = o->squares[indices] > 0 ? o->squares[indices] / fmax(positions[indices], 1) : NAN;
        about->ascending = s->level[indices] == TRA_CALC_LEVEL_SPARSE && !repeated;
        about->below = c->extent_name[c->s->ref[ref].label[s->order[indices]]] + 1;
    }
    if (x->kind == TRA_COMPONENT_HASHMAP) about_map(c, ref, x, positions, about);
}

static void about_component(composer *c, int ref, int k, int name) {
    const tra_storel_operand *o = &c->operand[ref];
    const tra_component *x = &o->storage->components[k];
    tra_storel_about *about = &c->about[name];
    double all = 1, entries = o->entries, keys = 1;
    for (int d = 0; d < o->storage->rank; d++) all *= c->extent[c->s->ref[ref].label[d]];
    if (isnan(entries)) entries = all;
    about->kind = x->kind == TRA_COMPONENT_SCALAR  ? TRA_STOREL_NUMBER
                  : x->kind == TRA_COMPONENT_ARRAY ? TRA_STOREL_ARRAY
                                                   : TRA_STOREL_HASHED;
    if (o->storage->by_levels) {
        about_level(c, ref, k, name);
        return;
    }
    if (x->kind == TRA_COMPONENT_ARRAY) about->n[0] = entries;
    for (int d = 0; about->kind == TRA_STOREL_HASHED && d < x->nsizes; d++) {
        /* keys that are the dimensions, evenly spread */
        bool dims = x->nsizes == o->storage->rank;
        double n = dims ? c->extent[c->s->ref[ref].label[d]] : sqrt(entries);
        double now = d + 1 == x->nsizes ? entries : tra_distinct_after(keys * n, entries);
        about->n[d] = now / fmax(keys, 1e-9);
        keys = fmax(now, 1e-9);
    }
}

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

/* The tree with other names in the place of those of its scope. */
static tra_calc *renamed(composer *c, const tra_calc *x, const char *const *names) {
    tra_calc *y = tra_new(c->arena, tra_calc);
    *y = *x;
    y->kids = tra_news(c->arena, tra_calc *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = renamed(c, x->kids[i], names);
    if (x->kind == TRA_CALC_NAME && x->level < 0) y->name = names[x->index];
    return y;
}

static tra_status add_components(composer *c, int ref, const char **names) {
    const tra_storage *s = c->operand[ref].storage;
    for (int k = 0; k < s->ncomponents; k++) {
        const tra_component *x = &s->components[k];
        bool real = x->real && !s->whole;
        tra_calc_type t = {real, x->real && c->operand[ref].sparse, x->kind == TRA_COMPONENT_SCALAR ? 0 : x->nsizes};
        if (x->kind == TRA_COMPONENT_HASHMAP || x->kind == TRA_COMPONENT_TRIE) t.sparse = true;
        tra_storel_source from = {TRA_STOREL_COMPONENT, ref, k, x->kind, NULL};
        int name = add_name(c, tra_arena_printf(c->arena, "%s_%s", c->tensor[ref], x->name), t, from);
        if (name < 0) return too_many(c);
        about_component(c, ref, k, name);
        names[s->first_component + k] = c->scope[name].name;
        if (x->kind == TRA_COMPONENT_ARRAY) c->source[name].size = renamed(c, x->size[0], names);
    }
    return TRA_OK;
}

static const tra_calc *product_of_extents(composer *c, int ref) {
    const tra_einsum_ref *r = &c->s->ref[ref];
    tra_str text = {0};
    tra_calc_error err;
    tra_str_add(&text, "1");
    for (int d = 0; d < r->n; d++) tra_str_printf(&text, " * %s", c->scope[c->extent_name[r->label[d]]].name);
    char *kept = tra_arena_take(c->arena, &text);
    return tra_calc_parse(kept, (int)strlen(kept), c->arena, &err);
}

/* The elements of a dense array need no mapping: they are looked up where they lie. */
static tra_status add_dense(composer *c, int ref) {
    const tra_storel_operand *o = &c->operand[ref];
    tra_storel_source from = {.kind = TRA_STOREL_COMPONENT, .operand = ref, .component = TRA_COMPONENT_ARRAY};
    const char *wish = tra_arena_printf(c->arena, "%s_values", c->tensor[ref]);
    int name = add_name(c, wish, (tra_calc_type){o->real, o->sparse, 1}, from);
    if (name < 0) return too_many(c);
    c->tensor[ref] = c->scope[name].name;
    c->about[name].kind = TRA_STOREL_ARRAY;
    c->about[name].n[0] = 1;
    for (int d = 0; d < c->s->ref[ref].n; d++) c->about[name].n[0] *= c->extent[c->s->ref[ref].label[d]];
    c->source[name].size = product_of_extents(c, ref);
    return TRA_OK;
}

/* x_values(i * n_j + j) */
static void print_element(const composer *c, int ref, tra_str *out) {
    const tra_einsum_ref *r = &c->s->ref[ref];
    tra_str_printf(out, "%s(", c->tensor[ref]);
    for (int d = 0; d + 1 < r->n; d++) tra_str_add(out, d ? "((" : "(");
    for (int d = 0; d < r->n; d++) {
        const char *n = c->scope[c->extent_name[r->label[d]]].name;
        if (d)
            tra_str_printf(out, " * %s) + %s%s", n, c->label[r->label[d]], d + 1 < r->n ? ")" : "");
        else
            tra_str_add(out, c->label[r->label[d]]);
    }
    tra_str_add(out, r->n ? ")" : "0)");
}

static tra_status add_mapping(composer *c, int ref, tra_str *out) {
    const tra_storel_operand *o = &c->operand[ref];
    const tra_storage *s = o->storage;
    const char **names = tra_news(c->arena, const char *, s->nscope);
    for (int d = 0; d < s->rank; d++) names[d] = c->scope[c->extent_name[c->s->ref[ref].label[d]]].name;
    for (int d = 0; s->at_origin && d < s->rank; d++) {
        tra_storel_source from = {TRA_STOREL_ORIGIN, ref, d, TRA_COMPONENT_SCALAR, NULL};
        int name = add_name(c, tra_arena_printf(c->arena, "%s_at_%d", c->tensor[ref], d), (tra_calc_type){0}, from);
        if (name < 0) return too_many(c);
        c->about[name].value = 0;
        names[s->rank + d] = c->scope[name].name;
    }
    TRA_TRY(add_components(c, ref, names));
    tra_calc_print(renamed(c, s->mapping, names), out);
    return TRA_OK;
}

/* ---- the statement ----------------------------------------------------------------------------------------------- */

static void print_labels(const composer *c, int ref, tra_str *out) {
    const tra_einsum_ref *r = &c->s->ref[ref];
    for (int d = 0; d < r->n; d++) tra_str_printf(out, "%s%s", d ? ", " : "", c->label[r->label[d]]);
}

/* References that are factors, and of sparse type, are looped over. */
static void find_loops(composer *c, const tra_scalar *x) {
    switch ((int)x->op) {
    case TRA_S_MUL:
        find_loops(c, x->a);
        find_loops(c, x->b);
        return;
    case TRA_S_DIV:
    case TRA_S_NEG:
    case TRA_S_WIDE: find_loops(c, x->a); return;
    case TRA_S_ARG:
        if (c->operand[x->arg].sparse && c->operand[x->arg].storage && c->s->ref[x->arg].n > 0 && !c->element[x->arg])
            c->element[x->arg] = fresh(c, "v");
        return;
    }
}

static tra_status print_value(composer *c, const tra_scalar *x, bool real, tra_str *out);

static tra_status print_call(composer *c, const char *before, const tra_scalar *x, const char *between, bool real,
                             tra_str *out) {
    tra_str_add(out, before);
    TRA_TRY(print_value(c, x->a, real, out));
    if (between) {
        tra_str_add(out, between);
        TRA_TRY(print_value(c, x->b, real, out));
    }
    tra_str_add(out, ")");
    return TRA_OK;
}

static tra_status print_value(composer *c, const tra_scalar *x, bool real, tra_str *out) {
    char buf[32];
    switch ((int)x->op) {
    case TRA_S_CONST:
        if (!isfinite(x->value)) return tra_fail(c->e, TRA_NO, "the calculus has no number that is not finite");
        tra_exactly(fabs(x->value), buf);
        tra_str_printf(out, x->value < 0 ? "(-%s%s)" : "%s%s", buf,
                       strpbrk(buf, ".e") || (!real && x->value == floor(x->value)) ? "" : ".0");
        return TRA_OK;
    case TRA_S_ARG:
        if (c->element[x->arg]) {
            tra_str_add(out, c->element[x->arg]);
        } else if (!c->operand[x->arg].storage) {
            print_element(c, x->arg, out);
        } else if (c->s->ref[x->arg].n == 0) {
            tra_str_add(out, c->tensor[x->arg]);
        } else {
            tra_str_printf(out, "%s(", c->tensor[x->arg]);
            print_labels(c, x->arg, out);
            tra_str_add(out, ")");
        }
        return TRA_OK;
    case TRA_S_ADD: return print_call(c, "(", x, " + ", real, out);
    case TRA_S_SUB: return print_call(c, "(", x, " - ", real, out);
    case TRA_S_MUL: return print_call(c, "(", x, " * ", real, out);
    case TRA_S_DIV: return print_call(c, real ? "(" : "(real(", x, real ? " / " : ") / ", real, out);
    case TRA_S_POW: /* a square */
        if (x->b->op != TRA_S_CONST || x->b->value != 2) break;
        return print_value(c, &(tra_scalar){.op = TRA_S_MUL, .a = x->a, .b = x->a}, real, out);
    case TRA_S_MIN: return print_call(c, "min(", x, ", ", real, out);
    case TRA_S_MAX: return print_call(c, "max(", x, ", ", real, out);
    case TRA_S_NEG: return print_call(c, "(-", x, NULL, real, out);
    case TRA_S_WIDE: return print_value(c, x->a, real, out);
    case TRA_S_ABS:
    case TRA_S_EXP:
    case TRA_S_LOG:
    case TRA_S_SQRT:
        return print_call(c, tra_arena_printf(c->arena, "%s(", tra_scalar_text(x->op)), x, NULL, real, out);
    }
    return tra_fail(c->e, TRA_NO, "the calculus has no function '%s'", tra_scalar_text(x->op));
}

static tra_status print_statement(composer *c, tra_str *out) {
    const tra_einsum *s = c->s;
    bool bound[TRA_MAXLABELS] = {0}, any = false, real = false;
    find_loops(c, s->expr);
    for (int i = 0; i < s->nrefs; i++) {
        real |= c->operand[i].real;
        if (!c->element[i]) continue;
        tra_str_add(out, any ? ", <(" : "sum(<(");
        print_labels(c, i, out);
        tra_str_printf(out, "), %s> in %s", c->element[i], c->tensor[i]);
        any = true;
        for (int d = 0; d < s->ref[i].n; d++) bound[s->ref[i].label[d]] = true;
    }
    for (int l = 0; l < s->nlabels; l++) {
        bool used = false;
        for (int d = 0; d < s->nout; d++) used |= s->out[d] == l;
        for (int i = 0; i < s->nrefs; i++)
            for (int d = 0; d < s->ref[i].n; d++) used |= s->ref[i].label[d] == l;
        if (bound[l] || !used) continue;
        tra_str_printf(out, "%s<%s, _> in 0:%s", any ? ", " : "sum(", c->label[l], c->scope[c->extent_name[l]].name);
        any = true;
    }
    if (any) tra_str_add(out, ") ");
    if (s->nout) {
        tra_str_add(out, "{(");
        for (int d = 0; d < s->nout; d++) tra_str_printf(out, "%s%s", d ? ", " : "", c->label[s->out[d]]);
        tra_str_add(out, ") -> ");
    }
    TRA_TRY(print_value(c, s->expr, real, out));
    if (s->nout) tra_str_add(out, "}");
    return TRA_OK;
}

static void take_names(composer *c) {
    for (int i = 0; i < c->s->nrefs; i++) {
        if (c->operand[i].storage) take_bound(c, c->operand[i].storage->mapping);
    }
}

/* The first label that has the same extent, because two references have the same array. */
static int same_extent(const composer *c, int label) {
    int group[TRA_MAXLABELS];
    for (int l = 0; l < c->s->nlabels; l++) group[l] = l;
    for (int i = 0; i < c->s->nrefs; i++) {
        int same = c->operand[i].same;
        for (int d = 0; same >= 0 && d < c->s->ref[i].n; d++) {
            int a = group[c->s->ref[i].label[d]], b = group[c->s->ref[same].label[d]];
            for (int l = 0; l < c->s->nlabels; l++)
                if (group[l] == a || group[l] == b) group[l] = a < b ? a : b;
        }
    }
    return group[label];
}

static tra_status compose(composer *c, tra_str *text) {
    const tra_einsum *s = c->s;
    if (s->fold != TRA_S_ADD)
        return tra_fail(c->e, TRA_NO, "the calculus adds up, it has no %s", tra_scalar_text(s->fold));
    take_names(c);
    for (int l = 0; l < s->nlabels; l++) c->extent_name[l] = -1;
    for (int l = 0; l < s->nlabels; l++) {
        c->label[l] = fresh(c, s->name[l]);
        int other = same_extent(c, l);
        if (other < l) {
            c->extent_name[l] = c->extent_name[other];
            continue;
        }
        tra_storel_source from = {TRA_STOREL_EXTENT, -1, l, TRA_COMPONENT_SCALAR, NULL};
        c->extent_name[l] = add_name(c, tra_arena_printf(c->arena, "n_%s", s->name[l]), (tra_calc_type){0}, from);
        if (c->extent_name[l] < 0) return too_many(c);
        c->about[c->extent_name[l]].value = c->extent[l];
    }
    for (int i = 0; i < s->nrefs; i++) {
        int same = c->operand[i].same;
        c->tensor[i] = same >= 0 ? c->tensor[same] : fresh(c, c->operand[i].name);
        if (same >= 0) continue;
        if (!c->operand[i].storage) {
            TRA_TRY(add_dense(c, i));
            continue;
        }
        tra_str_printf(text, "let %s = ", c->tensor[i]);
        TRA_TRY(add_mapping(c, i, text));
        tra_str_add(text, " in ");
    }
    return print_statement(c, text);
}

/* Sizes are parsed again, so that a check of their names may write into them. */
static tra_status checked_size(composer *c, int name, tra_err *e) {
    tra_str text = {0};
    tra_calc_error err = {0};
    tra_calc_print(c->source[name].size, &text);
    char *kept = tra_arena_take(c->arena, &text);
    const tra_calc *x = tra_calc_parse(kept, (int)strlen(kept), c->arena, &err);
    if (!x || !tra_calc_check(x, c->n, c->scope, c->arena, &err))
        return tra_fail(e, TRA_INTERNAL, "the size of %s is no program: %s in %s", c->scope[name].name, err.msg, kept);
    c->source[name].size = x;
    return TRA_OK;
}

tra_status tra_storel_compose(const tra_einsum *s, const double *extent, const tra_storel_operand *operand,
                              tra_arena *a, tra_storel_composed *out, tra_err *e) {
    composer *c = tra_new(a, composer);
    *c = (composer){.s = s, .extent = extent, .operand = operand, .arena = a, .e = e};
    tra_str text = {0};
    tra_calc_error err = {0};
    tra_status status = compose(c, &text);
    char *kept = tra_arena_take(a, &text);
    if (status != TRA_OK) return status;
    const tra_calc *x = tra_calc_parse(kept, (int)strlen(kept), a, &err);
    if (!x || !tra_calc_check(x, c->n, c->scope, a, &err))
        return tra_fail(e, TRA_INTERNAL, "the naive plan is no program: %s in %s", err.msg, kept);
    *out = (tra_storel_composed){.source = c->source};
    for (int i = 0; i < c->n; i++)
        if (c->source[i].size) TRA_TRY(checked_size(c, i, e));
    out->problem = (tra_storel_problem){.tree = x, .n = c->n, .scope = c->scope, .about = c->about};
    for (int d = 0; d < s->nout; d++) out->problem.extent[d] = c->extent_name[s->out[d]] + 1;
    return TRA_OK;
}
