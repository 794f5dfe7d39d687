/* lang_util.h - texts of the language, parsed. */
#ifndef TRA_LANG_UTIL_H
#define TRA_LANG_UTIL_H

#include "check.h"

#include "../../plans/lang/lang.h"
#include "../../plans/lang/names.h"

typedef struct parsed {
    tra_arena *arena;
    tra_script src;
    tra_diags d;
    tra_ast_program ast;
    tra_str text;
} parsed;

static inline parsed parse_n(const char *text, int n) {
    parsed p = {.arena = tra_arena_new(), .src = {"p.tra", text, n}};
    return p;
}

/* Parses into *p, which must stay where it is. */
static inline void run(parsed *p) {
    p->d = (tra_diags){.arena = p->arena, .src = &p->src};
    tra_parse(&p->src, p->arena, &p->d, &p->ast);
    tra_diags_print(&p->d, false, &p->text);
}

static inline void done(parsed *p) {
    tra_str_free(&p->text);
    tra_arena_free(p->arena);
}

#endif
