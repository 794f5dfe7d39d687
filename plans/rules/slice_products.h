/* slice_products.h - what the parts of rule Q-5 on rows share: rows of products that are gathered from the operand
 * (gather.c), and the joins and predicates that leave them (gather_products.c). Private to plans/rules. */
#ifndef TRA_Q5_H
#define TRA_Q5_H

#include "../../lib/table/tensor_rows.h"
#include "pipeline.h"

typedef struct gathering {
    tra_rewriting *w;
    tra_arena *a;
    const tra_expr *x, *y; /* the selection, for messages; the rows of the tensor */
    const tra_border *border;
    const tra_node *index; /* the positions of all rows, in blocks */
    int64_t block;         /* rows of one */
    tra_expr *positions;   /* of the rows that are left, as a matrix of one column */
} gathering;

const tra_memo_group *tra_gather_group(const gathering *f, int group);
/* Is the tensor of that group a product, or computed of one, so that its rows follow from rows of its operands? */
bool tra_gather_has_product(const gathering *f, int group);
/* Its rows at f->positions; NULL after a refusal. */
tra_expr *tra_gather_left(const gathering *f, int group);

#endif
