/* kernel_plans.c - explain --kernels and --storages: how the kernels of statements are found that are composed with the
 * storages of their operands (plans/storel): naive plans, stages, physical plans, cardinalities and costs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain_int.h"

/* A plan or a program in the calculus as text, from malloc. */
static char *tree_text(const tra_calc *x) {
    tra_str s = {0};
    tra_calc_print(x, &s);
    return s.s ? s.s : tra_strdup("");
}

static void print_tree(const char *title, const tra_calc *x, tra_str *out) {
    char *text = tree_text(x);
    tra_str_printf(out, "  %s\n", title);
    tra_text_wrapped(text, 4, 6, out);
    free(text);
}

/* Writes what is known of a name in the notation of the STOREL paper: s is a scalar, n[s] a dictionary of n scalars,
 * n[m[s]] one of n dictionaries of m scalars each; ? stands for a number that is not known. */
static void print_cardinality(const tra_storel_about *about, int depth, tra_str *out) {
    char buf[32];
    if (about->kind == TRA_STOREL_NUMBER) {
        tra_str_add(out, isnan(about->value) ? "s" : tra_text_number(about->value, buf, sizeof buf));
        return;
    }
    for (int d = 0; d < depth; d++)
        tra_str_printf(out, "%s[", isnan(about->n[d]) ? "?" : tra_text_number(about->n[d], buf, sizeof buf));
    tra_str_add(out, "s");
    for (int d = 0; d < depth; d++) tra_str_add(out, "]");
    if (about->part > 0) tra_str_printf(out, " in parts of %s", tra_text_number(about->part, buf, sizeof buf));
}

/* Writes the cardinalities of the operands, and of the result of the cheapest plan. */
static void print_cardinalities(const tra_storel_kernel *k, tra_str *out) {
    tra_str line = {0};
    const tra_storel_problem *p = &k->composed.problem;
    char buf[32];
    for (int i = 0; i < p->n; i++) {
        tra_str_printf(&line, "%s%s: ", i ? ", " : "", p->scope[i].name);
        print_cardinality(&p->about[i], p->scope[i].type.depth, &line);
    }
    if (!isnan(k->result.plan[0].entries))
        tra_str_printf(&line, "; result: %s", tra_text_number(k->result.plan[0].entries, buf, sizeof buf));
    tra_str_add(out, "  cardinalities\n");
    tra_text_wrapped(tra_str_get(&line), 4, 6, out);
    tra_str_free(&line);
}

/* Writes a stage with the program that it leaves; that of the last stage is printed as the physical plan. */
static void print_stage(const tra_storel_stage *s, bool last, tra_str *out) {
    tra_str title = {0};
    char buf[32];
    tra_str_printf(&title, "%s: %d iterations, %d nodes, %d classes, %s ms%s", s->name, s->iterations, s->nodes,
                   s->classes, tra_text_number(round(100 * s->milliseconds) / 100, buf, sizeof buf),
                   s->limited ? ", ended by the number of nodes" : "");
    if (!last && s->program)
        print_tree(tra_str_get(&title), s->program, out);
    else
        tra_str_printf(out, "  %s\n", tra_str_get(&title));
    tra_str_free(&title);
}

/* The predicted seconds of a plan on all combinations of arrays. */
static double seconds_of(const tra_storel_kernel *k, int plan) {
    return tra_storel_seconds(k->result.plan[plan].cost, k->combinations, k->workers);
}

static void print_kernel(const tra_storel_kernel *k, tra_str *out) {
    char buf[3][32];
    tra_str_printf(out, "\n%s: %s\n", k->name, k->operands);
    if (k->reason) {
        tra_text_wrapped(k->reason, 2, 4, out);
        return;
    }
    const tra_storel_plan *p = &k->result.plan[0];
    print_tree("naive plan", k->composed.problem.tree, out);
    for (int i = 0; i < k->result.nstages; i++) print_stage(&k->result.stage[i], i + 1 == k->result.nstages, out);
    print_tree("physical plan", p->tree, out);
    print_cardinalities(k, out);
    if (isnan(p->operations))
        tra_str_add(out, "  no rule applies to it\n");
    else
        tra_str_printf(out, "  %s operations on %s combinations of arrays, %s predicted\n",
                       tra_text_number(p->operations * k->combinations, buf[0], sizeof buf[0]),
                       tra_text_number(k->combinations, buf[1], sizeof buf[1]),
                       tra_text_seconds(seconds_of(k, 0), buf[2], sizeof buf[2]));
}

void tra_text_composed(int n, const tra_storel_kernel *k, tra_str *out) {
    tra_str_add(out, "\nStatements on one combination of arrays, composed with storages\n");
    for (int i = 0; i < n; i++) print_kernel(&k[i], out);
    if (n == 0) tra_str_add(out, "no statement has a stored operand\n");
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void json_tree(tra_json *j, const char *key, const tra_calc *x) {
    char *text = x ? tree_text(x) : NULL;
    tra_json_str(j, key, text);
    free(text);
}

static void json_kernel(tra_json *j, const tra_storel_kernel *k) {
    const tra_storel_problem *p = &k->composed.problem;
    tra_json_begin(j, NULL, '{');
    tra_json_str(j, "name", k->name);
    tra_json_str(j, "operands", k->operands);
    tra_json_str(j, "reason", k->reason);
    if (!k->reason) {
        tra_json_num(j, "combinations", k->combinations);
        json_tree(j, "naive", p->tree);
        tra_json_begin(j, "stages", '[');
        for (int i = 0; i < k->result.nstages; i++) {
            const tra_storel_stage *s = &k->result.stage[i];
            tra_json_begin(j, NULL, '{');
            tra_json_str(j, "name", s->name);
            json_tree(j, "program", s->program);
            tra_json_int(j, "iterations", s->iterations);
            tra_json_int(j, "nodes", s->nodes);
            tra_json_int(j, "classes", s->classes);
            tra_json_num(j, "milliseconds", s->milliseconds);
            tra_json_bool(j, "limited", s->limited);
            tra_json_end(j, '}');
        }
        tra_json_end(j, ']');
        tra_json_begin(j, "plans", '[');
        for (int i = 0; i < k->result.n; i++) {
            const tra_storel_plan *plan = &k->result.plan[i];
            tra_json_begin(j, NULL, '{');
            json_tree(j, "plan", plan->tree);
            tra_json_num(j, "nanoseconds", plan->cost);
            tra_json_num(j, "operations", plan->operations);
            tra_json_num(j, "entries", plan->entries);
            tra_json_num(j, "seconds", seconds_of(k, i));
            tra_json_end(j, '}');
        }
        tra_json_end(j, ']');
        tra_json_begin(j, "cardinalities", '{');
        for (int i = 0; i < p->n; i++) {
            tra_str text = {0};
            print_cardinality(&p->about[i], p->scope[i].type.depth, &text);
            tra_json_str(j, p->scope[i].name, tra_str_get(&text));
            tra_str_free(&text);
        }
        tra_json_end(j, '}');
    }
    tra_json_end(j, '}');
}

void tra_json_composed(tra_json *j, int n, const tra_storel_kernel *k) {
    for (int i = 0; i < n; i++) json_kernel(j, &k[i]);
}

/* ---- storages side by side ---------------------------------------------------------------------------------- */

/* The predicted seconds of all kernels of a set. */
static double total_seconds(const tra_kernel_set *x) {
    double all = 0;
    for (int i = 0; i < x->n; i++) all += x->kernel[i].reason ? 0 : seconds_of(&x->kernel[i], 0);
    return all;
}

void tra_text_storages(int n, const tra_kernel_set *x, tra_str *out) {
    char buf[2][32];
    tra_str_add(out, "\nStorages, by the predicted time of the kernels\n");
    tra_text_cell(out, "storages", 44);
    tra_text_cell(out, "predicted", -12);
    tra_text_cell(out, "operations", -14);
    tra_text_end_line(out);
    for (int i = 0; i < n; i++) {
        double operations = 0;
        for (int k = 0; k < x[i].n; k++)
            if (!x[i].kernel[k].reason)
                operations += x[i].kernel[k].result.plan[0].operations * x[i].kernel[k].combinations;
        tra_text_cell(out, x[i].storages, 44);
        tra_text_cell(out, tra_text_seconds(total_seconds(&x[i]), buf[0], sizeof buf[0]), -12);
        tra_text_cell(out, tra_text_number(operations, buf[1], sizeof buf[1]), -14);
        tra_text_end_line(out);
        for (int k = 0; k < x[i].n; k++) {
            char *text = x[i].kernel[k].reason ? NULL : tree_text(x[i].kernel[k].result.plan[0].tree);
            tra_str line = {0};
            tra_str_printf(&line, "%s: %s", x[i].kernel[k].name, text ? text : x[i].kernel[k].reason);
            tra_text_wrapped(tra_str_get(&line), 4, 6, out);
            tra_str_free(&line);
            free(text);
        }
    }
}

void tra_json_storages(tra_json *j, int n, const tra_kernel_set *x) {
    tra_json_begin(j, "storages", '[');
    for (int i = 0; i < n; i++) {
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "storages", x[i].storages);
        tra_json_num(j, "seconds", total_seconds(&x[i]));
        tra_json_begin(j, "kernels", '[');
        tra_json_composed(j, x[i].n, x[i].kernel);
        tra_json_end(j, ']');
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
}

static int by_seconds(const void *a, const void *b) {
    const tra_kernel_set *x = a, *y = b;
    double s = total_seconds(x), t = total_seconds(y);
    return s != t ? (s > t) - (s < t) : strcmp(x->storages, y->storages);
}

void tra_sort_storages(int n, tra_kernel_set *x) { qsort(x, (size_t)n, sizeof *x, by_seconds); }
