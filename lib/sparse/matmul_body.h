/* matmul_body.h - included by matmul.c for each type of sums. T: the type; NAME(f): the function's name here; ADD(sum, x,
 * y): adds a product. All are undefined at the end. */

/* Adds up one row in a table of the places that are touched. */
static int64_t NAME(hashed)(const work *w, adder *s, const line *l, bool count) {
    const tra_matmul *m = w->m;
    const T *av = (const T *)(const void *)m->a.value, *bv = (const T *)(const void *)m->b.value;
    const T *state = (const T *)(const void *)w->state.value;
    T *sum = (T *)(void *)s->in_table;
    uint32_t mask = 63;
    int64_t n = 0;
    while (mask < 2 * l->most) mask = 2 * mask + 1;
#define SLOT(place)                                                                                                    \
    uint32_t key = (uint32_t)(place), slot = ((key * 0x9E3779B1u) >> 18) & mask;                                            \
    while (s->key[slot] != key && s->key[slot] != EMPTY) slot = (slot + 1) & mask;                                     \
    if (s->key[slot] == EMPTY) s->key[slot] = key, sum[slot] = 0, s->touched[n++] = (uint64_t)key << 32 | slot;
    for (int64_t k = l->state; k < l->state_end; k++) {
        SLOT(state_place(w, l, k))
        if (!count) sum[slot] = state[k];
    }
    for (int64_t k = l->first; k < l->end; k++) {
        int64_t q = inner_row(w, m->a.column[k]);
        ahead(w, k);
        if (q < 0) continue;
        T x = av[k];
        for (int64_t i = m->b.begin[q], end = m->b.begin[q + 1]; i < end; i++) {
            SLOT(m->b.column[i])
            if (!count) ADD(sum[slot], bv[i], x);
        }
    }
#undef SLOT
    if (!count) sort_touched(s, n);
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)s->touched[i];
        s->key[slot] = EMPTY;
        if (!count && sum[slot] != 0) NAME(put)(w, s, l->row, s->touched[i] >> 32, sum[slot]);
    }
    return n;
}

/* Adds up one row in an array of all its places, a range of these at a time. */
static int64_t NAME(flat)(const work *w, adder *s, const line *l, bool count) {
    const tra_matmul *m = w->m;
    const T *av = (const T *)(const void *)m->a.value, *bv = (const T *)(const void *)m->b.value;
    const T *state = (const T *)(const void *)w->state.value;
    T *sum = (T *)(void *)s->sum;
    int64_t all = 0;
    for (int64_t base = 0; base < m->box; base += WIDE) {
        int64_t width = tra_min64(WIDE, m->box - base), words = 0, n = 0;
        bool part = width < m->box;
#define TOUCH(place)                                                                                                   \
    uint64_t at = (uint64_t)(place), *word = &s->bits[at >> 6];                                                        \
    if (*word == 0) s->touched[words++] = at >> 6;                                                                     \
    *word |= (uint64_t)1 << (at & 63);
        for (int64_t k = l->state; k < l->state_end; k++) {
            int64_t place = state_place(w, l, k) - base;
            if (place < 0 || place >= width) continue;
            TOUCH(place)
            if (!count) sum[at] = state[k];
        }
        for (int64_t k = l->first; k < l->end; k++) {
            int64_t q = inner_row(w, m->a.column[k]);
            ahead(w, k);
            if (q < 0) continue;
            int64_t i = m->b.begin[q], end = m->b.begin[q + 1];
            T x = av[k];
            if (part) i = tra_rows_entry(&m->b, q, base), end = tra_rows_entry(&m->b, q, base + width);
            if (count) {
                for (; i < end; i++) {
                    TOUCH(m->b.column[i] - base)
                }
            } else {
                for (; i < end; i++) {
                    TOUCH(m->b.column[i] - base)
                    ADD(sum[at], bv[i], x);
                }
            }
        }
#undef TOUCH
        bool dense = words > (width >> 6) / 8;
        if (!dense) sort_touched_words(s, words);
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
                if (sum[at] != 0) NAME(put)(w, s, l->row, (uint64_t)base + at, sum[at]);
                sum[at] = 0;
            }
        }
        all += n;
    }
    return all;
}

#undef T
#undef NAME
#undef ADD
