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
#include "../model/keyfn.h"
#include "../model/relation.h"
#include "../relation/store.h"
#include "placement.h"

/* Properties of the kinds of operators (tra_op_is). */
enum {
    TRA_FILE = 1 << 0,      /* reads or writes a file */
    TRA_RENAMES = 1 << 1,   /* shows the arrays of its input under other keys, or fewer of them */
    TRA_FUSES = 1 << 2,     /* its consumer may compute it while it reads */
    TRA_SPLITS = 1 << 3,    /* several of its arrays come from one */
    TRA_GATHERS = 1 << 4,   /* holds a whole group of its input at once */
    TRA_STREAMS = 1 << 5,   /* makes each result in a unit of its own */
    TRA_LOOPS = 1 << 6,     /* runs in super-blocks, by a block loop (needs.h) */
    TRA_EXCHANGES = 1 << 7, /* brings data to other sites */
    TRA_FORWARDS = 1 << 8,  /* brings whole tuples: those that stay on their site share the blocks of the input */
    TRA_MAKES = 1 << 9,     /* computes new arrays, so that saving them saves work when the run is resumed */
    TRA_READS = 1 << 10     /* its tuples are chunks of a file, which each site reads that has them */
};

/* Operators: name in C, number of inputs, label in explain and JSON, properties; above each, what it does. */
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
    X(OUTPUT, 1, "output", TRA_FILE | TRA_STREAMS)                                                                     \
    /* the value of a state in this turn of its loop; its input is the first one */                                    \
    X(STATE, 1, "state", TRA_FORWARDS)                                                                                 \
    /* the number of the turn */                                                                                       \
    X(TURN, 0, "turn", 0)                                                                                              \
    /* its input becomes the value of the state at the end of the turn */                                              \
    X(NEXT, 1, "next", TRA_FORWARDS)                                                                                   \
    /* its input, one number, ends the loop if it is not 0 */                                                          \
    X(UNTIL, 1, "until", 0)                                                                                            \
    /* its input, one number, is noted for the table of a trace */                                                     \
    X(TRACE, 1, "trace", 0)                                                                                            \
    /* its input, one number, ends the run if it is 0 or NaN; name: what is said then */                               \
    X(REQUIRE, 1, "require", 0)                                                                                        \
    /* the value of a state, its input, when the loop has ended */                                                     \
    X(LAST, 1, "last", TRA_FORWARDS)                                                                                   \
    /* the table of what the turns of a loop traced */                                                                 \
    X(TRACED, 0, "traced", 0)                                                                                          \
    /* a table without rows: the trace of a loop that has not run yet */                                               \
    X(EMPTY, 0, "empty", 0)

typedef enum tra_plan_op {
#define X(name, arity, text, like) TRA_PLAN_##name,
    TRA_PLAN_OPS(X)
#undef X
        TRA_PLAN_COUNT
} tra_plan_op;
/* For switches: the operators that loops consist of, besides their bodies. */
#define TRA_PLAN_LOOP_OPS TRA_PLAN_STATE... TRA_PLAN_EMPTY
const char *tra_plan_op_text(tra_plan_op op);
/* Has the operator any of these properties (TRA_FILE | ...)? */
bool tra_op_is(tra_plan_op op, unsigned like);

/* Costs have units; a scalar is made only to compare (plans/search/cost.h). All sums over sites unless said. */
typedef struct tra_cost {
    double network_floats;       /* elements sent, as the TRA paper counts; of sparse arrays the expected entries */
    double network_floats_bound; /* at most; equal to network_floats where that is exact */
    double eindecomp;       /* floats by the model of the EinDecomp paper; of plans that are compared by it, else 0 */
    tra_size network_bytes; /* of tuples, and pieces of them, that change site */
    tra_size disk_read;     /* whole uncompressed chunks. An estimate where a site may not need all of its chunks, or
                               reads evicted blocks again of which some may still be in memory */
    tra_size disk_write;    /* the same; of tables also the strings of dictionaries */
    double made;            /* expected bytes of inputs that are in no file (gen): made instead of read */
    double flops;           /* of sparse operands, for the expected entries */
    double flops_bound;     /* at most; equal to flops where that is exact */
    double flops_max;       /* of the busiest site */
    int64_t peak_memory;    /* of the site with the most; of an operator: the most held from the start to its end */
    double seconds;
} tra_cost;

/* Name and text of the program's file, for messages of a run. */
typedef struct tra_program_text {
    const char *file, *text;
    int first; /* where its first line begins: what stands before was not written by the user */
} tra_program_text;
/* The line, from 1, of the place in the text; 1 if p is NULL. */
int tra_program_line(const tra_program_text *p, int at);

/* What the program asks of an operator, and the file that an input reads or an output writes. */
typedef struct tra_op_spec {
    const char *name;                /* of the relation in the program; NULL for intermediate ones */
    const tra_program_text *program; /* NULL: not known */
    int text_at;                     /* offset of its statement in that text */
    const tra_kernel *join, *agg, *map;
    tra_dtype term;         /* AGG, JOINAGG, MERGE: element type of what is aggregated (of the join's result) */
    bool triangle;          /* JOINAGG: product of a relation with itself, whose result is symmetric (tra_op_mirror) */
    bool partial;           /* AGG, JOINAGG: each site leaves a summand, in the type of the state and not finished */
    tra_dims joinl, joinr;  /* JOIN, JOINAGG: key dimensions of the inputs */
    tra_dims group;         /* AGG, JOINAGG, MERGE: key dimensions grouped by, in output order (JOINAGG: of the join's
                               output key; MERGE: all) */
    const tra_keyfn *keyfn; /* REKEY, FILTER */
    int dim;                /* TILE, CONCAT: array dimension */
    int keydim;             /* CONCAT: key dimension */
    int64_t most_rows;      /* CONCAT: no result has more rows than this, even if its pieces could; 0: not known */
    tra_dims origin;        /* REPART: offset of the result in the input's tensor; n 0: none */
    uint64_t origins_digest;
    /* REPART: its offsets, of which a run sets one in each turn of loop `loop`: as many as this has in all turns of the
     * loops around it that matter; NULL: always the same */
    const int64_t *origins;
    int64_t norigins;
    int64_t size;           /* TILE: extent of a tile along `dim` */
    const char *path;       /* INPUT, READALL, OUTPUT: file[:name] */
    bool transposed;        /* INPUT, READALL: of tra_rel_transposed */
    const tra_kernel *turn; /* INPUT, READALL: what reading does to arrays of a file by columns; NULL: nothing */
    const char *target;     /* OUTPUT: what it is exported to; NULL: nothing, or the plan was read from a file */
    /* OUTPUT: the storage format of the arrays in the file. levels: by levels (stored.h); mapping: by a mapping that is
     * not one of levels (mapped.h); both NULL: dense arrays, or a table. */
    const struct tra_levels *levels;
    const struct tra_turned_levels *turned; /* OUTPUT: levels are of these, since the result is what the file has by
                                               columns, transposed (stored.h); NULL: the result is what the file has */
    const struct tra_mapping_use *mapping;
    const struct tra_dim_labels *const *labels; /* OUTPUT: labels of its dimensions (labels.h), or NULL */
    const char *units;                          /* OUTPUT: of its elements, or NULL */
    int loop, item, column; /* operators of a loop: which loop; which state or trace of it; TRACE: which column */
    int64_t read_scratch;   /* INPUT, READALL: bytes that a worker needs to read a chunk (tra_rel_scratch_bytes) */
    int64_t unpack_bytes;   /* INPUT, READALL: bytes of a block in which a chunk is unpacked (tra_rel_unpack_bytes) */
    int64_t hdf5_bytes;     /* INPUT, READALL: bytes that HDF5 allocates meanwhile (tra_rel_library_bytes) */
} tra_op_spec;

/* What the planner expects of it, per site. */
typedef struct tra_op_predicted {
    tra_cost cost;        /* of this operator alone */
    int64_t least_memory; /* ceiling of a site below which it cannot run (memory.h) */
    int64_t held;         /* what a site holds while it runs, at most the ceiling; 0: it is no stage */
    int64_t touched;      /* memory for blocks that a site has used so far, as is expected */
    int64_t spill;        /* bound of the bytes that a site spills, of results that do not fit in memory, */
    int64_t spill_likely; /* and what is expected, by the bytes that results are expected to have */
    int64_t read;         /* INPUT, READALL: bytes of its file that are read in all, by whichever operators */
    double network_seconds; /* of the exchanges alone */
    double stage_seconds; /* with what runs inside of it: fused operators, others of a scan, outputs; cost.seconds has
                             those without. 0: it runs inside of another (tra_plan_runs_in). Of an exchange that
                             overlaps a stage they are in that stage's, too */
} tra_op_predicted;

/* The scan that a stage belongs to: stages that read an input together, in one pass (scan.h). */
typedef struct tra_op_scan {
    int first;        /* the first stage of the scan, with which all others run; -1: the stage is in no scan */
    int next;         /* the next stage of the scan; -1: none */
    int stages;       /* how many the scan has; 0: the stage is in no scan */
    int input;        /* the INPUT that they read; -1: none */
    int64_t reserved; /* bytes that its block loop leaves to the other stages of the scan */
} tra_op_scan;

/* How the executor is to run it. */
typedef struct tra_op_method {
    bool fused;            /* never stored: its only consumer computes it while it reads */
    bool direct;           /* its results go to a file as they come (memory.h) */
    bool gathers;          /* REPART on one site: each result is made at once of the blocks that it meets (memory.h) */
    int64_t io_bytes;      /* bytes that a worker of the stage needs to read and write chunks (memory.h), */
    int64_t scratch_bytes; /* and to compute what it reads, if that is computed on reading */
    int64_t panel;    /* memory that is planned at most for a result, since it is made and written in panels (needs.h);
                         of an output: for what it writes. 0: for all of it */
    int64_t waits;    /* of an output: bytes of results that may wait in memory until all are counted */
    int64_t terms;    /* of a sum: bytes of copies of its terms that may wait to be added together */
    int ends;         /* of an exchange: the last stage during which it runs: itself, unless it overlaps the stages from
                         the next operator to this one (overlap.c) */
    int64_t window;   /* of an exchange that overlaps: bytes in flight from a site, and as many to it, at most */
    int64_t reserved; /* of a stage: bytes that its block loop leaves to the exchanges that overlap it. Units that are
                         already queued may use them all the same */
    tra_op_scan scan;
} tra_op_method;

/* What a result takes of memory, as far as its type and placement tell (needs.h). */
typedef struct tra_op_holds {
    int64_t most;   /* tuples on a site, at most */
    int64_t arrays; /* bytes of blocks on the fullest site, as memory is planned (tra_size_planned) */
    tra_size takes; /* the expected bytes and their bound */
    int64_t room;   /* of its largest array (tra_type_room) */
} tra_op_holds;

typedef struct tra_op {
    int id;
    int loop; /* in a plan with loops, the innermost one in whose turns it runs; -1: none */
    tra_plan_op op;
    int in[2];               /* ids of the inputs, smaller than id; -1 */
    int reads, next_read[2]; /* who reads its result, and who else reads its inputs: see tra_next_read */
    tra_type type;           /* of the result */
    tra_op_spec spec;
    tra_placement place;       /* where the result is */
    const tra_op_holds *holds; /* while memory is planned (memory.h); before, if it is known; else NULL */
    const char *strategy;      /* JOIN, JOINAGG: the name of how its inputs are placed, for explain */
    tra_op_predicted predicted;
    tra_op_method method;
} tra_op;

/* A loop: the operators first .. last run once in each turn, at most `most` times. Its states stand before it; their
 * next values, the condition and what is traced are among them, at the end. */
typedef struct tra_plan_loop {
    int first, last;
    int outer; /* the loop around it; -1 */
    int64_t most;
    int nstates, ntraces;
    int *state, *next;       /* of each state: its STATE and NEXT operators */
    int turn, until;         /* the TURN and UNTIL operators; -1: none */
    const tra_type **traced; /* the type of the table of each trace */
    const tra_program_text *program;
    int text_at, until_at; /* offsets of the statement and of its condition in the program's text */
} tra_plan_loop;

typedef struct tra_plan {
    tra_arena *arena; /* owns everything here */
    int sites;
    int64_t memory;    /* ceiling per site; 0: none */
    int compress;      /* zstd level of the outputs, for which workers need room; 0: they are not compressed */
    bool unfused;      /* nothing is fused, since the ceiling is too low for it */
    bool panels;       /* memory is planned for panels of the results that can be made in these, for the same reason */
    bool reproducible; /* sums are those of a tree (tree.h): their bits do not depend on the number of sites */
    int64_t scratch;   /* bound of the scratch bytes of a site: spilled blocks, and outputs that wait for their place */
    int64_t scratch_expected; /* the same for results of the expected size */
    int64_t checkpointed;     /* bound of the bytes of intermediate results that checkpoints hold at once */
    int64_t least_memory;     /* least ceiling under which the plan runs */
    int64_t base_memory;      /* tra_memory_base, for the threads for which its memory was predicted */
    bool rereads;             /* not everything fits: blocks are evicted, and inputs read again */
    int64_t program;          /* bytes of the program and of this plan beyond what a small program takes */
    int64_t planning;         /* peak bytes of the search that found it, with the program; freed before the run */
    const char *strategy;
    int rank; /* 1 = chosen first */
    int nops;
    tra_op *ops;
    int nloops;
    tra_plan_loop *loops; /* one that stands in another comes after it */
    tra_cost cost;        /* total: operators of loops count for each turn, as often as these may run */
} tra_plan;

/* Is it an operator that a loop has at the end of each turn (REQUIRE also stands outside of loops)? It holds nothing
 * itself. */
static inline bool tra_op_is_end_of_turn(tra_plan_op op) {
    return op == TRA_PLAN_NEXT || op == TRA_PLAN_UNTIL || op == TRA_PLAN_TRACE || op == TRA_PLAN_REQUIRE;
}
/* How often the operator runs at most: the product of the turns of the loops around it. */
double tra_op_times(const tra_plan *p, const tra_op *op);
/* Predicted seconds of the operator's longest unit of work: its stage makes tuples one after the other, each of so many
 * threads of each site one. */
double tra_unit_seconds(const tra_plan *p, const tra_op *op, int threads);
/* Does loop `inner` (-1: none) stand in loop `outer`, or is it that? Every loop stands in -1. */
bool tra_loop_within(const tra_plan *p, int inner, int outer);
/* Is the result of operator i made outside of a loop in whose turns j runs? Each turn reads it. */
bool tra_op_is_outside(const tra_plan *p, int i, int j);
/* The last operator of the outermost loop around j that operator i is outside of; j itself if there is none. */
int tra_op_until(const tra_plan *p, int i, int j);

/* Prefix of messages about the operator: where it stands in the program, and its name: "job.tra:3: C: ". Less if that
 * is not known. Returns buf. */
char *tra_op_text(const tra_op *op, char *buf, size_t n);

/* TRA_INPUT, with the statement and the key of tuple `ordinal`, if an integer that this thread computed for it did not
 * fit (tra_kernel_overflowed), or a kernel failed. op: the operator that computes relations of this type. */
TRA_MUSTUSE tra_status tra_op_fits(const tra_op *op, const tra_type *type, int64_t ordinal, tra_err *e);

/* Does one kernel join and aggregate, adding to the state directly, so that the join's result needs no array? */
bool tra_op_accumulates(const tra_plan *p, const tra_op *op);

/* The symmetry of a product of a relation with itself: the array of key (.., i, .., j, ..) is that of (.., j, .., i,
 * ..) with two of its dimensions exchanged. So only arrays with i <= j are computed, of those on the diagonal one
 * triangle, and the others are copies. */
typedef struct tra_mirror {
    int label[2]; /* key dimensions i and j of the join's output, of the left operand and of the right one, */
    int key[2];   /* and of the result */
    int dim[2];   /* the array dimensions that change places */
    int own;      /* dimension of the operands' arrays from which both of these come */
} tra_mirror;
/* Is a product of a relation with itself, whose key has n dimensions, symmetric in this way? */
bool tra_mirror_of(const tra_kernel *join, const tra_kernel *agg, int n, const tra_dims *joinl, const tra_dims *joinr,
                   const tra_dims *group, tra_mirror *out);
bool tra_op_mirror(const tra_plan *p, const tra_op *op, tra_mirror *out); /* false: not computed as a triangle */

/* Is its result a view: the arrays of its input under other keys, or arrays that its consumer computes (fused)? */
bool tra_op_is_view(const tra_op *op);
/* Is the operator a stage of its own? Not so a view, nor an input, which is read while its consumer runs. */
bool tra_op_is_stage(const tra_op *op);
/* Is it an aggregation whose states are held in a layout that is not dense, and grow with each term (grow.h)? */
bool tra_op_grows(const tra_op *op);
/* Is it an output whose tuples must all be counted before any of them has a place in the file: one that is stored by
 * levels or by a mapping, a table, or a tensor whose number of rows only the run tells? */
bool tra_op_counts_first(const tra_op *op);
/* Does its result share blocks with its input: is it a view, or an exchange of whole tuples? */
bool tra_op_shares_blocks(const tra_op *op);

/* Does it bring data to other sites? Not so a repartition that gathers. */
bool tra_op_exchanges(const tra_op *op);
/* Does the room for its result follow from expected rows? A run that finds more is planned again, with more room. */
bool tra_op_may_outgrow(const tra_op *op);
/* Does it hold a whole group of its input at once? */
bool tra_op_gathers(const tra_plan *p, const tra_op *op);
/* Is it a CONCAT of tables whose rows are known? It appends them to its result one by one, and does not gather. */
bool tra_op_appends(const tra_plan *p, const tra_op *op);
/* Does the exchange overlap the next stage? Bytes read for either are then counted for that stage. */
bool tra_op_overlaps(const tra_op *op);
/* Is input 0 or 1 of a join the result of an exchange that overlaps the join? */
bool tra_op_input_overlaps(const tra_plan *p, const tra_op *op, int side);

/* Of key dimension d of input `side` of a join or aggregation: *joined: does the join compare it? *grouped: is it in
 * the key of the result? (Without an aggregation every dimension is.) */
void tra_op_label(const tra_plan *p, const tra_op *op, int side, int d, bool *joined, bool *grouped);

/* The operator below all views from operator i down: whose stored result reading i's result reads. *many becomes true
 * if several tuples of i come from one stored tuple. */
int tra_op_viewed(const tra_plan *p, int i, bool *many);
/* The same below exchanges of whole tuples too: the operator whose blocks reading i's result reads. */
int tra_op_holder(const tra_plan *p, int i, bool *many);
/* An edge of the plan: input `side` of operator `op`. */
typedef struct tra_read {
    int op, side;
} tra_read;
/* Lists the edges of the plan anew, for tra_next_read: whoever changes inputs of operators calls it. */
void tra_plan_list_reads(tra_plan *p);
/* The next edge that reads the result of operator i: directly, the last operator first; and, behind readers for which
 * `through` is true (NULL: none), what reads theirs. r->op = -1 begins; false: there is none. */
bool tra_next_read(const tra_plan *p, int i, bool (*through)(const tra_op *), tra_read *r);
/* Is the operator the only reader, from now on, of the blocks of its input `side`, and does it read each for one tuple?
 * Then they can leave memory after use. Operators before it in the plan have ended, except exchanges that overlap.
 * together: where the other side reads the same blocks it does so at the same time, and does not count. */
bool tra_op_is_only_block_reader(const tra_plan *p, const tra_op *op, int side, bool together);
/* Is the operator the only reader, from now on, of its input `side`, and does it read each tuple once? Then blocks that
 * belong to that input alone can be dropped after use. */
bool tra_op_is_only_reader(const tra_plan *p, const tra_op *op, int side, bool together);

/* Is the plan valid: inputs come before their operators, arities match, catalogs are there, placements of the inputs of
 * joins agree, and only exchanges read partial relations? Else *why is the reason. For assertions. */
bool tra_plan_valid(const tra_plan *p, const char **why);

#endif
