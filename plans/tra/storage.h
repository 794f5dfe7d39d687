/* storage.h - storage and tensor statements, and storages by name. Private to plans/tra. */
#ifndef TRA_BUILD_STORAGE_H
#define TRA_BUILD_STORAGE_H

#include "build.h"

/* Makes of t, the type of a declared input if it were dense, what `as` and `nnz` of the statement say; leaves it dense
 * after a diagnostic. */
void tra_build_declared(tra_build *b, const tra_stmt *st, tra_type *t, tra_storage_choice *out);
/* How a result of type t is stored by "as NAME(args)". False after a diagnostic. */
bool tra_build_stored(tra_build *b, const tra_storage_use *use, const tra_type *t, tra_storage_choice *out);
/* A node of the same elements whose type is sparse if that storage is sparse, and else dense: n itself if its type is
 * so already. */
tra_node *tra_build_as(tra_build *b, tra_node *n, const tra_storage_choice *as, tra_span span);
/* The node of store(X, NAME), and how it is stored. name: the second argument of the call, NAME or NAME(args). */
tra_node *tra_build_store(tra_build *b, tra_node *x, const tra_ast *name, tra_storage_choice *out);
/* Adds the storage that the statement declares to the graph. */
void tra_build_storage_statement(tra_build *b, const tra_stmt *st);

/* The node of a tensor statement (tensor.c), in the blocks that the statement asks for; out: how it is stored. */
tra_node *tra_build_tensor(tra_build *b, const tra_stmt *st, tra_storage_choice *out);

#endif
