/* format_options.c - the options of formats as rows of options, made from the table of formats. */
#include "format_options.h"

#include <string.h>

tra_reading tra_reading_opts;
tra_writing tra_writing_opts;

enum { MOST = 64 };

static const tra_opt_kind kinds[] = {[TRA_OPTION_YES] = TRA_OPT_FLAG,
                                     [TRA_OPTION_TEXT] = TRA_OPT_STR,
                                     [TRA_OPTION_OPTIONAL] = TRA_OPT_OPTSTR,
                                     [TRA_OPTION_LIST] = TRA_OPT_LIST};

static const tra_opt *rows_of(bool reading, void *values, tra_opt *rows) {
    const tra_option *o;
    if (rows->name) return rows;
    for (int i = 0; i < MOST - 1 && (o = tra_option_at(reading, i)); i++) {
        char list[128];
        tra_option_formats(o, reading, list);
        if (o->only && strcmp(o->only, "tables") == 0) snprintf(list, sizeof list, "tables");
        rows[i] = (tra_opt){.name = o->name,
                            .kind = kinds[o->kind],
                            .value = (char *)values + o->at,
                            .arg = o->arg,
                            .help = tra_asprintf("%s%s%s", list, *list ? ": " : "", o->help)};
    }
    return rows;
}

const tra_opt *tra_reading_rows(void) {
    static tra_opt rows[MOST];
    return rows_of(true, &tra_reading_opts, rows);
}

const tra_opt *tra_writing_rows(void) {
    static tra_opt rows[MOST];
    return rows_of(false, &tra_writing_opts, rows);
}
