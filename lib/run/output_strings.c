/* output_strings.c - dictionaries of tables that are written. A column has the dictionary of the file that it comes
 * from, which may have many more strings than the result has rows. Of such a one only the strings that rows have are
 * written.
 *
 * The rows are counted, and wait (output_held.c): each rank looks through the codes of its rows, and all learn all.
 */
#include "output_int.h"

#include <stdlib.h>
#include <string.h>

/* A dictionary is cut when it has so many strings at least, and so many times as many as there are rows. */
enum { STRINGS = 256, TIMES = 4 };

struct tra_kept_strings {
    int64_t n; /* codes that rows have, ascending; what they are now is their place here */
    int32_t *code;
    int64_t *seen; /* of each row of all ranks: one more than its code, 0: it has none; while these are gathered */
};

static bool is_cut(const tra_column *c, int64_t rows) {
    return tra_coltype_is_coded(c->type) && c->dict && c->dict->begin && c->dict->n >= STRINGS &&
           rows <= c->dict->n / TIMES;
}

static void note_codes(const tra_outfile *o, int64_t first, const tra_batch *b) {
    for (int c = 0; c < o->file_type.columns->n; c++) {
        int64_t *seen = o->kept[c].seen;
        const int32_t *code = b->v[c].values;
        const uint8_t *state = b->v[c].state;
        for (int64_t i = 0; seen && i < b->rows; i++)
            seen[first + i] = state && state[i] != TRA_STATE_VALUE ? 0 : (int64_t)code[i] + 1;
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
        if (s == TRA_OK) note_codes(o, o->rows_before[t], &b);
        tra_block_unpin(o->pool, block);
    }
    free(v);
    return s;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static const tra_dictionary *cut(tra_arena *a, const tra_dictionary *d, int64_t rows, struct tra_kept_strings *k) {
    qsort(k->seen, (size_t)rows, sizeof *k->seen, by_number);
    k->code = tra_news(a, int32_t, rows + 1);
    for (int64_t i = 0; i < rows; i++)
        if (k->seen[i] && (k->n == 0 || k->code[k->n - 1] != k->seen[i] - 1))
            k->code[k->n++] = (int32_t)(k->seen[i] - 1);
    const char **text = tra_calloc((size_t)k->n + 1, sizeof *text);
    int64_t *len = tra_calloc((size_t)k->n + 1, sizeof *len);
    for (int64_t i = 0; i < k->n; i++) text[i] = tra_dictionary_at(d, k->code[i], &len[i]);
    const tra_dictionary *made = tra_dictionary_new(a, k->n, text, len);
    free(text);
    free(len);
    return made;
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
        if (is_cut(&s->v[c], rows)) o->kept[c].seen = tra_calloc((size_t)rows + 1, sizeof *o->kept[c].seen);
    tra_status st = tra_comm_agree(&o->comm, look_through(o, e), e);
    tra_schema *own = tra_new(o->strings, tra_schema);
    tra_column *v = tra_news(o->strings, tra_column, s->n);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    *own = *s;
    own->v = v;
    for (int c = 0; c < s->n; c++) {
        struct tra_kept_strings *k = &o->kept[c];
        if (!k->seen) continue;
        if (st == TRA_OK) tra_comm_sum(&o->comm, k->seen, rows);
        if (st == TRA_OK) v[c].dict = cut(o->strings, s->v[c].dict, rows, k);
        free(k->seen);
        k->seen = NULL;
    }
    o->file_type.columns = own;
    if (o->writer) tra_writer_columns(o->writer, own);
    return st;
}

static int by_code(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void tra_strings_recode(const tra_outfile *o, tra_batch *b, tra_arena *a) {
    b->schema = o->file_type.columns;
    for (int c = 0; o->kept && c < o->file_type.columns->n; c++) {
        const struct tra_kept_strings *k = &o->kept[c];
        if (!k->code) continue;
        const int32_t *code = b->v[c].values;
        int32_t *now = tra_news(a, int32_t, b->rows + 1);
        for (int64_t i = 0; i < b->rows; i++) {
            const int32_t *at = bsearch(&code[i], k->code, (size_t)k->n, sizeof *at, by_code);
            now[i] = at ? (int32_t)(at - k->code) : 0; /* a NULL's code is none of them, or any */
        }
        b->v[c].values = now;
    }
}
