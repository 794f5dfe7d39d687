/* row_notes.c - what kernels note beside their results, until the executor asks for it. */
#include "../model/spooled.h"
#include "table_int.h"

#include "../base/mix.h"

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

/* So many bytes of a text of n: all, or as many whole characters as `most` bytes hold. */
static int cut_text(const char *s, int64_t n, int most) {
    if (n <= most) return (int)n;
    while (most > 0 && ((unsigned char)s[most] & 0xc0) == 0x80) most--;
    return most;
}

/* One value as text; a long one is cut. */
static void value_text(const tra_column *c, const tra_vector *v, int64_t i, char *to, size_t room) {
    char moment[TRA_DATETEXT];
    tra_dtype t = tra_coltype_held(c->type);
    int64_t len = 0;
    if (v->state && v->state[i] != TRA_STATE_VALUE) {
        snprintf(to, room, "NULL");
    } else if (tra_coltype_is_coded(c->type) && (uint64_t)tra_element_whole(t, v->values, i) < (uint64_t)c->dict->n) {
        char buf[TRA_ENTRYTEXT];
        const char *s = tra_dictionary_text(c->dict, ((const int32_t *)v->values)[i], buf, &len);
        snprintf(to, room, "%.*s%s", cut_text(s, len, 40), s, len > 40 ? ".." : "");
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

/* ---- keys that many rows have ------------------------------------------------------------------------------------ */

static _Thread_local tra_heavy_key heavy[2]; /* of the left and the right operand; all 0: nothing */

bool tra_table_noted_keys(tra_heavy_key v[2]) {
    if (heavy[0].all == 0 && heavy[1].all == 0) return false;
    memcpy(v, heavy, sizeof heavy);
    memset(heavy, 0, sizeof heavy);
    return true;
}

/* A word of the keys of a row: those of equal keys are equal. */
static uint64_t key_word(const tra_batch *b, int n, const int *column, int64_t row) {
    uint64_t h = 0;
    for (int k = 0; k < n; k++) {
        int c = column ? column[k] : k;
        const tra_vector *v = &b->v[c];
        bool none = v->state && v->state[row] != TRA_STATE_VALUE;
        tra_dtype t = tra_coltype_held(b->schema->v[c].type);
        h = tra_mix(h + (uint64_t)k + (none ? 1 : 2 * (uint64_t)tra_element_bits(t, v->values, row)));
    }
    return h;
}

/* Adds text to a list of `room` bytes; what has no room is cut. */
static void append(char *list, size_t room, const char *text) {
    size_t at = strlen(list);
    int len = (int)strlen(text), fit = cut_text(text, len, (int)room - (int)at - 5);
    const char *dots = fit < len ? ".." : "";
    if (fit > 0 || len == 0) snprintf(list + at, room - at, "%s%.*s%s", at ? ", " : "", fit, text, dots);
}

static void describe_key(const tra_batch *b, int n, const int *column, int64_t row, tra_heavy_key *x) {
    char text[TRA_ROWTEXT];
    for (int k = 0; k < n; k++) {
        int c = column ? column[k] : k;
        append(x->columns, sizeof x->columns, b->schema->v[c].name);
        value_text(&b->schema->v[c], &b->v[c], row, text, sizeof text);
        append(x->values, sizeof x->values, text);
    }
}

/* A kernel looks at the keys of all rows, so that a sample of MOST rows adds little to its time. */
void tra_table_note_keys(const tra_batch *b, int n, const int *column, int operand, tra_key_pairs_fn *pairs,
                         const void *ctx) {
    enum { EVERY = 256, LEAST = 16, MOST = 128, PLACES = 256, SHARE = 8 };
    static _Thread_local struct {
        uint64_t word;
        const tra_schema *schema; /* of which these columns are the keys: others may have equal words */
        const int *column;
        tra_heavy_key key;
    } last[2]; /* that was described */
    struct {
        uint64_t word;
        int64_t pairs;
        int count, row;
    } seen[PLACES];
    int sampled = (int)tra_min64(MOST, b->rows / EVERY), most = 0;
    if (sampled < LEAST || n == 0) return;
    int64_t step = b->rows / sampled, row[MOST], all = 0;
    tra_heavy_key x = {.all = b->rows};
    for (int i = 0; i < PLACES; i++) seen[i].count = 0, seen[i].pairs = 0;
    for (int i = 0; i < sampled; i++) {
        row[i] = i * step + (int64_t)(tra_mix((uint64_t)i) % (uint64_t)step);
        uint64_t word = key_word(b, n, column, row[i]), at = word % PLACES;
        int64_t met = pairs ? pairs(ctx, row[i]) : 1;
        while (seen[at].count > 0 && seen[at].word != word) at = (at + 1) % PLACES;
        if (seen[at].count++ == 0) seen[at].word = word, seen[at].row = i, x.different++;
        seen[at].pairs += met;
        all += met;
        if (seen[at].pairs > seen[most].pairs) most = (int)at;
    }
    double each = (double)b->rows / sampled;
    if (pairs) x.all_pairs = (int64_t)((double)all * each);
    if (all > 0 && (seen[most].pairs * SHARE >= all || seen[most].count * SHARE >= sampled)) {
        if (last[operand].word != seen[most].word || last[operand].schema != b->schema ||
            last[operand].column != column || !last[operand].key.values[0]) {
            last[operand].word = seen[most].word;
            last[operand].schema = b->schema, last[operand].column = column;
            last[operand].key = (tra_heavy_key){0};
            describe_key(b, n, column, row[seen[most].row], &last[operand].key);
        }
        memcpy(x.columns, last[operand].key.columns, sizeof x.columns);
        memcpy(x.values, last[operand].key.values, sizeof x.values);
        x.rows = (int64_t)(each * seen[most].count);
        if (pairs) x.pairs = (int64_t)(each * (double)seen[most].pairs);
    }
    heavy[operand] = x;
}
