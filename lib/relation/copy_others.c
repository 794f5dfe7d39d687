/* copy_others.c - what else the target of a new file holds is copied into it: other relations, groups, links,
 * attributes. And whether the target can be completed so. */
#include "../h5/references.h"
#include "../h5/scales.h"
#include "store_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct copying {
    tra_vfd *old;     /* state of the old file */
    const char *path; /* of the old file */
    tra_vfd *vfd;     /* of the new one; NULL: another driver has it */
    tra_arena *arena;
    const char **ours; /* paths that the new relations replace */
    int nours;
    const char *at; /* path of the group being copied, with a '/' at the end unless it is the root */
    hid_t to;       /* the new file */
    hid_t how;      /* properties of copies */
    bool types;     /* named types are copied now, before the datasets that have them; all else is not */
    tra_copies moved;
    tra_err *e;
} copying;

static tra_status copy_group(copying *k, hid_t group, const char *at);

static bool copy_soft_or_external(copying *k, hid_t from, const char *name, const H5L_info_t *info, const char *path) {
    size_t n = info->u.val_size;
    char *value = tra_calloc(n + 1, 1);
    const char *file, *object;
    bool ok = H5Lget_val(from, name, value, n, H5P_DEFAULT) >= 0;
    if (ok && info->type == H5L_TYPE_SOFT) {
        ok = H5Lcreate_soft(value, k->to, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    } else if (ok) {
        ok = H5Lunpack_elink_val(value, n, NULL, &file, &object) >= 0 &&
             H5Lcreate_external(file, object, k->to, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    }
    free(value);
    return ok;
}

/* Makes HDF5 read all that it must know of an object besides its data. */
static herr_t touch(hid_t root, const char *name, const H5O_info_t *info, void *ctx) {
    (void)ctx;
    if (info->type != H5O_TYPE_DATASET) return 0;
    hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
    if (dset < 0) return -1;
    (void)H5Dget_storage_size(dset); /* this walks the index of chunks */
    return H5Dclose(dset);
}

/* H5Ocopy crashes if it cannot read something. So everything but data is read beforehand and stays in HDF5's cache, and
 * the driver gives zeros for data that cannot be read, and tells. */
static bool copy_object(copying *k, hid_t from, const char *name, const char *path) {
    tra_vfd *old = k->old;
    if (H5Ovisit_by_name2(from, name, H5_INDEX_NAME, H5_ITER_NATIVE, touch, NULL, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
        old->err)
        return false;
    old->blind = true;
    bool ok = H5Ocopy(from, name, k->to, path, k->how, H5P_DEFAULT) >= 0 && !old->err;
    old->blind = false;
    return ok;
}

/* Creates a group like the old one, and copies what it holds. */
static bool copy_subgroup(copying *k, hid_t from, const char *name, const char *path) {
    hid_t group = H5Gopen2(from, name, H5P_DEFAULT), gcpl = group >= 0 ? H5Gget_create_plist(group) : -1;
    hid_t made = gcpl >= 0 ? H5Gcreate2(k->to, path, H5P_DEFAULT, gcpl, H5P_DEFAULT) : -1;
    bool ok = made >= 0 && H5Gclose(made) >= 0;
    ok = ok && copy_group(k, group, tra_arena_printf(k->arena, "%s/", path)) == TRA_OK;
    if (gcpl >= 0) H5Pclose(gcpl);
    if (group >= 0) H5Gclose(group);
    return ok;
}

/* What a hard link leads to, which other links may lead to as well. */
static bool copy_hard(copying *k, hid_t from, const char *name, const char *path, const H5O_info_t *obj) {
    const char *there = tra_copies_find(&k->moved, obj->addr);
    if (there) return H5Lcreate_hard(k->to, there, k->to, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    tra_copies_add(&k->moved, obj->addr, path);
    if (obj->type == H5O_TYPE_GROUP) return copy_subgroup(k, from, name, path);
    return copy_object(k, from, name, path);
}

/* The labels of relations of which all are replaced are not copied. Where a new relation has the same labels under the
 * same path, these are those of the others too. *done: there is nothing to copy. */
static bool keep_labels(copying *k, const char *path, const char *owners, bool *done) {
    bool others = false, ok = true;
    for (const char *p = owners; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        const char *one = tra_arena_strndup(k->arena, p, strcspn(p, "\n"));
        bool replaced = false;
        for (int i = 0; i < k->nours; i++) replaced = replaced || strcmp(one, k->ours[i]) == 0;
        others = others || !replaced;
        const char *now = !replaced && tra_h5_exists(k->to, path) ? tra_scale_owner(k->to, path, k->arena) : NULL;
        if (!now || tra_scale_is_of(now, one)) continue;
        hid_t scale = H5Oopen(k->to, path, H5P_DEFAULT);
        ok = ok && scale >= 0 && tra_scale_own(scale, tra_arena_printf(k->arena, "%s\n%s", now, one));
        if (scale >= 0) H5Oclose(scale);
    }
    *done = !others || tra_h5_exists(k->to, path);
    return ok;
}

static herr_t copy_link(hid_t from, const char *name, const H5L_info_t *info, void *data) {
    copying *k = data;
    const char *path = tra_arena_printf(k->arena, "%s%s", k->at, name);
    const char *owner = info->type == H5L_TYPE_HARD ? tra_scale_owner(from, name, k->arena) : NULL;
    size_t n = strlen(path);
    bool ok, above = false;
    for (int i = 0; i < k->nours; i++) {
        if (strcmp(path, k->ours[i]) == 0) return 0;
        above = above || (strncmp(path, k->ours[i], n) == 0 && k->ours[i][n] == '/');
    }
    bool done = false;
    if (owner && !keep_labels(k, path, owner, &done)) return -1;
    if (done) return 0;
    H5O_info_t obj = {.type = H5O_TYPE_UNKNOWN};
    if (info->type == H5L_TYPE_HARD && H5Oget_info_by_name2(from, name, &obj, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return -1;
    if ((obj.type == H5O_TYPE_NAMED_DATATYPE) != k->types) return 0;
    if (above) { /* the new file already has this group; what else it had is copied into it */
        hid_t group = H5Gopen2(from, name, H5P_DEFAULT);
        if (group < 0) return -1;
        tra_copies_add(&k->moved, obj.addr, path);
        tra_status s = copy_group(k, group, tra_arena_printf(k->arena, "%s/", path));
        H5Gclose(group);
        return s == TRA_OK ? 0 : -1;
    }
    if (info->type == H5L_TYPE_HARD)
        ok = copy_hard(k, from, name, path, &obj);
    else
        ok = copy_soft_or_external(k, from, name, info, path);
    if (!ok && k->e->msg[0] == 0) { /* else a group within has said why */
        tra_h5_fail(k->e, TRA_INPUT, k->old->err ? k->old : k->vfd, "cannot copy %s, which %s holds already", path,
                    k->path);
    }
    return ok ? 0 : -1;
}

static bool copy_attribute(hid_t from, hid_t to, const char *name) {
    hid_t attr = H5Aopen(from, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    size_t size = H5Tget_size(type);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    void *buf = tra_calloc(n > 0 ? (size_t)n : 1, size ? size : 1);
    bool ok = attr >= 0 && H5Aread(attr, type, buf) >= 0;
    if (ok) {
        hid_t copy = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        ok = copy >= 0 && H5Awrite(copy, type, buf) >= 0;
        H5Aclose(copy);
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, buf);
    }
    free(buf);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return ok;
}

static herr_t copy_attribute_of(hid_t from, const char *name, const H5A_info_t *info, void *to) {
    (void)info;
    return copy_attribute(from, *(hid_t *)to, name) ? 0 : -1;
}

static tra_status copy_group(copying *k, hid_t group, const char *at) {
    const char *outer = k->at;
    hid_t to = H5Gopen2(k->to, at[0] ? at : "/", H5P_DEFAULT);
    k->at = at;
    herr_t r = H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute_of, &to);
    H5Gclose(to);
    if (r < 0) return tra_h5_fail(k->e, TRA_INPUT, k->vfd, "cannot copy the attributes of /%s in %s", at, k->path);
    hid_t gcpl = H5Gget_create_plist(group);
    unsigned order = 0;
    (void)H5Pget_link_creation_order(gcpl, &order);
    H5Pclose(gcpl);
    for (int types = 1; types >= 0 && r >= 0; types--) {
        k->types = types;
        r = H5Literate(group, order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, NULL,
                       copy_link, k);
    }
    k->at = outer;
    if (r < 0 && k->e->msg[0]) return TRA_INPUT;
    return r < 0 ? tra_h5_fail(k->e, TRA_INPUT, k->vfd, "cannot copy what %s holds", k->path) : TRA_OK;
}

/* Bytes before the HDF5 file proper, as MATLAB has them, are not copied. */
static tra_status no_user_block(const char *path, hid_t *old, tra_err *e) {
    hid_t fcpl = H5Fget_create_plist(*old);
    hsize_t size = 0;
    bool known = fcpl >= 0 && H5Pget_userblock(fcpl, &size) >= 0;
    if (fcpl >= 0) H5Pclose(fcpl);
    if (known && size == 0) return TRA_OK;
    H5Fclose(*old);
    *old = -1;
    return tra_fail(e, TRA_INPUT,
                    "cannot write into %s: it begins with a user block of %" PRIu64
                    " bytes (as MATLAB's files do), which would be lost; write to another file",
                    path, (uint64_t)size);
}

/* Opens the target as it is; *old is -1 when it does not exist or is empty. */
static tra_status open_old(const char *path, hid_t *old, tra_err *e) {
    struct stat st;
    *old = -1;
    if (stat(path, &st) != 0 || st.st_size == 0) return TRA_OK;
    if (H5Fis_hdf5(path) <= 0)
        return tra_fail(e, TRA_INPUT,
                        "%s exists and is no HDF5 file; it is not replaced: remove it or choose another "
                        "name",
                        path);
    hid_t fapl = tra_h5_fapl(false);
    *old = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    tra_status s = TRA_OK;
    if (*old < 0)
        s = tra_h5_fail(e, TRA_INPUT, NULL,
                        "%s is damaged, and its other relations cannot be kept; remove it to write it "
                        "anew",
                        path);
    H5Pclose(fapl);
    return s == TRA_OK ? no_user_block(path, old, e) : s;
}

static bool holds_tensor(hid_t file, const char *path) {
    hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
    bool is = group >= 0 && tra_kind_of(group);
    if (group >= 0) H5Gclose(group);
    return is;
}

/* In a file of AnnData its programs do not know what to make of a relation's attributes, labels and tables. */
static tra_status not_anndata(const tra_writer *w, hid_t old, tra_err *e) {
    size_t n = strlen(w->path), suffix = strlen(".h5ad");
    bool is = n > suffix && strcmp(w->path + n - suffix, ".h5ad") == 0;
    hid_t root = old >= 0 ? H5Gopen2(old, "/", H5P_DEFAULT) : -1;
    const char *encoding = root >= 0 ? tra_h5_get_text(root, "encoding-type", w->arena) : NULL;
    if (root >= 0) H5Gclose(root);
    if (!is && !(encoding && strcmp(encoding, "anndata") == 0)) return TRA_OK;
    return tra_fail(e, TRA_INPUT,
                    "cannot write %s:%s: it is a file of AnnData, whose programs could not read it then; write to "
                    "another file, and from there by tra export RESULT.h5 --to h5ad -o %s:layers/NAME",
                    w->path, w->name, w->path);
}

tra_status tra_writer_check_target(tra_writer *w, tra_err *e) {
    hid_t old;
    tra_status s = open_old(w->path, &old, e);
    if (s == TRA_OK) s = not_anndata(w, old, e);
    for (const char *p = w->name; old >= 0 && s == TRA_OK && *p;) {
        p += strcspn(p + (*p == '/'), "/") + (*p == '/');
        const char *part = tra_arena_strndup(w->arena, w->name, (size_t)(p - w->name));
        H5O_info_t info;
        if (!tra_h5_exists(old, part) || H5Oget_info_by_name2(old, part, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) break;
        bool relation = info.type == H5O_TYPE_DATASET || holds_tensor(old, part);
        const char *owner = tra_scale_owner(old, part, w->arena);
        if (owner && strcmp(owner, w->name) != 0)
            s = tra_fail(e, TRA_INPUT, "cannot write %s:%s: there %s has the labels of %s", w->path, w->name, part,
                         owner);
        else if (relation == (*p != 0))
            s = tra_fail(e, TRA_INPUT, "cannot write %s:%s: there %s is not a %s", w->path, w->name, part,
                         *p ? "group" : "relation");
    }
    if (old >= 0 && s == TRA_OK) s = tra_scales_check(w, old, e);
    if (old >= 0) H5Fclose(old);
    return s;
}

/* References to what is at this path in the old file lead to the same path in the new one. */
static void note_place(copying *k, hid_t old, const char *path) {
    H5O_info_t info;
    bool root = strcmp(path, "/") == 0;
    if ((root || tra_h5_exists(old, path)) && H5Oget_info_by_name2(old, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0)
        tra_copies_add(&k->moved, info.addr, path);
}

/* vfd: of the new file; NULL: another driver has it. */
static tra_status copy_all(hid_t to, tra_vfd *vfd, const char *path, int n, const char *const *names, tra_err *e) {
    hid_t old;
    TRA_TRY(open_old(path, &old, e));
    if (old < 0) return TRA_OK;
    tra_arena *a = tra_arena_new();
    copying k = {.path = path, .vfd = vfd, .arena = a, .at = "", .to = to, .e = e, .nours = 2 * n};
    k.ours = tra_news(a, const char *, k.nours);
    for (int i = 0; i < n; i++) {
        k.ours[2 * i] = names[i];
        k.ours[2 * i + 1] = tra_table_path(a, names[i], NULL);
    }
    k.old = tra_vfd_of(old);
    k.how = H5Pcreate(H5P_OBJECT_COPY); /* named types stay those of the datasets that have them */
    H5Pset_copy_object(k.how, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG);
    hid_t root = H5Gopen2(old, "/", H5P_DEFAULT);
    note_place(&k, old, "/");
    tra_status s = copy_group(&k, root, "");
    H5Gclose(root);
    for (int i = 0; i < n && s == TRA_OK; i++) note_place(&k, old, names[i]);
    if (s == TRA_OK) s = tra_references_renew(old, to, &k.moved, path, e);
    tra_copies_free(&k.moved);
    H5Pclose(k.how);
    if (s == TRA_OK && !tra_scales_reattach(old, to, n, names))
        s = tra_h5_fail(e, TRA_INPUT, k.old->err ? k.old : k.vfd, "cannot copy the labels in %s", path);
    H5Fclose(old);
    tra_arena_free(a);
    return s;
}

tra_status tra_h5_copy_others(hid_t to, const char *path, int n, const char *const *names, tra_err *e) {
    return copy_all(to, NULL, path, n, names, e);
}

tra_status tra_new_file_copy_others(tra_new_file *f, tra_err *e) {
    return copy_all(f->file, f->vfd, f->path, f->nnames, (const char *const *)f->names, e);
}
