/* join_room.c - what the index of a join's right table takes: how keys are found, and the arrays for that. */
#include "join_int.h"

enum { STRIP = TRA_COLSTRIP };

/* Keys that lie so close together, for so many rows, are their own slots: of large tables half as many for a row, since
 * that takes memory which other tables need. */
static int64_t direct_slots(int64_t rows) {
    enum { LARGE = 1 << 23 };
    return tra_max64(2 * rows, tra_min64(4 * rows, LARGE)) + (1 << 16);
}

static int64_t hash_slots(int64_t rows) {
    enum { LARGE = 1 << 23 };
    int64_t n = 16, least = tra_max64(rows + rows / 2, tra_min64(2 * rows, LARGE));
    while (n < least) n *= 2;
    return n;
}

/* Bits for words that lie within so many. For every 64 bits there is a rank. */
static int64_t most_bits(int64_t rows) {
    enum { LARGE = 1 << 27 };
    return tra_max64(32 * rows, tra_min64(64 * rows, LARGE)) + (1 << 16);
}
/* The same of bits alone, which have no ranks. For each row they take as many bytes as a hash table: 32. */
static int64_t most_asked(int64_t rows) {
    enum { EACH = 256 };
    return tra_max64(most_bits(rows), tra_mul_most(EACH, rows));
}

/* Are the keys of every right table one word, whatever their values are? */
static bool is_one_word(const tra_lookup *l) {
    unsigned __int128 total = 1;
    if (l->s.nkeys == 1 && !l->s.nulls_match) return true;
    for (int k = 0; k < l->s.nkeys; k++) {
        tra_coltype t = l->right.x[k]->type;
        if (tra_coltype_is_float(t) || total >> 64) return false;
        total *= ((unsigned __int128)1 << 8 * tra_coltype_size(t)) + l->s.nulls_match;
    }
    return total - 1 <= UINT64_MAX;
}

int tra_finder_words(const tra_lookup *l) { return is_one_word(l) ? 1 : tra_keys_words(l->s.nkeys); }

bool tra_lookup_asks(const tra_lookup *l) {
    return (l->s.how == TRA_LOOKUP_SEMI || l->s.how == TRA_LOOKUP_ANTI) && !l->where && !l->s.unique && !l->s.asof;
}

typedef enum way {
    BY_HASH,
    CLOSE,  /* slots are ranks of keys among the bits of those that are there */
    BITS,   /* the same, and nothing but the bits is needed */
    DIRECT, /* keys are their slots */
} way;

static void use(tra_finder *x, way how, int64_t rows) {
    x->direct = how == DIRECT;
    x->exists = how == BITS;
    x->close = how != BY_HASH;
    x->nslots = x->direct ? x->total : x->close ? tra_max64(1, tra_min64(rows, x->total)) : hash_slots(rows);
    x->nbits = x->close ? x->total : 0;
}

void tra_finder_choose(const tra_lookup *l, bool lists, int64_t rows, tra_finder *x) {
    bool bits = tra_lookup_asks(l) && !lists;
    bool direct = x->total < direct_slots(rows) && !(bits && rows > STRIP);
    bool hashed = x->total >= (bits ? most_asked(rows) : most_bits(rows));
    use(x, direct ? DIRECT : hashed ? BY_HASH : bits ? BITS : CLOSE, rows);
}

static void *take(char **p, bool needed, int64_t bytes) {
    void *room = *p;
    *p += needed ? tra_round64(bytes) : 0;
    return room;
}

char *tra_finder_place(const tra_lookup *l, tra_finder *x, int64_t rows, char *room) {
    bool by_hash = !x->direct && !x->close, slots = !x->exists;
    char *p = room;
    x->word = take(&p, by_hash, rows * tra_finder_words(l) * 8);
    x->begin = take(&p, slots, 4 * (x->nslots + 1));
    x->slot = take(&p, slots, 4 * rows);
    x->list = take(&p, slots, 4 * rows);
    x->head = x->direct ? x->begin : take(&p, slots, 4 * x->nslots); /* slots that are keys have rows, or lists */
    x->tag = take(&p, by_hash, x->nslots);
    x->bit = take(&p, x->close && !x->direct, tra_finder_bit_words(x->nbits) * 8);
    x->rank = take(&p, x->close && slots && !x->direct, tra_finder_bit_words(x->nbits) * 4);
    return p;
}

/* Bytes of the arrays where keys of so many rows, whose words are less than total, are found in that way. */
static int64_t bytes_of(const tra_lookup *l, way how, int64_t rows, int64_t total) {
    static char base[64];
    tra_finder x = {.total = total};
    use(&x, how, rows);
    return tra_finder_place(l, &x, rows, base) - base;
}

int64_t tra_finder_bytes(const tra_lookup *l, int64_t rows) {
    if (l->s.nkeys == 0) return 64 + tra_round64(4 * rows);
    bool bits = tra_lookup_asks(l);
    int64_t few = bits ? tra_min64(rows, STRIP) : rows;
    int64_t close = tra_min64(l->total, (bits ? most_asked(rows) : most_bits(rows)) - 1),
            direct = tra_min64(l->total, direct_slots(few) - 1);
    /* Each way has as many rows as it may have with such words: tra_finder_choose takes others for more. */
    int64_t most = bytes_of(l, BY_HASH, tra_min64(rows, l->total / 32), INT64_MAX);
    most = tra_max64(most, bytes_of(l, bits ? BITS : CLOSE, tra_min64(rows, close / 2), close));
    most = tra_max64(most, bytes_of(l, DIRECT, few, direct));
    return most + tra_round64(l->s.nkeys * (int64_t)sizeof(tra_key_range));
}
