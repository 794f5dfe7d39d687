/* import.c - tra import: a matrix or tensor of another program to a relation. */
#include "cmd.h"
#include "common.h"
#include "import_table.h"

#include <string.h>

static const char *output, *from, *dtype, *shape, *block, *codec = "none", *base, *storage;
static tra_strlist components;
static int64_t memory;
static int endian, order, duplicates;
static bool table, empty_nan, no_history, drop_zeros;
static tra_text_options text;

static const tra_opt opts[] = {
    {'o', "output", TRA_OPT_STR, &output, "OUT[:NAME]", "the relation to write: out.h5 or out.h5:name", NULL, NULL,
     NULL},
    {0, "block", TRA_OPT_STR, &block, "EXTENTS", "extents of a block, as in 1000x1000 (default: chosen from the shape)",
     NULL, NULL, NULL},
    {0, "from", TRA_OPT_STR, &from, "FORMAT",
     "npy, npz, mtx, tns, edges, csv, raw, h5ad, binsparse or h5 (default: by suffix, else by content)", NULL, NULL,
     NULL},
    {0, "dtype", TRA_OPT_STR, &dtype, "f64|f32|i64|i32|bool",
     "element type (default: the narrowest that holds the file's; csv and mtx: f64; raw: required)", NULL, NULL, NULL},
    {0, "codec", TRA_OPT_STR, &codec, "CODEC", "none or zstd[:LEVEL] (default: none)", NULL, NULL, NULL},
    {0, "memory", TRA_OPT_SIZE, &memory, "SIZE", "memory ceiling (default: 256M)", NULL, "TRA_MEMORY", NULL},
    TRA_OPT_PROGRESS,
    {0, "shape", TRA_OPT_STR, &shape, "EXTENTS",
     "raw, tns, edges, components: shape of the tensor, as in 1000x2000 (tns and edges: if the file has no header)",
     NULL, NULL, NULL},
    {0, "endian", TRA_OPT_ENUM, &endian, "ORDER", "raw: byte order, little or big (default: little)", "little|big",
     NULL, NULL},
    {0, "order", TRA_OPT_ENUM, &order, "C|F", "raw: C, last dimension fastest, or F, first fastest (default: C)", "C|F",
     NULL, NULL},
    {0, "delimiter", TRA_OPT_STR, &text.delimiter, "CHAR", "csv: between cells (default: found out)", NULL, NULL, NULL},
    {0, "header", TRA_OPT_FLAG, &text.header, NULL, "csv: the first row is a header", NULL, NULL, NULL},
    {0, "no-header", TRA_OPT_FLAG, &text.no_header, NULL, "csv: the first row is data", NULL, NULL, NULL},
    {0, "empty-nan", TRA_OPT_FLAG, &empty_nan, NULL, "csv: an empty cell is NaN and not an error", NULL, NULL, NULL},
    {0, "table", TRA_OPT_FLAG, &table, NULL,
     "tables: typed columns, also where all are numbers (default: where a column below a header is not all numbers)",
     NULL, NULL, NULL},
    {0, "vector", TRA_OPT_FLAG, &text.job.vector, NULL, "csv: the one column is a tensor of rank 1", NULL, NULL, NULL},
    {0, "types", TRA_OPT_LIST, &text.types, "NAME=TYPE,...",
     "tables: types of columns: bool, i32, i64, f32, f64, date, timestamp, string or text", NULL, NULL, NULL},
    {0, "names", TRA_OPT_STR, &text.job.names, "NAME,...", "tables: names of all columns", NULL, NULL, NULL},
    {0, "columns", TRA_OPT_STR, &text.job.columns, "NAME,...", "csv: the columns that are wanted, by name or number",
     NULL, NULL, NULL},
    {0, "skip", TRA_OPT_STR, &text.skip, "N", "csv: lines before the header to leave out", NULL, NULL, NULL},
    {0, "null", TRA_OPT_STR, &text.nulls, "WORD,...", "csv: what stands for NULL, besides nothing at all", NULL, NULL,
     NULL},
    {0, "date-format", TRA_OPT_STR, &text.job.date_format, "FORMAT", "tables: how dates are written, as in %d/%m/%Y",
     NULL, NULL, NULL},
    {0, "timestamp-format", TRA_OPT_STR, &text.job.timestamp_format, "FORMAT",
     "tables: how timestamps are written, as in '%m/%d/%Y %H:%M'", NULL, NULL, NULL},
    {0, "decimal", TRA_OPT_STR, &text.decimal, "CHAR", "csv: the decimal sign (default: a point)", NULL, NULL, NULL},
    {0, "thousands", TRA_OPT_STR, &text.thousands, "CHAR", "csv: what stands between thousands (default: nothing)",
     NULL, NULL, NULL},
    {0, "quote", TRA_OPT_STR, &text.quote, "CHAR", "csv: around cells, or none (default: found out)", NULL, NULL, NULL},
    {0, "escape", TRA_OPT_STR, &text.escape, "CHAR", "csv: before a quote in quotes, or none (default: found out)",
     NULL, NULL, NULL},
    {0, "comment", TRA_OPT_STR, &text.comment, "CHAR", "csv: lines that begin with it are left out, or none", NULL,
     NULL, NULL},
    {0, "encoding", TRA_OPT_STR, &text.encoding, "NAME", "csv: utf-8 or latin1 (default: utf-8)", NULL, NULL, NULL},
    {0, "rejects", TRA_OPT_STR, &text.job.rejects, "FILE",
     "tables: write records that are at fault to this file, and go on (default: stop at the first)", NULL, NULL, NULL},
    {0, "rejects-limit", TRA_OPT_STR, &text.rejects_limit, "N", "tables: stop at more than so many rejects", NULL, NULL,
     NULL},
    {0, "pad-short", TRA_OPT_FLAG, &text.job.pad_short, NULL, "csv: cells that a record lacks are NULL", NULL, NULL,
     NULL},
    {0, "drop-long", TRA_OPT_FLAG, &text.job.drop_long, NULL, "csv: leave out the cells that a record has too many",
     NULL, NULL, NULL},
    {0, "strict", TRA_OPT_FLAG, &text.job.strict, NULL, "csv: a quote inside an unquoted cell is an error", NULL, NULL,
     NULL},
    {0, "lenient", TRA_OPT_FLAG, &text.job.lenient, NULL, "csv: text after a closing quote belongs to the cell", NULL,
     NULL, NULL},
    {0, "storage", TRA_OPT_STR, &storage, "NAME",
     "how blocks are stored: auto, dense, csr, ... or FILE.tra:NAME (default: auto, by the density of coordinates)",
     NULL, NULL, NULL},
    {0, "component", TRA_OPT_LIST, &components, "NAME=FILE.npy|NUMBER",
     "a component of the storage (repeat it); those that are not given are filled from FILE", NULL, NULL, NULL},
    {0, "base", TRA_OPT_STR, &base, "0|1", "mtx, tns, edges: the first index (default: 0 for edges, else 1)", NULL,
     NULL, NULL},
    {0, "duplicates", TRA_OPT_ENUM, &duplicates, "WHAT",
     "mtx, tns, edges, npz: of an element that is given more than once the sum, or an error (default: sum)",
     "sum|error", NULL, NULL},
    {0, "drop-zeros", TRA_OPT_FLAG, &drop_zeros, NULL, "mtx, tns, edges, npz: leave entries of value 0 out", NULL, NULL,
     NULL},
    {0, "no-history", TRA_OPT_FLAG, &no_history, NULL, "do not record the command in the file", NULL, NULL, NULL},
    {0},
};

static tra_status read_codec(tra_codec *to, tra_err *e) {
    if (tra_codec_parse(codec, to)) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "--codec %s: it is none, zstd or zstd:LEVEL with a level of 1 to 19", codec);
}

static tra_status read_options(const char *source, tra_import_job *job, tra_dims *blocks, tra_err *e) {
    *job = (tra_import_job){.from = source,
                            .to = output,
                            .progress = tra_progress_here(),
                            .source = {.header = -1, .base = -1, .empty_nan = empty_nan, .memory = memory}};
    if (!source && !components.n)
        return tra_fail(e, TRA_USAGE, "say which file is read, or give the components of a storage with --component");
    if (!output) return tra_fail(e, TRA_USAGE, "say where the relation goes: -o out.h5 or -o out.h5:name");
    if (strcmp(output, "-") == 0) return tra_fail(e, TRA_USAGE, "-o -: a relation cannot be written to a stream");
    if (from && !(job->format = tra_format_find(from)))
        return tra_fail(e, TRA_USAGE, "--from %s: no such format; it is one of %s", from, tra_format_choices());
    if (dtype && !(job->source.has_elem = tra_elem_parse(dtype, &job->source.elem)))
        return tra_fail(e, TRA_USAGE, "--dtype %s: it is one of %s", dtype, tra_dtype_choices());
    job->source.has_dtype = dtype && tra_dtype_parse(dtype, &job->source.dtype);
    if (shape && !(job->source.has_shape = tra_parse_dims(shape, 0, &job->source.shape)))
        return tra_fail(e, TRA_USAGE, "--shape %s: extents as in 1000x2000 are expected", shape);
    if (block) {
        if (!tra_parse_dims(block, 1, blocks))
            return tra_fail(e, TRA_USAGE, "--block %s: extents of at least 1 as in 1000x1000 are expected", block);
        job->block = blocks;
    }
    TRA_TRY(read_codec(&job->codec, e));
    if (text.header && text.no_header) return tra_fail(e, TRA_USAGE, "--header and --no-header exclude each other");
    if (text.header || text.no_header) job->source.header = text.header;
    TRA_TRY(tra_csv_delimiter(text.delimiter, &job->source.delimiter, e));
    if (base && strcmp(base, "0") != 0 && strcmp(base, "1") != 0)
        return tra_fail(e, TRA_USAGE, "--base %s: the first index is 0 or 1", base);
    if (base) job->source.base = *base - '0';
    job->storage = storage;
    job->components = components.v;
    job->ncomponents = components.n;
    job->no_duplicate = duplicates == 1;
    job->drop_zeros = drop_zeros;
    job->source.big_endian = endian == 1;
    job->source.fortran = order == 1;
    return TRA_OK;
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
    for (const tra_opt *o = opts; o->name; o++)
        if (!is_among(o->name, other)) tra_opt_print(o, out);
    if (text.job.rejects) tra_str_add(out, " --rejects");
}

static void warn_losses(const char *source, const tra_import_receipt *r) {
    char buf[TRA_DIMTEXT];
    int64_t n;
    if (tra_dims_product(&r->shape, &n) && n == 0)
        tra_warn("%s: there are no numbers in it (%s)", source, tra_shape_text(&r->shape, buf));
    if (r->inexact > 0)
        tra_warn("%s: %" PRId64 " integers cannot be held exactly in %s and were rounded", source, r->inexact,
                 tra_dtype_name(r->dtype));
    if (r->duplicates > 0)
        tra_warn("%s: %" PRId64 " entries are of elements that were given before, and were added to these", source,
                 r->duplicates);
    if (r->overflow > 0)
        tra_warn("%s: %" PRId64 " finite values are too large for %s and became infinite", source, r->overflow,
                 tra_dtype_name(r->dtype));
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
                   block || r->one_block ? "" : " (chosen; --block changes it)");
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
    tra_status s = tra_print(tra_str_get(&t), e);
    tra_str_free(&t);
    return s;
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
    tra_str_add(&j.out, "\n");
    tra_status s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    return s;
}

/* The first option given that is for this format, other than these; NULL if there is none. */
static const char *asks_for(const char *format, const char *const *other) {
    for (const tra_opt *o = opts; o->name; o++)
        if (tra_opt_given(o) && tra_opt_is_for(o, format) && !is_among(o->name, other)) return o->name;
    return NULL;
}

static const char *asks_for_table(void) { return asks_for("tables", (const char *const[]){NULL}); }

/* Was an option given for which text must be read as that of tables is? The reader of plain matrices knows the others.
 */
static bool asks_for_text(void) {
    return asks_for("csv", (const char *const[]){"delimiter", "header", "no-header", "empty-nan", NULL}) != NULL;
}

/* Was an option given that only matrices have? */
static bool asks_for_matrix(void) {
    return text.job.vector || dtype || shape || base || storage || components.n || endian || order || duplicates ||
           drop_zeros || empty_nan || (block && strchr(block, 'x'));
}

/* Imports a table, if it is one. job: how the options want text to be read, in the arena. */
static tra_status try_table(const char *source, const char *how, tra_arena *a, tra_table_job *job, bool *done,
                            bool *titled, tra_err *e) {
    tra_text_options o = text;
    o.block = block;
    o.job.memory = memory;
    if (asks_for_matrix()) o.block = NULL;
    if (asks_for_table() && asks_for_matrix())
        return tra_fail(e, TRA_USAGE,
                        "some of these options are only for tables, others only for matrices (tra import --help)");
    const tra_format *other = from ? tra_format_find(from) : source ? tra_format_by_suffix(source) : NULL;
    if (asks_for_table() && other && strcmp(other->name, "csv") != 0)
        return tra_fail(e, TRA_USAGE,
                        "--%s is for tables of CSV files, and %s is %s by %s (--from csv reads it as CSV)",
                        asks_for_table(), source, other->name, from ? "--from" : "its name");
    if (!source || !output || strcmp(output, "-") == 0 || (o.header && o.no_header)) return TRA_OK;
    bool csv = from ? strcmp(from, "csv") == 0 : tra_csv_by_name(source);
    if (asks_for_text() || asks_for_table()) TRA_TRY(tra_table_job_of(source, output, &o, a, job, e));
    if (asks_for_matrix() && csv && !asks_for_text()) {
        bool is;
        TRA_TRY(tra_table_job_of(source, output, &o, a, job, e));
        return tra_looks_like_table(job, &is, titled, e);
    }
    if (asks_for_matrix() || (!asks_for_table() && !csv)) return TRA_OK;
    TRA_TRY(tra_threads_check(e));
    TRA_TRY(tra_table_job_of(source, output, &o, a, job, e));
    job->history = no_history ? NULL : how;
    TRA_TRY(read_codec(&job->codec, e));
    return tra_import_as_table(job, asks_for_table() != NULL, done, titled, e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    const char *source = argc ? argv[0] : NULL;
    tra_import_job job;
    tra_import_receipt r;
    tra_dims blocks;
    tra_str how = {0};
    bool done = false, titled = false; /* with titles or comments a matrix, too, is read by the reader of tables */
    history(source, &how);
    tra_arena *a = tra_arena_new();
    tra_table_job read_as;
    tra_status t = try_table(source, tra_str_get(&how), a, &read_as, &done, &titled, e);
    if (t == TRA_OK && !done) t = read_options(source, &job, &blocks, e);
    if (t == TRA_OK) t = tra_threads_check(e);
    if (t != TRA_OK || done) {
        tra_str_free(&how);
        tra_arena_free(a);
        return t;
    }
    if (asks_for_text() || titled) job.source.text = &read_as;
    if (!no_history) job.history = tra_str_get(&how);
    tra_status s = tra_import(&job, &r, e);
    tra_str_free(&how);
    tra_arena_free(a);
    TRA_TRY(s);
    if (!source) source = "components";
    warn_losses(source, &r);
    tra_warn_unused(opts, r.format, source);
    if (tra_common_opts.quiet) return TRA_OK;
    return tra_common_opts.format == TRA_FORMAT_JSON ? print_json(source, &r, e) : print_text(source, &r, e);
}

const tra_cmd tra_cmd_import = {
    .name = "import",
    .group = "Relations",
    .brief = "read a file of another program into a relation",
    .usage = "[options] [FILE|-] -o OUT[:NAME]",
    .about =
        "Reads a CSV file (a table, or a matrix where all cells are numbers), a numpy array, a file of coordinates "
        "(MatrixMarket, .tns, edges, scipy's .npz), raw elements or an HDF5 dataset, and writes it in blocks to a "
        "relation. Memory stays below --memory whatever the size and the order of the source; what does not fit goes "
        "through a scratch file in TRA_SCRATCH, TMPDIR or the directory of the output. A receipt on standard output "
        "says what was read. Without FILE a relation is made of the components of a storage.",
    .opts = opts,
    .minargs = 0,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
