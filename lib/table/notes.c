/* notes.c - what kernels note beside their results, until the executor asks for it. */
#include "table_int.h"

#include <stdio.h>
#include <string.h>

static _Thread_local tra_table_notes noted;

/* More values, of that place: what is said of several is the first of them, "and others". */
static void add(tra_table_notes *n, int64_t more, const char *where) {
    static const char others[] = " and others";
    if (more == 0) return;
    if (n->by_zero == 0)
        snprintf(n->where, sizeof n->where, "%s", where);
    else if (strcmp(n->where, where) != 0 && !strstr(n->where, others))
        snprintf(n->where + strlen(n->where), sizeof n->where - strlen(n->where), others);
    n->by_zero += more;
}

void tra_table_notes_add(const tra_table_notes *n) { add(&noted, n->by_zero, n->where); }

bool tra_table_noted(tra_table_notes *n) {
    if (noted.by_zero == 0) return false;
    *n = noted;
    noted = (tra_table_notes){0};
    return true;
}

void tra_table_note_rows(tra_table_notes *n, int64_t rows, const char *column) {
    char where[TRA_WHERE - 16] = "a condition"; /* with room for more */
    if (column) snprintf(where, sizeof where, "column `%.*s`", (int)sizeof where - 16, column);
    add(n, rows, where);
}

void tra_table_note_pairs(const tra_colrun *r, int n) {
    tra_table_notes notes = {0};
    tra_table_note_rows(&notes, tra_colrun_by_zero(r, 0, n), NULL);
    tra_table_notes_add(&notes);
}
