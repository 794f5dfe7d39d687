/* reader.c - what is told of an open relation, and reading its arrays, whatever its kind. */
#include "../h5/relation_file.h"
#include "store.h"

#include <string.h>
#include <sys/stat.h>

const tra_type *tra_rel_type(const tra_rel *r) { return &r->type; }

const tra_relinfo *tra_rel_info(const tra_rel *rel) {
    tra_rel *r = (tra_rel *)rel; /* stored_bytes takes a walk over the index, so it is found when first asked for */
    tra_h5_enter();
    if (!r->stored_bytes_known)
        r->info.stored_bytes = r->kind->stored_bytes ? r->kind->stored_bytes(r) : (int64_t)H5Dget_storage_size(r->dset);
    r->stored_bytes_known = true;
    tra_h5_leave();
    return &r->info;
}

const char *tra_rel_identity(const tra_rel *rel, tra_arena *a) {
    tra_rel *r = (tra_rel *)rel;
    struct stat st;
    if (r->how == TRA_BY_VALUES) return tra_arena_strndup(a, r->path, strlen(r->path));
    if (r->stand_in.identity) return tra_arena_strndup(a, r->stand_in.identity, strlen(r->stand_in.identity));
    tra_h5_enter();
    uint64_t sum = r->kind->identity(r);
    bool known = fstat(r->vfd->fd, &st) == 0;
    tra_h5_leave();
    if (!known) return "unknown";
    return tra_arena_printf(a, "%lld:%lld:%llu:%016" PRIx64, (long long)st.st_size,
                            (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
                            (unsigned long long)st.st_ino, sum);
}

int64_t tra_rel_library_bytes(const tra_rel *r) { return r->library_bytes; }

int64_t tra_rel_held_bytes(const tra_rel *r) {
    return tra_store_index_bytes(&r->cat) + r->library_bytes + (r->kind->held ? r->kind->held(r) : 0) + r->labels_bytes;
}

size_t tra_rel_buffer_bytes(const tra_rel *r) {
    size_t array = (size_t)tra_type_bytes_largest(&r->type).bound, chunk = tra_rel_unpack_bytes(r);
    return array > chunk ? array : chunk;
}

size_t tra_rel_scratch_bytes(const tra_rel *r) { return r->kind->read_scratch(r); }

bool tra_rel_keep_u64(tra_rel *r) { return r->keep_u64 = r->u64; }

tra_status tra_rel_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e) {
    return r->kind->read(r, ordinal, buf, scratch, e);
}

tra_status tra_rel_check(tra_rel *r, tra_err *e) {
    const struct tra_dim_labels *const *labels;
    if (!r->type.columns) TRA_TRY(tra_rel_labels(r, &labels, e));
    return r->kind->check ? r->kind->check(r, e) : TRA_OK;
}
