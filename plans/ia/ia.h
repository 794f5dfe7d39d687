/* ia.h - the implementation algebra: how placements pass through operators, and the ways to place a join.
 *
 * Source: Tensor Relational Algebra, section 4. The broadcast, shuffle and replication joins of the paper are
 * assignments of the axes of a grid of sites to labels. A label of a join is a key dimension of its result. An input is
 * PART along the axes of its own labels and COPY along the others, so that every pair that the join makes meets on
 * exactly one site.
 */
#ifndef TRA_IA_H
#define TRA_IA_H

#include "../../lib/physical/placement.h"
#include "../../lib/physical/plan.h"
#include "../tra/tra.h"

/* ---- joins -------------------------------------------------------------------------------------------------- */

/* Which input a label is a key dimension of: of L alone, of both (it is joined), of R alone. NONE: an axis with no
 * label, along which both inputs are copied. */
typedef enum tra_label_class { TRA_LABEL_L, TRA_LABEL_J, TRA_LABEL_R, TRA_LABEL_NONE } tra_label_class;

typedef struct tra_label {
    tra_label_class class;
    int8_t l, r, out; /* key dimension of L, of R, of the result; -1: none */
    int64_t n;        /* how many values it takes: of the frontier; of a joined label, the lesser of both */
} tra_label;

typedef struct tra_labels {
    int n;
    tra_label v[2 * TRA_MAXDIM];
} tra_labels;

/* The labels of join(L, R, joinl, joinr): first those of L alone, then the joined ones, then those of R alone. */
void tra_join_labels(const tra_catalog *l, const tra_catalog *r, const tra_dims *joinl, const tra_dims *joinr,
                     tra_labels *out);

/* One way to place a join: the placements of its inputs and of its result. */
typedef struct tra_way {
    tra_placement l, r, out;
} tra_way;

typedef struct tra_ways {
    int n, cap;
    tra_way *v; /* from malloc */
} tra_ways;

/* Adds the ways to place a join on so many sites, at most TRA_MAXWAYS. They are all factorisations of the number of
 * sites over the labels, where one axis may go over several labels of a class of which none alone has enough values;
 * and both inputs on all sites. A way is left out if placing an input so would leave sites idle: if fewer than
 * min(sites, tuples) of them had tuples. If that leaves none, the ways that keep most sites busy are taken. */
enum { TRA_MAXWAYS = 512 };
void tra_join_ways(const tra_labels *x, const tra_catalog *l, const tra_catalog *r, int sites, tra_ways *out);
/* The way in which the first site alone does the join. */
tra_way tra_join_on_first(const tra_labels *x, int sites);
/* Adds the way that takes one input (which: 0 for L, 1 for R) as it is placed in p; none if p has copies, summands or
 * owners. The other input is PART along axes that partition by joined labels alone, and COPY along the others. */
void tra_join_way_from(const tra_labels *x, const tra_placement *p, int which, tra_ways *out);

/* The placement of the join's result, for inputs that are placed so that all pairs meet. */
tra_placement tra_join_place(const tra_labels *x, const tra_placement *l, const tra_placement *r);
/* The same of a JOINAGG operator: where the pairs are that it aggregates. */
tra_placement tra_op_pairs_place(const tra_plan *p, const tra_op *o);

/* What sort of way it is, as a number, which explain calls its strategy. `aggregated`: the set of key dimensions of the
 * result that an aggregation drops later. Its text goes into buf, and is returned.
 *   local        one site, or inputs that are partitioned alike by joined labels that are kept
 *   bmm-right    R is broadcast: sites have parts of L, by labels of L alone (bmm-left the other way round)
 *   cmm          inputs are partitioned alike by joined labels, of which some are aggregated, so that sites make
 *                summands (the cross-product-based join of the paper)
 *   rmm(i,k,j)   replicated along a grid of i sites for labels of L, k for joined ones, j for labels of R
 *   all          both inputs are on all sites */
uint64_t tra_join_strategy(const tra_labels *x, const tra_placement *l, const tra_placement *r, uint32_t aggregated);
char *tra_join_strategy_text(uint64_t strategy, char *buf, size_t n);

/* ---- other operators ---------------------------------------------------------------------------------------- */

/* Writes the placements that the search considers for every relation, whatever its consumers demand, and returns how
 * many (at most TRA_MAXDIM): part(d) for each key dimension d with enough values, which are min(sites, tuples). If
 * there is no such dimension, tra_place_within of all of them. */
int tra_place_choices(const tra_catalog *c, int sites, tra_placement *out);
/* Whether as many sites as possible have tuples: min(sites along PART axes, tuples). The search takes only such
 * placements. */
bool tra_place_keeps_busy(const tra_placement *p, const tra_catalog *c);
/* part(E), E being a part of D: the first dimension that has enough values, or else the first ones that have enough
 * together, or as many as there are. */
tra_placement tra_place_within(const tra_catalog *c, int sites, const tra_dims *d);

/* The placement *q of the result of a local operator whose input is placed as p. False if the operator cannot run
 * there: a concat along a dimension by which p partitions, or an aggregation where p has owners. What axes cannot
 * express gets an owner array in the arena. */
bool tra_place_rekey(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                     const tra_keyfn *f, tra_placement *q);
/* Of a filter or a tile: each tuple of the result is where that tuple of the input is with whose key its key begins. */
bool tra_place_inherited(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                         tra_placement *q);
bool tra_place_concat(const tra_placement *p, int keydim, tra_placement *q);
/* Axes that partition by a dimension that is not in `group` become PARTIAL. */
bool tra_place_agg(const tra_placement *p, const tra_dims *group, tra_placement *q);

/* The placement *p of the input for which an operator leaves its result in q; false if there is none. dim[i]: the key
 * dimension of the input that key dimension i of the result is; -1: none. n: key dimensions of the result. */
bool tra_place_back(const tra_placement *q, int n, const int *dim, tra_placement *p);

/* Where the sums of a partial relation may be completed: in *q, which is p with the sites of each PARTIAL axis added to
 * the PART axis before it, or, if there is none before it, to the one after it. False if it has no such neighbour. */
bool tra_place_reduced(const tra_placement *p, tra_placement *q);

/* ---- plans -------------------------------------------------------------------------------------------------- */

/* One line for each operator, with all that shapes the run but the paths of files. */
void tra_plan_print(const tra_plan *p, tra_str *out);
/* XXH64 of that text, which identifies a plan. */
uint64_t tra_plan_digest(const tra_plan *p);
/* Sets values[i], of p->nops, to a digest of all that the bits of operator i's result follow from: the seed, what the
 * operator and those before it do, identities[i] of inputs, the path of an output, and, where summands are made, their
 * placement. Other placements and exchanges do not change a bit. A run continues from results of equal value. */
void tra_plan_values(const tra_plan *p, uint64_t seed, const char *const *identities, uint64_t *values);
/* Appends what the operator does, without its inputs: `join [1] = [0] matmul, agg [0,2] matadd`. */
void tra_op_print(const tra_op *o, tra_str *out);

#endif
