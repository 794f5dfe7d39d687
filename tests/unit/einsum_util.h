/* einsum_util.h - graphs of programs with EinSum statements. */
#ifndef TRA_EINSUM_UTIL_H
#define TRA_EINSUM_UTIL_H

#include "check.h"
#include "graph_valid.h"

#include "../../plans/reference/reference_int.h"

typedef struct built {
    tra_arena *a;
    tra_graph *g;
    tra_script src;
    tra_diags d;
    tra_err e;
    tra_status status;
} built;

static inline built build(const char *text) {
    built b = {.a = tra_arena_new()};
    b.src = (tra_script){.name = "p.tra", .text = tra_arena_strndup(b.a, text, strlen(text)), .n = (int)strlen(text)};
    b.d = (tra_diags){.arena = b.a};
    return b;
}

static inline void compile(built *b) {
    const char *why = "";
    b->d.src = &b->src;
    b->status = tra_graph_build(&b->src, &(tra_building){.dir = "."}, b->a, &b->d, &b->g, &b->e);
    if (b->status == TRA_OK && !graph_valid(b->g, &why)) check_report("not valid: %s", why);
}

static inline void done(built *b) {
    if (b->g) tra_graph_close(b->g);
    tra_arena_free(b->a);
}

#endif
