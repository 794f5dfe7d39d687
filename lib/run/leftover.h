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

/* Calls fn for every such file in the directory (not in directories below it) whose owner is gone; if `remove`, removes
 * it first. Outputs that a killed run had completed are put in place before that. What a process on this or another
 * machine may still use is left alone; so is what an unfinished commit of outputs needs. False, with errno, if the
 * directory cannot be read. */
bool tra_leftovers(const char *dir, bool remove, void (*fn)(const tra_leftover *l, void *ctx), void *ctx);

#endif
