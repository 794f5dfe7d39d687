/* thread.c - threads with a stack of their own size, and the seed of hash tables. */
#include "base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/random.h>

int tra_thread_start(pthread_t *id, void *(*fn)(void *), void *ctx) {
    enum { STACK = 8 << 20 }; /* address space; pages come when they are touched */
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, STACK);
    int failed = pthread_create(id, &how, fn, ctx);
    pthread_attr_destroy(&how);
    return failed;
}

static _Atomic uint64_t seed;

uint64_t tra_hash_seed(void) {
    uint64_t s = atomic_load_explicit(&seed, memory_order_relaxed), none = 0;
    if (s) return s;
    if (getrandom(&s, sizeof s, GRND_NONBLOCK) != (ssize_t)sizeof s) s = (uint64_t)(tra_now() * 1e9);
    s |= 1;
    return atomic_compare_exchange_strong(&seed, &none, s) ? s : none; /* another thread may have been first */
}
