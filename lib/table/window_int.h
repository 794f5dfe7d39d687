/* window_int.h - functions of rows and the rows around them, while they are computed. Private to the files window*.c.
 */
#ifndef TRA_WINDOW_INT_H
#define TRA_WINDOW_INT_H

#include "group_total.h"
#include "order.h"
#include "window.h"

/* An item is a row, or in a context several neighbours (a bundle), of which only totals are known. Items are numbered
 * in the order of keys, order and rows; arrays are of items unless another meaning is given. */
typedef struct tra_windowing {
    const tra_window *x;
    tra_batch in, *out;
    int64_t n;      /* items */
    int64_t *at;    /* the row of `in` that the item is */
    int64_t *group; /* where groups begin, and n; ngroups + 1 */
    int64_t ngroups;
    int64_t *tie; /* the same of ties */
    int64_t nties;
    int64_t *to;                   /* the row of the result; -1: none */
    int64_t *low, *high;           /* the frame, [low, high) */
    const tra_window_frame *frame; /* that they are of; NULL: none yet */
    int64_t *work;                 /* room for tra_window_work words */
    int64_t results;               /* rows of the result */
    /* of a context (window_context.h), NULL elsewhere: the place of the item among all rows; how many rows it is, 0 of
     * one of those that are asked for; how many ties a bundle has, 0 of a row */
    const int64_t *place, *rows, *ties;
    tra_group_total total; /* of the bundle that was asked for last */
} tra_windowing;
static inline int64_t tra_window_work(int64_t n) { return 7 * n + n / 4 + 256; }

static inline int64_t tra_window_place(const tra_windowing *w, int64_t i) { return w->place ? w->place[i] : i; }
/* How many rows an item is. */
static inline int64_t tra_window_rows(const tra_windowing *w, int64_t i) {
    return w->rows ? tra_max64(1, w->rows[i]) : 1;
}

/* Sets low and high (window_frames.c). */
void tra_window_find_frames(tra_windowing *w, const tra_window_frame *f);

/* The result of function i, an aggregate: as values, or for MIN and MAX as the row of `in` where the value is, in
 * `source`, by rows of the result (window_fold.c, window_rank.c). */
void tra_window_fold(tra_windowing *w, int i, int64_t *source);
void tra_window_rank(tra_windowing *w, int i);

/* The columns of the operand (window_context.c); and sets what only a context has. */
const tra_schema *tra_window_columns(const tra_window *x);
void tra_window_open_context(tra_windowing *w);
/* What is known of a bundle for function i; NULL: the item is a row (window_context.c). */
const tra_group_total *tra_window_total(tra_windowing *w, int i, int64_t item);
static inline const tra_group_total *tra_window_bundle(tra_windowing *w, int i, int64_t item) {
    return w->ties && w->ties[item] > 0 ? tra_window_total(w, i, item) : NULL;
}
/* The column where function i, MIN or MAX, finds values of rows and of bundles. */
int tra_window_value_column(const tra_windowing *w, int i);

static inline bool tra_window_present(const tra_vector *v, int64_t row) {
    return !v->state || v->state[row] == TRA_STATE_VALUE;
}

/* A float, or NULL, as row `to` of a column. */
static inline void tra_window_put(tra_vector *v, int64_t to, bool any, double x) {
    ((double *)v->values)[to] = any ? x : 0;
    v->state[to] = any ? TRA_STATE_VALUE : TRA_STATE_NULL;
}

#endif
