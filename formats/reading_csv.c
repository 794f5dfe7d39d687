/* reading_csv.c - what the options of CSV files say. */
#include "reading.h"

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

tra_status tra_table_job_of(const tra_file_job *from, tra_arena *a, tra_table_job *job, tra_err *e) {
    const tra_reading *o = from->reading;
    *job = (tra_table_job){.given = *o,
                           .kind = o->table    ? TRA_CSV_TABLE
                                   : o->matrix ? TRA_CSV_MATRIX
                                               : TRA_CSV_ANY,
                           .header = o->header      ? 1
                                     : o->no_header ? 0
                                                    : -1,
                           .quote = -1,
                           .escape = -1,
                           .comment = -1,
                           .nnulls = -1,
                           .rejects_limit = -1,
                           .latin1 = o->encoding && strcmp(o->encoding, "latin1") == 0};
    if (o->header && o->no_header) return tra_fail(e, TRA_USAGE, "--header and --no-header exclude each other");
    if (o->table && o->matrix) return tra_fail(e, TRA_USAGE, "--table and --matrix exclude each other");
    if (o->strict && o->lenient) return tra_fail(e, TRA_USAGE, "--strict and --lenient exclude each other");
    TRA_TRY(some_character("--delimiter", o->delimiter, &job->delimiter, e));
    TRA_TRY(some_character("--decimal", o->decimal, &job->decimal, e));
    TRA_TRY(some_character("--thousands", o->thousands, &job->thousands, e));
    TRA_TRY(character("--quote", o->quote, &job->quote, e));
    TRA_TRY(character("--escape", o->escape, &job->escape, e));
    TRA_TRY(character("--comment", o->comment, &job->comment, e));
    if (job->escape > 0 && job->escape == (job->quote < 0 ? '"' : job->quote)) job->escape = 0;
    TRA_TRY(whole("--skip", o->skip, 0, &job->skip, e));
    TRA_TRY(whole("--rejects-limit", o->rejects_limit, 0, &job->rejects_limit, e));
    if (job->delimiter && job->delimiter == job->quote)
        return tra_fail(e, TRA_USAGE, "--delimiter and --quote are the same character");
    if ((job->decimal ? job->decimal : '.') == job->thousands)
        return tra_fail(e, TRA_USAGE, "--decimal and --thousands are the same character");
    if (o->encoding && strcmp(o->encoding, "latin1") != 0 && strcmp(o->encoding, "utf-8") != 0)
        return tra_fail(e, TRA_USAGE, "--encoding %s: it is utf-8 or latin1", o->encoding);
    if (o->null) split_nulls(a, o->null, job);
    if (o->rejects_limit && !o->rejects) return tra_fail(e, TRA_USAGE, "--rejects-limit goes with --rejects FILE");
    if (o->date_format) TRA_TRY(tra_csv_check_format("--date-format", o->date_format, true, e));
    if (o->timestamp_format) TRA_TRY(tra_csv_check_format("--timestamp-format", o->timestamp_format, false, e));
    return TRA_OK;
}
