/* rowless.h - results of a join of tables that are known to have no rows: they are made without a task for each, and
 * share one block. A table that is divided has a slice for each pair of a block and a part, nearly all of them empty
 * where it has far fewer rows than it might have. Private to joinagg.c. */
#ifndef TRA_ROWLESS_H
#define TRA_ROWLESS_H

#include "stages.h"

/* Of each operand the tuples of which no result has rows, by their index; NULL: there are none. */
typedef struct tra_rowless {
    bool *v[2];
} tra_rowless;
/* Finds these tuples as far as they are there, and emits all their results that the stage wants. x is to be freed also
 * after a failure. For the thread that runs the plan, before the stage begins. */
TRA_MUSTUSE tra_status tra_rowless_make(tra_site *site, tra_loop_stage *v, tra_rowless *x, tra_err *e);
void tra_rowless_free(tra_rowless *x);

#endif
