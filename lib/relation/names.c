/* names.c - which relations a file holds. */
#include "scales.h"
#include "stored_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of other programs that are often taken for HDF5 files: how they begin, what they are, what to do. */
static const struct {
    const char *bytes;
    int n;
    const char *what;
} containers[] = {
    {"CDF\1", 4, "a netCDF-3 file: nccopy -k nc4 OLD NEW makes one that can be read"},
    {"CDF\2", 4, "a netCDF-3 file (64-bit offsets): nccopy -k nc4 OLD NEW makes one that can be read"},
    {"CDF\5", 4, "a netCDF-3 file (CDF-5): nccopy -k nc4 OLD NEW makes one that can be read"},
    {"\16\3\23\1", 4, "an HDF4 file: h4toh5 OLD NEW makes one that can be read"},
    {"MATLAB 5.0 MAT-file", 19,
     "a MAT-file of version 5 (save -v7 or older): save -v7.3 in MATLAB makes one that can be "
     "read"},
    {"GRIB", 4, "a GRIB file: cdo -f nc4 copy OLD NEW makes one that can be read"},
    {"SIMPLE  =", 9, "a FITS file, which is not read"},
    {"PAR1", 4, "a Parquet file, which is not read: write it as CSV"},
    {"ARROW1", 6, "an Arrow file, which is not read: write it as CSV"},
    {"\x93NUMPY", 6, "a file of numpy: tra import reads it under a name that ends in .npy"},
    {"PK\3\4", 4, "a zip archive: unpack it, or name it .npz if numpy wrote it"},
    {"\x1f\x8b", 2, "compressed by gzip: gunzip it first"},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd: unpack it first"},
    {"BZh", 3, "compressed by bzip2: unpack it first"},
    {"\xfd\x37zXZ", 5, "compressed by xz: unpack it first"},
    {"version https://git-lfs", 23,
     "the pointer that Git LFS leaves in place of a file: git lfs pull fetches the file"},
    {"<!DOCTYPE", 9, "a page of HTML, perhaps of a download that failed"},
    {"<html", 5, "a page of HTML, perhaps of a download that failed"},
};

/* A MAT-file of version 4 has no signature, but a header of five integers. */
static bool is_mat4(const char *path, const unsigned char *head, size_t n) {
    int32_t v[5];
    size_t len = strlen(path);
    if (len < 4 || strcmp(path + len - 4, ".mat") != 0 || n < sizeof v) return false;
    memcpy(v, head, sizeof v);
    return v[0] >= 0 && v[0] < 5000 && v[0] % 10 < 3 && v[1] >= 0 && v[2] >= 0 && (v[3] == 0 || v[3] == 1) &&
           v[4] > 0 && v[4] < 256;
}

/* What a file that is no HDF5 file is; NULL: not known. */
static const char *container_of(const char *path) {
    unsigned char head[64];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if ((int)n >= containers[i].n && memcmp(head, containers[i].bytes, (size_t)containers[i].n) == 0)
            return containers[i].what;
    return is_mat4(path, head, n) ? "a MAT-file of version 4: save -v7.3 in MATLAB makes one that can be read" : NULL;
}

tra_status tra_h5_open(const char *path, hid_t *file, tra_err *e) {
    struct stat st;
    if (stat(path, &st) != 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", path);
    if (!S_ISREG(st.st_mode)) return tra_fail(e, TRA_INPUT, "%s is not a regular file", path);
    if (access(path, R_OK) != 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", path);
    const char *what = H5Fis_hdf5(path) <= 0 ? container_of(path) : NULL;
    if (what) return tra_fail(e, TRA_INPUT, "%s is no HDF5 file but %s", path, what);
    if (H5Fis_hdf5(path) <= 0)
        return tra_fail(e, TRA_INPUT, "%s is not an HDF5 file (tra import makes a relation of files of other formats)",
                        path);
    hid_t fapl = tra_h5_fapl(false);
    *file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    tra_status s = *file >= 0 ? TRA_OK : tra_h5_fail(e, TRA_INPUT, NULL, "%s is damaged", path);
    H5Pclose(fapl);
    return s;
}

const tra_file_kind *tra_kind_of(hid_t object) {
    static const tra_file_kind *const groups[] = {&tra_kind_table, &tra_kind_levels};
    if (H5Iget_type(object) == H5I_DATASET) return &tra_kind_chunks;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (H5Iget_type(object) == H5I_GROUP && groups[i]->is(object)) return groups[i];
    return NULL;
}

/* Are its elements of a type that relations can have? */
static bool is_numeric(hid_t dset) {
    hid_t type = H5Dget_type(dset);
    tra_dtype t;
    bool u64, numeric = tra_h5_dtype(type, &t, &u64);
    H5Tclose(type);
    return numeric;
}

/* Is the object `path` inside the group? */
static bool is_below(const char *path, const char *group) {
    size_t n = strlen(group);
    return strcmp(group, "/") == 0 || (strncmp(path, group, n) == 0 && path[n] == '/');
}

typedef struct collecting {
    tra_arena *arena;
    int most;
    const char *tensor; /* the last group that is a relation: what is in it belongs to it */
    bool scales;        /* dimension scales count as relations */
    tra_relation_names *list;
} collecting;

static herr_t collect(hid_t root, const char *name, const H5O_info_t *info, void *data) {
    collecting *c = data; /* MATLAB keeps what cells hold in #refs# */
    if (strncmp(name, ".tra/", 5) == 0 || name[0] == '#' || (c->tensor && is_below(name, c->tensor))) return 0;
    if (info->type != H5O_TYPE_DATASET && info->type != H5O_TYPE_GROUP) return 0;
    hid_t obj = H5Oopen(root, name, H5P_DEFAULT);
    if (obj < 0) return 0;
    bool relation = info->type == H5O_TYPE_GROUP ? tra_kind_of(obj) != NULL
                                                 : is_numeric(obj) && (c->scales || !tra_h5_is_scale(obj));
    H5Oclose(obj);
    if (!relation) return 0;
    name = strcmp(name, ".") == 0 ? "/" : name;
    const char *found = c->list->name[c->list->n++] = tra_arena_strndup(c->arena, name, strlen(name));
    if (info->type == H5O_TYPE_GROUP) c->tensor = found;
    return c->list->n == c->most;
}

void tra_h5_names(hid_t file, tra_arena *a, int most, tra_relation_names *out) {
    *out = (tra_relation_names){.name = tra_news(a, const char *, most)};
    collecting c = {.arena = a, .most = most, .list = out};
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, collect, &c, H5O_INFO_BASIC);
    if (out->n > 0) return;
    c.scales = true; /* nothing but dimension scales */
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, collect, &c, H5O_INFO_BASIC);
}

tra_status tra_store_names(const char *path, tra_arena *a, tra_relation_names *out, tra_err *e) {
    enum { MOST = 1 << 16 };
    hid_t file;
    *out = (tra_relation_names){0};
    tra_h5_enter();
    tra_status s = tra_h5_open(path, &file, e);
    if (s == TRA_OK) {
        tra_h5_names(file, a, MOST, out);
        H5Fclose(file);
    }
    tra_h5_leave();
    return s;
}
