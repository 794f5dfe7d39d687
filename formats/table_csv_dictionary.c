/* table_csv_dictionary.c - the strings that the workers of an import have found, as dictionaries of columns. */
#include "table_csv_import.h"

#include <stdlib.h>
#include <string.h>

typedef struct placed {
    int64_t at;
    int32_t i;
} placed;

static int by_place(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Numbers in the order in which the words first came. */
static int32_t *in_order_of(const int64_t *at, int64_t n) {
    placed *v = tra_malloc((size_t)(n + 1) * sizeof *v);
    int32_t *order = tra_malloc((size_t)(n + 1) * sizeof *order);
    for (int64_t i = 0; i < n; i++) v[i] = (placed){at[i], (int32_t)i};
    qsort(v, (size_t)n, sizeof *v, by_place);
    for (int64_t i = 0; i < n; i++) order[i] = v[i].i;
    free(v);
    return order;
}

/* Brings the words of all workers together; *at: where each came first. */
static tra_status join(tra_csv_import *m, int c, int64_t **at, tra_err *e) {
    tra_string_set *all = &m->words[c];
    int64_t cap = 0;
    for (int k = 0; k < m->nworkers; k++) {
        tra_csv_worker *w = &m->worker[k];
        tra_string_set *one = &w->words[c];
        for (int64_t i = 0; i < one->n; i++) {
            bool fresh;
            const char *s = one->bytes + one->begin[i];
            size_t n = (size_t)(one->begin[i + 1] - one->begin[i]);
            int64_t number = tra_string_set_add(all, s, n, tra_string_set_hash(s, n), &fresh);
            if (all->n >= TRA_MAX_CODES)
                return tra_fail(e, TRA_INPUT, "%s: column \"%s\" has more than 2^31 different texts", m->spec,
                                m->column[c].name);
            if (number >= cap) {
                cap = tra_max64(256, 2 * cap);
                *at = tra_realloc(*at, (size_t)cap, sizeof **at);
            }
            (*at)[number] = fresh ? w->seen[c][i] : tra_min64((*at)[number], w->seen[c][i]);
        }
        tra_string_set_free(one);
        free(w->seen[c]);
        w->seen[c] = NULL;
    }
    return TRA_OK;
}

static const tra_dictionary *dictionary_of(tra_arena *a, const tra_string_set *w, const int32_t *order, bool sorted) {
    tra_dictionary *d = tra_new(a, tra_dictionary);
    int64_t *begin = tra_news(a, int64_t, w->n + 1);
    char *bytes = tra_arena_alloc(a, (size_t)(w->n ? w->begin[w->n] : 0) + 8);
    for (int64_t i = 0; i < w->n; i++) {
        int64_t from = w->begin[order[i]], n = w->begin[order[i] + 1] - from;
        if (n) memcpy(bytes + begin[i], w->bytes + from, (size_t)n);
        begin[i + 1] = begin[i] + n;
    }
    *d = (tra_dictionary){.n = w->n, .begin = begin, .bytes = bytes, .sorted = sorted};
    return d;
}

tra_status tra_csv_make_dictionaries(tra_csv_import *m, tra_column *columns, tra_err *e) {
    for (int c = 0; c < m->ncolumns; c++) {
        if (!tra_coltype_is_coded(m->column[c].type) || m->spilled[c]) continue;
        int64_t *at = NULL;
        bool text = m->column[c].type == TRA_COL_TEXT;
        tra_status s = join(m, c, &at, e);
        if (s != TRA_OK) {
            free(at);
            return s;
        }
        int32_t *order = text ? in_order_of(at, m->words[c].n) : tra_string_set_order(&m->words[c]);
        columns[c].dict = dictionary_of(m->arena, &m->words[c], order, !text);
        m->code[c] = tra_malloc((size_t)(m->words[c].n + 1) * sizeof *m->code[c]);
        for (int64_t i = 0; i < m->words[c].n; i++) m->code[c][order[i]] = (int32_t)i;
        free(order);
        free(at);
    }
    return TRA_OK;
}
