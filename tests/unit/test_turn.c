/* test_turn.c - entries in the order of other rows, against a stable sort by comparing. */
#include "../../lib/model/turn.h"
#include "check.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const tra_turn_item *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Entries in any order, from two pieces, many of the same places; values tell in which order they came. */
TEST(entries_are_sorted_by_row_and_column_and_keep_their_order_in_a_place) {
    static const int64_t boxes[] = {1, 7, 3000, 100000, INT64_C(1) << 32};
    for (int b = 0; b < 5; b++) {
        int64_t box = boxes[b], n = b == 0 ? 500 : 40000, columns = 1 + check_draw(b == 1 ? 3 : 100000);
        tra_turn_item *want = tra_calloc((size_t)n, sizeof *want);
        char *room = aligned_alloc(64, (size_t)tra_round64(tra_turn_room(n, n)));
        char *scratch = aligned_alloc(64, (size_t)tra_round64(tra_turn_scratch(n, true)));
        tra_turn x;
        tra_rows_view v;
        for (int64_t i = 0; i < n; i++)
            want[i] = (tra_turn_item){(uint32_t)check_draw(box), (uint32_t)check_draw(columns), (uint64_t)i};
        tra_turn_begin(&x, n, box, room, scratch);
        x.pieces = 2;
        memset(x.at, 0, 2 * sizeof *x.at);
        for (int64_t i = 0; i < n; i++) x.at[i >= n / 2][want[i].row >> x.shift]++;
        CHECK_INT(tra_turn_place(&x), n);
        for (int64_t i = 0; i < n; i++) x.items[x.at[i >= n / 2][want[i].row >> x.shift]++] = want[i];
        int64_t rows = tra_turn_sort(&x), wrong = 0;
        tra_turn_lay(&x, TRA_I64, room, &v);
        tra_turn_write(&x, &v);
        qsort(want, (size_t)n, sizeof *want, compare);
        CHECK_INT(v.n, n);
        CHECK_INT(v.nrows, rows);
        for (int64_t r = 0; r < v.nrows; r++)
            for (int64_t k = v.begin[r]; k < v.begin[r + 1]; k++)
                wrong += v.row[r] != want[k].row || v.column[k] != want[k].column ||
                         ((uint64_t *)(void *)v.value)[k] != want[k].value;
        CHECK_INT(wrong, 0);
        free(want);
        free(room);
        free(scratch);
    }
}
