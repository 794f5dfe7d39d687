/* stand_in.h - files of any format where a relation is read, and outputs in any format. */
#ifndef TRA_FORMATS_STAND_IN_H
#define TRA_FORMATS_STAND_IN_H

#include "../lib/h5/stand_in.h"
#include "reading.h"

/* What commands set before they open relations. */
typedef struct tra_stand_in_options {
    const char *scratch;        /* the directory of conversions */
    bool keep;                  /* conversions stay for later commands */
    bool whole;                 /* no column is left out because the program does not use it */
    const tra_reading *reading; /* options for all files of the formats that have them, or NULL */
    tra_progress_form progress;
} tra_stand_in_options;
extern tra_stand_in_options tra_stand_ins;

/* Makes tra_rel_open and programs take files of all formats. */
void tra_stand_ins_begin(void);
/* Lets go of what was made, and removes what is not kept, unless another process uses it. */
void tra_stand_ins_end(void);
/* The path of a file that is made of no file, by `make`, whose history is the identity and the version. Such a file is
 * found again as conversions are. */
typedef tra_status tra_make_file(void *ctx, const char *identity, const char *to, tra_err *e);
TRA_MUSTUSE tra_status tra_stand_in_made(const char *identity, tra_make_file *make, void *ctx, const char **path,
                                         tra_err *e);
/* Seconds that this process, and that which launched it, took for conversions so far. */
double tra_stand_ins_seconds(void);
/* Pipes are read by one process; others find what it made of them by this word, which it hands on. */
const char *tra_pipe_word(void);
void tra_pipe_word_take(const char *word);

/* Of an output: its format by prefix or suffix, and its path; *format is NULL for HDF5. TRA_USAGE: no format has the
 * suffix. In the arena. */
TRA_MUSTUSE tra_status tra_output_format(const char *spec, tra_arena *a, const tra_format **format, const char **path,
                                         tra_err *e);

#endif
