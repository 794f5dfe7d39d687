/* rows_util.h - for the tests of kernels of rows: arrays as plain numbers, cells that hold them in every way, and an
 * evaluator that is written from the rule of values (man tra-storage.5) and shares nothing with the kernels. */
#ifndef ROWS_UTIL_H
#define ROWS_UTIL_H

#include "../../lib/sparse/sparse.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- random numbers ------------------------------------------------------------------------------------------ */

static inline bool chance(int percent) { return check_draw(100) < percent; }

/* ---- expressions --------------------------------------------------------------------------------------------- */

static tra_arena *arena;
static const char *const xy[] = {"x", "y"};

static inline tra_scalar *node(tra_scalar_op op, const tra_scalar *a, const tra_scalar *b) {
    tra_scalar *s = tra_new(arena, tra_scalar);
    *s = (tra_scalar){.op = op, .a = a, .b = b};
    return s;
}
static inline tra_scalar *arg(int i) {
    tra_scalar *s = node(TRA_S_ARG, NULL, NULL);
    s->arg = i;
    return s;
}
static inline tra_scalar *num(double v) {
    tra_scalar *s = node(TRA_S_CONST, NULL, NULL);
    s->value = v;
    return s;
}
#define ARG0        arg(0)
#define ARG1        arg(1)
#define OP(o, a, b) node(TRA_S_##o, a, b)

/* ---- arrays of plain numbers --------------------------------------------------------------------------------- */

typedef struct plain {
    tra_dtype type;
    bool sparse;
    tra_dims ext;
    int64_t n;
    double *v;
    bool too_large; /* a product of factors of an element is, before a factor 0 comes */
} plain;

static inline double plain_limit(tra_dtype t) {
    return t == TRA_I64 ? (double)INT64_MAX : t == TRA_I32 ? INT32_MAX : INFINITY;
}

static inline plain plain_new(tra_dtype t, const tra_dims *ext, bool sparse) {
    plain p = {.type = t, .ext = *ext, .sparse = sparse};
    CHECK(tra_dims_product(ext, &p.n));
    p.v = tra_calloc((size_t)p.n + 1, sizeof *p.v);
    return p;
}

/* Small numbers, so that sums of products are exact; sometimes NaN or infinity. */
static inline plain plain_random(tra_dtype t, const tra_dims *ext, bool sparse, bool wild) {
    static const int densities[] = {0, 5, 30, 70, 100};
    plain p = plain_new(t, ext, sparse);
    int density = densities[check_draw(5)];
    for (int64_t i = 0; i < p.n; i++) {
        if (!chance(density)) continue;
        p.v[i] = t == TRA_BOOL ? 1 : (double)(check_draw(7) - 3);
        if (wild && tra_dtype_is_float(t) && chance(8)) p.v[i] = chance(50) ? NAN : chance(50) ? INFINITY : -INFINITY;
    }
    return p;
}

static inline void put_number(void *data, tra_dtype t, int64_t i, double v) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: ((type *)data)[i] = (type)v; return;
        TRA_DTYPES(X)
#undef X
    }
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

enum { GUARD = 64 };

/* Memory of exactly so many bytes, followed by some that nobody may change. */
static inline void *guarded(int64_t bytes) {
    char *p = NULL;
    CHECK(posix_memalign((void **)&p, 64, (size_t)bytes + GUARD) == 0);
    memset(p, 0xA5, (size_t)bytes + GUARD);
    return p;
}
static inline void guard_ends(void *p, int64_t bytes) {
    for (int i = 0; i < GUARD; i++) CHECK(((unsigned char *)p)[bytes + i] == 0xA5);
    free(p);
}

/* Room for a result, which its maker asks for and is refused now and then. */
typedef struct giver {
    tra_taker taker;
    void *block;
    int64_t bytes;
    int refusals;
} giver;
static inline void *give(tra_taker *t, int64_t bytes) {
    giver *g = (giver *)t;
    if (g->refusals > 0) return g->refusals--, NULL;
    g->bytes = bytes;
    return g->block = guarded(bytes);
}
static inline void give_to(tra_cell *out, giver *g) {
    static int turn;
    *g = (giver){.taker.take = give, .refusals = ++turn % 3 ? 0 : turn % 4};
    out->from = &g->taker;
    if (!out->layout) g->refusals = 0, out->array.data = give(&g->taker, (int64_t)tra_array_bytes(&out->array));
}
/* Is there a result? If not it is to be tried again, as it was refused. */
static inline bool is_made(const tra_cell *out) {
    CHECK(!out->layout || out->head || out->from->refused);
    return tra_cell_block(out) != NULL || !out->layout;
}

/* The plain array as a cell. zeros: with some entries of value 0. */
static inline tra_cell cell_of(const plain *p, bool rows, bool zeros) {
    tra_cell c = {.layout = rows ? &tra_rows : NULL, .sparse = p->sparse, .array = {p->type, p->ext, NULL}};
    int64_t last = tra_last_extent(&p->ext), n = last ? p->n : 0;
    if (!rows) {
        c.array.data = guarded((int64_t)tra_array_bytes(&c.array));
        for (int64_t i = 0; i < p->n; i++) put_number(c.array.data, p->type, i, p->v[i]);
        return c;
    }
    c.head = guarded(tra_rows_room(p->type, n, n));
    tra_rows_maker m = tra_rows_make(&c, n, n);
    for (int64_t i = 0; i < n; i++)
        if (p->v[i] != 0 || (zeros && chance(20)))
            put_number(tra_rows_put(&m, i / last, (uint32_t)(i % last)), p->type, 0, p->v[i]);
    tra_rows_made(&m);
    return c;
}
static inline void cell_free(tra_cell *c) { free(tra_cell_block(c)); }

/* Equal, or nearly: some were computed in f32 on the way. */
static inline bool alike(double got, double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= 1e-5 * fabs(want);
}

/* Is the cell that array? clean: made by a kernel, so it has no entry of value 0. */
static inline bool cell_is(const tra_cell *c, const plain *want, bool clean) {
    tra_err e = {0};
    int64_t last = tra_last_extent(&want->ext), zeros = 0;
    plain got = plain_new(want->type, &want->ext, false);
    if (c->array.dtype != want->type || !tra_dims_eq(&c->array.ext, &want->ext)) return false;
    if (c->layout) {
        if (tra_rows_check(c, &e) != TRA_OK) return printf("# %s\n", e.msg), free(got.v), false;
        tra_rows_view v = tra_rows_of(c);
        for (int64_t r = 0; r < v.nrows; r++)
            for (int64_t k = v.begin[r]; k < v.begin[r + 1]; k++) {
                got.v[v.row[r] * last + v.column[k]] = tra_get(v.value, want->type, k);
                zeros += tra_get(v.value, want->type, k) == 0;
            }
    } else {
        for (int64_t i = 0; i < got.n; i++) got.v[i] = tra_get(c->array.data, want->type, i);
    }
    bool ok = !clean || zeros == 0;
    if (!ok) printf("# there are %" PRId64 " entries of value 0\n", zeros);
    for (int64_t i = 0; i < got.n && ok; i++) {
        ok = alike(got.v[i], want->type == TRA_F32 ? (float)want->v[i] : want->v[i]);
        if (!ok) printf("# element %" PRId64 " is %g, not %g\n", i, got.v[i], want->v[i]);
    }
    free(got.v);
    return ok;
}

/* Is the cell that a kernel just made that array? Where an integer did not fit, the kernel has noted that, and the
 * values are not compared. (The largest of no integers is the least integer, whose absolute value does not fit.) */
static inline bool made_is(const tra_cell *c, const plain *want) {
    if (!tra_kernel_overflowed()) return cell_is(c, want, true);
    for (int64_t i = 0; i < want->n; i++)
        if (fabs(want->v[i]) >= plain_limit(want->type)) return true;
    return want->too_large;
}

static inline tra_dtype some_type(void) { return (tra_dtype)(chance(50) ? 0 : check_draw(5)); }
static inline tra_type type_of(const plain *p, bool rows) {
    return (tra_type){.dtype = p->type, .sparse = p->sparse, .layout = rows ? &tra_rows : NULL};
}

/* ---- scalar expressions by the rule of values ---------------------------------------------------------------- */

static inline bool rule_sparse(const tra_scalar *s, const bool *sparse);

static inline double rule_apply(const tra_scalar *s, double x, double y) {
    tra_scalar a = {.op = TRA_S_CONST, .value = x}, b = {.op = TRA_S_CONST, .value = y};
    return tra_scalar_eval(&(tra_scalar){.op = s->op, .a = &a, .b = s->b ? &b : NULL}, NULL);
}

/* The value of the expression where all of its parts of sparse type are 0; and which parts it has. */
static inline double rule_at_zero(const tra_scalar *s, const bool *sparse, bool *some, bool *dense, bool top) {
    if (s->op == TRA_S_CONST) return s->value;
    if (s->op == TRA_S_ARG && !sparse[s->arg]) return *dense = true, 0;
    if (s->op == TRA_S_ARG || (!top && rule_sparse(s, sparse))) return *some = true, 0;
    double x = rule_at_zero(s->a, sparse, some, dense, false);
    return rule_apply(s, x, s->b ? rule_at_zero(s->b, sparse, some, dense, false) : 0);
}

static inline bool rule_sparse(const tra_scalar *s, const bool *sparse) {
    if (s->op == TRA_S_MUL && (rule_sparse(s->a, sparse) || rule_sparse(s->b, sparse))) return true;
    if (s->op == TRA_S_DIV && rule_sparse(s->a, sparse)) return true;
    bool some = false, dense = false;
    double zero = rule_at_zero(s, sparse, &some, &dense, true);
    return some && !dense && zero == 0;
}

static inline double rule_value(const tra_scalar *s, const double *args, const bool *sparse) {
    if (s->op == TRA_S_CONST) return s->value;
    if (s->op == TRA_S_ARG) return args[s->arg];
    double x = rule_value(s->a, args, sparse), y = s->b ? rule_value(s->b, args, sparse) : 0;
    if ((s->op == TRA_S_MUL || s->op == TRA_S_DIV) && x == 0 && rule_sparse(s->a, sparse)) return 0;
    if (s->op == TRA_S_MUL && y == 0 && rule_sparse(s->b, sparse)) return 0;
    return rule_apply(s, x, y);
}

/* ---- sums of expressions over labels ------------------------------------------------------------------------- */

typedef struct aligned {
    const char *labels;     /* "ij,jk->ik" */
    const tra_scalar *expr; /* of its operands */
    tra_scalar_op fold;
} aligned;

/* A factor of a product that is folded: one that is 0 and of sparse type annihilates. */
static inline double rule_fold(tra_scalar_op fold, double a, double b, bool sparse) {
    switch (fold) {
    case TRA_S_ADD: return a + b;
    case TRA_S_MUL: return sparse && (a == 0 || b == 0) ? 0 : a * b;
    case TRA_S_MAX: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    default: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    }
}
static inline double rule_identity(tra_scalar_op fold, tra_dtype t) {
    double v = fold == TRA_S_ADD ? 0 : fold == TRA_S_MUL ? 1 : fold == TRA_S_MAX ? -INFINITY : INFINITY;
    return tra_identity(v, t);
}

/* The place in an operand that has these coordinates, by letter. */
static inline int64_t place(const char *letters, int n, const tra_dims *ext, const int64_t *at) {
    int64_t i = 0;
    for (int d = 0; d < n; d++) i = i * ext->v[d] + at[(unsigned char)letters[d]];
    return i;
}

/* Fills out, which has the type and extents of the result. */
static inline void rule_aligned(const aligned *k, const plain *const *in, plain *out) {
    const char *part[3] = {k->labels, strchr(k->labels, ','), strchr(k->labels, '>') + 1};
    const char *arrow = strchr(k->labels, '-');
    int nin = part[1] ? 2 : 1, length[3] = {(int)((part[1] ? part[1] : arrow) - k->labels), 0, (int)strlen(part[2])};
    if (part[1]) length[1] = (int)(arrow - ++part[1]);
    const tra_dims *ext[3] = {&in[0]->ext, nin == 2 ? &in[1]->ext : NULL, &out->ext};
    int64_t extent[128], at[128] = {0};
    char all[64];
    int nall = 0;
    bool flags[2] = {in[0]->sparse, in[nin - 1]->sparse}, sparse = rule_sparse(k->expr, flags), none = false;
    for (int o = 0; o < nin; o++)
        for (int d = 0; d < length[o]; d++) {
            if (!memchr(all, part[o][d], (size_t)nall)) all[nall++] = part[o][d];
            extent[(unsigned char)part[o][d]] = ext[o]->v[d];
            none |= ext[o]->v[d] == 0;
        }
    double *most = tra_malloc((size_t)(out->n + 1) * sizeof *most); /* products of factors above 1 */
    for (int64_t i = 0; i < out->n; i++) out->v[i] = rule_identity(k->fold, out->type), most[i] = 1;
    bool folds = nall > length[2];
    while (!none) {
        double args[2] = {0, 0};
        for (int o = 0; o < nin; o++) args[o] = in[o]->v[place(part[o], length[o], ext[o], at)];
        int64_t i = place(part[2], length[2], ext[2], at);
        double v = rule_value(k->expr, args, flags), *to = &out->v[i];
        *to = folds ? rule_fold(k->fold, *to, v, sparse) : v;
        if (folds && k->fold == TRA_S_MUL && fabs(v) > 1) most[i] *= fabs(v);
        out->too_large |= most[i] >= plain_limit(out->type);
        int d = nall - 1;
        for (; d >= 0; d--) {
            unsigned char c = (unsigned char)all[d];
            if (++at[c] < extent[c]) break;
            at[c] = 0;
        }
        none = d < 0;
    }
    free(most);
}

#endif
