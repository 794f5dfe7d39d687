/* needs_entries.c - what a stage with sparse results has in memory where memory is not short. Its least memory, which
 * needs.c knows, has room for sums that grow term by term. Mostly sums are made at once (grow.h). */
#include "../kernel/kernel.h"
#include "../model/rows.h"
#include "needs.h"

static tra_cell largest_cell(const tra_type *t) {
    return (tra_cell){.layout = t->layout, .sparse = t->sparse, .array = {.dtype = t->dtype, .ext = t->cat->bound}};
}

static int64_t entries_of(const tra_type *t, int64_t arrays) {
    int64_t most = t->entries ? t->entries->most : tra_catalog_elements_most(t->cat);
    return tra_min64(tra_type_entries(t).bound, tra_mul_most(arrays, most));
}

/* What a worker has in memory to make a sum of products strip by strip: copies of terms, and these in order. *scratch:
 * of what each worker has of scratch, how much is touched; *terms: the copies that all workers have. -1: it is not made
 * so. */
static int64_t strips_use(const tra_plan *p, const tra_op *op, int threads, int64_t budget, int64_t *scratch,
                          int64_t *terms) {
    const tra_op *l = &p->ops[op->in[0]], *r = &p->ops[op->in[1]];
    int64_t n = tra_op_terms(p, op), each = tra_op_stored_room(p, l) + (l == r ? 0 : tra_op_stored_room(p, r));
    int64_t copies =
        tra_min64(tra_mul_most(n - 1, each), tra_add_most(l->holds->arrays, l == r ? 0 : r->holds->arrays));
    *terms = tra_mul_most(tra_op_grow_at_once(op, threads), copies);
    if (*terms > budget / TRA_HELD_SHARE) return -1;
    tra_cell a = largest_cell(&l->type), b = largest_cell(&r->type), out = largest_cell(&op->type);
    const int64_t entries[2] = {entries_of(&l->type, n), entries_of(&r->type, n)};
    tra_err none = {0};
    if (tra_kernel_shape2(op->spec.join, &a.array.ext, &b.array.ext, &a.array.ext, &b.array.ext, &out.array.ext, NULL,
                          &none) != TRA_OK)
        return -1;
    int64_t room = tra_cell_sum_use(op->spec.join, &a, &b, entries, n, &out, scratch);
    return room < 0 ? -1 : tra_add_most(copies, room);
}

static bool makes_strips(const tra_plan *p, const tra_op *op) {
    return op->method.panel && !p->panels && tra_op_makes_strips(p, op);
}

/* Bytes of results that wait in memory until all are counted, where their file is stored by levels: as many as are
 * expected, and a little more. here: bytes that are planned for all results of a site. */
static int64_t waiting(const tra_plan *p, const tra_op *op, const tra_op *output, int64_t here, int64_t budget) {
    int64_t n = tra_max64(1, op->type.cat->n), all = tra_type_bytes_all(&op->type).expected;
    if (!output || !tra_op_counts_first(output)) return 0;
    if (makes_strips(p, op) && all / n > op->method.panel) return 0; /* strips do not wait */
    int64_t likely = tra_min64(op->holds->takes.expected, all);
    return tra_min64(budget / 2, tra_min64(here, tra_add_most(likely + likely / 8, TRA_LITTLE)));
}

int64_t tra_op_use(const tra_plan *p, const tra_op *op, const tra_op *output, const tra_use_known *known, int threads,
                   tra_use_limits *limits) {
    bool counted = op->spec.join && !op->spec.agg;
    *limits = (tra_use_limits){INT64_MAX, INT64_MAX};
    if (!tra_op_is(op->op, TRA_LOOPS) || op->type.layout != &tra_rows || !(tra_op_grows(op) || counted)) return -1;
    int64_t at_once = tra_op_grow_at_once(op, threads), made = tra_op_room(op), scratch = 0, use = known->mine;
    int64_t terms = 0, waits, each = -1;
    if (makes_strips(p, op)) each = strips_use(p, op, threads, known->budget, &scratch, &terms);
    if (each >= 0) limits->terms = tra_max64(TRA_LITTLE, terms);
    limits->waits = waits = waiting(p, op, output, known->here, known->budget);
    if (each >= 0) {
        made = tra_min64(made, op->method.panel);
        /* memory that a strip leaves is not always such that the next one fits */
        use = tra_mul_most(at_once, tra_add_most(each, at_once > 1 ? made + made / 2 : made / 2 + made / 8));
        use = tra_add_most(use, threads * (scratch + op->method.io_bytes));
    } else if (counted) { /* its operands and results are counted by themselves */
        for (int side = 0; side < 2; side++) use -= tra_op_stored_room(p, &p->ops[op->in[side]]);
        use -= tra_op_room(op) + (threads - at_once) * op->method.io_bytes;
    } else {
        return tra_add_most(use, waits);
    }
    int64_t results = tra_add_most(tra_mul_most(at_once, made), waits);
    return tra_add_most(tra_max64(0, use), output ? tra_min64(results, tra_max64(made, known->here)) : results);
}

int64_t tra_output_use(const tra_plan *p, const tra_op *output, int threads) {
    const tra_op *in = &p->ops[output->in[0]];
    int64_t room = tra_op_room(in), n = tra_op_grow_at_once(in, threads);
    int64_t read = n * (output->method.panel ? tra_min64(output->method.panel, room) : room);
    int64_t held = tra_min64(tra_max64(read, in->holds->arrays), tra_add_most(output->method.waits, read));
    return held + n * tra_stored_room(&in->type, output);
}
