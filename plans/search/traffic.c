/* traffic.c - what exchanges move. */
#include "cost.h"

#include <stdlib.h>

/* A broadcast of all tuples from a placement with one holder of each (`one`) to every site; or a reduction, which moves
 * the same in the other direction: from every site a summand of each tuple to its one holder. A closed form, without a
 * look at each pair of sites. */
static tra_traffic broadcast_or_reduction(const tra_placement *one, const tra_catalog *c) {
    int64_t all = tra_catalog_elements(c), most = tra_place_most_floats(one, c), others = one->sites - 1;
    return (tra_traffic){.moved = all * others, .most = most * others, .both = tra_min64(most * others, all - most)};
}

static bool has_one_holder(const tra_placement *p) { return tra_place_copies(p) == 1 && !tra_place_is_partial(p); }

static tra_traffic exchange(const tra_placement *p, const tra_placement *q, const tra_catalog *c, bool exact,
                            const tra_site_sample *at_p, const tra_site_sample *at_q) {
    tra_traffic t = {0};
    int64_t in, out = 0;
    double f = (double)tra_catalog_elements(c), copies = tra_place_copies(q), summands = tra_place_summands(p);
    if (tra_place_is_all(q) && has_one_holder(p)) {
        t = broadcast_or_reduction(p, c);
    } else if (summands == p->sites && has_one_holder(q)) {
        t = broadcast_or_reduction(q, c);
    } else if (!tra_place_is_all(p)) {
        if (exact) {
            t.moved = tra_place_moved_floats(p, q, c, &in, &out);
            t.most = tra_max64(in, out), t.both = tra_min64(in, out);
        } else {
            t.moved = tra_place_moved_about(p, q, c, at_p, at_q, &t.most);
            t.both = tra_min64(t.most, tra_ceil_div(t.moved, p->sites));
        }
    }
    if (summands > 1)
        t.floats = summands * f + (copies > 1 ? copies * f : 0);
    else if (t.moved > 0)
        t.floats = copies * f;
    return t;
}

tra_traffic tra_traffic_exchange(const tra_placement *p, const tra_placement *q, const tra_catalog *c) {
    return exchange(p, q, c, true, NULL, NULL);
}

tra_traffic tra_traffic_estimate(const tra_placement *p, const tra_placement *q, const tra_catalog *c,
                                 const tra_site_sample *at_p, const tra_site_sample *at_q) {
    return exchange(p, q, c, false, at_p, at_q);
}

/* The bytes of up to KNOWN tuples are added up one by one; those of more are estimated. */
enum { KNOWN = 1 << 14 };

tra_size tra_moved_bytes(const tra_placement *p, const tra_placement *q, const tra_type *t, tra_traffic about) {
    if (about.moved == 0) return tra_size_exactly(0);
    if (t->cat->n > KNOWN) return tra_type_bytes_of(t, about.moved);
    tra_move *v = tra_malloc((size_t)p->sites * (size_t)q->sites * sizeof *v);
    tra_size all = tra_size_exactly(0), each = all;
    /* what each tuple takes is known; else tuples with the same extents, as most have, take as much */
    bool known = t->layout && t->entries && t->entries->of;
    tra_dims ext, last = {.n = -1};
    for (int64_t i = 0; i < t->cat->n; i++) {
        int n = tra_place_moves(p, q, t->cat, i, v), sent = 0;
        for (int j = 0; j < n; j++) sent += !v[j].local;
        if (sent == 0) continue;
        tra_catalog_ext(t->cat, i, &ext);
        if (known || !tra_dims_eq(&ext, &last)) each = tra_type_bytes(t, i);
        last = ext;
        all = tra_size_add(all, tra_size_times(each, sent));
    }
    free(v);
    return all;
}
