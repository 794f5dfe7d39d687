/* compare.c - alternatives side by side: a column for each plan, a row for each thing in which they differ. */
#include <string.h>

#include "explain_int.h"

enum { COLUMNS = 4, NAME = 22, MAXROWS = 40 };
static int cell_width(void) { return (tra_text_width() - NAME) / COLUMNS - 1; }

typedef struct row {
    const char *name;
    const char *cell[COLUMNS]; /* NULL: empty */
} row;

typedef struct table {
    tra_arena *a;
    int columns;
    const tra_shown_plan *plan[COLUMNS];
    int n, dropped; /* rows, and cells for whose rows there was no room */
    row v[MAXROWS];
} table;

/* The cell of the row with that name, which is added if there is none. NULL if there is no room for more rows. */
static const char **cell_of(table *t, const char *name, int column) {
    int i = 0;
    while (i < t->n && strcmp(t->v[i].name, name) != 0) i++;
    if (i == MAXROWS) return t->dropped++, NULL;
    if (i == t->n) t->v[t->n++] = (row){.name = name};
    return &t->v[i].cell[column];
}

/* A name for the operator that is the same in every plan: that of the relation that it makes or moves, of summands that
 * of their sum; if it has no name, what makes the relation. */
static const char *subject(const table *t, const tra_shown_plan *s, const tra_op *o) {
    const tra_plan *p = s->plan;
    if (s->ops[o->id].relation) return s->ops[o->id].relation;
    for (int i = o->id + 1, at = o->id; i < p->nops; i++) {
        if (p->ops[i].in[0] != at) continue;
        if (p->ops[i].op != TRA_PLAN_SHUF && p->ops[i].op != TRA_PLAN_MERGE) break;
        if (p->ops[i].spec.name) return p->ops[i].spec.name;
        at = i;
    }
    while (tra_op_is(o->op, TRA_FORWARDS)) o = &p->ops[o->in[0]];
    return tra_arena_printf(t->a, "(%s)", s->ops[o->id].label);
}

/* Appends a text to a cell, after a comma if there is something in it. */
static void append_to_cell(table *t, const char **cell, const char *text) {
    if (cell) *cell = *cell ? tra_arena_printf(t->a, "%s, %s", *cell, text) : text;
}

/* Adds a plan as a column. Its rows are: how inputs are read, how joins are placed, what is moved. */
static void add_plan(table *t, int column) {
    const tra_shown_plan *s = t->plan[column];
    const tra_plan *p = s->plan;
    char text[TRA_SIZETEXT];
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        const char **c = NULL;
        if (tra_op_is(o->op, TRA_READS)) c = cell_of(t, tra_arena_printf(t->a, "input %s", subject(t, s, o)), column);
        if (c && o->op == TRA_PLAN_READALL) *c = tra_arena_printf(t->a, "read-all %s", s->ops[i].place);
        if (c && o->op == TRA_PLAN_INPUT) *c = s->ops[i].place;
    }
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        if (!o->strategy) continue;
        const char **c = cell_of(t, tra_arena_printf(t->a, "join for %s", subject(t, s, o)), column);
        append_to_cell(t, c, o->strategy);
    }
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        bool summands = o->in[0] >= 0 && tra_place_is_partial(&p->ops[o->in[0]].place);
        if (!tra_op_is(o->op, TRA_EXCHANGES)) continue;
        const char *name = subject(t, s, o);
        const char **c = cell_of(t, tra_arena_printf(t->a, "%s %s", summands ? "summands of" : "move", name), column);
        const char *how = tra_arena_printf(t->a, "%s %s", tra_plan_op_text(o->op),
                                           tra_size_short_text(o->predicted.cost.network_bytes, text));
        append_to_cell(t, c, how);
    }
}

/* Do the plans differ in this row? */
static bool differs(const table *t, const row *r) {
    for (int i = 1; i < t->columns; i++) {
        const char *x = r->cell[0] ? r->cell[0] : "", *y = r->cell[i] ? r->cell[i] : "";
        if (strcmp(x, y) != 0) return true;
    }
    return false;
}

static void print_row(const table *t, const row *r, tra_str *out) {
    tra_text_cell(out, r->name, NAME);
    for (int i = 0; i < t->columns; i++) {
        tra_str_add(out, " ");
        tra_text_cell(out, r->cell[i] ? r->cell[i] : "-", cell_width());
    }
    tra_text_end_line(out);
}

/* Prints a row whose cells may take several lines, broken at blanks. */
static void print_wrapped(const table *t, const char *name, const char *const *text, tra_str *out) {
    const char *rest[COLUMNS];
    bool more = true;
    for (int i = 0; i < t->columns; i++) rest[i] = text[i];
    for (int line = 0; more; line++) {
        row r = {.name = line ? "" : name};
        more = false;
        for (int i = 0; i < t->columns; i++) {
            int n = (int)strlen(rest[i]);
            if (n > cell_width()) {
                n = cell_width();
                while (n > 0 && rest[i][n] != ' ') n--;
                if (n == 0) n = cell_width();
            }
            r.cell[i] = tra_arena_strndup(t->a, rest[i], (size_t)n);
            rest[i] += n + strspn(rest[i] + n, " ");
            more |= *rest[i] != 0;
        }
        print_row(t, &r, out);
    }
}

/* Prints the rows of costs, that of the cost model first, and why each plan lost. */
static void print_totals(const tra_job *job, table *t, tra_str *out) {
    row floats = {"floats, model tra", {0}}, network = {"network", {0}}, disk = {"disk", {0}}, flops = {"flops", {0}};
    row eindecomp = {"floats, eindecomp", {0}};
    row memory = {"peak memory of a site", {0}}, seconds = {"seconds", {0}};
    const char *why[COLUMNS];
    char b[TRA_SIZETEXT];
    for (int i = 0; i < t->columns; i++) {
        const tra_cost *c = &t->plan[i]->plan->cost;
        bool fits = t->plan[i]->fits;
        floats.cell[i] = tra_arena_printf(t->a, "%s", tra_text_number(c->network_floats, b, sizeof b));
        eindecomp.cell[i] = tra_arena_printf(t->a, "%s", tra_text_number(c->eindecomp, b, sizeof b));
        network.cell[i] = tra_arena_printf(t->a, "%s", tra_size_short_text(c->network_bytes, b));
        disk.cell[i] = tra_arena_printf(t->a, "%s", tra_size_short_text(tra_size_add(c->disk_read, c->disk_write), b));
        flops.cell[i] = tra_arena_printf(t->a, "%s", tra_text_number(c->flops, b, sizeof b));
        memory.cell[i] = tra_arena_printf(t->a, "%s", tra_human(c->peak_memory, b));
        seconds.cell[i] = tra_arena_printf(t->a, "%s", tra_text_seconds(c->seconds, b, sizeof b));
        why[i] = *t->plan[i]->why_not ? t->plan[i]->why_not : fits ? "the first choice" : "does not fit";
    }
    print_row(t, job->options.cost == TRA_COST_TRA ? &floats : &seconds, out);
    print_row(t, &network, out);
    print_row(t, &disk, out);
    print_row(t, &flops, out);
    print_row(t, &memory, out);
    print_row(t, job->options.cost == TRA_COST_TRA ? &seconds : &floats, out);
    if (job->plans.labellings || job->options.cost == TRA_COST_EINDECOMP) print_row(t, &eindecomp, out);
    print_wrapped(t, "why it lost", why, out);
}

/* Prints n plans, or as many as have room, side by side. */
static void compare(const tra_job *job, int first, int n, tra_str *out) {
    table t = {.a = tra_arena_new(), .columns = (int)tra_min64(n, COLUMNS)};
    row head = {.name = "plan"};
    int same = 0;
    for (int i = 0; i < t.columns; i++) {
        t.plan[i] = tra_explain_plan(job, job->plans.v[first + i], t.a);
        add_plan(&t, i);
        head.cell[i] = tra_arena_printf(t.a, "%s%d", t.plan[i]->plan == job->plan ? "* " : "", t.plan[i]->plan->rank);
    }
    tra_str_add(out, "\n");
    print_row(&t, &head, out);
    for (int i = 0; i < t.n; i++) {
        if (t.columns == 1 || differs(&t, &t.v[i]))
            print_row(&t, &t.v[i], out);
        else
            same++;
    }
    if (same) tra_str_printf(out, "(%d row%s more, alike in these plans)\n", same, same == 1 ? "" : "s");
    if (t.dropped) tra_str_add(out, "(and more; --plan K shows one plan whole)\n");
    print_totals(job, &t, out);
    tra_arena_free(t.a);
}

static char *cost_text(const tra_job *job, double cost, char *buf, size_t n) {
    return job->options.cost == TRA_COST_TIME ? tra_text_seconds(cost, buf, n) : tra_text_number(cost, buf, n);
}

/* What the plan is the cheapest of: the plans with its labelling, or, without labellings, with its strategy. */
static const char *kind_of(const tra_job *job, const tra_plan *p) {
    const tra_labelling *l = tra_explain_labelling(job, p);
    return l ? l->how : tra_text_strategy(p);
}

void tra_text_alternatives(const tra_job *job, int k, tra_str *out) {
    tra_arena *a = tra_arena_new();
    bool seconds = job->options.cost == TRA_COST_TIME;
    int wide = 8, figure = seconds ? 9 : 8, n = (int)tra_min64(k, job->plans.n);
    char buf[TRA_SIZETEXT];
    const char *kind = job->plans.labellings ? "labelling" : "strategy";
    for (int i = 0; i < n; i++) wide = (int)tra_max64(wide, (int64_t)strlen(kind_of(job, job->plans.v[i])));
    wide = (int)tra_min64(wide, 32);
    tra_str_printf(out, "\nAlternatives: the cheapest plan of each %s, %d of %d\n", kind, n, job->plans.n);
    tra_str_printf(out, "  #  %-*s %*s %9s %9s %8s %9s  %s\n", wide, kind, figure, seconds ? "time" : "floats",
                   "network", "disk", "flops", "memory", "why not");
    for (int i = 0; i < n; i++) {
        const tra_plan *p = job->plans.v[i];
        const tra_shown_plan *s = tra_explain_plan(job, p, a);
        tra_str_printf(out, "%s%2d  ", p == job->plan ? "*" : " ", p->rank);
        tra_text_cell(out, kind_of(job, p), wide);
        tra_str_printf(out, " %*s", figure, cost_text(job, s->cost, buf, sizeof buf));
        tra_str_printf(out, " %9s", tra_size_short_text(p->cost.network_bytes, buf));
        tra_str_printf(out, " %9s", tra_size_short_text(tra_size_add(p->cost.disk_read, p->cost.disk_write), buf));
        tra_str_printf(out, " %8s", tra_text_number(p->cost.flops, buf, sizeof buf));
        tra_str_printf(out, " %9s  ", tra_human(p->cost.peak_memory, buf));
        tra_text_cell(out, *s->why_not ? s->why_not : "the choice",
                      (int)tra_max64(10, tra_text_width() - 5 - wide - 42 - figure));
        tra_text_end_line(out);
    }
    tra_arena_free(a);
    for (int i = 0; i < n; i += COLUMNS) compare(job, i, n - i, out);
}
