/* contribute.c - the interpreter's second half: the numbers of a dictionary with their keys, one by one, as they are
 * computed. They go to a sink, which may add them up. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

static tra_status give(interp *in, const tra_calc *x, chain *out, const calc_value *v) {
    tra_calc_entry entry = {out->key, calc_as_type(v->number, out->real), v->component, v->element};
    if (v->unknown && !out->places) return calc_fail_unknown(in, x);
    return out->sink(out->ctx, &entry, in->e);
}

static tra_status give_number(interp *in, const tra_calc *x, chain *out, tra_calc_number n) {
    calc_value v = calc_number(n);
    return give(in, x, out, &v);
}

/* All numbers of a dictionary, as they are (op NULL), negated (op SUB or NEG), or combined with another operand of op:
 * a number, or a dictionary that is walked at the same keys. */
typedef struct walk {
    const tra_calc *x;
    bool real; /* the dictionary's numbers */
    bool negate;
    bool with;        /* there is an other */
    bool other_first; /* the other is the left operand */
    bool sparse[2];   /* left, right */
    bool other_real;
} walk;

static tra_status walk_leaf(interp *in, const walk *w, const calc_value *v, const calc_value *other, chain *out) {
    tra_calc_number n = v->number;
    if (!w->negate && !w->with) return give(in, w->x, out, v);
    if (v->unknown || (w->with && other->unknown)) return calc_fail_unknown(in, w->x);
    if (w->negate) TRA_TRY(calc_check(in, w->x, calc_negative(&n)));
    if (w->with)
        TRA_TRY(calc_check(in, w->x,
                           calc_arithmetic(w->x->kind, w->x->type.real, w->other_first ? other->number : n,
                                           w->sparse[0], w->other_first ? n : other->number, w->sparse[1], &n)));
    return give_number(in, w->x, out, n);
}

static tra_status walk_all(interp *in, const walk *w, const calc_value *v, const calc_value *other, chain *out) {
    if (v->depth == 0) return walk_leaf(in, w, v, other, out);
    int64_t prefix[TRA_CALC_MAXRANK], other_prefix[TRA_CALC_MAXRANK];
    for (int64_t key = INT64_MIN; calc_value_next(v, &key); key++) {
        calc_value inner, other_inner = w->with ? *other : (calc_value){0};
        TRA_TRY(calc_step(in, w->x));
        TRA_TRY(calc_value_get(v, w->real, key, prefix, &inner, in->e));
        if (w->with && other->depth)
            TRA_TRY(calc_value_get(other, w->other_real, key, other_prefix, &other_inner, in->e));
        out->key[out->nkeys++] = key;
        TRA_TRY(walk_all(in, w, &inner, &other_inner, out));
        out->nkeys--;
        if (key == INT64_MAX) break;
    }
    return TRA_OK;
}

/* Products of dictionaries, products with and quotients by a number, differences and negatives. */
static tra_status emit_combined(interp *in, const tra_calc *x, chain *out) {
    calc_value v, other = {0};
    walk w = {.x = x};
    if (x->kind == TRA_CALC_SUB || x->kind == TRA_CALC_NEG) {
        const tra_calc *right = x->kids[x->nkids - 1];
        if (x->kind == TRA_CALC_SUB) TRA_TRY(calc_contribute(in, x->kids[0], out));
        TRA_TRY(calc_eval(in, right, &v));
        w.negate = true;
        w.real = right->type.real;
        return walk_all(in, &w, &v, &other, out);
    }
    /* a dictionary whose keys are all that count: the left one, unless it is a number; of two, a sparse one */
    const tra_calc *l = x->kids[0], *r = x->kids[1];
    w.with = true;
    w.other_first = l->type.depth == 0 || (r->type.depth > 0 && r->type.sparse && !l->type.sparse);
    w.sparse[0] = l->type.sparse;
    w.sparse[1] = r->type.sparse;
    const tra_calc *main = w.other_first ? r : l, *second = w.other_first ? l : r;
    w.real = main->type.real;
    w.other_real = second->type.real;
    TRA_TRY(calc_eval(in, main, &v));
    TRA_TRY(calc_eval(in, second, &other));
    return walk_all(in, &w, &v, &other, out);
}

/* ---- @unique ----------------------------------------------------------------------------------------------------- */

static tra_status check_unique(interp *in, const tra_calc *x, chain *out, const int64_t *key, int n) {
    calc_seen *s = out->seen;
    while (s && s->dict != x) s = s->next;
    if (!s) {
        s = tra_calloc(1, sizeof *s);
        *s = (calc_seen){.dict = x, .next = out->seen, .nkeys = n};
        out->seen = s;
    }
    if (calc_seen_add(s, key)) return TRA_OK;
    tra_str text = {0};
    for (int i = 0; i < n; i++) tra_str_printf(&text, "%s%" PRId64, i ? ", " : "", key[i]);
    char *what = tra_asprintf("key (%s) twice under @unique", tra_str_get(&text));
    tra_status status = calc_fail_in(in, x, TRA_INPUT, what);
    free(what);
    tra_str_free(&text);
    return status;
}

static tra_status emit_dict(interp *in, const tra_calc *x, chain *out) {
    int n = x->nkids - 1;
    int64_t *key = out->key + out->nkeys;
    int64_t found[TRA_CALC_MAXRANK];
    for (int i = 0; i < n; i++) TRA_TRY(calc_eval_whole(in, x->kids[i], &found[i]));
    if (n && x->notes & TRA_CALC_UNIQUE && !out->unwatched) TRA_TRY(check_unique(in, x, out, found, n));
    memcpy(key, found, (size_t)n * sizeof *key);
    calc_seen *outer = out->seen;
    out->nkeys += n;
    if (n) out->seen = NULL; /* the sums around end at a key */
    tra_status s = calc_contribute(in, x->kids[n], out);
    if (n) {
        calc_seen_free(out->seen);
        out->seen = outer;
    }
    out->nkeys -= n;
    return s;
}

/* The contributions of x, one by one. */
tra_status calc_contribute(interp *in, const tra_calc *x, chain *out) {
    bool is;
    calc_value v;
    TRA_TRY(calc_step(in, x));
    if (x->kind == TRA_CALC_IF) {
        TRA_TRY(calc_eval_condition(in, x->kids[0], &is));
        return is ? calc_contribute(in, x->kids[1], out) : TRA_OK;
    }
    if (x->kind == TRA_CALC_LET) {
        TRA_TRY(calc_bind_let(in, x));
        return calc_contribute(in, x->kids[x->nkids - 1], out);
    }
    if (x->kind == TRA_CALC_DICT) return emit_dict(in, x, out);
    if (x->type.depth > 0) {
        switch ((int)x->kind) {
        case TRA_CALC_SUM:
        case TRA_CALC_MERGE: return calc_run_loop(in, &(loop){.x = x, .out = out});
        case TRA_CALC_ADD: TRA_TRY(calc_contribute(in, x->kids[0], out)); return calc_contribute(in, x->kids[1], out);
        case TRA_CALC_SUB:
        case TRA_CALC_NEG:
        case TRA_CALC_MUL:
        case TRA_CALC_DIV: return emit_combined(in, x, out);
        }
    }
    TRA_TRY(calc_eval(in, x, &v));
    return walk_all(in, &(walk){.x = x, .real = x->type.real}, &v, NULL, out);
}
