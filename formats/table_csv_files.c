/* table_csv_files.c - the later files of a pattern: each has its own dialect, and the columns of the first by name. */
#include "table_csv_import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *tra_csv_listed(tra_arena *a, const tra_csv_column *v, int n) {
    tra_str s = {0};
    for (int i = 0; i < n && s.n < 200; i++) tra_str_printf(&s, "%s%s", i ? "," : "", v[i].name);
    if (s.n >= 200) tra_str_add(&s, ",...");
    return tra_arena_take(a, &s);
}

static const tra_csv_column *find(const tra_csv_column *v, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0) return &v[i];
    return NULL;
}

static tra_status other_columns(const tra_csv_import *m, const tra_csv_import *of, tra_err *e) {
    const char *name = NULL, *only = NULL;
    for (int i = 0; i < m->nall && !name; i++)
        if (!find(of->column, of->ncolumns, m->all[i].name)) name = m->all[i].name, only = m->first;
    for (int i = 0; i < of->ncolumns && !name; i++)
        if (!find(m->all, m->nall, of->column[i].name)) name = of->column[i].name, only = of->spec;
    return tra_fail(e, TRA_INPUT,
                    "the columns of %s are %s, those of %s are %s: files of a pattern have the same, and only %s has "
                    "\"%s\"",
                    of->spec, tra_csv_listed(m->arena, of->column, of->ncolumns), m->first,
                    tra_csv_listed(m->arena, m->all, m->nall), only, name);
}

/* Where the file has the columns that are wanted: by name, or, where it has no header, in the places of the first. */
static tra_status match(tra_csv_import *m, const tra_csv_import *of, tra_err *e) {
    bool by_name = of->form->header || of->job->given.names;
    if (!by_name && of->width != m->first_width)
        return tra_fail(e, TRA_INPUT,
                        "%s has %" PRId64 " columns and no header, %s has %" PRId64
                        ": files of a pattern have the same columns",
                        of->spec, of->width, m->first, m->first_width);
    if (by_name && of->ncolumns != m->nall) return other_columns(m, of, e);
    for (int i = 0; i < m->nall && by_name; i++)
        if (!find(of->column, of->ncolumns, m->all[i].name)) return other_columns(m, of, e);
    for (int c = 0; c < m->ncolumns; c++)
        m->column[c].source = find(by_name ? of->column : m->all, m->nall, m->column[c].name)->source;
    return TRA_OK;
}

void tra_csv_keep_columns(tra_csv_import *m) {
    m->first = m->spec;
    m->first_width = m->width;
    m->nall = m->ncolumns;
    m->all = tra_news(m->arena, tra_csv_column, m->ncolumns + 1);
    memcpy(m->all, m->column, (size_t)m->ncolumns * sizeof *m->all);
}

/* The file is read in place of the one before. */
static void take_over(tra_csv_import *m, tra_csv_import *of) {
    int64_t before = tra_csv_most_pieces(m->file), most = tra_csv_most_pieces(of->file);
    m->bytes_before += tra_csv_bytes(m->file);
    tra_csv_close(m->file);
    m->file = of->file;
    of->file = NULL;
    m->form = of->form;
    m->spec = of->spec;
    m->width = of->width;
    m->once = of->once;
    m->file_base = m->base;
    of->rules.keep = m->rules.keep;
    m->rules = of->rules;
    if (most <= before) return;
    for (int64_t i = 0; i < before; i++) free(m->rejects[i].v);
    m->rejects = tra_news(m->arena, tra_csv_rejects, most);
    m->at = tra_news(m->arena, const tra_csv_piece *, most);
}

/* Is the first record of a file that seems to have no header the header of the first one? */
static bool begins_with_header(const tra_csv_import *m, const tra_csv_import *of) {
    int64_t n;
    const char *text = tra_csv_head(of->file, &n), *p = text;
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    bool is = tra_csv_record(&of->form->dialect, text, &p, text + n, &cells, &fault) && cells.n == m->nall;
    for (int64_t i = 0; i < cells.n && is; i++) {
        char *name = tra_asprintf("%.*s", (int)cells.v[i].n, text + cells.v[i].at);
        is = find(m->all, m->nall, name) != NULL;
        free(name);
    }
    free(cells.v);
    return is;
}

tra_status tra_csv_next_file(tra_csv_import *m, const char *path, bool *any, tra_err *e) {
    tra_table_job text = *m->job;
    tra_source_options o = {.text = &text, .base = -1, .scratch = m->to, .memory = m->memory};
    tra_source *s = NULL;
    struct stat st;
    *any = stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > 0;
    if (!*any) return TRA_OK;
    text.kind = TRA_CSV_TABLE;
    text.given.more.n = 0;
    TRA_TRY(tra_source_open(path, tra_format_find("csv"), &o, &s, e));
    if (!s->table->form->header && m->form->header && text.header < 0 && begins_with_header(m, s->table)) {
        tra_source_close(s);
        text.header = 1;
        TRA_TRY(tra_source_open(path, tra_format_find("csv"), &o, &s, e));
    }
    tra_status status = tra_csv_choose_columns(s->table, e);
    if (status == TRA_OK) status = match(m, s->table, e);
    if (status == TRA_OK) take_over(m, s->table);
    tra_source_close(s);
    return status;
}
