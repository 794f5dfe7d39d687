/* passes.c - what operations of a kernel take, as passes over memory: kernel.h. */
#include "kernel_int.h"

#include <math.h>

/* What an operation of a step moves and computes; moved: the share of a pass that the step reads and writes. The
 * constants were measured with one thread on AVX2, for an element of the result or a term of its sum: an addition in a
 * strip takes 0.13 ns, exp 1 ns, a power 6 ns, a term of a tile 0.09 ns (its operands are packed), a pass 0.85 ns.
 * Whole numbers and tiles count as elements of 8 bytes. */
static tra_passes step_passes(const tra_kernel *k, tra_dtype t, const tra_dims *const *ext, double moved) {
    static const double CHEAP = 0.15, WHOLE = 0.12, QUOTIENT = 0.6, REST = 8, FUNCTION = 2, POWER = 8, TILE = 0.11,
                        EACH = 1.0 / 3, NEAR = 0.05, WIDER = 0.5, EXTREME = 0.5, PLACE = 1.2;
    static const double STRIP = 36, ENDS = 60, STEPS = 0.6; /* a strip, its fold, strides */
    bool folds = k->cls == TRA_K_ALIGNED && k->nlabels > k->nout, real = tra_dtype_is_float(t);
    double n = k->cls == TRA_K_SCALAR || k->cls == TRA_K_ALIGNED ? tra_code_flops(k->code) + folds : 0;
    if (n < 1) return (tra_passes){.moved = moved};
    double lane = real ? (double)tra_dtype_size(t) / 8 : 1;
    double op = real ? CHEAP * lane : WHOLE;
    tra_passes own = {folds ? 0 : EACH, folds ? op : 0};
    int near = 0; /* where an operand lacks a label, an element is read again and again, and comes from a cache */
    int nin = k->cls == TRA_K_SCALAR ? 1 + (ext[1] != NULL) : k->nin;
    for (int o = 0; o < nin; o++) {
        bool again = folds && k->rank[o] < k->nlabels;
        own.moved += again ? NEAR : EACH;
        near += again;
    }
    if (near == 2 && tra_dtype_size(t) < lane * 8) own.computed += 2 * WIDER; /* each is converted again and again */
    if (folds) {
        tra_strips x = tra_aligned_strips(k, ext);
        bool extreme = k->fold == TRA_S_MAX || k->fold == TRA_S_MIN;
        if (x.way == TRA_IMPL_TILES && real) return (tra_passes){2 * EACH / x.terms / n, (1 + extreme) * TILE / n};
        if (real) own.computed += lane * (x.way == TRA_IMPL_PLACES ? PLACE : extreme ? EXTREME : 0);
        if (x.way != TRA_IMPL_PLANES) own.computed += (STRIP + real * x.along * ENDS) / x.length;
        if (x.way == TRA_IMPL_PLACES && x.along)
            own.computed += STRIP * log2(x.length) / x.length; /* the fold of its end, in halves */
        own.moved += x.strided * STEPS;
    }
    for (int i = 0; i < k->code->n; i++) {
        tra_scalar_op s = k->code->v[i].op;
        if (s == TRA_S_CONST || s == TRA_S_ARG) continue;
        own.computed += s == TRA_S_DIV || s == TRA_S_SQRT        ? QUOTIENT * lane
                        : s == TRA_S_MOD || s == TRA_S_IDIV      ? REST
                        : tra_scalar_class_of(s) == TRA_SC_POWER ? POWER * lane
                        : tra_scalar_class_of(s) == TRA_SC_REAL  ? FUNCTION * lane
                                                                 : op;
    }
    return (tra_passes){own.moved / n, own.computed / n};
}

/* Each row's first k places of m elements: a few are kept in a heap. Of many the row is split, until the first k are
 * apart, which takes up to m elements more for each half that is left, and only these are split on down to short runs.
 */
static tra_passes top_passes(const tra_dims *in, const tra_dims *out, double moved) {
    static const double HEAP = 3, LEVEL = 6, SHORT = 12, RUN = 2; /* of an element; RUN: levels to order a short run */
    double m = in->n ? (double)in->v[in->n - 1] : 1, k = out->n ? (double)out->v[out->n - 1] : 1;
    double apart = k < m ? 2 - k / m : 1, levels = apart + k / m * (RUN + log2(fmax(1, k / SHORT)));
    return (tra_passes){moved, (k < m / 16 ? HEAP : LEVEL * levels) / 2};
}

tra_passes tra_kernel_passes(const tra_kernel *k, bool held, tra_dtype t, const tra_dims *a, const tra_dims *b,
                             double written) {
    static const double ROWS = 0.5;
    tra_passes all = {.moved = (1 + 2 * written) / 3};
    if (!k) return (tra_passes){.moved = 1};
    const tra_kernel *const *steps, *self = k;
    double flops = 0;
    tra_passes sum = {0};
    tra_dims at = *a, next;
    int n = tra_steps(k, &steps, &self);
    for (int i = 0; i < n; i++) {
        if (steps[i]->cls != TRA_K_ROWS) continue;
        tra_rows_extent rows = steps[i]->rows->extent;
        bool counted = rows == TRA_ROWS_MOST || rows == TRA_ROWS_ONE; /* flops have what is written, too */
        return (tra_passes){.moved = ROWS * (counted || steps[i]->rows->sorts ? 1 : (1 + 5 * written) / 6)};
    }
    /* the largest arrays of two operands need not fit together: only those that meet do */
    if (!held && b && tra_kernel_shape2(k, a, b, a, b, &next, NULL, NULL) != TRA_OK) return all;
    for (int i = 0; i < n && !held; i++, at = next) {
        const tra_dims *other = i ? NULL : b;
        if (other)
            tra_step_shape2(steps[i], &at, other, &next);
        else
            tra_step_shape1(steps[i], &at, &next);
        double f = tra_step_flops(steps[i], &at, other, &next);
        tra_passes x = steps[i]->cls == TRA_K_TOP
                           ? top_passes(&at, &next, all.moved)
                           : step_passes(steps[i], t, (const tra_dims *[]){&at, other}, all.moved);
        flops += f, sum.moved += f * x.moved, sum.computed += f * x.computed;
    }
    return flops > 0 ? (tra_passes){sum.moved / flops, sum.computed / flops} : all;
}
