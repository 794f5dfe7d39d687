/* kernels.c - kernels as the arguments of operators name or describe them. */
#include "build.h"

#include <string.h>

const tra_kernel *tra_build_kernel_named(tra_build *b, tra_span span, const char *name, tra_kernel_use use, int nargs,
                                         double arg) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    if (tra_kernel_named(b->arena, name, use, nargs, &arg, &k, &e) != TRA_OK)
        tra_diag_error(b->d, span, NULL, "%s", e.msg);
    return k;
}

static const char agg_advice[] = "write matadd, elemmax, elemmin, elemmul, minindex or maxindex";

static const char *use_name(tra_kernel_use use) {
    return use == TRA_USE_JOIN ? "join" : use == TRA_USE_AGG ? "agg" : "transform";
}

static const tra_kernel *kernel_named(tra_build *b, const tra_ast *x, tra_kernel_use use) {
    static const char *const element[] = {"x"};
    double args[8];
    const tra_kernel *k = NULL;
    tra_err e = {0};
    if (strcmp(x->text, "scale") == 0 && x->nkids == 1 && use == TRA_USE_MAP) { /* by a float: of integers too */
        const tra_scalar *by = tra_build_function(b, x->kids[0], 0, NULL);
        if (by && by->op == TRA_S_CONST && by->form == TRA_NUMBER_REAL)
            return tra_kernel_lambda(b->arena, tra_scalar_of(b->arena, TRA_S_MUL, tra_scalar_argument(b->arena, 0), by),
                                     1, element);
        if (!by) return NULL;
    }
    if (x->nkids > 8) return tra_diag_error(b->d, x->span, NULL, "a kernel with more than 8 numbers");
    for (int i = 0; i < x->nkids; i++)
        if (!tra_build_number(b, x->kids[i], &args[i])) return NULL;
    if (tra_kernel_named(b->arena, x->text, use, x->nkids, args, &k, &e) == TRA_OK) return k;
    const char *near = tra_kernel_nearest(x->text, use);
    bool same = near && strcmp(near, x->text) == 0;
    return tra_diag_error(b->d, same ? x->span : x->name_span,
                          near && !same ? tra_arena_printf(b->arena, "did you mean %s?", near) : NULL, "%s", e.msg);
}

static const tra_kernel *kernel_string(tra_build *b, const tra_ast *x, tra_kernel_use use) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    bool two = strchr(x->text, ',') != NULL;
    if (tra_kernel_einsum(b->arena, x->text, &k, &e) != TRA_OK)
        tra_diag_error(b->d, x->span, NULL, "%s", e.msg);
    else if (use == TRA_USE_AGG)
        tra_diag_error(b->d, x->span, agg_advice, "agg takes no Einstein string");
    else if (two != (use == TRA_USE_JOIN))
        tra_diag_error(b->d, x->span, two ? "write for instance \"ij->ji\"" : "write for instance \"ij,jk->ik\"",
                       "a kernel of %s has %s", use_name(use), two ? "one operand" : "two operands");
    else
        return k;
    return NULL;
}

static const tra_kernel *kernel_lambda(tra_build *b, const tra_ast *x, tra_kernel_use use) {
    int n = x->nkids - 1, want = use == TRA_USE_JOIN ? 2 : 1;
    const char *names[2];
    if (use == TRA_USE_AGG)
        return tra_diag_error(b->d, x->span, agg_advice, "agg takes a kernel by its name, not a function");
    if (n != want)
        return tra_diag_error(b->d, x->span,
                              want == 2 ? "write for instance (x,y) -> x*y" : "write for instance x -> 2*x",
                              "a kernel of %s is a function of %s, not of %d", use_name(use),
                              want == 2 ? "two elements" : "one element", n);
    for (int i = 0; i < n; i++) names[i] = x->kids[i]->text;
    const tra_scalar *s = tra_build_function(b, x->kids[n], n, names);
    return s ? tra_kernel_lambda(b->arena, s, n, names) : NULL;
}

const tra_kernel *tra_build_kernel(tra_build *b, const tra_ast *x, tra_kernel_use use) {
    switch (x->kind) {
    case TRA_AST_NAME:
    case TRA_AST_CALL: return kernel_named(b, x, use);
    case TRA_AST_STRING: return kernel_string(b, x, use);
    case TRA_AST_LAMBDA: return kernel_lambda(b, x, use);
    case TRA_AST_COMPOSE: {
        const tra_kernel *next = tra_build_kernel(b, x->kids[0], TRA_USE_MAP);
        const tra_kernel *first = tra_build_kernel(b, x->kids[1], use);
        return next && first ? tra_kernel_then(b->arena, first, next) : NULL;
    }
    case TRA_AST_NUMBER:
    case TRA_AST_TUPLE:
    case TRA_AST_LIST:
    case TRA_AST_INDEX:
    case TRA_AST_AGGREGATE:
    case TRA_AST_UNARY:
    case TRA_AST_BINARY:
    case TRA_AST_NAMED:
    case TRA_AST_DESC:
    case TRA_AST_STAR:
    case TRA_AST_RANGE:
    case TRA_AST_LITERAL: break;
    }
    return tra_diag_error(b->d, x->span,
                          "write a name such as matmul, a string \"ij,jk->ik\", or a function (x,y) -> x*y",
                          "a kernel is expected here");
}
