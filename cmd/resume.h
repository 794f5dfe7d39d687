/* resume.h - what `tra run` saves under which names, so that --resume finds it and nothing else. */
#ifndef TRA_RESUME_H
#define TRA_RESUME_H

#include "../lib/run/journal.h"
#include "../plans/search/job.h"

/* The number by which a commit record names what a run of this text (of the program or plan file at path) makes of its
 * inputs as they are now; not 0. */
uint64_t tra_resume_step(const char *path, const char *text, size_t n);
/* The file of the first output of the text at path, for tra_commit_end; NULL without outputs. From the arena. */
const char *tra_resume_output(const char *path, const char *text, size_t n, tra_arena *a);
/* Has a run of this text that was ended put its outputs in place, or completed them? They are in place then. */
TRA_MUSTUSE tra_status tra_resume_done(const char *path, const char *text, size_t n, bool *done, tra_err *e);

/* The request for a journal in dir. Lives in the job's arena. */
tra_journal_request tra_resume_request(const tra_job *job, const char *dir, bool resume);

#endif
