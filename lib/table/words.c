/* words.c - strings that pieces of work find: a set for each piece, and all of them as a dictionary. */
#include "calls_int.h"

#include <stdlib.h>
#include <string.h>

void tra_words_begin(tra_words *w) {
    *w = (tra_words){.nfree = TRA_PIECES};
    for (int p = 0; p < TRA_PIECES; p++) w->free[p] = &w->set[p];
    pthread_mutex_init(&w->lock, NULL);
}

void tra_words_free(tra_words *w) {
    for (int p = 0; p < TRA_PIECES; p++) tra_string_set_free(&w->set[p]);
    pthread_mutex_destroy(&w->lock);
    tra_str_free(&w->text);
    free(w->begin);
}

tra_string_set *tra_words_take(tra_words *w) {
    pthread_mutex_lock(&w->lock);
    tra_string_set *set = w->free[--w->nfree];
    pthread_mutex_unlock(&w->lock);
    tra_string_set_clear(set);
    return set;
}

void tra_words_give(tra_words *w, tra_string_set *set, tra_piece_words *found) {
    size_t bytes = set->n > 0 ? (size_t)set->begin[set->n] : 0;
    *found = (tra_piece_words){.n = set->n, .bytes = tra_malloc(bytes + 1)};
    found->begin = tra_calloc((size_t)set->n + 1, sizeof *found->begin);
    if (set->n > 0) memcpy(found->begin, set->begin, (size_t)(set->n + 1) * sizeof *found->begin);
    if (bytes) memcpy(found->bytes, set->bytes, bytes);
    pthread_mutex_lock(&w->lock);
    w->free[w->nfree++] = set;
    pthread_mutex_unlock(&w->lock);
}

static void make_room(tra_words *w, int64_t more) {
    if (w->n + more + 1 <= w->cap) return;
    w->cap = tra_max64(w->n + more + 1, 2 * w->cap);
    w->begin = tra_realloc(w->begin, (size_t)w->cap, sizeof *w->begin);
    if (w->n == 0) w->begin[0] = 0;
}

void tra_words_add(tra_words *w, tra_piece_words *found) {
    int64_t from = (int64_t)w->text.n, bytes = found->begin[found->n];
    make_room(w, found->n);
    if (bytes > 0) tra_str_addn(&w->text, found->bytes, (size_t)bytes);
    for (int64_t i = 1; i <= found->n; i++) w->begin[w->n + i] = from + found->begin[i];
    w->n += found->n;
    tra_words_drop(found);
}

void tra_words_drop(tra_piece_words *found) {
    free(found->begin);
    free(found->bytes);
}

int64_t tra_words_push(tra_words *w, const char *s, int64_t n) {
    if (n > 0) tra_str_addn(&w->text, s, (size_t)n);
    return tra_words_end(w);
}

int64_t tra_words_end(tra_words *w) {
    make_room(w, 1);
    w->begin[w->n + 1] = (int64_t)w->text.n;
    return w->n++;
}

const tra_dictionary *tra_words_sorted(tra_arena *a, const tra_words *w, const int32_t **code) {
    static const int64_t none;
    int32_t *codes = tra_news(a, int32_t, w->n);
    const tra_dictionary *d = tra_strings_distinct(a, w->n, w->n > 0 ? w->begin : &none, tra_str_get(&w->text), codes);
    tra_arena_beside(a, 2 * w->text.n + 44 * (size_t)w->n); /* the strings, and what sorting takes */
    *code = codes;
    return d;
}
