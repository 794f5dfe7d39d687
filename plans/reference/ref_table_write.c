/* ref_table_write.c - a table of the reference evaluator as a file. */
#include "ref_table.h"

#include "../../lib/tablefile/table_file.h"

#include <string.h>

/* A value as a column of that type holds it; what is NULL or could not be computed is 0. */
static void put_value(const tra_column *c, const ref_cell *v, void *values, int64_t at) {
    ref_cell x = v->state == REF_VALUE ? *v : (ref_cell){0};
    if (tra_coltype_is_coded(c->type)) {
        bool any = v->state == REF_VALUE;
        ((int32_t *)values)[at] = any ? (int32_t)tra_dictionary_find(c->dict, x.s ? x.s : "", x.len) : 0;
        return;
    }
#define WHOLE(name, text, T, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        ((T *)values)[at] = (T)x.i;                                                                                    \
        break;
#define REAL(name, text, T, ...)                                                                                       \
    case TRA_##name: ((T *)values)[at] = (T)x.f; break;
    switch (tra_coltype_held(c->type)) { TRA_WHOLE_DTYPES(WHOLE) TRA_FLOAT_DTYPES(REAL) }
#undef WHOLE
#undef REAL
}

/* All rows at once, as the reference has them. */
static tra_batch batch_of(const ref_table *t, const tra_schema *s, tra_arena *a) {
    tra_batch b = {.schema = s, .rows = t->rows, .v = tra_news(a, tra_vector, s->n + 1)};
    for (int c = 0; c < s->n; c++) {
        b.v[c].values = tra_arena_alloc(a, (size_t)(t->rows + 1) * tra_coltype_size(s->v[c].type));
        if (tra_column_has_states(&s->v[c])) b.v[c].state = tra_news(a, uint8_t, t->rows + 1);
        for (int64_t i = 0; i < t->rows; i++) {
            const ref_cell *v = ref_at(t, i, c);
            put_value(&s->v[c], v, b.v[c].values, i);
            if (b.v[c].state) b.v[c].state[i] = (uint8_t)v->state;
        }
    }
    return b;
}

/* The strings of a column that the program does not know before it runs, sorted. */
static const tra_dictionary *strings_of(const ref_table *t, int column, tra_arena *a) {
    const char **s = tra_news(a, const char *, t->rows + 1);
    int64_t *len = tra_news(a, int64_t, t->rows + 1), n = 0;
    int32_t *map;
    for (int64_t i = 0; i < t->rows; i++) {
        const ref_cell *x = ref_at(t, i, column);
        if (x->state == REF_VALUE) s[n] = x->s ? x->s : "", len[n++] = x->len;
    }
    const tra_dictionary *all = tra_dictionary_new(a, n, s, len);
    return tra_dictionary_union(a, 1, &all, &map);
}

static const tra_schema *with_strings(const ref_table *t, const tra_schema *s, tra_arena *a) {
    tra_schema *own = tra_new(a, tra_schema);
    tra_column *v = tra_news(a, tra_column, s->n + 1);
    for (int c = 0; c < s->n; c++) {
        v[c] = s->v[c];
        if (tra_coltype_is_coded(v[c].type) && !v[c].dict) v[c].dict = strings_of(t, c, a);
    }
    *own = (tra_schema){s->n, v};
    return own;
}

tra_status ref_counted_type(const tra_type *type, const tra_dims *shape, tra_arena *a, tra_type *out, tra_err *e) {
    tra_catalog *cat = tra_new(a, tra_catalog);
    tra_dims block = type->cat->bound;
    for (int d = 0; d < block.n; d++) block.v[d] = tra_max64(1, block.v[d]);
    *out = *type;
    out->cat = cat;
    out->bounded = 0;
    out->entries = NULL;
    return tra_catalog_blocks(shape, &block, cat, e);
}

tra_status ref_table_fill(const ref_table *t, const tra_type *type, const char *spec, const tra_write_options *o,
                          tra_arena *a, tra_writer **out, char digest_text[33], tra_err *e) {
    tra_type own;
    tra_dims rows = {.n = 1, .v = {t->rows}};
    const tra_schema *columns = with_strings(t, type->columns, a);
    tra_batch b = batch_of(t, columns, a);
    tra_digest digest = {0};
    TRA_TRY(ref_counted_type(type, &rows, a, &own, e));
    own.columns = columns;
    TRA_TRY(tra_writer_create(spec, &own, o, out, e));
    tra_status s = tra_writer_place_rows(*out, NULL, e);
    if (s == TRA_OK) s = tra_writer_put_rows(*out, 0, &b, e);
    if (s != TRA_OK) {
        tra_writer_abort(*out);
        return s;
    }
    tra_digest_rows(&digest, 0, &b);
    tra_digest_table_text(&digest, columns, t->rows, digest_text);
    return TRA_OK;
}
