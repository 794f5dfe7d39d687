/* oneone.c - is a function of keys one to one on a grid?
 *
 * The difference z of two keys with one image solves linear equations in bounded integers: a linear component changes
 * by 0; where a component reads L / c or L % c there are a quotient and a remainder with L = c*quotient + remainder,
 * whose differences are bounded too. What is not linear becomes an integer of which only the range is known. If the
 * bounds alone, or the lattice of solutions, leave no z but 0 for the key, the function is one to one. Otherwise a
 * short z names two keys, which are looked at to be sure. */
#include "keyform.h"

#include "../../lib/base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = 64, ROWS = 64 };

/* c0 + sum of c[j] times integer j, whose values are in lo..hi. */
typedef struct form {
    int64_t c0, c[COLS];
    int64_t lo, hi;
} form;

typedef struct equations {
    const tra_keyfn *f;
    tra_dims lo, hi; /* the grid's first key and its last */
    int ncols;       /* integers: the key's components, then what was added */
    int64_t least[COLS], most[COLS];
    int nrows;
    int64_t row[ROWS][COLS]; /* the sum of row[i][j] times the difference of integer j is 0 */
    int nquotients;
    struct quotient {
        form of;
        int64_t by;
        int quotient, remainder;
    } q[COLS / 2];
    bool full;           /* more than fits: undecided */
    int64_t bound[COLS]; /* of the differences' magnitudes */
} equations;

/* ---- linear forms ------------------------------------------------------------------------------------------- */

static form number(int64_t v) { return (form){.c0 = v, .lo = v, .hi = v}; }

static form column(equations *s, int64_t lo, int64_t hi) {
    form f = {.lo = lo, .hi = hi};
    if (lo >= hi) return number(lo);
    if (s->ncols == COLS) {
        s->full = true;
        return f;
    }
    s->least[s->ncols] = lo;
    s->most[s->ncols] = hi;
    f.c[s->ncols++] = 1;
    return f;
}

/* Where nothing better is known. */
static form opaque(equations *s, const tra_keyexpr *x) {
    tra_range r = tra_keyexpr_range(x, &s->lo, &s->hi);
    return column(s, r.lo, r.hi);
}

static bool is_small(__int128 v) { return v < (__int128)1 << 56 && v > -((__int128)1 << 56); }

/* The range of the form, of which r (if not NULL) may know more. False when it leaves 64 bits. */
static bool set_range(const equations *s, form *f, const tra_range *r) {
    __int128 from = f->c0, to = f->c0;
    for (int j = 0; j < s->ncols; j++) {
        from += (__int128)f->c[j] * (f->c[j] > 0 ? s->least[j] : s->most[j]);
        to += (__int128)f->c[j] * (f->c[j] > 0 ? s->most[j] : s->least[j]);
    }
    if (r && from < r->lo) from = r->lo;
    if (r && to > r->hi) to = r->hi;
    f->lo = (int64_t)from;
    f->hi = (int64_t)to;
    return from >= INT64_MIN && to <= INT64_MAX && from <= to;
}

/* a + times*b, an expression of range r (if not NULL). False on overflow. */
static bool add(const equations *s, const form *a, const form *b, int64_t times, const tra_range *r, form *out) {
    int64_t t;
    form f = {0};
    bool ok = !__builtin_mul_overflow(b->c0, times, &t) && !__builtin_add_overflow(a->c0, t, &f.c0);
    for (int j = 0; j < s->ncols; j++) {
        ok = ok && !__builtin_mul_overflow(b->c[j], times, &t) && !__builtin_add_overflow(a->c[j], t, &f.c[j]);
        ok = ok && is_small(f.c[j]);
    }
    ok = ok && set_range(s, &f, r);
    *out = f;
    return ok;
}

static bool is_number(const form *f) {
    for (int j = 0; j < COLS; j++)
        if (f->c[j]) return false;
    return true;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* The integers quotient and remainder of f by c > 0, and their equation. */
static const struct quotient *divide(equations *s, const form *f, int64_t c) {
    for (int i = 0; i < s->nquotients; i++)
        if (s->q[i].by == c && memcmp(&s->q[i].of, f, sizeof *f) == 0) return &s->q[i];
    if (s->ncols + 2 > COLS || s->nrows == ROWS || s->nquotients == COLS / 2) {
        s->full = true;
        return NULL;
    }
    struct quotient *q = &s->q[s->nquotients++];
    *q = (struct quotient){*f, c, s->ncols, s->ncols + 1};
    s->least[q->quotient] = floor_div(f->lo, c);
    s->most[q->quotient] = floor_div(f->hi, c);
    s->least[q->remainder] = 0;
    s->most[q->remainder] = c - 1;
    memcpy(s->row[s->nrows], f->c, sizeof f->c);
    s->row[s->nrows][q->quotient] = -c;
    s->row[s->nrows++][q->remainder] = -1;
    s->ncols += 2;
    return q;
}

/* f / c, or f % c when rest; c > 0. What c divides comes out of both. */
static bool quotient(equations *s, const form *f, int64_t c, bool rest, const tra_range *r, form *out) {
    form above = {0}, below = {0};
    if (!is_small(c)) return false;
    for (int j = 0; j < s->ncols; j++) *(f->c[j] % c ? &below.c[j] : &above.c[j]) = f->c[j] % c ? f->c[j] : f->c[j] / c;
    above.c0 = floor_div(f->c0, c);
    below.c0 = f->c0 - c * above.c0;
    if (!set_range(s, &below, NULL)) return false;
    int64_t m = floor_div(below.lo, c);
    form u = number(m), v;
    if (m != floor_div(below.hi, c)) { /* not known: an integer */
        const struct quotient *q = divide(s, &below, c);
        if (!q) return false;
        u = v = (form){0};
        u.c[q->quotient] = v.c[q->remainder] = 1;
    } else if (rest && !add(s, &below, &u, -c, r, &v)) {
        return false;
    }
    if (!rest) return add(s, &above, &u, 1, r, out);
    *out = v;
    return set_range(s, out, r);
}

static form build(equations *s, const tra_keyexpr *x);

/* max, min and abs of forms that differ by one sign. */
static form choose(equations *s, const tra_keyexpr *x, const form *a, const form *b, bool greater) {
    form d;
    if (!add(s, a, b, -1, NULL, &d)) return opaque(s, x);
    return d.lo >= 0 ? *(greater ? a : b) : d.hi <= 0 ? *(greater ? b : a) : opaque(s, x);
}

static form build(equations *s, const tra_keyexpr *x) {
    tra_range r = tra_keyexpr_range(x, &s->lo, &s->hi);
    form a, b, f, zero = {0};
    if (r.lo >= r.hi) return number(r.lo);
    if (x->op == TRA_KEY_VAR) {
        f = (form){.lo = r.lo, .hi = r.hi};
        f.c[x->var] = 1;
        return f;
    }
    bool arithmetic = x->op >= TRA_KEY_ADD && x->op <= TRA_KEY_MOD;
    if (!arithmetic && x->op != TRA_KEY_NEG && x->op != TRA_KEY_ABS && x->op != TRA_KEY_MIN && x->op != TRA_KEY_MAX)
        return opaque(s, x);
    a = build(s, x->a);
    if (x->op == TRA_KEY_NEG || x->op == TRA_KEY_ABS) {
        if (!add(s, &zero, &a, -1, NULL, &f)) return opaque(s, x);
        return x->op == TRA_KEY_NEG ? f : choose(s, x, &a, &f, true);
    }
    b = build(s, x->b);
    bool ok = false;
    if (x->op == TRA_KEY_MIN || x->op == TRA_KEY_MAX) return choose(s, x, &a, &b, x->op == TRA_KEY_MAX);
    if (x->op == TRA_KEY_ADD || x->op == TRA_KEY_SUB) {
        ok = add(s, &a, &b, x->op == TRA_KEY_ADD ? 1 : -1, &r, &f);
    } else if (x->op == TRA_KEY_MUL) {
        ok = is_number(&b) ? add(s, &zero, &a, b.c0, &r, &f) : is_number(&a) && add(s, &zero, &b, a.c0, &r, &f);
    } else if (is_number(&b) && b.c0 > 0) {
        ok = quotient(s, &a, b.c0, x->op == TRA_KEY_MOD, &r, &f);
    } else if (is_number(&b) && b.c0 < 0 && b.c0 > INT64_MIN) { /* a / -c = (-a) / c, a % -c = -((-a) % c) */
        ok = add(s, &zero, &a, -1, NULL, &a) && quotient(s, &a, -b.c0, x->op == TRA_KEY_MOD, NULL, &f);
        if (ok && x->op == TRA_KEY_MOD) ok = add(s, &zero, &f, -1, &r, &f);
    }
    return ok ? f : opaque(s, x);
}

/* ---- differences -------------------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* Narrows the bound of integer j by row i: the others must make up for it. */
static bool narrow(equations *s, int i, int j) {
    __int128 others = 0;
    int64_t common = 0, c = magnitude(s->row[i][j]);
    if (!c || !s->bound[j]) return false;
    for (int l = 0; l < s->ncols; l++) {
        if (l == j || !s->row[i][l] || !s->bound[l]) continue;
        others += (__int128)magnitude(s->row[i][l]) * s->bound[l];
        common = gcd(magnitude(s->row[i][l]), common);
    }
    __int128 most = others / c;
    int64_t step = common ? common / gcd(common, c) : 1, b = most < s->bound[j] ? (int64_t)most : s->bound[j];
    b -= b % step;
    if (b == s->bound[j]) return false;
    s->bound[j] = b;
    return true;
}

enum { ROUNDS = 64 };

static void narrow_all(equations *s) {
    bool changed = true;
    for (int round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (int i = 0; i < s->nrows; i++)
            for (int j = 0; j < s->ncols; j++) changed |= narrow(s, i, j);
    }
}

/* ---- the lattice of solutions ------------------------------------------------------------------------------- */

typedef struct lattice {
    int n, dim;   /* vectors, of so many integers */
    int at[COLS]; /* which of the equations' */
    int64_t v[COLS][COLS];
    double scale[COLS]; /* of each integer: one over its bound */
    /* the vectors' parts that are orthogonal to those before */
    long double star[COLS][COLS], mu[COLS][COLS], norm[COLS];
} lattice;

/* to += times * from; false when numbers leave 62 bits. */
static bool add_vector(int n, int64_t *to, const int64_t *from, int64_t times) {
    for (int j = 0; j < n; j++) {
        int64_t t;
        if (__builtin_mul_overflow(from[j], times, &t) || __builtin_add_overflow(to[j], t, &to[j])) return false;
        if (to[j] > INT64_MAX / 2 || to[j] < -(INT64_MAX / 2)) return false;
    }
    return true;
}

static void swap_vectors(int64_t (*m)[COLS], int a, int b) {
    int64_t t[COLS];
    memcpy(t, m[a], sizeof t);
    memcpy(m[a], m[b], sizeof t);
    memcpy(m[b], t, sizeof t);
}

/* A basis of the integer solutions: unit vectors are combined until each row of the equations has one vector left that
 * it does not vanish on, which goes. False on overflow. */
static bool solve(const equations *s, lattice *k) {
    int64_t(*unit)[COLS] = tra_calloc(COLS, sizeof *unit), (*value)[COLS] = tra_calloc(COLS, sizeof *value);
    int n = 0, from = 0;
    bool ok = true;
    for (int j = 0; j < s->ncols; j++)
        if (s->bound[j]) k->at[n++] = j;
    k->dim = n;
    for (int a = 0; a < n; a++) {
        unit[a][a] = 1;
        for (int i = 0; i < s->nrows; i++) value[a][i] = s->row[i][k->at[a]];
        k->scale[a] = 1 / (double)s->bound[k->at[a]];
    }
    for (int i = 0; i < s->nrows && ok; i++) {
        for (;;) {
            int least = -1, left = 0;
            for (int a = from; a < n; a++) {
                if (!value[a][i]) continue;
                left++;
                if (least < 0 || magnitude(value[a][i]) < magnitude(value[least][i])) least = a;
            }
            if (left == 0) break;
            if (left == 1) {
                swap_vectors(unit, from, least);
                swap_vectors(value, from++, least);
                break;
            }
            for (int a = from; a < n && ok; a++) {
                if (a == least || !value[a][i]) continue;
                int64_t times = -(value[a][i] / value[least][i]);
                ok = add_vector(n, unit[a], unit[least], times) && add_vector(s->nrows, value[a], value[least], times);
            }
            if (!ok) break;
        }
    }
    k->n = n - from;
    memcpy(k->v, unit + from, (size_t)k->n * sizeof *unit);
    free(unit);
    free(value);
    return ok;
}

static long double dot(const lattice *k, int a, const long double *x) {
    long double sum = 0;
    for (int j = 0; j < k->dim; j++) sum += (long double)k->v[a][j] * k->scale[j] * x[j];
    return sum;
}

static void orthogonalise(lattice *k) {
    for (int a = 0; a < k->n; a++) {
        long double(*star)[COLS] = k->star;
        for (int j = 0; j < k->dim; j++) star[a][j] = (long double)k->v[a][j] * k->scale[j];
        for (int b = 0; b < a; b++) {
            k->mu[a][b] = dot(k, a, star[b]) / k->norm[b];
            for (int j = 0; j < k->dim; j++) star[a][j] -= k->mu[a][b] * star[b][j];
        }
        k->norm[a] = 0;
        for (int j = 0; j < k->dim; j++) k->norm[a] += star[a][j] * star[a][j];
    }
}

enum { STEPS = 1000 };

/* Lenstra, Lenstra and Lovasz: vectors become short and nearly orthogonal, as seen with each integer in units of its
 * bound. */
static bool reduce(lattice *k) {
    int a = 1;
    orthogonalise(k);
    for (int step = 0; a < k->n; step++) {
        if (step == STEPS) return false;
        for (int b = a - 1; b >= 0; b--) {
            long double times = roundl(k->mu[a][b]);
            if (times == 0) continue;
            if (fabsl(times) > 0x1p62L || !add_vector(k->dim, k->v[a], k->v[b], -(int64_t)times)) return false;
            for (int j = 0; j < b; j++) k->mu[a][j] -= times * k->mu[b][j];
            k->mu[a][b] -= times;
        }
        if (k->norm[a] >= (0.75L - k->mu[a][a - 1] * k->mu[a][a - 1]) * k->norm[a - 1]) {
            a++;
        } else {
            swap_vectors(k->v, a, a - 1);
            orthogonalise(k);
            if (a > 1) a--;
        }
    }
    return true;
}

/* ---- looking for a difference ------------------------------------------------------------------------------- */

typedef struct hunt {
    equations *s;
    const lattice *k;
    tra_oneone *out;
    int64_t v[COLS]; /* the combination so far */
    bool unsure;     /* a vector might be a difference, and no keys were found for it */
    int64_t nodes;
} hunt;

static bool same_image(const hunt *h, const tra_dims *a, const tra_dims *b) {
    tra_dims x, y;
    tra_err none = {0};
    return tra_keyfn_eval(h->s->f, a, &x, &none) == TRA_OK && tra_keyfn_eval(h->s->f, b, &y, &none) == TRA_OK &&
           tra_dims_eq(&x, &y);
}

static bool before(const tra_dims *a, const tra_dims *b) {
    int d = 0;
    while (d < a->n - 1 && a->v[d] == b->v[d]) d++;
    return a->v[d] < b->v[d];
}

enum { SHIFTS = 6, SHIFTED = 3 };

/* Two keys that differ by z and have one image. Where something was not linear not every such pair has. */
static bool try_difference(hunt *h, const int64_t *z) {
    tra_dims a = {.n = h->s->lo.n}, b = a, shift = {.n = 0};
    int at[SHIFTED];
    for (int d = 0; d < a.n; d++) {
        a.v[d] = z[d] < 0 ? -z[d] : 0;
        b.v[d] = z[d] > 0 ? z[d] : 0;
        int64_t room = h->s->hi.v[d] - a.v[d] - b.v[d];
        if (room <= 0 || shift.n == SHIFTED || h->s->ncols == a.n) continue;
        at[shift.n] = d;
        shift.v[shift.n++] = tra_min64(room + 1, SHIFTS);
    }
    tra_dims by = {.n = shift.n};
    do {
        tra_dims x = a, y = b;
        for (int i = 0; i < by.n; i++) x.v[at[i]] += by.v[i], y.v[at[i]] += by.v[i];
        if (!same_image(h, &x, &y)) continue;
        bool order = before(&x, &y);
        h->out->key[0] = order ? x : y;
        h->out->key[1] = order ? y : x;
        return true;
    } while (tra_next(&shift, &by));
    h->unsure = true;
    return false;
}

/* A combination of the lattice's vectors: within the bounds, and different keys? */
static bool try_vector(hunt *h) {
    int64_t z[COLS] = {0};
    bool differ = false;
    for (int a = 0; a < h->k->dim; a++) {
        int j = h->k->at[a];
        if (magnitude(h->v[a]) > h->s->bound[j]) return false;
        z[j] = h->v[a];
        differ |= j < h->s->lo.n && z[j];
    }
    return differ && try_difference(h, z);
}

enum { NODES = 20000 };

/* Fincke and Pohst: all combinations of the vectors below a whose length leaves them within the bounds, given that
 * those of the later ones have coefficients x and take `used` of it. */
static bool enumerate(hunt *h, int a, int64_t *x, long double used) {
    const lattice *k = h->k;
    long double most = k->dim * 1.0001L + 1e-6L, centre = 0;
    if (a < 0) return try_vector(h);
    for (int b = a + 1; b < k->n; b++) centre += (long double)x[b] * k->mu[b][a];
    long double reach = sqrtl((most - used) / k->norm[a]);
    if (!(reach < NODES)) return h->unsure = true, false;
    int64_t from = (int64_t)ceill(-centre - reach), to = (int64_t)floorl(-centre + reach);
    int64_t save[COLS];
    memcpy(save, h->v, sizeof save);
    for (x[a] = from; x[a] <= to; x[a]++) {
        if (++h->nodes > NODES) return h->unsure = true, false;
        long double part = (long double)x[a] + centre;
        memcpy(h->v, save, sizeof save);
        if (!add_vector(k->dim, h->v, k->v[a], x[a])) return h->unsure = true, false;
        if (used + part * part * k->norm[a] <= most && enumerate(h, a - 1, x, used + part * part * k->norm[a]))
            return true;
    }
    memcpy(h->v, save, sizeof save);
    return false;
}

static bool keys_differ(const equations *s) {
    for (int d = 0; d < s->lo.n; d++)
        if (s->bound[d]) return true;
    return false;
}

static void decide(equations *s, tra_oneone *out) {
    out->verdict = TRA_ONEONE_OPEN;
    if (s->full) return;
    for (int j = 0; j < s->ncols; j++)
        if (__builtin_sub_overflow(s->most[j], s->least[j], &s->bound[j])) return;
    narrow_all(s);
    if (!keys_differ(s)) {
        out->verdict = TRA_ONEONE_YES;
        return;
    }
    lattice *k = tra_calloc(1, sizeof *k);
    hunt h = {.s = s, .k = k, .out = out};
    int64_t x[COLS] = {0};
    bool found = false;
    for (int d = s->lo.n - 1; d >= 0 && !found; d--) { /* neighbours make the plainest example */
        int64_t z[COLS] = {0};
        z[d] = 1;
        found = s->bound[d] && try_difference(&h, z);
    }
    if (found) {
        out->verdict = TRA_ONEONE_NO;
    } else if (solve(s, k)) {
        for (int a = 0; a < k->n && !found; a++) { /* one of the basis will do, most often */
            memcpy(h.v, k->v[a], sizeof h.v);
            found = try_vector(&h);
        }
        memset(h.v, 0, sizeof h.v);
        h.unsure = false;
        if (!found && reduce(k))
            found = enumerate(&h, k->n - 1, x, 0);
        else
            h.unsure = true;
        out->verdict = found ? TRA_ONEONE_NO : h.unsure ? TRA_ONEONE_OPEN : TRA_ONEONE_YES;
    }
    free(k);
}

/* ---- by walking --------------------------------------------------------------------------------------------- */

/* Of the box of keys whose component d is values[d][0..count.v[d]-1] (NULL: 0, 1, ...). Sets the verdict, and most. */
static tra_status walk_box(const tra_keyfn *f, const tra_dims *count, int64_t *const *values, tra_oneone *out,
                           tra_err *e) {
    tra_catbuilder *b = tra_catbuilder_new(f->n, 0);
    tra_arena *a = tra_arena_new();
    tra_dims at = {.n = count->n}, key = at, to, none = {.n = 0};
    tra_catalog c;
    tra_status s = TRA_OK;
    int64_t n = 0, dup[2] = {-1, -1};
    tra_err err = {0};
    do {
        for (int d = 0; d < at.n; d++) key.v[d] = values && values[d] ? values[d][at.v[d]] : at.v[d];
        s = tra_keyfn_eval(f, &key, &to, e);
        if (s == TRA_OK) s = tra_catbuilder_add(b, &to, &none, n++, e);
    } while (s == TRA_OK && tra_next(count, &at));
    if (s != TRA_OK) {
        tra_catbuilder_free(b);
    } else if (tra_catbuilder_finish(b, a, &c, NULL, dup, &err) == TRA_OK) {
        out->verdict = TRA_ONEONE_YES;
        for (int i = 0; i < f->n; i++) out->most.v[i] = c.frontier.v[i] - 1;
    } else if (dup[0] >= 0) {
        out->verdict = TRA_ONEONE_NO;
        for (int i = 0; i < 2; i++) {
            tra_unlinear(count, dup[i], &at);
            for (int d = 0; d < at.n; d++) at.v[d] = values && values[d] ? values[d][at.v[d]] : at.v[d];
            out->key[i] = at;
        }
    }
    tra_arena_free(a);
    return s;
}

/* Of a few keys of the box: its corners and what is next to the first. An error or a collision is one of the whole. */
static tra_status walk_sample(const tra_keyfn *f, const tra_dims *frontier, uint32_t dims, tra_oneone *out,
                              tra_err *e) {
    int64_t values[TRA_MAXDIM][4], *v[TRA_MAXDIM];
    tra_dims count = {.n = frontier->n};
    int each = __builtin_popcount(dims) <= 6 ? 4 : 2;
    tra_oneone sample = {0};
    for (int d = 0; d < frontier->n; d++) {
        int64_t last = frontier->v[d] - 1, want[4] = {0, last, 1, 2};
        v[d] = values[d];
        count.v[d] = 0;
        for (int i = 0; i < each; i++) {
            bool seen = want[i] > last;
            for (int64_t j = 0; j < count.v[d]; j++) seen |= values[d][j] == want[i];
            if (!seen && (i == 0 || (dims >> d & 1))) values[d][count.v[d]++] = want[i];
        }
    }
    int64_t n;
    while (tra_dims_product(&count, &n) && n > 4096) /* of many dimensions the last ones stay 0 */
        for (int d = frontier->n - 1; d >= 0; d--)
            if (count.v[d] > 1) {
                count.v[d] = 1;
                break;
            }
    TRA_TRY(walk_box(f, &count, v, &sample, e));
    if (sample.verdict != TRA_ONEONE_NO) return TRA_OK;
    *out = sample;
    return TRA_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

/* The new components of `part`, which read the key dimensions `dims` alone. */
static tra_status decide_part(const tra_keyfn *part, const tra_dims *frontier, uint32_t dims, int64_t walk,
                              tra_oneone *out, tra_err *e) {
    equations *s = tra_calloc(1, sizeof *s);
    bool safe = true;
    s->f = part;
    s->lo.n = s->hi.n = s->ncols = frontier->n;
    tra_dims box = {.n = frontier->n};
    for (int d = 0; d < frontier->n; d++) {
        box.v[d] = dims >> d & 1 ? frontier->v[d] : 1;
        s->hi.v[d] = s->most[d] = box.v[d] - 1;
    }
    for (int i = 0; i < part->n; i++) {
        form f = build(s, part->expr[i]);
        out->most.v[i] = f.hi;
        safe = safe && f.lo >= 0 && f.hi < INT64_MAX && !tra_keyexpr_range(part->expr[i], &s->lo, &s->hi).may_fail;
        if (s->nrows < ROWS) memcpy(s->row[s->nrows++], f.c, sizeof f.c);
    }
    if (!safe) { /* where a component is least or greatest, if its form has that key */
        for (int i = 0; i < 2 * part->n; i++) {
            tra_keylinear l;
            tra_dims key = {.n = frontier->n}, to;
            if (!tra_keyexpr_linear(part->expr[i / 2], &l)) continue;
            for (int d = 0; d < key.n; d++) key.v[d] = (l.c[d] < 0) == (i % 2 == 0) ? s->hi.v[d] : 0;
            tra_status st = tra_keyfn_eval(part, &key, &to, e);
            if (st != TRA_OK) {
                free(s);
                return st;
            }
        }
    }
    decide(s, out);
    free(s);
    if (!safe || out->verdict == TRA_ONEONE_OPEN) TRA_TRY(walk_sample(part, frontier, dims, out, e));
    int64_t n;
    if (safe && out->verdict != TRA_ONEONE_OPEN) return TRA_OK;
    if (out->verdict == TRA_ONEONE_NO) return TRA_OK;
    out->verdict = TRA_ONEONE_OPEN;
    return tra_dims_product(&box, &n) && n <= walk ? walk_box(part, &box, NULL, out, e) : TRA_OK;
}

tra_status tra_keyfn_oneone(const tra_keyfn *f, const tra_dims *frontier, int64_t walk, tra_oneone *out, tra_err *e) {
    uint32_t wide = 0, todo;
    *out = (tra_oneone){.verdict = TRA_ONEONE_YES, .most = {.n = f->n}};
    for (int d = 0; d < frontier->n; d++)
        if (frontier->v[d] > 1) wide |= 1u << d;
    todo = wide;
    bool first = true;
    while (todo || first) { /* with the first part come the components that read nothing */
        uint32_t dims = todo & -todo, before;
        do {
            before = dims;
            for (int i = 0; i < f->n; i++) {
                uint32_t vars = tra_keyexpr_vars(f->expr[i]) & wide;
                if (vars & dims) dims |= vars;
            }
        } while (dims != before);
        tra_keyfn part = {.arity = f->arity};
        int from[TRA_MAXDIM];
        memcpy(part.names, f->names, sizeof part.names);
        for (int i = 0; i < f->n; i++) {
            uint32_t vars = tra_keyexpr_vars(f->expr[i]) & wide;
            if (!(vars & dims) && (vars || !first)) continue;
            from[part.n] = i;
            part.expr[part.n++] = f->expr[i];
        }
        tra_oneone p = {0};
        TRA_TRY(decide_part(&part, frontier, dims, walk, &p, e));
        for (int i = 0; i < part.n; i++) out->most.v[from[i]] = p.most.v[i];
        if (p.verdict == TRA_ONEONE_NO) { /* of several, keys that differ in a later component */
            out->verdict = TRA_ONEONE_NO;
            memcpy(out->key, p.key, sizeof out->key);
        } else if (p.verdict == TRA_ONEONE_OPEN && out->verdict == TRA_ONEONE_YES) {
            out->verdict = TRA_ONEONE_OPEN;
        }
        todo &= ~dims;
        first = false;
    }
    return TRA_OK;
}
