/* passes.c - what operations of a kernel take, as passes over memory: kernel.h. */
#include "kernel_int.h"

/* Of an element of its result, or of the terms of that: operations and what they take. Measured with one thread on
 * AVX2: an addition in a strip takes 0.13 ns, exp 1 ns, a power 6 ns; a tile 0.04 ns an operation; a pass 0.85 ns. */
static void step_passes(const tra_kernel *k, double *flops, double *passes) {
    static const double CHEAP = 0.15, FUNCTION = 2, POWER = 8, TILE = 0.05, EACH = 1.0 / 3;
    bool folds = k->cls == TRA_K_ALIGNED && k->nlabels > k->nout;
    if ((k->cls != TRA_K_SCALAR && k->cls != TRA_K_ALIGNED) || tra_code_flops(k->code) + folds < 1) {
        *flops += 1, *passes += 1;
        return;
    }
    double n = tra_code_flops(k->code) + folds, own = (k->nin + !folds) * EACH + folds * CHEAP;
    *flops += n;
    if (folds && !tra_fold_places(k->fold) && k->nin == 2 && tra_tiles_fit(k->code, k->fold)) {
        *passes += TILE * n;
        return;
    }
    for (int i = 0; i < k->code->n; i++) {
        tra_scalar_op op = k->code->v[i].op;
        if (op == TRA_S_CONST || op == TRA_S_ARG) continue;
        bool cheap = op == TRA_S_DIV || op == TRA_S_SQRT;
        tra_scalar_class class = tra_scalar_class_of(op);
        own += class == TRA_SC_POWER ? POWER : class == TRA_SC_REAL && !cheap ? FUNCTION : CHEAP;
    }
    *passes += own;
}

double tra_kernel_passes(const tra_kernel *k, bool held) {
    static const double ROWS = 0.5;
    const tra_kernel *const *steps, *self = k;
    double flops = 0, passes = 0;
    int n = tra_steps(k, &steps, &self);
    for (int i = 0; i < n; i++) {
        if (steps[i]->cls == TRA_K_ROWS) return ROWS;
        step_passes(steps[i], &flops, &passes);
    }
    return held ? 1 : passes / flops;
}
