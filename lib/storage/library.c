/* library.c - the storages that are known by name: the text of share/storage, which the Makefile puts into the program.
 */
#include "library.h"
#include "storage_int.h"

#include <stdlib.h>
#include <string.h>

/* The statements of a file, one after the other. NULL after the last one. */
static const tra_storage_decl *next_statement(const char *text, int *at, tra_arena *a, tra_calc_error *err) {
    int n = (int)strlen(text);
    calc_parser p;
    calc_start(&p, text, n, *at, a, err);
    if (p.tok.kind == CALC_T_EOF) return NULL;
    return tra_storage_parse(text, n, p.tok.at, a, at, err);
}

tra_status tra_storage_find(const char *name, int rank, int nargs, const int64_t *args, bool whole, tra_arena *a,
                            tra_storage **out, tra_err *e) {
    const tra_library_file *f = tra_library_files;
    *out = NULL;
    while (f->name && strcmp(f->name, name) != 0) f++;
    if (!f->name) return TRA_OK;
    const tra_storage_decl *d, *best = NULL;
    tra_calc_error err;
    for (int at = 0; (d = next_statement(f->text, &at, a, &err));)
        if (!best || best->ndims != rank) best = d;
    if (!best) return tra_fail(e, TRA_INTERNAL, "storage %s of the library: %s", name, err.msg);
    return tra_storage_make(best, rank, nargs, args, whole, a, out, e);
}

const char *const *tra_storage_names(void) {
    static const char *names[64];
    if (!names[0])
        for (int i = 0; i < 63 && tra_library_files[i].name; i++) names[i] = tra_library_files[i].name;
    return names;
}
