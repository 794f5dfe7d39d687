/* machine.c - the file of rates. */
#include "machine.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void reduce(const tra_comm *c, tra_rates *r, void (*by)(const tra_comm *, int64_t *, int64_t)) {
#define X(member, name) (int64_t) r->member,
    int64_t v[] = {TRA_RATES(X)}, i = 0;
#undef X
    by(c, v, sizeof v / sizeof *v);
#define X(member, name) r->member = (double)v[i++];
    TRA_RATES(X)
#undef X
}

void tra_rates_sum(const tra_comm *node, tra_rates *r) { reduce(node, r, tra_comm_sum); }

void tra_rates_least(const tra_comm *comm, tra_rates *r) {
    enum { MILLION = 1000000 };
#define X(member, name) (int64_t)(r->member * MILLION),
    int64_t share[] = {TRA_UNHIDDEN(X)}, i = 0;
#undef X
    reduce(comm, r, tra_comm_min);
    tra_comm_max(comm, share, sizeof share / sizeof *share);
#define X(member, name) r->member = (double)share[i++] / MILLION;
    TRA_UNHIDDEN(X)
#undef X
}

void tra_machine_json(const tra_machine *m, tra_str *out) {
    tra_json j = {0};
    tra_json_begin(&j, NULL, '{');
    tra_json_int(&j, "tra_machine", 1);
    tra_json_str(&j, "host", m->host);
    tra_json_str(&j, "cpu", m->cpu);
    tra_json_str(&j, "blas_kernel", m->kernel);
    tra_json_str(&j, "when", m->when);
    tra_json_int(&j, "ranks", m->ranks);
    tra_json_int(&j, "threads", m->threads);
    if (m->memory > 0) tra_json_int(&j, "memory_bytes", m->memory);
#define X(member, name) tra_json_num(&j, name, m->rates.member);
    TRA_RATES(X)
#undef X
#define X(member, name)                                                                                                \
    if (m->rates.member >= 0) tra_json_num(&j, name, m->rates.member);
    TRA_UNHIDDEN(X)
#undef X
    tra_json_end(&j, '}');
    tra_str_addn(out, tra_str_get(&j.out), j.out.n);
    tra_str_add(out, "\n");
    tra_json_free(&j);
}

static bool value(const char *json, const char *name, char *buf, size_t n) {
    size_t len;
    const char *at = tra_json_find(json, name, &len);
    if (!at || len >= n) return false;
    if (*at == '"') at++, len -= 2; /* names of hosts and processors have no escapes */
    snprintf(buf, n, "%.*s", (int)len, at);
    return true;
}

static bool whole(const char *json, const char *name, int64_t *v) {
    char text[64];
    return value(json, name, text, sizeof text) && tra_parse_int(text, v);
}

/* otherwise: when it is not there, as in files of earlier versions. */
static double rate(const char *json, const char *name, double otherwise) {
    char text[64];
    double v;
    return value(json, name, text, sizeof text) && tra_parse_num(text, &v) && v >= 0 ? v : otherwise;
}

/* NULL: all is there; else the name of what lacks, or is not a value that it can have. */
static const char *parse(const char *json, tra_machine *m) {
    int64_t version;
    *m = (tra_machine){.ranks = 0};
    if (!whole(json, "tra_machine", &version) || version != 1) return "tra_machine";
    if (!value(json, "host", m->host, sizeof m->host)) return "host";
    if (!value(json, "cpu", m->cpu, sizeof m->cpu)) return "cpu";
    if (!value(json, "blas_kernel", m->kernel, sizeof m->kernel)) return "blas_kernel";
    if (!value(json, "when", m->when, sizeof m->when)) return "when";
    if (!whole(json, "ranks", &m->ranks) || m->ranks <= 0) return "ranks";
    if (!whole(json, "threads", &m->threads) || m->threads <= 0) return "threads";
    if (!whole(json, "memory_bytes", &m->memory) || m->memory < 0) m->memory = 0;
#define X(member, name)                                                                                                \
    m->rates.member = rate(json, name, 0);                                                                             \
    if (m->rates.member <= 0 && tra_rate_is_needed(offsetof(tra_rates, member))) return name;
    TRA_RATES(X)
#undef X
#define X(member, name)                                                                                                \
    m->rates.member = rate(json, name, -1);                                                                            \
    if (m->rates.member > 1) return name;
    TRA_UNHIDDEN(X)
#undef X
    m->rates.network = rate(json, "network_bytes_per_second", -1); /* 0: not measured */
    return m->rates.network >= 0 ? NULL : "network_bytes_per_second";
}

char *tra_machine_file(void) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config) return tra_asprintf("%s/tra/machine.json", config);
    return home && *home ? tra_asprintf("%s/.config/tra/machine.json", home) : NULL;
}

/* 1: has it; 0: there is no such file; -1: it is something else. */
static int load(const char *path, tra_machine *m) {
    char *text;
    size_t n;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    fclose(f);
    if (tra_slurp(path, 1 << 16, &text, &n, NULL) != TRA_OK) return -1;
    bool ok = !parse(text, m);
    free(text);
    return ok ? 1 : -1;
}

tra_status tra_machine_read(const char *path, tra_machine *m, tra_err *e) {
    char *text;
    size_t n;
    TRA_TRY(tra_slurp(path, 1 << 16, &text, &n, e));
    const char *lacks = parse(text, m);
    free(text);
    if (!lacks) return TRA_OK;
    if (strcmp(lacks, "tra_machine") == 0) /* whose file it is, is not known: nobody is told to write over it */
        return tra_fail(e, TRA_INPUT, "%s is no file of tra calibrate, which writes one by -o FILE", path);
    return tra_fail(e, TRA_INPUT,
                    "%s lacks \"%s\", or has a value there that it cannot have: tra calibrate -o %s on "
                    "that machine writes it",
                    path, lacks, path);
}

bool tra_machine_load(tra_machine *m, char **path) {
    char *files[2] = {tra_machine_file(), tra_strdup("/etc/tra/machine.json")};
    int got = 0;
    *path = NULL;
    for (int i = 0; i < 2; i++) {
        if (got == 0 && files[i] && (got = load(files[i], m)) < 0)
            tra_warn("%s is not what tra calibrate writes: built-in rates are used instead", files[i]);
        if (got > 0 && !*path)
            *path = files[i];
        else
            free(files[i]);
    }
    return got > 0;
}
