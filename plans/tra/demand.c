/* demand.c - which columns of its inputs a program may use, so that a file of another format need not be read wholly.
 *
 * An input is open where a column may be used without its name: in an output, by *, by drop, by labels. Of any other
 * input those columns count whose names the program has, or ends of its names, since joins put something before a
 * name. */
#include "table_build.h"

#include "../../lib/h5/stand_in.h"

#include <string.h>

typedef struct demand {
    tra_build *b;
    tra_names open;  /* relations */
    tra_names words; /* all that may be names of columns; value: NULL, or that it is nothing else */
    tra_names own;   /* names that the program gives itself */
    tra_names once;  /* names that are read, */
    tra_names often; /* and those that are so in several places */
    bool all;        /* statements that are not understood here: every input is open */
} demand;

static void put(tra_names *t, const char *name, void *value) {
    if (tra_names_find(t, name) < 0) tra_names_add(t, name, value);
}

static void put_use(demand *d, const char *name) {
    put(tra_names_find(&d->once, name) >= 0 ? &d->often : &d->once, name, NULL);
}

static bool is_one_of(const char *word, const char *const *v) {
    while (*v && strcmp(*v, word) != 0) v++;
    return *v != NULL;
}

/* Does x stand for columns that it does not name: by *, or as all but those of drop(..)? */
static bool has_unnamed(const tra_ast *x) {
    bool any = x->kind == TRA_AST_STAR || (x->kind == TRA_AST_CALL && strcmp(x->text, "drop") == 0);
    for (int i = 0; i < x->nkids && !any; i++) any = has_unnamed(x->kids[i]);
    return any;
}

/* How many of the first operands of a call pass no column on but those that it names. *passes: they do where the
 * call's own columns are passed on. */
static int operands_of(const tra_ast *x, bool *passes) {
    static const char *const ends[] = {"group", "project", "pivot", "matrix", NULL};
    static const char *const through[] = {"select", "order", "limit", "join", NULL};
    *passes = is_one_of(x->text, through);
    if (!*passes && !is_one_of(x->text, ends)) return 0;
    for (int i = 1; i < x->nkids; i++)
        if (has_unnamed(x->kids[i])) return 0;
    return strcmp(x->text, "join") == 0 ? 2 : 1;
}

/* named: what x gives as a relation is used by names of columns alone. */
static void walk(demand *d, const tra_ast *x, bool named) {
    bool passes = false;
    int operands = x->kind == TRA_AST_CALL ? operands_of(x, &passes) : 0;
    bool qualified = x->kind == TRA_AST_COMPOSE && x->nkids == 2 && x->kids[0]->kind == TRA_AST_NAME;
    if (x->kind == TRA_AST_NAME && !named) put(&d->open, x->text, d);
    if (x->kind == TRA_AST_NAME && !named && tra_names_find(&d->b->symbols, x->text) < 0) put(&d->words, x->text, d);
    if (x->kind == TRA_AST_NAME) put_use(d, x->text);
    if (x->kind == TRA_AST_NAMED) put(&d->own, x->text, d);
    if (x->kind == TRA_AST_INDEX) put(&d->open, x->text, d);
    if (x->text && x->kind != TRA_AST_NUMBER) put(&d->words, x->text, NULL);
    for (int i = 0; i < x->nkids; i++)
        if (i > 0 || !qualified) walk(d, x->kids[i], i < operands && (named || !passes));
}

static void walk_if(demand *d, const tra_ast *x) {
    if (x) walk(d, x, false);
}

/* Counts the calls of limit, and notes them in v unless that is NULL. */
static int find_limits(const tra_ast *x, const tra_ast **v) {
    int n = x->kind == TRA_AST_CALL && strcmp(x->text, "limit") == 0;
    if (n && v) *v = x;
    for (int i = 0; i < x->nkids; i++) n += find_limits(x->kids[i], v ? v + n : NULL);
    return n;
}

static int limits_of(const tra_ast_program *ast, const tra_ast **v) {
    int n = 0;
    for (int i = 0; i < ast->n; i++) {
        const tra_stmt *st = &ast->v[i];
        if (!st->broken && st->kind == TRA_STMT_ASSIGN && st->value) n += find_limits(st->value, v ? v + n : NULL);
    }
    return n;
}

/* From the last statement to the first, so that it is known of each name how it is used. */
static void walk_all(demand *d, const tra_ast_program *ast, bool loop) {
    for (int i = ast->n - 1; i >= 0; i--) {
        const tra_stmt *st = &ast->v[i];
        if (st->broken || st->kind == TRA_STMT_TENSOR) d->all = true;
        if (st->broken || st->kind == TRA_STMT_TENSOR || st->kind == TRA_STMT_DEF) continue;
        if (st->body) walk_all(d, st->body, true);
        walk_if(d, st->turns);
        walk_if(d, st->until);
        for (int k = 0; k < st->nvalues; k++) walk(d, st->values[k], false);
        if (!st->value) continue;
        bool plain = st->kind == TRA_STMT_ASSIGN && st->role == TRA_ROLE_ONLY && st->nparts <= 1 && !loop;
        walk_if(d, st->least);
        walk_if(d, st->most);
        walk(d, st->value, plain && tra_names_find(&d->open, st->name) < 0);
    }
}

void tra_build_demands(tra_build *b, const tra_ast_program *ast) {
    demand d = {.b = b, .open.arena = b->arena, .words.arena = b->arena, .own.arena = b->arena};
    d.once.arena = d.often.arena = b->arena;
    for (int i = 0; i < ast->n; i++) {
        if (ast->v[i].kind != TRA_STMT_OUTPUT) continue;
        put(&d.open, ast->v[i].name, &d);
        put_use(&d, ast->v[i].name);
    }
    walk_all(&d, ast, false);
    b->open = d.open;
    b->words = d.words;
    b->often = d.often;
    b->all_open = d.all;
    b->limits = tra_news(b->arena, const tra_ast *, limits_of(ast, NULL));
    b->nlimits = limits_of(ast, b->limits);
    bool *only = tra_news(b->arena, bool, d.words.n + 1); /* it can be nothing but a column */
    double v;
    for (int k = 0; k < d.words.n; k++)
        only[k] = d.words.value[k] && tra_names_find(&d.own, d.words.name[k]) < 0 &&
                  !tra_is_aggregation_word(d.words.name[k]) && !tra_is_later_aggregation_word(d.words.name[k]) &&
                  !tra_build_named_number(d.words.name[k], &v);
    for (int i = 0; i < ast->n; i++) {
        const tra_stmt *st = &ast->v[i];
        if (st->kind != TRA_STMT_INPUT || st->broken) continue;
        const char *path = tra_input_path(b, st, b->symbols.value[tra_names_find(&b->symbols, st->name)]);
        bool open = d.all || st->rows || st->shape || tra_names_find(&d.open, st->name) >= 0;
        if (path && tra_file_hooks_set && tra_file_hooks_set->columns)
            tra_file_hooks_set->columns(path, open ? -1 : d.words.n, d.words.name, only);
    }
}

bool tra_build_may_use(const tra_build *b, const char *input, const char *column) {
    bool may = b->all_open || tra_names_find(&b->open, input) >= 0;
    size_t n = strlen(column);
    for (int k = 0; k < b->words.n && !may; k++) {
        size_t have = strlen(b->words.name[k]);
        may = have >= n && strcmp(b->words.name[k] + have - n, column) == 0;
    }
    return may;
}
