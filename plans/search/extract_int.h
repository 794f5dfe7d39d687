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

/* Sorts candidates, the cheapest first, and keeps at most `most`. The first tier, which comes first, are candidates
 * that no cheaper one can replace wherever other groups use them; the second tier are the same within each strategy. */
void tra_search_prune(search *s, candidates *x, int most);

#endif
