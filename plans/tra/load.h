/* load.h - a program from a file or from standard input to its graph, with its diagnostics on standard error. */
#ifndef TRA_LOAD_H
#define TRA_LOAD_H

#include "tra.h"

typedef struct tra_program {
    tra_arena *arena; /* owns all below, and what later stages put into it */
    tra_script src;
    tra_graph *graph;
} tra_program;

/* Reads path ("-": standard input; its relative paths count from the working directory) and builds its graph. defines:
 * n texts NAME=VALUE of -D. Diagnostics, warnings too (unless quiet), go to stderr, but on rank 0 alone. Errors:
 * TRA_USAGE, TRA_PROGRAM, TRA_INPUT; e says in one line what the diagnostics said in full. On failure p is freed. */
TRA_MUSTUSE tra_status tra_program_load(const char *path, int n, const char *const *defines, bool colour,
                                        tra_program *p, tra_err *e);
/* The same for a text from malloc (NUL-terminated, taken over), whose relative paths count from dir. */
enum { TRA_MAX_PROGRAM = 64 << 20 };
TRA_MUSTUSE tra_status tra_program_from_text(const char *name, char *text, size_t size, const char *dir, int n,
                                             const char *const *defines, bool colour, tra_program *p, tra_err *e);
/* The files of the outputs that a text's statements name, without opening or checking anything: paths from the arena,
 * NULL at the end. defines: NAME=VALUE, as above. */
const char *const *tra_program_outputs(const char *text, size_t size, const char *dir, int ndefines,
                                       const char *const *defines, tra_arena *a);
const char *tra_program_dir(tra_arena *a, const char *path); /* what the paths of the program at path count from */
void tra_program_free(tra_program *p); /* closes the inputs; may be called twice, or on a zeroed one */

#endif
