/* stored_foreign.c - sparse tensors of other programs, read where they are: binsparse, AnnData, 10x.
 *
 * Such a tensor has no blocks. It is cut into blocks along the dimension of its first level, so that a block is a range
 * of positions at each level. Where these ranges begin is found in one pass over the pointers, piece by piece.
 */
#include "stored_int.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRANULES = 1 << 16,      /* at most so many possible cuts (granules) are looked at */
    BLOCK_ENTRIES = 1 << 19, /* entries of a block, unless one granule has more */
    PIECE = 1 << 13          /* elements that are read at a time */
};

/* What the attributes of a group say of its tensor. */
typedef struct found {
    tra_levels levels;
    tra_dims shape;
    /* NULL, or the names of its datasets by what they hold (TRA_POINTERS, ...), which are not those of binsparse */
    const char *const *names;
    int64_t stored;  /* how many values it says it has; -1: it does not */
    bool absent;     /* there are no entries, and no datasets of them */
    bool iso, bytes; /* one value for all entries; values are bytes that are booleans */
    int mirror;      /* as tra_stored.mirror */
} found;

/* ---- binsparse --------------------------------------------------------------------------------------------------- */

static tra_status odd(tra_rel *r, const char *what, tra_err *e) {
    return TRA_REL_BAD(r, e, "its attribute binsparse is not understood: %s", what);
}

/* The value at a path, a string without its quotes, from the arena; NULL: there is none. */
static const char *get(tra_rel *r, const char *json, const char *path) {
    size_t n;
    const char *v = tra_json_find(json, "binsparse", &n);
    if (v) path = tra_arena_printf(r->arena, "binsparse.%s", path);
    if (!(v = tra_json_find(json, path, &n))) return NULL;
    if (n >= 2 && v[0] == '"') v++, n -= 2;
    return tra_arena_strndup(r->arena, v, n);
}

static bool get_ints(tra_rel *r, const char *json, const char *path, tra_dims *out) {
    const char *v;
    out->n = 0;
    while ((v = get(r, json, tra_arena_printf(r->arena, "%s.%d", path, out->n)))) {
        if (out->n == TRA_MAXDIM || !tra_parse_int(v, &out->v[out->n])) return false;
        out->n++;
    }
    return true;
}

static tra_status take_custom(tra_rel *r, const char *json, found *f, tra_err *e) {
    const char *at = "custom.level", *kind, *rank;
    tra_dims order;
    int64_t n;
    f->levels = (tra_levels){.n = 0};
    while ((kind = get(r, json, tra_arena_printf(r->arena, "%s.level_desc", at))) && strcmp(kind, "element") != 0) {
        bool sparse = strcmp(kind, "sparse") == 0;
        if (!sparse && strcmp(kind, "dense") != 0) return odd(r, "a level that is neither dense nor sparse", e);
        rank = get(r, json, tra_arena_printf(r->arena, "%s.rank", at));
        if (!rank || !tra_parse_int(rank, &n) || n < 1 || n > f->shape.n - f->levels.n)
            return odd(r, "the ranks of its levels are not those of its shape", e);
        for (int64_t i = 0; i < n; i++)
            f->levels.kind[f->levels.n++] = !sparse ? TRA_LEVEL_DENSE : i ? TRA_LEVEL_SINGLETON : TRA_LEVEL_SPARSE;
        at = tra_arena_printf(r->arena, "%s.level", at);
    }
    if (!kind || f->levels.n != f->shape.n) return odd(r, "its levels do not end in elements", e);
    if (!get_ints(r, json, "custom.transpose", &order) || (order.n != 0 && order.n != f->shape.n))
        return odd(r, "transpose is no order of its dimensions", e);
    uint32_t seen = 0;
    for (int i = 0; i < f->shape.n; i++) {
        int64_t d = order.n ? order.v[i] : i;
        if (d < 0 || d >= f->shape.n || seen >> d & 1) return odd(r, "transpose is no order of its dimensions", e);
        seen |= 1u << d;
        f->levels.order[i] = (int8_t)d;
    }
    return TRA_OK;
}

static tra_status take_format(tra_rel *r, const char *json, found *f, tra_err *e) {
    static const struct {
        const char *name, *levels;
        int rank;
    } names[] = {{"CSR", "csr", 2},
                 {"CSC", "csc", 2},
                 {"DCSR", "dcsr", 2},
                 {"DCSC", "dcsc", 2},
                 {"COO", "coo", 2},
                 {"COOR", "coo", 2},
                 {"COOC", "levels(sparse, singleton) order [1, 0]", 2},
                 {"CVEC", "csf", 1},
                 {"DVEC", "dense", 1},
                 {"DMAT", "dense", 2},
                 {"DMATR", "dense", 2},
                 {"DMATC", NULL, 2}};
    const char *format = get(r, json, "format");
    if (!format) return odd(r, "it has no format", e);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(format, names[i].name) != 0) continue;
        if (f->shape.n != names[i].rank) return odd(r, "its shape is not of the rank of its format", e);
        return tra_levels_parse(names[i].levels ? names[i].levels : "levels(dense) order [1, 0]", f->shape.n,
                                &f->levels, e);
    }
    if (strcmp(format, "custom") != 0 && !get(r, json, "custom"))
        return TRA_REL_BAD(r, e, "its attribute binsparse names a format that this tra does not know: %.60s", format);
    return take_custom(r, json, f, e);
}

/* Elements that are not stored must be 0. */
static tra_status check_fill(tra_rel *r, const char *json, tra_err *e) {
    const char *fill = get(r, json, "fill");
    double v = 0;
    tra_dataset_reader d = {0};
    if (!fill || strcmp(fill, "true") != 0) return TRA_OK;
    if (!tra_h5_exists(r->dset, "fill_value")) return TRA_OK;
    tra_status s = tra_dataset_open(r, r->dset, "fill_value", H5T_NATIVE_DOUBLE, &d, e);
    if (s == TRA_OK && d.count == 1) s = tra_dataset_read(r, &d, 0, 1, &v, e);
    tra_dataset_close(&d);
    if (s == TRA_OK && v != 0)
        s = TRA_REL_BAD(r, e, "elements that are not stored are %g there, not 0: it cannot be read", v);
    return s;
}

static tra_status take_structure(tra_rel *r, const char *json, found *f, tra_err *e) {
    const char *s = get(r, json, "structure");
    if (!s || strcmp(s, "null") == 0) return TRA_OK;
    if (strncmp(s, "symmetric", 9) == 0 || strncmp(s, "hermitian", 9) == 0) f->mirror = 1;
    if (strncmp(s, "skew_symmetric", 14) == 0) f->mirror = -1;
    if (!f->mirror) return TRA_REL_BAD(r, e, "its structure \"%.60s\" is not known", s);
    if (tra_levels_dense(&f->levels))
        return TRA_REL_BAD(r, e, "a dense matrix with the structure \"%.60s\" cannot be read", s);
    if (f->shape.n != 2 || f->shape.v[0] != f->shape.v[1]) return odd(r, "it has a structure and is not square", e);
    return TRA_OK;
}

static tra_status take_binsparse(tra_rel *r, found *f, tra_err *e) {
    const char *json = tra_h5_get_text(r->dset, "binsparse", r->arena), *version, *type;
    if (!json) return odd(r, "it is no text", e);
    version = get(r, json, "version");
    if (!version || (strcmp(version, "0.1") != 0 && strncmp(version, "0.1.", 4) != 0))
        return TRA_REL_BAD(r, e, "it is of version %.30s of binsparse; this tra reads 0.1",
                           version ? version : "unknown");
    if (!get_ints(r, json, "shape", &f->shape) || f->shape.n < 1) return odd(r, "it has no shape", e);
    for (int d = 0; d < f->shape.n; d++)
        if (f->shape.v[d] < 0) return odd(r, "it has a negative extent", e);
    if (2 * f->shape.n > TRA_MAXDIM)
        return TRA_REL_BAD(r, e, "it has %d dimensions; at most %d can be read", f->shape.n, TRA_MAXDIM / 2);
    TRA_TRY(take_format(r, json, f, e));
    TRA_TRY(check_fill(r, json, e));
    TRA_TRY(take_structure(r, json, f, e));
    if (!(type = get(r, json, "data_types.values"))) return odd(r, "it does not tell the type of its values", e);
    if (strstr(type, "complex")) return TRA_REL_BAD(r, e, "its values are complex (%.40s): these cannot be read", type);
    f->iso = strncmp(type, "iso[", 4) == 0;
    const char *stored = get(r, json, "number_of_stored_values");
    if (stored && !tra_parse_int(stored, &f->stored)) return odd(r, "number_of_stored_values is no number", e);
    f->bytes = strstr(type, "bint8");
    return TRA_OK;
}

/* ---- AnnData and 10x --------------------------------------------------------------------------------------------- */

static tra_status take_scipy(tra_rel *r, found *f, tra_err *e) {
    static const char *const names[] = {"indptr", "indices", "data"};
    const char *encoding = tra_h5_get_text(r->dset, "encoding-type", r->arena);
    bool rows = encoding && strcmp(encoding, "csr_matrix") == 0;
    f->names = names;
    f->shape.n = 2;
    int64_t n = tra_h5_get_ints(r->dset, "shape", f->shape.v, 2);
    if (!encoding) { /* 10x has a dataset */
        tra_dataset_reader d = {0};
        tra_status s = tra_dataset_open(r, r->dset, "shape", -1, &d, e);
        if (s == TRA_OK && (n = d.count) == 2) s = tra_dataset_read_ints(r, &d, 0, 2, f->shape.v, e);
        tra_dataset_close(&d);
        TRA_TRY(s);
    }
    if (n != 2 || f->shape.v[0] < 0 || f->shape.v[1] < 0)
        return TRA_REL_BAD(r, e, "%s", "its shape is not two extents");
    return tra_levels_parse(rows ? "csr" : "csc", 2, &f->levels, e);
}

/* ---- MATLAB ------------------------------------------------------------------------------------------------------ */

/* Columns after each other; there are no datasets of entries where there are none. */
static tra_status take_matlab(tra_rel *r, found *f, tra_err *e) {
    static const char *const names[] = {"jc", "ir", "data"};
    tra_dataset_reader d = {0};
    const char *class = tra_h5_get_text(r->dset, "MATLAB_class", r->arena);
    f->names = names;
    f->bytes = class && strcmp(class, "logical") == 0;
    f->shape.n = 2;
    if (tra_h5_get_ints(r->dset, "MATLAB_sparse", f->shape.v, 1) != 1 || f->shape.v[0] < 0)
        return TRA_REL_BAD(r, e, "%s", "its attribute MATLAB_sparse is not its number of rows");
    tra_status s = tra_dataset_open(r, r->dset, names[TRA_POINTERS], -1, &d, e);
    f->shape.v[1] = d.count - 1;
    tra_dataset_close(&d);
    TRA_TRY(s);
    if (f->shape.v[1] < 0) return TRA_REL_BAD(r, e, "%s", "its dataset jc is empty");
    f->absent = !tra_h5_exists(r->dset, names[TRA_INDICES]) && !tra_h5_exists(r->dset, names[TRA_VALUES]);
    return tra_levels_parse("csc", 2, &f->levels, e);
}

/* ---- datasets ---------------------------------------------------------------------------------------------------- */

static tra_status open_values(tra_rel *r, const char *name, const found *f, tra_dataset_reader *out, tra_err *e) {
    hid_t dset = tra_h5_exists(r->dset, name) ? H5Dopen2(r->dset, name, H5P_DEFAULT) : -1;
    if (dset < 0) return TRA_REL_BAD(r, e, "its dataset %s is missing", name);
    hid_t type = H5Dget_type(dset);
    bool readable = tra_h5_dtype(type, &r->type.dtype, &r->u64);
    bool byte = f->bytes && H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1;
    H5Tclose(type);
    H5Dclose(dset);
    if (!readable)
        return TRA_REL_BAD(
            r, e, "the elements of its dataset %s are neither floats nor integers of at most 64 bits nor booleans",
            name);
    if (byte) r->type.dtype = TRA_BOOL;
    return tra_dataset_open(r, r->dset, name,
                            byte     ? H5T_NATIVE_UINT8
                            : r->u64 ? H5T_NATIVE_UINT64
                                     : tra_h5_type(r->type.dtype),
                            out, e);
}

static const char *dataset_of(const found *f, const tra_dataset *c) { return f->names ? f->names[c->kind] : c->name; }

static tra_status open_datasets(tra_rel *r, const found *f, tra_err *e) {
    struct tra_stored *x = r->stored;
    tra_form *form = &x->form;
    tra_form_of(&f->levels, &f->shape, 0, true, 8, form);
    form->n = form->columns; /* other programs keep no counts of columns */
    form->columns = -1;
    for (int i = 0; i < form->n; i++) {
        tra_dataset *c = &form->c[i];
        const char *name = dataset_of(f, c);
        if (f->absent && c->kind != TRA_POINTERS)
            x->c[i] = (tra_dataset_reader){.memory = H5T_NATIVE_INT64, .base = -1, .each = 8, .sign = true};
        else
            TRA_TRY(c->kind == TRA_VALUES ? open_values(r, name, f, &x->c[i], e)
                                          : tra_dataset_open(r, r->dset, name, -1, &x->c[i], e));
        c->each = x->c[i].each;
        if (name != c->name) snprintf(c->name, sizeof c->name, "%s", name);
    }
    x->iso = f->iso;
    return TRA_OK;
}

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* Which position of each level comes first in each granule of the outer dimension: at[levels][n + 1]. */
typedef struct cuts {
    int64_t size, n; /* coordinates of a granule; number of granules */
    int64_t *at;
} cuts;

/* Calls fn for each piece of a dataset. */
typedef tra_status piece_fn(void *ctx, const int64_t *v, int64_t from, int64_t n, tra_err *e);

static tra_status each_piece(tra_rel *r, const tra_dataset_reader *d, piece_fn *fn, void *ctx, tra_err *e) {
    int64_t *v = tra_malloc(PIECE * sizeof *v);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < d->count && s == TRA_OK; i += PIECE) {
        int64_t n = tra_min64(PIECE, d->count - i);
        s = tra_dataset_read_ints(r, d, i, n, v, e);
        if (s == TRA_OK) s = fn(ctx, v, i, n, e);
    }
    free(v);
    return s;
}

typedef struct walk {
    tra_rel *r;
    const char *name;
    int64_t extent, granule, n; /* extent of the outer dimension; coordinates of a granule; number of granules */
    const int64_t *above;       /* where granules begin in the level above */
    int64_t *out;
    int64_t next, last;
    bool ascends;
} walk;

static tra_status pick_pointers(void *ctx, const int64_t *v, int64_t from, int64_t n, tra_err *e) {
    walk *w = ctx;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] < w->last || (from + i == 0 && v[i] != 0))
            return TRA_REL_BAD(w->r, e, "its dataset %s does not ascend from 0 at element %" PRId64, w->name, from + i);
        w->last = v[i];
        while (w->next <= w->n && w->above[w->next] == from + i) w->out[w->next++] = v[i];
    }
    return TRA_OK;
}

static tra_status pick_indices(void *ctx, const int64_t *v, int64_t from, int64_t n, tra_err *e) {
    walk *w = ctx;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] < 0 || v[i] >= w->extent)
            return TRA_REL_BAD(w->r, e, "its dataset %s has an index out of range at element %" PRId64, w->name,
                               from + i);
        w->ascends = w->ascends && v[i] >= w->last;
        w->last = v[i];
        while (w->ascends && w->next <= w->n && w->next * w->granule <= v[i]) w->out[w->next++] = from + i;
    }
    return TRA_OK;
}

/* Finds where granules begin in a sparse outer level. *scattered: its indices do not ascend. */
static tra_status cut_sparse(tra_rel *r, const cuts *c, bool *scattered, tra_err *e) {
    struct tra_stored *x = r->stored;
    const tra_dataset_reader *d = &x->c[x->form.indices[0]];
    walk w = {.r = r, .name = x->form.c[x->form.indices[0]].name, .extent = x->form.ext[0], .granule = c->size};
    w.n = c->n;
    w.out = c->at;
    w.ascends = true;
    TRA_TRY(each_piece(r, d, pick_indices, &w, e));
    while (w.next <= w.n) w.out[w.next++] = d->count;
    *scattered = !w.ascends;
    return TRA_OK;
}

static tra_status wrong_length(const tra_rel *r, const char *name, int64_t n, int64_t expected, tra_err *e) {
    return TRA_REL_BAD(r, e, "its dataset %s has %" PRId64 " elements, but should have %" PRId64, name, n, expected);
}

/* Finds where granules begin in a level below the outer one. */
static tra_status cut_below(tra_rel *r, const cuts *c, int l, tra_err *e) {
    struct tra_stored *x = r->stored;
    const tra_form *f = &x->form;
    int64_t *above = c->at + (l - 1) * (c->n + 1), *out = above + c->n + 1;
    if (f->group[l] < 0) {
        memcpy(out, above, (size_t)(c->n + 1) * sizeof *out);
        return TRA_OK;
    }
    if (f->group[l] == 0) {
        for (int64_t g = 0; g <= c->n; g++)
            if (!tra_mul(above[g], f->ext[l], &out[g]) || out[g] > INT64_MAX / 64)
                return TRA_REL_BAD(r, e, "%s", "it is too large");
        return TRA_OK;
    }
    const tra_dataset_reader *d = &x->c[f->pointers[l]];
    const char *name = f->c[f->pointers[l]].name;
    if (d->count != above[c->n] + 1) return wrong_length(r, name, d->count, above[c->n] + 1, e);
    walk w = {.r = r, .name = name, .n = c->n, .above = above, .out = out};
    return each_piece(r, d, pick_pointers, &w, e);
}

static tra_status check_lengths(tra_rel *r, const cuts *c, tra_err *e) {
    struct tra_stored *x = r->stored;
    const tra_form *f = &x->form;
    for (int i = 0; i < f->n; i++) {
        const tra_dataset *p = &f->c[i];
        int64_t expected = c->at[p->level * (c->n + 1) + c->n];
        if (p->kind == TRA_POINTERS) continue;
        if (p->kind == TRA_VALUES && x->iso) expected = 1;
        if (x->c[i].count != expected) return wrong_length(r, p->name, x->c[i].count, expected, e);
    }
    int64_t positions = c->at[(f->levels.n - 1) * (c->n + 1) + c->n];
    if (x->said >= 0 && x->said != positions && !(x->iso && x->said == 1))
        return TRA_REL_BAD(r, e,
                           "its attribute binsparse says number_of_stored_values %" PRId64 ", but it has %" PRId64
                           ": it is damaged",
                           x->said, positions);
    return TRA_OK;
}

static tra_status find_cuts(tra_rel *r, cuts *c, bool *scattered, tra_err *e) {
    const tra_form *f = &r->stored->form;
    *scattered = false;
    c->n = tra_ceil_div(f->ext[0], c->size);
    c->at = calloc((size_t)(c->n + 1) * (size_t)f->levels.n, sizeof *c->at);
    if (!c->at) return tra_fail(e, TRA_RESOURCE, "out of memory for the blocks of %s:%s", r->path, r->name);
    if (f->group[0] > 0)
        TRA_TRY(cut_sparse(r, c, scattered, e));
    else
        for (int64_t g = 0; g <= c->n; g++) c->at[g] = tra_min64(g * c->size, f->ext[0]);
    for (int l = 1; l < f->levels.n; l++) TRA_TRY(cut_below(r, c, l, e));
    return check_lengths(r, c, e);
}

/* How many granules make a block: the largest power of two with which no block has too many entries. of: entries before
 * each granule. */
static int64_t granules_of_block(const int64_t *of, int64_t n) {
    int64_t each = 1;
    while (each < n) each *= 2;
    for (; each > 1; each /= 2) {
        int64_t most = 0;
        for (int64_t g = 0; g < n; g += each) most = tra_max64(most, of[tra_min64(n, g + each)] - of[g]);
        if (most <= BLOCK_ENTRIES) break;
    }
    return each;
}

/* Makes blocks of `each` granules, with their catalog and positions. */
static tra_status keep_blocks(tra_rel *r, const found *f, const cuts *c, int64_t each, tra_err *e) {
    struct tra_stored *x = r->stored;
    int outer = f->levels.order[0];
    int64_t levels = f->levels.n;
    tra_dims b = f->shape;
    x->outer = b.v[outer] = tra_max64(1, tra_min64(f->shape.v[outer], each * c->size));
    TRA_TRY(tra_catalog_blocks(&f->shape, &b, &r->cat, e));
    int64_t n = r->cat.n;
    free(x->begin);
    x->begin = calloc((size_t)((n + 1) * levels), sizeof *x->begin);
    if (!x->begin) return tra_fail(e, TRA_RESOURCE, "out of memory for the blocks of %s:%s", r->path, r->name);
    for (int64_t l = 0; l < levels; l++) {
        int64_t *begin = x->begin + l * (n + 1), most = 0;
        for (int64_t t = 0; t <= n; t++) begin[t] = c->at[l * (c->n + 1) + tra_min64(t * each, c->n)];
        for (int64_t t = 0; t < n; t++) most = tra_max64(most, begin[t + 1] - begin[t]);
        x->most[l] = most;
    }
    return TRA_OK;
}

/* The same where the file has one triangle: the entries of blocks must be counted. asked: the user gave the block. */
static tra_status keep_mirrored(tra_rel *r, const found *f, const cuts *c, bool asked, tra_err *e) {
    struct tra_stored *x = r->stored;
    x->before = calloc((size_t)c->n + 1, sizeof *x->before);
    if (!x->before) return tra_fail(e, TRA_RESOURCE, "out of memory for the blocks of %s:%s", r->path, r->name);
    TRA_TRY(keep_blocks(r, f, c, tra_max64(1, c->n), e));
    x->mirror = f->mirror;
    TRA_TRY(tra_stored_count_mirrored(r, c->size, c->n, x->before, e));
    int64_t each = asked ? 1 : granules_of_block(x->before, c->n), *most = &x->most[f->levels.n - 1];
    TRA_TRY(keep_blocks(r, f, c, each, e));
    *most = 0;
    for (int64_t t = 1; t <= r->cat.n; t++) {
        x->before[t] = x->before[tra_min64(t * each, c->n)];
        *most = tra_max64(*most, x->before[t] - x->before[t - 1]);
    }
    return TRA_OK;
}

/* ---- putting it together ----------------------------------------------------------------------------------------- */

/* The extent along the outer dimension of the block that the user asks for; along the others blocks are whole. */
static tra_status take_block(tra_rel *r, const found *f, const tra_dims *block, int64_t *size, tra_err *e) {
    char shape[TRA_DIMTEXT];
    int outer = f->levels.order[0];
    bool fits = block->n == f->shape.n;
    for (int d = 0; fits && d < block->n; d++) fits = d == outer || block->v[d] >= f->shape.v[d];
    if (!fits)
        return tra_fail(e, TRA_USAGE,
                        "%s:%s is stored so that it can be cut along dimension %d alone: blocks of it are whole "
                        "along the others of %s",
                        r->path, r->name, outer, tra_shape_text(&f->shape, shape));
    *size = tra_max64(1, tra_min64(block->v[outer], tra_max64(1, f->shape.v[outer])));
    return TRA_OK;
}

static tra_status cut(tra_rel *r, const found *f, const tra_dims *block, cuts *c, tra_err *e) {
    int outer = f->levels.order[0];
    int64_t extent = f->shape.v[outer], each = 1;
    bool scattered;
    c->size = 1;
    while (tra_ceil_div(extent, c->size) > GRANULES) c->size *= 2;
    if (block) TRA_TRY(take_block(r, f, block, &c->size, e));
    if (tra_ceil_div(extent, c->size) > TRA_MAX_LIST) return TRA_REL_BAD(r, e, "%s", "that would be too many blocks");
    TRA_TRY(find_cuts(r, c, &scattered, e));
    if (f->mirror) return keep_mirrored(r, f, c, block, e);
    const int64_t *entries = c->at + (f->levels.n - 1) * (c->n + 1);
    if (!block) each = granules_of_block(entries, c->n);
    if (scattered) {
        if (block || entries[c->n] > 32 * BLOCK_ENTRIES)
            return TRA_REL_BAD(
                r, e, "its indices are not sorted along dimension %d, so that it cannot be cut: import it", outer);
        each = tra_max64(1, c->n);
    }
    return keep_blocks(r, f, c, each, e);
}

tra_status tra_stored_foreign(tra_rel *r, const tra_dims *block, tra_err *e) {
    struct tra_stored *x = r->stored;
    found f = {.stored = -1};
    cuts c = {0};
    const char *storage = tra_h5_get_text(r->dset, "tra_storage", r->arena);
    if (tra_stored_is_mapping(storage)) return tra_stored_mapping(r, storage, e);
    if (storage)
        return TRA_REL_BAD(r, e, "%s", "it has lost its attribute tra_format but not tra_storage: it is damaged");
    x->unordered = true;
    TRA_TRY(H5Aexists(r->dset, "binsparse") > 0       ? take_binsparse(r, &f, e)
            : H5Aexists(r->dset, "MATLAB_sparse") > 0 ? take_matlab(r, &f, e)
                                                      : take_scipy(r, &f, e));
    TRA_TRY(open_datasets(r, &f, e));
    r->size = tra_dtype_size(r->type.dtype);
    x->said = f.stored;
    tra_status s = cut(r, &f, block, &c, e);
    free(c.at);
    TRA_TRY(s);
    for (int d = 0; d < f.shape.n; d++) r->type.cut[d] = 1u << d;
    TRA_TRY(tra_stored_complete(r, e));
    if (x->most[f.levels.n - 1] > UINT32_MAX) /* entries of a block are numbered so while it is sorted */
        return TRA_REL_BAD(r, e,
                           "a block of it has %" PRId64 " entries; at most %" PRIu32 " can be read: take smaller "
                           "blocks",
                           x->most[f.levels.n - 1], UINT32_MAX);
    int64_t n = r->cat.n, last = f.levels.n - 1, all = f.mirror ? x->before[n] : x->begin[last * (n + 1) + n];
    if (r->type.sparse) r->type.entries = tra_entries_about(r->arena, &r->type, (double)all, all, x->most[last]);
    return TRA_OK;
}
