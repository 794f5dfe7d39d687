/* file.c - opening a relation: which dataset, of what type, with which tuples, and how its bytes can be reached. */
#include "block.h"
#include "stored_int.h"
#include "table_hook.h"
#include "zfilter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BAD(r, e, fmt, ...) tra_fail(e, TRA_INPUT, "%s:%s: " fmt, (r)->path, (r)->name, __VA_ARGS__)

void tra_relspec(tra_arena *a, const char *spec, const char **path, const char **name) {
    const char *colon = strrchr(spec, ':'), *two = strstr(spec, "::");
    struct stat st;
    *path = tra_arena_strndup(a, spec, strlen(spec));
    *name = NULL;
    if (two && two > spec && two[2]) colon = two; /* all that comes after is the name */
    const char *after = colon ? colon + (colon == two ? 2 : 1) : "";
    if (!colon || colon == spec || !*after || lstat(spec, &st) == 0) return;
    const char *before = tra_arena_strndup(a, spec, (size_t)(colon - spec));
    if (stat(before, &st) == 0 && S_ISDIR(st.st_mode)) return;
    *path = before;
    *name = tra_arena_strndup(a, after, strlen(after));
}

/* ---- which dataset -------------------------------------------------------------------------------------------- */

static tra_status open_file(tra_rel *r, tra_err *e) {
    TRA_TRY(tra_h5_open(r->path, &r->file, e));
    r->vfd = tra_vfd_of(r->file);
    return r->vfd ? TRA_OK : tra_fail(e, TRA_INTERNAL, "%s was opened by another driver", r->path);
}

enum { MAX_NAMES = 12, MAX_FILES = 16 /* that links lead through */ };

/* As many names as a message has room for. */
static const char *enumerate(tra_rel *r, const tra_relation_names *list) {
    const char *text = "";
    for (int i = 0; i < list->n; i++) {
        bool more = i == MAX_NAMES - 1;
        text = tra_arena_printf(r->arena, "%s%s%s", text, i ? ", " : "", more ? "..." : list->name[i]);
    }
    return text;
}

/* *elsewhere: the file in which the dataset is, when a link leads to another one, where it is r->name. */
static tra_status open_dataset(tra_rel *r, const char **elsewhere, tra_err *e) {
    tra_relation_names list;
    *elsewhere = NULL;
    if (!r->name && tra_h5_exists(r->file, "data")) r->name = "data";
    if (!r->name) {
        tra_h5_names(r->file, r->arena, MAX_NAMES, &list);
        if (list.n == 0)
            return tra_fail(
                e, TRA_INPUT,
                "%s holds no relation: no dataset of floats, integers or booleans, no table, and no sparse tensor",
                r->path);
        if (list.n > 1)
            return tra_fail(e, TRA_INPUT, "%s holds several relations: %s; name one as in %s%s%s", r->path,
                            enumerate(r, &list), r->path, strchr(list.name[0], ':') ? "::" : ":", list.name[0]);
        r->name = list.name[0];
    }
    if (!tra_h5_follow(r->file, r->path, &r->name, elsewhere, r->arena))
        return BAD(r, e, "%s", "its links go round in a circle");
    if (*elsewhere) return TRA_OK;
    if (strcmp(r->name, "/") != 0 && !tra_h5_exists(r->file, r->name)) {
        tra_h5_names(r->file, r->arena, MAX_NAMES, &list);
        return tra_fail(e, TRA_INPUT, "%s has no dataset %s%s%s", r->path, r->name, list.n ? "; it holds " : "",
                        enumerate(r, &list));
    }
    hid_t obj = H5Oopen(r->file, r->name, H5P_DEFAULT);
    if (obj < 0) return tra_h5_fail(e, TRA_INPUT, NULL, "%s:%s is damaged", r->path, r->name);
    if (H5Iget_type(obj) == H5I_GROUP && tra_table_is(obj)) {
        tra_table_begin(r);
    } else if (H5Iget_type(obj) == H5I_GROUP && tra_stored_is(obj)) {
        r->stored = tra_new(r->arena, struct tra_stored);
    } else if (H5Iget_type(obj) != H5I_DATASET) {
        H5Oclose(obj);
        return BAD(r, e, "%s", "it is neither a dataset nor a table nor a sparse tensor (binsparse, AnnData, 10x)");
    }
    r->dset = obj;
    hid_t file = H5Iget_file_id(obj);
    bool here = tra_vfd_of(file) == r->vfd;
    H5Fclose(file);
    return here ? TRA_OK : BAD(r, e, "%s", "it is a link to another file; name the relation there");
}

/* ---- the dataset as it is --------------------------------------------------------------------------------------- */

typedef struct header {
    tra_dims shape, chunk; /* chunk: of the file, when chunked */
    bool native;           /* elements are stored as they are in memory */
    size_t size;           /* of an element in the file */
    H5D_layout_t layout;
    bool reachable; /* chunks can be decoded here */
} header;

static tra_status read_type(tra_rel *r, header *h, tra_err *e) {
    static const char *const class_name[] = {
        [H5T_INTEGER] = "wide integer", [H5T_TIME] = "time",        [H5T_STRING] = "string",
        [H5T_BITFIELD] = "bitfield",    [H5T_OPAQUE] = "opaque",    [H5T_COMPOUND] = "compound",
        [H5T_REFERENCE] = "reference",  [H5T_ENUM] = "enumeration", [H5T_VLEN] = "variable length",
        [H5T_ARRAY] = "array"};
    hid_t type = H5Dget_type(r->dset);
    H5T_class_t c = H5Tget_class(type);
    bool readable = tra_h5_dtype(type, &r->type.dtype, &r->u64);
    r->size = tra_dtype_size(r->type.dtype);
    h->size = H5Tget_size(type);
    h->native = H5Tequal(type, tra_rel_memory_type(r)) > 0;
    H5Tclose(type);
    if (readable) return TRA_OK;
    bool known = c >= 0 && c < H5T_NCLASSES && class_name[c];
    return BAD(r, e, "its elements are of %s type; only floats, integers of at most 64 bits and booleans can be read",
               known ? class_name[c] : "no");
}

static tra_status read_space(tra_rel *r, header *h, tra_err *e) {
    hid_t space = H5Dget_space(r->dset);
    H5S_class_t c = H5Sget_simple_extent_type(space);
    int n = H5Sget_simple_extent_ndims(space);
    hsize_t dims[H5S_MAX_RANK];
    tra_status s = TRA_OK;
    if (c != H5S_SIMPLE && c != H5S_SCALAR) {
        s = BAD(r, e, "%s", "it has no elements (a null dataspace)");
    } else if (n < 0 || n > TRA_MAXDIM || H5Sget_simple_extent_dims(space, dims, NULL) < 0) {
        s = BAD(r, e, "it has %d dimensions; at most %d can be read", n, TRA_MAXDIM);
    } else {
        h->shape.n = n;
        for (int i = 0; i < n && s == TRA_OK; i++) {
            h->shape.v[i] = (int64_t)dims[i];
            if (dims[i] > INT64_MAX) s = BAD(r, e, "its extent along dimension %d is too large", i);
        }
    }
    r->scalar = n == 0;
    H5Sclose(space);
    return s;
}

static const char *filter_name(tra_rel *r, H5Z_filter_t id, const char *name) {
    switch (id) {
    case H5Z_FILTER_DEFLATE: return "gzip";
    case H5Z_FILTER_SHUFFLE: return "shuffle";
    case H5Z_FILTER_FLETCHER32: return "fletcher32";
    case H5Z_FILTER_SZIP: return "szip";
    case H5Z_FILTER_NBIT: return "nbit";
    case H5Z_FILTER_SCALEOFFSET: return "scaleoffset";
    case TRA_ZSTD_FILTER: return "zstd";
    }
    return name[0] ? tra_arena_printf(r->arena, "%d (%s)", (int)id, name) : tra_arena_printf(r->arena, "%d", (int)id);
}

static tra_status read_filters(tra_rel *r, hid_t dcpl, header *h, tra_err *e) {
    int n = H5Pget_nfilters(dcpl);
    unsigned opts = 0;
    bool other = false;
    r->pipeline = TRA_PIPELINE_NONE;
    r->info.codec = "none";
    for (int i = 0; i < n; i++) {
        char name[128] = "";
        unsigned flags;
        size_t ncd = 0;
        H5Z_filter_t id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &ncd, NULL, sizeof name, name, NULL);
        const char *text = filter_name(r, id, name);
        if (H5Zfilter_avail(id) <= 0)
            return BAD(r, e, "its chunks went through the HDF5 filter %s, whose plugin is not installed here", text);
        if (id == H5Z_FILTER_SHUFFLE && r->pipeline.shuffle < 0 && r->pipeline.zstd < 0)
            r->pipeline.shuffle = i;
        else if (id == TRA_ZSTD_FILTER && r->pipeline.zstd < 0)
            r->pipeline.zstd = i;
        else
            other = true;
        r->info.codec = i ? tra_arena_printf(r->arena, "%s,%s", r->info.codec, text) : text;
    }
    if (!other && r->pipeline.zstd >= 0) r->info.codec = "zstd";
    H5Pget_chunk_opts(dcpl, &opts);
    /* with DONT_FILTER_PARTIAL_CHUNKS the mask of an edge chunk does not tell that it was stored raw */
    h->reachable = !other && !(n > 0 && opts & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    return TRA_OK;
}

/* HDF5 decodes a chunk from one buffer to another. It converts elements in 1 MiB, which the process has room for. */
static int64_t library_bytes(const header *h) {
    int64_t n;
    if (!tra_dims_product(&h->chunk, &n) || !tra_mul(n, 2 * (int64_t)h->size, &n)) n = INT64_MAX / 4;
    return n + n / 128;
}

static tra_status read_layout(tra_rel *r, header *h, tra_err *e) {
    hid_t dcpl = H5Dget_create_plist(r->dset);
    hsize_t chunk[H5S_MAX_RANK];
    tra_status s = TRA_OK;
    bool filters = H5Pget_nfilters(dcpl) > 0;
    h->layout = H5Pget_layout(dcpl);
    r->how = TRA_BY_LIBRARY;
    r->info.codec = "none";
    if (h->layout == H5D_CHUNKED) {
        h->chunk.n = h->shape.n;
        H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
        for (int i = 0; i < h->shape.n; i++) h->chunk.v[i] = (int64_t)chunk[i];
        s = read_filters(r, dcpl, h, e);
        if (h->native && h->reachable) r->how = TRA_BY_CHUNK;
        H5Pget_fill_value(dcpl, tra_rel_memory_type(r), r->fill);
    } else if (h->layout == H5D_CONTIGUOUS && h->native && H5Pget_external_count(dcpl) == 0) {
        /* before the first write there is no address, but behind a user block the library adds it to "undefined" */
        haddr_t at = H5Dget_storage_size(r->dset) > 0 ? H5Dget_offset(r->dset) : HADDR_UNDEF;
        if (at != HADDR_UNDEF) {
            r->how = TRA_BY_ROW;
            r->base = (int64_t)at;
        }
    } else if (h->layout == H5D_VIRTUAL) {
        s = tra_h5_parts(dcpl, r->path, r->name, &r->parts, e);
    }
    H5Pclose(dcpl);
    if (r->how != TRA_BY_LIBRARY) return s;
    tra_return_large();
    if (filters) r->library = library_bytes(h);
    return s;
}

/* ---- the relation that it is ------------------------------------------------------------------------------------ */

static tra_status grid_of(tra_rel *r, const tra_dims *frontier, const tra_dims *bound, const int8_t *by,
                          const int64_t *last, tra_catalog *out, tra_err *e) {
    char buf[TRA_DIMTEXT];
    int64_t n;
    if (!tra_dims_product(frontier, &n))
        return BAD(r, e, "it has more than 2^63 chunks: %s", tra_shape_text(frontier, buf));
    return tra_catalog_grid(frontier, bound, by, last, out, e);
}

static tra_status foreign(tra_rel *r, const header *h, const tra_dims *block, tra_err *e) {
    int n = h->shape.n;
    tra_dims b;
    if (2 * n > TRA_MAXDIM) return BAD(r, e, "it has %d dimensions; at most %d can be read", n, TRA_MAXDIM / 2);
    if (h->layout == H5D_CHUNKED) {
        b = h->chunk;
    } else if (block) {
        b = *block;
        TRA_TRY(tra_block_fit(&h->shape, &b, e));
    } else {
        tra_block_choose(&h->shape, &b);
    }
    int64_t cells = 1;
    for (int i = 0; i < n; i++) {
        r->type.cut[i] = 1u << i;
        if (!tra_mul(cells, tra_ceil_div(h->shape.v[i], tra_max64(1, b.v[i])), &cells))
            return BAD(r, e, "%s", "it has more than 2^63 chunks");
    }
    return tra_catalog_blocks(&h->shape, &b, &r->cat, e);
}

/* tra_keys: for each key dimension the array dimension that it blocks, or -1. */
static tra_status read_keys(tra_rel *r, int lead, int rank, int64_t keys[TRA_MAXDIM], int *k, tra_err *e) {
    int64_t n = tra_h5_get_ints(r->dset, "tra_keys", keys, TRA_MAXDIM);
    if (n < 0 && H5Aexists(r->dset, "tra_keys") > 0) return BAD(r, e, "%s", "its attribute tra_keys is malformed");
    if (n < 0) {
        n = lead + rank;
        for (int d = 0; d < n && n <= TRA_MAXDIM; d++) keys[d] = d < lead ? -1 : d - lead;
    }
    int free_keys = 0;
    uint32_t seen = 0;
    for (int64_t d = 0; d < n; d++) {
        bool bad = keys[d] < -1 || keys[d] >= rank || (keys[d] >= 0 && seen >> keys[d] & 1);
        if (bad) return BAD(r, e, "its attribute tra_keys is malformed (entry %" PRId64 ")", d);
        if (keys[d] < 0)
            free_keys++;
        else
            seen |= 1u << keys[d];
    }
    if (n + rank > TRA_MAXDIM)
        return BAD(r, e, "it has %" PRId64 " key and %d array dimensions; at most %d together", n, rank, TRA_MAXDIM);
    if (free_keys != lead)
        return BAD(r, e, "its attributes tra_keys and tra_rank want %d dimensions, the dataset has %d",
                   free_keys + rank, lead + rank);
    *k = (int)n;
    return TRA_OK;
}

static tra_status rechunked(tra_rel *r, tra_err *e) {
    return BAD(r, e, "%s",
               "its chunks are not those of its attributes: it was rewritten with other chunks; import it "
               "again");
}

static tra_status tensor_layout(tra_rel *r, const header *h, int rank, tra_catalog *grid, tra_err *e) {
    int lead = h->shape.n - rank, k = 0, next = 0;
    int64_t keys[TRA_MAXDIM], last[TRA_MAXDIM];
    int8_t by[TRA_MAXDIM];
    tra_dims frontier, bound = {.n = rank};
    if (rank == 0 && tra_h5_get_ints(r->dset, "tra_keys", keys, TRA_MAXDIM) == 0) lead = 0; /* k + r = 0: shape [1] */
    TRA_TRY(read_keys(r, lead, rank, keys, &k, e));
    if (h->shape.n == 1 && k + rank == 0 && h->shape.v[0] != 1) return rechunked(r, e);
    for (int a = 0; a < rank; a++) {
        int64_t n = h->shape.v[lead + a], c = h->chunk.v[lead + a];
        by[a] = -1;
        bound.v[a] = last[a] = tra_max64(1, tra_min64(n, c));
        for (int d = 0; d < k; d++) {
            if (keys[d] == a) by[a] = (int8_t)d;
        }
        if (by[a] < 0 && n > c) return rechunked(r, e);
        if (by[a] < 0) bound.v[a] = last[a] = n;
        r->type.cut[a] = by[a] < 0 ? 0 : 1u << by[a];
    }
    frontier.n = k;
    for (int d = 0; d < k; d++) {
        if (keys[d] < 0) {
            if (h->chunk.v[next] != 1) return rechunked(r, e);
            frontier.v[d] = h->shape.v[next++];
            continue;
        }
        int a = (int)keys[d];
        int64_t n = h->shape.v[lead + a];
        frontier.v[d] = tra_ceil_div(n, bound.v[a]);
        if (n > 0) last[a] = n - (frontier.v[d] - 1) * bound.v[a];
    }
    return grid_of(r, &frontier, &bound, by, last, grid, e);
}

static tra_status tuple_layout(tra_rel *r, const header *h, int rank, tra_catalog *grid, tra_err *e) {
    int k = h->shape.n - rank;
    int64_t v[3 * TRA_MAXDIM], cuts[TRA_MAXDIM], last[TRA_MAXDIM];
    int8_t by[TRA_MAXDIM];
    tra_dims frontier = h->shape, bound = {.n = rank};
    frontier.n = k;
    int64_t ncuts = tra_h5_get_ints(r->dset, "tra_cuts", cuts, TRA_MAXDIM);
    int64_t n = tra_h5_get_ints(r->dset, "tra_extents", v, 3 * TRA_MAXDIM);
    if (ncuts >= 0 && ncuts != rank) return BAD(r, e, "%s", "its attribute tra_cuts is malformed");
    if (n >= 0 && n != 3 * rank) return BAD(r, e, "%s", "its attribute tra_extents is malformed");
    for (int i = 0; i < h->shape.n; i++) {
        if (i < k ? h->chunk.v[i] != 1 : h->chunk.v[i] < h->shape.v[i]) return rechunked(r, e);
    }
    for (int a = 0; a < rank; a++) {
        int64_t max = h->shape.v[k + a], *x = v + 3 * a;
        by[a] = -1;
        bound.v[a] = last[a] = max;
        if (ncuts >= 0 && (cuts[a] < 0 || cuts[a] >> k != 0))
            return BAD(r, e, "%s", "its attribute tra_cuts is malformed");
        r->type.cut[a] = ncuts >= 0 ? (uint32_t)cuts[a] : 0;
        if (n < 0) continue;
        if (x[0] < -1 || x[0] >= k || x[1] < 0 || x[1] > max || x[2] < 0 || x[2] > x[1])
            return BAD(r, e, "%s", "its attribute tra_extents is malformed");
        by[a] = (int8_t)x[0];
        bound.v[a] = x[1];
        last[a] = x[2];
    }
    return grid_of(r, &frontier, &bound, by, last, grid, e);
}

/* ---- holes ------------------------------------------------------------------------------------------------------ */

/* A table of .tra/NAME with n rows (of width w, when w > 0); NULL when it is not there, of another form, or damaged. */
static int64_t *read_table(tra_rel *r, const char *table, int64_t n, int w) {
    const char *path = tra_table_path(r->arena, r->name, table);
    if (!r->tables || !tra_h5_exists(r->file, path)) return NULL;
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT), space = H5Dget_space(dset);
    hsize_t dims[H5S_MAX_RANK];
    bool ok = dset >= 0 && H5Sget_simple_extent_ndims(space) == (w > 0 ? 2 : 1) &&
              H5Sget_simple_extent_dims(space, dims, NULL) >= 0 && dims[0] == (hsize_t)n && tra_h5_is_numeric(dset) &&
              (w == 0 || dims[1] == (hsize_t)w);
    int64_t *v = ok ? malloc((size_t)(n * (w ? w : 1)) * sizeof *v + 1) : NULL;
    bool read = v && (n == 0 || H5Dread(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0);
    if (v && !(read && tra_h5_sealed(dset, v, n * (w ? w : 1)))) {
        free(v);
        v = NULL;
    }
    H5Sclose(space);
    H5Dclose(dset);
    return v;
}

/* Rows of a table that is there, or -1. */
static int64_t rows_of(tra_rel *r, const char *table) {
    const char *path = tra_table_path(r->arena, r->name, table);
    if (!r->tables || !tra_h5_exists(r->file, path)) return -1;
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT), space = H5Dget_space(dset);
    hsize_t dims[H5S_MAX_RANK];
    bool ok = dset >= 0 && H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, dims, NULL) >= 0;
    H5Sclose(space);
    H5Dclose(dset);
    return ok ? (int64_t)dims[0] : -1;
}

/* Without a table of keys: asks the index for each cell of the grid. */
static tra_status scan_keys(tra_rel *r, const tra_catalog *grid, int64_t n, int64_t **out, tra_err *e) {
    if (grid->n > TRA_MAX_LIST || n > grid->n)
        return BAD(r, e,
                   "it has holes among %" PRId64 " chunks and no table of keys (.tra/%s/keys); too many to search",
                   grid->n, r->name);
    int64_t *pos = tra_malloc((size_t)tra_max64(1, n) * sizeof *pos), found = 0;
    for (int64_t i = 0; i < grid->n; i++) {
        tra_dims key;
        int64_t off[TRA_MAXDIM];
        hsize_t at[TRA_MAXDIM], bytes = 0;
        tra_unlinear(&grid->frontier, i, &key);
        tra_geom_offset(&r->geom, &key, off);
        for (int d = 0; d < r->geom.dims.n; d++) at[d] = (hsize_t)off[d];
        if (H5Dget_chunk_storage_size(r->dset, at, &bytes) < 0 || bytes == 0) continue;
        if (found < n) pos[found] = i;
        found++;
    }
    *out = pos;
    if (found == n) return TRA_OK;
    free(pos);
    return BAD(r, e, "its chunk index is damaged: %" PRId64 " chunks, %" PRId64 " found", n, found);
}

static tra_status list_of(tra_rel *r, const tra_catalog *grid, int64_t n, const int64_t *pos, const int64_t *ext,
                          tra_err *e) {
    tra_status s = TRA_OK;
    tra_catbuilder *b = tra_catbuilder_new(grid->frontier.n, grid->bound.n);
    for (int64_t i = 0; i < n && s == TRA_OK; i++) {
        tra_dims key, x;
        if (pos[i] < 0 || pos[i] >= grid->n || (i && pos[i] <= pos[i - 1])) {
            s = BAD(r, e, "%s", "its table of keys is damaged");
            break;
        }
        tra_unlinear(&grid->frontier, pos[i], &key);
        tra_catalog_ext(grid, pos[i], &x);
        for (int a = 0; ext && a < x.n; a++) {
            int64_t v = ext[i * x.n + a];
            if (v < 0 || v > x.v[a]) s = BAD(r, e, "%s", "its table of extents is damaged");
            x.v[a] = v;
        }
        if (s == TRA_OK) s = tra_catbuilder_add(b, &key, &x, i, e);
    }
    if (s != TRA_OK) {
        tra_catbuilder_free(b);
        return s;
    }
    s = tra_catbuilder_finish(b, r->arena, &r->cat, NULL, NULL, e);
    if (s == TRA_OK && !r->cat.grid) r->cat.bound = grid->bound; /* holes have it too */
    return s;
}

/* From the grid of all possible keys to the catalog of those n that exist. */
static tra_status list_tuples(tra_rel *r, const tra_catalog *grid, int64_t n, tra_err *e) {
    const char *unit = r->stored ? "block" : "chunk";
    int64_t *pos = NULL, *ext = NULL;
    bool table = H5Aexists(r->dset, "tra_extents") > 0 && tra_h5_get_text(r->dset, "tra_extents", r->arena);
    tra_status s = TRA_OK;
    int64_t keys = rows_of(r, "keys");
    if (n == grid->n && !table && keys < 0) {
        r->cat = *grid;
        return TRA_OK;
    }
    if (r->tables && keys < 0 && !table)
        return BAD(r, e, "its %s index is damaged: %" PRId64 " %ss of %" PRId64, unit, n, unit, grid->n);
    if (keys >= 0 && keys != n)
        return BAD(r, e, "its %s index is damaged: %" PRId64 " %ss, but its table of keys (.tra/%s/keys) has %" PRId64,
                   unit, n, unit, r->name, keys);
    if (!(pos = read_table(r, "keys", n, 0))) {
        if (r->stored) return BAD(r, e, "its keys are damaged (.tra/%s/keys)", r->name);
        s = scan_keys(r, grid, n, &pos, e);
    }
    if (s == TRA_OK && table && !(ext = read_table(r, "extents", n, grid->bound.n)))
        s = BAD(r, e, "the extents of its arrays are missing or damaged (.tra/%s/extents)", r->name);
    if (s == TRA_OK) s = list_of(r, grid, n, pos, ext, e);
    free(pos);
    free(ext);
    return s;
}

static tra_status find_tuples(tra_rel *r, const tra_catalog *grid, tra_err *e) {
    hsize_t n = 0;
    tra_status s = TRA_OK;
    hid_t space = H5Dget_space(r->dset);
    if (grid->n > 0 && H5Dget_num_chunks(r->dset, space, &n) < 0)
        s = tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s: its chunk index is damaged", r->path, r->name);
    H5Sclose(space);
    return s == TRA_OK ? list_tuples(r, grid, (int64_t)n, e) : s;
}

/* ---- putting it together ---------------------------------------------------------------------------------------- */

static tra_status unlike(const tra_rel *r, tra_err *e) {
    return BAD(r, e, "%s", "its attributes, type or extents are not those that it was written with: it is damaged");
}

/* Tables are believed only as long as the dataset has the form they were made for; then they tell whether attributes
 * are gone, or were changed. */
static tra_status find_tables(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[TRA_HEADER];
    bool whole = true, sealed = H5Aexists(r->dset, "tra_seal") > 0;
    if (tra_h5_exists(r->file, path)) {
        hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
        const char *then = group >= 0 ? tra_h5_get_text(group, "tra_pipeline", r->arena) : NULL;
        r->tables = then && strcmp(then, tra_h5_pipeline(r->dset, r->arena)) == 0;
        r->checksums = r->tables && r->how == TRA_BY_CHUNK && H5Lexists(group, "xxh64", H5P_DEFAULT) > 0;
        whole = !r->tables || tra_h5_sealed(group, header, tra_h5_header(r->dset, header));
        if (group >= 0) H5Gclose(group);
        if (!r->tables) {
            tra_warn("%s:%s was rewritten by another program (other chunks or filters): its checksums are ignored",
                     r->path, r->name);
            return TRA_OK;
        }
    }
    if (!whole) return unlike(r, e);
    r->info.lost = sealed && r->how == TRA_BY_CHUNK && !r->checksums;
    if (r->info.lost) /* what is exported with other filters never had them */
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return TRA_OK;
}

/* Is the dataset a relation of tra? Without tra_format and tra_seal it is another program's, unless something else of
 * tra is there: what lost these two is damaged, and its holes and keys must not be read as if it were not. */
static tra_status find_owner(tra_rel *r, tra_err *e) {
    static const char *const others[] = {"tra_rank", "tra_layout", "tra_keys", "tra_cuts", "tra_extents"};
    htri_t format = H5Aexists(r->dset, "tra_format"), seal = H5Aexists(r->dset, "tra_seal");
    if (format < 0 || seal < 0)
        return tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s: its attributes are damaged", r->path, r->name);
    r->ours = format > 0 || seal > 0;
    const char *left = NULL, *tables = tra_table_path(r->arena, r->name, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others && !left; i++) {
        if (H5Aexists(r->dset, others[i]) > 0) left = others[i];
    }
    if (r->ours || (!left && !tra_h5_exists(r->file, tables))) return TRA_OK;
    if (left) return BAD(r, e, "it has lost its attribute tra_format but not %s: it is damaged", left);
    return BAD(r, e,
               "there are tables of tra about it (%s), but it has none of the attributes of a relation: it is damaged, "
               "or was replaced by another program, which should remove the tables too",
               tables);
}

static tra_status read_attributes(tra_rel *r, const header *h, bool *tuple, int *rank, tra_err *e) {
    int64_t v = 1, header[TRA_STORED_HEADER];
    TRA_TRY(find_owner(r, e));
    if (!r->ours) return TRA_OK;
    const char *layout = tra_h5_get_text(r->dset, "tra_layout", r->arena);
    if (tra_h5_get_ints(r->dset, "tra_format", &v, 1) != 1 || v < 1)
        return BAD(r, e, "%s", "its attribute tra_format is malformed");
    if (v > 1) return BAD(r, e, "its format is %" PRId64 "; this tra reads format 1", v);
    *tuple = layout && strcmp(layout, "tuple") == 0;
    if (layout && !*tuple && strcmp(layout, "tensor") != 0)
        return BAD(r, e, "its layout is \"%.60s\", which this tra does not know", layout);
    int n = r->stored ? tra_stored_header(r->dset, header) : tra_h5_header(r->dset, header);
    if (!tra_h5_sealed(r->dset, header, n)) return unlike(r, e);
    if (tra_h5_get_ints(r->dset, "tra_rank", &v, 1) != 1 || v < 0 || v > h->shape.n)
        return BAD(r, e, "its attribute tra_rank is missing or does not fit a dataset of %d dimensions", h->shape.n);
    *rank = (int)v;
    if (h->layout != H5D_CHUNKED) {
        tra_warn("%s:%s was rewritten by another program without chunks: it is read as a plain tensor", r->path,
                 r->name);
        r->ours = false;
    }
    return TRA_OK;
}

/* The geometry of the type, but with the extents that the file really has. */
static tra_status geometry(tra_rel *r, const header *h, bool tuple, tra_err *e) {
    r->type.cat = &r->cat;
    TRA_TRY(tra_geom_in(&r->type, tuple, &r->geom, e));
    if (!r->stored) TRA_TRY(tra_geom_fits(&r->type, &r->geom, e));
    if (h->shape.n == 0) return TRA_OK;
    r->geom.dims = h->shape;
    if (h->layout == H5D_CHUNKED) r->geom.chunk = h->chunk;
    for (int i = 0; i < h->shape.n; i++)
        r->geom.grid.v[i] = tra_ceil_div(r->geom.dims.v[i], tra_max64(1, r->geom.chunk.v[i]));
    bool counted = tra_dims_product(&r->geom.chunk, &r->geom.floats) || r->stored;
    if (!tra_dims_product(&r->geom.grid, &r->geom.cells) || !counted) return BAD(r, e, "%s", "it is too large");
    return TRA_OK;
}

static void keep_info(tra_rel *r, const header *h, bool tuple) {
    tra_relinfo *i = &r->info;
    i->path = r->path;
    i->name = r->name;
    i->foreign = !r->ours;
    i->layout = tuple && r->ours ? "tuple" : "tensor";
    i->dims = h->shape;
    i->chunk = r->geom.chunk;
    i->file_bytes = (int64_t)r->vfd->eof;
    i->checksums = r->checksums || i->checksums; /* those of a mapping's components are checked by now */
    i->digest = tra_h5_get_text(r->dset, "tra_digest", r->arena);
    i->history = tra_h5_get_text(r->dset, "tra_history", r->arena);
}

/* ---- a group of components -------------------------------------------------------------------------------------- */

/* The tables of a group tell whether attributes are gone, or were changed. */
static tra_status find_group_tables(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[TRA_STORED_HEADER];
    if (!tra_h5_exists(r->file, path))
        return BAD(r, e, "its tables (%s) are missing: where its blocks begin is not known", path);
    hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
    r->tables = group >= 0;
    r->checksums = r->tables && H5Lexists(group, "xxh64", H5P_DEFAULT) > 0;
    bool whole = r->tables && tra_h5_sealed(group, header, tra_stored_header(r->dset, header));
    if (group >= 0) H5Gclose(group);
    if (whole && !r->checksums)
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return whole ? TRA_OK : unlike(r, e);
}

static tra_status own_shape(tra_rel *r, header *h, tra_err *e) {
    int64_t n = tra_h5_get_ints(r->dset, "tra_shape", h->shape.v, TRA_MAXDIM);
    if (n < 1 || n != tra_h5_get_ints(r->dset, "tra_block", h->chunk.v, TRA_MAXDIM))
        return BAD(r, e, "%s", "its attributes tra_shape and tra_block are missing or do not fit each other");
    h->shape.n = h->chunk.n = (int)n;
    h->layout = H5D_CHUNKED;
    for (int i = 0; i < (int)n; i++)
        if (h->shape.v[i] < 0 || h->chunk.v[i] < 1) return BAD(r, e, "%s", "its extents are damaged");
    return TRA_OK;
}

static tra_status open_stored(tra_rel *r, const tra_dims *block, tra_err *e) {
    header h = {0};
    bool tuple = false;
    int rank = 0;
    int64_t n, numbers[TRA_STORED_HEADER];
    tra_catalog grid;
    r->size = 8;
    r->info.codec = "none";
    TRA_TRY(find_owner(r, e));
    bool mapping = tra_stored_is_mapping(tra_h5_get_text(r->dset, "tra_storage", r->arena)) &&
                   H5Aexists(r->dset, "tra_block") <= 0; /* of the whole tensor */
    if (r->ours && mapping && !tra_h5_sealed(r->dset, numbers, tra_stored_header(r->dset, numbers)))
        return BAD(r, e, "%s", "its attributes are not those that tra wrote: it is damaged, or another program's");
    if (!r->ours || mapping) {
        TRA_TRY(tra_stored_foreign(r, block, e));
        TRA_TRY(geometry(r, &(header){0}, false, e));
        tra_type_shape(&r->type, &h.shape);
        keep_info(r, &h, false);
        return TRA_OK;
    }
    TRA_TRY(own_shape(r, &h, e));
    TRA_TRY(read_attributes(r, &h, &tuple, &rank, e));
    TRA_TRY(tuple ? tuple_layout(r, &h, rank, &grid, e) : tensor_layout(r, &h, rank, &grid, e));
    TRA_TRY(find_group_tables(r, e));
    TRA_TRY(tra_stored_tuples(r, &n, e));
    r->cat = grid;
    TRA_TRY(geometry(r, &h, tuple, e));
    TRA_TRY(list_tuples(r, &grid, n, e));
    TRA_TRY(tra_stored_open(r, e));
    keep_info(r, &h, tuple);
    return TRA_OK;
}

static tra_status open_relation(tra_rel *r, const tra_dims *block, const char **elsewhere, tra_err *e) {
    header h = {0};
    bool tuple = false;
    int rank = 0;
    tra_catalog grid;
    TRA_TRY(open_file(r, e));
    TRA_TRY(open_dataset(r, elsewhere, e));
    if (*elsewhere) return TRA_OK;
    if (r->table) return tra_table_open(r, e);
    if (r->stored) return open_stored(r, block, e);
    TRA_TRY(read_type(r, &h, e));
    TRA_TRY(read_space(r, &h, e));
    TRA_TRY(read_layout(r, &h, e));
    TRA_TRY(read_attributes(r, &h, &tuple, &rank, e));
    if (r->ours) {
        TRA_TRY(tuple ? tuple_layout(r, &h, rank, &grid, e) : tensor_layout(r, &h, rank, &grid, e));
        r->cat = grid; /* for the geometry, by which the search for holes finds chunks */
        TRA_TRY(geometry(r, &h, tuple, e));
        TRA_TRY(find_tables(r, e));
        TRA_TRY(find_tuples(r, &grid, e));
    } else {
        TRA_TRY(foreign(r, &h, block, e));
        TRA_TRY(geometry(r, &h, false, e));
    }
    keep_info(r, &h, tuple);
    return TRA_OK;
}

/* ---- positions -------------------------------------------------------------------------------------------------- */

/* No path that a user means: a folder of that name would end in one slash. */
static const char positions[] = "index://";

const char *tra_rel_positions(tra_arena *a, int64_t extent, int64_t block) {
    return tra_arena_printf(a, "%s%" PRId64 "/%" PRId64, positions, extent, block);
}

static tra_status open_positions(tra_rel *r, const char *spec, tra_err *e) {
    tra_dims shape = {.n = 1}, block = {.n = 1};
    const char *text = spec + strlen(positions), *slash = strchr(text, '/');
    bool ok = slash && tra_parse_int(tra_arena_strndup(r->arena, text, (size_t)(slash - text)), &shape.v[0]) &&
              tra_parse_int(slash + 1, &block.v[0]) && shape.v[0] >= 0 && block.v[0] >= 1;
    if (!ok) return tra_fail(e, TRA_INPUT, "%s names no positions", spec);
    r->path = tra_arena_strndup(r->arena, spec, strlen(spec));
    r->name = "data";
    r->how = TRA_BY_POSITION;
    r->size = sizeof(int64_t);
    TRA_TRY(tra_catalog_blocks(&shape, &block, &r->cat, e));
    r->type = (tra_type){.dtype = TRA_I64, .cat = &r->cat, .cut = {1}};
    r->info = (tra_relinfo){
        .path = r->path, .name = r->name, .layout = "tensor", .dims = shape, .chunk = block, .codec = "none"};
    r->stored_known = true;
    return TRA_OK;
}

tra_status tra_rel_open(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_rel *r = tra_new(a, tra_rel);
    *out = NULL;
    r->arena = a;
    r->file = r->dset = r->direct = -1;
    tra_status s;
    if (strncmp(spec, positions, strlen(positions)) == 0) {
        s = open_positions(r, spec, e);
        if (s == TRA_OK)
            *out = r;
        else
            tra_rel_close(r);
        return s;
    }
    tra_relspec(a, spec, &r->path, &r->name);
    const char *elsewhere;
    int files = 0;
    do {
        elsewhere = NULL;
        s = tra_commit_settle(r->path, e);
        if (s != TRA_OK) break;
        tra_h5_enter();
        s = open_relation(r, block, &elsewhere, e);
        if (elsewhere) { /* the links of that file are looked at as of any */
            H5Fclose(r->file);
            r->file = -1;
            r->vfd = NULL;
            r->path = elsewhere;
            if (++files > MAX_FILES) s = BAD(r, e, "%s", "its links go round in a circle of files");
        }
        tra_h5_leave();
    } while (s == TRA_OK && elsewhere);
    if (s != TRA_OK)
        tra_rel_close(r);
    else
        *out = r;
    return s;
}

void tra_rel_close(tra_rel *r) {
    if (!r) return;
    tra_h5_enter();
    tra_stored_close(r);
    tra_table_close(r);
    if (r->dset >= 0) H5Oclose(r->dset);
    if (r->file >= 0) H5Fclose(r->file);
    tra_h5_leave();
    if (r->direct >= 0) close(r->direct);
    free(r->chunks);
    free(r->sums);
    free(r->checked);
    tra_arena_free(r->arena);
}
