/* project.c - entries of rows with other coordinates, sorted: transposes, diagonals, what is summed over labels, and
 * operands of products that are not in the order that these want. */
#include "project.h"

#include "../base/radix.h"

#include <assert.h>
#include <string.h>

int64_t tra_project_scratch(int64_t entries) {
    return tra_min64(TRA_SIZE_MOST, tra_add_most(tra_mul_most(2 * (int64_t)sizeof(tra_entry), entries), 64));
}

int64_t tra_project_stay(int64_t entries, const tra_dims *ext, const int8_t *label) {
    int64_t places = 1;
    for (int d = 0; d < ext->n; d++) {
        if (memchr(label, label[d], (size_t)d)) continue;
        int64_t least = ext->v[d];
        for (int i = d + 1; i < ext->n; i++)
            if (label[i] == label[d]) least = tra_min64(least, ext->v[i]);
        places = tra_mul_most(places, least);
    }
    return tra_min64(entries, places);
}

/* What is to be sorted: bits in which keys differ, and whether they ascend already. */
typedef struct disorder {
    uint64_t row, column;
    bool column_sorted, sorted;
} disorder;

static void note(disorder *o, const tra_entry *e, int64_t i) {
    if (i == 0) return;
    const tra_entry *x = &e[i], *before = &e[i - 1];
    o->row |= (uint64_t)(x->row ^ before->row);
    o->column |= (uint64_t)(x->column ^ before->column);
    o->column_sorted &= x->column >= before->column;
    o->sorted &= x->row > before->row || (x->row == before->row && x->column >= before->column);
}

/* The entries of in at their new coordinates, in the old order. */
static int64_t route_all(const tra_cell *in, const tra_route *route, tra_dtype t, tra_entry *e, disorder *o) {
    const tra_dims *ext = &in->array.ext;
    tra_rows_view v = tra_rows_of(in);
    int rank = ext->n, last = rank - 1;
    int64_t n = 0, least = 0, most = tra_last_extent(ext);
    if (route->from && rank) least = route->from[route->label[last]], most = route->to[route->label[last]];
    for (int64_t r = 0; r < v.nrows; r++) {
        int64_t row = 0, column = 0, rest = v.row[r], c[TRA_MAXDIM], only = -1;
        bool stays = true;
        for (int d = last - 1; d >= 0; rest /= ext->v[d], d--) {
            c[d] = rest % ext->v[d];
            row += c[d] * route->row[d];
            column += c[d] * route->column[d];
            int l = route->label[d];
            if (route->from) stays = stays && c[d] >= route->from[l] && c[d] < route->to[l];
            if (l == route->label[last]) stays = stays && (only < 0 || only == c[d]), only = c[d];
            for (int i = d + 1; i < last; i++) stays = stays && (route->label[i] != l || c[i] == c[d]);
        }
        if (!stays) continue;
        int64_t k = v.begin[r], end = v.begin[r + 1], mr = rank ? route->row[last] : 0;
        int64_t mc = rank ? route->column[last] : 0;
        if (only >= 0) k = tra_rows_entry(&v, r, only), end = tra_min64(end, k + 1);
        for (; k < end; k++) {
            int64_t at = v.column[k];
            if (at < least || at >= most || (only >= 0 && at != only) || !tra_not_zero(v.value, in->array.dtype, k))
                continue;
            e[n].row = row + at * mr;
            e[n].column = column + at * mc;
            tra_pick(&e[n].value, 0, t, v.value, in->array.dtype, k);
            note(o, e, n++);
        }
    }
    return n;
}

static tra_entry *sort(tra_entry *e, tra_entry *other, int64_t n, const disorder *o) {
    if (o->sorted) return e;
    const size_t size = sizeof *e;
    tra_entry *v = e; /* columns in order as they come stay so in each row */
    if (!o->column_sorted) v = tra_radix_sort_bits(e, other, n, size, offsetof(tra_entry, column), o->column);
    return tra_radix_sort_bits(v, v == e ? other : e, n, size, offsetof(tra_entry, row), o->row);
}

tra_entry *tra_sort_entries(tra_entry *e, tra_entry *other, int64_t n) {
    disorder o = {.column_sorted = true, .sorted = true};
    for (int64_t i = 1; i < n; i++) note(&o, e, i);
    return sort(e, other, n, &o);
}

int64_t tra_project_rows(const tra_cell *in, const tra_route *route, int64_t box, void *scratch, int64_t *rows) {
    disorder o = {.column_sorted = true, .sorted = true};
    tra_entry *e = scratch;
    int64_t most = tra_project_stay(tra_rows_of(in).n, &in->array.ext, route->label), n;
    uint64_t *seen = (uint64_t *)(void *)(e + most);
    if (box > most * (int64_t)sizeof(tra_entry) * 8) return -1;
    n = route_all(in, route, TRA_F64, e, &o);
    memset(seen, 0, (size_t)tra_ceil_div(box, 64) * sizeof *seen);
    *rows = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t *word = &seen[e[i].row / 64], bit = (uint64_t)1 << e[i].row % 64;
        *rows += !(*word & bit);
        *word |= bit;
    }
    return n;
}

int64_t tra_project(const tra_cell *in, const tra_route *route, tra_dtype t, void *scratch, tra_entry **out) {
    disorder o = {.column_sorted = true, .sorted = true};
    tra_entry *e = scratch;
    int64_t n = route_all(in, route, t, e, &o);
    *out = sort(e, e + tra_project_stay(tra_rows_of(in).n, &in->array.ext, route->label), n, &o);
    return n;
}
