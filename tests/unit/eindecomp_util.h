/* eindecomp_util.h - graphs of EinDecomp made of programs. */
#ifndef TRA_EINDECOMP_UTIL_H
#define TRA_EINDECOMP_UTIL_H

#include "../../plans/eindecomp/eindecomp.h"
#include "../../plans/tra/load.h"
#include "check.h"

typedef struct made {
    tra_program program;
    tra_arena *a;
    tra_eingraph *g;
} made;

static inline made make(const char *text) {
    made m = {0};
    tra_err e = {0};
    if (tra_program_from_text("test", tra_strdup(text), strlen(text), &(tra_building){.dir = "."}, false, &m.program,
                              &e) != TRA_OK) {
        check_report("%s: %s", text, e.msg);
        exit(1);
    }
    m.a = m.program.arena;
    m.g = tra_eingraph_build(m.program.graph, m.a);
    return m;
}

static inline void done(made *m) { tra_program_free(&m->program); }

static inline const char *printed(const made *m, int v) {
    tra_str s = {0};
    tra_vertex_print(m->g, v, &s);
    const char *out = tra_arena_strndup(m->a, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return out;
}

/* "i2 k4": the labels that are cut. */
static inline const char *cut_text(const made *m, const tra_labelling *l, int v) {
    tra_str s = {0};
    for (int i = 0; i < m->g->v[v].nlabels; i++) {
        if (l->d[v][i] > 1) tra_str_printf(&s, "%s%s%d", s.n ? " " : "", m->g->v[v].label_name[i], l->d[v][i]);
    }
    const char *out = tra_arena_strndup(m->a, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return out;
}

#endif
