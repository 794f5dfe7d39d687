/* table_texts.c - reading strings of other programs' forms: names of columns, and entries of dictionaries. */
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for states on the stack */
#include <xxhash.h>

tra_status tra_table_read_order(tra_rel *r, const char ***names, int *n, tra_err *e) {
    if (H5Aexists(r->dset, "column-order") <= 0)
        return TRA_REL_BAD(r, e, "%s", "it is a data frame without column-order: it is damaged");
    bool ok = tra_h5_get_texts(r->dset, "column-order", r->arena, names, n);
    for (int i = 0; ok && i < *n; i++) ok = (*names)[i][0] && strlen((*names)[i]) < 2000;
    return ok ? TRA_OK : TRA_REL_BAD(r, e, "%s", "its column-order is damaged");
}

/* ---- dictionaries ---------------------------------------------------------------------------------------------- */

const tra_dictionary *tra_table_categories(tra_rel *r, hid_t dset) {
    hid_t type = H5Dget_type(dset), space = H5Dget_space(dset);
    bool strings = H5Tget_class(type) == H5T_STRING, u64 = false, ok = !strings;
    hsize_t dims = 0;
    tra_dtype t = TRA_F64;
    ok = ok && H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &dims, NULL) >= 0 &&
         tra_h5_dtype(type, &t, &u64) && !u64 && dims <= 1 << 24;
    H5Tclose(type);
    H5Sclose(space);
    if (strings) return tra_h5_strings(r, dset);
    int64_t *v = ok ? tra_calloc((size_t)dims + 1, sizeof *v) : NULL;
    double *x = (double *)v;
    bool real = tra_dtype_is_float(t);
    uint8_t *truth = (uint8_t *)v;
    ok = v && (dims == 0 || H5Dread(dset,
                                    tra_h5_type(real            ? TRA_F64
                                                : t == TRA_BOOL ? TRA_BOOL
                                                                : TRA_I64),
                                    H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0);
    tra_dictionary *d = NULL;
    tra_str text = {0};
    if (ok) {
        int64_t *begin = tra_news(r->arena, int64_t, (int64_t)dims + 1);
        for (int64_t i = 0; i < (int64_t)dims; i++) {
            char buf[32];
            if (real)
                tra_str_add(&text, tra_exactly(x[i], buf));
            else if (t == TRA_BOOL)
                tra_str_add(&text, truth[i] ? "true" : "false");
            else
                tra_str_printf(&text, "%" PRId64, v[i]);
            begin[i + 1] = (int64_t)text.n;
        }
        d = tra_new(r->arena, tra_dictionary);
        *d = (tra_dictionary){
            .n = (int64_t)dims, .begin = begin, .bytes = tra_arena_strndup(r->arena, tra_str_get(&text), text.n)};
    }
    tra_str_free(&text);
    free(v);
    return d;
}

/* ---- of tables that tra wrote ----------------------------------------------------------------------------------- */

static bool has_strings(const tra_dictionary *d) { return d->begin || d->file; }

static tra_status damaged(tra_rel *r, tra_err *e) {
    if (r->lack) return *e = *r->lack, r->lack->status;
    return TRA_REL_BAD(r, e, "its dictionaries (.tra/%s/strings) are missing or damaged", r->name);
}

/* Reads where the strings of a dictionary end, which ascends and is no more than `all`. */
static tra_status check_ends(tra_rel *r, const tra_spooled *f, int64_t all, int64_t *longest, uint64_t *sum,
                             tra_err *e) {
    enum { PIECE = 8192 };
    int64_t end[PIECE], before = f->first;
    XXH64_state_t of;
    XXH64_reset(&of, 0);
    for (int64_t i = 0, n; i < f->n; i += n) {
        n = tra_min64(PIECE, f->n - i);
        TRA_TRY(tra_spooled_ends(f, 8 * i, end, 8 * n, e));
        XXH64_update(&of, end, (size_t)n * 8);
        for (int64_t k = 0; k < n; before = end[k++]) {
            if (end[k] < before || end[k] > all) return damaged(r, e);
            *longest = tra_max64(*longest, end[k] - before);
        }
    }
    *sum = XXH64_digest(&of);
    return TRA_OK;
}

/* Reads the strings once, for the mark of the dictionary and the sum of their bytes. */
static tra_status mark(tra_dictionary *d, uint64_t *sum, tra_err *e) {
    tra_strings s;
    tra_marking *m = tra_marking_new();
    tra_strings_begin(&s, d);
    tra_status status = tra_strings_more(&s, e);
    for (; status == TRA_OK && s.n > 0; status = tra_strings_more(&s, e)) tra_marking_add(m, s.n, s.begin, s.bytes);
    tra_strings_end(&s);
    tra_marking_end(m, d->mark, sum);
    return status;
}

/* Finds a dictionary among all strings, from number `at` of these on, and reads it if it is small, or texts, which are
 * compared, or if all of them are in memory. sum: NULL, or what its strings have. */
static tra_status find_dictionary(tra_rel *r, const tra_column *c, const tra_spooled *all, int64_t at,
                                  const int64_t *sum, tra_err *e) {
    enum { FEW = 256 << 10 };
    tra_dictionary *d = (tra_dictionary *)c->dict;
    tra_spooled *f = tra_new(r->arena, tra_spooled);
    int64_t last = 0;
    uint64_t ends, bytes;
    *f = *all;
    f->n = d->n;
    f->ends_at += 8 * at;
    if (at > 0) TRA_TRY(tra_spooled_ends(f, -8, &f->first, 8, e));
    TRA_TRY(tra_spooled_ends(f, 8 * (d->n - 1), &last, 8, e));
    if (f->first < 0) return damaged(r, e);
    TRA_TRY(check_ends(r, f, all->bytes, &d->longest, &ends, e));
    d->bytes_most = f->bytes = last - f->first;
    d->file = f;
    d->arena = r->arena;
    d->sorted = c->type == TRA_COL_STRING;
    TRA_TRY(mark(d, &bytes, e));
    if (sum && tra_strings_sum(ends, bytes) != (uint64_t)*sum) return damaged(r, e);
    if (d->sorted && !f->held[0] && f->bytes + 8 * d->n >= FEW) return TRA_OK;
    TRA_TRY(tra_dictionary_read(d, e));
    if (d->sorted || f->held[0]) d->file = NULL, d->mark[0] = d->mark[1] = 0;
    return TRA_OK;
}

/* Where the strings of all dictionaries are, *n of them, in the file; where HDF5 alone can read them, in memory (free
 * them). check: for their seals. */
static tra_status find_all(tra_rel *r, bool check, tra_spooled *all, int64_t *n, tra_err *e) {
    int64_t words = 0;
    *all = (tra_spooled){.fd = r->vfd->fd, .where = r->path};
    bool found = tra_sealed_place(r, "string_ends", check, n, &all->ends_at) &&
                 tra_sealed_place(r, "strings", check, &words, &all->bytes_at);
    if (!found) {
        all->ends_at = all->bytes_at = 0;
        all->held[0] = (char *)tra_sealed_numbers(r, "string_ends", n);
        all->held[1] = (char *)tra_sealed_numbers(r, "strings", &words);
    }
    all->bytes = words * 8;
    return found || (all->held[0] && all->held[1]) ? TRA_OK : damaged(r, e);
}

/* Finds the strings of these columns of a table that tra wrote. */
static tra_status find_dictionaries(tra_rel *r, const bool *of, tra_err *e) {
    const tra_schema *s = &r->table->schema;
    int64_t n = 0, at = 0, which = 0, nsums = 0, *sums = tra_sealed_numbers(r, "string_sums", &nsums);
    tra_spooled all;
    for (int c = 0; c < s->n; c++) at += s->v[c].dict ? s->v[c].dict->n : 0, which += s->v[c].dict != NULL;
    if (nsums != which) free(sums), sums = NULL;
    tra_status status = find_all(r, !sums, &all, &n, e);
    if (status == TRA_OK && at != n) status = damaged(r, e);
    at = which = 0;
    for (int c = 0; c < s->n && status == TRA_OK; c++) {
        const tra_dictionary *d = s->v[c].dict;
        if (!d) continue;
        if (d->n > 0 && (!of || of[c]) && !has_strings(d))
            status = find_dictionary(r, &s->v[c], &all, at, sums ? &sums[which] : NULL, e);
        if (d->n == 0 && !d->begin) *(tra_dictionary *)d = *tra_dictionary_new(r->arena, 0, NULL, NULL);
        at += d->n;
        which++;
    }
    free(sums);
    for (int i = 0; i < 2; i++) free((void *)(uintptr_t)all.held[i]);
    return status;
}

int64_t tra_rel_strings_bytes(const tra_rel *r) {
    const struct tra_table *t = r->table;
    int64_t n = 0;
    for (int c = 0; t && !t->foreign && c < t->schema.n; c++) {
        const tra_dictionary *d = t->schema.v[c].dict;
        /* of those that were read whole 8 of the 16 bytes for each string are freed then */
        if (d && d->begin) n += d->begin[d->n] + (d->file ? 8 : 16) * d->n;
    }
    return n;
}

static bool lacks_strings(const tra_rel *r, const bool *of) {
    const struct tra_table *t = r->table;
    bool any = false;
    for (int c = 0; t && !t->foreign && c < t->schema.n; c++)
        any |= t->schema.v[c].dict && !has_strings(t->schema.v[c].dict) && (!of || of[c]);
    return any;
}

tra_status tra_rel_find_strings(tra_rel *r, const bool *of, tra_err *e) {
    if (!lacks_strings(r, of)) return TRA_OK;
    tra_h5_enter();
    tra_status s = find_dictionaries(r, of, e);
    tra_h5_leave();
    return s;
}

tra_status tra_rel_read_strings(tra_rel *r, tra_err *e) {
    TRA_TRY(tra_rel_find_strings(r, NULL, e));
    for (int c = 0; r->table && !r->table->foreign && c < r->table->schema.n; c++)
        TRA_TRY(tra_dictionary_read(r->table->schema.v[c].dict, e));
    return TRA_OK;
}

void tra_rel_leave_strings(tra_rel *r) {
    const struct tra_table *t = r->table;
    for (int c = 0; t && !t->foreign && c < t->schema.n; c++) {
        tra_dictionary *d = (tra_dictionary *)t->schema.v[c].dict;
        if (!d || !d->begin || !d->file || !d->arena) continue;
        tra_arena_drop(d->arena, d->begin);
        tra_arena_drop(d->arena, d->bytes);
        d->begin = NULL;
        d->bytes = NULL;
    }
}
