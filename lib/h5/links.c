/* links.c - following links to the object itself, perhaps in another file, and checking the parts of virtual
 * datasets. */
#include "relation_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* ---- links ------------------------------------------------------------------------------------------------------ */

enum { MAX_LINKS = 32 }; /* more in a row are a circle */

static const char *joined(tra_arena *a, const char *path, const char *rest) {
    return *path && *rest ? tra_arena_printf(a, "%s/%s", path, rest) : *path ? path : rest;
}

/* The path that a soft link leads to. */
static const char *soft_value(hid_t file, const char *link, size_t n, tra_arena *a) {
    char *value = tra_arena_alloc(a, n + 1);
    return H5Lget_val(file, link, value, n, H5P_DEFAULT) >= 0 ? value : NULL;
}

static bool is_in(const char *folder, int n, const char *name, tra_arena *a, const char **found) {
    struct stat st;
    *found = n > 0 ? tra_arena_printf(a, "%.*s/%s", n, folder, name) : tra_arena_printf(a, "%s", name);
    return stat(*found, &st) == 0;
}

static int folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) : 0;
}

/* Finds a file that another one names, in the order of the library: in the folder that the environment variable says,
 * in that of the file, in that of the file behind symbolic links, in the working directory. */
static bool find_file(const char *path, const char *name, const char *variable, tra_arena *a, const char **found) {
    const char *prefix = getenv(variable);
    char *file = tra_resolve_links(path);
    bool there =
        *name != '/' && ((prefix && is_in(prefix, (int)strlen(prefix), name, a, found)) ||
                         is_in(path, folder_of(path), name, a, found) || is_in(file, folder_of(file), name, a, found));
    free(file);
    return there || is_in("", 0, name, a, found);
}

/* The file and the object that a link to another file leads to. False: there is no such file. */
static bool leads_to(hid_t from, const char *link, size_t n, const char *at, tra_arena *a, const char **path,
                     const char **object) {
    const char *file;
    char *value = tra_arena_alloc(a, n + 1);
    return H5Lget_val(from, link, value, n, H5P_DEFAULT) >= 0 &&
           H5Lunpack_elink_val(value, n, NULL, &file, object) >= 0 && find_file(at, file, "HDF5_EXT_PREFIX", a, path);
}

bool tra_h5_follow(hid_t file, const char *at_path, const char **name, const char **path, tra_arena *a) {
    const char *done = "", *rest = *name, *object = "";
    *path = NULL;
    for (int links = 0; *rest;) {
        size_t n = strcspn(rest, "/");
        const char *part = tra_arena_strndup(a, rest, n);
        rest += n + (rest[n] == '/');
        if (n == 0 || strcmp(part, ".") == 0) continue;
        const char *at = joined(a, done, part);
        H5L_info_t info;
        if (H5Lget_info(file, at, &info, H5P_DEFAULT) < 0) return true; /* whoever opens it will say so */
        if (info.type == H5L_TYPE_HARD) {
            done = at;
        } else if (info.type == H5L_TYPE_SOFT) {
            const char *value = soft_value(file, at, info.u.val_size, a);
            if (!value || ++links > MAX_LINKS) return false;
            if (*value == '/') done = "";
            rest = joined(a, value, rest);
        } else {
            if (!leads_to(file, at, info.u.val_size, at_path, a, path, &object)) return *path = NULL, true;
            *name = joined(a, object, rest);
            return true;
        }
    }
    if (*done) *name = done;
    return true;
}

/* ---- virtual datasets -------------------------------------------------------------------------------------------- */

static bool holds(const char *path, const char *dataset) {
    hid_t fapl = tra_h5_fapl(false), file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    bool there = file >= 0 && tra_h5_exists(file, dataset);
    if (file >= 0) H5Fclose(file);
    H5Pclose(fapl);
    return there;
}

/* A virtual dataset of numbered parts ("part%b.h5") has as many parts as there are files; only other parts can be
 * missing. */
static bool is_numbered(const char *text) { return strchr(text, '%') != NULL; }

tra_status tra_h5_parts(hid_t dcpl, const char *path, const char *name, uint64_t *identity, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_status s = TRA_OK;
    size_t n = 0;
    *identity = 0;
    H5Pget_virtual_count(dcpl, &n);
    for (size_t i = 0; i < n && s == TRA_OK; i++) {
        char file[4096] = "", dataset[4096] = "";
        const char *found = path;
        struct stat st;
        H5Pget_virtual_filename(dcpl, i, file, sizeof file);
        H5Pget_virtual_dsetname(dcpl, i, dataset, sizeof dataset);
        if (is_numbered(file) || is_numbered(dataset)) continue;
        bool here = strcmp(file, ".") == 0;
        if ((!here && !find_file(path, file, "HDF5_VDS_PREFIX", a, &found)) || !holds(found, dataset)) {
            s = tra_fail(e, TRA_INPUT,
                         "%s:%s is put together of parts of other files, of which %s:%s is not there; other programs "
                         "read the fill value in its place",
                         path, name, here ? path : file, dataset);
        } else if (stat(found, &st) == 0) {
            uint64_t v[] = {*identity, (uint64_t)st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                            (uint64_t)st.st_mtim.tv_nsec};
            *identity = XXH64(v, sizeof v, 0);
        }
    }
    tra_arena_free(a);
    return s;
}
