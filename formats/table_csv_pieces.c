/* table_csv_pieces.c - what is done to a piece of a CSV file: rows that are right, cells as text, rejects. */
#include "table_csv_import.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells ------------------------------------------------------------------------------------------------------ */

const char *tra_csv_string(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t row, int column,
                           size_t *n, bool *null) {
    bool quoted;
    const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, row, m->column[column].source, n, &quoted);
    *null = tra_csv_is_null(&m->reading, s, *n, quoted, false);
    if (!m->rules.latin1 || *null) return s;
    if (w->buf_cap < 2 * *n + 1) {
        w->buf_cap = 4 * (*n + 64);
        w->buf = tra_realloc(w->buf, w->buf_cap, 1);
    }
    *n = tra_latin1(s, *n, w->buf);
    return w->buf;
}

void tra_csv_expect(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t row, int column,
                    const tra_string_set *words) {
    size_t n;
    bool null;
    if (!tra_string_set_is_large(words) || row >= w->rows.n || w->bad[row]) return;
    const char *s = tra_csv_string(m, w, p, row, column, &n, &null);
    if (!null) tra_string_set_expect(words, tra_string_set_hash(s, n));
}

/* Is the cell a value of the type that was given for its column, or NULL? */
static bool fits(const tra_csv_import *m, const tra_csv_column *c, const char *s, size_t n, bool quoted) {
    int64_t room[2];
    bool time;
    if (tra_csv_is_null(&m->reading, s, n, quoted, true)) return true;
    tra_csv_column as = *c;
    if (c->type != TRA_COL_DATE && c->type != TRA_COL_TIMESTAMP) return tra_csv_value(&m->reading, &as, s, n, room, 0);
    as.format = c->type == TRA_COL_DATE ? m->reading.date_format : m->reading.timestamp_format;
    if (as.format) return tra_csv_value(&m->reading, &as, s, n, room, 0);
    while (n > 0 && *s == ' ') s++, n--;
    while (n > 0 && s[n - 1] == ' ') n--;
    return tra_date_orders(s, n, &time) != 0 && (c->type == TRA_COL_TIMESTAMP || !time);
}

/* Marks the rows before *end of which the cell is no value of the column's type: all of them, or, where these are not
 * put aside, the first; *end is that row then. */
static tra_status check_given(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int column,
                              tra_csv_rejects *to, int64_t *end, tra_csv_reject *first, tra_err *e) {
    const tra_csv_column *c = &m->column[column];
    for (int64_t r = 0; r < *end; r++) {
        size_t n;
        bool quoted;
        if (w->bad[r]) continue;
        const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, r, c->source, &n, &quoted);
        if (fits(m, c, s, n, quoted)) continue;
        const tra_csv_cell *x = &w->rows.cells.v[r * m->width + c->source];
        tra_csv_reject at = {.begin = p->text + w->rows.place[r][0],
                             .end = p->text + w->rows.place[r][1],
                             .column = c->source,
                             .cell = p->text + x->at,
                             .cell_bytes = x->n,
                             .fault = TRA_CSV_CAST};
        w->bad[r] = true;
        if (!m->rules.keep) {
            *first = at;
            *end = r;
        } else if (to) {
            TRA_TRY(tra_csv_reject_at(&m->rules, p, &at, NULL, NULL, to, e));
        }
    }
    return TRA_OK;
}

/* The same of all columns. */
static tra_status check_all(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, tra_csv_rejects *to,
                            tra_err *e) {
    int64_t end = w->rows.n;
    tra_csv_reject first;
    const tra_csv_column *of = NULL;
    for (int c = 0; c < m->ncolumns; c++) {
        int64_t before = end;
        if (!m->column[c].given || tra_coltype_is_coded(m->column[c].type)) continue;
        TRA_TRY(check_given(m, w, p, c, to, &end, &first, e));
        if (end < before) of = &m->column[c];
    }
    return of ? tra_csv_reject_at(&m->rules, p, &first, of->name, tra_coltype_name(of->type), NULL, e) : TRA_OK;
}

/* No row is rejected yet. */
static void make_bad(tra_csv_worker *w) {
    if (w->rows.n > w->bad_cap) {
        w->bad_cap = 2 * w->rows.n;
        w->bad = tra_realloc(w->bad, (size_t)w->bad_cap, sizeof *w->bad);
    }
    if (w->rows.n) memset(w->bad, 0, (size_t)w->rows.n);
}

tra_status tra_csv_read_piece(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t item, bool note,
                              tra_err *e) {
    tra_csv_rejects dropped = {0};
    tra_csv_rejects *to = note ? &m->rejects[item] : &dropped;
    if (tra_csv_unpack_rows(m, w, m->base + item)) return make_bad(w), TRA_OK;
    m->at[item] = p;
    tra_csv_piece body = *p;
    if (m->base + item == m->file_base && m->form->header) { /* the header is no row */
        const char *at = p->text;
        tra_csv_cells cells = {0};
        tra_csv_fault fault;
        (void)tra_csv_record(&m->form->dialect, p->text, &at, p->text + p->bytes, &cells, &fault);
        free(cells.v);
        body.text = at;
        body.bytes = p->text + p->bytes - at;
    }
    tra_err why = {0};
    tra_csv_rules rules = m->rules;
    rules.line = m->form->lines + 1;
    rules.columns = m->width;
    tra_status split = tra_csv_split(&m->form->dialect, &rules, &body, m->width, &w->rows, to, &why);
    free(dropped.v);
    if (body.text != p->text) { /* places are told from where the piece begins */
        uint32_t by = (uint32_t)(body.text - p->text);
        for (int64_t i = 0; i < w->rows.n * m->width; i++) w->rows.cells.v[i].at += by;
        for (int64_t i = 0; i < w->rows.n; i++) w->rows.place[i][0] += by, w->rows.place[i][1] += by;
    }
    make_bad(w);
    TRA_TRY(check_all(m, w, p, note ? to : NULL, e));
    return split == TRA_OK ? TRA_OK : (*e = why, split);
}

/* ---- rejects ---------------------------------------------------------------------------------------------------- */

tra_status tra_csv_begin_rejects(tra_csv_import *m, tra_err *e) {
    static const char head[] =
        "line,line_byte_position,byte_position,column_idx,column_name,error_type,csv_line,error_message\n";
    if (!m->job->given.rejects) return TRA_OK;
    TRA_TRY(tra_newfile_open(m->job->given.rejects, false, 1 << 16, &m->out, e));
    m->out_open = true;
    return tra_newfile_write(&m->out, head, sizeof head - 1, e);
}

static void put_quoted(tra_str *t, const char *s, size_t n) {
    tra_str_add(t, "\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') tra_str_add(t, "\"");
        tra_str_addn(t, s + i, 1);
    }
    tra_str_add(t, "\"");
}

static void put_reject(const tra_csv_import *m, const tra_csv_piece *p, const tra_csv_reject *x, tra_str *t) {
    size_t n = (size_t)(x->end - x->begin);
    const char *name = "", *type = NULL;
    while (n > 0 && (x->begin[n - 1] == '\n' || x->begin[n - 1] == '\r')) n--;
    for (int c = 0; c < m->ncolumns; c++)
        if (m->column[c].source == x->column) name = m->column[c].name, type = tra_coltype_name(m->column[c].type);
    tra_str_printf(t, "%" PRId64 ",%" PRId64 ",%" PRId64 ",", tra_csv_line(p, x->begin), tra_csv_byte(p, x->begin),
                   tra_csv_byte(p, x->cell ? x->cell : x->begin));
    if (x->column >= 0) tra_str_printf(t, "%" PRId64, x->column + 1);
    tra_str_add(t, ",");
    put_quoted(t, name, strlen(name));
    tra_str_printf(t, ",%s,", tra_csv_fault_name(x->fault));
    put_quoted(t, x->begin, n);
    tra_str_add(t, ",");
    tra_str why = {0};
    if (x->fault == TRA_CSV_CAST && type) {
        tra_str_add(&why, "\"");
        tra_str_addn(&why, x->cell, (size_t)x->cell_bytes);
        tra_str_printf(&why, "\" is no value of type %s", type);
    } else {
        tra_str_add(&why, tra_csv_fault_text(x->fault));
    }
    put_quoted(t, tra_str_get(&why), why.n);
    tra_str_add(t, "\n");
    tra_str_free(&why);
}

static int by_place(const void *a, const void *b) {
    const tra_csv_reject *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

tra_status tra_csv_write_rejects(tra_csv_import *m, int64_t pieces, tra_err *e) {
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < pieces; i++) {
        tra_csv_rejects *r = &m->rejects[i];
        if (r->n) qsort(r->v, (size_t)r->n, sizeof *r->v, by_place);
        for (int64_t k = 0; k < r->n && s == TRA_OK; k++) {
            tra_str t = {0};
            put_reject(m, m->at[i], &r->v[k], &t);
            if (m->job->rejects_limit >= 0 && m->rejected >= m->job->rejects_limit)
                s = tra_fail(e, TRA_INPUT,
                             "%s: more than %" PRId64 " records are rejected (--rejects-limit); the last: %s", m->spec,
                             m->job->rejects_limit, tra_str_get(&t));
            if (s == TRA_OK) s = tra_newfile_write(&m->out, tra_str_get(&t), t.n, e);
            m->rejected++;
            tra_str_free(&t);
        }
        r->n = 0;
    }
    return s;
}
