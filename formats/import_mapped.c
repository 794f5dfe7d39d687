/* import_mapped.c - to a relation that a storage which is no levels makes of components.
 *
 * Components come from files of numpy. Those that are not given are filled from the entries of a source: the mapping is
 * run backwards, which tells for each coordinate the element that holds it. Places and components are in memory. */
#include "entries.h"
#include "import_int.h"
#include "npy.h"

#include "../lib/storage/mapped.h"
#include "../lib/model/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_ROOM = 2 * sizeof(tra_storage_place) + 32 }; /* while places are found: the list grows, keys are seen */

typedef struct mapped {
    const tra_import_job *job;
    tra_source *source; /* NULL: all components are given */
    tra_arena *arena;
    tra_import_receipt *r;
    tra_dims shape;
    tra_storage *storage;
    tra_storage_block block;
    tra_dtype dtype;
    int64_t **owner; /* of each component that is filled: the place of the coordinate that each element is of, or -1 */
    void **data;     /* what was allocated */
    int ndata;
    int64_t ceiling, memory, held; /* of the process; for what is done here; of it in use */
    tra_digest digest;             /* of what the mapping gives */
} mapped;

/* Room for so many bytes, within the ceiling; freed at the end. */
static tra_status allocate_within(mapped *m, int64_t bytes, void **out, tra_err *e) {
    int64_t need = tra_add_most(m->held, tra_max64(bytes, 1));
    tra_buffer_note(tra_add_most(need, need / 7));
    if (need > m->memory) {
        TRA_TRY(tra_buffer_check(m->ceiling, tra_add_most(need, need / 7), e));
        return tra_fail(e, TRA_RESOURCE, "--memory is too little for the components of storage %s", m->job->storage);
    }
    m->held = need;
    m->data = tra_realloc(m->data, (size_t)m->ndata + 1, sizeof *m->data);
    *out = m->data[m->ndata] = malloc((size_t)tra_max64(bytes, 1));
    if (!*out) return tra_fail(e, TRA_RESOURCE, "no memory for the components of storage %s", m->job->storage);
    m->ndata++;
    return TRA_OK;
}

static tra_dtype dtype_of(tra_element t) {
    for (int d = 0; d < TRA_NDTYPES; d++)
        if (tra_element_of((tra_dtype)d) == t) return (tra_dtype)d;
    return TRA_I64;
}

/* ---- components from files --------------------------------------------------------------------------------------- */

/* What one of the names that --component takes stands for. */
typedef struct component_array {
    const tra_component *component;
    tra_elements *to;
    bool real, scalar; /* real: elements of the tensor; else whole numbers */
    const char *name;
} component_array;

static bool keyed(const tra_component *c) { return c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE; }

/* The parts of a component: one under its name, or of hash maps and tries NAME_key0, ..., NAME_value. */
static int arrays_of(const mapped *m, int k, component_array out[TRA_CALC_MAXRANK + 1]) {
    const tra_component *c = &m->storage->components[k];
    tra_component_data *d = &m->block.component[k];
    int n = 0;
    for (int i = 0; keyed(c) && i < c->nsizes; i++)
        out[n++] = (component_array){c, &d->key[i], false, false, tra_arena_printf(m->arena, "%s_key%d", c->name, i)};
    const char *name = keyed(c) ? tra_arena_printf(m->arena, "%s_value", c->name) : c->name;
    out[n++] = (component_array){c, &d->value, c->real, c->kind == TRA_COMPONENT_SCALAR, name};
    return n;
}

static tra_status find_array(const mapped *m, const char *name, size_t len, component_array *out, tra_err *e) {
    tra_str all = {0};
    for (int k = 0; k < m->storage->ncomponents; k++) {
        component_array p[TRA_CALC_MAXRANK + 1];
        for (int i = 0, n = arrays_of(m, k, p); i < n; i++) {
            tra_str_printf(&all, "%s%s", all.n ? ", " : "", p[i].name);
            *out = p[i];
            if (strlen(p[i].name) != len || strncmp(p[i].name, name, len) != 0) continue;
            tra_str_free(&all);
            if (!p[i].to->data) return TRA_OK;
            return tra_fail(e, TRA_USAGE, "--component %s: it is given twice", p[i].name);
        }
    }
    tra_status s = tra_fail(e, TRA_USAGE, "--component %.*s: storage %s has %s", (int)tra_min64((int64_t)len, 60), name,
                            m->storage->decl->name, all.n ? tra_str_get(&all) : "no components");
    tra_str_free(&all);
    return s;
}

/* A scalar that is given as a number; *is: it is one. */
static tra_status read_number(mapped *m, const component_array *p, const char *text, bool *is, tra_err *e) {
    size_t n = strlen(text);
    bool whole;
    int64_t i;
    double r;
    void *to;
    *is = p->scalar && ((whole = tra_scan_whole(text, n, &i)) || (p->real && tra_scan_num(text, n, &r)));
    if (!*is) return TRA_OK;
    TRA_TRY(allocate_within(m, 8, &to, e));
    bool floats = p->real && (!whole || tra_dtype_is_float(m->dtype));
    if (floats && whole) r = (double)i;
    memcpy(to, floats ? (void *)&r : (void *)&i, 8);
    *p->to = (tra_elements){.type = floats ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64, .n = 1, .data = to};
    return TRA_OK;
}

/* The elements that follow the header, as the component wants them. */
static tra_status read_elements(mapped *m, const component_array *p, tra_stream *in, const tra_npy *h, int64_t n,
                                tra_err *e) {
    const char *file = in->name;
    size_t size = tra_elem_size(h->elem), have;
    tra_dtype t = tra_elem_dtype(h->elem);
    tra_losses loss = {0};
    void *raw, *to;
    if (p->real && m->job->source.has_dtype) t = m->job->source.dtype;
    if (!p->real && tra_dtype_is_float(t))
        return tra_fail(e, TRA_INPUT, "%s: holds %s, but component %s of storage %s is of integers", file,
                        tra_elem_name(h->elem), p->name, m->storage->decl->name);
    if (!p->real) t = TRA_I64;
    TRA_TRY(allocate_within(m, tra_mul_most(n, (int64_t)tra_dtype_size(t)), &to, e));
    TRA_TRY(allocate_within(m, tra_mul_most(n, (int64_t)size), &raw, e));
    TRA_TRY(tra_stream_take(in, raw, (size_t)n * size, e));
    TRA_TRY(tra_stream_need(in, 1, &have, e));
    if (have) return tra_fail(e, TRA_INPUT, "%s: goes on after its last element", file);
    int64_t bad = tra_elem_convert(h->elem, h->swap, raw, t, to, n, &loss);
    if (bad >= 0) return tra_elem_refuse(file, &(tra_dims){1, {bad}}, h->elem, (char *)raw + (size_t)bad * size, t, e);
    m->r->inexact += loss.inexact;
    m->r->overflow += loss.overflow;
    m->r->bytes_in += tra_stream_position(in);
    m->held -= tra_max64(1, n * (int64_t)size);
    free(m->data[--m->ndata]); /* raw */
    *p->to = (tra_elements){.type = tra_element_of(t), .n = n, .data = to};
    return TRA_OK;
}

static tra_status read_file(mapped *m, const component_array *p, const char *file, tra_err *e) {
    tra_stream in;
    tra_npy h;
    int64_t n;
    char shape[TRA_DIMTEXT];
    TRA_TRY(tra_stream_open(file, 64 << 10, &in, e));
    tra_status s = tra_npy_read(&in, m->arena, file, &h, e);
    if (s == TRA_OK) s = tra_npy_elem(&h, file, e);
    if (s == TRA_OK &&
        (!tra_dims_product(&h.shape, &n) || h.shape.n > 1 || (p->scalar && n != 1) || (!p->scalar && h.shape.n == 0)))
        s = tra_fail(e, TRA_INPUT, "%s: has shape %s, but component %s of storage %s is %s", file,
                     h.shape.n ? tra_shape_text(&h.shape, shape) : "()", p->name, m->storage->decl->name,
                     p->scalar ? "a scalar" : "an array of one dimension");
    if (s == TRA_OK && in.seekable && (in.size - tra_stream_position(&in)) / (int64_t)tra_elem_size(h.elem) < n)
        s = tra_fail(e, TRA_INPUT, "%s: ends before the last of its %" PRId64 " elements", file, n);
    if (s == TRA_OK) s = read_elements(m, p, &in, &h, n, e);
    tra_stream_close(&in);
    return s;
}

static tra_status read_components(mapped *m, tra_err *e) {
    for (int i = 0; i < m->job->ncomponents; i++) {
        const char *text = m->job->components[i], *eq = strchr(text, '=');
        component_array p = {0};
        bool number;
        if (!eq || !eq[1])
            return tra_fail(e, TRA_USAGE, "--component %s: NAME=FILE.npy, or NAME=NUMBER of a scalar, is expected",
                            text);
        TRA_TRY(find_array(m, text, (size_t)(eq - text), &p, e));
        TRA_TRY(read_number(m, &p, eq + 1, &number, e));
        if (!number) TRA_TRY(read_file(m, &p, eq + 1, e));
    }
    return TRA_OK;
}

/* Of those that are given: the type that holds the elements of all that are real. */
static void choose_dtype(mapped *m) {
    bool any = false;
    for (int k = 0; k < m->storage->ncomponents; k++) {
        tra_dtype t = dtype_of(m->block.component[k].value.type);
        if (!m->storage->components[k].real) continue;
        m->dtype = any ? tra_dtype_join(m->dtype, t) : t;
        any = true;
    }
    if (!any) m->dtype = TRA_I64;
}

/* ---- components from entries ------------------------------------------------------------------------------------- */

static const char *coordinates(const mapped *m, const tra_places *places, int64_t place, char text[TRA_DIMTEXT]) {
    tra_dims at;
    tra_place_at(places, (uint64_t)place, &at);
    for (int d = 0; d < at.n; d++) at.v[d] += m->source->base;
    return tra_dims_text(&at, "(", ",", ")", text, TRA_DIMTEXT);
}

static const char *value_text(const mapped *m, tra_number v, char text[TRA_NUMTEXT + 1]) {
    char value[8];
    (void)tra_put_value(m->dtype, value, 0, v);
    text[tra_print_value(m->dtype, value, 0, text)] = '\0';
    return text;
}

static bool same(const mapped *m, tra_number a, tra_number b) {
    if (!tra_dtype_is_float(m->dtype)) return a.whole == b.whole;
    return a.real == b.real || (isnan(a.real) && isnan(b.real));
}

/* The element of a place has this value, 0 where no entry is. */
static tra_status set_element(mapped *m, const tra_places *places, const tra_storage_place *p, tra_number v,
                              tra_err *e) {
    int64_t *owner = m->owner[p->component] ? &m->owner[p->component][p->element] : NULL;
    if (!owner)
        return tra_fail(e, TRA_USAGE, "storage %s: component %s is given, and would have to be filled from %s",
                        m->storage->decl->name, m->storage->components[p->component].name, m->source->spec);
    void *data = (void *)(uintptr_t)m->block.component[p->component].value.data;
    if (*owner < 0) {
        m->source->overflow += tra_put_value(m->dtype, data, p->element, v);
        *owner = p->at;
        return TRA_OK;
    }
    char value[8], first[TRA_DIMTEXT], second[TRA_DIMTEXT], v1[TRA_NUMTEXT + 1], v2[TRA_NUMTEXT + 1];
    (void)tra_put_value(m->dtype, value, 0, v); /* as it is stored */
    tra_number there = tra_number_of(m->dtype, data, p->element);
    if (same(m, there, tra_number_of(m->dtype, value, 0))) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: elements %s and %s are %s and %s, but storage %s holds one value for both",
                    m->source->spec, coordinates(m, places, *owner, first), coordinates(m, places, p->at, second),
                    value_text(m, there, v1), value_text(m, v, v2), m->storage->decl->name);
}

static tra_status cannot_hold(const mapped *m, const tra_places *places, const tra_item *x, tra_err *e) {
    char at[TRA_DIMTEXT], value[TRA_NUMTEXT + 1];
    return tra_fail(e, TRA_INPUT, "%s: element %s is %s, for which storage %s has no place", m->source->spec,
                    coordinates(m, places, (int64_t)x->place, at), value_text(m, x->value, value), m->job->storage);
}

/* Entries and places, both ascending. */
static tra_status fill_from(mapped *m, tra_sorter *sorted, const tra_places *places, const tra_storage_places *all,
                            tra_err *e) {
    enum { BATCH = 512 };
    tra_item batch[BATCH];
    tra_number zero;
    int64_t got = BATCH, q = 0;
    memset(&zero, 0, sizeof zero);
    while (got == BATCH) {
        TRA_TRY(tra_entries_take(m->source, sorted, places, batch, BATCH, &got, e));
        for (int64_t i = 0; i < got; i++) {
            int64_t at = (int64_t)batch[i].place;
            for (; q < all->n && all->v[q].at < at; q++) TRA_TRY(set_element(m, places, &all->v[q], zero, e));
            if (q < all->n && all->v[q].at == at)
                TRA_TRY(set_element(m, places, &all->v[q++], batch[i].value, e));
            else if (!same(m, batch[i].value, zero))
                return cannot_hold(m, places, &batch[i], e);
        }
    }
    for (; q < all->n; q++) TRA_TRY(set_element(m, places, &all->v[q], zero, e));
    return TRA_OK;
}

/* Room for the components that are not given, all 0. */
static tra_status allocate_missing(mapped *m, bool *given, tra_err *e) {
    m->owner = tra_news(m->arena, int64_t *, m->storage->ncomponents + 1);
    for (int k = 0; k < m->storage->ncomponents; k++) {
        const tra_component *c = &m->storage->components[k];
        tra_elements *x = &m->block.component[k].value;
        void *data, *owner;
        if (given[k]) continue;
        if (!c->real)
            return tra_fail(e, TRA_USAGE,
                            "storage %s: component %s is of integers and cannot be filled from %s: give "
                            "it with --component %s=FILE.npy",
                            m->storage->decl->name, c->name, m->source->spec, c->name);
        TRA_TRY(allocate_within(m, tra_mul_most(x->n, (int64_t)tra_dtype_size(m->dtype)), &data, e));
        TRA_TRY(allocate_within(m, tra_mul_most(x->n, (int64_t)sizeof(int64_t)), &owner, e));
        memset(data, 0, (size_t)x->n * tra_dtype_size(m->dtype));
        for (int64_t i = 0; i < x->n; i++) ((int64_t *)owner)[i] = -1;
        *x = (tra_elements){.type = tra_element_of(m->dtype), .n = x->n, .data = data};
        m->owner[k] = owner;
    }
    return TRA_OK;
}

/* The mapping backwards, of at most so many entries. */
static tra_status trace_mapping(mapped *m, int64_t most, tra_storage_places *out, tra_err *e) {
    tra_err why = {0};
    tra_status s = tra_storage_trace_most(m->storage, &m->block, 0, most, out, &why);
    if (s == TRA_OK) return TRA_OK;
    if (s != TRA_PROGRAM) return tra_fail(e, s, "%s", why.msg);
    return tra_fail(e, TRA_USAGE,
                    "storage %s cannot be filled from entries alone: %s; give components that have positions with "
                    "--component NAME=FILE.npy",
                    m->job->storage, why.msg);
}

static tra_status fill(mapped *m, bool *given, tra_err *e) {
    tra_storage_places all = {0};
    tra_places places;
    tra_sorter *sorted = NULL;
    int64_t elements = 0, reading = tra_entries_need(m->source, false);
    tra_err why = {0};
    if (tra_storage_find_sizes(m->storage, &m->block, &why) != TRA_OK)
        return tra_fail(e, TRA_USAGE, "storage %s cannot be filled from entries alone: %s; give it with --component",
                        m->job->storage, why.msg);
    for (int k = 0; k < m->storage->ncomponents; k++)
        if (!given[k]) elements = tra_add_most(elements, m->block.component[k].value.n);
    int64_t need = tra_add_most(m->held + reading, tra_mul_most(elements, ENTRY_ROOM + 16));
    tra_buffer_note(tra_add_most(need, need / 7));
    if (need > m->memory) TRA_TRY(tra_buffer_check(m->ceiling, tra_add_most(need, need / 7), e));
    int64_t most = tra_max64(1, m->memory - m->held - reading - elements * 16) / ENTRY_ROOM;
    TRA_TRY(trace_mapping(m, most, &all, e));
    tra_status s = allocate_missing(m, given, e);
    int64_t left = m->memory - m->held - all.n * ENTRY_ROOM;
    tra_entries_options o = {.memory = tra_max64(left, reading),
                             .output = m->job->to,
                             .no_duplicate = m->job->no_duplicate,
                             .drop_zeros = m->job->drop_zeros};
    tra_places_of(&places, &m->shape, &m->shape);
    if (s == TRA_OK) s = tra_entries_sort(m->source, &places, &o, &sorted, e);
    if (s == TRA_OK) s = tra_sorter_merge(sorted, o.memory, e);
    if (s == TRA_OK) s = fill_from(m, sorted, &places, &all, e);
    if (sorted) {
        tra_sorter_counts c = tra_sorter_counted(sorted);
        m->r->duplicates = c.duplicates;
        m->r->zeros = c.dropped;
        m->r->spilled = c.spilled;
        tra_sorter_free(sorted);
    }
    tra_storage_places_free(&all);
    return s;
}

/* ---- the job ---------------------------------------------------------------------------------------------------- */

/* Of an entry that the mapping gives. */
static tra_status count(void *ctx, const tra_calc_entry *x, tra_err *e) {
    mapped *m = ctx;
    double v = tra_calc_as_real(x->value);
    m->r->stored++;
    m->r->nan += isnan(v) != 0;
    m->r->inf += isinf(v) != 0;
    char element[8];
    uint64_t at = 0;
    if (!tra_dtype_is_float(m->dtype) && (x->value.real || !tra_dtype_holds(m->dtype, x->value.i)))
        return tra_fail(e, TRA_INPUT, "storage %s gives %.17g, which is no %s", m->storage->decl->name, v,
                        tra_dtype_name(m->dtype));
    TRA_TRY(tra_mapped_element(m->dtype, x->value, element, e));
    for (int d = 0; d < m->shape.n; d++) at = at * (uint64_t)m->shape.v[d] + (uint64_t)x->key[d];
    tra_digest_element(&m->digest, m->dtype, element, at);
    return TRA_OK;
}

static tra_status check_options(const mapped *m, tra_err *e) {
    const tra_import_job *job = m->job;
    char text[TRA_DIMTEXT];
    if (job->block && !tra_dims_eq(job->block, &m->shape))
        return tra_fail(e, TRA_USAGE, "--block: what storage %s makes is one block, of %s; run reblocks it",
                        job->storage, tra_shape_text(&m->shape, text));
    for (int d = 0; d < m->shape.n; d++)
        if (m->shape.v[d] < 1)
            return tra_fail(e, TRA_INPUT, "storage %s: the tensor has no elements (%s)", job->storage,
                            tra_shape_text(&m->shape, text));
    if (m->shape.n < 1 || m->shape.n > TRA_MAXDIM / 2 || !tra_rows_can(&m->shape))
        return tra_fail(e, TRA_USAGE,
                        "storage %s: tensors of 1 to %d dimensions can be stored so, the last of less "
                        "than 2^32 elements",
                        job->storage, TRA_MAXDIM / 2);
    return TRA_OK;
}

/* The storage, and its components as far as they are given. Whether the elements are integers, on which depends what
 * the mapping may be, is known with the components. */
static tra_status begin(mapped *m, bool **given, tra_err *e) {
    bool whole = m->source && !tra_dtype_is_float(m->dtype);
    TRA_TRY(tra_storage_any(m->job->storage, m->shape.n, whole, m->arena, &m->storage, e));
    tra_levels levels;
    bool dense;
    if (tra_storage_levels(m->storage, &levels, &dense))
        return tra_fail(e, TRA_USAGE, "--component: storage %s is by levels, and is made of entries alone",
                        m->job->storage);
    int n = m->storage->ncomponents;
    m->block.extent = m->shape.v;
    m->block.component = tra_news(m->arena, tra_component_data, n + 1);
    *given = tra_news(m->arena, bool, n + 1);
    TRA_TRY(read_components(m, e));
    for (int k = 0; k < n; k++) {
        component_array p[TRA_CALC_MAXRANK + 1];
        int have = 0, all = arrays_of(m, k, p);
        for (int i = 0; i < all; i++) have += p[i].to->data != NULL;
        for (int i = 0; i < all && (!m->source || have); i++)
            if (!p[i].to->data)
                return tra_fail(e, TRA_USAGE, "storage %s: give its component %s: --component %s=FILE.npy",
                                m->storage->decl->name, p[i].name, p[i].name);
        (*given)[k] = have > 0;
        if (!have) p[0].to->type = p[0].real ? tra_element_of(m->dtype) : TRA_ELEMENT_I64;
    }
    if (m->source) return TRA_OK;
    choose_dtype(m);
    if (tra_dtype_is_float(m->dtype)) return TRA_OK;
    return tra_storage_any(m->job->storage, m->shape.n, true, m->arena, &m->storage, e);
}

static tra_status write_relation(mapped *m, tra_err *e) {
    tra_catalog cat;
    tra_writer *w;
    TRA_TRY(tra_catalog_blocks(&m->shape, &m->shape, &cat, e));
    tra_type type = {.dtype = m->dtype, .cat = &cat};
    for (int d = 0; d < m->shape.n; d++) type.cut[d] = 1u << d;
    tra_mapped made = {.storage = m->storage, .component = m->block.component};
    tra_write_options o = {.codec = m->job->codec,
                           .history = m->job->history,
                           .labels = m->source ? m->source->labels : NULL,
                           .mapped = &made};
    TRA_TRY(tra_writer_create(m->job->to, &type, &o, &w, e));
    m->r->bytes_stored = tra_writer_stored(w);
    char digest[33];
    tra_digest_text(&m->digest, &type, digest);
    return tra_writer_commit(w, tra_storage_says_unique(m->storage) ? digest : NULL, e);
}

static tra_status run(mapped *m, tra_err *e) {
    bool *given = NULL;
    TRA_TRY(check_options(m, e));
    TRA_TRY(begin(m, &given, e));
    if (m->source) TRA_TRY(fill(m, given, e));
    char *where = tra_arena_printf(m->arena, "storage %s", m->job->storage);
    TRA_TRY(tra_component_check(m->storage, &m->block, where, e));
    TRA_TRY(tra_storage_run(m->storage, &m->block, 0, count, m, e));
    return write_relation(m, e);
}

tra_status tra_import_mapped(const tra_import_job *job, tra_source *source, int64_t ceiling, int64_t memory,
                             tra_import_receipt *r, tra_err *e) {
    mapped m = {.job = job, .source = source, .r = r, .ceiling = ceiling, .dtype = TRA_F64};
    m.memory = memory - (source ? (int64_t)source->held : 0);
    if (source) {
        m.shape = source->shape;
        m.dtype = source->dtype;
    } else if (!job->storage || !job->source.has_shape) {
        return tra_fail(e, TRA_USAGE,
                        "--component: say what is made of components: --storage FILE.tra:NAME --shape MxN");
    } else {
        m.shape = job->source.shape;
        *r = (tra_import_receipt){.format = "components", .shape = m.shape, .entries = -1, .header_lines = -1};
    }
    m.arena = tra_arena_new();
    tra_status s = run(&m, e);
    if (s == TRA_OK) {
        r->block = m.shape;
        r->dtype = m.dtype;
        r->blocks = 1;
        r->one_block = true;
        (void)tra_dims_product(&m.shape, &r->elements);
        snprintf(r->storage, sizeof r->storage, "%s", m.storage->decl->name);
    }
    for (int i = 0; i < m.ndata; i++) free(m.data[i]);
    free(m.data);
    tra_arena_free(m.arena);
    return s;
}
