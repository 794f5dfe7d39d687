/* table_csv_open.c - a CSV file that is to be imported: how it is read, by how many threads, in how much memory. */
#include "table_csv_spill.h"

#include <stdlib.h>
#include <string.h>

/* Text of a piece takes no more than so much as cells, columns and words; twice in stretches. Buffers of LEAST bytes
 * are there in any ceiling. */
enum {
    PER_BYTE = 40,
    LEAST_PIECE = 16 << 10,
    MOST_PIECE = 256 << 10,
    MOST_STRETCH = 8 << 20,
    FREE = 4 << 20,
    LONGEST = 1 << 19
};

static const tra_table_job usual = {
    .quote = -1, .escape = -1, .comment = -1, .header = -1, .nnulls = -1, .rejects_limit = -1};

static tra_csv_hints hints_of(const tra_table_job *j, const tra_csv_reading *reading) {
    return (tra_csv_hints){.delimiter = j->delimiter,
                           .comment = j->comment,
                           .quote = j->quote,
                           .escape = j->escape,
                           .header = j->header,
                           .skip = j->skip,
                           .reading = reading,
                           .strictness = j->given.strict    ? TRA_CSV_STRICTNESS_STRICT
                                         : j->given.lenient ? TRA_CSV_STRICTNESS_LENIENT
                                                            : TRA_CSV_STRICTNESS_USUAL};
}

static tra_csv_reading reading_of(const tra_table_job *j) {
    return (tra_csv_reading){.decimal = j->decimal ? j->decimal : '.',
                             .thousands = j->thousands,
                             .latin1 = j->latin1,
                             .nnulls = j->nnulls,
                             .nulls = j->nulls,
                             .date_format = j->given.date_format,
                             .timestamp_format = j->given.timestamp_format};
}

/* Of so much memory in all. A matrix needs most of it for blocks, so its buffers are within FREE bytes, unless one
 * record is longer: those are there in any ceiling. */
static tra_csv_sizes sizes_for(int64_t all, bool matrix) {
    tra_csv_sizes z = {.workers = tra_cores()};
    int64_t share = matrix ? tra_min64(all / 16, FREE / 2) : all / 4, least = matrix ? LEAST_PIECE / 4 : LEAST_PIECE;
    while (z.workers > 1 && all / 4 < (int64_t)z.workers * PER_BYTE * (64 << 10)) z.workers--;
    z.piece = tra_max64(least, tra_min64(MOST_PIECE, share / (z.workers * PER_BYTE)));
    z.stretch = tra_max64(4 * z.piece, tra_min64(MOST_STRETCH, share / (matrix ? 8 : 4)));
    return z;
}

tra_status tra_csv_begin(tra_source *s, tra_csv_import **out, tra_err *e) {
    tra_csv_import *m = *out = tra_new(s->arena, tra_csv_import);
    const tra_table_job *job = s->o.text ? s->o.text : &usual;
    *m = (tra_csv_import){.job = job, .arena = s->arena, .spec = s->in.name, .to = s->o.scratch, .memory = s->o.memory};
    m->reading = reading_of(job);
    m->rules = (tra_csv_rules){
        .spec = m->spec, .pad_short = job->given.pad_short, .drop_long = job->given.drop_long, .latin1 = job->latin1};
    tra_csv_hints hints = hints_of(job, &m->reading);
    m->once = !tra_stream_can_rewind(&s->in);
    TRA_TRY(tra_csv_open(&s->in, &hints, tra_max64(LONGEST, m->memory / 32), m->to, &m->file, e));
    m->form = tra_csv_form_of(m->file);
    m->width = m->form->columns;
    int64_t cells = tra_csv_first_cells(m->file);
    if (job->kind != TRA_CSV_TABLE && !m->form->header && !job->given.pad_short && !job->given.drop_long)
        m->width = cells;
    bool matrix = job->kind == TRA_CSV_MATRIX || (job->kind == TRA_CSV_ANY && !m->form->header);
    tra_csv_sizes sizes = sizes_for(m->memory, matrix);
    m->nworkers = sizes.workers;
    int64_t stretch = tra_csv_make_room(m->file, &sizes);
    int64_t held = stretch * 6 + m->nworkers * PER_BYTE * sizes.piece; /* numbers are 4 times as much as text */
    s->held += (size_t)tra_max64(0, held - FREE);
    if (m->form->comments)
        tra_warn_always("%s: lines that begin with # are left out, also between records (--comment none reads them)",
                        m->spec);
    if (m->form->titles > 0)
        tra_warn_always("%s: what is above the header in line %" PRId64
                        " is left out as titles (--header takes the first line as the header, --no-header as a row)",
                        m->spec, m->form->lines + 1);
    if (m->width == 0 && !job->given.names)
        return tra_fail(e, TRA_INPUT, "%s is empty: there is no table in it", m->spec);
    return TRA_OK;
}

static void free_workers(tra_csv_import *m) {
    for (int k = 0; m->worker && k < m->nworkers; k++) {
        tra_csv_worker *w = &m->worker[k];
        tra_csv_rows_free(&w->rows);
        for (int c = 0; c < m->made; c++) tra_string_set_free(&w->words[c]), free(w->seen[c]);
        free(w->bad);
        free(w->buf);
        free(w->pack);
        free(w->block);
    }
    for (int c = 0; m->words && c < m->made; c++) tra_string_set_free(&m->words[c]), free(m->code[c]);
    for (int64_t i = 0; m->rejects && i < tra_csv_most_pieces(m->file); i++) free(m->rejects[i].v);
}

void tra_csv_make_workers(tra_csv_import *m) {
    free_workers(m);
    m->made = m->ncolumns;
    m->worker = tra_news(m->arena, tra_csv_worker, m->nworkers);
    m->collect = tra_news(m->arena, bool, m->ncolumns + 1);
    m->spilled = tra_arena_array(m->arena, (size_t)m->ncolumns + 1, sizeof *m->spilled);
    m->words = tra_news(m->arena, tra_string_set, m->ncolumns + 1);
    m->code = tra_news(m->arena, int32_t *, m->ncolumns + 1);
    m->rejects = tra_news(m->arena, tra_csv_rejects, tra_csv_most_pieces(m->file));
    m->at = tra_news(m->arena, const tra_csv_piece *, tra_csv_most_pieces(m->file));
    for (int k = 0; k < m->nworkers; k++) {
        tra_csv_worker *w = &m->worker[k];
        w->guess = tra_news(m->arena, tra_csv_guess, m->ncolumns + 1);
        for (int c = 0; c < m->ncolumns; c++) w->guess[c] = tra_csv_no_guess();
        w->words = tra_news(m->arena, tra_string_set, m->ncolumns + 1);
        w->seen = tra_news(m->arena, int64_t *, m->ncolumns + 1);
        w->seen_cap = tra_news(m->arena, int64_t, m->ncolumns + 1);
        w->vectors = tra_news(m->arena, tra_vector, m->ncolumns + 1);
    }
}

void tra_csv_end(tra_csv_import *m) {
    if (!m) return;
    if (m->out_open) tra_newfile_abort(&m->out);
    tra_writer_abort(m->writer);
    free_workers(m);
    tra_csv_spill_free(m);
    tra_csv_pack_free(m);
    free(m->rows);
    tra_csv_close(m->file);
}
