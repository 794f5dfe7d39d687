/* gather.c - boxes of cells copied to others; cells that are put together from pieces in any order, a range of their
 * rows at a time, which all threads share. Cells beside each other are made in one pass: each entry goes to the one in
 * which its column is. */
#include "../base/simd.h"
#include "../kernel/parallel_sums.h"
#include "sparse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool empty(const tra_dims *ext) {
    for (int d = 0; d < ext->n; d++)
        if (ext->v[d] == 0) return true;
    return false;
}

/* A piece, before one of its rows. */
typedef struct cursor {
    const tra_cell_piece *p;
    const tra_dims *out;      /* extents of the result */
    bool dense, whole, plain; /* whole: it has all columns of src; plain: rows are consecutive in src and the result */
    tra_rows_view v;          /* not dense */
    int64_t from, end;        /* its columns in src */
    int64_t shift;            /* what is added to them */
    int64_t next, last;       /* places of the next row in src, and of the end */
    int64_t row;              /* number of that row in the result */
    bool by_rows;             /* its rows are appended one by one */
} cursor;

/* The number in the result of row `number` of src; -1: it is not in the piece. */
static int64_t row_in_result(const cursor *c, int64_t number) {
    const tra_cell_piece *p = c->p;
    const tra_dims *ext = &p->src->array.ext;
    int64_t row = 0, times = 1;
    if (c->plain) return ext->n < 2 ? 0 : number - p->from.v[0] + p->to.v[0];
    for (int d = ext->n - 2; d >= 0; d--) {
        int64_t at = number % ext->v[d] - p->from.v[d];
        if (at < 0 || at >= p->ext.v[d]) return -1;
        row += (at + p->to.v[d]) * times;
        times *= c->out->v[d];
        number /= ext->v[d];
    }
    return row;
}

/* Puts the piece before its next row from `next` on; false: there is none. */
static bool find_row(cursor *c) {
    for (; c->next < c->last; c->next++) {
        c->row = row_in_result(c, c->dense ? c->next : c->v.row[c->next]);
        if (c->row >= 0) return true;
    }
    return false;
}

/* Begins the piece with the rows of the result from `first` up to `end`. Only of plain ones these may be some of its
 * rows. */
static bool begin(cursor *c, const tra_cell_piece *p, const tra_dims *out, int64_t first, int64_t end) {
    const tra_dims *ext = &p->src->array.ext;
    int64_t columns = tra_last_extent(ext), rows[2] = {0, 0};
    *c = (cursor){.p = p, .out = out, .dense = !p->src->layout, .plain = ext->n <= 2};
    if (empty(&p->ext)) return false;
    c->from = p->from.n ? p->from.v[p->from.n - 1] : 0;
    c->end = c->from + (p->ext.n ? p->ext.v[p->ext.n - 1] : 1);
    c->shift = (p->to.n ? p->to.v[p->to.n - 1] : 0) - c->from;
    c->whole = c->from == 0 && c->end == columns;
    for (int d = 0; d + 1 < ext->n; d++) { /* from the first to the last corner of the box */
        rows[0] = rows[0] * ext->v[d] + p->from.v[d];
        rows[1] = rows[1] * ext->v[d] + p->from.v[d] + p->ext.v[d] - 1;
    }
    if (ext->n == 2) {
        rows[0] = tra_max64(rows[0], first - p->to.v[0] + p->from.v[0]);
        rows[1] = tra_min64(rows[1], end - 1 - p->to.v[0] + p->from.v[0]);
    }
    if (rows[1] < rows[0]) return false;
    c->next = rows[0], c->last = rows[1] + 1;
    if (!c->dense) {
        c->v = tra_rows_of(p->src);
        c->next = tra_rows_from(&c->v, rows[0]);
        c->last = tra_rows_from(&c->v, rows[1] + 1);
    }
    return find_row(c);
}

/* The entries of row r that are in the piece: from *k up to *end. */
static inline void entries_in(const cursor *c, int64_t r, int64_t *k, int64_t *end) {
    enum { FEW = 24 };
    *k = c->v.begin[r], *end = c->v.begin[r + 1];
    if (c->whole) return;
    if (*end - *k > FEW) {
        *k = tra_rows_entry(&c->v, r, c->from);
        *end = tra_rows_entry(&c->v, r, c->end);
        return;
    }
    int64_t before = 0, within = 0;
    for (int64_t i = *k; i < *end; i++) before += c->v.column[i] < c->from, within += c->v.column[i] < c->end;
    *end = *k + within;
    *k += before;
}

/* How many of n columns are in the range? */
TRA_ANY_TARGET __attribute__((optimize("O3"))) static int64_t count_within(const uint32_t *column, int64_t n,
                                                                           uint32_t from, uint32_t width) {
    int64_t within = 0;
    for (int64_t i = 0; i < n; i++) within += column[i] - from < width;
    return within;
}

/* The first of the columns k to end - 1 that is in the range; end: none is. */
enum { LANES = 8 };
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));
TRA_ANY_TARGET static int64_t next_within(const uint32_t *column, int64_t k, int64_t end, uint32_t from,
                                          uint32_t width) {
    for (; k + LANES <= end; k += LANES) {
        uint64_t any[LANES / 2];
        lanes some;
        memcpy(&some, column + k, sizeof some);
        some = (lanes)(some - from < width);
        memcpy(any, &some, sizeof any);
        if (any[0] | any[1] | any[2] | any[3]) break;
    }
    while (k < end && column[k] - from >= width) k++;
    return k;
}

/* Appends what is not 0 of n elements in a row. */
static void put_some(tra_rows_maker *to, int64_t row, const uint32_t *column, int64_t first, int64_t shift,
                     const char *value, tra_dtype t, int64_t n) {
    size_t size = tra_dtype_size(t);
    for (int64_t i = 0; i < n; i++)
        if (tra_not_zero(value, t, i))
            memcpy(tra_rows_put(to, row, (uint32_t)((column ? column[i] : first + i) + shift)),
                   value + (size_t)i * size, size);
}

/* Copies n values; returns whether one may be 0. */
static bool copy_values(char *to, const char *from, size_t size, int64_t n) {
    uint64_t zero = 0;
    if (size == 8) {
        uint64_t *x = (uint64_t *)(void *)to;
        const uint64_t *y = (const uint64_t *)(const void *)from;
        for (int64_t i = 0; i < n; i++) x[i] = y[i], zero |= (uint64_t)(y[i] << 1 == 0); /* -0, too */
    } else if (size == 4) {
        uint32_t *x = (uint32_t *)(void *)to;
        const uint32_t *y = (const uint32_t *)(const void *)from;
        for (int64_t i = 0; i < n; i++) x[i] = y[i], zero |= (uint64_t)(y[i] << 1 == 0);
    } else if (size == 1) { /* integers, and booleans */
        for (int64_t i = 0; i < n; i++) to[i] = from[i], zero |= (uint64_t)(from[i] == 0);
    } else {
        return true;
    }
    return zero;
}

void tra_rows_append(tra_rows_maker *to, int64_t row, const uint32_t *column, int64_t shift, const char *value,
                     tra_dtype t, int64_t n) {
    size_t size = tra_dtype_size(t);
    if (n <= 0) return;
    if (!column || copy_values(to->v.value + (size_t)to->v.n * size, value, size, n)) {
        put_some(to, row, column, 0, shift, value, t, n);
        return;
    }
    if (to->v.nrows == 0 || to->v.row[to->v.nrows - 1] != row) tra_rows_open(to, row);
    uint32_t *columns = to->v.column + to->v.n;
    for (int64_t i = 0; i < n; i++) columns[i] = column[i] + (uint32_t)shift;
    to->v.n += n;
}

static void put_row(const cursor *c, tra_rows_maker *to) {
    const tra_array *a = &c->p->src->array;
    size_t size = tra_dtype_size(a->dtype);
    int64_t k = c->from, end = c->end;
    if (c->dense) {
        const char *data = (const char *)a->data + (size_t)(c->next * tra_last_extent(&a->ext) + k) * size;
        tra_rows_append(to, c->row, NULL, k + c->shift, data, a->dtype, end - k);
        return;
    }
    entries_in(c, c->next, &k, &end);
    tra_rows_append(to, c->row, c->v.column + k, c->shift, c->v.value + (size_t)k * size, a->dtype, end - k);
}

/* ---- pieces by the row that is next ------------------------------------------------------------------------- */

typedef struct heap {
    int64_t n;
    cursor **v;
} heap;

static bool before(const cursor *a, const cursor *b) {
    return a->row != b->row ? a->row < b->row : a->from + a->shift < b->from + b->shift;
}

static void sink(heap *h, int64_t i) {
    for (;;) {
        int64_t least = i;
        for (int64_t c = 2 * i + 1; c <= 2 * i + 2 && c < h->n; c++)
            if (before(h->v[c], h->v[least])) least = c;
        if (least == i) return;
        cursor *t = h->v[i];
        h->v[i] = h->v[least];
        h->v[least] = t;
        i = least;
    }
}

/* ---- ranges of rows ------------------------------------------------------------------------------------------- */

typedef struct gathering {
    const tra_cell_piece *p;
    int64_t n, rows; /* pieces; rows of the result */
    int ranges, m;   /* m: how many cells */
    bool count;
    tra_cell *out;
    tra_dims ext;     /* of all cells together */
    uint64_t inverse; /* of the width of a cell: 2^64 / width, rounded up; 0: of 1 */
    tra_rows_pieces *parts;
} gathering;

/* In which cell is this column? */
static inline uint32_t cell_of(const gathering *g, uint32_t column) {
    return g->inverse ? (uint32_t)(((unsigned __int128)g->inverse * column) >> 64) : column;
}

/* Takes the entries of the piece's next row: counts those of each cell (to is NULL), or appends them to the cells.
 * last: of each cell the row that was counted last. */
static void split_row(const gathering *g, const cursor *c, int range, tra_rows_maker *to, int64_t *last) {
    const tra_array *a = &c->p->src->array;
    const char *value = c->dense ? a->data : c->v.value;
    const int64_t width = tra_last_extent(&g->out[0].array.ext);
    const int64_t first = c->dense ? c->next * tra_last_extent(&a->ext) : 0;
    const size_t size = tra_dtype_size(a->dtype);
    const uint32_t *column = c->dense ? NULL : c->v.column;
    int64_t k = first + c->from, end = first + c->end, n;
    if (!c->dense) entries_in(c, c->next, &k, &end);
    for (; k < end; k += n) { /* those of one cell */
        int64_t at = (column ? column[k] : k - first) + c->shift, x = cell_of(g, (uint32_t)at);
        int64_t limit = (x + 1) * width - c->shift, here = 0;
        n = column ? 1 : tra_min64(end - k, limit - (k - first));
        while (column && k + n < end && column[k + n] < limit) n++;
        if (to) {
            tra_rows_append(&to[x], c->row, column ? column + k : NULL, (column ? c->shift : at) - x * width,
                            value + (size_t)k * size, a->dtype, n);
            continue;
        }
        int64_t *counted = g->parts[x].most[range];
        for (int64_t i = 0; !column && i < n; i++) here += tra_not_zero(value, a->dtype, k + i);
        if (column) here = n; /* some may be 0 */
        counted[0] += here > 0 && last[x] != c->row, counted[1] += here;
        if (here) last[x] = c->row;
    }
}

/* How many entries the piece has, or more: some may be 0. *rows: in so many rows, or more. */
static int64_t count_entries(cursor *c, int64_t *rows) {
    int64_t n = 0, k = 0, end = 0;
    *rows = 0;
    if (!c->dense && c->plain) { /* these are consecutive */
        k = c->v.begin[c->next], end = c->v.begin[c->last];
        uint32_t from = (uint32_t)c->from, width = (uint32_t)(c->end - c->from);
        if (c->whole)
            n = end - k;
        else
            n = count_within(c->v.column + k, end - k, from, width);
        *rows = tra_min64(c->last - c->next, n);
        return n;
    }
    for (bool more = true; more; c->next++, more = find_row(c)) {
        if (c->dense) {
            tra_dtype t = c->p->src->array.dtype;
            int64_t at = c->next * tra_last_extent(&c->p->src->array.ext), here = 0;
            for (int64_t i = c->from; i < c->end; i++) here += tra_not_zero(c->p->src->array.data, t, at + i);
            n += here, *rows += here > 0;
            continue;
        }
        entries_in(c, c->next, &k, &end);
        n += end - k, *rows += end > k;
    }
    return n;
}

/* Appends all rows of a piece that has all columns at once, where nothing in it is 0. */
static bool put_all_rows(cursor *c, tra_rows_maker *to) {
    tra_rows_view *v = &to->v;
    int64_t k = c->v.begin[c->next], n = c->v.begin[c->last] - k;
    c->by_rows = copy_values(v->value + (size_t)v->n * c->v.size, c->v.value + (size_t)k * c->v.size, c->v.size, n);
    if (c->by_rows) return false;
    uint32_t *columns = v->column + v->n, shift = (uint32_t)c->shift;
    for (int64_t i = 0; i < n; i++) columns[i] = c->v.column[k + i] + shift;
    for (int64_t r = c->next; r < c->last; r++) {
        int64_t row = row_in_result(c, c->v.row[r]);
        if (v->nrows > 0 && v->row[v->nrows - 1] == row) continue; /* another piece has begun it */
        v->row[v->nrows] = row;
        v->begin[v->nrows++] = v->n + c->v.begin[r] - k;
    }
    v->n += n;
    c->next = c->last;
    return true;
}

/* Has the piece, of which so many entries stay, consecutive rows of which most have none? */
static bool has_few(const cursor *c, int64_t stay) {
    enum { FEW = 8 };
    return !c->dense && c->plain && !c->whole && stay <= (c->v.begin[c->last] - c->v.begin[c->next]) / FEW;
}

/* Appends all entries of such a piece: they are looked for among those of all rows. */
static void put_few(cursor *c, tra_rows_maker *to) {
    const tra_rows_view *v = &c->v;
    uint32_t from = (uint32_t)c->from, width = (uint32_t)(c->end - c->from);
    int64_t r = c->next, k = v->begin[r], end = v->begin[c->last];
    while ((k = next_within(v->column, k, end, from, width)) < end) {
        while (v->begin[r + 1] <= k) r++;
        tra_rows_append(to, row_in_result(c, v->row[r]), v->column + k, c->shift, v->value + (size_t)k * v->size,
                        c->p->src->array.dtype, 1);
        k++;
    }
    c->next = c->last;
}

/* Can all rows of the piece at the top be appended at once, since they come before those of the others? */
static bool comes_alone(const heap *h) {
    const cursor *x = h->v[0];
    if (x->by_rows || x->dense || !x->plain || !x->whole) return false;
    int64_t last = row_in_result(x, x->v.row[x->last - 1]);
    for (int64_t i = 1; i < tra_min64(3, h->n); i++)
        if (h->v[i]->row <= last) return false;
    return true;
}

/* How many entries of each cell a range of rows has, and in how many rows, at most. */
static void count_range(const gathering *g, int range, int64_t first, int64_t end) {
    int64_t rows, *last = tra_malloc((size_t)g->m * sizeof *last);
    for (int x = 0; x < g->m; x++) g->parts[x].most[range][0] = g->parts[x].most[range][1] = 0, last[x] = -1;
    for (int64_t i = 0; i < g->n; i++) {
        int64_t *counted = g->parts[0].most[range];
        cursor c;
        if (!begin(&c, &g->p[i], &g->ext, first, end)) continue;
        if (g->m == 1) {
            counted[1] += count_entries(&c, &rows);
            counted[0] += rows;
            continue;
        }
        for (bool more = true; more; c.next++, more = find_row(&c)) split_row(g, &c, range, NULL, last);
    }
    for (int x = 0; x < g->m; x++) /* rows of several pieces are counted several times */
        g->parts[x].most[range][0] = tra_min64(g->parts[x].most[range][0], end - first);
    free(last);
}

static void run_range(void *ctx, int range, void *scratch) {
    gathering *g = ctx;
    int64_t first = (int64_t)((__int128)g->rows * range / g->ranges);
    int64_t end = (int64_t)((__int128)g->rows * (range + 1) / g->ranges);
    (void)scratch;
    if (g->count) {
        count_range(g, range, first, end);
        return;
    }
    tra_rows_maker *to = tra_malloc((size_t)g->m * sizeof *to);
    for (int x = 0; x < g->m; x++) {
        to[x] = (tra_rows_maker){.cell = &g->out[x], .v = g->parts[x].piece[range]};
        to[x].v.nrows = to[x].v.n = 0;
    }
    cursor *c = tra_malloc((size_t)(g->n + 1) * sizeof *c);
    heap h = {0, tra_malloc((size_t)(g->n + 1) * sizeof *h.v)};
    for (int64_t i = 0; i < g->n; i++)
        if (begin(&c[h.n], &g->p[i], &g->ext, first, end)) h.v[h.n] = &c[h.n], h.n++;
    for (int64_t i = h.n / 2; i >= 0 && h.n > 0; i--) sink(&h, i);
    while (h.n > 0 && !tra_cancelled()) {
        cursor *x = h.v[0];
        if (g->m > 1)
            split_row(g, x, range, to, NULL), x->next++;
        else if (h.n == 1 && has_few(x, g->parts[0].most[range][1]))
            put_few(x, to);
        else if (!comes_alone(&h) || !put_all_rows(x, to))
            put_row(x, to), x->next++;
        if (!find_row(x)) h.v[0] = h.v[--h.n];
        if (h.n > 1) sink(&h, 0);
    }
    free(h.v);
    free(c);
    for (int x = 0; x < g->m; x++) {
        to[x].v.begin[to[x].v.nrows] = to[x].v.n;
        g->parts[x].piece[range].nrows = to[x].v.nrows;
        g->parts[x].piece[range].n = to[x].v.n;
    }
    free(to);
}

static gathering gathering_of(const tra_cell_piece *p, int64_t n, tra_cell *out, int m) {
    enum { STEPS = 4 }; /* of an entry */
    gathering g = {.p = p, .n = n, .rows = tra_rows_box(&out->array.ext), .ranges = 1, .out = out, .m = m};
    int64_t entries = 0, width = tra_max64(1, tra_last_extent(&out->array.ext));
    for (int64_t i = 0; i < n; i++)
        entries = tra_add_most(entries, p[i].src->layout ? tra_rows_of(p[i].src).n : tra_elements_of(&p[i].ext));
    if (out->array.ext.n == 2)
        g.ranges = (int)tra_max64(1, tra_min64(g.rows, tra_parallel_pieces(tra_mul_most(STEPS, entries))));
    g.ext = out->array.ext;
    for (int x = 1; x < m; x++) g.ext.v[g.ext.n - 1] += tra_last_extent(&out[x].array.ext);
    g.inverse = UINT64_MAX / (uint64_t)width + 1;
    g.parts = tra_calloc((size_t)m, sizeof *g.parts);
    return g;
}

void tra_rows_gather(tra_cell_piece *p, int64_t n, tra_cell *out, int m) {
    gathering g = gathering_of(p, n, out, m);
    bool taken = true;
    g.count = true;
    tra_parallel(g.ranges, run_range, &g, NULL);
    for (int x = 0; x < m && taken; x++) {
        tra_rows_pieces_add(&g.parts[x], &out[x], g.ranges);
        taken = tra_rows_pieces_begin(&g.parts[x], &out[x]);
    }
    g.count = false;
    if (taken) tra_parallel(g.ranges, run_range, &g, NULL);
    for (int x = 0; x < m && taken; x++) tra_rows_pieces_end(&g.parts[x]);
    free(g.parts);
}

/* ---- one piece ---------------------------------------------------------------------------------------------- */

static void clear_box(tra_array *dst, const tra_dims *to, const tra_dims *ext) {
    int64_t stride[TRA_MAXDIM], at = 0;
    static const double zero;
    tra_nest nest;
    nest.n = 0;
    tra_strides(&dst->ext, stride);
    for (int d = 0; d < ext->n; d++) {
        at += to->v[d] * stride[d];
        tra_nest_add(&nest, ext->v[d], 0, stride[d], 0);
    }
    tra_strided_copy((char *)dst->data + (size_t)at * tra_dtype_size(dst->dtype), dst->dtype, &zero, TRA_F64, &nest);
}

void tra_rows_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext) {
    tra_cell_piece p = {.src = src, .from = *from, .to = *to, .ext = *ext};
    if (dst->layout) {
        tra_rows_gather(&p, 1, dst, 1);
        return;
    }
    assert(dst->array.dtype == src->array.dtype);
    if (empty(ext)) return;
    clear_box(&dst->array, to, ext);
    int64_t columns = tra_last_extent(&dst->array.ext), rows = tra_rows_box(&dst->array.ext), k, end;
    cursor c;
    for (bool more = begin(&c, &p, &dst->array.ext, 0, rows); more; c.next++, more = find_row(&c)) {
        int64_t row = c.row * columns + c.shift;
        size_t size = c.v.size;
        entries_in(&c, c.next, &k, &end);
        for (; k < end; k++)
            memcpy((char *)dst->array.data + (size_t)(row + c.v.column[k]) * size, c.v.value + (size_t)k * size, size);
    }
}
