/* tables.c - random programs on tables: schemas of all types with NULLs, NaN, -0, duplicate, frequent and absent keys,
 * tables without rows; pipelines of all operators, and sums over matrices that are made of their rows. */
#include "tables_int.h"

#include "../../lib/tablefile/table_file.h"
#include "../../plans/reference/ref_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs -------------------------------------------------------------------------------------------------- */

static const char *const words[] = {"", "a", "B", "ab", "abc", "\xC3\xA9t\xC3\xA9", "x%y", "zz z", "b"};
enum { WORDS = sizeof words / sizeof *words };

static const tra_dictionary *dictionary(maker *m) {
    const char *s[WORDS];
    int64_t len[WORDS], n = 0;
    int32_t *map;
    for (int i = 0; i < WORDS; i++)
        if (rng_chance(&m->g, 70)) s[n] = words[i], len[n] = (int64_t)strlen(words[i]), n++;
    if (n == 0) s[n] = "only", len[n++] = 4;
    const tra_dictionary *d = tra_dictionary_new(m->a, n, s, len);
    return tra_dictionary_union(m->a, 1, &d, &map);
}

/* Multiples of 1/8, so that sums are exact in any order. */
static double some_real(rng *g) {
    static const double odd[] = {NAN, -0.0, 0, 0.5, -2.5, NAN, INFINITY, -INFINITY};
    return rng_chance(g, 70) ? (double)rng_range(g, -80, 80) / 8 : odd[rng_below(g, rng_chance(g, 20) ? 8 : 6)];
}

static void fill(maker *m, const tra_column *c, int64_t rows, bool skewed, bool huge, tra_vector *v) {
    size_t size = tra_coltype_size(c->type);
    static const int64_t far[] = {INT64_MAX - 1, INT64_MAX, INT64_MIN + 1};
    int early = rng_chance(&m->g, 25) ? 0 : 17000; /* days since 1970, before which some lie */
    char *to = v->values = tra_arena_alloc(m->a, size * (size_t)rows + 64);
    v->state = c->nullable ? tra_news(m->a, uint8_t, rows + 1) : NULL;
    for (int64_t i = 0; i < rows; i++, to += size) {
        int64_t n = skewed && rng_chance(&m->g, 50) ? 3 : rng_range(&m->g, -2, 12);
        memset(to, 0, size);
        if (v->state && (v->state[i] = rng_chance(&m->g, 15))) continue;
        switch (c->type) {
        case TRA_COL_BOOL: *(uint8_t *)to = (uint8_t)rng_below(&m->g, 2); break;
        case TRA_COL_I32: *(int32_t *)to = (int32_t)n; break;
        case TRA_COL_I64: *(int64_t *)to = huge && rng_chance(&m->g, 10) ? far[rng_below(&m->g, 3)] : n; break;
        case TRA_COL_F32: *(float *)to = (float)some_real(&m->g); break;
        case TRA_COL_F64: *(double *)to = some_real(&m->g); break;
        case TRA_COL_DATE: *(int32_t *)to = (int32_t)(early + 20 * n); break;
        case TRA_COL_TIMESTAMP: *(int64_t *)to = ((early ? INT64_C(1500000000) : 0) + 40000 * n) * 1000000; break;
        case TRA_COL_STRING:
        case TRA_COL_TEXT: *(int32_t *)to = (int32_t)(skewed && n == 3 ? 0 : rng_below(&m->g, c->dict->n)); break;
        }
    }
}

static tra_status write_input(maker *m, int number, tra_err *e) {
    static const struct {
        const char *name;
        kind k;
        tra_coltype type[2];
    } all[] = {{"k", WHOLE, {TRA_COL_I32, TRA_COL_I64}},       {"n", WHOLE, {TRA_COL_I64, TRA_COL_I64}},
               {"x", REAL, {TRA_COL_F64, TRA_COL_F64}},        {"y", REAL, {TRA_COL_F32, TRA_COL_F64}},
               {"f", TRUTH, {TRA_COL_BOOL, TRA_COL_BOOL}},     {"s", WORD, {TRA_COL_STRING, TRA_COL_STRING}},
               {"the day", DAY, {TRA_COL_DATE, TRA_COL_DATE}}, {"t", MOMENT, {TRA_COL_TIMESTAMP, TRA_COL_TIMESTAMP}}};
    enum { ALL = sizeof all / sizeof *all };
    table *t = &m->t[m->ntables++];
    tra_column column[ALL];
    tra_vector v[ALL];
    tra_schema schema = {0, column};
    int64_t rows = rng_chance(&m->g, 12) ? 0 : rng_range(&m->g, 1, 40), block = rng_range(&m->g, 1, 24);
    *t = (table){.small = true};
    snprintf(t->name, sizeof t->name, "T%d", number);
    for (int c = 0; c < ALL; c++) {
        if (c != 0 && rng_chance(&m->g, 30)) continue;
        tra_column *to = &column[schema.n];
        *to = (tra_column){
            .name = all[c].name, .type = all[c].type[rng_below(&m->g, 2)], .nullable = rng_chance(&m->g, 50)};
        if (tra_coltype_is_coded(to->type)) to->dict = dictionary(m);
        fill(m, to, rows, rng_chance(&m->g, 30), rng_chance(&m->g, 5), &v[schema.n]);
        for (int64_t i = 0; i < rows; i++) t->c[t->n].some |= !v[schema.n].state || !v[schema.n].state[i];
        schema.n++;
        snprintf(t->c[t->n].name, sizeof t->c->name, "%s", all[c].name);
        t->c[t->n++].k = all[c].k;
    }
    tra_dims shape = {.n = 1, .v = {rows}}, blocks = {.n = 1, .v = {block}};
    tra_catalog *cat = tra_new(m->a, tra_catalog);
    tra_writer *w;
    const char *path = tra_arena_printf(m->a, "%s/%s.h5", m->dir, t->name);
    TRA_TRY(tra_catalog_blocks(&shape, &blocks, cat, e));
    tra_type type = {.dtype = TRA_F64, .cat = cat, .layout = &tra_columns, .columns = &schema, .cut = {1}};
    tra_batch b = {&schema, rows, v};
    TRA_TRY(tra_writer_create(path, &type, &(tra_write_options){.history = NULL}, &w, e));
    TRA_TRY(tra_writer_place_rows(w, NULL, e));
    TRA_TRY(tra_writer_put_rows(w, 0, &b, e));
    TRA_TRY(tra_writer_commit(w, NULL, e));
    tra_str_printf(&m->text, "input %s from \"%s.h5\"\n", t->name, t->name);
    return TRA_OK;
}

/* ---- expressions --------------------------------------------------------------------------------------------- */

const known *some_column(maker *m, const table *t, kind k) {
    int n = 0, at;
    for (int i = 0; i < t->n; i++) n += t->c[i].k == k;
    if (n == 0) return NULL;
    at = (int)rng_below(&m->g, n);
    for (int i = 0; i < t->n; i++)
        if (t->c[i].k == k && at-- == 0) return &t->c[i];
    return NULL;
}

const char *leaf(maker *m, const table *t, kind k) {
    static const char *const constants[KINDS] = {
        "3", "0.5", "(1 == 1)", "\"ab\"", "date \"2017-04-15\"", "timestamp \"2017-07-14 02:40:00\""};
    const known *c = some_column(m, t, k);
    return c && rng_chance(&m->g, 85) ? tra_arena_printf(m->a, "`%s`", c->name) : constants[k];
}

static const char *expression(maker *m, const table *t, kind k, int depth);

const char *truth(maker *m, const table *t, int depth) {
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    kind k = (kind)rng_below(&m->g, KINDS);
    const char *x = expression(m, t, k, depth - 1), *y = expression(m, t, k, depth - 1);
    switch (rng_below(&m->g, 6)) {
    case 0: return tra_arena_printf(m->a, "isnull(%s)", x);
    case 1: return tra_arena_printf(m->a, "same(%s, %s)", x, y);
    case 2:
        return tra_arena_printf(m->a, "(%s %s %s)", truth(m, t, depth - 1), rng_chance(&m->g, 50) ? "&&" : "||",
                                expression(m, t, TRUTH, depth - 1));
    case 3: return tra_arena_printf(m->a, "!%s", expression(m, t, TRUTH, depth - 1));
    default: break;
    }
    if (k == TRUTH) k = WHOLE, x = leaf(m, t, WHOLE), y = leaf(m, t, WHOLE);
    return tra_arena_printf(m->a, "(%s %s %s)", x, compare[rng_below(&m->g, 6)], y);
}

/* Functions of strings and times: %1$s and %2$s are columns of the kind that they take. The strings that one makes are
 * not many more than those that it takes. */
typedef struct function {
    kind gives, takes;
    const char *text;
} function;
static const function functions[] = {
    {WORD, WORD, "upper(%1$s)"},
    {WORD, WORD, "substr(%1$s, 1, 1)"},
    {WORD, WORD, "replace(%1$s, \"b\", \"<->\")"},
    {WORD, WORD, "split_part(%1$s, \"b\", 2)"},
    {WORD, WORD, "trim(%1$s, \"az\")"},
    {WORD, WORD, "lpad(%1$s, 4, \"*\")"},
    {WORD, WORD, "rpad(reverse(%1$s), 2)"},
    {WORD, WORD, "concat(substr(%1$s, 1, 1), substr(%2$s, 1, 1))"},
    {WORD, WORD, "extract(%1$s, \"(b|z+)( |$)\", 1)"},
    {WORD, WORD, "regex_replace(%1$s, \"[ab]+\", \"<\\\\0>\")"},
    {WORD, DAY, "strftime(%1$s, \"%%a %%b\")"},
    {WORD, TRUTH, "concat(%1$s, %2$s)"},
    {WHOLE, WORD, "position(%1$s, %2$s)"},
    {WHOLE, WORD, "length(%1$s)"},
    {WHOLE, WORD, "try_i64(%1$s)"},
    {WHOLE, REAL, "try_i64(%1$s)"},
    {WHOLE, DAY, "year(%1$s)"},
    {WHOLE, DAY, "week(%1$s)"},
    {WHOLE, DAY, "date_diff(\"month\", %1$s, %2$s)"},
    {WHOLE, MOMENT, "second(to_zone(%1$s, \"Asia/Kolkata\"))"},
    {TRUTH, WORD, "contains(%1$s, %2$s)"},
    {TRUTH, WORD, "endswith(%1$s, \"b\")"},
    {TRUTH, WORD, "matches(%1$s, \"^[aB]+$\")"},
    {DAY, DAY, "date_trunc(\"month\", %1$s)"},
    {DAY, DAY, "add_months(%1$s, 1)"},
    {MOMENT, MOMENT, "from_zone(%1$s, \"Europe/Berlin\")"},
    {MOMENT, MOMENT, "date_trunc(\"hour\", %1$s)"},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* A function that gives this kind; NULL: there is none. */
static const char *drawn_function(maker *m, const table *t, kind k) {
    int of_kind[FUNCTIONS], n = 0;
    for (int i = 0; i < FUNCTIONS; i++)
        if (functions[i].gives == k) of_kind[n++] = i;
    if (n == 0) return NULL;
    const function *f = &functions[of_kind[rng_below(&m->g, n)]];
    tra_str s = {0};
    const char *x[2] = {leaf(m, t, f->takes), leaf(m, t, f->takes)};
    for (const char *p = f->text; *p; p++) {
        bool column = p[0] == '%' && p[1] != '%';
        if (column)
            tra_str_add(&s, x[p[1] - '1']);
        else
            tra_str_addn(&s, p, 1);
        p += column ? 3 : *p == '%';
    }
    const char *text = tra_arena_printf(m->a, "%s", tra_str_get(&s));
    tra_str_free(&s);
    return text;
}

static const char *expression(maker *m, const table *t, kind k, int depth) {
    static const char *const whole[] = {"+", "-", "*", "div", "%"}, *const real[] = {"+", "-", "*"};
    if (depth <= 0 || rng_chance(&m->g, 40)) return leaf(m, t, k);
    const char *x = leaf(m, t, k);
    if (rng_chance(&m->g, 15))
        return tra_arena_printf(m->a, "if(%s, %s, %s)", truth(m, t, depth - 1), x, expression(m, t, k, depth - 1));
    if (rng_chance(&m->g, k == WORD ? 100 : 30)) {
        const char *made = drawn_function(m, t, k);
        if (made) return made;
    }
    switch (k) {
    case WHOLE: return tra_arena_printf(m->a, "(%s %s %s)", x, whole[rng_below(&m->g, 5)], leaf(m, t, WHOLE));
    case REAL:
        if (rng_chance(&m->g, 20)) return tra_arena_printf(m->a, "floor(%s)", x);
        return tra_arena_printf(m->a, "(%s %s %s)", x, real[rng_below(&m->g, 3)],
                                leaf(m, t, rng_chance(&m->g, 50) ? WHOLE : REAL));
    case TRUTH: return truth(m, t, depth);
    case DAY: return tra_arena_printf(m->a, "(%s + %d)", x, (int)rng_below(&m->g, 30));
    case WORD:
    case MOMENT:
    case OPAQUE: break;
    }
    return x;
}

/* ---- operators ----------------------------------------------------------------------------------------------- */

table *begin(maker *m, const table *like) {
    table *t = &m->t[m->ntables++];
    *t = *like;
    snprintf(t->name, sizeof t->name, "R%d", m->names++);
    tra_str_printf(&m->text, "%s = ", t->name);
    return t;
}

void add_column(table *t, const char *name, kind k) {
    if (t->n == MOST_COLUMNS) return;
    snprintf(t->c[t->n].name, sizeof t->c->name, "%s", name);
    t->c[t->n++].k = k;
}

void draw_select(maker *m, const table *of) {
    begin(m, of);
    tra_str_printf(&m->text, "select(%s, %s)\n", of->name, rng_chance(&m->g, 7) ? "false" : truth(m, of, 2));
}

static void draw_project(maker *m, const table *of) {
    table *t = begin(m, of);
    int n = (int)rng_range(&m->g, 1, 3);
    if (rng_chance(&m->g, 30)) t->n = 0;
    bool all = t->n > 0;
    tra_str_printf(&m->text, "project(%s", of->name);
    for (int i = 0; i < n; i++) {
        kind k = (kind)rng_below(&m->g, KINDS);
        char name[32];
        snprintf(name, sizeof name, "c%d", m->names++);
        bool numbers = rng_chance(&m->g, 15);
        if (numbers)
            tra_str_printf(&m->text, ", %s = number(%s, %s)", name, leaf(m, of, k), leaf(m, of, WORD));
        else
            tra_str_printf(&m->text, ", %s = %s", name, expression(m, of, k, 2));
        if (numbers) k = WHOLE;
        add_column(t, name, k);
    }
    tra_str_add(&m->text, all ? ", *)\n" : ")\n");
}

static void draw_group(maker *m, const table *of) {
    static const char *const any[] = {"count", "min", "max", "first", "last", "distinct"};
    int nkeys = (int)rng_below(&m->g, 3);
    table *t = begin(m, of);
    t->n = 0;
    tra_str_printf(&m->text, "group(%s, [", of->name);
    for (int i = 0; i < nkeys; i++) {
        kind k = (kind)rng_below(&m->g, KINDS);
        char name[32];
        snprintf(name, sizeof name, "g%d", m->names++);
        tra_str_printf(&m->text, "%s%s = %s", i ? ", " : "", name, expression(m, of, k, 1));
        add_column(t, name, k);
    }
    tra_str_add(&m->text, "], rows = count()");
    add_column(t, "rows", WHOLE);
    for (int i = (int)rng_below(&m->g, 4); i > 0; i--) {
        kind k = (kind)rng_below(&m->g, KINDS), gives = k;
        const char *f = any[rng_below(&m->g, 6)];
        char name[32];
        if (k <= REAL && rng_chance(&m->g, 50)) f = rng_chance(&m->g, 60) ? "sum" : "mean";
        if (k <= REAL && rng_chance(&m->g, 20)) f = rng_chance(&m->g, 50) ? "std" : "median";
        if (k == TRUTH) f = rng_chance(&m->g, 50) ? "any" : "all";
        static const char *const moments[] = {"corr",           "covar", "covar_pop", "regr_slope",
                                              "regr_intercept", "wmean", "skewness",  "kurtosis"};
        const char *second = NULL;
        if (rng_chance(&m->g, 6)) f = rng_chance(&m->g, 60) ? "mode" : "approx_distinct";
        if (rng_chance(&m->g, 6)) {
            f = rng_chance(&m->g, 50) ? "arg_min" : "arg_max";
            second = leaf(m, of, (kind)rng_below(&m->g, KINDS));
        } else if (k <= REAL && rng_chance(&m->g, 8)) {
            int which = (int)rng_below(&m->g, 8);
            f = moments[which];
            if (which < 6) second = leaf(m, of, rng_chance(&m->g, 50) ? WHOLE : REAL);
            gives = OPAQUE;
        }
        if (!strcmp(f, "count") || !strcmp(f, "distinct") || !strcmp(f, "approx_distinct")) gives = WHOLE;
        if (!strcmp(f, "mean") || !strcmp(f, "std") || !strcmp(f, "median")) gives = OPAQUE;
        snprintf(name, sizeof name, "a%d", m->names++);
        tra_str_printf(&m->text, ", %s = %s(%s%s%s)", name, f, leaf(m, of, k), second ? ", " : "",
                       second ? second : "");
        add_column(t, name, gives);
    }
    tra_str_add(&m->text, ")\n");
}

static void draw_order(maker *m, const table *of, const char *op) {
    bool some = false;
    table *t = begin(m, of);
    tra_str_printf(&m->text, "%s(%s, [", op, of->name);
    for (int i = 0; i < of->n; i++) {
        if (of->c[i].k == OPAQUE || (some && rng_chance(&m->g, 70))) continue;
        tra_str_printf(&m->text, "%s`%s`%s", some ? ", " : "", of->c[i].name,
                       *op == 'o' && rng_chance(&m->g, 40) ? " desc" : "");
        some = true;
    }
    tra_str_add(&m->text, "])\n");
    (void)t;
}

static void draw_union(maker *m, const table *of) {
    table *t = begin(m, of);
    tra_str_printf(&m->text, "union(%s, select(%s, %s)", of->name, of->name, truth(m, of, 1));
    if (rng_chance(&m->g, 30)) tra_str_printf(&m->text, ", %s", of->name);
    tra_str_add(&m->text, ")\n");
    t->small = false;
}

static void draw_limit(maker *m, const table *of) {
    begin(m, of);
    tra_str_printf(&m->text, "limit(%s, %d, from = %d)\n", of->name, (int)rng_below(&m->g, 30),
                   (int)rng_below(&m->g, 12));
}

static void draw_operator(maker *m) {
    const table *of = &m->t[m->ntables - 1], *with = &m->t[rng_below(&m->g, m->ntables)];
    bool sortable = false;
    for (int i = 0; i < of->n; i++) sortable |= of->c[i].k != OPAQUE;
    switch (rng_below(&m->g, 14)) {
    case 0: draw_select(m, of); return;
    case 1: draw_project(m, of); return;
    case 2:
    case 3: rng_chance(&m->g, 20) ? draw_asof(m, of, with) : draw_join(m, of, with); return;
    case 4: draw_group(m, of); return;
    case 5:
        if (sortable) draw_order(m, of, "order");
        return;
    case 6:
        if (sortable) draw_order(m, of, "distinct");
        return;
    case 7: draw_union(m, of); return;
    case 8:
    case 9: draw_window(m, of); return;
    case 10:
    case 11:
    case 12: draw_shape(m, of); return;
    default: draw_limit(m, of);
    }
}

tra_status draw_tables(uint64_t seed, uint64_t index, const char *dir, tra_err *e) {
    maker *m = tra_calloc(1, sizeof *m);
    tra_status s = TRA_OK;
    m->g = rng_seed(seed ^ 0x7ab1e, index);
    m->a = tra_arena_new();
    m->dir = dir;
    for (int i = 0; i < INPUTS && s == TRA_OK; i++) s = write_input(m, i, e);
    for (int i = (int)rng_range(&m->g, 1, 5); i > 0 && m->ntables < MOST_TABLES - 3; i--) draw_operator(m);
    table *last = &m->t[m->ntables - 1];
    for (int i = INPUTS; i < m->ntables; i++)
        if (&m->t[i] == last || rng_chance(&m->g, 25))
            tra_str_printf(&m->text, "output %s to \"%s.h5\"\n", m->t[i].name, m->t[i].name);
    if (m->ntables == INPUTS || rng_chance(&m->g, 40)) draw_matrix(m, last);
    if (m->ntables <= MOST_TABLES - 6 && rng_chance(&m->g, 70)) draw_factorised(m);
    if (m->ntables <= MOST_TABLES - 6 && rng_chance(&m->g, 35)) draw_border(m);
    const char *path = tra_arena_printf(m->a, "%s/prog.tra", dir);
    FILE *f = s == TRA_OK ? fopen(path, "w") : NULL;
    if (s == TRA_OK && (!f || fwrite(tra_str_get(&m->text), 1, m->text.n, f) != m->text.n || fclose(f)))
        s = tra_fail_errno(e, TRA_RESOURCE, "%s", path);
    tra_str_free(&m->text);
    tra_arena_free(m->a);
    free(m);
    return s;
}

/* ---- what it must give --------------------------------------------------------------------------------------- */

static bool has_error(const ref_table *t) {
    for (int64_t i = 0; t && i < t->rows * t->n; i++)
        if (t->v[i].state == REF_ERROR) return true;
    return false;
}

tra_status expect_tables(const tra_graph *g, tra_arena *a, expected *out, tra_err *e) {
    tra_err why = {0};
    tra_status s = tra_reference_run(g, false, a, &out->v, &why);
    *out = (expected){.v = out->v, .overflow = s == TRA_INPUT, .tol = tra_news(a, double **, g->n)};
    if (s != TRA_OK && s != TRA_INPUT) {
        *e = why;
        return s;
    }
    for (int k = 0; k < g->noutputs && s == TRA_OK; k++) {
        const tra_node *n = g->outputs[k].node;
        const tra_ref_rel *r = out->v[n->id];
        out->overflow |= has_error(r->table);
        out->tol[n->id] = tra_news(a, double *, r->n + 1);
        for (int64_t i = 0; i < r->n && !r->table; i++) {
            int64_t all = elements_of(&r->v[i].ext);
            out->tol[n->id][i] = tra_news(a, double, all + 1);
            for (int64_t j = 0; j < all; j++) out->tol[n->id][i][j] = 1e-9 * fabs((double)r->v[i].data[j]) + 1e-9;
        }
    }
    return TRA_OK;
}

tra_status read_table(const char *spec, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    tra_rel *rel;
    TRA_TRY(tra_rel_open(spec, NULL, &rel, e));
    tra_status s = ref_table_input(rel, a, out, e);
    for (int c = 0; s == TRA_OK && c < out->table->n; c++) { /* their names live as long as the file is open */
        ref_column *own = (ref_column *)&out->table->column[c];
        own->name = tra_arena_strndup(a, own->name, strlen(own->name));
    }
    for (int64_t i = 0; s == TRA_OK && i < out->table->rows * out->table->n; i++) {
        ref_cell *cell = &out->table->v[i];
        if (cell->s) cell->s = tra_arena_strndup(a, cell->s, (size_t)cell->len);
    }
    tra_rel_close(rel);
    return s;
}

static bool same_cell(const ref_cell *x, const ref_cell *y, tra_coltype t, bool exact) {
    if (x->state != y->state) return false;
    if (x->state != REF_VALUE) return true;
    if (tra_coltype_is_coded(t)) return x->len == y->len && memcmp(x->s, y->s, (size_t)x->len) == 0;
    if (!tra_coltype_is_float(t)) return x->i == y->i;
    if (isnan(x->f) || isnan(y->f)) return isnan(x->f) && isnan(y->f);
    return x->f == y->f || (!exact && fabs(x->f - y->f) <= 1e-9 * fabs(y->f) + 1e-9);
}

tra_status same_table(const char *name, const tra_ref_rel *got, const tra_ref_rel *want, bool exact, tra_err *e) {
    const ref_table *x = got->table, *y = want->table;
    if (x->n != y->n) return tra_fail(e, TRA_NO, "%s has %d columns, the reference %d", name, x->n, y->n);
    for (int c = 0; c < y->n; c++)
        if (strcmp(x->column[c].name, y->column[c].name) != 0 || x->column[c].type != y->column[c].type)
            return tra_fail(e, TRA_NO, "%s: column %d is %s %s, not %s %s", name, c, x->column[c].name,
                            tra_coltype_name(x->column[c].type), y->column[c].name,
                            tra_coltype_name(y->column[c].type));
    if (x->rows != y->rows)
        return tra_fail(e, TRA_NO, "%s has %" PRId64 " rows, the reference %" PRId64, name, x->rows, y->rows);
    for (int64_t i = 0; i < y->rows; i++)
        for (int c = 0; c < y->n; c++) {
            const ref_cell *a = ref_at(x, i, c), *b = ref_at(y, i, c);
            if (same_cell(a, b, y->column[c].type, exact)) continue;
            return tra_fail(e, TRA_NO,
                            "%s: row %" PRId64 " of `%s` is %d %" PRId64 " %.17g '%.*s', the reference has %d %" PRId64
                            " %.17g '%.*s'",
                            name, i, y->column[c].name, (int)a->state, a->i, a->f, (int)a->len, a->s ? a->s : "",
                            (int)b->state, b->i, b->f, (int)b->len, b->s ? b->s : "");
        }
    return TRA_OK;
}
