/* memory.h - what a plan as a whole takes of memory and disk. Shared by the planner and the executor, so that what was
 * predicted is what happens. */
#ifndef TRA_MEMORY_H
#define TRA_MEMORY_H

#include "needs.h"

/* Fills in, for a plan that has placements: which operators are fused (none when the ceiling is too low), scans and
 * overlaps, how stages read and write; for each operator predicted.cost.disk_read, disk_write and peak_memory (so far),
 * and predicted.least_memory (base and least budget). The plan's peak memory is what it will use under p->memory (0: no
 * ceiling). Returns the least ceiling under which the plan runs. */
int64_t tra_plan_memory(tra_plan *p, int threads);
/* The same for a plan that is compared with others and not run: where there is no ceiling, or it holds the plan as it
 * is, the result is one that does, which need not be the least. */
int64_t tra_plan_memory_judged(tra_plan *p, int threads);

/* Bytes of files that reading so many tuples of a relation once takes, or writing them: whole chunks, or what is held
 * of those that are stored by levels. */
tra_size tra_file_bytes(const tra_type *t, bool levels, int64_t tuples);
/* Bytes that an output of results of type t writes; stored by levels, those of its entries where these are fewer.
 * Without the strings of a table. */
tra_size tra_output_bytes(const tra_op *output, const tra_type *t);
/* Bytes that the dictionaries of an output of type t take in its file: a part of them where rows are few. */
tra_size tra_strings_written(const tra_type *t);

/* Bytes of scratch that a site may need for the largest exchange when exchanges go by files. */
int64_t tra_exchange_scratch(const tra_plan *p);

#endif
