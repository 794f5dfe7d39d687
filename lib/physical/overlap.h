/* overlap.h - which exchanges overlap stages. Private to lib/run.
 *
 * An exchange by itself is a stage. Where there is memory for what is on its way, it begins with the stage that makes
 * what it sends, each tuple being sent when it is made, and ends with the stage that reads what it brings, which reads
 * each tuple when it has come. So the wire is busy while the workers are.
 */
#ifndef TRA_OVERLAP_H
#define TRA_OVERLAP_H

#include "plan.h"

/* Every exchange by itself. */
void tra_overlap_none(tra_plan *p);
/* Sets begins, ends and window of exchanges, and the reserve of each stage that an exchange overlaps.
 * held: bytes of each operator's result on the fullest site, read from its file or not. budget: for blocks. Returns the
 * bytes that overlapping adds where all blocks stay in memory. */
int64_t tra_overlap_all(tra_plan *p, const int64_t *held);
/* The same where some blocks are evicted: an exchange overlaps only stages that then still have their least memory, and
 * only if the bytes that these read again, having less memory, are fewer than the bytes that it hides. */
int64_t tra_overlap_some(tra_plan *p, const int64_t *held, int threads, int64_t budget);

#endif
