/* keep.c - plans that were found before, and statistics as they are looked up by.
 *
 * What is kept of a problem is what finding plans gives: trees as text, costs. Its name is a hash of everything that
 * these follow from, so that a plan that is kept is the one that would be found; what is not whole, or does not check
 * against the scope, is found again. */
#include "../../lib/codegen/codegen.h"
#include "storel_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To 10 bits, so that numbers which differ by less than a thousandth are the same. */
static double rounded(double x) {
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    double m = frexp(x, &exponent);
    return ldexp(round(m * 1024) / 1024, exponent);
}

tra_storel_about *st_rounded(const tra_storel_problem *p, tra_arena *a) {
    tra_storel_about *about = tra_news(a, tra_storel_about, p->n);
    for (int i = 0; i < p->n; i++) {
        about[i] = p->about[i];
        about[i].value = rounded(about[i].value);
        for (int d = 0; d < TRA_CALC_MAXRANK; d++) about[i].n[d] = rounded(about[i].n[d]);
        about[i].part = rounded(about[i].part);
        about[i].squares = rounded(about[i].squares);
    }
    return about;
}

/* Everything that the plans of a problem depend on, and the form of what is kept. */
static void describe(const tra_storel_problem *p, tra_str *out) {
    const tra_storel_costs *c = p->costs ? p->costs : &tra_storel_default_costs;
    tra_str_printf(out, "plans 1 %d %d %d %016" PRIx64 "\n", p->dense, p->plans, p->most_nodes, p->without);
    for (size_t i = 0; i < sizeof *c / sizeof(double); i++) tra_str_printf(out, "%a ", ((const double *)c)[i]);
    tra_str_add(out, "\n");
    for (int d = 0; d < TRA_CALC_MAXRANK; d++) tra_str_printf(out, "%d ", p->extent[d]);
    for (int i = 0; i < p->n; i++) {
        const tra_storel_about *x = &p->about[i];
        tra_calc_type t = p->scope[i].type;
        tra_str_printf(out, "\n%s %d %d %d: %d %a %d %a %a %d", p->scope[i].name, t.real, t.sparse, t.depth, x->kind,
                       x->value, x->below, x->part, x->squares, x->ascending);
        for (int d = 0; d < TRA_CALC_MAXRANK; d++) tra_str_printf(out, " %a %d", x->n[d], x->extent[d]);
    }
    tra_str_add(out, "\n");
    tra_calc_print(p->tree, out);
}

const char *st_kept_name(const tra_storel_problem *p, tra_arena *a) {
    tra_str text = {0};
    describe(p, &text);
    const char *name = tra_plan_cache_name(tra_str_get(&text), text.n, "plan", a);
    tra_str_free(&text);
    return name;
}

/* The next number of a text; false where there is none. */
static bool get(const char **at, double *x) {
    char *end;
    *x = strtod(*at, &end);
    bool ok = end > *at;
    *at = end;
    return ok;
}

/* "COST OPERATIONS ENTRIES LENGTH TREE" for each. */
bool st_recall(const tra_storel_problem *p, const char *name, tra_arena *a, tra_storel_result *out) {
    const char *at = tra_plan_cache_read(name, a);
    double n, length;
    if (!at || !get(&at, &n) || !(n >= 1 && n <= TRA_STOREL_MOSTPLANS)) return false;
    out->plan = tra_news(a, tra_storel_plan, (int)n);
    for (int i = 0; i < (int)n; i++) {
        tra_storel_plan *x = &out->plan[i];
        tra_calc_error err;
        if (!get(&at, &x->cost) || !get(&at, &x->operations) || !get(&at, &x->entries) || !get(&at, &length) ||
            !(length >= 1 && length < (double)strlen(at)))
            return false;
        x->tree = tra_calc_parse(at + 1, (int)length, a, &err);
        if (!x->tree || !tra_calc_check(x->tree, p->n, p->scope, a, &err)) return false;
        at += 1 + (int)length;
    }
    out->n = (int)n;
    return true;
}

void st_remember(const char *name, tra_arena *a, const tra_storel_result *r) {
    tra_str text = {0};
    tra_str_printf(&text, "%d\n", r->n);
    for (int i = 0; i < r->n; i++) {
        const tra_storel_plan *x = &r->plan[i];
        tra_str tree = {0};
        tra_calc_print(x->tree, &tree);
        tra_str_printf(&text, "%a %a %a %zu %s\n", x->cost, x->operations, x->entries, tree.n, tra_str_get(&tree));
        tra_str_free(&tree);
    }
    tra_plan_cache_write(name, tra_str_get(&text), a);
    tra_str_free(&text);
}
