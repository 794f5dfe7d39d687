/* program_run.c - running programs of the calculus on the arrays that meet, compiled or by its interpreter.
 *
 * A dense result is added up where it is. The contributions to a sparse one come in any order and any number: they wait
 * in a table of fixed size, which is sorted and added up when it is full. What does not fit then, the later half of the
 * keys, is left to another pass over the program. So a result takes no more memory than the table and itself. */
#include "../base/radix.h"
#include "program_int.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- contributions --------------------------------------------------------------------------------------------- */

typedef struct contribution {
    int64_t row, column;
    union {
        double r;
        int64_t i;
    } v;
} contribution;

enum { TABLE = 1 << 17 }; /* contributions that wait at once */

typedef struct run {
    const tra_calc_program *p;
    const tra_codegen_kernel *kernel;
    const tra_codegen_operand *held;    /* by name of the scope */
    tra_cell *out;
    int64_t origin[TRA_MAXDIM]; /* of the result's block */
    bool real;
    void *sum; /* dense: of doubles or 64-bit integers */
    /* rows: those keys that are at least `from` and, if `ends`, below `end` */
    contribution *table, *other;
    int64_t n, cap;
    contribution from, end;
    bool ends;
} run;

static int order(const contribution *a, const contribution *b) {
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

/* Sorts what waits, and adds up what has one key in the order in which it came. */
static tra_status add_up(run *x, tra_err *e) {
    static const size_t key[] = {offsetof(contribution, column), offsetof(contribution, row)};
    for (int k = 0; k < 2; k++) {
        contribution *sorted = tra_radix_sort(x->table, x->other, x->n, sizeof *sorted, key[k]);
        if (sorted == x->table) continue;
        x->other = x->table;
        x->table = sorted;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < x->n; i++) {
        contribution *last = &x->table[kept - 1];
        if (kept == 0 || order(last, &x->table[i]) != 0)
            x->table[kept++] = x->table[i];
        else if (x->real)
            last->v.r += x->table[i].v.r;
        else if (!tra_add(last->v.i, x->table[i].v.i, &last->v.i))
            return tra_fail(e, TRA_INPUT, "an integer does not fit i64 where contributions of one key are added");
    }
    x->n = kept;
    return TRA_OK;
}

/* Puts a contribution into the table, or drops it if its key is for another pass. */
static tra_status keep_or_leave(run *x, const contribution *c, tra_err *e) {
    if (order(c, &x->from) < 0 || (x->ends && order(c, &x->end) >= 0)) return TRA_OK;
    if (x->n == x->cap) {
        TRA_TRY(add_up(x, e));
        if (x->n > x->cap / 2) { /* the later half is for another pass */
            x->n /= 2;
            x->end = x->table[x->n];
            x->ends = true;
            if (order(c, &x->end) >= 0) return TRA_OK;
        }
    }
    x->table[x->n++] = *c;
    return TRA_OK;
}

static tra_status outside(const run *x, const int64_t *key, tra_err *e) {
    tra_dims k = {.n = x->p->shape.n};
    char at[TRA_DIMTEXT], all[TRA_DIMTEXT];
    if (k.n) memcpy(k.v, key, (size_t)k.n * sizeof *key);
    return tra_fail(e, TRA_INPUT, "the key %s is outside of the result, which is %s",
                    tra_dims_text(&k, "(", ", ", ")", at, sizeof at), tra_shape_text(&x->p->shape, all));
}

static tra_status put(void *ctx, const tra_calc_entry *entry, tra_err *e) {
    run *x = ctx;
    const tra_dims *ext = &x->out->array.ext;
    contribution c = {0};
    int64_t at = 0;
    if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
    for (int d = 0; d < ext->n; d++) {
        if (entry->key[d] < 0 || entry->key[d] >= x->p->shape.v[d]) return outside(x, entry->key, e);
        int64_t i = entry->key[d] - x->origin[d];
        if (i < 0 || i >= ext->v[d]) return tra_fail(e, TRA_INTERNAL, "a key of another block");
        if (d == ext->n - 1) {
            c.row = at;
            c.column = i;
        }
        at = at * ext->v[d] + i;
    }
    tra_calc_number v = entry->value;
    if (x->real)
        c.v.r = tra_calc_as_real(v);
    else
        c.v.i = v.i;
    if (x->out->layout) return keep_or_leave(x, &c, e);
    if (x->real)
        ((double *)x->sum)[at] += c.v.r;
    else if (!tra_add(((int64_t *)x->sum)[at], c.v.i, &((int64_t *)x->sum)[at]))
        return tra_fail(e, TRA_INPUT, "an integer does not fit i64 where contributions of one key are added");
    return TRA_OK;
}

/* Memory for dictionaries that the interpreter builds: what names stand for, products and sums of dictionaries. */
static int64_t dictionaries_of(const tra_calc_program *p) {
    enum { EACH = 96, LEAST = 2 << 20, MOST = 128 << 20 };
    return tra_max64(LEAST, (int64_t)fmin(EACH * p->expected, MOST));
}

static bool builds(const tra_calc *x) {
    bool makes = x->kind == TRA_CALC_LET || x->kind == TRA_CALC_SLICE || x->notes & TRA_CALC_UNIQUE;
    for (int i = 0; i < x->nkids && !makes; i++) {
        const tra_calc *k = x->kids[i];
        bool below =
            x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_MERGE ? i + 1 < x->nkids : x->kind == TRA_CALC_APPLY;
        makes = builds(k) ||
                (k->type.depth > 0 && (x->kind == TRA_CALC_MUL || x->kind == TRA_CALC_DIV || x->kind == TRA_CALC_SUB ||
                                       x->kind == TRA_CALC_NEG)) ||
                (below && k->type.depth > 0 && k->kind != TRA_CALC_NAME && k->kind != TRA_CALC_APPLY &&
                 k->kind != TRA_CALC_RANGE);
    }
    return makes;
}

bool tra_program_builds(const tra_kernel *k) {
    if (k->cls != TRA_K_PROGRAM) return false;
    return k->program->fused ? tra_fused_builds(k) : builds(k->program->value);
}

/* ---- the place where a program is run ------------------------------------------------------------------------- */

/* All contributions of the program to a block of its result, in their order. */
static tra_status run_program(run *x, const tra_calc_free *scope, tra_err *e) {
    int64_t most = (dictionaries_of(x->p) + tra_kernel_granted()) / 2; /* a doubling may come before it stops */
    tra_codegen_call c = {.scope = scope, .operand = x->held, .sink = put, .ctx = x, .most = most};
    c.stop = tra_kernel_stop();
    return tra_codegen_run(x->kernel, &c, e);
}

/* ---- results -------------------------------------------------------------------------------------------------- */

static tra_calc_number value_of(const run *x, const contribution *c) {
    return x->real ? tra_calc_real(x->p->dtype == TRA_F32 ? (double)(float)c->v.r : c->v.r) : tra_calc_int(c->v.i);
}

static void put_value(tra_dtype t, void *to, tra_calc_number v) {
    if (t == TRA_F64)
        *(double *)to = v.r;
    else if (t == TRA_F32)
        *(float *)to = (float)v.r;
    else
        *(int64_t *)to = v.i;
}

/* Appends the contributions that wait, which are sorted and added up, to the result, or only counts them. */
static void flush(const run *x, tra_rows_maker *m, int64_t *row, int64_t *nrows, int64_t *n) {
    for (int64_t i = 0; i < x->n; i++) {
        const contribution *c = &x->table[i];
        tra_calc_number v = value_of(x, c);
        if (tra_calc_number_is_zero(v)) continue;
        if (c->row != *row) {
            if (m && *row >= 0) tra_rows_close(m);
            if (m) tra_rows_open(m, c->row);
            *row = c->row;
            ++*nrows;
        }
        ++*n;
        if (m) put_value(x->p->dtype, tra_rows_next(m, (uint32_t)c->column), v);
    }
}

/* Runs the program as often as its contributions do not fit: each pass keeps those with keys from where the one before
 * ended. */
static tra_status run_passes(run *x, const tra_calc_free *scope, tra_rows_maker *m, int64_t *nrows, int64_t *n,
                             tra_err *e) {
    int64_t row = -1;
    x->from = (contribution){0};
    *nrows = *n = 0;
    do {
        x->ends = false;
        x->n = 0;
        TRA_TRY(run_program(x, scope, e));
        TRA_TRY(add_up(x, e));
        flush(x, m, &row, nrows, n);
        x->from = x->end;
    } while (x->ends);
    if (m && row >= 0) tra_rows_close(m);
    return TRA_OK;
}

static tra_status make_rows(run *x, const tra_calc_free *scope, tra_err *e) {
    int64_t nrows, n;
    TRA_TRY(run_passes(x, scope, NULL, &nrows, &n, e));
    if (!tra_rows_take(x->out, nrows, n)) return TRA_OK;
    tra_rows_maker m = tra_rows_make(x->out, nrows, n);
    tra_status s = run_passes(x, scope, &m, &nrows, &n, e);
    tra_rows_made(&m);
    return s;
}

static tra_status make_dense(run *x, const tra_calc_free *scope, char *scratch, tra_err *e) {
    const tra_array *a = &x->out->array;
    int64_t n = tra_elements_of(&a->ext);
    bool widened = a->dtype == TRA_F32;
    x->sum = widened ? (void *)scratch : a->data;
    if (n) memset(x->sum, 0, (size_t)n * sizeof(double));
    tra_status s = run_program(x, scope, e);
    for (int64_t i = 0; widened && i < n; i++) ((float *)a->data)[i] = (float)((double *)x->sum)[i];
    return s;
}

static int64_t table_of(const tra_dims *ext, int64_t bound) {
    int64_t all;
    if (!tra_dims_product(ext, &all)) all = TABLE;
    return tra_max64(64, tra_min64(tra_min64(2 * tra_min64(all, TABLE), bound), TABLE));
}

int64_t tra_program_scratch(const tra_kernel *k, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                            const tra_dims *ext_b, const tra_layout *out) {
    tra_dims ext;
    if (k->cls == TRA_K_PACK) return 0;
    if (k->program->fused) return tra_fused_scratch(k, a, ext_a, b, ext_b, out);
    tra_program_shape(k, ext_a, ext_b, &ext, NULL);
    int64_t most = tra_program_builds(k) ? dictionaries_of(k->program) : 0; /* not here, but set aside */
    if (out) return most + 2 * table_of(&ext, k->program->bound) * (int64_t)sizeof(contribution);
    return tra_add_most(most, k->program->dtype == TRA_F32 ? tra_dense_bytes(TRA_F64, &ext) : 0);
}

/* ---- a pair of arrays that meet --------------------------------------------------------------------------------- */

/* What the names of relations stand for, for the interpreter and for compiled kernels: arrays that meet; or what no
 * operand has, since it has no elements, but extents. */
static void find_operands(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const int64_t *origin,
                          tra_operand_view *v, tra_calc_operand *operand, tra_codegen_operand *held) {
    const tra_calc_program *p = k->program;
    memset(v, 0, (size_t)p->nscope * sizeof *v);
    memset(held, 0, (size_t)p->nscope * sizeof *held);
    for (int i = 0; i < p->nscope; i++) {
        const tra_calc_operand *o = p->scope[i].operand;
        if (!o) continue;
        v[i].rank = o->rank;
        operand[i] = *o;
        operand[i].ctx = &v[i];
        operand[i].get = tra_operand_get;
        operand[i].next = tra_operand_next;
        for (int d = 0; d < v[i].rank; d++) held[i].width = held[i].extent[d] = held[i].length[d] = o->extent[d];
    }
    for (int o = 0; o < p->noperands; o++) {
        const tra_program_operand *d = &p->operand[o];
        if (d->name < 0) continue;
        tra_operand_view *x = &v[d->name];
        tra_operand_view_of(k, o, a, b, x);
        for (int i = 0; i < x->rank; i++) x->at.origin[i] = d->label[i] < 0 ? 0 : origin[d->label[i]];
        operand[d->name].origin = x->at.origin;
        operand[d->name].length = x->at.length;
        held[d->name] = x->at;
    }
}

static tra_status run_pair(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, char *scratch,
                           tra_err *e) {
    const tra_calc_program *p = k->program;
    int64_t origin[TRA_PROGRAM_MOST] = {0};
    tra_calc_free scope[p->nscope + 1];
    tra_calc_operand operand[p->nscope + 1];
    tra_operand_view v[p->nscope + 1];
    run x = {.p = p, .out = out, .real = p->value->type.real};
    tra_codegen_operand held[p->nscope + 1];
    TRA_TRY(tra_operand_origins(k, a, b, origin, e));
    const tra_made *m = tra_program_made(k, a, b, false, e);
    if (!m) return TRA_INTERNAL;
    x.kernel = m->kernel;
    x.held = held;
    find_operands(k, a, b, origin, v, operand, held);
    for (int i = 0; i < p->nscope; i++) {
        scope[i] = p->scope[i];
        if (scope[i].operand) scope[i].operand = &operand[i];
    }
    for (int d = 0; d < p->shape.n; d++) {
        int label = p->key[p->out[d]].label;
        x.origin[d] = label < 0 ? 0 : origin[label];
    }
    if (!out->layout) return make_dense(&x, scope, scratch, e);
    x.cap = table_of(&out->array.ext, p->bound);
    x.table = (contribution *)scratch;
    x.other = x.table + x.cap;
    return make_rows(&x, scope, e);
}

void tra_program_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    tra_err e = {0};
    if (tra_kernel_failure()) return;
    switch ((int)tra_program_way(k, a->layout, b->layout)) {
    case TRA_IMPL_PACK: tra_pack_join(k, a, b, out); return;
    case TRA_IMPL_FUSED:
    case TRA_IMPL_MASKED:
    case TRA_IMPL_SAMPLED: tra_fused_join(k, a, b, out, scratch); return;
    }
    if (run_pair(k, a, b, out, scratch, &e) == TRA_OK || e.status == TRA_STOPPED) return;
    const char *more = e.status == TRA_RESOURCE ? "; a higher --memory leaves more for them" : "";
    tra_kernel_fail_with(e.status, "%s%s", e.msg, more);
}
