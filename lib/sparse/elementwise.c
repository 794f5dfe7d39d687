/* elementwise.c - functions of elements at the same place, of one operand or two, with broadcasting, of any holding.
 *
 * A dense result is computed strip by strip. One that is rows is computed only where it may be other than 0: where an
 * operand has an entry whose absence alone makes it 0 (a factor), or else any operand of sparse type has one; where
 * neither is enough, everywhere. */
#include "../kernel/parallel_sums.h"
#include "elementwise_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

tra_dtype tra_unary_type(const tra_unary *f) {
    tra_typed typed;
    if (!f->code) return f->arg;
    tra_code_type(f->code, 1, &f->arg, f->wide, NULL, &typed);
    return typed.type;
}

void tra_unary_strip(const tra_unary *f, const void *in, tra_dtype from, int64_t n, void *out, tra_dtype to) {
    double own[TRA_STRIP], narrow[TRA_STRIP], result[TRA_STRIP];
    tra_convert(narrow, f->arg, in, from, n); /* what does not fit the type of the step before is noted */
    if (!f->code) {
        tra_convert(result, to, narrow, f->arg, n);
    } else {
        double regs[f->code->nregs + 1][TRA_STRIP] __attribute__((aligned(64)));
        tra_typed *typed = tra_code_ready(f->code, 1, &f->arg, f->wide, (const bool[1]){!f->dense});
        tra_convert(own, typed->load[0], narrow, f->arg, n);
        const void *arg[2] = {own, NULL};
        tra_typed_strip(typed, regs, arg, n, result, to);
        free(typed);
    }
    memcpy(out, result, (size_t)n * tra_dtype_size(to));
}

static void operand_of(operand *x, const tra_cell *c, const tra_dims *out) {
    int64_t step = 1;
    int shift = out->n - c->array.ext.n;
    x->in = tra_read_cell(c);
    x->leads = true;
    x->wide = x->in.columns == 1 && tra_last_extent(out) != 1;
    for (int d = out->n - 2; d >= 0; d--) {
        int64_t n = d >= shift ? c->array.ext.v[d - shift] : 1;
        x->stride[d] = n == 1 ? 0 : step;
        x->leads = x->leads && n == out->v[d];
        step *= n;
    }
}

/* Puts the operands before row `number` of the result. */
static void at_row(job *j, int64_t number) {
    int64_t row[2] = {number, number}, rest = number;
    operand *last = &j->arg[j->nargs - 1];
    bool outside = false;
    for (int i = 0; i < j->nargs; i++)
        if (!j->arg[i].leads) row[i] = 0;
    for (int d = j->ext.n - 2; d >= 0 && !(j->arg[0].leads && last->leads); d--) {
        int64_t c = rest % j->ext.v[d];
        rest /= j->ext.v[d];
        for (int i = 0; i < j->nargs; i++)
            if (!j->arg[i].leads) row[i] += c * j->arg[i].stride[d];
        outside |= j->part && c >= last->in.cell->array.ext.v[d];
    }
    for (int i = 0; i < j->nargs; i++) {
        operand *x = &j->arg[i];
        x->column = x->in.dense ? NULL : x->in.v.column; /* also where there is no entry */
        x->at = x->count = 0;
        x->inside = j->part && x == last ? (outside ? 0 : x->in.columns) : INT64_MAX;
        if (x->inside == 0) continue;
        if (x->in.dense || !x->leads) {
            x->count = tra_read_row(&x->in, row[i], &x->column, &x->first);
            continue;
        }
        const tra_rows_view *v = &x->in.v;
        while (x->r < v->nrows && v->row[x->r] < number) x->r++;
        bool there = x->r < v->nrows && v->row[x->r] == number;
        x->first = there ? v->begin[x->r] : 0;
        x->count = there ? v->begin[x->r + 1] - x->first : 0;
        x->column = v->column + x->first;
    }
}

/* The value of an operand at that column, or what stands for it, as number i of a strip. Columns ascend from call to
 * call. */
void tra_job_take(job *j, int arg, int64_t column, void *strip, int64_t i) {
    static const double zero;
    operand *x = &j->arg[arg];
    tra_dtype t = j->typed.load[arg];
    if (column >= x->inside) return tra_pick(strip, i, t, &j->beyond, t, 0);
    if (x->wide) column = 0;
    while (x->column && x->at < x->count && x->column[x->at] < column) x->at++;
    tra_dtype from = x->in.cell->array.dtype;
    if (!x->column)
        tra_pick(strip, i, t, tra_read_values(&x->in), from, x->first + column);
    else if (x->at < x->count && x->column[x->at] == column)
        tra_pick(strip, i, t, tra_read_values(&x->in), from, x->first + x->at);
    else
        tra_pick(strip, i, t, &zero, TRA_F64, 0);
}

/* The program on n elements, to elements of the result's type. */
void tra_job_compute(const job *j, double (*in)[TRA_STRIP], int64_t n, void *to) {
    const void *arg[2] = {in[0], in[1]};
    if (j->code)
        tra_typed_strip(&j->typed, j->regs, arg, n, to, j->type);
    else
        tra_convert(to, j->type, in[0], j->typed.load[0], n);
}

/* ---- dense results ------------------------------------------------------------------------------------------- */

static void dense_row(job *j, int64_t number) {
    double in[2][TRA_STRIP];
    size_t size = tra_dtype_size(j->out->array.dtype);
    for (int64_t c = 0; c < j->columns; c += TRA_STRIP) {
        int64_t n = tra_min64(TRA_STRIP, j->columns - c);
        for (int i = 0; i < j->nargs; i++) {
            operand *x = &j->arg[i];
            if (x->wide) {
                x->at = 0;
                for (int64_t k = 0; k < n; k++) tra_job_take(j, i, 0, in[i], k);
            } else {
                tra_row_strip(x->column, x->count, tra_read_values(&x->in), x->in.cell->array.dtype, x->first, c, n,
                              j->typed.load[i], in[i], &x->at);
            }
        }
        tra_job_compute(j, in, n, (char *)j->out->array.data + (size_t)(number * j->columns + c) * size);
    }
}

/* The next row that may have an entry, from `from` on. */
static int64_t next_row(job *j, int64_t from) {
    int64_t next = j->rows;
    if (j->all || (j->part && j->beyond)) return from;
    for (int i = 0; i < j->nargs; i++) {
        operand *x = &j->arg[i];
        if (!j->candidate[i]) continue;
        if (x->in.dense || !x->leads) return from;
        const tra_rows_view *v = &x->in.v;
        while (x->r < v->nrows && v->row[x->r] < from) x->r++;
        if (x->r < v->nrows) next = tra_min64(next, v->row[x->r]);
    }
    return next;
}

/* Chooses which operands' entries are the places where the result may be other than 0. */
static void choose(job *j, unsigned where) {
    for (int i = 0; i < j->nargs; i++) j->candidate[i] = j->part || where >> i & 1;
    if (j->part) return;
    for (int i = 0; i < j->nargs && !where; i++) {
        bool alone[2] = {i == 0 && j->sparse[0], i == 1 && j->sparse[1]};
        int64_t n = j->arg[i].in.dense ? INT64_MAX : j->arg[i].in.v.n, before = INT64_MAX;
        if (j->candidate[0] && !j->arg[0].in.dense) before = j->arg[0].in.v.n;
        bool enough = j->sparse[i] && (!j->code || tra_code_sparse(j->code, alone, NULL, NULL));
        j->both = enough && i == 1 && j->candidate[0];
        if (!enough || (i == 1 && j->candidate[0] && before <= n)) continue;
        j->candidate[0] = i == 0;
        j->candidate[1] = i == 1;
    }
    if (j->candidate[0] || j->candidate[1]) return;
    j->all = !j->sink && j->code && !tra_code_sparse(j->code, j->sparse, NULL, NULL);
    for (int i = 0; i < j->nargs; i++) j->candidate[i] = j->sparse[i];
    if (!j->candidate[0] && !j->candidate[1]) j->all = true;
}

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

typedef struct pieces {
    const job *j;
    int n;
    int64_t at[TRA_PIECES + 1]; /* rows of the result where they begin */
    bool count;
    tra_rows_pieces rows; /* of a result that is rows */
} pieces;

/* Cuts the rows that are made by the entries of the operand that has the most, or evenly. */
static void cut(pieces *x) {
    const job *j = x->j;
    const tra_rows_view *v = NULL;
    for (int i = 0; i < j->nargs; i++)
        if (!j->arg[i].in.dense && j->arg[i].leads && (!v || j->arg[i].in.v.n > v->n)) v = &j->arg[i].in.v;
    int64_t rows = j->rows - j->first;
    bool every = !v || (j->out && !j->out->layout) || j->all;
    for (int i = 0; i < j->nargs; i++) every = every || (j->candidate[i] && (j->arg[i].in.dense || !j->arg[i].leads));
    int64_t steps = every ? tra_mul_most(2 * rows, j->columns) : tra_mul_most(8, v->n);
    x->n = tra_parallel_pieces(steps);
    if (j->sink) x->n = (int)tra_min64(x->n, j->sink->most);
    if (every) {
        tra_dtype t = j->arg[0].in.cell->array.dtype;
        x->n = (int)tra_max64(1, tra_min64(x->n, rows));
        /* a dense state may be the memory of the result, whose elements are then to be read before they are written */
        if (j->out && !j->out->layout && tra_dtype_size(t) != tra_dtype_size(j->type)) x->n = 1;
        for (int i = 0; i <= x->n; i++) x->at[i] = j->first + (int64_t)((__int128)rows * i / x->n);
        return;
    }
    x->n = tra_parallel_row_pieces(v, NULL, x->n, x->at);
    for (int i = 1; i < x->n; i++) x->at[i] = tra_max64(j->first, tra_min64(j->rows, v->row[x->at[i]]));
    x->at[0] = j->first;
    x->at[x->n] = j->rows;
}

/* The job of a piece. */
static job job_at(const pieces *x, int piece, double (*regs)[TRA_STRIP]) {
    job j = *x->j;
    j.regs = regs;
    j.piece = piece;
    j.rows = x->at[piece + 1];
    for (int i = 0; i < j.nargs; i++)
        if (!j.arg[i].in.dense && j.arg[i].leads) j.arg[i].r = tra_rows_from(&j.arg[i].in.v, x->at[piece]);
    return j;
}

static void run_piece(void *ctx, int piece, void *scratch) {
    pieces *x = ctx;
    int64_t nregs = x->j->code ? x->j->code->nregs : 0, nrows = 0, n = 0;
    double regs[nregs + 1][TRA_STRIP] __attribute__((aligned(64)));
    assert(nregs <= TRA_MAXREGS);
    job j = job_at(x, piece, regs);
    (void)scratch;
    if (j.out && !j.out->layout) {
        for (int64_t row = x->at[piece]; row < j.rows && !tra_cancelled(); row++) {
            at_row(&j, row);
            dense_row(&j, row);
        }
        return;
    }
    tra_rows_maker to = {.cell = j.out};
    batch b;
    b.n = b.nrows = 0;
    b.column = b.own;
    j.batch = &b;
    if (!x->count && !j.sink) to.v = x->rows.piece[piece], to.v.nrows = to.v.n = 0, b.column = to.v.column;
    for (int i = 0; i < j.nargs; i++)
        b.raw[i] = j.arg[i].in.cell->array.dtype == j.typed.load[i] ? b.in[i] : b.spare[i];
    bool walks = tra_job_walks(&j), streams = tra_job_streams(&j);
    if (walks) tra_job_walk(&j, x->count ? NULL : &to, &nrows, &n);
    if (streams) tra_job_stream(&j);
    for (int64_t row = x->at[piece]; !walks && !streams && (row = next_row(&j, row)) < j.rows && !tra_cancelled();
         row++) {
        int64_t end = tra_job_stretch(&j, row, x->count ? NULL : &to, &nrows, &n);
        if (end > row) {
            row = end - 1;
            continue;
        }
        at_row(&j, row);
        int64_t here = tra_job_row(&j, row, x->count ? NULL : &to);
        nrows += here > 0;
        n += here;
    }
    if (!x->count) tra_job_flush(&j, &to);
    if (j.sink) return;
    if (x->count) {
        x->rows.most[piece][0] = nrows;
        x->rows.most[piece][1] = n;
        return;
    }
    to.v.begin[to.v.nrows] = to.v.n;
    x->rows.piece[piece].nrows = to.v.nrows;
    x->rows.piece[piece].n = to.v.n;
}

/* ---- the interface ------------------------------------------------------------------------------------------- */

/* What tra_rows_compute does, when the operands and the code of the job are typed. */
static void compute_rows(job *j) {
    tra_cell *out = j->out;
    pieces x; /* not initialised as a whole: it is large */
    x.j = j;
    x.count = out->layout;
    if (out->layout) choose(j, 0), tra_job_merges(j);
    cut(&x);
    tra_parallel(x.n, run_piece, &x, NULL);
    if (!out->layout) return;
    tra_rows_pieces_add(&x.rows, out, x.n);
    if (!tra_rows_pieces_begin(&x.rows, out)) return;
    x.count = false;
    tra_parallel(x.n, run_piece, &x, NULL);
    tra_rows_pieces_end(&x.rows);
}

/* Types the operands and the code of the job, and runs it. */
static int run_job(job *j, const tra_dtype *types, bool wide, const tra_cell *const *in, unsigned where) {
    tra_typed *typed = NULL;
    int r = 0;
    j->columns = tra_last_extent(&j->ext);
    j->rows = j->columns ? tra_rows_box(&j->ext) : 0;
    if (j->out && j->out->panel[1] > 0) {
        int64_t each = j->rows / tra_max64(1, j->ext.v[0]);
        j->first = j->out->panel[0] * each;
        j->rows = j->out->panel[1] * each;
    }
    for (int i = 0; i < j->nargs; i++) {
        j->sparse[i] = in[i]->sparse || in[i]->layout;
        operand_of(&j->arg[i], in[i], &j->ext);
        if (j->part) j->arg[i].wide = false;
    }
    j->typed.load[0] = tra_strip_type(types[0]);
    if (j->code) j->typed = *(typed = tra_code_ready(j->code, j->nargs, types, wide, j->sparse));
    if (j->sink) {
        pieces x;
        x.j = j;
        x.count = false;
        choose(j, where);
        tra_job_merges(j);
        cut(&x);
        tra_parallel(x.n, run_piece, &x, NULL);
        r = x.n;
    } else {
        compute_rows(j);
    }
    free(typed);
    return r;
}

void tra_rows_compute(const tra_code *code, const tra_dtype *types, int nargs, bool wide, const tra_cell *const *in,
                      tra_cell *out) {
    job j = {.code = code, .nargs = nargs, .out = out, .ext = out->array.ext, .type = out->array.dtype};
    run_job(&j, types, wide, in, 0);
}

void tra_rows_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    const tra_kernel *k = tra_kernel_first(agg);
    tra_insn fold = {.op = k->fold, .a = ~0, .b = ~1, .c = ~0};
    const tra_code code = {.n = 1, .nregs = 1, .v = &fold};
    tra_dtype type = out->array.dtype, types[2] = {type, type};
    const tra_cell *in[2] = {state ? state : term, term};
    job j = {.nargs = state ? 2 : 1, .out = out, .ext = out->array.ext, .type = type};
    if (state) j.code = &code;
    j.part = !tra_dims_eq(&term->array.ext, &j.ext);
    if (j.part) tra_strip(type)(TRA_S_CONST, &j.beyond, NULL, NULL, tra_identity(k->identity, type), 1);
    run_job(&j, types, true, in, 0);
}

int tra_rows_visit(const tra_code *code, const tra_dtype *types, int nargs, bool wide, const tra_cell *const *in,
                   const tra_dims *ext, unsigned where, const tra_rows_sink *sink) {
    job j = {.code = code, .nargs = nargs, .sink = sink, .ext = *ext, .type = sink->type};
    return run_job(&j, types, wide, in, where);
}
