/* newfile.h - files that appear when they are complete: written under another name beside their target, then renamed.
 *
 * The other name is ".TARGET.tra-PID.tmp", or with "-2", "-3" ... where that is taken; or ".TARGET.tra-TAG.tmp" for
 * what shall outlive the process. In folders that others can write to, these names can be foreseen: so nothing that
 * stands there already is opened, nor a link followed; a tagged file that is to be gone on with must be a plain file of
 * ours. A target is taken as named: whoever wants the file behind a link resolves it first (tra_behind_links).
 */
#ifndef TRA_NEWFILE_H
#define TRA_NEWFILE_H

#include "base.h"

typedef struct tra_temp {
    int fd;     /* for reading and writing */
    char *path; /* of the temporary file, NULL: there is none (any more); and the target: from malloc */
    char *target;
    const char *tag; /* NULL: the file is removed when the process ends early */
    bool reused;     /* it has what an earlier process wrote */
} tra_temp;

/* Creates the file, empty and with the permissions of the target, if that is there. tag: NULL, or the caller's, which
 * lives as long as t; then with `reuse` the file of that tag is opened as it is, if it can be. Errors: TRA_INPUT,
 * TRA_RESOURCE; t then is as after tra_temp_abort. */
TRA_MUSTUSE tra_status tra_temp_create(const char *target, const char *tag, bool reuse, tra_temp *t, tra_err *e);
/* Syncs the file, renames it to the target and syncs the folder, so that it outlives a crash of the machine; unless
 * that is not `durable`. Frees t also on failure. */
TRA_MUSTUSE tra_status tra_temp_commit(tra_temp *t, bool durable, tra_err *e);
/* The parts of it, for those who rename several files: after tra_temp_sync the file is whole on the disk;
 * tra_put_in_place renames it, and syncs the folder; tra_temp_forget frees t, whose file is nobody's to remove any
 * more. */
TRA_MUSTUSE tra_status tra_temp_sync(tra_temp *t, tra_err *e);
TRA_MUSTUSE tra_status tra_put_in_place(const char *temp, const char *target, bool durable, tra_err *e);
void tra_temp_forget(tra_temp *t);
void tra_temp_abort(tra_temp *t); /* removes the file, frees; also of a t that is zero, or was committed or aborted */
void tra_temp_leave(tra_temp *t); /* the same, but a tagged file stays */

/* Removes temporary files of the target that nobody needs: those of processes that are gone, and those with tags, but
 * for tags that begin with `spared` (NULL: none). The caller knows that nobody else writes the target. */
void tra_temp_reclaim(const char *target, const char *spared);

/* The n bytes become the contents of the file, or of the one that a link at the path leads to, all at once. */
TRA_MUSTUSE tra_status tra_replace_file(const char *path, const void *bytes, size_t n, bool durable, tra_err *e);

/* The folder that a path is in, from malloc, and where the last name begins. */
char *tra_folder_of(const char *path, const char **name);

#endif
