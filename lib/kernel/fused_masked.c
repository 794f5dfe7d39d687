/* fused_masked.c - fused statements that are a product of two matrices under a mask, by lib/kernel/masked.h. */
#include "masked.h"
#include "program_int.h"
#include "parallel_sums.h"

#include <string.h>

/* A call, cut in pieces of the mask's rows. */
typedef struct job {
    tra_masked m;
    tra_cell *out;
    tra_masked_result result; /* as each piece begins it */
    int n;
    int64_t at[TRA_PIECES + 1];
    int64_t own;  /* where the scratch of a piece begins */
    char *sums;   /* of the pieces after the first, where they have sums of their own, */
    int64_t each; /* each of so many bytes */
    tra_rows_pieces *rows;
    bool count;
} job;

static const tra_program_operand *operand(const tra_kernel *k, int o) { return &k->program->operand[o]; }

static char *aligned(char *at) { return (char *)(((uintptr_t)at + 63) / 64 * 64); }

/* The type of the sums. */
static tra_dtype sums_in(const tra_kernel *k) { return tra_dtype_is_float(k->program->dtype) ? TRA_F64 : TRA_I64; }

/* The type of an operand's values where it is found. */
static tra_dtype found_in(const tra_kernel *k, int o) {
    tra_dtype t = operand(k, o)->dtype;
    if (k->packed == 1 || o == k->packed) return t;
    return tra_dtype_is_float(t) ? TRA_F64 : TRA_I64;
}

/* ---- scratch --------------------------------------------------------------------------------------------------- */

static bool has_sums(const tra_fused_masked *x) { return x->by[0] < 0; }

static int64_t elements_of(const tra_dims *ext) {
    int64_t n = 1;
    for (int d = 0; d < ext->n; d++) n = tra_mul_most(n, ext->v[d]);
    return n;
}

int64_t tra_fused_masked_scratch(const tra_kernel *k, const tra_fused_plan *plan, const tra_type *a,
                                 const tra_dims *ext_a, const tra_type *b, const tra_dims *ext_b,
                                 const tra_layout *out) {
    const tra_fused_masked *x = plan->masked;
    const tra_calc_program *p = k->program;
    const int role[3] = {x->mask, x->outer, x->inner};
    int64_t bytes = k->packed > 1 ? tra_fused_unpack_scratch(p, plan, a) : 0, of_mask = 0;
    tra_dims ext;
    tra_program_shape(k, ext_a, ext_b, &ext, NULL);
    for (int i = 0; i < 3; i++) {
        const tra_dims *block = &operand(k, role[i])->block;
        int64_t entries = tra_type_entries(role[i] == k->packed ? b : a).bound;
        int64_t rows = tra_min64(block->v[0], entries);
        if (found_in(k, role[i]) != sums_in(k)) bytes = tra_add_most(bytes, tra_mul_most(8, entries) + 64);
        if (role[i] < k->packed && k->packed > 1) bytes = tra_add_most(bytes, tra_mul_most(8, rows) + 64);
        if (i == 0) of_mask = tra_min64(block->v[1], entries);
        if (i == 2) bytes = tra_add_most(bytes, tra_masked_room(block->v[0], entries) + 64);
    }
    bytes = tra_add_most(bytes, tra_masked_scratch(of_mask, operand(k, x->by_place ? x->outer : x->mask)->block.v[1]));
    int64_t each = tra_mul_most(elements_of(&ext), (int64_t)tra_dtype_size(p->dtype)) + 64;
    if (out && ext.n < 2) bytes = tra_add_most(bytes, each);
    if (has_sums(x) && (!out || ext.n < 2)) bytes = tra_add_most(bytes, tra_mul_most(TRA_PARALLEL_SUMS - 1, each));
    return tra_add_most(bytes, 256);
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

/* An operand as a matrix whose values are of the type of sums. */
static tra_rows_view matrix(const tra_kernel *k, int o, const tra_cell *a, const tra_cell *b, char **scratch) {
    const tra_calc_program *p = k->program;
    tra_dtype t = sums_in(k), from = found_in(k, o);
    tra_rows_view v;
    if (k->packed > 1 && o < k->packed) {
        int64_t length[TRA_MAXDIM];
        for (int d = 0; d < 2; d++)
            length[d] = tra_program_length(k, p->operand[o].label[d], &a->array.ext, &b->array.ext);
        tra_fused_unpacked u = tra_fused_unpack(p, o, a, length, false, scratch);
        int64_t *row = (int64_t *)(void *)*scratch;
        *scratch += (size_t)u.rows.nrows * sizeof *row;
        for (int64_t r = 0; r < u.rows.nrows; r++) row[r] = u.rows.row[r] - u.first;
        v = u.rows;
        v.row = row;
        v.value = (char *)(uintptr_t)u.value;
    } else {
        v = tra_rows_of(o == k->packed ? b : a);
    }
    v.size = sizeof(double);
    if (from == t) return v;
    *scratch = aligned(*scratch);
    tra_convert(*scratch, t, v.value, from, v.n);
    v.value = *scratch;
    *scratch += (size_t)v.n * sizeof(double);
    return v;
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static void run_piece(void *ctx, int piece, void *scratch) {
    job *j = ctx;
    tra_masked_result r = j->result;
    if (j->rows && !j->count) r.rows = &j->rows->piece[piece];
    if (j->sums && piece > 0) r.dense = memset(j->sums + (piece - 1) * j->each, 0, tra_array_bytes(&j->out->array));
    tra_masked_run(&j->m, j->at[piece], j->at[piece + 1], &r, (char *)scratch + j->own);
    if (j->count) {
        j->rows->most[piece][0] = r.nrows;
        j->rows->most[piece][1] = r.n;
    } else if (j->rows)
        j->rows->piece[piece].nrows = r.nrows, j->rows->piece[piece].n = r.n;
}

static bool count_exactly(job *j, void *scratch) {
    j->count = true;
    tra_parallel(j->n, run_piece, j, scratch);
    j->count = false;
    tra_rows_pieces_add(j->rows, j->out, j->n);
    return tra_rows_pieces_begin(j->rows, j->out);
}

/* Cuts the mask in pieces. */
static void cut(job *j, bool sums, int64_t elements) {
    enum { STEPS = 64 }; /* that an entry takes */
    int most = sums ? tra_parallel_sum_pieces(j->m.mask.n, STEPS, elements)
                    : tra_parallel_pieces(tra_mul_most(STEPS, j->m.mask.n));
    j->n = tra_parallel_row_pieces(&j->m.mask, NULL, most, j->at);
}

/* The entries of each piece are at most those of the mask. */
static bool count_mask(job *j) {
    for (int i = 0; i < j->n; i++) {
        j->rows->most[i][0] = j->at[i + 1] - j->at[i];
        j->rows->most[i][1] = j->m.mask.begin[j->at[i + 1]] - j->m.mask.begin[j->at[i]];
    }
    tra_rows_pieces_add(j->rows, j->out, j->n);
    return tra_rows_pieces_begin(j->rows, j->out);
}

static void make_dense(job *j, const tra_array *to, bool add, char *scratch) {
    j->result.dense = to->data;
    if (!add) memset(to->data, 0, tra_array_bytes(to));
    tra_parallel(j->n, run_piece, j, scratch);
    if (j->sums) tra_parallel_add_sums(to, j->sums, j->each, j->n);
}

/* A result of one row, which is made densely first. */
static void make_row(job *j, char *dense, char *scratch) {
    tra_cell *out = j->out, sum = {.array = {out->array.dtype, out->array.ext, dense}};
    int64_t n = elements_of(&out->array.ext), size = (int64_t)tra_dtype_size(out->array.dtype), most;
    j->out = &sum;
    make_dense(j, &sum.array, false, scratch);
    for (int64_t i = most = 0; i < n; i++) most += tra_not_zero(dense, out->array.dtype, i);
    if (!tra_rows_take(out, most > 0, most)) return;
    tra_rows_maker m = tra_rows_make(out, most > 0, most);
    if (most > 0) tra_rows_open(&m, 0);
    for (int64_t i = 0; i < n; i++)
        if (tra_not_zero(dense, out->array.dtype, i))
            memcpy(tra_rows_next(&m, (uint32_t)i), dense + i * size, (size_t)size);
    tra_rows_made(&m);
}

void tra_fused_masked_run(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, bool add,
                          char *scratch) {
    const tra_fused_masked *x = k->program->fused->plan[tra_program_held(a->layout, b->layout)].masked;
    char *at = aligned(scratch);
    const tra_calc_program *p = k->program;
    const tra_dims *ext = &out->array.ext;
    job j = {.out = out};
    j.m = (tra_masked){.real = sums_in(k) == TRA_F64, .by_place = x->by_place, .factor = x->factor, .fold = x->fold};
    bool row = out->layout && ext->n < 2;
    j.m.mask = matrix(k, x->mask, a, b, &at);
    cut(&j, has_sums(x), elements_of(ext));
    j.m.outer = matrix(k, x->outer, a, b, &at);
    j.m.inner = matrix(k, x->inner, a, b, &at);
    j.m.inner_rows = tra_program_length(k, p->operand[x->inner].label[0], &a->array.ext, &b->array.ext);
    at = aligned(at);
    j.m.shared = tra_program_length(k, p->operand[x->outer].label[1], &a->array.ext, &b->array.ext);
    tra_masked_begin(&j.m, at);
    at = aligned(at + tra_masked_room(j.m.inner_rows, j.m.inner.n));
    char *dense = at;
    int64_t bytes = (int64_t)tra_array_bytes(&out->array);
    if (row) at += tra_round64(bytes);
    j.result = (tra_masked_result){.type = out->array.dtype};
    for (int i = 0; i < 2; i++) j.result.by[i] = x->by[i] < 0 ? 0 : ext->n == 2 && x->by[i] == 0 ? ext->v[1] : 1;
    if (has_sums(x) && j.n > 1) {
        j.sums = at;
        j.each = tra_round64(bytes);
        at += (j.n - 1) * j.each;
    }
    j.own = at - scratch;
    if (!out->layout) {
        make_dense(&j, &out->array, add, scratch);
    } else if (row) {
        make_row(&j, dense, scratch);
    } else {
        tra_rows_pieces rows;
        j.rows = &rows;
        if (!count_mask(&j) && !count_exactly(&j, scratch)) return;
        tra_parallel(j.n, run_piece, &j, scratch);
        tra_rows_pieces_end(&rows);
    }
}
