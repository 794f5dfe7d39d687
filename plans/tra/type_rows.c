/* type_rows.c - what the operators of the algebra do with tables, and with tensors of which only the run tells how many
 * rows they have. */
#include "type.h"

/* The error for an operator that cannot have such rows in its input. */
static tra_status refuse(const tra_node *n, const char *why, tra_err *e) {
    return tra_fail(e, TRA_PROGRAM, "%s meets rows of which only the run tells how many there are: %s",
                    tra_opcode_text(n->op), why);
}

tra_status tra_type_rows(const tra_node *n, tra_err *e) {
    bool takes_tables = n->kernel && tra_kernel_rows(n->kernel), bounded = false;
    for (int i = 0; i < 2 && n->in[i]; i++) {
        bounded |= n->in[i]->type.bounded && !n->in[i]->type.columns;
        if (n->in[i]->type.columns && !takes_tables && n->op != TRA_OP_CONCAT && n->op != TRA_OP_REKEY)
            return tra_fail(e, TRA_PROGRAM,
                            "%s takes tensors, and this is a table; matrix(T, [...]) makes a tensor of its columns",
                            tra_opcode_text(n->op));
    }
    if (!bounded) return TRA_OK;
    switch (n->op) {
    case TRA_OP_INPUT:
    case TRA_OP_JOIN:
    case TRA_OP_AGG:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TRANSFORM: break;
    case TRA_OP_TILE:
    case TRA_OP_CONCAT:
    case TRA_OP_REPART: return refuse(n, "they are not cut anew before they are written", e);
    }
    return TRA_OK;
}
