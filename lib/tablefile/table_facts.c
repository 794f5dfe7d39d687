/* table_facts.c - statistics of a column, from its values in order: ranges, distinct values, frequencies.
 *
 * Up to TRA_WHOLE_FREQUENCIES different values are counted exactly. When there are more, the rows of each bucket of a
 * hash are counted. A second pass counts the values of those buckets exactly that have more than a 2^15th of the rows:
 * a value elsewhere has no more. Where these are too many as well, the algorithm of Misra and Gries keeps the counts of
 * those that may be common, and a third pass counts the most common ones again: rare values are dropped, but never a
 * value that more than one row in 2^15 has.
 */
#include "tablefile_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * TRA_WHOLE_FREQUENCIES, SAMPLE = 1 << 16, LOGS = 12, NEAR = 1 << 16, FEW = 1 << 10, AHEAD = 16 };

typedef struct slot {
    int64_t value, count; /* count 0: the slot is free */
} slot;

struct tra_facts_builder {
    tra_coltype type;
    int64_t rows, nulls, min, max, changes;
    int64_t last, until_sample; /* rank of the last value; how many rows come before the next one that is sampled */
    bool any, sorted, nan;
    bool over, dropped; /* more values than are counted: of all; also of the buckets that have many rows */
    int64_t n;
    slot *slots;
    int64_t *near, least;  /* counts of values least, least + 1, ..., around the first one; if `over`, of buckets */
    int64_t nslots, nnear; /* how many are used: few for a column of few rows, so that little memory is touched */
    uint8_t *sketch;
    int64_t *sample, sampled, stride;
    uint64_t *codes; /* a bit for each entry of the dictionary, set if the column has it; NULL: too many entries */
    int64_t ncodes;
    slot *top;
    enum { COUNT_ALL, RECOUNT_BUCKETS, RECOUNT_TOP } recounting;
};

/* Slots for a column of at most so many rows: twice as many as it can have different values. */
static int64_t slots_of(int64_t rows) {
    int64_t n = 2 * FEW;
    while (n < SLOTS && n < 2 * rows) n *= 2;
    return n;
}

int64_t tra_facts_bytes(int64_t rows) {
    int64_t slots = slots_of(rows) * (int64_t)sizeof(slot);
    int64_t sorting = tra_min64(TRA_WHOLE_FREQUENCIES, rows) * (int64_t)sizeof(slot); /* qsort works on a copy */
    enum { KEPT = 320 << 10 }; /* of pages between these, which the library of C does not give back: measured */
    return slots + sorting + tra_min64(NEAR, rows) * 8 + tra_min64(2 * SAMPLE, rows) * 8 + KEPT;
}

tra_facts_builder *tra_facts_new(void) {
    tra_facts_builder *c = tra_calloc(1, sizeof *c);
    c->slots = tra_malloc(SLOTS * sizeof *c->slots);
    c->near = tra_malloc(NEAR * sizeof *c->near);
    c->sketch = tra_malloc(TRA_REGISTERS);
    c->sample = tra_malloc(2 * SAMPLE * sizeof *c->sample);
    c->top = tra_malloc(1024 * sizeof *c->top);
    return c;
}

void tra_facts_free(tra_facts_builder *c) {
    if (!c) return;
    free(c->slots);
    free(c->near);
    free(c->sketch);
    free(c->sample);
    free(c->codes);
    free(c->top);
    free(c);
}

void tra_facts_begin(tra_facts_builder *c, tra_coltype t, int64_t rows, int64_t codes) {
    free(c->codes);
    *c = (tra_facts_builder){
        .slots = c->slots, .near = c->near, .sketch = c->sketch, .sample = c->sample, .top = c->top};
    c->type = t;
    c->rows = rows;
    c->sorted = true;
    c->stride = tra_max64(1, rows / SAMPLE);
    c->nslots = slots_of(rows);
    c->nnear = rows <= FEW ? FEW : NEAR;
    memset(c->slots, 0, (size_t)c->nslots * sizeof *c->slots);
    memset(c->near, 0, (size_t)c->nnear * sizeof *c->near);
    memset(c->sketch, 0, TRA_REGISTERS);
    if (!tra_coltype_is_coded(t) || codes > 1 << 26) return;
    c->ncodes = codes;
    c->codes = tra_calloc((size_t)codes / 64 + 1, sizeof *c->codes);
}

/* A number that orders values of a type, given as 64 bits; it is its own inverse. */
static int64_t value_rank(tra_coltype t, int64_t v) {
    if (!tra_coltype_is_float(t)) return v;
    return v < 0 ? (int64_t)(~(uint64_t)v ^ UINT64_C(0x8000000000000000)) : v;
}

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static slot *find(slot *slots, int64_t n, int64_t v, uint64_t h) {
    for (int64_t at = (int64_t)(h & (uint64_t)(n - 1));; at = (at + 1) & (n - 1))
        if (slots[at].count == 0 || slots[at].value == v) return &slots[at];
}

static int most_first(const void *a, const void *b) {
    const slot *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

/* The bucket of a value with this hash. */
static uint64_t bucket(uint64_t h) { return h / (UINT64_MAX / NEAR + 1); }

/* More rows than any value has that need not be listed. */
static int64_t many_rows(const tra_facts_builder *c) { return c->rows / (1 << 15); }

/* Moves the counts of values near the first one to the slots. */
static void flush_near(tra_facts_builder *c) {
    for (int64_t i = 0; i < c->nnear && !c->over; i++) {
        int64_t v = (int64_t)((uint64_t)c->least + (uint64_t)i);
        if (c->near[i]) *find(c->slots, c->nslots, v, mix((uint64_t)v)) = (slot){v, c->near[i]};
        c->near[i] = 0;
    }
}

/* Moves all counts to the front of the slots, sorted by `order`, and returns how many there are. The slots are no hash
 * table afterwards, so no further value can be counted. No second array is allocated, since each column may have many
 * counts. */
static int64_t gather(tra_facts_builder *c, int (*order)(const void *, const void *)) {
    flush_near(c);
    int64_t n = 0;
    for (int64_t i = 0; i < c->nslots; i++)
        if (c->slots[i].count) c->slots[n++] = c->slots[i];
    qsort(c->slots, (size_t)n, sizeof *c->slots, order);
    return n;
}

/* The smallest count that at most `most` values exceed. */
static int64_t exceeded_by(const tra_facts_builder *c, int64_t most) {
    enum { SMALL = 64 };
    int64_t with[SMALL] = {0}, low = SMALL - 1, high = 0, above = 0; /* with[i]: how many values have count i */
    for (int64_t i = 0; i < SLOTS; i++) {
        int64_t n = c->slots[i].count;
        with[n < SMALL ? n : 0] += n > 0;
        if (n > high) high = n;
    }
    above = with[0];
    if (above <= most) {
        while (low > 1 && above + with[low] <= most) above += with[low--];
        return low;
    }
    while (low < high) { /* it is rare that so many values are so common */
        int64_t middle = low + (high - low) / 2, n = 0;
        for (int64_t i = 0; i < SLOTS; i++) n += c->slots[i].count > middle;
        if (n > most)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Drops half of the values. As the algorithm asks, each of the others loses as many rows as the most common of the
 * dropped ones had. */
static void drop_rare(tra_facts_builder *c) {
    int64_t off = exceeded_by(c, c->n / 2), n = 0;
    slot *v = tra_malloc((size_t)(c->n / 2 + 1) * sizeof *v);
    for (int64_t i = 0; i < SLOTS; i++)
        if (c->slots[i].count > off) v[n++] = (slot){c->slots[i].value, c->slots[i].count - off};
    memset(c->slots, 0, SLOTS * sizeof *c->slots);
    for (int64_t i = 0; i < n; i++) *find(c->slots, SLOTS, v[i].value, mix((uint64_t)v[i].value)) = v[i];
    c->n = n;
    free(v);
    c->dropped = true;
}

/* Counts the rows of buckets from here on. */
static void begin_buckets(tra_facts_builder *c) {
    flush_near(c);
    for (int64_t i = 0; i < c->nslots; i++)
        if (c->slots[i].count) c->near[bucket(mix((uint64_t)c->slots[i].value))] += c->slots[i].count;
    memset(c->slots, 0, (size_t)c->nslots * sizeof *c->slots);
    c->n = 0;
    c->over = true;
}

static inline void put_in_sketch(tra_facts_builder *c, uint64_t h) {
    uint64_t rest = h >> LOGS;
    uint8_t zeros = (uint8_t)(rest ? __builtin_ctzll(rest) + 1 : 64 - LOGS + 1);
    uint8_t *reg = &c->sketch[h & (TRA_REGISTERS - 1)];
    if (zeros > *reg) *reg = zeros;
}

/* Counts a value that is seen for the first time; h is its hash. */
static void count_new(tra_facts_builder *c, uint64_t h) {
    put_in_sketch(c, h);
    if (++c->n > TRA_WHOLE_FREQUENCIES) begin_buckets(c);
}

static inline void count(tra_facts_builder *c, int64_t v) {
    uint64_t near = (uint64_t)v - (uint64_t)c->least;
    if (near < (uint64_t)c->nnear && !c->over) {
        if (c->near[near]++ == 0) count_new(c, mix((uint64_t)v));
        return;
    }
    uint64_t h = mix((uint64_t)v);
    if (c->over) {
        put_in_sketch(c, h);
        c->near[bucket(h)]++;
        return;
    }
    slot *s = find(c->slots, c->nslots, v, h);
    if (s->count++) return;
    s->value = v;
    count_new(c, h);
}

/* Brings the slot of a value into the cache that is counted soon: most values find theirs there. */
static inline void count_soon(const tra_facts_builder *c, int64_t v) {
    if (!c->over && (uint64_t)v - (uint64_t)c->least >= (uint64_t)c->nnear)
        __builtin_prefetch(&c->slots[mix((uint64_t)v) & (uint64_t)(c->nslots - 1)], 1);
}

/* Maps values that count as the same to one: -0 to 0, and every NaN to one NaN. */
static int64_t plain(tra_coltype t, int64_t v, bool *nan) {
    if (!tra_coltype_is_float(t)) return v;
    double x;
    memcpy(&x, &v, sizeof x);
    *nan = isnan(x);
    if (*nan) return INT64_C(0x7ff8000000000000);
    return x == 0 ? 0 : v;
}

/* What is known of a block so far. min, max and last are ranks. */
typedef struct block_facts {
    int64_t min, max, last, nulls;
    bool any, sorted, nan;
} block_facts;

static void sample(tra_facts_builder *c, const int64_t *v, int64_t n) {
    for (; c->until_sample < n; c->until_sample += c->stride)
        if (c->sampled < 2 * SAMPLE) c->sample[c->sampled++] = v[c->until_sample];
    c->until_sample -= n;
}

/* Adds values without NULLs whose ranks are their values: a loop for each thing that is found out. */
static void add_whole(tra_facts_builder *c, const int64_t *v, int64_t n, block_facts *f) {
    int64_t min = v[0], max = v[0], changes = 0, falls = 0;
    for (int64_t i = 1; i < n; i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
        falls += v[i] < v[i - 1];
        changes += v[i] != v[i - 1];
    }
    f->sorted &= falls == 0 && (!f->any || v[0] >= f->last);
    f->min = f->any ? tra_min64(f->min, min) : min;
    f->max = f->any ? tra_max64(f->max, max) : max;
    c->sorted &= falls == 0 && (!c->any || v[0] >= c->last);
    c->changes += changes + (!c->any || v[0] != c->last);
    if (!c->any) c->least = (int64_t)((uint64_t)v[0] - (uint64_t)c->nnear / 2);
    c->any = f->any = true;
    c->last = f->last = v[n - 1];
    sample(c, v, n);
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) count_soon(c, v[i + AHEAD]);
        count(c, v[i]);
    }
}

/* Adds values that may be NULL. It is compiled once for floats and once for all other types, whose ranks are the
 * values. */
static inline __attribute__((always_inline)) void
add_values(tra_facts_builder *c, const int64_t *v, const uint8_t *state, int64_t n, block_facts *f, bool real) {
    tra_coltype t = real ? TRA_COL_F64 : TRA_COL_I64;
    for (int64_t i = 0; i < n; i++) {
        bool nan = false, none = state && state[i];
        int64_t x = plain(t, v[i], &nan);
        if (i + AHEAD < n) count_soon(c, v[i + AHEAD]);
        if (c->until_sample-- == 0) {
            c->until_sample = c->stride - 1;
            if (c->sampled < 2 * SAMPLE && !none) c->sample[c->sampled++] = x;
        }
        if (none) {
            f->nulls++;
            continue;
        }
        int64_t rank = value_rank(t, x);
        f->nan |= nan;
        if (!c->any) c->least = (int64_t)((uint64_t)x - (uint64_t)c->nnear / 2);
        if (f->any && rank < f->last) f->sorted = false;
        if (!f->any || rank < f->min) f->min = rank;
        if (!f->any || rank > f->max) f->max = rank;
        c->sorted &= !c->any || rank >= c->last;
        c->changes += !c->any || rank != c->last;
        c->any = f->any = true;
        c->last = f->last = rank;
        if (c->codes && x >= 0 && x < c->ncodes) c->codes[x / 64] |= UINT64_C(1) << (x % 64);
        count(c, x);
    }
}

void tra_facts_add(tra_facts_builder *c, const int64_t *v, const uint8_t *state, int64_t n, int64_t block[4],
                   bool begins) {
    if (begins) memcpy(block, (int64_t[4]){0, 0, 0, TRA_BLOCK_SORTED | TRA_BLOCK_EMPTY}, 4 * sizeof *block);
    bool first = !c->any;
    block_facts f = {.min = value_rank(c->type, block[0]),
                     .max = value_rank(c->type, block[1]),
                     .last = c->last, /* if the block has any values, the last one is of this block */
                     .any = !(block[3] & TRA_BLOCK_EMPTY),
                     .sorted = block[3] & TRA_BLOCK_SORTED,
                     .nan = block[3] & TRA_BLOCK_NAN};
    if (tra_coltype_is_float(c->type))
        add_values(c, v, state, n, &f, true);
    else if (state || c->codes)
        add_values(c, v, state, n, &f, false);
    else if (n > 0)
        add_whole(c, v, n, &f);
    int64_t min = value_rank(c->type, f.min), max = value_rank(c->type, f.max); /* value_rank is its own inverse */
    if (f.any && (first || f.min < value_rank(c->type, c->min))) c->min = min;
    if (f.any && (first || f.max > value_rank(c->type, c->max))) c->max = max;
    c->nulls += f.nulls;
    c->nan |= f.nan;
    block[0] = min;
    block[1] = max;
    block[2] += f.nulls;
    block[3] = (f.sorted ? TRA_BLOCK_SORTED : 0) | (f.nan ? TRA_BLOCK_NAN : 0) | (f.any ? 0 : TRA_BLOCK_EMPTY);
}

bool tra_facts_begin_recount(tra_facts_builder *c) {
    bool many = false;
    if (c->over && !c->recounting) {
        for (int64_t i = 0; i < NEAR && !many; i++) many = c->near[i] > many_rows(c);
        c->recounting = RECOUNT_BUCKETS;
        return many;
    }
    if (!c->dropped || c->recounting == RECOUNT_TOP) return false;
    const slot *v = c->slots;
    int64_t n = gather(c, most_first);
    memset(c->top, 0, 1024 * sizeof *c->top);
    for (int64_t i = 0; i < n && i < 256; i++)
        *find(c->top, 1024, v[i].value, mix((uint64_t)v[i].value)) = (slot){v[i].value, 1};
    c->recounting = RECOUNT_TOP;
    return true;
}

void tra_facts_recount(tra_facts_builder *c, const int64_t *v, const uint8_t *state, int64_t n) {
    bool top = c->recounting == RECOUNT_TOP;
    int64_t many = many_rows(c);
    for (int64_t i = 0; i < n; i++) {
        bool nan;
        if (state && state[i]) continue;
        int64_t x = plain(c->type, v[i], &nan);
        uint64_t h = mix((uint64_t)x);
        if (!top && c->near[bucket(h)] <= many) continue;
        slot *s = top ? find(c->top, 1024, x, h) : find(c->slots, SLOTS, x, h);
        if (s->count || !top) s->count++; /* counts of the top began with 1 */
        if (top || s->count > 1) continue;
        s->value = x;
        if (++c->n > TRA_WHOLE_FREQUENCIES) drop_rare(c);
    }
}

static _Thread_local tra_coltype sorted_type;

static int by_value(const void *a, const void *b) {
    int64_t x = value_rank(sorted_type, *(const int64_t *)a), y = value_rank(sorted_type, *(const int64_t *)b);
    return (x > y) - (x < y);
}

static int64_t estimate(const uint8_t *sketch) {
    double sum = 0, zeros = 0, m = TRA_REGISTERS, alpha = 0.7213 / (1 + 1.079 / m);
    for (int i = 0; i < TRA_REGISTERS; i++) sum += ldexp(1, -sketch[i]), zeros += sketch[i] == 0;
    double guess = alpha * m * m / sum;
    if (guess < 2.5 * m && zeros > 0) guess = m * log(m / zeros);
    return (int64_t)llround(guess);
}

static void put_frequencies(tra_facts_builder *c, tra_column_facts *out) {
    slot *v = c->slots;
    int64_t n = 0;
    if (c->over) {
        for (int i = 0; i < 1024 && c->dropped; i++)
            if (c->top[i].count > 1) v[n++] = (slot){c->top[i].value, c->top[i].count - 1};
        if (c->dropped)
            qsort(v, (size_t)n, sizeof *v, most_first);
        else
            n = gather(c, most_first);
        n = tra_min64(n, TRA_TOP_FREQUENCIES);
    } else {
        sorted_type = c->type;
        n = gather(c, by_value);
    }
    out->frequency = (const int64_t(*)[2]) & v->value; /* a slot is such a pair */
    out->n = n;
}

void tra_facts_end(tra_facts_builder *c, tra_arena *a, tra_column_facts *out) {
    *out = (tra_column_facts){.rows = c->rows,
                              .nulls = c->nulls,
                              .min = c->min,
                              .max = c->max,
                              .nan = c->nan,
                              .sorted = c->sorted,
                              .whole = !c->over,
                              .exact = true,
                              .distinct = c->n};
    put_frequencies(c, out);
    if (!c->over) return;
    if (c->codes) {
        out->distinct = 0;
        for (int64_t i = 0; i <= c->ncodes / 64; i++) out->distinct += __builtin_popcountll(c->codes[i]);
    } else if (c->sorted) {
        out->distinct = c->changes;
    } else {
        out->exact = false;
        out->distinct = estimate(c->sketch);
    }
    int64_t *sketch = tra_news(a, int64_t, TRA_REGISTERS), *bounds = tra_news(a, int64_t, TRA_BUCKETS + 1);
    for (int i = 0; i < TRA_REGISTERS; i++) sketch[i] = c->sketch[i];
    sorted_type = c->type;
    qsort(c->sample, (size_t)c->sampled, sizeof *c->sample, by_value);
    for (int i = 0; i <= TRA_BUCKETS && c->sampled > 0; i++) bounds[i] = c->sample[(c->sampled - 1) * i / TRA_BUCKETS];
    if (c->sampled > 0) bounds[0] = c->min, bounds[TRA_BUCKETS] = c->max;
    out->sketch = sketch;
    out->histogram = bounds;
}
