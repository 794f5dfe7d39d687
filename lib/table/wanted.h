/* wanted.h - rows that what reads a file may be given alone. */
#ifndef TRA_WANTED_H
#define TRA_WANTED_H

#include "../kernel/kernel.h"
#include "../tablefile/table_file.h"

/* Along kernels of which each reads the result of the one before, the first one rows of these columns: rows that
 * selections pass before the first join, which have partners in joins, or are the first of an order. In the arena. */
enum { TRA_WANTED_JOINS = 3 };
typedef struct tra_wanted tra_wanted;
tra_wanted *tra_wanted_new(tra_arena *a, const tra_schema *in);
/* The next kernel: a pass, an order of which this share of rows is expected to stay, or a join with the whole right
 * table, in which this share has partners; op: the caller's number of it. False: rows cannot be told of through it. */
bool tra_wanted_then(tra_wanted *w, const tra_rows_kernel *k, double share, int op);
/* The join that leaves out the most rows of those that are not met yet; -1: there is none, or those that are met are
 * expected to leave no more than `least` of the rows. Its op. */
int tra_wanted_join(tra_wanted *w, double least);
int tra_wanted_join_op(const tra_wanted *w, int join);
/* Rows without partner in the right table are not wanted. room: aligned as cells are, of so many bytes, as long as the
 * filter lives; NULL: the join is left out, as it is after an error. */
int64_t tra_wanted_room(const tra_wanted *w, int join, const tra_cell *right);
void tra_wanted_meet(tra_wanted *w, int join, const tra_cell *right, void *room);
/* NULL: all rows are wanted, or these are found by nearly all columns. */
const tra_row_filter *tra_wanted_filter(tra_wanted *w);

#endif
