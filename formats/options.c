/* options.c - the options of formats, and what is common to all of them. */
#include "reading.h"

#include <string.h>

#define AT(field) offsetof(tra_reading, field)
#define TO(field) offsetof(tra_writing, field)
#define YES       TRA_OPTION_YES
#define TEXT      TRA_OPTION_TEXT
#define LIST      TRA_OPTION_LIST

const tra_option tra_option_block = {"block",
                                     TEXT,
                                     AT(block),
                                     "EXTENTS",
                                     "extents of a block, as in 1000x1000 (default: chosen from the shape)",
                                     .also = "components"};
const tra_option tra_option_dtype = {
    "dtype",
    TEXT,
    AT(dtype),
    "f64|f32|i64|i32|bool",
    "element type (default: the narrowest that holds the file's; csv and mtx: f64; raw: required)",
    .only = "matrices",
    .also = "components"};
const tra_option tra_option_storage = {
    "storage",
    TEXT,
    AT(storage),
    "NAME",
    "how blocks are stored: auto, dense, csr, ... or FILE.tra:NAME (default: auto, by the density of coordinates)",
    .only = "matrices",
    .also = "components"};
const tra_option tra_option_component = {
    "component",
    LIST,
    AT(components),
    "NAME=FILE.npy|NUMBER",
    "a component of the storage (repeat it); those that are not given are filled from FILE",
    .only = "matrices",
    .also = "components"};
const tra_option tra_option_shape = {"shape",
                                     TEXT,
                                     AT(shape),
                                     "EXTENTS",
                                     "shape of the tensor, as in 1000x2000 (tns and edges: if the file has no header)",
                                     .only = "matrices",
                                     .also = "components"};
const tra_option tra_option_endian = {
    "endian", TEXT, AT(endian), "ORDER", "byte order, little or big (default: little)", "little|big", "matrices", NULL};
const tra_option tra_option_order = {
    "order", TEXT,       AT(order), "C|F", "C, last dimension fastest, or F, first fastest (default: C)",
    "C|F",   "matrices", NULL};
const tra_option tra_option_base = {
    "base", TEXT, AT(base), "0|1", "the first index (default: 0 for edges, else 1)", .only = "matrices"};
const tra_option tra_option_duplicates = {
    "duplicates",
    TEXT,
    AT(duplicates),
    "WHAT",
    "of an element that is given more than once the sum, or an error (default: sum)",
    "sum|error",
    "matrices",
    NULL};
const tra_option tra_option_drop_zeros = {"drop-zeros",      YES, AT(drop_zeros), NULL, "leave entries of value 0 out",
                                          .only = "matrices"};

static const tra_option csv[] = {
    {"delimiter", TEXT, AT(delimiter), "CHAR", "between cells (default: found out)", NULL, NULL, NULL},
    {"header", YES, AT(header), NULL, "the first row is a header", NULL, NULL, NULL},
    {"no-header", YES, AT(no_header), NULL, "the first row is data", NULL, NULL, NULL},
    {"empty-nan", YES, AT(empty_nan), NULL, "an empty cell is NaN and not an error", NULL, "matrices", NULL},
    {"table", YES, AT(table), NULL,
     "typed columns (default: where there is a header line, or a cell that is no number)", NULL, NULL, NULL},
    {"matrix", YES, AT(matrix), NULL,
     "a tensor of numbers (default: where there is no header line, and all cells are numbers)", NULL, NULL, NULL},
    {"vector", YES, AT(vector), NULL, "the one column is a tensor of rank 1", NULL, "matrices", NULL},
    {"types", LIST, AT(types), "NAME=TYPE,...",
     "types of columns: bool, i32, i64, f32, f64, date, timestamp, string or text", NULL, "tables", NULL},
    {"names", TEXT, AT(names), "NAME,...", "names of all columns", NULL, NULL, NULL},
    {"columns", TEXT, AT(columns), "NAME,...", "the columns that are wanted, by name or number", NULL, NULL, NULL},
    {"skip", TEXT, AT(skip), "N", "lines before the header to leave out", NULL, NULL, NULL},
    {"null", TEXT, AT(null), "WORD,...", "what stands for NULL, besides nothing at all", NULL, NULL, NULL},
    {"date-format", TEXT, AT(date_format), "FORMAT", "how dates are written, as in %d/%m/%Y", NULL, "tables", NULL},
    {"timestamp-format", TEXT, AT(timestamp_format), "FORMAT", "how timestamps are written, as in '%m/%d/%Y %H:%M'",
     NULL, "tables", NULL},
    {"decimal", TEXT, AT(decimal), "CHAR", "the decimal sign (default: a point)", NULL, NULL, NULL},
    {"thousands", TEXT, AT(thousands), "CHAR", "what stands between thousands (default: nothing)", NULL, NULL, NULL},
    {"quote", TEXT, AT(quote), "CHAR", "around cells, or none (default: found out)", NULL, NULL, NULL},
    {"escape", TEXT, AT(escape), "CHAR", "before a quote in quotes, or none (default: found out)", NULL, NULL, NULL},
    {"comment", TEXT, AT(comment), "CHAR", "lines that begin with it are left out, or none", NULL, NULL, NULL},
    {"encoding", TEXT, AT(encoding), "NAME", "utf-8 or latin1 (default: utf-8)", "utf-8|latin1", NULL, NULL},
    {"rejects", TEXT, AT(rejects), "FILE",
     "write records that are at fault to this file, and go on (default: stop at the first)", NULL, "tables", NULL},
    {"rejects-limit", TEXT, AT(rejects_limit), "N", "stop at more than so many rejects", NULL, "tables", NULL},
    {"pad-short", YES, AT(pad_short), NULL, "cells that a record lacks are NULL", NULL, NULL, NULL},
    {"drop-long", YES, AT(drop_long), NULL, "leave out the cells that a record has too many", NULL, NULL, NULL},
    {"strict", YES, AT(strict), NULL, "a quote inside an unquoted cell is an error", NULL, NULL, NULL},
    {"lenient", YES, AT(lenient), NULL, "text after a closing quote belongs to the cell", NULL, NULL, NULL},
};
#define FIVE(i) &csv[i], &csv[i + 1], &csv[i + 2], &csv[i + 3], &csv[i + 4]
const tra_option *const tra_options_csv[] = {TRA_READS_COMMON, FIVE(0),  FIVE(5),  FIVE(10),
                                             FIVE(15),         FIVE(20), &csv[25], NULL};
_Static_assert(sizeof csv / sizeof *csv == 26, "tra_options_csv names each once");

const tra_option tra_option_to_delimiter = {
    "delimiter", TEXT, TO(delimiter), "CHAR", "between cells (default: comma, tab for .tsv)", NULL, NULL, NULL};
const tra_option tra_option_coordinate = {
    "coordinate", YES, TO(coordinate), NULL, "only the elements that are not zero", NULL, NULL, NULL};
const tra_option tra_option_gzip = {"gzip",
                                    TRA_OPTION_OPTIONAL,
                                    TO(gzip),
                                    "LEVEL",
                                    "compress with gzip, level 1 to 9 (default: 4); without it nothing is",
                                    NULL,
                                    NULL,
                                    NULL};

/* ---- looking up ------------------------------------------------------------------------------------------------ */

static const tra_option *const *of_format(const tra_format *f, bool reading) {
    static const tra_option *const none[] = {NULL};
    const tra_option *const *v = reading ? f->reads : f->writes;
    return v ? v : none;
}

static bool has(const tra_format *f, bool reading, const tra_option *o) {
    const tra_option *const *v = of_format(f, reading);
    while (*v && *v != o) v++;
    return *v != NULL;
}

const tra_option *tra_option_at(bool reading, int i) {
    for (const tra_format *const *f = tra_formats; *f; f++)
        for (const tra_option *const *o = of_format(*f, reading); *o; o++) {
            bool before = false;
            for (const tra_format *const *g = tra_formats; g < f; g++) before |= has(*g, reading, *o);
            if (!before && i-- == 0) return *o;
        }
    return NULL;
}

const char *tra_option_formats(const tra_option *o, bool reading, char to[128]) {
    bool all = true;
    *to = 0;
    for (const tra_format *const *f = tra_formats; *f; f++) {
        all &= has(*f, reading, o);
        if (has(*f, reading, o)) snprintf(to + strlen(to), 128 - strlen(to), "%s%s", *to ? ", " : "", (*f)->name);
    }
    if (all) return *to = 0, to;
    if (o->also) snprintf(to + strlen(to), 128 - strlen(to), ", %s", o->also);
    return to;
}

bool tra_option_is_for(const tra_option *o, bool reading, const char *format) {
    const tra_format *f = tra_format_find(format);
    return f ? has(f, reading, o) : o->also && strcmp(o->also, format) == 0;
}

bool tra_option_given(const tra_option *o, const void *values) {
    const char *at = (const char *)values + o->at;
    if (o->kind == YES) return *(const bool *)at;
    return o->kind == LIST ? ((const tra_strlist *)at)->n > 0 : *(const char *const *)at != NULL;
}

void tra_options_warn(const void *values, bool reading, const char *format, const char *file) {
    const tra_option *o;
    char list[128];
    for (int i = 0; (o = tra_option_at(reading, i)); i++)
        if (tra_option_given(o, values) && !tra_option_is_for(o, reading, format))
            tra_warn("--%s is for %s and does nothing here: %s is %s", o->name, tra_option_formats(o, reading, list),
                     file, format);
}

static bool is_choice(const char *choices, const char *text) {
    size_t n = strlen(text);
    for (const char *p = choices; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, text, n) == 0 && (p[n] == '|' || !p[n])) return true;
    }
    return false;
}

tra_status tra_option_set(const tra_option *o, void *values, const char *as, const char *text, tra_err *e) {
    char *at = (char *)values + o->at;
    if (o->choices && !is_choice(o->choices, text))
        return tra_fail(e, TRA_USAGE, "%s: '%s' is none of %s", as, text, o->choices);
    if (o->kind == YES) {
        if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            return tra_fail(e, TRA_USAGE, "%s: '%s' is neither yes nor no", as, text);
        *(bool *)at = strcmp(text, "yes") == 0;
        if (o->at == AT(header) && o == &csv[1]) ((tra_reading *)values)->no_header = !*(bool *)at;
        return TRA_OK;
    }
    if (o->kind != LIST) return *(const char **)at = text, TRA_OK;
    tra_strlist *l = (tra_strlist *)(void *)at;
    l->v = tra_realloc(l->v, (size_t)l->n + 1, sizeof *l->v);
    l->v[l->n++] = text;
    return TRA_OK;
}

void tra_option_copy(const tra_option *o, const tra_reading *from, tra_reading *to) {
    static const size_t sizes[] = {[YES] = sizeof(bool),
                                   [TEXT] = sizeof(char *),
                                   [TRA_OPTION_OPTIONAL] = sizeof(char *),
                                   [LIST] = sizeof(tra_strlist)};
    if (tra_option_given(o, from)) memcpy((char *)to + o->at, (const char *)from + o->at, sizes[o->kind]);
}

void tra_reading_text(const tra_reading *r, tra_str *out) {
    const tra_option *o;
    for (int i = 0; (o = tra_option_at(true, i)); i++) {
        const char *at = (const char *)r + o->at;
        if (!tra_option_given(o, r)) continue;
        tra_str_printf(out, " %s=", o->name);
        if (o->kind == LIST)
            for (int k = 0; k < ((const tra_strlist *)at)->n; k++)
                tra_str_printf(out, "%s,", ((const tra_strlist *)at)->v[k]);
        else
            tra_str_add(out, o->kind == YES ? "yes" : *(const char *const *)at);
    }
}

tra_status tra_sink_options_of(const tra_writing *w, tra_sink_options *to, tra_err *e) {
    int64_t level = 4;
    *to = (tra_sink_options){.coordinate = w->coordinate};
    if (w->gzip && *w->gzip && (!tra_parse_int(w->gzip, &level) || level < 1 || level > 9))
        return tra_fail(e, TRA_USAGE, "--gzip=%s: a level of 1 to 9 is expected", w->gzip);
    to->gzip = w->gzip ? (int)level : 0;
    return tra_csv_delimiter(w->delimiter, &to->delimiter, e);
}
