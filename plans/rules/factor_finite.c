/* factor_finite.c - expressions that are never infinite, by what is known of columns: what factor.h promises of them.
 */
#include "factor.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../lib/relation/table_file.h"

/* All values that are not NaN lie from lo to hi. */
typedef struct range {
    double lo, hi;
} range;

static const double most = 1e300;  /* well below the end of f64 */
static const double slack = 1e-12; /* of functions: more than their rounding errors */

static bool range_of(const tra_colexpr *x, range *out);

static double greatest_of(range r) { return fmax(fabs(r.lo), fabs(r.hi)); }

static range both_signs(double greatest) { return (range){-greatest, greatest}; }

static range united(range x, range y) { return (range){fmin(x.lo, y.lo), fmax(x.hi, y.hi)}; }

/* The range of a column of floats by the statistics of its file. With a NaN it is not known: NaN counts as greatest. */
static bool of_column(const tra_colexpr *x, range *out) {
    tra_column_facts f;
    if (!x->file || !tra_rel_column_facts(x->file, x->number, &f) || f.nan) return false;
    *out = (range){0, 0};
    if (f.rows > f.nulls) {
        memcpy(&out->lo, &f.min, sizeof out->lo);
        memcpy(&out->hi, &f.max, sizeof out->hi);
    }
    return true;
}

static bool of_quotient(range x, range y, range *out) {
    if (y.lo <= 0 && y.hi >= 0) return false;
    *out = both_signs(greatest_of(x) / fmin(fabs(y.lo), fabs(y.hi)));
    return true;
}

static range of_product(range x, range y) {
    double v[4] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
    range r = {v[0], v[0]};
    for (int i = 1; i < 4; i++) r = united(r, (range){v[i], v[i]});
    return r;
}

static bool of_two(tra_colop op, range x, range y, range *out) {
    switch (op) {
    case TRA_C_ADD: *out = (range){x.lo + y.lo, x.hi + y.hi}; return true;
    case TRA_C_SUB: *out = (range){x.lo - y.hi, x.hi - y.lo}; return true;
    case TRA_C_MUL: *out = of_product(x, y); return true;
    case TRA_C_DIV: return of_quotient(x, y, out);
    case TRA_C_MIN: *out = (range){fmin(x.lo, y.lo), fmin(x.hi, y.hi)}; return true;
    case TRA_C_MAX: *out = (range){fmax(x.lo, y.lo), fmax(x.hi, y.hi)}; return true;
    case TRA_C_IFNULL: *out = united(x, y); return true;
    case TRA_C_HYPOT: *out = (range){0, hypot(greatest_of(x), greatest_of(y)) * (1 + slack)}; return true;
    case TRA_C_POW:
        if (y.lo < 0) return false;
        *out = both_signs(pow(fmax(1, greatest_of(x)), y.hi) * (1 + slack));
        return true;
    default: return false;
    }
}

static bool of_one(const tra_colexpr *f, range x, range *out) {
    switch (f->op) {
    case TRA_C_CONVERT: *out = x; return f->type != TRA_COL_F32 || greatest_of(x) < FLT_MAX;
    case TRA_C_NEG: *out = (range){-x.hi, -x.lo}; return true;
    case TRA_C_ABS: *out = (range){x.lo > 0 ? x.lo : x.hi < 0 ? -x.hi : 0, greatest_of(x)}; return true;
    case TRA_C_FLOOR:
    case TRA_C_CEIL:
    case TRA_C_ROUND: *out = (range){x.lo - 1, x.hi + 1}; return true;
    case TRA_C_SQRT: *out = (range){0, sqrt(fmax(0, x.hi)) * (1 + slack)}; return true;
    case TRA_C_EXP: *out = (range){exp(x.lo) * (1 - slack), exp(x.hi) * (1 + slack)}; return true;
    case TRA_C_LOG:
        if (x.lo <= 0) return false;
        *out = (range){log(x.lo) - slack * fabs(log(x.lo)) - slack, log(x.hi) + slack * fabs(log(x.hi)) + slack};
        return true;
    case TRA_C_RADIANS: *out = both_signs(greatest_of(x)); return true;
    default: return false;
    }
}

static bool of_function(const tra_colexpr *x, range *out) {
    range v[2];
    switch (x->op) {
    case TRA_C_SIN:
    case TRA_C_COS: *out = both_signs(1 + slack); return true;
    case TRA_C_ASIN:
    case TRA_C_ACOS:
    case TRA_C_ATAN:
    case TRA_C_ATAN2: *out = both_signs(4); return true;
    case TRA_C_TAN: *out = both_signs(1e17); return true; /* no f64 is that near a pole */
    case TRA_C_IF:
        if (!range_of(x->kids[1], &v[0]) || !range_of(x->kids[2], &v[1])) return false;
        *out = united(v[0], v[1]);
        return true;
    default: break;
    }
    if (x->nkids < 1 || x->nkids > 2) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!range_of(x->kids[i], &v[i])) return false;
    return x->nkids == 1 ? of_one(x, v[0], out) : of_two(x->op, v[0], v[1], out);
}

static bool range_of(const tra_colexpr *x, range *out) {
    bool known = true;
    if (tra_coltype_is_coded(x->type)) return false;
    if (!tra_coltype_is_float(x->type))
        *out = x->type == TRA_COL_BOOL ? (range){0, 1} : (range){(double)x->least, (double)x->most};
    else if (x->op == TRA_C_COLUMN)
        known = of_column(x, out);
    else if (x->op == TRA_C_CONST)
        *out = x->null ? (range){0, 0} : (range){x->value.f, x->value.f};
    else
        known = of_function(x, out);
    return known && greatest_of(*out) < most; /* NaN: not known */
}

bool tra_factor_finite(const tra_colexpr *x) {
    range r;
    return range_of(x, &r);
}
