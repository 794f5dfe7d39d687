/* diff.c - tra diff A B: compares the values of two relations, whatever their blocks and element types. */
#include "diff_int.h"
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double tol_rel, tol_abs;
static int64_t memory = TRA_SCAN_MEMORY;

/* ---- comparing ---------------------------------------------------------------------------------------------- */

enum { STRIP = 512 }; /* elements that are widened at a time */

typedef struct strip {
    bool whole;
    union {
        int64_t i[STRIP];
        double f[STRIP];
    };
} strip;

/* n elements from the i-th of data on. */
static void widen(strip *s, tra_dtype t, const void *data, int64_t i, int64_t n) {
    tra_losses none = {0};
    s->whole = !tra_dtype_is_float(t);
    const char *from = (const char *)data + (size_t)i * tra_dtype_size(t);
    (void)!tra_elem_convert(tra_elem_of(t), false, (void *)(uintptr_t)from, s->whole ? TRA_I64 : TRA_F64, s->i, n,
                            &none);
}

static number number_of(const strip *s, int64_t i) {
    return s->whole ? (number){.whole = true, .i = s->i[i]} : (number){.f = s->f[i]};
}

double tra_diff_difference(number x, number y, double *size) {
    *size = fabs(y.whole ? (double)y.i : y.f);
    if (x.whole && y.whole)
        return x.i < y.i ? (double)((uint64_t)y.i - (uint64_t)x.i) : (double)((uint64_t)x.i - (uint64_t)y.i);
    if (!x.whole && !y.whole) {
        if (x.f == y.f || (x.f != x.f && y.f != y.f)) return 0;
        double d = fabs(x.f - y.f);
        return d == d ? d : INFINITY;
    }
    long double d = fabsl((x.whole ? (long double)x.i : x.f) - (y.whole ? (long double)y.i : y.f));
    return d == d ? (double)d : INFINITY;
}

bool tra_diff_within(double difference, double size, double rtol, double atol) {
    return difference < INFINITY && difference <= (rtol > 0 ? atol + rtol * size : atol);
}

bool tra_diff_element(comparison *c, int64_t index, number x, number y) {
    double size, d = tra_diff_difference(x, y, &size);
    if (d == 0) return false;
    c->different += !tra_diff_within(d, size, c->tol_rel, c->tol_abs);
    double rel = size > 0 && size < INFINITY ? d / size : INFINITY;
    if (rel > c->max_rel) c->max_rel = rel;
    if (d < c->max_abs || (d == c->max_abs && index >= c->index)) return false;
    c->max_abs = d;
    c->index = index;
    c->a = x;
    c->b = y;
    return true;
}

/* Compares n elements that follow each other from `index` on; whether one of them is now the largest difference. */
static bool compare_strips(comparison *c, int64_t index, const strip *a, const strip *b, int64_t n) {
    bool found = false;
    for (int64_t i = 0; i < n; i++) found |= tra_diff_element(c, index + i, number_of(a, i), number_of(b, i));
    return found;
}

/* The same of any number of elements, as they are stored. */
static bool compare_run(comparison *c, int64_t index, tra_dtype ta, const void *a, tra_dtype tb, const void *b,
                        int64_t n) {
    bool found = false;
    strip sa, sb;
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t m = tra_min64(STRIP, n - i);
        widen(&sa, ta, a, i, m);
        widen(&sb, tb, b, i, m);
        bool same = sa.whole == sb.whole && memcmp(sa.i, sb.i, (size_t)m * sizeof *sa.i) == 0;
        if (!same) found |= compare_strips(c, index + i, &sa, &sb, m);
    }
    c->elements += n;
    return found;
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

/* Part of a tensor in memory: the array of a chunk, or a box. */
typedef struct part {
    tra_dtype dtype;
    const char *data;
    int64_t stride[TRA_MAXDIM];
    tra_dims start; /* of data, in the tensor */
} part;

static const char *element(const part *p, const tra_dims *place) {
    int64_t i = 0;
    for (int d = 0; d < place->n; d++) i += (place->v[d] - p->start.v[d]) * p->stride[d];
    return p->data + (size_t)i * tra_dtype_size(p->dtype);
}

/* Compares the box at start, which both parts hold, by runs that are contiguous in both and in the tensor. */
static void compare_box(comparison *c, const tra_dims *shape, const tra_dims *start, const tra_dims *count,
                        const part *a, const part *b) {
    int64_t run = 1;
    tra_dims rows = *count, row;
    while (rows.n > 0 && a->stride[rows.n - 1] == run && b->stride[rows.n - 1] == run) {
        run *= count->v[--rows.n];
        if (count->v[rows.n] != shape->v[rows.n]) break;
    }
    row = (tra_dims){.n = rows.n};
    do {
        tra_dims place = *start;
        for (int d = 0; d < row.n; d++) place.v[d] += row.v[d];
        compare_run(c, tra_linear(shape, &place), a->dtype, element(a, &place), b->dtype, element(b, &place), run);
    } while (tra_next(&rows, &row));
}

/* Into how many pieces the cuts of two grids, of p and of q along each dimension, divide the shape. */
static double pieces(const tra_dims *shape, const tra_dims *p, const tra_dims *q) {
    double n = 1;
    for (int d = 0; d < shape->n; d++) {
        int64_t x = p->v[d], y = q->v[d], both;
        while (y) { /* x: their greatest common divisor */
            int64_t rest = x % y;
            x = y, y = rest;
        }
        int64_t same = tra_mul(p->v[d] / x, q->v[d], &both) ? (shape->v[d] - 1) / both : 0;
        n *= (double)(tra_ceil_div(shape->v[d], p->v[d]) + tra_ceil_div(shape->v[d], q->v[d]) - 1 - same);
    }
    return n;
}

/* How much of a view is read when it is compared in boxes of this grid, one after the other. */
static double cost(const tra_view *v, const tra_dims *grid) {
    return pieces(&v->shape, grid, &v->chunk) * (double)v->array_bytes;
}

/* Extents of the boxes in which two tensors are compared: whole chunks of both where that fits into `most` elements, so
 * that each is read about once; else the longest extents are halved. */
static tra_dims box_for(const tra_view *a, const tra_view *b, int64_t most) {
    tra_dims box = {.n = a->shape.n};
    for (int d = 0; d < box.n; d++) box.v[d] = tra_max64(a->chunk.v[d], b->chunk.v[d]);
    int64_t n;
    while (!tra_dims_product(&box, &n) || n > tra_max64(most, 1)) {
        int longest = 0;
        for (int d = 1; d < box.n; d++) {
            if (box.v[d] > box.v[longest]) longest = d;
        }
        box.v[longest] = tra_ceil_div(box.v[longest], 2);
    }
    return box;
}

/* The box of a grid that has these coordinates. */
static void place_box(const tra_dims *shape, const tra_dims *grid, const tra_dims *at, tra_dims *start,
                      tra_dims *count) {
    start->n = count->n = shape->n;
    for (int d = 0; d < shape->n; d++) {
        start->v[d] = at->v[d] * grid->v[d];
        count->v[d] = tra_min64(grid->v[d], shape->v[d] - start->v[d]);
    }
}

static part part_of(const tra_view *v, const void *data, const tra_dims *start, const tra_dims *ext) {
    part p = {.dtype = tra_rel_type(v->rel)->dtype, .data = data, .start = *start};
    tra_strides(ext, p.stride);
    return p;
}

static tra_dims boxes_of(const tra_dims *shape, const tra_dims *grid) {
    tra_dims n = {.n = shape->n};
    for (int d = 0; d < shape->n; d++) n.v[d] = tra_ceil_div(shape->v[d], grid->v[d]);
    return n;
}

static tra_status compare_copies(tra_view *a, tra_view *b, const tra_dims *box, comparison *c, tra_err *e) {
    void *abuf = tra_malloc((size_t)tra_dense_bytes(tra_rel_type(a->rel)->dtype, box));
    void *bbuf = tra_malloc((size_t)tra_dense_bytes(tra_rel_type(b->rel)->dtype, box));
    tra_dims boxes = boxes_of(&a->shape, box), i = {.n = box->n};
    tra_status s = TRA_OK;
    do {
        tra_dims start, count;
        place_box(&a->shape, box, &i, &start, &count);
        part pa = part_of(a, abuf, &start, &count), pb = part_of(b, bbuf, &start, &count);
        s = tra_view_box(a, &start, &count, abuf, pa.stride, e);
        if (s == TRA_OK) s = tra_view_box(b, &start, &count, bbuf, pb.stride, e);
        if (s == TRA_OK) compare_box(c, &a->shape, &start, &count, &pa, &pb);
    } while (s == TRA_OK && tra_next(&boxes, &i));
    free(abuf);
    free(bbuf);
    return s;
}

/* Each chunk of `outer`, with those of `inner` that meet it, where they are. swapped: outer is b. */
static tra_status compare_chunks(tra_view *outer, tra_view *inner, bool swapped, comparison *c, tra_err *e) {
    const tra_dims *shape = &outer->shape;
    tra_dims chunks = boxes_of(shape, &outer->chunk), i = {.n = shape->n};
    do {
        tra_dims start, count, ext, met = {.n = shape->n}, j = {.n = shape->n};
        place_box(shape, &outer->chunk, &i, &start, &count);
        TRA_TRY(tra_view_chunk(outer, &i, &ext, e));
        part po = part_of(outer, outer->array, &start, &ext);
        for (int d = 0; d < shape->n; d++) {
            int64_t last = (start.v[d] + count.v[d] - 1) / inner->chunk.v[d];
            met.v[d] = last - start.v[d] / inner->chunk.v[d] + 1;
        }
        do {
            tra_dims at = {.n = shape->n}, from, n;
            for (int d = 0; d < shape->n; d++) at.v[d] = start.v[d] / inner->chunk.v[d] + j.v[d];
            place_box(shape, &inner->chunk, &at, &from, &n);
            TRA_TRY(tra_view_chunk(inner, &at, &ext, e));
            part pi = part_of(inner, inner->array, &from, &ext);
            for (int d = 0; d < shape->n; d++) {
                int64_t end = tra_min64(from.v[d] + n.v[d], start.v[d] + count.v[d]);
                from.v[d] = tra_max64(from.v[d], start.v[d]);
                n.v[d] = end - from.v[d];
            }
            compare_box(c, shape, &from, &n, swapped ? &pi : &po, swapped ? &po : &pi);
        } while (tra_next(&met, &j));
    } while (tra_next(&chunks, &i));
    return TRA_OK;
}

/* By boxes of both, for which there must be room, or chunk by chunk: whatever reads less. */
static tra_status compare_views(tra_view *a, tra_view *b, comparison *c, tra_err *e) {
    if (!tra_dims_eq(&a->shape, &b->shape)) {
        c->shapes_differ = true;
        return TRA_OK;
    }
    size_t sa = tra_dtype_size(tra_rel_type(a->rel)->dtype), sb = tra_dtype_size(tra_rel_type(b->rel)->dtype);
    bool by_entries = tra_diff_by_entries(a, b);
    size_t scratch = a->scratch_bytes > b->scratch_bytes ? a->scratch_bytes : b->scratch_bytes;
    int64_t fixed = tra_rel_held_bytes(a->rel) + tra_rel_held_bytes(b->rel) +
                    (int64_t)(a->array_bytes + b->array_bytes + scratch),
            elements;
    TRA_TRY(tra_buffer_check(memory, fixed + (by_entries ? tra_diff_entries_least(a, b) : 0), e));
    if (!tra_dims_product(&a->shape, &elements) || elements == 0) return TRA_OK;
    tra_dims box = box_for(a, b, (tra_buffer_bytes(memory) - fixed) / (int64_t)(sa + sb));
    void *shared = tra_malloc(scratch + 1);
    tra_view_room(a, NULL, shared);
    tra_view_room(b, NULL, shared);
    double copies = cost(a, &box) + cost(b, &box);
    double by_a = cost(a, &a->chunk) + cost(b, &a->chunk), by_b = cost(a, &b->chunk) + cost(b, &b->chunk);
    bool boxes = tra_view_sparse(a) || tra_view_sparse(b); /* whose blocks are no arrays */
    tra_status s = by_entries ? tra_diff_entries(a, b, tra_buffer_bytes(memory) - fixed, c, e)
                   : boxes || (copies < by_a && copies < by_b) ? compare_copies(a, b, &box, c, e)
                   : by_a <= by_b                              ? compare_chunks(a, b, false, c, e)
                                                               : compare_chunks(b, a, true, c, e);
    tra_unlinear(&a->shape, c->index, &c->at);
    free(shared);
    return s;
}

static tra_status compare_tensors(tra_rel *a, const char *aspec, tra_rel *b, const char *bspec, comparison *c,
                                  tra_err *e) {
    tra_view va, vb;
    TRA_TRY(tra_view_open(&va, a, aspec, e));
    tra_status s = tra_view_open(&vb, b, bspec, e);
    if (s == TRA_OK) {
        s = compare_views(&va, &vb, c, e);
        tra_view_close(&vb);
    }
    tra_view_close(&va);
    return s;
}

/* ---- relations that are no tensors -------------------------------------------------------------------------- */

static void *room_of(size_t n) { return aligned_alloc(TRA_CELL_ALIGN, (n / TRA_CELL_ALIGN + 1) * TRA_CELL_ALIGN); }

/* The arrays of tuple i of both, which has elements from index c->elements on. */
static tra_status compare_arrays(const tra_type *ta, const tra_type *tb, int64_t i, void *a, void *b, comparison *c,
                                 bool *found, tra_err *e) {
    int64_t first = c->elements, n = tra_catalog_elements_of(ta->cat, i);
    if (!ta->layout && !tb->layout) {
        *found = compare_run(c, first, ta->dtype, a, tb->dtype, b, n);
        return TRA_OK;
    }
    tra_cell x = tra_cell_new(ta, i, a), y = tra_cell_new(tb, i, b);
    tra_dims ext, zero;
    tra_catalog_ext(ta->cat, i, &ext);
    zero = (tra_dims){.n = ext.n};
    c->elements += n;
    return tra_diff_cells(c, &ext, &zero, first, ta, &x, tb, &y, found, e);
}

/* Both must have the same keys with arrays of the same extents; the index of an element is its key and its place. */
static tra_status compare_tuples(tra_rel *a, tra_rel *b, comparison *c, tra_err *e) {
    const tra_type *ta = tra_rel_type(a), *tb = tra_rel_type(b);
    const tra_catalog *ca = ta->cat, *cb = tb->cat;
    c->shapes_differ = ca->n != cb->n || ca->frontier.n != cb->frontier.n || ca->bound.n != cb->bound.n;
    for (int64_t i = 0; i < ca->n && !c->shapes_differ; i++) {
        tra_dims ka, kb, xa, xb;
        tra_catalog_key(ca, i, &ka);
        tra_catalog_key(cb, i, &kb);
        tra_catalog_ext(ca, i, &xa);
        tra_catalog_ext(cb, i, &xb);
        c->shapes_differ = !tra_dims_eq(&ka, &kb) || !tra_dims_eq(&xa, &xb);
    }
    if (c->shapes_differ) return TRA_OK;

    size_t na = tra_rel_buffer_bytes(a), nb = tra_rel_buffer_bytes(b);
    size_t scratch =
        tra_rel_scratch_bytes(a) > tra_rel_scratch_bytes(b) ? tra_rel_scratch_bytes(a) : tra_rel_scratch_bytes(b);
    TRA_TRY(tra_buffer_check(memory, tra_rel_held_bytes(a) + tra_rel_held_bytes(b) + (int64_t)(na + nb + scratch), e));
    void *abuf = room_of(na), *bbuf = room_of(nb), *tmp = room_of(scratch);
    tra_status s = abuf && bbuf && tmp ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    for (int64_t i = 0; i < ca->n && s == TRA_OK; i++) {
        s = tra_rel_read(a, i, abuf, tmp, e);
        if (s == TRA_OK) s = tra_rel_read(b, i, bbuf, tmp, e);
        if (s != TRA_OK) break;
        int64_t first = c->elements;
        bool found;
        s = compare_arrays(ta, tb, i, abuf, bbuf, c, &found, e);
        if (s == TRA_OK && found) {
            tra_dims ext, place;
            tra_catalog_key(ca, i, &c->at);
            tra_catalog_ext(ca, i, &ext);
            tra_unlinear(&ext, c->index - first, &place);
            for (int d = 0; d < place.n; d++) c->at.v[c->at.n++] = place.v[d];
        }
    }
    free(abuf);
    free(bbuf);
    free(tmp);
    return s;
}

/* ---- command ------------------------------------------------------------------------------------------------ */

static const char *extents(tra_rel *r, char *buf, size_t n) {
    const tra_type *t = tra_rel_type(r);
    if (!tra_type_is_tensor(t, NULL)) {
        snprintf(buf, n, "%" PRId64 " tuples", t->cat->n);
        return buf;
    }
    tra_dims dims = tra_rel_info(r)->dims;
    return tra_dims_text(&dims, "", " x ", "", buf, n);
}

static void json_number(tra_json *out, const char *name, const number *x) {
    if (x->whole)
        tra_json_int(out, name, x->i);
    else
        tra_json_num(out, name, x->f);
}

static const char *number_text(const number *x, char text[TRA_NUMTEXT]) {
    if (x->whole)
        snprintf(text, TRA_NUMTEXT, "%" PRId64, x->i);
    else
        snprintf(text, TRA_NUMTEXT, "%.17g", x->f);
    return text;
}

static void report(const comparison *c, tra_rel *a, tra_rel *b, char **spec, tra_json *out) {
    char ta[TRA_DIMTEXT], tb[TRA_DIMTEXT], x[TRA_NUMTEXT], y[TRA_NUMTEXT];
    bool equal = !c->shapes_differ && c->different == 0;
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json_begin(out, NULL, '{');
        tra_json_bool(out, "equal", equal);
        tra_json_bool(out, "shapes_differ", c->shapes_differ);
        tra_json_int(out, "elements", c->elements);
        tra_json_int(out, "different", c->different);
        tra_json_num(out, "max_abs", c->max_abs);
        tra_json_num(out, "max_rel", c->max_rel);
        if (c->max_abs > 0) {
            tra_json_ints(out, "at", c->at.n, c->at.v);
            json_number(out, "a", &c->a);
            json_number(out, "b", &c->b);
        }
        tra_json_end(out, '}');
        tra_str_add(&out->out, "\n");
        return;
    }
    if (tra_common_opts.quiet) return;
    if (c->shapes_differ) {
        tra_str_printf(&out->out, "different: %s is %s, %s is %s\n", spec[0], extents(a, ta, sizeof ta), spec[1],
                       extents(b, tb, sizeof tb));
        return;
    }
    if (equal) {
        tra_str_printf(&out->out, "equal: %" PRId64 " element%s", c->elements, c->elements == 1 ? "" : "s");
    } else {
        tra_str_printf(&out->out, "different: %" PRId64 " of %" PRId64 " elements", c->different, c->elements);
    }
    if (c->max_abs > 0) {
        tra_str_printf(&out->out, "; largest difference %.6g at %s: %s and %s", c->max_abs,
                       tra_dims_text(&c->at, "[", ",", "]", ta, sizeof ta), number_text(&c->a, x),
                       number_text(&c->b, y));
    }
    tra_str_add(&out->out, "\n");
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    if (!(tol_rel >= 0 && tol_abs >= 0)) return tra_fail(e, TRA_USAGE, "--rtol and --atol must not be negative");
    tra_rel *a = NULL, *b = NULL;
    comparison c = {.tol_rel = tol_rel, .tol_abs = tol_abs};
    tra_status s = tra_rel_open(argv[0], NULL, &a, e);
    if (s == TRA_OK) s = tra_rel_open(argv[1], NULL, &b, e);
    if (s == TRA_OK && tra_rel_is_table(a) && tra_rel_is_table(b)) {
        bool same;
        tra_table_tolerance t = {tol_rel, tol_abs};
        s = tra_diff_tables(a, b, (const char *const[]){argv[0], argv[1]}, memory, &t, &same, e);
        tra_rel_close(a);
        tra_rel_close(b);
        return s != TRA_OK ? s : same ? TRA_OK : TRA_NO;
    }
    if (s == TRA_OK && tra_rel_is_table(a) != tra_rel_is_table(b))
        s = tra_fail(e, TRA_INPUT, "%s is a table, %s is none: they cannot be compared", argv[tra_rel_is_table(b)],
                     argv[tra_rel_is_table(a)]);
    if (s == TRA_OK) {
        bool at = tra_type_is_tensor(tra_rel_type(a), NULL), bt = tra_type_is_tensor(tra_rel_type(b), NULL);
        if (at && bt) {
            s = compare_tensors(a, argv[0], b, argv[1], &c, e);
        } else if (at || bt) {
            c.shapes_differ = true;
        } else {
            s = compare_tuples(a, b, &c, e);
        }
    }
    if (s == TRA_OK) {
        tra_json j = {0};
        report(&c, a, b, argv, &j);
        s = tra_print(tra_str_get(&j.out), e);
        tra_json_free(&j);
    }
    tra_rel_close(a);
    tra_rel_close(b);
    if (s != TRA_OK) return s;
    return c.shapes_differ || c.different ? TRA_NO : TRA_OK;
}

const tra_cmd tra_cmd_diff = {
    .name = "diff",
    .group = "Relations",
    .brief = "compare the values of two relations",
    .usage = "[options] A B",
    .about =
        "Compares two relations element by element, whatever their blocks, codecs and element types. Elements a and b "
        "are equal when |a - b| <= atol + rtol |b|, or when both are NaN; an infinity equals only itself. Integers are "
        "compared exactly, also with floats. Holes are zeros. Prints how many elements differ, the largest absolute "
        "difference and where it is.\n\n"
        "Relations that are not one tensor are compared key by key and must have the same keys.\n\n"
        "Exit status 0: equal. 1: different. 3: a relation is missing or damaged.",
    .opts = (const tra_opt[]){TRA_ROW(0, "rtol", TRA_OPT_NUM, &tol_rel, NULL, "relative tolerance (default: 0)"),
                              TRA_ROW(0, "atol", TRA_OPT_NUM, &tol_abs, NULL, "absolute tolerance (default: 0)"),
                              TRA_OPT_MEMORY(memory),
                              {.name = NULL}},
    .minargs = 2,
    .maxargs = 2,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
