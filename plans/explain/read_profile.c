/* read_profile.c - reads a file of run --profile, which json.c has written. */
#include "../search/cost.h"
#include "explain_int.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAXBYTES = 1 << 28 }; /* of such a file */

/* A copy of the value at a path of the JSON text, from malloc; NULL if there is none. */
static char *value_at(const char *json, const char *path) {
    size_t n;
    const char *at = tra_json_find(json, path, &n);
    if (!at) return NULL;
    char *copy = tra_malloc(n + 1);
    memcpy(copy, at, n);
    copy[n] = 0;
    return copy;
}

static bool read_number(const char *json, const char *path, double *v) {
    char *text = value_at(json, path);
    bool ok = text && tra_parse_num(text, v);
    free(text);
    return ok;
}

static bool read_int(const char *json, const char *path, int64_t *v) {
    char *text = value_at(json, path);
    bool ok = text && tra_parse_int(text, v);
    free(text);
    return ok;
}

/* Reads a string; false if it does not fit into buf. */
static bool read_string(const char *json, const char *path, char *buf, size_t n) {
    char *text = value_at(json, path);
    size_t len = text ? strlen(text) : 0;
    bool ok = len >= 2 && *text == '"' && len - 2 < n;
    for (const char *c = text + 1; ok && c < text + len - 1; c++) {
        unsigned code;
        if (*c == '\\' && *++c == 'u' && sscanf(c + 1, "%4x", &code) == 1) /* tra escapes control characters alone so */
            *buf++ = (char)code, c += 4;
        else
            *buf++ = *c;
    }
    if (ok) *buf = 0;
    free(text);
    return ok;
}

/* A number that may be missing. */
static bool read_other(const char *json, const char *key, double *out) {
    return !tra_json_find(json, key, &(size_t){0}) || read_number(json, key, out);
}

static bool read_report(const char *json, tra_op_report *r) {
    if (read_int(json, "rows", &r->counted[0]) && !read_int(json, "tuples", &r->counted[1])) return false;
    return read_int(json, "network_bytes", &r->sent) && read_int(json, "received_bytes", &r->received) &&
           read_int(json, "disk_read_bytes", &r->disk_read) && read_int(json, "disk_write_bytes", &r->disk_write) &&
           read_int(json, "spilled_bytes", &r->spilled) && read_int(json, "unspilled_bytes", &r->unspilled) &&
           read_int(json, "peak_memory_bytes", &r->peak_memory) && read_number(json, "seconds", &r->seconds) &&
           read_number(json, "kernel_seconds", &r->kernel_seconds) &&
           read_other(json, "cpu_seconds", &r->cpu_seconds) &&
           read_other(json, "scratch_seconds", &r->scratch_seconds) &&
           read_other(json, "read_seconds", &r->read_seconds);
}

/* Reads what was measured on each site from the object of an operator, or of the plan (op: p->nops). */
static bool read_measured(const char *object, tra_profile *p, int op) {
    char path[64];
    bool ok = object != NULL;
    for (int s = 0; s < p->sites && ok; s++) {
        snprintf(path, sizeof path, "measured.sites.%d", s);
        char *site = value_at(object, path);
        ok = site && read_report(site, &p->of[op * p->sites + s]);
        free(site);
    }
    return ok;
}

/* Keys that stand out; most operators have none. */
static void read_keys(const char *object, tra_heavy_key v[2]) {
    char path[64];
    for (int i = 0; i < 2 && object; i++) {
        snprintf(path, sizeof path, "measured.heaviest_keys.%d", i);
        char *key = value_at(object, path);
        if (!key || !read_string(key, "columns", v[i].columns, TRA_KEYTEXT) ||
            !read_string(key, "values", v[i].values, TRA_KEYTEXT) || !read_int(key, "rows", &v[i].rows) ||
            !read_int(key, "of_rows", &v[i].all) || !read_int(key, "pairs", &v[i].pairs) ||
            !read_int(key, "of_pairs", &v[i].all_pairs) || v[i].rows < 0 || v[i].all < 0)
            v[i] = (tra_heavy_key){0};
        free(key);
    }
}

static bool read_operators(const char *json, tra_profile *p) {
    char path[64];
    bool ok = true;
    char *plan = value_at(json, "plans.0"), *all = value_at(json, "plans.0.operators");
    size_t n;
    while (all && (snprintf(path, sizeof path, "%d", p->nops), tra_json_find(all, path, &n))) p->nops++;
    p->heavy = tra_calloc((size_t)p->nops + 1, sizeof *p->heavy);
    p->of = tra_calloc((size_t)(p->nops + 1) * (size_t)p->sites, sizeof *p->of);
    for (int i = 0; i < p->nops && ok; i++) {
        snprintf(path, sizeof path, "%d", i);
        char *op = value_at(all, path);
        ok = read_measured(op, p, i);
        read_keys(op, p->heavy[i]);
        free(op);
    }
    ok = ok && all && read_measured(plan, p, p->nops);
    free(all);
    free(plan);
    return ok;
}

/* What was measured of the turns of loop l, as loops.c has written it. */
static bool read_loop(const char *json, int l, tra_loop_report *r) {
    char path[64];
    double read[2], sent[2];
    snprintf(path, sizeof path, "plans.0.loops.%d", l);
    char *loop = value_at(json, path), *converged = loop ? value_at(loop, "converged") : NULL;
    bool ok = converged && read_int(loop, "turns", &r->turns) && read_int(loop, "measured.turns", &r->done) &&
              read_number(loop, "measured.first.seconds", &r->first) &&
              read_number(loop, "measured.first.disk_read_bytes", &read[0]) &&
              read_number(loop, "measured.first.sent_bytes", &sent[0]) &&
              read_number(loop, "measured.others.seconds", &r->others) &&
              read_number(loop, "measured.others.disk_read_bytes", &read[1]) &&
              read_number(loop, "measured.others.sent_bytes", &sent[1]) && r->done >= 0 && r->done < INT64_MAX / 4;
    if (ok) {
        double others = (double)tra_max64(r->done - 1, 1); /* they are written as means */
        r->converged = strcmp(converged, "true") == 0;
        r->others *= others;
        r->first_read = (int64_t)fmin(read[0], 9e18), r->others_read = (int64_t)fmin(read[1] * others + 0.5, 9e18);
        r->first_sent = (int64_t)fmin(sent[0], 9e18), r->others_sent = (int64_t)fmin(sent[1] * others + 0.5, 9e18);
    }
    free(converged);
    free(loop);
    return ok;
}

/* A profile by a tra that did not measure turns has none. */
static bool read_loops(const char *json, tra_profile *p) {
    char path[64];
    size_t n;
    while (p->nloops < p->nops &&
           (snprintf(path, sizeof path, "plans.0.loops.%d.measured", p->nloops), tra_json_find(json, path, &n)))
        p->nloops++;
    p->loops = tra_calloc((size_t)p->nloops + 1, sizeof *p->loops);
    for (int l = 0; l < p->nloops; l++)
        if (!read_loop(json, l, &p->loops[l])) return false;
    return true;
}

/* Is the member true? An older tra may have left it out. */
static bool is_true(const char *json, const char *path) {
    size_t n;
    const char *v = tra_json_find(json, path, &n);
    return v && n == 4 && strncmp(v, "true", n) == 0;
}

static bool parse(const char *json, tra_profiled_plan *of, tra_profile *p) {
    char text[64], *end;
    int64_t sites, threads;
    if (!read_int(json, "sites", &sites) || sites < 1 || sites > TRA_MAXSITES || !read_int(json, "threads", &threads) ||
        threads < 1 || threads > INT_MAX || !read_int(json, "memory_bytes", &of->memory) || of->memory < 1 ||
        !read_string(json, "cost_model", text, sizeof text) || !tra_cost_model_parse(text, &of->cost) ||
        !read_string(json, "optimizer", text, sizeof text) || !tra_optimizer_parse(text, &of->optimizer) ||
        !read_string(json, "plans.0.digest", text, sizeof text))
        return false;
    of->reproducible = is_true(json, "reproducible");
    of->threads_given = is_true(json, "threads_given");
    of->digest = strtoull(text, &end, 16);
    of->sites = p->sites = (int)sites;
    of->threads = (int)threads;
    p->host = tra_calloc((size_t)sites, sizeof *p->host);
    for (int s = 0; s < p->sites; s++) {
        snprintf(text, sizeof text, "run.hosts.%d", s);
        if (!read_string(json, text, p->host[s], TRA_HOSTNAME)) return false;
    }
    p->resumed = is_true(json, "run.resumed");
    double processors, status;
    if (read_number(json, "run.status", &status)) p->status = (int)fmax(0, fmin(status, 255));
    if (read_number(json, "run.processors", &processors)) p->processors = (int)fmin(processors, INT_MAX);
    return *end == 0 && read_number(json, "run.seconds", &p->seconds) &&
           read_number(json, "run.process_seconds", &p->process_seconds) &&
           read_string(json, "run.blas_kernel", p->kernel, sizeof p->kernel) && read_operators(json, p) &&
           read_loops(json, p) && tra_timeline_read(json, p->sites, p->nops, &p->timeline);
}

tra_status tra_profile_read(const char *path, tra_profiled_plan *of, tra_profile *out, tra_err *e) {
    char *text;
    size_t n;
    *out = (tra_profile){0};
    TRA_TRY(tra_slurp(path, MAXBYTES, &text, &n, e));
    bool ok = parse(text, of, out);
    free(text);
    if (ok) return TRA_OK;
    tra_profile_free(out);
    return tra_fail(e, TRA_INPUT, "%s is not what tra run --profile writes; a run with --profile makes such a file",
                    path);
}
