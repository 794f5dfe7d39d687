/* storage.h - storage and tensor statements, and storages by name. Private to plans/tra. */
#ifndef TRA_BUILD_STORAGE_H
#define TRA_BUILD_STORAGE_H

#include "build.h"

/* A declared input, of the type that it has if it is dense, becomes what `as` and `nnz` say; stays so after a
 * diagnostic. */
void tra_build_declared(tra_build *b, const tra_stmt *st, tra_type *t, tra_storage_choice *out);
/* How a result is stored. False after a diagnostic. */
bool tra_build_stored(tra_build *b, const tra_storage_use *use, const tra_type *t, tra_storage_choice *out);
/* The node, or one of the same elements that is sparse by type if what stores it is not dense, and else dense. */
tra_node *tra_build_as(tra_build *b, tra_node *n, const tra_storage_choice *as, tra_span span);
/* store(X, NAME): the node, and how it is stored. */
tra_node *tra_build_store(tra_build *b, tra_node *x, const tra_ast *call, tra_storage_choice *out);
void tra_build_storage_statement(tra_build *b, const tra_stmt *st);

/* The node of a tensor statement: that of its EinSum statement, in the blocks that it asks for, and stored so. */
tra_node *tra_build_tensor(tra_build *b, const tra_stmt *st, tra_storage_choice *out);

#endif
