/* function_help.h - what there is to say of each function: the one table from which 'tra help functions' and
 * tra-functions(7) are made. */
#ifndef TRA_FUNCTION_HELP_H
#define TRA_FUNCTION_HELP_H

#include "../../lib/base/base.h"

/* Where a function stands: in expressions over columns; in EinSum statements, functions of elements and transform; as
 * an aggregate of group and pivot; as an aggregation of EinSum, sum[j](...) or after '='; as a function of window. */
enum {
    TRA_IN_TABLES = 1,
    TRA_IN_TENSORS = 2,
    TRA_IN_GROUPS = 4,
    TRA_IN_SUMS = 8,
    TRA_IN_WINDOWS = 16,
};

/* An example is an expression without columns, or, of aggregates, over the columns of four rows: x 1, 2, 4, 8;
 * y 1, 3, 5, 8; s "b", "a", "c", "a". Of aggregations of EinSum it stands after '=', over X[i], which has the same
 * numbers as x. What it gives is as CSV has it. */
typedef struct tra_function_help {
    const char *topic; /* under which heading */
    unsigned in;       /* TRA_IN_ */
    const char *name, *signature, *says, *example, *gives;
} tra_function_help;

int tra_function_helps(const tra_function_help **v);
const tra_function_help *tra_function_help_find(const char *name, int from); /* from row `from` on; NULL: none */
const char *tra_function_help_where(unsigned in, char buf[128]);             /* "in tables and tensors" */
/* How what other languages call so is written here; NULL: nothing is known of the word. */
const char *tra_function_help_elsewhere(const char *name);

/* ---- operators of the language (operator_help.c) ---------------------------------------------------------------- */

/* How a call is written, what its result is, and the page of the manual that says more. */
typedef struct tra_operator_help {
    const char *name, *form, *says, *page;
} tra_operator_help;

int tra_operator_helps(const tra_operator_help **v); /* those on tables, then those on tensors, then the algebra */
const tra_operator_help *tra_operator_help_find(const char *name, int from); /* from row `from` on; NULL: none */
const char *tra_form_name(int i); /* of operator i of the algebra; NULL after the last */

#endif
