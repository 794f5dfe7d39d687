/* table_texts.c - reading strings of other programs' forms: names of columns, and entries of dictionaries. */
#include "table_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- texts ----------------------------------------------------------------------------------------------------- */

/* The type of strings in an attribute or dataset: of variable length, or all of one size. */
typedef struct texts {
    hid_t type, memory; /* memory: HDF5's type in memory */
    bool variable;
    size_t size;
} texts;

static bool texts_of(hid_t type, texts *t) {
    *t = (texts){.type = type, .memory = -1};
    if (H5Tget_class(type) != H5T_STRING) return false;
    t->variable = H5Tis_variable_str(type) > 0;
    t->size = t->variable ? sizeof(char *) : H5Tget_size(type);
    t->memory = H5Tcopy(type);
    return t->size > 0 && t->size <= 1 << 20;
}

static const char *text_at(const texts *t, const char *buf, int64_t i, size_t *len) {
    if (t->variable) {
        const char *s = ((char *const *)(const void *)buf)[i];
        *len = s ? strlen(s) : 0;
        return s ? s : "";
    }
    const char *s = buf + (size_t)i * t->size;
    *len = strnlen(s, t->size);
    return s;
}

tra_status tra_table_read_order(tra_rel *r, const char ***names, int *n, tra_err *e) {
    hid_t attr = H5Aopen(r->dset, "column-order", H5P_DEFAULT);
    if (attr < 0) return TRA_REL_BAD(r, e, "%s", "it is a data frame without column-order: it is damaged");
    hid_t space = H5Aget_space(attr), type = H5Aget_type(attr);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    texts t;
    bool ok = count >= 0 && count <= 1 << 24 && (count == 0 || texts_of(type, &t)), read = false;
    char *buf = ok && count > 0 ? tra_calloc((size_t)count, t.size) : NULL;
    if (buf) ok = read = H5Aread(attr, t.memory, buf) >= 0;
    *names = tra_news(r->arena, const char *, count + 1);
    *n = ok ? (int)count : 0;
    for (int i = 0; i < *n && ok; i++) {
        size_t len;
        const char *s = text_at(&t, buf, i, &len);
        (*names)[i] = tra_arena_strndup(r->arena, s, len);
        ok = len > 0 && len < 2000;
    }
    if (read) H5Dvlen_reclaim(t.memory, space, H5P_DEFAULT, buf);
    if (buf) H5Tclose(t.memory);
    free(buf);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return ok ? TRA_OK : TRA_REL_BAD(r, e, "%s", "its column-order is damaged");
}

/* ---- dictionaries ---------------------------------------------------------------------------------------------- */

typedef struct growing {
    int64_t n, cap, *begin, room;
    char *bytes;
} growing;

static bool take_text(growing *g, const char *s, size_t len) {
    int64_t at = g->begin[g->n], end = at + (int64_t)len;
    if (end > g->room) {
        g->room = tra_max64(end, 2 * g->room + 1024);
        char *more = realloc(g->bytes, (size_t)g->room);
        if (!more) return false;
        g->bytes = more;
    }
    if (len > 0) memcpy(g->bytes + at, s, len); /* without bytes there may be no room yet */
    g->begin[++g->n] = end;
    return true;
}

const tra_dictionary *tra_table_strings(tra_rel *r, hid_t dset) {
    enum { AT_ONCE = 8192 };
    hid_t type = H5Dget_type(dset), space = H5Dget_space(dset);
    hsize_t dims = 0;
    texts t;
    bool ok = H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &dims, NULL) >= 0 &&
              dims < INT32_MAX && texts_of(type, &t);
    growing g = {.cap = (int64_t)dims};
    if (ok) ok = (g.begin = calloc((size_t)dims + 1, sizeof *g.begin)) != NULL;
    char *buf = ok ? tra_calloc(AT_ONCE, t.size) : NULL;
    for (int64_t i = 0; ok && i < (int64_t)dims; i += AT_ONCE) {
        hsize_t from = (hsize_t)i, n = (hsize_t)tra_min64(AT_ONCE, (int64_t)dims - i);
        hid_t memory = H5Screate_simple(1, &n, NULL);
        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &n, NULL) >= 0 &&
             H5Dread(dset, t.memory, memory, space, H5P_DEFAULT, buf) >= 0;
        for (int64_t k = 0; k < (int64_t)n && ok; k++) {
            size_t len;
            const char *s = text_at(&t, buf, k, &len);
            ok = take_text(&g, s, len);
        }
        if (t.variable) H5Dvlen_reclaim(t.memory, memory, H5P_DEFAULT, buf);
        H5Sclose(memory);
    }
    free(buf);
    tra_dictionary *d = NULL;
    if (ok) {
        d = tra_new(r->arena, tra_dictionary);
        int64_t *begin = tra_news(r->arena, int64_t, g.n + 1);
        char *bytes = tra_arena_alloc(r->arena, (size_t)g.begin[g.n] + 8);
        memcpy(begin, g.begin, (size_t)(g.n + 1) * sizeof *begin);
        if (g.begin[g.n]) memcpy(bytes, g.bytes, (size_t)g.begin[g.n]);
        *d = (tra_dictionary){.n = g.n, .begin = begin, .bytes = bytes, .sorted = true};
        for (int64_t i = 1; i < d->n && d->sorted; i++)
            d->sorted = tra_bytes_cmp(bytes + begin[i - 1], begin[i] - begin[i - 1], bytes + begin[i],
                                      begin[i + 1] - begin[i]) < 0;
    }
    free(g.begin);
    free(g.bytes);
    if (H5Tget_class(type) == H5T_STRING && dims < INT32_MAX && ok) H5Tclose(t.memory);
    H5Sclose(space);
    H5Tclose(type);
    return d;
}

int32_t *tra_table_encode(tra_rel *r, const tra_dictionary *rows, const uint8_t *null, tra_dictionary **out) {
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)rows->n) slots *= 2;
    int32_t *slot = tra_malloc(slots * sizeof *slot),
            *code = tra_arena_array(r->arena, (size_t)rows->n + 1, sizeof *code);
    int64_t *begin = tra_news(r->arena, int64_t, rows->n + 1), n = 0;
    char *bytes = tra_arena_alloc(r->arena, (size_t)rows->begin[rows->n] + 8);
    memset(slot, 0xff, slots * sizeof *slot);
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t len;
        const char *s = tra_dictionary_at(rows, i, &len);
        uint64_t at = XXH64(s, (size_t)len, 0) & (slots - 1);
        code[i] = -1;
        if (null && null[i]) continue;
        while (slot[at] >= 0 &&
               (begin[slot[at] + 1] - begin[slot[at]] != len || memcmp(bytes + begin[slot[at]], s, (size_t)len) != 0))
            at = (at + 1) & (slots - 1);
        if (slot[at] < 0) {
            slot[at] = (int32_t)n;
            memcpy(bytes + begin[n], s, (size_t)len);
            begin[n + 1] = begin[n] + len;
            n++;
        }
        code[i] = slot[at];
    }
    free(slot);
    *out = tra_new(r->arena, tra_dictionary);
    **out = (tra_dictionary){.n = n, .begin = begin, .bytes = bytes};
    return code;
}

const char *tra_table_twice(tra_rel *r, const tra_dictionary *d) {
    tra_dictionary *once;
    if (d->sorted) return NULL;
    const int32_t *code = tra_table_encode(r, d, NULL, &once);
    for (int64_t i = 0; i < d->n; i++) {
        int64_t len;
        const char *s = tra_dictionary_at(d, i, &len);
        if (code[i] < i) return tra_arena_strndup(r->arena, s, (size_t)len);
    }
    return NULL;
}

const tra_dictionary *tra_table_categories(tra_rel *r, hid_t dset) {
    hid_t type = H5Dget_type(dset), space = H5Dget_space(dset);
    bool strings = H5Tget_class(type) == H5T_STRING, u64 = false, ok = !strings;
    hsize_t dims = 0;
    tra_dtype t = TRA_F64;
    ok = ok && H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &dims, NULL) >= 0 &&
         tra_h5_dtype(type, &t, &u64) && !u64 && dims <= 1 << 24;
    H5Tclose(type);
    H5Sclose(space);
    if (strings) return tra_table_strings(r, dset);
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
        int64_t *begin = tra_news(r->arena, int64_t, d->n + 1);
        for (int64_t i = 0; i < d->n && ok; i++) {
            begin[i + 1] = ends[at + i] - base;
            ok = begin[i + 1] >= begin[i] && ends[at + i] <= words * 8;
        }
        at += d->n;
        *d = (tra_dictionary){
            .n = d->n, .begin = begin, .bytes = bytes + base, .sorted = columns[c].type == TRA_COL_STRING};
        /* 8 of the 16 bytes for each string are freed when the table has been opened */
        r->table->held += begin[d->n] + 16 * d->n;
    }
    free(ends);
    return ok && at == n ? TRA_OK
                         : TRA_REL_BAD(r, e, "its dictionaries (.tra/%s/strings) are missing or damaged", r->name);
}

tra_status tra_rel_read_strings(tra_rel *r, tra_err *e) {
    struct tra_table *t = r->table;
    if (!t || t->foreign || t->strings) return TRA_OK;
    tra_h5_enter();
    tra_status s = own_dictionaries(r, e);
    tra_h5_leave();
    return s;
}
