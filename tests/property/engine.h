/* engine.h - the executor against the reference, on one communicator. */
#ifndef TRA_PROPERTY_ENGINE_H
#define TRA_PROPERTY_ENGINE_H

#include "../../lib/run/comm.h"
#include "property.h"

/* Runs the program in dir on c by several plans and ceilings, compares every output with the reference's, and reports
 * what differs. Collective; rank 0 of c counts into *t. */
void check_engine(const char *dir, uint64_t seed, int64_t index, bool all, tra_comm *c, tally *t);

/* Prints a failure, with the program and how to replay it (property.c). */
void report(const char *dir, uint64_t seed, int64_t index, int sites, const char *what);

#endif
