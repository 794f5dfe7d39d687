/* cost.c - the costs of the paper: upper bounds, in floats, that know no placement. */
#include "eindecomp.h"

void tra_ein_parts(const tra_eingraph *g, const tra_ein_ref *r, const int *d, int *parts) {
    for (int i = 0; i < g->rel[r->rel].n; i++) parts[i] = r->label[i] < 0 ? 1 : d[r->label[i]];
}

int64_t tra_ein_calls(const tra_vertex *v, const int *d) {
    int64_t calls = 1;
    for (int l = 0; l < v->nlabels; l++) calls *= d[l];
    return calls;
}

/* Floats of the largest part. */
static double part_floats(const tra_eingraph *g, const tra_ein_ref *r, const int *d) {
    const tra_ein_rel *x = &g->rel[r->rel];
    double n = x->weight;
    for (int i = 0; i < x->n; i++) n *= (double)tra_ceil_div(x->ext[i], r->label[i] < 0 ? 1 : d[r->label[i]]);
    return n;
}

double tra_ein_join_cost(const tra_eingraph *g, const tra_vertex *v, const int *d) {
    double n = 0;
    for (int i = 0; i < v->nrefs; i++) n += part_floats(g, &v->ref[i], d);
    return (double)tra_ein_calls(v, d) * n;
}

double tra_ein_agg_cost(const tra_eingraph *g, const tra_vertex *v, const int *d) {
    double summed = 1;
    for (int l = 0; l < v->nlabels; l++)
        if (v->summed[l]) summed *= d[l];
    if (summed == 1) return 0;
    return (double)tra_ein_calls(v, d) / summed * (summed - 1) * part_floats(g, &v->out, d);
}

double tra_ein_repart_cost(const tra_ein_rel *r, const int *from, const int *to) {
    double n = r->weight, np = r->weight, nc = r->weight, common = r->weight;
    for (int i = 0; i < r->n; i++) {
        int64_t p = tra_ceil_div(r->ext[i], from[i]), c = tra_ceil_div(r->ext[i], to[i]);
        n *= (double)r->ext[i];
        np *= (double)p;
        nc *= (double)c;
        common *= (double)tra_min64(p, c);
    }
    if (n == 0) return 0;
    return (nc / common - 1) * (n / nc) * (nc + np) + (np != common ? np * n / nc : 0);
}
