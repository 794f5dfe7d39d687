/* row_columns.c - lists of columns that kernels on rows read. */
#include "row_columns.h"

void tra_rows_read(tra_rows_reads *r, int first, int n, const int *column) {
    for (int i = 0; i < n; i++) r->read[first + (column ? column[i] : i)] = true;
}

void tra_rows_repeat(tra_rows_reads *r, int first, int n) {
    for (int i = 0; i < n; i++) r->from[i] = first + i;
}

const int *tra_rows_places(tra_arena *a, const tra_rows_fewer *f, int first, int n, const int *column) {
    int *to = tra_news(a, int, n + 1);
    for (int i = 0; i < n; i++) to[i] = f->place[first + column[i]];
    return to;
}
