/* machine.c - the file of rates. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

/* Its numbers: member, name in the file. */
#define NUMBERS(X)                                                                                                     \
    X(network, "network_bytes_per_second")                                                                             \
    X(disk_read, "disk_read_bytes_per_second")                                                                         \
    X(disk_write, "disk_write_bytes_per_second")                                                                       \
    X(memory, "memory_bytes_per_second")                                                                               \
    X(flops_f64, "flops_f64_per_second")                                                                               \
    X(flops_f32, "flops_f32_per_second")

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
#define X(member, name) tra_json_num(&j, name, m->member);
    NUMBERS(X)
#undef X
    if (m->touch > 0) tra_json_num(&j, "first_touch_bytes_per_second", m->touch);
    if (m->unhidden >= 0) tra_json_num(&j, "network_unhidden_share", m->unhidden);
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

static bool rate(const char *json, const char *name, double *v) {
    char text[64];
    return value(json, name, text, sizeof text) && tra_parse_num(text, v) && *v >= 0;
}

static bool parse(const char *json, tra_machine *m) {
    int64_t version;
    *m = (tra_machine){.ranks = 0};
    if (!whole(json, "tra_machine", &version) || version != 1 || !value(json, "host", m->host, sizeof m->host) ||
        !value(json, "cpu", m->cpu, sizeof m->cpu) || !value(json, "blas_kernel", m->kernel, sizeof m->kernel) ||
        !value(json, "when", m->when, sizeof m->when) || !whole(json, "ranks", &m->ranks) ||
        !whole(json, "threads", &m->threads))
        return false;
#define X(member, name)                                                                                                \
    if (!rate(json, name, &m->member)) return false;
    NUMBERS(X)
#undef X
    if (!rate(json, "first_touch_bytes_per_second", &m->touch)) m->touch = 0; /* of an earlier version */
    if (!rate(json, "network_unhidden_share", &m->unhidden)) m->unhidden = -1;
    return m->unhidden <= 1 && m->ranks > 0 && m->threads > 0 && m->disk_read > 0 && m->disk_write > 0 &&
           m->memory > 0 && m->flops_f64 > 0 && m->flops_f32 > 0;
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
    bool ok = parse(text, m);
    free(text);
    return ok ? 1 : -1;
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
