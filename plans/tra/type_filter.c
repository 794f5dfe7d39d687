/* Which keys a filter leaves. The predicate is taken apart into conjuncts; those that read one key component decide for
 * each of its values once, so that a filter that selects rows of a huge grid never walks the grid. */
#include "type.h"

#include <stdlib.h>

enum { MAX_CONJUNCTS = 64 };

typedef struct conjuncts {
    int n;
    const tra_keyexpr *v[MAX_CONJUNCTS];
} conjuncts;

static void split(const tra_keyexpr *x, conjuncts *out) {
    if (x->op == TRA_KEY_AND && out->n < MAX_CONJUNCTS - 1) {
        split(x->a, out);
        split(x->b, out);
    } else {
        out->v[out->n++] = x;
    }
}

/* Removes from values those that the conjunct refuses. False, and nothing removed, when it fails for one: then the
 * conjuncts before it may be what keeps it from being evaluated there. */
static bool sieve(const tra_keyexpr *x, int arity, int d, int64_t *values, int64_t *n) {
    tra_dims key = {.n = arity};
    int64_t kept = 0, v, *keep = tra_calloc((size_t)*n, sizeof *keep);
    for (int64_t i = 0; i < *n; i++) {
        tra_err none = {0};
        key.v[d] = values[i];
        if (tra_keyexpr_eval(x, &key, &v, &none) != TRA_OK) {
            free(keep);
            return false;
        }
        if (v) keep[kept++] = values[i];
    }
    for (int64_t i = 0; i < kept; i++) values[i] = keep[i];
    *n = kept;
    free(keep);
    return true;
}

typedef struct choice {
    int64_t *values[TRA_MAXDIM]; /* of each key dimension, NULL: all */
    tra_dims count;
    const tra_keyexpr *predicate; /* what is left to decide on whole keys, or NULL */
} choice;

static void choose(const tra_node *n, choice *ch) {
    const tra_catalog *c = n->in[0]->type.cat;
    conjuncts parts = {0};
    ch->count = c->frontier;
    ch->predicate = NULL;
    split(n->keyfn->expr[0], &parts);
    for (int i = 0; i < parts.n; i++) {
        uint32_t vars = tra_keyexpr_vars(parts.v[i]);
        tra_dims zero = {.n = c->frontier.n};
        tra_err none = {0};
        int64_t v;
        if (!vars && tra_keyexpr_eval(parts.v[i], &zero, &v, &none) == TRA_OK && v) continue;
        int d = vars ? __builtin_ctz(vars) : -1;
        bool single = vars && !(vars & (vars - 1)) && c->frontier.v[d] <= TRA_MAX_LIST;
        if (single && !ch->values[d]) {
            ch->values[d] = tra_calloc((size_t)c->frontier.v[d], sizeof(int64_t));
            for (v = 0; v < c->frontier.v[d]; v++) ch->values[d][v] = v;
        }
        if (!single || !sieve(parts.v[i], c->frontier.n, d, ch->values[d], &ch->count.v[d]))
            ch->predicate = n->keyfn->expr[0]; /* whole, so that its parts guard each other */
    }
}

/* The values left begin at 0 without a gap, and there are some, in every dimension: a smaller grid. */
static bool is_prefix(const choice *ch) {
    for (int d = 0; d < ch->count.n; d++) {
        int64_t n = ch->count.v[d];
        if (n == 0 || (ch->values[d] && ch->values[d][n - 1] != n - 1)) return false;
    }
    return !ch->predicate;
}

static tra_status prefix_grid(const tra_catalog *c, const choice *ch, tra_catalog *out, tra_err *e) {
    int8_t by[TRA_MAXDIM];
    for (int a = 0; a < c->bound.n; a++) {
        int d = c->by[a];
        by[a] = d >= 0 && ch->count.v[d] == c->frontier.v[d] ? (int8_t)d : -1; /* else the clipped ones are gone */
    }
    return tra_catalog_grid(&ch->count, &c->bound, by, c->last, out, e);
}

static tra_status walk_choice(const tra_node *n, const choice *ch, tra_catbuilder *b, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    int64_t all;
    if (!tra_dims_product(&ch->count, &all)) return tra_too_many(n, e);
    if (all == 0) return TRA_OK;
    if (all > TRA_MAX_LIST)
        return tra_fail(e, TRA_PROGRAM,
                        "this filter would have to look at %" PRId64 " keys, more than %d; conditions on single key "
                        "components, joined by &&, are decided without that",
                        all, TRA_MAX_LIST);
    tra_dims at = {.n = ch->count.n}, key = {.n = ch->count.n}, ext;
    do {
        int64_t keep = 1;
        for (int d = 0; d < at.n; d++) key.v[d] = ch->values[d] ? ch->values[d][at.v[d]] : at.v[d];
        if (ch->predicate) TRA_TRY(tra_keyexpr_eval(ch->predicate, &key, &keep, e));
        if (!keep) continue;
        tra_catalog_ext(c, tra_linear(&c->frontier, &key), &ext);
        TRA_TRY(tra_catbuilder_add(b, &key, &ext, 0, e));
    } while (tra_next(&ch->count, &at));
    return TRA_OK;
}

static tra_status walk_list(const tra_node *n, tra_catbuilder *b, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key, ext;
        int64_t keep;
        tra_catalog_key(c, t, &key);
        TRA_TRY(tra_keyexpr_eval(n->keyfn->expr[0], &key, &keep, e));
        if (!keep) continue;
        tra_catalog_ext(c, t, &ext);
        TRA_TRY(tra_catbuilder_add(b, &key, &ext, 0, e));
    }
    return TRA_OK;
}

tra_status tra_type_filter(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    choice ch = {.count = {.n = 0}};
    tra_catbuilder *b = NULL;
    tra_status s;
    if (c->n == 0) return *out = *c, TRA_OK;
    if (c->grid) choose(n, &ch);
    if (c->grid && is_prefix(&ch)) {
        s = prefix_grid(c, &ch, out, e);
    } else {
        b = tra_catbuilder_new(c->frontier.n, c->bound.n);
        s = c->grid ? walk_choice(n, &ch, b, e) : walk_list(n, b, e);
    }
    for (int d = 0; d < TRA_MAXDIM; d++) free(ch.values[d]);
    if (s != TRA_OK || !b) {
        tra_catbuilder_free(b);
        return s;
    }
    TRA_TRY(tra_catbuilder_finish(b, a, out, NULL, NULL, e));
    if (out->n == 0) tra_largest(c, &out->bound);
    return TRA_OK;
}
