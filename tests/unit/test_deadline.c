/* test_deadline.c - a time by which all is to have ended: what begins, by what the tasks before have taken. */
#include "../../lib/run/engine.h"
#include "check.h"

#include <stdatomic.h>
#include <time.h>

static tra_status take_long(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    atomic_int *ended = u->ctx;
    (void)task, (void)w, (void)e;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    atomic_fetch_add(ended, 1);
    return TRA_OK;
}

/* How many of eight tasks of 0.3 s the workers run when there is so much time, and a task is expected to take so long;
 * on a machine that lets them wait there may be fewer. */
static int run_until(int threads, double time, double expected, tra_status *s) {
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, threads, &e);
    atomic_int ended = 0;
    tra_engine_until(g, time > 0 ? tra_now() + time : 0, expected);
    *s = tra_engine_begin_stage(g, 0, 0, 0, 0, &e);
    for (int i = 0; i < 8 && *s == TRA_OK; i++) {
        tra_unit *u = tra_unit_new(0, 1);
        u->run = take_long;
        u->ctx = &ended;
        *s = tra_engine_submit(g, u, &e);
    }
    *s = tra_engine_end_stage(g, *s, &e);
    tra_engine_free(g);
    tra_pool_free(p);
    return ended;
}

TEST(no_task_begins_that_would_end_too_late) {
    tra_status s;
    CHECK_INT(run_until(2, 0, 0, &s), 8);
    CHECK_INT(s, TRA_OK);
    CHECK_INT(run_until(2, 3600, 0, &s), 8);
    CHECK_INT(s, TRA_OK);
    CHECK_INT(run_until(2, 10, 60, &s), 0); /* none has ended: what is expected counts */
    CHECK_INT(s, TRA_STOPPED);
    CHECK(run_until(1, 0.6, 0, &s) <= 1); /* one has taken 0.3 s, and the next may take a little longer */
    CHECK_INT(s, TRA_STOPPED);
    CHECK(run_until(2, 0.6, 0, &s) <= 2); /* those that run go on to their ends */
    CHECK_INT(s, TRA_STOPPED);
}
