/* held.h - results of a plan that are held as rows of entries at random, whatever the planner would choose. */
#ifndef TRA_PROPERTY_HELD_H
#define TRA_PROPERTY_HELD_H

#include "../../lib/physical/plan.h"
#include "property.h"

/* Lets some results of the plan be rows of entries (rows.h), and some outputs be stored by levels. False: none can. Its
 * figures of the network are estimates after that, and its figures of memory must be computed again (tra_plan_memory).
 */
bool hold_some(tra_plan *p, rng *r, tra_arena *a);

#endif
