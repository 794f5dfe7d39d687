/* worker_sums.c - what worker_sums.h promises. */
#include "worker_sums.h"

#include <stdlib.h>
#include <string.h>

void tra_worker_sums_init(tra_worker_sums *s, int n) {
    *s = (tra_worker_sums){.n = n, .v = tra_calloc((size_t)n, sizeof *s->v)};
    s->taken = tra_calloc((size_t)n, sizeof *s->taken);
    s->begun = tra_calloc((size_t)n, sizeof *s->begun);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->given, NULL);
}

void tra_worker_sums_free(tra_worker_sums *s) {
    if (!s->v) return;
    free(s->v);
    free(s->taken);
    free(s->begun);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->given);
}

/* The first that is free, or -1. */
static int first_free(const tra_worker_sums *s) {
    int i = 0;
    while (i < s->n && s->taken[i]) i++;
    return i < s->n ? i : -1;
}

tra_array *tra_worker_sums_take(tra_worker_sums *s) {
    int i;
    pthread_mutex_lock(&s->lock);
    while ((i = first_free(s)) < 0) pthread_cond_wait(&s->given, &s->lock);
    bool begun = s->begun[i];
    s->taken[i] = s->begun[i] = true;
    pthread_mutex_unlock(&s->lock);
    if (!begun) memset(s->v[i].data, 0, tra_array_bytes(&s->v[i]));
    return &s->v[i];
}

void tra_worker_sums_give(tra_worker_sums *s, const tra_array *sum) {
    pthread_mutex_lock(&s->lock);
    s->taken[sum - s->v] = false;
    pthread_cond_signal(&s->given);
    pthread_mutex_unlock(&s->lock);
}

bool tra_worker_sums_close(tra_worker_sums *s, const tra_kernel *agg) {
    for (int i = 1; i < s->n; i++) {
        if (s->begun[i]) tra_agg_merge(agg, &s->v[0], &s->v[i], false);
    }
    return s->begun[0];
}
