/* test_run.c - placements, exchanges, block loops, what goes on beside stages. */
#include "../../lib/run/comm.h"
#include "check.h"

#include "../../lib/run/engine.h"
#include "../../lib/run/exchange.h"
#include "../../lib/physical/needs.h"
#include "../../lib/physical/placement.h"
#include "../../lib/physical/scan.h"
#include "../../lib/run/pool.h"

/* A random placement of a relation with k key dimensions on s sites. */
static tra_placement random_place(int s, const tra_catalog *c, bool partial) {
    tra_placement p = {.sites = s};
    int left = s;
    while (p.naxes == 0 || (left > 1 && p.naxes < 3)) {
        int g = left;
        for (int d = 2; d < left; d++) {
            if (left % d == 0 && check_draw(2)) g = d;
        }
        if (p.naxes == 2) g = left;
        tra_axis x = {.sites = g, .kind = check_draw(3) == 0 ? TRA_AXIS_COPY : TRA_AXIS_PART};
        if (partial && check_draw(2)) x.kind = TRA_AXIS_PARTIAL;
        if (c->frontier.n == 0) x.kind = partial ? TRA_AXIS_PARTIAL : TRA_AXIS_COPY;
        if (x.kind == TRA_AXIS_PART) {
            x.n = 1 + (int)check_draw(c->frontier.n > 1 ? 2 : 1);
            for (int i = 0; i < x.n; i++) {
                x.dim[i] = (int8_t)((check_draw(c->frontier.n) + i) % c->frontier.n);
                x.ext[i] = tra_max64(1, c->frontier.v[(int)x.dim[i]] + check_draw(3) - 1);
            }
            if (x.n == 2 && x.dim[0] == x.dim[1]) x.n = 1;
        }
        p.axis[p.naxes++] = x;
        left /= g;
    }
    return p;
}

static void random_catalog(tra_catalog *c) {
    tra_dims shape = {.n = (int)check_draw(3)}, block = {.n = shape.n};
    tra_err e = {0};
    for (int d = 0; d < shape.n; d++) shape.v[d] = 1 + check_draw(17), block.v[d] = 1 + check_draw(5);
    CHECK_INT(tra_catalog_blocks(&shape, &block, c, &e), TRA_OK);
}

TEST(holders_and_holds_agree) {
    for (int round = 0; round < 500; round++) {
        tra_catalog c;
        int s = 1 + (int)check_draw(12), holders[16];
        random_catalog(&c);
        tra_placement p = random_place(s, &c, round % 2);
        int64_t want_floats[16] = {0}, want[16] = {0};
        for (int64_t t = 0; t < c.n; t++) {
            tra_dims key;
            tra_catalog_key(&c, t, &key);
            int n = tra_place_holders(&p, &c, t, &key, holders), at = 0;
            CHECK(n >= 1);
            CHECK_INT(n % (tra_place_copies(&p) * tra_place_summands(&p)), 0);
            for (int site = 0; site < s; site++) {
                bool listed = at < n && holders[at] == site;
                CHECK_INT(tra_place_holds(&p, &c, t, &key, site), listed);
                at += listed;
                if (listed) want[site]++, want_floats[site] += tra_catalog_elements_of(&c, t);
            }
            CHECK_INT(at, n);
        }
        tra_site_kind *v;
        int n = tra_place_kinds(&p, &c, &v), listed = 0;
        for (int i = 0; i < n; i++) {
            int64_t alike = 0;
            for (int site = 0; site < s; site++) alike += want[site] == v[i].tuples && want_floats[site] == v[i].floats;
            CHECK_INT(v[i].sites, alike);
            listed += (int)v[i].sites;
        }
        CHECK_INT(listed, s);
        free(v);
    }
}

/* The closed form against moving tuple by tuple. */
TEST(moved_floats_are_exact) {
    for (int round = 0; round < 500; round++) {
        tra_catalog c;
        int s = 1 + (int)check_draw(9);
        random_catalog(&c);
        tra_placement p = random_place(s, &c, round % 3 == 0), q = random_place(s, &c, false);
        int64_t total = 0, in[16] = {0}, out[16] = {0}, max_in, max_out, most_in = 0, most_out = 0;
        tra_move v[256];
        for (int64_t t = 0; t < c.n; t++) {
            int n = tra_place_moves(&p, &q, &c, t, v);
            tra_dims key;
            tra_catalog_key(&c, t, &key);
            for (int i = 0; i < n; i++) {
                CHECK(tra_place_holds(&p, &c, t, &key, v[i].from));
                CHECK(tra_place_holds(&q, &c, t, &key, v[i].to));
                CHECK_INT(v[i].local, v[i].from == v[i].to);
                if (v[i].local) continue;
                total += tra_catalog_elements_of(&c, t);
                in[v[i].to] += tra_catalog_elements_of(&c, t);
                out[v[i].from] += tra_catalog_elements_of(&c, t);
            }
        }
        for (int i = 0; i < s; i++) most_in = tra_max64(most_in, in[i]), most_out = tra_max64(most_out, out[i]);
        CHECK_INT(tra_place_moved_floats(&p, &q, &c, &max_in, &max_out), total);
        CHECK_INT(max_in, most_in);
        CHECK_INT(max_out, most_out);
    }
}

TEST(every_summand_reaches_every_holder) {
    tra_catalog c;
    tra_err e = {0};
    tra_dims shape = {.n = 1, .v = {6}}, block = {.n = 1, .v = {2}};
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    tra_placement p = {.sites = 3, .naxes = 1, .axis = {{.kind = TRA_AXIS_PARTIAL, .sites = 3}}};
    tra_placement q = tra_place_part(3, &c, 1, (int8_t[]){0});
    tra_move v[16];
    for (int64_t t = 0; t < c.n; t++) {
        int n = tra_place_moves(&p, &q, &c, t, v);
        CHECK_INT(n, 3);
        for (int i = 0; i < n; i++) {
            CHECK_INT(v[i].to, t);
            CHECK_INT(v[i].summand, i);
            CHECK_INT(v[i].from, i);
        }
    }
    CHECK_INT(tra_place_moved_floats(&p, &q, &c, NULL, NULL), 2 * 6);
}

TEST(site_is_the_floor_of_t_s_over_n) {
    tra_catalog c;
    tra_err e = {0};
    tra_dims shape = {.n = 1, .v = {10}}, block = {.n = 1, .v = {1}}, key = {.n = 1};
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    tra_placement p = tra_place_part(4, &c, 1, (int8_t[]){0});
    static const int want[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 3};
    for (int t = 0; t < 10; t++) {
        key.v[0] = t;
        for (int s = 0; s < 4; s++) CHECK_INT(tra_place_holds(&p, &c, t, &key, s), s == want[t]);
    }
}

TEST(placements_have_names) {
    tra_catalog c;
    tra_err e = {0};
    char buf[100];
    tra_dims shape = {.n = 2, .v = {10, 10}}, block = {.n = 2, .v = {1, 1}};
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    tra_placement p = tra_place_all(3);
    CHECK_STR(tra_place_text(&p, buf, sizeof buf), "all");
    p = (tra_placement){.sites = 3, .naxes = 1, .axis = {{.kind = TRA_AXIS_PARTIAL, .sites = 3}}};
    CHECK_STR(tra_place_text(&p, buf, sizeof buf), "partial");
    p = tra_place_part(3, &c, 2, (int8_t[]){1, 0});
    CHECK_STR(tra_place_text(&p, buf, sizeof buf), "part(1,0)");
    p = (tra_placement){.sites = 12,
                        .naxes = 3,
                        .axis = {{.kind = TRA_AXIS_PART, .sites = 2, .n = 1, .ext = {10}},
                                 {.kind = TRA_AXIS_COPY, .sites = 3},
                                 {.kind = TRA_AXIS_PARTIAL, .sites = 2}}};
    CHECK_STR(tra_place_text(&p, buf, sizeof buf), "grid(0:2,*:3,+:2)");
}

/* ---- beside the stages ------------------------------------------------------------------------------------------ */

typedef struct beside {
    tra_pool *pool;
    tra_block *all;  /* all the memory, which a unit gives back */
    tra_block *back; /* read back by the maker, which waits for memory for it */
    int calls, depth, deepest;
    tra_block_state seen; /* of `back` */
} beside;

static tra_status hold_a_while(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    beside *x = u->ctx;
    (void)task, (void)w, (void)e;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    tra_block_free(x->pool, x->all);
    return TRA_OK;
}

/* Takes more than there is, so that it waits itself. */
static tra_status take(void *ctx, bool wanted, bool *any, tra_err *e) {
    beside *x = ctx;
    tra_block *b;
    (void)wanted;
    if (x->calls++ == 0 && x->back) x->seen = x->back->state;
    x->depth++;
    x->deepest = x->depth > x->deepest ? x->depth : x->deepest;
    TRA_TRY(tra_block_new(x->pool, 600000, &b, e));
    tra_block_free(x->pool, b);
    x->depth--;
    *any = false;
    return TRA_OK;
}

static void begin_holding(tra_engine *g, beside *x, tra_err *e) {
    CHECK_INT(tra_engine_begin_stage(g, 0, 0, 0, 0, e), TRA_OK);
    CHECK_INT(tra_block_new(x->pool, 900000, &x->all, e), TRA_OK);
    tra_unit *u = tra_unit_new(0, 1);
    u->run = hold_a_while;
    u->ctx = x;
    CHECK_INT(tra_engine_submit(g, u, e), TRA_OK);
}

TEST(what_goes_on_beside_is_not_gone_on_with_from_itself) {
    beside x = {.pool = tra_pool_new(1 << 20, check_folder())};
    tra_err e = {0};
    bool load;
    tra_engine *g = tra_engine_new(x.pool, 1, &e);
    tra_engine_set_overlap(g, take, &x);
    begin_holding(g, &x, &e); /* it is called from the engine, and from the pool */
    CHECK_INT(tra_engine_drain(g, &e), TRA_OK);
    CHECK_INT(x.deepest, 1);
    /* what the maker waits for memory for is not for what goes on meanwhile */
    CHECK_INT(tra_block_new(x.pool, 600000, &x.back, &e), TRA_OK);
    tra_block_unpin(x.pool, x.back);
    begin_holding(g, &x, &e); /* drives it out */
    x.calls = 0;
    CHECK_INT(tra_block_pin(x.pool, x.back, &load, &e), TRA_OK);
    CHECK(load && x.calls > 0);
    CHECK_INT(x.seen, TRA_BLOCK_LOADING);
    CHECK_INT(tra_block_load(x.pool, x.back, NULL, &e), TRA_OK);
    tra_block_free(x.pool, x.back);
    tra_engine_set_overlap(g, NULL, NULL);
    CHECK_INT(tra_engine_drain(g, &e), TRA_OK);
    tra_engine_free(g);
    tra_pool_free(x.pool);
}

/* ---- exchanges -------------------------------------------------------------------------------------------------- */

/* A block that is cut anew on another site: a piece that is sent, one that comes, and the block that it is for. */
TEST(a_repartition_needs_two_pieces_and_a_block) {
    tra_catalog in, out;
    tra_err e = {0};
    tra_dims shape = {.n = 2, .v = {800, 800}}, rows = {.n = 2, .v = {100, 800}}, small = {.n = 2, .v = {50, 800}};
    for (int k = 0; k < 3; k++) { /* to blocks that are as large, smaller, larger */
        const tra_dims *from = k == 2 ? &small : &rows, *to = k == 1 ? &small : &rows;
        CHECK_OK(tra_catalog_blocks(&shape, from, &in, &e), e);
        CHECK_OK(tra_catalog_blocks(&shape, to, &out, &e), e);
        tra_type ti = {.dtype = TRA_F64, .cat = &in, .cut = {1, 2}},
                 to_type = {.dtype = TRA_F64, .cat = &out, .cut = {1, 2}};
        tra_op ops[2] = {{.op = TRA_PLAN_INPUT, .in = {-1, -1}, .type = ti},
                         {.id = 1, .op = TRA_PLAN_REPART, .in = {0, -1}, .type = to_type}};
        tra_plan p = {.sites = 2, .nops = 2, .ops = ops};
        int64_t a = tra_type_room(&ti), b = tra_type_room(&to_type), piece = a < b ? a : b;
        CHECK_INT(tra_exchange_memory(&p, &ops[1]).least, 2 * piece + b > a + b ? 2 * piece + b : a + b);
    }
}

/* Every piece of every block comes once to each site that is to have the block, from where it is if that is here. */
TEST(a_repartition_sends_only_what_the_receiver_has_not) {
    tra_catalog in, out;
    tra_err e = {0};
    for (int round = 0; round < 300; round++) {
        int sites = 1 + (int)check_draw(8), kept = 0, wanted = 0;
        tra_dims shape = {.n = 1 + (int)check_draw(2)}, from = shape, to = shape;
        for (int d = 0; d < shape.n; d++)
            shape.v[d] = 1 + check_draw(17), from.v[d] = 1 + check_draw(5), to.v[d] = 1 + check_draw(5);
        CHECK_OK(tra_catalog_blocks(&shape, &from, &in, &e), e);
        CHECK_OK(tra_catalog_blocks(&shape, &to, &out, &e), e);
        tra_op ops[2] = {{.op = TRA_PLAN_INPUT, .in = {-1, -1}, .type = {.cat = &in, .cut = {1, 2}}},
                         {.id = 1, .op = TRA_PLAN_REPART, .in = {0, -1}, .type = {.cat = &out, .cut = {1, 2}}}};
        ops[0].place = random_place(sites, &in, false);
        ops[1].place = random_place(sites, &out, false);
        tra_plan p = {.sites = sites, .nops = 2, .ops = ops};
        for (int me = 0; me < sites; me++) {
            tra_transfers incoming[8] = {{0}};
            tra_site site = {.comm = {.rank = me, .size = sites}, .plan = &p};
            tra_exchange x = {.site = &site, .op = &ops[1], .lists.incoming = incoming, .batch.limit = INT64_MAX};
            tra_list_batch(&x);
            CHECK_INT(x.batch.next, out.n);
            for (int s = 0; s <= sites; s++) {
                const tra_transfers *l = s < sites ? &incoming[s] : &x.lists.local;
                for (int64_t i = 0; i < l->n; i++, wanted++) {
                    tra_dims key;
                    tra_catalog_key(&in, l->v[i].in, &key);
                    CHECK_INT(tra_place_holds(&ops[0].place, &in, l->v[i].in, &key, me), s == sites);
                    kept += s == sites;
                }
                free(l->v);
            }
            free(x.lists.outgoing.v);
        }
        CHECK(wanted > 0 && (sites > 1 || kept == wanted));
    }
}

/* ---- loops ------------------------------------------------------------------------------------------------------ */

TEST(block_loops_fit_their_budget) {
    tra_arena *arena = tra_arena_new();
    const tra_kernel *mm = NULL, *add = NULL;
    tra_err e = {0};
    tra_catalog c;
    CHECK_INT(tra_kernel_named(arena, "matmul", TRA_USE_JOIN, 0, NULL, &mm, &e), TRA_OK);
    CHECK_INT(tra_kernel_named(arena, "matadd", TRA_USE_AGG, 0, NULL, &add, &e), TRA_OK);
    tra_dims shape = {.n = 2, .v = {8000, 8000}}, block = {.n = 2, .v = {1000, 1000}};
    CHECK_INT(tra_catalog_blocks(&shape, &block, &c, &e), TRA_OK);
    tra_type t = {.dtype = TRA_F64, .cat = &c, .cut = {1, 2}};
    tra_op ops[3] = {{.id = 0, .op = TRA_PLAN_INPUT, .in = {-1, -1}, .type = t, .place = tra_place_all(1)},
                     {.id = 1, .op = TRA_PLAN_INPUT, .in = {-1, -1}, .type = t, .place = tra_place_all(1)},
                     {.id = 2,
                      .op = TRA_PLAN_JOINAGG,
                      .in = {0, 1},
                      .type = t,
                      .place = tra_place_all(1),
                      .spec.join = mm,
                      .spec.agg = add,
                      .spec.joinl = {.n = 1, .v = {1}},
                      .spec.joinr = {.n = 1, .v = {0}},
                      .spec.group = {.n = 2, .v = {0, 2}}}};
    tra_plan p = {.sites = 1, .nops = 3, .ops = ops};
    int64_t before = -1;
    for (int64_t mb = 24; mb < 1200; mb += 8) {
        int64_t budget = mb * 1000000, a = 8000000;
        tra_block_loop l = tra_loop_of(&p, &ops[2], 8, 8, 8, 2, budget);
        CHECK(l.ci >= 1 && l.cj >= 1 && l.ci <= 8 && l.cj <= 8);
        CHECK((l.ci * l.cj + l.ci * (l.keeps_left ? 8 : 1) + l.cj) * a <= budget);
        int64_t reads = 8 * (l.keeps_left ? 1 : tra_ceil_div(8, l.cj)) + 8 * tra_ceil_div(8, l.ci);
        if (before >= 0) CHECK(reads <= before + before / 3); /* more memory costs little more, for less waiting */
        before = reads;
    }
    CHECK_INT(before, 16);                           /* all fits: everything is read once */
    ops[2].predicted.cost.flops_max = 10e9 * 2 * 55; /* of two slow workers: less than a minute */
    tra_block_loop l = tra_loop_of(&p, &ops[2], 8, 8, 8, 2, 1200000000);
    CHECK(l.ci * l.cj > 8);
    ops[2].predicted.cost.flops_max *= 2; /* so long that it is finished in groups */
    l = tra_loop_of(&p, &ops[2], 8, 8, 8, 2, 1200000000);
    CHECK_INT(l.ci * l.cj, 8);
    l = tra_loop_of(&p, &ops[2], 1, 3, 8, 2, 1200000000);
    CHECK_INT(l.ci * l.cj, 1);
    tra_arena_free(arena);
}

/* Cores of a host, where containers and namespaces make several of one machine. */
TEST(cores_are_shared_by_those_that_may_use_them) {
    int64_t one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2}, four[4] = {4, 4, 4, 4};
    CHECK_INT(tra_comm_share(4, two, two), 4);  /* ranks of one host */
    CHECK_INT(tra_comm_share(4, two, four), 2); /* and as many of another one */
    CHECK_INT(tra_comm_share(4, one, four), 1); /* a host for each */
    CHECK_INT(tra_comm_share(2, one, four), 1); /* half a core is one */
    int64_t left[4] = {2, 2, 0, 0}, all[4] = {2, 2, 3, 3}, some[4] = {2, 4, 3, 3};
    CHECK_INT(tra_comm_share(4, left, all), 2);  /* bound to cores of their own */
    CHECK_INT(tra_comm_share(4, left, some), 2); /* one and a half */
}
