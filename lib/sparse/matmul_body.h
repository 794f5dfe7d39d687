/* matmul_body.h - included by matmul.c for each type of sums, T, by its name TYPE, and each FOLD: ADD, MAX, MIN. What
 * is no sum counts the products of an element, since elements that are no products, which are 0, take part in it. */

#define JOIN_(f, a, b) f##_##a##_##b
#define JOIN(f, a, b)  JOIN_(f, a, b)
#define NAME(f)        JOIN(f, TYPE, FOLD)
#define OF(f)          JOIN_OF(f, TYPE)
#define JOIN_OF(f, a)  JOIN_OF_(f, a)
#define JOIN_OF_(f, a) f##_##a
#define IS_SUM         (JOIN_OF(TRA_S, FOLD) == TRA_S_ADD)
#define IS_MAX         (JOIN_OF(TRA_S, FOLD) == TRA_S_MAX)
#define FOLDED(a, b)   (IS_MAX ? LARGER(a, b) : SMALLER(a, b))

static inline void NAME(put_product)(T *sum, int64_t *terms, T x, T y) {
    if (IS_SUM) {
        OF(add)(sum, x, y);
        return;
    }
    T product = OF(times)(x, y);
    *sum = (*terms)++ == 0 ? product : FOLDED(*sum, product);
}
/* The state is one term more. */
static inline void NAME(put_state)(T *sum, int64_t *terms, T x) {
    if (IS_SUM)
        OF(plus)(sum, x);
    else
        *sum = (*terms)++ == 0 ? x : FOLDED(*sum, x);
}
static inline void NAME(end_sum)(T *sum, int64_t terms, int64_t all) {
    if (!IS_SUM && terms < all) *sum = FOLDED(*sum, 0);
}
#define ADD(sum, terms, x, y) NAME(put_product)(&(sum), &(terms), x, y)
#define PLUS(sum, terms, k)   NAME(put_state)(&(sum), &(terms), OF(held)(w, k))
#define END(sum, terms)       NAME(end_sum)(&(sum), terms, m->shared + (m->state != NULL))

/* Adds up one row in a table of the places that are touched. */
static int64_t NAME(hashed)(const work *w, adder *s, const line *l, bool count) {
    const tra_matmul *m = w->m;
    const T *av = (const T *)(const void *)m->a.value, *bv = (const T *)(const void *)m->b.value;
    T *sum = (T *)(void *)s->in_table;
    int64_t *terms = (int64_t *)(void *)(s->in_table + 8 * SLOTS); /* of folds */
    uint32_t mask = 63;
    int64_t n = 0;
    while (mask < 2 * l->most) mask = 2 * mask + 1;
#define SLOT(place)                                                                                                    \
    uint32_t key = (uint32_t)(place), slot = ((key * 0x9E3779B1u) >> 18) & mask;                                       \
    while (s->key[slot] != key && s->key[slot] != EMPTY) slot = (slot + 1) & mask;                                     \
    if (s->key[slot] == EMPTY) {                                                                                       \
        s->key[slot] = key, sum[slot] = 0, s->touched[n++] = (uint64_t)key << 32 | slot;                               \
        if (!IS_SUM) terms[slot] = 0;                                                                                  \
    }
    for (int64_t k = l->state; k < l->state_end; k++) {
        SLOT(state_place(w, l, k))
        if (!count) PLUS(sum[slot], terms[slot], k);
    }
    for (int64_t k = l->first; k < l->end; k++) {
        int64_t q = inner_row(w, m->a.column[k]);
        ahead(w, k);
        if (q < 0) continue;
        T x = av[k];
        for (int64_t i = m->b.begin[q], to = m->b.begin[q + 1]; i < to; i++) {
            SLOT(m->b.column[i])
            if (!count) ADD(sum[slot], terms[slot], bv[i], x);
        }
    }
#undef SLOT
    if (!count) tra_sort_keys(s->touched, n, 32);
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)s->touched[i];
        s->key[slot] = EMPTY;
        END(sum[slot], terms[slot]);
        if (!count && sum[slot] != 0) OF(put)(w, s, l->row, s->touched[i] >> 32, sum[slot]);
    }
    return n;
}

/* Adds up one row of few products by merging their places, which ascend for each entry of the outer matrix. */
static int64_t NAME(merged)(const work *w, adder *s, const line *l, bool count) {
    const tra_matmul *m = w->m;
    const T *av = (const T *)(const void *)m->a.value, *bv = (const T *)(const void *)m->b.value;
    T *value = (T *)(void *)s->in_table;
    uint32_t *run = (uint32_t *)(void *)(s->in_table + 8 * SLOTS), n = 0, runs = 0;
    uint64_t *key = s->touched;
    int64_t different = 0, terms = 0;
    for (int64_t k = l->state; k < l->state_end; k++) {
        key[n] = (uint64_t)state_place(w, l, k) << 32 | n;
        value[n++] = OF(held)(w, k);
    }
    for (int64_t k = l->first; k < l->end; k++) {
        int64_t q = inner_row(w, m->a.column[k]);
        ahead(w, k);
        if (q < 0) continue;
        int64_t i = m->b.begin[q], to = m->b.begin[q + 1];
        if (n && m->b.column[i] < key[n - 1] >> 32) run[runs++] = n;
        T x = av[k];
        for (; i < to; i++) {
            key[n] = (uint64_t)m->b.column[i] << 32 | n;
            value[n++] = IS_SUM && count ? 0 : OF(times)(bv[i], x);
        }
    }
    if (n == 0) return 0;
    run[runs++] = n;
    key = merge_runs(key, key + FEW, run, runs);
    for (uint32_t i = 0; i < n; different++) {
        uint32_t place = (uint32_t)(key[i] >> 32);
        T sum = value[(uint32_t)key[i++]];
        for (terms = 1; i < n && key[i] >> 32 == place; i++)
            NAME(put_state)(&sum, &terms, value[(uint32_t)key[i]]);
        END(sum, terms);
        if (!count && sum != 0) OF(put)(w, s, l->row, place, sum);
    }
    return different;
}

/* Adds up one row in an array of all its places, a range of these at a time. */
static int64_t NAME(flat)(const work *w, adder *s, const line *l, bool count) {
    const tra_matmul *m = w->m;
    const T *av = (const T *)(const void *)m->a.value, *bv = (const T *)(const void *)m->b.value;
    T *sum = (T *)(void *)s->sum;
    int64_t *terms = (int64_t *)(void *)s->terms;
    int64_t all = 0;
    for (int64_t base = l->from; base < l->to; base += WIDE) {
        int64_t width = tra_min64(WIDE, l->to - base), words = 0, n = 0;
        bool some = width < l->to - l->from;
#define TOUCH(place)                                                                                                   \
    uint64_t at = (uint64_t)(place), *word = &s->bits[at >> 6];                                                        \
    if (*word == 0) s->touched[words++] = at >> 6;                                                                     \
    *word |= (uint64_t)1 << (at & 63);
        for (int64_t k = l->state; k < l->state_end; k++) {
            int64_t place = state_place(w, l, k) - base;
            if (place < 0 || place >= width) continue;
            TOUCH(place)
            if (!count) PLUS(sum[at], terms[at], k);
        }
        for (int64_t k = l->first; k < l->end; k++) {
            int64_t q = inner_row(w, m->a.column[k]);
            ahead(w, k);
            if (q < 0) continue;
            int64_t i = m->b.begin[q], to = m->b.begin[q + 1];
            T x = av[k];
            if (some) i = tra_rows_entry(&m->b, q, base), to = tra_rows_entry(&m->b, q, base + width);
            if (is_range(m->b.column, i, to)) {
                int64_t first = m->b.column[i] - base;
                words = touch_range(s, words, first, to - i);
                for (int64_t j = 0; j < to - i && !count; j++) ADD(sum[first + j], terms[first + j], bv[i + j], x);
            } else if (count) {
                for (; i < to; i++) {
                    TOUCH(m->b.column[i] - base)
                }
            } else {
                for (; i < to; i++) {
                    TOUCH(m->b.column[i] - base)
                    ADD(sum[at], terms[at], bv[i], x);
                }
            }
        }
#undef TOUCH
        bool dense = words > (width >> 6) / 8;
        if (!dense) tra_sort_keys(s->touched, words, 0);
        if (dense) words = (width + 63) >> 6;
        for (int64_t j = 0; j < words; j++) {
            uint64_t word = dense ? (uint64_t)j : s->touched[j], bits = s->bits[word];
            s->bits[word] = 0;
            if (count) {
                n += __builtin_popcountll(bits);
                continue;
            }
            for (; bits; bits &= bits - 1) {
                uint64_t at = word * 64 + (uint64_t)__builtin_ctzll(bits);
                END(sum[at], terms[at]);
                if (sum[at] != 0) OF(put)(w, s, l->row, (uint64_t)base + at, sum[at]);
                sum[at] = 0;
                if (!IS_SUM) terms[at] = 0;
            }
        }
        all += n;
    }
    return all;
}

#undef JOIN_
#undef JOIN
#undef NAME
#undef OF
#undef JOIN_OF
#undef JOIN_OF_
#undef IS_SUM
#undef IS_MAX
#undef FOLDED
#undef ADD
#undef PLUS
#undef END
#undef FOLD
