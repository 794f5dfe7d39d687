/* table_digest.c - the digest of a table: a sum over its rows and columns, so that blocks and ranks do not matter. */
#include "../base/mix.h"
#include "tablefile_int.h"

#include "../base/simd.h"
#include "../model/digest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

void tra_digest_rows(tra_digest *d, int64_t first, const tra_batch *b) {
    for (int c = 0; c < b->schema->n; c++)
        if (b->v[c].values && !tra_dictionary_is_away(b->schema->v[c].dict))
            digest_column(d, first, b->rows, &b->schema->v[c], &b->v[c], tra_mix((uint64_t)c + 1));
}

/* ---- strings that are not in memory ------------------------------------------------------------------------------ */

enum { WINDOW = 1 << 17 }; /* words that are in memory at a time */

struct tra_string_words {
    int n, fd;        /* columns; the scratch file */
    int64_t *at;      /* of each column: where its words begin in that; -1: it is in memory, or has none */
    uint64_t **whole; /* of each column its words, where they are few; NULL: they are many, or there are none */
};

void tra_string_words_free(tra_string_words *w) {
    for (int c = 0; w && c < w->n; c++) free(w->whole[c]);
    if (w && w->fd >= 0) close(w->fd);
    if (w) free(w->whole), free(w->at);
    free(w);
}

int64_t tra_string_words_bytes(const tra_schema *s, int threads) {
    int64_t bytes = 0, windows = 0;
    for (int c = 0; c < s->n; c++) {
        const tra_dictionary *d = s->v[c].dict;
        if (!tra_dictionary_is_away(d)) continue;
        bytes += tra_min64(d->n, WINDOW) * 8;
        windows = tra_max64(windows, tra_max64(tra_strings_bytes(d), d->n > WINDOW ? threads * WINDOW * 8 : 0));
    }
    return bytes + windows;
}

/* Puts the words of a dictionary into memory, or (to NULL) into the scratch file. */
static tra_status put_words(const tra_dictionary *d, uint64_t *to, int fd, int64_t at, tra_err *e) {
    uint64_t *some = to ? NULL : tra_calloc(WINDOW, sizeof *some);
    tra_strings s;
    tra_strings_begin(&s, d);
    tra_status status = tra_strings_more(&s, e);
    for (int64_t len; status == TRA_OK && s.n > 0;) {
        uint64_t *here = to ? to + s.from : some;
        for (int64_t k = 0; k < s.n; k++) {
            const char *text = tra_strings_at(&s, k, &len);
            here[k] = tra_digest_string(text, (size_t)len);
        }
        if (!to) status = tra_pwrite(fd, some, (size_t)s.n * 8, at + 8 * s.from, "a scratch file", e);
        if (status == TRA_OK) status = tra_strings_more(&s, e);
    }
    tra_strings_end(&s);
    free(some);
    return status;
}

tra_status tra_string_words_new(const tra_schema *s, const char *folder, tra_string_words **out, tra_err *e) {
    bool any = false;
    int64_t end = 0;
    *out = NULL;
    for (int c = 0; c < s->n; c++) any |= tra_dictionary_is_away(s->v[c].dict);
    if (!any) return TRA_OK;
    tra_string_words *w = *out = tra_calloc(1, sizeof *w);
    *w = (tra_string_words){.n = s->n, .fd = -1};
    w->at = tra_calloc((size_t)s->n, sizeof *w->at);
    w->whole = tra_calloc((size_t)s->n, sizeof *w->whole);
    for (int c = 0; c < s->n; c++) {
        const tra_dictionary *d = s->v[c].dict;
        w->at[c] = -1;
        if (!tra_dictionary_is_away(d)) continue;
        if (d->n <= WINDOW) {
            w->whole[c] = tra_calloc((size_t)d->n, sizeof **w->whole);
        } else {
            if (w->fd < 0) w->fd = tra_unnamed_file(folder);
            if (w->fd < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot make a scratch file in %s", folder);
            w->at[c] = end;
            end += 8 * d->n;
        }
        TRA_TRY(put_words(d, w->whole[c], w->fd, w->at[c], e));
    }
    return TRA_OK;
}

/* Adds the rows whose codes are from .. from + n - 1. */
static void add_some(tra_digest *d, int64_t first, int64_t rows, int column, const tra_vector *v, const uint64_t *word,
                     int64_t from, int64_t n) {
    const int32_t *code = v->values;
    uint64_t mark = tra_mix((uint64_t)column + 1), x[STRIP];
    int64_t row[STRIP];
    for (int64_t at = 0; at < rows;) {
        int k = 0;
        for (; at < rows && k < STRIP; at++) {
            row[k] = at;
            x[k] = (uint64_t)code[at] - (uint64_t)from;
            k += x[k] < (uint64_t)n && !(v->state && v->state[at]);
        }
        for (int i = 0; i < k; i++) {
            x[i] = word[x[i]];
            add_words(d, (uint64_t)(first + row[i]) + 1, mark, &x[i], NULL, 1);
        }
    }
}

tra_status tra_digest_away(tra_digest *d, int64_t first, const tra_batch *b, const tra_string_words *w, tra_err *e) {
    static const uint64_t none = NONE;
    uint64_t *window = NULL;
    tra_status s = TRA_OK;
    for (int c = 0; w && c < b->schema->n && s == TRA_OK; c++) {
        const tra_vector *v = &b->v[c];
        const int32_t *code = v->values;
        const tra_dictionary *of = b->schema->v[c].dict;
        if (!tra_dictionary_is_away(of)) continue;
        int32_t least = INT32_MAX, most = -1;
        for (int64_t i = 0; i < b->rows; i++) {
            if (v->state && v->state[i]) {
                add_words(d, (uint64_t)(first + i) + 1, tra_mix((uint64_t)c + 1), &none, v->state + i, 1);
                continue;
            }
            least = code[i] < least ? code[i] : least;
            most = code[i] > most ? code[i] : most;
        }
        if (w->whole[c]) {
            add_some(d, first, b->rows, c, v, w->whole[c], 0, of->n);
            continue;
        }
        if (!window) window = tra_malloc(WINDOW * sizeof *window);
        for (int64_t from = least; from <= most && s == TRA_OK; from += WINDOW) {
            int64_t n = tra_min64(WINDOW, most + 1 - from);
            s = tra_pread(w->fd, window, (size_t)n * 8, w->at[c] + 8 * from, "a scratch file", e);
            if (s == TRA_OK) add_some(d, first, b->rows, c, v, window, from, n);
        }
    }
    free(window);
    return s;
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
