/* parse_loop.c - the statements of loops: repeat, state, next, trace; and require, which stands anywhere. */
#include "parse_int.h"

#include <string.h>

/* The expression with the macros that it calls, which stands in no statement of its own. */
static tra_ast *expand(parser *p, tra_ast *x) {
    const tra_stmt st = {.kind = TRA_STMT_PARAM, .value = x};
    return x ? tra_expand(&p->expander, &st) : NULL;
}

/* ---- repeat ----------------------------------------------------------------------------------------------------- */

/* Reports the statements of a body that stand before a loop only. */
static void check_body(parser *p, const tra_ast_program *body) {
    static const struct {
        tra_stmt_kind kind;
        const char *word, *advice;
    } rows[] = {{TRA_STMT_INPUT, "an input", "write it before the loop"},
                {TRA_STMT_PARAM, "a param", "write it before the loop"},
                {TRA_STMT_STORAGE, "a storage", "write it before the loop"},
                {TRA_STMT_OUTPUT, "an output",
                 "write it after the loop; what the loop computes and is to be written is a state"}};
    for (int i = 0; i < body->n; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (body->v[i].kind == rows[k].kind)
                tra_diag_error(p->d, body->v[i].span, rows[k].advice, "%s cannot stand in a loop", rows[k].word);
}

/* Goes to "until", perhaps on a line of its own; false if the loop has none. */
static bool find_until(parser *p) {
    const tra_token *at = p->tok;
    while (p->tok->kind == TRA_T_END) p->tok++;
    int next = p->tok->kind == TRA_T_NAME ? p->tok[1].kind : 0;
    if (tra_parse_at_name(p, "until") && next != '=' && next != '[' && next != ',') return true;
    p->tok = at;
    return false;
}

static const char *const how_to_repeat =
    "write repeat 100 as t { .. } until condition: at most 100 turns, which t counts";

const char *tra_parse_loop_advice(const parser *p) {
    static const char *const words[] = {"for", "while", "loop", "do"};
    parser before = *p;
    before.tok--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tra_parse_at_word(&before, words[i])) return how_to_repeat;
    return NULL;
}

/* Parses the statements between the braces. Their names are free again after them. */
static bool parse_body(parser *p, tra_stmt *s) {
    const tra_token *open = p->tok;
    if (!tra_parse_accept(p, '{')) {
        tra_parse_unexpected(p, how_to_repeat, "'{' and the statements of the loop");
        return false;
    }
    int defined = p->defined.n, defs = p->expander.defs.n;
    if (++p->loops > MAX_LOOPS)
        return tra_diag_error(p->d, open->span, NULL, "at most %d loops may stand in one another", MAX_LOOPS);
    s->body = tra_new(p->arena, tra_ast_program);
    if (*s->name) { /* in its loop the counter is a name like others */
        tra_span *span = tra_new(p->arena, tra_span);
        *span = s->name_span;
        tra_names_add(&p->defined, s->name, span);
    }
    tra_parse_statements(p, s->body);
    p->loops--;
    tra_names_cut(&p->defined, defined);
    tra_names_cut(&p->expander.defs, defs);
    if (!tra_parse_accept(p, '}')) return tra_diag_error(p->d, open->span, NULL, "this '{' is not closed");
    check_body(p, s->body);
    return true;
}

/* Is the name of the counter free? */
static bool check_counter(parser *p, const tra_stmt *s) {
    int at = tra_names_find(&p->defined, s->name);
    if (at < 0) return true;
    tra_diag_error(p->d, s->name_span, "choose another name", "the counter has the name of another relation or param");
    tra_diag_also(p->d, *(tra_span *)p->defined.value[at], "defined here");
    return false;
}

/* Parses, after "repeat": N as t */
static bool parse_turns(parser *p, tra_stmt *s) {
    if (p->tok->kind == '{') {
        tra_parse_unexpected(p, how_to_repeat, "the most turns of the loop");
        return false;
    }
    s->turns = expand(p, tra_parse_expr(p));
    if (!s->turns || !tra_parse_at_name(p, "as")) return s->turns != NULL;
    p->tok++;
    if (p->tok->kind != TRA_T_NAME) {
        tra_parse_unexpected(p, "write repeat 100 as t { .. }", "the name of the turn counter");
        return false;
    }
    s->name_span = p->tok->span;
    s->name = tra_parse_token_text(p, p->tok++);
    return check_counter(p, s);
}

/* Parses, after "repeat": N as t { .. } until condition. The body is read even if what stands before it is wrong. */
static bool parse_repeat(parser *p, tra_stmt *s) {
    s->kind = TRA_STMT_REPEAT;
    s->name = "";
    s->name_span = p->tok[-1].span;
    bool ok = parse_turns(p, s);
    while (!ok && p->tok->kind != '{' && p->tok->kind != TRA_T_END && p->tok->kind != TRA_T_EOF) p->tok++;
    if (!ok) s->name = "";
    if (!(p->tok->kind == '{' || ok) || !parse_body(p, s)) return false;
    if (!find_until(p)) return ok;
    p->tok++;
    s->until = expand(p, tra_parse_expr(p));
    const char *word = s->until && s->until->kind == TRA_AST_NAME ? s->until->text : "";
    if (p->tok->kind != TRA_T_NAME || !(tra_is_aggregation_word(word) || tra_is_later_aggregation_word(word)))
        return ok && s->until;
    tra_diag_error(p->d, s->until->span,
                   tra_arena_printf(p->arena, "write x[] = %s .. in the loop, and until x < 1e-6", word),
                   "the condition is an expression of relations of rank 0, which aggregates nothing");
    while (p->tok->kind != TRA_T_END && p->tok->kind != TRA_T_EOF && p->tok->kind != '}') p->tok++;
    return false;
}

/* ---- trace ------------------------------------------------------------------------------------------------------ */

/* Parses, after "trace": log(size, w) */
static bool parse_trace(parser *p, tra_stmt *s) {
    asts values = {0};
    tra_span end;
    s->kind = TRA_STMT_TRACE;
    s->name_span = p->tok->span;
    s->name = tra_parse_token_text(p, p->tok++);
    if (!tra_parse_expect(p, '(', "'(' and the names of what the table has")) return false;
    if (!tra_parse_items(p, tra_parse_label, ')', &values, &end)) return false;
    s->nvalues = values.n;
    s->values = values.v;
    for (int i = 0; i < values.n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(values.v[i]->text, values.v[j]->text) == 0)
                return tra_diag_error(p->d, values.v[i]->span, NULL, "'%s' stands twice", values.v[i]->text);
    if (p->loops > 0) return true;
    return tra_diag_error(p->d, s->name_span, NULL, "trace stands in a loop: repeat 100 { .. trace %s(..) }", s->name);
}

/* ---- states ----------------------------------------------------------------------------------------------------- */

/* Parses, after "state" or "next": NAME = .. or NAME[..] = .. */
static bool parse_state(parser *p, tra_stmt *s, tra_stmt_role role) {
    const char *word = role == TRA_ROLE_STATE ? "state" : "next";
    s->role = role; /* also of one that does not parse: a next value defines no name */
    if (!tra_parse_equation(p, s)) return false;
    if (s->nparts > 1)
        return tra_diag_error(p->d, s->name_span, "name the results first, then give them to states one by one",
                              "a %s statement has one name", word);
    if (role == TRA_ROLE_STATE || p->loops > 0) return true;
    return tra_diag_error(p->d, s->name_span, NULL, "next stands in a loop: repeat 100 { .. next %s = .. }", s->name);
}

/* ---- require ---------------------------------------------------------------------------------------------------- */

/* Parses: require condition, "what it asks for" */
static bool parse_require(parser *p, tra_stmt *s) {
    s->kind = TRA_STMT_REQUIRE;
    s->name = "";
    s->name_span = p->tok[-1].span;
    s->value = tra_parse_expr(p);
    if (!s->value || !tra_parse_accept(p, ',')) return s->value != NULL;
    if (p->tok->kind != TRA_T_STRING) {
        tra_parse_unexpected(p, "write require extent(A, 0) > 1, \"A must have two rows\"", "a text in quotes");
        return false;
    }
    s->path = tra_parse_string(p)->text;
    return true;
}

bool tra_parse_loop_statement(parser *p, tra_stmt *s) {
    if (tra_parse_at_name(p, "until"))
        return tra_diag_error(p->d, p->tok->span,
                              "write repeat 100 { .. } until x < 1e-6: after the '}', perhaps on a new line",
                              "until stands after the '}' of a loop, not as a statement");
    bool repeat = tra_parse_at_name(p, "repeat"), trace = tra_parse_at_name(p, "trace");
    tra_stmt_role role = tra_parse_at_name(p, "state") ? TRA_ROLE_STATE : TRA_ROLE_NEXT;
    if (tra_parse_at_name(p, "require")) {
        p->tok++;
        return parse_require(p, s);
    }
    p->tok++;
    return repeat ? parse_repeat(p, s) : trace ? parse_trace(p, s) : parse_state(p, s, role);
}

bool tra_parse_begins_loop_statement(const parser *p) {
    int next = p->tok[1].kind;
    if (tra_parse_at_name(p, "repeat") || tra_parse_at_name(p, "until") || tra_parse_at_name(p, "require"))
        return next != '=' && next != '[' && next != ',';
    return next == TRA_T_NAME &&
           (tra_parse_at_name(p, "state") || tra_parse_at_name(p, "next") || tra_parse_at_name(p, "trace"));
}

bool tra_parse_names_loop_word(const parser *p) {
    static const char *const words[] = {"repeat", "until", "state", "next", "trace", "require"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tra_parse_at_name(p, words[i])) return true;
    return false;
}
