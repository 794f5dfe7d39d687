/* parse_file.c - how a file is read, after its name. */
#include "parse_int.h"

/* list: a list of values is one too. */
static bool is_option_value(const tra_ast *x, bool list) {
    if (x->kind == TRA_AST_NAME || x->kind == TRA_AST_STRING || x->kind == TRA_AST_NUMBER) return true;
    for (int i = 0; list && x->kind == TRA_AST_LIST && i < x->nkids; i++)
        if (!is_option_value(x->kids[i], false)) return false;
    return list && x->kind == TRA_AST_LIST;
}

bool tra_parse_file_options(parser *p, tra_stmt *s) {
    asts v = {0};
    tra_span end;
    if (!tra_parse_accept(p, '(')) return true;
    if (!tra_parse_items(p, tra_parse_argument, ')', &v, &end)) return false;
    s->noptions = v.n;
    s->options = v.v;
    for (int i = 0; i < v.n; i++) {
        const tra_ast *x = v.v[i];
        if (x->kind == TRA_AST_NAMED && is_option_value(x->kids[0], true)) continue;
        return tra_diag_error(p->d, x->span,
                              "write (header = no, null = \"NA\"): yes, no, a number, a string or a list",
                              "this is no option of a file");
    }
    return true;
}
