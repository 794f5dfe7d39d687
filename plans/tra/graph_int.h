/* graph_int.h - what graph.c (names and statements) and graph_calls.c (operators and their arguments) share. */
#ifndef TRA_GRAPH_INT_H
#define TRA_GRAPH_INT_H

#include "linear.h"
#include "slice.h"
#include "storage.h"
#include "table_build.h"

/* Result `part` of an operator that has several. */
tra_node *tra_build_part(tra_build *b, const tra_ast *x, int part, int nparts);
tra_node *tra_build_relation(tra_build *b, const tra_ast *x);

#endif
