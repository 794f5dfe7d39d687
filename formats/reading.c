/* reading.c - a file to a relation, by what its options say. */
#include "reading.h"

#include <string.h>

/* ---- tensors --------------------------------------------------------------------------------------------------- */

tra_status tra_source_options_of(const tra_file_job *job, tra_source_options *s, tra_err *e) {
    const tra_reading *o = job->reading;
    *s = (tra_source_options){.base = -1,
                              .big_endian = o->endian && strcmp(o->endian, "big") == 0,
                              .fortran = o->order && strcmp(o->order, "F") == 0,
                              .memory = job->memory};
    if (o->dtype && !(s->has_elem = tra_elem_parse(o->dtype, &s->elem)))
        return tra_fail(e, TRA_USAGE, "--dtype %s: it is one of %s", o->dtype, tra_dtype_choices());
    s->has_dtype = o->dtype && tra_dtype_parse(o->dtype, &s->dtype);
    if (o->shape && !(s->has_shape = tra_parse_dims(o->shape, 0, &s->shape)))
        return tra_fail(e, TRA_USAGE, "--shape %s: extents as in 1000x2000 are expected", o->shape);
    if (o->base && strcmp(o->base, "0") != 0 && strcmp(o->base, "1") != 0)
        return tra_fail(e, TRA_USAGE, "--base %s: the first index is 0 or 1", o->base);
    if (o->base) s->base = *o->base - '0';
    return TRA_OK;
}

static tra_status tensor_job_of(const tra_file_job *job, tra_import_job *to, tra_dims *block, tra_err *e) {
    const tra_reading *o = job->reading;
    *to = (tra_import_job){.from = job->from,
                           .to = job->to,
                           .format = job->format,
                           .progress = job->progress,
                           .codec = job->codec,
                           .history = job->history,
                           .alone = job->alone,
                           .storage = o->storage,
                           .components = o->components.v,
                           .ncomponents = o->components.n,
                           .no_duplicate = o->duplicates && strcmp(o->duplicates, "error") == 0,
                           .drop_zeros = o->drop_zeros};
    TRA_TRY(tra_source_options_of(job, &to->source, e));
    if (!o->block) return TRA_OK;
    to->block = block;
    if (tra_parse_dims(o->block, 1, block)) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "--block %s: extents of at least 1 as in 1000x1000 are expected", o->block);
}

/* The first option given that only tables have, or only matrices; NULL: none. */
static const char *asks_for(const tra_reading *r, const char *only) {
    const tra_option *o;
    for (int i = 0; (o = tra_option_at(true, i)); i++)
        if (o->only && strcmp(o->only, only) == 0 && tra_option_given(o, r)) return o->name;
    return NULL;
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

void tra_import_warn(const char *source, const tra_file_receipt *r, const tra_reading *how) {
    if (!r->table) warn_losses(source, &r->values);
    if (r->table && r->rows.rejected > 0)
        tra_warn("%s: %" PRId64 " record%s rejected, see %s", source, r->rows.rejected,
                 r->rows.rejected == 1 ? " is" : "s are", how->rejects);
}

tra_status tra_import_file(const tra_file_job *job, tra_arena *a, tra_file_receipt *r, tra_err *e) {
    tra_table_job text;
    tra_import_job to;
    tra_dims block;
    *r = (tra_file_receipt){0};
    TRA_TRY(tra_table_job_of(job, a, &text, e));
    text.table_option = job->reading->table ? "table" : asks_for(job->reading, "tables");
    text.matrix_option = asks_for(job->reading, "matrices");
    TRA_TRY(tensor_job_of(job, &to, &block, e));
    to.source.text = &text;
    TRA_TRY(tra_import(&to, a, &r->values, e));
    r->table = r->values.is_table;
    r->rows = r->values.table;
    return TRA_OK;
}
