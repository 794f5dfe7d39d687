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

/* The strings of all columns of a table, or (`all` NULL) sums of those of each column, which can be read by itself. */
typedef struct texts {
    int64_t *ends, n, *text, words;
    int64_t *sums; /* for each column that has a dictionary: of its ends, and its bytes */
} texts;

static bool read_texts(tra_rel *r, int dictionaries, texts *t) {
    int64_t n;
    *t = (texts){.sums = tra_sealed_numbers(r, "string_sums", &n)};
    if (t->sums && n == dictionaries) return true;
    free(t->sums);
    t->sums = NULL;
    t->ends = tra_sealed_numbers(r, "string_ends", &t->n);
    t->text = r->table->strings = tra_sealed_numbers(r, "strings", &t->words);
    return t->ends && t->text;
}

/* The ends of n strings from number `at` on, after that of the one before (0: there is none); room: NULL, or what is to
 * be freed. NULL: they cannot be read. */
static const int64_t *ends_of(tra_rel *r, const texts *t, int64_t at, int64_t n, int64_t **room) {
    bool first = at == 0;
    if (!t->sums && !first) return n <= t->n - at ? t->ends + at - 1 : NULL;
    if (!tra_h5_fits(r, tra_mul_most(n + 1, 8))) return NULL;
    int64_t *e = *room = tra_calloc((size_t)n + 1, sizeof *e);
    if (t->sums) return tra_some_numbers(r, "string_ends", at - !first, n + !first, e + first) ? e : NULL;
    if (n <= t->n) memcpy(e + 1, t->ends, (size_t)n * sizeof *e);
    return n <= t->n ? e : NULL;
}

/* The bytes from .. to - 1 of all strings; NULL: they cannot be read. */
static const char *bytes_of(tra_rel *r, const texts *t, int64_t from, int64_t to) {
    int64_t first = from / 8, n = tra_ceil_div(to, 8) - first;
    if (!t->sums) return to <= t->words * 8 ? (const char *)t->text + from : NULL;
    if (!tra_h5_fits(r, tra_mul_most(n, 8))) return NULL;
    int64_t *own = tra_arena_array(r->arena, (size_t)n + 1, sizeof *own);
    return tra_some_numbers(r, "strings", first, n, own) ? (const char *)own + from % 8 : NULL;
}

static bool is_sum(const texts *t, int which, const int64_t *ends, int64_t n, const char *bytes, int64_t length) {
    return !t->sums ||
           tra_strings_sum(XXH64(ends, (size_t)n * 8, 0), XXH64(bytes, (size_t)length, 0)) == (uint64_t)t->sums[which];
}

/* Reads a dictionary, which is number `which` of the table, and whose strings are numbers at, at + 1, ... of all. */
static bool read_dictionary(tra_rel *r, const texts *t, const tra_column *c, int which, int64_t at) {
    tra_dictionary *d = (tra_dictionary *)c->dict;
    int64_t *room = NULL, *begin = tra_news(r->arena, int64_t, d->n + 1), longest = 0, n = d->n;
    const int64_t *ends = ends_of(r, t, at, n, &room);
    bool ok = ends != NULL;
    for (int64_t i = 0; i < n && ok; i++) {
        begin[i + 1] = ends[i + 1] - ends[0];
        longest = tra_max64(longest, begin[i + 1] - begin[i]);
        ok = begin[i + 1] >= begin[i];
    }
    ok = ok && ends[0] >= 0;
    const char *bytes = ok ? bytes_of(r, t, ends[0], ends[n]) : NULL;
    ok = bytes && is_sum(t, which, ends + 1, n, bytes, begin[n]);
    free(room);
    if (!ok) return false;
    *d = (tra_dictionary){
        .n = n, .begin = begin, .bytes = bytes, .sorted = c->type == TRA_COL_STRING, .longest = longest};
    return true;
}

static bool has_strings(const tra_dictionary *d) { return d->begin || d->file; }

/* Reads the strings of these columns of a table that tra wrote into their dictionaries. */
static tra_status own_dictionaries(tra_rel *r, const bool *of, tra_err *e) {
    const tra_schema *s = &r->table->schema;
    int64_t at = 0;
    int which = 0;
    texts t;
    for (int c = 0; c < s->n; c++) which += s->v[c].dict != NULL;
    bool ok = read_texts(r, which, &t);
    which = 0;
    for (int c = 0; c < s->n && ok; c++) {
        const tra_dictionary *d = s->v[c].dict;
        if (!d) continue;
        if ((!of || of[c] || !t.sums) && !has_strings(d)) ok = read_dictionary(r, &t, &s->v[c], which, at);
        which++;
        at += d->n;
    }
    ok = ok && (t.sums || at == t.n);
    free(t.ends);
    free(t.sums);
    if (r->lack) return *e = *r->lack, r->lack->status;
    return ok ? TRA_OK : TRA_REL_BAD(r, e, "its dictionaries (.tra/%s/strings) are missing or damaged", r->name);
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
        TRA_TRY(tra_pread(f->fd, end, (size_t)n * 8, f->ends_at + 8 * i, f->where, e));
        XXH64_update(&of, end, (size_t)n * 8);
        for (int64_t k = 0; k < n; before = end[k++]) {
            if (end[k] < before || end[k] > all)
                return TRA_REL_BAD(r, e, "its dictionaries (.tra/%s/strings) are missing or damaged", r->name);
            *longest = tra_max64(*longest, end[k] - before);
        }
    }
    *sum = XXH64_digest(&of);
    return TRA_OK;
}

/* Reads the strings once, for the mark of the dictionary and the sum of their bytes. */
static tra_status mark(tra_dictionary *d, uint64_t *sum, tra_err *e) {
    tra_strings s;
    XXH64_state_t of;
    XXH64_reset(&of, 0);
    tra_strings_begin(&s, d);
    tra_status status = tra_strings_more(&s, e);
    for (int64_t len; status == TRA_OK && s.n > 0; status = tra_strings_more(&s, e)) {
        XXH64_update(&of, s.bytes, (size_t)(s.begin[s.n] - s.begin[0]));
        for (int64_t k = 0; k < s.n; k++) {
            const char *text = tra_strings_at(&s, k, &len);
            tra_mark_add(d->mark, text, len);
        }
    }
    tra_strings_end(&s);
    *sum = XXH64_digest(&of);
    return status;
}

/* The dictionary is in the file, from string number `at` of all on; unless it is small, and may be read. sum: NULL, or
 * what its strings have. */
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
    if (at > 0) TRA_TRY(tra_pread(f->fd, &f->first, 8, f->ends_at - 8, f->where, e));
    TRA_TRY(tra_pread(f->fd, &last, 8, f->ends_at + 8 * (d->n - 1), f->where, e));
    f->bytes = last - f->first;
    if (sum && f->bytes + 8 * d->n < FEW) return TRA_OK;
    TRA_TRY(check_ends(r, f, all->bytes, &d->longest, &ends, e));
    d->bytes_most = f->bytes;
    d->file = f;
    d->arena = r->arena;
    d->sorted = c->type == TRA_COL_STRING;
    TRA_TRY(mark(d, &bytes, e));
    if (sum && tra_strings_sum(ends, bytes) != (uint64_t)*sum)
        return TRA_REL_BAD(r, e, "its dictionaries (.tra/%s/strings) are missing or damaged", r->name);
    return d->sorted ? TRA_OK : tra_dictionary_read(d, e); /* texts are compared */
}

/* Finds where the strings of these columns are in the file, but those that are few, or that HDF5 alone can read. */
static tra_status find_dictionaries(tra_rel *r, const bool *of, tra_err *e) {
    enum { FEW = 32 << 10 };
    const tra_schema *s = &r->table->schema;
    int64_t n = 0, words = 0, at = 0, which = 0, nsums = 0, *sums = tra_sealed_numbers(r, "string_sums", &nsums);
    tra_spooled all = {.fd = r->vfd->fd, .where = r->path};
    tra_status status = TRA_OK;
    for (int c = 0; c < s->n; c++) at += s->v[c].dict ? s->v[c].dict->n : 0, which += s->v[c].dict != NULL;
    if (nsums != which) free(sums), sums = NULL;
    bool found = tra_sealed_place(r, "string_ends", !sums, &n, &all.ends_at) &&
                 tra_sealed_place(r, "strings", !sums, &words, &all.bytes_at) && at == n && n + words >= FEW;
    all.bytes = words * 8;
    at = which = 0;
    for (int c = 0; c < s->n && found && status == TRA_OK; c++) {
        const tra_dictionary *d = s->v[c].dict;
        if (!d) continue;
        if (d->n > 0 && (!of || of[c]) && !has_strings(d))
            status = find_dictionary(r, &s->v[c], &all, at, sums ? &sums[which] : NULL, e);
        if (d->n == 0 && !d->begin) *(tra_dictionary *)d = *tra_dictionary_new(r->arena, 0, NULL, NULL);
        at += d->n;
        which++;
    }
    free(sums);
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
    if (s == TRA_OK && lacks_strings(r, of)) s = own_dictionaries(r, of, e);
    tra_h5_leave();
    return s;
}

tra_status tra_rel_read_strings(tra_rel *r, const bool *of, tra_err *e) {
    TRA_TRY(tra_rel_find_strings(r, of, e));
    for (int c = 0; r->table && !r->table->foreign && c < r->table->schema.n; c++)
        if (!of || of[c]) TRA_TRY(tra_dictionary_read(r->table->schema.v[c].dict, e));
    return TRA_OK;
}
