#include "load.h"

#include "build.h"

#include "../../lib/h5/stand_in.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *tra_program_dir(tra_arena *a, const char *path) {
    const char *slash = strcmp(path, "-") ? strrchr(path, '/') : NULL;
    return !slash ? "." : slash == path ? "/" : tra_arena_strndup(a, path, (size_t)(slash - path));
}

/* A column of a text file where no row has a value is a string, which most statements refuse. Errors whose place names
 * such a column say so. */
static void advise_types(const tra_graph *g, tra_diags *d) {
    for (int i = 0; i < g->n; i++) {
        const tra_node *x = g->v[i];
        if (x->op != TRA_OP_INPUT || !x->input.rel || !x->type.columns) continue;
        for (int c = 0; c < x->type.columns->n; c++) {
            const tra_column *column = &x->type.columns->v[c];
            if (!tra_coltype_is_coded(column->type) || !column->dict || column->dict->n > 0) continue;
            const char *advice = tra_arena_printf(d->arena,
                                                  "no row has a value in the column %s, so that it is a string: "
                                                  "--types %s=f64 (or another type) says what it is",
                                                  column->name, column->name);
            for (tra_diag *v = d->v; v < d->v + d->n; v++)
                if (!v->warning && tra_script_has_name(d->src, v->span.at, v->span.at + v->span.len, column->name))
                    v->advice = advice;
        }
    }
}

/* Builds the graph and prints the diagnostics. */
static tra_status build(tra_program *p, const tra_building *given, bool colour, tra_err *e) {
    tra_building how = *given;
    how.dir = tra_arena_strndup(p->arena, how.dir, strlen(how.dir));
    tra_diags diags = {.arena = p->arena, .src = &p->src, .quiet = tra_log_level < 0};
    tra_status s = tra_graph_build(&p->src, &how, p->arena, &diags, &p->graph, e);
    if (s == TRA_PROGRAM && tra_file_hooks_set && tra_file_hooks_set->widen()) {
        tra_graph_close(p->graph); /* what is said of columns is of all that a file has */
        diags = (tra_diags){.arena = p->arena, .src = &p->src, .quiet = diags.quiet};
        p->graph = NULL;
        s = tra_graph_build(&p->src, &how, p->arena, &diags, &p->graph, e);
    }
    if (tra_log_mute || diags.n == 0) return s;
    if (p->graph && diags.errors > 0) advise_types(p->graph, &diags);
    tra_str out = {0};
    tra_diags_print(&diags, colour, &out);
    fputs(tra_str_get(&out), stderr);
    tra_str_free(&out);
    if (s != TRA_PROGRAM && s != TRA_OK) /* the first one was shown, and there may be more */
        snprintf(e->msg, sizeof e->msg, "%d input%s cannot be read", diags.errors, diags.errors == 1 ? "" : "s");
    return s;
}

tra_status tra_program_load(const char *path, tra_building how, bool colour, tra_program *p, tra_err *e) {
    char *text = NULL;
    size_t size = 0;
    *p = (tra_program){0};
    TRA_TRY(tra_program_read(path, &text, &size, e));
    tra_arena *a = tra_arena_new();
    how.dir = tra_program_dir(a, path);
    tra_status s = tra_program_from_text(path, text, size, &how, colour, p, e);
    tra_arena_free(a);
    return s;
}

tra_status tra_program_from_text(const char *name, char *text, size_t size, const tra_building *how, bool colour,
                                 tra_program *p, tra_err *e) {
    *p = (tra_program){.arena = tra_arena_new()};
    if (strcmp(name, "-") == 0) name = "<stdin>"; /* as all messages call it */
    const char *first = strncmp(text, "input ", 6) == 0 ? strstr(text, "\n" TRA_FIRST_LINE) : NULL;
    p->src = (tra_script){.name = tra_arena_strndup(p->arena, name, strlen(name)), .text = text, .n = (int)size};
    if (first) p->src.first = (int)(first - text) + (int)strlen("\n" TRA_FIRST_LINE);
    tra_status s = build(p, how, colour, e);
    if (s != TRA_OK) tra_program_free(p);
    return s;
}

/* The value of the last definition of a name; NULL: it has none. */
static const char *defined(int n, const char *const *defines, const char *name) {
    const char *value = NULL;
    size_t len = strlen(name);
    for (int i = 0; i < n; i++)
        if (strncmp(defines[i], name, len) == 0 && defines[i][len] == '=') value = defines[i] + len + 1;
    return value;
}

const char *const *tra_program_files(const char *text, size_t size, const char *dir, int ndefines,
                                     const char *const *defines, bool inputs, tra_arena *a) {
    tra_script src = {.name = "", .text = text, .n = (int)size};
    tra_diags diags = {.arena = a, .src = &src};
    tra_ast_program ast;
    int n = 0;
    tra_parse(&src, a, &diags, &ast);
    const char **v = tra_news(a, const char *, ast.n + 1);
    for (int i = 0; i < ast.n; i++) {
        const char *path, *name;
        if (ast.v[i].kind != (inputs ? TRA_STMT_INPUT : TRA_STMT_OUTPUT) || ast.v[i].broken) continue;
        const char *given = defined(ndefines, defines, ast.v[i].name);
        for (int j = 0; j < ast.n && !inputs; j++) /* -D of an input names the file that is read */
            if (ast.v[j].kind == TRA_STMT_INPUT && !strcmp(ast.v[j].name, ast.v[i].name)) given = NULL;
        if (inputs && !given && !ast.v[i].path) continue; /* it is only declared */
        if (given) ast.v[i].path = given, ast.v[i].path_here = true;
        tra_relspec(a, tra_output_path(&ast.v[i], dir, a), &path, &name);
        v[n++] = path;
    }
    return v;
}

void tra_program_free(tra_program *p) {
    tra_graph_close(p->graph);
    free((char *)p->src.text);
    tra_arena_free(p->arena);
    *p = (tra_program){0};
}

tra_status tra_program_rebuild(tra_program *p, const tra_building *how, tra_err *e) {
    bool mute = tra_log_mute;
    tra_graph_close(p->graph);
    p->graph = NULL;
    tra_log_mute = true;
    tra_status s = build(p, how, false, e);
    tra_log_mute = mute;
    return s;
}
