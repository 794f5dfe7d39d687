/* matrices.c - operands of products as matrices: the labels of the result that number the rows of the outer operand,
 * the shared ones, and the other labels of the inner operand. An operand whose entries are not in that order is put in
 * order first. */
#include "matmul.h"
#include "order.h"

#include <stdlib.h>

static bool has_label(const int8_t *label, int n, int l) {
    for (int d = 0; d < n; d++)
        if (label[d] == l) return true;
    return false;
}

/* The order of the shared labels: as the inner operand has them, if they are its first ones, else as the outer has
 * them. Returns how many they are. */
static int shared_labels(const tra_contraction *x, int outer, int8_t *shared) {
    int o = outer, n = 0, rank = x->p.rank[1 - outer];
    bool first = rank > 0 && !x->has[outer][x->p.in[1 - outer][rank - 1]];
    for (int d = 0; d + 1 < rank; d++) first = first && x->has[outer][x->p.in[1 - outer][d]];
    if (first) o = 1 - outer;
    for (int d = 0; d < x->p.rank[o]; d++) {
        int l = x->p.in[o][d];
        if (x->has[1 - o][l] && !has_label(shared, n, l)) shared[n++] = (int8_t)l;
    }
    return n;
}

/* Are these the labels of the operand, and then that last one? */
static bool is_natural(const tra_contraction *x, int o, const int8_t *label, int n, int last) {
    if (x->p.rank[o] != n + 1 || x->p.in[o][n] != last || has_label(label, n, last)) return false;
    for (int d = 0; d < n; d++)
        if (x->p.in[o][d] != label[d]) return false;
    return x->in[o]->array.dtype == x->t;
}

bool tra_matrices_of(const tra_contraction *x, int outer, int np, const tra_dims *out, tra_matrices *m) {
    int8_t shared[2 * TRA_MAXDIM];
    int n = shared_labels(x, outer, shared), inner = 1 - outer;
    int64_t row[2 * TRA_MAXDIM] = {0}, common[2 * TRA_MAXDIM] = {0}, place[2 * TRA_MAXDIM] = {0};
    *m = (tra_matrices){.x = x, .outer = outer, .np = np, .parts = 1, .shared = 1, .box = 1, .rows_each = 1};
    if (!x->in[0]->layout || !x->in[1]->layout) return false;
    for (int d = 0; d < x->p.nout; d++)
        if (has_label(x->p.out, d, x->p.out[d])) return false;
    for (int d = np; d < x->p.nout; d++)
        if (x->has[outer][x->p.out[d]]) return false;
    for (int d = np - 1; d >= 0; d--)
        row[x->p.out[d]] = m->parts, m->parts = tra_mul_most(m->parts, x->extent[x->p.out[d]]);
    for (int d = n - 1; d >= 0; d--)
        common[shared[d]] = m->shared, m->shared = tra_mul_most(m->shared, x->extent[shared[d]]);
    for (int d = x->p.nout - 1; d >= np; d--) {
        place[x->p.out[d]] = m->box, m->box = tra_mul_most(m->box, out->v[d]);
        if (d + 1 < x->p.nout) m->rows_each = tra_mul_most(m->rows_each, out->v[d]);
    }
    m->columns = tra_max64(1, tra_last_extent(out));
    for (int k = 0; k < 2; k++) {
        int o = k ? inner : outer;
        for (int d = 0; d < x->p.rank[o]; d++) {
            int l = x->p.in[o][d];
            m->route[k].label[d] = (int8_t)l;
            if (has_label(x->p.in[o], d, l)) continue;
            m->route[k].row[d] = k ? common[l] : row[l];
            m->route[k].column[d] = k ? place[l] : common[l];
        }
    }
    if (n == 1) m->natural[0] = is_natural(x, outer, x->p.out, np, shared[0]);
    int last = x->p.rank[inner] ? x->p.in[inner][x->p.rank[inner] - 1] : -1;
    m->natural[1] = last >= 0 && place[last] == 1 && is_natural(x, inner, shared, n, last);
    return tra_can_order(m->parts, m->shared) && m->box < UINT32_MAX;
}

int64_t tra_matrices_room(const tra_matrices *m, int64_t shared, const int64_t entries[2]) {
    int64_t n = tra_round64(tra_order_room(entries[0], m->parts));
    n = tra_add_most(n, tra_round64(tra_order_room(entries[1], shared)));
    n = tra_add_most(n, tra_round64(tra_order_scratch(tra_max64(entries[0], entries[1]))));
    n = tra_add_most(n, tra_matmul_room(tra_min64(m->parts, entries[0]), entries[1], shared));
    return tra_min64(TRA_SIZE_MOST, n);
}

static bool has_zeros(const tra_cell *c) {
    tra_rows_view v = tra_rows_of(c);
    for (int64_t k = 0; k < v.n; k++)
        if (!tra_not_zero(v.value, c->array.dtype, k)) return true;
    return false;
}

static const tra_cell *operand(const tra_matrices *m, int k) { return m->x->in[k ? 1 - m->outer : m->outer]; }

/* The outer (0) or inner matrix of all products; *at: where room is left. */
static void bring(const tra_matrices *m, int n, int k, int64_t shared, char **at, tra_rows_view *v) {
    tra_ordering *all;
    int64_t before = 0, entries = 0;
    if (n == 1 && m->natural[k] && !has_zeros(operand(m, k))) {
        *v = tra_rows_of(operand(m, k));
        return;
    }
    all = tra_malloc((size_t)n * sizeof *all);
    for (int i = 0; i < n; before += m[i++].shared) {
        all[i] = (tra_ordering){operand(&m[i], k), m[i].route[k], k ? before : 0, k ? 0 : before};
        entries += tra_rows_of(all[i].in).n;
    }
    int64_t box = k ? shared : m->parts;
    void *room = *at;
    *at += tra_round64(tra_order_room(entries, box));
    tra_order_entries(all, n, box, m->x->t, room, *at, v);
    free(all);
}

int64_t tra_matrices_sum(const tra_matrices *m, int n, const tra_unary *after, const tra_cell *state, tra_cell *out,
                         bool count, void *room, void *scratch) {
    int64_t all = out->array.ext.n ? tra_max64(1, out->array.ext.v[0]) : 1, each = m->parts / all, shared = 0;
    char *at = room;
    for (int i = 0; i < n; i++) shared += m[i].shared;
    tra_matmul p = {.t = m->x->t, .shared = shared, .box = m->box, .rows_each = m->rows_each, .columns = m->columns,
                    .state = state, .after = after, .to = m->parts};
    if (m->np > 0 && out->panel[1] > 0)
        p.from = tra_min64(all, out->panel[0]) * each, p.to = tra_min64(all, out->panel[1]) * each;
    bring(m, n, 0, shared, &at, &p.a);
    bring(m, n, 1, shared, &at, &p.b);
    return tra_matmul_run(&p, out, count, at, scratch);
}
