/* join_int.h - what joins and the index of their right table share. */
#ifndef TRA_JOIN_INT_H
#define TRA_JOIN_INT_H

#include "join.h"
#include "table_int.h"

struct tra_lookup {
    tra_arena *arena;
    tra_lookup_spec s;
    tra_keys left, right;
    tra_keys time[2]; /* of an as-of join: of the left and of the right rows */
    const tra_schema *pair, *out;
    const int *from;              /* of each column of the result its number in `pair`; -1: the partner's row number */
    const tra_colexpr *condition; /* the further condition on pairs, or NULL; */
    tra_colcode *where;           /* the program that evaluates it, */
    const bool *read;             /* which columns of `pair` it reads, */
    const struct tra_band *band;  /* and what it bounds (band.h), or NULL */
};

/* The index of the right table by key. Each key has a slot; the right rows of slot s are list[begin[s]] .. list[begin[s
 * + 1] - 1]. */
typedef struct tra_finder {
    int nkeys;
    int words;      /* words of a row's keys (tra_keys_words) */
    uint64_t *word; /* the keys of the right rows */
    bool direct;    /* the slot of a key is the key less `least`; else its place in a hash table, */
    bool sorted;    /* or, where too many keys collide there, among all keys in order */
    bool single;    /* no two right rows have one key */
    bool exists;    /* there are bits alone, which say whether a key is there: their places are slots */
    bool close;     /* `bit` has a bit for each value from `least` on, set if a key has it; else for hashes */
    int64_t least;
    int64_t nbits;
    uint64_t *bit;  /* most left rows that have no partner are recognized by it; not where keys are their own slots */
    int64_t nslots; /* of a hash table a power of 2 */
    int32_t *head;  /* of each slot a right row that has its key; hash table: -1 where the slot is free */
    int64_t probes; /* that have met another key, so far */
    int32_t *begin, *list;
    int32_t *slot; /* of each right row; -1: a NULL key that matches nothing */
} tra_finder;

const char *tra_lookup_name(const tra_lookup *l, int side);  /* of the left (0) or right (1) table, for messages */
int64_t tra_finder_bytes(const tra_lookup *l, int64_t rows); /* of an index of so many rows */
/* Makes the index in *room, and sets that to what is left of it. lists: with the rows of each key, also of joins that
 * ask only whether there are some. */
TRA_MUSTUSE tra_status tra_finder_make(const tra_lookup *l, const tra_batch *right, bool lists, tra_finder *x,
                                       void **room, void *scratch, tra_err *e);
bool tra_finder_is_whole(const tra_lookup *l); /* has the join one key, of whole numbers, dates or codes, never NULL? */
int64_t tra_finder_find(const tra_lookup *l, tra_finder *x, const uint64_t *words); /* the slot of a key, or -1 */

#endif
