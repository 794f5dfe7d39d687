/* band_search.c - which right rows lie in the boxes of left rows. */
#include "band.h"

#include <stdlib.h>
#include <string.h>

#include "order.h"

enum { STRIP = TRA_COLSTRIP, FAN = TRA_BAND_FAN, IN_BITS = -1 };

/* ---- what left rows ask for ---------------------------------------------------------------------------------- */

/* Of so many left rows at most as many are looked up together. */
static int64_t rows_together(int64_t left_rows) {
    enum { MOST = 1 << 16 };
    return tra_max64(STRIP, tra_min64(MOST, tra_ceil_div(left_rows, STRIP) * STRIP));
}

int64_t tra_band_query_bytes(const tra_lookup *l, int64_t left_rows, int64_t right_rows) {
    int64_t n = rows_together(left_rows);
    if (!l->band) return 0;
    int64_t bits = tra_round64(tra_finder_bit_words(right_rows) * 8);
    return n * (2 * l->band->n * 8 + 1 + 4 * 4 + 4 * 4 + 8 + (1 + TRA_ORDER_SPARE) * 8) + bits;
}

void tra_band_query_begin(const tra_lookup *l, int64_t left_rows, void *room, tra_band_query *q) {
    int64_t n = rows_together(left_rows), values = l->band->n;
    uint64_t *w = room;
    *q = (tra_band_query){.rows = n, .low = w, .high = w + values * n, .word = w + 2 * values * n, .room = 4 * n};
    q->order = (int64_t *)(q->word + n);
    q->begin = (int32_t *)(q->order + (1 + TRA_ORDER_SPARE) * n);
    q->end = q->begin + n;
    q->count = q->end + n;
    q->at = q->count + n;
    q->found = q->at + n;
    q->asks = (uint8_t *)(q->found + q->room);
    q->bits = (uint64_t *)(q->asks + n);
}

void tra_band_ask(const tra_lookup *l, const tra_batch *left, int64_t row, int n, int64_t first,
                  const tra_band_index *index, tra_band_query *q, int64_t to, void *scratch) {
    static const uint8_t asks[] = {
        [TRA_BAND_THERE] = TRA_BAND_BOX, [TRA_BAND_NEVER] = TRA_BAND_NONE, [TRA_BAND_UNKNOWN] = TRA_BAND_ALL};
    const tra_band *b = l->band;
    double *sum = scratch, *most = sum + STRIP;
    uint64_t *at = (uint64_t *)(most + STRIP);
    uint8_t *state = q->asks + to;
    tra_colrun run;
    tra_vector *column = tra_keys_begin(&b->side[0], (char *)scratch + 3 * STRIP * 8, &run);
    memset(state, TRA_BAND_THERE, (size_t)n);
    for (int v = 0; v < b->n; v++) {
        memset(q->low + v * q->rows + to, 0, (size_t)n * 8);
        memset(q->high + v * q->rows + to, 0xff, (size_t)n * 8);
    }
    tra_strip_of(left, row, column);
    tra_colrun_strip(&run, column, first + row, n);
    for (int k = 0; k < b->nends; k++) {
        const tra_band_end *d = &b->end[k];
        uint64_t *low = q->low + d->of * q->rows + to, *high = q->high + d->of * q->rows + to;
        tra_band_words(b, 0, &run, &d->at, n, b->rest_fails ? TRA_BAND_UNKNOWN : TRA_BAND_NEVER, at, state, sum, most);
        for (int i = 0; d->at.sum && i < n; i++) {
            double slack = d->at.slack * (most[i] + index->most[d->of]) + 0x1p-1000;
            at[i] = tra_order_of_real(d->lower ? sum[i] - slack : sum[i] + slack);
        }
        for (int i = 0; i < n; i++) {
            uint64_t own = at[i], step = d->strict && !d->at.sum;
            if (d->lower) {
                if (own > UINT64_MAX - step && state[i] == TRA_BAND_THERE) state[i] = TRA_BAND_NEVER;
                low[i] = own + step > low[i] ? own + step : low[i];
            } else {
                if (own < step && state[i] == TRA_BAND_THERE) state[i] = TRA_BAND_NEVER;
                high[i] = own - step < high[i] ? own - step : high[i];
            }
        }
    }
    for (int i = 0; i < n; i++) state[i] = index->all ? TRA_BAND_ALL : asks[state[i]];
}

/* ---- one box ------------------------------------------------------------------------------------------------- */

typedef struct search {
    const tra_band_index *index;
    int from, n; /* the values that are looked at */
    const uint64_t *low, *high;
    int64_t stride;     /* from one value to the next */
    int64_t begin, end; /* places */
    int64_t rows, most;
    int32_t *found; /* NULL: they are counted, */
    int64_t room;
    uint64_t *bits; /* and marked here, unless it is NULL */
    const int32_t *list;
} search;

static void put(search *s, int64_t place) {
    s->rows++;
    if (!s->bits && (!s->found || s->rows > s->room)) return; /* it is only counted */
    int32_t row = s->list[place];
    if (s->bits) s->bits[row / 64] |= UINT64_C(1) << row % 64;
    if (s->found && s->rows <= s->room) s->found[s->rows - 1] = row;
}

/* Which of the nodes of a group, with these least and greatest values, meet a side of a box: bits. */
TRA_ANY_TARGET static unsigned meeting(const uint64_t *least, const uint64_t *most, uint64_t low, uint64_t high) {
    unsigned bits = 0;
    for (int k = 0; k < FAN; k++) bits |= (unsigned)((most[k] >= low) & (least[k] <= high)) << k;
    return bits;
}

/* Goes through a group of nodes of a level (0: rows), which begins with node i. width: places below each. */
static void visit(search *s, int level, int64_t i, int64_t width) {
    const tra_band_index *x = s->index;
    int64_t from = tra_max64(0, s->begin / width - i), to = tra_min64(FAN, tra_ceil_div(s->end, width) - i);
    if (from >= to) return;
    unsigned bits = (UINT32_C(1) << to) - (UINT32_C(1) << from);
    for (int v = s->from; v < s->n && bits; v++) {
        const uint64_t *least = level ? x->box[0][v] + x->level[level - 1] + i : x->word[v] + i,
                       *most = level ? x->box[1][v] + x->level[level - 1] + i : least;
        bits &= meeting(least, most, s->low[v * s->stride], s->high[v * s->stride]);
    }
    for (; bits && s->rows < s->most; bits &= bits - 1) {
        int64_t k = i + __builtin_ctz(bits);
        if (level > 0) {
            visit(s, level - 1, k * FAN, width / FAN);
        } else {
            put(s, k);
        }
    }
}

static int by_number(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/* A bit for each of so many right rows, all 0. */
static uint64_t *clear_bits(tra_band_query *q, int64_t right_rows) {
    if (q->nbits == 0) memset(q->bits, 0, (size_t)tra_finder_bit_words(right_rows) * sizeof *q->bits);
    q->nbits = tra_max64(1, right_rows);
    return q->bits;
}

/* Puts n rows that were found in the order of the right table, which has so many rows. */
static void sort_found(const tra_band_index *index, tra_band_query *q, int64_t right_rows, int32_t *v, int64_t n) {
    enum { FEW = 24 };
    if (index->ascends || n < 2) return;
    if (n <= FEW) {
        for (int64_t i = 1; i < n; i++) {
            int32_t x = v[i];
            int64_t k = i;
            for (; k > 0 && v[k - 1] > x; k--) v[k] = v[k - 1];
            v[k] = x;
        }
        return;
    }
    if (n < index->rows / 512) {
        qsort(v, (size_t)n, sizeof *v, by_number);
        return;
    }
    int32_t least = INT32_MAX, most = 0;
    uint64_t *bits = clear_bits(q, right_rows);
    for (int64_t i = 0; i < n; i++) {
        bits[v[i] / 64] |= UINT64_C(1) << v[i] % 64;
        least = v[i] < least ? v[i] : least;
        most = v[i] > most ? v[i] : most;
    }
    int64_t at = 0;
    for (int64_t w = least / 64; w <= most / 64; w++) {
        for (uint64_t b = bits[w]; b; b &= b - 1) v[at++] = (int32_t)(w * 64 + __builtin_ctzll(b));
        bits[w] = 0;
    }
}

/* The first place from `at` on, in steps that double and then by halves, whose word is not below: the next one is near.
 */
#define GALLOP(at, end, mid, below)                                                                                    \
    do {                                                                                                               \
        int64_t step_ = 1, mid = (at);                                                                                 \
        while (mid < (end) && (below)) (at) = mid + 1, mid += step_, step_ *= 2;                                       \
        TRA_BISECT(at, tra_min64(mid, end), mid, below);                                                               \
    } while (0)

/* The rows in the box of row i, which begin at *near or after it, if that is not -1; *near moves on. */
static void find(search *s, const tra_band *b, const tra_band_query *q, int64_t i, int64_t near[2]) {
    const tra_band_index *x = s->index;
    s->low = q->low + i;
    s->high = q->high + i;
    s->begin = q->begin[i];
    s->end = q->end[i];
    s->rows = 0;
    for (int v = 0; v < b->n; v++)
        if (s->low[v * s->stride] > s->high[v * s->stride]) return;
    if (!b->tiled) {
        const uint64_t *w = x->word[0];
        int64_t end = s->end, from = tra_max64(s->begin, near[0]), to = tra_max64(s->begin, near[1]);
        GALLOP(from, end, mid, w[mid] < s->low[0]);
        to = tra_max64(to, from);
        if (to > from && w[to - 1] > s->high[0]) to = from; /* those after it ask for less */
        GALLOP(to, end, mid, w[mid] <= s->high[0]);
        s->begin = near[0] = from;
        s->end = near[1] = to;
    }
    int64_t n = s->end - s->begin, width = 1;
    if (n <= 0) return;
    if (s->from == b->n) {
        int64_t most = tra_min64(s->most, n);
        for (int64_t k = 0; s->found && k < most && (s->bits || k < s->room); k++) put(s, s->begin + k);
        s->rows = most;
    } else {
        int level = 0;
        while (level < x->levels && s->begin / width / FAN != (s->end - 1) / width / FAN) level++, width *= FAN;
        visit(s, level, s->begin / width / FAN * FAN, width);
    }
}

/* ---- many ---------------------------------------------------------------------------------------------------- */

/* Do right rows stay in the cache in any case? */
static bool is_small(const tra_band *b, const tra_band_index *x) {
    enum { CACHED = 1 << 17 };
    return 8 * b->n * x->rows <= CACHED;
}

/* Finds the rows from .. from + n - 1 that ask for a box, in the order in which boxes begin unless all right rows are
 * in the cache; returns how many. */
static int64_t order_rows(const tra_lookup *l, const tra_band_index *x, tra_band_query *q, int64_t from, int64_t n) {
    const tra_band *b = l->band;
    const tra_column c[2] = {{.name = "", .type = TRA_COL_I32}, {.name = "", .type = TRA_COL_I64}};
    const tra_schema s = {2, c};
    tra_vector v[2] = {{.values = q->begin}, {.values = q->word}};
    const int column[2] = {0, 1};
    int64_t asking = 0;
    bool lower = false, sorted = true, small = is_small(b, x);
    for (int k = 0; k < b->nends; k++) lower |= b->end[k].of == 0 && b->end[k].lower;
    const uint64_t *own = lower ? q->low : q->high;
    for (int64_t i = from; i < from + n; i++) {
        q->count[i] = 0;
        if (q->asks[i] != TRA_BAND_BOX || q->begin[i] >= q->end[i]) continue;
        if (small) {
            q->order[asking++] = i;
            continue;
        }
        q->word[i] = own[i] ^ UINT64_C(1) << 63; /* as an i64 */
        int64_t before = asking ? q->order[asking - 1] : i;
        sorted =
            sorted && (q->begin[before] < q->begin[i] || (q->begin[before] == q->begin[i] && own[before] <= own[i]));
        q->order[asking++] = i;
    }
    bool keys = l->s.nkeys > 0;
    if (!sorted)
        tra_order_by_digits(&(tra_batch){&s, q->rows, v}, 1 + keys, column + !keys, NULL, q->order, asking, asking,
                            q->order + q->rows);
    return asking;
}

bool tra_band_search(const tra_lookup *l, const tra_band_index *index, const tra_finder *x, int64_t right_rows,
                     tra_band_query *q, int64_t from, int64_t n, bool found, int64_t most) {
    const tra_band *b = l->band;
    search s = {.index = index, .from = !b->tiled, .n = b->n, .stride = q->rows, .most = most, .list = x->list};
    int64_t asking = order_rows(l, index, q, from, n), used = 0, near[2] = {-1, -1}, of = -1;
    bool small = is_small(b, index);
    for (int64_t k = 0; k < asking; k++) {
        int64_t i = q->order[k];
        if (small || q->begin[i] != of) near[0] = near[1] = of = q->begin[i];
        s.found = found ? q->found + used : NULL;
        s.room = q->room - used;
        find(&s, b, q, i, near);
        bool marked = found && s.rows > s.room;
        if (marked && n > 1) return false;
        if (marked) {
            s.bits = clear_bits(q, right_rows);
            near[0] = near[1] = q->begin[i];
            find(&s, b, q, i, near);
        } else if (found) {
            sort_found(index, q, right_rows, s.found, s.rows);
        }
        q->count[i] = (int32_t)tra_min64(s.rows, INT32_MAX);
        q->at[i] = marked ? IN_BITS : (int32_t)used;
        q->next = 0;
        used += found ? s.rows : 0;
    }
    return true;
}

const int32_t *tra_band_found(tra_band_query *q, int64_t i, int64_t done, int64_t *n) {
    if (q->at[i] != IN_BITS) {
        *n = q->count[i] - done;
        return q->found + q->at[i] + done;
    }
    int64_t most = tra_min64(q->count[i] - done, q->room - 64), w = q->next;
    for (*n = 0; *n < most; q->bits[w++] = 0)
        for (uint64_t b = q->bits[w]; b; b &= b - 1) q->found[(*n)++] = (int32_t)(w * 64 + __builtin_ctzll(b));
    q->next = w;
    return q->found;
}
