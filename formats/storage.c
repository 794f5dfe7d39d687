/* storage.c - in which storage a tensor is written. */
#include "storage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAXARGS = 8, LONGEST = 1 << 20 };

typedef struct asked {
    char *file; /* NULL: of the library */
    char *name;
    int64_t arg[MAXARGS];
    int nargs;
} asked;

/* "FILE.tra:NAME(1,2)" to its parts. */
static bool split(const char *text, tra_arena *a, asked *out) {
    const char *colon = strrchr(text, ':'), *name = colon ? colon + 1 : text, *open = strchr(name, '(');
    *out = (asked){.file = colon ? tra_arena_strndup(a, text, (size_t)(colon - text)) : NULL};
    out->name = tra_arena_strndup(a, name, open ? (size_t)(open - name) : strlen(name));
    if (!*out->name) return false;
    for (const char *p = open; p && *p != ')'; p += strcspn(p, ",)")) {
        char *end;
        if (out->nargs == MAXARGS || !*p) return false;
        out->arg[out->nargs++] = strtoll(p + 1, &end, 10);
        if (end == p + 1) return false;
        p = end;
    }
    return !open || text[strlen(text) - 1] == ')';
}

/* The statement "storage NAME" of a program; *decl is NULL where it has none. */
static tra_status find_in_file(const asked *q, tra_arena *a, const tra_storage_decl **decl, tra_err *e) {
    char *text;
    size_t n;
    *decl = NULL;
    TRA_TRY(tra_slurp(q->file, LONGEST, &text, &n, e));
    char *kept = tra_arena_strndup(a, text, n);
    free(text);
    for (const char *p = kept; p && !*decl; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        const char *word = p + strspn(p, " \t");
        size_t len = strlen(q->name);
        if (strncmp(word, "storage", 7) != 0 || !isspace((unsigned char)word[7])) continue;
        const char *name = word + 7 + strspn(word + 7, " \t");
        if (strncmp(name, q->name, len) != 0 || isalnum((unsigned char)name[len]) || name[len] == '_') continue;
        tra_calc_error err = {0};
        int end;
        *decl = tra_storage_parse(kept, (int)n, (int)(word - kept), a, &end, &err);
        if (!*decl) return tra_fail(e, TRA_PROGRAM, "%s: storage %s: %s", q->file, q->name, err.msg);
    }
    return TRA_OK;
}

static tra_status find(const asked *q, int rank, bool whole, tra_arena *a, tra_storage **s, tra_err *e) {
    const tra_storage_decl *decl;
    *s = NULL;
    if (!q->file) return tra_storage_find(q->name, rank, q->nargs, q->arg, whole, a, s, e);
    TRA_TRY(find_in_file(q, a, &decl, e));
    return decl ? tra_storage_make(decl, rank, q->nargs, q->arg, whole, a, s, e) : TRA_OK;
}

bool tra_storage_levels(const tra_storage *s, tra_levels *levels, bool *dense) {
    *dense = tra_storage_is_dense(s);
    return tra_levels_of_storage(s, levels);
}

tra_status tra_storage_any(const char *text, int rank, bool whole, tra_arena *a, tra_storage **out, tra_err *e) {
    asked q;
    if (!split(text, a, &q))
        return tra_fail(e, TRA_USAGE, "storage %s: NAME, NAME(NUMBER,...) or FILE.tra:NAME is expected", text);
    TRA_TRY(find(&q, rank, whole, a, out, e));
    if (*out) return TRA_OK;
    int n = 0;
    const char *const *names = tra_storage_names();
    while (names[n]) n++;
    const char *near = q.file ? NULL : tra_nearest(q.name, n, names);
    return tra_fail(e, TRA_USAGE, "storage %s: there is none of this name%s%s%s", text, near ? "; is it " : "",
                    near ? near : "", near ? "?" : "");
}

tra_status tra_storage_named(const char *text, int rank, tra_dtype t, tra_levels *levels, bool *dense, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_storage *s;
    tra_status status = tra_storage_any(text, rank, !tra_dtype_is_float(t), a, &s, e);
    if (status == TRA_OK && !tra_storage_levels(s, levels, dense))
        status = tra_fail(e, TRA_USAGE,
                          "storage %s: this is stored by levels, dense, sparse or singleton ones, and this storage has "
                          "others (tra import can fill some of them)",
                          text);
    tra_arena_free(a);
    return status;
}

void tra_storage_chosen(const tra_dims *shape, double entries, tra_levels *levels, bool *dense) {
    double elements = 1;
    for (int d = 0; d < shape->n; d++) elements *= (double)shape->v[d];
    *dense = shape->n == 0 || entries >= elements / 8;
    *levels = (tra_levels){.n = shape->n};
    enum { MANY_ROWS = 1 << 20 };
    bool empty = entries >= 0 && shape->n > 0 && shape->v[0] > MANY_ROWS && (double)shape->v[0] > 16 * entries;
    for (int d = 0; d < shape->n; d++) {
        levels->order[d] = (int8_t)d;
        levels->kind[d] = shape->n == 2 && d == 0 && !empty ? TRA_LEVEL_DENSE : TRA_LEVEL_SPARSE;
    }
}
