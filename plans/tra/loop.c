/* loop.c - repeat statements: states, their next values, the condition, traces. */
#include "storage.h"
#include "table_build.h"

#include <string.h>

/* A loop that is being built. */
typedef struct building {
    const tra_stmt *st;
    tra_repeat *loop;
    int id, cap, captraces;
    bool ok;
    tra_symbol **symbol; /* of each state */
} building;

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* A leaf of the loop with this type. */
static tra_node *add_leaf(tra_build *b, const building *w, tra_leaf leaf, int item, const char *name, tra_span span,
                          const tra_type *t) {
    tra_node *n = tra_build_node(b, TRA_OP_INPUT, span);
    n->at = TRA_AT_ALL;
    n->leaf = leaf;
    n->loop = w->id;
    n->item = item;
    n->name = name;
    n->type = *t;
    return n;
}

/* The columns of a state: any value of them may be NULL, or could not be computed. */
static const tra_schema *state_columns(tra_build *b, const tra_schema *s) {
    tra_column *v = tra_news(b->arena, tra_column, s->n);
    tra_schema *out = tra_new(b->arena, tra_schema);
    for (int i = 0; i < s->n; i++) {
        v[i] = s->v[i];
        v[i].nullable = v[i].fails = true;
        v[i].file = NULL;
    }
    *out = (tra_schema){s->n, v};
    return out;
}

/* The type of a state in every turn: that of its first value, but how many entries it has may change. */
static tra_type state_type(tra_build *b, const tra_type *first) {
    tra_type t = *first;
    if (t.columns) { /* in other turns there may be fewer rows */
        int64_t rows = t.bounded ? tra_type_entries(first).expected : t.cat->bound.v[0] * t.cat->n;
        int64_t most = tra_mul_most(t.cat->bound.v[0], t.cat->n);
        t.bounded = 1;
        t.columns = state_columns(b, t.columns);
        t.entries = tra_entries_about(b->arena, &t, (double)tra_min64(rows, most), most, t.cat->bound.v[0]);
    }
    if (!t.sparse) return t;
    t.layout = NULL;
    int64_t elements = tra_catalog_elements(t.cat);
    t.entries = tra_entries_about(b->arena, &t, (double)tra_type_entries(first).expected, elements, INT64_MAX);
    t.layout = tra_type_best_layout(&t);
    t.entries = tra_entries_about(b->arena, &t, (double)tra_type_entries(first).expected, elements, INT64_MAX);
    return t;
}

static void add_sink(tra_build *b, const tra_node *n, const char *name, tra_output_sink sink, int loop, int item,
                     int column) {
    tra_graph *g = b->g;
    TRA_ARENA_DOUBLE(b->arena, g->outputs, g->noutputs);
    g->outputs[g->noutputs++] =
        (tra_output){.node = n, .name = name, .sink = sink, .loop = loop, .item = item, .column = column};
    ((tra_node *)n)->uses++;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static bool is_coded_otherwise(const tra_column *x, const tra_column *y) {
    return x->dict && y->dict && x->type == y->type && !tra_dictionary_eq(x->dict, y->dict);
}

/* A string of x that y does not have; NULL: it has all. */
static const char *string_beyond(tra_arena *a, const tra_dictionary *x, const tra_dictionary *y) {
    for (int64_t c = 0; c < x->n; c++) {
        int64_t len;
        const char *s = tra_dictionary_at(x, c, &len);
        if (tra_dictionary_find(y, s, len) < 0) return tra_arena_strndup(a, s, (size_t)len);
    }
    return NULL;
}

/* tra_table_project, with room for so many rows in a block. */
static tra_node *project_with_room(tra_table_builder *w, int64_t rows) {
    const char **names;
    const tra_colexpr **x;
    tra_rowwise *r = tra_rowwise_new(w->b->arena, w->in->type.columns);
    tra_table_split_terms(w, &names, &x);
    tra_str text = {0};
    tra_rowwise_project(r, w->op.nterms, names, x);
    tra_rowwise_print(r, &text);
    tra_str_printf(&text, ", room for %" PRId64 " rows", rows);
    tra_node *n = tra_table_kernel(
        w, w->in, NULL, 0, 0,
        &(tra_rows_kernel){.text = tra_table_text(w->b->arena, &text),
                           .use = TRA_USE_MAP,
                           .columns = tra_rowwise_out(r),
                           .dtype = TRA_F64,
                           .rows = TRA_ROWS_EITHER,
                           .most = rows,
                           .counts = true,
                           .share = 1,
                           .ops = &tra_rowwise_ops,
                           .data = r});
    return tra_table_record(w, n);
}

/* The table with columns that may be NULL, all of them, and as next value with strings by the codes of the state (NULL:
 * it is none) and room for its rows: these may change from turn to turn, but not how blocks look. NULL after a
 * diagnostic. */
static tra_node *widen(tra_build *b, tra_node *n, const tra_type *of, tra_span span) {
    const tra_schema *state = of ? of->columns : NULL;
    tra_arena *a = b->arena;
    tra_ast *call = tra_new(a, tra_ast), *truth = tra_new(a, tra_ast), *null = tra_new(a, tra_ast);
    *call = (tra_ast){.kind = TRA_AST_CALL, .span = span, .name_span = span, .text = "project"};
    *truth = (tra_ast){.kind = TRA_AST_NAME, .span = span, .text = "true"};
    *null = (tra_ast){.kind = TRA_AST_NAME, .span = span, .text = "null"};
    tra_table_builder w = {.b = b, .call = call, .in = n, .op.op = TRA_TABLE_PROJECT};
    bool all = true, recodes = false;
    for (int i = 0; i < n->type.columns->n; i++) {
        const tra_column *c = &n->type.columns->v[i];
        tra_ast *value = tra_table_name_ast(a, c->name, span), *named = tra_new(a, tra_ast);
        tra_ast *kids[] = {truth, value, null};
        if (!tra_column_has_states(c)) {
            all = false;
            value = tra_new(a, tra_ast);
            *value = (tra_ast){.kind = TRA_AST_CALL, .span = span, .name_span = span, .text = "if", .nkids = 3};
            value->kids = memcpy(tra_news(a, tra_ast *, 3), kids, sizeof kids);
        }
        *named = (tra_ast){.kind = TRA_AST_NAMED, .span = span, .text = c->name, .quoted = true, .nkids = 1};
        named->kids = memcpy(tra_news(a, tra_ast *, 1), &value, sizeof value);
        if (!tra_table_add_term(&w, named)) return NULL;
        const tra_column *to = state && i < state->n ? &state->v[i] : c;
        if (!is_coded_otherwise(c, to) || string_beyond(a, c->dict, to->dict)) continue;
        tra_table_term *term = (tra_table_term *)&w.op.term[w.op.nterms - 1];
        tra_err e = {0};
        if (tra_colexpr_convert(a, term->x, c->type, to->dict, &term->x, &e) != TRA_OK) return NULL;
        recodes = true;
    }
    bool room = of && n->type.cat->bound.v[0] <= of->cat->bound.v[0];
    if (room && (recodes || n->type.cat->bound.v[0] < of->cat->bound.v[0]))
        return project_with_room(&w, of->cat->bound.v[0]);
    return all ? n : tra_table_project(&w);
}

/* The state that `next` changes; NULL after a diagnostic. */
static tra_symbol *find_state(tra_build *b, const tra_stmt *st) {
    tra_symbol *s = tra_build_relation_symbol(b, st->name, st->name_span);
    if (!s) return NULL;
    s->used = false;
    if (s->stmt->role != TRA_ROLE_STATE) {
        tra_diag_error(b->d, st->name_span, tra_arena_printf(b->arena, "write state %s = .. before the loop", st->name),
                       "'%s' is no state", st->name);
        tra_diag_also(b->d, s->stmt->name_span, "defined here");
        return NULL;
    }
    if (s->depth == b->depth) return s;
    tra_diag_error(b->d, st->name_span, "a loop changes the states that are defined beside it",
                   "the state '%s' is defined outside of the loop around this one", st->name);
    tra_diag_also(b->d, s->stmt->name_span, "defined here");
    return NULL;
}

static const tra_stmt *earlier_next(const tra_ast_program *body, int i) {
    for (int j = 0; j < i; j++)
        if (body->v[j].role == TRA_ROLE_NEXT && strcmp(body->v[j].name, body->v[i].name) == 0) return &body->v[j];
    return NULL;
}

/* Finds the states that the body changes, and makes their leaves. */
static void begin_states(tra_build *b, building *w) {
    const tra_ast_program *body = w->st->body;
    w->symbol = tra_news(b->arena, tra_symbol *, body->n);
    for (int i = 0; i < body->n; i++) {
        const tra_stmt *st = &body->v[i];
        if (st->role != TRA_ROLE_NEXT || st->broken) continue;
        const tra_stmt *before = earlier_next(body, i);
        if (before) {
            tra_diag_error(b->d, st->name_span, "all states change together at the end of the turn",
                           "'%s' has two next values", st->name);
            tra_diag_also(b->d, before->name_span, "the other one");
            w->ok = false;
            continue;
        }
        tra_symbol *s = find_state(b, st);
        if (!s) {
            w->ok = false;
            continue;
        }
        tra_repeat *l = w->loop;
        TRA_ARENA_ROOM(b->arena, l->states, l->nstates, w->cap);
        w->symbol[l->nstates] = s;
        tra_node *first = s->node->type.columns ? widen(b, s->node, NULL, s->stmt->name_span) : s->node;
        if (!first) {
            w->ok = false;
            continue;
        }
        tra_type t = state_type(b, &first->type);
        tra_node *leaf = add_leaf(b, w, TRA_LEAF_STATE, l->nstates, st->name, st->name_span, &t);
        leaf->labels = s->node->labels;
        leaf->rows = t.columns ? tra_table_own_rows(b, leaf) : s->node->rows;
        l->states[l->nstates++] =
            (tra_repeat_state){.name = st->name, .span = st->name_span, .first = first, .state = leaf};
        s->node = leaf;
        s->changed = true;
    }
}

static const char *shape_text(const tra_type *t, char *buf) {
    tra_dims shape;
    tra_type_shape(t, &shape);
    return shape.n ? tra_shape_text(&shape, buf) : "one number";
}

static const char *table_difference(tra_build *b, const tra_type *state, const tra_type *next) {
    const tra_schema *s = state->columns, *n = next->columns;
    for (int i = 0; i < s->n && i < n->n; i++) {
        const tra_column *x = &s->v[i], *y = &n->v[i];
        const char *name = x->name;
        if (strcmp(name, y->name) != 0)
            return tra_arena_printf(b->arena, "column %d is %s in the state, %s in its next value", i + 1, name,
                                    y->name);
        if (x->type != y->type)
            return tra_arena_printf(b->arena, "%s is %s in the state, %s in its next value", name,
                                    tra_coltype_name(x->type), tra_coltype_name(y->type));
        if (tra_column_has_states(x) != tra_column_has_states(y))
            return tra_arena_printf(b->arena, "%s may be NULL in the %s only", name,
                                    tra_column_has_states(x) ? "state" : "next value");
        const char *beyond = is_coded_otherwise(x, y) ? string_beyond(b->arena, y->dict, x->dict) : NULL;
        if (beyond)
            return tra_arena_printf(b->arena,
                                    "%s may become \"%s\", which it is never before the loop; "
                                    "there, %s = if(false, \"%s\", %s) says that it may",
                                    name, beyond, name, beyond, name);
    }
    if (s->n != n->n) return tra_arena_printf(b->arena, "the state has %d columns, its next value %d", s->n, n->n);
    if (!tra_dims_eq(&state->cat->frontier, &next->cat->frontier))
        return tra_arena_printf(b->arena, "its next value has rows in %" PRId64 " blocks, the state in %" PRId64
                                "; limit(T, N) gives a bound",
                                next->cat->n, state->cat->n);
    if (next->cat->bound.v[0] > state->cat->bound.v[0])
        return tra_arena_printf(b->arena,
                                "its next value may have %" PRId64 " rows in a block, the state has at most %" PRId64
                                "; limit(T, N) gives a bound",
                                next->cat->bound.v[0], state->cat->bound.v[0]);
    return NULL;
}

/* Says how the next value of a state differs from the state; NULL: it does not, but for its blocks. */
static const char *difference(tra_build *b, const tra_type *state, const tra_type *next) {
    char x[TRA_DIMTEXT], y[TRA_DIMTEXT];
    if (!state->columns != !next->columns)
        return state->columns ? "the state is a table, its next value is not" : "its next value is a table";
    if (state->columns) return table_difference(b, state, next);
    if (state->dtype != next->dtype)
        return tra_arena_printf(b->arena, "the state has elements of %s, its next value of %s",
                                tra_dtype_name(state->dtype), tra_dtype_name(next->dtype));
    if (!tra_type_is_blocked(state, NULL) || !tra_type_is_blocked(next, NULL)) return NULL;
    tra_dims s, n;
    tra_type_shape(state, &s);
    tra_type_shape(next, &n);
    if (tra_dims_eq(&s, &n)) return NULL;
    return tra_arena_printf(b->arena, "the state is %s, its next value %s", shape_text(state, x), shape_text(next, y));
}

/* The next value in the blocks of the state; NULL after a diagnostic. */
static tra_node *fit_next(tra_build *b, const tra_stmt *st, const tra_repeat_state *state, tra_node *n) {
    const tra_type *want = &state->state->type;
    if (want->columns && n->type.columns) n = widen(b, n, want, st->span);
    if (!n) return NULL;
    const char *why = difference(b, want, &n->type);
    if (!why && want->sparse != n->type.sparse)
        why = want->sparse ? "the state is sparse by type, its next value is dense"
                           : "its next value is sparse by type, the state is dense";
    const char *advice = NULL;
    if (why && want->sparse != n->type.sparse && want->dtype == n->type.dtype)
        advice = want->sparse ? "write next X[..] as csr = .., or state X[..] as dense = .."
                              : "write next X[..] as dense = .., or state X[..] as csr = ..";
    if (why) {
        tra_diag_error(b->d, st->span, advice, "the next value of '%s' differs from it: %s", st->name, why);
        tra_diag_also(b->d, state->first->span, "the state");
        return NULL;
    }
    if (tra_type_is_blocked(want, NULL) && tra_type_is_blocked(&n->type, NULL) &&
        !tra_dims_eq(&want->cat->bound, &n->type.cat->bound)) {
        tra_node fields = {.in = {n}, .block = want->cat->bound};
        for (int d = 0; d < fields.block.n; d++) fields.block.v[d] = tra_max64(1, fields.block.v[d]);
        n = tra_build_made(b, TRA_OP_REPART, st->span, &fields);
        if (!n) return NULL;
    }
    if (want->columns || tra_type_eq(want, &n->type, &why)) return n;
    tra_diag_error(b->d, st->span, NULL, "the next value of '%s' differs from it: %s", st->name, why);
    tra_diag_also(b->d, state->first->span, "the state");
    return NULL;
}

/* ---- the end of a turn ------------------------------------------------------------------------------------------- */

static void build_next(tra_build *b, building *w, const tra_stmt *st) {
    tra_repeat *l = w->loop;
    int k = 0;
    while (k < l->nstates && strcmp(l->states[k].name, st->name) != 0) k++;
    if (k == l->nstates || l->states[k].next) return;
    tra_symbol value = {.stmt = st};
    tra_node *n = tra_build_value(b, st, &value);
    if (n && !n->name && n->op != TRA_OP_INPUT) n->name = st->name;
    l->states[k].next = n ? fit_next(b, st, &l->states[k], n) : NULL;
    if (!l->states[k].next) w->ok = false;
}

/* The relation of rank 0 that the name stands for; NULL after a diagnostic. */
static const tra_node *rank_0(tra_build *b, const building *w, const tra_ast *x) {
    if (w->loop->turn && strcmp(x->text, w->loop->turn->name) == 0) return w->loop->turn;
    tra_symbol *s = tra_build_relation_symbol(b, x->text, x->span);
    if (!s) return NULL;
    if (!s->node->type.columns && s->node->type.cat->bound.n == 0 && s->node->type.cat->n == 1) return s->node;
    tra_diag_error(b->d, x->span, tra_arena_printf(b->arena, "write for instance n[] = sum %s[..]^2", x->text),
                   "'%s' is not one number", x->text);
    return NULL;
}

static void build_trace(tra_build *b, building *w, const tra_stmt *st) {
    tra_repeat *l = w->loop;
    TRA_ARENA_ROOM(b->arena, l->traces, l->ntraces, w->captraces);
    tra_repeat_trace *t = &l->traces[l->ntraces++];
    *t = (tra_repeat_trace){.name = st->name, .span = st->name_span, .n = st->nvalues};
    t->value = tra_news(b->arena, const tra_node *, st->nvalues);
    for (int i = 0; i < st->nvalues; i++) {
        if (strcmp(st->values[i]->text, "turn") == 0) {
            tra_diag_error(b->d, st->values[i]->span, "choose another name", "the first column is called turn already");
            w->ok = false;
        }
        t->value[i] = rank_0(b, w, st->values[i]);
        w->ok = w->ok && t->value[i];
    }
}

static bool is_traced(const tra_repeat *l, const tra_node *n) {
    bool any = false;
    for (int i = 0; i < l->ntraces; i++)
        for (int j = 0; j < l->traces[i].n; j++) any = any || l->traces[i].value[j] == n;
    for (int i = 0; i < l->nwatched; i++) any = any || l->watched[i] == n;
    return any;
}

/* Notes the relations that the condition reads. False: it reads none, and no counter. */
static bool watch(tra_build *b, tra_repeat *l, const tra_ast *x) {
    bool named = x->kind == TRA_AST_NAME || x->kind == TRA_AST_INDEX;
    int at = named ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    bool any = named && (!s || !s->param || s->node); /* a name that is not known is told by the statement */
    if (any && s && s->node && !s->param && s->node->type.cat->bound.n == 0 && !is_traced(l, s->node)) {
        TRA_ARENA_DOUBLE(b->arena, l->watched_name, l->nwatched);
        TRA_ARENA_DOUBLE(b->arena, l->watched, l->nwatched);
        l->watched_name[l->nwatched] = x->text;
        l->watched[l->nwatched++] = s->node;
    }
    for (int i = 0; i < x->nkids; i++) any = watch(b, l, x->kids[i]) || any;
    return any;
}

static void build_until(tra_build *b, building *w) {
    const tra_ast *x = w->st->until;
    if (!x) return;
    bool reads = watch(b, w->loop, x);
    if (!reads && b->d->errors == 0) {
        tra_diag_error(b->d, x->span, "write for instance until size < 1e-6, of a relation of rank 0 of the body",
                       "the condition reads no relation, so it is the same in all turns");
        w->ok = false;
        return;
    }
    tra_stmt st = {
        .kind = TRA_STMT_EINSUM, .span = x->span, .name = "until", .name_span = x->span, .value = (tra_ast *)x};
    w->loop->until = tra_build_einsum(b, &st);
    w->loop->until_span = x->span;
    if (!w->loop->until) w->ok = false;
}

static void end_body(tra_build *b, void *ctx) {
    building *w = ctx;
    const tra_ast_program *body = w->st->body;
    for (int i = 0; i < body->n; i++) {
        if (body->v[i].broken) continue;
        if (body->v[i].role == TRA_ROLE_NEXT) build_next(b, w, &body->v[i]);
        if (body->v[i].kind == TRA_STMT_TRACE) build_trace(b, w, &body->v[i]);
    }
    build_until(b, w);
}

/* ---- after the loop ---------------------------------------------------------------------------------------------- */

static const tra_schema *trace_columns(tra_build *b, const tra_repeat_trace *t, const tra_stmt *st) {
    tra_column *v = tra_news(b->arena, tra_column, t->n + 1);
    tra_schema *s = tra_new(b->arena, tra_schema);
    v[0] = (tra_column){.name = "turn", .type = TRA_COL_I64};
    for (int i = 0; i < t->n; i++)
        v[i + 1] = (tra_column){.name = st->values[i]->text, .type = tra_coltype_of(t->value[i]->type.dtype)};
    *s = (tra_schema){t->n + 1, v};
    return s;
}

/* The table of a trace has a row for each turn: at most as many as the loop has. */
static void add_trace_table(tra_build *b, building *w, int k, const tra_stmt *st) {
    tra_repeat_trace *t = &w->loop->traces[k];
    tra_dims rows = {1, {tra_max64(1, w->loop->most)}}, block = {1, {tra_min64(rows.v[0], TRA_TABLE_BLOCK_ROWS)}};
    tra_catalog *c = tra_new(b->arena, tra_catalog);
    tra_err e = {0};
    if (tra_catalog_blocks(&rows, &block, c, &e) != TRA_OK) {
        tra_diag_error(b->d, t->span, NULL, "%s", e.msg);
        return;
    }
    tra_type type = {.dtype = TRA_F64,
                     .cat = c,
                     .layout = &tra_columns,
                     .columns = trace_columns(b, t, st),
                     .bounded = 1,
                     .cut = {1}};
    type.entries = tra_entries_about(b->arena, &type, (double)w->loop->most, w->loop->most, block.v[0]);
    t->table = add_leaf(b, w, TRA_LEAF_TRACE, k, t->name, t->span, &type);
    t->table->rows = tra_table_own_rows(b, t->table);
}

static void add_name(tra_build *b, const char *name, tra_node *n, const tra_stmt *st) {
    tra_symbol *s = tra_new(b->arena, tra_symbol);
    *s = (tra_symbol){.stmt = st, .ok = n != NULL, .seen = true, .node = n, .depth = b->depth};
    if (tra_names_find(&b->symbols, name) < 0) tra_names_add(&b->symbols, name, s);
    if (n) tra_build_add_name(b, name, s);
}

static const tra_stmt *trace_statement(const building *w, const char *name) {
    for (int i = 0; i < w->st->body->n; i++)
        if (w->st->body->v[i].kind == TRA_STMT_TRACE && strcmp(w->st->body->v[i].name, name) == 0)
            return &w->st->body->v[i];
    return NULL;
}

static void add_sinks(tra_build *b, const building *w) {
    const tra_repeat *l = w->loop;
    for (int i = 0; i < l->nstates; i++) {
        add_sink(b, l->states[i].first, l->states[i].name, TRA_SINK_FIRST, w->id, i, 0);
        add_sink(b, l->states[i].state, l->states[i].name, TRA_SINK_STATE, w->id, i, 0);
        add_sink(b, l->states[i].next, l->states[i].name, TRA_SINK_NEXT, w->id, i, 0);
    }
    if (l->until) add_sink(b, l->until, "until", TRA_SINK_UNTIL, w->id, 0, 0);
    for (int i = 0; i < l->ntraces; i++)
        for (int j = 0; j < l->traces[i].n; j++)
            add_sink(b, l->traces[i].value[j], l->traces[i].name, TRA_SINK_TRACE, w->id, i, j);
    for (int i = 0; i < l->nwatched; i++)
        add_sink(b, l->watched[i], l->watched_name[i], TRA_SINK_TRACE, w->id, -1, i);
}

/* Gives the states their last values, and adds the tables of the traces. */
static void end_loop(tra_build *b, building *w) {
    tra_repeat *l = w->loop;
    l->end = b->g->n;
    for (int i = 0; i < l->nstates; i++) {
        tra_repeat_state *s = &l->states[i];
        s->last = add_leaf(b, w, TRA_LEAF_LAST, i, s->name, s->span, &s->state->type);
        s->last->labels = s->state->labels;
        if (!s->last->labels && s->next && l->most > 0) s->last->labels = s->next->labels;
        s->last->rows = s->state->type.columns ? tra_table_own_rows(b, s->last) : s->state->rows;
        w->symbol[i]->node = s->last;
        if (!w->ok) w->symbol[i]->ok = false;
    }
    for (int i = 0; i < l->ntraces; i++) {
        const tra_stmt *st = trace_statement(w, l->traces[i].name);
        if (w->ok) add_trace_table(b, w, i, st);
        add_name(b, l->traces[i].name, l->traces[i].table, st);
    }
    if (w->ok) add_sinks(b, w);
}

/* The turn counter is a relation of rank 0, and a param in its loop. */
static void begin_turn(tra_build *b, building *w) {
    tra_catalog *c = tra_new(b->arena, tra_catalog);
    tra_dims none = {0};
    tra_err e = {0};
    if (!*w->st->name) return;
    if (tra_catalog_blocks(&none, &none, c, &e) != TRA_OK) return;
    tra_type t = {.dtype = TRA_I64, .cat = c};
    w->loop->turn = add_leaf(b, w, TRA_LEAF_TURN, 0, w->st->name, w->st->name_span, &t);
    tra_symbol *s = tra_new(b->arena, tra_symbol);
    *s = (tra_symbol){.stmt = w->st, .param = true, .ok = true, .seen = true, .used = true, .node = w->loop->turn};
    tra_names_add(&b->symbols, w->st->name, s);
}

void tra_build_repeat(tra_build *b, const tra_stmt *st) {
    tra_graph *g = b->g;
    building w = {.st = st, .loop = tra_new(b->arena, tra_repeat), .id = g->nloops, .ok = true};
    int outer = b->loop, names = b->symbols.n;
    *w.loop = (tra_repeat){.outer = outer, .span = st->span, .begin = g->n};
    TRA_ARENA_DOUBLE(b->arena, g->loops, g->nloops);
    g->loops[g->nloops++] = w.loop;
    w.ok = tra_build_int(b, st->turns, "a number of turns", 0, &w.loop->most);
    begin_states(b, &w);
    begin_turn(b, &w);
    b->loop = w.id;
    tra_build_body(b, st->body, end_body, &w);
    b->loop = outer;
    tra_names_cut(&b->symbols, names);
    end_loop(b, &w);
}
