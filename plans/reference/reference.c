/* reference.c - the reference evaluator: its relations, and what runs its operators over a graph. */
#include "ref_loop.h"
#include "ref_relations.h"
#include "ref_table.h"

#include "../../lib/kernel/program.h"
#include "../../lib/model/rows.h"
#include "../../lib/storage/mapped.h"
#include "../../lib/storage/stored.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- relations ------------------------------------------------------------------------------------------------- */

int ref_compare_keys(const tra_dims *a, const tra_dims *b) {
    for (int d = 0; d < a->n; d++)
        if (a->v[d] != b->v[d]) return a->v[d] < b->v[d] ? -1 : 1;
    return 0;
}

static int compare_tuples(const void *a, const void *b) {
    return ref_compare_keys(&((const tra_ref_tuple *)a)->key, &((const tra_ref_tuple *)b)->key);
}

void ref_add(gather *g, const tra_dims *key, ref_array x) {
    TRA_ARENA_ROOM(g->a, g->v, g->n, g->cap);
    g->v[g->n++] = (tra_ref_tuple){*key, x.ext, x.data};
}

/* The largest extents. */
static tra_dims largest(const tra_ref_rel *x) {
    tra_dims b = {.n = x->r};
    for (int64_t i = 0; i < x->n; i++)
        for (int d = 0; d < x->r; d++) b.v[d] = tra_max64(b.v[d], x->v[i].ext.v[d]);
    return b;
}

/* Along array dimension d: are all extents the same, but for another one at the last value of one key dimension? */
static bool regular(const tra_ref_rel *x, const tra_dims *frontier, int d) {
    for (int k = -1; k < x->k; k++) {
        int64_t ext[2] = {-1, -1};
        bool good = true;
        for (int64_t i = 0; i < x->n && good; i++) {
            bool last = k >= 0 && x->v[i].key.v[k] == frontier->v[k] - 1;
            if (ext[last] < 0) ext[last] = x->v[i].ext.v[d];
            good = ext[last] == x->v[i].ext.v[d];
        }
        if (good) return true;
    }
    return false;
}

/* Every key of the box exists, and every dimension is regular: nothing is missing that could be larger. */
static bool complete(const tra_ref_rel *x) {
    tra_dims frontier = {.n = x->k};
    for (int64_t i = 0; i < x->n; i++)
        for (int k = 0; k < x->k; k++) frontier.v[k] = tra_max64(frontier.v[k], x->v[i].key.v[k] + 1);
    if (ref_count(&frontier) != x->n) return false;
    for (int d = 0; d < x->r; d++)
        if (!regular(x, &frontier, d)) return false;
    return true;
}

tra_status ref_finish(gather *g, const tra_dims *bound, tra_ref_rel *out, tra_err *e) {
    if (g->n) qsort(g->v, (size_t)g->n, sizeof *g->v, compare_tuples);
    out->n = g->n;
    out->v = g->v;
    for (int64_t i = 0; i < g->n; i++) {
        tra_ref_tuple *t = &g->v[i];
        char buf[TRA_DIMTEXT];
        assert(t->key.n == out->k && t->ext.n == out->r);
        if (i > 0 && !compare_tuples(t - 1, t))
            return tra_fail(e, TRA_PROGRAM, "two tuples have the key %s", tra_key_text(&t->key, buf));
        int64_t m = ref_count(&t->ext);
        switch (out->dtype) {
        case TRA_F64:
            for (int64_t j = 0; j < m; j++) t->data[j] = (double)t->data[j];
            break;
        case TRA_F32:
            for (int64_t j = 0; j < m; j++) t->data[j] = (float)(double)t->data[j];
            break;
        case TRA_WHOLES: break;
        }
    }
    out->bound = largest(out);
    if (out->n == 0 || (bound && bound->n == out->r && !complete(out)))
        for (int d = 0; d < out->r && bound && bound->n == out->r; d++)
            out->bound.v[d] = tra_max64(out->bound.v[d], bound->v[d]);
    return TRA_OK;
}

ref_array ref_array_of(const tra_ref_rel *x, const tra_ref_tuple *t) { return (ref_array){t->ext, t->data, x->sparse}; }

uint32_t ref_bit(int key) { return 1u << key; }

void ref_cut_by_origin(const ref_origin *o, uint32_t cut[2][TRA_MAXDIM], tra_ref_rel *out) {
    for (int d = 0; d < o->n; d++) {
        int f = o->from[d], s = o->also[d];
        out->cut[d] = f < 0 ? 0 : cut[f / 32][f % 32];
        if (!out->cut[d] && s >= 0) out->cut[d] = cut[s / 32][s % 32];
    }
}

/* ---- tensor layout --------------------------------------------------------------------------------------------- */

tra_status ref_as_tensor(const tra_ref_rel *x, tensor *t, tra_err *e) {
    uint32_t seen = 0;
    t->block = t->shape = x->bound;
    for (int d = 0; d < x->r; d++) {
        t->by[d] = -1;
        for (int k = 0; k < x->k; k++)
            if (x->cut[d] & ref_bit(k)) t->by[d] = t->by[d] < 0 ? k : -2;
        if (t->by[d] == -2 || (x->cut[d] & seen))
            return tra_fail(e, TRA_PROGRAM, "the relation does not have tensor layout along dimension %d", d);
        seen |= x->cut[d];
        int64_t last = 0; /* largest value of the key that cuts */
        for (int64_t i = 0; i < x->n && t->by[d] >= 0; i++) last = tra_max64(last, x->v[i].key.v[t->by[d]]);
        int64_t end = -1; /* extent of the arrays there */
        for (int64_t i = 0; i < x->n; i++) {
            int64_t ext = x->v[i].ext.v[d];
            if (t->by[d] >= 0 && x->v[i].key.v[t->by[d]] == last) {
                if (end >= 0 && ext != end)
                    return tra_fail(e, TRA_PROGRAM, "unequal last blocks along dimension %d", d);
                end = ext;
            } else if (ext != t->block.v[d]) {
                return tra_fail(e, TRA_PROGRAM, "an array that is not the last is clipped along dimension %d", d);
            }
        }
        if (t->by[d] >= 0) t->shape.v[d] = last * t->block.v[d] + tra_max64(end, 0);
    }
    return TRA_OK;
}

tra_dims ref_tensor_offset(const tensor *t, const tra_dims *key) {
    tra_dims o = {.n = t->shape.n};
    for (int d = 0; d < o.n; d++) o.v[d] = t->by[d] < 0 ? 0 : key->v[t->by[d]] * t->block.v[d];
    return o;
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

/* Is the node there only for the kernels that compute an operator on tables, or a tensor statement? It has no
 * definition of its own. */
static bool only_computes(const tra_node *n, bool defined) {
    bool rows = n->kernel && (tra_kernel_rows(n->kernel) || tra_kernel_is_program(n->kernel));
    return !defined && n->op != TRA_OP_INPUT && (rows || n->type.columns);
}

/* Which nodes are needed: by outputs, or all that have a definition. */
static void find_needed(ref_evaluation *x, bool all) {
    const tra_graph *g = x->g;
    for (int i = 0; i < g->noutputs; i++) x->need[g->outputs[i].node->id] = true;
    for (int i = g->n - 1; i >= 0; i--) {
        const tra_tensor *tensor = x->tensor[i];
        const tra_table_op *table = x->table[i];
        const tra_einsum *defined = x->defined[i];
        x->need[i] = x->need[i] || (all && !only_computes(g->v[i], table || tensor));
        if (!x->need[i]) continue;
        for (int j = 0; tensor && j < tensor->n; j++)
            if (tensor->relation[j]) x->need[tensor->relation[j]->id] = true;
        for (int j = 0; table && j < 2; j++)
            if (table->in[j]) x->need[table->in[j]->id] = true;
        if (tensor || table) continue;
        for (int j = 0; defined && j < defined->nrefs; j++) x->need[defined->ref[j].node->id] = true;
        for (int j = 0; !defined && j < 2; j++)
            if (g->v[i]->in[j]) x->need[g->v[i]->in[j]->id] = true;
    }
}

tra_status ref_evaluate(ref_evaluation *x, int i, tra_err *e) {
    const tra_node *n = x->g->v[i];
    if (!x->need[i] || n->input.leaf) return TRA_OK; /* a loop sets its leaves */
    const tra_ref_rel *l = n->in[0] ? x->v[n->in[0]->id] : NULL, *r = n->in[1] ? x->v[n->in[1]->id] : NULL;
    tra_ref_rel *out = tra_new(x->a, tra_ref_rel);
    tra_node slice = *n;
    if (n->slice.turn) { /* a slice that moves from turn to turn */
        const int64_t *at =
            n->slice.origins + ref_turn_number(x, n->slice.turn->input.loop, n->slice.norigins) * n->slice.origin.n;
        for (int d = 0; d < n->slice.origin.n; d++) slice.slice.origin.v[d] = at[d];
        n = &slice;
    }
    TRA_TRY(tra_stop_check(e));
    TRA_TRY(x->tensor[i]    ? ref_tensor(x->tensor[i], x->v, x->a, out, e)
            : x->table[i]   ? ref_table_op(x->table[i], x->v, x->a, out, e)
            : x->defined[i] ? ref_einsum(x->defined[i], x->v, x->a, out, e)
                            : tra_reference_apply(n, l, r, x->a, out, e));
    x->v[i] = out;
    return TRA_OK;
}

tra_status tra_reference_run(const tra_graph *g, bool all, tra_arena *a, const tra_ref_rel ***out, tra_err *e) {
    ref_evaluation x = {.g = g, .a = a, .v = tra_news(a, const tra_ref_rel *, g->n)};
    x.need = tra_news(a, bool, g->n);
    x.turn = tra_news(a, int64_t, g->nloops);
    x.defined = tra_news(a, const tra_einsum *, g->n);
    x.tensor = tra_news(a, const tra_tensor *, g->n);
    x.table = tra_news(a, const tra_table_op *, g->n);
    for (int i = 0; i < g->neinsums; i++) x.defined[g->einsums[i]->node->id] = g->einsums[i];
    for (int i = 0; i < g->ntensors; i++) x.tensor[g->tensors[i].node->id] = &g->tensors[i];
    for (int i = 0; i < g->ntables; i++) x.table[g->tables[i]->node->id] = g->tables[i];
    find_needed(&x, all);
    *out = x.v;
    return ref_evaluate_body(&x, -1, 0, g->n, e);
}
