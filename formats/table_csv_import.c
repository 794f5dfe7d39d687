/* table_csv_import.c - tra import of a CSV file as a table: one pass for types, rows and dictionaries, one for
 * values. */
#include "table_csv_spill.h"

#include "../lib/base/meter.h"
#include "../lib/storage/stored.h"

#include <stdlib.h>
#include <string.h>

/* ---- the first pass --------------------------------------------------------------------------------------------- */

static void collect(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t item, int c) {
    tra_string_set *words = &w->words[c];
    if (m->spilled[c]) {
        tra_csv_drop_texts(w, c);
        return;
    }
    int64_t before = tra_string_set_bytes(words) + 8 * w->seen_cap[c];
    for (int64_t r = 0; r < w->rows.n; r++) {
        size_t n;
        bool null, fresh;
        if (w->bad[r]) continue;
        tra_csv_expect(m, w, p, r + TRA_STRINGS_AHEAD, c, words);
        const char *s = tra_csv_string(m, w, p, r, c, &n, &null);
        if (null) continue;
        tra_string_set_add(words, s, n, tra_string_set_hash(s, n), &fresh);
        if (!fresh) continue;
        if (words->n > w->seen_cap[c]) {
            w->seen_cap[c] = tra_max64(4, 2 * w->seen_cap[c]);
            w->seen[c] = tra_realloc(w->seen[c], (size_t)w->seen_cap[c], sizeof *w->seen[c]);
        }
        w->seen[c][words->n - 1] = (m->base + item) << 32 | r;
    }
    w->held += tra_string_set_bytes(words) + 8 * w->seen_cap[c] - before;
    if (w->held > m->memory / 4 / m->nworkers) tra_csv_spill_largest(m, w);
}

static void guess(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int c) {
    tra_csv_guess *g = &w->guess[c];
    const uint8_t numbers = 1 << TRA_CSV_NUMBER;
    bool plain = tra_csv_has_plain_numbers(&m->reading) && !m->reading.date_format && !m->reading.timestamp_format;
    for (int64_t r = 0; r < w->rows.n; r++) {
        size_t n;
        bool quoted;
        if (plain && !(g->kinds & ~numbers)) {
            r = tra_csv_skip_numbers(p, &w->rows, m->column[c].source, w->bad, r, g);
            if (r == w->rows.n) break;
        }
        if (w->bad[r]) continue;
        const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, r, m->column[c].source, &n, &quoted);
        tra_csv_guess_cell(&m->reading, g, s, n, quoted);
    }
}

static void keep_rows(tra_csv_import *m, const tra_csv_worker *w, int64_t item) {
    int64_t n = w->rows.n;
    for (int64_t r = 0; r < w->rows.n; r++) n -= w->bad[r];
    m->rows[m->base + item] = n;
}

static tra_status examine_piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    tra_csv_import *m = ctx;
    tra_csv_worker *w = &m->worker[worker];
    TRA_TRY(tra_csv_read_piece(m, w, p, item, m->guessing, e));
    if (m->guessing) keep_rows(m, w, item);
    if (m->guessing && m->pack) TRA_TRY(tra_csv_pack_piece(m, w, p, m->base + item, e));
    for (int c = 0; c < m->ncolumns; c++) {
        if (m->guessing) guess(m, w, p, c);
        if (m->collect[c]) collect(m, w, p, item, c);
    }
    tra_meter_add(p->bytes);
    return TRA_OK;
}

/* Room for what is kept of the pieces of the next stretch. */
static void make_room(tra_csv_import *m) {
    int64_t need = m->base + tra_csv_most_pieces(m->file);
    if (m->guessing) tra_csv_pack_room(m, 2 * need);
    if (need <= m->rows_cap) return;
    m->rows_cap = 2 * need;
    m->rows = tra_realloc(m->rows, (size_t)m->rows_cap, sizeof *m->rows);
}

static tra_status after_stretch(void *ctx, int64_t pieces, tra_err *e) {
    tra_csv_import *m = ctx;
    if (m->guessing) TRA_TRY(tra_csv_write_rejects(m, pieces, e));
    m->base += pieces;
    make_room(m);
    return TRA_OK;
}

/* Columns that are strings by their first cells already: their strings are collected in the first pass. */
static void collect_likely_strings(tra_csv_import *m) {
    int64_t n;
    const char *text = tra_csv_head(m->file, &n), *p = text, *end = text + n;
    const tra_csv_dialect *d = &m->form->dialect;
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    for (int row = 0; row < 200; row++) {
        cells.n = 0;
        if (!tra_csv_record(d, text, &p, end, &cells, &fault)) break;
        if (row == 0 && m->form->header) continue;
        for (int c = 0; c < m->ncolumns; c++) {
            if (m->column[c].source >= cells.n || m->column[c].given) continue;
            const tra_csv_cell *x = &cells.v[m->column[c].source];
            tra_csv_guess g = tra_csv_no_guess();
            tra_csv_guess_cell(&m->reading, &g, text + x->at, x->n, x->quoted);
            if (g.kinds >> TRA_CSV_OTHER & 1) m->collect[c] = true;
        }
    }
    free(cells.v);
    for (int c = 0; c < m->ncolumns; c++)
        if (m->column[c].given) m->collect[c] = tra_coltype_is_coded(m->column[c].type);
}

/* What the workers found, together; and a pass more for columns that turned out to be strings late. */
static tra_status decide_types(tra_csv_import *m, tra_err *e) {
    bool late = false;
    for (int c = 0; c < m->ncolumns; c++) {
        tra_csv_guess all = tra_csv_no_guess();
        for (int k = 0; k < m->nworkers; k++) tra_csv_guess_add(&all, &m->worker[k].guess[c]);
        TRA_TRY(tra_csv_decide_type(&m->reading, &all, m->spec, &m->column[c], e));
        bool coded = tra_coltype_is_coded(m->column[c].type);
        m->collect[c] = coded && !m->collect[c];
        late |= m->collect[c];
    }
    m->guessing = false;
    m->npieces = m->base;
    m->base = 0;
    return late ? tra_csv_pass_again(m, examine_piece, after_stretch, m, e) : TRA_OK;
}

/* ---- the second pass -------------------------------------------------------------------------------------------- */

static int64_t aligned(int64_t n) { return (n + 63) / 64 * 64; }

/* Arrays for so many rows. */
static void lay_out(const tra_csv_import *m, tra_csv_worker *w, int64_t rows) {
    int64_t need = 0;
    for (int pass = 0; pass < 2; pass++) {
        char *at = w->block;
        need = 0;
        for (int c = 0; c < m->ncolumns; c++) {
            const tra_column *col = &m->schema.v[c];
            if (pass) w->vectors[c].values = at + need;
            need += aligned(rows * (int64_t)tra_coltype_size(col->type));
            if (pass) w->vectors[c].state = col->nullable ? (uint8_t *)at + need : NULL;
            if (col->nullable) need += aligned(rows);
        }
        if (pass || need <= w->block_cap) continue;
        free(w->block);
        w->block_cap = need + need / 4 + 64;
        w->block = tra_malloc((size_t)w->block_cap);
    }
}

static tra_status changed(const tra_csv_import *m, int c, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: column \"%s\" is not what it was when it was first read: the file was changed",
                    m->spec, m->column[c].name);
}

static tra_status fill_strings(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int c, tra_err *e) {
    int32_t *to = w->vectors[c].values;
    uint8_t *state = w->vectors[c].state;
    int64_t i = 0;
    for (int64_t r = 0; r < w->rows.n; r++) {
        size_t n;
        bool null;
        if (w->bad[r]) continue;
        tra_csv_expect(m, w, p, r + TRA_STRINGS_AHEAD, c, &m->words[c]);
        const char *s = tra_csv_string(m, w, p, r, c, &n, &null);
        int64_t at = null ? 0 : tra_string_set_find(&m->words[c], s, n, tra_string_set_hash(s, n));
        if (at < 0 || (null && !state)) return changed(m, c, e);
        to[i] = null ? 0 : m->code[c][at];
        if (state) state[i] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
        i++;
    }
    return TRA_OK;
}

static tra_status fill_values(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int c, tra_err *e) {
    const tra_csv_column *col = &m->column[c];
    char *to = w->vectors[c].values;
    uint8_t *state = w->vectors[c].state;
    size_t size = tra_coltype_size(col->type);
    bool plain = tra_csv_has_plain_numbers(&m->reading) &&
                 (tra_coltype_is_integer(col->type) || tra_coltype_is_float(col->type));
    int64_t i = 0;
    for (int64_t r = 0; r < w->rows.n; r++) {
        size_t n;
        bool quoted;
        if (plain) r = tra_csv_take_numbers(p, &w->rows, col->source, w->bad, r, col->type, &w->vectors[c], &i);
        if (r == w->rows.n) break;
        if (w->bad[r]) continue;
        const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, r, col->source, &n, &quoted);
        bool null = state && tra_csv_is_null(&m->reading, s, n, quoted, true);
        if (null)
            memset(to + (size_t)i * size, 0, size);
        else if (!tra_csv_value(&m->reading, col, s, n, to, i))
            return changed(m, c, e);
        if (state) state[i] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
        i++;
    }
    return TRA_OK;
}

static tra_status write_piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    tra_csv_import *m = ctx;
    tra_csv_worker *w = &m->worker[worker];
    TRA_TRY(tra_csv_read_piece(m, w, p, item, false, e));
    int64_t number = m->base + item, first = m->rows[number], rows = m->rows[number + 1] - first, n = w->rows.n;
    for (int64_t r = 0; r < w->rows.n; r++) n -= w->bad[r];
    if (number >= m->npieces || n != rows) return m->ncolumns ? changed(m, 0, e) : TRA_OK;
    lay_out(m, w, rows);
    for (int c = 0; c < m->ncolumns; c++) {
        tra_vector *v = &w->vectors[c];
        if (m->spilled[c])
            TRA_TRY(tra_csv_spilled_codes(m, c, first, rows, v->values, v->state, e));
        else if (tra_coltype_is_coded(m->column[c].type))
            TRA_TRY(fill_strings(m, w, p, c, e));
        else
            TRA_TRY(fill_values(m, w, p, c, e));
    }
    tra_batch b = {.schema = &m->schema, .rows = rows, .v = w->vectors};
    tra_digest_rows(&w->digest, first, &b); /* but of columns that are spilled */
    tra_meter_add(p->bytes);
    return tra_writer_put_rows(m->writer, first, &b, e);
}

/* ---- the relation ----------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 18 };

static tra_status create(tra_csv_import *m, tra_column *columns, int64_t rows, int64_t rows_of_block, tra_catalog *cat,
                         tra_err *e) {
    for (int c = 0; c < m->ncolumns; c++) {
        columns[c].name = m->column[c].name;
        columns[c].type = m->column[c].type;
        columns[c].nullable = m->column[c].nullable;
    }
    m->schema = (tra_schema){.n = m->ncolumns, .v = columns};
    tra_dims shape = {.n = 1, .v = {rows}}, block = {.n = 1, .v = {rows_of_block ? rows_of_block : BLOCK}};
    if (rows > 0) block.v[0] = tra_min64(block.v[0], rows);
    TRA_TRY(tra_catalog_blocks(&shape, &block, cat, e));
    tra_type type = {.dtype = TRA_F64, .cat = cat, .layout = &tra_columns, .columns = &m->schema, .cut = {1}};
    tra_write_options o = {.history = m->history, .codec = m->codec, .alone = m->alone};
    TRA_TRY(tra_writer_create(m->to, &type, &o, &m->writer, e));
    return tra_writer_place_rows(m->writer, NULL, e);
}

static tra_status look_at_files(tra_csv_import *m, tra_err *e) {
    const char *first = m->spec;
    TRA_TRY(tra_csv_pass(m->file, examine_piece, after_stretch, m, e));
    for (int i = 0; i < m->job->given.more.n; i++) {
        bool any;
        TRA_TRY(tra_csv_next_file(m, m->job->given.more.v[i], &any, e));
        if (!any) continue;
        (void)tra_csv_take_once(m->file, true);
        make_room(m);
        TRA_TRY(tra_csv_pass(m->file, examine_piece, after_stretch, m, e));
    }
    m->spec = first;
    return TRA_OK;
}

static tra_status import_rows(tra_csv_import *m, int64_t block, tra_table_receipt *r, tra_err *e) {
    tra_column *columns = tra_news(m->arena, tra_column, m->ncolumns + 1);
    tra_catalog cat;
    int64_t rows = 0;
    m->guessing = true;
    collect_likely_strings(m);
    if (m->ncolumns > 0 && tra_csv_take_once(m->file, m->job->given.more.n > 0)) TRA_TRY(tra_csv_pack_begin(m, e));
    make_room(m);
    tra_meter_begin(m->progress, "looking at it", 0);
    tra_status s = look_at_files(m, e);
    tra_meter_end();
    TRA_TRY(s);
    r->bytes_in = m->bytes_before + tra_csv_bytes(m->file);
    TRA_TRY(decide_types(m, e));
    for (int64_t i = 0; i <= m->npieces; i++) { /* from counts to where they begin */
        int64_t n = i < m->npieces ? m->rows[i] : 0;
        m->rows[i] = rows;
        rows += n;
    }
    TRA_TRY(tra_csv_spill_columns(m, columns, e));
    TRA_TRY(tra_csv_make_dictionaries(m, columns, e));
    TRA_TRY(create(m, columns, rows, block, &cat, e));
    m->base = 0;
    tra_meter_begin(m->progress, "importing", tra_csv_bytes_again(m));
    s = tra_csv_pass_again(m, write_piece, after_stretch, m, e);
    tra_meter_end();
    TRA_TRY(s);
    if (m->base != m->npieces) return changed(m, 0, e);
    if (m->out_open) {
        m->out_open = false;
        TRA_TRY(tra_newfile_commit(&m->out, e));
    }
    for (int k = 0; k < m->nworkers; k++) tra_digest_add(&m->digest, &m->worker[k].digest);
    char digest[33];
    tra_digest_table_text(&m->digest, &m->schema, rows, digest);
    r->rows = rows;
    TRA_TRY(tra_writer_pack_within(m->writer, m->nworkers, m->memory / 4, e));
    r->bytes_stored = tra_writer_stored(m->writer);
    r->block = cat.bound.v[0];
    r->blocks = cat.n;
    tra_writer *w = m->writer;
    m->writer = NULL;
    return tra_writer_commit(w, digest, e);
}

/* ---- the receipt ------------------------------------------------------------------------------------------------ */

static void fill_receipt(const tra_csv_import *m, tra_arena *a, tra_table_receipt *r) {
    r->rejected = m->rejected;
    r->header = m->form->header;
    r->delimiter = m->form->dialect.delimiter;
    r->columns = m->ncolumns;
    r->column = tra_arena_array(a, (size_t)m->ncolumns + 1, sizeof *r->column);
    r->left = m->left ? tra_arena_strndup(a, m->left, strlen(m->left)) : NULL;
    int64_t texts = 0;
    for (int c = 0; c < m->ncolumns; c++) {
        tra_csv_guess all = tra_csv_no_guess();
        for (int k = 0; k < m->nworkers; k++) tra_csv_guess_add(&all, &m->worker[k].guess[c]);
        bool coded = tra_coltype_is_coded(m->column[c].type);
        r->column[c].name = tra_arena_strndup(a, m->column[c].name, strlen(m->column[c].name));
        r->column[c].type = tra_coltype_name(m->column[c].type);
        r->column[c].nulls = all.empty + (coded ? 0 : all.words);
        texts += coded;
    }
    if (m->form->header && m->job->header < 0 && r->rows > 0 && texts == m->width && m->job->given.more.n == 0)
        tra_warn_always("%s: line %" PRId64
                        " is taken as a header, though what is below it are texts as well (--header "
                        "says that it is one, --no-header that it is a row)",
                        m->spec, m->form->lines + 1);
}

int64_t tra_csv_table_needs(const tra_csv_import *m) {
    /* Measured, of tables of 20,000 to 100,000 columns; they may take 5/8 of the buffers. */
    enum { LEAST = 20 << 20, OF_COLUMN = 800, OF_WORKER = 130 };
    return tra_max64(LEAST, m->width * (OF_COLUMN + OF_WORKER * (int64_t)m->nworkers) / 5 * 8);
}

tra_status tra_csv_import_table(tra_csv_import *m, const tra_import_job *job, tra_arena *a, tra_table_receipt *r,
                                tra_err *e) {
    *r = (tra_table_receipt){0};
    m->progress = job->progress;
    m->codec = job->codec;
    m->history = job->history;
    m->alone = job->alone;
    if (job->block && job->block->n != 1)
        return tra_fail(e, TRA_USAGE, "--block: %s is a table, whose blocks are a number of rows", m->spec);
    if (!m->column) TRA_TRY(tra_csv_choose_columns(m, e));
    if (m->job->given.more.n > 0) tra_csv_keep_columns(m);
    tra_csv_leave_out(m);
    if (m->width == 0) return tra_fail(e, TRA_INPUT, "%s is empty: there is no table in it", m->spec);
    tra_csv_make_workers(m);
    TRA_TRY(tra_csv_begin_rejects(m, e));
    m->rules.keep = m->job->given.rejects != NULL;
    TRA_TRY(import_rows(m, job->block ? job->block->v[0] : 0, r, e));
    fill_receipt(m, a, r);
    return TRA_OK;
}
