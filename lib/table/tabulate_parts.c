/* tabulate_parts.c - the parts of each string of a dictionary, between separators, as one table.
 *
 * Entry 0 of the table is "", of what has no such part; then come the parts of the first string, and so on. The parts
 * of some strings beside each other are numbered by a set of their own, so that few of them come to the dictionary
 * twice. */
#include "../model/spooled.h"
#include "calls_int.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_STRINGS = 4096, PARTS_AT_ONCE = 32 };
#define NUMBER_MOST (INT64_C(1) << 40) /* of a part that is asked for */

/* A dictionary whose strings are cut; piece p has those from p * PIECE_STRINGS on. */
typedef struct cutting {
    const tra_dictionary *d;
    tra_bytes by;
    int32_t *count; /* of each string: parts; */
    int32_t *place; /* and entries before its first one */
    int32_t *table; /* of each entry the number of its part in the set of the piece, and then its code */
    int64_t entries;
    int64_t from; /* the first piece of a round */
    tra_words words;
    tra_piece_words piece[TRA_PIECES]; /* of a round */
    int64_t *base;                     /* of each piece: words before its first one */
    const int32_t *code;
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
    int n = 0;
    tra_string_set *set = tra_words_take(&x->words);
    tra_bytes part[PARTS_AT_ONCE];
    int32_t *number = &x->table[x->place[piece * PIECE_STRINGS]];
    (void)scratch;
    for (int64_t i = piece * PIECE_STRINGS; i < end_of(x, piece); i++) {
        tra_bytes t = string_of(x, i);
        for (int64_t k = 0; k < x->count[i]; k++) {
            part[n++] = tra_next_part(&t, x->by);
            if (n < PARTS_AT_ONCE) continue;
            number_parts(set, n, part, number);
            number += n;
            n = 0;
        }
    }
    number_parts(set, n, part, number);
    tra_words_give(&x->words, set, &x->piece[p]);
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

/* How many pieces a round has: their sets take about a sixteenth of the ceiling. */
static int pieces_at_once(const cutting *x, int64_t pieces) {
    int64_t each = 64 * (x->entries / tra_max64(1, pieces) + 1);
    return tra_ceiling ? (int)tra_max64(1, tra_min64(TRA_PIECES, tra_ceiling / 16 / each)) : TRA_PIECES;
}

/* Puts the parts of all strings into the table; returns their dictionary. NULL: they become too many. */
static const tra_dictionary *cut(tra_arena *a, cutting *x) {
    int64_t pieces = tra_ceil_div(x->d->n, PIECE_STRINGS);
    tra_words *w = &x->words;
    bool fits = true;
    const tra_dictionary *d = NULL;
    tra_words_begin(w);
    (void)tra_words_push(w, "", 0);
    int most = pieces_at_once(x, pieces);
    for (x->from = 0; x->from < pieces && fits; x->from += most) {
        int n = (int)tra_min64(most, pieces - x->from);
        tra_parallel(n, cut_piece, x, NULL);
        for (int p = 0; p < n; p++) {
            x->base[x->from + p] = w->n;
            tra_words_add(w, &x->piece[p]);
        }
        fits = w->n < TRA_MAX_CODES && tra_affords_results(a, true, w->n + (int64_t)w->text.n / 16);
    }
    if (fits) {
        d = tra_words_sorted(a, w, &x->code);
        x->table[0] = x->code[0];
        tra_parallel(TRA_PIECES, put_codes, x, NULL);
    }
    tra_words_free(w);
    return d;
}

static tra_status call2(tra_arena *a, tra_colop op, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out,
                        tra_err *e) {
    return tra_colexpr_call(a, op, 2, (const tra_colexpr *[]){x, y}, out, e);
}

static tra_colexpr *looked_up(tra_arena *a, const tra_colexpr *x, const int32_t *table, int64_t least, int64_t most) {
    tra_colexpr *y = tra_colexpr_node(a, TRA_C_LOOKUP, TRA_COL_I32, 1, &x);
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
    c.count = tra_news(a, int32_t, n + 1);
    c.place = tra_news(a, int32_t, n + 1);
    tra_parallel(TRA_PIECES, count_parts, &c, NULL);
    for (int64_t i = 0; i < n; i++) {
        c.place[i] = (int32_t)tra_min64(entries, TRA_MAX_CODES); /* more are refused below */
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
    y->tabulated[0] = entries / 2 + c.words.n; /* the next part of a string is found where the last one ends */
    y->tabulated[1] = d->n;
    return *out = y, TRA_OK;
}
