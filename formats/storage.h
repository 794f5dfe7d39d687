/* storage.h - in which storage a tensor is written: what a user names, and what is chosen when nothing is. */
#ifndef TRA_FORMATS_STORAGE_H
#define TRA_FORMATS_STORAGE_H

#include "../lib/storage/storage.h"
#include "../lib/storage/stored.h"

/* "csr", "band(5)", "FILE.tra:NAME" for a tensor of this rank: its levels; *dense: a plain array. TRA_USAGE where there
 * is none of that name, or none that a file can be written in; TRA_PROGRAM or TRA_INPUT for the file. */
TRA_MUSTUSE tra_status tra_storage_named(const char *text, int rank, tra_dtype t, tra_levels *levels, bool *dense,
                                         tra_err *e);
/* The same, whatever the storage is. whole: the elements are integers. In the arena. */
TRA_MUSTUSE tra_status tra_storage_any(const char *text, int rank, bool whole, tra_arena *a, tra_storage **out,
                                       tra_err *e);
/* Its levels, with which a file can be written; false: there are none, or others (hash). */
bool tra_storage_levels(const tra_storage *s, tra_levels *levels, bool *dense);
/* What a tensor of so many entries is stored as when nothing is said: rows of entries where less than an eighth of the
 * elements are entries (csr of a matrix, dcsr of one that has many rows and few entries, else csf), else a plain array.
 * entries -1: not known, but few. */
void tra_storage_chosen(const tra_dims *shape, double entries, tra_levels *levels, bool *dense);

#endif
