/* trace.c - what the search considers, as text (explain --search): the groups of the memo and their variants, which
 * placements are demanded of them, the cheapest sets of supplies of each group, and the plans that come of them. */
#include <string.h>

#include "../rules/rules.h"
#include "search_int.h"

enum { SHOWN = 6, WIDTH = 100 }; /* sets of a group; columns of a line */

/* Adds a line of at most WIDTH columns; a longer one ends in two dots. */
static void add_line(tra_str *out, tra_str *line) {
    const char *text = tra_str_get(line);
    size_t n = strlen(text);
    if (n > WIDTH)
        tra_str_printf(out, "%.*s..\n", WIDTH - 2, text);
    else
        tra_str_printf(out, "%s\n", text);
    tra_str_free(line);
}

/* A placement, of which there is one alone on one site. */
static void add_place(const search *s, const char *before, int place, tra_str *out) {
    char buf[256];
    if (s->o->sites == 1) return;
    tra_str_add(out, before);
    tra_str_add(out, place == ANY ? "its file" : tra_place_text(&s->places.v[place], buf, sizeof buf));
}

static void add_cost(const tra_plan_options *o, double scalar, tra_str *out) {
    if (o->cost == TRA_COST_TRA)
        tra_str_printf(out, "%.6g floats", scalar);
    else
        tra_str_printf(out, "%.3g ms", 1e3 * scalar);
}

/* "agg of join(1, 2)": the operator, with the numbers of the groups that it reads; then its arguments. */
static void add_variant(const variant *f, tra_str *line) {
    const tra_expr *x = f->x, *j = f->join && f->join != x ? f->join : NULL;
    tra_str_add(line, tra_opcode_text(x->node.op));
    if (j) tra_str_printf(line, " of %s", tra_opcode_text(j->node.op));
    for (int i = 0; i < 2 && f->in[i] >= 0; i++) tra_str_printf(line, "%s%d", i ? ", " : "(", f->in[i]);
    if (f->in[0] >= 0) tra_str_add(line, ")");
    if (x->rule) tra_str_printf(line, "  by %s", x->rule->name);
    if (j && j->rule && j->rule != x->rule) tra_str_printf(line, "%s%s", x->rule ? ", " : "  by ", j->rule->name);
    for (const tra_expr *of = x; of; of = of == x ? j : NULL) { /* after a semicolon comes what is known of the rows */
        const char *end = strstr(of->text, "; ");
        tra_str_printf(line, "  %.*s", end ? (int)(end - of->text) : (int)strlen(of->text), of->text);
    }
}

void tra_trace_group(const search *s, int g) {
    const group *x = &s->group[g];
    tra_str *out = s->o->trace, line = {0};
    if (!out) return;
    char size[TRA_SIZETEXT];
    tra_str_printf(&line, "group %d", g);
    if (x->node->name) tra_str_printf(&line, " %s", x->node->name);
    tra_str_printf(&line, ": %s", tra_size_short_text(tra_type_bytes_all(&x->node->type), size));
    if (x->absorbed) tra_str_add(&line, ", made by the aggregation that reads it alone");
    if (x->shared) tra_str_add(&line, ", read by several");
    add_line(out, &line);
    for (int i = 0; i < x->nvariants; i++) {
        tra_str_printf(&line, "  variant %d: ", i + 1);
        add_variant(&x->f[i], &line);
        add_line(out, &line);
    }
    for (int i = 0; i < x->demand.n; i++) add_place(s, i ? ", " : "  demanded at ", x->demand.v[i], &line);
    if (line.n) add_line(out, &line);
    for (int i = 0; i < x->nentries && i < SHOWN; i++) {
        const implementation *m = s->supplies.v[x->entries[i].v[x->entries[i].n - 1].supply].m;
        tra_str_add(&line, "  ");
        add_cost(s->o, x->entries[i].s.scalar, &line);
        tra_str_printf(&line, ": variant %d", (int)(m->f - x->f) + 1);
        for (int k = 0; k < 2 && m->f->in[k] >= 0; k++) {
            tra_str_printf(&line, "%s%d", k ? ", " : " of ", m->f->in[k]);
            add_place(s, " at ", m->in[k], &line);
        }
        if (m->between >= 0) add_place(s, ", summands at ", m->between, &line);
        add_place(s, ", made at ", m->out, &line);
        add_line(out, &line);
    }
    if (x->nentries > SHOWN) tra_str_printf(out, "  and %d sets more\n", x->nentries - SHOWN);
}

void tra_trace_sets(const search *s, int n, const entry *v) {
    tra_str *out = s->o->trace;
    if (!out) return;
    for (int i = 0; i < n && i < SHOWN; i++) {
        tra_str line = {0};
        tra_str_printf(&line, "set %d: ", i + 1);
        add_cost(s->o, v[i].s.scalar, &line);
        add_line(out, &line);
        for (int g = 0; g < v[i].n; g++) {
            const supply *x = &s->supplies.v[v[i].supply[g]];
            if (!x->m || x->m->inlined) continue;
            tra_str_printf(&line, "  group %d: variant %d", g, (int)(x->m->f - s->group[g].f) + 1);
            add_place(s, " made at ", x->m->out, &line);
            for (int k = 0; k < x->n; k++) {
                if (x->extra && k + 1 == x->n) continue;
                add_place(s, k == x->own ? ", read at " : ", demanded at ", x->demand[k], &line);
            }
            double own = s->supplies.score[v[i].supply[g]].scalar;
            if (own > 0) tra_str_add(&line, ": "), add_cost(s->o, own, &line);
            add_line(out, &line);
        }
    }
    if (n > SHOWN) tra_str_printf(out, "and %d sets more\n", n - SHOWN);
}

void tra_trace_plan(const tra_plan_options *o, int i, int n, const tra_cost *c, const char *strategy) {
    tra_str line = {0};
    if (!o->trace || i > SHOWN) return;
    if (i == SHOWN) {
        tra_str_printf(o->trace, "and %d plans more\n", n - SHOWN);
        return;
    }
    tra_str_printf(&line, "plan %d: ", i + 1);
    add_cost(o, tra_cost_scalar(c, o->cost), &line);
    tra_str_printf(&line, "; joins: %s", strategy);
    add_line(o->trace, &line);
}
