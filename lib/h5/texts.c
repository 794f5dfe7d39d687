/* texts.c - strings in attributes and datasets, of variable length or all of one size. */
#include "relation_file.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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

/* Strings that are collected: each, or where those of rows become codes each once. */
typedef struct growing {
    tra_rel *r;
    int64_t n, cap, *begin, room;
    char *bytes;
    bool codes;
    const uint8_t *null; /* rows that have no string, or NULL */
    int32_t *code, *slot;
    int64_t rows, codes_cap, slots;
} growing;

bool tra_h5_fits(tra_rel *r, int64_t bytes) {
    tra_err e = {0};
    const char *what = tra_arena_printf(r->arena, "%s:%s: its strings and labels", r->path, r->name);
    if (tra_ceiling_check(bytes, what, &e) == TRA_OK) return true;
    tra_err *lack = tra_new(r->arena, tra_err);
    *lack = e;
    r->lack = lack;
    return false;
}

bool tra_h5_sorts(tra_rel *r, const tra_dictionary *d) {
    enum { EACH = 60 }; /* bytes that sorting takes for a string */
    return d->sorted || tra_h5_fits(r, d->begin[d->n] + EACH * d->n);
}

/* Makes room for `more` elements beyond n in small steps, each of which the ceiling must have. */
static bool make_room(tra_rel *r, void *v, int64_t n, int64_t more, int64_t *cap, size_t size) {
    void **to = v;
    if (n + more <= *cap) return true;
    int64_t step = n + more + *cap / 8 + 1024 - *cap;
    if (!tra_h5_fits(r, tra_mul_most(step, (int64_t)size))) return false;
    *to = tra_realloc(*to, (size_t)(*cap += step), size);
    return true;
}

/* Where the string, or room for it, is among the slots. */
static int32_t *slot_of(const growing *g, const char *s, size_t len) {
    uint64_t mask = (uint64_t)g->slots - 1, at = XXH64(s, len, 0) & mask;
    for (;; at = (at + 1) & mask) {
        int32_t c = g->slot[at];
        if (c < 0) break;
        const char *other = g->bytes + g->begin[c];
        if (g->begin[c + 1] - g->begin[c] == (int64_t)len && memcmp(other, s, len) == 0) break;
    }
    return &g->slot[at];
}

static bool more_slots(growing *g) {
    int64_t slots = 2 * g->slots + 16 * (g->slots == 0), none = 0;
    int32_t *old = g->slot;
    g->slot = NULL;
    if (!make_room(g->r, &g->slot, 0, slots, &none, sizeof *g->slot)) return g->slot = old, false;
    free(old);
    g->slots = slots;
    memset(g->slot, 0xff, (size_t)slots * sizeof *g->slot);
    for (int64_t i = 0; i < g->n; i++)
        *slot_of(g, g->bytes + g->begin[i], (size_t)(g->begin[i + 1] - g->begin[i])) = (int32_t)i;
    return true;
}

static bool add_text(growing *g, const char *s, size_t len) {
    int64_t at = g->n > 0 ? g->begin[g->n] : 0, n = (int64_t)len;
    if (!make_room(g->r, &g->begin, g->n, 2, &g->cap, sizeof *g->begin) ||
        !make_room(g->r, &g->bytes, at, n + 8, &g->room, 1))
        return false;
    if (len > 0) memcpy(g->bytes + at, s, len);
    g->begin[g->n] = at;
    g->begin[++g->n] = at + n;
    return true;
}

static bool take_text(void *to, int64_t i, const char *s, size_t len) {
    growing *g = to;
    if (!g->codes) return add_text(g, s, len);
    if (!make_room(g->r, &g->code, i, 1, &g->codes_cap, sizeof *g->code)) return false;
    g->rows = i + 1;
    g->code[i] = -1;
    if (g->null && g->null[i]) return true;
    if (2 * (g->n + 1) > g->slots && !more_slots(g)) return false;
    int32_t *slot = slot_of(g, s, len);
    if (*slot < 0) {
        *slot = (int32_t)g->n;
        if (!add_text(g, s, len)) return false;
    }
    g->code[i] = *slot;
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

/* What was collected is the arena's; ok: it is whole. */
static const tra_dictionary *collected(growing *g, bool ok) {
    free(g->slot);
    ok = ok && make_room(g->r, &g->begin, g->n, 1, &g->cap, sizeof *g->begin) &&
         make_room(g->r, &g->bytes, 0, 8, &g->room, 1) &&
         make_room(g->r, &g->code, 0, g->codes, &g->codes_cap, sizeof *g->code);
    if (!ok) {
        free(g->begin), free(g->bytes), free(g->code);
        return NULL;
    }
    if (g->n == 0) g->begin[0] = 0;
    tra_arena_keep(g->r->arena, g->begin, (size_t)g->cap * sizeof *g->begin);
    tra_arena_keep(g->r->arena, g->bytes, (size_t)g->room);
    if (g->codes) tra_arena_keep(g->r->arena, g->code, (size_t)g->codes_cap * sizeof *g->code);
    tra_dictionary *d = tra_new(g->r->arena, tra_dictionary);
    *d = (tra_dictionary){.n = g->n, .begin = g->begin, .bytes = g->bytes, .sorted = !g->codes};
    for (int64_t i = 1; i < d->n && d->sorted; i++)
        d->sorted = tra_bytes_cmp(d->bytes + d->begin[i - 1], d->begin[i] - d->begin[i - 1], d->bytes + d->begin[i],
                                  d->begin[i + 1] - d->begin[i]) < 0;
    return d;
}

const tra_dictionary *tra_h5_strings(tra_rel *r, hid_t dset) {
    growing g = {.r = r};
    int64_t n;
    return collected(&g, tra_h5_each_string(dset, &n, take_text, &g));
}

const tra_dictionary *tra_h5_codes(tra_rel *r, hid_t dset, const uint8_t *null, int32_t **code) {
    growing g = {.r = r, .codes = true, .null = null};
    int64_t n;
    const tra_dictionary *d = collected(&g, tra_h5_each_string(dset, &n, take_text, &g));
    *code = d ? g.code : NULL;
    return d;
}

/* A hash table of the numbers of strings; the strings themselves are not copied. */
const char *tra_dictionary_twice(tra_arena *a, const tra_dictionary *d) {
    if (d->sorted) return NULL;
    growing g = {.n = 0, .begin = (int64_t *)d->begin, .bytes = (char *)d->bytes, .slots = 16};
    while (g.slots < 2 * d->n) g.slots *= 2;
    g.slot = tra_malloc((size_t)g.slots * sizeof *g.slot);
    memset(g.slot, 0xff, (size_t)g.slots * sizeof *g.slot);
    const char *twice = NULL;
    for (int64_t i = 0; i < d->n && !twice; i++) {
        int64_t len;
        const char *s = tra_dictionary_at(d, i, &len);
        int32_t *slot = slot_of(&g, s, (size_t)len);
        if (*slot >= 0) twice = tra_arena_strndup(a, s, (size_t)len);
        *slot = (int32_t)i;
    }
    free(g.slot);
    return twice;
}
