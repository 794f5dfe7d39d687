/* grow_int.h - what grow.c (results that grow) and grow_terms.c (terms that are added at once) share. */
#ifndef TRA_GROW_INT_H
#define TRA_GROW_INT_H

#include "../model/rows.h"
#include "grow.h"

/* What a worker tries, and tries again when memory was short (tra_engine_retry): a failed attempt changes nothing. */
typedef struct attempt {
    const tra_grow *g;
    const tra_cell *l, *r; /* operands; r NULL: l is the term */
    const tra_dims *ext;   /* of the term */
    tra_panels *sum;
    const tra_panels *other;   /* a sum that is added */
    tra_panel *p;              /* the panel of the sum that is being made */
    tra_block **out;           /* where the finished block goes, pinned */
    const tra_held_term *term; /* what is added at once */
    int nterms;
    int64_t wanted; /* bytes that the attempt needed at once, so far; */
    int64_t pinned; /* and before its maker took a block */
} attempt;

static inline tra_pool *grow_pool(const attempt *x) { return x->g->st->site->pool; }

static inline void *grow_scratch(const attempt *x) { return (char *)x->g->w->scratch + x->g->st->kernel_scratch_at; }

static inline tra_cell grow_cell(const attempt *x, tra_dtype t, const tra_dims *ext, const tra_block *b) {
    const tra_type *type = &x->g->st->op->type;
    tra_cell c = {.layout = type->layout,
                  .sparse = type->sparse,
                  .columns = type->columns,
                  .array = {.dtype = t, .ext = *ext},
                  .head = b ? b->ptr : NULL};
    if (b && c.layout->adopt_extents) (void)c.layout->adopt_extents(&c); /* it was made here, so nothing is wrong */
    return c;
}

/* A cell that is yet to be made, for the panel at hand. */
static inline tra_cell grow_new_cell(const attempt *x, tra_dtype t, const tra_dims *ext) {
    tra_cell c = grow_cell(x, t, ext, NULL);
    if (x->sum->n > 1) c.panel[0] = x->p->from, c.panel[1] = x->p->to;
    return c;
}

static inline tra_cell grow_state(const attempt *x, const tra_block *b) {
    return grow_cell(x, x->g->state->dtype, &x->g->state->ext, b);
}

static inline tra_status grow_take(attempt *x, int64_t bytes, tra_block **b, tra_err *e) {
    x->wanted += tra_block_footprint(bytes);
    return tra_block_take(grow_pool(x), bytes, b, e);
}

static inline tra_status grow_take_back(attempt *x, tra_block *b, tra_err *e) {
    x->wanted += tra_block_footprint(b->bytes);
    return tra_block_take_back(grow_pool(x), b, e);
}

/* grow_take for the maker of a cell. It may ask for less a second time. */
tra_status grow_take_made(void *ctx, int64_t bytes, tra_block **b, tra_err *e);
static inline void grow_begin(attempt *x, tra_making *m, tra_cell *c) {
    x->pinned = x->wanted;
    tra_making_begin(m, c, grow_take_made, x);
}

/* The panel's rows are now those of this cell, in block b. */
static inline void grow_set_block(const attempt *x, tra_block *b, const tra_cell *c) {
    x->p->block = b;
    if (c->layout == &tra_rows) x->p->nrows = tra_rows_of(c).nrows, x->p->n = tra_rows_of(c).n;
    tra_block_unpin(grow_pool(x), b);
}

/* tra_engine_retry; where memory was short *e says what would help. */
TRA_MUSTUSE tra_status grow_retry(attempt *x, tra_engine_fn *fn, tra_err *e);
/* Calls fn for each panel of the sum; cuts panels for which memory is short. */
TRA_MUSTUSE tra_status grow_for_each(attempt *x, tra_engine_fn *fn, tra_err *e);

/* grow_terms.c */

/* Is the join of l and r, an array of these extents, a term that is added with others at once? */
bool grow_adds_at_once(const tra_grow *g, const tra_cell *l, const tra_cell *r, const tra_dims *ext);
/* Is the state of a sum the result? (grow.c) */
bool grow_is_result(const tra_joinagg *st);
/* Copies a term, to be added with others; false: memory is short, or others hold a good part of it. */
bool grow_hold(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum);
/* Adds the terms that are held, and l and r (NULL: none). */
TRA_MUSTUSE tra_status grow_add_held(const tra_grow *g, const tra_cell *l, const tra_cell *r, tra_panels *sum,
                                     tra_err *e);

/* Can a sum of which there are but terms that are held go to its file strip by strip? Then grow_emit_strips makes it
 * so, and sets *emitted, where it is longer than a strip and memory is not short. */
bool grow_makes_strips(const tra_grow *g, const tra_panels *sum);
TRA_MUSTUSE tra_status grow_emit_strips(const tra_grow *g, tra_panels *sum, bool *emitted, tra_err *e);

#endif
