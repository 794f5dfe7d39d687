/* boxes.h - what sites hold, in closed form: where tuples form a grid, what a site has is a few boxes of keys. Private
 * to lib/physical. */
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

#endif
