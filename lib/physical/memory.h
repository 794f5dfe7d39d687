/* memory.h - what a plan as a whole takes of memory and disk. Shared by the planner and the executor, so that what was
 * predicted is what happens. */
#ifndef TRA_MEMORY_H
#define TRA_MEMORY_H

#include "needs.h"

/* Fills, for a plan with placements: what is fused (nothing when the ceiling is too low), read and written how, and for
 * each operator cost.disk_read, cost.disk_write, least_memory (base and least budget for it) and cost.peak_memory; the
 * plan's is that of the last: what it will use under p->memory (0: as much as it likes). Returns the least ceiling that
 * would do. */
int64_t tra_plan_memory(tra_plan *p, int threads);

/* Bytes of scratch that a site may need for the largest exchange, when it goes by files. */
int64_t tra_exchange_scratch(const tra_plan *p);

#endif
