/* run.c - the entrances of the interpreter: contributions one by one, added up, or one number. */
#include "eval.h"

tra_status calc_add_to_dict(void *ctx, const tra_calc_entry *x, tra_err *e) {
    if (calc_dict_add(ctx, x->key, x->value)) return TRA_OK;
    return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW, "%s", tra_calc_wrong_text(TRA_CALC_WRONG_SUM_TOO_LARGE));
}

tra_status tra_calc_run(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps, tra_calc_sink *sink,
                        void *ctx, tra_err *e) {
    return calc_run(x, n, scope, steps, 0, sink, ctx, e);
}

static tra_status give_scalar(void *ctx, const tra_calc_entry *x, tra_err *e) {
    (void)e;
    *(tra_calc_number *)ctx = x->value;
    return TRA_OK;
}

tra_status tra_calc_scalar(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps, tra_calc_number *out,
                           tra_err *e) {
    *out = calc_zero_number(x->type.real);
    return tra_calc_run(x, n, scope, steps, give_scalar, out, e);
}

/* The numbers of a finished dictionary, keys upwards. */
static tra_status give_dict(const calc_dict *d, int64_t *key, int n, tra_calc_sink *sink, void *ctx, tra_err *e) {
    for (int64_t i = 0; i < d->n; i++) {
        key[n] = d->key[i];
        if (d->depth > 1) {
            TRA_TRY(give_dict(d->cell[i].dict, key, n + 1, sink, ctx, e));
            continue;
        }
        tra_calc_number v = d->real ? tra_calc_real(d->cell[i].r) : tra_calc_int(d->cell[i].i);
        TRA_TRY(sink(ctx, &(tra_calc_entry){key, v, -1, 0}, e));
    }
    return TRA_OK;
}

tra_status tra_calc_run_summed(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps, tra_calc_sink *sink,
                               void *ctx, tra_err *e) {
    if (x->type.depth == 0) {
        tra_calc_entry all = {.component = -1};
        TRA_TRY(tra_calc_scalar(x, n, scope, steps, &all.value, e));
        return sink(ctx, &all, e);
    }
    calc_dict *d = calc_dict_new(x->type.depth, x->type.real);
    tra_status s = tra_calc_run(x, n, scope, steps, calc_add_to_dict, d, e);
    int64_t key[TRA_CALC_MAXRANK];
    if (s == TRA_OK) calc_dict_finish(d);
    if (s == TRA_OK) s = give_dict(d, key, 0, sink, ctx, e);
    calc_dict_free(d);
    return s;
}
