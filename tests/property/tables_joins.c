/* tables_joins.c - random joins: by keys, by ranges, by both, and as-of joins. */
#include <string.h>

#include "tables_int.h"

/* Few rows of a table, so that the reference ends soon. */
const table *some_few(maker *m, const table *of) {
    if (of->small) return of;
    table *t = begin(m, of);
    tra_str_printf(&m->text, "limit(%s, %d)\n", of->name, (int)rng_range(&m->g, 5, 40));
    t->small = true;
    return t;
}

/* Adds comparisons of columns of two tables by ranges, the first with this chance, to a condition. */
static void add_ranges(maker *m, const table *l, const table *r, const char *prefix, int chance, size_t room,
                       char *condition) {
    static const char *const forms[] = {
        "`%1$s` <= `%2$s%3$s`",    "`%1$s` > `%2$s%3$s`",    "!(`%2$s%3$s` < `%1$s`)", "`%1$s` < `%2$s%3$s`",
        "`%2$s%3$s` <= `%1$s`",    "`%1$s` == `%2$s%3$s`",   "`%1$s` != `%2$s%3$s`",   "abs(`%1$s` - `%2$s%3$s`) <= 2",
        "`%1$s` - 3 < `%2$s%3$s`", "`%2$s%3$s` - `%1$s` < 1"};
    enum { ANY = 7, ALL = sizeof forms / sizeof *forms }; /* ANY: of any kind */
    for (; rng_chance(&m->g, chance); chance = 50) {
        kind k = (kind)rng_below(&m->g, KINDS);
        const known *x = some_column(m, l, k), *y = some_column(m, r, k);
        bool sums = k == WHOLE || k == REAL;
        size_t n = strlen(condition);
        if (!x || !y) continue;
        const char *form = tra_arena_printf(m->a, forms[rng_below(&m->g, sums ? ALL : ANY)], x->name, prefix, y->name);
        snprintf(condition + n, room - n, "%s%s", n ? " && " : "", form);
    }
}

void draw_asof(maker *m, const table *of, const table *with) {
    static const char *const ways[] = {"%1$s.`%2$s` >= %3$s.`%4$s`", "%1$s.`%2$s` > %3$s.`%4$s`",
                                       "%1$s.`%2$s` <= %3$s.`%4$s`", "%1$s.`%2$s` < %3$s.`%4$s`",
                                       "nearest(%1$s.`%2$s`, %3$s.`%4$s`)"};
    static const kind times[] = {WHOLE, REAL, DAY, MOMENT};
    static const char *const within[] = {", within = 3", ", within = 0.5", ", within = days(40)",
                                         ", within = hours(20)"};
    int which = (int)rng_below(&m->g, 4);
    const table *l = some_few(m, of), *r = some_few(m, with);
    const known *x = some_column(m, l, times[which]), *y = some_column(m, r, times[which]);
    const known *a = some_column(m, l, WHOLE), *b = some_column(m, r, WHOLE);
    if (!x || !y || strcmp(l->name, r->name) == 0) return;
    char prefix[16];
    snprintf(prefix, sizeof prefix, "p%d_", m->names++);
    bool key = a && b && rng_chance(&m->g, 60);
    const char *way = tra_arena_printf(m->a, ways[rng_below(&m->g, 5)], l->name, x->name, r->name, y->name);
    table *t = begin(m, l);
    tra_str_printf(&m->text, "join(%s, %s, ", l->name, r->name);
    if (key) tra_str_printf(&m->text, "`%s` == `%s`, ", a->name, b->name);
    tra_str_printf(&m->text, "asof = %s%s, how = %s, prefix = \"%s\")\n", way,
                   rng_chance(&m->g, 40) ? within[which] : "", rng_chance(&m->g, 50) ? "left" : "inner", prefix);
    t->small = l->small;
    for (int i = 0; i < r->n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, r->c[i].name);
        bool once = key && strcmp(a->name, b->name) == 0 && strcmp(b->name, r->c[i].name) == 0;
        if (!once && strlen(name) < sizeof t->c->name) add_column(t, name, r->c[i].k);
    }
}

void draw_join(maker *m, const table *of, const table *with) {
    static const char *const hows[] = {"inner", "left", "semi", "anti", "right", "outer"};
    int how = (int)rng_below(&m->g, 6), nkeys = rng_chance(&m->g, 30) ? 2 : 1;
    const table *l = some_few(m, of), *r = some_few(m, with);
    char prefix[16], condition[512] = "";
    snprintf(prefix, sizeof prefix, "p%d_", m->names++);
    for (int i = 0, made = 0; i < 8 && made < nkeys; i++) {
        kind k = (kind)rng_below(&m->g, KINDS);
        const known *x = some_column(m, l, k), *y = some_column(m, r, k);
        size_t n = strlen(condition);
        if (x && y)
            snprintf(condition + n, sizeof condition - n, "%s`%s` == `%s`", made++ ? " && " : "", x->name, y->name);
    }
    if (rng_chance(&m->g, 25)) condition[0] = 0; /* ranges alone */
    bool keys = condition[0] != 0;
    add_ranges(m, l, r, prefix, keys ? 25 : 100, sizeof condition, condition);
    if (!condition[0]) return;
    table *t = begin(m, l);
    tra_str_printf(&m->text, "join(%s, %s, %s, how = %s, prefix = \"%s\"%s%s)\n", l->name, r->name, condition,
                   hows[how], prefix, rng_chance(&m->g, 20) ? ", nulls = match" : "",
                   keys && rng_chance(&m->g, 4) ? ", expect = \"1:1\"" : "");
    t->small = false;
    for (int i = 0; i < r->n && how != 2 && how != 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, r->c[i].name);
        bool key = strstr(condition, tra_arena_printf(m->a, "`%s` == `%s`", r->c[i].name, r->c[i].name)) != NULL;
        if (!key && strlen(name) < sizeof t->c->name) add_column(t, name, r->c[i].k);
    }
}
