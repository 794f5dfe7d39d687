/* tables_int.h - what draws random programs on tables. Private to tests/property. */
#ifndef TRA_PROPERTY_TABLES_INT_H
#define TRA_PROPERTY_TABLES_INT_H

#include "tables.h"

typedef enum kind { WHOLE, REAL, TRUTH, WORD, DAY, MOMENT, OPAQUE } kind; /* OPAQUE: only written */
enum { KINDS = OPAQUE, INPUTS = 3, MOST_COLUMNS = 24, MOST_TABLES = 16 };

/* A column of a table of the program. */
typedef struct known {
    char name[32];
    kind k;
    bool some; /* it comes from an input, and has a value that is not NULL */
} known;
typedef struct table {
    char name[16];
    int n;
    known c[MOST_COLUMNS];
    bool small; /* few rows: it may be joined */
} table;

typedef struct maker {
    rng g;
    tra_arena *a;
    const char *dir;
    tra_str text;
    int ntables, names;
    table t[MOST_TABLES];
} maker;

/* A random column of that kind, or NULL; a random column or constant of that kind, as text; a random predicate. */
const known *some_column(maker *m, const table *t, kind k);
const char *leaf(maker *m, const table *t, kind k);
const char *truth(maker *m, const table *t, int depth);
/* Begins a statement that makes a table with the columns of another. */
table *begin(maker *m, const table *like);
void add_column(table *t, const char *name, kind k);
void draw_select(maker *m, const table *of);

/* tables_joins.c; some_few: few rows of a table, so that the reference ends soon. */
const table *some_few(maker *m, const table *of);
void draw_join(maker *m, const table *of, const table *with);
void draw_asof(maker *m, const table *of, const table *with);

/* tables_windows.c */
void draw_window(maker *m, const table *of);
/* tables_shapes.c */
void draw_shape(maker *m, const table *of);

/* tables_sums.c: sums of products over rows of a table, of joined tables, and tensors that are made of tables and
 * become tables again. */
void draw_matrix(maker *m, const table *of);
void draw_factorised(maker *m);
void draw_border(maker *m);

#endif
