/* band_index.c - the right rows of each key in the order of what a band bounds, and those that lie in a box. */
#include "band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

enum { STRIP = TRA_COLSTRIP, FAN = TRA_BAND_FAN };
/* Of tiles: the rows of one, about. */
enum { TILE = 16 };

/* ---- values of rows ------------------------------------------------------------------------------------------ */

void tra_band_words(const tra_band *b, int side, const tra_colrun *run, const tra_band_value *v, int n,
                    tra_band_state null, uint64_t *word, uint8_t *state, double *sum, double *most) {
    for (int i = 0; i < n && v->sum; i++) sum[i] = most[i] = 0;
    for (int t = 0; t < v->n; t++) {
        tra_colvalue x = tra_colrun_result(run, v->v[t].root);
        tra_dtype type = tra_coltype_held(b->side[side].x[v->v[t].root]->type);
        for (int i = 0; x.state && i < n; i++) {
            tra_band_state s = x.state[i] == TRA_STATE_ERROR  ? TRA_BAND_UNKNOWN
                               : x.state[i] == TRA_STATE_NULL ? null
                                                              : TRA_BAND_THERE;
            if (s == TRA_BAND_UNKNOWN || state[i] == TRA_BAND_THERE) state[i] = (uint8_t)s;
        }
        for (int i = 0; i < n && tra_dtype_is_float(type); i++)
            if (isnan(tra_element_real(type, x.values, i)) && state[i] == TRA_BAND_THERE) state[i] = TRA_BAND_NEVER;
        if (!v->sum) tra_order_codes(type, x.values, NULL, n, word);
        for (int i = 0; v->sum && i < n; i++) {
            bool real = tra_dtype_is_float(type);
            double d = real ? tra_element_real(type, x.values, i) : (double)tra_element_whole(type, x.values, i);
            sum[i] += v->v[t].minus ? -d : d;
            most[i] += isinf(d) ? 0 : fabs(d);
        }
    }
    for (int i = 0; v->sum && i < n; i++) {
        if (state[i] == TRA_BAND_THERE && isnan(sum[i])) state[i] = TRA_BAND_NEVER;
        if (state[i] == TRA_BAND_THERE && most[i] >= v->far) state[i] = TRA_BAND_UNKNOWN;
    }
}

/* ---- the index ----------------------------------------------------------------------------------------------- */

/* Rows and nodes come in groups of FAN, of which the last one of a level need not be full. */
static int64_t groups_of(int64_t n) { return tra_ceil_div(n, FAN) * FAN; }

static int64_t nodes_most(int64_t rows) {
    int64_t all = 0;
    for (int64_t n = rows; n > FAN;) all += groups_of(n = tra_ceil_div(n, FAN));
    return all;
}

/* What is by row, until the index is made; and what sorting takes first, and the tree later. */
static int64_t first_bytes(const tra_band *b, int64_t rows) { return tra_round64(b->n * rows * 8) + tra_round64(rows); }
static int64_t second_bytes(const tra_band *b, int64_t rows) {
    int64_t tree = b->n * (tra_round64(groups_of(rows) * 8) + 2 * tra_round64(nodes_most(rows) * 8));
    return tra_max64(tree, tra_round64((1 + TRA_ORDER_SPARE) * rows * 8));
}

int64_t tra_band_bytes(const tra_lookup *l, int64_t rows) {
    const tra_band *b = l->band;
    if (!b) return 0;
    int64_t fixed = tra_round64(3 * b->n * (int64_t)sizeof(void *)) + tra_round64(b->n * (int64_t)sizeof(double));
    return tra_add_most(fixed, tra_add_most(first_bytes(b, rows), second_bytes(b, rows)));
}

int64_t tra_band_scratch(const tra_lookup *l) {
    if (!l->band) return 0;
    int64_t keys = tra_max64(tra_keys_scratch(&l->band->side[0]), tra_keys_scratch(&l->band->side[1]));
    return keys + 3 * STRIP * 8;
}

/* Computes the values of all right rows: word[value][row] and the state of each row. */
static tra_status values_of(const tra_lookup *l, const tra_batch *right, uint64_t *word, uint8_t *state,
                            tra_band_index *index, void *scratch, tra_err *e) {
    const tra_band *b = l->band;
    double *sum = scratch, *most = sum + STRIP;
    tra_colrun run;
    tra_vector *column = tra_keys_begin(&b->side[1], (char *)scratch + 3 * STRIP * 8, &run);
    memset(state, 0, (size_t)right->rows);
    for (int v = 0; v < b->n; v++) index->most[v] = 0;
    for (int64_t r = 0; r < right->rows; r += STRIP) {
        int n = (int)tra_min64(STRIP, right->rows - r);
        if (tra_cancelled()) return tra_fail(e, TRA_STOPPED, "stopped");
        tra_strip_of(right, r, column);
        tra_colrun_strip(&run, column, r, n);
        for (int v = 0; v < b->n; v++) {
            uint64_t *to = word + v * right->rows + r;
            tra_band_words(b, 1, &run, &b->value[v], n, b->rest_fails ? TRA_BAND_UNKNOWN : TRA_BAND_NEVER, to,
                           state + r, sum, most);
            for (int i = 0; b->value[v].sum && i < n; i++) {
                to[i] = tra_order_of_real(sum[i]);
                if (state[r + i] == TRA_BAND_THERE) index->most[v] = fmax(index->most[v], most[i]);
            }
        }
        for (int i = 0; i < n; i++) index->all |= state[r + i] == TRA_BAND_UNKNOWN;
    }
    return TRA_OK;
}

/* Sorts the numbers at[0..n) of rows by a value. */
static void sort_by(uint64_t *word, int64_t rows, int64_t *at, int64_t n, int64_t *spare) {
    const tra_column c = {.name = "", .type = TRA_COL_I64};
    const tra_schema s = {1, &c};
    tra_vector v = {.values = word};
    const int column = 0;
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++) sorted = word[at[i - 1]] <= word[at[i]];
    if (sorted) return;
    for (int64_t i = 0; i < n; i++) word[at[i]] ^= UINT64_C(1) << 63; /* as an i64 */
    tra_order_by_digits(&(tra_batch){&s, rows, &v}, 1, &column, NULL, at, n, n, spare);
    for (int64_t i = 0; i < n; i++) word[at[i]] ^= UINT64_C(1) << 63;
}

/* The rows of one key in tiles: slabs by the first value, each in the order of the second. */
static void sort_tiles(uint64_t *word, int64_t rows, int64_t *at, int64_t n, int64_t *spare) {
    int64_t slab = (int64_t)sqrt((double)n * TILE);
    for (int64_t i = 0; i < n; i += slab) sort_by(word + rows, rows, at + i, tra_min64(slab, n - i), spare);
}

/* Puts the rows of each key that are there in the order of the first value, in the lists and in `at`. */
static void sort_rows(const tra_band *b, tra_finder *x, int64_t rows, uint64_t *word, const uint8_t *state, int64_t *at,
                      tra_band_index *index) {
    int64_t *spare = at + rows, kept = 0, slots = x->nslots;
    index->ascends = true;
    for (int64_t s = 0, from = 0; s < slots; s++) {
        int64_t begin = kept;
        for (int64_t to = x->begin[s + 1]; from < to; from++)
            if (state[x->list[from]] == TRA_BAND_THERE) at[kept++] = x->list[from];
        x->begin[s] = (int32_t)begin;
        sort_by(word, rows, at + begin, kept - begin, spare);
        if (b->tiled) sort_tiles(word, rows, at + begin, kept - begin, spare);
        for (int64_t i = begin + 1; i < kept && index->ascends; i++) index->ascends = at[i - 1] < at[i];
    }
    x->begin[slots] = (int32_t)kept;
    index->rows = kept;
    for (int64_t i = 0; i < kept; i++) x->list[i] = (int32_t)at[i];
}

static void make_tree(const tra_band *b, tra_band_index *index) {
    int64_t n = index->rows;
    index->levels = 0;
    index->level[0] = 0;
    while (n > FAN) {
        int64_t nodes = tra_ceil_div(n, FAN), all = groups_of(nodes), at = index->level[index->levels],
                below = index->levels ? index->level[index->levels - 1] : 0;
        for (int v = 0; v < b->n; v++) {
            const uint64_t *low = index->levels ? index->box[0][v] + below : index->word[v],
                           *high = index->levels ? index->box[1][v] + below : index->word[v];
            for (int64_t i = 0; i < all; i++) {
                uint64_t least = UINT64_MAX, most = 0;
                for (int64_t k = i * FAN; k < tra_min64(n, (i + 1) * FAN); k++) {
                    least = low[k] < least ? low[k] : least;
                    most = high[k] > most ? high[k] : most;
                }
                index->box[0][v][at + i] = least;
                index->box[1][v][at + i] = most;
            }
        }
        index->level[++index->levels] = at + all;
        n = nodes;
    }
}

tra_status tra_band_open(const tra_lookup *l, const tra_batch *right, tra_finder *x, tra_band_index *index, void *room,
                         void *scratch, tra_err *e) {
    const tra_band *b = l->band;
    int64_t rows = right->rows;
    char *p = room;
    *index = (tra_band_index){.word = (uint64_t **)p};
    index->box[0] = index->word + b->n;
    index->box[1] = index->word + 2 * b->n;
    p += tra_round64(3 * b->n * (int64_t)sizeof(void *));
    index->most = (double *)p;
    p += tra_round64(b->n * (int64_t)sizeof(double));
    uint64_t *word = (uint64_t *)p;
    char *second = p + first_bytes(b, rows);
    uint8_t *state = (uint8_t *)p + tra_round64(b->n * rows * 8);
    TRA_TRY(values_of(l, right, word, state, index, scratch, e));
    if (index->all) return TRA_OK;
    sort_rows(b, x, rows, word, state, (int64_t *)second, index);
    for (int v = 0; v < b->n; v++) {
        index->word[v] = (uint64_t *)second;
        second += tra_round64(groups_of(rows) * 8);
        for (int k = 0; k < 2; k++) {
            index->box[k][v] = (uint64_t *)second;
            second += tra_round64(nodes_most(rows) * 8);
        }
    }
    for (int v = 0; v < b->n; v++)
        for (int64_t i = 0; i < groups_of(index->rows); i++)
            index->word[v][i] = i < index->rows ? word[v * rows + x->list[i]] : 0;
    make_tree(b, index);
    return TRA_OK;
}
