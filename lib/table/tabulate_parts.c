/* tabulate_parts.c - the parts of each string of a dictionary, between separators, as one table.
 *
 * Entry 0 of the table is "", of what has no such part; then come the parts of the first string, and so on. The parts
 * of some strings beside each other are numbered by a set of their own, so that few of them come to the dictionary
 * twice. */
#include "../base/parallel.h"
#include "../model/spooled.h"
#include "../model/string_set.h"
#include "calls_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_STRINGS = 4096, PARTS_AT_ONCE = 32 };
#define NUMBER_MOST (INT64_C(1) << 40) /* of a part that is asked for */

/* The different words of a piece: bytes, and where each ends. From malloc. */
typedef struct piece_words {
    int64_t n, *end;
    char *bytes;
} piece_words;

/* A dictionary whose strings are cut; piece p has those from p * PIECE_STRINGS on. */
typedef struct cutting {
    const tra_dictionary *d;
    tra_bytes by;
    int64_t *count; /* of each string: parts; */
    int64_t *place; /* and entries before its first one */
    int32_t *table; /* of each entry the number of its part in the set of the piece, and then its code */
    int64_t entries;
    int64_t from; /* the first piece of a round */
    tra_string_set set[TRA_PIECES];
    int nfree, free[TRA_PIECES]; /* the sets that no thread uses: the last one used is in its cache */
    pthread_mutex_t lock;
    piece_words piece[TRA_PIECES]; /* of a round */
    int64_t *base;                 /* of each piece: words before its first one */
    const int32_t *code;
    int64_t words; /* of all pieces */
} cutting;

static tra_bytes string_of(const cutting *x, int64_t i) {
    tra_bytes t;
    t.s = tra_dictionary_at(x->d, i, &t.n);
    return t;
}

static int64_t end_of(const cutting *x, int64_t piece) { return tra_min64(x->d->n, (piece + 1) * PIECE_STRINGS); }

static void count_parts(void *ctx, int p, void *scratch) {
    const cutting *x = ctx;
    (void)scratch;
    for (int64_t i = x->d->n * p / TRA_PIECES; i < x->d->n * (p + 1) / TRA_PIECES; i++)
        x->count[i] = tra_parts(string_of(x, i), x->by);
}

tra_status tra_parts_most(const tra_dictionary *d, const char *by, int64_t *most, tra_err *e) {
    cutting x = {.d = d, .by = {by, (int64_t)strlen(by)}};
    *most = 1;
    if (!d) return TRA_OK;
    TRA_TRY(tra_dictionary_read(d, e));
    TRA_TRY(tra_ceiling_check(d->n * (int64_t)sizeof *x.count, "the parts of strings", e));
    x.count = tra_calloc((size_t)d->n + 1, sizeof *x.count);
    tra_parallel(TRA_PIECES, count_parts, &x, NULL);
    for (int64_t i = 0; i < d->n; i++) *most = tra_max64(*most, x.count[i]);
    free(x.count);
    return TRA_OK;
}

static int take_set(cutting *x) {
    pthread_mutex_lock(&x->lock);
    int s = x->free[--x->nfree];
    pthread_mutex_unlock(&x->lock);
    return s;
}

static void give_set(cutting *x, int s) {
    pthread_mutex_lock(&x->lock);
    x->free[x->nfree++] = s;
    pthread_mutex_unlock(&x->lock);
}

static void copy_words(piece_words *w, const tra_string_set *set) {
    size_t bytes = set->n > 0 ? (size_t)set->begin[set->n] : 0;
    w->n = set->n;
    w->end = tra_malloc((size_t)(set->n + 1) * sizeof *w->end);
    w->bytes = tra_malloc(bytes + 1);
    if (set->n > 0) memcpy(w->end, set->begin + 1, (size_t)set->n * sizeof *w->end);
    if (bytes) memcpy(w->bytes, set->bytes, bytes);
}

/* Numbers n parts, after it has prefetched the slots of all of them. */
static void number_parts(tra_string_set *set, int n, const tra_bytes *part, int32_t *number) {
    uint64_t hash[PARTS_AT_ONCE];
    bool fresh;
    for (int k = 0; k < n; k++) {
        hash[k] = tra_string_set_hash(part[k].s, (size_t)part[k].n);
        tra_string_set_expect(set, hash[k]);
    }
    for (int k = 0; k < n; k++)
        number[k] = (int32_t)tra_string_set_add(set, part[k].s, (size_t)part[k].n, hash[k], &fresh);
}

static void cut_piece(void *ctx, int p, void *scratch) {
    cutting *x = ctx;
    int64_t piece = x->from + p;
    int s = take_set(x), n = 0;
    tra_bytes part[PARTS_AT_ONCE];
    int32_t *number = &x->table[x->place[piece * PIECE_STRINGS]];
    (void)scratch;
    tra_string_set_clear(&x->set[s]);
    for (int64_t i = piece * PIECE_STRINGS; i < end_of(x, piece); i++) {
        tra_bytes t = string_of(x, i);
        for (int64_t k = 0; k < x->count[i]; k++) {
            part[n++] = tra_next_part(&t, x->by);
            if (n < PARTS_AT_ONCE) continue;
            number_parts(&x->set[s], n, part, number);
            number += n;
            n = 0;
        }
    }
    number_parts(&x->set[s], n, part, number);
    copy_words(&x->piece[p], &x->set[s]);
    give_set(x, s);
}

static void put_codes(void *ctx, int p, void *scratch) {
    const cutting *x = ctx;
    int64_t pieces = tra_ceil_div(x->d->n, PIECE_STRINGS);
    (void)scratch;
    for (int64_t piece = pieces * p / TRA_PIECES; piece < pieces * (p + 1) / TRA_PIECES; piece++) {
        int64_t last = end_of(x, piece) - 1, end = x->place[last] + x->count[last];
        for (int64_t k = x->place[piece * PIECE_STRINGS]; k < end; k++)
            x->table[k] = x->code[x->base[piece] + x->table[k]];
    }
}

/* The words of all pieces, of which "" is the first. */
typedef struct words {
    tra_str text;
    int64_t n, cap, *end;
} words;

static void add_words(words *w, piece_words *p) {
    if (w->n + p->n > w->cap) {
        w->cap = tra_max64(w->n + p->n, 2 * w->cap);
        w->end = tra_realloc(w->end, (size_t)w->cap, sizeof *w->end);
    }
    int64_t from = (int64_t)w->text.n;
    if (p->n > 0) tra_str_addn(&w->text, p->bytes, (size_t)p->end[p->n - 1]);
    for (int64_t i = 0; i < p->n; i++) w->end[w->n++] = from + p->end[i];
    free(p->end);
    free(p->bytes);
}

/* How many pieces a round has: their sets take about a sixteenth of the ceiling. */
static int pieces_at_once(const cutting *x, int64_t pieces) {
    int64_t each = 64 * (x->entries / tra_max64(1, pieces) + 1);
    return tra_ceiling ? (int)tra_max64(1, tra_min64(TRA_PIECES, tra_ceiling / 16 / each)) : TRA_PIECES;
}

/* Puts the parts of all strings into the table; returns their dictionary. NULL: they become too many. */
static const tra_dictionary *cut(tra_arena *a, cutting *x) {
    int64_t pieces = tra_ceil_div(x->d->n, PIECE_STRINGS);
    words w = {0};
    bool fits = true;
    const void *code;
    const tra_dictionary *d = NULL;
    piece_words none = {.n = 1, .end = tra_calloc(1, sizeof *none.end)};
    add_words(&w, &none);
    pthread_mutex_init(&x->lock, NULL);
    for (x->nfree = 0; x->nfree < TRA_PIECES; x->nfree++) x->free[x->nfree] = x->nfree;
    int most = pieces_at_once(x, pieces);
    for (x->from = 0; x->from < pieces && fits; x->from += most) {
        int n = (int)tra_min64(most, pieces - x->from);
        tra_parallel(n, cut_piece, x, NULL);
        for (int p = 0; p < n; p++) {
            x->base[x->from + p] = w.n;
            add_words(&w, &x->piece[p]);
        }
        fits = w.n < TRA_MAX_CODES && tra_affords_results(a, true, w.n + (int64_t)w.text.n / 16);
    }
    if (fits) d = tra_strings_sorted(a, w.n, tra_str_get(&w.text), w.end, &code);
    if (fits) {
        x->code = code;
        x->words = w.n;
        x->table[0] = x->code[0];
        tra_parallel(TRA_PIECES, put_codes, x, NULL);
    }
    for (int p = 0; p < TRA_PIECES; p++) tra_string_set_free(&x->set[p]);
    pthread_mutex_destroy(&x->lock);
    tra_str_free(&w.text);
    free(w.end);
    return d;
}

static tra_status call2(tra_arena *a, tra_colop op, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out,
                        tra_err *e) {
    return tra_colexpr_call(a, op, 2, (const tra_colexpr *[]){x, y}, out, e);
}

static tra_colexpr *looked_up(tra_arena *a, const tra_colexpr *x, const int64_t *table, int64_t least, int64_t most) {
    tra_colexpr *y = tra_colexpr_node(a, TRA_C_LOOKUP, TRA_COL_I64, 1, &x);
    y->table = table;
    y->entries = x->dict->n;
    y->least = least;
    y->most = most;
    return y;
}

/* Has an expression at most so many nodes, as a tree? */
static bool is_short(const tra_colexpr *x, int *most) {
    bool is = --*most >= 0;
    for (int i = 0; is && i < x->nkids; i++) is = is_short(x->kids[i], most);
    return is;
}

/* k, or the bound that it is beyond. */
static tra_status bounded(tra_arena *a, const tra_colexpr **k, tra_err *e) {
    for (int up = 0; up < 2; up++) {
        const tra_colexpr *bound = tra_colexpr_int(a, up ? NUMBER_MOST : -NUMBER_MOST), *beyond;
        if (up ? (*k)->most <= NUMBER_MOST : (*k)->least >= -NUMBER_MOST) continue;
        TRA_TRY(call2(a, up ? TRA_C_GT : TRA_C_LT, *k, bound, &beyond, e));
        TRA_TRY(tra_colexpr_call(a, TRA_C_IF, 3, (const tra_colexpr *[]){beyond, bound, *k}, k, e));
    }
    return TRA_OK;
}

/* Which entry has part k of x: 0 where there is none. */
static tra_status entry_of(tra_arena *a, const tra_colexpr *n, const tra_colexpr *place, const tra_colexpr *k,
                           const tra_colexpr **out, tra_err *e) {
    const tra_colexpr *one = tra_colexpr_int(a, 1), *after, *is, *back, *at;
    TRA_TRY(call2(a, TRA_C_ADD, n, one, &after, e));
    if (k->least < 0) { /* from the end */
        TRA_TRY(call2(a, TRA_C_ADD, after, k, &back, e));
        TRA_TRY(call2(a, TRA_C_LT, k, tra_colexpr_int(a, 0), &is, e));
        TRA_TRY(tra_colexpr_call(a, TRA_C_IF, 3, (const tra_colexpr *[]){is, back, k}, &k, e));
    }
    TRA_TRY(call2(a, TRA_C_LE, k, n, &is, e));
    if (k->least < 1) {
        const tra_colexpr *from;
        TRA_TRY(call2(a, TRA_C_GE, k, one, &from, e));
        TRA_TRY(call2(a, TRA_C_AND, is, from, &is, e));
    }
    TRA_TRY(call2(a, TRA_C_ADD, place, k, &at, e));
    TRA_TRY(call2(a, TRA_C_SUB, at, one, &at, e));
    return call2(a, TRA_C_MUL, at, is, out, e); /* NULL where x or k is */
}

tra_status tra_tabulate_parts(tra_arena *a, const tra_colexpr *x, tra_bytes by, const tra_colexpr *k,
                              const tra_colexpr **out, tra_err *e) {
    enum { NODES = 16 }; /* of k, which stands in the tree several times: calls within calls would make it grow */
    cutting c = {.d = x->dict, .by = by};
    int64_t n = c.d->n, entries = 1, most = 1;
    uint64_t mark = tra_arena_mark(a);
    if (!is_short(k, &(int){NODES})) return TRA_NO;
    if (!tra_affords_results(a, false, 2 * n)) return TRA_NO;
    c.count = tra_news(a, int64_t, n + 1);
    c.place = tra_news(a, int64_t, n + 1);
    tra_parallel(TRA_PIECES, count_parts, &c, NULL);
    for (int64_t i = 0; i < n; i++) {
        c.place[i] = entries;
        entries += c.count[i];
        most = tra_max64(most, c.count[i]);
    }
    if (entries > TRA_MAX_CODES || !tra_affords_results(a, false, entries)) return tra_arena_release(a, mark), TRA_NO;
    c.entries = entries;
    c.table = tra_news(a, int32_t, entries);
    c.base = tra_news(a, int64_t, tra_ceil_div(n, PIECE_STRINGS) + 1);
    const tra_dictionary *d = cut(a, &c);
    if (!d) return tra_arena_release(a, mark), TRA_NO;
    const tra_colexpr *at;
    TRA_TRY(bounded(a, &k, e));
    TRA_TRY(entry_of(a, looked_up(a, x, c.count, 1, most), looked_up(a, x, c.place, 1, entries), k, &at, e));
    tra_colexpr *within = tra_new(a, tra_colexpr), *y;
    *within = *at;
    within->least = 0;
    within->most = entries - 1;
    at = within;
    y = tra_colexpr_node(a, TRA_C_PICK, TRA_COL_STRING, 1, &at);
    tra_colaxis *axis = tra_new(a, tra_colaxis);
    *axis = (tra_colaxis){.count = entries};
    y->axis = axis;
    y->entries = entries;
    y->table = c.table;
    y->dict = d;
    y->tabulated[0] = entries / 2 + c.words; /* the next part of a string is found where the last one ends */
    y->tabulated[1] = d->n;
    return *out = y, TRA_OK;
}
