/* derivation.c - explain --rules as text: how a plan follows from the direct translation, step by step, and which rules
 * were refused. */
#include <stdlib.h>
#include <string.h>

#include "../search/cost.h"
#include "../search/derive.h"
#include "explain_int.h"

enum { PLACE = 22, MOVED = 10 }; /* widths of columns */
static int operator_width(void) { return tra_text_width() - 3 - PLACE - MOVED - 4; }
enum { ALL_SHOWN = 24 }; /* a tree of so many lines is shown whole */

/* The operators of a plan as lines: what each does, where, and what it moves. */
static char **lines_of(const tra_shown_plan *s, tra_arena *a) {
    char **v = tra_news(a, char *, s->nlines), buf[TRA_SIZETEXT];
    for (int i = 0; i < s->nlines; i++) {
        const tra_shown_op *o = &s->ops[s->lines[i].op];
        tra_str what = {0}, line = {0};
        tra_text_operator(s, &s->lines[i], operator_width(), &what);
        tra_text_cell(&line, tra_str_get(&what), operator_width());
        tra_str_add(&line, "  ");
        if (!s->lines[i].again) {
            tra_text_cell(&line, o->place, PLACE);
            tra_str_add(&line, "  ");
            tra_text_cell(&line,
                          o->op->predicted.cost.network_bytes.bound
                              ? tra_size_short_text(o->op->predicted.cost.network_bytes, buf)
                              : "",
                          -MOVED);
        }
        v[i] = tra_arena_take(a, &line);
        tra_str_free(&what);
    }
    return v;
}

/* The line without the number of the operator, which changes when other operators come and go. */
static const char *unnumbered(const char *line) {
    const char *at = strchr(line, '#');
    return at ? at + strspn(at + 1, "0123456789") + 1 : line;
}

/* Prints the tree of a plan, with a star before the lines that the plan before did not have. Of a long tree only these
 * are printed. */
static void print_tree(const tra_shown_plan *s, char *const *now, int nbefore, char *const *before, tra_str *out) {
    int hidden = 0;
    for (int i = 0; i < s->nlines; i++) {
        bool old = false;
        for (int j = 0; j < nbefore && !old; j++) old = strcmp(unnumbered(before[j]), unnumbered(now[i])) == 0;
        if (s->nlines > ALL_SHOWN && old) {
            hidden++;
            continue;
        }
        tra_str_add(out, old || !nbefore ? "   " : " * ");
        tra_str_add(out, now[i]);
        tra_text_end_line(out);
    }
    if (hidden) tra_str_printf(out, "   (and %d operator%s as before)\n", hidden, hidden == 1 ? "" : "s");
}

/* Prints the number, the rules and the cost of a step. */
static void print_step(const tra_job *job, int i, const tra_step *x, tra_str *out) {
    char cost[32], bytes[TRA_SIZETEXT], flops[32];
    double c = tra_cost_scalar(&x->plan->cost, job->options.cost);
    tra_str line = {0};
    tra_str_printf(&line, "%d  ", i);
    for (int k = 0; k < x->rules.n; k++) tra_str_printf(&line, "%s  ", x->rules.v[k]->name);
    tra_str_add(&line, x->what);
    tra_str_add(out, "\n");
    tra_text_wrapped(tra_str_get(&line), 0, 3, out);
    tra_str_free(&line);
    for (int k = 0; k < x->rules.n; k++) {
        tra_str_printf(&line, "%s: %s", x->rules.v[k]->name, x->rules.v[k]->equivalence);
        tra_text_wrapped(tra_str_get(&line), 3, 9, out);
        tra_str_free(&line);
    }
    if (job->options.cost == TRA_COST_TRA)
        tra_str_printf(out, "   cost %s floats", tra_text_number(c, cost, sizeof cost));
    else
        tra_str_printf(out, "   cost %s", tra_text_seconds(c, cost, sizeof cost));
    tra_str_printf(out, "; %s moved, %s flops\n", tra_size_text(x->plan->cost.network_bytes, bytes),
                   tra_text_number(x->plan->cost.flops, flops, sizeof flops));
}

static void print_refused(const tra_derivation *d, tra_str *out) {
    tra_str_add(out, "\nNear misses: rules that were refused, and why\n");
    if (d->refused.n == 0) tra_str_add(out, "none\n");
    for (int i = 0; i < d->refused.n; i++) {
        const tra_refusal *r = &d->refused.v[i];
        tra_str line = {0};
        tra_str_printf(&line, "%-4s  ", r->rule->name);
        tra_expr_print(d->memo, r->expr, NULL, 2, &line);
        tra_str_printf(&line, ": %s", r->reason);
        tra_text_wrapped(tra_str_get(&line), 0, 6, out);
        tra_str_free(&line);
    }
}

void tra_text_derivation(const tra_job *job, tra_str *out) {
    tra_arena *a = tra_arena_new();
    tra_derivation d = tra_explain_derivation(job, a);
    char **before = NULL;
    int nbefore = 0;
    tra_str_printf(out, "\nDerivation of the plan from the direct translation, %d step%s; * marks what is new\n",
                   d.n - 1, d.n == 2 ? "" : "s");
    for (int i = 0; i < d.n; i++) {
        const tra_shown_plan *s = tra_explain_plan(job, d.v[i].plan, a);
        char **now = lines_of(s, a);
        print_step(job, i, &d.v[i], out);
        print_tree(s, now, nbefore, before, out);
        before = now;
        nbefore = s->nlines;
    }
    print_refused(&d, out);
    tra_arena_free(a);
}
