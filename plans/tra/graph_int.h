/* graph_int.h - what graph.c (names and statements) and graph_calls.c (operators and their arguments) share. */
#ifndef TRA_GRAPH_INT_H
#define TRA_GRAPH_INT_H

#include "gen.h"
#include "linear.h"
#include "slice.h"
#include "storage.h"
#include "table_build.h"
#include "units.h"
#include "whole.h"

/* Result `part` of the nparts results of x, a call of solve, inverse or a decomposition (linear.h). */
tra_node *tra_build_linear_call(tra_build *b, const tra_ast *x, int part, int nparts);

#endif
