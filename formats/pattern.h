/* pattern.h - several CSV files as one. */
#ifndef TRA_PATTERN_H
#define TRA_PATTERN_H

#include "spec.h"

typedef struct tra_pattern {
    int n;
    const char **path; /* in the order of their names */
} tra_pattern;

/* The files that the path stands for, if no file has it as its name: none (n = 0) where it is no pattern. In the arena.
 * TRA_INPUT: no file is there. */
TRA_MUSTUSE tra_status tra_pattern_files(const char *path, tra_arena *a, tra_pattern *out, tra_err *e);
/* Writes the records of all files to fd, below the header of the first one. TRA_INPUT: a file is no text, or the
 * columns of two differ; both are named, with the columns. *bytes: how many were read. */
TRA_MUSTUSE tra_status tra_pattern_join(const tra_pattern *p, const tra_reading *r, int64_t memory, int fd,
                                        int64_t *bytes, tra_err *e);

#endif
