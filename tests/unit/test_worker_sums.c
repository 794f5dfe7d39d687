/* test_worker_sums.c - the sums to which workers add what they make of their inputs. */
#include "../../lib/run/worker_sums.h"
#include "check.h"

#include <string.h>

enum { N = 3 };

static void add(tra_array *sum, int64_t x) {
    for (int i = 0; i < N; i++) ((int64_t *)sum->data)[i] += x + i;
}

TEST(workers_add_to_sums_of_their_own_which_are_added_up_at_the_end) {
    tra_arena *a = tra_arena_new();
    int64_t v[3][N];
    tra_worker_sums s;
    memset(v, 0x55, sizeof v); /* what memory has before */
    tra_worker_sums_init(&s, 3);
    for (int i = 0; i < 3; i++) s.v[i] = (tra_array){.dtype = TRA_I64, .ext = {.n = 1, .v = {N}}, .data = v[i]};
    CHECK(!tra_worker_sums_close(&s, tra_kernel_sum(a)));
    tra_array *first = tra_worker_sums_take(&s), *second = tra_worker_sums_take(&s);
    CHECK(first != second);
    add(first, 1);
    add(second, 10);
    tra_worker_sums_give(&s, first);
    CHECK(tra_worker_sums_take(&s) == first); /* which has what was added before */
    add(first, 100);
    tra_worker_sums_give(&s, second);
    tra_worker_sums_give(&s, first);
    CHECK(tra_worker_sums_close(&s, tra_kernel_sum(a))); /* without the third, which nobody took */
    for (int i = 0; i < N; i++) CHECK_INT(v[0][i], 111 + 3 * i);
    tra_worker_sums_free(&s);
    tra_arena_free(a);
}
