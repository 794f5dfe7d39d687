/* cost.h - what operators cost: floats and bytes moved, work, seconds. Costs are vectors with units (tra_cost); a
 * scalar is made here only, to compare.
 *
 * Source: algebra of costs of the Tensor Relational Algebra, section 5 (floats moved between sites).
 */
#ifndef TRA_COST_H
#define TRA_COST_H

#include "../ia/ia.h"
#include "../../lib/physical/boxes.h"
#include "search.h"

/* An exchange or repartition. floats is the count of the TRA paper, moved the elements that do cross between sites. */
typedef struct tra_traffic {
    double floats;
    int64_t moved;
    int64_t most; /* the most that one site sends or receives */
    int64_t both; /* of this, what it receives while it sends as much: a bound */
} tra_traffic;
/* From p to q: bcast of f floats costs f*s, shuf f, a placement with c copies f*c, reducing c summands c*f, reducing
 * and copying both; nothing where every destination already holds its tuples. */
tra_traffic tra_traffic_exchange(const tra_placement *p, const tra_placement *q, const tra_catalog *c);
/* As above, with exact floats, but `moved` and `most` from a look at a part of the sites or of the tuples. */
tra_traffic tra_traffic_estimate(const tra_placement *p, const tra_placement *q, const tra_catalog *c,
                                 const tra_site_sample *at_p, const tra_site_sample *at_q);
/* The same tensor from blocks `in` placed as p to blocks `out` placed as q: pieces where blocks overlap move on their
 * own, each from the holder that tra_place_moves would choose. in must be a blocked tensor. origin: where `out` begins
 * in it; n 0: where that begins. */
tra_traffic tra_traffic_repart(const tra_placement *p, const tra_type *in, const tra_placement *q, const tra_type *out,
                               const tra_dims *origin);

/* The bytes that such an exchange sends of a relation that is not dense: tuple by tuple where these are not many, else
 * by what all of it takes. */
tra_size tra_moved_bytes(const tra_placement *p, const tra_placement *q, const tra_type *t, tra_traffic about);

/* Floating-point operations of all sites together and of the busiest one; in closed form for grids. Operands that are
 * held by their entries take as many as their entries need: this is exact (total = bound) where the entries are known
 * and those of two operands need not meet; else it is estimated, and never more than dense arrays take. `busiest`
 * includes the search for rows in products of rows with rows, as operations. */
typedef struct tra_work {
    double total, busiest, bound;
} tra_work;
/* Are arrays of this type held as entries or columns, which dense kernels do not read? Arrays that store their own
 * extents (tra_counted) are dense. */
bool tra_is_held(const tra_type *t);
/* A map or an aggregation over every tuple that each site holds under p. */
tra_work tra_work_each(const tra_kernel *k, tra_kernel_use use, const tra_type *t, const tra_placement *p);
/* A join: `out` is the catalog of its output, `place` its placement. */
tra_work tra_work_join(const tra_kernel *k, const tra_labels *x, const tra_type *l, const tra_type *r,
                       const tra_catalog *out, const tra_placement *place);
/* What its entries take to be found and put in order (rows_cut.h), besides, as operations of the busiest site. */
double tra_work_finding(const tra_kernel *k, const tra_type *l, const tra_type *r, const tra_catalog *pairs,
                        const tra_placement *place);
/* The same for a triangle (tra_mirror): a site computes one of two results that mirror each other, and copies it. */
tra_work tra_work_triangle(const tra_kernel *k, const tra_labels *x, const tra_type *t, const tra_catalog *out,
                           const tra_placement *place, const tra_mirror *mirror);

/* Seconds of so many operations on the busiest site: contractions of dense arrays at the rate of BLAS, the rest by
 * memory bandwidth and what the kernel takes of it. k: the kernel that does the work on operands of these types (r: of
 * a join, else NULL), whose results are of type `out`; NULL: sums. */
double tra_work_seconds(const tra_kernel *k, const tra_type *l, const tra_type *r, const tra_type *out, double busiest,
                        const tra_rates *rates);
/* Besides these, seconds of each site for the entries of products, `out`, of operands that are held by their entries;
 * met: keys of l by which they are joined. */
double tra_entries_seconds(const tra_kernel *k, const tra_type *l, const tra_type *r, const tra_dims *met,
                           const tra_type *out, int sites, const tra_rates *rates);
/* Elements, or rows, that are expected. */
double tra_expected_of(const tra_type *t);
/* Seconds of one thread for a step of a merge, by which what computes little at a time is told; and for one read of
 * memory that no near cache holds, for which the thread waits. */
double tra_step_seconds(const tra_rates *rates);
double tra_miss_seconds(const tra_rates *rates);
/* Seconds for an output besides those for its bytes: what one thread does when all blocks are there, statistics and
 * strings of tables, text of other formats; 0 of another operator. (seconds_output.c) */
double tra_output_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates);
/* Seconds of an exchange in which the busiest site sends or receives so many bytes, `both` of them both ways. */
double tra_network_seconds(const tra_rates *rates, double most, double both);
/* Seconds of a plan: its operators one after the other, as they are run; within one, network, disk and work overlap.
 * Sets cost.seconds of the operators, their stage_seconds, and those of the plan. cold: the share of the bytes read
 * that the page cache does not have, 0 to 1. Negative: for comparing plans; then all bytes come from the disk, and
 * reading overlaps the work of every stage. */
void tra_plan_seconds(tra_plan *p, const tra_rates *rates, double cold);
/* Sets the seconds of plans to what they would take now: what the page cache has of their inputs is not read from the
 * disk. That changes what is told, and neither which plan is chosen nor its rank: by cost time, no plan is told less
 * than the one before it. */
void tra_plans_tell(const tra_plans *plans, const tra_plan_options *o);
double tra_cost_scalar(const tra_cost *c, tra_cost_model model);

#endif
