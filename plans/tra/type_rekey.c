/* type_rekey.c - types of rekeys. Of a grid, key dimensions that no new component reads together are independent: for
 * each set of dimensions that are read together it is decided whether new keys differ, by the form of the new
 * components (sums of multiples; quotient and remainder), or by looking at the keys of that set alone. A result that is
 * no grid is walked tuple by tuple, so it has at most TRA_MAX_LIST tuples. */
#include "keyform.h"
#include "type.h"

tra_status tra_type_collision(const tra_node *n, const tra_dims *x, const tra_dims *y, tra_err *e) {
    char a[TRA_DIMTEXT], b[TRA_DIMTEXT], c[TRA_DIMTEXT];
    tra_dims to;
    TRA_TRY(tra_keyfn_eval(n->keyfn, x, &to, e));
    return tra_fail(e, TRA_PROGRAM, "rekey maps the keys %s and %s both to %s; the new keys must differ",
                    tra_key_text(x, a), tra_key_text(y, b), tra_key_text(&to, c));
}

/* ---- do the new keys of a grid differ? ---------------------------------------------------------------------- */

/* What is known of a function over all keys of a grid. */
typedef struct verdict {
    enum { DIFFER, COLLIDE, UNDECIDED } is; /* all new keys differ; two are equal; neither is proved */
    tra_dims key[2];                        /* COLLIDE: two keys that become one */
    tra_dims most;                          /* DIFFER: the greatest value of each new component */
} verdict;

/* Key dimensions of more than one value that new components read together, and the components that read them. */
typedef struct part {
    uint32_t dims;
    int n, component[TRA_MAXDIM];
} part;

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return magnitude(a);
}

/* Is every coefficient larger than what those below it reach together? Then the sum is a number in a mixed radix, and
 * differs from key to key. */
static bool is_radix(const tra_keylinear *f, uint32_t dims, const tra_dims *frontier) {
    __int128 reach = 0;
    while (dims) {
        int least = __builtin_ctz(dims);
        for (int d = least; d < frontier->n; d++)
            if ((dims >> d & 1) && magnitude(f->c[d]) < magnitude(f->c[least])) least = d;
        if (magnitude(f->c[least]) <= reach) return false;
        reach += (__int128)magnitude(f->c[least]) * (frontier->v[least] - 1);
        dims &= ~(1u << least);
    }
    return true;
}

/* Finds two keys with the same sum that differ in two components: key[0] and key[1]. False: there are none. */
static bool same_sum(const tra_keylinear *f, uint32_t dims, const tra_dims *frontier, tra_dims *key) {
    for (uint32_t left = dims; left; left &= left - 1)
        for (uint32_t rest = left & (left - 1); rest; rest &= rest - 1) {
            int a = __builtin_ctz(left), b = __builtin_ctz(rest);
            int64_t g = gcd(f->c[a], f->c[b]), x = g ? f->c[b] / g : 1, y = g ? -(f->c[a] / g) : 0;
            if (magnitude(x) >= frontier->v[a] || magnitude(y) >= frontier->v[b]) continue;
            if (x < 0) x = -x, y = -y;
            key[0] = key[1] = (tra_dims){.n = frontier->n};
            key[1].v[a] = x;
            key[y > 0].v[b] = magnitude(y);
            return true;
        }
    return false;
}

/* Decides a part by its components that are sums of multiples. An error if one is negative or fails at its least or
 * greatest value; a verdict if the part has that component alone. */
static tra_status decide_sums(const tra_keyfn *f, const part *p, const tra_dims *frontier, verdict *out, tra_err *e) {
    tra_dims zero = {.n = frontier->n}, end = *frontier;
    for (int d = 0; d < end.n; d++) end.v[d]--;
    for (int i = 0; i < p->n; i++) {
        const tra_keyexpr *x = f->expr[p->component[i]];
        tra_dims least = zero, most = zero, to;
        tra_keylinear sum;
        if (!tra_keyexpr_linear(x, &sum)) continue;
        for (int d = 0; d < end.n; d++) *(sum.c[d] < 0 ? &least.v[d] : &most.v[d]) = end.v[d];
        TRA_TRY(tra_keyfn_eval(f, &least, &to, e));
        TRA_TRY(tra_keyfn_eval(f, &most, &to, e));
        if (p->n > 1 || tra_keyexpr_range(x, &zero, &end).may_fail) continue;
        out->most.v[p->component[i]] = to.v[p->component[i]];
        if (is_radix(&sum, p->dims, frontier))
            out->is = DIFFER;
        else if (same_sum(&sum, p->dims, frontier, out->key))
            out->is = COLLIDE;
    }
    return TRA_OK;
}

/* Decides a part that is the quotient and the remainder of one key dimension by one number. */
static void decide_quotient(const tra_keyfn *f, const part *p, const tra_dims *frontier, verdict *out) {
    if (p->n != 2) return;
    bool first = f->expr[p->component[0]]->op == TRA_KEY_DIV;
    int quotient = p->component[!first], remainder = p->component[first], d = 0, other = 0;
    const tra_keyexpr *q = f->expr[quotient], *r = f->expr[remainder];
    if (q->op != TRA_KEY_DIV || r->op != TRA_KEY_MOD || !tra_keyexpr_is_var(q->a, &d) ||
        !tra_keyexpr_is_var(r->a, &other) || d != other)
        return;
    if (q->b->op != TRA_KEY_INT || r->b->op != TRA_KEY_INT || q->b->value != r->b->value || q->b->value < 1) return;
    out->is = DIFFER;
    out->most.v[quotient] = (frontier->v[d] - 1) / q->b->value;
    out->most.v[remainder] = tra_min64(frontier->v[d], q->b->value) - 1;
}

/* Evaluates the function on all keys of the part, the other components being 0, and looks for a failure or two equal
 * results. */
static tra_status look_at_keys(const tra_keyfn *f, const part *p, const tra_dims *box, verdict *out, tra_err *e) {
    tra_catbuilder *b = tra_catbuilder_new(p->n, 0);
    tra_arena *a = tra_arena_new();
    tra_dims key = {.n = box->n}, to, image = {.n = p->n}, none = {.n = 0};
    tra_catalog c;
    tra_status s = TRA_OK;
    int64_t n = 0, dup[2] = {-1, -1};
    tra_err err = {0};
    do {
        s = tra_keyfn_eval(f, &key, &to, e);
        for (int i = 0; i < p->n; i++) image.v[i] = to.v[p->component[i]];
        if (s == TRA_OK) s = tra_catbuilder_add(b, &image, &none, n++, e);
    } while (s == TRA_OK && tra_next(box, &key));
    if (s != TRA_OK) {
        tra_catbuilder_free(b);
    } else if (tra_catbuilder_finish(b, a, &c, dup, &err) == TRA_OK) {
        out->is = DIFFER;
        for (int i = 0; i < p->n; i++) out->most.v[p->component[i]] = c.frontier.v[i] - 1;
    } else if (dup[0] >= 0) {
        out->is = COLLIDE;
        for (int i = 0; i < 2; i++) tra_unlinear(box, dup[i], &out->key[i]);
    }
    tra_arena_free(a);
    return s;
}

/* Decides a part. may_look: by its keys, where the forms of its components prove nothing. */
static tra_status decide_part(const tra_keyfn *f, const part *p, const tra_dims *frontier, bool may_look, verdict *out,
                              tra_err *e) {
    tra_dims box = *frontier;
    int64_t n;
    for (int d = 0; d < box.n; d++)
        if (!(p->dims >> d & 1)) box.v[d] = 1;
    out->is = UNDECIDED;
    if (p->n == 0) { /* no component reads it, so keys that differ in it alone collide */
        out->is = COLLIDE;
        out->key[0] = out->key[1] = (tra_dims){.n = box.n};
        out->key[1].v[__builtin_ctz(p->dims)] = 1;
        return TRA_OK;
    }
    TRA_TRY(decide_sums(f, p, &box, out, e));
    decide_quotient(f, p, &box, out);
    if (out->is != UNDECIDED || !may_look || !tra_dims_product(&box, &n) || n > TRA_MAX_LIST) return TRA_OK;
    return look_at_keys(f, p, &box, out, e);
}

/* Finds the part that has the lowest dimension of `todo`. wide: all dimensions of more than one value. */
static void find_part(const tra_keyfn *f, uint32_t wide, uint32_t todo, part *p) {
    uint32_t before;
    *p = (part){.dims = todo & -todo};
    do {
        before = p->dims;
        for (int i = 0; i < f->n; i++) {
            uint32_t vars = tra_keyexpr_vars(f->expr[i]) & wide;
            if (vars & p->dims) p->dims |= vars;
        }
    } while (p->dims != before);
    for (int i = 0; i < f->n; i++)
        if (tra_keyexpr_vars(f->expr[i]) & p->dims) p->component[p->n++] = i;
}

/* Decides for a whole grid, which has keys, whether new keys differ. TRA_PROGRAM, naming the key, where the function
 * fails. */
static tra_status decide(const tra_keyfn *f, const tra_dims *frontier, bool may_look, verdict *out, tra_err *e) {
    uint32_t wide = 0;
    tra_dims zero = {.n = frontier->n};
    part p;
    for (int d = 0; d < frontier->n; d++)
        if (frontier->v[d] > 1) wide |= 1u << d;
    *out = (verdict){.is = DIFFER};
    TRA_TRY(tra_keyfn_eval(f, &zero, &out->most, e)); /* a component that reads nothing has this value everywhere */
    for (uint32_t todo = wide; todo; todo &= ~p.dims) {
        verdict v = {.most = out->most};
        find_part(f, wide, todo, &p);
        TRA_TRY(decide_part(f, &p, frontier, may_look, &v, e));
        if (v.is == COLLIDE || out->is == DIFFER) *out = v;
        if (out->is == COLLIDE) return TRA_OK;
        out->most = v.most;
    }
    return TRA_OK;
}

/* ---- catalogs ----------------------------------------------------------------------------------------------- */

/* The new component that reads key dimension d alone, has as many values, and has its last value where d has: so arrays
 * that are clipped at the end of d are clipped at its end. -1: there is none. */
static int component_like(const tra_node *n, int d, const tra_dims *frontier) {
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

/* New keys that all differ are a grid if they are as many as the box that holds them has. */
static tra_status new_grid(const tra_node *n, const verdict *v, bool *fits, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims frontier = {.n = n->keyfn->n};
    int8_t by[TRA_MAXDIM];
    int64_t keys;
    for (int i = 0; i < frontier.n; i++) frontier.v[i] = v->most.v[i] + 1;
    *fits = tra_dims_product(&frontier, &keys) && keys == c->n;
    for (int a = 0; a < c->bound.n && *fits; a++) {
        by[a] = c->by[a] < 0 ? -1 : (int8_t)component_like(n, c->by[a], &frontier);
        *fits = c->by[a] < 0 || by[a] >= 0;
    }
    return *fits ? tra_catalog_grid(&frontier, &c->bound, by, c->last, out, e) : TRA_OK;
}

/* A kept key dimension that clips another array dimension just as d clips a, or -1. Where a rekey takes a diagonal, one
 * of two such dimensions is dropped. */
static int clips_alike(const tra_catalog *c, uint32_t kept, int d, int a) {
    for (int i = 0; i < c->bound.n; i++) {
        int by = c->by[i];
        if (by >= 0 && (kept >> by & 1) && c->frontier.v[by] == c->frontier.v[d] && c->bound.v[i] == c->bound.v[a] &&
            c->last[i] == c->last[a])
            return by;
    }
    return -1;
}

/* The grid of a relation without tuples, if key components only change places or are dropped: so the extents of its
 * tensor stay known. */
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
        if (d >= 0 && !(kept >> d & 1)) d = clips_alike(c, kept, d, a);
        by[a] = d < 0 ? -1 : place[d];
    }
    return *fits ? tra_catalog_grid(&frontier, &c->bound, by, c->last, out, e) : TRA_OK;
}

/* The catalog without walking the tuples, if that is possible (*fits). */
static tra_status closed_form(const tra_node *n, bool *fits, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    verdict v;
    *fits = false;
    if (!c->grid) return TRA_OK;
    if (c->n == 0) return empty_grid(n, fits, out, e);
    bool huge = c->n > TRA_MAX_LIST; /* else tra_list_rekey decides what is undecided here */
    TRA_TRY(decide(n->keyfn, &c->frontier, huge, &v, e));
    if (v.is == COLLIDE) return tra_type_collision(n, &v.key[0], &v.key[1], e);
    if (v.is == DIFFER) TRA_TRY(new_grid(n, &v, fits, out, e));
    if (*fits || !huge) return TRA_OK;
    if (v.is == DIFFER)
        return tra_fail(e, TRA_PROGRAM,
                        "the new keys differ, but are no grid, and %" PRId64
                        " of them are more than the %d that can be listed; use larger blocks, or new keys without gaps",
                        c->n, TRA_MAX_LIST);
    return tra_fail(e, TRA_PROGRAM,
                    "whether the new keys differ cannot be decided without looking at all %" PRId64
                    " keys, more than %d; use larger blocks, or new components that each read key components of their "
                    "own, as a sum of multiples (i*100 + j) or as quotient and remainder (i/100, i%%100)",
                    c->n, TRA_MAX_LIST);
}

/* Sets the cut sets of the result: a dimension is cut by the component that reads just the keys that cut it. */
static void set_cuts(tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    for (int a = 0; a < x->cat->bound.n; a++) {
        n->type.cut[a] = 0;
        if (!x->cut[a] && a < n->keyfn->n) { /* a new component that is always 0 cuts a dimension in one part */
            const tra_keyexpr *f = n->keyfn->expr[a];
            if (f->op == TRA_KEY_INT && f->value == 0) n->type.cut[a] = 1u << a;
        }
        for (int i = n->keyfn->n - 1; i >= 0 && x->cut[a]; i--)
            if (tra_keyexpr_vars(n->keyfn->expr[i]) == x->cut[a]) n->type.cut[a] = 1u << i;
    }
}

tra_status tra_type_rekey(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e) {
    bool fits;
    TRA_TRY(closed_form(n, &fits, out, e));
    if (!fits) TRA_TRY(tra_list_rekey(a, n, out, e));
    set_cuts(n);
    return TRA_OK;
}
