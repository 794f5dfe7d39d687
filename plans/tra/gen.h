/* gen.h - relations that a program makes, and extents of its relations as numbers. Private to plans/tra. */
#ifndef TRA_BUILD_GEN_H
#define TRA_BUILD_GEN_H

#include "build.h"

/* The node of gen(VALUES, [extents], by = .., seed = .., type = ..); NULL after a diagnostic. */
tra_node *tra_build_gen(tra_build *b, const tra_ast *call);
/* Is it computed of numbers, params and extents alone? */
bool tra_is_of_numbers(const tra_build *b, const tra_ast *x);
/* Such a number as a relation of rank 0, of f64; NULL after a diagnostic. */
tra_node *tra_build_number_relation(tra_build *b, const tra_ast *x);
/* The number extent(X, d); false after a diagnostic. */
bool tra_build_extent(tra_build *b, const tra_ast *call, int64_t *out);

#endif
