/* becomes_dense.h - which statement makes a sparse operand dense. Private to plans/search. */
#ifndef TRA_BECOMES_DENSE_H
#define TRA_BECOMES_DENSE_H

#include "../tra/tra.h"

/* The end of a message that memory is short: the operator that takes most to hold a sparse operand densely, with its
 * size, and what to write instead; "" where there is none. */
const char *tra_becomes_dense(const tra_graph *g, tra_arena *a);

#endif
