/* radix.h - a stable sort of items by a whole number in them, digit by digit from the lowest. */
#ifndef TRA_RADIX_H
#define TRA_RADIX_H

#include "base.h"

/* Sorts n items of 8, 16 or 24 bytes by the uint64_t at byte `key` of each. `other` has room for as many; the result is
 * in v or in other, which is returned. Items that ascend already stay as they are. For several keys: the least
 * important one first. */
void *tra_radix_sort(void *v, void *other, int64_t n, size_t size, size_t key);
/* The same where the bits are known in which keys differ, at most; whether they ascend is not looked at. */
void *tra_radix_sort_bits(void *v, void *other, int64_t n, size_t size, size_t key, uint64_t bits);

#endif
