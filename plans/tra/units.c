/* units.c - the units of a tensor's elements, as the attribute of the file that it comes from says: what keeps them. */
#include "build.h"

#include <string.h>

static bool same(const char *x, const char *y) { return x && y && strcmp(x, y) == 0; }

/* The units of an expression over references of the statement; NULL: it has none, or they are not known. */
static const char *of_expression(const tra_einsum *s, const tra_scalar *e) {
    const char *a, *b;
    switch ((int)e->op) {
    case TRA_S_ARG: return s->ref[e->arg].node ? s->ref[e->arg].node->units : NULL;
    case TRA_S_NEG:
    case TRA_S_ABS:
    case TRA_S_FLOOR:
    case TRA_S_CEIL:
    case TRA_S_ROUND:
    case TRA_S_TRUNC: return of_expression(s, e->a);
    case TRA_S_ADD:
    case TRA_S_SUB:
    case TRA_S_MAX:
    case TRA_S_MIN: a = of_expression(s, e->a), b = of_expression(s, e->b); return same(a, b) ? a : NULL;
    case TRA_S_IF: /* beside units a number is a fill value */
        a = of_expression(s, e->b), b = of_expression(s, e->c);
        return same(a, b) || e->c->op == TRA_S_CONST ? a : e->b->op == TRA_S_CONST ? b : NULL;
    }
    return NULL;
}

const char *tra_units_of_statement(const tra_einsum *s) {
    return s->fold == TRA_S_MUL ? NULL : of_expression(s, s->expr);
}

void tra_carry_units(tra_node *n) {
    bool moves = n->op == TRA_OP_REKEY || n->op == TRA_OP_FILTER || n->op == TRA_OP_TILE || n->op == TRA_OP_CONCAT ||
                 n->op == TRA_OP_REPART;
    if (moves && !n->units) n->units = n->in[0]->units;
}

const char *tra_units_of_file(const tra_rel *r) {
    const char *units = tra_rel_info(r)->units;
    return units && !strstr(units, " since ") ? units : NULL; /* moments are no lengths of time */
}
