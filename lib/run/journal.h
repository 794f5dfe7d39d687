/* journal.h - what a run has finished, kept so that another run can go on from there.
 *
 * An entry is a directory of the scratch directory, `tra-OUTPUTS-VALUES`, named by digests of where the outputs go and
 * of how they come about. In it:
 *
 *   about          one line "run ID", then what the digests were made of, a line each
 *   VALUE.R.log    of each relation that is saved and each rank: a record for every array that is whole
 *   VALUE.R.dat    the arrays themselves, where they are not in an output's temporary file
 *
 * The value of an operator is a digest of all that its result's bits follow from, and of nothing else: so a log tells
 * what it is about, whatever plan and number of ranks wrote it. Records carry a checksum of themselves and one of the
 * bytes that they point to, which are compared when a run goes on. So nothing needs to be synced while a run goes on:
 * what a process wrote outlives it, and what the machine lost is found out and done again.
 *
 * An entry is removed when its run succeeds, and when it fails before anything was saved. The lock of an entry is
 * that of its outputs, in the scratch directory. A journal that cannot be written is given up with a warning; the run
 * goes on without. So every function takes a NULL journal or log and does nothing.
 */
#ifndef TRA_JOURNAL_H
#define TRA_JOURNAL_H

#include "comm.h"
#include "../physical/plan.h"

typedef struct tra_journal tra_journal;
typedef struct tra_log tra_log;

typedef struct tra_journal_request {
    const char *dir;        /* scratch directory */
    bool resume;            /* go on from what is there; else it is removed */
    const uint64_t *values; /* of each operator of the plan */
    const char *about;      /* lines "KIND WHAT", to tell what has changed: input NAME PATH IDENTITY, program, ... */
} tra_journal_request;

/* Collective. *out is NULL when no journal can be kept in that directory (with a warning). With resume: TRA_USAGE or
 * TRA_INPUT, saying what has changed, if the entry of these outputs has other values. TRA_RESOURCE when another run is
 * writing these outputs. */
TRA_MUSTUSE tra_status tra_journal_open(const tra_journal_request *r, const tra_plan *plan, const tra_comm *comm,
                                        tra_journal **out, tra_err *e);
/* Bytes on disk of the entry that a run of this request need not allocate again: with resume the saved arrays of its
 * outputs, else all, since it removes them. */
int64_t tra_journal_bytes(const tra_journal_request *r, const tra_plan *plan);
bool tra_journal_resumed(const tra_journal *j);                  /* goes on from an earlier run's entry */
const char *tra_journal_tag(const tra_journal *j, char buf[64]); /* for the temporary files of its outputs */
const char *tra_journal_lock(const tra_journal *j);              /* what its lock is on, on rank 0 */
const char *tra_journal_path(const tra_journal *j);              /* the entry; NULL without a journal */
/* Was the user told of something that an earlier run had saved? */
bool tra_journal_has_reported(const tra_journal *j);
/* Tells the user that `there` of `all` blocks of `name` need not be computed; report_if_nothing tells, if that was
 * never said although the run was to resume, that it starts from the beginning. */
void tra_journal_report(tra_journal *j, int64_t there, int64_t all, const char *name);
void tra_journal_report_if_nothing(tra_journal *j);
/* The same of the turns of a loop that need not be run again. */
void tra_journal_report_turns(tra_journal *j, int64_t turns, int64_t most);
void tra_journal_flush(tra_journal *j);         /* writes records that wait; any thread */
bool tra_journal_has_any(const tra_journal *j); /* this rank knows of at least one record */
bool tra_journal_broken(const tra_journal *j);  /* could not be written; nothing is added any more */
void tra_journal_give_up(tra_journal *j, const char *why);
/* Collective. keep: the entry stays for another run. */
void tra_journal_close(tra_journal *j, bool keep);

/* One array that is whole. */
typedef struct tra_saved {
    int64_t ordinal;
    int32_t summand;
    uint32_t mask;     /* of an encoded chunk */
    int64_t at, len;   /* where it is and how long */
    uint64_t sum;      /* XXH64 of these bytes */
    tra_digest digest; /* of an output: its part of the digest */
    int file;          /* the rank whose data file it is in */
} tra_saved;

/* The log of the relation that operator op makes, with what all ranks have saved of it so far; operators of one value
 * have one log. data: there are data files, too. NULL when it cannot be had. Owned by the journal. */
tra_log *tra_log_open(tra_journal *j, int op, bool data);
const tra_saved *tra_log_saved(const tra_log *l, int64_t *n); /* in no order; later ones of one array count */
tra_log *tra_log_opened(const tra_journal *j, int op);        /* NULL: not yet */
bool tra_log_exists(const tra_journal *j, int op);            /* has any rank saved something of op's relation? */
/* Removes the log and its data file: nothing needs what it holds, and no block is in it any more. */
void tra_log_discard(tra_log *l);
/* Adds an array whose bytes have been written. Thread-safe. */
void tra_log_add(tra_log *l, const tra_saved *s);
/* Room in this rank's data file. Thread-safe. */
int64_t tra_log_reserve(tra_log *l, int64_t len);
/* Of a rank's data file; -1 with errno. open_saved is the same, but TRA_RESOURCE when too many files are open, which
 * is no sign of damage; *fd is -1 when the file is gone. */
int tra_log_fd(tra_log *l, int file);
TRA_MUSTUSE tra_status tra_log_open_saved(tra_log *l, int file, int *fd, tra_err *e);
/* Have the len bytes at `at` this checksum? False too if they cannot be read. */
bool tra_file_matches(int fd, int64_t at, int64_t len, uint64_t sum);

#endif
