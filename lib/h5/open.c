/* open.c - opening HDF5 files for reading, and what files are that are none. */
#include "relation_file.h"

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
