/* checkpoint.h - checkpoints of intermediate results, from which a resumed run goes on.
 *
 * Outputs are recorded block by block as they are written (output.c). Intermediate results are saved by time: when
 * `seconds` of work have passed since everything that was needed had been saved, results are written to the scratch
 * directory as they are made; and at the end of that stage also those that were made before and are still needed. Then
 * saved results from which only these were made are removed. So saving costs a few per cent at most; a resumed run has
 * to repeat about the last `seconds` of the run that was killed, and the super-block of a join that was under way. An
 * exchange is repeated from its saved inputs unless all of its results were saved.
 */
#ifndef TRA_CHECKPOINT_H
#define TRA_CHECKPOINT_H

#include "exec.h"
#include "stages.h"

enum { TRA_CHECKPOINT_SECONDS = 5 };

/* Seconds of work that a killed run of these options may lose. */
static inline double tra_checkpoint_seconds(const tra_exec_options *o) {
    return o->checkpoint_turns ? 0 : o->checkpoint_seconds > 0 ? o->checkpoint_seconds : TRA_CHECKPOINT_SECONDS;
}

/* NULL if journal is NULL; every function below then does nothing. limit: bytes that this site may save; 0: no limit.
 */
tra_checkpoint *tra_checkpoint_new(tra_site *site, tra_journal *journal, double seconds, int64_t limit);
void tra_checkpoint_free(tra_checkpoint *k);

/* Is the result worth saving: computed, or an exchange of something computed? What comes from a file is read again. */
bool tra_checkpoint_saves(const tra_plan *p, int op);
/* Puts the arrays of op's result that an earlier run saved undamaged into part's empty slots. Collective. *complete:
 * all of them, on all ranks. as_a_whole: the caller can use nothing less (for the message). */
TRA_MUSTUSE tra_status tra_checkpoint_take_over(tra_checkpoint *k, const tra_op *op, bool as_a_whole, tra_part *part,
                                                bool *complete, tra_err *e);
/* To be called, from any thread, when a result was put into slot i of part, with its block still pinned. */
void tra_checkpoint_result(tra_checkpoint *k, const tra_op *op, tra_part *part, int64_t i);
/* To be called at the end of op's stage, when its inputs have been released. parts: the results that are in memory, by
 * operator (NULL: none). complete: which are saved on all ranks (updated). Collective. */
void tra_checkpoint_stage_end(tra_checkpoint *k, int op, tra_part *const *parts, bool *complete);

/* Of the arrays that the log lists, the last record of each slot, of n, is handed to `take`, on some worker with `io`
 * bytes for reading: it looks whether the array is undamaged, and takes it. slot: that of a record; -1: none. *tried:
 * records that were handed over. */
typedef struct tra_taking {
    tra_log *log;
    void *ctx;
    int64_t (*slot)(void *ctx, const tra_saved *s);
    tra_status (*take)(void *ctx, const tra_saved *s, int64_t slot, tra_worker *w, tra_err *e);
} tra_taking;
TRA_MUSTUSE tra_status tra_saved_take(const tra_taking *x, tra_engine *g, int64_t n, size_t io, int64_t *tried,
                                      tra_err *e);

/* ---- turns of loops ---- */

/* At the end of a turn of a loop its states may be saved, with those of the loops around it, from which a resumed run
 * goes on: in the logs of their NEXT operators, and rows of traces in those of their TRACE operators. A turn is told by
 * its number (lo) and by a digest of the turns of the loops around (hi). */

/* Room in a data file for one array: two places, which the saved turns use in turn. Zeroed in the beginning. */
typedef struct tra_turn_slot {
    int64_t at, room, len; /* of what grows: bytes that stand there */
} tra_turn_slot;
typedef struct tra_turn_room {
    tra_turn_slot slot[2];
    int next;
} tra_turn_room;

/* Is it time to save? Collective. */
bool tra_checkpoint_turn_is_due(const tra_checkpoint *k);
/* The states of a turn have been saved, which took so many seconds. */
void tra_checkpoint_turn_saved(tra_checkpoint *k, double spent);
/* Saves what operator op has made of the turn: its stored part, with room[n] for the n tuples; or rows, by rank 0.
 * grows: rows that were saved with this room stay as they are, so that only what is new is written; from a room of
 * length 0 on all of it is. False if it could not be saved. */
bool tra_checkpoint_save_turn(tra_checkpoint *k, int op, tra_part *part, tra_digest turn, tra_turn_room *room);
bool tra_checkpoint_save_rows(tra_checkpoint *k, int op, const void *rows, int64_t bytes, tra_digest turn,
                              tra_turn_room *room, bool grows);
/* The last turn below `before` of which something is saved; -1: none. `around`: hi of the turn. */
int64_t tra_checkpoint_last_turn(tra_checkpoint *k, int op, uint64_t around, int64_t before);
/* Fills the part's empty slots with what was saved of the turn. *whole: all were. */
TRA_MUSTUSE tra_status tra_checkpoint_take_turn(tra_checkpoint *k, int op, tra_digest turn, tra_part *part, bool *whole,
                                                tra_err *e);
bool tra_checkpoint_take_rows(tra_checkpoint *k, int op, tra_digest turn, void *rows, int64_t bytes);

#endif
