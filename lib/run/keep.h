/* keep.h - results of operators that no output takes: saved when much work would be lost, taken over by another run.
 *
 * Outputs are recorded block by block as they are written (output.h). Results that are held are saved by time: once
 * `seconds` of work have passed since all that was needed was safe, results are written to the scratch directory as
 * they are made, and at the end of that stage also those that were made before and are still needed. Then what only
 * these were made of is removed. So saving costs a few per cent at most, and a run that is gone on with has the seconds
 * before its end to do again, and a group of the blocks that a join was about to finish. Exchanges are done again from
 * what is saved of their inputs, unless all of their results are there.
 */
#ifndef TRA_KEEP_H
#define TRA_KEEP_H

#include "stages.h"

enum { TRA_KEEP_SECONDS = 5 };

/* journal NULL gives NULL, with which every function below does nothing. limit: bytes that this site may save; 0:
 * none. */
tra_keep *tra_keep_new(tra_site *site, tra_journal *journal, double seconds, int64_t limit);
void tra_keep_free(tra_keep *k);

/* Is the result that of an operator that computes, or what an exchange made of one? That of a file is read again
 * instead. */
bool tra_keep_saves(const tra_plan *p, int op);
/* The result of op that an earlier run saved, as far as it is whole, put into part's empty slots. Collective.
 * *complete: all of it, on all ranks. as_a_whole: nothing less is of use. */
TRA_MUSTUSE tra_status tra_keep_take_over(tra_keep *k, const tra_op *op, bool as_a_whole, tra_part *part,
                                          bool *complete, tra_err *e);
/* A result that was put into slot i of part, its block still pinned; from any thread. */
void tra_keep_result(tra_keep *k, const tra_op *op, tra_part *part, int64_t i);
/* The end of op's stage, when its inputs have been let go: parts are the results that are held, of each operator (NULL:
 * none), complete those that are saved on all ranks (updated). Collective. */
void tra_keep_stage_end(tra_keep *k, int op, tra_part *const *parts, bool *complete);

#endif
