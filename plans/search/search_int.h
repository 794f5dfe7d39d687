/* search_int.h - the inside of the search, shared by its files.
 *
 * A group of the memo is made by one `implementation`: an operator, where its inputs are taken, and where the result
 * is. What consumers demand elsewhere is brought there by exchanges. So a plan is a `supply` for each group that it
 * computes: an implementation and the placements demanded of it; its cost is the sum over supplies. Groups, here, are
 * numbered by their position in tra_memo_order, inputs first.
 */
#ifndef TRA_SEARCH_INT_H
#define TRA_SEARCH_INT_H

#include "cost.h"
#include "search.h"

enum { ANY = -1 }; /* the place of an input that is yet to be chosen */

/* Cost so far: network and work of each operator, without overlap. */
typedef struct spent {
    double floats, seconds, flops, bytes;
} spent;

/* A list of numbers. */
typedef struct numbers {
    int n, cap;
    int *v;
} numbers;
void tra_add_number(numbers *x, int v);

/* Placements by number. */
typedef struct places {
    int n, cap;
    tra_placement *v;
    int *table, ntable; /* a hash table of the numbers; -1: an empty slot */
} places;

/* The ways to place a join: for each way the placements of both inputs and of the result, by number. */
typedef struct ways {
    int n;
    int (*v)[3];
} ways;

/* An operator for a group: one of its expressions, an aggregation alone or together with a join of its input. */
typedef struct variant {
    const tra_expr *x;
    const tra_expr *join; /* the join that it computes: x itself, or what x aggregates; NULL */
    int in[2];            /* groups of its inputs (of the join's, if there is one); -1: none */
    tra_type summand;     /* AGG: the type of the summands that the first of two phases leaves on each site */
    bool triangle;        /* an aggregation of a product of a relation with itself: `mirror` (plan.h) */
    tra_mirror mirror;
    uint32_t later;    /* joins: dimensions of the output key that are aggregated later */
    int64_t memory[3]; /* bytes of blocks that it needs: in one phase; in two; with the join's result stored */
} variant;

typedef struct implementation {
    const variant *f;
    int id, group;
    int inlined_by; /* if it computes the join of another group too: the implementation of that group which says so; -1
                     */
    int in[2];      /* the placements at which its inputs are taken; -1: none */
    int between; /* the placement of summands before they are completed, or of a join's result that is stored and moved
                  * before it is aggregated; -1: neither */
    int out;     /* the placement of the result; ANY: an input without a given place */
    spent cost;
    int64_t memory;
    bool inlined;      /* no operator: marks the group of a join that another group's operator computes (inlined_by) */
    uint64_t strategy; /* of a join of the program: hash of the strategy's name and the join; else 0 */
} implementation;

/* An implementation with the placements that consumers demand of the result, each brought by an exchange from another
 * one. */
typedef struct supply {
    const implementation *m; /* NULL: the empty supply, number 0 */
    const int *demand; /* n placements other than m->out, ascending; after them where each comes from (supply_from).
                        * With `extra` nobody demands the last of them: others are served from it */
    int own; /* of an input without a given place: index of the demand at which sites read it from its file (if it has
              * copies, each reads its own); -1: none */
    int16_t n;
    bool extra;
} supply;
/* For each demand the index of the demand that it is served from; -1: from m->out. */
static inline const int *supply_from(const supply *x) { return x->demand + x->n; }

/* What a set of supplies costs, and hashes of what tells it from other sets. */
typedef struct score {
    double scalar, flops, bytes;
    int64_t memory;
    uint64_t open;     /* hash of those supplies whose groups others may use too; for a single supply its hash */
    uint64_t strategy; /* hash of the strategies of its joins */
} score;

/* Where several sites want copies of an input: whether each reads its own or they are sent, as the supplies say; or, as
 * alternatives that are compared, all of them read, or all sent. */
typedef enum reading { UNDECIDED, AS_FOUND, READ, SENT } reading;

/* A set of supplies, by group: everything that a plan needs. */
typedef struct entry {
    int n;       /* groups, */
    int *supply; /* and the supply of each, by number; 0: it is not needed */
    score s;
    reading reading; /* of the plan that is made of it */
} entry;

/* A group whose relation is wanted at a placement; -1: wherever it is made. */
typedef struct root {
    int group, place;
} root;

/* The supply of a group, and of all groups that only this one needs (it dominates them), once they are chosen. A group
 * of -1, with supply 0, has what only the outputs so far need. */
typedef struct member {
    int group, supply;
    struct closed *inside; /* NULL: nothing */
} member;
/* Supplies that are chosen for good below a group: nobody else may use them, so sets of supplies share and compare them
 * as a whole. */
typedef struct closed {
    int n, nneeds;
    member *v;            /* by group */
    root *needs;          /* what they take of groups that are not among them */
    score s;              /* of all of them; open: their hash */
    struct closed *moved; /* while what no set has is forgotten: the copy that stays */
    bool live;
} closed;
/* Everything that makes a group's relation at a place: the supplies of the group, the last one, and of those below it
 * that others may use too; what only one of them needs is inside of that one. So a set is as long as what is shared at
 * that point of a program, and not as the program. */
typedef struct set {
    int n;
    member *v; /* by group */
    score s;
} set;

/* The entries of a group that also bring its relation to a placement. */
typedef struct cell {
    int place;
    int n;
    set *v;
} cell;

typedef struct group {
    int canonical; /* in the memo */
    int nvariants;
    variant *f;
    numbers demand;          /* placements that consumers could use, and those that suit the relation itself */
    numbers implementations; /* their numbers */
    numbers outputs;         /* those that write its relation to files, by their numbers in the graph */
    bool absorbed;           /* a join that only one aggregation's operators compute: it is not made by itself */
    bool shared;             /* more than one consumer, or one that takes it twice */
    int nconsumers;          /* in the program itself */
    const tra_expr *consumer;
    int last_use;         /* position of the last consumer; ngroups: an output */
    int idom;             /* in the tree of dominators: all uses pass through it */
    const tra_node *node; /* any one that computes its relation */
    int64_t move_memory;  /* bytes of blocks that an exchange needs */
    double times;         /* how often it is computed: once, or in each turn of a loop */

    tra_arena *room;   /* of what follows, which is freed after the last use; NULL: it is not there */
    size_t room_bytes; /* of it, in search_bytes */
    int nentries;
    set *entries;
    int ncells, capcells;
    cell *cells;
} group;

/* What an exchange costs, and the elements that it moves. */
typedef struct move_cost {
    double floats, bytes, seconds;
    int64_t moved;
} move_cost;

typedef struct memo_entry {
    uint64_t key;
    union {
        tra_traffic traffic;
        move_cost move;
        tra_work work;
        const tra_site_sample *sample;
        int place;
    };
} memo_entry;

typedef struct budget {
    int entries, cell; /* entries that are kept of a group, and of a cell */
    int targets;       /* placements at which completing summands is tried */
    int plans;         /* that are made */
} budget;

/* A hash table of what operators and exchanges cost, and of where results of maps are. */
typedef struct costs {
    memo_entry *v;
    int64_t n, cap;
    int64_t forgotten; /* how often all but the places of maps was forgotten */
} costs;

typedef struct implementations {
    int n, cap;
    implementation **v; /* by number; NULL: forgotten, since no supply has it any more */
} implementations;

typedef struct supplies {
    int n, cap;
    int sweep; /* as soon as there are so many, those that no entry has are forgotten */
    supply *v;
    score *score; /* of each supply alone; memory and strategy too */
    int *table, ntable;
} supplies;

/* Bytes that planning takes. */
typedef struct search_bytes {
    int64_t pending; /* of the candidates so far of the group that is being extracted */
    int64_t program; /* of the program, its types and the memo */
    size_t rooms;    /* of the groups' entries */
    int64_t most;    /* peak while entries are extracted */
    int64_t all;     /* peak while all plans are found; 0 until then */
} search_bytes;

/* What plans that are compared agree in: of an expression, what its relation takes at a place, or what it costs to
 * bring it there from another one. */
typedef struct agreed {
    int from, place; /* from -1: at the place */
    union {
        tra_op_holds holds;
        tra_cost moving;
    };
    struct agreed *next; /* of the same expression */
} agreed;

/* What the search may do, and whether that kept it from anything. */
typedef struct limits {
    budget kept;
    int64_t room;   /* bytes of blocks under the ceiling; INT64_MAX */
    bool by_memory; /* the set that takes the least memory is best, whatever it costs */
    bool bounded;   /* some combinations were not tried */
} limits;

/* The groups that a group dominates, itself included, as a range in an order of the tree of dominators. */
typedef struct dominated {
    int from, to;
} dominated;

typedef struct search {
    const tra_memo *m;
    const tra_plan_options *o;
    tra_arena *a;    /* what results refer to */
    tra_arena *work; /* freed with the search */
    tra_arena *kept; /* implementations and demands of supplies: as long as these are kept */

    places places; /* interned */

    int ngroups;
    group *group;
    dominated *dominated; /* of each group: from is its own place */
    int *at;              /* position of each canonical group, -1 */
    tra_labels **labels;  /* by expression: of joins */
    ways *ways;           /* by expression: of joins; numbers of wayplaces */
    places wayplaces;
    tra_placement **home;      /* of states, by loop and number: where they are each turn; NULL: whole on each site */
    const tra_way **fixed_way; /* by expression */
    const tra_placement **fixed_place; /* by group */
    tra_type *summands;                /* by expression: any variant's, for their catalogs */
    agreed **agreed;                   /* by expression */
    int *alike; /* by expression: the first of the same operator over inputs of the same types, which costs the same */

    costs costs;
    implementations implementations;
    supplies supplies;
    int nclosed, capclosed;
    closed **closed; /* those that sets may have, the inner ones first */
    tra_arena *closed_room;
    tra_arena *samples; /* of `costs` */
    search_bytes bytes;
    limits limits;
    tra_arena *scratch; /* of the group that is being extracted; NULL */
} search;

/* ---- place.c ----------------------------------------------------------------------------------------------------- */

/* Interns a placement: axes of one site and dimensions of one value are left out. */
int tra_place_intern(search *s, const tra_placement *p);
/* The same as it is, in any table. */
int tra_places_add(places *t, const tra_placement *p);
/* Traffic of an exchange of summands: exact floats, the rest about so; of any, exact. */
tra_traffic tra_summands_traffic(search *s, const tra_node *n, int from, int to);
tra_traffic tra_exact_traffic(search *s, const tra_node *n, bool partial, int from, int to);
tra_traffic tra_repart_traffic(search *s, const tra_node *n, int from, int to);
/* Work of a step whose tuples (of a join: pairs) are placed as p: the input of maps and aggregations, the output of
 * joins, the summands of merges. */
tra_work tra_join_work(search *s, const variant *f, int p); /* of f->join, as f makes it */
tra_work tra_step_work(search *s, tra_plan_op op, const tra_node *n, int p);
/* What reading does to the blocks of an input whose file has a matrix by columns; NULL: nothing. And its work. */
const tra_kernel *tra_reading_kernel(search *s, const tra_node *n);
tra_work tra_reading_work(search *s, const tra_node *n, int p);
/* Placement of a unary operator's result, or -1 when it cannot run on an input placed as p. */
int tra_map_place(search *s, const tra_node *n, int p);
/* What plans agree in about a node's relation: found, or new, and then *fresh is true. As long as the search. */
agreed *tra_agreed_of(search *s, const tra_node *n, int from, int place, bool *fresh);
const tra_op_holds *tra_holds_of(search *s, const tra_node *n, int place);
/* Forgets what the others found, but for the places. */
void tra_costs_forget(search *s);
void tra_add_traffic(const search *s, spent *c, tra_traffic t, const tra_type *type);
/* Adds what an exchange of the node's relation costs, about. Returns the elements that it moves. */
int64_t tra_add_move(search *s, spent *c, const tra_node *n, int from, int to);
/* k: the kernel of node n that does it; NULL: sums. */
void tra_add_work(const search *s, spent *c, tra_work w, const tra_kernel *k, const tra_node *n);
static inline double spent_scalar(const search *s, const spent *c) {
    return s->o->cost == TRA_COST_TRA ? c->floats : c->seconds;
}

/* ---- prepare.c --------------------------------------------------------------------------------------------------- */

/* Groups, variants, demands, dominators. TRA_PROGRAM when something is too large to plan. */
TRA_MUSTUSE tra_status tra_prepare(search *s, tra_err *e);
void tra_unprepare(search *s);
/* Are its bytes, in copies on all sites, few enough to be counted? */
bool tra_countable(const search *s, const tra_type *t);

/* ---- implement.c ------------------------------------------------------------------------------------------------ */

/* The operator of plans that does an operator of the language; of an aggregation the one without its join. */
tra_plan_op tra_operator_of(tra_opcode op);
/* The ways to make group g from what its inputs' groups can be made as; numbers in s->group[g].implementations. */
void tra_implement_all(search *s, int g);
/* An implementation of one variant from inputs at l and r, -1 when it cannot run so. to: place of the result if there
 * are summands. */
/* The placement of an input: ANY if it has none. */
int tra_place_of_input(search *s, const tra_node *n);
int tra_implement_one(search *s, int g, const variant *f, int l, int r, int to);
/* The same of an aggregation with its join, whose result is stored, and moved to where groups are whole. */
int tra_implement_stored(search *s, int g, const variant *f, int l, int r);
/* The direct translation: made[i] is where input i is made. -1 when it cannot run. */
int tra_implement_direct(search *s, int g, const variant *f, const int made[2]);

/* ---- supply.c ---------------------------------------------------------------------------------------------------- */

int tra_supply_of(search *s, int implementation);
int tra_supply_add_demand(search *s, int supply, int place); /* with one more demand; the same when it is there */
int tra_supply_union(search *s, int a, int b); /* the demands of both; -1 when the implementations differ */
/* Forgets supplies of which to[] is 0, and implementations that no other supply has. to[] becomes the new numbers. */
void tra_supplies_sweep(search *s, int *to);

/* May an input be read from its file by every site that demands a copy, in place of an exchange? Only `time` knows what
 * that costs, and only of files whose chunks take the disk and no work; nor where the program says where it is. */
bool tra_may_read_all(const search *s, const tra_node *n);

/* ---- homes.c ----------------------------------------------------------------------------------------------------- */

/* Where states could be from turn to turn: those of several tuples divided among the sites. NULL: there are none. */
tra_placement **tra_homes_divided(const search *s, tra_arena *a);
/* Each state where x makes its next value, if sites have that without copies; else where it is in x. NULL: so it is
 * in x, or in what was tried. */
tra_placement **tra_homes_as_made(const search *s, const entry *x, tra_placement *const *tried, tra_arena *a);
/* As n choices say; NULL: they say nothing of states, or those are whole on each site. */
tra_placement **tra_homes_chosen(const tra_memo *m, int n, const tra_choice *v, tra_arena *a);

/* ---- extract.c --------------------------------------------------------------------------------------------------- */

/* Bytes that the search holds now. */
int64_t tra_search_bytes(const search *s);

/* The cheapest sets of supplies for all outputs, of different strategies; *n of them. Everything that they do not need
 * of groups and supplies is forgotten. */
entry *tra_extract(search *s, int *n);
/* The set in which each group that is needed is made by implementation[group]. */
entry tra_assemble(search *s, const int *implementation);
/* The direct translation as implementations: of expr[canonical group], -1 or NULL: the first. False when it cannot run.
 * implementation[g] that is not -1 stays. */
bool tra_direct(search *s, const int *expr, int *implementation);

/* ---- trace.c: what is considered goes to o->trace, if that is there ------------------------------------------ */

/* A group, when its sets have been found: variants, demands, the cheapest sets. */
void tra_trace_group(const search *s, int g);
/* The cheapest of n sets for all outputs. */
void tra_trace_sets(const search *s, int n, const entry *v);
/* Plan i of n, by its exact cost. */
void tra_trace_plan(const tra_plan_options *o, int i, int n, const tra_cost *c, const char *strategy);

/* ---- finish.c ---------------------------------------------------------------------------------------------------- */

/* The plan of a set of supplies, with exact costs, and how it makes each group; in the arena. Whether copies of inputs
 * are read or sent is decided here once more, by what the whole plan takes: an exchange, and the disk, may overlap the
 * work; the entry keeps what was decided.
 */
tra_plan *tra_finish_plan(search *s, entry *x, tra_arena *a, tra_choices *choices);
/* Appends the text of that plan (tra_plan_print), for which its figures need not be worked out. */
void tra_print_plan(search *s, const entry *x, tra_str *out);

/* variants.c: adds the variants of group `at`, but those of expressions to skip. */
enum { TRA_COUNTABLE_BITS = 57 }; /* of what can be counted (tra_countable) */
TRA_MUSTUSE tra_status tra_search_add_variants(search *s, int at, const bool *skip, tra_err *e);

/* ---- extraction: extract.c, prune.c, sets.c --------------------------------------------------------------------- */

typedef struct candidate {
    score s;
    int place;
    int implementation, supply; /* of the group itself, added to `base` */
    const set *base;
    int seq, tier, rank;
    bool first, kept; /* the cheapest of its strategy; chosen */
} candidate;

typedef struct candidates {
    int n, cap;
    candidate *v;
} candidates;

/* Sorts candidates, the cheapest first, and keeps at most `most`. The first tier, which comes first, are candidates
 * that no cheaper one can replace wherever other groups use them; the second tier are the same within each strategy. */
void tra_search_prune(search *s, candidates *x, int most);

/* ---- sets.c ------------------------------------------------------------------------------------------------------ */

/* Where sets are combined: for a group g; or, with g < 0, for the outputs up to number `root`. last_root: of each group
 * the last output that needs it. */
typedef struct scope {
    int g, root;
    const int *last_root;
} scope;

/* May others use the group too: not only what the scope is about? */
bool tra_is_open(const search *s, scope at, int group);
/* Adds what a supply costs. */
void tra_count_supply(const search *s, int supply, bool open, score *t);
score tra_set_score(const search *s, const set *x, scope at);
/* The supply of a group in a set; 0: the group is no member. */
int tra_set_supply(const set *x, int group);
/* The union of two sets, in out (room for both); false when they have different implementations of a group. */
bool tra_sets_unite(search *s, const set *a, const set *b, scope at, set *out);
/* The union of two sets that have different implementations of a group: the first one's is taken. */
void tra_sets_reconcile(search *s, const set *a, const set *b, int nroots, const root *roots, scope at, set *out);
/* Sorts roots, each of which stays once. Returns how many there are. */
int tra_roots_once(int n, root *v);
/* Takes the members that nobody outside of the scope may use out of v[*n]; NULL: there are none. The same as what was
 * closed since number `from`, if it is equal. */
closed *tra_close_members(search *s, scope at, int from, int *n, member *v);
/* The set by group: out[s->ngroups]. */
void tra_set_spread(const search *s, const set *x, int *out);

#endif
