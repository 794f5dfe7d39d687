/* loops_body.h - included by loops.c once for each element type and instruction set: the innermost loops.
 * T: the element; SUM: in which long sums are; BYTES: of a vector; ISA: target attribute; NAME(f): the function's name
 * here. All but BYTES and ISA are undefined at the end. Each operation is rounded by itself, so the bits are the same
 * on every machine. */

/* The sum of v[k] d[column[k] * sd]; sd is 1 where what entries from `ahead` on look for is asked for: the loads of
 * places that are far apart wait for each other otherwise, since rows are short. */
ISA static inline __attribute__((always_inline)) SUM NAME(sum)(const T *v, const uint32_t *column, int64_t n,
                                                              const T *d, int64_t sd, int64_t ahead) {
    SUM s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int64_t i = 0;
    if (sd == 1) {
        for (; i + 4 <= n; i += 4) {
            for (int j = 0; ahead && j < 4; j++) __builtin_prefetch(d + column[i + j + ahead]);
            s0 += (SUM)v[i] * (SUM)d[column[i]];
            s1 += (SUM)v[i + 1] * (SUM)d[column[i + 1]];
            s2 += (SUM)v[i + 2] * (SUM)d[column[i + 2]];
            s3 += (SUM)v[i + 3] * (SUM)d[column[i + 3]];
        }
    }
    for (; i < n; i++) {
        if (ahead) __builtin_prefetch(d + column[i + ahead]);
        s0 += (SUM)v[i] * (SUM)d[column[i] * sd];
    }
    return (s0 + s1) + (s2 + s3);
}

ISA static void NAME(dot)(const void *vv, const uint32_t *column, int64_t n, const void *dd, int64_t sd, void *cc) {
    *(T *)cc += (T)NAME(sum)(vv, column, n, dd, sd, 0);
}

ISA static int64_t NAME(dots)(const tra_rows_view *rows, int64_t r, int64_t end, const void *dd, int64_t sd,
                              int64_t row_d, void *cc, int64_t row_c, bool far) {
    const T *v = (const T *)(const void *)rows->value, *d = dd;
    const int64_t *begin = rows->begin, last = begin[rows->nrows] - AHEAD; /* entries up to it have AHEAD after them */
    for (; r < end; r++) {
        int64_t k = begin[r], n = begin[r + 1] - k;
        T *c = (T *)cc + rows->row[r] * row_c, sum;
        if (far && sd == 1 && begin[r + 1] <= last)
            sum = *c + (T)NAME(sum)(v + k, rows->column + k, n, d, 1, AHEAD);
        else
            sum = *c + (T)NAME(sum)(v + k, rows->column + k, n, d + rows->row[r] * row_d, sd, 0);
        if (sum != sum && *c == *c) return r;
        *c = sum;
    }
    return end;
}

ISA static inline __attribute__((always_inline)) void NAME(spread)(const T *v, const uint32_t *column, int64_t n, T y,
                                                                  T *c, int64_t sc, int64_t ahead) {
    for (int64_t i = 0; i < n; i++) {
        if (ahead) __builtin_prefetch(c + column[i + ahead] * sc, 1);
        c[column[i] * sc] += v[i] * y;
    }
}

ISA static void NAME(scatter)(const void *v, const uint32_t *column, int64_t n, const void *x, void *c, int64_t sc) {
    if (sc == 1)
        NAME(spread)(v, column, n, *(const T *)x, c, 1, 0);
    else
        NAME(spread)(v, column, n, *(const T *)x, c, sc, 0);
}

ISA static int64_t NAME(scatters)(const tra_rows_view *rows, int64_t r, int64_t end, const void *dd, int64_t row_d,
                                  void *cc, int64_t sc, int64_t row_c, bool far, bool skip) {
    const T *v = (const T *)(const void *)rows->value, *d = dd;
    const int64_t *begin = rows->begin, last = begin[rows->nrows] - AHEAD;
    for (; r < end; r++) {
        int64_t k = begin[r], n = begin[r + 1] - k;
        T *c = (T *)cc + rows->row[r] * row_c, y = d[rows->row[r] * row_d];
        if (skip && y == 0) continue;
        if (y - y != 0) return r;
        if (sc != 1)
            NAME(spread)(v + k, rows->column + k, n, y, c, sc, 0);
        else if (far && begin[r + 1] <= last)
            NAME(spread)(v + k, rows->column + k, n, y, c, 1, AHEAD);
        else
            NAME(spread)(v + k, rows->column + k, n, y, c, 1, 0);
    }
    return end;
}

/* c[j] += the sum over k of v[k] d[column[k] * sd + j]: the sums stay in registers. */
ISA static void NAME(add_rows)(const void *vv, const uint32_t *column, int64_t n, const void *dd, int64_t sd, void *cc,
                               int64_t width) {
    typedef T lanes __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));
    enum { W = BYTES / sizeof(T) };
    const T *v = vv, *d = dd;
    T *c = cc;
    int64_t j = 0;
    for (; j + 4 * W <= width; j += 4 * W) {
        lanes *to = (lanes *)(c + j), s0 = to[0], s1 = to[1], s2 = to[2], s3 = to[3];
        for (int64_t k = 0; k < n; k++) {
            const lanes *x = (const lanes *)(d + column[k] * sd + j);
            s0 += v[k] * x[0];
            s1 += v[k] * x[1];
            s2 += v[k] * x[2];
            s3 += v[k] * x[3];
        }
        to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3;
    }
    for (; j + W <= width; j += W) {
        lanes *to = (lanes *)(c + j), sum = to[0];
        for (int64_t k = 0; k < n; k++) sum += v[k] * *(const lanes *)(d + column[k] * sd + j);
        to[0] = sum;
    }
    for (; j < width; j++) {
        T sum = c[j];
        for (int64_t k = 0; k < n; k++) sum += v[k] * d[column[k] * sd + j];
        c[j] = sum;
    }
}

/* c[column[k] * sc + j] += v[k] d[column[k] * sd + j] */
ISA static void NAME(spread_rows)(const void *vv, const uint32_t *column, int64_t n, const void *dd, int64_t sd,
                                  void *cc, int64_t sc, int64_t width) {
    typedef T lanes __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));
    enum { W = BYTES / sizeof(T) };
    const T *v = vv;
    for (int64_t k = 0; k < n; k++) {
        const T *d = (const T *)dd + column[k] * sd;
        T *c = (T *)cc + column[k] * sc;
        int64_t j = 0;
        for (; j + W <= width; j += W) *(lanes *)(c + j) += v[k] * *(const lanes *)(d + j);
        for (; j < width; j++) c[j] += v[k] * d[j];
    }
}

#undef T
#undef SUM
#undef NAME
