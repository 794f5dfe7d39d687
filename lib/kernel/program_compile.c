/* program_compile.c - programs of the calculus as kernels of lib/codegen, compiled or interpreted: what is known of
 * their names, and which of those that the run has made is for arrays that are held so. */
#include "program_int.h"

#include <assert.h>
#include <string.h>

int tra_program_held(const tra_layout *a, const tra_layout *b) {
    return (a ? TRA_FUSED_FIRST : 0) | (b ? TRA_FUSED_LAST : 0);
}

/* ---- fused statements ------------------------------------------------------------------------------------------- */

static const tra_calc *tree(tra_arena *a, const tra_fused_plan *x, const char *text) {
    tra_calc_error err;
    const tra_calc *t = tra_calc_parse(text, (int)strlen(text), a, &err);
    bool ok = t && tra_calc_check(t, x->n, x->scope, a, &err);
    assert(ok);
    (void)ok;
    return t;
}

static const char *name_of(const tra_fused_plan *x, tra_fused_part part, int of) {
    for (int i = 0; i < x->n; i++)
        if (x->source[i].part == part && x->source[i].operand == of) return x->scope[i].name;
    return "0";
}

/* The name of a label's extent. Labels that have the same extent in each array share one. */
static const char *extent_of(const tra_calc_program *p, const tra_fused_plan *x, int label) {
    return name_of(x, TRA_FUSED_EXTENT, p->label[label].same);
}

static const char *elements_of(tra_arena *a, const tra_calc_program *p, const tra_fused_plan *x, int o) {
    const tra_program_operand *op = &p->operand[o];
    const char *s = "1";
    for (int d = 0; d < op->block.n; d++) s = tra_arena_printf(a, "%s * %s", s, extent_of(p, x, op->label[d]));
    return s;
}

tra_element tra_fused_element(const tra_calc_program *p, int o) {
    tra_dtype t = p->operand[o].dtype;
    if (p->noperands == 2 || o == p->noperands - 1) return tra_element_of(t);
    return tra_dtype_is_float(t) ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64;
}

static void describe_name(tra_arena *a, const tra_calc_program *p, const tra_fused_plan *x, int held, int i,
                          tra_codegen_name *h) {
    const tra_fused_name *s = &x->source[i];
    const tra_program_operand *o = s->part == TRA_FUSED_EXTENT ? NULL : &p->operand[s->operand];
    const char *rows = name_of(x, TRA_FUSED_ROWS, s->operand), *entries = name_of(x, TRA_FUSED_ENTRIES, s->operand);
    *h = (tra_codegen_name){.component = true, .kind = TRA_COMPONENT_ARRAY, .value = TRA_ELEMENT_I64};
    switch (s->part) {
    case TRA_FUSED_EXTENT:
    case TRA_FUSED_ROWS:
    case TRA_FUSED_ENTRIES: *h = (tra_codegen_name){.natural = true}; return;
    case TRA_FUSED_COORDINATE:
        h->size = tree(a, x, rows);
        h->below = tree(a, x, extent_of(p, x, o->label[s->dim]));
        return;
    case TRA_FUSED_BEGIN:
        if (x->numbered >> s->operand & 1) rows = extent_of(p, x, o->label[0]);
        h->size = tree(a, x, tra_arena_printf(a, "%s + 1", rows));
        return;
    case TRA_FUSED_COLUMN:
        h->value = TRA_ELEMENT_U32;
        h->size = tree(a, x, entries);
        h->below = tree(a, x, extent_of(p, x, o->label[o->block.n - 1]));
        return;
    case TRA_FUSED_VALUE:
        h->value = tra_fused_element(p, s->operand);
        h->size = tree(a, x, tra_fused_has_rows(p, s->operand, held) ? entries : elements_of(a, p, x, s->operand));
        return;
    }
}

static void describe_fused(tra_made *m) {
    const tra_calc_program *p = m->p;
    const tra_fused_plan *x = &p->fused->plan[m->held];
    tra_codegen_name *how = tra_news(m->arena, tra_codegen_name, x->n + 1);
    for (int i = 0; i < x->n; i++) describe_name(m->arena, p, x, m->held, i, &how[i]);
    tra_codegen_result result = m->as_rows ? TRA_CODEGEN_ROWS : p->shape.n ? TRA_CODEGEN_DENSE : TRA_CODEGEN_SCALAR;
    m->spec = (tra_codegen_spec){
        .plan = x->tree, .n = x->n, .scope = x->scope, .how = how, .result = result, .type = tra_element_of(p->dtype)};
    for (int d = 0; d < p->shape.n; d++)
        m->spec.extent[d] = tree(m->arena, x, extent_of(p, x, p->key[p->out[d]].label));
}

/* ---- other programs --------------------------------------------------------------------------------------------- */

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

static void describe_program(tra_made *m, int packed) {
    const tra_calc_program *p = m->p;
    tra_calc_name *names = tra_news(m->arena, tra_calc_name, p->nscope + 1);
    tra_codegen_name *how = tra_news(m->arena, tra_codegen_name, p->nscope + 1);
    find_names(p->value, names);
    for (int i = 0; i < p->nscope; i++) {
        const tra_calc_operand *o = p->scope[i].operand;
        if (!names[i].name) names[i].name = tra_arena_printf(m->arena, "unused%d", i);
        names[i].type =
            o ? (tra_calc_type){o->real, o->sparse, o->rank} : (tra_calc_type){p->scope[i].number.real, 0, 0};
        names[i].relation = how[i].relation = o != NULL;
    }
    for (int o = 0; o < p->noperands; o++) {
        if (p->operand[o].name < 0) continue;
        tra_codegen_name *h = &how[p->operand[o].name];
        h->rows = m->held & (o == packed ? TRA_FUSED_LAST : TRA_FUSED_FIRST);
        h->bits = o < packed && packed > 1;
        h->value = tra_element_of(p->operand[o].dtype);
    }
    m->spec = (tra_codegen_spec){.plan = p->value,
                                 .n = p->nscope,
                                 .scope = names,
                                 .how = how,
                                 .result = TRA_CODEGEN_CALLS,
                                 .type = p->value->type.real ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64,
                                 .interpreted = says_unique(p->value),
                                 .wide = true};
}

/* ---- kernels of a run ------------------------------------------------------------------------------------------- */

static tra_made *describe(const tra_kernel *k, const tra_type *a, const tra_type *b, const tra_layout *out) {
    tra_arena *arena = tra_arena_new();
    tra_made *m = tra_new(arena, tra_made);
    *m = (tra_made){.p = k->program, .held = tra_program_held(a->layout, b->layout), .arena = arena};
    m->as_rows = k->program->fused && out;
    if (k->program->fused)
        describe_fused(m);
    else
        describe_program(m, k->packed);
    return m;
}

bool tra_program_calls(const tra_kernel *k) {
    const tra_fused *x = k->cls == TRA_K_PROGRAM ? k->program->fused : NULL;
    return k->cls == TRA_K_PROGRAM && !(x && !x->plan[x->expected].tree);
}

bool tra_program_compiles(const tra_kernel *k) {
    return tra_program_calls(k) && (k->program->fused || !says_unique(k->program->value));
}

tra_status tra_program_source(const tra_kernel *k, const tra_type *a, const tra_type *b, const tra_layout *out,
                              tra_str *plan, tra_str *c, tra_err *e) {
    tra_made *m = describe(k, a, b, out);
    tra_calc_print(m->spec.plan, plan);
    tra_status s = tra_codegen_source(&m->spec, c, e);
    tra_arena_free(m->arena);
    return s;
}

tra_status tra_program_make(tra_kernel_run *run, tra_codegen *g, const tra_kernel *k, const tra_type *a,
                            const tra_type *b, const tra_layout *out, bool compile, tra_err *e) {
    tra_made *m = describe(k, a, b, out);
    m->next = run->made;
    run->made = m;
    return tra_codegen_make(g, &m->spec, compile, &m->kernel, e);
}

void tra_program_forget(tra_kernel_run *run) {
    while (run->made) {
        tra_made *next = run->made->next;
        tra_arena_free(run->made->arena);
        run->made = next;
    }
}

const tra_made *tra_program_made(const tra_kernel *k, const tra_cell *a, const tra_cell *b, bool as_rows, tra_err *e) {
    int held = tra_program_held(a->layout, b->layout);
    for (const tra_made *m = tra_kernel_here ? tra_kernel_here->made : NULL; m; m = m->next)
        if (m->p == k->program && m->held == held && m->as_rows == as_rows) return m;
    (void)tra_fail(e, TRA_INTERNAL, "a program was not made for operands that are held so");
    return NULL;
}
