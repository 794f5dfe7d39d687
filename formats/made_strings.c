/* made_strings.c - columns of strings that are made of rows: a pass over the table collects them, another writes codes.
 */
#include "made_strings.h"

#include "../lib/tablefile/table_file.h"
#include "io.h"
#include "table_csv_spill.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_ROWS = TRA_MADE_ROWS, MOST_ROWS = 1 << 16, LONGEST = 1 << 28, NONE = -1, FAILED = -2 };

/* The strings of a column that are in no run yet. */
typedef struct collector {
    tra_string_set words;
    int64_t *seen; /* where each came first does not matter: zeros */
    int64_t seen_cap, first;
    bool nulls, failed; /* is there a row without a string, and one whose string could not be computed? */
} collector;

typedef struct making {
    const tra_made_strings *m;
    tra_arena *arena;
    int64_t memory, batch;   /* bytes; rows that are read at a time */
    int64_t rows, rows_most; /* of the table; at least 1 */
    int64_t made, pending;   /* rows of the result so far, of which these are not in the scratch file */
    tra_made *x;
    collector *words;
    tra_csv_text_runs *runs;
    tra_spooled *spooled;
    int fd;
    char *where;
    _Atomic int64_t end;
    int32_t *codes; /* of each column for the rows of a batch */
    tra_batch in;   /* columns of the table, of which those have room that a pass reads */
    bool began;     /* groups: there is a row before this batch, whose values are `last` */
    tra_vector *last;
    tra_vector *strip;
    const char **s, **s_group; /* strings of a row, of each column; of a group */
    int64_t *n, *n_group;
    tra_str *text; /* groups: of each column the string so far; */
    bool *any;     /* is there one? */
    tra_batch out;
    tra_writer *writer;
} making;

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static const tra_column *column_of(const making *g, int c) { return &tra_rel_type(g->m->from)->columns->v[c]; }

static tra_vector room_of(tra_arena *a, const tra_column *c, int64_t rows) {
    tra_vector v = {tra_arena_array(a, (size_t)rows + 1, tra_coltype_size(c->type)), NULL};
    if (tra_column_has_states(c)) v.state = tra_news(a, uint8_t, rows + 1);
    return v;
}

static void use_column(making *g, int c) {
    if (!g->in.v[c].values) g->in.v[c] = room_of(g->arena, column_of(g, c), g->batch);
}

static void use_columns_of(making *g, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) use_column(g, x->column);
    for (int i = 0; i < x->nkids; i++) use_columns_of(g, x->kids[i]);
}

/* Is element i of x equal to element k of y, as keys of groups are? */
static bool is_equal(tra_coltype type, tra_vector x, int64_t i, tra_vector y, int64_t k) {
    int s = x.state ? x.state[i] : TRA_STATE_VALUE, t = y.state ? y.state[k] : TRA_STATE_VALUE;
    if (s != TRA_STATE_VALUE || t != TRA_STATE_VALUE) return s == t;
    tra_dtype held = tra_coltype_held(type);
    if (!tra_dtype_is_float(held)) return tra_element_whole(held, x.values, i) == tra_element_whole(held, y.values, k);
    double a = tra_element_real(held, x.values, i), b = tra_element_real(held, y.values, k);
    return a == b || (a != a && b != b);
}

static void copy_row(tra_coltype type, tra_vector to, int64_t i, tra_vector from, int64_t k) {
    size_t size = tra_coltype_size(type);
    memcpy((char *)to.values + (size_t)i * size, (const char *)from.values + (size_t)k * size, size);
    if (to.state) to.state[i] = from.state ? from.state[k] : TRA_STATE_VALUE;
}

/* Does row i of the batch begin a row of the result? */
static bool begins(const making *g, int64_t i) {
    const tra_made_strings *m = g->m;
    if (!m->separator || (i == 0 && !g->began)) return true;
    for (int k = 0; k < m->nkept; k++) {
        int c = m->kept[k];
        tra_coltype type = column_of(g, c)->type;
        if (i == 0 ? !is_equal(type, g->in.v[c], 0, g->last[k], 0) : !is_equal(type, g->in.v[c], i, g->in.v[c], i - 1))
            return true;
    }
    return false;
}

static void keep_last(making *g) {
    for (int k = 0; k < g->m->nkept && g->m->separator; k++)
        copy_row(column_of(g, g->m->kept[k])->type, g->last[k], 0, g->in.v[g->m->kept[k]], g->in.rows - 1);
    g->began = true;
}

typedef tra_status batch_visit(making *g, int64_t first, tra_err *e);

static tra_status each_batch(making *g, batch_visit *visit, tra_err *e) {
    g->began = false;
    g->made = 0;
    for (int64_t first = 0; first < g->rows; first += g->in.rows) {
        g->in.rows = tra_min64(g->batch, g->rows - first);
        TRA_TRY(tra_stop_check(e));
        TRA_TRY(tra_rel_read_rows(g->m->from, first, &g->in, e));
        TRA_TRY(visit(g, first, e));
        keep_last(g);
    }
    return TRA_OK;
}

/* ---- collecting ------------------------------------------------------------------------------------------------- */

/* What is collected of column k becomes a run, which ends before row `end` of the result. */
static tra_status put_run(making *g, int k, int64_t end, tra_err *e) {
    collector *w = &g->words[k];
    tra_csv_text_runs *r = &g->runs[k];
    tra_csv_text_run run;
    if (w->words.n == 0) return TRA_OK;
    TRA_TRY(tra_csv_write_text_run(r, &w->words, w->seen, &run, e));
    run.number = r->n;
    run.first = w->first;
    run.last = end - 1;
    TRA_ROOM(r->v, r->n, r->cap);
    r->v[r->n++] = run;
    w->first = end;
    tra_string_set_free(&w->words);
    free(w->seen);
    w->seen = NULL;
    w->seen_cap = 0;
    return TRA_OK;
}

/* Takes the string of row `row` of the result in column k. s NULL: the row has none: a NULL, or, if n is less than 0, a
 * string that could not be computed. Sets *number to what the row stores until all strings have codes. */
static tra_status collect(making *g, int k, int64_t row, const char *s, int64_t n, int32_t *number, tra_err *e) {
    collector *w = &g->words[k];
    bool fresh;
    *number = n < 0 ? FAILED : NONE;
    w->failed = w->failed || n < 0;
    if (!s) return w->nulls = true, TRA_OK;
    int64_t held = tra_string_set_bytes(&w->words) + 8 * w->seen_cap;
    bool full = held + 2 * n > g->memory / 4 / g->m->nmade && w->words.n > 0;
    if (full && tra_string_set_find(&w->words, s, (size_t)n, tra_string_set_hash(s, (size_t)n)) < 0)
        TRA_TRY(put_run(g, k, row, e));
    *number = (int32_t)tra_string_set_add(&w->words, s, (size_t)n, tra_string_set_hash(s, (size_t)n), &fresh);
    if (w->words.n > w->seen_cap) {
        free(w->seen);
        w->seen_cap = tra_max64(256, 2 * w->seen_cap);
        w->seen = tra_calloc((size_t)w->seen_cap, sizeof *w->seen);
    }
    if (fresh) g->runs[k].longest = tra_max64(g->runs[k].longest, n);
    return TRA_OK;
}

/* The rows of the result whose numbers are at hand go to the scratch file. */
static tra_status write_numbers(making *g, tra_err *e) {
    int64_t n = g->pending, row = g->made - n;
    for (int k = 0; k < g->m->nmade && n > 0; k++)
        TRA_TRY(tra_pwrite(g->fd, g->codes + k * g->batch, (size_t)n * 4, 4 * (k * g->rows_most + row), g->where, e));
    g->pending = 0;
    return TRA_OK;
}

/* The next row of the result has these strings. */
static tra_status add_row(making *g, const char *const *s, const int64_t *n, tra_err *e) {
    for (int k = 0; k < g->m->nmade; k++)
        TRA_TRY(collect(g, k, g->made, s[k], n[k], &g->codes[k * g->batch + g->pending], e));
    g->made++;
    return ++g->pending == g->batch ? write_numbers(g, e) : TRA_OK;
}

/* The group whose rows have all come is a row. */
static tra_status end_group(making *g, tra_err *e) {
    for (int k = 0; k < g->m->nmade; k++) {
        g->s[k] = g->any[k] ? tra_str_get(&g->text[k]) : NULL;
        g->n[k] = (int64_t)g->text[k].n;
        g->any[k] = false;
    }
    TRA_TRY(add_row(g, g->s, g->n, e));
    for (int k = 0; k < g->m->nmade; k++) g->text[k].n = 0;
    return TRA_OK;
}

/* The strings of a row go to those of its group. */
static tra_status add_to_group(making *g, tra_err *e) {
    for (int k = 0; k < g->m->nmade; k++) {
        if (!g->s[k]) continue;
        if (g->any[k]) tra_str_add(&g->text[k], g->m->separator);
        tra_str_addn(&g->text[k], g->s[k], (size_t)g->n[k]);
        g->any[k] = true;
        if ((int64_t)g->text[k].n > tra_min64(LONGEST, g->memory / 4))
            return tra_fail(e, TRA_RESOURCE,
                            "%s: the strings of a group become one of more than %" PRId64 " bytes; raise --memory, of "
                            "which it may take a quarter, up to %d bytes",
                            g->m->text[k], tra_min64(LONGEST, g->memory / 4), (int)LONGEST);
    }
    return TRA_OK;
}

static tra_status collect_rows(making *g, int64_t first, tra_err *e) {
    const tra_schema *s = g->in.schema;
    for (int64_t from = 0, n; from < g->in.rows; from += n) {
        n = tra_min64(TRA_MADE_ROWS, g->in.rows - from);
        for (int c = 0; c < s->n; c++) {
            if (!g->in.v[c].values) continue;
            g->strip[c].values = (char *)g->in.v[c].values + (size_t)from * tra_coltype_size(s->v[c].type);
            g->strip[c].state = g->in.v[c].state ? g->in.v[c].state + from : NULL;
        }
        tra_made_strip(g->x, g->strip, first + from, (int)n);
        for (int64_t i = from; i < from + n; i++) {
            for (int k = 0; k < g->m->nmade; k++) {
                int state = tra_made_string(g->x, k, (int)(i - from), &g->s[k], &g->n[k]);
                bool failed = state == TRA_STATE_ERROR;
                if (failed && (g->m->separator || tra_made_took_long(g->x)))
                    return tra_fail(e, TRA_INPUT, "row %" PRId64 ": %s %s", first + i, g->m->text[k],
                                    tra_made_why(g->x));
                if (state != TRA_STATE_VALUE) g->s[k] = NULL, g->n[k] = failed ? -1 : 0;
            }
            if (!g->m->separator) {
                TRA_TRY(add_row(g, g->s, g->n, e));
                continue;
            }
            if (first + i > 0 && begins(g, i)) {
                const char **s_row = g->s;
                int64_t *n_row = g->n;
                g->s = g->s_group, g->n = g->n_group;
                tra_status status = end_group(g, e);
                g->s = s_row, g->n = n_row;
                TRA_TRY(status);
            }
            TRA_TRY(add_to_group(g, e));
        }
    }
    return TRA_OK;
}

/* ---- dictionaries ----------------------------------------------------------------------------------------------- */

/* The numbers that rows have of a run become codes. */
static tra_status translate(const making *g, int k, const tra_csv_text_run *run, tra_err *e) {
    size_t bytes = (size_t)run->n * 4;
    int32_t *order = tra_malloc(3 * bytes + 1), *map = order + run->n, *code = map + run->n, v[4096];
    tra_status s = tra_pread(g->fd, order, bytes, run->order_at, g->where, e);
    if (s == TRA_OK) s = tra_pread(g->fd, map, bytes, run->map_at, g->where, e);
    for (int64_t j = 0; j < run->n && s == TRA_OK; j++) code[order[j]] = map[j];
    for (int64_t row = run->first, n; row <= run->last && s == TRA_OK; row += n) {
        int64_t at = 4 * (k * g->rows_most + row);
        n = tra_min64(4096, run->last + 1 - row);
        s = tra_pread(g->fd, v, (size_t)n * 4, at, g->where, e);
        for (int64_t i = 0; i < n && s == TRA_OK; i++) v[i] = v[i] < 0 ? v[i] : code[v[i]];
        if (s == TRA_OK) s = tra_pwrite(g->fd, v, (size_t)n * 4, at, g->where, e);
    }
    free(order);
    return s;
}

static tra_status make_dictionary(making *g, int k, tra_column *c, tra_err *e) {
    tra_csv_text_runs *r = &g->runs[k];
    tra_err why = {0};
    TRA_TRY(put_run(g, k, g->made, e));
    int n = r->n;
    tra_status s = tra_csv_merge_text_runs(r, false, g->memory / 4, &g->spooled[g->m->nkept + k], &why);
    if (s == TRA_INPUT && why.status == TRA_OK)
        return tra_fail(e, TRA_INPUT, "%s makes more than 2^31 different strings", g->m->text[k]);
    if (s != TRA_OK) return *e = why, s;
    for (int i = 0; i < n; i++) TRA_TRY(translate(g, k, &r->v[i], e));
    tra_dictionary *d = tra_new(g->arena, tra_dictionary);
    *d = (tra_dictionary){.n = g->spooled[g->m->nkept + k].n, .sorted = true};
    if (d->n == 0) { /* all are NULL: nothing is in the scratch file */
        g->spooled[g->m->nkept + k] = (tra_spooled){0};
        *c = (tra_column){g->m->name[k], TRA_COL_STRING, .nullable = g->words[k].nulls,
                          .dict = tra_dictionary_new(g->arena, 0, NULL, NULL)};
        return TRA_OK;
    }
    *c = (tra_column){g->m->name[k], TRA_COL_STRING, .nullable = g->words[k].nulls, .dict = d};
    return TRA_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static tra_status flush(making *g, tra_err *e) {
    const tra_made_strings *m = g->m;
    int64_t n = g->out.rows, first = g->made - n;
    tra_vector *mark = g->out.v + m->nkept + m->nmade;
    for (int k = 0; k < m->nmade && n > 0; k++) {
        tra_vector *v = &g->out.v[m->nkept + k];
        int32_t *codes = v->values;
        TRA_TRY(tra_pread(g->fd, codes, (size_t)n * 4, 4 * (k * g->rows_most + first), g->where, e));
        for (int64_t i = 0; g->words[k].failed && i < n; i++) ((int64_t *)mark->values)[i] = codes[i] == FAILED;
        mark += g->words[k].failed;
        for (int64_t i = 0; v->state && i < n; i++) {
            v->state[i] = codes[i] < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE;
            if (codes[i] < 0) codes[i] = 0;
        }
    }
    if (n > 0) TRA_TRY(tra_writer_put_rows(g->writer, first, &g->out, e));
    g->out.rows = 0;
    return TRA_OK;
}

static tra_status write_rows(making *g, int64_t first, tra_err *e) {
    const tra_made_strings *m = g->m;
    (void)first;
    for (int64_t i = 0; i < g->in.rows; i++) {
        if (!begins(g, i)) continue;
        for (int k = 0; k < m->nkept; k++)
            copy_row(g->out.schema->v[k].type, g->out.v[k], g->out.rows, g->in.v[m->kept[k]], i);
        g->made++;
        if (++g->out.rows == g->batch) TRA_TRY(flush(g, e));
    }
    return TRA_OK;
}

static tra_status write_all(making *g, const char *to, const char *history, tra_err *e) {
    const tra_made_strings *m = g->m;
    int n = m->nkept + m->nmade;
    tra_column *columns = tra_news(g->arena, tra_column, n + m->nmade + 1);
    tra_schema *schema = tra_new(g->arena, tra_schema);
    int64_t rows = g->made;
    for (int k = 0; k < m->nkept; k++) {
        columns[k] = *column_of(g, m->kept[k]);
        columns[k].file = NULL;
    }
    for (int k = 0; k < m->nmade; k++) TRA_TRY(make_dictionary(g, k, &columns[m->nkept + k], e));
    for (int k = 0; k < m->nmade; k++)
        if (g->words[k].failed)
            columns[n++] =
                (tra_column){.name = tra_arena_printf(g->arena, TRA_MADE_FAILED, m->name[k]), .type = TRA_COL_I64};
    *schema = (tra_schema){n, columns};
    g->out = (tra_batch){.schema = schema, .v = tra_news(g->arena, tra_vector, n + 1)};
    for (int k = 0; k < n; k++) g->out.v[k] = room_of(g->arena, &columns[k], g->batch);
    tra_dims shape = {.n = 1, .v = {rows}}, block = {.n = 1, .v = {tra_rel_type(m->from)->cat->bound.v[0]}};
    if (rows > 0) block.v[0] = tra_min64(block.v[0], rows);
    tra_catalog cat;
    TRA_TRY(tra_catalog_blocks(&shape, &block, &cat, e));
    tra_type type = {.dtype = TRA_F64, .cat = &cat, .layout = &tra_columns, .columns = schema, .cut = {1}};
    TRA_TRY(tra_writer_create(to, &type, &(tra_write_options){.history = history}, &g->writer, e));
    tra_writer_spooled(g->writer, g->spooled);
    TRA_TRY(tra_writer_place_rows(g->writer, NULL, e));
    TRA_TRY(each_batch(g, write_rows, e));
    if (m->separator && m->nkept == 0 && g->rows == 0) g->made = g->out.rows = 1;
    TRA_TRY(flush(g, e));
    tra_writer *w = g->writer;
    g->writer = NULL;
    return tra_writer_commit(w, NULL, e);
}

static tra_status run(making *g, const char *to, const char *history, tra_err *e) {
    const tra_made_strings *m = g->m;
    TRA_TRY(tra_scratch_open(to, &g->fd, &g->where, e));
    for (int k = 0; k < m->nmade; k++)
        g->runs[k] = (tra_csv_text_runs){.fd = g->fd, .where = g->where, .output = to, .end = &g->end, .rows = g->rows};
    TRA_TRY(each_batch(g, collect_rows, e));
    if (m->separator && (g->rows > 0 || m->nkept == 0)) {
        g->s = g->s_group, g->n = g->n_group;
        TRA_TRY(end_group(g, e));
    }
    TRA_TRY(write_numbers(g, e));
    return write_all(g, to, history, e);
}

tra_status tra_made_strings_write(const tra_made_strings *m, const char *to, int64_t memory, const char *history,
                                  tra_err *e) {
    const tra_schema *s = tra_rel_type(m->from)->columns;
    making g = {.m = m, .fd = -1};
    enum { LEAST = 2 << 20 };
    int64_t held = tra_buffer_held();
    int64_t row = tra_schema_row_bytes(s) + 16 * (m->nkept + 2 * m->nmade);
    TRA_TRY(tra_buffer_check(memory, held + LEAST + 2 * LEAST_ROWS * row, e));
    g.memory = tra_buffer_bytes(memory) - held;
    g.arena = tra_arena_new();
    g.rows = tra_rel_rows(m->from);
    g.rows_most = tra_max64(1, g.rows);
    g.batch = tra_max64(LEAST_ROWS, tra_min64(MOST_ROWS, g.memory / 8 / row));
    g.in = (tra_batch){.schema = s, .v = tra_news(g.arena, tra_vector, s->n + 1)};
    g.strip = tra_news(g.arena, tra_vector, s->n + 1);
    for (int k = 0; k < m->nmade; k++) use_columns_of(&g, m->x[k]);
    for (int k = 0; k < m->nkept; k++) use_column(&g, m->kept[k]);
    g.last = tra_news(g.arena, tra_vector, m->nkept + 1);
    for (int k = 0; k < m->nkept; k++) g.last[k] = room_of(g.arena, &s->v[m->kept[k]], 1);
    g.x = tra_made_new(g.arena, m->nmade, m->x);
    g.words = tra_news(g.arena, collector, m->nmade + 1);
    g.runs = tra_news(g.arena, tra_csv_text_runs, m->nmade + 1);
    g.spooled = tra_news(g.arena, tra_spooled, m->nkept + 2 * m->nmade + 1);
    g.codes = tra_arena_array(g.arena, (size_t)(m->nmade * g.batch), 4);
    g.text = tra_news(g.arena, tra_str, m->nmade + 1);
    g.any = tra_news(g.arena, bool, m->nmade + 1);
    g.s = tra_news(g.arena, const char *, m->nmade + 1), g.s_group = tra_news(g.arena, const char *, m->nmade + 1);
    g.n = tra_news(g.arena, int64_t, m->nmade + 1), g.n_group = tra_news(g.arena, int64_t, m->nmade + 1);
    g.end = (4 * m->nmade * g.rows_most + 7) / 8 * 8;
    tra_status status = run(&g, to, history, e);
    if (g.writer) tra_writer_abort(g.writer);
    tra_made_free(g.x);
    for (int k = 0; k < m->nmade; k++) {
        tra_string_set_free(&g.words[k].words);
        free(g.words[k].seen);
        tra_str_free(&g.text[k]);
        free(g.runs[k].v);
    }
    if (g.fd >= 0) close(g.fd);
    free(g.where);
    tra_arena_free(g.arena);
    return status;
}
