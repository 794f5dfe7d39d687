/* join_found.c - what has been found put beside the rows for which it was. */
#include "join.h"
#include "key_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "table_int.h"

enum { STRIP = TRA_COLSTRIP };

/* Of the rows of a block what was found: numbers list[begin[i]] .. list[begin[i + 1]] of row i, in their order. */
typedef struct placing {
    const tra_placing *x;
    tra_batch left, found;
    int64_t *begin, *list, rows; /* rows: of the result */
    int64_t base;                /* a multiple of x->rows: about the number of the block's first row */
    bool listed;                 /* what was found is in the order of the result, and nothing else is in that */
} placing;

TRA_ROWS_FORM(place_form, tra_placing, .in = {x->left, x->right}, .out = x->out, .viewed = {true, true})

TRA_ROWS_REST(place_rest, tra_placing,
              tra_add_most(2 * STRIP * 8, tra_mul_most(tra_add_most(a->v[0] + 2, b->v[0]), (int64_t)sizeof(int64_t))))

static int64_t rows_of(const placing *p, int64_t i) {
    int64_t n = p->begin[i + 1] - p->begin[i];
    switch (p->x->how) {
    case TRA_PLACE_INNER: return n;
    case TRA_PLACE_LEFT: return tra_max64(1, n);
    case TRA_PLACE_SEMI: return n > 0;
    case TRA_PLACE_ANTI: return n == 0;
    case TRA_PLACE_KEEP: return 1;
    }
    return 0;
}

/* number % rows, without a division for the rows of one block. */
static int64_t place_of(const placing *p, int64_t number) {
    int64_t i = number - p->base, rows = p->x->rows;
    return i >= 0 && i < rows ? i : number % rows;
}

/* Notes that a row is not in the block. */
static bool refuse_row(void) { return tra_kernel_fail("a row was found that is not in the block"), false; }

/* Do the numbers of rows ascend, and are only these rows wanted? */
static bool is_listed(const placing *p) {
    const int64_t *number = p->found.v[0].values, *order = p->x->ordered ? p->found.v[1].values : NULL;
    if (p->x->how != TRA_PLACE_INNER || p->x->matched) return false;
    for (int64_t i = 0, before = 0; i < p->found.rows; i++) {
        if (number[i] < 0 || place_of(p, number[i]) < before) return false;
        if (order && i > 0 && number[i - 1] == number[i] && order[i - 1] > order[i]) return false;
        before = place_of(p, number[i]);
    }
    return true;
}

static int by_order(const void *a, const void *b, void *order) {
    int64_t x = ((const int64_t *)order)[*(const int64_t *)a], y = ((const int64_t *)order)[*(const int64_t *)b];
    return (x > y) - (x < y);
}

/* Puts what was found of each row in order. */
static void order_found(placing *p) {
    enum { FEW = 24 };
    int64_t *order = p->found.v[1].values;
    for (int64_t row = 0; row < p->left.rows; row++) {
        int64_t *v = p->list + p->begin[row], n = p->begin[row + 1] - p->begin[row];
        if (n > FEW) qsort_r(v, (size_t)n, sizeof *v, by_order, order);
        for (int64_t i = 1; i < n && n <= FEW; i++) {
            int64_t x = v[i], k = i;
            for (; k > 0 && order[v[k - 1]] > order[x]; k--) v[k] = v[k - 1];
            v[k] = x;
        }
    }
}

static bool open_placing(const tra_placing *x, const tra_rows_io *io, placing *p) {
    *p = (placing){.x = x, .left = io->in[0], .found = io->in[1]};
    const int64_t *number = p->found.v[0].values;
    int64_t n = p->left.rows, all = p->found.rows;
    p->begin = (int64_t *)io->rest + 2 * STRIP;
    p->list = p->begin + n + 2;
    p->base = all > 0 && number[0] >= 0 ? number[0] - number[0] % x->rows : 0;
    p->listed = is_listed(p);
    if (p->listed) {
        p->rows = all;
        return all == 0 || place_of(p, number[all - 1]) < n || refuse_row();
    }
    memset(p->begin, 0, (size_t)(n + 2) * sizeof *p->begin);
    for (int64_t i = 0; i < all; i++) {
        int64_t row = number[i] < 0 ? n : place_of(p, number[i]);
        if (row >= n) return refuse_row();
        p->begin[row + 2]++;
    }
    for (int64_t i = 0; i < n; i++) p->begin[i + 2] += p->begin[i + 1];
    for (int64_t i = 0; i < all; i++) p->list[p->begin[place_of(p, number[i]) + 1]++] = i;
    if (x->ordered) order_found(p);
    for (int64_t i = 0; i < n; i++) {
        p->rows += rows_of(p, i);
        if (!x->matched || p->begin[i] < p->begin[i + 1]) continue;
        char key[TRA_ROWTEXT];
        const tra_lookup_spec *s = tra_lookup_spec_of(x->join);
        tra_kernel_fail("row %" PRId64 " of the %s table has no partner for %s, but each is expected to (matched)",
                        tra_max64(0, io->a->first) + i, x->name, tra_row_text(&p->left, i, s->nkeys, s->lkey, key));
        return false;
    }
    return true;
}

static void write_rows(const placing *p, const int64_t *l, const int64_t *f, int n, int64_t begin, tra_batch *made) {
    const tra_placing *x = p->x;
    for (int c = 0; c < x->out->n; c++) {
        bool left = c < x->left->n;
        const tra_vector *from = left ? &p->left.v[c] : &p->found.v[1 + x->ordered + c - x->left->n];
        tra_gather_rows(&made->v[c], begin, from, x->out->v[c].type, left ? l : f, n);
    }
}

static void place_run(const void *data, tra_rows_io *io) {
    placing p;
    if (!open_placing(data, io, &p) || !tra_rows_result(io, p.rows)) return;
    int64_t *l = p.begin - 2 * STRIP, *f = l + STRIP, written = 0;
    int n = 0;
    for (int64_t i = 0; p.listed && i < p.rows; i += n, n = 0) {
        for (; n < STRIP && i + n < p.rows; n++) {
            l[n] = place_of(&p, ((const int64_t *)p.found.v[0].values)[i + n]);
            f[n] = i + n;
        }
        write_rows(&p, l, f, n, i, &io->made);
    }
    for (int64_t i = 0; i < p.left.rows && !p.listed; i++) {
        int64_t rows = rows_of(&p, i), found = p.begin[i + 1] - p.begin[i];
        for (int64_t k = 0; k < rows; k++) {
            l[n] = i;
            f[n++] = k < found ? p.list[p.begin[i] + k] : -1;
            if (n < STRIP) continue;
            write_rows(&p, l, f, n, written, &io->made);
            written += n;
            n = 0;
        }
    }
    if (n > 0) write_rows(&p, l, f, n, written, &io->made);
}

static void place_reads(const void *data, tra_rows_reads *r) {
    const tra_placing *x = data;
    const tra_lookup_spec *s = x->join ? tra_lookup_spec_of(x->join) : NULL;
    r->read[r->left] = true;
    if (x->ordered) r->read[r->left + 1] = true;
    if (x->matched) tra_rows_read(r, 0, s->nkeys, s->lkey);
    for (int c = 0; c < x->out->n; c++) r->from[c] = c < x->left->n ? c : r->left + 1 + x->ordered + c - x->left->n;
}

/* (Rules that take it for a join know all columns of that.) */
static const void *place_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_placing *old = data;
    tra_placing *x = tra_new(a, tra_placing);
    *x = *old;
    x->left = f->in[0], x->right = f->in[1], x->out = f->out;
    return old->join ? NULL : x;
}

const tra_rows_ops tra_place_ops = {
    .form = place_form, .rest = place_rest, .run = place_run, .reads = place_reads, .over = place_over};
