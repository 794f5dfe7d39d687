/* eindecomp.h - how to cut the labels of EinSum statements for p processors.
 *
 * Source: Bourgeois et al., EinDecomp (PVLDB 18(7), 2025). An EinGraph has a vertex for each EinSum statement. A
 * partition vector d of a vertex says in how many parts each of its labels is cut; the product of these numbers is the
 * number of kernel calls that compute the vertex. A labelling has a vector for each vertex. The paper chooses it by a
 * dynamic program on trees and by linearisation on other graphs; exact.c finds an optimum where that is affordable.
 *
 * The paper's costs are upper bounds of the floats that kernel calls need. A part of a relation has as many floats as
 * the largest of its parts.
 *   join           calls x (floats of a part, added up over the references)
 *   aggregation    calls / n x (n - 1) x (floats of a part of the result); n: product of d over the summed labels
 *   repartition    (nc / ni - 1) x (f / nc) x (nc + np), and np x f / nc if np is not ni; f: floats of the relation,
 *                  np: of a part as it is made, nc: of a part as it is needed, ni: of what two such parts share
 * An input of the program costs no repartition.
 *
 * Operators that are no EinSum statement are vertices too. Their labels are the key dimensions of their input, and of
 * a join those of its result. A join whose only consumer is an aggregation is one vertex with it. `repart` is no
 * vertex, since the tensor stays the same. A dimension of a result is never cut where `rekey` computes it or `tile`
 * makes it.
 */
#ifndef TRA_EINDECOMP_H
#define TRA_EINDECOMP_H

#include "../ia/ia.h"

/* ---- the graph ---------------------------------------------------------------------------------------------- */

/* A relation that vertices read or make. If it is a tensor in blocks, its dimensions here are those of the tensor;
 * otherwise they are its key dimensions. The extent of a key dimension is that of the array dimension that it cuts by
 * itself, or, if there is none, the number of its values. */
typedef struct tra_ein_rel {
    const tra_node *node; /* NULL inside softmax */
    const char *name;
    int vertex; /* the vertex that makes it; -1: an input of the program */
    int n;      /* dimensions */
    int64_t ext[TRA_MAXDIM];
    /* Floats for each element of the box `ext`: 1 for a dense tensor. Of a sparse one the paper counts elements; here
     * its entries count, as if they were spread evenly. */
    double weight;
} tra_ein_rel;

/* A relation as a vertex reads or makes it. */
typedef struct tra_ein_ref {
    int rel;               /* its number in the graph */
    int label[TRA_MAXDIM]; /* the label of each dimension; -1: the dimension is never cut */
} tra_ein_ref;

typedef struct tra_vertex {
    const tra_node *node; /* the node whose result it makes; all four vertices of a softmax have the softmax */
    int nlabels;
    const char **label_name;
    int64_t *max_parts; /* the most parts of each label: no more than any relation with it has elements */
    int64_t *blocks;    /* the most parts of each label that each have whole blocks; at most max_parts */
    bool *summed;       /* labels that the result does not have, and over which it is aggregated */
    int nrefs;
    tra_ein_ref *ref; /* the operands, each as often as the statement names it */
    tra_ein_ref out;
} tra_vertex;

typedef struct tra_eingraph {
    tra_arena *arena;
    int nrels, nvertices;
    tra_ein_rel *rel;
    tra_vertex *v;  /* producers come before consumers; what no output needs is left out */
    int *consumers; /* for each vertex: how many vertices read its result */
    int *rel_of;    /* for each node of the tra_graph: its relation; -1: it is inside a vertex, or no output needs it */
    int *vertex_of; /* for each node: the vertex that it helps to compute (of a softmax the last one), or -1 */
} tra_eingraph;

/* The dimensions and weight of a relation of this type; no vertex makes it. */
tra_ein_rel tra_ein_rel_of(const tra_type *t);
tra_eingraph *tra_eingraph_build(const tra_graph *g, tra_arena *a);
/* Appends what vertex v makes and reads, "C[i,k] = A[i,j] B[j,k]". The unnamed result of vertex 3 is "(3)". */
void tra_vertex_print(const tra_eingraph *g, int v, tra_str *out);

/* ---- costs -------------------------------------------------------------------------------------------------- */

/* The costs of the paper, in floats. d[l]: in how many parts label l of the vertex is cut. */
double tra_ein_join_cost(const tra_eingraph *g, const tra_vertex *v, const int *d);
double tra_ein_agg_cost(const tra_eingraph *g, const tra_vertex *v, const int *d);
/* from, to: the parts of each dimension of the relation as it is made and as it is needed. */
double tra_ein_repart_cost(const tra_ein_rel *r, const int *from, const int *to);
/* The repartition that reference `ref` of vertex v takes, where each vertex u has the vector d[u]; 0 for an input. */
double tra_ein_edge_cost(const tra_eingraph *g, int **d, int v, int ref);
/* The kernel calls of a vertex: the product of its vector. */
int64_t tra_ein_kernel_calls(const tra_vertex *v, const int *d);
/* Sets parts[k] to the number of parts of dimension k of a reference. */
void tra_ein_parts(const tra_eingraph *g, const tra_ein_ref *r, const int *d, int *parts);

/* What a plan costs by this model, whichever optimizer found it: operators are the vertices, their placements the
 * vectors, and each site makes one kernel call. */
double tra_ein_plan_cost(const tra_plan *p);

/* ---- partition vectors -------------------------------------------------------------------------------------- */

/* The number of kernel calls that vectors should have: p, or, unless any factors are allowed, p rounded up to a power
 * of two. */
int tra_ein_processors(int p, bool any_factors);

/* The viable vectors of a vertex: their product is tra_ein_processors(p, any_factors), no label is cut in more than its
 * max_parts, and, unless any factors are allowed, all numbers are powers of two. If there is no such vector, the
 * product is the largest smaller one that some vector has.
 *
 * Vectors that cut across few blocks come first; among equal ones those that cut the first labels most. If there are
 * more than TRA_EIN_MAXVECTORS, those that cut the first labels most are kept, and cut_off is set. */
enum { TRA_EIN_MAXVECTORS = 20000 };
typedef struct tra_vectors {
    int n, nlabels;
    int naligned;    /* the first naligned vectors cut no label more often than it has blocks */
    int64_t product; /* kernel calls of each vector */
    bool cut_off;
    int *v; /* n rows of nlabels numbers, in the arena */
} tra_vectors;
tra_vectors tra_ein_vectors(const tra_vertex *v, int p, bool any_factors, tra_arena *a);

/* ---- labellings --------------------------------------------------------------------------------------------- */

typedef struct tra_labelling {
    const char *how;          /* how it was found: tree, linearised, refined, exact, moved, sqrt, data */
    int p;                    /* kernel calls that each vertex should have */
    int **d;                  /* the vector of each vertex */
    double join, agg, repart; /* the paper's costs of the whole graph */
    double cost;              /* their sum */
    int below_p;              /* vertices with less than p kernel calls */
    bool cut_off;             /* some vertex had more vectors than were tried */
} tra_labelling;

/* The costs by which vectors are chosen.
 *
 * TRA_EIN_PAPER: those of the paper. Each kernel call is charged for all that it reads, and a repartition on top.
 *
 * TRA_EIN_MOVED: the floats that move between sites, so those of a part that its site does not have yet. An input is
 * placed as one of its readers needs it. Summands of an aggregation are on all sites, and their sums are placed as the
 * next reader needs them; each summand costs TRA_EIN_ADDITION more, since it must be added. Where some vectors of a
 * vertex follow its blocks, only these are considered. */
#define TRA_EIN_ADDITION 0.0625
typedef enum tra_ein_costs { TRA_EIN_PAPER, TRA_EIN_MOVED } tra_ein_costs;

/* The labelling of the paper: by a dynamic program if no vertex has several consumers, otherwise by linearisation.
 * *refined (unless refined is NULL) gets a better labelling that refine.c finds from a linearisation, or NULL if it
 * finds none. */
tra_labelling *tra_ein_label(const tra_eingraph *g, tra_ein_costs costs, int p, bool any_factors, tra_arena *a,
                             tra_labelling **refined);
/* An optimal labelling. NULL if the graph has more than TRA_EIN_MAXVERTICES vertices, or if the elimination (exact.c)
 * would take more than TRA_EIN_MAXSTEPS steps or a table of more than TRA_EIN_MAXTABLE numbers. */
enum { TRA_EIN_MAXSTEPS = 100 << 20, TRA_EIN_MAXTABLE = 4 << 20, TRA_EIN_MAXVERTICES = 5000 };
tra_labelling *tra_ein_exact(const tra_eingraph *g, tra_ein_costs costs, int p, bool any_factors, tra_arena *a);
/* The rule `sqrt`, p being rounded up to a power of two: the first two labels of the result are cut in sqrt(p) parts
 * each; where that is no whole number, the first gets twice as many as the second. What a label cannot take goes to
 * the next one, in the end to the summed labels. */
tra_labelling *tra_ein_sqrt(const tra_eingraph *g, int p, tra_arena *a);
/* The rule `data` (data parallelism), p being rounded up to a power of two: the first label of the first reference is
 * cut in p parts. What it cannot take goes to the next label. */
tra_labelling *tra_ein_data(const tra_eingraph *g, int p, tra_arena *a);

/* ---- placements --------------------------------------------------------------------------------------------- */

/* What a labelling asks of a plan for each node of the tra_graph: the placements of a join, or where another operator
 * puts its result; NULL: nothing. Everything is in the arena. A vector with as many parts as there are sites that
 * follows the blocks is the grid of sites; otherwise the nearest grid is taken (place.c says which). The search chooses
 * exchanges and where sums are completed. */
typedef struct tra_ein_places {
    const tra_way **way;
    const tra_placement **place;
} tra_ein_places;
void tra_ein_place(const tra_eingraph *g, const tra_graph *t, const tra_labelling *l, int sites, tra_arena *a,
                   tra_ein_places *out);

#endif
