/* texts.c - strings in attributes and datasets, of variable length or all of one size. */
#include "relation_file.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>

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

bool tra_h5_get_texts(hid_t obj, const char *name, tra_arena *a, const char ***out, int *n) {
    hid_t attr = H5Aopen(obj, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    texts t;
    bool ok = count >= 0 && count <= 1 << 24 && (count == 0 || texts_of(type, &t)), read = false;
    char *buf = ok && count > 0 ? tra_calloc((size_t)count, t.size) : NULL;
    if (buf) ok = read = H5Aread(attr, t.memory, buf) >= 0;
    *out = tra_news(a, const char *, count + 1);
    *n = ok ? (int)count : 0;
    for (int i = 0; i < *n; i++) {
        size_t len;
        const char *s = text_at(&t, buf, i, &len);
        (*out)[i] = tra_arena_strndup(a, s, len);
    }
    if (read) H5Dvlen_reclaim(t.memory, space, H5P_DEFAULT, buf);
    if (buf) H5Tclose(t.memory);
    free(buf);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return ok;
}

/* ---- dictionaries ---------------------------------------------------------------------------------------------- */

typedef struct growing {
    int64_t cap, *begin, room;
    char *bytes;
} growing;

static bool take_text(void *to, int64_t i, const char *s, size_t len) {
    growing *g = to;
    TRA_ROOM(g->begin, i + 1, g->cap);
    int64_t at = g->begin[i], end = at + (int64_t)len;
    if (end > g->room) {
        g->room = tra_max64(end, 2 * g->room + 1024);
        char *more = realloc(g->bytes, (size_t)g->room);
        if (!more) return false;
        g->bytes = more;
    }
    if (len > 0) memcpy(g->bytes + at, s, len); /* without bytes there may be no room yet */
    g->begin[i + 1] = end;
    return true;
}

/* Strings are read some at a time, as many as have STEP bytes if they are as long as those before. */
bool tra_h5_each_string(hid_t dset, int64_t *n, tra_string_taker *take, void *to) {
    enum { AT_ONCE = 8192, STEP = 256 << 10, FIRST = 16 };
    hid_t type = H5Dget_type(dset), space = H5Dget_space(dset);
    hsize_t dims = 0;
    texts t = {.memory = -1};
    bool ok = H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &dims, NULL) >= 0 &&
              dims < INT32_MAX && texts_of(type, &t);
    int64_t most = ok ? tra_max64(1, tra_min64(AT_ONCE, STEP / (int64_t)t.size)) : 0, bytes = 0, now = FIRST;
    char *buf = ok ? tra_calloc((size_t)most, t.size) : NULL;
    for (int64_t i = 0; ok && i < (int64_t)dims; i += now) {
        if (i > 0) now = STEP / (bytes / i + 1);
        now = tra_max64(1, tra_min64(tra_min64(most, now), (int64_t)dims - i));
        hsize_t from = (hsize_t)i, count = (hsize_t)now;
        hid_t memory = H5Screate_simple(1, &count, NULL);
        bool read = H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &count, NULL) >= 0 &&
                    H5Dread(dset, t.memory, memory, space, H5P_DEFAULT, buf) >= 0;
        ok = read;
        for (int64_t k = 0; k < now && ok; k++) {
            size_t len;
            const char *s = text_at(&t, buf, k, &len);
            bytes += (int64_t)len;
            ok = take(to, i + k, s, len);
        }
        if (read && t.variable) H5Dvlen_reclaim(t.memory, memory, H5P_DEFAULT, buf);
        H5Sclose(memory);
    }
    free(buf);
    *n = (int64_t)dims;
    if (t.memory >= 0) H5Tclose(t.memory);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

const tra_dictionary *tra_h5_strings(tra_rel *r, hid_t dset) {
    growing g = {.begin = tra_calloc(1, sizeof *g.begin)};
    int64_t n = 0;
    tra_dictionary *d = NULL;
    if (tra_h5_each_string(dset, &n, take_text, &g)) {
        d = tra_new(r->arena, tra_dictionary);
        int64_t *begin = tra_news(r->arena, int64_t, n + 1);
        char *bytes = tra_arena_alloc(r->arena, (size_t)g.begin[n] + 8);
        memcpy(begin, g.begin, (size_t)(n + 1) * sizeof *begin);
        if (g.begin[n]) memcpy(bytes, g.bytes, (size_t)g.begin[n]);
        *d = (tra_dictionary){.n = n, .begin = begin, .bytes = bytes, .sorted = true};
        for (int64_t i = 1; i < n && d->sorted; i++)
            d->sorted = tra_bytes_cmp(bytes + begin[i - 1], begin[i] - begin[i - 1], bytes + begin[i],
                                      begin[i + 1] - begin[i]) < 0;
    }
    free(g.begin);
    free(g.bytes);
    return d;
}
