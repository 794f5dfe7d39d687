/* measure.c - how fast disk, network, BLAS and memory are here. */
#include "measure.h"

#include "../base/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 8 << 20, ROOM = 64 << 20, DEPTH = 4, SIDE = 1000, PAGE = 4096 };
static const double LONG = 0.5; /* seconds that each measurement takes, about */

/* ---- tries ------------------------------------------------------------------------------------------------------ */

/* Waits for all ranks without using the processor, which those that are behind may still be measuring: MPI's own
 * barrier spins. */
static void wait_quietly(const tra_comm *c) {
    MPI_Request r;
    int done = 0;
    if (c->mpi == MPI_COMM_NULL) return;
    MPI_Ibarrier(c->mpi, &r);
    for (long ns = 100000; MPI_Test(&r, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done;
         ns = ns < 2000000 ? 2 * ns : ns)
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static tra_status agree(const tra_comm *c, tra_status s, tra_err *e) {
    wait_quietly(c);
    return tra_comm_agree(c, s, e);
}

/* What disturbs a try makes it slower: the one in which all ranks together were fastest counts, and not that in which
 * this one was, since then others may have stood still. */
typedef struct best {
    int64_t all; /* of the ranks, in millionths */
    double mine;
} best;

static void best_add(const tra_comm *c, best *b, double rate) {
    int64_t all = (int64_t)fmin(rate * 1e6, 1e18 / c->size);
    wait_quietly(c);
    tra_comm_sum(c, &all, 1);
    if (all > b->all || b->mine == 0) *b = (best){all, rate};
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
        MPI_Irecv(t->in + i * t->piece, (int)t->piece, MPI_BYTE, src, 0, c->mpi, &t->req[k++]);
        MPI_Isend(t->out, (int)t->piece, MPI_BYTE, to, 0, c->mpi, &t->req[k++]);
    }
    MPI_Waitall(k, t->req, MPI_STATUSES_IGNORE);
}

/* Half of it with all other ranks at once, as a broadcast is, and half with one after the other, as in a grid of sites.
 * Seconds until the last is done, of 2 DEPTH n pieces to each other rank. */
static double rounds(const tra_comm *c, traffic *t, int64_t n) {
    wait_quietly(c);
    double from = tra_now();
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < DEPTH; j++) round_of(c, t, 0, c->size - 1);
        for (int d = 1; d < c->size; d++) round_of(c, t, d, DEPTH);
    }
    int64_t ns = (int64_t)((tra_now() - from) * 1e9) + 1;
    tra_comm_max(c, &ns, 1);
    return (double)ns * 1e-9;
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

tra_status tra_measure_network(const tra_comm *comm, double *rate, tra_err *e) {
    enum { TIMES = 3 };
    *rate = 0;
    if (comm->size == 1) return TRA_OK;
    traffic t;
    tra_status s = agree(comm, make_traffic(comm, &t, e), e);
    if (s == TRA_OK) {
        round_of(comm, &t, 0, comm->size - 1); /* connects the ranks */
        double once = rounds(comm, &t, 1);
        int64_t n = tra_max64(1, tra_min64(1000, (int64_t)(2 * LONG / TIMES / once)));
        for (int i = 0; i < TIMES; i++) *rate = fmax(*rate, (double)n * round_bytes(comm, &t) / rounds(comm, &t, n));
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

static tra_status read_file(int fd, char *buf, int64_t bytes, tra_err *e) {
    for (int64_t at = 0; at < bytes; at += PIECE) TRA_TRY(tra_pread(fd, buf, PIECE, at, "a file to measure with", e));
    return TRA_OK;
}

tra_status tra_measure_disk(const tra_comm *comm, const char *dir, int64_t bytes, double *write, double *read,
                            tra_err *e) {
    char proc[64];
    char *buf = aligned_alloc(PAGE, PIECE);
    int fd = buf ? tra_unnamed_file(dir) : -1, direct = -1;
    tra_status s = !buf     ? tra_fail(e, TRA_RESOURCE, "out of memory for a buffer")
                   : fd < 0 ? tra_fail_errno(e, TRA_RESOURCE, "cannot make a file in %s", dir)
                            : TRA_OK;
    bytes = tra_ceil_div(bytes, PIECE) * PIECE;
    if (s == TRA_OK) {
        snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
        direct = open(proc, O_WRONLY | O_DIRECT | O_CLOEXEC);
        for (int64_t i = 0; i < PIECE / 8; i++) ((uint64_t *)buf)[i] = (uint64_t)i * 0x9e3779b97f4a7c15u;
        s = write_file(fd, direct, buf, bytes, e); /* the room is found, and the disk awake */
    }
    s = agree(comm, s, e);
    best writes = {0}, reads = {0};
    for (int i = 0; i < 2 && s == TRA_OK; i++) {
        wait_quietly(comm);
        double t = tra_now();
        s = agree(comm, write_file(fd, direct, buf, bytes, e), e);
        best_add(comm, &writes, (double)bytes / (tra_now() - t));
    }
    for (int i = 0; i < 2 && s == TRA_OK; i++) {
        posix_fadvise(fd, 0, bytes, POSIX_FADV_DONTNEED);
        wait_quietly(comm);
        double t = tra_now();
        s = agree(comm, read_file(fd, buf, bytes, e), e);
        best_add(comm, &reads, (double)bytes / (tra_now() - t));
    }
    *write = writes.mine;
    *read = reads.mine;
    if (direct >= 0) close(direct);
    if (fd >= 0) close(fd);
    free(buf);
    return s;
}

/* ---- computing -------------------------------------------------------------------------------------------------- */

typedef struct work {
    const tra_kernel *kernel;
    bool contract;
    tra_array *a, *b, *c; /* of each worker; several where they are not to be in the caches */
    int each;
    double until;
    int64_t *done; /* units, by worker: tiles of a product, pairs of arrays */
} work;

static tra_status compute(void *ctx, int worker, int64_t item, tra_err *e) {
    work *w = ctx;
    (void)worker;
    (void)e;
    for (int64_t i = 0; tra_now() < w->until; i++) {
        int64_t at = item * w->each + i % w->each;
        if (w->contract)
            tra_kernel_fma(w->kernel, &w->a[at], &w->b[at], &w->c[at],
                           (int)(i % tra_kernel_tiles(w->kernel, &w->c[at].ext)), false);
        else
            tra_kernel_join(w->kernel, &w->a[at], &w->b[at], &w->c[at], NULL);
        w->done[item]++;
    }
    return TRA_OK;
}

/* Units per second that this rank's workers do while all ranks' do, of the best of some tries; the first warms up. */
static tra_status units_per_second(const tra_comm *comm, tra_work_fn *fn, work *w, int threads, double *rate,
                                   tra_err *e) {
    enum { TRIES = 4 };
    best b = {0};
    tra_status s = TRA_OK;
    for (int i = 0; i <= TRIES && s == TRA_OK; i++) {
        wait_quietly(comm);
        double from = tra_now(), sum = 0;
        memset(w->done, 0, (size_t)threads * sizeof *w->done);
        w->until = from + LONG / TRIES;
        s = tra_crew_run(threads, 0, threads, fn, w, e);
        double seconds = tra_now() - from;
        s = agree(comm, s, e);
        for (int t = 0; t < threads; t++) sum += (double)w->done[t];
        if (i > 0 && s == TRA_OK) best_add(comm, &b, sum / seconds);
    }
    *rate = s == TRA_OK ? best_share(comm, &b) : 0;
    return s;
}

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

/* Pairs of arrays per second, of all workers. each: triples of arrays that a worker takes in turn. */
static tra_status pairs_per_second(const tra_comm *comm, const char *kernel, int threads, int each, tra_dtype t,
                                   double *rate, tra_err *e) {
    tra_arena *arena = tra_arena_new();
    int n = threads * each;
    work w = {.each = each, .done = tra_news(arena, int64_t, threads)};
    w.a = tra_news(arena, tra_array, n), w.b = tra_news(arena, tra_array, n), w.c = tra_news(arena, tra_array, n);
    tra_status s = tra_kernel_named(arena, kernel, TRA_USE_JOIN, 0, NULL, &w.kernel, e);
    w.contract = s == TRA_OK && (tra_kernel_props(w.kernel) & TRA_P_CONTRACTION);
    for (int i = 0; i < n && s == TRA_OK; i++) {
        if (!make_array(&w.a[i], t) || !make_array(&w.b[i], t) || !make_array(&w.c[i], t))
            s = tra_fail(e, TRA_RESOURCE, "out of memory for arrays to measure with");
    }
    s = agree(comm, s, e);
    if (s == TRA_OK) s = units_per_second(comm, compute, &w, threads, rate, e);
    if (s == TRA_OK && w.contract) *rate /= tra_kernel_tiles(w.kernel, &w.c[0].ext);
    for (int i = 0; i < n; i++) free(w.a[i].data), free(w.b[i].data), free(w.c[i].data);
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

/* One worker's memory, again and again new. */
static tra_status touch(void *ctx, int worker, int64_t item, tra_err *e) {
    const work *w = ctx;
    (void)worker;
    for (; tra_now() < w->until; w->done[item]++) {
        char *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return tra_fail_errno(e, TRA_RESOURCE, "memory to measure with");
        for (int64_t at = 0; at < ROOM; at += PAGE) ((volatile char *)p)[at] = 1;
        munmap(p, ROOM);
    }
    return TRA_OK;
}

tra_status tra_measure_touch(const tra_comm *comm, int threads, double *rate, tra_err *e) {
    work w = {.done = tra_calloc((size_t)threads, sizeof *w.done)};
    tra_status s = units_per_second(comm, touch, &w, threads, rate, e);
    *rate *= ROOM;
    free(w.done);
    return s;
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

tra_status tra_measure_unhidden(const tra_comm *comm, int threads, double network, double flops, double *share,
                                tra_err *e) {
    enum { TIMES = 3 }; /* of which the middle one counts */
    *share = -1;
    if (comm->size == 1) return TRA_OK;
    tra_arena *arena = tra_arena_new();
    traffic t;
    work w = {.a = tra_news(arena, tra_array, threads),
              .b = tra_news(arena, tra_array, threads),
              .c = tra_news(arena, tra_array, threads)};
    tra_status s = make_traffic(comm, &t, e);
    t.fresh = true;
    if (s == TRA_OK) s = tra_kernel_named(arena, "matmul", TRA_USE_JOIN, 0, NULL, &w.kernel, e);
    for (int i = 0; i < threads && s == TRA_OK; i++) {
        if (!make_array(&w.a[i], TRA_F64) || !make_array(&w.b[i], TRA_F64) || !make_array(&w.c[i], TRA_F64))
            s = tra_fail(e, TRA_RESOURCE, "out of memory for arrays to measure with");
    }
    s = agree(comm, s, e);
    if (s == TRA_OK) { /* as many rounds as take a while, and products for as long: alone, then both at once */
        w.each = tra_kernel_tiles(w.kernel, &w.c[0].ext);
        int64_t n = tra_max64(1, (int64_t)(LONG * network / round_bytes(comm, &t)));
        tra_comm_max(comm, &n, 1);
        double alone = (double)n * round_bytes(comm, &t) / network;
        int64_t tiles = tra_max64(1, (int64_t)(alone * flops / (2.0 * SIDE * SIDE * SIDE) * w.each));
        int64_t ns[TIMES];
        tra_crew *crew = tra_crew_new(threads);
        for (int i = 0; i < TIMES && s == TRA_OK; i++) {
            wait_quietly(comm);
            double from = tra_now();
            tra_crew_begin(crew, one_tile, &w, 0, tiles);
            rounds(comm, &t, n);
            s = tra_crew_wait(crew, e);
            ns[i] = (int64_t)((tra_now() - from) * 1e9);
            tra_comm_max(comm, &ns[i], 1);
        }
        qsort(ns, TIMES, sizeof *ns, by_size);
        double more = (double)ns[TIMES / 2] * 1e-9 / alone - 1;
        *share = more < 0 ? 0 : more > 1 ? 1 : more;
        tra_crew_free(crew);
    }
    for (int i = 0; i < threads; i++) free(w.a[i].data), free(w.b[i].data), free(w.c[i].data);
    free_traffic(&t);
    tra_arena_free(arena);
    return agree(comm, s, e);
}
