/* type_entries.c - which relations are sparse by type, what is known of their entries, and in which layout they are.
 *
 * A bound always holds: it follows from what is known of the operands' entries. An estimate takes the places of entries
 * to be independent. If a relation has tuples of its input as they are, exact numbers of their entries stay exact.
 * Those of computed tuples are estimated, also because these have no entries of value 0, as inputs may have.
 */
#include "../../lib/model/rows.h"
#include "cardinality.h"
#include "type.h"

#include <math.h>
#include <string.h>

/* ---- the layout of a relation ---------------------------------------------------------------------------------- */

/* Rows of entries take less than a dense array if most elements are zero, and kernels touch less; full ones take up to
 * three times as much, and cannot be given to BLAS. Decided by the estimate, since the layout changes only time and
 * space, and the memory of a plan is counted by the bound. Some extents are too large for rows. */
const tra_layout *tra_type_best_layout(const tra_type *t) {
    tra_type rows = *t, dense = *t;
    if (!t->sparse || !tra_rows_can(&t->cat->bound)) return NULL;
    rows.layout = &tra_rows;
    dense.layout = NULL;
    return tra_type_bytes_all(&rows).expected <= tra_type_bytes_all(&dense).expected ? &tra_rows : NULL;
}

void tra_type_set_layout(tra_arena *a, tra_type *t, const tra_layout *layout) {
    if (t->layout == layout) return;
    t->layout = layout;
    const tra_entries *e = t->entries;
    if (!e || !e->of) return;
    t->entries = tra_entries_with_rows(a, tra_entries_exactly(a, t, e->of, e->rows), e->fullest, e->squares, e->span);
}

/* ---- tuples of the input as they are ----------------------------------------------------------------------------- */

enum { LOOKED_UP = 1 << 18 }; /* at most so many tuples are looked up one by one, each time that a node is typed */

/* Sets from[t] to the ordinal in the input x of the tuple that is tuple t of n, a filter or rekey. */
static bool find_tuples(const tra_node *n, const tra_catalog *x, int64_t *from) {
    const tra_catalog *c = n->type.cat;
    tra_dims key, to;
    if (n->op == TRA_OP_FILTER) {
        for (int64_t t = 0; t < c->n; t++) {
            tra_catalog_key(c, t, &key);
            from[t] = tra_catalog_find(x, &key);
        }
        return true;
    }
    for (int64_t t = 0; t < x->n; t++) {
        tra_err none = {0};
        tra_catalog_key(x, t, &key);
        if (tra_keyfn_eval(n->keyfn, &key, &to, &none) != TRA_OK) return false;
        int64_t at = tra_catalog_find(c, &to);
        if (at < 0) return false;
        from[at] = t;
    }
    return true;
}

/* The v of the tuples from[0], from[1], ...; NULL if v is. */
static const int64_t *picked(tra_arena *a, const int64_t *v, const int64_t *from, int64_t n) {
    if (!v) return NULL;
    int64_t *to = tra_news(a, int64_t, n);
    for (int64_t t = 0; t < n; t++) to[t] = v[from[t]];
    return to;
}

/* The entries of a REKEY or FILTER: exact where those of the input are known tuple by tuple, else in proportion. */
static void kept_entries(tra_arena *a, tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    const tra_entries *e = x->entries;
    int64_t count = n->type.cat->n;
    n->type.layout = x->layout;
    if (e && e->of && x->cat->n <= LOOKED_UP && count > 0) {
        int64_t *from = tra_news(a, int64_t, count);
        if (find_tuples(n, x->cat, from)) {
            const tra_entries *now =
                tra_entries_exactly(a, &n->type, picked(a, e->of, from, count), picked(a, e->rows, from, count));
            double squares = n->op == TRA_OP_REKEY ? e->squares : 0;
            n->type.entries = tra_entries_with_rows(a, now, e->fullest, squares, e->span);
            return;
        }
    }
    tra_size all = tra_type_entries(x);
    double in = (double)tra_catalog_elements(x->cat),
           share = in > 0 ? (double)tra_catalog_elements(n->type.cat) / in : 0;
    int64_t most = e ? e->most : INT64_MAX;
    n->type.entries = tra_entries_about(a, &n->type, (double)all.expected * share, all.bound, most);
}

/* ---- tuples that are computed ----------------------------------------------------------------------------------- */

/* How many entries an array has at most. */
static int64_t most_of_array(const tra_type *t) {
    return t->entries ? t->entries->most : tra_catalog_elements_most(t->cat);
}

/* What kernels ask about an operand of this type that has at most `bound` entries. */
static tra_filled filled_of(const tra_type *t, int64_t bound) {
    double n = (double)tra_catalog_elements(t->cat);
    if (!t->sparse) return (tra_filled){.share = 1, .bound = bound, .work = 1};
    double share = n > 0 ? (double)tra_type_entries(t).expected / n : 0;
    int64_t fullest = t->entries ? t->entries->fullest : 0;
    return (tra_filled){.sparse = true, .share = share < 1 ? share : 1, .bound = bound, .work = 1, .fullest = fullest};
}

/* Sets the entries of a result by what is known of any one array (`one`) and of all of them together (`all`). */
static void set_estimate(tra_arena *a, tra_node *n, tra_filled one, tra_filled all) {
    double elements = (double)tra_catalog_elements(n->type.cat);
    n->type.entries = tra_entries_about(a, &n->type, all.share * elements, all.bound, one.bound);
}

/* How many tuples of the other operand one tuple of operand `side` meets at most. */
static int64_t most_met(const tra_node *n, int side) {
    const tra_catalog *c = n->in[!side]->type.cat;
    const tra_dims *joined = side ? &n->join.l : &n->join.r;
    tra_dims box = c->frontier;
    int64_t all;
    for (int i = 0; i < joined->n; i++) box.v[joined->v[i]] = 1;
    return tra_dims_product(&box, &all) ? tra_min64(all, c->n) : c->n;
}

/* About how many different elements of a result so many products fall on, if they spread over its rows r and columns c
 * as the entries of the operands do: products that crowd into few rows and columns coincide more often than products
 * that are spread evenly. */
static double distinct_places(const tra_line_counts *r, const tra_line_counts *c, double products) {
    double rows = 0, columns = 0, found = 0;
    for (int i = 0; i < TRA_LOGS; i++) rows += r->entries[i], columns += c->entries[i];
    for (int i = 0; i < TRA_LOGS; i++)
        for (int k = 0; k < TRA_LOGS; k++)
            if (r->entries[i] > 0 && c->entries[k] > 0)
                found += r->n[i] * c->n[k] *
                         tra_any_of(r->entries[i] / r->n[i] / rows * (c->entries[k] / c->n[k] / columns), products);
    return found;
}

/* A product of matrices: about how many pairs of entries are multiplied. */
typedef struct product_pairs {
    double pairs;
    bool counted;                  /* exactly so many */
    tra_line_counts rows, columns; /* of the result: as the entries of the operands are spread */
    int64_t parts;                 /* so many pairs of blocks are multiplied and added up for one block of the result */
    int64_t part;                  /* lines of the summed dimension in a block */
    tra_product_sample sample;
} product_pairs;

/* Is each row of a relation multiplied with itself (X[n,i] * X[n,j]), and are rows whole in their blocks? */
static bool is_squared(const tra_node *n, product_pairs *m) {
    const tra_type *x = &n->in[0]->type;
    int last = x->cat->bound.n - 1;
    if (n->in[0] != n->in[1] || !x->entries || x->entries->squares <= 0 || x->cat->frontier.n != last + 1) return false;
    if (x->cat->frontier.v[last] != 1 || n->join.l.n != last) return false;
    *m = (product_pairs){.pairs = x->entries->squares,
                         .counted = true,
                         .parts = n->type.cat->n,
                         .part = x->cat->bound.v[0],
                         .columns = tra_type_lines(n->in[0], last)};
    m->rows = m->columns;
    (void)tra_type_sample(n, &m->sample);
    return true;
}

static double pairs_of(const tra_product_sample *s) {
    double pairs = 0;
    for (int i = 0; i < s->n; i++) pairs += s->pairs[i];
    return pairs;
}

/* Finds how many pairs of entries a join multiplies: of matrices in files, or of rows with themselves; and what some
 * rows of the result have. */
static bool find_pairs(const tra_node *n, bool squared, product_pairs *m) {
    int d[2], of[2];
    tra_err none = {0};
    *m = (product_pairs){0};
    if (squared && is_squared(n, m)) return true;
    if (!tra_type_is_product(n, d, of)) return false;
    bool turned[2] = {false, false};
    const tra_node *x = tra_tensor_of(n->in[0], &turned[0]), *y = x ? tra_tensor_of(n->in[1], &turned[1]) : NULL;
    m->counted = y && tra_rel_meeting_pairs(x->input.rel, d[0] ^ turned[0], y->input.rel, d[1] ^ turned[1], &m->pairs,
                                            &none) == TRA_OK;
    bool sampled = tra_type_sample(n, &m->sample);
    double looked = sampled ? pairs_of(&m->sample) : 0;
    if (!m->counted && looked <= 0 && m->sample.n < m->sample.of) return false; /* others may have some */
    if (!m->counted && !sampled) return false;
    if (!m->counted) m->pairs = m->sample.of / m->sample.n * looked;
    m->rows = tra_type_lines(n->in[0], 1 - d[0]), m->columns = tra_type_lines(n->in[1], 1 - d[1]);
    m->parts = n->in[0]->type.cat->frontier.v[n->join.l.v[0]];
    m->part = n->in[0]->type.cat->bound.v[d[0]];
    return true;
}

/* Do the sampled lines have about equal numbers of pairs, so that their mean stands for all lines? */
static bool is_even(const tra_product_sample *s) {
    enum { SURE = 8 }; /* the error of the mean is at most this part of it */
    double all = pairs_of(s), squares = 0;
    for (int i = 0; i < s->n; i++) squares += s->pairs[i] * s->pairs[i];
    return SURE * sqrt(fmax(0, squares - all * all / s->n)) <= all;
}

/* How many entries the result is expected to have, in so many parts that are added up. Where the sampled rows have the
 * mean number of pairs, they stand for all rows. If their numbers of pairs differ much, `spread` is a bound: what there
 * would be if pairs were spread as entries are. Elsewhere a few full rows have most pairs, as in graphs. Then `spread`
 * is reduced by as much as the sampled rows have less than it. */
static double entries_in(const product_pairs *m, double parts) {
    const tra_product_sample *s = &m->sample;
    double spread = parts * distinct_places(&m->rows, &m->columns, m->pairs / parts), looked = pairs_of(s), even = 0;
    int log = parts > 1 && m->part < INT32_MAX ? 63 - __builtin_clzll((unsigned long long)tra_max64(1, m->part)) : -1;
    double found = s->found[log >= 0 ? log : TRA_LOGS], mean = looked * s->of / fmax(1, s->n);
    if (looked <= 0) return spread;
    if (mean * 2 > m->pairs && mean < 2 * m->pairs)
        return fmin(is_even(s) && !s->thin ? INFINITY : spread, m->pairs * found / looked);
    tra_line_counts one = {{1}, {1}};
    if (s->thin) return fmin(spread, m->pairs * found / looked); /* for bands the second is far less */
    for (int i = 0; i < s->n; i++) even += parts * distinct_places(&one, &m->columns, s->pairs[i] / parts);
    return even > 0 ? spread * fmin(1, found / even) : spread;
}

/* The result of a product has at most one entry for each pair. */
static void set_product(tra_node *n, const product_pairs *m, tra_filled *r) {
    double parts = (double)m->parts, all = (double)tra_catalog_elements(n->type.cat), rows = 0;
    double a = tra_type_band(n->in[0]), b = tra_type_band(n->in[1]), band = a > 0 && b > 0 ? a + b : INFINITY;
    double apart = entries_in(m, parts);
    for (int i = 0; i < TRA_LOGS; i++) rows += m->rows.n[i];
    double share = all > 0 ? fmin(1, fmin((rows + parts * band) * band, apart) / all) : 0;
    if (m->sample.thin && !m->counted && share >= r->share) return; /* of two estimates the lesser */
    n->join.summed_entries = fmin(rows * band, entries_in(m, 1));
    r->share = share;
    if (!m->counted) return;
    n->join.meeting_pairs = m->pairs;
    if (m->pairs < (double)r->bound) r->bound = (int64_t)m->pairs;
}

/* An entry meets no more than the fullest row or column of the other operand has. Of one pair of arrays, and of all. */
static void bound_by_lines(const tra_node *n, tra_filled *each, tra_filled *all) {
    int d[2], of[2];
    if (!all->sparse || !tra_type_is_product(n, d, of)) return;
    for (int i = 0; i < 2; i++) {
        const tra_type *x = &n->in[i]->type;
        int64_t line = tra_type_fullest_line(n->in[!i], d[!i], 0);
        each->bound = tra_min64(each->bound, tra_mul_most(most_of_array(x), line));
        all->bound = tra_min64(all->bound, tra_mul_most(tra_type_entries(x).bound, line));
    }
}

static void join_entries(tra_arena *a, tra_node *n) {
    tra_filled one[2], all[2];
    tra_dims ext[2];
    for (int i = 0; i < 2; i++) {
        const tra_type *x = &n->in[i]->type;
        ext[i] = x->cat->bound;
        one[i] = filled_of(x, most_of_array(x));
        all[i] = filled_of(x, tra_mul_most(tra_type_entries(x).bound, most_met(n, i)));
    }
    tra_dims fits;
    tra_err none = {0};
    if (tra_kernel_shape2(n->kernel, &ext[0], &ext[1], &ext[0], &ext[1], &fits, NULL, &none) != TRA_OK) {
        /* no two arrays of these bounds fit together, so nothing is known */
        tra_filled any = {.sparse = true, .share = 1, .bound = INT64_MAX, .work = 1};
        set_estimate(a, n, any, any);
        return;
    }
    tra_within_shares(n, all);
    tra_filled each = tra_kernel_filled2(n->kernel, &ext[0], &ext[1], one);
    tra_filled together = tra_kernel_filled2(n->kernel, &ext[0], &ext[1], all);
    product_pairs m;
    bound_by_lines(n, &each, &together);
    if (together.sparse && find_pairs(n, together.squared, &m)) set_product(n, &m, &together);
    double entries, elements = (double)tra_catalog_elements(n->type.cat);
    if (together.sparse && elements > 0 && tra_type_sample_alike(n, &entries)) together.share = entries / elements;
    set_estimate(a, n, each, together);
}

/* Is an array of the catalog empty, or may one be? */
static bool has_empty(const tra_catalog *c) {
    int64_t n;
    return !c->grid || !tra_dims_product(&c->bound, &n) || n == 0;
}

static void map_entries(tra_arena *a, tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    const tra_dims *ext = &x->cat->bound;
    tra_filled one = filled_of(x, most_of_array(x)), all = filled_of(x, tra_type_entries(x).bound);
    one = tra_kernel_filled1(n->kernel, ext, &one), all = tra_kernel_filled1(n->kernel, ext, &all);
    bool zero = tra_kernel_props(n->kernel) & (TRA_P_ELEMENTWISE | TRA_P_MOVES | TRA_P_ZERO);
    if (!zero && has_empty(x->cat)) one.bound = all.bound = INT64_MAX; /* the maximum of no elements is not 0 */
    set_estimate(a, n, one, all);
}

/* Have all arrays of each group the same extents? Then none is padded. */
static bool is_covered(const tra_node *n) {
    const tra_catalog *c = n->in[0]->type.cat;
    for (int d = 0; c->grid && d < c->bound.n; d++) {
        bool grouped = c->by[d] < 0;
        for (int i = 0; i < n->group.n; i++) grouped = grouped || n->group.v[i] == c->by[d];
        if (!grouped) return false;
    }
    return c->grid;
}

/* How many entries the fullest block of a line has, for blocks of `width` coordinates; interpolates between powers of
 * two. */
static double crowd_within(const tra_product_sample *s, int64_t width) {
    int log = 0;
    while (log < TRA_LOGS && (int64_t)2 << log <= width) log++;
    if (log == TRA_LOGS) return s->crowd[log];
    double low = ldexp(1, log), more = ((double)width - low) / low;
    return s->crowd[log] + more * (s->crowd[log + 1] - s->crowd[log]);
}

/* How many entries the fullest block of a product is expected to have, by the sampled lines. Those of bands crowd into
 * few blocks. 0: it has less than twice the mean, for which there is room in any case. */
static int64_t crowd_of(const tra_node *n) {
    int d[2], of[2];
    const tra_node *join = n->in[0];
    const tra_dims *b = &n->type.cat->bound;
    tra_product_sample s = {0};
    if (b->n != 2 || !tra_type_is_product(join, d, of) || !tra_type_sample(join, &s) || s.found[TRA_LOGS] == 0)
        return 0;
    int lines = of[0] == s.side ? 0 : 1;
    double all = (double)tra_type_entries(&n->type).expected, share = crowd_within(&s, b->v[1 - lines]);
    double crowd = fmin(all, all * share / s.found[TRA_LOGS] * fmin(1, (double)b->v[lines] / s.of));
    return crowd > 2 * all / (double)n->type.cat->n ? (int64_t)crowd : 0;
}

static void agg_entries(tra_arena *a, tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    int64_t groups = n->type.cat->n;
    double terms = groups ? (double)x->cat->n / (double)groups : 0;
    const tra_dims *ext = &x->cat->bound;
    tra_dims box = x->cat->frontier;
    int64_t largest, bound = tra_type_entries(x).bound; /* tuples of a group */
    for (int i = 0; i < n->group.n; i++) box.v[n->group.v[i]] = 1;
    if (!tra_dims_product(&box, &largest)) largest = INT64_MAX;
    tra_filled one = filled_of(x, tra_min64(bound, tra_mul_most(most_of_array(x), largest))), all = filled_of(x, bound);
    bool covered = is_covered(n);
    tra_filled together = tra_kernel_filled_agg(n->kernel, ext, terms, covered, &all);
    if (n->in[0]->join.summed_entries > 0 && tra_type_adds_product(n))
        together.share = fmin(1, n->in[0]->join.summed_entries / (double)tra_catalog_elements(n->type.cat));
    set_estimate(a, n, tra_kernel_filled_agg(n->kernel, ext, terms, covered, &one), together);
    if (x->sparse && n->in[0]->join.summed_entries > 0 && tra_type_adds_product(n)) {
        tra_entries *e = tra_new(a, tra_entries);
        *e = *n->type.entries;
        e->crowd = crowd_of(n);
        n->type.entries = e;
    }
}

/* The entries of a TILE, CONCAT or REPART: together as many as before, and in each array no more than it has elements.
 * `times`: how many arrays of the input may be in one array of the result; `beside`: in one of its rows. */
static void regrouped_entries(tra_arena *a, tra_node *n, int64_t times, int64_t beside) {
    const tra_type *x = &n->in[0]->type;
    tra_size all = tra_type_entries(x);
    int64_t fullest = x->entries ? x->entries->fullest : 0;
    n->type.entries =
        tra_entries_about(a, &n->type, (double)all.expected, all.bound, tra_mul_most(most_of_array(x), times));
    n->type.entries = tra_entries_with_rows(a, n->type.entries, tra_mul_most(fullest, beside), 0, 0);
}

/* The same of a REPART of the whole tensor. */
static void cut_entries(tra_arena *a, tra_node *n) {
    const tra_catalog *c = n->in[0]->type.cat;
    int64_t times = 1, parts = 1;
    for (int d = 0; d < c->bound.n; d++) {
        int64_t was = tra_max64(1, c->bound.v[d]), is = tra_max64(1, n->block.v[d]);
        parts = is % was == 0 ? is / was : was % is == 0 ? 1 : (is - 1) / was + 2;
        parts = tra_min64(parts, tra_max64(1, d < c->frontier.n ? c->frontier.v[d] : 1));
        times = tra_mul_most(times, parts);
    }
    regrouped_entries(a, n, times, parts);
}

/* The entries of a REPART whose result is a part of the tensor, or has it as a part. */
static void part_entries(tra_arena *a, tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    double in = (double)tra_catalog_elements(x->cat), out = (double)tra_catalog_elements(n->type.cat);
    double share = in > out ? out / in : 1;
    tra_size all = tra_type_entries(x);
    n->type.entries = tra_entries_about(a, &n->type, share * (double)all.expected, all.bound,
                                        tra_mul_most(most_of_array(x), x->cat->n));
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static bool is_sparse(const tra_node *n) {
    bool x = n->in[0]->type.sparse, y = n->in[1] && n->in[1]->type.sparse;
    switch (n->op) {
    case TRA_OP_JOIN: return tra_kernel_sparse(n->kernel, TRA_USE_JOIN, x, y);
    case TRA_OP_AGG: return tra_kernel_sparse(n->kernel, TRA_USE_AGG, x, false);
    case TRA_OP_TRANSFORM: return tra_kernel_sparse(n->kernel, TRA_USE_MAP, x, false);
    case TRA_OP_INPUT:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT:
    case TRA_OP_REPART: break;
    }
    return x;
}

double tra_share_expected(const tra_type *t) {
    double all = (double)tra_catalog_elements(t->cat);
    return t->bounded && t->entries && all > 0 ? (double)t->entries->all.expected / all : 1;
}

/* How many rows all operands that are tables are expected to have together. */
static double rows_of_tables(const tra_node *n) {
    double rows = 0;
    for (int i = 0; i < 2 && n->in[i]; i++) {
        const tra_type *t = &n->in[i]->type;
        if (t->columns) rows += tra_share_expected(t) * (double)tra_catalog_elements(t->cat);
    }
    return rows;
}

/* Sets what is expected, and a bound, of elements whose number only the run tells. */
static void set_run_counted(tra_arena *a, tra_node *n) {
    const tra_rows_kernel *rows = n->kernel ? tra_kernel_rows(n->kernel) : NULL;
    double share = tra_share_expected(&n->in[0]->type);
    bool left = rows && rows->extent == TRA_ROWS_SAME; /* the rows are those of the left operand, or some of them */
    bool pairs = rows && (rows->extent == TRA_ROWS_PRODUCT || rows->extent == TRA_ROWS_OUTER);
    if (rows && (rows->kept == TRA_KEPT_MET || pairs))
        share *= tra_share_expected(&n->in[1]->type);
    else if (n->in[1] && !left)
        share = share < tra_share_expected(&n->in[1]->type) ? share : tra_share_expected(&n->in[1]->type);
    /* a result of few rows does not have fewer because its operand has not all rows that it has room for */
    if (rows && rows->extent == TRA_ROWS_MOST && rows->most < n->in[0]->type.cat->bound.v[0]) share = 1;
    if (rows && rows->counts && rows->kept == TRA_KEPT_UNMET)
        share *= 1 - (1 - rows->share) * tra_share_expected(&n->in[1]->type);
    else if (rows && rows->counts)
        share *= rows->share;
    double expected = share * (double)tra_catalog_elements(n->type.cat);
    if (rows && rows->extent == TRA_ROWS_EITHER) expected = rows_of_tables(n);
    if (rows && rows->extent == TRA_ROWS_RIGHT) expected = (double)tra_type_entries(&n->in[1]->type).expected;
    bool keeps = n->op == TRA_OP_CONCAT || n->op == TRA_OP_REKEY;
    if (rows) keeps = rows->divides || (n->op == TRA_OP_TRANSFORM && rows->extent == TRA_ROWS_SAME);
    int64_t most = keeps ? tra_type_entries(&n->in[0]->type).bound : INT64_MAX;
    if (keeps && rows && !rows->columns && n->in[0]->type.columns)
        most = tra_mul_most(most, rows->width); /* elements */
    if (rows && rows->all > 0) most = tra_min64(most, rows->all);
    if (n->op == TRA_OP_CONCAT && n->most) expected = (double)tra_type_entries(&n->in[0]->type).expected;
    if (n->type.bounded) n->type.entries = tra_entries_about(a, &n->type, expected, most, INT64_MAX);
}

/* Sets columns, `bounded` and layout of tables, and of tensors of which only the run tells how many rows they have. */
static void set_bounded(tra_node *n) {
    const tra_type *x = &n->in[0]->type;
    switch (n->op) {
    case TRA_OP_INPUT: return;
    case TRA_OP_JOIN: tra_kernel_bounded(n->kernel, TRA_USE_JOIN, x, &n->in[1]->type, &n->type); return;
    case TRA_OP_AGG: tra_kernel_bounded(n->kernel, TRA_USE_AGG, x, NULL, &n->type); return;
    case TRA_OP_TRANSFORM: tra_kernel_bounded(n->kernel, TRA_USE_MAP, x, NULL, &n->type); return;
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT:
    case TRA_OP_REPART: break;
    }
    n->type.columns = x->columns;
    n->type.bounded = x->bounded;
    if (x->columns || x->bounded) n->type.layout = x->layout;
}

/* Is the node a sum whose result should be a dense array, although its type is sparse? It should if much of it is not
 * 0: to list the entries, once to count and once to make them, would take longer than all else. */
static bool adds_densely(const tra_node *n) {
    enum { MANY = 8 }; /* at least an eighth of the elements are expected to be entries */
    if (n->op != TRA_OP_TRANSFORM || tra_kernel_props(n->kernel) & (TRA_P_ELEMENTWISE | TRA_P_MOVES)) return false;
    return (double)tra_type_entries(&n->type).expected * MANY >= (double)tra_catalog_elements(n->type.cat);
}

void tra_type_entries_of(tra_arena *a, tra_node *n) {
    n->type.sparse = is_sparse(n);
    n->join.meeting_pairs = n->join.summed_entries = 0;
    n->type.entries = NULL;
    n->type.layout = NULL;
    if (n->in[0]) set_bounded(n);
    if (n->in[0]) set_run_counted(a, n);
    if (!n->type.sparse || n->type.layout) return;
    switch (n->op) {
    case TRA_OP_INPUT: return;
    case TRA_OP_REKEY:
    case TRA_OP_FILTER: kept_entries(a, n); return;
    case TRA_OP_JOIN: join_entries(a, n); break;
    case TRA_OP_AGG: agg_entries(a, n); break;
    case TRA_OP_TRANSFORM: map_entries(a, n); break;
    case TRA_OP_TILE: regrouped_entries(a, n, 1, 0); break;
    case TRA_OP_CONCAT: regrouped_entries(a, n, n->in[0]->type.cat->frontier.v[n->keydim], 0); break;
    case TRA_OP_REPART:
        if (n->slice.origin.n > 0)
            part_entries(a, n);
        else
            cut_entries(a, n);
        break;
    }
    tra_within_set(a, n);
    n->type.layout = adds_densely(n) ? NULL : tra_type_best_layout(&n->type);
}
