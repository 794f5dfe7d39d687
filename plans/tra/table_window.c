/* table_window.c - window: its arguments, and the nodes that compute it.
 *
 * Keys, order and operands become columns of a table of their own, with the numbers of the rows. Sorted, it gives
 * the functions of each row, which are brought back to the blocks of the operand by these numbers and put beside its
 * rows. So the other columns are not moved.
 */
#include "table_window.h"

#include "../../lib/table/window_context.h"
#include "lower.h"

#include <math.h>
#include <string.h>

/* ---- frames ---------------------------------------------------------------------------------------------------------
 */

static bool is_null(const tra_ast *x) { return x->kind == TRA_AST_NAME && !x->quoted && strcmp(x->text, "null") == 0; }

static bool refuse(const tra_table_builder *w, const tra_ast *at, const char *why) {
    tra_table_refuse(w, at, why);
    return false;
}

/* What is wrong with an end of a range over this order, x being by how much it is moved; NULL: nothing. */
static const char *check_distance(const tra_colexpr *order, const tra_colexpr *x, bool zero) {
    if (tra_coltype_is_coded(order->type)) return zero ? NULL : "a range is over numbers, dates or timestamps";
    if (order->type == TRA_COL_TIMESTAMP && x->counts == TRA_TIME_NONE && !zero)
        return "a range over timestamps has durations: range(-seconds(5), 0)";
    if (order->type == TRA_COL_DATE && tra_coltype_is_float(x->type)) return "a date moves by whole days";
    bool number = tra_coltype_is_number(order->type);
    if (number && x->counts != TRA_TIME_NONE && order->counts == TRA_TIME_NONE)
        return "the order is a number, and this a duration";
    return NULL;
}

/* The end of a range frame, over a single order (NULL: there are several, or none), as the kernel takes it. */
static bool read_distance(const tra_table_builder *w, const tra_ast *at, const tra_colexpr *order, int e,
                          tra_window_frame *f) {
    static const int64_t day = INT64_C(86400000000);
    tra_table_scope sc = tra_table_scope_of(w);
    tra_table_term t;
    if (!tra_table_build_term(&sc, "frame", at, &t)) return false;
    const tra_colexpr *x = t.x;
    if (x->op != TRA_C_CONST || x->null || !tra_coltype_is_number(x->type) || x->type == TRA_COL_BOOL)
        return refuse(w, at, "the ends of a range are null, numbers or durations: range(-days(1), null)");
    bool real = tra_coltype_is_float(x->type);
    double value = real ? x->value.f : (double)x->value.i;
    if (isnan(value)) return refuse(w, at, "the end of a frame is a number, and this is none");
    if (value == 0) return true;
    if (!order) return refuse(w, at, "a range by distance has one column of the order, and here there are others");
    const char *wrong = check_distance(order, x, false);
    if (wrong) return refuse(w, at, wrong);
    bool to_micros =
        x->counts == TRA_TIME_DAYS && (order->type == TRA_COL_TIMESTAMP || order->counts == TRA_TIME_MICROS);
    bool to_days = x->counts == TRA_TIME_MICROS && (order->type == TRA_COL_DATE || order->counts == TRA_TIME_DAYS);
    if (tra_coltype_is_float(order->type)) {
        f->real[e] = value;
        return true;
    }
    double rounded = e ? floor(value) : ceil(value); /* whole numbers lie within what is rounded inwards */
    f->whole[e] = !real ? x->value.i : rounded >= 0x1p63 ? INT64_MAX : rounded < -0x1p63 ? INT64_MIN : (int64_t)rounded;
    if (to_days && f->whole[e] % day != 0) return refuse(w, at, "a date moves by whole days");
    if (to_days) f->whole[e] /= day;
    if (to_micros && __builtin_mul_overflow(f->whole[e], day, &f->whole[e]))
        return refuse(w, at, "this is longer than 64 bits count");
    return true;
}

static bool read_frame(const tra_table_builder *w, const tra_window_by *by, const tra_ast *x, tra_window_frame *f) {
    bool rows = x->kind == TRA_AST_CALL && strcmp(x->text, "rows") == 0;
    bool range = x->kind == TRA_AST_CALL && strcmp(x->text, "range") == 0;
    if ((!rows && !range) || x->nkids != 2)
        return refuse(w, x, "a frame is rows(-2, 0), or range(-days(1), 0); null is an open end");
    if (by->norder == 0) return refuse(w, x, "a frame needs an order, and this window has none");
    *f = (tra_window_frame){.range = range};
    for (int e = 0; e < 2; e++) {
        if (is_null(x->kids[e]))
            f->open[e] = true;
        else if (range) {
            const tra_colexpr *order = by->norder == 1 ? w->op.term[by->nkeys].x : NULL;
            if (!read_distance(w, x->kids[e], order, e, f)) return false;
        } else if (!tra_build_int(w->b, x->kids[e], "a number of rows", INT64_MIN, &f->whole[e])) {
            return false;
        }
    }
    return true;
}

/* ---- keys and order -------------------------------------------------------------------------------------------------
 */

/* The columns of one list become terms; any expression may stand there, and its name is not needed. */
static bool read_list(tra_table_builder *w, const tra_ast *list, bool order, tra_table_term *to) {
    tra_table_scope sc = tra_table_scope_of(w);
    bool ok = true;
    for (int i = 0; i < list->nkids; i++) {
        const tra_ast *x = list->kids[i];
        bool desc = x->kind == TRA_AST_DESC;
        if (desc && !order) return refuse(w, x, "keys of groups have no direction; the order follows in its own list");
        if (desc || x->kind == TRA_AST_NAMED) x = x->kids[0];
        const char *name = tra_arena_printf(w->b->arena, "%s %d", order ? "order" : "key", i);
        if (!tra_table_build_term(&sc, name, x, &to[i])) {
            ok = false;
            continue;
        }
        to[i].desc = desc;
        if (to[i].x->untyped) return refuse(w, x, "null alone has no type");
    }
    return ok;
}

/* ---- functions ------------------------------------------------------------------------------------------------------
 */

static bool no_function(const tra_table_builder *w, const tra_ast *call) {
    enum { MOST = 32 };
    const char *names[MOST], *advice = NULL;
    int n = 0;
    if (call->kind != TRA_AST_CALL) return refuse(w, call, "a function has a name: r = row_number()");
    while (n < MOST && (names[n] = tra_window_name(n))) n++;
    const char *near = tra_nearest(call->text, n, names);
    if (near) advice = tra_arena_printf(w->b->arena, "did you mean %s?", near);
    tra_diag_error(w->b->d, call->name_span, advice ? advice : tra_build_named_here(call->text),
                   "there is no window function '%s': they are row_number, rank, dense_rank, ntile, lag, lead, first, "
                   "last, nth, count, sum, mean, min, max, var, std, share, median, quantile",
                   call->text);
    return false;
}

/* The positional arguments of a call, and those that have these names. */
typedef struct arguments {
    int n;
    const tra_ast *v[3], *frame;
} arguments;

static bool read_arguments(const tra_table_builder *w, const tra_ast *call, tra_window_function f, arguments *a) {
    int least, most;
    bool moves = tra_window_way_of(f) == TRA_WINDOW_MOVE, framed = tra_window_way_of(f) >= TRA_WINDOW_END;
    const char *const names[] = {NULL,
                                 moves || f == TRA_WINDOW_NTH ? "n"
                                 : f == TRA_WINDOW_QUANTILE   ? "q"
                                                              : NULL,
                                 moves ? "default" : NULL};
    *a = (arguments){0};
    tra_window_arguments(f, &least, &most);
    for (int i = 0; i < call->nkids; i++) {
        const tra_ast *x = call->kids[i];
        int at = a->n;
        if (x->kind == TRA_AST_STAR) return refuse(w, x, "write count(), the number of rows");
        if (x->kind == TRA_AST_NAMED && strcmp(x->text, "frame") == 0) {
            if (!framed) return refuse(w, x, tra_arena_printf(w->b->arena, "%s has no frame", call->text));
            a->frame = x->kids[0];
            continue;
        }
        if (x->kind == TRA_AST_NAMED) {
            for (at = 2; at > 0 && !(names[at] && strcmp(names[at], x->text) == 0);) at--;
            if (at == 0)
                return refuse(w, x, tra_arena_printf(w->b->arena, "%s has no argument '%s'", call->text, x->text));
            x = x->kids[0];
        }
        if (at >= most || a->v[at]) {
            tra_diag_error(w->b->d, call->span, NULL, "%s has %s%d argument%s, and a frame if it is given", call->text,
                           least < most ? "at most " : "", most, most == 1 ? "" : "s");
            return false;
        }
        a->v[at] = x;
        if (at == a->n) a->n++;
    }
    for (int i = 0; i < least; i++) {
        if (a->v[i]) continue;
        tra_diag_error(w->b->d, call->span, NULL, "%s has %s%d argument%s", call->text, least < most ? "at least " : "",
                       least, least == 1 ? "" : "s");
        return false;
    }
    return true;
}

static bool is_taken(const tra_table_builder *w, const char *name) {
    if (tra_schema_find(w->in->type.columns, name) >= 0) return true;
    for (int i = 0; i < w->op.narounds; i++)
        if (strcmp(w->op.around[i].name, name) == 0) return true;
    return false;
}

/* The numbers of a call: n of lag, lead, nth and ntile, q of quantile. */
static bool read_numbers(const tra_table_builder *w, const arguments *v, tra_table_around *to) {
    bool moves = tra_window_way_of(to->f) == TRA_WINDOW_MOVE;
    const tra_ast *n = to->f == TRA_WINDOW_NTILE ? v->v[0] : moves || to->f == TRA_WINDOW_NTH ? v->v[1] : NULL;
    to->n = 1;
    if (n && !tra_build_int(w->b, n, to->f == TRA_WINDOW_NTILE ? "a number of parts" : "a number of rows",
                            moves ? INT64_MIN + 1 : 1, &to->n))
        return false;
    if (to->f != TRA_WINDOW_QUANTILE) return true;
    if (!tra_build_number(w->b, v->v[1], &to->q)) return false;
    return (to->q >= 0 && to->q <= 1) || refuse(w, v->v[1], "a quantile is from 0 to 1");
}

/* Reads name = f(..) to *to, its expression to *operand, and the default of lag and lead to *otherwise. */
static bool read_function(const tra_table_builder *w, const tra_window_by *by, const tra_ast *x, tra_table_around *to,
                          tra_table_term *operand, tra_table_term *otherwise) {
    tra_table_scope sc = tra_table_scope_of(w);
    const tra_ast *call = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
    int f = call->kind == TRA_AST_CALL ? tra_window_find(call->text) : -1;
    arguments v;
    if (f < 0) return no_function(w, call);
    const char *name = x->kind == TRA_AST_NAMED ? x->text : call->nkids == 0 ? call->text : NULL;
    if (!name) return refuse(w, x, "a function has a name: s = sum(x)");
    if (is_taken(w, name)) {
        tra_diag_error(w->b->d, x->span, "give the new one another name", "there is a column '%s' already", name);
        return false;
    }
    *to = (tra_table_around){.name = name, .f = (tra_window_function)f};
    *operand = *otherwise = (tra_table_term){0};
    if (!read_arguments(w, call, to->f, &v) || !read_numbers(w, &v, to)) return false;
    bool ordered = by->norder > 0 && f != TRA_WINDOW_SHARE;
    to->frame = (tra_window_frame){.range = true, .open = {true, !ordered}};
    const tra_ast *frame = v.frame ? v.frame : tra_window_way_of(to->f) >= TRA_WINDOW_END ? by->frame : NULL;
    if (frame && !read_frame(w, by, frame, &to->frame)) return false;
    if (f == TRA_WINDOW_NTILE || !v.v[0]) return true;
    if (!tra_table_build_term(&sc, name, v.v[0], operand)) return false;
    to->ast = operand->ast;
    if (operand->x->untyped) return refuse(w, v.v[0], "null alone has no type");
    if (!tra_window_takes(to->f, operand->x->type)) {
        tra_diag_error(w->b->d, v.v[0]->span, NULL, "%s does not take values of type %s", call->text,
                       tra_coltype_name(operand->x->type));
        return false;
    }
    if (!v.v[2]) return true;
    if (!tra_table_build_term(&sc, name, v.v[2], otherwise)) return false;
    if (otherwise->x->untyped) otherwise->ast = NULL, otherwise->x = NULL; /* as without one */
    to->otherwise = otherwise->ast;
    return true;
}

/* ---- the table of keys, order and operands --------------------------------------------------------------------------
 */

typedef struct operands {
    int n;
    const char **names;
    const tra_colexpr **x;
} operands;

/* The number of the column of that expression, which is added unless a column of the table is there already. */
static int add_operand(tra_arena *a, operands *o, const tra_colexpr *x) {
    for (int k = 0; k < o->n && x->op == TRA_C_COLUMN; k++)
        if (o->x[k]->op == TRA_C_COLUMN && o->x[k]->column == x->column) return k;
    o->names[o->n] = tra_arena_printf(a, "%d", o->n);
    o->x[o->n] = x;
    return o->n++;
}

/* The operand of a function as the kernel takes it: totals of shares are of floats. */
static const tra_colexpr *as_operand(tra_arena *a, tra_window_function f, const tra_colexpr *x) {
    tra_err e = {0};
    if (f != TRA_WINDOW_SHARE) return x;
    return tra_colexpr_convert(a, x, TRA_COL_F64, NULL, &x, &e) == TRA_OK ? x : NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------------
 */

static void add_frame_text(const tra_window_frame *f, tra_str *s) {
    tra_str_add(s, f->range ? " range" : " rows");
    for (int e = 0; e < 2; e++) {
        if (f->open[e])
            tra_str_add(s, " open");
        else
            tra_str_printf(s, " %" PRId64 " %.17g", f->whole[e], f->real[e]);
    }
}

static const char *kernel_text(const tra_window *x, tra_arena *a) {
    tra_str s = {0};
    tra_str_printf(&s, "window of %d keys, order of %d", x->nkeys, x->norder);
    for (int k = 0; k < x->norder; k++)
        if (x->desc[x->nkeys + k]) tra_str_printf(&s, " %d desc", k);
    for (int i = 0; i < x->n; i++) {
        const tra_window_column *v = &x->v[i];
        tra_str_printf(&s, ", %s = %s(", v->name, tra_window_text(v->f));
        if (v->column >= 0) tra_str_printf(&s, "%d", v->column);
        if (tra_window_way_of(v->f) == TRA_WINDOW_MOVE || v->n > 1) tra_str_printf(&s, ", %" PRId64, v->n);
        if (v->f == TRA_WINDOW_QUANTILE) tra_str_printf(&s, ", %.17g", v->q);
        tra_str_add(&s, ")");
        if (tra_window_way_of(v->f) >= TRA_WINDOW_END) add_frame_text(&v->frame, &s);
    }
    return tra_table_text(a, &s);
}

/* The functions of all rows of `in`, which are whole groups, or the context of a part, with what that reaches; by
 * number of the row. */
static tra_node *window_kernel(tra_table_builder *w, tra_node *in, tra_node *reached, const tra_window *x) {
    return tra_table_kernel(w, in, reached, 0, 0,
                            &(tra_rows_kernel){.text = kernel_text(x, w->b->arena),
                                               .use = reached ? TRA_USE_JOIN : TRA_USE_MAP,
                                               .columns = x->out,
                                               .dtype = TRA_F64,
                                               .rows = reached ? TRA_ROWS_MOST : TRA_ROWS_SAME,
                                               .most = reached ? x->context->part_rows : 0,
                                               .counts = reached != NULL,
                                               .share = 1,
                                               .divides = true,
                                               .flops = TRA_SORT_FLOPS + 20.0 * x->n,
                                               .ops = &tra_window_ops,
                                               .data = x});
}

/* The rows of each block as they are, and after them their numbers. */
static tra_node *number_blocks(tra_table_builder *w, tra_node *in) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    const int *all = tra_table_counting(a, s->n, -1);
    tra_arrange x = {.in = s, .out = tra_table_subschema(a, s, s->n, all, true), .from = all, .column = all};
    x.number = -1;
    x.what = "";
    return tra_table_sort_blocks(w, in, &x, "numbered");
}

/* The rows sorted by keys and order, in parts; after them the number of the row, and its place in the order. */
static tra_node *sorted_parts(tra_table_builder *w, tra_node *in, const tra_window *x, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    int nby = x->nkeys + x->norder, *by = tra_table_counting(a, nby, s->n);
    bool *desc = tra_news(a, bool, nby + 1);
    for (int k = 0; k < x->norder; k++) desc[x->nkeys + k] = x->desc[k];
    const char *text = tra_table_list_text(a, s, nby, NULL, desc);
    tra_arrange sort = {.in = s, .from = tra_table_counting(a, s->n, -1), .n = nby, .column = by, .desc = desc};
    sort.out = tra_table_subschema(a, s, s->n, sort.from, true);
    sort.number = -1;
    sort.what = "a key or the order of a window";
    tra_node *sorted =
        tra_table_sort_blocks(w, tra_table_make_runs(w, in, d), &sort, tra_arena_printf(a, "sort(%s), numbered", text));
    tra_part_keys keys = {nby + 1, by, desc, tra_arena_printf(a, "%s, numbered", text)};
    tra_node *parts = sorted ? tra_table_make_parts(w, sorted, &keys, d) : NULL;
    sort.in = sort.out;
    sort.from = tra_table_counting(a, s->n + 1, -1);
    parts = tra_table_sort_blocks(w, parts, &sort, tra_arena_printf(a, "sort(%s) of numbered", text));
    return parts ? tra_table_number_rows(w, parts, "place") : NULL;
}

/* The context of each part, and in *reached what the part reaches. */
static tra_node *contexts(tra_table_builder *w, tra_node *parts, const tra_window *x, const tra_division *d,
                          tra_node **reached) {
    tra_arena *a = w->b->arena;
    const struct tra_window_context *c = x->context;
    tra_node *numbers = tra_positions(w->b, w->call->span, d->parts, 1);
    const char *text = kernel_text(x, a);
    if (!numbers) return NULL;
    tra_rows_kernel k = {.text = tra_arena_printf(a, "summary for %s", text),
                         .use = TRA_USE_JOIN,
                         .columns = c->summary,
                         .dtype = TRA_F64,
                         .rows = TRA_ROWS_MOST,
                         .most = TRA_WINDOW_SUMMARY_ROWS,
                         .counts = true,
                         .share = 1,
                         .flops = 10,
                         .ops = &tra_window_summary_ops,
                         .data = x};
    tra_node *all = tra_table_one_block(w, tra_table_kernel(w, parts, numbers, 0, 0, &k), 0);
    k.text = tra_arena_printf(a, "reach of %s", text);
    k.rows = TRA_ROWS_SAME;
    k.share = 1 / (double)d->parts;
    k.flops = 1;
    k.ops = &tra_window_reach_ops;
    *reached = tra_table_kernel(w, all, numbers, -1, -1, &k);
    if (!*reached) return NULL;
    k = (tra_rows_kernel){.text = tra_arena_printf(a, "context of %s", text),
                          .use = TRA_USE_JOIN,
                          .columns = x->in,
                          .dtype = TRA_F64,
                          .rows = TRA_ROWS_SAME,
                          .counts = true,
                          .share = 1 / (double)d->parts,
                          .flops = 1 / (double)d->parts,
                          .ops = &tra_window_pick_ops,
                          .data = x};
    return tra_table_concat(w, tra_table_kernel(w, parts, *reached, -1, -1, &k), 0, c->most);
}

/* The functions of a divided table, by numbers of rows that ascend in each part. */
static tra_node *functions_of_parts(tra_table_builder *w, tra_node *in, tra_window *fields, const tra_division *d) {
    tra_arena *a = w->b->arena;
    tra_err e = {0};
    static const int zero[] = {0};
    int64_t all = tra_catalog_elements(in->type.cat);
    tra_node *parts = sorted_parts(w, in, fields, d), *reached, *context;
    if (!parts) return NULL;
    fields->in = parts->type.columns;
    fields->number = fields->in->n - 2;
    if (tra_window_context_new(a, fields, d->part_rows, d->parts, all, &fields->context, &e) != TRA_OK) return NULL;
    const tra_window *x = tra_window_new(a, fields);
    context = contexts(w, parts, x, d, &reached);
    tra_node *n = context ? window_kernel(w, context, reached, x) : NULL;
    if (!n) return NULL;
    tra_arrange sort = {.in = x->out, .out = x->out, .from = tra_table_counting(a, x->out->n, -1), .n = 1};
    sort.column = zero;
    sort.number = -1;
    sort.what = "";
    return tra_table_sort_blocks(w, n, &sort, "sort([row])");
}

/* The functions of the rows, by numbers of rows that ascend, for each block of w->in. */
static tra_node *find_functions(tra_table_builder *w, tra_node *in, tra_window *fields) {
    bool one = in->type.cat->frontier.v[0] == 1;
    const tra_schema *s = in->type.columns;
    tra_division d;
    tra_division_input x = {.columns = s, .whole_share = 1, .numbered = true, .may_run = true};
    const int *by = tra_table_counting(w->b->arena, s->n, -1);
    x.key_bytes = tra_schema_row_bytes(tra_table_subschema(w->b->arena, s, fields->nkeys + fields->norder, by, true));
    if (!one && tra_table_divide(in->type.cat, &x, &d))
        return tra_table_split_numbers(w, functions_of_parts(w, in, fields, &d), w->in);
    if (!one && !(in = number_blocks(w, in))) return NULL;
    fields->in = in->type.columns;
    fields->number = one ? -1 : fields->in->n - 1;
    tra_node *n = window_kernel(w, tra_table_one_block(w, in, 1), NULL, tra_window_new(w->b->arena, fields));
    return one || !n ? n : tra_table_split_numbers(w, n, w->in);
}

/* Puts the functions beside the rows. */
static tra_node *put_beside(tra_table_builder *w, tra_node *found, const char *text) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    if (!found) return NULL;
    const tra_schema *f = found->type.columns;
    tra_column *v = tra_news(a, tra_column, s->n + f->n);
    tra_schema *out = tra_new(a, tra_schema);
    memcpy(v, s->v, (size_t)s->n * sizeof *v);
    memcpy(v + s->n, f->v + 1, (size_t)(f->n - 1) * sizeof *v);
    *out = (tra_schema){s->n + f->n - 1, v};
    tra_placing *p = tra_new(a, tra_placing);
    *p = (tra_placing){.left = s, .right = f, .out = out, .how = TRA_PLACE_KEEP, .rows = w->in->type.cat->bound.v[0]};
    tra_node *n = tra_table_kernel(w, w->in, found, 0, 0,
                                   &(tra_rows_kernel){.text = text,
                                                      .use = TRA_USE_JOIN,
                                                      .columns = out,
                                                      .dtype = TRA_F64,
                                                      .rows = TRA_ROWS_SAME,
                                                      .share = 1,
                                                      .divides = true,
                                                      .flops = 10,
                                                      .ops = &tra_place_ops,
                                                      .data = p});
    if (n) n->rows = w->in->rows;
    return n;
}

/* ---- the operator ---------------------------------------------------------------------------------------------------
 */

/* What is computed of the functions at last: shares, and the defaults of lag and lead. found: of each function the
 * column that says whether there is such a row, or -1. */
static tra_node *finish(tra_table_builder *w, tra_node *n, const tra_table_term *operand,
                        const tra_table_term *otherwise, const int *found) {
    tra_arena *a = w->b->arena;
    int m = w->in->type.columns->n, k = w->op.narounds;
    const char **names = tra_news(a, const char *, m + k);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, m + k);
    tra_err e = {0};
    bool any = false;
    if (!n) return NULL;
    const tra_schema *s = n->type.columns;
    for (int c = 0; c < m + k; c++) {
        int i = c - m;
        x[c] = tra_colexpr_column(a, s, c);
        names[c] = s->v[c].name;
        if (i < 0 || (found[i] < 0 && w->op.around[i].f != TRA_WINDOW_SHARE)) continue;
        any = true;
        const tra_colexpr *share[] = {operand[i].x, x[c]},
                          *choice[] = {found[i] < 0 ? NULL : tra_colexpr_column(a, s, m + found[i]), x[c],
                                       otherwise[i].x};
        tra_status status = found[i] < 0 ? tra_colexpr_call(a, TRA_C_DIV, 2, share, &x[c], &e)
                                         : tra_colexpr_call(a, TRA_C_IF, 3, choice, &x[c], &e);
        if (status == TRA_OK) continue;
        tra_diag_error(w->b->d, otherwise[i].ast->span, "the default of lag and lead is of the type of their values",
                       "`%s`: %s", w->op.around[i].name, e.msg);
        return NULL;
    }
    return any || s->n > m + k ? tra_table_columns(w, n, m + k, names, x) : n;
}

static tra_node *build(tra_table_builder *w, const tra_window_by *by, const tra_table_term *operand,
                       const tra_table_term *otherwise) {
    tra_arena *a = w->b->arena;
    int nby = by->nkeys + by->norder, k = w->op.narounds;
    operands o = {.names = tra_news(a, const char *, nby + k + 1), .x = tra_news(a, const tra_colexpr *, nby + k + 1)};
    tra_window_column *v = tra_news(a, tra_window_column, 2 * k + 1);
    bool *desc = tra_news(a, bool, by->norder + 1);
    int *found = tra_news(a, int, k + 1);
    tra_window x = {.nkeys = by->nkeys, .norder = by->norder, .desc = desc, .n = k, .v = v};
    for (int i = 0; i < nby; i++) {
        o.names[o.n] = tra_arena_printf(a, "%d", o.n);
        o.x[o.n++] = w->op.term[i].x;
        if (i >= by->nkeys) desc[i - by->nkeys] = w->op.term[i].desc;
    }
    for (int i = 0; i < k; i++) {
        const tra_table_around *f = &w->op.around[i];
        v[i] = (tra_window_column){.name = f->name, .f = f->f, .column = -1, .n = f->n, .q = f->q, .frame = f->frame};
        if (operand[i].x) v[i].column = add_operand(a, &o, as_operand(a, f->f, operand[i].x));
        found[i] = -1;
        if (!otherwise[i].x) continue;
        found[i] = x.n;
        v[x.n] = v[i];
        v[x.n].column = -1;
        v[x.n++].name = tra_arena_printf(a, "%s is there", f->name);
    }
    if (o.n == 0) add_operand(a, &o, tra_colexpr_column(a, w->in->type.columns, 0)); /* a table has a column */
    tra_node *n = tra_table_columns(w, w->in, o.n, o.names, o.x);
    n = n ? find_functions(w, n, &x) : NULL;
    return finish(w, put_beside(w, n, "window beside rows"), operand, otherwise, found);
}

/* The options of the call: how many arguments are lists, and the frame of functions that have none of their own. */
static bool read_by(tra_table_builder *w, tra_window_by *by) {
    const tra_ast *call = w->call, *keys = call->nkids > 1 ? call->kids[1] : NULL;
    if (!keys || keys->kind != TRA_AST_LIST)
        return refuse(w, keys ? keys : call, "the keys of groups stand in a list, which may be empty");
    const tra_ast *order = call->nkids > 2 && call->kids[2]->kind == TRA_AST_LIST ? call->kids[2] : NULL;
    *by = (tra_window_by){.nkeys = keys->nkids, .norder = order ? order->nkids : 0, .from = order ? 3 : 2};
    tra_table_term *term = tra_news(w->b->arena, tra_table_term, by->nkeys + by->norder + 1);
    w->op.term = term;
    w->op.nterms = by->nkeys + by->norder;
    w->op.nkeys = by->nkeys;
    bool ok = read_list(w, keys, false, term);
    if (order) ok = read_list(w, order, true, term + by->nkeys) && ok;
    for (int i = by->from; i < call->nkids; i++) {
        const tra_ast *x = call->kids[i];
        if (x->kind != TRA_AST_NAMED || x->quoted || strcmp(x->text, "frame") != 0) continue;
        if (by->frame) return refuse(w, x, "the argument frame stands twice");
        by->frame = x->kids[0];
    }
    tra_window_frame f;
    return ok && (!by->frame || read_frame(w, by, by->frame, &f));
}

tra_node *tra_table_window(tra_table_builder *w) {
    tra_window_by by;
    tra_arena *a = w->b->arena;
    int most = w->call->nkids;
    bool ok = read_by(w, &by);
    if (!ok) return NULL;
    tra_table_around *around = tra_news(a, tra_table_around, most);
    tra_table_term *operand = tra_news(a, tra_table_term, most), *otherwise = tra_news(a, tra_table_term, most);
    w->op.around = around;
    for (int i = by.from; i < most; i++) {
        const tra_ast *x = w->call->kids[i];
        int at = w->op.narounds;
        if (x->kind == TRA_AST_NAMED && x->kids[0] == by.frame) continue;
        bool read = read_function(w, &by, x, &around[at], &operand[at], &otherwise[at]);
        w->op.narounds += read;
        ok = ok && read;
    }
    if (!ok) return NULL;
    if (w->op.narounds == 0) return tra_table_refuse(w, w->call, "a window has functions: r = row_number()"), NULL;
    return tra_table_record(w, build(w, &by, operand, otherwise));
}
