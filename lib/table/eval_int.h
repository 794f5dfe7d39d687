/* eval_int.h - a strip of rows as the loops of eval.c and eval_convert.c see it. Private to these. */
#ifndef TRA_EVAL_INT_H
#define TRA_EVAL_INT_H

#include "table_int.h"

#include <string.h>

/* d = f(a) of each element; types of operand and result. */
#define LOOP1(T, D, expr)                                                                                              \
    do {                                                                                                               \
        const T *restrict a_ = s->kid[0]->values;                                                                      \
        D *restrict d_ = s->out->values;                                                                               \
        for (int i = 0, n = s->n; i < n; i++) {                                                                        \
            T a = a_[i];                                                                                               \
            d_[i] = (D)(expr);                                                                                         \
        }                                                                                                              \
    } while (0)

/* The type of the elements that hold its values. */
static inline tra_dtype tra_colstep_held(const tra_colexpr *x) { return tra_coltype_held(x->type); }

/* The states, to change some of them. */
static inline uint8_t *tra_colstep_states(tra_colstep *s) {
    if (!s->out->state) s->out->state = memset(s->states, 0, (size_t)s->n);
    return s->out->state;
}

/* The value of row i cannot be computed. */
static inline void tra_colstep_fail(tra_colstep *s, int i) {
    uint8_t *state = tra_colstep_states(s);
    if (state[i] == TRA_STATE_VALUE) state[i] = TRA_STATE_ERROR;
}

/* eval.c: notes that row i is NULL for this cause (TRA_NULL_). */
void tra_colstep_note(tra_colstep *s, int i, unsigned cause);
/* eval_convert.c: what only the compiler of expressions makes (CONVERT, RECODE, LOOKUP); hashes. */
void tra_colstep_made(tra_colstep *s);
void tra_colstep_hash(tra_colstep *s);
void tra_colstep_call(tra_colstep *s); /* a function of calls.h that gives no string */

/* eval_dates.c: parts of dates; dates and timestamps; the beginnings of units, false where a row is far from 1970. */
void tra_colstep_calendar(tra_colstep *s);
void tra_colstep_moment(tra_colstep *s);
bool tra_colstep_begin_units(tra_colstep *s);

#endif
