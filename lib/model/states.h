/* states.h - the states of values: loops over many. */
#ifndef TRA_STATES_H
#define TRA_STATES_H

#include "columns.h"

/* Values of `size` bytes (1, 4 or 8) whose state is not 0 become 0. Returns the bits of all states. */
uint8_t tra_values_clear(void *restrict values, size_t size, const uint8_t *restrict state, int64_t n);

#endif
