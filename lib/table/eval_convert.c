/* eval_convert.c - operators on strips of rows that make values of another kind: other types, codes of dictionaries,
 * hashes. */
#include "../base/simd.h"
#include "../kernel/strips.h"
#include "../model/spooled.h"
#include "eval_int.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

/* ---- conversions, codes ------------------------------------------------------------------------------------------ */

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

VECTORS static void range_of_i64(const int64_t *v, int n, int64_t *least, int64_t *most) {
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (int i = 0; i < n; i++) lo = v[i] < lo ? v[i] : lo, hi = v[i] > hi ? v[i] : hi;
    *least = lo, *most = hi;
}

/* Whole numbers that the type does not hold; no float becomes one. */
static void note_beyond(tra_colstep *s) {
    tra_dtype from = tra_colstep_held(s->x->kids[0]), to = tra_colstep_held(s->x);
    if (from == TRA_I64) { /* most strips have none: their range tells */
        int64_t least, most;
        range_of_i64(s->kid[0]->values, s->n, &least, &most);
        if (tra_dtype_holds(to, least) && tra_dtype_holds(to, most)) return;
    }
    for (int i = 0; i < s->n; i++)
        if (!tra_dtype_holds(to, tra_element_whole(from, s->kid[0]->values, i))) tra_colstep_fail(s, i);
}

static void convert(tra_colstep *s) {
    tra_dtype from = tra_colstep_held(s->x->kids[0]), to = tra_colstep_held(s->x);
    bool others = tra_overflow;
    tra_convert(s->out->values, to, s->kid[0]->values, from, s->n);
    tra_overflow = others; /* rows have what does not fit */
    if (s->x->fails && !tra_dtype_is_float(from) && !tra_dtype_is_float(to)) note_beyond(s);
}

static void recode(tra_colstep *s) {
    const int32_t *table = s->x->table;
    int32_t *d = s->out->values;
    const int32_t *c = s->kid[0]->values;
    const uint8_t *state = s->kid[0]->state;
    const tra_recoding *recoding = s->x->recoding;
    for (int i = 0; i < s->n; i++) { /* a dictionary may be empty */
        bool none = state && state[i];
        d[i] = none ? 0 : recoding ? tra_recoded(recoding, c[i]) : table[c[i]];
    }
}

#define LOOK_UP(T)                                                                                                     \
    for (int i = 0; i < n; i++) ((T *)d)[i] = ((const T *)table)[c[i]]

/* No code is of no entry, and nothing is NULL. */
static void look_up_all(char *d, const char *table, size_t size, const int32_t *c, int n) {
    switch (size) {
    case 1: LOOK_UP(uint8_t); break;
    case 4: LOOK_UP(uint32_t); break;
    default: LOOK_UP(uint64_t); break;
    }
}

static void look_up(tra_colstep *s) {
    const int32_t *c = s->kid[0]->values;
    const uint8_t *state = s->kid[0]->state, *tstate = s->x->tstate;
    size_t size = tra_coltype_size(s->x->type);
    const char *table = s->x->table;
    char *d = s->out->values;
    if (!state && !tstate) {
        look_up_all(d, table, size, c, s->n);
        return;
    }
    for (int i = 0; i < s->n; i++) {
        if (state && state[i]) continue;
        memcpy(d + (size_t)i * size, table + (size_t)c[i] * size, size);
        if (!tstate || !tstate[c[i]]) continue;
        tra_colstep_states(s)[i] = tstate[c[i]];
        bool moment = s->x->type == TRA_COL_DATE || s->x->type == TRA_COL_TIMESTAMP;
        if (moment && tstate[c[i]] == TRA_STATE_NULL) tra_colstep_note(s, i, TRA_NULL_NO_DATE);
    }
}

/* Where the value lies on the axis; -1: nowhere. A list is halved without branches, which would be mispredicted. */
static int64_t place_on(const tra_colaxis *x, int64_t v) {
    const int64_t *low = x->list;
    if (!x->list) return v >= x->least && (uint64_t)v - (uint64_t)x->least < (uint64_t)x->count ? v - x->least : -1;
    for (int64_t n = x->count, half; n > 1; n -= half) {
        half = n / 2;
        low = low[half] <= v ? low + half : low;
    }
    return x->count > 0 && *low == v ? low - x->list : -1;
}

/* The places of a strip of values of type T on the axis are added to those on the axes before. */
#define ADD_PLACES(name, text, T, ...)                                                                                 \
    case TRA_##name:                                                                                                   \
        for (int i = 0; i < s->n; i++) {                                                                               \
            int64_t at = place_on(axis, (int64_t)((const T *)values)[i]);                                              \
            entry[i] = at < 0 || entry[i] < 0 ? -1 : entry[i] * axis->count + at;                                      \
        }                                                                                                              \
        break;

static void pick(tra_colstep *s) {
    int64_t entry[TRA_COLSTRIP] = {0};
    const uint8_t *none = s->out->state, *tstate = s->x->tstate;
    const void *table = s->x->table;
    void *d = s->out->values;
    bool all = !none && !tstate;
    if (s->x->entries == 0) { /* an operand has no values */
        for (int i = 0; i < s->n; i++)
            if (!none || !none[i]) tra_colstep_states(s)[i] = TRA_STATE_ERROR;
        return;
    }
    for (int k = 0; k < s->x->nkids; k++) {
        const tra_colaxis *axis = &s->x->axis[k];
        const void *values = s->run->at[s->insn->kid[k]].values;
        switch (tra_colstep_held(s->x->kids[k])) {
            TRA_WHOLE_DTYPES(ADD_PLACES)
        default: assert(false);
        }
    }
    for (int i = 0; i < s->n && all; i++) all = entry[i] >= 0;
    for (int i = 0; i < s->n && !all; i++) {
        if (none && none[i]) {
            entry[i] = 0; /* any */
            continue;
        }
        int state = entry[i] < 0 ? TRA_STATE_ERROR : tstate ? tstate[entry[i]] : TRA_STATE_VALUE;
        entry[i] = tra_max64(0, entry[i]);
        if (state != TRA_STATE_VALUE) tra_colstep_states(s)[i] = (uint8_t)state;
    }
#define TAKE(T)                                                                                                        \
    for (int i = 0; i < s->n; i++) ((T *)d)[i] = ((const T *)table)[entry[i]]
    switch (tra_coltype_size(s->x->type)) {
    case 1: TAKE(uint8_t); break;
    case 4: TAKE(uint32_t); break;
    default: TAKE(uint64_t); break;
    }
#undef TAKE
}

/* ---- floats as whole numbers ------------------------------------------------------------------------------------- */

/* The same without their fractions. True: some do not fit, and are 0. */
#define TRUNCATE(name, T, D, above, below)                                                                             \
    VECTORS static bool name(const T *restrict v, int n, D *restrict to) {                                             \
        int out = 0;                                                                                                   \
        for (int i = 0; i < n; i++) {                                                                                  \
            double x = (double)v[i];                                                                                   \
            bool fits = x above && x below;                                                                            \
            to[i] = (D)(fits ? x : 0);                                                                                 \
            out |= !fits;                                                                                              \
        }                                                                                                              \
        return out;                                                                                                    \
    }
TRUNCATE(whole_of_f64, double, int64_t, >= -0x1p63, < 0x1p63)
TRUNCATE(whole_of_f32, float, int64_t, >= -0x1p63, < 0x1p63)
TRUNCATE(i32_of_f64, double, int32_t, > -0x1p31 - 1, < 0x1p31)
TRUNCATE(i32_of_f32, float, int32_t, > -0x1p31 - 1, < 0x1p31)

/* False: it is another cast. */
static bool cast_floats(tra_colstep *s) {
    tra_dtype from = tra_colstep_held(s->x->kids[0]), to = tra_colstep_held(s->x);
    const void *v = s->kid[0]->values;
    void *d = s->out->values;
    bool tries = s->x->op == (tra_colop)TRA_C_TRY_I32 || s->x->op == (tra_colop)TRA_C_TRY_I64, out;
    if (!tries && s->x->op != (tra_colop)TRA_C_TO_I32 && s->x->op != (tra_colop)TRA_C_TO_I64) return false;
    if (!tra_dtype_is_float(from)) return false;
    if (to == TRA_I64)
        out = from == TRA_F64 ? whole_of_f64(v, s->n, d) : whole_of_f32(v, s->n, d);
    else
        out = from == TRA_F64 ? i32_of_f64(v, s->n, d) : i32_of_f32(v, s->n, d);
    double least = to == TRA_I64 ? -0x1p63 : -0x1p31, end = -least;
    for (int i = 0; i < s->n && out; i++) {
        double x = trunc(tra_element_real(from, v, i));
        if ((x >= least && x < end) || (s->out->state && s->out->state[i])) continue;
        tra_colstep_states(s)[i] = tries ? TRA_STATE_NULL : TRA_STATE_ERROR;
    }
    return true;
}

void tra_colstep_call(tra_colstep *s) {
    if (s->x->op == TRA_C_DATE_TRUNC && tra_colstep_begin_units(s)) return;
    if (cast_floats(s)) return;
    tra_call_value *v = tra_calloc((size_t)s->x->nkids + 1, sizeof *v);
    tra_call c = {.op = s->x->op, .n = s->x->nkids, .v = v, .prepared = s->x->prepared};
    bool constants = false; /* are they read? */
    for (int i = 0; i < s->n; i++) {
        if (s->out->state && s->out->state[i]) continue;
        for (int k = 0; k < c.n; k++) {
            const tra_colexpr *x = s->x->kids[k];
            if (!constants || x->op != TRA_C_CONST) v[k] = tra_call_value_of(x, s->run->at[s->insn->kid[k]].values, i);
        }
        constants = true;
        tra_call_run(&c);
        if (c.out.state != TRA_STATE_VALUE)
            tra_colstep_states(s)[i] = (uint8_t)c.out.state;
        else
            tra_call_put(&c.out, s->out->values, i);
    }
    free(v);
}

/* ---- hash -------------------------------------------------------------------------------------------------------- */

/* The bytes of a value that are hashed; of a float -0 is 0, and NaN one. */
static const void *bytes_of(const tra_colexpr *x, const void *values, int i, int64_t *number, int64_t *len) {
    double f = 0;
    *len = 8;
    if (tra_coltype_is_coded(x->type)) return tra_dictionary_at(x->dict, ((const int32_t *)values)[i], len);
    if (!tra_dtype_is_float(tra_colstep_held(x)))
        return *number = tra_element_whole(tra_colstep_held(x), values, i), number;
    f = tra_element_real(tra_colstep_held(x), values, i);
    if (f == 0) f = 0;
    memcpy(number, &f, 8);
    if (f != f) *number = 0x7ff8000000000000;
    return number;
}

void tra_colstep_hash(tra_colstep *s) {
    int64_t *d = s->out->values;
    const uint8_t *merged = s->out->state;
    for (int i = 0; i < s->n; i++) {
        uint64_t h = 0;
        for (int k = 0; k < s->x->nkids; k++) {
            const tra_colvalue *v = &s->run->at[s->insn->kid[k]];
            int64_t number, len = 0;
            const void *bytes = &number;
            if (!v->state || v->state[i] == TRA_STATE_VALUE)
                bytes = bytes_of(s->x->kids[k], v->values, i, &number, &len);
            h = XXH64(bytes, (size_t)len, h);
        }
        d[i] = (int64_t)(h & INT64_MAX);
    }
    if (!merged) return;
    for (int i = 0; i < s->n; i++) s->states[i] = merged[i] == TRA_STATE_ERROR ? TRA_STATE_ERROR : TRA_STATE_VALUE;
}

/* What only the compiler makes. */
void tra_colstep_made(tra_colstep *s) {
    switch (s->x->op) {
    case TRA_C_CONVERT: convert(s); break;
    case TRA_C_RECODE: recode(s); break;
    case TRA_C_LOOKUP: look_up(s); break;
    case TRA_C_PICK: pick(s); break;
    default: assert(false); /* columns and constants are there already */
    }
}
