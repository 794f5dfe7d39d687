/* expand.h - macros: "def NAME(x, y) = expression". Private to plans/lang. */
#ifndef TRA_EXPAND_H
#define TRA_EXPAND_H

#include "lang.h"
#include "names.h"

enum { MAX_HEIGHT = 1000 }; /* of a tree, so that it can be walked by recursion */

typedef struct tra_expander {
    tra_arena *arena;
    tra_diags *d;
    tra_names defs; /* value: its tra_stmt, whose own right side has no calls of macros any more */
    tra_names used; /* names of the statement that is being expanded */
    int made;       /* nodes of all expansions so far, of which there are at most MAX_MADE */
} tra_expander;

/* Adds a macro. Where the name is defined already, which has its diagnostic elsewhere, the first definition counts. */
void tra_expander_add(tra_expander *x, const tra_stmt *def);
/* Returns the right side of the statement with every call of a macro replaced by the macro's right side, in which the
 * arguments stand for the parameters. Labels and parameters of functions that the macro has itself get new names where
 * the statement has such names. All places in that are the place of the call. NULL after a diagnostic. */
tra_ast *tra_expand(tra_expander *x, const tra_stmt *st);

/* Does a name as kid i of x stand for a label, not for what it names? label: x is in the place of a label itself. */
bool tra_is_label_place(const tra_ast *x, int i, bool label);

#endif
