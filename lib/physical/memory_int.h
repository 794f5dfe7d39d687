/* memory_int.h - shared by memory.c (what is held, and when) and disk.c (what is read). */
#ifndef TRA_MEMORY_INT_H
#define TRA_MEMORY_INT_H

#include "memory.h"

/* What follows from the edges of the plan, by operator. */
typedef struct tra_edges {
    int *uses, *first, *last; /* consumers: how many edges, the first and the last operator; 0, -1, -1 */
    int *file;                /* the INPUT from whose file reading the result reads, or -1 */
    bool *gathered;           /* does a consumer read it, or a view of it, a whole group at a time? */
} tra_edges;

/* Bytes of files that reading so many tuples of a relation once takes, or writing them: whole chunks, or what is held
 * of those that are stored by levels. */
tra_size tra_file_bytes(const tra_type *t, bool levels, int64_t tuples);
/* Adds to each operator's predicted.cost.disk_read, and to the plan's, the bytes of inputs that are read. budget: for
 * blocks; 0: everything stays in memory once it is read. */
void tra_predict_reads(tra_plan *p, const tra_edges *e, int threads, int64_t budget);

#endif
