/* projection.c - columns of a projection, as they are added. */
#include "table.h"

int tra_projection_add(tra_projection *p, const char *name, const tra_colexpr *x) {
    TRA_ARENA_DOUBLE(p->arena, p->names, p->n);
    TRA_ARENA_DOUBLE(p->arena, p->x, p->n);
    p->names[p->n] = name;
    p->x[p->n] = x;
    return p->n++;
}

int tra_projection_keep(tra_projection *p, const tra_schema *s, int c) {
    return tra_projection_add(p, s->v[c].name, tra_colexpr_column(p->arena, s, c));
}

tra_rowwise *tra_projection_pass(const tra_projection *p, const tra_schema *in) {
    tra_rowwise *r = tra_rowwise_new(p->arena, in);
    tra_rowwise_project(r, p->n, p->names, p->x);
    return r;
}
