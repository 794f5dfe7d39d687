/* reads.c - the names by which statements read relations and params. */
#include "expand.h"

#include <string.h>

typedef struct visit {
    tra_see_name *see;
    void *ctx;
} visit;

static void walk(const visit *v, const tra_ast *x, bool label) {
    if (!x) return;
    if (x->kind == TRA_AST_NAME && !label) v->see(v->ctx, x->text, x->span);
    if (x->kind == TRA_AST_INDEX) v->see(v->ctx, x->text, x->name_span);
    for (int i = x->kind == TRA_AST_LAMBDA ? x->nkids - 1 : 0; i < x->nkids; i++)
        walk(v, x->kids[i], tra_is_label_place(x, i, label));
}

void tra_visit_reads(const tra_ast_program *p, tra_see_name *see, void *ctx) {
    const visit v = {see, ctx};
    for (int i = 0; i < p->n; i++) {
        const tra_stmt *st = &p->v[i];
        if (st->broken || st->kind == TRA_STMT_DEF) continue;
        if (st->kind == TRA_STMT_OUTPUT) see(ctx, st->name, st->name_span);
        const tra_ast *const parts[] = {st->shape, st->block, st->nnz,  st->at,    st->rows, st->rows_block,
                                        st->value, st->least, st->most, st->turns, st->until};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) walk(&v, parts[k], false);
        for (int k = 0; k < st->as.nargs; k++) walk(&v, st->as.args[k], false);
        for (int k = 0; k < st->nvalues; k++) walk(&v, st->values[k], false);
        if (st->body) tra_visit_reads(st->body, see, ctx);
    }
}
