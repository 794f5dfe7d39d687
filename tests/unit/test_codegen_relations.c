/* Compiled plans over relations: what the interpreter gives, one contribution after the other, however arrays are held.
 */
#include "codegen_util.h"

#include <unistd.h>

enum { MOST_ELEMENTS = 256, MOST_GIVEN = 4096 };

/* An array of a relation, densely, and as it is held. */
typedef struct held {
    int rank;
    int64_t extent[3];
    double v[MOST_ELEMENTS];
    int64_t bits[MOST_ELEMENTS], row[MOST_ELEMENTS], begin[MOST_ELEMENTS + 1];
    uint32_t column[MOST_ELEMENTS];
    double value[MOST_ELEMENTS];
    tra_calc_operand functions;
    tra_codegen_operand operand;
} held;

static int64_t place(const held *h, const int64_t *at) {
    int64_t i = 0;
    for (int d = 0; d < h->rank; d++) i = i * h->extent[d] + at[d];
    return i;
}

static tra_status get(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    const held *h = ctx;
    (void)e;
    *v = tra_calc_real(0);
    for (int d = 0; d < h->rank; d++)
        if (at[d] < 0 || at[d] >= h->extent[d]) return TRA_OK;
    *v = tra_calc_real(h->v[place(h, at)]);
    return TRA_OK;
}

static bool next(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    const held *h = ctx;
    for (; *key < h->extent[n]; ++*key) {
        int64_t at[3] = {0}, each = 1;
        for (int d = 0; d < n; d++) at[d] = prefix[d];
        at[n] = *key;
        for (int d = n + 1; d < h->rank; d++) each *= h->extent[d];
        for (int64_t i = 0, from = place(h, at); i < each; i++)
            if (h->v[from + i] != 0) return true;
    }
    return false;
}

/* rows: entries of which some are 0; else dense. bits: as 64 bits each. */
static void fill(held *h, int rank, const int64_t *extent, bool sparse, bool rows, bool bits, operands *o) {
    int64_t n = 1;
    *h = (held){.rank = rank};
    for (int d = 0; d < rank; d++) n *= h->extent[d] = extent[d];
    int64_t width = rank ? extent[rank - 1] : 1, entries = 0, nrows = 0;
    for (int64_t r = 0; r < n / width; r++) {
        int64_t before = entries;
        bool none = draw(o, 4) == 0;
        for (int64_t j = 0; j < width; j++) {
            bool entry = !none && draw(o, 2), zero = draw(o, 5) == 0;
            double v = entry && !zero ? (double)draw(o, 1000) / 7 - 60 : 0;
            h->v[r * width + j] = v;
            memcpy(&h->bits[rows ? entries : r * width + j], &v, 8);
            if (!entry) continue;
            h->column[entries] = (uint32_t)j;
            h->value[entries++] = v;
        }
        if (entries == before) continue;
        h->row[nrows] = r;
        h->begin[nrows++] = before;
    }
    h->begin[nrows] = entries;
    h->functions = (tra_calc_operand){.ctx = h, .rank = rank, .real = true, .sparse = sparse, .get = get, .next = next};
    h->operand = (tra_codegen_operand){.value = bits   ? (const void *)h->bits
                                                : rows ? h->value
                                                       : h->v,
                                       .row = h->row,
                                       .begin = h->begin,
                                       .column = h->column,
                                       .nrows = nrows,
                                       .width = width};
    for (int d = 0; d < rank; d++) {
        h->functions.extent[d] = h->operand.extent[d] = h->operand.length[d] = extent[d];
        h->operand.stride[d] = 1;
        for (int i = d + 1; i < rank - 1; i++) h->operand.stride[d] *= extent[i];
    }
}

typedef struct given {
    int n, depth;
    tra_status status;
    struct {
        int64_t key[4];
        double v;
    } all[MOST_GIVEN];
} given;

static tra_status take(void *ctx, const tra_calc_entry *x, tra_err *e) {
    given *g = ctx;
    (void)e;
    CHECK(g->n < MOST_GIVEN);
    memset(&g->all[g->n], 0, sizeof g->all[0]);
    for (int d = 0; d < g->depth; d++) g->all[g->n].key[d] = x->key[d];
    g->all[g->n++].v = tra_calc_as_real(x->value);
    return TRA_OK;
}

static tra_codegen *compiling;

/* Relations A (m x n), v (n) and T (2 x 3 x 4) of sparse type, D (n x m) of dense type, s a number. */
static void same(int line, const char *text, bool rows, bool bits) {
    static const struct {
        const char *name;
        int rank;
        bool sparse;
        int64_t extent[3];
    } all[] = {{"A", 2, true, {5, 7}},
               {"v1", 1, true, {7}},
               {"T", 3, true, {2, 3, 4}},
               {"D", 2, false, {7, 5}},
               {"s0", 0, true, {0}}};
    static held h[5];
    static given a, b;
    operands o;
    make_operands(&o, (unsigned)line, false);
    tra_codegen_operand operand[32] = {{0}};
    tra_calc_name names[32];
    tra_codegen_name how[32] = {{0}};
    tra_calc_free scope[32] = {{0}};
    memcpy(names, o.names, sizeof o.names);
    memcpy(how, o.how, sizeof o.how);
    memcpy(scope, o.scope, sizeof o.scope);
    for (int i = 0; i < 5; i++) {
        bool as_rows = rows && all[i].sparse;
        fill(&h[i], all[i].rank, all[i].extent, all[i].sparse, as_rows, bits, &o);
        names[o.n + i] =
            (tra_calc_name){.name = all[i].name, .type = {true, all[i].sparse, all[i].rank}, .relation = true};
        how[o.n + i] = (tra_codegen_name){.relation = true, .rows = as_rows, .bits = bits, .value = TRA_ELEMENT_F64};
        scope[o.n + i].operand = &h[i].functions;
        operand[o.n + i] = h[i].operand;
    }
    int n = o.n + 5;
    tra_calc_error err;
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), o.arena, &err);
    if (!x || !tra_calc_check(x, n, names, o.arena, &err)) {
        check_report("%s: %s", text, err.msg);
        return;
    }
    tra_codegen_spec s = {.name = "Z",
                          .plan = x,
                          .n = n,
                          .scope = names,
                          .how = how,
                          .result = TRA_CODEGEN_CALLS,
                          .type = TRA_ELEMENT_F64,
                          .wide = true};
    const tra_codegen_kernel *k;
    tra_err e = {0};
    a.n = b.n = 0;
    a.depth = b.depth = x->type.depth;
    CHECK_INT(tra_codegen_make(compiling, &s, true, &k, &e), TRA_OK);
    if (e.status) check_report("%s", e.msg);
    CHECK(tra_codegen_compiled(k));
    CHECK_INT(tra_codegen_run(k, &(tra_codegen_call){.scope = scope, .operand = operand, .sink = take, .ctx = &a}, &e),
              TRA_OK);
    CHECK_INT(tra_calc_run(x, n, scope, INT64_MAX, take, &b, &e), TRA_OK);
    bool equal = a.n == b.n;
    for (int i = 0; equal && i < a.n; i++)
        equal = memcmp(a.all[i].key, b.all[i].key, sizeof a.all[i].key) == 0 &&
                (a.all[i].v == b.all[i].v || (isnan(a.all[i].v) && isnan(b.all[i].v)));
    if (!equal) {
        check_report("line %d, rows %d: %s: %d given, not %d", line, rows, text, a.n, b.n);
        tra_str source = {0};
        if (getenv("SHOW") && tra_codegen_source(&s, &source, &e) == TRA_OK) puts(tra_str_get(&source));
        tra_str_free(&source);
    }
    tra_arena_free(o.arena);
}
#define SAME(text)                                                                                                     \
    do {                                                                                                               \
        same(__LINE__, text, false, false);                                                                            \
        same(__LINE__, text, true, false);                                                                             \
        same(__LINE__, text, true, true);                                                                              \
    } while (0)

TEST(relations) {
    static char folder[256];
    snprintf(folder, sizeof folder, "%s/tra-relations-%ld", check_folder(), (long)getpid());
    setenv("TRA_CACHE", folder, 1);
    compiling = tra_codegen_open(TRA_CODEGEN_REQUIRE);
    SAME("sum(<i, row> in A, <j, a> in row) if (a > 0) {(i, j) -> a}");
    SAME("sum(<i, row> in A) {i -> 1.0}");
    SAME("sum(<i, row> in A) sum(<j, a> in row(1:4)) {(j, i) -> a*D(j, i)}");
    SAME("sum(<(i, j, l), t> in T) {(l, i) -> t*j}");
    SAME("sum(<i, m1> in T) {i -> sum(<j, r> in m1) 1.0}");
    SAME("sum(<j, x1> in v1) {j -> x1*A(2, j) + T(1, 2, j) + s0}");
    SAME("sum(<i, row> in D, <j, d1> in row) {i -> d1*v1(i)}");
    SAME("A*2.0 + A");
    SAME("let r = A(1) in r*v1 + A(9)");
    SAME("(if (k > 2) A(3))*c");
    SAME("sum(<i, _> in 0:extent(T, 1)) {i -> T(1)(i)(2) + T(1, i)(9) + T(5, i, 0)}");
    SAME("sum(<(i, i), a> in A) {i -> a}");
}
TEST(nothing_is_left) {
    tra_codegen_close(compiling);
    CHECK(tra_remove_files_of(getenv("TRA_CACHE")));
}
