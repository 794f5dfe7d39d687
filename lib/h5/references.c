/* references.c - making the references in a copied file anew. */
#include "references.h"

#include "relation_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- what has moved ---------------------------------------------------------------------------------------------- */

static int64_t slot_of(const tra_copies *m, haddr_t from) {
    uint64_t at = (uint64_t)from * UINT64_C(0x9e3779b97f4a7c15);
    for (at ^= at >> 32;; at++) {
        int64_t i = (int64_t)(at & (uint64_t)(m->room - 1));
        if (m->slot[i].from == from || m->slot[i].from == HADDR_UNDEF) return i;
    }
}

static void grow(tra_copies *m) {
    tra_copies larger = {.n = m->n, .room = m->room ? 2 * m->room : 64};
    larger.slot = tra_calloc((size_t)larger.room, sizeof *larger.slot);
    for (int64_t i = 0; i < larger.room; i++) larger.slot[i].from = HADDR_UNDEF;
    for (int64_t i = 0; i < m->room; i++)
        if (m->slot[i].from != HADDR_UNDEF) larger.slot[slot_of(&larger, m->slot[i].from)] = m->slot[i];
    free(m->slot);
    *m = larger;
}

void tra_copies_add(tra_copies *m, haddr_t from, const char *path) {
    if (2 * (m->n + 1) > m->room) grow(m);
    int64_t i = slot_of(m, from);
    if (m->slot[i].from == from) return;
    m->slot[i].from = from;
    m->slot[i].path = path;
    m->n++;
}

const char *tra_copies_find(const tra_copies *m, haddr_t from) {
    if (m->room == 0) return NULL;
    int64_t i = slot_of(m, from);
    return m->slot[i].from == from ? m->slot[i].path : NULL;
}

void tra_copies_free(tra_copies *m) { free(m->slot); }

/* ---- one reference ----------------------------------------------------------------------------------------------- */

typedef struct renewing {
    hid_t old, to;
    const tra_copies *moved;
    const char *file, *object; /* for messages */
    tra_err *e;
    tra_status status;
} renewing;

static bool has_references(hid_t type) {
    bool has = false;
    switch (H5Tget_class(type)) {
    case H5T_REFERENCE: return true;
    case H5T_COMPOUND:
        for (unsigned i = 0; !has && i < (unsigned)H5Tget_nmembers(type); i++) {
            hid_t member = H5Tget_member_type(type, i);
            has = has_references(member);
            H5Tclose(member);
        }
        return has;
    case H5T_VLEN:
    case H5T_ARRAY: {
        hid_t base = H5Tget_super(type);
        has = has_references(base);
        H5Tclose(base);
        return has;
    }
    default: return false;
    }
}

/* The path that the object of a reference has in both files. */
static const char *target_of(renewing *k, H5R_type_t kind, const void *reference) {
    H5O_info_t info;
    hid_t obj = H5Rdereference2(k->old, H5P_DEFAULT, kind, reference);
    const char *path = NULL;
    if (obj >= 0 && H5Oget_info2(obj, &info, H5O_INFO_BASIC) >= 0) path = tra_copies_find(k->moved, info.addr);
    if (obj >= 0) H5Oclose(obj);
    return path && (strcmp(path, "/") == 0 || tra_h5_exists(k->to, path)) ? path : NULL;
}

static bool renew_one(renewing *k, hid_t type, unsigned char *p) {
    H5R_type_t kind = H5Tequal(type, H5T_STD_REF_OBJ) > 0 ? H5R_OBJECT : H5R_DATASET_REGION;
    unsigned char old[sizeof(hdset_reg_ref_t)] = {0}, zero[sizeof old] = {0};
    size_t size = H5Tget_size(type);
    memcpy(old, p, size);
    if (memcmp(old, zero, size) == 0) return true;
    const char *path = target_of(k, kind, old);
    hid_t space = path && kind == H5R_DATASET_REGION ? H5Rget_region(k->old, kind, old) : -1;
    bool ok = path && (kind == H5R_OBJECT || space >= 0) && H5Rcreate(p, k->to, path, kind, space) >= 0;
    if (space >= 0) H5Sclose(space);
    if (ok) return true;
    k->status = tra_fail(k->e, TRA_INPUT,
                         "cannot keep the references in %s of %s: one leads to an object that has no name or is being "
                         "replaced; write to another file",
                         k->object, k->file);
    return false;
}

/* All references in one element of a type. */
static bool renew_element(renewing *k, hid_t type, unsigned char *p) {
    H5T_class_t class = H5Tget_class(type);
    bool ok = true;
    if (class == H5T_REFERENCE) return renew_one(k, type, p);
    if (!has_references(type)) return true;
    for (unsigned i = 0; class == H5T_COMPOUND && ok && i < (unsigned)H5Tget_nmembers(type); i++) {
        hid_t member = H5Tget_member_type(type, i);
        ok = renew_element(k, member, p + H5Tget_member_offset(type, i));
        H5Tclose(member);
    }
    if (class == H5T_COMPOUND) return ok;
    hid_t base = H5Tget_super(type);
    size_t size = H5Tget_size(base), n = class == H5T_ARRAY ? H5Tget_size(type) / size : 0;
    if (class == H5T_VLEN) {
        hvl_t list;
        memcpy(&list, p, sizeof list);
        n = list.len;
        p = list.p;
    }
    for (size_t i = 0; i < n && ok; i++) ok = renew_element(k, base, p + i * size);
    H5Tclose(base);
    return ok;
}

static bool renew_all(renewing *k, hid_t type, int64_t n, unsigned char *p) {
    size_t size = H5Tget_size(type);
    for (int64_t i = 0; i < n; i++)
        if (!renew_element(k, type, p + (size_t)i * size)) return false;
    return true;
}

/* ---- attributes and datasets ------------------------------------------------------------------------------------- */

static herr_t renew_attribute(hid_t from, const char *name, const H5A_info_t *info, void *ctx) {
    renewing *k = ((void **)ctx)[0];
    hid_t to = *(hid_t *)((void **)ctx)[1];
    (void)info;
    if (strcmp(name, "DIMENSION_LIST") == 0 || strcmp(name, "REFERENCE_LIST") == 0) return 0;
    hid_t attr = H5Aopen(from, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    bool ok = true;
    if (has_references(type) && n > 0) {
        void *buf = tra_calloc((size_t)n, H5Tget_size(type));
        ok = H5Aread(attr, type, buf) >= 0 && renew_all(k, type, n, buf);
        hid_t copy = ok ? H5Aopen(to, name, H5P_DEFAULT) : -1;
        ok = copy >= 0 && H5Awrite(copy, type, buf) >= 0;
        if (copy >= 0 && H5Aclose(copy) < 0) ok = false;
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, buf);
        free(buf);
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return ok ? 0 : -1;
}

/* A dataset of references, in pieces along its first dimension. */
static bool renew_dataset(renewing *k, hid_t from, hid_t to) {
    enum { PIECE = 1 << 20 }; /* bytes of elements at a time */
    hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    hsize_t dims[H5S_MAX_RANK] = {1}, start[H5S_MAX_RANK] = {0};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    bool ok = true;
    if (has_references(type) && H5Sget_simple_extent_npoints(space) > 0) {
        size_t size = H5Tget_size(type), row = size;
        hsize_t all = dims[0];
        for (int d = 1; d < rank; d++) row *= dims[d];
        hsize_t each = row < PIECE ? PIECE / row : 1;
        for (hsize_t at = 0; ok && at < all; at += each) {
            start[0] = at;
            if (rank > 0) dims[0] = all - at < each ? all - at : each;
            hid_t memory = rank > 0 ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
            if (rank > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, dims, NULL);
            int64_t n = (int64_t)H5Sget_simple_extent_npoints(memory);
            unsigned char *buf = tra_calloc((size_t)n, size);
            ok = H5Dread(from, type, memory, space, H5P_DEFAULT, buf) >= 0 && renew_all(k, type, n, buf) &&
                 H5Dwrite(to, type, memory, space, H5P_DEFAULT, buf) >= 0;
            H5Dvlen_reclaim(type, memory, H5P_DEFAULT, buf);
            free(buf);
            H5Sclose(memory);
        }
    }
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

tra_status tra_references_renew(hid_t old, hid_t to, const tra_copies *m, const char *file, tra_err *e) {
    renewing k = {.old = old, .to = to, .moved = m, .file = file, .e = e};
    for (int64_t i = 0; i < m->room; i++) {
        const char *path = m->slot[i].from != HADDR_UNDEF ? m->slot[i].path : NULL;
        if (!path) continue;
        k.object = path;
        hid_t from = H5Oopen_by_addr(old, m->slot[i].from), copy = H5Oopen(to, path, H5P_DEFAULT);
        void *ctx[] = {&k, &copy};
        bool ok = from >= 0 && copy >= 0;
        ok = ok && H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, renew_attribute, ctx) >= 0;
        if (ok && H5Iget_type(from) == H5I_DATASET) ok = renew_dataset(&k, from, copy);
        if (from >= 0) H5Oclose(from);
        if (copy >= 0 && H5Oclose(copy) < 0) ok = false;
        if (ok) continue;
        return k.status != TRA_OK
                   ? k.status
                   : tra_h5_fail(e, TRA_INPUT, NULL, "cannot keep the references in %s of %s", path, file);
    }
    return TRA_OK;
}
