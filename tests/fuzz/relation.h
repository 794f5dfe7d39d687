/* relation.h - for the fuzzers of relation files: a file made of the bytes is opened, read and judged. */
#ifndef TRA_FUZZ_RELATION_H
#define TRA_FUZZ_RELATION_H

#include "../../lib/h5/relation_file.h"
#include "bytes.h"
#include "../../lib/relation/store.h"

#include <signal.h>

/* Keeps the fuzzer's handlers of crashes where tra_h5_enter would take a crash within HDF5 for a damaged file, so that
 * the bytes that led to a crash are reported. */
static inline void fuzz_crashes(void) {
    const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    struct sigaction before[4];
    for (int i = 0; i < 4; i++) sigaction(crashes[i], NULL, &before[i]);
    tra_h5_enter();
    for (int i = 0; i < 4; i++) sigaction(crashes[i], &before[i], NULL);
    tra_h5_leave();
}

/* The path of the file, which is made anew for each input. */
static inline const char *fuzz_path(void) {
    static char *path;
    tra_log_level = -1;
    if (!path) fuzz_crashes(), path = tra_asprintf("%s/a.h5", fuzz_dir());
    return path;
}

/* Opens the relation, with these blocks or (NULL) its own, and reads it; aborts at a status that no file may cause. */
static inline int fuzz_open(const tra_dims *block, tra_status (*read)(tra_rel *r, tra_err *e)) {
    tra_rel *r;
    tra_err e = {0};
    tra_status s = tra_rel_open(fuzz_path(), block, &r, &e);
    if (s == TRA_OK) {
        tra_arena *a = tra_arena_new();
        if (!tra_rel_identity(r, a)) abort();
        tra_arena_free(a);
        s = read(r, &e);
        tra_rel_close(r);
    }
    if (s != e.status || (s != TRA_OK && s != TRA_INPUT && s != TRA_RESOURCE && !(block && s == TRA_USAGE))) {
        fprintf(stderr, "status %d: %s\n", (int)s, e.msg);
        abort();
    }
    return 0;
}

#endif
