/* sorter.h - sorts entries by place in bounded memory: runs are sorted in memory and spilled when it is full, then
 * merged.
 *
 * The calls, in order: tra_sorter_new; tra_sorter_room and tra_sorter_added, as often as items come; tra_sorter_sort;
 * tra_sorter_merge; tra_sorter_take until no more items come; tra_sorter_free. One thread calls them; sorting has
 * threads of its own.
 */
#ifndef TRA_SORTER_H
#define TRA_SORTER_H

#include "../lib/base/crew.h"
#include "io.h"
#include "places.h"

/* An entry on its way from a reader to a block. */
typedef struct tra_item {
    uint64_t place;
    tra_number value;
} tra_item;

typedef struct tra_sorter tra_sorter;

typedef struct tra_sorter_options {
    uint64_t places;    /* one more than the largest place */
    int64_t memory;     /* bytes, at least tra_sorter_need */
    int64_t most;       /* no more items will come, and no memory for more is taken; -1: not known */
    int64_t least;      /* room that tra_sorter_room must give */
    int ranges;         /* items are counted in so many ranges of places, which take 8 bytes each */
    const char *output; /* path in whose directory the scratch file may be */
    int workers;
    bool real;         /* the values are reals, not whole numbers */
    bool or_values;    /* duplicates give 1 where one of them is not 0, instead of their sum */
    bool drop_zeros;   /* leave out sums of 0 */
    bool no_duplicate; /* a place that comes twice is an error, whose message the caller makes (tra_sorter_failed) */
} tra_sorter_options;

/* The least memory in bytes, where at most `most` items will come (-1: not known), `least` of them at once. */
int64_t tra_sorter_need(int64_t most, int64_t least, int ranges);
tra_sorter *tra_sorter_new(const tra_sorter_options *o);
void tra_sorter_free(tra_sorter *s); /* NULL allowed */

/* Gives room for *room items, at least o.least. The caller puts items there and says by tra_sorter_added how many,
 * before the next call. TRA_RESOURCE when the scratch file cannot be written. */
TRA_MUSTUSE tra_status tra_sorter_room(tra_sorter *s, tra_item **to, int64_t *room, tra_err *e);
void tra_sorter_added(tra_sorter *s, int64_t n);

/* To be called when all items have come. */
TRA_MUSTUSE tra_status tra_sorter_sort(tra_sorter *s, tra_err *e);

/* After tra_sorter_sort: upper bounds of how many items lie in the n places from `from` on, and in any of the intervals
 * [i*n, (i+1)*n). They are counts of whole ranges (o.ranges), so a bound may be several times too large where a great
 * many items fall on few places. */
int64_t tra_sorter_count_in(const tra_sorter *s, uint64_t from, uint64_t n);
int64_t tra_sorter_most_in(const tra_sorter *s, uint64_t n);
/* Prepares to hand out items, in `memory` bytes, at least tra_sorter_need. TRA_RESOURCE when that is too little. */
TRA_MUSTUSE tra_status tra_sorter_merge(tra_sorter *s, int64_t memory, tra_err *e);

/* Hands out the next items before place `end`, in ascending order, up to `want` of them; *got is less only when there
 * are no more. Duplicates are added up in the order in which they came. TRA_INPUT, without a message, when a place
 * comes twice that may not, or a sum of whole numbers does not fit 64 bits: tra_sorter_failed tells which, and *place
 * where. */
TRA_MUSTUSE tra_status tra_sorter_take(tra_sorter *s, uint64_t end, tra_item *to, int64_t want, int64_t *got,
                                       tra_err *e);

typedef enum tra_sorter_failure { TRA_SORTER_FINE, TRA_SORTER_TWICE, TRA_SORTER_TOO_LARGE } tra_sorter_failure;
tra_sorter_failure tra_sorter_failed(const tra_sorter *s, uint64_t *place);

/* Gives back the memory when nothing more will be taken; counts can still be asked. */
void tra_sorter_end(tra_sorter *s);

typedef struct tra_sorter_counts {
    int64_t spilled;    /* bytes written to the scratch file */
    int64_t duplicates; /* items added to an earlier one of their place */
    int64_t dropped;    /* sums of 0 left out */
    int64_t kept;       /* items handed out */
} tra_sorter_counts;
tra_sorter_counts tra_sorter_counted(const tra_sorter *s);

#endif
