/* diff_tables.c - tra diff of two tables: rows in order, columns by name. */
#include "diff_int.h"
#include "tables.h"

#include "../formats/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRIP = 1 << 15 };

typedef struct side {
    tra_rel *rel;
    const tra_schema *schema;
    tra_vector room, *v;
} side;

typedef struct column_diff {
    int64_t different, first; /* values; the row of the first of them */
    char text[2][TRA_SHOWN];
    double largest; /* of numbers */
} column_diff;

static bool is_null(const tra_vector *v, int64_t i) { return v->state && v->state[i]; }

static bool strings_equal(const tra_column *a, const tra_vector *va, const tra_column *b, const tra_vector *vb,
                          int64_t i) {
    int64_t na, nb;
    const char *x = tra_dictionary_at(a->dict, ((const int32_t *)va->values)[i], &na);
    const char *y = tra_dictionary_at(b->dict, ((const int32_t *)vb->values)[i], &nb);
    return na == nb && memcmp(x, y, (size_t)na) == 0;
}

static bool numbers_equal(const tra_column *a, const tra_vector *va, const tra_column *b, const tra_vector *vb,
                          int64_t i, const tra_table_tolerance *t, double *difference) {
    double size;
    *difference = tra_diff_difference(tra_diff_number(tra_coltype_held(a->type), va->values, i),
                                      tra_diff_number(tra_coltype_held(b->type), vb->values, i), &size);
    return *difference == 0 || tra_diff_within(*difference, size, t->rtol, t->atol);
}

static void show(const tra_column *c, const tra_vector *v, int64_t i, char to[TRA_SHOWN]) {
    char buf[TRA_VALUETEXT];
    const char *text;
    size_t n = tra_column_text(c, v, i, buf, &text);
    if (is_null(v, i))
        snprintf(to, TRA_SHOWN, "NULL");
    else
        tra_shown(text, n, to);
}

static void compare_strip(const tra_column *a, const tra_vector *va, const tra_column *b, const tra_vector *vb,
                          int64_t first, int64_t n, const tra_table_tolerance *t, column_diff *d) {
    tra_dtype held = tra_coltype_held(a->type);
    bool bits = !a->dict && held == tra_coltype_held(b->type) && !va->state && !vb->state;
    if (bits && memcmp(va->values, vb->values, (size_t)n * tra_dtype_size(held)) == 0) return;
    for (int64_t i = 0; i < n; i++) {
        bool na = is_null(va, i), nb = is_null(vb, i), equal = na == nb;
        double difference = 0;
        if (equal && !na)
            equal = a->dict ? strings_equal(a, va, b, vb, i) : numbers_equal(a, va, b, vb, i, t, &difference);
        d->largest = fmax(d->largest, difference);
        if (equal) continue;
        if (d->different++) continue;
        d->first = first + i;
        show(a, va, i, d->text[0]);
        show(b, vb, i, d->text[1]);
    }
}

/* May values of these columns be equal? Numbers are compared with numbers, and texts with texts. */
static bool comparable(const tra_column *a, const tra_column *b) {
    if (a->dict || b->dict) return a->dict && b->dict;
    if (tra_coltype_is_number(a->type) && tra_coltype_is_number(b->type)) return true;
    return a->type == b->type;
}

static tra_status read_strip(side *s, int c, int64_t first, int64_t n, tra_err *e) {
    memset(s->v, 0, (size_t)s->schema->n * sizeof *s->v);
    s->v[c] = s->room;
    if (!tra_column_has_states(&s->schema->v[c])) s->v[c].state = NULL;
    return tra_rel_read_rows(s->rel, first, &(tra_batch){.schema = s->schema, .rows = n, .v = s->v}, e);
}

static tra_status compare_column(side s[2], int a, int b, int64_t rows, const tra_table_tolerance *t, column_diff *d,
                                 tra_err *e) {
    *d = (column_diff){0};
    for (int64_t at = 0, n; at < rows; at += n) {
        n = tra_min64(STRIP, rows - at);
        TRA_TRY(read_strip(&s[0], a, at, n, e));
        TRA_TRY(read_strip(&s[1], b, at, n, e));
        compare_strip(&s[0].schema->v[a], &s[0].v[a], &s[1].schema->v[b], &s[1].v[b], at, n, t, d);
    }
    return TRA_OK;
}

/* ---- what is said ----------------------------------------------------------------------------------------------- */

static void say_column(const tra_column *c, const column_diff *d, tra_json *out) {
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json_begin(out, NULL, '{');
        tra_json_str(out, "name", c->name);
        tra_json_int(out, "different", d->different);
        tra_json_int(out, "first_row", d->first);
        tra_json_str(out, "a", d->text[0]);
        tra_json_str(out, "b", d->text[1]);
        if (!c->dict) tra_json_num(out, "largest", d->largest);
        tra_json_end(out, '}');
    } else {
        tra_str_printf(&out->out, "column %s: %" PRId64 " value%s in row %" PRId64 ": %s and %s\n", c->name,
                       d->different, d->different == 1 ? " differs," : "s differ, the first", d->first, d->text[0],
                       d->text[1]);
    }
}

static void say_other(const char *what, const char *name, tra_json *out) {
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json_begin(out, NULL, '{');
        tra_json_str(out, "name", name);
        tra_json_str(out, "why", what);
        tra_json_end(out, '}');
    } else {
        tra_str_printf(&out->out, "column %s %s\n", name, what);
    }
}

static tra_status compare_all(side s[2], const char *const names[2], const tra_table_tolerance *t, tra_json *out,
                              bool *same, tra_err *e) {
    int64_t rows = tra_rel_rows(s[0].rel), other = tra_rel_rows(s[1].rel);
    char why[256];
    *same = rows == other;
    for (int c = 0; c < s[0].schema->n; c++) {
        const tra_column *a = &s[0].schema->v[c];
        int at = tra_schema_find(s[1].schema, a->name);
        column_diff d;
        if (at < 0 || !comparable(a, &s[1].schema->v[at])) {
            *same = false;
            snprintf(why, sizeof why, at < 0 ? "is not in %s" : "is %s in one and %s in the other",
                     at < 0 ? names[1] : tra_coltype_name(a->type),
                     at < 0 ? "" : tra_coltype_name(s[1].schema->v[at].type));
            say_other(why, a->name, out);
            continue;
        }
        TRA_TRY(compare_column(s, c, at, tra_min64(rows, other), t, &d, e));
        if (d.different == 0) continue;
        *same = false;
        say_column(a, &d, out);
    }
    for (int c = 0; c < s[1].schema->n; c++)
        if (tra_schema_find(s[0].schema, s[1].schema->v[c].name) < 0) {
            *same = false;
            snprintf(why, sizeof why, "is not in %s", names[0]);
            say_other(why, s[1].schema->v[c].name, out);
        }
    return TRA_OK;
}

tra_status tra_diff_tables(tra_rel *a, tra_rel *b, const char *const names[2], int64_t memory,
                           const tra_table_tolerance *t, bool *same, tra_err *e) {
    bool json = tra_common_opts.format == TRA_FORMAT_JSON;
    side s[2] = {{.rel = a}, {.rel = b}};
    tra_json out = {0};
    TRA_TRY(tra_buffer_check(memory,
                             tra_rel_held_bytes(a) + tra_rel_held_bytes(b) + 2 * STRIP * 9 +
                                 (int64_t)(tra_rel_scratch_bytes(a) + tra_rel_scratch_bytes(b)),
                             e));
    for (int i = 0; i < 2; i++) {
        s[i].schema = tra_rel_type(s[i].rel)->columns;
        s[i].v = tra_calloc((size_t)s[i].schema->n + 1, sizeof *s[i].v);
        s[i].room = (tra_vector){tra_malloc(STRIP * 8), tra_malloc(STRIP)};
    }
    if (json) {
        tra_json_begin(&out, NULL, '{');
        tra_json_ints(&out, "rows", 2, (int64_t[]){tra_rel_rows(a), tra_rel_rows(b)});
        tra_json_begin(&out, "columns", '[');
    }
    tra_status status = compare_all(s, names, t, &out, same, e);
    if (json) {
        tra_json_end(&out, ']');
        tra_json_bool(&out, "equal", *same);
        tra_json_end(&out, '}');
        tra_str_add(&out.out, "\n");
    } else if (tra_rel_rows(a) != tra_rel_rows(b)) {
        tra_str_printf(&out.out, "%s has %" PRId64 " rows, %s %" PRId64 "\n", names[0], tra_rel_rows(a), names[1],
                       tra_rel_rows(b));
    } else if (*same) {
        tra_str_printf(&out.out, "equal: %" PRId64 " rows of %d columns\n", tra_rel_rows(a), s[0].schema->n);
    }
    if (status == TRA_OK && !tra_common_opts.quiet) status = tra_print(tra_str_get(&out.out), e);
    tra_json_free(&out);
    for (int i = 0; i < 2; i++) {
        free(s[i].v);
        free(s[i].room.values);
        free(s[i].room.state);
    }
    return status;
}
