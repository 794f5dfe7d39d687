/* matmul.c - see matmul.h. */
#include "matmul.h"
#include "../kernel/matmul_fold.h"
#include "sums.h"

#include "../kernel/parallel_sums.h"

#include <string.h>

enum {
    WIDE = 1 << 21,  /* places that an array has at most */
    SMALL = 1 << 15, /* places that the second cache holds: no table is faster */
    TABLE = 1 << 10, /* places that a table holds */
    FEW = 1 << 8,    /* products that are merged, unless an array has room for CLOSE times as many */
    CLOSE = 8,
    SLOTS = 4 * TABLE,
    NEAR = 16, /* entries that a prefetch comes before its use; twice as many for each load fewer that leads to it */
    LARGE = 1 << 17 /* elements that no cache holds: they are prefetched */
};
#define EMPTY UINT32_MAX

/* One row of the result: its entries in the outer matrix and in the state; steps: products and entries of the state;
 * most: places that may be touched, of those from `from` up to `to`. */
typedef struct line {
    int64_t row, first, end, state, state_end, steps, most, from, to;
} line;

/* What a piece adds up in. Between two rows no key is there, no bit is set, and all sums of `flat` are 0. */
typedef struct adder {
    char *sum, *terms, *in_table; /* terms: numbers of products, of folds; in_table: sums, then these */
    int64_t clean;                /* so many of sum and terms are 0 */
    uint64_t *bits, *touched;
    uint32_t *key;
    bool direct; /* elements are put as they are, else by w */
    bool ones;   /* directly, as bools */
    tra_rows_maker to;
    tra_rows_writer w;
} adder;

typedef struct work {
    const tra_matmul *m;
    tra_cell *out;
    tra_rows_view state;
    uint32_t *place; /* of each shared coordinate: its row in the inner matrix, from 1; NULL: to be sought */
    bool all_there;
    int64_t *steps; /* of each row of the outer matrix from the first: products before it, and before others */
    int64_t first;  /* of the outer matrix: the first row that is computed */
    int pieces;
    int64_t at[TRA_PIECES + 1]; /* rows of the result where pieces begin */
    int64_t from_a[TRA_PIECES + 1], from_state[TRA_PIECES + 1];
    bool exact;
    int64_t calm; /* entries of the outer matrix before this one prefetch */
    tra_rows_pieces rows;
} work;

/* ---- scratch ------------------------------------------------------------------------------------------------- */

static bool has_places(int64_t entries, int64_t shared) { return shared <= tra_max64(1 << 16, 16 * entries); }

static int64_t places_room(int64_t entries, int64_t shared) {
    return tra_round64(4 * tra_min64(shared, tra_max64(1 << 16, tra_mul_most(16, entries))));
}

static int64_t width_of(int64_t box) { return tra_min64(box, WIDE); }

static int64_t words_of(int64_t box) { return width_of(box) / 64 + 1; }
static int64_t touched_most(int64_t box) { return tra_max64(words_of(box), 2 * TABLE); }

static int64_t adder_room(int64_t box) {
    int64_t flat = 2 * tra_round64(8 * width_of(box)) + tra_round64(8 * words_of(box));
    return flat + tra_round64(16 * touched_most(box)) + SLOTS * (8 + 8 + 4);
}

int64_t tra_matmul_room(int64_t rows, int64_t entries, int64_t shared) {
    return tra_add_most(tra_round64(tra_mul_most(8, tra_add_most(rows, 1))), places_room(entries, shared));
}

int64_t tra_matmul_scratch(int64_t box) { return adder_room(box); }

static void *piece_of(char **scratch, int64_t bytes) {
    void *p = *scratch;
    *scratch += tra_round64(bytes);
    return p;
}

static void begin_adder(adder *s, const work *w, char *scratch) {
    int64_t box = w->m->box, words = words_of(box);
    s->sum = piece_of(&scratch, 8 * width_of(box));
    s->terms = piece_of(&scratch, 8 * width_of(box));
    s->bits = piece_of(&scratch, 8 * words);
    s->touched = piece_of(&scratch, 16 * touched_most(box));
    s->in_table = piece_of(&scratch, 16 * SLOTS);
    s->key = piece_of(&scratch, 4 * SLOTS);
    s->clean = 0;
    memset(s->key, 255, SLOTS * sizeof *s->key);
    memset(s->bits, 0, (size_t)words * sizeof *s->bits);
    tra_dtype type = w->out->array.dtype;
    s->to.v.nrows = s->to.v.n = 0;
    tra_writer_begin(&s->w, &s->to, w->m->after, w->m->t, type);
    s->ones = w->m->t == TRA_I64 && type == TRA_BOOL;
    s->direct = w->m->rows_each == 1 && !w->m->after->code && w->m->after->arg == type;
    s->direct = s->direct && (type == w->m->t || s->ones);
}

/* ---- what rows meet ------------------------------------------------------------------------------------------- */

/* The row of the inner matrix that a shared coordinate leads to; -1: none. */
static inline int64_t inner_row(const work *w, uint32_t shared) {
    if (w->place) return (int64_t)w->place[shared] - 1;
    if (w->all_there) return shared;
    int64_t q = tra_rows_from(&w->m->b, shared);
    return q < w->m->b.nrows && w->m->b.row[q] == shared ? q : -1;
}

/* Asks for what entries after entry k of the outer matrix lead to. */
static inline void ahead(const work *w, int64_t k) {
    const tra_rows_view *b = &w->m->b;
    const uint32_t *column = w->m->a.column + k;
    if (k >= w->calm) return;
    if (w->place) __builtin_prefetch(&w->place[column[4 * NEAR]]);
    int64_t far = inner_row(w, column[2 * NEAR]), q = inner_row(w, column[NEAR]);
    __builtin_prefetch(&b->begin[far + 1]);
    if (q < 0) return;
    int64_t i = b->begin[q];
    __builtin_prefetch(&b->column[i]);
    __builtin_prefetch(b->value + (size_t)i * b->size);
    __builtin_prefetch(b->value + (size_t)i * b->size + 64);
}

/* The place of an entry of the state in the row at hand. */
static inline int64_t state_place(const work *w, const line *l, int64_t k) {
    if (w->m->rows_each == 1) return w->state.column[k];
    const tra_rows_view *v = &w->state;
    int64_t r = 0, to = v->nrows;
    TRA_BISECT(r, to, mid, v->begin[mid] <= k);
    return (v->row[r - 1] - l->row * w->m->rows_each) * w->m->columns + v->column[k];
}

/* The value of an entry of the state. */
#define HELD(name, T)                                                                                                  \
    static inline T held_##name(const work *w, int64_t k) { return ((const T *)(const void *)w->state.value)[k]; }
HELD(f64, double)
HELD(f32, float)
#undef HELD
static inline int64_t held_i64(const work *w, int64_t k) {
    return tra_element_whole(w->m->state->array.dtype, w->state.value, k);
}

/* ---- putting elements ------------------------------------------------------------------------------------------ */

#define PUT(name, T)                                                                                                   \
    static inline void name(const work *w, adder *s, int64_t row, uint64_t place, T value) {                           \
        if (s->direct) {                                                                                               \
            s->to.v.column[s->to.v.n] = (uint32_t)place;                                                               \
            if (s->ones)                                                                                               \
                s->to.v.value[s->to.v.n++] = 1;                                                                        \
            else                                                                                                       \
                ((T *)(void *)s->to.v.value)[s->to.v.n++] = value;                                                     \
            return;                                                                                                    \
        }                                                                                                              \
        int64_t in = (int64_t)place / w->m->columns;                                                                   \
        tra_writer_put(&s->w, row * w->m->rows_each + in, (int64_t)place - in * w->m->columns, &value);                \
    }
PUT(put_f64, double)
PUT(put_f32, float)
PUT(put_i64, int64_t)
#undef PUT

/* Are the entries in all of a range of columns, so long that this is worth telling? */
static inline bool is_range(const uint32_t *column, int64_t from, int64_t to) {
    enum { LONG = 4 };
    return to - from >= LONG && (int64_t)column[to - 1] - column[from] == to - 1 - from;
}

/* Marks n places from `first` on. Returns how many words were touched. */
static inline int64_t touch_range(adder *s, int64_t words, int64_t first, int64_t n) {
    for (int64_t w = first >> 6, last = (first + n - 1) >> 6; w <= last; w++) {
        int64_t from = tra_max64(first, w << 6), to = tra_min64(first + n, (w + 1) << 6);
        if (s->bits[w] == 0) s->touched[words++] = (uint64_t)w;
        s->bits[w] |= UINT64_MAX >> (64 - (to - from)) << (from & 63);
    }
    return words;
}

/* Merges runs of ascending keys, which end there, to one; other: room for as many keys. Returns where they are. */
static uint64_t *merge_runs(uint64_t *key, uint64_t *other, uint32_t *run, uint32_t runs) {
    while (runs > 1) {
        uint32_t made = 0, at = 0;
        for (uint32_t r = 0; r < runs; r += 2) {
            uint32_t i = at, middle = run[r], end = r + 1 < runs ? run[r + 1] : middle, j = middle;
            while (i < middle && j < end) { /* without branches: which side goes on cannot be predicted */
                uint64_t x = key[i], y = key[j];
                bool left = x < y;
                other[at++] = left ? x : y;
                i += left;
                j += !left;
            }
            while (i < middle) other[at++] = key[i++];
            while (j < end) other[at++] = key[j++];
            run[made++] = end;
        }
        runs = made;
        uint64_t *swap = key;
        key = other;
        other = swap;
    }
    return key;
}

#define T    double
#define TYPE f64
#define FOLD ADD
#include "matmul_body.h"
#define FOLD MAX
#include "matmul_body.h"
#define FOLD MIN
#include "matmul_body.h"
#undef T
#undef TYPE
#define T    float
#define TYPE f32
#define FOLD ADD
#include "matmul_body.h"
#define FOLD MAX
#include "matmul_body.h"
#define FOLD MIN
#include "matmul_body.h"
#undef T
#undef TYPE
#define T    int64_t
#define TYPE i64
#define FOLD ADD
#include "matmul_body.h"
#define FOLD MAX
#include "matmul_body.h"
#define FOLD MIN
#include "matmul_body.h"
#undef T
#undef TYPE

/* Do all places of the row lie so near to each other that an array of them stays in the cache? Then they are in the
 * line. */
static bool is_near(const work *w, line *l) {
    const tra_rows_view *b = &w->m->b;
    int64_t from = w->m->box, to = 0;
    if (l->state < l->state_end) return false;
    for (int64_t k = l->first; k < l->end; k++) {
        int64_t q = inner_row(w, w->m->a.column[k]);
        if (q < 0) continue;
        from = tra_min64(from, b->column[b->begin[q]]);
        to = tra_max64(to, b->column[b->begin[q + 1] - 1]);
        if (to - from >= SMALL) return false;
    }
    l->from = tra_min64(from, to), l->to = to + 1;
    return true;
}

static int64_t one_row(const work *w, adder *s, line *l, bool count) {
    l->from = 0, l->to = w->m->box;
    bool few = l->steps <= FEW;
    bool near = (few || (w->m->box > SMALL && (l->most <= TABLE || w->m->box > WIDE))) && is_near(w, l);
    bool table = l->most <= TABLE && w->m->box > SMALL && !near;
    few = few && (!near || l->to - l->from > CLOSE * l->steps);
    int64_t more = width_of(l->to - l->from) - s->clean;
    if (!few && !table && !count && more > 0) {
        memset(s->sum + 8 * s->clean, 0, (size_t)(8 * more));
        if (w->m->fold != TRA_S_ADD) memset(s->terms + 8 * s->clean, 0, (size_t)(8 * more));
        s->clean += more;
    }
    tra_scalar_op fold = w->m->fold;
#define WAY(n, fold) (few ? merged_##n##_##fold : table ? hashed_##n##_##fold : flat_##n##_##fold)
#define EACH(type, n)                                                                                                  \
    if (w->m->t == TRA_##type)                                                                                         \
        return (fold == TRA_S_ADD ? WAY(n, ADD) : fold == TRA_S_MAX ? WAY(n, MAX) : WAY(n, MIN))(w, s, l, count);
    EACH(F64, f64)
    EACH(F32, f32)
    EACH(I64, i64)
#undef EACH
#undef WAY
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The next row of the result from these places in the outer matrix and the state on; false: there is none in the
 * piece. */
static bool next_line(const work *w, int piece, int64_t *a, int64_t *r, line *l) {
    const tra_rows_view *v = &w->m->a, *state = &w->state;
    int64_t end = w->from_a[piece + 1], state_end = w->from_state[piece + 1], each = w->m->rows_each;
    if (*a == end && *r == state_end) return false;
    int64_t row = *a < end ? v->row[*a] : INT64_MAX;
    if (*r < state_end) row = tra_min64(row, state->row[*r] / each);
    *l = (line){.row = row};
    if (*a < end && v->row[*a] == row) {
        l->first = v->begin[*a];
        l->end = v->begin[*a + 1];
        l->most = w->steps[*a + 1 - w->first] - w->steps[*a - w->first];
        ++*a;
    }
    if (*r < state_end && state->row[*r] / each == row) {
        l->state = state->begin[*r];
        while (*r < state_end && state->row[*r] / each == row) ++*r;
        l->state_end = state->begin[*r];
    }
    l->steps = l->most + l->state_end - l->state;
    l->most = tra_min64(w->m->box, l->steps);
    return true;
}

static void count_piece(void *ctx, int piece, void *scratch) {
    work *w = ctx;
    adder s; /* not initialised as a whole: it is large */
    int64_t a = w->from_a[piece], r = w->from_state[piece], *counted = w->rows.most[piece];
    line l;
    if (w->exact) begin_adder(&s, w, scratch);
    counted[0] = counted[1] = 0;
    while (next_line(w, piece, &a, &r, &l) && !tra_cancelled()) {
        if (l.most == 0) continue; /* it meets nothing */
        counted[1] += w->exact ? one_row(w, &s, &l, true) : l.most;
        counted[0] += tra_min64(l.most, w->m->rows_each);
    }
}

static void run_piece(void *ctx, int piece, void *scratch) {
    work *w = ctx;
    adder s;
    int64_t a = w->from_a[piece], r = w->from_state[piece];
    tra_rows_view *to = &w->rows.piece[piece];
    line l;
    begin_adder(&s, w, scratch);
    s.to.v = *to, s.to.v.nrows = s.to.v.n = 0;
    while (next_line(w, piece, &a, &r, &l) && !tra_cancelled()) {
        int64_t before = s.to.v.n;
        if (l.most == 0) continue;
        one_row(w, &s, &l, false);
        if (s.direct && s.to.v.n > before) s.to.v.row[s.to.v.nrows] = l.row, s.to.v.begin[s.to.v.nrows++] = before;
    }
    if (!s.direct) tra_writer_flush(&s.w);
    s.to.v.begin[s.to.v.nrows] = s.to.v.n;
    to->nrows = s.to.v.nrows;
    to->n = s.to.v.n;
}

/* Do rows here and there have nearly as many entries as there are products? Then these need not be counted. */
static bool meets_little(work *w, void *scratch) {
    enum { SAMPLES = 16 };
    int64_t most = 0, n = 0;
    adder s;
    line l;
    begin_adder(&s, w, scratch);
    for (int i = 0; i < w->pieces; i++) {
        int64_t rows = w->from_a[i + 1] - w->from_a[i];
        for (int64_t k = 0; k < tra_min64(SAMPLES, rows); k++) {
            int64_t a = w->from_a[i] + k * (rows / tra_min64(SAMPLES, rows)), r = w->from_state[i + 1];
            next_line(w, i, &a, &r, &l);
            most += l.most;
            n += one_row(w, &s, &l, true);
        }
    }
    return most - n <= most / 16;
}

/* Ends the rows that are computed where they would take more than is enough. Returns where the outer matrix's end. */
static int64_t shorten(work *w, tra_matmul *m, int64_t end) {
    const tra_rows_view *a = &m->a;
    int64_t nrows = TRA_PIECES, n = 0, each = m->each, row = m->from;
    if (m->state) return end;
    for (int64_t r = w->first; r < end; r++) {
        int64_t here = tra_min64(m->box, w->steps[r + 1 - w->first] - w->steps[r - w->first]);
        n = tra_add_most(n, here);
        nrows += tra_min64(here, m->rows_each);
        if (tra_rows_room(w->out->array.dtype, nrows, n) <= w->out->enough) continue;
        row = a->row[r] / each * each; /* the first of its coordinate */
        if (row == m->from) row += each;
        if (row >= m->to) return end;
        m->to = row;
        w->out->panel[1] = row / each;
        return tra_rows_from(a, row);
    }
    return end;
}

static int64_t count_all(work *w, bool exact, void *scratch) {
    w->exact = exact;
    tra_parallel(w->pieces, count_piece, w, scratch);
    return tra_rows_pieces_add(&w->rows, w->out, w->pieces);
}

/* Counts the entries, or more to spare time, and lays out the result; false: there is no memory. */
static bool begin_rows(work *w, void *scratch) {
    enum { QUICK = 1 << 20 }; /* bytes of a result that need not be counted exactly */
    int64_t enough = w->out->enough ? INT64_MAX : tra_max64(QUICK, 24 * (w->m->a.n + w->m->b.n));
    bool quick = count_all(w, false, scratch) <= enough || meets_little(w, scratch);
    if (quick && tra_rows_pieces_begin(&w->rows, w->out)) return true;
    count_all(w, true, scratch);
    return tra_rows_pieces_begin(&w->rows, w->out);
}

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

static void find_places(work *w) {
    const tra_rows_view *b = &w->m->b;
    memset(w->place, 0, (size_t)w->m->shared * sizeof *w->place);
    for (int64_t q = 0; q < b->nrows; q++) w->place[b->row[q]] = (uint32_t)(q + 1);
}

/* Products of rows, of one part of the outer matrix. */
typedef struct counting {
    work *w;
    int n;
    int64_t at[TRA_PIECES + 1];
} counting;

static void count_steps(void *ctx, int piece, void *scratch) {
    counting *x = ctx;
    work *w = x->w;
    const tra_rows_view *a = &w->m->a, *b = &w->m->b;
    (void)scratch;
    for (int64_t r = x->at[piece]; r < x->at[piece + 1]; r++) {
        int64_t n = 0;
        for (int64_t k = a->begin[r]; k < a->begin[r + 1]; k++) {
            int64_t q = inner_row(w, a->column[k]);
            if (k < w->calm && w->place) __builtin_prefetch(&w->place[a->column[k + 4 * NEAR]]);
            if (k < w->calm) __builtin_prefetch(&b->begin[inner_row(w, a->column[k + 2 * NEAR]) + 1]);
            if (q >= 0) n += b->begin[q + 1] - b->begin[q];
        }
        w->steps[r + 1 - w->first] = n;
    }
}

/* Counts the products of the rows before `end`. */
static void count_products(work *w, int64_t end) {
    const tra_rows_view *a = &w->m->a;
    counting x = {.w = w};
    tra_rows_view part = *a;
    part.begin += w->first;
    part.row += w->first;
    part.nrows = end - w->first;
    int64_t n = part.begin[part.nrows] - part.begin[0];
    x.n = tra_parallel_row_pieces(&part, NULL, tra_parallel_pieces(8 * n), x.at);
    for (int i = 0; i <= x.n; i++) x.at[i] += w->first;
    tra_parallel(x.n, count_steps, &x, NULL);
    w->steps[0] = 0;
    for (int64_t r = 0; r < part.nrows; r++) w->steps[r + 1] += w->steps[r];
}

/* Cuts rows of the result in pieces of about as many products. */
static void cut(work *w, int64_t end) {
    const tra_rows_view *a = &w->m->a;
    tra_rows_view part = *a;
    part.row += w->first;
    part.nrows = end - w->first;
    int64_t n = a->begin[end] - a->begin[w->first];
    int64_t before = w->steps[0], all = w->steps[part.nrows] - before, held = w->m->state ? w->state.n : 0;
    int most = tra_parallel_pieces(tra_mul_most(4, tra_add_most(all, n + held)));
    w->pieces = 0;
    w->at[0] = w->m->from;
    for (int i = 1; i < most; i++) {
        int64_t r = 0, want = before + (int64_t)((__int128)all * i / most);
        TRA_BISECT(r, part.nrows, mid, w->steps[mid] < want);
        int64_t row = r < part.nrows ? part.row[r] : w->m->to;
        if (row > w->at[w->pieces] && row < w->m->to) w->at[++w->pieces] = row;
    }
    w->at[++w->pieces] = w->m->to;
    for (int i = 0; i <= w->pieces; i++) {
        w->from_a[i] = tra_rows_from(a, w->at[i]);
        w->from_state[i] = w->m->state ? tra_rows_from(&w->state, tra_mul_most(w->at[i], w->m->rows_each)) : 0;
    }
}

void tra_matmul_run(const tra_matmul *of, tra_cell *out, void *room, void *scratch) {
    tra_matmul own = *of, *m = &own;
    work w = {.m = m, .out = out};
    if (m->state) w.state = tra_rows_of(m->state);
    w.first = tra_rows_from(&m->a, m->from);
    int64_t end = tra_rows_from(&m->a, m->to);
    bool is_known = w.first >= m->known[0] && end <= m->known[1] && m->known[0] < m->known[1];
    w.steps = room;
    w.all_there = m->b.nrows == m->shared;
    if (!w.all_there && has_places(m->b.n, m->shared)) {
        w.place = room;
        w.steps = (int64_t *)(void *)((char *)room + tra_round64(4 * m->shared));
        if (m->known[0] == m->known[1]) find_places(&w);
    }
    if (m->b.n > LARGE && (w.place || w.all_there)) w.calm = m->a.begin[m->a.nrows] - 4 * NEAR;
    if (is_known)
        w.steps += w.first - m->known[0];
    else
        count_products(&w, end), m->known[0] = w.first, m->known[1] = end;
    if (out->enough) end = shorten(&w, m, end);
    cut(&w, end);
    if (!begin_rows(&w, scratch)) return;
    tra_parallel(w.pieces, run_piece, &w, scratch);
    tra_rows_pieces_end(&w.rows);
}
