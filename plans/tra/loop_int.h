/* loop_int.h - the values of states (loop_state.c). Private to loop.c. */
#ifndef TRA_LOOP_INT_H
#define TRA_LOOP_INT_H

#include "build.h"

/* The type of a state in every turn: that of its first value, but how many entries it has may change. */
tra_type tra_state_type(tra_build *b, const tra_type *first);
/* The table with columns that may be NULL, all of them, and as next value with strings by the codes of the state (NULL:
 * it is none) and room for its rows: these may change from turn to turn, but not how blocks look. NULL after a
 * diagnostic. */
tra_node *tra_state_widen(tra_build *b, tra_node *n, const tra_type *of, tra_span span);
/* The next value in the blocks of the state; NULL after a diagnostic. */
tra_node *tra_state_fit(tra_build *b, const tra_stmt *st, const tra_repeat_state *state, tra_node *n);

#endif
