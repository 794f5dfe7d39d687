/* table_strings.c - operators that read strings which only rows tell: these are made first, as columns of a table. */
#include "../../lib/h5/stand_in.h"
#include "../../lib/tablefile/table_file.h"
#include "cardinality.h"
#include "made.h"
#include "table_build.h"

#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

static bool makes_strings(const tra_build *b) { return b->makes && b->makes->strings; }

/* ---- what is made ----------------------------------------------------------------------------------------------- */

/* The calls of an operator that are made, and the columns that stand for them. */
typedef struct wanted {
    tra_table_builder *w;
    int n;
    const char **name, **text; /* of the columns, and of the calls */
    const tra_colexpr **call;
    bool *reads; /* columns of w->in that these read */
} wanted;

static void mark_columns(const tra_colexpr *x, bool *reads) {
    if (x->op == TRA_C_COLUMN) reads[x->column] = true;
    for (int i = 0; i < x->nkids; i++) mark_columns(x->kids[i], reads);
}

/* The typed call, where it can be made; NULL: it cannot, or need not be. */
static const tra_colexpr *typed(const wanted *x, const tra_ast *call) {
    tra_build *b = x->w->b;
    tra_diags *d = b->d, none = {.arena = b->arena, .src = d->src};
    tra_table_scope sc = tra_table_scope_of(x->w);
    tra_table_term t;
    int op = tra_colop_find(call->text, call->nkids), deferred = b->deferred;
    if (op < 0) return NULL;
    b->d = &none;
    bool ok = tra_table_build_term(&sc, NULL, call, &t);
    b->d = d;
    b->deferred = deferred;
    return ok && tra_colexpr_can_be_made(t.x) ? t.x : NULL;
}

/* A copy of the tree in which calls that are made are names of columns. */
static tra_ast *replace(wanted *x, const tra_ast *ast) {
    tra_arena *a = x->w->b->arena;
    const tra_colexpr *call = ast->kind == TRA_AST_CALL ? typed(x, ast) : NULL;
    if (call) {
        tra_str s = {0};
        tra_ast_print(ast, &s);
        const char *text = tra_arena_take(a, &s), *name = tra_arena_printf(a, "string %d", x->w->b->nmade++);
        for (int i = 0; i < x->n; i++) /* the same call stands twice */
            if (strcmp(x->text[i], text) == 0) return tra_table_name_ast(a, x->name[i], ast->span);
        TRA_ARENA_DOUBLE(a, x->call, x->n);
        TRA_ARENA_DOUBLE(a, x->name, x->n);
        TRA_ARENA_DOUBLE(a, x->text, x->n);
        x->call[x->n] = call;
        x->text[x->n] = text;
        x->name[x->n] = tra_table_free_name(a, x->w->in->type.columns, name);
        mark_columns(call, x->reads);
        return tra_table_name_ast(a, x->name[x->n++], ast->span);
    }
    tra_ast *y = tra_new(a, tra_ast);
    *y = *ast;
    y->kids = tra_news(a, tra_ast *, ast->nkids + 1);
    for (int i = 0; i < ast->nkids; i++) y->kids[i] = replace(x, ast->kids[i]);
    return y;
}

/* ---- which columns ---------------------------------------------------------------------------------------------- */

static void mark_names(const tra_ast *x, const tra_schema *s, bool *named, bool *star) {
    int c = x->kind == TRA_AST_NAME ? tra_schema_find(s, x->text) : -1;
    if (c >= 0) named[c] = true;
    if (x->kind == TRA_AST_STAR) *star = true;
    for (int i = 0; i < x->nkids; i++) mark_names(x->kids[i], s, named, star);
}

/* Those that it names, and those of its result: all, where that has every column of w->in. */
bool *tra_table_read_columns(const tra_table_builder *w) {
    const tra_schema *s = w->in->type.columns;
    bool *named = tra_news(w->b->arena, bool, s->n + 1), all = w->own_columns > 0;
    tra_table_opcode op = w->op.op;
    for (int i = 1; i < w->call->nkids; i++) mark_names(w->call->kids[i], s, named, &all);
    all = all || (op != TRA_TABLE_PROJECT && op != TRA_TABLE_GROUP && op != TRA_TABLE_MATRIX && op != TRA_TABLE_PIVOT);
    for (int c = 0; c < s->n && all; c++) named[c] = true;
    return named;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* All that a made table depends on: the program up to here, and the files that it reads. */
const char *tra_table_identity(tra_build *b, const char *what) {
    tra_str s = {0};
    uint64_t hash = XXH64(b->g->src->text, (size_t)b->g->src->n, 0);
    for (int i = 0; i < b->symbols.n; i++) {
        const char *given = ((const tra_symbol *)b->symbols.value[i])->define;
        if (given) hash = XXH64(given, strlen(given), hash + (uint64_t)i);
    }
    tra_str_printf(&s, "%s %d of %016" PRIx64, what, b->nmade++, hash);
    for (int i = 0; i < b->g->n; i++) {
        const tra_node *n = b->g->v[i];
        struct stat st;
        const char *path, *name;
        if (n->op != TRA_OP_INPUT || !n->input.rel) continue;
        const tra_stand_in *in = tra_rel_stand_in(n->input.rel);
        if (in && in->identity) {
            tra_str_printf(&s, "; %s", in->identity);
            continue;
        }
        tra_relspec(b->arena, n->input.path, &path, &name);
        if (stat(path, &st) != 0) continue;
        tra_str_printf(&s, "; %s %lld %lld.%09ld %llu", n->input.path, (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    }
    return tra_arena_take(b->arena, &s);
}

static int64_t rows_of(const tra_node *n) {
    const tra_type *t = &n->type;
    return t->bounded && t->entries ? t->entries->all.expected : tra_catalog_elements(t->cat);
}

/* Notes the memory that a run needs to make n columns of strings of a table. A command that makes none must tell a
 * ceiling that holds it. */
static void note_room(const tra_table_builder *w, int n) {
    enum { LEFT = 2 << 20 }; /* of the part of the program that makes the table, in the heap */
    const tra_schema *s = w->in->type.columns;
    int64_t left = w->in->op == TRA_OP_INPUT ? 0 : LEFT;
    if (!makes_strings(w->b)) tra_buffer_note(tra_buffer_held() + left + tra_made_room(s, s->n, n));
}

/* Notes how many strings are made of a table; x NULL: one of each row, all different. */
static void note_strings(const tra_table_builder *w, int n, const tra_colexpr *const *x) {
    const tra_type *t = &w->in->type;
    tra_graph *g = w->b->g;
    int64_t rows = rows_of(w->in), most = tra_min64(rows, tra_table_first_wanted(w));
    note_room(w, n);
    for (int i = 0; i < n; i++) {
        g->strings[0] += (double)rows;
        g->strings[1] += (double)tra_min64(most, x ? tra_table_values_most(&t->columns->v[0], x[i]) : INT64_MAX);
    }
}

/* Does the node depend on what a loop changes (*changes), or on what loops give (*loops)? */
static void mark_leaves(const tra_build *b, const tra_node *n, bool *seen, bool *changes, bool *loops) {
    if (seen[n->id]) return;
    seen[n->id] = true;
    if (n->op == TRA_OP_INPUT) {
        *changes = *changes || n->input.leaf == TRA_LEAF_STATE || n->input.leaf == TRA_LEAF_TURN;
        *loops = *loops || n->input.leaf == TRA_LEAF_LAST || n->input.leaf == TRA_LEAF_TRACE;
    }
    for (int i = 0; i < 2 && n->in[i]; i++) mark_leaves(b, n->in[i], seen, changes, loops);
}

static tra_node *failed(tra_build *b, tra_span span, const tra_err *why) {
    return tra_build_unreadable(b, span, NULL, why);
}

/* Can no run make strings of the table, since a loop changes it? This is an error. *loops: it is made of what loops
 * give. */
static bool is_of_turn(const tra_table_builder *w, bool *loops) {
    tra_build *b = w->b;
    bool changes = false;
    *loops = false;
    mark_leaves(b, w->in, tra_news(b->arena, bool, b->g->n + 1), &changes, loops);
    if (!changes && (!*loops || b->loop < 0)) return false;
    tra_diag_error(b->d, w->call->span,
                   "make the strings of a table that the loop does not change, before it, or after it",
                   "strings that only the run makes cannot be made of what a loop changes");
    return true;
}

/* The table as a file: itself, if it is one. */
tra_node *tra_table_in_file(const tra_table_builder *w, const bool *keep, int *own) {
    const tra_schema *s = w->in->type.columns;
    tra_build *b = w->b;
    tra_err e = {0};
    const char *path;
    bool loops;
    if (w->in->op == TRA_OP_INPUT && w->in->input.rel) return w->in;
    if (is_of_turn(w, &loops)) return NULL;
    tra_table_builder one = {.b = b, .call = w->call, .in = w->in, .in_name = w->in_name, .op.op = TRA_TABLE_PROJECT};
    int n = 0;
    for (int c = 0; c < s->n; c++) {
        if (!keep[c]) continue;
        if (!tra_table_add_term(&one, tra_table_name_ast(b->arena, s->v[c].name, w->call->span))) return NULL;
        n += *own == 0 || c < *own;
    }
    tra_node *t = tra_table_project(&one);
    if (!t) return NULL;
    if (b->makes->table(b->makes, b->g, t, loops, tra_table_identity(b, "rows"), &path, &e) != TRA_OK)
        return failed(b, w->call->span, &e);
    *own = n;
    return tra_build_made_input(b, w->call->span, path);
}

static bool find_calls(wanted *x) {
    tra_table_builder *w = x->w;
    tra_ast *call = tra_table_ast_copy(w->b->arena, w->call);
    x->n = 0;
    x->name = x->text = NULL;
    x->call = NULL;
    x->reads = tra_news(w->b->arena, bool, w->in->type.columns->n + 1);
    for (int i = w->right ? 2 : 1; i < call->nkids; i++) call->kids[i] = replace(x, call->kids[i]);
    if (x->n > 0) w->call = call;
    return x->n > 0;
}

/* A copy of the tree in which strings that could not be computed are errors: what adds their mark to the greatest
 * integer, if(isnull(9223372036854775807 + mark), s, s). */
static tra_ast *fail_where_marked(tra_build *b, const tra_ast *x, const tra_schema *s) {
    tra_arena *a = b->arena;
    const char *mark = x->kind == TRA_AST_NAME ? tra_arena_printf(a, TRA_MADE_FAILED, x->text) : NULL;
    tra_ast *y = tra_table_ast_copy(a, x);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = fail_where_marked(b, x->kids[i], s);
    if (!mark || tra_schema_find(s, mark) < 0) return y;
    tra_ast *most = tra_table_ast(a, TRA_AST_NUMBER, "9223372036854775807", x->span, 0, NULL);
    tra_ast *both[] = {most, tra_table_name_ast(a, mark, x->span)};
    most->integer = true;
    tra_ast *sum = tra_table_ast(a, TRA_AST_BINARY, "+", x->span, 2, both);
    tra_ast *test = tra_table_ast(a, TRA_AST_CALL, "isnull", x->span, 1, &sum);
    return tra_table_ast(a, TRA_AST_CALL, "if", x->span, 3, (tra_ast *[]){test, y, y});
}

/* The call over the table that was made of it: strings of which some could not be computed, in rows that perhaps nobody
 * reads, fail there. Adds their marks to the n names of what was made. */
static void mark_failed(tra_table_builder *w, int *n, const char **name) {
    const tra_schema *s = w->in->type.columns;
    int made = *n, tables = w->right ? 2 : 1;
    for (int k = 0; k < made; k++) {
        const char *mark = tra_arena_printf(w->b->arena, TRA_MADE_FAILED, name[k]);
        if (tra_schema_find(s, mark) >= 0) name[(*n)++] = mark;
    }
    tra_ast *call = *n > made ? fail_where_marked(w->b, w->call, s) : NULL;
    for (int i = 0; call && i < tables; i++) call->kids[i] = w->call->kids[i];
    if (call) w->call = call;
}

/* Is the node some columns of an open file under their names, as narrow_input makes them? */
static bool is_narrowed(const tra_node *n) {
    const tra_rows_kernel *k = n->op == TRA_OP_TRANSFORM ? tra_kernel_rows(n->kernel) : NULL;
    const tra_rowwise_step *v;
    if (!k || k->ops != &tra_rowwise_ops || n->in[0]->op != TRA_OP_INPUT || !n->in[0]->input.rel) return false;
    if (tra_rowwise_steps(k->data, &v) != 1 || v[0].selects || tra_rowwise_is_matrix(k->data, NULL)) return false;
    const tra_schema *s = n->in[0]->type.columns;
    for (int i = 0; i < v[0].n; i++)
        if (v[0].x[i]->op != TRA_C_COLUMN || strcmp(s->v[v[0].x[i]->column].name, v[0].names[i]) != 0) return false;
    return true;
}

/* Replaces calls by columns of a table that is made now. *made: their number, *name: their names. */
static bool make_strings(tra_table_builder *w, int *made, const char ***name) {
    tra_build *b = w->b;
    tra_err e = {0};
    const char *path;
    wanted x = {.w = w};
    const tra_ast *call = w->call;
    bool *keep = tra_table_read_columns(w);
    int own = w->own_columns;
    if (!find_calls(&x))
        return tra_diag_error(
            b->d, w->call->span,
            b->loop < 0 ? "make a column of them first: T = project(T, *, s = ...)"
                        : "no new strings come up from turn to turn: make them before the loop, or after it",
            "these strings are known only once rows are computed, and %s cannot make them", w->call->text);
    for (int c = 0; c < w->in->type.columns->n; c++) keep[c] = keep[c] || x.reads[c];
    bool narrowed = own == 0 && is_narrowed(w->in);
    const tra_schema *had = w->in->type.columns;
    tra_node *file = narrowed ? w->in->in[0] : tra_table_in_file(w, keep, &own);
    if (!file) return false;
    bool own_file = file != w->in && !narrowed;
    if (file != w->in) { /* the values of the file's columns are known: perhaps that is enough */
        w->in = file;
        w->own_columns = own;
        w->call = call;
        if (!find_calls(&x)) return *made = 0, true;
    }
    keep = tra_table_read_columns(w); /* not those that only the strings are made of */
    const tra_schema *s = file->type.columns;
    int *kept = tra_news(b->arena, int, s->n + 1), n = 0, left = 0;
    for (int c = 0; c < s->n; c++) {
        if (!keep[c] || tra_schema_find(narrowed ? had : s, s->v[c].name) < 0) continue;
        left += own == 0 || c < own;
        kept[n++] = c;
    }
    tra_made_strings m = {
        .from = file->input.rel, .nkept = n, .kept = kept, .nmade = x.n, .name = x.name, .text = x.text, .x = x.call};
    note_strings(w, x.n, x.call);
    tra_status status = b->makes->strings(b->makes, &m, tra_table_identity(b, "strings"), &path, &e);
    if (own_file) tra_rel_leave_strings(file->input.rel);
    if (status != TRA_OK) return failed(b, call->span, &e) != NULL;
    w->in = tra_build_made_input(b, call->span, path);
    w->own_columns = left;
    *made = x.n;
    *name = tra_news(b->arena, const char *, 2 * x.n + 1);
    memcpy(*name, x.name, (size_t)x.n * sizeof **name);
    if (w->in) mark_failed(w, made, *name);
    return w->in != NULL;
}

tra_node *tra_table_without(const tra_table_builder *w, tra_node *n, int count, const char *const *name) {
    tra_table_builder one = {.b = w->b, .call = w->call, .in = n, .op.op = TRA_TABLE_PROJECT};
    const tra_schema *s = n ? n->type.columns : NULL;
    bool any = false;
    for (int c = 0; count > 0 && s && c < s->n; c++) {
        int i = 0;
        while (i < count && strcmp(name[i], s->v[c].name) != 0) i++;
        any = any || i < count;
        if (i == count && !tra_table_add_term(&one, tra_table_name_ast(w->b->arena, s->v[c].name, w->call->span)))
            return NULL;
    }
    return any ? tra_table_project(&one) : n;
}

static tra_node *build_with_strings(tra_table_builder *w, tra_node *(*build)(tra_table_builder *)) {
    tra_build *b = w->b;
    int before = b->deferred, made = 0;
    const char **name = NULL;
    tra_table_builder start = *w;
    bool by_row = b->makes && b->makes->by_row; /* the reference evaluator */
    bool makes = makes_strings(b) && !by_row, first = !by_row && b->loop < 0 && tra_table_first_wanted(w) < INT64_MAX;
    bool failed = false;
    /* explain decides by the same number as run, so that it tells the plan that runs */
    int64_t most = b->loop >= 0 || by_row ? TRA_COMBINATIONS_MOST
                                          : tra_min64(tra_max64(rows_of(w->in), 1 << 16), TRA_COMBINATIONS_MOST);
    b->beforehand = (tra_beforehand){.most = most, .few = first};
    tra_node *n = build(w);
    while (n && b->deferred > before && makes) {
        b->deferred = before;
        *w = start;
        if (first)
            tra_table_find_first(w, &failed);
        else
            failed = !make_strings(w, &made, &name);
        b->beforehand = (tra_beforehand){.most = most};
        if (failed) return NULL;
        first = false;
        start = *w;
        n = tra_table_without(w, build(w), made, name);
    }
    b->beforehand.few = false;
    wanted x = {.w = &start};
    if (n && b->deferred > before && find_calls(&x)) note_strings(&start, x.n, x.call);
    return n;
}

tra_node *tra_table_with_strings(tra_table_builder *w, tra_node *(*build)(tra_table_builder *)) {
    tra_node *n = build_with_strings(w, build);
    w->b->beforehand = (tra_beforehand){.most = TRA_COMBINATIONS_MOST};
    return n;
}

/* ---- values of a column ----------------------------------------------------------------------------------------- */

tra_status tra_table_made_column(tra_table_builder *w, int column, tra_rel **out, tra_err *e) {
    const tra_schema *s = w->in->type.columns;
    tra_build *b = w->b;
    bool *keep = tra_news(b->arena, bool, s->n + 1), changes = false, loops = false, *seen;
    int own = 0, errors = b->d->errors;
    if (!w->b->makes || (w->in->op == TRA_OP_INPUT && !w->in->input.rel)) return TRA_NO;
    seen = tra_news(b->arena, bool, b->g->n + 1);
    mark_leaves(b, w->in, seen, &changes, &loops);
    for (int i = 0; i < b->g->n; i++)
        if (seen[i] && b->g->v[i]->op == TRA_OP_INPUT && !b->g->v[i]->input.rel && !b->g->v[i]->input.leaf)
            return TRA_NO;
    if (changes || (loops && b->loop >= 0)) return TRA_NO;
    keep[column] = true;
    tra_node *n = tra_table_in_file(w, keep, &own);
    if (!n && b->d->errors == errors) return TRA_NO;
    if (!n) return tra_fail(e, TRA_RESOURCE, "the values of column '%s' cannot be found", s->v[column].name);
    *out = n->input.rel;
    return TRA_OK;
}

/* ---- strings of groups ------------------------------------------------------------------------------------------ */

/* string(`name`) or count(`name`), as `result`. */
static tra_ast *call_of(tra_build *b, const char *f, const char *name, const char *result, tra_span span) {
    tra_ast *x = tra_table_name_ast(b->arena, name, span);
    x = tra_table_ast(b->arena, TRA_AST_CALL, f, span, 1, &x);
    return tra_table_ast(b->arena, TRA_AST_NAMED, result, span, 1, &x);
}

/* For who only looks at the program: a table like it, whose strings are not those. */
static tra_node *unknown_strings(tra_table_builder *w, tra_node *in, const char *name) {
    tra_build *b = w->b;
    const tra_schema *s = in->type.columns;
    tra_span span = w->call->span;
    tra_ast **key = tra_news(b->arena, tra_ast *, s->n);
    for (int c = 0; c + 1 < s->n; c++) key[c] = tra_table_name_ast(b->arena, s->v[c].name, span);
    tra_ast *kids[] = {tra_table_name_ast(b->arena, "", span),
                       tra_table_ast(b->arena, TRA_AST_LIST, NULL, span, s->n - 1, key),
                       call_of(b, "count", s->v[s->n - 1].name, name, span)};
    tra_ast *group = tra_table_ast(b->arena, TRA_AST_CALL, "group", span, 3, kids);
    tra_table_builder one = {.b = b, .call = group, .in = in, .op.op = TRA_TABLE_GROUP};
    tra_table_builder two = {.b = b, .call = w->call, .in = tra_table_group(&one), .op.op = TRA_TABLE_PROJECT};
    if (!two.in) return NULL;
    for (int c = 0; c + 1 < s->n; c++)
        if (!tra_table_add_term(&two, key[c])) return NULL;
    return tra_table_add_term(&two, call_of(b, "string", name, name, span)) ? tra_table_project(&two) : NULL;
}

tra_node *tra_table_join_strings(tra_table_builder *w, tra_node *in, const char *name, const char *separator) {
    tra_build *b = w->b;
    tra_err e = {0};
    const char *path, *what = TRA_STRING_AGGREGATE;
    int n = in->type.columns->n, own = 0;
    note_strings(&(tra_table_builder){.b = b, .in = in}, 1, NULL);
    bool loops;
    if (!makes_strings(b) && is_of_turn(&(tra_table_builder){.b = b, .call = w->call, .in = in}, &loops)) return NULL;
    if (!makes_strings(b)) return unknown_strings(w, in, name);
    bool *all = tra_news(b->arena, bool, n + 1);
    for (int c = 0; c < n; c++) all[c] = true;
    tra_table_builder one = {.b = b, .call = w->call, .in = in, .op.op = TRA_TABLE_PROJECT};
    one.in = tra_table_in_file(&one, all, &own);
    if (!one.in) return NULL;
    tra_table_scope sc = tra_table_scope_of(&one);
    tra_table_term t;
    const tra_ast *text = call_of(b, "string", one.in->type.columns->v[n - 1].name, name, w->call->span)->kids[0];
    int deferred = b->deferred;
    bool ok = tra_table_build_term(&sc, name, text, &t);
    b->deferred = deferred;
    if (!ok) return NULL;
    tra_made_strings m = {
        .from = one.in->input.rel, .nkept = n - 1, .nmade = 1, .name = &name, .text = &what, .x = &t.x};
    m.kept = tra_table_counting(b->arena, n, 0);
    m.separator = separator;
    if (b->makes->strings(b->makes, &m, tra_table_identity(b, "groups"), &path, &e) != TRA_OK)
        return failed(b, w->call->span, &e);
    return tra_build_made_input(b, w->call->span, path);
}
