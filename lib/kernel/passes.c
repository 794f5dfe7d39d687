/* passes.c - what operations of a kernel take, as passes over memory: kernel.h. */
#include "kernel_int.h"

/* Of an element of its result, or of the terms of that: operations and what they take. Measured with one thread on
 * AVX2: an addition in a strip takes 0.13 ns, exp 1 ns, a power 6 ns; a tile 0.06 ns an operation, since its operands
 * are packed; a pass 0.85 ns. moved: what is read and written of a pass. Whole numbers are computed as if they had 8
 * bytes, and so are tiles. */
static void step_passes(const tra_kernel *k, tra_dtype t, const tra_dims *const *ext, double moved, double *flops,
                        double *passes) {
    static const double CHEAP = 0.15, FUNCTION = 2, POWER = 8, TILE = 0.09, EACH = 1.0 / 3, NEAR = 0.05, WIDER = 0.25,
                        EXTREME = 0.5, PLACE = 1.2, STRIP = 36, ENDS = 60, STEPS = 0.6; /* a strip, its fold, strides */
    bool folds = k->cls == TRA_K_ALIGNED && k->nlabels > k->nout, real = tra_dtype_is_float(t);
    double wide = 8.0 / (double)tra_dtype_size(t), lane = real ? 1 : wide;
    if ((k->cls != TRA_K_SCALAR && k->cls != TRA_K_ALIGNED) || tra_code_flops(k->code) + folds < 1) {
        *flops += 1, *passes += moved;
        return;
    }
    double n = tra_code_flops(k->code) + folds, own = folds ? CHEAP * lane : EACH;
    *flops += n;
    int near = 0; /* where an operand lacks a label, an element is read again and again, and comes from a cache */
    for (int o = 0; o < k->nin; o++) {
        bool again = folds && k->rank[o] < k->nlabels;
        own += again ? NEAR : EACH;
        near += again;
    }
    if (near == 2 && lane > 1) own += 2 * WIDER * lane; /* each is converted again and again */
    if (folds && ext) {
        tra_strips x = tra_aligned_strips(k, ext);
        if (x.way == TRA_IMPL_TILES && real) {
            *passes += TILE * n * wide;
            return;
        }
        bool extreme = k->fold == TRA_S_MAX || k->fold == TRA_S_MIN;
        if (real) own += x.way == TRA_IMPL_PLACES ? PLACE : extreme ? EXTREME : 0;
        if (x.way != TRA_IMPL_PLANES) own += wide * (STRIP + x.along * ENDS) / x.length + x.strided * STEPS;
    }
    for (int i = 0; i < k->code->n; i++) {
        tra_scalar_op op = k->code->v[i].op;
        if (op == TRA_S_CONST || op == TRA_S_ARG) continue;
        bool cheap = op == TRA_S_DIV || op == TRA_S_SQRT;
        tra_scalar_class class = tra_scalar_class_of(op);
        own += class == TRA_SC_POWER ? POWER : class == TRA_SC_REAL && !cheap ? FUNCTION : CHEAP * lane;
    }
    *passes += own;
}

double tra_kernel_passes(const tra_kernel *k, bool held, tra_dtype t, const tra_dims *a, const tra_dims *b,
                         double written) {
    static const double ROWS = 0.5;
    double moved = (1 + 2 * written) / 3;
    const tra_kernel *const *steps, *self = k;
    double flops = 0, passes = 0;
    int n = tra_steps(k, &steps, &self);
    for (int i = 0; i < n; i++) {
        if (steps[i]->cls == TRA_K_ROWS) return ROWS * moved;
        step_passes(steps[i], t, i || held ? NULL : (const tra_dims *[]){a, b}, moved, &flops, &passes);
    }
    return held ? moved : passes / flops;
}
