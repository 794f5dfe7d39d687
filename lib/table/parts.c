/* parts.c - rows divided into parts: sorted blocks, samples, splitters, slices. */
#include "parts.h"

#include "group.h"
#include "order.h"
#include "table_int.h"

#include <string.h>

void tra_copy_rows(tra_vector *to, const tra_vector *from, tra_coltype t, int64_t begin, int64_t n) {
    size_t size = tra_coltype_size(t);
    memcpy(to->values, (const char *)from->values + (size_t)begin * size, (size_t)n * size);
    if (!to->state) return;
    if (from->state)
        memcpy(to->state, from->state + begin, (size_t)n);
    else
        memset(to->state, TRA_STATE_VALUE, (size_t)n);
}

/* Copies the n rows from row `begin` on to the first rows of out. */
static void copy_rows(const tra_batch *in, int64_t begin, int64_t n, tra_batch *out) {
    for (int c = 0; c < out->schema->n && n > 0; c++)
        tra_copy_rows(&out->v[c], &in->v[c], out->schema->v[c].type, begin, n);
}

/* ---- sorted blocks --------------------------------------------------------------------------------------------- */

static int64_t arrange_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_arrange *x = data;
    (void)ext_b;
    return tra_add_most(tra_vectors_bytes(x->in->n + x->out->n),
                        tra_mul_most(ext_a->v[0], (1 + TRA_ORDER_SPARE) * (int64_t)sizeof(int64_t)));
}

static int64_t arrange_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_arrange *)data)->out, a->array.ext.v[0]);
}

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

/* The same where few bits tell keys apart: rows are put at the places that these address. spare has two words for each
 * row. False: it is something else, or there are many different keys. */
static bool keep_by_place(const tra_arrange *x, const tra_batch *in, int64_t *at, int64_t *kept, int64_t *spare) {
    enum { LEAST = 4096, STRIP = 256, BITS = 16 };
    int64_t *row = spare;
    uint64_t *word = (uint64_t *)spare + in->rows;
    tra_key_bits *keys = (tra_key_bits *)(word + STRIP);
    if (x->keep != TRA_ARRANGE_FIRST || x->desc || in->rows < LEAST || x->n > STRIP) return false;
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

static void arrange_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_arrange *x = data;
    tra_batch in, made = {.v = (tra_vector *)scratch + x->in->n};
    int64_t first = b ? tra_mul_most(tra_position(b), x->block) : 0, n = 0;
    if (!tra_open_rows(a, x->in, true, scratch, &in)) return tra_columns_begin(out, x->out, 0, &made);
    int64_t *at = (int64_t *)((char *)scratch + tra_vectors_bytes(x->in->n + x->out->n));
    tra_refuse_errors(a, &in, x->n, x->column, x->what);
    if (!keep_by_place(x, &in, at, &n, at + in.rows)) {
        for (int64_t i = 0; i < in.rows; i++)
            if (!x->matching || !has_null(x, &in, i)) at[n++] = i;
        tra_order_rows(&in, x->n, x->column, x->desc, at, n, at + in.rows);
        if (x->keep != TRA_ARRANGE_ALL && n > 0) n = keep_some(x, &in, at, n, at + in.rows);
    }
    if (x->top > 0 && n > 0) n = keep_top(x, &in, at, n, at + in.rows);
    tra_columns_begin(out, x->out, n, &made);
    for (int c = 0; c < x->out->n; c++) {
        if (x->from[c] >= 0) {
            tra_gather_rows(&made.v[c], 0, &in.v[x->from[c]], x->out->v[c].type, at, n);
            continue;
        }
        for (int64_t i = 0; i < n; i++) ((int64_t *)made.v[c].values)[i] = first + at[i];
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

const tra_rows_ops tra_arrange_ops = {.scratch = arrange_scratch,
                                      .bytes = arrange_bytes,
                                      .run = arrange_run,
                                      .reads = arrange_reads,
                                      .over = arrange_over};

/* ---- samples and splitters ----------------------------------------------------------------------------------- */

static int64_t samples(const tra_sampling *x, int64_t rows) { return tra_ceil_div(rows, x->every); }

static int64_t sample_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_sampling *x = data;
    (void)ext_b;
    return tra_vectors_bytes(x->in->n + x->out->n) + 8 * samples(x, ext_a->v[0]);
}

static int64_t sample_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_sampling *)data)->out, samples(data, a->array.ext.v[0]));
}

static void sample_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_sampling *x = data;
    tra_batch in, made = {.v = (tra_vector *)scratch + x->in->n};
    (void)b;
    if (!tra_open_rows(a, x->in, false, scratch, &in)) return tra_columns_begin(out, x->out, 0, &made);
    int64_t *at = (int64_t *)((char *)scratch + tra_vectors_bytes(x->in->n + x->out->n)), n = samples(x, in.rows);
    for (int64_t i = 0; i < n; i++) at[i] = tra_min64((i + 1) * x->every, in.rows) - 1;
    tra_columns_begin(out, x->out, n, &made);
    for (int k = 0; k < x->n; k++) tra_gather_rows(&made.v[k], 0, &in.v[x->column[k]], x->out->v[k].type, at, n);
}

static void sample_reads(const void *data, tra_rows_reads *r) {
    const tra_sampling *x = data;
    tra_rows_read(r, 0, x->n, x->column);
}

static const void *sample_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    tra_sampling *x = tra_new(a, tra_sampling);
    *x = *(const tra_sampling *)data;
    x->in = f->in[0];
    x->column = tra_rows_places(a, f, 0, x->n, x->column);
    return x;
}

const tra_rows_ops tra_sample_ops = {
    .scratch = sample_scratch, .bytes = sample_bytes, .run = sample_run, .reads = sample_reads, .over = sample_over};

static int64_t splitters_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_sampling *x = data;
    (void)ext_b;
    return tra_add_most(tra_vectors_bytes(2 * x->out->n) + 8 * x->parts + 8 * (x->n / 2 + 1),
                        tra_mul_most(ext_a->v[0], (1 + TRA_ORDER_SPARE) * (int64_t)sizeof(int64_t)));
}

static int64_t splitters_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_sampling *x = data;
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(x->out, a->array.ext.v[0] > 0 ? x->parts - 1 : 0);
}

static void splitters_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_sampling *x = data;
    tra_batch in, made = {.v = (tra_vector *)scratch + x->out->n};
    (void)b;
    if (!tra_open_rows(a, x->out, true, scratch, &in)) return tra_columns_begin(out, x->out, 0, &made);
    int64_t *some = (int64_t *)((char *)scratch + tra_vectors_bytes(2 * x->out->n)),
            *at = some + x->parts + x->n / 2 + 1, n = in.rows;
    int *column = (int *)(some + x->parts);
    for (int k = 0; k < x->n; k++) column[k] = k;
    for (int64_t i = 0; i < n; i++) at[i] = i;
    tra_order_rows(&in, x->n, column, x->desc, at, n, at + n);
    for (int64_t p = 1; p < x->parts && n > 0; p++) some[p - 1] = at[(int64_t)((__int128)p * n / x->parts)];
    n = n > 0 ? x->parts - 1 : 0;
    tra_columns_begin(out, x->out, n, &made);
    tra_take_rows(&in, some, n, &made);
}

const tra_rows_ops tra_splitters_ops = {.scratch = splitters_scratch, .bytes = splitters_bytes, .run = splitters_run};

static int64_t range_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_sampling *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(x->out->n + x->range->n);
}

static int64_t range_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_sampling *)data)->range, tra_min64(2, a->array.ext.v[0]));
}

static void range_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_sampling *x = data;
    tra_batch in, made = {.v = (tra_vector *)scratch + x->out->n};
    int64_t part = tra_position(b), at[2], n = 0;
    if (!tra_open_rows(a, x->out, true, scratch, &in)) return tra_columns_begin(out, x->range, 0, &made);
    if (in.rows > 0 && part > 0) at[n++] = part - 1;
    bool below = n > 0;
    if (part < in.rows) at[n++] = part;
    tra_columns_begin(out, x->range, n, &made);
    for (int k = 0; k < x->n; k++) tra_gather_rows(&made.v[k], 0, &in.v[k], x->range->v[k].type, at, n);
    for (int64_t i = 0; i < n; i++) ((uint8_t *)made.v[x->n].values)[i] = i > 0 || !below;
}

const tra_rows_ops tra_range_ops = {.scratch = range_scratch, .bytes = range_bytes, .run = range_run};

/* ---- slices -------------------------------------------------------------------------------------------------- */

/* The first row of a sorted block that is not below row j of the range; above: that is above it. */
static int64_t find_row(const tra_slicing *x, const tra_batch *in, const tra_batch *range, int64_t j, bool above) {
    const tra_row_view rows = {in, x->column}, ends = {range, NULL};
    int64_t low = 0, high = in->rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int r = tra_rows_compare(&rows, middle, &ends, j, x->n, x->desc);
        if (above ? r <= 0 : r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct slice {
    tra_batch in;
    int64_t begin, rows; /* none of what could not be opened */
    tra_vector *rest;    /* of scratch */
} slice;

static void put_slice(const slice *s, const tra_schema *columns, tra_cell *out) {
    tra_batch made = {.v = s->rest};
    tra_columns_begin(out, columns, s->rows, &made);
    copy_rows(&s->in, s->begin, s->rows, &made);
}

static slice find_slice(const tra_slicing *x, const tra_cell *a, const tra_cell *b, void *scratch) {
    tra_batch range;
    tra_vector *v = scratch;
    bool check = tra_order_looks_up(x->in, x->n, x->column);
    slice s = {.rest = v + x->in->n + x->range->n};
    if (!tra_open_rows(a, x->in, check, v, &s.in) || !tra_open_rows(b, x->range, true, v + x->in->n, &range)) return s;
    int64_t end = s.in.rows;
    for (int64_t j = 0; j < range.rows; j++) {
        if (((const uint8_t *)range.v[x->range->n - 1].values)[j])
            end = find_row(x, &s.in, &range, j, x->closed);
        else
            s.begin = find_row(x, &s.in, &range, j, x->open);
    }
    if (x->before && s.begin > 0) s.begin--;
    if (x->after && end < s.in.rows) end++;
    s.rows = tra_max64(0, end - s.begin);
    return s;
}

static int64_t slice_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_slicing *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(2 * x->in->n + x->range->n);
}

static int64_t slice_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)out;
    return tra_columns_room(((const tra_slicing *)data)->in, find_slice(data, a, b, scratch).rows);
}

static void slice_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    slice s = find_slice(data, a, b, scratch);
    put_slice(&s, ((const tra_slicing *)data)->in, out);
}

static void slice_reads(const void *data, tra_rows_reads *r) {
    const tra_slicing *x = data;
    tra_rows_read(r, 0, x->n, x->column);
    tra_rows_read(r, r->left, x->range->n, NULL);
    tra_rows_repeat(r, 0, x->in->n);
}

static const void *slice_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    tra_slicing *x = tra_new(a, tra_slicing);
    *x = *(const tra_slicing *)data;
    x->in = f->in[0];
    x->column = tra_rows_places(a, f, 0, x->n, x->column);
    return x;
}

const tra_rows_ops tra_slice_ops = {
    .scratch = slice_scratch, .bytes = slice_bytes, .run = slice_run, .reads = slice_reads, .over = slice_over};

static int64_t find_number(const tra_batch *in, int column, int64_t number) {
    const int64_t *v = in->v[column].values;
    int64_t low = 0;
    TRA_BISECT(low, in->rows, middle, v[middle] < number);
    return low;
}

static int64_t number_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(2 * ((const tra_number_slicing *)data)->in->n);
}

static slice find_numbers(const tra_number_slicing *x, const tra_cell *a, const tra_cell *b, void *scratch) {
    int64_t first = tra_mul_most(tra_position(b), x->rows);
    slice s = {.rest = (tra_vector *)scratch + x->in->n};
    if (!tra_open_rows(a, x->in, false, scratch, &s.in)) return s;
    s.begin = find_number(&s.in, x->column, first);
    s.rows = find_number(&s.in, x->column, tra_add_most(first, x->rows)) - s.begin;
    return s;
}

static int64_t number_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)out;
    return tra_columns_room(((const tra_number_slicing *)data)->in, find_numbers(data, a, b, scratch).rows);
}

static void number_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    slice s = find_numbers(data, a, b, scratch);
    put_slice(&s, ((const tra_number_slicing *)data)->in, out);
}

static void number_reads(const void *data, tra_rows_reads *r) {
    const tra_number_slicing *x = data;
    r->read[x->column] = true;
    tra_rows_repeat(r, 0, x->in->n);
}

static const void *number_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_number_slicing *old = data;
    tra_number_slicing *x = tra_new(a, tra_number_slicing);
    *x = (tra_number_slicing){f->in[0], f->place[old->column], old->rows};
    return x;
}

const tra_rows_ops tra_number_slice_ops = {
    .scratch = number_scratch, .bytes = number_bytes, .run = number_run, .reads = number_reads, .over = number_over};

static int64_t row_slice_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(2 * ((const tra_row_slicing *)data)->in->n);
}

static slice find_row_slice(const tra_row_slicing *x, const tra_cell *a, const tra_cell *b, void *scratch) {
    slice s = {.rest = (tra_vector *)scratch + x->in->n};
    if (!tra_open_rows(a, x->in, false, scratch, &s.in)) return s;
    s.begin = tra_min64(s.in.rows, tra_mul_most(tra_position(b), x->rows));
    s.rows = tra_min64(x->rows, s.in.rows - s.begin);
    return s;
}

static int64_t row_slice_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)out;
    return tra_columns_room(((const tra_row_slicing *)data)->in, find_row_slice(data, a, b, scratch).rows);
}

static void row_slice_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    slice s = find_row_slice(data, a, b, scratch);
    put_slice(&s, ((const tra_row_slicing *)data)->in, out);
}

static void row_slice_reads(const void *data, tra_rows_reads *r) {
    tra_rows_repeat(r, 0, ((const tra_row_slicing *)data)->in->n);
}

static const void *row_slice_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    tra_row_slicing *x = tra_new(a, tra_row_slicing);
    *x = (tra_row_slicing){f->in[0], ((const tra_row_slicing *)data)->rows};
    return x;
}

const tra_rows_ops tra_row_slice_ops = {.scratch = row_slice_scratch,
                                        .bytes = row_slice_bytes,
                                        .run = row_slice_run,
                                        .reads = row_slice_reads,
                                        .over = row_slice_over};
