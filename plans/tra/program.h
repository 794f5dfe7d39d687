/* program.h - tensor statements that run as programs on blocks. Private to plans/tra. */
#ifndef TRA_BUILD_PROGRAM_H
#define TRA_BUILD_PROGRAM_H

#include "build.h"

/* The params and relations that a tensor statement may name: the scope of its value. */
typedef struct tra_tensor_scope {
    int n;
    const tra_calc_name *name;
    const tra_calc_free *free;
    const tra_node *const *node; /* of relations; NULL for params */
} tra_tensor_scope;

/* Sets *out to the integer that x is by params and extents alone; false, without a diagnostic, if it is none. Writes
 * types into the tree. */
bool tra_tensor_whole(tra_build *b, const tra_tensor_scope *scope, const tra_calc *x, int64_t *out);
/* Evaluates an extent that the statement says; false after a diagnostic. */
bool tra_tensor_extent(tra_build *b, const tra_tensor_scope *scope, const tra_calc *x, int64_t *out);
/* Does a checked tree read name i of the scope? */
bool tra_tensor_reads(const tra_calc *x, int i);

/* The node of a tensor statement whose value is checked, run by the calculus on the blocks of what it reads; NULL after
 * a diagnostic. */
tra_node *tra_build_program(tra_build *b, const tra_tensor_scope *scope, const tra_stmt *st);

/* Where an expression of the calculus stands in the text. */
tra_span tra_calc_span(const tra_calc *x);

#endif
