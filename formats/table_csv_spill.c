/* table_csv_spill.c - an import's columns of texts whose dictionaries do not fit in memory. */
#include "table_csv_spill.h"

#include "../lib/base/meter.h"
#include "text_column.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a worker: the rows of a piece. */
typedef struct rows {
    int32_t *codes;
    uint64_t *hashes;
    uint8_t *state;
    int64_t cap;
} rows;

struct tra_csv_spill {
    tra_csv_import *m;
    int fd;
    char *where;
    _Atomic int64_t end;
    int n;       /* columns */
    int *column; /* of each: its number, */
    int *slot;   /* and the other way round; -1: it is not spilled */
    tra_text_column **texts;
    rows *worker;
    tra_spooled *spooled; /* of each column of the table */
};

/* ---- which ------------------------------------------------------------------------------------------------------ */

static int64_t held_by(const tra_csv_worker *w, int c) {
    return tra_string_set_bytes(&w->words[c]) + 8 * w->seen_cap[c];
}

void tra_csv_drop_texts(tra_csv_worker *w, int c) {
    w->held -= held_by(w, c);
    tra_string_set_free(&w->words[c]);
    free(w->seen[c]);
    w->seen[c] = NULL;
    w->seen_cap[c] = 0;
}

void tra_csv_spill_largest(tra_csv_import *m, tra_csv_worker *w) {
    int64_t limit = w->held / 2;
    while (w->held > limit) {
        int64_t most = 0;
        for (int c = 0; c < m->ncolumns; c++) most = tra_max64(most, held_by(w, c));
        for (int c = 0; c < m->ncolumns; c++) {
            if (held_by(w, c) == 0 || 2 * held_by(w, c) < most) continue;
            m->spilled[c] = true;
            tra_csv_drop_texts(w, c);
        }
    }
}

/* ---- collecting ------------------------------------------------------------------------------------------------- */

static tra_status changed(const tra_csv_import *m, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s was changed while it was read", m->spec);
}

static tra_status collect(struct tra_csv_spill *x, int worker, const tra_csv_piece *p, int slot, int64_t first,
                          int64_t n, tra_err *e) {
    tra_csv_import *m = x->m;
    tra_csv_worker *w = &m->worker[worker];
    rows *k = &x->worker[worker];
    int c = x->column[slot];
    tra_text_column *t = x->texts[slot];
    const tra_string_set *words = tra_text_column_words(t, worker);
    int64_t i = 0;
    bool nulls = false;
    for (int64_t r = 0; r < w->rows.n; r++) {
        size_t bytes;
        bool null;
        if (w->bad[r]) continue;
        tra_csv_expect(m, w, p, r + TRA_STRINGS_AHEAD, c, words);
        const char *s = tra_csv_string(m, w, p, r, c, &bytes, &null);
        nulls |= null;
        k->state[i] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
        k->codes[i] = -1;
        k->hashes[i] = null ? 0 : tra_digest_string(s, bytes);
        if (!null) {
            uint64_t hash = tra_string_set_hash(s, bytes);
            TRA_TRY(tra_text_column_add(t, worker, first + i, s, (int64_t)bytes, hash, &k->codes[i], e));
        }
        i++;
    }
    if (nulls && !m->column[c].nullable) return changed(m, e);
    tra_digest_strings(&w->digest, c, first, n, k->hashes, m->column[c].nullable ? k->state : NULL);
    return tra_text_column_put(t, worker, first, n, k->codes, e);
}

static tra_status collect_piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    struct tra_csv_spill *x = ctx;
    tra_csv_import *m = x->m;
    tra_csv_worker *w = &m->worker[worker];
    rows *k = &x->worker[worker];
    int64_t number = m->base + item, n = 0;
    TRA_TRY(tra_csv_read_piece(m, w, p, item, false, e));
    for (int64_t r = 0; r < w->rows.n; r++) n += !w->bad[r];
    if (number >= m->npieces || n != m->rows[number + 1] - m->rows[number]) return changed(m, e);
    if (n > k->cap) {
        k->cap = 2 * n;
        k->codes = tra_realloc(k->codes, (size_t)k->cap, sizeof *k->codes);
        k->hashes = tra_realloc(k->hashes, (size_t)k->cap, sizeof *k->hashes);
        k->state = tra_realloc(k->state, (size_t)k->cap, 1);
    }
    for (int i = 0; i < x->n; i++) TRA_TRY(collect(x, worker, p, i, m->rows[number], n, e));
    tra_meter_add(p->bytes);
    return TRA_OK;
}

static tra_status after_stretch(void *ctx, int64_t pieces, tra_err *e) {
    struct tra_csv_spill *x = ctx;
    (void)e;
    x->m->base += pieces;
    return TRA_OK;
}

static tra_status collect_all(struct tra_csv_spill *x, tra_err *e) {
    tra_csv_import *m = x->m;
    m->base = 0;
    tra_meter_begin(m->progress, "sorting its texts", tra_csv_bytes_again(m));
    tra_status s = tra_csv_pass_again(m, collect_piece, after_stretch, x, e);
    tra_meter_end();
    if (s == TRA_OK && m->base != m->npieces) s = changed(m, e);
    return s;
}

static tra_status end_column(struct tra_csv_spill *x, int slot, tra_column *columns, tra_err *e) {
    tra_csv_import *m = x->m;
    int c = x->column[slot];
    bool text = m->column[c].type == TRA_COL_TEXT;
    tra_err why = {0};
    tra_status s = tra_text_column_end(x->texts[slot], text, m->memory / 4, &x->spooled[c], &why);
    if (s == TRA_INPUT && why.status == TRA_OK)
        return tra_fail(e, TRA_INPUT, "%s: column \"%s\" has more than 2^31 different texts", m->spec,
                        m->column[c].name);
    if (s != TRA_OK) return *e = why, s;
    tra_dictionary *d = tra_new(m->arena, tra_dictionary);
    *d = (tra_dictionary){
        .n = x->spooled[c].n, .sorted = !text, .file = &x->spooled[c], .bytes_most = x->spooled[c].bytes};
    columns[c].dict = d;
    return TRA_OK;
}

tra_status tra_csv_spill_columns(tra_csv_import *m, tra_column *columns, tra_err *e) {
    int n = 0;
    for (int c = 0; c < m->ncolumns; c++) {
        m->spilled[c] = m->spilled[c] && tra_coltype_is_coded(m->column[c].type);
        n += m->spilled[c];
    }
    if (n == 0) return TRA_OK;
    struct tra_csv_spill *x = m->spill = tra_new(m->arena, struct tra_csv_spill);
    x->m = m;
    x->fd = -1;
    x->column = tra_news(m->arena, int, n);
    x->slot = tra_news(m->arena, int, m->ncolumns);
    x->texts = tra_news(m->arena, tra_text_column *, n);
    x->worker = tra_news(m->arena, rows, m->nworkers);
    x->spooled = tra_news(m->arena, tra_spooled, m->ncolumns + 1);
    TRA_TRY(tra_scratch_open(m->to, &x->fd, &x->where, e));
    for (int c = 0; c < m->ncolumns; c++) {
        x->slot[c] = m->spilled[c] ? x->n : -1;
        if (!m->spilled[c]) continue;
        x->texts[x->n] = tra_text_column_new(&(tra_text_column_options){.fd = x->fd,
                                                                        .where = x->where,
                                                                        .output = m->to,
                                                                        .end = &x->end,
                                                                        .rows = m->rows[m->npieces],
                                                                        .workers = m->nworkers,
                                                                        .memory = m->memory / 8 / m->nworkers / n});
        x->column[x->n++] = c;
    }
    TRA_TRY(collect_all(x, e));
    for (int i = 0; i < n; i++) TRA_TRY(end_column(x, i, columns, e));
    return TRA_OK;
}

/* ---- afterwards ------------------------------------------------------------------------------------------------- */

tra_status tra_csv_spilled_codes(const tra_csv_import *m, int column, int64_t first, int64_t rows, int32_t *to,
                                 uint8_t *state, tra_err *e) {
    const struct tra_csv_spill *x = m->spill;
    TRA_TRY(tra_text_column_codes(x->texts[x->slot[column]], first, rows, to, e));
    for (int64_t i = 0; state && i < rows; i++) {
        state[i] = to[i] < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE;
        if (to[i] < 0) to[i] = 0;
    }
    return TRA_OK;
}

void tra_csv_spill_free(tra_csv_import *m) {
    struct tra_csv_spill *x = m->spill;
    if (!x) return;
    for (int i = 0; i < x->n; i++) tra_text_column_free(x->texts[i]);
    for (int k = 0; k < m->nworkers; k++) {
        free(x->worker[k].codes);
        free(x->worker[k].hashes);
        free(x->worker[k].state);
    }
    if (x->fd >= 0) close(x->fd);
    free(x->where);
}
