/* table_csv_pack.c - a table that is read once: the first pass puts the wanted cells of its rows into a scratch file,
 * piece by piece, and later passes take them from there.
 *
 * So a pipe is not copied, a compressed file is not unpacked again, and columns that nobody wants are cut once. A
 * piece is a byte for each cell (its length below LONG, and whether it was quoted; LONG: a length of four bytes
 * follows), then the texts, each with a line end behind it. Rows that are rejected are not in it. */
#include "table_csv_import.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 63, QUOTED = 64 };

typedef struct packed {
    int64_t at, heads, bytes; /* where it is in the file; bytes of the first part, and of all */
} packed;

struct tra_csv_pack {
    int fd;
    char *where;
    _Atomic int64_t end;
    packed *v; /* of each piece */
    int64_t cap;
    bool full; /* the first pass has been made */
    tra_csv_work *work;
    void *ctx;
    tra_csv_import *m;
};

/* ---- the first pass --------------------------------------------------------------------------------------------- */

tra_status tra_csv_pack_begin(tra_csv_import *m, tra_err *e) {
    m->pack = tra_new(m->arena, struct tra_csv_pack);
    m->pack->m = m;
    m->pack->fd = -1;
    return tra_scratch_open(m->to, &m->pack->fd, &m->pack->where, e);
}

void tra_csv_pack_room(tra_csv_import *m, int64_t pieces) {
    struct tra_csv_pack *x = m->pack;
    if (!x || pieces <= x->cap) return;
    x->v = tra_realloc(x->v, (size_t)pieces, sizeof *x->v);
    x->cap = pieces;
}

static void grow(tra_csv_worker *w, size_t bytes) {
    if (bytes <= w->pack_cap) return;
    free(w->pack);
    w->pack_cap = bytes + bytes / 4;
    w->pack = tra_malloc(w->pack_cap);
}

/* Bytes that the cells of the rows take at most. */
static size_t most_bytes(const tra_csv_import *m, const tra_csv_worker *w) {
    size_t n = 0;
    for (int64_t r = 0; r < w->rows.n; r++)
        for (int c = 0; c < m->ncolumns; c++) {
            size_t k = w->rows.cells.v[r * w->rows.columns + m->column[c].source].n;
            n += k + 2 + (k < LONG ? 0 : sizeof(uint32_t));
        }
    return n;
}

static char *put_head(char *to, size_t n, bool quoted) {
    uint32_t length = (uint32_t)n;
    *to++ = (char)((n < LONG ? n : LONG) | (quoted ? QUOTED : 0));
    if (n < LONG) return to;
    memcpy(to, &length, sizeof length);
    return to + sizeof length;
}

tra_status tra_csv_pack_piece(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t number,
                              tra_err *e) {
    struct tra_csv_pack *x = m->pack;
    size_t most = most_bytes(m, w);
    grow(w, 2 * most);
    char *head = w->pack, *text = w->pack + most; /* texts are moved behind the heads */
    for (int64_t r = 0; r < w->rows.n; r++) {
        if (w->bad[r]) continue;
        for (int c = 0; c < m->ncolumns; c++) {
            const tra_csv_cell *cell = &w->rows.cells.v[r * w->rows.columns + m->column[c].source];
            size_t n = cell->n;
            if (cell->marked)
                n = tra_csv_text(&m->form->dialect, p->text, cell, text);
            else
                memcpy(text, p->text + cell->at, n);
            head = put_head(head, n, cell->quoted);
            text[n] = '\n';
            text += n + 1;
        }
    }
    int64_t heads = head - w->pack, texts = text - (w->pack + most);
    if (texts > 0) memmove(head, w->pack + most, (size_t)texts);
    x->v[number] = (packed){atomic_fetch_add(&x->end, heads + texts), heads, heads + texts};
    return tra_pwrite(x->fd, w->pack, (size_t)(heads + texts), x->v[number].at, x->where, e);
}

/* ---- later passes ----------------------------------------------------------------------------------------------- */

bool tra_csv_unpack_rows(const tra_csv_import *m, tra_csv_worker *w, int64_t number) {
    if (!m->pack || !m->pack->full) return false;
    const packed *k = &m->pack->v[number];
    const char *head = w->pack;
    tra_csv_cells *cells = &w->rows.cells;
    uint32_t at = (uint32_t)k->heads;
    w->rows.columns = m->ncolumns;
    cells->n = 0;
    if (cells->cap < k->heads) {
        cells->cap = 2 * k->heads;
        cells->v = tra_realloc(cells->v, (size_t)cells->cap, sizeof *cells->v);
    }
    while (head < w->pack + k->heads) {
        uint32_t n = (unsigned char)*head & LONG;
        bool quoted = *head++ & QUOTED;
        if (n == LONG) {
            memcpy(&n, head, sizeof n);
            head += sizeof n;
        }
        cells->v[cells->n++] = (tra_csv_cell){.at = at, .n = n & 0x3fffffff, .quoted = quoted};
        at += n + 1;
    }
    w->rows.n = cells->n / m->ncolumns;
    return true;
}

static tra_status work_on(void *ctx, int worker, int64_t item, tra_err *e) {
    struct tra_csv_pack *x = ctx;
    const packed *k = &x->v[item];
    tra_csv_worker *w = &x->m->worker[worker];
    grow(w, (size_t)k->bytes + TRA_CSV_BEYOND);
    TRA_TRY(tra_pread(x->fd, w->pack, (size_t)k->bytes, k->at, x->where, e));
    memset(w->pack + k->bytes, 0, TRA_CSV_BEYOND);
    tra_csv_piece p = {.text = w->pack, .bytes = k->bytes, .stretch = w->pack};
    TRA_TRY(x->work(x->ctx, worker, &p, item, e));
    return tra_stop_check(e);
}

tra_status tra_csv_pass_again(tra_csv_import *m, tra_csv_work *work, tra_csv_after *after, void *ctx, tra_err *e) {
    struct tra_csv_pack *x = m->pack;
    if (!x) return tra_csv_pass(m->file, work, after, ctx, e);
    for (int c = 0; c < m->ncolumns; c++) m->column[c].source = c;
    x->full = true;
    x->work = work;
    x->ctx = ctx;
    TRA_TRY(tra_crew_run(m->nworkers, m->npieces, work_on, x, e));
    return after(ctx, m->npieces, e);
}

int64_t tra_csv_bytes_again(const tra_csv_import *m) { return m->pack ? m->pack->end : tra_csv_bytes(m->file); }

void tra_csv_pack_free(tra_csv_import *m) {
    struct tra_csv_pack *x = m->pack;
    if (!x) return;
    if (x->fd >= 0) close(x->fd);
    free(x->where);
    free(x->v);
}
