/* order.c - order of contraction: dynamic programming over sets of factors, or the cheapest pair first. */
#include "order.h"
#include "cardinality.h"

#include <math.h>
#include <stdlib.h>

typedef struct problem { /* the arguments of tra_order */
    int n;
    const uint64_t *labels;
    uint64_t out;
    const int64_t *extent;
    const double *density;
} problem;

/* How many elements an array with that set of labels has. */
static double elements(const problem *p, uint64_t set) {
    double n = 1;
    for (; set; set &= set - 1) n *= (double)p->extent[__builtin_ctzll(set)];
    return n;
}

static double density_of(const problem *p, int factor) { return p->density ? p->density[factor] : 1; }

/* A product of two operands, summed over the labels that nobody needs any more: its operations, and its density. */
typedef struct product {
    double flops, density;
} product;

/* The product of operands with the label sets a and b and these densities, of which the labels in `need` are kept. */
static product multiply(const problem *p, uint64_t a, uint64_t b, double density_a, double density_b, uint64_t need) {
    double both = density_a * density_b;
    product r = {2 * elements(p, a | b) * both, both};
    double terms = elements(p, (a | b) & ~need);
    if (both < 1) r.density = tra_any_of(both, terms);
    return r;
}

/* ---- exact -------------------------------------------------------------------------------------------------- */

/* The best way to contract a set of factors to one. */
typedef struct best {
    double flops;
    double size;    /* entries of all intermediate results */
    double density; /* of the result */
    int split;      /* one of the two sets that are merged last; the other is the rest */
} best;

/* The labels that the product of a set of factors keeps: those that the result or another factor has. */
static uint64_t kept_labels(const problem *p, int set) {
    uint64_t own = 0, need = p->out;
    for (int i = 0; i < p->n; i++) *(set >> i & 1 ? &own : &need) |= p->labels[i];
    return own & need;
}

/* Writes the steps of the best way to contract a set, the first one first. Returns the number of its result. */
static int unfold(const best *b, int n, int set, tra_merge *v, int *steps) {
    if ((set & (set - 1)) == 0) return __builtin_ctz((unsigned)set);
    int x = unfold(b, n, b[set].split, v, steps), y = unfold(b, n, set ^ b[set].split, v, steps);
    v[*steps] = (tra_merge){x, y};
    return n + (*steps)++;
}

/* The best order of all, by dynamic programming over sets of factors. */
static double exact(const problem *p, tra_merge *v) {
    int all = (1 << p->n) - 1, steps = 0;
    best *b = tra_calloc((size_t)all + 1, sizeof *b);
    uint64_t *has = tra_calloc((size_t)all + 1, sizeof *has);
    for (int set = 1; set <= all; set++) {
        has[set] = kept_labels(p, set);
        if ((set & (set - 1)) == 0) {
            b[set].density = density_of(p, __builtin_ctz((unsigned)set));
            continue;
        }
        int first = set & -set; /* is always in the first part, so that each split is seen once */
        for (int part = (set - 1) & set; part; part = (part - 1) & set) {
            int rest = set ^ part;
            if (!(part & first)) continue;
            product r = multiply(p, has[part], has[rest], b[part].density, b[rest].density, has[set]);
            double flops = b[part].flops + b[rest].flops + r.flops;
            double size = b[part].size + b[rest].size;
            bool less = flops < b[set].flops || (flops == b[set].flops && size < b[set].size);
            if (!b[set].split || less) b[set] = (best){flops, size, r.density, part};
        }
        b[set].size += elements(p, has[set]) * b[set].density;
    }
    unfold(b, p->n, all, v, &steps);
    double flops = b[all].flops;
    free(b);
    free(has);
    return flops;
}

/* ---- greedy ------------------------------------------------------------------------------------------------- */

/* Only pairs among so many first operands are compared, so that a thousand factors take no time. */
enum { WINDOW = 64 };

/* The labels that at least two and at least three of the sets have. */
static void shared(int n, const uint64_t *set, uint64_t *two, uint64_t *three) {
    uint64_t one = 0;
    *two = *three = 0;
    for (int i = 0; i < n; i++) {
        *three |= *two & set[i];
        *two |= one & set[i];
        one |= set[i];
    }
}

/* Merges the pair with the fewest operations again and again; among equal ones that which saves most elements. */
static double greedy(const problem *p, tra_merge *v) {
    int m = p->n, *id = tra_calloc((size_t)m, sizeof *id);
    uint64_t *has = tra_calloc((size_t)m, sizeof *has), two, three;
    double total = 0, *density = tra_calloc((size_t)m, sizeof *density);
    shared(m, p->labels, &two, &three);
    for (int i = 0; i < m; i++) id[i] = i, has[i] = p->labels[i] & (p->out | two), density[i] = density_of(p, i);
    for (int step = 0; m > 1; step++) {
        int bi = -1, bj = -1;
        uint64_t kept = 0;
        double flops = 0, size = 0, left = 1;
        shared(m, has, &two, &three);
        for (int i = 0; i < m && i < WINDOW; i++)
            for (int j = i + 1; j < m && j < WINDOW; j++) {
                uint64_t both = has[i] | has[j], need = p->out | three | (two & ~(has[i] & has[j]));
                product r = multiply(p, has[i], has[j], density[i], density[j], need);
                double s = elements(p, both & need) * r.density;
                s -= elements(p, has[i]) * density[i] + elements(p, has[j]) * density[j];
                if (bi >= 0 && (r.flops > flops || (r.flops == flops && s >= size))) continue;
                bi = i, bj = j, flops = r.flops, size = s, left = r.density, kept = both & need;
            }
        v[step] = (tra_merge){id[bi], id[bj]};
        total += flops;
        has[bi] = kept;
        density[bi] = left;
        id[bi] = p->n + step;
        m--;
        for (int l = bj; l < m; l++) has[l] = has[l + 1], id[l] = id[l + 1], density[l] = density[l + 1];
    }
    free(id);
    free(has);
    free(density);
    return total;
}

double tra_order(int n, const uint64_t *labels, uint64_t out, const int64_t *extent, const double *density,
                 tra_merge *v) {
    problem p = {n, labels, out, extent, density};
    return n <= TRA_ORDER_EXACT ? exact(&p, v) : greedy(&p, v);
}
