/* test_run_sparse.c - results whose size only the data tell: what workers take of the pool while they compute, and what
 * becomes of those that find none. */
#include "../../lib/run/engine.h"
#include "check.h"

#include <stdatomic.h>
#include <string.h>

enum { K = 1 << 10 };

TEST(what_is_reserved_is_left_to_the_workers) {
    tra_err e = {0}, none = {0};
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *mine, *more, *taken[2];
    CHECK_OK(tra_pool_reserve(p, 400 * K, &e), e);
    CHECK_INT(tra_block_new(p, 700 * K, &mine, &none), TRA_RESOURCE);
    CHECK_OK(tra_block_new(p, 600 * K, &mine, &e), e);
    CHECK(!tra_pool_has_room(p, 100 * K, false));
    CHECK_OK(tra_block_take(p, 300 * K, &taken[0], &e), e);
    CHECK(!tra_pool_has_room(p, 100 * K, false)); /* what is taken is of what is reserved */
    CHECK_OK(tra_block_take(p, 100 * K, &taken[1], &e), e);
    CHECK_INT(tra_block_new(p, 40 * K, &more, &none), TRA_RESOURCE);
    tra_block_free(p, taken[1]);
    CHECK_INT(tra_block_new(p, 40 * K, &more, &none), TRA_RESOURCE); /* it is reserved again */
    tra_pool_release(p, 400 * K);
    CHECK_OK(tra_block_new(p, 40 * K, &more, &e), e);
    CHECK_INT(tra_block_take(p, 100 * K, &taken[1], &none), TRA_RESOURCE); /* who takes does not wait */
    CHECK(tra_pool_stat(p).peak <= 1 << 20);
    tra_block_free(p, more);
    tra_block_free(p, taken[0]);
    tra_block_free(p, mine);
    tra_pool_free(p);
}

TEST(a_result_that_stays_is_no_more_of_what_is_reserved) {
    tra_err e = {0}, none = {0};
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *result, *other;
    CHECK_OK(tra_pool_reserve(p, 400 * K, &e), e);
    CHECK_OK(tra_block_take(p, 300 * K, &result, &e), e);
    tra_block_unreserve(p, result);
    CHECK_INT(tra_block_new(p, 400 * K, &other, &none), TRA_RESOURCE); /* 300 are a result, 400 reserved */
    tra_pool_release(p, 400 * K);
    CHECK_OK(tra_block_new(p, 400 * K, &other, &e), e);
    tra_block_free(p, other);
    tra_block_free(p, result);
    tra_pool_free(p);
}

TEST(workers_drive_out_what_is_not_pinned_and_get_it_back) {
    tra_err e = {0}, none = {0};
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *cold[3], *hot;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tra_block_take(p, 300 * K, &cold[i], &e), e);
        memset(cold[i]->ptr, 'a' + i, 300 * K);
        if (i < 2) tra_block_unpin(p, cold[i]);
    }
    CHECK_INT(tra_block_take(p, 800 * K, &hot, &none), TRA_RESOURCE);
    CHECK_INT(tra_pool_stat(p).spilled, 0); /* in vain: nothing was driven out */
    CHECK_OK(tra_block_take(p, 600 * K, &hot, &e), e);
    CHECK_INT(tra_pool_stat(p).spilled, 600 * K);
    CHECK_INT(tra_block_take_back(p, cold[0], &none), TRA_RESOURCE);
    tra_block_free(p, hot);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tra_block_take_back(p, cold[i], &e), e);
        CHECK(((char *)cold[i]->ptr)[300 * K - 1] == 'a' + i);
    }
    for (int i = 0; i < 3; i++) tra_block_free(p, cold[i]);
    tra_pool_free(p);
}

/* ---- insisting --------------------------------------------------------------------------------------------------- */

typedef struct wish { /* of a unit */
    tra_pool *pool;
    int64_t bytes;
    atomic_int *met; /* units that have begun, and those that have looked for a second block */
    int all;         /* that wait for each other */
    int tries;
} wish;

/* Waits for the others: until so many have come. */
static void meet(const wish *x, int n) {
    atomic_fetch_add(x->met, 1);
    for (double end = tra_now() + 5; atomic_load(x->met) < n && tra_now() < end;) continue;
}

/* Two blocks, one after the other: all that begin together have the first, and none the second. */
static tra_status two_blocks(void *ctx, tra_err *e) {
    wish *x = ctx;
    tra_block *b[2];
    TRA_TRY(tra_block_take(x->pool, x->bytes, &b[0], e));
    bool first = x->tries++ == 0;
    if (first) meet(x, x->all);
    tra_status s = tra_block_take(x->pool, x->bytes, &b[1], e);
    if (first) meet(x, 2 * x->all); /* who finds none keeps its block until all have looked */
    if (s == TRA_OK) tra_block_free(x->pool, b[1]);
    tra_block_free(x->pool, b[0]);
    return s;
}

static tra_status insist(tra_unit *u, int task, tra_worker *w, tra_err *e) {
    (void)task;
    return tra_engine_retry(w, two_blocks, u->ctx, e);
}

static tra_status run_wishes(int64_t bytes, int together, wish *w, int n, tra_err *e) {
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_engine *g = tra_engine_new(p, n, e);
    atomic_int met = 0;
    tra_status s = tra_engine_begin_stage(g, 0, 0, 0, 0, e);
    for (int i = 0; i < n && s == TRA_OK; i++) {
        w[i] = (wish){.pool = p, .bytes = bytes, .met = &met, .all = together};
        tra_unit *u = tra_unit_new(0, 1);
        u->run = insist;
        u->ctx = &w[i];
        s = tra_engine_submit(g, u, e);
    }
    tra_status end = tra_engine_drain(g, e);
    tra_engine_free(g);
    tra_pool_free(p);
    return s == TRA_OK ? end : s;
}

TEST(those_that_find_no_memory_take_turns) {
    tra_err e = {0};
    wish w[3];
    int again = 0;
    CHECK_OK(run_wishes(300 * K, 3, w, 3, &e), e); /* three have one each, and no room for a fourth */
    for (int i = 0; i < 3; i++) again += w[i].tries - 1;
    CHECK(again >= 3);
}

TEST(who_finds_no_memory_alone_fails) {
    tra_err e = {0};
    wish w[2];
    CHECK_INT(run_wishes(600 * K, 1, w, 2, &e), TRA_RESOURCE);
    CHECK(strstr(e.msg, "out of block memory"));
    CHECK(tra_pool_is_exhausted(TRA_RESOURCE, &e)); /* passed on by the engine too */
}
