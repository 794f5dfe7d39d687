/* overlap.h - which exchanges overlap stages. Private to lib/physical.
 *
 * An exchange by itself is a stage. Where there is memory for what is on its way, it begins with the stage that makes
 * what it sends, and sends each tuple when it is made; and it ends with the stage that reads what it brings, which
 * reads each tuple when it has come. So the network and the workers are busy at the same time.
 */
#ifndef TRA_OVERLAP_H
#define TRA_OVERLAP_H

#include "plan.h"

/* Makes every exchange a stage by itself. */
void tra_overlap_none(tra_plan *p);
/* Lets every exchange overlap the stages around it, as far as the plan allows: sets begins, ends and window of the
 * exchanges, and what the stages that they overlap reserve. held: bytes of each operator's result on the fullest site.
 * Returns the bytes of memory that overlapping adds. */
int64_t tra_overlap_all(tra_plan *p, const int64_t *held);
/* The same where not everything fits in `budget` bytes of blocks: an exchange overlaps only stages that still have
 * their least memory then, and only if the bytes that they read again, having less memory, are fewer than the bytes
 * that it sends meanwhile. */
int64_t tra_overlap_some(tra_plan *p, const int64_t *held, int threads, int64_t budget);

#endif
