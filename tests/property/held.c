/* held.c - changes at random which results of a plan are held as rows of entries. */
#include "held.h"

#include "../../lib/kernel/program.h"
#include "../../lib/model/rows.h"
#include "../../lib/storage/stored.h"
#include "../../lib/physical/repart.h"
#include "generate.h"

/* Shows or moves the arrays of its input as they are. */
static bool passes(const tra_op *op) { return tra_op_is(op->op, TRA_RENAMES | TRA_FORWARDS); }

/* Must the result of operator i be dense, or does something that shares its blocks? */
static bool stays_dense(const tra_plan *p, int i) {
    if (!tra_rows_can(&p->ops[i].type.cat->bound)) return true;
    if (p->ops[i].spec.partial && !tra_kernel_is_sum(p->ops[i].spec.agg)) return true;
    for (int j = i + 1; j < p->nops; j++) {
        const tra_op *op = &p->ops[j];
        if (op->in[0] != i && op->in[1] != i) continue;
        if (passes(op) && stays_dense(p, j)) return true;
    }
    return false;
}

/* What programs make is held as it was planned. */
static bool may_be(const tra_op *op, bool rows) {
    bool planned = op->spec.join && tra_kernel_is_program(op->spec.join);
    return planned || !op->type.sparse ? rows == (op->type.layout != NULL) : true;
}

/* Is it an operand of a program, which does not run however its operands are held? */
static bool is_bound(const tra_plan *p, int i) {
    for (int j = i + 1; j < p->nops; j++) {
        const tra_op *op = &p->ops[j];
        if (op->in[0] != i && op->in[1] != i) continue;
        if (passes(op) && is_bound(p, j)) return true;
        if (!op->spec.join || !tra_kernel_is_program(op->spec.join)) continue;
        const tra_op *a = &p->ops[op->in[0]], *b = &p->ops[op->in[1]];
        for (int k = 0; k < 4; k++)
            if (may_be(a, k & 1) && may_be(b, k & 2) &&
                !tra_program_runs(op->spec.join, k & 1 ? &tra_rows : NULL, k & 2 ? &tra_rows : NULL, op->type.layout))
                return true;
    }
    return false;
}

/* What all tuples of an exchange, or pieces of them, may take on all sites. */
static tra_size most_moved(const tra_plan *p, const tra_op *op) {
    int64_t blocks = op->op == TRA_PLAN_REPART ? tra_repart_pieces(p, op) : op->type.cat->n;
    return tra_size_upto(
        tra_type_bytes_pieces(&op->type, tra_catalog_elements(op->type.cat) * p->sites, blocks * p->sites).bound);
}

/* Lets some outputs be stored by levels, too. */
static bool store_some(tra_plan *p, rng *r, tra_arena *a) {
    bool any = false;
    for (int i = 0; i < p->nops; i++) {
        tra_levels l;
        if (p->ops[i].op != TRA_PLAN_OUTPUT || !rng_chance(r, 50)) continue;
        if (!draw_levels(r, &p->ops[i].type, &l)) continue;
        tra_levels *mine = tra_new(a, tra_levels);
        *mine = l;
        p->ops[i].spec.levels = mine;
        p->ops[i].spec.mapping = NULL;
        any = true;
    }
    return any;
}

bool hold_some(tra_plan *p, rng *r, tra_arena *a) {
    bool any = store_some(p, r, a);
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        const tra_layout *planned = op->type.layout;
        /* only what is sparse by type is ever held as rows, whose kernels let zeros annihilate; but it may be dense */
        bool program = op->spec.join && tra_kernel_is_program(op->spec.join); /* held as it was planned */
        if (tra_op_is(op->op, TRA_MAKES) && op->type.sparse && !program && !is_bound(p, i))
            op->type.layout = !stays_dense(p, i) && rng_chance(r, 70) ? &tra_rows : NULL;
        if (passes(op)) op->type.layout = p->ops[op->in[0]].type.layout;
        if (op->in[0] >= 0 && (op->type.layout || p->ops[op->in[0]].type.layout))
            op->spec.triangle = false; /* only dense results are computed by triangles */
        if (!op->type.layout && !planned) continue;
        any = true;
        tra_size *moved = &op->predicted.cost.network_bytes;
        if (moved->bound > 0) *moved = most_moved(p, op);
    }
    p->cost.network_bytes = tra_size_exactly(0);
    for (int i = 0; i < p->nops; i++)
        p->cost.network_bytes = tra_size_add(p->cost.network_bytes, p->ops[i].predicted.cost.network_bytes);
    return any;
}
