/* storage.h - storage and tensor statements, and storages by name. Private to plans/tra. */
#ifndef TRA_BUILD_STORAGE_H
#define TRA_BUILD_STORAGE_H

#include "build.h"

/* The storage that a statement names, for arrays of this rank, of integers (whole) or floats: one of the program, else
 * of the library. NULL after a diagnostic. */
const tra_storage *tra_build_storage(tra_build *b, const tra_storage_use *use, int rank, bool whole);
/* The second argument of store(X, NAME(args)). */
bool tra_build_storage_use(tra_build *b, const tra_ast *x, tra_storage_use *use);
/* Is what a statement's `as` names a storage that fits the relation? */
void tra_build_check_storage(tra_build *b, const tra_stmt *st, const tra_node *n);
void tra_build_storage_statement(tra_build *b, const tra_stmt *st);

/* The EinSum statement that a tensor statement means, of which the value is a sum of products over labels; NULL after a
 * diagnostic that says why it is none. */
const tra_stmt *tra_tensor_einsum(tra_build *b, const tra_stmt *st);
/* The node of a tensor statement: that of its EinSum statement, in the blocks that it asks for. */
tra_node *tra_build_tensor(tra_build *b, const tra_stmt *st);

#endif
