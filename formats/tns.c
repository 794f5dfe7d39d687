/* tns.c - tensors as text, an entry a line: FROSTT's .tns, which has no header; the extended one, of which comments,
 * rank, number of entries and extents come first; and the Tensor Toolbox's, which begins with "sptensor". */
#include "reading.h"
#include "lines.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char toolbox[] = "sptensor", extended[] = "extended FROSTT";

/* The first line is the word alone. */
static bool is_toolbox(const char *p, size_t n) {
    size_t len = sizeof toolbox - 1;
    if (n < len || strncasecmp(p, toolbox, len) != 0) return false;
    while (len < n && (p[len] == ' ' || p[len] == '\t' || p[len] == '\r')) len++;
    return len == n || p[len] == '\n';
}

/* The first line is a comment that says so. */
static bool is_extended(const char *p, size_t n) {
    const char *end = memchr(p, '\n', n);
    return n > 0 && *p == '#' && memmem(p, end ? (size_t)(end - p) : n, extended, sizeof extended - 1) != NULL;
}

static bool sniff(const unsigned char *head, size_t n) {
    return is_toolbox((const char *)head, n) || is_extended((const char *)head, n);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

typedef struct header {
    tra_source *s;
    int64_t line; /* read last */
    const char *p, *end;
} header;

/* The next whole number of the header, which may go on over lines. */
static tra_status number(header *h, const char *what, int64_t *v, tra_err *e) {
    for (;;) {
        while (h->p < h->end && (*h->p == ' ' || *h->p == '\t' || *h->p == '\r')) h->p++;
        if (h->p < h->end && *h->p != '#') break;
        size_t n;
        TRA_TRY(tra_stream_line(&h->s->in, h->line + 1, &h->p, &n, e));
        if (!h->p) return tra_fail(e, TRA_INPUT, "%s: ends in its header, before the %s", h->s->spec, what);
        h->line++;
        h->end = h->p + n;
    }
    const char *begin = h->p;
    while (h->p < h->end && *h->p != ' ' && *h->p != '\t' && *h->p != '\r') h->p++;
    char shown[TRA_SHOWN];
    if (tra_scan_int(begin, (size_t)(h->p - begin), v) && *v >= 0) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": \"%s\" is not the %s", h->s->spec, h->line,
                    tra_shown(begin, (size_t)(h->p - begin), shown), what);
}

static tra_status rank_of(const header *h, int64_t rank, tra_err *e) {
    if (rank >= 1 && rank <= TRA_MAXRANK) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": a tensor of %" PRId64 " dimensions: 1 to %d can be read",
                    h->s->spec, h->line, rank, TRA_MAXRANK);
}

static tra_status read_header(header *h, bool after_extents, int64_t *count, tra_err *e) {
    int64_t rank;
    TRA_TRY(number(h, "number of dimensions", &rank, e));
    TRA_TRY(rank_of(h, rank, e));
    if (!after_extents) TRA_TRY(number(h, "number of entries", count, e));
    h->s->shape.n = (int)rank;
    for (int d = 0; d < rank; d++) TRA_TRY(number(h, "extent of a dimension", &h->s->shape.v[d], e));
    if (after_extents) TRA_TRY(number(h, "number of entries", count, e));
    while (h->p < h->end && (*h->p == ' ' || *h->p == '\t')) h->p++;
    if (h->p == h->end || *h->p == '#' || *h->p == '\r') return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " goes on after the header: entries begin on a line of their own",
                    h->s->spec, h->line);
}

/* The shape that entries without a header have: as far as they go, or what the user says. */
static tra_status shape_of(tra_source *s, const tra_line_survey *f, tra_err *e) {
    if (s->o.has_shape && f->rank > 0 && s->o.shape.n != f->rank)
        return tra_fail(e, TRA_USAGE, "--shape has %d extents, but the entries of %s have %d indices", s->o.shape.n,
                        s->spec, f->rank);
    if (f->count == 0 && !s->o.has_shape)
        return tra_fail(e, TRA_INPUT, "%s: has no entries, so that nothing tells its shape: say --shape", s->spec);
    s->shape = (tra_dims){.n = f->rank};
    for (int d = 0; d < f->rank; d++) s->shape.v[d] = f->most[d] - s->base + 1;
    if (s->o.has_shape) s->shape = s->o.shape;
    if (s->shape.n < 1 || s->shape.n > TRA_MAXRANK)
        return tra_fail(e, TRA_USAGE, "--shape: a tensor of 1 to %d dimensions is expected", TRA_MAXRANK);
    return TRA_OK;
}

static tra_status open_tns(tra_source *s, tra_err *e) {
    size_t have;
    header h = {.s = s};
    tra_line_form form = {.comment = "#", .shown = "INDEX... VALUE", .count = -1};
    TRA_TRY(tra_stream_need(&s->in, 4096, &have, e));
    const char *head = (const char *)s->in.buf + s->in.pos;
    bool begins = is_toolbox(head, have), extends = is_extended(head, have);
    s->base = form.base = s->o.base >= 0 ? s->o.base : 1;
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    if (begins) {
        size_t n;
        const char *line;
        TRA_TRY(tra_stream_line(&s->in, ++h.line, &line, &n, e));
    }
    if (begins || extends) {
        TRA_TRY(read_header(&h, begins, &form.count, e));
        s->most_entries = form.count;
        s->type_text = begins ? toolbox : extended;
        tra_lines_begin(s, &form, h.line);
        return TRA_OK;
    }
    tra_line_survey found;
    tra_lines_begin(s, &form, 0);
    TRA_TRY(tra_lines_survey(s, 0, &found, e));
    s->most_entries = found.count;
    TRA_TRY(shape_of(s, &found, e));
    tra_lines_shape(s);
    return TRA_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

/* The extended form, since the plain one loses empty slices at the end: its reader here, and those of others, take it.
 */
static tra_status prepare(tra_sink *k, const char *to, tra_err *e) {
    (void)to;
    if (k->shape.n == 0) return tra_fail(e, TRA_INPUT, "a scalar has no coordinates: export it to npy, csv or raw");
    k->entries = true;
    return TRA_OK;
}

static tra_status begin(tra_sink *k, tra_err *e) {
    char text[TRA_DIMTEXT];
    tra_str head = {0};
    tra_str_printf(&head, "# extended FROSTT format\n%d %" PRId64 "\n%s\n", k->shape.n, k->count,
                   tra_dims_text(&k->shape, "", " ", "", text, sizeof text));
    tra_status s = tra_newfile_write(&k->out, head.s, head.n, e);
    tra_str_free(&head);
    return s;
}

static tra_status entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    return tra_put_line(&k->out, at, 1, k->dtype, value, 0, e);
}

const tra_format tra_format_tns = {
    .name = "tns",
    .says = "a sparse tensor: lines of indices and a value",
    .suffixes = ".tns",
    .sniff = sniff,
    .reads = TRA_OPTIONS(TRA_READS_COMMON, &tra_option_shape, &tra_option_base, &tra_option_duplicates,
                         &tra_option_drop_zeros),
    .open = open_tns,
    .entries = tra_lines_entries,
    .prepare = prepare,
    .begin = begin,
    .entry = entry,
};
