/* fused_pieces.c - which fused statements are computed in pieces: those whose plan is one loop over the rows of an
 * operand. */
#include "program_int.h"
#include "parallel_sums.h"

/* The outermost loop: sum(<row, key> in coordinates) .. */
typedef struct outermost {
    const tra_fused_plan *x;
    int operand, row, key; /* levels of both names */
} outermost;

static const tra_fused_name *source_of(const tra_fused_plan *x, const tra_calc *t) {
    return t->kind == TRA_CALC_NAME && t->level < 0 ? &x->source[t->index] : NULL;
}

static bool is_row(const outermost *o, const tra_calc *t) { return t->kind == TRA_CALC_NAME && t->level == o->row; }

/* Is the expression the row number of the loop, or that plus 1? */
static bool is_near(const outermost *o, const tra_calc *t) {
    if (t->kind != TRA_CALC_ADD) return is_row(o, t);
    const tra_calc *one = t->kids[1];
    return is_row(o, t->kids[0]) && one->kind == TRA_CALC_NUMBER && !one->is_real && one->whole == 1;
}

/* Does the tree read no other rows of the operand than the one that the loop is at? */
static bool keeps_to_row(const outermost *o, const tra_calc *t) {
    const tra_fused_name *of = source_of(o->x, t);
    bool own = of && of->operand == o->operand && of->part != TRA_FUSED_EXTENT;
    if (own && of->part != TRA_FUSED_COLUMN && of->part != TRA_FUSED_VALUE) return false;
    int from = 0;
    if (t->kind == TRA_CALC_APPLY && t->nkids == 2) {
        of = source_of(o->x, t->kids[0]);
        own = of && of->operand == o->operand;
        if (own && of->part == TRA_FUSED_COORDINATE && is_row(o, t->kids[1])) from = 2;
        if (own && of->part == TRA_FUSED_BEGIN && is_near(o, t->kids[1])) from = 2;
    }
    for (int i = from; i < t->nkids; i++)
        if (!keeps_to_row(o, t->kids[i])) return false;
    return true;
}

/* Is the loop's key the first key of everything that the tree makes? */
static bool has_key(const outermost *o, const tra_calc *t) {
    switch ((int)t->kind) {
    case TRA_CALC_SUM:
    case TRA_CALC_MERGE:
    case TRA_CALC_LET:
    case TRA_CALC_IF: return has_key(o, t->kids[t->nkids - 1]);
    case TRA_CALC_ADD: return has_key(o, t->kids[0]) && has_key(o, t->kids[1]);
    case TRA_CALC_DICT: return t->kids[0]->kind == TRA_CALC_NAME && t->kids[0]->level == o->key;
    }
    return false;
}

bool tra_fused_loop_of(const tra_fused_plan *x, tra_fused_loop *l) {
    const tra_calc *t = x->tree;
    if (t->kind != TRA_CALC_SUM || t->nnames[0] != 1) return false;
    const tra_fused_name *of = source_of(x, t->kids[0]);
    if (!of || of->part != TRA_FUSED_COORDINATE || t->binders[0].again || t->binders[1].again) return false;
    outermost o = {x, of->operand, t->binders[0].level, t->binders[1].level};
    for (int i = 1; i < t->nkids; i++)
        if (!keeps_to_row(&o, t->kids[i])) return false;
    /* rows ascend by the first dimension */
    bool disjoint = of->dim == 0 && o.key >= 0 && has_key(&o, t->kids[t->nkids - 1]);
    *l = (tra_fused_loop){.operand = of->operand, .disjoint = disjoint};
    return true;
}
