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

/* Can what each site holds be said by at most TRA_MAXBOXES boxes? */
bool tra_boxes_fit(const tra_placement *p, const tra_catalog *c);
/* The boxes of keys of which a site has tuples, copies or summands. */
void tra_boxes_of(const tra_placement *p, const tra_catalog *c, int site, tra_boxes *out);
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
/* Elements that are on the i-th site of both samples. */
int64_t tra_sample_common(const tra_catalog *c, const tra_site_sample *a, const tra_site_sample *b, int i);

#endif
