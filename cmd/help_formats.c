/* help_formats.c - tra help formats: what the table of formats says. */
#include "../formats/formats.h"
#include "help.h"

tra_status tra_help_formats(tra_err *e) {
    tra_str s = {0};
    for (const tra_format *const *f = tra_formats; *f; f++)
        tra_str_printf(&s, "%-10s %s%s%s\n    %s\n", (*f)->name, (*f)->suffixes ? (*f)->suffixes : "",
                       (*f)->suffixes && *(*f)->suffixes ? "; " : "", (*f)->tables ? "tables and tensors" : "tensors",
                       (*f)->says);
    tra_str_add(&s,
                "\nEach is read and written: by its suffix, or with its name before the file, as in mtx:graph.txt.\n"
                "'tra help import' lists the options of reading, 'tra help export' those of writing.\n");
    return tra_print_str(&s, e);
}
