/* test_engine.c - the engine and the pool while disks are slow or fail: what waits for them, and who hears of it. */
#include "../../lib/run/engine_int.h"
#include "../../lib/run/progress.h"
#pragma GCC diagnostic ignored "-Wunused-function" /* of store_util.h it wants a few */
#include "store_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <xxhash.h>

/* ---- reads and writes of this process ---------------------------------------------------------------------------- */

typedef enum trouble { NONE, FAILS, DAMAGED, WAITS } trouble;
static _Atomic trouble reading, writing;
static atomic_int reads, writes; /* that had trouble */
static atomic_bool go_on;        /* ends the waiting */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* For a few seconds at most, so that a test that fails ends. */
static bool wait_until(atomic_bool *what) {
    for (double end = now() + 5; !*what && now() < end;) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    return *what;
}

ssize_t pread(int fd, void *buf, size_t n, off_t at) {
    trouble t = reading;
    if (t != NONE) reads++;
    if (t == FAILS) return errno = EIO, -1;
    if (t == WAITS) wait_until(&go_on);
    ssize_t got = syscall(SYS_pread64, fd, buf, n, at);
    if (t == DAMAGED && got > 0) ((char *)buf)[got / 2] ^= 1;
    return got;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) {
    trouble t = writing;
    if (t != NONE) writes++;
    if (t == FAILS) return errno = ENOSPC, -1;
    if (t == WAITS) wait_until(&go_on);
    return syscall(SYS_pwrite64, fd, buf, n, at);
}

static void set_up(void) {
    reading = writing = NONE;
    reads = writes = 0;
    go_on = false;
}

/* ---- who waits for what ------------------------------------------------------------------------------------------ */

typedef struct giver {
    tra_pool *pool;
    tra_block *block;
} giver;

/* Gives its block back while another is being written to scratch. */
static tra_status give_back(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    giver *x = u->ctx;
    (void)task, (void)w, (void)e;
    while (writes == 0) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    tra_block_free(x->pool, x->block);
    go_on = true;
    return TRA_OK;
}

static tra_unit *unit_of(tra_status (*run)(tra_unit *u, int task, tra_worker *w, tra_err *e), void *ctx) {
    tra_unit *u = tra_unit_new(0, 1);
    u->run = run;
    u->ctx = ctx;
    return u;
}

TEST(workers_give_memory_back_while_a_block_is_spilled) {
    set_up();
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 1, &e);
    tra_block *cold, *hot;
    giver x = {.pool = p};
    CHECK_OK(tra_block_new(p, 600000, &cold, &e), e);
    memset(cold->ptr, 7, 600000);
    tra_block_unpin(p, cold);
    CHECK_OK(tra_block_new(p, 200000, &x.block, &e), e);
    CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
    writing = WAITS;
    CHECK_OK(tra_engine_submit(g, unit_of(give_back, &x), &e), e);
    double begun = now();
    CHECK_OK(tra_block_new(p, 700000, &hot, &e), e); /* drives the cold one out, which takes until go_on */
    CHECK(go_on && now() - begun < 4);
    writing = NONE;
    CHECK_OK(tra_engine_drain(g, &e), e);
    tra_block_free(p, hot);
    bool load;
    CHECK_OK(tra_block_pin(p, cold, &load, &e), e);
    CHECK(load);
    CHECK_OK(tra_block_load(p, cold, NULL, &e), e);
    CHECK_INT(((char *)cold->ptr)[599999], 7);
    tra_block_free(p, cold);
    tra_engine_free(g);
    tra_pool_free(p);
}

/* ---- workers that rest ------------------------------------------------------------------------------------------- */

typedef struct seen {
    atomic_int tasks, others; /* others: of workers that were to rest, or had no memory */
} seen;

static tra_status note_worker(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    seen *x = u->ctx;
    (void)task, (void)e;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* so that others would come */
    x->tasks++;
    if (w->id > 0 || !w->scratch) x->others++;
    return TRA_OK;
}

TEST(workers_without_memory_rest_until_the_next_stage) {
    enum { UNITS = 8, SCRATCH = 300000 };
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 4, &e);
    seen x = {0};
    CHECK_OK(tra_engine_begin_stage(g, 1, SCRATCH, 0, 0, &e), e); /* there is no room for four */
    for (int i = 0; i < UNITS; i++) CHECK_OK(tra_engine_submit(g, unit_of(note_worker, &x), &e), e);
    CHECK_OK(tra_engine_drain(g, &e), e);
    CHECK_INT(x.tasks, UNITS);
    CHECK_INT(x.others, 0);
    x.tasks = 0;
    CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
    for (int i = 0; i < UNITS; i++) CHECK_OK(tra_engine_submit(g, unit_of(note_worker, &x), &e), e);
    CHECK_OK(tra_engine_drain(g, &e), e);
    CHECK_INT(x.tasks, UNITS);
    CHECK_INT(x.others, UNITS); /* none of which has scratch */
    tra_engine_free(g);
    tra_pool_free(p);
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

typedef struct turns {
    tra_chain chain;
    atomic_bool second; /* the second unit has begun */
    atomic_int next;    /* whose turn it is */
    bool together, in_order, fails;
    atomic_int refused;
} turns;

typedef struct turn {
    turns *all;
    int i;
} turn;

static tra_status take_turn(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    turn *x = u->ctx;
    turns *all = x->all;
    if (x->i == 1) all->second = true;
    if (x->i == 0) all->together = wait_until(&all->second);
    if (x->i == 0 && all->fails) return tra_fail(e, TRA_INPUT, "the first fails");
    if (!tra_engine_await_turn(w, u, task)) {
        all->refused++;
        return TRA_OK;
    }
    if (x->i % 3 == 0) nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); /* who comes next would be first */
    all->in_order = all->in_order && all->next++ == x->i;
    return TRA_OK;
}

TEST(early_tasks_of_a_chain_run_together_and_take_turns) {
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    for (int fails = 0; fails < 2; fails++) {
        enum { TURNS = 12 };
        tra_err e = {0};
        tra_engine *g = tra_engine_new(p, 3, &e);
        turns all = {.in_order = true, .fails = fails};
        turn of[TURNS];
        CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
        for (int i = 0; i < TURNS; i++) {
            of[i] = (turn){&all, i};
            tra_unit *u = unit_of(take_turn, &of[i]);
            u->chain = &all.chain;
            u->early = true;
            if (tra_engine_submit(g, u, &e) != TRA_OK) break; /* after the failure */
        }
        CHECK_INT(tra_engine_drain(g, &e), fails ? TRA_INPUT : TRA_OK);
        CHECK(all.together && all.in_order);
        CHECK_INT(all.next, fails ? 0 : TURNS);
        CHECK(!fails || all.refused > 0);
        CHECK(tra_engine_computed_seconds(g) > 0);
        tra_engine_free(g);
    }
    tra_pool_free(p);
}

/* ---- what goes on meanwhile -------------------------------------------------------------------------------------- */

enum { UNITS = 10 };
static atomic_bool ticking, all_done;
static atomic_int done;

static tra_status count(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    giver *x = u->ctx;
    (void)task, (void)w, (void)e;
    wait_until(&ticking);
    if (x) tra_block_free(x->pool, x->block);
    if (++done == UNITS) all_done = true;
    return TRA_OK;
}

static tra_status slow_tick(void *ctx, tra_err *e) {
    bool *seen = ctx;
    (void)e;
    ticking = true;
    *seen |= wait_until(&all_done);
    return TRA_OK;
}

/* Before, a terminal that nobody read, or a slow disk under the journal, stopped every worker. */
TEST(workers_go_on_while_the_tick_takes_its_time) {
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 2, &e);
    for (int memory = 0; memory < 2; memory++) { /* it comes while the thread waits for the workers, or for memory */
        bool seen = false;
        giver x = {.pool = p};
        ticking = all_done = false;
        done = 0;
        tra_engine_set_tick(g, slow_tick, &seen);
        CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
        if (memory) CHECK_OK(tra_block_new(p, 900000, &x.block, &e), e);
        for (int i = 0; i < UNITS; i++) CHECK_OK(tra_engine_submit(g, unit_of(count, i || !memory ? NULL : &x), &e), e);
        if (memory) {
            tra_block *b;
            CHECK_OK(tra_block_new(p, 900000, &b, &e), e);
            tra_block_free(p, b);
        }
        CHECK_OK(tra_engine_drain(g, &e), e);
        CHECK(seen);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* the next is due */
    }
    tra_engine_set_tick(g, NULL, NULL);
    tra_engine_free(g);
    tra_pool_free(p);
}

static tra_status nothing(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    (void)u, (void)task, (void)w, (void)e;
    return TRA_OK;
}

/* A unit of very many inputs, of which the first is read for another unit and comes late. */
TEST(inputs_that_wait_are_not_looked_for_again_and_again) {
    enum { N = 50000 };
    set_up();
    tra_arena *a = tra_arena_new();
    tra_pool *p = tra_pool_new(64 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 2, &e);
    tra_type t = blocked(a, "50000", "1", TRA_F64);
    tra_part *part = tra_part_new(TRA_PART_STORED, &t, N);
    for (int64_t i = 0; i < N; i++) {
        part->ordinal[i] = i;
        CHECK_OK(tra_block_new(p, 8, &part->block[i], &e), e);
        tra_block_unpin(p, part->block[i]);
    }
    int fd = tra_unnamed_file("/tmp");
    double zero = 0;
    CHECK_INT(pwrite(fd, &zero, sizeof zero, 0), sizeof zero);
    tra_block_free(p, part->block[0]);
    part->block[0] = tra_block_of_saved(fd, 0, sizeof zero, XXH64(&zero, sizeof zero, 0));
    reading = WAITS;
    tra_unit *one = tra_unit_new(1, 1), *many = tra_unit_new(N, 1);
    one->inputs[0] = (tra_unit_input){.part = part, .i = 0};
    for (int i = 0; i < N; i++) many->inputs[i] = (tra_unit_input){.part = part, .i = i};
    one->run = many->run = nothing;
    CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
    double before = check_seconds();
    CHECK_OK(tra_engine_submit(g, one, &e), e);
    CHECK_OK(tra_engine_submit(g, many, &e), e);
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    CHECK(check_seconds() - before < 0.3); /* else all of the time */
    go_on = true;
    CHECK_OK(tra_engine_drain(g, &e), e);
    tra_part_release(part, p);
    tra_engine_free(g);
    tra_pool_free(p);
    close(fd);
    tra_arena_free(a);
}

/* ---- how much work the engine itself has ------------------------------------------------------------------------- */

static tra_status take_any_turn(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    atomic_int *ended = u->ctx;
    (void)e;
    if (u->early && tra_engine_await_turn(w, u, task)) ++*ended;
    return TRA_OK;
}

/* Wakes of workers for each of so many units on 64 threads; of a chain, where one task of each waits for its turn. */
static double wakes_of(int units, int tasks, bool chained) {
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 64, &e);
    tra_chain chain = {0};
    atomic_int ended = 0;
    CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
    int64_t begun = g->counts.wakes, looked = g->counts.looks;
    for (int i = 0; i < units; i++) {
        tra_unit *u = tra_unit_new(0, tasks);
        u->run = take_any_turn;
        u->ctx = &ended;
        u->early = chained;
        u->chain = chained ? &chain : NULL;
        CHECK_OK(tra_engine_submit(g, u, &e), e);
    }
    CHECK_OK(tra_engine_drain(g, &e), e);
    CHECK_INT(ended, chained ? units * tasks : 0);
    double wakes = (double)(g->counts.wakes - begun) / units, looks = (double)(g->counts.looks - looked) / units;
    CHECK(looks <= 2 * TRA_LOOKAHEAD * (tasks + 2)); /* the queue is never longer */
    tra_engine_free(g);
    tra_pool_free(p);
    return wakes;
}

/* Each task wakes at most one worker for the next, one for its turn, and the producer one when it queues a unit. */
TEST(work_wakes_one_worker_and_not_all_of_them) {
    CHECK(wakes_of(100000, 1, false) <= 3);
    CHECK(wakes_of(2000, 16, false) <= 18);
    CHECK(wakes_of(5000, 1, true) <= 4);
}

static void piece(void *ctx, int i, void *scratch) {
    (void)i, (void)scratch;
    ++*(atomic_int *)ctx;
}

/* Long work without scratch, for which workers without a part in the stage are woken too. */
static tra_status share_some(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    (void)task, (void)w, (void)e;
    tra_parallel(4, piece, u->ctx, NULL);
    return TRA_OK;
}

/* They may wake when all pieces have been taken, and a unit has come that they may not run: then they wake who may. */
TEST(who_is_woken_and_can_take_nothing_wakes_who_can) {
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 4, &e);
    atomic_int pieces = 0;
    CHECK_OK(tra_engine_begin_stage(g, 1, 0, 0, 0, &e), e);
    enum { UNITS = 20000 };
    for (int i = 0; i < UNITS; i++) {
        tra_unit *u = tra_unit_new(0, 1);
        u->run = share_some;
        u->ctx = &pieces;
        CHECK_OK(tra_engine_submit(g, u, &e), e);
        if (i % 3 == 0) CHECK_OK(tra_engine_drain(g, &e), e);
    }
    CHECK_OK(tra_engine_drain(g, &e), e);
    CHECK_INT(pieces, 4 * UNITS);
    tra_engine_free(g);
    tra_pool_free(p);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

TEST(what_comes_back_damaged_from_scratch_is_refused) {
    set_up();
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_block *a, *b;
    bool load;
    CHECK_OK(tra_block_new(p, 600000, &a, &e), e);
    memset(a->ptr, 7, 600000);
    tra_block_unpin(p, a);
    CHECK_OK(tra_block_new(p, 600000, &b, &e), e); /* drives a out */
    tra_block_free(p, b);
    CHECK_OK(tra_block_pin(p, a, &load, &e), e);
    reading = DAMAGED;
    CHECK_FAILS(tra_block_load(p, a, NULL, &e), TRA_RESOURCE, e, "is damaged");
    reading = NONE;
    CHECK_INT(reads, 1);
    tra_block_free(p, a);
    tra_pool_free(p);
}

static tra_status fail_in_background(void *ctx, tra_err *e) {
    (void)ctx;
    return tra_fail(e, TRA_RESOURCE, "no room for what is written in the background");
}

TEST(a_failure_in_the_background_is_the_failure_of_the_stage) {
    tra_pool *p = tra_pool_new(1 << 20, "/tmp");
    tra_err e = {0};
    tra_engine *g = tra_engine_new(p, 1, &e);
    CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
    tra_engine_background(g, fail_in_background, NULL);
    CHECK_FAILS(tra_engine_drain(g, &e), TRA_RESOURCE, e, "written in the background");
    tra_engine_free(g);
    tra_pool_free(p);
}

/* Keeps the only worker busy until something has been read, which is ahead. */
static tra_status wait_for_read(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    (void)u, (void)task, (void)w, (void)e;
    for (double end = now() + 5; reads == 0 && now() < end;) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return TRA_OK;
}

TEST(a_block_that_cannot_be_read_ahead_is_the_failure_of_the_stage) {
    enum { SIDE = 256, BYTES = SIDE * SIDE * 8 };
    set_up();
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "512x256", "256x256", TRA_F64);
    tra_rel *r;
    tra_err e = {0};
    CHECK_OK(write_all(at("ahead.h5"), &t, "none", &e), e);
    CHECK_OK(tra_rel_open(at("ahead.h5"), NULL, &r, &e), e);
    tra_pool *p = tra_pool_new(8 << 20, "/tmp");
    tra_engine *g = tra_engine_new(p, 1, &e);
    tra_part *part = tra_part_new(TRA_PART_STORED, &t, 2);
    for (int64_t i = 0; i < 2; i++) {
        part->ordinal[i] = i;
        part->block[i] = tra_block_of_file(r, i, BYTES, BYTES, NULL);
    }
    CHECK_OK(tra_engine_begin_stage(g, 0, 0, 0, 0, &e), e);
    CHECK_OK(read_all(r, &e), e); /* its chunks are looked up now */
    leave_page_cache(at("ahead.h5"));
    if (tra_rel_can_read_direct(r, 1)) { /* else the file system has no direct reads, and nothing is read ahead */
        reading = FAILS;
        CHECK_OK(tra_engine_submit(g, unit_of(wait_for_read, NULL), &e), e);
        tra_unit *u = tra_unit_new(1, 1);
        u->inputs[0] = (tra_unit_input){.part = part, .i = 1};
        u->run = nothing;
        CHECK_OK(tra_engine_submit(g, u, &e), e);
        CHECK_FAILS(tra_engine_drain(g, &e), TRA_INPUT, e, "ahead.h5");
        reading = NONE;
    }
    tra_part_release(part, p);
    tra_engine_free(g);
    tra_pool_free(p);
    tra_rel_close(r);
    tra_arena_free(a);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

TEST(progress_does_not_wait_for_who_does_not_read_it) {
    int ends[2], kept = dup(STDERR_FILENO);
    char page[4096] = {0};
    tra_op op = {.op = TRA_PLAN_INPUT};
    tra_plan plan = {.nops = 1, .ops = &op};
    tra_progress p;
    CHECK_INT(pipe(ends), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], page, sizeof page) > 0) continue;
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    alarm(10); /* ends the process where a write waits */
    tra_progress_begin(&p, &plan, TRA_PROGRESS_BAR);
    tra_progress_op(&p, 0);
    tra_progress_end(&p);
    CHECK_INT(read(ends[0], page, sizeof page), sizeof page); /* there is room now */
    tra_progress_begin(&p, &plan, TRA_PROGRESS_LINES);
    tra_progress_op(&p, 0);
    alarm(0);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    int64_t n = 0, all = 0;
    while ((n = read(ends[0], page, sizeof page)) > 0) all += n;
    CHECK(all % 4096 > 10); /* the line and no bar */
    close(ends[0]);
}
