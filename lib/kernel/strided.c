/* strided.c - loops over strided arrays, and copies in any order of dimensions. */
#include "kernel_int.h"

#include "../base/simd.h"

#include <assert.h>
#include <string.h>

void tra_nest_add(tra_nest *nest, int64_t n, int64_t s0, int64_t s1, int64_t s2) {
    nest->v[nest->n++] = (tra_loop){n, {s0, s1, s2}, 0};
}

void tra_nest_append(tra_nest *to, const tra_nest *from) {
    memcpy(&to->v[to->n], from->v, (size_t)from->n * sizeof(tra_loop));
    to->n += from->n;
}

void tra_nest_coalesce(tra_nest *nest) {
    int m = 0;
    for (int i = 0; i < nest->n; i++) {
        tra_loop l = nest->v[i];
        if (l.n == 1) continue;
        tra_loop *last = m ? &nest->v[m - 1] : NULL;
        if (last && last->s[0] == l.n * l.s[0] && last->s[1] == l.n * l.s[1] && last->s[2] == l.n * l.s[2]) {
            l.n *= last->n;
            m--;
        }
        nest->v[m++] = l;
    }
    nest->n = m;
}

bool tra_nest_next(tra_nest *nest, int64_t *off) {
    for (int d = nest->n - 1; d >= 0; d--) {
        tra_loop *l = &nest->v[d];
        for (int i = 0; i < 3; i++) off[i] += l->s[i];
        if (++l->at < l->n) return true;
        for (int i = 0; i < 3; i++) off[i] -= l->n * l->s[i];
        l->at = 0;
    }
    return false;
}

bool tra_nest_empty(const tra_nest *nest) {
    for (int i = 0; i < nest->n; i++)
        if (nest->v[i].n == 0) return true;
    return false;
}

/* Takes the loop with the least stride in array i (not 0) out of the nest; a loop of one step when there is none. */
static tra_loop take(tra_nest *nest, int i) {
    int best = -1;
    for (int d = 0; d < nest->n; d++)
        if (nest->v[d].s[i] != 0 && (best < 0 || nest->v[d].s[i] < nest->v[best].s[i])) best = d;
    if (best < 0) return (tra_loop){.n = 1};
    tra_loop l = nest->v[best];
    memmove(&nest->v[best], &nest->v[best + 1], (size_t)(--nest->n - best) * sizeof(l));
    return l;
}

/* ---- copies ------------------------------------------------------------------------------------------------- */

typedef uint32_t words __attribute__((vector_size(32)));
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define LOW_1(a, b)    MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_1(a, b)   MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_2(a, b)    MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_2(a, b)   MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_4(a, b)    MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_4(a, b)   MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

/* Transposes tiles of 8 x 8 elements of 4 bytes: y rows of x elements, ss apart, to x rows of y, ds apart. */
TRA_ANY_TARGET static void turn_words(uint32_t *d, int64_t ds, const uint32_t *s, int64_t ss, int64_t x, int64_t y) {
    for (int64_t i = 0; i < x; i += 8)
        for (int64_t j = 0; j < y; j += 8) {
            words r[8], t[8], u[8];
            for (int k = 0; k < 8; k++) memcpy(&r[k], s + (j + k) * ss + i, sizeof *r);
            for (int k = 0; k < 8; k += 2) t[k] = LOW_1(r[k], r[k + 1]), t[k + 1] = HIGH_1(r[k], r[k + 1]);
            for (int k = 0; k < 8; k += 4)
                for (int l = 0; l < 2; l++) {
                    u[k + 2 * l] = LOW_2(t[k + l], t[k + l + 2]);
                    u[k + 2 * l + 1] = HIGH_2(t[k + l], t[k + l + 2]);
                }
            for (int k = 0; k < 4; k++) r[k] = LOW_4(u[k], u[k + 4]), r[k + 4] = HIGH_4(u[k], u[k + 4]);
            for (int k = 0; k < 8; k++) memcpy(d + (i + k) * ds + j, &r[k], sizeof *r);
        }
}

/* Transposes the whole tiles of a plane of 4-byte elements, which keep their type. False: there is none. Elements of
 * 8 bytes gain nothing by it: their plain loop is as fast. */
static bool turn_tiles(void *dst, int64_t d0, const void *src, int64_t s0, size_t size, tra_loop *x, tra_loop *y) {
    enum { TILE = 8 };
    if (size != 4 || x->s[0] != 1 || y->s[1] != 1 || x->n < TILE || y->n < TILE) return false;
    x->n = x->n / TILE * TILE, y->n = y->n / TILE * TILE;
    turn_words((uint32_t *)dst + d0, x->s[1], (const uint32_t *)src + s0, y->s[0], x->n, y->n);
    return true;
}

/* A plane of x by y steps. In tiles, so that both the rows read and the rows written stay in the first cache. */
static void copy_plane(void *dst, tra_dtype dt, int64_t d0, const void *src, tra_dtype st, int64_t s0, tra_loop x,
                       tra_loop y) {
    enum { TILE = 8 }; /* more would share one set of the cache where rows are powers of two */
    tra_loop tx = x, ty = y;
    if (dt == st &&
        turn_tiles(dst, d0, src, s0, tra_dtype_size(dt), &tx, &ty)) { /* what remains are two narrow planes */
        tra_loop below = x, beside = y;
        below.n -= tx.n, beside.n -= ty.n;
        if (below.n) copy_plane(dst, dt, d0 + tx.n * x.s[1], src, st, s0 + tx.n * x.s[0], below, y);
        if (beside.n) copy_plane(dst, dt, d0 + ty.n * y.s[1], src, st, s0 + ty.n * y.s[0], tx, beside);
        return;
    }
#define PLANE(dtype, stype)                                                                                            \
    for (int64_t i0 = 0; i0 < x.n; i0 += TILE)                                                                         \
        for (int64_t j0 = 0; j0 < y.n; j0 += TILE)                                                                     \
            for (int64_t i = i0, i1 = tra_min64(i0 + TILE, x.n); i < i1; i++) {                                        \
                dtype *d = (dtype *)dst + d0 + i * x.s[1];                                                             \
                const stype *s = (const stype *)src + s0 + i * x.s[0];                                                 \
                for (int64_t j = j0, j1 = tra_min64(j0 + TILE, y.n); j < j1; j++)                                      \
                    d[j * y.s[1]] = (dtype)s[j * y.s[0]];                                                              \
            }
#define PAIR(to, from) ((to)*16 + (from))
    switch (PAIR(dt, st)) { /* the others have whole numbers of another type, and are rare */
    case PAIR(TRA_F64, TRA_F64): PLANE(double, double) return;
    case PAIR(TRA_F64, TRA_F32): PLANE(double, float) return;
    case PAIR(TRA_F32, TRA_F64): PLANE(float, double) return;
    case PAIR(TRA_F32, TRA_F32): PLANE(float, float) return;
#define X(name, text, ctype, ...)                                                                                      \
    case PAIR(TRA_##name, TRA_##name): PLANE(ctype, ctype) return;
        TRA_WHOLE_DTYPES(X)
#undef X
    default: break;
    }
#undef PLANE
#undef PAIR
    char buf[TRA_STRIP * 8];
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < y.n; j += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, y.n - j);
            const void *from = tra_load(src, st, s0 + i * x.s[0] + j * y.s[0], y.s[0], n, dt, buf);
            tra_store(dst, dt, d0 + i * x.s[1] + j * y.s[1], y.s[1], from, dt, n);
        }
}

void tra_strided_copy(void *dst, tra_dtype dt, const void *src, tra_dtype st, const tra_nest *loops) {
    tra_nest nest;
    if (tra_nest_empty(loops)) return;
    nest.n = 0;
    tra_nest_append(&nest, loops);
    tra_nest_coalesce(&nest);
    size_t ds = tra_dtype_size(dt), ss = tra_dtype_size(st);
    tra_loop y = take(&nest, 1); /* along which dst is written; then x, along which src is read */
    bool rows = y.s[0] == 1 && y.s[1] == 1;
    tra_loop x = rows ? (tra_loop){.n = 1} : take(&nest, 0);
    int64_t off[3] = {0};
    do {
        if (rows)
            tra_convert((char *)dst + (size_t)off[1] * ds, dt, (const char *)src + (size_t)off[0] * ss, st, y.n);
        else
            copy_plane(dst, dt, off[1], src, st, off[0], x, y);
    } while (tra_nest_next(&nest, off));
}

void tra_array_copy(tra_array *dst, const tra_dims *to, const tra_array *src, const tra_dims *from,
                    const tra_dims *ext) {
    assert(dst->dtype == src->dtype);
    int64_t sd[TRA_MAXDIM], ss[TRA_MAXDIM], d0 = 0, s0 = 0;
    tra_strides(&dst->ext, sd);
    tra_strides(&src->ext, ss);
    for (int d = 0; d < ext->n; d++) {
        if (ext->v[d] == 0) return; /* also where d0 or s0 lie outside */
        d0 += to->v[d] * sd[d];
        s0 += from->v[d] * ss[d];
    }
    size_t size = tra_dtype_size(dst->dtype);
    tra_copy_strided(size, ext, (char *)dst->data + (size_t)d0 * size, sd, (const char *)src->data + (size_t)s0 * size,
                     ss);
}

void tra_fill(const tra_array *a, double v) {
    int64_t n = tra_elements_of(&a->ext);
    if (n == 0) return;
    if (tra_strip_type(a->dtype) == a->dtype) {
        tra_strip(a->dtype)(TRA_S_CONST, a->data, NULL, NULL, v, n);
        return;
    }
    int64_t number = tra_int_of(tra_identity(v, a->dtype));
    tra_store(a->data, a->dtype, 0, 1, &number, TRA_I64, 1);
    for (int64_t done = 1; done < n; done *= 2) /* each time as much again */
        tra_store(a->data, a->dtype, done, 1, a->data, a->dtype, tra_min64(done, n - done));
}
