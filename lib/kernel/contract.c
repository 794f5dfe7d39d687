/* contract.c - products and sums of two operands: Einstein strings, matmul, outer.
 *
 * Each label becomes a loop with a stride in A, B and C (0 where it is absent; a repeated label adds its strides, which
 * walks the diagonal; an accumulator larger than the result just has larger strides). By where they occur labels are
 *     M: A and C    N: B and C    K: summed    batch: A, B and C
 * The output is cut in tiles by its extents alone, and each tile is a fixed sequence of one-thread BLAS calls in
 * ascending order of the summed labels (contract_tile.c; contract_triangle.c where only a triangle is wanted): who
 * computes a tile does not show in its bits.
 *
 * Products of integers are i64. They go to BLAS as f64, packed, where extents and extremes prove that no sum of
 * magnitudes reaches 2^53, so that every step is exact; else the loops are those of integers, which test for what does
 * not fit i64 unless extents and extremes prove that all does. */
#include "contract_int.h"
#include "parallel_sums.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    AREA = 768 * 768, /* a smaller output is one tile; 1000 x 1000 makes two of 500 x 1000 */
    ROWS = 512,       /* of a tile, at least, where there are more, */
    MOST_ROWS = 2048, /* and at most: the BLAS packs what multiplies them */
};

/* ---- BLAS --------------------------------------------------------------------------------------------------- */

/* OpenBLAS is to compute each call on the thread that makes it, since the workers are the threads. Those that the
 * library starts before main wait for work in a loop for some 25 ms: they are ended where it offers a way to. */
extern int blas_thread_shutdown_(void) __attribute__((weak));
void gotoblas_init(void) __attribute__((weak)); /* OpenBLAS's own constructor, which does it once */
static __attribute__((constructor)) void one_thread(void) {
    if (gotoblas_init) gotoblas_init(); /* it would come after this one where OpenBLAS is in the program */
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_) blas_thread_shutdown_();
}

/* ---- labels ------------------------------------------------------------------------------------------------- */

typedef struct label {
    tra_loop loop; /* n in the operands, strides in A, B, C */
    int64_t room;  /* n in C, which may be larger */
    bool in[3];
} label;

typedef struct labels {
    int n;
    label v[2 * TRA_MAXDIM];
} labels;

/* The labels of a step for these extents; a and b NULL: only `room` is wanted (not of OUTER). */
static void make_labels(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_dims *c, labels *ls) {
    int8_t outer[3][2 * TRA_MAXDIM];
    const int8_t *index[3] = {k->in[0], k->in[1], k->out};
    if (k->cls == TRA_K_OUTER) {
        for (int d = 0; d < a->n; d++) outer[A][d] = outer[C][d] = (int8_t)d;
        for (int d = 0; d < b->n; d++) outer[B][d] = outer[C][a->n + d] = (int8_t)(a->n + d);
        for (int i = 0; i < 3; i++) index[i] = outer[i];
        ls->n = a->n + b->n;
    } else {
        ls->n = k->nlabels;
    }
    memset(ls->v, 0, (size_t)ls->n * sizeof(label));
    const tra_dims *ext[3] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        int64_t stride[TRA_MAXDIM];
        if (ext[i]) tra_strides(ext[i], stride);
        int rank = ext[i] ? ext[i]->n : k->rank[i];
        for (int d = 0; d < rank; d++) {
            label *l = &ls->v[index[i][d]];
            l->in[i] = true;
            if (!ext[i]) continue;
            l->loop.s[i] += stride[d];
            *(i == C ? &l->room : &l->loop.n) = ext[i]->v[d];
        }
    }
}

static int class_of(const label *l) {
    if (!l->in[C]) return K;
    return l->in[A] && l->in[B] ? BATCH : l->in[A] ? M : N;
}

/* ---- tiles -------------------------------------------------------------------------------------------------- */

/* How the output is cut: of each of M, N, BATCH one label in so many pieces. */
typedef struct cuts {
    int label[CLASSES];
    int64_t pieces[CLASSES];
} cuts;

/* The label of class c that is outermost in the result among those with room for so many pieces; `largest` where none
 * has. What lies inside stays whole, so that loops which step as one still do, and BLAS gets long ones. */
static int outermost(const labels *ls, int c, double pieces, int largest) {
    int found = -1;
    for (int i = 0; i < ls->n; i++) {
        if (class_of(&ls->v[i]) != c || (double)ls->v[i].room < pieces) continue;
        if (found < 0 || ls->v[i].loop.s[C] > ls->v[found].loop.s[C]) found = i;
    }
    return found < 0 ? largest : found;
}

static void make_cuts(const tra_kernel *step, const labels *ls, cuts *cut) {
    double total[CLASSES] = {1, 1, 1, 1};
    for (int c = 0; c < CLASSES; c++) cut->label[c] = -1, cut->pieces[c] = 1;
    if (step->pieces) {
        const label *l = &ls->v[step->cut];
        cut->label[class_of(l)] = step->cut;
        cut->pieces[class_of(l)] = tra_max64(1, tra_min64(step->pieces, l->room));
        return;
    }
    for (int i = 0; i < ls->n; i++) {
        int c = class_of(&ls->v[i]);
        if (c == K) continue; /* never cut: the bits would depend on it */
        total[c] *= (double)ls->v[i].room;
        if (cut->label[c] < 0 || ls->v[i].room > ls->v[cut->label[c]].room) cut->label[c] = i;
    }
    /* by rows first: a row-major BLAS packs what the tiles of one row share only once that way */
    double m = total[M], n = total[N], most[CLASSES];
    most[M] = n <= 1 ? BLAS_MOST : fmin(MOST_ROWS, fmax(ROWS, AREA / n));
    most[N] = 2.0 * AREA / fmax(fmin(m, most[M]), 1);
    most[BATCH] = fmax(AREA / fmax(m * n, 1), 1);
    for (int c = 0; c < CLASSES; c++) {
        if (cut->label[c] < 0) continue;
        double want = ceil(total[c] / most[c]);
        cut->label[c] = outermost(ls, c, want, cut->label[c]);
        int64_t extent = tra_max64(ls->v[cut->label[c]].room, 1);
        cut->pieces[c] = want <= 1 ? 1 : want >= (double)extent ? extent : (int64_t)want;
    }
    /* a count that fits an int, for absurd shapes */
    while (cut->pieces[M] * cut->pieces[N] > BLAS_MOST / cut->pieces[BATCH])
        for (int c = 0; c < CLASSES; c++) cut->pieces[c] = tra_ceil_div(cut->pieces[c], 2);
}

/* Pieces of a label that differ by one at most. */
static void piece_of(const label *l, int64_t piece, int64_t pieces, int64_t *from, int64_t *to) {
    *from = (int64_t)((__int128)l->room * piece / pieces);
    *to = (int64_t)((__int128)l->room * (piece + 1) / pieces);
}

int tra_contract_tiles(const tra_kernel *step, const tra_dims *acc) {
    labels ls;
    cuts cut;
    make_labels(step, NULL, NULL, acc, &ls);
    make_cuts(step, &ls, &cut);
    return (int)(cut.pieces[M] * cut.pieces[N] * cut.pieces[BATCH]);
}

void tra_contract_range(const tra_kernel *step, const tra_dims *acc, int tile, int64_t *from, int64_t *to) {
    labels ls;
    cuts cut;
    make_labels(step, NULL, NULL, acc, &ls);
    make_cuts(step, &ls, &cut);
    int64_t pm = cut.pieces[M], pn = cut.pieces[N];
    int64_t piece[CLASSES] = {[M] = tile / pn % pm, [N] = tile % pn, [BATCH] = tile / (pn * pm)};
    for (int i = 0; i < ls.n; i++) {
        int c = class_of(&ls.v[i]);
        from[i] = 0;
        to[i] = ls.v[i].in[C] ? ls.v[i].room : INT64_MAX;
        if (i == cut.label[c]) piece_of(&ls.v[i], piece[c], cut.pieces[c], &from[i], &to[i]);
    }
}

void tra_contract_tile(const tra_kernel *step, const tra_dims *acc, int tile, tra_nest *nest, int64_t *at) {
    labels ls;
    int64_t from[2 * TRA_MAXDIM], to[2 * TRA_MAXDIM];
    make_labels(step, NULL, NULL, acc, &ls);
    tra_contract_range(step, acc, tile, from, to);
    nest->n = 0;
    *at = 0;
    for (int i = 0; i < ls.n; i++) {
        int64_t stride = ls.v[i].loop.s[C];
        if (stride == 0) continue;
        *at += from[i] * stride;
        tra_nest_add(nest, to[i] - from[i], 0, stride, 0);
    }
}

/* ---- the type of integers ----------------------------------------------------------------------------------- */

/* The largest magnitude of an element. */
static double extreme(const tra_array *x) {
    int64_t n = tra_elements_of(&x->ext), low = 0, high = 0;
    for (int64_t i = 0; i < n; i += TRA_STRIP) {
        int64_t buf[TRA_STRIP], len = tra_min64(TRA_STRIP, n - i);
        const int64_t *v = tra_load(x->data, x->dtype, i, 1, len, TRA_I64, buf);
        for (int64_t j = 0; j < len; j++) {
            low = v[j] < low ? v[j] : low;
            high = v[j] > high ? v[j] : high;
        }
    }
    return fmax(-(double)low, (double)high);
}

/* Chooses the type in which integers are multiplied, so that sums are exact, and whether each step must be tested for
 * overflow. */
static void choose_type(problem *p, const labels *ls, const tra_array *a, const tra_array *b) {
    p->ints = !tra_dtype_is_float(p->dtype[C]);
    p->wide = false;
    p->t = p->dtype[C];
    if (!p->ints) return;
    double most = extreme(a) * extreme(b);
    for (int i = 0; i < ls->n; i++)
        if (class_of(&ls->v[i]) == K) most *= (double)ls->v[i].loop.n;
    p->wide = most >= 0x1p62;
    if (most < 0x1p53) p->t = TRA_F64;
}

/* ---- entrances ---------------------------------------------------------------------------------------------- */

/* A product, of which tiles are computed. */
typedef struct product {
    labels ls;
    cuts cut;
    problem p;
    const tra_array *a, *b, *out;
    const bool *sparse;
    bool add, careful, triangle;
} product;

/* Computes a product in which an operand of sparse type meets NaN or infinity: one product at a time. */
static void run_careful(const problem *p, const tra_array *a, const tra_array *b, const tra_array *out,
                        const bool *sparse) {
    tra_nest kept;
    contract_output_loops(p, &kept);
    tra_product_slow(&kept, &p->loops[K], a, b, sparse, out, p->at, p->add);
}

/* The problem of a tile, of which the result may fill a part: room is all of it. first_of: rows and columns before it.
 * True: the result does not fill it. */
static bool problem_of(const product *x, int tile, problem *p, tra_nest *room, int64_t *first_of) {
    const labels *ls = &x->ls;
    const cuts *cut = &x->cut;
    int64_t pm = cut->pieces[M], pn = cut->pieces[N];
    p->data[A] = x->a->data, p->data[B] = x->b->data, p->out = x->out->data;
    memcpy(p->dtype, x->p.dtype, sizeof p->dtype);
    p->ints = x->p.ints, p->wide = x->p.wide, p->t = x->p.t;
    p->add = x->add;
    room->n = 0;
    bool small = false;
    for (int c = 0; c < CLASSES; c++) p->loops[c].n = 0;
    p->at[A] = p->at[B] = p->at[C] = 0;
    int64_t piece[CLASSES] = {[M] = tile / pn % pm, [N] = tile % pn, [BATCH] = tile / (pn * pm)};
    for (int i = 0; i < ls->n; i++) {
        tra_loop l = ls->v[i].loop;
        int c = class_of(&ls->v[i]);
        int64_t from = 0, to = ls->v[i].room;
        if (i == cut->label[c]) {
            piece_of(&ls->v[i], piece[c], cut->pieces[c], &from, &to);
            for (int o = 0; o < 3; o++) p->at[o] += from * l.s[o];
            l.n = tra_max64(0, tra_min64(to, l.n) - from);
            first_of[c] = from;
        }
        p->loops[c].v[p->loops[c].n++] = l;
        if (l.s[C] == 0) continue;
        tra_nest_add(room, to - from, 0, l.s[C], 0);
        small |= l.n < to - from;
    }
    return small;
}

static void one_tile(const product *x, int tile) {
    problem p; /* not initialised as a whole: it is large */
    tra_nest room;
    int64_t first_of[CLASSES] = {0};
    bool small = problem_of(x, tile, &p, &room, first_of);
    if (small && !x->add) { /* the result does not fill the tile */
        contract_fill_zero(&p, &room);
        p.add = p.loops[K].n > 0;
    }
    if (x->careful)
        run_careful(&p, x->a, x->b, x->out, x->sparse);
    else if (x->triangle)
        contract_run_triangle(&p, first_of[M], first_of[N]);
    else
        contract_run_tile(&p);
}

static void run_piece(void *ctx, int tile, void *scratch) {
    (void)scratch;
    if (!tra_cancelled()) one_tile(ctx, tile);
}

static int64_t begin(product *x, const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out) {
    x->a = a, x->b = b, x->out = out;
    make_labels(step, &a->ext, &b->ext, &out->ext, &x->ls);
    make_cuts(step, &x->ls, &x->cut);
    x->p.dtype[A] = a->dtype, x->p.dtype[B] = b->dtype, x->p.dtype[C] = out->dtype;
    return x->cut.pieces[M] * x->cut.pieces[N] * x->cut.pieces[BATCH];
}

tra_impl tra_contract_way(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out) {
    product x; /* not initialised as a whole: it is large */
    problem p;
    tra_nest room;
    x.add = false;
    (void)begin(&x, step, a, b, out);
    x.p.ints = !tra_dtype_is_float(out->dtype);
    x.p.wide = false;
    x.p.t = out->dtype;
    (void)problem_of(&x, 0, &p, &room, (int64_t[CLASSES]){0});
    return contract_way(&p);
}

static void contract(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out, bool add,
                     int tile, const bool *sparse, bool triangle) {
    product x;
    int64_t tiles = begin(&x, step, a, b, out);
    assert(tile < tiles);
    x.sparse = sparse, x.add = add, x.triangle = triangle;
    choose_type(&x.p, &x.ls, a, b);
    x.careful = tra_product_careful(a, b, sparse);
    if (tile >= 0)
        one_tile(&x, tile);
    else
        tra_parallel((int)tiles, run_piece, &x, NULL);
}

void tra_contract(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out, bool add,
                  int tile, const bool *sparse) {
    contract(step, a, b, out, add, tile, sparse, false);
}

void tra_contract_triangle(const tra_kernel *step, const tra_array *a, const tra_array *out, bool add, int tile,
                           bool sparse) {
    contract(step, a, a, out, add, tile, (const bool[2]){sparse, sparse}, true);
}
