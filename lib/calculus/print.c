/* print.c - the canonical text of a tree, and whether two trees say the same. */
#include "calc_parse.h"

#include <math.h>
#include <string.h>

/* The operator, or NULL. */
static const char *kind_text(tra_calc_kind k) {
    static const char *const text[] = {
#define X(name, text) text,
        TRA_CALC_KINDS(X)
#undef X
    };
    return text[k];
}

const char *calc_fn_text(tra_calc_fn fn) {
    static const char *const text[] = {
#define X(name, least, most, text) text,
        TRA_CALC_FUNCTIONS(X)
#undef X
    };
    return text[fn];
}

bool calc_is_comparison(tra_calc_kind k) { return k >= TRA_CALC_LT && k <= TRA_CALC_NE; }

typedef struct printer {
    tra_str *out;
    int n; /* names in whose place numbers stand */
    const char *const *names;
    const int64_t *values;
} printer;

/* How tightly a node binds: a kid that binds less than its place wants stands in parentheses. */
enum { BINDS_OR, BINDS_AND, BINDS_NOT, BINDS_RANGE, BINDS_SUM, BINDS_PRODUCT, BINDS_UNARY, BINDS_POSTFIX };

static int binds(tra_calc_kind k) {
    switch (k) {
    case TRA_CALC_OR: return BINDS_OR;
    case TRA_CALC_AND: return BINDS_AND;
    case TRA_CALC_COMPARISONS:
    case TRA_CALC_NOT: return BINDS_NOT;
    case TRA_CALC_RANGE: return BINDS_RANGE;
    case TRA_CALC_ADD:
    case TRA_CALC_SUB: return BINDS_SUM;
    case TRA_CALC_MUL:
    case TRA_CALC_DIV:
    case TRA_CALC_MOD: return BINDS_PRODUCT;
    case TRA_CALC_NEG: return BINDS_UNARY;
    case TRA_CALC_NUMBER:
    case TRA_CALC_NAME:
    case TRA_CALC_CALL:
    case TRA_CALC_EXTENT:
    case TRA_CALC_DICT:
    case TRA_CALC_APPLY:
    case TRA_CALC_SLICE:
    case TRA_CALC_IF: /* these go on as far as they can: see print_at */
    case TRA_CALC_LET:
    case TRA_CALC_SUM:
    case TRA_CALC_MERGE: return BINDS_POSTFIX;
    }
    return BINDS_POSTFIX;
}

static bool goes_on(tra_calc_kind k) {
    return k == TRA_CALC_IF || k == TRA_CALC_LET || k == TRA_CALC_SUM || k == TRA_CALC_MERGE;
}

static void print(const printer *p, const tra_calc *x, bool last);

/* x where something that binds at least so is wanted. last: nothing follows inside these brackets. */
static void print_at(const printer *p, const tra_calc *x, int least, bool last) {
    bool brackets = binds(x->kind) < least || (goes_on(x->kind) && !last);
    if (brackets) tra_str_add(p->out, "(");
    print(p, x, last || brackets);
    if (brackets) tra_str_add(p->out, ")");
}

static void print_list(const printer *p, int n, tra_calc *const *v) {
    for (int i = 0; i < n; i++) {
        if (i) tra_str_add(p->out, ", ");
        print(p, v[i], true);
    }
}

static void print_number(const printer *p, const tra_calc *x) {
    char buf[32];
    if (!x->is_real) {
        tra_str_printf(p->out, "%" PRId64, x->whole);
        return;
    }
    tra_exactly(x->real, buf);
    tra_str_printf(p->out, "%s%s", buf, strpbrk(buf, ".e") ? "" : ".0");
}

static void print_name(const printer *p, const tra_calc *x) {
    for (int i = 0; i < p->n && x->level < 0; i++)
        if (strcmp(p->names[i], x->name) == 0) {
            tra_str_printf(p->out, p->values[i] < 0 ? "(%" PRId64 ")" : "%" PRId64, p->values[i]);
            return;
        }
    tra_str_add(p->out, x->name);
}

static void print_binder(const printer *p, const tra_calc_binder *b) { tra_str_add(p->out, b->name ? b->name : "_"); }

static void print_sum(const printer *p, const tra_calc *x) {
    const tra_calc_binder *b = x->binders;
    tra_str_add(p->out, "sum(");
    for (int g = 0; g + 1 < x->nkids; g++) {
        tra_str_add(p->out, g ? ", <" : "<");
        if (x->nnames[g] > 1) tra_str_add(p->out, "(");
        for (int i = 0; i < x->nnames[g]; i++) {
            if (i) tra_str_add(p->out, ", ");
            print_binder(p, b++);
        }
        tra_str_add(p->out, x->nnames[g] > 1 ? "), " : ", ");
        print_binder(p, b++);
        tra_str_add(p->out, "> in ");
        print(p, x->kids[g], true);
    }
    tra_str_add(p->out, ") ");
    print(p, x->kids[x->nkids - 1], true);
}

static void print_dict(const printer *p, const tra_calc *x) {
    int n = x->nkids - 1;
    tra_str_add(p->out, "{");
    if (x->notes & TRA_CALC_UNIQUE) tra_str_add(p->out, "@unique ");
    if (x->notes & TRA_CALC_DENSE) tra_str_add(p->out, "@dense ");
    if (x->notes & TRA_CALC_HASH) tra_str_add(p->out, "@hash ");
    if (n != 1) tra_str_add(p->out, "(");
    print_list(p, n, x->kids);
    tra_str_add(p->out, n != 1 ? ") -> " : " -> ");
    print(p, x->kids[n], true);
    tra_str_add(p->out, "}");
}

static void print_binary(const printer *p, const tra_calc *x, bool last) {
    int b = binds(x->kind);
    /* comparisons have sums on both sides and do not chain */
    int left = b == BINDS_NOT || b == BINDS_RANGE ? BINDS_SUM : b;
    int right = b == BINDS_NOT || b == BINDS_RANGE ? BINDS_SUM : b + 1;
    const char *blank = x->kind == TRA_CALC_RANGE ? "" : " ";
    print_at(p, x->kids[0], left, false);
    tra_str_printf(p->out, "%s%s%s", blank, kind_text(x->kind), blank);
    print_at(p, x->kids[1], right, last);
}

static void print_let(const printer *p, const tra_calc *x) {
    tra_str_add(p->out, "let ");
    for (int i = 0; i < x->nbinders; i++) {
        if (i) tra_str_add(p->out, ", ");
        print_binder(p, &x->binders[i]);
        tra_str_add(p->out, " = ");
        print(p, x->kids[i], true);
    }
    tra_str_add(p->out, " in ");
    print(p, x->kids[x->nkids - 1], true);
}

static void print_merge(const printer *p, const tra_calc *x) {
    tra_str_add(p->out, "merge(<");
    for (int i = 0; i < 3; i++) {
        if (i) tra_str_add(p->out, ", ");
        print_binder(p, &x->binders[i]);
    }
    tra_str_add(p->out, "> in <");
    print_list(p, 2, x->kids);
    tra_str_add(p->out, ">) ");
    print(p, x->kids[2], true);
}

static void print(const printer *p, const tra_calc *x, bool last) {
    switch (x->kind) {
    case TRA_CALC_NUMBER: print_number(p, x); return;
    case TRA_CALC_NAME: print_name(p, x); return;
    case TRA_CALC_NEG:
        tra_str_add(p->out, "-");
        print_at(p, x->kids[0], BINDS_UNARY, last);
        return;
    case TRA_CALC_NOT:
        tra_str_add(p->out, "!(");
        print(p, x->kids[0], true);
        tra_str_add(p->out, ")");
        return;
    case TRA_CALC_EXTENT: tra_str_printf(p->out, "extent(%s, %" PRId64 ")", x->name, x->whole); return;
    case TRA_CALC_CALL:
        tra_str_printf(p->out, "%s(", x->name);
        print_list(p, x->nkids, x->kids);
        tra_str_add(p->out, ")");
        return;
    case TRA_CALC_APPLY:
    case TRA_CALC_SLICE:
        print_at(p, x->kids[0], BINDS_POSTFIX, false);
        tra_str_add(p->out, "(");
        if (x->kind == TRA_CALC_APPLY) {
            print_list(p, x->nkids - 1, x->kids + 1);
        } else {
            print_at(p, x->kids[1], BINDS_SUM, false);
            tra_str_add(p->out, ":");
            print_at(p, x->kids[2], BINDS_SUM, true);
        }
        tra_str_add(p->out, ")");
        return;
    case TRA_CALC_DICT: print_dict(p, x); return;
    case TRA_CALC_IF:
        tra_str_add(p->out, "if (");
        print(p, x->kids[0], true);
        tra_str_add(p->out, ") ");
        print(p, x->kids[1], true);
        return;
    case TRA_CALC_LET: print_let(p, x); return;
    case TRA_CALC_SUM: print_sum(p, x); return;
    case TRA_CALC_MERGE: print_merge(p, x); return;
    case TRA_CALC_ARITHMETIC:
    case TRA_CALC_RANGE:
    case TRA_CALC_COMPARISONS:
    case TRA_CALC_AND:
    case TRA_CALC_OR: print_binary(p, x, last); return;
    }
}

void tra_calc_print(const tra_calc *x, tra_str *out) { print(&(printer){.out = out}, x, true); }

void tra_calc_print_with(const tra_calc *x, int n, const char *const *names, const int64_t *values, tra_str *out) {
    print(&(printer){out, n, names, values}, x, true);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

bool tra_calc_equal(const tra_calc *x, const tra_calc *y) {
    if (x->kind != y->kind || x->nkids != y->nkids || x->nbinders != y->nbinders || x->notes != y->notes ||
        x->is_real != y->is_real || x->whole != y->whole || x->real != y->real || !same_text(x->name, y->name))
        return false;
    for (int i = 0; i < x->nbinders; i++)
        if (!same_text(x->binders[i].name, y->binders[i].name)) return false;
    for (int g = 0; x->kind == TRA_CALC_SUM && g + 1 < x->nkids; g++)
        if (x->nnames[g] != y->nnames[g]) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!tra_calc_equal(x->kids[i], y->kids[i])) return false;
    return true;
}
