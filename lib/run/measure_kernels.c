/* measure_kernels.c - how fast the loops are that generated kernels are made of. */
#include "measure_int.h"

#include <stdlib.h>
#include <string.h>

/* Entries of a row, and places of the vector that they are over: 192 KiB of a worker's. The map has room for twice the
 * distinct columns. */
enum { ENTRIES = 1 << 13, PLACES = 1 << 13, SLOTS = 1 << 14 };
/* Places of a ring that no near cache holds, each of which tells the next one; steps of a pass. */
enum { RING = 1 << 23, STEPS = 1 << 10 };

/* One worker's. */
typedef struct data {
    int64_t column[ENTRIES], other[ENTRIES]; /* other: sorted; sorted: the columns of another row */
    int64_t sorted[ENTRIES];
    double value[ENTRIES], place[PLACES], more[PLACES];
    int64_t key[SLOTS];
    double held[SLOTS];
    double sum;
    uint32_t *ring, at;
} data;

typedef void pass_fn(data *d);

typedef struct work {
    tra_measure_work count;
    pass_fn *pass;
    data *of; /* of each worker */
} work;

static void add_entries(data *d) {
    double sum = 0;
    for (int p = 0; p < ENTRIES; p++) sum += d->value[p];
    d->sum += sum;
}

static void gather(data *d) {
    double sum = 0;
    for (int p = 0; p < ENTRIES; p++) sum += d->value[p] * d->place[d->column[p]];
    d->sum += sum;
}

static void insert(data *d) {
    for (int p = 0; p < ENTRIES; p++) d->place[d->column[p]] += d->value[p];
}

static void merge(data *d) {
    double sum = 0;
    for (int p = 0, q = 0; p < ENTRIES && q < ENTRIES;) {
        int64_t x = d->sorted[p], y = d->other[q];
        if (x == y) sum += d->value[p] * d->value[q];
        p += x <= y;
        q += y <= x;
    }
    d->sum += sum;
}

static void add_hashed(data *d) {
    memset(d->key, 0xff, sizeof d->key);
    for (int p = 0; p < ENTRIES; p++) {
        int64_t k = d->column[p];
        uint64_t at = (uint64_t)k * 0x9e3779b97f4a7c15u >> 50;
        while (d->key[at] != k && d->key[at] >= 0) at = (at + 1) & (SLOTS - 1);
        if (d->key[at] < 0) d->key[at] = k, d->held[at] = 0;
        d->held[at] += d->value[p];
    }
}

static void multiply(data *d) {
    double x = d->value[0];
    for (int j = 0; j < PLACES; j++) d->place[j] += d->more[j] * x;
}

static void follow(data *d) {
    for (int i = 0; i < STEPS; i++) d->at = d->ring[d->at];
}

static tra_status run(void *ctx, int worker, int64_t item, tra_err *e) {
    work *w = ctx;
    (void)worker;
    (void)e;
    for (; tra_now() < w->count.until; w->count.done[item]++) w->pass(&w->of[item]);
    return TRA_OK;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void fill(data *d) {
    uint64_t state = 88172645463325252u;
    for (int p = 0; p < ENTRIES; p++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        d->column[p] = (int64_t)(state >> 20) % PLACES;
        d->sorted[p] = (int64_t)(state >> 24) % (2 * ENTRIES);
        d->other[p] = (int64_t)(state >> 28) % (2 * ENTRIES);
        d->value[p] = 1.0 / (1 + p);
    }
    qsort(d->sorted, ENTRIES, sizeof *d->sorted, by_size);
    qsort(d->other, ENTRIES, sizeof *d->other, by_size);
    for (int j = 0; j < PLACES; j++) d->place[j] = d->more[j] = 1e-9 * j;
    d->ring = tra_malloc(RING * sizeof *d->ring);
    for (uint32_t i = 0; i < RING; i++) d->ring[i] = i;
    for (uint32_t i = RING - 1; i > 0; i--) { /* one ring, since no place stays where it is */
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint32_t j = (uint32_t)((state >> 20) % i), x = d->ring[i];
        d->ring[i] = d->ring[j], d->ring[j] = x;
    }
}

tra_status tra_measure_kernels(const tra_comm *comm, int threads, tra_kernel_rates *r, tra_err *e) {
    const struct {
        pass_fn *pass;
        double units; /* of a pass */
        double *rate;
    } each[] = {{add_entries, ENTRIES, &r->entries}, {gather, ENTRIES, &r->gathers},
                {insert, ENTRIES, &r->inserts},      {merge, 2 * ENTRIES, &r->merges},
                {add_hashed, ENTRIES, &r->hashes},   {multiply, 2 * PLACES, &r->operations},
                {follow, STEPS, &r->follows}};
    work w = {.count = {.done = tra_calloc((size_t)threads, sizeof *w.count.done)},
              .of = tra_calloc((size_t)threads, sizeof *w.of)};
    for (int t = 0; t < threads; t++) fill(&w.of[t]);
    tra_status s = TRA_OK;
    for (size_t i = 0; i < sizeof each / sizeof *each && s == TRA_OK; i++) {
        w.pass = each[i].pass;
        s = tra_measure_units(comm, run, &w.count, threads, each[i].rate, e);
        *each[i].rate *= each[i].units;
    }
    free(w.count.done);
    for (int t = 0; t < threads; t++) free(w.of[t].ring);
    free(w.of);
    return s;
}
