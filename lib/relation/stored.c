/* stored.c - storages by levels: their text, and the datasets that they are. */
#include "stored_int.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------------------------- */

static const char *const level_names[] = {
    [TRA_LEVEL_DENSE] = "dense", [TRA_LEVEL_SPARSE] = "sparse", [TRA_LEVEL_SINGLETON] = "singleton"};

/* Names that stand for levels; rank 0: of any rank. */
static const struct alias {
    const char *name, *text;
    int rank;
} aliases[] = {
    {"csr", "levels(dense, sparse)", 2},
    {"csc", "levels(dense, sparse) order [1, 0]", 2},
    {"dcsr", "levels(sparse, sparse)", 2},
    {"dcsc", "levels(sparse, sparse) order [1, 0]", 2},
    {"coo", "levels(sparse, singleton)", 0},
    {"cooc", "levels(sparse, singleton) order [1, 0]", 2},
    {"csf", "levels(sparse)", 0},
    {"dense", "levels(dense)", 0},
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

static void skip(const char **p) {
    while (isspace((unsigned char)**p)) ++*p;
}

/* The next word of letters, or one other character. */
static size_t word(const char *p) {
    size_t n = 0;
    while (isalpha((unsigned char)p[n])) n++;
    return n ? n : *p != 0;
}

static bool take(const char **p, const char *want) {
    size_t n = strlen(want);
    skip(p);
    if (word(*p) != n || strncmp(*p, want, n) != 0) return false;
    *p += n;
    return true;
}

static tra_status wrong(const char *text, const char *why, tra_err *e) {
    return tra_fail(e, TRA_PROGRAM, "\"%.200s\" is no storage: %s", text, why);
}

static bool parse_kind(const char **p, tra_level *kind) {
    for (int k = TRA_LEVEL_DENSE; k <= TRA_LEVEL_SINGLETON; k++) {
        if (!take(p, level_names[k])) continue;
        *kind = (tra_level)k;
        return true;
    }
    return false;
}

static bool parse_order(const char **p, int rank, tra_levels *out) {
    uint32_t seen = 0;
    if (!take(p, "[")) return false;
    for (int i = 0; i < rank; i++) {
        char *end;
        skip(p);
        if (!isdigit((unsigned char)**p)) return false;
        long d = strtol(*p, &end, 10);
        *p = end;
        if (d >= rank || seen >> d & 1) return false;
        seen |= 1u << d;
        out->order[i] = (int8_t)d;
        if (!take(p, i + 1 < rank ? "," : "]")) return false;
    }
    return true;
}

static tra_status parse_levels(const char *text, int rank, tra_levels *out, tra_err *e) {
    const char *p = text;
    tra_level kind = TRA_LEVEL_DENSE;
    int n = 0;
    *out = (tra_levels){.n = rank};
    for (int i = 0; i < rank; i++) out->order[i] = (int8_t)i;
    if (!take(&p, "levels") || !take(&p, "("))
        return wrong(text, "it is not levels(KIND, ...) and no name of such levels", e);
    do {
        tra_level before = kind;
        if (!parse_kind(&p, &kind)) return wrong(text, "a level is dense, sparse or singleton", e);
        if (kind == TRA_LEVEL_SINGLETON && (n == 0 || before == TRA_LEVEL_DENSE))
            return wrong(text, "a singleton follows a sparse level", e);
        if (n >= rank && kind != TRA_LEVEL_SINGLETON) return wrong(text, "it has more levels than dimensions", e);
        if (n < rank) out->kind[n] = kind;
        n++;
    } while (take(&p, ","));
    if (!take(&p, ")")) return wrong(text, "a ) is missing after its levels", e);
    for (; n < rank; n++) out->kind[n] = kind;
    if (take(&p, "order") && !parse_order(&p, rank, out))
        return wrong(text, "its order does not name each dimension once, as in order [1, 0]", e);
    skip(&p);
    return *p ? wrong(text, "something follows its levels", e) : TRA_OK;
}

tra_status tra_levels_parse(const char *text, int rank, tra_levels *out, tra_err *e) {
    if (rank < 1 || rank > TRA_MAXDIM)
        return tra_fail(e, TRA_PROGRAM, "arrays of rank %d cannot be stored by levels", rank);
    for (int i = 0; i < ALIASES; i++) {
        const struct alias *a = &aliases[i];
        if (strcmp(text, a->name) != 0) continue;
        if (a->rank && a->rank != rank)
            return tra_fail(e, TRA_PROGRAM, "%s stores arrays of rank %d, not of rank %d", text, a->rank, rank);
        return parse_levels(a->text, rank, out, e);
    }
    return parse_levels(text, rank, out, e);
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
    for (int i = 0; i < ALIASES; i++) {
        tra_levels a;
        if (aliases[i].rank && aliases[i].rank != l->n) continue;
        if (parse_levels(aliases[i].text, l->n, &a, NULL) == TRA_OK && tra_levels_eq(&a, l)) return aliases[i].name;
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

bool tra_form_alone(const tra_catalog *c) {
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
