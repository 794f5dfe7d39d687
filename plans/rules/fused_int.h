/* fused_int.h - what fused.c and fused_plan.c share. */
#ifndef TRA_FUSED_INT_H
#define TRA_FUSED_INT_H

#include "../../lib/kernel/program.h"
#include "../storel/compose.h"
#include "fused.h"

typedef struct fusing {
    tra_memo *m;
    const tra_einsum *s; /* the statement, perhaps with the dimensions of its result in another order */
    tra_calc_program *p;
    const tra_expr
        *operand[TRA_PROGRAM_MOST]; /* of each operand of p its relation, cut as the statement's labels are */
    int of_ref[TRA_MAXLABELS];      /* of each reference of the statement the number of its operand */
    const tra_fused_options *o;
    const tra_node
        *product; /* the statement as a join, if the pairs of entries that meet in it are counted; else NULL */
    bool sampled; /* it is sampled, by no plan of the calculus */
} fusing;

int64_t fused_block_of(const tra_einsum *s, int label); /* the length of its blocks, at most its extent */
/* Sets p->fused: a plan for each way in which the first and the last operand may be held (dense, or as rows). first:
 * the relation of the first operand, or what packs all operands but the last. False: a plan is missing. */
bool fused_plan(fusing *f, const tra_expr *first);

/* ---- statements (fused_statement.c, fused_sums.c) --------------------------------------------------------------- */

bool fused_is_product(const tra_scalar *x); /* of references and numbers */
/* The statement, with the diagonals of operands that have a label twice in the place of those operands. */
const tra_einsum *fused_of_diagonals(tra_memo *m, const tra_einsum *s);
/* The statement, a sum of products, with the factors of sums that are its factors; itself if it has none. */
const tra_einsum *fused_of_sums(tra_arena *a, const tra_einsum *s);
/* The statement with functions of one reference, which are factors, as references; itself if it has none. */
const tra_einsum *fused_of_maps(tra_memo *m, const tra_einsum *s);
/* The product with argument i as argument number[i]. */
const tra_scalar *fused_renumber(tra_arena *a, const tra_scalar *x, const int *number);
/* Is the operand's node an expression of the memo, which rules made, and not a node of the program? */
static inline bool fused_is_expr(const tra_memo *m, const tra_node *n) {
    return n->id < m->n && &m->v[n->id]->node == n;
}
/* The expression of the memo that a reference reads: its own, or that of a node of the program. */
static inline tra_expr *fused_expr(const tra_memo *m, const tra_node *n) {
    return m->v[fused_is_expr(m, n) ? n->id : m->of_node[n->id]];
}

/* ---- products under a mask (fused_masked.c) --------------------------------------------------------------------- */

/* The reference to a matrix, transposed; false: the memo is full. */
bool fused_transpose(tra_memo *m, const tra_einsum_ref *r, tra_einsum_ref *out);
/* The relation of a reference, cut in the blocks of its labels; NULL: the memo is full. */
const tra_expr *fused_in_blocks(const fusing *f, const tra_einsum_ref *r);
/* A product with operands transposed first, added to the group (fused_turned.c); false: that is not worth it. */
bool fused_turned(fusing *f, int group, const tra_expr **made);
/* Is it a product of two matrices under a mask, all of sparse type? */
bool fused_is_masked(const tra_einsum *s);
/* The statement with references transposed, where its kernel needs that of such a product; else itself. */
const tra_einsum *fused_transposed(fusing *f);
bool fused_masked_plan(fusing *f, int held, tra_fused_plan *x);

/* ---- what is sampled at the entries of a mask (fused_sampled.c) -------------------------------------------------- */

/* The reference that masks a statement, which can be sampled at its entries; -1: there is none. */
int fused_sampling_mask(const tra_einsum *s);
/* Sets the plan, where operands are held as they are expected to be; false: they are held otherwise. */
bool fused_sampled_plan(fusing *f, int held, tra_fused_plan *x);

/* Of the n operands of a statement (its references, and the relations of these in blocks), in an order: leaves that one
 * to the last with which packing the others takes least, if it is much less. (fused_plan.c) */
void fused_choose_last(const tra_einsum *s, int *ref, const tra_expr **of, int n);

#endif
