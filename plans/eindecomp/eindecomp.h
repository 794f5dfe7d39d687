/* eindecomp.h - how to cut the labels of EinSum statements for p processors.
 *
 * Source: Bourgeois et al., EinDecomp (PVLDB 18(7), 2025): an EinGraph has a vertex for each EinSum statement; a
 * partition vector says in how many parts each label of a vertex is cut, and so in how many kernel calls it is
 * computed; costs are upper bounds of the floats that these need (algebra.md section 5). Vectors are chosen by a
 * dynamic program on trees, by linearisation on other graphs, and exactly where that is affordable.
 *
 * Operators that are no EinSum statement are vertices too: their labels are key dimensions (of a join those of its
 * result), a join whose only consumer is an aggregation is one vertex with it, `repart` is none (the tensor stays the
 * same), and a dimension that is computed (of rekey) or made (by tile) counts as whole.
 */
#ifndef TRA_EINDECOMP_H
#define TRA_EINDECOMP_H

#include "../ia/ia.h"

/* ---- the graph ---------------------------------------------------------------------------------------------- */

/* A relation that vertices read or make. Its dimensions are those of a tensor in blocks, else the key dimensions: then
 * the extent is that of the array dimension that the key alone cuts, or the number of its values. */
typedef struct tra_ein_rel {
    const tra_node *node; /* NULL inside softmax */
    const char *name;
    int vertex; /* that makes it; -1: an input, which has every partitioning for free */
    int n;
    int64_t ext[TRA_MAXDIM];
    double weight; /* floats of one element of ext: 1 if the dimensions are those of the tensor. Of sparse relations the
                      entries count, spread evenly, where the paper counts floats */
} tra_ein_rel;

typedef struct tra_ein_ref {
    int rel;
    int label[TRA_MAXDIM]; /* of each dimension; -1: never cut */
} tra_ein_ref;

typedef struct tra_vertex {
    const tra_node *node; /* whose result it makes; of the four vertices of a softmax, the softmax */
    int nlabels;
    const char **name; /* of labels */
    int64_t *most;     /* in how many parts each label can be cut */
    int64_t *blocks;   /* parts that follow the blocks of the relations; not more than most */
    bool *summed;      /* labels that are aggregated */
    int nrefs;
    tra_ein_ref *ref; /* the operands, as often as the statement names them */
    tra_ein_ref out;
} tra_vertex;

typedef struct tra_eingraph {
    tra_arena *arena;
    int nrels, nvertices;
    tra_ein_rel *rel;
    tra_vertex *v;  /* inputs come before; what no output needs is left out */
    int *consumers; /* of each vertex: how many vertices read its result */
    int *rel_of;    /* of each node of the tra_graph: its relation, or -1 (inside a vertex, or not needed) */
    int *vertex_of; /* of each node: the vertex that it helps to compute (of softmax the last), or -1 */
} tra_eingraph;

/* A relation with the dimensions and weight of a type, which no vertex makes. */
tra_ein_rel tra_ein_rel_of(const tra_type *t);
tra_eingraph *tra_eingraph_build(const tra_graph *g, tra_arena *a);
/* "C[i,k] = A[i,j] B[j,k]": what a vertex reads and makes, for people. A result without a name is (3), of vertex 3. */
void tra_vertex_print(const tra_eingraph *g, int v, tra_str *out);

/* ---- costs -------------------------------------------------------------------------------------------------- */

/* Costs of a vertex in floats, where label l is cut in d[l] parts. */
double tra_ein_join_cost(const tra_eingraph *g, const tra_vertex *v, const int *d);
double tra_ein_agg_cost(const tra_eingraph *g, const tra_vertex *v, const int *d);
/* Cost of a repartition; from, to: parts of each dimension of the relation. */
double tra_ein_repart_cost(const tra_ein_rel *r, const int *from, const int *to);
/* Cost, in a graph whose vertices have the vectors d, of bringing reference `ref` of vertex v into place. */
double tra_ein_edge_cost(const tra_eingraph *g, int **d, int v, int ref);
int64_t tra_ein_calls(const tra_vertex *v, const int *d);
/* Sets parts[k] to the number of parts of dimension k of a reference. */
void tra_ein_parts(const tra_eingraph *g, const tra_ein_ref *r, const int *d, int *parts);

/* What a plan costs by this model, however it was found: its operators are the vertices, their placements the vectors,
 * and each site makes one kernel call. */
double tra_ein_plan_cost(const tra_plan *p);

/* ---- partition vectors -------------------------------------------------------------------------------------- */

/* The viable vectors of a vertex: those whose numbers are powers of two with the product p rounded up (`any`: any
 * factors of p), none above what its label can be cut in. If there are none, those of the largest smaller product.
 * Vectors that follow the blocks best come first, and among equal ones those that cut the first labels most. Where
 * there are more than TRA_EIN_MAXVECTORS those that cut the first labels most are kept, and cut_off is set. v has n
 * times nlabels numbers, in the arena. */
enum { TRA_EIN_MAXVECTORS = 20000 };
typedef struct tra_vectors {
    int n, nlabels;
    int nwhole;      /* the first so many cut no label more often than it has blocks */
    int64_t product; /* kernel calls */
    bool cut_off;
    int *v;
} tra_vectors;
tra_vectors tra_ein_vectors(const tra_vertex *v, int p, bool any, tra_arena *a);
int tra_ein_processors(int p, bool any); /* p, or the next power of two */

/* ---- labellings --------------------------------------------------------------------------------------------- */

typedef struct tra_labelling {
    const char *how;          /* tree, linearised, refined, exact, moved, sqrt, data */
    int p;                    /* kernel calls that each vertex should have */
    int **d;                  /* of each vertex */
    double join, agg, repart; /* of the whole graph */
    double cost;              /* their sum */
    int fewer;                /* vertices with less than p kernel calls */
    bool cut_off;             /* of some vertex not all vectors were tried */
} tra_labelling;

/* The costs by which vectors are chosen. TRA_EIN_PAPER: those of the paper, which charge each kernel call for all that
 * it reads, and a repartition on top. TRA_EIN_MOVED: the floats that move between sites, which are those of a part
 * that are not on the site that uses it. Under these costs an input lies as one of its readers needs it, and the sums
 * of an aggregation, which are spread over all sites, as their next reader needs them; a summand costs a little more
 * (TRA_EIN_ADDING), since it must be added; and only vectors that follow the blocks are considered, if there are any.
 */
#define TRA_EIN_ADDING 0.0625
typedef enum tra_ein_costs { TRA_EIN_PAPER, TRA_EIN_MOVED } tra_ein_costs;

/* The labelling of the paper: dynamic program if each vertex has one consumer, else linearisation. refined (may be
 * NULL) gets a better one than the latter that is not far from it, or NULL if there is none. */
tra_labelling *tra_ein_label(const tra_eingraph *g, tra_ein_costs costs, int p, bool any, tra_arena *a,
                             tra_labelling **refined);
/* An optimal one by elimination of vertices, or NULL where that would take more than TRA_EIN_STEPS, a table of more
 * than TRA_EIN_TABLE numbers, or the graph has more than TRA_EIN_EXACT vertices. */
enum { TRA_EIN_STEPS = 100 << 20, TRA_EIN_TABLE = 4 << 20, TRA_EIN_EXACT = 5000 };
tra_labelling *tra_ein_exact(const tra_eingraph *g, tra_ein_costs costs, int p, bool any, tra_arena *a);
/* The rule `sqrt`: every matrix is cut in sqrt(p) x sqrt(p) parts, p being a power of two (for 2^(2m+1) in 2^(m+1) x
 * 2^m). The first two labels of the result are cut, then those that are summed; what a label cannot take goes to the
 * next. */
tra_labelling *tra_ein_sqrt(const tra_eingraph *g, int p, tra_arena *a);
/* The rule `data`, data parallelism: the first label of the first reference is cut p ways; what it cannot take goes to
 * the next label. */
tra_labelling *tra_ein_data(const tra_eingraph *g, int p, tra_arena *a);

/* ---- placements --------------------------------------------------------------------------------------------- */

/* What a labelling asks of the plan, by node of the graph: where a join takes its inputs, where another operator leaves
 * its result; NULL: nothing. A vector of as many parts as there are sites, none of which cuts a block, is the grid of
 * sites; others become the nearest one (place.c). Exchanges and the completion of sums are left to the search. */
typedef struct tra_ein_places {
    const tra_way **way;
    const tra_placement **place;
} tra_ein_places;
void tra_ein_place(const tra_eingraph *g, const tra_graph *t, const tra_labelling *l, int sites, tra_arena *a,
                   tra_ein_places *out);

#endif
