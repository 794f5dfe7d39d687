/* diff.c - tra diff A B: compares the values of two relations, whatever their blocks and element types. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../formats/io.h"

static double tol_rel, tol_abs;
static int64_t memory = TRA_SCAN_MEMORY;

/* ---- comparing ---------------------------------------------------------------------------------------------- */

typedef struct comparison {
    bool shapes_differ;
    int64_t elements, different;
    double max_abs, max_rel; /* infinite where only one is NaN */
    tra_dims at;             /* of max_abs; the first in the order of comparing */
    double a, b;             /* the values there */
} comparison;

static double value(tra_dtype t, const void *data, int64_t i) {
    return t == TRA_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static double difference(double a, double b) {
    if (a == b || (a != a && b != b)) return 0;
    double d = fabs(a - b);
    return d == d ? d : INFINITY; /* one of them is NaN */
}

/* Compares n elements; returns the index of the largest difference if it is larger than any before, else -1. */
static int64_t compare_run(comparison *c, tra_dtype ta, const void *a, tra_dtype tb, const void *b, int64_t n) {
    int64_t largest = -1;
    for (int64_t i = 0; i < n; i++) {
        double x = value(ta, a, i), y = value(tb, b, i), d = difference(x, y);
        if (d == 0) continue;
        double size = fabs(y), allowed = tol_rel > 0 ? tol_abs + tol_rel * size : tol_abs;
        /* An infinity is within a tolerance of nothing but itself. */
        c->different += d == INFINITY || !(d <= allowed);
        double rel = size > 0 && size < INFINITY ? d / size : INFINITY;
        if (rel > c->max_rel) c->max_rel = rel;
        if (d > c->max_abs) {
            c->max_abs = d;
            c->a = x;
            c->b = y;
            largest = i;
        }
    }
    c->elements += n;
    return largest;
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

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

static tra_status compare_boxes(tra_view *a, tra_view *b, const tra_dims *box, void *abuf, void *bbuf, comparison *c,
                                tra_err *e) {
    tra_dtype ta = tra_rel_type(a->rel)->dtype, tb = tra_rel_type(b->rel)->dtype;
    tra_dims grid = {.n = box->n}, at = {.n = box->n};
    for (int d = 0; d < box->n; d++) {
        grid.v[d] = tra_ceil_div(a->shape.v[d], box->v[d]);
        if (grid.v[d] == 0) return TRA_OK;
    }
    do {
        tra_dims start = {.n = box->n}, count = {.n = box->n};
        int64_t stride[TRA_MAXDIM], n = 0;
        for (int d = 0; d < box->n; d++) {
            start.v[d] = at.v[d] * box->v[d];
            count.v[d] = tra_min64(box->v[d], a->shape.v[d] - start.v[d]);
        }
        tra_strides(&count, stride);
        TRA_TRY(tra_view_box(a, &start, &count, abuf, stride, e));
        TRA_TRY(tra_view_box(b, &start, &count, bbuf, stride, e));
        tra_dims_product(&count, &n);
        int64_t largest = compare_run(c, ta, abuf, tb, bbuf, n);
        if (largest >= 0) {
            tra_unlinear(&count, largest, &c->at);
            for (int d = 0; d < box->n; d++) c->at.v[d] += start.v[d];
        }
    } while (tra_next(&grid, &at));
    return TRA_OK;
}

static tra_status compare_views(tra_view *a, tra_view *b, comparison *c, tra_err *e) {
    if (!tra_dims_eq(&a->shape, &b->shape)) {
        c->shapes_differ = true;
        return TRA_OK;
    }
    size_t sa = tra_dtype_size(tra_rel_type(a->rel)->dtype), sb = tra_dtype_size(tra_rel_type(b->rel)->dtype);
    int n = 0;
    TRA_TRY(tra_workers(memory, (int64_t)(a->bytes + b->bytes), (int64_t)(sa + sb), 1, &n, e));
    int64_t floats = 0;
    tra_dims box = box_for(a, b, (tra_buffer_bytes(memory) - (int64_t)(a->bytes + b->bytes)) / (int64_t)(sa + sb));
    tra_dims_product(&box, &floats);
    void *abuf = malloc((size_t)floats * sa), *bbuf = malloc((size_t)floats * sb);
    tra_status s = abuf && bbuf ? compare_boxes(a, b, &box, abuf, bbuf, c, e)
                                : tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    free(abuf);
    free(bbuf);
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

    size_t na = (size_t)tra_catalog_maxfloats(ca) * tra_dtype_size(ta->dtype);
    size_t nb = (size_t)tra_catalog_maxfloats(cb) * tra_dtype_size(tb->dtype);
    size_t scratch = tra_rel_scratch(a) > tra_rel_scratch(b) ? tra_rel_scratch(a) : tra_rel_scratch(b);
    int n = 0;
    TRA_TRY(tra_workers(memory, 0, (int64_t)(na + nb + scratch), 1, &n, e));
    void *abuf = malloc(na + 1), *bbuf = malloc(nb + 1), *tmp = aligned_alloc(64, (scratch + 64) & ~(size_t)63);
    tra_status s = abuf && bbuf && tmp ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    for (int64_t i = 0; i < ca->n && s == TRA_OK; i++) {
        s = tra_rel_read(a, i, abuf, tmp, e);
        if (s == TRA_OK) s = tra_rel_read(b, i, bbuf, tmp, e);
        if (s != TRA_OK) break;
        int64_t largest = compare_run(c, ta->dtype, abuf, tb->dtype, bbuf, tra_catalog_floats1(ca, i));
        if (largest >= 0) {
            tra_dims ext, place;
            tra_catalog_key(ca, i, &c->at);
            tra_catalog_ext(ca, i, &ext);
            tra_unlinear(&ext, largest, &place);
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

static void report(const comparison *c, tra_rel *a, tra_rel *b, char **spec, tra_json *out) {
    char ta[TRA_DIMTEXT], tb[TRA_DIMTEXT];
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
            tra_json_num(out, "a", c->a);
            tra_json_num(out, "b", c->b);
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
        tra_str_printf(&out->out, "equal: %" PRId64 " elements", c->elements);
    } else {
        tra_str_printf(&out->out, "different: %" PRId64 " of %" PRId64 " elements", c->different, c->elements);
    }
    if (c->max_abs > 0) {
        tra_str_printf(&out->out, "; largest difference %.6g at %s: %.17g and %.17g", c->max_abs,
                       tra_dims_text(&c->at, "[", ",", "]", ta, sizeof ta), c->a, c->b);
    }
    tra_str_add(&out->out, "\n");
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    if (!(tol_rel >= 0 && tol_abs >= 0)) return tra_fail(e, TRA_USAGE, "--rtol and --atol must not be negative");
    tra_rel *a = NULL, *b = NULL;
    comparison c = {0};
    tra_status s = tra_rel_open(argv[0], NULL, &a, e);
    if (s == TRA_OK) s = tra_rel_open(argv[1], NULL, &b, e);
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
    .brief = "compares the values of two relations",
    .usage = "[options] A B",
    .about =
        "Compares two relations element by element, whatever their blocks, codecs and element types. Elements a and b "
        "are equal when |a - b| <= atol + rtol |b|, or when both are NaN; an infinity equals only itself. Holes "
        "are zeros. Prints how many elements differ, the largest absolute difference and where it is.\n\n"
        "Relations that are not one tensor are compared key by key and must have the same keys.\n\n"
        "Exit status 0: equal. 1: different. 3: a relation is missing or damaged.",
    .opts =
        (const tra_opt[]){{0, "rtol", TRA_OPT_NUM, &tol_rel, NULL, "relative tolerance (default: 0)", NULL, NULL, NULL},
                          {0, "atol", TRA_OPT_NUM, &tol_abs, NULL, "absolute tolerance (default: 0)", NULL, NULL, NULL},
                          TRA_OPT_MEMORY(memory),
                          {.name = NULL}},
    .minargs = 2,
    .maxargs = 2,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
