/* join_make.c - what a join is: its keys, its condition, and the columns of its result. */
#include <assert.h>
#include <string.h>

#include "band.h"

bool tra_lookup_shares_key(const tra_lookup_spec *s, int right, int *left) {
    for (int k = 0; k < s->nkeys; k++) {
        *left = s->lkey[k];
        if (s->rkey[k] == right && strcmp(s->left->v[*left].name, s->right->v[right].name) == 0) return true;
    }
    return false;
}

/* The time *x of an as-of join, NULL instead of NaN, with which no time compares. */
static tra_status without_nan(tra_arena *a, const tra_colexpr **x, tra_err *e) {
    const tra_colexpr *kids[3] = {*x, tra_colexpr_null(a), *x};
    if (!tra_coltype_is_float((*x)->type)) return TRA_OK;
    TRA_TRY(tra_colexpr_call(a, TRA_C_ISNAN, 1, kids, &kids[0], e));
    return tra_colexpr_call(a, TRA_C_IF, 3, kids, x, e);
}

static tra_status find_keys(tra_lookup *l, tra_err *e) {
    const tra_lookup_spec *s = &l->s;
    const tra_colexpr **x = tra_news(l->arena, const tra_colexpr *, s->nkeys + 1),
                      **y = tra_news(l->arena, const tra_colexpr *, s->nkeys + 1);
    for (int k = 0; k < tra_lookup_compared(s); k++) {
        const tra_colexpr *both[2] = {tra_colexpr_column(l->arena, s->left, s->lkey[k]),
                                      tra_colexpr_column(l->arena, s->right, s->rkey[k])};
        TRA_TRY(tra_colexpr_unify(l->arena, k < s->nkeys ? TRA_C_EQ : TRA_C_GE, 2, both, false, e));
        x[k] = both[0], y[k] = both[1];
    }
    l->left = tra_keys_new(l->arena, s->nkeys, x, s->left->n);
    l->right = tra_keys_new(l->arena, s->nkeys, y, s->right->n);
    if (!s->asof) return TRA_OK;
    TRA_TRY(without_nan(l->arena, &x[s->nkeys], e));
    TRA_TRY(without_nan(l->arena, &y[s->nkeys], e));
    l->time[0] = tra_keys_new(l->arena, 1, x + s->nkeys, s->left->n);
    l->time[1] = tra_keys_new(l->arena, 1, y + s->nkeys, s->right->n);
    return TRA_OK;
}

static void set_total(tra_lookup *l) {
    l->total = 1;
    for (int k = 0; k < l->s.nkeys; k++) {
        tra_colaxis v;
        bool known = tra_colexpr_axis(l->right.x[k], &v);
        l->total = known ? tra_mul_most(l->total, tra_add_most(tra_max64(1, v.count), l->s.nulls_match)) : INT64_MAX;
        if (!known) return;
    }
}

static void set_columns(tra_lookup *l) {
    const tra_lookup_spec *s = &l->s;
    int n = s->left->n, all = n + s->right->n, nout = 0, shared;
    tra_column *pair = tra_news(l->arena, tra_column, all + 1), *out = tra_news(l->arena, tra_column, all + 2);
    int *from = tra_news(l->arena, int, all + 2);
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    for (int i = 0; i < all; i++) {
        pair[i] = i < n ? s->left->v[i] : s->right->v[i - n];
        if (i >= n && s->prefix) pair[i].name = tra_arena_printf(l->arena, "%s%s", s->prefix, pair[i].name);
        if (i >= n && (!pairs || tra_lookup_shares_key(s, i - n, &shared))) continue;
        out[nout] = pair[i];
        if (i >= n && s->how == TRA_LOOKUP_LEFT) out[nout].nullable = true;
        from[nout++] = i;
    }
    if (s->number) {
        out[nout] = (tra_column){.name = s->number, .type = TRA_COL_I64};
        from[nout++] = -1;
    }
    tra_schema *p = tra_new(l->arena, tra_schema), *o = tra_new(l->arena, tra_schema);
    *p = (tra_schema){all, pair};
    *o = (tra_schema){nout, out};
    l->pair = p, l->out = o, l->from = from;
}

static tra_status check_names(const tra_lookup *l, tra_err *e) {
    for (int i = l->s.left->n; i < l->out->n; i++) {
        const char *name = l->out->v[i].name;
        if (tra_schema_find(l->out, name) == i) continue;
        return tra_fail(e, TRA_PROGRAM, "both tables have a column `%s`; write join(..., prefix = \"r_\")", name);
    }
    return TRA_OK;
}

tra_status tra_lookup_new(tra_arena *a, const tra_lookup_spec *s, tra_lookup **out, tra_err *e) {
    tra_lookup *l = tra_new(a, tra_lookup);
    *l = (tra_lookup){.arena = a, .s = *s};
    int n = tra_lookup_compared(s), *keys = tra_news(a, int, 2 * n + 1);
    for (int k = 0; k < n; k++) keys[k] = s->lkey[k], keys[n + k] = s->rkey[k];
    l->s.lkey = keys;
    l->s.rkey = keys + n;
    for (int side = 0; side < 2; side++) l->meets[side].n = s->nkeys, l->meets[side].column = keys + side * n;
    TRA_TRY(find_keys(l, e));
    set_total(l);
    set_columns(l);
    TRA_TRY(check_names(l, e));
    *out = l;
    return TRA_OK;
}

const tra_lookup *tra_lookup_keeping(tra_arena *a, const tra_lookup *l, const bool *keep) {
    tra_lookup *made = tra_new(a, tra_lookup);
    tra_schema *out = tra_new(a, tra_schema);
    tra_column *v = tra_news(a, tra_column, l->out->n + 1);
    int *from = tra_news(a, int, l->out->n + 1), n = 0;
    for (int i = 0; i < l->out->n; i++)
        if (keep[i]) from[n] = l->from[i], v[n++] = l->out->v[i];
    *out = (tra_schema){n, v};
    *made = *l;
    made->out = out, made->from = from;
    return made;
}

const tra_schema *tra_lookup_pair(const tra_lookup *l) { return l->pair; }
const tra_lookup_spec *tra_lookup_spec_of(const tra_lookup *l) { return &l->s; }
const tra_colexpr *tra_lookup_condition(const tra_lookup *l) { return l->condition; }
const tra_schema *tra_lookup_out(const tra_lookup *l) { return l->out; }
const tra_colexpr *const *tra_lookup_left_keys(const tra_lookup *l) { return l->left.x; }
const tra_colexpr *const *tra_lookup_right_keys(const tra_lookup *l) { return l->right.x; }
const int *tra_lookup_from(const tra_lookup *l) { return l->from; }

/* Rows of a join on ranges meet by the columns that its condition compares, too. */
static void add_compared(tra_lookup *l, int side) {
    const tra_schema *s = side ? l->s.right : l->s.left;
    int *column = tra_news(l->arena, int, l->meets[side].n + s->n + 1), n = l->meets[side].n;
    memcpy(column, l->meets[side].column, (size_t)n * sizeof *column);
    for (int c = 0; c < s->n; c++)
        if (l->read[side * l->s.left->n + c]) column[n++] = c;
    l->meets[side].n = n, l->meets[side].column = column;
}

void tra_lookup_where(tra_lookup *l, const tra_colexpr *condition) {
    bool *read = tra_news(l->arena, bool, l->pair->n + 1);
    assert(condition->type == TRA_COL_BOOL);
    tra_colexpr_columns(condition, read);
    l->condition = condition;
    l->where = tra_colcode_new(l->arena, 1, &condition);
    l->read = read;
    l->band = tra_band_of(l, condition);
    for (int side = 0; l->band && side < 2; side++) add_compared(l, side);
}

bool tra_lookup_is_banded(const tra_lookup *l) { return l->band != NULL; }

const char *tra_lookup_name(const tra_lookup *l, int side) {
    static const char *const names[] = {"left", "right"};
    return l->s.name[side] ? l->s.name[side] : names[side];
}
