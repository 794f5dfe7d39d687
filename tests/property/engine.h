/* engine.h - the executor against the reference, on one communicator. */
#ifndef TRA_PROPERTY_ENGINE_H
#define TRA_PROPERTY_ENGINE_H

#include "../../lib/run/comm.h"
#include "../../plans/rules/rules.h"
#include "../../plans/search/search.h"
#include "property.h"

/* Runs the program in dir on c by several plans and ceilings, compares every output with the reference's, and reports
 * what differs. Collective; rank 0 of c counts into *t. */
void check_engine(const char *dir, uint64_t seed, int64_t index, bool all, tra_comm *c, tally *t);

/* Why R2-4, R2-5 or R2-6 forbid a choice: its join where the inputs are, its aggregation where the tuples are; NULL:
 * they do not. why: room for 256 bytes. */
const char *choice_refused(const tra_memo *m, const tra_choice *c, char *why);

/* Prints a failure, with the program and how to replay it (property.c). */
void report(const char *dir, uint64_t seed, int64_t index, int sites, const char *what);

#endif
