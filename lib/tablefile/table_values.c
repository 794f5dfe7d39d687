/* table_values.c - finds the different values of a column of integers, which the statistics do not list when there are
 * many. */
#include "../model/labels.h"
#include "../h5/scales.h"
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts n values and removes duplicates. Returns how many are left. */
static int64_t remove_duplicates(int64_t *v, int64_t n) {
    int64_t k = 0;
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++) sorted = v[i - 1] < v[i];
    if (sorted) return n;
    qsort(v, (size_t)n, sizeof *v, ascending);
    for (int64_t i = 0; i < n; i++)
        if (k == 0 || v[k - 1] != v[i]) v[k++] = v[i];
    return k;
}

typedef struct values {
    int64_t *v, n, cap, settled; /* the first `settled` are sorted, each once */
} values;

/* Adds a value, unless it is the one before. Duplicates are removed when there is no more room. False: there are more
 * than `most`. */
static bool take(values *x, int64_t value, int64_t most) {
    if (x->n > x->settled && x->v[x->n - 1] == value) return true;
    if (x->n == x->cap) {
        x->n = x->settled = remove_duplicates(x->v, x->n);
        if (x->n > most) return false;
        if (2 * x->n >= x->cap) {
            x->cap = tra_max64(1 << 16, 3 * x->n);
            x->v = tra_realloc(x->v, (size_t)x->cap, sizeof *x->v);
        }
    }
    x->v[x->n++] = value;
    return true;
}

tra_status tra_rel_column_values(tra_rel *r, int column, int64_t most, tra_arena *a, const int64_t **out, int64_t *n,
                                 tra_err *e) {
    const tra_schema *s = &r->table->schema;
    tra_dtype t = tra_coltype_held(s->v[column].type);
    int64_t rows = tra_rel_rows(r), strip = tra_max64(1, r->table->form.block);
    tra_column_facts facts;
    if (tra_rel_column_facts(r, column, &facts) && (facts.exact ? facts.distinct : facts.distinct / 2) > most)
        return TRA_NO;
    tra_vector *v = tra_calloc((size_t)s->n + 1, sizeof *v);
    values x = {0};
    tra_status status = TRA_OK;
    v[column].values = malloc((size_t)strip * tra_dtype_size(t) + 8);
    v[column].state = malloc((size_t)strip + 8);
    if (!v[column].values || !v[column].state)
        status = tra_fail(e, TRA_RESOURCE, "out of memory for the values of a column of %s", r->path);
    bool states = tra_column_has_states(&s->v[column]);
    if (!states) free(v[column].state), v[column].state = NULL;
    for (int64_t at = 0; at < rows && status == TRA_OK; at += strip) {
        tra_batch b = {.schema = s, .rows = tra_min64(strip, rows - at), .v = v};
        status = tra_rel_read_rows(r, at, &b, e);
        for (int64_t i = 0; i < b.rows && status == TRA_OK; i++) {
            if (states && v[column].state[i] != TRA_STATE_VALUE) continue;
            if (!take(&x, tra_element_whole(t, v[column].values, i), most)) status = TRA_NO;
        }
    }
    x.n = remove_duplicates(x.v, x.n);
    if (status == TRA_OK && x.n > most) status = TRA_NO;
    if (status == TRA_OK) {
        int64_t *all = tra_news(a, int64_t, x.n + 1);
        if (x.n) memcpy(all, x.v, (size_t)x.n * sizeof *all);
        *out = all;
        *n = x.n;
    }
    free(v[column].values);
    free(v[column].state);
    free(v);
    free(x.v);
    return status;
}

/* Reads all rows of a column that has room for them. */
static tra_status read_column(tra_rel *r, int column, const tra_vector *all, tra_err *e) {
    const tra_schema *s = &r->table->schema;
    int64_t rows = tra_rel_rows(r), strip = tra_max64(1, r->table->form.block);
    size_t size = tra_coltype_size(s->v[column].type);
    tra_vector *v = tra_calloc((size_t)s->n + 1, sizeof *v);
    tra_status status = TRA_OK;
    for (int64_t at = 0; at < rows && status == TRA_OK; at += strip) {
        tra_batch b = {.schema = s, .rows = tra_min64(strip, rows - at), .v = v};
        v[column] = (tra_vector){(char *)all->values + (size_t)at * size, all->state ? all->state + at : NULL};
        status = tra_rel_read_rows(r, at, &b, e);
    }
    free(v);
    return status;
}

tra_status tra_rel_column_labels(tra_rel *r, int column, const tra_dim_labels **out, tra_err *e) {
    const tra_column *c = &r->table->schema.v[column];
    int64_t rows = tra_rel_rows(r);
    if (rows > TRA_SCALE_LABELS)
        return tra_fail(e, TRA_INPUT, "%s:%s has %" PRId64 " rows, and labels are at most %d", r->path, r->name, rows,
                        TRA_SCALE_LABELS);
    TRA_TRY(tra_dictionary_read(c->dict, e));
    tra_vector v = {tra_arena_alloc(r->arena, (size_t)(rows + 8) * sizeof(int64_t)), NULL};
    if (tra_column_has_states(c)) v.state = tra_arena_alloc(r->arena, (size_t)rows + 8);
    r->labels_bytes += 16 * rows;
    TRA_TRY(read_column(r, column, &v, e));
    return tra_dim_labels_of_column(r->arena, c, &v, rows, out, e);
}
