/* overlap.h - which exchanges overlap stages. Private to lib/physical; what was decided stands in the orders of each
 * exchange (ends, window) and of the stages that it overlaps (reserved).
 *
 * An exchange begins when what it sends is whole. Where there is memory for what is on its way, it goes on while the
 * next stage runs, which reads each tuple when it has come: so the network and the workers are busy at the same time.
 * Otherwise it is a stage by itself.
 */
#ifndef TRA_OVERLAP_H
#define TRA_OVERLAP_H

#include "plan.h"

/* Makes every exchange a stage by itself. */
void tra_overlap_none(tra_plan *p);
/* Decides which exchanges overlap stages: all that may, if everything fits below the ceiling then. Otherwise, within
 * `budget` bytes of blocks, those that leave the stages their least memory, if the bytes that the stages read again,
 * having less memory, are fewer than the bytes that are sent meanwhile; p->rereads tells which. held: bytes of each
 * operator's result on the fullest site; peak: what a site needs without overlap. Returns the bytes of memory that
 * overlap adds. */
int64_t tra_overlap_choose(tra_plan *p, const int64_t *held, int threads, int64_t peak, int64_t budget);

#endif
