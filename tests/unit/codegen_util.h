/* codegen_util.h - small operands for plans, and whether compiled kernels give the same bits as the interpreter. */
#ifndef TRA_CODEGEN_UTIL_H
#define TRA_CODEGEN_UTIL_H

#include "check.h"

#include "../../lib/codegen/codegen.h"

/* What the names in plans stand for: a sparse matrix of m rows and n columns (ptr, idx, val), one as a hash map h and
 * as a trie t, an array x of n, a dense matrix d of n*m, ascending whole numbers u and w, a scalar s, a number c, whole
 * numbers k. */
typedef struct operands {
    tra_calc_name names[16];
    tra_codegen_name how[16];
    tra_component_data data[16];
    tra_calc_free scope[16];
    int n;
    tra_arena *arena;
    unsigned seed;
} operands;

enum { ROWS_M = 5, COLUMNS_N = 7 };

static inline unsigned draw(operands *o, unsigned below) {
    o->seed = o->seed * 1103515245 + 12345;
    return (o->seed >> 16 & 0x7fff) % below;
}

static inline int add_number(operands *o, const char *name, tra_calc_number v, bool natural) {
    o->names[o->n] = (tra_calc_name){.name = name, .type = {.real = v.real}};
    o->how[o->n].natural = natural;
    o->scope[o->n].number = v;
    return o->n++;
}

static inline const tra_calc *checked(operands *o, const char *text) {
    tra_calc_error err;
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), o->arena, &err);
    if (x && tra_calc_check(x, o->n, o->names, o->arena, &err)) return x;
    check_report("%s: %s", text, err.msg);
    return NULL;
}

static inline tra_component_data *add_component(operands *o, const char *name, tra_component_kind kind, bool real,
                                                int depth, tra_elements value, const char *size, const char *below) {
    int i = o->n;
    o->how[i] = (tra_codegen_name){.component = true, .kind = kind, .value = value.type};
    if (size) o->how[i].size = checked(o, size);
    if (below) o->how[i].below = checked(o, below);
    bool keyed = kind == TRA_COMPONENT_HASHMAP || kind == TRA_COMPONENT_TRIE;
    o->names[i] = (tra_calc_name){.name = name, .type = {real, keyed, depth}};
    o->data[i].value = value;
    o->scope[i] = (tra_calc_free){.component = &o->data[i], .kind = kind};
    o->n++;
    return &o->data[i];
}

/* facts: the compiler is told what is known of arrays: their sizes, bounds of their elements. */
static inline void make_operands(operands *o, unsigned seed, bool facts) {
    *o = (operands){.arena = tra_arena_new(), .seed = seed};
    add_number(o, "m", tra_calc_int(ROWS_M), facts);
    add_number(o, "n", tra_calc_int(COLUMNS_N), facts);
    add_number(o, "k", tra_calc_int(3), false);
    add_number(o, "c", tra_calc_real(0.75), false);
    int64_t *ptr = tra_news(o->arena, int64_t, ROWS_M + 1);
    int32_t *idx = tra_news(o->arena, int32_t, ROWS_M * COLUMNS_N);
    double *val = tra_news(o->arena, double, ROWS_M *COLUMNS_N), *x = tra_news(o->arena, double, COLUMNS_N);
    uint16_t *row = tra_news(o->arena, uint16_t, ROWS_M * COLUMNS_N);
    int64_t *column = tra_news(o->arena, int64_t, ROWS_M * COLUMNS_N), n = 0, *u = tra_news(o->arena, int64_t, 6);
    float *d = tra_news(o->arena, float, ROWS_M *COLUMNS_N);
    uint8_t *w = tra_news(o->arena, uint8_t, 5);
    for (int i = 0; i < ROWS_M; i++) {
        for (int j = 0; j < COLUMNS_N; j++) {
            if (i == 2 || draw(o, 3)) continue;
            row[n] = (uint16_t)i;
            column[n] = idx[n] = j;
            val[n++] = draw(o, 8) ? (double)draw(o, 1000) / 7 - 60 : 0;
        }
        ptr[i + 1] = n;
    }
    for (int j = 0; j < COLUMNS_N; j++) x[j] = j == 4 ? (draw(o, 2) ? NAN : INFINITY) : (double)draw(o, 100) / 3;
    for (int i = 0; i < ROWS_M * COLUMNS_N; i++) d[i] = draw(o, 4) ? (float)draw(o, 100) / 3 : 0;
    for (int i = 0; i < 6; i++) u[i] = (i ? u[i - 1] : 0) + (int64_t)draw(o, 3);
    for (int i = 0; i < 5; i++) w[i] = (uint8_t)((i ? w[i - 1] : 0) + draw(o, 2));
    add_component(o, "ptr", TRA_COMPONENT_ARRAY, false, 1, (tra_elements){TRA_ELEMENT_I64, ROWS_M + 1, ptr},
                  facts ? "m + 1" : NULL, NULL);
    add_component(o, "idx", TRA_COMPONENT_ARRAY, false, 1, (tra_elements){TRA_ELEMENT_I32, n, idx},
                  facts ? "ptr(m)" : NULL, facts ? "n" : NULL);
    add_component(o, "val", TRA_COMPONENT_ARRAY, true, 1, (tra_elements){TRA_ELEMENT_F64, n, val},
                  facts ? "ptr(m)" : NULL, NULL);
    add_component(o, "x", TRA_COMPONENT_ARRAY, true, 1, (tra_elements){TRA_ELEMENT_F64, COLUMNS_N, x},
                  facts ? "n" : NULL, NULL);
    add_component(o, "d", TRA_COMPONENT_ARRAY, true, 1, (tra_elements){TRA_ELEMENT_F32, ROWS_M * COLUMNS_N, d},
                  facts ? "n*m" : NULL, NULL);
    tra_component_data *h =
        add_component(o, "h", TRA_COMPONENT_HASHMAP, true, 2, (tra_elements){TRA_ELEMENT_F64, n, val}, NULL, NULL);
    h->key[0] = (tra_elements){TRA_ELEMENT_U16, n, row};
    h->key[1] = (tra_elements){TRA_ELEMENT_I64, n, column};
    o->how[o->n - 1].key[0] = TRA_ELEMENT_U16;
    o->how[o->n - 1].key[1] = TRA_ELEMENT_I64;
    tra_component_data *t =
        add_component(o, "t", TRA_COMPONENT_TRIE, true, 2, (tra_elements){TRA_ELEMENT_F64, n, val}, NULL, NULL);
    memcpy(t->key, h->key, sizeof t->key);
    memcpy(o->how[o->n - 1].key, o->how[o->n - 2].key, sizeof o->how[0].key);
    add_component(o, "u", TRA_COMPONENT_ARRAY, false, 1, (tra_elements){TRA_ELEMENT_I64, 6, u}, NULL, NULL);
    add_component(o, "w", TRA_COMPONENT_ARRAY, false, 1, (tra_elements){TRA_ELEMENT_U8, 5, w}, NULL, NULL);
    add_component(o, "s", TRA_COMPONENT_SCALAR, true, 0, (tra_elements){TRA_ELEMENT_F64, 1, x}, NULL, NULL);
}

/* All that running a plan once gives. */
typedef struct outcome {
    tra_status status;
    tra_err_kind kind;
    char msg[512];
    double out[1 << 12];
    int64_t row[1 << 10], begin[(1 << 10) + 1], nrows, n;
    uint32_t column[1 << 12];
} outcome;

static inline void run_plan(tra_codegen *g, operands *o, const tra_codegen_spec *s, outcome *r, bool *compiled) {
    const tra_codegen_kernel *k = NULL;
    tra_err e = {0};
    memset(r, 0, sizeof *r);
    tra_codegen_rows rows = {r->row, r->begin, r->column, r->out, 1 << 10, 1 << 12, 0, 0};
    tra_codegen_call c = {.scope = o->scope, .out = r->out, .rows = &rows};
    r->status = tra_codegen_make(g, s, true, &k, &e);
    if (r->status == TRA_OK) {
        *compiled = tra_codegen_compiled(k);
        int64_t most_rows = 0, most = 0;
        if (s->result == TRA_CODEGEN_ROWS) {
            tra_err ignored = {0};
            if (tra_codegen_count(k, &c, &most_rows, &most, &ignored) == TRA_OK) {
                CHECK(most_rows <= 1 << 10 && most <= 1 << 12);
                rows.room_rows = most_rows;
                rows.room = most;
            }
        }
        r->status = tra_codegen_run(k, &c, &e);
        r->nrows = rows.nrows;
        r->n = rows.n;
        CHECK(r->status != TRA_OK || s->result != TRA_CODEGEN_ROWS || (rows.nrows <= most_rows && rows.n <= most));
    }
    r->kind = e.kind;
    snprintf(r->msg, sizeof r->msg, "%.500s", e.msg);
}

static const char *const result_text[] = {"scalar", "dense", "calls", "rows"};

/* Compiled and interpreted give the same bits, or both an error. Returns whether it was compiled. */
static inline bool check_same(int line, tra_codegen *g, operands *o, const tra_calc *x, tra_codegen_result result,
                              tra_element type, bool wide) {
    static outcome a, b;
    tra_codegen_spec *s = tra_new(o->arena, tra_codegen_spec);
    static const char *const extents[] = {"m", "n", "m"};
    tra_codegen *off = tra_codegen_open(TRA_CODEGEN_OFF);
    bool compiled = false, none;
    *s = (tra_codegen_spec){.name = "Z",
                            .plan = x,
                            .n = o->n,
                            .scope = o->names,
                            .how = o->how,
                            .result = result,
                            .type = type,
                            .wide = wide};
    for (int d = 0; d < x->type.depth; d++) s->extent[d] = checked(o, x->type.depth == 1 ? "n" : extents[d]);
    run_plan(g, o, s, &a, &compiled);
    run_plan(off, o, s, &b, &none);
    tra_codegen_close(off);
    if (result == TRA_CODEGEN_ROWS && strstr(a.msg, "rows in order")) return compiled; /* no plan has these */
    bool same = a.status == b.status;
    /* which NaN a result is does not matter */
    for (int i = 0; i < 1 << 12 && type == TRA_ELEMENT_F64; i++)
        if (isnan(a.out[i]) && isnan(b.out[i])) a.out[i] = b.out[i];
    for (int i = 0; i < 2 && result == TRA_CODEGEN_ROWS; i++) { /* what lies beyond the entries does not count */
        outcome *r = i ? &b : &a;
        size_t size = type == TRA_ELEMENT_F32 ? 4 : 8;
        memset((char *)r->out + (size_t)r->n * size, 0, sizeof r->out - (size_t)r->n * size);
        memset(r->column + r->n, 0, sizeof r->column - (size_t)r->n * 4);
        memset(r->row + r->nrows, 0, sizeof r->row - (size_t)r->nrows * 8);
        memset(r->begin + r->nrows + 1, 0, sizeof r->begin - (size_t)(r->nrows + 1) * 8);
    }
    if (same && a.status == TRA_OK)
        same = memcmp(&a, &b, sizeof a) == 0;
    else if (same)
        same = a.kind == b.kind && a.msg[0] && b.msg[0];
    if (!same) {
        tra_str text = {0}, source = {0};
        tra_calc_print(x, &text);
        check_report("line %d, %s: %s: compiled %d %s, interpreted %d %s\n", line, result_text[result],
                     tra_str_get(&text), a.status, a.msg, b.status, b.msg);
        for (int i = 0; i < 40; i++)
            if (memcmp(&a.out[i], &b.out[i], 8) != 0) printf("# at %d: %.17g, not %.17g\n", i, a.out[i], b.out[i]);
        tra_err e = {0};
        if (getenv("SHOW") && tra_codegen_source(s, &source, &e) == TRA_OK) puts(tra_str_get(&source));
        tra_str_free(&text);
        tra_str_free(&source);
    }
    return compiled;
}

/* The same by a plan's rank: a number, or a dense array or (rows) rows of entries. Returns how many were compiled. */
static inline int check_plan(int line, tra_codegen *g, operands *o, const tra_calc *x, bool rows, bool wide) {
    int compiled = 0;
    if (!x) return 0;
    tra_element type = x->type.real ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64;
    if (x->type.depth == 0) return check_same(line, g, o, x, TRA_CODEGEN_SCALAR, type, wide);
    if (x->type.depth > 3) return 0;
    compiled += check_same(line, g, o, x, rows ? TRA_CODEGEN_ROWS : TRA_CODEGEN_DENSE, type, wide);
    return compiled;
}

#endif
