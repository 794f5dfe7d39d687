/* reference.c - the reference evaluator's operators, and what runs them over a graph. */
#include "ref_table.h"
#include "reference_int.h"

#include "../../lib/kernel/program.h"
#include "../../lib/relation/rows.h"
#include "../../lib/relation/mapped.h"
#include "../../lib/relation/stored.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- relations ---------------------------------------------------------------------------------------------- */

static int compare_keys(const tra_dims *a, const tra_dims *b) {
    for (int d = 0; d < a->n; d++)
        if (a->v[d] != b->v[d]) return a->v[d] < b->v[d] ? -1 : 1;
    return 0;
}

static int compare_tuples(const void *a, const void *b) {
    return compare_keys(&((const tra_ref_tuple *)a)->key, &((const tra_ref_tuple *)b)->key);
}

/* Tuples while they come, in any order. */
typedef struct gather {
    tra_arena *a;
    tra_ref_tuple *v;
    int64_t n, cap;
} gather;

static void add(gather *g, const tra_dims *key, ref_array x) {
    TRA_ARENA_ROOM(g->a, g->v, g->n, g->cap);
    g->v[g->n++] = (tra_ref_tuple){*key, x.ext, x.data};
}

/* The largest extents. */
static tra_dims largest(const tra_ref_rel *x) {
    tra_dims b = {.n = x->r};
    for (int64_t i = 0; i < x->n; i++)
        for (int d = 0; d < x->r; d++) b.v[d] = tra_max64(b.v[d], x->v[i].ext.v[d]);
    return b;
}

/* Along array dimension d: are all extents the same, but for another one at the last value of one key dimension? */
static bool regular(const tra_ref_rel *x, const tra_dims *frontier, int d) {
    for (int k = -1; k < x->k; k++) {
        int64_t ext[2] = {-1, -1};
        bool good = true;
        for (int64_t i = 0; i < x->n && good; i++) {
            bool last = k >= 0 && x->v[i].key.v[k] == frontier->v[k] - 1;
            if (ext[last] < 0) ext[last] = x->v[i].ext.v[d];
            good = ext[last] == x->v[i].ext.v[d];
        }
        if (good) return true;
    }
    return false;
}

/* Every key of the box exists, and every dimension is regular: nothing is missing that could be larger. */
static bool complete(const tra_ref_rel *x) {
    tra_dims frontier = {.n = x->k};
    for (int64_t i = 0; i < x->n; i++)
        for (int k = 0; k < x->k; k++) frontier.v[k] = tra_max64(frontier.v[k], x->v[i].key.v[k] + 1);
    if (ref_count(&frontier) != x->n) return false;
    for (int d = 0; d < x->r; d++)
        if (!regular(x, &frontier, d)) return false;
    return true;
}

/* Sorts what was gathered into out, whose k, r and dtype are set, and rounds f32. bound: what the operator makes of its
 * inputs' bounds, or NULL. */
static tra_status finish(gather *g, const tra_dims *bound, tra_ref_rel *out, tra_err *e) {
    if (g->n) qsort(g->v, (size_t)g->n, sizeof *g->v, compare_tuples);
    out->n = g->n;
    out->v = g->v;
    for (int64_t i = 0; i < g->n; i++) {
        tra_ref_tuple *t = &g->v[i];
        char buf[TRA_DIMTEXT];
        assert(t->key.n == out->k && t->ext.n == out->r);
        if (i > 0 && !compare_tuples(t - 1, t))
            return tra_fail(e, TRA_PROGRAM, "two tuples have the key %s", tra_key_text(&t->key, buf));
        int64_t m = ref_count(&t->ext);
        switch (out->dtype) {
        case TRA_F64:
            for (int64_t j = 0; j < m; j++) t->data[j] = (double)t->data[j];
            break;
        case TRA_F32:
            for (int64_t j = 0; j < m; j++) t->data[j] = (float)(double)t->data[j];
            break;
        case TRA_I64:
        case TRA_I32:
        case TRA_BOOL: break;
        }
    }
    out->bound = largest(out);
    if (out->n == 0 || (bound && bound->n == out->r && !complete(out)))
        for (int d = 0; d < out->r && bound && bound->n == out->r; d++)
            out->bound.v[d] = tra_max64(out->bound.v[d], bound->v[d]);
    return TRA_OK;
}

static ref_array array_of(const tra_ref_rel *x, const tra_ref_tuple *t) {
    return (ref_array){t->ext, t->data, x->sparse};
}

static uint32_t bit(int key) { return 1u << key; }

/* The cut sets of a kernel's result: cut[p] are the sets of operand p, in key dimensions of the result. */
static void cut_by_origin(const ref_origin *o, uint32_t cut[2][TRA_MAXDIM], tra_ref_rel *out) {
    for (int d = 0; d < o->n; d++) {
        int f = o->from[d], s = o->also[d];
        out->cut[d] = f < 0 ? 0 : cut[f / 32][f % 32];
        if (!out->cut[d] && s >= 0) out->cut[d] = cut[s / 32][s % 32];
    }
}

/* ---- tensor layout ------------------------------------------------------------------------------------------ */

/* The tensor that x stands for: which key cuts each dimension (-1: none), the block extents and the shape. */
typedef struct tensor {
    int by[TRA_MAXDIM];
    tra_dims block, shape;
} tensor;

static tra_status as_tensor(const tra_ref_rel *x, tensor *t, tra_err *e) {
    uint32_t seen = 0;
    t->block = t->shape = x->bound;
    for (int d = 0; d < x->r; d++) {
        t->by[d] = -1;
        for (int k = 0; k < x->k; k++)
            if (x->cut[d] & bit(k)) t->by[d] = t->by[d] < 0 ? k : -2;
        if (t->by[d] == -2 || (x->cut[d] & seen))
            return tra_fail(e, TRA_PROGRAM, "the relation does not have tensor layout along dimension %d", d);
        seen |= x->cut[d];
        int64_t last = 0; /* largest value of the key that cuts */
        for (int64_t i = 0; i < x->n && t->by[d] >= 0; i++) last = tra_max64(last, x->v[i].key.v[t->by[d]]);
        int64_t end = -1; /* extent of the arrays there */
        for (int64_t i = 0; i < x->n; i++) {
            int64_t ext = x->v[i].ext.v[d];
            if (t->by[d] >= 0 && x->v[i].key.v[t->by[d]] == last) {
                if (end >= 0 && ext != end)
                    return tra_fail(e, TRA_PROGRAM, "unequal last blocks along dimension %d", d);
                end = ext;
            } else if (ext != t->block.v[d]) {
                return tra_fail(e, TRA_PROGRAM, "an array that is not the last is clipped along dimension %d", d);
            }
        }
        if (t->by[d] >= 0) t->shape.v[d] = last * t->block.v[d] + tra_max64(end, 0);
    }
    return TRA_OK;
}

static tra_dims tensor_offset(const tensor *t, const tra_dims *key) {
    tra_dims o = {.n = t->shape.n};
    for (int d = 0; d < o.n; d++) o.v[d] = t->by[d] < 0 ? 0 : key->v[t->by[d]] * t->block.v[d];
    return o;
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

static ref_num element_of(tra_dtype t, const void *data, int64_t i) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: return ((const type *)data)[i];
        TRA_DTYPES(X)
#undef X
    }
    return 0;
}

static void set_element(tra_dtype t, void *data, int64_t i, ref_num v) {
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
    if (!n->rel) return tra_fail(e, TRA_INPUT, "input %s is only declared: there is no data to compute with", n->name);
    const tra_type *t = tra_rel_type(n->rel);
    if (t->columns) return ref_table_input(n->rel, a, out, e);
    size_t need = tra_rel_scratch(n->rel);
    void *scratch = NULL, *buf = tra_malloc(tra_rel_room(n->rel) + 1);
    if (need) scratch = aligned_alloc(4096, (need + 4095) / 4096 * 4096);
    *out = (tra_ref_rel){.k = t->cat->frontier.n, .r = t->cat->bound.n, .dtype = t->dtype, .sparse = t->sparse};
    memcpy(out->cut, t->cut, sizeof out->cut);
    gather g = {.a = a};
    tra_status s = need && !scratch ? tra_fail(e, TRA_RESOURCE, "no memory to read %s", n->path) : TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        tra_dims key, ext;
        tra_catalog_key(t->cat, i, &key);
        tra_catalog_ext(t->cat, i, &ext);
        s = tra_rel_read(n->rel, i, buf, scratch, e);
        if (s != TRA_OK) break;
        ref_array x = ref_array_new(a, &ext);
        s = read_block(t, i, buf, &x, e);
        add(&g, &key, x);
    }
    free(buf);
    free(scratch);
    if (s != TRA_OK) return s;
    return finish(&g, &t->cat->bound, out, e);
}

/* Extents that fit all others: what a kernel makes of such arrays has the type of its results. */
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
    const tra_dims *l = &n->joinl, *r = &n->joinr;
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
            if (y->cut[d] & bit(key)) cut[1][d] |= bit(place[key]);
    }
    ref_origin o;
    TRA_TRY(ref_join_origin(n->kernel, &bx, &by, &o, e));
    *out = (tra_ref_rel){.k = k, .r = o.n};
    cut_by_origin(&o, cut, out);

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
            p = array_of(x, s);
            q = array_of(y, t);
            TRA_TRY(tra_stop_check(e));
            TRA_TRY(ref_join_pair(n->kernel, x->dtype, y->dtype, &bx, &by, &p, &q, a, &z, &out->dtype, &fit, e));
            add(&g, &key, z);
        }
    TRA_TRY(ref_fits(&fit, e));
    out->loose = fit.loose;
    p = ref_array_new(a, &bx);
    q = ref_array_new(a, &by);
    tra_err misfit = {0}; /* bounds that do not fit each other: no pair of arrays has both */
    bool fits =
        ref_join_pair(n->kernel, x->dtype, y->dtype, &bx, &by, &p, &q, a, &z, &out->dtype, &none, &misfit) == TRA_OK;
    return finish(&g, fits ? &z.ext : NULL, out, e);
}

static tra_status do_agg(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    const tra_dims *group = &n->group;
    bool index = ref_is_index(n->kernel);
    uint32_t cut[2][TRA_MAXDIM] = {{0}};
    for (int d = 0; d < x->r; d++) {
        uint32_t left = x->cut[d];
        for (int i = 0; i < group->n; i++)
            if (x->cut[d] & bit((int)group->v[i])) {
                cut[0][d] |= bit(i);
                left &= ~bit((int)group->v[i]);
            }
        if (left) cut[0][d] = 0;
    }
    ref_origin o;
    TRA_TRY(ref_agg_origin(n->kernel, x->r, &o, e));
    *out = (tra_ref_rel){.k = group->n, .r = o.n};
    cut_by_origin(&o, cut, out);

    tensor whole = {.shape = {.n = x->r}};
    if (index) TRA_TRY(as_tensor(x, &whole, e));
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
            if (index) offset[m] = tensor_offset(&whole, &x->v[j].key);
            member[m++] = array_of(x, &x->v[j]);
        }
        TRA_TRY(tra_stop_check(e));
        TRA_TRY(ref_agg_group(n->kernel, x->dtype, m, member, offset, &whole.shape, a, &z, &out->dtype, &fit, e));
        add(&g, &key, z);
    }
    TRA_TRY(ref_fits(&fit, e));
    out->loose = fit.loose;
    p = ref_array_new(a, &x->bound);
    tra_err misfit = {0};
    bool fits = ref_agg_group(n->kernel, x->dtype, 1, &p, &(tra_dims){.n = x->r}, &x->bound, a, &z, &out->dtype, &none,
                              &misfit) == TRA_OK;
    return finish(&g, fits ? &z.ext : NULL, out, e);
}

static tra_status do_rekey(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    const tra_keyfn *f = n->keyfn;
    *out = (tra_ref_rel){.k = f->n, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    for (int d = 0; d < x->r; d++)
        for (int i = f->n - 1; i >= 0; i--)
            if (x->cut[d] && ref_key_vars(f->expr[i]) == x->cut[d]) out->cut[d] = bit(i);
    for (int d = 0; d < x->r && d < f->n; d++)
        if (!x->cut[d] && f->expr[d]->op == TRA_KEY_INT && f->expr[d]->value == 0) out->cut[d] = bit(d);
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        tra_dims key = {.n = f->n};
        for (int d = 0; d < f->n; d++) {
            char buf[TRA_DIMTEXT];
            TRA_TRY(ref_key(f->expr[d], &x->v[i].key, &key.v[d], e));
            if (key.v[d] < 0)
                return tra_fail(e, TRA_PROGRAM, "a negative component for key %s", tra_key_text(&x->v[i].key, buf));
        }
        add(&g, &key, array_of(x, &x->v[i]));
    }
    return finish(&g, &x->bound, out, e);
}

static tra_status do_filter(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    *out = (tra_ref_rel){.k = x->k, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    memcpy(out->cut, x->cut, sizeof out->cut);
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        int64_t keep;
        TRA_TRY(ref_key(n->keyfn->expr[0], &x->v[i].key, &keep, e));
        if (keep) add(&g, &x->v[i].key, array_of(x, &x->v[i]));
    }
    return finish(&g, &x->bound, out, e);
}

static tra_status do_transform(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    uint32_t cut[2][TRA_MAXDIM];
    memcpy(cut[0], x->cut, sizeof cut[0]);
    ref_origin o;
    TRA_TRY(ref_map_origin(n->kernel, x->r, &o, e));
    *out = (tra_ref_rel){.k = x->k, .r = o.n};
    cut_by_origin(&o, cut, out);
    ref_fit fit = {0}, none = {0};
    tra_dims one = ones(x->r);
    ref_array p = ref_array_new(a, &one), z;
    p.sparse = x->sparse;
    TRA_TRY(ref_map_one(n->kernel, x->dtype, &p, a, &z, &out->dtype, &none, e));
    out->sparse = z.sparse;
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        p = array_of(x, &x->v[i]);
        TRA_TRY(ref_map_one(n->kernel, x->dtype, &p, a, &z, &out->dtype, &fit, e));
        if (z.data == p.data) { /* a relation's arrays are its own, since f32 is rounded in place */
            z = ref_array_new(a, &p.ext);
            memcpy(z.data, p.data, (size_t)ref_count(&p.ext) * sizeof *z.data);
        }
        add(&g, &x->v[i].key, z);
    }
    TRA_TRY(ref_fits(&fit, e));
    out->loose = fit.loose;
    p = ref_array_new(a, &x->bound);
    tra_err misfit = {0};
    bool fits = ref_map_one(n->kernel, x->dtype, &p, a, &z, &out->dtype, &none, &misfit) == TRA_OK;
    return finish(&g, fits ? &z.ext : NULL, out, e);
}

/* The elements of x that the box of extents `ext` at `from` holds, as an array. */
static ref_array box(tra_arena *a, const ref_array *x, const tra_dims *from, const tra_dims *ext) {
    ref_array z = ref_array_new(a, ext);
    tra_dims at = {.n = ext->n}, in = {.n = ext->n};
    for (int64_t i = 0, n = ref_count(ext); i < n; i++, ref_step(ext, &at)) {
        for (int d = 0; d < at.n; d++) in.v[d] = from->v[d] + at.v[d];
        z.data[i] = x->data[ref_place(&x->ext, &in)];
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
    out->cut[n->dim] |= bit(x->k);
    gather g = {.a = a};
    for (int64_t i = 0; i < x->n; i++) {
        ref_array p = array_of(x, &x->v[i]);
        for (int64_t at = 0, t = 0; at < p.ext.v[n->dim]; at += n->size, t++) {
            tra_dims key = x->v[i].key, from = {.n = x->r}, ext = p.ext;
            key.v[key.n++] = t;
            from.v[n->dim] = at;
            ext.v[n->dim] = tra_min64(n->size, p.ext.v[n->dim] - at);
            add(&g, &key, box(a, &p, &from, &ext));
        }
    }
    tra_dims bound = x->bound;
    bound.v[n->dim] = tra_min64(n->size, bound.v[n->dim]);
    return finish(&g, &bound, out, e);
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
        if (compare_keys(&key, &other)) continue;
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
        ref_array p = array_of(x, &x->v[member[i]]);
        paste(&z, &at, &p);
        at.v[n->dim] += p.ext.v[n->dim];
    }
    add(g, &key, z);
    return TRA_OK;
}

static tra_status do_concat(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    *out = (tra_ref_rel){.k = x->k - 1, .r = x->r, .dtype = x->dtype, .sparse = x->sparse};
    for (int d = 0; d < x->r; d++) {
        uint32_t below = bit(n->keydim) - 1;
        out->cut[d] = (x->cut[d] & below) | (x->cut[d] >> 1 & ~below);
    }
    gather g = {.a = a};
    bool *done = tra_news(a, bool, x->n);
    for (int64_t i = 0; i < x->n; i++)
        if (!done[i]) TRA_TRY(concat_group(n, x, i, done, &g, e));
    tra_dims bound = x->bound;
    bound.v[n->dim] = 0; /* as many as there are */
    return finish(&g, &bound, out, e);
}

tra_status ref_assemble(const tra_ref_rel *x, tra_arena *a, ref_array *whole, tra_err *e) {
    tensor t;
    TRA_TRY(as_tensor(x, &t, e));
    if (x->k != x->r) return tra_fail(e, TRA_PROGRAM, "a relation with %d keys and rank %d", x->k, x->r);
    *whole = ref_array_new(a, &t.shape);
    for (int64_t i = 0; i < x->n; i++) {
        tra_dims at = tensor_offset(&t, &x->v[i].key);
        ref_array p = array_of(x, &x->v[i]);
        paste(whole, &at, &p);
    }
    return TRA_OK;
}

tra_status ref_in_blocks(const ref_array *whole, const tra_dims *block, tra_dtype t, tra_arena *a, tra_ref_rel *out,
                         tra_err *e) {
    int r = whole->ext.n;
    *out = (tra_ref_rel){.k = r, .r = r, .dtype = t, .sparse = whole->sparse};
    for (int d = 0; d < r; d++) out->cut[d] = bit(d);
    gather g = {.a = a};
    if (ref_count(&whole->ext) == 0) return finish(&g, NULL, out, e);
    tra_dims parts = {.n = r}, key = {.n = r};
    for (int d = 0; d < r; d++) parts.v[d] = tra_ceil_div(whole->ext.v[d], block->v[d]);
    do {
        tra_dims from = {.n = r}, ext = {.n = r};
        for (int d = 0; d < r; d++) {
            from.v[d] = key.v[d] * block->v[d];
            ext.v[d] = tra_min64(block->v[d], whole->ext.v[d] - from.v[d]);
        }
        add(&g, &key, box(a, whole, &from, &ext));
    } while (ref_step(&parts, &key));
    return finish(&g, NULL, out, e);
}

/* part[i] = whole[i + origin], 0 where there is none. */
static void cut_out(const ref_array *whole, const tra_dims *origin, ref_array *part) {
    tra_dims at = {.n = part->ext.n};
    if (ref_count(&part->ext) == 0) return;
    do {
        tra_dims from = {.n = at.n};
        bool inside = true;
        for (int d = 0; d < at.n; d++) {
            from.v[d] = at.v[d] + origin->v[d];
            inside = inside && from.v[d] >= 0 && from.v[d] < whole->ext.v[d];
        }
        if (inside) part->data[ref_place(&part->ext, &at)] = whole->data[ref_place(&whole->ext, &from)];
    } while (ref_step(&part->ext, &at));
}

static tra_status do_repart(const tra_node *n, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    tra_dims none = {.n = x->r};
    ref_array whole = ref_array_new(a, &none); /* of rank 0 there is one element all the same */
    if (x->n) TRA_TRY(ref_assemble(x, a, &whole, e));
    whole.sparse = x->sparse;
    if (n->origin.n > 0) {
        ref_array part = ref_array_new(a, &n->extent);
        cut_out(&whole, &n->origin, &part);
        part.sparse = x->sparse;
        whole = part;
    }
    return ref_in_blocks(&whole, &n->block, x->dtype, a, out, e);
}

tra_status tra_reference_apply(const tra_node *n, const tra_ref_rel *x, const tra_ref_rel *y, tra_arena *a,
                               tra_ref_rel *out, tra_err *e) {
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

/* ---- graphs ------------------------------------------------------------------------------------------------- */

/* Is the node there only for the kernels that compute an operator on tables, or a tensor statement? It has no
 * definition of its own. */
static bool only_computes(const tra_node *n, bool defined) {
    bool rows = n->kernel && (tra_kernel_rows(n->kernel) || tra_kernel_is_program(n->kernel));
    return !defined && n->op != TRA_OP_INPUT && (rows || n->type.columns);
}

tra_status tra_reference_run(const tra_graph *g, bool all, tra_arena *a, const tra_ref_rel ***out, tra_err *e) {
    const tra_ref_rel **v = tra_news(a, const tra_ref_rel *, g->n);
    bool *need = tra_news(a, bool, g->n);
    const tra_einsum **defined = tra_news(a, const tra_einsum *, g->n); /* by the node that has the result */
    for (int i = 0; i < g->neinsums; i++) defined[g->einsums[i]->node->id] = g->einsums[i];
    const tra_tensor **tensor = tra_news(a, const tra_tensor *, g->n);
    for (int i = 0; i < g->ntensors; i++) tensor[g->tensors[i].node->id] = &g->tensors[i];
    const tra_table_op **table = tra_news(a, const tra_table_op *, g->n);
    for (int i = 0; i < g->ntables; i++) table[g->tables[i]->node->id] = g->tables[i];
    for (int i = 0; i < g->noutputs; i++) need[g->outputs[i].node->id] = true;
    for (int i = g->n - 1; i >= 0; i--) {
        need[i] = need[i] || (all && !only_computes(g->v[i], table[i] || tensor[i]));
        if (!need[i]) continue;
        for (int j = 0; tensor[i] && j < tensor[i]->n; j++)
            if (tensor[i]->relation[j]) need[tensor[i]->relation[j]->id] = true;
        for (int j = 0; table[i] && j < 2; j++)
            if (table[i]->in[j]) need[table[i]->in[j]->id] = true;
        if (tensor[i] || table[i]) continue;
        for (int j = 0; defined[i] && j < defined[i]->nrefs; j++) need[defined[i]->ref[j].node->id] = true;
        for (int j = 0; !defined[i] && j < 2; j++)
            if (g->v[i]->in[j]) need[g->v[i]->in[j]->id] = true;
    }
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        if (!need[i]) continue;
        const tra_ref_rel *x = n->in[0] ? v[n->in[0]->id] : NULL, *y = n->in[1] ? v[n->in[1]->id] : NULL;
        tra_ref_rel *r = tra_new(a, tra_ref_rel);
        TRA_TRY(tra_stop_check(e));
        TRA_TRY(tensor[i]    ? ref_tensor(tensor[i], v, a, r, e)
                : table[i]   ? ref_table_op(table[i], v, a, r, e)
                : defined[i] ? ref_einsum(defined[i], v, a, r, e)
                             : tra_reference_apply(n, x, y, a, r, e));
        v[i] = r;
    }
    *out = v;
    return TRA_OK;
}

/* ---- results ------------------------------------------------------------------------------------------------ */

tra_status tra_reference_matches(const tra_ref_rel *r, const tra_type *type, tra_err *e) {
    char has[TRA_DIMTEXT], want[TRA_DIMTEXT], at[TRA_DIMTEXT];
    if (r->table || r->counted) return TRA_OK; /* how many rows there are no type says */
    if (r->dtype != type->dtype)
        return tra_fail(e, TRA_INTERNAL, "the result is %s, its type says %s", tra_dtype_name(r->dtype),
                        tra_dtype_name(type->dtype));
    if (r->sparse != type->sparse)
        return tra_fail(e, TRA_INTERNAL, "the result is %s by type, its type says otherwise",
                        r->sparse ? "sparse" : "dense");
    if (r->n != type->cat->n)
        return tra_fail(e, TRA_INTERNAL, "the result has %" PRId64 " tuples, its type says %" PRId64, r->n,
                        type->cat->n);
    if (r->k != type->cat->frontier.n || r->r != type->cat->bound.n)
        return tra_fail(e, TRA_INTERNAL, "the result has %d keys and rank %d, its type says %d and %d", r->k, r->r,
                        type->cat->frontier.n, type->cat->bound.n);
    for (int64_t i = 0; i < r->n; i++) { /* both ascend */
        tra_dims key, ext;
        tra_catalog_key(type->cat, i, &key);
        tra_catalog_ext(type->cat, i, &ext);
        if (compare_keys(&key, &r->v[i].key))
            return tra_fail(e, TRA_INTERNAL, "tuple %" PRId64 " of the result has the key %s, its type says %s", i,
                            tra_key_text(&r->v[i].key, has), tra_key_text(&key, want));
        if (!tra_dims_eq(&ext, &r->v[i].ext))
            return tra_fail(e, TRA_INTERNAL, "the array of %s is %s, its type says %s", tra_key_text(&key, at),
                            tra_shape_text(&r->v[i].ext, has), tra_shape_text(&ext, want));
    }
    return TRA_OK;
}

/* What writes a result: its writer, the type of which that is, and room for an array and for writing. */
typedef struct filling {
    const tra_ref_rel *r;
    tra_type type;
    const tra_levels *levels;
    const tra_storage *mapping;
    tra_writer *w;
    char *buf;
    void *scratch;
} filling;

/* Of what is sparse by type no zero has a sign. */
static void fill_array(const filling *f, int64_t i) {
    for (int64_t j = 0, m = ref_count(&f->r->v[i].ext); j < m; j++) {
        ref_num v = f->r->v[i].data[j];
        set_element(f->type.dtype, f->buf, j, f->type.sparse && v == 0 ? 0 : v);
    }
}

/* Places of what is stored by levels, which follow from the positions of all tuples. */
static tra_status place_all(const filling *f, tra_err *e) {
    int64_t *counts = tra_calloc((size_t)(f->r->n * f->levels->n) + 1, sizeof *counts);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < f->r->n && s == TRA_OK; i++) {
        tra_cell cell = tra_cell_new(&f->type, i, f->buf);
        fill_array(f, i);
        s = tra_stored_count(f->levels, &f->type.cat->bound, &cell, counts + i * f->levels->n, f->scratch, e);
    }
    if (s == TRA_OK) s = tra_writer_place(f->w, counts, e);
    free(counts);
    return s;
}

/* What is packed for a mapping: the sizes of all tuples, then each. */
static tra_status place_packed(const filling *f, tra_err *e) {
    int n = f->mapping->ncomponents;
    int64_t *sizes = tra_calloc((size_t)(f->r->n * n) + 1, sizeof *sizes);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < f->r->n && s == TRA_OK; i++)
        s = tra_mapping_sizes(f->mapping, &f->type, i, sizes + i * n, e);
    if (s == TRA_OK) s = tra_writer_place(f->w, sizes, e);
    free(sizes);
    return s;
}

static tra_status put_packed(const filling *f, int64_t i, tra_err *e) {
    tra_cell cell = tra_cell_new(&f->type, i, f->buf);
    int64_t entries;
    TRA_TRY(tra_mapping_pack(f->mapping, &f->type, i, &cell, f->scratch, &entries, e));
    tra_packing *p = tra_packing_begin(f->w, i, entries);
    return tra_packing_end(p, tra_packing_put(p, f->scratch, tra_mapping_bytes(f->mapping, &f->type, i), e), e);
}

static tra_status fill_all(const filling *f, tra_digest *digest, tra_err *e) {
    if (f->levels) TRA_TRY(place_all(f, e));
    if (f->mapping) TRA_TRY(place_packed(f, e));
    for (int64_t i = 0; i < f->r->n; i++) {
        fill_array(f, i);
        tra_digest_array(digest, &f->type, i, f->buf);
        TRA_TRY(f->mapping ? put_packed(f, i, e) : tra_writer_put(f->w, i, f->buf, f->scratch, e));
    }
    return TRA_OK;
}

/* What only the run counts, in blocks of the rows that there are. */
static tra_status fill_counted(const tra_ref_rel *r, const tra_type *type, const char *spec, const tra_write_options *o,
                               tra_arena *a, tra_writer **out, char digest_text[33], tra_err *e) {
    ref_array whole;
    tra_ref_rel cut;
    tra_type own;
    tra_dims block = type->cat->bound;
    for (int d = 0; d < block.n; d++) block.v[d] = tra_max64(1, block.v[d]);
    TRA_TRY(ref_assemble(r, a, &whole, e));
    TRA_TRY(ref_counted_type(type, &whole.ext, a, &own, e));
    TRA_TRY(ref_in_blocks(&whole, &block, type->dtype, a, &cut, e));
    return tra_reference_fill(&cut, &own, spec, o, a, out, digest_text, e);
}

tra_status tra_reference_fill(const tra_ref_rel *r, const tra_type *type, const char *spec, const tra_write_options *o,
                              tra_arena *a, tra_writer **out, char digest_text[33], tra_err *e) {
    filling f = {.r = r, .type = *type, .levels = o ? o->levels : NULL, .mapping = o ? o->mapping : NULL};
    if (r->table) return ref_table_fill(r->table, type, spec, o, a, out, digest_text, e);
    if (type->bounded) return fill_counted(r, type, spec, o, a, out, digest_text, e);
    f.type.layout = NULL;
    TRA_TRY(tra_reference_matches(r, type, e));
    TRA_TRY(tra_writer_create(spec, &f.type, o, &f.w, e));
    tra_mapping_use use = {.storage = f.mapping};
    if (f.mapping && tra_mapping_measure(type, &use, e) != TRA_OK) {
        tra_writer_abort(f.w);
        return e->status;
    }
    int64_t most = tra_catalog_maxfloats(type->cat);
    size_t need = f.levels    ? (size_t)tra_stored_scratch(f.levels, most)
                  : f.mapping ? (size_t)tra_mapping_room(use.largest, most)
                              : tra_writer_scratch(f.w);
    f.buf = tra_malloc((size_t)tra_type_bytes_largest(&f.type).bound + 1);
    f.scratch = need ? aligned_alloc(4096, (need + 4095) / 4096 * 4096) : NULL;
    tra_status s = need && !f.scratch ? tra_fail(e, TRA_RESOURCE, "no memory to write %s", spec) : TRA_OK;
    tra_digest digest = {0};
    if (s == TRA_OK) s = fill_all(&f, &digest, e);
    free(f.buf);
    free(f.scratch);
    if (s != TRA_OK) {
        tra_writer_abort(f.w);
        return s;
    }
    tra_digest_text(&digest, &f.type, digest_text);
    *out = f.w;
    return TRA_OK;
}

tra_status tra_reference_write(const tra_ref_rel *r, const tra_type *type, const char *spec, const tra_write_options *o,
                               tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_writer *w;
    char digest[33];
    tra_status s = tra_reference_fill(r, type, spec, o, a, &w, digest, e);
    if (s == TRA_OK) s = tra_writer_commit(w, digest, e);
    tra_arena_free(a);
    return s;
}
