/* file_dataset.c - the dataset of a relation in a file: which one it is, its type, extents, filters and layout. */

#include "file_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which dataset --------------------------------------------------------------------------------------------- */

enum { MAX_NAMES = 12 }; /* in a message */

/* The names as text; "..." after MAX_NAMES of them. */
static const char *enumerate(tra_rel *r, const tra_relation_names *list) {
    const char *text = "";
    for (int i = 0; i < list->n; i++) {
        bool more = i == MAX_NAMES - 1;
        text = tra_arena_printf(r->arena, "%s%s%s", text, i ? ", " : "", more ? "..." : list->name[i]);
    }
    return text;
}

/* What a file without a relation's name stands for, if it also holds the two others: of AnnData and loom the matrix. */
static const char *const mains[][3] = {{"data", NULL, NULL}, {"X", "obs", "var"}, {"matrix", "row_attrs", "col_attrs"}};

/* A variable of GNU Octave is a group, in which `value` has its elements. False: it is none. */
static bool of_octave(tra_rel *r, hid_t *obj) {
    if (H5Iget_type(*obj) != H5I_GROUP || H5Aexists(*obj, "OCTAVE_NEW_FORMAT") <= 0 || !tra_h5_exists(*obj, "value"))
        return false;
    hid_t value = H5Oopen(*obj, "value", H5P_DEFAULT);
    H5Oclose(*obj);
    *obj = value;
    r->name = tra_arena_printf(r->arena, "%s/value", r->name);
    return value >= 0 && H5Iget_type(value) == H5I_DATASET && !r->raw;
}

tra_status tra_file_open_dataset(tra_rel *r, const char **elsewhere, tra_err *e) {
    tra_relation_names list;
    *elsewhere = NULL;
    for (size_t i = 0; i < sizeof mains / sizeof *mains && !r->name; i++)
        if (tra_h5_exists(r->file, mains[i][0]) && (!mains[i][1] || tra_h5_exists(r->file, mains[i][1])) &&
            (!mains[i][2] || tra_h5_exists(r->file, mains[i][2])))
            r->name = mains[i][0];
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
        return TRA_REL_BAD(r, e, "%s", "its links go round in a circle");
    if (*elsewhere) return TRA_OK;
    if (strcmp(r->name, "/") != 0 && !tra_h5_exists(r->file, r->name)) {
        tra_h5_names(r->file, r->arena, MAX_NAMES, &list);
        return tra_fail(e, TRA_INPUT, "%s has no dataset %s%s%s", r->path, r->name, list.n ? "; it holds " : "",
                        enumerate(r, &list));
    }
    hid_t obj = H5Oopen(r->file, r->name, H5P_DEFAULT);
    bool turned = obj >= 0 && of_octave(r, &obj);
    if (obj < 0) return tra_h5_fail(e, TRA_INPUT, NULL, "%s:%s is damaged", r->path, r->name);
    if (H5Iget_type(obj) == H5I_GROUP && tra_table_is(obj)) {
        tra_table_begin(r);
    } else if (H5Iget_type(obj) == H5I_GROUP && tra_stored_is(obj)) {
        r->stored = tra_new(r->arena, struct tra_stored);
    } else if (H5Iget_type(obj) != H5I_DATASET) {
        H5Oclose(obj);
        return TRA_REL_BAD(r, e, "%s",
                           "it is neither a dataset nor a table nor a sparse tensor (binsparse, AnnData, 10x)");
    }
    r->dset = obj;
    r->turned = turned || (!r->raw && H5Iget_type(obj) == H5I_DATASET && H5Aexists(obj, "MATLAB_class") > 0);
    hid_t file = H5Iget_file_id(obj);
    bool here = tra_vfd_of(file) == r->vfd;
    H5Fclose(file);
    return here ? TRA_OK : TRA_REL_BAD(r, e, "%s", "it is a link to another file; name the relation there");
}

/* ---- the dataset as it is -------------------------------------------------------------------------------------- */

tra_status tra_file_read_type(tra_rel *r, header *h, tra_err *e) {
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
static bool read_empty(tra_rel *r, header *h) {
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

tra_status tra_file_read_space(tra_rel *r, header *h, tra_err *e) {
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

static const char *filter_name(tra_arena *a, H5Z_filter_t id, const char *name) {
    switch (id) {
    case H5Z_FILTER_DEFLATE: return "gzip";
    case H5Z_FILTER_SHUFFLE: return "shuffle";
    case H5Z_FILTER_FLETCHER32: return "fletcher32";
    case H5Z_FILTER_SZIP: return "szip";
    case H5Z_FILTER_NBIT: return "nbit";
    case H5Z_FILTER_SCALEOFFSET: return "scaleoffset";
    case TRA_ZSTD_FILTER: return "zstd";
    }
    return name[0] ? tra_arena_printf(a, "%d (%s)", (int)id, name) : tra_arena_printf(a, "%d", (int)id);
}

static const char *filter_at(hid_t dcpl, int i, tra_arena *a, H5Z_filter_t *id) {
    char name[128] = "";
    unsigned flags;
    size_t ncd = 0;
    *id = H5Pget_filter2(dcpl, (unsigned)i, &flags, &ncd, NULL, sizeof name, name, NULL);
    return filter_name(a, *id, name);
}

const char *tra_h5_missing_filter(hid_t dset, tra_arena *a) {
    hid_t dcpl = H5Dget_create_plist(dset);
    const char *missing = NULL;
    for (int i = 0, n = H5Pget_nfilters(dcpl); i < n && !missing; i++) {
        H5Z_filter_t id;
        const char *text = filter_at(dcpl, i, a, &id);
        if (H5Zfilter_avail(id) <= 0) missing = text;
    }
    H5Pclose(dcpl);
    return missing;
}

static tra_status read_filters(tra_rel *r, hid_t dcpl, header *h, tra_err *e) {
    int n = H5Pget_nfilters(dcpl);
    unsigned opts = 0;
    bool other = false;
    const char *missing = tra_h5_missing_filter(r->dset, r->arena);
    if (missing) return TRA_REL_BAD(r, e, "its chunks " TRA_MISSING_FILTER, missing);
    r->pipeline = TRA_PIPELINE_NONE;
    r->info.codec = "none";
    for (int i = 0; i < n; i++) {
        H5Z_filter_t id;
        const char *text = filter_at(dcpl, i, r->arena, &id);
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
static int64_t library_bytes(const header *h) {
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

tra_status tra_file_read_layout(tra_rel *r, header *h, tra_err *e) {
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
