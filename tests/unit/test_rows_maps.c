/* test_rows_maps.c - maps and aggregations of cells of every holding, and boxes that are copied and put together;
 * against an evaluator by the rule of values. */
#include "rows_util.h"

static tra_dims some_extents(int rank) {
    static const int64_t small[] = {0, 1, 1, 2, 3, 5, 7, 13}, large[] = {101, 600, 1100};
    tra_dims ext = {.n = rank};
    for (int d = 0; d < rank; d++) ext.v[d] = rank < 3 && chance(5) ? large[check_draw(3)] : small[check_draw(8)];
    return ext;
}

/* ---- maps ---------------------------------------------------------------------------------------------------- */

/* One step: by labels, or element by element where these are NULL; softmax has neither. */
typedef struct step {
    const tra_kernel *k;
    aligned labels;
} step;

static step named(const char *name, const char *labels, tra_scalar_op fold) {
    step s = {.labels = {labels, ARG0, fold}};
    double number = 2;
    CHECK(tra_kernel_named(arena, name, TRA_USE_MAP, strcmp(name, "scale") == 0, &number, &s.k, NULL) == TRA_OK);
    if (!labels) s.labels.expr = s.k->expr;
    return s;
}

static step element_step(void) {
    static const char *const names[] = {"neg",  "abs",       "exp",     "log",  "sqrt", "square",
                                        "relu", "relu_grad", "sigmoid", "tanh", "scale"};
    if (chance(70)) return named(names[check_draw(11)], NULL, TRA_S_ADD);
    const tra_scalar *x = ARG0, *lambdas[] = {OP(MUL, x, OP(LOG, x, NULL)),
                                              OP(SUB, OP(EXP, x, NULL), num(1)),
                                              OP(DIV, x, x),
                                              OP(GT, x, num(0)),
                                              OP(MAX, x, num(1)),
                                              OP(ADD, x, num(1))};
    step s = {.labels = {NULL, lambdas[check_draw(6)], TRA_S_ADD}};
    s.k = tra_kernel_lambda(arena, s.labels.expr, 1, xy);
    return s;
}

static step some_step(int rank) {
    static const char *const strings[4][8] = {
        {"->"},
        {"i->i", "i->"},
        {"ij->ji", "ij->i", "ij->j", "ij->", "ii->i", "ii->", "ij->ij", "ij->ji"},
        {"ijk->kij", "ijk->ik", "ijk->j", "iji->ij", "ijk->jki", "iij->j", "ijk->", "ijj->ji"}};
    static const int count[] = {1, 2, 8, 8};
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MUL, TRA_S_MAX, TRA_S_MIN};
    static const char *const turned[] = {"->", "i->i", "ij->ji", "ijk->kji"},
                             *const row[] = {"", "i->", "ij->i", "ijk->ij"},
                             *const col[] = {"", "i->", "ij->j", "ijk->jk"};
    switch (check_draw(8)) {
    case 0: return named("transpose", turned[rank], TRA_S_ADD);
    case 1:
        if (rank == 2) return named("diag", "ii->i", TRA_S_ADD);
        break;
    case 2:
        if (rank > 0) return named("rowsum", row[rank], TRA_S_ADD);
        break;
    case 3:
        if (rank > 0) return chance(50) ? named("rowmax", row[rank], TRA_S_MAX) : named("rowmin", row[rank], TRA_S_MIN);
        break;
    case 4:
        if (rank > 0) return named("colsum", col[rank], TRA_S_ADD);
        break;
    case 5: return element_step();
    default: break;
    }
    const tra_scalar *x = ARG0, *exprs[] = {x, x, x, OP(MUL, x, x), OP(ABS, x, NULL), OP(ADD, x, num(1))};
    step s = {.labels = {strings[rank][check_draw(count[rank])], exprs[check_draw(6)], folds[check_draw(4)]}};
    CHECK(tra_kernel_aligned(arena, s.labels.labels, s.labels.expr, s.labels.fold, xy, &s.k, NULL) == TRA_OK);
    return s;
}

static plain after(const step *s, const plain *in) {
    tra_dims ext;
    CHECK(tra_kernel_shape1(s->k, &in->ext, &ext, NULL, NULL) == TRA_OK);
    plain out = plain_new(tra_kernel_dtype(s->k, TRA_USE_MAP, in->type, in->type), &ext, false);
    out.sparse = rule_sparse(s->labels.expr, &in->sparse);
    out.too_large = in->too_large;
    if (s->labels.labels) {
        plain part = *in; /* a diagonal ends where the shorter side does */
        if (s->k->cls == TRA_K_DIAG) {
            part = plain_new(in->type, &(tra_dims){2, {ext.v[0], ext.v[0]}}, in->sparse);
            for (int64_t i = 0; i < ext.v[0]; i++) part.v[i * ext.v[0] + i] = in->v[i * in->ext.v[1] + i];
        }
        rule_aligned(&s->labels, (const plain *const[]){&part, NULL}, &out);
        if (part.v != in->v) free(part.v);
    } else {
        for (int64_t i = 0; i < out.n; i++) out.v[i] = rule_value(s->labels.expr, &in->v[i], &in->sparse);
    }
    return out;
}

static bool map_is_right(const tra_kernel *k, const plain *a, const plain *want, int how) {
    tra_cell in = cell_of(a, how & 1, chance(30));
    tra_cell out = {.layout = how & 2 ? &tra_rows : NULL, .array = {want->type, want->ext, NULL}};
    tra_type t = type_of(a, how & 1);
    int64_t n = tra_cell_scratch(k, TRA_USE_MAP, &t, &a->ext, NULL, NULL, out.layout);
    void *scratch = guarded(n);
    giver g;
    give_to(&out, &g);
    do tra_cell_map(k, &in, &out, scratch);
    while (!is_made(&out));
    bool right = made_is(&out, want);
    guard_ends(g.block, g.bytes);
    guard_ends(scratch, n);
    cell_free(&in);
    return right;
}

static bool test_map(void) {
    tra_dims ext = some_extents((int)check_draw(4)), next;
    plain a = plain_random(some_type(), &ext, chance(70), chance(30));
    step s = some_step(ext.n), t = element_step();
    bool right = true;
    if (tra_kernel_shape1(s.k, &ext, &next, NULL, NULL) == TRA_OK) {
        const tra_kernel *k = s.k;
        plain want = after(&s, &a);
        if (chance(30)) {
            plain first = want;
            k = tra_kernel_then(arena, k, t.k);
            want = after(&t, &first);
            free(first.v);
        }
        right = tra_kernel_sparse(k, TRA_USE_MAP, a.sparse, false) == want.sparse;
        for (int how = right ? 0 : 4; how < 4 && right; how++) {
            if ((!a.sparse && (how & 1)) || (!want.sparse && (how & 2) && chance(80))) continue;
            right = map_is_right(k, &a, &want, how);
            if (!right) printf("# held as %d\n", how);
        }
        if (!right) {
            char text[TRA_DIMTEXT];
            tra_str str = {0};
            tra_kernel_print(k, &str);
            check_report("%s of %s %s %s", tra_str_get(&str), tra_dtype_name(a.type), a.sparse ? "sparse" : "dense",
                         tra_shape_text(&ext, text));
            tra_str_free(&str);
        }
        free(want.v);
    }
    free(a.v);
    return right;
}

TEST(maps_follow_the_rule_of_values) {
    for (int i = 0; i < 6000; i++) {
        arena = tra_arena_new();
        bool right = test_map();
        tra_arena_free(arena);
        if (!right) return;
    }
}

/* ---- aggregations -------------------------------------------------------------------------------------------- */

enum { TERMS = 4 };

typedef struct group {
    const tra_kernel *agg;
    tra_scalar_op fold;
    const tra_kernel *then; /* or NULL */
    int n;
    plain term[TERMS];
    tra_dims ext; /* the largest */
    plain want;
} group;

/* Terms that may be smaller than the group count as padded with the identity. */
static void fold_group(group *g) {
    tra_dtype t = tra_kernel_dtype(tra_kernel_first(g->agg), TRA_USE_AGG, g->term[0].type, g->term[0].type);
    g->want = plain_new(t, &g->ext, g->term[0].sparse);
    tra_dims at = {.n = g->ext.n};
    for (int64_t i = 0; i < g->want.n; i++) {
        tra_unlinear(&g->ext, i, &at);
        double v = rule_identity(g->fold, t);
        for (int j = 0; j < g->n; j++) {
            bool inside = true;
            for (int d = 0; d < at.n; d++) inside = inside && at.v[d] < g->term[j].ext.v[d];
            if (inside) v = rule_fold(g->fold, v, g->term[j].v[tra_linear(&g->term[j].ext, &at)], g->term[j].sparse);
        }
        g->want.v[i] = v;
    }
    if (!g->then) return;
    bool sparse = g->want.sparse;
    for (int64_t i = 0; i < g->want.n; i++) g->want.v[i] = rule_value(g->then->expr, &g->want.v[i], &sparse);
    g->want.type = tra_kernel_dtype(g->then, TRA_USE_MAP, t, t);
}

static bool finish_is_right(const group *g, const tra_cell *state, bool rows) {
    tra_dtype in = g->term[0].type;
    tra_cell out = {.layout = rows ? &tra_rows : NULL, .array = {g->want.type, g->ext, NULL}};
    tra_type t = {.dtype = in, .sparse = g->term[0].sparse, .layout = state->layout};
    int64_t n = tra_cell_scratch(g->agg, TRA_USE_AGG, &t, &g->ext, NULL, NULL, out.layout);
    void *scratch = guarded(n);
    giver room;
    give_to(&out, &room);
    do tra_cell_finish(g->agg, in, state, &out, scratch);
    while (!is_made(&out));
    bool right = cell_is(&out, &g->want, true);
    guard_ends(room.block, room.bytes);
    guard_ends(scratch, n);
    return right;
}

static bool dense_state_is_right(const group *g, int how) {
    tra_array state = {tra_agg_state_dtype(g->agg, g->term[0].type), g->ext, NULL};
    state.data = guarded((int64_t)tra_array_bytes(&state));
    tra_agg_init(g->agg, &state);
    for (int j = 0; j < g->n; j++) {
        tra_cell c = cell_of(&g->term[j], how & 1, chance(30));
        tra_cell_fold(g->agg, &state, &c, NULL);
        cell_free(&c);
    }
    tra_cell cell = {.sparse = g->term[0].sparse, .array = state};
    bool right = finish_is_right(g, &cell, how & 2);
    guard_ends(state.data, (int64_t)tra_array_bytes(&state));
    return right;
}

/* A state that grows: from pairs of states that were folded apart now and then. */
static tra_cell grown(const group *g, int from, int to) {
    tra_cell state = {.layout = NULL};
    for (int j = from; j < to; j++) {
        tra_cell c, next = {.layout = &tra_rows, .sparse = true};
        if (j + 1 < to && chance(30)) {
            c = grown(g, j, to);
            j = to;
        } else {
            c = cell_of(&g->term[j], chance(80), chance(30));
        }
        next.array = (tra_array){tra_agg_state_dtype(g->agg, g->term[0].type), g->ext, NULL};
        giver room;
        give_to(&next, &room);
        do tra_cell_merge(g->agg, state.head ? &state : NULL, &c, &next);
        while (!is_made(&next));
        next.from = NULL;
        for (int i = 0; i < GUARD; i++) CHECK(((unsigned char *)room.block)[room.bytes + i] == 0xA5);
        cell_free(&c);
        free(state.head);
        state = next;
    }
    return state;
}

static bool test_group(void) {
    static const char *const names[] = {"matadd", "elemmul", "elemmax", "elemmin"};
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MUL, TRA_S_MAX, TRA_S_MIN};
    int which = (int)check_draw(4);
    group g = {.fold = folds[which], .n = 1 + (int)check_draw(TERMS), .ext = some_extents((int)check_draw(4))};
    tra_dtype t = some_type();
    bool sparse = chance(80), wild = chance(30), right = true;
    CHECK(tra_kernel_named(arena, names[which], TRA_USE_AGG, 0, NULL, &g.agg, NULL) == TRA_OK);
    if (chance(25) && tra_dtype_is_float(t)) { /* integers have no infinity that one could calculate with */
        g.then = element_step().k;
        g.agg = tra_kernel_then(arena, g.agg, g.then);
    }
    for (int j = 0; j < g.n; j++) {
        tra_dims ext = g.ext;
        for (int d = 0; d < ext.n; d++)
            if (ext.v[d] > 1 && chance(25)) ext.v[d] -= check_draw(2);
        g.term[j] = plain_random(t, &ext, sparse, wild);
    }
    fold_group(&g);
    for (int how = 0; how < 4 && right; how++)
        if (sparse || how == 0) right = dense_state_is_right(&g, how);
    for (int rows = 0; rows < 2 && right && sparse; rows++) {
        tra_cell state = grown(&g, 0, g.n);
        right = finish_is_right(&g, &state, rows);
        free(state.head);
    }
    if (!right) check_report("%d terms of %s of %s", g.n, tra_dtype_name(t), names[which]);
    for (int j = 0; j < g.n; j++) free(g.term[j].v);
    free(g.want.v);
    (void)tra_kernel_overflowed();
    return right;
}

TEST(states_are_dense_or_grow) {
    for (int i = 0; i < 4000; i++) {
        arena = tra_arena_new();
        bool right = test_group();
        tra_arena_free(arena);
        if (!right) return;
    }
}

TEST(the_least_index_of_the_extreme_sees_zeros) {
    arena = tra_arena_new();
    for (int i = 0; i < 3000; i++) {
        const tra_kernel *k = NULL;
        tra_dims ext = some_extents((int)check_draw(4));
        CHECK(tra_kernel_named(arena, chance(50) ? "minindex" : "maxindex", TRA_USE_AGG, 0, NULL, &k, NULL) == TRA_OK);
        plain p = plain_random(some_type(), &ext, true, chance(20));
        tra_agg_at at = {.offset = {.n = ext.n}, .shape = ext};
        for (int d = 0; d < ext.n; d++) at.offset.v[d] = check_draw(3), at.shape.v[d] += at.offset.v[d] + check_draw(3);
        double got[2], want[2];
        tra_array a = {TRA_F64, {1, {2}}, got}, b = {TRA_F64, {1, {2}}, want};
        tra_cell rows = cell_of(&p, true, true), dense = cell_of(&p, false, false);
        tra_agg_init(k, &a);
        tra_agg_init(k, &b);
        tra_cell_fold(k, &a, &rows, &at);
        tra_cell_fold(k, &b, &dense, &at);
        CHECK(alike(got[0], want[0]));
        CHECK(got[1] == want[1]);
        cell_free(&rows);
        cell_free(&dense);
        free(p.v);
    }
    tra_arena_free(arena);
}

/* ---- boxes --------------------------------------------------------------------------------------------------- */

/* Cuts the box of the result in pieces, each from a source of its own. */
static int cut(const plain *want, tra_dims from, tra_dims ext, plain *src, tra_cell *cells, tra_cell_piece *p, int n) {
    int d = ext.n ? (int)check_draw(ext.n) : 0;
    if (n < 12 && ext.n > 0 && ext.v[d] > 1 && chance(75)) {
        tra_dims rest = ext, after = from;
        ext.v[d] = 1 + check_draw(ext.v[d] - 1);
        rest.v[d] -= ext.v[d];
        after.v[d] += ext.v[d];
        n = cut(want, from, ext, src, cells, p, n);
        return cut(want, after, rest, src, cells, p, n);
    }
    tra_dims whole = ext, at = {.n = ext.n}, to = {.n = ext.n};
    p[n] = (tra_cell_piece){.src = &cells[n], .from = {.n = ext.n}, .to = from, .ext = ext};
    for (int i = 0; i < ext.n; i++) p[n].from.v[i] = check_draw(3), whole.v[i] += p[n].from.v[i] + check_draw(3);
    src[n] = plain_random(want->type, &whole, true, false);
    int64_t all = 0;
    CHECK(tra_dims_product(&ext, &all));
    for (int64_t i = 0; i < all; i++) {
        tra_unlinear(&ext, i, &at);
        for (int k = 0; k < ext.n; k++) to.v[k] = at.v[k] + from.v[k], at.v[k] += p[n].from.v[k];
        want->v[tra_linear(&want->ext, &to)] = src[n].v[tra_linear(&whole, &at)];
    }
    cells[n] = cell_of(&src[n], chance(70), chance(30));
    return n + 1;
}

TEST(cells_are_put_together_from_boxes) {
    for (int i = 0; i < 3000; i++) {
        tra_dims ext = some_extents((int)check_draw(4));
        plain want = plain_new(some_type(), &ext, true), src[64];
        tra_cell cells[64];
        tra_cell_piece p[64];
        int n = want.n ? cut(&want, (tra_dims){.n = ext.n}, ext, src, cells, p, 0) : 0;
        for (int k = 1; k < n; k++) { /* in any order */
            int other = (int)check_draw(k + 1);
            tra_cell_piece swap = p[k];
            p[k] = p[other];
            p[other] = swap;
        }
        if (n > 1 && chance(20)) { /* one is not there: 0 */
            n--;
            tra_dims at = {.n = ext.n};
            for (int64_t k = 0; k < want.n; k++) {
                bool inside = true;
                tra_unlinear(&ext, k, &at);
                for (int d = 0; d < ext.n; d++)
                    inside = inside && at.v[d] >= p[n].to.v[d] && at.v[d] < p[n].to.v[d] + p[n].ext.v[d];
                if (inside) want.v[k] = 0;
            }
            n++;
            p[n - 1].ext = (tra_dims){.n = ext.n};
        }
        for (int rows = 0; rows < 2; rows++) {
            tra_cell out = {.layout = rows ? &tra_rows : NULL, .array = {want.type, ext, NULL}};
            giver room;
            give_to(&out, &room);
            do tra_cell_gather(p, n, &out, 1);
            while (!is_made(&out));
            if (n > 0 || rows) CHECK(cell_is(&out, &want, true));
            guard_ends(room.block, room.bytes);
        }
        for (int k = 0; k < n; k++) cell_free(&cells[k]), free(src[k].v);
        free(want.v);
        if (check_failures) return;
    }
}
