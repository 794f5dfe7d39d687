/* type_cuts.c - cut sets: which key dimensions cut each array dimension of a result into blocks.
 *
 * The kernel says from which dimension of its operands each dimension of its result comes (tra_dimsrc), so that this
 * has the cut set of that one. Cut sets are this project's (man tra-lang.5).
 */
#include "type.h"

#include <string.h>

/* An input dimension other than `from` on which the extent of result dimension a depends too, or -1: the extent of a
 * diagonal is the lesser one of two. */
static int other_source(const tra_kernel *k, int rank, int a, int from) {
    tra_dims probe = {.n = rank}, all, ext;
    for (int i = 0; i < rank; i++) probe.v[i] = 3;
    if (tra_kernel_shape1(k, &probe, &all, NULL, NULL) != TRA_OK) return -1;
    for (int d = 0; d < rank; d++) {
        probe.v[d] = 2;
        bool fits = tra_kernel_shape1(k, &probe, &ext, NULL, NULL) == TRA_OK;
        if (d != from && fits && ext.v[a] != all.v[a]) return d;
        probe.v[d] = 3;
    }
    return -1;
}

/* Refuses a kernel that needs the last dimension whole in each array if a key with several values cuts it. */
static tra_status check_whole_last(const tra_kernel *k, const tra_dims *ext, const uint32_t *cut,
                                   const tra_dims *frontier, tra_err *e) {
    if (!tra_kernel_needs_whole_last(k) || ext->n == 0) return TRA_OK;
    for (uint32_t set = cut[ext->n - 1]; set; set &= set - 1) {
        int d = __builtin_ctz(set);
        if (frontier->v[d] <= 1) continue;
        tra_str name = {0};
        tra_kernel_print(k, &name);
        tra_status s = tra_fail(e, TRA_PROGRAM,
                                "%s needs the last array dimension whole in each array, but key dimension %d cuts it "
                                "in %" PRId64 " parts; use reblock or concat before",
                                tra_str_get(&name), d, frontier->v[d]);
        tra_str_free(&name);
        return s;
    }
    return TRA_OK;
}

tra_status tra_type_map_cuts(const tra_kernel *k, tra_dims *ext, uint32_t *cut, const tra_dims *frontier, tra_err *e) {
    for (; k; k = tra_kernel_rest(k)) {
        const tra_kernel *part = tra_kernel_first(k);
        tra_dims in = *ext;
        tra_dimsrc src;
        uint32_t old[TRA_MAXDIM];
        TRA_TRY(check_whole_last(part, ext, cut, frontier, e));
        TRA_TRY(tra_kernel_shape1(part, &in, ext, &src, e));
        memcpy(old, cut, sizeof old);
        for (int a = 0; a < ext->n; a++) {
            int from = src.from[a], other;
            cut[a] = from < 0 ? 0 : old[from];
            if (from >= 0 && !cut[a] && (other = other_source(part, in.n, a, from)) >= 0) cut[a] = old[other];
        }
    }
    return TRA_OK;
}

uint32_t tra_type_moved_cut(uint32_t cut, const int *place) {
    uint32_t out = 0;
    for (; cut; cut &= cut - 1) {
        int p = place[__builtin_ctz(cut)];
        if (p < 0) return 0;
        out |= 1u << p;
    }
    return out;
}

tra_status tra_type_join_cuts(tra_node *n, const tra_sample *sample, tra_err *e) {
    const tra_type *l = &n->in[0]->type, *r = &n->in[1]->type;
    const tra_kernel *first = tra_kernel_first(n->kernel);
    int place[TRA_MAXDIM];
    tra_dims ext;
    tra_dimsrc src;
    tra_type_join_places(n, place);
    TRA_TRY(tra_kernel_shape2(first, &sample->l, &sample->r, &l->cat->bound, &r->cat->bound, &ext, &src, e));
    for (int a = 0; a < ext.n; a++) {
        int from = src.from[a];
        n->type.cut[a] = from < 0 ? 0 : from < 32 ? l->cut[from] : tra_type_moved_cut(r->cut[from - 32], place);
    }
    return tra_type_map_cuts(tra_kernel_rest(n->kernel), &ext, n->type.cut, &n->type.cat->frontier, e);
}

tra_status tra_type_agg_cuts(tra_node *n, const tra_sample *sample, tra_err *e) {
    const tra_type *x = &n->in[0]->type;
    const tra_kernel *first = tra_kernel_first(n->kernel);
    int place[TRA_MAXDIM];
    tra_dims ext;
    tra_dimsrc src;
    tra_type_group_places(n, place);
    TRA_TRY(tra_kernel_shape_agg(first, &sample->l, &ext, &src, e));
    for (int a = 0; a < ext.n; a++)
        n->type.cut[a] = src.from[a] < 0 ? 0 : tra_type_moved_cut(x->cut[(int)src.from[a]], place);
    return tra_type_map_cuts(tra_kernel_rest(n->kernel), &ext, n->type.cut, &n->type.cat->frontier, e);
}
