/* band_parts.c - what band_parts.h promises. */
#include "band_parts.h"

#include <string.h>

#include "band.h"
#include "order.h"

enum { STRIP = TRA_COLSTRIP };

static int column_in(const tra_colexpr *x) {
    int c = x->op == TRA_C_COLUMN ? x->column : -1;
    for (int k = 0; k < x->nkids && c < 0; k++) c = column_in(x->kids[k]);
    return c;
}

int tra_band_column(const tra_lookup *l, int side) {
    const tra_band *b = l->band;
    for (int k = 0; b && k < b->nends; k++) {
        const tra_band_value *v = side ? &b->value[0] : &b->end[k].at;
        for (int i = 0; b->end[k].of == 0 && i < v->n; i++) {
            int c = column_in(b->side[side].x[v->v[i].root]);
            if (c >= 0) return c;
        }
    }
    return -1;
}

const tra_band_parts *tra_band_parts_of(tra_arena *a, const tra_lookup *join, const char *name) {
    const tra_schema *left = join->s.left;
    int n = 1 + 2 * join->band->n;
    tra_column *strips = tra_news(a, tra_column, left->n + 1), *box = tra_news(a, tra_column, n);
    memcpy(strips, left->v, (size_t)left->n * sizeof *strips);
    strips[left->n] = (tra_column){.name = name, .type = TRA_COL_I64};
    for (int i = 0; i < n; i++) box[i] = (tra_column){.name = tra_arena_printf(a, "%d", i), .type = TRA_COL_I64};
    tra_schema *s = tra_news(a, tra_schema, 2);
    s[0] = (tra_schema){left->n + 1, strips};
    s[1] = (tra_schema){n, box};
    tra_band_parts *x = tra_new(a, tra_band_parts);
    *x = (tra_band_parts){join, left, &s[0], join->s.right, &s[1]};
    return x;
}

/* Least and greatest words of each value, alternately. */
static void begin_box(int n, uint64_t *box) {
    for (int v = 0; v < n; v++) box[2 * v] = UINT64_MAX, box[2 * v + 1] = 0;
}
static void whole_box(int n, uint64_t *box) {
    for (int v = 0; v < n; v++) box[2 * v] = 0, box[2 * v + 1] = UINT64_MAX;
}
static void add_to_box(uint64_t *box, int v, uint64_t low, uint64_t high) {
    box[2 * v] = low < box[2 * v] ? low : box[2 * v];
    box[2 * v + 1] = high > box[2 * v + 1] ? high : box[2 * v + 1];
}

/* ---- the box of a part --------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(box_form, tra_band_parts, .in = {x->right}, .out = x->box)

TRA_ROWS_REST(box_rest, tra_band_parts,
              tra_round64(tra_band_scratch(x->join)) + (2 * x->join->band->n + 1) * STRIP * 8 +
                  2 * x->join->band->n * 8)

/* Of each row its word of a value from below and from above: a sum may be as much less, or more, as both sides of the
 * comparison leave unknown of it. */
static void widen(const tra_band_value *v, int n, const double *sum, const double *most, uint64_t *low,
                  uint64_t *high) {
    for (int i = 0; i < n && v->sum; i++) {
        double slack = 2 * v->slack * most[i] + 0x1p-1000;
        low[i] = tra_order_of_real(sum[i] - slack);
        high[i] = tra_order_of_real(sum[i] + slack);
    }
    if (!v->sum) memcpy(high, low, (size_t)n * sizeof *low);
}

static void box_run(const void *data, tra_rows_io *io) {
    const tra_band_parts *x = data;
    const tra_band *b = x->join->band;
    const tra_batch *in = &io->in[0];
    double *sum = io->rest, *most = sum + STRIP;
    uint64_t *word = (uint64_t *)((char *)io->rest + tra_round64(tra_band_scratch(x->join))),
             *box = word + 2 * b->n * STRIP;
    uint8_t *state = (uint8_t *)(box + 2 * b->n);
    bool any = false, all = false; /* all: a row may be an error with any left row */
    tra_colrun run;
    tra_vector *column = tra_keys_begin(&b->side[1], (char *)io->rest + 3 * STRIP * 8, &run);
    begin_box(b->n, box);
    for (int64_t r = 0; r < in->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, in->rows - r);
        memset(state, TRA_BAND_THERE, (size_t)n);
        tra_strip_of(in, r, column);
        tra_colrun_strip(&run, column, r, n);
        for (int v = 0; v < b->n; v++) {
            uint64_t *low = word + 2 * v * STRIP;
            tra_band_words(b, 1, &run, &b->value[v], n, b->rest_fails ? TRA_BAND_UNKNOWN : TRA_BAND_NEVER, low, state,
                           sum, most);
            widen(&b->value[v], n, sum, most, low, low + STRIP);
        }
        for (int i = 0; i < n; i++) {
            all = all || state[i] == TRA_BAND_UNKNOWN;
            any = any || state[i] == TRA_BAND_THERE;
            for (int v = 0; v < b->n && state[i] == TRA_BAND_THERE; v++)
                add_to_box(box, v, word[2 * v * STRIP + i], word[(2 * v + 1) * STRIP + i]);
        }
    }
    if (!tra_rows_result(io, any || all) || !(any || all)) return;
    ((int64_t *)io->made.v[0].values)[0] = all;
    for (int k = 0; k < 2 * b->n; k++) memcpy(io->made.v[1 + k].values, &box[k], sizeof *box);
}

const tra_rows_ops tra_band_box_ops = {.form = box_form, .rest = box_rest, .run = box_run};

/* ---- strips of a left block ---------------------------------------------------------------------------------- */

/* What left rows ask for, strip by strip, whatever the right rows are. */
typedef struct asking {
    const tra_lookup *l;
    tra_band_query q;
    double most[TRA_BAND_ENDS];
    void *scratch;
} asking;

static int64_t asking_bytes(const tra_lookup *l) {
    return tra_round64(tra_band_scratch(l)) + tra_band_query_bytes(l, STRIP, 0);
}

static void begin_asking(const tra_lookup *l, void *room, asking *a) {
    *a = (asking){.l = l, .scratch = room};
    tra_band_query_begin(l, STRIP, (char *)room + tra_round64(tra_band_scratch(l)), &a->q);
}

static void ask(asking *a, const tra_batch *left, int64_t row, int n) {
    const tra_band_index none = {.most = a->most};
    tra_band_ask(a->l, left, row, n, 0, &none, &a->q, 0, a->scratch);
}

TRA_ROWS_FORM(strips_form, tra_band_parts, .in = {x->left}, .out = x->strips)

TRA_ROWS_REST(strips_rest, tra_band_parts, asking_bytes(x->join))

static void strips_run(const void *data, tra_rows_io *io) {
    const tra_band_parts *x = data;
    const tra_batch *in = &io->in[0];
    int values = x->join->band->n;
    asking a;
    if (!tra_rows_result(io, in->rows) || in->rows == 0) return;
    tra_append_rows(x->left, &io->made, 0, in);
    uint64_t *strip = io->made.v[x->left->n].values;
    memset(strip, 0, (size_t)in->rows * sizeof *strip);
    begin_asking(x->join, io->rest, &a);
    for (int64_t r = 0; r + 2 * values <= in->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, in->rows - r);
        ask(&a, in, r, n);
        begin_box(values, strip + r);
        for (int i = 0; i < n; i++) {
            if (a.q.asks[i] == TRA_BAND_ALL) whole_box(values, strip + r);
            for (int v = 0; v < values && a.q.asks[i] == TRA_BAND_BOX; v++)
                add_to_box(strip + r, v, a.q.low[v * a.q.rows + i], a.q.high[v * a.q.rows + i]);
        }
    }
}

const tra_rows_ops tra_band_strips_ops = {.form = strips_form, .rest = strips_rest, .run = strips_run};

/* ---- the left rows of a part --------------------------------------------------------------------------------- */

TRA_ROWS_FORM(slice_form, tra_band_parts, .in = {x->strips, x->box}, .out = x->left)

TRA_ROWS_REST(slice_rest, tra_band_parts,
              tra_add_most(asking_bytes(x->join), tra_mul_most(a->v[0] + 2 * x->join->band->n, 8)))

/* Do the boxes of words have a place in common? */
static bool meet(const uint64_t *box, int n, const uint64_t *low, const uint64_t *high, int64_t stride) {
    for (int v = 0; v < n; v++)
        if (low[v * stride] > box[2 * v + 1] || high[v * stride] < box[2 * v]) return false;
    return true;
}

static void slice_run(const void *data, tra_rows_io *io) {
    const tra_band_parts *x = data;
    const tra_batch *in = &io->in[0], *right = &io->in[1];
    int values = x->join->band->n;
    if (right->rows == 0) {
        (void)tra_rows_result(io, 0);
        return;
    }
    uint64_t *box = (uint64_t *)((char *)io->rest + asking_bytes(x->join));
    int64_t *at = (int64_t *)(box + 2 * values), found = 0;
    const uint64_t *strip = in->v[x->left->n].values;
    bool all = ((const int64_t *)right->v[0].values)[0];
    for (int k = 0; k < 2 * values; k++) memcpy(&box[k], right->v[1 + k].values, sizeof *box);
    asking a;
    begin_asking(x->join, io->rest, &a);
    for (int64_t r = 0; r < in->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, in->rows - r);
        bool told = n >= 2 * values;
        if (told && !all && !meet(box, values, strip + r, strip + r + 1, 2)) continue;
        if (!all) ask(&a, in, r, n);
        for (int i = 0; i < n; i++) {
            bool meets = all || a.q.asks[i] == TRA_BAND_ALL ||
                         (a.q.asks[i] == TRA_BAND_BOX && meet(box, values, a.q.low + i, a.q.high + i, a.q.rows));
            at[found] = r + i;
            found += meets;
        }
    }
    if (!tra_rows_result(io, found)) return;
    for (int c = 0; c < x->left->n && found > 0; c++)
        tra_gather_rows(&io->made.v[c], 0, &in->v[c], x->left->v[c].type, at, found);
}

const tra_rows_ops tra_band_slice_ops = {.form = slice_form, .rest = slice_rest, .run = slice_run};
