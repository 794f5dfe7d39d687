/* asof.c - as-of joins: which of the right rows with equal keys is the partner of a left row. */
#include "asof.h"

#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "../kernel/kernel.h"

enum { STRIP = TRA_COLSTRIP };

/* The float whose word (tra_order_of_real) that is. */
static double real_of(uint64_t w) {
    static const uint64_t sign = UINT64_C(1) << 63;
    double f;
    w = w & sign ? w & ~sign : ~w;
    memcpy(&f, &w, sizeof f);
    return f;
}

/* Is x <= y, of the distances between two pairs of times, low before high? */
static bool is_nearer(bool real, uint64_t low, uint64_t at, uint64_t high) {
    if (low == at) return true; /* infinities have no distance */
    return real ? real_of(at) - real_of(low) <= real_of(high) - real_of(at) : at - low <= high - at;
}

static bool is_within(const tra_asof *x, bool real, uint64_t low, uint64_t high) {
    if (!x->limited || low == high) return true;
    return real ? real_of(high) - real_of(low) <= x->real : high - low <= (uint64_t)x->whole;
}

/* The place in t[low..end), which ascends, of the first time that is not before `at`; past: of the first one after it.
 * near: it is probably a few places from low, and is looked for from there by steps that double. Else they begin where
 * it would be if times were evenly apart, and go either way. */
static int64_t place_of(const uint64_t *t, int64_t low, int64_t end, bool past, uint64_t at, bool near) {
#define IS_BEFORE(i) (past ? t[i] <= at : t[i] < at)
    enum { NEAR = 32 };
    int64_t high = end, step = 1;
    while (near && step <= NEAR && low + step <= end && IS_BEFORE(low + step - 1)) low += step, step *= 2;
    if (near && step <= NEAR) {
        high = tra_min64(end, low + step - 1);
    } else if (low < end) {
        double part = at > t[low] ? (double)(at - t[low]) / (double)(t[end - 1] - t[low]) : 0;
        int64_t guess = low + (int64_t)((part < 1 ? part : 1) * (double)(end - 1 - low));
        step = 1;
        if (IS_BEFORE(guess)) {
            for (low = guess + 1; low + step <= end && IS_BEFORE(low + step - 1); step *= 2) low += step;
            high = tra_min64(end, low + step - 1);
        } else {
            for (high = guess; high - step >= low && !IS_BEFORE(high - step); step *= 2) high -= step;
            low = tra_max64(low, high - step + 1);
        }
    }
    TRA_BISECT(low, high, i, IS_BEFORE(i));
#undef IS_BEFORE
    return low;
}

/* The place in t[begin..end), which ascends, of the partner of a row of time `at`, or -1. real: the words are of
 * floats. *from: a place up to which all times are before `at`; `begin` will do. It moves on, for a later `at`. */
static int64_t find(const tra_asof *x, bool real, const uint64_t *t, int64_t begin, int64_t end, int64_t *from,
                    uint64_t at) {
    bool after = x->way == TRA_ASOF_AFTER, past = after == x->strict; /* past: equal times come before the place */
    int64_t low = *from = place_of(t, *from, end, past, at, *from > begin);
    bool is_before = low > begin, is_after = low < end;
    if (x->way == TRA_ASOF_NEAREST && is_before && is_after) is_before = is_nearer(real, t[low - 1], at, t[low]);
    if (after ? !is_after : !is_before && (x->way == TRA_ASOF_BEFORE || !is_after)) return -1;
    if (!after && is_before) return is_within(x, real, t[low - 1], at) ? low - 1 : -1;
    return is_within(x, real, at, t[low]) ? low : -1;
}

/* ---- the right rows of each key, by time ------------------------------------------------------------------------- */

static bool is_real(const tra_lookup *l) { return tra_coltype_is_float(l->time[0].x[0]->type); }

/* The word that tra_keys_of makes of a time as one that compares as the time does; false: it is NULL. */
static bool word_of(const tra_lookup *l, const uint64_t *key, uint64_t *out) {
    double f;
    memcpy(&f, &key[1], sizeof f);
    *out = is_real(l) ? tra_order_of_real(f) : tra_order_of_whole((int64_t)key[1]);
    return key[0] == 0;
}

int64_t tra_asof_bytes(const tra_lookup *l, int64_t rows) { return l->s.asof ? 2 * tra_round64(8 * rows) : 0; }

static int by_time(const void *a, const void *b, void *ctx) {
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    const uint64_t *t = ctx;
    return t[i] != t[j] ? (t[i] > t[j]) - (t[i] < t[j]) : (i > j) - (i < j);
}

/* Takes the rows without a time out of the list of the index, and puts those of each key in the order of time. */
static void sort_times(tra_finder *x, uint64_t *time, const uint8_t *null) {
    int32_t kept = 0;
    for (int64_t s = 0, from = 0; s < x->nslots; s++) {
        int32_t begin = kept;
        bool sorted = true;
        for (int64_t to = x->begin[s + 1]; from < to; from++) {
            int32_t r = x->list[from];
            if (null[r]) continue;
            sorted = sorted && (kept == begin || time[x->list[kept - 1]] <= time[r]);
            x->list[kept++] = r;
        }
        x->begin[s] = begin;
        if (!sorted) qsort_r(x->list + begin, (size_t)(kept - begin), sizeof *x->list, by_time, time);
    }
    x->begin[x->nslots] = kept;
}

tra_status tra_asof_open(const tra_lookup *l, const tra_batch *right, tra_finder *x, tra_asof_index *index, void *room,
                         void *scratch, tra_err *e) {
    int64_t rows = right->rows;
    char *p = room;
    uint64_t *time = (uint64_t *)p;
    *index = (tra_asof_index){.time = (uint64_t *)(p + tra_round64(8 * rows))};
    uint64_t words[2 * STRIP];
    uint8_t *null = (uint8_t *)index->time; /* until the times are put in order */
    for (int64_t r = 0; r < rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, rows - r);
        TRA_TRY(tra_keys_of(&l->time[1], right, r, n, words, scratch, 0, e));
        for (int i = 0; i < n; i++) null[r + i] = !word_of(l, words + 2 * i, &time[r + i]);
    }
    sort_times(x, time, null);
    for (int64_t i = 0; i < x->begin[x->nslots]; i++) index->time[i] = time[x->list[i]];
    return TRA_OK;
}

tra_status tra_asof_partners(const tra_lookup *l, const tra_batch *left, int64_t row, int n, int64_t first,
                             const tra_finder *x, int32_t *found, const tra_asof_index *index, void *scratch,
                             tra_err *e) {
    uint64_t words[2 * STRIP], at, before = 0;
    int64_t from = 0;
    int32_t last = -1; /* the slot of the row before, from which the search goes on if times ascend */
    TRA_TRY(tra_keys_of(&l->time[0], left, row, n, words, scratch, first, e));
    for (int i = 0; i < n; i++) {
        int32_t s = word_of(l, words + 2 * i, &at) ? found[i] : -1;
        found[i] = -1;
        if (s < 0) continue;
        if (s != last || at < before) from = x->begin[s];
        last = s, before = at;
        int64_t partner = find(l->s.asof, is_real(l), index->time, x->begin[s], x->begin[s + 1], &from, at);
        if (partner >= 0) found[i] = x->list[partner];
    }
    return TRA_OK;
}
