/* ref_operators.c - the operators of the algebra, one tuple at a time. */
#include "ref_relations.h"
#include "ref_table.h"

#include "../../lib/kernel/program.h"
#include "../../lib/model/rows.h"
#include "../../lib/storage/mapped.h"
#include "../../lib/storage/stored.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static ref_num element_of(tra_dtype t, const void *data, int64_t i) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: return ((const type *)data)[i];
        TRA_DTYPES(X)
#undef X
    }
    return 0;
}

void ref_set_element(tra_dtype t, void *data, int64_t i, ref_num v) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: ((type *)data)[i] = (type)v; return;
        TRA_DTYPES(X)
#undef X
    }
}

/* The elements of tuple i in a block as it was read: all, or the entries of an array that is 0 elsewhere. */
static tra_status read_block(const tra_type *t, int64_t i, void *buf, ref_array *x, tra_err *e) {
    if (!t->layout) {
        for (int64_t j = 0, m = ref_count(&x->ext); j < m; j++) x->data[j] = element_of(t->dtype, buf, j);
        return TRA_OK;
    }
    tra_cell cell;
    TRA_TRY(tra_cell_of(t, i, buf, tra_type_bytes(t, i).bound, &cell, e));
    TRA_TRY(tra_rows_check(&cell, e));
    tra_rows_view v = tra_rows_of(&cell);
    int64_t width = x->ext.n ? x->ext.v[x->ext.n - 1] : 1;
    for (int64_t r = 0; r < v.nrows; r++)
        for (int64_t k = v.begin[r]; k < v.begin[r + 1]; k++)
            x->data[v.row[r] * width + v.column[k]] = element_of(t->dtype, v.value, k);
    return TRA_OK;
}

static tra_status do_input(const tra_node *n, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    if (!n->input.rel)
        return tra_fail(e, TRA_INPUT, "input %s is only declared: there is no data to compute with", n->name);
    const tra_type *t = tra_rel_type(n->input.rel);
    if (t->columns) return ref_table_input(n->input.rel, a, out, e);
    size_t need = tra_rel_scratch_bytes(n->input.rel);
    void *scratch = NULL, *buf = tra_malloc(tra_rel_buffer_bytes(n->input.rel) + 1);
    if (need) scratch = aligned_alloc(4096, (need + 4095) / 4096 * 4096);
    *out = (tra_ref_rel){.k = t->cat->frontier.n, .r = t->cat->bound.n, .dtype = t->dtype, .sparse = t->sparse};
    memcpy(out->cut, t->cut, sizeof out->cut);
    gather g = {.a = a};
    tra_status s = need && !scratch ? tra_fail(e, TRA_RESOURCE, "no memory to read %s", n->input.path) : TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        tra_dims key, ext;
        tra_catalog_key(t->cat, i, &key);
        tra_catalog_ext(t->cat, i, &ext);
        s = tra_rel_read(n->input.rel, i, buf, scratch, e);
        if (s != TRA_OK) break;
        ref_array x = ref_array_new(a, &ext);
        s = read_block(t, i, buf, &x, e);
        ref_add(&g, &key, x);
    }
    free(buf);
    free(scratch);
    if (s != TRA_OK) return s;
    return ref_finish(&g, &t->cat->bound, out, e);
}

/* Extents 1, which fit all others: what a kernel makes of such arrays has the type of its results. */
static tra_dims ones(int rank) {
    tra_dims d = {.n = rank};
    for (int i = 0; i < rank; i++) d.v[i] = 1;
    return d;
}

static bool joined(const tra_dims *list, int key) {
    for (int i = 0; i < list->n; i++)
        if (list->v[i] == key) return true;
    return false;
}

static tra_status do_join(const tra_node *n, const tra_ref_rel *x, const tra_ref_rel *y, tra_arena *a, tra_ref_rel *out,
                          tra_err *e) {
    const tra_dims *l = &n->join.l, *r = &n->join.r;
    tra_dims bx = x->bound, by = y->bound;
    uint32_t cut[2][TRA_MAXDIM];
    int place[TRA_MAXDIM], k = x->k; /* place[d]: where key dimension d of y is in the result */
    for (int d = 0; d < y->k; d++) {
        place[d] = -1;
        for (int i = r->n - 1; i >= 0; i--)
            if (r->v[i] == d) place[d] = (int)l->v[i];
        if (place[d] < 0) place[d] = k++;
    }
    for (int d = 0; d < x->r; d++) cut[0][d] = x->cut[d];
    for (int d = 0; d < y->r; d++) {
        cut[1][d] = 0;
        for (int key = 0; key < y->k; key++)
            if (y->cut[d] & ref_bit(key)) cut[1][d] |= ref_bit(place[key]);
    }
    ref_origin o;
    TRA_TRY(ref_join_origin(n->kernel, &bx, &by, &o, e));
    *out = (tra_ref_rel){.k = k, .r = o.n};
    ref_cut_by_origin(&o, cut, out);

    ref_fit fit = {0}, none = {0};
    tra_dims ox = ones(x->r), oy = ones(y->r);
    ref_array p = ref_array_new(a, &ox), q = ref_array_new(a, &oy), z;
    p.sparse = x->sparse, q.sparse = y->sparse;
    TRA_TRY(ref_join_pair(n->kernel, x->dtype, y->dtype, &ox, &oy, &p, &q, a, &z, &out->dtype, &none, e));
    out->sparse = z.sparse;
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < y->n; j++) {
            const tra_ref_tuple *s = &x->v[i], *t = &y->v[j];
            bool meet = true;
            for (int d = 0; d < l->n; d++) meet = meet && s->key.v[l->v[d]] == t->key.v[r->v[d]];
            if (!meet) continue;
            tra_dims key = s->key;
            for (int d = 0; d < y->k; d++)
                if (!joined(r, d)) key.v[key.n++] = t->key.v[d];
            p = ref_array_of(x, s);
            q = ref_array_of(y, t);
            TRA_TRY(tra_stop_check(e));
            TRA_TRY(ref_join_pair(n->kernel, x->dtype, y->dtype, &bx, &by, &p, &q, a, &z, &out->dtype, &fit, e));
            ref_add(&g, &key, z);
        }
    TRA_TRY(ref_fits(&fit, e));
    out->loose = fit.loose;
    p = ref_array_new(a, &bx);
    q = ref_array_new(a, &by);
    tra_err misfit = {0}; /* bounds that do not fit each other: no pair of arrays has both */
    bool fits =
        ref_join_pair(n->kernel, x->dtype, y->dtype, &bx, &by, &p, &q, a, &z, &out->dtype, &none, &misfit) == TRA_OK;
    return ref_finish(&g, fits ? &z.ext : NULL, out, e);
}

static tra_status do_agg(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    const tra_dims *group = &n->group;
    bool index = ref_is_index(n->kernel);
    uint32_t cut[2][TRA_MAXDIM] = {{0}};
    for (int d = 0; d < x->r; d++) {
        uint32_t left = x->cut[d];
        for (int i = 0; i < group->n; i++)
            if (x->cut[d] & ref_bit((int)group->v[i])) {
                cut[0][d] |= ref_bit(i);
                left &= ~ref_bit((int)group->v[i]);
            }
        if (left) cut[0][d] = 0;
    }
    ref_origin o;
    TRA_TRY(ref_agg_origin(n->kernel, x->r, &o, e));
    *out = (tra_ref_rel){.k = group->n, .r = o.n};
    ref_cut_by_origin(&o, cut, out);

    tensor whole = {.shape = {.n = x->r}};
    if (index) TRA_TRY(ref_as_tensor(x, &whole, e));
    ref_fit fit = {0}, none = {0};
    tra_dims one = ones(x->r);
    ref_array p = ref_array_new(a, &one), z;
    p.sparse = x->sparse;
    TRA_TRY(ref_agg_group(n->kernel, x->dtype, 1, &p, &(tra_dims){.n = x->r}, &one, a, &z, &out->dtype, &none, e));
    out->sparse = z.sparse;
    gather g = {.a = a};
    bool *done = tra_news(a, bool, x->n);
    ref_array *member = tra_news(a, ref_array, x->n);
    tra_dims *offset = tra_news(a, tra_dims, x->n);
    for (int64_t i = 0; i < x->n; i++) {
        if (done[i]) continue;
        tra_dims key = {.n = group->n};
        for (int d = 0; d < group->n; d++) key.v[d] = x->v[i].key.v[group->v[d]];
        int64_t m = 0;
        for (int64_t j = i; j < x->n; j++) {
            bool same = true;
            for (int d = 0; d < group->n; d++) same = same && x->v[j].key.v[group->v[d]] == key.v[d];
            if (!same) continue;
            done[j] = true;
            if (index) offset[m] = ref_tensor_offset(&whole, &x->v[j].key);
            member[m++] = ref_array_of(x, &x->v[j]);
        }
        TRA_TRY(tra_stop_check(e));
        TRA_TRY(ref_agg_group(n->kernel, x->dtype, m, member, offset, &whole.shape, a, &z, &out->dtype, &fit, e));
        ref_add(&g, &key, z);
    }
    TRA_TRY(ref_fits(&fit, e));
    out->loose = fit.loose;
    p = ref_array_new(a, &x->bound);
    tra_err misfit = {0};
    bool fits = ref_agg_group(n->kernel, x->dtype, 1, &p, &(tra_dims){.n = x->r}, &x->bound, a, &z, &out->dtype, &none,
                              &misfit) == TRA_OK;
    return ref_finish(&g, fits ? &z.ext : NULL, out, e);
}

static tra_status do_rekey(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    const tra_keyfn *f = n->keyfn;
    *out = (tra_ref_rel){.k = f->n, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    for (int d = 0; d < x->r; d++)
        for (int i = f->n - 1; i >= 0; i--)
            if (x->cut[d] && ref_key_vars(f->expr[i]) == x->cut[d]) out->cut[d] = ref_bit(i);
    for (int d = 0; d < x->r && d < f->n; d++)
        if (!x->cut[d] && f->expr[d]->op == TRA_KEY_INT && f->expr[d]->value == 0) out->cut[d] = ref_bit(d);
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        tra_dims key = {.n = f->n};
        for (int d = 0; d < f->n; d++) {
            char buf[TRA_DIMTEXT];
            TRA_TRY(ref_key(f->expr[d], &x->v[i].key, &key.v[d], e));
            if (key.v[d] < 0)
                return tra_fail(e, TRA_PROGRAM, "a negative component for key %s", tra_key_text(&x->v[i].key, buf));
        }
        ref_add(&g, &key, ref_array_of(x, &x->v[i]));
    }
    return ref_finish(&g, &x->bound, out, e);
}

static tra_status do_filter(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    *out = (tra_ref_rel){.k = x->k, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    memcpy(out->cut, x->cut, sizeof out->cut);
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        int64_t keep;
        TRA_TRY(ref_key(n->keyfn->expr[0], &x->v[i].key, &keep, e));
        if (keep) ref_add(&g, &x->v[i].key, ref_array_of(x, &x->v[i]));
    }
    return ref_finish(&g, &x->bound, out, e);
}

static tra_status do_transform(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    uint32_t cut[2][TRA_MAXDIM];
    memcpy(cut[0], x->cut, sizeof cut[0]);
    ref_origin o;
    TRA_TRY(ref_map_origin(n->kernel, x->r, &o, e));
    *out = (tra_ref_rel){.k = x->k, .r = o.n};
    ref_cut_by_origin(&o, cut, out);
    ref_fit fit = {0}, none = {0};
    tra_dims one = ones(x->r);
    ref_array p = ref_array_new(a, &one), z;
    p.sparse = x->sparse;
    TRA_TRY(ref_map_one(n->kernel, x->dtype, &p, a, &z, &out->dtype, &none, e));
    out->sparse = z.sparse;
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        p = ref_array_of(x, &x->v[i]);
        TRA_TRY(ref_map_one(n->kernel, x->dtype, &p, a, &z, &out->dtype, &fit, e));
        if (z.data == p.data) { /* a relation's arrays are its own, since f32 is rounded in place */
            z = ref_array_new(a, &p.ext);
            memcpy(z.data, p.data, (size_t)ref_count(&p.ext) * sizeof *z.data);
        }
        ref_add(&g, &x->v[i].key, z);
    }
    TRA_TRY(ref_fits(&fit, e));
    out->loose = fit.loose;
    p = ref_array_new(a, &x->bound);
    tra_err misfit = {0};
    bool fits = ref_map_one(n->kernel, x->dtype, &p, a, &z, &out->dtype, &none, &misfit) == TRA_OK;
    return ref_finish(&g, fits ? &z.ext : NULL, out, e);
}

/* The elements of x that the box of extents `ext` at `from` holds, as an array; 0 where x has none. */
static ref_array box(tra_arena *a, const ref_array *x, const tra_dims *from, const tra_dims *ext) {
    ref_array z = ref_array_new(a, ext);
    tra_dims at = {.n = ext->n}, in = {.n = ext->n};
    for (int64_t i = 0, n = ref_count(ext); i < n; i++, ref_step(ext, &at)) {
        bool inside = true;
        for (int d = 0; d < at.n; d++) {
            in.v[d] = from->v[d] + at.v[d];
            inside = inside && in.v[d] >= 0 && in.v[d] < x->ext.v[d];
        }
        if (inside) z.data[i] = x->data[ref_place(&x->ext, &in)];
    }
    return z;
}

/* Writes x into to, its first element at `at`. */
static void paste(ref_array *to, const tra_dims *at, const ref_array *x) {
    tra_dims in = {.n = x->ext.n}, p = {.n = x->ext.n};
    for (int64_t i = 0, n = ref_count(&x->ext); i < n; i++, ref_step(&x->ext, &in)) {
        for (int d = 0; d < in.n; d++) p.v[d] = at->v[d] + in.v[d];
        to->data[ref_place(&to->ext, &p)] = x->data[i];
    }
}

static tra_status do_tile(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    *out = (tra_ref_rel){.k = x->k + 1, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    memcpy(out->cut, x->cut, sizeof out->cut);
    out->cut[n->dim] |= ref_bit(x->k);
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        ref_array p = ref_array_of(x, &x->v[i]);
        for (int64_t at = 0, t = 0; at < p.ext.v[n->dim]; at += n->size, t++) {
            tra_dims key = x->v[i].key, from = {.n = x->r}, ext = p.ext;
            key.v[key.n++] = t;
            from.v[n->dim] = at;
            ext.v[n->dim] = tra_min64(n->size, p.ext.v[n->dim] - at);
            ref_add(&g, &key, box(a, &p, &from, &ext));
        }
    }
    tra_dims bound = x->bound;
    bound.v[n->dim] = tra_min64(n->size, bound.v[n->dim]);
    return ref_finish(&g, &bound, out, e);
}

/* The key without dimension d. */
static tra_dims without(const tra_dims *key, int d) {
    tra_dims r = {.n = 0};
    for (int i = 0; i < key->n; i++)
        if (i != d) r.v[r.n++] = key->v[i];
    return r;
}

/* Adds the group whose members have all but key dimension keydim in common with x->v[first]; marks them done. */
static tra_status concat_group(const tra_node *n, const tra_ref_rel *x, int64_t first, bool *done, gather *g,
                               tra_err *e) {
    tra_dims key = without(&x->v[first].key, n->keydim), ext = x->v[first].ext, at = {.n = x->r};
    int64_t *member = tra_news(g->a, int64_t, x->n), m = 0;
    char buf[TRA_DIMTEXT];
    ext.v[n->dim] = 0;
    for (int64_t i = first; i < x->n; i++) { /* keys ascend, so the members come in the order of keydim */
        tra_dims other = without(&x->v[i].key, n->keydim);
        if (ref_compare_keys(&key, &other)) continue;
        if (x->v[i].key.v[n->keydim] != m)
            return tra_fail(e, TRA_PROGRAM, "concat: key dimension %d has a gap before %s", n->keydim,
                            tra_key_text(&x->v[i].key, buf));
        for (int d = 0; d < x->r; d++)
            if (d != n->dim && x->v[i].ext.v[d] != ext.v[d])
                return tra_fail(e, TRA_PROGRAM, "concat: the array of %s has another extent along dimension %d",
                                tra_key_text(&x->v[i].key, buf), d);
        ext.v[n->dim] += x->v[i].ext.v[n->dim];
        done[i] = true;
        member[m++] = i;
    }
    ref_array z = ref_array_new(g->a, &ext);
    for (int64_t i = 0; i < m; i++) {
        ref_array p = ref_array_of(x, &x->v[member[i]]);
        paste(&z, &at, &p);
        at.v[n->dim] += p.ext.v[n->dim];
    }
    ref_add(g, &key, z);
    return TRA_OK;
}

static tra_status do_concat(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    *out = (tra_ref_rel){.k = x->k - 1, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    for (int d = 0; d < x->r; d++) {
        uint32_t below = ref_bit(n->keydim) - 1;
        out->cut[d] = (x->cut[d] & below) | (x->cut[d] >> 1 & ~below);
    }
    gather g = {.a = a};
    bool *done = tra_news(a, bool, x->n);
    for (int64_t i = 0; i < x->n; i++)
        if (!done[i]) TRA_TRY(concat_group(n, x, i, done, &g, e));
    tra_dims bound = x->bound;
    bound.v[n->dim] = 0; /* as many as there are */
    return ref_finish(&g, &bound, out, e);
}

tra_status ref_assemble(const tra_ref_rel *x, tra_arena *a, ref_array *whole, tra_err *e) {
    tensor t;
    TRA_TRY(ref_as_tensor(x, &t, e));
    if (x->k != x->r) return tra_fail(e, TRA_PROGRAM, "a relation with %d keys and rank %d", x->k, x->r);
    *whole = ref_array_new(a, &t.shape);
    for (int64_t i = 0; i < x->n; i++) {
        tra_dims at = ref_tensor_offset(&t, &x->v[i].key);
        ref_array p = ref_array_of(x, &x->v[i]);
        paste(whole, &at, &p);
    }
    return TRA_OK;
}

tra_status ref_in_blocks(const ref_array *whole, const tra_dims *block, tra_dtype t, tra_arena *a, tra_ref_rel *out,
                         tra_err *e) {
    int r = whole->ext.n;
    *out = (tra_ref_rel){.k = r, .r = r, .dtype = t, .sparse = whole->sparse};
    for (int d = 0; d < r; d++) out->cut[d] = ref_bit(d);
    gather g = {.a = a};
    if (ref_count(&whole->ext) == 0) return ref_finish(&g, NULL, out, e);
    tra_dims parts = {.n = r}, key = {.n = r};
    for (int d = 0; d < r; d++) parts.v[d] = tra_ceil_div(whole->ext.v[d], block->v[d]);
    do {
        tra_dims from = {.n = r}, ext = {.n = r};
        for (int d = 0; d < r; d++) {
            from.v[d] = key.v[d] * block->v[d];
            ext.v[d] = tra_min64(block->v[d], whole->ext.v[d] - from.v[d]);
        }
        ref_add(&g, &key, box(a, whole, &from, &ext));
    } while (ref_step(&parts, &key));
    return ref_finish(&g, NULL, out, e);
}

static tra_status do_repart(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    tra_dims none = {.n = x->r};
    ref_array whole = ref_array_new(a, &none); /* of rank 0 there is one element all the same */
    if (x->n) TRA_TRY(ref_assemble(x, a, &whole, e));
    if (n->slice.origin.n > 0) whole = box(a, &whole, &n->slice.origin, &n->slice.extent);
    whole.sparse = x->sparse;
    return ref_in_blocks(&whole, &n->block, x->dtype, a, out, e);
}

static tra_status apply(const tra_node *n, const tra_ref_rel *x, const tra_ref_rel *y, tra_arena *a, tra_ref_rel *out,
                        tra_err *e) {
    switch (n->op) {
    case TRA_OP_INPUT: return do_input(n, a, out, e);
    case TRA_OP_JOIN: return do_join(n, x, y, a, out, e);
    case TRA_OP_AGG: return do_agg(n, x, a, out, e);
    case TRA_OP_REKEY: return do_rekey(n, x, a, out, e);
    case TRA_OP_FILTER: return do_filter(n, x, a, out, e);
    case TRA_OP_TRANSFORM: return do_transform(n, x, a, out, e);
    case TRA_OP_TILE: return do_tile(n, x, a, out, e);
    case TRA_OP_CONCAT: return do_concat(n, x, a, out, e);
    case TRA_OP_REPART: return do_repart(n, x, a, out, e);
    }
    assert(!"an operator");
    return TRA_INTERNAL;
}

/* A relation of counted rows of which there are none has no tuple; a kernel that makes something even of these sees
 * an array of no rows. */
static const tra_ref_rel *with_a_tuple(const tra_node *n, const tra_ref_rel *x, tra_arena *a) {
    if (!x || !x->counted || x->table || x->n > 0) return x;
    tra_ref_rel *r = tra_new(a, tra_ref_rel);
    *r = *x;
    r->n = 1;
    r->v = tra_new(a, tra_ref_tuple);
    r->v->data = tra_new(a, ref_num);
    r->v->key.n = x->k;
    r->v->ext = n->type.cat->bound;
    for (int d = 0; d < r->v->ext.n; d++)
        if (n->type.bounded >> d & 1) r->v->ext.v[d] = 0;
    r->bound = r->v->ext;
    return r;
}

tra_status tra_reference_apply(const tra_node *n, const tra_ref_rel *x, const tra_ref_rel *y, tra_arena *a,
                               tra_ref_rel *out, tra_err *e) {
    if ((n->op == TRA_OP_TRANSFORM || n->op == TRA_OP_JOIN) && !n->type.columns && !n->type.bounded) {
        x = with_a_tuple(n->in[0], x, a);
        y = with_a_tuple(n->in[1], y, a);
    }
    TRA_TRY(apply(n, x, y, a, out, e));
    if (!n->type.columns && n->type.bounded) out->counted = true;
    return TRA_OK;
}
