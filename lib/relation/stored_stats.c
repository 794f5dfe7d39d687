/* stored_stats.c - statistics of relations stored by levels; and checks of what only other programs read. */
#include "stored_int.h"
#include "table_hook.h"

#include <stdlib.h>
#include <string.h>

/* ---- spreads ----------------------------------------------------------------------------------------------------- */

void tra_spread_add(tra_spread *s, int64_t children, int64_t first, int64_t last) {
    int log = 63 - __builtin_clzll((unsigned long long)children);
    s->parents++;
    s->entries += children;
    s->squares = tra_add_most(s->squares, tra_mul_most(children, children));
    s->most = tra_max64(s->most, children);
    s->span = tra_max64(s->span, last - first + 1);
    s->logs[log < TRA_LOGS ? log : TRA_LOGS - 1]++;
}

void tra_spread_store(uint64_t *to, const tra_spread *s, bool finite) {
    uint64_t flags = TRA_FLAG_SORTED | TRA_FLAG_UNIQUE | (finite ? TRA_FLAG_FINITE : 0);
    uint64_t head[6] = {(uint64_t)s->parents, (uint64_t)s->entries, (uint64_t)s->squares,
                        (uint64_t)s->most,    (uint64_t)s->span,    flags};
    memcpy(to, head, sizeof head);
    for (int i = 0; i < TRA_LOGS; i++) to[6 + i] = (uint64_t)s->logs[i];
}

static void load_spread(const int64_t *words, tra_spread *s) {
    *s =
        (tra_spread){.parents = words[0], .entries = words[1], .squares = words[2], .most = words[3], .span = words[4]};
    memcpy(s->logs, words + 6, sizeof s->logs);
}

tra_status tra_rel_statistics(tra_rel *r, int64_t ordinal, tra_statistics *out, tra_err *e) {
    struct tra_stored *x = r->stored;
    if (!x || x->unordered) return tra_fail(e, TRA_NO, "%s:%s has no statistics", r->path, r->name);
    const tra_form *f = &x->form;
    int spreads = tra_form_spreads(f), i = 1;
    int64_t words[(TRA_MAXDIM + 1) * TRA_SPREAD_WORDS];
    hsize_t start[3] = {(hsize_t)ordinal, 0, 0}, count[3] = {1, (hsize_t)spreads, TRA_SPREAD_WORDS};
    tra_h5_enter();
    hid_t dset = H5Dopen2(r->file, tra_table_path(r->arena, r->name, "statistics"), H5P_DEFAULT);
    hid_t space = H5Dget_space(dset), memory = H5Screate_simple(3, count, NULL);
    bool ok = dset >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(dset, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, words) >= 0;
    tra_status s =
        ok ? TRA_OK : tra_h5_fail(e, TRA_INPUT, r->vfd, "the statistics of %s:%s are damaged", r->path, r->name);
    H5Sclose(memory);
    H5Sclose(space);
    if (dset >= 0) H5Dclose(dset);
    tra_h5_leave();
    TRA_TRY(s);
    *out = (tra_statistics){.finite = words[5] & TRA_FLAG_FINITE};
    load_spread(words, &out->rows);
    for (int l = 0; l < f->levels.n; l++)
        if (f->group[l] > 0) load_spread(words + TRA_SPREAD_WORDS * i++, &out->level[l]);
    return TRA_OK;
}

enum { PIECE = 1 << 16 }; /* elements that are read at once */

/* Entries of all tuples. */
static int64_t entries_of(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    return x->begin[(x->form.levels.n - 1) * (r->cat.n + 1) + r->cat.n];
}

/* Adds to out[c] the entries of column c of a tuple, by its indices, where the last level has these. */
static tra_status count_columns(const tra_rel *r, int64_t ordinal, int64_t width, uint32_t *out, tra_err *e) {
    enum { MOST_COUNTED = 1 << 23 }; /* entries of all tuples: planning reads no more */
    const struct tra_stored *x = r->stored;
    const tra_levels *l = &x->form.levels;
    int last = l->n - 1, kind = l->kind[last];
    const int64_t *n = x->begin + last * (r->cat.n + 1);
    if (x->mapping || x->mirror || x->form.packed || n[r->cat.n] > MOST_COUNTED || l->order[last] != last ||
        (kind != TRA_LEVEL_SPARSE && kind != TRA_LEVEL_SINGLETON))
        return tra_fail(e, TRA_NO, "%s:%s has no counts of the columns of that block", r->path, r->name);
    int64_t *at = tra_malloc(PIECE * sizeof *at);
    tra_status s = TRA_OK;
    for (int64_t from = n[ordinal], m; from < n[ordinal + 1] && s == TRA_OK; from += m) {
        m = tra_min64(PIECE, n[ordinal + 1] - from);
        s = tra_dataset_read_ints(r, &x->c[x->form.indices[last]], from, m, at, e);
        for (int64_t i = 0; i < m && s == TRA_OK; i++)
            if (at[i] >= 0 && at[i] < width)
                out[at[i]]++;
            else
                s = TRA_REL_BAD(r, e, "its dataset indices_%d is damaged: a coordinate is %" PRId64 " of %" PRId64,
                                last, at[i], width);
    }
    free(at);
    return s;
}

/* Adds to out[c] the counts that the file keeps, n of them from this one on. */
static tra_status add_kept(const tra_rel *r, int64_t from, int64_t n, uint32_t *out, tra_err *e) {
    const struct tra_stored *x = r->stored;
    uint32_t *v = tra_malloc(PIECE * sizeof *v);
    tra_status s = TRA_OK;
    for (int64_t i = 0, m; i < n && s == TRA_OK; i += m) {
        m = tra_min64(PIECE, n - i);
        s = tra_dataset_read(r, &x->c[x->form.columns], from + i, m, v, e);
        for (int64_t k = 0; k < m && s == TRA_OK; k++) out[i + k] += v[k];
    }
    free(v);
    return s;
}

/* Adds to out[c] the entries of column c of a tuple. */
static tra_status add_columns_of(tra_rel *r, int64_t ordinal, uint32_t *out, tra_err *e) {
    struct tra_stored *x = r->stored;
    int64_t at = 0, width = 0;
    bool kept = false;
    for (int64_t t = 0; t <= ordinal; t++) {
        const int64_t *n = x->begin + (x->form.levels.n - 1) * (r->cat.n + 1) + t;
        tra_dims ext;
        tra_catalog_ext(&r->cat, t, &ext);
        if (kept) at += width;
        width = ext.v[ext.n - 1];
        kept = width <= n[1] - n[0];
    }
    return kept ? add_kept(r, at, width, out, e) : count_columns(r, ordinal, width, out, e);
}

tra_status tra_rel_column_counts(tra_rel *r, int64_t ordinal, uint32_t *out, tra_err *e) {
    if (!r->stored || r->stored->unordered)
        return tra_fail(e, TRA_NO, "%s:%s has no counts of columns", r->path, r->name);
    tra_dims ext;
    tra_catalog_ext(&r->cat, ordinal, &ext);
    memset(out, 0, (size_t)ext.v[ext.n - 1] * sizeof *out);
    return add_columns_of(r, ordinal, out, e);
}

/* Planning counts columns in 4 bytes for each, at most 8 MiB: less than what a run takes besides its blocks, so that a
 * low ceiling holds. */
enum { MOST_COLUMNS = 1 << 21, MOST_TUPLES = 64 };

/* Are its keys the blocks of its dimensions? Then the columns of a tuple begin where its last key says. */
static bool is_in_blocks(const tra_rel *r) { return r->cat.frontier.n == r->cat.bound.n; }

/* Counts the entries of all columns of the tensor. */
static tra_status add_columns(tra_rel *r, uint32_t *all, tra_err *e) {
    int last = r->cat.bound.n - 1;
    for (int64_t t = 0; t < r->cat.n; t++) {
        tra_dims key;
        tra_catalog_key(&r->cat, t, &key);
        int64_t first = is_in_blocks(r) ? key.v[last] * r->cat.bound.v[last] : 0;
        TRA_TRY(add_columns_of(r, t, all + first, e));
    }
    return TRA_OK;
}

static tra_status find_logs(tra_rel *r, uint32_t *all, int64_t n, tra_err *e) {
    TRA_TRY(add_columns(r, all, e));
    double *logs = tra_news(r->arena, double, 2 * TRA_LOGS);
    for (int64_t c = 0; c < n; c++) {
        int i = 0;
        while (i + 1 < TRA_LOGS && (int64_t)all[c] >> (i + 1)) i++;
        if (all[c] == 0) continue;
        logs[i]++;
        logs[TRA_LOGS + i] += (double)all[c];
    }
    r->stored->logs = logs;
    return TRA_OK;
}

tra_status tra_rel_column_histogram(tra_rel *r, double columns[TRA_LOGS], double entries[TRA_LOGS], tra_err *e) {
    int last = r->cat.bound.n - 1;
    int64_t n = last < 0 ? 0 : r->cat.bound.v[last];
    if (n > 0 && is_in_blocks(r)) n = tra_mul_most(n, r->cat.frontier.v[last]);
    if (!r->stored || r->stored->unordered || n == 0 || n > MOST_COLUMNS || r->cat.n > MOST_TUPLES ||
        entries_of(r) > UINT32_MAX)
        return tra_fail(e, TRA_NO, "%s:%s has no counts of columns, or too many", r->path, r->name);
    if (!r->stored->logs) {
        uint32_t *all = tra_calloc((size_t)n, sizeof *all);
        tra_status s = find_logs(r, all, n, e);
        free(all);
        TRA_TRY(s);
    }
    memcpy(columns, r->stored->logs, TRA_LOGS * sizeof *columns);
    memcpy(entries, r->stored->logs + TRA_LOGS, TRA_LOGS * sizeof *entries);
    return TRA_OK;
}

/* Is it a matrix whose first level has the rows and whose entries are found by pointers below them? */
static bool has_row_pointers(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    if (!x || x->unordered || x->mirror || x->mapping || x->form.packed || r->cat.frontier.n != 2) return false;
    const tra_levels *l = &x->form.levels;
    return l->n == 2 && l->order[0] == 0 && l->kind[0] != TRA_LEVEL_SINGLETON && l->kind[1] == TRA_LEVEL_SPARSE;
}

/* *out grows by the sum over rows k below n of how[k] times the entries of row k. */
static tra_status weigh_rows(tra_rel *r, const uint32_t *how, int64_t n, double *out, tra_err *e) {
    const struct tra_stored *x = r->stored;
    tra_status s = TRA_OK;
    for (int64_t t = 0; t < r->cat.n && s == TRA_OK; t++) {
        tra_dims key;
        int64_t from = x->begin[t], m = x->begin[t + 1] - from; /* positions of the first level */
        int64_t *end = tra_malloc((size_t)(m + 1) * 8), *at = NULL;
        tra_catalog_key(&r->cat, t, &key);
        int64_t first = key.v[0] * r->cat.bound.v[0];
        s = tra_dataset_read_ints(r, &x->c[x->form.pointers[1]], from, m + 1, end, e);
        if (s == TRA_OK && x->form.levels.kind[0] == TRA_LEVEL_SPARSE) {
            at = tra_malloc((size_t)(m + 1) * 8);
            s = tra_dataset_read_ints(r, &x->c[x->form.indices[0]], from, m, at, e);
        }
        for (int64_t i = 0; i < m && s == TRA_OK; i++) {
            int64_t row = at ? at[i] : i;
            if (row >= 0 && row < n - first) *out += (double)how[first + row] * (double)(end[i + 1] - end[i]);
        }
        free(end);
        free(at);
    }
    return s;
}

tra_status tra_rel_meeting_pairs(tra_rel *a, tra_rel *b, double *out, tra_err *e) {
    int64_t n = a->cat.bound.n == 2 ? a->cat.bound.v[1] : 0;
    bool cut = a->cat.frontier.n != 2 || a->cat.frontier.v[1] != 1;
    if (!a->stored || a->stored->unordered || cut || n == 0 || n > MOST_COLUMNS || a->cat.n > MOST_TUPLES ||
        b->cat.n > MOST_TUPLES || entries_of(a) > UINT32_MAX || !has_row_pointers(b))
        return tra_fail(e, TRA_NO, "%s:%s and %s:%s have no counts that say what meets", a->path, a->name, b->path,
                        b->name);
    if (a->stored->products_with != b) {
        uint32_t *all = tra_calloc((size_t)n, sizeof *all);
        double products = 0;
        tra_status s = add_columns(a, all, e);
        if (s == TRA_OK) s = weigh_rows(b, all, n, &products, e);
        free(all);
        TRA_TRY(s);
        a->stored->products_with = b;
        a->stored->products = products;
    }
    *out = a->stored->products;
    return TRA_OK;
}

/* ---- what no read needs ------------------------------------------------------------------------------------------ */

/* Checks component d of the keys as other programs see them. */
static tra_status check_keys(tra_rel *r, int d, tra_err *e) {
    char name[24];
    tra_dataset_reader v = {0};
    int64_t *have = tra_malloc((size_t)(r->cat.n + 1) * sizeof *have);
    snprintf(name, sizeof name, "indices_%d", d);
    tra_h5_enter();
    tra_status s = tra_dataset_open(r, r->dset, name, -1, &v, e);
    tra_h5_leave();
    if (s == TRA_OK && v.count != r->cat.n)
        s = TRA_REL_BAD(r, e, "its dataset %s has not an element for each of its blocks", name);
    if (s == TRA_OK) s = tra_dataset_read_ints(r, &v, 0, r->cat.n, have, e);
    for (int64_t t = 0; t < r->cat.n && s == TRA_OK; t++) {
        tra_dims key;
        tra_catalog_key(&r->cat, t, &key);
        if (have[t] != key.v[d])
            s = TRA_REL_BAD(r, e, "its dataset %s is damaged: element %" PRId64 " is not the key of the block", name,
                            t);
    }
    tra_h5_enter();
    tra_dataset_close(&v);
    tra_h5_leave();
    free(have);
    return s;
}

static tra_status check_columns(tra_rel *r, int64_t ordinal, int64_t at, int64_t n, tra_err *e) {
    const struct tra_stored *x = r->stored;
    int i = x->form.columns;
    uint32_t *v = tra_malloc((size_t)(n + 1) * sizeof *v);
    tra_status s = tra_dataset_read(r, &x->c[i], at, n, v, e);
    if (s == TRA_OK && tra_chunk_sum(v, (size_t)n * sizeof *v) != x->sums[ordinal * x->form.n + i])
        s = TRA_REL_BAD(r, e, "its counts of columns (.tra/%s/columns) are damaged", r->name);
    free(v);
    return s;
}

tra_status tra_rel_check(tra_rel *r, tra_err *e) {
    const struct tra_stored *x = r->stored;
    const struct tra_dim_labels *const *labels;
    int64_t at = 0, zero;
    if (r->table) return tra_table_check(r, e);
    TRA_TRY(tra_rel_labels(r, &labels, e));
    if (!x || x->unordered) return TRA_OK;
    for (int d = 0; d < x->form.depth; d++) TRA_TRY(check_keys(r, d, e));
    for (int i = 0; i < x->form.n; i++) {
        if (x->form.c[i].kind != TRA_POINTERS) continue;
        TRA_TRY(tra_dataset_read_ints(r, &x->c[i], 0, 1, &zero, e));
        if (zero != 0) return TRA_REL_BAD(r, e, "its dataset %s does not begin with 0", x->form.c[i].name);
    }
    for (int64_t t = 0; t < r->cat.n && x->sums; t++) {
        const int64_t *n = x->begin + (x->form.levels.n - 1) * (r->cat.n + 1) + t;
        tra_dims ext;
        tra_catalog_ext(&r->cat, t, &ext);
        int64_t width = ext.v[ext.n - 1] <= n[1] - n[0] ? ext.v[ext.n - 1] : 0;
        TRA_TRY(check_columns(r, t, at, width, e));
        at += width;
    }
    return TRA_OK;
}
