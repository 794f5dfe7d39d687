/* loop.c - repeat statements: states, their next values, the condition, traces. */
#include "build.h"
#include "table_build.h"

#include <math.h>
#include <string.h>

/* A loop that is being built. */
typedef struct building {
    const tra_stmt *st;
    tra_repeat *loop;
    int id, cap, captraces;
    int names; /* that are known before its body */
    bool ok;
    tra_symbol **symbol; /* of each state */
} building;

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* A leaf of the loop with this type. */
static tra_node *add_leaf(tra_build *b, const building *w, tra_leaf leaf, int item, const char *name, tra_span span,
                          const tra_type *t) {
    tra_node *n = tra_build_node(b, TRA_OP_INPUT, span);
    n->input.at = TRA_AT_ALL;
    n->input.leaf = leaf;
    n->input.loop = w->id;
    n->input.item = item;
    n->name = name;
    n->type = *t;
    return n;
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
        tra_node *first = s->node->type.columns ? tra_state_widen(b, s->node, NULL, s->stmt->name_span) : s->node;
        if (!first) {
            w->ok = false;
            continue;
        }
        tra_type t = tra_state_type(b, &first->type);
        tra_node *leaf = add_leaf(b, w, TRA_LEAF_STATE, l->nstates, st->name, st->name_span, &t);
        leaf->labels = s->node->labels;
        leaf->rows = t.columns ? tra_table_own_rows(b, leaf) : s->node->rows;
        l->states[l->nstates++] =
            (tra_repeat_state){.name = st->name, .span = st->name_span, .first = first, .state = leaf};
        s->node = leaf;
        s->changed = true;
    }
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
    l->states[k].next = n ? tra_state_fit(b, st, &l->states[k], n) : NULL;
    if (!l->states[k].next) w->ok = false;
}

/* The relation of rank 0 that the name stands for; NULL after a diagnostic. */
static const tra_node *rank_0(tra_build *b, const building *w, const tra_ast *x) {
    if (w->loop->turn && strcmp(x->text, w->loop->turn->name) == 0) return w->loop->turn;
    tra_symbol *s = tra_build_relation_symbol(b, x->text, x->span);
    if (!s) return NULL;
    if (!s->node->type.columns && s->node->type.cat->bound.n == 0 && s->node->type.cat->n == 1) return s->node;
    return tra_diag_error(b->d, x->span, tra_arena_printf(b->arena, "write for instance n[] = sum %s[..]^2", x->text),
                          "'%s' is not one number", x->text);
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

/* Notes the relations that the condition reads (l NULL: does not). False: it reads none, and no counter. */
static bool watch(tra_build *b, tra_repeat *l, const tra_ast *x) {
    if (x->kind == TRA_AST_CALL && strcmp(x->text, "extent") == 0) return false; /* a number */
    bool named = x->kind == TRA_AST_NAME || x->kind == TRA_AST_INDEX;
    int at = named ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    bool any = named && (!s || !s->param || s->node); /* a name that is not known is told by the statement */
    if (l && any && s && s->node && !s->param && s->node->type.cat->bound.n == 0 && !is_traced(l, s->node)) {
        TRA_ARENA_DOUBLE(b->arena, l->watched_name, l->nwatched);
        TRA_ARENA_DOUBLE(b->arena, l->watched, l->nwatched);
        l->watched_name[l->nwatched] = x->text;
        l->watched[l->nwatched++] = s->node;
    }
    for (int i = 0; i < x->nkids; i++) any = watch(b, l, x->kids[i]) || any;
    return any;
}

/* The condition, a relation of rank 0; NULL after a diagnostic. */
static tra_node *build_condition(tra_build *b, const tra_ast *x, const char *name) {
    tra_stmt st = {.kind = TRA_STMT_EINSUM, .span = x->span, .name = name, .name_span = x->span, .value = (tra_ast *)x};
    return tra_build_einsum(b, &st);
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
    w->loop->until = build_condition(b, x, "until");
    w->loop->until_span = x->span;
    if (!w->loop->until) w->ok = false;
}

/* Adds ": extent(A, 0) is 3, k is 4" for the comparisons in a condition of numbers. */
static void tell_sides(tra_build *b, const tra_ast *x, tra_str *out) {
    double v;
    bool compares = x->kind == TRA_AST_BINARY && strchr("<>=!", x->text[0]);
    for (int i = 0; i < x->nkids && x->kind == TRA_AST_BINARY; i++) {
        if (!compares) tell_sides(b, x->kids[i], out);
        if (!compares || x->kids[i]->kind == TRA_AST_NUMBER || !tra_build_number(b, x->kids[i], &v)) continue;
        tra_str one = {0};
        tra_ast_print(x->kids[i], &one);
        tra_str_printf(&one, " is %.15g", v);
        if (!strstr(tra_str_get(out), tra_str_get(&one)))
            tra_str_printf(out, "%s%s", out->n ? ", " : ": ", tra_str_get(&one));
        tra_str_free(&one);
    }
}

void tra_build_require(tra_build *b, const tra_stmt *st) {
    const tra_ast *x = st->value;
    const char *text = st->path ? st->path : tra_arena_printf(b->arena, "this is required, but does not hold");
    if (watch(b, NULL, x)) {
        tra_node *n = build_condition(b, x, "require");
        if (n) add_sink(b, n, text, TRA_SINK_REQUIRE, b->loop, st->span.at, 0);
        return;
    }
    double v;
    if (!tra_build_number(b, x, &v) || (v != 0 && !isnan(v))) return;
    tra_str values = {0};
    tell_sides(b, x, &values);
    tra_diag_error(b->d, x->span, NULL, "%s%s", text, tra_str_get(&values));
    tra_str_free(&values);
    b->refused = true;
}

typedef struct reading {
    const char *name;
    int from; /* byte of the source */
    bool found;
} reading;

static void see_name(void *ctx, const char *name, tra_span at) {
    reading *r = ctx;
    r->found = r->found || (at.at >= r->from && strcmp(name, r->name) == 0);
}

/* Does the program read the trace after the loop? Not where it gives the name to something else there. */
static bool is_read_after(const tra_build *b, const building *w, const char *name) {
    reading r = {name, w->st->span.at + w->st->span.len, false};
    for (int i = 0; i < w->names; i++)
        if (strcmp(b->symbols.name[i], name) == 0) return false;
    tra_visit_reads(b->ast, see_name, &r);
    return r.found;
}

/* The trace of a loop in this one that is read after it: a state, which each turn gives what that traced. */
static void carry_trace(tra_build *b, building *w, const tra_symbol *s) {
    tra_repeat *l = w->loop;
    const char *name = s->stmt->name;
    tra_node *table = s->node;
    tra_node *first = add_leaf(b, w, TRA_LEAF_EMPTY, 0, name, s->stmt->name_span, &table->type);
    tra_node *leaf = add_leaf(b, w, TRA_LEAF_STATE, l->nstates, name, s->stmt->name_span, &table->type);
    first->rows = tra_table_own_rows(b, first);
    leaf->rows = tra_table_own_rows(b, leaf);
    TRA_ARENA_ROOM(b->arena, l->states, l->nstates, w->cap);
    l->states[l->nstates++] = (tra_repeat_state){
        .name = name, .span = s->stmt->name_span, .first = first, .state = leaf, .next = table, .trace = s->stmt};
    ((tra_symbol *)s)->used = true;
    tra_diag_warn(b->d, s->stmt->name_span, "make what is to be kept of all turns a state",
                  "after the loop around it '%s' has the rows of the last turn of that", name);
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
    for (int i = w->names; i < b->symbols.n && w->ok; i++) {
        const tra_symbol *s = b->symbols.value[i];
        if (s->stmt->kind == TRA_STMT_TRACE && s->node && is_read_after(b, w, s->stmt->name)) carry_trace(b, w, s);
    }
}

/* ---- after the loop ---------------------------------------------------------------------------------------------- */

static const tra_schema *trace_columns(tra_build *b, const tra_repeat_trace *t, const tra_stmt *st) {
    const tra_schema *s;
    tra_column *v = tra_schema_beside(b->arena, NULL, t->n + 1, &s);
    v[0] = (tra_column){.name = "turn", .type = TRA_COL_I64};
    for (int i = 0; i < t->n; i++)
        v[i + 1] = (tra_column){.name = st->values[i]->text, .type = tra_coltype_of(t->value[i]->type.dtype)};
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
    tra_names_add(&b->symbols, name, s);
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
    for (int i = 0; i < l->nwatched; i++) add_sink(b, l->watched[i], l->watched_name[i], TRA_SINK_TRACE, w->id, -1, i);
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
        if (s->trace) {
            add_name(b, s->name, s->last, s->trace);
            continue;
        }
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
    if (!*w->st->name) return;
    if (tra_catalog_blocks(&none, &none, c, NULL) != TRA_OK) return;
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
    w.names = b->symbols.n;
    tra_build_body(b, st->body, end_body, &w);
    b->loop = outer;
    tra_names_cut(&b->symbols, names);
    end_loop(b, &w);
}
