/* keyfn.c - evaluation and printing of functions of keys. */
#include "keyfn.h"

static const struct {
    int arity;
    const char *text;
} ops[] = {
#define X(name, arity, text) [TRA_KEY_##name] = {arity, text},
    TRA_KEYOPS(X)
#undef X
};

static const tra_keyexpr *keyexpr(tra_arena *a, tra_keyexpr x) {
    tra_keyexpr *own = tra_new(a, tra_keyexpr);
    *own = x;
    return own;
}

const tra_keyexpr *tra_keyexpr_of(tra_arena *a, tra_keyop op, const tra_keyexpr *x, const tra_keyexpr *y) {
    return keyexpr(a, (tra_keyexpr){.op = op, .a = x, .b = y});
}

const tra_keyexpr *tra_keyexpr_int(tra_arena *a, int64_t v) {
    return keyexpr(a, (tra_keyexpr){.op = TRA_KEY_INT, .value = v});
}

const tra_keyexpr *tra_keyexpr_component(tra_arena *a, int d) {
    return keyexpr(a, (tra_keyexpr){.op = TRA_KEY_VAR, .var = d});
}

const tra_keyfn *tra_keyfn_new(tra_arena *a, int arity, const char *const *names, int n,
                               const tra_keyexpr *const *expr) {
    tra_keyfn *f = tra_new(a, tra_keyfn);
    *f = (tra_keyfn){.arity = arity, .n = n};
    for (int d = 0; d < arity; d++) f->names[d] = names ? names[d] : tra_arena_printf(a, "k%d", d);
    for (int i = 0; i < n; i++) f->expr[i] = expr[i];
    return f;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* One operator on values; false on overflow or division by zero. */
static bool apply(tra_keyop op, int64_t a, int64_t b, int64_t *r) {
    switch (op) {
    case TRA_KEY_INT:
    case TRA_KEY_VAR: return false;
    case TRA_KEY_ADD: return !__builtin_add_overflow(a, b, r);
    case TRA_KEY_SUB: return !__builtin_sub_overflow(a, b, r);
    case TRA_KEY_MUL: return !__builtin_mul_overflow(a, b, r);
    case TRA_KEY_DIV: return b == 0 || (a == INT64_MIN && b == -1) ? false : (*r = floor_div(a, b), true);
    case TRA_KEY_MOD: return b == 0 ? false : (*r = b == -1 ? 0 : a - b * floor_div(a, b), true);
    case TRA_KEY_LT: return *r = a < b, true;
    case TRA_KEY_LE: return *r = a <= b, true;
    case TRA_KEY_GT: return *r = a > b, true;
    case TRA_KEY_GE: return *r = a >= b, true;
    case TRA_KEY_EQ: return *r = a == b, true;
    case TRA_KEY_NE: return *r = a != b, true;
    case TRA_KEY_AND: return *r = a && b, true;
    case TRA_KEY_OR: return *r = a || b, true;
    case TRA_KEY_MIN: return *r = a < b ? a : b, true;
    case TRA_KEY_MAX: return *r = a > b ? a : b, true;
    case TRA_KEY_NEG: return !__builtin_sub_overflow(0, a, r);
    case TRA_KEY_NOT: return *r = !a, true;
    case TRA_KEY_ABS: return a < 0 ? !__builtin_sub_overflow(0, a, r) : (*r = a, true);
    }
    return false;
}

tra_status tra_keyexpr_eval(const tra_keyexpr *x, const tra_dims *key, int64_t *out, tra_err *e) {
    int64_t a = 0, b = 0;
    char buf[TRA_DIMTEXT];
    if (x->op == TRA_KEY_INT) return *out = x->value, TRA_OK;
    if (x->op == TRA_KEY_VAR) return *out = key->v[x->var], TRA_OK;
    TRA_TRY(tra_keyexpr_eval(x->a, key, &a, e));
    if ((x->op == TRA_KEY_AND && !a) || (x->op == TRA_KEY_OR && a)) return *out = a != 0, TRA_OK;
    if (ops[x->op].arity == 2) TRA_TRY(tra_keyexpr_eval(x->b, key, &b, e));
    if (apply(x->op, a, b, out)) return TRA_OK;
    const char *at = key->n ? " at key " : "", *where = key->n ? tra_key_text(key, buf) : "";
    if ((x->op == TRA_KEY_DIV || x->op == TRA_KEY_MOD) && b == 0)
        return tra_fail(e, TRA_PROGRAM, "division by zero%s%s", at, where);
    return tra_fail(e, TRA_PROGRAM, "integer overflow in %s%s%s", ops[x->op].text, at, where);
}

tra_status tra_keyfn_eval(const tra_keyfn *f, const tra_dims *key, tra_dims *out, tra_err *e) {
    out->n = f->n;
    for (int i = 0; i < f->n; i++) {
        char buf[TRA_DIMTEXT];
        TRA_TRY(tra_keyexpr_eval(f->expr[i], key, &out->v[i], e));
        if (out->v[i] < 0)
            return tra_fail(e, TRA_PROGRAM,
                            "component %d of the new key is %" PRId64 " at key %s; keys are not negative", i, out->v[i],
                            tra_key_text(key, buf));
        if (out->v[i] == INT64_MAX) /* its frontier, one more, must be a number */
            return tra_fail(e, TRA_PROGRAM, "integer overflow in the new key at key %s", tra_key_text(key, buf));
    }
    return TRA_OK;
}

uint32_t tra_keyexpr_vars(const tra_keyexpr *x) {
    if (x->op == TRA_KEY_INT) return 0;
    if (x->op == TRA_KEY_VAR) return 1u << x->var;
    return tra_keyexpr_vars(x->a) | (ops[x->op].arity == 2 ? tra_keyexpr_vars(x->b) : 0);
}

bool tra_keyexpr_is_var(const tra_keyexpr *x, int *var) {
    if (x->op != TRA_KEY_VAR) return false;
    if (var) *var = x->var;
    return true;
}

const tra_keyexpr *tra_keyexpr_replace(tra_arena *a, const tra_keyexpr *x, const tra_keyexpr *const *by) {
    if (x->op == TRA_KEY_INT) return x;
    if (x->op == TRA_KEY_VAR) return by[x->var];
    tra_keyexpr *y = tra_new(a, tra_keyexpr);
    *y = *x;
    y->a = tra_keyexpr_replace(a, x->a, by);
    if (ops[x->op].arity == 2) y->b = tra_keyexpr_replace(a, x->b, by);
    return y;
}

int tra_keyexpr_size(const tra_keyexpr *x) {
    if (x->op == TRA_KEY_INT || x->op == TRA_KEY_VAR) return 1;
    return 1 + tra_keyexpr_size(x->a) + (ops[x->op].arity == 2 ? tra_keyexpr_size(x->b) : 0);
}

int tra_keyexpr_compare(const tra_keyexpr *x, const tra_keyexpr *y) {
    if (x->op != y->op) return x->op < y->op ? -1 : 1;
    if (x->op == TRA_KEY_INT) return (x->value > y->value) - (x->value < y->value);
    if (x->op == TRA_KEY_VAR) return (x->var > y->var) - (x->var < y->var);
    int c = tra_keyexpr_compare(x->a, y->a);
    return c || ops[x->op].arity == 1 ? c : tra_keyexpr_compare(x->b, y->b);
}

static int binding(const tra_keyexpr *x) {
    switch (x->op) {
    case TRA_KEY_OR: return 1;
    case TRA_KEY_AND: return 2;
    case TRA_KEY_LT:
    case TRA_KEY_LE:
    case TRA_KEY_GT:
    case TRA_KEY_GE:
    case TRA_KEY_EQ:
    case TRA_KEY_NE: return 3;
    case TRA_KEY_ADD:
    case TRA_KEY_SUB: return 4;
    case TRA_KEY_MUL:
    case TRA_KEY_DIV:
    case TRA_KEY_MOD: return 5;
    case TRA_KEY_NEG:
    case TRA_KEY_NOT: return 6;
    case TRA_KEY_INT: return x->value < 0 ? 6 : 7;
    case TRA_KEY_VAR:
    case TRA_KEY_MIN:
    case TRA_KEY_MAX:
    case TRA_KEY_ABS: return 7;
    }
    return 7;
}

static void print(const tra_keyexpr *x, const char *const *names, int least, tra_str *out) {
    int b = binding(x);
    if (b < least) tra_str_add(out, "(");
    if (x->op == TRA_KEY_INT) {
        tra_str_printf(out, "%" PRId64, x->value);
    } else if (x->op == TRA_KEY_VAR) {
        tra_str_add(out, names[x->var]);
    } else if (x->op == TRA_KEY_MIN || x->op == TRA_KEY_MAX || x->op == TRA_KEY_ABS) {
        tra_str_printf(out, "%s(", ops[x->op].text);
        print(x->a, names, 0, out);
        if (ops[x->op].arity == 2) {
            tra_str_add(out, ", ");
            print(x->b, names, 0, out);
        }
        tra_str_add(out, ")");
    } else if (ops[x->op].arity == 1) {
        tra_str_add(out, ops[x->op].text);
        print(x->a, names, 6, out);
    } else {
        bool compares = b == 3; /* comparisons do not chain */
        print(x->a, names, compares ? b + 1 : b, out);
        tra_str_printf(out, b <= 4 ? " %s " : "%s", ops[x->op].text);
        print(x->b, names, b + 1, out);
    }
    if (b < least) tra_str_add(out, ")");
}

void tra_keyfn_print(const tra_keyfn *f, bool predicate, tra_str *out) {
    tra_str_add(out, "(");
    for (int i = 0; i < f->arity; i++) tra_str_printf(out, "%s%s", i ? ", " : "", f->names[i]);
    tra_str_add(out, predicate ? ") -> " : ") -> (");
    for (int i = 0; i < f->n; i++) {
        if (i) tra_str_add(out, ", ");
        print(f->expr[i], f->names, 0, out);
    }
    if (!predicate) tra_str_add(out, ")");
}
