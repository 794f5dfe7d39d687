/* table_texts.c - reading strings of other programs' forms: names of columns, and entries of dictionaries. */
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>

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

/* Reads the strings of a table that tra wrote into its dictionaries. */
static tra_status own_dictionaries(tra_rel *r, tra_err *e) {
    int64_t n = 0, words = 0, at = 0;
    const tra_column *columns = r->table->schema.v;
    int64_t *ends = tra_sealed_numbers(r, "string_ends", &n), *text = tra_sealed_numbers(r, "strings", &words);
    bool ok = ends && text;
    const char *bytes = (const char *)text;
    r->table->strings = text;
    for (int c = 0; c < r->table->schema.n && ok; c++) {
        tra_dictionary *d = (tra_dictionary *)columns[c].dict;
        if (!d) continue;
        int64_t base = at > 0 ? ends[at - 1] : 0;
        if (!(ok = d->n <= n - at)) break;
        int64_t *begin = tra_news(r->arena, int64_t, d->n + 1), longest = 0;
        for (int64_t i = 0; i < d->n && ok; i++) {
            begin[i + 1] = ends[at + i] - base;
            longest = tra_max64(longest, begin[i + 1] - begin[i]);
            ok = begin[i + 1] >= begin[i] && ends[at + i] <= words * 8;
        }
        at += d->n;
        *d = (tra_dictionary){.n = d->n,
                              .begin = begin,
                              .bytes = bytes + base,
                              .sorted = columns[c].type == TRA_COL_STRING,
                              .longest = longest};
        /* 8 of the 16 bytes for each string are freed when the table has been opened */
        r->table->held += begin[d->n] + 16 * d->n;
    }
    free(ends);
    if (r->lack) return *e = *r->lack, r->lack->status;
    return ok && at == n ? TRA_OK
                         : TRA_REL_BAD(r, e, "its dictionaries (.tra/%s/strings) are missing or damaged", r->name);
}

int64_t tra_rel_strings_bytes(const tra_rel *r) {
    const struct tra_table *t = r->table;
    int64_t n = 0;
    for (int c = 0; t && t->strings && c < t->schema.n; c++) {
        const tra_dictionary *d = t->schema.v[c].dict;
        if (d) n += d->begin[d->n] + 16 * d->n;
    }
    return n;
}

tra_status tra_rel_read_strings(tra_rel *r, tra_err *e) {
    struct tra_table *t = r->table;
    if (!t || t->foreign || t->strings) return TRA_OK;
    tra_h5_enter();
    tra_status s = own_dictionaries(r, e);
    tra_h5_leave();
    return s;
}
