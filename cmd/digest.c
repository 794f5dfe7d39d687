/* digest.c - tra digest REL...: a digest of the values, whatever blocks, codec and file hold them. */
#include "common.h"
#include "tables.h"

#include <stdlib.h>

static int64_t memory = TRA_SCAN_MEMORY;

typedef struct digesting {
    tra_digester *digester;
    tra_digest part[TRA_MAXWORKERS];
} digesting;

static tra_status add(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e) {
    digesting *d = ctx;
    if (!data) return e->status;
    tra_digester_add(d->digester, &d->part[worker], ordinal, data);
    return TRA_OK;
}

static tra_status digest(const char *spec, char text[33], tra_err *e) {
    tra_rel *rel = NULL;
    TRA_TRY(tra_rel_open(spec, NULL, &rel, e));
    if (tra_rel_is_table(rel)) {
        tra_status table = tra_digest_table(rel, spec, memory, text, e);
        tra_rel_close(rel);
        return table;
    }
    digesting d = {.digester = tra_digester_new(tra_rel_type(rel))};
    tra_status s = tra_scan(rel, spec, memory, add, &d, e);
    for (int i = 1; i < TRA_MAXWORKERS; i++) tra_digest_add(&d.part[0], &d.part[i]);
    if (s == TRA_OK) tra_digest_text(&d.part[0], tra_rel_type(rel), text);
    tra_digester_free(d.digester);
    tra_rel_close(rel);
    return s;
}

static tra_status print_text(int n, char **specs, tra_err *e) {
    for (int i = 0; i < n; i++) {
        char text[33];
        TRA_TRY(digest(specs[i], text, e));
        char *line = tra_asprintf("%s  %s\n", text, specs[i]);
        tra_status s = tra_print(line, e);
        free(line);
        TRA_TRY(s);
    }
    return TRA_OK;
}

static tra_status print_json(int n, char **specs, tra_err *e) {
    tra_json j = {0};
    tra_status s = TRA_OK;
    tra_json_begin(&j, NULL, '{');
    tra_json_begin(&j, "digests", '[');
    for (int i = 0; i < n && s == TRA_OK; i++) {
        char text[33] = "";
        s = digest(specs[i], text, e);
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "name", specs[i]);
        tra_json_str(&j, "digest", text);
        tra_json_end(&j, '}');
    }
    tra_json_end(&j, ']');
    tra_json_end(&j, '}');
    tra_str_add(&j.out, "\n");
    if (s == TRA_OK) s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    return s;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    return tra_common_opts.format == TRA_FORMAT_JSON ? print_json(argc, argv, e) : print_text(argc, argv, e);
}

const tra_cmd tra_cmd_digest = {
    .name = "digest",
    .group = "Relations",
    .brief = "print a digest of a relation's values, whatever holds them",
    .usage = "[options] REL...",
    .about =
        "Prints for each relation 32 hexadecimal digits and its name, as sha256sum does. The digest is one of the "
        "tensor: its shape, element type and values. It does not depend on the block shape, the codec, the file or "
        "the number of ranks that wrote it. All NaN count as one value, and 0 and -0 too. The data are read; the "
        "digest that the file may carry is not trusted.",
    .opts = (const tra_opt[]){TRA_OPT_MEMORY(memory), TRA_OPT_PROGRESS, {.name = NULL}},
    .minargs = 1,
    .maxargs = -1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
