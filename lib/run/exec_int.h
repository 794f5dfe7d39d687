/* exec_int.h - what the files that run a plan share: exec.c (operator by operator), exec_files.c (inputs, outputs,
 * saved results) and exec_views.c (results that are other relations' arrays under other keys, or are computed on
 * reading). */
#ifndef TRA_EXEC_INT_H
#define TRA_EXEC_INT_H

#include "checkpoint.h"
#include "exchange.h"
#include "exec.h"
#include "../table/wanted.h"

/* What the turns of a loop have traced, row by row: the bits of each column. */
typedef struct tra_traced {
    int64_t cap;
    int64_t *v;
} tra_traced;

/* A loop while it runs, or as it has ended. */
typedef struct tra_loop_run {
    int64_t turns;            /* that are done */
    bool ends;                /* its condition is met */
    bool nan;                 /* it was said that a value is NaN */
    bool converged, told_end; /* told_end: it was said that the condition was not met */
    tra_traced *trace;
    int nread;     /* numbers that the turn has read so far for its end: those of traces, of the condition, and of */
    int *reader;   /* what this reads; the operators that read them, */
    int64_t *told; /* and of each the bits of its double, and those of a column; INT64_MIN: another site has them */
    int64_t saved; /* the turns that were done when it was saved last; -1: never in this turn of the loop around */
    tra_turn_room **room; /* of each state, of each of its tuples here; NULL: not saved yet */
    tra_turn_room *rows;  /* of each trace */
    tra_turn_room ended;  /* of whether the loop has ended */
} tra_loop_run;

typedef struct tra_execution {
    const tra_plan *plan;
    const tra_exec_options *o;
    tra_site site;
    tra_arena *arena;
    /* Of each operator: */
    tra_part **parts;    /* its result on this site; NULL: none, or written straight to a file */
    int *uses;           /* how many operators are still to read its result */
    tra_rel **rels;      /* of an INPUT: its relation */
    tra_outfile **files; /* of an OUTPUT: its file */
    bool *needed;        /* some site needs its result */
    bool *complete;      /* its result is saved on all sites */
    int *all_uses;       /* how many operators read its result each time that it is made */
    bool *ran;           /* it has run already, with an earlier stage of its scan or for such a stage */
    tra_loop_run *loops;
    double *longest;        /* the most seconds that a task of each took, or an input of it; 0: it has not run */
    double spent, foreseen; /* seconds of the operators that have run, and those that were predicted of them */
    bool stopped;           /* the run is to stop, and the states of its loops are saved */
    tra_report *report;
    tra_progress progress;
    tra_journal *journal;
    tra_checkpoint *checkpoint;
    tra_codegen *codegen;
    int noverlapping;           /* exchanges that overlap stages and have not ended: */
    tra_exchange **overlapping; /* these, */
    int *overlapping_op;        /* of these operators */
    int place_op;               /* the output to which the seconds of putting all in place belong; -1: none yet */
    double place_seconds;       /* of putting outputs in place */
    double recorded;            /* until when operators that end are not recorded */
    int64_t read_before;        /* bytes that had been read from inputs when the first of them began */
    tra_op_notes notes;
} tra_execution;

/* exec.c */

/* Runs the operators from..to, which run in the turns of `loop` (-1: of none), with the loops among them. */
TRA_MUSTUSE tra_status tra_exec_range(tra_execution *x, int loop, int from, int to, tra_err *e);
/* A reader of operator i's result has run; after the last one the result is given up. i < 0: there is none. */
void tra_exec_release(tra_execution *x, int i);

/* exec_wanted.c */

/* The rows that the only reader of an input wants; NULL: all, or there are several readers. */
const struct tra_row_filter *tra_exec_rows_wanted(tra_execution *x, int i);
/* Before the stage of join i: rows of the input on its left that have no partner in it, or in joins that read its
 * result, need not be read. Returns the input, -1: all are read. room: of TRA_WANTED_JOINS blocks, NULL before, for
 * what that takes until the stage has ended. */
int tra_exec_want_partners(tra_execution *x, int i, tra_block **room);
void tra_exec_forget_partners(tra_execution *x, int input, tra_block **room);

/* exec_deadline.c: a run that is to end by a time. Without a deadline these do nothing. */

/* Before operator i runs: the run is to stop when nothing of it can be done by the deadline. */
void tra_exec_leave_time(tra_execution *x, int i);
/* Operator i has run for so many seconds. */
void tra_exec_count_time(tra_execution *x, int i, double seconds);
/* All operators have run: until the deadline there is time for the rest. */
void tra_exec_time_is_left(tra_execution *x);

/* exec_loop.c */

/* Runs an operator that belongs to a loop (TRA_PLAN_LOOP_OPS); in: its input, or NULL. */
TRA_MUSTUSE tra_status tra_exec_loop_op(tra_execution *x, int i, tra_part *in, tra_err *e);
/* Runs the turns of a loop whose states have their first values. */
TRA_MUSTUSE tra_status tra_exec_loop(tra_execution *x, int loop, tra_err *e);

/* loop_saves.c: turns that are saved, from which a resumed run goes on. */

/* Saves the states of the loop as its last turn left them, and those of the loops around it. Collective. */
void tra_exec_save_turn(tra_execution *x, int loop);
/* Gives the states of a loop that begins the values of the last turn that was saved, and its traces theirs, and sets
 * how many turns are done. Collective. */
TRA_MUSTUSE tra_status tra_exec_restore_turn(tra_execution *x, int loop, tra_err *e);
void tra_exec_forget_turns(tra_execution *x); /* frees what saving took */

/* exec_views.c */

/* The result of a FILTER or REKEY: other keys for the same arrays. */
TRA_MUSTUSE tra_status tra_exec_view(const tra_op *op, tra_part *in, tra_part **out, tra_err *e);
/* The result of a MAP or TILE, computed when it is read: of a MAP one for each tuple, of a TILE as many as the catalog
 * has. */
tra_part *tra_exec_on_demand(tra_execution *x, const tra_op *op, tra_part *in);

/* exec_samples.c */

/* The most memory that the process has held so far. The kernel counts it roughly, so that its figure may fall. */
int64_t tra_exec_see_peak(tra_report *r);
/* Records what the process holds now, and what was read, written and sent so far. There must be a record. */
void tra_exec_sample(tra_execution *x);
/* What was measured of a stage is divided among the operators that run inside of it, by what threads did for each, as
 * it was recorded. There must be a record, and the workers have ended. */
void tra_exec_share_seconds(tra_execution *x);

/* exec_files.c */

TRA_MUSTUSE tra_status tra_exec_open_inputs(tra_execution *x, tra_err *e); /* collective */
TRA_MUSTUSE tra_status tra_exec_open_outputs(tra_execution *x, tra_err *e);
/* What this site has of the input of operator i. */
tra_part *tra_exec_input_part(tra_execution *x, int i);
/* The output that takes the results of operator i as they come: when it is the only consumer; else -1. */
int tra_exec_direct_output(const tra_execution *x, int i);
/* An empty part for the results of operator i on this site. */
tra_part *tra_exec_new_part(tra_execution *x, int i);
/* Finds which operators must run: outputs that are not complete, and what they are made of, back to saved results.
 * Collective. */
TRA_MUSTUSE tra_status tra_exec_list_needed(tra_execution *x, tra_err *e);
/* Finishes all outputs and makes them appear together, or none unless s is TRA_OK. Collective. */
TRA_MUSTUSE tra_status tra_exec_commit(tra_execution *x, tra_status s, tra_err *e);
/* Returns s. Where that is because there was no memory for a block, the message says which statement wanted it: what
 * runs out of memory does not know that everywhere. */
tra_status tra_exec_name_statement(const tra_op *op, tra_status s, tra_err *e);

#endif
