/* type_filter.c - which keys a filter leaves. A list is walked. A grid is cut in halves down to boxes for which the
 * predicate holds, or does not, as a whole, which interval arithmetic tells; so the work is in proportion to the border
 * between the keys that stay and those that go, not to the grid. */
#include "keyform.h"
#include "type.h"

#include <stdlib.h>
#include <string.h>

/* ---- boxes -------------------------------------------------------------------------------------------------- */

enum {
    PENDING = 64,       /* so many boxes are kept before their keys are listed */
    DROPPED_KEYS = 16,  /* so many keys that the filter drops are noted */
    LEAF = 32,          /* boxes of so few keys are decided key by key */
    MAX_BOXES = 1 << 21 /* more are decided only where keys are listed */
};

/* The keys whose component d is first[d] + i, i from 0 to count[d] - 1. */
typedef struct box {
    tra_dims first, count;
} box;

/* The last value of component d. */
static int64_t last(const box *b, int d) { return b->first.v[d] + b->count.v[d] - 1; }

/* The search for the keys of c that the filter keeps. */
typedef struct search {
    const tra_catalog *c;
    const tra_keyexpr *x; /* the predicate */
    uint32_t reads;       /* the key dimensions that x reads */
    int64_t boxes;        /* decided so far */
    __int128 total;       /* keys that the filter keeps */
    tra_dims frontier;    /* of these */
    int npending;         /* PENDING + 1: all pending boxes have been listed */
    box pending[PENDING]; /* kept, but not listed yet: if all kept keys are a grid, that is not needed */
    tra_catbuilder *list; /* the keys that the filter keeps; NULL when they are too many to list */
    int ndropped;
    tra_dims dropped[DROPPED_KEYS]; /* some keys that the filter drops */
} search;

/* How many keys a box has. */
static __int128 size(const box *b) {
    __int128 n = 1;
    for (int d = 0; d < b->count.n; d++) n *= b->count.v[d];
    return n;
}

/* Notes the first key of a box, if the filter drops it. */
static void note_dropped(search *s, const box *b) {
    int64_t v;
    if (s->ndropped == DROPPED_KEYS || tra_keyexpr_eval(s->x, &b->first, &v, NULL) != TRA_OK || v) return;
    s->dropped[s->ndropped++] = b->first;
}

/* A noted key that the filter drops, although a grid of the kept keys would have it; or NULL. */
static const tra_dims *missing_key(const search *s) {
    for (int i = 0; i < s->ndropped; i++) {
        bool below = true;
        for (int d = 0; d < s->frontier.n; d++) below = below && s->dropped[i].v[d] < s->frontier.v[d];
        if (below) return &s->dropped[i];
    }
    return NULL;
}

/* Adds the keys of a box to the list. */
static tra_status list_box(search *s, const box *b, tra_err *e) {
    tra_dims i = {.n = b->count.n}, key = i, ext;
    do {
        for (int d = 0; d < i.n; d++) key.v[d] = b->first.v[d] + i.v[d];
        tra_catalog_ext(s->c, tra_linear(&s->c->frontier, &key), &ext);
        TRA_TRY(tra_catbuilder_add(s->list, &key, &ext, 0, e));
    } while (tra_next(&b->count, &i));
    return TRA_OK;
}

/* The error for kept keys that are too many to list, and no grid. */
static tra_status refuse(const search *s, tra_err *e) {
    const tra_dims *key = missing_key(s);
    char buf[TRA_DIMTEXT] = "";
    if (key) tra_key_text(key, buf);
    return tra_fail(e, TRA_PROGRAM,
                    "this filter leaves more than %d keys, too many to list, and no grid%s%s%s; use larger blocks, or "
                    "leave the keys up to some number in each dimension",
                    TRA_MAX_LIST, key ? " (" : "", buf, key ? " is missing)" : "");
}

/* Adds a box of keys that the filter keeps. */
static tra_status keep_box(search *s, const box *b, tra_err *e) {
    s->total += size(b);
    for (int d = 0; d < b->count.n; d++) s->frontier.v[d] = tra_max64(s->frontier.v[d], last(b, d) + 1);
    if (s->total > TRA_MAX_LIST) {
        tra_catbuilder_free(s->list);
        s->list = NULL;
        return missing_key(s) ? refuse(s, e) : TRA_OK;
    }
    if (s->npending < PENDING) {
        s->pending[s->npending++] = *b;
        return TRA_OK;
    }
    if (s->npending == PENDING)
        for (int i = 0; i < PENDING; i++) TRA_TRY(list_box(s, &s->pending[i], e));
    s->npending = PENDING + 1;
    return list_box(s, b, e);
}

/* Decides the keys of a small box one by one; those that differ only in components that the predicate does not read,
 * together. */
static tra_status decide_keys(search *s, const box *b, tra_err *e) {
    tra_dims count = b->count, i = {.n = count.n};
    for (int d = 0; d < count.n; d++)
        if (!(s->reads >> d & 1)) count.v[d] = 1;
    do {
        box one = *b;
        int64_t v;
        for (int d = 0; d < count.n; d++) {
            if (!(s->reads >> d & 1)) continue;
            one.first.v[d] += i.v[d];
            one.count.v[d] = 1;
        }
        TRA_TRY(tra_keyexpr_eval(s->x, &one.first, &v, e));
        if (v)
            TRA_TRY(keep_box(s, &one, e));
        else
            note_dropped(s, &one);
    } while (tra_next(&count, &i));
    return TRA_OK;
}

/* Decides a box as a whole if its range of the predicate tells, else its keys, or its halves. */
static tra_status decide_box(search *s, const box *b, tra_err *e) {
    tra_dims end = b->first;
    int widest = -1;
    int64_t keys = 1;
    /* as long as kept keys are listed, the boxes may be in proportion to them; else only a grid will do, which takes
     * few boxes */
    if (++s->boxes > MAX_BOXES + (s->list ? 8 * s->total : 0) && s->c->n > TRA_MAX_LIST)
        return tra_fail(e, TRA_PROGRAM,
                        "the keys that this filter leaves were not found after cutting the %" PRId64 " keys in %" PRId64
                        " boxes; use larger blocks, or compare single key components, or sums of multiples of them, "
                        "with numbers or each other",
                        s->c->n, s->boxes);
    for (int d = 0; d < end.n; d++) {
        end.v[d] = last(b, d);
        if (!(s->reads >> d & 1)) continue;
        keys *= tra_min64(b->count.v[d], LEAF + 1);
        keys = tra_min64(keys, LEAF + 1);
        if (widest < 0 || b->count.v[d] > b->count.v[widest]) widest = d;
    }
    tra_range r = tra_keyexpr_range(s->x, &b->first, &end);
    if (!r.may_fail && r.lo == 0 && r.hi == 0) return note_dropped(s, b), TRA_OK;
    if (!r.may_fail && (r.lo > 0 || r.hi < 0)) return keep_box(s, b, e);
    if (keys <= LEAF) return decide_keys(s, b, e);
    box half = *b;
    half.count.v[widest] /= 2;
    TRA_TRY(decide_box(s, &half, e));
    half.first.v[widest] += half.count.v[widest];
    half.count.v[widest] = b->count.v[widest] - half.count.v[widest];
    return decide_box(s, &half, e);
}

/* ---- catalogs ----------------------------------------------------------------------------------------------- */

/* The catalog of all keys of c below a frontier. */
static tra_status prefix_grid(const tra_catalog *c, const tra_dims *frontier, tra_catalog *out, tra_err *e) {
    int8_t by[TRA_MAXDIM];
    for (int a = 0; a < c->bound.n; a++) {
        int d = c->by[a];
        by[a] = d >= 0 && frontier->v[d] == c->frontier.v[d] ? (int8_t)d : -1; /* else no clipped array is left */
    }
    return tra_catalog_grid(frontier, &c->bound, by, c->last, out, e);
}

/* Finds the keys of a grid that the filter keeps. *grid: they are a grid, *out; else they are in s->list. */
static tra_status filter_grid(search *s, bool *grid, tra_catalog *out, tra_err *e) {
    int64_t all;
    *grid = false;
    box whole = {.first = {.n = s->c->frontier.n}, .count = s->c->frontier};
    TRA_TRY(decide_box(s, &whole, e));
    if (s->total == 0) return TRA_OK;
    *grid = tra_dims_product(&s->frontier, &all) && s->total == all;
    if (*grid) return prefix_grid(s->c, &s->frontier, out, e);
    if (!s->list) return refuse(s, e);
    for (int i = 0; i < s->npending && s->npending <= PENDING; i++) TRA_TRY(list_box(s, &s->pending[i], e));
    return TRA_OK;
}

static tra_status filter_list(search *s, tra_err *e) {
    for (int64_t t = 0; t < s->c->n; t++) {
        tra_dims key, ext;
        int64_t keep;
        tra_catalog_key(s->c, t, &key);
        TRA_TRY(tra_keyexpr_eval(s->x, &key, &keep, e));
        if (!keep) continue;
        tra_catalog_ext(s->c, t, &ext);
        TRA_TRY(tra_catbuilder_add(s->list, &key, &ext, 0, e));
    }
    return TRA_OK;
}

tra_status tra_type_filter(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    bool grid = false;
    if (c->n == 0) return *out = *c, TRA_OK;
    search *s = tra_calloc(1, sizeof *s);
    *s = (search){.c = c, .x = n->keyfn->expr[0], .frontier = {.n = c->frontier.n}};
    s->reads = tra_keyexpr_vars(s->x);
    s->list = tra_catbuilder_new(c->frontier.n, c->bound.n);
    tra_status st = c->grid ? filter_grid(s, &grid, out, e) : filter_list(s, e);
    tra_catbuilder *list = s->list;
    free(s);
    if (st != TRA_OK || grid) {
        tra_catbuilder_free(list);
        return st;
    }
    TRA_TRY(tra_catbuilder_finish(list, a, out, NULL, e));
    if (out->n == 0) out->bound = c->bound;
    return TRA_OK;
}
