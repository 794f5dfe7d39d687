#include "names.h"

#include <assert.h>
#include <ctype.h>
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
        if (t->n) {
            memcpy(names, t->name, (size_t)t->n * sizeof *names);
            memcpy(values, t->value, (size_t)t->n * sizeof *values);
        }
        t->name = names;
        t->value = values;
        t->cap = cap;
        t->nslots = 4 * cap;
        t->slot = tra_news(t->arena, int, t->nslots);
        for (int i = 0; i < t->n; i++) t->slot[find_slot(t, names[i])] = i + 1;
    }
    int s = find_slot(t, name);
    assert(t->slot[s] == 0);
    t->name[t->n] = name;
    t->value[t->n] = value;
    t->slot[s] = ++t->n;
    return t->n - 1;
}

enum { MAXNAME = 64 }; /* longer names have no nearest */

/* Edits (insert, remove, change, swap of neighbours) between a and b, case ignored. */
static int distance(const char *a, int na, const char *b, int nb) {
    int row[3][MAXNAME + 1];
    int *before = row[0], *prev = row[1], *cur = row[2];
    for (int j = 0; j <= nb; j++) prev[j] = j;
    for (int i = 1; i <= na; i++) {
        cur[0] = i;
        for (int j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = prev[j - 1] + (ca != cb);
            if (prev[j] + 1 < best) best = prev[j] + 1;
            if (cur[j - 1] + 1 < best) best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && cb == tolower((unsigned char)a[i - 2]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            cur[j] = best;
        }
        int *t = before;
        before = prev;
        prev = cur;
        cur = t;
    }
    return prev[nb];
}

const char *tra_nearest(const char *name, int n, const char *const *names) {
    int len = (int)strlen(name);
    if (len == 0 || len > MAXNAME) return NULL;
    const char *best = NULL;
    int best_d = len / 3 > 1 ? len / 3 + 1 : 2; /* must be less than this */
    for (int i = 0; i < n; i++) {
        int m = (int)strlen(names[i]);
        if (m > MAXNAME || m - len >= best_d || len - m >= best_d) continue;
        int d = distance(name, len, names[i], m);
        if (d < best_d && d < (len > m ? len : m)) {
            best = names[i];
            best_d = d;
        }
    }
    return best;
}
