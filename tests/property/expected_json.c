/* expected_json.c - what a program must give, as JSON for the judge (judge.py). */
#include "property.h"

#include "../../plans/reference/reference_int.h"

#include <math.h>
#include <string.h>

void json_number(tra_str *s, tra_dtype t, ref_num v) {
    if (isnan(v))
        tra_str_add(s, "NaN");
    else if (isinf(v))
        tra_str_add(s, v > 0 ? "Infinity" : "-Infinity");
    else if (!ref_is_float(t))
        tra_str_printf(s, "%.0Lf", v);
    else
        tra_str_printf(s, v == 0 ? "%.1f" : "%.17g", (double)v); /* -0 would lose its sign as a whole number */
}

static void numbers(tra_str *s, tra_dtype t, const ref_num *v, int64_t n) {
    tra_str_add(s, "[");
    for (int64_t j = 0; j < n; j++) {
        if (j) tra_str_add(s, ",");
        json_number(s, t, v[j]);
    }
    tra_str_add(s, "]");
}

static void dims(tra_str *s, const tra_dims *d) {
    tra_str_add(s, "[");
    for (int i = 0; i < d->n; i++) tra_str_printf(s, "%s%" PRId64, i ? "," : "", d->v[i]);
    tra_str_add(s, "]");
}

void expected_json(const tra_graph *g, const expected *x, tra_str *s) {
    bool first = true;
    tra_str_printf(s, ",\n\"overflow\":%s,\"results\":{", x->overflow ? "true" : "false");
    for (int i = 0; i < g->n && !x->overflow; i++) {
        const tra_ref_rel *r = x->v[i];
        if (!g->v[i]->name || strchr(g->v[i]->name, '.')) continue; /* not positions, which have no name of a program */
        tra_str_printf(s, "%s\"%s\":{\"dtype\":\"%s\",\"exact\":%s,\"tuples\":[", first ? "\n" : ",\n", g->v[i]->name,
                       tra_dtype_name(r->dtype), x->exact[i] ? "true" : "false");
        first = false;
        for (int64_t t = 0; t < r->n; t++) {
            int64_t n = elements_of(&r->v[t].ext);
            tra_str_add(s, t ? ",\n{\"key\":" : "\n{\"key\":");
            dims(s, &r->v[t].key);
            tra_str_add(s, ",\"ext\":");
            dims(s, &r->v[t].ext);
            tra_str_add(s, ",\"data\":");
            numbers(s, r->dtype, r->v[t].data, n);
            if (!x->exact[i]) {
                tra_str_add(s, ",\"tol\":");
                tra_str_add(s, "[");
                for (int64_t j = 0; j < n; j++) {
                    if (j) tra_str_add(s, ",");
                    json_number(s, TRA_F64, x->tol[i][t][j]);
                }
                tra_str_add(s, "]");
            }
            tra_str_add(s, "}");
        }
        tra_str_add(s, "]}");
    }
    tra_str_add(s, "}}\n");
}
