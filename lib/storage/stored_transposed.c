/* stored_transposed.c - a matrix that is stored by columns, as the transposed matrix that its file holds by rows. */
#include "stored_int.h"

#include <stdlib.h>

/* Are the entries of each column found by pointers, so that they are read as those of a row? */
static bool is_by_columns(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    if (!x || x->unordered || x->mapping || x->mirror || x->iso || x->form.packed || !r->cat.grid) return false;
    return !x->is_transposed && x->form.levels.n == 2 && x->form.levels.order[0] == 1 && x->form.group[1] == 1;
}

static void exchange64(int64_t *v) {
    int64_t first = v[0];
    v[0] = v[1];
    v[1] = first;
}

/* Exchanges the dimensions of arrays; keys stay as they are. */
static void exchange(tra_rel *t) {
    uint32_t cut = t->type.cut[0];
    int8_t by = t->cat.by[0];
    exchange64(t->cat.bound.v);
    exchange64(t->cat.last);
    t->cat.by[0] = t->cat.by[1], t->cat.by[1] = by;
    t->type.cut[0] = t->type.cut[1], t->type.cut[1] = cut;
    t->type.cat = &t->cat;
    t->stored->form.levels.order[0] = 0, t->stored->form.levels.order[1] = 1;
}

tra_rel *tra_rel_transposed(tra_rel *r) {
    if (!is_by_columns(r)) return NULL;
    if (r->stored->transposed) return r->stored->transposed;
    tra_rel *t = tra_new(r->arena, tra_rel);
    struct tra_stored *x = tra_new(r->arena, struct tra_stored);
    tra_err none = {0};
    *x = *r->stored;
    *t = *r;
    t->stored = x;
    x->is_transposed = true;
    x->of = x->rows = NULL;
    x->fullest = 0, x->squares = 0, x->span = 0;
    x->logs[0] = x->logs[1] = NULL;
    for (int i = 0; i < x->form.n; i++) x->c[i].chunk = NULL, x->c[i].found = false;
    exchange(t);
    t->info.storage = tra_levels_text(&x->form.levels, x->text);
    tra_h5_enter();
    bool ok = tra_rows_can(&t->cat.bound) && tra_stored_find_entries(t, &none) == TRA_OK;
    tra_h5_leave();
    if (!ok) {
        tra_stored_close_transposed(t);
        return NULL;
    }
    t->type.entries = tra_entries_exactly(t->arena, &t->type, x->of, x->rows);
    t->type.entries = tra_entries_with_rows(t->arena, t->type.entries, x->fullest, x->squares, x->span);
    return r->stored->transposed = t;
}

void tra_stored_close_transposed(tra_rel *t) {
    struct tra_stored *x = t->stored;
    for (int i = 0; i < x->form.n; i++) free(x->c[i].chunk);
    free(x->of);
    free(x->rows);
}
