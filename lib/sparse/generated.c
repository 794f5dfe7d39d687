/* generated.c - products of rows with rows as physical plans of the calculus over the parts of their cells. */
#include "generated.h"

#include "../kernel/share.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* a is the outer operand, b the inner one. Row numbers of a are i*s + what all shared labels but the last make; those
 * of b are what all make, e being the extent of the last. A row of b is found by an array of where each is. */
static const char *const texts[] = {
    [TRA_GENERATED_ONE] = "let place = sum(<q, k> in b_row) {@dense k -> q + 1} in "
                          "sum(<r, i> in a_row) sum(<p, k> in a_column(a_begin(r):a_begin(r + 1))) "
                          "let q = place(k) in if (q > 0) let v = a_value(p) in "
                          "sum(<t, j> in b_column(b_begin(q - 1):b_begin(q))) {(i, j) -> v*b_value(t)}",
    [TRA_GENERATED_SEVERAL] = "let place = sum(<q, k> in b_row) {@dense k -> q + 1} in "
                              "sum(<r, i> in a_row) sum(<p, k> in a_column(a_begin(r):a_begin(r + 1))) "
                              "let q = place((i%s)*e + k) in if (q > 0) let v = a_value(p) in "
                              "sum(<t, j> in b_column(b_begin(q - 1):b_begin(q))) {(i/s, j) -> v*b_value(t)}",
};

/* The scope: extents, then the parts of both cells. */
enum { M, N, S, E, K, BOX, ROWS, A_ROW = 8, B_ROW = A_ROW + TRA_ROWS_PARTS, NAMES = B_ROW + TRA_ROWS_PARTS };
enum { ROWS_A = ROWS, ROWS_B = ROWS + 1 };

typedef struct generated {
    tra_arena *arena;
    tra_calc_name scope[NAMES];
    tra_codegen_name how[NAMES];
    tra_codegen_spec spec;
    const tra_codegen_kernel *kernel; /* NULL: not compiled */
} generated;

static generated *all[TRA_GENERATED_NONE];

static const tra_calc *tree(const generated *g, const char *text) {
    tra_calc_error err;
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), g->arena, &err);
    bool ok = x && tra_calc_check(x, NAMES, g->scope, g->arena, &err);
    assert(ok);
    (void)ok;
    return x;
}

/* Parts of a cell that was checked (tra_rows_check): so many rows, whose numbers and columns are below these. */
static void name_parts(generated *g, int first, const char *which, const char *rows, const char *below,
                       const char *columns) {
    static const char *const parts[] = {"row", "begin", "column", "value"};
    static const tra_element types[] = {TRA_ELEMENT_I64, TRA_ELEMENT_I64, TRA_ELEMENT_U32, TRA_ELEMENT_F64};
    for (int i = 0; i < TRA_ROWS_PARTS; i++) {
        bool value = i == TRA_ROWS_VALUE;
        g->scope[first + i] = (tra_calc_name){.name = tra_arena_printf(g->arena, "%s_%s", which, parts[i]),
                                              .type = {.real = value, .sparse = value, .depth = 1}};
        g->how[first + i] = (tra_codegen_name){.component = true, .kind = TRA_COMPONENT_ARRAY, .value = types[i]};
    }
    g->how[first + TRA_ROWS_ROW].size = tree(g, rows);
    g->how[first + TRA_ROWS_ROW].below = tree(g, below);
    g->how[first + TRA_ROWS_BEGIN].size = tree(g, tra_arena_printf(g->arena, "%s + 1", rows));
    const tra_calc *entries = tree(g, tra_arena_printf(g->arena, "%s_begin(%s)", which, rows));
    g->how[first + TRA_ROWS_COLUMN].size = g->how[first + TRA_ROWS_VALUE].size = entries;
    g->how[first + TRA_ROWS_COLUMN].below = tree(g, columns);
}

static generated *describe(tra_generated form) {
    static const char *const numbers[] = {"m", "n", "s", "e", "k", "box", "a_rows", "b_rows"};
    generated *g = tra_calloc(1, sizeof *g);
    g->arena = tra_arena_new();
    for (int i = 0; i < A_ROW; i++) {
        g->scope[i] = (tra_calc_name){.name = numbers[i]};
        g->how[i].natural = true;
    }
    for (int i = A_ROW; i < NAMES; i++) g->scope[i].name = "";
    bool one = form == TRA_GENERATED_ONE;
    name_parts(g, A_ROW, "a", "a_rows", one ? "m" : "k", "e");
    name_parts(g, B_ROW, "b", "b_rows", "box", "n");
    g->spec = (tra_codegen_spec){.name = "product",
                                 .n = NAMES,
                                 .scope = g->scope,
                                 .how = g->how,
                                 .result = TRA_CODEGEN_ROWS,
                                 .type = TRA_ELEMENT_F64,
                                 .wide = !one};
    g->spec.plan = tree(g, texts[form]);
    g->spec.extent[0] = tree(g, "m");
    g->spec.extent[1] = tree(g, "n");
    return g;
}

static void forget(generated *g) {
    if (!g) return;
    tra_arena_free(g->arena);
    free(g);
}

tra_status tra_generated_make(tra_codegen *g, tra_generated form, bool compile, tra_err *e) {
    if (all[form] && all[form]->kernel) return TRA_OK;
    if (!all[form]) all[form] = describe(form);
    const tra_codegen_kernel *k = NULL;
    TRA_TRY(tra_codegen_make(g, &all[form]->spec, compile, &k, e));
    if (tra_codegen_compiled(k)) all[form]->kernel = k; /* what interprets them best is product.c */
    return TRA_OK;
}

void tra_generated_end(void) {
    for (int i = 0; i < TRA_GENERATED_NONE; i++) {
        forget(all[i]);
        all[i] = NULL;
    }
}

tra_status tra_generated_source(tra_generated form, tra_str *plan, tra_str *c, tra_err *e) {
    generated *g = describe(form);
    tra_calc_print(g->spec.plan, plan);
    tra_status s = tra_codegen_source(&g->spec, c, e);
    forget(g);
    return s;
}

/* ---- which products ------------------------------------------------------------------------------------------- */

/* The labels of the outer operand are those of the result's rows, then the shared ones; of the inner one the same
 * shared ones, then the result's column. */
static tra_generated form_of(const tra_contraction *x, int o, int np) {
    const int8_t *outer = x->p.in[o], *inner = x->p.in[1 - o];
    int shared = x->p.rank[o] - np;
    if (x->t != TRA_F64 || shared < 1 || x->p.rank[1 - o] != shared + 1 || x->p.nout != np + 1)
        return TRA_GENERATED_NONE;
    if (inner[shared] != x->p.out[np] || x->has[o][inner[shared]]) return TRA_GENERATED_NONE;
    for (int d = 0; d < np; d++)
        if (outer[d] != x->p.out[d] || x->has[1 - o][outer[d]]) return TRA_GENERATED_NONE;
    for (int d = 0; d < shared; d++) {
        if (outer[np + d] != inner[d]) return TRA_GENERATED_NONE;
        for (int i = 0; i < np + d; i++)
            if (outer[i] == inner[d]) return TRA_GENERATED_NONE;
    }
    return shared == 1 ? TRA_GENERATED_ONE : TRA_GENERATED_SEVERAL;
}

tra_generated tra_generated_of(const tra_kernel *join, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                               const tra_dims *ext_b, const tra_type *out) {
    const tra_kernel *const *step;
    const tra_kernel *self = join;
    tra_product p;
    if (a->layout != &tra_rows || b->layout != &tra_rows || out->layout != &tra_rows) return TRA_GENERATED_NONE;
    if (a->dtype != TRA_F64 || b->dtype != TRA_F64 || tra_steps(join, &step, &self) != 1) return TRA_GENERATED_NONE;
    if (!tra_kernel_is_product(step[0], ext_a, ext_b, &p) || p.nout < 1) return TRA_GENERATED_NONE;
    tra_cell in[2] = {{.layout = a->layout, .array = {TRA_F64, *ext_a, NULL}},
                      {.layout = b->layout, .array = {TRA_F64, *ext_b, NULL}}};
    tra_array shape = {.dtype = TRA_F64};
    tra_err e = {0};
    tra_contraction x;
    if (tra_kernel_shape2(step[0], ext_a, ext_b, ext_a, ext_b, &shape.ext, NULL, &e) != TRA_OK)
        return TRA_GENERATED_NONE;
    tra_contraction_of(&x, step[0], &in[0], &in[1], &shape, -1);
    tra_generated form = form_of(&x, 0, p.nout - 1);
    return form != TRA_GENERATED_NONE ? form : form_of(&x, 1, p.nout - 1);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef struct operands {
    tra_calc_free scope[NAMES];
    tra_component_data data[2 * TRA_ROWS_PARTS];
} operands;

static void bring_cell(operands *x, int first, const tra_rows_view *v) {
    tra_component_data *d = &x->data[first - A_ROW];
    d[TRA_ROWS_ROW].value = (tra_elements){TRA_ELEMENT_I64, v->nrows, v->row};
    d[TRA_ROWS_BEGIN].value = (tra_elements){TRA_ELEMENT_I64, v->nrows + 1, v->begin};
    int64_t n = v->begin[v->nrows]; /* some rows of a cell end before it does */
    d[TRA_ROWS_COLUMN].value = (tra_elements){TRA_ELEMENT_U32, n, v->column};
    d[TRA_ROWS_VALUE].value = (tra_elements){TRA_ELEMENT_F64, n, v->value};
    for (int i = 0; i < TRA_ROWS_PARTS; i++)
        x->scope[first + i] = (tra_calc_free){.component = &d[i], .kind = TRA_COMPONENT_ARRAY};
}

/* The numbers of the scope; false where they are too large for the kernel. */
static bool bring_numbers(const tra_contraction *x, int o, int np, const tra_rows_view v[2], operands *to) {
    int64_t n[A_ROW] = {[M] = 1, [S] = 1, [BOX] = 1, [ROWS_A] = v[0].nrows, [ROWS_B] = v[1].nrows};
    const tra_dims *outer = &x->in[o]->array.ext, *inner = &x->in[1 - o]->array.ext;
    for (int d = 0; d < np; d++) n[M] = tra_mul_most(n[M], outer->v[d]);
    for (int d = np; d + 1 < outer->n; d++) n[S] = tra_mul_most(n[S], outer->v[d]);
    for (int d = 0; d + 1 < inner->n; d++) n[BOX] = tra_mul_most(n[BOX], inner->v[d]);
    n[K] = tra_mul_most(n[M], n[S]);
    n[E] = outer->v[outer->n - 1];
    n[N] = inner->v[inner->n - 1];
    for (int i = 0; i < A_ROW; i++) {
        if (n[i] >= (int64_t)1 << 31) return false;
        to->scope[i].number = tra_calc_int(n[i]);
    }
    /* an array of the places of rows, of which there may be few */
    return n[BOX] <= tra_max64(1 << 16, 16 * v[1].n);
}

/* A call, in pieces of the rows of the outer operand. */
typedef struct job {
    const tra_codegen_kernel *k;
    operands to; /* of all */
    tra_rows_view a, b;
    int n;
    int64_t at[TRA_PIECES + 1];
    bool exact;
    tra_cell *out;
    tra_rows_pieces rows;
    int64_t have; /* bytes of scratch */
    tra_status status[TRA_PIECES];
} job;

static void one_piece(job *j, int piece, void *scratch, bool count) {
    operands to = j->to;
    tra_err e = {0};
    tra_rows_view a = j->a;
    a.row += j->at[piece];
    a.begin += j->at[piece];
    a.nrows = j->at[piece + 1] - j->at[piece];
    bring_cell(&to, A_ROW, &a);
    bring_cell(&to, B_ROW, &j->b);
    to.scope[ROWS_A].number = tra_calc_int(a.nrows);
    tra_codegen_call c = {
        .scope = to.scope, .memory = scratch, .most = j->have, .exact = j->exact, .stop = &tra_cancel};
    if (count) {
        int64_t *counted = j->out->counted_of[piece];
        j->status[piece] = tra_codegen_count(j->k, &c, &counted[0], &counted[1], &e);
        return;
    }
    tra_rows_view *v = &j->rows.piece[piece];
    tra_codegen_rows rows = {v->row, v->begin, v->column, v->value, v->nrows, v->n, 0, 0};
    c.rows = &rows;
    j->status[piece] = tra_codegen_run(j->k, &c, &e);
    v->nrows = rows.nrows;
    v->n = rows.n;
}

static void count_piece(void *ctx, int piece, void *scratch) { one_piece(ctx, piece, scratch, true); }
static void run_piece(void *ctx, int piece, void *scratch) { one_piece(ctx, piece, scratch, false); }

static bool in_pieces(job *j, tra_piece_fn *fn, void *scratch) {
    bool can = true;
    tra_share(j->n, fn, j, scratch);
    for (int i = 0; i < j->n; i++) can = can && j->status[i] == TRA_OK;
    return can;
}

enum { QUICK = 1 << 20 }; /* bytes of a result that need not be counted exactly */

static bool count_rows(job *j, void *scratch) {
    j->exact = false;
    if (!in_pieces(j, count_piece, scratch)) return false;
    /* where entries meet that is more than there will be, but counting takes as long as computing */
    int64_t enough = j->out->tight ? 0 : tra_max64(QUICK, 24 * (j->a.n + j->b.n));
    j->exact = tra_rows_pieces_counted(j->out, j->n) > enough;
    j->out->loose = !j->exact;
    if (j->exact && !in_pieces(j, count_piece, scratch)) return false;
    tra_rows_pieces_counted(j->out, j->n);
    return true;
}

/* Pieces of about equally many entries, each of whole rows of the result, of which the operand has several. Finding
 * rows of the inner operand takes an array of their places in each piece. */
static void cut(job *j) {
    int64_t several = j->to.scope[S].number.i, entries = j->a.begin[j->a.nrows] - j->a.begin[0];
    int64_t box = tra_max64(1, j->to.scope[BOX].number.i);
    int n = (int)tra_min64(tra_share_pieces(16 * entries), tra_max64(1, 2 * entries / box));
    j->n = 0;
    j->at[0] = 0;
    for (int i = 1; i < n; i++) {
        int64_t from = j->at[j->n], want = j->a.begin[0] + entries / n * i;
        TRA_BISECT(from, j->a.nrows, mid, j->a.begin[mid] < want);
        while (from > 0 && from < j->a.nrows && j->a.row[from] / several == j->a.row[from - 1] / several) from++;
        if (from > j->at[j->n] && from < j->a.nrows) j->at[++j->n] = from;
    }
    j->at[++j->n] = j->a.nrows;
}

bool tra_generated_product(const tra_contraction *x, int outer, int np, tra_cell *out, bool count, void *scratch,
                           int64_t have) {
    if (!x->in[0]->layout || !x->in[1]->layout || out->array.dtype != TRA_F64) return false;
    for (int o = 0; o < 2; o++)
        if (x->in[o]->array.dtype != TRA_F64) return false;
    tra_generated form = form_of(x, outer, np);
    const tra_codegen_kernel *k = form == TRA_GENERATED_NONE || !all[form] ? NULL : all[form]->kernel;
    if (!k) return false;
    job *j = tra_calloc(1, sizeof *j);
    *j = (job){.k = k, .a = tra_rows_of(x->in[outer]), .b = tra_rows_of(x->in[1 - outer]), .out = out, .have = have};
    if (out->panel[1] > 0) j->a = tra_rows_within(&j->a, &x->in[outer]->array.ext, out->panel);
    bool can = bring_numbers(x, outer, np, (const tra_rows_view[2]){j->a, j->b}, &j->to);
    tra_codegen_call c = {.scope = j->to.scope};
    if (can) bring_cell(&j->to, A_ROW, &j->a), bring_cell(&j->to, B_ROW, &j->b);
    can = can && tra_codegen_scratch(k, &c) + 8 * j->to.scope[BOX].number.i + 1024 <= have;
    if (can) cut(j);
    if (can && (count || out->counted[1] == 0)) can = count_rows(j, scratch);
    if (can && !count) {
        tra_rows_pieces_begin(&j->rows, out, j->n);
        can = in_pieces(j, run_piece, scratch);
        if (can) tra_rows_pieces_end(&j->rows);
    }
    free(j);
    return can;
}
