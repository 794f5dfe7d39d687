/* extract_int.h - what extract.c (sets of supplies, group by group) and prune.c (which candidates stay) share. */
#ifndef TRA_EXTRACT_INT_H
#define TRA_EXTRACT_INT_H

#include "search_int.h"

typedef struct candidate {
    score s;
    int place;
    int implementation, supply; /* of the group itself, added to `base` */
    const entry *base;
    int seq, tier, rank;
    bool first, kept; /* the cheapest of its strategy; chosen */
} candidate;

typedef struct candidates {
    int n, cap;
    candidate *v;
} candidates;

/* Sorts, cheapest first, and keeps at most `most`. First tier: of those that serve others alike, the ones that no
 * cheaper one replaces. Second tier: the same among those of one strategy. */
void tra_search_prune(search *s, candidates *x, int most);

#endif
