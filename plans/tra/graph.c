/* graph.c - building the graph: names and statements. Operators are in graph_calls.c, inputs and outputs in input.c. */
#include "../../lib/tablefile/table_file.h"
#include "table_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------------------------- */

const char *tra_build_near(tra_build *b, const char *name, bool params, int n, const char *const *extra) {
    if (b->d->errors > 100) return NULL; /* this is hardly a program, and each search goes through all names */
    const char **names = tra_news(b->arena, const char *, b->symbols.n + n);
    int count = 0;
    for (int i = 0; i < n; i++) names[count++] = extra[i];
    for (int i = 0; i < b->symbols.n; i++) {
        const tra_symbol *s = b->symbols.value[i];
        if (s->param == params && s->seen) names[count++] = b->symbols.name[i];
    }
    const char *near = tra_nearest(name, count, names);
    return near ? tra_arena_printf(b->arena, "did you mean %s?", near) : NULL;
}

/* The symbol if it is of the kind wanted, defined above, and its definition is right. */
static tra_symbol *use_symbol(tra_build *b, const char *name, tra_span span, bool param) {
    int i = tra_names_find(&b->symbols, name);
    if (i < 0) {
        int gone = param ? -1 : tra_names_find(&b->gone, name);
        const tra_symbol *of = gone >= 0 ? b->gone.value[gone] : NULL;
        if (of && of->stmt->kind == TRA_STMT_TRACE && b->d->errors > 0) return NULL; /* its loop was not built */
        const char *hint = of ? "it is of one turn of a loop that has ended: make it a state, with a next value"
                              : tra_build_near(b, name, param, 0, NULL);
        if (!hint && !param)
            hint = tra_arena_printf(b->arena,
                                    "a file becomes one: input %s from \"FILE\"; for tra eval, %s=FILE after "
                                    "the program",
                                    name, name);
        tra_diag_error(b->d, span, hint, "there is no %s '%s'", param ? "param" : "relation", name);
        if (of) tra_diag_also(b->d, of->stmt->name_span, "in the loop");
        return NULL;
    }
    tra_symbol *s = b->symbols.value[i];
    bool macro = s->stmt->kind == TRA_STMT_DEF, storage = s->stmt->kind == TRA_STMT_STORAGE;
    s->used = true;
    bool turn = s->param && s->node; /* a turn counter: a number, and a relation of rank 0 */
    if (macro || storage || (s->param != param && !turn))
        tra_diag_error(b->d, span,
                       macro ? tra_arena_printf(b->arena, "write %s(..), after its definition", name) : NULL,
                       "'%s' is a %s; a %s is expected here", name,
                       macro      ? "macro"
                       : storage  ? "storage"
                       : s->param ? "param"
                                  : "relation",
                       param ? "number" : "relation");
    else if (!s->seen)
        tra_diag_error(b->d, span, NULL, "'%s' is used before its definition", name);
    else
        return s->ok ? s : NULL;
    tra_diag_also(b->d, s->stmt->name_span, "defined here");
    return NULL;
}

void *tra_build_refuse_turn(tra_build *b, const tra_ast *x, const tra_symbol *s, const char *what) {
    bool rows = strcmp(what, "a number of rows") == 0;
    return tra_diag_error(b->d, x->span,
                          rows ? "number rows: W = window(T, [], [a], r = row_number()), and then select(W, r <= t)"
                               : "EinSum, expressions over columns, conditions, traces and the ends of slices read it: "
                                 "slice(X, [t*2 : (t+1)*2, :])",
                          "%s is the same in all turns: the turn counter '%s' cannot stand here", what, s->stmt->name);
}

tra_symbol *tra_build_any_param(tra_build *b, const tra_ast *x) {
    tra_symbol *s = use_symbol(b, x->text, x->span, true);
    if (!s || !s->node) return s;
    return tra_build_refuse_turn(b, x, s, "a number that stands here");
}

tra_symbol *tra_build_param(tra_build *b, const tra_ast *x) {
    tra_symbol *s = tra_build_any_param(b, x);
    if (!s || !s->literal) return s;
    return tra_diag_error(b->d, x->span, "expressions over columns take it: select(T, name == who)",
                          "'%s' is a %s; a number is expected here", x->text,
                          s->literal->kind == TRA_AST_STRING ? "string" : s->literal->text);
}

tra_symbol *tra_build_relation_symbol(tra_build *b, const char *name, tra_span span) {
    return use_symbol(b, name, span, false);
}

tra_node *tra_build_node(tra_build *b, tra_opcode op, tra_span span) {
    tra_graph *g = b->g;
    TRA_ARENA_DOUBLE(b->arena, g->v, g->n);
    tra_node *n = tra_new(b->arena, tra_node);
    n->id = g->n;
    n->op = op;
    n->span = span;
    return g->v[g->n++] = n;
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

void tra_build_add_name(tra_build *b, const char *name, const tra_symbol *s) {
    tra_graph *g = b->g;
    TRA_ARENA_DOUBLE(b->arena, g->names, g->nnames);
    bool own = s->stored.said || s->node->op == TRA_OP_INPUT;
    g->names[g->nnames++] = (tra_named){name, s->node, own ? s->stored : tra_storage_default(b->arena, &s->node->type)};
}

bool tra_build_exact(tra_build *b, const tra_ast *x, int64_t *v) {
    int64_t l, r;
    int at;
    switch ((int)x->kind) {
    case TRA_AST_CALL: return strcmp(x->text, "extent") == 0 && tra_build_extent(b, x, v);
    case TRA_AST_NUMBER: return x->integer && tra_parse_int(x->text, v);
    case TRA_AST_NAME: {
        const tra_symbol *s = (at = tra_names_find(&b->symbols, x->text)) >= 0 ? b->symbols.value[at] : NULL;
        if (s) *v = s->whole;
        return s && s->exact;
    }
    case TRA_AST_UNARY:
        if (*x->text != '-') return false;
        if (x->kids[0]->kind == TRA_AST_NUMBER) /* together, for -2^63 */
            return x->kids[0]->integer && tra_parse_int(tra_arena_printf(b->arena, "-%s", x->kids[0]->text), v);
        return tra_build_exact(b, x->kids[0], &r) && tra_mul(r, -1, v);
    case TRA_AST_BINARY:
        if (x->text[1] || !tra_build_exact(b, x->kids[0], &l) || !tra_build_exact(b, x->kids[1], &r)) return false;
        return *x->text == '+'   ? tra_add(l, r, v)
               : *x->text == '-' ? tra_mul(r, -1, &r) && tra_add(l, r, v)
                                 : *x->text == '*' && tra_mul(l, r, v);
    }
    return false;
}

/* Is the text of -D a string in quotes, or date "..", or timestamp ".."? Then what it is, as in a program. */
static const tra_ast *read_literal(tra_build *b, const tra_stmt *st, const char *text) {
    static const char *const words[] = {"date", "timestamp"};
    const char *word = NULL, *at = text;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0) word = words[i], at = text + strlen(words[i]);
    while (*at == ' ') at++;
    size_t n = strlen(at);
    if (n < 2 || at[0] != '"' || at[n - 1] != '"') return NULL;
    tra_ast *s = tra_new(b->arena, tra_ast), *x = tra_new(b->arena, tra_ast);
    *s = (tra_ast){.kind = TRA_AST_STRING, .span = st->value->span, .text = tra_arena_strndup(b->arena, at + 1, n - 2)};
    if (!word) return s;
    *x = (tra_ast){.kind = TRA_AST_LITERAL, .span = st->value->span, .text = word, .nkids = 1};
    x->kids = tra_new(b->arena, tra_ast *);
    x->kids[0] = s;
    return x;
}

/* What -D gives for a param that is a string, a date or a timestamp in the program, or is one by what -D says; NULL: a
 * number. Such a param takes the text of -D also without quotes and its word. */
static const tra_ast *defined_literal(tra_build *b, const tra_stmt *st, const char *define) {
    const tra_ast *own = st->value, *said = read_literal(b, st, define);
    if (said && !(own->kind == TRA_AST_LITERAL && said->kind == TRA_AST_STRING)) return said;
    if (own->kind != TRA_AST_STRING && own->kind != TRA_AST_LITERAL) return NULL;
    const char *quoted = said ? define : tra_arena_printf(b->arena, "\"%s\"", define);
    return read_literal(b, st,
                        own->kind == TRA_AST_STRING ? quoted : tra_arena_printf(b->arena, "%s %s", own->text, quoted));
}

/* Is the param within the bounds that its statement says? If not, there is a diagnostic. */
static bool check_bounds(tra_build *b, const tra_stmt *st, const tra_symbol *s) {
    double v[2] = {-INFINITY, INFINITY};
    if (!st->least && !st->most) return true;
    if (s->literal)
        return tra_diag_error(b->d, st->least ? st->least->span : st->most->span, NULL, "only a number has bounds");
    if ((st->least && !tra_build_number(b, st->least, &v[0])) || (st->most && !tra_build_number(b, st->most, &v[1])))
        return false;
    if (v[0] <= s->value && s->value <= v[1]) return true;
    const char *bounds = st->least && st->most ? tra_arena_printf(b->arena, "from %.15g to %.15g", v[0], v[1])
                         : st->least           ? tra_arena_printf(b->arena, "at least %.15g", v[0])
                                               : tra_arena_printf(b->arena, "at most %.15g", v[1]);
    return tra_diag_error(b->d, st->name_span, tra_arena_printf(b->arena, "-D %s=VALUE sets another one", st->name),
                          "'%s' is %.15g, but must be %s", st->name, s->value, bounds);
}

static void read_param(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    bool literal = st->value->kind == TRA_AST_STRING || st->value->kind == TRA_AST_LITERAL;
    s->literal = s->define ? defined_literal(b, st, s->define) : literal ? st->value : NULL;
    if (s->literal) {
        s->ok = true;
        return;
    }
    s->ok = tra_build_number(b, st->value, &s->value);
    s->exact = s->ok && tra_build_exact(b, st->value, &s->whole);
    if (!s->define || !tra_parse_num(s->define, &s->value)) return;
    s->ok = true;
    s->exact = tra_parse_int(s->define, &s->whole);
}

static void build_param(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    read_param(b, st, s);
    if (s->ok) s->ok = check_bounds(b, st, s);
}

static void build_assign(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    const tra_ast *x = st->value;
    if (st->nparts > 1) {
        if (x->kind == TRA_AST_CALL && tra_is_linear(x->text))
            s->node = tra_build_linear_call(b, x, st->part, st->nparts);
        else if (x->kind == TRA_AST_CALL && strcmp(x->text, "topk") == 0)
            s->node = tra_build_top(b, x, tra_build_operand_tensor, st->part, st->nparts);
        else
            tra_diag_error(b->d, x->span, "write w, V = eigh(A); Q, R = qr(A); U, s, V = svd(A); v, p = topk(X, k)",
                           "several results are those of eigh, qr, svd and topk");
        return;
    }
    s->node = tra_build_relation(b, x);
    /* another name for a relation is stored as that is, and the result of store(..) as that says */
    int at = x->kind == TRA_AST_NAME ? tra_names_find(&b->symbols, x->text) : -1;
    if (at >= 0) s->stored = ((const tra_symbol *)b->symbols.value[at])->stored;
    if (x->kind == TRA_AST_CALL && strcmp(x->text, "store") == 0) s->stored = b->stored;
}

tra_node *tra_build_value(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    bool scalar = st->kind == TRA_STMT_ASSIGN ? st->nparts <= 1 : st->nlabels == 0 && !st->agg;
    if (st->role != TRA_ROLE_ONLY && scalar && tra_is_of_numbers(b, st->value))
        return s->node = tra_build_number_relation(b, st->value);
    if (st->kind == TRA_STMT_ASSIGN) {
        build_assign(b, st, s);
        return s->node;
    }
    tra_node *n = tra_build_einsum(b, st);
    if (!n || !st->as.name) return n;
    return tra_build_stored(b, &st->as, &n->type, &s->stored) ? tra_build_as(b, n, &s->stored, st->span) : NULL;
}

/* The name of an input that is large beside the ceiling stands for those of its columns that the program may use. So
 * where its rows go through scratch, as parts of tables do, the others do not. */
static void narrow_input(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    enum { SHARE = 8 };
    const tra_schema *c = s->node->type.columns;
    if (!c || b->whole <= 0 || !s->node->input.rel) return;
    if (tra_mul_most(tra_catalog_elements(s->node->type.cat), tra_schema_row_bytes(c)) <= b->whole / SHARE) return;
    tra_ast *kids = tra_news(b->arena, tra_ast, c->n + 1), call = {.kind = TRA_AST_CALL, .text = "project", .nkids = 1};
    call.span = call.name_span = st->name_span;
    call.kids = tra_news(b->arena, tra_ast *, c->n + 1);
    for (int i = -1; i < c->n; i++) {
        if (i >= 0 && !tra_build_may_use(b, st->name, c->v[i].name)) continue;
        tra_ast *x = call.kids[i < 0 ? 0 : call.nkids++] = &kids[i + 1];
        *x = (tra_ast){.kind = TRA_AST_NAME, .span = st->name_span, .name_span = st->name_span, .quoted = i >= 0};
        x->text = i < 0 ? st->name : c->v[i].name;
    }
    bool used = s->used;
    s->seen = true;
    tra_node *n = call.nkids > 1 && call.nkids <= c->n ? tra_build_relation(b, &call) : NULL;
    if (n) s->node = n;
    s->used = used;
}

static void build_statement(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    switch (st->kind) {
    case TRA_STMT_INPUT: s->node = tra_build_input(b, st, s); break;
    case TRA_STMT_PARAM: build_param(b, st, s); return;
    case TRA_STMT_ASSIGN:
    case TRA_STMT_EINSUM: s->node = tra_build_value(b, st, s); break;
    case TRA_STMT_OUTPUT: return;
    case TRA_STMT_STORAGE: tra_build_storage_statement(b, st); return;
    case TRA_STMT_TENSOR: s->node = tra_build_tensor(b, st, &s->stored); break;
    case TRA_STMT_DEF:
    case TRA_STMT_REPEAT:
    case TRA_STMT_TRACE:
    case TRA_STMT_REQUIRE: return;
    }
    s->ok = s->node != NULL;
    if (!s->ok) return;
    if (tra_is_aggregation_word(st->name) && !s->node->type.columns && s->node->type.cat->bound.n == 0) {
        tra_refuse_aggregation_name(b->d, st->name_span, st->name);
        s->ok = false;
        return;
    }
    if (!s->node->name) s->node->name = st->name;
    tra_build_add_name(b, st->name, s);
    if (st->kind == TRA_STMT_INPUT) narrow_input(b, st, s);
}

/* Does anything read it, or another result of the same call? */
static bool is_used(const tra_build *b, const tra_symbol *s) {
    bool used = s->used;
    for (int i = 0; i < b->symbols.n && s->stmt->nparts > 1 && !used; i++) {
        const tra_symbol *other = b->symbols.value[i];
        used = other->used && other->stmt->value == s->stmt->value;
    }
    return used;
}

/* Warns of the names from number `from` on that nothing reads, and of states that no loop changes. */
static void warn_unused(tra_build *b, int from) {
    if (b->d->errors) return;
    for (int i = from; i < b->symbols.n; i++) {
        const tra_symbol *s = b->symbols.value[i];
        if (!s->param && !is_used(b, s) && s->stmt->kind != TRA_STMT_DEF)
            tra_diag_warn(b->d, s->stmt->name_span, NULL, "'%s' is not used", s->stmt->name);
        else if (s->stmt->role == TRA_ROLE_STATE && !s->changed)
            tra_diag_warn(b->d, s->stmt->name_span, "in a loop: next NAME = ..", "no loop changes the state '%s'",
                          s->stmt->name);
    }
}

/* Has the statement a name that others may use after it? */
static bool has_symbol(const tra_stmt *st) {
    return st->kind != TRA_STMT_OUTPUT && st->kind != TRA_STMT_REPEAT && st->kind != TRA_STMT_TRACE &&
           st->kind != TRA_STMT_REQUIRE && st->role != TRA_ROLE_NEXT;
}

static void add_symbols(tra_build *b, tra_ast_program *ast) {
    for (int i = 0; i < ast->n; i++) {
        if (!has_symbol(&ast->v[i])) continue;
        tra_symbol *s = tra_new(b->arena, tra_symbol);
        s->stmt = &ast->v[i];
        s->param = s->stmt->kind == TRA_STMT_PARAM;
        s->depth = b->depth;
        tra_names_add(&b->symbols, ast->v[i].name, s);
    }
}

/* Builds the statements whose symbols are there. */
static void build_statements(tra_build *b, tra_ast_program *ast) {
    const tra_symbol *previous = NULL;
    for (int i = 0; i < ast->n; i++) {
        const tra_stmt *st = &ast->v[i];
        if (st->kind == TRA_STMT_REPEAT && !st->broken && !b->refused) tra_build_repeat(b, st);
        if (st->kind == TRA_STMT_REQUIRE && !st->broken) tra_build_require(b, st);
        if (!has_symbol(st)) continue;
        tra_symbol *s = b->symbols.value[tra_names_find(&b->symbols, st->name)];
        /* where one call has several results, one diagnostic is enough for all */
        bool told = st->part > 0 && previous && previous->stmt->value == st->value && !previous->ok;
        if (!st->broken && !told && !b->refused) build_statement(b, st, s);
        s->seen = true;
        previous = s;
    }
}

void tra_build_body(tra_build *b, tra_ast_program *body, void (*end)(tra_build *b, void *ctx), void *ctx) {
    int n = b->symbols.n;
    b->depth++;
    add_symbols(b, body);
    build_statements(b, body);
    end(b, ctx);
    warn_unused(b, n);
    for (int i = n; i < b->symbols.n; i++)
        if (tra_names_find(&b->gone, b->symbols.name[i]) < 0)
            tra_names_add(&b->gone, b->symbols.name[i], b->symbols.value[i]);
    tra_names_cut(&b->symbols, n);
    b->depth--;
}

/* -D NAME=VALUE of the command line. */
typedef struct define {
    const char *name, *value;
} define;

static tra_status split_define(tra_arena *a, const char *text, define *d, tra_err *e) {
    const char *eq = strchr(text, '=');
    if (!eq || eq == text) return tra_fail(e, TRA_USAGE, "-D %s: write -D NAME=VALUE", text);
    d->name = tra_arena_strndup(a, text, (size_t)(eq - text));
    d->value = tra_arena_strndup(a, eq + 1, strlen(eq + 1)); /* inputs keep it as their path */
    return TRA_OK;
}

/* Takes -D RELATION=FILE for the output of a relation. False unless exactly one statement writes that relation. */
static bool define_output(tra_ast_program *ast, const define *v) {
    tra_stmt *st = NULL;
    for (int i = 0; i < ast->n; i++) {
        if (ast->v[i].kind != TRA_STMT_OUTPUT || ast->v[i].broken || strcmp(ast->v[i].name, v->name) != 0) continue;
        if (st) return false;
        st = &ast->v[i];
    }
    if (!st || !*v->value) return false;
    if (!st->path) st->path_span = st->name_span;
    st->path = v->value;
    return st->path_here = true;
}

/* The statement of a loop that defines the name; of a counter that of the loop. NULL: none does. */
static const tra_stmt *find_in_loops(const tra_ast_program *p, const char *name) {
    for (int i = 0; i < p->n; i++) {
        const tra_ast_program *body = p->v[i].kind == TRA_STMT_REPEAT ? p->v[i].body : NULL;
        if (!body) continue;
        if (p->v[i].name && strcmp(p->v[i].name, name) == 0) return &p->v[i];
        for (int j = 0; j < body->n; j++)
            if (body->v[j].kind != TRA_STMT_REPEAT && body->v[j].name && strcmp(body->v[j].name, name) == 0)
                return &body->v[j];
        const tra_stmt *inner = find_in_loops(body, name);
        if (inner) return inner;
    }
    return NULL;
}

/* The error for -D of a name that the program computes (s) or does not have (s NULL). */
static tra_status refuse_define(tra_build *b, const tra_ast_program *ast, const define *v, const tra_symbol *s,
                                tra_err *e) {
    const tra_stmt *inside = s ? NULL : find_in_loops(ast, v->name);
    if (inside) {
        tra_diag_error(b->d, inside->name_span, "-D sets inputs, params and the files of outputs",
                       inside->kind == TRA_STMT_REPEAT ? "-D %s=%s: '%s' counts the turns of a loop"
                                                       : "-D %s=%s: '%s' is computed in a loop",
                       v->name, v->value, v->name);
        return TRA_OK;
    }
    if (s)
        return tra_fail(e, TRA_USAGE,
                        "-D %s=%s: %s is computed by the program; -D sets inputs, params and the files of outputs",
                        v->name, v->value, v->name);
    const char **names = tra_news(b->arena, const char *, b->symbols.n);
    int n = 0;
    for (int i = 0; i < b->symbols.n; i++) {
        tra_stmt_kind kind = ((tra_symbol *)b->symbols.value[i])->stmt->kind;
        if (kind == TRA_STMT_INPUT || kind == TRA_STMT_PARAM) names[n++] = b->symbols.name[i];
    }
    const char *near = tra_nearest(v->name, n, names);
    return tra_fail(e, TRA_USAGE, "-D %s=%s: the program has no input, param or output '%s'%s%s%s", v->name, v->value,
                    v->name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Gives the values of -D to their symbols. A name that a program with errors lacks is passed over, since it may be
 * defined in a part that could not be parsed. */
static tra_status take_defines(tra_build *b, tra_ast_program *ast, const tra_building *how, tra_err *e) {
    define *v = tra_news(b->arena, define, how->ndefines + 1);
    for (int i = 0; i < how->ndefines; i++) TRA_TRY(split_define(b->arena, how->defines[i], &v[i], e));
    for (int i = 0; i < how->ndefines; i++) {
        int at = tra_names_find(&b->symbols, v[i].name);
        tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
        double number;
        if (!s && b->d->errors) continue;
        if (s && s->stmt->kind != TRA_STMT_INPUT && !s->param && define_output(ast, &v[i])) continue;
        if (!s || (s->stmt->kind != TRA_STMT_INPUT && s->stmt->kind != TRA_STMT_PARAM)) {
            TRA_TRY(refuse_define(b, ast, &v[i], s, e));
            continue;
        }
        bool literal = s->param && !s->stmt->broken && defined_literal(b, s->stmt, v[i].value);
        if (s->param && !literal && !tra_parse_num(v[i].value, &number))
            return tra_fail(e, TRA_USAGE, "-D %s=%s: %s is a param, and '%s' is no number", v[i].name, v[i].value,
                            v[i].name, v[i].value);
        if (!*v[i].value) return tra_fail(e, TRA_USAGE, "-D %s=: a file is expected", v[i].name);
        s->define = v[i].value;
    }
    return TRA_OK;
}

tra_status tra_graph_build(const tra_script *src, const tra_building *how, tra_arena *a, tra_diags *d, tra_graph **out,
                           tra_err *e) {
    enum { SHARE = 64 };
    tra_ast_program ast;
    tra_build b = {.arena = a,
                   .whole = how->room.whole,
                   .makes = how->makes,
                   .ast = &ast,
                   .d = d,
                   .dir = how->dir,
                   .symbols = {.arena = a},
                   .gone = {.arena = a},
                   .written = {.arena = a},
                   .holding = {.arena = a},
                   .made = {.arena = a},
                   .loop = -1,
                   .beforehand.most = TRA_COMBINATIONS_MOST,
                   .g = tra_new(a, tra_graph)};
    *out = NULL;
    b.g->arena = a;
    b.g->src = src;
    b.g->expected_room = how->room.expected / SHARE;
    tra_parse(src, a, d, &ast);
    add_symbols(&b, &ast);
    TRA_TRY(take_defines(&b, &ast, how, e));
    tra_build_demands(&b, &ast);
    build_statements(&b, &ast);
    for (int i = 0; i < ast.n; i++)
        if (ast.v[i].kind == TRA_STMT_OUTPUT && !ast.v[i].broken && !b.refused) tra_build_output(&b, &ast.v[i]);
    if (d->errors == 0) tra_build_warn_dense(&b);
    if (b.g->noutputs > 0) warn_unused(&b, 0); /* a program without outputs is only looked at: nothing is unused */
    *out = b.g;
    if (d->errors == 0) return TRA_OK;
    if (d->errors == b.unreadable) return tra_fail(e, b.unreadable_as, "%s", b.first_unreadable);
    return tra_fail(e, TRA_PROGRAM, "%s does not compile: %d error%s%s", src->name, d->errors,
                    d->errors == 1 ? "" : "s", *src->name == '@' ? "; 'tra help algorithms' tells what it takes" : "");
}

static void mark_read(const tra_node *n, bool *read) {
    for (; n && !read[n->id]; n = n->in[0]) {
        read[n->id] = true;
        mark_read(n->in[1], read);
    }
}

void tra_graph_leave_strings(const tra_graph *g) {
    bool *read = tra_calloc((size_t)g->n + 1, sizeof *read);
    for (int i = 0; i < g->noutputs; i++) mark_read(tra_output_root(&g->outputs[i]), read);
    for (int i = 0; i < g->n && g->nloops == 0; i++)
        if (g->v[i]->input.rel && !read[i]) tra_rel_leave_strings(g->v[i]->input.rel);
    free(read);
}
