/* join.c - joins of a block of rows with a whole table. */
#include "join_right.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../kernel/kernel.h"

enum { STRIP = TRA_COLSTRIP };

static bool makes_pairs(const tra_lookup *l) { return l->s.how == TRA_LOOKUP_INNER || l->s.how == TRA_LOOKUP_LEFT; }

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
    tra_found *note;    /* gets the right rows that each left row has found; NULL: they are not noted (any more) */
    int64_t nnoted;     /* numbers in it */
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
                            tra_lookup_row(l, 0, p->left, p->first, p->pair[0][i]));
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
    bool pairs = makes_pairs(p->l);
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

/* Are the pairs of row i of the query those that were found, without a look at the condition? */
static bool is_sure(const pairing *p, const tra_band_query *q, int64_t i) {
    return p->l->band->exact && q->asks[i] != TRA_BAND_ALL;
}

/* The same with all right rows of its key, for a row of which it is not known what it asks for. */
static tra_status pair_all(pairing *p, const tra_right *r, const tra_band_query *q, int64_t i, int64_t row,
                           tra_err *e) {
    const tra_finder *x = &r->finder;
    int64_t begin = q->begin[i], end = q->end[i];
    if (r->band.all) return pair_list(p, x, row, begin, end, e);
    for (int64_t k = 0; k < p->right->rows && begin < end; k++) /* lists lack rows that no box has */
        if (p->l->s.nkeys == 0 || x->slot[k] == x->slot[x->list[begin]]) TRA_TRY(push(p, row, k, e));
    return push(p, row, -2, e);
}

/* After a row that found n right rows, whose pairs need no look at the condition. */
static tra_status end_sure(pairing *p, int64_t row, int64_t n, tra_err *e) {
    p->met = n > 0;
    if (makes_pairs(p->l) && !p->out) p->rows += n;
    return end_of_row(p, row, e);
}

/* Notes n right rows that the next left row found for the run that follows; fewer than it found: there is no room. */
static void note(pairing *p, bool all, int64_t n, const int32_t *found) {
    tra_found *to = p->note;
    int64_t numbers = makes_pairs(p->l) ? n : 0;
    if (!all || p->nnoted + 1 + numbers > to->room) {
        p->note = NULL;
        return;
    }
    to->v[p->nnoted++] = (int32_t)n;
    if (numbers) memcpy(to->v + p->nnoted, found, (size_t)numbers * sizeof *found);
    p->nnoted += numbers;
    to->rows++;
}

/* Pairs of those rows that a count has noted. */
static tra_status pair_noted(pairing *p, const tra_found *noted, tra_err *e) {
    const int32_t *at = noted->v;
    bool pairs = makes_pairs(p->l);
    for (int64_t row = 0; row < noted->rows; row++) {
        int64_t n = *at++;
        for (int64_t k = 0; k < n && pairs; k++) emit(p, row, *at++);
        TRA_TRY(end_sure(p, row, n, e));
    }
    return TRA_OK;
}

/* The same of a row that asked for a box, with those that it found. */
static tra_status pair_found(pairing *p, tra_band_query *q, int64_t i, int64_t row, tra_err *e) {
    int64_t n = q->count[i], own;
    bool numbers = makes_pairs(p->l) && (p->out || p->note) && n > 0; /* else it is enough to know how many there are */
    if (!p->sure) {
        for (int64_t done = 0; done < n; done += own) {
            const int32_t *found = tra_band_found(q, i, done, &own);
            for (int64_t k = 0; k < own; k++) TRA_TRY(push(p, row, found[k], e));
        }
        return push(p, row, -2, e);
    }
    if (!numbers && p->note) note(p, true, n, NULL);
    for (int64_t done = 0; numbers && done < n; done += own) {
        const int32_t *found = tra_band_found(q, i, done, &own);
        if (p->note) note(p, own == n, n, found);
        for (int64_t k = 0; p->out && k < own; k++) emit(p, row, found[k]);
    }
    return end_sure(p, row, n, e);
}

/* The left rows from `row` on, as many as the query has. */
static tra_status pair_boxes(pairing *p, const tra_right *r, tra_band_query *q, int64_t row, int64_t rows, tra_err *e) {
    bool exact = p->l->band->exact;
    int64_t most = makes_pairs(p->l) || !exact ? INT64_MAX : 1, n = rows;
    for (int64_t from = 0; from < rows; from += n) {
        n = tra_min64(n, rows - from);
        bool found = !exact || (makes_pairs(p->l) && (p->out || p->note));
        while (!tra_band_search(p->l, &r->band, &r->finder, p->right->rows, q, from, n, found, most))
            n = tra_ceil_div(n, 2);
        for (int64_t i = from; i < from + n; i++) {
            bool sure = is_sure(p, q, i);
            if (p->sure != sure) TRA_TRY(flush(p, e));
            p->sure = sure;
            if (!sure) p->note = NULL;
            if (q->asks[i] == TRA_BAND_ALL)
                TRA_TRY(pair_all(p, r, q, i, row + i, e));
            else
                TRA_TRY(pair_found(p, q, i, row + i, e));
        }
    }
    return TRA_OK;
}

/* ---- keys of at most one partner --------------------------------------------------------------------------------- */

static tra_status put_single(pairing *p, int64_t row, int n, const int32_t *partner, tra_err *e) {
    tra_lookup_how how = p->l->s.how;
    bool met = how == TRA_LOOKUP_INNER || how == TRA_LOOKUP_SEMI,
         all = how == TRA_LOOKUP_LEFT || how == TRA_LOOKUP_KEEP;
    for (int i = 0; p->l->s.matched && i < n; i++)
        if (partner[i] < 0) return unmatched(p, row + i, e);
    if (!p->out) {
        int there = 0;
        for (int i = 0; i < n; i++) there += partner[i] >= 0;
        p->rows += all ? n : met ? there : n - there;
        return TRA_OK;
    }
    int64_t *left = p->made[0], *right = p->made[1];
    int made = p->nout;
    for (int i = 0; i < n; i++) {
        left[made] = row + i;
        right[made] = partner[i];
        made += all | ((partner[i] >= 0) == met);
    }
    p->nout = made;
    p->rows += made;
    write_out(p);
    return TRA_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Does each left row have one partner at most? */
static bool has_one(const tra_lookup *l, const tra_finder *x) { return l->s.asof || (x->single && !l->where); }

/* Finds the partners of n rows from `row` on, where each has one at most (-1: none), else the slots of their keys. */
static tra_status find(const pairing *p, const tra_right *r, int64_t row, int n, int32_t *found, void *scratch,
                       tra_err *e) {
    const tra_lookup *l = p->l;
    const tra_finder *x = &r->finder;
    TRA_TRY(tra_finder_slots(l, x, p->left, row, n, p->first, found, scratch, e));
    if (l->s.asof) return tra_asof_partners(l, p->left, row, n, p->first, x, found, &r->asof, scratch, e);
    const int32_t *head = x->head;
    for (int i = 0; has_one(l, x) && !x->exists && i < n; i++)
        if (found[i] >= 0) found[i] = head[found[i]];
    return TRA_OK;
}

/* known: NULL, or gets what is found of the rows. */
static tra_status run_strips(pairing *p, const tra_right *r, tra_found *known, int32_t *own, void *scratch,
                             tra_err *e) {
    int64_t begin, end;
    for (int64_t row = 0; row < p->left->rows; row += STRIP) {
        int n = (int)tra_min64(STRIP, p->left->rows - row);
        int32_t *found = known ? known->v + row : own;
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        if (!known || row >= known->rows) TRA_TRY(find(p, r, row, n, found, scratch, e));
        if (has_one(p->l, &r->finder)) {
            TRA_TRY(put_single(p, row, n, found, e));
            continue;
        }
        for (int i = 0; i < n; i++) /* all are fetched at once */
            if (found[i] >= 0) __builtin_prefetch(r->finder.begin + found[i]);
        for (int i = 0; i < n; i++) {
            tra_finder_rows(&r->finder, found[i], &begin, &end);
            if (begin < end) __builtin_prefetch(r->finder.list + begin);
        }
        for (int i = 0; i < n; i++) {
            tra_finder_rows(&r->finder, found[i], &begin, &end);
            TRA_TRY(pair_list(p, &r->finder, row + i, begin, end, e));
        }
    }
    TRA_TRY(flush(p, e));
    write_out(p);
    if (known) known->rows = p->left->rows;
    return TRA_OK;
}

static tra_status run_boxes(pairing *p, const tra_right *r, tra_found *found, int32_t *slot, void *scratch,
                            tra_err *e) {
    const tra_lookup *l = p->l;
    tra_band_query q;
    if (p->out)
        TRA_TRY(pair_noted(p, found, e));
    else if (found->room > 0)
        p->note = found;
    tra_band_query_begin(l, p->left->rows, (char *)scratch + tra_right_scratch(l), &q);
    for (int64_t row = p->out ? found->rows : 0, n; row < p->left->rows; row += n) {
        n = tra_min64(q.rows, p->left->rows - row);
        TRA_TRY(tra_right_ask(l, p->left, row, n, p->first, r, &q, slot, scratch, e));
        TRA_TRY(pair_boxes(p, r, &q, row, n, e));
    }
    TRA_TRY(flush(p, e));
    write_out(p);
    return TRA_OK;
}

int64_t tra_lookup_scratch(const tra_lookup *l, int64_t left_rows, int64_t right_rows) {
    return STRIP * (int64_t)sizeof(int32_t) + pairing_bytes(l) + tra_right_scratch(l) +
           tra_band_query_bytes(l, left_rows, right_rows);
}

int64_t tra_lookup_found_room(const tra_lookup *l, int64_t left_rows, int64_t right_rows) {
    enum { MOST = 1 << 18, EACH = 8 };
    int64_t some = tra_min64(left_rows, MOST), most = tra_max64(MOST, EACH * some);
    if (!l->band) return left_rows;
    if (!l->band->exact) return 0; /* partners are not noted where the condition is to be evaluated */
    return some + (makes_pairs(l) ? tra_min64(most, tra_mul_most(left_rows, right_rows)) : 0);
}

/* The slots that were found of the rows. */
typedef struct slots_found {
    const tra_finder *x;
    const int32_t *slot;
} slots_found;

static int64_t partners_of(const void *ctx, int64_t row) {
    const slots_found *f = ctx;
    int64_t begin, end;
    tra_finder_rows(f->x, f->slot[row], &begin, &end);
    return end - begin;
}

/* What a left row of a join on ranges asks for is looked up once more. */
typedef struct boxes_asked {
    const pairing *p;
    const tra_right *r;
    tra_band_query *q;
    int32_t *slot;
    void *scratch;
} boxes_asked;

static int64_t met_in_box(const void *ctx, int64_t row) {
    const boxes_asked *b = ctx;
    const pairing *p = b->p;
    if (tra_right_ask(p->l, p->left, row, 1, p->first, b->r, b->q, b->slot, b->scratch, NULL) != TRA_OK) return 0;
    (void)tra_band_search(p->l, &b->r->band, &b->r->finder, p->right->rows, b->q, 0, 1, false, INT64_MAX);
    return tra_right_met(b->r, b->q, 0, p->right->rows);
}

/* Notes keys that many left rows have, or that meet many right rows. */
static void note_left(const pairing *p, const tra_right *r, const tra_found *found, int32_t *slot, void *scratch) {
    const tra_lookup *l = p->l;
    const slots_found slots = {&r->finder, found->v};
    tra_band_query q;
    const boxes_asked boxes = {p, r, &q, slot, scratch};
    bool pairs = !l->band && found->v && !has_one(l, &r->finder);
    if (l->band) tra_band_query_begin(l, p->left->rows, (char *)scratch + tra_right_scratch(l), &q);
    tra_table_note_keys(p->left, l->meets[0].n, l->meets[0].column, 0,
                        l->band ? met_in_box
                        : pairs ? partners_of
                                : NULL,
                        l->band ? (const void *)&boxes : &slots);
}

tra_status tra_lookup_run(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                          tra_batch *out, int64_t *rows, tra_found *found, tra_kept *kept, void *scratch, tra_err *e) {
    tra_right *r;
    *rows = 0;
    if (out) out->rows = 0;
    if (left->rows == 0 && !l->s.unique) return TRA_OK;
    pairing p = {.l = l, .left = left, .right = right, .out = out, .first = first};
    TRA_TRY(tra_right_index(l, right, false, kept, scratch, &r, e));
    int32_t *slot = scratch;
    scratch = slot + STRIP;
    for (int i = 0; i < 2; i++) {
        p.pair[i] = (int64_t *)scratch + i * STRIP;
        p.made[i] = (int64_t *)scratch + (2 + i) * STRIP;
    }
    p.column = (tra_vector *)((int64_t *)scratch + 4 * STRIP);
    p.gathered = (char *)p.column + tra_vectors_bytes(l->pair->n + 1);
    char *own = (char *)scratch + pairing_bytes(l);
    p.code = own - (l->where ? tra_round64(tra_colcode_scratch(l->where)) : 0);
    TRA_TRY(l->band ? run_boxes(&p, r, found, slot, own, e) : run_strips(&p, r, found->v ? found : NULL, slot, own, e));
    if (out) out->rows = p.rows;
    if (!out) note_left(&p, r, found, slot, own);
    *rows = p.rows;
    return TRA_OK;
}
