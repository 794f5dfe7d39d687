/* pattern.c - the files that a pattern stands for. */
#include "pattern.h"

#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tra_status tra_pattern_files(const char *path, tra_arena *a, tra_pattern *out, tra_err *e) {
    struct stat st;
    glob_t g;
    *out = (tra_pattern){0};
    if (!strpbrk(path, "*?[") || lstat(path, &st) == 0) return TRA_OK;
    int found = glob(path, 0, NULL, &g);
    if (found == GLOB_NOMATCH) return tra_fail(e, TRA_INPUT, "no file matches the pattern %s", path);
    if (found != 0) return tra_fail_errno(e, TRA_INPUT, "%s: cannot read a directory", path);
    out->n = (int)g.gl_pathc;
    out->path = tra_news(a, const char *, g.gl_pathc + 1);
    for (int i = 0; i < out->n; i++) out->path[i] = tra_arena_strndup(a, g.gl_pathv[i], strlen(g.gl_pathv[i]));
    globfree(&g);
    return TRA_OK;
}

/* ---- which files ------------------------------------------------------------------------------------------------ */

static const tra_format *format_of(const tra_file_spec *at, const char *path) {
    const tra_format *f = at->format;
    if (!f && tra_spec_is_hdf5(path)) f = tra_format_find("h5");
    if (!f) f = tra_format_by_suffix(path);
    return f ? f : tra_spec_sniff(path);
}

tra_status tra_pattern_check(tra_file_spec *at, tra_pattern *files, tra_err *e) {
    const tra_format *first = format_of(at, files->path[0]), *csv = tra_format_find("csv");
    for (int i = 0; i < files->n; i++) {
        const tra_format *f = format_of(at, files->path[i]);
        if (!f || (f != csv && !f->opens_itself) || f->typeless)
            return tra_fail(e, TRA_INPUT,
                            "%s: a pattern of several files is the union of tables (CSV, or HDF5 with a table), and %s "
                            "is %s%s: read each by itself, and put tensors together with stack(A, B, 0)",
                            at->path, files->path[i], f ? f->name : "neither", f ? ", which holds a tensor" : "");
        if (f->opens_itself != first->opens_itself)
            return tra_fail(e, TRA_INPUT, "%s: files of a pattern have one format, and %s is %s, %s is %s", at->path,
                            files->path[0], first->name, files->path[i], f->name);
    }
    files->tables = first != csv;
    if (!files->tables) at->format = csv;
    return TRA_OK;
}

/* ---- tables of HDF5 files --------------------------------------------------------------------------------------- */

/* The type that holds the values of both; false: there is none but text. */
static bool common_type(tra_coltype a, tra_coltype b, tra_coltype *to) {
    bool numbers = (tra_coltype_is_float(a) || tra_coltype_is_integer(a)) &&
                   (tra_coltype_is_float(b) || tra_coltype_is_integer(b));
    bool days = (a == TRA_COL_DATE || a == TRA_COL_TIMESTAMP) && (b == TRA_COL_DATE || b == TRA_COL_TIMESTAMP);
    bool texts = tra_coltype_is_coded(a) && tra_coltype_is_coded(b);
    *to = a;
    if (a == b) return true;
    if (numbers) *to = tra_coltype_is_integer(a) && tra_coltype_is_integer(b) ? TRA_COL_I64 : TRA_COL_F64;
    if (days) *to = TRA_COL_TIMESTAMP;
    if (texts) *to = TRA_COL_TEXT;
    return numbers || days || texts;
}

/* A column of `in` that `of` lacks; NULL: there is none. */
static const char *lacks(const tra_schema *of, const tra_schema *in) {
    for (int c = 0; c < in->n; c++)
        if (tra_schema_find(of, in->v[c].name) < 0) return in->v[c].name;
    return NULL;
}

static tra_status widen(const tra_schema *s, const char *path, const tra_schema *first, const char *first_path,
                        tra_coltype *types, tra_err *e) {
    const char *less = lacks(s, first), *more = lacks(first, s);
    if (less || more)
        return tra_fail(e, TRA_INPUT,
                        "%s has a column \"%s\", which %s lacks: files of a pattern have the same columns",
                        less ? first_path : path, less ? less : more, less ? path : first_path);
    for (int c = 0; c < first->n; c++) {
        const tra_column *x = &s->v[tra_schema_find(s, first->v[c].name)];
        if (!common_type(types[c], x->type, &types[c]))
            return tra_fail(e, TRA_INPUT,
                            "column \"%s\" of %s is %s, and %s in the files before it: files of a pattern have columns "
                            "of one kind",
                            x->name, path, tra_coltype_name(x->type), tra_coltype_name(types[c]));
    }
    return TRA_OK;
}

static void put_name(tra_str *s, const char *name) {
    tra_str_add(s, "\"");
    for (; *name; name++) tra_str_printf(s, "%s%c", *name == '"' ? "\"" : "", *name);
    tra_str_add(s, "\"");
}

/* "name"=type,... as --types takes it. */
static void put_types(const tra_schema *s, const tra_coltype *types, tra_arena *a, tra_reading *how) {
    tra_str text = {0};
    const char **v = tra_news(a, const char *, 1);
    for (int c = 0; c < s->n; c++) {
        tra_str_add(&text, c ? "," : "");
        put_name(&text, s->v[c].name);
        tra_str_printf(&text, "=%s", tra_coltype_name(types[c]));
    }
    v[0] = tra_arena_take(a, &text);
    how->types = (tra_strlist){.n = 1, .v = v};
    how->header = true;
    how->table = true;
}

static tra_status export_one(const char *spec, const char *to, int64_t memory, tra_err *e) {
    tra_export_job job = {.from = spec, .to = to, .format = tra_format_find("csv"), .memory = memory};
    tra_export_receipt r;
    tra_cleanup_add(to);
    return tra_export(&job, &r, e);
}

tra_status tra_pattern_export(const tra_file_spec *at, tra_pattern *files, const char *to, int64_t memory, tra_arena *a,
                              tra_reading *how, tra_err *e) {
    tra_rel *first = NULL, *rel = NULL;
    tra_coltype *types = NULL;
    tra_status s = TRA_OK;
    const char **made = tra_news(a, const char *, files->n);
    int n = 0;
    for (int i = 0; i < files->n && s == TRA_OK; i++) {
        const char *path = files->path[i];
        const char *spec = at->dataset ? tra_arena_printf(a, "%s:%s", path, at->dataset) : path;
        if ((s = tra_rel_open(spec, NULL, &rel, e)) != TRA_OK) break;
        const tra_schema *schema = tra_rel_type(rel)->columns;
        if (!schema) {
            s = tra_fail(e, TRA_INPUT,
                         "%s holds a tensor, and a pattern of several files is the union of tables: read each by "
                         "itself, and put tensors together with stack(A, B, 0)",
                         spec);
        } else if (!first) {
            first = rel;
            types = tra_news(a, tra_coltype, schema->n + 1);
            for (int c = 0; c < schema->n; c++) types[c] = schema->v[c].type;
        } else {
            s = widen(schema, spec, tra_rel_type(first)->columns, files->path[0], types, e);
        }
        made[n] = tra_arena_printf(a, "%s-%ld-%d.csv", to, (long)getpid(), n);
        if (s == TRA_OK) s = export_one(spec, made[n++], memory, e);
        if (rel != first) tra_rel_close(rel);
    }
    if (s == TRA_OK) put_types(tra_rel_type(first)->columns, types, a, how);
    if (first) tra_rel_close(first);
    files->path = made;
    files->n = n;
    if (s != TRA_OK) tra_pattern_remove(files);
    return s;
}

void tra_pattern_remove(const tra_pattern *files) {
    for (int i = 0; i < files->n; i++) {
        (void)unlink(files->path[i]);
        tra_cleanup_drop(files->path[i]);
    }
}
