/* ref_tensor.c - tensor statements by the interpreter of the calculus, on whole tensors. */
#include "reference_int.h"

#include <string.h>

static tra_status get(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    const ref_array *x = ctx;
    tra_dims place = {.n = x->ext.n};
    (void)e;
    if (place.n) memcpy(place.v, at, (size_t)place.n * sizeof *at);
    ref_num found = x->data[ref_place(&x->ext, &place)];
    *v = v->real ? tra_calc_real((double)found) : tra_calc_int((int64_t)found);
    return TRA_OK;
}

/* Is there an element that is not 0 with these first keys? */
static bool has_any(const ref_array *x, int n, const int64_t *keys) {
    tra_dims rest = {.n = x->ext.n - n}, at = {.n = rest.n};
    for (int d = 0; d < rest.n; d++) rest.v[d] = x->ext.v[n + d];
    if (ref_count(&rest) == 0) return false;
    do {
        tra_dims place = {.n = x->ext.n};
        for (int d = 0; d < place.n; d++) place.v[d] = d < n ? keys[d] : at.v[d - n];
        if (x->data[ref_place(&x->ext, &place)] != 0) return true;
    } while (ref_step(&rest, &at));
    return false;
}

static bool next(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    const ref_array *x = ctx;
    int64_t keys[TRA_MAXDIM];
    if (n) memcpy(keys, prefix, (size_t)n * sizeof *keys);
    for (; *key < x->ext.v[n]; ++*key) {
        keys[n] = *key;
        if (has_any(x, n + 1, keys)) return true;
    }
    return false;
}

static tra_status put(void *ctx, const tra_calc_entry *entry, tra_err *e) {
    ref_array *out = ctx;
    tra_dims at = {.n = out->ext.n};
    for (int d = 0; d < at.n; d++) {
        at.v[d] = entry->key[d];
        if (at.v[d] < 0 || at.v[d] >= out->ext.v[d])
            return tra_fail(e, TRA_INPUT, "a key of the result is outside of its extents");
    }
    out->data[ref_place(&out->ext, &at)] = entry->value.real ? (ref_num)entry->value.r : (ref_num)entry->value.i;
    return TRA_OK;
}

/* An element of the operand's own type: get() above is told by what *v is. */
static tra_status get_int(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    v->real = false;
    return get(ctx, at, v, e);
}

static tra_status get_real(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    v->real = true;
    return get(ctx, at, v, e);
}

tra_status ref_tensor(const tra_tensor *t, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    tra_calc_free *scope = tra_news(a, tra_calc_free, t->n);
    for (int i = 0; i < t->n; i++) {
        scope[i] = t->scope[i];
        if (!t->relation[i]) continue;
        tra_calc_operand *o = tra_new(a, tra_calc_operand);
        *o = *t->scope[i].operand;
        ref_array *whole = tra_new(a, ref_array);
        tra_dims ext = {.n = o->rank};
        for (int d = 0; d < ext.n; d++) ext.v[d] = o->extent[d];
        *whole = ref_array_new(a, &ext);
        const tra_ref_rel *x = v[t->relation[i]->id];
        if (x->n && tra_type_is_tensor(&t->relation[i]->type, NULL)) TRA_TRY(ref_assemble(x, a, whole, e));
        o->ctx = whole;
        o->get = o->real ? get_real : get_int;
        o->next = next;
        scope[i].operand = o;
    }
    const tra_type *type = &t->node->type;
    tra_dims shape;
    tra_type_shape(type, &shape);
    ref_array result = ref_array_new(a, &shape);
    result.sparse = type->sparse;
    TRA_TRY(tra_calc_run_summed(t->value, t->n, scope, INT64_MAX, put, &result, e));
    for (int64_t i = 0, n = ref_count(&shape); i < n && type->dtype == TRA_F32; i++)
        result.data[i] = (float)result.data[i];
    return ref_in_blocks(&result, &type->cat->bound, type->dtype, a, out, e);
}
