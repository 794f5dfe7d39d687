/* check.c - names and types of a tree. */
#include "calc_parse.h"

#include <string.h>

typedef struct checker {
    int n;
    const tra_calc_name *scope;
    tra_arena *arena;
    tra_calc_error *err;
    calc_list bound; /* tra_calc_binder, the innermost last; its n is the level of the next one */
} checker;

#define FAIL(c, x, advice, ...) calc_error((c)->err, (x)->at, (x)->len, advice, __VA_ARGS__)

static bool check(checker *c, tra_calc *x);

/* "an integer", "a dictionary of depth 2 of reals" */
static const char *describe(checker *c, tra_calc_type t) {
    if (t.depth == 0) return t.real ? "a real number" : "an integer";
    return tra_arena_printf(c->arena, "a dictionary of depth %d of %s", t.depth, t.real ? "reals" : "integers");
}

static bool check_scalar(checker *c, tra_calc *x, const char *what) {
    if (!check(c, x)) return false;
    if (x->type.depth == 0) return true;
    return FAIL(c, x, NULL, "%s is a number, not %s", what, describe(c, x->type));
}

static bool check_int(checker *c, tra_calc *x, const char *what) {
    if (!check(c, x)) return false;
    if (x->type.depth == 0 && !x->type.real) return true;
    return FAIL(c, x, x->type.depth ? NULL : "floor(x) is an integer", "%s is an integer, not %s", what,
                describe(c, x->type));
}

/* ---- names -------------------------------------------------------------------------------------------------- */

static int find_bound(const checker *c, const char *name) {
    for (int i = c->bound.n - 1; i >= 0; i--)
        if (strcmp(((tra_calc_binder *)c->bound.v[i])->name, name) == 0) return i;
    return -1;
}

static int find_free(const checker *c, const char *name) {
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->scope[i].name, name) == 0) return i;
    return -1;
}

static bool find_function(const char *name, tra_calc_fn *fn) {
    static const char *const names[] = {
#define X(name, least, most, text) text,
        TRA_CALC_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            *fn = (tra_calc_fn)i;
            return true;
        }
    return false;
}

static const char *did_you_mean(checker *c, const char *name) {
    int n = 0;
    const char **names = tra_news(c->arena, const char *, c->bound.n + c->n);
    for (int i = c->bound.n - 1; i >= 0; i--) names[n++] = ((tra_calc_binder *)c->bound.v[i])->name;
    for (int i = 0; i < c->n; i++) names[n++] = c->scope[i].name;
    const char *near = tra_nearest(name, n, names);
    return near ? tra_arena_printf(c->arena, "did you mean %s?", near) : NULL;
}

static bool check_name(checker *c, tra_calc *x) {
    tra_calc_fn fn;
    x->level = find_bound(c, x->name);
    if (x->level >= 0) {
        x->type = ((tra_calc_binder *)c->bound.v[x->level])->type;
        return true;
    }
    x->index = find_free(c, x->name);
    if (x->index >= 0) {
        x->type = c->scope[x->index].type;
        return true;
    }
    if (find_function(x->name, &fn))
        return FAIL(c, x, NULL, "%s is a function: it stands before its arguments in parentheses", x->name);
    return FAIL(c, x, did_you_mean(c, x->name), "there is no '%.60s' here", x->name);
}

/* Binds a name at the next level; again: it may stand in this sum already, from level `first` on. */
static bool bind(checker *c, tra_calc_binder *b, tra_calc_type type, int first) {
    b->type = type;
    b->level = -1;
    if (!b->name) return true;
    for (int i = c->bound.n - 1; i >= first; i--) {
        const tra_calc_binder *other = c->bound.v[i];
        if (strcmp(other->name, b->name) != 0) continue;
        if (other->type.depth || type.depth)
            return calc_error(c->err, b->at, (int)strlen(b->name), "choose another name",
                              "'%.60s' is bound twice in one sum, which asks for equal numbers, but it is %s", b->name,
                              describe(c, type.depth ? type : other->type));
        b->again = true;
        b->level = i;
        return true;
    }
    b->level = c->bound.n;
    calc_list_add(c->arena, &c->bound, b);
    return true;
}

/* ---- binding forms ------------------------------------------------------------------------------------------ */

static const tra_calc_type INT_TYPE = {0};

static bool is_name(const tra_calc *x, const char *name) {
    return x->kind == TRA_CALC_NAME && strcmp(x->name, name) == 0;
}

/* Contents that were given under a name, or a part of them. */
static bool holds_zeros(const tra_calc *e) {
    if (e->kind == TRA_CALC_SLICE) e = e->kids[0];
    return e->kind == TRA_CALC_NAME && e->level < 0;
}

static bool check_sum(checker *c, tra_calc *x) {
    int first = c->bound.n;
    tra_calc_binder *b = x->binders;
    for (int g = 0; g + 1 < x->nkids; g++) {
        tra_calc *e = x->kids[g];
        if (!check(c, e)) return false;
        if (e->type.depth == 0)
            return FAIL(c, e, "to loop over numbers, write 0:n", "a sum loops over a dictionary, not over %s",
                        describe(c, e->type));
        if (e->type.depth < x->nnames[g])
            return FAIL(c, e, NULL, "a loop with %d keys needs as many dictionaries inside each other, not %s",
                        x->nnames[g], describe(c, e->type));
        for (int i = 0; i < x->nnames[g]; i++)
            if (!bind(c, b++, INT_TYPE, first)) return false;
        tra_calc_type value = e->type;
        value.depth -= x->nnames[g];
        /* an entry that is there is not 0, but rows of sparse type are sparse, and components hold zeros */
        value.sparse = e->type.sparse && (value.depth > 0 || holds_zeros(e));
        if (!bind(c, b++, value, first)) return false;
    }
    if (!check(c, x->kids[x->nkids - 1])) return false;
    x->type = x->kids[x->nkids - 1]->type;
    x->type.sparse |= x->type.depth > 0;
    c->bound.n = first;
    return true;
}

static bool check_merge(checker *c, tra_calc *x) {
    int first = c->bound.n;
    for (int i = 0; i < 2; i++) {
        if (!check(c, x->kids[i])) return false;
        if (x->kids[i]->type.depth != 1)
            return FAIL(c, x->kids[i], NULL, "merge takes dictionaries of numbers, not %s",
                        describe(c, x->kids[i]->type));
    }
    tra_calc_type value = {.real = x->kids[0]->type.real};
    for (int i = 0; i < 3; i++)
        if (!bind(c, &x->binders[i], i < 2 ? INT_TYPE : value, first)) return false;
    if (!check(c, x->kids[2])) return false;
    x->type = x->kids[2]->type;
    x->type.sparse |= x->type.depth > 0;
    c->bound.n = first;
    return true;
}

static bool check_let(checker *c, tra_calc *x) {
    int first = c->bound.n;
    for (int i = 0; i < x->nbinders; i++) {
        if (!check(c, x->kids[i])) return false;
        if (!bind(c, &x->binders[i], x->kids[i]->type, c->bound.n)) return false;
    }
    if (!check(c, x->kids[x->nkids - 1])) return false;
    x->type = x->kids[x->nkids - 1]->type;
    c->bound.n = first;
    return true;
}

/* ---- applications ------------------------------------------------------------------------------------------- */

/* extent(X, d) */
static bool check_extent(checker *c, tra_calc *x) {
    const tra_calc *of = x->nkids == 3 ? x->kids[1] : NULL, *d = x->nkids == 3 ? x->kids[2] : NULL;
    if (!of || of->kind != TRA_CALC_NAME || d->kind != TRA_CALC_NUMBER || d->is_real)
        return FAIL(c, x, "write extent(A, 0)", "extent takes a relation and the number of a dimension");
    int index = find_free(c, of->name);
    if (index < 0 || !c->scope[index].relation) return FAIL(c, of, NULL, "there is no relation '%.60s' here", of->name);
    if (d->whole >= c->scope[index].type.depth)
        return FAIL(c, d, NULL, "%.60s has %d dimensions, counted from 0", of->name, c->scope[index].type.depth);
    x->kind = TRA_CALC_EXTENT;
    x->name = of->name;
    x->whole = d->whole;
    x->index = index;
    x->nkids = 0;
    x->type = INT_TYPE;
    return true;
}

static bool check_call(checker *c, tra_calc *x, tra_calc_fn fn) {
    static const int least[] = {
#define X(name, least, most, text) least,
        TRA_CALC_FUNCTIONS(X)
#undef X
    };
    static const int most[] = {
#define X(name, least, most, text) most,
        TRA_CALC_FUNCTIONS(X)
#undef X
    };
    const char *name = calc_fn_text(fn);
    if (x->nkids - 1 < least[fn] || x->nkids - 1 > most[fn])
        return FAIL(c, x, NULL, most[fn] > 1 ? "%s has at least 2 arguments" : "%s has one argument", name);
    bool real = false, sparse = true;
    for (int i = 1; i < x->nkids; i++) {
        bool bits = fn == TRA_CALC_FN_EVEN_BITS || fn == TRA_CALC_FN_ODD_BITS;
        const char *what = tra_arena_printf(c->arena, "an argument of %s", name);
        if (!(bits ? check_int : check_scalar)(c, x->kids[i], what)) return false;
        real |= x->kids[i]->type.real;
        sparse &= x->kids[i]->type.sparse;
    }
    x->kind = TRA_CALC_CALL;
    x->name = name;
    x->fn = fn;
    x->nkids--;
    x->kids++;
    switch (fn) {
    case TRA_CALC_FN_ABS:
    case TRA_CALC_FN_MIN:
    case TRA_CALC_FN_MAX: x->type = (tra_calc_type){real, sparse, 0}; return true;
    case TRA_CALC_FN_FLOOR:
    case TRA_CALC_FN_EVEN_BITS:
    case TRA_CALC_FN_ODD_BITS: x->type = (tra_calc_type){false, sparse, 0}; return true;
    case TRA_CALC_FN_REAL:
    case TRA_CALC_FN_SQRT: x->type = (tra_calc_type){true, sparse, 0}; return true;
    case TRA_CALC_FN_EXP:
    case TRA_CALC_FN_LOG: x->type = (tra_calc_type){true, false, 0}; return true;
    }
    return true;
}

static bool check_apply(checker *c, tra_calc *x) {
    tra_calc *f = x->kids[0];
    tra_calc_fn fn;
    if (f->kind == TRA_CALC_NAME && find_bound(c, f->name) < 0 && find_free(c, f->name) < 0) {
        if (is_name(f, "extent")) return check_extent(c, x);
        if (find_function(f->name, &fn)) return check_call(c, x, fn);
    }
    if (!check(c, f)) return false;
    if (f->type.depth == 0) return FAIL(c, f, "a product is written with *", "%s has no keys", describe(c, f->type));
    if (f->type.depth < x->nkids - 1) return FAIL(c, x, NULL, "%d keys of %s", x->nkids - 1, describe(c, f->type));
    for (int i = 1; i < x->nkids; i++)
        if (!check_int(c, x->kids[i], "a key")) return false;
    x->type = f->type;
    x->type.depth -= x->nkids - 1;
    return true;
}

static bool check_dict(checker *c, tra_calc *x) {
    int n = x->nkids - 1;
    for (int i = 0; i < n; i++)
        if (!check_int(c, x->kids[i], "a key")) return false;
    if (!check(c, x->kids[n])) return false;
    x->type = x->kids[n]->type;
    x->type.depth += n;
    x->type.sparse |= n > 0;
    if (x->type.depth <= TRA_CALC_MAXRANK) return true;
    return FAIL(c, x, NULL, "more than %d dictionaries inside each other", TRA_CALC_MAXRANK);
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

static bool check_arithmetic(checker *c, tra_calc *x) {
    tra_calc *l = x->kids[0], *r = x->kids[1];
    if (!check(c, l) || !check(c, r)) return false;
    bool product = x->kind == TRA_CALC_MUL, quotient = x->kind == TRA_CALC_DIV;
    bool scales = (product && (l->type.depth == 0 || r->type.depth == 0)) || (quotient && r->type.depth == 0);
    bool numbers = l->type.depth == 0 && r->type.depth == 0;
    if (!numbers && x->kind == TRA_CALC_MOD)
        return FAIL(c, x, NULL, "%% takes numbers, not %s", describe(c, l->type.depth ? l->type : r->type));
    if (!scales && l->type.depth != r->type.depth)
        return FAIL(c, x, NULL, "%s of %s and %s",
                    product    ? "a product"
                    : quotient ? "a quotient"
                               : "a sum",
                    describe(c, l->type), describe(c, r->type));
    if (quotient && r->type.depth)
        return FAIL(c, r, "sum(<i, v> in e) {i -> .. / v}", "a divisor is a number, not %s", describe(c, r->type));
    x->type.depth = tra_max64(l->type.depth, r->type.depth);
    x->type.real = l->type.real || r->type.real;
    x->type.sparse = product                               ? l->type.sparse || r->type.sparse
                     : quotient || x->kind == TRA_CALC_MOD ? l->type.sparse
                                                           : l->type.sparse && r->type.sparse;
    return true;
}

static bool check_condition(checker *c, tra_calc *x) {
    for (int i = 0; i < x->nkids; i++)
        if (!(calc_is_comparison(x->kind) ? check_scalar(c, x->kids[i], "what is compared")
                                          : check_condition(c, x->kids[i])))
            return false;
    x->type = INT_TYPE;
    return true;
}

static bool check(checker *c, tra_calc *x) {
    switch (x->kind) {
    case TRA_CALC_NUMBER: x->type = (tra_calc_type){.real = x->is_real}; return true;
    case TRA_CALC_NAME: return check_name(c, x);
    case TRA_CALC_ARITHMETIC: return check_arithmetic(c, x);
    case TRA_CALC_NEG:
        if (!check(c, x->kids[0])) return false;
        x->type = x->kids[0]->type;
        return true;
    case TRA_CALC_CALL: return true; /* these two are checked already */
    case TRA_CALC_EXTENT: return true;
    case TRA_CALC_DICT: return check_dict(c, x);
    case TRA_CALC_APPLY: return check_apply(c, x);
    case TRA_CALC_SLICE:
        if (!check(c, x->kids[0])) return false;
        if (x->kids[0]->type.depth == 0)
            return FAIL(c, x->kids[0], NULL, "a part e(i:j) is of a dictionary, not of %s",
                        describe(c, x->kids[0]->type));
        if (!check_int(c, x->kids[1], "a bound") || !check_int(c, x->kids[2], "a bound")) return false;
        x->type = x->kids[0]->type;
        x->type.sparse = true;
        return true;
    case TRA_CALC_RANGE:
        if (!check_int(c, x->kids[0], "a bound") || !check_int(c, x->kids[1], "a bound")) return false;
        x->type = (tra_calc_type){.depth = 1};
        return true;
    case TRA_CALC_IF:
        if (!check_condition(c, x->kids[0]) || !check(c, x->kids[1])) return false;
        x->type = x->kids[1]->type;
        x->type.sparse = true;
        return true;
    case TRA_CALC_LET: return check_let(c, x);
    case TRA_CALC_SUM: return check_sum(c, x);
    case TRA_CALC_MERGE: return check_merge(c, x);
    case TRA_CALC_CONDITIONS: return check_condition(c, x);
    }
    return false;
}

bool tra_calc_check(const tra_calc *x, int n, const tra_calc_name *scope, tra_arena *a, tra_calc_error *err) {
    checker c = {.n = n, .scope = scope, .arena = a, .err = err};
    *err = (tra_calc_error){.at = x->at};
    return check(&c, (tra_calc *)x);
}
