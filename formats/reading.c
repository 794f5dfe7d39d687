/* reading.c - a file to a relation, by what its options say. */
#include "reading.h"

#include <string.h>

/* ---- tensors --------------------------------------------------------------------------------------------------- */

static tra_status tensor_job_of(const tra_file_job *job, tra_import_job *to, tra_dims *block, tra_err *e) {
    const tra_reading *o = job->reading;
    *to = (tra_import_job){.from = job->from,
                           .to = job->to,
                           .format = job->format,
                           .progress = job->progress,
                           .codec = job->codec,
                           .history = job->history,
                           .storage = o->storage,
                           .components = o->components.v,
                           .ncomponents = o->components.n,
                           .no_duplicate = o->duplicates && strcmp(o->duplicates, "error") == 0,
                           .drop_zeros = o->drop_zeros,
                           .source = {.header = o->header      ? 1
                                                : o->no_header ? 0
                                                               : -1,
                                      .base = -1,
                                      .empty_nan = o->empty_nan,
                                      .big_endian = o->endian && strcmp(o->endian, "big") == 0,
                                      .fortran = o->order && strcmp(o->order, "F") == 0,
                                      .memory = job->memory}};
    tra_source_options *s = &to->source;
    if (o->dtype && !(s->has_elem = tra_elem_parse(o->dtype, &s->elem)))
        return tra_fail(e, TRA_USAGE, "--dtype %s: it is one of %s", o->dtype, tra_dtype_choices());
    s->has_dtype = o->dtype && tra_dtype_parse(o->dtype, &s->dtype);
    if (o->shape && !(s->has_shape = tra_parse_dims(o->shape, 0, &s->shape)))
        return tra_fail(e, TRA_USAGE, "--shape %s: extents as in 1000x2000 are expected", o->shape);
    if (o->block) {
        if (!tra_parse_dims(o->block, 1, block))
            return tra_fail(e, TRA_USAGE, "--block %s: extents of at least 1 as in 1000x1000 are expected", o->block);
        to->block = block;
    }
    if (o->header && o->no_header) return tra_fail(e, TRA_USAGE, "--header and --no-header exclude each other");
    TRA_TRY(tra_csv_delimiter(o->delimiter, &s->delimiter, e));
    if (o->base && strcmp(o->base, "0") != 0 && strcmp(o->base, "1") != 0)
        return tra_fail(e, TRA_USAGE, "--base %s: the first index is 0 or 1", o->base);
    if (o->base) s->base = *o->base - '0';
    return TRA_OK;
}

/* ---- a table or a tensor? -------------------------------------------------------------------------------------- */

/* The first option given that only tables have, or only matrices; NULL: none. */
static const char *asks_for(const tra_reading *r, const char *only) {
    const tra_option *o;
    for (int i = 0; (o = tra_option_at(true, i)); i++)
        if (o->only && strcmp(o->only, only) == 0 && tra_option_given(o, r)) return o->name;
    return NULL;
}

static bool asks_for_matrix(const tra_reading *r) {
    return asks_for(r, "matrices") || (r->block && strchr(r->block, 'x'));
}

/* Was an option given for which text must be read as that of tables is? The reader of plain matrices knows the others.
 */
static bool asks_for_text(const tra_reading *r) {
    tra_reading plain = *r;
    plain.delimiter = plain.block = NULL;
    plain.header = plain.no_header = plain.table = false;
    for (const tra_option *const *o = tra_options_csv; *o; o++)
        if (!(*o)->also && strcmp((*o)->name, "empty-nan") != 0 && !((*o)->only && strcmp((*o)->only, "tables") == 0) &&
            tra_option_given(*o, &plain))
            return true;
    return false;
}

/* Is it a table? text: how the options want text to be read. *titled: with titles or comments a matrix, too, is read by
 * the reader of tables. */
static tra_status is_table(const tra_file_job *job, tra_arena *a, tra_table_job *text, bool *is, bool *titled,
                           tra_err *e) {
    const tra_reading *r = job->reading;
    const char *table = asks_for(r, "tables"), *source = job->from;
    *is = *titled = false;
    if (table && asks_for_matrix(r))
        return tra_fail(e, TRA_USAGE,
                        "some of these options are only for tables, others only for matrices (tra import --help)");
    const tra_format *other = job->format ? job->format : source ? tra_format_by_suffix(source) : NULL;
    if (table && other && strcmp(other->name, "csv") != 0)
        return tra_fail(e, TRA_USAGE,
                        "--%s is for tables of CSV files, and %s is %s by %s (--from csv reads it as CSV)", table,
                        source, other->name, job->format ? "--from" : "its name");
    if (!source) return TRA_OK;
    bool csv = job->format ? strcmp(job->format->name, "csv") == 0 : tra_csv_by_name(source);
    if (asks_for_text(r) || table || csv) TRA_TRY(tra_table_job_of(job, a, text, e));
    if (asks_for_matrix(r)) {
        bool unused;
        return csv && !asks_for_text(r) ? tra_looks_like_table(text, &unused, titled, e) : TRA_OK;
    }
    *is = table != NULL;
    return csv && !table ? tra_looks_like_table(text, is, titled, e) : TRA_OK;
}

tra_status tra_import_file(const tra_file_job *job, tra_arena *a, tra_file_receipt *r, tra_err *e) {
    tra_table_job text;
    tra_import_job values;
    tra_dims block;
    bool titled;
    *r = (tra_file_receipt){0};
    TRA_TRY(is_table(job, a, &text, &r->table, &titled, e));
    if (r->table) return tra_import_table(&text, a, &r->rows, e);
    TRA_TRY(tensor_job_of(job, &values, &block, e));
    if (asks_for_text(job->reading) || titled) values.source.text = &text;
    return tra_import(&values, &r->values, e);
}
