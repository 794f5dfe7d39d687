/* outlet.c - outlets: the results of a stage go to a part, or to the sink of an output file. */
#include "output_int.h"

#include "checkpoint.h"

#include <stdlib.h>

/* Gives the array of a tuple to the output, which owns its block then. */
static tra_status write_tuple(tra_outfile *o, tra_worker *w, int64_t ordinal, tra_block *block, tra_err *e) {
    tra_thread_tally *tally = &o->tallies[w->id];
    tra_saved rec = {.ordinal = ordinal};
    if (o->digester) tra_digester_add(o->digester, &rec.digest, ordinal, block->ptr);
    tally->arrays++;
    tally->bytes += o->mapping ? tra_packed_bytes(o, ordinal) : block->bytes;
    tra_digest_add(&tally->digest, &rec.digest);
    return o->sink->put(o, w, &rec, block, e);
}

bool tra_outlet_has(const tra_outlet *s, int64_t ordinal) {
    if (s->file) return s->file->tuple_flags[ordinal] != TRA_TUPLE_MINE;
    int64_t i = tra_part_find(s->part, ordinal, s->summand);
    return i >= 0 && s->part->block[i];
}

int64_t tra_outlet_bytes(const tra_outlet *s, int64_t bytes) {
    bool chunk = s->file && s->file->sink == &tra_sink_chunks && !tra_chunks_room(s->file);
    return chunk ? tra_max64(bytes, s->file->chunk_bytes) : bytes;
}

size_t tra_outlet_io(const tra_outlet *s) {
    const tra_outfile *o = s->file;
    if (!o) return 0;
    return (size_t)(o->count_room + tra_chunks_room(o) + (o->zstd ? tra_codec_scratch(&o->file_type) : 0));
}

/* Counts the rows of a result, where only the run tells how many it has; of copies, on the first site alone. Fails
 * where a block has more rows than its bound, which may be an estimate (tra_op_may_outgrow). */
static tra_status count_rows(const tra_outlet *s, int64_t ordinal, tra_block *b, tra_err *e) {
    tra_cell c;
    tra_dims key;
    char place[512];
    if (!s->op->type.columns || !s->op->type.bounded) return TRA_OK;
    if (tra_cell_of(&s->op->type, ordinal, b->ptr, b->bytes, &c, NULL) != TRA_OK)
        return tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_OUTGROWN, "%smore rows come in a block than were expected",
                             tra_op_text(s->op, place, sizeof place));
    b->rowless = c.array.ext.v[0] == 0;
    if (!s->counted) return TRA_OK;
    if (s->part && tra_place_copies(&s->op->place) > 1) {
        int *holders = tra_malloc((size_t)s->op->place.sites * sizeof *holders);
        tra_catalog_key(s->op->type.cat, ordinal, &key);
        (void)tra_place_holders(&s->op->place, s->op->type.cat, ordinal, &key, holders);
        bool first = holders[0] == s->site;
        free(holders);
        if (!first) return TRA_OK;
    }
    __atomic_fetch_add(&s->counted[0], c.array.ext.v[0], __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->counted[1], 1, __ATOMIC_RELAXED);
    return TRA_OK;
}

tra_status tra_outlet_emit(tra_outlet *s, tra_worker *w, int64_t ordinal, int summand, tra_block *block, tra_err *e) {
    bool wanted = s->part || !tra_outlet_has(s, ordinal);
    tra_status st = tra_cancelled() ? tra_fail(e, TRA_STOPPED, "the stage has failed") /* it may be unfinished */
                    : wanted        ? count_rows(s, ordinal, block, e)
                                    : TRA_OK;
    int64_t i = st == TRA_OK && s->part ? tra_part_find(s->part, ordinal, summand) : 0;
    if (st == TRA_OK && s->part && (i < 0 || s->part->block[i]))
        st = tra_fail(e, TRA_INTERNAL, "a result that the plan does not expect on this site");
    if (st != TRA_OK || !wanted) {
        tra_block_free(s->pool, block);
        return st;
    }
    if (s->part) {
        __atomic_store_n(&s->part->block[i], block, __ATOMIC_RELEASE); /* tra_engine_has_inputs looks at it */
        tra_checkpoint_result(s->checkpoint, s->op, s->part, i);
        tra_block_unpin(s->pool, block);
        return TRA_OK;
    }
    if (w) tra_engine_set_writing(w, true);
    st = write_tuple(s->file, w, ordinal, block, e);
    if (w) tra_engine_set_writing(w, false);
    return st;
}

tra_status tra_outlet_emit_panels(tra_outlet *s, tra_worker *w, int64_t ordinal, tra_panels *p, tra_err *e) {
    tra_status st = tra_cancelled() ? tra_fail(e, TRA_STOPPED, "the stage has failed") : TRA_OK;
    if (st == TRA_OK && !tra_outlet_has(s, ordinal)) {
        tra_panels_writing *to = tra_outlet_begin_panels(s, w, ordinal);
        tra_engine_set_writing(w, true);
        for (int i = 0; i < p->n && st == TRA_OK; i++) {
            tra_block *b = p->v[i].block;
            st = tra_held_pin(s->file, w, b, e);
            if (st != TRA_OK) break;
            p->v[i].block = NULL;
            st = tra_outlet_put_panel(to, b, e);
        }
        st = tra_outlet_end_panels(to, st, e);
        tra_engine_set_writing(w, false);
    }
    tra_panels_free(p, s->pool);
    return st;
}
