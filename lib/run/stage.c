/* stage.c - the simple local stages: one result from the inputs of one unit. */
#include "stages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t tra_stage_io(const tra_part *const *parts, int n) {
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        const tra_part *p = parts[i];
        while (p && p->kind != TRA_PART_STORED) p = p->base;
        int64_t of_file = 0; /* after an exchange some blocks came from other sites and some are a file's still */
        while (p && of_file < p->n && !(p->block[of_file] && p->block[of_file]->rel)) of_file++;
        if (!p || of_file == p->n) continue;
        size_t need = tra_rel_scratch(p->block[of_file]->rel);
        if (need > most) most = need;
    }
    return most;
}

size_t tra_stage_scratch(const tra_part *const *parts, int n) {
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        for (const tra_part *p = parts[i]; p; p = p->base) {
            size_t need = p->kind == TRA_PART_STORED ? 0 : tra_part_scratch(p);
            if (need > most) most = need;
        }
    }
    return most;
}

tra_status tra_stage_end(tra_site *site, tra_status s, tra_err *e) {
    tra_err drained = {0};
    tra_status end = tra_engine_drain(site->engine, &drained);
    if (end == TRA_OK) return s;
    *e = drained; /* whatever failed since did because of it */
    return end;
}

typedef struct result { /* of one unit */
    tra_outlet *sink;
    const tra_op *op;
    tra_site *site;
    int64_t ordinal;
    tra_block *block;
} result;

static void end_result(tra_unit *u) {
    result *x = u->ctx;
    tra_block_free(x->site->pool, x->block); /* only after a failure is it left */
    free(x);
}

static tra_status emit(result *x, tra_worker *w, tra_err *e) {
    tra_block *b = x->block;
    atomic_fetch_add(&x->site->done, 1);
    x->block = NULL;
    return tra_outlet_emit(x->sink, w, x->ordinal, 0, b, e);
}

/* Workers get what they need to read a part and to write into the sink. */
static tra_status begin(tra_site *site, tra_part *in, const tra_outlet *sink, tra_err *e) {
    const tra_part *parts[1] = {in};
    size_t read = tra_stage_io(parts, 1), write = tra_outlet_io(sink);
    return tra_engine_stage(site->engine, tra_stage_scratch(parts, 1), read > write ? read : write, e);
}

/* type: of the block that the unit writes, or NULL when it will have one. */
static tra_status submit(tra_site *site, tra_outlet *sink, const tra_op *op, const tra_type *type, int64_t ordinal,
                         tra_unit *u, tra_status (*run)(tra_unit *, int, tra_worker *, tra_err *), tra_err *e) {
    result *x = tra_calloc(1, sizeof *x);
    *x = (result){.sink = sink, .op = op, .site = site, .ordinal = ordinal};
    u->ctx = x;
    u->end = end_result;
    u->run = run;
    tra_status s = TRA_OK;
    if (type) {
        int64_t bytes = tra_type_bytes(type, ordinal).bound;
        s = tra_block_new(site->pool, tra_outlet_bytes(sink, bytes), &x->block, e);
    }
    if (s != TRA_OK) {
        tra_unit_drop(site->engine, u);
        return s;
    }
    return tra_engine_submit(site->engine, u, e);
}

/* ---- copy: MAP, TILE and whatever is not stored, made stored or written ----------------------------------------- */

static tra_status run_copy(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    (void)task;
    if (x->block)
        memcpy(x->block->ptr, u->inputs[0].array.data, tra_array_bytes(&u->inputs[0].array));
    else
        x->block = tra_engine_take(w->engine, &u->inputs[0]);
    return emit(x, w, e);
}

tra_status tra_stage_copy(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *sink, tra_err *e) {
    bool alone = tra_op_reads_alone(site->plan, op, 0), last = tra_op_reads_last(site->plan, op, 0);
    TRA_TRY(begin(site, in, sink, e));
    tra_status s = TRA_OK;
    site->all = in->n;
    for (int64_t i = 0; i < in->n && s == TRA_OK; i++) {
        if (tra_outlet_has(sink, in->ordinal[i])) continue;
        tra_part *stored, *via;
        int64_t at, via_at;
        tra_part_resolve(in, i, &stored, &at, &via, &via_at);
        tra_unit *u = tra_unit_new(1, 1);
        u->inputs[0] =
            (tra_unit_input){.part = in, .i = i, .room = tra_outlet_bytes(sink, 0), .leaves = alone, .last = last};
        s = submit(site, sink, NULL, via ? NULL : in->type, in->ordinal[i], u, run_copy, e);
    }
    return tra_stage_end(site, s, e);
}

/* ---- concat ------------------------------------------------------------------------------------------------- */

static tra_status run_concat(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    result *x = u->ctx;
    tra_array out = {.dtype = x->op->type.dtype, .data = x->block->ptr};
    tra_dims from = {.n = 0}, to;
    (void)task;
    tra_catalog_ext(x->op->type.cat, x->ordinal, &out.ext);
    from.n = out.ext.n;
    to = from;
    for (int i = 0; i < u->ninputs; i++) { /* in ascending order of keydim */
        tra_array_copy(&out, &to, &u->inputs[i].array, &from, &u->inputs[i].array.ext);
        to.v[x->op->what.dim] += u->inputs[i].array.ext.v[x->op->what.dim];
    }
    return emit(x, w, e);
}

tra_status tra_stage_concat(tra_site *site, const tra_op *op, tra_part *in, tra_outlet *sink, tra_err *e) {
    const tra_catalog *ic = in->type->cat, *oc = op->type.cat;
    bool alone = tra_op_reads_alone(site->plan, op, 0), last = tra_op_reads_last(site->plan, op, 0);
    TRA_TRY(begin(site, in, sink, e));
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < in->n && s == TRA_OK; i++) {
        tra_dims key, k;
        tra_catalog_key(ic, in->ordinal[i], &key);
        if (key.v[op->what.keydim] != 0) continue; /* a group begins at 0, has no gap, and is on one site */
        k.n = 0;
        for (int d = 0; d < key.n; d++) {
            if (d != op->what.keydim) k.v[k.n++] = key.v[d];
        }
        int64_t result = tra_catalog_find(oc, &k);
        int n = 0;
        if (tra_outlet_has(sink, result)) continue;
        for (;; n++, key.v[op->what.keydim]++) {
            int64_t t = tra_catalog_find(ic, &key);
            if (t < 0 || tra_part_find(in, t, 0) < 0) break;
        }
        tra_unit *u = tra_unit_new(n, 1);
        for (int j = 0; j < n; j++) {
            key.v[op->what.keydim] = j;
            int64_t t = tra_part_find(in, tra_catalog_find(ic, &key), 0);
            u->inputs[j] = (tra_unit_input){.part = in, .i = t, .leaves = alone, .last = last};
        }
        s = submit(site, sink, op, &op->type, result, u, run_concat, e);
    }
    return tra_stage_end(site, s, e);
}
