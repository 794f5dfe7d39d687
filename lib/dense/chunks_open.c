/* chunks_open.c - opening a dataset whose chunks are the arrays: its type, extents, filters and layout. */

#include "chunks.h"
#include "../h5/zfilter.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the dataset as it is -------------------------------------------------------------------------------------- */

static tra_status read_type(tra_rel *r, tra_described *h, tra_err *e) {
    static const char *const class_name[] = {
        [H5T_INTEGER] = "wide integer", [H5T_TIME] = "time",        [H5T_STRING] = "string",
        [H5T_BITFIELD] = "bitfield",    [H5T_OPAQUE] = "opaque",    [H5T_COMPOUND] = "compound",
        [H5T_REFERENCE] = "reference",  [H5T_ENUM] = "enumeration", [H5T_VLEN] = "variable length",
        [H5T_ARRAY] = "array"};
    hid_t type = H5Dget_type(r->dset);
    H5T_class_t c = H5Tget_class(type);
    bool readable = tra_h5_dtype(type, &r->type.dtype, &r->u64);
    tra_status s = TRA_OK;
    if (readable && !r->raw && H5Aexists(r->dset, "tra_format") <= 0) {
        const char *where = tra_arena_printf(r->arena, "%s:%s", r->path, r->name);
        s = tra_decode_find(r->dset, where, r->arena, &r->decode, e);
    }
    r->size = tra_dtype_size(r->type.dtype);
    if (r->decode) {
        r->size = r->decode->size;
        r->type.dtype = r->decode->to;
        r->u64 = false;
    }
    h->size = H5Tget_size(type);
    h->native = H5Tequal(type, tra_rel_memory_type(r)) > 0;
    H5Tclose(type);
    const char *text = r->raw ? NULL : tra_h5_get_text(r->dset, "MATLAB_class", r->arena);
    if (readable && text && strcmp(text, "char") == 0)
        return TRA_REL_BAD(r, e, "it is text (MATLAB_class char), not numbers; raw:%s:%s reads its codes", r->path,
                           r->name);
    if (readable) return s;
    bool known = c >= 0 && c < H5T_NCLASSES && class_name[c];
    return TRA_REL_BAD(r, e,
                       "its elements are of %s type; only floats, integers of at most 64 bits and booleans can be read",
                       known ? class_name[c] : "no");
}

/* MATLAB and Octave store the extents in place of the elements where there are none. */
static bool read_empty(tra_rel *r, tra_described *h) {
    int64_t yes = 0;
    bool empty = (tra_h5_get_ints(r->dset, "MATLAB_empty", &yes, 1) == 1 && yes) ||
                 H5Aexists(r->dset, "OCTAVE_EMPTY_MATRIX") > 0;
    hid_t space = H5Dget_space(r->dset), type = H5Dget_type(r->dset);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    tra_dims shape = {.n = (int)n};
    empty = empty && !r->raw && H5Tget_class(type) == H5T_INTEGER && n > 0 && n <= TRA_MAXDIM &&
            H5Dread(r->dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, shape.v) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    int64_t all;
    for (int d = 0; d < shape.n && empty; d++) empty = shape.v[d] >= 0;
    if (!empty || !tra_dims_product(&shape, &all) || all != 0) return false;
    h->shape = shape;
    h->empty = true;
    r->turned = false;
    return true;
}

static tra_status read_space(tra_rel *r, tra_described *h, tra_err *e) {
    if (read_empty(r, h)) return TRA_OK;
    hid_t space = H5Dget_space(r->dset);
    H5S_class_t c = H5Sget_simple_extent_type(space);
    int n = H5Sget_simple_extent_ndims(space);
    hsize_t dims[H5S_MAX_RANK];
    tra_status s = TRA_OK;
    if (c != H5S_SIMPLE && c != H5S_SCALAR) {
        s = TRA_REL_BAD(r, e, "%s", "it has no elements (a null dataspace)");
    } else if (n < 0 || n > TRA_MAXDIM || H5Sget_simple_extent_dims(space, dims, NULL) < 0) {
        s = TRA_REL_BAD(r, e, "it has %d dimensions; at most %d can be read", n, TRA_MAXDIM);
    } else {
        h->shape.n = n;
        for (int i = 0; i < n && s == TRA_OK; i++) {
            h->shape.v[i] = (int64_t)dims[i];
            if (dims[i] > INT64_MAX) s = TRA_REL_BAD(r, e, "its extent along dimension %d is too large", i);
        }
    }
    r->scalar = n == 0;
    H5Sclose(space);
    return s;
}

static tra_status read_filters(tra_rel *r, hid_t dcpl, tra_described *h, tra_err *e) {
    int n = H5Pget_nfilters(dcpl);
    unsigned opts = 0;
    bool other = false;
    const char *missing = tra_h5_missing_filter(r->dset, r->arena);
    if (missing) return TRA_REL_BAD(r, e, "its chunks " TRA_MISSING_FILTER, missing);
    r->pipeline = TRA_PIPELINE_NONE;
    r->info.codec = "none";
    for (int i = 0; i < n; i++) {
        H5Z_filter_t id;
        const char *text = tra_h5_filter_at(dcpl, i, r->arena, &id);
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

/* Bytes that HDF5 takes to decode a chunk: two buffers. It converts elements in pieces of 1 MiB, which are part of what
 * every process is given. */
static int64_t library_bytes(const tra_described *h) {
    int64_t n;
    if (!tra_dims_product(&h->chunk, &n) || !tra_mul(n, 2 * (int64_t)h->size, &n)) n = INT64_MAX / 4;
    return n + n / 128;
}

/* The elements of what stands in for a file are in that file. */
static tra_status open_outside(tra_rel *r, hid_t dcpl, tra_err *e) {
    char file[PATH_MAX];
    off_t at;
    hsize_t size;
    if (H5Pget_external(dcpl, 0, sizeof file, file, &at, &size) < 0)
        return tra_h5_fail(e, TRA_INPUT, r->vfd, "%s does not say which file it stands in for", r->path);
    r->outside = open(file, O_RDONLY | O_CLOEXEC);
    if (r->outside < 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", file);
    r->how = TRA_BY_ROW;
    r->base = (int64_t)at;
    return TRA_OK;
}

static tra_status read_layout(tra_rel *r, tra_described *h, tra_err *e) {
    hid_t dcpl = H5Dget_create_plist(r->dset);
    hsize_t chunk[H5S_MAX_RANK];
    tra_status s = TRA_OK;
    bool filters = H5Pget_nfilters(dcpl) > 0;
    h->layout = H5Pget_layout(dcpl);
    r->how = TRA_BY_LIBRARY;
    r->info.codec = "none";
    if (h->empty) { /* so it has no chunks, and nothing is read */
        h->layout = H5D_CONTIGUOUS;
        H5Pclose(dcpl);
        return TRA_OK;
    }
    if (h->layout == H5D_CHUNKED) {
        h->chunk.n = h->shape.n;
        H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);
        for (int i = 0; i < h->shape.n; i++) h->chunk.v[i] = (int64_t)chunk[i];
        s = read_filters(r, dcpl, h, e);
        if (h->native && h->reachable) r->how = TRA_BY_CHUNK;
        H5Pget_fill_value(dcpl, tra_rel_memory_type(r), r->fill);
    } else if (h->layout == H5D_CONTIGUOUS && h->native && H5Pget_external_count(dcpl) == 0) {
        /* before the first write there is no address, yet in a file with a user block the library adds that to
         * "undefined" */
        haddr_t at = H5Dget_storage_size(r->dset) > 0 ? H5Dget_offset(r->dset) : HADDR_UNDEF;
        if (at != HADDR_UNDEF) {
            r->how = TRA_BY_ROW;
            r->base = (int64_t)at;
        }
    } else if (h->layout == H5D_CONTIGUOUS && h->native && r->stand_in.identity) {
        s = open_outside(r, dcpl, e);
    } else if (h->layout == H5D_VIRTUAL) {
        r->virtual = true;
        s = tra_h5_parts(dcpl, r->path, r->name, &r->parts_identity, e);
    }
    H5Pclose(dcpl);
    if (r->how != TRA_BY_LIBRARY) return s;
    tra_return_large_blocks();
    if (filters) r->library_bytes = library_bytes(h);
    return s;
}

/* ---- putting it together ---------------------------------------------------------------------------------------- */

/* Tables are used only as long as the dataset has the form for which they were made. Then their seal tells whether
 * attributes are gone or were changed. */
static tra_status find_tables(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[TRA_HEADER];
    bool whole = true, sealed = H5Aexists(r->dset, "tra_seal") > 0;
    if (tra_h5_exists(r->file, path)) {
        hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
        const char *then = group >= 0 ? tra_h5_get_text(group, "tra_pipeline", r->arena) : NULL;
        r->has_tables = then && strcmp(then, tra_h5_pipeline(r->dset, r->arena)) == 0;
        r->has_sums = r->has_tables && r->how == TRA_BY_CHUNK && H5Lexists(group, "xxh64", H5P_DEFAULT) > 0;
        whole = !r->has_tables || tra_h5_sealed(group, header, tra_h5_header(r->dset, header));
        if (group >= 0) H5Gclose(group);
        if (!r->has_tables) {
            tra_warn("%s:%s was rewritten by another program (other chunks or filters): its checksums are ignored",
                     r->path, r->name);
            return TRA_OK;
        }
    }
    if (!whole) return tra_described_changed(r, e);
    r->info.lost = sealed && r->how == TRA_BY_CHUNK && !r->has_sums;
    if (r->info.lost) /* relations exported with gzip have no seal: they never had any */
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return TRA_OK;
}

static tra_status foreign_blocks(tra_rel *r, const tra_described *h, const tra_dims *block, tra_err *e) {
    int n = h->shape.n;
    tra_dims b;
    if (2 * n > TRA_MAXDIM) return TRA_REL_BAD(r, e, "it has %d dimensions; at most %d can be read", n, TRA_MAXDIM / 2);
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
            return TRA_REL_BAD(r, e, "%s", "it has more than 2^63 chunks");
    }
    return tra_catalog_blocks(&h->shape, &b, &r->cat, e);
}

static tra_dims reversed(const tra_dims *d) {
    tra_dims r = {.n = d->n};
    for (int i = 0; i < d->n; i++) r.v[i] = d->v[d->n - 1 - i];
    return r;
}

static tra_status chunks_open(tra_rel *r, const tra_dims *block, tra_err *e) {
    tra_described h = {0};
    bool tuple = false;
    int rank = 0;
    tra_catalog grid;
    TRA_TRY(read_type(r, &h, e));
    TRA_TRY(read_space(r, &h, e));
    TRA_TRY(read_layout(r, &h, e));
    TRA_TRY(tra_described_attributes(r, &h, tra_h5_header, &tuple, &rank, e));
    if (r->ours) {
        TRA_TRY(tuple ? tra_described_tuple_layout(r, &h, rank, &grid, e)
                      : tra_described_tensor_layout(r, &h, rank, &grid, e));
        r->cat = grid; /* needed for the geometry, with which holes are found */
        TRA_TRY(tra_described_geometry(r, &h, tuple, e));
        TRA_TRY(find_tables(r, e));
        TRA_TRY(tra_described_find_tuples(r, &grid, e));
    } else {
        tra_dims of_file = block ? reversed(block) : (tra_dims){0};
        TRA_TRY(foreign_blocks(r, &h, block && r->turned ? &of_file : block, e));
        TRA_TRY(tra_described_geometry(r, &h, false, e));
        if (r->turned) {
            tra_dims shape = reversed(&h.shape), bound = reversed(&r->cat.bound);
            TRA_TRY(tra_catalog_blocks(&shape, &bound, &r->shown, e));
            r->type.cat = &r->shown;
        }
    }
    tra_described_info(r, &h, tuple);
    return TRA_OK;
}

const tra_file_kind tra_kind_chunks = {.open = chunks_open,
                                       .read = tra_chunks_read,
                                       .read_scratch = tra_chunks_read_scratch,
                                       .identity = tra_chunks_identity,
                                       .prepare = tra_chunks_prepare,
                                       .create = tra_chunks_create,
                                       .blob = tra_chunks_blob,
                                       .attach = tra_chunks_attach,
                                       .put = tra_chunks_put,
                                       .put_scratch = tra_chunks_put_scratch,
                                       .facts = tra_chunks_facts,
                                       .describe = tra_chunks_describe};
