/* block.c - one block of a stored tensor: sizes of components, entries, and where each coordinate is held. */
#include "storage_int.h"

#include <stdlib.h>
#include <string.h>

/* What the names of the mapping stand for, components from the k-th on left out. */
static tra_status fill_scope(const tra_storage *s, const tra_storage_block *b, int k, tra_calc_free *scope,
                             tra_err *e) {
    for (int i = 0; i < s->rank; i++) {
        scope[i] = (tra_calc_free){.number = tra_calc_int(b->extent[i])};
        if (s->at_origin) scope[s->rank + i] = (tra_calc_free){.number = tra_calc_int(b->origin ? b->origin[i] : 0)};
        for (int j = 0; j < i; j++)
            if (strcmp(s->dim[i], s->dim[j]) == 0 && b->extent[i] != b->extent[j])
                return tra_fail(e, TRA_INPUT, "storage %s is for blocks of equal extents, not %" PRId64 " and %" PRId64,
                                s->decl->name, b->extent[j], b->extent[i]);
    }
    for (int i = 0; i < k; i++)
        scope[s->first_component + i] = (tra_calc_free){.component = &b->component[i], .kind = s->components[i].kind};
    return TRA_OK;
}

static tra_calc_free *new_scope(const tra_storage *s) {
    return tra_calloc((size_t)s->nscope + 1, sizeof(tra_calc_free));
}

int64_t tra_storage_steps(const tra_storage *s, const tra_storage_block *b) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n = tra_mul_most(n, b->extent[i]);
    for (int i = 0; i < s->ncomponents; i++) n = tra_add_most(n, b->component[i].value.n);
    return tra_add_most(10000, tra_mul_most(n, 100));
}

tra_status tra_component_sizes(const tra_storage *s, const tra_storage_block *b, int k, int64_t *size, tra_err *e) {
    const tra_component *c = &s->components[k];
    tra_calc_free *scope = new_scope(s);
    tra_status status = fill_scope(s, b, k, scope, e);
    for (int i = 0; i < c->nsizes && status == TRA_OK; i++) {
        tra_calc_number v;
        status = tra_calc_scalar(c->size[i], s->first_component + k, scope, tra_storage_steps(s, b), &v, e);
        size[i] = v.i;
        if (status == TRA_OK && v.i < 0)
            status = tra_fail(e, TRA_INPUT, "component %s of storage %s would have %" PRId64 " elements", c->name,
                              s->decl->name, v.i);
    }
    free(scope);
    return status;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static bool is_float(tra_element t) { return t == TRA_ELEMENT_F64 || t == TRA_ELEMENT_F32; }

static int64_t key_at(const tra_elements *x, int64_t i) {
    if (is_float(x->type)) return -1;
#define X(name, ctype, ...)                                                                                            \
    case TRA_ELEMENT_##name: return (int64_t)((const ctype *)x->data)[i];
    switch (x->type) { TRA_ELEMENTS(X) }
#undef X
    return -1;
}

static tra_status check_keys(const tra_component *c, const tra_component_data *d, const int64_t *size,
                             const char *where, tra_err *e) {
    for (int k = 0; k < c->nsizes; k++)
        if (d->key[k].n != d->value.n || is_float(d->key[k].type) || (!d->key[k].data && d->value.n))
            return tra_fail(e, TRA_INPUT, "%s: component %s has %" PRId64 " values, but not as many keys", where,
                            c->name, d->value.n);
    for (int64_t i = 0; i < d->value.n; i++) {
        int order = 0; /* of entry i - 1 to this one */
        for (int k = 0; k < c->nsizes; k++) {
            int64_t v = key_at(&d->key[k], i);
            if (v < 0 || v >= size[k])
                return tra_fail(e, TRA_INPUT,
                                "%s: component %s: key %d of entry %" PRId64 " is %" PRId64
                                ", not one of 0 to %" PRId64,
                                where, c->name, k, i, v, size[k] - 1);
            if (i && order == 0) order = key_at(&d->key[k], i - 1) < v ? -1 : key_at(&d->key[k], i - 1) > v;
        }
        if (i && order >= 0)
            return tra_fail(e, TRA_INPUT, "%s: component %s: the keys of entry %" PRId64 " do not follow those before",
                            where, c->name, i);
    }
    return TRA_OK;
}

tra_status tra_component_check(const tra_storage *s, const tra_storage_block *b, const char *where, tra_err *e) {
    for (int k = 0; k < s->ncomponents; k++) {
        const tra_component *c = &s->components[k];
        const tra_component_data *d = &b->component[k];
        int64_t size[TRA_CALC_MAXRANK];
        TRA_TRY(tra_component_sizes(s, b, k, size, e));
        if ((!c->real || s->whole) && is_float(d->value.type))
            return tra_fail(e, TRA_INPUT, "%s: component %s has floats where integers are wanted", where, c->name);
        if (c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE) {
            TRA_TRY(check_keys(c, d, size, where, e));
            continue;
        }
        int64_t want = c->kind == TRA_COMPONENT_SCALAR ? 1 : size[0];
        if (d->value.n != want)
            return tra_fail(e, TRA_INPUT, "%s: component %s has %" PRId64 " elements, not %" PRId64, where, c->name,
                            d->value.n, want);
    }
    return TRA_OK;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

typedef struct checked {
    const tra_storage *s;
    const tra_storage_block *b;
    tra_calc_sink *sink;
    void *ctx;
} checked;

static tra_status give_inside(void *ctx, const tra_calc_entry *x, tra_err *e) {
    const checked *c = ctx;
    bool inside = true;
    for (int i = 0; i < c->s->rank; i++) inside &= x->key[i] >= 0 && x->key[i] < c->b->extent[i];
    if (inside) {
        tra_calc_entry y = *x;
        y.component = x->component < 0 ? -1 : x->component - c->s->first_component;
        return c->sink(c->ctx, &y, e);
    }
    tra_str key = {0}, extent = {0};
    for (int i = 0; i < c->s->rank; i++) {
        tra_str_printf(&key, "%s%" PRId64, i ? ", " : "", x->key[i]);
        tra_str_printf(&extent, "%s%" PRId64, i ? " x " : "", c->b->extent[i]);
    }
    tra_status s = tra_fail(e, TRA_INPUT, "storage %s gives key (%s), which is outside of a block of %s",
                            c->s->decl->name, tra_str_get(&key), tra_str_get(&extent));
    tra_str_free(&key);
    tra_str_free(&extent);
    return s;
}

static tra_status run(const tra_storage *s, const tra_storage_block *b, int64_t steps, unsigned how,
                      tra_calc_sink *sink, void *ctx, tra_err *e) {
    tra_calc_free *scope = new_scope(s);
    checked c = {s, b, sink, ctx};
    tra_status status = fill_scope(s, b, s->ncomponents, scope, e);
    if (steps <= 0) steps = tra_storage_steps(s, b);
    if (status == TRA_OK) status = calc_run(s->mapping, s->nscope, scope, steps, how, give_inside, &c, e);
    free(scope);
    return status;
}

tra_status tra_storage_run(const tra_storage *s, const tra_storage_block *b, int64_t steps, tra_calc_sink *sink,
                           void *ctx, tra_err *e) {
    return run(s, b, steps, 0, sink, ctx, e);
}

tra_status tra_storage_visit(const tra_storage *s, const tra_storage_block *b, int64_t steps, tra_calc_sink *sink,
                             void *ctx, tra_err *e) {
    return run(s, b, steps, CALC_PLACES | CALC_UNWATCHED, sink, ctx, e);
}

/* ---- backwards --------------------------------------------------------------------------------------------------- */

typedef struct trace {
    const tra_storage *s;
    const tra_storage_block *b;
    tra_storage_places *out;
    int64_t cap, most;
} trace;

static tra_status add_place(void *ctx, const tra_calc_entry *x, tra_err *e) {
    trace *t = ctx;
    tra_storage_places *p = t->out;
    int64_t at = 0;
    if (x->component < 0)
        return tra_fail(e, TRA_PROGRAM, "storage %s computes values that no component holds, so it cannot be filled",
                        t->s->decl->name);
    for (int i = 0; i < t->s->rank; i++) at = at * t->b->extent[i] + x->key[i];
    if (p->n == t->most)
        return tra_fail(e, TRA_RESOURCE, "storage %s has more than %" PRId64 " entries, for which there is no memory",
                        t->s->decl->name, t->most);
    TRA_ROOM(p->v, p->n, t->cap);
    p->v[p->n++] = (tra_storage_place){at, x->component, x->element};
    return TRA_OK;
}

static int by_place(const void *a, const void *b) {
    const tra_storage_place *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

tra_status tra_storage_find_sizes(const tra_storage *s, tra_storage_block *b, tra_err *e) {
    for (int k = 0; k < s->ncomponents; k++) {
        int64_t size[TRA_CALC_MAXRANK];
        const tra_component *c = &s->components[k];
        if (b->component[k].value.data) continue;
        if (c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE)
            return tra_fail(e, TRA_PROGRAM,
                            "storage %s: which keys component %s has does not follow from extents alone", s->decl->name,
                            c->name);
        TRA_TRY(tra_component_sizes(s, b, k, size, e));
        b->component[k].value.n = c->kind == TRA_COMPONENT_SCALAR ? 1 : size[0];
    }
    return TRA_OK;
}

tra_status tra_storage_trace(const tra_storage *s, tra_storage_block *b, int64_t steps, tra_storage_places *out,
                             tra_err *e) {
    return tra_storage_trace_most(s, b, steps, INT64_MAX, out, e);
}

tra_status tra_storage_trace_most(const tra_storage *s, tra_storage_block *b, int64_t steps, int64_t most,
                                  tra_storage_places *out, tra_err *e) {
    int64_t n = 1;
    *out = (tra_storage_places){0};
    for (int i = 0; i < s->rank; i++)
        if (!tra_mul(n, b->extent[i], &n))
            return tra_fail(e, TRA_RESOURCE, "a block has more coordinates than 64 bits count");
    trace t = {s, b, out, 0, most};
    tra_status status = tra_storage_find_sizes(s, b, e);
    if (status == TRA_OK) status = run(s, b, steps, CALC_PLACES, add_place, &t, e);
    if (status == TRA_OK && out->n) qsort(out->v, (size_t)out->n, sizeof *out->v, by_place);
    for (int64_t i = 1; i < out->n && status == TRA_OK; i++)
        if (out->v[i].at == out->v[i - 1].at)
            status = tra_fail(e, TRA_PROGRAM,
                              "storage %s adds up several elements in one coordinate, so it cannot be filled",
                              s->decl->name);
    if (status != TRA_OK) tra_storage_places_free(out);
    return status;
}

void tra_storage_places_free(tra_storage_places *p) {
    free(p->v);
    *p = (tra_storage_places){0};
}

bool tra_storage_is_total(const tra_storage *s, const tra_storage_block *b) {
    bool dense = s->by_levels;
    for (int i = 0; i < s->rank && dense; i++) dense = s->level[i] == TRA_CALC_LEVEL_DENSE;
    if (s->by_levels) return dense;
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n = tra_mul_most(n, b->extent[i]);
    if (n > TRA_STORAGE_TRIED) return false;
    tra_component_data *none = tra_calloc((size_t)s->ncomponents + 1, sizeof *none);
    tra_storage_block tried = {b->extent, b->origin, none};
    tra_storage_places p;
    bool all = tra_storage_trace(s, &tried, 10000 + 200 * n, &p, NULL) == TRA_OK && p.n == n;
    tra_storage_places_free(&p);
    free(none);
    return all;
}
