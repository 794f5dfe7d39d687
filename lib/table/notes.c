/* notes.c - what kernels note beside their results, until the executor asks for it. */
#include "table_int.h"

#include <stdio.h>
#include <string.h>

static _Thread_local tra_table_notes noted;

/* More values, of that place: what is said of several is the first of them, "and others". */
static void add(tra_table_notes *n, int64_t more, unsigned causes, const char *where) {
    static const char others[] = " and others";
    if (more == 0) return;
    if (n->by_zero == 0)
        snprintf(n->where, sizeof n->where, "%s", where);
    else if (strcmp(n->where, where) != 0 && !strstr(n->where, others))
        snprintf(n->where + strlen(n->where), sizeof n->where - strlen(n->where), others);
    n->by_zero += more;
    n->causes |= causes;
}

void tra_table_notes_add(const tra_table_notes *n) { add(&noted, n->by_zero, n->causes, n->where); }

bool tra_table_noted(tra_table_notes *n) {
    if (noted.by_zero == 0) return false;
    *n = noted;
    noted = (tra_table_notes){0};
    return true;
}

void tra_table_note_rows(tra_table_notes *n, tra_null_rows rows, const char *column) {
    char where[TRA_WHERE - 16] = "a condition"; /* with room for more */
    if (column) snprintf(where, sizeof where, "column `%.*s`", (int)sizeof where - 16, column);
    add(n, rows.n, rows.causes, where);
}

void tra_table_note_pairs(const tra_colrun *r, int n) {
    tra_table_notes notes = {0};
    tra_table_note_rows(&notes, tra_colrun_by_zero(r, 0, n), NULL);
    tra_table_notes_add(&notes);
}

/* One value as text; a long one is cut. */
static void value_text(const tra_column *c, const tra_vector *v, int64_t i, char *to, size_t room) {
    char moment[TRA_DATETEXT];
    tra_dtype t = tra_coltype_held(c->type);
    int64_t len = 0;
    if (v->state && v->state[i] != TRA_STATE_VALUE) {
        snprintf(to, room, "NULL");
    } else if (tra_coltype_is_coded(c->type)) {
        const char *s = tra_dictionary_at(c->dict, ((const int32_t *)v->values)[i], &len);
        snprintf(to, room, "%.*s%s", (int)tra_min64(len, 40), s, len > 40 ? ".." : "");
    } else if (c->type == TRA_COL_DATE || c->type == TRA_COL_TIMESTAMP) {
        int64_t at = tra_element_whole(t, v->values, i);
        snprintf(to, room, "%s",
                 c->type == TRA_COL_DATE ? tra_date_text((int32_t)at, moment) : tra_timestamp_text(at, moment));
    } else if (tra_dtype_is_float(t)) {
        snprintf(to, room, "%.15g", tra_element_real(t, v->values, i));
    } else {
        snprintf(to, room, "%" PRId64, tra_element_whole(t, v->values, i));
    }
}

char *tra_row_text(const tra_batch *b, int64_t row, int n, const int *column, char to[TRA_ROWTEXT]) {
    size_t at = (size_t)snprintf(to, TRA_ROWTEXT, "(");
    for (int i = 0; i < n && at + 80 < TRA_ROWTEXT; i++) {
        const tra_column *c = &b->schema->v[column[i]];
        at += (size_t)snprintf(to + at, TRA_ROWTEXT - at, "%s%.24s ", i ? ", " : "", c->name);
        value_text(c, &b->v[column[i]], row, to + at, TRA_ROWTEXT - at - 2);
        at += strlen(to + at);
    }
    snprintf(to + at, TRA_ROWTEXT - at, ")");
    return to;
}
