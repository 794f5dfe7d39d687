/* key_ranges.c - rows divided into parts: sorted blocks, samples, splitters, slices. */
#include "key_ranges.h"

#include "group.h"
#include "order.h"
#include "table_int.h"

#include <stdlib.h>
#include <string.h>

/* The result is the rows [begin, end) of the left operand. */
static void put_slice(tra_rows_io *io, int64_t begin, int64_t end) {
    int64_t n = tra_max64(0, end - begin);
    if (!tra_rows_result(io, n)) return;
    for (int c = 0; c < io->made.schema->n && n > 0; c++)
        tra_copy_rows(&io->made.v[c], 0, &io->in[0].v[c], begin, n, io->made.schema->v[c].type);
}

/* ---- sorted blocks --------------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(arrange_form, tra_arrange, .in = {x->in}, .out = x->out)

TRA_ROWS_REST(arrange_rest, tra_arrange, tra_mul_most(a->v[0], (1 + TRA_ORDER_SPARE) * (int64_t)sizeof(int64_t)))

static bool has_null(const tra_arrange *x, const tra_batch *in, int64_t row) {
    for (int k = x->free; k < x->n; k++) {
        const uint8_t *state = in->v[x->column[k]].state;
        if (state && state[row] == TRA_STATE_NULL) return true;
    }
    return false;
}

static int64_t number_of(const tra_arrange *x, const tra_batch *in, int64_t row) {
    return x->number < 0 ? row : ((const int64_t *)in->v[x->number].values)[row];
}

/* Of rows of equal keys the first; they are neighbours now. spare has a word more than there are rows. */
static int64_t keep_some(const tra_arrange *x, const tra_batch *in, int64_t *at, int64_t n, int64_t *spare) {
    int64_t kept = tra_order_runs(in, x->n, x->column, at, n, spare);
    for (int64_t i = 0; i < kept; i++) {
        int64_t first = at[spare[i]], next = spare[i] + 1;
        if (x->keep == TRA_ARRANGE_UNIQUE && next < spare[i + 1]) {
            char key[TRA_ROWTEXT];
            tra_kernel_fail("row %" PRId64 " of the %s table has the key that row %" PRId64
                            " has, %s, but no two are expected to (expect)",
                            number_of(x, in, at[next]), x->name, number_of(x, in, first),
                            tra_row_text(in, at[next], x->n, x->column, key));
            return i;
        }
        at[i] = first;
    }
    return kept;
}

/* The rows of at[0..n) in the order in which they stood. spare has two words for each row. */
static void put_back(const tra_batch *in, int64_t *at, int64_t n, int64_t *spare) {
    uint8_t *kept = memset(spare, 0, (size_t)in->rows);
    for (int64_t i = 0; i < n; i++) kept[at[i]] = 1;
    for (int64_t i = 0, to = 0; to < n; i++)
        if (kept[i]) at[to++] = i;
}

/* The same of all rows where few bits tell keys apart: these are put at the places that the bits address. spare has two
 * words for each row. False: it is something else, or there are many different keys. */
static bool keep_by_place(const tra_arrange *x, const tra_batch *in, int64_t *at, int64_t *kept, int64_t *spare) {
    enum { LEAST = 4096, STRIP = 256, BITS = 16 };
    int64_t *row = spare;
    uint64_t *word = (uint64_t *)spare + in->rows;
    tra_key_bits *keys = (tra_key_bits *)(word + STRIP);
    bool first = x->keep == TRA_ARRANGE_DISTINCT || (x->keep == TRA_ARRANGE_FIRST && !x->desc);
    if (!first || in->rows < LEAST || x->n > STRIP || *kept < in->rows) return false;
    if (tra_order_looks_up(in->schema, x->n, x->column)) return false;
    int bits = tra_key_bits_of(in, x->n, x->column, in->rows, BITS, keys);
    if (bits < 0 || INT64_C(1) << bits > in->rows / 4) return false;
    for (int64_t w = 0; w < INT64_C(1) << bits; w++) row[w] = -1;
    for (int64_t from = in->rows; from > 0;) { /* from the end: the first one stays */
        int n = (int)((from - 1) % STRIP) + 1;
        from -= n;
        tra_key_words(in, x->n, x->column, keys, from, n, word);
        for (int i = n - 1; i >= 0; i--) row[word[i]] = from + i;
    }
    *kept = 0;
    for (int64_t w = 0; w < INT64_C(1) << bits; w++)
        if (row[w] >= 0 && (!x->matching || !has_null(x, in, row[w]))) at[(*kept)++] = row[w];
    return true;
}

/* Of sorted rows those of the first ranks of each group; spare has a word more than there are rows. */
static int64_t keep_top(const tra_arrange *x, const tra_batch *in, int64_t *at, int64_t n, int64_t *spare) {
    int64_t groups = tra_order_runs(in, x->of_keys, x->column, at, n, spare), kept = 0;
    const int *by = x->column + x->of_keys; /* in a group the keys are equal */
    int order = x->n - x->of_keys;
    for (int64_t g = 0; g < groups; g++) {
        int64_t rank = 0;
        for (int64_t i = spare[g]; i < spare[g + 1]; i++) {
            bool near = !x->dense && i - spare[g] < x->top; /* whatever ties there are */
            bool tie = !near && !x->numbered && i > spare[g] && tra_rows_equal(in, order, by, at[kept - 1], at[i]);
            if (!tie && !near) rank = x->dense ? rank + 1 : i - spare[g] + 1;
            if (rank > x->top || (x->numbered && !near)) break;
            at[kept++] = at[i];
        }
    }
    return kept;
}

int64_t tra_arrange_rows(const tra_arrange *x, const tra_batch *in, int64_t *at, int64_t n) {
    int64_t *spare = at + in->rows, all = n;
    if (!keep_by_place(x, in, at, &n, spare)) {
        n = 0;
        for (int64_t i = 0; i < all; i++)
            if (!x->matching || !has_null(x, in, at[i])) at[n++] = at[i];
        int64_t end = x->cut ? tra_min64(n, tra_add_most(x->skip, x->most)) : n;
        tra_order_first(in, x->n, x->column, x->desc, at, n, end, spare);
        if (x->keep != TRA_ARRANGE_ALL && n > 0) n = keep_some(x, in, at, n, spare);
    }
    if (x->top > 0 && n > 0) n = keep_top(x, in, at, n, spare);
    if (x->keep == TRA_ARRANGE_DISTINCT) put_back(in, at, n, spare);
    if (!x->cut) return n;
    int64_t skip = tra_min64(x->skip, n);
    n = tra_min64(x->most, n - skip);
    memmove(at, at + skip, (size_t)n * sizeof *at);
    return n;
}

static void arrange_run(const void *data, tra_rows_io *io) {
    const tra_arrange *x = data;
    const tra_batch *in = &io->in[0];
    int64_t first = io->b ? tra_mul_most(tra_rows_position(io), x->block) : 0, *at = io->rest;
    tra_refuse_errors(io->a, in, x->n, x->column, x->what);
    tra_table_note_keys(in, x->n, x->column, 0, NULL, NULL);
    for (int64_t i = 0; i < in->rows; i++) at[i] = i;
    int64_t n = tra_arrange_rows(x, in, at, in->rows);
    if (!tra_rows_result(io, n)) return;
    for (int c = 0; c < x->out->n; c++) {
        if (x->from[c] >= 0) {
            tra_gather_rows(&io->made.v[c], 0, &in->v[x->from[c]], x->out->v[c].type, at, n);
            continue;
        }
        for (int64_t i = 0; i < n; i++) ((int64_t *)io->made.v[c].values)[i] = first + at[i];
    }
}

static void arrange_reads(const void *data, tra_rows_reads *r) {
    const tra_arrange *x = data;
    tra_rows_read(r, 0, x->n, x->column);
    if (x->number >= 0) r->read[x->number] = true;
    for (int c = 0; c < x->out->n; c++) r->from[c] = x->from[c];
}

static const void *arrange_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_arrange *old = data;
    tra_arrange *x = tra_new(a, tra_arrange);
    int *from = tra_news(a, int, old->out->n + 1), n = 0;
    *x = *old;
    x->in = f->in[0], x->out = f->out, x->from = from;
    x->column = tra_rows_places(a, f, 0, old->n, old->column);
    if (old->number >= 0) x->number = f->place[old->number];
    for (int c = 0; c < old->out->n; c++)
        if (old->from[c] < 0 || f->place[old->from[c]] >= 0) from[n++] = old->from[c] < 0 ? -1 : f->place[old->from[c]];
    return x;
}

const tra_rows_ops tra_arrange_ops = {
    .form = arrange_form, .rest = arrange_rest, .run = arrange_run, .reads = arrange_reads, .over = arrange_over};

/* ---- samples and splitters ----------------------------------------------------------------------------------- */

static int64_t samples(const tra_sampling *x, int64_t rows) { return tra_ceil_div(rows, x->every); }

TRA_ROWS_FORM(sample_form, tra_sampling, .in = {x->in}, .out = x->out, .viewed = {true}, .nkeys = x->n,
              .key = x->column)

TRA_ROWS_REST(sample_rest, tra_sampling, 8 * samples(x, a->v[0]))

static void sample_run(const void *data, tra_rows_io *io) {
    const tra_sampling *x = data;
    int64_t *at = io->rest, rows = io->in[0].rows, n = samples(x, rows);
    for (int64_t i = 0; i < n; i++) at[i] = tra_min64((i + 1) * x->every, rows) - 1;
    if (tra_rows_result(io, n)) tra_gather_columns(io, x->n, x->column, at, n);
}

TRA_ROWS_OVER(sample_over, tra_sampling, x->in = f->in[0], x->column = tra_rows_places(a, f, 0, x->n, x->column))

const tra_rows_ops tra_sample_ops = {.form = sample_form, .rest = sample_rest, .run = sample_run, .over = sample_over};

/* In how many parts the rows of so many samples are: as many as it takes, and some for workers to share. The others lie
 * between these, from a splitter to the same one. At least 2, since a part without splitters has all rows. */
static int64_t parts_used(const tra_sampling *x, int64_t samples) {
    enum { SOME = 16 };
    return tra_min64(x->parts, tra_max64(SOME, tra_ceil_div(samples, tra_max64(1, x->part_samples))));
}

TRA_ROWS_FORM(splitters_form, tra_sampling, .in = {x->out}, .out = x->out)

TRA_ROWS_REST(splitters_rest, tra_sampling, tra_add_most(8 * x->parts + 8 * (x->n / 2 + 1), arrange_rest(NULL, a, b)))

static void splitters_run(const void *data, tra_rows_io *io) {
    const tra_sampling *x = data;
    int64_t *some = io->rest, *at = some + x->parts + x->n / 2 + 1, n = io->in[0].rows;
    int *column = (int *)(some + x->parts);
    for (int k = 0; k < x->n; k++) column[k] = k;
    for (int64_t i = 0; i < n; i++) at[i] = i;
    tra_order_rows(&io->in[0], x->n, column, x->desc, at, n, at + n);
    int64_t used = parts_used(x, n);
    for (int64_t p = 1; p < x->parts && n > 0; p++) {
        int64_t below = ((__int128)p * (used - 1) + x->parts - 2) / (x->parts - 1); /* used parts before part p */
        some[p - 1] = at[(int64_t)((__int128)below * n / used)];
    }
    n = n > 0 ? x->parts - 1 : 0;
    if (tra_rows_result(io, n)) tra_gather_columns(io, x->n, NULL, some, n);
}

const tra_rows_ops tra_splitters_ops = {.form = splitters_form, .rest = splitters_rest, .run = splitters_run};

TRA_ROWS_FORM(range_form, tra_sampling, .in = {x->out}, .out = x->range)

static void range_run(const void *data, tra_rows_io *io) {
    const tra_sampling *x = data;
    int64_t part = tra_rows_position(io), rows = io->in[0].rows, at[2], n = 0;
    if (rows > 0 && part > 0) at[n++] = part - 1;
    bool below = n > 0;
    if (part < rows) at[n++] = part;
    if (!tra_rows_result(io, n)) return;
    tra_gather_columns(io, x->n, NULL, at, n);
    for (int64_t i = 0; i < n; i++) ((uint8_t *)io->made.v[x->n].values)[i] = i > 0 || !below;
}

const tra_rows_ops tra_range_ops = {.form = range_form, .run = range_run};

/* ---- slices -------------------------------------------------------------------------------------------------- */

/* The first row of a sorted block that is not below row j of the range; above: that is above it. */
static int64_t find_row(const tra_slicing *x, const tra_batch *in, const tra_batch *range, int64_t j, bool above) {
    const tra_row_view rows = {in, x->column}, ends = {range, NULL};
    int64_t row = 0;
    TRA_BISECT(row, in->rows, mid, tra_rows_compare(&rows, mid, &ends, j, x->n, x->desc) < above);
    return row;
}

/* Is the range from a splitter to the same one? The part has no rows then, and needs none of another table. */
static bool is_no_range(const tra_slicing *x, const tra_batch *range) {
    const tra_row_view ends = {range, NULL};
    int n = x->range->n - 1;
    return range->rows == 2 && !x->before && !x->after && tra_rows_compare(&ends, 0, &ends, 1, n, NULL) == 0;
}

static bool slice_none(const void *data, const tra_cell *right) {
    const tra_slicing *x = data;
    tra_err dropped = {0};
    tra_batch b = {.v = tra_calloc((size_t)x->range->n + 1, sizeof(tra_vector))};
    bool none = tra_columns_of(right, x->range, &b, &dropped) == TRA_OK && is_no_range(x, &b);
    free(b.v);
    return none;
}

static bool slice_idle(const void *data) {
    (void)data;
    return true;
}

TRA_ROWS_FORM(slice_form, tra_slicing, .in = {x->in, x->range}, .out = x->in,
              .viewed = {!tra_order_looks_up(x->in, x->n, x->column)}, .nkeys = x->n, .key = x->column,
              .reads_right = true, .repeats = TRA_REPEATS_LEFT)

static void slice_run(const void *data, tra_rows_io *io) {
    const tra_slicing *x = data;
    const tra_batch *in = &io->in[0], *range = &io->in[1];
    int64_t begin = 0, end = in->rows;
    if (is_no_range(x, range)) return put_slice(io, 0, 0);
    for (int64_t j = 0; j < range->rows; j++) {
        if (((const uint8_t *)range->v[x->range->n - 1].values)[j])
            end = find_row(x, in, range, j, x->closed);
        else
            begin = find_row(x, in, range, j, x->open);
    }
    if (x->before && begin > 0) begin--;
    if (x->after && end < in->rows) end++;
    put_slice(io, begin, end);
}

TRA_ROWS_OVER(slice_over, tra_slicing, x->in = f->in[0], x->column = tra_rows_places(a, f, 0, x->n, x->column))

const tra_rows_ops tra_slice_ops = {
    .form = slice_form, .run = slice_run, .over = slice_over, .none = slice_none, .idle = slice_idle};

static int64_t find_number(const tra_batch *in, int column, int64_t number) {
    const int64_t *v = in->v[column].values;
    int64_t low = 0;
    TRA_BISECT(low, in->rows, middle, v[middle] < number);
    return low;
}

TRA_ROWS_FORM(number_form, tra_number_slicing, .in = {x->in}, .out = x->in, .viewed = {true}, .nkeys = 1,
              .key = &x->column, .repeats = TRA_REPEATS_LEFT)

static void number_run(const void *data, tra_rows_io *io) {
    const tra_number_slicing *x = data;
    int64_t first = tra_mul_most(tra_rows_position(io), x->rows);
    put_slice(io, find_number(&io->in[0], x->column, first),
              find_number(&io->in[0], x->column, tra_add_most(first, x->rows)));
}

TRA_ROWS_OVER(number_over, tra_number_slicing, x->in = f->in[0], x->column = f->place[x->column])

const tra_rows_ops tra_number_slice_ops = {.form = number_form, .run = number_run, .over = number_over};

TRA_ROWS_FORM(row_slice_form, tra_row_slicing, .in = {x->in}, .out = x->in, .viewed = {true},
              .repeats = TRA_REPEATS_LEFT)

static void row_slice_run(const void *data, tra_rows_io *io) {
    const tra_row_slicing *x = data;
    int64_t begin = tra_min64(io->in[0].rows, tra_mul_most(tra_rows_position(io), x->rows));
    put_slice(io, begin, tra_min64(io->in[0].rows, tra_add_most(begin, x->rows)));
}

TRA_ROWS_OVER(row_slice_over, tra_row_slicing, x->in = f->in[0])

const tra_rows_ops tra_row_slice_ops = {.form = row_slice_form, .run = row_slice_run, .over = row_slice_over};

/* ---- some rows of a table of many blocks ---------------------------------------------------------------------- */

TRA_ROWS_FORM(count_form, tra_limiting, .in = {x->weight < 0 ? NULL : x->in}, .out = x->count, .viewed = {true},
              .nkeys = x->weight >= 0, .key = &x->weight)

static void put_number(tra_rows_io *io, int64_t number) {
    if (tra_rows_result(io, 1)) ((int64_t *)io->made.v[0].values)[0] = number;
}

static void count_run(const void *data, tra_rows_io *io) {
    const tra_limiting *x = data;
    int64_t n = x->weight < 0 ? io->a->array.ext.v[0] : 0;
    for (int64_t i = 0; i < io->in[0].rows; i++) n = tra_add_most(n, tra_row_weight(&io->in[0].v[x->weight], i));
    put_number(io, n);
}

TRA_ROWS_OVER(limiting_over, tra_limiting, x->in = f->in[0]; if (x->weight >= 0) x->weight = f->place[x->weight])

const tra_rows_ops tra_limit_count_ops = {.form = count_form, .run = count_run, .over = limiting_over};

TRA_ROWS_FORM(start_form, tra_limiting, .in = {x->count}, .out = x->count, .viewed = {true})

static void start_run(const void *data, tra_rows_io *io) {
    const int64_t *counts = io->in[0].v[0].values;
    int64_t block = tra_min64(tra_rows_position(io), io->in[0].rows), start = 0;
    (void)data;
    for (int64_t i = 0; i < block; i++) start = counts[i] < 0 ? INT64_MAX : tra_add_most(start, counts[i]);
    put_number(io, start);
}

const tra_rows_ops tra_limit_start_ops = {.form = start_form, .run = start_run};

TRA_ROWS_FORM(cut_form, tra_limiting, .in = {x->in, x->count}, .out = x->in, .viewed = {true, true},
              .reads_right = true, .repeats = TRA_REPEATS_LEFT)

static void cut_run(const void *data, tra_rows_io *io) {
    const tra_limiting *x = data;
    int64_t start = io->in[1].rows > 0 ? ((const int64_t *)io->in[1].v[0].values)[0] : -1, rows = io->in[0].rows;
    if (start < 0) return put_slice(io, 0, 0);
    put_slice(io, tra_min64(rows, tra_max64(0, x->from - start)),
              tra_min64(rows, tra_max64(0, tra_add_most(x->from, x->most) - start)));
}

const tra_rows_ops tra_limit_cut_ops = {.form = cut_form, .run = cut_run, .over = limiting_over};
