/* Any bytes as a table of text: the dialect is found, and records are the same whether the text is read as a whole or
 * in pieces whose beginnings may be inside quotes; the import reads it to its end or refuses it, and what it makes can
 * be read. */
#include "../../formats/reading.h"
#include "../../formats/table_csv.h"
#include "../../lib/tablefile/table_file.h"
#include "bytes.h"

enum { MOST = 4000 };

typedef struct seen {
    int64_t n, at[MOST], cells[MOST];
} seen;

static void take_all(const tra_csv_dialect *d, const char *text, const char *p, const char *end, seen *s) {
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    char *buf = tra_malloc((size_t)(end - text) + 1);
    while (cells.n = 0, tra_csv_record(d, text, &p, end, &cells, &fault)) {
        if (s->n == MOST) abort();
        s->at[s->n] = cells.v[0].at;
        s->cells[s->n++] = cells.n;
        for (int64_t i = 0; i < cells.n; i++) {
            const tra_csv_cell *x = &cells.v[i];
            if (x->at + (int64_t)x->n > end - text || tra_csv_text(d, text, x, buf) > x->n) abort();
        }
    }
    free(buf);
    free(cells.v);
}

/* Reads the text in pieces of so many bytes, each cut after the end of a line. */
static void take_pieces(const tra_csv_dialect *d, const char *text, int64_t n, int64_t piece, seen *s) {
    const char *end = text + n, *begin = text, *from = NULL;
    bool inside = false;
    while (begin < end) {
        const char *to = begin + (end - begin < piece ? end - begin : piece);
        while (to < end && to[-1] != '\n' && !(d->returns && to[-1] == '\r' && *to != '\n')) to++;
        tra_csv_quotes r = tra_csv_scan_quotes(d, begin, to, inside);
        const char *first = inside ? r.first : begin;
        if (first && from && first < end) take_all(d, text, from, first, s);
        if (first && first < end) from = first;
        inside = r.inside;
        begin = to;
    }
    if (from) take_all(d, text, from, end, s);
}

static void compare(const tra_csv_form *f, const char *text, int64_t n) {
    static seen whole, pieces;
    whole.n = 0;
    take_all(&f->dialect, text, text, text + n, &whole);
    for (int64_t piece = 1; piece < 40; piece = 3 * piece + 1) {
        pieces.n = 0;
        take_pieces(&f->dialect, text, n, piece, &pieces);
        bool same = whole.n == pieces.n;
        for (int64_t i = 0; same && i < whole.n; i++)
            same = whole.at[i] == pieces.at[i] && whole.cells[i] == pieces.cells[i];
        if (!same) abort();
    }
}

static void import(const char *from, const char *to, tra_table_job job) {
    tra_arena *a = tra_arena_new();
    tra_import_receipt r;
    tra_err e = {0};
    tra_dims block = {.n = 1, .v = {3}};
    tra_import_job all = {.from = from,
                          .to = to,
                          .format = tra_format_find("csv"),
                          .block = &block,
                          .source = {.text = &job, .base = -1, .memory = 48 << 20}};
    tra_status s = tra_import(&all, a, &r, &e);
    if (s != e.status || (s != TRA_OK && s != TRA_INPUT && s != TRA_RESOURCE)) {
        fprintf(stderr, "status %d: %s\n", (int)s, e.msg);
        abort();
    }
    tra_rel *rel;
    if (s == TRA_OK) {
        if (tra_rel_open(to, NULL, &rel, &e) != TRA_OK || tra_rel_check(rel, &e) != TRA_OK ||
            tra_rel_rows(rel) != r.table.rows)
            abort();
        tra_rel_close(rel);
    }
    tra_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char *path, *rejects;
    char name[64];
    if (size > 3000 || size < 2) return 0;
    tra_log_level = -1;
    if (!path) {
        setenv("TRA_THREADS", "1", 1);
        path = tra_asprintf("%s/t.h5", fuzz_dir());
        rejects = tra_asprintf("%s/r.csv", fuzz_dir());
    }
    int choice = data[0];
    size_t n = size - 1;
    char *text = tra_malloc(n + 1);
    memcpy(text, data + 1, n);
    text[n] = 0;
    tra_csv_hints h = {.quote = -1,
                       .escape = choice & 1 ? '\\' : -1,
                       .header = -1,
                       .comment = choice & 2 ? '#' : -1,
                       .strictness = choice >> 2 & 1 ? TRA_CSV_STRICTNESS_LENIENT : TRA_CSV_STRICTNESS_USUAL};
    tra_csv_form f;
    tra_csv_sniff(text, (int64_t)n, true, &h, &f);
    if (f.begin < 0 || f.begin > (int64_t)n) abort();
    compare(&f, text + f.begin, (int64_t)n - f.begin);
    tra_table_job job = {.kind = TRA_CSV_TABLE,
                         .quote = -1,
                         .escape = h.escape,
                         .header = choice >> 3 & 1 ? 0 : -1,
                         .comment = h.comment,
                         .nnulls = -1,
                         .rejects_limit = -1,
                         .given.lenient = choice >> 2 & 1,
                         .given.pad_short = choice >> 4 & 1,
                         .given.drop_long = choice >> 5 & 1,
                         .latin1 = choice >> 6 & 1,
                         .given.rejects = choice >> 7 ? rejects : NULL};
    int fd = fuzz_file(text, n, name);
    import(name, path, job);
    close(fd);
    free(text);
    return 0;
}
