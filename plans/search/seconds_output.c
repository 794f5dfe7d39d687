/* seconds_output.c - how long outputs take, besides their bytes on the disk: what a thread of one site does after all
 * blocks are there, so that more threads make it no faster. */
#include "cost.h"

#include "../../lib/physical/memory.h"
#include "../../lib/physical/needs.h"
#include "../../lib/tablefile/table_file.h"
#include "../tra/cardinality.h"

#include <math.h>
#include <string.h>

/* Different values that a column is expected to have; rows: nothing is known of them. */
static double different_values(const tra_column *c, double rows) {
    tra_column_facts f;
    if (c->file && tra_table_facts(c->file, c->number, &f)) return fmin(rows, (double)f.distinct);
    if (tra_coltype_is_coded(c->type) && c->dict) return fmin(rows, (double)c->dict->n);
    return c->type == TRA_COL_BOOL ? 2 : rows;
}

/* Seconds for the statistics of each value, and for dictionaries, one string after the other. */
static double table_seconds(const tra_op *op, const tra_rates *rates) {
    static const double FEW = 3, MANY = 4;      /* steps of a value, where those of a column are all counted, or not */
    static const double FILE = 2.4, MADE = 2.8; /* misses of a string from a file, and of one that the program makes */
    double rows = tra_expected_of(&op->type), seconds = 0;
    const tra_schema *s = op->type.columns;
    for (int c = 0; c < s->n; c++) {
        const tra_column *x = &s->v[c];
        bool many = different_values(x, rows) > TRA_WHOLE_FREQUENCIES / 2;
        seconds += rows * (many ? MANY : FEW) * tra_step_seconds(rates);
        if (!tra_coltype_is_coded(x->type) || !x->dict) continue;
        double strings = tra_dictionary_is_cut(x->dict, (int64_t)rows) ? rows : (double)x->dict->n;
        seconds += (x->file ? FILE : MADE) * strings * tra_miss_seconds(rates);
    }
    return seconds;
}

/* Steps for a value as text: digits of real numbers are many, and parts of times are computed. */
static double text_steps(tra_coltype t) {
    enum { WHOLE = 13, STRING = 9, BOOL = 7, REAL = 45, DATE = 20, TIME = 28 };
    return tra_coltype_is_coded(t)   ? STRING
           : tra_coltype_is_float(t) ? REAL
           : t == TRA_COL_TIMESTAMP  ? TIME
           : t == TRA_COL_DATE       ? DATE
           : t == TRA_COL_BOOL       ? BOOL
                                     : WHOLE;
}

/* Elements that are written as text: of a sparse result those that it has, where the format has places of them. */
static double written_as_text(const tra_type *t, const char *to) {
    const char *suffix = strrchr(to, '.');
    bool places =
        suffix && (strcmp(suffix, ".mtx") == 0 || strcmp(suffix, ".tns") == 0 || strcmp(suffix, ".edges") == 0);
    return places && tra_is_held(t) ? (double)tra_type_entries(t).expected : tra_expected_of(t);
}

/* Seconds for a result that is exported to a file of another format, as text unless its suffix says else. What is not
 * text is read again, and copied to pages of the cache that nobody had. */
static double export_seconds(const tra_op *op, const tra_rates *rates) {
    static const char *const binary[] = {".npy", ".npz", ".raw", ".h5ad", ".h5"};
    static const double AGAIN = 1.4, CACHED = 2.5; /* passes */
    const char *to = op->spec.target;
    double bytes = (double)tra_type_bytes_all(&op->type).expected, steps = 0;
    size_t n = to ? strlen(to) : 0;
    if (!to) return 0;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        size_t m = strlen(binary[i]);
        if (n >= m && strcmp(to + n - m, binary[i]) == 0)
            return bytes * (1 / rates->disk_read + 1 / rates->disk_write + (AGAIN + CACHED) / rates->memory);
    }
    const tra_schema *s = op->type.columns;
    for (int c = 0; s && c < s->n; c++) steps += text_steps(s->v[c].type);
    if (!s) steps = text_steps(tra_dtype_is_float(op->type.dtype) ? TRA_COL_F64 : TRA_COL_I64);
    if (!s && tra_is_held(&op->type)) steps += op->type.cat->bound.n * text_steps(TRA_COL_I64);
    return written_as_text(&op->type, to) * steps * tra_step_seconds(rates);
}

/* Seconds for blocks that wait until all are there: they are copied to pages of the file that were free before, and
 * what was written is read again, for its checksums. */
static double held_seconds(const tra_op *op, const tra_rates *rates) {
    static const double AGAIN = 1; /* passes */
    if (!tra_op_counts_first(op)) return 0;
    double strings = (double)tra_strings_written(&op->type).expected; /* are written when all are there */
    double bytes = (double)op->predicted.cost.disk_write.expected - strings, threads = fmax(1, rates->threads);
    double fresh = rates->touch > 0 ? bytes / rates->touch : bytes * AGAIN / rates->memory;
    return threads * (fresh + AGAIN * bytes / rates->memory);
}

/* Seconds of all threads for finding the entries of dense arrays that are stored by levels: each element is looked at
 * twice, to count and to store, and entries are put in order. */
static double packing_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    static const double LOOK = 0.5, ENTRY = 8; /* steps */
    const tra_type *t = &p->ops[op->in[0]].type;
    if (!op->spec.levels || t->layout || t->columns) return 0;
    double entries = t->sparse ? (double)tra_type_entries(t).expected : tra_expected_of(t);
    return (LOOK * tra_expected_of(t) + ENTRY * entries) * tra_step_seconds(rates) / fmax(1, rates->threads);
}

double tra_output_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    if (op->op != TRA_PLAN_OUTPUT) return 0;
    double own = held_seconds(op, rates) + (op->type.columns ? table_seconds(op, rates) : 0);
    return (own + packing_seconds(p, op, rates)) / p->sites + export_seconds(op, rates);
}
