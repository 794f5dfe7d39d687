/* make.c - from a declaration and arguments to a storage of one rank. */
#include "storage_int.h"

#include <stdlib.h>
#include <string.h>

static tra_status check_counts(const tra_storage_decl *d, int rank, int nargs, tra_err *e) {
    if (rank != d->ndims && !(d->more_dims && rank > d->ndims))
        return tra_fail(e, TRA_PROGRAM, "storage %s is for %s%d dimension%s, not %d", d->name,
                        d->more_dims ? "at least " : "", d->ndims, d->ndims == 1 ? "" : "s", rank);
    int least = d->nparams - d->more_params;
    if (nargs < least || (nargs > least && !d->more_params))
        return tra_fail(e, TRA_PROGRAM, "storage %s has %s%d argument%s, not %d", d->name,
                        d->more_params ? "at least " : "", least, least == 1 ? "" : "s", nargs);
    return TRA_OK;
}

/* The dimension at each depth: a permutation. */
static tra_status find_order(const tra_storage_decl *d, int rank, int nargs, const int64_t *args, int *order,
                             tra_err *e) {
    int64_t v[TRA_CALC_MAXRANK];
    int n = 0;
    if (d->order_param) {
        for (int i = d->nparams - 1; i < nargs && n < TRA_CALC_MAXRANK; i++) v[n++] = args[i];
    } else {
        tra_calc_free scope[TRA_CALC_MAXRANK] = {0};
        for (int i = 0; i < d->nparams && i < TRA_CALC_MAXRANK; i++) scope[i].number = tra_calc_int(args[i]);
        for (; n < d->norder; n++) {
            tra_calc_number one;
            TRA_TRY(tra_calc_scalar(d->order[n], d->nparams, scope, 1000, &one, e));
            v[n] = one.i;
        }
    }
    bool used[TRA_CALC_MAXRANK] = {0};
    if (n && n != rank)
        return tra_fail(e, TRA_PROGRAM, "storage %s: an order of %d dimensions for a tensor of %d", d->name, n, rank);
    for (int i = 0; i < rank; i++) {
        int64_t k = n ? v[i] : d->reversed ? rank - 1 - i : i;
        if (k < 0 || k >= rank || used[k])
            return tra_fail(e, TRA_PROGRAM, "storage %s: an order names each of the dimensions 0 to %d once", d->name,
                            rank - 1);
        used[k] = true;
        order[i] = (int)k;
    }
    return TRA_OK;
}

/* storage NAME[n0, n1] { what the levels stand for }, or the declaration with its arguments in the place of params. */
static void write_text(const tra_storage_decl *d, const tra_storage *s, tra_str *out) {
    tra_str_printf(out, "storage %s[", d->name);
    for (int i = 0; i < s->rank; i++) tra_str_printf(out, "%s%s", i ? ", " : "", s->dim[i]);
    tra_str_add(out, "]");
    for (int i = 0; d->origin && !s->by_levels && i < s->rank; i++)
        tra_str_printf(out, "%s%s%s", i ? ", " : " at [", d->origin[i], i == s->rank - 1 ? "]" : "");
    tra_str_add(out, " {\n");
    if (s->by_levels) {
        calc_levels_text(s->rank, s->level, s->order, out);
    } else {
        for (int i = 0; i < d->ncomponents; i++) {
            calc_component_print(&d->components[i], s->nargs, d->params, s->args, out);
            tra_str_add(out, "\n");
        }
        tra_calc_print_with(d->mapping, s->nargs, d->params, s->args, out);
    }
    tra_str_add(out, "\n}");
}

/* A statement by levels, of this rank. */
static const char *levels_statement(const tra_storage *s, tra_arena *a) {
    tra_str out = {0};
    tra_str_printf(&out, "storage %s[", s->decl->name);
    for (int i = 0; i < s->rank; i++) tra_str_printf(&out, "%s%s", i ? ", " : "", s->dim[i]);
    tra_str_add(&out, s->rank ? "] = levels(" : "] = levels(dense");
    for (int i = 0; i < s->rank; i++) tra_str_printf(&out, "%s%s", i ? ", " : "", tra_calc_level_text(s->level[i]));
    tra_str_add(&out, ")");
    bool ordered = true;
    for (int i = 0; i < s->rank; i++) ordered &= s->order[i] == i;
    for (int i = 0; i < s->rank && !ordered; i++)
        tra_str_printf(&out, "%s%d%s", i ? ", " : " order [", s->order[i], i == s->rank - 1 ? "]" : "");
    return tra_arena_take(a, &out);
}

static const char *print_kept(const tra_storage *s, tra_arena *a) {
    tra_str out = {0};
    tra_storage_print(s, &out);
    return tra_arena_take(a, &out);
}

tra_status tra_storage_make(const tra_storage_decl *d, int rank, int nargs, const int64_t *args, bool whole,
                            tra_arena *a, tra_storage **out, tra_err *e) {
    tra_storage *s = tra_new(a, tra_storage);
    TRA_TRY(check_counts(d, rank, nargs, e));
    s->decl = d;
    s->rank = rank;
    s->nargs = nargs;
    int64_t *kept = tra_news(a, int64_t, nargs);
    if (nargs) memcpy(kept, args, (size_t)nargs * sizeof *kept);
    s->args = kept;
    s->whole = whole;
    s->by_levels = !d->mapping;
    for (int i = 0; i < rank; i++) s->dim[i] = s->by_levels ? tra_arena_printf(a, "n%d", i) : d->dims[i];
    if (s->by_levels) {
        TRA_TRY(find_order(d, rank, nargs, kept, s->order, e));
        for (int i = 0; i < rank; i++) s->level[i] = d->levels[tra_min64(i, d->nlevels - 1)];
    }
    tra_str text = {0};
    tra_calc_error err;
    int end;
    write_text(d, s, &text);
    char *kept_text = tra_arena_strndup(a, tra_str_get(&text), text.n);
    const tra_storage_decl *full = calc_storage_parse(kept_text, (int)text.n, 0, whole, a, &end, &err);
    tra_str_free(&text);
    if (!full) return tra_fail(e, TRA_PROGRAM, "storage %s: %s", d->name, err.msg);
    s->at_origin = full->origin != NULL;
    s->ncomponents = full->ncomponents;
    s->components = full->components;
    s->mapping = full->mapping;
    s->first_component = (s->at_origin ? 2 : 1) * rank;
    s->nscope = s->first_component + s->ncomponents;
    s->text = s->by_levels ? levels_statement(s, a) : print_kept(s, a);
    *out = s;
    return TRA_OK;
}

void tra_storage_print(const tra_storage *s, tra_str *out) {
    tra_storage_decl d = {.name = s->decl->name,
                          .ndims = s->rank,
                          .dims = (const char **)s->dim,
                          .origin = s->at_origin ? s->decl->origin : NULL,
                          .ncomponents = s->ncomponents,
                          .components = (tra_component *)s->components,
                          .mapping = s->mapping};
    tra_storage_decl_print(&d, out);
}

bool tra_storage_is_dense(const tra_storage *s) {
    bool dense = s->by_levels;
    for (int i = 0; i < s->rank; i++) dense = dense && s->level[i] == TRA_CALC_LEVEL_DENSE && s->order[i] == i;
    return dense;
}
