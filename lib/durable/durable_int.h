/* durable_int.h - what the files of this room share. */
#ifndef TRA_DURABLE_INT_H
#define TRA_DURABLE_INT_H

#include "durable.h"

/* The steps of tra_temp_commit: after the first the file is whole on the disk; the second renames it and, if durable,
 * syncs the folder; the third frees t and leaves its file alone. */
TRA_MUSTUSE tra_status tra_temp_sync(tra_temp *t, tra_err *e);
TRA_MUSTUSE tra_status tra_put_in_place(const char *temp, const char *target, bool durable, tra_err *e);
void tra_temp_forget(tra_temp *t);
/* By errno: the target, or the file `by` beside it, cannot be made. */
TRA_MUSTUSE tra_status tra_cannot_create(const char *target, const char *by, tra_err *e);

/* The path of the file ".NAME.tra-KIND" beside a path, the same for each spelling of its folder. From malloc. */
char *tra_name_beside(const char *path, const char *kind);
void tra_lock_clear(const char *path); /* removes a lock whose owner is gone */

#endif
