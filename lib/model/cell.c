/* cell.c - headers of blocks that are not dense. */
#include "cell.h"

#include <assert.h>
#include <string.h>

enum { MAGIC = 0x6c6c6563 };

int64_t tra_cell_aligned(int64_t at) {
    int64_t end = tra_add_most(at, TRA_CELL_ALIGN - 1);
    return end == INT64_MAX ? INT64_MAX : end / TRA_CELL_ALIGN * TRA_CELL_ALIGN;
}

static int64_t end_of(const tra_cell_part *p) { return tra_add_most(p->offset, tra_mul_most(p->count, p->each)); }

/* Sets where the parts begin; returns where the last one ends. */
static int64_t place(int nparts, const int64_t *count, const int64_t *each, tra_cell_part *out) {
    int64_t at = sizeof(tra_cell_head);
    for (int i = 0; i < nparts; i++) {
        out[i] = (tra_cell_part){.count = count[i], .offset = tra_cell_aligned(at), .each = each[i]};
        at = end_of(&out[i]);
    }
    return at;
}

int64_t tra_cell_room(int nparts, const int64_t *count, const int64_t *each) {
    tra_cell_part part[TRA_MAXPARTS];
    return tra_min64(place(nparts, count, each, part), TRA_SIZE_MOST);
}

/* Number of the first row of a tuple whose dimension 0 is cut; -1 where only the run tells. */
static int64_t rows_before(const tra_type *t, int64_t ordinal) {
    tra_dims key, at;
    if (t->bounded || t->cat->frontier.n != 1) return -1;
    tra_catalog_key(t->cat, ordinal, &key);
    tra_type_offset(t, &key, &at);
    return at.v[0];
}

tra_cell tra_cell_new(const tra_type *t, int64_t ordinal, void *block) {
    tra_cell c = {.layout = t->layout, .sparse = t->sparse, .array.dtype = t->dtype};
    tra_catalog_ext(t->cat, ordinal, &c.array.ext);
    c.columns = t->columns;
    if (t->columns || t->cut[0] == 1) c.first = rows_before(t, ordinal);
    if (t->layout)
        c.head = block;
    else
        c.array.data = block;
    return c;
}

bool tra_cell_take(tra_cell *c, int64_t bytes) {
    if (c->head) return true;
    c->head = c->from->take(c->from, bytes);
    c->from->refused = !c->head;
    return c->head != NULL;
}

void tra_cell_begin(tra_cell *c, const int64_t *count, const int64_t *each) {
    assert(c->layout && c->layout->nparts <= TRA_MAXPARTS);
    *c->head = (tra_cell_head){.magic = MAGIC, .layout = c->layout->id, .nparts = c->layout->nparts};
    place(c->head->nparts, count, each, c->head->part);
}

int64_t tra_cell_trim(tra_cell *c, const int64_t *count) {
    int64_t each[TRA_MAXPARTS];
    tra_cell_head *h = c->head;
    tra_cell_part to[TRA_MAXPARTS];
    for (int i = 0; i < h->nparts; i++) {
        assert(count[i] <= h->part[i].count);
        each[i] = h->part[i].each;
    }
    int64_t end = place(h->nparts, count, each, to);
    for (int i = 0; i < h->nparts; i++) /* no part moves up, and those before it have been moved already */
        if (to[i].offset != h->part[i].offset)
            memmove((char *)h + to[i].offset, (char *)h + h->part[i].offset, (size_t)(count[i] * each[i]));
    memcpy(h->part, to, (size_t)h->nparts * sizeof *to);
    return end;
}

int64_t tra_cell_bytes(const tra_cell *c) {
    if (!c->layout) return tra_dense_bytes(c->array.dtype, &c->array.ext);
    return c->head->nparts ? end_of(&c->head->part[c->head->nparts - 1]) : (int64_t)sizeof *c->head;
}

/* What is wrong with the header of a block of so many bytes; NULL: nothing. */
static const char *wrong(const tra_layout *l, const tra_cell_head *h, int64_t bytes) {
    int64_t at = sizeof *h;
    if (bytes < at) return "shorter than its header";
    if (h->magic != MAGIC || h->none != 0) return "without a header";
    if (h->layout != l->id || h->nparts != l->nparts) return "of another layout";
    for (int i = 0; i < h->nparts; i++) {
        const tra_cell_part *p = &h->part[i];
        if (p->count < 0 || p->each < 1) return "cut in parts of which one has no size";
        if (p->offset != tra_cell_aligned(at)) return "cut in parts of which one is not where the one before ends";
        at = end_of(p);
        if (at > bytes) return "cut in parts of which one reaches beyond its end";
    }
    return NULL;
}

tra_status tra_cell_of(const tra_type *t, int64_t ordinal, void *block, int64_t bytes, tra_cell *out, tra_err *e) {
    const char *why = NULL;
    *out = tra_cell_new(t, ordinal, block);
    if (t->layout)
        why = wrong(t->layout, block, bytes);
    else if (bytes < tra_dense_bytes(t->dtype, &out->array.ext))
        why = "shorter than its array";
    if (!why && t->layout && t->layout->adopt_extents) why = t->layout->adopt_extents(out);
    if (!why) return TRA_OK;
    char key[TRA_DIMTEXT];
    tra_dims k;
    tra_catalog_key(t->cat, ordinal, &k);
    return tra_fail(e, TRA_INPUT, "the block of %s, of %" PRId64 " bytes, is damaged: it is %s", tra_key_text(&k, key),
                    bytes, why);
}
