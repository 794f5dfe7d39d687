/* parse.c - the parser of statements: recursive descent, one diagnostic for each statement that is wrong, then on to
 * the next. */
#include "parse_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- statements ------------------------------------------------------------------------------------------------ */

static bool parse_defined_name(parser *p, tra_stmt *s, const char *wanted) {
    if (p->tok->kind != TRA_T_NAME) {
        tra_parse_unexpected(p, NULL, wanted);
        return false;
    }
    s->name = tra_parse_token_text(p, p->tok);
    s->name_span = p->tok->span;
    p->tok++;
    return true;
}

static bool parse_path(parser *p, const char **path, tra_span *span) {
    if (p->tok->kind != TRA_T_STRING) {
        tra_parse_unexpected(p, NULL, "a file name in quotes");
        return false;
    }
    tra_ast *x = tra_parse_string(p);
    *path = x->text;
    *span = x->span;
    if (*x->text) return true;
    return tra_diag_error(p->d, x->span, NULL, "this file name is empty");
}

static bool parse_list(parser *p, tra_ast **out, const char *wanted) {
    if (p->tok->kind != '[') {
        tra_parse_unexpected(p, NULL, wanted);
        return false;
    }
    *out = tra_parse_bracket(p);
    return *out != NULL;
}

/* Parses "as NAME" or "as NAME(args)", if it is there. */
static bool parse_storage_use(parser *p, tra_storage_use *use) {
    if (!tra_parse_at_name(p, "as")) return true;
    p->tok++;
    if (p->tok->kind != TRA_T_NAME) {
        tra_parse_unexpected(p, "write as csr, as band(5)", "the name of a storage");
        return false;
    }
    use->name = tra_parse_token_text(p, p->tok);
    use->span = use->name_span = p->tok++->span;
    if (!tra_parse_accept(p, '(')) return true;
    asts args = {0};
    tra_span end;
    if (!tra_parse_items(p, tra_parse_expr, ')', &args, &end)) return false;
    use->span = tra_parse_join_spans(use->name_span, end);
    use->nargs = args.n;
    use->args = args.v;
    return true;
}

/* Parses, after "table": [start: i32, `end station`: string] rows N by B */
static bool parse_columns(parser *p, tra_stmt *s) {
    int cap = 0;
    if (!tra_parse_expect(p, '[', "columns such as [start: i32, duration: f64]")) return false;
    do {
        const tra_token *t = p->tok;
        bool quoted = t->kind == TRA_T_QUOTED;
        if (!quoted && t->kind != TRA_T_NAME) {
            tra_parse_unexpected(p, NULL, "the name of a column");
            return false;
        }
        TRA_ARENA_ROOM(p->arena, s->columns, s->ncolumns, cap);
        tra_column_decl *c = &s->columns[s->ncolumns++];
        *c = (tra_column_decl){.name = quoted ? tra_parse_quoted_text(p, t) : tra_parse_token_text(p, t),
                               .span = t->span};
        p->tok++;
        if (!tra_parse_expect(p, ':', "':' and the type of the column")) return false;
        if (p->tok->kind != TRA_T_NAME) {
            tra_parse_unexpected(p, NULL, "the type of a column");
            return false;
        }
        c->type_span = p->tok->span;
        c->type = tra_parse_token_text(p, p->tok++);
    } while (tra_parse_accept(p, ','));
    if (!tra_parse_expect(p, ']', "',' or ']'")) return false;
    if (!tra_parse_at_name(p, "rows")) {
        tra_parse_unexpected(p, "write input T : table [start: i32] rows 1000000 by 65536", "'rows' and their number");
        return false;
    }
    p->tok++;
    s->rows = tra_parse_primary(p);
    if (!s->rows || !tra_parse_at_name(p, "by")) return s->rows != NULL;
    p->tok++;
    s->rows_block = tra_parse_primary(p);
    return s->rows_block != NULL;
}

/* Parses, after ":": f64 [..] by [..] as csr nnz N, or: table [...] rows N by B */
static bool parse_declared_input(parser *p, tra_stmt *s) {
    if (p->tok->kind != TRA_T_NAME) {
        tra_parse_unexpected(p, "write input A : f64 [1000, 1000] by [100, 100]", "an element type, or table");
        return false;
    }
    s->dtype_span = p->tok->span;
    s->dtype = tra_parse_token_text(p, p->tok++);
    if (strcmp(s->dtype, "table") == 0) return parse_columns(p, s);
    if (!parse_list(p, &s->shape, "a shape such as [1000, 1000]")) return false;
    if (tra_parse_at_name(p, "by")) {
        p->tok++;
        if (!parse_list(p, &s->block, "a block such as [100, 100]")) return false;
    }
    if (!parse_storage_use(p, &s->as)) return false;
    if (!tra_parse_at_name(p, "nnz")) return true;
    p->tok++;
    s->nnz = tra_parse_primary(p);
    return s->nnz != NULL;
}

static bool parse_input(parser *p, tra_stmt *s) {
    if (tra_parse_at_name(p, "from")) {
        p->tok++;
        if (!parse_path(p, &s->path, &s->path_span) || !tra_parse_file_options(p, s)) return false;
    } else if (tra_parse_accept(p, ':')) {
        if (!parse_declared_input(p, s)) return false;
    } else {
        tra_parse_unexpected(p, "write input A from \"a.h5\", or input A : f64 [1000, 1000] by [100, 100]",
                             "'from' or ':' with a type");
        return false;
    }
    if (tra_parse_at_name(p, "at")) {
        p->tok++;
        s->at = tra_parse_primary(p);
        if (!s->at) return false;
    }
    return true;
}

/* The token after the bracket that closes the one at t, or the end of the statement. *comma: whether there is a comma
 * between the two that is in no other bracket. */
static const tra_token *after_bracket(const tra_token *t, bool *comma) {
    int depth = 0;
    for (*comma = false; t->kind != TRA_T_END && t->kind != TRA_T_EOF; t++) {
        if (t->kind == '(' || t->kind == '[') depth++;
        if ((t->kind == ')' || t->kind == ']') && --depth == 0) return t + 1;
        if (t->kind == ',' && depth == 1) *comma = true;
    }
    return t;
}

bool tra_is_aggregation_word(const char *name) {
    static const char *const words[] = {"sum", "max", "min", "prod", "mean", "argmin", "argmax"};
    return TRA_FIND_ROW(words, name) >= 0;
}

bool tra_is_later_aggregation_word(const char *name) {
    static const char *const words[] = {"var", "std", "count", "any", "all", "nansum", "nanmean", "median"};
    return TRA_FIND_ROW(words, name) >= 0;
}

void tra_refuse_aggregation_name(tra_diags *d, tra_span at, const char *name) {
    tra_diag_error(d, at, "choose another name",
                   "'%s' is the word of an aggregation, and would be read as that after '='", name);
}

/* Is the next token the word of an aggregation? */
static bool names_aggregation(parser *p) {
    if (p->tok->kind != TRA_T_NAME) return false;
    const char *word = tra_parse_token_text(p, p->tok);
    return tra_is_later_aggregation_word(word) ? tra_names_find(&p->defined, word) < 0 : tra_is_aggregation_word(word);
}

/* Is the next token a word that aggregates the whole right side? It is not in sum[k](...), nor is a call of a macro of
 * that name. */
static bool is_aggregation(parser *p) {
    int kind = p->tok[1].kind;
    if (kind == '(' && tra_names_find(&p->expander.defs, tra_parse_token_text(p, p->tok)) >= 0) return false;
    if (kind != TRA_T_NAME && kind != TRA_T_NUMBER && kind != '(' && kind != '-' && kind != '!') return false;
    return names_aggregation(p);
}

static bool parse_einsum(parser *p, tra_stmt *s) {
    asts labels = {0};
    tra_span end;
    p->tok++; /* [ */
    if (!tra_parse_items(p, tra_parse_label, ']', &labels, &end)) return false;
    s->nlabels = labels.n;
    s->labels = labels.v;
    if (!parse_storage_use(p, &s->as)) return false;
    if (!tra_parse_expect(p, '=', "'='")) return false;
    bool extreme = tra_parse_at_name(p, "max") || tra_parse_at_name(p, "min"), comma = false;
    const tra_token *next = p->tok[1].kind == '(' ? after_bracket(p->tok + 1, &comma) : p->tok + 1;
    if (!(extreme && comma) && is_aggregation(p)) { /* max(a, b) is the function */
        s->agg_span = p->tok->span;
        s->agg = tra_parse_token_text(p, p->tok++);
        if (next > p->tok && (next->kind == '+' || next->kind == '-'))
            s->agg_parenthesis = tra_parse_join_spans(p->tok->span, next[-1].span);
    }
    s->value = tra_parse_expr(p);
    return s->value != NULL;
}

static const char statements[] =
    "statements are input, param, output, def, require, state, repeat, storage, tensor, and NAME = expression";

static bool parse_assign(parser *p, tra_stmt *s) {
    if (p->tok->kind != '=') {
        const char *loop = tra_parse_loop_advice(p);
        tra_parse_unexpected(p, loop ? loop : statements, "'='");
        return false;
    }
    p->tok++;
    s->value = tra_parse_expr(p);
    return s->value != NULL;
}

/* Parses, after "param NAME": = expression from least to most, of which both may be left out */
static bool parse_param(parser *p, tra_stmt *s) {
    if (!parse_assign(p, s)) return false;
    tra_ast **bound[] = {&s->least, &s->most};
    for (int i = 0; i < 2; i++) {
        if (!tra_parse_at_name(p, i ? "to" : "from")) continue;
        p->tok++;
        if (!(*bound[i] = tra_parse_expr(p))) return false;
    }
    return true;
}

/* Parses, after "def NAME": (x, y) = expression */
static bool parse_def(parser *p, tra_stmt *s) {
    asts params = {0};
    tra_span end;
    if (!tra_parse_expect(p, '(', "'(' and the parameters")) return false;
    if (!tra_parse_items(p, tra_parse_label, ')', &params, &end)) return false;
    for (int i = 0; i < params.n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(params.v[i]->text, params.v[j]->text) == 0)
                return tra_diag_error(p->d, params.v[i]->span, NULL, "parameter '%s' stands twice", params.v[i]->text);
    s->nlabels = params.n;
    s->labels = params.v;
    if (!tra_parse_expect(p, '=', "'='")) return false;
    s->value = tra_parse_expr(p);
    return s->value != NULL;
}

static bool parse_output(parser *p, tra_stmt *s) {
    if (tra_parse_at_name(p, "to")) {
        p->tok++;
        if (!parse_path(p, &s->path, &s->path_span)) return false;
    }
    return parse_storage_use(p, &s->as);
}

/* Parses a storage or tensor statement, by lib/calculus. */
static bool parse_declared(parser *p, tra_stmt *s) {
    tra_span span = p->tok++->span;
    tra_calc_error err;
    int end, name_at = 0;
    if (p->src->text[span.at] == 's') {
        s->kind = TRA_STMT_STORAGE;
        s->storage = tra_storage_parse(p->src->text, p->src->n, span.at, p->arena, &end, &err);
        if (s->storage) s->name = s->storage->name, name_at = s->storage->name_at;
    } else {
        s->kind = TRA_STMT_TENSOR;
        s->tensor = tra_tensor_parse(p->src->text, p->src->n, span.at, p->arena, &end, &err);
        if (s->tensor) s->name = s->tensor->name, name_at = s->tensor->name_at;
    }
    if (s->name) {
        s->name_span = (tra_span){name_at, (int)strlen(s->name)};
        return true;
    }
    const char *advice = *err.advice ? tra_arena_strndup(p->arena, err.advice, strlen(err.advice)) : NULL;
    tra_diag_error(p->d, (tra_span){err.at, err.len > 0 ? err.len : 1}, advice, "%s", err.msg);
    /* finds the name, so that its uses get no errors of their own */
    const char *text = p->src->text;
    int at = span.at + (text[span.at] == 's' ? 7 : 6), n = 0;
    at += (int)strspn(text + at, " \t\r");
    while (text[at + n] == '_' || (text[at + n] >= '0' && text[at + n] <= '9') || (text[at + n] | 32) - 'a' + 0u < 26u)
        n++;
    s->name = tra_arena_strndup(p->arena, text + at, (size_t)n);
    s->name_span = (tra_span){at, n};
    return false;
}

/* Do the tokens before the next one say sum[k], or another aggregation with its labels? */
static bool after_labels(parser *p) {
    const tra_token *at = p->tok, *t = at - 1;
    if (t->kind != ']') return false;
    while (t->kind != '[' && t->kind != '=') t--;
    p->tok = t - 1;
    bool labels = t->kind == '[' && names_aggregation(p);
    p->tok = at;
    return labels;
}

/* Advice where a name or number follows an expression: a product was meant, or an aggregation that is misplaced or not
 * known. NULL where none applies. */
static const char *after_expression(parser *p, const tra_stmt *s) {
    if (p->tok->kind != TRA_T_NAME && p->tok->kind != TRA_T_NUMBER) return NULL;
    if (s->kind == TRA_STMT_EINSUM && after_labels(p))
        return "what an aggregation inside an expression is of stands in parentheses: sum[k](X[i,k])";
    const char *sql = tra_parse_word_advice(p);
    if (sql) return sql;
    p->tok--;
    if (tra_parse_at_word(p, "select") && p->tok[-1].kind == '=') {
        p->tok++;
        return "write project(T, a, b) for columns, select(T, a > 0) for rows, group(T, [key], n = count()) for groups";
    }
    bool word = is_aggregation(p), first = p->tok[-1].kind == '=', name = p->tok->kind == TRA_T_NAME;
    p->tok++;
    if (s->kind == TRA_STMT_EINSUM && word) return "an aggregation stands once, directly after '='";
    if (s->kind == TRA_STMT_EINSUM && first && name && !s->agg)
        return "aggregations are sum, mean, max, min, prod, argmax and argmin, and others: tra help functions";
    if (word)
        return tra_arena_printf(p->arena,
                                "the labels of the result stand on the left: %s[i,j] = sum ..., or %s[] = sum ...",
                                s->name, s->name);
    return "write * between factors, and each statement on a line of its own";
}

bool tra_parse_equation(parser *p, tra_stmt *s) {
    s->name = tra_parse_token_text(p, p->tok);
    s->name_span = p->tok++->span;
    s->kind = p->tok->kind == '[' ? TRA_STMT_EINSUM : TRA_STMT_ASSIGN;
    for (s->nparts = 1; p->tok->kind == ',' && p->tok[1].kind == TRA_T_NAME; s->nparts++) p->tok += 2;
    return s->kind == TRA_STMT_EINSUM ? parse_einsum(p, s) : parse_assign(p, s);
}

/* Parses an input, param, def or output statement, which its first word tells. Refuses the words storage and tensor:
 * before a name they begin statements that are one token. */
static bool parse_by_keyword(parser *p, tra_stmt *s) {
    static const struct {
        const char *word;
        tra_stmt_kind kind;
        bool (*parse)(parser *p, tra_stmt *s);
    } rows[] = {{"input", TRA_STMT_INPUT, parse_input},
                {"param", TRA_STMT_PARAM, parse_param},
                {"def", TRA_STMT_DEF, parse_def},
                {"output", TRA_STMT_OUTPUT, parse_output}};
    size_t i = 0, n = sizeof rows / sizeof *rows;
    while (i < n && !tra_parse_at_name(p, rows[i].word)) i++;
    p->tok++;
    if (i == n) {
        tra_parse_unexpected(p, "man tra-storage has the statements storage and tensor", "a name");
        return false;
    }
    s->kind = rows[i].kind;
    if (!parse_defined_name(p, s, s->kind == TRA_STMT_OUTPUT ? "the name of a relation" : "a name")) return false;
    return rows[i].parse(p, s);
}

/* Do statements of this kind have a right side? */
static bool has_value(tra_stmt_kind kind) {
    return kind != TRA_STMT_INPUT && kind != TRA_STMT_OUTPUT && kind != TRA_STMT_REPEAT && kind != TRA_STMT_TRACE;
}

/* Parses one statement up to its end; s->name stays NULL if not even that could be read. */
static bool parse_statement(parser *p, tra_stmt *s) {
    bool later = false;
    const tra_token *t = p->tok;
    if (t->kind == TRA_T_DECLARED) {
        if (!parse_declared(p, s)) return false;
        if (tra_parse_accept(p, TRA_T_END)) return true;
        tra_parse_unexpected(p, NULL, "the end of the statement");
        return false;
    }
    if (t->kind != TRA_T_NAME) {
        tra_parse_unexpected(p, statements, "a statement");
        return false;
    }
    bool ok, word = tra_is_keyword(p->src->text + t->span.at, t->span.len, &later);
    bool of_loop = tra_parse_begins_loop_statement(p);
    if (of_loop) {
        ok = tra_parse_loop_statement(p, s);
    } else if (!word || t[1].kind == '=' || t[1].kind == '[' || tra_parse_names_loop_word(p) ||
               (later && t[1].kind != TRA_T_NAME)) {
        ok = tra_parse_equation(p, s);
    } else if (later) {
        tra_diag_error(p->d, t->span, "choose another name",
                       "'%s' is kept for a later version of the language and cannot begin a statement",
                       tra_parse_token_text(p, t));
        s->name = tra_parse_token_text(p, t + 1), s->name_span = t[1].span;
        return false;
    } else {
        ok = parse_by_keyword(p, s);
    }
    if (ok && s->value) s->value = tra_expand(&p->expander, s);
    if (s->value == NULL && has_value(s->kind)) return false;
    if (ok && s->kind == TRA_STMT_DEF) tra_expander_add(&p->expander, s);
    if (!ok || tra_parse_accept(p, TRA_T_END)) return ok;
    const char *advice = s->value                     ? after_expression(p, s)
                         : s->kind == TRA_STMT_OUTPUT ? "write output y, or output y to \"y.h5\" as csr"
                                                      : NULL;
    tra_parse_unexpected(p, advice, "the end of the statement");
    return false;
}

/* "tra 1", the version of the language, as the first statement. */
static void parse_version(parser *p) {
    if (!tra_parse_at_name(p, "tra") || p->tok[1].kind != TRA_T_NUMBER) return;
    const tra_token *t = p->tok + 1;
    if (t->span.len != 1 || p->src->text[t->span.at] != '1')
        tra_diag_error(p->d, t->span, NULL, "this program is in version %s of the language; tra %s reads version 1",
                       tra_parse_token_text(p, t), TRA_VERSION);
    p->tok += 2;
    if (p->tok->kind != TRA_T_END) tra_parse_unexpected(p, NULL, "the end of the statement");
    while (p->tok->kind != TRA_T_END) p->tok++;
    p->tok++;
}

/* False, with a diagnostic, when the name is defined already, or would be read as an aggregation. */
static bool define(parser *p, const tra_stmt *s) {
    if (s->kind == TRA_STMT_OUTPUT || s->role == TRA_ROLE_NEXT || !s->name || !*s->name) return true;
    bool number = s->kind == TRA_STMT_PARAM || (s->kind == TRA_STMT_EINSUM && s->nlabels == 0 && !s->broken);
    if (number && tra_is_aggregation_word(s->name)) {
        tra_refuse_aggregation_name(p->d, s->name_span, s->name);
        return false;
    }
    int at = tra_names_find(&p->defined, s->name);
    if (at >= 0) {
        tra_diag_error(p->d, s->name_span, "a name is assigned once; choose another", "'%s' is defined twice", s->name);
        tra_diag_also(p->d, *(tra_span *)p->defined.value[at], "defined here before");
        return false;
    }
    tra_span *span = tra_new(p->arena, tra_span);
    *span = s->name_span;
    tra_names_add(&p->defined, s->name, span);
    return true;
}

/* The tables of a loop's traces stand after it: their names are free for nothing else then. */
static void define_traces(parser *p, const tra_stmt *s) {
    for (int i = 0; s->body && i < s->body->n; i++)
        if (s->body->v[i].kind == TRA_STMT_TRACE) define(p, &s->body->v[i]);
}

static void add_statement(parser *p, const tra_stmt *s, int *cap, tra_ast_program *out) {
    if (s->kind == TRA_STMT_REPEAT)
        define_traces(p, s);
    else if (!define(p, s) || !s->name)
        return;
    TRA_ARENA_ROOM(p->arena, out->v, out->n, *cap);
    out->v[out->n++] = *s;
}

/* Of "w, V = eigh(A)", which begins at t, a statement for each name. */
static void add_parts(parser *p, tra_stmt *s, const tra_token *t, int *cap, tra_ast_program *out) {
    for (s->part = 0; s->part < s->nparts; s->part++, t += 2) {
        s->name = tra_parse_token_text(p, t);
        s->name_span = t->span;
        add_statement(p, s, cap, out);
    }
}

void tra_parse_statements(parser *p, tra_ast_program *out) {
    int cap = 0;
    *out = (tra_ast_program){0};
    while (p->tok->kind != TRA_T_EOF && !(p->loops > 0 && p->tok->kind == '}')) {
        if (tra_parse_accept(p, TRA_T_END)) continue;
        const tra_token *begin = p->tok;
        tra_stmt s = {0};
        p->nest = 0;
        if (!parse_statement(p, &s)) {
            s.broken = true;
            if (p->tok == begin && p->tok->kind == '}') p->tok++;
            while (p->tok->kind != TRA_T_END && p->tok->kind != TRA_T_EOF) p->tok++;
        } else {
            p->tok--; /* onto the END again */
        }
        s.span = tra_parse_join_spans(begin->span, p->tok[-1].span);
        if (s.nparts > 1)
            add_parts(p, &s, begin, &cap, out);
        else
            add_statement(p, &s, &cap, out);
    }
}

void tra_parse(const tra_script *src, tra_arena *a, tra_diags *d, tra_ast_program *out) {
    int ntokens;
    parser p = {.src = src,
                .arena = a,
                .d = d,
                .defined = {.arena = a},
                .expander = {.arena = a, .d = d, .defs = {.arena = a}}};
    p.tok = tra_lex(src, a, d, &ntokens);
    parse_version(&p);
    tra_parse_statements(&p, out);
}
