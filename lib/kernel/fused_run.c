/* fused_run.c - fused statements on the arrays that meet: which plan, what its names stand for, compiled or
 * interpreted (lib/codegen), to the same bits. */
#include "program_int.h"
#include "parallel_sums.h"

#include <stdlib.h>
#include <string.h>

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* An operand of a call. */
typedef struct held_operand {
    tra_rows_view rows; /* where it is held so, */
    int64_t first;      /* and the number that its rows count from */
    const void *value;
    int64_t n; /* elements */
    int64_t *coordinate[TRA_MAXDIM];
} held_operand;

typedef struct call {
    const tra_kernel *k;
    const tra_cell *a, *b;
    held_operand operand[TRA_PROGRAM_MOST];
    tra_calc_free *scope;
    tra_component_data *data;
} call;

static int64_t length_in(const call *c, int o, int d) {
    return tra_program_length(c->k, c->k->program->operand[o].label[d], &c->a->array.ext, &c->b->array.ext);
}

/* Coordinates of the rows of an operand, from their numbers. ext: what these follow from. */
static char *find_coordinates(held_operand *h, const tra_dims *ext, bool own, char *scratch) {
    int rank = ext->n;
    if (rank == 2 && own) h->coordinate[0] = h->rows.row;
    if (rank <= 1 || (rank == 2 && own)) return scratch;
    for (int d = 0; d < rank - 1; d++) {
        h->coordinate[d] = (int64_t *)(void *)scratch;
        scratch += (size_t)h->rows.nrows * sizeof(int64_t);
    }
    int64_t last = ext->v[rank - 2], above = 0, from = 0; /* rows ascend: of most only the last coordinate is another */
    for (int64_t r = 0; r < h->rows.nrows; r++) {
        int64_t row = h->rows.row[r] - h->first;
        if (row - from >= last) {
            above = row / last;
            from = above * last;
        }
        h->coordinate[rank - 2][r] = row - from;
        int64_t rest = above;
        for (int d = rank - 3; d > 0; d--) {
            h->coordinate[d][r] = rest % ext->v[d];
            rest /= ext->v[d];
        }
        if (rank > 2) h->coordinate[0][r] = rest;
    }
    return scratch;
}

static char *find_operand(call *c, const tra_fused_plan *x, int o, char *scratch) {
    const tra_calc_program *p = c->k->program;
    held_operand *h = &c->operand[o];
    const tra_cell *cell = o == c->k->packed ? c->b : c->a;
    const tra_dims *block = &p->operand[o].block;
    tra_dims ext = {.n = block->n};
    *h = (held_operand){.n = 1};
    for (int d = 0; d < ext.n; d++) h->n *= ext.v[d] = length_in(c, o, d);
    if (c->k->packed > 1 && o < c->k->packed) {
        bool numbered = x->numbered >> o & 1;
        tra_fused_unpacked u = tra_fused_unpack(p, o, c->a, ext.v, numbered, &scratch);
        h->value = u.value;
        h->n = u.n;
        h->rows = u.rows;
        h->first = u.first;
        return u.rows.begin && !numbered ? find_coordinates(h, block, false, scratch) : scratch;
    }
    h->value = cell->array.data;
    if (!cell->layout) return scratch;
    h->rows = tra_rows_of(cell);
    h->value = h->rows.value;
    h->n = h->rows.n;
    return find_coordinates(h, &ext, true, scratch);
}

static void bring(call *c, const tra_fused_plan *x, int i) {
    const tra_fused_name *s = &x->source[i];
    const tra_calc_program *p = c->k->program;
    const held_operand *h = s->part == TRA_FUSED_EXTENT ? NULL : &c->operand[s->operand];
    tra_component_data *d = &c->data[i];
    int64_t length;
    c->scope[i] = (tra_calc_free){.component = d, .kind = TRA_COMPONENT_ARRAY};
    switch (s->part) {
    case TRA_FUSED_EXTENT:
        length = tra_program_length(c->k, s->operand, &c->a->array.ext, &c->b->array.ext);
        c->scope[i] = (tra_calc_free){.number = tra_calc_int(length)};
        return;
    case TRA_FUSED_ROWS: c->scope[i] = (tra_calc_free){.number = tra_calc_int(h->rows.nrows)}; return;
    case TRA_FUSED_ENTRIES: c->scope[i] = (tra_calc_free){.number = tra_calc_int(h->rows.n)}; return;
    case TRA_FUSED_COORDINATE: d->value = (tra_elements){TRA_ELEMENT_I64, h->rows.nrows, h->coordinate[s->dim]}; return;
    case TRA_FUSED_BEGIN: d->value = (tra_elements){TRA_ELEMENT_I64, h->rows.nrows + 1, h->rows.begin}; return;
    case TRA_FUSED_COLUMN: d->value = (tra_elements){TRA_ELEMENT_U32, h->rows.n, h->rows.column}; return;
    case TRA_FUSED_VALUE: d->value = (tra_elements){tra_fused_element(p, s->operand), h->n, h->value}; return;
    }
}

/* Bytes that a compiled kernel takes to make a result row by row, besides operands, result and dictionaries. */
static int64_t accumulators(const tra_kernel *k, const tra_dims *ext_a, const tra_dims *ext_b) {
    tra_dims ext;
    tra_program_shape(k, ext_a, ext_b, &ext, NULL);
    int64_t columns = ext.n ? ext.v[ext.n - 1] : 1;
    return 8 * columns + columns / 8 + columns / 512 + 1024;
}

/* Bytes of the sums of their own that pieces of a dense result have. */
static int64_t sums_of(const tra_kernel *k, const tra_dims *ext_a, const tra_dims *ext_b, int64_t entries) {
    tra_dims ext;
    tra_program_shape(k, ext_a, ext_b, &ext, NULL);
    int64_t n = 1;
    for (int d = 0; d < ext.n; d++) n = tra_mul_most(n, ext.v[d]);
    int64_t each = tra_mul_most(n, (int64_t)tra_dtype_size(k->program->dtype));
    return tra_mul_most(tra_parallel_sum_pieces(entries, TRA_FUSED_STEPS, n) - 1, tra_add_most(each, 64));
}

/* The loop that pieces are cut of: over what an operand holds, and not over what is unpacked. */
static bool loop_of(const tra_kernel *k, const tra_fused_plan *x, tra_fused_loop *l) {
    return tra_fused_loop_of(x, l) && (l->operand == k->packed || k->packed == 1);
}

int64_t tra_fused_scratch(const tra_kernel *k, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                          const tra_dims *ext_b, const tra_layout *out) {
    const tra_type *types[2] = {a, b};
    const tra_dims *ext[2] = {ext_a, ext_b};
    tra_fused_loop loop;
    if (!tra_program_runs(k, a->layout, b->layout, out)) return TRA_SIZE_MOST;
    const tra_fused_plan *x = &k->program->fused->plan[tra_program_held(a->layout, b->layout)];
    if (x->masked) return tra_fused_masked_scratch(k, x, a, ext_a, b, ext_b, out);
    if (x->sampled) return tra_add_most(k->packed > 1 ? tra_fused_unpack_scratch(k->program, x, a) : 0, 128);
    int64_t bytes = tra_add_most(x->workspace, out ? accumulators(k, ext_a, ext_b) : 0);
    bytes = tra_max64(bytes, tra_fused_interpreted(k, x, ext_a, ext_b, out != NULL));
    if (k->packed > 1) bytes = tra_add_most(bytes, tra_fused_unpack_scratch(k->program, x, a));
    for (int i = 0; i < 2; i++) {
        if (!types[i]->layout || ext[i]->n <= 2 || (i == 0 && k->packed > 1)) continue;
        int64_t rows = tra_min64(tra_rows_box(ext[i]), tra_type_entries(types[i]).bound);
        bytes = tra_add_most(bytes, tra_mul_most(rows, (ext[i]->n - 1) * (int64_t)sizeof(int64_t)));
    }
    if (!out && loop_of(k, x, &loop) && !loop.disjoint)
        bytes = tra_add_most(
            bytes, sums_of(k, ext_a, ext_b, tra_type_entries(types[loop.operand == k->packed ? 1 : 0]).bound));
    return tra_add_most(bytes, 128);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

/* A call, cut in pieces of the rows of one operand; or one piece, of all of it. */
typedef struct job {
    const tra_made *m;
    const tra_fused_plan *x;
    const call *c;
    tra_cell *out;
    bool loops; /* it has such a loop, which is: */
    tra_fused_loop loop;
    int n;
    int64_t at[TRA_PIECES + 1];
    int64_t memory, most; /* of the workspace of a piece: where it begins in scratch, and its bytes */
    char *sums;           /* of the pieces after the first, where they have sums of their own, */
    int64_t each;         /* each of so many bytes */
    bool add;             /* to what a dense result holds */
    tra_rows_pieces *rows;
    tra_err *err;  /* of each piece */
    int64_t limit; /* bytes of dictionaries of the interpreter, in each thread; 0: the plan is compiled */
} job;

/* The call of a piece: the operand that the loop goes over has its rows alone. */
static void narrow(const job *j, int piece, call *c) {
    *c = *j->c;
    c->scope = tra_calloc((size_t)j->x->n + 1, sizeof *c->scope);
    c->data = tra_calloc((size_t)j->x->n + 1, sizeof *c->data);
    if (j->n > 1) {
        held_operand *h = &c->operand[j->loop.operand];
        int64_t from = j->at[piece];
        for (int d = 0; d + 1 < c->k->program->operand[j->loop.operand].block.n; d++) h->coordinate[d] += from;
        h->rows.begin += from;
        h->rows.nrows = j->at[piece + 1] - from;
        h->rows.n = h->n = h->rows.begin[h->rows.nrows];
    }
    for (int i = 0; i < j->x->n; i++) bring(c, j->x, i);
}

/* The part of a dense result that the piece adds to, made 0 unless it is a sum already. */
static void *cleared(const job *j, const call *c, int piece) {
    const tra_array *a = &j->out->array;
    size_t bytes = tra_array_bytes(a);
    if (j->sums && piece > 0) return memset(j->sums + (piece - 1) * j->each, 0, bytes);
    if (j->add) return a->data;
    if (j->n == 1 || !j->loop.disjoint) return memset(a->data, 0, bytes);
    const int64_t *key = c->operand[j->loop.operand].coordinate[0];
    size_t row = bytes / (size_t)a->ext.v[0];
    size_t from = piece == 0 ? 0 : (size_t)key[0];
    size_t to = piece == j->n - 1 ? (size_t)a->ext.v[0] : (size_t)key[j->at[piece + 1] - j->at[piece]];
    memset((char *)a->data + from * row, 0, (to - from) * row);
    return a->data;
}

static tra_status run_one(job *j, int piece, char *scratch, bool count) {
    call c;
    tra_err *e = &j->err[piece];
    narrow(j, piece, &c);
    tra_codegen_call to = {.scope = c.scope, .stop = tra_kernel_stop()};
    to.most = j->limit ? j->limit : j->most;
    to.memory = j->most ? scratch + j->memory : NULL;
    tra_status s;
    if (count) {
        int64_t *counted = j->rows->most[piece];
        s = tra_codegen_count(j->m->kernel, &to, &counted[0], &counted[1], e);
    } else if (j->out->layout) {
        tra_rows_view *v = &j->rows->piece[piece];
        tra_codegen_rows rows = {v->row, v->begin, v->column, v->value, v->nrows, v->n, 0, 0};
        to.rows = &rows;
        s = tra_codegen_run(j->m->kernel, &to, e);
        v->nrows = rows.nrows;
        v->n = rows.n;
    } else {
        to.out = cleared(j, &c, piece);
        s = tra_codegen_run(j->m->kernel, &to, e);
    }
    if (j->limit && s == TRA_RESOURCE) {
        *e = (tra_err){0};
        s = tra_fail(e, TRA_RESOURCE,
                     "the interpreter's dictionaries take more memory than is set aside for them; compiled code takes "
                     "less, and a higher --memory leaves more");
    }
    free(c.scope);
    free(c.data);
    return s;
}

static void run_piece(void *ctx, int piece, void *scratch) { (void)run_one(ctx, piece, scratch, false); }
static void count_piece(void *ctx, int piece, void *scratch) { (void)run_one(ctx, piece, scratch, true); }

/* Of several failures the one of the first piece is reported, whichever happened first. */
static tra_status in_pieces(job *j, tra_piece_fn *fn, char *scratch, tra_err *e) {
    tra_status s = TRA_OK;
    j->err = j->n == 1 ? e : tra_calloc((size_t)j->n, sizeof *j->err);
    tra_parallel(j->n, fn, j, scratch);
    for (int i = 0; i < j->n && s == TRA_OK; i++)
        if ((s = j->err[i].status) != TRA_OK && j->n > 1) *e = j->err[i];
    if (j->n > 1) free(j->err);
    return s;
}

static void cut(job *j, int64_t entries) {
    const held_operand *h = &j->c->operand[j->loop.operand];
    const tra_array *a = &j->out->array;
    int64_t elements = (int64_t)(tra_array_bytes(a) / tra_dtype_size(a->dtype));
    bool has_rows = j->out->layout ? a->ext.n > 1 : elements > 0;
    if (!has_rows || h->rows.nrows < 2 || (j->out->layout && !j->loop.disjoint)) return;
    int n = j->loop.disjoint ? tra_parallel_pieces(tra_mul_most(TRA_FUSED_STEPS, entries))
                             : tra_parallel_sum_pieces(entries, TRA_FUSED_STEPS, elements);
    j->n = tra_parallel_row_pieces(&h->rows, j->loop.disjoint ? h->coordinate[0] : NULL, n, j->at);
}

/* Bounds the entries of the result by the number of its elements where these are few, and fewer than the entries of
 * the operands, which counting would have to go through. */
static bool count_all(job *j, int64_t entries, int64_t most) {
    const tra_dims *ext = &j->out->array.ext;
    int64_t rows = tra_rows_box(ext), width = ext->n ? ext->v[ext->n - 1] : 1, n = tra_mul_most(rows, width);
    if (n > entries || tra_rows_room(j->out->array.dtype, rows + j->n, n) > most) return false;
    const int64_t *key = j->c->operand[j->loop.operand].coordinate[0];
    for (int i = 0; i < j->n; i++) { /* of the first coordinates that the piece has */
        int64_t from = i == 0 ? 0 : key[j->at[i]], to = i + 1 == j->n ? ext->v[0] : key[j->at[i + 1]];
        j->rows->most[i][0] = j->n == 1 ? rows : rows / ext->v[0] * (to - from);
        j->rows->most[i][1] = j->rows->most[i][0] * width;
    }
    return true;
}

static bool has_label(const tra_program_operand *o, int n, int label) {
    for (int d = 0; d < n; d++)
        if (o->label[d] == label) return true;
    return false;
}

/* Bounds the entries by those of the operand of the loop: it is a factor, and 0 where it has none. A label of the
 * result that it lacks has all its values. */
static void count_operand(job *j) {
    const tra_calc_program *p = j->c->k->program;
    const tra_program_operand *o = &p->operand[j->loop.operand];
    const held_operand *h = &j->c->operand[j->loop.operand];
    int last = p->shape.n - 1;
    bool by_entries = false, rows_are_its = true;
    int64_t times = 1;
    for (int d = 0; d <= last; d++) {
        int label = p->key[p->out[d]].label;
        bool by_rows = has_label(o, o->block.n - 1, label), has = by_rows || o->label[o->block.n - 1] == label;
        by_entries = by_entries || (has && !by_rows);
        rows_are_its = rows_are_its && (by_rows || d == last);
        if (!has) times = tra_mul_most(times, j->out->array.ext.v[d]);
    }
    for (int i = 0; i < j->n; i++) {
        int64_t from = j->n == 1 ? 0 : j->at[i], to = j->n == 1 ? h->rows.nrows : j->at[i + 1];
        int64_t n = tra_mul_most(times, by_entries ? h->rows.begin[to] - h->rows.begin[from] : to - from);
        j->rows->most[i][0] = rows_are_its ? to - from : tra_min64(n, tra_rows_box(&j->out->array.ext));
        j->rows->most[i][1] = n;
    }
}

/* Bounds the entries of a result that is held as rows; false: that is far more than there will be. */
static bool bound_rows(job *j, int64_t entries) {
    enum { QUICK = 1 << 20 }; /* bytes of a result that need not be counted exactly */
    bool all = count_all(j, entries, QUICK);
    if (!all && !j->loops) return false;
    if (!all) count_operand(j);
    return tra_rows_pieces_add(j->rows, j->out, j->n) <= tra_max64(QUICK, 24 * entries) || all;
}

static tra_status make_rows(job *j, int64_t entries, char *scratch, tra_err *e) {
    tra_rows_pieces rows;
    j->rows = &rows;
    if (!bound_rows(j, entries) || !tra_rows_pieces_begin(&rows, j->out)) {
        TRA_TRY(in_pieces(j, count_piece, scratch, e));
        tra_rows_pieces_add(&rows, j->out, j->n);
        if (!tra_rows_pieces_begin(&rows, j->out)) return TRA_OK;
    }
    tra_status s = in_pieces(j, run_piece, scratch, e);
    if (s == TRA_OK) tra_rows_pieces_end(&rows);
    return s;
}

static tra_status make_dense(job *j, char *scratch, tra_err *e) {
    TRA_TRY(in_pieces(j, run_piece, scratch, e));
    if (!j->loop.disjoint) tra_parallel_add_sums(&j->out->array, j->sums, j->each, j->n);
    return TRA_OK;
}

static tra_status run(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, bool add, char *scratch,
                      tra_err *e) {
    tra_impl way = tra_program_way(k, a->layout, b->layout);
    if (way == TRA_IMPL_MASKED) return tra_fused_masked_run(k, a, b, out, add, scratch), TRA_OK;
    if (way == TRA_IMPL_SAMPLED) return tra_fused_sampled_run(k, a, b, out, scratch), TRA_OK;
    const tra_made *m = tra_program_made(k, a, b, out->layout != NULL, e);
    if (!m) return TRA_INTERNAL;
    const tra_fused_plan *x = &k->program->fused->plan[m->held];
    call c = {.k = k, .a = a, .b = b};
    char *own = scratch;
    int64_t entries = 0;
    for (int o = 0; o < k->program->noperands; o++) {
        own = find_operand(&c, x, o, own);
        entries += c.operand[o].n;
    }
    job j = {.m = m, .x = x, .c = &c, .out = out, .n = 1, .add = add};
    j.most = x->workspace + (out->layout ? accumulators(k, &a->array.ext, &b->array.ext) : 0);
    j.memory = (own - scratch + 63) / 64 * 64;
    int64_t reserved = tra_fused_interpreted(k, x, &a->array.ext, &b->array.ext, out->layout != NULL);
    if (!tra_codegen_compiled(m->kernel)) j.limit = tra_max64(1, tra_add_most(reserved, tra_kernel_granted()) / 2);
    j.loops = loop_of(k, x, &j.loop);
    if (j.loops) cut(&j, c.operand[j.loop.operand].n);
    if (j.n > 1 && !j.loop.disjoint) {
        j.sums = scratch + (j.memory + j.most + 63) / 64 * 64;
        j.each = ((int64_t)tra_array_bytes(&out->array) + 63) / 64 * 64;
    }
    return out->layout ? make_rows(&j, entries, scratch, e) : make_dense(&j, scratch, e);
}

/* Reports a failure as other sums do, since the statement in the program has no calculus in it. */
static void note(const tra_err *e) {
    if (e->status == TRA_OK || e->status == TRA_STOPPED) return;
    tra_kernel_fail_with(e->status, "%s", e->kind == TRA_KIND_OVERFLOW ? "an integer does not fit i64" : e->msg);
}

void tra_fused_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, char *scratch) {
    tra_err e = {0};
    if (run(k, a, b, out, false, scratch, &e) != TRA_OK) note(&e);
}

void tra_fused_add(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_array *sum, bool first,
                   char *scratch) {
    tra_err e = {0};
    tra_cell out = {.array = *sum};
    if (!tra_kernel_failure() && run(k, a, b, &out, !first, scratch, &e) != TRA_OK) note(&e);
}
