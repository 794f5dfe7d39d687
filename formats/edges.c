/* edges.c - graphs as lists of edges, such as SNAP's: two vertices a line, and a weight if there is one. */
#include "reading.h"
#include "lines.h"

#include <string.h>

/* SNAP's files begin with comments, of which one names the columns or counts nodes and edges. */
static bool sniff(const unsigned char *head, size_t n) {
    static const char *const marks[] = {"FromNodeId", "Nodes:"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n > 0 && *head == '#' && memmem(head, n, marks[i], strlen(marks[i]))) return true;
    return false;
}

static tra_status open_edges(tra_source *s, tra_err *e) {
    tra_line_form form = {.base = s->o.base >= 0 ? s->o.base : 0,
                          .comment = "#%",
                          .value = TRA_LINE_MAYBE,
                          .count = -1,
                          .shown = "FROM TO or FROM TO WEIGHT"};
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

static tra_status begin(tra_sink *k, tra_err *e) {
    char head[160];
    int n = sprintf(head, "# Shape: %" PRId64 " x %" PRId64 " Edges: %" PRId64 "\n# FromNodeId\tToNodeId\tWeight\n",
                    k->shape.v[0], k->shape.v[1], k->count);
    return tra_newfile_write(&k->out, head, (size_t)n, e);
}

static tra_status entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    return tra_put_line(&k->out, at, 0, k->dtype, value, 0, e);
}

const tra_format tra_format_edges = {
    .name = "edges",
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
