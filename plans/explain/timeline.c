/* timeline.c - what the sites of a run did over time: in files of run --profile, and as a trace that Perfetto and
 * chrome://tracing open. */
#include <stdlib.h>
#include <string.h>

#include "explain_int.h"

enum { MOST_THREADS = 4096 };

/* ---- JSON --------------------------------------------------------------------------------------------------- */

/* A figure of all buckets as an array, unless nothing is known of any: then figures are 0, and operators -1. */
static void series(tra_json *j, const char *key, const tra_timeline *t, int site, int field, bool ops, int64_t *v) {
    bool any = false;
    for (int b = 0; b < t->buckets; b++) {
        any |= *tra_timeline_at(t, site, b, field) != 0;
        v[b] = *tra_timeline_at(t, site, b, field) - ops;
    }
    if (any) tra_json_ints(j, key, t->buckets, v);
}

void tra_json_timeline(tra_json *j, const tra_timeline *t) {
    int64_t v[TRA_TIME_BUCKETS];
    if (t->buckets == 0) return;
    tra_json_begin(j, "timeline", '{');
    tra_json_num(j, "bucket_seconds", t->width);
    tra_json_int(j, "buckets", t->buckets);
    tra_json_int(j, "threads", t->threads);
    tra_json_begin(j, "phases", '{');
    for (int k = 0; k < TRA_PHASES_COUNT; k++) tra_json_num(j, tra_phase_key((tra_phase)k), t->phase[k]);
    tra_json_end(j, '}');
    tra_json_begin(j, "sites", '[');
    for (int s = 0; s < t->sites; s++) {
        tra_json_begin(j, NULL, '{');
        series(j, "operator", t, s, TRA_TL_OP, true, v);
        series(j, "memory_bytes", t, s, TRA_TL_MEMORY, false, v);
        for (int k = 0; k < TRA_COUNTERS_COUNT; k++)
            series(j, tra_counter_text((tra_counter)k), t, s, TRA_TL_COUNTER + k, false, v);
        tra_json_begin(j, "threads", '[');
        for (int i = 0; i < t->threads; i++) {
            tra_json_begin(j, NULL, '{');
            series(j, "operator", t, s, tra_timeline_for(i), true, v);
            for (int k = 0; k < TRA_DOINGS_COUNT; k++)
                series(j, tra_doing_text((tra_doing)k), t, s, tra_timeline_did(i, (tra_doing)k), false, v);
            tra_json_end(j, '}');
        }
        tra_json_end(j, ']');
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
    tra_json_end(j, '}');
}

/* The value at a path, from malloc; NULL: there is none. */
static char *member(const char *json, const char *path) {
    size_t n;
    const char *at = json ? tra_json_find(json, path, &n) : NULL;
    char *copy = at ? tra_malloc(n + 1) : NULL;
    if (copy) memcpy(copy, at, n), copy[n] = 0;
    return copy;
}

static bool number(const char *json, const char *path, double *v) {
    char *text = member(json, path);
    bool ok = text && tra_parse_num(text, v) && *v >= 0;
    free(text);
    return ok;
}

/* Reads an array of one number for each bucket, from `least` to `most`; where there is none they stay 0. Operators, of
 * which the least is no figure, are kept + 1. */
static bool read_series(const char *json, const char *key, tra_timeline *t, int site, int field, int64_t least,
                        int64_t most) {
    char *text = member(json, key), *p = text ? strchr(text, '[') : NULL;
    bool ok = !text || p;
    for (int b = 0; b < t->buckets && p && ok; b++) {
        char *end;
        int64_t v = strtoll(p + 1, &end, 10);
        ok = end > p + 1 && v >= least && v <= most && (*end == ',' || (*end == ']' && b == t->buckets - 1));
        *tra_timeline_at(t, site, b, field) = v + (least < 0);
        p = end;
    }
    free(text);
    return ok;
}

static bool read_site(const char *json, tra_timeline *t, int site, int nops) {
    char path[64];
    const int64_t any = INT64_MAX / 4;
    const int64_t first = tra_phase_op((tra_phase)(TRA_PHASES_COUNT - 1));
    bool ok = json && read_series(json, "operator", t, site, TRA_TL_OP, first, nops - 1) &&
              read_series(json, "memory_bytes", t, site, TRA_TL_MEMORY, 0, any);
    for (int k = 0; k < TRA_COUNTERS_COUNT && ok; k++)
        ok = read_series(json, tra_counter_text((tra_counter)k), t, site, TRA_TL_COUNTER + k, 0, any);
    for (int i = 0; i < t->threads && ok; i++) {
        snprintf(path, sizeof path, "threads.%d", i);
        char *thread = member(json, path);
        ok = thread && read_series(thread, "operator", t, site, tra_timeline_for(i), -1, nops - 1);
        for (int k = 0; k < TRA_DOINGS_COUNT && ok; k++)
            ok = read_series(thread, tra_doing_text((tra_doing)k), t, site, tra_timeline_did(i, (tra_doing)k), 0, any);
        free(thread);
    }
    return ok;
}

bool tra_timeline_read(const char *json, int sites, int nops, tra_timeline *out) {
    char path[64];
    double buckets, threads, width;
    char *all = member(json, "timeline");
    *out = (tra_timeline){0};
    if (!all) return true; /* by a tra that recorded none */
    bool ok = number(all, "buckets", &buckets) && buckets >= 1 && buckets <= TRA_TIME_BUCKETS &&
              number(all, "threads", &threads) && threads >= 1 && threads <= MOST_THREADS &&
              number(all, "bucket_seconds", &width) && width > 0;
    if (ok) *out = tra_timeline_new(sites, (int)threads, (int)buckets, width);
    for (int k = 0; k < TRA_PHASES_COUNT && ok; k++) { /* an older tra wrote none */
        snprintf(path, sizeof path, "phases.%s", tra_phase_key((tra_phase)k));
        if (!number(all, path, &out->phase[k])) out->phase[k] = 0;
    }
    for (int s = 0; s < sites && ok; s++) {
        snprintf(path, sizeof path, "sites.%d", s);
        char *site = member(all, path);
        ok = read_site(site, out, s, nops);
        free(site);
    }
    free(all);
    if (!ok) tra_timeline_free(out);
    return ok;
}

/* ---- Trace Event JSON --------------------------------------------------------------------------------------- */

typedef struct trace {
    tra_json j;
    const tra_shown_plan *plan;
    const tra_profile *m;
    const tra_timeline *t;
} trace;

static int64_t micros(const trace *x, int bucket) { return (int64_t)(x->t->width * bucket * 1e6); }

static void begin_event(trace *x, const char *kind, const char *name, int site, int thread) {
    tra_json_begin(&x->j, NULL, '{');
    tra_json_str(&x->j, "ph", kind);
    tra_json_str(&x->j, "name", name);
    tra_json_int(&x->j, "pid", site);
    tra_json_int(&x->j, "tid", thread);
}

static void name_event(trace *x, const char *what, int site, int thread, const char *name) {
    begin_event(x, "M", what, site, thread);
    tra_json_begin(&x->j, "args", '{');
    tra_json_str(&x->j, "name", name);
    tra_json_end(&x->j, '}');
    tra_json_end(&x->j, '}');
}

/* A complete event from one microsecond to another. */
static void complete(trace *x, const char *name, const char *category, int site, int thread, int64_t from, int64_t to) {
    if (to <= from) return;
    begin_event(x, "X", name, site, thread);
    tra_json_str(&x->j, "cat", category);
    tra_json_int(&x->j, "ts", from);
    tra_json_int(&x->j, "dur", to - from);
    tra_json_end(&x->j, '}');
}

char *tra_timeline_op_text(const tra_shown_plan *s, int op, char *buf, size_t n) {
    tra_phase phase;
    if (tra_op_is_phase(op, &phase))
        snprintf(buf, n, "%s", tra_phase_text(phase));
    else
        snprintf(buf, n, "#%d %s%s%.80s", op, tra_plan_op_text(s->ops[op].op->op), s->ops[op].relation ? " " : "",
                 s->ops[op].relation ? s->ops[op].relation : "");
    return buf;
}

int tra_timeline_op(const tra_shown_plan *s, const tra_timeline *t, int site, int bucket) {
    int op = (int)*tra_timeline_at(t, site, bucket, TRA_TL_OP) - 1;
    for (int i = 1; op >= 0 && i < t->threads; i++) {
        int inside = (int)*tra_timeline_at(t, site, bucket, tra_timeline_for(i)) - 1;
        if (inside >= 0 && s->ops[inside].stage == op) return inside;
    }
    return op;
}

/* For which operator a thread did most in the bucket, or which phase it was. */
static int op_of(const trace *x, int site, int thread, int bucket) {
    int own = (int)*tra_timeline_at(x->t, site, bucket, tra_timeline_for(thread)) - 1;
    return own >= 0 ? own : (int)*tra_timeline_at(x->t, site, bucket, TRA_TL_OP) - 1;
}

/* Does the thread do anything but wait in the bucket? */
static bool is_busy(const trace *x, int site, int thread, int bucket) {
    for (int k = 0; k < TRA_DO_AWAIT_WORK; k++)
        if (*tra_timeline_at(x->t, site, bucket, tra_timeline_did(thread, (tra_doing)k)) > 0) return true;
    return false;
}

/* What a thread did, in buckets from..to: of a bucket, in which one is not told from the other, one after the other. */
static void doings(trace *x, int site, int thread, int from, int to) {
    int64_t begun = micros(x, from), last = begun;
    int now = -1;
    for (int b = from; b < to; b++) {
        int64_t at = micros(x, b), end = micros(x, b + 1);
        if (at > last) now = -1;
        for (int k = 0; k < TRA_DOINGS_COUNT; k++) {
            int64_t took = *tra_timeline_at(x->t, site, b, tra_timeline_did(thread, (tra_doing)k)) / 1000;
            if (took <= 0 || k == TRA_DO_AWAIT_WORK) continue;
            took = tra_min64(took, end - at);
            if (now != k || at != last) {
                if (now >= 0) complete(x, tra_doing_text((tra_doing)now), "doing", site, thread, begun, last);
                begun = at;
            }
            now = k;
            last = at += took;
        }
    }
    if (now >= 0) complete(x, tra_doing_text((tra_doing)now), "doing", site, thread, begun, last);
}

/* The operators, one after the other, and in each what the thread did while it ran. */
static void thread_events(trace *x, int site, int thread) {
    char name[128];
    for (int b = 0, end; b < x->t->buckets; b = end) {
        int op = op_of(x, site, thread, b);
        bool busy = thread == 0 || is_busy(x, site, thread, b);
        end = b + 1;
        if (op == -1 || !busy) continue;
        while (end < x->t->buckets && op_of(x, site, thread, end) == op &&
               (thread == 0 || is_busy(x, site, thread, end)))
            end++;
        complete(x, tra_timeline_op_text(x->plan, op, name, sizeof name), op < 0 ? "phase" : "operator", site, thread,
                 micros(x, b), micros(x, end));
        doings(x, site, thread, b, end);
    }
}

static void counter(trace *x, const char *name, int site, int bucket, int n, const char *const keys[],
                    const double values[]) {
    begin_event(x, "C", name, site, 0);
    tra_json_int(&x->j, "ts", micros(x, bucket));
    tra_json_begin(&x->j, "args", '{');
    for (int i = 0; i < n; i++) tra_json_num(&x->j, keys[i], values[i]);
    tra_json_end(&x->j, '}');
    tra_json_end(&x->j, '}');
}

static void counters(trace *x, const tra_job *job, int site) {
    static const char *const memory[] = {"held", "ceiling"}, *const disk[] = {"read", "written", "scratch"},
                             *const network[] = {"sent", "received"};
    double per = 1 / x->t->width;
    for (int b = 0; b < x->t->buckets; b++) {
        double c[TRA_COUNTERS_COUNT], held = (double)*tra_timeline_at(x->t, site, b, TRA_TL_MEMORY);
        for (int k = 0; k < TRA_COUNTERS_COUNT; k++)
            c[k] = per * (double)*tra_timeline_at(x->t, site, b, TRA_TL_COUNTER + k);
        if (held > 0)
            counter(x, "memory, bytes", site, b, job->options.memory > 0 ? 2 : 1, memory,
                    (double[]){held, (double)job->options.memory});
        counter(x, "disk, bytes/s", site, b, 3, disk,
                (double[]){c[TRA_COUNTER_READ], c[TRA_COUNTER_WRITTEN], c[TRA_COUNTER_SPILLED]});
        if (x->t->sites > 1)
            counter(x, "network, bytes/s", site, b, 2, network,
                    (double[]){c[TRA_COUNTER_SENT], c[TRA_COUNTER_RECEIVED]});
    }
}

void tra_explain_trace(const tra_job *job, const tra_profile *m, tra_str *out) {
    tra_arena *a = tra_arena_new();
    trace x = {.plan = tra_explain_plan(job, job->plan, a), .m = m, .t = &m->timeline};
    char name[128];
    tra_json_begin(&x.j, NULL, '{');
    tra_json_str(&x.j, "displayTimeUnit", "ms");
    tra_json_begin(&x.j, "otherData", '{');
    tra_json_str(&x.j, "program", job->program.src.name);
    tra_json_num(&x.j, "seconds", m->seconds);
    tra_json_num(&x.j, "predicted_seconds", job->plan->cost.seconds);
    tra_json_end(&x.j, '}');
    tra_json_begin(&x.j, "traceEvents", '[');
    for (int s = 0; s < m->sites; s++) {
        snprintf(name, sizeof name, "site %d on %s", s, m->host[s]);
        name_event(&x, "process_name", s, 0, name);
        for (int i = 0; i < x.t->threads; i++) {
            snprintf(name, sizeof name, i ? "worker %d" : "main thread", i);
            name_event(&x, "thread_name", s, i, name);
        }
        for (int i = 0; i < x.t->threads; i++) thread_events(&x, s, i);
        counters(&x, job, s);
    }
    tra_json_end(&x.j, ']');
    tra_json_end(&x.j, '}');
    tra_str_addn(out, tra_str_get(&x.j.out), x.j.out.n);
    tra_str_add(out, "\n");
    tra_json_free(&x.j);
    tra_arena_free(a);
}
