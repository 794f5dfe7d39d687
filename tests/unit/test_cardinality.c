/* test_cardinality.c - expected numbers beside the average over everything that may happen, which is enumerated. */
#include "../../plans/tra/cardinality.h"
#include "check.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fmax(1, fabs(b)); }

/* The average number of different values over all sequences of so many draws from so many values. */
static double draw_all(int values, int draws) {
    int64_t sequences = 1, found = 0;
    for (int i = 0; i < draws; i++) sequences *= values;
    for (int64_t s = 0; s < sequences; s++) {
        uint64_t seen = 0;
        int64_t rest = s;
        for (int i = 0; i < draws; i++, rest /= values) seen |= 1u << rest % values;
        found += __builtin_popcountll(seen);
    }
    return (double)found / (double)sequences;
}

TEST(distinct_values_are_those_of_all_sequences_of_draws) {
    for (int values = 1; values <= 6; values++)
        for (int draws = 0; draws <= 6; draws++)
            CHECK(near(tra_distinct_after(values, draws), draw_all(values, draws)));
}

TEST(distinct_values_keep_their_bounds) {
    CHECK(tra_distinct_after(0, 5) == 0);
    CHECK(tra_distinct_after(3, 0.25) <= 0.25);
    CHECK(near(tra_distinct_after(1e15, 1000), 1000)); /* where 1 - 1 / values is 1 but for a few bits */
    CHECK(tra_distinct_after(1e15, 1000) <= 1000);
    CHECK(near(tra_distinct_after(1000, 1e15), 1000));
}

TEST(any_of_things_is_what_all_subsets_say) {
    static const double p[] = {0, 1e-3, 0.25, 0.5, 0.999, 1};
    for (int k = 0; k < 6; k++)
        for (int n = 0; n <= 10; n++) {
            double any = 0;
            for (int set = 1; set < 1 << n; set++) {
                double chance = 1;
                for (int i = 0; i < n; i++) chance *= set >> i & 1 ? p[k] : 1 - p[k];
                any += chance;
            }
            CHECK(near(tra_any_of(p[k], n), any));
        }
    CHECK(near(tra_any_of(1e-18, 3), 3e-18));
}

/* The average number of boxes that have an item, over all sets of so many places. */
static double place_all(int boxes, int each, int items) {
    int64_t sets = 0, found = 0;
    for (uint32_t set = 0; set < 1u << boxes * each; set++) {
        if (__builtin_popcount(set) != items) continue;
        sets++;
        for (int b = 0; b < boxes; b++) found += (set >> b * each & ((1u << each) - 1)) != 0;
    }
    return (double)found / (double)sets;
}

TEST(boxes_are_those_of_all_sets_of_places) {
    for (int boxes = 1; boxes <= 6; boxes++)
        for (int each = 1; each * boxes <= 14; each++)
            for (int items = 0; items <= boxes * each; items++)
                CHECK(near(tra_boxes_with_any(boxes, each, items), place_all(boxes, each, items)));
}

/* Where the box and the items are many: the product term by term. */
TEST(many_items_in_large_boxes_are_near_the_exact_number) {
    static const double of[][3] = {{1000, 1000, 5000}, {100, 1e4, 2e5}, {1e6, 300, 1e6}, {7, 1000, 100}, {2, 1e5, 1e5}};
    for (int i = 0; i < 5; i++) {
        double log_none = 0, places = of[i][0] * of[i][1];
        for (double k = 0; k < of[i][1]; k++) log_none += log1p(-of[i][2] / (places - k));
        double exact = -of[i][0] * expm1(log_none);
        CHECK(fabs(tra_boxes_with_any(of[i][0], of[i][1], of[i][2]) - exact) <= 1e-6 * exact);
    }
    CHECK(tra_boxes_with_any(1e9, 1e9, 0.5) <= 0.5);
    CHECK(near(tra_boxes_with_any(1000, 1, 10), 10));
    CHECK(near(tra_boxes_with_any(1000, 500, 500000), 1000));
}

TEST(groups_are_those_of_all_sequences_of_rows) {
    tra_column v[] = {{.name = "a", .type = TRA_COL_BOOL}, {.name = "b", .type = TRA_COL_BOOL, .nullable = true}};
    tra_schema s = {2, v};
    for (int rows = 1; rows <= 6; rows++) {
        CHECK(near(tra_table_groups_expected(&s, 0, NULL, NULL, NULL, rows), 1));
        CHECK(near(tra_table_groups_expected(&s, 1, NULL, NULL, NULL, rows), draw_all(2, rows)));
        CHECK(near(tra_table_groups_expected(&s, 2, NULL, NULL, NULL, rows),
                   draw_all(6, rows))); /* NULL is a third value of b */
    }
}
