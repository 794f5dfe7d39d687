/* durable.h - what is on the disk, and what a process that dies leaves: files that appear when they are complete, the
 * lock on writing a file, outputs that appear together, and finding what is left. Nobody else renames a file that
 * others may read.
 */
#ifndef TRA_DURABLE_H
#define TRA_DURABLE_H

#include "../base/base.h"

/* ---- files that appear when they are complete ------------------------------------------------------------------- */

/* A file is written under another name beside its target, then renamed. That name is ".TARGET.tra-PROCESS.tmp"
 * (tra_process_name), or with "-2" ... if that is taken; or ".TARGET.tra-TAG.tmp" for a file that a later process may
 * continue. Since others may be able to write to the folder and could foresee these names, no file that has one already
 * is opened, and no link followed; a tagged file is continued only if it is a plain file of this user. If the target is
 * a link, the link is replaced; a caller that means the file it leads to resolves it first (tra_resolve_links). */
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
/* Removes the file and frees t, which may be zero, committed or aborted already. */
void tra_temp_abort(tra_temp *t);
void tra_temp_keep(tra_temp *t); /* the same, but a tagged file stays */
/* Removes the temporary files of the target that nobody needs: those of processes that have ended, and those whose tag
 * does not begin with `spared` (NULL: all with a tag). The caller has the lock on the target. */
void tra_temp_reclaim(const char *target, const char *spared);
/* Makes the n bytes the contents of the file, or of the one that a link at the path leads to, in one step. */
TRA_MUSTUSE tra_status tra_replace_file(const char *path, const void *bytes, size_t n, bool durable, tra_err *e);

/* Names that files have in the scratch directory which stand in for files of other formats: made for one command, kept
 * (--keep-imports), and outputs that are then written in their format. They can be made again, so that nobody waits
 * until the disk has them. */
#define TRA_IMPORT_NAME "tra-import-"
#define TRA_KEPT_NAME   "tra-kept-"
#define TRA_OUTPUT_NAME "tra-output-"
/* And those of directories by which the ranks of a run exchange blocks, each with a lock on its path. */
#define TRA_EXCHANGE_NAME "tra-exchange-"
bool tra_is_intermediate(const char *path); /* is it one of these? */

/* ---- the lock on writing a file --------------------------------------------------------------------------------- */

/* The lock on writing path is a file .NAME.tra-lock in its folder, which its owner has locked (F_OFD_SETLK) as long as
 * it lives. Its text "HOST PID ofd BOOT SPACE COMMAND" is for messages, and tells where the kernel's answer holds: for
 * processes of one boot of one kernel, whatever their containers. What a process of another host has is never taken
 * from it, since a network file system may be mounted without locks. Where the file system has no locks, the file
 * itself is the lock, as it was in earlier versions, whose text has no `ofd`: its owner is gone if no process of that
 * host and pid namespace has its number.
 *
 * Messages say `what`. Holders within one process share the lock and are counted; *first: the caller is the first of
 * these. TRA_RESOURCE, naming the owner; TRA_INPUT: it cannot be made. */
TRA_MUSTUSE tra_status tra_lock_take(const char *what, const char *path, bool *first, tra_err *e);
void tra_lock_drop(const char *path);
/* Does a process hold it that may live? Changes nothing. */
bool tra_lock_held(const char *path);

/* ---- outputs that appear together ------------------------------------------------------------------------------- */

/* When all files of a run are complete, a commit record is written before the first rename: `.NAME.tra-commit` in the
 * folder of the first target lists every rename, and files of that kind for the other targets refer to it. From then on
 * the outputs will appear, whoever does the renames: who opens or writes a target completes what a dead process has
 * left. The record stays until the run has nothing left to do (tra_commit_end), so that a run that was killed after its
 * outputs appeared is known to be done. Renames that another user's run has left are an error, since only that user can
 * complete them. */
typedef struct tra_commit_note {
    uint64_t step; /* digest of program and definitions, which --resume compares */
    /* The run's directory of progress, which is removed once the outputs are in place, and the path that its lock is
     * on; or NULL. */
    const char *progress, *lock;
} tra_commit_note;
/* Puts n complete files in place, with a record (except for one file without a note), and frees them as tra_temp_keep
 * does. If this fails when the record exists, it and the files stay, and whoever comes next tries again. */
TRA_MUSTUSE tra_status tra_temps_commit(tra_temp *const *t, int n, const tra_commit_note *note, tra_err *e);
/* Completes the renames of the commit record for path, if there is one; waits up to 5 seconds for a live process that
 * does so. TRA_RESOURCE (it still does), TRA_INPUT (the record is damaged, or another user's). Without a record this
 * costs one system call. */
TRA_MUSTUSE tra_status tra_commit_settle(const char *path, tra_err *e);
/* Does the commit record for path say that the outputs of this step are in place, and are they? */
bool tra_commit_done(const char *path, uint64_t step);
/* Removes the commit record for path, with the progress that it names, if all outputs are in place. */
void tra_commit_end(const char *path);

/* ---- what processes that were killed have left ------------------------------------------------------------------ */

typedef struct tra_leftover {
    const char *path;
    const char *what; /* "unfinished file", "lock", ... */
    int64_t bytes;    /* on disk */
    int error;        /* errno of why it could not be removed, 0 */
} tra_leftover;
/* Calls fn for every such file in the directory (not in directories below it), of a name that begins with prefix, whose
 * owner is gone; if `remove`, removes
 * it first. Outputs that a killed run had completed are put in place before that. What a process on this or another
 * machine may still use is left alone; so is what an unfinished commit of outputs needs. False, with errno, if the
 * directory cannot be read. */
bool tra_leftovers(const char *dir, const char *prefix, bool remove, void (*fn)(const tra_leftover *l, void *ctx),
                   void *ctx);

#endif
