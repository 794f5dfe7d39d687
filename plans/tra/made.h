/* made.h - tables that are made before the program that reads them is planned, since their strings must be known.
 *
 * Strings that only rows tell (lib/table/made.h) are made by a run of its own: what computes the rows of a table, up to
 * the operator that reads the strings, is planned and run; then their dictionaries are made; then the rest of the
 * program is planned over the file that has both. Who runs programs says how (cmd/made.c); for who only looks at them
 * there are columns of strings whose dictionaries are not known.
 */
#ifndef TRA_MADE_TABLES_H
#define TRA_MADE_TABLES_H

#include "../../lib/table/made.h"
#include "tra.h"

/* Each writes a table to a file of its own, or finds what an earlier command made of the same: `identity` is a text
 * that tells all that it depends on. *path lives as long as the process. */
typedef struct tra_makes tra_makes;
struct tra_makes {
    /* What the nodes up to n compute. loops: n reads what loops give. */
    tra_status (*table)(const tra_makes *m, const tra_graph *g, const tra_node *n, bool loops, const char *identity,
                        const char **path, tra_err *e);
    /* NULL: strings are not made. */
    tra_status (*strings)(const tra_makes *m, const tra_made_strings *of, const char *identity, const char **path,
                          tra_err *e);
    /* TRA_NO: a key could not be computed, or memory is too short. */
    tra_status (*first)(const tra_makes *m, const tra_first_rows *of, const char *identity, const char **path,
                        tra_err *e);
    bool by_row; /* who runs the program computes strings row by row: only those of groups are made */
};

#endif
