/* ref_lapack.c - linear systems and decompositions, by textbook methods in long double: elimination with pivots,
 * rotations of Jacobi, orthogonalisation of Gram and Schmidt. */
#include "reference_int.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    "solve",       "inverse",    "det",        "cholesky",   "eigh_w",       "eigh_v", "qr_q",
    "qr_r",        "svd_u",      "svd_s",      "svd_v",      "tall_q",       "tall_r", "tall_more_q",
    "tall_more_r", "tall_end_q", "tall_end_r", "tall_end_x", "tall_end_x32",
};

bool ref_is_lapack(const char *name) {
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

void ref_lapack_origin(const char *name, double arg, ref_origin *o) {
    bool vector = (!strncmp(name, "tall_end_x", 10) && arg == 0) || !strcmp(name, "eigh_w") || !strcmp(name, "svd_s");
    o->n = !strcmp(name, "det") ? 0 : vector ? 1 : 2;
    for (int d = 0; d < o->n; d++) o->from[d] = d, o->also[d] = -1;
}

typedef struct matrix {
    int64_t m, n;
    ref_num *v;
} matrix;

static matrix zeros(tra_arena *a, int64_t m, int64_t n) { return (matrix){m, n, tra_news(a, ref_num, m * n + 1)}; }

static matrix copy(tra_arena *a, const matrix *x) {
    matrix r = zeros(a, x->m, x->n);
    memcpy(r.v, x->v, (size_t)(x->m * x->n) * sizeof *r.v);
    return r;
}

static ref_num *at(const matrix *x, int64_t i, int64_t j) { return &x->v[i * x->n + j]; }

static matrix transposed(tra_arena *a, const matrix *x) {
    matrix r = zeros(a, x->n, x->m);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) *at(&r, j, i) = *at(x, i, j);
    return r;
}

/* ---- systems ------------------------------------------------------------------------------------------------ */

static void swap_rows(matrix *x, int64_t i, int64_t j) {
    for (int64_t c = 0; c < x->n && i != j; c++) {
        ref_num v = *at(x, i, c);
        *at(x, i, c) = *at(x, j, c);
        *at(x, j, c) = v;
    }
}

/* Eliminates: takes both matrices through the same steps until a is the unit matrix; returns the determinant of a. */
static ref_num eliminate(matrix *a, matrix *b) {
    ref_num det = 1;
    for (int64_t c = 0; c < a->n; c++) {
        int64_t pivot = c;
        for (int64_t i = c + 1; i < a->m; i++)
            if (fabsl(*at(a, i, c)) > fabsl(*at(a, pivot, c))) pivot = i;
        ref_num p = *at(a, pivot, c);
        det *= pivot == c ? p : -p;
        if (p == 0) return 0;
        swap_rows(a, c, pivot);
        swap_rows(b, c, pivot);
        for (int64_t j = 0; j < a->n; j++) *at(a, c, j) /= p;
        for (int64_t j = 0; j < b->n; j++) *at(b, c, j) /= p;
        for (int64_t i = 0; i < a->m; i++) {
            ref_num f = *at(a, i, c);
            if (i == c || f == 0) continue;
            for (int64_t j = 0; j < a->n; j++) *at(a, i, j) -= f * *at(a, c, j);
            for (int64_t j = 0; j < b->n; j++) *at(b, i, j) -= f * *at(b, c, j);
        }
    }
    return det;
}

static ref_num norm(const matrix *x) {
    ref_num most = 0;
    for (int64_t j = 0; j < x->n; j++) {
        ref_num sum = 0;
        for (int64_t i = 0; i < x->m; i++) sum += fabsl(*at(x, i, j));
        if (sum > most) most = sum;
    }
    return most;
}

/* Is it singular to working precision, when its columns (symmetric: rows and columns) are scaled to the length 1? */
static bool is_singular(tra_arena *arena, const matrix *a, bool symmetric, tra_dtype t) {
    ref_num most = t == TRA_F32 ? 0x1p24L : 0x1p52L / (ref_num)(a->n + 50), *by = tra_news(arena, ref_num, a->n + 1);
    matrix scaled = copy(arena, a), inverse = zeros(arena, a->n, a->n);
    for (int64_t j = 0; j < a->n; j++) {
        *at(&inverse, j, j) = 1;
        for (int64_t i = 0; i < a->m && !symmetric; i++) by[j] += *at(a, i, j) * *at(a, i, j);
        by[j] = sqrtl(symmetric ? fabsl(*at(a, j, j)) : by[j]);
        if (by[j] == 0) return true;
    }
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < a->n; j++) *at(&scaled, i, j) /= by[j] * (symmetric ? by[i] : 1);
    ref_num length = norm(&scaled);
    return eliminate(&scaled, &inverse) == 0 || length * norm(&inverse) > most;
}

static matrix solve(tra_arena *arena, const matrix *a, const matrix *b, const char *name, tra_dtype type,
                    ref_fit *fit) {
    matrix x = copy(arena, b), t = copy(arena, a);
    if (is_singular(arena, a, false, type)) {
        fit->failed = name;
        return x;
    }
    eliminate(&t, &x);
    return x;
}

static matrix cholesky(tra_arena *arena, const matrix *a, tra_dtype t, ref_fit *fit) {
    matrix l = zeros(arena, a->n, a->n);
    if (is_singular(arena, a, true, t)) fit->failed = "cholesky";
    for (int64_t j = 0; j < a->n; j++) {
        for (int64_t i = j; i < a->n; i++) {
            ref_num v = *at(a, i, j);
            for (int64_t c = 0; c < j; c++) v -= *at(&l, i, c) * *at(&l, j, c);
            if (i == j && !(v > 0)) {
                fit->failed = "cholesky";
                return l;
            }
            *at(&l, i, j) = i == j ? sqrtl(v) : v / *at(&l, j, j);
        }
    }
    return l;
}

/* ---- decompositions ----------------------------------------------------------------------------------------- */

/* Changes signs so that the largest element of each column is positive, in both matrices. */
static void fix_signs(matrix *by, matrix *other) {
    for (int64_t j = 0; j < by->n; j++) {
        int64_t most = 0;
        for (int64_t i = 1; i < by->m; i++)
            if (fabsl(*at(by, i, j)) > fabsl(*at(by, most, j)) * (1 + 1e-9L)) most = i;
        if (by->m == 0 || *at(by, most, j) >= 0) continue;
        for (int64_t i = 0; i < by->m; i++) *at(by, i, j) = -*at(by, i, j);
        for (int64_t i = 0; other && i < other->m; i++) *at(other, i, j) = -*at(other, i, j);
    }
}

/* Sorts the columns of x and y by w. up: ascending. */
static void sort_columns(tra_arena *a, ref_num *w, matrix *x, matrix *y, bool up) {
    for (int64_t i = 0; i < x->n; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < x->n; j++)
            if (up ? w[j] < w[best] : w[j] > w[best]) best = j;
        matrix *both[2] = {x, y};
        for (int p = 0; p < 2 && best != i; p++) {
            if (!both[p]) continue;
            matrix t = transposed(a, both[p]);
            swap_rows(&t, i, best);
            *both[p] = transposed(a, &t);
        }
        ref_num v = w[i];
        w[i] = w[best];
        w[best] = v;
    }
}

/* Rotates columns p and q of x by the angle of that cosine and sine. */
static void rotate(matrix *x, int64_t p, int64_t q, ref_num c, ref_num s) {
    for (int64_t i = 0; i < x->m; i++) {
        ref_num u = *at(x, i, p), v = *at(x, i, q);
        *at(x, i, p) = c * u - s * v;
        *at(x, i, q) = s * u + c * v;
    }
}

static void angle(ref_num difference, ref_num off, ref_num *c, ref_num *s) {
    ref_num theta = difference / (2 * off), t = 1 / (fabsl(theta) + sqrtl(theta * theta + 1));
    if (theta < 0) t = -t;
    *c = 1 / sqrtl(t * t + 1);
    *s = t * *c;
}

/* The singular values and vectors of x, m >= n: its columns are rotated until they are orthogonal. */
static void jacobi_svd(tra_arena *a, const matrix *x, matrix *u, ref_num *w, matrix *v) {
    *u = copy(a, x);
    *v = zeros(a, x->n, x->n);
    for (int64_t i = 0; i < x->n; i++) *at(v, i, i) = 1;
    for (int sweep = 0, moved = 1; moved && sweep < 100; sweep++) {
        moved = 0;
        for (int64_t p = 0; p < x->n; p++)
            for (int64_t q = p + 1; q < x->n; q++) {
                ref_num pp = 0, qq = 0, pq = 0, c, s;
                for (int64_t i = 0; i < x->m; i++) {
                    pp += *at(u, i, p) * *at(u, i, p);
                    qq += *at(u, i, q) * *at(u, i, q);
                    pq += *at(u, i, p) * *at(u, i, q);
                }
                if (pq == 0 || fabsl(pq) <= 1e-19L * sqrtl(pp * qq)) continue;
                moved = 1;
                angle(qq - pp, pq, &c, &s);
                rotate(u, p, q, c, s);
                rotate(v, p, q, c, s);
            }
    }
    for (int64_t j = 0; j < x->n; j++) {
        w[j] = 0;
        for (int64_t i = 0; i < x->m; i++) w[j] += *at(u, i, j) * *at(u, i, j);
        w[j] = sqrtl(w[j]);
        for (int64_t i = 0; i < x->m && w[j] > 0; i++) *at(u, i, j) /= w[j];
    }
    sort_columns(a, w, u, v, false);
}

/* The eigenvalues and vectors of a symmetric matrix: it is rotated until it is diagonal. */
static void jacobi_eigh(tra_arena *a, const matrix *x, ref_num *w, matrix *v) {
    matrix d = copy(a, x);
    *v = zeros(a, x->n, x->n);
    for (int64_t i = 0; i < x->n; i++) *at(v, i, i) = 1;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = i + 1; j < x->n; j++) *at(&d, i, j) = *at(&d, j, i);
    for (int sweep = 0, moved = 1; moved && sweep < 100; sweep++) {
        moved = 0;
        for (int64_t p = 0; p < x->n; p++)
            for (int64_t q = p + 1; q < x->n; q++) {
                ref_num off = *at(&d, p, q), c, s;
                if (fabsl(off) <= 1e-20L * norm(&d)) continue;
                moved = 1;
                angle(*at(&d, q, q) - *at(&d, p, p), off, &c, &s);
                rotate(&d, p, q, c, s);
                matrix t = transposed(a, &d);
                rotate(&t, p, q, c, s);
                d = transposed(a, &t);
                rotate(v, p, q, c, s);
            }
    }
    for (int64_t i = 0; i < x->n; i++) w[i] = *at(&d, i, i);
    sort_columns(a, w, v, NULL, true);
    fix_signs(v, NULL);
}

/* Makes a column orthogonal to the first k columns of q, in two passes; sums[c], unless NULL, gets its part along
 * column c. */
static void project(const matrix *q, int64_t k, ref_num *col, ref_num *sums) {
    for (int64_t i = 0; i < 2 * k; i++) {
        int64_t c = i % k;
        ref_num dot = 0;
        for (int64_t row = 0; row < q->m; row++) dot += *at(q, row, c) * col[row];
        for (int64_t row = 0; row < q->m; row++) col[row] -= dot * *at(q, row, c);
        if (sums) sums[c] += dot;
    }
}

static ref_num length_of(const ref_num *col, int64_t m) {
    ref_num all = 0;
    for (int64_t i = 0; i < m; i++) all += col[i] * col[i];
    return sqrtl(all);
}

/* A column of length about 1 that is orthogonal to the first k columns of q, which has more rows than k. */
static ref_num another(const matrix *q, int64_t k, ref_num *col) {
    ref_num length = 0;
    for (int64_t e = 0; e < q->m && length * length * (ref_num)q->m < 0.5L; e++) {
        for (int64_t i = 0; i < q->m; i++) col[i] = i == e;
        project(q, k, col, NULL);
        length = length_of(col, q->m);
    }
    return length;
}

/* Where there are more columns than rows, Q has as many columns as rows, also if the first columns of x depend on each
 * other.
 */
static void gram_schmidt(tra_arena *a, const matrix *x, matrix *q, matrix *r) {
    int64_t k = tra_min64(x->m, x->n);
    *q = zeros(a, x->m, k);
    *r = zeros(a, k, x->n);
    ref_num *col = tra_news(a, ref_num, x->m + 1), *sums = tra_news(a, ref_num, k + 1);
    for (int64_t j = 0; j < x->n; j++) {
        for (int64_t i = 0; i < x->m; i++) col[i] = *at(x, i, j);
        for (int64_t c = 0; c < k; c++) sums[c] = 0;
        ref_num all = length_of(col, x->m);
        project(q, tra_min64(j, k), col, sums);
        for (int64_t c = 0; c < tra_min64(j, k); c++) *at(r, c, j) = sums[c];
        if (j >= k) continue;
        ref_num length = *at(r, j, j) = length_of(col, x->m);
        if (x->m < x->n && length <= 1e-17L * all) *at(r, j, j) = 0, length = another(q, j, col);
        for (int64_t i = 0; i < x->m && length > 0; i++) *at(q, i, j) = col[i] / length;
    }
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

static bool all_finite(const matrix *x) {
    for (int64_t i = 0; i < x->m * x->n; i++)
        if (!isfinite(x->v[i])) return false;
    return true;
}

static void put(tra_arena *a, const matrix *x, int rank, bool fine, tra_dtype t, ref_array *out) {
    tra_dims ext = {.n = rank, .v = {x->m, x->n}};
    *out = ref_array_new(a, &ext);
    for (int64_t i = 0, n = ref_count(&ext); i < n; i++) {
        ref_num v = fine ? x->v[i] : (ref_num)NAN;
        out->data[i] = t == TRA_F32 ? (ref_num)(float)v : (ref_num)(double)v;
    }
}

static bool is_symmetric(const matrix *x) {
    ref_num most = 0;
    for (int64_t i = 0; i < x->m * x->n; i++) most = fmaxl(most, fabsl(x->v[i]));
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < i; j++)
            if (fabsl(*at(x, i, j) - *at(x, j, i)) > 1e6L * 0x1p-52L * most) return false;
    return true;
}

/* ---- by blocks of rows --------------------------------------------------------------------------------------- */

/* The rows of R of several blocks that are there, by its last column, without that column. */
static matrix rows_there(tra_arena *a, const matrix *x) {
    matrix r = zeros(a, 0, tra_max64(0, x->n - 1));
    r.v = tra_news(a, ref_num, x->m * x->n + 1);
    for (int64_t i = 0; i < x->m; i++) {
        if (*at(x, i, x->n - 1) == 0) continue;
        for (int64_t j = 0; j < r.n; j++) *at(&r, r.m, j) = *at(x, i, j);
        r.m++;
    }
    return r;
}

static matrix beside(tra_arena *a, const matrix *x, const matrix *y) {
    matrix r = zeros(a, x->m, x->n + y->n);
    for (int64_t i = 0; i < r.m; i++)
        for (int64_t j = 0; j < r.n; j++) *at(&r, i, j) = j < x->n ? *at(x, i, j) : *at(y, i, j - x->n);
    return r;
}

/* R of blocks of rows has as many rows as columns, zeros below those that are there, and, but in the end, a column that
 * says which are; Q the rows of the block, zeros where the R of which it is has no row. */
static matrix tall(tra_arena *a, const char *name, double arg, const matrix *x, const matrix *right, bool fine,
                   tra_dtype t, ref_fit *fit) {
    bool block = !strcmp(name, "tall_q") || !strcmp(name, "tall_r"), end = !strncmp(name, "tall_end", 8);
    char result = name[strlen(end ? "tall_end_" : block ? "tall_" : "tall_more_")];
    matrix all = right ? beside(a, x, right) : block ? *x : rows_there(a, x), q, r, out;
    int64_t w = all.n, n = tra_max64(0, w - tra_max64(1, (int64_t)arg));
    if (result == 'q')
        out = zeros(a, x->m, w);
    else if (result == 'r')
        out = zeros(a, w, end ? w : w + 1);
    else
        out = zeros(a, n, tra_max64(1, (int64_t)arg));
    if (!fine || w == 0) return out;
    if (end && all.m < (result == 'x' ? n : w)) {
        fit->failed = result == 'x' ? "solve" : "qr or svd";
        return out;
    }
    gram_schmidt(a, &all, &q, &r);
    for (int64_t i = 0; i < r.m && result == 'r'; i++) {
        for (int64_t j = 0; j < w; j++) *at(&out, i, j) = *at(&r, i, j);
        if (!end) *at(&out, i, w) = 1;
    }
    for (int64_t i = 0, row = 0; i < x->m && result == 'q'; i++) {
        if (!block && *at(x, i, w) == 0) continue;
        for (int64_t j = 0; j < q.n; j++) *at(&out, i, j) = *at(&q, row, j);
        row++;
    }
    if (result != 'x') return out;
    matrix square = zeros(a, n, n), b = zeros(a, n, out.n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < w; j++) *(j < n ? at(&square, i, j) : at(&b, i, j - n)) = *at(&r, i, j);
    return n ? solve(a, &square, &b, "solve", t, fit) : out;
}

tra_status ref_lapack(const char *name, double arg, tra_dtype t, const ref_array *x, const ref_array *y, tra_arena *a,
                      ref_array *out, ref_fit *fit, tra_err *e) {
    bool blocks = !strncmp(name, "tall", 4), any = blocks || !strncmp(name, "qr", 2) || !strncmp(name, "svd", 3);
    if (x->ext.n != 2 || (!any && x->ext.v[0] != x->ext.v[1]) ||
        (y && (y->ext.n < 1 || y->ext.n > 2 || y->ext.v[0] != x->ext.v[0])))
        return tra_fail(e, TRA_PROGRAM, "%s does not fit its operands", name);
    matrix m = {x->ext.v[0], x->ext.v[1], x->data}, r = {0}, q, other;
    int64_t k = tra_min64(m.m, m.n);
    ref_num *w = tra_news(a, ref_num, k + 1);
    int rank = 2;
    bool fine = all_finite(&m), symmetric = !strcmp(name, "cholesky") || !strncmp(name, "eigh", 4);
    if (symmetric && fine && !is_symmetric(&m)) fit->failed = name;
    if (blocks) {
        matrix b = {m.m, y && y->ext.n == 2 ? y->ext.v[1] : 1, y ? y->data : NULL};
        fine = fine && (!y || all_finite(&b));
        r = tall(a, name, arg, &m, y ? &b : NULL, fine, t, fit);
        if (!strncmp(name, "tall_end_x", 10) && arg == 0) rank = 1;
    } else if (!strcmp(name, "solve")) {
        matrix b = {y->ext.v[0], y->ext.n == 2 ? y->ext.v[1] : 1, y->data};
        fine = fine && all_finite(&b);
        r = fine ? solve(a, &m, &b, name, t, fit) : b;
        rank = y->ext.n;
    } else if (!strcmp(name, "inverse")) {
        matrix unit = zeros(a, m.n, m.n);
        for (int64_t i = 0; i < m.n; i++) *at(&unit, i, i) = 1;
        r = fine ? solve(a, &m, &unit, name, t, fit) : m;
    } else if (!strcmp(name, "det")) {
        other = copy(a, &m);
        q = zeros(a, m.n, 0);
        w[0] = fine ? eliminate(&other, &q) : 0;
        r = (matrix){1, 1, w};
        rank = 0;
    } else if (!strcmp(name, "cholesky")) {
        r = fine ? cholesky(a, &m, t, fit) : m;
    } else if (!strncmp(name, "eigh", 4)) {
        q = m;
        if (fine) jacobi_eigh(a, &m, w, &q);
        r = name[5] == 'w' ? (matrix){m.n, 1, w} : q;
        rank = name[5] == 'w' ? 1 : 2;
    } else if (!strncmp(name, "qr", 2)) {
        gram_schmidt(a, &m, &q, &other);
        r = name[3] == 'q' ? q : other;
    } else {
        matrix flat = m.m < m.n ? transposed(a, &m) : m;
        matrix u = zeros(a, flat.m, k), v = zeros(a, k, k);
        if (fine) jacobi_svd(a, &flat, &u, w, &v);
        if (m.m < m.n) q = u, u = v, v = q;
        fix_signs(&v, &u);
        r = name[4] == 'u' ? u : name[4] == 'v' ? v : (matrix){k, 1, w};
        rank = name[4] == 's' ? 1 : 2;
    }
    put(a, &r, rank, fine, t, out);
    return TRA_OK;
}
