/* loop_saves.c - the states of loops that are saved after a turn, from which a resumed run goes on. */
#include "exec_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- which turn it is -------------------------------------------------------------------------------------------- */

/* A digest of the turns of the loops around, which are under way. */
static uint64_t around(const tra_execution *x, int loop) {
    uint64_t h = 0;
    for (int l = x->plan->loops[loop].outer; l >= 0; l = x->plan->loops[l].outer)
        h = XXH64(&x->loops[l].turns, sizeof x->loops[l].turns, h + 1);
    return h;
}

static tra_digest turn_of(const tra_execution *x, int loop, int64_t turns) {
    return (tra_digest){.lo = (uint64_t)turns, .hi = around(x, loop)};
}

/* What a turn leaves beside its states: whether the loop has ended, so that none is run again. It stands in the log of
 * the UNTIL operator. */
typedef struct ending {
    int64_t ends;
} ending;

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static bool save_state(tra_execution *x, int loop, int k, tra_digest turn) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_part *p = x->parts[l->state[k]];
    tra_turn_room **room = &x->loops[loop].room[k];
    if (!*room) *room = tra_calloc((size_t)p->n + 1, sizeof **room);
    return tra_checkpoint_save_turn(x->checkpoint, l->next[k], p, turn, *room);
}

/* The operator in whose log the rows of a trace stand: that of its first column. */
static int trace_op(const tra_plan *p, int loop, int trace) {
    for (int i = p->loops[loop].first; i <= p->loops[loop].last; i++)
        if (p->ops[i].op == TRA_PLAN_TRACE && p->ops[i].spec.loop == loop && p->ops[i].spec.item == trace) return i;
    return -1;
}

static bool save_loop(tra_execution *x, int loop) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_loop_run *run = &x->loops[loop];
    tra_digest turn = turn_of(x, loop, run->turns);
    bool all = true;
    if (!run->room) {
        run->room = tra_calloc((size_t)l->nstates + 1, sizeof *run->room);
        run->rows = tra_calloc((size_t)l->ntraces + 1, sizeof *run->rows);
    }
    for (int k = 0; k < l->nstates && all; k++)
        if (l->next[k] >= 0) all = save_state(x, loop, k, turn);
    for (int k = 0; k < l->ntraces && all; k++) {
        int op = trace_op(x->plan, loop, k);
        int64_t bytes = run->turns * l->traced[k]->columns->n * (int64_t)sizeof(int64_t);
        if (op >= 0)
            all = tra_checkpoint_save_rows(x->checkpoint, op, run->trace[k].v, bytes, turn, &run->rows[k], true);
    }
    const ending end = {.ends = run->ends};
    if (all && l->until >= 0)
        all = tra_checkpoint_save_rows(x->checkpoint, l->until, &end, sizeof end, turn, &run->ended, false);
    return all;
}

void tra_exec_save_turn(tra_execution *x, int loop) {
    int chain[64], n = 0;
    double begun = tra_now();
    if (!x->checkpoint) return;
    for (int l = loop; l >= 0 && n < 64; l = x->plan->loops[l].outer) chain[n++] = l;
    for (bool all = true; n > 0 && all;) {
        int l = chain[--n];
        if (x->loops[l].turns == 0) continue; /* a resumed run computes again what the loop begins with */
        if (x->loops[l].saved == x->loops[l].turns) continue; /* since a loop in it was saved */
        all = save_loop(x, l);
        if (all) x->loops[l].saved = x->loops[l].turns;
    }
    tra_checkpoint_turn_saved(x->checkpoint, tra_now() - begun);
}

void tra_exec_forget_turns(tra_execution *x) {
    for (int l = 0; l < x->plan->nloops; l++) {
        for (int k = 0; x->loops[l].room && k < x->plan->loops[l].nstates; k++) free(x->loops[l].room[k]);
        free(x->loops[l].room);
        free(x->loops[l].rows);
    }
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

/* Takes what was saved of the turn; *whole: all of it was. */
static tra_status take(tra_execution *x, int loop, tra_digest turn, tra_part **states, bool *whole, tra_err *e) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_loop_run *run = &x->loops[loop];
    tra_status s = TRA_OK;
    *whole = true;
    for (int k = 0; k < l->nstates && s == TRA_OK && *whole; k++) {
        if (l->next[k] < 0) continue;
        states[k] = tra_exec_new_part(x, l->next[k]);
        s = tra_checkpoint_take_turn(x->checkpoint, l->next[k], turn, states[k], whole, e);
    }
    for (int k = 0; k < l->ntraces && s == TRA_OK && *whole; k++) {
        int op = trace_op(x->plan, loop, k);
        int64_t n = (int64_t)turn.lo * l->traced[k]->columns->n;
        if (op < 0) continue;
        run->trace[k].v = tra_realloc(run->trace[k].v, (size_t)tra_max64(1, n), sizeof *run->trace[k].v);
        run->trace[k].cap = tra_max64(1, n);
        *whole = tra_checkpoint_take_rows(x->checkpoint, op, turn, run->trace[k].v, n * (int64_t)sizeof(int64_t));
    }
    ending end = {0};
    if (s == TRA_OK && *whole && l->until >= 0)
        *whole = tra_checkpoint_take_rows(x->checkpoint, l->until, turn, &end, sizeof end);
    run->ends = *whole && end.ends;
    return s;
}

/* The last turn below `before` of which any rank knows. */
static int64_t last_turn(tra_execution *x, int loop, int64_t before) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    int64_t last = -1;
    for (int k = 0; k < l->nstates && last < 0; k++)
        if (l->next[k] >= 0) last = tra_checkpoint_last_turn(x->checkpoint, l->next[k], around(x, loop), before);
    tra_comm_max(&x->site.comm, &last, 1);
    return last;
}

tra_status tra_exec_restore_turn(tra_execution *x, int loop, tra_err *e) {
    const tra_plan_loop *l = &x->plan->loops[loop];
    tra_loop_run *run = &x->loops[loop];
    tra_status s = TRA_OK;
    if (!x->checkpoint || !tra_journal_resumed(x->journal)) return TRA_OK;
    tra_part **states = tra_calloc((size_t)l->nstates + 1, sizeof *states);
    for (int64_t t = last_turn(x, loop, INT64_MAX); t > 0 && s == TRA_OK && run->turns == 0;
         t = last_turn(x, loop, t)) {
        bool mine = false;
        s = tra_comm_agree(&x->site.comm, take(x, loop, turn_of(x, loop, t), states, &mine, e), e);
        int64_t whole = mine;
        tra_comm_min(&x->site.comm, &whole, 1);
        for (int k = 0; k < l->nstates; k++) {
            if (!states[k]) continue;
            tra_part **now = &x->parts[l->state[k]];
            tra_part_release(whole && s == TRA_OK ? *now : states[k], x->site.pool);
            if (whole && s == TRA_OK) *now = states[k];
            states[k] = NULL;
        }
        if (!whole) run->ends = false;
        if (!whole || s != TRA_OK) continue;
        run->turns = run->saved = t;
        tra_journal_report_turns(x->journal, t, l->most);
    }
    free(states);
    return s;
}
