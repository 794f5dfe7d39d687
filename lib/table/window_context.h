/* window_context.h - windows over a sorted table that is cut into parts, of which a group may have any number.
 *
 * A part is computed with what its functions need of other parts, its context: of parts that an end of a frame or a
 * move may meet, all rows of the group; of all others of the group bundles. A bundle is several neighbouring rows, of
 * which only totals are known; those that are not all ties are in bundles of their own, and the ends of a group and of
 * ties are rows. So the memory for a part does not grow with its groups or frames, but by some bundles for each part.
 *
 * Numbers of parts ascend with the places of their rows. Columns of a part are those of `in`.
 */
#ifndef TRA_WINDOW_CONTEXT_H
#define TRA_WINDOW_CONTEXT_H

#include "window.h"

struct tra_window_context {
    /* Of a part its first and last group, as rows and bundles: the columns of the part, how many rows it is, how many
     * ties a bundle has (0 of a row), its totals, and the number of the part. What a part reaches has the same columns;
     * there ties are OWN in the part's own rows, and FROM (UP_TO) where all rows of another part from this place on (up
     * to it) are in the context. */
    const tra_schema *summary;
    int place; /* the column of the part that has places, the last one */
    int rows, ties, totals, part;
    const tra_group *states; /* totals; NULL: there are none */
    const int *state;        /* which of them function i has; -1: none */
    /* Of which parts all rows are needed: those that have a row from so much after the first row of the part to so much
     * after its last one; and those with these rows of a group. */
    int nspans;
    const tra_window_frame *span;
    int nnth;
    const int64_t *nth;
    bool bundles;            /* of other parts bundles are needed, */
    bool counts_ties;        /* with the number of ties */
    int64_t reach[2];        /* no row further away is needed, unless it is in a bundle; if there are no bundles */
    int64_t part_rows, most; /* rows of a part and of a context, at most */
};
enum { TRA_WINDOW_OWN = -1, TRA_WINDOW_FROM = -2, TRA_WINDOW_UP_TO = -3, TRA_WINDOW_SUMMARY_ROWS = 14 };

/* Fills places, spans and totals from the functions of x, whose `in` has the columns of a part: part_rows is what a
 * part has at most, of `parts` that have `all` rows. x is not new yet. */
TRA_MUSTUSE tra_status tra_window_context_new(tra_arena *a, const tra_window *x, int64_t part_rows, int64_t parts,
                                              int64_t all, const struct tra_window_context **out, tra_err *e);

/* data: a tra_window. A join of a part with an i64 array whose first element is its number: its summary. */
extern const tra_rows_ops tra_window_summary_ops;
/* A join of all summaries with such a number: what the part reaches. */
extern const tra_rows_ops tra_window_reach_ops;
/* A join of a part with what another one reaches: its rows of the context. The number of a row is -1 where it is not of
 * the part itself, and where it is a bundle -2 - the row of what the part reaches. */
extern const tra_rows_ops tra_window_pick_ops;

#endif
