/* found.h - what was made in an arena and is looked for there before it is made once more. */
#ifndef TRA_FOUND_H
#define TRA_FOUND_H

#include "base.h"

/* The place of the first of a list, which is NULL in a new arena. Releasing a part of the arena empties it. The list is
 * of unions of dictionaries (lib/model/spooled.c): nobody else may use it. */
void **tra_arena_found(tra_arena *a);

#endif
