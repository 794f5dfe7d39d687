/* record.c - what a site did, in buckets of time. */
#include "record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEWEST = 16, MOST_NUMBERS = 1 << 16 }; /* buckets; numbers of a site that are brought together */
static const double FINEST = 0.5e-3;          /* seconds of a bucket at first */

const char *tra_doing_text(tra_doing what) {
    static const char *const text[] = {
#define X(name, text) text,
        TRA_DOINGS(X)
#undef X
    };
    return text[what];
}

const char *tra_counter_text(tra_counter c) {
    static const char *const text[] = {
#define X(name, text) text,
        TRA_COUNTERS(X)
#undef X
    };
    return text[c];
}

const char *tra_phase_text(tra_phase p) {
    static const char *const text[] = {
#define X(name, key, text) text,
        TRA_PHASES(X)
#undef X
    };
    return text[p];
}

const char *tra_phase_key(tra_phase p) {
    static const char *const key[] = {
#define X(name, key, text) key,
        TRA_PHASES(X)
#undef X
    };
    return key[p];
}

/* The operator that has most of the time of a bucket, as far as one place tells. */
typedef struct longest {
    int op; /* + 1 */
    int64_t ns;
} longest;

struct tra_track {
    double begun, width; /* of the record; of a bucket */
    double since, last;  /* now began; the bucket `at` ends */
    int at;
    tra_doing now;
    int op; /* for which; -1: for none */
    int nops;
    pthread_t who;     /* whose clock was read last, */
    double had, asked; /* its seconds, and those for which the thread had computed then; */
    double share;      /* of the time to compute, in which the thread had a processor */
    /* Seconds of each operator, and at nops for none; as far as buckets have them. */
    double (*spent)[TRA_DOINGS_COUNT], (*told)[TRA_DOINGS_COUNT];
    int64_t did[TRA_TIME_BUCKETS][TRA_DOINGS_COUNT]; /* nanoseconds */
    longest most[TRA_TIME_BUCKETS];                  /* of what is no waiting for work */
};

typedef struct moment {
    longest most;
    int64_t memory;
    int64_t counter[TRA_COUNTERS_COUNT];
} moment;

struct tra_record {
    double begun, width, sampled, first, last; /* of the bucket `at` */
    double ended, due;                         /* the operator that was added last; when the next is */
    int at;
    double made; /* when there was a record */
    double phase[TRA_PHASES_COUNT];
    int64_t counted[TRA_COUNTERS_COUNT]; /* at the last sample */
    moment v[TRA_TIME_BUCKETS];
    int ntracks;
    tra_track *tracks;
};

/* ---- a thread -------------------------------------------------------------------------------------------------- */

static void add_op(longest *m, int op, int64_t ns) {
    if (m->op == op + 1)
        m->ns += ns;
    else if (ns > m->ns)
        m->op = op + 1, m->ns = ns;
}

/* That of two buckets that become one. */
static longest longer(const longest *a, const longest *b) {
    longest m = a->ns >= b->ns ? *a : *b;
    if (a->op == b->op) m.ns = a->ns + b->ns;
    return m;
}

static void widen_track(tra_track *t) {
    for (int i = 0; i < TRA_TIME_BUCKETS; i++) {
        for (int k = 0; k < TRA_DOINGS_COUNT; k++) {
            int64_t v = t->did[i][k];
            t->did[i][k] = 0;
            t->did[i / 2][k] += v;
        }
        if (i % 2) t->most[i / 2] = longer(&t->most[i - 1], &t->most[i]);
    }
    memset(&t->most[TRA_TIME_BUCKETS / 2], 0, TRA_TIME_BUCKETS / 2 * sizeof *t->most);
    t->width *= 2;
    t->at /= 2;
    t->last = t->begun + t->width * (t->at + 1);
}

static inline void spend(tra_track *t, double seconds) { t->spent[t->op >= 0 ? t->op : t->nops][t->now] += seconds; }

/* Sets the share of its time to compute in which the calling thread had a processor since the last call. It is its own
 * track. */
static void ask_share(tra_track *t, double now) {
    struct timespec clock;
    double all = t->now == TRA_DO_COMPUTE ? now - t->since : 0;
    bool same = pthread_equal(t->who, pthread_self());
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &clock) != 0) return;
    for (int op = 0; op <= t->nops; op++) all += t->spent[op][TRA_DO_COMPUTE];
    double computed = all - t->asked, had = (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec, since = had - t->had;
    t->share = same && since < computed ? since / computed : 1;
    t->had = had, t->asked = all, t->who = pthread_self();
}

/* Gives the bucket what was spent since the last one was given. */
static void settle(tra_track *t) {
    for (int op = 0; op <= t->nops; op++) {
        int64_t busy = 0;
        if (memcmp(t->spent[op], t->told[op], sizeof *t->spent) == 0) continue;
        for (int k = 0; k < TRA_DOINGS_COUNT; k++) {
            int64_t ns = (int64_t)((t->spent[op][k] - t->told[op][k]) * 1e9);
            t->told[op][k] = t->spent[op][k];
            int64_t had = k == TRA_DO_COMPUTE ? (int64_t)(t->share * (double)ns) : ns;
            t->did[t->at][k] += had;
            t->did[t->at][TRA_DO_AWAIT_PROCESSOR] += ns - had;
            busy += k == TRA_DO_AWAIT_WORK ? 0 : ns;
        }
        if (busy > 0) add_op(&t->most[t->at], op < t->nops ? op : -1, busy);
    }
}

/* Goes on to the bucket of this time. */
static void advance(tra_track *t, double now) {
    ask_share(t, now);
    while (now >= t->last) {
        if (t->last > t->since) spend(t, t->last - t->since), t->since = t->last;
        settle(t);
        if (t->at + 1 == TRA_TIME_BUCKETS) widen_track(t);
        t->at++;
        t->last = t->begun + t->width * (t->at + 1);
    }
}

static inline void end_span(tra_track *t, double now) {
    if (now >= t->last) advance(t, now);
    if (now <= t->since) return;
    spend(t, now - t->since);
    t->since = now;
}

/* What was done before there was a record. */
static void add_before(tra_track *t, tra_doing what, double from, double to) {
    for (int i = 0; i <= t->at; i++) {
        double begin = t->begun + t->width * i, end = begin + t->width;
        double seconds = (end < to ? end : to) - (begin > from ? begin : from);
        if (seconds > 0) t->did[i][what] += (int64_t)(seconds * 1e9);
    }
}

int tra_track_op(const tra_track *t) { return t ? t->op : -1; }

tra_doing tra_track_do_for(tra_track *t, tra_doing what, int op, double now) {
    if (!t || (what == t->now && op == t->op)) return what;
    tra_doing before = t->now;
    end_span(t, now > 0 ? now : tra_now());
    t->now = what, t->op = op;
    return before;
}

tra_doing tra_track_do_at(tra_track *t, tra_doing what, double now) {
    return tra_track_do_for(t, what, tra_track_op(t), now);
}

tra_doing tra_track_do(tra_track *t, tra_doing what) { return tra_track_do_at(t, what, 0); }

/* ---- a site ---------------------------------------------------------------------------------------------------- */

tra_record *tra_record_new(int workers, int nops, double begun) {
    tra_record *r = tra_calloc(1, sizeof *r);
    r->begun = begun;
    r->width = FINEST;
    r->ntracks = workers + 1;
    r->tracks = tra_calloc((size_t)r->ntracks, sizeof *r->tracks);
    double now = r->made = tra_now();
    for (int i = 0; i < r->ntracks; i++) {
        r->tracks[i] = (tra_track){.begun = begun,
                                   .since = i ? begun : now,
                                   .width = FINEST,
                                   .last = begun + FINEST,
                                   .now = i ? TRA_DO_AWAIT_WORK : TRA_DO_COMPUTE,
                                   .op = -1,
                                   .who = pthread_self(),
                                   .share = 1,
                                   .nops = nops,
                                   .spent = tra_calloc((size_t)nops + 1, sizeof *r->tracks->spent),
                                   .told = tra_calloc((size_t)nops + 1, sizeof *r->tracks->told)};
        end_span(&r->tracks[i], now);
    }
    return r;
}

void tra_record_free(tra_record *r) {
    if (!r) return;
    for (int i = 0; i < r->ntracks; i++) {
        free(r->tracks[i].spent);
        free(r->tracks[i].told);
    }
    free(r->tracks);
    free(r);
}

tra_track *tra_record_track(tra_record *r, int w) { return r ? &r->tracks[w + 1] : NULL; }

/* Two buckets become one. */
static void merge(moment *to, const moment *a, const moment *b) {
    moment m = {.most = longer(&a->most, &b->most), .memory = tra_max64(a->memory, b->memory)};
    for (int k = 0; k < TRA_COUNTERS_COUNT; k++) m.counter[k] = a->counter[k] + b->counter[k];
    *to = m;
}

static void widen(tra_record *r) {
    for (int i = 0; i < TRA_TIME_BUCKETS / 2; i++) merge(&r->v[i], &r->v[2 * i], &r->v[2 * i + 1]);
    memset(&r->v[TRA_TIME_BUCKETS / 2], 0, TRA_TIME_BUCKETS / 2 * sizeof *r->v);
    r->width *= 2;
    r->last = 0; /* so that the next operator looks for its bucket */
}

/* The bucket of a time since the record began. */
static int bucket_at(tra_record *r, double at) {
    if (at < 0) at = 0;
    while (at >= r->width * TRA_TIME_BUCKETS) widen(r);
    return (int)tra_min64((int64_t)(at / r->width), TRA_TIME_BUCKETS - 1);
}

double tra_record_op(tra_record *r, int op, double from, double to) {
    enum { SHORT = 64 }; /* of what takes less than such a part of a bucket the one that ends when it is due stands */
    tra_phase phase;
    if (!r || to <= from) return 0;
    if (op >= 0 && r->due > from) from = r->ended; /* for all since then */
    r->ended = to, r->due = to + r->width / SHORT;
    if (op >= 0 && from >= r->first && to < r->last) { /* most are short */
        add_op(&r->v[r->at].most, op, (int64_t)((to - from) * 1e9));
        return r->due;
    }
    if (tra_op_is_phase(op, &phase)) {
        r->phase[phase] += to - from;
        if (to <= r->made)
            add_before(&r->tracks[0], phase == TRA_PHASE_START ? TRA_DO_AWAIT_WORK : TRA_DO_COMPUTE, from, to);
    }
    int last = bucket_at(r, to - r->begun), first = bucket_at(r, from - r->begun);
    for (int i = first; i <= last; i++) {
        double begin = r->begun + r->width * i, end = begin + r->width;
        add_op(&r->v[i].most, op, (int64_t)(((end < to ? end : to) - (begin > from ? begin : from)) * 1e9));
        r->at = i, r->first = begin, r->last = end;
    }
    return r->due;
}

tra_op_seconds tra_record_seconds(const tra_record *r, int op) {
    tra_op_seconds sum = {0};
    for (int k = 0; k < r->ntracks; k++) {
        const tra_track *t = &r->tracks[k];
        for (int i = 0; i < TRA_DO_AWAIT_WORK; i++) sum.worked += t->spent[op][i];
        sum.computed += t->spent[op][TRA_DO_COMPUTE];
    }
    return sum;
}

bool tra_record_wants_sample(const tra_record *r, double now) { return r && now - r->sampled > r->width; }

void tra_record_sample(tra_record *r, int64_t memory, const int64_t counters[TRA_COUNTERS_COUNT]) {
    double now = tra_now();
    int last = bucket_at(r, now - r->begun), first = r->sampled > 0 ? bucket_at(r, r->sampled - r->begun) : last;
    r->v[last].memory = tra_max64(r->v[last].memory, memory);
    for (int k = 0; k < TRA_COUNTERS_COUNT; k++) { /* what came since then came evenly, for all that is known */
        int64_t bytes = tra_max64(0, counters[k] - r->counted[k]), n = last - first + 1;
        for (int i = first; i <= last; i++) r->v[i].counter[k] += bytes / n + (i == last ? bytes % n : 0);
        r->counted[k] = tra_max64(r->counted[k], counters[k]);
    }
    r->sampled = now;
}

/* ---- all sites ------------------------------------------------------------------------------------------------- */

tra_timeline tra_timeline_new(int sites, int threads, int buckets, double width) {
    tra_timeline t = {.sites = sites, .threads = threads, .buckets = buckets, .width = width};
    t.fields = tra_timeline_did(threads, 0);
    t.v = tra_calloc((size_t)sites * (size_t)buckets * (size_t)t.fields + 1, sizeof *t.v);
    return t;
}

void tra_timeline_free(tra_timeline *t) {
    free(t->v);
    *t = (tra_timeline){0};
}

static int64_t bits_of(double v) {
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Makes buckets of the record at least so wide. */
static void widen_to(tra_record *r, double width) {
    while (r->width < width) widen(r);
    for (int i = 0; i < r->ntracks; i++)
        while (r->tracks[i].width < width) widen_track(&r->tracks[i]);
}

/* This site's part of the timeline, whose buckets are as wide as the record's. */
static void fill(const tra_record *r, const tra_timeline *t) {
    for (int b = 0; b < t->buckets; b++) {
        *tra_timeline_at(t, 0, b, TRA_TL_OP) = r->v[b].most.op;
        *tra_timeline_at(t, 0, b, TRA_TL_MEMORY) = r->v[b].memory;
        for (int k = 0; k < TRA_COUNTERS_COUNT; k++) *tra_timeline_at(t, 0, b, TRA_TL_COUNTER + k) = r->v[b].counter[k];
        for (int i = 0; i < r->ntracks; i++) {
            for (int k = 0; k < TRA_DOINGS_COUNT; k++)
                *tra_timeline_at(t, 0, b, tra_timeline_did(i, (tra_doing)k)) = r->tracks[i].did[b][k];
            *tra_timeline_at(t, 0, b, tra_timeline_for(i)) = r->tracks[i].most[b].op;
        }
    }
}

tra_timeline tra_timeline_gather(const tra_comm *comm, tra_record *r) {
    if (!r) return (tra_timeline){0};
    double now = tra_now(), width = r->width;
    for (int i = 0; i < r->ntracks; i++) {
        tra_track *t = &r->tracks[i];
        end_span(t, now);
        settle(t);
        if (t->width > width) width = t->width;
    }
    int64_t most[2] = {bits_of(width),
                       bits_of(now - r->begun)}; /* of positive numbers the order of the bits is theirs */
    tra_comm_max(comm, most, 2);
    double spent;
    memcpy(&width, &most[0], sizeof width);
    memcpy(&spent, &most[1], sizeof spent);
    int64_t fields = tra_timeline_did(r->ntracks, 0), room = MOST_NUMBERS / fields / tra_max64(1, comm->size / 8);
    while (spent / width > (double)tra_max64(FEWEST, room)) width *= 2;
    widen_to(r, width);
    int buckets = (int)tra_min64((int64_t)(spent / width) + 1, TRA_TIME_BUCKETS);
    tra_timeline mine = tra_timeline_new(1, r->ntracks, buckets, width);
    tra_timeline all = tra_timeline_new(comm->size, r->ntracks, buckets, width);
    memcpy(all.phase, r->phase, sizeof all.phase);
    fill(r, &mine);
    int64_t each = (int64_t)buckets * mine.fields;
    tra_comm_gather(comm, mine.v, all.v, each);
    tra_timeline_free(&mine);
    return all;
}
