/* table_digest.c - the digest of a table: a sum over its rows and columns, so that blocks and ranks do not matter. */
#include "../base/mix.h"
#include "tablefile_int.h"

#include "../base/simd.h"
#include "../model/digest.h"

#include <string.h>
#include <xxhash.h>

enum { STRIP = 512, NONE = 0x6e756c6c /* stands for a NULL */ };

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == 0 ? 0 : x != x ? UINT64_C(0x7ff8000000000000) : bits;
}

uint64_t tra_digest_string(const char *s, size_t n) { return XXH64(s, n, 1); }

/* The words of n codes. Rows ask for strings in any order, of dictionaries larger than a cache: so where they lie is
 * asked for first, then the strings, then they are there. A row that is NULL may have a code that d does not have. */
static void string_words(const tra_dictionary *d, const int32_t *code, int n, uint64_t *to) {
    for (int i = 0; i < n; i++)
        if (code[i] < d->n) __builtin_prefetch(&d->begin[code[i]]);
    for (int i = 0; i < n; i++)
        if (code[i] < d->n) __builtin_prefetch(d->bytes + d->begin[code[i]]);
    for (int i = 0; i < n; i++) {
        int64_t len = 0;
        const char *s = code[i] < d->n ? tra_dictionary_at(d, code[i], &len) : NULL;
        to[i] = s ? tra_digest_string(s, (size_t)len) : 0;
    }
}

#define WORD_FLOAT(x) bits_of((double)(x))
#define WORD_INT(x)   (uint64_t)(int64_t)(x)
#define WORD_BOOL(x)  (x)
#define WORDS(name, text, T, class, ...)                                                                               \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < n; i++) to[i] = WORD_##class(((const T *)v->values)[from + i]);                            \
        break;

/* A word for each of n rows, from row `from` on, that stands for its value. */
static void words_of(const tra_column *c, const tra_vector *v, int64_t from, int n, uint64_t *to) {
    const int32_t *code = v->values; /* with a dictionary */
    if (c->dict) {
        string_words(c->dict, code + from, n, to);
    } else {
        switch (tra_coltype_held(c->type)) { TRA_DTYPES(WORDS) }
    }
    for (int i = 0; v->state && i < n; i++)
        if (v->state[from + i]) to[i] = NONE;
}

/* Adds n words to the digest. first: number of the first row, counted from 1. state NULL: no row is NULL. */
static inline __attribute__((always_inline)) void add_words(tra_digest *d, uint64_t first, uint64_t column,
                                                            const uint64_t *x, const uint8_t *state, int n) {
    uint64_t lo = 0, hi = 0;
    for (int i = 0; i < n; i++) {
        uint64_t at = (first + (uint64_t)i) * 0x9e3779b97f4a7c15ULL ^ column, w = tra_mix(x[i] + at);
        if (state) w += state[i] != 0;
        lo += tra_mix(w);
        hi += tra_mix(w << 32 ^ w >> 32 ^ at * 0xd1b54a32d192ed03ULL);
    }
    d->lo += lo;
    d->hi += hi;
}

/* Eight 64-bit products at a time. */
#if defined(__x86_64__) && !defined(__clang__)
TRA_TARGET_AVX512 __attribute__((optimize("O3")))
#endif
static void
add_vectors(tra_digest *d, uint64_t first, uint64_t column, const uint64_t *x, int n) {
    add_words(d, first, column, x, NULL, n);
}

static void digest_column(tra_digest *d, int64_t first, int64_t rows, const tra_column *c, const tra_vector *v,
                          uint64_t column) {
    uint64_t x[STRIP];
    bool vectors = !v->state && tra_simd_here() == TRA_SIMD_AVX512;
    for (int64_t from = 0; from < rows; from += STRIP) {
        int n = (int)tra_min64(STRIP, rows - from);
        uint64_t number = (uint64_t)(first + from) + 1;
        words_of(c, v, from, n, x);
        if (vectors)
            add_vectors(d, number, column, x, n);
        else
            add_words(d, number, column, x, v->state ? v->state + from : NULL, n);
    }
}

static bool is_elsewhere(const tra_dictionary *d) { return d && d->n > 0 && !d->begin; }

void tra_digest_rows(tra_digest *d, int64_t first, const tra_batch *b) {
    for (int c = 0; c < b->schema->n; c++)
        if (b->v[c].values && !is_elsewhere(b->schema->v[c].dict))
            digest_column(d, first, b->rows, &b->schema->v[c], &b->v[c], tra_mix((uint64_t)c + 1));
}

void tra_digest_strings(tra_digest *d, int column, int64_t first, int64_t rows, const uint64_t *x,
                        const uint8_t *state) {
    uint64_t v[STRIP];
    for (int64_t from = 0; from < rows; from += STRIP) {
        int n = (int)tra_min64(STRIP, rows - from);
        for (int i = 0; i < n; i++) v[i] = state && state[from + i] ? NONE : x[from + i];
        add_words(d, (uint64_t)(first + from) + 1, tra_mix((uint64_t)column + 1), v, state ? state + from : NULL, n);
    }
}

void tra_digest_table_text(const tra_digest *d, const tra_schema *s, int64_t rows, char text[33]) {
    XXH64_state_t *h = XXH64_createState();
    XXH64_reset(h, 0);
    for (int c = 0; c < s->n; c++) {
        uint64_t type = s->v[c].type;
        XXH64_update(h, s->v[c].name, strlen(s->v[c].name) + 1);
        XXH64_update(h, &type, sizeof type);
    }
    uint64_t n = (uint64_t)rows, head = XXH64_digest(h);
    XXH64_freeState(h);
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, tra_mix(d->lo ^ head) + tra_mix(n + 1),
             tra_mix(d->hi + head) ^ tra_mix(n));
}
