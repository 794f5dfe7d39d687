/* Storages by levels: components that are filled here give back the tensor by the mapping that the levels stand for. */
#include "storage_fill.h"

static void check_levels(const tra_storage *s, const int64_t *extent, int percent, unsigned *seed) {
    static filled f;
    tensor t = new_tensor(s->rank, extent, percent, seed);
    fill(&f, s, &t);
    /* what a dense last level has is an entry, also where the tensor has none */
    bool below = true;
    int last_sparse = -1;
    for (int d = 0; d < s->rank; d++)
        if (s->level[d] != TRA_CALC_LEVEL_DENSE) last_sparse = d;
    for (int64_t i = 0; i < t.n && last_sparse + 1 < s->rank; i++) {
        int64_t at[4];
        if (t.entry[i]) continue;
        coordinates(&t, i, at);
        below = last_sparse < 0;
        for (int64_t e = 0; e < f.n && !below; e++) {
            below = true;
            for (int d = 0; d <= last_sparse; d++) below &= f.at[e][d] == at[s->order[d]];
        }
        t.entry[i] = below;
        t.v[i] = 0;
    }
    check_gives(__LINE__, s, &(tra_storage_block){extent, NULL, f.data}, &t);
    free_components(s, f.data);
}

static void check_levels_of(const tra_storage *s) {
    static const int64_t extents[][4] = {{5, 7, 3, 2}, {0, 4, 2, 2}, {1, 1, 1, 1}, {4, 0, 3, 1}, {7, 1, 2, 3}};
    static const int percents[] = {0, 20, 60, 100};
    unsigned seed = 7;
    for (int k = 0; s && k < 20; k++) check_levels(s, extents[k % 5], percents[k / 5], &seed);
}

TEST(library_by_levels) {
    static const char *const any[] = {"dense", "colmajor", "coo", "csf", "dok"}, *const matrix[] = {"csr", "csc",
                                                                                                    "dcsr", "dcsc"};
    static const int64_t orders[][4] = {{1, 0}, {2, 0, 1}, {0, 2, 1}, {3, 1, 0, 2}};
    tra_arena *a = tra_arena_new();
    for (int rank = 1; rank <= 4; rank++)
        for (int k = 0; k < 5; k++) check_levels_of(find(a, any[k], rank, 0, NULL));
    for (int k = 0; k < 4; k++) check_levels_of(find(a, matrix[k], 2, 0, NULL));
    for (int k = 0; k < 4; k++) {
        const tra_storage *s = find(a, "csf", k == 0 ? 2 : k == 3 ? 4 : 3, k == 0 ? 2 : k == 3 ? 4 : 3, orders[k]);
        if (s) CHECK(s->by_levels && s->order[0] == orders[k][0] && s->level[1] == TRA_CALC_LEVEL_SPARSE);
        check_levels_of(s);
    }
    tra_arena_free(a);
}

/* All levels that there are, in all places. */
TEST(any_levels) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    for (int code = 0; code < 64; code++) {
        tra_str text = {0};
        bool ok = true;
        tra_str_add(&text, "storage s[a, b, c] = levels(");
        for (int d = 0; d < 3; d++) {
            int l = code >> 2 * d & 3, before = d ? code >> 2 * (d - 1) & 3 : 0;
            ok &= l != TRA_CALC_LEVEL_SINGLETON || (d && (before == TRA_CALC_LEVEL_SPARSE || before == l));
            tra_str_printf(&text, "%s%s", d ? ", " : "", tra_calc_level_text((tra_calc_level)l));
        }
        tra_str_add(&text, code % 3 ? ") order [2, 0, 1]" : ")");
        /* a singleton level closes what is sparse above: more than one level may follow it only if all are */
        bool mixed = (code >> 2 & 3) == TRA_CALC_LEVEL_SINGLETON && (code >> 4 & 3) != TRA_CALC_LEVEL_SINGLETON;
        if (ok && !mixed) {
            const tra_storage *s = made(a, text.s, 3, 0, NULL, &e);
            CHECK(s != NULL);
            check_levels_of(s);
        }
        tra_str_free(&text);
    }
    tra_arena_free(a);
}
