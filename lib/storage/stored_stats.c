/* stored_stats.c - statistics of relations stored by levels; and checks of what only other programs read. */
#include "stored_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- spreads ----------------------------------------------------------------------------------------------------- */

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
    if (x->is_transposed) out->rows = out->level[f->levels.n - 1];
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
    enum { MOST_COUNTED = 1 << 25 }; /* entries of all tuples, as in stored_lines.c */
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

/* Adds to out[c] the counts that the file keeps of a tuple, n of them from this one on. TRA_NO: they are damaged, which
 * is said. No run reads them, but what is planned by them must be true. */
static tra_status add_kept(const tra_rel *r, int64_t ordinal, int64_t from, int64_t n, uint32_t *out) {
    const struct tra_stored *x = r->stored;
    const int component = x->form.columns;
    uint32_t *v = tra_malloc(PIECE * sizeof *v);
    tra_err e = {0};
    tra_status s = TRA_OK;
    XXH64_state_t sum;
    XXH64_reset(&sum, 0);
    for (int64_t i = 0, m; i < n && s == TRA_OK; i += m) {
        m = tra_min64(PIECE, n - i);
        s = tra_dataset_read(r, &x->c[component], from + i, m, v, &e);
        if (s == TRA_OK) XXH64_update(&sum, v, (size_t)m * sizeof *v);
        for (int64_t k = 0; k < m && s == TRA_OK; k++) out[i + k] += v[k];
    }
    free(v);
    bool whole =
        s == TRA_OK && (!x->sums || tra_chunk_sum_end(XXH64_digest(&sum)) == x->sums[ordinal * x->form.n + component]);
    if (!whole && !x->distrusted)
        tra_warn("%s:%s: its counts of columns (.tra/%s/columns) are damaged: plans are made without them", r->path,
                 r->name, r->name);
    r->stored->distrusted |= !whole;
    return whole ? TRA_OK : TRA_NO;
}

/* Adds to out[c] the entries of column c of a tuple. The file keeps them for tuples with at least as many entries as
 * columns; for others they are counted. */
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
    return kept ? add_kept(r, ordinal, at, width, out) : count_columns(r, ordinal, width, out, e);
}

/* Planning counts rows or columns in 4 bytes for each, at most 8 MiB, and reads what it counts them by in pieces: less
 * than what a run takes besides its blocks, so that a low ceiling holds. */
enum { MOST_LINES = 1 << 21, MOST_TUPLES = 64 };

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

/* Is it a matrix whose first level has the rows and whose entries are found by pointers below them? */
static bool has_row_pointers(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    if (!x || x->unordered || x->mirror || x->mapping || x->form.packed || r->cat.frontier.n != 2) return false;
    const tra_levels *l = &x->form.levels;
    return l->n == 2 && l->order[0] == 0 && l->kind[0] != TRA_LEVEL_SINGLETON && l->kind[1] == TRA_LEVEL_SPARSE;
}

/* What is done with the entries of rows: counted in all[row], or *weighed grows by all[row] times the entries of row.
 */
typedef struct rows_use {
    uint32_t *all;
    int64_t n; /* rows of the tensor */
    double *weighed;
} rows_use;

/* Of m rows of a tuple, from position `from` of its first level on. end: where entries begin, m + 1 of them; at: their
 * numbers, of which the first is first; NULL: all in order. */
static void use_rows(const rows_use *u, const int64_t *end, const int64_t *at, int64_t first, int64_t m) {
    for (int64_t i = 0; i < m; i++) {
        int64_t row = (int64_t)((uint64_t)first + (uint64_t)(at ? at[i] : i)); /* those of a damaged file may be any */
        if (row < 0 || row >= u->n || end[i] < 0 || end[i + 1] < end[i]) continue;
        int64_t has = end[i + 1] - end[i];
        if (u->weighed)
            *u->weighed += (double)u->all[row] * (double)has;
        else
            u->all[row] += (uint32_t)has;
    }
}

static tra_status add_rows_of(tra_rel *r, int64_t ordinal, const rows_use *u, int64_t *end, int64_t *at, tra_err *e) {
    const struct tra_stored *x = r->stored;
    bool listed = x->form.levels.kind[0] == TRA_LEVEL_SPARSE;
    tra_dims key;
    tra_catalog_key(&r->cat, ordinal, &key);
    int64_t first = key.v[0] * r->cat.bound.v[0], begin = x->begin[ordinal];
    for (int64_t from = begin, m; from < x->begin[ordinal + 1]; from += m) {
        m = tra_min64(PIECE, x->begin[ordinal + 1] - from);
        TRA_TRY(tra_dataset_read_ints(r, &x->c[x->form.pointers[1]], from, m + 1, end, e));
        if (listed) TRA_TRY(tra_dataset_read_ints(r, &x->c[x->form.indices[0]], from, m, at, e));
        use_rows(u, end, listed ? at : NULL, listed ? first : first + from - begin, m);
    }
    return TRA_OK;
}

static tra_status add_rows(tra_rel *r, const rows_use *u, tra_err *e) {
    int64_t *end = tra_malloc((2 * PIECE + 1) * sizeof *end), *at = end + PIECE + 1;
    tra_status s = TRA_OK;
    for (int64_t t = 0; t < r->cat.n && s == TRA_OK; t++) s = add_rows_of(r, t, u, end, at, e);
    free(end);
    return s;
}

/* How many lines dimension d has, whose entries can be counted: rows of a matrix, or columns (the last dimension). -1:
 * they cannot, or there are too many. */
static int64_t countable(const tra_rel *r, int d) {
    int last = r->cat.bound.n - 1;
    if (!r->stored || r->stored->unordered || r->stored->is_transposed || last < 0 || r->cat.n > MOST_TUPLES ||
        entries_of(r) > UINT32_MAX)
        return -1;
    if (d != last && (d != 0 || !has_row_pointers(r)) && !tra_stored_can_walk(r)) return -1;
    int64_t n = is_in_blocks(r) ? tra_mul_most(r->cat.bound.v[d], r->cat.frontier.v[d]) : r->cat.bound.v[d];
    return n <= MOST_LINES ? n : -1;
}

static tra_status add_lines(tra_rel *r, int d, uint32_t *all, int64_t n, tra_err *e) {
    tra_status s = TRA_NO;
    if (d == r->cat.bound.n - 1)
        s = add_columns(r, all, e);
    else if (has_row_pointers(r))
        s = add_rows(r, &(rows_use){.all = all, .n = n}, e);
    if (s != TRA_NO) return s;
    memset(all, 0, (size_t)n * sizeof *all);
    return tra_stored_count_lines(r, d, all, n, e);
}

enum { LOGS_AND_MOST = 2 * TRA_LOGS + 1 };

static tra_status find_logs(tra_rel *r, int d, uint32_t *all, int64_t n, double **out, tra_err *e) {
    TRA_TRY(add_lines(r, d, all, n, e));
    double *logs = tra_news(r->arena, double, LOGS_AND_MOST);
    for (int64_t c = 0; c < n; c++) {
        int i = 0;
        logs[2 * TRA_LOGS] = fmax(logs[2 * TRA_LOGS], (double)all[c]);
        while (i + 1 < TRA_LOGS && (int64_t)all[c] >> (i + 1)) i++;
        if (all[c] == 0) continue;
        logs[i]++;
        logs[TRA_LOGS + i] += (double)all[c];
    }
    *out = logs;
    return TRA_OK;
}

/* What is kept of dimension d: lines and entries by logarithms, and the most that one line has. */
static tra_status logs_of(tra_rel *r, int d, const double **out, tra_err *e) {
    int64_t n = countable(r, d);
    if (n <= 0) return tra_fail(e, TRA_NO, "%s:%s has no counts of dimension %d, or too many", r->path, r->name, d);
    double **logs = &r->stored->logs[d == r->cat.bound.n - 1];
    if (!*logs) {
        uint32_t *all = tra_calloc((size_t)n, sizeof *all);
        tra_status s = find_logs(r, d, all, n, logs, e);
        free(all);
        TRA_TRY(s);
    }
    *out = *logs;
    return TRA_OK;
}

tra_status tra_rel_line_histogram(tra_rel *r, int d, double lines[TRA_LOGS], double entries[TRA_LOGS], tra_err *e) {
    const double *logs;
    TRA_TRY(logs_of(r, d, &logs, e));
    memcpy(lines, logs, TRA_LOGS * sizeof *lines);
    memcpy(entries, logs + TRA_LOGS, TRA_LOGS * sizeof *entries);
    return TRA_OK;
}

tra_status tra_rel_fullest_line(tra_rel *r, int d, int64_t *most, tra_err *e) {
    const double *logs;
    const struct tra_stored *x = r->stored;
    const tra_dims *f = &r->cat.frontier;
    if (x && !x->is_transposed && x->fullest > 0 && d == 0 && r->cat.bound.n == 2 && f->n == 2 && f->v[1] == 1)
        return *most = x->fullest, TRA_OK;
    TRA_TRY(logs_of(r, d, &logs, e));
    return *most = (int64_t)logs[2 * TRA_LOGS], TRA_OK;
}

/* The pairs, where the lines of a are counted in all[n], which are zeros, and those of b in more[n], or as they come.
 */
static tra_status count_pairs(tra_rel *a, int da, tra_rel *b, int db, uint32_t *all, uint32_t *more, int64_t n,
                              double *out, tra_err *e) {
    *out = 0;
    TRA_TRY(add_lines(a, da, all, n, e));
    if (!more) return add_rows(b, &(rows_use){all, n, out}, e);
    TRA_TRY(add_lines(b, db, more, n, e));
    for (int64_t i = 0; i < n; i++) *out += (double)all[i] * (double)more[i];
    return TRA_OK;
}

tra_status tra_rel_meeting_pairs(tra_rel *a, int da, tra_rel *b, int db, double *out, tra_err *e) {
    if (da == 0 && db == 1) return tra_rel_meeting_pairs(b, db, a, da, out, e); /* rows are weighed as they come */
    bool matrices = a->cat.bound.n == 2 && b->cat.bound.n == 2 && is_in_blocks(a) && is_in_blocks(b);
    int64_t na = matrices ? countable(a, da) : -1, nb = matrices ? countable(b, db) : -1, n = tra_max64(na, nb);
    bool both = db == 1 || !has_row_pointers(b); /* counts of both are kept at once */
    if (na <= 0 || nb <= 0 || (both && 2 * n > MOST_LINES))
        return tra_fail(e, TRA_NO, "%s:%s and %s:%s have no counts that say what meets", a->path, a->name, b->path,
                        b->name);
    struct tra_stored *x = a->stored;
    if (x->pairs.with != b || x->pairs.dims != 2 * da + db) {
        double pairs;
        uint32_t *all = tra_calloc((size_t)n, (both ? 2 : 1) * sizeof *all);
        tra_status s = count_pairs(a, da, b, db, all, both ? all + n : NULL, n, &pairs, e);
        free(all);
        TRA_TRY(s);
        x->pairs.with = b, x->pairs.dims = 2 * da + db, x->pairs.n = pairs;
    }
    *out = x->pairs.n;
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

tra_status tra_stored_check(tra_rel *r, tra_err *e) {
    const struct tra_stored *x = r->stored;
    int64_t at = 0, zero;
    if (x->unordered) return TRA_OK;
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
