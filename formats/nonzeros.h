/* nonzeros.h - a source that has all elements, seen as one of entries: those that are not zero. */
#ifndef TRA_NONZEROS_H
#define TRA_NONZEROS_H

#include "formats.h"

/* *out, from the arena, reads `from`, of which the shape is known, by boxes or as a stream, and delivers elements of
 * that type; it keeps what memory allows, which counts as held. Losses are counted in `from`. TRA_INPUT from its
 * entries: an element that the type does not hold. */
void tra_nonzeros_of(tra_source *from, tra_dtype dtype, int64_t memory, tra_arena *a, tra_source *out);

#endif
