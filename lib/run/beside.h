/* beside.h - which exchanges go on beside the stages. Private to lib/run.
 *
 * An exchange by itself is a stage. Where there is memory for what is on its way, it begins with the stage that makes
 * what it sends, each tuple being sent when it is made, and ends with the stage that reads what it brings, which reads
 * each tuple when it has come. So the wire is busy while the workers are.
 */
#ifndef TRA_BESIDE_H
#define TRA_BESIDE_H

#include "plan.h"

/* Every exchange by itself. */
void tra_beside_none(tra_plan *p);
/* Sets begins, ends and window of exchanges, and of the stages beside which they go on what these leave aside for them.
 * held: bytes of each operator's result on the fullest site, read from its file or not. budget: for blocks. Returns the
 * bytes that this takes where everything stays in memory, besides what the plan takes without. */
int64_t tra_beside_all(tra_plan *p, const int64_t *held);
/* The same where not everything can stay: only what least memory leaves room for, and only where it costs no more than
 * it hides: stages read what does not stay again the more often, the less they have. */
int64_t tra_beside_some(tra_plan *p, const int64_t *held, int threads, int64_t budget);

#endif
