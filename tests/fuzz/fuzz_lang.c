/* Any bytes as a program: parsed, its diagnostics printed, and, where it stays small and names no files, typed. What
 * types must be valid and printable. */
#include "../../plans/tra/tra.h"
#include "../unit/graph_valid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool small_list(const tra_ast *x) {
    if (!x) return true;
    if (x->nkids > 3) return false;
    for (int i = 0; i < x->nkids; i++)
        if (x->kids[i]->kind != TRA_AST_NUMBER || x->kids[i]->value > 4) return false;
    return true;
}

/* How many operators there are that make more tuples than they take. */
static int growing(const tra_ast *x) {
    if (!x) return 0;
    int n = x->kind == TRA_AST_CALL && (strcmp(x->text, "join") == 0 || strcmp(x->text, "tile") == 0);
    for (int i = 0; i < x->nkids; i++) n += growing(x->kids[i]);
    return n;
}

/* Does the program make few tuples? A list may have millions, for which a fuzzer has no time. */
static bool is_small(const tra_ast_program *p) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        const tra_stmt *s = &p->v[i];
        if (s->kind == TRA_STMT_INPUT && (s->path || !small_list(s->shape) || !small_list(s->block))) return false;
        if (s->kind == TRA_STMT_ASSIGN) n += growing(s->value);
    }
    return n <= 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16) return 0;
    tra_arena *a = tra_arena_new();
    char *text = tra_arena_alloc(a, size + 1);
    if (size) memcpy(text, data, size);
    tra_script src = {.name = "fuzz.tra", .text = text, .n = (int)size};
    tra_diags d = {.arena = a, .src = &src};
    tra_ast_program ast;
    tra_str out = {0};
    tra_err e = {0};
    tra_parse(&src, a, &d, &ast);
    if (is_small(&ast)) {
        tra_graph *g;
        const char *why = NULL;
        d = (tra_diags){.arena = a, .src = &src};
        tra_status s = tra_graph_build(&src, &(tra_building){.dir = "."}, a, &d, &g, &e);
        if ((s == TRA_OK) != (d.errors == 0)) abort();
        if (s == TRA_OK && !graph_valid(g, &why)) {
            fprintf(stderr, "%s\n", why);
            abort();
        }
        for (int i = 0; s == TRA_OK && i < g->n; i++) {
            tra_node_describe(g->v[i], &out);
            tra_node_print(g->v[i], &out);
        }
        tra_graph_close(g);
    }
    tra_diags_print(&d, size % 2, &out);
    tra_str_free(&out);
    tra_arena_free(a);
    return 0;
}
