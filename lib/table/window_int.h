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
    int64_t *work;                 /* room for what its functions need, and a sort */
    int64_t results;               /* rows of the result */
    /* of a context (window_context.h), NULL elsewhere: the places of the items, and what the part reaches, where
     * bundles are */
    const int64_t *place;
    tra_batch reached;
    tra_group_total total; /* of the bundle that was asked for last */
} tra_windowing;

static inline int64_t tra_window_place(const tra_windowing *w, int64_t i) { return w->place ? w->place[i] : i; }
/* The row of what the part reaches that the item is, if it is a bundle; -1: it is a row. */
static inline int64_t tra_window_bundle(const tra_windowing *w, int64_t i) {
    if (!w->place) return -1;
    int64_t number = ((const int64_t *)w->in.v[w->x->number].values)[w->at[i]];
    return number <= -2 ? -2 - number : -1;
}
/* How many rows an item is, and how many ties. */
int64_t tra_window_rows(const tra_windowing *w, int64_t i);
int64_t tra_window_ties(const tra_windowing *w, int64_t i);

/* How the order of row j compares with that of row i, moved by end e of the frame. */
int tra_window_compare_moved(const tra_window *x, const tra_batch *b, const tra_window_frame *f, int e, int64_t j,
                             int64_t i);
/* Sets low and high (window_frames.c). */
void tra_window_find_frames(tra_windowing *w, const tra_window_frame *f);

/* The result of function i, an aggregate: as values, or for MIN and MAX as the row of `in` where the value is, in
 * `source`, by rows of the result (window_fold.c, window_rank.c). */
void tra_window_fold(tra_windowing *w, int i, int64_t *source);
void tra_window_rank(tra_windowing *w, int i);

/* Writes the numbers of rows, ascending, that x->top may select: whose value in the first column of the order, whose
 * strings need not be looked up, comes among the first ones of their group or is equal to one of them. Returns how
 * many; -1: most rows, or not known (window_top.c). row: room for all; words: scratch, nwords of it, at least 6 for
 * each row. */
int64_t tra_window_top_rows(const tra_window *x, const tra_batch *in, int64_t *row, int64_t *words, int64_t nwords);

/* What is known of a bundle for function i; NULL: the item is a row. */
const tra_group_total *tra_window_bundled(tra_windowing *w, int i, int64_t bundle);
static inline const tra_group_total *tra_window_total(tra_windowing *w, int i, int64_t item) {
    int64_t bundle = tra_window_bundle(w, item);
    return bundle >= 0 ? tra_window_bundled(w, i, bundle) : NULL;
}
/* The column of what the part reaches in which function i, MIN or MAX, finds the values of bundles. */
int tra_window_state_column(const tra_window *x, int i);

static inline bool tra_window_present(const tra_vector *v, int64_t row) {
    return !v->state || v->state[row] == TRA_STATE_VALUE;
}

/* A float, or NULL, as row `to` of a column. */
static inline void tra_window_put(tra_vector *v, int64_t to, bool any, double x) {
    ((double *)v->values)[to] = any ? x : 0;
    v->state[to] = any ? TRA_STATE_VALUE : TRA_STATE_NULL;
}

#endif
