/* exec_loop.c - loops: their turns, the values of their states, their conditions, what they trace. */
#include "exec_int.h"
#include "../model/columns.h"
#include "stages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values of rank 0 -------------------------------------------------------------------------------------------- */

/* Reads the number that a part of rank 0 holds, the input of operator i, if this site has it: the bits of its double,
 * and those of a column. Others have INT64_MIN, until the sites tell each other. */
static tra_status read_value(tra_execution *x, int i, tra_part *p, int64_t told[2], tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    tra_dtype t = x->plan->ops[op->in[0]].type.dtype;
    told[0] = told[1] = INT64_MIN;
    if (p->n == 0) return TRA_OK;
    tra_unit_input in = {.part = p, .i = 0, .after = TRA_AFTER_KEEP};
    TRA_TRY(tra_engine_fetch(x->site.engine, &in, (size_t)op->method.scratch_bytes, (size_t)op->method.io_bytes, e));
    double real = tra_element_real(t, in.cell.array.data, 0);
    memcpy(&told[0], &real, sizeof real);
    told[1] = tra_element_bits(t, in.cell.array.data, 0);
    tra_engine_release(x->site.engine, &in);
    return TRA_OK;
}

/* Notes the number for the end of the turn. */
static tra_status note_value(tra_execution *x, int i, tra_part *p, tra_err *e) {
    tra_loop_run *run = &x->loops[x->plan->ops[i].spec.loop];
    run->reader[run->nread] = i;
    return read_value(x, i, p, &run->told[2 * run->nread++], e);
}

/* Fails where the number is 0 or NaN. Collective. */
static tra_status require_value(tra_execution *x, int i, tra_part *p, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    int64_t told[2];
    double real;
    tra_status s = read_value(x, i, p, told, e);
    tra_comm_max(&x->site.comm, told, 2);
    memcpy(&real, &told[0], sizeof real);
    if (s != TRA_OK || (real != 0 && !isnan(real))) return s;
    const tra_program_text *t = op->spec.program;
    return tra_fail(e, TRA_INPUT, "%s:%d: %s", t ? t->file : "", tra_program_line(t, op->spec.text_at), op->spec.name);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* The part with its arrays stored: itself, or one whose blocks are those of the part below a view. */
static tra_part *stored(tra_execution *x, const tra_op *op, tra_part *in) {
    if (in->kind == TRA_PART_STORED) {
        tra_part_retain(in);
        return in;
    }
    tra_part *p = tra_part_empty(&op->type, &op->place, x->site.comm.rank, 1);
    assert(p->n == in->n);
    for (int64_t i = 0; i < p->n; i++) {
        tra_part_source src = tra_part_resolve(in, i);
        assert(!src.via && p->ordinal[i] == in->ordinal[i]); /* what a loop takes is not fused (memory.c) */
        p->block[i] = src.stored->block[src.at];
        tra_block_share(x->site.pool, p->block[i]);
    }
    return p;
}

/* Sets value i of a column to what tra_element_bits gave. */
static void set_value(const tra_column *c, void *values, int64_t i, int64_t bits) {
    union {
        int64_t bits;
        double real;
    } v = {.bits = bits};
#define REAL_FLOAT(ctype) (ctype) v.real
#define REAL_INT(ctype)   (ctype) v.bits
#define REAL_BOOL(ctype)  (ctype) v.bits
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: ((ctype *)values)[i] = REAL_##class(ctype); return;
    switch (tra_coltype_held(c->type)) { TRA_DTYPES(X) }
#undef X
}

/* The table of what was traced by that loop (NULL: none has run): the blocks of rows that are this site's. */
static tra_status make_traced(tra_execution *x, int i, const tra_loop_run *run, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    const int64_t *v = run ? run->trace[op->spec.item].v : NULL;
    int64_t each = op->type.cat->bound.v[0], n = op->type.columns->n;
    tra_part *p = x->parts[i] = tra_exec_new_part(x, i);
    for (int64_t t = 0; t < p->n; t++) {
        int64_t from = p->ordinal[t] * each, rows = tra_max64(0, tra_min64(each, (run ? run->turns : 0) - from));
        tra_batch b = {.v = tra_calloc((size_t)n, sizeof *b.v)};
        tra_status s =
            tra_block_new(x->site.pool, tra_block_footprint(tra_columns_room(op->type.columns, rows)), &p->block[t], e);
        if (s == TRA_OK) {
            tra_cell c = tra_cell_new(&op->type, p->ordinal[t], p->block[t]->ptr);
            tra_columns_begin(&c, op->type.columns, rows, &b);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t k = 0; k < n; k++)
                    set_value(&op->type.columns->v[k], b.v[k].values, r, v[(from + r) * n + k]);
            tra_block_shrink(x->site.pool, p->block[t], tra_cell_bytes(&c));
            tra_block_unpin(x->site.pool, p->block[t]);
        }
        free(b.v);
        if (s != TRA_OK) return s;
    }
    return TRA_OK;
}

/* The number of the turn, as a relation. */
static tra_status make_turn(tra_execution *x, int i, int64_t turn, tra_err *e) {
    tra_part_release(x->parts[i], x->site.pool);
    tra_part *p = x->parts[i] = tra_exec_new_part(x, i);
    for (int64_t t = 0; t < p->n; t++) {
        TRA_TRY(tra_block_new(x->site.pool, tra_block_footprint(sizeof turn), &p->block[t], e));
        tra_cell c = tra_cell_new(&x->plan->ops[i].type, p->ordinal[t], p->block[t]->ptr);
        memcpy(c.array.data, &turn, sizeof turn);
        tra_block_unpin(x->site.pool, p->block[t]);
    }
    return TRA_OK;
}

/* Says once that a value which the loop looks at is no number any more. */
static void tell_nan(tra_execution *x, const tra_op *op, double v) {
    tra_loop_run *run = &x->loops[op->spec.loop];
    if (!isnan(v) || run->nan) return;
    run->nan = true;
    char place[512];
    if (x->site.comm.rank == 0)
        tra_warn("%s%s is NaN in turn %" PRId64 " of the loop", tra_op_text(op, place, sizeof place),
                 op->op == TRA_PLAN_UNTIL ? "the condition"
                 : op->spec.item < 0      ? "what the condition reads"
                                          : "a value that is traced",
                 run->turns);
}

static void note_trace(tra_execution *x, const tra_op *op, int64_t bits) {
    tra_loop_run *run = &x->loops[op->spec.loop];
    const tra_schema *columns = x->plan->loops[op->spec.loop].traced[op->spec.item]->columns;
    tra_traced *t = &run->trace[op->spec.item];
    int64_t need = (run->turns + 1) * columns->n;
    if (need > t->cap) {
        t->cap = tra_max64(need, 2 * t->cap);
        t->v = tra_realloc(t->v, (size_t)t->cap, sizeof *t->v);
    }
    int64_t *row = &t->v[run->turns * columns->n];
    row[0] = run->turns;
    row[op->spec.column + 1] = bits;
}

/* The sites tell each other what the turn has read. Collective. */
static void note_values(tra_execution *x, int loop) {
    tra_loop_run *run = &x->loops[loop];
    if (run->nread == 0) return;
    bool together = x->site.comm.size > 1;
    tra_doing before = together ? tra_engine_do(x->site.engine, TRA_DO_EXCHANGE, -1) : TRA_DO_COMPUTE;
    tra_comm_max(&x->site.comm, run->told, 2 * run->nread);
    if (together) (void)tra_engine_do(x->site.engine, before, -1);
    for (int i = 0; i < run->nread; i++) {
        const tra_op *op = &x->plan->ops[run->reader[i]];
        double real;
        memcpy(&real, &run->told[2 * i], sizeof real);
        if (op->op == TRA_PLAN_UNTIL) run->ends = real != 0 && !isnan(real);
        if (op->op == TRA_PLAN_TRACE && op->spec.item >= 0) note_trace(x, op, run->told[2 * i + 1]);
        tell_nan(x, op, real);
    }
}

tra_status tra_exec_loop_op(tra_execution *x, int i, tra_part *in, tra_err *e) {
    const tra_op *op = &x->plan->ops[i];
    switch (op->op) {
    case TRA_PLAN_STATE:
    case TRA_PLAN_LAST:
        tra_part_retain(in);
        x->parts[i] = in;
        return TRA_OK;
    case TRA_PLAN_NEXT: x->parts[i] = stored(x, op, in); return TRA_OK;
    case TRA_PLAN_TURN: return make_turn(x, i, 0, e);
    case TRA_PLAN_UNTIL:
    case TRA_PLAN_TRACE: return note_value(x, i, in, e);
    case TRA_PLAN_REQUIRE: return require_value(x, i, in, e);
    case TRA_PLAN_TRACED: return make_traced(x, i, &x->loops[op->spec.loop], e);
    case TRA_PLAN_EMPTY: return make_traced(x, i, NULL, e);
    default: return tra_fail(e, TRA_INTERNAL, "operator %d is none of a loop", (int)op->op);
    }
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* The states get their next values, all together. */
static void change_states(tra_execution *x, const tra_plan_loop *l) {
    for (int k = 0; k < l->nstates; k++) {
        if (l->next[k] < 0) continue;
        tra_part_release(x->parts[l->state[k]], x->site.pool);
        x->parts[l->state[k]] = x->parts[l->next[k]];
        x->parts[l->next[k]] = NULL;
    }
}

/* Gives up what the turns have read and nothing outside of the loop will read again. */
static void release_hoisted(tra_execution *x, const tra_plan_loop *l) {
    for (int i = l->first; i <= l->last; i++)
        for (int side = 0; side < 2; side++) {
            int in = x->plan->ops[i].in[side];
            bool mine = in >= 0 && tra_op_is_outside(x->plan, in, i) && (in < l->first || in > l->last);
            if (mine && tra_loop_within(x->plan, x->plan->ops[in].loop, l->outer)) tra_exec_release(x, in);
        }
}

static void begin_run(tra_execution *x, int loop) {
    tra_loop_run *run = &x->loops[loop];
    run->turns = 0;
    run->saved = -1;
    run->ends = run->nan = false;
    for (int k = 0; run->rows && k < x->plan->loops[loop].ntraces; k++) /* these rows are others */
        run->rows[k].slot[0].len = run->rows[k].slot[1].len = 0;
}

/* "n = 3, m = 0.5": what the last turn read for its end, but the condition. */
static void last_values(const tra_execution *x, int loop, tra_str *out) {
    const tra_loop_run *run = &x->loops[loop];
    for (int i = 0; i < run->nread; i++) {
        const tra_op *op = &x->plan->ops[run->reader[i]];
        double v;
        memcpy(&v, &run->told[2 * i], sizeof v);
        if (op->op == TRA_PLAN_UNTIL) continue;
        const char *name = op->spec.item < 0
                               ? op->spec.name
                               : x->plan->loops[loop].traced[op->spec.item]->columns->v[op->spec.column + 1].name;
        tra_str_printf(out, "%s%s = %.6g", out->n ? ", " : "", name, isnan(v) ? (double)NAN : v);
    }
}

/* Says that the condition was never met, with the last values of what was traced, and of what it reads. */
static void tell_end(tra_execution *x, int loop) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_loop_run *run = &x->loops[loop];
    run->converged = l->until < 0 || run->ends;
    x->report->loops[loop].turns = run->turns;
    x->report->loops[loop].converged = run->converged;
    if (run->converged || l->most == 0) return;
    x->report->unconverged = true;
    if (run->told_end) return; /* in an earlier turn of the loop around */
    run->told_end = true;
    tra_str values = {0};
    last_values(x, loop, &values);
    if (x->site.comm.rank == 0)
        tra_warn("%s:%d: the condition was not met in %" PRId64 " turns%s%s", l->program ? l->program->file : "",
                 tra_program_line(l->program, l->until_at), run->turns, values.n ? "; at the end " : "",
                 tra_str_get(&values));
    tra_str_free(&values);
}

/* The number of the loop's turn among all `count` turns that it has in those of the loops around it. */
static int64_t turn_number(const tra_execution *x, int loop, int64_t count) {
    int64_t number = 0, unit = 1;
    for (int l = loop; unit < count; l = x->plan->loops[l].outer) {
        number += x->loops[l].turns * unit;
        unit *= tra_max64(1, x->plan->loops[l].most);
    }
    return number;
}

/* Sets where the slices that move with the turns of this loop begin. */
static void move_slices(tra_execution *x, int loop) {
    for (int i = x->plan->loops[loop].first; i <= x->plan->loops[loop].last; i++) {
        const tra_op_spec *w = &x->plan->ops[i].spec;
        tra_dims *origin = (tra_dims *)&w->origin; /* the plan is this run's */
        if (!w->origins || w->loop != loop) continue;
        int64_t at = turn_number(x, loop, w->norigins);
        for (int d = 0; d < origin->n; d++) origin->v[d] = w->origins[at * origin->n + d];
    }
}

/* Adds up what the operators of a loop have read and sent so far. */
static void count_bytes(const tra_execution *x, const tra_plan_loop *l, int64_t *read, int64_t *sent) {
    *read = *sent = 0;
    for (int i = l->first; i <= l->last; i++) {
        *read += x->report->ops[i].disk_read;
        *sent += x->report->ops[i].sent;
    }
}

static void note_turn(tra_execution *x, int loop, double begun, int64_t read, int64_t sent) {
    tra_loop_report *r = &x->report->loops[loop];
    bool first = r->done++ == 0;
    int64_t all_read, all_sent;
    count_bytes(x, &x->plan->loops[loop], &all_read, &all_sent);
    *(first ? &r->first : &r->others) += tra_now() - begun;
    *(first ? &r->first_read : &r->others_read) += all_read - read;
    *(first ? &r->first_sent : &r->others_sent) += all_sent - sent;
}

/* Says in which turn an operator has failed. */
static tra_status name_turn(int64_t turn, tra_status s, tra_err *e) {
    size_t n = strlen(e->msg);
    if (s == TRA_INPUT || s == TRA_RESOURCE)
        snprintf(e->msg + n, sizeof e->msg - n, " (in turn %" PRId64 " of the loop)", turn);
    return s;
}

/* One turn. A run that is to stop keeps what the turn before left. */
static tra_status run_turn(tra_execution *x, int loop, tra_err *e) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_loop_run *run = &x->loops[loop];
    size_t n = (size_t)(l->last - l->first + 1);
    double begun = tra_now();
    int64_t read, sent;
    count_bytes(x, l, &read, &sent);
    tra_status s = l->turn >= 0 ? make_turn(x, l->turn, run->turns, e) : TRA_OK;
    move_slices(x, loop);
    memcpy(x->uses + l->first, x->all_uses + l->first, n * sizeof *x->uses);
    memset(x->ran + l->first, 0, n * sizeof *x->ran);
    run->nread = 0;
    if (s == TRA_OK) s = tra_exec_range(x, loop, l->first, l->last, e);
    if (s == TRA_STOPPED && !x->stopped) {
        x->stopped = true; /* the loops around are saved with it */
        tra_exec_save_turn(x, loop);
    }
    if (s != TRA_OK) return name_turn(run->turns, s, e);
    note_values(x, loop);
    change_states(x, l);
    note_turn(x, loop, begun, read, sent);
    run->turns++;
    return TRA_OK;
}

tra_status tra_exec_loop(tra_execution *x, int loop, tra_err *e) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_loop_run *run = &x->loops[loop];
    begin_run(x, loop);
    TRA_TRY(tra_exec_restore_turn(x, loop, e));
    while (run->turns < l->most && !run->ends) {
        TRA_TRY(run_turn(x, loop, e));
        if (tra_checkpoint_turn_is_due(x->checkpoint)) tra_exec_save_turn(x, loop);
    }
    tell_end(x, loop);
    release_hoisted(x, l);
    return TRA_OK;
}
