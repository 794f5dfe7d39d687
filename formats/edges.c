/* edges.c - graphs as lists of edges, such as SNAP's: two vertices a line, by number or name, and a weight if there is
 * one. */
#include "reading.h"
#include "lines.h"
#include "../lib/model/labels.h"

#include <string.h>

/* SNAP's files begin with comments, of which one names the columns or counts nodes and edges. */
static bool sniff(const unsigned char *head, size_t n) {
    static const char *const marks[] = {"FromNodeId", "Nodes:"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n > 0 && *head == '#' && memmem(head, n, marks[i], strlen(marks[i]))) return true;
    return false;
}

/* The first line of a file whose vertices are names, also where the first edge's look like numbers. */
static const char names_mark[] = "# Vertices: names\n";

/* Vertices that have names: both dimensions are labelled by all of these, in ascending order. */
static tra_status take_names(tra_source *s, const tra_line_survey *found, tra_err *e) {
    static const char *const dims[] = {"from", "to"};
    if (s->o.has_shape || s->o.base >= 0)
        return tra_fail(e, TRA_USAGE, "--%s: the vertices of %s have names, not numbers",
                        s->o.has_shape ? "shape" : "base", s->spec);
    const tra_dim_labels **labels = tra_news(s->arena, const tra_dim_labels *, TRA_MAXDIM);
    for (int d = 0; d < 2; d++) labels[d] = tra_dim_labels_of_texts(s->arena, dims[d], found->nnames, found->name);
    s->labels = labels;
    s->shape = (tra_dims){.n = 2, .v = {found->nnames, found->nnames}};
    tra_lines_shape(s);
    return TRA_OK;
}

static tra_status open_edges(tra_source *s, tra_err *e) {
    tra_line_form form = {.base = s->o.base >= 0 ? s->o.base : 0,
                          .comment = "#%",
                          .value = TRA_LINE_MAYBE,
                          .count = -1,
                          .shown = "FROM TO or FROM TO WEIGHT",
                          .may_be_names = true};
    size_t have;
    TRA_TRY(tra_stream_need(&s->in, sizeof names_mark, &have, e));
    form.names = have >= sizeof names_mark - 1 && memcmp(s->in.buf + s->in.pos, names_mark, sizeof names_mark - 1) == 0;
    tra_line_survey found;
    s->base = form.base;
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    tra_lines_begin(s, &form, 0);
    TRA_TRY(tra_lines_survey(s, 2, &found, e));
    s->most_entries = found.count;
    if (s->o.has_shape && s->o.shape.n != 2) return tra_fail(e, TRA_USAGE, "--shape: edges are entries of a matrix");
    if (found.count == 0 && !s->o.has_shape)
        return tra_fail(e, TRA_INPUT,
                        "%s: has no edges, so that nothing tells how many vertices there are: say --shape", s->spec);
    if (found.nnames >= 0) return take_names(s, &found, e);
    /* From and to are vertices of one graph: the matrix is square. */
    int64_t n = found.count == 0 ? 0 : tra_max64(found.most[0], found.most[1]) - s->base + 1;
    s->shape = s->o.has_shape ? s->o.shape : (tra_dims){.n = 2, .v = {n, n}};
    tra_lines_shape(s);
    return TRA_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static tra_status prepare(tra_sink *k, const char *to, tra_err *e) {
    (void)to;
    if (k->shape.n != 2)
        return tra_fail(e, TRA_INPUT,
                        "a list of edges is a matrix, and this tensor has %d dimensions: export it to tns", k->shape.n);
    k->entries = true;
    return TRA_OK;
}

/* The labels of the vertices, if both dimensions have the same and each is a word; else NULL. */
static const tra_dim_labels *names_of(const tra_sink *k) {
    const tra_dim_labels *l = k->labels ? k->labels[0] : NULL, *r = l ? k->labels[1] : NULL;
    int64_t any, n;
    if (!r || l->type != TRA_COL_STRING || l->n != r->n || tra_dim_labels_differ(l, r) >= 0) return NULL;
    bool words = false;
    for (int64_t i = 0; i < l->n; i++) {
        const char *s = tra_dim_labels_bytes(l, i, &n);
        for (int64_t b = 0; b < n; b++)
            if ((unsigned char)s[b] <= ' ') return NULL;
        if (n == 0 || n > 1000 || *s == '#' || *s == '%') return NULL;
        words |= !tra_scan_int(s, (size_t)n, &any);
    }
    return words ? l : NULL;
}

static tra_status begin(tra_sink *k, tra_err *e) {
    k->state = (void *)(uintptr_t)names_of(k);
    char head[160];
    if (k->state) TRA_TRY(tra_newfile_write(&k->out, names_mark, sizeof names_mark - 1, e));
    int n = sprintf(head, "# Shape: %" PRId64 " x %" PRId64 " Edges: %" PRId64 "\n# FromNodeId\tToNodeId\tWeight\n",
                    k->shape.v[0], k->shape.v[1], k->count);
    return tra_newfile_write(&k->out, head, (size_t)n, e);
}

static tra_status entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    const tra_dim_labels *l = k->state;
    for (int d = 0; l && d < 2; d++) {
        int64_t n;
        const char *name = tra_dim_labels_bytes(l, at->v[d], &n);
        TRA_TRY(tra_newfile_write(&k->out, name, (size_t)n, e));
        if (d == 0) TRA_TRY(tra_newfile_write(&k->out, "\t", 1, e));
    }
    if (l) {
        TRA_TRY(tra_newfile_write(&k->out, "\t", 1, e));
        return tra_put_line(&k->out, &(tra_dims){0}, 0, k->dtype, value, 0, e);
    }
    return tra_put_line(&k->out, at, 0, k->dtype, value, 0, e);
}

const tra_format tra_format_edges = {
    .name = "edges",
    .says = "a sparse matrix: lines of two vertices and perhaps a weight",
    .suffixes = ".edges .el .wel .edgelist",
    .sniff = sniff,
    .reads = TRA_OPTIONS(TRA_READS_COMMON, &tra_option_shape, &tra_option_base, &tra_option_duplicates,
                         &tra_option_drop_zeros),
    .open = open_edges,
    .entries = tra_lines_entries,
    .prepare = prepare,
    .begin = begin,
    .entry = entry,
};
