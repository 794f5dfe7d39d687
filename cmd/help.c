/* help.c - tra help [COMMAND]: the list of commands, or the help of one. */
#include "../plans/tra/load.h"
#include "../plans/tra/function_help.h"
#include "help.h"

#include "../lib/kernel/kernel.h"

#include <string.h>

static tra_status list(tra_err *e) {
    tra_str s = {0};
    tra_str_add(&s, "Usage: tra COMMAND [options] [arguments]\n\n"
                    "Tables, matrices and tensors larger than memory, on one machine or several.\n");
    const char *group = "";
    for (const tra_cmd *const *c = tra_cmds; *c; c++) {
        if (strcmp((*c)->group, group) != 0) tra_str_printf(&s, "\n%s\n", (*c)->group);
        group = (*c)->group;
        tra_str_printf(&s, "  %-12s%s\n", (*c)->name, (*c)->brief);
    }
    tra_str_add(&s, "\n'tra help COMMAND' or 'man tra-COMMAND' tells more; 'man tra' is where to begin.\n"
                    "'tra help lang' shows the language of programs, 'tra help operators' and 'tra help functions'\n"
                    "what there is in it, 'tra help NAME' one of these; 'tra help kernels' the kernels.\n");
    return tra_print_str(&s, e);
}

/* Topics of the language; what they say in full stands in tra-lang(5). */
static const char language[] = "A program is a text of statements, one a line; # begins a comment.\n"
                               "'man tra-lang' has all of it, with examples.\n\n"
                               "  input A from \"a.h5\"                a relation in a file\n"
                               "  input A : f64 [9,9] by [3,3]       a tensor that is only declared\n"
                               "  param eta = 0.01                   a number; -D eta=0.1 sets another\n"
                               "  def relu2(x) = max(x, 0)^2         a macro: calls are replaced by it\n"
                               "  C[i,k] = sum A[i,j] * B[j,k]       sum, mean, max, min, prod, argmax, argmin\n"
                               "  B = OPERATOR                       a relation, by one of\n"
                               "    join(L, R, [l...], [r...], kernel)    agg(X, [g...], kernel)\n"
                               "    rekey(X, (i,j) -> (j,i))              filter(X, (i,j) -> i < j)\n"
                               "    transform(X, kernel)                  tile(X, dim, size)\n"
                               "    concat(X, keydim, dim)                repart(X, [d...])\n"
                               "    reblock(X, [b...])                    store(X, csr)\n"
                               "    slice(X, [a:b, :])                    stack(A, B, dim)\n"
                               "    values, places = topk(X, k)           softmax(X), transpose(X)\n"
                               "    X = solve(A, B)                       inverse(A), det(A), cholesky(A)\n"
                               "    w, V = eigh(A)                        Q, R = qr(A)    U, s, V = svd(A)\n"
                               "  T = OPERATOR                       a table, by one of ('man tra-table')\n"
                               "    select(T, predicate)                  project(T, a, b = expr, *)\n"
                               "    join(L, R, condition, how = left)     cross(L, R)\n"
                               "    group(T, [key], n = count())          order(T, [a, b desc])\n"
                               "    distinct(T, [a])                      limit(T, n)\n"
                               "    union(A, B)                           window(T, [a], [b], r = rank())\n"
                               "    join(L, R, a == b, asof = L.t >= R.t)  pivot(T, [key], column, x, sum)\n"
                               "    unpivot(T, [a, b])                    explode(T, tags, \";\")\n"
                               "    ffill(T, [key], [order], a), bfill    sample(T, 0.1)  series(1, 10)\n"
                               "    table(X), entries(X) of a tensor\n"
                               "  M = matrix(T, [a, b])              a tensor; also rows(T), pivot(...)\n"
                               "  X = label(X, d, T, column)         what positions stand for; unlabel(X, d)\n"
                               "  X = align(X, d, Y, e, fill = v)    in the order of the labels of Y\n"
                               "  storage, tensor ...                layouts of one's own ('man tra-storage')\n"
                               "  output C to \"c.h5\"                 writes the relation\n";

static tra_status kernels(tra_err *e) {
    static const struct {
        unsigned use;
        const char *title;
    } uses[] = {{TRA_USE_JOIN, "Of joins"}, {TRA_USE_AGG, "Of aggregations"}, {TRA_USE_MAP, "Of transform"}};
    tra_str s = {0};
    for (size_t u = 0; u < sizeof uses / sizeof *uses; u++) {
        const char *name;
        unsigned is;
        int at = 0;
        tra_str_printf(&s, "%s\n", uses[u].title);
        for (int i = 0; (name = tra_kernel_list(i, &is)); i++) {
            if (!(is & uses[u].use)) continue;
            tra_str_printf(&s, "%s%-12s", at == 0 ? "  " : " ", name);
            if (++at == 6) tra_str_add(&s, "\n"), at = 0;
        }
        tra_str_add(&s, at ? "\n\n" : "\n");
    }
    tra_str_add(&s, "Others are written: \"ij,jk->ik\", (x, y) -> x * y + 1, and f . g for one after another.\n"
                    "'man tra-lang' says what each computes.\n");
    return tra_print_str(&s, e);
}

static tra_status algorithms(tra_err *e) {
    tra_str s = {0};
    tra_str_add(&s, "Programs that come with tra, run by name: tra run @kmeans -D X=points.h5 -D k=3\n"
                    "Outputs are files of this folder; -D NAME=FILE names another one for an output too.\n\n");
    tra_algorithms_describe(&s);
    return tra_print_str(&s, e);
}

static tra_status operators(tra_err *e) {
    const tra_operator_help *v;
    int n = tra_operator_helps(&v);
    tra_str s = {0};
    for (int i = 0; i < n; i++) tra_str_printf(&s, "%s\n    %s\n", v[i].form, v[i].says);
    tra_str_add(&s, "\nA statement gives the result a name: R = select(T, km > 2). Products and sums over tensors are\n"
                    "written with labels: C[i,k] = sum A[i,j] * B[j,k]. 'tra help lang' shows both.\n");
    return tra_print_str(&s, e);
}

/* An operator or a function of the language; TRA_USAGE: there is neither, nor a command of that name. */
static tra_status word(const char *name, tra_err *e) {
    tra_str s = {0};
    const tra_operator_help *o = tra_operator_help_find(name, 0);
    for (const tra_operator_help *all = NULL; o; o = tra_operator_help_find(name, (int)(o - all) + 1)) {
        tra_operator_helps(&all);
        tra_str_printf(&s, "%s\n  %s (an operator: %s)\n", o->form, o->says, o->page);
    }
    tra_function_help_describe(name, &s);
    const char *here = tra_function_help_elsewhere(name);
    tra_status status = TRA_OK;
    if (*tra_str_get(&s))
        status = tra_print(tra_str_get(&s), e);
    else if (here)
        status = tra_fail(e, TRA_USAGE, "there is no command, operator or function '%s': %s", name, here);
    else {
        const tra_cmd *cmd;
        status = tra_cmd_find(name, &cmd, e);
    }
    tra_str_free(&s);
    return status;
}

static bool is_command(const char *name) {
    for (const tra_cmd *const *c = tra_cmds; *c; c++)
        if (strcmp((*c)->name, name) == 0) return true;
    return false;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    tra_str completion = {0};
    if (argc == 0) return list(e);
    if (strcmp(argv[0], "lang") == 0) return tra_print(language, e);
    if (strcmp(argv[0], "kernels") == 0) return kernels(e);
    bool json = tra_common_opts.format == TRA_FORMAT_JSON;
    if (strcmp(argv[0], "functions") == 0) return tra_help_functions(argc > 1 ? argv[1] : NULL, json, e);
    if (argc > 1) return tra_fail(e, TRA_USAGE, "only 'functions' takes a name: tra help functions NAME");
    if (tra_completion(argv[0], &completion)) {
        return tra_print_str(&completion, e);
    }
    if (strcmp(argv[0], "functions.7") == 0) return tra_help_functions_page(e);
    if (strcmp(argv[0], "algorithms") == 0) return algorithms(e);
    if (strcmp(argv[0], "formats") == 0) return tra_help_formats(e);
    if (strcmp(argv[0], "operators") == 0) return operators(e);
    if (!is_command(argv[0])) return word(argv[0], e);
    const tra_cmd *cmd = NULL;
    TRA_TRY(tra_cmd_find(argv[0], &cmd, e));
    tra_options_help(cmd, stdout);
    return TRA_OK;
}

const tra_cmd tra_cmd_help = {
    .name = "help",
    .group = "About tra",
    .brief = "list the commands, or explain one",
    .usage = "[COMMAND|NAME|lang|operators|functions|formats|kernels|...]",
    .about =
        "Without an argument lists the commands; with one tells what that command does and its options. lang is a "
        "page on the language of programs, operators and functions list what there is in it, with a line of each, and "
        "NAME tells of one of them, with an example; formats lists the formats of files, kernels the kernels that "
        "have names, algorithms the programs that come with tra and are run by name. With --format json the functions "
        "are an array. zsh and fish print what completes commands and options in these shells.",
    .maxargs = 2,
    .needs = TRA_TAKES_JSON,
    .run = run,
};
