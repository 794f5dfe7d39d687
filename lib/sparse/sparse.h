/* sparse.h - kernels of arrays that are held as rows of entries (lib/model/rows.h).
 *
 * The same kernels as those of dense arrays, on the entries alone. The one rule of values (man tra-storage.5): in a
 * product or quotient a factor or dividend of sparse type that is 0 makes the result 0 there, also against NaN and
 * infinity, whether its array is held as rows or densely (tra_cell.sparse); all else is the arithmetic of dense arrays,
 * to which elements that are no entries are 0. Results have no entries of value 0.
 *
 * This room is between the kernels and the executor, which calls it through lib/kernel/cells.c.
 */
#ifndef TRA_SPARSE_H
#define TRA_SPARSE_H

#include "../kernel/strips.h"
#include "../model/rows.h"

#include <string.h>

/* ---- cells of either holding (access.c) --------------------------------------------------------------------- */

static inline int64_t tra_last_extent(const tra_dims *ext) { return ext->n ? ext->v[ext->n - 1] : 1; }

/* How many entries an array of that type has at most, if its extents are at most these. */
int64_t tra_most_entries(const tra_type *t, const tra_dims *ext);

/* The rows of v whose coordinate in the first dimension lies in the panel: from panel[0] up to panel[1]. */
tra_rows_view tra_rows_within(const tra_rows_view *v, const tra_dims *ext, const int64_t panel[2]);

/* Is one of n values 0? */
bool tra_has_zero(const void *values, tra_dtype t, int64_t n);

/* Of two rows: are their n columns the same? How many columns do they have in common? After the first row so many
 * more columns can be read. */
bool tra_same_columns(const uint32_t *x, const uint32_t *y, int64_t n);
int64_t tra_common_columns(const uint32_t *x, int64_t nx, int64_t after, const uint32_t *y, int64_t ny);
/* Rows that have columns in common are followed by others that have: this is found out once in so many rows. */
enum { TRA_OFTEN = 16 };

/* A cell read row by row, however it is held: dense ones have all rows and columns. */
typedef struct tra_reader {
    const tra_cell *cell;
    bool dense;
    tra_rows_view v;       /* not dense */
    int64_t columns, rows; /* of its box */
} tra_reader;
tra_reader tra_read_cell(const tra_cell *c);
/* Row `number` of the cell: returns how many entries it has, and sets *column to their columns (NULL: 0, 1, 2, ...)
 * and *first to the place of the first value among all values of the cell. */
static inline int64_t tra_read_row(const tra_reader *r, int64_t number, const uint32_t **column, int64_t *first) {
    if (r->dense) return *column = NULL, *first = number * r->columns, r->columns;
    int64_t i = tra_rows_from(&r->v, number);
    if (i == r->v.nrows || r->v.row[i] != number) return 0;
    *column = r->v.column + r->v.begin[i];
    *first = r->v.begin[i];
    return r->v.begin[i + 1] - r->v.begin[i];
}
static inline const void *tra_read_values(const tra_reader *r) { return r->dense ? r->cell->array.data : r->v.value; }

/* Where a row begins in an array of these strides, in elements. */
static inline int64_t tra_row_offset(const tra_dims *ext, int64_t row, const int64_t *stride) {
    int64_t at = 0;
    if (ext->n == 2) return row * stride[0];
    for (int d = ext->n - 2; d >= 0; d--) {
        at += row % ext->v[d] * stride[d];
        row /= ext->v[d];
    }
    return at;
}

/* Expands a part of a row to a strip: the n <= TRA_STRIP elements from column `from` on, converted to type `to`, 0
 * where there is no entry. The row is given as tra_read_row does. *at is the entry to begin with, and then the one
 * after the strip. */
void tra_row_strip(const uint32_t *column, int64_t count, const void *value, tra_dtype t, int64_t first, int64_t from,
                   int64_t n, tra_dtype to, void *buf, int64_t *at);

/* Element k as number i of a strip of type `to`. */
static inline void tra_pick(void *strip, int64_t i, tra_dtype to, const void *data, tra_dtype t, int64_t k) {
    if (to == TRA_F64)
        ((double *)strip)[i] = t == TRA_F64 ? ((const double *)data)[k] : tra_get(data, t, k);
    else if (to == TRA_F32)
        ((float *)strip)[i] = t == TRA_F32 ? ((const float *)data)[k] : (float)tra_get(data, t, k);
    else
        ((int64_t *)strip)[i] = t == TRA_I64 ? ((const int64_t *)data)[k] : tra_element_whole(t, data, k);
}

/* Appends an entry and returns the place of its value. Unlike tra_rows_next it opens the row, but not before the row
 * has an entry. */
static inline void *tra_rows_put(tra_rows_maker *m, int64_t row, uint32_t column) {
    if (m->v.nrows == 0 || m->v.row[m->v.nrows - 1] != row) tra_rows_open(m, row);
    return tra_rows_next(m, column);
}

/* The cell as a dense array: its own array, or one that is made in `room`. */
tra_array tra_dense_of(const tra_cell *c, void *room);
/* A dense array as rows. */
void tra_rows_fill(const tra_array *a, tra_cell *out);

/* ---- innermost loops (loops.c) -------------------------------------------------------------------------------- */

/* Loops over the n entries of a row, with values v at columns: they are multiplied with a dense operand d, or one
 * number x of it, and added to c. All have one type: f64, f32, or i64, for which an overflow is noted. Strides are in
 * elements. */
typedef struct tra_row_loops {
    /* *c += sum of v[k] d[column[k] * sd] */
    void (*dot)(const void *v, const uint32_t *column, int64_t n, const void *d, int64_t sd, void *c);
    /* The same for rows from r up to `end` of a view: c[row * row_c] += sum of v[k] d[row * row_d + column[k] * sd].
     * Ends before a row whose sum becomes NaN, which is left as it was, and returns where it ends. far: no cache has
     * all of d, whose elements are asked for ahead. */
    int64_t (*dots)(const tra_rows_view *rows, int64_t r, int64_t end, const void *d, int64_t sd, int64_t row_d,
                    void *c, int64_t row_c, bool far);
    /* c[column[k] * sc] += v[k] x */
    void (*scatter)(const void *v, const uint32_t *column, int64_t n, const void *x, void *c, int64_t sc);
    /* The same for rows: c[row * row_c + column[k] * sc] += v[k] d[row * row_d]. Ends before a row that meets what is
     * not finite, and returns where it ends. far: no cache has all of c; skip: rows that meet 0 add nothing. */
    int64_t (*scatters)(const tra_rows_view *rows, int64_t r, int64_t end, const void *d, int64_t row_d, void *c,
                        int64_t sc, int64_t row_c, bool far, bool skip);
    /* c[j] += sum of v[k] d[column[k] * sd + j], j < width */
    void (*add_rows)(const void *v, const uint32_t *column, int64_t n, const void *d, int64_t sd, void *c,
                     int64_t width);
    /* c[column[k] * sc + j] += v[k] d[column[k] * sd + j], j < width */
    void (*spread_rows)(const void *v, const uint32_t *column, int64_t n, const void *d, int64_t sd, void *c,
                        int64_t sc, int64_t width);
} tra_row_loops;
const tra_row_loops *tra_row_loops_of(tra_dtype t);

/* ---- contractions into dense arrays (contract.c) -------------------------------------------------------------- */

/* How a product into a dense array is computed (tra_choose); tra_rows_product_way: into rows. */
tra_impl tra_rows_contract_way(const tra_cell *a, const tra_cell *b);
/* Is the kernel, for operands of these extents, a product that tra_rows_contract takes? */
bool tra_rows_contracts(const tra_kernel *step, const tra_dims *a, const tra_dims *b);
/* Is it a largest or least product of two operands that are rows, which tra_rows_product takes for a result by rows? */
bool tra_rows_folds(const tra_kernel *step, tra_dtype a, tra_dtype b, const tra_dims *ext_a, const tra_dims *ext_b);
/* Bytes of scratch. */
int64_t tra_rows_contract_scratch(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                                  const tra_dims *ext_b);
/* out = the product, or out += it (add), on one tile (-1: all of out). */
void tra_rows_contract(const tra_kernel *step, const tra_cell *a, const tra_cell *b, tra_array *out, bool add, int tile,
                       void *scratch);

/* ---- functions before and after another step (elementwise.c) --------------------------------------------------- */

/* A function of one argument of type `arg`. code is NULL for the identity. */
typedef struct tra_unary {
    const tra_code *code;
    tra_dtype arg;
    bool wide;  /* integers are computed as i64 */
    bool dense; /* its argument is of dense type */
} tra_unary;
tra_dtype tra_unary_type(const tra_unary *f);
/* Computes the function for n <= TRA_STRIP numbers of type `from`, as numbers of type `to`; in and out may be the same
 * memory. */
void tra_unary_strip(const tra_unary *f, const void *in, tra_dtype from, int64_t n, void *out, tra_dtype to);

/* A result by rows, element by element: they come in ascending order, and are written a strip at a time, after that
 * function of them. */
typedef struct tra_rows_writer {
    tra_rows_maker *to; /* NULL: elements are only counted */
    const tra_unary *after;
    tra_dtype t, type;      /* of what comes, and of the result */
    int64_t row, n;         /* elements of a row that are not yet written */
    int64_t nrows, entries; /* so far, those of value 0 too */
    double value[TRA_STRIP];
    uint32_t column[TRA_STRIP];
} tra_rows_writer;
/* Not as a whole: it is large. */
void tra_writer_begin(tra_rows_writer *w, tra_rows_maker *to, const tra_unary *after, tra_dtype t, tra_dtype type);
void tra_writer_flush(tra_rows_writer *w);
static inline void tra_writer_put(tra_rows_writer *w, int64_t row, int64_t column, const void *value) {
    if (row != w->row || w->n == TRA_STRIP) tra_writer_flush(w);
    w->nrows += row != w->row;
    w->row = row;
    w->entries++;
    if (!w->to) return;
    size_t size = tra_dtype_size(w->t);
    memcpy((char *)w->value + (size_t)w->n * size, value, size);
    w->column[w->n++] = (uint32_t)column;
}

/* ---- products that are rows (product.c) ----------------------------------------------------------------------- */

int64_t tra_rows_product_scratch(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                                 const tra_dims *ext_b);
/* Makes the product of tra_rows_contract as rows, followed by a function that is 0 at 0. */
void tra_rows_product(const tra_kernel *step, const tra_unary *after, const tra_cell *a, const tra_cell *b,
                      tra_cell *out, void *scratch);
tra_impl tra_rows_product_way(const tra_kernel *step, const tra_unary *after, const tra_cell *a, const tra_cell *b,
                              const tra_cell *out);
/* Can the product be made panel by panel, a range of the result's first dimension at a time? */
bool tra_rows_product_by_panels(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const tra_cell *out);

/* Sums of n products and a state (NULL: none), of the type of the products, at once: each element is added up in the
 * order of the products. tra_rows_sum_room: bytes of room for it; -1: it cannot be made so.
 * tra_rows_sum_use: see tra_cell_sum_use. */
int64_t tra_rows_sum_room(const tra_kernel *step, const tra_cell *a, const tra_cell *b, int n, const tra_cell *out);
int64_t tra_rows_sum_use(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const int64_t entries[2],
                         int64_t n, const tra_cell *out, int64_t *scratch);
void tra_rows_sum(const tra_kernel *step, const tra_cell *a, const tra_cell *b, int n, const tra_cell *state,
                  tra_cell *out, bool again, void *room, void *scratch);

/* ---- element by element (elementwise.c) ----------------------------------------------------------------------- */

/* Computes a function of one or two operands at each element; operands are broadcast. types: the type that each
 * operand is to have (a state is converted first). code is NULL for the values of one operand as they are. wide:
 * integers are computed as i64. It needs no scratch. */
void tra_rows_compute(const tra_code *code, const tra_dtype *types, int nargs, bool wide, const tra_cell *const *in,
                      tra_cell *out);
/* The state of an aggregation (NULL: none yet) with one more term, as tra_cell_merge; the term may be smaller. */
void tra_rows_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out);

/* ---- moves and folds of one operand (reduce.c) ---------------------------------------------------------------- */

/* Is the step a move or fold that tra_rows_reduce takes, for arrays of that rank? */
bool tra_rows_reduces(const tra_kernel *step, int rank);
/* Makes the result of a move or fold of a cell held as rows, as rows or densely. The function `before` is 0 at 0; so
 * is `after` where the result is rows. */
void tra_rows_reduce(const tra_kernel *step, const tra_unary *before, const tra_unary *after, const tra_cell *in,
                     tra_cell *out, void *scratch);
/* Bytes of scratch for it, for an operand of which at most so many entries stay (project.h). */
int64_t tra_rows_reduce_scratch(int64_t entries);
/* The same where entries only move, into rows below box, in columns below `columns`. mapped: with other values. */
int64_t tra_rows_move_scratch(int64_t entries, int64_t box, int64_t columns, bool mapped);

/* ---- kernels ------------------------------------------------------------------------------------------------- */

/* The first places of rows (TRA_K_TOP), top.c. Bytes of scratch for so many entries and k places. */
int64_t tra_rows_top_scratch(int64_t entries, int64_t columns, int64_t k);
void tra_rows_top(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const tra_array *out, void *scratch);

/* Kernels that make arrays dense in scratch, where no other file here has a better way. */
int64_t tra_slow_scratch(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                         const tra_type *b, const tra_dims *ext_b, const tra_layout *out);
void tra_slow_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch);
void tra_slow_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch);
void tra_slow_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch);

/* fold.c */
void tra_rows_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at);
/* gather.c */
/* Appends those of n values that are not 0 to a row, in which they come after those that it has; at columns (NULL: 0,
 * 1, ...) and shift. There is room for all. */
void tra_rows_append(tra_rows_maker *to, int64_t row, const uint32_t *column, int64_t shift, const char *value,
                     tra_dtype t, int64_t n);
void tra_rows_gather(tra_cell_piece *p, int64_t n, tra_cell *out, int m);
void tra_rows_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext);

#endif
