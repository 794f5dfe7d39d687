/* newfile.h - files that appear when they are complete: written under another name beside their target, then renamed.
 *
 * The other name is ".TARGET.tra-PROCESS.tmp" (tra_process_name), or with "-2" ... if that is taken; or
 * ".TARGET.tra-TAG.tmp" for a file that a later process may continue. Since others may be able to write to the folder
 * and could foresee these names, no file that has one already is opened, and no link followed; a tagged file is
 * continued only if it is a plain file of this user. If the target is a link, the link is replaced; a caller that means
 * the file which it leads to resolves it first (tra_resolve_links).
 */
#ifndef TRA_NEWFILE_H
#define TRA_NEWFILE_H

#include "base.h"

typedef struct tra_temp {
    int fd;          /* for reading and writing */
    char *path;      /* of the temporary file, from malloc; NULL: there is none, or none any more */
    char *target;    /* from malloc */
    const char *tag; /* NULL: the file is removed if the process ends early */
    bool reused;     /* it has what an earlier process wrote */
} tra_temp;

/* Creates the file, empty and with the permissions of the target, if that exists. tag: NULL, or a text of the caller
 * that lives as long as t. With a tag and `reuse` a file of that tag is opened as it is, if there is one. Errors:
 * TRA_INPUT, TRA_RESOURCE; t is then as after tra_temp_abort. */
TRA_MUSTUSE tra_status tra_temp_create(const char *target, const char *tag, bool reuse, tra_temp *t, tra_err *e);
/* Renames the file to the target; if durable, syncs file and folder, so that the file outlives a crash of the machine.
 * Frees t, also on failure. */
TRA_MUSTUSE tra_status tra_temp_commit(tra_temp *t, bool durable, tra_err *e);
/* The steps of it, for callers that rename several files together: after tra_temp_sync the file is whole on the disk;
 * tra_put_in_place renames it and, if durable, syncs the folder; tra_temp_forget frees t and leaves its file alone. */
TRA_MUSTUSE tra_status tra_temp_sync(tra_temp *t, tra_err *e);
TRA_MUSTUSE tra_status tra_put_in_place(const char *temp, const char *target, bool durable, tra_err *e);
void tra_temp_forget(tra_temp *t);
/* Removes the file and frees t, which may be zero, committed or aborted already. */
void tra_temp_abort(tra_temp *t);
void tra_temp_keep(tra_temp *t); /* the same, but a tagged file stays */

/* Removes the temporary files of the target that nobody needs: those of processes that have ended, and those whose tag
 * does not begin with `spared` (NULL: all with a tag). The caller knows that no other process writes the target. */
void tra_temp_reclaim(const char *target, const char *spared);

/* Makes the n bytes the contents of the file, or of the one that a link at the path leads to, in one step. */
TRA_MUSTUSE tra_status tra_replace_file(const char *path, const void *bytes, size_t n, bool durable, tra_err *e);

/* The folder that a path is in, from malloc, and where the last name begins. */
char *tra_folder_of(const char *path, const char **name);

#endif
