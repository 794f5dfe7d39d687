/* graph_calls.c - operators and their arguments: what a relational expression is in the graph. */
#include "table_build.h"
#include "function_help.h"
#include "table_derived.h"

#include <string.h>
#include <unistd.h>

/* The operators of the algebra. args has a letter for each argument: R a relation, L a list of its key dimensions, N a
 * list of numbers of parts, X a list of block extents, D an array dimension, Y a key dimension, S a tile size, K a
 * kernel, F a function of the key, B a predicate on the key. */
static const struct form {
    const char *name;
    tra_opcode op;
    const char *args, *text; /* text: for advice */
} forms[] = {
    {"join", TRA_OP_JOIN, "RRLLK", "join(L, R, [l...], [r...], kernel)"},
    {"agg", TRA_OP_AGG, "RLK", "agg(X, [g...], kernel)"},
    {"rekey", TRA_OP_REKEY, "RF", "rekey(X, (k0,k1) -> (e0,e1))"},
    {"filter", TRA_OP_FILTER, "RB", "filter(X, (k0,k1) -> predicate)"},
    {"transform", TRA_OP_TRANSFORM, "RK", "transform(X, kernel)"},
    {"tile", TRA_OP_TILE, "RDS", "tile(X, dim, size)"},
    {"concat", TRA_OP_CONCAT, "RYD", "concat(X, keydim, dim)"},
    {"repart", TRA_OP_REPART, "RN", "repart(X, [d0, d1])"},
    {"reblock", TRA_OP_REPART, "RX", "reblock(X, [b0, b1])"},
};
enum { NFORMS = sizeof forms / sizeof forms[0] };

const char *tra_form_name(int i) { return i < NFORMS ? forms[i].name : NULL; }

/* The arguments of a call that were read so far, each checked by itself. */
typedef struct args {
    int nin, nlists, nnumbers;
    tra_node *in[2];
    tra_dims list[2];
    const tra_ast *list_ast[2]; /* where the lists stand in the program */
    int64_t number[2];
    const tra_kernel *kernel;
    const tra_keyfn *keyfn;
} args;

/* Checks that the last list that was read holds distinct key dimensions of x. which: "the left relation". */
static bool check_list(tra_build *b, const args *a, const tra_node *x, const char *which) {
    const tra_dims *l = &a->list[a->nlists - 1];
    int k = x->type.cat->frontier.n;
    bool ok = true;
    for (int j = 0; j < l->n; j++) {
        tra_span span = a->list_ast[a->nlists - 1]->kids[j]->span;
        if (l->v[j] >= k) {
            if (k == 0)
                tra_diag_error(b->d, span, NULL, "%s has no key dimensions", which);
            else
                tra_diag_error(b->d, span, NULL, "%s has the key dimensions 0 to %d, not %" PRId64, which, k - 1,
                               l->v[j]);
            ok = false;
        }
        for (int m = 0; m < j; m++)
            if (l->v[m] == l->v[j]) {
                tra_diag_error(b->d, span, NULL, "key dimension %" PRId64 " stands twice in this list", l->v[j]);
                ok = false;
                break;
            }
    }
    return ok;
}

static bool read_list(tra_build *b, const tra_ast *x, const char *what, int64_t least, args *a) {
    a->list_ast[a->nlists] = x;
    return tra_build_ints(b, x, what, least, &a->list[a->nlists++]);
}

/* Reads a dimension, which must be one of n unless n is -1. what: "key" or "array". */
static bool read_dim(tra_build *b, const tra_ast *x, const char *what, int n, args *a) {
    int64_t *v = &a->number[a->nnumbers++];
    if (!tra_build_int(b, x, tra_arena_printf(b->arena, "%s dimension", what), 0, v)) return false;
    if (n < 0 || *v < n) return true;
    if (n == 0)
        tra_diag_error(b->d, x->span, NULL, "this relation has no %s dimensions", what);
    else
        tra_diag_error(b->d, x->span, NULL, "this relation has the %s dimensions 0 to %d, not %" PRId64, what, n - 1,
                       *v);
    return false;
}

/* Reads argument i. What depends on several arguments is checked later (take_args). */
static bool read_arg(tra_build *b, const struct form *f, int i, const tra_ast *x, args *a) {
    tra_kernel_use use = f->op == TRA_OP_JOIN ? TRA_USE_JOIN : f->op == TRA_OP_AGG ? TRA_USE_AGG : TRA_USE_MAP;
    const tra_catalog *c = a->in[0] ? a->in[0]->type.cat : NULL;
    switch (f->args[i]) {
    case 'R': return (a->in[a->nin++] = tra_build_operand_tensor(b, x)) != NULL;
    case 'L': {
        const tra_node *of = a->in[a->nlists];
        const char *which = f->op != TRA_OP_JOIN ? "the relation"
                            : a->nlists          ? "the right relation"
                                                 : "the left relation";
        return read_list(b, x, "a key dimension", 0, a) && (!of || check_list(b, a, of, which));
    }
    case 'N': return read_list(b, x, "a number of parts", 1, a);
    case 'X': return read_list(b, x, "a block extent", 1, a);
    case 'D': return read_dim(b, x, "array", c ? c->bound.n : -1, a);
    case 'Y': return read_dim(b, x, "key", c ? c->frontier.n : -1, a);
    case 'S': return tra_build_int(b, x, "a tile size", 1, &a->number[a->nnumbers++]);
    case 'K': return (a->kernel = tra_build_kernel(b, x, use)) != NULL;
    default: {
        int arity = c ? c->frontier.n : x->kind == TRA_AST_LAMBDA && x->nkids <= TRA_MAXDIM ? x->nkids - 1 : 0;
        return (a->keyfn = tra_build_keyfn(b, x, arity, f->args[i] == 'B', c)) != NULL;
    }
    }
}

/* Sets the block extents of a repart, which are given as numbers of parts, or of a reblock, which are given as such. */
static bool set_block(tra_build *b, const struct form *f, const args *a, tra_span span, tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(x, &why))
        return tra_diag_error(b->d, span, NULL, "%s needs a tensor in blocks; of this relation %s", f->name, why);
    tra_type_shape(x, &shape);
    if (a->list[0].n != shape.n)
        return tra_diag_error(b->d, a->list_ast[0]->span, NULL, "%d numbers for a tensor of %d dimensions",
                              a->list[0].n, shape.n);
    n->block.n = shape.n;
    for (int d = 0; d < shape.n; d++) {
        int64_t v = a->list[0].v[d], most = tra_max64(shape.v[d], 1);
        n->block.v[d] = f->args[1] == 'N' ? tra_max64(1, tra_ceil_div(shape.v[d], v)) : tra_min64(v, most);
    }
    return true;
}

/* Sets the fields of the node from the arguments, and checks these against each other. */
static bool take_args(tra_build *b, const struct form *f, const args *a, tra_span span, tra_node *n) {
    n->kernel = a->kernel;
    n->keyfn = a->keyfn;
    switch (f->op) {
    case TRA_OP_JOIN:
        n->join.l = a->list[0];
        n->join.r = a->list[1];
        if (n->join.l.n == n->join.r.n) break;
        return tra_diag_error(b->d, a->list_ast[1]->span,
                              "each key dimension on the left is joined with one on the right",
                              "the lists of a join have the same length, not %d and %d", n->join.l.n, n->join.r.n);
    case TRA_OP_AGG: n->group = a->list[0]; break;
    case TRA_OP_TILE:
        n->dim = (int)a->number[0];
        n->size = a->number[1];
        break;
    case TRA_OP_CONCAT:
        n->keydim = (int)a->number[0];
        n->dim = (int)a->number[1];
        break;
    case TRA_OP_REPART: return set_block(b, f, a, span, n);
    case TRA_OP_INPUT:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TRANSFORM: break;
    }
    return true;
}

const char *tra_build_key(tra_build *b, const tra_node *n) {
    return tra_arena_printf(b->arena, "%d %d%s", n->in[0] ? n->in[0]->id : -1, n->in[1] ? n->in[1]->id : -1,
                            tra_node_text(b->arena, n));
}

static bool is_densify(const tra_kernel *k) {
    const char *name = k ? tra_kernel_describe(tra_kernel_first(k)).name : NULL;
    return name && strcmp(name, "densify") == 0;
}

/* Warns of a large dense result whose inputs are all sparse, unless the program asks for it. */
static void warn_dense(tra_build *b, const tra_node *n) {
    int64_t before = 0, dense = tra_type_bytes_all(&n->type).bound;
    char size[32], held[32];
    if (n->type.sparse || !n->in[0] || is_densify(n->kernel)) return;
    for (int i = 0; i < 2 && n->in[i]; i++) {
        if (!n->in[i]->type.sparse) return;
        before = tra_add_most(before, tra_type_bytes_all(&n->in[i]->type).expected);
    }
    if (dense <= before) return;
    tra_diag_warn(b->d, n->span, "what is 0 where all operands are 0 stays sparse; as dense says that it is to be",
                  "the result is dense: %s, of sparse operands of %s", tra_human(dense, size), tra_human(before, held));
}

static bool has_fewer_elements(const tra_node *n, const tra_node *in) {
    return tra_catalog_elements(n->type.cat) < tra_catalog_elements(in->type.cat);
}

/* What is folded is computed by entries, and so is what only such folds read. */
void tra_build_warn_dense(tra_build *b) {
    const tra_graph *g = b->g;
    bool *read = tra_news(b->arena, bool, g->n), *whole = tra_news(b->arena, bool, g->n);
    for (int i = 0; i < g->n; i++) read[i] = whole[i] = false;
    for (int i = 0; i < g->noutputs; i++) whole[tra_output_root(&g->outputs[i])->id] = true;
    for (int k = g->n - 1; k >= 0; k--) {
        const tra_node *n = g->v[k];
        bool maps = n->op == TRA_OP_TRANSFORM && n->type.cat && !whole[k];
        for (int i = 0; n->type.cat && i < 2 && n->in[i]; i++) {
            read[n->in[i]->id] = true;
            if (!(maps || (n->op == TRA_OP_TRANSFORM && has_fewer_elements(n, n->in[i])))) whole[n->in[i]->id] = true;
        }
    }
    for (int k = 0; k < g->n; k++) {
        const tra_node *n = g->v[k];
        if (!n->type.cat || (read[k] && !whole[k])) continue;
        if (n->in[0] && n->kernel && has_fewer_elements(n, n->in[0])) continue;
        warn_dense(b, n);
    }
}

/* Sets n->rows: a dimension of the result has the rows of the same table as the dimension that it comes from. */
static void set_rows(tra_build *b, tra_node *n) {
    tra_dims out;
    tra_dimsrc src;
    const tra_node *l = n->in[0], *r = n->in[1];
    if (n->rows || n->type.columns || !(l->rows || (r && r->rows))) return;
    if (n->op == TRA_OP_REKEY || n->op == TRA_OP_FILTER) {
        n->rows = l->rows;
        return;
    }
    const tra_dims *x = &l->type.cat->bound, *y = r ? &r->type.cat->bound : NULL;
    tra_status s = n->op == TRA_OP_JOIN        ? tra_kernel_shape2(n->kernel, x, y, x, y, &out, &src, NULL)
                   : n->op == TRA_OP_AGG       ? tra_kernel_shape_agg(n->kernel, x, &out, &src, NULL)
                   : n->op == TRA_OP_TRANSFORM ? tra_kernel_shape1(n->kernel, x, &out, &src, NULL)
                                               : TRA_INTERNAL;
    const tra_node **rows = tra_news(b->arena, const tra_node *, TRA_MAXDIM);
    for (int d = 0; s == TRA_OK && d < out.n; d++) {
        const tra_node *from = src.from[d] >= 32 ? r : src.from[d] >= 0 ? l : NULL;
        if (from && from->rows) rows[d] = from->rows[src.from[d] % 32];
    }
    n->rows = rows;
}

/* Types a node whose fields are set, notes what it computes, and counts the uses of its inputs. */
static tra_node *finish(tra_build *b, tra_node *n) {
    const char *warn = NULL;
    tra_err e = {0};
    tra_status s = tra_node_type(b->arena, n, &warn, &e);
    if (warn) tra_diag_warn(b->d, n->span, NULL, "%s", warn);
    if (s != TRA_OK) {
        tra_diag_error(b->d, n->span, NULL, "%s", e.msg);
        n->type.cat = NULL;
        return NULL;
    }
    set_rows(b, n);
    tra_carry_labels(b, n);
    tra_carry_units(n);
    for (int i = 0; i < 2; i++)
        if (n->in[i]) n->in[i]->uses++;
    const char *key = tra_build_key(b, n);
    int same = tra_names_find(&b->made, key);
    if (same >= 0)
        b->made.value[same] = n;
    else
        tra_names_add(&b->made, key, n);
    return n;
}

tra_node *tra_build_rekey(tra_build *b, tra_span span, tra_node *in, const char *const *names, int n,
                          const tra_keyexpr *const *expr) {
    if (!in) return NULL;
    const tra_keyfn *f = tra_keyfn_new(b->arena, in->type.cat->frontier.n, names, n, expr);
    return tra_build_made(b, TRA_OP_REKEY, span, &(tra_node){.in = {in}, .keyfn = f});
}

tra_node *tra_build_made(tra_build *b, tra_opcode op, tra_span span, const tra_node *fields) {
    tra_node *n = tra_build_node(b, op, span);
    int id = n->id;
    *n = *fields;
    n->id = id;
    n->op = op;
    n->span = span;
    return finish(b, n);
}

tra_node *tra_build_dense(tra_build *b, tra_node *n, tra_span span) {
    if (!n || !n->type.sparse) return n;
    tra_node fields = {.in = {n}, .kernel = tra_build_kernel_named(b, span, "densify", TRA_USE_MAP, 0, 0)};
    return tra_build_made(b, TRA_OP_TRANSFORM, span, &fields);
}

/* store(X, NAME) */
static tra_node *build_store(tra_build *b, const tra_ast *x) {
    if (x->nkids != 2)
        return tra_diag_error(b->d, x->span, "write store(X, csr)", "store has 2 arguments, not %d", x->nkids);
    tra_node *in = tra_build_operand_tensor(b, x->kids[0]);
    if (in && in->type.columns)
        return tra_diag_error(b->d, x->kids[0]->span, "matrix(T, [a, b]) makes a tensor of columns of a table T",
                              "store takes tensors, and this is a table");
    return in ? tra_build_store(b, in, x->kids[1], &b->stored) : NULL;
}

tra_node *tra_build_linear_call(tra_build *b, const tra_ast *x, int part, int nparts) {
    tra_node *in[2] = {NULL, NULL};
    bool ok = true;
    for (int i = 0; i < x->nkids && i < 2; i++) ok = (in[i] = tra_build_operand_tensor(b, x->kids[i])) && ok;
    return ok ? tra_build_linear(b, x, x->nkids, in, part, nparts) : NULL;
}

/* Is a join that of the algebra, which has lists of keys in place of the condition of a join of tables? Its third
 * argument tells, and where the first is a table its fourth. */
static bool joins_tensors(tra_build *b, const tra_ast *x) {
    if (strcmp(x->text, "join") != 0) return false;
    int at = x->nkids && x->kids[0]->kind == TRA_AST_NAME ? tra_names_find(&b->symbols, x->kids[0]->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    bool list = x->nkids < 3 || x->kids[2]->kind == TRA_AST_LIST;
    if (s && s->node && s->node->type.columns && (x->nkids < 4 || x->kids[3]->kind != TRA_AST_LIST)) return false;
    return list;
}

static tra_node *build_form(tra_build *b, const struct form *f, const tra_ast *x) {
    int nargs = (int)strlen(f->args);
    if (x->nkids != nargs)
        return tra_diag_error(b->d, x->span, tra_arena_printf(b->arena, "write %s", f->text),
                              "%s has %d arguments, not %d", f->name, nargs, x->nkids);
    args a = {0};
    bool ok = true;
    for (int i = 0; i < nargs; i++) ok = read_arg(b, f, i, x->kids[i], &a) && ok;
    tra_node fields = {.in = {a.in[0], a.in[1]}};
    return ok && take_args(b, f, &a, x->span, &fields) ? tra_build_made(b, f->op, x->span, &fields) : NULL;
}

static tra_node *unknown_operator(tra_build *b, const tra_ast *x) {
    const tra_operator_help *v;
    int n = tra_operator_helps(&v);
    const char **names = tra_news(b->arena, const char *, n);
    for (int i = 0; i < n; i++) names[i] = v[i].name;
    const char *near = tra_nearest(x->text, n, names), *here = tra_build_operator_here(b->arena, x->text);
    if (!here && (tra_is_aggregation(x->text) || tra_aggregate_find(x->text) >= 0))
        here = tra_arena_printf(b->arena, "write M[j] = %s X[i,j] of a tensor, group(T, [key], m = %s(x)) of a table",
                                x->text, x->text);
    return tra_diag_error(b->d, x->name_span,
                          here   ? here
                          : near ? tra_arena_printf(b->arena, "did you mean %s?", near)
                                 : "tra help operators lists them",
                          "there is no operator '%s'", x->text);
}

static tra_node *build_call(tra_build *b, const tra_ast *x) {
    if (strcmp(x->text, "store") == 0) return build_store(b, x);
    if (tra_is_linear(x->text)) return tra_build_linear_call(b, x, 0, 1);
    if (strcmp(x->text, "topk") == 0) return tra_build_top(b, x, tra_build_operand_tensor, 0, 1);
    if (strcmp(x->text, "gen") == 0) return tra_build_gen(b, x);
    if (tra_is_slice(x->text)) return tra_build_slice(b, x, tra_build_operand_tensor);
    if (tra_is_table_op(x->text) && !joins_tensors(b, x)) return tra_build_table_op(b, x, tra_build_relation);
    if (tra_is_table_derived(x->text)) return tra_build_table_derived(b, x, tra_build_relation);
    int whole = tra_whole_find(x->text);
    if (whole >= 0) return tra_build_whole_function(b, whole, x, tra_build_operand_tensor);
    int form = TRA_FIND_ROW(forms, x->text);
    if (form >= 0) return build_form(b, &forms[form], x);
    if (tra_is_whole_aggregation(x)) return tra_build_whole_aggregation(b, x, tra_build_relation);
    if (tra_is_elementwise(x)) return tra_build_elementwise(b, x, tra_build_operand_tensor);
    return unknown_operator(b, x);
}

tra_node *tra_build_operand_tensor(tra_build *b, const tra_ast *x) {
    return tra_table_as_matrix(b, x, tra_build_relation(b, x));
}

/* How a file that stands where a relation is expected becomes one. */
static const char *file_advice(tra_build *b, const char *name, const char *file) {
    const char *quote = strpbrk(file, " \t'\"$&;()*?[]<>|\\`!#~") ? "'" : "";
    return tra_arena_printf(b->arena,
                            "name the file first: input %s from \"%s\"; for tra eval, %s=%s%s%s after the program",
                            name, file, name, quote, file, quote);
}

/* The file that T.c, of no relation T, is the name of; NULL: there is none. */
static const char *file_of(const tra_build *b, const tra_ast *x) {
    bool names = x->kids[0]->kind == TRA_AST_NAME && x->kids[1]->kind == TRA_AST_NAME;
    if (!names || tra_names_find(&b->symbols, x->kids[0]->text) >= 0) return NULL;
    const char *file = tra_arena_printf(b->arena, "%s.%s", x->kids[0]->text, x->kids[1]->text);
    return access(file, F_OK) == 0 ? file : NULL;
}

tra_node *tra_build_relation(tra_build *b, const tra_ast *x) {
    const char *advice = "an operator: join agg rekey filter transform tile concat repart reblock";
    switch (x->kind) {
    case TRA_AST_NAME: {
        tra_symbol *s = tra_build_relation_symbol(b, x->text, x->span);
        return s ? s->node : NULL;
    }
    case TRA_AST_CALL: return build_call(b, x);
    case TRA_AST_INDEX:
        advice = "indices stand only in EinSum statements: C[i,k] = sum A[i,j] * B[j,k], or C[] = sum A[i,j]";
        break;
    case TRA_AST_BINARY:
    case TRA_AST_UNARY: return tra_build_elementwise(b, x, tra_build_operand_tensor);
    case TRA_AST_AGGREGATE: advice = "label the dimensions of the result: C[i] = A[i] - sum[j](B[i,j])"; break;
    case TRA_AST_NUMBER: advice = "numbers are named by: param eta = 0.01"; break;
    case TRA_AST_STRING: advice = file_advice(b, "t", x->text); break;
    case TRA_AST_LIST:
    case TRA_AST_TUPLE:
    case TRA_AST_LAMBDA:
    case TRA_AST_DESC:
    case TRA_AST_STAR:
    case TRA_AST_RANGE:
    case TRA_AST_LITERAL: break;
    case TRA_AST_COMPOSE:
        advice = x->kids[1]->kind == TRA_AST_NAME && strcmp(x->kids[1]->text, "T") == 0 ? "write transpose(A)"
                 : file_of(b, x) ? file_advice(b, x->kids[0]->text, file_of(b, x))
                 : x->kids[0]->kind == TRA_AST_NAME && x->kids[1]->kind == TRA_AST_NAME
                     ? tra_arena_printf(b->arena,
                                        "a column stands in an operator on its table: project(%s, %s), or "
                                        "group(%s, [], m = mean(%s)) of all rows",
                                        x->kids[0]->text, x->kids[1]->text, x->kids[0]->text, x->kids[1]->text)
                 : x->kids[1]->kind == TRA_AST_CALL
                     ? tra_arena_printf(b->arena, "an operator stands before what it takes: %s(..)", x->kids[1]->text)
                     : "a column is named without its table, in operators on that: project(T, a, b)";
        break;
    case TRA_AST_NAMED: advice = tra_build_equals_advice(x); break;
    }
    return tra_diag_error(b->d, x->span, advice, "a relation is expected here");
}
