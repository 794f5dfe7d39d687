/* join_cells.c - joins as kernels on rows: the cells of two blocks, and of what comes out. */
#include "join_int.h"

#include <string.h>

#include "table_int.h"

static tra_rows_form ops_form(const void *data) {
    const tra_lookup_spec *s = tra_lookup_spec_of(data);
    return (tra_rows_form){.in = {s->left, s->right}, .out = tra_lookup_out(data), .closed = true};
}

static int64_t found_bytes(const tra_lookup *l, int64_t left_rows, int64_t right_rows) {
    return tra_round64(tra_mul_most(tra_lookup_found_room(l, left_rows, right_rows), sizeof(int32_t)));
}

TRA_ROWS_REST(ops_rest, tra_lookup,
              tra_add_most(found_bytes(x, a->v[0], b->v[0]), tra_lookup_scratch(x, a->v[0], b->v[0])))

static int64_t ops_keep(const void *data, const tra_dims *ext_b) { return tra_lookup_keep(data, ext_b->v[0]); }

bool tra_lookup_open(const tra_lookup *l, tra_rows_io *io) {
    tra_err e = {0};
    bool kept = tra_lookup_is_kept(l, io->b->kept); /* then its values have been checked */
    tra_status s = (kept ? tra_columns_view : tra_columns_of)(io->b, tra_lookup_spec_of(l)->right, &io->in[1], &e);
    if (s != TRA_OK) tra_kernel_fail("%s", e.msg);
    return s == TRA_OK;
}

static void ops_run(const void *data, tra_rows_io *io) {
    const tra_lookup *l = data;
    const tra_batch *left = &io->in[0], *right = &io->in[1];
    tra_kept *kept = io->b->kept;
    tra_err e = {0};
    int64_t first = tra_max64(0, io->a->first), rows;
    if (!tra_lookup_open(l, io)) return;
    tra_found found = {.v = io->rest, .room = tra_lookup_found_room(l, left->rows, right->rows)};
    char *rest = (char *)io->rest + found_bytes(l, left->rows, right->rows);
    tra_status s = tra_lookup_run(l, left, right, first, NULL, &rows, &found, kept, rest, &e);
    if (s == TRA_OK && (!tra_rows_result(io, rows) || rows == 0 || tra_kernel_failure())) return;
    if (s == TRA_OK) s = tra_lookup_run(l, left, right, first, &io->made, &rows, &found, kept, rest, &e);
    if (s != TRA_OK) tra_kernel_fail("%s", e.msg);
}

void tra_lookup_reads(const tra_lookup *l, tra_rows_reads *r) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    tra_rows_read(r, 0, tra_lookup_compared(s), s->lkey);
    tra_rows_read(r, r->left, tra_lookup_compared(s), s->rkey);
    for (int i = 0; i < 2; i++)
        if (s->numbered[i]) r->read[i * r->left + s->numbered[i] - 1] = true;
    if (tra_lookup_condition(l)) tra_colexpr_columns(tra_lookup_condition(l), r->read);
}

static void ops_reads(const void *data, tra_rows_reads *r) {
    const tra_lookup *l = data;
    tra_lookup_reads(l, r);
    memcpy(r->from, tra_lookup_from(l), (size_t)tra_lookup_out(l)->n * sizeof *r->from);
}

static const void *ops_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    return tra_lookup_over(a, data, f);
}

static bool ops_idle(const void *data) { return !((const tra_lookup *)data)->s.unique; }

const tra_rows_ops tra_lookup_ops = {.form = ops_form,
                                     .rest = ops_rest,
                                     .keep = ops_keep,
                                     .run = ops_run,
                                     .reads = ops_reads,
                                     .over = ops_over,
                                     .idle = ops_idle};

/* Those columns of `made` that l has, where they are there. */
static const tra_lookup *with_columns_of(tra_arena *a, const tra_lookup *l, const tra_lookup *made,
                                         const tra_rows_fewer *f) {
    int n = made->out->n;
    bool *keep = tra_news(a, bool, n + 1);
    for (int i = 0; i < l->out->n; i++) {
        int from = l->from[i], place = from < 0 ? from : f->place[from];
        if (from >= f->left && place >= 0) place += made->s.left->n;
        for (int k = 0; k < n; k++) keep[k] |= made->from[k] == place && (from < 0 || place >= 0);
    }
    return tra_lookup_keeping(a, made, keep);
}

const tra_lookup *tra_lookup_over(tra_arena *a, const tra_lookup *l, const tra_rows_fewer *f) {
    const tra_lookup_spec *old = tra_lookup_spec_of(l);
    tra_lookup_spec s = *old;
    tra_lookup *made;
    tra_err e = {0};
    int n = tra_lookup_pair(l)->n;
    s.left = f->in[0], s.right = f->in[1];
    s.lkey = tra_rows_places(a, f, 0, tra_lookup_compared(&s), old->lkey);
    s.rkey = tra_rows_places(a, f, f->left, tra_lookup_compared(&s), old->rkey);
    for (int i = 0; i < 2; i++)
        if (s.numbered[i]) s.numbered[i] = 1 + f->place[i * f->left + s.numbered[i] - 1];
    if (tra_lookup_new(a, &s, &made, &e) != TRA_OK) return NULL;
    if (!tra_lookup_condition(l)) return with_columns_of(a, l, made, f);
    const tra_colexpr **by = tra_news(a, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        int place = f->place[i];
        if (place >= 0) by[i] = tra_colexpr_column(a, tra_lookup_pair(made), i < f->left ? place : s.left->n + place);
    }
    tra_lookup_where(made, tra_colexpr_substitute(a, tra_lookup_condition(l), by));
    return with_columns_of(a, l, made, f);
}
