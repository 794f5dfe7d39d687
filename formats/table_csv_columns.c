/* table_csv_columns.c - the columns of a CSV file: their names, which are wanted, and what the user says of them. */
#include "table_csv_import.h"

#include <stdlib.h>
#include <string.h>

/* A list "a,b,c" one by one; a cell in double quotes may have commas. NULL: no more. */
static const char *next_of(tra_arena *a, const char **at) {
    const char *p = *at;
    tra_str t = {0};
    if (!p) return NULL;
    if (*p == '"') {
        for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
            p += *p == '"';
            tra_str_addn(&t, p, 1);
        }
        if (*p) p++;
    }
    while (*p && *p != ',') tra_str_addn(&t, p++, 1);
    *at = *p ? p + 1 : NULL;
    return tra_arena_take(a, &t);
}

/* Names in a set that is looked at often: of many columns. */
typedef struct name_set {
    tra_string_set words;
} name_set;

static int64_t find_name(const name_set *s, const char *name) {
    size_t n = strlen(name);
    return tra_string_set_find(&s->words, name, n, tra_string_set_hash(name, n));
}

static bool add_name(name_set *s, const char *name) {
    bool fresh;
    size_t n = strlen(name);
    tra_string_set_add(&s->words, name, n, tra_string_set_hash(name, n), &fresh);
    return fresh;
}

/* A record that is taken for a header, though the user does not say so, has nothing in it that may be a value: nobody
 * would see that a row is missing. */
static tra_status must_be_name(const tra_csv_import *m, int64_t column, const char *s, size_t n, tra_err *e) {
    char shown[TRA_SHOWN];
    if (m->job->header >= 0 || n == 0) return TRA_OK;
    bool value = tra_csv_kind_of(&m->reading, s, n) != TRA_CSV_OTHER;
    if (!value && !tra_csv_is_like_data(s, n)) return TRA_OK;
    return tra_fail(e, TRA_INPUT,
                    "%s: line %" PRId64 ", column %" PRId64
                    ": \"%s\" is %s, in what seems to be a header: say --header if the line is one, or --no-header",
                    m->spec, m->form->lines + 1, column + 1, tra_shown(s, n, shown),
                    value ? "a value" : "rather a value with a mistake than a name");
}

enum { MOST_COLUMNS = 1 << 20 };

/* The first record, as names; where there is no header, numbers. */
static tra_status read_names(tra_csv_import *m, name_set *set, const char ***names, tra_err *e) {
    int64_t n;
    const char *text = tra_csv_head(m->file, &n), *p = text, *end = text + n;
    const tra_csv_dialect *d = &m->form->dialect;
    tra_csv_cells cells = {0};
    tra_csv_fault fault = TRA_CSV_FINE;
    bool header = m->form->header && tra_csv_record(d, text, &p, end, &cells, &fault);
    m->width = header ? cells.n : m->form->columns;
    if (m->rules.pad_short) m->width = tra_max64(m->width, m->form->columns);
    const tra_csv_cell *last = cells.n ? &cells.v[cells.n - 1] : NULL; /* "a,b," before rows of two cells */
    if (header && m->width == m->form->columns + 1 && last->n == 0 && !last->quoted) m->width--;
    if (m->width > MOST_COLUMNS) {
        free(cells.v);
        return tra_fail(e, TRA_INPUT, "%s has %" PRId64 " columns; a table has at most %d", m->spec, m->width,
                        MOST_COLUMNS);
    }
    *names = tra_news(m->arena, const char *, m->width + 1);
    char *buf = header ? tra_malloc(2 * (size_t)(p - text) + 8) : NULL,
         *plain = header ? tra_malloc((size_t)(p - text) + 8) : NULL;
    tra_status s = fault ? tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": %s, in the header", m->spec,
                                    m->form->lines + 1, tra_csv_fault_text(fault))
                         : TRA_OK;
    for (int64_t i = 0; i < m->width && s == TRA_OK; i++) {
        size_t k = 0;
        const char *name = "";
        if (header && i < cells.n) {
            const tra_csv_cell *x = &cells.v[i];
            k = x->marked ? tra_csv_text(d, text, x, plain) : x->n;
            const char *from = x->marked ? plain : text + x->at;
            while (k > 0 && (*from == ' ' || *from == '\t')) from++, k--;
            while (k > 0 && (from[k - 1] == ' ' || from[k - 1] == '\t')) k--;
            if (m->rules.latin1)
                k = tra_latin1(from, k, buf);
            else if (k)
                memcpy(buf, from, k);
            if (!tra_is_utf8(buf, k) || memchr(buf, 0, k))
                s = tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": %s, in the header", m->spec,
                             m->form->lines + 1, i + 1,
                             tra_csv_fault_text(memchr(buf, 0, k) ? TRA_CSV_ZERO : TRA_CSV_ENCODING));
            if (k > 1000) s = tra_fail(e, TRA_INPUT, "%s: the name of column %" PRId64 " is too long", m->spec, i + 1);
            if (s == TRA_OK) s = must_be_name(m, i, buf, k, e);
            if (s == TRA_OK) name = tra_arena_strndup(m->arena, buf, k);
        }
        (*names)[i] = name;
        if (m->job->kind == TRA_CSV_MATRIX && header) { /* labels may be empty, or there twice */
            (void)add_name(set, name);
            continue;
        }
        if (!*name && m->numbers) name = tra_arena_printf(m->arena, "c%" PRId64, i);
        if (!*name) name = tra_arena_printf(m->arena, "column_%" PRId64, i + 1);
        for (int64_t twice = 2; s == TRA_OK && !add_name(set, name); twice++) {
            if (twice == 2) tra_warn_always("%s: two columns are called \"%s\"", m->spec, name);
            const char *again = tra_arena_printf(m->arena, "%s_%" PRId64, name, twice);
            if (find_name(set, again) < 0) name = again;
        }
        (*names)[i] = name;
    }
    free(buf);
    free(plain);
    free(cells.v);
    return s;
}

/* Names by the user. Where records may be longer or shorter, they say how many columns there are; so they do where
 * there is no record. */
static tra_status given_names(tra_csv_import *m, name_set *set, const char ***names, tra_err *e) {
    const char *at = m->job->given.names, *name;
    int64_t n = 0, width = m->width;
    if (!at) return TRA_OK;
    for (const char *p = at; next_of(m->arena, &p);) n++;
    if (width == 0 || (n < width && m->rules.drop_long) || (n > width && m->rules.pad_short)) width = n;
    if (n != width)
        return tra_fail(e, TRA_USAGE, "--names: %" PRId64 " names for %" PRId64 " columns of %s%s", n, width, m->spec,
                        n < width ? " (--drop-long leaves the others out)" : " (--pad-short adds columns of NULL)");
    m->width = width;
    *names = tra_news(m->arena, const char *, width + 1);
    tra_string_set_clear(&set->words);
    for (int64_t i = 0; (name = next_of(m->arena, &at)); i++) {
        if (!*name || !add_name(set, name))
            return tra_fail(e, TRA_USAGE, "--names: the names of columns must differ, and none be empty: \"%s\"", name);
        (*names)[i] = name;
    }
    return TRA_OK;
}

/* A column by its name or its number from 1. */
static tra_status column_of(const tra_csv_import *m, const name_set *set, const char *option, const char *text,
                            int64_t *column, tra_err *e) {
    *column = find_name(set, text);
    if (*column >= 0) return TRA_OK;
    if (tra_parse_int(text, column) && *column >= 1 && *column <= m->width) return --*column, TRA_OK;
    return tra_fail(e, TRA_USAGE, "%s: %s has no column \"%s\"", option, m->spec, text);
}

static tra_status choose(tra_csv_import *m, const name_set *set, const char *const *names, tra_err *e) {
    const char *at = m->job->given.columns, *name;
    int64_t n = 0, most = m->width, c;
    bool *taken = tra_news(m->arena, bool, m->width + 1);
    m->column = tra_news(m->arena, tra_csv_column, most + 1);
    for (; at && (name = next_of(m->arena, &at)); n++) {
        TRA_TRY(column_of(m, set, "--columns", name, &c, e));
        if (taken[c]) return tra_fail(e, TRA_USAGE, "--columns: \"%s\" is named twice", names[c]);
        taken[c] = true;
        m->column[n] = (tra_csv_column){.name = names[c], .source = c};
    }
    for (; !m->job->given.columns && n < m->width; n++) m->column[n] = (tra_csv_column){.name = names[n], .source = n};
    m->ncolumns = (int)n;
    return TRA_OK;
}

static tra_status give_types(tra_csv_import *m, const name_set *set, tra_err *e) {
    for (int i = 0; i < m->job->given.types.n; i++) {
        const char *at = m->job->given.types.v[i], *one;
        while ((one = next_of(m->arena, &at))) {
            const char *equals = strrchr(one, '=');
            int64_t c;
            tra_coltype t;
            if (!equals || !tra_coltype_parse(equals + 1, &t))
                return tra_fail(e, TRA_USAGE, "--types %s: it is NAME=TYPE,... with a type of %s", one,
                                tra_coltype_choices());
            TRA_TRY(column_of(m, set, "--types", tra_arena_strndup(m->arena, one, (size_t)(equals - one)), &c, e));
            for (int k = 0; k < m->ncolumns; k++)
                if (m->column[k].source == c) m->column[k].given = true, m->column[k].type = t;
        }
    }
    return TRA_OK;
}

tra_status tra_csv_choose_columns(tra_csv_import *m, tra_err *e) {
    name_set set = {0};
    const char **names = NULL;
    tra_status s = read_names(m, &set, &names, e);
    if (s == TRA_OK) s = given_names(m, &set, &names, e);
    if (s == TRA_OK) s = choose(m, &set, names, e);
    if (s == TRA_OK) s = give_types(m, &set, e);
    tra_string_set_free(&set.words);
    return s;
}

/* apart: what stands before it must end with _, as what joins put before names mostly does. */
static bool ends(const char *word, const char *name, bool apart) {
    size_t n = strlen(word), k = strlen(name);
    return n >= k && memcmp(word + n - k, name, k) == 0 && (n == k || !apart || word[n - k - 1] == '_');
}

static bool is_wanted(const tra_table_job *job, const char *name) {
    for (int i = 0; i < job->given.wanted.n; i++)
        if (ends(job->given.wanted.v[i], name, false)) return true;
    return false;
}

static bool has_column(const tra_csv_import *m, const char *word) {
    for (int c = 0; c < m->ncolumns; c++)
        if (ends(word, m->column[c].name, true)) return true;
    return false;
}

void tra_csv_leave_out(tra_csv_import *m) {
    int n = 0, nleft = 0;
    if (m->job->given.wanted.n == 0) return;
    for (int i = 0; i < m->job->given.must.n; i++)
        if (!has_column(m, m->job->given.must.v[i])) return;
    tra_csv_column *left = tra_news(m->arena, tra_csv_column, m->ncolumns + 1);
    for (int c = 0; c < m->ncolumns; c++) {
        bool wanted = m->column[c].given || is_wanted(m->job, m->column[c].name);
        *(wanted ? &m->column[n++] : &left[nleft++]) = m->column[c];
    }
    m->left = nleft ? tra_csv_listed(m->arena, left, nleft) : NULL;
    m->ncolumns = n > 0 ? n : (int)tra_min64(m->ncolumns, 1);
}
