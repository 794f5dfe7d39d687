/* masked_body.h - included by masked.c for each type of sums. T: the type; NAME(f): the function's name here. Both are
 * undefined at the end. A sum that nothing was added to is -0: the mask may be infinite there. */

static inline __attribute__((always_inline)) void NAME(rows)(const piece *p, way w, int64_t outer) {
    const tra_masked *m = p->m;
    const tra_rows_view *a = &m->outer, *b = &m->inner;
    const T *av = (const T *)(const void *)a->value, *bv = (const T *)(const void *)b->value;
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
                if (i < to && b->column[i] == p->set.column[at]) NAME(add)(&sum[at], NAME(product)(x, bv[i]));
            }
            continue;
        }
        if (w == RANGE && i < to && b->column[to - 1] - b->column[i] + 1 == (uint64_t)(to - i)) {
            int64_t first = (int64_t)b->column[i] - p->set.column[0], from = tra_max64(0, -first);
            int64_t n = tra_min64(to - i, p->set.n - first);
            for (int64_t j = from; j < n; j++) NAME(add)(&sum[first + j], NAME(product)(x, bv[i + j]));
            continue;
        }
        for (; i < to; i++) {
            int64_t at = set_find(&p->set, w, b->column[i]);
            if (at >= 0) NAME(add)(&sum[at], NAME(product)(x, bv[i]));
        }
    }
}

static inline __attribute__((always_inline)) void NAME(dots)(const piece *p, way w, int64_t r, int64_t outer) {
    const tra_masked *m = p->m;
    const tra_rows_view *b = &m->inner;
    const T *av = (const T *)(const void *)m->outer.value + m->outer.begin[outer],
            *bv = (const T *)(const void *)b->value;
    T *sum = p->sum;
    for (int64_t k = m->mask.begin[r]; k < m->mask.begin[r + 1]; k++, sum++) {
        int64_t q = inner_row(m, m->mask.column[k]), i, to;
        ahead(p, m->mask.column, k, m->mask.begin[m->mask.nrows]);
        if (q < 0) continue;
        narrow(p, q, &i, &to);
        T own = *sum;
        for (int64_t at = 0; is_long(p, to - i) && at < p->set.n; at++) {
            int64_t e = entry_from(b->column, i, to, p->set.column[at]);
            if (e < to && b->column[e] == p->set.column[at] && av[at] != 0)
                NAME(add)(&own, NAME(product)(av[at], bv[e]));
        }
        if (is_long(p, to - i)) to = i;
        for (; i < to; i++) {
            int64_t at = set_find(&p->set, w, b->column[i]);
            if (at >= 0 && av[at] != 0) NAME(add)(&own, NAME(product)(av[at], bv[i]));
        }
        *sum = own;
    }
}

/* The row at place r of the mask, and that of the outer matrix. */
static void NAME(one_row)(piece *p, int64_t r, int64_t outer) {
    const tra_masked *m = p->m;
    const T *mask = (const T *)(const void *)m->mask.value;
    T *sum = p->sum, factor = (T)m->factor;
    int64_t first = m->mask.begin[r], n = m->mask.begin[r + 1] - first;
    for (int64_t i = 0; i < n; i++) sum[i] = -(T)0;
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
            NAME(rows)(p, w, outer);                                                                                   \
        break;
        EACH(RANGE)
        EACH(TABLED)
        EACH(FLAT)
        EACH(SEARCHED)
#undef EACH
    }
    set_close(&p->set);
    for (int64_t i = 0; i < n; i++) {
        if (mask[first + i] == 0 || (sum[i] == 0 && (!m->real || signbit((double)sum[i])))) continue;
        T value = NAME(times)(factor, NAME(times)(mask[first + i], sum[i]));
        if (value != 0) put(p->out, m->mask.row[r], m->mask.column[first + i], &value, m->real);
    }
}

#undef T
#undef NAME
