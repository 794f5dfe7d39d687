/* storel.h - from a statement over stored tensors to a physical plan: equality saturation over the calculus.
 *
 * After STOREL (Schleich, Shaikhha, Suciu 2023), sections 5.1 to 5.7. A *naive plan* is a statement on one combination
 * of arrays, composed with the storages of its operands: a tree of the calculus over components and numbers. The
 * optimizer puts every equivalent plan that its rules find into an e-graph, estimates what each costs by the statistics
 * of the components, and gives back the cheapest distinct ones: *physical plans*, trees over the same scope in which
 * everything is decided that costs time:
 *
 *   - sum(<k, v> in e) is a loop; loops stand in the order in which they run, one generator each;
 *   - let x = e in .. computes e once, there: a number that was taken out of loops, or a dictionary that is
 *     materialised;
 *   - {@dense k -> e} adds into an array, {@hash k -> e} into a hash map: at the key of a result or of a let;
 *   - e(k) is a lookup; merge walks two ascending arrays together;
 *   - if stands as far outside as what it compares is known.
 *
 * Plans depend on the problem alone: limits count nodes, never time. Trees are checked against the problem's scope, and
 * the interpreter of lib/calculus gives for each what it gives for the naive plan, except for the rounding of reals,
 * whose sums run in another order. One rule is added to the paper's semantics: a 0 from a component whose type is
 * sparse makes a product 0, even if another factor is infinite or NaN (tra-storage(5)). The values of operands of
 * sparse type have such types (compose.h).
 */
#ifndef TRA_STOREL_H
#define TRA_STOREL_H

#include "../../lib/storage/storage.h"

/* ---- what is known of the names of a scope -------------------------------------------------------------------- */

/* How the keys of a dictionary are held: each has its costs of iterating and looking up. */
typedef enum tra_storel_kind {
    TRA_STOREL_NUMBER, /* a scalar component, extent or param */
    TRA_STOREL_ARRAY,  /* keys 0..n-1, all there */
    TRA_STOREL_SORTED, /* found by searching */
    TRA_STOREL_HASHED
} tra_storel_kind;

/* Statistics of a name. Counts are those of an average block, so they may be fractions; NAN: not known. */
typedef struct tra_storel_about {
    tra_storel_kind kind;
    double value;               /* NUMBER */
    double n[TRA_CALC_MAXRANK]; /* keys at the first level (an array's elements), and below each key of the one above */
    int extent[TRA_CALC_MAXRANK]; /* names of the scope that the keys of each level are below (keys are not negative),
                                    as index + 1; 0: not known */
    /* Arrays of integers. A part is a slice that pointers give: what lies below one position of the level above. */
    int below;      /* elements are not negative, and below this name: index + 1; 0: not known */
    double part;    /* elements in a part, over all parts, empty ones too */
    double squares; /* elements in the part that an average element is in: the sum of squares of parts over their sum */
    bool ascending; /* in each part, without duplicates */
} tra_storel_about;

/* ---- rules ---------------------------------------------------------------------------------------------------- */

enum { TRA_STOREL_MAXRULES = 64 };
/* A set of rules, as bits by their number, from names separated by commas: TRA_USAGE for names of no rule and of those
 * that are built in. */
TRA_MUSTUSE tra_status tra_storel_without(const char *names, uint64_t *out, tra_err *e);
const char *tra_storel_without_text(uint64_t set, tra_arena *a); /* these names again */

/* ---- optimizing ----------------------------------------------------------------------------------------------- */

/* Nanoseconds of one core: what plans are compared by. */
typedef struct tra_storel_costs {
    double loop;    /* beginning a loop */
    double step;    /* of a loop over a range or an array */
    double hashed;  /* step of a loop over a hash map */
    double element; /* reading an array in order */
    double lookup;  /* reading an array anywhere */
    double hash;    /* finding a key of a hash map */
    double search;  /* finding a key among sorted ones */
    double insert;  /* adding into a dense array */
    double row;     /* adding into a row of a result that is gathered densely, its places marked */
    double put;     /* adding into a hash map */
    double clear;   /* an element of a dense array that is materialised */
    double sort;    /* a key of a hash map that is materialised */
    double list;    /* a contribution to a result by entries that does not come row by row: listed, sorted */
    double merge;   /* a step of a merge */
    double op;      /* arithmetic */
    double branch;  /* a condition */
    double vector;  /* ratio: loops that the compiler makes vectors of */
    double far;     /* ratio: what lookup and insert cost more for each doubling of an array beyond the cache, */
    double near;    /* which holds so many of its numbers */
} tra_storel_costs;
extern const tra_storel_costs tra_storel_default_costs;
/* Factor by which a random access to an array of so many numbers costs more than one that hits the first cache. */
double tra_storel_far(const tra_storel_costs *c, double numbers);

/* What one thread does in a second, as `tra calibrate` measures it (lib/run/measure.h): 0: not measured. */
typedef struct tra_storel_rates {
    double entries, gathers, inserts, merges, hashes, operations;
} tra_storel_rates;
/* The default costs, each scaled by the ratio of the rate of the machine that they were found on to this machine's. */
tra_storel_costs tra_storel_costs_at(const tra_storel_rates *r);
/* Seconds that kernels of such a cost take on so many combinations of arrays, shared by the threads. */
double tra_storel_seconds(double cost, double combinations, int threads);

typedef struct tra_storel_problem {
    const tra_calc *tree; /* the naive plan, checked against the scope */
    int n;
    const tra_calc_name *scope;
    const tra_storel_about *about; /* of each name of the scope */
    bool dense;                    /* the result is a dense array; else its entries are wanted, row by row */
    int extent[TRA_CALC_MAXRANK];  /* names of the scope that the keys of the result are below, as `about` has them */
    uint64_t without;              /* rules to be left out */
    int plans;                     /* how many are wanted; 0: 1 */
    /* Does a plan make a result by entries row by row, in ascending order? NULL: it does if its outer loops count up
     * the keys. */
    bool (*ascends)(const void *ctx, const tra_calc *plan);
    const void *ctx;
    int most_nodes;                /* of the e-graph; 0: TRA_STOREL_NODES */
    const tra_storel_costs *costs; /* NULL: tra_storel_default_costs */
    /* Plans that took long to find are kept in the folder of compiled kernels (codegen.h) and taken from there: the
     * same plans, without stages. Statistics are rounded to a thousandth before, so that data which hardly differ share
     * a plan. The stage of the statement alone, which changes no plan, is left out. */
    bool keep;
} tra_storel_problem;
enum { TRA_STOREL_NODES = 20000, TRA_STOREL_MOSTPLANS = 64 };

typedef struct tra_storel_plan {
    const tra_calc *tree; /* checked against the scope */
    double cost;          /* nanoseconds */
    double operations;    /* arithmetic on reals that it does */
    double entries;       /* of the result, estimated */
} tra_storel_plan;

/* A row of the paper's table 4; there is none for plans that were kept. */
typedef struct tra_storel_stage {
    const char *name;
    int iterations, nodes, classes;
    double milliseconds;     /* of processor time */
    const tra_calc *program; /* after the stage */
    bool limited;            /* the number of nodes ended it early; what was found until then is used */
} tra_storel_stage;

typedef struct tra_storel_result {
    int n;
    tra_storel_plan *plan; /* the cheapest first, no two alike */
    int nstages;
    tra_storel_stage stage[2];
    int applied[TRA_STOREL_MAXRULES]; /* how often each rule made something new */
} tra_storel_result;

/* Finds the plans of a problem, in the arena. It succeeds for every tree that tra_calc_check accepts: if a tree is
 * larger than the e-graph, the naive plan is the only one. */
TRA_MUSTUSE tra_status tra_storel_optimize(const tra_storel_problem *p, tra_arena *a, tra_storel_result *out,
                                           tra_err *e);
/* Do two checked trees say the same, but for the names of bound variables? */
bool tra_storel_same(const tra_calc *x, const tra_calc *y);

#endif
