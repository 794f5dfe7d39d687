/* pattern.h - the files that a pattern stands for. */
#ifndef TRA_PATTERN_H
#define TRA_PATTERN_H

#include "spec.h"

typedef struct tra_pattern {
    int n;
    const char **path; /* in the order of their names */
    bool tables;       /* of HDF5 files, not CSV files */
} tra_pattern;

/* The files that the path stands for, if no file has it as its name: none (n = 0) where it is no pattern. In the arena.
 * TRA_INPUT: no file is there. */
TRA_MUSTUSE tra_status tra_pattern_files(const char *path, tra_arena *a, tra_pattern *out, tra_err *e);
/* Are they CSV files, or HDF5 files with tables? Sets files->tables and the format. TRA_INPUT names the file that is
 * not. */
TRA_MUSTUSE tra_status tra_pattern_check(tra_file_spec *at, tra_pattern *files, tra_err *e);
/* Writes tables of HDF5 files as CSV files beside `to`, which become the files, and says in *how which types their
 * columns have together. TRA_INPUT: two have other columns, or no common type for one; both files and the column are
 * named. tra_pattern_remove removes these files. */
TRA_MUSTUSE tra_status tra_pattern_export(const tra_file_spec *at, tra_pattern *files, const char *to, int64_t memory,
                                          tra_arena *a, tra_reading *how, tra_err *e);
void tra_pattern_remove(const tra_pattern *files);

#endif
