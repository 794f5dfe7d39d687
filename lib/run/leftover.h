/* leftover.h - what processes that were killed have left: unfinished files beside their targets, locks, and in the
 * scratch directory the progress of runs and directories of exchanges. */
#ifndef TRA_LEFTOVER_H
#define TRA_LEFTOVER_H

#include "../base/base.h"

typedef struct tra_leftover {
    const char *path;
    const char *what; /* "unfinished file", "lock", ... */
    int64_t bytes;    /* on disk */
    int error;        /* errno of why it could not be removed, 0 */
} tra_leftover;

/* Calls fn on everything of that kind in the directory (not in those below it) whose owner is gone, and removes it
 * before if `remove` says so; outputs that a killed run had completed are put in place first. What a process may still
 * be at, here or on another machine, is left alone; so is what an unfinished commit of outputs still needs. False, with
 * errno, if the directory cannot be read. */
bool tra_leftovers(const char *dir, bool remove, void (*fn)(const tra_leftover *l, void *ctx), void *ctx);

#endif
