/* placements.c - rules R2-1 to R2-7 and D-1: what they ask of placements.
 *
 * The search makes operators where these conditions hold and brings inputs elsewhere where they do not; exchanges are
 * its enforcers, so R2-1 to R2-3, which move exchanges about, are how it looks for the place of one. */
#include <string.h>

#include "rules_int.h"

enum { WHY = 256 };

static bool owned(const tra_placed *x) {
    return (x->in[0] && x->in[0]->owner) || (x->in[1] && x->in[1]->owner) || (x->out && x->out->owner);
}

static const char scattered[] = "the relation is placed tuple by tuple, not by its keys";
static const char summands[] = "each site holds summands, not tuples";

static bool is_op(const tra_placed *x, tra_opcode op) { return x->n && x->n->op == op; }

/* ---- exchanges ---------------------------------------------------------------------------------------------- */

static const char *chain(const tra_placed *x, char *why) {
    (void)why;
    return tra_place_is_partial(x->in[0]) ? "the first exchange brings summands together, which the last would not"
                                          : NULL;
}

const tra_rule tra_rule_r2_1 = {
    .name = "R2-1",
    .equivalence = "exchange(q, exchange(p, R)) = exchange(q, R)",
    .condition = "the first one does not bring summands together",
    .holds = chain,
};

static const char *past_filter(const tra_placed *x, char *why) {
    (void)why;
    if (!is_op(x, TRA_OP_FILTER)) return "it is no filter";
    return owned(x) ? scattered : NULL;
}

const tra_rule tra_rule_r2_2 = {
    .name = "R2-2",
    .equivalence = "exchange(p, filter(q, R)) = filter(q, exchange(p, R))",
    .condition = "p is by keys",
    .holds = past_filter,
};

static const char *past_map(const tra_placed *x, char *why) {
    if (!is_op(x, TRA_OP_TRANSFORM) && !is_op(x, TRA_OP_REKEY) && !is_op(x, TRA_OP_TILE)) return "it is no map";
    if (tra_place_is_partial(x->in[0])) return summands;
    if (tra_place_is_all(x->out)) return NULL;
    if (owned(x)) return scattered;
    if (is_op(x, TRA_OP_TRANSFORM)) return NULL;
    int dim[TRA_MAXDIM], n = x->n->type.cat->frontier.n;
    for (int i = 0; i < n; i++) {
        dim[i] = is_op(x, TRA_OP_TILE) && i == n - 1 ? -1 : i;
        if (is_op(x, TRA_OP_REKEY) && !tra_keyexpr_is_var(x->n->keyfn->expr[i], &dim[i])) dim[i] = -1;
    }
    for (int i = 0; i < x->out->naxes; i++) {
        const tra_axis *a = &x->out->axis[i];
        for (int j = 0; a->kind == TRA_AXIS_PART && a->sites > 1 && j < a->n; j++) {
            if (a->ext[j] < 2 || dim[(int)a->dim[j]] >= 0) continue;
            snprintf(why, WHY, "the key function makes key dimension %d, by which the result is partitioned",
                     a->dim[j]);
            return why;
        }
    }
    return NULL;
}

const tra_rule tra_rule_r2_3 = {
    .name = "R2-3",
    .equivalence = "exchange(p, map(f, R)) = map(f, exchange(p', R))",
    .condition = "p is all, or the key function hands on the keys that p partitions by; no summands",
    .holds = past_map,
};

/* ---- aggregations ------------------------------------------------------------------------------------------- */

/* The dimension by which an axis cuts groups; -1. */
static int cut_group(const tra_placement *p, const tra_dims *group) {
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *a = &p->axis[i];
        for (int j = 0; a->kind == TRA_AXIS_PART && a->sites > 1 && j < a->n; j++) {
            bool grouped = false;
            for (int g = 0; g < group->n; g++) grouped = grouped || group->v[g] == a->dim[j];
            if (!grouped) return a->dim[j];
        }
    }
    return -1;
}

static const char *no_shuffle(const tra_placed *x, char *why) {
    if (!is_op(x, TRA_OP_AGG)) return "it is no aggregation";
    if (x->in[0]->owner) return scattered;
    if (tra_place_is_partial(x->in[0])) return summands;
    int d = cut_group(x->in[0], &x->n->group);
    if (d < 0) return NULL;
    snprintf(why, WHY, "the input is partitioned by key dimension %d, which is not grouped", d);
    return why;
}

const tra_rule tra_rule_r2_4 = {
    .name = "R2-4",
    .equivalence = "agg(g, shuf(D, R)) = agg(g, R)",
    .condition = "R is everywhere, or partitioned by group keys alone; no summands",
    .holds = no_shuffle,
};

static const char *two_phases(const tra_placed *x, char *why) {
    const unsigned merges = TRA_P_COMMUTATIVE | TRA_P_ASSOCIATIVE;
    (void)why;
    if (!is_op(x, TRA_OP_AGG)) return "it is no aggregation";
    if (x->in[0]->owner) return scattered;
    if (tra_place_is_partial(x->in[0])) return summands;
    if ((tra_kernel_props(x->n->kernel) & merges) != merges) return "the kernel does not commute and associate";
    if (tra_place_copies(x->in[0]) == x->in[0]->sites && x->in[0]->sites > 1)
        return "every site has all tuples: each would count several times";
    if (cut_group(x->in[0], &x->n->group) < 0) return "groups are whole: nothing is left for a second phase";
    return NULL;
}

const tra_rule tra_rule_r2_5 = {
    .name = "R2-5",
    .equivalence = "agg(f.g, shuf(P, R)) = merge(f.g, shuf(P, agg(g, R)))",
    .condition = "the kernel commutes and associates; P among the group keys; each tuple on one site",
    .holds = two_phases,
};

/* ---- joins -------------------------------------------------------------------------------------------------- */

static bool partners(const tra_node *join, int l, int r) {
    for (int i = 0; i < join->join.l.n; i++)
        if (join->join.l.v[i] == l && join->join.r.v[i] == r) return true;
    return false;
}

/* Do both axes send tuples that join to one place? */
static const char *axes_meet(const tra_node *join, const tra_axis *l, const tra_axis *r, char *why) {
    if (l->sites != r->sites) return "the axes of the inputs have different numbers of sites";
    if (l->sites == 1 || l->kind == TRA_AXIS_COPY || r->kind == TRA_AXIS_COPY) return NULL;
    if (l->n != r->n) return "an axis partitions one input by more keys than the other";
    for (int j = 0; j < l->n; j++) {
        if (!partners(join, l->dim[j], r->dim[j])) {
            snprintf(why, WHY,
                     "the left input is partitioned by its key dimension %d, the right one by its %d: they are not "
                     "joined",
                     l->dim[j], r->dim[j]);
            return why;
        }
        if (l->ext[j] == r->ext[j]) continue;
        snprintf(why, WHY, "the site functions differ: of %" PRId64 " values on the left, of %" PRId64 " on the right",
                 l->ext[j], r->ext[j]);
        return why;
    }
    return NULL;
}

static const char *inputs_meet(const tra_placed *x, char *why) {
    const tra_placement *l = x->in[0], *r = x->in[1];
    if (!is_op(x, TRA_OP_JOIN)) return "it is no join";
    if (tra_place_is_partial(l) || tra_place_is_partial(r)) return summands;
    if (tra_place_is_all(l) || tra_place_is_all(r)) return NULL;
    if (owned(x)) return scattered;
    if (l->naxes != r->naxes) return "the inputs lie on different grids of sites";
    for (int i = 0; i < l->naxes; i++) {
        const char *no = axes_meet(x->n, &l->axis[i], &r->axis[i], why);
        if (no) return no;
    }
    return NULL;
}

const tra_rule tra_rule_r2_6 = {
    .name = "R2-6",
    .equivalence = "join(bcast(L), R) = join(L, bcast(R)) = join(shuf(P, L), shuf(P', R))",
    .condition = "P a non-empty subset of the join keys, P' its partners, one site function; no summands",
    .holds = inputs_meet,
};

static const char *shuffle_below(const tra_placed *x, char *why) {
    uint32_t joined = 0;
    int n = 0;
    if (!is_op(x, TRA_OP_JOIN)) return "it is no join";
    if (owned(x)) return scattered;
    if (tra_place_is_partial(x->out)) return summands;
    for (int i = 0; i < x->n->join.l.n; i++) joined |= 1u << x->n->join.l.v[i];
    for (int i = 0; i < x->out->naxes; i++) {
        const tra_axis *a = &x->out->axis[i];
        if (a->sites == 1) continue;
        if (a->kind != TRA_AXIS_PART) return "the result is to be copied, not partitioned";
        for (int j = 0; j < a->n; j++, n++) {
            if (joined >> a->dim[j] & 1) continue;
            snprintf(why, WHY, "key dimension %d of the result is not joined", a->dim[j]);
            return why;
        }
    }
    return n ? NULL : "the result is not partitioned";
}

const tra_rule tra_rule_r2_7 = {
    .name = "R2-7",
    .equivalence = "shuf(P, join(L, R)) = join(shuf(P, L), shuf(P', R))",
    .condition = "P a non-empty subset of the join keys, P' its partners",
    .holds = shuffle_below,
};

static const char *on_grid(const tra_placed *x, char *why) {
    if (!is_op(x, TRA_OP_JOIN)) return "it is no join";
    if (!(tra_kernel_props(x->n->kernel) & TRA_P_CONTRACTION)) return "the kernel is no contraction";
    return inputs_meet(x, why);
}

const tra_rule tra_rule_d_1 = {
    .name = "D-1",
    .equivalence =
        "a contraction by broadcast (BMM), cross-product (CMM), replication (RMM): every grid gi x gk x gj of sites",
    .condition =
        "the kernel is a contraction; each input partitioned along the axes of its labels, copied along the others",
    .holds = on_grid,
};
