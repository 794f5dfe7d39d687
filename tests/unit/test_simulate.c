/* test_simulate.c - predicted traffic of matrix products against a simulation that moves tuples (simulate_util.h), and
 * the choice against brute force. */
#include "simulate_util.h"

/* ---- the choice --------------------------------------------------------------------------------------------- */

typedef struct grid {
    int gi, gk, gj;
    int64_t floats;
} grid;

/* Grids gi x gk x gj of s sites that keep as many sites busy as can be: a relation that is partitioned along axes of g
 * sites together has tuples on min(g, tuples) of them. BMM and CMM are (s,1,1), (1,1,s) and (1,s,1). If there is none,
 * those where most sites have work. The products move as gk summands, or as they are if that is less. */
static int all_grids(const product *m, int s, grid *v) {
    int64_t ni = (m->i + m->bi - 1) / m->bi, nk = (m->k + m->bk - 1) / m->bk, nj = (m->j + m->bj - 1) / m->bj, most = 0;
    int n = 0;
    for (int relaxed = 0; relaxed < 2 && n == 0; relaxed++) {
        for (int gi = 1; gi <= s; gi++) {
            for (int gk = 1; gk <= s; gk++) {
                int gj = s / (gi * gk);
                if (gi * gk * gj != s || (gi > 1 && ni == 1) || (gk > 1 && nk == 1) || (gj > 1 && nj == 1)) continue;
                int64_t i = tra_min64(gi, ni), k = tra_min64(gk, nk), j = tra_min64(gj, nj);
                bool kept = i * k >= tra_min64(gi * gk, ni * nk) && k * j >= tra_min64(gk * gj, nk * nj);
                if (!relaxed) most = tra_max64(most, i * k * j);
                if (relaxed ? i * k * j < most : !kept) continue;
                v[n++] = (grid){gi, gk, gj,
                                (gj > 1 ? m->i * m->k * gj : 0) + (gi > 1 ? m->k * m->j * gi : 0) +
                                    (gk > 1 ? m->i * m->j * tra_min64(gk, nk) : 0)};
            }
        }
    }
    return n;
}

/* What it costs to bring an input from where it was declared to a grid, of whose axes it has the two at d. */
static int64_t to_grid(const held *like, const char *at, const int *g, int d, int s) {
    tra_placement from = {.sites = s, .naxes = 1, .axis = {{.kind = TRA_AXIS_COPY, .sites = s}}};
    tra_placement to = {.sites = s, .naxes = 3};
    traffic x = {0};
    if (strcmp(at, "all") != 0) from = declared(at, like, s);
    for (int a = 0; a < 3; a++) {
        int8_t k = (int8_t)(a - d);
        to.axis[a] = (tra_axis){.kind = TRA_AXIS_COPY, .sites = g[a]};
        if (k < 0 || k > 1) continue;
        to.axis[a] =
            (tra_axis){.kind = TRA_AXIS_PART, .sites = g[a], .n = 1, .dim = {k}, .ext = {like->blocks[(int)k]}};
    }
    held *h = new_held(like, false);
    for (int64_t t = 0; t < nblocks(h); t++) h->at[t] = sites_of(&from, h, t);
    free_held(exchange(h, &from, &to, &x));
    free_held(h);
    return x.floats;
}

/* All grids from where the inputs are: the choice is as good, or better where it computes in a placement that none of
 * them has. */
static void check_declared_choice(const tra_plans *plans, const product *m, const variant *u, int s) {
    grid v[512];
    int n = all_grids(m, s, v);
    int64_t best = INT64_MAX;
    held a = matrix(m->i, m->k, m->bi, m->bk), b = matrix(m->k, m->j, m->bk, m->bj);
    for (int x = 0; x < n; x++) {
        int g[3] = {v[x].gi, v[x].gk, v[x].gj};
        int64_t floats = g[1] > 1 ? m->i * m->j * tra_min64(g[1], a.blocks[1]) : 0;
        floats += *u->at[0] ? to_grid(&a, u->at[0], g, 0, s) : g[2] > 1 ? m->i * m->k * g[2] : 0;
        floats += *u->at[1] ? to_grid(&b, u->at[1], g, 1, s) : g[0] > 1 ? m->k * m->j * g[0] : 0;
        best = tra_min64(best, floats);
    }
    /* or one input as it is, though both its keys partition it, the other copied */
    for (int side = 0; side < 2; side++) {
        const char *other = u->at[1 - side];
        if (!strchr(u->at[side], ',')) continue;
        int64_t floats = strcmp(other, "all") == 0 ? 0 : s * (side ? m->i * m->k : m->k * m->j);
        best = tra_min64(best, floats + (a.blocks[1] > 1 ? m->i * m->j * tra_min64(s, a.blocks[1]) : 0));
    }
    if (plans->v[0]->cost.network_floats > (double)best)
        check_report("%d sites: the choice %s moves %.0f floats, the best grid %" PRId64, s, plans->v[0]->strategy,
                     plans->v[0]->cost.network_floats, best);
}

static const char *grid_name(const grid *g, char *buf, size_t n) {
    if ((g->gi > 1) + (g->gk > 1) + (g->gj > 1) > 1)
        snprintf(buf, n, "rmm(%d,%d,%d)", g->gi, g->gk, g->gj);
    else
        snprintf(buf, n, "%s", g->gi > 1 ? "bmm-right" : g->gk > 1 ? "cmm" : "bmm-left");
    return buf;
}

static const tra_plan *of_strategy(const tra_plans *plans, const char *name) {
    for (int i = 0; i < plans->n; i++) {
        if (strcmp(plans->v[i]->strategy, name) == 0) return plans->v[i];
    }
    return NULL;
}

static void check_choice(const tra_plans *plans, const product *m, int s) {
    grid v[512];
    char name[64];
    int n = all_grids(m, s, v);
    int64_t best = INT64_MAX;
    for (int x = 0; x < n; x++) {
        const tra_plan *p = of_strategy(plans, grid_name(&v[x], name, sizeof name));
        best = tra_min64(best, v[x].floats);
        if (!p)
            check_report("%d sites: no alternative is %s", s, name);
        else if (p->cost.network_floats != (double)v[x].floats)
            check_report("%d sites, %s: %.0f floats, not %" PRId64, s, name, p->cost.network_floats, v[x].floats);
    }
    if (n == 0) best = 0;                          /* one pair, on one site */
    if (strcmp(plans->v[0]->strategy, "all") == 0) /* each site does everything, where there is little to do */
        best = tra_min64(best, (m->i * m->k + m->k * m->j) * s);
    if (plans->v[0]->cost.network_floats != (double)best)
        check_report("%d sites: the choice %s moves %.0f floats, the best grid %" PRId64, s, plans->v[0]->strategy,
                     plans->v[0]->cost.network_floats, best);
}

/* ---- tests -------------------------------------------------------------------------------------------------- */

static char *declaration(const char *name, int64_t m, int64_t n, int64_t bm, int64_t bn, const char *at) {
    bool all = strcmp(at, "all") == 0;
    return tra_asprintf("input %s : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]%s%s%s\n", name, m, n, bm,
                        bn,
                        !*at  ? ""
                        : all ? " at "
                              : " at part(",
                        at, !*at || all ? "" : ")");
}

/* All alternatives on s sites. Returns the sites that work in the first. */
static uint64_t check_variant(const product *m, int s, const variant *u) {
    tra_program program;
    tra_plans plans = {0};
    tra_err e = {0};
    static const tra_fixed as_written; /* rules would move the filter to where this simulation does not look for it */
    tra_plan_options o = {.sites = s, .cost = TRA_COST_TRA, .threads = 1, .rates = tra_rates_builtin()};
    if (u->holes) o.fixed = &as_written;
    char *a = declaration("A", m->i, m->k, m->bi, m->bk, u->at[0]);
    char *b = declaration("B", m->k, m->j, m->bk, m->bj, u->at[1]);
    char *text = tra_asprintf("%s%s%sC = agg(join(%s, %s, [1], [0], matmul), [0,2], matadd)\noutput C\n", a,
                              u->square ? "" : b, u->holes ? "L = filter(A, (i,k) -> " HOLES ")\n" : "",
                              u->holes ? "L" : "A", u->square ? "A" : "B");
    uint64_t first = 0;
    int before = check_failures;
    CHECK_OK(tra_program_from_text("test", text, strlen(text), &(tra_building){.dir = "."}, false, &program, &e), e);
    CHECK_OK(tra_search(program.graph, &o, program.arena, &plans, &e), e);
    CHECK(plans.n > 0);
    for (int i = 0; i < plans.n; i++) {
        const tra_plan *p = plans.v[i];
        traffic x = {0};
        uint64_t busy = simulate(p, m, u, &x);
        if (i == 0) first = busy;
        if (p->cost.network_floats != (double)x.floats || p->cost.network_bytes.bound != x.bytes)
            check_report("%d sites, %s: %.0f floats and %" PRId64 " bytes predicted, %" PRId64 " and %" PRId64 " moved",
                         s, p->strategy, p->cost.network_floats, p->cost.network_bytes.bound, x.floats, x.bytes);
    }
    if (plans.n > 0 && !u->square && !u->holes) {
        if (*u->at[0] || *u->at[1])
            check_declared_choice(&plans, m, u, s);
        else
            check_choice(&plans, m, s);
    }
    if (check_failures > before)
        printf("#   of %" PRId64 " x %" PRId64 " x %" PRId64 " in blocks %" PRId64 ", %" PRId64 ", %" PRId64
               "%s%s, A at '%s', B at '%s'\n",
               m->i, m->k, m->j, m->bi, m->bk, m->bj, u->square ? ", A A" : "", u->holes ? ", holes" : "", u->at[0],
               u->at[1]);
    tra_program_free(&program);
    free(a);
    free(b);
    return first;
}

static uint64_t check_product(const product *m, int s) { return check_variant(m, s, &(variant){.at = {"", ""}}); }

static bool all_day(void) { return getenv("TRA_TEST_LONG") != NULL; }

static const product shapes[] = {
    {64, 64, 64, 4, 4, 4},       /* squares */
    {16, 16, 16, 4, 4, 4},       /* fewer blocks than sites */
    {1000, 10, 1000, 50, 2, 50}, /* skewed: a short, a long inner dimension, a tall and a wide operand */
    {12, 9000, 12, 3, 300, 3},   {5000, 40, 30, 200, 10, 6}, {20, 30, 7000, 5, 6, 200},
    {67, 71, 73, 6, 5, 7},                                                         /* ragged, and primes */
    {13, 17, 11, 1, 1, 1},       {97, 89, 101, 13, 97, 10},  {1, 50, 60, 1, 3, 4}, /* extents of 1 */
    {50, 1, 60, 2, 1, 3},        {50, 60, 1, 3, 2, 1},       {1, 64, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, 1},          {7, 5, 3, 7, 5, 3}, /* few blocks */
    {8, 8, 8, 4, 4, 4},          {9, 4, 6, 3, 2, 6},
};

TEST(products_move_what_was_predicted) {
    for (size_t x = 0; x < sizeof shapes / sizeof *shapes; x++) {
        for (int s = 2; s <= MAXSITES; s++) check_product(&shapes[x], s);
    }
}

/* The same relation on both sides: one partitioning of it is free, the other is not. */
TEST(squares_move_what_was_predicted) {
    static const product v[] = {{48, 48, 48, 4, 4, 4}, {17, 17, 17, 3, 3, 3}, {5, 5, 5, 1, 1, 1}, {6, 6, 6, 6, 6, 6}};
    for (size_t x = 0; x < sizeof v / sizeof *v; x++) {
        for (int s = 2; s <= MAXSITES; s++) check_variant(&v[x], s, &(variant){.square = true, .at = {"", ""}});
    }
}

TEST(random_products_move_what_was_predicted) {
    for (int n = all_day() ? 5000 : 150; n > 0; n--) {
        int64_t v[6];
        for (int d = 0; d < 3; d++) {
            int64_t blocks = 1 + check_draw(n % 3 ? 9 : 40);
            v[d + 3] = 1 + check_draw(12);
            v[d] = blocks * v[d + 3] - check_draw(v[d + 3]);
        }
        check_product(&(product){v[0], v[1], v[2], v[3], v[4], v[5]}, 2 + (int)check_draw(63));
    }
}

/* Wherever every label has as many values as there are sites, the first plan leaves no site idle. */
TEST(the_choice_uses_all_sites) {
    static const product v[] = {{64, 64, 64, 1, 1, 1}, {640, 64, 64, 10, 1, 1}, {64, 6400, 64, 1, 100, 1}};
    for (size_t x = 0; x < sizeof v / sizeof *v; x++) {
        for (int s = 2; s <= MAXSITES; s += all_day() ? 1 : 7) {
            uint64_t busy = check_product(&v[x], s);
            if (__builtin_popcountll(busy) != s) check_report("%d of %d sites work", __builtin_popcountll(busy), s);
        }
    }
}

/* Inputs that are somewhere already, and A with holes. */
TEST(products_of_placed_inputs_and_holes_move_what_was_predicted) {
    static const product v[] = {
        {35, 22, 27, 3, 4, 5}, {60, 6, 48, 5, 1, 4}, {1, 27, 17, 1, 3, 2}, {64, 64, 3, 2, 1, 3}};
    static const char *const at[] = {"", "all", "0", "1", "0,1"};
    enum { PLACES = sizeof at / sizeof *at };
    for (size_t x = 0; x < sizeof v / sizeof *v; x++) {
        for (int s = 2; s <= MAXSITES; s += all_day() ? 1 : 5) {
            for (int c = 0; c < 2 * PLACES * PLACES; c++)
                check_variant(&v[x], s,
                              &(variant){false, {at[c % PLACES], at[c / PLACES % PLACES]}, c >= PLACES * PLACES});
        }
    }
}
