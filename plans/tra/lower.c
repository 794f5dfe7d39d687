/* lower.c - lowering of EinSum expressions to joins, aggregations and maps; sums of products are in lower_sums.c. */
#include "lower_int.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

static uint64_t bit(int label) { return (uint64_t)1 << label; }

uint64_t tra_lower_set_of(int n, const int *v) {
    uint64_t s = 0;
    for (int i = 0; i < n; i++) s |= bit(v[i]);
    return s;
}

static int index_of(int n, const int *v, int label) {
    for (int i = 0; i < n; i++)
        if (v[i] == label) return i;
    return -1;
}

static bool same_list(int n, const int *a, int m, const int *b) {
    return n == m && (n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0);
}

int tra_lower_operand(tra_lowering *w, const tra_operand *x) {
    TRA_ARENA_ROOM(w->b->arena, w->operand, w->noperands, w->cap);
    w->operand[w->noperands] = *x;
    return w->noperands++;
}

/* ---- expressions ----------------------------------------------------------------------------------------------- */

uint64_t tra_lower_labels_of(const tra_lowering *w, const tra_scalar *e) {
    if (e->op == TRA_S_ARG) return tra_lower_set_of(w->operand[e->arg].n, w->operand[e->arg].label);
    return (e->a ? tra_lower_labels_of(w, e->a) : 0) | (e->b ? tra_lower_labels_of(w, e->b) : 0) |
           (e->c ? tra_lower_labels_of(w, e->c) : 0);
}

int tra_lower_arguments(const tra_scalar *e, int n, int v[3]) {
    if (e->op == TRA_S_ARG) {
        if (n < 3 && index_of(n, v, e->arg) < 0) v[n++] = e->arg;
        return n;
    }
    if (e->a) n = tra_lower_arguments(e->a, n, v);
    if (e->b) n = tra_lower_arguments(e->b, n, v);
    return e->c ? tra_lower_arguments(e->c, n, v) : n;
}

static int count_arguments(const tra_scalar *e) { return tra_lower_arguments(e, 0, (int[3]){0}); }

/* Does one operand of e have all labels of the set? Then an element-wise pass costs no more than reading that one. */
static bool has_full_operand(const tra_lowering *w, const tra_scalar *e, uint64_t all) {
    if (e->op == TRA_S_ARG) return tra_lower_labels_of(w, e) == all;
    return (e->a && has_full_operand(w, e->a, all)) || (e->b && has_full_operand(w, e->b, all)) ||
           (e->c && has_full_operand(w, e->c, all));
}

bool tra_lower_is_outer(const tra_lowering *w, const tra_scalar *e, int pair[2]) {
    int v[3];
    if (tra_lower_arguments(e, 0, v) != 2 || has_full_operand(w, e, tra_lower_labels_of(w, e))) return false;
    memcpy(pair, v, 2 * sizeof *v);
    return true;
}

bool tra_lower_has_only(const tra_scalar *e, const int pair[2]) {
    int v[3], n = tra_lower_arguments(e, 0, v);
    for (int i = 0; i < n; i++)
        if (n > 2 || index_of(2, pair, v[i]) < 0) return false;
    return true;
}

/* The operand of e with most labels; the first of them. */
static int widest(const tra_lowering *w, const tra_scalar *e, int best) {
    if (e->op == TRA_S_ARG) return best < 0 || w->operand[e->arg].n > w->operand[best].n ? e->arg : best;
    if (e->a) best = widest(w, e->a, best);
    if (e->b) best = widest(w, e->b, best);
    return e->c ? widest(w, e->c, best) : best;
}

label_list tra_lower_ordered(const tra_lowering *w, const tra_scalar *e, uint64_t set) {
    label_list r = {0};
    const tra_operand *x = &w->operand[widest(w, e, -1)];
    for (int d = 0; d < x->n; d++)
        if (set & bit(x->label[d])) r.v[r.n++] = x->label[d];
    for (int l = 0; l < w->nlabels; l++)
        if ((set & bit(l)) && index_of(r.n, r.v, l) < 0) r.v[r.n++] = l;
    return r;
}

/* e with argument v[i] replaced by argument i, for all n. */
static const tra_scalar *renumber(tra_lowering *w, const tra_scalar *e, int n, const int *v) {
    if (e->op == TRA_S_ARG) return tra_scalar_argument(w->b->arena, index_of(n, v, e->arg));
    if (e->op == TRA_S_CONST) return e;
    return tra_scalar_of3(w->b->arena, e->op, renumber(w, e->a, n, v), e->b ? renumber(w, e->b, n, v) : NULL,
                          e->c ? renumber(w, e->c, n, v) : NULL);
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

tra_node *tra_lower_node(tra_lowering *w, tra_opcode op, const tra_node *fields) {
    tra_node probe = *fields;
    probe.op = op;
    int made = tra_names_find(&w->b->made, tra_build_key(w->b, &probe));
    if (made >= 0) return w->b->made.value[made];
    return tra_build_made(w->b, op, w->span, fields);
}

tra_node *tra_lower_set_labels(tra_lowering *w, tra_node *n, const int *label) {
    if (!n) return NULL;
    size_t k = (size_t)n->type.cat->frontier.n;
    n->label = tra_news(w->b->arena, int, k);
    if (k) memcpy((int *)n->label, label, k * sizeof *label);
    return n;
}

static tra_node *fail(tra_lowering *w, const tra_err *e) {
    return tra_diag_error(w->b->d, w->span, NULL, "%s", e->msg);
}

/* Names the arguments of a function as their relations are named, if these names differ. */
static void name_arguments(const tra_lowering *w, int n, const int *v, const char **names) {
    static const char *const plain[] = {"x", "y"};
    for (int i = 0; i < n; i++) names[i] = w->operand[v[i]].node->name;
    bool use = names[0] && (n == 1 || (names[1] && strcmp(names[0], names[1]) != 0));
    for (int i = 0; i < n && !use; i++) names[i] = plain[i];
}

/* Chooses a letter for each label of the set in an Einstein string: the name of the label if it is one letter, else its
 * initial, else any. */
static void choose_letters(const tra_lowering *w, uint64_t set, char *letter) {
    bool taken[128] = {false};
    for (int pass = 0; pass < 3; pass++)
        for (int l = 0; l < w->nlabels; l++) {
            if (!(set & bit(l)) || (pass && letter[l])) continue;
            int c = (unsigned char)w->name[l][0];
            letter[l] = 0;
            if (pass == 2)
                for (c = 'a'; taken[c]; c = c == 'z' ? 'A' : c + 1) assert(c != 'Z');
            if ((pass == 0 && w->name[l][1]) || !isalpha(c) || taken[c]) continue;
            letter[l] = (char)c;
            taken[c] = true;
        }
}

/* Writes the Einstein string of a kernel of n operands v to text: "ij,jk->ik". */
static const char *einsum_text(const tra_lowering *w, int n, const int *v, const label_list *out, char *text) {
    char letter[TRA_MAXLABELS] = {0};
    uint64_t set = 0;
    char *to = text;
    for (int i = 0; i < n; i++) set |= tra_lower_set_of(w->operand[v[i]].n, w->operand[v[i]].label);
    choose_letters(w, set, letter);
    for (int i = 0; i < n; i++) {
        if (i) *to++ = ',';
        for (int d = 0; d < w->operand[v[i]].n; d++) *to++ = letter[w->operand[v[i]].label[d]];
    }
    *to++ = '-';
    *to++ = '>';
    for (int d = 0; d < out->n; d++) *to++ = letter[out->v[d]];
    *to = 0;
    return text;
}

static const char *fold_name(tra_scalar_op fold) {
    return fold == TRA_S_ADD ? "matadd" : fold == TRA_S_MUL ? "elemmul" : fold == TRA_S_MAX ? "elemmax" : "elemmin";
}

/* Completes a result x of which the arrays have the labels of out already, and the key dimensions the labels `key`:
 * folds over the key dimensions that out lacks, or brings them into the order of out, and multiplies by scale. */
static tra_node *over_keys(tra_lowering *w, tra_node *x, const label_list *key, tra_scalar_op fold, double scale,
                           const label_list *out) {
    if (!x) return NULL;
    const tra_kernel *times = scale != 1 ? tra_build_kernel_named(w->b, w->span, "scale", TRA_USE_MAP, 1, scale) : NULL;
    if (key->n > out->n) {
        tra_node agg = {.in = {x},
                        .kernel = tra_build_kernel_named(w->b, w->span, fold_name(fold), TRA_USE_AGG, 0, 0),
                        .group = {.n = out->n}};
        for (int d = 0; d < out->n; d++) agg.group.v[d] = index_of(key->n, key->v, out->v[d]);
        if (times) agg.kernel = tra_kernel_then(w->b->arena, agg.kernel, times);
        return tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_AGG, &agg), out->v);
    }
    if (!same_list(key->n, key->v, out->n, out->v)) {
        tra_keyfn *f = tra_new(w->b->arena, tra_keyfn);
        f->arity = f->n = out->n;
        for (int d = 0; d < out->n; d++) {
            f->names[d] = w->name[key->v[d]];
            f->expr[d] = tra_keyexpr_component(w->b->arena, index_of(key->n, key->v, out->v[d]));
        }
        x = tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_REKEY, &(tra_node){.in = {x}, .keyfn = f}), out->v);
    }
    if (!x || !times) return x;
    return tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_TRANSFORM, &(tra_node){.in = {x}, .kernel = times}),
                                out->v);
}

static bool is_arg(const tra_scalar *e, int i) { return e && e->op == TRA_S_ARG && e->arg == i; }

/* e, an expression of n operands v, computed as i64 if a sum or product over labels follows and an operand has a
 * narrower integer type. A kernel of the table that gets a float and an integer computes in floats anyway. */
static const tra_scalar *widen_narrow(tra_lowering *w, const tra_scalar *e, int n, const int *v) {
    bool floats = false, narrow = false;
    for (int i = 0; i < n; i++) {
        tra_dtype t = w->operand[v[i]].node->type.dtype;
        floats = floats || tra_dtype_is_float(t);
        narrow = narrow || (!tra_dtype_is_float(t) && tra_dtype_rows[t].sum != t);
    }
    bool computes = e->op != TRA_S_ARG && (e->a->op != TRA_S_ARG || e->b || e->op == TRA_S_NEG || e->op == TRA_S_ABS);
    return w->sums && narrow && computes && !(floats && n == 2 && is_arg(e->a, 0) && is_arg(e->b, 1))
               ? tra_scalar_of(w->b->arena, TRA_S_WIDE, e, NULL)
               : e;
}

/* The element-wise kernel of e, an expression of argument 0; NULL: it is the identity. */
static const tra_kernel *map_kernel(tra_lowering *w, const tra_scalar *e, const char *const *names) {
    if (e->op == TRA_S_ARG) return NULL;
    if (!e->b && is_arg(e->a, 0) && tra_scalar_find(tra_scalar_text(e->op), 1) >= 0)
        return tra_build_kernel_named(w->b, w->span, tra_scalar_text(e->op), TRA_USE_MAP, 0, 0);
    if (e->op == TRA_S_MUL && tra_scalar_is_plain(e->a) && is_arg(e->b, 0))
        return tra_build_kernel_named(w->b, w->span, "scale", TRA_USE_MAP, 1, e->a->value);
    if (e->op == TRA_S_MUL && tra_scalar_is_plain(e->b) && is_arg(e->a, 0))
        return tra_build_kernel_named(w->b, w->span, "scale", TRA_USE_MAP, 1, e->b->value);
    return tra_kernel_lambda(w->b->arena, e, 1, names);
}

/* tra_lower_apply for an expression of operand x alone. */
static tra_node *apply1(tra_lowering *w, const tra_scalar *expr, int x, tra_scalar_op fold, double scale,
                        const label_list *out) {
    const tra_operand *a = &w->operand[x];
    const tra_scalar *e = renumber(w, expr, 1, &x);
    const char *names[2];
    char text[2 * TRA_MAXLABELS];
    tra_err err = {0};
    label_list key = {.n = a->n};
    memcpy(key.v, a->label, (size_t)a->n * sizeof key.v[0]);
    name_arguments(w, 1, &x, names);
    const tra_scalar *element = e->op == TRA_S_ARG ? e : widen_narrow(w, e, 1, &x);
    const tra_kernel *map = a->n == out->n ? map_kernel(w, element, names) : NULL, *k = map;
    if (a->n > out->n || !same_list(a->n, a->label, out->n, out->v)) {
        /* a transpose moves elements alone, and the map comes after it */
        const tra_scalar *inside = a->n > out->n ? e : tra_scalar_argument(w->b->arena, 0);
        tra_status s = tra_kernel_aligned(w->b->arena, einsum_text(w, 1, &x, out, text), inside, fold, names, &k, &err);
        if (s != TRA_OK) return fail(w, &err);
        if (map) k = tra_kernel_then(w->b->arena, k, map);
    }
    tra_node *n = a->node;
    if (k) n = tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_TRANSFORM, &(tra_node){.in = {n}, .kernel = k}), key.v);
    return over_keys(w, n, &key, fold, scale, out);
}

/* The name of the kernel that e is, an expression of arguments 0 and 1; NULL: it has none. shorter: the second operand
 * lacks leading dimensions of the first. */
static const char *kernel_name_of_two(const tra_scalar *e, bool shorter) {
    static const struct {
        tra_scalar_op op;
        const char *name, *stretched;
    } pairs[] = {{TRA_S_ADD, "matadd", "matvecadd"},  {TRA_S_SUB, "matsub", "matvecsub"},
                 {TRA_S_MUL, "elemmul", "matvecmul"}, {TRA_S_DIV, "elemdiv", "matvecdiv"},
                 {TRA_S_MAX, "elemmax", NULL},        {TRA_S_MIN, "elemmin", NULL}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].op == e->op && is_arg(e->a, 0) && is_arg(e->b, 1))
            return shorter ? pairs[i].stretched : pairs[i].name;
    return NULL;
}

/* Are y's labels the last of x's? */
static bool is_suffix(const tra_operand *x, const tra_operand *y) {
    return y->n <= x->n && same_list(y->n, y->label, y->n, x->label + x->n - y->n);
}

/* The kernel of a join of operands v[0] and v[1], which e has as arguments 0 and 1; NULL after a diagnostic. */
static const tra_kernel *kernel_of_two(tra_lowering *w, const tra_scalar *e, const int *v, tra_scalar_op fold,
                                       const label_list *out) {
    const tra_operand *x = &w->operand[v[0]], *y = &w->operand[v[1]];
    const char *names[2], *row; /* name of a row of the kernel table */
    char text[4 * TRA_MAXLABELS];
    const tra_kernel *k = NULL;
    tra_err err = {0};
    name_arguments(w, 2, v, names);
    if (same_list(x->n, x->label, out->n, out->v) && is_suffix(x, y)) {
        e = widen_narrow(w, e, 2, v);
        row = kernel_name_of_two(e, y->n < x->n);
        return row ? tra_build_kernel_named(w->b, w->span, row, TRA_USE_JOIN, 0, 0)
                   : tra_kernel_lambda(w->b->arena, e, 2, names);
    }
    bool matrices = x->n == 2 && y->n == 2 && out->n == 2 && x->label[1] == y->label[0];
    uint64_t all = tra_lower_set_of(x->n, x->label) | tra_lower_set_of(y->n, y->label);
    if (tra_lower_set_of(out->n, out->v) == all) e = widen_narrow(w, e, 2, v); /* the kernel sums nothing itself */
    row = kernel_name_of_two(e, false);
    if (matrices && fold == TRA_S_ADD && row && e->op == TRA_S_MUL && out->v[0] == x->label[0] &&
        out->v[1] == y->label[1] && x->label[0] != y->label[1])
        return tra_build_kernel_named(w->b, w->span, "matmul", TRA_USE_JOIN, 0, 0);
    if (tra_kernel_aligned(w->b->arena, einsum_text(w, 2, v, out, text), e, fold, names, &k, &err) != TRA_OK)
        fail(w, &err);
    return k;
}

/* e with argument old[i] replaced by argument new[i]. */
static const tra_scalar *replaced(tra_lowering *w, const tra_scalar *e, const int *old, const int *new) {
    if (e->op == TRA_S_ARG) return tra_scalar_argument(w->b->arena, new[index_of(2, old, e->arg)]);
    if (e->op == TRA_S_CONST) return e;
    return tra_scalar_of3(w->b->arena, e->op, replaced(w, e->a, old, new), e->b ? replaced(w, e->b, old, new) : NULL,
                          e->c ? replaced(w, e->c, old, new) : NULL);
}

/* The number of operand x with its dimensions in the order of out; -1 after a diagnostic. */
static int transposed(tra_lowering *w, int x, tra_scalar_op fold, const label_list *out) {
    if (same_list(w->operand[x].n, w->operand[x].label, out->n, out->v)) return x;
    tra_operand result = {.node = apply1(w, tra_scalar_argument(w->b->arena, x), x, fold, 1, out), .n = out->n};
    memcpy(result.label, out->v, (size_t)out->n * sizeof out->v[0]);
    return result.node ? tra_lower_operand(w, &result) : -1;
}

/* Transposes operands v[0] and v[1] of e first, if that is of use; false after a diagnostic. Functions of elements at
 * the same place, such as A[i,j] + A[j,i] and A[i,j] * X[j], are computed entry by entry where sparse operands have one
 * order, which is that of a result with all labels: else they would be dense, or sorted and looked up. */
static bool transpose_first(tra_lowering *w, const tra_scalar *e, int *v, tra_scalar_op fold, const label_list *out) {
    label_list order = *out;
    const tra_operand *op[2] = {&w->operand[v[0]], &w->operand[v[1]]};
    const bool sparse[2] = {op[0]->node->type.sparse, op[1]->node->type.sparse};
    uint64_t of[2] = {tra_lower_set_of(op[0]->n, op[0]->label), tra_lower_set_of(op[1]->n, op[1]->label)};
    uint64_t all = tra_lower_set_of(out->n, out->v);
    bool both = sparse[0] && sparse[1] && of[0] == of[1], one = sparse[0] != sparse[1];
    bool some = one && of[sparse[1]] == all && !(of[sparse[0]] & ~all) && tra_lower_is_sparse(w, e, -1);
    if (!both && !some) return true;
    if (of[sparse[1] && !sparse[0]] != all) { /* what they have in common is folded */
        order.n = op[0]->n;
        memcpy(order.v, op[0]->label, (size_t)order.n * sizeof order.v[0]);
    }
    for (int i = 0; i < 2; i++)
        if (sparse[i] && (v[i] = transposed(w, v[i], fold, &order)) < 0) return false;
    return true;
}

/* tra_lower_apply for an expression of operands x and y. */
static tra_node *apply2(tra_lowering *w, const tra_scalar *expr, int x, int y, tra_scalar_op fold, double scale,
                        const label_list *out) {
    int old[2] = {x, y}, now[2] = {x, y};
    if (!transpose_first(w, expr, now, fold, out)) return NULL;
    expr = replaced(w, expr, old, now);
    x = now[0], y = now[1];
    const tra_operand *a = &w->operand[x], *b = &w->operand[y];
    /* the left operand is the one that has the first label of the result, and the longer one where one is aligned */
    bool swap = out->n && index_of(a->n, a->label, out->v[0]) < 0;
    if (same_list(b->n, b->label, out->n, out->v) && a->n < b->n && is_suffix(b, a)) swap = true;
    int v[2] = {swap ? y : x, swap ? x : y};
    const tra_scalar *e = renumber(w, expr, 2, v);
    bool commutes = e->op == TRA_S_ADD || e->op == TRA_S_MUL || e->op == TRA_S_MAX || e->op == TRA_S_MIN;
    if (commutes && is_arg(e->a, 1) && is_arg(e->b, 0)) e = tra_scalar_of(w->b->arena, e->op, e->b, e->a);
    a = &w->operand[v[0]], b = &w->operand[v[1]];
    tra_node join = {.in = {a->node, b->node}};
    label_list key = {.n = a->n};
    memcpy(key.v, a->label, (size_t)a->n * sizeof key.v[0]);
    for (int d = 0; d < b->n; d++) {
        int at = index_of(a->n, a->label, b->label[d]);
        if (at < 0) {
            key.v[key.n++] = b->label[d];
            continue;
        }
        join.join.l.v[join.join.l.n++] = at;
        join.join.r.v[join.join.r.n++] = d;
    }
    join.kernel = kernel_of_two(w, e, v, fold, out);
    if (!join.kernel) return NULL;
    return over_keys(w, tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_JOIN, &join), key.v), &key, fold, scale, out);
}

/* ---- two operands at a time ------------------------------------------------------------------------------------ */

/* The fold of an operand, which was reblocked for the statement, over its labels that are not in out: computed in the
 * blocks that it had before, so that only the result, which is smaller, has to be reblocked. NULL if that cannot be
 * done, or after a diagnostic. */
static tra_node *fold_then_reblock(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, const label_list *out) {
    const tra_operand *x = &w->operand[e->arg];
    tra_node *reblocked = x->node, *before = reblocked->in[0];
    if (reblocked->op != TRA_OP_REPART || reblocked->slice.origin.n) return NULL;
    if (before->type.bounded || !before->type.cat->grid) return NULL;
    if (before->type.cat->bound.n != x->n || out->n == 0) return NULL;
    tra_operand whole = {.node = before, .n = x->n};
    memcpy(whole.label, x->label, sizeof whole.label);
    tra_dims block = {.n = out->n};
    for (int d = 0; d < out->n; d++) block.v[d] = reblocked->block.v[index_of(x->n, x->label, out->v[d])];
    int arg = tra_lower_operand(w, &whole);
    tra_node *sum = apply1(w, tra_scalar_argument(w->b->arena, arg), arg, fold, 1, out);
    const tra_dims *has = sum && sum->type.cat->grid ? &sum->type.cat->bound : NULL;
    if (!sum || (has && memcmp(has->v, block.v, (size_t)out->n * sizeof *has->v) == 0)) return sum;
    return tra_lower_set_labels(w, tra_lower_node(w, TRA_OP_REPART, &(tra_node){.in = {sum}, .block = block}), out->v);
}

const tra_scalar *tra_lower_materialise(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, uint64_t keep) {
    label_list out = tra_lower_ordered(w, e, tra_lower_labels_of(w, e) & keep);
    if (e->op == TRA_S_ARG && out.n == w->operand[e->arg].n) return e;
    tra_operand x = {.node = e->op == TRA_S_ARG ? fold_then_reblock(w, e, fold, &out) : NULL, .n = out.n};
    if (!x.node) x.node = tra_lower_reduce(w, e, fold, 1, &out);
    if (!x.node) return NULL;
    assert(out.n <= TRA_MAXDIM); /* else it has no type */
    memcpy(x.label, out.v, (size_t)out.n * sizeof x.label[0]);
    return tra_scalar_argument(w->b->arena, tra_lower_operand(w, &x));
}

bool tra_lower_is_bool(const tra_lowering *w, const tra_scalar *e) {
    if (e->op == TRA_S_CONST) return false;
    if (e->op == TRA_S_ARG) return w->operand[e->arg].node->type.dtype == TRA_BOOL;
    switch (tra_scalar_class_of(e->op)) {
    case TRA_SC_BOOL: return true;
    case TRA_SC_CAST: return tra_scalar_cast(e->op) == TRA_BOOL;
    case TRA_SC_SAME:
    case TRA_SC_PRODUCT: return tra_lower_is_bool(w, e->a) && (!e->b || tra_lower_is_bool(w, e->b));
    case TRA_SC_IF: return tra_lower_is_bool(w, e->b) && tra_lower_is_bool(w, e->c);
    case TRA_SC_SUM:
    case TRA_SC_POWER:
    case TRA_SC_REAL: break;
    }
    return false;
}

tra_scalar_op tra_lower_branches(tra_lowering *w, const tra_scalar *c, const tra_scalar *branch[2]) {
    const tra_scalar *zero = tra_scalar_number(w->b->arena, 0);
    tra_arena *a = w->b->arena;
    bool bools[2] = {tra_lower_is_bool(w, branch[0]), tra_lower_is_bool(w, branch[1])};
    branch[0] = bools[0] ? tra_scalar_of(a, TRA_S_AND, c, branch[0]) : tra_scalar_of3(a, TRA_S_IF, c, branch[0], zero);
    branch[1] = bools[1] ? tra_scalar_of(a, TRA_S_AND, tra_scalar_of(a, TRA_S_NOT, c, NULL), branch[1])
                         : tra_scalar_of3(a, TRA_S_IF, c, zero, branch[1]);
    return bools[0] && bools[1] ? TRA_S_MAX : TRA_S_ADD;
}

const tra_scalar *tra_lower_split_if(tra_lowering *w, const tra_scalar *c, const tra_scalar *a, const tra_scalar *b) {
    const tra_scalar *branch[2] = {a, b};
    tra_scalar_op together = tra_lower_branches(w, c, branch);
    for (int i = 0; i < 2; i++)
        if (!(branch[i] = tra_lower_materialise(w, branch[i], TRA_S_ADD, UINT64_MAX))) return NULL;
    return tra_scalar_of(w->b->arena, together, branch[0], branch[1]);
}

/* e as an expression of at most two different arguments, some of which stand for intermediate results of parts of e;
 * NULL after a diagnostic. */
static const tra_scalar *with_two_operands(tra_lowering *w, const tra_scalar *e) {
    if (count_arguments(e) <= 2) return e;
    const tra_scalar *part[3] = {e->a, e->b, e->c};
    int reading = 0; /* parts that have arguments */
    for (int i = 0; i < 3 && part[i]; i++) reading += count_arguments(part[i]) > 0;
    for (int i = 0; i < 3 && part[i]; i++) {
        if (count_arguments(part[i]) > 1)
            part[i] =
                reading == 1 ? with_two_operands(w, part[i]) : tra_lower_materialise(w, part[i], TRA_S_ADD, UINT64_MAX);
        if (!part[i]) return NULL;
    }
    const tra_scalar *all = tra_scalar_of3(w->b->arena, e->op, part[0], part[1], part[2]);
    return count_arguments(all) <= 2 ? all : tra_lower_split_if(w, part[0], part[1], part[2]);
}

tra_node *tra_lower_apply(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale,
                          const label_list *out) {
    int v[3] = {0};
    e = with_two_operands(w, e);
    if (!e) return NULL;
    if (tra_lower_arguments(e, 0, v) == 1) return apply1(w, e, v[0], fold, scale, out);
    return apply2(w, e, v[0], v[1], fold, scale, out);
}

/* ---- any expression -------------------------------------------------------------------------------------------- */

tra_node *tra_lower_reduce(tra_lowering *w, const tra_scalar *e, tra_scalar_op fold, double scale,
                           const label_list *out) {
    uint64_t all = tra_lower_labels_of(w, e);
    if (all == tra_lower_set_of(out->n, out->v)) return tra_lower_apply(w, e, fold, scale, out);
    bool counts = (fold == TRA_S_ADD || fold == TRA_S_MAX) && e->op == TRA_S_MUL && tra_lower_is_bool(w, e);
    if (counts && count_arguments(e) > 1 && !has_full_operand(w, e, all)) /* in any order of the factors */
        return tra_lower_sum_product(w, e, fold, scale, out);
    if (fold != TRA_S_ADD) return tra_lower_apply(w, e, fold, scale, out);
    if (tra_lower_sums_branches(w, e, all, tra_lower_set_of(out->n, out->v)))
        return tra_lower_sum_branches(w, e, all, scale, out);
    if (!tra_lower_may_split(w, e)) return tra_lower_apply(w, e, fold, scale, out);
    if (tra_lower_is_product(e) && count_arguments(e) > 1) return tra_lower_sum_product(w, e, fold, scale, out);
    if (has_full_operand(w, e, all)) return tra_lower_apply(w, e, fold, scale, out);
    term_list terms = {0};
    tra_lower_split_terms(w, e, 1, &terms);
    if (terms.n > 1) return tra_lower_sum_terms(w, &terms, all, scale, out);
    return tra_lower_sum_product(w, terms.v[0].e, fold, scale * terms.v[0].times, out);
}

tra_node *tra_lower(tra_lowering *w, const tra_scalar *expr, tra_scalar_op fold, int n, const int *out) {
    label_list want = {.n = n};
    memcpy(want.v, out, (size_t)n * sizeof want.v[0]);
    return tra_lower_reduce(w, expr, fold, 1, &want);
}
