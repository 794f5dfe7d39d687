/* Sparse tensors in groups, as another program or a damaged file may have them: a relation of tra with elements of its
 * datasets, tables and attributes changed and sealed again; or any datasets under names and a description of binsparse
 * or AnnData. Opened, read to its end and digested. */
#include "../../lib/model/rows.h"
#include "../../lib/storage/stored_int.h"
#include "relation.h"
#include "../../lib/relation/store.h"
#include "../../lib/model/digest.h"

enum { MOST = 1 << 20 }; /* bytes of a block that is read */

/* ---- a relation that tra wrote, damaged -------------------------------------------------------------------------- */

static void write_stored(fuzz_bytes *b, const char *path) {
    static const char *const storages[] = {
        "csr", "csc", "dcsr", "coo", "csf", "levels(sparse, dense)", "levels(dense, sparse, singleton)"};
    int which = fuzz_below(b, 7), rank = which == 6 ? 3 : 2;
    tra_arena *a = tra_arena_new();
    tra_dims shape = {rank, {9, 7, 5}}, block = {rank, {9, 7, 5}};
    tra_catalog c;
    tra_levels l;
    tra_err e = {0};
    for (int d = 0; d < rank; d++) block.v[d] = 1 + fuzz_below(b, 9);
    if (tra_catalog_blocks(&shape, &block, &c, &e) != TRA_OK ||
        tra_levels_parse(storages[which], rank, &l, &e) != TRA_OK)
        abort();
    tra_type t = {.dtype = (tra_dtype)fuzz_below(b, TRA_BOOL + 1), .cat = &c, .cut = {1, 2, 4}};
    tra_write_options o = {.levels = &l};
    tra_writer *w;
    if (tra_writer_create(path, &t, &o, &w, &e) != TRA_OK) abort();
    int64_t *counts = tra_news(a, int64_t, (c.n + 1) * rank);
    char *array = tra_arena_alloc(a, 9 * 7 * 5 * 8);
    int one = t.dtype == TRA_BOOL ? 1 : 0x40, every = 1 + fuzz_below(b, 60), size = (int)tra_dtype_size(t.dtype);
    for (int i = 0; i < 9 * 7 * 5; i++) array[i * size + size - 1] = (char)(i % every ? 0 : one);
    void *scratch = tra_malloc((size_t)tra_stored_scratch(&l, 9 * 7 * 5));
    for (int64_t i = 0; i < c.n; i++) {
        tra_cell cell = tra_cell_new(&t, i, array);
        if (tra_stored_count(&l, &c.bound, &cell, counts + i * rank, scratch, &e) != TRA_OK) abort();
    }
    if (tra_writer_place(w, counts, &e) != TRA_OK) abort();
    free(scratch);
    scratch = tra_malloc(tra_writer_scratch_bytes(w));
    for (int64_t i = 0; i < c.n; i++)
        if (tra_writer_put(w, i, array, scratch, &e) != TRA_OK) abort();
    if (tra_writer_commit(w, NULL, &e) != TRA_OK) abort();
    free(scratch);
    tra_arena_free(a);
}

static void seal(hid_t obj, const int64_t *v, int64_t n) {
    if (H5Aexists(obj, "tra_seal") > 0) H5Adelete(obj, "tra_seal");
    tra_h5_put_seal(obj, v, n);
}

/* Changes some elements of a dataset. table: it is one of tra's own tables, whose seal (checksum) is mostly made anew.
 */
static void change_elements(fuzz_bytes *b, hid_t file, const char *path, bool table) {
    if (!tra_h5_exists(file, path)) return;
    hid_t dset = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(dset);
    int64_t n = H5Sget_simple_extent_npoints(space), *v = tra_malloc((size_t)(n + 1) * sizeof *v);
    if (n > 0 && H5Dread(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0) {
        for (int i = fuzz_below(b, 4); i >= 0; i--) {
            int64_t *one = &v[(fuzz_byte(b) * 256 + fuzz_byte(b)) % n];
            *one = (int64_t)((uint64_t)*one + (uint64_t)fuzz_int(b));
        }
        H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
        if (table && fuzz_below(b, 8)) seal(dset, v, n);
    }
    free(v);
    H5Sclose(space);
    H5Dclose(dset);
}

static void change_attribute(fuzz_bytes *b, hid_t group) {
    static const char *const names[] = {"tra_shape", "tra_block", "tra_keys", "tra_rank", "tra_format", "tra_extents"};
    static const char *const texts[] = {
        "levels(sparse)",        "levels(dense)", "levels(dense, sparse) order [1, 0]", "coo",
        "levels(sparse, dense)", "tuple"};
    const char *name = names[fuzz_below(b, 6)];
    int64_t v[8];
    hsize_t n = (hsize_t)fuzz_below(b, 7);
    if (fuzz_below(b, 3) == 0) {
        name = fuzz_below(b, 4) ? "tra_storage" : "tra_layout";
        H5Adelete(group, name);
        tra_h5_put_text(group, name, texts[fuzz_below(b, 6)]);
        return;
    }
    for (hsize_t i = 0; i < n; i++) v[i] = fuzz_int(b);
    if (H5Aexists(group, name) > 0) H5Adelete(group, name);
    tra_h5_put_ints(group, name, n == 1 ? 0 : 1, &n, v);
}

static void change(fuzz_bytes *b, const char *path) {
    static const char *const data[] = {"indices_0",     "indices_1",     "indices_2", "indices_3",
                                       "pointers_to_1", "pointers_to_2", "values",    "pointers_to_3"};
    static const char *const tables[] = {"components", "statistics", "columns", "xxh64", "keys"};
    int64_t header[TRA_GROUP_HEADER];
    char name[64];
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), group = H5Gopen2(file, "data", H5P_DEFAULT);
    for (int i = fuzz_below(b, 5); i > 0; i--) {
        int what = fuzz_below(b, 4);
        if (what == 0) change_attribute(b, group);
        snprintf(name, sizeof name, "data/%s", data[fuzz_below(b, 8)]);
        if (what == 1) change_elements(b, file, name, false);
        snprintf(name, sizeof name, ".tra/data/%s", tables[fuzz_below(b, 5)]);
        if (what == 2) change_elements(b, file, name, true);
        if (what == 3) snprintf(name, sizeof name, "data/%s", data[fuzz_below(b, 8)]);
        if (what == 3 && H5Lexists(file, name, H5P_DEFAULT) > 0) H5Ldelete(file, name, H5P_DEFAULT);
    }
    if (fuzz_below(b, 4))
        H5Ldelete(file, ".tra/data/xxh64", H5P_DEFAULT); /* so that damage is not found by checksums */
    if (fuzz_below(b, 8)) {
        int n = tra_stored_header(group, header);
        hid_t tables_group = H5Gopen2(file, ".tra/data", H5P_DEFAULT);
        seal(group, header, n);
        seal(tables_group, header, n);
        H5Gclose(tables_group);
    }
    H5Gclose(group);
    H5Fclose(file);
}

/* ---- tensors that other programs wrote --------------------------------------------------------------------------- */

/* n numbers, of which one may be changed, in a dataset of any type that may be a little longer or shorter. */
static void put_numbers(fuzz_bytes *b, hid_t group, const char *name, int64_t *v, int64_t n) {
    const hid_t types[] = {H5T_STD_I32LE,  H5T_STD_I64LE, H5T_STD_I64LE, H5T_STD_U64LE,
                           H5T_IEEE_F64LE, H5T_STD_I32BE, H5T_STD_U16LE, H5T_STD_U8LE};
    bool values = strcmp(name, "values") == 0 || strcmp(name, "data") == 0;
    hid_t type = types[values || fuzz_below(b, 16) == 0 ? fuzz_below(b, 8) : fuzz_below(b, 4)];
    int odd = fuzz_byte(b);
    if (odd < 10 && n > 0) v[fuzz_byte(b) % n] = fuzz_int(b);
    if (odd == 10 && n > 0) n--;
    if (odd == 11) v[n++] = fuzz_int(b);
    if (odd == 12) return;
    hsize_t dims = (hsize_t)n, chunk = (hsize_t)(1 + fuzz_below(b, 9));
    hid_t space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (fuzz_below(b, 4) == 0) H5Pset_chunk(dcpl, 1, &chunk);
    hid_t dset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (dset >= 0) {
        if (n > 0) H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
        H5Dclose(dset);
    }
    H5Pclose(dcpl);
    H5Sclose(space);
}

enum { MOST_NUMBERS = 4000 };

/* Datasets of levels ('d' dense, 's' sparse, '+' singleton) over these extents, which may be in any order. */
static void put_levels(fuzz_bytes *b, hid_t group, const char *levels, const int64_t *ext, bool scipy, bool iso) {
    static int64_t v[MOST_NUMBERS + 1];
    int64_t n = 1, seed = fuzz_byte(b), most = 1 + fuzz_below(b, 4);
    char name[32];
    for (int l = 0; levels[l]; l++) {
        int64_t above = n;
        if (levels[l] == 'd') n = tra_min64(n * tra_max64(0, ext[l]), MOST_NUMBERS / 2);
        if (levels[l] == 's') {
            v[n = 0] = 0;
            for (int64_t p = 0; p < above; p++)
                v[p + 1] = n = tra_min64(n + (seed + p * 7) % (most + 1), MOST_NUMBERS - 1);
            snprintf(name, sizeof name, "pointers_to_%d", l);
            if (l > 0) put_numbers(b, group, scipy ? "indptr" : name, v, above + 1);
        }
        snprintf(name, sizeof name, "indices_%d", l);
        for (int64_t i = 0; i < n; i++) v[i] = (seed + (l ? i * 5 : i)) % tra_max64(1, ext[l]);
        if (levels[l] != 'd') put_numbers(b, group, scipy ? "indices" : name, v, n);
    }
    for (int64_t i = 0; i < n; i++) v[i] = (i + seed) % 3;
    put_numbers(b, group, scipy ? "data" : "values", v, iso ? 1 : n);
}

/* Writes the description of what put_levels makes, sometimes with a mistake. */
static void describe(fuzz_bytes *b, hid_t group, const char *levels, const char *format, const int64_t *shape,
                     const int *order, const char *type) {
    static const char *const structures[] = {"symmetric_lower", "skew_symmetric_upper", "hermitian_lower", "odd"};
    tra_str s = {0};
    int rank = (int)strlen(levels), depth = 1;
    tra_str_printf(&s, "{\"binsparse\": {\"version\": \"0.1.0\", \"format\": \"%s\", \"shape\": [", format);
    for (int d = 0; d < rank; d++)
        tra_str_printf(&s, "%s%" PRId64, d ? ", " : "", fuzz_below(b, 32) ? shape[d] : fuzz_int(b));
    tra_str_printf(&s, "], \"data_types\": {\"values\": \"%s\"}", type);
    if (fuzz_below(b, 3) == 0) tra_str_printf(&s, ", \"structure\": \"%s\"", structures[fuzz_below(b, 4)]);
    if (fuzz_below(b, 8) == 0) tra_str_add(&s, ", \"fill\": true");
    tra_str_add(&s, ", \"custom\": {\"transpose\": [");
    for (int d = 0; d < rank; d++)
        tra_str_printf(&s, "%s%d", d ? ", " : "", fuzz_below(b, 32) ? order[d] : fuzz_below(b, 4));
    tra_str_add(&s, "], ");
    for (int l = 0; l < rank; depth++) {
        int from = l++;
        while (levels[from] == 's' && levels[l] == '+') l++;
        tra_str_printf(&s, "\"level\": {\"level_desc\": \"%s\", \"rank\": %d, ",
                       levels[from] == 'd' ? "dense" : "sparse", fuzz_below(b, 32) ? l - from : fuzz_below(b, 9));
    }
    tra_str_add(&s, "\"level\": {\"level_desc\": \"element\"}");
    while (depth-- > 0) tra_str_add(&s, "}");
    tra_str_add(&s, fuzz_below(b, 64) ? "}}" : "}");
    tra_h5_put_text(group, "binsparse", tra_str_get(&s));
    tra_str_free(&s);
}

static int64_t small(int64_t x) { return x < 0 || x > 99 ? 1 : x; }

/* A storage statement and components that may fit it. */
static void put_mapping(fuzz_bytes *b, hid_t group) {
    static const char *const texts[] = {
        "storage lower[n, n] {real array v(n*(n + 1)/2)\n"
        "sum(<i, _> in 0:n, <j, _> in 0:i + 1) {@unique (i, j) -> v(i*(i + 1)/2 + j)}}",
        "storage s[n] {int scalar k\nint array at(k)\nreal array v(k)\nsum(<p, i> in at) {i -> v(p)}}",
        "storage h[m, n] {real hashmap v(m, n)\nv}",
        "storage d[m, n] {real array v(m*n)\nsum(<i, _> in 0:m, <j, _> in 0:n) {(i, j) -> v(i*n + j)}}",
        "storage e[m, n] {int array at(m)\nreal array v(m)\nsum(<i, j> in at) {(i, j) -> v(i) / v(j)}}",
        "storage f[n] {real array v(n)\nsum(<i, _> in 0:1000000000) {i % n -> v(i % 3)}}",
        "storage g[n {",
    };
    static const char *const names[] = {"at", "k", "v_key0", "v_key1", "v_value"};
    int64_t v[64], shape[4];
    int which = fuzz_below(b, 7), rank = which == 1 || which == 5 ? 1 : 2, cut = fuzz_byte(b);
    char text[400];
    hsize_t n = (hsize_t)(fuzz_below(b, 16) ? rank : fuzz_below(b, 4));
    for (int d = 0; d < 4; d++) shape[d] = fuzz_below(b, 16) ? 1 + fuzz_below(b, 5) : fuzz_int(b);
    if (fuzz_below(b, 4)) shape[1] = shape[0];
    snprintf(text, sizeof text, "%s", texts[which]);
    if (cut < 8) text[fuzz_below(b, (int)strlen(text))] = (char)(32 + fuzz_below(b, 90));
    tra_h5_put_text(group, "tra_storage", text);
    tra_h5_put_ints(group, "tra_shape", 1, &n, shape);
    int64_t count = 1 + fuzz_below(b, 6);
    int64_t want[] = {small(shape[0]) * (small(shape[0]) + 1) / 2 % 32,
                      count,
                      count,
                      small(shape[0]) * small(shape[1]) % 32,
                      shape[0] % 32,
                      shape[0] % 32,
                      3};
    for (int i = 0; i < 5; i++) {
        int64_t m = i == 1 ? 1 : which == 4 ? want[4] : count;
        for (int64_t k = 0; k < tra_max64(0, m); k++) v[k] = i == 1 ? count : i == 2 ? k : k % 3;
        put_numbers(b, group, names[i], v, tra_max64(0, m));
    }
    for (int64_t k = 0; k < 32; k++) v[k] = k;
    put_numbers(b, group, "v", v, tra_max64(0, want[which]));
}

static void write_foreign(fuzz_bytes *b, const char *path) {
    static const char *const forms[][2] = {{"CSR", "ds"},     {"CSC", "ds"},     {"DCSR", "ss"},    {"DCSC", "ss"},
                                           {"COO", "s+"},     {"COOC", "s+"},    {"CVEC", "s"},     {"DVEC", "d"},
                                           {"DMAT", "dd"},    {"DMATC", "dd"},   {"custom", "sd"},  {"custom", "dss"},
                                           {"custom", "s+s"}, {"custom", "dds"}, {"custom", "sds"}, {"custom", "s++"}};
    static const char *const types[] = {"float64", "float64", "iso[int32]", "bint8"};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int kind = fuzz_below(b, 5), form = fuzz_below(b, 16), turn = fuzz_below(b, 2);
    const char *format = forms[form][0], *levels = kind < 2 ? "ds" : forms[form][1];
    int rank = (int)strlen(levels), order[3] = {0};
    int64_t ext[3] = {0}, shape[4] = {0};
    hsize_t two = 2;
    bool last_first = format[strlen(format) - 1] == 'C' ? format[1] != 'V' : strcmp(format, "custom") == 0 && turn;
    if (kind < 2) last_first = kind == 1 || turn;
    for (int l = 0; l < rank; l++) order[l] = last_first ? rank - 1 - l : l;
    for (int l = 0; l < rank; l++) ext[l] = 1 + fuzz_below(b, 14);
    if (fuzz_below(b, 3) == 0) ext[rank - 1] = ext[0];
    for (int l = 0; l < rank; l++) shape[order[l]] = ext[l];
    const char *type = types[kind < 2 ? 0 : fuzz_below(b, 4)];
    if (kind == 4) {
        put_mapping(b, group);
        H5Gclose(group);
        H5Fclose(file);
        return;
    }
    if (kind == 0) {
        tra_h5_put_text(group, "encoding-type", turn ? "csc_matrix" : "csr_matrix");
        tra_h5_put_ints(group, "shape", 1, &two, shape);
    } else if (kind == 1) {
        put_numbers(b, group, "shape", shape, 2);
        put_numbers(b, group, "barcodes", &(int64_t[2]){0}[0], 1);
    } else {
        describe(b, group, levels, format, shape, order, type);
        put_numbers(b, group, "fill_value", &(int64_t[2]){0}[0], 1);
    }
    put_levels(b, group, levels, ext, kind < 2, type[0] == 'i');
    H5Gclose(group);
    H5Fclose(file);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static tra_status read_blocks(tra_rel *r, tra_err *e) {
    const tra_type *t = tra_rel_type(r);
    size_t room = tra_rel_buffer_bytes(r), scratch = tra_rel_scratch_bytes(r);
    tra_digest sum = {0};
    tra_statistics s;
    char text[33];
    if (room > MOST || scratch > 64 * MOST || t->cat->n > 4096 || tra_catalog_elements(t->cat) > MOST) return TRA_OK;
    /* exactly as large as was asked for, so that whatever is beyond is noticed */
    char *buf = tra_malloc(room + 1), *own = tra_malloc(scratch + 1);
    tra_status st = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && i < 64 && st == TRA_OK; i++) {
        tra_err ignored = {0};
        tra_cell cell;
        st = tra_rel_read(r, i, buf, own, e);
        if (st != TRA_OK) break;
        if (t->layout &&
            (tra_cell_of(t, i, buf, (int64_t)room, &cell, e) != TRA_OK || tra_rows_check(&cell, e) != TRA_OK))
            abort();
        tra_digest_array(&sum, t, i, buf);
        (void)!tra_rel_statistics(r, i, &s, &ignored);
    }
    tra_digest_text(&sum, t, text);
    free(own);
    free(buf);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    if (size > 1 << 12) return 0;
    const char *path = fuzz_path();
    bool ours = fuzz_below(&b, 2);
    if (ours) write_stored(&b, path);
    tra_h5_enter();
    if (ours)
        change(&b, path);
    else
        write_foreign(&b, path);
    tra_h5_leave();
    tra_dims block = {.n = 2, .v = {2, 1000}};
    bool asks = fuzz_below(&b, 4) == 0; /* for blocks, which may not fit */
    return fuzz_open(asks ? &block : NULL, read_blocks);
}
