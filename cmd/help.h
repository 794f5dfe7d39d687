/* help.h - topics of tra help that have files of their own. Private to help*.c. */
#ifndef TRA_HELP_H
#define TRA_HELP_H

#include "cmd.h"

/* Prints all functions, as JSON if asked for, or what there is to say of one. TRA_USAGE: there is none of that name. */
TRA_MUSTUSE tra_status tra_help_functions(const char *name, bool json, tra_err *e);
/* Appends what there is to say of the functions of a name; returns how many there are. */
int tra_function_help_describe(const char *name, tra_str *s);
TRA_MUSTUSE tra_status tra_help_functions_page(tra_err *e); /* prints the source of tra-functions(7) */
TRA_MUSTUSE tra_status tra_help_formats(tra_err *e);        /* prints all formats */

#endif
