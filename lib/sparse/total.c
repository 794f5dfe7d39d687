/* total.c - functions of entries, folded into dense arrays: sums, products, maxima and minima of rows, columns, all.
 * Entries go to their places in any order. Where there are fewer than elements the others, which all have one value,
 * take part at the end: times their number in a sum, as a power in a product. */
#include "../base/simd.h"
#include "../kernel/parallel_sums.h"
#include "reduce.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 32,      /* entries that a prefetch comes before its use */
    LARGE = 1 << 17, /* elements that the second cache does not hold */
    STEPS = 4,       /* of an entry */
};

typedef struct total {
    const tra_total *t;
    const tra_cell *in; /* the operand that has all labels */
    const tra_cell *other;
    const tra_array *out;
    tra_dtype types[2]; /* of the operands */
    bool sparse[2];
    tra_fold_labels l;
    tra_route route;
    tra_dtype type, value; /* of the states, each of 8 bytes; of the values of the function, before others of these */
    tra_scalar_op fold;
    tra_strip_fn *strip;
    bool moves, repeats; /* repeats: a label is there twice */
    bool joins;          /* entries of one column come to one place, whatever their row */
    int64_t width, step, elements, each;
    char *state;    /* of all pieces, one after the other; one where they write to different places */
    int64_t *count; /* of the entries that came to each place; NULL: that does not matter */
    bool apart;     /* each piece has states of its own */
    double fill[1]; /* the value of what is no entry */
} total;

/* ---- values come ------------------------------------------------------------------------------------------------- */

/* Adds the entries of a row in their order. Entries of one place are added in four lanes, so that no addition waits for
 * the one before it; places in no order are prefetched. A sum that begins with +0 is still +0 after -0 was added. */
static void add_reals(double *sum, int64_t step, const uint32_t *column, const double *value, int64_t n, int64_t after,
                      bool large) {
    double own[4] = {0, 0, 0, 0};
    int64_t k = 0;
    if (step == 0) {
        for (; k + 4 <= n; k += 4)
            for (int i = 0; i < 4; i++) own[i] += value[k + i];
        for (; k < n; k++) own[0] += value[k];
        *sum += (own[0] + own[1]) + (own[2] + own[3]);
    }
    for (int64_t most = n + after - AHEAD; step == 1 && k < n; k++) {
        if (large && k < most) __builtin_prefetch(&sum[column[k + AHEAD]], 1);
        sum[column[k]] += value[k];
    }
    for (; k < n; k++) sum[(int64_t)column[k] * step] += value[k];
}

/* The same for integers, with a test of each addition for overflow. */
static void add_integers(int64_t *to, int64_t step, const uint32_t *column, const int64_t *value, int64_t n) {
    bool over = false;
    for (int64_t k = 0; k < n; k++) {
        int64_t sum, *at = to + (int64_t)column[k] * step;
        over |= __builtin_add_overflow(*at, value[k], &sum);
        *at = sum;
    }
    tra_overflow |= over;
}

/* The first of those that are equal stays; NaN goes before all. Of one place in lanes. */
#define EXTREME(name, T, before)                                                                                       \
    TRA_ANY_TARGET static void name(T *to, int64_t step, const uint32_t *column, const T *value, int64_t n) {          \
        int64_t k = 0;                                                                                                 \
        T best[8];                                                                                                     \
        bool nan = *to != *to;                                                                                         \
        for (int i = 0; i < 8; i++) best[i] = *to;                                                                     \
        for (; step == 0 && !nan && k + 8 <= n; k += 8) {                                                              \
            bool any = false;                                                                                          \
            for (int i = 0; i < 8; i++) any |= value[k + i] != value[k + i];                                           \
            if (any) break;                                                                                            \
            for (int i = 0; i < 8; i++) best[i] = value[k + i] before best[i] ? value[k + i] : best[i];                \
        }                                                                                                              \
        for (int i = 0; i < 8 && k > 0; i++) *to = best[i] before * to ? best[i] : *to;                                \
        for (; k < n; k++) {                                                                                           \
            T *at = to + (int64_t)column[k] * step, v = value[k];                                                      \
            *at = *at != *at ? *at : v != v || v before * at ? v : *at;                                                \
        }                                                                                                              \
    }
EXTREME(max_reals, double, >)
EXTREME(min_reals, double, <)
EXTREME(max_integers, int64_t, >)
EXTREME(min_integers, int64_t, <)
#undef EXTREME

static void fold_values(const total *x, char *state, int64_t step, const uint32_t *column, const void *value, int64_t n,
                        int64_t after) {
    bool real = x->type == TRA_F64;
    void *to = state;
    if (x->moves)
        for (int64_t k = 0; k < n; k++) memcpy(state + (int64_t)column[k] * step * 8, (const char *)value + k * 8, 8);
    else if (x->fold == TRA_S_ADD && real)
        add_reals(to, step, column, value, n, after, x->elements > LARGE);
    else if (x->fold == TRA_S_ADD)
        add_integers(to, step, column, value, n);
    else if (x->fold == TRA_S_MAX)
        real ? max_reals(to, step, column, value, n) : max_integers(to, step, column, value, n);
    else if (x->fold == TRA_S_MIN)
        real ? min_reals(to, step, column, value, n) : min_integers(to, step, column, value, n);
    else
        for (int64_t k = 0; k < n; k++) {
            char *at = state + (int64_t)column[k] * step * 8;
            x->strip(x->fold, at, at, (const char *)value + k * 8, 0, 1);
        }
}

/* Is the row one in which coordinates of one label are equal? *only: the column that is wanted; -1: any. */
static bool is_wanted(const total *x, int64_t row, int64_t *only) {
    const tra_dims *ext = &x->in->array.ext;
    int64_t c[TRA_MAXDIM];
    *only = -1;
    for (int d = ext->n - 2; d >= 0; row /= ext->v[d], d--) {
        c[d] = row % ext->v[d];
        for (int i = d + 1; i + 1 < ext->n; i++)
            if (x->l.in[i] == x->l.in[d] && c[i] != c[d]) return false;
        if (x->l.in[d] == x->l.in[ext->n - 1]) *only = c[d];
    }
    return true;
}

/* Values in a row, of the type of the states. after: how many more columns may be read after them. */
static void put_values(const total *x, int piece, int64_t row, const uint32_t *column, const void *value, int64_t n,
                       int64_t after) {
    int64_t only, shift = x->apart ? piece * x->elements : 0;
    int64_t at = shift + tra_fold_place(&x->route, &x->in->array.ext, x->width, row);
    if (x->repeats) {
        if (!is_wanted(x, row, &only)) return;
        int64_t k = 0;
        while (only >= 0 && k < n && column[k] != only) k++;
        if (only >= 0) column += k, value = (const char *)value + 8 * k, after = 0, n = tra_min64(1, n - k);
    }
    for (int64_t k = AHEAD, end = tra_min64(n + AHEAD, n + after); x->count && x->elements > LARGE && k < end; k++) {
        __builtin_prefetch(x->state + (at + (int64_t)column[k] * x->step) * 8, 1);
        __builtin_prefetch(&x->count[at + (int64_t)column[k] * x->step], 1);
    }
    fold_values(x, x->state + at * 8, x->step, column, value, n, after);
    if (!x->count) return;
    if (x->step == 0)
        x->count[at] += n;
    else
        for (int64_t k = 0; k < n; k++) x->count[at + (int64_t)column[k] * x->step]++;
}

/* The other functions of n values, to the type of the states. */
static void run_more(const total *x, const void *value, int64_t n, void *out) {
    tra_dtype t = x->value;
    for (int i = 0; i < x->t->nmore; i++) {
        const tra_unary *f = &x->t->more[i];
        tra_dtype to = i + 1 < x->t->nmore ? tra_unary_type(f) : x->type;
        tra_unary_strip(f, value, t, n, out, to);
        value = out, t = to;
    }
}

static void put(void *ctx, int piece, const tra_rows_some *some) {
    const total *x = ctx;
    double own[TRA_STRIP];
    const char *value = some->value;
    int n = some->begin[some->nrows];
    if (x->t->nmore > 0) {
        run_more(x, value, n, own);
        value = (const char *)own;
    }
    if (x->joins) {
        put_values(x, piece, 0, some->column, value, n, 0);
        return;
    }
    for (int i = 0; i < some->nrows; i++) {
        int from = some->begin[i], end = some->begin[i + 1];
        put_values(x, piece, some->row[i], some->column + from, value + (size_t)from * 8, end - from, n - end);
    }
}

/* ---- pieces of one operand as it is ------------------------------------------------------------------------------ */

typedef struct plain {
    const total *x;
    tra_rows_view v;
    int64_t at[TRA_PIECES + 1];
} plain;

static void add_rows(void *ctx, int piece, void *scratch) {
    const plain *p = ctx;
    const tra_rows_view *v = &p->v;
    int64_t end = v->begin[v->nrows];
    (void)scratch;
    int64_t from = v->begin[p->at[piece]], to = v->begin[p->at[piece + 1]];
    for (int64_t n; p->x->joins && from < to && !tra_cancelled(); from += n) {
        n = tra_min64(to - from, LARGE);
        put_values(p->x, piece, 0, v->column + from, v->value + from * 8, n, end - from - n);
    }
    for (int64_t r = p->at[piece]; !p->x->joins && r < p->at[piece + 1] && !tra_cancelled(); r++) {
        int64_t k = v->begin[r];
        put_values(p->x, piece, v->row[r], v->column + k, v->value + k * 8, v->begin[r + 1] - k, end - v->begin[r + 1]);
    }
}

static int add_plain(const total *x, int most) {
    plain p = {.x = x, .v = tra_rows_of(x->in)};
    int n = tra_parallel_row_pieces(&p.v, NULL, most, p.at);
    tra_parallel(n, add_rows, &p, NULL);
    return n;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* value folded n > 0 times; of integers whether it fits is noted. */
static void many_times(const total *x, const void *value, int64_t n, double *to) {
    int64_t v;
    memcpy(to, value, 8);
    memcpy(&v, value, 8);
    if (x->moves || x->fold == TRA_S_MAX || x->fold == TRA_S_MIN) return;
    if (x->type == TRA_F64) {
        *to = x->fold == TRA_S_ADD ? *to * (double)n : pow(*to, (double)n);
        return;
    }
    int64_t r = 1;
    bool over = false;
    if (x->fold == TRA_S_ADD) over = __builtin_mul_overflow(v, n, &r);
    for (; x->fold == TRA_S_MUL && n > 0; n >>= 1) {
        if (n & 1) over |= __builtin_mul_overflow(r, v, &r);
        if (n > 1 && (v > 1 || v < -1)) over |= __builtin_mul_overflow(v, v, &v);
        if (v == -1 && n > 1) v = 1;
    }
    tra_overflow |= over;
    memcpy(to, &r, 8);
}

/* The function of n <= TRA_STRIP elements, of the types that it loads, to the type of the states. */
static void run_code(const total *x, const void *const *arg, int64_t n, void *out) {
    const tra_total *t = x->t;
    double regs[TRA_MAXREGS + 3][TRA_STRIP] __attribute__((aligned(64)));
    const void *value = arg[0];
    if (t->code) {
        tra_typed *typed = tra_code_ready(t->code, t->nargs, x->types, t->wide, x->sparse);
        tra_typed_strip(typed, regs, arg, n, out, t->nmore ? x->value : x->type);
        value = out;
        free(typed);
    }
    if (t->nmore) run_more(x, value, n, out);
}

/* What is no entry at n places of the result from `first` on: by the elements of the other operand there. */
static void fill_places(const total *x, int64_t first, int64_t n, double *fill) {
    static const double zeros[TRA_STRIP];
    const tra_kernel *k = x->t->step;
    const tra_array *a = &x->other->array;
    double own[TRA_STRIP];
    int64_t stride[TRA_MAXDIM];
    tra_typed typed;
    tra_dims at;
    int other = 1 - x->t->of;
    tra_code_type(x->t->code, 2, x->types, x->t->wide, NULL, &typed);
    tra_strides(&a->ext, stride);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0;
        tra_unlinear(&x->out->ext, first + i, &at);
        for (int d = 0; d < k->rank[other]; d++)
            from += at.v[(const int8_t *)memchr(k->out, k->in[other][d], (size_t)k->nout) - k->out] * stride[d];
        tra_pick(own, i, typed.load[other], a->data, a->dtype, from);
    }
    const void *arg[2] = {other ? (const void *)zeros : own, other ? (const void *)own : zeros};
    run_code(x, arg, n, fill);
}

/* Folds the value of what is no entry into all states of a maximum or minimum that have any of these. */
#define MISSING(name, T, before)                                                                                       \
    TRA_ANY_TARGET static void name(T *to, const int64_t *count, int64_t each, T fill, int64_t n) {                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T v = to[i] == to[i] && (fill != fill || fill before to[i]) ? fill : to[i];                                \
            to[i] = count[i] < each ? v : to[i];                                                                       \
        }                                                                                                              \
    }
MISSING(max_missing_reals, double, >)
MISSING(min_missing_reals, double, <)
MISSING(max_missing_integers, int64_t, >)
MISSING(min_missing_integers, int64_t, <)
#undef MISSING

static void fold_missing(const total *x) {
    void *to = x->state;
    int64_t whole;
    memcpy(&whole, x->fill, 8);
    if (x->type == TRA_F64)
        (x->fold == TRA_S_MAX ? max_missing_reals : min_missing_reals)(to, x->count, x->each, x->fill[0], x->elements);
    else
        (x->fold == TRA_S_MAX ? max_missing_integers : min_missing_integers)(to, x->count, x->each, whole, x->elements);
}

/* Folds the states of the other pieces, and what is no entry, into those of the first. */
static void end_states(const total *x, int pieces) {
    double rest[1];
    bool zero = !tra_not_zero(x->fill, x->type, 0);
    int64_t known = -1; /* rest: so many of them */
    for (int p = 1; x->apart && p < pieces; p++) {
        const char *other = x->state + p * x->elements * 8;
        for (int64_t i = 0; i < x->elements; i += TRA_STRIP)
            x->strip(x->fold, x->state + i * 8, x->state + i * 8, other + i * 8, 0,
                     tra_min64(TRA_STRIP, x->elements - i));
        for (int64_t i = 0; x->count && i < x->elements; i++) x->count[i] += x->count[p * x->elements + i];
    }
    double at[TRA_STRIP];
    const double *fill = x->fill;
    bool extreme = x->fold == TRA_S_MAX || x->fold == TRA_S_MIN;
    if (x->count && extreme && !x->moves && !x->t->by_place) {
        fold_missing(x);
        return;
    }
    for (int64_t i = 0; x->count && i < x->elements; i++) {
        int64_t n = x->each - x->count[i];
        if (x->t->by_place && i % TRA_STRIP == 0) fill_places(x, i, tra_min64(TRA_STRIP, x->elements - i), at);
        if (x->t->by_place) fill = &at[i % TRA_STRIP], known = -1;
        if (n <= 0) continue;
        if (n != known) many_times(x, fill, known = n, rest);
        if (x->moves || (x->fold == TRA_S_MUL && zero && !x->t->by_place)) /* however large the others are */
            memcpy(x->state + i * 8, fill, 8);
        else
            x->strip(x->fold, x->state + i * 8, x->state + i * 8, rest, 0, 1);
    }
}

static void set_all(char *state, int64_t n, const void *value) {
    for (int64_t i = 0; i < n; i++) memcpy(state + i * 8, value, 8);
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

/* The type of the values of the function, and that in which they are folded. */
static void types_of(const tra_total *t, const tra_dtype *in, tra_dtype *value, tra_dtype *state) {
    tra_typed typed = {.type = in[0]};
    if (t->code) tra_code_type(t->code, t->nargs, in, t->wide, NULL, &typed);
    *value = typed.type;
    tra_dtype last = t->nmore ? tra_unary_type(&t->more[t->nmore - 1]) : typed.type;
    *state = tra_dtype_rows[last].sum;
}

/* Sets x->fill to the value of the function where no operand has an entry. */
static void fill_of(total *x) {
    static const double zero[2];
    memset(x->fill, 0, sizeof x->fill);
    run_code(x, (const void *[2]){zero, zero}, 1, x->fill);
}

/* Do all rows come to one place? */
static bool joins_rows(const tra_fold_labels *l) {
    for (int d = 0; d + 1 < l->rank; d++)
        if (memchr(l->out, l->in[d], (size_t)l->nout)) return false;
    return true;
}

/* Do no two rows come to one place? */
static bool keeps_rows(const tra_fold_labels *l) {
    for (int d = 0; d + 1 < l->rank; d++)
        if (!memchr(l->out, l->in[d], (size_t)l->nout)) return false;
    return true;
}

static bool adds_only(const tra_total *t) {
    return t->nargs == 1 && !t->code && t->nmore == 0 && (t->step->fold == TRA_S_ADD || tra_rows_moves(t->step));
}

/* Bytes for states and numbers of so many elements. */
static int64_t bytes_of(int64_t elements) { return tra_mul_most(16, elements); }

int64_t tra_rows_total_scratch(const tra_total *t, tra_dtype a, const tra_dims *ext, int64_t entries) {
    tra_fold_labels l;
    int64_t elements = 1;
    if (!tra_fold_labels_of(t->step, t->of, ext->n, &l)) return 0;
    for (int d = 0; d < l.rank; d++)
        if (memchr(l.out, l.in[d], (size_t)l.nout) && !memchr(l.in, l.in[d], (size_t)d))
            elements = tra_mul_most(elements, ext->v[d]);
    if (adds_only(t) && !t->after.code && (a == TRA_F64 || a == TRA_I64) && keeps_rows(&l)) return 0;
    /* a piece after the first has eight entries for each element of its own */
    int64_t more = tra_min64(tra_mul_most(TRA_PARALLEL_SUMS, bytes_of(elements)), tra_mul_most(4, entries));
    return tra_min64(TRA_SIZE_MOST, tra_add_most(64, tra_add_most(bytes_of(elements), more)));
}

void tra_rows_total(const tra_total *t, const tra_cell *const *in, const tra_dims *as, tra_array *out, void *scratch) {
    total x = {.t = t, .in = in[t->of], .out = out, .fold = t->step->fold, .moves = tra_rows_moves(t->step)};
    x.other = in[t->nargs - 1 - t->of];
    const tra_dims *ext = &x.in->array.ext;
    for (int i = 0; i < 2; i++) {
        const tra_cell *c = in[i < t->nargs ? i : 0];
        x.types[i] = c->array.dtype, x.sparse[i] = c->sparse || c->layout;
    }
    bool is_one = tra_fold_labels_of(t->step, t->of, ext->n, &x.l);
    assert(is_one && x.in->layout);
    (void)is_one;
    types_of(t, x.types, &x.value, &x.type);
    fill_of(&x);
    tra_fold_route(&x.l, &out->ext, &x.route);
    for (int d = 1; d < ext->n; d++) x.repeats = x.repeats || memchr(x.l.in, x.l.in[d], (size_t)d);
    x.joins = !x.repeats && !x.moves && joins_rows(&x.l);
    x.width = tra_last_extent(&out->ext);
    x.step = ext->n ? tra_fold_step(&x.route, ext, x.width) : 0;
    x.elements = tra_elements_of(&out->ext);
    x.each = x.moves ? 1 : tra_folded(&x.l, ext);
    bool fills = t->by_place || tra_not_zero(x.fill, x.type, 0);
    x.strip = tra_strip_fold(x.type, x.fold, !fills);
    x.apart = !keeps_rows(&x.l) && !x.moves;
    int64_t entries = tra_rows_of(x.in).n;
    for (int i = 0; i < t->nargs; i++)
        if (i != t->of && in[i]->layout) entries = tra_add_most(entries, tra_rows_of(in[i]).n);
    int most = x.apart ? tra_parallel_sum_pieces(entries, STEPS, tra_mul_most(2, x.elements))
                       : tra_parallel_pieces(tra_mul_most(STEPS, entries));
    bool counts = fills || (x.fold != TRA_S_ADD && !x.moves);
    bool here = x.type == out->dtype && !t->after.code && (most == 1 || !x.apart); /* the states are the result */
    char *room = (char *)(((uintptr_t)scratch + 63) / 64 * 64);
    int64_t states = x.elements * (x.apart ? most : 1);
    x.state = here ? out->data : room;
    if (!here) room += 8 * states;
    if (counts) x.count = memset(room, 0, (size_t)states * 8);
    double identity[1];
    tra_strip(x.type)(TRA_S_CONST, identity, NULL, NULL, tra_identity(t->step->identity, t->after.arg), 1);
    if (x.fold == TRA_S_ADD || x.moves)
        memset(x.state, 0, (size_t)states * 8);
    else
        set_all(x.state, states, identity);
    int pieces = most;
    if (x.each > 0 && t->nargs == 1 && !t->code && t->nmore == 0 && x.types[0] == x.type) {
        pieces = add_plain(&x, most);
    } else if (x.each > 0) {
        tra_rows_sink sink = {t->nmore ? x.value : x.type, most, &x, put};
        tra_cell own[2] = {*in[0], t->nargs == 2 ? *in[1] : *in[0]}; /* what is broadcast */
        const tra_cell *operand[2] = {&own[0], &own[1]};
        bool both = t->nargs == 2 && x.other->layout;
        unsigned where = both ? (fills ? 3 : 0) : 1u << t->of;
        if (t->nargs == 2) own[1 - t->of].array.ext = *as;
        pieces = tra_rows_visit(t->code, x.types, t->nargs, t->wide, operand, ext, where, &sink);
    }
    end_states(&x, pieces);
    if (x.state == out->data) return;
    for (int64_t i = 0; i < x.elements; i += TRA_STRIP) {
        int64_t n = tra_min64(TRA_STRIP, x.elements - i);
        tra_unary_strip(&t->after, x.state + i * 8, x.type, n,
                        (char *)out->data + (size_t)i * tra_dtype_size(out->dtype), out->dtype);
    }
}
