/* linear.c - how a tree uses a name: whether what it stands for may be taken apart. */
#include "normal.h"

static st_use linear(const tra_calc *x, int level);

static st_use both(st_use a, st_use b) { return a == ST_UNUSED ? b : b == ST_UNUSED ? a : ST_OTHERWISE; }

static st_use all_kids(const tra_calc *x, int from, int level) {
    st_use u = ST_UNUSED;
    for (int i = from; i < x->nkids; i++)
        if (linear(x->kids[i], level) != ST_UNUSED) u = ST_OTHERWISE;
    return u;
}

/* Of generators g and on and the body; the names that they bind do not hide levels below theirs. */
st_use st_linear_sum(const tra_calc *x, int g, int level) {
    const tra_calc_binder *b = x->binders;
    for (int i = 0; i < g; i++) b += x->nnames[i] + 1;
    for (int i = g; x->kind == TRA_CALC_SUM && i + 1 < x->nkids; i++)
        for (int k = 0; k <= x->nnames[i]; k++, b++)
            if (b->again && b->level == level) return ST_OTHERWISE;
    st_use u = ST_UNUSED;
    b = x->binders;
    for (int i = 0; i < x->nkids; i++) {
        bool loop = x->kind == TRA_CALC_SUM && i + 1 < x->nkids;
        if (loop) b += x->nnames[i] + 1;
        if (i < g) continue;
        st_use in = linear(x->kids[i], level);
        if (loop && in == ST_LINEAR &&
            (b[-1].level < 0 || b[-1].again || st_linear_sum(x, i + 1, b[-1].level) != ST_LINEAR))
            in = ST_BY_KEYS;
        u = both(u, in);
    }
    return u;
}

static st_use linear_let(const tra_calc *x, int level) {
    st_use u = linear(x->kids[x->nkids - 1], level);
    for (int i = 0; i < x->nbinders; i++) {
        st_use in = linear(x->kids[i], level);
        if (in == ST_UNUSED) continue;
        /* only a let of one name is followed */
        if ((in != ST_LINEAR) || x->nbinders > 1 || u != ST_UNUSED || x->binders[i].level < 0) return ST_OTHERWISE;
        u = linear(x->kids[x->nkids - 1], x->binders[i].level);
        if (u == ST_UNUSED) return ST_UNUSED;
    }
    return u;
}

static st_use linear(const tra_calc *x, int level) {
    st_use u, v;
    switch (x->kind) {
    case TRA_CALC_NAME: return x->level == level ? ST_LINEAR : ST_UNUSED;
    case TRA_CALC_NUMBER:
    case TRA_CALC_EXTENT: return ST_UNUSED;
    case TRA_CALC_ADD:
    case TRA_CALC_SUB:
        u = linear(x->kids[0], level);
        v = linear(x->kids[1], level);
        return u == v                                                                       ? u
               : u == ST_UNUSED || v == ST_UNUSED || u == ST_OTHERWISE || v == ST_OTHERWISE ? ST_OTHERWISE
                                                                                            : ST_BY_KEYS;
    case TRA_CALC_MUL: return both(linear(x->kids[0], level), linear(x->kids[1], level));
    case TRA_CALC_DIV:
        /* a quotient of integers rounds, so it is not linear */
        u = linear(x->kids[0], level);
        v = linear(x->kids[1], level);
        return v != ST_UNUSED || (u != ST_UNUSED && !x->type.real) ? both(ST_OTHERWISE, v) : u;
    case TRA_CALC_NEG: return linear(x->kids[0], level);
    case TRA_CALC_DICT:
    case TRA_CALC_IF:
        for (int i = 0; i + 1 < x->nkids; i++)
            if (linear(x->kids[i], level) != ST_UNUSED) return ST_OTHERWISE;
        return linear(x->kids[x->nkids - 1], level);
    case TRA_CALC_APPLY:
    case TRA_CALC_SLICE: u = all_kids(x, 1, level); return u == ST_UNUSED ? linear(x->kids[0], level) : u;
    case TRA_CALC_LET: return linear_let(x, level);
    case TRA_CALC_SUM: return st_linear_sum(x, 0, level);
    case TRA_CALC_MOD:
    case TRA_CALC_CALL:
    case TRA_CALC_RANGE:
    case TRA_CALC_MERGE:
    case TRA_CALC_CONDITIONS: return all_kids(x, 0, level);
    }
    return ST_OTHERWISE;
}
