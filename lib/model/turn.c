/* turn.c - see turn.h. Entries are first divided by the high bits of their rows, which threads share by rows of the
 * operand; then those of each part, which stays in the second cache, are counted by row and put to their places, and
 * parts are shared. */
#include "turn.h"

#include <string.h>

enum { PARTS = TRA_TURN_PARTS, EACH = 1 << 13, LEAST = 1 << 6, DIGIT = 11, BUCKETS = 1 << DIGIT };

int64_t tra_turn_room(int64_t entries, int64_t rows) {
    int64_t n = tra_add_most(tra_mul_most(4 + 8, entries), tra_mul_most(16, tra_min64(rows, entries)));
    n = tra_max64(n, tra_mul_most(sizeof(tra_turn_item), entries)); /* which are sorted there before */
    return tra_min64(TRA_SIZE_MOST, tra_add_most(n, 8 * 64));
}

static int64_t fixed_room(void) { return tra_round64(TRA_PIECES * PARTS * 8) + 2 * tra_round64((PARTS + 1) * 8); }

int64_t tra_turn_scratch(int64_t entries, bool room) {
    int64_t n = tra_mul_most((room ? 1 : 2) * (int64_t)sizeof(tra_turn_item), entries);
    return tra_min64(TRA_SIZE_MOST, tra_add_most(n, fixed_room() + 128));
}

static void *take(char **room, int64_t bytes) {
    void *p = *room;
    *room += tra_round64(bytes);
    return p;
}

void tra_turn_begin(tra_turn *x, int64_t entries, int64_t row_box, void *room, void *scratch) {
    char *at = scratch;
    int bits = 0;
    while (row_box > 1 && (row_box - 1) >> bits) bits++;
    *x = (tra_turn){.parts = 1, .pieces = 1};
    x->at = take(&at, TRA_PIECES * PARTS * 8);
    x->first = take(&at, (PARTS + 1) * 8);
    x->rows = take(&at, (PARTS + 1) * 8);
    x->items = take(&at, entries * (int64_t)sizeof(tra_turn_item));
    x->other = room ? room : take(&at, entries * (int64_t)sizeof(tra_turn_item));
    /* Each part is to stay in the cache. It is to have few enough rows for one count, unless there are few entries. */
    while (x->parts < PARTS && x->parts < row_box &&
           (x->parts * EACH < entries || (bits - x->shift > DIGIT && x->parts * LEAST < entries)))
        x->parts *= 2, x->shift++;
    x->shift = (int)tra_max64(0, bits - x->shift);
    x->groups = tra_min64(x->parts, tra_parallel_pieces(tra_mul_most(16, entries)));
}

int64_t tra_turn_place(tra_turn *x) {
    int64_t n = 0;
    for (int64_t p = 0; p < x->parts; p++) {
        x->first[p] = n;
        for (int i = 0; i < x->pieces; i++) {
            int64_t here = x->at[i][p];
            x->at[i][p] = n;
            n += here;
        }
    }
    return x->first[x->parts] = n;
}

/* One pass over BUCKETS values of the column or row; stable. */
static void pass(const tra_turn_item *from, tra_turn_item *to, int64_t n, bool column, int shift) {
    uint32_t at[BUCKETS], sum = 0;
    memset(at, 0, sizeof at);
#define DIGIT_OF(e) ((column ? (e).column : (e).row) >> shift & (BUCKETS - 1))
    for (int64_t i = 0; i < n; i++) at[DIGIT_OF(from[i])]++;
    for (int d = 0; d < BUCKETS; d++) {
        uint32_t here = at[d];
        at[d] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++) to[at[DIGIT_OF(from[i])]++] = from[i];
#undef DIGIT_OF
}

/* Sorts items by the bits of columns, then by those of rows from `shift` on, in which they differ; other: room for as
 * many. */
static void sort_items(tra_turn_item *e, tra_turn_item *other, int64_t n, uint32_t columns, uint32_t rows,
                       int row_shift) {
    tra_turn_item *begin = e;
    for (int column = 1; column >= 0; column--) {
        uint32_t bits = column ? columns : rows;
        for (int shift = column ? 0 : row_shift; shift < 32 && bits >> shift; shift += DIGIT) {
            if (!((bits >> shift) & (BUCKETS - 1))) continue;
            pass(e, other, n, column, shift);
            tra_turn_item *swap = e;
            e = other;
            other = swap;
        }
    }
    if (e != begin) memcpy(begin, e, (size_t)n * sizeof *e);
}

/* The entries of a part from `from` on whose rows agree but for the last DIGIT bits; all those of a part of that many
 * rows, else the part is sorted so far. Returns where they end. */
static int64_t run_end(const tra_turn *x, int64_t from, int64_t to) {
    if (x->shift <= DIGIT) return to;
    uint32_t high = x->items[from].row >> DIGIT;
    int64_t at = from + 1;
    while (at < to && x->items[at].row >> DIGIT == high) at++;
    return at;
}

/* By the last bits of rows: the run that had an entry of such a row last, from 1, and its column. */
typedef struct seen {
    uint32_t run;
    struct {
        uint32_t run, column;
    } last[BUCKETS];
} seen;

/* Brings the entries of a part into an order in which those of one row have ascending columns, and those whose rows
 * agree but for the last DIGIT bits are together; returns how many rows these are. other: room for as many. */
static int64_t sort_part(const tra_turn *x, int64_t p, tra_turn_item *other, seen *s) {
    int64_t from = x->first[p], to = x->first[p + 1], rows = 0;
    uint32_t row_bits = 0, column_bits = 0;
    for (int64_t i = from + 1; i < to; i++) {
        row_bits |= x->items[i].row ^ x->items[from].row;
        column_bits |= x->items[i].column ^ x->items[from].column;
    }
    if (row_bits >> DIGIT) sort_items(x->items + from, other, to - from, 0, row_bits, DIGIT);
    for (int64_t i = from; i < to;) {
        bool ascends = true;
        int64_t end = run_end(x, i, to), begin = i;
        if (++s->run == 0) memset(s, 0, sizeof *s), s->run = 1;
        for (; i < end; i++) {
            const tra_turn_item *e = &x->items[i];
            uint32_t at = e->row & (BUCKETS - 1);
            bool again = s->last[at].run == s->run;
            rows += !again;
            ascends &= !again || e->column >= s->last[at].column;
            s->last[at].run = s->run;
            s->last[at].column = e->column;
        }
        if (!ascends) sort_items(x->items + begin, other, end - begin, column_bits, 0, 0);
    }
    return rows;
}

static void sort_parts(void *ctx, int group, void *scratch) {
    const tra_turn *x = ctx;
    seen s = {.run = 0};
    (void)scratch;
    for (int64_t p = x->parts * group / x->groups; p < x->parts * (group + 1) / x->groups; p++)
        x->rows[p + 1] = sort_part(x, p, x->other + x->first[p], &s);
}

/* Puts entries to their places by counting those of each row. */
static void write_run(const tra_rows_view *v, int64_t base, const tra_turn_item *e, int64_t n, int64_t at, int64_t *row,
                      uint32_t *count) {
    uint64_t has[BUCKETS / 64] = {0};
    size_t size = v->size;
    int64_t sum = at, high = (int64_t)(e->row & ~(uint32_t)(BUCKETS - 1));
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = e[i].row & (BUCKETS - 1);
        count[r]++;
        has[r / 64] |= (uint64_t)1 << (r & 63);
    }
    high += base;
    uint32_t here[BUCKETS];
    for (int w = 0; w < BUCKETS / 64; w++)
        for (uint64_t left = has[w]; left; left &= left - 1) {
            uint32_t r = (uint32_t)w * 64 + (uint32_t)__builtin_ctzll(left);
            v->row[*row] = high + r, v->begin[(*row)++] = sum;
            here[r] = (uint32_t)(sum - at);
            sum += count[r];
            count[r] = 0;
        }
    for (int64_t i = 0; i < n; i++) {
        int64_t k = at + here[e[i].row & (BUCKETS - 1)]++;
        v->column[k] = e[i].column;
        tra_turn_value(v->value + (size_t)k * size, &e[i].value, size);
    }
}

/* Writes a part, whose first entry and row have these places. count: BUCKETS times 0. */
static void write_part(const tra_turn *x, int64_t p, const tra_rows_view *v, int64_t at, int64_t row, uint32_t *count) {
    for (int64_t i = x->first[p], end; i < x->first[p + 1]; at += end - i, i = end) {
        end = run_end(x, i, x->first[p + 1]);
        write_run(v, x->base, x->items + i, end - i, at, &row, count);
    }
}

static void write_parts(void *ctx, int group, void *scratch) {
    const tra_turn *x = ctx;
    uint32_t count[BUCKETS] = {0};
    (void)scratch;
    for (int64_t p = x->parts * group / x->groups; p < x->parts * (group + 1) / x->groups; p++)
        write_part(x, p, x->out, x->first[p], x->rows[p], count);
}

int64_t tra_turn_sort(tra_turn *x) {
    tra_parallel((int)x->groups, sort_parts, x, NULL);
    x->rows[0] = 0;
    for (int64_t p = 0; p < x->parts; p++) x->rows[p + 1] += x->rows[p];
    return x->rows[x->parts];
}

static void lay_out(tra_rows_view *v, char *room) {
    v->column = take(&room, 4 * v->n);
    v->value = take(&room, 8 * v->n);
    v->row = take(&room, 8 * v->nrows);
    v->begin = take(&room, 8 * (v->nrows + 1));
}

void tra_turn_lay(const tra_turn *x, tra_dtype t, void *room, tra_rows_view *v) {
    *v = (tra_rows_view){.size = tra_dtype_size(t), .n = x->first[x->parts], .nrows = x->rows[x->parts]};
    lay_out(v, room);
}

void tra_turn_part(const tra_turn *x, int64_t part, tra_dtype t, void *room, tra_rows_view *v) {
    uint32_t count[BUCKETS] = {0};
    seen s = {.run = 0};
    *v = (tra_rows_view){.size = tra_dtype_size(t), .n = x->first[part + 1] - x->first[part]};
    v->nrows = sort_part(x, part, room, &s);
    lay_out(v, room);
    write_part(x, part, v, 0, 0, count);
    v->begin[v->nrows] = v->n;
}

void tra_turn_write(tra_turn *x, const tra_rows_view *v) {
    x->out = v;
    tra_parallel((int)x->groups, write_parts, x, NULL);
    v->begin[v->nrows] = v->n;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

typedef struct turning {
    tra_turn *x;
    const tra_rows_view *in;
    int64_t from, to; /* of columns from .. to - 1; */
    uint32_t *done;   /* how many entries of each row were turned before; NULL: all columns are turned at once */
} turning;

/* The rows of the operand that a piece has. */
static int64_t first_row(const turning *w, int piece) {
    int64_t want = (int64_t)((__int128)w->in->n * piece / w->x->pieces), r = 0, end = w->in->nrows;
    TRA_BISECT(r, end, mid, w->in->begin[mid] < want);
    return r;
}

static void count_piece(void *ctx, int piece, void *scratch) {
    const turning *w = ctx;
    int64_t *at = w->x->at[piece], from = w->in->begin[first_row(w, piece)], to = w->in->begin[first_row(w, piece + 1)];
    int shift = w->x->shift;
    (void)scratch;
    memset(at, 0, (size_t)w->x->parts * sizeof *at);
    for (int64_t k = from; k < to; k++) at[w->in->column[k] >> shift]++;
}

static void divide_piece(void *ctx, int piece, void *scratch) {
    const turning *w = ctx;
    const tra_rows_view *v = w->in;
    int64_t *at = w->x->at[piece], end = first_row(w, piece + 1);
    int shift = w->x->shift;
    (void)scratch;
    for (int64_t r = first_row(w, piece); r < end; r++) {
        int64_t k = v->begin[r], last = v->begin[r + 1];
        if (w->done) {
            k += w->done[r];
            for (last = k; last < v->begin[r + 1] && v->column[last] < w->to;) last++;
            w->done[r] = (uint32_t)(last - v->begin[r]);
        }
        for (; k < last; k++) {
            uint32_t row = (uint32_t)(v->column[k] - w->from);
            tra_turn_item *to = &w->x->items[at[row >> shift]++];
            to->row = row;
            to->column = (uint32_t)v->row[r];
            tra_turn_value(&to->value, v->value + (size_t)k * v->size, v->size);
        }
    }
}

void tra_turn_matrix(tra_turn *x, const tra_rows_view *in, int64_t columns, void *room, void *scratch) {
    turning w = {.x = x, .in = in};
    tra_turn_begin(x, in->n, columns, room, scratch);
    x->pieces = tra_parallel_pieces(tra_mul_most(8, in->n));
    tra_parallel(x->pieces, count_piece, &w, NULL);
    (void)tra_turn_place(x);
    tra_parallel(x->pieces, divide_piece, &w, NULL);
}

/* ---- a matrix, some columns at a time ---------------------------------------------------------------------------- */

static void count_columns(void *ctx, int piece, void *scratch) {
    const turning *w = ctx;
    const tra_rows_view *v = w->in;
    int64_t *at = w->x->at[piece], end = first_row(w, piece + 1);
    int shift = w->x->shift;
    (void)scratch;
    memset(at, 0, (size_t)w->x->parts * sizeof *at);
    for (int64_t r = first_row(w, piece); r < end; r++)
        for (int64_t k = v->begin[r] + w->done[r]; k < v->begin[r + 1] && v->column[k] < w->to; k++)
            at[(v->column[k] - w->from) >> shift]++;
}

void tra_turn_columns(tra_turn *x, const tra_rows_view *in, int64_t from, int64_t to, int64_t entries, uint32_t *done,
                      void *room, void *scratch) {
    turning w = {x, in, from, to, done};
    tra_turn_begin(x, entries, to - from, room, scratch);
    x->base = from;
    x->pieces = tra_parallel_pieces(tra_mul_most(8, entries));
    tra_parallel(x->pieces, count_columns, &w, NULL);
    (void)tra_turn_place(x);
    tra_parallel(x->pieces, divide_piece, &w, NULL);
}

int64_t tra_turn_few(const tra_rows_view *in, int64_t columns, void *scratch) {
    enum { FEW = 1 << 17, ENTRIES = 1 << 20 };
    if (columns > FEW || columns > in->n || in->n > ENTRIES) return -1;
    uint32_t *count = memset(scratch, 0, (size_t)columns * sizeof *count);
    int64_t rows = 0;
    for (int64_t k = 0; k < in->n; k++) count[in->column[k]]++;
    for (int64_t j = 0; j < columns; j++) rows += count[j] > 0;
    return rows;
}

void tra_turn_few_lay(const tra_rows_view *in, int64_t rows, void *room, tra_rows_view *v) {
    *v = (tra_rows_view){.size = in->size, .n = in->n, .nrows = rows};
    lay_out(v, room);
}

void tra_turn_few_write(const tra_rows_view *in, int64_t columns, void *scratch, const tra_rows_view *v) {
    enum { STRIP = 1024 };
    int64_t number[STRIP + TRA_ROWS_SPARE];
    uint32_t *at = scratch, sum = 0;
    for (int64_t j = 0, row = 0; j < columns; j++) { /* without a branch that nothing predicts */
        uint32_t here = at[j];
        v->row[row] = j; /* after the last row it is where `begin` begins */
        v->begin[row] = sum;
        row += here > 0;
        at[j] = sum;
        sum += here;
    }
    v->begin[v->nrows] = sum;
    v->begin[0] = 0;
    for (int64_t k = 0, n, r = 0; k < in->n; k += n) {
        n = tra_min64(STRIP, in->n - k);
        r = tra_rows_numbers(in, r, k, n, number);
        for (int64_t i = 0; i < n; i++) {
            uint32_t to = at[in->column[k + i]]++;
            v->column[to] = (uint32_t)number[i];
            tra_turn_value(v->value + (size_t)to * v->size, in->value + (size_t)(k + i) * v->size, v->size);
        }
    }
}
