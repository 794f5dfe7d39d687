/* plan.h - the physical plan: what plans/ finds and lib/run executes and explain prints.
 *
 * A list of operators in execution order over placed relations. Each operator's result is a relation on the sites;
 * `fused` ones are never materialised: their consumer computes them while it reads. Predicted figures stand in
 * each operator, so that explain and --profile show the same numbers.
 *
 * Source: Tensor Relational Algebra, section 4 (implementation algebra: bcast, shuf, local join, aggregation, map).
 */
#ifndef TRA_PLAN_H
#define TRA_PLAN_H

#include "../kernel/kernel.h"
#include "../relation/keyfn.h"
#include "../relation/relation.h"
#include "../relation/store.h"
#include "placement.h"

/* What is the same for all operators of a kind. */
enum {
    TRA_FILE = 1 << 0,      /* reads or writes a file */
    TRA_RENAMES = 1 << 1,   /* shows the arrays of its input under other keys, or fewer of them */
    TRA_FUSES = 1 << 2,     /* its consumer may compute it while it reads */
    TRA_SPLITS = 1 << 3,    /* several of its arrays come from one */
    TRA_GATHERS = 1 << 4,   /* holds a whole group of its input at once */
    TRA_STREAMS = 1 << 5,   /* makes each result in a unit of its own */
    TRA_LOOPS = 1 << 6,     /* runs in super-blocks, by a block loop (needs.h) */
    TRA_EXCHANGES = 1 << 7, /* brings data to other sites */
    TRA_FORWARDS = 1 << 8,  /* and that as whole tuples: what stays shares the blocks of its input */
    TRA_MAKES = 1 << 9,     /* its arrays are new, so that saving them saves work when the run is resumed */
    TRA_READS = 1 << 10     /* its tuples are chunks of a file, which each site reads that has them */
};

/* Operators: name in C, inputs, label in explain and JSON, what it is like; what it does. */
#define TRA_PLAN_OPS(X)                                                                                                \
    /* chunks of a file; its placement says which site reads which */                                                  \
    X(INPUT, 0, "input", TRA_FILE | TRA_READS)                                                                         \
    /* the same, where several sites have a tuple: each reads it, in place of an exchange */                           \
    X(READALL, 0, "read-all", TRA_FILE | TRA_READS)                                                                    \
    /* keeps the tuples whose key is in the result's catalog */                                                        \
    X(FILTER, 1, "filter", TRA_RENAMES)                                                                                \
    /* new keys, same arrays */                                                                                        \
    X(REKEY, 1, "rekey", TRA_RENAMES)                                                                                  \
    /* kernel `map` on each array */                                                                                   \
    X(MAP, 1, "transform", TRA_FUSES | TRA_STREAMS | TRA_MAKES)                                                        \
    /* one tuple becomes several */                                                                                    \
    X(TILE, 1, "tile", TRA_FUSES | TRA_STREAMS | TRA_SPLITS | TRA_MAKES)                                               \
    /* local join of co-located inputs: kernel `join` */                                                               \
    X(JOIN, 2, "join", TRA_LOOPS | TRA_MAKES)                                                                          \
    /* local aggregation, complete or leaving summands; kernel `agg` */                                                \
    X(AGG, 1, "agg", TRA_LOOPS | TRA_MAKES)                                                                            \
    /* both in one: the join's result is never stored */                                                               \
    X(JOINAGG, 2, "join-agg", TRA_LOOPS | TRA_MAKES)                                                                   \
    /* completes an aggregation: merges the summands of a partial relation, in their order */                          \
    X(MERGE, 1, "merge", TRA_LOOPS | TRA_MAKES)                                                                        \
    /* local concatenation */                                                                                          \
    X(CONCAT, 1, "concat", TRA_GATHERS | TRA_STREAMS | TRA_MAKES)                                                      \
    /* the same tensor in other blocks; moves the pieces itself */                                                     \
    X(REPART, 1, "repart", TRA_EXCHANGES | TRA_MAKES)                                                                  \
    /* exchange to `all` */                                                                                            \
    X(BCAST, 1, "bcast", TRA_EXCHANGES | TRA_FORWARDS)                                                                 \
    /* exchange to any other placement */                                                                              \
    X(SHUF, 1, "shuf", TRA_EXCHANGES | TRA_FORWARDS)                                                                   \
    /* written to a file */                                                                                            \
    X(OUTPUT, 1, "output", TRA_FILE | TRA_STREAMS)

typedef enum tra_plan_op {
#define X(name, arity, text, like) TRA_PLAN_##name,
    TRA_PLAN_OPS(X)
#undef X
        TRA_PLAN_COUNT
} tra_plan_op;
const char *tra_plan_op_text(tra_plan_op op);
/* Is the operator like any of these (TRA_FILE | ...)? */
bool tra_op_is(tra_plan_op op, unsigned like);

/* Costs have units; a scalar is made only to compare (plans/search/cost.h). All sums over sites unless said. */
typedef struct tra_cost {
    double network_floats;       /* the count of the TRA paper; of what is held by its entries these count */
    double network_floats_bound; /* exact where it is the same */
    double eindecomp;       /* floats by the model of the EinDecomp paper; of plans that are compared by it, else 0 */
    tra_size network_bytes; /* of tuples, and pieces of them, that change site */
    tra_size disk_read;     /* whole uncompressed chunks. What a site does not use of what it has need not be read; and
                               blocks that did not stay are read again, unless some are still there: estimates */
    tra_size disk_write;    /* the same */
    double flops;           /* of operands that are held by their entries, what these take */
    double flops_bound;     /* exact where it is the same */
    double flops_max;       /* of the busiest site */
    int64_t peak_memory;    /* per site, the largest; of an operator: the most that a site has held until its end */
    double seconds;
} tra_cost;

/* The program, for messages of a run. */
typedef struct tra_program_text {
    const char *file, *text;
} tra_program_text;

/* What the program asks of an operator, and the file that an input reads or an output writes. */
typedef struct tra_op_what {
    const char *name;                /* of the relation in the program; NULL for intermediate ones */
    const tra_program_text *program; /* NULL: not known */
    int at;                          /* place in its text */
    const tra_kernel *join, *agg, *map;
    tra_dtype term;         /* AGG, JOINAGG, MERGE: element type of what is aggregated (of the join's result) */
    bool triangle;          /* JOINAGG: of a relation with itself, whose result is symmetric (tra_op_mirror) */
    bool partial;           /* AGG, JOINAGG: leaves summands (state dtype; no finish) */
    tra_dims joinl, joinr;  /* JOIN, JOINAGG: key dimensions of the inputs */
    tra_dims group;         /* AGG, JOINAGG, MERGE: key dimensions grouped by, in output order (JOINAGG: of the join's
                               output key; MERGE: all) */
    const tra_keyfn *keyfn; /* REKEY, FILTER */
    int dim;                /* TILE, CONCAT: array dimension */
    int keydim;             /* CONCAT: key dimension */
    int64_t most;           /* CONCAT: rows that no result has more of, whatever its pieces may have; 0: none */
    tra_dims origin;        /* REPART: where the result begins in the input; n 0: where that begins */
    int64_t size;           /* TILE */
    const char *path;       /* INPUT, READALL, OUTPUT: file[:name] */
    /* OUTPUT: by which its arrays are stored (stored.h), held as they may be; NULL: each as an array. */
    const struct tra_levels *levels;
    const struct tra_dim_labels *const *labels; /* OUTPUT: of its dimensions (labels.h), or NULL */
    const struct tra_mapping_use *mapping;      /* or the storage that is no levels (mapped.h) */
    int64_t scratch; /* INPUT, READALL: bytes that a worker needs to read a chunk (tra_rel_scratch), */
    int64_t unpacks; /* that the array's block has meanwhile (tra_rel_unpacks), */
    int64_t library; /* and that HDF5 takes (tra_rel_library) */
} tra_op_what;

/* What the planner expects of it, per site. */
typedef struct tra_op_predicted {
    tra_cost cost;        /* of this operator alone */
    int64_t least_memory; /* ceiling of a site below which it cannot run (memory.h) */
    int64_t spill;        /* bytes that a site may have in scratch meanwhile, of results that do not fit: a bound */
} tra_op_predicted;

/* Of a stage that reads an input in one pass, alone or with others (scan.h). */
typedef struct tra_op_scan {
    int first, input; /* the operator with which all of them run, and the INPUT; -1: it is in no scan */
    int64_t reserved; /* bytes that its block loop leaves to the others */
} tra_op_scan;

/* How the executor is to run it. */
typedef struct tra_op_orders {
    bool fused;       /* never stored: its only consumer computes it while it reads */
    bool direct;      /* its results go to a file as they come (memory.h) */
    int64_t io;       /* bytes that a worker of the stage needs to read and write chunks (memory.h) */
    int begins, ends; /* of an exchange: the first and the last stage during which it runs. Both are the exchange
                         itself, unless it overlaps with the stage that makes what it sends, or with the one that reads
                         what it brings (overlap.h) */
    int64_t window;   /* of one that overlaps: bytes that may be on their way from a site, and to it */
    int64_t reserved; /* of a stage: bytes that its block loop leaves to the exchanges that overlap with it. Units that
                      are already queued may use them all the same */
    tra_op_scan scan;
} tra_op_orders;

typedef struct tra_op {
    int id;
    tra_plan_op op;
    int in[2];     /* ids of the inputs, smaller than id; -1 */
    tra_type type; /* of the result */
    tra_op_what what;
    tra_placement place;  /* where the result is */
    const char *strategy; /* JOIN, JOINAGG: the name of how its inputs are placed, for explain */
    tra_op_predicted predicted;
    tra_op_orders orders;
} tra_op;

typedef struct tra_plan {
    tra_arena *arena; /* owns everything here */
    int sites;
    int64_t memory;    /* ceiling per site; 0: none */
    int compress;      /* zstd level of the outputs, for which workers need room; 0: they are not compressed */
    bool slim;         /* nothing is fused, since the ceiling is too low for it */
    bool reproducible; /* sums are those of a tree (tree.h): their bits do not depend on the number of sites */
    int64_t scratch;   /* bytes that a site may spill under the ceiling, or keep of compressed outputs: a bound */
    int64_t scratch_expected; /* the same, by the bytes that results are expected to have */
    int64_t kept;             /* the most that results which are no outputs take when they are saved for another run */
    int64_t least_memory;     /* least ceiling that would do */
    bool rereads;             /* blocks that did not stay are read again */
    int64_t program;          /* bytes of the program and of this, besides what a small program takes */
    int64_t planning;         /* bytes that finding it took at once, with the program; given back */
    const char *strategy;
    int rank; /* 1 = chosen first */
    int nops;
    tra_op *ops;
    tra_cost cost; /* total */
} tra_plan;

/* Where it stands in the program and its name, before what is said of it: "job.tra:3: C: ", or less. Returns buf. */
char *tra_op_text(const tra_op *op, char *buf, size_t n);

/* Whether all integers of tuple `ordinal` fitted: TRA_INPUT, with the statement and the key, if some that this thread
 * computed did not (tra_kernel_overflowed). op: the operator that computes relations of this type. */
TRA_MUSTUSE tra_status tra_op_fits(const tra_op *op, const tra_type *type, int64_t ordinal, tra_err *e);

/* Is the join one kernel with its aggregation, which adds to the state and needs no array for the join's result? */
bool tra_op_accumulates(const tra_plan *p, const tra_op *op);

/* Of a triangle: the array of key (.., i, .., j, ..) is that of (.., j, .., i, ..) with two of its dimensions
 * exchanged, so that only those with i <= j are computed, of these on the diagonal one triangle; the others are copies.
 */
typedef struct tra_mirror {
    int label[2]; /* key dimensions i and j of the join's output, of the left operand and of the right one, */
    int key[2];   /* and of the result */
    int dim[2];   /* the array dimensions that change places */
    int own;      /* dimension of the operands' arrays that becomes these */
} tra_mirror;
/* Whether a product of a relation with itself, whose key has n dimensions, is one. */
bool tra_mirror_of(const tra_kernel *join, const tra_kernel *agg, int n, const tra_dims *joinl, const tra_dims *joinr,
                   const tra_dims *group, tra_mirror *out);
bool tra_op_mirror(const tra_plan *p, const tra_op *op, tra_mirror *out); /* false: it is no triangle */

/* Is its result read through another operator's: renamed, or computed on the way? */
bool tra_op_is_view(const tra_op *op);
/* Is it no stage of its own: a view, or read from its file while its result is read? */
bool tra_op_is_read(const tra_op *op);
/* Of an aggregation: are its states held in a layout that is not dense, and grow as terms come (grow.h)? */
bool tra_op_grows(const tra_op *op);
/* Is it an output whose tuples are counted before any gets its place: one by levels, a table, or of
 * unknown rows? */
bool tra_op_counts(const tra_op *op);
/* Does reading its result read the blocks of its input: is it a view, or an exchange of whole tuples? */
bool tra_op_shares(const tra_op *op);

/* Does the exchange overlap the stage that reads what comes? What is read for either counts as that one's. */
bool tra_op_flows(const tra_op *op);
/* Does input 0 or 1 of a join come from other sites while it runs? */
bool tra_op_moves(const tra_plan *p, const tra_op *op, int side);
/* Does an exchange send its results while it makes them? */
bool tra_op_feeds(const tra_plan *p, const tra_op *op);

/* Is key dimension d of input `side` of a join or aggregation joined, and is it grouped by? Without an aggregation all
 * are. */
void tra_op_label(const tra_plan *p, const tra_op *op, int side, int d, bool *joined, bool *grouped);

/* The operator of which i's result is a view, or is computed on the way; *many becomes true where several of its tuples
 * are of one. */
int tra_op_viewed(const tra_plan *p, int i, bool *many);
/* The operator whose blocks reading operator i's result reads: what is read, fused or exchanged may share them. *many
 * becomes true where several of its results come from one block. */
int tra_op_holder(const tra_plan *p, int i, bool *many);
/* Whether the operator reads the blocks of its input `side` alone, each for one tuple: nothing else wants them then,
 * nor later. What comes before it in the plan has ended by then, but for exchanges that overlap stages. */
bool tra_op_reads_alone(const tra_plan *p, const tra_op *op, int side);
/* Whether nothing reads the result that the operator reads but it, once for each tuple: blocks that are that result's
 * alone are of no use then. */
bool tra_op_reads_last(const tra_plan *p, const tra_op *op, int side);

/* Validity: inputs precede, arities match, catalogs present, placements of join inputs agree, no map or join over
 * partial relations. *why gets the reason. Run at the borders in debug builds. */
bool tra_plan_valid(const tra_plan *p, const char **why);

#endif
