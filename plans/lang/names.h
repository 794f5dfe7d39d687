/* names.h - a table of names, and rows by name. */
#ifndef TRA_NAMES_H
#define TRA_NAMES_H

#include "../../lib/base/base.h"

/* Names in the order in which they came, each with a value of the caller's. Lives in an arena. */
typedef struct tra_names {
    tra_arena *arena;
    int n, cap;
    const char **name;
    void **value;
    int *hidden; /* slot's content before this name came: index + 1 of the same name, or 0 */
    int nslots;  /* power of two; slot: index + 1, or 0 */
    int *slot;
} tra_names;

int tra_names_find(const tra_names *t, const char *name); /* index, of equal names that of the last one; or -1 */
/* The name is kept, not copied. Where it is there already it hides the one before until it is cut off. Returns its
 * index. */
int tra_names_add(tra_names *t, const char *name, void *value);
/* A name like this one that was not there, and is now: with apostrophes, which no program can write, as it needs. */
const char *tra_names_fresh(tra_names *t, const char *name);
/* Takes out all names but the first n. */
void tra_names_cut(tra_names *t, int n);

/* The number of the row of this name, in a table whose rows are names or begin with one; -1: there is none. */
int tra_find_row(const char *name, const void *rows, size_t n, size_t row_bytes);
#define TRA_FIND_ROW(rows, name) tra_find_row(name, rows, sizeof(rows) / sizeof *(rows), sizeof *(rows))

#endif
