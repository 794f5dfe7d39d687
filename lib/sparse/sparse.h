/* sparse.h - kernels of arrays that are held as rows of entries (lib/relation/rows.h).
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

#include "../kernel/kernel_int.h"
#include "../relation/rows.h"

/* ---- cells of either holding (access.c) --------------------------------------------------------------------- */

static inline int64_t tra_last_extent(const tra_dims *ext) { return ext->n ? ext->v[ext->n - 1] : 1; }

/* Is element i of an array of that type not 0? */
static inline bool tra_not_zero(const void *data, tra_dtype t, int64_t i) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: return ((const type *)data)[i] != 0;
        TRA_DTYPES(X)
#undef X
    }
    return false;
}

/* Entries of an array of that type and of at most these extents, at most. */
int64_t tra_most_entries(const tra_type *t, const tra_dims *ext);

/* The first row that is there of those from number `row` on: its place, v->nrows if there is none. */
int64_t tra_rows_from(const tra_rows_view *v, int64_t row);
/* The first entry of place r whose column is not below this one. */
int64_t tra_rows_entry(const tra_rows_view *v, int64_t r, int64_t column);

/* Those of its rows that have these coordinates in the first of the dimensions before the last. */
tra_rows_view tra_rows_within(const tra_rows_view *v, const tra_dims *ext, const int64_t panel[2]);

/* A cell read row by row, however it is held: dense ones have all rows and columns. */
typedef struct tra_reader {
    const tra_cell *cell;
    bool dense;
    tra_rows_view v;       /* not dense */
    int64_t columns, rows; /* of its box */
} tra_reader;
tra_reader tra_read_cell(const tra_cell *c);
/* Its row `number` as entries: columns (NULL: 0, 1, 2, ...), and the place of the first value among all. Returns how
 * many there are. */
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

/* The n elements from column `from` on of a row of entries (as tra_read_row gave them), as type `to` of strips; those
 * that are no entries are 0. *at: the entry to begin with, then the one after. n <= TRA_STRIP. */
void tra_row_strip(const uint32_t *column, int64_t count, const void *value, tra_dtype t, int64_t first, int64_t from,
                   int64_t n, tra_dtype to, void *buf, int64_t *at);

/* Element k as number i of a strip of type `to`. */
static inline void tra_pick(void *strip, int64_t i, tra_dtype to, const void *data, tra_dtype t, int64_t k) {
    if (to == TRA_F64)
        ((double *)strip)[i] = t == TRA_F64 ? ((const double *)data)[k] : tra_get(data, t, k);
    else if (to == TRA_F32)
        ((float *)strip)[i] = t == TRA_F32 ? ((const float *)data)[k] : (float)tra_get(data, t, k);
    else
        ((int64_t *)strip)[i] = t == TRA_I64   ? ((const int64_t *)data)[k]
                                : t == TRA_I32 ? ((const int32_t *)data)[k]
                                               : ((const uint8_t *)data)[k];
}

/* Of a strip of values of the result's type that stand at these columns of a row, those that are not 0 become entries
 * (to NULL: are counted only). Returns how many. */
int64_t tra_rows_put_strip(tra_rows_maker *to, tra_dtype t, int64_t row, const uint32_t *column, const void *value,
                           int64_t n);
/* The place for the value of the next entry: as tra_rows_next, but no row is opened before it has one. */
static inline void *tra_rows_put(tra_rows_maker *m, int64_t row, uint32_t column) {
    if (m->v.nrows == 0 || m->v.row[m->v.nrows - 1] != row) tra_rows_open(m, row);
    return tra_rows_next(m, column);
}

/* What was counted for a result, and what that takes. */
static inline int64_t tra_rows_counted(tra_cell *out, int64_t nrows, int64_t n) {
    out->counted[0] = nrows;
    out->counted[1] = n;
    return tra_rows_room(out->array.dtype, nrows, n);
}

/* The array of a cell: its own, or made in room. */
tra_array tra_dense_of(const tra_cell *c, void *room);
/* A dense array as rows. */
int64_t tra_rows_bytes_of(const tra_array *a);
void tra_rows_fill(const tra_array *a, tra_cell *out);

/* ---- innermost loops (loops.c) -------------------------------------------------------------------------------- */

/* Over n entries: values v at columns, of a dense operand d (or one number of it, x), added to c. All of one type: f64,
 * f32, or i64, of which what does not fit is noted. Strides in elements. */
typedef struct tra_row_loops {
    /* *c += sum of v[k] d[column[k] * sd] */
    void (*dot)(const void *v, const uint32_t *column, int64_t n, const void *d, int64_t sd, void *c);
    /* c[column[k] * sc] += v[k] x */
    void (*scatter)(const void *v, const uint32_t *column, int64_t n, const void *x, void *c, int64_t sc);
    /* c[j] += sum of v[k] d[column[k] * sd + j], j < width */
    void (*add_rows)(const void *v, const uint32_t *column, int64_t n, const void *d, int64_t sd, void *c,
                     int64_t width);
    /* c[column[k] * sc + j] += v[k] d[column[k] * sd + j], j < width */
    void (*spread_rows)(const void *v, const uint32_t *column, int64_t n, const void *d, int64_t sd, void *c,
                        int64_t sc, int64_t width);
} tra_row_loops;
const tra_row_loops *tra_row_loops_of(tra_dtype t);

/* ---- contractions into dense arrays (contract.c) -------------------------------------------------------------- */

/* Is the kernel, for operands of these extents, a product that tra_rows_contract takes? */
bool tra_rows_contracts(const tra_kernel *step, const tra_dims *a, const tra_dims *b);
/* Bytes of scratch. */
int64_t tra_rows_contract_scratch(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                                  const tra_dims *ext_b);
/* out = the product, or out += it (add), on one tile (-1: all of out). */
void tra_rows_contract(const tra_kernel *step, const tra_cell *a, const tra_cell *b, tra_array *out, bool add, int tile,
                       void *scratch);

/* ---- functions before and after another step (elementwise.c) --------------------------------------------------- */

/* A function of one argument of that type. code NULL: the values as they are. */
typedef struct tra_unary {
    const tra_code *code;
    tra_dtype arg;
    bool wide; /* integers are computed as i64 */
} tra_unary;
tra_dtype tra_unary_type(const tra_unary *f);
/* Its value for n <= TRA_STRIP numbers of type `from`, as numbers of type `to`, which may be the same memory. */
void tra_unary_strip(const tra_unary *f, const void *in, tra_dtype from, int64_t n, void *out, tra_dtype to);

/* ---- products that are rows (product.c) ----------------------------------------------------------------------- */

int64_t tra_rows_product_scratch(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                                 const tra_dims *ext_b);
/* The product that tra_rows_contract takes, as rows, and a function of it that is 0 at 0; count: only what it takes is
 * counted, or more. Returns that. */
int64_t tra_rows_product(const tra_kernel *step, const tra_unary *after, const tra_cell *a, const tra_cell *b,
                         tra_cell *out, bool count, void *scratch);
/* Can it be made panel by panel? */
bool tra_rows_product_by_panels(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const tra_cell *out);

/* ---- element by element (elementwise.c) ----------------------------------------------------------------------- */

/* A function of one operand or two, of these types (of a state: of what it is to become first). code NULL: the values
 * of one operand as they are. Broadcasts. count: as in tra_rows_product; nothing else is returned of a dense result. No
 * scratch. */
int64_t tra_rows_elementwise(const tra_code *code, const tra_dtype *types, int nargs, const tra_cell *const *in,
                             tra_cell *out, bool count);

/* The same; wide: integers are computed as i64. */
int64_t tra_rows_compute(const tra_code *code, const tra_dtype *types, int nargs, bool wide, const tra_cell *const *in,
                         tra_cell *out, bool count);

/* ---- moves and folds of one operand (reduce.c) ---------------------------------------------------------------- */

/* Is the step one, of arrays of that rank? */
bool tra_rows_reduces(const tra_kernel *step, int rank);
/* Of rows, into either; the functions before (which is 0 at 0) and after (where the result is rows, it too). count as
 * above. */
int64_t tra_rows_reduce(const tra_kernel *step, const tra_unary *before, const tra_unary *after, const tra_cell *in,
                        tra_cell *out, bool count, void *scratch);
/* Its scratch, of an operand of type t, of these extents or larger ones, with at most so many entries. */
int64_t tra_rows_reduce_scratch(const tra_kernel *step, const tra_unary *before, const tra_unary *after, tra_dtype t,
                                const tra_dims *ext, const tra_layout *out, int64_t entries);

/* ---- kernels ------------------------------------------------------------------------------------------------- */

/* By making arrays dense in scratch: what no other file here has a better way for. */
int64_t tra_slow_scratch(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                         const tra_type *b, const tra_dims *ext_b, const tra_layout *out);
int64_t tra_slow_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, bool count, void *scratch);
int64_t tra_slow_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, bool count,
                      void *scratch);
int64_t tra_slow_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, bool count,
                        void *scratch);

/* fold.c */
void tra_rows_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at);
/* merge.c */
int64_t tra_rows_merge_bytes(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out);
void tra_rows_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out);
/* gather.c */
int64_t tra_rows_gather_bytes(tra_cell_piece *p, int64_t n, tra_cell *out);
void tra_rows_gather(tra_cell_piece *p, int64_t n, tra_cell *out);
void tra_rows_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext);

#endif
