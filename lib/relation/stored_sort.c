/* stored_sort.c - sorting entries: a stable radix sort. */
#include "stored_int.h"

static tra_sort_item *by_digit(tra_sort_item *v, tra_sort_item *tmp, int64_t n, bool hi, int shift) {
    int64_t at[257] = {0};
    for (int64_t i = 0; i < n; i++) at[((hi ? v[i].hi : v[i].lo) >> shift & 255) + 1]++;
    for (int d = 0; d < 256; d++) {
        if (at[d + 1] == n) return v;
        at[d + 1] += at[d];
    }
    for (int64_t i = 0; i < n; i++) tmp[at[(hi ? v[i].hi : v[i].lo) >> shift & 255]++] = v[i];
    return tmp;
}

/* Sorts by one of the two words, unless they ascend already. */
static tra_sort_item *by_word(tra_sort_item *v, tra_sort_item *tmp, int64_t n, bool hi) {
    uint64_t all = 0, before = 0;
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = hi ? v[i].hi : v[i].lo;
        sorted = sorted && x >= before;
        before = x;
        all |= x;
    }
    for (int shift = 0; !sorted && shift < 64 && all >> shift; shift += 8) {
        tra_sort_item *to = by_digit(v, tmp, n, hi, shift);
        if (to == tmp) tmp = v, v = to;
    }
    return v;
}

tra_sort_item *tra_sort_items(tra_sort_item *v, tra_sort_item *tmp, int64_t n) {
    tra_sort_item *low = by_word(v, tmp, n, false);
    return by_word(low, low == v ? tmp : v, n, true);
}
