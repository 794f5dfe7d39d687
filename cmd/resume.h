/* resume.h - what `tra run` saves under which names, so that --resume finds it and nothing else. */
#ifndef TRA_RESUME_H
#define TRA_RESUME_H

#include "../lib/run/journal.h"
#include "../plans/search/job.h"

/* The request for a journal in dir. Lives in the job's arena. */
tra_journal_request tra_resume_request(const tra_job *job, const char *dir, bool resume, tra_codec codec);

#endif
