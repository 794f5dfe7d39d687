/* test_eindecomp_costs.c - EinDecomp: costs against sums over kernel calls, labellings of random programs against all
 * labellings. */
#include "eindecomp_util.h"

/* ---- costs from their definitions --------------------------------------------------------------------------- */

static double part_size(const tra_ein_rel *r, const int *parts) {
    double n = r->weight;
    for (int i = 0; i < r->n; i++) {
        int64_t part = 0;
        while (part * parts[i] < r->ext[i]) part++;
        n *= (double)part;
    }
    return n;
}

static void parts_of(const tra_eingraph *g, const tra_ein_ref *r, const int *d, int *parts) {
    for (int i = 0; i < g->rel[r->rel].n; i++) parts[i] = r->label[i] < 0 ? 1 : d[r->label[i]];
}

/* Each kernel call fetches a part of each reference; of the calls that differ in summed labels alone, all but one
 * send their part of the result. */
static double by_calls(const tra_eingraph *g, int **d, int v) {
    const tra_vertex *x = &g->v[v];
    int at[TRA_MAXLABELS] = {0}, parts[TRA_MAXDIM];
    double cost = 0;
    for (bool more = true; more;) {
        bool first = true;
        for (int i = 0; i < x->nrefs; i++) {
            parts_of(g, &x->ref[i], d[v], parts);
            cost += part_size(&g->rel[x->ref[i].rel], parts);
        }
        for (int l = 0; l < x->nlabels; l++) first &= !x->summed[l] || at[l] == 0;
        parts_of(g, &x->out, d[v], parts);
        if (!first) cost += part_size(&g->rel[x->out.rel], parts);
        more = false;
        for (int l = x->nlabels - 1; l >= 0 && !more; l--) {
            more = ++at[l] < d[v][l];
            if (!more) at[l] = 0;
        }
    }
    for (int i = 0; i < x->nrefs; i++) {
        const tra_ein_rel *r = &g->rel[x->ref[i].rel];
        int from[TRA_MAXDIM], to[TRA_MAXDIM];
        if (r->vertex < 0) continue;
        parts_of(g, &g->v[r->vertex].out, d[r->vertex], from);
        parts_of(g, &x->ref[i], d[v], to);
        double n = r->weight, np = part_size(r, from), nc = part_size(r, to), common = r->weight;
        for (int k = 0; k < r->n; k++) {
            int64_t p = (r->ext[k] + from[k] - 1) / from[k], c = (r->ext[k] + to[k] - 1) / to[k];
            n *= (double)r->ext[k];
            common *= (double)(p < c ? p : c);
        }
        if (n == 0) continue;
        cost += (nc / common - 1) * (n / nc) * (nc + np);
        if (np != common) cost += np * n / nc;
    }
    return cost;
}

static double whole(const tra_eingraph *g, int **d) {
    double cost = 0;
    for (int v = 0; v < g->nvertices; v++) cost += by_calls(g, d, v);
    return cost;
}

/* Floats that move: what a call reads and has not; and summands. Inputs lie where they are used, sums are spread. */
static double moved(const tra_eingraph *g, int **d) {
    double cost = 0;
    for (int v = 0; v < g->nvertices; v++) {
        const tra_vertex *x = &g->v[v];
        double calls = (double)tra_ein_kernel_calls(x, d[v]);
        int to[TRA_MAXDIM], from[TRA_MAXDIM], whole_[TRA_MAXDIM];
        for (int i = 0; i < TRA_MAXDIM; i++) whole_[i] = 1;
        cost += tra_ein_agg_cost(g, x, d[v]) * (1 + TRA_EIN_ADDITION);
        for (int i = 0; i < x->nrefs; i++) {
            const tra_ein_rel *r = &g->rel[x->ref[i].rel];
            parts_of(g, &x->ref[i], d[v], to);
            double reads = calls * part_size(r, to), has = part_size(r, whole_);
            if (r->vertex >= 0) {
                bool spread = false;
                for (int l = 0; l < g->v[r->vertex].nlabels; l++)
                    spread |= g->v[r->vertex].summed[l] && d[r->vertex][l] > 1;
                parts_of(g, &g->v[r->vertex].out, d[r->vertex], from);
                if (!spread) has = calls * r->weight;
                for (int k = 0; k < r->n && !spread; k++) {
                    int64_t p = (r->ext[k] + from[k] - 1) / from[k], c = (r->ext[k] + to[k] - 1) / to[k];
                    has *= (double)(p < c ? p : c);
                }
            }
            cost += reads > has ? reads - has : 0;
        }
    }
    return cost;
}

/* ---- random programs ---------------------------------------------------------------------------------------- */

static uint32_t seed = 1;
static int draw(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

/* Statements over matrices of side n0..n2; shared: results may be read more than once. */
static char *random_program(int statements, int scale, bool shared) {
    tra_str s = {0};
    int n[3], rows[64], cols[64], used[64] = {0}, count = 0, side = 0;
    for (int i = 0; i < 3; i++) n[i] = scale * (1 + draw(9));
    for (int v = 0; v < statements; v++) {
        int x = -1;
        for (int i = 0; i < count; i++)
            if ((shared || !used[i]) && draw(2)) x = i;
        if (x < 0) { /* a new input */
            rows[count] = n[draw(3)], cols[count] = n[side = draw(3)];
            tra_str_printf(&s, "input R%d : f64 [%d,%d] by [%d,%d]\n", count, rows[count], cols[count], 1 + draw(4),
                           1 + draw(4));
            x = count++;
        }
        used[x] = 1;
        int kind = draw(4), r = rows[x], c = cols[x];
        if (kind == 0) { /* product with an input or with a result that fits */
            int y = -1;
            for (int i = 0; i < count; i++)
                if (rows[i] == c && (shared || !used[i]) && i != x) y = i;
            if (y < 0) {
                rows[count] = c, cols[count] = n[draw(3)];
                tra_str_printf(&s, "input R%d : f64 [%d,%d] by [2,2]\n", count, rows[count], cols[count]);
                y = count++;
            }
            used[y] = 1;
            tra_str_printf(&s, "R%d[i,k] = sum R%d[i,j] * R%d[j,k]\n", count, x, y);
            rows[count] = r, cols[count] = cols[y];
        } else if (kind == 1) {
            tra_str_printf(&s, "R%d[j,i] = exp(R%d[i,j])\n", count, x);
            rows[count] = c, cols[count] = r;
        } else if (kind == 2 && r == c) {
            tra_str_printf(&s, "R%d[i,j] = R%d[i,j] + R%d[j,i]\n", count, x, x);
            rows[count] = r, cols[count] = c;
        } else {
            tra_str_printf(&s, "R%d[i,j] = sum (R%d[i,j] - R%d[i,l])\n", count, x, x);
            rows[count] = r, cols[count] = c;
        }
        used[count] = 0;
        count++;
    }
    for (int i = 0; i < count; i++)
        if (!used[i]) tra_str_printf(&s, "output R%d\n", i);
    return s.s;
}

/* The least cost of all labellings. */
static double least(const made *m, double (*costs)(const tra_eingraph *, int **), int p, bool any) {
    const tra_eingraph *g = m->g;
    tra_vectors *all = tra_news(m->a, tra_vectors, g->nvertices);
    int *at = tra_news(m->a, int, g->nvertices), **d = tra_news(m->a, int *, g->nvertices);
    double best = INFINITY;
    for (int v = 0; v < g->nvertices; v++) {
        all[v] = tra_ein_vectors(&g->v[v], p, any, m->a);
        if (costs == moved && all[v].naligned) all[v].n = all[v].naligned;
    }
    for (bool more = true; more;) {
        for (int v = 0; v < g->nvertices; v++) d[v] = all[v].v + at[v] * all[v].nlabels;
        best = fmin(best, costs(g, d));
        more = false;
        for (int v = 0; v < g->nvertices && !more; v++) {
            more = ++at[v] < all[v].n;
            if (!more) at[v] = 0;
        }
    }
    return best;
}

TEST(random_trees_and_graphs) {
    int trees = 0, gaps = 0, better = 0;
    for (int i = 0; i < 200; i++) {
        bool shared = i % 2, any = i % 3 == 0;
        int p = any ? 1 + draw(6) : 1 << draw(3);
        char *text = random_program(1 + draw(5), 1, shared);
        made m = make(text);
        tra_labelling *refined, *l = tra_ein_label(m.g, TRA_EIN_PAPER, p, any, m.a, &refined),
                                *x = tra_ein_exact(m.g, TRA_EIN_PAPER, p, any, m.a);
        double best = least(&m, whole, p, any), tolerance = 1e-9 * (1 + best);
        bool tree = strcmp(l->how, "tree") == 0;
        if (fabs(l->cost - whole(m.g, l->d)) > tolerance || fabs(x->cost - whole(m.g, x->d)) > tolerance)
            check_report("p %d: cost %g by calls %g\n%s", p, l->cost, whole(m.g, l->d), text);
        if (fabs(x->cost - best) > tolerance || (tree && fabs(l->cost - best) > tolerance) ||
            l->cost < best - tolerance)
            check_report("p %d any %d: %s %g, exact %g, of all the least %g\n%s", p, any, l->how, l->cost, x->cost,
                         best, text);
        if (refined && (fabs(refined->cost - whole(m.g, refined->d)) > tolerance || refined->cost >= l->cost ||
                        refined->cost < best - tolerance))
            check_report("p %d: refined %g, by calls %g, linearised %g, best %g\n%s", p, refined->cost,
                         whole(m.g, refined->d), l->cost, best, text);
        tra_labelling *y = tra_ein_exact(m.g, TRA_EIN_MOVED, p, any, m.a);
        if (fabs(moved(m.g, y->d) - least(&m, moved, p, any)) > tolerance)
            check_report("p %d any %d: moved %g, least %g\n%s", p, any, moved(m.g, y->d), least(&m, moved, p, any),
                         text);
        trees += tree;
        better += refined != NULL;
        gaps += l->cost > best + tolerance;
        done(&m);
        free(text);
    }
    CHECK(trees > 100 && trees < 180);
    CHECK(better > 0 && better <= gaps);
    CHECK(gaps > 0); /* linearisation is not optimal, and the exact search knows */
}

TEST(of_equal_vectors_the_first_is_taken) { /* summing over j costs what summing over k does */
    made m = make("input X : f64 [1,8,8] by [1,2,2]\nZ[i] = sum X[i,j,k]\nW[i] = exp(Z[i])\noutput W\n");
    tra_labelling *l = tra_ein_label(m.g, TRA_EIN_PAPER, 4, false, m.a, NULL);
    CHECK_STR(cut_text(&m, l, 0), "j4");
    done(&m);
}

TEST(refined_labellings_lose_less) { /* on graphs too large to try all */
    int gaps = 0, better = 0, best = 0;
    for (int i = 0; i < 60; i++) {
        int p = i % 2 ? 4 : 64;
        char *text = random_program(12 + draw(8), p / 4, true);
        made m = make(text);
        tra_labelling *refined, *l = tra_ein_label(m.g, TRA_EIN_PAPER, p, false, m.a, &refined),
                                *x = tra_ein_exact(m.g, TRA_EIN_PAPER, p, false, m.a);
        double tolerance = 1e-9 * (1 + l->cost);
        if (x->cost > l->cost + tolerance || fabs(x->cost - whole(m.g, x->d)) > tolerance)
            check_report("exact %g, linearised %g\n%s", x->cost, l->cost, text);
        if (refined && (refined->cost >= l->cost || refined->cost < x->cost - tolerance ||
                        fabs(refined->cost - whole(m.g, refined->d)) > tolerance))
            check_report("refined %g, linearised %g, exact %g\n%s", refined->cost, l->cost, x->cost, text);
        gaps += l->cost > x->cost + tolerance;
        better += refined != NULL;
        best += refined && refined->cost <= x->cost + tolerance;
        done(&m);
        free(text);
    }
    CHECK(gaps > 40 && better == gaps && best > gaps * 9 / 10);
}
