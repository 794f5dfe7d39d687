/* tables_shapes.c - random operators that give a table another shape: unpivot, pivot to columns, explode, fill, sample,
 * and the first or last row of each key by an order. */
#include <string.h>

#include "tables_int.h"

/* Two or three columns of one kind become two, of their name and their value. */
static void draw_unpivot(maker *m, const table *of) {
    kind k = (kind)rng_below(&m->g, KINDS);
    int n = 0, most = (int)rng_range(&m->g, 1, 3);
    table left = *of;
    tra_str list = {0};
    left.n = 0;
    for (int i = 0; i < of->n; i++) {
        bool taken = of->c[i].k == k && n < most;
        n += taken;
        if (taken)
            tra_str_printf(&list, "%s`%s`", n > 1 ? ", " : "", of->c[i].name);
        else
            left.c[left.n++] = of->c[i];
    }
    if (n > 0) {
        table *t = begin(m, &left);
        const char *at = tra_arena_printf(m->a, "u%d", m->names++), *value = tra_arena_printf(m->a, "u%d", m->names++);
        tra_str_printf(&m->text, "unpivot(%s, [%s], name = %s, value = %s)\n", of->name, tra_str_get(&list), at, value);
        add_column(t, at, WORD);
        add_column(t, value, k);
        t->small = false;
    }
    tra_str_free(&list);
}

/* A row for each group of keys, a column for each of some values. */
static void draw_pivot(maker *m, const table *of) {
    static const char *const values[KINDS] = {[WHOLE] = "[-1, 3, 7]", [WORD] = "[\"a\", \"x%y\"]"};
    static const char *const names[KINDS][3] = {[WHOLE] = {"-1", "3", "7"}, [WORD] = {"a", "x%y"}};
    static const char *const aggs[] = {"sum", "count", "min", "max", "first", "distinct", "mean"};
    kind by = rng_chance(&m->g, 50) ? WORD : WHOLE, k = (kind)rng_below(&m->g, KINDS), gives = k;
    const known *c = some_column(m, of, by), *v = some_column(m, of, k);
    const known *key = some_column(m, of, (kind)rng_below(&m->g, KINDS));
    if (!c || !v || !key || key == c) return;
    const char *agg = aggs[k <= REAL ? rng_below(&m->g, 7) : rng_range(&m->g, 1, k == TRUTH ? 1 : 5)];
    if (!strcmp(agg, "count") || !strcmp(agg, "distinct")) gives = WHOLE;
    if (!strcmp(agg, "mean")) gives = OPAQUE;
    known own = *key;
    table *t = begin(m, of);
    const char *prefix = tra_arena_printf(m->a, "v%d_", m->names++);
    tra_str_printf(&m->text, "pivot(%s, [`%s`], `%s`, `%s`, %s, values = %s, prefix = \"%s\")\n", of->name, own.name,
                   c->name, v->name, agg, values[by], prefix);
    t->n = 0;
    add_column(t, own.name, own.k);
    for (int i = 0; i < 3 && names[by][i]; i++)
        add_column(t, tra_arena_printf(m->a, "%s%s", prefix, names[by][i]), gives);
}

/* Keys or (order) an order of a table, as text: columns of any kind but those that are only written. */
static const char *columns(maker *m, const table *of, int most, bool order) {
    tra_str s = {0};
    int n = 0;
    for (int i = 0; i < of->n && n < most; i++) {
        if (of->c[i].k == OPAQUE || rng_chance(&m->g, 60)) continue;
        const char *desc = order && rng_chance(&m->g, 40) ? " desc" : "";
        tra_str_printf(&s, "%s`%s`%s", n++ ? ", " : "", of->c[i].name, desc);
    }
    const char *text = tra_arena_printf(m->a, "%s", tra_str_get(&s));
    tra_str_free(&s);
    return text;
}

void draw_shape(maker *m, const table *of) {
    const char *keys = columns(m, of, 2, false), *order = columns(m, of, 2, true);
    const known *c;
    switch (rng_below(&m->g, 8)) {
    case 0:
    case 1: draw_unpivot(m, of); return;
    case 2:
    case 3: draw_pivot(m, of); return;
    case 4:
        if (!(c = some_column(m, of, WORD))) return;
        begin(m, of)->small = false;
        tra_str_printf(&m->text, "explode(%s, `%s`, \"b\")\n", of->name, c->name);
        return;
    case 5:
        if (!(c = some_column(m, of, (kind)rng_below(&m->g, KINDS)))) return;
        if (strstr(keys, c->name) || strstr(order, c->name)) keys = order = "";
        begin(m, of);
        tra_str_printf(&m->text, "%sfill(%s, [%s], [%s], `%s`)\n", rng_chance(&m->g, 50) ? "f" : "b", of->name, keys,
                       order, c->name);
        return;
    case 6:
        begin(m, of);
        tra_str_printf(&m->text, "sample(%s, %s, seed = %d)\n", of->name, rng_chance(&m->g, 50) ? "0.4" : "9",
                       (int)rng_below(&m->g, 9));
        return;
    default:
        if (!*keys) return;
        begin(m, of);
        tra_str_printf(&m->text, "distinct(%s, [%s]%s%s%s, keep = %s)\n", of->name, keys, *order ? ", order = [" : "",
                       order, *order ? "]" : "", rng_chance(&m->g, 50) ? "first" : "last");
    }
}
