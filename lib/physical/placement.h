/* placement.h - where the tuples of a relation are.
 *
 * The s sites form a grid of axes (site number = row-major coordinate). Along each axis a relation is
 *   PART     partitioned by the key dimensions dim[0..n): with t the row-major index of the tuple's values on them in
 *            the box ext, coordinate floor(t * sites / product(ext)) (values beyond ext count as the last),
 *   COPY     replicated, or
 *   PARTIAL  each coordinate holds a summand of the tuple, which one aggregation over the coordinates completes.
 * So `all` is one COPY axis, `part(D)` one PART axis, `partial(op)` one PARTIAL axis, and a grid gi x gk x gj for a
 * matmul is three (algebra.md section 3). What cannot be said so (a rekey that scrambles) has `owner`: the site of
 * every tuple by ordinal, and no axes.
 *
 * ext usually is the frontier; it stays what it was when a filter shortens the frontier, since tuples do not move.
 */
#ifndef TRA_PLACEMENT_H
#define TRA_PLACEMENT_H

#include "../model/relation.h"

enum { TRA_MAXAXES = 6 };
typedef enum tra_axis_kind { TRA_AXIS_PART, TRA_AXIS_COPY, TRA_AXIS_PARTIAL } tra_axis_kind;

typedef struct tra_axis {
    tra_axis_kind kind;
    int sites;
    int n; /* PART: number of key dimensions */
    int8_t dim[TRA_MAXAXISDIMS];
    int64_t ext[TRA_MAXAXISDIMS];
} tra_axis;

typedef struct tra_placement {
    int sites; /* product of the axes */
    int naxes;
    tra_axis axis[TRA_MAXAXES];
    const int32_t *owner; /* by ordinal, or NULL; lives as long as the plan */
} tra_placement;

tra_placement tra_place_all(int sites);
/* part(D): dims is the list D (at most TRA_MAXAXISDIMS), extents from the catalog's frontier. */
tra_placement tra_place_part(int sites, const tra_catalog *c, int n, const int8_t *dims);
bool tra_place_eq(const tra_placement *a, const tra_placement *b);
/* Does every site have every tuple, complete? */
bool tra_place_is_all(const tra_placement *p);
bool tra_place_is_partial(const tra_placement *p);
int tra_place_copies(const tra_placement *p);   /* product of the COPY axes */
int tra_place_summands(const tra_placement *p); /* product of the PARTIAL axes */

/* Does site hold the tuple (a copy or a summand of it)? */
bool tra_place_holds(const tra_placement *p, const tra_catalog *c, int64_t ordinal, const tra_dims *key, int site);
/* The summand that a site holds: 0..summands-1, the row-major coordinate over the PARTIAL axes. */
int tra_place_summand(const tra_placement *p, int site);
/* The sites that hold the tuple, ascending, into sites[] (room for p->sites); returns how many. */
int tra_place_holders(const tra_placement *p, const tra_catalog *c, int64_t ordinal, const tra_dims *key, int *sites);

/* What moves when a relation goes from placement p to q: for each tuple, summand and destination that does not have it,
 * one holder sends it. Which holder follows from the tuple and the destination alone (holders[dest mod their number]),
 * so that senders, receivers and the cost model agree. */
typedef struct tra_move {
    int64_t ordinal;
    int summand; /* 0 unless p is partial */
    int from, to;
    bool local; /* to == from: nothing goes over the wire */
} tra_move;
/* The moves of one tuple, at most p->sites * q->sites; returns the number. */
int tra_place_moves(const tra_placement *p, const tra_placement *q, const tra_catalog *c, int64_t ordinal,
                    tra_move *moves);
/* Walks over classes of alike tuples instead of single ones. In a grid tuples are alike if p (and q, unless NULL) has
 * them on the same sites, and their extents are equal; in a list, or with an owner for each tuple, every tuple is a
 * class by itself. next gives a representative and the number of tuples of the class, in the order of keys; false at
 * the end.
 */
typedef struct tra_classes {
    const tra_catalog *c; /* this and what follows is private */
    bool each, done;
    int64_t at;
    int64_t *start[TRA_MAXDIM]; /* segments of each dimension: start[i] <= value < start[i+1] */
    tra_dims n, cur;            /* segments, current choice */
} tra_classes;
void tra_classes_begin(tra_classes *x, const tra_catalog *c, const tra_placement *p, const tra_placement *q);
bool tra_classes_next(tra_classes *x, int64_t *ordinal, tra_dims *key, int64_t *alike);
/* How many values of key dimension d are in the same segment as this one, itself included. */
int64_t tra_classes_width(const tra_classes *x, int d, int64_t value);
void tra_classes_end(tra_classes *x);

struct tra_site_sample;
/* Elements that cross between sites; *max_in (may be NULL): the most that one site receives, *max_out sends. */
int64_t tra_place_moved_floats(const tra_placement *p, const tra_placement *q, const tra_catalog *c, int64_t *max_in,
                               int64_t *max_out);
/* The same as an estimate, and in *most about the most that one site sends or receives: from a sample of sites or
 * tuples where there are many. 0 exactly when nothing moves. at_p, at_q: what is known of some sites (boxes.h), or
 * NULL. */
int64_t tra_place_moved_about(const tra_placement *p, const tra_placement *q, const tra_catalog *c,
                              const struct tra_site_sample *at_p, const struct tra_site_sample *at_q, int64_t *most);
/* Sites that hold as many tuples each, of as many elements. */
typedef struct tra_site_kind {
    int64_t sites, tuples, floats;
} tra_site_kind;
/* The kinds of sites under p. Allocates *v; returns how many. */
int tra_place_kinds(const tra_placement *p, const tra_catalog *c, tra_site_kind **v);
/* The most elements that a site holds. */
int64_t tra_place_most_floats(const tra_placement *p, const tra_catalog *c);

/* "all", "part(0,2)", "partial", "grid(0:2,*:5)", "owned"; partial axes print as +:g. Into buf, returned. */
char *tra_place_text(const tra_placement *p, char *buf, size_t n);

#endif
