/* axis.c - the range in which the values of an expression lie. */
#include "../tablefile/table_file.h"
#include "calls_int.h"
#include "table.h"

static void range_of(int64_t least, int64_t most, tra_colaxis *v) {
    int64_t span;
    if (__builtin_sub_overflow(most, least, &span)) span = INT64_MAX - 1;
    *v = (tra_colaxis){.least = least, .count = span < 0 ? 0 : tra_add_most(span, 1)};
}

/* Whole numbers, which a conversion to others keeps. */
static bool counts(tra_coltype t) {
    bool moment = t == TRA_COL_DATE || t == TRA_COL_TIMESTAMP;
    return !moment && !tra_coltype_is_float(t) && !tra_coltype_is_coded(t);
}

bool tra_colexpr_axis(const tra_colexpr *x, tra_colaxis *v) {
    int64_t least = x->least, most = x->most;
    if (tra_coltype_is_float(x->type)) return false;
    if (tra_coltype_is_coded(x->type)) return *v = (tra_colaxis){.count = x->dict ? x->dict->n : INT64_MAX}, true;
    if (x->type == TRA_COL_BOOL) return range_of(0, 1, v), true;
    tra_column_facts f;
    while (x->op == TRA_C_CONVERT && (x->kids[0]->type == x->type || counts(x->kids[0]->type))) x = x->kids[0];
    if (x->op == TRA_C_COLUMN && x->file && tra_rel_column_facts(x->file, x->number, &f)) {
        least = f.rows > f.nulls ? tra_max64(least, f.min) : 0;
        most = f.rows > f.nulls ? tra_min64(most, f.max) : -1;
    }
    range_of(least, most, v);
    return true;
}
