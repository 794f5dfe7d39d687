/* stored.c - storages by levels as text, and which datasets they are stored as. */
#include "stored_int.h"

#include "storage.h"

#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------------------------- */

static const char *const level_names[] = {
    [TRA_LEVEL_DENSE] = "dense", [TRA_LEVEL_SPARSE] = "sparse", [TRA_LEVEL_SINGLETON] = "singleton"};

bool tra_levels_of_storage(const tra_storage *s, tra_levels *out) {
    *out = (tra_levels){.n = s->rank};
    if (!s->by_levels) return false;
    for (int i = 0; i < s->rank; i++) {
        out->order[i] = (int8_t)s->order[i];
        switch (s->level[i]) {
        case TRA_CALC_LEVEL_DENSE: out->kind[i] = TRA_LEVEL_DENSE; break;
        case TRA_CALC_LEVEL_SPARSE: out->kind[i] = TRA_LEVEL_SPARSE; break;
        case TRA_CALC_LEVEL_SINGLETON: out->kind[i] = TRA_LEVEL_SINGLETON; break;
        case TRA_CALC_LEVEL_HASH: return false;
        }
    }
    return true;
}

/* Parses what follows the = of a storage statement. */
static tra_status parse(const char *text, int rank, tra_arena *a, tra_storage **out, tra_err *e) {
    tra_calc_error why = {0};
    int end = 0, n;
    tra_str statement = {0};
    tra_str_add(&statement, "storage it[");
    for (int i = 0; i < rank; i++) tra_str_printf(&statement, "%sn%d", i ? ", " : "", i);
    tra_str_printf(&statement, "] = %s", text);
    n = (int)statement.n;
    char *kept = tra_arena_take(a, &statement);
    const tra_storage_decl *d = tra_storage_parse(kept, n, 0, a, &end, &why);
    if (!d) return tra_fail(e, TRA_PROGRAM, "\"%.200s\" is no storage by levels: %s", text, why.msg);
    if (kept[end + (int)strspn(kept + end, " \t\r\n")])
        return tra_fail(e, TRA_PROGRAM, "\"%.200s\" is no storage by levels: something follows them", text);
    return tra_storage_make(d, rank, 0, NULL, false, a, out, e);
}

tra_status tra_levels_parse(const char *text, int rank, tra_levels *out, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_storage *storage = NULL;
    tra_status s = TRA_OK;
    if (rank < 1 || rank > TRA_MAXDIM || rank > TRA_CALC_MAXRANK)
        s = tra_fail(e, TRA_PROGRAM, "arrays of rank %d cannot be stored by levels", rank);
    if (s == TRA_OK) s = tra_storage_find(text, rank, 0, NULL, false, a, &storage, e);
    if (s == TRA_OK && !storage) s = parse(text, rank, a, &storage, e);
    if (s == TRA_OK && !tra_levels_of_storage(storage, out))
        s = tra_fail(e, TRA_PROGRAM, "\"%.200s\" is no storage by levels that are dense, sparse or singleton", text);
    tra_arena_free(a);
    return s;
}

bool tra_levels_eq(const tra_levels *a, const tra_levels *b) {
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) same = a->kind[i] == b->kind[i] && a->order[i] == b->order[i];
    return same;
}

bool tra_levels_in_order(const tra_levels *l) {
    for (int i = 0; i < l->n; i++)
        if (l->order[i] != i) return false;
    return true;
}

char *tra_levels_text(const tra_levels *l, char buf[TRA_LEVELTEXT]) {
    int n = snprintf(buf, TRA_LEVELTEXT, "levels(");
    for (int i = 0; i < l->n; i++)
        n += snprintf(buf + n, TRA_LEVELTEXT - (size_t)n, "%s%s", i ? ", " : "", level_names[l->kind[i]]);
    n += snprintf(buf + n, TRA_LEVELTEXT - (size_t)n, ")");
    for (int i = 0; i < l->n && !tra_levels_in_order(l); i++)
        n += snprintf(buf + n, TRA_LEVELTEXT - (size_t)n, "%s%d%s", i ? ", " : " order [", l->order[i],
                      i + 1 < l->n ? "" : "]");
    return buf;
}

const char *tra_levels_alias(const tra_levels *l) {
    /* of two names for the same levels the more telling one comes first: every order of a matrix is csf too */
    static const char *const names[] = {"csr", "csc", "dcsr", "dcsc", "coo", "csf", "dense"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tra_levels named;
        if (tra_levels_parse(names[i], l->n, &named, NULL) == TRA_OK && tra_levels_eq(&named, l)) return names[i];
    }
    return NULL;
}

bool tra_levels_dense(const tra_levels *l) {
    for (int i = 0; i < l->n; i++)
        if (l->kind[i] != TRA_LEVEL_DENSE) return false;
    return true;
}

/* ---- datasets --------------------------------------------------------------------------------------------------- */

size_t tra_index_size(int64_t extent) {
    return extent <= 1 << 8 ? 1 : extent <= 1 << 16 ? 2 : extent <= (int64_t)1 << 32 ? 4 : 8;
}

bool tra_catalog_is_one_block(const tra_catalog *c) {
    bool one = c->n == 1;
    for (int d = 0; d < c->frontier.n; d++) one = one && c->frontier.v[d] == 1;
    return one;
}

static int add(tra_form *f, tra_dataset_kind kind, int level, size_t each, const char *name, int depth) {
    tra_dataset *c = &f->c[f->n];
    *c = (tra_dataset){.kind = kind, .level = level, .each = each};
    char number[12] = "";
    if (depth >= 0) snprintf(number, sizeof number, "%d", depth);
    snprintf(c->name, sizeof c->name, "%s%s", name, number);
    return f->n++;
}

void tra_form_of(const tra_levels *l, const tra_dims *ext, int depth, bool alone, size_t value, tra_form *f) {
    *f = (tra_form){.levels = *l, .alone = alone, .depth = alone ? 0 : depth};
    for (int i = 0; i < l->n; i++) {
        f->ext[i] = ext->v[l->order[i]];
        f->pointers[i] = f->indices[i] = -1;
        f->group[i] = l->kind[i] == TRA_LEVEL_DENSE ? 0 : l->kind[i] == TRA_LEVEL_SINGLETON ? -1 : 1;
        while (f->group[i] > 0 && i + f->group[i] < l->n && l->kind[i + f->group[i]] == TRA_LEVEL_SINGLETON)
            f->group[i]++;
    }
    for (int i = 0; i < l->n; i++) {
        int d = f->depth + i;
        if (f->group[i] > 0 && d > 0) f->pointers[i] = add(f, TRA_POINTERS, i, sizeof(int64_t), "pointers_to_", d);
        if (f->group[i] != 0) f->indices[i] = add(f, TRA_INDICES, i, tra_index_size(f->ext[i]), "indices_", d);
    }
    f->values = add(f, TRA_VALUES, l->n - 1, value, "values", -1);
    f->columns = add(f, TRA_COLUMNS, l->n - 1, sizeof(uint32_t), "columns", -1);
}

int64_t tra_form_length(const tra_form *f, int component, const int64_t *counts, int64_t last) {
    const tra_dataset *c = &f->c[component];
    int64_t entries = counts[f->levels.n - 1];
    switch (c->kind) {
    case TRA_POINTERS: return c->level ? counts[c->level - 1] : 1;
    case TRA_INDICES: return counts[c->level];
    case TRA_VALUES: return entries;
    case TRA_COLUMNS: return last <= entries ? last : 0;
    case TRA_PACKED: break; /* its counts are the numbers of elements */
    }
    return 0;
}

bool tra_form_counts_fit(const tra_form *f, const int64_t *counts) {
    int64_t above = 1;
    for (int i = 0; i < f->levels.n; i++) {
        int64_t n;
        if (f->group[i] == 0 && (!tra_mul(above, f->ext[i], &n) || counts[i] != n)) return false;
        if (f->group[i] < 0 && counts[i] != above) return false;
        if (counts[i] < 0 || counts[i] > TRA_SIZE_MOST / 64) return false;
        above = counts[i];
    }
    return true;
}
