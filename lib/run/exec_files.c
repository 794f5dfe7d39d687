/* exec_files.c - what a plan reads and writes: inputs, outputs, what an earlier run has saved of results, and at the
 * end outputs that appear together. */
#include "../storage/stored.h"
#include "exec_int.h"

#include <assert.h>
#include <string.h>

/* ---- inputs and outputs ---------------------------------------------------------------------------------------- */

/* The relation that operator i reads, of the file that it opened; NULL: the file does not have it. */
static tra_rel *of_file(const tra_execution *x, int i) {
    return x->plan->ops[i].spec.transposed ? tra_rel_transposed(x->rels[i]) : x->rels[i];
}

tra_status tra_exec_open_inputs(tra_execution *x, tra_err *e) {
    tra_status s = TRA_OK;
    for (int i = 0; i < x->plan->nops && s == TRA_OK; i++) {
        const tra_op *op = &x->plan->ops[i];
        if (!tra_op_is(op->op, TRA_READS)) continue;
        if (!op->spec.path) {
            s = tra_fail(e, TRA_INPUT, "input %s is only declared; give it a file with -D %s=FILE", op->spec.name,
                         op->spec.name);
            break;
        }
        s = tra_rel_open_bare(op->spec.path, &op->type.cat->bound, &x->rels[i], e);
        if (s != TRA_OK) break;
        tra_rel *file = of_file(x, i);
        const tra_type *t = tra_rel_type(file ? file : x->rels[i]);
        if (!file || t->dtype != op->type.dtype || t->layout != op->type.layout || t->cat->n != op->type.cat->n ||
            !tra_dims_eq(&t->cat->frontier, &op->type.cat->frontier) ||
            !tra_dims_eq(&t->cat->bound, &op->type.cat->bound))
            s = tra_fail(e, TRA_INPUT, "%s is not what the plan was made for; compile it again", op->spec.path);
        else if (op->type.columns && op->type.columns->n < t->columns->n)
            s = tra_rel_choose_columns(x->rels[i], op->type.columns, e);
        if (s == TRA_OK && op->type.columns && op->type.entries && op->type.entries->of)
            tra_rel_skip_blocks(x->rels[i], op->type.entries->of);
        if (s == TRA_OK && op->type.columns) tra_rel_filter_rows(x->rels[i], tra_exec_rows_wanted(x, i));
    }
    return tra_comm_agree(&x->site.comm, s, e);
}

tra_part *tra_exec_input_part(tra_execution *x, int i) {
    const tra_op *op = &x->plan->ops[i];
    tra_part *p = tra_part_empty(&op->type, &op->place, x->site.comm.rank, 1);
    int64_t chunk_bytes = op->type.layout ? 0 : tra_store_chunk_bytes(&op->type);
    p->op = op;
    for (int64_t t = 0; t < p->n; t++) {
        int64_t bytes = tra_part_bytes(p, t);
        int64_t read = tra_type_skips(&op->type, p->ordinal[t]) ? 0 : op->type.layout ? bytes : chunk_bytes;
        p->block[t] = tra_block_of_file(of_file(x, i), p->ordinal[t], bytes, read, &x->report->ops[i].read_seconds);
    }
    return p;
}

tra_status tra_exec_open_outputs(tra_execution *x, tra_err *e) {
    for (int i = 0; i < x->plan->nops; i++) {
        const tra_op *op = &x->plan->ops[i];
        if (op->op != TRA_PLAN_OUTPUT) continue;
        tra_write_options w = {.codec = x->o->codec, .history = x->o->history, .alone = x->o->alone};
        assert(tra_place_eq(&op->place, &x->plan->ops[op->in[0]].place));
        /* who asks to go on expects that runs are killed */
        double may_lose = x->o->journal && x->o->journal->resume ? 0 : tra_checkpoint_seconds(x->o);
        const tra_layout *held = x->plan->ops[op->in[0]].type.layout;
        TRA_TRY(tra_outfile_open(&x->site.comm, op, held, &w, x->o->scratch, x->journal, may_lose, x->site.engine,
                                 x->site.pool, &x->files[i], e));
    }
    return TRA_OK;
}

int tra_exec_direct_output(const tra_execution *x, int i) {
    int to = -1;
    for (int j = i + 1; j < x->plan->nops; j++) {
        const tra_op *op = &x->plan->ops[j];
        if (op->in[0] != i && op->in[1] != i) continue;
        if (to >= 0 || op->op != TRA_PLAN_OUTPUT) return -1;
        to = j;
    }
    return to;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

tra_part *tra_exec_new_part(tra_execution *x, int i) {
    const tra_op *op = &x->plan->ops[i];
    int me = x->site.comm.rank, summands = 1;
    if (tra_op_is(op->op, TRA_FORWARDS)) summands = tra_place_summands(&x->plan->ops[op->in[0]].place);
    tra_part *p = tra_part_empty(&op->type, &op->place, me, summands);
    if (!op->spec.partial) return p;
    p->summand = tra_calloc((size_t)p->n, sizeof *p->summand);
    for (int64_t t = 0; t < p->n; t++) p->summand[t] = tra_place_summand(&op->place, me);
    return p;
}

/* Takes over the result of operator i as far as an earlier run saved it. */
static tra_status take_over(tra_execution *x, int i, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    bool exchange = tra_op_exchanges(op);
    if (!tra_journal_resumed(x->journal) || !tra_checkpoint_saves(x->plan, i)) return TRA_OK;
    if (!exchange && tra_exec_direct_output(x, i) >= 0) return TRA_OK;
    x->parts[i] = tra_exec_new_part(x, i);
    TRA_TRY(tra_checkpoint_take_over(x->checkpoint, op, exchange, x->parts[i], &x->complete[i], e));
    if (x->complete[i] || !exchange) return TRA_OK;
    tra_part_release(x->parts[i], x->site.pool); /* a part of what an exchange brings is of no use */
    x->parts[i] = NULL;
    return TRA_OK;
}

tra_status tra_exec_list_needed(tra_execution *x, tra_err *e) {
    bool *wanted = tra_news(x->arena, bool, x->plan->nloops); /* what the loop leaves is needed */
    for (int i = x->plan->nops - 1; i >= 0; i--) {
        const tra_op *op = &x->plan->ops[i];
        if (op->op == TRA_PLAN_OUTPUT) {
            int64_t all = op->type.cat->n, reused = tra_outfile_reused(x->files[i]);
            x->needed[i] = reused < all || all == 0;
            if (reused > 0) tra_journal_report(x->journal, reused, all, op->spec.name ? op->spec.name : op->spec.path);
        } else if (tra_op_is_end_of_turn(op->op)) {
            x->needed[i] = op->spec.loop < 0 || wanted[op->spec.loop];
        } else if (x->needed[i] && (op->op == TRA_PLAN_LAST || op->op == TRA_PLAN_TRACED)) {
            if (op->op == TRA_PLAN_LAST && op->loop < 0) TRA_TRY(take_over(x, i, e));
            wanted[op->spec.loop] |= !x->complete[i];
        } else if (x->needed[i] && (x->plan->nloops == 0 || op->loop < 0)) {
            TRA_TRY(take_over(x, i, e));
        }
        for (int j = 0; j < 2 && x->needed[i] && !x->complete[i]; j++) {
            if (op->in[j] >= 0) x->needed[op->in[j]] = true;
        }
    }
    if (x->plan->nloops == 0) tra_journal_report_if_nothing(x->journal); /* loops tell of their turns later */
    return TRA_OK;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* Makes all outputs appear together, or none. */
static tra_status put_in_place(tra_execution *x, tra_status s, bool keep, tra_err *e) {
    tra_commit_note note = {
        .step = x->o->step, .progress = tra_journal_path(x->journal), .lock = tra_journal_lock(x->journal)};
    tra_outfile **files = tra_news(x->arena, tra_outfile *, x->plan->nops);
    double t0 = tra_now();
    int n = 0, first = -1;
    for (int i = 0; i < x->plan->nops; i++) {
        if (!x->files[i]) continue;
        x->report->ops[i].disk_write = s == TRA_OK ? tra_outfile_written(x->files[i]) : 0;
        if (n == 0) first = i;
        files[n++] = x->files[i];
        x->files[i] = NULL;
    }
    s = tra_outfiles_commit(files, n, s, keep, x->o->step ? &note : NULL, e);
    if (x->o->settled) atomic_store(x->o->settled, s == TRA_OK && n > 0);
    if (first < 0) return s;
    x->place_op = first, x->place_seconds = tra_now() - t0;
    const char *path, *name;
    tra_relspec(x->arena, x->plan->ops[first].spec.path, &path, &name);
    if (s == TRA_OK && !x->o->step && x->site.comm.rank == 0) tra_commit_end(path);
    return s;
}

tra_status tra_exec_commit(tra_execution *x, tra_status s, tra_err *e) {
    int64_t any = tra_journal_has_any(x->journal);
    tra_comm_max(&x->site.comm, &any, 1);
    s = tra_comm_agree(&x->site.comm, s, e);
    for (int i = 0; i < x->plan->nops; i++) {
        double t0 = tra_now();
        tra_status before = s;
        if (x->files[i]) s = tra_outfile_finish(x->files[i], s, e);
        if (before == TRA_OK) s = tra_exec_name_statement(&x->plan->ops[i], s, e);
        x->report->ops[i].seconds += tra_now() - t0;
    }
    tra_pool_give_back(x->site.pool); /* statistics of tables take some */
    tra_return_free_memory();
    /* with these inputs a resumed run fails again, with others it may not resume; another plan saves anew */
    if (s == TRA_INPUT || s == TRA_PROGRAM || (s != TRA_OK && e->kind == TRA_KIND_OUTGROWN)) any = 0;
    s = put_in_place(x, s, any, e);
    if (s != TRA_OK && any) {
        size_t n = strlen(e->msg);
        snprintf(e->msg + n, sizeof e->msg - n, "; what is done is saved in %s, and --resume goes on from it",
                 tra_journal_path(x->journal));
    }
    tra_journal_close(x->journal, s != TRA_OK && any);
    return s;
}
