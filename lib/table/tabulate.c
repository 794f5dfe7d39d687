/* tabulate.c - the results of a call as a table, made of the values that its operands may have.
 *
 * They are made by several threads (base/parallel.h), in rounds: in each a piece makes some results, and is then added
 * to the table. What a piece cannot do, since a string is long or an expression takes too many steps, is done again
 * where it is added, as if there were one thread. */
#include "calls_int.h"

#include <string.h>

#define BYTES_MOST (INT64_C(1) << 29) /* of the strings of a table */
enum { NONE = -1 };                   /* the word of what is no value */

/* May tables of the program take so much more? Together they have a quarter of the ceiling. What a process holds at
 * this moment does not count: it differs between ranks, which must make the same plan. */
static bool affords(const tra_arena *a, int64_t bytes) {
    return tra_ceiling == 0 || bytes <= (1 << 20) || tra_arena_bytes(a) + (size_t)bytes <= (size_t)tra_ceiling / 4;
}

bool tra_affords_results(const tra_arena *a, bool strings, int64_t n) {
    return affords(a, tra_mul_most(n, strings ? 64 : 9));
}

void tra_tabulation_begin(tra_tabulation *t, tra_arena *a, const tra_call *c, const tra_colexpr *const *kids,
                          tra_coltype type, int64_t n) {
    *t = (tra_tabulation){.arena = a, .call = *c, .kids = kids, .granted = 1 << 20};
    bool strings = tra_coltype_is_coded(type);
    tra_words_begin(&t->words);
    t->state = tra_news(a, uint8_t, n + 1);
    t->code = strings ? tra_news(a, int32_t, n + 1) : NULL;
    t->values = strings ? NULL : tra_arena_array(a, (size_t)n + 1, 8);
    tra_expect_filled(t->state, (size_t)n);
    tra_expect_filled(strings ? t->code : t->values, (strings ? 4 : 8) * (size_t)n);
}

void tra_tabulation_free(tra_tabulation *t) {
    tra_words_free(&t->words);
    tra_str_free(&t->text);
}

/* Grants twice as many bytes of text, if three times those fit: sorting them in the end takes two more copies. */
static bool grant_more(tra_tabulation *t) {
    if (t->granted >= BYTES_MOST) return false;
    t->granted *= 2;
    return affords(t->arena, 3 * t->granted + 64 * t->n);
}

tra_status tra_tabulate_call(tra_tabulation *t, const tra_call_value *v, tra_err *e) {
    int state = TRA_STATE_VALUE;
    for (int i = 0; i < t->call.n; i++) state = v[i].state > state ? v[i].state : state;
    tra_str *text = t->code ? &t->words.text : &t->text; /* a string is written where it stays */
    size_t from = t->code ? text->n : 0;
    t->call.v = v;
    t->call.text = text;
    bool runs = state == TRA_STATE_VALUE;
    for (bool again = runs; again; again = t->call.over && grant_more(t)) {
        text->n = from;
        t->call.most = t->granted;
        tra_call_run(&t->call);
        state = t->call.out.state;
    }
    if (state != TRA_STATE_VALUE || t->call.over) text->n = from;
    if (runs && t->call.over) return TRA_NO;
    if (state == TRA_STATE_ERROR && tra_call_takes(t->call.op, 1) == 'p')
        return tra_fail(e, TRA_PROGRAM, "%s: the regular expression takes too many steps on '%.*s%s'",
                        tra_colop_text((tra_colop)t->call.op), (int)tra_min64(v[0].n, 60), v[0].s,
                        v[0].n > 60 ? ".." : "");
    if (t->code)
        t->code[t->n] = state == TRA_STATE_VALUE ? (int32_t)tra_words_end(&t->words) : NONE;
    else if (state == TRA_STATE_VALUE)
        tra_call_put(&t->call.out, t->values, t->n);
    t->state[t->n++] = (uint8_t)state;
    return TRA_OK;
}

/* ---- many results ------------------------------------------------------------------------------------------------ */

enum { PIECE_RESULTS = 4096, LEAST_RESULTS = 64, PIECE_BYTES = 1 << 18 };

/* What a piece has made. */
typedef struct piece {
    tra_call call;
    tra_operands *operands;
    tra_str text; /* of one result */
    tra_string_set *set;
    tra_piece_words words;
    bool differ;  /* most of its strings were new: the others are taken to be, too */
    int64_t done; /* results; the others of the piece are to be made again */
} piece;

/* Results [from, from + TRA_PIECES * each), of which piece p has those from p * each on. */
typedef struct rounds {
    tra_tabulation *t;
    int64_t from, total, each;
    piece *of;
} rounds;

static int64_t begin_of(const rounds *r, int p) { return tra_min64(r->total, r->from + p * r->each); }

/* The number of the string of result number `made` of the piece. Where most strings so far are new, none is looked for.
 */
static int32_t number_of(piece *x, int64_t made, const char *s, size_t n) {
    enum { TRIED = 256 };
    bool fresh;
    x->differ = x->differ || (made >= TRIED && 4 * x->set->n > 3 * made);
    return (int32_t)(x->differ ? tra_string_set_push(x->set, s, n)
                            : tra_string_set_add(x->set, s, n, tra_string_set_hash(s, n), &fresh));
}

/* The result of operands i. False: not here. */
static bool run_one(const rounds *r, piece *x, int64_t i, int64_t from) {
    tra_tabulation *t = r->t;
    tra_call_value *v = x->operands->v;
    int state = TRA_STATE_VALUE;
    x->text.n = 0;
    x->operands->set(x->operands, i, v);
    for (int k = 0; k < t->call.n; k++) state = v[k].state > state ? v[k].state : state;
    if (state == TRA_STATE_VALUE) {
        tra_call_run(&x->call);
        state = x->call.out.state;
        if (x->call.over || (state == TRA_STATE_ERROR && tra_call_takes(t->call.op, 1) == 'p')) return false;
    }
    t->state[i] = (uint8_t)state;
    if (!t->code) {
        if (state == TRA_STATE_VALUE) tra_call_put(&x->call.out, t->values, i);
        return true;
    }
    t->code[i] = NONE;
    if (state != TRA_STATE_VALUE) return true;
    if (x->set->n > 0 && x->set->begin[x->set->n] + (int64_t)x->text.n > PIECE_BYTES) return false;
    t->code[i] = number_of(x, i - from, tra_str_get(&x->text), x->text.n);
    return true;
}

static void run_piece(void *ctx, int p, void *scratch) {
    const rounds *r = ctx;
    piece *x = &r->of[p];
    int64_t from = begin_of(r, p), to = begin_of(r, p + 1), i = from;
    (void)scratch;
    x->call = r->t->call;
    x->call.v = x->operands->v;
    x->call.text = &x->text;
    x->call.most = PIECE_BYTES;
    x->differ = false;
    if (r->t->code) x->set = tra_words_take(&r->t->words);
    while (i < to && run_one(r, x, i, from)) i++;
    x->done = i - from;
    if (r->t->code) tra_words_give(&r->t->words, x->set, &x->words);
}

/* Adds what piece p has made, and the results that it left. TRA_NO as tra_tabulate_call. */
static tra_status add_piece(const rounds *r, int p, tra_err *e) {
    tra_tabulation *t = r->t;
    piece *x = &r->of[p];
    int64_t from = begin_of(r, p), base = t->words.n;
    if (t->code) {
        int64_t bytes = (int64_t)t->words.text.n + x->words.begin[x->words.n];
        bool fits = true;
        while (fits && bytes > t->granted) fits = grant_more(t);
        if (!fits) x->words.n = x->done = 0;
        tra_words_add(&t->words, &x->words);
        for (int64_t i = from; i < from + x->done; i++) t->code[i] += t->code[i] == NONE ? 0 : (int32_t)base;
    }
    t->n = from + x->done;
    for (int64_t i = t->n; i < begin_of(r, p + 1); i++) {
        x->operands->set(x->operands, i, x->operands->v);
        TRA_TRY(tra_tabulate_call(t, x->operands->v, e));
    }
    return TRA_OK;
}

tra_status tra_tabulate(tra_tabulation *t, int naxes, const tra_operand_axis *x, bool column, int64_t total,
                        tra_err *e) {
    piece of[TRA_PIECES] = {0};
    rounds r = {.t = t, .total = total, .each = PIECE_RESULTS, .of = of};
    tra_operands *operands[TRA_PIECES];
    tra_arena *own = tra_arena_new();
    int pieces = (int)tra_min64(TRA_PIECES, tra_ceil_div(total, PIECE_RESULTS));
    tra_status status = TRA_OK;
    tra_operands_begin(own, t->call.n, t->kids, naxes, x, column, pieces, operands);
    for (int p = 0; p < pieces; p++) of[p].operands = operands[p];
    while (r.from < total && status == TRA_OK) {
        int n = (int)tra_min64(pieces, tra_ceil_div(total - r.from, r.each));
        bool left = false;
        tra_parallel(n, run_piece, &r, NULL);
        for (int p = 0; p < n; p++) {
            if (status != TRA_OK) {
                if (t->code) tra_words_drop(&of[p].words);
                continue;
            }
            status = add_piece(&r, p, e);
            left = left || (of[p].done > 0 && r.from + p * r.each + of[p].done < begin_of(&r, p + 1));
        }
        r.from = begin_of(&r, n);
        if (left) r.each = tra_max64(LEAST_RESULTS, r.each / 2); /* their strings are long */
    }
    for (int p = 0; p < pieces; p++) tra_str_free(&of[p].text);
    tra_arena_free(own);
    return status;
}

typedef struct renumbering {
    tra_tabulation *t;
    const int32_t *code; /* of each word */
} renumbering;

static void put_codes(void *ctx, int p, void *scratch) {
    const renumbering *x = ctx;
    int64_t to = tra_piece_begin(x->t->n, TRA_PIECES, p + 1);
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->t->n, TRA_PIECES, p); i < to; i++) x->t->code[i] = x->code[x->t->code[i]];
}

const tra_dictionary *tra_tabulation_strings(tra_tabulation *t) {
    renumbering x = {.t = t};
    int64_t empty = NONE; /* what is no value has the code of "" */
    for (int64_t i = 0; i < t->n; i++) {
        if (t->code[i] != NONE) continue;
        if (empty == NONE) empty = tra_words_push(&t->words, "", 0);
        t->code[i] = (int32_t)empty;
    }
    const tra_dictionary *d = tra_words_sorted(t->arena, &t->words, &x.code);
    tra_parallel(TRA_PIECES, put_codes, &x, NULL);
    return d;
}
