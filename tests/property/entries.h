/* entries.h - a layout of blocks whose size depends on their data, for the executor's sake. */
#ifndef TRA_PROPERTY_ENTRIES_H
#define TRA_PROPERTY_ENTRIES_H

#include "../../lib/run/plan.h"
#include "property.h"

/* Lets some relations of the plan that are neither read from files nor written be in that layout. False: none can. Its
 * figures of the network are then estimates; those of memory are yet to be made (tra_plan_memory). */
bool entries_in(tra_plan *p, rng *r);

#endif
