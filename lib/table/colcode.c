/* colcode.c - expressions as programs over strips of rows: one instruction for each node, registers for their results,
 * and running them strip by strip (what an instruction does is in eval.c). */
#include "../kernel/strips.h"
#include "table_int.h"

#include <string.h>

enum { REG = TRA_COLSTRIP * 9 }; /* bytes of a register: values of up to 8 bytes, and their states */

/* ---- from trees to programs -------------------------------------------------------------------------------------- */

typedef struct compiler {
    tra_arena *arena;
    tra_colinsn *v;
    int n, cap;
    int *last; /* of each instruction, the last one that reads its result; n for those of the roots */
    int nslots, *slot; /* where instructions are found by their nodes: a power of two of them; number + 1, or 0 */
} compiler;

static int count_nodes(const tra_colexpr *x) {
    int n = 1;
    for (int i = 0; i < x->nkids; i++) n += count_nodes(x->kids[i]);
    return n;
}

static int *find_slot(const compiler *c, const tra_colexpr *x) {
    uint64_t key = x->op == TRA_C_COLUMN ? (uint64_t)x->column : (uint64_t)(uintptr_t)x;
    for (uint64_t i = key * 0x9E3779B97F4A7C15u >> 32;; i++) {
        int *slot = &c->slot[i & (uint64_t)(c->nslots - 1)];
        const tra_colexpr *y = *slot ? c->v[*slot - 1].x : x;
        if (y == x || (x->op == TRA_C_COLUMN && y->op == TRA_C_COLUMN && x->column == y->column)) return slot;
    }
}

/* Adds the instruction of a node after those of its operands, unless it is there already: a node that is shared, and a
 * column, have one instruction. */
static int add_node(compiler *c, const tra_colexpr *x) {
    int *slot = find_slot(c, x);
    if (*slot) return *slot - 1;
    int *kid = tra_news(c->arena, int, x->nkids);
    for (int i = 0; i < x->nkids; i++) kid[i] = add_node(c, x->kids[i]);
    for (int i = 0; i < x->nkids; i++) c->last[kid[i]] = c->n;
    c->v[c->n] = (tra_colinsn){.x = x, .kid = kid};
    c->last[c->n] = c->n;
    *find_slot(c, x) = c->n + 1;
    return c->n++;
}

/* Gives each result a register from the instruction that makes it to the last one that reads it; returns how many there
 * are. Constants keep theirs, since they are filled once. */
static int assign_registers(compiler *c) {
    int regs = 0, *freed = tra_news(c->arena, int, c->n + 1), nfree = 0;
    for (int i = 0; i < c->n; i++) {
        tra_colinsn *v = &c->v[i];
        if (v->x->op == TRA_C_COLUMN)
            v->reg = -1;
        else if (v->x->op != TRA_C_CONST && nfree > 0)
            v->reg = freed[--nfree];
        else
            v->reg = regs++;
        for (int k = 0; k < v->x->nkids; k++) {
            int j = v->kid[k], reg = c->v[j].reg;
            bool again = false;
            if (c->last[j] != i || reg < 0 || c->v[j].x->op == TRA_C_CONST) continue;
            for (int l = 0; l < k; l++) again |= v->kid[l] == j;
            if (!again) freed[nfree++] = reg;
        }
    }
    return regs;
}

tra_colcode *tra_colcode_new(tra_arena *a, int nroots, const tra_colexpr *const *roots) {
    compiler c = {.arena = a};
    for (int i = 0; i < nroots; i++) c.cap += count_nodes(roots[i]);
    c.v = tra_news(a, tra_colinsn, c.cap + 1);
    c.last = tra_news(a, int, c.cap + 1);
    for (c.nslots = 2; c.nslots < 2 * c.cap; c.nslots *= 2) continue;
    c.slot = tra_news(a, int, c.nslots);
    int *root = tra_news(a, int, nroots + 1);
    for (int i = 0; i < nroots; i++) root[i] = add_node(&c, roots[i]);
    for (int i = 0; i < nroots; i++) c.last[root[i]] = c.n;
    tra_colcode *code = tra_new(a, tra_colcode);
    *code = (tra_colcode){.n = c.n, .nroots = nroots, .v = c.v, .root = root};
    code->nregs = assign_registers(&c);
    return code;
}

static int64_t values_bytes(const tra_colcode *c) {
    return tra_ceil_div((int64_t)c->n * (int64_t)sizeof(tra_colvalue), 64) * 64;
}

int64_t tra_colcode_scratch(const tra_colcode *c) { return values_bytes(c) + (int64_t)c->nregs * REG; }

/* ---- a strip ----------------------------------------------------------------------------------------------------- */

static char *register_of(const tra_colrun *r, int reg) { return r->regs + (int64_t)reg * REG; }

/* Fills the register of a constant. */
static void fill(const tra_colexpr *x, char *values, uint8_t *state) {
    tra_call_value v = {.type = x->type, .i = x->value.i, .f = x->value.f};
    char one[8];
    tra_call_put(&v, one, 0);
    tra_fill_strip(values, tra_coltype_held(x->type), one, TRA_COLSTRIP);
    memset(state, x->null ? TRA_STATE_NULL : TRA_STATE_VALUE, TRA_COLSTRIP);
}

void tra_colrun_begin(tra_colrun *r, const tra_colcode *c, void *scratch) {
    r->code = c;
    r->at = scratch;
    r->regs = (char *)scratch + values_bytes(c);
    r->divided = false;
    for (int i = 0; i < c->n; i++) {
        const tra_colexpr *x = c->v[i].x;
        if (x->op != TRA_C_CONST) continue;
        char *values = register_of(r, c->v[i].reg);
        fill(x, values, (uint8_t *)values + TRA_COLSTRIP * 8);
        r->at[i] = (tra_colvalue){values, x->null ? (uint8_t *)values + TRA_COLSTRIP * 8 : NULL};
    }
}

/* May the tree make a NULL that is noted? */
static bool divides(const tra_colexpr *x) {
    bool any = x->op == TRA_C_LOOKUP && x->tstate;
    if (x->op < TRA_C_COLUMN)
        any = tra_colop_class(x->op) == TRA_COLCLASS_QUOTIENT || tra_colop_class(x->op) == TRA_COLCLASS_MOMENT;
    for (int i = 0; i < x->nkids && !any; i++) any = divides(x->kids[i]);
    return any;
}

tra_null_rows tra_colrun_by_zero(const tra_colrun *r, int root, int n) {
    const uint8_t *state = tra_colrun_result(r, root).state;
    tra_null_rows rows = {0};
    if (!r->divided || !state || !divides(r->code->v[r->code->root[root]].x)) return rows;
    for (int i = 0; i < n; i++) rows.n += state[i] == TRA_STATE_NULL && r->zero[i];
    for (int i = 0; i < n && rows.n > 0; i++) rows.causes |= state[i] == TRA_STATE_NULL ? r->zero[i] : 0u;
    return rows;
}

void tra_colrun_strip(tra_colrun *r, const tra_vector *columns, int64_t first, int n) {
    r->divided = false;
    for (int i = 0; i < r->code->n; i++) {
        const tra_colinsn *v = &r->code->v[i];
        if (v->x->op == TRA_C_CONST) continue;
        if (v->x->op == TRA_C_COLUMN) {
            r->at[i] = (tra_colvalue){columns[v->x->column].values, columns[v->x->column].state};
            continue;
        }
        char *values = register_of(r, v->reg);
        tra_colstep s = {.run = r, .x = v->x, .insn = v, .out = &r->at[i], .n = n, .first = first};
        s.states = (uint8_t *)values + TRA_COLSTRIP * 8;
        r->at[i] = (tra_colvalue){.values = values};
        for (int k = 0; k < v->x->nkids && k < 3; k++) s.kid[k] = &r->at[v->kid[k]];
        tra_colstep_run(&s);
    }
}
