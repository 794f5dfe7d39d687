/* boxes.h - what sites hold, in closed form: where tuples form a grid, what a site has is a few boxes of keys. For
 * lib/physical and the costs of plans/search. */
#ifndef TRA_BOXES_H
#define TRA_BOXES_H

#include "placement.h"

typedef struct tra_box {
    int64_t lo[TRA_MAXDIM], hi[TRA_MAXDIM]; /* values lo <= v < hi of each key dimension */
} tra_box;

enum { TRA_MAXBOXES = 16 };
typedef struct tra_boxes {
    int n;
    tra_box v[TRA_MAXBOXES]; /* disjoint */
} tra_boxes;

/* What a digit of a site's number says: which of `sites` parts of a dimension's values the site has. */
typedef struct tra_digit {
    int dim; /* -1: of one value, so that only the first of these sites have anything */
    int64_t ext, sites;
    int64_t below; /* the digit is site / below % sites */
} tra_digit;

/* A placement of a grid, by digits of the sites' numbers. An axis over several dimensions is a part of each, unless
 * values of an outer one are divided in the middle of an inner one: then it is `uneven`, and a site's share of it may
 * take several boxes. A dimension that no axis divides is a part for one site. */
typedef struct tra_digits {
    const tra_placement *place;
    const tra_catalog *c;
    bool independent; /* no dimension is divided twice */
    int n;
    tra_digit v[TRA_MAXAXES * (TRA_MAXAXISDIMS + 1) + TRA_MAXDIM];
    int nuneven, uneven[TRA_MAXAXES];
} tra_digits;
/* False: what each site holds cannot be said by at most TRA_MAXBOXES boxes. */
bool tra_digits_of(const tra_placement *p, const tra_catalog *c, tra_digits *out);
/* The values lo <= v < hi of the part's dimension that sites with this digit have. */
void tra_digit_range(const tra_digit *x, const tra_catalog *c, int64_t digit, int64_t *lo, int64_t *hi);
/* The boxes of keys of which a site has tuples, copies or summands. */
void tra_boxes_of(const tra_digits *p, int site, tra_boxes *out);
/* The elements of a box's arrays are the product of these over the key dimensions (-1: hi - lo), and of those besides,
 * along dimensions that no key divides. */
int64_t tra_boxes_floats_along(const tra_catalog *c, int dim, int64_t lo, int64_t hi);
int64_t tra_boxes_floats_besides(const tra_catalog *c);
/* How many tuples have their keys in the boxes. */
int64_t tra_boxes_tuples(const tra_catalog *c, const tra_boxes *b);
int64_t tra_boxes_floats(const tra_catalog *c, const tra_boxes *b);                     /* elements of their arrays */
int64_t tra_boxes_common(const tra_catalog *c, const tra_boxes *a, const tra_boxes *b); /* elements in both */

/* What some of the sites hold, kept for many exchanges from and to a placement. */
enum { TRA_SAMPLED = 16 };
typedef struct tra_site_sample {
    int first[TRA_SAMPLED + 1]; /* of each of these sites its boxes are first[i] <= j < first[i + 1] */
    int64_t floats[TRA_SAMPLED];
    int64_t *v; /* of each box lo and hi of each key dimension */
} tra_site_sample;
/* NULL: the placement has not more sites than that, or they do not hold boxes. */
const tra_site_sample *tra_boxes_sample(const tra_placement *p, const tra_catalog *c, tra_arena *a);
/* Elements that are on each site of both samples. */
void tra_sample_common(const tra_catalog *c, const tra_site_sample *a, const tra_site_sample *b, int64_t *common);

#endif
