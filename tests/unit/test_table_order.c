/* test_table_order.c - the order of rows that their digits give, against comparing them: all types, NULLs, NaN, -0,
 * ranges from one value to all that there are, rows that descend; and codes and runs of equal rows. */
#include "../../lib/base/parallel.h"
#include "../../lib/model/columns.h"
#include "../../lib/table/order.h"
#include "check.h"

enum { COLUMNS = 5, ROWS = 700 };
static const tra_coltype types[COLUMNS] = {TRA_COL_BOOL, TRA_COL_I32, TRA_COL_I64, TRA_COL_F32, TRA_COL_F64};

/* Of few values or of many; row r of each column. */
static void put(tra_vector *v, tra_coltype t, int64_t r, int64_t values) {
    int64_t k = check_draw(values) - values / 2, wide = check_draw(4) ? k : check_draw(2) ? INT64_MAX : INT64_MIN;
    double real = k == 0 ? (check_draw(2) ? 0.0 : -0.0) : k == 1 ? (double)NAN : k == -1 ? (double)-NAN : (double)k / 3;
    switch (tra_coltype_held(t)) {
    case TRA_BOOL: ((uint8_t *)v->values)[r] = k > 0; break;
    case TRA_I32: ((int32_t *)v->values)[r] = (int32_t)k + 3000000; break; /* NULL is far away */
    case TRA_I64: ((int64_t *)v->values)[r] = values > 50 ? wide : k; break;
    case TRA_F32: ((float *)v->values)[r] = (float)real; break;
    case TRA_F64: ((double *)v->values)[r] = values > 50 && !check_draw(9) ? HUGE_VAL : real; break;
    }
    if (!v->state || check_draw(5)) return;
    v->state[r] = TRA_STATE_NULL;
    memset((char *)v->values + (size_t)r * tra_coltype_size(t), 0, tra_coltype_size(t));
}

static tra_batch random_rows(tra_arena *a, int64_t rows) {
    tra_column *c = tra_news(a, tra_column, COLUMNS);
    tra_schema *s = tra_new(a, tra_schema);
    tra_vector *v = tra_news(a, tra_vector, COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        int64_t values = check_draw(3) ? 1 + check_draw(6) : 2000000;
        c[i] = (tra_column){.name = "c", .type = types[i], .nullable = check_draw(2)};
        v[i].values = tra_arena_alloc(a, (size_t)rows * 8 + 8);
        if (c[i].nullable) v[i].state = tra_arena_alloc(a, (size_t)rows + 1);
        for (int64_t r = 0; v[i].state && r < rows; r++) v[i].state[r] = 0;
        for (int64_t r = 0; r < rows; r++) put(&v[i], types[i], r, values);
    }
    *s = (tra_schema){COLUMNS, c};
    return (tra_batch){s, rows, v};
}

static int compare(const tra_batch *b, int n, const int *column, const bool *desc, int64_t i, int64_t j) {
    for (int k = 0; k < n; k++) {
        int r = tra_value_compare(&b->schema->v[column[k]], &b->v[column[k]], i, j, desc[k]);
        if (r) return r;
    }
    return 0;
}

/* The longest are cut in pieces, which threads share. */
TEST(rows_are_ordered_by_their_digits_as_by_their_values) {
    enum { MANY = 1500000 };
    static int64_t at[MANY + 1], first[MANY], spare[TRA_ORDER_SPARE * MANY], begin[MANY + 1];
    tra_parallel_threads threads = tra_parallel_on(3);
    tra_parallel_by(&threads.by);
    for (int trial = 0; trial < 300; trial++) {
        tra_arena *a = tra_arena_new();
        int64_t rows = 1 + check_draw(trial % 100 == 0 ? MANY : trial % 3 ? 60 : ROWS), bad = 0, changes = 1;
        tra_batch b = random_rows(a, rows);
        int n = 1 + (int)check_draw(COLUMNS), column[COLUMNS];
        bool desc[COLUMNS];
        for (int k = 0; k < n; k++) column[k] = (int)check_draw(COLUMNS), desc[k] = check_draw(2);
        int64_t most = check_draw((uint64_t)rows + 1);
        for (int64_t i = 0; i < rows; i++) at[i] = first[i] = i;
        tra_order_by_digits(&b, n, column, desc, at, rows, rows, spare);
        tra_order_first(&b, n, column, desc, first, rows, most, spare);
        for (int64_t i = 0; i < most; i++) bad += first[i] != at[i];
        for (int64_t i = 1; i < rows; i++) {
            int r = compare(&b, n, column, desc, at[i - 1], at[i]);
            bad += r > 0 || (r == 0 && at[i - 1] > at[i]);
            changes += r != 0;
        }
        CHECK_INT(bad, 0);
        CHECK_INT(tra_order_runs(&b, n, column, at, rows, begin), changes);
        tra_arena_free(a);
    }
    tra_parallel_by(NULL);
}

TEST(codes_and_runs_tell_rows_apart_as_their_values_do) {
    static const bool ascends[COLUMNS];
    int64_t at[ROWS + 1], begin[ROWS + 1], spare[TRA_ORDER_SPARE * ROWS], coded = 0;
    uint64_t word[ROWS];
    tra_key_bits keys[COLUMNS];
    for (int trial = 0; trial < 300; trial++) {
        tra_arena *a = tra_arena_new();
        int64_t rows = check_draw(ROWS), bad = 0, changes = rows > 0, runs;
        tra_batch b = random_rows(a, rows);
        int n = 1 + (int)check_draw(3), column[COLUMNS];
        for (int k = 0; k < n; k++) column[k] = (int)check_draw(COLUMNS);
        int bits = tra_key_bits_of(&b, n, column, rows, 20, keys), half = (int)rows / 2;
        if (bits >= 0) {
            tra_key_words(&b, n, column, keys, 0, half, word);
            tra_key_words(&b, n, column, keys, half, (int)rows - half, word + half);
        }
        coded += bits >= 0;
        for (int64_t i = 1; bits >= 0 && i < rows; i++) {
            int r = compare(&b, n, column, ascends, i - 1, i), w = (word[i - 1] > word[i]) - (word[i - 1] < word[i]);
            bad += r != w || word[i] >> bits;
        }
        int64_t neighbours = rows > 0;
        for (int64_t i = 0; i < rows; i++) at[i] = i;
        for (int64_t i = 1; i < rows; i++) neighbours += compare(&b, n, column, ascends, i - 1, i) != 0;
        CHECK_INT(tra_order_count_runs(&b, n, column), neighbours);
        tra_order_rows(&b, n, column, NULL, at, rows, spare);
        runs = tra_order_runs(&b, n, column, at, rows, begin);
        for (int64_t i = 1; i < rows; i++) changes += compare(&b, n, column, ascends, at[i - 1], at[i]) != 0;
        CHECK_INT(runs, changes);
        CHECK_INT(begin[runs], rows);
        CHECK_INT(bad, 0);
        tra_arena_free(a);
    }
    CHECK(coded > 20);
}
