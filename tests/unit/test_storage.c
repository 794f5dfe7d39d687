/* Storages: each of the library gives back the tensor that was put into its components; declarations, checks, errors.
 */
#include "storage_util.h"

/* ---- backwards ------------------------------------------------------------------------------------------------ */

typedef bool held_fn(int64_t i, int64_t j, int64_t m, int64_t w);
static bool all(int64_t i, int64_t j, int64_t m, int64_t w) { return (void)i, (void)j, (void)m, (void)w, true; }
static bool is_lower(int64_t i, int64_t j, int64_t m, int64_t w) { return (void)m, (void)w, j <= i; }
static bool is_upper(int64_t i, int64_t j, int64_t m, int64_t w) { return (void)m, (void)w, j >= i; }
static bool is_diagonal(int64_t i, int64_t j, int64_t m, int64_t w) { return (void)m, (void)w, i == j; }
static bool is_band(int64_t i, int64_t j, int64_t m, int64_t w) { return (void)m, i - j <= w && j - i <= w; }

typedef int64_t place_fn(int64_t i, int64_t j, int64_t m, int64_t n);
static int64_t row_major(int64_t i, int64_t j, int64_t m, int64_t n) { return (void)m, i * n + j; }
static int64_t column_major(int64_t i, int64_t j, int64_t m, int64_t n) { return (void)n, j * m + i; }
static int64_t triangle(int64_t i, int64_t j, int64_t m, int64_t n) { return (void)m, (void)n, i * (i + 1) / 2 + j; }
static int64_t either(int64_t i, int64_t j, int64_t m, int64_t n) {
    return i >= j ? triangle(i, j, m, n) : triangle(j, i, m, n);
}
static int64_t morton(int64_t i, int64_t j, int64_t m, int64_t n) {
    int64_t at = 0;
    (void)m, (void)n;
    for (int b = 0; b < 8; b++) at |= (i >> b & 1) << 2 * b | (j >> b & 1) << (2 * b + 1);
    return at;
}

/* Where the coordinate `at` is held; NULL: by none. */
static const tra_storage_place *place_of(const tra_storage_places *p, int64_t at) {
    for (int64_t i = 0; i < p->n; i++)
        if (p->v[i].at == at) return &p->v[i];
    return NULL;
}

/* Puts a tensor where the trace says, and gets it back by the mapping. place: where a block at the origin holds it. */
static void check_backwards(const char *name, int nargs, int64_t w, held_fn *held, place_fn *place, bool square) {
    static const int64_t extents[] = {0, 1, 2, 3, 5, 8, 13};
    static const int64_t origins[][2] = {{0, 0}, {3, 0}, {0, 4}, {8, 8}, {2, 3}, {40, 1}};
    enum { NE = sizeof extents / sizeof *extents, NO = sizeof origins / sizeof *origins };
    tra_arena *a = tra_arena_new();
    const tra_storage *s = find(a, name, 2, nargs, &w);
    unsigned seed = 1;
    for (int k = 0; s && k < NE * NE * NO; k++) {
        int64_t extent[2] = {extents[k % NE], extents[k / NE % NE]};
        const int64_t *o = origins[k / NE / NE];
        if ((square && extent[0] != extent[1]) || (!s->at_origin && (o[0] || o[1]))) continue;
        tensor t = new_tensor(2, extent, 100, &seed);
        tra_component_data data[1] = {0};
        tra_storage_block b = {extent, o, data};
        tra_storage_places p;
        tra_err e = {0};
        if (tra_storage_trace(s, &b, 0, &p, &e) != TRA_OK) {
            check_report("%s: %s", name, e.msg);
            continue;
        }
        double *v = tra_calloc((size_t)data[0].value.n + 1, sizeof *v);
        int64_t kept = 0;
        for (int64_t i = 0; i < extent[0]; i++)
            for (int64_t j = 0; j < extent[1]; j++) {
                int64_t at = i * extent[1] + j;
                const tra_storage_place *q = place_of(&p, at);
                t.entry[at] = held(o[0] + i, o[1] + j, extent[0], w);
                CHECK_INT(q != NULL, t.entry[at]);
                if (!q) continue;
                CHECK(q->component == 0 && q->element >= 0 && q->element < data[0].value.n);
                if (place && o[0] == 0 && o[1] == 0 && (place != triangle || extent[0] <= extent[1]))
                    CHECK_INT(q->element, place(i, j, extent[0], extent[1]));
                if (v[q->element] != 0) t.v[at] = v[q->element]; /* the other triangle */
                kept += v[q->element] == 0;
                v[q->element] = t.v[at];
            }
        CHECK(kept == p.n || square);
        tra_storage_places_free(&p);
        data[0].value = (tra_elements){TRA_ELEMENT_F64, data[0].value.n, v};
        check_gives(__LINE__, s, &b, &t);
        free(v);
    }
    tra_arena_free(a);
}

TEST(storages_whose_places_follow_from_coordinates) {
    check_backwards("dense", 0, 0, all, row_major, false);
    check_backwards("colmajor", 0, 0, all, column_major, false);
    check_backwards("lower", 0, 0, is_lower, triangle, false);
    check_backwards("upper", 0, 0, is_upper, NULL, false);
    check_backwards("diagonal", 0, 0, is_diagonal, NULL, false);
    check_backwards("band", 1, 0, is_band, NULL, false);
    check_backwards("band", 1, 1, is_band, NULL, false);
    check_backwards("band", 1, 4, is_band, NULL, false);
    check_backwards("symmetric", 0, 0, all, either, true);
    check_backwards("zorder", 0, 0, all, morton, false);
}

/* Triangles and diagonals have no more elements than they hold. */
TEST(triangles_are_compact) {
    static const char *const names[] = {"lower", "upper", "diagonal"};
    tra_arena *a = tra_arena_new();
    for (int k = 0; k < 3; k++) {
        const tra_storage *s = find(a, names[k], 2, 0, NULL);
        for (int64_t r = 0; s && r < 12; r++)
            for (int64_t m = 0; m < 6; m++) {
                int64_t extent[2] = {m, 5}, origin[2] = {r, 5};
                tra_component_data data[1] = {0};
                tra_storage_block b = {extent, origin, data};
                tra_storage_places p;
                tra_err e = {0};
                CHECK_INT(tra_storage_trace(s, &b, 0, &p, &e), TRA_OK);
                CHECK_INT(p.n, data[0].value.n);
                tra_storage_places_free(&p);
            }
    }
    tra_arena_free(a);
}

/* ---- the rest of the library --------------------------------------------------------------------------------------
 */

TEST(ell_and_bsr_and_tries) {
    tra_arena *a = tra_arena_new();
    int64_t two[2] = {2, 3}, extent[2] = {3, 4};
    tensor t = {.rank = 2, .extent = {3, 4}, .n = 12};
    t.entry[1] = t.entry[3] = t.entry[8] = true;
    t.v[1] = 5, t.v[3] = 6, t.v[8] = 7;
    const tra_storage *s = find(a, "ell", 2, 0, NULL);
    tra_storage_block b = {extent, NULL, NULL};
    b.component = (tra_component_data[]){{{TRA_ELEMENT_I64, 1, (int64_t[]){2}}, {{0}}},
                                         {{TRA_ELEMENT_I32, 6, (int32_t[]){1, 3, -1, -1, 0, -1}}, {{0}}},
                                         {{TRA_ELEMENT_F32, 6, (float[]){5, 6, 0, 0, 7, 0}}, {{0}}}};
    check_gives(__LINE__, s, &b, &t);
    s = find(a, "trie", 2, 0, NULL);
    b.component = (tra_component_data[]){
        {{TRA_ELEMENT_F64, 3, (double[]){5, 6, 7}},
         {{TRA_ELEMENT_U8, 3, (uint8_t[]){0, 0, 2}}, {TRA_ELEMENT_U32, 3, (uint32_t[]){1, 3, 0}}}}};
    check_gives(__LINE__, s, &b, &t);
    /* bsr(2, 3): blocks (0, 0), (0, 1), (1, 0), of which the last row and two columns reach out */
    s = find(a, "bsr", 2, 2, two);
    double v[18] = {0, 5, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 7};
    int64_t block0[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (int i = 0; i < 11; i++) t.entry[block0[i]] = true;
    t.entry[11] = false;
    b.component = (tra_component_data[]){{{TRA_ELEMENT_I64, 3, (int64_t[]){0, 2, 3}}, {{0}}},
                                         {{TRA_ELEMENT_U16, 3, (uint16_t[]){0, 1, 0}}, {{0}}},
                                         {{TRA_ELEMENT_F64, 18, v}, {{0}}}};
    check_gives(__LINE__, s, &b, &t);
    /* with its block columns given, bsr says where each element goes */
    b.component[2] = (tra_component_data){0};
    tra_storage_places p;
    tra_err e = {0};
    CHECK_INT(tra_storage_trace(s, &b, 0, &p, &e), TRA_OK);
    CHECK_INT(p.n, 11);
    const tra_storage_place *q = place_of(&p, 3);
    CHECK(q && q->component == 2 && q->element == 6 && !place_of(&p, 11));
    tra_storage_places_free(&p);
    CHECK(find(a, "trie", 1, 0, NULL) && find(a, "trie", 3, 0, NULL) && find(a, "trie", 4, 0, NULL));
    tra_arena_free(a);
}

/* The text of a storage, and its components and mapping as text, mean the same. */
TEST(texts_read_back) {
    static const struct {
        const char *name;
        int rank, nargs;
        int64_t args[3];
    } all_of[] = {{"dense", 3, 0, {0}},  {"csr", 2, 0, {0}},   {"csf", 3, 3, {2, 1, 0}}, {"dok", 2, 0, {0}},
                  {"trie", 3, 0, {0}},   {"band", 2, 1, {2}},  {"lower", 2, 0, {0}},     {"zorder", 2, 0, {0}},
                  {"bsr", 2, 2, {4, 2}}, {"dense", 0, 0, {0}}, {"coo", 3, 0, {0}},       {"band", 2, 1, {-1}}};
    tra_arena *a = tra_arena_new();
    for (size_t i = 0; i < sizeof all_of / sizeof all_of[0]; i++) {
        const tra_storage *s = find(a, all_of[i].name, all_of[i].rank, all_of[i].nargs, all_of[i].args);
        tra_err e = {0};
        if (!s) continue;
        tra_str first = {0}, second = {0}, third = {0};
        tra_storage_print(s, &first);
        const tra_storage *again = made(a, s->text, s->rank, 0, NULL, &e);
        const tra_storage *full = made(a, first.s, s->rank, 0, NULL, &e);
        CHECK(again && full);
        if (again && full) {
            CHECK_STR(again->text, s->text);
            tra_storage_print(again, &second);
            tra_storage_print(full, &third);
            CHECK_STR(second.s, first.s);
            CHECK_STR(third.s, first.s);
            CHECK_INT(again->by_levels && s->rank, s->by_levels && s->rank);
        }
        tra_str_free(&first);
        tra_str_free(&second);
        tra_str_free(&third);
    }
    tra_arena_free(a);
}

TEST(whole_library_parses) {
    tra_arena *a = tra_arena_new();
    int n = 0;
    for (const char *const *name = tra_storage_names(); *name; name++, n++) {
        tra_storage *s;
        tra_err e = {0};
        int64_t two[2] = {1, 2};
        int nargs = strcmp(*name, "bsr") == 0 ? 2 : strcmp(*name, "band") == 0;
        CHECK_INT(tra_storage_find(*name, 2, nargs, two, false, a, &s, &e), TRA_OK);
        CHECK_INT(tra_storage_find(*name, 2, nargs, two, true, a, &s, &e), TRA_OK);
        CHECK(s && s->whole && !s->mapping->type.real);
    }
    CHECK_INT(n, 18);
    tra_arena_free(a);
}

/* ---- what is dense by type, and what is wrong ------------------------------------------------------------------- */

static bool total(tra_arena *a, const char *name, int nargs, int64_t arg, int64_t m, int64_t n, int64_t row) {
    int64_t extent[2] = {m, n}, origin[2] = {row, 0};
    return tra_storage_is_total(find(a, name, 2, nargs, &arg), &(tra_storage_block){extent, origin, NULL});
}

TEST(which_storages_have_every_coordinate) {
    tra_arena *a = tra_arena_new();
    CHECK(total(a, "dense", 0, 0, 1 << 20, 1 << 20, 0));
    CHECK(total(a, "colmajor", 0, 0, 3, 4, 0));
    CHECK(!total(a, "csr", 0, 0, 3, 4, 0));
    CHECK(total(a, "zorder", 0, 0, 3, 4, 0));
    CHECK(total(a, "symmetric", 0, 0, 4, 4, 0));
    CHECK(!total(a, "zorder", 0, 0, 1 << 10, 1 << 10, 0)); /* too large to try */
    CHECK(!total(a, "lower", 0, 0, 3, 4, 0));
    CHECK(total(a, "lower", 0, 0, 3, 4, 9)); /* a block below the diagonal */
    CHECK(!total(a, "band", 1, 1, 3, 3, 0) && total(a, "band", 1, 2, 3, 3, 0));
    CHECK(!total(a, "ell", 0, 0, 3, 4, 0));
    CHECK(tra_storage_is_dense(find(a, "dense", 2, 0, NULL)) && !tra_storage_is_dense(find(a, "colmajor", 2, 0, NULL)));
    CHECK(tra_storage_is_dense(find(a, "colmajor", 1, 0, NULL)));
    tra_arena_free(a);
}

#define FAILS(status, want)                                                                                            \
    do {                                                                                                               \
        CHECK((status) != TRA_OK);                                                                                     \
        CHECK_STR(e.msg, want);                                                                                        \
        e = (tra_err){0};                                                                                              \
    } while (0)

TEST(errors_of_blocks) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_storage_places p;
    int64_t extent[2] = {2, 2};
    int64_t pointers[] = {0, 1, 3}, indices[] = {0, 1, 5};
    double v[] = {1, 2, 3};
    tra_component_data data[4] = {{{TRA_ELEMENT_I64, 3, pointers}, {{0}}},
                                  {{TRA_ELEMENT_I64, 3, indices}, {{0}}},
                                  {{TRA_ELEMENT_F64, 3, v}, {{0}}}};
    tra_storage_block b = {extent, NULL, data};
    const tra_storage *csr = find(a, "csr", 2, 0, NULL);
    static given g;
    tensor t = {.rank = 2, .extent = {2, 2}, .n = 4};
    g.t = &t;
    FAILS(tra_storage_run(csr, &b, 0, take, &g, &e),
          "storage csr gives key (1, 5), which is outside of a block of 2 x 2");
    memset(&g.is, 0, sizeof g.is);
    indices[2] = 1;
    FAILS(tra_storage_run(csr, &b, 0, take, &g, &e),
          "key (1, 1) twice under @unique in {@unique (i0, i1) -> values(p1)}");
    memset(&g.is, 0, sizeof g.is);
    FAILS(tra_storage_run(csr, &b, 10, take, &g, &e), "more steps than were allowed in pointers_to_1(i0 + 1)");
    data[1].value.n = 2;
    FAILS(tra_component_check(csr, &b, "a.h5", &e), "a.h5: component indices_1 has 2 elements, not 3");
    pointers[2] = -1;
    FAILS(tra_component_check(csr, &b, "a.h5", &e), "component indices_1 of storage csr would have -1 elements");
    data[0].value = (tra_elements){TRA_ELEMENT_F64, 3, v};
    FAILS(tra_component_check(csr, &b, "a.h5", &e),
          "a.h5: component pointers_to_1 has floats where integers are wanted");
    const tra_storage *dok = find(a, "dok", 2, 0, NULL);
    data[0] = (tra_component_data){{TRA_ELEMENT_F64, 3, v},
                                   {{TRA_ELEMENT_I64, 3, (int64_t[]){0, 0, 1}}, {TRA_ELEMENT_I64, 3, indices}}};
    indices[0] = 1, indices[1] = 1, indices[2] = 0;
    FAILS(tra_component_check(dok, &b, "a.h5", &e),
          "a.h5: component values: the keys of entry 1 do not follow those before");
    indices[0] = 2;
    FAILS(tra_component_check(dok, &b, "a.h5", &e), "a.h5: component values: key 1 of entry 0 is 2, not one of 0 to 1");
    memset(data, 0, sizeof data);
    FAILS(tra_storage_trace(dok, &b, 0, &p, &e),
          "storage dok: which keys component values has does not follow from extents alone");
    FAILS(tra_storage_trace(csr, &b, 0, &p, &e),
          "contents of a component that are not known are needed in pointers_to_1(n0)");
    memset(data, 0, sizeof data);
    const char *text = "storage s[n] {\n real array v(n)\n sum(<i, a> in v) {i -> 2*a}\n}";
    FAILS(tra_storage_trace(made(a, text, 1, 0, NULL, &e), &b, 0, &p, &e),
          "contents of a component that are not known are needed in a");
    text = "storage s[n] {\n real array v(n)\n {0 -> v(0)} + {0 -> v(1)}\n}";
    FAILS(tra_storage_trace(made(a, text, 1, 0, NULL, &e), &b, 0, &p, &e),
          "storage s adds up several elements in one coordinate, so it cannot be filled");
    text = "storage s[n] {\n real array v(n)\n {0 -> 1.0}\n}";
    FAILS(tra_storage_trace(made(a, text, 1, 0, NULL, &e), &b, 0, &p, &e),
          "storage s computes values that no component holds, so it cannot be filled");
    extent[1] = 3;
    FAILS(tra_storage_trace(find(a, "symmetric", 2, 0, NULL), &b, 0, &p, &e),
          "storage symmetric is for blocks of equal extents, not 2 and 3");
    tra_arena_free(a);
}

TEST(errors_of_making) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_storage *s;
    int64_t args[3] = {1, 1, 0};
    FAILS(tra_storage_find("csr", 3, 0, NULL, false, a, &s, &e), "storage csr is for 2 dimensions, not 3");
    FAILS(tra_storage_find("coo", 0, 0, NULL, false, a, &s, &e), "storage coo is for at least 1 dimension, not 0");
    FAILS(tra_storage_find("band", 2, 0, NULL, false, a, &s, &e), "storage band has 1 argument, not 0");
    FAILS(tra_storage_find("csf", 3, 3, args, false, a, &s, &e),
          "storage csf: an order names each of the dimensions 0 to 2 once");
    FAILS(tra_storage_find("csf", 3, 2, args, false, a, &s, &e),
          "storage csf: an order of 2 dimensions for a tensor of 3");
    CHECK_INT(tra_storage_find("nothing", 3, 2, args, false, a, &s, &e), TRA_OK);
    CHECK(s == NULL);
    CHECK(made(a, "storage s[a, b](k) = levels(dense, sparse) order [k, 1 - k]", 2, 1, args, &e) != NULL);
    tra_calc_error err;
    int end;
    const char *text = "storage s[n] { real array v(n); sum(<i, a> in v) {i -> a*0.5} }";
    const tra_storage_decl *d = tra_storage_parse(text, (int)strlen(text), 0, a, &end, &err);
    CHECK(d && tra_storage_make(d, 1, 0, NULL, false, a, &s, &e) == TRA_OK);
    FAILS(tra_storage_make(d, 1, 0, NULL, true, a, &s, &e),
          "storage s: the tensor has integers, but the mapping gives reals");
    tra_arena_free(a);
}

static void check_declaration(int line, const char *text, const char *want) {
    tra_arena *a = tra_arena_new();
    tra_calc_error err;
    int end;
    char got[700] = "";
    if (!tra_storage_parse(text, (int)strlen(text), 0, a, &end, &err))
        snprintf(got, sizeof got, "%d+%d: %s", err.at, err.len, err.msg);
    if (strcmp(got, want) != 0) check_report("line %d: %s\n#   %s, not\n#   %s", line, text, got, want);
    tra_arena_free(a);
}
#define DECLARED(text, want) check_declaration(__LINE__, text, want)

TEST(errors_of_declarations) {
    DECLARED("storage a[m] = levels(dense)", "");
    DECLARED("storage a[m, ...](o...) = levels(sparse) order o", "");
    DECLARED("storage a[m] = levels()", "22+1: a level expected, not ')'");
    DECLARED("storage a[m] = levels(dense, sparse)", "15+21: 2 levels for 1 dimension");
    DECLARED("storage a[m] = levels(singleton)",
             "22+9: a singleton level follows a sparse one: it has one coordinate for each of its");
    DECLARED("storage a[m, ...] { {0 -> 1} }", "8+1: only a storage by levels has any number of dimensions or params");
    DECLARED("storage a[m](p) = levels(dense) order p", "38+1: 'p' is no list of dimensions");
    DECLARED("storage a[m] at [r, c] { {0 -> 1} }", "13+2: an origin of 2 coordinates for 1 dimension");
    DECLARED("storage a[m] { real array v(m) }", "31+1: the mapping expected, not '}'");
    DECLARED("storage a[m] { real array v(m) v }", "31+1: the end of the line expected, not 'v'");
    DECLARED("storage a[m] { real array v\n v }", "29+1: the size in parentheses expected, not 'v'");
    DECLARED("storage a[m] { real trie v(m, m); v }", "26+1: one size in each pair of parentheses");
    DECLARED("storage a[m] { real array m(m); m }", "26+1: the name 'm' stands twice");
    DECLARED("storage a[m](m) { real array v(m); v }", "8+1: the name 'm' stands twice");
    DECLARED("storage a[m] { real array v(w); int scalar w; v }", "28+1: there is no 'w' here");
    DECLARED("storage a[m] { real array v(0.5); v }", "28+3: the size of a component is an integer");
    DECLARED("storage a[m, n] { real array v(m); v }", "35+1: the mapping has 1 key for 2 dimensions");
    DECLARED("storage a[m] { real array v(m); v", "33+0: '}' expected, but the text ends here");
    DECLARED("storage [m] = levels(dense)", "8+1: the name of a storage expected, not '['");
}
