/* parallel_sums.c - pieces of rows, and sums that pieces have of their own. */
#include "parallel_sums.h"

#include "kernel_int.h"

int tra_parallel_sum_pieces(int64_t entries, int64_t steps, int64_t elements) {
    enum { WORTH = 8 }; /* entries for each element from which a piece is worth a sum of its own to clear and to add */
    int n = (int)tra_min64(TRA_PARALLEL_SUMS, 1 + entries / tra_mul_most(WORTH, tra_max64(1, elements)));
    n = (int)tra_min64(n, tra_parallel_pieces(tra_mul_most(steps, entries)));
    return n == 3 ? 2 : n; /* which two threads share evenly */
}

int tra_parallel_row_pieces(const tra_rows_view *v, const int64_t *key, int n, int64_t *at) {
    int made = 0;
    int64_t first = v->begin[0], entries = v->begin[v->nrows] - first;
    at[0] = 0;
    for (int i = 1; i < n; i++) {
        int64_t from = at[made], to = v->nrows, want = first + (int64_t)((__int128)entries * i / n);
        TRA_BISECT(from, to, mid, v->begin[mid] < want);
        while (key && from > 0 && from < v->nrows && key[from] == key[from - 1]) from++;
        if (from > at[made] && from < v->nrows) at[++made] = from;
    }
    at[++made] = v->nrows;
    return made;
}

typedef struct sums {
    const tra_array *to;
    const char *v;
    int64_t each;
    int n;
} sums;

/* Adds up one part of the elements of all sums. */
static void add_part(void *ctx, int part, void *scratch) {
    enum { PART = 1 << 12 };
    const sums *x = ctx;
    size_t size = tra_dtype_size(x->to->dtype), n = tra_array_bytes(x->to) / size;
    size_t from = n * (size_t)part / (size_t)x->n, to = n * ((size_t)part + 1) / (size_t)x->n;
    (void)scratch;
    for (size_t at = from; at < to; at += PART) {
        int64_t here = (int64_t)(to - at < PART ? to - at : PART);
        char *sum = (char *)x->to->data + at * size;
        for (int i = 1; i < x->n; i++)
            tra_strip(x->to->dtype)(TRA_S_ADD, sum, sum, x->v + (i - 1) * x->each + at * size, 0, here);
    }
}

void tra_parallel_add_sums(const tra_array *to, const char *v, int64_t each, int n) {
    sums x = {to, v, each, n};
    if (n > 1) tra_parallel(n, add_part, &x, NULL);
}
