/* table_hook.h - what the store's files call for tables: the parts of tra_writer_* and tra_rel_* in which tables differ
 * (table_int.h). */
#ifndef TRA_TABLE_HOOK_H
#define TRA_TABLE_HOOK_H

#include "store_int.h"

tra_status tra_table_prepare(tra_writer *w, tra_err *e);
void tra_table_free_placing(tra_writer *w);
tra_status tra_table_create_group(tra_writer *w, tra_err *e);
void tra_table_blob(const tra_writer *w, tra_str *blob);
tra_status tra_table_unblob(tra_writer *w, const char *blob, size_t n, tra_err *e);
tra_status tra_table_put(tra_writer *w, int64_t ordinal, const void *block, tra_err *e);
int tra_table_waiting(const tra_writer *w); /* codec zstd: the file of uncompressed rows, -1: none */
/* Reads what was written. Without the lock. */
tra_status tra_table_finish(tra_writer *w, tra_err *e);
bool tra_table_describe(tra_writer *w, const char *digest);

bool tra_table_is(hid_t group);
void tra_table_begin(tra_rel *r);
tra_status tra_table_open(tra_rel *r, tra_err *e);
void tra_table_close(tra_rel *r);
tra_status tra_table_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);
size_t tra_table_scratch(const tra_rel *r); /* bytes that it needs of that */
tra_status tra_table_check(tra_rel *r, tra_err *e);
int64_t tra_table_held(const tra_rel *r);
uint64_t tra_table_identity(const tra_rel *r);

#endif
