/* masked_body.h - included by masked.c for each type and fold. T: the type; CALL(f): of functions of the type; NAME(f):
 * the function's name here; FOLD(a, b): the larger or the lesser, undefined where products are added. The last two are
 * undefined at the end. A sum that nothing was added to is -0: the mask may be infinite there. */

/* Takes a product of x, which is not 0, and y for an entry of the mask. */
static inline __attribute__((always_inline)) void NAME(take)(const piece *p, T *sum, uint32_t *taken, T mask, T x,
                                                             T y) {
#ifdef FOLD
    if (mask == 0 || y == 0) return;
    T one = CALL(times)((T)p->m->factor, CALL(times)(mask, CALL(times)(x, y)));
    *sum = *taken ? FOLD(*sum, one) : one;
    ++*taken;
#else
    (void)p, (void)taken, (void)mask;
    CALL(plus)(sum, CALL(product)(x, y));
#endif
}

/* Sets *value to what an entry of the mask becomes; false: nothing was taken. */
static inline __attribute__((always_inline)) bool NAME(made)(const piece *p, T sum, uint32_t taken, T mask, T *value) {
#ifdef FOLD
    *value = taken < p->m->shared ? FOLD(sum, 0) : sum;
    return mask != 0 && taken > 0;
#else
    (void)taken;
    if (mask == 0 || (sum == 0 && (!p->m->real || signbit((double)sum)))) return false;
    *value = CALL(times)((T)p->m->factor, CALL(times)(mask, sum));
    return true;
#endif
}

static inline __attribute__((always_inline)) void NAME(rows)(const piece *p, way w, int64_t r, int64_t outer) {
    const tra_masked *m = p->m;
    const tra_rows_view *a = &m->outer, *b = &m->inner;
    const T *av = (const T *)(const void *)a->value, *bv = (const T *)(const void *)b->value;
    const T *mask = (const T *)(const void *)m->mask.value + m->mask.begin[r];
    uint32_t *taken = p->taken;
    T *sum = p->sum;
    for (int64_t k = a->begin[outer]; k < a->begin[outer + 1]; k++) {
        int64_t q = inner_row(m, a->column[k]), i, to;
        ahead(p, a->column, k, a->n);
        T x = av[k];
        if (q < 0 || x == 0) continue;
        narrow(p, q, &i, &to);
        if (is_long(p, to - i)) {
            for (int64_t at = 0; at < p->set.n && i < to; at++) {
                i = entry_from(b->column, i, to, p->set.column[at]);
                if (i < to && b->column[i] == p->set.column[at])
                    NAME(take)(p, &sum[at], &taken[at], mask[at], x, bv[i]);
            }
            continue;
        }
        if (w == RANGE && i < to && b->column[to - 1] - b->column[i] + 1 == (uint64_t)(to - i)) {
            int64_t first = (int64_t)b->column[i] - p->set.column[0], from = tra_max64(0, -first);
            int64_t n = tra_min64(to - i, p->set.n - first);
            for (int64_t j = from; j < n; j++)
                NAME(take)(p, &sum[first + j], &taken[first + j], mask[first + j], x, bv[i + j]);
            continue;
        }
        for (; i < to; i++) {
            int64_t at = set_find(&p->set, w, b->column[i]);
            if (at >= 0) NAME(take)(p, &sum[at], &taken[at], mask[at], x, bv[i]);
        }
    }
}

static inline __attribute__((always_inline)) void NAME(dots)(const piece *p, way w, int64_t r, int64_t outer) {
    const tra_masked *m = p->m;
    const tra_rows_view *b = &m->inner;
    const T *av = (const T *)(const void *)m->outer.value + m->outer.begin[outer],
            *bv = (const T *)(const void *)b->value;
    uint32_t *taken = p->taken;
    T *sum = p->sum;
    for (int64_t k = m->mask.begin[r]; k < m->mask.begin[r + 1]; k++, sum++, taken++) {
        int64_t q = inner_row(m, m->mask.column[k]), i, to;
        ahead(p, m->mask.column, k, m->mask.begin[m->mask.nrows]);
        if (q < 0) continue;
        narrow(p, q, &i, &to);
        T own = *sum, mask = ((const T *)(const void *)m->mask.value)[k];
        uint32_t of = *taken;
        for (int64_t at = 0; is_long(p, to - i) && at < p->set.n; at++) {
            int64_t e = entry_from(b->column, i, to, p->set.column[at]);
            if (e < to && b->column[e] == p->set.column[at] && av[at] != 0)
                NAME(take)(p, &own, &of, mask, av[at], bv[e]);
        }
        if (is_long(p, to - i)) to = i;
        for (; i < to; i++) {
            int64_t at = set_find(&p->set, w, b->column[i]);
            if (at >= 0 && av[at] != 0) NAME(take)(p, &own, &of, mask, av[at], bv[i]);
        }
        *sum = own;
        *taken = of;
    }
}

/* The row at place r of the mask, and that of the outer matrix. */
static void NAME(one_row)(piece *p, int64_t r, int64_t outer) {
    const tra_masked *m = p->m;
    const T *mask = (const T *)(const void *)m->mask.value;
    T *sum = p->sum;
    int64_t first = m->mask.begin[r], n = m->mask.begin[r + 1] - first;
    for (int64_t i = 0; i < n; i++) sum[i] = -(T)0, p->taken[i] = 0;
    if (m->by_place)
        set_open(&p->set, m->outer.column + m->outer.begin[outer], m->outer.begin[outer + 1] - m->outer.begin[outer]);
    else
        set_open(&p->set, m->mask.column + first, n);
    switch (p->set.way) {
#define EACH(w)                                                                                                        \
    case w:                                                                                                            \
        if (m->by_place)                                                                                               \
            NAME(dots)(p, w, r, outer);                                                                                \
        else                                                                                                           \
            NAME(rows)(p, w, r, outer);                                                                                \
        break;
        EACH(RANGE)
        EACH(TABLED)
        EACH(FLAT)
        EACH(SEARCHED)
#undef EACH
    }
    set_close(&p->set);
    for (int64_t i = 0; i < n; i++) {
        T value;
        if (NAME(made)(p, sum[i], p->taken[i], mask[first + i], &value) && value != 0)
            put(p->out, m->mask.row[r], m->mask.column[first + i], &value, m->real);
    }
}

#undef NAME
#undef FOLD
