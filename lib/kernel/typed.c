/* typed.c - the element types of scalar expressions and of steps, by the rules of tra-lang(5), "Types". */
#include "program_int.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* An operand of an instruction: elements of a type, or a number that the program writes, which takes the type of the
 * other operand. */
typedef struct operand {
    bool is_number;
    double number;
    tra_number_form form;
    int64_t whole;
    tra_dtype type, in; /* in: as it is computed */
    int at;
} operand;

/* The type that a number takes when it is combined with elements of type t. */
static tra_dtype literal_type(const operand *x, tra_dtype t) {
    double v = x->number;
    if (tra_dtype_is_float(t)) return t;
    if (x->form != TRA_NUMBER_EXACT && (x->form == TRA_NUMBER_REAL || v != rint(v) || fabs(v) >= 0x1p63))
        return TRA_F64;
    return t == TRA_I64 || v < INT32_MIN || v > INT32_MAX ? TRA_I64 : TRA_I32;
}

static tra_dtype common(const operand *x, const operand *y) {
    if (x->is_number) return tra_dtype_join(literal_type(x, y->type), y->type);
    if (y->is_number) return tra_dtype_join(literal_type(y, x->type), x->type);
    return tra_dtype_join(x->type, y->type);
}

static tra_dtype float_of(tra_dtype t) { return tra_dtype_is_float(t) ? t : TRA_F64; }
static tra_dtype int_of(tra_dtype t) { return tra_dtype_rows[t].class == TRA_CLASS_BOOL ? TRA_I32 : t; }

static tra_dtype power_type(const operand *x, const operand *y) {
    bool whole = y->is_number && y->form != TRA_NUMBER_REAL && y->number >= 0 && y->number == rint(y->number) &&
                 y->number < 0x1p63;
    return whole && !x->is_number ? x->type : float_of(common(x, y));
}

/* The type of both branches of an `if`: where both are numbers, the one that they have beside bools. */
static tra_dtype branch_type(const operand *x, const operand *y) {
    const operand truth = {.type = TRA_BOOL};
    return x->is_number && y->is_number ? tra_dtype_join(common(x, &truth), common(y, &truth)) : common(x, y);
}

/* The type of op's result, and the one in which it is computed. y is x where op has one operand. */
static tra_dtype op_type(tra_scalar_op op, const operand *x, bool wide, tra_dtype *in) {
    tra_dtype t = op == TRA_S_IF ? branch_type(&x[1], &x[2]) : common(&x[0], &x[1]), r = t;
    switch (tra_scalar_class_of(op)) {
    case TRA_SC_SAME:
    case TRA_SC_IF: break;
    case TRA_SC_PRODUCT: r = wide ? tra_sum_type(t) : t; break;
    case TRA_SC_SUM: r = wide ? tra_sum_type(t) : int_of(t); break;
    case TRA_SC_POWER:
        r = power_type(&x[0], &x[1]);
        if (wide) r = tra_sum_type(r);
        break;
    case TRA_SC_BOOL: *in = tra_strip_type(t); return TRA_BOOL;
    case TRA_SC_REAL: r = float_of(t); break;
    case TRA_SC_CAST: /* a float becomes whole as a float, which then is one */
        r = tra_scalar_cast(op);
        *in = tra_strip_type(tra_dtype_is_float(t) && !tra_dtype_is_float(r) ? t : r);
        return r;
    }
    *in = tra_strip_type(r);
    return r;
}

bool tra_code_is_wide(const tra_code *code) {
    for (int i = 0; i < code->n; i++)
        if (code->v[i].op == TRA_S_WIDE) return true;
    return false;
}

static void compute_number(tra_scalar_op op, const operand *v, operand *r) {
    tra_scalar kid[3];
    int n = tra_scalar_arity(op);
    for (int o = 0; o < 3; o++)
        kid[o] = (tra_scalar){.op = TRA_S_CONST, .value = v[o].number, .form = v[o].form, .whole = v[o].whole};
    const tra_scalar all = {.op = op, .a = &kid[0], .b = n > 1 ? &kid[1] : NULL, .c = n > 2 ? &kid[2] : NULL};
    tra_scalar result;
    tra_scalar_fold(&all, &result);
    r->number = result.value, r->form = result.form, r->whole = result.whole;
}

static tra_insn_read source_of(const operand *x) {
    int64_t whole = x->form == TRA_NUMBER_EXACT ? x->whole : isnan(x->number) ? 0 : tra_int_of(x->number);
    return (tra_insn_read){.at = x->at, .is_number = x->is_number, .number = x->number, .whole = whole, .from = x->in};
}

void tra_code_type(const tra_code *code, int nargs, const tra_dtype *arg, bool wide, tra_typed_insn *v,
                   tra_typed *out) {
    operand regs[TRA_MAXREGS], last = {.is_number = false};
    tra_dtype all = arg[0]; /* of the arguments */
    *out = (tra_typed){.code = code, .alike = true, .v = v};
    for (int i = 1; i < nargs; i++) all = tra_dtype_join(all, arg[i]);
    for (int i = 0; i < nargs; i++) {
        out->alike = out->alike && arg[i] == all && tra_dtype_is_float(all);
        out->load[i] = tra_strip_type(arg[i]);
    }
    for (int i = 0; i < code->n; i++) out->alike = out->alike && !tra_scalar_has_own_type(code->v[i].op);
    out->type = all;
    if (out->alike) return;
    wide = wide || tra_code_is_wide(code);
    for (int i = 0; i < code->n; i++) {
        const tra_insn *c = &code->v[i];
        operand x[3], r = {.at = c->d};
        const int at[3] = {c->a, c->b, c->c};
        bool numbers = true;
        for (int o = 0; o < 3 && c->op != TRA_S_CONST; o++) {
            if (o > 0 && o >= tra_scalar_arity(c->op))
                x[o] = x[0];
            else if (at[o] < 0)
                x[o] = (operand){.type = tra_dtype_is_float(arg[~at[o]]) ? out->load[~at[o]] : arg[~at[o]],
                                 .in = out->load[~at[o]],
                                 .at = at[o]};
            else
                x[o] = regs[at[o]];
            numbers = numbers && x[o].is_number;
        }
        if (c->op == TRA_S_CONST) {
            r.is_number = true;
            r.number = c->value, r.form = c->form, r.whole = c->whole;
        } else if (numbers) {
            r.is_number = true;
            if (c->op == TRA_S_ARG)
                r.number = x[0].number, r.form = x[0].form, r.whole = x[0].whole;
            else
                compute_number(c->op, x, &r);
        } else {
            r.type = op_type(c->op, x, wide, &r.in);
            if (v)
                v[out->n] = (tra_typed_insn){
                    c->op, c->d, r.in, r.type, source_of(&x[0]), source_of(&x[1]), source_of(&x[2]), i};
            out->n++;
        }
        regs[c->d] = last = r;
    }
    out->type = last.type;
    if (!last.is_number) return;
    out->type = literal_type(&last, all);
    if (v) {
        tra_insn_read number = source_of(&last);
        v[out->n] = (tra_typed_insn){TRA_S_CONST, last.at,    tra_strip_type(out->type), out->type, number, number,
                                     number,      code->n - 1};
    }
    out->n++;
}

tra_typed *tra_code_ready(const tra_code *code, int nargs, const tra_dtype *arg, bool wide, const bool *sparse) {
    size_t insns = ((size_t)code->n + 1) * sizeof(tra_typed_insn);
    tra_typed *t = tra_malloc(sizeof *t + insns + (size_t)code->n);
    tra_typed_insn *v = (tra_typed_insn *)(t + 1);
    uint8_t *kill = (uint8_t *)v + insns;
    bool kills;
    tra_code_type(code, nargs, arg, wide, v, t);
    tra_code_sparse(code, sparse, kill, &kills);
    if (kills) t->kill = kill;
    return t;
}

/* ---- steps -------------------------------------------------------------------------------------------------- */

static tra_dtype folded(tra_scalar_op fold, tra_dtype t) {
    if (tra_fold_places(fold)) return TRA_I64;
    return fold == TRA_S_MAX || fold == TRA_S_MIN ? t : tra_sum_type(t);
}

tra_dtype tra_step_dtype(const tra_kernel *k, tra_kernel_use use, tra_dtype a, tra_dtype b) {
    tra_dtype arg[2] = {a, use == TRA_USE_JOIN ? b : a}, both = tra_dtype_join(arg[0], arg[1]);
    tra_typed code;
    switch (k->cls) {
    case TRA_K_SCALAR: tra_code_type(k->code, use == TRA_USE_JOIN ? 2 : 1, arg, false, NULL, &code); return code.type;
    case TRA_K_ALIGNED:
        tra_code_type(k->code, k->nin, arg, tra_aligned_sums(k), NULL, &code);
        return k->nlabels > k->nout ? folded(k->fold, code.type) : code.type;
    case TRA_K_EINSUM:
        if (k->nin == 1) return k->nlabels > k->nout ? folded(k->fold, a) : a;
        return k->nlabels > k->nout ? tra_sum_type(both) : both;
    case TRA_K_OUTER: return both;
    case TRA_K_TRANSPOSE:
    case TRA_K_DIAG: return a;
    case TRA_K_ROW:
    case TRA_K_COL:
    case TRA_K_FOLD: return folded(k->fold, a);
    case TRA_K_TOP: return use == TRA_USE_JOIN ? b : a;
    case TRA_K_SOFTMAX: return float_of(both);
    case TRA_K_LAPACK: /* R of least squares is f64 whatever is solved: it tells what is singular */
        if (k->row->narrow) return TRA_F32;
        return k->row->lapack == TRA_L_TSQR_FIRST_R && use == TRA_USE_JOIN ? TRA_F64 : float_of(both);
    case TRA_K_INDEX: return TRA_F64;
    case TRA_K_ROWS: return k->rows->dtype;
    case TRA_K_PACK: return TRA_I64;
    case TRA_K_PROGRAM: return k->program->dtype;
    case TRA_K_THEN: break;
    }
    assert(!"one step");
    return a;
}

bool tra_aligned_sums(const tra_kernel *k) {
    return k->nlabels > k->nout && (k->fold == TRA_S_ADD || k->fold == TRA_S_MUL);
}

tra_dtype tra_kernel_dtype(const tra_kernel *k, tra_kernel_use use, tra_dtype a, tra_dtype b) {
    const tra_kernel *const *steps;
    int n = tra_steps(k, &steps, &k);
    tra_dtype t = tra_step_dtype(steps[0], use, a, b);
    for (int i = 1; i < n; i++) t = tra_step_dtype(steps[i], TRA_USE_MAP, t, t);
    return t;
}
