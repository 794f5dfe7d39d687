/* base.c - the bytes that a process holds besides blocks: its code and stacks, open files, dictionaries, and the
 * bookkeeping of tuples. */
#include "needs.h"

#include "../model/rows.h"
#include "../storage/stored.h"
#include "../tablefile/table_file.h"
#include "repart.h"

#include <stdlib.h>
#include <string.h>

/* A set of pointers, in which things that operators share are counted once. */
typedef struct seen {
    const void **v;
    int64_t n, cap;
} seen;

/* Adds x to the set. Returns whether it was not there before. */
static bool is_new(seen *s, const void *x) {
    int64_t k = 0;
    while (k < s->n && s->v[k] != x) k++;
    if (k < s->n) return false;
    TRA_ROOM(s->v, s->n, s->cap);
    s->v[s->n++] = x;
    return true;
}

/* Bytes of four things: *files: what open tables hold, most of it dictionaries; *again: of these what the run holds
 * once more, since it opens the files too, but reads no strings; *made: dictionaries that operators make, or what says
 * of united ones whose code is which, and what the longest string takes while it is written (a copy that grew by
 * doubling, and two in HDF5); *statistics: the statistics of open tables, which planning has read and which are freed
 * when the run begins. Little of the first three counts as 0, since TRA_PROCESS has room for it. */
static void dictionary_bytes(const tra_plan *p, int64_t *files, int64_t *again, int64_t *made, int64_t *statistics) {
    enum { SMALL = 1024, INCLUDED = 64 << 10 };
    seen rels = {0}, dicts = {0};
    int64_t longest = 0;
    *files = *again = *made = *statistics = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_schema *s = p->ops[i].type.columns;
        bool file = tra_op_is(p->ops[i].op, TRA_FILE);
        for (int c = 0; s && c < s->n; c++) {
            const tra_dictionary *d = s->v[c].dict;
            if (file && s->v[c].file && is_new(&rels, s->v[c].file)) {
                *files += tra_rel_held_bytes(s->v[c].file);
                *again += tra_rel_held_bytes(s->v[c].file) - tra_rel_strings_bytes(s->v[c].file);
                *statistics += tra_rel_facts_bytes(s->v[c].file);
            }
            if (d && p->ops[i].op == TRA_PLAN_OUTPUT) longest = tra_max64(longest, d->longest);
            if (tra_dictionary_is_away(d) && is_new(&dicts, d)) *made += d->nparts * (d->n / 8 + d->n / 16);
            if (!d || !d->begin || d->begin[d->n] + 8 * d->n <= SMALL || !is_new(&dicts, d)) continue;
            if (!file) *made += d->begin[d->n] + 16 * d->n; /* with the codes that are needed to make it */
        }
    }
    free(rels.v);
    free(dicts.v);
    *made += 4 * longest;
    if (*files <= INCLUDED) *files = 0;
    if (*again <= INCLUDED) *again = 0;
    if (*made <= INCLUDED) *made = 0;
}

/* Is the operator an input whose values are made? No file is open for it. */
static bool is_made(const tra_op *op) {
    return tra_op_is(op->op, TRA_READS) && op->spec.path && tra_rel_is_made(op->spec.path);
}

/* The columns of the file that an operator reads or writes, also those that the program does not use. */
static int64_t columns_of_file(const tra_op *op) {
    const tra_schema *s = op->type.columns;
    for (int c = 0; s && c < s->n && tra_op_is(op->op, TRA_READS); c++)
        if (s->v[c].file) return tra_rel_type(s->v[c].file)->columns->n;
    return s ? s->n : 0;
}

/* Bytes that a process holds both while it plans and while it runs. *again: what the run holds of them once more.
 * *statistics: what planning holds in addition: the statistics of tables. */
static int64_t process_bytes(const tra_plan *p, int64_t *again, int64_t *statistics) {
    int64_t files = 0, columns = 0, of_files, made;
    for (int i = 0; i < p->nops; i++) {
        if (!tra_op_is(p->ops[i].op, TRA_FILE) || is_made(&p->ops[i])) continue;
        files++;
        columns += tra_min64(TRA_COLUMNS_CACHED, columns_of_file(&p->ops[i]));
    }
    dictionary_bytes(p, &of_files, again, &made, statistics);
    return of_files + made + (p->sites > 1 ? TRA_PROCESS_MPI : TRA_PROCESS) +
           tra_max64(0, files - TRA_FILES_INCLUDED) * TRA_FILE_CACHE +
           tra_max64(0, columns - TRA_COLUMNS_INCLUDED) * TRA_COLUMN_CACHE;
}

int64_t tra_memory_start(const tra_plan *p) {
    int64_t again, statistics, process = process_bytes(p, &again, &statistics);
    return process + statistics;
}

/* The most tuples of op's result that a single site keeps records of. That is all of them for an exchange, whose sites
 * list every tuple, and for a file, whose index is on every site. */
static int64_t tuples_here(const tra_plan *p, const tra_op *op) {
    const tra_catalog *c = op->type.cat;
    if (p->sites == 1 || tra_op_is(op->op, TRA_FILE | TRA_EXCHANGES)) return c->n;
    if (op->holds) return op->holds->most;
    int64_t most = 0;
    tra_site_kind *v;
    for (int i = tra_place_kinds(&op->place, c, &v) - 1; i >= 0; i--) most = tra_max64(most, v[i].tuples);
    free(v);
    return most;
}

/* The most tuples that a site keeps records of at once. A result counts from the operator that begins it to the last
 * one that reads it; a file's index counts all the time. Which operators are fused, scanned together or overlap is only
 * chosen later, within the memory that this leaves, so the earliest begin and the latest end are assumed: a result
 * begins when the first reader of its operands may run, that of an exchange with the exchange, and the input of an
 * operator that may become a view, or of an exchange, is held as long as the result of that operator. */
static int64_t tuples_at_once(const tra_plan *p) {
    int64_t most = 0, *change = tra_calloc((size_t)p->nops + 1, sizeof *change);
    int *begin = tra_calloc(3 * (size_t)p->nops + 1, sizeof *begin), *first = begin + p->nops, *last = first + p->nops;
    for (int i = p->nops - 1; i >= 0; i--) { /* the first and the last operator that reads each result */
        const tra_op *op = &p->ops[i];
        bool keeps = tra_op_is(op->op, TRA_RENAMES | TRA_FUSES | TRA_EXCHANGES);
        if (last[i] < i) first[i] = last[i] = i;
        for (int k = 0; k < 2 && op->in[k] >= 0; k++) {
            int in = op->in[k], until = keeps ? last[i] : i;
            first[in] = i;
            last[in] = until > last[in] ? until : last[in];
        }
    }
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        bool file = tra_op_is(op->op, TRA_FILE), keeps = tra_op_is(op->op, TRA_RENAMES | TRA_FUSES);
        bool in_order = file || tra_op_is(op->op, TRA_EXCHANGES);
        int64_t pieces = op->op == TRA_PLAN_REPART ? tra_repart_pieces(p, op) : 0,
                tuples = tra_min64(INT64_C(1) << 48, tuples_here(p, op) * (file ? 2 : 1) + pieces);
        begin[i] = file ? 0 : i;
        for (int k = 0; k < 2 && op->in[k] >= 0 && !in_order; k++) {
            int in = op->in[k];
            begin[i] = first[in] < begin[i] ? first[in] : begin[i];
            if (keeps && first[in] < first[i]) first[i] = first[in];
        }
        change[begin[i]] += tuples;
        change[file ? p->nops : last[i] + 1] -= tuples;
    }
    for (int64_t i = 0, now = 0; i < p->nops; i++) {
        now += change[i];
        most = tra_max64(most, now);
    }
    free(begin);
    free(change);
    return most;
}

/* How many workers get packing buffers for products (TRA_PACKER). */
static int64_t packers(const tra_plan *p, int threads) {
    int64_t n = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_kernel *k[] = {p->ops[i].spec.join, p->ops[i].spec.agg, p->ops[i].spec.map};
        bool entries = false;
        for (int side = 0; side < 2; side++)
            entries |= p->ops[i].in[side] >= 0 && p->ops[p->ops[i].in[side]].type.layout == &tra_rows;
        for (int j = 0; j < 3; j++)
            n = tra_add_most(n, k[j] ? tra_mul_most(p->ops[i].type.cat->n, tra_kernel_packers(k[j], entries && j != 1))
                                     : 0);
    }
    return tra_min64(n, threads);
}

int64_t tra_units_queued(int64_t bytes, int threads) {
    return tra_min64(TRA_LOOKAHEAD, TRA_LOOKAHEAD_BYTES / tra_max64(1, bytes) + 2 * threads + 1);
}

/* Bytes of the records of pieces of results: of units that are queued, and of those that workers run. */
static int64_t pieces_bytes(const tra_plan *p, const tra_op *op, int threads) {
    enum { MOST = 1 << 30 };
    int64_t all = tra_max64(1, op->type.cat->n), results = tra_max64(1, tuples_here(p, op));
    int64_t each = tra_min64(MOST, p->ops[op->in[0]].type.cat->n / all + 1);
    int64_t bytes = tra_type_bytes_all(&op->type).expected / all;
    int64_t queued = each * tra_min64(results, tra_units_queued(bytes, threads)) - TRA_PIECES_INCLUDED;
    return tra_max64(0, queued) * TRA_PIECE_QUEUED + threads * each * TRA_PIECE_GATHERED;
}

/* The most bytes that any operator has of records of what it combines: pieces, or tuples of both operands. */
static int64_t combined_bytes(const tra_plan *p, int threads) {
    int64_t most = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (op->op == TRA_PLAN_CONCAT || op->op == TRA_PLAN_REPART)
            most = tra_max64(most, pieces_bytes(p, op, threads));
        if (op->in[0] < 0 || op->in[1] < 0) continue;
        int64_t tuples =
            tra_min64(INT64_C(1) << 48, tuples_here(p, &p->ops[op->in[0]]) + tuples_here(p, &p->ops[op->in[1]]));
        most = tra_max64(most, (tuples - TRA_PIECES_INCLUDED) * TRA_LISTED);
    }
    return most;
}

int64_t tra_memory_base(const tra_plan *p, int threads) {
    int64_t run = p->sites > 1 ? TRA_PLAN_OF_RUN_MPI : TRA_PLAN_OF_RUN;
    int64_t tuples = tuples_at_once(p), chunk = 0, library = 0, codec = 0, words = 0, again, statistics;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        library = tra_max64(library, op->spec.hdf5_bytes); /* one read at a time */
        bool packed = op->spec.levels || op->spec.mapping || op->type.columns;
        if (op->op == TRA_PLAN_OUTPUT && !packed) chunk = tra_max64(chunk, tra_store_chunk_bytes(&op->type));
        if (op->op == TRA_PLAN_OUTPUT && op->type.columns)
            words = tra_max64(words, tra_string_words_bytes(op->type.columns, threads));
        if (op->op == TRA_PLAN_OUTPUT && packed && p->compress)
            codec = tra_max64(codec, tra_pack_bytes(&op->type, p->compress, threads));
    }
    if (p->compress && chunk > 0) codec = tra_max64(codec, threads * tra_codec_context(p->compress, chunk));
    int64_t process = process_bytes(p, &again, &statistics);
    return process + again + run + (int64_t)threads * TRA_WORKER + packers(p, threads) * TRA_PACKER +
           (int64_t)p->nops * TRA_OPERATOR + TRA_TUPLE * tra_min64(tuples, INT64_MAX / (2 * TRA_TUPLE)) + codec +
           library + words + combined_bytes(p, threads) + p->program;
}

int64_t tra_least_with_margin(int64_t least, int64_t base) {
    static const double MARGIN = 1.65;
    return base + (int64_t)(MARGIN * (double)tra_max64(0, least - base));
}

char *tra_least_text(int64_t least, int64_t base, const char *estimated, const char *what, char buf[TRA_LEASTTEXT]) {
    char ceiling[TRA_CEILINGTEXT];
    if (estimated) least = tra_least_with_margin(least, base);
    snprintf(buf, TRA_LEASTTEXT, "%s%s%s%s%s", estimated ? "about " : "", tra_ceiling_text(least, what, ceiling),
             !estimated   ? ""
             : *estimated ? ", by an estimate of the entries of "
                          : ", by estimates of entries",
             estimated ? estimated : "",
             least > 2 * base ? "; smaller blocks (--block of gen and import) may need less" : "");
    return buf;
}
