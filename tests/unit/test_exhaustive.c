/* The search against exhaustive search: random small programs whose operators share inputs and results, every placement
 * of every operator, the cheapest exchanges. Costs come from cost.h, ways to place joins from ia.h; the rest is
 * apart. */
#include "../../plans/search/cost.h"
#include "../../plans/search/search.h"
#include "../../plans/tra/load.h"
#include "check.h"

enum { MAXNODES = 24, MAXPLACES = 64, MAXWANTS = 8 };

/* ---- placements ------------------------------------------------------------------------------------------------- */

typedef struct places {
    int n;
    tra_placement v[MAXPLACES];
} places;

static void add_place(places *x, const tra_placement *p) {
    for (int i = 0; i < x->n; i++) {
        if (tra_place_eq(&x->v[i], p)) return;
    }
    if (x->n < MAXPLACES) x->v[x->n++] = *p;
}

/* Every grid of so many sites: each key dimension along at most one axis, copies along at most one. */
static void all_places(const tra_catalog *c, int left, tra_placement p, uint32_t used, places *out) {
    if (left == 1) {
        add_place(out, &p);
        return;
    }
    for (int g = 2; g <= left; g++) {
        if (left % g) continue;
        for (int d = -1; d < c->frontier.n; d++) { /* -1: copies */
            if (used >> (d + 1) & 1) continue;
            tra_placement q = p;
            q.axis[q.naxes] = (tra_axis){.kind = d < 0 ? TRA_AXIS_COPY : TRA_AXIS_PART, .sites = g};
            if (d >= 0) {
                q.axis[q.naxes].n = 1;
                q.axis[q.naxes].dim[0] = (int8_t)d;
                q.axis[q.naxes].ext[0] = c->frontier.v[d];
            }
            q.naxes++;
            all_places(c, left / g, q, used | 1u << (d + 1), out);
        }
    }
}

/* ---- a program with its places so far --------------------------------------------------------------------------- */

typedef struct state {
    tra_placement made[MAXNODES]; /* sites 0: an input that is anywhere */
    int nwants[MAXNODES];
    tra_placement want[MAXNODES][MAXWANTS];
} state;

typedef struct exhaustive {
    const tra_graph *g;
    int sites;
    bool inner[MAXNODES]; /* joins that are one operator with their aggregation */
    places all[MAXNODES];
    double best;
    int64_t states;
} exhaustive;

static double floats(const tra_node *n, const tra_placement *from, const tra_placement *to) {
    return tra_traffic_exchange(from, to, n->type.cat).floats;
}

/* Least floats that bring the relation, which is at the first of `at`, to the wants that are not done, in any order,
 * from anywhere. */
static double serve_from(const tra_node *n, tra_placement *at, int nat, const tra_placement *want, int nwants,
                         uint32_t done) {
    double best = INFINITY;
    bool all = true;
    for (int i = 0; i < nwants; i++) {
        if (done >> i & 1) continue;
        all = false;
        double least = INFINITY;
        for (int j = 0; j < nat; j++)
            least = fmin(least, tra_place_eq(&at[j], &want[i]) ? 0 : floats(n, &at[j], &want[i]));
        at[nat] = want[i];
        best = fmin(best, least + serve_from(n, at, nat + 1, want, nwants, done | 1u << i));
    }
    return all ? 0 : best;
}

static double serve(const exhaustive *x, const state *s, int i) {
    const tra_node *n = x->g->v[i];
    tra_placement at[MAXWANTS + 2];
    double best = INFINITY;
    if (s->made[i].sites) return at[0] = s->made[i], serve_from(n, at, 1, s->want[i], s->nwants[i], 0);
    for (int j = 0; j < x->all[i].n && s->nwants[i]; j++) {
        at[0] = x->all[i].v[j];
        if (tra_place_copies(&at[0]) == 1) best = fmin(best, serve_from(n, at, 1, s->want[i], s->nwants[i], 0));
    }
    return s->nwants[i] ? best : 0;
}

static void want(state *s, int i, const tra_placement *p) {
    for (int j = 0; j < s->nwants[i]; j++) {
        if (tra_place_eq(&s->want[i][j], p)) return;
    }
    s->want[i][s->nwants[i]++] = *p;
}

static void place_node(exhaustive *x, int i, const state *s, double spent);

/* Node i is made there; on to the next if that can still be the best. */
static void made_at(exhaustive *x, int i, const state *s, const tra_placement *p, double spent) {
    state t = *s;
    double total = spent;
    t.made[i] = *p;
    for (int j = 0; j <= i; j++) total += serve(x, &t, j);
    if (total < x->best) place_node(x, i + 1, &t, spent);
}

static void place_join(exhaustive *x, int i, const tra_node *join, const state *s, double spent) {
    const tra_node *n = x->g->v[i], *l = join->in[0], *r = join->in[1];
    bool contraction = (tra_kernel_props(join->kernel) & TRA_P_CONTRACTION) != 0;
    bool both = s->made[l->id].sites && s->made[r->id].sites && tra_place_is_all(&s->made[l->id]) &&
                tra_place_is_all(&s->made[r->id]);
    tra_labels labels;
    tra_ways ways = {0};
    tra_join_labels(l->type.cat, r->type.cat, &join->join.l, &join->join.r, &labels);
    tra_join_ways(&labels, l->type.cat, r->type.cat, x->sites, &ways);
    if (s->made[l->id].sites) tra_join_way_from(&labels, &s->made[l->id], 0, &ways);
    if (s->made[r->id].sites) tra_join_way_from(&labels, &s->made[r->id], 1, &ways);
    for (int w = 0; w < ways.n; w++) {
        const tra_way *v = &ways.v[w];
        state t = *s;
        tra_placement q;
        if (tra_place_is_all(&v->out) && (contraction || !both)) continue;
        want(&t, l->id, &v->l);
        want(&t, r->id, &v->r);
        if (n == join) {
            made_at(x, i, &t, &v->out, spent);
            continue;
        }
        CHECK(tra_place_agg(&v->out, &n->group, &q));
        if (!tra_place_is_partial(&q)) {
            made_at(x, i, &t, &q, spent);
            continue;
        }
        for (int j = 0; j < x->all[i].n; j++) {
            const tra_placement *to = &x->all[i].v[j];
            made_at(x, i, &t, to, spent + tra_traffic_exchange(&q, to, n->type.cat).floats);
        }
        tra_placement whole = tra_place_within(join->type.cat, x->sites, &n->group);
        CHECK(tra_place_agg(&whole, &n->group, &q));
        made_at(x, i, &t, &q, spent + floats(join, &v->out, &whole));
    }
    free(ways.v);
}

static void place_node(exhaustive *x, int i, const state *s, double spent) {
    x->states++;
    if (i == x->g->n) {
        double total = spent;
        for (int j = 0; j < i; j++) total += serve(x, s, j);
        x->best = fmin(x->best, total);
        return;
    }
    const tra_node *n = x->g->v[i];
    if (x->inner[i]) {
        place_node(x, i + 1, s, spent);
    } else if (n->op == TRA_OP_INPUT) {
        int8_t dim = n->input.at == TRA_AT_PART ? (int8_t)n->input.at_dims.v[0] : 0;
        tra_placement p = n->input.at == TRA_AT_ANY   ? (tra_placement){.sites = 0}
                          : n->input.at == TRA_AT_ALL ? tra_place_all(x->sites)
                                                      : tra_place_part(x->sites, n->type.cat, 1, &dim);
        made_at(x, i, s, &p, spent);
    } else if (n->op == TRA_OP_JOIN) {
        place_join(x, i, n, s, spent);
    } else if (n->op == TRA_OP_AGG && x->inner[n->in[0]->id]) {
        place_join(x, i, n->in[0], s, spent);
    } else { /* a map or an aggregation: wherever its input may be */
        for (int j = 0; j < x->all[n->in[0]->id].n; j++) {
            const tra_placement *p = &x->all[n->in[0]->id].v[j];
            tra_placement q = *p;
            state t = *s;
            want(&t, n->in[0]->id, p);
            if (n->op == TRA_OP_AGG) CHECK(tra_place_agg(p, &n->group, &q));
            if (!tra_place_is_partial(&q)) {
                made_at(x, i, &t, &q, spent);
                continue;
            }
            for (int k = 0; k < x->all[i].n; k++) {
                const tra_placement *to = &x->all[i].v[k];
                made_at(x, i, &t, to, spent + tra_traffic_exchange(&q, to, n->type.cat).floats);
            }
        }
    }
}

static double least_floats(const tra_graph *g, int sites, double bound) {
    exhaustive *x = tra_calloc(1, sizeof *x);
    state *s = tra_calloc(1, sizeof *s);
    *x = (exhaustive){.g = g, .sites = sites, .best = bound};
    CHECK(g->n <= MAXNODES);
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        all_places(n->type.cat, sites, (tra_placement){.sites = sites}, 0, &x->all[i]);
        if (n->op == TRA_OP_AGG && n->in[0]->op == TRA_OP_JOIN && n->in[0]->uses == 1) x->inner[n->in[0]->id] = true;
    }
    place_node(x, 0, s, 0);
    double best = x->best;
    free(s);
    free(x);
    return best;
}

/* ---- random programs -------------------------------------------------------------------------------------------- */

static uint64_t seed;
static int draw(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

enum { EXTENTS = 3, BLOCKS = 8 };

/* Matrices over three kinds of dimensions, all cut in as many blocks but of different sizes; so that any placement of
 * one dimension keeps all sites busy. */
typedef struct matrices {
    int n;
    int row[16], column[16];
    bool used[16];
} matrices;

static void add_matrix(matrices *m, int row, int column) {
    m->row[m->n] = row;
    m->column[m->n] = column;
    m->used[m->n++] = false;
}

static char *random_program(int joins) {
    static const int64_t extent[EXTENTS] = {8, 24, 72};
    tra_str out = {0};
    matrices m = {0};
    int inputs = 2 + draw(2);
    for (int i = 0; i < inputs; i++) {
        int r = draw(EXTENTS), c = draw(EXTENTS);
        static const char *const at[] = {"", "", "", "", " at all", " at part(0)", " at part(1)"};
        tra_str_printf(&out, "input M%d : f64 [%d,%d] by [%d,%d]%s\n", m.n, (int)extent[r], (int)extent[c],
                       (int)extent[r] / BLOCKS, (int)extent[c] / BLOCKS, at[draw(7)]);
        add_matrix(&m, r, c);
    }
    for (int made = 0, tries = 0; made < joins && tries < 200; tries++) {
        int l = draw(m.n), r = draw(m.n), kind = draw(8);
        if (kind == 0 && m.n < inputs + 6) { /* a map */
            tra_str_printf(&out, "M%d = transform(M%d, relu)\n", m.n, l);
            add_matrix(&m, m.row[l], m.column[l]);
            m.used[l] = true;
            continue;
        }
        if (kind <= 2 && m.row[l] == m.row[r] && m.column[l] == m.column[r]) {
            tra_str_printf(&out, "M%d = join(M%d, M%d, [0,1], [0,1], elemmul)\n", m.n, l, r);
            add_matrix(&m, m.row[l], m.column[l]);
        } else if (kind <= 4 && m.column[l] == m.row[r]) {
            tra_str_printf(&out, "M%d = agg(join(M%d, M%d, [1], [0], matmul), [0,2], matadd)\n", m.n, l, r);
            add_matrix(&m, m.row[l], m.column[r]);
        } else if (kind == 5 && m.row[l] == m.row[r]) {
            tra_str_printf(&out, "M%d = agg(join(M%d, M%d, [0], [0], \"ki,kj->ij\"), [1,2], matadd)\n", m.n, l, r);
            add_matrix(&m, m.column[l], m.column[r]);
        } else if (kind >= 6 && m.column[l] == m.column[r]) {
            tra_str_printf(&out, "M%d = agg(join(M%d, M%d, [1], [1], \"ik,jk->ij\"), [0,2], matadd)\n", m.n, l, r);
            add_matrix(&m, m.row[l], m.row[r]);
        } else {
            continue;
        }
        m.used[l] = m.used[r] = true;
        made++;
    }
    for (int i = inputs; i < m.n; i++) {
        if (!m.used[i] || draw(4) == 0) tra_str_printf(&out, "output M%d\n", i);
    }
    return out.s;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static bool all_day(void) { return getenv("TRA_TEST_LONG") != NULL; }

static void check_program(const char *text, int sites) {
    static const tra_fixed as_written;
    tra_program program;
    tra_err e = {0};
    tra_plan_options o = {.sites = sites, .cost = TRA_COST_TRA, .threads = 1, .rates = tra_rates_builtin()};
    tra_plans plans = {0}, free_plans = {0};
    tra_plan *direct = NULL;
    if (tra_program_from_text("test", tra_strdup(text), strlen(text), &(tra_building){.dir = "."}, false, &program,
                              &e) != TRA_OK) {
        check_report("%s: %s", text, e.msg);
        return;
    }
    CHECK_OK(tra_search(program.graph, &o, program.arena, &free_plans, &e), e);
    CHECK_OK(tra_plan_of(free_plans.memo, &o, 0, NULL, NULL, program.arena, &direct, NULL, &e), e);
    o.fixed = &as_written;
    CHECK_OK(tra_search(program.graph, &o, program.arena, &plans, &e), e);
    double got = plans.v[0]->cost.network_floats, rewritten = free_plans.v[0]->cost.network_floats;
    double least = least_floats(program.graph, sites, INFINITY);
    if (got != least || rewritten > least || (direct && direct->cost.network_floats < got))
        check_report("%d sites: %g floats (%g with rules, %g as translated), not %g:\n%s# chosen: %s", sites, got,
                     rewritten, direct ? direct->cost.network_floats : -1.0, least, text, plans.v[0]->strategy);
    tra_program_free(&program);
}

TEST(the_choice_is_that_of_exhaustive_search) {
    static const int sites[] = {2, 3, 4, 5, 8};
    int count = all_day() ? 400 : 40;
    tra_log_level = -1; /* inputs that nothing reads are warned of */
    for (int n = 0; n < count; n++) {
        seed = (uint64_t)n * 77 + 1;
        for (int i = 0; i < 7; i++) draw(2);
        char *text = random_program(2 + n % 3);
        if (strstr(text, "output")) check_program(text, sites[n % (n % 3 == 2 ? 2 : 5)]);
        free(text);
    }
}
