/* measure.h - the rates of the place a run would be in, by the code that runs plans.
 *
 * All are collective: every rank measures at once, as it would run; who waits for others leaves the processor to them,
 * and of some tries that counts in which all together were fastest, of loops the second of these. What is returned is
 * of this rank; ranks of one machine share its disk, cores and memory, and get each its share of them: equal ones of
 * cores and memory, also where the machine looks like several hosts.
 */
#ifndef TRA_MEASURE_H
#define TRA_MEASURE_H

#include "../kernel/kernel.h"
#include "comm.h"

/* Seconds that each measurement takes, about. */
extern double tra_measure_seconds;

/* Bytes/s that a site sends, while it receives as many, to and from the others, all at once and in turn; and those that
 * it receives of all others while it sends none. 0 when it is alone. */
TRA_MUSTUSE tra_status tra_measure_network(const tra_comm *comm, double *rate, double *one_way, tra_err *e);
/* Bytes/s of a file in the directory: written until durable, and read when the cache has dropped it; and the share,
 * from 0 to 1, of the time of reading that products beside it, which take as long, do not hide. bytes: of the file,
 * which has no name and vanishes. flops: what was measured of this rank with so many threads. share NULL: not
 * measured. */
TRA_MUSTUSE tra_status tra_measure_disk(const tra_comm *comm, const char *dir, int64_t bytes, int threads, double flops,
                                        double *write, double *read, double *share, tra_err *e);
/* Operations/s of contractions on so many threads. */
TRA_MUSTUSE tra_status tra_measure_flops(const tra_comm *comm, int threads, tra_dtype t, double *rate, tra_err *e);
/* Share, from 0 to 1, of the time of an exchange that products beside it, which take as long, do not hide: cores that
 * both want. network, flops: what was measured of this rank. -1 when it is alone. */
TRA_MUSTUSE tra_status tra_measure_unhidden(const tra_comm *comm, int threads, double network, double flops,
                                            double *share, tra_err *e);
/* Bytes/s of memory that is touched for the first time, by so many threads. */
TRA_MUSTUSE tra_status tra_measure_touch(const tra_comm *comm, int threads, double *rate, tra_err *e);
/* Bytes/s of the result of an element-wise join of arrays that are not in the caches, on so many threads. */
TRA_MUSTUSE tra_status tra_measure_memory(const tra_comm *comm, int threads, double *rate, tra_err *e);

/* What loops of generated kernels do in a second, on so many threads: entries that are added up, in order; multiplied
 * by elements of a vector that are looked up; added into places of a vector; steps of a merge of two sorted rows;
 * entries added into a hash map; multiplications and additions of two vectors, two for each element. Arrays are in the
 * caches. And reads of memory that no near cache holds, each at a place that the one before tells. */
typedef struct tra_kernel_rates {
    double entries, gathers, inserts, merges, hashes, operations, follows;
} tra_kernel_rates;
TRA_MUSTUSE tra_status tra_measure_kernels(const tra_comm *comm, int threads, tra_kernel_rates *rates, tra_err *e);

#endif
