/* compiled_kernels.c - explain --kernels and --code: how the kernels of a plan run, and those that are compiled, as
 * physical plans in the calculus and as C. */
#include "../../lib/run/compiled.h"
#include "explain_int.h"

#include <string.h>

/* Writes physical plan and C of the kernel of an operator's join. False if it has none that is compiled. */
static bool source_of(const tra_plan *p, int op, tra_str *plan, tra_str *c) {
    tra_err e = {0};
    return tra_op_compiles(&p->ops[op]) && tra_op_source(p, &p->ops[op], plan, c, &e) == TRA_OK;
}

/* The first operator whose C is this; there is one. */
static int first_of(const tra_plan *p, const char *code) {
    for (int i = 0;; i++) {
        tra_str plan = {0}, c = {0};
        bool same = source_of(p, i, &plan, &c) && strcmp(tra_str_get(&c), code) == 0;
        tra_str_free(&plan);
        tra_str_free(&c);
        if (same) return i;
    }
}

/* The ways of an operator's kernel, each once in a row; false: it has none. */
static bool ways_of(const tra_plan *p, int op, tra_str *out) {
    tra_impl ways[TRA_MOST_IMPLS];
    int n = tra_op_choose(p, &p->ops[op], ways);
    for (int i = 0; i < n; i++)
        if (i == 0 || ways[i] != ways[i - 1]) tra_str_printf(out, "%s%s", i ? "; then " : "", tra_impl_text(ways[i]));
    if (n && p->ops[op].spec.triangle) tra_str_add(out, "; one triangle");
    return n > 0;
}

static void text_ways(const tra_plan *p, tra_str *out) {
    bool any = false;
    for (int i = 0; i < p->nops; i++) {
        tra_str ways = {0};
        if (ways_of(p, i, &ways)) {
            tra_str_printf(out, "%s#%d %s: %s\n", any ? "" : "\nKernels of operators\n", i,
                           tra_plan_op_text(p->ops[i].op), tra_str_get(&ways));
            any = true;
        }
        tra_str_free(&ways);
    }
}

static void json_ways(tra_json *j, const tra_plan *p) {
    tra_json_begin(j, "implementations", '[');
    for (int i = 0; i < p->nops; i++) {
        tra_str ways = {0};
        if (ways_of(p, i, &ways)) {
            tra_json_begin(j, NULL, '{');
            tra_json_int(j, "operator", i);
            tra_json_str(j, "implementation", tra_str_get(&ways));
            tra_json_end(j, '}');
        }
        tra_str_free(&ways);
    }
    tra_json_end(j, ']');
}

void tra_text_kernels(const tra_plan *p, bool code, tra_str *out) {
    bool any = false;
    text_ways(p, out);
    for (int i = 0; i < p->nops; i++) {
        tra_str line = {0}, plan = {0}, c = {0};
        if (source_of(p, i, &plan, &c)) {
            int first = first_of(p, tra_str_get(&c));
            if (!any) tra_str_add(out, "\nCompiled kernels\n");
            any = true;
            tra_str_printf(&line, "#%d ", i);
            if (first == i)
                tra_str_add(&line, tra_str_get(&plan));
            else
                tra_str_printf(&line, "as #%d", first);
            tra_text_wrapped(tra_str_get(&line), 0, 6, out);
            if (code && first == i) tra_str_printf(out, "\n%s\n", tra_str_get(&c));
        }
        tra_str_free(&line);
        tra_str_free(&plan);
        tra_str_free(&c);
    }
    if (!any) tra_str_add(out, "\nNo kernel of this plan is compiled\n");
}

void tra_json_kernels(tra_json *j, const tra_plan *p, bool code, const tra_kernel_set *statements) {
    json_ways(j, p);
    tra_json_begin(j, "kernels", '[');
    for (int i = 0; i < p->nops; i++) {
        tra_str plan = {0}, c = {0};
        if (source_of(p, i, &plan, &c)) {
            tra_json_begin(j, NULL, '{');
            tra_json_int(j, "operator", i);
            tra_json_str(j, "plan", tra_str_get(&plan));
            if (code) tra_json_str(j, "code", tra_str_get(&c));
            tra_json_end(j, '}');
        }
        tra_str_free(&plan);
        tra_str_free(&c);
    }
    if (statements) tra_json_composed(j, statements->n, statements->kernel);
    tra_json_end(j, ']');
}
