/* test_pool.c - the pool of blocks: what leaves memory, and what comes back. */
#include "check.h"

#include "../../lib/physical/needs.h"
#include "../../lib/run/pool.h"
#include "../../lib/run/space.h"

#include <sys/resource.h>

TEST(pool_spills_and_brings_back) {
    enum { N = 40, BYTES = 1 << 16 };
    tra_pool *p = tra_pool_new(8 * BYTES, check_folder());
    tra_block *b[N];
    tra_err e = {0};
    for (int i = 0; i < N; i++) {
        CHECK_INT(tra_block_new(p, BYTES, &b[i], &e), TRA_OK);
        memset(b[i]->ptr, i, BYTES);
        tra_block_unpin(p, b[i]);
        CHECK(tra_pool_stat(p).used <= 8 * BYTES);
    }
    for (int i = 0; i < N; i++) {
        bool load;
        CHECK_INT(tra_block_pin(p, b[i], &load, &e), TRA_OK);
        if (load) CHECK_INT(tra_block_load(p, b[i], NULL, &e), TRA_OK);
        char *bytes = b[i]->ptr;
        CHECK(bytes[0] == i && bytes[BYTES - 1] == i);
        tra_block_unpin(p, b[i]);
    }
    tra_pool_stats s = tra_pool_stat(p);
    CHECK_INT(s.spilled, (N - 8) * BYTES + 8 * BYTES); /* all in the end, each once */
    CHECK(s.peak <= s.budget);
    for (int i = 0; i < N; i++) tra_block_free(p, b[i]);
    CHECK_INT(tra_pool_stat(p).used, 0);
    tra_pool_free(p);
}

/* Every second piece of a range comes back, in an order that is not theirs; pieces of other sizes are taken and given,
 * as blocks are. What that takes does not grow with the pieces that are free. */
TEST(free_pieces_are_not_looked_through) {
    enum { N = 100000, PIECE = 8 };
    tra_space s = {0};
    int64_t *at = tra_calloc(N, sizeof *at), bytes = 0;
    tra_space_give(&s, 0, (int64_t)N * 2 * PIECE);
    for (int i = 0; i < N; i++) {
        at[i] = tra_space_take(&s, PIECE);
        CHECK_INT(tra_space_take(&s, PIECE), at[i] + PIECE);
    }
    CHECK_INT(tra_space_take(&s, 1), -1);
    for (int64_t i = 0, k = 0; i < N; i++, k = (k + 61803) % N) tra_space_give(&s, at[k], 1 + k % PIECE);
    s.steps = 0;
    for (int64_t i = 0, k = 0; i < N; i++, k = (k + 38197) % N) {
        int64_t n = 1 + k % PIECE, got = tra_space_take(&s, n);
        CHECK(got >= 0 && tra_space_find(&s, got) != NULL);
        bytes += n;
        if (i % 2) tra_space_give(&s, got, n), bytes -= n;
    }
    CHECK(s.steps < (int64_t)N * 400); /* a look at each would be 5e9 */
    int64_t left = 0;
    for (const tra_extent *x = NULL; (x = tra_space_larger(&s, x ? x->n : 0, x ? x->at : -1));) {
        CHECK(x == tra_space_find(&s, x->at));
        left += x->n;
    }
    CHECK_INT(left + bytes, (int64_t)N / PIECE * (PIECE * (PIECE + 1) / 2));
    tra_space_free(&s);
    free(at);
}

/* Pages of this process that are resident, in bytes. */
static int64_t resident(void) {
    long all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &here) != 2) here = 0;
    if (f) fclose(f);
    return (int64_t)here * 4096;
}

TEST(pool_in_pieces_stays_in_its_budget) {
    enum { M = 1 << 20 };
    tra_err e = {0};
    tra_pool *p = tra_pool_new(100 * M, check_folder());
    tra_block *b[10], *big[2];
    int64_t before = resident();
    for (int i = 0; i < 10; i++) {
        CHECK_OK(tra_block_new(p, 10 * M, &b[i], &e), e);
        memset(b[i]->ptr, 1, 10 * M);
    }
    for (int i = 0; i < 10; i += 2) tra_block_free(p, b[i]);
    CHECK_OK(tra_block_new(p, 50 * M, &big[0], &e), e); /* mapped apart: what is free lies in pieces */
    memset(big[0]->ptr, 1, 50 * M);
    for (int i = 1; i < 10; i += 2) tra_block_free(p, b[i]);
    CHECK_OK(tra_block_new(p, 50 * M, &big[1], &e), e); /* from the region, of which 50 had been in use */
    memset(big[1]->ptr, 1, 50 * M);
    CHECK_INT(tra_pool_stat(p).used, 100 * M);
    CHECK(resident() - before <= 118 * M); /* with room for the shadow that sanitizers keep; without care, 130 */
    for (int i = 0; i < 2; i++) tra_block_free(p, big[i]);
    tra_pool_free(p);
}

TEST(pool_one_holder_lets_go_while_another_has_it_pinned) {
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *b = NULL;
    tra_err e = {0};
    CHECK_INT(tra_block_new(p, 1000, &b, &e), TRA_OK);
    tra_block_share(p, b);
    tra_block_free(p, b);
    CHECK_INT(b->pins, 1);
    tra_block_unpin(p, b);
    tra_block_free(p, b);
    CHECK_INT(tra_pool_stat(p).used, 0);
    tra_pool_free(p);
}

TEST(pool_refuses_when_all_is_pinned) {
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *a = NULL, *b = NULL;
    tra_err e = {0};
    CHECK_INT(tra_block_new(p, 600 << 10, &a, &e), TRA_OK);
    CHECK_INT(tra_block_new(p, 600 << 10, &b, &e), TRA_RESOURCE);
    CHECK(strstr(e.msg, "--memory") != NULL);
    tra_block_unpin(p, a); /* now it can be evicted */
    e = (tra_err){0};
    CHECK_INT(tra_block_new(p, 600 << 10, &b, &e), TRA_OK);
    tra_block_free(p, a);
    tra_block_free(p, b);
    tra_pool_free(p);
}

TEST(a_changed_block_is_spilled_again) {
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *a = NULL, *b = NULL;
    tra_err e = {0};
    bool load;
    CHECK_INT(tra_block_new(p, 600 << 10, &a, &e), TRA_OK);
    memset(a->ptr, 1, 600 << 10);
    tra_block_unpin(p, a);
    for (int round = 2; round < 5; round++) {
        CHECK_INT(tra_block_new(p, 600 << 10, &b, &e), TRA_OK); /* drives a out */
        tra_block_free(p, b);
        CHECK_INT(tra_block_pin(p, a, &load, &e), TRA_OK);
        CHECK(load);
        CHECK_INT(tra_block_load(p, a, NULL, &e), TRA_OK);
        CHECK_INT(((char *)a->ptr)[5], round - 1);
        memset(a->ptr, round, 600 << 10);
        tra_block_mark_dirty(p, a);
        tra_block_unpin(p, a);
    }
    tra_block_free(p, a);
    tra_pool_free(p);
}

TEST(pool_serves_mixed_sizes_in_its_budget) {
    tra_pool *p = tra_pool_new(4 << 20, check_folder());
    tra_block *b[64] = {0};
    tra_err e = {0};
    for (int round = 0; round < 5000; round++) {
        int i = (int)check_draw(64);
        if (b[i]) {
            CHECK_INT(*(int *)b[i]->ptr, i);
            tra_block_free(p, b[i]);
            b[i] = NULL;
            continue;
        }
        int64_t bytes = check_draw(3) ? 8 + check_draw(60000) : 8 + check_draw(500000);
        if (tra_pool_stat(p).used + bytes + 4096 > 4 << 20) continue;
        CHECK_INT(tra_block_new(p, bytes, &b[i], &e), TRA_OK); /* also where the room is in pieces */
        if (!b[i]) break;
        *(int *)b[i]->ptr = i;
    }
    CHECK(tra_pool_stat(p).peak <= 4 << 20);
    for (int i = 0; i < 64; i++) tra_block_free(p, b[i]);
    tra_pool_free(p);
}

/* What is reserved is for blocks that workers take, and for nothing else, whoever asks first. */
TEST(pool_keeps_what_is_reserved_for_workers) {
    enum { BUDGET = 4 << 20, BLOCKS = 32 };
    tra_pool *p = tra_pool_new(BUDGET, check_folder());
    struct {
        tra_block *b;
        int64_t bytes;
        bool taken;
    } v[BLOCKS] = {{0}};
    int64_t reserved = 0, taken = 0;
    int refused[3] = {0};
    for (int round = 0; round < 5000; round++) {
        int i = (int)check_draw(BLOCKS), what = (int)check_draw(8);
        int64_t bytes = 8000 + check_draw(400000), all = tra_block_footprint(bytes), used = tra_pool_stat(p).used;
        int64_t left = tra_max64(0, reserved - taken);
        tra_err e = {0};
        if (v[i].b) {
            tra_block_free(p, v[i].b);
            if (v[i].taken) taken -= v[i].bytes;
            v[i].b = NULL;
        } else if (what < 6) {
            v[i].taken = what < 3;
            v[i].bytes = all;
            tra_status s = v[i].taken ? tra_block_take(p, bytes, &v[i].b, &e) : tra_block_new(p, bytes, &v[i].b, &e);
            bool fits = used + all + (v[i].taken ? 0 : left) <= BUDGET;
            CHECK_INT(s, fits ? TRA_OK : TRA_RESOURCE);
            if (s == TRA_OK && v[i].taken) taken += all;
            refused[v[i].taken] += !fits;
        } else if (what == 6) {
            bool fits = used + left + bytes <= BUDGET;
            CHECK_INT(tra_pool_reserve(p, bytes, &e), fits ? TRA_OK : TRA_RESOURCE);
            if (fits) reserved += bytes;
            refused[2] += !fits;
        } else if (reserved > 0) {
            int64_t n = 1 + check_draw(reserved);
            tra_pool_release(p, n);
            reserved -= n;
        }
        CHECK(tra_pool_stat(p).used <= BUDGET);
    }
    for (int k = 0; k < 3; k++) CHECK(refused[k] > 5);
    for (int i = 0; i < BLOCKS; i++) tra_block_free(p, v[i].b);
    tra_pool_release(p, reserved);
    tra_pool_free(p);
}

TEST(what_nobody_reads_again_is_not_spilled) {
    tra_pool *p = tra_pool_new(1 << 20, check_folder());
    tra_block *b[3];
    tra_err e = {0};
    bool load;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(tra_block_new(p, 300000, &b[i], &e), TRA_OK);
        *(int *)b[i]->ptr = i;
    }
    tra_block_share(p, b[1]);
    CHECK(!tra_pool_has_room(p, 300000, false));
    tra_block_unpin_then(p, b[0], TRA_AFTER_DROP);
    tra_block_unpin_then(p, b[1], TRA_AFTER_DROP); /* but another has it */
    tra_block_unpin_then(p, b[2], TRA_AFTER_EVICT);
    CHECK(tra_pool_has_room(p, 300000, true));
    CHECK(tra_pool_has_room(p, 900000, false) && !tra_pool_has_room(p, 900000, true));
    CHECK_INT(tra_block_pin(p, b[0], &load, &e), TRA_OK);
    CHECK(load);
    CHECK_FAILS(tra_block_load(p, b[0], NULL, &e), TRA_INTERNAL, e, "read no more");
    tra_block_unpin(p, b[0]);
    for (int i = 1; i < 3; i++) {
        CHECK_INT(tra_block_pin(p, b[i], &load, &e), TRA_OK);
        CHECK(!load && *(int *)b[i]->ptr == i);
        tra_block_unpin(p, b[i]);
    }
    CHECK_INT(tra_pool_stat(p).spilled, 0);
    tra_block_free(p, b[1]);
    /* its last reader is done before its producer releases it: an exchange that sends what a stage makes */
    CHECK_INT(tra_block_pin(p, b[1], &load, &e), TRA_OK);
    CHECK_INT(tra_block_pin(p, b[1], &load, &e), TRA_OK);
    tra_block_unpin_then(p, b[1], TRA_AFTER_DROP);
    CHECK_INT(*(int *)b[1]->ptr, 1);
    tra_block_unpin(p, b[1]);
    CHECK_INT(b[1]->state, TRA_BLOCK_AWAY);
    CHECK_INT(tra_pool_stat(p).spilled, 0);
    for (int i = 0; i < 3; i++) tra_block_free(p, b[i]);
    tra_pool_free(p);
}

static long faults(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_minflt;
}

/* A large block finds no hole among small ones, again and again, as in the turns of a loop. */
TEST(large_blocks_take_pages_that_are_resident) {
    enum { M = 1 << 20, SMALL = 16, ROUNDS = 20 };
    tra_err e = {0};
    tra_pool *p = tra_pool_new(20 * M, check_folder());
    tra_block *b[SMALL], *big;
    long before = 0;
    for (int r = 0; r < ROUNDS; r++) {
        if (r == ROUNDS / 2) before = faults();
        for (int i = 0; i < SMALL; i++) {
            CHECK_OK(tra_block_new(p, M, &b[i], &e), e);
            memset(b[i]->ptr, i, M);
        }
        for (int i = 0; i < SMALL; i++)
            if (i % 4 != 3) tra_block_free(p, b[i]);
        CHECK_OK(tra_block_new(p, 12 * M, &big, &e), e);
        memset(big->ptr, 1, 12 * M);
        for (int i = 3; i < SMALL; i += 4) {
            CHECK_INT(*(char *)b[i]->ptr, i);
            tra_block_free(p, b[i]);
        }
        tra_block_free(p, big);
    }
    /* of 28 MiB that a round touches; 24 are new where the large block has a mapping of its own */
    CHECK(faults() - before < ROUNDS / 2 * 10 * (M / 4096));
    CHECK(tra_pool_stat(p).peak <= 20 * M);
    tra_pool_free(p);
}
