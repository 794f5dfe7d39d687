/* sorter_radix.c - sorts items by place, by its least significant digit first. */
#include "sorter.h"

#include <string.h>

enum { BITS = 11, DIGITS = 1 << BITS, PASSES = (64 + BITS - 1) / BITS };

tra_item *tra_items_sort(tra_item *items, tra_item *other, int64_t n, uint64_t places) {
    int bits = 0;
    while (bits < 64 && (places - 1) >> bits > 0) bits++;
    if (places == 0) bits = 64;
    if (n < 2) return items;
    /* All digits have about the same width, so that there are few passes. One loop counts the values of all digits. */
    int passes = (bits + BITS - 1) / BITS, width = passes ? (bits + passes - 1) / passes : 0;
    uint64_t mask = ((uint64_t)1 << width) - 1;
    static _Thread_local int64_t count[PASSES][DIGITS];
    memset(count, 0, sizeof count[0] * (size_t)passes);
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) {
        uint64_t p = items[i].place;
        if (i > 0) sorted &= items[i - 1].place <= p;
        for (int k = 0; k < passes; k++) count[k][p >> k * width & mask]++;
    }
    if (sorted) return items;
    for (int k = 0; k < passes; k++) {
        int shift = k * width;
        int64_t *c = count[k], at = 0;
        if (c[items[0].place >> shift & mask] == n) continue; /* all have this digit */
        for (uint64_t d = 0; d <= mask; d++) {
            int64_t here = c[d];
            c[d] = at;
            at += here;
        }
        for (int64_t i = 0; i < n; i++) other[c[items[i].place >> shift & mask]++] = items[i];
        tra_item *t = items;
        items = other;
        other = t;
    }
    return items;
}
