/* across.c - what a block of rows must know of those before and after it: the numbers of its rows, and how many values
 * a group has in other blocks. */
#include "parts.h"

#include "order.h"

#include <math.h>
#include <string.h>

#include "group.h"
#include "table_int.h"

static int64_t *wholes(const tra_batch *b, int column) { return b->v[column].values; }

/* ---- numbers of rows ------------------------------------------------------------------------------------------- */

static int64_t numbers_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_row_numbering *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(x->in->n + x->start->n + x->out->n);
}

static int64_t numbers_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_row_numbering *)data)->out, a->array.ext.v[0]);
}

static void numbers_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_row_numbering *x = data;
    tra_vector *v = scratch;
    tra_batch in, start, made = {.v = v + x->in->n + x->start->n};
    bool ok = tra_open_rows(a, x->in, false, v, &in) && tra_open_rows(b, x->start, false, v + x->in->n, &start);
    tra_columns_begin(out, x->out, ok ? in.rows : 0, &made);
    if (!ok || in.rows == 0) return;
    int64_t first = start.rows > 0 ? wholes(&start, 0)[0] : 0, *number = wholes(&made, x->in->n);
    for (int c = 0; c < x->in->n; c++) {
        memcpy(made.v[c].values, in.v[c].values, (size_t)in.rows * tra_coltype_size(x->in->v[c].type));
        if (made.v[c].state) memcpy(made.v[c].state, in.v[c].state, (size_t)in.rows);
    }
    int64_t most = 0;
    for (int64_t i = 0; i < in.rows; i++) {
        int64_t own = x->weight < 0 ? 1 : tra_row_weight(&in.v[x->weight], i);
        number[i] = first;
        first = tra_add_most(first, own);
        most = tra_max64(most, own);
    }
    if (x->weight >= 0 && (first > x->most || most > x->each))
        tra_kernel_fail("a join makes %" PRId64 " pairs of rows or more, %" PRId64 " of them of one row, and its plan "
                        "has room for %" PRId64 " and %" PRId64 "; write one of its tables to a file before, so that "
                        "its keys are known",
                        first, most, x->most, x->each);
}

static void numbers_reads(const void *data, tra_rows_reads *r) {
    const tra_row_numbering *x = data;
    tra_rows_read(r, r->left, x->start->n, NULL);
    if (x->weight >= 0) r->read[x->weight] = true;
    tra_rows_repeat(r, 0, x->in->n);
}

static const void *numbers_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_row_numbering *old = data;
    tra_row_numbering *x = tra_new(a, tra_row_numbering);
    *x = (tra_row_numbering){f->in[0], old->start, f->out, old->weight, old->most, old->each};
    if (x->weight >= 0) x->weight = f->place[old->weight];
    return x;
}

const tra_rows_ops tra_row_numbers_ops = {.scratch = numbers_scratch,
                                          .bytes = numbers_bytes,
                                          .run = numbers_run,
                                          .reads = numbers_reads,
                                          .over = numbers_over};

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

static int64_t ends_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_ranking *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(x->in->n + x->ends->n);
}

static int64_t ends_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_ranking *)data)->ends, tra_min64(2, a->array.ext.v[0]));
}

static void ends_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_ranking *x = data;
    tra_batch in, made = {.v = (tra_vector *)scratch + x->in->n};
    bool check = tra_order_looks_up(x->in, x->nkeys, NULL);
    if (!tra_open_rows(a, x->in, check, scratch, &in) || in.rows == 0) return tra_columns_begin(out, x->ends, 0, &made);
    int64_t from[2] = {0, begin_of_last(x, &in)}, to[2] = {0, in.rows}, n = from[1] > 0 ? 2 : 1;
    to[0] = n > 1 ? end_of(x, &in, 0) : in.rows;
    tra_columns_begin(out, x->ends, n, &made);
    for (int k = 0; k < x->nkeys; k++) tra_gather_rows(&made.v[k], 0, &in.v[k], x->in->v[k].type, from, n);
    for (int64_t g = 0; g < n; g++) {
        wholes(&made, x->nkeys + BLOCK)[g] = tra_position(b);
        wholes(&made, x->nkeys + VALUES)[g] = count_values(x, &in, from[g], to[g], &wholes(&made, x->nkeys + NANS)[g]);
    }
}

const tra_rows_ops tra_group_ends_ops = {.scratch = ends_scratch, .bytes = ends_bytes, .run = ends_run};

/* ---- what other blocks have of them ------------------------------------------------------------------------------ */

static int64_t carry_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_ranking *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(x->ends->n + x->carry->n);
}

static int64_t carry_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)a, (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_ranking *)data)->carry, 2);
}

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

static void carry_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_ranking *x = data;
    tra_batch ends, made = {.v = (tra_vector *)scratch + x->ends->n};
    int64_t block = tra_position(b), first = 0, n = 0;
    bool check = tra_order_looks_up(x->ends, x->nkeys, NULL);
    if (!tra_open_rows(a, x->ends, check, scratch, &ends)) return tra_columns_begin(out, x->carry, 0, &made);
    const int64_t *of = wholes(&ends, x->nkeys + BLOCK);
    while (first < ends.rows && of[first] < block) first++;
    while (n < 2 && first + n < ends.rows && of[first + n] == block) n++;
    tra_columns_begin(out, x->carry, n, &made);
    for (int64_t i = 0; i < n; i++) put_carry(x, &ends, first + i, &made, i);
}

const tra_rows_ops tra_group_carry_ops = {.scratch = carry_scratch, .bytes = carry_bytes, .run = carry_run};

/* ---- values at a place of their group ---------------------------------------------------------------------------- */

typedef struct ranks {
    const tra_ranking *x;
    tra_batch in, carry;
} ranks;

static bool open_ranks(const tra_ranking *x, const tra_cell *a, const tra_cell *b, void *scratch, ranks *r) {
    tra_vector *v = scratch;
    bool check = tra_order_looks_up(x->in, x->nkeys, NULL);
    *r = (ranks){.x = x};
    if (!tra_open_rows(a, x->in, check, v, &r->in) || !tra_open_rows(b, x->carry, false, v + x->in->n, &r->carry))
        return false;
    if (r->in.rows == 0 || r->carry.rows > 0) return true;
    tra_kernel_fail("a block has rows of which nothing is known");
    return false;
}

static int64_t ranks_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_ranking *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(x->in->n + x->carry->n + x->out->n);
}

static int64_t count_groups(const ranks *r) { return tra_order_count_runs(&r->in, r->x->nkeys, NULL); }

static int64_t ranks_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    ranks r;
    int64_t n = open_ranks(data, a, b, scratch, &r) ? count_groups(&r) : 0;
    out->counted[0] = n + 1;
    return tra_columns_room(((const tra_ranking *)data)->out, n);
}

/* The value of that rank in its group, if it is in this block: of rows from `from` on, the first of which is number
 * `before` of the group. */
static void put_value(const ranks *r, int64_t from, int64_t n, int64_t before, int64_t rank, tra_vector *v,
                      int64_t to) {
    const tra_column *c = &r->x->in->v[r->x->nkeys];
    bool here = rank >= before && rank < before + n;
    ((double *)v->values)[to] = here ? tra_value_real(c, &r->in.v[r->x->nkeys], from + rank - before) : 0;
    v->state[to] = here ? TRA_STATE_VALUE : TRA_STATE_NULL;
}

static void put_group(const ranks *r, int64_t from, int64_t end, const tra_batch *made, int64_t to) {
    const tra_ranking *x = r->x;
    int64_t nans, n = count_values(x, &r->in, from, end, &nans), before = 0, all = n;
    bool last = end == r->in.rows;
    if (from == 0 || last) {
        int64_t at = from > 0 ? r->carry.rows - 1 : 0;
        before = wholes(&r->carry, BEFORE)[at];
        all = wholes(&r->carry, IN_ALL)[at];
        nans = wholes(&r->carry, NANS_OF_ALL)[at];
    }
    double place = all > 0 ? x->q * (double)(all - 1) : 0, below = floor(place);
    int64_t low = all > 0 ? (int64_t)below : -1, high = tra_min64(low + 1, all - 1);
    put_value(r, from, n, before, low, &made->v[x->nkeys], to);
    put_value(r, from, n, before, high, &made->v[x->nkeys + 1], to);
    ((double *)made->v[x->nkeys + 2].values)[to] = nans > 0 ? (double)NAN : place - below;
    for (int k = 0; k < x->nkeys; k++) tra_gather_rows(&made->v[k], to, &r->in.v[k], x->in->v[k].type, &from, 1);
}

static void ranks_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_ranking *x = data;
    tra_batch made = {.v = (tra_vector *)scratch + x->in->n + x->carry->n};
    ranks r;
    if (!open_ranks(x, a, b, scratch, &r)) return tra_columns_begin(out, x->out, 0, &made);
    tra_columns_begin(out, x->out, out->counted[0] ? out->counted[0] - 1 : count_groups(&r), &made);
    for (int64_t from = 0, end, to = 0; from < r.in.rows; from = end) {
        end = end_of(x, &r.in, from);
        put_group(&r, from, end, &made, to++);
    }
}

const tra_rows_ops tra_group_ranks_ops = {.scratch = ranks_scratch, .bytes = ranks_bytes, .run = ranks_run};
