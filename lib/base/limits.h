/* limits.h - memory and cores that this job may use on this machine. */
#ifndef TRA_LIMITS_H
#define TRA_LIMITS_H

#include "base.h"

enum { TRA_LIMIT_TEXT = 8192 };

/* Memory that all processes of this job may use together: the least limit of the cgroups or of the scheduler, else 80 %
 * of what is available now. what (TRA_LIMIT_TEXT bytes, or NULL): where that comes from. */
int64_t tra_machine_memory(char *what);

/* The same where cgroups or the scheduler set a limit; 0: they set none. */
int64_t tra_job_memory(char *what);

/* Cores that this process may use: those it is bound to, and no more than its cgroups' quota; at least 1. */
int tra_machine_cores(void);

#endif
