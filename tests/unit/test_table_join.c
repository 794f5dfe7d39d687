/* test_table_join.c - joins of batches, against comparing every pair of rows: NULLs, NaN, -0, strings of two
 * dictionaries, keys that lie close together or do not, duplicates, further conditions, empty sides. */
#include "../../lib/table/join_int.h"
#include "../../lib/table/table_int.h"
#include "check.h"

static tra_arena *arena;
static uint64_t seed = 1;
static int64_t draw(int64_t n) { /* 0..n-1 */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

enum { COLUMNS = 4, A = 0, B, F, S };
static const char *const words[2][4] = {{"a", "b", "cc", "dd"}, {"b", "cc", "e", "zz"}};

/* Columns a (i32), b (i64), f (f64), s (string), of few values or of many. */
static tra_batch random_rows(int side, int64_t rows, int64_t values) {
    static const char *const names[2][COLUMNS] = {{"a", "b", "f", "s"}, {"a", "rb", "rf", "rs"}};
    static const tra_coltype types[COLUMNS] = {TRA_COL_I32, TRA_COL_I64, TRA_COL_F64, TRA_COL_STRING};
    tra_column *c = tra_news(arena, tra_column, COLUMNS);
    tra_schema *s = tra_new(arena, tra_schema);
    tra_vector *v = tra_news(arena, tra_vector, COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        c[i] = (tra_column){.name = names[side][i], .type = types[i], .nullable = i != A || draw(2)};
        v[i].values = tra_arena_alloc(arena, (size_t)rows * 8 + 8);
        if (c[i].nullable) v[i].state = tra_arena_alloc(arena, (size_t)rows + 1);
    }
    c[S].dict = tra_dictionary_new(arena, 4, words[side], side ? (int64_t[]){1, 2, 1, 2} : (int64_t[]){1, 1, 2, 2});
    int64_t far = values > 100 ? draw(2) ? INT64_C(1000000007) : INT64_MAX / 700 : 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t k = draw(values) - 2;
        ((int32_t *)v[A].values)[r] = (int32_t)k;
        ((int64_t *)v[B].values)[r] = k * far;
        ((double *)v[F].values)[r] = k == 0 ? (draw(2) ? 0.0 : -0.0) : k == 1 ? NAN : (double)k;
        ((int32_t *)v[S].values)[r] = (int32_t)draw(4);
        for (int i = 0; i < COLUMNS; i++) {
            if (!v[i].state || draw(6)) continue;
            v[i].state[r] = TRA_STATE_NULL;
            memset((char *)v[i].values + (size_t)r * tra_coltype_size(types[i]), 0, tra_coltype_size(types[i]));
        }
    }
    *s = (tra_schema){COLUMNS, c};
    return (tra_batch){s, rows, v};
}

static bool is_null(const tra_batch *b, int c, int64_t r) { return b->v[c].state && b->v[c].state[r]; }

static double number(const tra_batch *b, int c, int64_t r) {
    return c == A   ? ((int32_t *)b->v[c].values)[r]
           : c == B ? (double)((int64_t *)b->v[c].values)[r]
                    : ((double *)b->v[c].values)[r];
}

static bool keys_match(const tra_batch *x, int cx, int64_t i, const tra_batch *y, int cy, int64_t j, bool nulls) {
    if (is_null(x, cx, i) || is_null(y, cy, j)) return nulls && is_null(x, cx, i) && is_null(y, cy, j);
    if (cx == S) return strcmp(words[0][((int32_t *)x->v[S].values)[i]], words[1][((int32_t *)y->v[S].values)[j]]) == 0;
    double a = number(x, cx, i), b = number(y, cy, j);
    return a == b || (isnan(a) && isnan(b));
}

/* f < rb. */
static bool condition_holds(const tra_batch *x, int64_t i, const tra_batch *y, int64_t j) {
    if (is_null(x, F, i) || is_null(y, B, j)) return false;
    return number(x, F, i) < number(y, B, j);
}

static void check_row(const tra_batch *out, int64_t at, const tra_batch *x, int64_t i, const tra_batch *y, int64_t j,
                      const tra_lookup *l) {
    const tra_schema *s = tra_lookup_out(l), *pair = tra_lookup_pair(l);
    for (int c = 0; c < s->n; c++) {
        int from = tra_schema_find(pair, s->v[c].name);
        const tra_batch *b = from < COLUMNS ? x : y;
        int64_t r = from < COLUMNS ? i : j;
        from %= COLUMNS;
        size_t size = tra_coltype_size(s->v[c].type);
        bool null = r < 0 || is_null(b, from, r), got = out->v[c].state && out->v[c].state[at];
        const void *v = (char *)out->v[c].values + (size_t)at * size;
        if (null != got || (!null && memcmp(v, (char *)b->v[from].values + (size_t)r * size, size) != 0)) {
            check_report("row %d, column %s: not that of rows %d and %d", (int)at, s->v[c].name, (int)i, (int)j);
            return;
        }
    }
}

/* Compares every pair; returns the rows that there should be. */
static int64_t compare(const tra_lookup *l, const tra_lookup_spec *s, bool where, const tra_batch *x,
                       const tra_batch *y, const tra_batch *out) {
    int64_t at = 0;
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    for (int64_t i = 0; i < x->rows; i++) {
        bool met = false;
        for (int64_t j = 0; j < y->rows; j++) {
            bool match = true;
            for (int k = 0; k < s->nkeys; k++)
                match = match && keys_match(x, s->lkey[k], i, y, s->rkey[k], j, s->nulls_match);
            if (!match || (where && !condition_holds(x, i, y, j))) continue;
            met = true;
            if (pairs && at < out->rows) check_row(out, at, x, i, y, j, l);
            at += pairs;
        }
        bool alone = met ? s->how == TRA_LOOKUP_SEMI : s->how == TRA_LOOKUP_LEFT || s->how == TRA_LOOKUP_ANTI;
        if (alone && at < out->rows) check_row(out, at, x, i, y, -1, l);
        at += alone;
    }
    return at;
}

static tra_status run(const tra_lookup *l, const tra_batch *x, const tra_batch *y, tra_batch *out, tra_err *e) {
    int64_t rows = 0, again = 0;
    void *scratch = aligned_alloc(64, (size_t)(tra_lookup_scratch(l, x->rows, y->rows) + 63) / 64 * 64);
    tra_kept kept = {.room = aligned_alloc(64, (size_t)(tra_lookup_keep(l, y->rows) + 63) / 64 * 64)};
    int64_t most = tra_lookup_found_room(l, x->rows, y->rows), room = tra_lookup_is_banded(l) ? draw(most + 1) : most;
    tra_found found = {.v = draw(3) ? tra_arena_alloc(arena, (size_t)room * sizeof(int32_t) + 1) : NULL};
    found.room = found.v ? room : 0; /* of ranges what has no room is looked up again */
    tra_status s = tra_lookup_run(l, x, y, 0, NULL, &rows, &found, &kept, scratch, e);
    const tra_schema *sc = tra_lookup_out(l);
    *out = (tra_batch){sc, 0, tra_news(arena, tra_vector, sc->n)};
    for (int c = 0; c < sc->n && s == TRA_OK; c++) {
        out->v[c].values = tra_arena_alloc(arena, (size_t)rows * 8 + 8);
        if (tra_column_has_states(&sc->v[c])) out->v[c].state = tra_arena_alloc(arena, (size_t)rows + 1);
    }
    if (s == TRA_OK) s = tra_lookup_run(l, x, y, 0, out, &again, &found, &kept, scratch, e);
    CHECK_INT(again, s == TRA_OK ? rows : 0);
    free(scratch);
    free(kept.room);
    return s;
}

TEST(joins_are_what_comparing_every_pair_finds) {
    static const int64_t sizes[] = {0, 1, 7, 150, 1100, 9000};
    for (int round = 0; round < 160; round++) {
        arena = tra_arena_new();
        tra_err e = {0};
        int64_t nx = sizes[draw(5)], ny = sizes[draw(6)], values = draw(2) ? 9 : 700;
        tra_batch x = random_rows(0, nx, values), y = random_rows(1, ny, values), out;
        int lkey[2] = {(int)draw(4), (int)draw(4)}, rkey[2] = {lkey[0], lkey[1]};
        if (lkey[0] == A && draw(2)) rkey[0] = B;
        tra_lookup_spec s = {x.schema, y.schema, (tra_lookup_how)draw(4), (int)draw(3), lkey, rkey, .prefix = NULL};
        s.nulls_match = draw(2);
        s.prefix = draw(2) ? "r_" : NULL;
        bool shown = s.how == TRA_LOOKUP_INNER || s.how == TRA_LOOKUP_LEFT, key = false;
        for (int k = 0; k < s.nkeys; k++) key = key || (lkey[k] == A && rkey[k] == A);
        if (shown && !key) s.prefix = "r_"; /* both have a column a */
        if (s.nkeys == 0 && nx * ny > 200000) {
            tra_arena_free(arena);
            continue;
        }
        tra_lookup *l;
        CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
        bool where = draw(2);
        if (where) {
            const tra_schema *p = tra_lookup_pair(l);
            const tra_colexpr *kids[2] = {tra_colexpr_column(arena, p, F), tra_colexpr_column(arena, p, COLUMNS + B)};
            const tra_colexpr *cond;
            CHECK_OK(tra_colexpr_call(arena, TRA_C_LT, 2, kids, &cond, &e), e);
            tra_lookup_where(l, cond);
        }
        CHECK_OK(run(l, &x, &y, &out, &e), e);
        int64_t want = compare(l, &s, where, &x, &y, &out);
        if (out.rows != want) check_report("round %d: %d rows, not %d", round, (int)out.rows, (int)want);
        tra_arena_free(arena);
    }
}

/* Among 65 keys, a NULL of the last is not mistaken for a NULL of the first. */
TEST(a_null_of_one_key_matches_no_null_of_another_however_many_keys) {
    arena = tra_arena_new();
    tra_err e = {0};
    tra_batch x = random_rows(0, 1, 9), y = random_rows(1, 1, 9), out;
    int key[65];
    for (int k = 0; k < 65; k++) key[k] = k == 0 ? B : k == 64 ? F : S;
    for (int side = 0; side < 2; side++) {
        tra_batch *b = side ? &y : &x;
        ((int64_t *)b->v[B].values)[0] = 0, b->v[B].state[0] = side ? TRA_STATE_VALUE : TRA_STATE_NULL;
        ((double *)b->v[F].values)[0] = 0, b->v[F].state[0] = side ? TRA_STATE_NULL : TRA_STATE_VALUE;
        ((int32_t *)b->v[S].values)[0] = side ? 0 : 1, b->v[S].state[0] = TRA_STATE_VALUE; /* "b" on both sides */
    }
    tra_lookup_spec s = {x.schema, y.schema, TRA_LOOKUP_SEMI, 65, key, key, .prefix = NULL, .nulls_match = true};
    tra_lookup *l;
    CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
    CHECK_OK(run(l, &x, &y, &out, &e), e);
    CHECK_INT(out.rows, 0);
    y.v[B].state[0] = TRA_STATE_NULL, y.v[F].state[0] = TRA_STATE_VALUE;
    CHECK_OK(run(l, &x, &y, &out, &e), e);
    CHECK_INT(out.rows, 1);
    s.nulls_match = false;
    CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
    CHECK_OK(run(l, &x, &y, &out, &e), e);
    CHECK_INT(out.rows, 0);
    tra_arena_free(arena);
}

TEST(what_is_expected_is_checked_and_names_the_first_row) {
    arena = tra_arena_new();
    tra_err e = {0};
    tra_batch x = random_rows(0, 5, 9), y = random_rows(1, 5, 9), out;
    memset(x.v[B].state, 0, 5), memset(y.v[B].state, 0, 5);
    for (int64_t r = 0; r < 5; r++) ((int64_t *)x.v[B].values)[r] = r, ((int64_t *)y.v[B].values)[r] = 10 * r;
    ((int64_t *)y.v[B].values)[3] = 10;
    int key = B;
    tra_lookup_spec s = {x.schema, y.schema, TRA_LOOKUP_INNER, 1, &key, &key, .prefix = "r_", .unique = true};
    tra_lookup *l;
    CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
    CHECK_INT(run(l, &x, &y, &out, &e), TRA_INPUT);
    CHECK(strstr(e.msg, "row 3 of the right table has the key that row 1"));
    e = (tra_err){0};
    s.unique = false, s.matched = true;
    CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
    CHECK_INT(run(l, &x, &y, &out, &e), TRA_INPUT);
    CHECK(strstr(e.msg, "row 1 of the left table has no partner"));
    tra_arena_free(arena);
}

TEST(keys_and_names_are_checked_when_it_is_made) {
    arena = tra_arena_new();
    tra_err e = {0};
    tra_batch x = random_rows(0, 1, 9), y = random_rows(1, 1, 9);
    int string = S, whole = B;
    tra_lookup_spec s = {x.schema, y.schema, TRA_LOOKUP_INNER, 1, &string, &whole, .prefix = "r_"};
    tra_lookup *l;
    CHECK_INT(tra_lookup_new(arena, &s, &l, &e), TRA_PROGRAM);
    CHECK(strstr(e.msg, "a string and a number"));
    e = (tra_err){0};
    s.lkey = &whole, s.prefix = NULL;
    CHECK_INT(tra_lookup_new(arena, &s, &l, &e), TRA_PROGRAM);
    CHECK(strstr(e.msg, "both tables have a column `a`") && strstr(e.msg, "prefix"));
    e = (tra_err){0};
    s.how = TRA_LOOKUP_SEMI;
    CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
    CHECK_INT(tra_lookup_out(l)->n, COLUMNS);
    tra_arena_free(arena);
}

/* Keys that were made to meet in the same slots of the hash table are put in order instead. */
TEST(keys_that_collide) {
    enum { ROWS = 3000, SLOTS = 8192, FULL = 32 };
    arena = tra_arena_new();
    tra_err e = {0};
    tra_batch x = random_rows(0, ROWS, 9), y = random_rows(1, ROWS, 9), out;
    int64_t *left = x.v[B].values, *right = y.v[B].values, n = 0;
    for (int64_t v = 1; n < ROWS; v += 1000003) {
        uint64_t key[2] = {0, (uint64_t)v};
        if ((tra_keys_hash(key, 1) & (SLOTS - 1)) < FULL) right[n++] = v;
    }
    for (int64_t i = 0; i < ROWS; i++) left[i] = right[draw(ROWS)] + draw(3) / 2; /* a third has no partner */
    for (int64_t i = 0; i < 50; i++) right[draw(ROWS)] = right[draw(ROWS)];
    int key[1] = {B};
    for (int how = 0; how < 4; how++) {
        tra_lookup_spec spec = {x.schema, y.schema, (tra_lookup_how)how, 1, key, key, .prefix = "r_"};
        tra_lookup *l;
        CHECK_OK(tra_lookup_new(arena, &spec, &l, &e), e);
        CHECK_OK(run(l, &x, &y, &out, &e), e);
        CHECK_INT(compare(l, &spec, false, &x, &y, &out), out.rows);
    }
    tra_arena_free(arena);
}

static int64_t draw_size(int64_t most) { return 1 + draw(INT64_C(1) << (1 + draw(31))) % most; }

/* Any way of finding keys fits the room that was made for as many rows and the widest range of keys, or more. */
TEST(an_index_of_fewer_rows_or_of_closer_keys_fits_its_room) {
    arena = tra_arena_new();
    tra_err e = {0};
    tra_batch x = random_rows(0, 1, 9), y = random_rows(1, 1, 9);
    int key[2] = {B, A};
    for (int how = 0; how < 4; how++) {
        tra_lookup_spec s = {x.schema, y.schema, (tra_lookup_how)how, 1 + draw(2), key, key, .prefix = "r_"};
        tra_lookup *l;
        CHECK_OK(tra_lookup_new(arena, &s, &l, &e), e);
        for (int i = 0; i < 300000; i++) {
            int64_t most = draw_size(1 << 25), rows = draw(2) ? most - draw(most) / (1 << draw(25)) : draw_size(most);
            int64_t near = draw(2) ? 2 * rows + (1 << 16) + draw(1 + rows / 8) : draw_size(INT64_C(1) << 31);
            l->total = draw(9) ? near + draw(2) * draw_size(1 << 20) : INT64_MAX;
            tra_finder f = {.total = draw(3) ? near : tra_min64(l->total, draw_size(INT64_C(1) << 31))};
            char *none = NULL;
            tra_finder_choose(l, false, rows, &f);
            int64_t taken = tra_finder_place(l, &f, rows, none) - none + s.nkeys * (int64_t)sizeof(tra_key_range);
            if (taken <= tra_finder_bytes(l, most)) continue;
            CHECK_INT(tra_finder_bytes(l, most), taken);
            i = 300000;
        }
    }
    tra_arena_free(arena);
}
