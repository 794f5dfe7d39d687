/* key_words.c - the keys of rows as words of few bits, made strip by strip. */
#include "../base/simd.h"
#include "group.h"
#include "order.h"

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

static int bits_of(uint64_t most) { return most ? 64 - __builtin_clzll(most) : 0; }

/* ---- what values there are --------------------------------------------------------------------------------------- */

/* Of all values of a column the least and the most; and what they add to words. */
#define X(name, T)                                                                                                     \
    VECTORS static void range_##name(const T *v, int64_t n, int64_t *least, int64_t *most) {                           \
        T low = v[0], high = v[0];                                                                                     \
        for (int64_t i = 1; i < n; i++) {                                                                              \
            low = v[i] < low ? v[i] : low;                                                                             \
            high = v[i] > high ? v[i] : high;                                                                          \
        }                                                                                                              \
        *least = low;                                                                                                  \
        *most = high;                                                                                                  \
    }                                                                                                                  \
    VECTORS static void add_##name(uint64_t *restrict word, const T *restrict v, int n, uint64_t least, int shift) {   \
        for (int i = 0; i < n; i++) word[i] += ((uint64_t)(int64_t)v[i] - least) << shift;                             \
    }
X(I64, int64_t)
X(I32, int32_t)
X(BOOL, uint8_t)
#undef X

static uint64_t code_of(const tra_column *c, const tra_vector *v, int64_t i) {
    return tra_coltype_is_float(c->type) ? tra_order_of_real(tra_value_real(c, v, i))
                                         : tra_order_of_whole(tra_value_whole(c, v, i));
}

static void range_of_codes(const tra_column *c, const tra_vector *v, int64_t n, uint64_t *least, uint64_t *most,
                           int64_t *missing) {
    *least = UINT64_MAX;
    *most = 0;
    for (int64_t i = 0; i < n; i++) {
        if (v->state && v->state[i]) {
            ++*missing;
            continue;
        }
        uint64_t x = code_of(c, v, i);
        *least = x < *least ? x : *least;
        *most = x > *most ? x : *most;
    }
}

/* Strings without NULLs are numbered by their dictionary, of which most entries are there where there are few. */
static bool range_of_strings(const tra_column *c, const tra_vector *v, int64_t n, uint64_t *least, uint64_t *most) {
    if (v->state || !tra_coltype_is_coded(c->type) || !c->dict || c->dict->n == 0 || c->dict->n > n / 8) return false;
    *least = tra_order_of_whole(0);
    *most = tra_order_of_whole(c->dict->n - 1);
    return true;
}

static void range_of(const tra_column *c, const tra_vector *v, int64_t n, tra_key_bits *key) {
    uint64_t least, most;
    int64_t missing = 0, low = 0, high = 0;
    if (range_of_strings(c, v, n, &least, &most)) {
        /* known */
    } else if (v->state || tra_coltype_is_float(c->type) || n == 0) {
        range_of_codes(c, v, n, &least, &most, &missing);
    } else {
        switch (tra_coltype_held(c->type)) {
        case TRA_I64: range_I64(v->values, n, &low, &high); break;
        case TRA_I32: range_I32(v->values, n, &low, &high); break;
        case TRA_BOOL: range_BOOL(v->values, n, &low, &high); break;
        case TRA_FLOATS: break;
        }
        least = tra_order_of_whole(low);
        most = tra_order_of_whole(high);
    }
    key->least = least;
    key->bits = missing == n ? 0 : bits_of(most - least);
    key->missing = missing > 0 && missing < n;
}

int tra_key_bits_of(const tra_batch *b, int ncolumns, const int *column, int64_t n, int most, tra_key_bits *keys) {
    int used = 0;
    for (int k = ncolumns - 1; k >= 0; k--) {
        range_of(&b->schema->v[column[k]], &b->v[column[k]], n, &keys[k]);
        keys[k].shift = used;
        used += keys[k].bits + keys[k].missing;
        if (used > most) return -1;
    }
    return used;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void add_codes(const tra_column *c, const tra_vector *v, const tra_key_bits *key, int64_t from, int n,
                      uint64_t *word) {
    for (int i = 0; i < n; i++) {
        bool none = v->state && v->state[from + i];
        if (none && key->missing) word[i] += UINT64_C(1) << (key->shift + key->bits);
        if (!none && key->bits > 0) word[i] += (code_of(c, v, from + i) - key->least) << key->shift;
    }
}

void tra_key_words(const tra_batch *b, int ncolumns, const int *column, const tra_key_bits *keys, int64_t from, int n,
                   uint64_t *word) {
    memset(word, 0, (size_t)n * sizeof *word);
    for (int k = 0; k < ncolumns; k++) {
        const tra_column *c = &b->schema->v[column[k]];
        const tra_vector *v = &b->v[column[k]];
        uint64_t least = tra_order_of_whole((int64_t)keys[k].least); /* as the value itself */
        if (keys[k].bits + keys[k].missing == 0) continue;
        if (v->state || tra_coltype_is_float(c->type)) {
            add_codes(c, v, &keys[k], from, n, word);
            continue;
        }
        switch (tra_coltype_held(c->type)) {
        case TRA_I64: add_I64(word, (const int64_t *)v->values + from, n, least, keys[k].shift); break;
        case TRA_I32: add_I32(word, (const int32_t *)v->values + from, n, least, keys[k].shift); break;
        case TRA_BOOL: add_BOOL(word, (const uint8_t *)v->values + from, n, least, keys[k].shift); break;
        case TRA_FLOATS: break;
        }
    }
}
