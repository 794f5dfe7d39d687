/* Operators on tables: what lib/table computes of random expressions, against the reference evaluator's definitions. */
#include "check.h"

#include "../../lib/relation/table_file.h"
#include "../../lib/table/kernels.h"
#include "../../plans/reference/ref_table.h"

#include <unistd.h>

enum { ROWS = 300, BLOCK = 128, COLUMNS = 9 };

static const char *const words[] = {"", "a", "B", "ab", "abc", "\xC3\xA9t\xC3\xA9", "2017-04-15", "x%y", "zz z"};
enum { WORDS = sizeof words / sizeof *words };

/* A table of all types, with NULLs, NaN, -0 and extreme numbers, in a file. */
typedef struct bench {
    tra_arena *a;
    char path[64];
    tra_column column[COLUMNS];
    tra_schema schema;
    tra_vector v[COLUMNS];
    tra_batch batch;
    tra_err e;
} bench;

static double some_float(void) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1e300, -1e-300, 0.5, 2.5};
    return check_draw(3) ? (double)(check_draw(2001) - 1000) / 8 : odd[check_draw(9)];
}

static int64_t some_int(bool wide) {
    static const int64_t odd[] = {INT32_MIN, INT32_MAX, 0, -1, 1, INT64_MIN, INT64_MAX};
    return check_draw(4) ? check_draw(21) - 10 : odd[check_draw(wide ? 7 : 5)];
}

static void fill(bench *b, int c) {
    size_t size = tra_coltype_size(b->column[c].type);
    char *to = b->v[c].values = tra_arena_alloc(b->a, size * ROWS + 64);
    if (b->column[c].nullable) b->v[c].state = tra_news(b->a, uint8_t, ROWS);
    for (int i = 0; i < ROWS; i++, to += size) {
        bool null = b->column[c].nullable && check_draw(5) == 0;
        memset(to, 0, size);
        if (b->v[c].state) b->v[c].state[i] = null;
        if (null) continue;
        switch (b->column[c].type) {
        case TRA_COL_BOOL: *(uint8_t *)to = (uint8_t)check_draw(2); break;
        case TRA_COL_I32: *(int32_t *)to = (int32_t)some_int(false); break;
        case TRA_COL_I64: *(int64_t *)to = some_int(true); break;
        case TRA_COL_F32: *(float *)to = (float)some_float(); break;
        case TRA_COL_F64: *(double *)to = some_float(); break;
        case TRA_COL_DATE: *(int32_t *)to = (int32_t)(check_draw(40000) - 10000); break;
        case TRA_COL_TIMESTAMP: *(int64_t *)to = (check_draw(4000000000) - 1000000000) * 1000000 + check_draw(3); break;
        case TRA_COL_STRING:
        case TRA_COL_TEXT: *(int32_t *)to = (int32_t)check_draw(b->column[c].dict->n); break;
        }
    }
}

static const tra_dictionary *dictionary(tra_arena *a) {
    const char *s[WORDS];
    int64_t len[WORDS];
    int32_t *map;
    for (int i = 0; i < WORDS; i++) s[i] = words[i], len[i] = (int64_t)strlen(words[i]);
    const tra_dictionary *d = tra_dictionary_new(a, WORDS, s, len);
    return tra_dictionary_union(a, 1, &d, &map);
}

static void begin(bench *b) {
    static const struct {
        const char *name;
        tra_coltype type;
        bool nullable;
    } columns[COLUMNS] = {{"i", TRA_COL_I32, true},    {"j", TRA_COL_I64, true},        {"k", TRA_COL_I64, false},
                          {"x", TRA_COL_F64, true},    {"y", TRA_COL_F32, false},       {"f", TRA_COL_BOOL, true},
                          {"s", TRA_COL_STRING, true}, {"the day", TRA_COL_DATE, true}, {"t", TRA_COL_TIMESTAMP, true}};
    *b = (bench){.a = tra_arena_new()};
    snprintf(b->path, sizeof b->path, "%s/tra-lang-%d.h5", check_folder(), (int)getpid());
    b->schema = (tra_schema){COLUMNS, b->column};
    b->batch = (tra_batch){&b->schema, ROWS, b->v};
    for (int c = 0; c < COLUMNS; c++) {
        b->column[c] = (tra_column){.name = columns[c].name, .type = columns[c].type, .nullable = columns[c].nullable};
        if (tra_coltype_is_coded(columns[c].type)) b->column[c].dict = dictionary(b->a);
        fill(b, c);
    }
    tra_dims rows = {.n = 1, .v = {ROWS}}, block = {.n = 1, .v = {BLOCK}};
    tra_catalog *cat = tra_new(b->a, tra_catalog);
    tra_writer *w;
    CHECK_OK(tra_catalog_blocks(&rows, &block, cat, &b->e), b->e);
    tra_type t = {.dtype = TRA_F64, .cat = cat, .layout = &tra_columns, .columns = &b->schema, .cut = {1}};
    CHECK_OK(tra_writer_create(b->path, &t, &(tra_write_options){.history = NULL}, &w, &b->e), b->e);
    CHECK_OK(tra_writer_place_rows(w, NULL, &b->e), b->e);
    CHECK_OK(tra_writer_put_rows(w, 0, &b->batch, &b->e), b->e);
    CHECK_OK(tra_writer_commit(w, NULL, &b->e), b->e);
}

static void end(bench *b) {
    unlink(b->path);
    tra_arena_free(b->a);
}

/* ---- random expressions ------------------------------------------------------------------------------------- */

typedef enum kind { INT, REAL, TRUTH, WORD, DAY, MOMENT, KINDS } kind;

static void expression(kind k, int depth, tra_str *out);

static void pair(kind k, const char *op, int depth, tra_str *out) {
    tra_str_add(out, "(");
    expression(k, depth, out);
    tra_str_printf(out, " %s ", op);
    expression(k, depth, out);
    tra_str_add(out, ")");
}

static void function(const char *name, int n, const kind *k, int depth, tra_str *out) {
    tra_str_printf(out, "%s(", name);
    for (int i = 0; i < n; i++) {
        if (i) tra_str_add(out, ", ");
        expression(k[i], depth, out);
    }
    tra_str_add(out, ")");
}

static void leaf(kind k, tra_str *out) {
    static const char *const leaves[KINDS][6] = {
        {"i", "j", "k", "3", "-7", "k"},
        {"x", "y", "0.5", "x", "-2.25", "1e3"},
        {"f", "true", "f", "false", "f", "f"},
        {"s", "s", "\"ab\"", "s", "\"\"", "s"},
        {"`the day`", "`the day`", "date \"2000-02-29\"", "`the day`", "date \"1969-12-31\"", "`the day`"},
        {"t", "t", "timestamp \"2017-04-15 08:15:00.25\"", "t", "timestamp \"1960-01-01\"", "t"}};
    tra_str_add(out, leaves[k][check_draw(6)]);
}

static void truth(int depth, tra_str *out) {
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const same[] = {"same", "in"};
    kind k = (kind)check_draw(KINDS);
    switch (check_draw(6)) {
    case 0: pair(TRUTH, check_draw(2) ? "&&" : "||", depth, out); return;
    case 1: function("isnull", 1, &k, depth, out); return;
    case 2: function(same[check_draw(2)], 2, (kind[]){k, k}, depth, out); return;
    case 3:
        tra_str_add(out, "!");
        expression(TRUTH, depth, out);
        return;
    case 4: tra_str_add(out, check_draw(2) ? "like(s, \"%b_\")" : "startswith(s, \"a\")"); return;
    default: pair(k == TRUTH ? INT : k, compare[check_draw(6)], depth, out);
    }
}

static void whole(int depth, tra_str *out) {
    static const char *const ops[] = {"+", "-", "*", "div", "%"};
    static const char *const parts[] = {"year", "month", "day", "weekday"};
    kind k = (kind)check_draw(KINDS);
    switch (check_draw(6)) {
    case 0: function(check_draw(2) ? "min" : "max", 2, (kind[]){INT, INT}, depth, out); return;
    case 1: function("abs", 1, (kind[]){INT}, depth, out); return;
    case 2: function("hash", 2, (kind[]){k, INT}, depth, out); return;
    case 3: function(parts[check_draw(4)], 1, (kind[]){check_draw(2) ? DAY : MOMENT}, depth, out); return;
    case 4: function("length", 1, (kind[]){WORD}, depth, out); return;
    default: pair(INT, ops[check_draw(5)], depth, out);
    }
}

static void real(int depth, tra_str *out) {
    static const char *const ops[] = {"+", "-", "*", "/"};
    static const char *const functions[] = {"floor", "ceil", "round", "sqrt", "abs"};
    switch (check_draw(5)) {
    case 0: function(functions[check_draw(5)], 1, (kind[]){REAL}, depth, out); return;
    case 1: function(check_draw(2) ? "min" : "max", 2, (kind[]){REAL, INT}, depth, out); return;
    case 2: function("hypot", 2, (kind[]){REAL, INT}, depth, out); return;
    default: pair(REAL, ops[check_draw(4)], depth, out);
    }
}

static void expression(kind k, int depth, tra_str *out) {
    if (depth-- <= 0 || check_draw(4) == 0) {
        leaf(k, out);
        return;
    }
    if (check_draw(5) == 0) {
        function("if", 3, (kind[]){TRUTH, k, k}, depth, out);
        return;
    }
    if (check_draw(8) == 0) {
        function("ifnull", 2, (kind[]){k, k}, depth, out);
        return;
    }
    switch (k) {
    case INT: whole(depth, out); return;
    case REAL: real(depth, out); return;
    case TRUTH: truth(depth, out); return;
    case WORD:
        if (check_draw(2))
            function(check_draw(2) ? "lower" : "upper", 1, (kind[]){WORD}, depth, out);
        else
            tra_str_printf(out, "substr(s, %d, %d)", (int)check_draw(4), (int)check_draw(3));
        return;
    case DAY:
        tra_str_add(out, "(");
        expression(DAY, depth, out);
        tra_str_printf(out, " + %d)", (int)check_draw(100));
        return;
    case MOMENT: function("timestamp", 1, (kind[]){check_draw(2) ? DAY : MOMENT}, depth, out); return;
    case KINDS: break;
    }
}

/* ---- comparison --------------------------------------------------------------------------------------------- */

static bool equal(const ref_cell *x, const ref_cell *y, tra_coltype t) {
    if (x->state != y->state) return false;
    if (x->state != REF_VALUE) return true;
    if (tra_coltype_is_coded(t)) return x->len == y->len && memcmp(x->s, y->s, (size_t)x->len) == 0;
    if (!tra_coltype_is_float(t)) return x->i == y->i;
    return x->f == y->f || (isnan(x->f) && isnan(y->f)) || fabs(x->f - y->f) <= 1e-14 * fabs(y->f);
}

/* The kernel of the operator, on the whole table. */
static ref_table *computed(bench *b, const tra_node *n, const ref_table *want, tra_status *s) {
    const tra_rowwise *r = tra_kernel_rows(n->kernel)->data;
    const tra_schema *out = tra_rowwise_out(r);
    tra_batch made = {.schema = out, .v = tra_news(b->a, tra_vector, out->n)};
    for (int c = 0; c < out->n; c++) {
        made.v[c].values = tra_arena_alloc(b->a, tra_coltype_size(out->v[c].type) * ROWS + 64);
        if (tra_column_has_states(&out->v[c])) made.v[c].state = tra_news(b->a, uint8_t, ROWS);
    }
    char *scratch = tra_arena_alloc(b->a, (size_t)tra_rowwise_scratch(r) + 64);
    scratch += (64 - (uintptr_t)scratch % 64) % 64;
    tra_table_notes notes = {0};
    *s = tra_rowwise_run(r, &b->batch, 0, &made, scratch, &notes, &b->e);
    ref_table *got = tra_new(b->a, ref_table);
    *got = (ref_table){.n = out->n, .column = want->column, .rows = made.rows};
    got->v = tra_news(b->a, ref_cell, made.rows * out->n + 1);
    if (*s == TRA_OK) ref_table_take(out, &made, got, 0, b->a);
    return got;
}

static void compare(bench *b, const char *program, const tra_node *n, const ref_table *want) {
    tra_status s;
    const ref_table *got = computed(b, n, want, &s);
    if (s != TRA_OK || got->rows != want->rows) {
        check_report("%s: %" PRId64 " rows (%s), not %" PRId64, program, got->rows, s ? b->e.msg : "", want->rows);
        return;
    }
    for (int64_t i = 0; i < want->rows; i++)
        for (int c = 0; c < want->n; c++) {
            const ref_cell *x = ref_at(got, i, c), *y = ref_at(want, i, c);
            if (equal(x, y, want->column[c].type)) continue;
            check_report("%srow %d of %s is %d %" PRId64 " %.17g '%.*s', not %d %" PRId64 " %.17g '%.*s'", program,
                         (int)i, want->column[c].name, (int)x->state, x->i, x->f, (int)x->len, x->s ? x->s : "",
                         (int)y->state, y->i, y->f, (int)y->len, y->s ? y->s : "");
            return;
        }
}

/* Does the program compile and agree? Those in which an integer does not fit in a predicate fail in both. */
static void try_program(bench *b, const char *program, int *ran) {
    tra_script src = {"p.tra", program, (int)strlen(program)};
    tra_diags d = {.arena = b->a, .src = &src};
    tra_graph *g;
    const tra_ref_rel **v = NULL;
    tra_str text = {0};
    tra_status s = tra_graph_build(&src, ".", 0, NULL, b->a, &d, &g, &b->e);
    tra_diags_print(&d, false, &text);
    if (s != TRA_OK) check_report("%s%s", program, tra_str_get(&text));
    tra_status r = s == TRA_OK ? tra_reference_run(g, true, b->a, &v, &b->e) : s;
    if (r == TRA_OK)
        for (int i = 0; i < g->ntables; i++, ++*ran)
            compare(b, program, g->tables[i]->node, v[g->tables[i]->node->id]->table);
    for (int i = 0; s == TRA_OK && r != TRA_OK && i < g->ntables; i++) {
        tra_status st;
        ref_table none = {0};
        (void)computed(b, g->tables[i]->node, &none, &st);
        if (st == TRA_OK) check_report("%s: the reference fails, the kernel does not: %s", program, b->e.msg);
    }
    tra_str_free(&text);
    tra_graph_close(g);
}

TEST(random_expressions) {
    bench b;
    int ran = 0;
    begin(&b);
    for (int i = 0; i < 400; i++) {
        tra_str text = {0};
        tra_str_printf(&text, "input T from \"%s\"\n", b.path);
        if (check_draw(3) == 0) {
            tra_str_add(&text, "R = select(T, ");
            expression(TRUTH, 3, &text);
            tra_str_add(&text, ")\n");
        } else {
            tra_str_add(&text, "R = project(T, ");
            for (int c = 0; c < 4; c++) {
                tra_str_printf(&text, "%sc%d = ", c ? ", " : "", c);
                expression((kind)check_draw(KINDS), 3, &text);
            }
            tra_str_add(&text, ")\n");
        }
        try_program(&b, tra_str_get(&text), &ran);
        tra_str_free(&text);
    }
    CHECK(ran > 300);
    end(&b);
}

TEST(params_macros_and_stars) {
    bench b;
    int ran = 0;
    char text[512];
    begin(&b);
    snprintf(text, sizeof text,
             "input T from \"%s\"\nparam least = -3\nparam half = 0.5\ndef near(a, b) = abs(a - b) < half * 4\n"
             "R = select(T, k > least && near(x, y))\n",
             b.path);
    try_program(&b, text, &ran);
    snprintf(text, sizeof text, "input T from \"%s\"\nR = project(T, *, k = row() + k, drop(t))\n", b.path);
    end(&b);
    CHECK_INT(ran, 1);
}
