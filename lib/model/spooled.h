/* spooled.h - dictionaries whose strings are not in memory: how they are read, and united.
 *
 * Codes alone group, join and sort rows, so most programs never look at the strings of a column. A large dictionary
 * therefore stays in its file (tra_dictionary.file), or is a union of other dictionaries (tra_dictionary.part), until
 * somebody needs its strings: in order, some at a time (tra_strings), or all in memory (tra_dictionary_read).
 */
#ifndef TRA_SPOOLED_H
#define TRA_SPOOLED_H

#include "columns.h"

/* Strings in a file: its number i at ends_at (64 bits) is where string i ends, and string i + 1 begins, among the bytes
 * from bytes_at on. String 0 begins at `first`. */
typedef struct tra_spooled {
    int fd;
    const char *where; /* for messages */
    int64_t n, ends_at, bytes_at, first, bytes;
    const char *held[2]; /* ends and bytes, where they are in memory instead, both from 0 on */
} tra_spooled;
/* Reads n bytes of the ends from byte `at` of them on. */
TRA_MUSTUSE tra_status tra_spooled_ends(const tra_spooled *f, int64_t at, void *to, int64_t n, tra_err *e);

/* Are its strings not in memory? */
static inline bool tra_dictionary_is_away(const tra_dictionary *d) { return d && d->n > 0 && !d->begin; }
/* Reads all strings into the memory of the dictionary's arena, unless they are there. For one thread at a time.
 * TRA_RESOURCE: they do not fit below the ceiling. NULL is allowed. */
TRA_MUSTUSE tra_status tra_dictionary_read(const tra_dictionary *d, tra_err *e);
/* One string as text for messages, the first bytes of a long one. */
enum { TRA_ENTRYTEXT = 64 };
const char *tra_dictionary_text(const tra_dictionary *d, int64_t code, char buf[TRA_ENTRYTEXT], int64_t *len);

/* Some strings at a time, in the order of their codes: string from + k is bytes[begin[k] - begin[0]] and so on, up to
 * begin[k + 1] - begin[0]. They are here until the next call. */
typedef struct tra_strings {
    const tra_dictionary *d;
    int64_t from, n;
    const int64_t *begin;
    const char *bytes;
    int64_t *ends; /* what it owns */
    char *buf;
    int64_t room;
    struct tra_merging_strings *parts;
} tra_strings;
void tra_strings_begin(tra_strings *s, const tra_dictionary *d);
/* The next ones; n = 0: there are no more. */
TRA_MUSTUSE tra_status tra_strings_more(tra_strings *s, tra_err *e);
void tra_strings_end(tra_strings *s);
static inline const char *tra_strings_at(const tra_strings *s, int64_t k, int64_t *len) {
    *len = s->begin[k + 1] - s->begin[k];
    return s->bytes + (s->begin[k] - s->begin[0]);
}
/* The codes v[i][0] of d, which ascend, become those of the same strings in `in`; -1: it does not have them. */
TRA_MUSTUSE tra_status tra_dictionary_find_all(const tra_dictionary *in, const tra_dictionary *d, int64_t n,
                                               int64_t (*v)[2], tra_err *e);
/* Bytes that reading so takes. */
int64_t tra_strings_bytes(const tra_dictionary *d);

/* Which strings of a union are those of one of its dictionaries: the code k of that, at
 * least 0, is tra_recoded(p, k) there. */
typedef struct tra_recoding {
    const uint64_t *bits; /* of each string of the union, whether it is one; NULL: `at` has all codes */
    const uint32_t *at;   /* the codes of number 0, 1 << shift, 2 << shift, .. there */
    int shift;
} tra_recoding;
static inline int32_t tra_recoded(const tra_recoding *p, int64_t k) {
    uint32_t at = p->at[k >> p->shift], word = at / 64;
    if (!p->bits) return (int32_t)at;
    uint64_t x = p->bits[word] & ~UINT64_C(0) << at % 64;
    for (int64_t left = k & ((INT64_C(1) << p->shift) - 1);; x &= x - 1) {
        while (x == 0) x = p->bits[++word];
        if (left-- == 0) return (int32_t)(word * 64 + (uint32_t)__builtin_ctzll(x));
    }
}
/* The union of sorted dictionaries, whose strings stay where they are, with the recoding of each of them. TRA_INPUT: it
 * has more strings than codes. */
TRA_MUSTUSE tra_status tra_dictionary_unite(tra_arena *a, int n, const tra_dictionary *const *d,
                                            const tra_dictionary **out, tra_recoding *recoding, tra_err *e);

#endif
