/* operator_help.h - what there is to say of each operator of the language: for tra help NAME, and for advice. */
#ifndef TRA_OPERATOR_HELP_H
#define TRA_OPERATOR_HELP_H

/* How a call is written, what its result is, and the page of the manual that says more. */
typedef struct tra_operator_help {
    const char *name, *form, *says, *page;
} tra_operator_help;

int tra_operator_helps(const tra_operator_help **v); /* those on tables, then those on tensors, then the algebra */
const tra_operator_help *tra_operator_help_find(const char *name, int from); /* from row `from` on; NULL: none */
const char *tra_form_name(int i); /* of operator i of the algebra; NULL after the last */

#endif
