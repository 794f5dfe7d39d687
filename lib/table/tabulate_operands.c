/* tabulate_operands.c - the operands of each entry of a table of results: each combination of their values, or what is
 * computed of each value of one column. */
#include "calls_int.h"

#include <string.h>

static bool is_constant(const tra_colexpr *x) { return x->op == TRA_C_CONST && !x->untyped; }

/* ---- values of axes ---------------------------------------------------------------------------------------------- */

/* One thread's place among the values of the axes, the last one running fastest. */
typedef struct by_axes {
    tra_operands base;
    int n;
    const tra_operand_axis *axes;
    int *own; /* which operand each is */
    int64_t next, *digit;
} by_axes;

static void set_by_axes(tra_operands *of, int64_t entry, tra_call_value *v) {
    by_axes *o = (by_axes *)of;
    if (entry != o->next) {
        int64_t left = entry;
        for (int k = o->n - 1; k >= 0; left /= o->axes[k].v.count, k--) o->digit[k] = left % o->axes[k].v.count;
    }
    for (int k = 0; k < o->n; k++) {
        const tra_operand_axis *by = &o->axes[k];
        tra_call_value *to = &v[o->own[k]];
        to->i = by->v.list ? by->v.list[o->digit[k]] : by->v.least + o->digit[k];
        if (tra_coltype_is_coded(to->type)) to->s = tra_dictionary_at(by->column->dict, to->i, &to->n);
    }
    for (int k = o->n - 1; k >= 0 && ++o->digit[k] == o->axes[k].v.count; k--) o->digit[k] = 0;
    o->next = entry + 1;
}

/* ---- values of a column ------------------------------------------------------------------------------------------ */

/* One thread's strip of operands, computed of the values of a column from `from` on; after the last one comes NULL. */
typedef struct by_column {
    tra_operands base;
    int n;
    const tra_colexpr *const *kids;
    const tra_operand_axis *axis;
    tra_colrun run;
    tra_vector *columns;
    uint8_t *nulls;
    int64_t from, to;
} by_column;

static void compute_strip(by_column *o, int64_t entry) {
    tra_vector *c = &o->columns[o->axis->column->column];
    o->from = entry;
    o->to = tra_min64(entry + TRA_COLSTRIP, o->axis->v.count + 1);
    c->state = NULL;
    for (int i = 0; i < (int)(o->to - entry); i++) {
        bool null = entry + i == o->axis->v.count;
        int64_t whole = null ? 0 : o->axis->v.list ? o->axis->v.list[entry + i] : o->axis->v.least + entry + i;
        tra_call_put(&(tra_call_value){.type = o->axis->column->type, .i = whole}, c->values, i);
        o->nulls[i] = null;
        if (null) c->state = o->nulls;
    }
    tra_colrun_strip(&o->run, o->columns, 0, (int)(o->to - entry));
}

static void set_by_column(tra_operands *of, int64_t entry, tra_call_value *v) {
    by_column *o = (by_column *)of;
    if (entry < o->from || entry >= o->to) compute_strip(o, entry);
    int i = (int)(entry - o->from);
    for (int k = 0; k < o->n; k++) {
        if (is_constant(o->kids[k])) continue;
        tra_colvalue r = tra_colrun_result(&o->run, k);
        int state = r.state ? r.state[i] : TRA_STATE_VALUE;
        v[k] = state == TRA_STATE_VALUE ? tra_call_value_of(o->kids[k], r.values, i)
                                        : (tra_call_value){.type = o->kids[k]->type, .state = state};
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static tra_operands *begin_axes(tra_arena *a, int n, const tra_colexpr *const *kids, int naxes,
                                const tra_operand_axis *x) {
    by_axes *o = tra_new(a, by_axes);
    *o = (by_axes){.base.set = set_by_axes, .n = naxes, .axes = x, .own = tra_news(a, int, naxes + 1), .next = -1};
    o->digit = tra_news(a, int64_t, naxes + 1);
    for (int i = 0, k = 0; i < n; i++)
        if (!is_constant(kids[i])) o->own[k++] = i;
    return &o->base;
}

static tra_operands *begin_column(tra_arena *a, const tra_colcode *code, int n, const tra_colexpr *const *kids,
                                  const tra_operand_axis *x) {
    by_column *o = tra_new(a, by_column);
    char *scratch = tra_arena_alloc(a, (size_t)tra_colcode_scratch(code) + 64);
    *o = (by_column){.base.set = set_by_column, .n = n, .kids = kids, .axis = x};
    o->columns = tra_news(a, tra_vector, x->column->column + 1);
    o->columns[x->column->column].values = tra_arena_array(a, TRA_COLSTRIP, 8);
    o->nulls = tra_news(a, uint8_t, TRA_COLSTRIP);
    tra_colrun_begin(&o->run, code, scratch + (64 - (uintptr_t)scratch % 64) % 64);
    return &o->base;
}

void tra_operands_begin(tra_arena *a, int n, const tra_colexpr *const *kids, int naxes, const tra_operand_axis *x,
                        bool column, int threads, tra_operands **out) {
    const tra_colcode *code = column ? tra_colcode_new(a, n, kids) : NULL;
    for (int p = 0; p < threads; p++) {
        tra_operands *o = out[p] = column ? begin_column(a, code, n, kids, x) : begin_axes(a, n, kids, naxes, x);
        o->v = tra_news(a, tra_call_value, n + 1);
        for (int i = 0; i < n; i++)
            o->v[i] = is_constant(kids[i]) ? tra_call_constant(kids[i]) : (tra_call_value){.type = kids[i]->type};
    }
}
