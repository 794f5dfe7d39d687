/* algorithms.h - programs that come with tra, run by name: tra run @kmeans. Their texts are share/algorithms. */
#ifndef TRA_ALGORITHMS_H
#define TRA_ALGORITHMS_H

#include "../../lib/base/base.h"

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
