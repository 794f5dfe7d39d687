/* names.c - which relations a file holds. */
#include "../h5/scales.h"
#include "store.h"
#include "store_int.h"

#include <string.h>

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
