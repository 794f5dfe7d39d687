/* stored_sort.c - entries in another order: a stable sort by digits. */
#include "stored_int.h"

static tra_item *by_digit(tra_item *v, tra_item *tmp, int64_t n, bool hi, int shift) {
    int64_t at[257] = {0};
    for (int64_t i = 0; i < n; i++) at[((hi ? v[i].hi : v[i].lo) >> shift & 255) + 1]++;
    for (int d = 0; d < 256; d++) {
        if (at[d + 1] == n) return v;
        at[d + 1] += at[d];
    }
    for (int64_t i = 0; i < n; i++) tmp[at[(hi ? v[i].hi : v[i].lo) >> shift & 255]++] = v[i];
    return tmp;
}

/* By one of the words, unless it ascends already. */
static tra_item *by_word(tra_item *v, tra_item *tmp, int64_t n, bool hi) {
    uint64_t all = 0, before = 0;
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = hi ? v[i].hi : v[i].lo;
        sorted = sorted && x >= before;
        before = x;
        all |= x;
    }
    for (int shift = 0; !sorted && shift < 64 && all >> shift; shift += 8) {
        tra_item *to = by_digit(v, tmp, n, hi, shift);
        if (to == tmp) tmp = v, v = to;
    }
    return v;
}

tra_item *tra_sort_items(tra_item *v, tra_item *tmp, int64_t n) {
    tra_item *low = by_word(v, tmp, n, false);
    return by_word(low, low == v ? tmp : v, n, true);
}
