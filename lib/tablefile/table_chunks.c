/* table_chunks.c - chunks of a table's arrays: finding, verifying and decoding them, to read some of their elements. */
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>

/* Where the chunks of an array lie, for those who read it: nothing of that changes once `found` is set. Under the lock.
 */
static tra_status find_chunks(tra_rel *r, int part, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    tra_table_part *p = &r->table->form.part[part];
    size_t n = (size_t)f->nblocks + 1;
    if (p->found) return TRA_OK;
    tra_table_forget(p); /* what an attempt that failed has left */
    p->addr = calloc(n, sizeof *p->addr);
    p->checked = calloc(n, sizeof *p->checked);
    if (p->coded) p->len = calloc(n, sizeof *p->len), p->skips = calloc(n, sizeof *p->skips);
    tra_status s = p->addr && p->checked && (!p->coded || (p->len && p->skips))
                       ? TRA_OK
                       : tra_fail(e, TRA_RESOURCE, "out of memory for the chunks of %s", r->path);
    hid_t dset = H5Dopen2(r->file, p->path, H5P_DEFAULT);
    uint64_t masks = 0;
    for (int64_t b = 0; b < f->nblocks && s == TRA_OK; b++) {
        tra_chunkref chunk;
        bool there = tra_vfd_find_chunk(r->vfd, dset, (hsize_t[]){(hsize_t)(b * f->block)}, &chunk);
        int64_t len = (int64_t)chunk.len, all = f->block * p->size;
        if (!there || (p->coded ? len > all : len != all))
            s = TRA_REL_BAD(r, e, "block %" PRId64 " of %s is damaged: it is not in the file's index", b, p->path);
        p->addr[b] = chunk.addr;
        if (s == TRA_OK && p->coded) p->len[b] = (uint32_t)len, p->skips[b] = chunk.mask;
        masks += tra_mask_sum((int64_t)part * f->nblocks + b, chunk.mask);
    }
    if (dset >= 0) H5Dclose(dset);
    if (s == TRA_OK && p->coded && r->table->masks && masks != r->table->masks[part])
        s = TRA_REL_BAD(r, e, "the index of %s is damaged: chunks went through other filters than it says", p->path);
    p->found = s == TRA_OK;
    return s;
}

void tra_table_forget(tra_table_part *p) {
    free(p->addr);
    free(p->len);
    free(p->skips);
    free((void *)p->checked);
    p->addr = NULL;
    p->len = p->skips = NULL;
    p->checked = NULL;
}

tra_status tra_table_find(tra_rel *r, int part, tra_err *e) {
    if (r->table->form.part[part].found) return TRA_OK;
    tra_h5_enter();
    tra_status s = find_chunks(r, part, e);
    tra_h5_leave();
    return s;
}

static tra_status bad_chunk(tra_rel *r, int part, int64_t b, const char *why, tra_err *e) {
    return TRA_REL_BAD(r, e, "block %" PRId64 " of %s is damaged: %s", b, r->table->form.part[part].path, why);
}

static tra_status check_sum(tra_rel *r, int part, int64_t b, uint64_t sum, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    if (sum != r->table->sums[(int64_t)part * f->nblocks + b]) return bad_chunk(r, part, b, "its checksum differs", e);
    f->part[part].checked[b] = true;
    return TRA_OK;
}

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

static size_t unshuffle_room(const tra_table_form *f) {
    size_t most = 0;
    for (int size = 1; size <= 8; size *= 2) {
        size_t n = tra_shuffle_room((size_t)f->block, (size_t)size);
        most = n > most ? n : most;
    }
    return most;
}

bool tra_rel_is_coded(const tra_rel *r) {
    const tra_table_form *f = &r->table->form;
    for (int i = 0; i < f->nparts; i++)
        if (f->part[i].coded) return true;
    return false;
}

size_t tra_table_scratch(const tra_rel *r) {
    const tra_table_form *f = &r->table->form;
    return tra_rel_is_coded(r) ? align64((size_t)f->block * 8) + align64(unshuffle_room(f)) : 0;
}

/* Reads and decodes all elements of a chunk. */
static tra_status decode(tra_rel *r, int part, int64_t b, char *to, char *room, tra_err *e) {
    enum { PIECE = 16 << 10 };
    const tra_table_form *f = &r->table->form;
    const tra_table_part *p = &f->part[part];
    size_t all = (size_t)(f->block * p->size), len = p->len[b];
    bool shuffled = !(p->skips[b] & 1), packed = !(p->skips[b] >> 1 & 1), check = r->table->sums && !p->checked[b];
    char piece[PIECE];
    XXH64_state_t sum;
    tra_inflate z;
    XXH64_reset(&sum, 0);
    if (!packed && len != all) return bad_chunk(r, part, b, "its stored length is not that of a chunk", e);
    if (packed) tra_inflate_begin(&z, to, all);
    for (size_t at = 0, n; at < len; at += n) { /* each piece is summed while it is in the processor's cache */
        char *here = packed ? piece : to + at;
        n = len - at < PIECE ? len - at : PIECE;
        TRA_TRY(tra_pread(r->vfd->fd, here, n, p->addr[b] + (int64_t)at, r->path, e));
        if (check) XXH64_update(&sum, here, n);
        if (packed) tra_inflate_more(&z, here, n);
    }
    if (check) TRA_TRY(check_sum(r, part, b, tra_chunk_sum_end(XXH64_digest(&sum)), e));
    const char *why = packed ? tra_inflate_end(&z) : NULL;
    if (why && z.starved) return tra_fail(e, TRA_RESOURCE, "%s:%s: %s", r->path, r->name, why);
    if (why) return bad_chunk(r, part, b, why, e);
    if (shuffled) tra_chunk_unshuffle(to, (size_t)f->block, (size_t)p->size, room);
    return TRA_OK;
}

/* Reads n elements of a compressed chunk, directly to `to` if these are all. room: tra_table_scratch bytes; NULL:
 * allocated here. */
static tra_status read_coded(tra_rel *r, int part, int64_t b, int64_t first, int64_t n, void *to, char *room,
                             tra_err *e) {
    const tra_table_form *f = &r->table->form;
    int size = f->part[part].size;
    char *own = room ? NULL : malloc(tra_table_scratch(r));
    if (!room && !own) return tra_fail(e, TRA_RESOURCE, "out of memory for a block of %s", r->path);
    if (!room) room = own;
    char *shuffle = room + align64((size_t)f->block * 8), *all = n == f->block ? to : room;
    tra_status s = decode(r, part, b, all, shuffle, e);
    if (s == TRA_OK && all != to) memcpy(to, all + first * size, (size_t)(n * size));
    free(own);
    return s;
}

/* The first time all of a chunk is read, for its checksum; straight to `to` if all of it was asked for. */
tra_status tra_table_chunk(tra_rel *r, int part, int64_t b, int64_t first, int64_t n, void *to, char *room,
                           tra_err *e) {
    const tra_table_form *f = &r->table->form;
    const tra_table_part *p = &f->part[part];
    size_t asked = (size_t)(n * p->size), all = (size_t)(f->block * p->size);
    if (p->coded) return read_coded(r, part, b, first, n, to, room, e);
    if (!r->table->sums || p->checked[b])
        return tra_pread(r->vfd->fd, to, asked, p->addr[b] + first * p->size, r->path, e);
    char *raw = asked == all ? to : malloc(all);
    if (!raw) return tra_fail(e, TRA_RESOURCE, "out of memory for a block of %s", r->path);
    tra_status s = tra_pread(r->vfd->fd, raw, all, p->addr[b], r->path, e);
    if (s == TRA_OK) s = check_sum(r, part, b, tra_chunk_sum(raw, all), e);
    if (s == TRA_OK && raw != to) memcpy(to, raw + first * p->size, asked);
    if (raw != to) free(raw);
    return s;
}

/* to[i] = from[at[i] - first] */
static void pick(char *to, const char *from, int size, const int32_t *at, int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; i++) memmove(to + i * size, from + (at[i] - first) * size, (size_t)size);
}

void tra_chunk_compact(void *v, int size, const int32_t *at, int64_t n) { pick(v, v, size, at, 0, n); }

tra_status tra_chunk_pick(tra_rel *r, int part, int64_t b, const int32_t *at, int64_t n, void *to, tra_err *e) {
    enum { PIECE = 64 << 10 };
    const tra_table_form *f = &r->table->form;
    const tra_table_part *p = &f->part[part];
    TRA_TRY(tra_table_find(r, part, e));
    bool check = r->table->sums && !p->checked[b];
    char piece[PIECE];
    XXH64_state_t sum;
    XXH64_reset(&sum, 0);
    for (int64_t from = 0, k = 0, end; from < f->block; from = end) {
        int64_t begin = k;
        end = tra_min64(f->block, from + PIECE / p->size);
        while (k < n && at[k] < end) k++;
        if (!check && k == begin) continue;
        size_t bytes = (size_t)((end - from) * p->size);
        TRA_TRY(tra_pread(r->vfd->fd, piece, bytes, p->addr[b] + from * p->size, r->path, e));
        if (check) XXH64_update(&sum, piece, bytes); /* while it is in the processor's cache */
        pick((char *)to + begin * p->size, piece, p->size, at + begin, from, k - begin);
    }
    return check ? check_sum(r, part, b, tra_chunk_sum_end(XXH64_digest(&sum)), e) : TRA_OK;
}
