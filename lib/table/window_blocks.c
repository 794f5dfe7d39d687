/* window_blocks.c - what a block of rows must know of those before and after it: the numbers of its rows, and how many
 * values a group has in other blocks. */
#include "key_ranges.h"

#include "order.h"

#include <math.h>
#include <string.h>

#include "group.h"
#include "table_int.h"

static int64_t *wholes(const tra_batch *b, int column) { return b->v[column].values; }

/* ---- numbers of rows ------------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(numbers_form, tra_row_numbering, .in = {x->in, x->start}, .out = x->out, .viewed = {true, true},
              .nkeys = x->weight >= 0, .key = &x->weight, .reads_right = true, .repeats = TRA_REPEATS_LEFT)

static void numbers_run(const void *data, tra_rows_io *io) {
    const tra_row_numbering *x = data;
    int64_t first = io->in[1].rows > 0 ? wholes(&io->in[1], 0)[0] : 0, rows = io->in[0].rows, most = 0;
    if (!tra_rows_result(io, rows)) return;
    tra_append_rows(x->in, &io->made, 0, &io->in[0]);
    for (int64_t i = 0; i < rows; i++) {
        int64_t own = x->weight < 0 ? 1 : tra_row_weight(&io->in[0].v[x->weight], i);
        wholes(&io->made, x->in->n)[i] = first;
        first = tra_add_most(first, own);
        most = tra_max64(most, own);
    }
    if (rows > 0 && x->weight >= 0 && (first > x->most || most > x->each))
        tra_kernel_fail("a join makes %" PRId64 " pairs of rows or more, %" PRId64 " of them of one row, and its plan "
                        "has room for %" PRId64 " and %" PRId64 "; write one of its tables to a file before, so that "
                        "its keys are known",
                        first, most, x->most, x->each);
}

TRA_ROWS_OVER(numbers_over, tra_row_numbering, x->in = f->in[0], x->out = f->out;
              if (x->weight >= 0) x->weight = f->place[x->weight])

const tra_rows_ops tra_row_numbers_ops = {.form = numbers_form, .run = numbers_run, .over = numbers_over};

/* ---- groups at the ends of blocks -------------------------------------------------------------------------------- */

enum { BLOCK, VALUES, NANS };         /* columns of an end, after the keys */
enum { BEFORE, IN_ALL, NANS_OF_ALL }; /* columns of what a block is told */

static bool equal(const tra_ranking *x, const tra_batch *b, int64_t i, int64_t j) {
    return tra_rows_equal(b, x->nkeys, NULL, i, j);
}

/* How many rows from `from` on, going by `by` (1 or -1), are of its group: of a sorted block, so found by halving. */
static int64_t rows_alike(const tra_ranking *x, const tra_batch *b, int64_t from, int by) {
    int64_t most = by > 0 ? b->rows - from : from + 1, alike = 1, step = 1;
    while (alike + step <= most && equal(x, b, from, from + by * (alike + step - 1))) alike += step, step *= 2;
    for (; step > 0; step /= 2)
        if (alike + step <= most && equal(x, b, from, from + by * (alike + step - 1))) alike += step;
    return alike;
}

/* Where the group ends whose rows begin at row `from` of a sorted block. */
static int64_t end_of(const tra_ranking *x, const tra_batch *b, int64_t from) {
    return from + rows_alike(x, b, from, 1);
}

static int64_t begin_of_last(const tra_ranking *x, const tra_batch *b) {
    return b->rows - rows_alike(x, b, b->rows - 1, -1);
}

/* Values of a group, which stand before its NULLs; and those of them that are NaN, which stand last. */
static int64_t count_values(const tra_ranking *x, const tra_batch *b, int64_t from, int64_t to, int64_t *nans) {
    const tra_column *c = &x->in->v[x->nkeys];
    const tra_vector *v = &b->v[x->nkeys];
    bool real = tra_coltype_is_float(c->type);
    while (to > from && v->state && v->state[to - 1]) to--;
    for (*nans = 0; real && to - *nans > from && isnan(tra_value_real(c, v, to - *nans - 1));) ++*nans;
    return to - from;
}

TRA_ROWS_FORM(ends_form, tra_ranking, .in = {x->in}, .out = x->ends,
              .viewed = {!tra_order_looks_up(x->in, x->nkeys, NULL)})

static void ends_run(const void *data, tra_rows_io *io) {
    const tra_ranking *x = data;
    const tra_batch *in = &io->in[0], *made = &io->made;
    int64_t last = in->rows > 0 ? begin_of_last(x, in) : 0, n = in->rows > 0 ? 1 + (last > 0) : 0;
    int64_t from[2] = {0, last}, to[2] = {n > 1 ? end_of(x, in, 0) : in->rows, in->rows};
    if (!tra_rows_result(io, n)) return;
    tra_gather_columns(io, x->nkeys, NULL, from, n);
    for (int64_t g = 0; g < n; g++) {
        wholes(made, x->nkeys + BLOCK)[g] = tra_rows_position(io);
        wholes(made, x->nkeys + VALUES)[g] = count_values(x, in, from[g], to[g], &wholes(made, x->nkeys + NANS)[g]);
    }
}

const tra_rows_ops tra_group_ends_ops = {.form = ends_form, .run = ends_run};

/* ---- what other blocks have of them ------------------------------------------------------------------------------ */

TRA_ROWS_FORM(carry_form, tra_ranking, .in = {x->ends}, .out = x->carry,
              .viewed = {!tra_order_looks_up(x->ends, x->nkeys, NULL)})

/* The ends of a group are neighbours: how many values the blocks before and after that of end i have. */
static void put_carry(const tra_ranking *x, const tra_batch *ends, int64_t i, const tra_batch *made, int64_t to) {
    const int64_t *values = wholes(ends, x->nkeys + VALUES), *nans = wholes(ends, x->nkeys + NANS);
    int64_t before = 0, all = values[i], none = nans[i];
    for (int64_t j = i - 1; j >= 0 && equal(x, ends, j, i); j--) before += values[j], none += nans[j];
    for (int64_t j = i + 1; j < ends->rows && equal(x, ends, j, i); j++) all += values[j], none += nans[j];
    wholes(made, BEFORE)[to] = before;
    wholes(made, IN_ALL)[to] = before + all;
    wholes(made, NANS_OF_ALL)[to] = none;
}

static void carry_run(const void *data, tra_rows_io *io) {
    const tra_ranking *x = data;
    const tra_batch *ends = &io->in[0];
    int64_t block = tra_rows_position(io), first = 0, n = 0;
    const int64_t *of = wholes(ends, x->nkeys + BLOCK);
    while (first < ends->rows && of[first] < block) first++;
    while (n < 2 && first + n < ends->rows && of[first + n] == block) n++;
    if (!tra_rows_result(io, n)) return;
    for (int64_t i = 0; i < n; i++) put_carry(x, ends, first + i, &io->made, i);
}

const tra_rows_ops tra_group_carry_ops = {.form = carry_form, .run = carry_run};

/* ---- values at a place of their group ---------------------------------------------------------------------------- */

TRA_ROWS_FORM(ranks_form, tra_ranking, .in = {x->in, x->carry}, .out = x->out,
              .viewed = {!tra_order_looks_up(x->in, x->nkeys, NULL), true})

/* The value of that rank in its group, if it is in this block: of rows from `from` on, the first of which is number
 * `before` of the group. */
static void put_value(const tra_ranking *x, const tra_rows_io *io, int64_t from, int64_t n, int64_t before,
                      int64_t rank, tra_vector *v, int64_t to) {
    const tra_column *c = &x->in->v[x->nkeys];
    bool here = rank >= before && rank < before + n;
    ((double *)v->values)[to] = here ? tra_value_real(c, &io->in[0].v[x->nkeys], from + rank - before) : 0;
    v->state[to] = here ? TRA_STATE_VALUE : TRA_STATE_NULL;
}

static void put_group(const tra_ranking *x, const tra_rows_io *io, int64_t from, int64_t end, int64_t to) {
    const tra_batch *in = &io->in[0], *carry = &io->in[1], *made = &io->made;
    int64_t nans, n = count_values(x, in, from, end, &nans), before = 0, all = n;
    if (from == 0 || end == in->rows) {
        int64_t at = from > 0 ? carry->rows - 1 : 0;
        before = wholes(carry, BEFORE)[at];
        all = wholes(carry, IN_ALL)[at];
        nans = wholes(carry, NANS_OF_ALL)[at];
    }
    double place = all > 0 ? x->q * (double)(all - 1) : 0, below = floor(place);
    int64_t low = all > 0 ? (int64_t)below : -1, high = tra_min64(low + 1, all - 1);
    put_value(x, io, from, n, before, low, &made->v[x->nkeys], to);
    put_value(x, io, from, n, before, high, &made->v[x->nkeys + 1], to);
    ((double *)made->v[x->nkeys + 2].values)[to] = nans > 0 ? (double)NAN : place - below;
    for (int k = 0; k < x->nkeys; k++) tra_gather_rows(&made->v[k], to, &in->v[k], x->in->v[k].type, &from, 1);
}

static void ranks_run(const void *data, tra_rows_io *io) {
    const tra_ranking *x = data;
    const tra_batch *in = &io->in[0];
    if (in->rows > 0 && io->in[1].rows == 0) return tra_kernel_fail("a block has rows of which nothing is known");
    tra_table_note_keys(in, x->nkeys, NULL, 0, NULL, NULL);
    if (!tra_rows_result(io, tra_order_count_runs(in, x->nkeys, NULL))) return;
    for (int64_t from = 0, end, to = 0; from < in->rows; from = end) {
        end = end_of(x, in, from);
        put_group(x, io, from, end, to++);
    }
}

const tra_rows_ops tra_group_ranks_ops = {.form = ranks_form, .run = ranks_run};
