/* join_right.c - the right table of a join: its index, and how many partners left rows have in it. */
#include "join_right.h"

enum { STRIP = TRA_COLSTRIP };

int64_t tra_lookup_keep(const tra_lookup *l, int64_t right_rows) {
    return tra_round64(sizeof(tra_right)) + tra_finder_bytes(l, right_rows) + tra_asof_bytes(l, right_rows) +
           tra_band_bytes(l, right_rows);
}

int64_t tra_right_scratch(const tra_lookup *l) {
    int64_t keys = tra_max64(tra_keys_scratch(&l->left), tra_keys_scratch(&l->right));
    for (int i = 0; l->s.asof && i < 2; i++) keys = tra_max64(keys, tra_keys_scratch(&l->time[i]));
    return tra_round64(tra_max64(keys, tra_band_scratch(l)));
}

void tra_right_places(const tra_lookup *l, tra_finder *x, const uint64_t *words, int i, int64_t *begin, int64_t *end) {
    int64_t s = tra_finder_find(l, x, words + (int64_t)i * tra_keys_words(l->s.nkeys));
    *begin = s < 0 ? 0 : x->begin[s];
    *end = s < 0 ? 0 : x->begin[s + 1];
}

tra_status tra_right_index(const tra_lookup *l, const tra_batch *right, bool lists, tra_kept *kept, void *scratch,
                           tra_right **out, tra_err *e) {
    tra_right *r = *out = kept->room;
    void *room = (char *)r + tra_round64(sizeof *r);
    if (kept->of == l && !(lists && r->x.exists)) return TRA_OK;
    kept->of = NULL;
    r->x = (tra_finder){0};
    TRA_TRY(tra_finder_make(l, right, lists, &r->x, &room, scratch, e));
    if (l->s.asof) TRA_TRY(tra_asof_open(l, right, &r->x, &r->asof, room, scratch, e));
    if (l->band) TRA_TRY(tra_band_open(l, right, &r->x, &r->band, room, scratch, e));
    kept->of = l;
    return TRA_OK;
}

tra_status tra_right_ask(const tra_lookup *l, const tra_batch *left, int64_t row, int64_t n, int64_t first,
                         tra_right *r, tra_band_query *q, uint64_t *words, void *scratch, tra_err *e) {
    int64_t begin, end;
    for (int64_t to = 0; to < n; to += STRIP) {
        int own = (int)tra_min64(STRIP, n - to);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        if (l->s.nkeys > 0) TRA_TRY(tra_keys_of(&l->left, left, row + to, own, words, scratch, first, e));
        tra_band_ask(l, left, row + to, own, first, &r->band, q, to, scratch);
        for (int i = 0; i < own; i++) {
            tra_right_places(l, &r->x, words, i, &begin, &end);
            q->begin[to + i] = (int32_t)begin;
            q->end[to + i] = (int32_t)end;
        }
    }
    return TRA_OK;
}

tra_status tra_lookup_partners(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                               const int32_t **list, int32_t *from, int32_t *to, tra_kept *kept, void *scratch,
                               tra_err *e) {
    tra_right *x;
    TRA_TRY(tra_right_index(l, right, true, kept, scratch, &x, e));
    uint64_t *words = scratch;
    int64_t begin, end;
    void *own = (char *)scratch + tra_round64(tra_keys_words(l->s.nkeys) * STRIP * 8);
    for (int64_t r = 0; r < left->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, left->rows - r);
        TRA_TRY(tra_keys_of(&l->left, left, r, n, words, own, first, e));
        for (int i = 0; i < n; i++) {
            tra_right_places(l, &x->x, words, i, &begin, &end);
            from[r + i] = (int32_t)begin;
            to[r + i] = (int32_t)end;
        }
    }
    *list = x->x.list;
    return TRA_OK;
}

static tra_status count_boxes(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                              int64_t *pairs, tra_right *x, uint64_t *words, void *own, tra_err *e) {
    tra_band_query q;
    tra_band_query_begin(l, left->rows, (char *)own + tra_right_scratch(l), &q);
    for (int64_t row = 0, n; row < left->rows; row += n) {
        n = tra_min64(q.rows, left->rows - row);
        TRA_TRY(tra_right_ask(l, left, row, n, first, x, &q, words, own, e));
        (void)tra_band_search(l, &x->band, &x->x, &q, 0, n, false, INT64_MAX);
        for (int64_t i = 0; i < n; i++)
            pairs[row + i] = q.asks[i] != TRA_BAND_ALL ? q.count[i] : x->band.all ? q.end[i] - q.begin[i] : right->rows;
    }
    return TRA_OK;
}

tra_status tra_lookup_count(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                            int64_t *pairs, tra_kept *kept, void *scratch, tra_err *e) {
    tra_right *x;
    TRA_TRY(tra_right_index(l, right, true, kept, scratch, &x, e));
    uint64_t *words = scratch;
    int64_t begin, end;
    void *own = (char *)scratch + tra_round64(tra_keys_words(l->s.nkeys) * STRIP * 8);
    if (l->band) return count_boxes(l, left, right, first, pairs, x, words, own, e);
    for (int64_t r = 0; r < left->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, left->rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        if (l->s.nkeys > 0) TRA_TRY(tra_keys_of(&l->left, left, r, n, words, own, first, e));
        for (int i = 0; i < n; i++) {
            tra_right_places(l, &x->x, words, i, &begin, &end);
            pairs[r + i] = end - begin;
        }
    }
    return TRA_OK;
}
