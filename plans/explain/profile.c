/* profile.c - reads the file of run --profile. */
#include "../search/cost.h"
#include "explain.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 28 }; /* bytes of a file */

/* Copies the value at a path of the JSON text; NULL when there is none. From malloc. */
static char *value(const char *json, const char *path) {
    size_t n;
    const char *at = tra_json_find(json, path, &n);
    if (!at) return NULL;
    char *copy = tra_malloc(n + 1);
    memcpy(copy, at, n);
    copy[n] = 0;
    return copy;
}

static bool number(const char *json, const char *path, double *v) {
    char *text = value(json, path);
    bool ok = text && tra_parse_num(text, v);
    free(text);
    return ok;
}

static bool whole(const char *json, const char *path, int64_t *v) {
    char *text = value(json, path);
    bool ok = text && tra_parse_int(text, v);
    free(text);
    return ok;
}

/* A string without escapes. */
static bool string(const char *json, const char *path, char *buf, size_t n) {
    char *text = value(json, path);
    size_t len = text ? strlen(text) : 0;
    bool ok = len >= 2 && *text == '"' && len - 2 < n;
    if (ok) snprintf(buf, n, "%.*s", (int)len - 2, text + 1);
    free(text);
    return ok;
}

static bool figures(const char *json, tra_op_report *r) {
    if (whole(json, "rows", &r->counted[0]) && !whole(json, "tuples", &r->counted[1])) return false;
    return whole(json, "network_bytes", &r->sent) && whole(json, "received_bytes", &r->received) &&
           whole(json, "disk_read_bytes", &r->disk_read) && whole(json, "disk_write_bytes", &r->disk_write) &&
           whole(json, "spilled_bytes", &r->spilled) && whole(json, "unspilled_bytes", &r->unspilled) &&
           whole(json, "peak_memory_bytes", &r->peak_memory) && number(json, "seconds", &r->seconds) &&
           number(json, "kernel_seconds", &r->kernel_seconds);
}

/* Reads what the object, a plan or an operator, says was measured on each site. */
static bool measured(const char *object, tra_profile *p, int op) {
    char path[64];
    bool ok = object != NULL;
    for (int s = 0; s < p->sites && ok; s++) {
        snprintf(path, sizeof path, "measured.sites.%d", s);
        char *site = value(object, path);
        ok = site && figures(site, &p->of[op * p->sites + s]);
        free(site);
    }
    return ok;
}

static bool operators(const char *json, tra_profile *p) {
    char path[64];
    bool ok = true;
    char *plan = value(json, "plans.0"), *all = value(json, "plans.0.operators");
    size_t n;
    while (all && (snprintf(path, sizeof path, "%d", p->nops), tra_json_find(all, path, &n))) p->nops++;
    p->of = tra_calloc((size_t)(p->nops + 1) * (size_t)p->sites, sizeof *p->of);
    for (int i = 0; i < p->nops && ok; i++) {
        snprintf(path, sizeof path, "%d", i);
        char *op = value(all, path);
        ok = measured(op, p, i);
        free(op);
    }
    ok = ok && all && measured(plan, p, p->nops);
    free(all);
    free(plan);
    return ok;
}

static bool parse(const char *json, tra_profile_of *of, tra_profile *p) {
    char text[64], *end;
    int64_t sites, threads;
    if (!whole(json, "sites", &sites) || sites < 1 || sites > TRA_MAXSITES || !whole(json, "threads", &threads) ||
        threads < 1 || threads > INT_MAX || !whole(json, "memory_bytes", &of->memory) || of->memory < 1 ||
        !string(json, "cost_model", text, sizeof text) || !tra_cost_model_parse(text, &of->cost) ||
        !string(json, "optimizer", text, sizeof text) || !tra_optimizer_parse(text, &of->optimizer) ||
        !string(json, "plans.0.digest", text, sizeof text))
        return false;
    char *reproducible = value(json, "reproducible");
    of->reproducible = reproducible && strcmp(reproducible, "true") == 0;
    free(reproducible);
    of->digest = strtoull(text, &end, 16);
    of->sites = p->sites = (int)sites;
    of->threads = (int)threads;
    p->host = tra_calloc((size_t)sites, sizeof *p->host);
    for (int s = 0; s < p->sites; s++) {
        snprintf(text, sizeof text, "run.hosts.%d", s);
        if (!string(json, text, p->host[s], TRA_HOSTNAME)) return false;
    }
    return *end == 0 && number(json, "run.seconds", &p->seconds) &&
           number(json, "run.process_seconds", &p->process_seconds) &&
           string(json, "run.blas_kernel", p->kernel, sizeof p->kernel) && operators(json, p);
}

tra_status tra_profile_read(const char *path, tra_profile_of *of, tra_profile *out, tra_err *e) {
    char *text;
    size_t n;
    *out = (tra_profile){0};
    TRA_TRY(tra_slurp(path, MOST, &text, &n, e));
    bool ok = parse(text, of, out);
    free(text);
    if (ok) return TRA_OK;
    tra_profile_free(out);
    return tra_fail(e, TRA_INPUT, "%s is not what tra run --profile writes", path);
}
