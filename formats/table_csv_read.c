/* table_csv_read.c - stretches of a CSV file, cut into pieces where records end. */
#include "table_csv_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 1 << 20 };

typedef struct stretch {
    char *text; /* room for TRA_CSV_BEYOND bytes more than a stretch has */
    int64_t n;
    int64_t rest; /* of them, those that were there before: the beginning of a record */
} stretch;

struct tra_csv_file {
    const char *spec;
    tra_stream in;
    tra_csv_form form;
    int64_t first, cells; /* bytes of the first record, and its cells */
    tra_csv_sizes sizes;
    const char *scratch;
    int copy; /* what is read the first time goes to this scratch file too; -1: none */
    char *where;
    int64_t copied;
    bool once;     /* there is but one pass, so nothing is copied */
    bool begun;    /* a pass has been begun, */
    bool passed;   /* and made */
    bool replaced; /* the scratch file, which begins with the records, is the input now */
    stretch stretch[2];
    int now; /* the one that comes next */
    bool ended;
    int64_t at, line;     /* of the present stretch */
    tra_csv_quotes *runs; /* of each piece, for both beginnings */
    int64_t *lines;       /* that end in it */
    const char **cuts;    /* where pieces begin; one more than there are */
    tra_csv_piece *pieces;
    int64_t npieces;
    tra_csv_work *work;
    void *ctx;
    tra_crew *crew;
};

int64_t tra_csv_most_pieces(const tra_csv_file *f) { return f->sizes.stretch / f->sizes.piece + 2; }

const tra_csv_form *tra_csv_form_of(const tra_csv_file *f) { return &f->form; }

int64_t tra_csv_first_cells(const tra_csv_file *f) { return f->cells; }

int64_t tra_csv_bytes(const tra_csv_file *f) { return f->at; }

/* ---- opening --------------------------------------------------------------------------------------------------- */

const char *tra_csv_head(const tra_csv_file *f, int64_t *n) {
    *n = (int64_t)(f->in.len - f->in.pos);
    return (const char *)f->in.buf + f->in.pos;
}

bool tra_csv_head_is_all(const tra_csv_file *f) { return f->in.eof; }

static bool has_line_end(const char *p, const char *end) {
    return memchr(p, '\n', (size_t)(end - p)) || memchr(p, '\r', (size_t)(end - p));
}

/* Bytes of the first record; 0: it is cut off. */
static int64_t first_record(tra_csv_file *f) {
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    int64_t n;
    const char *text = tra_csv_head(f, &n), *p = text;
    bool is = tra_csv_record(&f->form.dialect, text, &p, text + n, &cells, &fault);
    free(cells.v);
    f->cells = cells.n;
    return is && p == text + n && !f->in.eof ? 0 : p - text;
}

static tra_status sniff_head(tra_csv_file *f, const tra_csv_hints *h, int64_t longest, tra_err *e) {
    size_t have, most = f->in.cap < HEAD ? f->in.cap : HEAD, line = 0; /* line: where the first record begins */
    for (;; most *= 2) {
        TRA_TRY(tra_stream_need(&f->in, most, &have, e));
        const char *text = (const char *)f->in.buf + f->in.pos;
        if (have < most || has_line_end(text + line, text + have)) {
            tra_csv_sniff(text, (int64_t)have, have < most, h, &f->form);
            line = (size_t)f->form.begin;
            f->in.pos += line;
            f->first = first_record(f);
            if (f->first > 0 || have < most) return TRA_OK;
            f->in.pos -= line;
        }
        if ((int64_t)most > longest)
            return tra_fail(e, TRA_RESOURCE,
                            "%s: line %" PRId64
                            " has more than %zu bytes, more than the ceiling leaves room for: allow "
                            "more memory with --memory",
                            f->spec, f->form.lines + 1, most);
        tra_stream_grow(&f->in, 2 * most);
    }
}

tra_status tra_csv_open(tra_stream *in, const tra_csv_hints *h, int64_t longest, const char *scratch,
                        tra_csv_file **out, tra_err *e) {
    tra_csv_file *f = tra_calloc(1, sizeof *f);
    *out = f;
    f->in = *in;
    *in = (tra_stream){.fd = -1};
    f->spec = f->in.name;
    f->scratch = scratch;
    f->copy = -1;
    return sniff_head(f, h, longest, e);
}

int64_t tra_csv_make_room(tra_csv_file *f, const tra_csv_sizes *sizes) {
    f->sizes = *sizes;
    f->sizes.stretch = tra_max64(f->sizes.stretch, f->first + f->first / 4 + f->sizes.piece);
    int64_t most = tra_csv_most_pieces(f);
    for (int i = 0; i < 2; i++) f->stretch[i].text = tra_malloc((size_t)f->sizes.stretch + TRA_CSV_BEYOND);
    f->runs = tra_calloc((size_t)most, 2 * sizeof *f->runs);
    f->lines = tra_calloc((size_t)most, sizeof *f->lines);
    f->cuts = tra_calloc((size_t)most + 1, sizeof *f->cuts);
    f->pieces = tra_calloc((size_t)most, sizeof *f->pieces);
    f->crew = tra_crew_new(sizes->workers);
    return f->sizes.stretch;
}

void tra_csv_close(tra_csv_file *f) {
    if (!f) return;
    tra_crew_free(f->crew);
    tra_stream_close(&f->in);
    if (f->copy >= 0) close(f->copy);
    for (int i = 0; i < 2; i++) free(f->stretch[i].text);
    free(f->where);
    free(f->runs);
    free(f->lines);
    free(f->cuts);
    free(f->pieces);
    free(f);
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static int64_t count_lines(const char *p, const char *end) {
    enum { STEP = 128 }; /* so that counts fit bytes, and the compiler makes vectors of them */
    int64_t n = 0;
    for (; end - p >= STEP; p += STEP) {
        uint8_t some = 0;
        for (int i = 0; i < STEP; i++) some = (uint8_t)(some + (p[i] == '\n'));
        n += some;
    }
    for (; p < end; p++) n += *p == '\n';
    return n;
}

int64_t tra_csv_line(const tra_csv_piece *p, const char *at) { return p->line + count_lines(p->stretch, at) + 1; }

/* ---- stretches ------------------------------------------------------------------------------------------------- */

/* Fills a stretch behind what it has of the one before. */
static tra_status load(tra_csv_file *f, stretch *t, tra_err *e) {
    t->n = t->rest;
    while (t->n < f->sizes.stretch && !f->ended) {
        size_t got;
        TRA_TRY(tra_stream_take_some(&f->in, t->text + t->n, (size_t)(f->sizes.stretch - t->n), &got, e));
        f->ended = got == 0;
        if (f->copy >= 0 && !f->passed) {
            TRA_TRY(tra_pwrite(f->copy, t->text + t->n, got, f->copied, f->where, e));
            f->copied += (int64_t)got;
        }
        t->n += (int64_t)got;
    }
    memset(t->text + t->n, 0, TRA_CSV_BEYOND);
    return TRA_OK;
}

static tra_status run_piece(void *ctx, int worker, int64_t i, tra_err *e) {
    tra_csv_file *f = ctx;
    (void)worker;
    (void)e;
    const char *p = f->cuts[i], *end = f->cuts[i + 1];
    f->lines[i] = count_lines(p, end);
    f->runs[2 * i] = tra_csv_scan_quotes(&f->form.dialect, p, end, false);
    if (i > 0) f->runs[2 * i + 1] = tra_csv_scan_quotes(&f->form.dialect, p, end, true);
    return TRA_OK;
}

/* Where lines begin, about a piece's bytes apart: the places at which pieces may begin. */
static int64_t nominal_cuts(tra_csv_file *f, const stretch *t) {
    const char *end = t->text + t->n, *p = t->text;
    int64_t n = 0;
    bool returns = f->form.dialect.returns;
    while (p < end) {
        f->cuts[n++] = p;
        const char *q = end - p <= f->sizes.piece ? end : p + f->sizes.piece;
        while (q < end && q[-1] != '\n' && !(returns && q[-1] == '\r' && *q != '\n')) {
            const char *line = returns ? NULL : memchr(q, '\n', (size_t)(end - q));
            q = returns ? q + 1 : line ? line + 1 : end;
        }
        p = q;
    }
    f->cuts[n] = end;
    return n;
}

/* Cuts the stretch into pieces of whole records. *whole: what belongs to them, *lines: and how many lines end in it;
 * what is behind it begins a record. */
static tra_status cut(tra_csv_file *f, const stretch *t, const char **whole, int64_t *lines, tra_err *e) {
    const char *end = t->text + t->n;
    int64_t n = nominal_cuts(f, t);
    f->npieces = 0;
    *whole = f->ended ? end : NULL;
    tra_crew_begin(f->crew, run_piece, f, 0, n);
    TRA_TRY(tra_crew_wait(f->crew, e));
    bool inside = false;
    for (int64_t i = 0; i < n; i++) {
        const tra_csv_quotes *r = &f->runs[2 * i + inside];
        const char *begin = inside ? r->first : f->cuts[i];
        if (begin && begin < end) {
            f->pieces[f->npieces++] = (tra_csv_piece){.text = begin, .stretch = t->text, .at = f->at, .line = f->line};
        }
        if (r->last && !f->ended) *whole = r->last;
        inside = r->inside;
    }
    if (*whole && !f->ended && f->form.dialect.returns && *whole == end && end[-1] == '\r') *whole = end - 1;
    if (!*whole)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", byte %" PRId64 ": %s (%" PRId64 " bytes)", f->spec,
                        f->line + 1, f->at + 1, tra_csv_fault_text(TRA_CSV_LONG), f->sizes.stretch);
    *lines = -count_lines(*whole, end);
    for (int64_t i = 0; i < n; i++) *lines += f->lines[i];
    while (f->npieces > 0 && f->pieces[f->npieces - 1].text >= *whole) f->npieces--;
    for (int64_t i = 0; i < f->npieces; i++) {
        const char *to = i + 1 < f->npieces ? f->pieces[i + 1].text : *whole;
        f->pieces[i].bytes = to - f->pieces[i].text;
    }
    return TRA_OK;
}

/* ---- passes ---------------------------------------------------------------------------------------------------- */

tra_status tra_csv_begin_pass(tra_csv_file *f, tra_err *e) {
    if (f->passed && f->copy >= 0) {
        if (!f->replaced) {
            int fd = dup(f->copy);
            if (fd < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot read a scratch file in %s", f->where);
            tra_stream_replace(&f->in, fd);
            f->replaced = true;
        }
        tra_stream_seek(&f->in, 0);
    } else if (f->begun && tra_stream_can_rewind(&f->in)) {
        TRA_TRY(tra_stream_rewind(&f->in, f->form.begin, e));
    } else if (!tra_stream_can_rewind(&f->in) && !f->once) {
        TRA_TRY(tra_scratch_open(f->scratch, &f->copy, &f->where, e));
    }
    f->begun = true;
    f->ended = false;
    f->at = f->form.begin;
    f->line = f->form.lines;
    f->stretch[0].rest = 0;
    f->now = 0;
    return load(f, &f->stretch[0], e);
}

bool tra_csv_take_once(tra_csv_file *f, bool wanted) {
    f->once = !f->begun && (wanted || f->in.unpack || !tra_stream_can_rewind(&f->in));
    return f->once;
}

static tra_status work_on(void *ctx, int worker, int64_t item, tra_err *e) {
    tra_csv_file *f = ctx;
    return f->work(f->ctx, worker, &f->pieces[item], item, e);
}

tra_status tra_csv_next_stretch(tra_csv_file *f, tra_csv_work *work, tra_csv_after *after, void *ctx, bool *more,
                                tra_err *e) {
    stretch *now = &f->stretch[f->now], *next = &f->stretch[!f->now];
    const char *whole;
    int64_t lines = 0;
    bool last = f->ended;
    f->work = work;
    f->ctx = ctx;
    f->now = !f->now;
    TRA_TRY(cut(f, now, &whole, &lines, e));
    next->rest = now->text + now->n - whole;
    memcpy(next->text, whole, (size_t)next->rest);
    tra_crew_begin(f->crew, work_on, f, 0, f->npieces);
    tra_err reading = {0}, working = {0};
    tra_status read = last ? TRA_OK : load(f, next, &reading);
    tra_status worked = tra_crew_wait(f->crew, &working);
    if (worked == TRA_OK && after) worked = after(ctx, f->npieces, &working);
    if (worked != TRA_OK) return *e = working, worked; /* it comes first in the file */
    if (read != TRA_OK) return *e = reading, read;
    f->line += lines;
    f->at += whole - now->text;
    f->passed |= last;
    *more = !last;
    return tra_stop_check(e);
}

tra_status tra_csv_pass(tra_csv_file *f, tra_csv_work *work, tra_csv_after *after, void *ctx, tra_err *e) {
    TRA_TRY(tra_csv_begin_pass(f, e));
    for (bool more = true; more;) TRA_TRY(tra_csv_next_stretch(f, work, after, ctx, &more, e));
    return TRA_OK;
}
