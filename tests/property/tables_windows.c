/* tables_windows.c - random windows: every function, frames of rows and of distances, any keys and orders. */
#include <string.h>

#include "tables_int.h"

/* Ends of a frame over an order of that kind (-1: none, or several), as text; "": the frame that there is without. */
static const char *frame(maker *m, int order) {
    static const char *const unit[] = {"%d", "%d.5", NULL, NULL, "days(%d)", "hours(%d)"};
    const char *form = order >= 0 && rng_chance(&m->g, 50) ? unit[order] : NULL, *end[2];
    bool range = form != NULL || rng_chance(&m->g, 40);
    for (int e = 0; e < 2; e++) {
        int by = (int)rng_range(&m->g, -3, 4) * (form && order >= DAY ? 15 : 1);
        end[e] = tra_arena_printf(m->a, form ? form : "%d", by < 0 ? -by : by);
        if (by < 0) end[e] = tra_arena_printf(m->a, "-%s", end[e]);
        if (range && !form) end[e] = "0";
        if (rng_chance(&m->g, 30)) end[e] = "null";
    }
    return tra_arena_printf(m->a, ", frame = %s(%s, %s)", range ? "range" : "rows", end[0], end[1]);
}

/* A function, and the kind of what it gives. */
static const char *function(maker *m, const table *of, const char *frame, kind *gives) {
    static const char *const places[] = {"row_number()", "rank()", "dense_rank()", "ntile(3)"};
    static const char *const any[] = {"first", "last", "min", "max"};
    static const char *const numbers[] = {"sum", "mean", "var", "std", "median", "share"};
    kind k = (kind)rng_below(&m->g, KINDS);
    const char *x = leaf(m, of, k);
    *gives = k;
    switch (rng_below(&m->g, 6)) {
    case 0: *gives = WHOLE; return places[rng_below(&m->g, 4)];
    case 1:
        return tra_arena_printf(m->a, "%s(%s, %d%s)", rng_chance(&m->g, 50) ? "lag" : "lead", x,
                                (int)rng_range(&m->g, -1, 3),
                                rng_chance(&m->g, 40) ? tra_arena_printf(m->a, ", %s", leaf(m, of, k)) : "");
    case 2: return tra_arena_printf(m->a, "nth(%s, %d%s)", x, (int)rng_range(&m->g, 1, 3), frame);
    case 3: *gives = WHOLE; return tra_arena_printf(m->a, "count(%s%s)", x, frame);
    case 4: return tra_arena_printf(m->a, "%s(%s%s)", any[rng_below(&m->g, 4)], x, frame);
    default: break;
    }
    k = (kind)rng_below(&m->g, 2);
    const char *f = numbers[rng_below(&m->g, 6)];
    *gives = strcmp(f, "sum") == 0 ? k : OPAQUE;
    if (rng_chance(&m->g, 15)) return tra_arena_printf(m->a, "quantile(%s, 0.3%s)", leaf(m, of, k), frame);
    return tra_arena_printf(m->a, "%s(%s%s)", f, leaf(m, of, k), frame);
}

void draw_window(maker *m, const table *of) {
    int nkeys = (int)rng_below(&m->g, 3), norder = (int)rng_below(&m->g, 3), order = -1;
    table *t = begin(m, of);
    t->small = of->small;
    tra_str_printf(&m->text, "window(%s, [", of->name);
    for (int i = 0; i < nkeys; i++)
        tra_str_printf(&m->text, "%s%s", i ? ", " : "", leaf(m, of, (kind)rng_below(&m->g, KINDS)));
    tra_str_add(&m->text, "], [");
    for (int i = 0; i < norder; i++) {
        kind k = (kind)rng_below(&m->g, KINDS);
        const known *c = some_column(m, of, k);
        if (norder == 1 && c && k != TRUTH && k != WORD) order = (int)k;
        tra_str_printf(&m->text, "%s%s%s", i ? ", " : "", c ? tra_arena_printf(m->a, "`%s`", c->name) : leaf(m, of, k),
                       rng_chance(&m->g, 40) ? " desc" : "");
    }
    tra_str_add(&m->text, "]");
    const char *place = NULL; /* a column of ranks */
    for (int i = (int)rng_range(&m->g, 1, 4); i > 0; i--) {
        kind gives;
        char name[32];
        snprintf(name, sizeof name, "w%d", m->names++);
        const char *f = function(m, of, norder > 0 && rng_chance(&m->g, 60) ? frame(m, order) : "", &gives);
        tra_str_printf(&m->text, ", %s = %s", name, f);
        if (strstr(f, "rank()") || strstr(f, "number()")) place = tra_arena_printf(m->a, "%s", name);
        add_column(t, name, gives);
    }
    tra_str_add(&m->text, ")\n");
    if (!place || rng_chance(&m->g, 50)) return;
    begin(m, t);
    tra_str_printf(&m->text, "select(%s, %s <= %d)\n", t->name, place, (int)rng_range(&m->g, 1, 4));
}
