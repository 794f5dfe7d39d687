/* table_csv_matrix.c - a CSV file as a matrix by the options of tables (--columns, --skip, --null, ...): its numbers go
 * to a scratch file, from which the import takes blocks. */
#include "../lib/relation/labels.h"
#include "table_csv_import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct matrix {
    tra_csv_import m;
    tra_dtype dtype;
    bool empty_nan;
    int fd; /* the scratch file, or -1 */
    char *where;
    tra_flat flat;
    char **block; /* of each worker: the rows of a piece */
    int64_t *block_cap;
    bool writing;
} matrix;

static bool is_missing(const matrix *x, const char *s, size_t n) {
    if (n == 0) return x->empty_nan || x->m.reading.nnulls > 0;
    for (int i = 0; i < x->m.reading.nnulls; i++)
        if (strlen(x->m.reading.nulls[i]) == n && memcmp(x->m.reading.nulls[i], s, n) == 0) return true;
    return false;
}

static bool put_cell(const matrix *x, const tra_csv_column *c, const char *s, size_t n, char *to, int64_t i) {
    if (!tra_dtype_is_float(x->dtype) || !is_missing(x, s, n)) return tra_csv_value(&x->m.reading, c, s, n, to, i);
    if (x->dtype == TRA_F64)
        ((double *)(void *)to)[i] = (double)NAN;
    else
        ((float *)(void *)to)[i] = NAN;
    return true;
}

static tra_status piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    matrix *x = ctx;
    tra_csv_import *m = &x->m;
    tra_csv_worker *w = &m->worker[worker];
    size_t size = tra_dtype_size(x->dtype);
    tra_err why = {0};
    tra_status read =
        tra_csv_read_piece(m, w, p, item, false, &why); /* there may be a fault before the first it tells */
    int64_t bytes = w->rows.n * m->ncolumns * (int64_t)size;
    if (bytes > x->block_cap[worker]) {
        free(x->block[worker]);
        x->block_cap[worker] = bytes + bytes / 4;
        x->block[worker] = tra_malloc((size_t)x->block_cap[worker] + 8);
    }
    for (int64_t r = 0, i = 0; r < w->rows.n; r++) {
        for (int c = 0; c < m->ncolumns; c++, i++) {
            size_t n;
            bool quoted;
            int64_t source = m->column[c].source;
            const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, r, source, &n, &quoted);
            if (put_cell(x, &m->column[c], s, n, x->block[worker], i)) continue;
            const tra_csv_cell *cell = &w->rows.cells.v[r * m->width + source];
            tra_csv_reject bad = {.begin = p->text + w->rows.place[r][0],
                                  .end = p->text + w->rows.place[r][1],
                                  .column = source,
                                  .cell = p->text + cell->at,
                                  .cell_bytes = cell->n,
                                  .fault = TRA_CSV_CAST};
            return tra_csv_reject_at(&m->rules, p, &bad, m->column[c].name, tra_dtype_name(x->dtype), NULL, e);
        }
    }
    if (read != TRA_OK) return *e = why, read;
    int64_t number = m->base + item;
    if (!x->writing) return m->rows[number] = w->rows.n, TRA_OK;
    if (number >= m->npieces || m->rows[number + 1] - m->rows[number] != w->rows.n)
        return tra_fail(e, TRA_INPUT, "%s was changed while it was read", m->spec);
    return tra_pwrite(x->fd, x->block[worker], (size_t)bytes, m->rows[number] * m->ncolumns * (int64_t)size, x->where,
                      e);
}

static tra_status after(void *ctx, int64_t pieces, tra_err *e) {
    tra_csv_import *m = &((matrix *)ctx)->m;
    (void)e;
    m->base += pieces;
    if (m->base + tra_csv_most_pieces(m->file) + 1 > m->rows_cap) {
        m->rows_cap = 2 * (m->base + tra_csv_most_pieces(m->file) + 1);
        m->rows = tra_realloc(m->rows, (size_t)m->rows_cap, sizeof *m->rows);
    }
    return TRA_OK;
}

static void make_workers(matrix *x, tra_source *s) {
    tra_csv_import *m = &x->m;
    m->worker = tra_news(s->arena, tra_csv_worker, m->nworkers);
    m->rejects = tra_news(s->arena, tra_csv_rejects, tra_csv_most_pieces(m->file));
    m->at = tra_news(s->arena, const tra_csv_piece *, tra_csv_most_pieces(m->file));
    x->block = tra_news(s->arena, char *, m->nworkers);
    x->block_cap = tra_news(s->arena, int64_t, m->nworkers);
    for (int c = 0; c < m->ncolumns; c++) {
        m->column[c].given = false;
        m->column[c].type = tra_coltype_of(x->dtype);
    }
}

/* Reads all of it into the scratch file. */
static tra_status read_all(matrix *x, tra_source *s, tra_err *e) {
    tra_csv_import *m = &x->m;
    int64_t rows = 0;
    TRA_TRY(after(x, 0, e));
    TRA_TRY(tra_csv_pass(m->file, piece, after, x, e));
    m->npieces = m->base;
    for (int64_t i = 0; i <= m->npieces; i++) {
        int64_t n = i < m->npieces ? m->rows[i] : 0;
        m->rows[i] = rows;
        rows += n;
    }
    TRA_TRY(tra_scratch_open(s->o.scratch, &x->fd, &x->where, e));
    m->base = 0;
    x->writing = true;
    TRA_TRY(tra_csv_pass(m->file, piece, after, x, e));
    s->shape = (tra_dims){.n = 2, .v = {rows, m->ncolumns}};
    x->flat = (tra_flat){.elem = tra_elem_of(x->dtype), .dims = s->shape};
    tra_flat_init(&x->flat, s->arena, s->o.memory);
    if (s->o.text->vector) s->shape.n = 1;
    return TRA_OK;
}

/* The names of a header, as labels of dimension 1. */
static const tra_dim_labels *const *column_labels(tra_csv_import *m) {
    const char **name = tra_news(m->arena, const char *, m->ncolumns);
    const tra_dim_labels **labels = tra_news(m->arena, const tra_dim_labels *, TRA_MAXDIM);
    for (int c = 0; c < m->ncolumns; c++) name[c] = m->column[c].name;
    labels[1] = tra_dim_labels_of_texts(m->arena, "column", m->ncolumns, name);
    return labels;
}

tra_status tra_csv_matrix_open(tra_source *s, tra_err *e) {
    const tra_table_job *job = s->o.text;
    matrix *x = tra_new(s->arena, matrix);
    tra_csv_import *m = &x->m;
    tra_csv_sizes sizes = {.workers = tra_cores()};
    sizes.piece = tra_max64(16 << 10, tra_min64(256 << 10, s->o.memory / (sizes.workers * 256)));
    sizes.stretch = 8 * sizes.piece;
    s->state = x;
    x->fd = -1;
    x->empty_nan = s->o.empty_nan;
    x->dtype = s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    m->job = job;
    m->arena = s->arena;
    m->spec = s->in.name;
    m->reading = tra_csv_reading_of(job);
    if (m->reading.nnulls < 0) m->reading.nnulls = 0;
    tra_csv_hints hints = tra_csv_hints_of(job, &m->reading);
    m->rules = (tra_csv_rules){
        .spec = m->spec, .pad_short = job->pad_short, .drop_long = job->drop_long, .latin1 = job->latin1};
    s->held += 3 * (size_t)sizes.stretch + (size_t)sizes.workers * 40 * (size_t)sizes.piece;
    TRA_TRY(tra_csv_open_stream(&s->in, &hints, &sizes, s->o.scratch, &m->file, e));
    m->form = tra_csv_form_of(m->file);
    m->nworkers = sizes.workers;
    TRA_TRY(tra_csv_choose_columns(m, e));
    if (m->ncolumns == 0) return tra_fail(e, TRA_INPUT, "%s: there are no numbers in it", m->spec);
    if (job->vector && m->ncolumns != 1)
        return tra_fail(e, TRA_USAGE, "--vector: %s has %d columns; say which one is meant with --columns", m->spec,
                        m->ncolumns);
    make_workers(x, s);
    if (m->form->header && !job->vector) s->labels = column_labels(m);
    s->header_lines = m->form->header;
    s->access = TRA_ACCESS_BOX;
    TRA_TRY(read_all(x, s, e));
    s->grain = s->shape;
    for (int d = 0; d < s->grain.n; d++) s->grain.v[d] = 1;
    return TRA_OK;
}

tra_status tra_csv_matrix_box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e) {
    matrix *x = s->state;
    tra_losses none = {0};
    tra_dims from = *start, n = *count;
    if (from.n == 1) from.n = n.n = 2, from.v[1] = 0, n.v[1] = 1;
    return tra_flat_box(&x->flat, x->fd, 0, x->where, &from, &n, s->dtype, buf, &none, e);
}

void tra_csv_matrix_close(tra_source *s) {
    matrix *x = s->state;
    tra_csv_import *m = &x->m;
    for (int k = 0; m->worker && k < m->nworkers; k++) {
        tra_csv_rows_free(&m->worker[k].rows);
        free(m->worker[k].bad);
        free(x->block[k]);
    }
    free(m->rows);
    tra_csv_close(m->file);
    if (x->fd >= 0) close(x->fd);
    free(x->where);
}
