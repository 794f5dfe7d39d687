/* string_set.h - sets of strings, numbered in the order in which they first came. */
#ifndef TRA_STRING_SET_H
#define TRA_STRING_SET_H

#include "../base/base.h"

/* Zero-initialise. String i is bytes[begin[i]] .. bytes[begin[i + 1]]. */
typedef struct tra_string_set {
    int64_t n, cap;
    int64_t *begin;
    char *bytes;
    int64_t bytes_cap;
    uint64_t *slots; /* number + 1 in the low half, the high half of the hash in the high one; 0: free */
    int64_t nslots;  /* a power of two, at most 2^32 */
} tra_string_set;

uint64_t tra_string_set_hash(const char *s, size_t n);
/* The number of the string, which is put in when it is new (*fresh). */
int64_t tra_string_set_add(tra_string_set *w, const char *s, size_t n, uint64_t hash, bool *fresh);
/* Adds a string without looking whether it is there, and without an entry by which it is found. After that no string is
 * added by tra_string_set_add until the set is empty. */
int64_t tra_string_set_push(tra_string_set *w, const char *s, size_t n);
/* Is the set so large that a string of that hash is best announced, some strings before it is added or looked for? */
static inline bool tra_string_set_is_large(const tra_string_set *w) { return w->nslots > 1 << 16; }
/* Where a string of that hash, or whose slot has that high half, is looked for first: when the set grows, slots are
 * placed anew without their strings. Who shares strings out by the first bits of the hash leaves enough. */
static inline int64_t tra_string_set_first(const tra_string_set *w, uint64_t hash) {
    return (int64_t)((uint64_t)(uint32_t)((hash >> 32) * 0x9e3779b1) * (uint64_t)w->nslots >> 32);
}
static inline void tra_string_set_expect(const tra_string_set *w, uint64_t hash) {
    __builtin_prefetch(&w->slots[tra_string_set_first(w, hash)]);
}
enum { TRA_STRINGS_AHEAD = 8 }; /* so many strings before */
int64_t tra_string_set_find(const tra_string_set *w, const char *s, size_t n, uint64_t hash); /* or -1 */
void tra_string_set_grow(tra_string_set *w);  /* doubles the slots, of which at most half are to be taken */
void tra_string_set_clear(tra_string_set *w); /* empty again, with its room */
void tra_string_set_free(tra_string_set *w);
int64_t tra_string_set_bytes(const tra_string_set *w); /* bytes that it takes */

/* ---- the order of strings, by bytes (string_sort.c) ---- */

/* The numbers of n strings in their order, equal ones beside each other; string i is bytes[begin[i]] ..
 * bytes[begin[i + 1]]. From malloc. */
int32_t *tra_strings_order(int64_t n, const int64_t *begin, const char *bytes);
static inline int32_t *tra_string_set_order(const tra_string_set *w) {
    return tra_strings_order(w->n, w->begin, w->bytes);
}
/* Such strings as a sorted dictionary of the arena, by several threads (base/parallel.h). code[i]: the code of string
 * i.
 */
const struct tra_dictionary *tra_strings_distinct(tra_arena *a, int64_t n, const int64_t *begin, const char *bytes,
                                                  int32_t *code);

#endif
