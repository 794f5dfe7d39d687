/* output_strings.c - dictionaries of tables that are written. A column has the dictionary of the file that it comes
 * from, which may have many more strings than the result has rows. Of such a one only the strings that rows have are
 * written.
 *
 * The rows are counted, and wait (output_held.c): each rank looks through the codes of its rows, and all learn all.
 */
#include "output_int.h"

#include <stdlib.h>
#include <string.h>

struct tra_kept_strings {
    uint64_t *bits;   /* of each code: do rows have it? NULL: the dictionary stays as it is */
    uint32_t *before; /* of each word of these: how many are set in those before it */
};

static bool is_cut(const tra_column *c, int64_t rows) {
    return tra_coltype_is_coded(c->type) && tra_dictionary_is_cut(c->dict, rows);
}

static void note_codes(const tra_outfile *o, const tra_batch *b) {
    for (int c = 0; c < o->file_type.columns->n; c++) {
        uint64_t *bits = o->kept[c].bits;
        const int32_t *code = b->v[c].values;
        const uint8_t *state = b->v[c].state;
        for (int64_t i = 0; bits && i < b->rows; i++)
            if (!state || state[i] == TRA_STATE_VALUE) bits[code[i] / 64] |= UINT64_C(1) << code[i] % 64;
    }
}

static tra_status look_through(tra_outfile *o, tra_err *e) {
    tra_vector *v = tra_calloc((size_t)o->file_type.columns->n + 1, sizeof *v);
    tra_status s = TRA_OK;
    for (int64_t t = 0; t < o->memory_type.cat->n && s == TRA_OK; t++) {
        if (o->held[t].n == 0) continue;
        tra_block *block = o->held[t].v[0];
        tra_cell cell;
        tra_batch b = {.v = v};
        if ((s = tra_held_pin(o, NULL, block, e)) != TRA_OK) break;
        s = tra_cell_of(&o->memory_type, t, block->ptr, block->bytes, &cell, e);
        if (s == TRA_OK) s = tra_columns_of(&cell, o->memory_type.columns, &b, e);
        if (s == TRA_OK) note_codes(o, &b);
        tra_block_unpin(o->pool, block);
    }
    free(v);
    return s;
}

/* The codes of all ranks, some at a time: four to a number, so that they are added without carries. */
static void share_codes(const tra_outfile *o, uint64_t *bits, int64_t words) {
    enum { SOME = 512, EACH = 15 };
    int64_t sum[16 * SOME];
    for (int64_t w = 0, n; w < words && o->comm.size > 1; w += n) {
        n = tra_min64(SOME, words - w);
        for (int64_t i = 0; i < 16 * n; i++) {
            uint64_t four = bits[w + i / 16] >> 4 * (i % 16);
            sum[i] = (int64_t)((four & 1) | (four >> 1 & 1) << EACH | (four >> 2 & 1) << 2 * EACH |
                               (four >> 3 & 1) << 3 * EACH);
        }
        tra_comm_sum(&o->comm, sum, 16 * n);
        for (int64_t i = 0; i < 64 * n; i++)
            if (sum[i / 4] >> EACH * (i % 4) & ((1 << EACH) - 1)) bits[w + i / 64] |= UINT64_C(1) << i % 64;
    }
}

/* The dictionary of those strings alone. */
static const tra_dictionary *cut(tra_arena *a, const tra_dictionary *d, struct tra_kept_strings *k) {
    tra_dictionary *some = tra_new(a, tra_dictionary);
    const tra_dictionary **part = tra_news(a, const tra_dictionary *, 1);
    k->before = tra_news(a, uint32_t, d->n / 64 + 1);
    for (int64_t w = 0; w <= d->n / 64; w++) {
        k->before[w] = (uint32_t)some->n;
        some->n += __builtin_popcountll(k->bits[w]);
    }
    part[0] = d;
    some->sorted = d->sorted;
    some->longest = d->longest;
    some->nparts = 1;
    some->part = part;
    some->kept = k->bits;
    some->bytes_most = d->begin ? d->begin[d->n] : d->bytes_most;
    some->arena = a;
    return some->n > 0 ? some : tra_dictionary_new(a, 0, NULL, NULL);
}

tra_status tra_strings_cut(tra_outfile *o, tra_err *e) {
    const tra_schema *s = o->file_type.columns;
    int64_t rows = o->rows_before[o->file_type.cat->n];
    bool any = false;
    for (int c = 0; c < s->n; c++) any |= is_cut(&s->v[c], rows);
    if (!any) return TRA_OK;
    o->strings = tra_arena_new();
    o->kept = tra_news(o->strings, struct tra_kept_strings, s->n);
    for (int c = 0; c < s->n; c++)
        if (is_cut(&s->v[c], rows)) o->kept[c].bits = tra_news(o->strings, uint64_t, s->v[c].dict->n / 64 + 1);
    tra_status st = tra_comm_agree(&o->comm, look_through(o, e), e);
    tra_schema *own = tra_new(o->strings, tra_schema);
    tra_column *v = tra_news(o->strings, tra_column, s->n);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    *own = *s;
    own->v = v;
    for (int c = 0; c < s->n && st == TRA_OK; c++) {
        if (!o->kept[c].bits) continue;
        share_codes(o, o->kept[c].bits, s->v[c].dict->n / 64 + 1);
        v[c].dict = cut(o->strings, s->v[c].dict, &o->kept[c]);
    }
    o->file_type.columns = own;
    if (o->writer) tra_writer_columns(o->writer, own);
    return st;
}

void tra_strings_recode(const tra_outfile *o, tra_batch *b, tra_arena *a) {
    b->schema = o->file_type.columns;
    for (int c = 0; o->kept && c < o->file_type.columns->n; c++) {
        const struct tra_kept_strings *k = &o->kept[c];
        if (!k->bits) continue;
        const int32_t *code = b->v[c].values;
        int32_t *now = tra_news(a, int32_t, b->rows + 1);
        for (int64_t i = 0; i < b->rows; i++) { /* a NULL's code is none of them, or any: then it becomes any */
            uint64_t below = k->bits[code[i] / 64] & ~(~UINT64_C(0) << code[i] % 64);
            now[i] = (int32_t)(k->before[code[i] / 64] + (uint32_t)__builtin_popcountll(below));
        }
        b->v[c].values = now;
    }
}
