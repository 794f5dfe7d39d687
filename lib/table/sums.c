/* sums.c - what sums.h promises. */
#include "sums.h"

#include <string.h>

#include "../tablefile/table_file.h"
#include "group.h"
#include "table_int.h"

/* What takes each strip of the rows of a pass. */
static void each_strip(const tra_rowwise *r, const tra_rows_io *io, tra_rowwise_visit *visit, void *ctx, void *rest) {
    tra_err e = {0};
    if (tra_rowwise_each(r, &io->in[0], tra_max64(0, io->a->first), visit, ctx, rest, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

enum { MOST_PARTS = 16 };

static int bits_of(uint64_t most) { return most ? 64 - __builtin_clzll(most) : 0; }

const tra_slot_part *tra_slot_parts(tra_arena *a, int n, const tra_colexpr *const *x, int64_t rows, int *counts) {
    tra_slot_part *v = tra_news(a, tra_slot_part, n + 1);
    int shift = 0;
    if (n >= MOST_PARTS) return NULL;
    for (int k = 0; k < n; k++) {
        int64_t most, sum;
        tra_colaxis range;
        if (x[k]->nullable || !tra_colexpr_axis(x[k], &range) || range.least == INT64_MIN || range.count == INT64_MAX)
            return NULL;
        v[k].least = range.least, v[k].span = tra_max64(1, range.count) - 1;
        /* sums that are above all whole numbers of f64 would not be what they are as such */
        if (__builtin_mul_overflow(tra_max64(v[k].span, tra_max64(-v[k].least, v[k].least)), rows, &most) ||
            most > INT64_C(1) << 52)
            return NULL;
        sum = v[k].span * rows;
        v[k].shift = shift;
        v[k].bits = bits_of((uint64_t)sum);
        shift += v[k].bits;
    }
    *counts = shift;
    return shift + bits_of((uint64_t)rows) < 63 ? v : NULL;
}

/* ---- rows to slots ----------------------------------------------------------------------------------------------- */

enum { AHEAD = 48 }; /* rows: their slots are in the cache when it is their turn */

typedef struct adding {
    const tra_slots *s;
    double *to;
    int64_t slot[TRA_COLSTRIP], word[TRA_COLSTRIP];
    uint32_t at[TRA_COLSTRIP]; /* of a key: places of its values */
} adding;

static void unknown_value(const tra_column *c) {
    tra_kernel_fail("column `%s` has a value that the statistics of its file do not know of", c->name);
}

/* Places of a strip of keys of 32 bits without NULLs among the values of their range; false: some are beyond it. */
TRA_ANY_TARGET static bool place_keys(uint32_t *restrict at, const tra_slot_key *key, const int32_t *restrict v,
                                      int n) {
    uint32_t least = (uint32_t)key->least, range = (uint32_t)key->range, beyond = 0;
    for (int i = 0; i < n; i++) {
        uint32_t x = (uint32_t)v[i] - least;
        beyond |= x >= range;
        at[i] = x < range ? x : 0;
    }
    return !beyond;
}

/* From places to codes; false: some have none, and are taken for others. */
static bool look_up_codes(uint32_t *at, const int32_t *restrict code, int n) {
    int32_t missing = 0; /* negative: some were */
    for (int i = 0; i < n; i++) {
        int32_t c = code[at[i]];
        missing |= c;
        at[i] = (uint32_t)(c < 0 ? 0 : c);
    }
    return missing >= 0;
}

TRA_ANY_TARGET static void append_digit(int64_t *restrict slot, int64_t values, const uint32_t *restrict at, int n) {
    for (int i = 0; i < n; i++) slot[i] = slot[i] * values + at[i];
}

/* Most keys are such. False: some values are not known, and are taken for others. */
static bool add_short_key(adding *x, const tra_slot_key *key, const int32_t *v, int n) {
    bool known = place_keys(x->at, key, v, n);
    if (key->code) known &= look_up_codes(x->at, key->code, n);
    append_digit(x->slot, key->n, x->at, n);
    return known;
}

/* Adds a part to the words of a strip; false: some values are none of which is known. */
TRA_ANY_TARGET static bool add_part(int64_t *restrict word, const tra_slot_part *p, const int64_t *restrict v, int n) {
    uint64_t beyond = 0;
    for (int i = 0; i < n; i++) {
        uint64_t above = (uint64_t)v[i] - (uint64_t)p->least;
        beyond |= above > (uint64_t)p->span;
        word[i] += (int64_t)(above << p->shift);
    }
    return !beyond;
}

/* Adds key k to the slots of a strip. */
static void add_key(adding *x, const tra_vector *v, int k, int n) {
    const tra_slot_key *key = &x->s->key[k];
    const tra_column *c = &tra_rowwise_out(x->s->r)->v[k];
    int64_t values = key->n + key->nullable;
    if (!v->state && !key->nullable && tra_coltype_held(c->type) == TRA_I32) {
        if (!add_short_key(x, key, v->values, n)) unknown_value(c);
        return;
    }
    for (int i = 0; i < n; i++) {
        bool null = v->state && v->state[i] == TRA_STATE_NULL;
        int64_t at = null ? 0 : tra_value_whole(c, v, i) - key->least;
        bool known = null ? key->nullable : at >= 0 && at < key->range;
        if (known && !null && key->code) known = (at = key->code[at]) >= 0;
        if (!known) unknown_value(c);
        x->slot[i] = x->slot[i] * values + (!known ? 0 : null ? key->n : at);
    }
}

static void find_slots(adding *x, const tra_vector *columns, int n) {
    memset(x->slot, 0, sizeof x->slot);
    for (int k = 0; k < x->s->nkeys; k++) add_key(x, &columns[k], k, n);
}

static void add_strip(void *ctx, const tra_vector *columns, int n) {
    adding *x = ctx;
    int nsums = tra_rowwise_out(x->s->r)->n - x->s->nkeys, width = 1 + nsums;
    find_slots(x, columns, n);
    const double *first = nsums ? columns[x->s->nkeys].values : NULL;
    for (int i = 0; i < n; i++) { /* what is in one line of the cache is added at once */
        double *to = x->to + x->slot[i] * width;
        if (i < n - AHEAD) __builtin_prefetch(x->to + x->slot[i + AHEAD] * width, 1);
        to[0] += 1;
        if (first) to[1] += first[i];
    }
    for (int c = 1; c < nsums; c++) {
        const double *v = columns[x->s->nkeys + c].values;
        for (int i = 0; i < n; i++) x->to[x->slot[i] * width + 1 + c] += v[i];
    }
}

/* The same in one word for each slot. */
static void add_words(void *ctx, const tra_vector *columns, int n) {
    adding *x = ctx;
    const tra_schema *s = tra_rowwise_out(x->s->r);
    int64_t *to = (int64_t *)(void *)x->to;
    find_slots(x, columns, n);
    for (int i = 0; i < n; i++) x->word[i] = INT64_C(1) << x->s->counts;
    for (int c = x->s->nkeys; c < s->n; c++) {
        if (!add_part(x->word, &x->s->part[c - x->s->nkeys], columns[c].values, n)) unknown_value(&s->v[c]);
    }
    int i = 0;
    for (; i < n - AHEAD; i++) {
        __builtin_prefetch(to + x->slot[i + AHEAD], 1);
        to[x->slot[i]] += x->word[i];
    }
    for (; i < n; i++) to[x->slot[i]] += x->word[i];
}

TRA_ROWS_FORM(slots_form, tra_slots, .in = {tra_rowwise_in(x->r)})

TRA_ROWS_REST(slots_rest, tra_slots, tra_rowwise_scratch(x->r) + tra_round64((int64_t)sizeof(adding)))

static void slots_add(const void *data, const tra_rows_io *io, tra_array *sum) {
    adding *x = io->rest;
    x->s = data;
    x->to = sum->data;
    each_strip(x->s->r, io, x->s->part ? add_words : add_strip, x,
               (char *)io->rest + tra_round64((int64_t)sizeof(adding)));
}

static void slots_run(const void *data, tra_rows_io *io) {
    memset(io->out->array.data, 0, tra_array_bytes(&io->out->array));
    slots_add(data, io, &io->out->array);
}

const tra_rows_ops tra_slot_sums_ops = {.form = slots_form, .rest = slots_rest, .run = slots_run};
const tra_rows_ops tra_slot_words_ops = {.form = slots_form, .rest = slots_rest, .run = slots_run, .add = slots_add};

/* ---- slots to rows ----------------------------------------------------------------------------------------------- */

/* Slots of these, which may be a part of all, that have rows. */
static int64_t count_slots(const tra_slots *s, const tra_array *sums) {
    int64_t n = 0, width = sums->ext.v[1];
    const int64_t *words = sums->data;
    const double *v = sums->data;
    for (int64_t i = 0; i < sums->ext.v[0]; i++) n += s->part ? words[i] != 0 : v[i * width] != 0;
    return n;
}

static void put_whole(tra_coltype t, void *values, int64_t i, int64_t v) {
#define X(name, text, T, ...)                                                                                          \
    case TRA_##name: ((T *)values)[i] = (T)v; break;
    switch (tra_coltype_held(t)) {
        TRA_WHOLE_DTYPES(X)
    case TRA_FLOATS: break;
    }
#undef X
}

static void put_slot(const tra_slots *s, int64_t slot, const double *sums, const tra_batch *to, int64_t i) {
    for (int k = s->nkeys - 1; k >= 0; k--) {
        const tra_slot_key *key = &s->key[k];
        int64_t values = key->n + key->nullable, at = slot % values;
        bool null = at == key->n;
        slot /= values;
        put_whole(s->out->v[k].type, to->v[k].values, i, null ? 0 : key->value ? key->value[at] : key->least + at);
        if (to->v[k].state) to->v[k].state[i] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
    }
    for (int c = s->nkeys; c < s->out->n; c++) ((double *)to->v[c].values)[i] = sums[c - s->nkeys];
}

/* The number of rows and the sums of a word. */
static void open_word(const tra_slots *s, int64_t word, double *sums) {
    int64_t rows = word >> s->counts;
    sums[0] = (double)rows;
    for (int k = 0; k < s->out->n - s->nkeys - 1; k++) {
        const tra_slot_part *p = &s->part[k];
        sums[1 + k] = (double)((word >> p->shift & ((INT64_C(1) << p->bits) - 1)) + rows * p->least);
    }
}

TRA_ROWS_FORM(rows_form, tra_slots, .out = x->out)

static void rows_run(const void *data, tra_rows_io *io) {
    const tra_slots *s = data;
    const tra_array *a = &io->a->array;
    const int64_t *words = a->data;
    const double *v = a->data;
    int64_t width = a->ext.v[1], row = 0;
    double sums[MOST_PARTS + 1];
    if (!tra_rows_result(io, count_slots(s, a))) return;
    for (int64_t i = 0; i < a->ext.v[0]; i++) {
        if (s->part ? words[i] == 0 : v[i * width] == 0) continue;
        if (s->part) open_word(s, words[i], sums);
        put_slot(s, io->a->first + i, s->part ? sums : v + i * width, &io->made, row++);
    }
}

const tra_rows_ops tra_slot_rows_ops = {.form = rows_form, .run = rows_run};

/* ---- sums of columns --------------------------------------------------------------------------------------------- */

typedef struct summing {
    int n; /* columns */
    double *sum;
} summing;

static void sum_strip(void *ctx, const tra_vector *columns, int n) {
    summing *x = ctx;
    for (int c = 0; c < x->n; c++) {
        const double *v = columns[c].values;
        double sum = 0;
        for (int i = 0; i < n; i++) sum += v[i];
        x->sum[c] += sum;
    }
}

TRA_ROWS_FORM(sums_form, tra_row_sums, .in = {tra_rowwise_in(x->r)})

TRA_ROWS_REST(sums_rest, tra_row_sums,
              tra_rowwise_scratch(x->r) + tra_round64(tra_rowwise_out(x->r)->n * (int64_t)sizeof(double)))

static void sums_run(const void *data, tra_rows_io *io) {
    const tra_row_sums *s = data;
    summing x = {tra_rowwise_out(s->r)->n, io->rest};
    memset(x.sum, 0, (size_t)x.n * sizeof *x.sum);
    each_strip(s->r, io, sum_strip, &x, (char *)io->rest + tra_round64(x.n * (int64_t)sizeof(double)));
    for (int i = 0; i < s->n; i++) ((double *)io->out->array.data)[i] = x.sum[s->at[i]];
}

const tra_rows_ops tra_row_sums_ops = {.form = sums_form, .rest = sums_rest, .run = sums_run};

/* ---- products of columns ----------------------------------------------------------------------------------------- */

/* Rows of a vector, which is no larger than a register, or the compiler keeps the sums in memory; columns of X and of Y
 * that are multiplied at once. */
enum { LANES = 4, XS = 2, YS = 4 };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

static double across(const lanes *v) {
    double sum = 0;
    for (int i = 0; i < LANES; i++) sum += (*v)[i];
    return sum;
}

/* Adds the sum of x[i] * y[k] over n rows to sum[i * YS + k]. */
TRA_ANY_TARGET static void multiply(const double *const *x, const double *const *y, int n, double *sum) {
    lanes s[XS * YS] = {{0}};
    int r = 0;
    for (; r + LANES <= n; r += LANES) {
        lanes a = *(const lanes *)(x[0] + r), b = *(const lanes *)(x[1] + r);
        lanes c0 = *(const lanes *)(y[0] + r), c1 = *(const lanes *)(y[1] + r);
        lanes c2 = *(const lanes *)(y[2] + r), c3 = *(const lanes *)(y[3] + r);
        s[0] += a * c0, s[1] += a * c1, s[2] += a * c2, s[3] += a * c3;
        s[4] += b * c0, s[5] += b * c1, s[6] += b * c2, s[7] += b * c3;
    }
    for (int i = 0; i < XS * YS; i++) {
        double rest = 0;
        for (int k = r; k < n; k++) rest += x[i / YS][k] * y[i % YS][k];
        sum[i] += across(&s[i]) + rest;
    }
}

typedef struct multiplying {
    const tra_column_products *s;
    double *to;
    const double *beside; /* its rows from the strip's first on, */
    double *strip;        /* and the columns of these, one after the other */
} multiplying;

/* The columns of what lies beside the strip. */
static void turn_strip(multiplying *m, int n) {
    int ny = m->s->ny;
    for (int c = 0; c < ny; c++)
        for (int r = 0; r < n; r++) m->strip[c * TRA_COLSTRIP + r] = m->beside[r * ny + c];
    m->beside += n * ny;
}

static void multiply_strip(void *ctx, const tra_vector *columns, int n) {
    multiplying *m = ctx;
    int nx = m->s->nx, ny = m->s->ny, first = m->s->same ? 0 : nx;
    if (m->s->beside) turn_strip(m, n);
    for (int i = 0; i < nx; i += XS) {
        const double *x[XS] = {columns[i].values, columns[i + 1 < nx ? i + 1 : i].values};
        for (int k = m->s->same ? i / YS * YS : 0; k < ny; k += YS) { /* of what mirrors itself the upper triangle */
            const double *y[YS];
            double sum[XS * YS] = {0};
            for (int c = 0; c < YS; c++) {
                int at = k + c < ny ? k + c : k;
                y[c] = m->s->beside ? m->strip + at * TRA_COLSTRIP : columns[first + at].values;
            }
            multiply(x, y, n, sum);
            for (int at = 0; at < XS * YS; at++)
                if (i + at / YS < nx && k + at % YS < ny) m->to[(i + at / YS) * ny + k + at % YS] += sum[at];
        }
    }
}

static int64_t strip_bytes(const tra_column_products *s) {
    return s->beside ? s->ny * TRA_COLSTRIP * (int64_t)sizeof(double) : 0;
}

TRA_ROWS_FORM(products_form, tra_column_products, .in = {tra_rowwise_in(x->r)})

TRA_ROWS_REST(products_rest, tra_column_products, strip_bytes(x) + tra_rowwise_scratch(x->r))

static void products_run(const void *data, tra_rows_io *io) {
    const tra_column_products *s = data;
    multiplying m = {s, io->out->array.data, s->beside ? io->b->array.data : NULL, io->rest};
    memset(m.to, 0, tra_array_bytes(&io->out->array));
    each_strip(s->r, io, multiply_strip, &m, (char *)io->rest + strip_bytes(s));
    for (int i = 0; s->same && i < s->nx; i++)
        for (int k = 0; k < i; k++) m.to[i * s->ny + k] = m.to[k * s->ny + i];
}

const tra_rows_ops tra_column_products_ops = {.form = products_form, .rest = products_rest, .run = products_run};
