/* head.h - the first rows of a relation on standard output. */
#ifndef TRA_HEAD_H
#define TRA_HEAD_H

#include "cmd.h"

/* Prints them: for a terminal aligned, with a line on the rows that are left out, else as CSV. */
TRA_MUSTUSE tra_status tra_head_print(const char *spec, int64_t n, int64_t ceiling, bool terminal, tra_err *e);

#endif
