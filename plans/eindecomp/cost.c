/* cost.c - the costs of the paper (eindecomp.h has the formulas): upper bounds in floats, whatever the placement. */
#include "eindecomp_int.h"

void tra_ein_parts(const tra_eingraph *g, const tra_ein_ref *r, const int *d, int *parts) {
    for (int i = 0; i < g->rel[r->rel].n; i++) parts[i] = r->label[i] < 0 ? 1 : d[r->label[i]];
}

int64_t tra_ein_kernel_calls(const tra_vertex *v, const int *d) {
    int64_t calls = 1;
    for (int l = 0; l < v->nlabels; l++) calls *= d[l];
    return calls;
}

double tra_ein_part_floats(const tra_ein_rel *r, const int *parts, const int *other) {
    double n = r->weight;
    for (int i = 0; i < r->n; i++) {
        int64_t part = tra_ceil_div(r->ext[i], parts ? parts[i] : 1);
        n *= (double)(other ? tra_min64(part, tra_ceil_div(r->ext[i], other[i])) : part);
    }
    return n;
}

static double ref_floats(const tra_eingraph *g, const tra_ein_ref *r, const int *d) {
    int parts[TRA_MAXDIM];
    tra_ein_parts(g, r, d, parts);
    return tra_ein_part_floats(&g->rel[r->rel], parts, NULL);
}

double tra_ein_join_cost(const tra_eingraph *g, const tra_vertex *v, const int *d) {
    double n = 0;
    for (int i = 0; i < v->nrefs; i++) n += ref_floats(g, &v->ref[i], d);
    return (double)tra_ein_kernel_calls(v, d) * n;
}

double tra_ein_agg_cost(const tra_eingraph *g, const tra_vertex *v, const int *d) {
    double summed = 1;
    for (int l = 0; l < v->nlabels; l++)
        if (v->summed[l]) summed *= d[l];
    if (summed == 1) return 0;
    return (double)tra_ein_kernel_calls(v, d) / summed * (summed - 1) * ref_floats(g, &v->out, d);
}

double tra_ein_repart_cost(const tra_ein_rel *r, const int *from, const int *to) {
    double all = tra_ein_part_floats(r, NULL, NULL), made = tra_ein_part_floats(r, from, NULL);
    double needed = tra_ein_part_floats(r, to, NULL), common = tra_ein_part_floats(r, from, to);
    if (all == 0) return 0;
    double gathered = (needed / common - 1) * (all / needed) * (needed + made);
    return gathered + (made != common ? made * all / needed : 0);
}
