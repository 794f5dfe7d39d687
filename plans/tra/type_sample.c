/* type_sample.c - samples of products of sparse matrices. Planning reads the coordinates of a few lines of the left
 * operand, and of the lines of the right one that they meet. So estimates of entries also hold for bands, blocks,
 * meshes and graphs, whose entries are not at random places. */
#include "../../lib/base/mix.h"
#include "../../lib/base/radix.h"
#include "type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 1 << 16, /* entries of lines, and pairs of entries: as many bytes as planning has for counts */
    DEEPEST = 6,    /* operators below each other that are looked through */
    THINNEST = 20   /* at least one of 2^20 places is looked at */
};

typedef struct tra_line_entries lines;

/* ---- what can be looked at --------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t a, uint64_t b) { return tra_mix(a * 0x9e3779b97f4a7c15ULL + b + 1); }

/* What a node is: nodes with the same entries at the same places have the same number, whatever their blocks. 0: it is
 * not looked at. *rel: a file that it reads. */
static uint64_t identity(const tra_node *n, int depth, tra_rel **rel) {
    int sum[2], of[2];
    bool turned;
    uint64_t x = 0, y = 0;
    if (!n->type.sparse || n->type.cat->bound.n != 2 || depth > DEEPEST) return 0;
    n = tra_pattern_of(n, &turned);
    if (n->op == TRA_OP_INPUT && n->input.rel) {
        *rel = n->input.rel;
        x = mixed(1, (uint64_t)(uintptr_t)n->input.rel);
    } else if (n->op == TRA_OP_AGG && tra_type_adds_product(n) && tra_type_is_product(n->in[0], sum, of)) {
        x = identity(n->in[0]->in[0], depth + 1, rel), y = identity(n->in[0]->in[1], depth + 1, rel);
        if (!x || !y) return 0;
        x = mixed(mixed(x, y), (uint64_t)(2 + sum[0] + 2 * sum[1] + 4 * of[0]));
    } else if (n->op == TRA_OP_JOIN && tra_type_is_alike(n, 0) && tra_type_is_alike(n, 1)) {
        x = identity(n->in[0], depth + 1, rel), y = identity(n->in[1], depth + 1, rel);
        if (!x || !y) return 0;
        x = mixed(mixed(x, y), (uint64_t)(16 + tra_kernel_sparse(n->kernel, TRA_USE_JOIN, true, false) +
                                          2 * tra_kernel_sparse(n->kernel, TRA_USE_JOIN, false, true)));
    }
    return x ? mixed(x, turned) : 0;
}

/* ---- entries of lines -------------------------------------------------------------------------------------------- */

/* An entry of a line of a product, and by which line of the right operand it came. */
typedef struct met {
    uint64_t place; /* line, then coordinate */
    int64_t by;
} met;
enum { COORDINATE = 40 }; /* bits of it */

static lines new_lines(void) { return (lines){.v = tra_malloc(MOST * sizeof(tra_line_entry)), .room = MOST}; }

/* Is a place among those that are looked at, one of 2^log of them, whatever line it is in? */
static bool is_looked_at(int64_t at, int log) { return log == 0 || tra_mix((uint64_t)at + 1) >> (64 - log) == 0; }

/* Leaves only entries at places that are looked at. */
static void thin(lines *x, int log) {
    int64_t n = 0;
    for (int64_t i = 0; i < x->n; i++)
        if (is_looked_at(x->v[i].at, log)) x->v[n++] = x->v[i];
    x->n = n;
}

/* Sorts by line, then by coordinate, and leaves each once. */
static void put_in_order(lines *x) {
    tra_line_entry *other = tra_malloc((size_t)(x->n + 1) * sizeof *other), *v;
    v = tra_radix_sort(x->v, other, x->n, sizeof *v, offsetof(tra_line_entry, at));
    v = tra_radix_sort(v, v == other ? x->v : other, x->n, sizeof *v, offsetof(tra_line_entry, line));
    int64_t n = 0;
    for (int64_t i = 0; i < x->n; i++)
        if (i == 0 || v[i].line != v[i - 1].line || v[i].at != v[i - 1].at) x->v[n++] = v[i];
    free(other);
    x->n = n;
}

static bool entries_of(const tra_node *n, int d, const int64_t *line, int64_t nlines, lines *out, int depth);

/* The coordinates of the entries, each once, ascending; entries become those of these lines. */
static int64_t *as_lines(lines *x, int64_t *n) {
    int64_t *at = tra_malloc((size_t)(2 * x->n + 1) * sizeof *at), *v;
    for (int64_t i = 0; i < x->n; i++) at[i] = x->v[i].at;
    v = tra_radix_sort(at, at + x->n, x->n, sizeof *at, 0);
    *n = 0;
    for (int64_t i = 0; i < x->n; i++)
        if (i == 0 || v[i] != v[i - 1]) at[(*n)++] = v[i];
    for (int64_t i = 0; i < x->n; i++) {
        int64_t line = 0;
        TRA_BISECT(line, *n - 1, mid, at[mid] < x->v[i].at);
        x->v[i].at = line;
    }
    return at;
}

/* Where each line of y begins; how many pairs its entries make with those of x that name their lines. */
static int64_t count_pairs(const lines *x, const lines *y, int64_t *begin, int64_t nlines) {
    int64_t pairs = 0;
    memset(begin, 0, ((size_t)nlines + 2) * sizeof *begin);
    for (int64_t i = 0; i < y->n; i++) begin[y->v[i].line + 1]++;
    for (int64_t i = 0; i < nlines; i++) begin[i + 1] += begin[i];
    for (int64_t i = 0; i < x->n; i++) pairs += begin[x->v[i].at + 1] - begin[x->v[i].at];
    return pairs;
}

/* All pairs of an entry of x and one of the line of y that it names, in order; of one of 2^*log places, where there are
 * more than MOST and log is not NULL. NULL: there are more, or coordinates that are too large for a place. line: where
 * the lines of y are. */
static met *meet(const lines *x, lines *y, const int64_t *line, int64_t nlines, int64_t *n, int *log) {
    int64_t *begin = tra_malloc(((size_t)nlines + 2) * sizeof *begin), pairs;
    uint64_t all = 0;
    for (int64_t i = 0; i < y->n; i++) all |= (uint64_t)y->v[i].at;
    while ((pairs = count_pairs(x, y, begin, nlines)) > MOST && log && *log < THINNEST) thin(y, ++*log);
    met *v = pairs > MOST || all >> COORDINATE ? NULL : tra_malloc((size_t)(2 * pairs + 1) * sizeof *v);
    *n = 0;
    for (int64_t i = 0; v && i < x->n; i++)
        for (int64_t k = begin[x->v[i].at]; k < begin[x->v[i].at + 1]; k++)
            v[(*n)++] = (met){(uint64_t)x->v[i].line << COORDINATE | (uint64_t)y->v[k].at, line[x->v[i].at]};
    free(begin);
    if (!v) return NULL;
    met *s = tra_radix_sort(v, v + pairs, pairs, sizeof *v, offsetof(met, by));
    s = tra_radix_sort(s, s == v ? v + pairs : v, pairs, sizeof *v, offsetof(met, place));
    if (s != v) memcpy(v, s, (size_t)pairs * sizeof *v);
    return v;
}

/* Do pointers of a file lead to the lines of dimension d? */
static bool has_pointers(const tra_node *n, int d) {
    bool turned;
    n = tra_pattern_of(n, &turned);
    return n->op == TRA_OP_INPUT && n->input.rel && tra_rel_points_to(n->input.rel, turned ? 1 - d : d);
}

/* Appends entries of lines from `from` on, of one of 2^*log places; of fewer places where there is no room. False:
 * there is none even so. */
static bool append_thin(lines *out, lines *some, int64_t from, int *log) {
    thin(some, *log);
    while (out->n + some->n > out->room) {
        if (*log == THINNEST) return false;
        ++*log;
        thin(out, *log);
        thin(some, *log);
    }
    for (int64_t i = 0; i < some->n; i++) out->v[out->n++] = (tra_line_entry){some->v[i].line + from, some->v[i].at};
    return true;
}

/* The entries of many lines. Where there are more than MOST and log is not NULL: of one of 2^*log places, some lines at
 * a time. Only pointers make that cheap: without them each time takes a walk through all entries. */
static bool entries_of_many(const tra_node *n, int d, const int64_t *line, int64_t nlines, lines *out, int depth,
                            int *log) {
    if (entries_of(n, d, line, nlines, out, depth)) return true;
    out->n = 0;
    if (!log || !has_pointers(n, d)) return false;
    lines some = new_lines();
    int64_t step = tra_max64(1, nlines / 2), from = 0;
    while (from < nlines) {
        int64_t here = tra_min64(step, nlines - from);
        some.n = 0;
        if (entries_of(n, d, line + from, here, &some, depth)) {
            if (!append_thin(out, &some, from, log)) break;
            from += here;
        } else if (here > 1) {
            step = here / 2;
        } else {
            break;
        }
    }
    free(some.v);
    return from >= nlines;
}

/* What lines of a product have; side: the operand whose lines they are. Of one of 2^*log places, where there is more
 * than can be looked at and log is not NULL. NULL: that is too much, or not known. */
static met *product_of(const tra_node *join, int side, const int64_t *line, int64_t nlines, int64_t *n, int depth,
                       int *log) {
    int sum[2], of[2];
    if (!tra_type_is_product(join, sum, of)) return NULL;
    lines x = new_lines(), y = new_lines();
    int64_t *by = NULL, nby = 0;
    met *v = NULL;
    if (entries_of(join->in[side], 1 - sum[side], line, nlines, &x, depth)) {
        by = as_lines(&x, &nby);
        if (entries_of_many(join->in[!side], sum[!side], by, nby, &y, depth, log)) v = meet(&x, &y, by, nby, n, log);
    }
    free(by);
    free(x.v);
    free(y.v);
    return v;
}

/* Those that both have, or that either has; each is in order. False: there is no room. */
static bool merge(const lines *x, const lines *y, bool both, lines *out) {
    for (int64_t i = 0, k = 0; i < x->n || k < y->n;) {
        const tra_line_entry *a = i < x->n ? &x->v[i] : NULL, *b = k < y->n ? &y->v[k] : NULL;
        int64_t order = !a ? 1 : !b ? -1 : a->line != b->line ? a->line - b->line : a->at - b->at;
        if (order == 0 || !both) {
            if (out->n == out->room) return false;
            out->v[out->n++] = order <= 0 ? *a : *b;
        }
        i += order <= 0, k += order >= 0;
    }
    return true;
}

static bool join_of(const tra_node *n, int d, const int64_t *line, int64_t nlines, lines *out, int depth) {
    bool both = tra_kernel_sparse(n->kernel, TRA_USE_JOIN, true, false) &&
                tra_kernel_sparse(n->kernel, TRA_USE_JOIN, false, true);
    lines x = new_lines(), y = new_lines();
    bool ok = entries_of(n->in[0], d, line, nlines, &x, depth) && entries_of(n->in[1], d, line, nlines, &y, depth) &&
              merge(&x, &y, both, out);
    free(x.v);
    free(y.v);
    return ok;
}

/* The entries of lines of a matrix whose identity is known, in order. */
static bool entries_of(const tra_node *n, int d, const int64_t *line, int64_t nlines, lines *out, int depth) {
    bool turned;
    int sum[2], of[2];
    tra_err none = {0};
    n = tra_pattern_of(n, &turned);
    if (turned) d = 1 - d;
    if (n->op == TRA_OP_INPUT && n->input.rel) {
        tra_dims shape;
        tra_type_shape(&n->type, &shape);
        bool ok = tra_rel_line_entries(n->input.rel, d, line, nlines, out, &none) == TRA_OK;
        for (int64_t i = 0; i < out->n && ok; i++) ok = (uint64_t)out->v[i].at < (uint64_t)shape.v[1 - d];
        if (ok) put_in_order(out);
        return ok; /* false also for coordinates of a damaged file, of which the run tells */
    }
    if (n->op == TRA_OP_JOIN) return join_of(n, d, line, nlines, out, depth + 1);
    if (n->op != TRA_OP_AGG || !tra_type_is_product(n->in[0], sum, of)) return false;
    int64_t m;
    met *v = product_of(n->in[0], of[d], line, nlines, &m, depth + 1, NULL);
    for (int64_t i = 0; v && i < m; i++)
        if (i == 0 || v[i].place != v[i - 1].place)
            out->v[out->n++] = (tra_line_entry){(int64_t)(v[i].place >> COORDINATE),
                                                (int64_t)(v[i].place & (((uint64_t)1 << COORDINATE) - 1))};
    free(v);
    return v != NULL;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Counts pairs and entries of n lines; each stands for `times` of them. */
static void tally(const met *v, int64_t m, int n, double times, tra_product_sample *out) {
    double apart[TRA_LOGS] = {0}; /* that become others if blocks are of 2^i lines at most */
    out->n = n;
    for (int64_t i = 0; i < m; i++) {
        bool other = i == 0 || v[i].place != v[i - 1].place;
        uint64_t differ = other ? 0 : (uint64_t)v[i].by ^ (uint64_t)v[i - 1].by;
        int bit = differ ? 63 - __builtin_clzll(differ) : -1;
        out->pairs[v[i].place >> COORDINATE] += times;
        if (other) out->found[TRA_LOGS] += times;
        if (bit >= 0) apart[bit < TRA_LOGS ? bit : TRA_LOGS - 1] += times;
    }
    for (int i = TRA_LOGS - 1; i >= 0; i--) out->found[i] = out->found[i + 1] + apart[i];
}

/* Finds how many entries the fullest block of each line has; each stands for `times` of them. */
static void find_crowds(const met *v, int64_t m, double times, tra_product_sample *out) {
    for (int i = 0; i <= TRA_LOGS; i++) {
        double most = 0, here = 0;
        for (int64_t k = 0; k < m; k++) {
            if (k > 0 && v[k].place == v[k - 1].place) continue;
            if (k > 0 && v[k].place >> i != v[k - 1].place >> i) here = 0;
            if (k > 0 && v[k].place >> COORDINATE != v[k - 1].place >> COORDINATE) out->crowd[i] += most, most = 0;
            most = fmax(most, fmin(here += times, ldexp(1, i)));
        }
        out->crowd[i] += most;
    }
}

/* About n lines of `of`, one at random in each n-th of them. Returns how many. */
static int64_t choose_lines(int n, int64_t of, int64_t line[TRA_SAMPLE_LINES]) {
    int64_t k = 0;
    for (int i = 0; i < n; i++) {
        double share = (i + (double)(tra_mix((uint64_t)i + 1) >> 11) * 0x1p-53) / n;
        int64_t at = of <= n ? i : tra_min64(of - 1, (int64_t)(share * (double)of));
        if (at < of && (k == 0 || at > line[k - 1])) line[k++] = at;
    }
    return k;
}

/* About n lines; thin: where they have too much, at some of their places. */
static void sample_lines(const tra_node *join, int side, int64_t of, int n, bool thin, tra_product_sample *out) {
    int64_t line[TRA_SAMPLE_LINES], m, k = choose_lines(n, of, line);
    int log = 0;
    met *v = product_of(join, side, line, k, &m, 0, thin ? &log : NULL);
    out->thin = log > 0;
    if (v) tally(v, m, (int)k, ldexp(1, log), out), find_crowds(v, m, ldexp(1, log), out);
    free(v);
}

static void take_sample(const tra_node *join, int side, int64_t of, tra_product_sample *out) {
    enum { FEW = 4 };
    *out = (tra_product_sample){.side = side, .of = (double)of};
    for (int n = TRA_SAMPLE_LINES; n >= FEW && out->n == 0; n /= 4) sample_lines(join, side, of, n, false, out);
    if (out->n == 0) sample_lines(join, side, of, FEW, true, out);
}

bool tra_type_sample(const tra_node *join, tra_product_sample *out) {
    int sum[2], of[2];
    tra_rel *rel = NULL;
    if (!tra_type_is_product(join, sum, of)) return false;
    uint64_t x = identity(join->in[0], 0, &rel), y = x ? identity(join->in[1], 0, &rel) : 0;
    if (!x || !y) return false;
    uint64_t key = mixed(mixed(x, y), (uint64_t)(2 * sum[0] + sum[1]));
    const tra_product_sample *kept = tra_rel_kept_sample(rel, key);
    if (!kept) {
        int side = !has_pointers(join->in[0], 1 - sum[0]) && has_pointers(join->in[1], 1 - sum[1]);
        tra_dims shape;
        tra_type_shape(&join->in[side]->type, &shape);
        int64_t n = shape.v[1 - sum[side]];
        *out = (tra_product_sample){0};
        if (n > 0 && n >> COORDINATE == 0) take_sample(join, side, n, out);
        tra_rel_keep_sample(rel, key, out);
    } else {
        *out = *kept;
    }
    return out->n > 0;
}

static void sample_alike(const tra_node *join, int64_t of, tra_product_sample *out) {
    *out = (tra_product_sample){.of = (double)of};
    for (int n = TRA_SAMPLE_LINES; n >= 4 && out->n == 0; n /= 4) {
        int64_t line[TRA_SAMPLE_LINES], k = choose_lines(n, of, line);
        lines x = new_lines();
        if (entries_of(join, 0, line, k, &x, 0)) out->n = (int)k, out->found[TRA_LOGS] = (double)x.n;
        free(x.v);
    }
}

bool tra_type_sample_alike(const tra_node *join, double *entries) {
    enum { SURE = 16 }; /* entries of which chance made not all */
    tra_rel *rel = NULL;
    if (!tra_type_is_alike(join, 0) || !tra_type_is_alike(join, 1)) return false;
    uint64_t both = identity(join, 0, &rel);
    if (!both) return false; /* one operand may be known, and set rel, where the other one is not */
    uint64_t key = mixed(both, 1);
    const tra_product_sample *kept = tra_rel_kept_sample(rel, key);
    tra_product_sample x = {0};
    if (kept) {
        x = *kept;
    } else {
        tra_dims shape;
        tra_type_shape(&join->in[0]->type, &shape);
        if (shape.v[0] > 0) sample_alike(join, shape.v[0], &x);
        tra_rel_keep_sample(rel, key, &x);
    }
    if (x.n == 0 || (x.found[TRA_LOGS] < SURE && x.n < x.of)) return false;
    *entries = x.found[TRA_LOGS] * x.of / x.n;
    return true;
}
