/* scan.h - stages that read an input in one pass: who shares a scan.
 *
 * A program that wants several results of a large input (X'X and X'y, a maximum and a mean) has a stage for each. Those
 * that can take the input block by block, in one order, run together: each block is read once, goes to all of them
 * while it is in memory, and leaves. So more memory is no reason to keep the input, and what does not fit is read once.
 * A stage may also want what others of the scan have made of the same block: of a logistic step X w, then X'(p - y).
 * Stages of a turn of a loop so read what was computed before the loop, too: what does not stay in memory comes from
 * scratch in each turn.
 */
#ifndef TRA_SCAN_H
#define TRA_SCAN_H

#include "plan.h"

/* Sets method.scan of all operators. budget: bytes for blocks, of which the stages of a scan must have enough for one
 * pass each. What overlaps with stages is not known yet, and may not overlap with a scan of several (overlap.c). */
void tra_scan_choose(tra_plan *p, int threads, int64_t budget);

/* Is the input `side` of the stage the one that its scan reads? */
bool tra_scan_reads(const tra_plan *p, const tra_op *op, int side);
/* How many blocks of the input one stage of a scan may be ahead of another. */
static inline int tra_scan_lead(int threads) { return 2 * threads + 2; }
/* Is everything that reads the input in one scan, so that its blocks need not stay? */
bool tra_scan_is_whole(const tra_plan *p, int input);

/* For each operator the stage in which its time is spent: itself; of a fused operator the stage that reads it; of one
 * of a scan the first; of an output, the stage that makes the results which it writes. The caller frees it. */
int *tra_plan_runs_in(const tra_plan *p);

#endif
