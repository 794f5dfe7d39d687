/* panels.c - results that are made and written in panels where memory is short (grow.h). */
#include "../model/rows.h"
#include "../storage/stored.h"
#include "needs.h"

bool tra_agg_finishes_by_panels(const tra_kernel *agg) {
    const tra_kernel *rest = tra_kernel_rest(agg);
    return !rest || (!tra_kernel_rest(rest) && tra_kernel_props(rest) & TRA_P_ELEMENTWISE);
}

/* A cell that stands for the largest array of a relation; only its extents and layout are known. */
static tra_cell largest_cell(const tra_type *t) {
    return (tra_cell){.layout = t->layout, .sparse = t->sparse, .array = {.dtype = t->dtype, .ext = t->cat->bound}};
}

/* Does the kernel of the join make the terms of a result, or the result, panel by panel? */
static bool joins_by_panels(const tra_plan *p, const tra_op *op, tra_dtype made) {
    if (!op->spec.join) return true;
    const tra_dims *l = &p->ops[op->in[0]].type.cat->bound, *r = &p->ops[op->in[1]].type.cat->bound;
    tra_cell a = largest_cell(&p->ops[op->in[0]].type), b = largest_cell(&p->ops[op->in[1]].type);
    tra_cell out = {.layout = op->type.layout, .sparse = true, .array.dtype = made};
    tra_err none = {0};
    if (tra_kernel_shape2(op->spec.join, l, r, l, r, &out.array.ext, NULL, &none) != TRA_OK) return false;
    return tra_cell_join_by_panels(op->spec.join, &a, &b, &out);
}

int64_t tra_op_panel(const tra_plan *p, const tra_op *op, const tra_op *output) {
    const tra_levels *levels = output->spec.levels;
    bool counted = op->spec.join && !op->spec.agg;
    if (!tra_op_is(op->op, TRA_LOOPS) || op->type.layout != &tra_rows || !(tra_op_grows(op) || counted)) return 0;
    if (!levels || !tra_levels_in_order(levels) || op->type.cat->bound.n < 2) return 0;
    if (op->spec.agg && !op->spec.partial && !tra_agg_finishes_by_panels(op->spec.agg)) return 0;
    tra_dtype state = tra_op_state_dtype(p, op);
    if (!joins_by_panels(p, op, state)) return 0;
    int64_t n, rows = 1;
    tra_dims one = op->type.cat->bound;
    one.v[0] = 1;
    if (!tra_dims_product(&one, &n)) return 0;
    for (int d = 1; d + 1 < one.n; d++) rows *= one.v[d];
    if (op->type.entries) n = tra_min64(n, op->type.entries->most);
    tra_dtype larger = tra_dtype_size(state) > tra_dtype_size(op->type.dtype) ? state : op->type.dtype;
    return tra_block_footprint(tra_max64(TRA_LITTLE, tra_rows_room(larger, tra_min64(rows, n), n)));
}

bool tra_op_makes_strips(const tra_plan *p, const tra_op *op) {
    if (!op->spec.join || !op->spec.agg) return false;
    if (!tra_kernel_folds_as(tra_kernel_first(op->spec.agg), op->spec.join)) return false;
    if (op->spec.partial || tra_kernel_rest(op->spec.agg) || tra_op_tree(p, op).leaves > 1) return false;
    const tra_type *l = &p->ops[op->in[0]].type, *r = &p->ops[op->in[1]].type;
    return l->layout == &tra_rows && r->layout == &tra_rows && tra_op_state_dtype(p, op) == op->type.dtype;
}

int64_t tra_op_panels_bound(const tra_plan *p, const tra_op *op, int64_t here, int threads, int64_t budget) {
    tra_type sum = op->type;
    bool counted = op->spec.join && !op->spec.agg;
    if (!op->type.layout || !tra_op_is(op->op, TRA_LOOPS) || !(tra_op_grows(op) || counted)) return 0;
    if (op->spec.agg) sum.dtype = tra_op_state_dtype(p, op);
    tra_size largest = tra_type_bytes_largest(&sum);
    if (tra_size_planned(largest) >= largest.bound && (!op->method.panel || op->method.panel >= largest.bound))
        return 0;
    tra_block_loop loop = tra_op_loop(p, op, threads, budget);
    int64_t result = tra_max64(1, tra_type_bytes_largest(&op->type).bound);
    int64_t most = tra_mul_most(here, tra_ceil_div(largest.bound, result));
    return tra_min64(most, tra_mul_most(loop.ci * loop.cj, largest.bound));
}
