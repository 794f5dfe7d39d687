/* window_frames.c - the frame of each row, by two pointers that only go up. */
#include "window_int.h"

#include <math.h>

/* ---- rows before and after --------------------------------------------------------------------------------------- */

static int64_t moved(int64_t place, int64_t by) {
    int64_t to;
    return __builtin_add_overflow(place, by, &to) ? by < 0 ? INT64_MIN : INT64_MAX : to;
}

/* The first item of the group from `from` on whose place is not below this. */
static int64_t reach(const tra_windowing *w, int64_t from, int64_t end, int64_t place) {
    if (!w->place) return tra_min64(end, tra_max64(from, place));
    while (from < end && w->place[from] < place) from++;
    return from;
}

static void find_by_rows(tra_windowing *w, const tra_window_frame *f, int64_t begin, int64_t end) {
    int64_t low = begin, high = begin;
    for (int64_t i = begin; i < end; i++) {
        int64_t place = tra_window_place(w, i);
        if (!f->open[0]) low = reach(w, low, end, moved(place, f->whole[0]));
        high = f->open[1] ? end : reach(w, high, end, moved(moved(place, f->whole[1]), 1));
        w->low[i] = low;
        w->high[i] = tra_max64(low, high);
    }
}

/* ---- ties and distances ------------------------------------------------------------------------------------------ */

static int64_t tie_of(const tra_windowing *w, int64_t i, int64_t tie) {
    while (w->tie[tie + 1] <= i) tie++;
    return tie;
}

static bool is_real(const tra_windowing *w) {
    return w->x->norder > 0 && tra_coltype_is_float(w->x->in->v[w->x->nkeys].type);
}

/* Is that end at the row and its ties? */
static bool at_ties(const tra_windowing *w, const tra_window_frame *f, int e) {
    return is_real(w) ? f->real[e] == 0 : f->whole[e] == 0;
}

static int compare_real(double x, double y) {
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

int tra_window_compare_moved(const tra_window *x, const tra_batch *b, const tra_window_frame *f, int e, int64_t j,
                             int64_t i) {
    int c = x->nkeys, r;
    const tra_column *column = &x->in->v[c];
    const tra_vector *v = &b->v[c];
    if (tra_coltype_is_float(column->type)) {
        double by = x->desc[c] ? -f->real[e] : f->real[e];
        r = compare_real(tra_value_real(column, v, j), tra_value_real(column, v, i) + by);
    } else {
        __int128 to = tra_value_whole(column, v, i), from = tra_value_whole(column, v, j);
        to += x->desc[c] ? -(__int128)f->whole[e] : f->whole[e];
        r = (from > to) - (from < to);
    }
    return x->desc[c] ? -r : r;
}

/* Ends of a range that are neither open nor at ties, of the items [begin, end), which have values. */
static void find_by_distance(tra_windowing *w, const tra_window_frame *f, int e, int64_t begin, int64_t end) {
    int64_t at = begin, *to = e ? w->high : w->low;
    for (int64_t i = begin; i < end; i++) {
        while (at < end && tra_window_compare_moved(w->x, &w->in, f, e, w->at[at], w->at[i]) < e) at++;
        to[i] = at;
    }
}

/* Items of a group that have a value in the order: the others stand last. */
static int64_t count_values(const tra_windowing *w, int64_t begin, int64_t end) {
    const tra_vector *v = &w->in.v[w->x->nkeys];
    while (end > begin && !tra_window_present(v, w->at[end - 1])) end--;
    return end - begin;
}

static void find_by_range(tra_windowing *w, const tra_window_frame *f, int64_t begin, int64_t end, int64_t tie) {
    for (int e = 0; e < 2; e++) {
        int64_t *to = e ? w->high : w->low, at = tie;
        bool by = !f->open[e] && !at_ties(w, f, e);
        int64_t from = by ? begin + count_values(w, begin, end) : begin;
        if (by) find_by_distance(w, f, e, begin, from);
        for (int64_t i = from; i < end; i++) { /* of a NULL the end is at its ties */
            if (f->open[e]) {
                to[i] = e ? end : begin;
                continue;
            }
            at = tie_of(w, i, at);
            to[i] = w->tie[at + e];
        }
    }
    for (int64_t i = begin; i < end; i++) w->high[i] = tra_max64(w->high[i], w->low[i]);
}

void tra_window_find_frames(tra_windowing *w, const tra_window_frame *f) {
    const tra_window_frame *g = w->frame;
    w->frame = f;
    if (g && g->range == f->range && g->open[0] == f->open[0] && g->open[1] == f->open[1] &&
        g->whole[0] == f->whole[0] && g->whole[1] == f->whole[1] && g->real[0] == f->real[0] &&
        g->real[1] == f->real[1])
        return;
    for (int64_t k = 0, tie = 0; k < w->ngroups; k++) {
        int64_t begin = w->group[k], end = w->group[k + 1];
        if (f->range) {
            tie = tie_of(w, begin, tie);
            find_by_range(w, f, begin, end, tie);
        } else {
            find_by_rows(w, f, begin, end);
        }
    }
}
