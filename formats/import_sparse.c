/* import_sparse.c - from the entries of a source to a stored relation.
 *
 * Entries are sorted first. Where the user does not give the blocks they are chosen then, when it is known where the
 * entries are. Then each block is made of its entries, counted and kept (settle.c) until all have been counted. */
#include "entries.h"
#include "import_int.h"

#include "../lib/model/block.h"
#include "../lib/model/rows.h"

#include <stdlib.h>
#include <string.h>

typedef struct sparse {
    const tra_import_job *job;
    tra_source *source;
    const tra_levels *levels;
    int64_t ceiling, memory; /* of the process; for what is done here */
    tra_places places;
    tra_dims block;
    tra_sorter *sorted;
    tra_catalog cat;
    tra_type type;
    int64_t most; /* entries of a block, at most */
    tra_settled settled;
} sparse;

/* What a block of so many entries takes while it is made, and then while it is written. */
static int64_t block_room(const sparse *m, const tra_dims *block, int64_t entries) {
    int64_t sorting = tra_stored_rows_scratch(m->levels, entries, block);
    return tra_rows_room(m->source->dtype, entries, entries) + sorting + 64;
}

/* At most so many entries are in any block of these extents, of which some indices of the first dimension that is cut
 * are by all of the others. */
static int64_t most_in(const sparse *m, const tra_dims *block) {
    int64_t n = 1, most = 0;
    if (m->places.in_order && tra_block_in_order(&m->source->shape, block)) {
        tra_dims_product(block, &n);
        return n > 0 ? tra_sorter_most_in(m->sorted, (uint64_t)n) : 0;
    }
    for (tra_dims key = {.n = block->n}, ext; tra_catalog_find(&m->cat, &key) >= 0;) {
        uint64_t from = tra_place_block(&m->places, &key, &ext);
        tra_dims_product(&ext, &n);
        most = tra_max64(most, tra_sorter_count_in(m->sorted, from, (uint64_t)n));
        if (!tra_next(&m->cat.frontier, &key)) break;
    }
    return most;
}

/* Refuses blocks whose entries do not fit what the merge leaves, with smaller ones that would do. */
static tra_status check_blocks(const sparse *m, int64_t left, tra_err *e) {
    char text[TRA_DIMTEXT], human[32];
    if (block_room(m, &m->block, m->most) <= left) return TRA_OK;
    tra_dims less = m->block;
    int64_t most = m->most;
    for (int d = 0; d < less.n && block_room(m, &less, most) > left; d++)
        while (less.v[d] > 1 && block_room(m, &less, most) > left) {
            less.v[d] = tra_ceil_div(less.v[d], 2);
            most = m->places.in_order && tra_block_in_order(&m->source->shape, &less) ? most_in(m, &less)
                                                                                      : tra_ceil_div(most, 2);
        }
    return tra_fail(e, TRA_RESOURCE,
                    "--memory %s is too little for blocks of which one may have %" PRId64
                    " entries: --block %s would do, or --memory %" PRId64,
                    tra_human(m->ceiling, human), m->most, tra_dims_text(&less, "", "x", "", text, sizeof text),
                    m->ceiling + block_room(m, &m->block, m->most) - left);
}

/* The blocks, once entries are sorted. */
static tra_status choose_blocks(sparse *m, tra_err *e) {
    const tra_dims *shape = &m->source->shape;
    if (!m->job->block) tra_entries_block(m->sorted, shape, tra_levels_in_order(m->levels), &m->block);
    tra_places_of(&m->places, shape, &m->block);
    TRA_TRY(tra_catalog_blocks(shape, &m->block, &m->cat, e));
    m->type = (tra_type){.dtype = m->source->dtype, .cat = &m->cat, .sparse = true, .layout = &tra_rows};
    for (int d = 0; d < m->block.n; d++) m->type.cut[d] = 1u << d;
    m->most = m->cat.n > 0 ? most_in(m, &m->block) : 0;
    return TRA_OK;
}

static tra_status make_blocks(sparse *m, tra_settle *settle, tra_err *e) {
    void *data = aligned_alloc(64, ((size_t)tra_rows_room(m->source->dtype, m->most, m->most) + 63) / 64 * 64);
    if (!data) return tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < m->cat.n && s == TRA_OK; i++) {
        tra_dims key, ext;
        int64_t n = 0, bytes;
        tra_catalog_key(&m->cat, i, &key);
        uint64_t from = tra_place_block(&m->places, &key, &ext);
        tra_dims_product(&ext, &n);
        tra_cell cell = tra_cell_new(&m->type, i, data);
        int64_t most = tra_sorter_count_in(m->sorted, from, (uint64_t)n);
        s = tra_entries_rows(m->source, m->sorted, &m->places, &key, most, &cell, &bytes, e);
        if (s == TRA_OK) s = tra_settle_add(settle, 0, i, &cell, bytes, e);
    }
    free(data);
    return s;
}

static tra_status run(sparse *m, tra_err *e) {
    tra_source *s = m->source;
    int64_t least = tra_entries_need(s, true);
    TRA_TRY(tra_buffer_check(m->ceiling, (int64_t)s->held + least + least / 7, e));
    tra_entries_options o = {.memory = m->memory,
                             .output = m->job->to,
                             .fine = true,
                             .no_duplicate = m->job->no_duplicate,
                             .drop_zeros = m->job->drop_zeros};
    m->block = s->shape; /* row-major, until it is known where the entries are */
    if (m->job->block) {
        m->block = *m->job->block;
        TRA_TRY(tra_block_fit(&s->shape, &m->block, e));
    } else if (s->shape.v[s->shape.n - 1] > UINT32_MAX) { /* columns are counted in 32 bits */
        return tra_fail(e, TRA_USAGE,
                        "%s: its last dimension is longer than blocks can be: give --block, of at most %u along it",
                        s->spec, UINT32_MAX);
    }
    if (!tra_rows_can(&m->block))
        return tra_fail(e, TRA_USAGE, "--block: the last extent of a stored block is at most %u", UINT32_MAX);
    tra_places_of(&m->places, &s->shape, &m->block);
    TRA_TRY(tra_entries_sort(s, &m->places, &o, &m->sorted, e));
    TRA_TRY(choose_blocks(m, e));
    int64_t held = tra_store_index_bytes(&m->cat) + tra_settle_held(m->cat.n, m->levels);
    int64_t merging = tra_entries_need(s, true), left = m->memory - held - merging;
    int64_t need = (int64_t)s->held + held + merging + block_room(m, &m->block, 1);
    int64_t more =
        need - block_room(m, &m->block, 1) + block_room(m, &m->block, m->most); /* what check_blocks asks for */
    TRA_TRY(tra_buffer_check(m->ceiling, need + (left < block_room(m, &m->block, 1) ? need / 7 : 0), e));
    tra_buffer_note(more + more / 7 + 8);
    TRA_TRY(check_blocks(m, left, e));
    tra_settle *settle;
    TRA_TRY(tra_settle_begin(m->job->to, &m->type, m->levels, &m->job->codec, m->job->history, m->source->labels,
                             tra_cores(), &settle, e));
    tra_status status = tra_sorter_merge(m->sorted, m->memory - held - block_room(m, &m->block, m->most), e);
    if (status == TRA_OK) status = make_blocks(m, settle, e);
    if (status != TRA_OK) {
        tra_settle_abort(settle);
        return status;
    }
    tra_sorter_end(m->sorted);
    return tra_settle_commit(settle, m->memory - held, &m->settled, e);
}

tra_status tra_import_sparse(const tra_import_job *job, tra_source *source, const tra_levels *levels, int64_t ceiling,
                             int64_t memory, tra_import_receipt *r, tra_err *e) {
    sparse m = {.job = job, .source = source, .levels = levels, .ceiling = ceiling};
    m.memory = memory - (int64_t)source->held;
    tra_status status = run(&m, e);
    if (status == TRA_OK) {
        tra_sorter_counts c = tra_sorter_counted(m.sorted);
        r->block = m.block;
        r->dtype = source->dtype;
        r->blocks = m.cat.n;
        r->elements = tra_catalog_elements(&m.cat);
        r->bytes_stored = m.settled.bytes;
        r->nan = m.settled.nan;
        r->inf = m.settled.inf;
        r->stored = m.settled.entries;
        r->duplicates = c.duplicates;
        r->zeros = c.dropped;
        r->spilled = c.spilled + m.settled.scratch;
        tra_levels_text(levels, r->storage);
        if (tra_levels_alias(levels)) snprintf(r->storage, sizeof r->storage, "%s", tra_levels_alias(levels));
    }
    tra_sorter_free(m.sorted);
    return status;
}
