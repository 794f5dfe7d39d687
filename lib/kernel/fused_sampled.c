/* fused_sampled.c - fused statements with a mask: any expression, folded over the labels that the mask lacks, by strips
 * of the mask's entries. */
#include "program_int.h"
#include "parallel_sums.h"

#include <stdlib.h>
#include <string.h>

/* An argument of the expression. */
typedef struct argument {
    bool mask, sparse; /* the mask's own values; rows of another operand */
    const void *value;
    tra_dtype type;
    tra_rows_view rows;
    int64_t first; /* that the rows' numbers count from */
    int rank;
    int64_t stride[TRA_MAXDIM]; /* of each dimension of the mask, in elements; of a sparse one in rows, columns: 0, 1 */
    int64_t column[TRA_MAXDIM];
    int64_t step[TRA_MAXDIM]; /* of each folded label */
} argument;

typedef struct job {
    const tra_fused_sampled *x;
    argument arg[TRA_CODE_ARGS];
    tra_typed *code;
    tra_dtype t; /* in which values are folded */
    argument mask;
    tra_dims box;        /* that the mask's rows are numbered in */
    const tra_dims *ext; /* of the result, whose dimensions are the mask's */
    tra_dtype out;
    int64_t length[TRA_MAXDIM]; /* of each folded label */
    tra_rows_pieces rows;
    int64_t at[TRA_PIECES + 1];
} job;

/* Entries of the mask that are computed together. */
typedef struct strip {
    int n;
    int64_t entry;                        /* the first one */
    int64_t row[TRA_STRIP];               /* the place of each one's row in the mask */
    int64_t at[TRA_CODE_ARGS][TRA_STRIP]; /* of each argument where its element is, before folded labels step */
} strip;

/* ---- operands --------------------------------------------------------------------------------------------------- */

/* The dimension of the operand's array that has a label. */
static int dim_of(const tra_fused_sampled *x, int arg, int rank, int label) {
    for (int d = 0; d < rank; d++)
        if (x->arg[arg].label[d] == label) return d;
    return -1;
}

/* Where operand o is, with its labels in the order of its dimensions. *box: that its rows are numbered in. */
static void find_operand(argument *x, const tra_kernel *k, int o, const int8_t *label, const tra_cell *a,
                         const tra_cell *b, const tra_dims **box, char **scratch) {
    const tra_calc_program *p = k->program;
    const tra_cell *cell = o == k->packed ? b : a;
    int64_t length[TRA_MAXDIM];
    *x = (argument){.type = p->operand[o].dtype, .rank = p->operand[o].block.n};
    for (int d = 0; d < x->rank; d++) length[d] = tra_program_length(k, label[d], &a->array.ext, &b->array.ext);
    if (k->packed > 1 && o != k->packed) {
        tra_fused_unpacked u = tra_fused_unpack(p, o, a, length, false, scratch);
        x->type = tra_dtype_is_float(x->type) ? TRA_F64 : TRA_I64;
        x->value = u.value, x->rows = u.rows, x->first = u.first;
        *box = &p->operand[o].block;
        return;
    }
    if (cell->layout) x->rows = tra_rows_of(cell);
    x->value = cell->layout ? x->rows.value : cell->array.data;
    *box = &cell->array.ext;
}

static void find_argument(job *j, int i, const tra_kernel *k, const tra_cell *a, const tra_cell *b, char **scratch) {
    const int8_t *own = j->x->arg[i].label, *mask = k->program->operand[j->x->mask].label;
    argument *x = &j->arg[i];
    const tra_dims *box;
    int64_t stride[TRA_MAXDIM], all = 1;
    if (j->x->arg[i].operand == j->x->mask) {
        *x = j->mask;
        x->mask = true;
        return;
    }
    find_operand(x, k, j->x->arg[i].operand, own, a, b, &box, scratch);
    x->sparse = j->x->arg[i].sparse;
    for (int d = x->rank - 1; d >= 0; d--) {
        stride[d] = all;
        if (!x->sparse) all *= tra_program_length(k, own[d], &a->array.ext, &b->array.ext);
        if (x->sparse && d + 1 < x->rank) all *= box->v[d];
    }
    for (int m = 0; m < j->ext->n; m++) {
        int d = dim_of(j->x, i, x->rank, mask[m]);
        bool last = x->sparse && d + 1 == x->rank;
        x->stride[m] = d < 0 || last ? 0 : stride[d];
        x->column[m] = d >= 0 && last;
    }
    for (int l = 0; l < j->x->nfolded; l++) {
        int d = dim_of(j->x, i, x->rank, j->x->folded[l]);
        x->step[l] = d < 0 ? 0 : stride[d];
    }
}

/* ---- strips ----------------------------------------------------------------------------------------------------- */

/* Where the element of each argument is, for an entry with these coordinates. */
static void place(const job *j, strip *s, const int64_t *at) {
    for (int i = 0; i < j->x->nargs; i++) {
        const argument *x = &j->arg[i];
        int64_t row = 0, column = 0;
        for (int d = 0; d < j->ext->n; d++) row += x->stride[d] * at[d], column += x->column[d] * at[d];
        if (x->sparse) {
            int64_t r = tra_rows_from(&x->rows, x->first + row), e = -1;
            if (r < x->rows.nrows && x->rows.row[r] == x->first + row) {
                int64_t found = tra_rows_entry(&x->rows, r, column);
                if (found < x->rows.begin[r + 1] && x->rows.column[found] == column) e = found;
            }
            row = e;
        }
        s->at[i][s->n] = x->mask ? s->entry + s->n : row;
    }
}

/* The coordinates of a row of the mask but the last; returns its number in the result. */
static int64_t coordinates(const job *j, int64_t r, int64_t *at) {
    int64_t row = j->mask.rows.row[r] - j->mask.first, number = 0;
    for (int d = j->ext->n - 2; d >= 0; d--) at[d] = row % j->box.v[d], row /= j->box.v[d];
    for (int d = 0; d + 1 < j->ext->n; d++) number = number * j->ext->v[d] + at[d];
    return number;
}

/* Takes the next entries of rows *r to `end` of the mask, from *e on. */
static void take(const job *j, strip *s, int64_t *r, int64_t end, int64_t *e) {
    int64_t at[TRA_MAXDIM] = {0};
    int last = j->ext->n - 1;
    s->n = 0;
    s->entry = *e;
    for (; *r < end && s->n < TRA_STRIP; ++*r) {
        int64_t to = j->mask.rows.begin[*r + 1];
        coordinates(j, *r, at);
        for (; *e < to && s->n < TRA_STRIP; ++*e) {
            if (last >= 0) at[last] = j->mask.rows.column[*e];
            s->row[s->n] = *r;
            place(j, s, at);
            s->n++;
        }
        if (*e < to) return;
    }
}

#define GATHER(type)                                                                                                   \
    do {                                                                                                               \
        type *restrict d = to;                                                                                         \
        for (int i = 0; i < n; i++) d[i] = at[i] < 0 ? 0 : ((const type *)x->value)[at[i] + off];                      \
    } while (0)

/* The elements of an argument for the entries of a strip, in the type in which they are computed. */
static void gather(const argument *x, const int64_t *at, int64_t off, int n, tra_dtype load, void *to) {
    double raw[TRA_STRIP];
    void *result = to;
    if (x->type != load) to = raw;
    switch (tra_dtype_size(x->type)) {
    case 8: GATHER(uint64_t); break;
    case 4: GATHER(uint32_t); break;
    case 2: GATHER(uint16_t); break;
    default: GATHER(uint8_t);
    }
    if (x->type != load) tra_convert(result, load, raw, x->type, n);
}

/* Goes to the next values of the folded labels; false: there are no more. */
static bool next(const job *j, int64_t *at, int64_t *off) {
    for (int l = j->x->nfolded - 1; l >= 0; l--) {
        int64_t step = ++at[l] < j->length[l] ? 1 : 1 - at[l];
        for (int i = 0; i < j->x->nargs; i++) off[i] += step * j->arg[i].step[l];
        if (step == 1) return true;
        at[l] = 0;
    }
    return false;
}

/* The values of a strip of entries, folded: in elements of type j->t, or of I64 where places are asked for. */
static void fold(const job *j, const strip *s, double (*regs)[TRA_STRIP], double *acc, int64_t *places) {
    int64_t at[TRA_MAXDIM] = {0}, off[TRA_CODE_ARGS] = {0}, k = 0;
    double(*in)[TRA_STRIP] = regs + j->x->code->nregs, *value = in[j->x->nargs];
    const void *args[TRA_CODE_ARGS];
    tra_scalar_op op = j->x->fold;
    tra_strip_fn *folds = tra_fold_places(op) ? NULL : tra_strip_fold(j->t, op, true);
    memset(places, 0, (size_t)s->n * sizeof *places);
    for (int i = 0; i < j->x->nargs; i++) args[i] = in[i];
    do {
        for (int i = 0; i < j->x->nargs; i++) {
            bool same = k > 0; /* as before: no folded label steps in it */
            for (int l = 0; l < j->x->nfolded; l++) same = same && j->arg[i].step[l] == 0;
            if (!same) gather(&j->arg[i], s->at[i], off[i], s->n, j->code->load[i], in[i]);
        }
        tra_typed_strip(j->code, regs, args, s->n, k ? value : acc, j->t);
        if (k > 0 && folds)
            folds(op, acc, acc, value, 0, s->n);
        else if (k > 0)
            tra_strip_first(j->t, acc, places, value, k, 0, op == TRA_S_ARGMIN, s->n);
        k++;
    } while (next(j, at, off));
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static void run_piece(void *ctx, int piece, void *scratch) {
    job *j = ctx;
    strip *s = tra_malloc(sizeof *s);
    int64_t r = j->at[piece], end = j->at[piece + 1], e = r < end ? j->mask.rows.begin[r] : 0, last = -1;
    int64_t places[TRA_STRIP];
    double regs[j->x->code->nregs + j->x->nargs + 1][TRA_STRIP] __attribute__((aligned(64))), acc[TRA_STRIP],
        narrow[TRA_STRIP];
    tra_rows_view *v = &j->rows.piece[piece];
    size_t size = tra_dtype_size(j->out);
    int64_t nrows = 0, n = 0, at[TRA_MAXDIM];
    (void)scratch;
    while (r < end && !tra_cancelled()) {
        take(j, s, &r, end, &e);
        fold(j, s, regs, acc, places);
        if (tra_fold_places(j->x->fold))
            tra_convert(narrow, j->out, places, TRA_I64, s->n);
        else
            tra_convert(narrow, j->out, acc, j->t, s->n);
        for (int i = 0; i < s->n; i++) {
            if (!tra_not_zero(narrow, j->out, i)) continue;
            if (s->row[i] != last) {
                last = s->row[i];
                v->row[nrows] = coordinates(j, last, at);
                v->begin[nrows++] = n;
            }
            v->column[n] = j->mask.rows.column[s->entry + i];
            memcpy(v->value + (size_t)n++ * size, (char *)narrow + (size_t)i * size, size);
        }
    }
    v->begin[nrows] = n;
    v->nrows = nrows;
    v->n = n;
    free(s);
}

void tra_fused_sampled_run(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, char *scratch) {
    const tra_fused_sampled *x = k->program->fused->plan[tra_program_held(a->layout, b->layout)].sampled;
    tra_dtype type[TRA_CODE_ARGS];
    bool sparse[TRA_CODE_ARGS];
    int64_t each = 1;
    job j = {.x = x, .ext = &out->array.ext, .out = out->array.dtype};
    char *at = (char *)(((uintptr_t)scratch + 7) / 8 * 8);
    const tra_dims *box;
    find_operand(&j.mask, k, x->mask, k->program->operand[x->mask].label, a, b, &box, &at);
    j.box = *box;
    for (int i = 0; i < x->nargs; i++) {
        find_argument(&j, i, k, a, b, &at);
        type[i] = k->program->operand[x->arg[i].operand].dtype;
        sparse[i] = x->arg[i].sparse;
    }
    for (int l = 0; l < x->nfolded; l++)
        each *= j.length[l] = tra_program_length(k, x->folded[l], &a->array.ext, &b->array.ext);
    bool sums = x->nfolded > 0 && (x->fold == TRA_S_ADD || x->fold == TRA_S_MUL);
    j.code = tra_code_ready(x->code, x->nargs, type, sums, sparse);
    j.t = tra_dtype_rows[j.code->type].sum;
    int n = tra_parallel_pieces(tra_mul_most(tra_mul_most(each, 2 * x->code->n + x->nargs), j.mask.rows.n));
    n = tra_parallel_row_pieces(&j.mask.rows, NULL, n, j.at);
    for (int i = 0; i < n; i++) {
        j.rows.most[i][0] = j.at[i + 1] - j.at[i];
        j.rows.most[i][1] = j.mask.rows.begin[j.at[i + 1]] - j.mask.rows.begin[j.at[i]];
    }
    tra_rows_pieces_add(&j.rows, out, n);
    if (tra_rows_pieces_begin(&j.rows, out)) {
        tra_parallel(n, run_piece, &j, NULL);
        tra_rows_pieces_end(&j.rows);
    }
    free(j.code);
}
