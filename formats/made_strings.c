/* made_strings.c - columns of strings that are made of rows: a pass over the table collects them, another writes codes.
 */
#include "made_strings.h"

#include "../lib/base/crew.h"
#include "../lib/tablefile/table_file.h"
#include "io.h"
#include "made_rows.h"
#include "text_column.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_ROWS = TRA_MADE_ROWS, MOST_ROWS = 1 << 16, LONGEST = 1 << 28, NONE = -1, FAILED = -2 };

/* A string before it is added. at: where it begins in the text; -1: there is none. */
typedef struct ahead {
    int64_t at, n;
    uint64_t hash;
} ahead;

/* What a worker has. */
typedef struct worker {
    tra_made *x;
    tra_batch in;  /* columns of the table, of which those have room that are read */
    tra_batch out; /* rows of the result that are written together */
    tra_vector *strip;
    const char **s; /* strings of a row, of each column */
    int64_t *n;
    ahead *ahead; /* of some rows before they are added: their strings, of each column, */
    tra_str text; /* whose bytes these are; and those of one row of them */
    const char **s_ahead;
    int64_t *n_ahead;
    int64_t made, pending; /* rows of the result before its next one; of these are not in the scratch file */
    int32_t *codes;        /* of each column for the pending rows */
    bool *nulls, *failed;  /* of each column: has a row no string, and could one not be computed? */
} worker;

typedef struct making {
    const tra_made_strings *m;
    tra_arena *arena;
    int64_t memory, batch; /* bytes; rows that are read at a time */
    int64_t most;          /* bytes of a string that a call makes */
    int64_t rows;          /* of the table */
    int64_t taken;         /* by a pass: rows, or values of the column below */
    int column;            /* a column of strings: all strings are made of its values, once of each; or -1 */
    int64_t values;        /* how many it has; the last one is NULL, where it may be; */
    int32_t *code;         /* and of each made column the code of each value */
    int64_t made;          /* rows of the result */
    int nworkers;          /* of groups one, which takes all rows in their order */
    worker *worker;
    tra_text_column **texts; /* of each column that is made */
    tra_spooled *spooled;
    int fd;
    char *where;
    _Atomic int64_t end;
    bool *reads; /* which columns of the table the strings are made of, */
    bool *keeps; /* and which stay */
    bool began;  /* groups: there is a row before this batch, whose values are `last` */
    tra_vector *last;
    const char **s_group; /* groups: the strings of one; */
    int64_t *n_group;
    tra_str *text; /* of each column the string so far; */
    bool *any;     /* is there one? */
    tra_writer *writer;
} making;

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static const tra_column *column_of(const making *g, int c) { return &tra_rel_type(g->m->from)->columns->v[c]; }

/* Does row i of the batch begin a row of the result? */
static bool begins(const making *g, const tra_batch *in, int64_t i) {
    const tra_made_strings *m = g->m;
    if (!m->separator || (i == 0 && !g->began)) return true;
    for (int k = 0; k < m->nkept; k++) {
        int c = m->kept[k];
        tra_coltype type = column_of(g, c)->type;
        if (i == 0
            ? !tra_values_equal(type, in->v[c], 0, g->last[k], 0)
            : !tra_values_equal(type, in->v[c], i, in->v[c], i - 1))
            return true;
    }
    return false;
}

static void keep_last(making *g, const tra_batch *in) {
    for (int k = 0; k < g->m->nkept; k++)
        tra_value_copy(column_of(g, g->m->kept[k])->type, g->last[k], 0, in->v[g->m->kept[k]], in->rows - 1);
    g->began = true;
}

/* A pass over the table: what is done with the rows of a batch, from `first` on. Rows that are no groups are those of
 * the result, so that any worker takes any batch. */
typedef tra_status visit(making *g, worker *w, int64_t first, tra_err *e);
static visit collect_rows;
typedef struct pass {
    making *g;
    visit *visit;
} pass;

/* Values of the column from number `first` on, as rows that have nothing else. */
static void take_values(const making *g, worker *w, int64_t first) {
    tra_vector *v = &w->in.v[g->column];
    for (int64_t i = 0; i < w->in.rows; i++) {
        bool null = v->state && first + i == g->values - 1;
        ((int32_t *)v->values)[i] = null ? 0 : (int32_t)(first + i);
        if (v->state) v->state[i] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
    }
}

static tra_status take_batch(void *ctx, int worker_number, int64_t item, tra_err *e) {
    const pass *p = ctx;
    making *g = p->g;
    worker *w = &g->worker[worker_number];
    int64_t first = item * g->batch;
    w->in.rows = tra_min64(g->batch, g->taken - first);
    if (!g->m->separator) w->made = first;
    TRA_TRY(tra_stop_check(e));
    if (p->visit == collect_rows && g->column >= 0)
        take_values(g, w, first);
    else
        TRA_TRY(tra_rel_read_rows(g->m->from, first, &w->in, e));
    TRA_TRY(p->visit(g, w, first, e));
    if (g->m->separator) keep_last(g, &w->in);
    return TRA_OK;
}

static tra_status each_batch(making *g, const bool *reads, visit *visit, tra_err *e) {
    pass p = {g, visit};
    const tra_schema *s = tra_rel_type(g->m->from)->columns;
    tra_arena *a = tra_arena_new();
    g->began = false;
    for (int k = 0; k < g->nworkers; k++) {
        worker *w = &g->worker[k];
        w->made = 0;
        for (int c = 0; c < s->n; c++)
            w->in.v[c] =
                reads[c] || (g->m->separator && g->keeps[c]) ? tra_vector_room(a, &s->v[c], g->batch) : (tra_vector){0};
    }
    tra_status status = tra_crew_run(g->nworkers, tra_ceil_div(g->taken, g->batch), take_batch, &p, e);
    tra_arena_free(a);
    return status;
}

/* ---- collecting ------------------------------------------------------------------------------------------------- */

/* The worker's rows of the result whose numbers are at hand go to the scratch file. */
static tra_status write_numbers(making *g, worker *w, tra_err *e) {
    int64_t n = w->pending;
    for (int k = 0; k < g->m->nmade && n > 0; k++)
        TRA_TRY(tra_text_column_put(g->texts[k], (int)(w - g->worker), w->made - n, n, w->codes + k * g->batch, e));
    w->pending = 0;
    return TRA_OK;
}

/* The next row of the result has these strings. NULL: it has none: a NULL, or, if n is less than 0, a string that could
 * not be computed. */
static tra_status add_row(making *g, worker *w, const char *const *s, const int64_t *n, const ahead *known,
                          tra_err *e) {
    for (int k = 0; k < g->m->nmade; k++) {
        int32_t *number = &w->codes[k * g->batch + w->pending];
        *number = n[k] < 0 ? FAILED : NONE;
        w->failed[k] |= n[k] < 0;
        w->nulls[k] |= !s[k];
        if (!s[k]) continue;
        uint64_t hash = known ? known[k].hash : tra_string_set_hash(s[k], (size_t)n[k]);
        TRA_TRY(tra_text_column_add(g->texts[k], (int)(w - g->worker), w->made, s[k], n[k], hash, number, e));
    }
    w->made++;
    return ++w->pending == g->batch ? write_numbers(g, w, e) : TRA_OK;
}

/* The group whose rows have all come is a row. */
static tra_status end_group(making *g, worker *w, tra_err *e) {
    for (int k = 0; k < g->m->nmade; k++) {
        g->s_group[k] = g->any[k] ? tra_str_get(&g->text[k]) : NULL;
        g->n_group[k] = (int64_t)g->text[k].n;
        g->any[k] = false;
    }
    TRA_TRY(add_row(g, w, g->s_group, g->n_group, NULL, e));
    for (int k = 0; k < g->m->nmade; k++) g->text[k].n = 0;
    return TRA_OK;
}

/* The strings of a row go to those of its group. */
static tra_status add_to_group(making *g, const worker *w, tra_err *e) {
    for (int k = 0; k < g->m->nmade; k++) {
        if (!w->s[k]) continue;
        if (g->any[k]) tra_str_add(&g->text[k], g->m->separator);
        tra_str_addn(&g->text[k], w->s[k], (size_t)w->n[k]);
        g->any[k] = true;
        if ((int64_t)g->text[k].n > tra_min64(LONGEST, g->memory / 4))
            return tra_fail(e, TRA_RESOURCE,
                            "%s: the strings of a group become one of more than %" PRId64 " bytes; raise --memory, of "
                            "which it may take a quarter, up to %d bytes",
                            g->m->text[k], tra_min64(LONGEST, g->memory / 4), (int)LONGEST);
    }
    return TRA_OK;
}

/* Computes the strings of row i of the table, which is number `at` of the strip. */
static tra_status make_row(const making *g, worker *w, int64_t i, int at, tra_err *e) {
    const char *what = g->column < 0 ? "row" : "string";
    for (int k = 0; k < g->m->nmade; k++) {
        int state = tra_made_string(w->x, k, at, &w->s[k], &w->n[k]);
        bool failed = state == TRA_STATE_ERROR;
        if (failed && tra_made_is_long(w->x))
            return tra_fail(e, TRA_RESOURCE,
                            "%s %" PRId64 ": %s makes a string of more than %" PRId64
                            " bytes, an eighth of what its thread has: raise --memory, or use fewer threads",
                            what, i, g->m->text[k], g->most);
        if (failed && (g->m->separator || tra_made_took_long(w->x)))
            return tra_fail(e, TRA_INPUT, "%s %" PRId64 ": %s %s", what, i, g->m->text[k], tra_made_why(w->x));
        if (state != TRA_STATE_VALUE) w->s[k] = NULL, w->n[k] = failed ? -1 : 0;
    }
    return TRA_OK;
}

enum { FEW_BYTES = 1 << 14 };

/* Keeps the strings at hand as those of row i, and prefetches their places in the sets. False: they are long. */
static bool keep_ahead(const making *g, worker *w, int i) {
    int64_t bytes = 0;
    for (int k = 0; k < g->m->nmade; k++) bytes += w->s[k] ? w->n[k] : 0;
    for (int k = 0; k < g->m->nmade && bytes <= FEW_BYTES; k++) {
        ahead *x = &w->ahead[i * g->m->nmade + k];
        *x = (ahead){.at = w->s[k] ? (int64_t)w->text.n : -1, .n = w->n[k]};
        if (!w->s[k]) continue;
        x->hash = tra_string_set_hash(w->s[k], (size_t)w->n[k]);
        tra_str_addn(&w->text, w->s[k], (size_t)w->n[k]);
        const tra_string_set *words = tra_text_column_words(g->texts[k], (int)(w - g->worker));
        if (tra_string_set_is_large(words)) tra_string_set_expect(words, x->hash);
    }
    return bytes <= FEW_BYTES;
}

/* Adds the strings of up to `most` rows of the table; *rows: of how many. It makes all of them first and prefetches
 * their places in the sets; a long string is added at once. */
static tra_status add_some(making *g, worker *w, int64_t row, int at, int most, int *rows, tra_err *e) {
    int n = g->m->nmade, kept = 0;
    bool few = true;
    w->text.n = 0;
    for (; kept < most && few && w->text.n < FEW_BYTES; kept += few) {
        TRA_TRY(make_row(g, w, row + kept, at + kept, e));
        few = keep_ahead(g, w, kept);
    }
    const char *text = tra_str_get(&w->text);
    for (int i = 0; i < kept; i++) {
        const ahead *x = w->ahead + i * n;
        for (int k = 0; k < n; k++) w->s_ahead[k] = x[k].at < 0 ? NULL : text + x[k].at, w->n_ahead[k] = x[k].n;
        TRA_TRY(add_row(g, w, w->s_ahead, w->n_ahead, x, e));
    }
    *rows = kept + !few;
    return few ? TRA_OK : add_row(g, w, w->s, w->n, NULL, e);
}

static tra_status collect_rows(making *g, worker *w, int64_t first, tra_err *e) {
    for (int64_t from = 0, n; from < w->in.rows; from += n) {
        n = tra_min64(TRA_MADE_ROWS, w->in.rows - from);
        tra_made_batch(w->x, &w->in, first, from, (int)n, w->strip);
        int rows;
        for (int64_t i = from; i < from + n && !g->m->separator; i += rows) {
            int most = (int)tra_min64(TRA_STRINGS_AHEAD, from + n - i);
            TRA_TRY(add_some(g, w, first + i, (int)(i - from), most, &rows, e));
        }
        for (int64_t i = from; i < from + n && g->m->separator; i++) {
            TRA_TRY(make_row(g, w, first + i, (int)(i - from), e));
            if (first + i > 0 && begins(g, &w->in, i)) TRA_TRY(end_group(g, w, e));
            TRA_TRY(add_to_group(g, w, e));
        }
    }
    return write_numbers(g, w, e);
}

/* All rows have come. */
static tra_status end_collecting(making *g, tra_err *e) {
    const tra_made_strings *m = g->m;
    worker *first = &g->worker[0];
    if (m->separator && (g->rows > 0 || m->nkept == 0)) TRA_TRY(end_group(g, first, e));
    TRA_TRY(write_numbers(g, first, e));
    g->made = m->separator ? first->made : g->rows;
    for (int i = 1; i < g->nworkers; i++)
        for (int k = 0; k < m->nmade; k++) {
            first->nulls[k] |= g->worker[i].nulls[k];
            first->failed[k] |= g->worker[i].failed[k];
        }
    return TRA_OK;
}

/* ---- dictionaries ----------------------------------------------------------------------------------------------- */

static tra_status make_dictionary(making *g, int k, tra_column *c, tra_err *e) {
    tra_err why = {0};
    tra_status s = tra_text_column_end(g->texts[k], false, g->memory / 4, &g->spooled[k], &why);
    if (s == TRA_INPUT && why.status == TRA_OK)
        return tra_fail(e, TRA_INPUT, "%s makes more than 2^31 different strings", g->m->text[k]);
    if (s != TRA_OK) return *e = why, s;
    tra_dictionary *d = tra_new(g->arena, tra_dictionary);
    const tra_spooled *f = &g->spooled[k];
    *d = (tra_dictionary){.n = f->n, .sorted = true, .file = f, .bytes_most = f->bytes};
    *c = (tra_column){g->m->name[k], TRA_COL_STRING, .nullable = g->worker[0].nulls[k], .dict = d};
    if (d->n == 0) c->dict = tra_dictionary_new(g->arena, 0, NULL, NULL); /* all are NULL */
    return TRA_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* The codes that n rows have in a made column, by their values. */
static void codes_of_values(const making *g, const int32_t *code, tra_vector v, int64_t n, int32_t *to) {
    for (int64_t i = 0; i < n; i++)
        to[i] = code[v.state && v.state[i] != TRA_STATE_VALUE ? g->values - 1 : ((const int32_t *)v.values)[i]];
}

static tra_status flush(making *g, worker *w, tra_err *e) {
    const tra_made_strings *m = g->m;
    int64_t n = w->out.rows, first = w->made - n;
    tra_vector *mark = w->out.v + m->nkept + m->nmade;
    for (int k = 0; k < m->nmade && n > 0; k++) {
        tra_vector *v = &w->out.v[m->nkept + k];
        int32_t *codes = v->values;
        bool failed = g->worker[0].failed[k];
        if (g->column >= 0)
            codes_of_values(g, g->code + k * g->values, w->in.v[g->column], n, codes);
        else
            TRA_TRY(tra_text_column_codes(g->texts[k], first, n, codes, e));
        for (int64_t i = 0; failed && i < n; i++) ((int64_t *)mark->values)[i] = codes[i] == FAILED;
        mark += failed;
        for (int64_t i = 0; v->state && i < n; i++) {
            v->state[i] = codes[i] < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE;
            if (codes[i] < 0) codes[i] = 0;
        }
    }
    if (n > 0) TRA_TRY(tra_writer_put_rows(g->writer, first, &w->out, e));
    w->out.rows = 0;
    return TRA_OK;
}

static tra_status write_rows(making *g, worker *w, int64_t first, tra_err *e) {
    const tra_made_strings *m = g->m;
    if (!m->separator) {
        for (int k = 0; k < m->nkept; k++) w->out.v[k] = w->in.v[m->kept[k]];
        w->out.rows = w->in.rows;
        w->made = first + w->in.rows;
        return flush(g, w, e);
    }
    for (int64_t i = 0; i < w->in.rows; i++) {
        if (!begins(g, &w->in, i)) continue;
        for (int k = 0; k < m->nkept; k++)
            tra_value_copy(w->out.schema->v[k].type, w->out.v[k], w->out.rows, w->in.v[m->kept[k]], i);
        w->made++;
        w->out.rows++;
    }
    return flush(g, w, e);
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
    for (int k = 0; k < m->nmade && g->column >= 0; k++)
        TRA_TRY(tra_text_column_codes(g->texts[k], 0, g->values, g->code + k * g->values, e));
    if (g->column >= 0) g->keeps[g->column] = true;
    for (int k = 0; k < m->nmade; k++)
        if (g->worker[0].failed[k])
            columns[n++] =
                (tra_column){.name = tra_arena_printf(g->arena, TRA_MADE_FAILED, m->name[k]), .type = TRA_COL_I64};
    *schema = (tra_schema){n, columns};
    for (int i = 0; i < g->nworkers; i++) {
        worker *w = &g->worker[i];
        w->out = (tra_batch){.schema = schema, .v = tra_news(g->arena, tra_vector, n + 1)};
        for (int k = 0; k < n; k++) w->out.v[k] = tra_vector_room(g->arena, &columns[k], g->batch);
    }
    tra_dims shape = {.n = 1, .v = {rows}}, block = {.n = 1, .v = {tra_rel_type(m->from)->cat->bound.v[0]}};
    if (rows > 0) block.v[0] = tra_min64(block.v[0], rows);
    tra_catalog cat;
    TRA_TRY(tra_catalog_blocks(&shape, &block, &cat, e));
    tra_type type = {.dtype = TRA_F64, .cat = &cat, .layout = &tra_columns, .columns = schema, .cut = {1}};
    TRA_TRY(tra_writer_create(to, &type, &(tra_write_options){.history = history, .alone = true}, &g->writer, e));
    TRA_TRY(tra_writer_place_rows(g->writer, NULL, e));
    TRA_TRY(each_batch(g, g->keeps, write_rows, e));
    worker *one = &g->worker[0];
    if (m->separator && m->nkept == 0 && g->rows == 0) { /* the one row of no rows */
        one->made = one->out.rows = 1;
        TRA_TRY(flush(g, one, e));
    }
    tra_writer *w = g->writer;
    g->writer = NULL;
    return tra_writer_commit(w, NULL, e);
}

static tra_status run(making *g, const char *to, const char *history, tra_err *e) {
    g->taken = g->column >= 0 ? g->values : g->rows;
    TRA_TRY(tra_scratch_open(to, &g->fd, &g->where, e));
    for (int k = 0; k < g->m->nmade; k++)
        g->texts[k] =
            tra_text_column_new(&(tra_text_column_options){.fd = g->fd,
                                                           .where = g->where,
                                                           .output = to,
                                                           .end = &g->end,
                                                           .rows = tra_max64(1, g->taken),
                                                           .workers = g->nworkers,
                                                           .memory = g->memory / 4 / g->nworkers / g->m->nmade});
    TRA_TRY(each_batch(g, g->reads, collect_rows, e));
    TRA_TRY(end_collecting(g, e));
    g->taken = g->rows;
    return write_all(g, to, history, e);
}

static void begin_worker(making *g, worker *w) {
    const tra_made_strings *m = g->m;
    const tra_schema *s = tra_rel_type(m->from)->columns;
    w->in = (tra_batch){.schema = s, .v = tra_news(g->arena, tra_vector, s->n + 1)};
    w->strip = tra_news(g->arena, tra_vector, s->n + 1);
    w->x = tra_made_new(g->arena, m->nmade, m->x, g->most);
    w->nulls = tra_news(g->arena, bool, m->nmade + 1);
    w->failed = tra_news(g->arena, bool, m->nmade + 1);
    w->codes = tra_arena_array(g->arena, (size_t)(m->nmade * g->batch), 4);
    w->s = tra_news(g->arena, const char *, m->nmade + 1);
    w->n = tra_news(g->arena, int64_t, m->nmade + 1);
    w->s_ahead = tra_news(g->arena, const char *, m->nmade + 1);
    w->n_ahead = tra_news(g->arena, int64_t, m->nmade + 1);
    w->ahead = tra_news(g->arena, ahead, TRA_STRINGS_AHEAD * m->nmade + 1);
}

/* Sets the column that all strings are made of, if one tells them and has no more values than there are rows. */
static void find_column(making *g, const tra_schema *s, bool counts) {
    int n = 0;
    g->column = -1;
    for (int c = 0; c < s->n; c++)
        if (g->reads[c]) n++, g->column = c;
    const tra_column *c = n == 1 ? &s->v[g->column] : NULL;
    bool coded = c && c->dict && !g->m->separator && !counts && c->dict->n <= g->rows;
    g->values = coded ? c->dict->n + tra_column_has_states(c) : 0;
    if (!coded || 4 * g->values * g->m->nmade > g->memory / 8) g->column = -1;
    if (g->column >= 0) g->code = tra_arena_array(g->arena, (size_t)(g->values * g->m->nmade + 1), 4);
}

static int64_t longest_of(const tra_schema *s) {
    int64_t n = 0;
    for (int c = 0; c < s->n; c++) n = s->v[c].dict ? tra_max64(n, s->v[c].dict->longest) : n;
    return n;
}

tra_status tra_made_strings_write(const tra_made_strings *m, const char *to, int64_t memory, int threads,
                                  const char *history, tra_err *e) {
    const tra_schema *s = tra_rel_type(m->from)->columns;
    making g = {.m = m, .fd = -1};
    enum { LEAST = 2 << 20 };
    for (int k = 0; k < m->nmade; k++) TRA_TRY(tra_colexpr_read(m->x[k], e));
    int64_t held = tra_buffer_held(), n = m->nmade;
    int64_t row = tra_schema_row_bytes(s) + 16 * (m->nkept + 2 * n);
    TRA_TRY(tra_buffer_check(memory, held + tra_made_room(s, m->nkept, m->nmade), e));
    g.memory = tra_buffer_bytes(memory) - held;
    g.arena = tra_arena_new();
    g.rows = tra_rel_rows(m->from);
    int64_t each = LEAST + 16 * LEAST_ROWS * row + 32 * longest_of(s);
    g.nworkers = m->separator ? 1 : (int)tra_max64(1, tra_min64(threads, g.memory / each));
    g.most = g.memory / 8 / g.nworkers;
    g.batch = tra_max64(LEAST_ROWS, tra_min64(MOST_ROWS, g.memory / 8 / g.nworkers / row));
    g.reads = tra_news(g.arena, bool, s->n + 1), g.keeps = tra_news(g.arena, bool, s->n + 1);
    bool counts = false;
    for (int k = 0; k < n; k++) tra_colexpr_columns(m->x[k], g.reads), counts |= tra_colexpr_uses_row(m->x[k]);
    find_column(&g, s, counts);
    for (int k = 0; k < m->nkept; k++) g.keeps[m->kept[k]] = true;
    g.last = tra_news(g.arena, tra_vector, m->nkept + 1);
    for (int k = 0; k < m->nkept; k++) g.last[k] = tra_vector_room(g.arena, &s->v[m->kept[k]], 1);
    g.texts = tra_news(g.arena, tra_text_column *, n + 1);
    g.spooled = tra_news(g.arena, tra_spooled, n + 1);
    g.worker = tra_news(g.arena, worker, g.nworkers);
    for (int i = 0; i < g.nworkers; i++) begin_worker(&g, &g.worker[i]);
    g.text = tra_news(g.arena, tra_str, n + 1);
    g.any = tra_news(g.arena, bool, n + 1);
    g.s_group = tra_news(g.arena, const char *, n + 1);
    g.n_group = tra_news(g.arena, int64_t, n + 1);
    tra_status status = run(&g, to, history, e);
    if (g.writer) tra_writer_abort(g.writer);
    for (int i = 0; i < g.nworkers; i++) {
        tra_made_free(g.worker[i].x);
        tra_str_free(&g.worker[i].text);
    }
    for (int k = 0; k < n; k++) {
        tra_str_free(&g.text[k]);
        tra_text_column_free(g.texts[k]);
    }
    if (g.fd >= 0) close(g.fd);
    free(g.where);
    tra_arena_free(g.arena);
    return status;
}
