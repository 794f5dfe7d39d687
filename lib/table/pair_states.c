/* pair_states.c - what pair_states.h promises. */
#include "pair_states.h"

#include "table_int.h"

#include <string.h>

TRA_ROWS_FORM(states_form, tra_pair_states, .in = {x->in}, .out = x->out, .viewed = {true})

static bool is_null(const tra_vector *v, int64_t i) { return v->state && v->state[i] == TRA_STATE_NULL; }

/* How often each value of row i is there. */
static int64_t times_of(const tra_vector *times, int64_t i) {
    return is_null(times, i) ? 1 : ((const int64_t *)times->values)[i];
}

static const char too_many[] = "a join makes more pairs of rows of one group than an i64 counts";
static const char too_large[] = "sum: a total of a group of a join does not fit; convert the values: x * 1.0";

static void scale_numbers(const tra_vector *from, const tra_vector *times, const tra_vector *to, int64_t n,
                          const char *why) {
    for (int64_t i = 0; i < n; i++) {
        int64_t values = is_null(from, i) ? 0 : ((const int64_t *)from->values)[i];
        if (__builtin_mul_overflow(values, times_of(times, i), &((int64_t *)to->values)[i])) tra_kernel_fail("%s", why);
    }
}

/* A sum, or squares; of no value 0. */
static void scale_reals(const tra_vector *from, const tra_vector *times, const tra_vector *to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((double *)to->values)[i] =
            is_null(from, i) ? 0 : ((const double *)from->values)[i] * (double)times_of(times, i);
}

static void copy_reals(const tra_vector *from, const tra_vector *to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((double *)to->values)[i] = is_null(from, i) ? 0 : ((const double *)from->values)[i];
}

/* A sum of whole numbers: one column, or two, the low and the high half of 128 bits. */
static __int128 whole_of(const tra_vector *v, int n, int64_t i) {
    int64_t low = ((const int64_t *)v[0].values)[i];
    if (n == 1) return low;
    unsigned __int128 high = (uint64_t)((const int64_t *)v[1].values)[i];
    return (__int128)(high << 64 | (uint64_t)low);
}

/* The same, in 128 bits. */
static void scale_wholes(const tra_vector *from, const tra_vector *times, const tra_vector *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        __int128 sum = is_null(from, i) ? 0 : whole_of(from, 2, i);
        if (__builtin_mul_overflow(sum, (__int128)times_of(times, i), &sum)) tra_kernel_fail("%s", too_large);
        ((int64_t *)to[0].values)[i] = (int64_t)(uint64_t)sum;
        ((int64_t *)to[1].values)[i] = (int64_t)(sum >> 64);
    }
}

/* Products of values of two tables: how many there are, and their sum, which is the product of the sums. */
static void put_products(const tra_pair_states *x, const tra_pair_state *s, const tra_batch *in, const tra_batch *out) {
    const tra_vector *own = in->v + s->count, *times = in->v + s->times, *to = out->v + s->to;
    bool real = s->n > 0 && x->out->v[s->to].type == TRA_COL_F64;
    for (int64_t i = 0; i < in->rows; i++) {
        int64_t a = is_null(own, i) ? 0 : ((const int64_t *)own->values)[i], n;
        int64_t b = is_null(times, i) ? 0 : ((const int64_t *)times->values)[i];
        if (__builtin_mul_overflow(a, b, &n)) tra_kernel_fail("%s", too_many);
        if (s->counts >= 0) ((int64_t *)out->v[s->counts].values)[i] = n;
        if (s->n == 0) continue;
        const tra_vector *from = in->v + s->from, *other = in->v + s->other;
        __int128 sum = 0;
        if (real)
            ((double *)to->values)[i] =
                n == 0 ? 0 : ((const double *)from->values)[i] * ((const double *)other->values)[i];
        else if (n && __builtin_mul_overflow(whole_of(from, s->nown, i), whole_of(other, s->nother, i), &sum))
            tra_kernel_fail("%s", too_large);
        if (!real) tra_group_put_sum(to, i, sum, s->n == 2);
    }
}

static void put_states(const tra_pair_states *x, const tra_pair_state *s, const tra_batch *in, const tra_batch *out) {
    const tra_vector *from = in->v + s->from, *to = out->v + s->to, *times = in->v + s->times;
    if (s->count >= 0) scale_numbers(in->v + s->count, times, out->v + s->counts, in->rows, too_many);
    switch (s->way) {
    case TRA_WAY_SUM:
        if (s->n == 2)
            scale_wholes(from, times, to, in->rows);
        else if (x->out->v[s->to].type == TRA_COL_I64)
            scale_numbers(from, times, to, in->rows, too_large);
        else
            scale_reals(from, times, to, in->rows);
        break;
    case TRA_WAY_MOMENTS:
    case TRA_WAY_POWERS:
    case TRA_WAY_PAIR: /* means stay */
        for (int i = 0; i < s->n; i++) {
            if (i == 0 || (i == 2 && s->way == TRA_WAY_PAIR))
                copy_reals(from + i, to + i, in->rows);
            else
                scale_reals(from + i, times, to + i, in->rows);
        }
        break;
    case TRA_WAY_EXTREME: {
        const tra_schema own = {s->n, x->in->v + s->from};
        const tra_batch one = {.schema = &own, .rows = in->rows, .v = in->v + s->from}, to_one = {.v = out->v + s->to};
        tra_append_rows(&own, &to_one, 0, &one);
        break;
    }
    case TRA_WAY_COUNT:
    case TRA_WAY_END:
    case TRA_WAY_BY:
    case TRA_WAY_DIFFERENT:
    case TRA_WAY_RANKED: break;
    }
}

static void states_run(const void *data, tra_rows_io *io) {
    const tra_pair_states *x = data;
    const tra_schema keys = {x->nkeys, x->in->v};
    if (!tra_rows_result(io, io->in[0].rows)) return;
    tra_append_rows(&keys, &io->made, 0, &io->in[0]);
    for (int i = 0; i < x->n; i++) {
        if (x->v[i].product)
            put_products(x, &x->v[i], &io->in[0], &io->made);
        else
            put_states(x, &x->v[i], &io->in[0], &io->made);
    }
}

const tra_rows_ops tra_pair_states_ops = {.form = states_form, .run = states_run};
