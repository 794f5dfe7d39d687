/* eval.c - the interpreter: the definition of the calculus, which follows the text of tra-storage(5) step by step. Here
 * are values and loops; contribute.c has what a dictionary is made of. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOOPS = 1000 }; /* loops inside each other; each takes a frame of the stack */

static tra_status fail_kind(interp *in, const tra_calc *x, tra_status s, tra_err_kind kind, const char *what) {
    tra_str text = {0};
    tra_calc_print(x, &text);
    bool cut = text.n > 120;
    s = tra_fail_kind(in->e, s, kind, "%s in %.*s%s", what, cut ? 120 : (int)text.n, tra_str_get(&text),
                      cut ? " .." : "");
    tra_str_free(&text);
    return s;
}

tra_status calc_fail_in(interp *in, const tra_calc *x, tra_status s, const char *what) {
    return fail_kind(in, x, s, TRA_KIND_NONE, what);
}

/* ---- what is owned ---------------------------------------------------------------------------------------------- */

static void own(interp *in, calc_dict *dict, int64_t *prefix) {
    TRA_ROOM(in->owned, in->nowned, in->cap);
    in->owned[in->nowned++] = (owned){dict, prefix};
}

static void release(interp *in, int mark) {
    while (in->nowned > mark) {
        in->nowned--;
        calc_dict_free(in->owned[in->nowned].dict);
        free(in->owned[in->nowned].prefix);
    }
}

static void bind(interp *in, const tra_calc_binder *b, const calc_value *v) {
    if (b->level < 0) return;
    if (b->level >= in->nenv) {
        in->nenv = 2 * b->level + 16;
        in->env = tra_realloc(in->env, (size_t)in->nenv, sizeof *in->env);
    }
    in->env[b->level] = *v;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* The number that x is: its contents are needed, not only its place. */
static tra_status number_of(interp *in, const tra_calc *x, tra_calc_number *out) {
    calc_value v;
    TRA_TRY(calc_eval(in, x, &v));
    *out = v.number;
    return v.unknown ? calc_fail_unknown(in, x) : TRA_OK;
}

tra_status calc_eval_whole(interp *in, const tra_calc *x, int64_t *out) {
    tra_calc_number v;
    TRA_TRY(number_of(in, x, &v));
    *out = v.i;
    return TRA_OK;
}

tra_status calc_fail_unknown(interp *in, const tra_calc *x) {
    return calc_fail_in(in, x, TRA_PROGRAM, "contents of a component that are not known are needed");
}

tra_status calc_check(interp *in, const tra_calc *x, tra_calc_wrong w) {
    return w ? fail_kind(in, x, TRA_INPUT, tra_calc_wrong_kind(w), tra_calc_wrong_text(w)) : TRA_OK;
}

static tra_status call(interp *in, const tra_calc *x, tra_calc_number *out) {
    tra_calc_number v[TRA_CALC_MAXRANK];
    for (int i = 0; i < x->nkids; i++) TRA_TRY(number_of(in, x->kids[i], &v[i]));
    return calc_check(in, x, calc_function(x->fn, x->type.real, x->nkids, v, out));
}

tra_status calc_eval_condition(interp *in, const tra_calc *x, bool *out) {
    TRA_TRY(calc_step(in, x));
    if (x->kind == TRA_CALC_NOT) {
        TRA_TRY(calc_eval_condition(in, x->kids[0], out));
        *out = !*out;
        return TRA_OK;
    }
    if (x->kind == TRA_CALC_AND || x->kind == TRA_CALC_OR) {
        TRA_TRY(calc_eval_condition(in, x->kids[0], out));
        return *out == (x->kind == TRA_CALC_OR) ? TRA_OK : calc_eval_condition(in, x->kids[1], out);
    }
    tra_calc_number a, b;
    TRA_TRY(number_of(in, x->kids[0], &a));
    TRA_TRY(number_of(in, x->kids[1], &b));
    *out = calc_compare(x->kind, a, b);
    return TRA_OK;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static tra_status run_body(interp *in, const loop *l) {
    const tra_calc *body = l->x->kids[l->x->nkids - 1];
    if (l->out) return calc_contribute(in, body, l->out);
    tra_calc_number v;
    TRA_TRY(number_of(in, body, &v));
    if (l->sum->real) {
        l->sum->r += tra_calc_as_real(v);
        return TRA_OK;
    }
    bool fits = tra_add(l->sum->i, v.i, &l->sum->i);
    return calc_check(in, l->x, fits ? TRA_CALC_WRONG_NONE : TRA_CALC_WRONG_TOO_LARGE);
}

static tra_status run_generator(interp *in, const loop *l, int g, int b);

/* The binder's value, or whether it equals the one that the name has already. */
static bool bind_or_compare(interp *in, const tra_calc_binder *b, const calc_value *v) {
    if (b->again) return calc_same_number(in->env[b->level].number, v->number);
    bind(in, b, v);
    return true;
}

/* Loops over the keys of v, whose pattern has n more names from binder b on. */
static tra_status run_keys(interp *in, const loop *l, int g, int b, int n, const calc_value *v, bool real) {
    const tra_calc_binder *key_of = &l->x->binders[b], *value_of = &l->x->binders[b + 1];
    int64_t prefix[TRA_CALC_MAXRANK];
    bool only = key_of->again && !in->env[key_of->level].number.real; /* that one key can be told at once */
    int64_t key = only ? in->env[key_of->level].number.i : INT64_MIN, first = key;
    if (in->loops++ == MOST_LOOPS) return calc_fail_in(in, l->x, TRA_RESOURCE, "too many loops inside each other");
    while (calc_value_next(v, &key)) {
        if (only && key != first) break;
        int mark = in->nowned;
        calc_value k = calc_number(tra_calc_int(key)), inner;
        TRA_TRY(calc_step(in, l->x));
        if (bind_or_compare(in, key_of, &k)) {
            TRA_TRY(calc_value_get(v, real, key, prefix, &inner, in->e));
            if (n > 1)
                TRA_TRY(run_keys(in, l, g, b + 1, n - 1, &inner, real));
            else {
                if (inner.unknown && value_of->again) return calc_fail_unknown(in, l->x);
                if (bind_or_compare(in, value_of, &inner)) TRA_TRY(run_generator(in, l, g + 1, b + 2));
            }
        }
        release(in, mark);
        if (only || key++ == INT64_MAX) break;
    }
    in->loops--;
    return TRA_OK;
}

static tra_status run_generator(interp *in, const loop *l, int g, int b) {
    if (g == l->x->nkids - 1) return run_body(in, l);
    calc_value v;
    TRA_TRY(calc_eval(in, l->x->kids[g], &v));
    return run_keys(in, l, g, b, l->x->nnames[g], &v, l->x->kids[g]->type.real);
}

/* sum(<k1, v> in e1, <k2, u> in e2) if (v == u) body */
static tra_status run_merge(interp *in, const loop *l) {
    const tra_calc *x = l->x;
    calc_value a, b, u, v;
    int64_t prefix[TRA_CALC_MAXRANK];
    TRA_TRY(calc_eval(in, x->kids[0], &a));
    TRA_TRY(calc_eval(in, x->kids[1], &b));
    for (int64_t i = INT64_MIN; calc_value_next(&a, &i); i++) {
        TRA_TRY(calc_value_get(&a, x->kids[0]->type.real, i, prefix, &v, in->e));
        for (int64_t j = INT64_MIN; calc_value_next(&b, &j); j++) {
            calc_value bound[3] = {calc_number(tra_calc_int(i)), calc_number(tra_calc_int(j)), v};
            int mark = in->nowned;
            TRA_TRY(calc_step(in, x));
            TRA_TRY(calc_value_get(&b, x->kids[1]->type.real, j, prefix, &u, in->e));
            if (u.unknown || v.unknown) return calc_fail_unknown(in, x);
            bool equal = calc_same_number(u.number, v.number);
            for (int k = 0; k < 3 && equal; k++) equal = bind_or_compare(in, &x->binders[k], &bound[k]);
            if (equal) TRA_TRY(run_body(in, l));
            release(in, mark);
            if (j == INT64_MAX) break;
        }
        if (i == INT64_MAX) break;
    }
    return TRA_OK;
}

tra_status calc_run_loop(interp *in, const loop *l) {
    return l->x->kind == TRA_CALC_MERGE ? run_merge(in, l) : run_generator(in, l, 0, 0);
}

tra_status calc_bind_let(interp *in, const tra_calc *x) {
    for (int i = 0; i < x->nbinders; i++) {
        calc_value v;
        TRA_TRY(calc_eval(in, x->kids[i], &v));
        bind(in, &x->binders[i], &v);
    }
    return TRA_OK;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static tra_status build(interp *in, const tra_calc *x, calc_value *v) {
    calc_dict *d = calc_dict_new(x->type.depth, x->type.real);
    own(in, d, NULL);
    chain out = {.sink = calc_add_to_dict, .ctx = d, .real = x->type.real};
    int mark = in->nowned;
    tra_status s = calc_contribute(in, x, &out);
    calc_seen_free(out.seen);
    if (s != TRA_OK) return s;
    release(in, mark);
    calc_dict_finish(d);
    *v = calc_dict_value(d, x->type.depth);
    return TRA_OK;
}

static tra_status apply(interp *in, const tra_calc *x, calc_value *v) {
    int64_t prefix[TRA_CALC_MAXRANK], key;
    TRA_TRY(calc_eval(in, x->kids[0], v));
    for (int i = 1; i < x->nkids; i++) {
        calc_value from = *v;
        TRA_TRY(calc_eval_whole(in, x->kids[i], &key));
        TRA_TRY(calc_value_get(&from, x->type.real, key, prefix, v, in->e));
    }
    if (v->kind == CALC_VALUE_OPERAND && v->depth > 0) {
        int64_t *kept = tra_malloc((size_t)v->level * sizeof *kept + 1);
        memcpy(kept, prefix, (size_t)v->level * sizeof *kept);
        own(in, NULL, kept);
        v->prefix = kept;
    }
    return TRA_OK;
}

static tra_status name(interp *in, const tra_calc *x, calc_value *v) {
    if (x->level >= 0) {
        *v = in->env[x->level];
        return TRA_OK;
    }
    const tra_calc_free *f = &in->scope[x->index];
    if (f->operand) {
        *v =
            (calc_value){.kind = CALC_VALUE_OPERAND, .depth = f->operand->rank, .component = -1, .operand = f->operand};
        if (v->depth) {
            calc_operand_bounds(f->operand, 0, v);
            return TRA_OK;
        }
        *v = calc_number(calc_zero_number(x->type.real));
        return f->operand->get(f->operand->ctx, NULL, &v->number, in->e);
    }
    if (!f->component) {
        *v = calc_number(calc_as_type(f->number, x->type.real));
        return TRA_OK;
    }
    bool keyed = f->kind == TRA_COMPONENT_HASHMAP || f->kind == TRA_COMPONENT_TRIE;
    for (int d = 0; keyed && d < x->type.depth; d++)
        if (!f->component->key[d].data && f->component->value.n > 0) return calc_fail_unknown(in, x);
    *v = calc_component_value(x->index, f, x->type);
    return TRA_OK;
}

static tra_status slice(interp *in, const tra_calc *x, calc_value *v) {
    int64_t lo, hi;
    TRA_TRY(calc_eval(in, x->kids[0], v));
    TRA_TRY(calc_eval_whole(in, x->kids[1], &lo));
    TRA_TRY(calc_eval_whole(in, x->kids[2], &hi));
    v->lo = tra_max64(v->lo, lo);
    v->hi = tra_min64(v->hi, hi);
    return TRA_OK;
}

static tra_status range(interp *in, const tra_calc *x, calc_value *v) {
    int64_t lo, hi;
    TRA_TRY(calc_eval_whole(in, x->kids[0], &lo));
    TRA_TRY(calc_eval_whole(in, x->kids[1], &hi));
    *v = (calc_value){.kind = CALC_VALUE_RANGE, .depth = 1, .component = -1, .lo = lo, .hi = hi};
    return TRA_OK;
}

static tra_status eval_number(interp *in, const tra_calc *x, tra_calc_number *out) {
    tra_calc_number a, b;
    switch ((int)x->kind) {
    case TRA_CALC_NEG: TRA_TRY(number_of(in, x->kids[0], out)); return calc_check(in, x, calc_negative(out));
    case TRA_CALC_CALL: return call(in, x, out);
    case TRA_CALC_EXTENT: *out = tra_calc_int(in->scope[x->index].operand->extent[x->whole]); return TRA_OK;
    case TRA_CALC_SUM:
    case TRA_CALC_MERGE: {
        int mark = in->nowned;
        *out = calc_zero_number(x->type.real);
        TRA_TRY(calc_run_loop(in, &(loop){.x = x, .sum = out}));
        release(in, mark);
        return TRA_OK;
    }
    default:
        TRA_TRY(number_of(in, x->kids[0], &a));
        TRA_TRY(number_of(in, x->kids[1], &b));
        return calc_check(
            in, x, calc_arithmetic(x->kind, x->type.real, a, x->kids[0]->type.sparse, b, x->kids[1]->type.sparse, out));
    }
}

tra_status calc_eval(interp *in, const tra_calc *x, calc_value *v) {
    bool is;
    TRA_TRY(calc_step(in, x));
    switch (x->kind) {
    case TRA_CALC_NUMBER: *v = calc_number(x->is_real ? tra_calc_real(x->real) : tra_calc_int(x->whole)); return TRA_OK;
    case TRA_CALC_NAME: return name(in, x, v);
    case TRA_CALC_APPLY: return apply(in, x, v);
    case TRA_CALC_SLICE: return slice(in, x, v);
    case TRA_CALC_RANGE: return range(in, x, v);
    case TRA_CALC_IF:
        TRA_TRY(calc_eval_condition(in, x->kids[0], &is));
        *v = calc_zero(x->type);
        return is ? calc_eval(in, x->kids[1], v) : TRA_OK;
    case TRA_CALC_LET: TRA_TRY(calc_bind_let(in, x)); return calc_eval(in, x->kids[x->nkids - 1], v);
    case TRA_CALC_DICT:
        if (x->type.depth == 0) return calc_eval(in, x->kids[0], v);
        return build(in, x, v);
    case TRA_CALC_ARITHMETIC:
    case TRA_CALC_NEG:
    case TRA_CALC_CALL:
    case TRA_CALC_EXTENT:
    case TRA_CALC_SUM:
    case TRA_CALC_MERGE:
        if (x->type.depth > 0) return build(in, x, v);
        *v = calc_number(calc_zero_number(x->type.real));
        return eval_number(in, x, &v->number);
    case TRA_CALC_CONDITIONS: break; /* only in if */
    }
    return calc_fail_in(in, x, TRA_INTERNAL, "a condition where a value is wanted");
}

/* ---- entrances --------------------------------------------------------------------------------------------------- */

static void finish(interp *in) {
    release(in, 0);
    free(in->owned);
    free(in->env);
}

tra_status calc_run(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps, unsigned how,
                    tra_calc_sink *sink, void *ctx, tra_err *e) {
    interp in = {.n = n, .scope = scope, .steps = steps, .e = e};
    chain out = {.sink = sink, .ctx = ctx, .real = x->type.real};
    out.places = how & CALC_PLACES;
    out.unwatched = how & CALC_UNWATCHED;
    tra_status s = calc_contribute(&in, x, &out);
    calc_seen_free(out.seen);
    finish(&in);
    return s;
}
