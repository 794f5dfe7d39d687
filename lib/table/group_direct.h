/* group_direct.h - groups that are found by their keys, without sorting rows. Private to lib/table. */
#ifndef TRA_GROUP_DIRECT_H
#define TRA_GROUP_DIRECT_H

#include "group_total.h"

/* Groups, numbered as they were found. */
typedef struct tra_group_direct {
    const tra_group *g;
    const tra_batch *in;
    int64_t n, groups;
    int64_t *first;       /* in the order of keys: the first row of each group; to be read before groups are added up */
    const int32_t *of;    /* the group of each row */
    const int32_t *order; /* the groups in the order of keys */
    const int32_t *count; /* of each group: its rows */
    char *room;           /* for totals of some groups at a time */
    int64_t bytes;
} tra_group_direct;

/* Words of scratch that both take: half of them for each row, and some more. */
enum { TRA_DIRECT_HALVES = 7, TRA_DIRECT_MORE = 64 };

/* Finds the groups of a batch. False: keys take too many bits, most rows are groups of their own, or different
 * values are counted; then rows are sorted. words: scratch, where the lists and totals lie. */
bool tra_group_find_direct(const tra_group *g, const tra_batch *in, int64_t *words, tra_group_direct *d);
/* Aggregates them, as rows 0 .. groups - 1 of out (group_add.c). */
void tra_group_run_direct(const tra_group_direct *d, tra_batch *out);
/* Makes aggregate i, and those with the same totals, where a row stands for each group (group_place.c). False: it is
 * another one, or compares strings whose codes do not stand in their order. */
bool tra_group_run_places(const tra_group_direct *d, int i, tra_batch *out);
/* Makes quantile i, and those of the same column (group_values.c). */
void tra_group_run_values(const tra_group_direct *d, int i, tra_batch *out);

#endif
