/* kernels.c - the kernels of a plan that are compiled: their physical plans in the calculus, and their C. */
#include "../../lib/run/compiled.h"
#include "explain.h"
#include "text.h"

/* The first operator before which loops of that form stand; -1: none does. */
static int first_of(const tra_plan *p, tra_generated form) {
    for (int i = 0; i < p->nops; i++)
        if (tra_op_generated(p, &p->ops[i]) == form) return i;
    return -1;
}

static bool is_first(const tra_plan *p, int op) {
    tra_generated form = tra_op_generated(p, &p->ops[op]);
    return form != TRA_GENERATED_NONE && first_of(p, form) == op;
}

void tra_text_kernels(const tra_plan *p, bool code, tra_str *out) {
    bool any = false;
    for (int i = 0; i < p->nops; i++) {
        tra_generated form = tra_op_generated(p, &p->ops[i]);
        tra_str line = {0}, plan = {0}, c = {0};
        tra_err e = {0};
        if (form == TRA_GENERATED_NONE) continue;
        if (!any) tra_str_add(out, "\nCompiled kernels\n");
        any = true;
        if (tra_generated_source(form, &plan, &c, &e) == TRA_OK) {
            tra_str_printf(&line, "#%d ", i);
            if (is_first(p, i))
                tra_str_add(&line, tra_str_get(&plan));
            else
                tra_str_printf(&line, "as #%d", first_of(p, form));
            tra_text_wrapped(tra_str_get(&line), 0, 6, out);
            if (code && is_first(p, i)) tra_str_printf(out, "\n%s\n", tra_str_get(&c));
        }
        tra_str_free(&line);
        tra_str_free(&plan);
        tra_str_free(&c);
    }
    if (!any) tra_str_add(out, "\nNo kernel of this plan is compiled\n");
}

void tra_json_kernels(tra_json *j, const tra_plan *p, bool code, const tra_kernels_of *statements) {
    tra_json_begin(j, "kernels", '[');
    for (int i = 0; i < p->nops; i++) {
        tra_generated form = tra_op_generated(p, &p->ops[i]);
        tra_str plan = {0}, c = {0};
        tra_err e = {0};
        if (form == TRA_GENERATED_NONE || tra_generated_source(form, &plan, &c, &e) != TRA_OK) continue;
        tra_json_begin(j, NULL, '{');
        tra_json_int(j, "operator", i);
        tra_json_str(j, "plan", tra_str_get(&plan));
        if (code) tra_json_str(j, "code", tra_str_get(&c));
        tra_json_end(j, '}');
        tra_str_free(&plan);
        tra_str_free(&c);
    }
    if (statements) tra_json_composed(j, statements->n, statements->kernel);
    tra_json_end(j, ']');
}
