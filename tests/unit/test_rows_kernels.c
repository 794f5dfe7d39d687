/* test_rows_kernels.c - joins of cells of every holding: contractions, element by element, aligned, and composed with
 * maps; against an evaluator by the rule of values. */
#include "rows_util.h"

/* ---- kernels to test ----------------------------------------------------------------------------------------- */

typedef struct subject {
    const tra_kernel *join, *then; /* then: a map element by element, or NULL */
    aligned labels;                /* labels NULL: element by element, broadcast */
} subject;

static const char *const strings[] = {
    "ij,jk->ik",  "ij,kj->ik",   "ji,jk->ik",  "ij,jk->ki", "ij,j->i",       "i,ij->j",   "i,i->",
    "ij,ij->",    "ij,ij->ij",   "ij,ij->i",   "ij,ji->ij", "ij,kl->ijkl",   "i,j->ij",   "ijk,kl->ijl",
    "ijl,jl->il", "ijk,jk->i",   "ii,ij->ij",  "ij,jj->i",  "ij,ik->jk",     "ij,ij->ji", "ij,k->ki",
    ",ij->ij",    "ij,->ji",     "ij,k->ij",   "ijk,->k",   "ijk,ljm->ilkm", "i,ijk->kj", "ij,jkl->ikl",
    "ijk,ik->jk", "ii,ii->i",    "ij,i->ij",   "ij,jk->",   "i,jk->k",       "ij,j->ij",  ",->",
    "ij,kl->ik",  "ijk,klij->l", "kj,ijk->ki", "iij,j->i",  "iij,iik->kj",   "iji,ij->j", "ij,k->i",
};
enum { NSTRINGS = sizeof strings / sizeof *strings };

static const tra_scalar *expression(int i) {
    switch (i) {
    case 0: return OP(MUL, ARG0, ARG1);
    case 1: return OP(ADD, ARG0, ARG1);
    case 2: return OP(SUB, OP(MUL, ARG0, ARG1), OP(MUL, num(2), ARG0));
    case 3: return OP(MAX, ARG0, ARG1);
    case 4: return OP(MUL, OP(MUL, num(2), ARG0), ARG1);
    case 5: return OP(DIV, ARG0, ARG1);
    case 6: return OP(MUL, OP(GT, ARG0, num(0)), ARG1);
    case 7: return OP(MUL, ARG0, OP(DIV, num(1), ARG1));
    case 8: return OP(ABS, OP(SUB, ARG0, ARG1), NULL);
    case 9: return OP(ADD, OP(MUL, ARG0, ARG1), num(1));
    case 10: return OP(LT, ARG0, ARG1);
    case 11: return OP(MUL, ARG1, OP(EXP, ARG0, NULL));
    case 12: return OP(SUB, ARG0, ARG1);
    case 13: return OP(MUL, ARG0, ARG0);
    case 14: return OP(RELU, OP(MUL, ARG0, OP(SUB, ARG1, num(1))), NULL);
    default: return OP(MIN, OP(MUL, ARG0, ARG1), num(0));
    }
}
enum { EXPRESSIONS = 16 };

static const tra_kernel *some_map(void) {
    const tra_kernel *k = NULL;
    static const char *const names[] = {"relu", "square", "neg", "abs", "exp"};
    CHECK(tra_kernel_named(arena, names[check_draw(5)], TRA_USE_MAP, 0, NULL, &k, NULL) == TRA_OK);
    return k;
}

static subject some_subject(void) {
    static const char *const names[] = {"matadd",  "elemmul",   "elemmax",   "elemmin",   "matsub",
                                        "elemdiv", "matvecadd", "matvecsub", "matvecmul", "matvecdiv"};
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_ADD, TRA_S_MUL, TRA_S_MAX, TRA_S_MIN};
    subject s = {.labels = {.expr = OP(MUL, ARG0, ARG1), .fold = TRA_S_ADD}};
    switch (check_draw(5)) {
    case 0:
        CHECK(tra_kernel_named(arena, names[check_draw(10)], TRA_USE_JOIN, 0, NULL, &s.join, NULL) == TRA_OK);
        s.labels.expr = s.join->expr;
        break;
    case 1:
        s.labels.expr = expression((int)check_draw(EXPRESSIONS));
        s.join = tra_kernel_lambda(arena, s.labels.expr, 2, xy);
        break;
    case 2:
        s.labels =
            (aligned){strings[check_draw(NSTRINGS)], expression((int)check_draw(EXPRESSIONS)), folds[check_draw(5)]};
        CHECK(tra_kernel_aligned(arena, s.labels.labels, s.labels.expr, s.labels.fold, xy, &s.join, NULL) == TRA_OK);
        break;
    case 3:
        s.labels.labels = "ij,kl->ijkl";
        CHECK(tra_kernel_named(arena, "outer", TRA_USE_JOIN, 0, NULL, &s.join, NULL) == TRA_OK);
        if (chance(20)) break;
        s.labels.labels = "ij,jk->ik";
        CHECK(tra_kernel_named(arena, "matmul", TRA_USE_JOIN, 0, NULL, &s.join, NULL) == TRA_OK);
        if (chance(30)) break; /* fall through */
    default:
        s.labels.labels = strings[check_draw(NSTRINGS)];
        CHECK(tra_kernel_einsum(arena, s.labels.labels, &s.join, NULL) == TRA_OK);
    }
    if (chance(20)) s.then = some_map();
    return s;
}

/* ---- operands ------------------------------------------------------------------------------------------------ */

static int64_t some_extent(int rank) {
    static const int64_t small[] = {0, 1, 1, 2, 3, 5, 7, 13}, large[] = {101, 600, 1100};
    return rank < 3 && chance(4) ? large[check_draw(3)] : small[rank > 3 ? 1 + check_draw(4) : check_draw(8)];
}

static void some_extents(const subject *s, tra_dims *a, tra_dims *b) {
    *a = *b = (tra_dims){.n = 0};
    if (!s->labels.labels) {
        a->n = (int)check_draw(4);
        for (int d = 0; d < a->n; d++) a->v[d] = some_extent(a->n);
        *b = *a;
        if (!s->join->stretch) return;
        tra_dims *less = chance(50) ? a : b;
        int drop = (int)check_draw(less->n + 1);
        memmove(less->v, less->v + drop, (size_t)(less->n - drop) * sizeof *less->v);
        less->n -= drop;
        for (int d = 0; d < less->n; d++)
            if (chance(25)) less->v[d] = 1;
        return;
    }
    int64_t extent[128];
    const char *c = s->labels.labels;
    int most = (int)strlen(c) > 9 ? 4 : 2;
    for (int i = 'i'; i <= 'm'; i++) extent[i] = some_extent(most);
    for (; *c != ','; c++) a->v[a->n++] = extent[(int)*c];
    for (c++; *c != '-'; c++) b->v[b->n++] = extent[(int)*c];
}

/* Element by element, operands counted from their last dimensions. */
static void rule_elements(const tra_scalar *expr, const plain *a, const plain *b, plain *out) {
    const plain *in[2] = {a, b};
    bool flags[2] = {a->sparse, b->sparse};
    for (int64_t i = 0; i < out->n; i++) {
        double args[2];
        for (int o = 0; o < 2; o++) {
            int64_t at = 0, rest = i, times = 1;
            for (int d = 1; d <= in[o]->ext.n; d++) {
                int64_t n = in[o]->ext.v[in[o]->ext.n - d], c = rest % out->ext.v[out->ext.n - d];
                at += (n == 1 ? 0 : c) * times;
                times *= n;
                rest /= out->ext.v[out->ext.n - d];
            }
            args[o] = in[o]->v[at];
        }
        out->v[i] = rule_value(expr, args, flags);
    }
}

static bool rule_type(const subject *s, bool a, bool b) {
    bool sparse = rule_sparse(s->labels.expr, (const bool[2]){a, b});
    return s->then ? rule_sparse(s->then->expr, &sparse) : sparse;
}

static plain expected(const subject *s, const plain *a, const plain *b, const tra_dims *ext) {
    const tra_kernel *first = s->join;
    plain out = plain_new(tra_kernel_dtype(first, TRA_USE_JOIN, a->type, b->type), ext, false);
    if (s->labels.labels)
        rule_aligned(&s->labels, (const plain *const[]){a, b}, &out);
    else
        rule_elements(s->labels.expr, a, b, &out);
    if (!s->then) return out;
    bool sparse = rule_sparse(s->labels.expr, (const bool[2]){a->sparse, b->sparse});
    out.type = tra_kernel_dtype(s->then, TRA_USE_MAP, out.type, out.type);
    for (int64_t i = 0; i < out.n; i++) out.v[i] = rule_value(s->then->expr, &out.v[i], &sparse);
    return out;
}

/* ---- runs ---------------------------------------------------------------------------------------------------- */

static void say(const subject *s, const plain *a, const plain *b, int how) {
    char ta[TRA_DIMTEXT], tb[TRA_DIMTEXT];
    tra_str text = {0};
    tra_kernel_print(s->then ? tra_kernel_then(arena, s->join, s->then) : s->join, &text);
    check_report("%s on %s %s%s %s and %s %s%s %s into %s", tra_str_get(&text), tra_dtype_name(a->type),
                 a->sparse ? "sparse" : "dense", how & 1 ? " rows" : "", tra_shape_text(&a->ext, ta),
                 tra_dtype_name(b->type), b->sparse ? "sparse" : "dense", how & 2 ? " rows" : "",
                 tra_shape_text(&b->ext, tb), how & 4 ? "rows" : "dense");
    tra_str_free(&text);
}

/* how: bits of what is held as rows: a, b, the result. */
static bool join_is_right(const tra_kernel *k, const plain *a, const plain *b, const plain *want, int how) {
    tra_cell ca = cell_of(a, how & 1, chance(30)), cb = cell_of(b, how & 2, chance(30));
    tra_cell out = {.layout = how & 4 ? &tra_rows : NULL, .array = {want->type, want->ext, NULL}};
    tra_type ta = type_of(a, how & 1), tb = type_of(b, how & 2);
    int64_t n = tra_cell_scratch(k, TRA_USE_JOIN, &ta, &a->ext, &tb, &b->ext, out.layout);
    void *scratch = guarded(n);
    giver room;
    give_to(&out, &room);
    do {
        memset(scratch, 0xA5, (size_t)n);
        tra_cell_join(k, &ca, &cb, &out, scratch);
    } while (!is_made(&out));
    bool right = made_is(&out, want);
    if (out.layout) CHECK(tra_cell_bytes(&out) <= room.bytes);
    guard_ends(room.block, room.bytes);
    guard_ends(scratch, n);
    cell_free(&ca);
    cell_free(&cb);
    return right;
}

static bool test_join(void) {
    subject s = some_subject();
    tra_dims ea, eb, ext;
    some_extents(&s, &ea, &eb);
    bool wild = chance(30), right = true;
    plain a = plain_random(some_type(), &ea, chance(70), wild), b = plain_random(some_type(), &eb, chance(60), wild);
    if (tra_kernel_shape2(s.join, &ea, &eb, &ea, &eb, &ext, NULL, NULL) == TRA_OK) {
        const tra_kernel *k = s.then ? tra_kernel_then(arena, s.join, s.then) : s.join;
        plain want = expected(&s, &a, &b, &ext);
        bool sparse = tra_kernel_sparse(k, TRA_USE_JOIN, a.sparse, b.sparse);
        if (sparse != rule_type(&s, a.sparse, b.sparse)) say(&s, &a, &b, 8), right = false;
        for (int how = 0; how < 8 && right; how++) {
            if (((how & 1) && !a.sparse) || ((how & 2) && !b.sparse) || ((how & 4) && !sparse && chance(80))) continue;
            right = join_is_right(k, &a, &b, &want, how);
            if (!right) say(&s, &a, &b, how);
        }
        free(want.v);
    }
    free(a.v);
    free(b.v);
    return right;
}

/* So many tries, and a third where the loops of another processor are tried (TRA_SIMD). */
static int rounds(int n) { return getenv("TRA_SIMD") ? n / 3 : n; }

TEST(joins_follow_the_rule_of_values) {
    for (int i = 0; i < rounds(6000); i++) {
        arena = tra_arena_new();
        bool right = test_join();
        tra_arena_free(arena);
        if (!right) return;
    }
}

/* ---- contractions that are added up --------------------------------------------------------------------------- */

/* acc, of extents that are no less than the result's, becomes (first) or gets the product, tile by tile. */
static bool fma_is_right(const tra_kernel *k, const plain *a, const plain *b, const plain *want, plain *acc,
                         const tra_dims *room, int how, bool first) {
    tra_cell ca = cell_of(a, how & 1, chance(30)), cb = cell_of(b, how & 2, chance(30));
    tra_array sum = {want->type, *room, NULL};
    tra_type ta = type_of(a, how & 1), tb = type_of(b, how & 2);
    int64_t n = tra_cell_scratch(k, TRA_USE_JOIN, &ta, &a->ext, &tb, &b->ext, NULL), i = 0;
    int64_t bytes = (int64_t)tra_array_bytes(&sum);
    void *scratch = guarded(n);
    sum.data = guarded(bytes);
    tra_dims at = {.n = room->n};
    plain total = plain_new(want->type, room, false);
    for (i = 0; i < acc->n; i++) {
        put_number(sum.data, sum.dtype, i, first ? 77 : acc->v[i]);
        total.v[i] = first ? 0 : acc->v[i];
    }
    for (i = 0; i < want->n; i++) {
        tra_unlinear(&want->ext, i, &at);
        total.v[tra_linear(room, &at)] += want->v[i];
    }
    for (int t = tra_kernel_tiles(k, room); t-- > 0;) tra_cell_fma(k, &ca, &cb, &sum, t, first, scratch);
    tra_cell out = {.array = sum};
    bool right = made_is(&out, &total);
    guard_ends(sum.data, bytes);
    guard_ends(scratch, n);
    cell_free(&ca);
    cell_free(&cb);
    free(total.v);
    return right;
}

static bool test_fma(void) {
    subject s = {.labels = {strings[check_draw(NSTRINGS)], OP(MUL, ARG0, ARG1), TRA_S_ADD}};
    tra_dims ea, eb, ext;
    CHECK(tra_kernel_einsum(arena, s.labels.labels, &s.join, NULL) == TRA_OK);
    if (!(tra_kernel_props(s.join) & TRA_P_CONTRACTION)) return true;
    some_extents(&s, &ea, &eb);
    bool wild = chance(30), right = true;
    plain a = plain_random(some_type(), &ea, chance(70), wild), b = plain_random(some_type(), &eb, chance(60), wild);
    if (tra_kernel_shape2(s.join, &ea, &eb, &ea, &eb, &ext, NULL, NULL) == TRA_OK) {
        tra_dims room = ext;
        for (int d = 0; d < room.n; d++)
            if (chance(30)) room.v[d] += chance(20) ? 700 / tra_max64(1, room.n) : check_draw(3);
        plain want = expected(&s, &a, &b, &ext), acc = plain_random(want.type, &room, false, false);
        for (int how = 0; how < 4 && right; how++) {
            if (((how & 1) && !a.sparse) || ((how & 2) && !b.sparse)) continue;
            right = fma_is_right(s.join, &a, &b, &want, &acc, &room, how, chance(50));
            if (!right) say(&s, &a, &b, how + 16);
        }
        free(want.v);
        free(acc.v);
    }
    free(a.v);
    free(b.v);
    return right;
}

TEST(contractions_are_added_tile_by_tile) {
    for (int i = 0; i < rounds(3000); i++) {
        arena = tra_arena_new();
        bool right = test_fma();
        tra_arena_free(arena);
        if (!right) return;
    }
}

/* Rows, of any type beside any other, that are longer than what is converted at once, or many. */
TEST(long_rows_and_many_meet_numbers_of_another_type) {
    static const char *const labels[] = {"ij,j->i", "ij,i->j", "ij,ij->i", "ij,ij->j"};
    static const tra_dims box[] = {{2, {3, 5000}}, {2, {2500, 3}}, {2, {70, 90}}};
    for (int i = 0; i < 96; i++) {
        arena = tra_arena_new();
        subject s = {.labels = {labels[i % 4], OP(MUL, ARG0, ARG1), TRA_S_ADD}};
        CHECK(tra_kernel_einsum(arena, s.labels.labels, &s.join, NULL) == TRA_OK);
        const tra_dims *a = &box[i / 4 % 3];
        tra_dims b = i % 4 < 2 ? (tra_dims){1, {a->v[i % 4 == 0]}} : *a, ext;
        bool wild = chance(30);
        plain in[2] = {plain_random(some_type(), a, true, wild), plain_random(some_type(), &b, false, wild)};
        CHECK(tra_kernel_shape2(s.join, a, &b, a, &b, &ext, NULL, NULL) == TRA_OK);
        plain want = expected(&s, &in[0], &in[1], &ext), acc = plain_random(want.type, &ext, false, false);
        if (!fma_is_right(s.join, &in[0], &in[1], &want, &acc, &ext, 1, chance(50))) say(&s, &in[0], &in[1], 1);
        free(in[0].v);
        free(in[1].v);
        free(want.v);
        free(acc.v);
        tra_arena_free(arena);
    }
}

/* Parts of a result that have far more places than entries are added up in a table. */
TEST(large_parts_of_which_little_is_touched) {
    static const char *const labels[] = {"i,jk->ijk", "ij,jkl->ikl", "kl,ij->jkil"};
    static const tra_dims left[] = {{1, {3}}, {2, {4, 5}}, {2, {300, 400}}};
    static const tra_dims right[] = {{2, {300, 500}}, {3, {5, 300, 400}}, {2, {3, 2}}};
    for (int i = 0; i < 15; i++) {
        arena = tra_arena_new();
        subject s = {.labels = {labels[i % 3], OP(MUL, ARG0, ARG1), TRA_S_ADD}};
        CHECK(tra_kernel_einsum(arena, s.labels.labels, &s.join, NULL) == TRA_OK);
        plain in[2] = {plain_new(some_type(), &left[i % 3], true), plain_new(some_type(), &right[i % 3], true)};
        tra_dims ext;
        for (int o = 0; o < 2; o++)
            for (int n = 0; n < 200; n++)
                in[o].v[check_draw(in[o].n)] = 1 + (in[o].type != TRA_BOOL) * (double)check_draw(3);
        CHECK(tra_kernel_shape2(s.join, &in[0].ext, &in[1].ext, &in[0].ext, &in[1].ext, &ext, NULL, NULL) == TRA_OK);
        plain want = expected(&s, &in[0], &in[1], &ext);
        for (int how = 5; how < 8; how++)
            if (!join_is_right(s.join, &in[0], &in[1], &want, how)) say(&s, &in[0], &in[1], how);
        free(in[0].v);
        free(in[1].v);
        free(want.v);
        tra_arena_free(arena);
    }
}

/* ---- several products at once --------------------------------------------------------------------------------- */

/* A range of an array's dimension d, of rank 2. */
static plain range_of(const plain *p, int d, int64_t from, int64_t n) {
    tra_dims ext = p->ext;
    ext.v[d] = n;
    plain out = plain_new(p->type, &ext, true);
    for (int64_t i = 0; i < out.n; i++) {
        int64_t at[2] = {i / ext.v[1], i % ext.v[1]};
        at[d] += from;
        out.v[i] = p->v[at[0] * p->ext.v[1] + at[1]];
    }
    return out;
}

/* Adds n products to a state, which is given back. */
static tra_cell added(const tra_kernel *k, const tra_kernel *agg, const tra_cell *a, const tra_cell *b, int n,
                      tra_cell *state, const plain *want) {
    tra_cell out = {.layout = &tra_rows, .sparse = true, .array = {want->type, want->ext, NULL}};
    int64_t bytes = tra_cell_sum_room(k, agg, a, b, n, &out), scratch = 0;
    CHECK(bytes >= 0);
    const int64_t entries[2] = {10000, 10000};
    CHECK(tra_cell_sum_use(k, a, b, entries, n, &out, &scratch) >= 0);
    void *room = guarded(tra_max64(1, bytes)), *each = guarded(scratch);
    giver g;
    give_to(&out, &g);
    do tra_cell_sum(k, a, b, n, state, &out, false, room, each);
    while (!is_made(&out));
    for (int i = 0; i < GUARD; i++) CHECK(((unsigned char *)g.block)[g.bytes + i] == 0xA5);
    guard_ends(room, tra_max64(1, bytes));
    guard_ends(each, scratch);
    if (state) cell_free(state);
    out.from = NULL;
    return out;
}

static bool test_at_once(void) {
    enum { TERMS = 4 };
    static const char *const labels[] = {"ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ik"};
    static const char *const names[] = {"matadd", "elemmax", "elemmin"};
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MAX, TRA_S_MIN};
    static const tra_dtype types[] = {TRA_F64, TRA_F32, TRA_I64, TRA_BOOL};
    int fold = (int)check_draw(3), order = (int)check_draw(4), from = (int)check_draw(TERMS);
    tra_dtype t = types[check_draw(fold ? 4 : 3)];
    int64_t each[TERMS], all = 0, large = chance(20) ? 70000 : 9;
    for (int i = 0; i < TERMS; i++) all += each[i] = 1 + check_draw(3);
    int64_t rows = 1 + check_draw(7), columns = large == 9 ? 1 + check_draw(9) : large;
    subject s = {.labels = {labels[order], OP(MUL, ARG0, ARG1), folds[fold]}};
    const tra_kernel *agg = NULL;
    if (fold)
        CHECK(tra_kernel_aligned(arena, labels[order], s.labels.expr, folds[fold], xy, &s.join, NULL) == TRA_OK);
    else
        CHECK(tra_kernel_einsum(arena, labels[order], &s.join, NULL) == TRA_OK);
    CHECK(tra_kernel_named(arena, names[fold], TRA_USE_AGG, 0, NULL, &agg, NULL) == TRA_OK);
    int shared[2] = {order < 2, order % 2}; /* the dimension of each operand that is summed */
    tra_dims ea = {2, {all, all}}, eb = {2, {all, all}}, ext;
    ea.v[1 - shared[0]] = rows, eb.v[1 - shared[1]] = columns;
    plain a = plain_random(t, &ea, true, false), b = plain_random(t, &eb, true, false), part[2][TERMS];
    if (chance(40)) /* all products are there */
        for (int64_t i = 0; i < a.n; i++) a.v[i] = t == TRA_BOOL ? 1 : -1 - (double)(i % 3);
    if (chance(40))
        for (int64_t i = 0; i < b.n; i++) b.v[i] = t == TRA_BOOL ? 1 : 1 + (double)(i % 2);
    CHECK(tra_kernel_shape2(s.join, &ea, &eb, &ea, &eb, &ext, NULL, NULL) == TRA_OK);
    plain want = expected(&s, &a, &b, &ext);
    tra_cell term[2][TERMS], state;
    int64_t before = 0;
    for (int i = 0; i < TERMS; before += each[i++])
        for (int o = 0; o < 2; o++) {
            part[o][i] = range_of(o ? &b : &a, shared[o], before, each[i]);
            term[o][i] = cell_of(&part[o][i], true, chance(30));
        }
    if (from) state = added(s.join, agg, term[0], term[1], from, NULL, &want);
    state = added(s.join, agg, &term[0][from], &term[1][from], TERMS - from, from ? &state : NULL, &want);
    bool right = cell_is(&state, &want, true);
    if (!right) say(&s, &a, &b, 7);
    cell_free(&state);
    for (int i = 0; i < TERMS; i++)
        for (int o = 0; o < 2; o++) free(part[o][i].v), cell_free(&term[o][i]);
    free(a.v);
    free(b.v);
    free(want.v);
    return right;
}

TEST(several_products_and_a_state_are_folded_at_once) {
    for (int i = 0; i < rounds(1500); i++) {
        arena = tra_arena_new();
        bool right = test_at_once();
        tra_arena_free(arena);
        if (!right) return;
    }
}
