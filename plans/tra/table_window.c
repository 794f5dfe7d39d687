/* table_window.c - window: its arguments. */
#include "table_parts.h"

#include <math.h>
#include <string.h>

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static bool is_null(const tra_ast *x) { return x->kind == TRA_AST_NAME && !x->quoted && strcmp(x->text, "null") == 0; }

/* What is wrong with an end of a range over this order, x being by how much it is moved; NULL: nothing. */
static const char *check_distance(const tra_colexpr *order, const tra_colexpr *x) {
    if (tra_coltype_is_coded(order->type)) return "a range is over numbers, dates or timestamps";
    if (order->type == TRA_COL_TIMESTAMP && x->counts == TRA_TIME_NONE)
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
        return tra_table_refuse(w, at, "the ends of a range are null, numbers or durations: range(-days(1), null)");
    bool real = tra_coltype_is_float(x->type);
    double value = real ? x->value.f : (double)x->value.i;
    if (isnan(value)) return tra_table_refuse(w, at, "the end of a frame is a number, and this is none");
    if (value == 0) return true;
    if (!order)
        return tra_table_refuse(w, at, "a range by distance has one column of the order, and here there are others");
    const char *wrong = check_distance(order, x);
    if (wrong) return tra_table_refuse(w, at, wrong);
    bool to_micros =
        x->counts == TRA_TIME_DAYS && (order->type == TRA_COL_TIMESTAMP || order->counts == TRA_TIME_MICROS);
    bool to_days = x->counts == TRA_TIME_MICROS && (order->type == TRA_COL_DATE || order->counts == TRA_TIME_DAYS);
    if (tra_coltype_is_float(order->type)) {
        f->real[e] = value;
        return true;
    }
    double rounded = e ? floor(value) : ceil(value); /* whole numbers lie within what is rounded inwards */
    f->whole[e] = !real ? x->value.i : rounded >= 0x1p63 ? INT64_MAX : rounded < -0x1p63 ? INT64_MIN : (int64_t)rounded;
    if (to_days && f->whole[e] % day != 0) return tra_table_refuse(w, at, "a date moves by whole days");
    if (to_days) f->whole[e] /= day;
    if (to_micros && __builtin_mul_overflow(f->whole[e], day, &f->whole[e]))
        return tra_table_refuse(w, at, "this is longer than 64 bits count");
    return true;
}

static bool read_frame(const tra_table_builder *w, const tra_window_by *by, const tra_ast *x, tra_window_frame *f) {
    bool rows = x->kind == TRA_AST_CALL && strcmp(x->text, "rows") == 0;
    bool range = x->kind == TRA_AST_CALL && strcmp(x->text, "range") == 0;
    if ((!rows && !range) || x->nkids != 2)
        return tra_table_refuse(w, x, "a frame is rows(-2, 0), or range(-days(1), 0); null is an open end");
    if (by->norder == 0) return tra_table_refuse(w, x, "a frame needs an order, and this window has none");
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

/* ---- keys and order ---------------------------------------------------------------------------------------------- */

/* The columns of one list become terms; any expression may stand there, and its name is not needed. */
static bool read_list(tra_table_builder *w, const tra_ast *list, bool order, tra_table_term *to) {
    tra_table_scope sc = tra_table_scope_of(w);
    bool ok = true;
    for (int i = 0; i < list->nkids; i++) {
        const tra_ast *x = list->kids[i];
        bool desc = x->kind == TRA_AST_DESC;
        if (desc && !order)
            return tra_table_refuse(w, x, "keys of groups have no direction; the order follows in its own list");
        if (desc || x->kind == TRA_AST_NAMED) x = x->kids[0];
        const char *name = tra_arena_printf(w->b->arena, "%s %d", order ? "order" : "key", i);
        if (!tra_table_build_term(&sc, name, x, &to[i])) {
            ok = false;
            continue;
        }
        to[i].desc = desc;
        if (to[i].x->untyped) return tra_table_refuse(w, x, "null alone has no type");
    }
    return ok;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static bool no_function(const tra_table_builder *w, const tra_ast *call) {
    enum { MOST = 32 };
    const char *names[MOST], *advice = NULL;
    int n = 0;
    if (call->kind != TRA_AST_CALL) return tra_table_refuse(w, call, "a function has a name: r = row_number()");
    while (n < MOST && (names[n] = tra_window_name(n))) n++;
    const char *near = tra_nearest(call->text, n, names);
    if (near) advice = tra_arena_printf(w->b->arena, "did you mean %s?", near);
    return tra_diag_error(
        w->b->d, call->name_span, advice ? advice : tra_build_named_here(w->b->arena, call->text),
        "there is no window function '%s': they are row_number, rank, dense_rank, ntile, lag, lead, first, "
        "last, nth, count, sum, mean, min, max, var, std, share, median, quantile",
        call->text);
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
        if (x->kind == TRA_AST_STAR) return tra_table_refuse(w, x, "write count(), the number of rows");
        if (x->kind == TRA_AST_NAMED && strcmp(x->text, "frame") == 0) {
            if (!framed) return tra_table_refuse(w, x, tra_arena_printf(w->b->arena, "%s has no frame", call->text));
            a->frame = x->kids[0];
            continue;
        }
        if (x->kind == TRA_AST_NAMED) {
            for (at = 2; at > 0 && !(names[at] && strcmp(names[at], x->text) == 0);) at--;
            if (at == 0)
                return tra_table_refuse(w, x,
                                        tra_arena_printf(w->b->arena, "%s has no argument '%s'", call->text, x->text));
            x = x->kids[0];
        }
        if (at >= most || a->v[at])
            return tra_diag_error(w->b->d, call->span, NULL, "%s has %s%d argument%s, and a frame if it is given",
                                  call->text, least < most ? "at most " : "", most, most == 1 ? "" : "s");
        a->v[at] = x;
        if (at == a->n) a->n++;
    }
    for (int i = 0; i < least; i++) {
        if (a->v[i]) continue;
        return tra_diag_error(w->b->d, call->span, NULL, "%s has %s%d argument%s", call->text,
                              least < most ? "at least " : "", least, least == 1 ? "" : "s");
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
    return (to->q >= 0 && to->q <= 1) || tra_table_refuse(w, v->v[1], "a quantile is from 0 to 1");
}

/* Reads name = f(..) to *to. */
static bool read_function(const tra_table_builder *w, const tra_window_by *by, const tra_ast *x, tra_table_around *to) {
    tra_table_term operand, otherwise;
    tra_table_scope sc = tra_table_scope_of(w);
    const tra_ast *call = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
    int f = call->kind == TRA_AST_CALL ? tra_window_find(call->text) : -1;
    arguments v;
    if (f < 0) return no_function(w, call);
    const char *name = x->kind == TRA_AST_NAMED ? x->text : call->nkids == 0 ? call->text : NULL;
    if (!name) return tra_table_refuse(w, x, "a function has a name: s = sum(x)");
    if (is_taken(w, name))
        return tra_diag_error(w->b->d, x->span, "give the new one another name", "there is a column '%s' already",
                              name);
    *to = (tra_table_around){.name = name, .f = (tra_window_function)f};
    if (!read_arguments(w, call, to->f, &v) || !read_numbers(w, &v, to)) return false;
    bool ordered = by->norder > 0 && f != TRA_WINDOW_SHARE;
    to->frame = (tra_window_frame){.range = true, .open = {true, !ordered}};
    const tra_ast *frame = v.frame ? v.frame : tra_window_way_of(to->f) >= TRA_WINDOW_END ? by->frame : NULL;
    if (frame && !read_frame(w, by, frame, &to->frame)) return false;
    if (f == TRA_WINDOW_NTILE || !v.v[0]) return true;
    if (!tra_table_build_term(&sc, name, v.v[0], &operand)) return false;
    to->ast = operand.ast;
    to->x = operand.x;
    if (operand.x->untyped) return tra_table_refuse(w, v.v[0], "null alone has no type");
    if (!tra_window_takes(to->f, operand.x->type))
        return tra_diag_error(w->b->d, v.v[0]->span, NULL, "%s does not take values of type %s", call->text,
                              tra_coltype_name(operand.x->type));
    if (!v.v[2]) return true;
    if (!tra_table_build_term(&sc, name, v.v[2], &otherwise)) return false;
    if (otherwise.x->untyped) return true; /* as without one */
    to->otherwise = otherwise.ast;
    to->other = otherwise.x;
    return true;
}

/* ---- the operator ------------------------------------------------------------------------------------------------ */

/* The options of the call: how many arguments are lists, and the frame of functions that have none of their own. */
static bool read_by(tra_table_builder *w, tra_window_by *by) {
    const tra_ast *call = w->call, *keys = call->nkids > 1 ? call->kids[1] : NULL;
    if (!keys || keys->kind != TRA_AST_LIST)
        return tra_table_refuse(w, keys ? keys : call, "the keys of groups stand in a list, which may be empty");
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
        if (by->frame) return tra_table_refuse(w, x, "the argument frame stands twice");
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
    w->op.around = around;
    for (int i = by.from; i < most; i++) {
        const tra_ast *x = w->call->kids[i];
        int at = w->op.narounds;
        if (x->kind == TRA_AST_NAMED && x->kids[0] == by.frame) continue;
        bool read = read_function(w, &by, x, &around[at]);
        w->op.narounds += read;
        ok = ok && read;
    }
    if (!ok) return NULL;
    if (w->op.narounds == 0) return tra_table_refuse(w, w->call, "a window has functions: r = row_number()");
    return tra_table_record(w, tra_table_window_nodes(w, 0, 0));
}
