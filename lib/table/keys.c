/* keys.c - values of rows as words to compare and hash. */
#include <string.h>
#include <xxhash.h>

#include "table_int.h"

tra_keys tra_keys_new(tra_arena *a, int n, const tra_colexpr *const *x, int columns) {
    return (tra_keys){n, columns, tra_colcode_new(a, n, x), x};
}

int64_t tra_keys_scratch(const tra_keys *k) {
    return tra_vectors_bytes(k->columns + 1) + tra_round64(tra_colcode_scratch(k->code));
}

tra_vector *tra_keys_begin(const tra_keys *k, void *scratch, tra_colrun *run) {
    tra_colrun_begin(run, k->code, (char *)scratch + tra_vectors_bytes(k->columns + 1));
    return scratch;
}

static uint64_t word_of(tra_dtype t, const void *v, int64_t i) {
    return tra_dtype_is_float(t) ? tra_float_word(tra_element_real(t, v, i)) : (uint64_t)tra_element_whole(t, v, i);
}

tra_status tra_key_failed(int64_t row, tra_err *e) {
    return tra_fail(e, TRA_INPUT,
                    "row %" PRId64 ": a key of the join could not be computed: an integer does not fit its type", row);
}

void tra_strip_of(const tra_batch *b, int64_t from, tra_vector *to) {
    for (int c = 0; c < b->schema->n; c++) {
        to[c].values = (char *)b->v[c].values + (size_t)from * tra_coltype_size(b->schema->v[c].type);
        to[c].state = b->v[c].state ? b->v[c].state + from : NULL;
    }
}

static tra_status add_column(const tra_keys *k, int c, tra_colvalue v, int n, uint64_t *words, int64_t first,
                             tra_err *e) {
    tra_dtype t = tra_coltype_held(k->x[c]->type);
    for (int i = 0; i < n; i++) {
        uint64_t *row = words + (int64_t)i * tra_keys_words(k->n), *key = row + tra_keys_null_words(k->n) + c;
        *key = word_of(t, v.values, i);
        if (!v.state || v.state[i] == TRA_STATE_VALUE) continue;
        if (v.state[i] == TRA_STATE_ERROR) return tra_key_failed(first + i, e);
        row[c / 64] |= UINT64_C(1) << c % 64;
        *key = 0;
    }
    return TRA_OK;
}

tra_status tra_keys_of(const tra_keys *k, const tra_batch *b, int64_t from, int n, uint64_t *words, void *scratch,
                       int64_t first, tra_err *e) {
    tra_colrun run;
    tra_vector *column = tra_keys_begin(k, scratch, &run);
    tra_strip_of(b, from, column);
    tra_colrun_strip(&run, column, first + from, n);
    memset(words, 0, (size_t)n * (size_t)tra_keys_words(k->n) * sizeof *words);
    for (int c = 0; c < k->n; c++) TRA_TRY(add_column(k, c, tra_colrun_result(&run, c), n, words, first + from, e));
    return TRA_OK;
}

uint64_t tra_keys_hash(const uint64_t *words, int n) {
    return XXH64(words, (size_t)tra_keys_words(n) * sizeof *words, tra_hash_seed());
}

#define GATHER(T)                                                                                                      \
    for (int64_t i = 0; i < n; i++) ((T *)to->values)[begin + i] = at[i] < 0 ? 0 : ((const T *)from->values)[at[i]]

void tra_gather_rows(tra_vector *to, int64_t begin, const tra_vector *from, tra_coltype t, const int64_t *at,
                     int64_t n) {
    switch (tra_coltype_size(t)) {
    case 1: GATHER(uint8_t); break;
    case 4: GATHER(uint32_t); break;
    default: GATHER(uint64_t); break;
    }
    for (int64_t i = 0; to->state && i < n; i++)
        to->state[begin + i] = at[i] < 0 ? TRA_STATE_NULL : from->state ? from->state[at[i]] : TRA_STATE_VALUE;
}
