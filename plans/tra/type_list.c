/* type_list.c - catalogs of results that are no grids in closed form: their tuples are walked. */
#include "type.h"

#include <stdlib.h>
#include <string.h>

/* A tuple, and the part of its key by which it is grouped or looked up, as a number. */
typedef struct member {
    int64_t group, ordinal;
} member;

static int by_group(const void *x, const void *y) {
    const member *a = x, *b = y;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

/* All tuples of c, ordered by their values on the key dimensions `dims`, row-major. From malloc. */
static member *sort_by(const tra_catalog *c, const tra_dims *dims) {
    member *v = tra_calloc((size_t)c->n, sizeof *v);
    tra_dims box = {.n = dims->n}, part = {.n = dims->n}, key;
    bool sorted = true;
    for (int i = 0; i < dims->n; i++) box.v[i] = c->frontier.v[dims->v[i]];
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &key);
        for (int i = 0; i < dims->n; i++) part.v[i] = key.v[dims->v[i]];
        v[t] = (member){tra_linear(&box, &part), t};
        sorted = sorted && (t == 0 || v[t - 1].group <= v[t].group);
    }
    if (!sorted) qsort(v, (size_t)c->n, sizeof *v, by_group);
    return v;
}

/* The catalog that b has, unless adding to it has failed. */
static tra_status finished(tra_status s, tra_catbuilder *b, tra_arena *a, tra_catalog *out, tra_err *e) {
    if (s == TRA_OK) return tra_catbuilder_finish(b, a, out, NULL, e);
    tra_catbuilder_free(b);
    return s;
}

/* ---- join --------------------------------------------------------------------------------------------------- */

/* One operand is walked; for each of its tuples the other one is asked for its matches: a grid by arithmetic, a list by
 * its tuples sorted on the joined key. */
typedef struct walk {
    const tra_node *n;
    int outer; /* the operand that is walked: 0 or 1; the other is inner */
    const tra_catalog *outer_cat, *inner_cat;
    const tra_dims *outer_joined, *inner_joined;          /* joined key dimensions of each */
    int outer_place[TRA_MAXDIM], inner_place[TRA_MAXDIM]; /* of each key dimension in the result's key */
    tra_dims box;                                         /* how many values the inner joined dimensions have */
    member *index;                                        /* of an inner list: its tuples by their joined key */
    tra_dims free;     /* of an inner grid: the key dimensions that are not joined, */
    tra_dims free_box; /* and how many values they have */
    tra_dims bound[2]; /* of both operands */
    tra_catbuilder *b; /* the result, from the first pair on */
    tra_sample *sample;
    int64_t count;           /* pairs */
    tra_dims ext[2], result; /* the extents of the pair that was added last, and of what comes of it */
} walk;

/* Adds what comes of a pair of tuples, given by their ordinals. */
static tra_status add_pair(walk *w, int64_t outer, int64_t inner, const tra_dims *outer_key, tra_err *e) {
    tra_dims inner_key, key, ext[2];
    tra_catalog_key(w->inner_cat, inner, &inner_key);
    tra_catalog_ext(w->outer_cat, outer, &ext[w->outer]);
    tra_catalog_ext(w->inner_cat, inner, &ext[!w->outer]);
    if (!w->b || !tra_dims_eq(&ext[0], &w->ext[0]) || !tra_dims_eq(&ext[1], &w->ext[1])) {
        tra_err err = {0};
        tra_status s =
            tra_kernel_shape2(w->n->kernel, &ext[0], &ext[1], &w->bound[0], &w->bound[1], &w->result, NULL, &err);
        if (s != TRA_OK) {
            char a[TRA_DIMTEXT], b[TRA_DIMTEXT];
            return tra_fail(e, s, "%s (arrays of the keys %s and %s)", err.msg,
                            tra_key_text(w->outer ? &inner_key : outer_key, a),
                            tra_key_text(w->outer ? outer_key : &inner_key, b));
        }
        w->ext[0] = ext[0];
        w->ext[1] = ext[1];
    }
    key.n = w->outer_cat->frontier.n + w->inner_cat->frontier.n - w->outer_joined->n;
    if (!w->b) {
        w->b = tra_catbuilder_new(key.n, w->result.n);
        *w->sample = (tra_sample){ext[0], ext[1]};
    }
    for (int d = 0; d < outer_key->n; d++) key.v[w->outer_place[d]] = outer_key->v[d];
    for (int d = 0; d < inner_key.n; d++) key.v[w->inner_place[d]] = inner_key.v[d];
    return tra_catbuilder_add(w->b, &key, &w->result, 0, e);
}

/* Counts or adds the pairs of one outer tuple with those of an inner grid. */
static tra_status match_grid(walk *w, int64_t outer, const tra_dims *outer_key, bool only_count, tra_err *e) {
    tra_dims inner_key = {.n = w->inner_cat->frontier.n}, rest = {.n = w->free.n};
    int64_t n;
    for (int i = 0; i < w->inner_joined->n; i++) {
        int64_t v = outer_key->v[w->outer_joined->v[i]];
        if (v >= w->inner_cat->frontier.v[w->inner_joined->v[i]]) return TRA_OK;
        inner_key.v[w->inner_joined->v[i]] = v;
    }
    if (!tra_dims_product(&w->free_box, &n) || (only_count && !tra_add(w->count, n, &w->count)))
        return tra_type_too_many(w->n, e);
    if (only_count || n == 0) return TRA_OK;
    do {
        for (int i = 0; i < rest.n; i++) inner_key.v[w->free.v[i]] = rest.v[i];
        TRA_TRY(add_pair(w, outer, tra_linear(&w->inner_cat->frontier, &inner_key), outer_key, e));
    } while (tra_next(&w->free_box, &rest));
    return TRA_OK;
}

/* The same with those of an inner list. */
static tra_status match_list(walk *w, int64_t outer, const tra_dims *outer_key, bool only_count, tra_err *e) {
    tra_dims part = {.n = w->inner_joined->n};
    for (int i = 0; i < part.n; i++) {
        part.v[i] = outer_key->v[w->outer_joined->v[i]];
        if (part.v[i] >= w->box.v[i]) return TRA_OK;
    }
    int64_t at = tra_linear(&w->box, &part), lo = 0;
    TRA_BISECT(lo, w->inner_cat->n, mid, w->index[mid].group < at);
    for (; lo < w->inner_cat->n && w->index[lo].group == at; lo++) {
        if (only_count)
            w->count++;
        else
            TRA_TRY(add_pair(w, outer, w->index[lo].ordinal, outer_key, e));
    }
    return TRA_OK;
}

static tra_status walk_all(walk *w, bool only_count, tra_err *e) {
    for (int64_t t = 0; t < w->outer_cat->n; t++) {
        tra_dims outer_key;
        tra_catalog_key(w->outer_cat, t, &outer_key);
        TRA_TRY(w->inner_cat->grid ? match_grid(w, t, &outer_key, only_count, e)
                                   : match_list(w, t, &outer_key, only_count, e));
        if (w->count > TRA_MAX_LIST) return tra_type_too_many(w->n, e);
    }
    return TRA_OK;
}

/* The catalog of a join without pairs: its bound follows from those of the operands. */
static tra_status empty_join(const walk *w, tra_catalog *out, tra_sample *sample, tra_err *e) {
    tra_dims bound;
    *sample = (tra_sample){w->bound[0], w->bound[1]};
    TRA_TRY(tra_kernel_shape2(w->n->kernel, &w->bound[0], &w->bound[1], &w->bound[0], &w->bound[1], &bound, NULL, e));
    tra_type_empty(w->outer_cat->frontier.n + w->inner_cat->frontier.n - w->outer_joined->n, &bound, out);
    return TRA_OK;
}

tra_status tra_list_join(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *c[2] = {n->in[0]->type.cat, n->in[1]->type.cat};
    const tra_dims *j[2] = {&n->join.l, &n->join.r};
    walk w = {.n = n, .sample = sample};
    w.outer = c[0]->grid && !c[1]->grid; /* a grid may be huge, a list is not */
    w.outer_cat = c[w.outer], w.inner_cat = c[!w.outer];
    w.outer_joined = j[w.outer], w.inner_joined = j[!w.outer];
    int left[TRA_MAXDIM];
    for (int d = 0; d < TRA_MAXDIM; d++) left[d] = d;
    memcpy(w.outer ? w.inner_place : w.outer_place, left, sizeof left);
    tra_type_join_places(n, w.outer ? w.outer_place : w.inner_place);
    for (int side = 0; side < 2; side++) w.bound[side] = c[side]->bound;
    if (c[0]->n == 0 || c[1]->n == 0) return empty_join(&w, out, sample, e);
    if (w.outer_cat->n > TRA_MAX_LIST) return tra_type_too_many(n, e);
    w.box.n = w.inner_joined->n;
    for (int i = 0; i < w.inner_joined->n; i++) w.box.v[i] = w.inner_cat->frontier.v[w.inner_joined->v[i]];
    for (int d = 0; d < w.inner_cat->frontier.n; d++) {
        bool joined = false;
        for (int i = 0; i < w.inner_joined->n; i++) joined |= w.inner_joined->v[i] == d;
        if (joined) continue;
        w.free.v[w.free.n++] = d;
        w.free_box.v[w.free_box.n++] = w.inner_cat->frontier.v[d];
    }
    if (!w.inner_cat->grid) w.index = sort_by(w.inner_cat, w.inner_joined);
    tra_status s = walk_all(&w, true, e);
    if (s == TRA_OK) {
        w.count = 0;
        s = walk_all(&w, false, e);
    }
    free(w.index);
    if (s == TRA_OK && w.b) return tra_catbuilder_finish(w.b, a, out, NULL, e);
    tra_catbuilder_free(w.b);
    return s == TRA_OK ? empty_join(&w, out, sample, e) : s;
}

/* ---- agg and transform -------------------------------------------------------------------------------------- */

/* The catalog of an aggregation or transform without tuples, with k key dimensions. */
static tra_status empty_unary(const tra_node *n, int k, tra_catalog *out, tra_sample *sample, tra_err *e) {
    tra_dims bound;
    sample->l = n->in[0]->type.cat->bound;
    TRA_TRY(n->op == TRA_OP_AGG ? tra_kernel_shape_agg(n->kernel, &sample->l, &bound, NULL, e)
                                : tra_kernel_shape1(n->kernel, &sample->l, &bound, NULL, e));
    tra_type_empty(k, &bound, out);
    return TRA_OK;
}

/* Adds the tuple `key` to *b, which is made with the first one; the kernel sees an array of extents *in. last and
 * result are the extents of the tuple before, without and with the kernel. */
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
    if (c->n > TRA_MAX_LIST) return tra_type_too_many(n, e);
    if (c->n == 0) return empty_unary(n, n->group.n, out, sample, e);
    member *v = sort_by(c, &n->group);
    tra_catbuilder *b = NULL;
    tra_dims last = {.n = 0}, result;
    tra_status s = TRA_OK;
    for (int64_t i = 0, next; i < c->n && s == TRA_OK; i = next) {
        tra_dims key, group = {.n = n->group.n}, largest, ext;
        tra_catalog_key(c, v[i].ordinal, &key);
        for (int d = 0; d < group.n; d++) group.v[d] = key.v[n->group.v[d]];
        tra_catalog_ext(c, v[i].ordinal, &largest);
        for (next = i + 1; next < c->n && v[next].group == v[i].group; next++) {
            tra_catalog_ext(c, v[next].ordinal, &ext);
            for (int x = 0; x < ext.n; x++) largest.v[x] = tra_max64(largest.v[x], ext.v[x]);
        }
        s = add_unary(n, &b, &group, &largest, &last, &result, sample, e);
    }
    free(v);
    return finished(s, b, a, out, e);
}

tra_status tra_list_transform(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    if (c->n > TRA_MAX_LIST) return tra_type_too_many(n, e);
    if (c->n == 0) {
        TRA_TRY(empty_unary(n, c->frontier.n, out, sample, e));
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
    return finished(s, b, a, out, e);
}

/* ---- rekey -------------------------------------------------------------------------------------------------- */

tra_status tra_list_rekey(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    if (c->n > TRA_MAX_LIST) return tra_type_too_many(n, e);
    if (c->n == 0) return tra_type_empty(n->keyfn->n, &c->bound, out), TRA_OK;
    tra_catbuilder *b = tra_catbuilder_new(n->keyfn->n, c->bound.n);
    tra_dims key, to, ext;
    tra_status s = TRA_OK;
    for (int64_t t = 0; t < c->n && s == TRA_OK; t++) {
        tra_catalog_key(c, t, &key);
        tra_catalog_ext(c, t, &ext);
        s = tra_keyfn_eval(n->keyfn, &key, &to, e);
        if (s == TRA_OK) s = tra_catbuilder_add(b, &to, &ext, t, e);
    }
    if (s != TRA_OK) return finished(s, b, a, out, e);
    int64_t dup[2] = {-1, -1};
    tra_err err = {0};
    s = tra_catbuilder_finish(b, a, out, dup, &err);
    if (s == TRA_OK) return TRA_OK;
    if (dup[0] < 0) return tra_fail(e, s, "%s", err.msg);
    tra_dims other;
    tra_catalog_key(c, dup[0], &key);
    tra_catalog_key(c, dup[1], &other);
    return tra_type_collision(n, &key, &other, e);
}

/* ---- tile and concat ---------------------------------------------------------------------------------------- */

tra_status tra_list_tile(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims bound = c->bound, key, ext;
    int k = c->frontier.n;
    int64_t count = 0;
    bound.v[n->dim] = tra_min64(bound.v[n->dim], n->size);
    if (c->n > TRA_MAX_LIST) return tra_type_too_many(n, e);
    if (c->n == 0) {
        tra_type_empty(k + 1, &bound, out);
        for (int d = 0; d < k; d++) out->frontier.v[d] = c->frontier.v[d];
        return TRA_OK;
    }
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_ext(c, t, &ext);
        count += tra_min64(tra_ceil_div(ext.v[n->dim], n->size), TRA_MAX_LIST + 1);
        if (count > TRA_MAX_LIST) return tra_type_too_many(n, e);
    }
    tra_catbuilder *b = tra_catbuilder_new(k + 1, bound.n);
    tra_status s = TRA_OK;
    for (int64_t t = 0; t < c->n && s == TRA_OK; t++) {
        tra_catalog_key(c, t, &key);
        tra_catalog_ext(c, t, &ext);
        int64_t extent = ext.v[n->dim];
        key.n = k + 1;
        for (int64_t i = 0; i * n->size < extent && s == TRA_OK; i++) {
            key.v[k] = i;
            ext.v[n->dim] = tra_min64(n->size, extent - i * n->size);
            s = tra_catbuilder_add(b, &key, &ext, t, e);
        }
    }
    return finished(s, b, a, out, e);
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
    if (c->n == 0) return tra_type_empty(group.n, &c->bound, out), TRA_OK;
    member *v = sort_by(c, &group); /* in a group by ordinal, and so by the key dimension that goes */
    tra_catbuilder *b = tra_catbuilder_new(group.n, c->bound.n);
    tra_status s = TRA_OK;
    for (int64_t i = 0, next; i < c->n && s == TRA_OK; i = next) {
        tra_dims key, to = {.n = group.n}, sum;
        for (next = i; s == TRA_OK && next < c->n && v[next].group == v[i].group; next++)
            s = concat_one(n, v[next].ordinal, next - i, &sum, e);
        if (s != TRA_OK) break;
        tra_catalog_key(c, v[i].ordinal, &key);
        for (int d = 0; d < group.n; d++) to.v[d] = key.v[group.v[d]];
        if (n->most) sum.v[n->dim] = tra_min64(sum.v[n->dim], n->most);
        s = tra_catbuilder_add(b, &to, &sum, 0, e);
    }
    free(v);
    return finished(s, b, a, out, e);
}
