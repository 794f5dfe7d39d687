/* record.c - what a site did, in buckets of time. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

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

struct tra_track {
    double begun, width;       /* of the record; of a bucket */
    double since, first, last; /* now began; the bucket `at` */
    int at;
    tra_doing now;
    int64_t did[TRA_TIME_BUCKETS][TRA_DOINGS_COUNT]; /* nanoseconds */
};

typedef struct moment {
    int op; /* that ran longest in the bucket, + 1 */
    int64_t ns;
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

static void widen_track(tra_track *t) {
    for (int i = 0; i < TRA_TIME_BUCKETS; i++) {
        for (int k = 0; k < TRA_DOINGS_COUNT; k++) {
            int64_t v = t->did[i][k];
            t->did[i][k] = 0;
            t->did[i / 2][k] += v;
        }
    }
    t->width *= 2;
    t->last = 0; /* so that the next span looks for its bucket */
}

static void add_span(tra_track *t, tra_doing what, double from, double to) {
    if (from >= t->first && to < t->last) { /* most are short */
        t->did[t->at][what] += (int64_t)((to - from) * 1e9);
        return;
    }
    double begun = t->begun;
    from -= t->begun, to -= t->begun;
    while (to >= t->width * TRA_TIME_BUCKETS) widen_track(t);
    for (int i = (int)(from / t->width); from < to && i < TRA_TIME_BUCKETS; i++) {
        double end = t->width * (i + 1);
        if (end > to) end = to;
        if (end > from) t->did[i][what] += (int64_t)((end - from) * 1e9);
        from = end > from ? end : from;
        t->at = i, t->first = begun + t->width * i, t->last = begun + t->width * (i + 1);
    }
}

static void end_span(tra_track *t, double now) {
    if (now > t->since) add_span(t, t->now, t->since, now);
    t->since = now;
}

tra_doing tra_track_do_at(tra_track *t, tra_doing what, double now) {
    if (!t || what == t->now) return what;
    tra_doing before = t->now;
    end_span(t, now > 0 ? now : tra_now());
    t->now = what;
    return before;
}

tra_doing tra_track_do(tra_track *t, tra_doing what) { return tra_track_do_at(t, what, 0); }

/* ---- a site ---------------------------------------------------------------------------------------------------- */

tra_record *tra_record_new(int workers, double begun) {
    tra_record *r = tra_calloc(1, sizeof *r);
    r->begun = begun;
    r->width = FINEST;
    r->ntracks = workers + 1;
    r->tracks = tra_calloc((size_t)r->ntracks, sizeof *r->tracks);
    double now = r->made = tra_now();
    for (int i = 0; i < r->ntracks; i++)
        r->tracks[i] =
            (tra_track){.begun = begun, .since = now, .width = FINEST, .now = i ? TRA_DO_AWAIT_WORK : TRA_DO_COMPUTE};
    for (int i = 1; i < r->ntracks; i++) add_span(&r->tracks[i], TRA_DO_AWAIT_WORK, begun, now);
    return r;
}

void tra_record_free(tra_record *r) {
    if (!r) return;
    free(r->tracks);
    free(r);
}

tra_track *tra_record_track(tra_record *r, int w) { return r ? &r->tracks[w + 1] : NULL; }

/* Two buckets become one. */
static void merge(moment *to, const moment *a, const moment *b) {
    moment m = a->ns >= b->ns ? *a : *b;
    if (a->op == b->op) m.ns = a->ns + b->ns;
    m.memory = tra_max64(a->memory, b->memory);
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

static void add_op(moment *m, int op, int64_t ns) {
    if (m->op == op + 1)
        m->ns += ns;
    else if (ns > m->ns)
        m->op = op + 1, m->ns = ns;
}

void tra_record_op(tra_record *r, int op, double from, double to) {
    enum { SHORT = 64 }; /* of what takes less than such a part of a bucket the one that ends when it is due stands */
    tra_phase phase;
    if (!r || to <= from || (op >= 0 && to < r->due)) return;
    if (op >= 0 && r->due > from) from = r->ended; /* for all since then */
    r->ended = to, r->due = to + r->width / SHORT;
    if (op >= 0 && from >= r->first && to < r->last) { /* most are short */
        add_op(&r->v[r->at], op, (int64_t)((to - from) * 1e9));
        return;
    }
    if (tra_op_is_phase(op, &phase)) {
        r->phase[phase] += to - from;
        if (to <= r->made)
            add_span(&r->tracks[0], phase == TRA_PHASE_START ? TRA_DO_AWAIT_WORK : TRA_DO_COMPUTE, from, to);
    }
    int last = bucket_at(r, to - r->begun), first = bucket_at(r, from - r->begun);
    for (int i = first; i <= last; i++) {
        double begin = r->begun + r->width * i, end = begin + r->width;
        add_op(&r->v[i], op, (int64_t)(((end < to ? end : to) - (begin > from ? begin : from)) * 1e9));
        r->at = i, r->first = begin, r->last = end;
    }
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
        *tra_timeline_at(t, 0, b, TRA_TL_OP) = r->v[b].op;
        *tra_timeline_at(t, 0, b, TRA_TL_MEMORY) = r->v[b].memory;
        for (int k = 0; k < TRA_COUNTERS_COUNT; k++) *tra_timeline_at(t, 0, b, TRA_TL_COUNTER + k) = r->v[b].counter[k];
        for (int i = 0; i < r->ntracks; i++)
            for (int k = 0; k < TRA_DOINGS_COUNT; k++)
                *tra_timeline_at(t, 0, b, tra_timeline_did(i, (tra_doing)k)) = r->tracks[i].did[b][k];
    }
}

tra_timeline tra_timeline_gather(const tra_comm *comm, tra_record *r) {
    if (!r) return (tra_timeline){0};
    double now = tra_now(), width = r->width;
    for (int i = 0; i < r->ntracks; i++) {
        tra_track *t = &r->tracks[i];
        end_span(t, now);
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
