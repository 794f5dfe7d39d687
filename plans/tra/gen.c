/* gen.c - gen(uniform, [100, 20], by = [50, 20], seed = 1, type = f64): relations that are made, not read; extent(X,
 * d).
 */
#include "table_build.h"
#include "build.h"

#include "../../lib/dense/gen_values.h"

#include <string.h>

static const char write[] = "write gen(uniform, [1000, 20], by = [100, 20], seed = 1, type = f64)";

/* The values that the first argument names, or a constant. */
static bool read_values(tra_build *b, const tra_ast *x, gen_values *v) {
    static const char *const names[] = {"uniform", "normal", "identity", "range", "zero"};
    int i = x->kind == TRA_AST_NAME ? TRA_FIND_ROW(names, x->text) : -1;
    if (i >= 0) return v->dist = (gen_dist)i, true;
    bool param = x->kind == TRA_AST_NAME && tra_names_find(&b->symbols, x->text) < 0;
    if (param)
        return tra_diag_error(b->d, x->span, write,
                              "'%s' is neither a param nor one of uniform, normal, identity, range, zero", x->text);
    v->dist = GEN_DIST_CONSTANT;
    return tra_build_number(b, x, &v->real);
}

/* Named arguments. */
static bool read_options(tra_build *b, const tra_ast *call, tra_dims *block, int64_t *seed, tra_dtype *t) {
    bool ok = true;
    for (int i = 2; i < call->nkids; i++) {
        const tra_ast *x = call->kids[i], *value = x->kind == TRA_AST_NAMED ? x->kids[0] : NULL;
        if (value && strcmp(x->text, "by") == 0) {
            ok = tra_build_ints(b, value, "a block extent", 1, block) && ok;
        } else if (value && strcmp(x->text, "seed") == 0) {
            ok = tra_build_int(b, value, "a seed", INT64_MIN, seed) && ok;
        } else if (value && strcmp(x->text, "type") == 0) {
            if (value->kind == TRA_AST_NAME && tra_dtype_parse(value->text, t)) continue;
            tra_diag_error(b->d, value->span, tra_arena_printf(b->arena, "write one of %s", tra_dtype_choices()),
                           "this is no element type");
            ok = false;
        } else {
            tra_diag_error(b->d, x->span, write, "gen has no such argument");
            ok = false;
        }
    }
    return ok;
}

/* Do the elements have these values? */
static bool check_values(tra_build *b, const tra_ast *call, const tra_dims *shape, tra_dtype t, gen_values *v) {
    const tra_ast *x = call->kids[0];
    int64_t n = 0;
    int64_t last = tra_dims_product(shape, &n) ? tra_max64(0, n - 1) : INT64_MAX;
    v->whole = 0;
    if (v->dist == GEN_DIST_IDENTITY && shape->n < 2)
        tra_diag_error(b->d, x->span, NULL, "identity has two dimensions or more");
    else if (v->dist == GEN_DIST_NORMAL && !tra_dtype_is_float(t))
        tra_diag_error(b->d, x->span, "write type = f64", "normal makes no whole numbers");
    else if (v->dist == GEN_DIST_RANGE && !tra_dtype_holds(t, last))
        tra_diag_error(b->d, x->span, "write type = i64", "range goes to %" PRId64 " here, which %s does not hold",
                       last, tra_dtype_name(t));
    else if (v->dist == GEN_DIST_CONSTANT && !tra_dtype_is_float(t) &&
             (!tra_build_int(b, x, "an element", INT64_MIN, &v->whole) || !tra_dtype_holds(t, v->whole)))
        tra_diag_error(b->d, x->span, NULL, "%s does not hold this number", tra_dtype_name(t));
    else
        return true;
    return false;
}

tra_node *tra_build_gen(tra_build *b, const tra_ast *call) {
    tra_dims shape, block = {.n = -1};
    int64_t seed = 0;
    tra_dtype t = TRA_F64;
    tra_err e = {0};
    if (call->nkids < 2) return tra_diag_error(b->d, call->span, write, "gen takes values and extents");
    gen_values v = {0};
    bool ok = read_values(b, call->kids[0], &v);
    ok = tra_build_ints(b, call->kids[1], "an extent", 0, &shape) && ok;
    ok = read_options(b, call, &block, &seed, &t) && ok;
    if (!ok) return NULL;
    if (shape.n > TRA_MAXDIM / 2)
        return tra_diag_error(b->d, call->kids[1]->span, NULL, "a tensor in blocks has at most %d dimensions",
                              TRA_MAXDIM / 2);
    if (tra_dense_bytes(t, &shape) >= TRA_SIZE_MOST)
        return tra_diag_error(b->d, call->kids[1]->span, NULL, "these are more than 2^61 bytes");
    if (block.n < 0) block = shape;
    for (int d = 0; d < block.n; d++) block.v[d] = tra_max64(1, tra_min64(block.v[d], tra_max64(1, shape.v[d])));
    if (block.n != shape.n)
        return tra_diag_error(b->d, call->span, NULL, "the block has %d dimensions, the tensor %d", block.n, shape.n);
    if (!check_values(b, call, &shape, t, &v)) return NULL;
    const char *path = tra_rel_made(b->arena, &v, seed, t, &shape, &block);
    for (int i = 0; i < b->g->n; i++) /* equal values are one relation */
        if (b->g->v[i]->op == TRA_OP_INPUT && b->g->v[i]->input.path && strcmp(b->g->v[i]->input.path, path) == 0)
            return b->g->v[i];
    tra_node *n = tra_build_node(b, TRA_OP_INPUT, call->span);
    n->name = tra_arena_printf(b->arena, "gen.%d", n->id); /* no name of a program has a point */
    n->input.path = path;
    if (tra_rel_open(path, NULL, &n->input.rel, &e) != TRA_OK)
        return tra_diag_error(b->d, call->span, NULL, "%s", e.msg);
    n->type = *tra_rel_type(n->input.rel);
    return n;
}

bool tra_is_of_numbers(const tra_build *b, const tra_ast *x) {
    int at = x->kind == TRA_AST_NAME ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    if (x->kind == TRA_AST_CALL && strcmp(x->text, "extent") == 0) return true;
    if (x->kind == TRA_AST_NUMBER || x->kind == TRA_AST_NAME)
        return x->kind == TRA_AST_NUMBER || (s && s->param && !s->literal && !s->node);
    bool all = x->kind == TRA_AST_UNARY || x->kind == TRA_AST_BINARY || tra_is_elementwise(x);
    for (int i = 0; i < x->nkids && all; i++) all = tra_is_of_numbers(b, x->kids[i]);
    return all;
}

tra_node *tra_build_number_relation(tra_build *b, const tra_ast *x) {
    tra_ast none = {.kind = TRA_AST_LIST, .span = x->span}, *kids[] = {(tra_ast *)x, &none};
    return tra_build_gen(b, &(tra_ast){.kind = TRA_AST_CALL, .span = x->span, .text = "gen", .nkids = 2, .kids = kids});
}

bool tra_build_extent(tra_build *b, const tra_ast *call, int64_t *out) {
    if (call->nkids != 2 || call->kids[0]->kind != TRA_AST_NAME)
        return tra_diag_error(b->d, call->span, "write extent(X, 0)",
                              "extent takes a relation and the number of a dimension");
    int64_t d;
    tra_dims shape;
    const char *why;
    const tra_ast *x = call->kids[0];
    tra_symbol *s = tra_build_relation_symbol(b, x->text, x->span);
    if (!s || !tra_build_int(b, call->kids[1], "a dimension", 0, &d)) return false;
    const tra_type *t = &s->node->type;
    if (!t->columns && !tra_type_is_blocked(t, &why))
        return tra_diag_error(b->d, x->span, NULL, "extent needs a tensor in blocks; of '%s' %s", x->text, why);
    tra_type_shape(t, &shape);
    if (t->columns && !tra_table_other_column(s->node)) shape.v[shape.n++] = t->columns->n; /* as its matrix */
    if (d >= shape.n && !tra_table_is_numbers(b, s->node, "extent", x->span)) return false;
    if (d >= shape.n)
        return tra_diag_error(b->d, call->kids[1]->span, NULL, "'%s' has %d dimension%s", x->text, shape.n,
                              shape.n == 1 ? "" : "s");
    if (t->bounded >> d & 1)
        return tra_diag_error(b->d, call->span, "rows(T) is their number, as a relation of rank 0",
                              "only the run tells how many rows '%s' has", x->text);
    *out = shape.v[d];
    return true;
}
