/* head.c - tra head REL: the first rows of a table, the corner of a tensor, or its first elements. */
#include "head.h"

#include "common.h"
#include "plot.h"
#include "tables.h"

#include "../formats/formats.h"
#include "../formats/visit.h"
#include "../lib/model/labels.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t memory = TRA_SCAN_MEMORY, rows = 10;

/* Cells that are to be printed, row by row; the first row names the columns, if they have names. */
typedef struct grid {
    tra_arena *arena;
    int columns;
    int64_t n, cap;
    const char **cell;
    bool *left;     /* columns that begin at the left: texts */
    int64_t more;   /* rows that are left out */
    bool aligned;   /* for a terminal: labels are cells too */
    int64_t beside; /* columns that are left out before anything is known of their width */
} grid;

static void add(grid *g, const char *s, size_t n) {
    if (g->n == g->cap) {
        g->cap = tra_max64(64, 2 * g->cap);
        g->cell = tra_realloc(g->cell, (size_t)g->cap, sizeof *g->cell);
    }
    g->cell[g->n++] = tra_arena_strndup(g->arena, s, n);
}

/* ---- on a terminal ---------------------------------------------------------------------------------------------- */

enum { WIDEST = 32 };

static void aligned(grid *g, tra_str *out) {
    int *width = tra_news(g->arena, int, g->columns + 1), most = tra_terminal_width();
    int64_t lines = g->columns ? g->n / g->columns : 0;
    for (int64_t i = 0; i < g->n; i++) {
        g->cell[i] = tra_text_shown(g->arena, g->cell[i], most < WIDEST + 3 ? most - 3 : WIDEST);
        int w = tra_text_columns(g->cell[i]), c = (int)(i % g->columns);
        if (w > width[c]) width[c] = w;
    }
    int fit = 0, used = 0;
    for (; fit < g->columns && (fit == 0 || used + 2 + width[fit] <= most); fit++) used += width[fit] + (fit ? 2 : 0);
    for (int64_t r = 0; r < lines; r++) {
        for (int c = 0; c < fit; c++) {
            const char *s = g->cell[r * g->columns + c];
            int pad = width[c] - tra_text_columns(s);
            if (c) tra_str_add(out, "  ");
            if (!g->left[c]) tra_str_printf(out, "%*s", pad, "");
            tra_str_add(out, s);
            if (g->left[c] && c + 1 < fit) tra_str_printf(out, "%*s", pad, "");
        }
        tra_str_add(out, "\n");
    }
    int64_t beside = g->beside + g->columns - fit;
    const char *plural = beside == 1 ? "" : "s";
    if (beside > 0 && g->more > 0)
        tra_str_printf(out, "... (%" PRId64 " more row%s, %" PRId64 " more column%s)\n", g->more,
                       g->more == 1 ? "" : "s", beside, plural);
    else if (beside > 0)
        tra_str_printf(out, "... (%" PRId64 " more column%s)\n", beside, plural);
    else if (g->more > 0)
        tra_str_printf(out, "... (%" PRId64 " more row%s)\n", g->more, g->more == 1 ? "" : "s");
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

typedef struct printing {
    grid *grid; /* NULL: CSV to out */
    tra_str out;
} printing;

static tra_status put_rows(void *ctx, int64_t first, const tra_batch *b, tra_err *e) {
    printing *p = ctx;
    (void)first;
    for (int64_t i = 0; i < b->rows; i++) {
        if (!p->grid) tra_csv_put_row(&p->out, b, i, ',');
        for (int c = 0; p->grid && c < b->schema->n; c++) {
            char buf[TRA_VALUETEXT];
            const char *text;
            size_t n = tra_column_text(&b->schema->v[c], &b->v[c], i, buf, &text);
            add(p->grid, text, n);
        }
    }
    if (p->grid || p->out.n == 0) return TRA_OK;
    tra_status s = tra_print(tra_str_get(&p->out), e);
    p->out.n = 0;
    return s;
}

static tra_status head_table(tra_rel *rel, grid *g, bool terminal, tra_err *e) {
    const tra_schema *s = tra_rel_type(rel)->columns;
    printing p = {.grid = terminal ? g : NULL};
    int64_t n = tra_min64(rows, tra_rel_rows(rel));
    g->columns = s->n;
    g->left = tra_news(g->arena, bool, s->n + 1);
    for (int c = 0; c < s->n; c++) {
        g->left[c] = s->v[c].dict != NULL;
        if (terminal) add(g, s->v[c].name, strlen(s->v[c].name));
    }
    if (!terminal) tra_csv_put_header(&p.out, s, ',');
    g->more = tra_rel_rows(rel) - n;
    tra_status status =
        n == 0 && !terminal ? tra_print(tra_str_get(&p.out), e) : tra_table_strips(rel, 0, n, memory, put_rows, &p, e);
    tra_str_free(&p.out);
    return status;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

/* The labels that stand with the numbers. */
typedef struct margins {
    const tra_dim_labels *row, *column; /* NULL: they have no labels */
} margins;

static void add_label(grid *g, const tra_dim_labels *l, int64_t position) {
    const char *text = tra_dim_labels_text(g->arena, l, position);
    add(g, text, strlen(text));
}

/* The corner of the last two dimensions, of n x m elements, at the beginning of all others. */
static tra_status put_box(tra_view *v, grid *g, const margins *b, int64_t n, int64_t m, tra_err *e) {
    tra_dims start = v->shape, count = v->shape;
    int r = v->shape.n, last = r > 1 ? r - 1 : 0;
    tra_dtype t = tra_rel_type(v->rel)->dtype;
    for (int d = 0; d < r; d++) start.v[d] = 0, count.v[d] = 1;
    if (r > 0) count.v[last] = m;
    if (r > 0) count.v[r > 1 ? r - 2 : 0] = n;
    int64_t stride[TRA_MAXDIM];
    tra_strides(&count, stride);
    void *buf = tra_malloc((size_t)tra_dense_bytes(t, &count) + 1);
    tra_status s = n * m > 0 ? tra_view_box(v, &start, &count, buf, stride, e) : TRA_OK;
    bool dots = g->aligned && tra_view_sparse(v); /* what no entry is stored for */
    for (int64_t i = 0; i < n * m && s == TRA_OK; i++) {
        char text[TRA_NUMTEXT];
        if (g->aligned && b->row && i % m == 0) add_label(g, b->row, i / m);
        if (dots && tra_element_real(t, buf, i) == 0)
            add(g, ".", 1);
        else
            add(g, text, tra_print_value(t, buf, i, text));
    }
    free(buf);
    return s;
}

/* The first n entries, block by block. */
static tra_status put_entries(tra_view *v, const tra_dim_labels *const *labels, int64_t n, tra_str *out, tra_err *e) {
    for (tra_visit w = tra_visit_blocks(v); n > 0; n--) {
        TRA_TRY(tra_visit_next(&w, e));
        if (w.end) break;
        tra_csv_put_entry(out, labels, tra_visit_at(&w), tra_rel_type(v->rel)->dtype, w.value, 0, ',');
    }
    return TRA_OK;
}

/* The first n elements in the order of rows. */
static tra_status put_elements(tra_view *v, const tra_dim_labels *const *labels, int64_t n, tra_str *out, tra_err *e) {
    tra_dims at = v->shape, count = v->shape;
    int last = at.n - 1;
    int64_t stride[TRA_MAXDIM], all = 1;
    tra_dtype t = tra_rel_type(v->rel)->dtype;
    for (int d = 0; d < at.n; d++) all = tra_mul_most(all, v->shape.v[d]), at.v[d] = 0, count.v[d] = 1;
    n = tra_min64(n, all);
    count.v[last] = tra_min64(n, v->shape.v[last]);
    tra_strides(&count, stride);
    void *buf = tra_malloc((size_t)tra_dense_bytes(t, &count) + 1);
    tra_status s = TRA_OK;
    while (n > 0 && s == TRA_OK) {
        s = tra_view_box(v, &at, &count, buf, stride, e);
        tra_dims place = at;
        for (int64_t i = 0; i < count.v[last] && n > 0 && s == TRA_OK; i++, n--) {
            place.v[last] = i;
            tra_csv_put_entry(out, labels, &place, t, buf, i, ',');
        }
        for (int d = last - 1; d >= 0 && ++at.v[d] == v->shape.v[d]; d--) at.v[d] = 0;
    }
    free(buf);
    return s;
}

/* CSV of a tensor of more than two dimensions: a line for each element. */
static tra_status list_elements(tra_view *v, const tra_dim_labels *const *labels, tra_err *e) {
    tra_str out = {0};
    tra_csv_put_entries(&out, labels, v->shape.n, "dim", ',');
    tra_status s = tra_view_sparse(v) ? put_entries(v, labels, rows, &out, e) : put_elements(v, labels, rows, &out, e);
    if (s == TRA_OK) s = tra_print_str(&out, e);
    return s;
}

/* Which part of a larger tensor a terminal gets. */
static tra_status say_part(const tra_view *v, tra_err *e) {
    char shape[TRA_DIMTEXT];
    tra_str out = {0};
    if (v->shape.n <= 2) return TRA_OK;
    tra_str_add(&out, "[");
    for (int d = 0; d < v->shape.n - 2; d++) tra_str_add(&out, "0, ");
    tra_str_printf(&out, ":, :] of %s\n", tra_shape_text(&v->shape, shape));
    return tra_print_str(&out, e);
}

static tra_status head_tensor(tra_rel *rel, const char *spec, grid *g, bool terminal, tra_err *e) {
    tra_view v;
    TRA_TRY(tra_view_open(&v, rel, spec, e));
    int r = v.shape.n, down = r > 1 ? r - 2 : 0;
    int64_t n = r > 0 ? tra_min64(rows, v.shape.v[down]) : 1, m = r > 1 ? v.shape.v[r - 1] : 1;
    if (terminal) m = tra_min64(m, tra_terminal_width() / 3 + 1); /* of one digit, with two blanks between */
    g->beside = r > 1 ? v.shape.v[r - 1] - m : 0;
    int64_t need =
        (int64_t)(v.array_bytes + v.scratch_bytes) + tra_mul_most(tra_mul_most(n, m), 64) + tra_rel_held_bytes(rel);
    tra_status s = tra_buffer_check(memory, need, e);
    const tra_dim_labels *const *labels = NULL;
    if (s == TRA_OK) s = tra_rel_labels(rel, &labels, e);
    tra_view_room(&v, NULL, NULL);
    if (r > 2 && !terminal) {
        if (s == TRA_OK) s = list_elements(&v, labels, e);
        tra_view_close(&v);
        return s;
    }
    margins b = {labels && r > 0 ? labels[down] : NULL, labels && r > 1 ? labels[r - 1] : NULL};
    g->columns = (int)m + (b.row != NULL);
    g->left = tra_news(g->arena, bool, m + 2);
    g->left[0] = b.row != NULL;
    g->aligned = terminal;
    g->more = r > 0 ? v.shape.v[down] - n : 0;
    if (terminal && b.row && b.column) add(g, b.row->name, strlen(b.row->name));
    for (int64_t c = 0; terminal && b.column && c < m; c++) add_label(g, b.column, c);
    if (s == TRA_OK && terminal) s = say_part(&v, e);
    if (s == TRA_OK) s = put_box(&v, g, &b, n, m, e);
    tra_view_close(&v);
    if (s != TRA_OK || terminal) return s;
    tra_str out = {0};
    tra_csv_put_top(&out, labels, r, ',');
    for (int64_t i = 0; i < g->n; i++) {
        if (r > 0 && i % m == 0) tra_csv_put_margin(&out, labels, i / m, ',');
        tra_str_printf(&out, "%s%s", g->cell[i], (i + 1) % m ? "," : "\n");
    }
    s = tra_print_str(&out, e);
    return s;
}

/* Where the entries of a sparse tensor are, of which a corner tells little. */
static tra_status show_density(tra_rel *rel, const char *spec, grid *g, tra_err *e) {
    tra_plot p;
    tra_dims shape;
    if (!tra_rel_type(rel)->layout || !tra_type_is_tensor(tra_rel_type(rel), NULL)) return TRA_OK;
    tra_type_shape(tra_rel_type(rel), &shape);
    if (shape.n < 2 || shape.v[0] == 0 || shape.v[1] == 0) return TRA_OK;
    TRA_TRY(tra_plot_density(rel, spec, true, memory, g->arena, &p, e));
    tra_str out = {0};
    tra_str_add(&out, "\n");
    tra_plot_text(&p, &out);
    return tra_print_str(&out, e);
}

/* ---- command ---------------------------------------------------------------------------------------------------- */

tra_status tra_head_print(const char *spec, int64_t n, int64_t ceiling, bool terminal, tra_err *e) {
    tra_rel *rel = NULL;
    rows = n;
    memory = ceiling;
    TRA_TRY(tra_rel_open(spec, NULL, &rel, e));
    grid g = {.arena = tra_arena_new()};
    tra_status s = tra_rel_is_table(rel) ? head_table(rel, &g, terminal, e) : head_tensor(rel, spec, &g, terminal, e);
    if (s == TRA_OK && terminal) {
        tra_str out = {0};
        aligned(&g, &out);
        s = tra_print_str(&out, e);
        if (s == TRA_OK && !tra_rel_is_table(rel)) s = show_density(rel, spec, &g, e);
    }
    free(g.cell);
    tra_arena_free(g.arena);
    tra_rel_close(rel);
    return s;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    if (rows < 0) return tra_fail(e, TRA_USAGE, "-n %" PRId64 ": a number of rows is expected", rows);
    return tra_head_print(argv[0], rows, memory, isatty(STDOUT_FILENO), e);
}

const tra_cmd tra_cmd_head = {
    .name = "head",
    .group = "Relations",
    .brief = "print the first rows of a relation",
    .usage = "[options] REL",
    .about =
        "Prints the first rows of a table, with a line of names; or those of a tensor of 1 or 2 dimensions, of which "
        "a terminal gets the columns that fit its width. Cells are aligned on a terminal; in a pipe it is CSV, of "
        "which NULL is nothing between the commas. Of a tensor of more dimensions a terminal gets the corner of the "
        "last two, a pipe a line for each of the first elements (of a sparse one: entries) with its coordinates. Of a "
        "sparse tensor a terminal also gets a map of where its entries are.",
    .opts = (const tra_opt[]){TRA_ROW('n', "rows", TRA_OPT_INT, &rows, "N", "how many rows (default: 10)"),
                              TRA_OPT_MEMORY(memory),
                              {.name = NULL}},
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5,
    .run = run,
};
