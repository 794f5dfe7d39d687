/* test_tree.c - the tree of reproducible sums: every branch that one site has alone gives what one site gives for all.
 */
#include "../../lib/physical/tree.h"
#include "check.h"

/* The sum of terms lo..hi-1 of a function that is neither associative nor commutative, by the definition: halves of the
 * leaves, terms of a leaf in order. */
static uint64_t add(uint64_t a, uint64_t b) { return (a ^ b << 7) * 0x9e3779b97f4a7c15u + a; }
static uint64_t term(int64_t i) { return (uint64_t)(i + 1) * 0xd1342543de82ef95u; }

static bool by_halves(const tra_tree *t, int from, int to, uint64_t holes, uint64_t *sum) { /* of leaves from .. to-1 */
    uint64_t a = 0, b = 0;
    bool any = false;
    if (to - from == 1) {
        for (int64_t i = 0; i < t->n; i++) {
            if (tra_tree_leaf(t, i) != from || (holes >> (i % 64) & 1)) continue;
            *sum = any ? add(*sum, term(i)) : term(i);
            any = true;
        }
        return any;
    }
    bool l = by_halves(t, from, (from + to) / 2, holes, &a), r = by_halves(t, (from + to) / 2, to, holes, &b);
    *sum = l && r ? add(a, b) : l ? a : b;
    return l || r;
}

/* By the stack of the executor, from the terms in order. depth gets the most that it held. */
static uint64_t by_stack(const tra_tree *t, uint64_t holes, int *depth) {
    uint64_t sum[TRA_TREE_LEAVES + 1] = {0};
    tra_tree_sums open = {.top = -1};
    for (int64_t i = 0; i < t->n; i++) {
        int at = tra_tree_leaf(t, i);
        if (holes >> (i % 64) & 1) continue;
        tra_tree_step x = tra_tree_add(&open, at);
        for (int k = x.top; k > x.top - x.closed; k--) sum[k - 1] = add(sum[k - 1], sum[k]);
        bool fresh = x.sum > x.top - x.closed;
        sum[x.sum] = fresh ? term(i) : add(sum[x.sum], term(i));
        *depth = x.sum + 1 > *depth ? x.sum + 1 : *depth;
    }
    for (int k = open.top; k > 0; k--) sum[k - 1] = add(sum[k - 1], sum[k]);
    return open.top < 0 ? 0 : sum[0];
}

TEST(a_stack_adds_as_the_definition_does) {
    for (int64_t n = 1; n < 70; n++) {
        tra_tree t = {.n = n, .leaves = 1};
        while (t.leaves < TRA_TREE_LEAVES && t.leaves < n) t.leaves *= 2;
        for (uint64_t holes = 0; holes < 40; holes++) {
            uint64_t want = 0, mask = holes < 2 ? 0 : holes * 0x9e3779b97f4a7c15u;
            int depth = 0;
            by_halves(&t, 0, t.leaves, mask, &want);
            CHECK(by_stack(&t, mask, &depth) == want);
            CHECK(depth <= tra_tree_depth(t.leaves));
        }
    }
}

TEST(equal_parts_of_the_dimension_are_whole_branches) {
    tra_catalog c;
    tra_err e = {0};
    for (int64_t n = 1; n < 40; n++) {
        tra_dims frontier = {.n = 2, .v = {3, n}}, bound = {.n = 0}, group = {.n = 1, .v = {0}};
        CHECK_OK(tra_catalog_grid(&frontier, &bound, NULL, NULL, &c, &e), e);
        tra_tree t = tra_tree_of(false, &c, NULL, NULL, NULL, &group);
        CHECK_INT(t.label, 1);
        CHECK_INT(t.n, n);
        CHECK(t.leaves <= TRA_TREE_LEAVES && (t.leaves >= n || t.leaves == TRA_TREE_LEAVES));
        for (int sites = 1; sites <= 20; sites++) {
            int8_t dim = 1, other = 0;
            tra_placement p = tra_place_part(sites, &c, 1, &dim), q = tra_place_part(sites, &c, 1, &other);
            bool fits = tra_tree_fits(&t, &p, &group);
            CHECK(fits == (sites == 1 || t.leaves % sites == 0));
            CHECK(tra_tree_fits(&t, &q, &group));     /* no summands at all */
            for (int64_t i = 0; fits && i < n; i++) { /* a leaf is on one site, leaves in the order of sites */
                tra_dims key = {.n = 2, .v = {0, i}};
                int site[20];
                CHECK_INT(tra_place_holders(&p, &c, 0, &key, site), 1);
                CHECK_INT(tra_tree_leaf(&t, i) * sites / t.leaves, site[0]);
            }
        }
    }
}

TEST(the_dimension_is_one_that_both_inputs_have_and_the_widest) {
    tra_catalog l, r;
    tra_err e = {0};
    tra_dims bound = {.n = 0}, fl = {.n = 3, .v = {9, 4, 5}}, fr = {.n = 3, .v = {4, 7, 8}};
    CHECK_OK(tra_catalog_grid(&fl, &bound, NULL, NULL, &l, &e), e);
    CHECK_OK(tra_catalog_grid(&fr, &bound, NULL, NULL, &r, &e), e);
    /* join of l's 1, 2 with r's 0, 1: labels 0 9, 1 4, 2 5 (the lesser), 3 8 */
    tra_dims jl = {.n = 2, .v = {1, 2}}, jr = {.n = 2, .v = {0, 1}};
    tra_dims none = {.n = 0}, outer = {.n = 2, .v = {0, 3}}, both = {.n = 2, .v = {1, 2}},
             left = {.n = 3, .v = {0, 1, 2}};
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &outer).label, 2);
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &outer).n, 5);
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &none).label, 2);
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &both).label, 0);
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &left).label, 3);
    tra_dims all = {.n = 4, .v = {0, 1, 2, 3}};
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &all).label, -1);
    CHECK_INT(tra_tree_of(true, &l, &r, &jl, &jr, &all).leaves, 1);
}
