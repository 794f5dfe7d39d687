/* clean.c - tra clean: removes what runs and other commands that were killed have left. */
#include "cmd.h"
#include "common.h"

#include "../lib/durable/durable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *scratch;
    bool dry;
} opt;

typedef struct cleaning {
    tra_str text;
    tra_json json;
    int64_t n, bytes;
    char *failed; /* the first that could not be removed */
    int error;
} cleaning;

static void add(const tra_leftover *l, void *ctx) {
    cleaning *c = ctx;
    char size[32];
    if (l->error) {
        if (!c->failed) c->failed = tra_strdup(l->path);
        c->error = c->error ? c->error : l->error;
        return;
    }
    const char *path = strncmp(l->path, "./", 2) == 0 ? l->path + 2 : l->path;
    tra_str_printf(&c->text, "%s%s (%s, %s)\n", opt.dry ? "" : "removed ", path, l->what, tra_human(l->bytes, size));
    tra_json_begin(&c->json, NULL, '{');
    tra_json_str(&c->json, "path", path);
    tra_json_str(&c->json, "what", l->what);
    tra_json_int(&c->json, "bytes", l->bytes);
    tra_json_end(&c->json, '}');
    c->n++;
    c->bytes += l->bytes;
}

static tra_status print(cleaning *c, tra_err *e) {
    char size[32];
    tra_json_end(&c->json, ']');
    tra_json_str(&c->json, "done", opt.dry ? "listed" : "removed");
    tra_json_int(&c->json, "bytes", c->bytes);
    tra_json_end(&c->json, '}');
    tra_str_add(&c->json.out, "\n");
    if (tra_common_opts.format == TRA_FORMAT_JSON) return tra_print(tra_str_get(&c->json.out), e);
    if (tra_common_opts.quiet && !opt.dry) return TRA_OK;
    if (c->n == 0)
        tra_str_add(&c->text, "nothing is left by processes that are gone\n");
    else
        tra_str_printf(&c->text, "%" PRId64 " in all, %s\n", c->n, tra_human(c->bytes, size));
    return tra_print(tra_str_get(&c->text), e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    const char *defaults[2];
    int n = tra_work_dirs(opt.scratch, defaults);
    const char *const *dirs = argc > 0 ? (const char *const *)argv : defaults;
    if (argc > 0) n = argc;
    cleaning c = {0};
    tra_status s = TRA_OK;
    tra_json_begin(&c.json, NULL, '{');
    tra_json_begin(&c.json, "found", '[');
    for (int i = 0; i < n && s == TRA_OK; i++)
        if (!tra_leftovers(dirs[i], "", !opt.dry, add, &c) && (argc > 0 || errno != ENOENT))
            s = tra_fail_errno(e, TRA_INPUT, "%s", dirs[i]);
    if (s == TRA_OK) s = print(&c, e);
    if (s == TRA_OK && c.failed) {
        errno = c.error;
        s = tra_fail_errno(e, TRA_RESOURCE, "%s cannot be removed", c.failed);
    }
    free(c.failed);
    tra_json_free(&c.json);
    tra_str_free(&c.text);
    return s;
}

const tra_cmd tra_cmd_clean = {
    .name = "clean",
    .group = "The machine",
    .brief = "remove what runs and other commands that were killed have left",
    .usage = "[options] [DIRECTORY...]",
    .about =
        "Looks in the directories (by default this one and the scratch directory; not in those below) for unfinished "
        "files, locks, and the progress of runs, whose process is gone, and removes them. What is in use is left "
        "alone. Outputs that a killed run had completed are put in place. A run whose progress is removed begins anew "
        "with --resume. The next run of the same outputs removes "
        "what an earlier one left of these, so this is for those that are not run again.",
    .opts = (const tra_opt[]){TRA_ROW('n', "dry-run", TRA_OPT_FLAG, &opt.dry, NULL, "list, and remove nothing"),
                              {0, "scratch", TRA_OPT_STR, &opt.scratch, "DIR",
                               "the scratch directory to look in (default: TMPDIR, or /var/tmp)", NULL, "TRA_SCRATCH",
                               NULL},
                              {.name = NULL}},
    .maxargs = -1,
    .needs = TRA_TAKES_JSON,
    .run = run,
};
