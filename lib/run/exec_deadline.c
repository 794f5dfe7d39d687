/* exec_deadline.c - a run that is to end by a time: what begins, as long as the machine takes for it. */
#include "exec_int.h"

/* How much slower than predicted the machine was so far, by the wall clock. */
static double slowness(const tra_execution *x) {
    static const double KNOWN = 0.2, SLOWEST = 20;
    double slow = x->foreseen > KNOWN ? x->spent / x->foreseen : 1;
    return slow < 1 ? 1 : slow > SLOWEST ? SLOWEST : slow;
}

/* Is each of its results made by one task? Those of the others are made in many. */
static bool is_one_task(const tra_op *op) {
    return op->op != TRA_PLAN_JOINAGG && op->op != TRA_PLAN_AGG && op->op != TRA_PLAN_MERGE;
}

/* A result that is not finished is lost: so none is begun where not even the first can be done in time. From then on
 * what was measured tells, and results that are under way may end. */
void tra_exec_leave_time(tra_execution *x, int i) {
    const tra_op *op = &x->plan->ops[i];
    if (x->o->deadline <= 0 || !x->site.can_stop) return;
    double each = slowness(x) * tra_unit_seconds(x->plan, op, x->o->threads), task = x->longest[i];
    bool none = task <= 0 && tra_now() + each > x->o->deadline;
    tra_stop_at(none ? 0 : x->o->deadline);
    if (task <= 0) task = is_one_task(op) ? each : 0;
    tra_engine_until(x->site.engine, x->o->deadline, task);
}

void tra_exec_count_time(tra_execution *x, int i, double seconds) {
    x->spent += seconds;
    x->foreseen += x->plan->ops[i].predicted.stage_seconds;
    if (x->o->deadline <= 0) return;
    double longest = tra_engine_longest(x->site.engine);
    if (longest > x->longest[i]) x->longest[i] = longest;
}

void tra_exec_time_is_left(tra_execution *x) {
    if (x->o->deadline <= 0) return;
    tra_stop_at(x->o->deadline);
    if (x->site.engine) tra_engine_until(x->site.engine, 0, 0);
}
