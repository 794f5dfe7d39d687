/* table_bench.h - programs on a table of all types: what lib/table computes, node by node and kernel by kernel, against
 * the reference evaluator. */
#ifndef TRA_TEST_TABLE_BENCH_H
#define TRA_TEST_TABLE_BENCH_H

#include "check.h"
#include "graph_valid.h"

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/kernels.h"
#include "../../plans/reference/ref_table.h"

#include <unistd.h>

enum { ROWS = 300, BLOCK = 128, COLUMNS = 9 };

static const char *const words[] = {"", "a", "B", "ab", "abc", "\xC3\xA9t\xC3\xA9", "2017-04-15", "x%y", "zz z"};
enum { WORDS = sizeof words / sizeof *words };

/* A table of all types, with NULLs, NaN, -0 and extreme numbers, in a file. */
typedef struct bench {
    tra_arena *a;
    char path[64];
    tra_column column[COLUMNS];
    tra_schema schema;
    tra_vector v[COLUMNS];
    tra_batch batch;
    tra_err e;
} bench;

static double some_float(void) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1e300, -1e-300, 0.5, 2.5};
    return check_draw(3) ? (double)(check_draw(2001) - 1000) / 8 : odd[check_draw(9)];
}

static int64_t some_int(bool wide) {
    static const int64_t odd[] = {INT32_MIN, INT32_MAX, 0, -1, 1, INT64_MIN, INT64_MAX};
    return check_draw(4) ? check_draw(21) - 10 : odd[check_draw(wide ? 7 : 5)];
}

static void fill(bench *b, int c) {
    size_t size = tra_coltype_size(b->column[c].type);
    char *to = b->v[c].values = tra_arena_alloc(b->a, size * ROWS + 64);
    if (b->column[c].nullable) b->v[c].state = tra_news(b->a, uint8_t, ROWS);
    for (int i = 0; i < ROWS; i++, to += size) {
        bool null = b->column[c].nullable && check_draw(5) == 0;
        memset(to, 0, size);
        if (b->v[c].state) b->v[c].state[i] = null;
        if (null) continue;
        switch (b->column[c].type) {
        case TRA_COL_BOOL: *(uint8_t *)to = (uint8_t)check_draw(2); break;
        case TRA_COL_I32: *(int32_t *)to = (int32_t)some_int(false); break;
        case TRA_COL_I64: *(int64_t *)to = some_int(true); break;
        case TRA_COL_F32: *(float *)to = (float)some_float(); break;
        case TRA_COL_F64: *(double *)to = some_float(); break;
        case TRA_COL_DATE: *(int32_t *)to = (int32_t)(check_draw(40000) - 10000); break;
        case TRA_COL_TIMESTAMP: *(int64_t *)to = (check_draw(4000000000) - 1000000000) * 1000000 + check_draw(3); break;
        case TRA_COL_STRING:
        case TRA_COL_TEXT: *(int32_t *)to = (int32_t)check_draw(b->column[c].dict->n); break;
        }
    }
}

static const tra_dictionary *dictionary(tra_arena *a) {
    const char *s[WORDS];
    int64_t len[WORDS];
    int32_t *map;
    for (int i = 0; i < WORDS; i++) s[i] = words[i], len[i] = (int64_t)strlen(words[i]);
    const tra_dictionary *d = tra_dictionary_new(a, WORDS, s, len);
    return tra_dictionary_union(a, 1, &d, &map);
}

static void begin(bench *b) {
    static const struct {
        const char *name;
        tra_coltype type;
        bool nullable;
    } columns[COLUMNS] = {{"i", TRA_COL_I32, true},    {"j", TRA_COL_I64, true},        {"k", TRA_COL_I64, false},
                          {"x", TRA_COL_F64, true},    {"y", TRA_COL_F32, false},       {"f", TRA_COL_BOOL, true},
                          {"s", TRA_COL_STRING, true}, {"the day", TRA_COL_DATE, true}, {"t", TRA_COL_TIMESTAMP, true}};
    *b = (bench){.a = tra_arena_new()};
    snprintf(b->path, sizeof b->path, "%s/tra-lang-%d.h5", check_folder(), (int)getpid());
    b->schema = (tra_schema){COLUMNS, b->column};
    b->batch = (tra_batch){&b->schema, ROWS, b->v};
    for (int c = 0; c < COLUMNS; c++) {
        b->column[c] = (tra_column){.name = columns[c].name, .type = columns[c].type, .nullable = columns[c].nullable};
        if (tra_coltype_is_coded(columns[c].type)) b->column[c].dict = dictionary(b->a);
        fill(b, c);
    }
    tra_dims rows = {.n = 1, .v = {ROWS}}, block = {.n = 1, .v = {BLOCK}};
    tra_catalog *cat = tra_new(b->a, tra_catalog);
    tra_writer *w;
    CHECK_OK(tra_catalog_blocks(&rows, &block, cat, &b->e), b->e);
    tra_type t = {.dtype = TRA_F64, .cat = cat, .layout = &tra_columns, .columns = &b->schema, .cut = {1}};
    CHECK_OK(tra_writer_create(b->path, &t, &(tra_write_options){.history = NULL}, &w, &b->e), b->e);
    CHECK_OK(tra_writer_place_rows(w, NULL, &b->e), b->e);
    CHECK_OK(tra_writer_put_rows(w, 0, &b->batch, &b->e), b->e);
    CHECK_OK(tra_writer_commit(w, NULL, &b->e), b->e);
}

static void end(bench *b) {
    unlink(b->path);
    tra_arena_free(b->a);
}

/* ---- comparison --------------------------------------------------------------------------------------------- */

static bool equal(const ref_cell *x, const ref_cell *y, tra_coltype t) {
    if (x->state != y->state) return false;
    if (x->state != REF_VALUE) return true;
    if (tra_coltype_is_coded(t)) return x->len == y->len && memcmp(x->s, y->s, (size_t)x->len) == 0;
    if (!tra_coltype_is_float(t)) return x->i == y->i;
    return x->f == y->f || (isnan(x->f) && isnan(y->f)) || fabs(x->f - y->f) <= 1e-14 * fabs(y->f);
}

/* ---- running the nodes ------------------------------------------------------------------------------------------ */

/* Blocks of a node's tuples, each with its length. */
typedef struct blocks {
    void **v;
    int64_t *bytes;
} blocks;

static void *room(bench *b, int64_t bytes) {
    char *p = tra_arena_alloc(b->a, (size_t)bytes + 128);
    return p + (64 - (uintptr_t)p % 64) % 64;
}

/* Room for a result, which its maker asks for. */
typedef struct giver {
    tra_taker taker;
    bench *b;
} giver;

static void *give(tra_taker *t, int64_t bytes) { return room(((giver *)t)->b, tra_max64(bytes, 64)); }

static tra_cell cell_of(bench *b, const tra_node *n, const blocks *x, int64_t i) {
    tra_cell c;
    CHECK_OK(tra_cell_of(&n->type, i, x->v[i], x->bytes[i], &c, &b->e), b->e);
    return c;
}

/* Which tuples of both operands make tuple i of a join: its key is the left one, then what is not joined of the
 * right. */
static void operands_of(const tra_node *n, int64_t i, int64_t *left, int64_t *right) {
    const tra_catalog *l = n->in[0]->type.cat, *r = n->in[1]->type.cat;
    tra_dims key, x = {.n = l->frontier.n}, y = {.n = r->frontier.n};
    tra_catalog_key(n->type.cat, i, &key);
    for (int d = 0; d < x.n; d++) x.v[d] = key.v[d];
    for (int d = 0, at = x.n; d < y.n; d++) {
        int joined = -1;
        for (int j = 0; j < n->join.r.n; j++)
            if (n->join.r.v[j] == d) joined = (int)n->join.l.v[j];
        y.v[d] = joined >= 0 ? x.v[joined] : key.v[at++];
    }
    *left = tra_catalog_find(l, &x);
    *right = tra_catalog_find(r, &y);
}

/* Tuple i of a node by its kernel. */
static void run_kernel(bench *b, const tra_node *n, const blocks *all, int64_t i, blocks *out) {
    const tra_node *l = n->in[0], *r = n->in[1];
    const tra_kernel *k = n->kernel;
    int64_t at = i, beside = 0;
    if (r) operands_of(n, i, &at, &beside);
    tra_cell x = cell_of(b, l, &all[l->id], at), y = {0}, z;
    if (r) y = cell_of(b, r, &all[r->id], beside);
    tra_kept kept = {.room = r ? room(b, tra_cell_keep(k, &r->type.cat->bound)) : NULL};
    y.kept = &kept;
    void *scratch = room(b, tra_cell_scratch(k, r ? TRA_USE_JOIN : TRA_USE_MAP, &l->type, &l->type.cat->bound,
                                             r ? &r->type : NULL, r ? &r->type.cat->bound : NULL, n->type.layout));
    giver g = {.taker.take = give, .b = b};
    z = tra_cell_new(&n->type, i, NULL);
    z.from = &g.taker;
    if (!n->type.layout) z.array.data = room(b, tra_dense_bytes(n->type.dtype, &n->type.cat->bound));
    if (r)
        tra_cell_join(k, &x, &y, &z, scratch);
    else
        tra_cell_map(k, &x, &z, scratch);
    out->v[i] = tra_cell_block(&z);
    out->bytes[i] = tra_kernel_failure() ? 0 : tra_cell_bytes(&z);
}

static void run_concat(bench *b, const tra_node *n, const blocks *all, int64_t result, blocks *out) {
    const tra_node *in = n->in[0];
    int64_t count = in->type.cat->frontier.v[n->keydim], at = 0;
    tra_cell_piece *p = tra_news(b->a, tra_cell_piece, count + 1);
    tra_dims of, key = {.n = in->type.cat->frontier.n};
    tra_catalog_key(n->type.cat, result, &of);
    for (int64_t i = 0; i < count; i++) {
        tra_cell *c = tra_new(b->a, tra_cell);
        for (int d = 0, from = 0; d < key.n; d++) key.v[d] = d == n->keydim ? i : of.v[from++];
        *c = cell_of(b, in, &all[in->id], tra_catalog_find(in->type.cat, &key));
        p[i] = (tra_cell_piece){.src = c, .from.n = 1, .to = {.n = 1, .v = {at}}, .ext = c->array.ext};
        at += c->array.ext.v[0];
    }
    CHECK(!n->most || at <= n->most); /* the rows that this concatenation has at most */
    tra_cell z = tra_cell_new(&n->type, result, NULL);
    giver g = {.taker.take = give, .b = b};
    z.from = &g.taker;
    tra_cell_gather(p, count, &z, 1);
    out->v[result] = z.head;
    out->bytes[result] = tra_cell_bytes(&z);
}

static void run_input(bench *b, const tra_node *n, blocks *out) {
    for (int64_t i = 0; i < n->type.cat->n; i++) {
        size_t need = tra_rel_scratch_bytes(n->input.rel);
        out->bytes[i] = tra_type_bytes(&n->type, i).bound;
        out->v[i] = room(b, tra_max64(out->bytes[i], (int64_t)tra_rel_buffer_bytes(n->input.rel)));
        char *scratch = need ? tra_arena_alloc(b->a, need + 8192) : NULL;
        if (scratch) scratch += 4096 - (uintptr_t)scratch % 4096;
        CHECK_OK(tra_rel_read(n->input.rel, i, out->v[i], scratch, &b->e), b->e);
    }
}

/* All nodes of the graph, one tuple after the other; false when a kernel fails. */
static bool run_graph(bench *b, const tra_graph *g, blocks *all) {
    for (int id = 0; id < g->n; id++) {
        const tra_node *n = g->v[id];
        int64_t count = n->type.cat->n;
        all[id] = (blocks){tra_news(b->a, void *, count + 1), tra_news(b->a, int64_t, count + 1)};
        if (n->op == TRA_OP_INPUT) run_input(b, n, &all[id]);
        if (n->op == TRA_OP_REKEY) all[id] = all[n->in[0]->id];
        for (int64_t i = 0; n->op == TRA_OP_CONCAT && i < count; i++) run_concat(b, n, all, i, &all[id]);
        for (int64_t i = 0; n->kernel && i < count; i++) run_kernel(b, n, all, i, &all[id]);
        if (tra_kernel_failure()) return false;
    }
    return true;
}

static ref_table *taken(bench *b, const tra_node *n, const blocks *x, const ref_table *want) {
    ref_table *got = tra_new(b->a, ref_table);
    *got = (ref_table){.n = want->n, .column = want->column};
    int64_t rows = 0;
    for (int64_t i = 0; i < n->type.cat->n; i++) rows += cell_of(b, n, x, i).array.ext.v[0];
    got->v = tra_news(b->a, ref_cell, rows * want->n + 1);
    for (int64_t i = 0; i < n->type.cat->n; i++) {
        tra_cell c = cell_of(b, n, x, i);
        tra_batch one = {.schema = n->type.columns, .v = tra_news(b->a, tra_vector, want->n)};
        CHECK_OK(tra_columns_of(&c, n->type.columns, &one, &b->e), b->e);
        ref_table_take(n->type.columns, &one, got, got->rows, b->a);
        got->rows += one.rows;
    }
    return got;
}

static void compare(const char *program, const ref_table *got, const ref_table *want) {
    if (got->rows != want->rows) check_report("%s%" PRId64 " rows, not %" PRId64, program, got->rows, want->rows);
    for (int64_t i = 0; i < want->rows && got->rows == want->rows; i++)
        for (int c = 0; c < want->n; c++) {
            const ref_cell *x = ref_at(got, i, c), *y = ref_at(want, i, c);
            if (equal(x, y, want->column[c].type)) continue;
            check_report("%srow %d of %s is %d %" PRId64 " %.17g '%.*s', not %d %" PRId64 " %.17g '%.*s'", program,
                         (int)i, want->column[c].name, (int)x->state, x->i, x->f, (int)x->len, x->s ? x->s : "",
                         (int)y->state, y->i, y->f, (int)y->len, y->s ? y->s : "");
            return;
        }
}

/* Checks that the program compiles, and that both give the same, or both fail: for instance where an integer in a
 * predicate does not fit. */
static void try_program(bench *b, const char *program, int *ran) {
    tra_script src = {.name = "p.tra", .text = program, .n = (int)strlen(program)};
    tra_diags d = {.arena = b->a, .src = &src};
    tra_graph *g;
    const tra_ref_rel **v = NULL;
    tra_str text = {0};
    const char *why = NULL;
    tra_status s = tra_graph_build(&src, &(tra_building){.dir = "."}, b->a, &d, &g, &b->e);
    tra_diags_print(&d, false, &text);
    if (s != TRA_OK) check_report("%s%s", program, tra_str_get(&text));
    if (s == TRA_OK) {
        CHECK(graph_valid(g, &why));
        tra_status r = tra_reference_run(g, true, b->a, &v, &b->e);
        blocks *all = tra_news(b->a, blocks, g->n);
        bool fine = run_graph(b, g, all);
        if (fine != (r == TRA_OK))
            check_report("%sthe kernels: %s; the reference: %s", program, fine ? "fine" : tra_kernel_failure(),
                         r == TRA_OK ? "fine" : b->e.msg);
        tra_kernel_failure_clear();
        for (int i = 0; fine && r == TRA_OK && i < g->ntables; i++) {
            const tra_node *n = g->tables[i]->node;
            if (n->type.columns) compare(program, taken(b, n, &all[n->id], v[n->id]->table), v[n->id]->table);
            ++*ran;
        }
    }
    tra_str_free(&text);
    tra_graph_close(g);
}

#endif
