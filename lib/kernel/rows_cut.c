/* rows_cut.c - see rows_cut.h. */
#include "rows_cut.h"
#include "../model/rows.h"
#include "kernel_int.h"

#include <math.h>
#include <string.h>

enum { THREADS = 2 }; /* by which plans are judged */

/* The time of one element of a vector, of that of an entry by itself. */
static const double OF_VECTOR = 0.1;

/* What decides about a product. */
typedef struct rows_product {
    double entries, rows, width; /* of an array that is rows; elements of the result that an entry is added to */
    bool vector;                 /* these lie side by side, in the dense operand too */
    int cut;                     /* the label that is cut; -1: none */
    double pieces;               /* into so many */
    double read, written;        /* bytes of the dense operand, and of the result, that entries of one row look for */
} rows_product;

static bool is_among(const int8_t *label, int n, int l) { return memchr(label, l, (size_t)n) != NULL; }

static bool look(const tra_kernel *join, const tra_type *a, const tra_type *b, rows_product *x) {
    enum { TILE = 1 << 16, MOST = 64, PART = 24 }; /* products of a tile, entries of a part of a row, at least */
    if (!join || join->cls != TRA_K_EINSUM || join->nin != 2 || !b) return false;
    const tra_type *in[2] = {a, b};
    int o = a->layout == &tra_rows ? 0 : 1;
    if (in[o]->layout != &tra_rows || in[!o]->layout) return false;
    const tra_dims *ext = &in[o]->cat->bound, *other = &in[!o]->cat->bound;
    const int8_t *label = join->in[o], *dense = join->in[!o];
    if (ext->n < 2 || ext->n != join->rank[o] || other->n != join->rank[!o]) return false;
    double size = (double)tra_dtype_size(in[!o]->dtype), read = size, written = size;
    for (int d = 0; d < other->n; d++) read *= dense[d] == label[0] ? 1 : (double)other->v[d];
    for (int l = 0; l < join->nout; l++) {
        const int8_t *at = memchr(label, join->out[l], (size_t)ext->n);
        const int8_t *also = memchr(dense, join->out[l], (size_t)other->n);
        if (join->out[l] != label[0])
            written *= at ? (double)ext->v[at - label] : also ? (double)other->v[also - dense] : 1;
    }
    *x = (rows_product){.read = read,
                        .written = written,
                        .entries = (double)tra_type_entries(in[o]).expected / (double)tra_max64(1, in[o]->cat->n),
                        .rows = 1,
                        .width = 1,
                        .cut = -1};
    for (int d = 0; d + 1 < ext->n; d++) x->rows *= (double)ext->v[d];
    for (int d = 0; d < other->n; d++)
        if (is_among(join->out, join->nout, dense[d]) && !is_among(label, ext->n, dense[d]))
            x->width *= (double)other->v[d];
    x->vector = x->width > 1 && dense[other->n - 1] == join->out[join->nout - 1] &&
                !is_among(label, ext->n, dense[other->n - 1]);
    x->pieces = fmin(MOST, x->entries * x->width / TILE);
    if (is_among(join->out, join->nout, label[0])) {
        x->cut = label[0];
    } else if (is_among(join->out, join->nout, label[ext->n - 1])) {
        double each = x->entries / fmax(1, fmin(x->rows, x->entries));
        x->cut = label[ext->n - 1];
        x->pieces = fmin(x->pieces, each / PART); /* shorter ones are not read ahead */
    }
    x->pieces = x->cut < 0 ? 1 : fmax(1, floor(x->pieces));
    return true;
}

tra_kernel *tra_kernel_cut_rows(const tra_kernel *join, const tra_type *a, const tra_type *b) {
    rows_product x;
    if (!look(join, a, b, &x) || x.cut < 0) return NULL;
    tra_kernel *k = tra_malloc(sizeof *k);
    *k = *join;
    k->cut = x.cut;
    k->pieces = (int)x.pieces;
    return k;
}

/* Of two threads that read 6 GB/s together: an entry by itself takes 1.3 ns, each of a vector's elements 0.13; by that
 * rate either would take 2.7. */
bool tra_kernel_meets_entries(const tra_kernel *join) {
    bool folds = join->cls == TRA_K_ALIGNED && join->nin == 2 && join->nlabels > join->nout;
    return join->props & TRA_P_CONTRACTION || (folds && join->code->n == 1 && join->code->v->op == TRA_S_MUL);
}

/* Are both operands rows of entries, and is the join a product of them? */
static bool both_rows(const tra_kernel *join, const tra_type *a, const tra_type *b) {
    return join && (join->cls == TRA_K_EINSUM || join->cls == TRA_K_ALIGNED) && join->nin == 2 && b &&
           a->layout == &tra_rows && b->layout == &tra_rows && tra_kernel_meets_entries(join);
}

static double entries_of(const tra_type *t) {
    return (double)tra_type_entries(t).expected / (double)tra_max64(1, t->cat->n);
}

/* How far from the caches so many bytes are: 0: the nearest has them, 1: none has. */
static double farness(double bytes) {
    static const double NEAR = 1 << 20, FAR = 1 << 27;
    return fmax(0, fmin(1, log2(fmax(2, bytes / NEAR) / 2) / log2(FAR / NEAR / 2)));
}

double tra_kernel_rows_finding(const tra_kernel *join, const tra_type *a, const tra_type *b) {
    enum { LOOKUP = 48, ORDER = 32, ENTRY = 12 }; /* where no cache has them; bytes */
    if (!both_rows(join, a, b)) return 0;
    const tra_type *in[2] = {a, b};
    int o = join->nout > 0 && !is_among(join->in[0], join->rank[0], join->out[0]);
    bool natural[2] = {join->nout == 0 || join->in[o][0] == join->out[0],
                       join->nout == 0 || join->in[!o][join->rank[!o] - 1] == join->out[join->nout - 1]};
    double far = farness(ENTRY * entries_of(in[!o]));
    double each = LOOKUP * entries_of(in[o]);
    for (int i = 0; i < 2; i++)
        if (!natural[i]) each += ORDER * entries_of(in[i ? !o : o]);
    return far * each;
}

double tra_kernel_rows_share(const tra_kernel *join, const tra_type *a, const tra_type *b, int64_t results) {
    static const double ONE = 0.5;   /* of the memory's rate */
    static const double BOTH = 0.25; /* of products of entries with entries: what they come to is counted besides */
    static const double NEAR = 0.09; /* the same, where results stay in a near cache, as in bands */
    static const double MERGED = 4;  /* rows are merged, and results put in rows of their own */
    static const double COLD = 22;   /* reading or adding to a dense row that no cache has, in times of an entry */
    rows_product x;
    if (both_rows(join, a, b) && join->nout > 1) return tra_type_rows_stay_near(a, b) ? NEAR : BOTH;
    bool each_entry = join && (join->cls == TRA_K_ALIGNED || join->cls == TRA_K_SCALAR);
    if (each_entry && b && a->layout == &tra_rows && b->layout == &tra_rows) return MERGED;
    if (!look(join, a, b, &x)) return 1;
    /* entries ask ahead for single numbers, which then come as fast as the entries do */
    double far = COLD * (farness(x.read) + farness(x.written));
    double each = x.vector ? (1 + far) / x.width + OF_VECTOR : 1;
    double busy = fmin(THREADS, x.pieces * (double)tra_max64(1, results));
    return ONE * each * THREADS / fmax(1, busy);
}

double tra_kernel_order_share(const tra_kernel *map, const tra_type *in, const tra_type *out) {
    enum { SORT = 15 }; /* passes of one thread */
    bool orders = map && in->layout == &tra_rows && out->layout == &tra_rows && in->cat->bound.n > 1 &&
                  (map->props & TRA_P_MOVES) && !(map->props & TRA_P_ELEMENTWISE);
    return orders ? SORT * fmax(1, THREADS / (double)tra_max64(1, in->cat->n)) : 1;
}
