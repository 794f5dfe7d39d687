/* search_int.h - the inside of the search, shared by its files. */
#ifndef TRA_SEARCH_INT_H
#define TRA_SEARCH_INT_H

#include "cost.h"
#include "search.h"

/* An operator of a plan in the making. Steps form a list from the latest to the first, shared by many states. */
typedef struct step step;
struct step {
    const step *prev;
    tra_plan_op op;       /* OWN: no operator, the input `node` is placed as `place` of itself */
    const tra_node *node; /* what it computes or moves; JOINAGG: the aggregation */
    const step *in[2];
    int place;    /* number of an interned placement; ANY: to be decided */
    bool partial; /* AGG, JOINAGG: leaves summands; SHUF: moves them */
};
enum { OWN = TRA_PLAN_COUNT };
enum { ANY = -1 }; /* the place of an input that has not been chosen */

/* The strategies of the joins so far, from the latest. */
typedef struct strategy strategy;
struct strategy {
    const strategy *prev;
    int join; /* id of its node */
    char text[48];
};

/* A relation in one placement. */
typedef struct avail {
    int node, place;
    const step *by;
} avail;

/* Cost so far: network and work of each operator, without overlap. */
typedef struct spent {
    double floats, seconds, flops;
    int64_t bytes;
} spent;

typedef struct state {
    spent cost;
    int n;
    avail *v; /* by node, then in the order they came */
    const step *last;
    const strategy *strategies;
    uint64_t avail_hash, strategy_hash;
    int64_t seq; /* order of generation: the last tie-break */
} state;

typedef struct places {
    int n, cap;
    int *v;
} places;

typedef struct memo_entry {
    uint64_t key;
    tra_traffic traffic;
    tra_work work;
    int place;
} memo_entry;

typedef struct search {
    const tra_graph *g;
    const tra_plan_options *o;
    tra_arena *a;    /* results */
    tra_arena *work; /* dies with the search */

    /* placements, interned */
    int nplaces, capplaces;
    tra_placement *place;
    int nplacetable;
    int *placetable;

    /* per node */
    bool *needed;
    int *uses;          /* by needed nodes and outputs */
    int *last_use;      /* id of the node at which the last consumer is expanded; -1: outputs only */
    int *fused;         /* JOIN: id of the aggregation it is one operator with, or -1 */
    uint32_t *later;    /* JOIN: output key dimensions that are aggregated later */
    places *want;       /* placements that consumers could use, and those the relation has of itself */
    tra_labels *labels; /* JOIN */
    tra_ways *ways;     /* JOIN */
    tra_type *partial;  /* AGG: the type of its summands */

    memo_entry *memo;
    int64_t nmemo, capmemo;

    /* the state being extended, and the beam */
    state trial;
    int captrial;
    step **chunk; /* steps, in chunks that do not move */
    int64_t nsteps, nchunks;
    state *beam, *next;
    int nbeam, nnext, capnext;
    int *nexttable;
    int captable;
    int64_t seq;
} search;

/* ---- memo.c ----------------------------------------------------------------------------------------------------- */

/* Interns a placement: axes of one site and dimensions of one value are left out. */
int place_intern(search *s, const tra_placement *p);
tra_traffic move_traffic(search *s, const tra_node *n, bool partial, int from, int to);
tra_traffic repart_traffic(search *s, const tra_node *n, int from, int to);
/* Work of a step whose tuples (of a join: pairs) are placed as p: the input of maps and aggregations, the output of
 * joins, the summands of merges. */
tra_work step_work(search *s, tra_plan_op op, const tra_node *n, int p);
/* Placement of a unary operator's result, or -1 when it cannot run on an input placed as p. */
int map_place(search *s, const tra_node *n, int p);

/* ---- prepare.c -------------------------------------------------------------------------------------------------- */

/* needed, uses, fused, later, labels, ways, want. */
void prepare(search *s);

/* ---- beam.c ----------------------------------------------------------------------------------------------------- */

/* A trial is a copy of a state that is extended by steps and then offered to the next beam. */
void trial_begin(search *s, const state *st);
const step *trial_push(search *s, tra_plan_op op, const tra_node *n, const step *l, const step *r, int place,
                       bool partial);
void trial_offer(search *s, int node, int place, const step *by); /* node is available there from now on */
void trial_traffic(search *s, tra_traffic t, tra_dtype dtype);    /* these two add to its cost */
void trial_work(search *s, tra_work w, const tra_kernel *k, tra_dtype dtype);
/* Brings node n to a placement, by the cheapest exchange if it is not there, and returns what made it. */
const step *trial_ensure(search *s, const tra_node *n, int place);
/* Ends a trial: outputs of n, what no one needs any more, and into the next beam if it is the cheapest of its kind.
 * Steps made since mark (s->nsteps before) are taken back when it is not. */
void trial_commit(search *s, const tra_node *n, int64_t mark);
/* The next beam becomes the beam, cut to its width. */
void beam_advance(search *s);

/* ---- expand.c, finish.c ----------------------------------------------------------------------------------------- */

/* Bytes are counted in 63 bits, of all copies together. */
bool countable(const search *s, const tra_type *t);
/* Runs n in every way in which the state allows it. */
void expand_node(search *s, const tra_node *n, const state *st);
/* The plan of a complete state, with exact costs; in the arena s->a. */
tra_plan *finish_plan(search *s, const state *st);

#endif
