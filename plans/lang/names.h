/* names.h - a table of names. */
#ifndef TRA_NAMES_H
#define TRA_NAMES_H

#include "../../lib/base/base.h"

/* Names in the order in which they came, each with a value of the caller's. Lives in an arena. */
typedef struct tra_names {
    tra_arena *arena;
    int n, cap;
    const char **name;
    void **value;
    int nslots; /* power of two; slot: index + 1, or 0 */
    int *slot;
} tra_names;

int tra_names_find(const tra_names *t, const char *name); /* index, or -1 */
/* The name must not be there yet; it is kept, not copied. Returns its index. */
int tra_names_add(tra_names *t, const char *name, void *value);
/* Takes out all names but the first n. */
void tra_names_cut(tra_names *t, int n);

#endif
