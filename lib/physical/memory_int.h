/* memory_int.h - shared by memory.c (what is held, and when), edges.c (who reads what), disk.c (what is read) and
 * overlap.c (which exchanges overlap stages). */
#ifndef TRA_MEMORY_INT_H
#define TRA_MEMORY_INT_H

#include "memory.h"

/* What follows from the edges of the plan, by operator. */
typedef struct tra_edges {
    int *uses, *first, *last; /* consumers: how many edges, the first and the last operator; 0, -1, -1 */
    int *file;                /* the INPUT from whose file reading the result reads, or -1 */
    bool *gathered;           /* does a consumer read it, or a view of it, a whole group at a time? */
} tra_edges;
tra_edges tra_edges_find(const tra_plan *p); /* `file` is set by the caller */
void tra_edges_free(tra_edges *e);
/* A result is held until the last reader of any view of it has run. */
void tra_edges_extend_by_views(const tra_plan *p, tra_edges *e);
/* Fuses a MAP or TILE with its consumer if it has exactly one. Between a consumer and a stored result there may be one
 * fused operator, or several maps, which are composed into one. What is gathered is not fused: its reader holds a whole
 * group at once, which would then include the arrays that tiles are cut from. */
void tra_choose_fused(tra_plan *p, const tra_edges *e);

/* Adds to each operator's predicted.cost.disk_read, and to the plan's, the bytes of inputs that are read. budget: for
 * blocks; 0: everything stays in memory once it is read. */
void tra_predict_reads(tra_plan *p, const tra_edges *e, int threads, int64_t budget);

/* An exchange begins when what it sends is whole. Where there is memory for what is on its way, it goes on while the
 * next stage runs, which reads each tuple when it has come: so the network and the workers are busy at the same time.
 * Otherwise it is a stage by itself. What was decided stands in the orders of each exchange (ends, window) and of the
 * stages that it overlaps (reserved). */

/* Makes every exchange a stage by itself. */
void tra_overlap_none(tra_plan *p);
/* Decides which exchanges overlap stages: all that may, if everything fits below the ceiling then. Otherwise, within
 * `budget` bytes of blocks, those that leave the stages their least memory, if the bytes that the stages read again,
 * having less memory, are fewer than the bytes that are sent meanwhile; p->rereads tells which. held: bytes of each
 * operator's result on the fullest site; peak: what a site needs without overlap. Returns the bytes of memory that
 * overlap adds. */
int64_t tra_overlap_choose(tra_plan *p, const int64_t *held, int threads, int64_t peak, int64_t budget);

#endif
