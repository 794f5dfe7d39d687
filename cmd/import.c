/* import.c - tra import: a matrix or tensor of another program to a relation. */
#include "cmd.h"
#include "common.h"
#include "format_options.h"
#include "import_table.h"

#include <string.h>

static const char *output, *from, *codec = "none";
static int64_t memory;
static bool no_history;

static const tra_opt opts[] = {
    TRA_ROW('o', "output", TRA_OPT_STR, &output, "OUT[:NAME]", "the relation to write: out.h5 or out.h5:name"),
    TRA_ROW(0, "from", TRA_OPT_STR, &from, "FORMAT",
            "npy, npz, mtx, tns, edges, csv, raw, h5ad, binsparse or h5 (default: by suffix, else by content)"),
    TRA_ROW(0, "codec", TRA_OPT_STR, &codec, "CODEC", "none or zstd[:LEVEL] (default: none)"),
    {0, "memory", TRA_OPT_SIZE, &memory, "SIZE", "memory ceiling (default: 256M)", NULL, "TRA_MEMORY", NULL},
    TRA_OPT_PROGRESS,
    TRA_ROW(0, "no-history", TRA_OPT_FLAG, &no_history, NULL, "do not record the command in the file"),
    {0},
};

static tra_status read_codec(tra_codec *to, tra_err *e) {
    if (tra_codec_parse(codec, to)) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "--codec %s: it is none, zstd or zstd:LEVEL with a level of 1 to 19", codec);
}

static tra_status read_options(const char *source, tra_file_job *job, tra_err *e) {
    *job = (tra_file_job){
        .from = source, .to = output, .progress = tra_progress_here(), .memory = memory, .reading = &tra_reading_opts};
    if (!source && !tra_reading_opts.components.n)
        return tra_fail(e, TRA_USAGE, "say which file is read, or give the components of a storage with --component");
    if (!output) return tra_fail(e, TRA_USAGE, "say where the relation goes: -o out.h5 or -o out.h5:name");
    if (strcmp(output, "-") == 0) return tra_fail(e, TRA_USAGE, "-o -: a relation cannot be written to a stream");
    if (from && !(job->format = tra_format_find(from)))
        return tra_fail(e, TRA_USAGE, "--from %s: no such format; it is one of %s", from, tra_format_choices());
    return read_codec(&job->codec, e);
}

static bool is_among(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

/* The command, as far as it decides what the relation holds. */
static void history(const char *source, tra_str *out) {
    static const char *const other[] = {"output",  "codec",         "memory",     "progress",
                                        "rejects", "rejects-limit", "no-history", NULL};
    tra_str_printf(out, "tra %s: import", TRA_VERSION);
    if (source) tra_str_printf(out, " '%s'", source);
    for (int i = 0; i < 2; i++)
        for (const tra_opt *o = i ? tra_reading_rows() : opts; o->name; o++)
            if (!is_among(o->name, other)) tra_opt_print(o, out);
    if (tra_reading_opts.rejects) tra_str_add(out, " --rejects");
}

static double ratio(const tra_import_receipt *r) {
    double payload = (double)r->elements * (double)tra_dtype_size(r->dtype);
    return r->bytes_stored > 0 ? payload / (double)r->bytes_stored : 1;
}

static tra_status print_text(const char *source, const tra_import_receipt *r, tra_err *e) {
    tra_str t = {0};
    char a[TRA_DIMTEXT], h[32];
    tra_str_printf(&t, "%s\n  from     %s (%s%s%s", output, source, r->format, *r->source_type ? ", " : "",
                   r->source_type);
    if (r->bytes_in > 0) tra_str_printf(&t, ", %s", tra_human(r->bytes_in, h));
    if (r->header_lines > 0) tra_str_printf(&t, ", %d header line%s", r->header_lines, r->header_lines > 1 ? "s" : "");
    tra_str_printf(&t, ")\n  shape    %s\n  type     %s\n", r->shape.n ? tra_shape_text(&r->shape, a) : "scalar",
                   tra_dtype_name(r->dtype));
    tra_str_printf(&t, "  blocks   %" PRId64 " of %s%s\n", r->blocks,
                   r->block.n ? tra_shape_text(&r->block, a) : "one element",
                   tra_reading_opts.block || r->one_block ? "" : " (chosen; --block changes it)");
    tra_str_printf(&t, "  stored   %s", tra_human(r->bytes_stored, h));
    tra_str_printf(&t, " (%" PRId64 " bytes, ratio %.2f)\n", r->bytes_stored, ratio(r));
    if (*r->storage)
        tra_str_printf(&t, "  storage  %s, %" PRId64 " entries (density %.3g)\n", r->storage, r->stored,
                       r->elements > 0 ? (double)r->stored / (double)r->elements : 0);
    if (r->entries >= 0)
        tra_str_printf(&t,
                       "  entries  %" PRId64 " read, %" PRId64 " mirrored, %" PRId64 " added to others, %" PRId64
                       " zeros left out\n",
                       r->entries, r->mirrored, r->duplicates, r->zeros);
    tra_str_printf(&t, "  nan      %" PRId64 "\n  inf      %" PRId64 "\n", r->nan, r->inf);
    return tra_print_str(&t, e);
}

static tra_status print_json(const char *source, const tra_import_receipt *r, tra_err *e) {
    tra_json j = {0};
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "output", output);
    tra_json_str(&j, "source", source);
    tra_json_str(&j, "format", r->format);
    tra_json_str(&j, "source_type", *r->source_type ? r->source_type : NULL);
    tra_json_ints(&j, "shape", r->shape.n, r->shape.v);
    tra_json_str(&j, "dtype", tra_dtype_name(r->dtype));
    tra_json_ints(&j, "block", r->block.n, r->block.v);
    tra_json_int(&j, "blocks", r->blocks);
    tra_json_str(&j, "storage", *r->storage ? r->storage : "dense");
    if (*r->storage) {
        tra_json_int(&j, "stored_entries", r->stored);
        tra_json_num(&j, "density", r->elements > 0 ? (double)r->stored / (double)r->elements : 0);
    }
    tra_json_int(&j, "bytes_in", r->bytes_in);
    tra_json_int(&j, "bytes_stored", r->bytes_stored);
    tra_json_num(&j, "ratio", ratio(r));
    tra_json_int(&j, "nan", r->nan);
    tra_json_int(&j, "inf", r->inf);
    tra_json_int(&j, "inexact", r->inexact);
    tra_json_int(&j, "overflow", r->overflow);
    if (r->header_lines >= 0) tra_json_int(&j, "header_lines", r->header_lines);
    if (r->entries >= 0) {
        tra_json_int(&j, "entries", r->entries);
        tra_json_int(&j, "mirrored", r->mirrored);
        tra_json_int(&j, "duplicates", r->duplicates);
        tra_json_int(&j, "zeros", r->zeros);
    }
    tra_json_int(&j, "spilled_bytes", r->spilled);
    tra_json_end(&j, '}');
    return tra_print_json(&j, e);
}

/* What is worth a warning, and the receipt. */
static tra_status report(const char *source, const tra_file_receipt *r, tra_err *e) {
    if (!source) source = "components";
    tra_import_warn(source, r, &tra_reading_opts);
    tra_options_warn(&tra_reading_opts, true, r->values.format, source);
    if (tra_common_opts.quiet) return TRA_OK;
    if (r->table) return tra_table_receipt_print(source, output, &r->rows, e);
    return tra_common_opts.format == TRA_FORMAT_JSON ? print_json(source, &r->values, e)
                                                     : print_text(source, &r->values, e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    const char *source = argc ? argv[0] : NULL;
    tra_file_job job;
    tra_file_receipt r;
    TRA_TRY(read_options(source, &job, e));
    TRA_TRY(tra_threads_check(e));
    tra_str how = {0};
    history(source, &how);
    if (!no_history) job.history = tra_str_get(&how);
    tra_arena *a = tra_arena_new();
    tra_status s = tra_import_file(&job, a, &r, e);
    if (s == TRA_OK) s = report(source, &r, e);
    tra_str_free(&how);
    tra_arena_free(a);
    return s;
}

const tra_cmd tra_cmd_import = {
    .name = "import",
    .group = "Relations",
    .brief = "read a file of another program into a relation",
    .usage = "[options] [FILE|-] -o OUT[:NAME]",
    .about =
        "Reads a CSV file (a table if it has a header line, a matrix if it has none and numbers alone), a numpy array, "
        "a file of coordinates (MatrixMarket, .tns, edges, scipy's .npz), raw elements or an HDF5 dataset, and writes "
        "it in blocks to a relation. Memory stays below --memory whatever the size and the order of the source; what "
        "does not fit goes through a scratch file in TRA_SCRATCH, TMPDIR or the directory of the output. A receipt on "
        "standard output says what was read. Without FILE a relation is made of the components of a storage.",
    .opts = opts,
    .minargs = 0,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_READING,
    .run = run,
};
