/* units.h - the units of a tensor's elements. Private to plans/tra. */
#ifndef TRA_UNITS_H
#define TRA_UNITS_H

#include "build.h"

/* Those that a file says; NULL: none, or the elements are moments. */
const char *tra_units_of_file(const tra_rel *r);
/* Those of the result of a statement: of sums, means and extremes of what has units, and of what has equal ones; not
 * of multiples, which may be changes of units. NULL: none are known. */
const char *tra_units_of_statement(const tra_einsum *s);
/* Gives a node whose operator keeps elements as they are the units of its input. */
void tra_carry_units(tra_node *n);

#endif
