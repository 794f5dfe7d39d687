/* slice.c - slice, stack and topk. A part of a tensor, and a tensor at its place in a stack, are repartitions whose
 * result begins elsewhere than their operand. The greatest elements of rows are those of each block, and then of these.
 */
#include "build.h"

#include "lower.h"
#include "table_build.h"

#include <string.h>
#include <xxhash.h>

static const char *const names[] = {"slice", "stack", NULL};

const char *tra_slice_name(int i) { return names[i]; }

bool tra_is_slice(const char *name) { return strcmp(name, names[0]) == 0 || strcmp(name, names[1]) == 0; }

/* The shape of an operand that is a tensor in blocks of known extents; false after a diagnostic. */
static bool shape_of(tra_build *b, const tra_ast *x, const char *name, const tra_node *n, tra_dims *shape) {
    const char *why;
    if (!tra_table_is_numbers(b, n, name, x->span)) return false;
    if (n->type.columns || n->type.bounded)
        return tra_diag_error(b->d, x->span, "of a table: filter, limit", "%s takes tensors of known extents", name);
    if (!tra_type_is_blocked(&n->type, &why))
        return tra_diag_error(b->d, x->span, NULL, "%s takes tensors in blocks; of this relation %s", name, why);
    tra_type_shape(&n->type, shape);
    return true;
}

/* A range from:to of a dimension, as functions of the turns of loops. */
typedef struct range {
    const tra_keyexpr *from, *to; /* NULL: the end of the dimension */
    int64_t step;
} range;

/* A slice that is being built. turns: the counters on which it depends. */
typedef struct slicing {
    tra_build *b;
    const tra_ast *list;
    tra_turns turns;
    tra_dims shape;
    range at[TRA_MAXDIM];
} slicing;

static bool has_turn(const tra_keyexpr *x) { return x && (x->op == TRA_KEY_VAR || has_turn(x->a) || has_turn(x->b)); }

static bool read_range(slicing *w, int d) {
    const tra_ast *x = w->list->kids[d];
    if (x->kind != TRA_AST_RANGE)
        return tra_diag_error(w->b->d, x->span,
                              "write from:to or from:to:step, of which ends may be left out: [0:10, ::2, :]",
                              "slice takes a range of each dimension");
    range *r = &w->at[d];
    r->step = 1;
    if (x->nkids > 2 && !tra_build_int(w->b, x->kids[2], "a step", INT64_MIN, &r->step)) return false;
    if (r->step == 0)
        return tra_diag_error(w->b->d, x->kids[2]->span, "a step back is written ::-1", "a step is not 0");
    bool from = x->kids[0]->kind != TRA_AST_STAR, to = x->kids[1]->kind != TRA_AST_STAR;
    if (from && !tra_build_int_of_turn(w->b, x->kids[0], "the begin of a range", &r->from, &w->turns)) return false;
    return !to || tra_build_int_of_turn(w->b, x->kids[1], "the end of a range", &r->to, &w->turns);
}

/* The range of dimension d in the turn of that number; false after a diagnostic. A range with a step back begins above
 * its end, and an end that is left out is then one before the first position. */
static bool range_in(const slicing *w, int d, int64_t turn, int64_t *from, int64_t *to) {
    tra_dims key = {0};
    const tra_span span = w->list->kids[d]->span;
    int64_t n = w->shape.v[d];
    tra_err e = {0};
    bool back = w->at[d].step < 0;
    tra_turns_key(w->b, &w->turns, turn, &key);
    *from = back ? n - 1 : 0, *to = back ? -1 : n;
    if ((w->at[d].from && tra_keyexpr_eval(w->at[d].from, &key, from, &e) != TRA_OK) ||
        (w->at[d].to && tra_keyexpr_eval(w->at[d].to, &key, to, &e) != TRA_OK))
        return tra_diag_error(w->b->d, span, NULL, "%s", e.msg);
    if (back ? *from < n && *to <= *from && *to >= -1 : *from >= 0 && *from <= *to && *to <= n) return true;
    const char *when = w->turns.n ? tra_turns_text(w->b, &w->turns, turn) : "";
    return tra_diag_error(
        w->b->d, span,
        back ? "a range from:to:-1 has the positions from, from - 1, ..., to + 1; write 10::-1 for all down to 0"
             : "a range from:to has the positions from, ..., to - 1",
        "%s%sthis dimension has %" PRId64 " positions, of which %" PRId64 ":%" PRId64 " is no range", when,
        *when ? " " : "", n, *from, *to);
}

/* Sets the origins of all turns. The slice has the same extents in each. */
static bool find_origins(const slicing *w, tra_node *fields) {
    int64_t turns;
    int loop = tra_turns_loop(w->b, &w->turns, &turns);
    if (!tra_turns_countable(w->b, w->list, turns)) return false;
    int64_t *v = tra_arena_array(w->b->arena, (size_t)turns * w->shape.n, sizeof *v);
    for (int64_t t = 0; t < turns; t++)
        for (int d = 0; d < w->shape.n; d++) {
            int64_t to, *from = &v[t * w->shape.n + d];
            if (!range_in(w, d, t, from, &to)) return false;
            if (to - *from == fields->slice.extent.v[d]) continue;
            return tra_diag_error(w->b->d, w->list->kids[d]->span, "write for instance t*b : (t+1)*b",
                                  "%s the range has %" PRId64 " positions, %s %" PRId64,
                                  tra_turns_text(w->b, &w->turns, t), to - *from, tra_turns_text(w->b, &w->turns, 0),
                                  fields->slice.extent.v[d]);
        }
    for (int k = 0; k < w->turns.n; k++)
        if (w->turns.counter[k]->node->input.loop == loop) fields->slice.turn = w->turns.counter[k]->node;
    fields->slice.origins = v;
    fields->slice.norigins = turns;
    fields->slice.digest = XXH64(v, (size_t)turns * (size_t)w->shape.n * sizeof *v, (uint64_t)loop);
    return true;
}

/* The positions of x along dimension d that a range with a step has. */
static tra_node *take_steps(slicing *w, const tra_ast *call, tra_node *x, int d) {
    enum { MOST = 1 << 26 };
    tra_build *b = w->b;
    int64_t from, to, step = w->at[d].step;
    if (!range_in(w, d, 0, &from, &to)) return NULL;
    int64_t n = tra_ceil_div(step > 0 ? to - from : from - to, step > 0 ? step : tra_max64(step, -INT64_MAX) * -1);
    bool turn = has_turn(w->at[d].from) || has_turn(w->at[d].to);
    if (turn || w->shape.v[d] > MOST)
        return tra_diag_error(
            b->d, w->list->kids[d]->span, "take the range first, and of it the steps: slice(Y, [::2])",
            turn ? "a range that depends on the turn has no step" : "a range with a step is of at most %d positions",
            MOST);
    int64_t *position = tra_news(b->arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) position[i] = from + i * step;
    tra_take *t = tra_new(b->arena, tra_take);
    *t = (tra_take){.dim = d, .from = position};
    tra_table_builder taken = {.b = b, .call = call, .in = x, .op.op = TRA_TABLE_ALIGN};
    const tra_dim_labels *l = tra_labels_of_dim(x, d);
    const tra_dim_order *order = tra_order_of_dim(x, d);
    tra_node *y = tra_table_taken(&taken, t, n);
    if (y) tra_set_dim(b, y, d, l ? tra_dim_labels_at(b->arena, l, position, n) : NULL, order);
    return y;
}

static tra_node *build_slice(tra_build *b, const tra_ast *call, tra_build_operand *operand) {
    if (call->nkids != 2 || call->kids[1]->kind != TRA_AST_LIST)
        return tra_diag_error(b->d, call->span, "write slice(X, [0:10, :])",
                              "slice has a relation and a list of ranges");
    tra_node fields = {.in = {operand(b, call->kids[0])}};
    slicing w = {.b = b, .list = call->kids[1]};
    bool ok = true, all = true;
    if (!fields.in[0] || !shape_of(b, call->kids[0], "slice", fields.in[0], &w.shape)) return NULL;
    if (w.list->nkids != w.shape.n)
        return tra_diag_error(b->d, w.list->span, "write : for a whole dimension",
                              "%d ranges for a tensor of %d dimensions", w.list->nkids, w.shape.n);
    for (int d = 0; d < w.shape.n; d++) ok = read_range(&w, d) && ok;
    for (int d = 0; d < w.shape.n && ok; d++) /* their positions do not change those along other dimensions */
        if (w.at[d].step != 1) ok = (fields.in[0] = take_steps(&w, call, fields.in[0], d)) != NULL;
    if (!ok) return NULL;
    tra_dims now;
    tra_type_shape(&fields.in[0]->type, &now);
    fields.block = fields.in[0]->type.cat->bound;
    fields.slice.origin.n = fields.slice.extent.n = w.shape.n;
    for (int d = 0; d < w.shape.n; d++) {
        if (w.at[d].step != 1) w.at[d] = (range){.step = 1}, w.shape.v[d] = now.v[d];
        int64_t to = 0;
        ok = range_in(&w, d, 0, &fields.slice.origin.v[d], &to) && ok;
        fields.slice.extent.v[d] = to - fields.slice.origin.v[d];
        fields.block.v[d] = tra_max64(1, tra_min64(fields.block.v[d], fields.slice.extent.v[d]));
        all = all && fields.slice.extent.v[d] == w.shape.v[d];
    }
    if (!ok || (w.turns.n && !find_origins(&w, &fields))) return NULL;
    return all ? fields.in[0] : tra_build_made(b, TRA_OP_REPART, call->span, &fields);
}

/* Sets *total to the sum of the operands' extents along `dim`; false, after a diagnostic, if they differ along another
 * dimension. */
static bool check_stack(tra_build *b, const tra_ast *call, int n, const tra_dims *shape, int dim, int64_t *total) {
    char text[TRA_DIMTEXT], first[TRA_DIMTEXT];
    *total = 0;
    for (int i = 0; i < n; i++) {
        bool fits = shape[i].n == shape[0].n;
        for (int d = 0; fits && d < shape[0].n; d++) fits = d == dim || shape[i].v[d] == shape[0].v[d];
        if (!fits)
            return tra_diag_error(b->d, call->kids[i]->span, NULL,
                                  "stack takes tensors that differ along dimension %d alone, not %s beside %s", dim,
                                  tra_shape_text(&shape[i], text), tra_shape_text(&shape[0], first));
        *total = tra_add_most(*total, shape[i].v[dim]);
    }
    return true;
}

/* A tensor as large as the stack that has x, of that shape, from position `at` on along dim, and is 0 elsewhere. */
static tra_node *place_in_stack(tra_build *b, const tra_ast *call, tra_node *x, const tra_dims *block,
                                const tra_dims *shape, int dim, int64_t at, int64_t total) {
    tra_node fields = {.in = {x}, .block = *block, .slice = {.origin = {.n = shape->n}, .extent = *shape}};
    fields.slice.origin.v[dim] = -at;
    fields.slice.extent.v[dim] = total;
    return tra_build_made(b, TRA_OP_REPART, call->span, &fields);
}

/* The sum of two tensors of which one is 0 at each position; of bools, which have no sum, the maximum. */
static tra_node *add(tra_build *b, const tra_ast *call, tra_node *x, tra_node *y) {
    bool bools = x->type.dtype == TRA_BOOL && y->type.dtype == TRA_BOOL;
    tra_node fields = {.in = {x, y}, .join.l = {.n = x->type.cat->frontier.n}};
    for (int d = 0; d < fields.join.l.n; d++) fields.join.l.v[d] = d;
    fields.join.r = fields.join.l;
    fields.kernel = tra_build_kernel_named(b, call->span, bools ? "elemmax" : "matadd", TRA_USE_JOIN, 0, 0);
    return !fields.kernel ? NULL : tra_build_made(b, TRA_OP_JOIN, call->span, &fields);
}

/* Sets what dimension d of the stack of x[0] to x[n - 1] stands for: if they are stacked along it the labels of all,
 * one after the other; else those that they have, which must be equal. False after a diagnostic. */
static bool label_stack(tra_build *b, const tra_ast *call, tra_node *all, int n, tra_node *const *x, int d,
                        bool stacked) {
    tra_meeting m = {0};
    const tra_dim_labels *labels = tra_labels_of_dim(x[0], d);
    const tra_dim_order *order = tra_order_of_dim(x[0], d);
    const char *what = tra_arena_printf(b->arena, "dimension %d of the stack", d);
    for (int i = 0; i < n; i++) {
        if (!stacked && !tra_meeting_add(b, call->span, &m, what, x[i], d)) return false;
        const tra_dim_labels *l = tra_labels_of_dim(x[i], d);
        const tra_dim_order *o = tra_order_of_dim(x[i], d);
        if (stacked && i > 0) labels = l && labels ? tra_dim_labels_both(b->arena, labels, l) : NULL;
        if (stacked && o && (!order || o->by > order->by)) order = o;
    }
    tra_set_dim(b, all, d, stacked ? labels : m.labels, stacked ? order : tra_meeting_order(&m));
    return true;
}

static tra_node *build_stack(tra_build *b, const tra_ast *call, tra_build_operand *operand) {
    enum { MOST = 64 }; /* operands */
    int n = call->nkids - 1;
    int64_t dim, total, at = 0;
    if (n < 1 || n > MOST)
        return tra_diag_error(b->d, call->span, "write stack(A, B, 0)", "stack has 1 to %d relations and a dimension",
                              MOST);
    tra_node *x[MOST], *all = NULL;
    tra_dims shape[MOST];
    bool ok = true;
    for (int i = 0; i < n; i++) {
        x[i] = operand(b, call->kids[i]);
        ok = x[i] && shape_of(b, call->kids[i], "stack", x[i], &shape[i]) && ok;
    }
    if (!ok || !tra_build_int(b, call->kids[n], "a dimension", 0, &dim)) return NULL;
    if (dim >= shape[0].n)
        return tra_diag_error(b->d, call->kids[n]->span, NULL, "dimension %" PRId64 " of a tensor of %d", dim,
                              shape[0].n);
    if (!check_stack(b, call, n, shape, (int)dim, &total)) return NULL;
    tra_dims block = x[0]->type.cat->bound;
    for (int d = 0; d < block.n; d++) block.v[d] = tra_max64(1, block.v[d]);
    for (int i = 0; i < n && n > 1; i++) {
        tra_node *y = place_in_stack(b, call, x[i], &block, &shape[i], (int)dim, at, total);
        all = !y ? NULL : i == 0 ? y : add(b, call, all, y);
        if (!all) return NULL;
        at += shape[i].v[dim];
    }
    if (n > 1) all->labels = NULL, all->order = NULL;
    for (int d = 0; d < shape[0].n && n > 1; d++)
        if (!label_stack(b, call, all, n, x, d, d == dim)) return NULL;
    return n == 1 ? x[0] : all;
}

tra_node *tra_build_slice(tra_build *b, const tra_ast *call, tra_build_operand *operand) {
    return (strcmp(call->text, "slice") == 0 ? build_slice : build_stack)(b, call, operand);
}

/* ---- topk -------------------------------------------------------------------------------------------------------- */

/* The k greatest (least) elements of each row of each array of x; or, if `at` is not NULL, what `at` has at their
 * positions: its keys are the last ones of x. */
static tra_node *top_of(tra_build *b, const tra_ast *call, tra_node *x, tra_node *at, bool least, int64_t k) {
    tra_kernel_use use = at ? TRA_USE_JOIN : TRA_USE_MAP;
    tra_node fields = {.in = {x, at}};
    fields.kernel = tra_build_kernel_named(b, call->span, least ? "leastk" : "topk", use, 1, (double)k);
    if (!fields.kernel) return NULL;
    int n = x->type.cat->frontier.n, keys = at ? at->type.cat->frontier.n : 0;
    fields.join.l.n = fields.join.r.n = keys;
    for (int i = 0; i < keys; i++) fields.join.l.v[i] = n - keys + i, fields.join.r.v[i] = i;
    return tra_build_made(b, at ? TRA_OP_JOIN : TRA_OP_TRANSFORM, call->span, &fields);
}

/* Concatenates the arrays along the last dimension. */
static tra_node *concat_rows(tra_build *b, const tra_ast *call, tra_node *x) {
    int last = x->type.cat->frontier.n - 1;
    tra_node fields = {.in = {x}, .keydim = last, .dim = last};
    return tra_build_made(b, TRA_OP_CONCAT, call->span, &fields);
}

/* The relation with one more key dimension, 0. */
static tra_node *add_zero_key(tra_build *b, const tra_ast *call, tra_node *x) {
    const tra_keyexpr *key[TRA_MAXDIM + 1];
    int n = x->type.cat->frontier.n;
    for (int i = 0; i < n; i++) key[i] = tra_keyexpr_component(b->arena, i);
    key[n] = tra_keyexpr_int(b->arena, 0);
    return tra_build_rekey(b, call->span, x, NULL, n + 1, key);
}

/* A tensor without elements in blocks that are whole along the last dimension: without tuples it could not be
 * concatenated. Any other tensor as it is. */
static tra_node *whole_rows(tra_build *b, const tra_ast *call, tra_node *x) {
    tra_node fields = {.in = {x}, .block = x->type.cat->bound};
    tra_dims shape;
    tra_type_shape(&x->type, &shape);
    if (tra_catalog_elements(x->type.cat) > 0) return x;
    for (int d = 0; d < shape.n; d++)
        fields.block.v[d] = tra_max64(1, d == shape.n - 1 ? shape.v[d] : fields.block.v[d]);
    return tra_build_made(b, TRA_OP_REPART, call->span, &fields);
}

/* The first k of each row of a dense tensor: their values, or their positions. */
static tra_node *top_values(tra_build *b, const tra_ast *call, tra_node *x, bool positions, bool least, int64_t k) {
    if (x->type.cat->grid && !(x = whole_rows(b, call, x))) return NULL;
    const tra_catalog *c = x->type.cat;
    int last = c->bound.n - 1;
    tra_dims shape;
    tra_type_shape(&x->type, &shape);
    tra_node *at = positions ? tra_positions(b, call->span, shape.v[last], c->bound.v[last]) : NULL;
    if (positions && !at) return NULL;
    if (c->grid && c->frontier.v[last] <= 1) return top_of(b, call, x, at, least, k);
    tra_node *values = top_of(b, call, x, NULL, least, k), *places = NULL;
    if (values) values = concat_rows(b, call, values);
    if (positions && values) places = top_of(b, call, x, at, least, k);
    if (places) places = concat_rows(b, call, places);
    if (!values || (positions && !places)) return NULL;
    tra_node *top = top_of(b, call, values, places, least, k);
    return top ? add_zero_key(b, call, top) : NULL;
}

/* Gives a result of topk the labels that x has of all dimensions but the last. Returns top, which may be NULL, as may
 * x then. */
static tra_node *copy_row_labels(tra_build *b, tra_node *top, const tra_node *x, int rank) {
    if (!top) return NULL;
    top->labels = NULL;
    top->order = NULL;
    for (int d = 0; d < rank - 1; d++) tra_set_dim(b, top, d, tra_labels_of_dim(x, d), tra_order_of_dim(x, d));
    return top;
}

/* The first k of each row of any tensor. */
static tra_node *top_of_rows(tra_build *b, const tra_ast *call, tra_node *x, bool positions, bool least, int64_t k) {
    int rank = x->type.cat->bound.n;
    bool entries = x->type.sparse && x->type.cat->grid && !x->type.bounded; /* rows of entries have their own way */
    if (!entries) x = tra_build_dense(b, x, call->span);
    if (x && !x->type.cat->grid) { /* fills holes, since their zeros have positions too */
        tra_node fields = {.in = {x}, .block = x->type.cat->bound};
        x = tra_build_made(b, TRA_OP_REPART, call->span, &fields);
    }
    tra_node *top = x ? top_values(b, call, x, positions, least, k) : NULL;
    if (!top || x->type.cat->bound.v[rank - 1] >= k) return copy_row_labels(b, top, x, rank);
    tra_node fields = {.in = {top}, .block = x->type.cat->bound}; /* in the blocks of X */
    return copy_row_labels(b, tra_build_made(b, TRA_OP_REPART, call->span, &fields), x, rank);
}

tra_node *tra_build_top(tra_build *b, const tra_ast *call, tra_build_operand *operand, int part, int nparts) {
    const char *advice = "write values, positions = topk(X, 3), or topk(X, 3, least)";
    bool least = call->nkids == 3 && call->kids[2]->kind == TRA_AST_NAME && !strcmp(call->kids[2]->text, "least");
    if ((call->nkids != 2 && !least) || nparts != 2)
        return tra_diag_error(b->d, call->span, advice,
                              nparts != 2 ? "topk has 2 results" : "topk has a relation and a number");
    tra_node *x = operand(b, call->kids[0]);
    int64_t k;
    tra_dims shape;
    if (!x || !shape_of(b, call->kids[0], "topk", x, &shape)) return NULL;
    if (!tra_build_int(b, call->kids[1], "the number of places", 1, &k)) return NULL;
    if (shape.n == 0 || shape.v[shape.n - 1] < k)
        return tra_diag_error(b->d, call->kids[1]->span, NULL,
                              "topk of %" PRId64 " places of a last dimension of %" PRId64, k,
                              shape.n ? shape.v[shape.n - 1] : 0);
    return top_of_rows(b, call, x, part == 1, least, k);
}

tra_node *tra_top_of(tra_build *b, tra_span span, tra_node *x, bool positions, bool least, int64_t k) {
    const tra_ast call = {.span = span, .name_span = span};
    return top_of_rows(b, &call, x, positions, least, k);
}
