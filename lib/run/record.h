/* record.h - what a site did, and when: of each thread, of memory, disk and network, over the time of a run.
 *
 * The time is cut in at most TRA_TIME_BUCKETS buckets of equal width. When a run takes longer, two buckets become one,
 * and each is twice as wide: so a record has the same size however long the run is.
 */
#ifndef TRA_RECORD_H
#define TRA_RECORD_H

#include "comm.h"

enum { TRA_TIME_BUCKETS = 256 };

/* What a thread does: name in JSON and in pictures. */
#define TRA_DOINGS(X)                                                                                                  \
    X(COMPUTE, "compute") /* of the main thread: it plans units of work and hands them out */                          \
    X(READ, "read")                                                                                                    \
    X(WRITE, "write")                                                                                                  \
    X(EXCHANGE, "exchange")                                                                                            \
    X(AWAIT_TURN, "wait_for_turn") /* for another worker's term of the same sum */                                     \
    X(AWAIT_MEMORY, "wait_for_memory")                                                                                 \
    X(AWAIT_PROCESSOR, "wait_for_processor") /* it would compute: of each bucket what the thread's clock lacks */      \
    X(AWAIT_WORK, "wait_for_work") /* of a worker: inputs are not there; of the main thread: workers are busy */
typedef enum tra_doing {
#define X(name, text) TRA_DO_##name,
    TRA_DOINGS(X)
#undef X
        TRA_DOINGS_COUNT
} tra_doing;
const char *tra_doing_text(tra_doing what);

/* What a process does before the first operator of a plan and after the last: names in JSON and in pictures. */
#define TRA_PHASES(X)                                                                                                  \
    X(START, "start", "start up")                                                                                      \
    X(CONVERT, "convert", "convert inputs") /* of other formats */                                                     \
    X(PLAN, "plan", "read the program, plan it")                                                                       \
    X(COMPILE, "compile", "compile kernels")                                                                           \
    X(OPEN, "open", "open files")                                                                                      \
    X(PLACE, "place", "put outputs in place")                                                                          \
    X(EXPORT, "export", "write outputs in other formats")                                                              \
    X(ATTEMPT, "attempt", "a run that found more rows") /* and was planned again; before all but START and CONVERT */
typedef enum tra_phase {
#define X(name, key, text) TRA_PHASE_##name,
    TRA_PHASES(X)
#undef X
        TRA_PHASES_COUNT
} tra_phase;
const char *tra_phase_text(tra_phase p);
const char *tra_phase_key(tra_phase p); /* its name in JSON */
/* In place of an operator: phase p, and back. */
static inline int tra_phase_op(tra_phase p) { return -2 - (int)p; }
static inline bool tra_op_is_phase(int op, tra_phase *p) {
    *p = (tra_phase)(-2 - op);
    return op <= -2 && op > -2 - TRA_PHASES_COUNT;
}

/* What is counted over time: bytes since the run began. */
#define TRA_COUNTERS(X)                                                                                                \
    X(READ, "disk_read_bytes")                                                                                         \
    X(SPILLED, "spilled_bytes") /* to scratch, and read back from there */                                             \
    X(WRITTEN, "disk_write_bytes")                                                                                     \
    X(SENT, "network_bytes")                                                                                           \
    X(RECEIVED, "received_bytes")
typedef enum tra_counter {
#define X(name, text) TRA_COUNTER_##name,
    TRA_COUNTERS(X)
#undef X
        TRA_COUNTERS_COUNT
} tra_counter;
const char *tra_counter_text(tra_counter c);

/* What one thread does, and for which operator. Only that thread writes it. */
typedef struct tra_track tra_track;
/* The thread begins to do this, and has ended what it did before, which is returned. t NULL: nothing is recorded. The
 * clock is asked only where it begins something else. */
tra_doing tra_track_do(tra_track *t, tra_doing what);
/* The same for a caller that has just asked the clock; now 0: it has not. */
tra_doing tra_track_do_at(tra_track *t, tra_doing what, double now);
/* The same, from now on for operator op; -1: for none. */
tra_doing tra_track_do_for(tra_track *t, tra_doing what, int op, double now);
int tra_track_op(const tra_track *t); /* for which it does that */

/* The record of a site. */
typedef struct tra_record tra_record;
/* nops: operators of the plan. begun: by tra_now, when the process began. All that its threads do before this call are
 * the phases that are added. */
tra_record *tra_record_new(int workers, int nops, double begun);
void tra_record_free(tra_record *r); /* NULL is allowed */
/* Of worker w; w -1: of the main thread. */
tra_track *tra_record_track(tra_record *r, int w);
/* The main thread calls these. Operator or phase `op` ran; memory of the process, and counters. r NULL: nothing.
 * Returns until when operators that end are so short that they need not be told. */
double tra_record_op(tra_record *r, int op, double from, double to);
/* Seconds in which threads did anything for operator op but wait for work, and computed for it. The workers have ended.
 */
typedef struct tra_op_seconds {
    double worked, computed;
} tra_op_seconds;
tra_op_seconds tra_record_seconds(const tra_record *r, int op);
bool tra_record_wants_sample(const tra_record *r, double now); /* a while after the one before */
void tra_record_sample(tra_record *r, int64_t memory, const int64_t counters[TRA_COUNTERS_COUNT]);

/* The records of all sites, or what a file has of them. A site has `fields` numbers for each bucket: these, then of
 * each thread nanoseconds of what it did, tra_timeline_did, and for which operator most of it, tra_timeline_for. */
enum {
    TRA_TL_OP,
    TRA_TL_MEMORY,
    TRA_TL_COUNTER
}; /* operator or phase + 1, 0: none; bytes, 0: not known; bytes in it */
typedef struct tra_timeline {
    int sites, threads; /* threads: workers of a site, and its main thread, which is the first */
    int buckets;        /* 0: nothing was recorded */
    int fields;
    double width;                   /* seconds of a bucket */
    double phase[TRA_PHASES_COUNT]; /* seconds of each, on this site */
    int64_t *v;                     /* [sites][buckets][fields], from malloc */
} tra_timeline;
tra_timeline tra_timeline_new(int sites, int threads, int buckets, double width);
static inline int64_t *tra_timeline_at(const tra_timeline *t, int site, int bucket, int field) {
    return &t->v[((int64_t)site * t->buckets + bucket) * t->fields + field];
}
static inline int tra_timeline_did(int thread, tra_doing what) {
    return TRA_TL_COUNTER + TRA_COUNTERS_COUNT + thread * (TRA_DOINGS_COUNT + 1) + (int)what;
}
static inline int tra_timeline_for(int thread) { return tra_timeline_did(thread, TRA_DOINGS_COUNT); } /* + 1, 0: none */
/* Brings the records of all ranks together; every rank gets them. Collective; the threads have ended. r NULL on all:
 * nothing was recorded. */
tra_timeline tra_timeline_gather(const tra_comm *comm, tra_record *r);
void tra_timeline_free(tra_timeline *t);

#endif
