/* test_cost.c - costs of operators and exchanges in closed form, against looking at each tuple. */
#include "../../plans/search/planfile.h"

#include "../../plans/ia/ia.h"
#include "../../plans/search/cost.h"
#include "../../plans/search/derive.h"
#include "check.h"

#include <unistd.h>

/* ---- costs against looking at each tuple ----------------------------------------------------------------------- */

static tra_catalog grid2(int64_t m, int64_t n, int64_t bm, int64_t bn) {
    tra_catalog c;
    tra_err e = {0};
    CHECK_OK(tra_catalog_blocks(&(tra_dims){2, {m, n}}, &(tra_dims){2, {bm, bn}}, &c, &e), e);
    return c;
}

/* Placements of a matrix on six sites. */
static int some_places(const tra_catalog *c, tra_placement *p) {
    int n = 0;
    p[n++] = tra_place_part(6, c, 1, (int8_t[]){0});
    p[n++] = tra_place_part(6, c, 1, (int8_t[]){1});
    p[n++] = tra_place_part(6, c, 2, (int8_t[]){1, 0});
    p[n++] = tra_place_all(6);
    tra_axis i = {TRA_AXIS_PART, 2, 1, {0}, {c->frontier.v[0]}}, j = {TRA_AXIS_PART, 3, 1, {1}, {c->frontier.v[1]}};
    tra_axis copy = {.kind = TRA_AXIS_COPY, .sites = 3};
    p[n++] = (tra_placement){.sites = 6, .naxes = 2, .axis = {i, j}};
    p[n++] = (tra_placement){.sites = 6, .naxes = 2, .axis = {i, copy}};
    p[n++] = (tra_placement){.sites = 6, .naxes = 2, .axis = {copy, i}};
    return n;
}

/* Elements of a repartition that cross sites, element by element, each from one of the sites that have it. */
static tra_traffic repart_by_elements(const tra_placement *p, const tra_catalog *in, const tra_placement *q,
                                      const tra_catalog *out, int64_t m, int64_t n) {
    int64_t sent[6] = {0}, received[6] = {0};
    tra_traffic all = {0};
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            tra_dims a = {2, {i / in->bound.v[0], j / in->bound.v[1]}},
                     b = {2, {i / out->bound.v[0], j / out->bound.v[1]}};
            int64_t ta = tra_catalog_find(in, &a), tb = tra_catalog_find(out, &b);
            int holder[6], holders = 0;
            for (int s = 0; s < p->sites; s++)
                if (tra_place_holds(p, in, ta, &a, s)) holder[holders++] = s;
            for (int s = 0; s < q->sites; s++) {
                if (!tra_place_holds(q, out, tb, &b, s) || tra_place_holds(p, in, ta, &a, s)) continue;
                all.moved++;
                received[s]++;
                sent[holder[s % holders]]++;
            }
        }
    }
    for (int s = 0; s < q->sites; s++) {
        all.most = tra_max64(all.most, tra_max64(sent[s], received[s]));
        all.both = tra_max64(all.both, tra_min64(sent[s], received[s]));
    }
    return all;
}

TEST(a_repartition_moves_what_its_pieces_are) {
    static const int64_t cuts[][4] = {{4, 5, 3, 5}, {5, 3, 2, 7}, {1, 13, 17, 1}, {4, 4, 4, 4}};
    enum { M = 17, N = 13 };
    for (size_t x = 0; x < 4; x++) {
        tra_catalog a = grid2(M, N, cuts[x][0], cuts[x][1]), b = grid2(M, N, cuts[x][2], cuts[x][3]);
        tra_type ta = {.cat = &a, .cut = {1, 2}}, tb = {.cat = &b, .cut = {1, 2}};
        tra_placement p[8], q[8];
        int np = some_places(&a, p), nq = some_places(&b, q);
        for (int i = 0; i < np; i++) {
            for (int j = 0; j < nq; j++) {
                tra_traffic t = tra_traffic_repart(&p[i], &ta, &q[j], &tb, &(tra_dims){.n = 0});
                tra_traffic want = repart_by_elements(&p[i], &a, &q[j], &b, M, N);
                CHECK_INT(t.moved, want.moved);
                CHECK_INT(t.most, want.most);
                CHECK_INT(t.both, want.both);
                CHECK_NEAR(t.floats, want.moved ? (double)M * N * tra_place_copies(&q[j]) : 0, 0);
            }
        }
        int32_t *owner = tra_calloc((size_t)a.n, sizeof *owner); /* and tuple by tuple */
        for (int64_t t = 0; t < a.n; t++) owner[t] = (int32_t)(t * 7 % 6);
        tra_placement own = {.sites = 6, .owner = owner};
        CHECK_INT(tra_traffic_repart(&own, &ta, &q[4], &tb, &(tra_dims){.n = 0}).moved,
                  repart_by_elements(&own, &a, &q[4], &b, M, N).moved);
        free(owner);
    }
}

static int64_t exchange_by_tuples(const tra_placement *p, const tra_placement *q, const tra_catalog *c) {
    int64_t moved = 0;
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key;
        tra_catalog_key(c, t, &key);
        for (int s = 0; s < q->sites; s++)
            moved += tra_place_holds(q, c, t, &key, s) && !tra_place_holds(p, c, t, &key, s)
                         ? tra_catalog_elements_of(c, t)
                         : 0;
    }
    return moved;
}

TEST(an_exchange_costs_what_the_paper_says) {
    tra_catalog c = grid2(35, 22, 3, 4);
    tra_placement p[8];
    int n = some_places(&c, p);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            tra_traffic t = tra_traffic_exchange(&p[i], &p[j], &c);
            CHECK_INT(t.moved, exchange_by_tuples(&p[i], &p[j], &c));
            CHECK_NEAR(t.floats, t.moved ? 35.0 * 22 * tra_place_copies(&p[j]) : 0, 0);
            int64_t in, out;
            tra_place_moved_floats(&p[i], &p[j], &c, &in, &out);
            CHECK_INT(t.most, tra_max64(in, out));
        }
        tra_placement sum = {.sites = 6, .naxes = 1, .axis = {{.kind = TRA_AXIS_PARTIAL, .sites = 6}}};
        tra_traffic t = tra_traffic_exchange(&sum, &p[i], &c);
        int copies = tra_place_copies(&p[i]);
        CHECK_NEAR(t.floats, 35.0 * 22 * (6 + (copies > 1 ? copies : 0)), 0);
        int64_t in, out;
        CHECK_INT(t.moved, tra_place_moved_floats(&sum, &p[i], &c, &in, &out));
        CHECK_INT(t.most, tra_max64(in, out));
    }
}

/* Work of a join, pair by pair. */
TEST(work_is_counted_in_closed_form) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const tra_kernel *k;
    CHECK_OK(tra_kernel_named(a, "matmul", TRA_USE_JOIN, 0, NULL, &k, &e), e);
    tra_catalog l = grid2(35, 22, 3, 4), r = grid2(22, 29, 4, 7), out;
    int8_t none[3] = {-1, -1, -1};
    int64_t last[3] = {1, 1, 1};
    tra_dims frontier = {3, {l.frontier.v[0], l.frontier.v[1], r.frontier.v[1]}};
    CHECK_OK(tra_catalog_grid(&frontier, &(tra_dims){0, {0}}, none, last, &out, &e), e);
    tra_labels x;
    tra_join_labels(&l, &r, &(tra_dims){1, {1}}, &(tra_dims){1, {0}}, &x);
    CHECK_INT(x.n, 3);
    for (int sites = 1; sites <= 12; sites++) {
        tra_ways ways = {0};
        tra_join_ways(&x, &l, &r, sites, &ways);
        for (int w = 0; w < ways.n; w++) {
            tra_placement place = ways.v[w].out;
            if (sites == 1) place = tra_place_all(1);
            double *load = tra_calloc((size_t)sites, sizeof *load), total = 0, most = 0;
            for (int64_t t = 0; t < out.n; t++) {
                tra_dims key, ka, kb, ea, eb;
                tra_catalog_key(&out, t, &key);
                ka = (tra_dims){2, {key.v[0], key.v[1]}};
                kb = (tra_dims){2, {key.v[1], key.v[2]}};
                tra_catalog_ext(&l, tra_catalog_find(&l, &ka), &ea);
                tra_catalog_ext(&r, tra_catalog_find(&r, &kb), &eb);
                for (int s = 0; s < sites; s++) {
                    if (!tra_place_holds(&place, &out, t, &key, s)) continue;
                    load[s] += tra_kernel_flops(k, TRA_USE_JOIN, &ea, &eb);
                    total += tra_kernel_flops(k, TRA_USE_JOIN, &ea, &eb);
                }
            }
            for (int s = 0; s < sites; s++) most = load[s] > most ? load[s] : most;
            tra_work got = tra_work_join(k, &x, &(tra_type){.cat = &l}, &(tra_type){.cat = &r}, &out, &place);
            CHECK_NEAR(got.total, total, 1e-9 * total);
            CHECK(got.bound == got.total);
            CHECK_NEAR(got.busiest, most, 1e-9 * total);
            free(load);
        }
        free(ways.v);
    }
    tra_arena_free(a);
}

/* Each pair of a join meets on at least one site, on exactly one unless both inputs are everywhere. */
TEST(pairs_meet_once) {
    tra_catalog l = grid2(12, 8, 2, 2), r = grid2(8, 10, 2, 2);
    tra_labels x;
    tra_join_labels(&l, &r, &(tra_dims){1, {1}}, &(tra_dims){1, {0}}, &x);
    for (int sites = 2; sites <= 13; sites++) {
        tra_ways ways = {0};
        tra_join_ways(&x, &l, &r, sites, &ways);
        for (int w = 0; w < ways.n; w++) {
            const tra_way *v = &ways.v[w];
            for (int64_t a = 0; a < l.n; a++) {
                for (int64_t b = 0; b < r.n; b++) {
                    tra_dims ka, kb;
                    int met = 0;
                    tra_catalog_key(&l, a, &ka);
                    tra_catalog_key(&r, b, &kb);
                    if (ka.v[1] != kb.v[0]) continue;
                    for (int s = 0; s < sites; s++)
                        met += tra_place_holds(&v->l, &l, a, &ka, s) && tra_place_holds(&v->r, &r, b, &kb, s);
                    int want = tra_place_is_all(&v->out) ? sites : 1;
                    if (met != want) check_report("%d sites, way %d: a pair meets %d times", sites, w, met);
                }
            }
        }
        free(ways.v);
    }
}
