/* matrices.c - operands of products as matrices: the labels of the result that number the rows of the outer operand,
 * the shared ones, and the other labels of the inner operand. An operand whose entries are not in that order is put in
 * order first. */
#include "matmul.h"
#include "order.h"

#include <string.h>

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

int64_t tra_matrices_scratch(const tra_matrices *m, const int64_t entries[2]) {
    int64_t n = tra_add_most(tra_round64(tra_order_room(entries[0])), tra_round64(tra_order_room(entries[1])));
    n = tra_add_most(n, tra_matmul_room(tra_min64(m->parts, entries[0]), entries[1], m->shared));
    return tra_min64(TRA_SIZE_MOST, tra_add_most(n, tra_matmul_scratch(m->box) + 64));
}

static bool has_zeros(const tra_cell *c) {
    tra_rows_view v = tra_rows_of(c);
    for (int64_t k = 0; k < v.n; k++)
        if (!tra_not_zero(v.value, c->array.dtype, k)) return true;
    return false;
}

int64_t tra_matrices_product(const tra_matrices *m, const tra_unary *after, const tra_cell *state, tra_cell *out,
                             bool count, void *scratch) {
    const tra_contraction *x = m->x;
    int64_t all = out->array.ext.n ? tra_max64(1, out->array.ext.v[0]) : 1, each = m->parts / all;
    tra_matmul p = {.t = x->t, .shared = m->shared, .box = m->box, .rows_each = m->rows_each, .columns = m->columns,
                    .state = state, .after = after, .to = m->parts};
    if (m->np > 0 && out->panel[1] > 0) p.from = tra_min64(all, out->panel[0]) * each, p.to = tra_min64(all, out->panel[1]) * each;
    char *at = scratch;
    for (int k = 0; k < 2; k++) {
        const tra_cell *in = x->in[k ? 1 - m->outer : m->outer];
        tra_rows_view *v = k ? &p.b : &p.a;
        if (m->natural[k] && !has_zeros(in)) {
            *v = tra_rows_of(in);
            continue;
        }
        tra_order_entries(in, &m->route[k], k ? m->shared : m->parts, x->t, at, v);
        at += tra_round64(tra_order_room(tra_rows_of(in).n));
    }
    void *room = at;
    at += tra_matmul_room(p.a.nrows, p.b.n, m->shared);
    return tra_matmul_run(&p, out, count, room, scratch, at - (char *)scratch);
}
