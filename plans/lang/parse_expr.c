/* parse_expr.c - the parser of expressions, and what all of the parser is written with. */
#include "parse_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *tra_parse_token_text(parser *p, const tra_token *t) {
    return tra_arena_strndup(p->arena, p->src->text + t->span.at, (size_t)t->span.len);
}

const char *tra_parse_quoted_text(parser *p, const tra_token *t) {
    char *text = tra_arena_strndup(p->arena, p->src->text + t->span.at + 1, (size_t)t->span.len - 2), *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '`') from++;
        *to++ = *from;
    }
    *to = 0;
    return text;
}

tra_span tra_parse_join_spans(tra_span a, tra_span b) { return (tra_span){a.at, b.at + b.len - a.at}; }

bool tra_parse_at_name(const parser *p, const char *word) {
    size_t n = strlen(word);
    return p->tok->kind == TRA_T_NAME && (size_t)p->tok->span.len == n &&
           memcmp(p->src->text + p->tok->span.at, word, n) == 0;
}

bool tra_parse_at_word(const parser *p, const char *word) {
    size_t n = strlen(word);
    return p->tok->kind == TRA_T_NAME && (size_t)p->tok->span.len == n &&
           strncasecmp(p->src->text + p->tok->span.at, word, n) == 0;
}

void tra_parse_unexpected(parser *p, const char *advice, const char *wanted) {
    const tra_token *t = p->tok;
    if (t->kind == TRA_T_BAD) return;
    if (t->kind == TRA_T_END || t->kind == TRA_T_EOF) {
        tra_span end = {t[-1].span.at + t[-1].span.len, 1}; /* a statement has at least one token before its end */
        tra_diag_error(p->d, end, advice, "%s expected, but the statement ends here", wanted);
    } else if (t->kind == '=') {
        tra_diag_error(p->d, t->span, advice ? advice : "write == to compare", "%s expected, not '='", wanted);
    } else {
        int len = t->span.len > 40 ? 40 : t->span.len;
        tra_diag_error(p->d, t->span, advice, "%s expected, not '%.*s'", wanted, len, p->src->text + t->span.at);
    }
}

bool tra_parse_expect(parser *p, int kind, const char *wanted) {
    if (p->tok->kind != kind) {
        tra_parse_unexpected(p, NULL, wanted);
        return false;
    }
    p->tok++;
    return true;
}

bool tra_parse_accept(parser *p, int kind) {
    if (p->tok->kind != kind) return false;
    p->tok++;
    return true;
}

static bool enter(parser *p) {
    if (p->nest == MAX_NEST) {
        if (p->tok->kind != TRA_T_BAD)
            tra_diag_error(p->d, p->tok->span, "give parts of it names of their own", "nested deeper than %d",
                           MAX_NEST);
        return false;
    }
    p->nest++;
    return true;
}

static tra_ast *new_ast(parser *p, tra_ast_kind kind, tra_span span, const char *text) {
    tra_ast *x = tra_new(p->arena, tra_ast);
    x->kind = kind;
    x->span = x->name_span = span;
    x->text = text;
    return x;
}

/* Gives x its kids; false (with a diagnostic) when the tree gets too high. */
static bool set_kids(parser *p, tra_ast *x, int n, tra_ast *const *kids) {
    x->nkids = n;
    x->kids = tra_news(p->arena, tra_ast *, n);
    for (int i = 0; i < n; i++) {
        x->kids[i] = kids[i];
        if (kids[i]->depth >= x->depth) x->depth = kids[i]->depth + 1;
    }
    if (x->depth <= MAX_HEIGHT) return true;
    return tra_diag_error(p->d, x->span, "give parts of it names of their own",
                          "an expression of more than %d operators in a row", MAX_HEIGHT);
}

static tra_ast *make1(parser *p, tra_ast_kind kind, tra_span span, const char *text, tra_ast *a) {
    tra_ast *x = new_ast(p, kind, span, text);
    return set_kids(p, x, 1, &a) ? x : NULL;
}

static tra_ast *make2(parser *p, tra_ast_kind kind, const char *text, tra_ast *a, tra_ast *b) {
    tra_ast *x = new_ast(p, kind, tra_parse_join_spans(a->span, b->span), text);
    return set_kids(p, x, 2, (tra_ast *[]){a, b}) ? x : NULL;
}

/* ---- lists of expressions -------------------------------------------------------------------------------------- */

static void asts_add(parser *p, asts *l, tra_ast *x) {
    TRA_ARENA_ROOM(p->arena, l->v, l->n, l->cap);
    l->v[l->n++] = x;
}

tra_ast *tra_parse_label(parser *p) {
    if (p->tok->kind != TRA_T_NAME) {
        tra_parse_unexpected(p, NULL, "a label (a name)");
        return NULL;
    }
    tra_ast *x = new_ast(p, TRA_AST_NAME, p->tok->span, tra_parse_token_text(p, p->tok));
    p->tok++;
    return x;
}

const char *tra_parse_word_advice(const parser *p) {
    static const char *const meant[][2] = {
        {"and", "write && for 'and'"},
        {"or", "write || for 'or'"},
        {"is", "write isnull(x)"},
        {"in", "write in(x, \"a\", \"b\"), or join(T, S, x == y) for the values of a table"},
        {"like", "write like(x, \"a%\")"},
        {"between", "write x >= a && x <= b"},
        {"where", "write select(T, a > 0 && b < 1)"},
        {"from",
         "write project(T, a, b) for columns, select(T, a > 0) for rows, group(T, [key], n = count()) for groups"},
        {"group", "write group(T, [key], n = count(), m = mean(x))"},
        {"order", "write order(T, [a, b desc])"},
        {"limit", "write limit(T, 10)"},
        {"join", "write join(L, R, a == b)"},
        {"as", "a name stands before what it names: d = a % 10"},
    };
    for (size_t i = 0; p->tok->kind == TRA_T_NAME && i < sizeof meant / sizeof *meant; i++)
        if (tra_parse_at_word(p, meant[i][0])) return meant[i][1];
    static const char *const before[][2] = {
        {"not", "write !x for 'not x'"},
        {"case", "write if(a > 0, b, c) for 'case when a > 0 then b else c end'"},
        {"having", "write select(group(T, [key], n = count()), n > 10)"},
        {"from",
         "write project(T, a, b) for columns, select(T, a > 0) for rows, group(T, [key], n = count()) for groups"},
    };
    parser last = *p;
    last.tok--;
    for (size_t i = 0; p->tok->kind != TRA_T_END && i < sizeof before / sizeof *before; i++)
        if (tra_parse_at_word(&last, before[i][0])) return before[i][1];
    return NULL;
}

/* What may be meant where after an argument stands a name: an operator of other languages, or the rest of a name. */
static const char *advice_after_argument(const parser *p) {
    if (p->tok->kind == ':') return "a part of a tensor is slice(A, [0:2, :])";
    const char *sql = tra_parse_word_advice(p);
    if (sql || p->tok->kind != TRA_T_NAME) return sql;
    parser before = *p;
    before.tok--;
    if (tra_parse_at_name(&before, "distinct")) return "write distinct(x), the number of different values";
    if (p->tok[-1].kind != TRA_T_NAME) return NULL;
    const char *word = tra_parse_token_text(&before, before.tok);
    if (tra_is_aggregation_word(word) || tra_is_later_aggregation_word(word))
        return "what an aggregation inside an expression is of stands in parentheses: sum[k](X[i,k]), sum(x)";
    return "a name that has blanks stands in backquotes: `a b`";
}

bool tra_parse_items(parser *p, tra_ast *(*item)(parser *), int close, asts *out, tra_span *end) {
    if (!enter(p)) return false;
    if (p->tok->kind != close) {
        do {
            tra_ast *x = item(p);
            if (!x) return false;
            asts_add(p, out, x);
        } while (tra_parse_accept(p, ','));
    }
    *end = p->tok->span;
    p->nest--;
    if (tra_parse_accept(p, close)) return true;
    tra_parse_unexpected(p, advice_after_argument(p), close == ')' ? "',' or ')'" : "',' or ']'");
    return false;
}

/* ---- expressions ----------------------------------------------------------------------------------------------- */

/* p is after "->"; params is what stood before it. */
static tra_ast *parse_lambda(parser *p, tra_ast *params) {
    asts kids = {0};
    if (params->kind == TRA_AST_NAME) asts_add(p, &kids, params);
    for (int i = 0; params->kind == TRA_AST_TUPLE && i < params->nkids; i++) asts_add(p, &kids, params->kids[i]);
    for (int i = 0; i < kids.n; i++) {
        if (kids.v[i]->kind != TRA_AST_NAME)
            return tra_diag_error(p->d, kids.v[i]->span, "write (i,j) -> (j,i)",
                                  "the parameters before '->' are names");
        for (int j = 0; j < i; j++)
            if (strcmp(kids.v[i]->text, kids.v[j]->text) == 0)
                return tra_diag_error(p->d, kids.v[i]->span, NULL, "parameter '%s' stands twice", kids.v[i]->text);
    }
    if (!enter(p)) return NULL;
    tra_ast *body = tra_parse_expr(p);
    if (!body) return NULL;
    p->nest--;
    asts_add(p, &kids, body);
    tra_ast *x = new_ast(p, TRA_AST_LAMBDA, tra_parse_join_spans(params->span, body->span), NULL);
    return set_kids(p, x, kids.n, kids.v) ? x : NULL;
}

/* sum[k](X[i,k]): after the parenthesis opens. Of a quantile the value is its share. */
static tra_ast *parse_aggregate(parser *p, tra_span name, const char *text, asts *kids) {
    if (!enter(p)) return NULL;
    tra_ast *body = tra_parse_expr(p);
    if (!body) return NULL;
    p->nest--;
    asts_add(p, kids, body);
    tra_ast *x = new_ast(p, TRA_AST_AGGREGATE, tra_parse_join_spans(name, p->tok->span), text);
    x->name_span = name;
    if (strcmp(text, "quantile") == 0) { /* quantile[j](x, 0.9) */
        if (!tra_parse_accept(p, ','))
            return tra_diag_error(p->d, x->span, NULL, "a quantile has its share: quantile[j](X[i,j], 0.9)");
        if (p->tok->kind != TRA_T_NUMBER || !tra_parse_num(tra_parse_token_text(p, p->tok), &x->value) || x->value > 1)
            return tra_diag_error(p->d, p->tok->span, NULL, "the share of a quantile is a number from 0 to 1");
        x->integer = true;
        p->tok++;
        x->span = tra_parse_join_spans(name, p->tok->span);
    }
    if (!tra_parse_expect(p, ')', "')'")) return NULL;
    return set_kids(p, x, kids->n, kids->v) ? x : NULL;
}

tra_ast *tra_parse_string(parser *p) {
    tra_span span = p->tok->span;
    char *text = tra_arena_strndup(p->arena, p->src->text + span.at + 1, (size_t)span.len - 2);
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\\') from++;
        *to++ = *from;
    }
    *to = 0;
    p->tok++;
    return new_ast(p, TRA_AST_STRING, span, text);
}

/* What stands after a colon of a range; where nothing does, STAR. */
static tra_ast *parse_range_end(parser *p) {
    const tra_token *t = p->tok++;
    bool open = p->tok->kind == ',' || p->tok->kind == ']' || p->tok->kind == ':';
    return open ? new_ast(p, TRA_AST_STAR, t->span, "*") : tra_parse_expr(p);
}

/* The end of a range after its colon, and its step. */
static tra_ast *parse_range(parser *p, tra_ast *from) {
    tra_ast *to = from ? parse_range_end(p) : NULL, *step = NULL;
    if (!to) return NULL;
    if (p->tok->kind == ':' && !(step = parse_range_end(p))) return NULL;
    if (step && step->kind == TRA_AST_STAR) step = NULL;
    tra_ast *kids[3] = {from, to, step};
    tra_ast *x = new_ast(p, TRA_AST_RANGE, tra_parse_join_spans(from->span, (step ? step : to)->span), ":");
    return set_kids(p, x, step ? 3 : 2, kids) ? x : NULL;
}

/* An argument of a call or an item of a list: an expression, "name = expression", "expression desc", "*"; of a list
 * also a range "from:to" or "from:to:step", of which either end may be left out. */
tra_ast *tra_parse_argument(parser *p) {
    const tra_token *t = p->tok;
    if (t->kind == ':') return parse_range(p, new_ast(p, TRA_AST_STAR, t->span, "*"));
    bool quoted = t->kind == TRA_T_QUOTED;
    if (t->kind == '*' && (t[1].kind == ',' || t[1].kind == ')' || t[1].kind == ']')) {
        p->tok++;
        return new_ast(p, TRA_AST_STAR, t->span, "*");
    }
    if ((quoted || t->kind == TRA_T_NAME) && t[1].kind == '=') {
        const char *name = quoted ? tra_parse_quoted_text(p, t) : tra_parse_token_text(p, t);
        p->tok += 2;
        tra_ast *value = tra_parse_expr(p);
        tra_ast *x = value ? make1(p, TRA_AST_NAMED, tra_parse_join_spans(t->span, value->span), name, value) : NULL;
        if (x) x->name_span = t->span, x->quoted = quoted;
        return x;
    }
    tra_ast *x = tra_parse_expr(p);
    if (x && p->tok->kind == ':') return parse_range(p, x);
    if (!x || !tra_parse_at_name(p, "desc")) return x;
    tra_span end = p->tok++->span;
    return make1(p, TRA_AST_DESC, tra_parse_join_spans(x->span, end), "desc", x);
}

static tra_ast *parse_quoted(parser *p) {
    tra_ast *x = new_ast(p, TRA_AST_NAME, p->tok->span, tra_parse_quoted_text(p, p->tok));
    x->quoted = true;
    p->tok++;
    return x;
}

/* date "2017-04-15" or timestamp "..." */
static tra_ast *parse_literal(parser *p) {
    tra_span word = p->tok->span;
    const char *text = tra_parse_token_text(p, p->tok++);
    tra_ast *string = tra_parse_string(p);
    return make1(p, TRA_AST_LITERAL, tra_parse_join_spans(word, string->span), text, string);
}

/* An index of a reference: a label, or what stands for a position. */
static tra_ast *parse_index(parser *p) {
    bool plain = p->tok->kind == TRA_T_NAME && (p->tok[1].kind == ',' || p->tok[1].kind == ']');
    return plain ? tra_parse_label(p) : tra_parse_expr(p);
}

/* Are the indices labels, as those of an aggregation are? False after a diagnostic. */
static bool all_labels(parser *p, const asts *v) {
    for (int i = 0; i < v->n; i++)
        if (v->v[i]->kind != TRA_AST_NAME)
            return tra_diag_error(p->d, v->v[i]->span, "write for instance sum[k](X[i,k])",
                                  "an aggregation names labels");
    return true;
}

static tra_ast *parse_name(parser *p) {
    if (p->tok[1].kind == TRA_T_STRING && (tra_parse_at_name(p, "date") || tra_parse_at_name(p, "timestamp")))
        return parse_literal(p);
    tra_span name = p->tok->span, end;
    const char *text = tra_parse_token_text(p, p->tok++);
    asts kids = {0};
    if (tra_parse_accept(p, '(')) {
        if (!tra_parse_items(p, tra_parse_argument, ')', &kids, &end)) return NULL;
    } else if (tra_parse_accept(p, '[')) {
        if (!tra_parse_items(p, parse_index, ']', &kids, &end)) return NULL;
        if (p->tok->kind == '(' && !all_labels(p, &kids)) return NULL;
        if (tra_parse_accept(p, '(')) return parse_aggregate(p, name, text, &kids);
    } else {
        return new_ast(p, TRA_AST_NAME, name, text);
    }
    tra_ast *x =
        new_ast(p, p->tok[-1].kind == ')' ? TRA_AST_CALL : TRA_AST_INDEX, tra_parse_join_spans(name, end), text);
    x->name_span = name;
    return set_kids(p, x, kids.n, kids.v) ? x : NULL;
}

tra_ast *tra_parse_bracket(parser *p) {
    int open = p->tok->kind;
    tra_span begin = p->tok++->span, end;
    asts kids = {0};
    if (!tra_parse_items(p, open == '(' ? tra_parse_expr : tra_parse_argument, open == '(' ? ')' : ']', &kids, &end))
        return NULL;
    if (open == '(' && kids.n == 1) {
        kids.v[0]->parentheses = tra_parse_join_spans(begin, end);
        return kids.v[0];
    }
    tra_ast *x = new_ast(p, open == '(' ? TRA_AST_TUPLE : TRA_AST_LIST, tra_parse_join_spans(begin, end), NULL);
    return set_kids(p, x, kids.n, kids.v) ? x : NULL;
}

static tra_ast *parse_number(parser *p) {
    tra_ast *x = new_ast(p, TRA_AST_NUMBER, p->tok->span, tra_parse_token_text(p, p->tok));
    x->value = strtod(x->text, NULL);
    x->integer = strpbrk(x->text, ".eE") == NULL;
    p->tok++;
    if (isfinite(x->value)) return x;
    return tra_diag_error(p->d, x->span, "the largest is 1.797693134862315e308",
                          "this number is larger than an f64 holds");
}

tra_ast *tra_parse_primary(parser *p) {
    tra_ast *x = NULL;
    switch (p->tok->kind) {
    case TRA_T_NAME: x = parse_name(p); break;
    case TRA_T_QUOTED: x = parse_quoted(p); break;
    case TRA_T_NUMBER: x = parse_number(p); break;
    case TRA_T_STRING: x = tra_parse_string(p); break;
    case '(':
    case '[': x = tra_parse_bracket(p); break;
    default:
        tra_parse_unexpected(p,
                             p->tok->kind == '*' && p->tok[-1].kind == '*'   ? "a power is written x^2"
                             : p->tok->kind == '>' && p->tok[-1].kind == '<' ? "write a != b for 'a <> b'"
                             : p->tok->kind == ':' ? "a part of a tensor is slice(A, [0:2, :])"
                                                   : NULL,
                             "an expression");
    }
    if (x && p->tok->kind == TRA_T_ARROW) {
        if (x->kind != TRA_AST_NAME && x->kind != TRA_AST_TUPLE)
            return tra_diag_error(p->d, x->span, "write (i,j) -> (j,i)", "names are expected before '->'");
        p->tok++;
        return parse_lambda(p, x);
    }
    return x;
}

static tra_ast *parse_compose(parser *p) {
    tra_ast *x = tra_parse_primary(p);
    while (x && tra_parse_accept(p, '.')) {
        tra_ast *y = tra_parse_primary(p);
        x = y ? make2(p, TRA_AST_COMPOSE, ".", x, y) : NULL;
    }
    return x;
}

static tra_ast *parse_unary(parser *p) {
    const tra_token *t = p->tok;
    if (t->kind == '-' || t->kind == '!') {
        p->tok++;
        if (!enter(p)) return NULL;
        tra_ast *x = parse_unary(p);
        p->nest--;
        return x ? make1(p, TRA_AST_UNARY, tra_parse_join_spans(t->span, x->span), t->kind == '-' ? "-" : "!", x)
                 : NULL;
    }
    tra_ast *x = parse_compose(p);
    if (!x || !tra_parse_accept(p, '^')) return x;
    if (!enter(p)) return NULL;
    tra_ast *y = parse_unary(p); /* to the right, and 2^-1 */
    p->nest--;
    return y ? make2(p, TRA_AST_BINARY, "^", x, y) : NULL;
}

enum { PREC_OR = 1, PREC_AND, PREC_CMP, PREC_SUM, PREC_PRODUCT };

static int binary(const parser *p, const char **text) {
    if (tra_parse_at_name(p, "div")) return *text = "div", PREC_PRODUCT;
    switch (p->tok->kind) {
    case TRA_T_OR: *text = "||"; return PREC_OR;
    case TRA_T_AND: *text = "&&"; return PREC_AND;
    case TRA_T_EQ: *text = "=="; return PREC_CMP;
    case TRA_T_NE: *text = "!="; return PREC_CMP;
    case TRA_T_LE: *text = "<="; return PREC_CMP;
    case TRA_T_GE: *text = ">="; return PREC_CMP;
    case '<': *text = "<"; return PREC_CMP;
    case '>': *text = ">"; return PREC_CMP;
    case '+': *text = "+"; return PREC_SUM;
    case '-': *text = "-"; return PREC_SUM;
    case '*': *text = "*"; return PREC_PRODUCT;
    case '/': *text = "/"; return PREC_PRODUCT;
    case '%': *text = "%"; return PREC_PRODUCT;
    default: return 0;
    }
}

static tra_ast *parse_binary(parser *p, int least) {
    tra_ast *x = parse_unary(p);
    const char *text;
    for (int prec; x && (prec = binary(p, &text)) >= least;) {
        p->tok++;
        tra_ast *y = parse_binary(p, prec + 1);
        if (!y) return NULL;
        x = make2(p, TRA_AST_BINARY, text, x, y);
        if (x && prec == PREC_CMP && binary(p, &text) == PREC_CMP)
            return tra_diag_error(p->d, p->tok->span, "write a < b && b < c", "comparisons do not chain");
    }
    return x;
}

tra_ast *tra_parse_expr(parser *p) { return parse_binary(p, PREC_OR); }
