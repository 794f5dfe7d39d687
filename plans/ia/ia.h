/* ia.h - the implementation algebra: how placements pass through operators, and the ways to place a join.
 *
 * Source: Tensor Relational Algebra, section 4. Its broadcast, shuffle and replication joins are assignments of the
 * axes of a grid of sites to labels (key dimensions of the join): an input is PART along the axes of its own labels and
 * COPY along the others, so that every pair that the join makes meets on exactly one site.
 */
#ifndef TRA_IA_H
#define TRA_IA_H

#include "../../lib/physical/placement.h"
#include "../../lib/physical/plan.h"
#include "../tra/tra.h"

/* ---- joins -------------------------------------------------------------------------------------------------- */

typedef enum tra_label_class { TRA_LABEL_L, TRA_LABEL_J, TRA_LABEL_R, TRA_LABEL_NONE } tra_label_class;

/* A key dimension of a join's output: of L alone, joined, or of R alone. */
typedef struct tra_label {
    tra_label_class class;
    int8_t l, r, out; /* key dimension of L, of R, of the output; -1: none */
    int64_t n;        /* values it takes: the frontier, of joined ones the lesser */
} tra_label;

typedef struct tra_labels {
    int n;
    tra_label v[2 * TRA_MAXDIM];
} tra_labels;

/* The labels of join(L, R, joinl, joinr), those of L first, then the joined ones, then those of R. */
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

/* Enumerates the ways to place a join: all factorisations of the number of sites over the labels; one axis over
 * several labels of one class where none alone has enough values; and both inputs everywhere. Offered are the ways
 * whose inputs keep min(sites, tuples) sites busy (algebra.md section 3), or, if there is none, those that keep most
 * sites busy. At most TRA_MAXWAYS. */
enum { TRA_MAXWAYS = 512 };
void tra_join_ways(const tra_labels *x, const tra_catalog *l, const tra_catalog *r, int sites, tra_ways *out);
tra_way tra_join_on_first(const tra_labels *x, int sites); /* all on the first site */
/* Adds the way that takes one input as it is placed (which: 0 for L, 1 for R), if that placement has no copies. The
 * other input is copied along axes that partition by labels of several classes. */
void tra_join_way_from(const tra_labels *x, const tra_placement *p, int which, tra_ways *out);

/* The placement of the join's output, and of its pairs, for inputs that are placed so that they meet. */
tra_placement tra_join_place(const tra_labels *x, const tra_placement *l, const tra_placement *r);

/* The name of a way (the `strategy` of explain): local, bmm-left, bmm-right, cmm, rmm(gi,gk,gj), or all: both inputs
 * everywhere. later: set of output key dimensions that are aggregated later. Into buf, returned. */
char *tra_join_strategy(const tra_labels *x, const tra_placement *l, const tra_placement *r, uint32_t later, char *buf,
                        size_t n);

/* ---- other operators ---------------------------------------------------------------------------------------- */

/* part(D) for each key dimension with enough values (at least min(sites, tuples)), else for the first several that have
 * together, else over all: the placements that a relation may have of itself. At most TRA_MAXDIM. Returns how many. */
int tra_place_choices(const tra_catalog *c, int sites, tra_placement *out);
/* Do the PART axes of p keep min(their sites, tuples) sites busy? Only such placements are offered. */
bool tra_place_offered(const tra_placement *p, const tra_catalog *c);
/* part(E), where E are the first dimensions of D that together have enough values. */
tra_placement tra_place_within(const tra_catalog *c, int sites, const tra_dims *d);

/* Placement of the result of a local operator whose input is placed as p. False when the operator cannot run there
 * (concat of a relation partitioned by keydim; aggregation of an `owned` one). Results that axes cannot express have
 * an owner array in the arena. */
bool tra_place_filter(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                      tra_placement *q);
bool tra_place_rekey(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                     const tra_keyfn *f, tra_placement *q);
bool tra_place_tile(tra_arena *a, const tra_placement *p, const tra_catalog *in, const tra_catalog *out,
                    tra_placement *q);
bool tra_place_concat(const tra_placement *p, int keydim, tra_placement *q);
/* Axes partitioned by dimensions that are not all grouped become PARTIAL: then *q is partial. */
bool tra_place_agg(const tra_placement *p, const tra_dims *group, tra_placement *q);

/* The placement p of the input under which the operator leaves its result as q; false when there is none. dim[i] is
 * the key dimension of the input that dimension i of the result is, or -1. */
bool tra_place_back(const tra_placement *q, int n, const int *dim, tra_placement *p);

/* Where the sums of a partial relation may be completed: *q is p with each PARTIAL axis made a part of the PART axis
 * before it (or after it, when it is the first). False when there is no PART axis. */
bool tra_place_reduced(const tra_placement *p, tra_placement *q);

/* ---- plans -------------------------------------------------------------------------------------------------- */

/* One line for each operator: everything that shapes the run but the paths of files. */
void tra_plan_print(const tra_plan *p, tra_str *out);
/* XXH64 of that text: identifies a plan. */
uint64_t tra_plan_digest(const tra_plan *p);
/* Of each operator a digest of everything that the bits of its result follow from: what it and those before it do, the
 * inputs' identities (by operator), the path of an output, the seed; and where summands are made, their placement.
 * Other placements and exchanges change nothing. values: p->nops of them. */
void tra_plan_values(const tra_plan *p, uint64_t seed, const char *const *identities, uint64_t *values);
/* Appends what the operator does, without its inputs: `join [1] = [0] matmul, agg [0,2] matadd`. */
void tra_op_print(const tra_op *o, tra_str *out);

#endif
