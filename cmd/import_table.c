/* import_table.c - the receipt of tra import of a table. */
#include "import_table.h"

#include <string.h>

static const char *delimiter_name(char c, char buf[4]) {
    if (c == '\t') return "tab";
    if (c == ' ') return "space";
    snprintf(buf, 4, "%c", c);
    return buf;
}

static tra_status print_text(const char *source, const char *output, const tra_table_receipt *r, tra_err *e) {
    tra_str t = {0};
    char h[32], d[4];
    int widest = 0;
    for (int c = 0; c < r->columns; c++) {
        int n = (int)strlen(r->column[c].name);
        widest = n > widest && n <= 40 ? n : widest;
    }
    tra_str_printf(&t, "%s\n  from     %s (csv, %s", output, source, tra_human(r->bytes_in, h));
    tra_str_printf(&t, ", delimiter %s%s)\n", delimiter_name(r->delimiter, d), r->header ? ", header" : "");
    tra_str_printf(&t, "  rows     %" PRId64 "\n", r->rows);
    if (r->rejected > 0) tra_str_printf(&t, "  rejected %" PRId64 "\n", r->rejected);
    tra_str_printf(&t, "  blocks   %" PRId64 " of %" PRId64 " rows\n", r->blocks, r->block);
    tra_str_printf(&t, "  stored   %s (%" PRId64 " bytes)\n", tra_human(r->bytes_stored, h), r->bytes_stored);
    tra_str_printf(&t, "  columns  %d\n", r->columns);
    for (int c = 0; c < r->columns; c++) {
        if (c == 60 && r->columns > 64) {
            tra_str_printf(&t, "    ... (tra info lists all)\n");
            break;
        }
        char name[TRA_NAMETEXT];
        tra_printable_name(r->column[c].name, name);
        tra_str_printf(&t, "    %-*s  %s", widest, name, r->column[c].type);
        if (r->column[c].nulls > 0) tra_str_printf(&t, ", %" PRId64 " NULL", r->column[c].nulls);
        tra_str_add(&t, "\n");
    }
    return tra_print_str(&t, e);
}

static tra_status print_json(const char *source, const char *output, const tra_table_receipt *r, tra_err *e) {
    tra_json j = {0};
    char d[4];
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "output", output);
    tra_json_str(&j, "source", source);
    tra_json_str(&j, "format", "csv");
    tra_json_int(&j, "rows", r->rows);
    tra_json_int(&j, "rejected", r->rejected);
    tra_json_int(&j, "block", r->block);
    tra_json_int(&j, "blocks", r->blocks);
    tra_json_bool(&j, "header", r->header);
    tra_json_str(&j, "delimiter", delimiter_name(r->delimiter, d));
    tra_json_int(&j, "bytes_in", r->bytes_in);
    tra_json_int(&j, "bytes_stored", r->bytes_stored);
    tra_json_begin(&j, "columns", '[');
    for (int c = 0; c < r->columns; c++) {
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "name", r->column[c].name);
        tra_json_str(&j, "type", r->column[c].type);
        tra_json_int(&j, "nulls", r->column[c].nulls);
        tra_json_end(&j, '}');
    }
    tra_json_end(&j, ']');
    tra_json_end(&j, '}');
    return tra_print_json(&j, e);
}

tra_status tra_table_receipt_print(const char *source, const char *output, const tra_table_receipt *r, tra_err *e) {
    return tra_common_opts.format == TRA_FORMAT_JSON ? print_json(source, output, r, e)
                                                     : print_text(source, output, r, e);
}
