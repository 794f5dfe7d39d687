/* sorter.h - entries in any order, sorted by place in bounded memory: runs that are sorted in memory and spilled when
 * this is full, then merged.
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

/* Sorts items by place, those of one place in the order in which they stand; both arrays have n items and change
 * places as often as they have to: returns the one that has the result. places: one more than the largest. */
tra_item *tra_items_sort(tra_item *items, tra_item *other, int64_t n, uint64_t places);

typedef struct tra_sorter tra_sorter;

typedef struct tra_sorter_options {
    uint64_t places;    /* one more than the largest place */
    int64_t memory;     /* at least tra_sorter_need */
    int64_t most;       /* no more items than these will come, -1: not known; memory for more is not taken */
    int64_t least;      /* what comes at once */
    int groups;         /* ranges of places of which it is counted how many items fall into them: 8 bytes each */
    const char *output; /* beside which the scratch file may be */
    int workers;
    bool real;         /* the values are reals, not whole numbers */
    bool any;          /* of duplicates: 1 where one is not 0, instead of the sum */
    bool drop_zeros;   /* sums of 0 are left out */
    bool no_duplicate; /* a place that is given twice is an error, which the caller words (tra_sorter_twice) */
} tra_sorter_options;

/* The least memory, when at most so many items will come (-1: not known) of which `least` come at once. */
int64_t tra_sorter_need(int64_t most, int64_t least, int groups);
tra_sorter *tra_sorter_new(const tra_sorter_options *o);
void tra_sorter_free(tra_sorter *s); /* NULL allowed */

/* Room for at least o.least items, more where there is: *room. What is put there is added by tra_sorter_added, before
 * the next call. TRA_RESOURCE when the scratch file cannot be written. */
TRA_MUSTUSE tra_status tra_sorter_room(tra_sorter *s, tra_item **to, int64_t *room, tra_err *e);
void tra_sorter_added(tra_sorter *s, int64_t n);

/* All items have come. */
TRA_MUSTUSE tra_status tra_sorter_sort(tra_sorter *s, tra_err *e);

/* After that: at most so many items lie in the n places from this one; in any of the ranges [i*n, (i+1)*n). Of an input
 * of which a great many fall on few places this may be several times too much. */
int64_t tra_sorter_among(const tra_sorter *s, uint64_t from, uint64_t n);
int64_t tra_sorter_most(const tra_sorter *s, uint64_t n);
/* Gets ready to hand out items, in so much memory: at least tra_sorter_need. */
TRA_MUSTUSE tra_status tra_sorter_merge(tra_sorter *s, int64_t memory, tra_err *e);

/* The items before place `end` in ascending order, up to `want` of them: *got is less only when there are no more.
 * Duplicates are added up in the order in which they came. TRA_INPUT without a message when a place comes twice that
 * may not, or a sum of whole numbers does not fit 64 bits: then tra_sorter_failed_at is the place. */
TRA_MUSTUSE tra_status tra_sorter_take(tra_sorter *s, uint64_t end, tra_item *to, int64_t want, int64_t *got,
                                       tra_err *e);

typedef enum tra_sorter_failure { TRA_SORTER_FINE, TRA_SORTER_TWICE, TRA_SORTER_TOO_LARGE } tra_sorter_failure;
tra_sorter_failure tra_sorter_failed(const tra_sorter *s, uint64_t *place);

/* Gives back the memory; counts can still be asked. */
void tra_sorter_end(tra_sorter *s);

typedef struct tra_sorter_counts {
    int64_t spilled;    /* bytes that went through the scratch file */
    int64_t duplicates; /* items that were added to an earlier one of their place */
    int64_t dropped;    /* sums of 0 that were left out */
    int64_t kept;       /* items that were handed out */
} tra_sorter_counts;
tra_sorter_counts tra_sorter_counted(const tra_sorter *s);

#endif
