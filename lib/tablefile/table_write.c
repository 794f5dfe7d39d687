/* table_write.c - writing a table: its group, its arrays, and rows in them. */
#include "../h5/pack.h"
#include "tablefile_int.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { PIECE = 32 << 10 };

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

/* Bytes of a code, by the entries of its dictionary. */
static int code_size(int64_t entries) { return entries <= INT8_MAX ? 1 : entries <= INT16_MAX ? 2 : 4; }

static int value_size(const tra_column *c) {
    if (tra_coltype_is_coded(c->type)) return code_size(c->dict ? c->dict->n : INT32_MAX);
    return (int)tra_coltype_size(c->type);
}

/* Sets part, values and nulls of a form for the columns of its schema, as a writer makes them; addresses: with room for
 * addresses of chunks. */
static void set_parts(tra_arena *a, tra_table_form *f, bool addresses) {
    int n = f->schema->n;
    f->part = tra_news(a, tra_table_part, 2 * n + 1);
    f->values = tra_news(a, int, n + 1);
    f->nulls = tra_news(a, int, n + 1);
    for (int c = 0; c < n; c++) {
        const tra_column *col = &f->schema->v[c];
        f->values[c] = f->nparts;
        f->part[f->nparts++] = (tra_table_part){.column = c, .size = value_size(col)};
        f->nulls[c] = -1;
        if (!col->nullable || tra_coltype_is_coded(col->type)) continue;
        f->nulls[c] = f->nparts;
        f->part[f->nparts++] = (tra_table_part){.column = c, .mask = true, .size = 1};
    }
    for (int i = 0; i < f->nparts && addresses; i++) f->part[i].addr = tra_news(a, int64_t, f->nblocks + 1);
}

int64_t tra_table_header(const tra_table_form *f, int64_t v[4]) {
    XXH64_state_t *h = XXH64_createState();
    XXH64_reset(h, 0);
    for (int c = 0; c < f->schema->n; c++) {
        const tra_column *col = &f->schema->v[c];
        int64_t what[4] = {col->type, f->nulls[c] >= 0, f->part[f->values[c]].size, col->dict ? col->dict->n : 0};
        XXH64_update(h, col->name, strlen(col->name) + 1);
        XXH64_update(h, what, sizeof what);
    }
    v[0] = f->rows;
    v[1] = f->block;
    v[2] = f->schema->n;
    v[3] = (int64_t)XXH64_digest(h);
    XXH64_freeState(h);
    return 4;
}

tra_status tra_table_prepare(tra_writer *w, const tra_write_options *o, tra_err *e) {
    if (w->gzip)
        return tra_fail(e, TRA_USAGE, "cannot write %s:%s by deflate: tables are compressed only by zstd", w->path,
                        w->name);
    w->table = tra_new(w->arena, struct tra_table_placing);
    w->table->frequencies = -1;
    w->table->alone = o && o->alone;
    w->table->form.schema = w->type.columns;
    return TRA_OK;
}

void tra_table_free_placing(tra_writer *w) {
    if (!w->table) return;
    free(w->table->begin);
    free(w->table->sums);
    free(w->table->masks);
    free(w->table->blocks);
    tra_table_drop_kept(w->table);
}

tra_status tra_table_create_group(tra_writer *w, tra_err *e) {
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), gcpl = H5Pcreate(H5P_GROUP_CREATE);
    bool ok = H5Pset_create_intermediate_group(lcpl, 1) >= 0;
    enum { NAMES = 3000 }; /* more names do not fit an attribute of the early file format */
    if (ok && w->type.columns->n > NAMES)
        ok = H5Fset_libver_bounds(w->file, H5F_LIBVER_V18, H5F_LIBVER_LATEST) >= 0 &&
             H5Pset_attr_phase_change(gcpl, 0, 0) >= 0;
    if (ok) w->dset = H5Gcreate2(w->file, w->name, lcpl, gcpl, H5P_DEFAULT);
    H5Pclose(gcpl);
    H5Pclose(lcpl);
    return w->dset >= 0 ? TRA_OK
                        : tra_h5_fail(e, TRA_INPUT, w->vfd, "cannot create the group %s in %s", w->name, w->temp);
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* A name for the group's member: HDF5 allows neither slashes nor ".", so these are written as %XX. */
static const char *member(tra_arena *a, const char *name) {
    tra_str t = {0};
    bool dot = strcmp(name, ".") == 0;
    for (const char *p = name; *p; p++)
        if (*p == '/' || dot)
            tra_str_printf(&t, "%%%02X", (unsigned char)*p);
        else
            tra_str_addn(&t, p, 1);
    return tra_arena_take(a, &t);
}

/* ---- datasets --------------------------------------------------------------------------------------------------- */

static hid_t file_type(const tra_column *c, const tra_table_part *p) {
    if (p->mask) return tra_h5_type(TRA_BOOL);
    if (tra_coltype_is_coded(c->type))
        return p->size == 1 ? H5T_NATIVE_INT8 : p->size == 2 ? H5T_NATIVE_INT16 : H5T_NATIVE_INT32;
    return tra_h5_type(tra_coltype_held(c->type));
}

bool tra_table_put_encoding(hid_t obj, const char *type, const char *version) {
    return tra_h5_put_text(obj, "encoding-type", type) && tra_h5_put_text(obj, "encoding-version", version);
}

/* Allocates the chunk of a block; *addr: where it is. */
static bool allocate(tra_writer *w, hid_t dset, int64_t block, int64_t bytes, int64_t *addr) {
    hsize_t at = (hsize_t)(block * w->table->form.block);
    w->stored += bytes;
    return tra_vfd_allocate_chunk(w->vfd, dset, &at, 0, bytes, addr);
}

/* Sets where the chunks of an array are: in the new file or, when they are to be compressed, in that of uncompressed
 * rows. */
static bool place_array(tra_writer *w, hid_t dset, tra_table_part *p) {
    struct tra_table_placing *t = w->table;
    const tra_table_form *f = &t->form;
    ssize_t n = H5Iget_name(dset, NULL, 0);
    char *path = tra_arena_array(w->arena, (size_t)tra_max64(0, n) + 1, 1);
    bool ok = n > 0 && H5Iget_name(dset, path, (size_t)n + 1) == n;
    p->path = path;
    for (int64_t b = 0; b < f->nblocks && ok; b++) {
        if (!w->codec.zstd)
            ok = allocate(w, dset, b, f->block * p->size, &p->addr[b]);
        else
            p->addr[b] = t->end, t->end += f->block * p->size;
    }
    return ok;
}

static hid_t new_array(tra_writer *w, hid_t group, const char *name, int part) {
    const tra_table_form *f = &w->table->form;
    tra_table_part *p = &f->part[part];
    hsize_t dims = (hsize_t)f->rows, chunk = (hsize_t)f->block;
    hid_t space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), dset = -1;
    if (H5Pset_obj_track_times(dcpl, false) >= 0 && H5Pset_chunk(dcpl, 1, &chunk) >= 0 &&
        (!w->codec.zstd || tra_pack_filters(dcpl, &w->codec)))
        dset = H5Dcreate2(group, name, file_type(&f->schema->v[p->column], p), space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool ok = dset >= 0 && tra_table_put_encoding(dset, "array", "0.2.0") && place_array(w, dset, p);
    H5Pclose(dcpl);
    H5Sclose(space);
    if (ok) return dset;
    if (dset >= 0) H5Dclose(dset);
    return -1;
}

static bool close_object(hid_t obj) { return obj >= 0 && H5Oclose(obj) >= 0; }

/* An attribute that is false. */
static bool put_false(hid_t obj, const char *name) {
    uint8_t x = 0;
    hid_t space = H5Screate(H5S_SCALAR), type = tra_h5_type(TRA_BOOL);
    hid_t attr = H5Acreate2(obj, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attr >= 0 && H5Awrite(attr, type, &x) >= 0;
    if (attr >= 0 && H5Aclose(attr) < 0) ok = false;
    H5Sclose(space);
    return ok;
}

static bool put_notes(const tra_column *c, const char *name, hid_t obj) {
    const char *units = c->type == TRA_COL_DATE        ? "days since 1970-01-01"
                        : c->type == TRA_COL_TIMESTAMP ? "microseconds since 1970-01-01 00:00:00"
                                                       : NULL;
    return tra_h5_put_text(obj, "tra_type", tra_coltype_name(c->type)) &&
           (!units || tra_h5_put_text(obj, "units", units)) &&
           (strcmp(name, c->name) == 0 || tra_h5_put_text(obj, "tra_name", c->name));
}

/* A group of arrays: codes and categories, or values and their mask. */
static bool put_group(tra_writer *w, int c, const char *name) {
    const tra_table_form *f = &w->table->form;
    const tra_column *col = &f->schema->v[c];
    bool coded = tra_coltype_is_coded(col->type), ok;
    hid_t group = H5Gcreate2(w->dset, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) return false;
    ok = tra_table_put_encoding(group,
                                coded                       ? "categorical"
                                : col->type == TRA_COL_BOOL ? "nullable-boolean"
                                                            : "nullable-integer",
                                coded ? "0.2.0" : "0.1.0") &&
         put_notes(col, name, group) && close_object(new_array(w, group, coded ? "codes" : "values", f->values[c]));
    if (ok && coded) ok = put_false(group, "ordered");
    if (ok && !coded) ok = close_object(new_array(w, group, "mask", f->nulls[c]));
    return H5Gclose(group) >= 0 && ok;
}

/* Writes the mask of a column of floats, for which AnnData's encoding has no place. */
static bool put_float_mask(tra_writer *w, int c, hid_t values) {
    const char *path = tra_arena_printf(w->arena, ".tra/%s/nulls", w->name),
               *name = tra_arena_printf(w->arena, "%d", c);
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), group;
    H5Pset_create_intermediate_group(lcpl, 1);
    group = tra_h5_exists(w->file, path) ? H5Gopen2(w->file, path, H5P_DEFAULT)
                                         : H5Gcreate2(w->file, path, lcpl, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(lcpl);
    bool ok = group >= 0 && close_object(new_array(w, group, name, w->table->form.nulls[c])) &&
              tra_h5_put_text(values, "tra_nulls", tra_arena_printf(w->arena, "%s/%s", path, name));
    return close_object(group) && ok;
}

static bool put_column(tra_writer *w, int c) {
    const tra_table_form *f = &w->table->form;
    const tra_column *col = &f->schema->v[c];
    const char *name = member(w->arena, col->name);
    bool masked = f->nulls[c] >= 0, floats = tra_coltype_is_float(col->type);
    if (tra_coltype_is_coded(col->type) || (masked && !floats)) return put_group(w, c, name);
    hid_t dset = new_array(w, w->dset, name, f->values[c]);
    bool ok = dset >= 0 && put_notes(col, name, dset) && (!masked || put_float_mask(w, c, dset));
    return close_object(dset) && ok;
}

/* An attribute of strings of any length, as h5py writes a list of them. */
static bool put_texts(hid_t obj, const char *name, int n, const char *const *v) {
    hsize_t dims = (hsize_t)n;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &dims, NULL), attr = -1;
    bool ok = H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0;
    if (ok) attr = H5Acreate2(obj, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    ok = attr >= 0 && (n == 0 || H5Awrite(attr, type, v) >= 0);
    if (attr >= 0 && H5Aclose(attr) < 0) ok = false;
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

static bool put_frame(tra_writer *w) {
    const tra_table_form *f = &w->table->form;
    int n = f->schema->n;
    int64_t format = 1, header[4];
    hsize_t one = 1;
    const char **names = tra_news(w->arena, const char *, n + 1);
    for (int c = 0; c < n; c++) names[c] = member(w->arena, f->schema->v[c].name);
    return tra_table_put_encoding(w->dset, "dataframe", "0.2.0") && put_texts(w->dset, "column-order", n, names) &&
           tra_h5_put_text(w->dset, "_index", n ? names[0] : "") &&
           tra_h5_put_ints(w->dset, "tra_format", 0, NULL, &format) &&
           tra_h5_put_ints(w->dset, "tra_shape", 1, &one, &f->rows) &&
           tra_h5_put_ints(w->dset, "tra_block", 1, &one, &f->block) &&
           tra_h5_put_seal(w->dset, header, tra_table_header(f, header));
}

/* Writes what has strings of variable length. HDF5 treats these as raw data, which must not be written while addresses
 * are captured; so they come after all arrays and are flushed at once. */
static bool put_strings(tra_writer *w) {
    bool ok = put_frame(w);
    for (int c = 0; c < w->type.columns->n && ok; c++) {
        const tra_column *col = &w->type.columns->v[c];
        if (!tra_coltype_is_coded(col->type)) continue;
        hid_t group = H5Gopen2(w->dset, member(w->arena, col->name), H5P_DEFAULT);
        ok = group >= 0 && tra_table_put_categories(w, c, group);
        if (group >= 0 && H5Gclose(group) < 0) ok = false;
    }
    return ok && H5Fflush(w->file, H5F_SCOPE_LOCAL) >= 0;
}

static tra_status create_arrays(tra_writer *w, tra_err *e) {
    bool ok = true;
    for (int c = 0; c < w->type.columns->n && ok; c++) ok = put_column(w, c);
    return ok && put_strings(w)
               ? TRA_OK
               : tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot create the columns of %s in %s", w->name, w->temp);
}

/* ---- placing ---------------------------------------------------------------------------------------------------- */

static tra_status lay_out(tra_writer *w, const int64_t *rows, tra_err *e) {
    struct tra_table_placing *p = w->table;
    tra_table_form *f = &p->form;
    const tra_catalog *c = w->type.cat;
    int64_t cells;
    p->begin = tra_calloc((size_t)c->n + 1, sizeof *p->begin);
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims ext;
        tra_catalog_ext(c, t, &ext);
        if (!tra_add(p->begin[t], rows ? rows[t] : ext.v[0], &p->begin[t + 1]))
            return tra_fail(e, TRA_RESOURCE, "%s:%s is too large", w->path, w->name);
    }
    f->rows = p->begin[c->n];
    f->block = tra_max64(1, tra_min64(c->bound.v[0], f->rows));
    f->nblocks = tra_ceil_div(f->rows, f->block);
    if (tra_mul_most(f->block, 8) >= INT64_C(1) << 32)
        return tra_fail(e, TRA_INPUT, "%s:%s: its blocks have %" PRId64 " rows, more than HDF5 takes for a chunk",
                        w->path, w->name, f->block);
    if (!tra_mul(f->nblocks + 1, 4 * (2 * (int64_t)f->schema->n + 1), &cells) || cells > INT64_C(1) << 32)
        return tra_fail(e, TRA_RESOURCE, "%s:%s has too many blocks", w->path, w->name);
    set_parts(w->arena, f, true);
    p->sums = tra_calloc((size_t)(f->nparts * f->nblocks) + 1, sizeof *p->sums);
    p->masks = tra_calloc((size_t)f->nparts + 1, sizeof *p->masks);
    return TRA_OK;
}

/* Writes zeros to the part of the last chunks that is beyond the rows, since a file that is continued may have
 * something else there. */
static tra_status pad(tra_writer *w, tra_err *e) {
    static const char zeros[PIECE];
    const tra_table_form *f = &w->table->form;
    for (int i = 0; i < f->nparts && f->rows > 0; i++) {
        const tra_table_part *p = &f->part[i];
        int64_t last = f->nblocks - 1, at = tra_table_block_rows(f, last) * p->size, end = f->block * p->size;
        for (int64_t n; at < end; at += n) {
            n = tra_min64(PIECE, end - at);
            TRA_TRY(tra_pwrite(w->data_fd, zeros, (size_t)n, p->addr[last] + at, w->temp, e));
        }
    }
    return TRA_OK;
}

tra_status tra_writer_place_rows(tra_writer *w, const int64_t *rows, tra_err *e) {
    TRA_TRY(lay_out(w, rows, e));
    tra_h5_enter();
    tra_status s = create_arrays(w, e);
    int64_t end = (int64_t)w->vfd->eof;
    tra_h5_leave();
    if (s != TRA_OK) return s;
    TRA_TRY(tra_writer_reserve(w, w->fd, end, e));
    if (w->codec.zstd) TRA_TRY(tra_raw_create(w, w->table->end, e));
    return pad(w, e);
}

/* ---- several processes ------------------------------------------------------------------------------------------ */

/* The blob: the rows of each tuple, then the addresses of all chunks. */
void tra_table_blob(const tra_writer *w, tra_str *blob) {
    const struct tra_table_placing *p = w->table;
    for (int64_t t = 0; t < w->type.cat->n; t++) {
        int64_t rows = p->begin[t + 1] - p->begin[t];
        tra_str_addn(blob, (const char *)&rows, sizeof rows);
    }
    for (int i = 0; i < p->form.nparts; i++)
        tra_str_addn(blob, (const char *)p->form.part[i].addr, (size_t)p->form.nblocks * sizeof(int64_t));
}

tra_status tra_table_unblob(tra_writer *w, const char *blob, size_t n, tra_err *e) {
    size_t counts = (size_t)w->type.cat->n * sizeof(int64_t);
    int64_t *rows = tra_malloc(counts + 1);
    TRA_TRY(tra_table_prepare(w, NULL, e));
    tra_table_form *f = &w->table->form;
    if (n >= counts) memcpy(rows, blob, counts);
    tra_status s = n >= counts ? lay_out(w, rows, e) : TRA_INTERNAL;
    free(rows);
    size_t places = counts + (size_t)f->nparts * (size_t)f->nblocks * sizeof(int64_t);
    if (s != TRA_OK || n != places)
        return tra_fail(e, TRA_INTERNAL, "the description of an output does not fit its type");
    for (int i = 0; i < f->nparts; i++)
        memcpy(f->part[i].addr, blob + counts + (size_t)i * (size_t)f->nblocks * 8, (size_t)f->nblocks * 8);
    return TRA_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static const double quiet = NAN;

/* Encodes n rows of a column, from row `at` on, as the file has them, NULLs included. */
static void encode(const tra_column *c, const tra_table_part *p, const tra_vector *v, int64_t at, int64_t n, char *to) {
    const uint8_t *state = v->state ? v->state + at : NULL;
    if (p->mask) {
        for (int64_t i = 0; i < n; i++) to[i] = state && state[i] != 0;
        return;
    }
    const char *from = (const char *)v->values + (size_t)at * tra_coltype_size(c->type);
    if (tra_coltype_is_coded(c->type)) {
        const int32_t *code = (const int32_t *)from;
        for (int64_t i = 0; i < n; i++) {
            int32_t x = state && state[i] ? -1 : code[i];
            int16_t half = (int16_t)x;
            if (p->size == 1)
                to[i] = (char)x;
            else
                memcpy(to + i * p->size, p->size == 2 ? (void *)&half : (void *)&x, (size_t)p->size);
        }
        return;
    }
    memcpy(to, from, (size_t)n * (size_t)p->size);
    if (!state || !tra_coltype_is_float(c->type)) return;
    float narrow = (float)quiet;
    for (int64_t i = 0; i < n; i++)
        if (state[i])
            memcpy(to + i * p->size, p->size == 4 ? (const void *)&narrow : (const void *)&quiet, (size_t)p->size);
}

/* Writes n rows of one array, from row `at` of v, which lie within one block. */
static tra_status put_part(tra_writer *w, const tra_table_part *p, const tra_vector *v, int64_t at, int64_t first,
                           int64_t n, tra_err *e) {
    const tra_table_form *f = &w->table->form;
    const tra_column *c = &f->schema->v[p->column];
    int64_t block = first / f->block, to = p->addr[block] + first % f->block * p->size;
    bool as_is = !p->mask && !tra_coltype_is_coded(c->type) && !(v->state && tra_coltype_is_float(c->type));
    if (as_is)
        return tra_pwrite(w->data_fd, (const char *)v->values + (size_t)at * (size_t)p->size, (size_t)(n * p->size), to,
                          w->temp, e);
    char piece[PIECE];
    for (int64_t k; n > 0; n -= k, at += k, to += k * p->size) {
        k = tra_min64(n, PIECE / p->size);
        encode(c, p, v, at, k, piece);
        TRA_TRY(tra_pwrite(w->data_fd, piece, (size_t)(k * p->size), to, w->temp, e));
    }
    return TRA_OK;
}

static tra_status check_states(const tra_writer *w, int64_t first, const tra_batch *b, int c, tra_err *e) {
    const tra_column *col = &w->type.columns->v[c];
    const uint8_t *state = b->v[c].state;
    const uint8_t *error = state ? memchr(state, TRA_STATE_ERROR, (size_t)b->rows) : NULL;
    if (error && tra_coltype_is_coded(col->type))
        return tra_fail(e, TRA_INPUT,
                        "row %" PRId64
                        ": column %s could not be computed: an integer does not fit, or a string is too long",
                        first + (error - state), col->name);
    if (error)
        return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW,
                             "row %" PRId64 ": column %s could not be computed: an integer does not fit %s",
                             first + (error - state), col->name, tra_coltype_name(col->type));
    if (state && !col->nullable && memchr(state, TRA_STATE_NULL, (size_t)b->rows))
        return tra_fail(e, TRA_INTERNAL, "%s: a NULL in column \"%s\", which has none by its type", w->path, col->name);
    return TRA_OK;
}

tra_status tra_writer_put_rows(tra_writer *w, int64_t first, const tra_batch *b, tra_err *e) {
    const tra_table_form *f = &w->table->form;
    if (first < 0 || b->rows > f->rows - first)
        return tra_fail(e, TRA_INTERNAL, "%s gets rows that it has no place for", w->path);
    for (int c = 0; c < f->schema->n; c++) TRA_TRY(check_states(w, first, b, c, e));
    for (int i = 0; i < f->nparts; i++) {
        const tra_table_part *p = &f->part[i];
        for (int64_t at = 0, n; at < b->rows; at += n) {
            n = tra_min64(b->rows - at, f->block - (first + at) % f->block);
            TRA_TRY(put_part(w, p, &b->v[p->column], at, first + at, n, e));
        }
    }
    return TRA_OK;
}

tra_status tra_table_put(tra_writer *w, int64_t ordinal, const void *block, void *scratch, tra_err *e) {
    (void)scratch;
    const struct tra_table_placing *p = w->table;
    tra_batch b;
    tra_vector *v = tra_calloc((size_t)w->type.columns->n + 1, sizeof *v);
    b.v = v;
    tra_cell cell;
    tra_status s = tra_cell_of(&w->type, ordinal, (void *)block, INT64_MAX / 4, &cell, e);
    if (s == TRA_OK) s = tra_columns_of(&cell, w->type.columns, &b, e);
    if (s == TRA_OK && b.rows != p->begin[ordinal + 1] - p->begin[ordinal])
        s = tra_fail(e, TRA_INTERNAL, "block %" PRId64 " of %s does not have the rows that were counted", ordinal,
                     w->path);
    if (s == TRA_OK) s = tra_writer_put_rows(w, p->begin[ordinal], &b, e);
    free(v);
    return s;
}
