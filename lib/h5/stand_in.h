/* stand_in.h - files of other formats as relations: an HDF5 file in the scratch directory stands in for each.
 *
 * Who knows the formats (formats/stand_in.c) sets tra_file_hooks; tra_rel_open and the statements of programs ask it.
 * Without hooks every file is taken to be HDF5. A spec is [FORMAT[(OPTION=VALUE,...)]:]FILE[:DATASET].
 */
#ifndef TRA_STAND_IN_H
#define TRA_STAND_IN_H

#include "h5.h"

/* What was done so that a file can be read. */
typedef struct tra_stand_in {
    const char *path;     /* the relation that is opened instead of the spec; NULL: the spec is one */
    const char *file;     /* what the user named; */
    const char *name;     /* a relation in it, or NULL */
    const char *format;   /* its format */
    const char *how;      /* "converted", "in place" or "found": converted by an earlier command */
    const char *identity; /* size, time, inode and options of the file; NULL: it is HDF5, and only has a prefix */
    const char *left;     /* names of columns of the file that were left out, as nothing uses them, or NULL */
    double seconds;
    int64_t bytes_in, bytes_stored; /* read from the file, and written to scratch */
} tra_stand_in;

typedef struct tra_file_hooks {
    /* Bytes of the spec before FILE. */
    size_t (*prefix)(const char *spec);
    /* Makes what stands in for the file, or finds it. out's texts live as long as the process. TRA_INPUT, TRA_USAGE,
     * TRA_RESOURCE. */
    tra_status (*input)(const char *spec, tra_stand_in *out, tra_err *e);
    /* *path: the relation to write for the output of a program. *other: it is of another format, so that what is
     * written there is to be exported to the spec. In the arena. TRA_USAGE: no format has this suffix. */
    tra_status (*output)(const char *spec, tra_arena *a, const char **path, bool *other, tra_err *e);
    /* Of a table in this file, which is not open yet, only columns are used whose names are one of these words, or end
     * with one; n < 0: any column may be. only: this word can be nothing but a column, of this file or of another. */
    void (*columns)(const char *spec, int n, const char *const *words, const bool *only);
    /* True: files lack columns of which nobody said that they are used; they are read wholly from now on. */
    bool (*widen)(void);
} tra_file_hooks;
extern const tra_file_hooks *tra_file_hooks_set; /* NULL: none */

/* What stands in for the file of an open relation; NULL: it was opened itself. */
const tra_stand_in *tra_rel_stand_in(const tra_rel *r);

/* Writes an HDF5 file at path whose only dataset is the elements in `file` (a path from the root), which begin there at
 * byte `offset`: nothing is copied. history: as in tra_write_options. */
TRA_MUSTUSE tra_status tra_store_external(const char *path, const char *file, int64_t offset, tra_dtype type,
                                          const tra_dims *shape, const char *history, tra_err *e);

#endif
