/* wanted.c - which rows of a block a pass selects first, for who reads the block from a file. */
#include "wanted.h"

#include "group.h"
#include "kernels.h"
#include "table_int.h"

#include <stdlib.h>

typedef struct wanted {
    tra_row_filter base;
    const tra_schema *in;
    const tra_colcode *code; /* the predicates, by which a row is wanted if all are true */
} wanted;

static bool all_true(const tra_colrun *run, int i) {
    bool is = true;
    for (int k = 0; k < run->code->nroots; k++) is &= ((const uint8_t *)tra_colrun_result(run, k).values)[i] == 1;
    return is;
}

/* Has a predicate a value of the strip that is an error, or NULL for a cause that is noted? */
static bool tells(const tra_colrun *run, int n) {
    bool any = run->divided;
    for (int k = 0; k < run->code->nroots; k++) {
        const uint8_t *state = tra_colrun_result(run, k).state;
        any |= state && memchr(state, TRA_STATE_ERROR, (size_t)n);
    }
    return any;
}

static int64_t find_rows(const tra_row_filter *f, const tra_batch *b, int32_t *at, int64_t most) {
    enum { FEW = 8 };
    const wanted *w = (const void *)f;
    char *room = tra_malloc((size_t)tra_colcode_scratch(w->code) + 64);
    tra_vector *strip = tra_malloc((size_t)(w->in->n + 1) * sizeof *strip);
    tra_colrun run;
    int64_t found = 0;
    tra_colrun_begin(&run, w->code, room + (64 - (uintptr_t)room % 64) % 64);
    for (int64_t from = 0; from < b->rows && found >= 0; from += TRA_COLSTRIP) {
        int n = (int)tra_min64(TRA_COLSTRIP, b->rows - from);
        tra_strip_of(b, from, strip);
        tra_colrun_strip(&run, strip, 0, n);
        bool many = tells(&run, n);
        for (int i = 0; i < n && found < most && !many; i++) {
            at[found] = (int32_t)(from + i);
            found += all_true(&run, i);
        }
        /* where many of the first rows pass, it is not worth the look at all */
        if (many || found >= most || found > TRA_COLSTRIP + (from + n) / FEW) found = -1;
    }
    free(strip);
    free(room);
    return found;
}

const tra_row_filter *tra_rows_wanted(tra_arena *a, const tra_rows_kernel *k) {
    const tra_rowwise_step *v;
    bool pass = k && k->ops == &tra_rowwise_ops, group = k && k->ops == &tra_group_of_pass_ops;
    const tra_rowwise *r = pass ? k->data : group ? ((const tra_group_of_pass *)k->data)->r : NULL;
    int n = r && !tra_rowwise_uses_row(r) && !tra_rowwise_is_matrix(r, NULL) ? tra_rowwise_steps(r, &v) : 0, first = 0;
    while (first < n && v[first].selects) first++;
    for (int i = first; i < n; i++) /* messages would name other rows */
        if (v[i].selects && v[i].x[0]->fails) return NULL;
    if (first == 0) return NULL;
    wanted *w = tra_new(a, wanted);
    const tra_schema *in = tra_rowwise_in(r);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, first);
    bool *reads = tra_news(a, bool, in->n + 1), others = false;
    for (int i = 0; i < first; i++) tra_colexpr_columns(x[i] = v[i].x[0], reads);
    for (int i = 0; i < in->n; i++) others |= !reads[i];
    *w = (wanted){.base = {reads, find_rows}, .in = in, .code = tra_colcode_new(a, first, x)};
    return others ? &w->base : NULL;
}
