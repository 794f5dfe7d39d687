/* passes.c - how placements pass through operators of one input. */
#include "ia.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- placements to begin with ------------------------------------------------------------------------------- */

bool tra_place_keeps_busy(const tra_placement *p, const tra_catalog *c) {
    int64_t busy = 1, sites = 1;
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *x = &p->axis[i];
        int64_t values = 1;
        if (x->kind != TRA_AXIS_PART) continue;
        for (int j = 0; j < x->n && values < x->sites; j++) values *= tra_max64(1, c->frontier.v[(int)x->dim[j]]);
        sites *= x->sites;
        busy *= tra_min64(x->sites, values);
    }
    return busy >= tra_min64(sites, c->n);
}

tra_placement tra_place_within(const tra_catalog *c, int sites, const tra_dims *d) {
    int8_t dims[TRA_MAXAXISDIMS];
    int n = 0;
    int64_t values = 1, enough = tra_min64(sites, c->n);
    if (sites == 1) return tra_place_all(1);
    for (int i = 0; i < d->n; i++) { /* one dimension with enough values */
        if (c->frontier.v[d->v[i]] < enough) continue;
        dims[0] = (int8_t)d->v[i];
        return tra_place_part(sites, c, 1, dims);
    }
    for (int i = 0; i < d->n && n < TRA_MAXAXISDIMS && values < enough; i++) {
        if (c->frontier.v[d->v[i]] <= 1) continue;
        dims[n++] = (int8_t)d->v[i];
        values *= c->frontier.v[d->v[i]];
    }
    return tra_place_part(sites, c, n, dims);
}

int tra_place_choices(const tra_catalog *c, int sites, tra_placement *out) {
    int n = 0;
    tra_dims all = {.n = c->frontier.n};
    if (sites == 1) return out[0] = tra_place_all(1), 1;
    for (int d = 0; d < c->frontier.n; d++) {
        int8_t dim = (int8_t)d;
        all.v[d] = d;
        if (c->frontier.v[d] > 1 && c->frontier.v[d] >= tra_min64(sites, c->n))
            out[n++] = tra_place_part(sites, c, 1, &dim);
    }
    if (n == 0) out[n++] = tra_place_within(c, sites, &all);
    return n;
}

/* ---- forward ------------------------------------------------------------------------------------------------ */

/* The first site that has the tuple. sites: room for p->sites. */
static int32_t first_holder(const tra_placement *p, const tra_catalog *c, int64_t t, const tra_dims *key, int *sites) {
    tra_place_holders(p, c, t, key, sites);
    return (int32_t)sites[0];
}

/* Gives q an owner array, which the caller fills tuple by tuple. False if a tuple is on several sites in p. */
static bool add_owners(tra_arena *a, const tra_placement *p, const tra_catalog *out, int32_t **owner,
                       tra_placement *q) {
    if (tra_place_copies(p) > 1 || tra_place_is_partial(p)) return false;
    *owner = tra_news(a, int32_t, out->n);
    *q = (tra_placement){.sites = p->sites, .owner = *owner};
    return true;
}

bool tra_place_inherited(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                         tra_placement *q) {
    int32_t *owner;
    if (!p->owner) return *q = *p, true;
    if (!add_owners(a, p, out, &owner, q)) return false;
    for (int64_t t = 0; t < out->n; t++) {
        tra_dims key;
        tra_catalog_key(out, t, &key);
        key.n = in->frontier.n;
        owner[t] = p->owner[tra_catalog_find(in, &key)];
    }
    return true;
}

/* Renumbers the dimensions of PART axes: key dimension d becomes to[d]; -1: the result does not have it. False if an
 * axis partitions by a dimension of more than one value that the result does not have. */
static bool renumber(const tra_placement *p, const int *to, tra_placement *q) {
    *q = *p;
    for (int i = 0; i < p->naxes; i++) {
        tra_axis *x = &q->axis[i];
        int n = 0;
        if (x->kind != TRA_AXIS_PART || x->sites == 1) continue;
        for (int j = 0; j < x->n; j++) {
            int d = to[(int)x->dim[j]];
            if (d < 0 && x->ext[j] > 1) return false;
            if (d < 0) continue;
            x->ext[n] = x->ext[j];
            x->dim[n++] = (int8_t)d;
        }
        x->n = n;
    }
    return true;
}

bool tra_place_rekey(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                     const tra_keyfn *f, tra_placement *q) {
    int to[TRA_MAXDIM], var;
    for (int d = 0; d < TRA_MAXDIM; d++) to[d] = -1;
    for (int j = f->n - 1; j >= 0; j--) {
        if (tra_keyexpr_is_var(f->expr[j], &var)) to[var] = j;
    }
    if (!p->owner && renumber(p, to, q)) return true;
    int32_t *owner;
    if (!add_owners(a, p, out, &owner, q)) return false;
    int *sites = tra_malloc((size_t)p->sites * sizeof *sites);
    for (int64_t t = 0; t < in->n; t++) {
        tra_dims key, new;
        tra_catalog_key(in, t, &key);
        tra_status s = tra_keyfn_eval(f, &key, &new, NULL);
        assert(s == TRA_OK); /* typing has evaluated it before */
        (void)s;
        owner[tra_catalog_find(out, &new)] = first_holder(p, in, t, &key, sites);
    }
    free(sites);
    return true;
}

bool tra_place_concat(const tra_placement *p, int keydim, tra_placement *q) {
    int to[TRA_MAXDIM];
    if (p->owner || tra_place_is_partial(p)) return false;
    for (int d = 0; d < TRA_MAXDIM; d++) to[d] = d < keydim ? d : d == keydim ? -1 : d - 1;
    return renumber(p, to, q);
}

bool tra_place_agg(const tra_placement *p, const tra_dims *group, tra_placement *q) {
    int to[TRA_MAXDIM];
    if (p->owner || tra_place_is_partial(p)) return false;
    for (int d = 0; d < TRA_MAXDIM; d++) to[d] = -1;
    for (int i = group->n - 1; i >= 0; i--) to[group->v[i]] = i;
    *q = *p;
    for (int i = 0; i < p->naxes; i++) { /* each axis by itself */
        tra_placement one = {.sites = p->axis[i].sites, .naxes = 1, .axis = {p->axis[i]}}, to_one;
        q->axis[i] = renumber(&one, to, &to_one) ? to_one.axis[0]
                                                 : (tra_axis){.kind = TRA_AXIS_PARTIAL, .sites = p->axis[i].sites};
    }
    return true;
}

/* ---- back --------------------------------------------------------------------------------------------------- */

bool tra_place_back(const tra_placement *q, int n, const int *dim, tra_placement *p) {
    if (q->owner || tra_place_is_partial(q)) return false;
    *p = *q;
    for (int i = 0; i < q->naxes; i++) {
        tra_axis *x = &p->axis[i];
        for (int j = 0; x->kind == TRA_AXIS_PART && j < x->n; j++) {
            int d = x->dim[j];
            assert(d < n);
            (void)n;
            if (dim[d] < 0) return false;
            x->dim[j] = (int8_t)dim[d];
        }
    }
    return true;
}

bool tra_place_reduced(const tra_placement *p, tra_placement *q) {
    int summands = 1; /* sites of PARTIAL axes that have not been added to a PART axis yet */
    *q = (tra_placement){.sites = p->sites};
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *x = &p->axis[i];
        if (x->sites == 1) continue;
        if (x->kind == TRA_AXIS_PARTIAL) {
            summands *= x->sites;
            continue;
        }
        if (q->naxes && summands > 1 && q->axis[q->naxes - 1].kind == TRA_AXIS_PART) {
            q->axis[q->naxes - 1].sites *= summands;
            summands = 1;
        }
        if (summands > 1 && x->kind != TRA_AXIS_PART) return false;
        q->axis[q->naxes] = *x;
        q->axis[q->naxes++].sites *= summands;
        summands = 1;
    }
    if (summands == 1) return q->naxes > 0;
    if (q->naxes == 0 || q->axis[q->naxes - 1].kind != TRA_AXIS_PART) return false;
    q->axis[q->naxes - 1].sites *= summands;
    return true;
}
