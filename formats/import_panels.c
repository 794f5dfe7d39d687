/* import_panels.c - dense imports: a panel of blocks is read into memory, as much of the source as fits, cut into
 * blocks by all threads and stored. */
#include "import_dense_int.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what happens to a block ----------------------------------------------------------------------------------- */

/* Without branches, so that the compiler can use vectors. */
#define COUNT_SPECIAL(name, text, ctype, ...)                                                                          \
    case TRA_##name: {                                                                                                 \
        const ctype *x = data;                                                                                         \
        for (int64_t i = 0; i < n; i++) nan += x[i] != x[i], finite += x[i] - x[i] == 0;                               \
        break;                                                                                                         \
    }

static void count_special(import_worker *w, tra_dtype t, const void *data, int64_t n) {
    int64_t nan = 0, finite = 0;
    switch (t) {
        TRA_FLOAT_DTYPES(COUNT_SPECIAL)
    case TRA_WHOLES: return;
    }
    w->nan += nan;
    w->inf += n - nan - finite;
}

/* The element i of a block, in the source's type at data, is none of the relation's type. */
static tra_status unfit(const dense_import *m, int64_t ordinal, const char *data, int64_t i, tra_err *e) {
    tra_dims key, ext, at, place;
    tra_catalog_key(&m->cat, ordinal, &key);
    tra_catalog_ext(&m->cat, ordinal, &ext);
    tra_type_offset(&m->type, &key, &place);
    tra_unlinear(&ext, i, &at);
    for (int d = 0; d < at.n; d++) place.v[d] += at.v[d];
    tra_dtype from = m->source->dtype;
    return tra_elem_refuse(m->source->spec, &place, tra_elem_of(from), data + (size_t)i * tra_dtype_size(from),
                           m->dtype, e);
}

/* data: in a panel, or in w->chunk. item: the piece of work that must be stored in turn, or -1 where only one thread
 * works. */
static tra_status store(dense_import *m, import_worker *w, int64_t ordinal, const char *data, int64_t item,
                        tra_err *e) {
    int64_t n = tra_catalog_elements_of(&m->cat, ordinal);
    tra_meter_add(1);
    if (m->source->dtype != m->dtype) {
        int64_t bad =
            tra_elem_convert(tra_elem_of(m->source->dtype), false, (void *)data, m->dtype, w->chunk, n, &w->loss);
        if (bad >= 0) return unfit(m, ordinal, data, bad, e);
        data = w->chunk;
    }
    count_special(w, m->dtype, data, n);
    tra_digest_array(&w->digest, &m->type, ordinal, data);
    if (!m->job->codec.zstd && data != w->chunk) return tra_writer_put(m->writer, ordinal, data, w->chunk, e);
    if (!m->job->codec.zstd) {
        tra_writer_pad(m->writer, ordinal, w->chunk);
        return tra_writer_store(m->writer, ordinal, w->chunk, e);
    }
    tra_encoded enc;
    int64_t addr;
    if (data != w->chunk) memcpy(w->chunk, data, (size_t)n * tra_dtype_size(m->dtype));
    TRA_TRY(tra_writer_encode(m->writer, ordinal, w->chunk, w->tmp, tra_encoded_keep, w->encoded, &enc, e));
    if (item >= 0 && !tra_crew_turn(m->crew, item)) return TRA_INTERNAL; /* another's failure is the cause */
    TRA_TRY(tra_writer_allocate(m->writer, ordinal, &enc, &addr, e));
    if (item >= 0) tra_crew_passed(m->crew);
    return tra_writer_write_at(m->writer, addr, w->encoded, enc.len, e);
}

/* Cuts one block out of the present panel. */
static tra_status cut_and_store(void *ctx, int worker, int64_t item, tra_err *e) {
    dense_import *m = ctx;
    import_worker *w = &m->workers[worker];
    const panel *p = m->current;
    bool fortran = m->source->fortran;
    size_t size = tra_dtype_size(m->source->dtype);
    int r = m->block.n;
    int64_t stride[TRA_MAXDIM], ps[TRA_MAXDIM], bs[TRA_MAXDIM];
    tra_strides(&p->count, stride);
    tra_dims key, ext, start = fortran ? tra_reversed(&p->start) : p->start;
    tra_unlinear(&p->grid, item, &key);
    int64_t from = 0;
    for (int d = 0; d < r; d++) {
        ps[d] = stride[fortran ? r - 1 - d : d];
        key.v[d] += p->first.v[d];
        from += (key.v[d] * m->block.v[d] - start.v[d]) * ps[d];
    }
    int64_t ordinal = tra_linear(&m->cat.frontier, &key);
    tra_catalog_ext(&m->cat, ordinal, &ext);
    tra_strides(&ext, bs);
    const char *data = p->data + (size_t)from * size;
    bool in_place = true; /* the block lies in the panel as it should */
    for (int d = 0; d < r; d++) in_place &= ext.v[d] == 1 || ps[d] == bs[d];
    if (!in_place) {
        char *to = w->block ? w->block : w->chunk;
        tra_copy_strided(size, &ext, to, bs, data, ps);
        data = to;
    }
    return store(m, w, ordinal, data, item, e);
}

tra_status tra_import_store_entries(dense_import *m, tra_err *e) {
    tra_source *s = m->source;
    tra_places places;
    tra_sorter *sorted = NULL;
    int64_t block = tra_catalog_elements_most(&m->cat) * (int64_t)tra_dtype_size(s->dtype);
    tra_entries_options o = {.memory = m->memory - block,
                             .output = m->job->to,
                             .no_duplicate = m->job->no_duplicate,
                             .drop_zeros = m->job->drop_zeros};
    tra_places_of(&places, &s->shape, &m->block);
    tra_status status = tra_entries_sort(s, &places, &o, &sorted, e);
    if (status == TRA_OK) status = tra_sorter_merge(sorted, o.memory, e);
    void *data = tra_malloc((size_t)block + 1);
    for (int64_t i = 0; i < m->cat.n && status == TRA_OK; i++) {
        tra_dims key;
        tra_catalog_key(&m->cat, i, &key);
        status = tra_entries_dense(s, sorted, &places, &key, data, e);
        if (status == TRA_OK) status = store(m, &m->workers[0], i, data, -1, e);
    }
    free(data);
    m->sorted = tra_sorter_counted(sorted);
    m->spilled = m->sorted.spilled;
    tra_sorter_free(sorted);
    return status;
}

/* ---- panels ---------------------------------------------------------------------------------------------------- */

/* The largest panel of at most `limit` elements: from the source's grain, then along the fast dimensions first. */
static void choose_panel(dense_import *m, int64_t limit) {
    tra_dims block = m->source->fortran ? tra_reversed(&m->block) : m->block, unit = block;
    const tra_dims *shape = &m->storage;
    int r = shape->n;
    int64_t n;
    tra_dims_product(&unit, &n);
    for (int d = r - 1; d >= 0 && m->source->access == TRA_ACCESS_BOX && m->spool < 0; d--) {
        int64_t want = tra_min64(shape->v[d], tra_ceil_div(m->source->grain.v[d], block.v[d]) * block.v[d]), rest;
        rest = n / unit.v[d];
        if (want > unit.v[d] && rest <= limit / want) {
            unit.v[d] = want;
            n = rest * want;
        }
    }
    m->panel_extent = unit;
    for (int d = r - 1; d >= 0; d--) {
        int64_t rest = n / m->panel_extent.v[d], most = limit / rest;
        if (most >= shape->v[d])
            m->panel_extent.v[d] = tra_max64(1, shape->v[d]);
        else
            m->panel_extent.v[d] = tra_max64(m->panel_extent.v[d], most / unit.v[d] * unit.v[d]);
        n = rest * m->panel_extent.v[d];
        if (m->panel_extent.v[d] < shape->v[d]) break;
    }
}

bool tra_import_panels_contiguous(const dense_import *m) {
    int d = 0;
    while (d < m->panel_extent.n && m->panel_extent.v[d] == 1) d++;
    for (d++; d < m->panel_extent.n; d++)
        if (m->panel_extent.v[d] != m->storage.v[d]) return false;
    return true;
}

/* The check of what is needed, of which the readers' buffers are not yet a part. */
static tra_status check(const dense_import *m, int64_t need, tra_err *e) {
    return tra_buffer_check(m->ceiling, need + tra_min64(need / 7 + 8, TRA_IMPORT_READERS), e);
}

static int64_t aligned(int64_t bytes) { return (bytes + 64) / 64 * 64; }

import_needs tra_import_needs(const dense_import *m) {
    const tra_source *s = m->source;
    int64_t floats = tra_catalog_elements_most(&m->cat), size = (int64_t)tra_dtype_size(s->dtype), grain, all;
    import_needs n = {
        .panel_elements = floats, .chunk = tra_store_chunk_bytes(&m->type), .box = (int64_t)s->box_scratch};
    n.block = s->dtype != m->dtype ? aligned(floats * size) : 0;
    n.room = n.block + aligned(n.chunk);
    if (m->job->codec.zstd) n.room += aligned(n.chunk) + tra_codec_scratch(&m->type);
    n.context = m->job->codec.zstd ? tra_codec_context(m->job->codec.level, n.chunk) : 0;
    n.held = tra_store_index_bytes(&m->cat) + (int64_t)s->held;
    /* A panel holds a block, and of a source in chunks as much as one of these, which it would read very often else. */
    if (s->access == TRA_ACCESS_BOX && tra_dims_product(&s->grain, &grain) && tra_dims_product(&s->shape, &all))
        n.panel_elements = tra_max64(n.panel_elements, tra_min64(grain, all));
    n.panel_bytes =
        s->access == TRA_ACCESS_ENTRIES ? tra_entries_need(s, false) + floats * size : n.panel_elements * size;
    n.lend_room = m->memory < n.held + n.box + n.room + n.context + n.panel_bytes;
    if (n.lend_room) {
        n.room = tra_max64(n.room, n.box);
        n.box = 0;
    }
    return n;
}

static int64_t sum_of(const import_needs *n) { return n->held + n->box + n->room + n->context + n->panel_bytes; }

tra_status tra_import_check_needs(const dense_import *m, const import_needs *n, const tra_dims *shape, tra_err *e) {
    tra_status s = check(m, sum_of(n), e);
    dense_import other = *m;
    tra_err none = {0};
    other.type.cat = &other.cat;
    while (e && s == TRA_RESOURCE && tra_block_halve(&other.block) &&
           tra_catalog_blocks(shape, &other.block, &other.cat, &none) == TRA_OK) {
        import_needs less = tra_import_needs(&other);
        if (check(m, sum_of(&less), &none) != TRA_OK) continue;
        tra_block_would_fit(&other.block, e);
        break;
    }
    return s;
}

tra_status tra_import_lay_out(dense_import *m, tra_err *e) {
    enum { GOOD_PANEL = 32 << 20 }; /* larger panels only make the first wait longer */
    tra_source *s = m->source;
    import_needs need = tra_import_needs(m);
    int64_t size = (int64_t)tra_dtype_size(s->dtype), each = need.room + need.context, one = need.panel_bytes, n;
    bool entries = s->access == TRA_ACCESS_ENTRIES, lend = need.lend_room;
    TRA_TRY(tra_import_check_needs(m, &need, &s->shape, e));
    m->memory -= need.held + need.box;
    m->nworkers = entries || lend ? 1 : tra_cores();
    while (m->nworkers > 1 && m->memory < m->nworkers * (each + TRA_WORKER_BYTES) + 2 * one) m->nworkers--;
    m->npanels = lend || m->memory < each + 2 * one ? 1 : 2;
    m->memory -= m->nworkers * each;
    int64_t most = m->memory / m->npanels / size;
    choose_panel(m, tra_max64(need.panel_elements, tra_min64(most, GOOD_PANEL / size)));
    if (!tra_import_panels_contiguous(m)) choose_panel(m, most);
    tra_dims_product(&m->panel_extent, &n);
    m->workers = tra_news(m->arena, import_worker, m->nworkers);
    for (int i = 0; i < m->nworkers; i++) {
        import_worker *w = &m->workers[i];
        w->room = tra_malloc((size_t)need.room + 1);
        w->block = need.block ? w->room : NULL;
        w->chunk = w->room + need.block;
        if (!m->job->codec.zstd) continue;
        w->encoded = w->chunk + aligned(need.chunk);
        w->tmp = w->encoded + aligned(need.chunk);
    }
    s->box_room = lend ? m->workers[0].room : (m->box_room = tra_malloc(s->box_scratch + 1));
    if (entries) return TRA_OK;
    for (int i = 0; i < m->npanels; i++) m->panels[i].data = tra_malloc((size_t)(n * size) + 1);
    return TRA_OK;
}

static tra_status read_panel(dense_import *m, panel *p, tra_err *e) {
    tra_source *s = m->source;
    if (m->spool >= 0) {
        tra_losses none = {0};
        return tra_flat_box(&m->spooled, m->spool, 0, m->where, &p->start, &p->count, s->dtype, p->data, &none, e);
    }
    if (s->access == TRA_ACCESS_BOX) return s->format->box(s, &p->start, &p->count, p->data, e);
    int64_t n, got;
    tra_dims_product(&p->count, &n);
    for (char *to = p->data; n > 0; n -= got, to += (size_t)got * tra_dtype_size(s->dtype)) {
        TRA_TRY(s->format->next(s, to, n, &got, e));
        if (got == 0) return tra_fail(e, TRA_INPUT, "%s: ends too early", s->spec);
    }
    return TRA_OK;
}

static tra_status expect_end(dense_import *m, tra_err *e) {
    char one[sizeof(double)];
    int64_t got;
    if (m->source->access != TRA_ACCESS_STREAM || m->spool >= 0) return TRA_OK;
    TRA_TRY(m->source->format->next(m->source, one, 1, &got, e));
    return got == 0 ? TRA_OK : tra_fail(e, TRA_INPUT, "%s: goes on after its last element", m->source->spec);
}

tra_status tra_import_run_panels(dense_import *m, tra_err *e) {
    if (m->cat.n == 0) return expect_end(m, e);
    tra_dims panels = {.n = m->panel_extent.n}, at = {.n = m->panel_extent.n};
    tra_dims block = m->source->fortran ? tra_reversed(&m->block) : m->block;
    for (int d = 0; d < panels.n; d++) panels.v[d] = tra_ceil_div(m->storage.v[d], m->panel_extent.v[d]);
    int turn = 0;
    bool more = true, working = false;
    while (more) {
        panel *p = &m->panels[turn];
        if (working && m->npanels == 1) TRA_TRY(tra_crew_wait(m->crew, e));
        p->start.n = p->count.n = p->first.n = p->grid.n = panels.n;
        for (int d = 0; d < panels.n; d++) {
            p->start.v[d] = at.v[d] * m->panel_extent.v[d];
            p->count.v[d] = tra_min64(m->panel_extent.v[d], m->storage.v[d] - p->start.v[d]);
            p->first.v[d] = p->start.v[d] / block.v[d];
            p->grid.v[d] = tra_ceil_div(p->count.v[d], block.v[d]);
        }
        if (m->source->fortran) {
            p->first = tra_reversed(&p->first);
            p->grid = tra_reversed(&p->grid);
        }
        TRA_TRY(read_panel(m, p, e));
        if (working && m->npanels > 1) TRA_TRY(tra_crew_wait(m->crew, e));
        m->current = p;
        int64_t blocks;
        tra_dims_product(&p->grid, &blocks);
        tra_crew_begin(m->crew, cut_and_store, m, 0, blocks);
        working = true;
        turn = (turn + 1) % m->npanels;
        more = tra_next(&panels, &at);
    }
    TRA_TRY(expect_end(m, e)); /* the rest of the text may be read while the last blocks are written */
    return tra_crew_wait(m->crew, e);
}
