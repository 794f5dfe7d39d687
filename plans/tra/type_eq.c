/* type_eq.c - are two types the same? */
#include "../../lib/model/columns.h"
#include "tra.h"

#include <string.h>

static bool same_tuples(const tra_catalog *a, const tra_catalog *b) {
    if (a->grid != b->grid || a->n != b->n) return false;
    if (a->n == 0) return true;
    if (a->grid) {
        for (int d = 0; d < a->bound.n; d++) {
            bool x = a->by[d] >= 0 && a->last[d] != a->bound.v[d], y = b->by[d] >= 0 && b->last[d] != b->bound.v[d];
            if (x != y || (x && (a->by[d] != b->by[d] || a->last[d] != b->last[d]))) return false;
        }
        return true;
    }
    if (a->pos != b->pos && memcmp(a->pos, b->pos, (size_t)a->n * sizeof *a->pos) != 0) return false;
    for (int64_t t = 0; t < a->n; t++) {
        size_t r = (size_t)a->bound.n, x = a->cls ? a->cls[t] : 0, y = b->cls ? b->cls[t] : 0;
        if (memcmp(a->ext + x * r, b->ext + y * r, r * sizeof *a->ext) != 0) return false;
        if (!a->cls && !b->cls) break;
    }
    return true;
}

bool tra_type_eq(const tra_type *a, const tra_type *b, const char **why) {
    const char *unused;
    if (!why) why = &unused;
    *why = "the element types differ";
    if (a->dtype != b->dtype) return false;
    *why = "one is sparse by type, the other is not";
    if (a->sparse != b->sparse) return false;
    *why = "one is a table, the other is not, or it has other columns";
    if (!a->columns != !b->columns || (a->columns && !tra_schema_eq(a->columns, b->columns))) return false;
    *why = "extents of one are bounds, those of the other are not";
    if (a->bounded != b->bounded) return false;
    *why = "the frontiers differ";
    if (!tra_dims_eq(&a->cat->frontier, &b->cat->frontier)) return false;
    *why = "the bounds differ";
    if (!tra_dims_eq(&a->cat->bound, &b->cat->bound)) return false;
    *why = "other keys cut the array dimensions";
    if (memcmp(a->cut, b->cut, (size_t)a->cat->bound.n * sizeof *a->cut) != 0) return false;
    *why = "the keys or the extents of arrays differ";
    if (a->cat != b->cat && !same_tuples(a->cat, b->cat)) return false;
    *why = NULL;
    return true;
}
