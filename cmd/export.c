/* export.c - tra export: a relation to a file of another program. */
#include "cmd.h"
#include "common.h"
#include "format_options.h"

#include <string.h>

static const char *output, *to;
static int64_t memory;

static const tra_opt opts[] = {
    TRA_ROW('o', "output", TRA_OPT_STR, &output, "FILE|-", "the file to write, or standard output"),
    TRA_ROW(0, "to", TRA_OPT_STR, &to, "FORMAT",
            "npy, npz, mtx, tns, edges, csv, raw, h5ad, binsparse or h5 (default: by suffix)"),
    {0, "memory", TRA_OPT_SIZE, &memory, "SIZE", "memory ceiling (default: 256M)", NULL, "TRA_MEMORY", NULL},
    TRA_OPT_PROGRESS,
    {0},
};

static tra_status read_options(const char *rel, tra_export_job *job, tra_err *e) {
    *job = (tra_export_job){.from = rel, .to = output, .progress = tra_progress_here(), .memory = memory};
    if (!output) return tra_fail(e, TRA_USAGE, "say where it goes: -o FILE, or -o - with --to");
    if (to && !(job->format = tra_format_find(to)))
        return tra_fail(e, TRA_USAGE, "--to %s: no such format; it is one of %s", to, tra_format_choices());
    tra_arena *a = tra_arena_new();
    const char *path, *name;
    tra_relspec(a, output, &path, &name);
    if (!job->format && strcmp(output, "-") != 0) job->format = tra_format_by_suffix(path);
    tra_arena_free(a);
    if (!job->format)
        return tra_fail(e, TRA_USAGE, "%s does not tell the format: say --to %s", output, tra_format_choices());
    tra_options_warn(&tra_writing_opts, false, job->format->name, output);
    return tra_sink_options_of(&tra_writing_opts, &job->sink, e);
}

static tra_status print(const char *rel, const tra_export_job *job, const tra_export_receipt *r, tra_err *e) {
    char a[TRA_DIMTEXT], h[32];
    tra_status s;
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json j = {0};
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "relation", rel);
        tra_json_str(&j, "output", output);
        tra_json_str(&j, "format", job->format->name);
        if (r->table) {
            tra_json_int(&j, "rows", r->shape.v[0]);
        } else {
            tra_json_ints(&j, "shape", r->shape.n, r->shape.v);
            tra_json_str(&j, "dtype", tra_dtype_name(r->dtype));
        }
        tra_json_int(&j, "bytes", r->bytes);
        tra_json_int(&j, "inexact", r->inexact);
        tra_json_end(&j, '}');
        s = tra_print_json(&j, e);
    } else {
        tra_str t = {0};
        if (r->table)
            tra_str_printf(&t, "%s\n  from     %s\n  format   %s\n  rows     %" PRId64 "\n  written  %s\n", output, rel,
                           job->format->name, r->shape.v[0], tra_human(r->bytes, h));
        else
            tra_str_printf(&t, "%s\n  from     %s\n  format   %s\n  shape    %s\n  type     %s\n  written  %s\n",
                           output, rel, job->format->name, r->shape.n ? tra_shape_text(&r->shape, a) : "scalar",
                           tra_dtype_name(r->dtype), tra_human(r->bytes, h));
        s = tra_print_str(&t, e);
    }
    return s;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    tra_export_job job;
    tra_export_receipt r;
    TRA_TRY(read_options(argv[0], &job, e));
    tra_status s = tra_export(&job, &r, e);
    tra_pipe_closed |= r.closed;
    TRA_TRY(s);
    if (r.inexact > 0)
        tra_warn("%s: %" PRId64 " integers beside NULLs cannot be held exactly in f64 and were rounded (--to csv or h5 "
                 "keeps them)",
                 output, r.inexact);
    return tra_common_opts.quiet || strcmp(output, "-") == 0 ? TRA_OK : print(argv[0], &job, &r, e);
}

const tra_cmd tra_cmd_export = {
    .name = "export",
    .group = "Relations",
    .brief = "write a relation as a file of another program",
    .usage = "[options] REL -o FILE|-",
    .about = "Writes a tensor as a numpy array, CSV, coordinates (MatrixMarket, .tns, edges, scipy's .npz), raw "
             "elements or an HDF5 file that needs no plugin; a table as CSV, a numpy array of records or HDF5. A file "
             "appears when it is complete. Missing blocks are written as zeros. Relations in tuple layout can go to h5 "
             "only.",
    .opts = opts,
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_WRITING,
    .run = run,
};
