/* load.h - a program from a file or from standard input to its graph, with its diagnostics on standard error. */
#ifndef TRA_LOAD_H
#define TRA_LOAD_H

#include "tra.h"

typedef struct tra_program {
    tra_arena *arena; /* owns what is below, and what later steps put into it */
    tra_script src;
    tra_graph *graph;
} tra_program;

/* Reads the program at path ("-": from standard input; then its relative paths count from the working directory) and
 * builds its graph; how.dir is ignored. Diagnostics go to standard error on rank 0 alone; with -q only if one of them
 * is an error. Errors: TRA_USAGE, TRA_PROGRAM, TRA_INPUT, whose message is a summary of the diagnostics. On failure p
 * is freed. */
TRA_MUSTUSE tra_status tra_program_load(const char *path, tra_building how, bool colour, tra_program *p, tra_err *e);
enum { TRA_MAX_PROGRAM = 64 << 20 }; /* bytes of a program that is read */
/* The same for a text from malloc, NUL-terminated, that p takes over. */
TRA_MUSTUSE tra_status tra_program_from_text(const char *name, char *text, size_t size, const tra_building *how,
                                             bool colour, tra_program *p, tra_err *e);
/* Builds the graph again, with other room; says no warning twice. */
TRA_MUSTUSE tra_status tra_program_rebuild(tra_program *p, const tra_building *how, tra_err *e);
/* The files that the output statements of a text write, or its input statements read, found without opening or checking
 * anything: paths from the arena, with a NULL at the end. defines: as above. */
const char *const *tra_program_files(const char *text, size_t size, const char *dir, int ndefines,
                                     const char *const *defines, bool inputs, tra_arena *a);
/* The directory from which the relative paths of the program at `path` count. */
const char *tra_program_dir(tra_arena *a, const char *path);
void tra_program_free(tra_program *p); /* closes the inputs; may be called twice, or on a zeroed one */

/* ---- programs that come with tra: tra run @kmeans (algorithms.c) ------------------------------------------------ */

typedef struct tra_algorithm {
    const char *name, *text;
} tra_algorithm;
extern const tra_algorithm tra_algorithms[]; /* made by the Makefile; name NULL after the last */

/* The text of a program, from malloc: of a file, of standard input ("-"), or of an algorithm ("@kmeans"). TRA_USAGE,
 * with the nearest name, where there is no such algorithm; errors of tra_slurp. */
TRA_MUSTUSE tra_status tra_program_read(const char *path, char **text, size_t *n, tra_err *e);
/* What each algorithm does, and its arguments: the comments, inputs and params of its text. */
void tra_algorithms_describe(tra_str *out);

#endif
