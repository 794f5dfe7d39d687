/* table_drawn.c - what a predicate leaves of rows that are drawn by the statistics of files, and how many different
 * values an expression has in them.
 *
 * Values of a row are drawn independently of each other, each by the frequencies or the histogram of its column. They
 * are spread evenly, and the same in each call: of column c, whose values are in order, row i has the one at the share
 * (i + 1/2) * STEPS[c] of all, less the whole part of that number. */
#include "cardinality.h"
#include "../../lib/table/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1 << 12, MOST_COLUMNS = 8 };

/* The columns that an expression reads. */
typedef struct drawing {
    int n;
    const tra_colexpr *column[MOST_COLUMNS];
    tra_column_facts facts[MOST_COLUMNS];
} drawing;

/* Does it look codes of strings up in a table? */
static bool looks_up(const tra_colexpr *x) {
    return x->op == TRA_C_LOOKUP || x->op == TRA_C_PICK || x->op == TRA_C_RECODE;
}

/* Does it choose one of its operands, strings by their codes in one dictionary? */
static bool chooses(const tra_colexpr *x) { return x->op == TRA_C_IFNULL || x->op == TRA_C_IF; }

/* Finds the columns; false: rows cannot be drawn for them, or the strings of one are needed. */
static bool find_columns(const tra_colexpr *x, drawing *d) {
    if (x->op == TRA_C_COLUMN) {
        for (int i = 0; i < d->n; i++)
            if (d->column[i]->column == x->column) return true;
        if (d->n == MOST_COLUMNS || !tra_table_facts(x->file, x->number, &d->facts[d->n])) return false;
        const tra_column_facts *f = &d->facts[d->n];
        bool values = f->rows == f->nulls || (f->whole ? f->n > 0 : f->histogram != NULL);
        d->column[d->n++] = x;
        return values && f->rows > 0;
    }
    bool looks = looks_up(x), codes = looks || chooses(x);
    if (x->op == TRA_C_CONST) return true;
    if ((tra_coltype_is_coded(x->type) && !codes) || (looks && !x->table)) return false;
    for (int i = 0; i < x->nkids; i++) {
        const tra_colexpr *kid = x->kids[i];
        bool own = kid->op == TRA_C_CONST || (codes && (kid->op == TRA_C_COLUMN || looks_up(kid) || chooses(kid)));
        if (!own && tra_coltype_is_coded(kid->type)) return false;
        if (!find_columns(x->kids[i], d)) return false;
    }
    return true;
}

/* The value at a share of the values, by the histogram. Statistics have the bits of an f64 for any float. */
static int64_t value_at(const tra_column_facts *f, tra_coltype t, double share) {
    double at = share * TRA_BUCKETS;
    int i = (int)fmin(at, TRA_BUCKETS - 1);
    double lo = tra_table_number(t, f->histogram[i]), hi = tra_table_number(t, f->histogram[i + 1]),
           v = lo + (at - i) * (hi - lo);
    int64_t bits;
    if (!tra_coltype_is_float(t)) return v >= hi ? f->histogram[i + 1] : (int64_t)floor(v);
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void put(void *to, tra_coltype t, int i, int64_t bits) {
    double x = tra_table_number(t, bits);
    float narrow = (float)x;
    int32_t word = (int32_t)bits;
    size_t size = tra_coltype_size(t);
    const void *from = tra_coltype_is_float(t) ? size == sizeof narrow ? (void *)&narrow : (void *)&x
                       : size == sizeof word   ? (void *)&word
                                               : (void *)&bits;
    memcpy((char *)to + (size_t)i * size, from, size); /* of a bool the first byte */
}

/* Can a row have this value? The statistics of a file may be damaged; codes are looked up, and bools are 0 or 1. */
static bool is_possible(const tra_column *c, int64_t bits) {
    int64_t values = tra_coltype_is_coded(c->type) ? (c->dict ? c->dict->n : 0)
                     : c->type == TRA_COL_BOOL     ? 2
                                                   : INT64_MAX;
    return values == INT64_MAX || (bits >= 0 && bits < values);
}

/* Fills a column with ROWS values; the values of whole frequencies are taken in order, and put where they belong.
 * False: the statistics are not those of such a column. */
static bool draw(const tra_column_facts *f, const tra_column *c, int column, tra_vector *v) {
    static const double STEPS[MOST_COLUMNS] = {0.6180339887498949, 0.4142135623730951, 0.7320508075688772,
                                               0.2360679774997898, 0.6457513110645906, 0.3166247903554,
                                               0.6055512754639891, 0.1231056256176606};
    double nulls = (double)f->nulls / (double)f->rows, all = (double)(f->rows - f->nulls);
    tra_coltype t = c->type;
    double *below = f->whole ? tra_malloc((size_t)(f->n + 1) * sizeof *below) : NULL, sum = 0;
    for (int64_t k = 0; below && k < f->n; k++) below[k] = sum += (double)f->frequency[k][1] / all;
    bool possible = is_possible(c, 0); /* which NULL has */
    for (int i = 0; i < ROWS && possible; i++) {
        double at = (i + 0.5) * STEPS[column], share = at - floor(at);
        if (v->state) v->state[i] = share < nulls ? TRA_STATE_NULL : TRA_STATE_VALUE;
        if (share < nulls || all <= 0) continue; /* it is 0 */
        share = (share - nulls) / (1 - nulls);
        int64_t from = 0, to = f->n - 1;
        while (below && from < to) {
            int64_t mid = from + (to - from) / 2;
            if (below[mid] > share)
                to = mid;
            else
                from = mid + 1;
        }
        int64_t bits = below ? f->frequency[from][0] : value_at(f, t, share);
        possible = is_possible(c, bits);
        if (possible) put(v->values, t, i, bits);
    }
    free(below);
    return possible;
}

/* Rows that were drawn, and the expression over them. */
typedef struct drawn {
    tra_schema schema;
    tra_batch rows;
    const tra_colexpr *x;
} drawn;

/* Draws rows in the arena; false: they cannot be. */
static bool draw_rows(tra_arena *a, const tra_colexpr *x, drawing *d, drawn *to) {
    enum { PAD = 64 };
    d->n = 0;
    if (tra_colexpr_uses_row(x) || !find_columns(x, d) || d->n == 0) return false;
    int most = 0;
    for (int i = 0; i < d->n; i++) most = d->column[i]->column > most ? d->column[i]->column : most;
    tra_column *c = tra_news(a, tra_column, d->n);
    tra_vector *v = tra_news(a, tra_vector, d->n);
    const tra_colexpr **by = tra_news(a, const tra_colexpr *, most + 1);
    for (int i = 0; i < d->n; i++) {
        const tra_colexpr *y = d->column[i];
        size_t bytes = ROWS * tra_coltype_size(y->type) + PAD;
        c[i] = (tra_column){.name = "", .type = y->type, .nullable = y->nullable, .dict = y->dict};
        c[i].file = y->file, c[i].number = y->number;
        v[i].values = tra_arena_array(a, bytes, 1);
        memset(v[i].values, 0, bytes);
        v[i].state = y->nullable ? tra_arena_array(a, ROWS + PAD, 1) : NULL;
        if (!draw(&d->facts[i], &c[i], i, &v[i])) return false;
    }
    to->schema = (tra_schema){d->n, c};
    to->rows = (tra_batch){.schema = &to->schema, .rows = ROWS, .v = v};
    for (int i = 0; i < d->n; i++) by[d->column[i]->column] = tra_colexpr_column(a, &to->schema, i);
    to->x = tra_colexpr_substitute(a, x, by);
    return true;
}

/* How many of the rows fulfil a predicate over these columns; -1: it cannot be told. */
static int64_t fulfil(tra_arena *a, const drawn *d, const tra_colexpr *x) {
    tra_rowwise *r = tra_rowwise_new(a, &d->schema);
    tra_err e = {0};
    int64_t n = -1;
    tra_rowwise_select(r, x);
    void *scratch = aligned_alloc(64, (size_t)tra_round64(tra_rowwise_scratch(r)) + 64);
    if (!scratch || tra_rowwise_count(r, &d->rows, 0, &n, scratch, &e) != TRA_OK) n = -1;
    free(scratch);
    return n;
}

bool tra_table_drawn(const tra_colexpr *x, double *yes, double *no) {
    drawing d;
    drawn of;
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    int64_t are = -1, not = -1;
    const tra_colexpr *not_x;
    if (draw_rows(a, x, &d, &of)) are = fulfil(a, &of, of.x);
    if (are >= 0 && tra_colexpr_call(a, TRA_C_NOT, 1, &of.x, &not_x, &e) == TRA_OK) not = fulfil(a, &of, not_x);
    tra_arena_free(a);
    if (are < 0 || not < 0) return false;
    *yes = fmax((double)are, 0.5) / ROWS, *no = fmax((double)not, 0.5) / ROWS;
    return true;
}

static int by_bits(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Different values of a vector, and how many of them are there once, and twice. NULL is one of them. */
typedef struct differing {
    double all, once, twice;
} differing;

static differing different(const tra_vector *v, size_t size) {
    enum { NULLS = 0x5a };
    uint64_t *bits = tra_calloc(ROWS, sizeof *bits);
    differing n = {0};
    for (int i = 0; i < ROWS; i++) {
        memcpy(&bits[i], (const char *)v->values + (size_t)i * size, size);
        if (v->state && v->state[i]) memset(&bits[i], NULLS, sizeof bits[i]);
    }
    qsort(bits, ROWS, sizeof *bits, by_bits);
    for (int i = 0, j; i < ROWS; i = j) {
        for (j = i + 1; j < ROWS && bits[j] == bits[i]; j++)
            ;
        n.all++, n.once += j - i == 1, n.twice += j - i == 2;
    }
    free(bits);
    return n;
}

double tra_table_drawn_values(const tra_colexpr *x) {
    static const double MANY = 0.5; /* of the rows: most values have not been drawn */
    drawing d;
    drawn of;
    tra_arena *a = tra_arena_new();
    double values = -1, inputs = 1, seen = 1;
    if (!draw_rows(a, x, &d, &of)) return tra_arena_free(a), -1;
    for (int i = 0; i < d.n; i++) {
        inputs *= (double)d.facts[i].distinct + (d.facts[i].nulls > 0);
        seen = fmin(ROWS, seen * different(&of.rows.v[i], tra_coltype_size(d.column[i]->type)).all);
    }
    tra_rowwise *r = tra_rowwise_new(a, &of.schema);
    tra_rowwise_project(r, 1, (const char *[]){"x"}, &of.x);
    const tra_column *c = &tra_rowwise_out(r)->v[0];
    size_t size = tra_coltype_size(c->type);
    tra_vector v = {.values = tra_arena_array(a, ROWS * size + 64, 1)};
    if (tra_column_has_states(c)) v.state = tra_arena_array(a, ROWS + 64, 1);
    tra_batch out = {.schema = tra_rowwise_out(r), .rows = ROWS, .v = &v};
    tra_err e = {0};
    void *scratch = aligned_alloc(64, (size_t)tra_round64(tra_rowwise_scratch(r)) + 64);
    if (scratch && tra_rowwise_run(r, &of.rows, 0, &out, scratch, NULL, &e) == TRA_OK) {
        differing n = different(&v, size);
        bool many = n.once > MANY * ROWS; /* then as many as there are inputs, in so far as these gave different ones */
        double more = fmin(n.once, n.once * n.once / (2 * fmax(1, n.twice))); /* that were not drawn */
        values = fmin(inputs, many ? inputs * n.all / seen : n.all + more);
    }
    free(scratch);
    tra_arena_free(a);
    return values;
}

const tra_colexpr *tra_table_over_passes(tra_arena *a, const tra_node *n, const tra_colexpr *x) {
    enum { MOST = 16 };
    const tra_rowwise_step *v;
    for (int at = 0; at < MOST && n->op == TRA_OP_TRANSFORM; at++, n = n->in[0]) {
        const tra_rows_kernel *k = tra_kernel_rows(n->kernel);
        if (!k || k->ops != &tra_rowwise_ops) break;
        for (int i = tra_rowwise_steps(k->data, &v) - 1; i >= 0; i--)
            if (!v[i].selects) x = tra_colexpr_substitute(a, x, v[i].x);
    }
    return x;
}
