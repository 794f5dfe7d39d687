/* storage.c - storages that statements name, of the program or of the library, and how relations are stored by them. */
#include "build.h"

#include <string.h>

/* The second argument of store(X, NAME(args)). */
static bool storage_use_of(tra_build *b, const tra_ast *x, tra_storage_use *use) {
    if (x->kind != TRA_AST_NAME && x->kind != TRA_AST_CALL)
        return tra_diag_error(b->d, x->span, "write store(X, csr), store(X, band(5))",
                              "the name of a storage is expected here");
    *use = (tra_storage_use){x->text, x->span, x->name_span, x->nkids, x->kids};
    return true;
}

/* The diagnostic for a name that no storage has. */
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

/* The storage that a statement names, for arrays of this rank, of integers (whole) or floats: one of the program, else
 * of the library. NULL after a diagnostic. */
static const tra_storage *storage_named(tra_build *b, const tra_storage_use *use, int rank, bool whole) {
    int64_t args[TRA_CALC_MAXRANK] = {0};
    int at = tra_names_find(&b->symbols, use->name);
    tra_symbol *s = at >= 0 ? b->symbols.value[at] : NULL;
    tra_storage *out = NULL;
    tra_err e = {0};
    if (use->nargs > TRA_CALC_MAXRANK)
        return tra_diag_error(b->d, use->span, NULL, "a storage has at most %d arguments", TRA_CALC_MAXRANK);
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
    TRA_ARENA_DOUBLE(b->arena, g->storages, g->nstorages);
    g->storages[g->nstorages++] = st->storage;
}

/* ---- how relations are stored ----------------------------------------------------------------------------------- */

/* The storage with its arguments, as statements name it. */
static const char *text_of(tra_build *b, const tra_storage_use *use, const tra_storage *s) {
    const char *text = use->name;
    for (int i = 0; i < s->nargs; i++)
        text = tra_arena_printf(b->arena, "%s%s%" PRId64, text, i ? ", " : "(", s->args[i]);
    return s->nargs ? tra_arena_printf(b->arena, "%s)", text) : text;
}

/* The levels of a storage, as files have them; NULL for a storage that is no levels, or of which files do not hold all
 * levels. */
static const tra_levels *levels_of(tra_build *b, const tra_storage *s) {
    tra_levels *l = tra_new(b->arena, tra_levels);
    return tra_levels_of_storage(s, l) ? l : NULL;
}

static bool is_whole(const tra_type *t) { return tra_dtype_rows[t->dtype].class != TRA_CLASS_FLOAT; }

/* Sets out->mapping to a storage that is no levels; false, after a diagnostic, unless its positions follow from
 * coordinates and sizes alone. */
static bool find_mapping(tra_build *b, const tra_storage_use *use, const tra_storage *s, const tra_type *t,
                         tra_storage_choice *out) {
    tra_mapping_use *m = tra_new(b->arena, tra_mapping_use);
    tra_err e = {0};
    *m = (tra_mapping_use){.storage = s, .name = out->name};
    if (tra_mapping_holds(s, t, &e) != TRA_OK || tra_mapping_measure(t, m, &e) != TRA_OK)
        return tra_diag_error(b->d, use->span,
                              "results are stored by levels that are dense, sparse or singleton, or by a mapping whose "
                              "positions follow from coordinates and sizes alone",
                              "a result cannot be stored as %s: %s", out->name, e.msg);
    out->mapping = m;
    out->sparse = !tra_mapping_is_total(s, t);
    return true;
}

bool tra_build_stored(tra_build *b, const tra_storage_use *use, const tra_type *t, tra_storage_choice *out) {
    const tra_storage *s = storage_named(b, use, t->cat->bound.n, is_whole(t));
    if (!s) return false;
    *out = (tra_storage_choice){.said = true, .name = text_of(b, use, s)};
    if (tra_storage_is_dense(s)) return true;
    const tra_levels *l = levels_of(b, s);
    out->levels = l && !tra_levels_dense(l) ? l : NULL;
    out->sparse = out->levels;
    return out->levels || find_mapping(b, use, s, t, out);
}

void tra_build_declared(tra_build *b, const tra_stmt *st, tra_type *t, tra_storage_choice *out) {
    int64_t elements = tra_catalog_elements(t->cat), entries = elements;
    bool ok = !st->nnz || tra_build_int(b, st->nnz, "a number of entries", 0, &entries);
    if (ok && entries > elements) {
        tra_diag_error(b->d, st->nnz->span, NULL, "%" PRId64 " entries in a tensor of %" PRId64 " elements", entries,
                       elements);
        ok = false;
    }
    const tra_storage *s = ok && st->as.name ? storage_named(b, &st->as, t->cat->bound.n, is_whole(t)) : NULL;
    if (ok && st->nnz && !st->as.name)
        tra_diag_error(b->d, st->nnz->span, "write as csr nnz N", "nnz is of an input that is stored by its entries");
    if (!s) return;
    *out = (tra_storage_choice){.said = true, .name = text_of(b, &st->as, s), .levels = levels_of(b, s)};
    tra_storage_block block = {.extent = t->cat->bound.v};
    block.component = tra_news(b->arena, tra_component_data, s->ncomponents);
    t->sparse = !tra_storage_is_total(s, &block);
    if (!t->sparse) return;
    /* which tuples the entries are in is not known; without nnz nor is their number, which is guessed to be small */
    double expected = st->nnz ? (double)entries : (double)elements * TRA_SPARSE_BELOW / 2;
    t->entries = tra_entries_about(b->arena, t, expected, entries, INT64_MAX);
    t->layout = tra_type_best_layout(t);
}

/* Have the blocks more than twice as many rows as entries, so that the pointers of csr would take the most room? */
static bool has_empty_rows(const tra_type *t) {
    enum { MANY = 1 << 17 };
    double along = 1;
    for (int k = 0; k < t->cat->frontier.n; k++)
        if (t->cut[0] >> k & 1) along *= (double)t->cat->frontier.v[k];
    double rows = (double)t->cat->bound.v[0] * (double)t->cat->n / (along > 1 ? along : 1);
    return rows > MANY && rows > 2 * (double)tra_type_entries(t).expected;
}

tra_storage_choice tra_storage_default(tra_arena *a, const tra_type *t) {
    double elements = (double)tra_catalog_elements(t->cat);
    int rank = t->cat->bound.n;
    if (!t->sparse || rank == 0 || (double)tra_type_entries(t).expected >= TRA_SPARSE_BELOW * elements)
        return (tra_storage_choice){.name = "dense"};
    tra_levels *l = tra_new(a, tra_levels);
    bool csr = rank == 2 && !has_empty_rows(t);
    l->n = rank;
    for (int i = 0; i < rank; i++) {
        l->order[i] = (int8_t)i;
        l->kind[i] = csr && i == 0 ? TRA_LEVEL_DENSE : TRA_LEVEL_SPARSE;
    }
    const char *name = csr ? "csr" : rank == 2 ? "dcsr" : "csf";
    return (tra_storage_choice){.name = name, .levels = l, .sparse = true};
}

tra_node *tra_build_as(tra_build *b, tra_node *n, const tra_storage_choice *as, tra_span span) {
    if (n->type.sparse == as->sparse) return n;
    tra_node fields = {.in = {n}, .converts = true};
    fields.kernel = tra_build_kernel_named(b, span, as->sparse ? "sparsify" : "densify", TRA_USE_MAP, 0, 0);
    if (!fields.kernel) return NULL;
    return tra_build_made(b, TRA_OP_TRANSFORM, span, &fields);
}

tra_node *tra_build_store(tra_build *b, tra_node *x, const tra_ast *name, tra_storage_choice *out) {
    tra_storage_use use;
    if (!storage_use_of(b, name, &use) || !tra_build_stored(b, &use, &x->type, out)) return NULL;
    return tra_build_as(b, x, out, name->span);
}
