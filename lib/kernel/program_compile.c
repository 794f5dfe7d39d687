/* program_compile.c - programs of the calculus as compiled code (lib/codegen), which program_run.c calls where there is
 * some: the interpreter's contributions, in its order. */
#include "program_int.h"

#include <stdlib.h>
#include <string.h>

/* A program, and how the arrays of its left and right operand are held. */
typedef struct compiled {
    const tra_calc_program *p;
    bool rows[2];
    tra_arena *arena;
    tra_codegen_spec spec;
    const tra_codegen_kernel *kernel;
    struct compiled *next;
} compiled;

static compiled *all; /* made before workers begin, forgotten when they have ended */

/* The names that a tree has for what stands in its scope. */
static void find_names(const tra_calc *x, tra_calc_name *names) {
    if ((x->kind == TRA_CALC_NAME && x->level < 0) || x->kind == TRA_CALC_EXTENT) names[x->index].name = x->name;
    for (int i = 0; i < x->nkids; i++) find_names(x->kids[i], names);
}

/* The interpreter sees whether keys come twice, compiled code does not. */
static bool says_unique(const tra_calc *x) {
    if (x->kind == TRA_CALC_DICT && x->notes & TRA_CALC_UNIQUE) return true;
    for (int i = 0; i < x->nkids; i++)
        if (says_unique(x->kids[i])) return true;
    return false;
}

static compiled *describe(const tra_kernel *k, const bool *rows) {
    const tra_calc_program *p = k->program;
    tra_arena *arena = tra_arena_new();
    compiled *c = tra_new(arena, compiled);
    tra_calc_name *names = tra_news(arena, tra_calc_name, p->nscope + 1);
    tra_codegen_name *how = tra_news(arena, tra_codegen_name, p->nscope + 1);
    find_names(p->value, names);
    for (int i = 0; i < p->nscope; i++) {
        const tra_calc_operand *o = p->scope[i].operand;
        if (!names[i].name) names[i].name = tra_arena_printf(arena, "unused%d", i);
        names[i].type =
            o ? (tra_calc_type){o->real, o->sparse, o->rank} : (tra_calc_type){p->scope[i].number.real, 0, 0};
        names[i].relation = how[i].relation = o != NULL;
    }
    for (int o = 0; o < p->noperands; o++) {
        if (p->operand[o].name < 0) continue;
        tra_codegen_name *h = &how[p->operand[o].name];
        h->rows = rows[o == k->packed];
        h->bits = o < k->packed && k->packed > 1;
        h->value = tra_element_of(p->operand[o].dtype);
    }
    *c = (compiled){.p = p, .rows = {rows[0], rows[1]}, .arena = arena};
    c->spec = (tra_codegen_spec){.plan = p->value,
                                 .n = p->nscope,
                                 .scope = names,
                                 .how = how,
                                 .result = TRA_CODEGEN_CALLS,
                                 .type = p->value->type.real ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64,
                                 .wide = true};
    return c;
}

bool tra_program_compiles(const tra_kernel *k) {
    if (k->cls != TRA_K_PROGRAM) return false;
    const tra_fused *x = k->program->fused;
    return x ? !x->plan[x->expected].masked : !says_unique(k->program->value);
}

tra_status tra_program_source(const tra_kernel *k, const tra_type *a, const tra_type *b, const tra_layout *out,
                              tra_str *plan, tra_str *c, tra_err *e) {
    if (k->program->fused) return tra_fused_source(k, a, b, out, plan, c, e);
    compiled *x = describe(k, (const bool[2]){a->layout, b->layout});
    tra_calc_print(x->spec.plan, plan);
    tra_status s = tra_codegen_source(&x->spec, c, e);
    tra_arena_free(x->arena);
    return s;
}

tra_status tra_program_compile(tra_codegen *g, const tra_kernel *k, const tra_type *a, const tra_type *b,
                               const tra_layout *out, bool compile, tra_err *e) {
    if (k->program->fused) return tra_fused_compile(g, k, a, b, out, compile, e);
    compiled *c = describe(k, (const bool[2]){a->layout, b->layout});
    tra_str source = {0};
    tra_err none = {0};
    bool can = tra_codegen_source(&c->spec, &source, &none) == TRA_OK;
    tra_str_free(&source);
    tra_status s = can ? tra_codegen_make(g, &c->spec, compile, &c->kernel, e) : TRA_OK;
    if (s != TRA_OK || !can || !tra_codegen_compiled(c->kernel)) {
        c->kernel = NULL; /* the interpreter runs it; the kernel refers to what is here for as long as g */
    }
    c->next = all;
    all = c;
    return s;
}

void tra_program_forget(void) {
    tra_fused_forget();
    while (all) {
        compiled *next = all->next;
        tra_arena_free(all->arena);
        all = next;
    }
}

const tra_codegen_kernel *tra_program_compiled(const tra_kernel *k, const tra_cell *a, const tra_cell *b) {
    for (const compiled *c = all; c; c = c->next)
        if (c->p == k->program && c->rows[0] == (a->layout != NULL) && c->rows[1] == (b->layout != NULL))
            return c->kernel;
    return NULL;
}
