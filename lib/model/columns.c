/* columns.c - types of columns, dictionaries, schemas, and the blocks of rows. */
#include "spooled.h"
#include "string_set.h"

#include "../base/simd.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const char *const types[] = {
#define X(name, text, held) [TRA_COL_##name] = text,
    TRA_COLTYPES(X)
#undef X
};
enum { TYPES = sizeof types / sizeof *types };

const char *tra_coltype_name(tra_coltype t) { return types[t]; }

tra_coltype tra_coltype_of(tra_dtype t) {
    static const tra_coltype of[] = {
#define X(name, ...) [TRA_##name] = TRA_COL_##name,
        TRA_DTYPES(X)
#undef X
    };
    return of[t];
}

bool tra_coltype_parse(const char *s, tra_coltype *t) {
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(s, types[i]) == 0) return *t = (tra_coltype)i, true;
    }
    return false;
}

const char *tra_coltype_choices(void) {
#define X(name, text, ...) ", " text
    return &TRA_COLTYPES(X)[2];
#undef X
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

int tra_bytes_cmp(const char *a, int64_t na, const char *b, int64_t nb) {
    int64_t n = tra_min64(na, nb);
    int c = n > 0 ? memcmp(a, b, (size_t)n) : 0;
    return c != 0 ? c : na < nb ? -1 : na > nb;
}

/* Orders entries i and j. */
static int entry_cmp(const tra_dictionary *a, int64_t i, const tra_dictionary *b, int64_t j) {
    int64_t na, nb;
    const char *sa = tra_dictionary_at(a, i, &na), *sb = tra_dictionary_at(b, j, &nb);
    return tra_bytes_cmp(sa, na, sb, nb);
}

static bool ascends(const tra_dictionary *d) {
    for (int64_t i = 1; i < d->n; i++) {
        if (entry_cmp(d, i - 1, d, i) >= 0) return false;
    }
    return true;
}

const tra_dictionary *tra_dictionary_new(tra_arena *a, int64_t n, const char *const *s, const int64_t *len) {
    tra_dictionary *d = tra_new(a, tra_dictionary);
    int64_t *begin = tra_news(a, int64_t, n + 1), longest = 0;
    for (int64_t i = 0; i < n; i++) begin[i + 1] = begin[i] + len[i], longest = tra_max64(longest, len[i]);
    char *bytes = tra_arena_alloc(a, (size_t)begin[n]);
    for (int64_t i = 0; i < n; i++) {
        if (len[i] > 0) memcpy(bytes + begin[i], s[i], (size_t)len[i]);
    }
    *d = (tra_dictionary){.n = n, .begin = begin, .bytes = bytes, .longest = longest};
    d->sorted = ascends(d);
    return d;
}

int64_t tra_dictionary_find(const tra_dictionary *d, const char *s, int64_t len) {
    int64_t from = 0, to = d->n, n;
    if (!d->sorted) {
        for (int64_t i = 0; i < d->n; i++) {
            const char *at = tra_dictionary_at(d, i, &n);
            if (n == len && tra_bytes_cmp(at, n, s, len) == 0) return i;
        }
        return -1;
    }
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        const char *at = tra_dictionary_at(d, mid, &n);
        int c = tra_bytes_cmp(at, n, s, len);
        if (c == 0) return mid;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return -1;
}

/* The union of two that are sorted. */
static const tra_dictionary *merged(tra_arena *a, const tra_dictionary *x, const tra_dictionary *y, int32_t *of_x,
                                    int32_t *of_y) {
    tra_dictionary *d = tra_new(a, tra_dictionary);
    int64_t n = 0, bytes = 0;
    for (int64_t i = 0, j = 0; i < x->n || j < y->n; n++) {
        int c = i == x->n ? 1 : j == y->n ? -1 : entry_cmp(x, i, y, j);
        bytes += c <= 0 ? x->begin[i + 1] - x->begin[i] : y->begin[j + 1] - y->begin[j];
        if (c <= 0) of_x[i++] = (int32_t)n;
        if (c >= 0) of_y[j++] = (int32_t)n;
    }
    int64_t *begin = tra_news(a, int64_t, n + 1), at = 0;
    char *to = tra_arena_alloc(a, (size_t)bytes);
    *d = (tra_dictionary){.n = n, .begin = begin, .bytes = to, .sorted = true};
    for (int64_t k = 0, i = 0, j = 0, len; k < n; k++) {
        bool first = i < x->n && of_x[i] == k;
        const char *s = first ? tra_dictionary_at(x, i, &len) : tra_dictionary_at(y, j, &len);
        if (len > 0) memcpy(to + at, s, (size_t)len);
        d->longest = tra_max64(d->longest, len);
        begin[k + 1] = at += len;
        i += first;
        j += j < y->n && of_y[j] == k;
    }
    return d;
}

const tra_dictionary *tra_dictionary_union(tra_arena *a, int n, const tra_dictionary *const *d, int32_t **map) {
    int64_t strings = 0, bytes = 0;
    for (int i = 0; i < n; i++) {
        map[i] = tra_news(a, int32_t, d[i]->n);
        strings += d[i]->n;
        bytes += d[i]->begin[d[i]->n];
    }
    if (n == 1) return tra_strings_distinct(a, d[0]->n, d[0]->begin, d[0]->bytes, map[0]);
    if (n == 2 && d[0]->sorted && d[1]->sorted) return merged(a, d[0], d[1], map[0], map[1]);
    int64_t *begin = tra_calloc((size_t)strings + 1, sizeof *begin), at = 0;
    int32_t *code = tra_calloc((size_t)strings + 1, sizeof *code);
    char *all = tra_malloc((size_t)bytes + 1);
    for (int i = 0; i < n; i++) {
        int64_t from = begin[at];
        memcpy(all + from, d[i]->bytes, (size_t)d[i]->begin[d[i]->n]);
        for (int64_t c = 0; c < d[i]->n; c++) begin[++at] = from + d[i]->begin[c + 1];
    }
    const tra_dictionary *made = tra_strings_distinct(a, strings, begin, all, code);
    at = 0;
    for (int i = 0; i < n; i++) {
        if (d[i]->n > 0) memcpy(map[i], code + at, (size_t)d[i]->n * sizeof *code);
        at += d[i]->n;
    }
    free(begin);
    free(code);
    free(all);
    return made;
}

static void mark_of(const tra_dictionary *d, uint64_t mark[2]) {
    memcpy(mark, d->mark, sizeof d->mark);
    if (mark[0] || !d->begin) return;
    tra_marking *m = tra_marking_new();
    tra_marking_add(m, d->n, d->begin, d->bytes + d->begin[0]);
    tra_marking_end(m, mark, NULL);
}

bool tra_dictionary_eq(const tra_dictionary *a, const tra_dictionary *b) {
    if (a == b) return true;
    if (!a || !b || a->n != b->n) return false;
    if (tra_dictionary_is_away(a) || tra_dictionary_is_away(b)) {
        uint64_t x[2], y[2];
        mark_of(a, x);
        mark_of(b, y);
        return x[0] && x[0] == y[0] && x[1] == y[1];
    }
    if (memcmp(a->begin, b->begin, (size_t)(a->n + 1) * sizeof *a->begin) != 0) return false;
    return a->begin[a->n] == 0 || memcmp(a->bytes, b->bytes, (size_t)a->begin[a->n]) == 0;
}

tra_status tra_dictionary_check(const tra_dictionary *d, tra_err *e) {
    if (d->n < 0 || d->n > TRA_MAX_CODES)
        return tra_fail(e, TRA_INPUT, "a dictionary is damaged: it has %" PRId64 " strings", d->n);
    bool up = d->begin[0] == 0;
    for (int64_t i = 0; up && i < d->n; i++) up = d->begin[i] <= d->begin[i + 1];
    if (!up) return tra_fail(e, TRA_INPUT, "a dictionary is damaged: its strings do not begin where others end");
    if (d->sorted && !ascends(d)) return tra_fail(e, TRA_INPUT, "a dictionary is damaged: its strings are not sorted");
    return TRA_OK;
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

int tra_schema_find(const tra_schema *s, const char *name) {
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->v[i].name, name) == 0) return i;
    }
    return -1;
}

bool tra_schema_eq(const tra_schema *a, const tra_schema *b) {
    if (a == b) return true;
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        const tra_column *x = &a->v[i], *y = &b->v[i];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || tra_column_has_states(x) != tra_column_has_states(y))
            return false;
        if (tra_coltype_is_coded(x->type) && !tra_dictionary_eq(x->dict, y->dict)) return false;
    }
    return true;
}

int64_t tra_schema_row_bytes(const tra_schema *s) {
    int64_t n = 0;
    for (int i = 0; i < s->n; i++) n += (int64_t)tra_coltype_size(s->v[i].type) + tra_column_has_states(&s->v[i]);
    return n;
}

/* ---- blocks of rows ---------------------------------------------------------------------------------------------- */

enum { DIRECTORY, BYTES, PARTS };

static int64_t directory_count(const tra_schema *s) { return 1 + 2 * (int64_t)s->n; }

/* Where the columns of so many rows begin (dir may be NULL); returns where the last ends. */
static int64_t place(const tra_schema *s, int64_t rows, int64_t *dir) {
    int64_t at = 0;
    if (dir) dir[0] = rows;
    for (int i = 0; i < s->n; i++) {
        int64_t values = tra_cell_aligned(at), states = -1;
        at = tra_add_most(values, tra_mul_most(rows, (int64_t)tra_coltype_size(s->v[i].type)));
        if (tra_column_has_states(&s->v[i])) states = tra_cell_aligned(at), at = tra_add_most(states, rows);
        if (dir) dir[1 + 2 * i] = values, dir[2 + 2 * i] = states;
    }
    return at;
}

int64_t tra_columns_room(const tra_schema *s, int64_t rows) {
    return tra_cell_room(PARTS, (int64_t[]){directory_count(s), place(s, rows, NULL)}, (int64_t[]){8, 1});
}

static void show(const tra_cell *c, const tra_schema *s, tra_batch *b) {
    const int64_t *dir = tra_cell_data(c, DIRECTORY);
    char *bytes = tra_cell_data(c, BYTES);
    b->schema = s;
    b->rows = dir[0];
    for (int i = 0; i < s->n; i++) {
        int64_t states = dir[2 + 2 * i];
        b->v[i] = (tra_vector){bytes + dir[1 + 2 * i], states < 0 ? NULL : (uint8_t *)bytes + states};
    }
}

void tra_columns_begin(tra_cell *c, const tra_schema *s, int64_t rows, tra_batch *b) {
    tra_cell_begin(c, (int64_t[]){directory_count(s), place(s, rows, NULL)}, (int64_t[]){8, 1});
    place(s, rows, tra_cell_data(c, DIRECTORY));
    c->array.ext = (tra_dims){.n = 1, .v = {rows}};
    show(c, s, b);
}

void tra_copy_rows(tra_vector *to, int64_t at, const tra_vector *from, int64_t begin, int64_t n, tra_coltype t) {
    size_t size = tra_coltype_size(t), rows = (size_t)n;
    memcpy((char *)to->values + (size_t)at * size, (const char *)from->values + (size_t)begin * size, rows * size);
    if (to->state && from->state) memcpy(to->state + at, from->state + begin, rows);
    if (to->state && !from->state) memset(to->state + at, TRA_STATE_VALUE, rows);
}

void tra_append_rows(const tra_schema *s, const tra_batch *to, int64_t at, const tra_batch *from) {
    for (int c = 0; c < s->n && from->rows > 0; c++)
        tra_copy_rows(&to->v[c], at, &from->v[c], 0, from->rows, s->v[c].type);
}

int64_t tra_columns_end(tra_cell *c, const tra_schema *s, int64_t rows, tra_batch *b) {
    int64_t *dir = tra_cell_data(c, DIRECTORY), at = 0;
    char *bytes = tra_cell_data(c, BYTES);
    assert(rows <= dir[0]);
    for (int i = 0; i < s->n; i++) { /* no column moves up, and those before it have been moved already */
        int64_t size = (int64_t)tra_coltype_size(s->v[i].type), from = dir[1 + 2 * i], states = dir[2 + 2 * i];
        dir[1 + 2 * i] = tra_cell_aligned(at);
        if (rows > 0) memmove(bytes + dir[1 + 2 * i], bytes + from, (size_t)(rows * size));
        at = dir[1 + 2 * i] + rows * size;
        if (states < 0) continue;
        dir[2 + 2 * i] = tra_cell_aligned(at);
        if (rows > 0) memmove(bytes + dir[2 + 2 * i], bytes + states, (size_t)rows);
        at = dir[2 + 2 * i] + rows;
    }
    dir[0] = rows;
    c->array.ext = (tra_dims){.n = 1, .v = {rows}};
    if (b) show(c, s, b);
    return tra_cell_trim(c, (int64_t[]){directory_count(s), at});
}

/* How many rows a predicate keeps is only estimated, so memory is budgeted for all of them. */
static tra_size firm(int64_t expected, int64_t bound) {
    tra_size s = tra_size_about((double)expected, bound);
    s.firm = true;
    return s;
}

int64_t tra_type_skipped(const tra_type *t) {
    int64_t n = 0;
    for (int64_t i = 0; t->columns && i < t->cat->n; i++) n += tra_type_skips(t, i);
    return n;
}

tra_size tra_columns_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows) {
    (void)rows;
    if (entries.exact) return tra_size_exactly(tra_columns_room(t->columns, entries.bound));
    if (!t->bounded) return tra_size_exactly(tra_columns_room(t->columns, ext->v[0]));
    return firm(tra_columns_room(t->columns, entries.expected), tra_columns_room(t->columns, entries.bound));
}

const char *tra_columns_adopt_extents(tra_cell *c) {
    const tra_cell_part *p = c->head->part;
    if (p[DIRECTORY].each != 8 || p[DIRECTORY].count < 1 || p[BYTES].each != 1) return "without a directory of columns";
    int64_t rows = *(const int64_t *)tra_cell_data(c, DIRECTORY);
    if (rows < 0 || c->array.ext.n != 1 || rows > c->array.ext.v[0]) return "of more rows than it may have";
    c->array.ext.v[0] = rows;
    return NULL;
}

/* What is wrong with the values of a column; NULL: nothing. A value that is NULL is held as 0, which need not be a
 * code. */
TRA_ANY_TARGET __attribute__((optimize("O3"))) static const char *wrong_values(const tra_column *c, const tra_vector *v,
                                                                               int64_t rows) {
    if (v->state) {
        uint8_t most = 0;
        for (int64_t r = 0; r < rows; r++) most = v->state[r] > most ? v->state[r] : most;
        if (most > TRA_STATE_ERROR) return "a state that is none";
    }
    if (tra_coltype_is_coded(c->type) && c->dict) {
        const int32_t *code = v->values;
        uint32_t most = 0;
        for (int64_t r = 0; r < rows; r++) most = (uint32_t)code[r] > most ? (uint32_t)code[r] : most;
        if (rows > 0 && most >= c->dict->n && (most > 0 || !v->state)) return "a code beyond its dictionary";
    }
    if (c->type == TRA_COL_BOOL) {
        const uint8_t *b = v->values;
        uint8_t most = 0;
        for (int64_t r = 0; r < rows; r++) most = b[r] > most ? b[r] : most;
        if (most > 1) return "a bool that is neither 0 nor 1";
    }
    return NULL;
}

tra_status tra_columns_view(const tra_cell *c, const tra_schema *s, tra_batch *b, tra_err *e) {
    const tra_cell_part *p = c->head->part;
    int64_t rows = c->array.ext.v[0];
    const int64_t *dir = tra_cell_data(c, DIRECTORY);
    int64_t end = p[DIRECTORY].count == directory_count(s) ? 0 : -1;
    /* every column must be where tra_columns_begin puts it */
    for (int i = 0; i < s->n && end >= 0; i++) {
        int64_t values = tra_cell_aligned(end), states = -1;
        end = tra_add_most(values, tra_mul_most(rows, (int64_t)tra_coltype_size(s->v[i].type)));
        if (tra_column_has_states(&s->v[i])) states = tra_cell_aligned(end), end = tra_add_most(states, rows);
        if (dir[1 + 2 * i] != values || dir[2 + 2 * i] != states) end = -1;
    }
    if (end < 0 || end > p[BYTES].count)
        return tra_fail(e, TRA_INPUT, "a block of rows is damaged: a column is not where it should begin");
    show(c, s, b);
    return TRA_OK;
}

tra_status tra_columns_of(const tra_cell *c, const tra_schema *s, tra_batch *b, tra_err *e) {
    TRA_TRY(tra_columns_view(c, s, b, e));
    for (int i = 0; i < s->n; i++) {
        const char *why = wrong_values(&s->v[i], &b->v[i], b->rows);
        if (why) return tra_fail(e, TRA_INPUT, "a block of rows is damaged: column `%s` has %s", s->v[i].name, why);
    }
    return TRA_OK;
}

/* ---- dense arrays of an extent that the run tells ---------------------------------------------------------------- */

enum { EXTENTS, ARRAY, COUNTED_PARTS };

static int64_t elements(const tra_dims *ext) {
    int64_t n;
    return tra_dims_product(ext, &n) ? n : INT64_MAX;
}

static int64_t counted_room(tra_dtype t, int rank, int64_t n) {
    return tra_cell_room(COUNTED_PARTS, (int64_t[]){rank, n}, (int64_t[]){8, (int64_t)tra_dtype_size(t)});
}

int64_t tra_counted_room(tra_dtype t, const tra_dims *ext) { return counted_room(t, ext->n, elements(ext)); }

bool tra_counted_take(tra_cell *c, const tra_dims *ext) {
    return tra_cell_take(c, tra_counted_room(c->array.dtype, ext));
}

tra_size tra_counted_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows) {
    int rank = t->cat->bound.n;
    (void)rows;
    if (entries.exact) return tra_size_exactly(counted_room(t->dtype, rank, entries.bound));
    if (!t->bounded) return tra_size_exactly(tra_counted_room(t->dtype, ext));
    return firm(counted_room(t->dtype, rank, entries.expected), counted_room(t->dtype, rank, entries.bound));
}

const char *tra_counted_adopt_extents(tra_cell *c) {
    const tra_cell_part *p = c->head->part;
    int rank = c->array.ext.n;
    if (p[EXTENTS].each != 8 || p[EXTENTS].count != rank) return "without its extents";
    const int64_t *n = tra_cell_data(c, EXTENTS);
    for (int d = 0; d < rank; d++) {
        if (n[d] < 0 || n[d] > c->array.ext.v[d]) return "larger than it may be";
        c->array.ext.v[d] = n[d];
    }
    if (p[ARRAY].each != (int64_t)tra_dtype_size(c->array.dtype) || p[ARRAY].count != elements(&c->array.ext))
        return "of other extents than it says";
    c->array.data = tra_cell_data(c, ARRAY);
    return NULL;
}

void tra_counted_begin(tra_cell *c, const tra_dims *ext) {
    c->array.ext = *ext;
    tra_cell_begin(c, (int64_t[]){ext->n, elements(ext)}, (int64_t[]){8, (int64_t)tra_dtype_size(c->array.dtype)});
    int64_t *n = tra_cell_data(c, EXTENTS);
    for (int d = 0; d < ext->n; d++) n[d] = ext->v[d];
    c->array.data = tra_cell_data(c, ARRAY);
}

#define CLEAR(T)                                                                                                       \
    for (int64_t i = 0; i < n; i++) ((T *)values)[i] = state[i] ? 0 : ((T *)values)[i]

TRA_ANY_TARGET __attribute__((optimize("O3"))) uint8_t tra_values_clear(void *restrict values, size_t size,
                                                                        const uint8_t *restrict state, int64_t n) {
    uint8_t all = 0;
    for (int64_t i = 0; i < n; i++) all |= state[i];
    if (!all) return all;
    switch (size) {
    case 1: CLEAR(uint8_t); break;
    case 4: CLEAR(uint32_t); break;
    default: CLEAR(uint64_t); break;
    }
    return all;
}
