/* value.c - dictionaries that are built, and views of those that are not. */
#include "value.h"
#include "../base/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t tra_element_size(tra_element t) {
    static const size_t sizes[] = {
#define X(name, type, ...) sizeof(type),
        TRA_ELEMENTS(X)
#undef X
    };
    return sizes[t];
}

/* 0 <= i < x->n, and the data are there. */
static tra_calc_number element_at(const tra_elements *x, int64_t i) {
#define NUMBER_REAL(v)  tra_calc_real((double)(v))
#define NUMBER_WHOLE(v) tra_calc_int(v)
#define NUMBER_TRUTH(v) tra_calc_int((v) != 0)
#define X(name, ctype, kind)                                                                                           \
    case TRA_ELEMENT_##name: return NUMBER_##kind(((const ctype *)x->data)[i]);
    switch (x->type) { TRA_ELEMENTS(X) }
#undef X
    return tra_calc_int(0);
}

/* ---- dictionaries that are built ------------------------------------------------------------------------------ */

static _Thread_local int64_t room = INT64_MAX; /* bytes that dictionaries may still take */

void tra_calc_limit(int64_t bytes) { room = bytes; }
bool calc_is_full(void) { return room < 0; }

static int64_t taken_by(const calc_dict *d) {
    return (int64_t)sizeof *d + d->cap * (int64_t)(sizeof *d->key + sizeof *d->cell) +
           d->nslots * (int64_t)sizeof *d->slot;
}

calc_dict *calc_dict_new(int depth, bool real) {
    room -= (int64_t)sizeof(calc_dict);
    calc_dict *d = tra_calloc(1, sizeof *d);
    d->depth = depth;
    d->real = real;
    return d;
}

void calc_dict_free(calc_dict *d) {
    if (!d) return;
    room += taken_by(d);
    for (int64_t i = 0; d->depth > 1 && i < d->n; i++) calc_dict_free(d->cell[i].dict);
    free(d->key);
    free(d->cell);
    free(d->slot);
    free(d);
}

static uint64_t hash_of(int64_t key) { return tra_mix((uint64_t)key ^ tra_hash_seed()); }

static void index_keys(calc_dict *d) {
    free(d->slot);
    room += taken_by(d);
    d->nslots = d->nslots ? 2 * d->nslots : 32;
    room -= taken_by(d);
    d->slot = tra_calloc((size_t)d->nslots, sizeof *d->slot);
    for (int64_t i = 0; i < d->n; i++) {
        uint64_t at = hash_of(d->key[i]);
        while (d->slot[at & (uint64_t)(d->nslots - 1)]) at++;
        d->slot[at & (uint64_t)(d->nslots - 1)] = i + 1;
    }
}

/* The place of a key, made where it has none. */
static int64_t place_of(calc_dict *d, int64_t key) {
    if (d->n && d->key[d->n - 1] == key) return d->n - 1;
    if (2 * d->n >= d->nslots) index_keys(d);
    uint64_t at = hash_of(key);
    for (int64_t s; (s = d->slot[at & (uint64_t)(d->nslots - 1)]); at++)
        if (d->key[s - 1] == key) return s - 1;
    if (d->n == d->cap) {
        room += taken_by(d);
        d->cap = d->cap ? 2 * d->cap : 4;
        room -= taken_by(d);
        d->key = tra_realloc(d->key, (size_t)d->cap, sizeof *d->key);
        d->cell = tra_realloc(d->cell, (size_t)d->cap, sizeof *d->cell);
    }
    d->slot[at & (uint64_t)(d->nslots - 1)] = d->n + 1;
    d->key[d->n] = key;
    memset(&d->cell[d->n], 0, sizeof *d->cell);
    if (d->depth > 1) d->cell[d->n].dict = calc_dict_new(d->depth - 1, d->real);
    return d->n++;
}

bool calc_dict_add(calc_dict *d, const int64_t *key, tra_calc_number v) {
    int64_t at = place_of(d, *key++); /* first: it may move the cells */
    for (; d->depth > 1; at = place_of(d, *key++)) d = d->cell[at].dict;
    calc_cell *c = &d->cell[at];
    if (!d->real) return tra_add(c->i, v.i, &c->i);
    c->r += tra_calc_as_real(v);
    return true;
}

static int by_key(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool cell_is_zero(const calc_dict *d, const calc_cell *c) {
    return d->depth > 1 ? c->dict->n == 0 : d->real ? c->r == 0 : c->i == 0;
}

typedef struct keyed {
    int64_t key;
    calc_cell cell;
} keyed;

void calc_dict_finish(calc_dict *d) {
    int64_t kept = 0;
    bool ascending = true;
    for (int64_t i = 0; i < d->n; i++) {
        if (d->depth > 1) calc_dict_finish(d->cell[i].dict);
        if (cell_is_zero(d, &d->cell[i])) {
            if (d->depth > 1) calc_dict_free(d->cell[i].dict);
            continue;
        }
        d->key[kept] = d->key[i];
        d->cell[kept] = d->cell[i];
        ascending &= kept == 0 || d->key[kept - 1] < d->key[kept];
        kept++;
    }
    d->n = kept;
    free(d->slot);
    room += taken_by(d);
    d->slot = NULL;
    d->nslots = 0;
    room -= taken_by(d);
    d->sorted = true;
    if (ascending) return;
    keyed *all = tra_malloc((size_t)kept * sizeof *all);
    for (int64_t i = 0; i < kept; i++) all[i] = (keyed){d->key[i], d->cell[i]};
    qsort(all, (size_t)kept, sizeof *all, by_key);
    for (int64_t i = 0; i < kept; i++) d->key[i] = all[i].key, d->cell[i] = all[i].cell;
    free(all);
}

/* ---- views ---------------------------------------------------------------------------------------------------- */

calc_value calc_number(tra_calc_number v) { return (calc_value){.number = v, .component = -1}; }

calc_value calc_dict_value(const calc_dict *d, int depth) {
    return (calc_value){
        .kind = CALC_VALUE_DICT, .depth = depth, .component = -1, .lo = INT64_MIN, .hi = INT64_MAX, .dict = d};
}

calc_value calc_zero(tra_calc_type t) {
    return t.depth ? calc_dict_value(NULL, t.depth) : calc_number((tra_calc_number){.real = t.real});
}

/* An element, or where it would be. */
static calc_value element(int component, const tra_elements *x, int64_t i, bool real) {
    calc_value v = calc_number(x->data ? element_at(x, i) : (tra_calc_number){real, 1, 1});
    if (real && !v.number.real)
        v.number = tra_calc_real((double)v.number.i);
    else if (!real && v.number.real) /* not what it was declared: tra_component_check refuses it */
        v.number = tra_calc_int(fabs(v.number.r) < 0x1p62 ? (int64_t)v.number.r : 0);
    v.unknown = !x->data;
    v.component = component;
    v.element = i;
    return v;
}

calc_value calc_component_value(int index, const tra_calc_free *f, tra_calc_type t) {
    const tra_component_data *c = f->component;
    if (f->kind == TRA_COMPONENT_SCALAR) return c->value.n > 0 ? element(index, &c->value, 0, t.real) : calc_zero(t);
    int64_t n = c->value.n;
    for (int d = 0; d < t.depth && f->kind != TRA_COMPONENT_ARRAY; d++) n = tra_min64(n, c->key[d].n);
    return (calc_value){.kind = CALC_VALUE_COMPONENT,
                        .depth = t.depth,
                        .component = index,
                        .lo = f->kind == TRA_COMPONENT_ARRAY ? 0 : INT64_MIN,
                        .hi = f->kind == TRA_COMPONENT_ARRAY ? c->value.n : INT64_MAX,
                        .data = c,
                        .held = f->kind,
                        .last = n};
}

/* The first of entries first..last-1 whose key at this level is not below. */
static int64_t lower_bound(const tra_elements *keys, int64_t first, int64_t last, int64_t key) {
    TRA_BISECT(first, last, middle, element_at(keys, middle).i < key);
    return first;
}

static int64_t dict_place(const calc_dict *d, int64_t key) {
    int64_t first = 0;
    TRA_BISECT(first, d->n, middle, d->key[middle] < key);
    return first;
}

static calc_value get_component(const calc_value *v, bool real, int64_t key) {
    tra_calc_type zero = {.real = real, .depth = v->depth - 1};
    if (v->held == TRA_COMPONENT_ARRAY) return element(v->component, &v->data->value, key, real);
    const tra_elements *keys = &v->data->key[v->level];
    int64_t first = lower_bound(keys, v->first, v->last, key), last;
    if (first == v->last || element_at(keys, first).i != key) return calc_zero(zero);
    last = key == INT64_MAX ? v->last : lower_bound(keys, first, v->last, key + 1);
    if (v->depth == 1) return element(v->component, &v->data->value, first, real);
    calc_value out = *v;
    out.depth--;
    out.level++;
    out.first = first;
    out.last = last;
    out.lo = INT64_MIN;
    out.hi = INT64_MAX;
    return out;
}

void calc_operand_bounds(const tra_calc_operand *o, int d, calc_value *v) {
    v->lo = o->origin ? o->origin[d] : 0;
    v->hi = o->origin ? o->origin[d] + o->length[d] : o->extent[d];
}

static tra_status get_operand(const calc_value *v, int64_t key, int64_t *prefix, calc_value *out, tra_err *e) {
    const tra_calc_operand *o = v->operand;
    if (v->level && prefix != v->prefix) memcpy(prefix, v->prefix, (size_t)v->level * sizeof *prefix);
    prefix[v->level] = key;
    if (v->depth == 1) {
        *out = calc_number((tra_calc_number){.real = o->real});
        TRA_TRY(o->get(o->ctx, prefix, &out->number, e));
        if (o->real && !out->number.real) out->number = tra_calc_real((double)out->number.i);
        if (!o->real && out->number.real) return tra_fail(e, TRA_INTERNAL, "a relation of integers has a real element");
        return TRA_OK;
    }
    *out = *v;
    out->depth--;
    out->level++;
    out->prefix = prefix;
    calc_operand_bounds(o, out->level, out);
    return TRA_OK;
}

tra_status calc_value_get(const calc_value *v, bool real, int64_t key, int64_t *prefix, calc_value *out, tra_err *e) {
    *out = calc_zero((tra_calc_type){.real = real, .depth = v->depth - 1});
    if (key < v->lo || key >= v->hi) return TRA_OK;
    switch (v->kind) {
    case CALC_VALUE_NUMBER: break;
    case CALC_VALUE_RANGE: out->number = tra_calc_int(key); break;
    case CALC_VALUE_COMPONENT: *out = get_component(v, real, key); break;
    case CALC_VALUE_OPERAND: return get_operand(v, key, prefix, out, e);
    case CALC_VALUE_DICT: {
        int64_t at = v->dict ? dict_place(v->dict, key) : 0;
        if (!v->dict || at == v->dict->n || v->dict->key[at] != key) break;
        const calc_cell *c = &v->dict->cell[at];
        *out = v->depth > 1 ? calc_dict_value(c->dict, v->depth - 1)
                            : calc_number(v->dict->real ? tra_calc_real(c->r) : tra_calc_int(c->i));
        break;
    }
    }
    return TRA_OK;
}

bool calc_value_next(const calc_value *v, int64_t *key) {
    *key = tra_max64(*key, v->lo);
    switch (v->kind) {
    case CALC_VALUE_NUMBER: return false;
    case CALC_VALUE_RANGE: break;
    case CALC_VALUE_COMPONENT: {
        if (v->held == TRA_COMPONENT_ARRAY) break;
        const tra_elements *keys = &v->data->key[v->level];
        int64_t at = lower_bound(keys, v->first, v->last, *key);
        /* keys that are not sorted, of a damaged file, must not lead back */
        if (at == v->last || element_at(keys, at).i < *key) return false;
        *key = element_at(keys, at).i;
        break;
    }
    case CALC_VALUE_OPERAND:
        if (!v->operand->sparse) break;
        if (*key >= v->hi || !v->operand->next(v->operand->ctx, v->level, v->prefix, key)) return false;
        break;
    case CALC_VALUE_DICT: {
        int64_t at = v->dict ? dict_place(v->dict, *key) : 0;
        if (!v->dict || at == v->dict->n) return false;
        *key = v->dict->key[at];
        break;
    }
    }
    return *key < v->hi;
}
