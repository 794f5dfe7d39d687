/* reference.h - the reference evaluator: what a program means, slow and obvious.
 *
 * Evaluates the graph in memory, tuple at a time, straight from the definitions of man tra-lang.5. It shares no code
 * with the kernels' execution, the catalogs, the rewrite rules or the executor: it has its own numbers and arrays,
 * its own definition of every kernel, its own key expressions, and finds out for itself which keys exist and which key
 * cuts which dimension. Every plan must give what it gives. The results of f32 relations are rounded to float after
 * each operator; sums accumulate in double. Sums of integers accumulate in 128 bits: what does not fit is what
 * does not fit as a whole.
 *
 * Source: Tensor Relational Algebra, section 3 (operators).
 */
#ifndef TRA_REFERENCE_H
#define TRA_REFERENCE_H

#include "../tra/tra.h"

typedef long double ref_num; /* has all values of every element type */

typedef struct tra_ref_tuple {
    tra_dims key, ext;
    ref_num *data; /* row-major */
} tra_ref_tuple;

/* A relation: its tuples in ascending order of key (the last component fastest). */
typedef struct tra_ref_rel {
    int k, r; /* key arity, rank */
    tra_dtype dtype;
    bool sparse; /* by type: where it is 0 as a factor or dividend, so is the result, also against NaN and infinity */
    uint32_t cut[TRA_MAXDIM]; /* for each array dimension the set of key dimensions that cut it */
    tra_dims bound; /* the largest extents; where tuples may be missing, no less than what the operator makes of its
                       inputs' bounds: a tensor of which only clipped blocks are left keeps its block extents */
    int64_t n;
    tra_ref_tuple *v;
    const struct tra_ref_table *table; /* a table, of which nothing else counts (ref_table.h); else NULL */
    bool counted; /* only the run tells its rows: it is one block along them, whatever its type says */
    bool loose;   /* sums or products of integers fit, but parts of them might not, in another order */
} tra_ref_rel;

/* Evaluates the nodes that outputs need, or all nodes; the results of EinSum statements from the statements, not from
 * the operators that these are lowered to. (*out)[id] is the result of node id, NULL where not evaluated; all in the
 * arena. Inputs are read through tra_rel_read. Errors: TRA_INPUT for inputs and for integers that do not fit,
 * TRA_PROGRAM for what the definitions forbid (the type checker finds these earlier), TRA_STOPPED (a tuple or so after
 * tra_stop_asked). */
TRA_MUSTUSE tra_status tra_reference_run(const tra_graph *g, bool all, tra_arena *a, const tra_ref_rel ***out,
                                         tra_err *e);

/* The values of a column of a table of the graph, which may still be built, as labels (tra.h, tra_find_values). */
TRA_MUSTUSE tra_status tra_reference_values(const tra_graph *g, const tra_node *table, int column, tra_arena *a,
                                            const tra_dim_labels **out, tra_err *e);

/* One operator: the result of node n for given inputs (x, y are NULL where it has none; an INPUT reads its file). */
TRA_MUSTUSE tra_status tra_reference_apply(const tra_node *n, const tra_ref_rel *x, const tra_ref_rel *y, tra_arena *a,
                                           tra_ref_rel *out, tra_err *e);

/* Writes a result as the relation `spec` of the type that the compiler gave it, all but to commit *out with the digest;
 * what the writer needs until then is in the arena. TRA_INTERNAL when keys, extents or element type are not what the
 * type says. */
TRA_MUSTUSE tra_status tra_reference_fill(const tra_ref_rel *r, const tra_type *type, const char *spec,
                                          const tra_write_options *o, tra_arena *a, tra_writer **out, char digest[33],
                                          tra_err *e);

/* Only that comparison: do keys, extents and element type agree with the type? */
TRA_MUSTUSE tra_status tra_reference_matches(const tra_ref_rel *r, const tra_type *type, tra_err *e);

#endif
