/* print.c - expressions over columns, and right sides of EinSum statements, as the language writes them. */
#include "lang.h"
#include "lex.h"
#include "names.h"

#include <string.h>

/* How tightly operators bind. */
enum { OR = 1, AND, COMPARE, SUM, PRODUCT, UNARY, POWER, PRIMARY };

static int level(const tra_ast *x) {
    if (x->kind == TRA_AST_UNARY) return UNARY;
    if (x->kind != TRA_AST_BINARY) return PRIMARY;
    static const struct {
        const char *text;
        int level;
    } ops[] = {{"||", OR},      {"&&", AND},    {"==", COMPARE}, {"!=", COMPARE},  {"<=", COMPARE},
               {">=", COMPARE}, {"<", COMPARE}, {">", COMPARE},  {"+", SUM},       {"-", SUM},
               {"*", PRODUCT},  {"/", PRODUCT}, {"%", PRODUCT},  {"div", PRODUCT}, {"^", POWER}};
    int i = TRA_FIND_ROW(ops, x->text);
    return i < 0 ? PRIMARY : ops[i].level;
}

/* Words that stand for values, where they are not in backquotes. */
static bool is_value(const char *s) {
    return strcmp(s, "true") == 0 || strcmp(s, "false") == 0 || strcmp(s, "null") == 0;
}

bool tra_is_plain_name(const char *s) {
    if (is_value(s)) return false;
    if (!*s || (*s >= '0' && *s <= '9')) return false;
    for (; *s; s++)
        if (*s != '_' && (*s < '0' || *s > '9') && (*s < 'A' || *s > 'Z') && (*s < 'a' || *s > 'z')) return false;
    return true;
}

void tra_name_print(const char *name, tra_str *out) {
    if (tra_is_plain_name(name)) {
        tra_str_add(out, name);
        return;
    }
    tra_str_add(out, "`");
    for (; *name; name++) tra_str_printf(out, *name == '`' ? "``" : "%c", *name);
    tra_str_add(out, "`");
}

static void add_string(const char *s, tra_str *out) {
    tra_str_add(out, "\"");
    for (; *s; s++) tra_str_printf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    tra_str_add(out, "\"");
}

/* Adds x, in brackets if it binds less tightly than `least`. */
static void add(const tra_ast *x, int least, tra_str *out);

/* Adds the first n kids between these brackets. */
static void add_kids(const tra_ast *x, int n, const char *open, const char *close, tra_str *out) {
    tra_str_add(out, open);
    for (int i = 0; i < n; i++) {
        if (i) tra_str_add(out, ", ");
        add(x->kids[i], OR, out);
    }
    tra_str_add(out, close);
}

static void add_operator(const tra_ast *x, tra_str *out) {
    int l = level(x);
    if (x->kind == TRA_AST_UNARY) {
        tra_str_add(out, x->text);
        add(x->kids[0], UNARY, out);
        return;
    }
    bool right = l == POWER, compare = l == COMPARE;
    add(x->kids[0], right || compare ? l + 1 : l, out);
    tra_str_printf(out, right ? "%s" : " %s ", x->text);
    add(x->kids[1], right ? UNARY : l + 1, out);
}

static void add(const tra_ast *x, int least, tra_str *out) {
    bool brackets = level(x) < least;
    if (brackets) tra_str_add(out, "(");
    switch (x->kind) {
    case TRA_AST_NAME: !x->quoted &&is_value(x->text) ? tra_str_add(out, x->text) : tra_name_print(x->text, out); break;
    case TRA_AST_NUMBER: tra_str_add(out, x->text); break;
    case TRA_AST_STRING: add_string(x->text, out); break;
    case TRA_AST_CALL:
        tra_str_add(out, x->text);
        add_kids(x, x->nkids, "(", ")", out);
        break;
    case TRA_AST_UNARY:
    case TRA_AST_BINARY: add_operator(x, out); break;
    case TRA_AST_LITERAL:
        tra_str_printf(out, "%s ", x->text);
        add(x->kids[0], PRIMARY, out);
        break;
    case TRA_AST_INDEX:
        tra_name_print(x->text, out);
        add_kids(x, x->nkids, "[", "]", out);
        break;
    case TRA_AST_AGGREGATE:
        tra_str_add(out, x->text);
        if (x->nkids > 1) add_kids(x, x->nkids - 1, "[", "]", out);
        tra_str_add(out, "(");
        add(x->kids[x->nkids - 1], OR, out);
        tra_str_add(out, ")");
        break;
    case TRA_AST_PARTS: break; /* no part of an expression over columns or of a right side */
    }
    if (brackets) tra_str_add(out, ")");
}

void tra_ast_print(const tra_ast *x, tra_str *out) { add(x, OR, out); }
