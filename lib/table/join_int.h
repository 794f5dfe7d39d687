/* join_int.h - what joins and the index of their right table share. */
#ifndef TRA_JOIN_INT_H
#define TRA_JOIN_INT_H

#include "join.h"
#include "table_int.h"

struct tra_lookup {
    tra_arena *arena;
    tra_lookup_spec s;
    tra_keys left, right;
    int64_t total; /* the words of right keys are less, as files tell, where they are one word; INT64_MAX: or more */
    tra_keys time[2]; /* of an as-of join: of the left and of the right rows */
    const tra_schema *pair, *out;
    const int *from;              /* of each column of the result its number in `pair`; -1: the partner's row number */
    const tra_colexpr *condition; /* the further condition on pairs, or NULL; */
    tra_colcode *where;           /* the program that evaluates it, */
    const bool *read;             /* which columns of `pair` it reads, */
    const struct tra_band *band;  /* and what it bounds (band.h), or NULL */
    struct {                      /* of the left and the right table the columns by which rows meet */
        int n;
        const int *column;
    } meets[2];
};

/* A key as a part of a word: how far a value lies above `least`, or `null`, times the stride. */
typedef struct tra_key_range {
    int64_t least;
    uint64_t range, null, stride; /* range: how far the greatest lies above the least */
} tra_key_range;

/* The index of the right table by key. Each key has a slot; the right rows of slot s are list[begin[s]] .. list[begin[s
 * + 1] - 1], or, where no two rows have one key, head[s] (-1: there is none). */
typedef struct tra_finder {
    int nkeys;
    bool nulls_match;
    bool packed;        /* the keys of a row are one word, */
    tra_key_range *key; /* made of these parts, */
    int64_t total;      /* less than this; INT64_MAX: or more */
    int words;          /* words of a row's keys */
    uint64_t *word;     /* the keys of the right rows, where they are not their own slots */
    uint64_t seed;
    bool direct;   /* the slot of a key is its word; else its rank, or its place in a hash table, */
    bool sorted;   /* or, where too many keys collide there, among all keys in order */
    bool single;   /* no two right rows have one key: there are no lists */
    bool exists;   /* there are bits alone, which say whether a key is there: all have slot 0 */
    bool first;    /* of rows with one key the first alone is there */
    bool close;    /* `bit` has a bit for each word, set if a key has it, whose rank is the slot */
    int64_t nbits;
    uint64_t *bit;
    int32_t *rank;  /* for each word of bits how many are set before */
    int64_t nslots; /* of a hash table a power of 2 */
    uint8_t *tag;   /* of a hash table: of each slot bits of the hash of its key; 0: the slot is free */
    int32_t *head;  /* of each slot a right row that has its key; where there are no tags, -1: the slot is free */
    int32_t *begin, *list;
    int32_t *slot; /* of each right row; -1: a NULL key that matches nothing */
} tra_finder;

/* Shows the right rows, in io->in[1]; false after a failure. */
bool tra_lookup_open(const tra_lookup *l, tra_rows_io *io);
/* The number of a row of the left (0) or right (1) table, for messages. first: that of the batch's first row. */
static inline int64_t tra_lookup_row(const tra_lookup *l, int side, const tra_batch *b, int64_t first, int64_t row) {
    int c = l->s.numbered[side] - 1;
    return c < 0 ? first + row : ((const int64_t *)b->v[c].values)[row];
}
bool tra_lookup_is_kept(const tra_lookup *l, const tra_kept *kept); /* is its index there, whose rows were checked? */
const char *tra_lookup_name(const tra_lookup *l, int side);  /* of the left (0) or right (1) table, for messages */
int64_t tra_finder_bytes(const tra_lookup *l, int64_t rows); /* of an index of so many rows, */
/* Of an index: words of a row's keys, one, or as tra_keys_of has them; and words that hold so many bits. */
int tra_finder_words(const tra_lookup *l);
static inline int64_t tra_finder_bit_words(int64_t bits) { return bits / 64 + 1; }
bool tra_lookup_asks(const tra_lookup *l); /* does the join ask only whether a key is there? */
/* Chooses how keys of so many rows are found, whose words are less than x->total. */
void tra_finder_choose(const tra_lookup *l, bool lists, int64_t rows, tra_finder *x);
/* Gives an index of so many rows its arrays, and returns what follows them. */
char *tra_finder_place(const tra_lookup *l, tra_finder *x, int64_t rows, char *room);
int64_t tra_finder_scratch(const tra_lookup *l);             /* and of scratch, to make it and to look up */
/* Makes the index in *room, and sets that to what is left of it. lists: rows of keys are asked for, also of joins that
 * ask only whether there are some. */
TRA_MUSTUSE tra_status tra_finder_make(const tra_lookup *l, const tra_batch *right, bool lists, tra_finder *x,
                                       void **room, void *scratch, tra_err *e);
/* The slots of the keys of n left rows (at most a strip) from `row` on; -1: nobody has the key. first: the number of
 * the batch's first row. */
TRA_MUSTUSE tra_status tra_finder_slots(const tra_lookup *l, const tra_finder *x, const tra_batch *left, int64_t row,
                                        int n, int64_t first, int32_t *slot, void *scratch, tra_err *e);
/* The rows of a slot: list[*begin] .. list[*end - 1]. Not where bits alone are there. */
static inline void tra_finder_rows(const tra_finder *x, int32_t slot, int64_t *begin, int64_t *end) {
    *begin = slot < 0 ? 0 : x->single ? slot : x->begin[slot];
    *end = slot < 0 ? 0 : x->single ? slot + (x->head[slot] >= 0) : x->begin[slot + 1];
}

#endif
