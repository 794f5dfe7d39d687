/* interpret.c - running kernels by the interpreter of lib/calculus: the same bits as compiled ones, slowly. */
#include "codegen_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct filling {
    const tra_codegen_spec *s;
    const tra_codegen_call *c;
    int rank;
    int64_t extent[TRA_CALC_MAXRANK], rows, entries, last;
    bool counting;
} filling;

static tra_status add(const tra_codegen_spec *s, void *out, int64_t at, tra_calc_number v, tra_err *e) {
    switch ((int)s->type) {
    case TRA_ELEMENT_F64: ((double *)out)[at] += tra_calc_as_real(v); return TRA_OK;
    case TRA_ELEMENT_F32: {
        float *f = (float *)out + at;
        *f = (float)((double)*f + tra_calc_as_real(v));
        return TRA_OK;
    }
    }
    if (tra_add(((int64_t *)out)[at], v.i, (int64_t *)out + at)) return TRA_OK;
    return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW, "%s", tra_calc_wrong_text(TRA_CALC_WRONG_SUM_TOO_LARGE));
}

static tra_status outside(const filling *f, const tra_calc_entry *x, tra_err *e) {
    tra_str key = {0};
    for (int d = 0; d < f->rank; d++) tra_str_printf(&key, "%s%" PRId64, d ? ", " : "", x->key[d]);
    tra_fail(e, TRA_INPUT, "%s: key (%s) outside of the extents of the result", f->s->name, tra_str_get(&key));
    tra_str_free(&key);
    return TRA_INPUT;
}

static tra_status take(void *ctx, const tra_calc_entry *x, tra_err *e) {
    filling *f = ctx;
    int64_t at = 0, rows = f->rank - (f->s->result == TRA_CODEGEN_ROWS);
    if (f->c->stop && atomic_load_explicit(f->c->stop, memory_order_relaxed))
        return tra_fail(e, TRA_STOPPED, "stopped");
    for (int d = 0; d < f->rank; d++)
        if (x->key[d] < 0 || x->key[d] >= f->extent[d]) return outside(f, x, e);
    for (int64_t d = 0; d < rows; d++) at = at * f->extent[d] + x->key[d];
    if (f->s->result != TRA_CODEGEN_ROWS) return add(f->s, f->c->out, at, x->value, e);
    tra_codegen_rows *r = f->c->rows;
    double real = tra_calc_as_real(x->value);
    if (f->s->type == TRA_ELEMENT_F32) real = (double)(float)real;
    if (f->s->type == TRA_ELEMENT_I64 ? x->value.i == 0 : real == 0) return TRA_OK;
    bool open = f->entries == 0 || f->last != at;
    if (!f->counting) {
        if (f->entries == r->room || (open && f->rows == r->room_rows))
            return tra_fail(e, TRA_INTERNAL, "%s: more entries than were counted", f->s->name);
        if (open) {
            r->row[f->rows] = at;
            r->begin[f->rows] = f->entries;
        }
        r->column[f->entries] = (uint32_t)x->key[f->rank - 1];
        if (f->s->type == TRA_ELEMENT_I64)
            ((int64_t *)r->value)[f->entries] = x->value.i;
        else if (f->s->type == TRA_ELEMENT_F32)
            ((float *)r->value)[f->entries] = (float)real;
        else
            ((double *)r->value)[f->entries] = real;
    }
    f->rows += open;
    f->entries++;
    f->last = at;
    return TRA_OK;
}

static tra_status fill_within(filling *f, tra_err *e) {
    const tra_codegen_spec *s = f->s;
    if (s->result == TRA_CODEGEN_CALLS)
        return tra_calc_run(s->plan, s->n, f->c->scope, INT64_MAX, f->c->sink, f->c->ctx, e);
    const int64_t steps = INT64_MAX; /* callers have bounded what is looped over */
    for (int d = 0; d < f->rank; d++) {
        tra_calc_number n;
        TRA_TRY(tra_calc_scalar(s->extent[d], s->n, f->c->scope, steps, &n, e));
        f->extent[d] = n.i;
    }
    if (s->result == TRA_CODEGEN_ROWS) return tra_calc_run_summed(s->plan, s->n, f->c->scope, steps, take, f, e);
    return tra_calc_run(s->plan, s->n, f->c->scope, steps, take, f, e);
}

/* Within the caller's limit of what dictionaries take, which is the thread's. */
static tra_status fill(filling *f, tra_err *e) {
    if (f->c->most) tra_calc_limit(f->c->most);
    tra_status s = fill_within(f, e);
    tra_calc_limit(INT64_MAX);
    return s;
}

tra_status gen_interpret(const tra_codegen_spec *s, const tra_codegen_call *c, bool counts, int64_t *rows,
                         int64_t *entries, tra_err *e) {
    filling f = {.s = s, .c = c, .rank = s->plan->type.depth, .counting = counts};
    TRA_TRY(fill(&f, e));
    if (s->result == TRA_CODEGEN_ROWS && !counts) c->rows->begin[f.rows] = f.entries;
    *rows = f.rows;
    *entries = f.entries;
    return TRA_OK;
}
