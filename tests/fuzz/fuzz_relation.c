/* A dataset with any shape, chunks, attributes and tables, as another program or a damaged file may have them: opened,
 * read to its end and digested. The HDF5 file itself is sound: crashes of the HDF5 library in damaged files are caught
 * elsewhere (lib/h5/h5.c). */
#include "../../lib/h5/relation_file.h"
#include "../../lib/h5/zfilter.h"
#include "relation.h"
#include "../../lib/relation/store.h"
#include "../../lib/model/digest.h"

enum { MOST = 1 << 16 }; /* bytes of an array that is read */

static void put_ints(fuzz_bytes *b, hid_t obj, const char *name, int most) {
    int64_t v[3 * TRA_MAXDIM];
    int form = fuzz_below(b, 8);
    hsize_t n = (hsize_t)fuzz_below(b, most + 1);
    if (form == 0) return;
    if (form == 1) {
        char text[8] = {0};
        for (int i = 0; i < 6; i++) text[i] = (char)fuzz_byte(b);
        tra_h5_put_text(obj, name, text);
        return;
    }
    for (hsize_t i = 0; i < n; i++) v[i] = fuzz_int(b);
    if (form == 2) n = 1;
    tra_h5_put_ints(obj, name, form == 2 ? 0 : 1, &n, v);
}

static hid_t make_dataset(fuzz_bytes *b, hid_t file, int *ndims, hsize_t *dims, hsize_t *chunk) {
    const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I32LE,
                           H5T_STD_I64LE,  H5T_STD_U64LE,  H5T_STD_I8LE,   H5T_C_S1};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), type = types[fuzz_below(b, 8)];
    int n = *ndims = fuzz_below(b, 6), layout = fuzz_below(b, 4), filters = fuzz_below(b, 4);
    for (int i = 0; i < n; i++) {
        int64_t v = fuzz_int(b);
        dims[i] = (hsize_t)(v < 0 ? -v : v) & (((uint64_t)1 << 40) - 1);
        chunk[i] = (hsize_t)(1 + fuzz_below(b, 9));
    }
    if (n > 0 && layout != 0) {
        H5Pset_chunk(dcpl, n, chunk);
        if (filters & 1) H5Pset_shuffle(dcpl);
        if (filters & 2) H5Pset_filter(dcpl, TRA_ZSTD_FILTER, H5Z_FLAG_OPTIONAL, 0, NULL);
    }
    H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR);
    hid_t space = n ? H5Screate_simple(n, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t dset = H5Dcreate2(file, "data", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(dcpl);
    return dset;
}

/* Some chunks of any bytes. Those that tra reads by itself have any length; HDF5 takes the length from the extents. */
static void put_chunks(fuzz_bytes *b, hid_t dset, int ndims, const hsize_t *dims, const hsize_t *chunk) {
    static char data[1 << 17];
    hid_t type = H5Dget_type(dset), dcpl = H5Dget_create_plist(dset);
    bool native = H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F32LE) > 0;
    bool ours = native && H5Pget_nfilters(dcpl) > 0;
    hsize_t at[6], bytes = H5Tget_size(type);
    H5Tclose(type);
    H5Pclose(dcpl);
    for (int d = 0; d < ndims; d++) {
        if (dims[d] == 0) return; /* HDF5 1.10 crashes */
        bytes *= chunk[d];
    }
    for (int i = fuzz_below(b, 10); ndims > 0 && i > 0; i--) {
        for (int d = 0; d < ndims; d++) {
            hsize_t n = (dims[d] + chunk[d] - 1) / chunk[d];
            at[d] = (hsize_t)fuzz_byte(b) % n * chunk[d];
        }
        size_t len = !ours || fuzz_byte(b) & 1 ? (size_t)bytes : (size_t)(1 + fuzz_byte(b));
        if (bytes > sizeof data) return;
        for (size_t k = 0; k < len && k < 64; k++) data[k] = (char)fuzz_byte(b);
        H5Dwrite_chunk(dset, H5P_DEFAULT, (uint32_t)fuzz_below(b, 4), at, len, data);
    }
}

static void put_table(fuzz_bytes *b, hid_t group, const char *name) {
    int64_t v[256];
    int ndims = 1 + fuzz_below(b, 2);
    hsize_t dims[2] = {(hsize_t)fuzz_below(b, 20), (hsize_t)fuzz_below(b, 6)};
    int64_t n = (int64_t)(dims[0] * (ndims > 1 ? dims[1] : 1));
    if (fuzz_below(b, 3) == 0) return;
    for (int64_t i = 0; i < n; i++) v[i] = fuzz_int(b);
    hid_t space = H5Screate_simple(ndims, dims, NULL);
    hid_t dset = H5Dcreate2(group, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dset >= 0) {
        if (n > 0) H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
        if (fuzz_below(b, 2)) tra_h5_put_seal(dset, v, n);
        H5Dclose(dset);
    }
    H5Sclose(space);
}

static void put_tables(fuzz_bytes *b, hid_t file, hid_t dset, tra_arena *a) {
    hid_t dot = H5Gcreate2(file, ".tra", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, ".tra/data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    tra_h5_put_text(group, "tra_pipeline", fuzz_below(b, 8) ? tra_h5_pipeline(dset, a) : "le8 3x3");
    put_table(b, group, "keys");
    put_table(b, group, "extents");
    put_table(b, group, "xxh64");
    H5Gclose(group);
    H5Gclose(dot);
}

static void make_file(fuzz_bytes *b, const char *path) {
    static const char *const layouts[] = {"tensor", "tuple", "other"};
    int64_t header[TRA_HEADER];
    int ndims;
    hsize_t dims[6], chunk[6];
    tra_arena *a = tra_arena_new();
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) abort();
    hid_t dset = make_dataset(b, file, &ndims, dims, chunk);
    if (dset >= 0) {
        int ours = fuzz_below(b, 8), layout = fuzz_below(b, 16);
        int64_t format = ours == 1 ? fuzz_int(b) : 1, rank = layout & 1 ? fuzz_int(b) : fuzz_below(b, ndims + 1);
        if (ours) tra_h5_put_ints(dset, "tra_format", 0, NULL, &format);
        if (ours != 2) tra_h5_put_ints(dset, "tra_rank", 0, NULL, &rank);
        if (ours != 3) tra_h5_put_text(dset, "tra_layout", layouts[layout < 14 ? layout / 7 : 2]);
        put_ints(b, dset, "tra_keys", 8);
        put_ints(b, dset, "tra_cuts", 8);
        put_ints(b, dset, "tra_extents", 24);
        if (fuzz_below(b, 2)) tra_h5_put_seal(dset, header, tra_h5_header(dset, header));
        put_chunks(b, dset, ndims, dims, chunk);
        if (fuzz_below(b, 4)) put_tables(b, file, dset, a);
        H5Dclose(dset);
    }
    H5Fclose(file);
    tra_arena_free(a);
}

static tra_status read_arrays(tra_rel *r, tra_err *e) {
    const tra_type *t = tra_rel_type(r);
    size_t room = tra_rel_buffer_bytes(r), scratch = tra_rel_scratch_bytes(r);
    tra_digest sum = {0};
    char text[33];
    if (room > MOST || scratch > 16 * MOST || t->cat->n > 4096) return TRA_OK;
    /* exactly as large as was asked for, so that whatever is beyond is noticed */
    char *buf = tra_malloc(room), *own = scratch ? tra_malloc(scratch) : NULL;
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && i < 200 && s == TRA_OK; i++) {
        s = tra_rel_read(r, i, buf, own, e);
        if (s == TRA_OK) tra_digest_array(&sum, t, i, buf); /* also reads all of buf */
    }
    tra_digest_text(&sum, t, text);
    free(own);
    free(buf);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    if (size > 1 << 12) return 0;
    const char *path = fuzz_path();
    tra_h5_enter();
    make_file(&b, path);
    tra_h5_leave();
    tra_dims block = {.n = 2, .v = {2, 3}};
    bool has_block = fuzz_below(&b, 2); /* blocks are asked for, which may not fit the dataset */
    return fuzz_open(has_block ? &block : NULL, read_arrays);
}
