/* type_rekey.c - types of rekeys: grids of any size in closed form, what does not become a grid by walking its
 * tuples. */
#include "keyform.h"
#include "type.h"

tra_status tra_collision(const tra_node *n, const tra_dims *x, const tra_dims *y, tra_err *e) {
    char a[TRA_DIMTEXT], b[TRA_DIMTEXT], c[TRA_DIMTEXT];
    tra_dims to;
    TRA_TRY(tra_keyfn_eval(n->keyfn, x, &to, e));
    return tra_fail(e, TRA_PROGRAM, "rekey maps the keys %s and %s both to %s; the new keys must differ",
                    tra_key_text(x, a), tra_key_text(y, b), tra_key_text(&to, c));
}

/* The new component that reads key dimension d alone, has as many values, and is the last where d is: arrays that are
 * clipped at the end of d are clipped at its end. -1: none. */
static int follows(const tra_node *n, int d, const tra_dims *frontier) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims key = {.n = c->frontier.n};
    key.v[d] = c->frontier.v[d] - 1;
    for (int i = 0; i < n->keyfn->n; i++) {
        uint32_t vars = tra_keyexpr_vars(n->keyfn->expr[i]);
        int64_t v;
        tra_err none = {0};
        for (int j = 0; j < key.n; j++)
            if (c->frontier.v[j] == 1) vars &= ~(1u << j);
        if (vars != 1u << d || frontier->v[i] != c->frontier.v[d]) continue;
        if (tra_keyexpr_eval(n->keyfn->expr[i], &key, &v, &none) == TRA_OK && v == frontier->v[i] - 1) return i;
    }
    return -1;
}

/* Different keys, as many as the box that holds them has: they are the box. */
static tra_status grid(const tra_node *n, const tra_oneone *o, bool *fits, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims frontier = {.n = n->keyfn->n};
    int8_t by[TRA_MAXDIM];
    int64_t keys;
    for (int i = 0; i < frontier.n; i++) frontier.v[i] = o->most.v[i] + 1;
    *fits = tra_dims_product(&frontier, &keys) && keys == c->n;
    for (int a = 0; a < c->bound.n && *fits; a++) {
        by[a] = c->by[a] < 0 ? -1 : (int8_t)follows(n, c->by[a], &frontier);
        *fits = c->by[a] < 0 || by[a] >= 0;
    }
    return *fits ? tra_catalog_grid(&frontier, &c->bound, by, c->last, out, e) : TRA_OK;
}

/* The kept key dimension that clips another array dimension in the way that d clips a: of a diagonal one of the two
 * goes. -1: none. */
static int twin(const tra_catalog *c, uint32_t kept, int d, int a) {
    for (int i = 0; i < c->bound.n; i++) {
        int by = c->by[i];
        if (by >= 0 && (kept >> by & 1) && c->frontier.v[by] == c->frontier.v[d] && c->bound.v[i] == c->bound.v[a] &&
            c->last[i] == c->last[a])
            return by;
    }
    return -1;
}

/* The same of a relation without tuples, where components only change places or go: the extents of its tensor stay
 * known. */
static tra_status empty_grid(const tra_node *n, bool *fits, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims frontier = {.n = n->keyfn->n};
    int8_t by[TRA_MAXDIM], place[TRA_MAXDIM];
    uint32_t kept = 0;
    int64_t keys;
    *fits = true;
    for (int i = 0; i < frontier.n && *fits; i++) {
        int d = 0;
        *fits = tra_keyexpr_is_var(n->keyfn->expr[i], &d) && !(kept >> d & 1);
        kept |= 1u << d;
        place[d] = (int8_t)i;
        frontier.v[i] = c->frontier.v[d];
    }
    *fits = *fits && tra_dims_product(&frontier, &keys) && keys == 0;
    for (int a = 0; a < c->bound.n && *fits; a++) {
        int d = c->by[a];
        if (d >= 0 && !(kept >> d & 1)) d = twin(c, kept, d, a);
        by[a] = d < 0 ? -1 : place[d];
    }
    return *fits ? tra_catalog_grid(&frontier, &c->bound, by, c->last, out, e) : TRA_OK;
}

static tra_status closed_form(const tra_node *n, bool *fits, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_oneone o;
    *fits = false;
    if (!c->grid) return TRA_OK;
    if (c->n == 0) return empty_grid(n, fits, out, e);
    bool huge = c->n > TRA_MAX_LIST; /* else what stays open is decided by the list */
    TRA_TRY(tra_keyfn_oneone(n->keyfn, &c->frontier, huge ? TRA_MAX_LIST : 0, &o, e));
    if (o.verdict == TRA_ONEONE_NO) return tra_collision(n, &o.key[0], &o.key[1], e);
    if (o.verdict == TRA_ONEONE_YES) TRA_TRY(grid(n, &o, fits, out, e));
    if (*fits || !huge) return TRA_OK;
    if (o.verdict == TRA_ONEONE_YES)
        return tra_fail(e, TRA_PROGRAM,
                        "the new keys differ, but are no grid, and %" PRId64
                        " of them are more than the %d that can be "
                        "listed; use larger blocks, or new keys without gaps",
                        c->n, TRA_MAX_LIST);
    return tra_fail(e, TRA_PROGRAM,
                    "whether the new keys differ cannot be decided without looking at all %" PRId64
                    " keys, more than %d; "
                    "components that are sums of multiples of key components, and quotients and remainders of these by "
                    "numbers, are decided without that",
                    c->n, TRA_MAX_LIST);
}

static void cuts(tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    for (int a = 0; a < x->cat->bound.n; a++) {
        n->type.cut[a] = 0;
        for (int i = n->keyfn->n - 1; i >= 0 && x->cut[a]; i--)
            if (tra_keyexpr_vars(n->keyfn->expr[i]) == x->cut[a]) n->type.cut[a] = 1u << i;
    }
}

tra_status tra_type_rekey(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e) {
    bool fits;
    TRA_TRY(closed_form(n, &fits, out, e));
    if (!fits) TRA_TRY(tra_list_rekey(a, n, out, e));
    cuts(n);
    return TRA_OK;
}
