/* import_table.c - tra import of a CSV file as a table: options to a job, and the receipt. */
#include "import_table.h"

#include "common.h"

#include <string.h>

/* One character, or "tab", "space", "none". *to: it; 0 for none. */
static tra_status character(const char *option, const char *text, int *to, tra_err *e) {
    if (!text) return TRA_OK;
    if (strcmp(text, "none") == 0)
        *to = 0;
    else if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        *to = '\t';
    else if (strcmp(text, "space") == 0)
        *to = ' ';
    else if (strlen(text) == 1 && *text != '\n' && *text != '\r')
        *to = *text;
    else
        return tra_fail(e, TRA_USAGE, "%s %s: it is one character, tab, space or none", option, text);
    return TRA_OK;
}

static tra_status some_character(const char *option, const char *text, char *to, tra_err *e) {
    int c = -1;
    TRA_TRY(character(option, text, &c, e));
    if (c == 0) return tra_fail(e, TRA_USAGE, "%s %s: it is one character, tab or space", option, text);
    if (c > 0) *to = (char)c;
    return TRA_OK;
}

static tra_status whole(const char *option, const char *text, int64_t least, int64_t *to, tra_err *e) {
    if (!text || (tra_parse_int(text, to) && *to >= least)) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "%s %s: a whole number of at least %" PRId64 " is expected", option, text, least);
}

/* "NA,-,": the words between commas; the empty one is always NULL. */
static void split_nulls(tra_arena *a, const char *text, tra_table_job *job) {
    int n = 0;
    const char **v = tra_news(a, const char *, strlen(text) + 2);
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ",");
        if (len > 0) v[n++] = tra_arena_strndup(a, p, len);
        p += len;
        if (!*p) break;
    }
    job->nnulls = n;
    job->nulls = v;
}

tra_status tra_table_job_of(const char *source, const char *output, const tra_text_options *o, tra_arena *a,
                            tra_table_job *job, tra_err *e) {
    *job = o->job;
    job->from = source;
    job->to = output;
    job->progress = tra_progress_here();
    job->quote = job->escape = job->comment = job->nnulls = -1;
    job->rejects_limit = -1;
    job->header = o->header ? 1 : o->no_header ? 0 : -1;
    job->types = o->types.v;
    job->ntypes = o->types.n;
    if (job->strict && job->lenient) return tra_fail(e, TRA_USAGE, "--strict and --lenient exclude each other");
    TRA_TRY(some_character("--delimiter", o->delimiter, &job->delimiter, e));
    TRA_TRY(some_character("--decimal", o->decimal, &job->decimal, e));
    TRA_TRY(some_character("--thousands", o->thousands, &job->thousands, e));
    TRA_TRY(character("--quote", o->quote, &job->quote, e));
    TRA_TRY(character("--escape", o->escape, &job->escape, e));
    TRA_TRY(character("--comment", o->comment, &job->comment, e));
    if (job->escape > 0 && job->escape == (job->quote < 0 ? '"' : job->quote)) job->escape = 0;
    TRA_TRY(whole("--skip", o->skip, 0, &job->skip, e));
    TRA_TRY(whole("--rejects-limit", o->rejects_limit, 0, &job->rejects_limit, e));
    TRA_TRY(whole("--block", o->block, 1, &job->block, e));
    if (job->delimiter && job->delimiter == job->quote)
        return tra_fail(e, TRA_USAGE, "--delimiter and --quote are the same character");
    if ((job->decimal ? job->decimal : '.') == job->thousands)
        return tra_fail(e, TRA_USAGE, "--decimal and --thousands are the same character");
    if (o->encoding && strcmp(o->encoding, "latin1") != 0 && strcmp(o->encoding, "utf-8") != 0)
        return tra_fail(e, TRA_USAGE, "--encoding %s: it is utf-8 or latin1", o->encoding);
    job->latin1 = o->encoding && strcmp(o->encoding, "latin1") == 0;
    if (o->nulls) split_nulls(a, o->nulls, job);
    if (o->rejects_limit && !job->rejects) return tra_fail(e, TRA_USAGE, "--rejects-limit goes with --rejects FILE");
    if (job->date_format) TRA_TRY(tra_csv_check_format("--date-format", job->date_format, true, e));
    if (job->timestamp_format) TRA_TRY(tra_csv_check_format("--timestamp-format", job->timestamp_format, false, e));
    return TRA_OK;
}

/* ---- receipts --------------------------------------------------------------------------------------------------- */

static const char *delimiter_name(char c, char buf[4]) {
    if (c == '\t') return "tab";
    if (c == ' ') return "space";
    snprintf(buf, 4, "%c", c);
    return buf;
}

static tra_status print_text(const char *source, const char *output, const tra_table_receipt *r, tra_err *e) {
    tra_str t = {0};
    char h[32], d[4];
    int widest = 0;
    for (int c = 0; c < r->columns; c++) {
        int n = (int)strlen(r->column[c].name);
        widest = n > widest && n <= 40 ? n : widest;
    }
    tra_str_printf(&t, "%s\n  from     %s (csv, %s", output, source, tra_human(r->bytes_in, h));
    tra_str_printf(&t, ", delimiter %s%s)\n", delimiter_name(r->delimiter, d), r->header ? ", header" : "");
    tra_str_printf(&t, "  rows     %" PRId64 "\n", r->rows);
    if (r->rejected > 0) tra_str_printf(&t, "  rejected %" PRId64 "\n", r->rejected);
    tra_str_printf(&t, "  blocks   %" PRId64 " of %" PRId64 " rows\n", r->blocks, r->block);
    tra_str_printf(&t, "  stored   %s (%" PRId64 " bytes)\n", tra_human(r->bytes_stored, h), r->bytes_stored);
    tra_str_printf(&t, "  columns  %d\n", r->columns);
    for (int c = 0; c < r->columns; c++) {
        if (c == 60 && r->columns > 64) {
            tra_str_printf(&t, "    ... (tra info lists all)\n");
            break;
        }
        tra_str_printf(&t, "    %-*s  %s", widest, r->column[c].name, r->column[c].type);
        if (r->column[c].nulls > 0) tra_str_printf(&t, ", %" PRId64 " NULL", r->column[c].nulls);
        tra_str_add(&t, "\n");
    }
    tra_status s = tra_print(tra_str_get(&t), e);
    tra_str_free(&t);
    return s;
}

static tra_status print_json(const char *source, const char *output, const tra_table_receipt *r, tra_err *e) {
    tra_json j = {0};
    char d[4];
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "output", output);
    tra_json_str(&j, "source", source);
    tra_json_str(&j, "format", "csv");
    tra_json_int(&j, "rows", r->rows);
    tra_json_int(&j, "rejected", r->rejected);
    tra_json_int(&j, "block", r->block);
    tra_json_int(&j, "blocks", r->blocks);
    tra_json_bool(&j, "header", r->header);
    tra_json_str(&j, "delimiter", delimiter_name(r->delimiter, d));
    tra_json_int(&j, "bytes_in", r->bytes_in);
    tra_json_int(&j, "bytes_stored", r->bytes_stored);
    tra_json_begin(&j, "columns", '[');
    for (int c = 0; c < r->columns; c++) {
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "name", r->column[c].name);
        tra_json_str(&j, "type", r->column[c].type);
        tra_json_int(&j, "nulls", r->column[c].nulls);
        tra_json_end(&j, '}');
    }
    tra_json_end(&j, ']');
    tra_json_end(&j, '}');
    tra_str_add(&j.out, "\n");
    tra_status s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    return s;
}

tra_status tra_import_as_table(const tra_table_job *job, bool table, bool *done, bool *titled, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_table_receipt r;
    *done = table;
    tra_status s = TRA_OK;
    if (!table) s = tra_looks_like_table(job, done, titled, e);
    if (s == TRA_OK && *done) {
        s = tra_import_table(job, a, &r, e);
        if (s == TRA_OK && r.rejected > 0)
            tra_warn("%s: %" PRId64 " record%s rejected, see %s", job->from, r.rejected,
                     r.rejected == 1 ? " is" : "s are", job->rejects);
        if (s == TRA_OK && !tra_common_opts.quiet)
            s = tra_common_opts.format == TRA_FORMAT_JSON ? print_json(job->from, job->to, &r, e)
                                                          : print_text(job->from, job->to, &r, e);
    }
    tra_arena_free(a);
    return s;
}
