/* The parser: recursive descent, one diagnostic for each statement that is wrong, then on to the next. */
#include "expand.h"
#include "lex.h"
#include "names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NEST = 200, MAX_HEIGHT = 1000 };

typedef struct parser {
    const tra_script *src;
    tra_arena *arena;
    tra_diags *d;
    const tra_token *tok; /* the next token */
    int nest;
    tra_names defined; /* value: tra_span of the definition */
    tra_expander expander;
} parser;

/* Every parsing function returns NULL or false once the statement has a diagnostic. */

static tra_ast *parse_expr(parser *p);

static const char *token_text(parser *p, const tra_token *t) {
    return tra_arena_strndup(p->arena, p->src->text + t->span.at, (size_t)t->span.len);
}

/* The name in backquotes at t, of which one in it stands twice. */
static const char *quoted_text(parser *p, const tra_token *t) {
    char *text = tra_arena_strndup(p->arena, p->src->text + t->span.at + 1, (size_t)t->span.len - 2), *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '`') from++;
        *to++ = *from;
    }
    *to = 0;
    return text;
}

static tra_span join_spans(tra_span a, tra_span b) { return (tra_span){a.at, b.at + b.len - a.at}; }

static bool at_name(const parser *p, const char *word) {
    size_t n = strlen(word);
    return p->tok->kind == TRA_T_NAME && (size_t)p->tok->span.len == n &&
           memcmp(p->src->text + p->tok->span.at, word, n) == 0;
}

static void unexpected(parser *p, const char *advice, const char *wanted) {
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

static bool expect(parser *p, int kind, const char *wanted) {
    if (p->tok->kind != kind) {
        unexpected(p, NULL, wanted);
        return false;
    }
    p->tok++;
    return true;
}

static bool accept(parser *p, int kind) {
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
    tra_diag_error(p->d, x->span, "give parts of it names of their own",
                   "an expression of more than %d operators in a row", MAX_HEIGHT);
    return false;
}

static tra_ast *make1(parser *p, tra_ast_kind kind, tra_span span, const char *text, tra_ast *a) {
    tra_ast *x = new_ast(p, kind, span, text);
    return set_kids(p, x, 1, &a) ? x : NULL;
}

static tra_ast *make2(parser *p, tra_ast_kind kind, const char *text, tra_ast *a, tra_ast *b) {
    tra_ast *x = new_ast(p, kind, join_spans(a->span, b->span), text);
    return set_kids(p, x, 2, (tra_ast *[]){a, b}) ? x : NULL;
}

/* ---- lists of expressions ----------------------------------------------------------------------------------- */

typedef struct asts {
    int n, cap;
    tra_ast **v;
} asts;

static void asts_add(parser *p, asts *l, tra_ast *x) {
    TRA_ARENA_ROOM(p->arena, l->v, l->n, l->cap);
    l->v[l->n++] = x;
}

static tra_ast *parse_label(parser *p) {
    if (p->tok->kind != TRA_T_NAME) {
        unexpected(p, NULL, "a label (a name)");
        return NULL;
    }
    tra_ast *x = new_ast(p, TRA_AST_NAME, p->tok->span, token_text(p, p->tok));
    p->tok++;
    return x;
}

/* Items separated by commas up to the closing bracket, whose span goes to *end. The opening one is read already. */
static bool parse_items(parser *p, tra_ast *(*item)(parser *), int close, asts *out, tra_span *end) {
    if (!enter(p)) return false;
    if (p->tok->kind != close) {
        do {
            tra_ast *x = item(p);
            if (!x) return false;
            asts_add(p, out, x);
        } while (accept(p, ','));
    }
    *end = p->tok->span;
    p->nest--;
    return expect(p, close, close == ')' ? "',' or ')'" : "',' or ']'");
}

/* ---- expressions -------------------------------------------------------------------------------------------- */

/* p is after "->"; params is what stood before it. */
static tra_ast *parse_lambda(parser *p, tra_ast *params) {
    asts kids = {0};
    if (params->kind == TRA_AST_NAME) asts_add(p, &kids, params);
    for (int i = 0; params->kind == TRA_AST_TUPLE && i < params->nkids; i++) asts_add(p, &kids, params->kids[i]);
    for (int i = 0; i < kids.n; i++) {
        if (kids.v[i]->kind != TRA_AST_NAME) {
            tra_diag_error(p->d, kids.v[i]->span, "write (i,j) -> (j,i)", "the parameters before '->' are names");
            return NULL;
        }
        for (int j = 0; j < i; j++)
            if (strcmp(kids.v[i]->text, kids.v[j]->text) == 0) {
                tra_diag_error(p->d, kids.v[i]->span, NULL, "parameter '%s' stands twice", kids.v[i]->text);
                return NULL;
            }
    }
    if (!enter(p)) return NULL;
    tra_ast *body = parse_expr(p);
    if (!body) return NULL;
    p->nest--;
    asts_add(p, &kids, body);
    tra_ast *x = new_ast(p, TRA_AST_LAMBDA, join_spans(params->span, body->span), NULL);
    return set_kids(p, x, kids.n, kids.v) ? x : NULL;
}

/* sum[k](X[i,k]): after the parenthesis opens. */
static tra_ast *parse_aggregate(parser *p, tra_span name, const char *text, asts *kids) {
    if (!enter(p)) return NULL;
    tra_ast *body = parse_expr(p);
    if (!body) return NULL;
    p->nest--;
    asts_add(p, kids, body);
    tra_ast *x = new_ast(p, TRA_AST_AGGREGATE, join_spans(name, p->tok->span), text);
    x->name_span = name;
    if (!expect(p, ')', "')'")) return NULL;
    return set_kids(p, x, kids->n, kids->v) ? x : NULL;
}

static tra_ast *parse_string(parser *p);

/* The end of a range after its colon; of a range that ends there, STAR. */
static tra_ast *parse_range(parser *p, tra_ast *from) {
    const tra_token *t = p->tok++;
    bool open = p->tok->kind == ',' || p->tok->kind == ']';
    tra_ast *to = open ? new_ast(p, TRA_AST_STAR, t->span, "*") : parse_expr(p);
    if (!from || !to) return NULL;
    tra_ast *kids[2] = {from, to};
    tra_ast *x = new_ast(p, TRA_AST_RANGE, join_spans(from->span, to->span), ":");
    return set_kids(p, x, 2, kids) ? x : NULL;
}

/* An argument of a call or an item of a list: an expression, "name = expression", "expression desc", "*"; of a list
 * also a range "from:to", of which either end may be left out. */
static tra_ast *parse_argument(parser *p) {
    const tra_token *t = p->tok;
    if (t->kind == ':') return parse_range(p, new_ast(p, TRA_AST_STAR, t->span, "*"));
    bool quoted = t->kind == TRA_T_QUOTED;
    if (t->kind == '*' && (t[1].kind == ',' || t[1].kind == ')' || t[1].kind == ']')) {
        p->tok++;
        return new_ast(p, TRA_AST_STAR, t->span, "*");
    }
    if ((quoted || t->kind == TRA_T_NAME) && t[1].kind == '=') {
        const char *name = quoted ? quoted_text(p, t) : token_text(p, t);
        p->tok += 2;
        tra_ast *value = parse_expr(p);
        tra_ast *x = value ? make1(p, TRA_AST_NAMED, join_spans(t->span, value->span), name, value) : NULL;
        if (x) x->name_span = t->span, x->quoted = quoted;
        return x;
    }
    tra_ast *x = parse_expr(p);
    if (x && p->tok->kind == ':') return parse_range(p, x);
    if (!x || !at_name(p, "desc")) return x;
    tra_span end = p->tok++->span;
    return make1(p, TRA_AST_DESC, join_spans(x->span, end), "desc", x);
}

static tra_ast *parse_quoted(parser *p) {
    tra_ast *x = new_ast(p, TRA_AST_NAME, p->tok->span, quoted_text(p, p->tok));
    x->quoted = true;
    p->tok++;
    return x;
}

/* date "2017-04-15" or timestamp "..." */
static tra_ast *parse_literal(parser *p) {
    tra_span word = p->tok->span;
    const char *text = token_text(p, p->tok++);
    tra_ast *string = parse_string(p);
    return make1(p, TRA_AST_LITERAL, join_spans(word, string->span), text, string);
}

static tra_ast *parse_name(parser *p) {
    if (p->tok[1].kind == TRA_T_STRING && (at_name(p, "date") || at_name(p, "timestamp"))) return parse_literal(p);
    tra_span name = p->tok->span, end;
    const char *text = token_text(p, p->tok++);
    asts kids = {0};
    if (accept(p, '(')) {
        if (!parse_items(p, parse_argument, ')', &kids, &end)) return NULL;
    } else if (accept(p, '[')) {
        if (!parse_items(p, parse_label, ']', &kids, &end)) return NULL;
        if (accept(p, '(')) return parse_aggregate(p, name, text, &kids);
    } else {
        return new_ast(p, TRA_AST_NAME, name, text);
    }
    tra_ast *x = new_ast(p, p->tok[-1].kind == ')' ? TRA_AST_CALL : TRA_AST_INDEX, join_spans(name, end), text);
    x->name_span = name;
    return set_kids(p, x, kids.n, kids.v) ? x : NULL;
}

static tra_ast *parse_bracket(parser *p) {
    int open = p->tok->kind;
    tra_span begin = p->tok++->span, end;
    asts kids = {0};
    if (!parse_items(p, open == '(' ? parse_expr : parse_argument, open == '(' ? ')' : ']', &kids, &end)) return NULL;
    if (open == '(' && kids.n == 1) return kids.v[0];
    tra_ast *x = new_ast(p, open == '(' ? TRA_AST_TUPLE : TRA_AST_LIST, join_spans(begin, end), NULL);
    return set_kids(p, x, kids.n, kids.v) ? x : NULL;
}

static tra_ast *parse_number(parser *p) {
    tra_ast *x = new_ast(p, TRA_AST_NUMBER, p->tok->span, token_text(p, p->tok));
    x->value = strtod(x->text, NULL);
    x->integer = strpbrk(x->text, ".eE") == NULL;
    p->tok++;
    if (isfinite(x->value)) return x;
    tra_diag_error(p->d, x->span, "the largest is 1.797693134862315e308", "this number is larger than an f64 holds");
    return NULL;
}

static tra_ast *parse_string(parser *p) {
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

static tra_ast *parse_primary(parser *p) {
    tra_ast *x = NULL;
    switch (p->tok->kind) {
    case TRA_T_NAME: x = parse_name(p); break;
    case TRA_T_QUOTED: x = parse_quoted(p); break;
    case TRA_T_NUMBER: x = parse_number(p); break;
    case TRA_T_STRING: x = parse_string(p); break;
    case '(':
    case '[': x = parse_bracket(p); break;
    default:
        unexpected(p, p->tok->kind == '*' && p->tok[-1].kind == '*' ? "a power is written x^2" : NULL, "an expression");
    }
    if (x && p->tok->kind == TRA_T_ARROW) {
        if (x->kind != TRA_AST_NAME && x->kind != TRA_AST_TUPLE) {
            tra_diag_error(p->d, x->span, "write (i,j) -> (j,i)", "names are expected before '->'");
            return NULL;
        }
        p->tok++;
        return parse_lambda(p, x);
    }
    return x;
}

static tra_ast *parse_compose(parser *p) {
    tra_ast *x = parse_primary(p);
    while (x && accept(p, '.')) {
        tra_ast *y = parse_primary(p);
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
        return x ? make1(p, TRA_AST_UNARY, join_spans(t->span, x->span), t->kind == '-' ? "-" : "!", x) : NULL;
    }
    tra_ast *x = parse_compose(p);
    if (!x || !accept(p, '^')) return x;
    if (!enter(p)) return NULL;
    tra_ast *y = parse_unary(p); /* to the right, and 2^-1 */
    p->nest--;
    return y ? make2(p, TRA_AST_BINARY, "^", x, y) : NULL;
}

enum { PREC_OR = 1, PREC_AND, PREC_CMP, PREC_SUM, PREC_PRODUCT };

static int binary(const parser *p, const char **text) {
    if (at_name(p, "div")) return *text = "div", PREC_PRODUCT;
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
        if (x && prec == PREC_CMP && binary(p, &text) == PREC_CMP) {
            tra_diag_error(p->d, p->tok->span, "write a < b && b < c", "comparisons do not chain");
            return NULL;
        }
    }
    return x;
}

static tra_ast *parse_expr(parser *p) { return parse_binary(p, PREC_OR); }

/* ---- statements --------------------------------------------------------------------------------------------- */

static bool parse_defined_name(parser *p, tra_stmt *s, const char *wanted) {
    if (p->tok->kind != TRA_T_NAME) {
        unexpected(p, NULL, wanted);
        return false;
    }
    s->name = token_text(p, p->tok);
    s->name_span = p->tok->span;
    p->tok++;
    return true;
}

static bool parse_path(parser *p, const char **path, tra_span *span) {
    if (p->tok->kind != TRA_T_STRING) {
        unexpected(p, NULL, "a file name in quotes");
        return false;
    }
    tra_ast *x = parse_string(p);
    *path = x->text;
    *span = x->span;
    if (*x->text) return true;
    tra_diag_error(p->d, x->span, NULL, "this file name is empty");
    return false;
}

static bool parse_list(parser *p, tra_ast **out, const char *wanted) {
    if (p->tok->kind != '[') {
        unexpected(p, NULL, wanted);
        return false;
    }
    *out = parse_bracket(p);
    return *out != NULL;
}

/* "as NAME" or "as NAME(args)", where there is one. */
static bool parse_storage_use(parser *p, tra_storage_use *use) {
    if (!at_name(p, "as")) return true;
    p->tok++;
    if (p->tok->kind != TRA_T_NAME) {
        unexpected(p, "write as csr, as band(5)", "the name of a storage");
        return false;
    }
    use->name = token_text(p, p->tok);
    use->span = use->name_span = p->tok++->span;
    if (!accept(p, '(')) return true;
    asts args = {0};
    tra_span end;
    if (!parse_items(p, parse_expr, ')', &args, &end)) return false;
    use->span = join_spans(use->name_span, end);
    use->nargs = args.n;
    use->args = args.v;
    return true;
}

/* [start: i32, `end station`: string] rows N by B, after "table" */
static bool parse_columns(parser *p, tra_stmt *s) {
    int cap = 0;
    if (!expect(p, '[', "columns such as [start: i32, duration: f64]")) return false;
    do {
        const tra_token *t = p->tok;
        bool quoted = t->kind == TRA_T_QUOTED;
        if (!quoted && t->kind != TRA_T_NAME) {
            unexpected(p, NULL, "the name of a column");
            return false;
        }
        TRA_ARENA_ROOM(p->arena, s->columns, s->ncolumns, cap);
        tra_column_decl *c = &s->columns[s->ncolumns++];
        *c = (tra_column_decl){.name = quoted ? quoted_text(p, t) : token_text(p, t), .span = t->span};
        p->tok++;
        if (!expect(p, ':', "':' and the type of the column")) return false;
        if (p->tok->kind != TRA_T_NAME) {
            unexpected(p, NULL, "the type of a column");
            return false;
        }
        c->type_span = p->tok->span;
        c->type = token_text(p, p->tok++);
    } while (accept(p, ','));
    if (!expect(p, ']', "',' or ']'")) return false;
    if (!at_name(p, "rows")) {
        unexpected(p, "write input T : table [start: i32] rows 1000000 by 65536", "'rows' and their number");
        return false;
    }
    p->tok++;
    s->rows = parse_primary(p);
    if (!s->rows || !at_name(p, "by")) return s->rows != NULL;
    p->tok++;
    s->rows_block = parse_primary(p);
    return s->rows_block != NULL;
}

/* f64 [..] by [..] as csr nnz N, or table [...] rows N by B, after ":" */
static bool parse_declared_input(parser *p, tra_stmt *s) {
    if (p->tok->kind != TRA_T_NAME) {
        unexpected(p, "write input A : f64 [1000, 1000] by [100, 100]", "an element type (f64 or f32)");
        return false;
    }
    s->dtype_span = p->tok->span;
    s->dtype = token_text(p, p->tok++);
    if (strcmp(s->dtype, "table") == 0) return parse_columns(p, s);
    if (!parse_list(p, &s->shape, "a shape such as [1000, 1000]")) return false;
    if (at_name(p, "by")) {
        p->tok++;
        if (!parse_list(p, &s->block, "a block such as [100, 100]")) return false;
    }
    if (!parse_storage_use(p, &s->as)) return false;
    if (!at_name(p, "nnz")) return true;
    p->tok++;
    s->nnz = parse_primary(p);
    return s->nnz != NULL;
}

static bool parse_input(parser *p, tra_stmt *s) {
    if (at_name(p, "from")) {
        p->tok++;
        if (!parse_path(p, &s->path, &s->path_span)) return false;
    } else if (accept(p, ':')) {
        if (!parse_declared_input(p, s)) return false;
    } else {
        unexpected(p, "write input A from \"a.h5\", or input A : f64 [1000, 1000] by [100, 100]",
                   "'from' or ':' with a type");
        return false;
    }
    if (at_name(p, "at")) {
        p->tok++;
        s->at = parse_primary(p);
        if (!s->at) return false;
    }
    return true;
}

/* Is there a comma between the bracket at t and the one that closes it, at that level? */
static bool has_comma(const tra_token *t) {
    int depth = 0;
    for (; t->kind != TRA_T_END && t->kind != TRA_T_EOF; t++) {
        if (t->kind == '(' || t->kind == '[') depth++;
        if ((t->kind == ')' || t->kind == ']') && --depth == 0) return false;
        if (t->kind == ',' && depth == 1) return true;
    }
    return false;
}

/* The token after the parenthesis at t is closed. */
static const tra_token *after_parenthesis(const tra_token *t) {
    int depth = 0;
    for (; t->kind != TRA_T_END && t->kind != TRA_T_EOF; t++) {
        if (t->kind == '(' || t->kind == '[') depth++;
        if ((t->kind == ')' || t->kind == ']') && --depth == 0) return t + 1;
    }
    return t;
}

/* A word that aggregates the whole right side: not sum[k](...), nor a relation or param of that name. */
static bool names_aggregation(const parser *p) {
    static const char *const words[] = {"sum", "max", "min", "prod", "mean", "argmin", "argmax"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_name(p, words[i])) return true;
    return false;
}

static bool is_aggregation(const parser *p) {
    int kind = p->tok[1].kind;
    if (kind != TRA_T_NAME && kind != TRA_T_NUMBER && kind != '(' && kind != '-' && kind != '!') return false;
    return names_aggregation(p);
}

static bool parse_einsum(parser *p, tra_stmt *s) {
    asts labels = {0};
    tra_span end;
    p->tok++; /* [ */
    if (!parse_items(p, parse_label, ']', &labels, &end)) return false;
    s->nlabels = labels.n;
    s->labels = labels.v;
    if (!parse_storage_use(p, &s->as)) return false;
    if (!expect(p, '=', "'='")) return false;
    bool extreme = at_name(p, "max") || at_name(p, "min");
    bool call = extreme && p->tok[1].kind == '(' && has_comma(p->tok + 1); /* max(a, b): the function */
    if (!call && is_aggregation(p)) {
        s->agg_span = p->tok->span;
        s->agg = token_text(p, p->tok++);
        const tra_token *next = p->tok->kind == '(' ? after_parenthesis(p->tok) : p->tok;
        if (next > p->tok && (next->kind == '+' || next->kind == '-'))
            s->agg_part = join_spans(p->tok->span, next[-1].span);
    }
    s->value = parse_expr(p);
    return s->value != NULL;
}

static bool parse_assign(parser *p, tra_stmt *s) {
    if (p->tok->kind != '=') {
        unexpected(p, "statements are input, param, output, and NAME = expression", "'='");
        return false;
    }
    p->tok++;
    s->value = parse_expr(p);
    return s->value != NULL;
}

/* def NAME(x, y) = expression, at the parenthesis */
static bool parse_def(parser *p, tra_stmt *s) {
    asts params = {0};
    tra_span end;
    if (!expect(p, '(', "'(' and the parameters")) return false;
    if (!parse_items(p, parse_label, ')', &params, &end)) return false;
    for (int i = 0; i < params.n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(params.v[i]->text, params.v[j]->text) == 0) {
                tra_diag_error(p->d, params.v[i]->span, NULL, "parameter '%s' stands twice", params.v[i]->text);
                return false;
            }
    s->nlabels = params.n;
    s->labels = params.v;
    if (!expect(p, '=', "'='")) return false;
    s->value = parse_expr(p);
    return s->value != NULL;
}

static bool parse_output(parser *p, tra_stmt *s) {
    if (at_name(p, "to")) {
        p->tok++;
        if (!parse_path(p, &s->path, &s->path_span)) return false;
    }
    return parse_storage_use(p, &s->as);
}

/* A storage or tensor statement, by lib/calculus. */
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
    /* the name is known, so that its uses get no error of their own */
    const char *text = p->src->text;
    int at = span.at + (text[span.at] == 's' ? 7 : 6), n = 0;
    at += (int)strspn(text + at, " \t\r");
    while (text[at + n] == '_' || (text[at + n] >= '0' && text[at + n] <= '9') || (text[at + n] | 32) - 'a' + 0u < 26u)
        n++;
    s->name = tra_arena_strndup(p->arena, text + at, (size_t)n);
    s->name_span = (tra_span){at, n};
    return false;
}

/* Does sum[k], or another aggregation with its labels, stand before? */
static bool after_labels(parser *p) {
    const tra_token *at = p->tok, *t = at - 1;
    if (t->kind != ']') return false;
    while (t->kind != '[' && t->kind != '=') t--;
    p->tok = t - 1;
    bool labels = t->kind == '[' && names_aggregation(p);
    p->tok = at;
    return labels;
}

/* What to write where an operand follows an expression, or NULL: a product was meant, or an aggregation that is not
 * known or misplaced. */
static const char *after_expression(parser *p, const tra_stmt *s) {
    if (p->tok->kind != TRA_T_NAME && p->tok->kind != TRA_T_NUMBER) return NULL;
    if (s->kind == TRA_STMT_EINSUM && after_labels(p))
        return "what an aggregation inside an expression is of stands in parentheses: sum[k](X[i,k])";
    p->tok--;
    bool word = is_aggregation(p), first = p->tok[-1].kind == '=', name = p->tok->kind == TRA_T_NAME;
    p->tok++;
    if (s->kind == TRA_STMT_EINSUM && word) return "an aggregation stands once, directly after '='";
    if (s->kind == TRA_STMT_EINSUM && first && name && !s->agg)
        return "aggregations are sum, mean, max, min, prod, argmax and argmin";
    if (word)
        return tra_arena_printf(p->arena, "the labels of the result stand on the left: %s[i,j] = sum ...", s->name);
    return "write * between factors, and each statement on a line of its own";
}

/* One statement up to its end; s->name stays NULL when not even that could be read. */
static bool parse_statement(parser *p, tra_stmt *s) {
    bool later = false;
    const tra_token *t = p->tok;
    if (t->kind == TRA_T_DECLARED) {
        if (!parse_declared(p, s)) return false;
        if (accept(p, TRA_T_END)) return true;
        unexpected(p, NULL, "the end of the statement");
        return false;
    }
    if (t->kind != TRA_T_NAME) {
        unexpected(p, "statements are input, param, output, and NAME = expression", "a statement");
        return false;
    }
    bool ok, word = tra_is_keyword(p->src->text + t->span.at, t->span.len, &later);
    if (!word || t[1].kind == '=' || t[1].kind == '[' || (later && t[1].kind != TRA_T_NAME)) {
        s->name = token_text(p, t);
        s->name_span = t->span;
        p->tok++;
        s->kind = p->tok->kind == '[' ? TRA_STMT_EINSUM : TRA_STMT_ASSIGN;
        while (p->tok->kind == ',' && p->tok[1].kind == TRA_T_NAME) p->tok += 2, s->nparts++; /* w, V = eigh(A) */
        s->nparts++;
        ok = s->kind == TRA_STMT_EINSUM ? parse_einsum(p, s) : parse_assign(p, s);
    } else if (later) {
        tra_diag_error(p->d, t->span, "choose another name",
                       "'%s' is kept for a later version of the language and cannot begin a statement",
                       token_text(p, t));
        s->name = token_text(p, t + 1), s->name_span = t[1].span;
        return false;
    } else {
        p->tok++;
        s->kind = p->src->text[t->span.at] == 'i'   ? TRA_STMT_INPUT
                  : p->src->text[t->span.at] == 'p' ? TRA_STMT_PARAM
                  : p->src->text[t->span.at] == 'd' ? TRA_STMT_DEF
                                                    : TRA_STMT_OUTPUT;
        if (!parse_defined_name(p, s, s->kind == TRA_STMT_OUTPUT ? "the name of a relation" : "a name")) return false;
        ok = s->kind == TRA_STMT_INPUT   ? parse_input(p, s)
             : s->kind == TRA_STMT_PARAM ? parse_assign(p, s)
             : s->kind == TRA_STMT_DEF   ? parse_def(p, s)
                                         : parse_output(p, s);
    }
    if (ok && s->value) s->value = tra_expand(&p->expander, s->value);
    if (s->value == NULL && s->kind != TRA_STMT_INPUT && s->kind != TRA_STMT_OUTPUT) return false;
    if (ok && s->kind == TRA_STMT_DEF) tra_expander_add(&p->expander, s);
    if (!ok || accept(p, TRA_T_END)) return ok;
    unexpected(p, s->value ? after_expression(p, s) : NULL, "the end of the statement");
    return false;
}

/* "tra 1", the version of the language, as the first statement. */
static void parse_version(parser *p) {
    if (!at_name(p, "tra") || p->tok[1].kind != TRA_T_NUMBER) return;
    const tra_token *t = p->tok + 1;
    if (t->span.len != 1 || p->src->text[t->span.at] != '1')
        tra_diag_error(p->d, t->span, NULL, "this program is in version %s of the language; tra %s reads version 1",
                       token_text(p, t), TRA_VERSION);
    p->tok += 2;
    if (p->tok->kind != TRA_T_END) unexpected(p, NULL, "the end of the statement");
    while (p->tok->kind != TRA_T_END) p->tok++;
    p->tok++;
}

/* False, with a diagnostic, when the name is defined already. */
static bool define(parser *p, const tra_stmt *s) {
    if (s->kind == TRA_STMT_OUTPUT || !s->name) return true;
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

static void add_statement(parser *p, const tra_stmt *s, int *cap, tra_ast_program *out) {
    if (!define(p, s) || !s->name) return;
    TRA_ARENA_ROOM(p->arena, out->v, out->n, *cap);
    out->v[out->n++] = *s;
}

/* Of "w, V = eigh(A)", which begins at t, a statement for each name. */
static void add_parts(parser *p, tra_stmt *s, const tra_token *t, int *cap, tra_ast_program *out) {
    for (s->part = 0; s->part < s->nparts; s->part++, t += 2) {
        s->name = token_text(p, t);
        s->name_span = t->span;
        add_statement(p, s, cap, out);
    }
}

void tra_parse(const tra_script *src, tra_arena *a, tra_diags *d, tra_ast_program *out) {
    int ntokens, cap = 0;
    parser p = {.src = src,
                .arena = a,
                .d = d,
                .defined = {.arena = a},
                .expander = {.arena = a, .d = d, .defs = {.arena = a}}};
    p.tok = tra_lex(src, a, d, &ntokens);
    *out = (tra_ast_program){0};
    parse_version(&p);
    while (p.tok->kind != TRA_T_EOF) {
        if (accept(&p, TRA_T_END)) continue;
        const tra_token *begin = p.tok;
        tra_stmt s = {0};
        p.nest = 0;
        if (!parse_statement(&p, &s)) {
            s.broken = true;
            while (p.tok->kind != TRA_T_END && p.tok->kind != TRA_T_EOF) p.tok++;
        } else {
            p.tok--; /* onto the END again */
        }
        s.span = join_spans(begin->span, p.tok[-1].span);
        if (s.nparts > 1)
            add_parts(&p, &s, begin, &cap, out);
        else
            add_statement(&p, &s, &cap, out);
    }
}
