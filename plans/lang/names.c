/* names.c - a table of names. */
#include "names.h"

#include <string.h>

static uint32_t hash(const char *s) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

/* The slot where name is, or where it would go. */
static int find_slot(const tra_names *t, const char *name) {
    int i = (int)(hash(name) & (uint32_t)(t->nslots - 1));
    while (t->slot[i] && strcmp(t->name[t->slot[i] - 1], name) != 0) i = (i + 1) & (t->nslots - 1);
    return i;
}

int tra_names_find(const tra_names *t, const char *name) { return t->n == 0 ? -1 : t->slot[find_slot(t, name)] - 1; }

int tra_names_add(tra_names *t, const char *name, void *value) {
    if (t->n == t->cap) {
        int cap = t->cap ? 2 * t->cap : 32;
        const char **names = tra_news(t->arena, const char *, cap);
        void **values = tra_news(t->arena, void *, cap);
        int *hidden = tra_news(t->arena, int, cap);
        if (t->n) {
            memcpy(names, t->name, (size_t)t->n * sizeof *names);
            memcpy(values, t->value, (size_t)t->n * sizeof *values);
            memcpy(hidden, t->hidden, (size_t)t->n * sizeof *hidden);
        }
        t->name = names;
        t->value = values;
        t->hidden = hidden;
        t->cap = cap;
        t->nslots = 4 * cap;
        t->slot = tra_news(t->arena, int, t->nslots);
        for (int i = 0; i < t->n; i++) t->slot[find_slot(t, names[i])] = i + 1;
    }
    int s = find_slot(t, name);
    t->name[t->n] = name;
    t->value[t->n] = value;
    t->hidden[t->n] = t->slot[s];
    t->slot[s] = ++t->n;
    return t->n - 1;
}

const char *tra_names_fresh(tra_names *t, const char *name) {
    while (tra_names_find(t, name) >= 0) name = tra_arena_printf(t->arena, "%s'", name);
    tra_names_add(t, name, NULL);
    return name;
}

/* The name that came last stands in no other name's way to its slot: it was put where that was free. */
void tra_names_cut(tra_names *t, int n) {
    for (; t->n > n; t->n--) t->slot[find_slot(t, t->name[t->n - 1])] = t->hidden[t->n - 1];
}

int tra_find_row(const char *name, const void *rows, size_t n, size_t row_bytes) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(*(const char *const *)(const void *)((const char *)rows + i * row_bytes), name) == 0) return (int)i;
    return -1;
}
