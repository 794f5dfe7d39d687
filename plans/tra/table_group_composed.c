/* table_group_composed.c - aggregates that are several operators: mode, wmean, approx_distinct, ...
 *
 * A group that has such aggregates is written anew as a program of its own, whose operators are those of the language:
 * rows with the keys and what aggregates read (rows), their groups (groups), each row beside its group (beside), the
 * groups of these (more), and the results of both. So what is said of those operators (memory, ranks, NULLs, orders)
 * holds for these aggregates too. Where values are counted first, `rows` is itself a group of rows. */
#include "table_build.h"
#include "table_parts.h"

#include <string.h>

/* In these texts #a is a column of the aggregate, $1 and $2 are its arguments. */
typedef struct composed {
    const char *name;
    int nargs;
    const char *row;    /* columns of each row */
    const char *counts; /* of each different value of #a in a group: aggregates of its rows; NULL: each row counts */
    const char *aggregates; /* of these */
    const char *result;
} composed;

/* HyperLogLog: 4096 registers; each the greatest number of leading zeros and one more, of 51 bits */
#define REGISTER                                                                                                       \
    "#a = hash($1) % 4096, #b = if(isnull($1), null, 51 - i64(floor(log(hash($1) div 4096 + 0.5) / log(2))))"
#define ESTIMATE "(0.7213 / (1 + 1.079 / 4096) * 16777216 / (ifnull(#s, 0) + 4096 - #n))"

static const composed composites[] = {
    {"wmean", 2, "#a = if(isnull($2), null, ($1) * 1.0 * ($2)), #b = if(isnull($1), null, ($2) * 1.0)", NULL,
     "#s = sum(#a), #t = sum(#b)", "#s / #t"},
    {TRA_STRING_AGGREGATE, 1, "#a = $1", "", NULL, "#r"},
    {"mode", 1, "#a = $1", "#n = count(#a)", "#r = arg_max(#a, #n)", "#r"},
    {"approx_distinct", 1, REGISTER, "#r = max(#b)", "#n = count(#r), #s = sum(2.0^(0 - #r))",
     "i64(round(if(#n < 4096 && " ESTIMATE " <= 10240, 4096 * log(4096 / (4096.0 - #n)), " ESTIMATE ")))"},
};

static const composed *find(const char *name) {
    if (strcmp(name, "join") == 0) name = TRA_STRING_AGGREGATE; /* as other languages have it: join(x, ", ") */
    int i = TRA_FIND_ROW(composites, name);
    return i < 0 ? NULL : &composites[i];
}

bool tra_is_composed_aggregate(const char *name) { return find(name) != NULL; }

const char *tra_composed_aggregate(int i) {
    return i < (int)(sizeof composites / sizeof *composites) ? composites[i].name : NULL;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* An aggregate of the call: its name, what computes it (own: an aggregate of one operator), its arguments as text. */
typedef struct item {
    const char *name, *argument[2];
    composed how;
    const char *separator; /* of strings that are put together (table_strings.c); NULL: of no such aggregate */
    const char *order;     /* in which order, as keys of order; "": that of rows */
    bool distinct;
} item;

typedef struct writer {
    tra_table_builder *w;
    int nkeys, nitems;
    const char **key;      /* names, as the language writes them */
    const char **key_text; /* the keys as the call has them */
    item *v;
    int nsymbols; /* of the program, before those of this group */
} writer;

static void separate(tra_str *s) {
    if (s->n) tra_str_add(s, ", ");
}

/* Appends the text of an aggregate, with its columns and arguments. */
static void expand(const writer *x, int i, const char *text, tra_str *out) {
    separate(out);
    for (; *text; text++) {
        if (*text == '#')
            tra_str_printf(out, "`%c.%d`", *++text, i);
        else if (*text == '$')
            tra_str_printf(out, "(%s)", x->v[i].argument[*++text - '1']);
        else
            tra_str_addn(out, text, 1);
    }
}

static void add_keys(const writer *x, const char *const *text, tra_str *out) {
    for (int k = 0; k < x->nkeys; k++) separate(out), tra_str_add(out, text[k]);
}

static void rename_all(tra_ast *x, tra_span span) {
    x->span = x->name_span = span;
    if (x->kind == TRA_AST_NAME && strncmp(x->text, "group__", 7) == 0) ((char *)(uintptr_t)x->text)[5] = '.';
    for (int i = 0; i < x->nkids; i++) rename_all(x->kids[i], span);
}

/* Gives the node a name, by which texts have it. */
static tra_node *call_it(writer *x, const char *name, const tra_stmt *st, tra_node *n) {
    tra_build *b = x->w->b;
    if (!n) return NULL;
    tra_symbol *s = tra_new(b->arena, tra_symbol);
    *s = (tra_symbol){.stmt = st, .ok = true, .seen = true, .used = true, .node = n, .depth = b->depth};
    tra_names_add(&b->symbols, tra_arena_printf(b->arena, "group._%s", name), s);
    return n;
}

/* Builds what the text computes; its relations are those that were built before, by name. NULL after a diagnostic. */
static tra_node *build(writer *x, const char *name, const char *text) {
    tra_build *b = x->w->b;
    tra_diags own = {.arena = b->arena};
    tra_script script = {.name = "group", .text = tra_arena_printf(b->arena, "R = %s\n", text)};
    tra_ast_program program;
    script.n = (int)strlen(script.text);
    own.src = &script;
    tra_parse(&script, b->arena, &own, &program);
    if (own.errors || program.n != 1)
        return tra_diag_error(b->d, x->w->call->span, NULL, "these aggregates cannot be written as operators: %s",
                              text);
    rename_all(program.v[0].value, x->w->call->span);
    return call_it(x, name, &program.v[0], tra_build_relation(b, program.v[0].value));
}

/* Rows beside rows of equal keys; all of them, where there are no keys. */
static const char *beside(writer *x, const char *left, const char *right) {
    tra_str s = {0};
    if (x->nkeys == 0) return tra_arena_printf(x->w->b->arena, "cross(group__%s, group__%s)", left, right);
    tra_str_printf(&s, "join(group__%s, group__%s, ", left, right);
    for (int k = 0; k < x->nkeys; k++) tra_str_printf(&s, "%s%s == %s", k ? " && " : "", x->key[k], x->key[k]);
    tra_str_add(&s, ", nulls = match, expect = \"m:1\")");
    return tra_arena_take(x->w->b->arena, &s);
}

static const char *grouped(writer *x, const char *of, const char *aggregates) {
    tra_str keys = {0};
    add_keys(x, x->key, &keys);
    const char *list = tra_arena_take(x->w->b->arena, &keys);
    return tra_arena_printf(x->w->b->arena, "group(%s, [%s]%s%s)", of, list, *aggregates ? ", " : "", aggregates);
}

/* The groups of rows `of`, with the aggregates of items from .. from + n - 1; their relation is called `name`. */
static bool add_groups(writer *x, const char *of, int from, int n, bool counted, const char *name) {
    tra_str all = {0};
    for (int i = from; i < from + n; i++)
        if ((x->v[i].how.counts != NULL) == counted) expand(x, i, x->v[i].how.aggregates, &all);
    return build(x, name,
                 grouped(x, tra_arena_printf(x->w->b->arena, "group__%s", of), tra_arena_take(x->w->b->arena, &all))) !=
           NULL;
}

/* The strings of item i of each group, put together, in the column r of a relation with this name. */
static bool add_strings(writer *x, int i, const char *name) {
    tra_arena *a = x->w->b->arena;
    const item *v = &x->v[i];
    tra_str keys = {0}, order = {0};
    add_keys(x, x->key, &keys);
    const char *list = tra_arena_take(x->w->b->arena, &keys), *comma = *list ? ", " : "", *rows = "group__rows";
    if (*v->order) expand(x, i, v->order, &order);
    const char *by = tra_arena_take(x->w->b->arena, &order), *then = *by ? ", " : "";
    if (v->distinct)
        rows = tra_arena_printf(a, "distinct(%s, [%s%s`a.%d`]%s%s%s)", rows, list, comma, i, *by ? ", order = [" : "",
                                by, *by ? "], keep = first" : "");
    if (*list || *by) rows = tra_arena_printf(a, "order(%s, [%s%s%s])", rows, list, *list ? then : "", by);
    const char *text = tra_arena_printf(a, "project(%s, %s%s`a.%d`)", rows, list, comma, i);
    const char *sorted = tra_arena_printf(a, "sorted%d", i);
    tra_node *n = build(x, sorted, text);
    if (!n) return false;
    n = tra_table_join_strings(x->w, n, tra_arena_printf(a, "r.%d", i), v->separator);
    const tra_symbol *s = x->w->b->symbols.value[x->w->b->symbols.n - 1];
    return call_it(x, name, s->stmt, n) != NULL;
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

static const char *text_of(tra_arena *a, const tra_ast *x) {
    tra_str s = {0};
    if (x->kind == TRA_AST_NAMED) {
        tra_name_print(x->text, &s);
        tra_str_add(&s, " = ");
        x = x->kids[0];
    }
    tra_ast_print(x, &s);
    return tra_arena_take(a, &s);
}

static const char *name_text(tra_arena *a, const char *name) {
    tra_str s = {0};
    tra_name_print(name, &s);
    return tra_arena_take(a, &s);
}

/* string_agg(x, ", ", order = [t desc, ..], distinct = true): the order's keys are columns 0, 1, .. of the item. */
static bool read_strings(writer *x, const tra_ast *call, const composed *how, item *to) {
    tra_build *b = x->w->b;
    const tra_ast *separator = NULL, *order = NULL, *distinct = NULL;
    bool ok = call->nkids > 0;
    for (int i = 1; i < call->nkids; i++) {
        const tra_ast *arg = call->kids[i];
        const tra_ast **value = arg->kind != TRA_AST_NAMED           ? i == 1 ? &separator : NULL
                                : strcmp(arg->text, "order") == 0    ? &order
                                : strcmp(arg->text, "distinct") == 0 ? &distinct
                                                                     : NULL;
        ok = ok && value && !*value;
        if (ok) *value = arg->kind == TRA_AST_NAMED ? arg->kids[0] : arg;
    }
    bool yes = distinct && distinct->kind == TRA_AST_NAME && strcmp(distinct->text, "true") == 0;
    bool no = distinct && distinct->kind == TRA_AST_NAME && strcmp(distinct->text, "false") == 0;
    ok = ok && (!distinct || yes || no) && (!order || (order->kind == TRA_AST_LIST && order->nkids <= 10));
    if (separator && separator->kind == TRA_AST_NAME) {
        const tra_symbol *s = tra_build_any_param(b, separator);
        if (!s) return false;
        separator = s->literal ? s->literal : separator;
    }
    if (!ok || (separator && separator->kind != TRA_AST_STRING))
        return tra_diag_error(
            b->d, call->span, NULL,
            "write string_agg(x, \", \"), or string_agg(x, \", \", order = [t desc], distinct = true)");
    tra_str row = {0}, keys = {0};
    tra_str_add(&row, how->row);
    for (int k = 0; order && k < order->nkids; k++) {
        const tra_ast *key = order->kids[k];
        bool desc = key->kind == TRA_AST_DESC;
        tra_str_printf(&row, ", #%d = %s", k, text_of(b->arena, desc ? key->kids[0] : key));
        tra_str_printf(&keys, "%s#%d%s", k ? ", " : "", k, desc ? " desc" : "");
    }
    to->how = *how;
    to->how.row = tra_arena_take(x->w->b->arena, &row);
    to->order = tra_arena_take(x->w->b->arena, &keys);
    to->distinct = yes;
    to->separator = separator ? separator->text : ",";
    to->argument[0] = text_of(b->arena, call->kids[0]);
    return true;
}

/* An aggregate of the call; false after a diagnostic. */
static bool read_item(writer *x, const tra_ast *arg, item *to) {
    tra_build *b = x->w->b;
    const tra_ast *call = arg->kind == TRA_AST_NAMED ? arg->kids[0] : arg;
    bool called = call->kind == TRA_AST_CALL;
    const composed *how = called ? find(call->text) : NULL;
    bool own = called && !how && tra_aggregate_find(call->text) >= 0 && call->nkids <= 2;
    bool column = call->nkids > 0 && call->kids[0]->kind == TRA_AST_NAME;
    if (arg->kind == TRA_AST_NAMED)
        to->name = arg->text;
    else if (column || call->nkids == 0)
        to->name = call->nkids ? tra_arena_printf(b->arena, "%s_%s", call->text, call->kids[0]->text) : call->text;
    if (!to->name) return tra_table_refuse(x->w, arg, "an aggregate has a name: n = count()");
    if (how && strcmp(how->name, TRA_STRING_AGGREGATE) == 0) return read_strings(x, call, how, to);
    if (how && call->nkids != how->nargs)
        return tra_diag_error(b->d, call->span, NULL, "%s has %d argument%s, not %d", call->text, how->nargs,
                              how->nargs == 1 ? "" : "s", call->nkids);
    if (!how && !own)
        return tra_diag_error(b->d, call->span, called ? tra_build_named_here(b->arena, call->text) : NULL,
                              "an aggregate is expected here: count, sum, mean, min, max, ...");
    for (int k = 0; k < call->nkids; k++) to->argument[k] = text_of(b->arena, call->kids[k]);
    if (how) return to->how = *how, true;
    bool pair = tra_aggregate_has_two((tra_aggregate)tra_aggregate_find(call->text)) && call->nkids > 1;
    to->how = (composed){.name = call->text, .result = "#r"};
    to->how.row = pair ? "#a = $1, #b = $2" : call->nkids ? "#a = $1" : "";
    to->how.aggregates = tra_arena_printf(b->arena, "#r = %s(%s%s)", call->text, call->nkids ? "#a" : "",
                                          pair              ? ", #b"
                                          : call->nkids > 1 ? ", $2"
                                                            : "");
    return true;
}

/* The keys' names, and their texts. */
static bool read_keys(writer *x, const tra_ast *list) {
    tra_arena *a = x->w->b->arena;
    x->nkeys = list->nkids;
    x->key = tra_news(a, const char *, x->nkeys + 1);
    x->key_text = tra_news(a, const char *, x->nkeys + 1);
    for (int k = 0; k < x->nkeys; k++) {
        const tra_ast *key = list->kids[k];
        if (key->kind != TRA_AST_NAMED && key->kind != TRA_AST_NAME)
            return tra_table_refuse(x->w, key, "a key that is computed has a name: m = month(t)");
        x->key[k] = name_text(a, key->text);
        x->key_text[k] = text_of(a, key);
    }
    return true;
}

/* Groups of item i, by way of those of its different values. */
static bool add_counted(writer *x, int i, const char *name) {
    tra_arena *a = x->w->b->arena;
    tra_str keys = {0}, counts = {0};
    add_keys(x, x->key, &keys);
    separate(&keys);
    tra_str_printf(&keys, "`a.%d`", i);
    expand(x, i, x->v[i].how.counts, &counts);
    const char *list = tra_arena_take(x->w->b->arena, &keys), *counted = tra_arena_take(x->w->b->arena, &counts),
               *of = tra_arena_printf(a, "counted%d", i);
    if (!build(x, of, tra_arena_printf(a, "group(group__rows, [%s], %s)", list, counted))) return false;
    return add_groups(x, of, i, 1, true, name);
}

static bool write_all(writer *x) {
    tra_arena *a = x->w->b->arena;
    tra_str row = {0}, result = {0};
    add_keys(x, x->key_text, &row);
    add_keys(x, x->key, &result);
    for (int i = 0; i < x->nitems; i++) {
        if (*x->v[i].how.row) expand(x, i, x->v[i].how.row, &row);
        separate(&result);
        tra_str_printf(&result, "%s = ", name_text(a, x->v[i].name));
        tra_str one = {0};
        expand(x, i, x->v[i].how.result, &one);
        tra_str_add(&result, tra_str_get(&one));
        tra_str_free(&one);
    }
    const char *rows = tra_arena_take(x->w->b->arena, &row), *results = tra_arena_take(x->w->b->arena, &result),
               *all = NULL;
    if (!build(x, "rows", tra_arena_printf(a, "project(group__in, %s)", rows))) return false;
    for (int i = 0; i < x->nitems && !all; i++)
        if (!x->v[i].how.counts) all = "all";
    if (all && !add_groups(x, "rows", 0, x->nitems, false, all)) return false;
    for (int i = 0; i < x->nitems; i++) {
        const composed *how = &x->v[i].how;
        if (!how->counts) continue;
        const char *own = tra_arena_printf(a, "own%d", i), *next = tra_arena_printf(a, "all%d", i + 1);
        if (!(x->v[i].separator ? add_strings(x, i, own) : add_counted(x, i, own))) return false;
        if (all && !build(x, next, beside(x, all, own))) return false;
        all = all ? next : own;
    }
    return build(x, "result", tra_arena_printf(a, "project(group__%s, %s)", all, results)) != NULL;
}

tra_node *tra_table_group_composed(tra_table_builder *w) {
    tra_build *b = w->b;
    writer x = {.w = w, .nitems = w->call->nkids - 2, .nsymbols = b->symbols.n};
    tra_symbol *in = tra_new(b->arena, tra_symbol);
    tra_stmt *none = tra_new(b->arena, tra_stmt);
    none->kind = TRA_STMT_ASSIGN;
    *in = (tra_symbol){.stmt = none, .ok = true, .seen = true, .used = true, .node = w->in, .depth = b->depth};
    x.v = tra_news(b->arena, item, x.nitems + 1);
    bool ok = read_keys(&x, w->call->kids[1]);
    for (int i = 0; i < x.nitems; i++) ok = read_item(&x, w->call->kids[i + 2], &x.v[i]) && ok;
    tra_node *result = NULL;
    if (ok) {
        tra_names_add(&b->symbols, "group._in", in);
        if (write_all(&x)) result = ((tra_symbol *)b->symbols.value[b->symbols.n - 1])->node;
        tra_names_cut(&b->symbols, x.nsymbols);
    }
    return result;
}
