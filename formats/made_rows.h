/* made_rows.h - values of rows that are read, compared and written where parts of programs run before the rest. Private
 * to made_strings.c and first_rows.c. */
#ifndef TRA_MADE_ROWS_H
#define TRA_MADE_ROWS_H

#include "../lib/table/table.h"

/* Room for so many values of a column, and one more, in the arena. */
tra_vector tra_vector_room(tra_arena *a, const tra_column *c, int64_t rows);
/* Is element i of x equal to element k of y, as keys of groups are? */
bool tra_values_equal(tra_coltype type, tra_vector x, int64_t i, tra_vector y, int64_t k);
/* Element i of `to` becomes element k of `from`. */
void tra_value_copy(tra_coltype type, tra_vector to, int64_t i, tra_vector from, int64_t k);

#endif
