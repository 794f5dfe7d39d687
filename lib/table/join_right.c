/* join_right.c - the right table of a join: its index, and how many partners left rows have in it. */
#include "join_right.h"

#include "table_int.h"

enum { STRIP = TRA_COLSTRIP };

int64_t tra_lookup_keep(const tra_lookup *l, int64_t right_rows) {
    return tra_round64(sizeof(tra_right)) + tra_finder_bytes(l, right_rows) + tra_asof_bytes(l, right_rows) +
           tra_band_bytes(l, right_rows);
}

int64_t tra_right_scratch(const tra_lookup *l) {
    int64_t keys = tra_finder_scratch(l);
    for (int i = 0; l->s.asof && i < 2; i++) keys = tra_max64(keys, tra_keys_scratch(&l->time[i]));
    return tra_round64(tra_max64(keys, tra_band_scratch(l)));
}

static tra_status make_index(const tra_lookup *l, const tra_batch *right, bool lists, tra_right *r, void *scratch,
                             tra_err *e) {
    void *room = (char *)r + tra_round64(sizeof *r);
    r->finder = (tra_finder){0};
    TRA_TRY(tra_finder_make(l, right, lists, &r->finder, &room, scratch, e));
    tra_table_note_keys(right, l->meets[1].n, l->meets[1].column, 1, NULL, NULL);
    if (l->s.asof) TRA_TRY(tra_asof_open(l, right, &r->finder, &r->asof, room, scratch, e));
    return l->band ? tra_band_open(l, right, &r->finder, &r->band, room, scratch, e) : TRA_OK;
}

bool tra_lookup_is_kept(const tra_lookup *l, const tra_kept *kept) {
    return __atomic_load_n(&kept->of, __ATOMIC_ACQUIRE) == l;
}

tra_status tra_right_index(const tra_lookup *l, const tra_batch *right, bool lists, tra_kept *kept, void *scratch,
                           tra_right **out, tra_err *e) {
    tra_right *r = *out = kept->room;
    tra_status s = TRA_OK;
    if (kept->lock) pthread_mutex_lock(kept->lock);
    if (kept->of != l || (lists && (r->finder.exists || r->finder.first))) {
        __atomic_store_n(&kept->of, NULL, __ATOMIC_RELAXED); /* others ask without the lock */
        s = make_index(l, right, lists, r, scratch, e);
        if (s == TRA_OK) __atomic_store_n(&kept->of, l, __ATOMIC_RELEASE);
    }
    if (kept->lock) pthread_mutex_unlock(kept->lock);
    return s;
}

tra_status tra_right_ask(const tra_lookup *l, const tra_batch *left, int64_t row, int64_t n, int64_t first,
                         const tra_right *r, tra_band_query *q, int32_t *slot, void *scratch, tra_err *e) {
    int64_t begin, end;
    for (int64_t to = 0; to < n; to += STRIP) {
        int own = (int)tra_min64(STRIP, n - to);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        TRA_TRY(tra_finder_slots(l, &r->finder, left, row + to, own, first, slot, scratch, e));
        tra_band_ask(l, left, row + to, own, first, &r->band, q, to, scratch);
        for (int i = 0; i < own; i++) {
            tra_finder_rows(&r->finder, slot[i], &begin, &end);
            q->begin[to + i] = (int32_t)begin;
            q->end[to + i] = (int32_t)end;
        }
    }
    return TRA_OK;
}

int64_t tra_right_met(const tra_right *r, const tra_band_query *q, int64_t i, int64_t right_rows) {
    return q->asks[i] != TRA_BAND_ALL ? q->count[i] : r->band.all ? q->end[i] - q->begin[i] : right_rows;
}

typedef struct partners {
    const int32_t *from, *to;
} partners;

static int64_t partners_of(const void *ctx, int64_t row) {
    const partners *p = ctx;
    return p->to[row] - p->from[row];
}

tra_status tra_lookup_partners(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                               const int32_t **list, int32_t *from, int32_t *to, tra_kept *kept, void *scratch,
                               tra_err *e) {
    tra_right *x;
    TRA_TRY(tra_right_index(l, right, true, kept, scratch, &x, e));
    int32_t *slot = scratch;
    int64_t begin, end;
    void *own = slot + STRIP;
    for (int64_t r = 0; r < left->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, left->rows - r);
        TRA_TRY(tra_finder_slots(l, &x->finder, left, r, n, first, slot, own, e));
        for (int i = 0; i < n; i++) {
            tra_finder_rows(&x->finder, slot[i], &begin, &end);
            from[r + i] = (int32_t)begin;
            to[r + i] = (int32_t)end;
        }
    }
    *list = x->finder.list;
    tra_table_note_keys(left, l->meets[0].n, l->meets[0].column, 0, partners_of, &(partners){from, to});
    return TRA_OK;
}

static tra_status count_boxes(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                              int64_t *pairs, const tra_right *x, int32_t *slot, void *own, tra_err *e) {
    tra_band_query q;
    tra_band_query_begin(l, left->rows, (char *)own + tra_right_scratch(l), &q);
    for (int64_t row = 0, n; row < left->rows; row += n) {
        n = tra_min64(q.rows, left->rows - row);
        TRA_TRY(tra_right_ask(l, left, row, n, first, x, &q, slot, own, e));
        (void)tra_band_search(l, &x->band, &x->finder, right->rows, &q, 0, n, false, INT64_MAX);
        for (int64_t i = 0; i < n; i++) pairs[row + i] = tra_right_met(x, &q, i, right->rows);
    }
    return TRA_OK;
}

tra_status tra_lookup_count(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                            int64_t *pairs, tra_kept *kept, void *scratch, tra_err *e) {
    tra_right *x;
    TRA_TRY(tra_right_index(l, right, true, kept, scratch, &x, e));
    int32_t *slot = scratch;
    int64_t begin, end;
    void *own = slot + STRIP;
    if (l->band) return count_boxes(l, left, right, first, pairs, x, slot, own, e);
    for (int64_t r = 0; r < left->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, left->rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        TRA_TRY(tra_finder_slots(l, &x->finder, left, r, n, first, slot, own, e));
        for (int i = 0; i < n; i++) {
            tra_finder_rows(&x->finder, slot[i], &begin, &end);
            pairs[r + i] = end - begin;
        }
    }
    return TRA_OK;
}
