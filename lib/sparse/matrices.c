/* matrices.c - operands of products as matrices: the labels of the result that number the rows of the outer operand,
 * the shared ones, and the other labels of the inner operand. An operand whose entries are not in that order is put in
 * order first. */
#include "matmul.h"
#include "order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int tra_prefix_in(const tra_contraction *x, int o) {
    int n = 0;
    while (n + 1 < x->p.nout && x->has[o][x->p.out[n]]) n++;
    return n;
}

/* Are the labels of the groups the first of operand o, which is rows, in this order? */
bool tra_in_order(const tra_contraction *x, int o, int np) {
    if (np > x->p.rank[o] - 1) return np == 0;
    for (int d = 0; d < np; d++)
        if (x->p.in[o][d] != x->p.out[d]) return false;
    return true;
}

/* Which operand is the outer one: that of more labels of the result; rows and what is in order before others. */
int tra_outer_of(const tra_contraction *x, const bool *rows) {
    int n[2], good[2];
    for (int o = 0; o < 2; o++) {
        n[o] = tra_prefix_in(x, o);
        good[o] = (rows[o] ? 2 : 0) + (!rows[o] || tra_in_order(x, o, n[o]));
        good[o] += rows[1 - o] && tra_is_natural(x, 1 - o);
    }
    if (n[0] != n[1]) return n[0] > n[1] ? 0 : 1;
    return good[1] > good[0];
}

int64_t tra_entries_of(const tra_cell *c) {
    int64_t n = 0;
    if (c->layout) return tra_rows_of(c).n;
    return tra_dims_product(&c->array.ext, &n) ? n : INT64_MAX;
}

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
    return true;
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
            if (!x->has[1 - o][l] && !has_label(x->p.out, x->p.nout, l)) return false; /* entries fall on one place */
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

/* At the beginning of the room: the outer and the inner matrix, where room is left when they lie in it, and between
 * which rows their products are counted there. */
typedef struct ordered {
    tra_rows_view v[2];
    char *left;
    int64_t known[2];
} ordered;

static int64_t joined_room(int64_t entries, int64_t rows) {
    return tra_add_most(tra_mul_most(4 + 8, entries), tra_mul_most(16, tra_min64(rows, entries)) + 4 * 64);
}

static const tra_cell *operand(const tra_matrices *m, int k) { return m->x->in[k ? 1 - m->outer : m->outer]; }

static int64_t converted_room(const tra_matrices *m, int k, int64_t entries) {
    return operand(m, k)->array.dtype == m->x->t ? 0 : tra_round64(tra_mul_most(8, entries));
}

/* as_is: of an operand that is natural no more than values are copied, if they have another type. */
static int64_t room_of(const tra_matrices *m, int64_t shared, const int64_t entries[2], bool as_is) {
    int64_t outer = tra_round64(tra_turn_room(entries[0], m->parts));
    int64_t inner = tra_round64(m->natural[1] ? joined_room(entries[1], shared) : tra_turn_room(entries[1], shared));
    int64_t sorting[2] = {tra_turn_scratch(entries[0], true), m->natural[1] ? 0 : tra_turn_scratch(entries[1], true)};
    if (as_is && m->natural[0]) outer = converted_room(m, 0, entries[0]), sorting[0] = 0;
    if (as_is && m->natural[1]) inner = converted_room(m, 1, entries[1]);
    /* when the outer matrix is in order, the inner one; when both are, the product */
    int64_t more = tra_max64(sorting[1], tra_matmul_room(tra_min64(m->parts, entries[0]), entries[1], shared));
    more = tra_max64(sorting[0], tra_add_most(inner, tra_round64(more)));
    return tra_min64(TRA_SIZE_MOST, tra_add_most(tra_round64(sizeof(ordered)), tra_add_most(outer, tra_round64(more))));
}

int64_t tra_matrices_room(const tra_matrices *m, int64_t shared, const int64_t entries[2]) {
    return room_of(m, shared, entries, false);
}

/* Must the entries of value 0 of a matrix be left out? Those that meet finite numbers alone add nothing. The outer
 * operand is asked first: many blocks of it may meet one inner operand, which is larger. */
static bool drops_zeros(const tra_matrices *m, int k) {
    for (int i = 0; i < 2; i++) {
        const tra_cell *c = operand(m, i);
        tra_rows_view v = tra_rows_of(c);
        bool zeros = false;
        if (i != k && tra_finite(v.value, c->array.dtype, v.n)) return false;
        for (int64_t n = 0; i == k && n < v.n && !zeros; n++) zeros = !tra_not_zero(v.value, c->array.dtype, n);
        if (i == k && !zeros) return false;
    }
    return true;
}

/* Lays out a matrix of so many rows and entries, with no room between; returns where it ends. */
static char *lay_out(const tra_matrices *m, int64_t nrows, int64_t entries, char *at, tra_rows_view *v) {
    size_t size = tra_dtype_size(m->x->t);
    *v = (tra_rows_view){.size = size, .row = (int64_t *)(void *)at};
    at += tra_round64(8 * nrows);
    v->begin = (int64_t *)(void *)at;
    at += tra_round64(8 * (nrows + 1));
    v->column = (uint32_t *)(void *)at;
    at += tra_round64(4 * entries);
    v->value = at;
    return at + tra_round64((int64_t)size * entries);
}

/* Appends the entries of a row that are not 0; those before `entries` have their values already. */
static void close_gaps(tra_rows_view *v, tra_dtype t, const uint32_t *column, int64_t first, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        if (!tra_not_zero(v->value, t, first + k)) continue;
        v->column[v->n] = column[k];
        tra_turn_value(v->value + (size_t)v->n++ * v->size, v->value + (size_t)(first + k) * v->size, v->size);
    }
}

/* The rows of inner matrices that are so as they are, one after the other. Returns the end of what it took. */
static char *join_rows(const tra_matrices *m, int n, char *at, tra_rows_view *v) {
    int64_t entries = 0, nrows = 0, before = 0;
    for (int i = 0; i < n; i++)
        entries += tra_rows_of(operand(&m[i], 1)).n, nrows += tra_rows_of(operand(&m[i], 1)).nrows;
    at = lay_out(m, nrows, entries, at, v);
    for (int i = 0; i < n; before += m[i++].shared) {
        const tra_cell *c = operand(&m[i], 1);
        tra_rows_view in = tra_rows_of(c);
        int64_t first = v->n;
        bool zeros = tra_has_zero(in.value, c->array.dtype, in.n);
        tra_convert(v->value + (size_t)first * v->size, m->x->t, in.value, c->array.dtype, in.n);
        if (!zeros) memcpy(v->column + first, in.column, (size_t)in.n * sizeof *in.column);
        for (int64_t r = 0; r < in.nrows; r++) {
            int64_t count = in.begin[r + 1] - in.begin[r];
            v->row[v->nrows] = in.row[r] + before;
            v->begin[v->nrows++] = v->n;
            if (zeros)
                close_gaps(v, m->x->t, in.column + in.begin[r], first + in.begin[r], count);
            else
                v->n += count;
            if (v->begin[v->nrows - 1] == v->n) v->nrows--;
        }
    }
    v->begin[v->nrows] = v->n;
    return at;
}

/* An outer matrix whose columns are joined: where its next row is. */
typedef struct beside {
    tra_rows_view v;
    int64_t r, before;
    bool zeros;
} beside;

/* The rows of outer matrices that are so as they are, beside each other, in one pass over all. false: they have so few
 * entries that to put these in order is faster. */
static bool join_columns(const tra_matrices *m, int n, int64_t entries, char **at, tra_rows_view *v) {
    enum { FEW = 16 };
    int64_t nrows = 0, before = 0;
    tra_dtype t = m->x->t;
    for (int i = 0; i < n; i++) nrows += tra_rows_of(operand(&m[i], 0)).nrows;
    nrows = tra_min64(nrows, m->parts);
    if (tra_mul_most(n, nrows) > tra_mul_most(FEW, entries)) return false;
    beside *all = tra_malloc((size_t)n * sizeof *all);
    *at = lay_out(m, nrows, entries, *at, v);
    for (int i = 0; i < n; before += m[i++].shared) {
        const tra_cell *c = operand(&m[i], 0);
        tra_rows_view in = tra_rows_of(c);
        all[i] = (beside){.v = in, .before = before, .zeros = tra_has_zero(in.value, c->array.dtype, in.n)};
    }
    for (;;) {
        int64_t row = INT64_MAX;
        for (int i = 0; i < n; i++)
            if (all[i].r < all[i].v.nrows) row = tra_min64(row, all[i].v.row[all[i].r]);
        if (row == INT64_MAX) break;
        v->row[v->nrows] = row;
        v->begin[v->nrows++] = v->n;
        for (int i = 0; i < n; i++) {
            beside *b = &all[i];
            if (b->r == b->v.nrows || b->v.row[b->r] != row) continue;
            tra_dtype from = operand(&m[i], 0)->array.dtype;
            for (int64_t k = b->v.begin[b->r], end = b->v.begin[++b->r]; k < end; k++) {
                if (b->zeros && !tra_not_zero(b->v.value, from, k)) continue;
                v->column[v->n] = (uint32_t)(b->v.column[k] + b->before);
                if (from == t)
                    tra_turn_value(v->value + (size_t)v->n++ * v->size, b->v.value + (size_t)k * v->size, v->size);
                else
                    tra_pick(v->value, v->n++, t, b->v.value, from, k);
            }
        }
        if (v->begin[v->nrows - 1] == v->n) v->nrows--;
    }
    v->begin[v->nrows] = v->n;
    free(all);
    return true;
}

/* A natural operand; its values may have to be of another type. */
static void as_it_is(const tra_matrices *m, int k, char **at, tra_rows_view *v) {
    const tra_cell *c = operand(m, k);
    *v = tra_rows_of(c);
    if (c->array.dtype == m->x->t) return;
    v->size = tra_dtype_size(m->x->t);
    char *value = *at;
    *at += tra_round64((int64_t)v->size * v->n);
    tra_convert(value, m->x->t, v->value, c->array.dtype, v->n);
    v->value = value;
}

/* The outer (0) or inner matrix of all products; *at: where room is left. */
static void bring(const tra_matrices *m, int n, int k, int64_t shared, char **at, tra_rows_view *v) {
    tra_ordering *all;
    int64_t before = 0, entries = 0;
    bool natural = true;
    for (int i = 0; i < n; i++) natural = natural && m[i].natural[k], entries += tra_rows_of(operand(&m[i], k)).n;
    if (n == 1 && natural && !drops_zeros(m, k)) {
        as_it_is(m, k, at, v);
        return;
    }
    if (natural && k == 1) {
        *at = join_rows(m, n, *at, v);
        return;
    }
    if (natural && join_columns(m, n, entries, at, v)) return;
    all = tra_malloc((size_t)n * sizeof *all);
    for (int i = 0; i < n; before += m[i++].shared)
        all[i] = (tra_ordering){
            .in = operand(&m[i], k), .route = m[i].route[k], .row = k ? before : 0, .column = k ? 0 : before};
    int64_t box = k ? shared : m->parts;
    void *room = *at;
    *at += tra_round64(tra_turn_room(entries, box));
    tra_order_entries(all, n, box, m->x->t, room, *at, v);
    free(all);
}

/* Has the inner matrix rows where the outer one has columns? Where blocks of a banded matrix meet, most have not. */
static bool may_meet(const tra_matrices *m) {
    tra_rows_view a = tra_rows_of(operand(m, 0)), b = tra_rows_of(operand(m, 1));
    if (!m->natural[0] || !m->natural[1]) return true;
    if (b.nrows == 0) return false;
    for (int64_t r = 0; r < a.nrows; r++)
        if (a.column[a.begin[r]] <= b.row[b.nrows - 1] && a.column[a.begin[r + 1] - 1] >= b.row[0]) return true;
    return false;
}

void tra_matrices_sum(const tra_matrices *m, int n, const tra_unary *after, const tra_cell *state, tra_cell *out,
                      bool again, void *room, void *scratch) {
    ordered *o = room;
    int64_t all = out->array.ext.n ? tra_max64(1, out->array.ext.v[0]) : 1, each = m->parts / all, shared = 0;
    for (int i = 0; i < n; i++) shared += m[i].shared;
    if (n == 1 && !state && !may_meet(m)) {
        tra_rows_gather(NULL, 0, out, 1); /* nothing */
        return;
    }
    tra_matmul p = {.t = m->x->t,
                    .fold = m->x->fold,
                    .shared = shared,
                    .box = m->box,
                    .rows_each = m->rows_each,
                    .columns = m->columns,
                    .state = state,
                    .after = after,
                    .each = each,
                    .to = m->parts,
                    .known = o->known};
    if (m->np > 0 && out->panel[1] > 0)
        p.from = tra_min64(all, out->panel[0]) * each, p.to = tra_min64(all, out->panel[1]) * each;
    if (!again) o->left = (char *)room + tra_round64(sizeof *o), o->known[0] = o->known[1] = 0;
    for (int k = 0; k < 2 && !again; k++) bring(m, n, k, shared, &o->left, &o->v[k]);
    p.a = o->v[0];
    p.b = o->v[1];
    tra_matmul_run(&p, out, o->left, scratch);
}

/* ---- sums of several products ---------------------------------------------------------------------------------- */

typedef struct sum {
    tra_contraction *x;
    tra_matrices *m;
} sum;

static void sum_free(sum *s) {
    free(s->x);
    free(s->m);
}

/* The products as matrices; false: they are none of which a sum can be made at once. */
static bool sum_begin(sum *s, const tra_kernel *step, const tra_cell *a, const tra_cell *b, int n,
                      const tra_cell *out) {
    tra_dtype t = tra_kernel_dtype(step, TRA_USE_JOIN, a->array.dtype, b->array.dtype);
    tra_array shape = {tra_strip_type(t), out->array.ext, NULL};
    *s = (sum){tra_malloc((size_t)n * sizeof *s->x), tra_malloc((size_t)n * sizeof *s->m)};
    bool folds = step->cls == TRA_K_ALIGNED, rows[2] = {a->layout, b->layout};
    bool can = out->array.dtype == t && (t == shape.dtype || (folds && t == TRA_BOOL));
    for (int i = 0; can && i < n; i++) {
        can = folds || tra_rows_contracts(step, &a[i].array.ext, &b[i].array.ext);
        if (!can) break;
        tra_contraction_of(&s->x[i], step, &a[i], &b[i], &shape, -1);
        int o = tra_outer_of(&s->x[i], rows);
        can = tra_matrices_of(&s->x[i], o, tra_prefix_in(&s->x[i], o), &shape.ext, &s->m[i]);
        can = can && s->m[i].natural[1] == s->m[0].natural[1] && s->m[i].outer == s->m[0].outer &&
              s->m[i].np == s->m[0].np && s->m[i].parts == s->m[0].parts;
    }
    if (!can) sum_free(s);
    return can;
}

int64_t tra_rows_sum_room(const tra_kernel *step, const tra_cell *a, const tra_cell *b, int n, const tra_cell *out) {
    sum s;
    int64_t entries[2] = {0, 0}, shared = 0;
    if (!sum_begin(&s, step, a, b, n, out)) return -1;
    for (int i = 0; i < n; i++) {
        entries[s.m->outer] += tra_entries_of(&a[i]);
        entries[1 - s.m->outer] += tra_entries_of(&b[i]);
        shared = tra_add_most(shared, s.m[i].shared);
    }
    int64_t room = tra_can_order(s.m->parts, shared) ? tra_matrices_room(s.m, shared, entries) : -1;
    sum_free(&s);
    return room;
}

int64_t tra_rows_sum_use(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const int64_t entries[2],
                         int64_t n, const tra_cell *out, int64_t *scratch) {
    sum s;
    if (!sum_begin(&s, step, a, b, 1, out)) return -1;
    int64_t of[2] = {entries[s.m->outer], entries[1 - s.m->outer]};
    int64_t room = room_of(s.m, tra_mul_most(n, s.m->shared), of, n == 1);
    *scratch = tra_matmul_scratch(s.m->box);
    sum_free(&s);
    return room;
}

void tra_rows_sum(const tra_kernel *step, const tra_cell *a, const tra_cell *b, int n, const tra_cell *state,
                  tra_cell *out, bool again, void *room, void *scratch) {
    sum s;
    const tra_unary as_is = {.arg = out->array.dtype};
    bool can = sum_begin(&s, step, a, b, n, out);
    assert(can);
    (void)can;
    if (!room) room = (char *)scratch + tra_round64(tra_matmul_scratch(s.m->box));
    tra_matrices_sum(s.m, n, &as_is, state, out, again, room, scratch);
    sum_free(&s);
}

/* ---- other folds than sums --------------------------------------------------------------------------------------- */

bool tra_rows_folds(const tra_kernel *step, tra_dtype a, tra_dtype b, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_insn *c = step->code ? step->code->v : NULL;
    tra_dtype t = tra_step_dtype(step, TRA_USE_JOIN, a, b);
    tra_contraction x;
    tra_matrices m;
    if (step->cls != TRA_K_ALIGNED || step->nin != 2 || (step->fold != TRA_S_MAX && step->fold != TRA_S_MIN))
        return false;
    if (t == TRA_BOOL && (a != t || b != t)) return false;
    if (step->code->n != 1 || c->op != TRA_S_MUL || c->a >= 0 || c->b >= 0 || c->a == c->b) return false;
    for (int l = 0; l < step->nlabels; l++) /* each is shared, or one of the result */
        if (!memchr(step->out, l, (size_t)step->nout) &&
            !(memchr(step->in[0], l, (size_t)step->rank[0]) && memchr(step->in[1], l, (size_t)step->rank[1])))
            return false;
    const tra_cell in[2] = {{.layout = &tra_rows, .array = {a, *ext_a, NULL}},
                            {.layout = &tra_rows, .array = {b, *ext_b, NULL}}};
    tra_array out = {tra_strip_type(t), {0}, NULL};
    tra_err e = {0};
    if (tra_kernel_shape2(step, ext_a, ext_b, ext_a, ext_b, &out.ext, NULL, &e) != TRA_OK) return false;
    tra_contraction_of(&x, step, &in[0], &in[1], &out, -1);
    int outer = tra_outer_of(&x, (const bool[2]){true, true});
    return tra_matrices_of(&x, outer, tra_prefix_in(&x, outer), &out.ext, &m);
}
