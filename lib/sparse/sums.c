/* sums.c - see sums.h. */
#include "sums.h"

#include <assert.h>
#include <string.h>

enum { SMALL_BOX = 1 << 16, LARGE_BOX = 1 << 22, THIN = 16 };

/* Does each place have a number? */
static bool is_flat(int64_t box, int64_t touched) {
    return box <= SMALL_BOX || (box <= LARGE_BOX && box / THIN <= touched);
}

static int64_t slots_of(int64_t touched) {
    int64_t n = 64;
    while (n < TRA_SIZE_MOST / 64 && n < 2 * touched) n *= 2;
    return n;
}

static int64_t words(int64_t bits) { return (bits + 63) / 64 + 8; }

int64_t tra_sums_scratch(int64_t box, int64_t touched) {
    /* a smaller box of as many may be flat where this one is not */
    int64_t flat = tra_min64(box, LARGE_BOX);
    flat = 8 * (flat + 8 + words(flat) + words(words(flat))) + 64;
    if (box <= SMALL_BOX) return flat;
    int64_t n = tra_add_most(slots_of(touched), 2 * tra_min64(box, touched));
    return tra_max64(flat, tra_mul_most((int64_t)sizeof(tra_entry), n));
}

tra_sums tra_sums_begin(int64_t box, int64_t touched, tra_dtype t, void *scratch) {
    tra_sums s = {.t = t, .box = box};
    if (is_flat(box, touched)) {
        s.value = scratch;
        s.bits = (uint64_t *)scratch + box + 8;
        if (box > SMALL_BOX) s.top = s.bits + words(box);
        memset(scratch, 0, (size_t)(8 * (box + 8 + words(box) + words(words(box)))));
        return s;
    }
    s.slots = slots_of(touched);
    s.table = scratch;
    s.list = s.table + s.slots;
    memset(s.table, 0, (size_t)s.slots * sizeof *s.table);
    return s;
}

tra_entry *tra_sums_slot(tra_sums *s, int64_t place) {
    uint64_t at = (uint64_t)place * 0x9E3779B97F4A7C15u;
    at ^= at >> 32;
    for (;; at++) {
        tra_entry *e = &s->table[at & (uint64_t)(s->slots - 1)];
        if (e->column == place + 1) return e;
        if (e->column != 0) continue;
        e->column = place + 1;
        s->used++;
        return e;
    }
}

static void add(tra_dtype t, void *sum, const void *x, const void *y) {
    int64_t product;
    bool over;
    switch (t) {
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name: *(ctype *)sum += *(const ctype *)x * *(const ctype *)y; return;
        TRA_FLOAT_DTYPES(X)
#undef X
    case TRA_WHOLES: /* computed in i64 */
        over = __builtin_mul_overflow(*(const int64_t *)x, *(const int64_t *)y, &product);
        tra_overflow |= over | __builtin_add_overflow(*(int64_t *)sum, product, (int64_t *)sum);
    }
}

void tra_sums_add(tra_sums *s, int64_t place, const void *x, const void *y) {
    if (s->table) {
        add(s->t, &tra_sums_slot(s, place)->value, x, y);
        return;
    }
    add(s->t, s->value + (size_t)place * tra_dtype_size(s->t), x, y);
    tra_sums_touch(s, place);
}

static void touch_range(uint64_t *bits, int64_t from, int64_t to) {
    for (int64_t w = from >> 6; w <= (to - 1) >> 6; w++) {
        int64_t a = tra_max64(from - w * 64, 0), b = tra_min64(to - w * 64, 64);
        bits[w] |= (b == 64 ? ~(uint64_t)0 : ((uint64_t)1 << b) - 1) & ~(((uint64_t)1 << a) - 1);
    }
}

void tra_sums_add_range(tra_sums *s, int64_t place, const double *value, int64_t n, double y) {
    double *sum = (double *)(void *)s->value + place;
    if (n == 0) return;
    touch_range(s->bits, place, place + n);
    if (s->top) touch_range(s->top, place >> 6, ((place + n - 1) >> 6) + 1);
    for (int64_t i = 0; value && i < n; i++) sum[i] += value[i] * y;
}

/* Adds a row of f64 or f32 to a flat box; touched: its bits are in one level. */
#define ADD_ROW(type)                                                                                                  \
    {                                                                                                                  \
        type *sum = (type *)(void *)s->value + base, factor = *(const type *)y;                                        \
        const type *v = value;                                                                                         \
        uint64_t *bits = s->bits;                                                                                      \
        for (int64_t i = 0; i < n; i++) sum[column[i]] += v[i] * factor;                                               \
        for (int64_t i = 0; !s->top && i < n; i++) {                                                                   \
            uint64_t place = (uint64_t)base + column[i];                                                               \
            bits[place >> 6] |= (uint64_t)1 << (place & 63);                                                           \
        }                                                                                                              \
        for (int64_t i = 0; s->top && i < n; i++) tra_sums_touch(s, base + column[i]);                                 \
        return;                                                                                                        \
    }

void tra_sums_add_row(tra_sums *s, int64_t base, int64_t step, const uint32_t *column, const void *value, int64_t n,
                      const void *y, bool count) {
    size_t size = tra_dtype_size(s->t);
    if (s->table || (step != 1 && !count)) {
        for (int64_t i = 0; i < n; i++)
            tra_sums_add(s, base + column[i] * step, (const char *)value + (size_t)i * size, y);
        return;
    }
    if (count && !s->top && step == 1) {
        uint64_t *bits = s->bits;
        for (int64_t i = 0; i < n; i++) {
            uint64_t place = (uint64_t)base + column[i];
            bits[place >> 6] |= (uint64_t)1 << (place & 63);
        }
        return;
    }
    for (int64_t i = 0; count && i < n; i++) tra_sums_touch(s, base + column[i] * step);
    if (count) return;
    if (s->t == TRA_F64) ADD_ROW(double)
    if (s->t == TRA_F32) ADD_ROW(float)
    for (int64_t i = 0; i < n; i++) {
        add(s->t, s->value + (size_t)(base + column[i]) * size, (const char *)value + (size_t)i * size, y);
        tra_sums_touch(s, base + column[i]);
    }
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* The result, and where place 0 is in it. */
typedef struct reading {
    int64_t row, columns;
    tra_rows_writer w;
} reading;

static void read_one(reading *r, int64_t place, const void *value) {
    bool first = place < r->columns;
    tra_writer_put(&r->w, first ? r->row : r->row + place / r->columns, first ? place : place % r->columns, value);
}

/* The places of a word of bits, all of one row, straight to where they go: of results of the type of the sums. */
#define READ_WORD(type)                                                                                                \
    {                                                                                                                  \
        type *sum = (type *)(void *)s->value, *value = (type *)(void *)to->v.value;                                    \
        for (; bits; bits &= bits - 1) {                                                                               \
            int64_t place = w * 64 + __builtin_ctzll(bits);                                                            \
            value[n] = sum[place];                                                                                     \
            to->v.column[n] = (uint32_t)place;                                                                         \
            n += sum[place] != 0;                                                                                      \
            sum[place] = 0;                                                                                            \
        }                                                                                                              \
    }

static void read_word(tra_sums *s, reading *r, int64_t w) {
    uint64_t bits = s->bits[w];
    tra_rows_maker *to = r->w.to;
    size_t size = tra_dtype_size(s->t);
    s->bits[w] = 0;
    bool one_row = (w + 1) * 64 <= r->columns;
    if (!to && one_row) {
        r->w.nrows += r->w.row != r->row;
        r->w.row = r->row;
        r->w.entries += __builtin_popcountll(bits);
        return;
    }
    if (to && one_row && s->t == r->w.type && s->t != TRA_I64 && !r->w.after->code) {
        int64_t n = to->v.n;
        bool opens = to->v.nrows == 0 || to->v.row[to->v.nrows - 1] != r->row;
        if (opens) tra_rows_open(to, r->row);
        if (s->t == TRA_F64) READ_WORD(double)
        if (s->t == TRA_F32) READ_WORD(float)
        to->v.n = n;
        if (opens) tra_rows_close(to); /* all may be 0 */
        return;
    }
    for (; bits; bits &= bits - 1) {
        int64_t place = w * 64 + __builtin_ctzll(bits);
        void *value = s->value + (size_t)place * size;
        read_one(r, place, value);
        memset(value, 0, size);
    }
}

static void read_bits(tra_sums *s, reading *r) {
    int64_t nwords = (s->box + 63) / 64;
    for (int64_t w = 0; !s->top && w < nwords; w++)
        if (s->bits[w]) read_word(s, r, w);
    for (int64_t t = 0; s->top && t < (nwords + 63) / 64; t++)
        for (; s->top[t]; s->top[t] &= s->top[t] - 1) read_word(s, r, t * 64 + __builtin_ctzll(s->top[t]));
}

static void read_table(tra_sums *s, reading *r) {
    tra_entry *e = s->list;
    int64_t n = 0;
    for (int64_t i = 0; i < s->slots && n < s->used; i++) {
        if (s->table[i].column == 0) continue;
        e[n] = s->table[i];
        e[n].row = 0;
        e[n++].column--;
        s->table[i] = (tra_entry){.row = 0};
    }
    e = tra_sort_entries(e, e + n, n);
    for (int64_t i = 0; i < n; i++) read_one(r, e[i].column, &e[i].value);
    s->used = 0;
}

int64_t tra_sums_end(tra_sums *s, int64_t row, int64_t columns, const tra_unary *after, tra_dtype type,
                     tra_rows_maker *to, int64_t *nrows) {
    reading r; /* not initialised as a whole: it is large */
    r.row = row, r.columns = tra_max64(1, columns);
    tra_writer_begin(&r.w, to, after, s->t, type);
    if (s->table)
        read_table(s, &r);
    else
        read_bits(s, &r);
    tra_writer_flush(&r.w);
    *nrows = r.w.nrows;
    return r.w.entries;
}

void tra_sort_keys(uint64_t *key, int64_t n, int shift) {
    uint64_t differ = 0, *from = key, *to = key + n;
    bool sorted = true;
    for (int64_t i = 1; i < n; i++) differ |= key[i] ^ key[0], sorted &= key[i] >= key[i - 1];
    if (sorted) return;
    if (n <= 32) {
        for (int64_t i = 1; i < n; i++) {
            uint64_t x = key[i];
            int64_t j = i;
            for (; j > 0 && key[j - 1] > x; j--) key[j] = key[j - 1];
            key[j] = x;
        }
        return;
    }
    for (; shift < 64 && differ >> shift; shift += 8) {
        uint32_t at[256] = {0}, sum = 0;
        if (!(differ >> shift & 255)) continue;
        for (int64_t i = 0; i < n; i++) at[from[i] >> shift & 255]++;
        for (int d = 0; d < 256; d++) {
            uint32_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) to[at[from[i] >> shift & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != key) memcpy(key, from, (size_t)n * sizeof *key);
}
