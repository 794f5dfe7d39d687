/* measure.c - how fast disk, network, BLAS and memory are here. */
#include "../base/limits.h"
#include "comm_int.h"
#include "measure_int.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 8 << 20, ROOM = 64 << 20, DEPTH = 4, SIDE = 1000, PAGE = 4096 };
double tra_measure_seconds = 0.5;

/* ---- tries ------------------------------------------------------------------------------------------------------ */

/* What disturbs a try makes it slower: the one in which all ranks together were fastest counts, and not that in which
 * this one was, since then others may have stood still. */
typedef struct best {
    int64_t all; /* of the ranks, in millionths */
    double mine;
} best;

static void best_add(const tra_comm *c, best *b, double rate) {
    int64_t all = (int64_t)fmin(rate * 1e6, 1e18 / c->size);
    tra_comm_sum(c, &all, 1);
    if (all > b->all || b->mine == 0) *b = (best){all, rate};
}

static int by_all(const void *a, const void *b) {
    int64_t x = ((const best *)a)->all, y = ((const best *)b)->all;
    return x < y ? -1 : x > y;
}

/* Ranks that share cores have equal parts of what these do, whoever was ahead in the try. */
static double best_share(const tra_comm *c, const best *b) {
    tra_comm machine = tra_comm_machine(c);
    int64_t sum = (int64_t)(b->mine * 1e3);
    tra_comm_sum(&machine, &sum, 1);
    double share = (double)sum * 1e-3 / machine.size;
    tra_comm_free(&machine);
    return share;
}

/* ---- products beside something else ----------------------------------------------------------------------------- */

typedef struct work {
    tra_measure_work count; /* of tiles of a product, or of pairs of arrays */
    const tra_kernel *kernel;
    bool contract;
    tra_array *a, *b, *c; /* of each worker; several where they are not to be in the caches */
    int each;
} work;

static bool make_array(tra_array *x, tra_dtype t) {
    *x = (tra_array){.dtype = t, .ext = {.n = 2, .v = {SIDE, SIDE}}};
    x->data = aligned_alloc(64, (tra_array_bytes(x) + 63) / 64 * 64);
    if (!x->data) return false;
    for (int64_t i = 0; i < (int64_t)SIDE * SIDE; i++) {
        double v = 1.0 / (double)(1 + i % 1013);
        if (tra_dtype_rows[t].blas == 'd')
            ((double *)x->data)[i] = v;
        else
            ((float *)x->data)[i] = (float)v;
    }
    return true;
}

/* n triples of arrays for the kernel. */
static tra_status make_work(tra_arena *arena, const char *kernel, int n, tra_dtype t, work *w, tra_err *e) {
    w->a = tra_news(arena, tra_array, n), w->b = tra_news(arena, tra_array, n), w->c = tra_news(arena, tra_array, n);
    TRA_TRY(tra_kernel_named(arena, kernel, TRA_USE_JOIN, 0, NULL, &w->kernel, e));
    w->contract = tra_kernel_props(w->kernel) & TRA_P_CONTRACTION;
    for (int i = 0; i < n; i++) {
        if (!make_array(&w->a[i], t) || !make_array(&w->b[i], t) || !make_array(&w->c[i], t))
            return tra_fail(e, TRA_RESOURCE, "out of memory for arrays to measure with");
    }
    return TRA_OK;
}

static void free_work(work *w, int n) {
    for (int i = 0; i < n; i++) free(w->a[i].data), free(w->b[i].data), free(w->c[i].data);
}

/* One tile of a product. */
static tra_status one_tile(void *ctx, int worker, int64_t item, tra_err *e) {
    work *w = ctx;
    (void)e;
    tra_kernel_fma(w->kernel, &w->a[worker], &w->b[worker], &w->c[worker], (int)(item % w->each), false);
    return TRA_OK;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* What overlaps with products: takes `alone` seconds by itself. */
typedef struct other {
    tra_status (*run)(void *ctx, tra_err *e);
    void *ctx;
    double alone;
} other;

/* The share of the other's time that products which take as long do not hide: the time of both at once, less that of
 * one. */
static tra_status unhidden(const tra_comm *comm, int threads, double flops, const other *x, double *share, tra_err *e) {
    enum { TIMES = 3 }; /* of which the middle one counts */
    tra_arena *arena = tra_arena_new();
    work w = {.each = 0};
    tra_status s = tra_comm_agree(comm, make_work(arena, "matmul", threads, TRA_F64, &w, e), e);
    if (s == TRA_OK) {
        w.each = tra_kernel_tiles(w.kernel, &w.c[0].ext);
        int64_t tiles = tra_max64(1, (int64_t)(x->alone * flops / (2.0 * SIDE * SIDE * SIDE) * w.each)), ns[TIMES];
        tra_crew *crew = tra_crew_new(threads);
        for (int i = 0; i < TIMES && s == TRA_OK; i++) {
            tra_comm_barrier(comm);
            double from = tra_now();
            tra_crew_begin(crew, one_tile, &w, 0, tiles);
            s = x->run(x->ctx, e);
            tra_status products = tra_crew_wait(crew, e);
            ns[i] = (int64_t)((tra_now() - from) * 1e9);
            s = tra_comm_agree(comm, s == TRA_OK ? products : s, e);
            tra_comm_max(comm, &ns[i], 1);
        }
        qsort(ns, TIMES, sizeof *ns, by_size);
        double more = (double)ns[TIMES / 2] * 1e-9 / x->alone - 1;
        *share = more < 0 ? 0 : more > 1 ? 1 : more;
        tra_crew_free(crew);
    }
    free_work(&w, threads);
    tra_arena_free(arena);
    return s;
}

/* ---- network ---------------------------------------------------------------------------------------------------- */

typedef struct traffic {
    int64_t piece; /* bytes that each rank sends each other one at a time */
    bool fresh;    /* received in memory that was not touched before, as the blocks of a run are */
    char *out, *in;
    MPI_Request *req;
} traffic;

/* count messages each way with a rank at distance d (0: one with each other rank), all on their way at once. */
static void round_of(const tra_comm *c, traffic *t, int d, int count) {
    int k = 0;
    if (t->fresh) madvise(t->in, (size_t)(count * t->piece), MADV_DONTNEED);
    for (int i = 0; i < count; i++) {
        int at = d ? d : i + 1, to = (c->rank + at) % c->size, src = (c->rank + c->size - at) % c->size;
        MPI_Irecv(t->in + i * t->piece, (int)t->piece, MPI_BYTE, src, 0, c->mpi->all, &t->req[k++]);
        MPI_Isend(t->out, (int)t->piece, MPI_BYTE, to, 0, c->mpi->all, &t->req[k++]);
    }
    MPI_Waitall(k, t->req, MPI_STATUSES_IGNORE);
}

/* 2 DEPTH n pieces to each other rank: half of it to all at once, as a broadcast is, and half to one after the other,
 * as in a grid of sites. */
static void rounds(const tra_comm *c, traffic *t, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < DEPTH; j++) round_of(c, t, 0, c->size - 1);
        for (int d = 1; d < c->size; d++) round_of(c, t, d, DEPTH);
    }
}

/* Each rank in turn receives DEPTH n pieces of each other, and sends none. */
static void gathers(const tra_comm *c, traffic *t, int64_t n) {
    for (int to = 0; to < c->size; to++) {
        for (int64_t i = 0; i < DEPTH * n; i++) {
            int k = 0;
            for (int r = 0; r < c->size && c->rank == to; r++) {
                if (r == to) continue;
                MPI_Irecv(t->in + k * t->piece, (int)t->piece, MPI_BYTE, r, 0, c->mpi->all, &t->req[k]);
                k++;
            }
            if (c->rank != to) MPI_Isend(t->out, (int)t->piece, MPI_BYTE, to, 0, c->mpi->all, &t->req[k++]);
            MPI_Waitall(k, t->req, MPI_STATUSES_IGNORE);
        }
        tra_comm_barrier(c);
    }
}

/* Seconds until the last rank is done. */
static double timed(const tra_comm *c, traffic *t, void (*exchange)(const tra_comm *, traffic *, int64_t), int64_t n) {
    tra_comm_barrier(c);
    double from = tra_now();
    exchange(c, t, n);
    int64_t ns = (int64_t)((tra_now() - from) * 1e9) + 1;
    tra_comm_max(c, &ns, 1);
    return (double)ns * 1e-9;
}

/* Bytes/s of an exchange that a site sends or receives so many bytes in, of the best of some tries. */
static double rate_of(const tra_comm *c, traffic *t, void (*exchange)(const tra_comm *, traffic *, int64_t),
                      double bytes) {
    enum { TIMES = 3 };
    double once = timed(c, t, exchange, 1), rate = 0;
    int64_t n = tra_max64(1, tra_min64(1000, (int64_t)(2 * tra_measure_seconds / TIMES / once)));
    for (int i = 0; i < TIMES; i++) rate = fmax(rate, (double)n * bytes / timed(c, t, exchange, n));
    return rate;
}

static tra_status make_traffic(const tra_comm *comm, traffic *t, tra_err *e) {
    int64_t others = comm->size - 1, most = tra_max64(others, DEPTH);
    *t = (traffic){.piece = tra_max64(1 << 16, tra_min64(PIECE, ROOM / most))};
    t->out = calloc(1, (size_t)t->piece);
    t->in = aligned_alloc(PAGE, (size_t)(most * t->piece)); /* a piece is whole pages */
    t->req = tra_malloc(2 * (size_t)most * sizeof(MPI_Request));
    return t->out && t->in ? TRA_OK : tra_fail(e, TRA_RESOURCE, "out of memory for messages");
}

static void free_traffic(traffic *t) {
    free(t->out);
    free(t->in);
    free(t->req);
}

/* Bytes that a rank sends in one of the rounds. */
static double round_bytes(const tra_comm *comm, const traffic *t) {
    return (double)(2 * DEPTH * t->piece * (comm->size - 1));
}

tra_status tra_measure_network(const tra_comm *comm, double *rate, double *one_way, tra_err *e) {
    *rate = *one_way = 0;
    if (comm->size == 1) return TRA_OK;
    traffic t;
    tra_status s = tra_comm_agree(comm, make_traffic(comm, &t, e), e);
    if (s == TRA_OK) {
        round_of(comm, &t, 0, comm->size - 1); /* connects the ranks */
        *rate = rate_of(comm, &t, rounds, round_bytes(comm, &t));
        /* while a rank receives, all of them wait: so it is their number times as fast */
        *one_way = rate_of(comm, &t, gathers, comm->size * round_bytes(comm, &t) / 2);
    }
    free_traffic(&t);
    return s;
}

typedef struct exchanges {
    const tra_comm *comm;
    traffic *t;
    int64_t n;
} exchanges;

static tra_status run_rounds(void *ctx, tra_err *e) {
    const exchanges *x = ctx;
    (void)e;
    rounds(x->comm, x->t, x->n);
    return TRA_OK;
}

tra_status tra_measure_unhidden(const tra_comm *comm, int threads, double network, double flops, double *share,
                                tra_err *e) {
    *share = -1;
    if (comm->size == 1) return TRA_OK;
    traffic t;
    tra_status s = tra_comm_agree(comm, make_traffic(comm, &t, e), e);
    t.fresh = true;
    if (s == TRA_OK) { /* as many rounds as take a while */
        int64_t n = tra_max64(1, (int64_t)(tra_measure_seconds * network / round_bytes(comm, &t)));
        tra_comm_max(comm, &n, 1);
        s = unhidden(comm, threads, flops,
                     &(other){run_rounds, &(exchanges){comm, &t, n}, (double)n * round_bytes(comm, &t) / network},
                     share, e);
    }
    free_traffic(&t);
    return s;
}

/* ---- disk ------------------------------------------------------------------------------------------------------- */

static tra_status write_file(int fd, int direct, const char *buf, int64_t bytes, tra_err *e) {
    for (int64_t at = 0; at < bytes; at += PIECE) { /* as outputs are written: past the cache where that can be done */
        if (direct >= 0 && pwrite(direct, buf, PIECE, at) == PIECE) continue;
        TRA_TRY(tra_pwrite(fd, buf, PIECE, at, "a file to measure with", e));
    }
    return fsync(fd) == 0 ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "a file to measure with");
}

/* As blocks are read that workers do not wait for: past the cache where that can be done. */
typedef struct reading {
    int fd, direct;
    char *buf;
    int64_t bytes;
} reading;

static tra_status read_past_cache(void *ctx, tra_err *e) {
    const reading *x = ctx;
    posix_fadvise(x->fd, 0, x->bytes, POSIX_FADV_DONTNEED);
    for (int64_t at = 0; at < x->bytes; at += PIECE) {
        if (x->direct >= 0 && pread(x->direct, x->buf, PIECE, at) == PIECE) continue;
        TRA_TRY(tra_pread(x->fd, x->buf, PIECE, at, "a file to measure with", e));
    }
    return TRA_OK;
}

static tra_status read_file(int fd, char *buf, int64_t bytes, tra_err *e) {
    for (int64_t at = 0; at < bytes; at += PIECE) TRA_TRY(tra_pread(fd, buf, PIECE, at, "a file to measure with", e));
    return TRA_OK;
}

tra_status tra_measure_disk(const tra_comm *comm, const char *dir, int64_t bytes, int threads, double flops,
                            double *write, double *read, double *share, tra_err *e) {
    char proc[64];
    char *buf = aligned_alloc(PAGE, PIECE);
    int fd = buf ? tra_unnamed_file(dir) : -1, direct = -1;
    tra_status s = !buf     ? tra_fail(e, TRA_RESOURCE, "out of memory for a buffer")
                   : fd < 0 ? tra_fail_errno(e, TRA_RESOURCE, "cannot make a file in %s", dir)
                            : TRA_OK;
    bytes = tra_ceil_div(bytes, PIECE) * PIECE;
    if (s == TRA_OK) {
        snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
        direct = open(proc, O_RDWR | O_DIRECT | O_CLOEXEC);
        for (int64_t i = 0; i < PIECE / 8; i++) ((uint64_t *)buf)[i] = (uint64_t)i * 0x9e3779b97f4a7c15u;
        s = write_file(fd, direct, buf, bytes, e); /* the room is found, and the disk awake */
    }
    s = tra_comm_agree(comm, s, e);
    best writes = {0}, reads = {0};
    for (int i = 0; i < 2 && s == TRA_OK; i++) {
        tra_comm_barrier(comm);
        double t = tra_now();
        s = tra_comm_agree(comm, write_file(fd, direct, buf, bytes, e), e);
        best_add(comm, &writes, (double)bytes / (tra_now() - t));
    }
    for (int i = 0; i < 2 && s == TRA_OK; i++) {
        posix_fadvise(fd, 0, bytes, POSIX_FADV_DONTNEED);
        tra_comm_barrier(comm);
        double t = tra_now();
        s = tra_comm_agree(comm, read_file(fd, buf, bytes, e), e);
        best_add(comm, &reads, (double)bytes / (tra_now() - t));
    }
    *write = writes.mine;
    *read = reads.mine;
    reading again = {fd, direct, buf, bytes};
    int64_t ns = 0;
    for (int i = 0; i < 2 && s == TRA_OK && share; i++) { /* the first finds the disk as the next ones will */
        tra_comm_barrier(comm);
        double t = tra_now();
        s = tra_comm_agree(comm, read_past_cache(&again, e), e);
        ns = (int64_t)((tra_now() - t) * 1e9) + 1;
    }
    if (share) tra_comm_max(comm, &ns, 1);
    if (s == TRA_OK && share)
        s = unhidden(comm, threads, flops, &(other){read_past_cache, &again, (double)ns * 1e-9}, share, e);
    if (direct >= 0) close(direct);
    if (fd >= 0) close(fd);
    free(buf);
    return s;
}

/* ---- computing -------------------------------------------------------------------------------------------------- */

static tra_status compute(void *ctx, int worker, int64_t item, tra_err *e) {
    work *w = ctx;
    (void)worker;
    (void)e;
    for (int64_t i = 0; tra_now() < w->count.until; i++) {
        int64_t at = item * w->each + i % w->each;
        if (w->contract)
            tra_kernel_fma(w->kernel, &w->a[at], &w->b[at], &w->c[at],
                           (int)(i % tra_kernel_tiles(w->kernel, &w->c[at].ext)), false);
        else
            tra_kernel_join(w->kernel, &w->a[at], &w->b[at], &w->c[at], NULL);
        w->count.done[item]++;
    }
    return TRA_OK;
}

tra_status tra_measure_units(const tra_comm *comm, tra_work_fn *fn, tra_measure_work *w, int threads, double *rate,
                             tra_err *e) {
    enum { TRIES = 5 };
    best b[TRIES] = {{0}};
    tra_status s = TRA_OK;
    for (int i = 0; i <= TRIES && s == TRA_OK; i++) {
        tra_comm_barrier(comm);
        double from = tra_now(), sum = 0;
        memset(w->done, 0, (size_t)threads * sizeof *w->done);
        w->until = from + tra_measure_seconds / TRIES;
        s = tra_crew_run(threads, threads, fn, w, e);
        double seconds = tra_now() - from;
        s = tra_comm_agree(comm, s, e);
        for (int t = 0; t < threads; t++) sum += (double)w->done[t];
        if (i > 0 && s == TRA_OK) best_add(comm, &b[i - 1], sum / seconds);
    }
    qsort(b, TRIES, sizeof *b, by_all);
    *rate = s == TRA_OK ? best_share(comm, &b[TRIES - 2]) : 0;
    return s;
}

/* Pairs of arrays per second, of all workers. each: triples of arrays that a worker takes in turn. */
static tra_status pairs_per_second(const tra_comm *comm, const char *kernel, int threads, int each, tra_dtype t,
                                   double *rate, tra_err *e) {
    tra_arena *arena = tra_arena_new();
    int n = threads * each;
    work w = {.count = {.done = tra_news(arena, int64_t, threads)}, .each = each};
    tra_status s = tra_comm_agree(comm, make_work(arena, kernel, n, t, &w, e), e);
    if (s == TRA_OK) s = tra_measure_units(comm, compute, &w.count, threads, rate, e);
    if (s == TRA_OK && w.contract) *rate /= tra_kernel_tiles(w.kernel, &w.c[0].ext);
    free_work(&w, n);
    tra_arena_free(arena);
    return s;
}

tra_status tra_measure_flops(const tra_comm *comm, int threads, tra_dtype t, double *rate, tra_err *e) {
    TRA_TRY(pairs_per_second(comm, "matmul", threads, 1, t, rate, e));
    *rate *= 2.0 * SIDE * SIDE * SIDE;
    return TRA_OK;
}

tra_status tra_measure_memory(const tra_comm *comm, int threads, double *rate, tra_err *e) {
    enum { TRIPLES = 6 }; /* 144 MB for each worker */
    TRA_TRY(pairs_per_second(comm, "matadd", threads, TRIPLES, TRA_F64, rate, e));
    *rate *= 8.0 * SIDE * SIDE;
    return TRA_OK;
}

typedef struct fresh {
    char *at;
    int64_t each; /* bytes of a worker */
} fresh;

static tra_status touch(void *ctx, int worker, int64_t item, tra_err *e) {
    const fresh *f = ctx;
    (void)worker;
    (void)e;
    for (int64_t at = 0; at < f->each; at += PAGE) ((volatile char *)f->at)[item * f->each + at] = 1;
    return TRA_OK;
}

/* A hypervisor takes back what its guest does not use, so memory that was free for long comes some ten times slower
 * than what another process freed a moment ago. What is touched first here may be of that kind, and is not timed. */
tra_status tra_measure_touch(const tra_comm *comm, int threads, double *rate, tra_err *e) {
    enum { MOST = 1 << 30, PART = 16, LEAST = 1 << 24 };
    tra_comm machine = tra_comm_machine(comm);
    int64_t room = tra_min64(MOST, tra_machine_memory(NULL) / PART) / machine.size;
    tra_comm_free(&machine);
    fresh f = {.each = tra_max64(LEAST, room / threads) / PAGE * PAGE};
    size_t bytes = (size_t)(f.each * threads);
    char *all = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    tra_status s = all == MAP_FAILED ? tra_fail_errno(e, TRA_RESOURCE, "memory to measure with") : TRA_OK;
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK) madvise(all, 2 * bytes, MADV_HUGEPAGE);
    for (int again = 0; again < 2 && s == TRA_OK; again++) {
        f.at = all + (size_t)again * bytes;
        tra_comm_barrier(comm);
        double from = tra_now();
        s = tra_comm_agree(comm, tra_crew_run(threads, threads, touch, &f, e), e);
        best b = {0};
        best_add(comm, &b, (double)bytes / (tra_now() - from));
        *rate = best_share(comm, &b);
    }
    if (all != MAP_FAILED) munmap(all, 2 * bytes);
    return s;
}
