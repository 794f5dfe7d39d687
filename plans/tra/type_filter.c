/* type_filter.c - which keys a filter leaves. A list is walked. A grid is cut in boxes for which the predicate holds,
 * or does not, as a whole; so the work is in proportion to the border between the keys that stay and those that go, not
 * to the grid.
 *
 * The predicate is a disjunction of conjunctions. In each of these, comparisons of linear functions narrow the box, and
 * remainders thin it out to every m-th key, as far as what stands before them cannot fail. */
#include "keyform.h"
#include "type.h"

#include <stdlib.h>
#include <string.h>

/* ---- the predicate as a disjunction of conjunctions ----------------------------------------------------------- */

enum { MAX_ATOMS = 48, MAX_CASES = 24 };

typedef struct atom {
    const tra_keyexpr *x;
    bool holds; /* or it does not */
} atom;

typedef struct conjunction {
    int n;
    atom v[MAX_ATOMS];
} conjunction;

typedef struct cases {
    int n;
    conjunction v[MAX_CASES];
} cases;

/* Of x, or of its negation, in the order of evaluation. False when there are too many. */
static bool take_apart(const tra_keyexpr *x, bool holds, cases *out) {
    if (x->op == TRA_KEY_NOT) return take_apart(x->a, !holds, out);
    if (x->op != TRA_KEY_AND && x->op != TRA_KEY_OR) {
        out->n = out->v[0].n = 1;
        out->v[0].v[0] = (atom){x, holds};
        return true;
    }
    cases *a = tra_calloc(1, sizeof *a), *b = tra_calloc(1, sizeof *b);
    bool ok = take_apart(x->a, holds, a) && take_apart(x->b, holds, b);
    if ((x->op == TRA_KEY_OR) == holds) { /* either */
        ok = ok && a->n + b->n <= MAX_CASES;
        if (ok) {
            *out = *a;
            memcpy(out->v + a->n, b->v, (size_t)b->n * sizeof *b->v);
            out->n += b->n;
        }
    } else {
        ok = ok && a->n * b->n <= MAX_CASES;
        out->n = 0;
        for (int i = 0; ok && i < a->n; i++)
            for (int j = 0; ok && j < b->n; j++) {
                conjunction *c = &out->v[out->n++];
                *c = a->v[i];
                ok = c->n + b->v[j].n <= MAX_ATOMS;
                if (!ok) continue;
                memcpy(c->v + c->n, b->v[j].v, (size_t)b->v[j].n * sizeof *c->v);
                c->n += b->v[j].n;
            }
    }
    free(a);
    free(b);
    return ok;
}

/* ---- boxes -------------------------------------------------------------------------------------------------- */

/* Component d is first[d] + i*step[d], i from 0 to count[d] - 1. */
typedef struct box {
    tra_dims first, step, count;
} box;

static int64_t at(const box *b, int d, int64_t i) { return b->first.v[d] + i * b->step.v[d]; }
static int64_t last(const box *b, int d) { return at(b, d, b->count.v[d] - 1); }

static bool is_empty(const box *b) {
    for (int d = 0; d < b->count.n; d++)
        if (b->count.v[d] <= 0) return true;
    return false;
}

static void span(const box *b, tra_dims *lo, tra_dims *hi) {
    *lo = *hi = b->first;
    for (int d = 0; d < lo->n; d++) hi->v[d] = last(b, d);
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}

/* Is a part of b, apart from it, or neither? */
static enum { PART, APART, NEITHER } compare(const box *a, const box *b) {
    bool part = true;
    for (int d = 0; d < a->count.n; d++) {
        int64_t lo = at(a, d, 0), hi = last(a, d), step = a->count.v[d] > 1 ? a->step.v[d] : 0;
        if (hi < at(b, d, 0) || lo > last(b, d)) return APART;
        if ((lo - at(b, d, 0)) % gcd(step, b->step.v[d])) return APART;
        part = part && lo >= at(b, d, 0) && hi <= last(b, d) && step % b->step.v[d] == 0;
    }
    return part ? PART : NEITHER;
}

/* ---- narrowing ---------------------------------------------------------------------------------------------- */

/* c0 + sum c[d] * component d is <= 0, or is 0. */
typedef struct limit {
    tra_keylinear f;
    bool zero;
} limit;

static bool negate(tra_keylinear *f, int64_t more) { /* to more - f */
    bool ok = !__builtin_sub_overflow(more, f->c0, &f->c0);
    for (int d = 0; d < TRA_MAXDIM; d++) f->c[d] = -f->c[d];
    return ok;
}

/* What the atom says of linear functions; false when nothing. */
static bool limit_of(const atom *t, limit *out) {
    tra_keyop op = t->x->op;
    tra_keylinear b;
    if (op < TRA_KEY_LT || op > TRA_KEY_NE) return false;
    static const tra_keyop opposite[] = {TRA_KEY_GE, TRA_KEY_GT, TRA_KEY_LE, TRA_KEY_LT, TRA_KEY_NE, TRA_KEY_EQ};
    if (!t->holds) op = opposite[op - TRA_KEY_LT];
    if (op == TRA_KEY_NE || !tra_keyexpr_linear(t->x->a, &out->f) || !tra_keyexpr_linear(t->x->b, &b)) return false;
    if (__builtin_sub_overflow(out->f.c0, b.c0, &out->f.c0)) return false;
    for (int d = 0; d < TRA_MAXDIM; d++) out->f.c[d] -= b.c[d];
    out->zero = op == TRA_KEY_EQ;
    if (op == TRA_KEY_LT) return !__builtin_add_overflow(out->f.c0, 1, &out->f.c0);
    if (op == TRA_KEY_GT) return negate(&out->f, 1);
    if (op == TRA_KEY_GE) return negate(&out->f, 0);
    return true;
}

static __int128 floor_div(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* Leaves of the box what sign * f <= 0 allows. */
static bool narrow(const tra_keylinear *f, int sign, box *b) {
    __int128 least = (__int128)sign * f->c0, part[TRA_MAXDIM];
    bool changed = false;
    for (int d = 0; d < b->count.n; d++) {
        __int128 c = (__int128)sign * f->c[d];
        part[d] = c * (c > 0 ? at(b, d, 0) : last(b, d));
        least += part[d];
    }
    for (int d = 0; d < b->count.n; d++) {
        __int128 c = (__int128)sign * f->c[d] * b->step.v[d],
                 room = -(least - part[d]) - (__int128)sign * f->c[d] * b->first.v[d];
        if (c == 0) {
            if (room >= 0) continue;
            b->count.v[d] = 0; /* nothing fits */
            return true;
        }
        __int128 i = floor_div(room, c); /* c*i <= room */
        if (c > 0) {
            if (i >= b->count.v[d] - 1) continue;
            b->count.v[d] = i < 0 ? 0 : (int64_t)i + 1;
        } else {
            i = -floor_div(room, -c);
            if (i <= 0) continue;
            if (i >= b->count.v[d]) i = b->count.v[d];
            b->first.v[d] = i < b->count.v[d] ? at(b, d, (int64_t)i) : b->first.v[d];
            b->count.v[d] -= (int64_t)i;
        }
        changed = true;
        if (b->count.v[d] <= 0) return true;
        least -= part[d];
        c = (__int128)sign * f->c[d];
        part[d] = c * (c > 0 ? at(b, d, 0) : last(b, d));
        least += part[d];
    }
    return changed;
}

enum { ROUNDS = 8 };

static void apply_limits(int n, const limit *v, box *b) {
    bool changed = true;
    for (int round = 0; round < ROUNDS && changed && !is_empty(b); round++) {
        changed = false;
        for (int i = 0; i < n && !is_empty(b); i++) {
            changed |= narrow(&v[i].f, 1, b);
            if (!v[i].zero || is_empty(b)) continue;
            changed |= narrow(&v[i].f, -1, b);
            int64_t common = 0;
            for (int d = 0; d < b->count.n; d++) common = gcd(v[i].f.c[d], common);
            if (common && v[i].f.c0 % common) b->count.v[0] = 0; /* no integers fit */
        }
    }
}

/* x with a*x = 1 modulo m, given that they have no common divisor. */
static int64_t inverse(int64_t a, int64_t m) {
    int64_t x = 1, y = 0, r = a, s = m;
    while (s) {
        int64_t q = r / s, t = r - q * s;
        r = s;
        s = t;
        t = x - q * y;
        x = y;
        y = t;
    }
    return x - m * (int64_t)floor_div(x, m);
}

/* Thins the box out by an atom f % m == r of a linear function of one component; then all that is left has it. */
static bool apply_remainder(const atom *t, box *b) {
    const tra_keyexpr *mod = t->x, *rest = NULL;
    tra_keylinear f;
    int64_t r = 0;
    if (t->x->op == TRA_KEY_EQ && t->holds) {
        mod = t->x->a->op == TRA_KEY_MOD ? t->x->a : t->x->b;
        rest = mod == t->x->a ? t->x->b : t->x->a;
        if (!tra_keyexpr_linear(rest, &f)) return false;
        for (int d = 0; d < b->count.n; d++)
            if (f.c[d]) return false;
        r = f.c0;
    } else if (t->holds) {
        return false;
    }
    if (mod->op != TRA_KEY_MOD || mod->b->op != TRA_KEY_INT || !tra_keyexpr_linear(mod->a, &f)) return false;
    int64_t m = mod->b->value;
    int d = -1;
    for (int i = 0; i < b->count.n; i++) {
        if (f.c[i] && d >= 0) return false;
        if (f.c[i]) d = i;
    }
    if (m <= 1 || d < 0) return false;
    /* c*step*i = r - c0 - c*first modulo m */
    __int128 c = (__int128)f.c[d] * b->step.v[d], k = (__int128)r - f.c0 - (__int128)f.c[d] * b->first.v[d];
    int64_t cm = (int64_t)(c - m * floor_div(c, m)), km = (int64_t)(k - m * floor_div(k, m)), g = gcd(cm, m);
    if (r < 0 || r >= m || km % g) {
        b->count.v[d] = 0;
        return true;
    }
    m /= g;
    int64_t i = m == 1 ? 0 : (int64_t)((__int128)(km / g) * inverse(cm / g, m) % m), step;
    if (i >= b->count.v[d]) {
        b->count.v[d] = 0;
        return true;
    }
    b->first.v[d] = at(b, d, i);
    b->count.v[d] = (b->count.v[d] - 1 - i) / m + 1;
    b->step.v[d] = b->count.v[d] > 1 && tra_mul(b->step.v[d], m, &step) ? step : 1;
    return true;
}

/* ---- the boxes of a predicate -------------------------------------------------------------------------------- */

enum { PENDING = 64, FALSE_KEYS = 16, LEAF = 32, MAX_BOXES = 1 << 21 };

/* Where one of the cases is looked for: a box, and limits. */
typedef struct region {
    const conjunction *of;
    uint64_t thinned; /* atoms that all keys of the box have */
    box b;
    int nlimits;
    limit limits[MAX_ATOMS];
} region;

/* Is box a part of the region? */
static int compare_region(const box *a, const region *r) {
    int how = compare(a, &r->b);
    for (int i = 0; i < r->nlimits && how != APART; i++) {
        const tra_keylinear *f = &r->limits[i].f;
        __int128 least = f->c0, most = f->c0;
        for (int d = 0; d < a->count.n; d++) {
            least += (__int128)f->c[d] * (f->c[d] > 0 ? at(a, d, 0) : last(a, d));
            most += (__int128)f->c[d] * (f->c[d] > 0 ? last(a, d) : at(a, d, 0));
        }
        if (least > 0 || (r->limits[i].zero && most < 0)) return APART;
        if (most > 0 || (r->limits[i].zero && least < 0)) how = NEITHER;
    }
    return how;
}

typedef struct search {
    const tra_node *n;
    const tra_catalog *c;
    const tra_keyexpr *x;
    uint32_t vars; /* that it reads */
    int ncases;    /* the last is at work: keys in its region that are in none before */
    region cases[MAX_CASES];
    int64_t nodes;
    __int128 total; /* keys that stay */
    tra_dims frontier;
    int npending;
    box pending[PENDING]; /* not yet listed: with few boxes there may be no need */
    tra_catbuilder *list; /* NULL when there are too many */
    int nfalse;
    tra_dims gone[FALSE_KEYS]; /* some keys that go */
} search;

static __int128 size(const box *b) {
    __int128 n = 1;
    for (int d = 0; d < b->count.n; d++) n *= b->count.v[d];
    return n;
}

static void note_false(search *s, const box *b) {
    int64_t v;
    tra_err none = {0};
    if (s->nfalse == FALSE_KEYS || tra_keyexpr_eval(s->x, &b->first, &v, &none) != TRA_OK || v) return;
    s->gone[s->nfalse++] = b->first;
}

/* A key that goes and is below the frontier of those that stay, or NULL. */
static const tra_dims *hole(const search *s) {
    for (int i = 0; i < s->nfalse; i++) {
        bool below = true;
        for (int d = 0; d < s->frontier.n; d++) below = below && s->gone[i].v[d] < s->frontier.v[d];
        if (below) return &s->gone[i];
    }
    return NULL;
}

static tra_status list_box(search *s, const box *b, tra_err *e) {
    tra_dims i = {.n = b->count.n}, key = i, ext;
    do {
        for (int d = 0; d < i.n; d++) key.v[d] = at(b, d, i.v[d]);
        tra_catalog_ext(s->c, tra_linear(&s->c->frontier, &key), &ext);
        TRA_TRY(tra_catbuilder_add(s->list, &key, &ext, 0, e));
    } while (tra_next(&b->count, &i));
    return TRA_OK;
}

static tra_status refuse(const search *s, tra_err *e) {
    const tra_dims *key = hole(s);
    char buf[TRA_DIMTEXT] = "";
    if (key) tra_key_text(key, buf);
    return tra_fail(e, TRA_PROGRAM,
                    "this filter leaves more than %d keys, too many to list, and no grid%s%s%s; use larger blocks, or "
                    "leave the keys up to some number in each dimension",
                    TRA_MAX_LIST, key ? " (" : "", buf, key ? " is missing)" : "");
}

/* Keys that stay. */
static tra_status keep(search *s, const box *b, tra_err *e) {
    s->total += size(b);
    for (int d = 0; d < b->count.n; d++) s->frontier.v[d] = tra_max64(s->frontier.v[d], last(b, d) + 1);
    if (s->total > TRA_MAX_LIST) {
        tra_catbuilder_free(s->list);
        s->list = NULL;
        return hole(s) ? refuse(s, e) : TRA_OK;
    }
    if (s->npending < PENDING) {
        s->pending[s->npending++] = *b;
        return TRA_OK;
    }
    if (s->npending == PENDING)
        for (int i = 0; i < PENDING; i++) TRA_TRY(list_box(s, &s->pending[i], e));
    s->npending = PENDING + 1;
    return list_box(s, b, e);
}

/* Few keys, as far as the predicate tells them apart: one by one. */
static tra_status look(search *s, const box *b, tra_err *e) {
    tra_dims count = b->count, i = {.n = count.n};
    for (int d = 0; d < count.n; d++)
        if (!(s->vars >> d & 1)) count.v[d] = 1;
    do {
        box one = *b;
        int64_t v;
        bool other = false;
        for (int d = 0; d < count.n; d++) {
            if (!(s->vars >> d & 1)) continue;
            one.first.v[d] = at(b, d, i.v[d]);
            one.count.v[d] = 1;
        }
        for (int j = 0; j < s->ncases && !other; j++)
            other = (compare_region(&one, &s->cases[j]) == PART) == (j < s->ncases - 1);
        if (other) continue;
        TRA_TRY(tra_keyexpr_eval(s->x, &one.first, &v, e));
        if (v)
            TRA_TRY(keep(s, &one, e));
        else
            note_false(s, &one);
    } while (tra_next(&count, &i));
    return TRA_OK;
}

/* Do all keys of the region between lo and hi have its atoms? Remainders are not seen by the range of the whole. */
static bool all_atoms(const region *r, const tra_dims *lo, const tra_dims *hi) {
    for (int i = 0; i < r->of->n; i++) {
        if (r->thinned >> i & 1) continue;
        tra_range v = tra_keyexpr_range(r->of->v[i].x, lo, hi);
        if (v.may_fail || !(r->of->v[i].holds ? v.lo > 0 || v.hi < 0 : v.lo == 0 && v.hi == 0)) return false;
    }
    return r->thinned != 0;
}

static tra_status cut(search *s, box b, tra_err *e) {
    tra_dims lo, hi;
    bool open = false;
    int widest = -1;
    int64_t keys = 1;
    /* where keys are listed the boxes are in proportion to them; where they are too many only a grid will do, which has
     * few */
    if (++s->nodes > MAX_BOXES + (s->list ? 8 * s->total : 0) && s->c->n > TRA_MAX_LIST)
        return tra_fail(e, TRA_PROGRAM,
                        "the keys that this filter leaves were not found after cutting the %" PRId64 " keys in %" PRId64
                        " boxes; comparisons of sums of multiples of key components are decided faster",
                        s->c->n, s->nodes);
    box old = b;
    apply_limits(s->cases[s->ncases - 1].nlimits, s->cases[s->ncases - 1].limits, &b);
    if (is_empty(&b)) return note_false(s, &old), TRA_OK;
    for (int d = 0; d < b.count.n; d++) {
        if (b.first.v[d] != old.first.v[d]) note_false(s, &old);
        if (!(s->vars >> d & 1)) continue;
        keys *= tra_min64(b.count.v[d], LEAF + 1);
        keys = tra_min64(keys, LEAF + 1);
        if (widest < 0 || b.count.v[d] > b.count.v[widest]) widest = d;
    }
    for (int j = 0; j < s->ncases; j++) {
        int how = compare_region(&b, &s->cases[j]);
        if (how == (j < s->ncases - 1 ? PART : APART)) return TRA_OK;
        open |= how == NEITHER;
    }
    span(&b, &lo, &hi);
    tra_range r = tra_keyexpr_range(s->x, &lo, &hi);
    if (!r.may_fail && r.lo == 0 && r.hi == 0) return note_false(s, &b), TRA_OK;
    if (!r.may_fail && !open && (r.lo > 0 || r.hi < 0 || all_atoms(&s->cases[s->ncases - 1], &lo, &hi)))
        return keep(s, &b, e);
    if (keys <= LEAF) return look(s, &b, e);
    box half = b;
    half.count.v[widest] /= 2;
    TRA_TRY(cut(s, half, e));
    half.first.v[widest] = at(&b, widest, half.count.v[widest]);
    half.count.v[widest] = b.count.v[widest] - half.count.v[widest];
    return cut(s, half, e);
}

/* What the atoms, in their order, leave of the grid: up to the first that may fail on a key that reaches it. */
static void start(search *s, const conjunction *k, region *r) {
    box *b = &r->b;
    for (int i = 0; i < k->n && !is_empty(b); i++) {
        tra_dims lo, hi;
        span(b, &lo, &hi);
        if (tra_keyexpr_range(k->v[i].x, &lo, &hi).may_fail) return;
        box old = *b;
        if (apply_remainder(&k->v[i], b)) r->thinned |= (uint64_t)1 << i;
        if (limit_of(&k->v[i], &r->limits[r->nlimits])) apply_limits(++r->nlimits, r->limits, b);
        for (int d = 0; d < b->count.n; d++) {
            if (b->first.v[d] != old.first.v[d]) note_false(s, &old);
            if (b->step.v[d] == 1) continue;
            box next = *b;
            next.first.v[d]++;
            note_false(s, &next);
        }
    }
}

static tra_status find(search *s, tra_err *e) {
    cases *k = tra_calloc(1, sizeof *k);
    tra_status st = TRA_OK;
    if (!take_apart(s->x, true, k)) {
        k->n = k->v[0].n = 1;
        k->v[0].v[0] = (atom){s->x, true};
    }
    for (int i = 0; i < k->n && st == TRA_OK; i++) {
        region *r = &s->cases[s->ncases];
        r->of = &k->v[i];
        r->nlimits = 0;
        r->thinned = 0;
        r->b = (box){.first = {.n = s->c->frontier.n}, .step = {.n = s->c->frontier.n}, .count = s->c->frontier};
        for (int d = 0; d < r->b.step.n; d++) r->b.step.v[d] = 1;
        start(s, &k->v[i], r);
        if (is_empty(&r->b)) continue;
        s->ncases++;
        st = cut(s, r->b, e);
    }
    free(k);
    return st;
}

/* ---- catalogs ----------------------------------------------------------------------------------------------- */

/* All keys up to a frontier. */
static tra_status prefix_grid(const tra_catalog *c, const tra_dims *frontier, tra_catalog *out, tra_err *e) {
    int8_t by[TRA_MAXDIM];
    for (int a = 0; a < c->bound.n; a++) {
        int d = c->by[a];
        by[a] = d >= 0 && frontier->v[d] == c->frontier.v[d] ? (int8_t)d : -1; /* else the clipped ones are gone */
    }
    return tra_catalog_grid(frontier, &c->bound, by, c->last, out, e);
}

static tra_status filter_grid(search *s, bool *grid, tra_catalog *out, tra_err *e) {
    int64_t all;
    *grid = false;
    TRA_TRY(find(s, e));
    if (s->total == 0) return TRA_OK;
    *grid = tra_dims_product(&s->frontier, &all) && s->total == all;
    if (*grid) return prefix_grid(s->c, &s->frontier, out, e);
    if (!s->list) return refuse(s, e);
    for (int i = 0; i < s->npending && s->npending <= PENDING; i++) TRA_TRY(list_box(s, &s->pending[i], e));
    return TRA_OK;
}

static tra_status filter_list(search *s, tra_err *e) {
    for (int64_t t = 0; t < s->c->n; t++) {
        tra_dims key, ext;
        int64_t keep;
        tra_catalog_key(s->c, t, &key);
        TRA_TRY(tra_keyexpr_eval(s->x, &key, &keep, e));
        if (!keep) continue;
        tra_catalog_ext(s->c, t, &ext);
        TRA_TRY(tra_catbuilder_add(s->list, &key, &ext, 0, e));
    }
    return TRA_OK;
}

tra_status tra_type_filter(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    bool grid = false;
    if (c->n == 0) return *out = *c, TRA_OK;
    search *s = tra_calloc(1, sizeof *s);
    *s = (search){.n = n, .c = c, .x = n->keyfn->expr[0], .frontier = {.n = c->frontier.n}};
    s->vars = tra_keyexpr_vars(s->x);
    s->list = tra_catbuilder_new(c->frontier.n, c->bound.n);
    tra_status st = c->grid ? filter_grid(s, &grid, out, e) : filter_list(s, e);
    tra_catbuilder *list = s->list;
    free(s);
    if (st != TRA_OK || grid) {
        tra_catbuilder_free(list);
        return st;
    }
    TRA_TRY(tra_catbuilder_finish(list, a, out, NULL, NULL, e));
    if (out->n == 0) tra_largest(c, &out->bound);
    return TRA_OK;
}
