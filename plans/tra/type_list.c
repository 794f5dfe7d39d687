/* Catalogs of results that are no grids in closed form: their tuples are walked. */
#include "type.h"

#include <stdlib.h>
#include <string.h>

/* A tuple by the key it is grouped or looked up by. */
typedef struct ref {
    int64_t at, ordinal;
} ref;

static int by_at(const void *x, const void *y) {
    const ref *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

/* All tuples of c, ordered by their values on the key dimensions `dims`, row-major. From malloc. */
static ref *sort_by(const tra_catalog *c, const tra_dims *dims) {
    ref *v = tra_calloc((size_t)c->n, sizeof *v);
    tra_dims box = {.n = dims->n}, part = {.n = dims->n}, key;
    bool sorted = true;
    for (int i = 0; i < dims->n; i++) box.v[i] = c->frontier.v[dims->v[i]];
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &key);
        for (int i = 0; i < dims->n; i++) part.v[i] = key.v[dims->v[i]];
        v[t] = (ref){tra_linear(&box, &part), t};
        sorted = sorted && (t == 0 || v[t - 1].at <= v[t].at);
    }
    if (!sorted) qsort(v, (size_t)c->n, sizeof *v, by_at);
    return v;
}

/* ---- join --------------------------------------------------------------------------------------------------- */

/* One operand is walked; for each of its tuples the other one is asked for its matches: a grid by arithmetic, a list by
 * its tuples sorted on the joined key. */
typedef struct walk {
    const tra_node *n;
    int outer; /* the operand that is walked: 0 or 1 */
    const tra_catalog *oc, *ic;
    const tra_dims *oj, *ij;                    /* joined key dimensions of each */
    int oplace[TRA_MAXDIM], iplace[TRA_MAXDIM]; /* in the result's key */
    tra_dims box;                               /* of the inner joined dimensions */
    ref *index;                                 /* inner list */
    tra_dims free, free_box;                    /* inner grid: the dimensions that are not joined */
    tra_dims bound[2];
    tra_catbuilder *b;
    tra_sample *sample;
    int64_t count;
    /* the last pair of shapes and what came out of it */
    tra_dims ext[2], result;
} walk;

static tra_status pair(walk *w, int64_t to, int64_t ti, const tra_dims *ko, tra_err *e) {
    tra_dims ki, key, ext[2];
    tra_catalog_key(w->ic, ti, &ki);
    tra_catalog_ext(w->oc, to, &ext[w->outer]);
    tra_catalog_ext(w->ic, ti, &ext[!w->outer]);
    if (!w->b || !tra_dims_eq(&ext[0], &w->ext[0]) || !tra_dims_eq(&ext[1], &w->ext[1])) {
        tra_err err = {0};
        tra_status s =
            tra_kernel_shape2(w->n->kernel, &ext[0], &ext[1], &w->bound[0], &w->bound[1], &w->result, NULL, &err);
        if (s != TRA_OK) {
            char a[TRA_DIMTEXT], b[TRA_DIMTEXT];
            return tra_fail(e, s, "%s (arrays of the keys %s and %s)", err.msg, tra_key_text(w->outer ? &ki : ko, a),
                            tra_key_text(w->outer ? ko : &ki, b));
        }
        w->ext[0] = ext[0];
        w->ext[1] = ext[1];
    }
    key.n = w->oc->frontier.n + w->ic->frontier.n - w->oj->n;
    if (!w->b) {
        w->b = tra_catbuilder_new(key.n, w->result.n);
        *w->sample = (tra_sample){ext[0], ext[1]};
    }
    for (int d = 0; d < ko->n; d++) key.v[w->oplace[d]] = ko->v[d];
    for (int d = 0; d < ki.n; d++) key.v[w->iplace[d]] = ki.v[d];
    return tra_catbuilder_add(w->b, &key, &w->result, 0, e);
}

static tra_status match_grid(walk *w, int64_t to, const tra_dims *ko, bool count, tra_err *e) {
    tra_dims ki = {.n = w->ic->frontier.n}, rest = {.n = w->free.n};
    int64_t n;
    for (int i = 0; i < w->ij->n; i++) {
        int64_t v = ko->v[w->oj->v[i]];
        if (v >= w->ic->frontier.v[w->ij->v[i]]) return TRA_OK;
        ki.v[w->ij->v[i]] = v;
    }
    if (!tra_dims_product(&w->free_box, &n) || (count && !tra_add(w->count, n, &w->count)))
        return tra_too_many(w->n, e);
    if (count || n == 0) return TRA_OK;
    do {
        for (int i = 0; i < rest.n; i++) ki.v[w->free.v[i]] = rest.v[i];
        TRA_TRY(pair(w, to, tra_linear(&w->ic->frontier, &ki), ko, e));
    } while (tra_next(&w->free_box, &rest));
    return TRA_OK;
}

static tra_status match_list(walk *w, int64_t to, const tra_dims *ko, bool count, tra_err *e) {
    tra_dims part = {.n = w->ij->n};
    for (int i = 0; i < part.n; i++) {
        part.v[i] = ko->v[w->oj->v[i]];
        if (part.v[i] >= w->box.v[i]) return TRA_OK;
    }
    int64_t at = tra_linear(&w->box, &part), lo = 0;
    TRA_BISECT(lo, w->ic->n, mid, w->index[mid].at < at);
    for (; lo < w->ic->n && w->index[lo].at == at; lo++) {
        if (count)
            w->count++;
        else
            TRA_TRY(pair(w, to, w->index[lo].ordinal, ko, e));
    }
    return TRA_OK;
}

static tra_status walk_all(walk *w, bool count, tra_err *e) {
    for (int64_t t = 0; t < w->oc->n; t++) {
        tra_dims ko;
        tra_catalog_key(w->oc, t, &ko);
        TRA_TRY(w->ic->grid ? match_grid(w, t, &ko, count, e) : match_list(w, t, &ko, count, e));
        if (w->count > TRA_MAX_LIST) return tra_too_many(w->n, e);
    }
    return TRA_OK;
}

/* No pairs: the bounds stand for the arrays there might have been. */
static tra_status join_nothing(const walk *w, tra_catalog *out, tra_sample *sample, tra_err *e) {
    tra_dims bound;
    *sample = (tra_sample){w->bound[0], w->bound[1]};
    TRA_TRY(tra_kernel_shape2(w->n->kernel, &w->bound[0], &w->bound[1], &w->bound[0], &w->bound[1], &bound, NULL, e));
    tra_empty(w->oc->frontier.n + w->ic->frontier.n - w->oj->n, &bound, out);
    return TRA_OK;
}

tra_status tra_list_join(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *c[2] = {n->in[0]->type.cat, n->in[1]->type.cat};
    const tra_dims *j[2] = {&n->joinl, &n->joinr};
    walk w = {.n = n, .sample = sample};
    w.outer = c[0]->grid && !c[1]->grid; /* a grid may be huge, a list is not */
    w.oc = c[w.outer], w.ic = c[!w.outer];
    w.oj = j[w.outer], w.ij = j[!w.outer];
    int left[TRA_MAXDIM];
    for (int d = 0; d < TRA_MAXDIM; d++) left[d] = d;
    memcpy(w.outer ? w.iplace : w.oplace, left, sizeof left);
    tra_join_places(n, w.outer ? w.oplace : w.iplace);
    for (int side = 0; side < 2; side++) w.bound[side] = c[side]->bound;
    if (c[0]->n == 0 || c[1]->n == 0) return join_nothing(&w, out, sample, e);
    if (w.oc->n > TRA_MAX_LIST) return tra_too_many(n, e);
    w.box.n = w.ij->n;
    for (int i = 0; i < w.ij->n; i++) w.box.v[i] = w.ic->frontier.v[w.ij->v[i]];
    for (int d = 0; d < w.ic->frontier.n; d++) {
        bool joined = false;
        for (int i = 0; i < w.ij->n; i++) joined |= w.ij->v[i] == d;
        if (joined) continue;
        w.free.v[w.free.n++] = d;
        w.free_box.v[w.free_box.n++] = w.ic->frontier.v[d];
    }
    if (!w.ic->grid) w.index = sort_by(w.ic, w.ij);
    tra_status s = walk_all(&w, true, e);
    if (s == TRA_OK) {
        w.count = 0;
        s = walk_all(&w, false, e);
    }
    free(w.index);
    if (s == TRA_OK && w.b) return tra_catbuilder_finish(w.b, a, out, NULL, NULL, e);
    tra_catbuilder_free(w.b);
    return s == TRA_OK ? join_nothing(&w, out, sample, e) : s;
}

/* ---- agg and transform -------------------------------------------------------------------------------------- */

static tra_status unary_nothing(const tra_node *n, int k, tra_catalog *out, tra_sample *sample, tra_err *e) {
    tra_dims bound;
    sample->l = n->in[0]->type.cat->bound;
    TRA_TRY(n->op == TRA_OP_AGG ? tra_kernel_shape_agg(n->kernel, &sample->l, &bound, NULL, e)
                                : tra_kernel_shape1(n->kernel, &sample->l, &bound, NULL, e));
    tra_empty(k, &bound, out);
    return TRA_OK;
}

/* Adds the tuple `key`, whose arrays before the kernel have extents *in. */
static tra_status add_unary(const tra_node *n, tra_catbuilder **b, const tra_dims *key, const tra_dims *in,
                            tra_dims *last, tra_dims *result, tra_sample *sample, tra_err *e) {
    if (!*b || !tra_dims_eq(in, last)) {
        tra_err err = {0};
        tra_status s = n->op == TRA_OP_AGG ? tra_kernel_shape_agg(n->kernel, in, result, NULL, &err)
                                           : tra_kernel_shape1(n->kernel, in, result, NULL, &err);
        char buf[TRA_DIMTEXT];
        if (s != TRA_OK) return tra_fail(e, s, "%s (key %s)", err.msg, tra_key_text(key, buf));
        *last = *in;
    }
    if (!*b) {
        *b = tra_catbuilder_new(key->n, result->n);
        sample->l = *in;
    }
    return tra_catbuilder_add(*b, key, result, 0, e);
}

tra_status tra_list_agg(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    if (c->n > TRA_MAX_LIST) return tra_too_many(n, e);
    if (c->n == 0) return unary_nothing(n, n->group.n, out, sample, e);
    ref *v = sort_by(c, &n->group);
    tra_catbuilder *b = NULL;
    tra_dims last = {.n = 0}, result;
    tra_status s = TRA_OK;
    for (int64_t i = 0, next; i < c->n && s == TRA_OK; i = next) {
        tra_dims key, group = {.n = n->group.n}, largest, ext;
        tra_catalog_key(c, v[i].ordinal, &key);
        for (int d = 0; d < group.n; d++) group.v[d] = key.v[n->group.v[d]];
        tra_catalog_ext(c, v[i].ordinal, &largest);
        for (next = i + 1; next < c->n && v[next].at == v[i].at; next++) {
            tra_catalog_ext(c, v[next].ordinal, &ext);
            for (int x = 0; x < ext.n; x++) largest.v[x] = tra_max64(largest.v[x], ext.v[x]);
        }
        s = add_unary(n, &b, &group, &largest, &last, &result, sample, e);
    }
    free(v);
    if (s == TRA_OK) return tra_catbuilder_finish(b, a, out, NULL, NULL, e);
    tra_catbuilder_free(b);
    return s;
}

tra_status tra_list_transform(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    if (c->n > TRA_MAX_LIST) return tra_too_many(n, e);
    if (c->n == 0) {
        TRA_TRY(unary_nothing(n, c->frontier.n, out, sample, e));
        out->frontier = c->frontier;
        return TRA_OK;
    }
    tra_catbuilder *b = NULL;
    tra_dims last = {.n = 0}, result;
    tra_status s = TRA_OK;
    for (int64_t t = 0; t < c->n && s == TRA_OK; t++) {
        tra_dims key, ext;
        tra_catalog_key(c, t, &key);
        tra_catalog_ext(c, t, &ext);
        s = add_unary(n, &b, &key, &ext, &last, &result, sample, e);
    }
    if (s == TRA_OK) return tra_catbuilder_finish(b, a, out, NULL, NULL, e);
    tra_catbuilder_free(b);
    return s;
}

/* ---- rekey -------------------------------------------------------------------------------------------------- */

tra_status tra_list_rekey(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    if (c->n > TRA_MAX_LIST) return tra_too_many(n, e);
    if (c->n == 0) return tra_empty(n->keyfn->n, &c->bound, out), TRA_OK;
    tra_catbuilder *b = tra_catbuilder_new(n->keyfn->n, c->bound.n);
    tra_dims key, to, ext;
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &key);
        tra_catalog_ext(c, t, &ext);
        tra_status s = tra_keyfn_eval(n->keyfn, &key, &to, e);
        if (s == TRA_OK) s = tra_catbuilder_add(b, &to, &ext, t, e);
        if (s == TRA_OK) continue;
        tra_catbuilder_free(b);
        return s;
    }
    int64_t dup[2] = {-1, -1};
    tra_err err = {0};
    tra_status s = tra_catbuilder_finish(b, a, out, NULL, dup, &err);
    if (s == TRA_OK) return TRA_OK;
    if (dup[0] < 0) return tra_fail(e, s, "%s", err.msg);
    tra_dims other;
    tra_catalog_key(c, dup[0], &key);
    tra_catalog_key(c, dup[1], &other);
    return tra_collision(n, &key, &other, e);
}

/* ---- tile and concat ---------------------------------------------------------------------------------------- */

tra_status tra_list_tile(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims bound = c->bound, key, ext;
    int k = c->frontier.n;
    int64_t count = 0;
    bound.v[n->dim] = tra_min64(bound.v[n->dim], n->size);
    if (c->n > TRA_MAX_LIST) return tra_too_many(n, e);
    if (c->n == 0) {
        tra_empty(k + 1, &bound, out);
        for (int d = 0; d < k; d++) out->frontier.v[d] = c->frontier.v[d];
        return TRA_OK;
    }
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_ext(c, t, &ext);
        count += tra_min64(tra_ceil_div(ext.v[n->dim], n->size), TRA_MAX_LIST + 1);
        if (count > TRA_MAX_LIST) return tra_too_many(n, e);
    }
    tra_catbuilder *b = tra_catbuilder_new(k + 1, bound.n);
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &key);
        tra_catalog_ext(c, t, &ext);
        int64_t extent = ext.v[n->dim];
        key.n = k + 1;
        for (int64_t i = 0; i * n->size < extent; i++) {
            key.v[k] = i;
            ext.v[n->dim] = tra_min64(n->size, extent - i * n->size);
            tra_status s = tra_catbuilder_add(b, &key, &ext, t, e);
            if (s == TRA_OK) continue;
            tra_catbuilder_free(b);
            return s;
        }
    }
    return tra_catbuilder_finish(b, a, out, NULL, NULL, e);
}

/* Adds to *sum the array t, the i-th of its group, whose other extents must be those of *sum. */
static tra_status concat_one(const tra_node *n, int64_t t, int64_t i, tra_dims *sum, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    char buf[TRA_DIMTEXT];
    tra_dims key, ext;
    tra_catalog_key(c, t, &key);
    tra_catalog_ext(c, t, &ext);
    if (key.v[n->keydim] != i) {
        key.v[n->keydim] = i;
        return tra_fail(e, TRA_PROGRAM,
                        "concat needs keys 0, 1, ... without a gap in key dimension %d, but %s is missing", n->keydim,
                        tra_key_text(&key, buf));
    }
    if (i == 0) return *sum = ext, TRA_OK;
    for (int x = 0; x < ext.n; x++)
        if (x != n->dim && ext.v[x] != sum->v[x])
            return tra_fail(e, TRA_PROGRAM,
                            "concat needs arrays of equal extents along the other dimensions, but along dimension %d "
                            "they are %" PRId64 ", and %" PRId64 " at key %s",
                            x, sum->v[x], ext.v[x], tra_key_text(&key, buf));
    if (!tra_add(sum->v[n->dim], ext.v[n->dim], &sum->v[n->dim]))
        return tra_fail(e, TRA_PROGRAM, "concat along dimension %d gives an extent over 2^63", n->dim);
    return TRA_OK;
}

tra_status tra_list_concat(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims group = {.n = 0};
    for (int d = 0; d < c->frontier.n; d++)
        if (d != n->keydim) group.v[group.n++] = d;
    if (c->n == 0) return tra_empty(group.n, &c->bound, out), TRA_OK;
    ref *v = sort_by(c, &group); /* ties by ordinal, which is the order of the key dimension that goes */
    tra_catbuilder *b = tra_catbuilder_new(group.n, c->bound.n);
    tra_status s = TRA_OK;
    for (int64_t i = 0, next; i < c->n && s == TRA_OK; i = next) {
        tra_dims key, to = {.n = group.n}, sum;
        for (next = i; s == TRA_OK && next < c->n && v[next].at == v[i].at; next++)
            s = concat_one(n, v[next].ordinal, next - i, &sum, e);
        if (s != TRA_OK) break;
        tra_catalog_key(c, v[i].ordinal, &key);
        for (int d = 0; d < group.n; d++) to.v[d] = key.v[group.v[d]];
        if (n->most) sum.v[n->dim] = tra_min64(sum.v[n->dim], n->most);
        s = tra_catbuilder_add(b, &to, &sum, 0, e);
    }
    free(v);
    if (s == TRA_OK) return tra_catbuilder_finish(b, a, out, NULL, NULL, e);
    tra_catbuilder_free(b);
    return s;
}
