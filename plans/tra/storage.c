/* storage.c - storages that statements name: those of the program, else those of the library. */
#include "storage.h"

#include <string.h>

bool tra_build_storage_use(tra_build *b, const tra_ast *x, tra_storage_use *use) {
    if (x->kind != TRA_AST_NAME && x->kind != TRA_AST_CALL) {
        tra_diag_error(b->d, x->span, "write store(X, csr), store(X, band(5))",
                       "the name of a storage is expected here");
        return false;
    }
    *use = (tra_storage_use){x->text, x->span, x->name_span, x->nkids, x->kids};
    return true;
}

static void unknown_storage(tra_build *b, const tra_storage_use *use) {
    const char *const *library = tra_storage_names();
    const char *names[256];
    int n = 0;
    for (int i = 0; library[i] && n < 128; i++) names[n++] = library[i];
    for (int i = 0; i < b->symbols.n && n < 256; i++) {
        const tra_symbol *s = b->symbols.value[i];
        if (s->stmt->kind == TRA_STMT_STORAGE) names[n++] = b->symbols.name[i];
    }
    const char *near = tra_nearest(use->name, n, names);
    tra_diag_error(b->d, use->name_span,
                   near ? tra_arena_printf(b->arena, "did you mean %s?", near)
                        : "tra-storage(5) lists those of the library; a storage statement declares one",
                   "there is no storage '%s'", use->name);
}

const tra_storage *tra_build_storage(tra_build *b, const tra_storage_use *use, int rank, bool whole) {
    int64_t args[TRA_CALC_MAXRANK] = {0};
    int at = tra_names_find(&b->symbols, use->name);
    tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    tra_storage *out = NULL;
    tra_err e = {0};
    if (use->nargs > TRA_CALC_MAXRANK) {
        tra_diag_error(b->d, use->span, NULL, "a storage has at most %d arguments", TRA_CALC_MAXRANK);
        return NULL;
    }
    for (int i = 0; i < use->nargs; i++)
        if (!tra_build_int(b, use->args[i], "an argument of a storage", INT64_MIN, &args[i])) return NULL;
    if (s && s->stmt->kind == TRA_STMT_STORAGE) {
        s->used = true;
        if (s->stmt->broken) return NULL;
        if (tra_storage_make(s->stmt->storage, rank, use->nargs, args, whole, b->arena, &out, &e) == TRA_OK) return out;
        tra_diag_error(b->d, use->span, NULL, "%s", e.msg);
        tra_diag_also(b->d, s->stmt->name_span, "declared here");
        return NULL;
    }
    if (tra_storage_find(use->name, rank, use->nargs, args, whole, b->arena, &out, &e) != TRA_OK)
        tra_diag_error(b->d, use->span, NULL, "%s", e.msg);
    else if (!out)
        unknown_storage(b, use);
    return out;
}

void tra_build_storage_statement(tra_build *b, const tra_stmt *st) {
    tra_graph *g = b->g;
    if ((g->nstorages & (g->nstorages - 1)) == 0) {
        const tra_storage_decl **v = tra_news(b->arena, const tra_storage_decl *, g->nstorages ? 2 * g->nstorages : 1);
        if (g->nstorages) memcpy(v, g->storages, (size_t)g->nstorages * sizeof *v);
        g->storages = v;
    }
    g->storages[g->nstorages++] = st->storage;
}

void tra_build_check_storage(tra_build *b, const tra_stmt *st, const tra_node *n) {
    if (!st->as.name || !n || !n->type.cat) return;
    bool whole = tra_dtype_rows[n->type.dtype].class != TRA_CLASS_FLOAT;
    tra_build_storage(b, &st->as, n->type.cat->bound.n, whole);
}
