/* extract_int.h - what extract.c (candidates, group by group), sets.c (sets of supplies) and prune.c (which
 * candidates stay) share. */
#ifndef TRA_EXTRACT_INT_H
#define TRA_EXTRACT_INT_H

#include "search_int.h"

typedef struct candidate {
    score s;
    int place;
    int implementation, supply; /* of the group itself, added to `base` */
    const set *base;
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

/* ---- sets.c ------------------------------------------------------------------------------------------------------ */

/* Where sets are combined: for a group g; or, with g < 0, for the outputs up to number `root`. last_root: of each group
 * the last output that needs it. */
typedef struct scope {
    int g, root;
    const int *last_root;
} scope;

/* May others use the group too: not only what the scope is about? */
bool tra_is_open(const search *s, scope at, int group);
/* Adds what a supply costs. */
void tra_count_supply(const search *s, int supply, bool open, score *t);
score tra_set_score(const search *s, const set *x, scope at);
/* The supply of a group in a set; 0: the group is no member. */
int tra_set_supply(const set *x, int group);
/* The union of two sets, in out (room for both); false when they have different implementations of a group. */
bool tra_sets_unite(search *s, const set *a, const set *b, scope at, set *out);
/* The union of two sets that have different implementations of a group: the first one's is taken. */
void tra_sets_reconcile(search *s, const set *a, const set *b, int nroots, const root *roots, scope at, set *out);
/* Sorts roots, each of which stays once. Returns how many there are. */
int tra_roots_once(int n, root *v);
/* Takes the members that nobody outside of the scope may use out of v[*n]; NULL: there are none. The same as what was
 * closed since number `from`, if it is equal. */
closed *tra_close_members(search *s, scope at, int from, int *n, member *v);
/* The set by group: out[s->ngroups]. */
void tra_set_spread(const search *s, const set *x, int *out);

#endif
