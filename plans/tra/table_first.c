/* table_first.c - strings that are made of rows, of which a limit wants the first ones: only those rows are looked at
 * that come first in its order, which a pass over the table finds before any string is kept (made.h). */
#include "made.h"
#include "../../lib/tablefile/table_file.h"
#include "cardinality.h"
#include "table_build.h"

#include <string.h>

enum {
    CHAIN = 16, /* projections, and selections, that are looked through */
    FEWER = 4   /* a limit of more than this share of the rows is not worth a pass of its own */
};

/* The operators from a limit down to the call in question: projections, and at most one order. */
typedef struct chain {
    const tra_build *b;
    const tra_ast *call; /* that in question */
    const tra_ast *limit, *order, *project[CHAIN];
    int n, below; /* projections; those from number `below` on are below the order */
} chain;

/* The call that a name stands for, if that is its only reader; NULL: another one, or none. */
static const tra_ast *called(const tra_build *b, const tra_ast *x) {
    if (x->kind == TRA_AST_CALL) return x;
    int at = x->kind == TRA_AST_NAME ? tra_names_find(&b->symbols, x->text) : -1;
    const tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    const tra_stmt *st = s && !s->param && !s->changed ? s->stmt : NULL;
    bool plain = st && st->kind == TRA_STMT_ASSIGN && st->role == TRA_ROLE_ONLY && st->nparts <= 1 && s->depth == 0;
    if (!plain || tra_names_find(&b->often, x->text) >= 0) return NULL;
    return st->value && st->value->kind == TRA_AST_CALL ? st->value : NULL;
}

/* Is the call in question what the limit c->limit takes rows of, by operators of a chain? */
static bool follow(chain *c) {
    const tra_ast *x = c->limit;
    c->n = c->below = 0;
    c->order = NULL;
    while (x->nkids > 0 && (x = called(c->b, x->kids[0]))) {
        bool order = strcmp(x->text, "order") == 0;
        if (order && (c->order || x->nkids != 2 || x->kids[1]->kind != TRA_AST_LIST)) return false;
        if (order) c->order = x, c->below = c->n;
        if (x == c->call) return true;
        if (order) continue;
        if (strcmp(x->text, "project") != 0 || c->n == CHAIN) return false;
        c->project[c->n++] = x;
    }
    return false;
}

static bool find_chain(chain *c) {
    bool found = false;
    if (!c->call || c->b->loop >= 0 || c->b->all_open) return false;
    for (int i = 0; i < c->b->nlimits && !found; i++) {
        c->limit = c->b->limits[i];
        found = follow(c);
    }
    return found;
}

/* How many of the first rows limit(T, n, from = m) looks at; 0: it does not say that in numbers. */
static int64_t rows_of_limit(const tra_table_builder *w, const tra_ast *limit) {
    tra_build *b = w->b;
    tra_diags *d = b->d, none = {.arena = b->arena, .src = d->src};
    int64_t n = 0, from = 0;
    b->d = &none;
    bool ok = limit->nkids >= 2 && limit->nkids <= 3 && tra_build_int(b, limit->kids[1], "", 0, &n);
    if (ok && limit->nkids == 3)
        ok = limit->kids[2]->kind == TRA_AST_NAMED && tra_build_int(b, limit->kids[2]->kids[0], "", 0, &from);
    b->d = d;
    return ok ? tra_max64(1, tra_add_most(n, from)) : 0;
}

/* Does a value depend on which rows the table has? */
static bool counts_rows(const tra_ast *x) {
    bool any = x->kind == TRA_AST_CALL && (strcmp(x->text, "row") == 0 || strcmp(x->text, "number") == 0);
    for (int i = 0; i < x->nkids && !any; i++) any = counts_rows(x->kids[i]);
    return any;
}

/* Does a limit want few of the rows of w->in, by a chain of operators that begins with the call in question? *most: how
 * many of the first ones. */
static bool find_limited(const tra_table_builder *w, chain *c, int64_t *most) {
    *c = (chain){.b = w->b, .call = w->origin};
    bool order = w->op.op == TRA_TABLE_ORDER;
    if ((!order && w->op.op != TRA_TABLE_PROJECT) || !find_chain(c) || counts_rows(c->call)) return false;
    for (int i = c->below; i < c->n; i++)
        if (counts_rows(c->project[i])) return false;
    *most = rows_of_limit(w, c->limit);
    const tra_type *t = &w->in->type;
    int64_t rows = t->bounded && t->entries ? t->entries->all.expected : tra_catalog_elements(t->cat);
    return *most > 0 && *most <= rows / FEWER;
}

int64_t tra_table_first_wanted(const tra_table_builder *w) {
    chain c;
    int64_t most;
    return find_limited(w, &c, &most) ? most : INT64_MAX;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* x over the result of a projection, over its operand. NULL: it is something else, or has a name that no column of the
 * result has, of which the operand may have a column. */
static tra_ast *below_projection(tra_arena *a, const tra_ast *project, const tra_ast *x) {
    bool stays = false;
    if (x->kind == TRA_AST_NAME) {
        for (int i = 1; i < project->nkids; i++) {
            const tra_ast *t = project->kids[i];
            if (t->kind == TRA_AST_NAMED && strcmp(t->text, x->text) == 0) return tra_table_ast_copy(a, t->kids[0]);
            stays |= t->kind == TRA_AST_STAR || (t->kind == TRA_AST_NAME && strcmp(t->text, x->text) == 0);
        }
        return stays ? tra_table_ast_copy(a, x) : NULL;
    }
    if (x->kind == TRA_AST_COMPOSE) return NULL;
    tra_ast *y = tra_table_ast_copy(a, x);
    for (int i = 0; i < x->nkids; i++)
        if (!(y->kids[i] = below_projection(a, project, x->kids[i]))) return NULL;
    return y;
}

/* Types the keys of the order over the columns of w->in. False: they cannot be computed of these. */
static bool type_keys(const tra_table_builder *w, const chain *c, const tra_colexpr **x, bool *desc) {
    tra_build *b = w->b;
    tra_diags *d = b->d, none = {.arena = b->arena, .src = d->src};
    tra_table_scope sc = tra_table_scope_of(w);
    const tra_ast *list = c->order ? c->order->kids[1] : NULL;
    int deferred = b->deferred;
    bool ok = true;
    for (int k = 0; list && k < list->nkids && ok; k++) {
        desc[k] = list->kids[k]->kind == TRA_AST_DESC;
        const tra_ast *key = desc[k] ? list->kids[k]->kids[0] : list->kids[k];
        tra_table_term t = {0};
        for (int i = c->below; i < c->n && key; i++) key = below_projection(b->arena, c->project[i], key);
        if (key && w->op.op == TRA_TABLE_PROJECT) key = below_projection(b->arena, w->call, key);
        b->d = &none;
        ok = key && tra_table_build_term(&sc, NULL, key, &t) && !t.x->untyped;
        b->d = d;
        ok = ok && (tra_colexpr_is_known(t.x) || tra_colexpr_can_be_made(t.x)) && !tra_colexpr_uses_row(t.x);
        x[k] = t.x;
    }
    b->deferred = deferred;
    return ok;
}

/* ---- the rows --------------------------------------------------------------------------------------------------- */

/* A file of which w->in is made by selections and projections: the columns of w->in over its columns, and the
 * predicates. */
typedef struct base {
    const tra_node *file;
    const tra_colexpr **column;
    int nconditions;
    const tra_colexpr *condition[CHAIN];
} base;

static bool all_known(int n, const tra_colexpr *const *x) {
    bool known = true;
    for (int i = 0; i < n; i++) known = known && tra_colexpr_is_known(x[i]) && !tra_colexpr_uses_row(x[i]);
    return known;
}

/* False: w->in is made otherwise. */
static bool find_base(const tra_table_builder *w, base *f) {
    tra_arena *a = w->b->arena;
    const tra_node *n = w->in;
    const tra_schema *s = n->type.columns;
    f->column = tra_news(a, const tra_colexpr *, s->n + 1);
    f->nconditions = 0;
    for (int c = 0; c < s->n; c++) f->column[c] = tra_colexpr_column(a, s, c);
    for (const tra_table_op *op; !(n->op == TRA_OP_INPUT && n->input.rel); n = op->in[0]) {
        op = n->table;
        if (!op || (op->op != TRA_TABLE_SELECT && op->op != TRA_TABLE_PROJECT)) return false;
        const tra_colexpr **x = tra_news(a, const tra_colexpr *, op->nterms + 1);
        for (int i = 0; i < op->nterms; i++) x[i] = op->term[i].x;
        if (!all_known(op->nterms, x)) return false;
        if (op->op == TRA_TABLE_SELECT) {
            if (f->nconditions == CHAIN) return false;
            f->condition[f->nconditions++] = x[0];
            continue;
        }
        for (int c = 0; c < s->n; c++) f->column[c] = tra_colexpr_substitute(a, f->column[c], x);
        for (int i = 0; i < f->nconditions; i++) f->condition[i] = tra_colexpr_substitute(a, f->condition[i], x);
    }
    f->file = n;
    return all_known(s->n, f->column) && all_known(f->nconditions, f->condition);
}

/* The columns that stay are some of the file. *left: how many of those that are kept are the program's. */
static bool keep_columns(const tra_table_builder *w, const base *f, tra_first_rows *m, int *left) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    const bool *keep = tra_table_read_columns(w);
    int *kept = tra_news(a, int, s->n + 1);
    const char **name = tra_news(a, const char *, s->n + 1);
    bool plain = true;
    *left = w->own_columns;
    m->nkept = 0;
    for (int c = 0; c < s->n; c++) {
        *left -= c < w->own_columns && !keep[c];
        if (!keep[c]) continue;
        plain = plain && f->column[c]->op == TRA_C_COLUMN;
        kept[m->nkept] = f->column[c]->column;
        name[m->nkept++] = s->v[c].name;
    }
    m->kept = kept, m->name = name;
    return plain;
}

/* Says which rows of w->in are wanted. False: it is no table of a file, or its keys cannot be computed. */
static bool say_rows(const tra_table_builder *w, const chain *c, tra_first_rows *m, int *left) {
    tra_arena *a = w->b->arena;
    base f;
    if (!find_base(w, &f) || !keep_columns(w, &f, m, left)) return false;
    m->nkeys = c->order ? c->order->kids[1]->nkids : 0;
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, m->nkeys + 1);
    bool *desc = tra_news(a, bool, m->nkeys + 1);
    if (m->most > tra_rel_rows(f.file->input.rel) / FEWER || !type_keys(w, c, x, desc)) return false;
    for (int k = 0; k < m->nkeys; k++) x[k] = tra_colexpr_substitute(a, x[k], f.column);
    const tra_colexpr **condition = tra_news(a, const tra_colexpr *, f.nconditions + 1);
    for (int k = 0; k < f.nconditions; k++) condition[k] = f.condition[k];
    m->from = f.file->input.rel, m->x = x, m->desc = desc;
    m->nconditions = f.nconditions, m->condition = condition;
    return true;
}

bool tra_table_find_first(tra_table_builder *w, bool *failed) {
    tra_build *b = w->b;
    chain c;
    tra_first_rows m = {0};
    const char *path;
    tra_err e = {0};
    int left;
    if (!find_limited(w, &c, &m.most)) return false;
    if (!say_rows(w, &c, &m, &left)) {
        int own = w->own_columns;
        tra_node *file = tra_table_in_file(w, tra_table_read_columns(w), &own);
        if (!file) return *failed = true, false;
        if (file != w->in) w->in = file, w->own_columns = own;
        if (!say_rows(w, &c, &m, &left)) return false;
    }
    tra_status status = b->makes->first(b->makes, &m, tra_table_identity(b, "first rows"), &path, &e);
    if (status == TRA_NO) return false;
    if (status != TRA_OK) return tra_build_unreadable(b, w->call->span, NULL, &e), *failed = true, false;
    w->in = tra_build_made_input(b, w->call->span, path);
    w->own_columns = left;
    *failed = !w->in;
    return !*failed;
}
