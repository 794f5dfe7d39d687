/* rowwise.c - select, project and matrix, strip by strip: a strip goes through all steps while it is in the cache. */
#include "table_int.h"

#include "../base/simd.h"

#include <assert.h>
#include <string.h>

typedef struct rstep {
    bool selects;
    const tra_schema *in; /* the columns before it */
    const tra_colcode *code;
    const bool *live; /* selects: columns that are read after it */
} rstep;

struct tra_rowwise {
    tra_arena *arena;
    const tra_schema *in, *out;
    int nsteps;
    tra_rowwise_step *source; /* what the steps were made of */
    rstep *steps;
    bool matrix;
    tra_dtype dtype;
    const double *fill;
};

tra_rowwise *tra_rowwise_new(tra_arena *a, const tra_schema *in) {
    tra_rowwise *r = tra_new(a, tra_rowwise);
    *r = (tra_rowwise){.arena = a, .in = in, .out = in};
    return r;
}

/* Columns that the steps after `at` read of what step `at` lets through. */
static const bool *live_after(const tra_rowwise *r, int at) {
    const tra_schema *s = r->steps[at].in;
    bool *live = tra_news(r->arena, bool, s->n + 1);
    for (int k = at + 1; k < r->nsteps; k++) {
        for (int i = 0; i < r->source[k].n; i++) tra_colexpr_columns(r->source[k].x[i], live);
        if (!r->source[k].selects) return live;
    }
    for (int i = 0; i < s->n; i++) live[i] = true;
    return live;
}

/* Sets the live columns of the selections before step n which no projection before it follows: it may read more. */
static void set_live(const tra_rowwise *r, rstep *steps, int n) {
    for (int i = n - 1; i >= 0 && (i == n - 1 || steps[i].selects); i--)
        if (steps[i].selects) steps[i].live = live_after(r, i);
}

static void add(tra_rowwise *r, tra_rowwise_step s) {
    tra_rowwise_step *source = tra_news(r->arena, tra_rowwise_step, r->nsteps + 1);
    rstep *steps = tra_news(r->arena, rstep, r->nsteps + 1);
    if (r->nsteps > 0) {
        memcpy(source, r->source, (size_t)r->nsteps * sizeof *source);
        memcpy(steps, r->steps, (size_t)r->nsteps * sizeof *steps);
    }
    source[r->nsteps] = s;
    steps[r->nsteps] = (rstep){.selects = s.selects, .in = r->out, .code = tra_colcode_new(r->arena, s.n, s.x)};
    r->source = source;
    r->steps = steps;
    r->nsteps++;
    set_live(r, steps, r->nsteps);
}

void tra_rowwise_select(tra_rowwise *r, const tra_colexpr *predicate) {
    const tra_colexpr **x = tra_new(r->arena, const tra_colexpr *);
    x[0] = predicate;
    assert(predicate->type == TRA_COL_BOOL);
    add(r, (tra_rowwise_step){.selects = true, .n = 1, .x = x});
}

void tra_rowwise_project(tra_rowwise *r, int n, const char *const *names, const tra_colexpr *const *x) {
    const tra_colexpr **mine = tra_news(r->arena, const tra_colexpr *, n + 1);
    const char **called = tra_news(r->arena, const char *, n + 1);
    tra_column *c = tra_news(r->arena, tra_column, n + 1);
    tra_schema *s = tra_new(r->arena, tra_schema);
    for (int i = 0; i < n; i++) {
        mine[i] = x[i];
        called[i] = tra_arena_strndup(r->arena, names[i], strlen(names[i]));
        c[i] = tra_colexpr_result(x[i], called[i]);
    }
    add(r, (tra_rowwise_step){.n = n, .names = called, .x = mine});
    *s = (tra_schema){n, c};
    r->out = s;
}

tra_status tra_rowwise_matrix(tra_rowwise *r, int n, const char *const *names, const tra_colexpr *const *x, tra_dtype t,
                              const double *fill, tra_err *e) {
    const tra_colexpr **to = tra_news(r->arena, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        tra_err why = {0};
        if (tra_colexpr_convert(r->arena, x[i], tra_coltype_of(t), NULL, &to[i], &why) != TRA_OK)
            return tra_fail(e, TRA_PROGRAM,
                            "column `%s` of the matrix is of type %s, which gives no elements of type %s", names[i],
                            tra_coltype_name(x[i]->type), tra_dtype_name(t));
    }
    tra_rowwise_project(r, n, names, to);
    r->matrix = true;
    r->dtype = t;
    if (fill) {
        double *mine = tra_new(r->arena, double);
        *mine = *fill;
        r->fill = mine;
    }
    return TRA_OK;
}

const tra_schema *tra_rowwise_in(const tra_rowwise *r) { return r->in; }
const tra_schema *tra_rowwise_out(const tra_rowwise *r) { return r->out; }

bool tra_rowwise_is_matrix(const tra_rowwise *r, tra_dtype *t) {
    if (t) *t = r->dtype;
    return r->matrix;
}

bool tra_rowwise_selects(const tra_rowwise *r) {
    for (int i = 0; i < r->nsteps; i++) {
        if (r->steps[i].selects) return true;
    }
    return false;
}

int tra_rowwise_steps(const tra_rowwise *r, const tra_rowwise_step **v) {
    *v = r->source;
    return r->nsteps;
}

bool tra_rowwise_is_identity(const tra_rowwise *r) {
    bool same = !r->matrix && tra_schema_eq(r->in, r->out);
    for (int k = 0; k < r->nsteps && same; k++) {
        const tra_rowwise_step *v = &r->source[k];
        same = !v->selects && v->n == r->in->n;
        for (int i = 0; i < v->n && same; i++) same = v->x[i]->op == TRA_C_COLUMN && v->x[i]->column == i;
    }
    return same;
}

const double *tra_rowwise_fill(const tra_rowwise *r) { return r->fill; }

bool tra_rowwise_uses_row(const tra_rowwise *r) {
    for (int i = 0; i < r->nsteps; i++) {
        for (int k = 0; k < r->source[i].n; k++) {
            if (tra_colexpr_uses_row(r->source[i].x[k])) return true;
        }
    }
    return false;
}

const tra_rowwise *tra_rowwise_then(tra_arena *a, const tra_rowwise *first, const tra_rowwise *next) {
    tra_rowwise *r = tra_new(a, tra_rowwise);
    int n = first->nsteps, all = n + next->nsteps, kept = 0; /* steps of next that keep the columns of first */
    tra_rowwise_step *source = tra_news(a, tra_rowwise_step, all + 1);
    rstep *steps = tra_news(a, rstep, all + 1);
    assert(!first->matrix);
    *r = *next;
    r->arena = a, r->in = first->in, r->nsteps = all, r->source = source, r->steps = steps;
    for (int i = 0; i < all; i++) {
        source[i] = i < n ? first->source[i] : next->source[i - n];
        steps[i] = i < n ? first->steps[i] : next->steps[i - n];
    }
    for (; n + kept < all && source[n + kept].selects; kept++) steps[n + kept].in = first->out;
    if (n + kept == all)
        r->out = first->out;
    else
        steps[n + kept].in = first->out;
    set_live(r, steps, n + kept + (n + kept < all));
    return r;
}

void tra_rowwise_print(const tra_rowwise *r, bool brief, tra_str *out) {
    for (int i = 0; i < r->nsteps; i++) {
        bool matrix = r->matrix && i == r->nsteps - 1;
        tra_str_add(out, i ? ", " : "");
        tra_str_add(out, r->source[i].selects ? "select(" : matrix ? "matrix(" : "project(");
        tra_step_print(r->arena, &r->source[i], r->steps[i].in, brief, out);
        if (matrix && r->fill) tra_str_printf(out, ", fill = %.17g", *r->fill);
        tra_str_add(out, ")");
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Which rows of a strip pass, a bit each. */
enum { GROUP = 16, GROUPS = TRA_COLSTRIP / GROUP };
typedef struct picked {
    int n; /* rows of the strip; 0: all pass */
    uint16_t group[GROUPS];
} picked;

static int64_t step_scratch(const rstep *s, int results) {
    int64_t n = tra_colcode_scratch(s->code) + tra_vectors_bytes((s->selects ? s->in->n : results) + 1);
    for (int i = 0; s->selects && i < s->in->n; i++) {
        if (s->live[i]) n += tra_round64((int64_t)tra_coltype_size(s->in->v[i].type) * TRA_COLSTRIP) + TRA_COLSTRIP;
    }
    return tra_round64(n);
}

int64_t tra_rowwise_scratch(const tra_rowwise *r) {
    int64_t n = tra_vectors_bytes(r->in->n + 1) + tra_round64(r->nsteps * (int64_t)sizeof(tra_colrun)) +
                tra_round64(r->nsteps * (int64_t)sizeof(char *)) + tra_round64(r->nsteps * (int64_t)sizeof(picked));
    for (int i = 0; i < r->nsteps; i++) n += step_scratch(&r->steps[i], r->source[i].n);
    return n;
}

typedef struct run {
    const tra_rowwise *r;
    tra_colrun *code; /* of each step */
    char **room;      /* of each step */
    tra_vector *in;
    picked *picked;         /* by each step that selects */
    tra_table_notes *notes; /* NULL: none are made */
} run;

static void begin(run *u, const tra_rowwise *r, void *scratch, tra_table_notes *notes) {
    char *p = scratch;
    *u = (run){.r = r, .in = scratch, .notes = notes};
    p += tra_vectors_bytes(r->in->n + 1);
    u->code = (tra_colrun *)p;
    p += tra_round64(r->nsteps * (int64_t)sizeof(tra_colrun));
    u->room = (char **)p;
    p += tra_round64(r->nsteps * (int64_t)sizeof(char *));
    u->picked = memset(p, 0, (size_t)r->nsteps * sizeof(picked));
    p += tra_round64(r->nsteps * (int64_t)sizeof(picked));
    for (int i = 0; i < r->nsteps; i++) {
        tra_colrun_begin(&u->code[i], r->steps[i].code, p);
        u->room[i] = p + tra_colcode_scratch(r->steps[i].code);
        p += step_scratch(&r->steps[i], r->source[i].n);
    }
}

/* pass: 1 or 0 of each row. Returns how many pass. */
static int pick_rows(picked *p, const uint8_t *pass, int n) {
    int m = 0;
    p->n = n;
    for (int g = 0; g * GROUP < n; g++) {
        uint64_t eight[2] = {0};
        memcpy(eight, pass + g * GROUP, (size_t)tra_min64(GROUP, n - g * GROUP));
        p->group[g] = 0;
        for (int k = 0; k < 2;
             k++) { /* the highest byte of a product has the lowest bits of eight bytes, or their sum */
            p->group[g] |= (uint16_t)(eight[k] * UINT64_C(0x0102040810204080) >> 56 << 8 * k);
            m += (int)(eight[k] * UINT64_C(0x0101010101010101) >> 56);
        }
    }
    return m;
}

#define GATHER(T)                                                                                                      \
    for (int g = 0, m = 0; g * GROUP < p->n; g++)                                                                      \
        for (unsigned bits = p->group[g]; bits; bits &= bits - 1)                                                      \
            ((T *)dst)[m++] = ((const T *)src)[g * GROUP + __builtin_ctz(bits)];

#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>

/* What is written behind the last row is within the strip: no more rows pass than were read. */
TRA_TARGET_AVX512 static void gather_fours(char *dst, const char *src, const picked *p) {
    for (int g = 0; g * GROUP < p->n; g++) {
        int n = p->n - g * GROUP;
        if (!p->group[g]) continue;
        __mmask16 in = n < GROUP ? (__mmask16)((1u << n) - 1) : 0xffff, bits = p->group[g];
        __m512i v = _mm512_maskz_loadu_epi32(in, src + g * GROUP * 4);
        _mm512_mask_storeu_epi32(dst, in, _mm512_maskz_compress_epi32(bits, v));
        dst += 4 * __builtin_popcount(bits);
    }
}

TRA_TARGET_AVX512 static void gather_eights(char *dst, const char *src, const picked *p) {
    for (int g = 0; g * GROUP < p->n; g++) {
        for (int k = 0; k < 2 && p->group[g]; k++) {
            int n = p->n - g * GROUP - 8 * k;
            __mmask8 in = n >= 8  ? 0xff
                          : n > 0 ? (__mmask8)((1u << n) - 1)
                                  : 0,
                     bits = (__mmask8)(p->group[g] >> 8 * k);
            __m512i v = _mm512_maskz_loadu_epi64(in, src + (g * GROUP + 8 * k) * 8);
            _mm512_mask_storeu_epi64(dst, in, _mm512_maskz_compress_epi64(bits, v));
            dst += 8 * __builtin_popcount(bits);
        }
    }
}
#else
static void gather_fours(char *dst, const char *src, const picked *p) { GATHER(uint32_t) }
static void gather_eights(char *dst, const char *src, const picked *p) { GATHER(uint64_t) }
#endif

/* The rows that pass, of a column whose elements are of this size; dst has room for all. */
static void gather(void *dst, const void *src, const picked *p, size_t size) {
    bool vectors = tra_simd_here() == TRA_SIMD_AVX512;
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    if (vectors && size == 4)
        gather_fours(dst, src, p);
    else if (vectors && size == 8)
        gather_eights(dst, src, p);
    else if (size == 1)
        GATHER(uint8_t)
    else if (size == 2)
        GATHER(uint16_t)
    else if (size == 4)
        GATHER(uint32_t)
    else
        GATHER(uint64_t)
}

static tra_status unread(const char *what, const char *name, int64_t row, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "row %" PRId64 ": %s%s%s could not be computed: an integer does not fit its type",
                    row, what, name ? " " : "", name ? name : "");
}

/* Which row of the batch's strip it was that is row i before step k. */
static int row_before(const run *u, int k, int i) {
    while (k-- > 0) {
        const picked *p = &u->picked[k];
        if (p->n == 0) continue;
        int g = 0;
        for (; i >= __builtin_popcount(p->group[g]); g++) i -= __builtin_popcount(p->group[g]);
        unsigned bits = p->group[g];
        for (; i > 0; i--) bits &= bits - 1;
        i = g * GROUP + __builtin_ctz(bits);
    }
    return i;
}

/* Lets rows of the strip through; returns how many, or -1 after an error. */
static int select_rows(run *u, int k, tra_vector **columns, int n, int64_t first, tra_err *e) {
    const rstep *s = &u->r->steps[k];
    picked *pick = &u->picked[k];
    tra_colvalue v = tra_colrun_result(&u->code[k], 0);
    const uint8_t *pass = v.values;
    for (int i = 0; v.state && i < n; i++) {
        if (v.state[i] != TRA_STATE_ERROR) continue;
        (void)unread("the predicate", NULL, first + row_before(u, k, i), e);
        return -1;
    }
    int m = pick_rows(pick, pass, n); /* a NULL is 0 */
    if (m == n) pick->n = 0;
    if (m == n || m == 0) return m;
    char *p = u->room[k];
    tra_vector *out = (tra_vector *)p;
    p += tra_vectors_bytes(s->in->n + 1);
    for (int i = 0; i < s->in->n; i++) {
        out[i] = (tra_vector){0};
        if (!s->live[i]) continue;
        size_t size = tra_coltype_size(s->in->v[i].type);
        gather(p, (*columns)[i].values, pick, size);
        out[i].values = p;
        p += tra_round64((int64_t)size * TRA_COLSTRIP);
        if ((*columns)[i].state) {
            gather(p, (*columns)[i].state, pick, 1);
            out[i].state = (uint8_t *)p;
        }
        p += TRA_COLSTRIP;
    }
    *columns = out;
    return m;
}

/* Takes rows from, from + 1, ... of a batch through the steps; -1 after an error. counts: not the last projections. */
static int take_strip(run *u, const tra_batch *in, int64_t from, int64_t first, bool counts, tra_vector **columns,
                      tra_err *e) {
    const tra_rowwise *r = u->r;
    int n = (int)tra_min64(TRA_COLSTRIP, in->rows - from), last = r->nsteps;
    for (int i = 0; i < r->in->n; i++) {
        size_t size = tra_coltype_size(r->in->v[i].type);
        u->in[i].values = (char *)in->v[i].values + (size_t)from * size;
        u->in[i].state = in->v[i].state ? in->v[i].state + from : NULL;
    }
    *columns = u->in;
    while (counts && last > 0 && !r->steps[last - 1].selects) last--;
    for (int k = 0; k < last && n > 0; k++) {
        tra_colrun_strip(&u->code[k], *columns, first + from, n);
        for (int i = 0; u->notes && u->code[k].divided && i < r->source[k].n; i++)
            tra_table_note_rows(u->notes, tra_colrun_by_zero(&u->code[k], i, n),
                                r->steps[k].selects ? NULL : r->source[k].names[i]);
        if (r->steps[k].selects) {
            n = select_rows(u, k, columns, n, first + from, e);
            continue;
        }
        tra_vector *out = (tra_vector *)u->room[k];
        for (int i = 0; i < r->source[k].n; i++) {
            tra_colvalue v = tra_colrun_result(&u->code[k], i);
            out[i] = (tra_vector){v.values, v.state};
        }
        *columns = out;
    }
    return n;
}

tra_status tra_rowwise_count(const tra_rowwise *r, const tra_batch *in, int64_t first, int64_t *rows, void *scratch,
                             tra_err *e) {
    run u;
    tra_vector *columns;
    *rows = in->rows;
    if (!tra_rowwise_selects(r)) return TRA_OK;
    begin(&u, r, scratch, NULL);
    *rows = 0;
    for (int64_t from = 0; from < in->rows; from += TRA_COLSTRIP) {
        int n = take_strip(&u, in, from, first, true, &columns, e);
        if (n < 0) return TRA_INPUT;
        *rows += n;
    }
    return TRA_OK;
}

tra_status tra_rowwise_run(const tra_rowwise *r, const tra_batch *in, int64_t first, tra_batch *out, void *scratch,
                           tra_table_notes *notes, tra_err *e) {
    run u;
    tra_vector *columns;
    int64_t done = 0;
    begin(&u, r, scratch, notes);
    for (int64_t from = 0; from < in->rows; from += TRA_COLSTRIP) {
        int n = take_strip(&u, in, from, first, false, &columns, e);
        if (n < 0) return TRA_INPUT;
        for (int i = 0; i < r->out->n && n > 0; i++) {
            size_t size = tra_coltype_size(r->out->v[i].type);
            memcpy((char *)out->v[i].values + (size_t)done * size, columns[i].values, (size_t)n * size);
            if (!out->v[i].state) continue;
            if (columns[i].state)
                memcpy(out->v[i].state + done, columns[i].state, (size_t)n);
            else
                memset(out->v[i].state + done, 0, (size_t)n);
        }
        done += n;
    }
    out->rows = done;
    return TRA_OK;
}

tra_status tra_rowwise_each(const tra_rowwise *r, const tra_batch *in, int64_t first, tra_rowwise_visit *visit,
                            void *ctx, void *scratch, tra_err *e) {
    run u;
    tra_vector *columns;
    tra_table_notes notes = {0};
    begin(&u, r, scratch, &notes);
    for (int64_t from = 0; from < in->rows; from += TRA_COLSTRIP) {
        int n = take_strip(&u, in, from, first, false, &columns, e);
        if (n < 0) return TRA_INPUT;
        if (n > 0) visit(ctx, columns, n);
    }
    tra_table_notes_add(&notes);
    return TRA_OK;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

#define SPREAD(name, text, T, ...)                                                                                     \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < n; i++) ((T *)data)[(at + i) * columns + c] = ((const T *)v->values)[i];                   \
        for (int i = 0; fill && v->state && i < n; i++) {                                                              \
            if (v->state[i]) ((T *)data)[(at + i) * columns + c] = (T)*fill;                                           \
        }                                                                                                              \
        break;

/* Column c of rows at, at + 1, ... */
static void spread(void *data, tra_dtype t, int64_t at, int64_t columns, int c, const tra_vector *v, int n,
                   const double *fill) {
    switch (t) { TRA_DTYPES(SPREAD) }
}

static tra_status check_column(const run *u, int c, const tra_vector *v, int n, int64_t first, tra_err *e) {
    const char *name = u->r->out->v[c].name;
    for (int i = 0; v->state && i < n; i++) {
        if (v->state[i] == TRA_STATE_ERROR) return unread("column", name, first + row_before(u, u->r->nsteps, i), e);
        if (v->state[i] == TRA_STATE_NULL && !u->r->fill)
            return tra_fail(e, TRA_INPUT,
                            "row %" PRId64
                            ": column `%s` is NULL, which a matrix cannot hold; write matrix(..., fill = "
                            "0), or select the rows in which it is none",
                            first + row_before(u, u->r->nsteps, i), name);
    }
    return TRA_OK;
}

tra_status tra_rowwise_run_matrix(const tra_rowwise *r, const tra_batch *in, int64_t first, void *data, int64_t *rows,
                                  void *scratch, tra_table_notes *notes, tra_err *e) {
    run u;
    tra_vector *columns;
    int64_t done = 0;
    assert(r->matrix);
    begin(&u, r, scratch, notes);
    for (int64_t from = 0; from < in->rows; from += TRA_COLSTRIP) {
        int n = take_strip(&u, in, from, first, false, &columns, e);
        if (n < 0) return TRA_INPUT;
        for (int c = 0; c < r->out->n && n > 0; c++) {
            TRA_TRY(check_column(&u, c, &columns[c], n, first + from, e));
            spread(data, r->dtype, done, r->out->n, c, &columns[c], n, r->fill);
        }
        done += n;
    }
    *rows = done;
    return TRA_OK;
}
