/* stored_lines.c - the coordinates of a matrix stored by levels, as planning reads them: of all entries, or of those of
 * some rows or columns. */
#include "stored_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 14,       /* elements that are read at once */
    MOST_READ = 1 << 25,   /* entries: planning reads all of no larger matrix */
    MOST_MARKED = 1 << 24, /* lines, of which a bit for each says whether they are asked for */
    MOST_READS = 2048      /* of lines, or of tuples: each asks the file twice, and planning does not wait for more */
};

/* Reading a matrix: O is the dimension of the first level, I that of the second. */
typedef struct walk {
    const tra_rel *r;
    int outer, inner;   /* dimensions */
    bool pairs;         /* each entry has both coordinates, as in coo; else pointers lead from the first level */
    bool listed;        /* the first level has coordinates, as in dcsr */
    int64_t origin[2];  /* of the tuple that is read, by dimension */
    int64_t extent[2];  /* and of the matrix */
    int64_t from, to;   /* positions of the first level that the tuple has */
    int64_t *at, *next; /* [PIECE + 1] each: what was read */
    int64_t *coord[2];  /* [PIECE]: coordinates of entries, by dimension */
} walk;

/* Takes m entries by their coordinates in each dimension; false: enough. */
typedef bool sink(void *ctx, const int64_t *const coord[2], int64_t m);

static bool can_walk(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    if (!x || x->unordered || x->mirror || x->mapping || x->form.packed || x->is_transposed) return false;
    const tra_levels *l = &x->form.levels;
    if (l->n != 2 || r->cat.frontier.n != 2 || r->cat.bound.n != 2) return false;
    return (x->form.group[0] == 2 && x->form.indices[1] >= 0) || (x->form.group[0] != 2 && x->form.pointers[1] >= 0);
}

static void walk_begin(walk *w, const tra_rel *r) {
    const tra_form *f = &r->stored->form;
    *w = (walk){.r = r, .outer = f->levels.order[0], .inner = f->levels.order[1]};
    w->pairs = f->group[0] == 2;
    w->listed = f->group[0] > 0;
    for (int d = 0; d < 2; d++) w->extent[d] = tra_mul_most(r->cat.bound.v[d], r->cat.frontier.v[d]);
    w->at = tra_malloc((size_t)(4 * PIECE + 2) * sizeof *w->at);
    w->next = w->at + PIECE + 1;
    for (int d = 0; d < 2; d++) w->coord[d] = w->next + PIECE + 1 + d * PIECE;
}

static void walk_to(walk *w, int64_t ordinal) {
    tra_dims key;
    tra_catalog_key(&w->r->cat, ordinal, &key);
    for (int d = 0; d < 2; d++) w->origin[d] = key.v[d] * w->r->cat.bound.v[d];
    w->from = w->r->stored->begin[ordinal], w->to = w->r->stored->begin[ordinal + 1];
}

static tra_status read_level(const walk *w, int component, int64_t from, int64_t n, int64_t *to, tra_err *e) {
    return tra_dataset_read_ints(w->r, &w->r->stored->c[component], from, n, to, e);
}

/* Coordinates of a level, m of them, in the whole matrix; a damaged file's may be any. */
static tra_status read_coords(const walk *w, int level, int64_t from, int64_t m, int64_t *to, tra_err *e) {
    const tra_form *f = &w->r->stored->form;
    int64_t origin = w->origin[f->levels.order[level]];
    TRA_TRY(read_level(w, f->indices[level], from, m, to, e));
    for (int64_t i = 0; i < m; i++) to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)origin);
    return TRA_OK;
}

/* The entries from .. to - 1 of one line of the first level. */
static tra_status one_line(walk *w, int64_t line, int64_t from, int64_t to, sink *take, void *ctx, bool *more,
                           tra_err *e) {
    for (int64_t m; from < to && *more; from += m) {
        m = tra_min64(PIECE, to - from);
        TRA_TRY(read_coords(w, 1, from, m, w->coord[w->inner], e));
        for (int64_t i = 0; i < m; i++) w->coord[w->outer][i] = line;
        *more = take(ctx, (const int64_t *const *)w->coord, m);
    }
    return TRA_OK;
}

/* Do m + 1 pointers ascend within the entries of the file? Those of a damaged one may not; the run says so. */
static bool ascend(const walk *w, const int64_t *next, int64_t m) {
    const struct tra_stored *x = w->r->stored;
    int64_t n = w->r->cat.n, all = x->begin[(x->form.levels.n - 1) * (n + 1) + n];
    for (int64_t i = 0; i < m; i++)
        if (next[i + 1] < next[i]) return false;
    return next[0] >= 0 && next[m] <= all;
}

/* All entries of a tuple, of m positions of the first level that w->at (coordinates) and w->next (pointers) have. */
static tra_status some_lines(walk *w, int64_t m, sink *take, void *ctx, bool *more, tra_err *e) {
    for (int64_t i = 0, k; i < m && *more; i = k) {
        int64_t have = w->next[i + 1] - w->next[i];
        if (have > PIECE) {
            k = i + 1;
            TRA_TRY(one_line(w, w->at[i], w->next[i], w->next[k], take, ctx, more, e));
            continue;
        }
        for (k = i; k < m && w->next[k + 1] - w->next[i] <= PIECE; k++)
            for (int64_t j = w->next[k]; j < w->next[k + 1]; j++) w->coord[w->outer][j - w->next[i]] = w->at[k];
        TRA_TRY(read_coords(w, 1, w->next[i], w->next[k] - w->next[i], w->coord[w->inner], e));
        *more = take(ctx, (const int64_t *const *)w->coord, w->next[k] - w->next[i]);
    }
    return TRA_OK;
}

/* All entries of the tuple. */
static tra_status whole_tuple(walk *w, sink *take, void *ctx, bool *more, tra_err *e) {
    const tra_form *f = &w->r->stored->form;
    for (int64_t from = w->from, m; from < w->to && *more; from += m) {
        m = tra_min64(PIECE, w->to - from);
        if (w->pairs) {
            for (int l = 0; l < 2; l++) TRA_TRY(read_coords(w, l, from, m, w->coord[f->levels.order[l]], e));
            *more = take(ctx, (const int64_t *const *)w->coord, m);
            continue;
        }
        TRA_TRY(read_level(w, f->pointers[1], from, m + 1, w->next, e));
        if (!ascend(w, w->next, m)) return TRA_OK;
        if (w->listed) TRA_TRY(read_coords(w, 0, from, m, w->at, e));
        for (int64_t i = 0; i < m && !w->listed; i++) w->at[i] = w->origin[w->outer] + from - w->from + i;
        TRA_TRY(some_lines(w, m, take, ctx, more, e));
    }
    return TRA_OK;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

typedef struct counting {
    int d;
    uint32_t *all;
    int64_t n;
} counting;

static bool count(void *ctx, const int64_t *const coord[2], int64_t m) {
    counting *c = ctx;
    for (int64_t i = 0; i < m; i++)
        if ((uint64_t)coord[c->d][i] < (uint64_t)c->n) c->all[coord[c->d][i]]++;
    return true;
}

bool tra_stored_can_walk(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    return can_walk(r) && x->begin[(x->form.levels.n - 1) * (r->cat.n + 1) + r->cat.n] <= MOST_READ;
}

tra_status tra_stored_count_lines(const tra_rel *r, int d, uint32_t *all, int64_t n, tra_err *e) {
    counting c = {d, all, n};
    tra_status s = TRA_OK;
    bool more = true;
    walk w;
    if (!tra_stored_can_walk(r)) return tra_fail(e, TRA_NO, "%s:%s has too many entries to count", r->path, r->name);
    walk_begin(&w, r);
    for (int64_t t = 0; t < r->cat.n && s == TRA_OK; t++) {
        walk_to(&w, t);
        s = whole_tuple(&w, count, &c, &more, e);
    }
    free(w.at);
    return s;
}

/* ---- some lines -------------------------------------------------------------------------------------------------- */

typedef struct choosing {
    int d;
    const int64_t *lines; /* ascending */
    int64_t n, extent;
    uint64_t *marked;
    tra_line_entries *out;
    bool full;
} choosing;

static int64_t find_line(const choosing *c, int64_t at) {
    int64_t line = 0;
    TRA_BISECT(line, c->n, mid, c->lines[mid] < at);
    return line < c->n && c->lines[line] == at ? line : -1;
}

static bool choose(void *ctx, const int64_t *const coord[2], int64_t m) {
    choosing *c = ctx;
    for (int64_t i = 0; i < m; i++) {
        int64_t at = coord[c->d][i];
        if ((uint64_t)at >= (uint64_t)c->extent || !(c->marked[at >> 6] >> (at & 63) & 1)) continue;
        if (c->out->n == c->out->room) return c->full = true, false;
        c->out->v[c->out->n++] = (tra_line_entry){find_line(c, at), coord[1 - c->d][i]};
    }
    return true;
}

static bool take_all(void *ctx, const int64_t *const coord[2], int64_t m) {
    choosing *c = ctx;
    if (m > c->out->room - c->out->n) return c->full = true, false;
    for (int64_t i = 0; i < m; i++)
        c->out->v[c->out->n++] = (tra_line_entry){find_line(c, coord[c->d][i]), coord[1 - c->d][i]};
    return true;
}

/* The entries of lines of the first level, by their pointers. */
static tra_status by_pointers(walk *w, choosing *c, tra_err *e) {
    const tra_form *f = &w->r->stored->form;
    bool more = true;
    for (int64_t i = 0; i < c->n && more; i++) {
        int64_t at = c->lines[i] - w->origin[w->outer], end[2];
        if (at < 0 || at >= w->to - w->from) continue;
        TRA_TRY(read_level(w, f->pointers[1], w->from + at, 2, end, e));
        if (!ascend(w, end, 1)) return TRA_OK;
        TRA_TRY(one_line(w, c->lines[i], end[0], end[1], take_all, c, &more, e));
    }
    return TRA_OK;
}

/* The same where the first level lists the lines that have entries. */
static tra_status by_list(walk *w, choosing *c, tra_err *e) {
    const tra_form *f = &w->r->stored->form;
    bool more = true;
    int64_t next = 0;
    for (int64_t from = w->from, m; from < w->to && more && next < c->n; from += m) {
        m = tra_min64(PIECE, w->to - from);
        TRA_TRY(read_coords(w, 0, from, m, w->at, e));
        for (int64_t i = 0; i < m && more; i++) {
            int64_t end[2];
            while (next < c->n && c->lines[next] < w->at[i]) next++;
            if (next == c->n || c->lines[next] != w->at[i]) continue;
            TRA_TRY(read_level(w, f->pointers[1], from + i, 2, end, e));
            if (!ascend(w, end, 1)) return TRA_OK;
            TRA_TRY(one_line(w, w->at[i], end[0], end[1], take_all, c, &more, e));
        }
    }
    return TRA_OK;
}

bool tra_rel_points_to(const tra_rel *r, int d) {
    return can_walk(r) && r->stored->form.group[0] != 2 && r->stored->form.levels.order[0] == d;
}

tra_status tra_rel_line_entries(const tra_rel *r, int d, const int64_t *lines, int64_t n, tra_line_entries *out,
                                tra_err *e) {
    bool more = true;
    walk w;
    tra_status s = TRA_OK;
    int64_t extent = can_walk(r) ? tra_mul_most(r->cat.bound.v[d], r->cat.frontier.v[d]) : 0;
    bool pointed = tra_rel_points_to(r, d);
    double reads =
        can_walk(r) ? (double)r->cat.n * (pointed ? fmax(1, (double)n / (double)r->cat.frontier.v[d]) : 1) : 0;
    if (!can_walk(r) || reads > MOST_READS || (!pointed && (!tra_stored_can_walk(r) || extent > MOST_MARKED)))
        return tra_fail(e, TRA_NO, "%s:%s is not looked at line by line", r->path, r->name);
    choosing c = {.d = d, .lines = lines, .n = n, .extent = extent, .out = out};
    walk_begin(&w, r);
    if (!pointed) c.marked = tra_calloc((size_t)(extent / 64 + 1), sizeof *c.marked);
    for (int64_t i = 0; i < n && !pointed; i++)
        if (lines[i] >= 0 && lines[i] < extent) c.marked[lines[i] >> 6] |= (uint64_t)1 << (lines[i] & 63);
    for (int64_t t = 0; t < r->cat.n && s == TRA_OK && !c.full; t++) {
        walk_to(&w, t);
        s = pointed && w.listed ? by_list(&w, &c, e)
            : pointed           ? by_pointers(&w, &c, e)
                                : whole_tuple(&w, choose, &c, &more, e);
    }
    free(c.marked);
    free(w.at);
    if (s == TRA_OK && c.full) return tra_fail(e, TRA_NO, "the lines of %s:%s have too many entries", r->path, r->name);
    return s;
}

const tra_product_sample *tra_rel_kept_sample(const tra_rel *r, uint64_t key) {
    for (const tra_kept_sample *k = r->stored ? r->stored->samples : NULL; k; k = k->next)
        if (k->key == key) return &k->sample;
    return NULL;
}

void tra_rel_keep_sample(tra_rel *r, uint64_t key, const tra_product_sample *x) {
    if (!r->stored) return;
    tra_kept_sample *k = tra_new(r->arena, tra_kept_sample);
    *k = (tra_kept_sample){.next = r->stored->samples, .key = key, .sample = *x};
    r->stored->samples = k;
}
