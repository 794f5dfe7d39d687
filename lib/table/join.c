/* join.c - joins of a block of rows with a whole table. */
#include "join_right.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../kernel/kernel.h"

enum { STRIP = TRA_COLSTRIP };

/* ---- making ------------------------------------------------------------------------------------------------------ */

static bool is_shared_key(const tra_lookup_spec *s, int right) {
    for (int k = 0; k < s->nkeys; k++) {
        if (s->rkey[k] == right && strcmp(s->left->v[s->lkey[k]].name, s->right->v[right].name) == 0) return true;
    }
    return false;
}

/* The time *x of an as-of join, NULL instead of NaN, with which no time compares. */
static tra_status without_nan(tra_arena *a, const tra_colexpr **x, tra_err *e) {
    const tra_colexpr *kids[3] = {*x, tra_colexpr_null(a), *x};
    if (!tra_coltype_is_float((*x)->type)) return TRA_OK;
    TRA_TRY(tra_colexpr_call(a, TRA_C_ISNAN, 1, kids, &kids[0], e));
    return tra_colexpr_call(a, TRA_C_IF, 3, kids, x, e);
}

static tra_status find_keys(tra_lookup *l, tra_err *e) {
    const tra_lookup_spec *s = &l->s;
    const tra_colexpr **x = tra_news(l->arena, const tra_colexpr *, s->nkeys + 1),
                      **y = tra_news(l->arena, const tra_colexpr *, s->nkeys + 1);
    for (int k = 0; k < tra_lookup_compared(s); k++) {
        const tra_colexpr *both[2] = {tra_colexpr_column(l->arena, s->left, s->lkey[k]),
                                      tra_colexpr_column(l->arena, s->right, s->rkey[k])};
        TRA_TRY(tra_colexpr_unify(l->arena, k < s->nkeys ? TRA_C_EQ : TRA_C_GE, 2, both, false, e));
        x[k] = both[0], y[k] = both[1];
    }
    l->left = tra_keys_new(l->arena, s->nkeys, x, s->left->n);
    l->right = tra_keys_new(l->arena, s->nkeys, y, s->right->n);
    if (!s->asof) return TRA_OK;
    TRA_TRY(without_nan(l->arena, &x[s->nkeys], e));
    TRA_TRY(without_nan(l->arena, &y[s->nkeys], e));
    l->time[0] = tra_keys_new(l->arena, 1, x + s->nkeys, s->left->n);
    l->time[1] = tra_keys_new(l->arena, 1, y + s->nkeys, s->right->n);
    return TRA_OK;
}

static void set_columns(tra_lookup *l) {
    const tra_lookup_spec *s = &l->s;
    int n = s->left->n, all = n + s->right->n, nout = 0;
    tra_column *pair = tra_news(l->arena, tra_column, all + 1), *out = tra_news(l->arena, tra_column, all + 2);
    int *from = tra_news(l->arena, int, all + 2);
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    for (int i = 0; i < all; i++) {
        pair[i] = i < n ? s->left->v[i] : s->right->v[i - n];
        if (i >= n && s->prefix) pair[i].name = tra_arena_printf(l->arena, "%s%s", s->prefix, pair[i].name);
        if (i >= n && (!pairs || is_shared_key(s, i - n))) continue;
        out[nout] = pair[i];
        if (i >= n && s->how == TRA_LOOKUP_LEFT) out[nout].nullable = true;
        from[nout++] = i;
    }
    if (s->number) {
        out[nout] = (tra_column){.name = s->number, .type = TRA_COL_I64};
        from[nout++] = -1;
    }
    tra_schema *p = tra_new(l->arena, tra_schema), *o = tra_new(l->arena, tra_schema);
    *p = (tra_schema){all, pair};
    *o = (tra_schema){nout, out};
    l->pair = p, l->out = o, l->from = from;
}

static tra_status check_names(const tra_lookup *l, tra_err *e) {
    for (int i = l->s.left->n; i < l->out->n; i++) {
        const char *name = l->out->v[i].name;
        if (tra_schema_find(l->out, name) == i) continue;
        return tra_fail(e, TRA_PROGRAM, "both tables have a column `%s`; write join(..., prefix = \"r_\")", name);
    }
    return TRA_OK;
}

tra_status tra_lookup_new(tra_arena *a, const tra_lookup_spec *s, tra_lookup **out, tra_err *e) {
    tra_lookup *l = tra_new(a, tra_lookup);
    *l = (tra_lookup){.arena = a, .s = *s};
    int n = tra_lookup_compared(s), *keys = tra_news(a, int, 2 * n + 1);
    for (int k = 0; k < n; k++) keys[k] = s->lkey[k], keys[n + k] = s->rkey[k];
    l->s.lkey = keys;
    l->s.rkey = keys + n;
    TRA_TRY(find_keys(l, e));
    set_columns(l);
    TRA_TRY(check_names(l, e));
    *out = l;
    return TRA_OK;
}

const tra_schema *tra_lookup_pair(const tra_lookup *l) { return l->pair; }
const tra_lookup_spec *tra_lookup_spec_of(const tra_lookup *l) { return &l->s; }
const tra_colexpr *tra_lookup_condition(const tra_lookup *l) { return l->condition; }
const tra_schema *tra_lookup_out(const tra_lookup *l) { return l->out; }
const tra_colexpr *const *tra_lookup_left_keys(const tra_lookup *l) { return l->left.x; }
const tra_colexpr *const *tra_lookup_right_keys(const tra_lookup *l) { return l->right.x; }
const int *tra_lookup_from(const tra_lookup *l) { return l->from; }

void tra_lookup_where(tra_lookup *l, const tra_colexpr *condition) {
    bool *read = tra_news(l->arena, bool, l->pair->n + 1);
    assert(condition->type == TRA_COL_BOOL);
    tra_colexpr_columns(condition, read);
    l->condition = condition;
    l->where = tra_colcode_new(l->arena, 1, &condition);
    l->read = read;
    l->band = tra_band_of(l, condition);
}

bool tra_lookup_is_banded(const tra_lookup *l) { return l->band != NULL; }

const char *tra_lookup_name(const tra_lookup *l, int side) {
    static const char *const names[] = {"left", "right"};
    return l->s.name[side] ? l->s.name[side] : names[side];
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* A run. Pairs wait until there is a strip of them; then the condition is evaluated and those that pass come out. After
 * the last pair of each left row stands a mark, whose right row is -2: there it is known whether the row had a partner.
 */
typedef struct pairing {
    const tra_lookup *l;
    const tra_batch *left, *right;
    tra_batch *out; /* NULL: only counts */
    int64_t first, rows;
    bool sure;       /* the pairs that wait need no look at the condition */
    bool met;        /* the current left row has a partner, */
    int64_t partner; /* of which this is the first */
    int npairs, nout;
    int64_t *pair[2];   /* the pairs that wait: left and right rows, STRIP each */
    int64_t *made[2];   /* the pairs that come out, until a strip of them is written */
    tra_vector *column; /* the columns that the condition reads, gathered for the pairs that wait */
    char *gathered, *code;
} pairing;

static int64_t pairing_bytes(const tra_lookup *l) {
    int64_t n = 4 * STRIP * 8 + tra_vectors_bytes(l->pair->n + 1);
    for (int c = 0; l->where && c < l->pair->n; c++) n += l->read[c] ? STRIP * 9 : 0;
    return tra_round64(n) + (l->where ? tra_round64(tra_colcode_scratch(l->where)) : 0);
}

static const tra_vector *column_of(const pairing *p, int c) {
    int n = p->left->schema->n;
    return c < n ? &p->left->v[c] : &p->right->v[c - n];
}

static void write_out(pairing *p) {
    const tra_lookup *l = p->l;
    int64_t begin = p->rows - p->nout;
    for (int i = 0; p->out && i < l->out->n; i++) {
        int c = l->from[i], side = c >= p->left->schema->n;
        for (int k = 0; c < 0 && k < p->nout; k++)
            ((int64_t *)p->out->v[i].values)[begin + k] = tra_max64(0, p->made[1][k]);
        if (c < 0) continue;
        tra_gather_rows(&p->out->v[i], begin, column_of(p, c), l->out->v[i].type, p->made[side], p->nout);
    }
    p->nout = 0;
}

static void emit(pairing *p, int64_t l, int64_t r) {
    p->made[0][p->nout] = l;
    p->made[1][p->nout++] = r;
    p->rows++;
    if (p->nout == STRIP) write_out(p);
}

/* Evaluates the condition for the pairs that wait: pass[i] is 1 where pair i counts; for marks it means nothing. */
static tra_status evaluate_condition(pairing *p, const uint8_t **pass, tra_err *e) {
    const tra_lookup *l = p->l;
    char *room = p->gathered;
    tra_colrun run;
    for (int c = 0; c < l->pair->n; c++) {
        int side = c >= p->left->schema->n;
        if (!l->read[c]) continue;
        p->column[c] = (tra_vector){room, (uint8_t *)room + STRIP * 8};
        tra_gather_rows(&p->column[c], 0, column_of(p, c), l->pair->v[c].type, p->pair[side], p->npairs);
        room += STRIP * 9;
    }
    tra_colrun_begin(&run, l->where, p->code);
    tra_colrun_strip(&run, p->column, 0, p->npairs);
    tra_colvalue v = tra_colrun_result(&run, 0);
    for (int i = 0; run.divided && i < p->npairs; i++) run.zero[i] &= p->pair[1][i] >= 0;
    if (!p->out) tra_table_note_pairs(&run, p->npairs);
    for (int i = 0; v.state && i < p->npairs; i++) {
        if (v.state[i] == TRA_STATE_ERROR && p->pair[1][i] >= 0)
            return tra_fail(e, TRA_INPUT, "row %" PRId64 ": the condition of the join could not be computed",
                            p->first + p->pair[0][i]);
    }
    *pass = v.values; /* a NULL is 0 */
    return TRA_OK;
}

static tra_status unmatched(const pairing *p, int64_t l, tra_err *e) {
    char key[TRA_ROWTEXT];
    return tra_fail(e, TRA_INPUT,
                    "row %" PRId64 " of the %s table has no partner for %s, but each is expected to (matched)",
                    p->first + l, tra_lookup_name(p->l, 0), tra_row_text(p->left, l, p->l->s.nkeys, p->l->s.lkey, key));
}

static tra_status end_of_row(pairing *p, int64_t l, tra_err *e) {
    tra_lookup_how how = p->l->s.how;
    if (!p->met && p->l->s.matched) return unmatched(p, l, e);
    bool stays = how == TRA_LOOKUP_KEEP || how == (p->met ? TRA_LOOKUP_SEMI : TRA_LOOKUP_ANTI);
    bool numbered = p->met && p->l->s.number;
    if (stays || (!p->met && how == TRA_LOOKUP_LEFT)) emit(p, l, numbered ? p->partner : -1);
    p->met = false;
    return TRA_OK;
}

static tra_status flush(pairing *p, tra_err *e) {
    bool pairs = p->l->s.how == TRA_LOOKUP_INNER || p->l->s.how == TRA_LOOKUP_LEFT;
    const uint8_t *pass = NULL;
    if (p->l->where && !p->sure && p->npairs > 0) TRA_TRY(evaluate_condition(p, &pass, e));
    for (int i = 0; i < p->npairs; i++) {
        int64_t l = p->pair[0][i], r = p->pair[1][i];
        if (r == -2) {
            TRA_TRY(end_of_row(p, l, e));
        } else if (!pass || pass[i]) {
            if (!p->met) p->partner = r;
            p->met = true;
            if (pairs) emit(p, l, r);
        }
    }
    p->npairs = 0;
    return TRA_OK;
}

static tra_status push(pairing *p, int64_t l, int64_t r, tra_err *e) {
    p->pair[0][p->npairs] = l;
    p->pair[1][p->npairs++] = r;
    return p->npairs == STRIP ? flush(p, e) : TRA_OK;
}

/* The pairs of a left row with the right rows at places begin .. end - 1 of the lists. */
static tra_status pair_list(pairing *p, const tra_finder *x, int64_t row, int64_t begin, int64_t end, tra_err *e) {
    bool first_is_enough = !p->l->where && p->l->s.how >= TRA_LOOKUP_SEMI;
    for (int64_t i = begin; i < end; i++) {
        TRA_TRY(push(p, row, x->list[i], e));
        if (first_is_enough) break;
    }
    return push(p, row, -2, e);
}

/* The same, of the right rows that lie in the box of row i of the strip. */
static tra_status pair_box(pairing *p, const tra_right *r, const tra_band_query *q, int i, int64_t row, int64_t begin,
                           int64_t end, tra_err *e) {
    const tra_lookup *l = p->l;
    const tra_finder *x = &r->x;
    bool pairs = l->s.how == TRA_LOOKUP_INNER || l->s.how == TRA_LOOKUP_LEFT, sure = l->band->exact;
    if (q->asks[i] == TRA_BAND_NONE) end = begin;
    if (p->sure != (sure && q->asks[i] != TRA_BAND_ALL)) TRA_TRY(flush(p, e));
    p->sure = sure && q->asks[i] != TRA_BAND_ALL;
    if (q->asks[i] == TRA_BAND_ALL) { /* lists lack rows that no box has: all are looked at, but where lists have all */
        for (int64_t k = 0; !r->band.all && k < p->right->rows; k++)
            if (begin < end && (l->s.nkeys == 0 || x->slot[k] == x->slot[x->list[begin]])) TRA_TRY(push(p, row, k, e));
        return r->band.all ? pair_list(p, x, row, begin, end, e) : push(p, row, -2, e);
    }
    bool only_counts = p->sure && (!pairs || !p->out);
    int64_t most = pairs || !p->sure ? INT64_MAX : 1, n = 0;
    if (begin < end) n = tra_band_find(l, &r->band, x, q, i, begin, end, !only_counts, most);
    if (only_counts) {
        p->met = n > 0;
        p->rows += pairs ? n : 0;
        return end_of_row(p, row, e);
    }
    for (int64_t k = 0; k < n; k++) TRA_TRY(push(p, row, r->band.found[k], e));
    return push(p, row, -2, e);
}

/* ---- keys of at most one partner --------------------------------------------------------------------------------- */

/* Whole keys of which none has two right rows: partners are found a strip at a time. */
static bool is_single(const tra_lookup *l, const tra_finder *x) {
    return x->single && !l->where && tra_finder_is_whole(l);
}

#define PARTNERS(name, text, T, ...)                                                                                   \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < n; i++) {                                                                                  \
            uint64_t s = (uint64_t)(int64_t)((const T *)v.values)[i] - (uint64_t)x->least;                             \
            partner[i] = s < (uint64_t)x->nslots && x->begin[s] < x->begin[s + 1] ? x->list[x->begin[s]] : -1;         \
        }                                                                                                              \
        break;

#define LOOK_UP(name, text, T, ...)                                                                                    \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < n; i++) {                                                                                  \
            const uint64_t key[2] = {0, (uint64_t)(int64_t)((const T *)v.values)[i]};                                  \
            int64_t s = tra_finder_find(l, x, key);                                                                    \
            partner[i] = s < 0 ? -1 : x->exists ? 0 : x->list[x->begin[s]];                                            \
        }                                                                                                              \
        break;

static void look_up(const tra_lookup *l, tra_finder *x, tra_colvalue v, int n, int64_t *partner) {
    switch (tra_coltype_held(l->left.x[0]->type)) {
        TRA_WHOLE_DTYPES(LOOK_UP)
    case TRA_FLOATS: break;
    }
}

static void take_slots(const tra_lookup *l, const tra_finder *x, tra_colvalue v, int n, int64_t *partner) {
    switch (tra_coltype_held(l->left.x[0]->type)) {
        TRA_WHOLE_DTYPES(PARTNERS)
    case TRA_FLOATS: break;
    }
}

/* The right row of each key, -1 where there is none. */
static tra_status find_partners(const pairing *p, tra_finder *x, tra_colvalue v, int64_t row, int n, int64_t *partner,
                                tra_err *e) {
    if (x->direct)
        take_slots(p->l, x, v, n, partner);
    else
        look_up(p->l, x, v, n, partner);
    for (int i = 0; v.state && i < n; i++) {
        if (v.state[i] == TRA_STATE_ERROR) return tra_key_failed(p->first + row + i, e);
        if (v.state[i] == TRA_STATE_NULL) partner[i] = -1;
    }
    return TRA_OK;
}

static tra_status put_single(pairing *p, int64_t row, int n, const int64_t *partner, tra_err *e) {
    tra_lookup_how how = p->l->s.how;
    bool met = how == TRA_LOOKUP_INNER || how == TRA_LOOKUP_SEMI,
         all = how == TRA_LOOKUP_LEFT || how == TRA_LOOKUP_KEEP;
    for (int i = 0; p->l->s.matched && i < n; i++)
        if (partner[i] < 0) return unmatched(p, row + i, e);
    for (int i = 0; i < n; i++) {
        p->made[0][p->nout] = row + i;
        p->made[1][p->nout] = partner[i];
        p->nout += all || (partner[i] >= 0) == met;
    }
    p->rows += p->nout;
    write_out(p);
    return TRA_OK;
}

static tra_status run_single(pairing *p, tra_finder *x, void *scratch, tra_err *e) {
    const tra_batch *b = p->left;
    tra_colrun run;
    tra_vector *column = tra_keys_begin(&p->l->left, scratch, &run);
    for (int64_t row = 0; row < b->rows; row += STRIP) {
        int n = (int)tra_min64(STRIP, b->rows - row);
        tra_strip_of(b, row, column);
        tra_colrun_strip(&run, column, p->first + row, n);
        TRA_TRY(find_partners(p, x, tra_colrun_result(&run, 0), row, n, p->pair[1], e));
        TRA_TRY(put_single(p, row, n, p->pair[1], e));
    }
    return TRA_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static tra_status run_pairs(pairing *p, tra_right *r, uint64_t *words, void *scratch, tra_err *e) {
    const tra_lookup *l = p->l;
    int64_t begin, end;
    tra_band_query q;
    for (int64_t row = 0; row < p->left->rows; row += STRIP) {
        int n = (int)tra_min64(STRIP, p->left->rows - row);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        if (l->s.nkeys > 0) TRA_TRY(tra_keys_of(&l->left, p->left, row, n, words, scratch, p->first, e));
        tra_right_ask(l, p->left, row, n, p->first, r, &q, scratch);
        for (int i = 0; i < n; i++) {
            tra_right_places(l, &r->x, words, i, &begin, &end);
            TRA_TRY(l->band ? pair_box(p, r, &q, i, row + i, begin, end, e)
                            : pair_list(p, &r->x, row + i, begin, end, e));
        }
    }
    TRA_TRY(flush(p, e));
    write_out(p);
    return TRA_OK;
}

/* Of each left row the one partner that an as-of join chooses. */
static tra_status run_asof(pairing *p, tra_finder *x, tra_asof_index *index, uint64_t *words, void *scratch,
                           tra_err *e) {
    const tra_lookup *l = p->l;
    for (int64_t r = 0; r < p->left->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, p->left->rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        TRA_TRY(tra_keys_of(&l->left, p->left, r, n, words, scratch, p->first, e));
        TRA_TRY(tra_asof_partners(l, p->left, r, n, p->first, x, words, index, p->pair[1], scratch, e));
        TRA_TRY(put_single(p, r, n, p->pair[1], e));
    }
    return TRA_OK;
}

int64_t tra_lookup_scratch(const tra_lookup *l) {
    return tra_round64(tra_keys_words(l->s.nkeys) * STRIP * 8) + pairing_bytes(l) + tra_right_scratch(l) +
           tra_band_query_bytes(l);
}

tra_status tra_lookup_run(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                          tra_batch *out, int64_t *rows, tra_kept *kept, void *scratch, tra_err *e) {
    tra_right *r;
    *rows = 0;
    if (out) out->rows = 0;
    if (left->rows == 0 && !l->s.unique) return TRA_OK;
    pairing p = {.l = l, .left = left, .right = right, .out = out, .first = first};
    TRA_TRY(tra_right_index(l, right, false, kept, scratch, &r, e));
    uint64_t *words = scratch;
    scratch = (char *)scratch + tra_round64(tra_keys_words(l->s.nkeys) * STRIP * 8);
    for (int i = 0; i < 2; i++) {
        p.pair[i] = (int64_t *)scratch + i * STRIP;
        p.made[i] = (int64_t *)scratch + (2 + i) * STRIP;
    }
    p.column = (tra_vector *)((int64_t *)scratch + 4 * STRIP);
    p.gathered = (char *)p.column + tra_vectors_bytes(l->pair->n + 1);
    char *own = (char *)scratch + pairing_bytes(l);
    p.code = own - (l->where ? tra_round64(tra_colcode_scratch(l->where)) : 0);
    TRA_TRY(l->s.asof             ? run_asof(&p, &r->x, &r->asof, words, own, e)
            : is_single(l, &r->x) ? run_single(&p, &r->x, own, e)
                                  : run_pairs(&p, r, words, own, e));
    if (out) out->rows = p.rows;
    *rows = p.rows;
    return TRA_OK;
}
